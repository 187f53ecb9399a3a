-- Lists of instances: which one is sent says by which index they are found;
-- all else is compared beside (fragment is_asked). A page of each shard, from
-- its end, or by @up from its beginning; the caller merges.

-- columns: asked
--   statuses text, begun boolean??, workflow text, version integer?,
--   tenant text, correlation text, business_from text, business_to text,
--   key text, parent uuid, root uuid, executor_group text, error text,
--   message text, error_code text, cancelled_by text, compensation text, leased boolean??, halted boolean??,
--   due_before time?, deadline_before time?, node text,
--   created_after time?, created_before time?,
--   started_after time?, started_before time?,
--   updated_after time?, updated_before time?, completed_after time?,
--   completed_before time?, attributes json
-- Null: it may be anything. A range's end is not in it. @begun: of those that
-- are stored as running, which? @error: how its text begins, or, @message, goes
-- on behind its code; @error_code: how it begins. @cancelled_by: what a cancellation has in it;
-- @compensation: how one begins, of all that will do. @attributes:
-- [{"name","ranges":[["from","to"],...]},...], of each one range fits.

-- columns: page
--   low uuid, high uuid, up boolean, brief boolean, waits boolean,
--   max integer
-- Between two ids, neither in it; @up: the oldest of them, else the newest.
-- @brief, @waits: fragment listed.

-- name: list_tenant
-- args: @shard smallint[], @{{asked}}, @{{page}}
-- rows: id uuid, status text, workflow text, version integer,
--       node text, error json, {{whose}}, parent_node text,
--       parent_index integer??, {{gone}}, {{times}},
--       stopped boolean??, state text, attempt integer, detail json,
--       look_at time, event text, event_key text, title text,
--       claimed_by text, task_due_at time, who text, reason text,
--       last_error json
select i.* {{from_each}} (
  select * from ({{tenant_walk desc; not @up}}) older
  union all
  select * from ({{tenant_walk asc; @up}}) newer) i;

-- name: list_group
-- args: @shard smallint[], @{{asked}}, @{{page}}
-- rows: like list_tenant
-- Those of one group, which has a name of its own.
select i.* {{from_each}} (
  select * from ({{group_walk desc; not @up}}) older
  union all
  select * from ({{group_walk asc; @up}}) newer) i;

-- name: list_deleted
-- args: @shard smallint[], @{{asked}}, @{{page}}
-- rows: like list_tenant
-- Those that were deleted, and no others.
select i.* {{from_each}} (
  select * from ({{deleted_walk desc; not @up}}) older
  union all
  select * from ({{deleted_walk asc; @up}}) newer) i;

-- name: list_told
-- args: @shard smallint[], @by text, @told text[], @{{asked}},
--       @{{page}}
-- rows: like list_tenant
-- Those that one has cancelled; or that were undone, by how that stands.
select i.* {{from_each}} (
  select * from ({{told_walk desc; not @up; cancelled}}) older
  union all
  select * from ({{told_walk asc; @up; cancelled}}) newer
  union all
  select * from ({{told_walk desc; not @up; undone}}) older_undone
  union all
  select * from ({{told_walk asc; @up; undone}}) newer_undone) i;

-- name: list_attribute
-- args: @shard smallint[], @name text, @sortable text, @{{asked}}, @{{page}}
-- rows: like list_tenant
-- Those that have an attribute of that value.
select i.* {{from_each}} (
  select * from ({{attribute_walk desc; not @up}}) older
  union all
  select * from ({{attribute_walk asc; @up}}) newer) i;

-- name: list_due
-- args: @shard smallint[], @from_at time, @from_id uuid, @to_at time,
--       @to_id uuid, @{{asked}}, @up boolean, @max integer
-- rows: instance uuid, due_at time
-- Those that are on the agenda and neither ready nor leased, by when they are
-- to be looked at: between two places in that order, without these.
select i.* {{from_each}} (
  select * from ({{due_walk desc; not @up}}) later
  union all
  select * from ({{due_walk asc; @up}}) earlier) i;

-- name: list_due_these
-- args: @shard smallint[], @id uuid[]
-- rows: like list_due
-- Of these the same.
select i.* {{from_each}} (
  select instance, due_at from (
    select * from pawl.agenda
     where shard = s.shard and instance = s.id offset 0) a
   where not ready and lease is null) i;

-- name: list_these
-- args: @shard smallint[], @id uuid[], @brief boolean, @waits boolean
-- rows: like list_tenant
select i.* {{from_each}} (
  select {{listed}} from pawl.instance t
   where t.shard = s.shard and t.id = s.id offset 0) i;

-- name: list_archived_these
-- args: @shard smallint[], @id uuid[], @brief boolean, @waits boolean
-- rows: like list_tenant
select i.* {{from_each}} (
  select {{listed}} from ({{archived}}) t
   where t.shard = s.shard and t.id = s.id offset 0) i;

-- name: list_found
-- args: @shard smallint[], @by text, @name text, @ranges json, @until time,
--       @code_from text, @code_to text, @{{asked}}, @{{page}}
-- rows: like list_tenant
-- Those of one word, with an attribute in one of @ranges, an error's code in a
-- range, or on the agenda, leased or due before @until, or with a deadline
-- before that, by its index; all of them are read.
select i.* {{from_each}} (
  select {{listed}} from (
    select id as found from pawl.instance
     where @by = 'key' and shard = s.shard and key = @key
       and deleted_at is null and successor is null
    union all
    select id from pawl.instance
     where @by = 'key' and shard = s.shard and key = @key
       and successor is not null
    union all
    {{words_of instance}}
    union all
    select instance from pawl.agenda
     where @by = 'due' and shard = s.shard and not ready and due_at < @until
    union all
    select instance from pawl.agenda
           indexed by pawl_agenda_ready -- only: sqlite
     where @by = 'due' and shard = s.shard
       and ready and lease is null and takeovers = 0
    union all
    select instance from pawl.agenda
     where @by = 'leased' and shard = s.shard and not ready
       and due_at < @until and lease is not null
    union all
    select instance from pawl.agenda
           indexed by pawl_agenda_suspect -- only: sqlite
     where @by in ('due', 'leased') and shard = s.shard
       and ready and (lease is not null or takeovers > 0)
    union all
    select instance from pawl.deadline
     where @by = 'deadline' and shard = s.shard and deadline_at < @until
    union all
    {{attribute_ranges}}
    union all
    {{failed_so}}
    offset 0) f {{instance_at s.shard; f.found}}
   where t.id > @low and t.id < @high and {{is_asked}}
   order by case when @up then t.id end, t.id desc limit @max) i;

-- name: list_archived
-- args: @shard smallint[], @by text, @whole boolean, @{{asked}}, @{{page}}
-- rows: like list_tenant
-- Those that were archived, of a tenant, a workflow, or all; @whole: none of
-- which only attributes are left.
select i.* {{from_each}} (
  select * from ({{archived_walk desc; not @up;
    @by = 'all' and t.shard = s.shard}}) older
  union all
  select * from ({{archived_walk asc; @up;
    @by = 'all' and t.shard = s.shard}}) newer
  union all
  select * from ({{archived_walk desc; not @up;
    @by = 'tenant' and t.shard = s.shard
    and t.tenant = @tenant}}) older_of_tenant
  union all
  select * from ({{archived_walk asc; @up;
    @by = 'tenant' and t.shard = s.shard
    and t.tenant = @tenant}}) newer_of_tenant
  union all
  select * from ({{archived_walk desc; not @up;
    @by = 'workflow' and t.shard = s.shard
    and t.workflow = @workflow and t.status >= ''}}) older_of_workflow
  union all
  select * from ({{archived_walk asc; @up;
    @by = 'workflow' and t.shard = s.shard
    and t.workflow = @workflow and t.status >= ''}}) newer_of_workflow) i;

-- name: list_archived_found
-- args: @shard smallint[], @by text, @name text, @ranges json,
--       @whole boolean, @{{asked}}, @{{page}}
-- rows: like list_tenant
-- Those of one word, or with an attribute in one of @ranges; all are read.
-- @whole as in list_archived.
select i.* {{from_each}} (
  select {{listed}} from (
    select id as found from pawl.archive
     where @by = 'key' and shard = s.shard and key = @key
    union all
    {{words_of archive}}
    union all
    {{attribute_ranges}}
    offset 0) f {{archived_at s.shard; f.found}}
   where t.id > @low and t.id < @high and {{is_whole}} and {{is_fitting}}
   order by case when @up then t.id end, t.id desc limit @max) i;
