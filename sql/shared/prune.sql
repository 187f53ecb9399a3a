-- What is past its time. No index has times for that: ids tell when they were
-- made, nothing ends before it was made, so what may have passed is found in the
-- order of ids, and the caller compares the times.

-- columns: candidate
--   id uuid, workflow text, version integer, status text, completed_at time,
--   seq bigint, sent bigint, parts integer, parent uuid, deleted_at time,
--   purge_at time, away json

-- name: prune_ended
-- args: @shard smallint, @workflow text, @status text, @after uuid,
--       @before uuid, @max integer
-- rows: {{candidate}}
select {{candidate}}
-- only: postgres
  from (select instance as found from pawl.standing
         where shard = @shard and workflow = @workflow and status = @status
           and instance > @after and instance < @before
         order by instance limit @max) f
  {{instance_at @shard; f.found}}
 order by f.found;
-- only: sqlite
  from pawl_instance indexed by pawl_instance_workflow
 where shard = @shard and workflow = @workflow and status = @status
   and id > @after and id < @before
 order by id limit @max;
-- for all

-- name: prune_deleted
-- args: @shard smallint, @after uuid, @max integer
-- rows: like prune_ended
select {{candidate}}
  from pawl.instance
       indexed by pawl_instance_deleted -- only: sqlite
 where shard + 0 = @shard and deleted_at is not null and id > @after
 order by id limit @max;

-- name: prune_published
-- args: @shard smallint, @after uuid, @after_seq bigint??, @before uuid,
--       @max integer
-- rows: instance uuid, seq bigint, published_at time
select instance, seq, published_at from pawl.outbox
 where shard = @shard and (instance, seq) > (@after, @after_seq)
   and instance < @before
 order by instance, seq limit @max;

-- name: prune_outbox
-- args: @shard smallint, @id uuid[], @seq bigint[]
delete from pawl.outbox
-- only: postgres
  o using {{short_rows}}
 cross join lateral (
  select ctid as place from pawl.outbox
   where shard = @shard and instance = s.id and seq = s.seq
     and published_at is not null offset 0) g
 where o.shard = @shard and o.ctid = g.place;
-- only: sqlite
 where shard = @shard and instance = @id and seq = @seq
   and published_at is not null;
-- for all

-- name: prune_tasks
-- args: @shard smallint, @status text, @after uuid, @before uuid, @max integer
-- rows: id uuid, updated_at time, needed boolean
-- @needed: its instance stands there, or has not heard of it.
select id, updated_at,
       exists (select 1 from pawl.instance i
                where i.shard = @shard and i.id = t.instance
                  and i.token_no = t.token and i.visit = t.visit
                  and i.token_state in ('active', 'waiting'))
       or exists (select 1 from pawl.token k
                   where k.shard = @shard and k.instance = t.instance
                     and k.no = t.token and k.visit = t.visit
                     and k.state in ('active', 'waiting'))
       or exists (select 1 from (
                    select no from pawl.inbox
                     where shard = @shard and instance = t.instance
                       and kind = 'task' and not taken offset 0) i) as needed
  from pawl.task t
 where shard = @shard and status = @status and id > @after and id < @before
   and status >= '' -- only: postgres
 order by id limit @max;

-- name: prune_left
-- args: @shard smallint, @before time, @max integer
-- rows: id uuid
-- Those that were purged by then, but for their attributes: whoever purges one
-- of them, too, does so behind this.
select id from pawl.archive
       indexed by pawl_archive_purged -- only: sqlite
 where shard + 0 = @shard and purged_at <= @before
   and purged_at >= to_timestamp(0) -- only: postgres
   and purged_at >= 0 -- only: sqlite
 order by purged_at limit @max for update;

-- name: prune_left_count
-- args: like prune_left
-- rows: n bigint
select count(*) as n from (
  select 1 from pawl.archive
         indexed by pawl_archive_purged -- only: sqlite
   where shard + 0 = @shard and purged_at <= @before
     and purged_at >= to_timestamp(0) -- only: postgres
     and purged_at >= 0 -- only: sqlite
   limit @max) a;

-- name: prune_attributes
-- args: @shard smallint, @id uuid[]
-- Of one that prune_left has locked.
{{delete_listed attribute; instance}};

-- name: prune_archive
-- args: like prune_attributes
{{delete_listed archive; id}};

-- name: prune_audited
-- args: @shard smallint, @before time, @max integer
-- rows: n bigint
select count(*) as n from (
  select 1 from pawl.audit where shard = @shard and at <= @before
   limit @max) a;

-- name: prune_audit
-- args: @shard smallint, @before time, @max integer
delete from pawl.audit
-- only: postgres
 where ctid = any (array(
  select ctid from pawl.audit where shard = @shard and at <= @before
   order by at, id limit @max));
-- only: sqlite
 where (shard, at, id) in (
  select shard, at, id from pawl_audit where shard = @shard and at <= @before
   order by at, id limit @max);
-- for all

-- name: prune_expired
-- args: @shard smallint, @now time?, @max integer
-- rows: n bigint
select count(*) as n from (
  select 1 from pawl.event
   where shard = @shard and expires_at <= {{now}} and posted
   order by expires_at limit @max) e;

-- name: prune_retains
-- args: @code text
-- rows: version integer, retain json
-- How long the instances of a workflow are kept, by those of its versions that
-- say so.
select version, retain from (
  select version,
         {{readable graph}} -> 'retain' as retain -- only: postgres
         json_extract(graph, '$.retain') as retain -- only: sqlite
    from pawl.workflow where code = @code and current) w
 where retain is not null;

-- name: prune_wanted
-- rows: one integer
-- Is there a version that says so, or has a node or a way of that name? An index
-- takes no more apart: SQLite no json_extract, PostgreSQL no text with \u0000.
select 1 as one from pawl.workflow
       indexed by pawl_workflow_retains -- only: sqlite
 where current and strpos(graph::text, '"retain":') > 0
 limit 1;

-- name: prune_revisions
-- args: @before time, @max integer
-- rows: code text, version integer, revision integer
-- Hot-fixed since, so that nothing runs them any more.
select code, version, revision from pawl.workflow
 where not current and modified_at < @before
 order by code, version, revision limit @max;

-- name: prune_revision
-- args: @code text, @version integer, @revision integer
delete from pawl.workflow
 where code = @code and version = @version and revision = @revision
   and not current;

-- name: prune_executors
-- args: @before time
-- rows: n bigint
select count(*) as n from pawl.executor where expires_at < @before;

-- name: prune_space
-- rows: pages bigint, page_bytes bigint
-- What the file has free, and can be cut off its end.
-- only: postgres
select 0::bigint as pages, 0::bigint as page_bytes;
-- only: sqlite
select f.freelist_count as pages, p.page_size as page_bytes
  from pragma_freelist_count f, pragma_page_size p, pragma_auto_vacuum a
 where a.auto_vacuum = 2;
-- for all

-- name: prune_busy
-- args: @since time
-- rows: one integer
-- Has anything begun, or come to another status, in a minute since then? What
-- housekeeping does itself is nothing.
select 1 as one from pawl.counter
 where minute >= @since and status <> 'archived' and status <> 'purged'
   and status <> 'deleted' and was <> 'archived'
 limit 1;

-- name: prune_cut
-- So much of it goes. PostgreSQL's autovacuum sees to that.
-- only: postgres
select 1 where false;
-- only: sqlite
pragma incremental_vacuum(250);
-- for all

-- name: prune_cut_few
-- The same, of what takes no time.
-- only: postgres
select 1 where false;
-- only: sqlite
pragma incremental_vacuum(16);
-- for all
