-- Who did what: rows of history that somebody asked for, instances that
-- somebody has started, and what is no instance's (pawl.audit). The newest
-- first: by time, then by id, then by number. A page of each shard and kind of
-- row; the caller merges.

-- columns: wanted
--   since time, until time, before uuid, before_seq integer, by text,
--   type text, workflow text, tenant text, max integer
-- Null: it may be anything. Behind the entry of that time, id and number.

-- name: audit_list
-- args: @shard smallint[], @{{wanted}}
-- rows: at time, id uuid, seq integer, type text, by text, instance uuid,
--       workflow text, version integer??, node text, task uuid, text text
-- Everybody's. Each of these names the expression of the index that it is to
-- use: what it looks for is rare, and another would find it by walking.
select r.* {{from_each}} (
  select * from ({{audit_history
    h.shard + 1 = s.shard + 1 and h.by is not null}}) of_history
  union all
  select * from ({{audit_starts t.shard + 1 = s.shard + 1}}) of_starts
  union all
  select * from ({{audit_others a.shard = s.shard}}) of_others) r;

-- name: audit_by
-- args: like audit_list
-- rows: like audit_list
-- One person's.
select r.* {{from_each}} (
  select * from ({{audit_history
    h.shard + 0 = s.shard and h.by is not null and h.by = @by}}) of_history
  union all
  select * from ({{audit_starts
    t.shard + 0 = s.shard and t.started_by = @by}}) of_starts
  union all
  select * from ({{audit_others
    a.shard + 0 = s.shard and a.by = @by}}) of_others) r;

-- name: audit_of
-- args: @shard smallint[], @instance uuid, @{{wanted}}
-- rows: like audit_list
-- One instance's, however long its history is.
select r.* {{from_each}} (
  select * from ({{audit_history
    h.shard + 2 = s.shard + 2 and h.instance = @instance
    and h.by is not null}}) of_history
  union all
  select * from ({{audit_starts
    t.shard = s.shard and t.id = @instance}}) of_starts
  union all
  select * from ({{audit_others
    a.shard + 1 = s.shard + 1 and a.instance = @instance}}) of_others) r;

-- name: audit_insert
-- args: @shard smallint, @id uuid, @type text, @by text, @workflow text,
--       @version integer?, @text text, @now time?
insert into pawl.audit (shard, at, id, type, by, workflow, version, text)
values (@shard, {{now}}, @id, @type, @by, @workflow, @version, @text);

-- name: audit_task
-- args: @shard smallint, @id uuid, @task uuid, @request uuid, @type text,
--       @by text, @text text, @now time?
-- Behind the change of a task, and by its request: when that lost the race,
-- nothing is told.
insert into pawl.audit (shard, at, id, type, by, instance, task, node,
       workflow, tenant, text)
select @shard, {{now}}, @id, @type, @by, k.instance, k.id, k.node,
       t.workflow, t.tenant, @text
  from (select * from pawl.task
         where shard = @shard and id = @task offset 0) k
  {{instance_at @shard; k.instance}}
 where k.request = @request;

-- name: audit_instances
-- args: @shard smallint, @id uuid[], @instance uuid[], @type text, @by text,
--       @text text, @now time?
-- What was done with each of these, that no history of it tells.
insert into pawl.audit (shard, at, id, type, by, text, instance, workflow,
       version, tenant)
select @shard, {{now}}, s.id, @type, @by, @text, t.* {{from_each}} (
  select id, workflow, version, tenant from pawl.instance
   where shard = @shard and id = s.instance offset 0) t;

-- name: audit_request
-- args: @shard smallint, @instance uuid, @request uuid
-- rows: type text
-- How a request was met that leaves no row of history.
select type from pawl.audit
 where shard + 1 = @shard + 1 and instance = @instance and request = @request
 limit 1;

-- name: audit_purged
-- args: @shard smallint, @id uuid, @instance uuid, @now time?
-- The same by whoever ends what another began: who that was is noted in it.
insert into pawl.audit (shard, at, id, type, by, instance, workflow, version,
       tenant, text)
select @shard, {{now}}, @id, 'purged', i.deletion->>'by', i.id, i.workflow,
       i.version, i.tenant, coalesce(i.deletion->>'reason', '')
  from pawl.instance i
 where i.shard = @shard and i.id = @instance and i.purge_at is not null
   and i.deletion->>'by' is not null
   and not exists (select 1 from pawl.audit a
                    where a.shard + 1 = @shard + 1
                      and a.instance = @instance and a.type = 'purged');

-- name: audit_deleted
-- args: @shard smallint, @id uuid, @instance uuid
-- Beside it: who had deleted it before. Its history had that.
{{audit_deletion i.deletion->'deleted';
  i.purge_at is not null and i.deletion->>'by' is not null}};

-- name: audit_hidden
-- args: @shard smallint, @id uuid, @instance uuid
-- The same of one that goes in one unit, with no mark. (Said so that no index
-- of those that are deleted seems to serve.)
{{audit_deletion i.deletion;
  (i.deleted_at is not null) is true and i.purge_at is null}};

-- name: audit_purge_held
-- args: @shard smallint, @id uuid[], @lease uuid[], @own uuid[], @by text,
--       @text text, @now time?
-- That those are purged which go in one unit.
insert into pawl.audit (shard, at, id, type, by, instance, workflow, version,
       tenant, text)
select t.* {{from_each}} (
  select @shard as shard, {{now}} as at, s.own as own, 'purged' as type,
         @by as by, id, workflow, version, tenant, @text as text
    from pawl.instance
   where shard = @shard and id = s.id
     and exists (select 1 from pawl.agenda a
                  where a.shard = @shard and a.instance = s.id
                    and a.lease = s.lease offset 0) offset 0) t;

-- name: audit_purge
-- args: @shard smallint, @id uuid, @instance uuid, @by text, @text text,
--       @now time?
-- Before anything of it goes; once, however often that is begun.
insert into pawl.audit (shard, at, id, type, by, instance, workflow, version,
       tenant, text)
select @shard, {{now}}, @id, 'purged', @by, i.id, i.workflow, i.version,
       i.tenant, @text
  from pawl.instance i
 where i.shard = @shard and i.id = @instance and i.purge_at is not null
   and not exists (select 1 from pawl.audit a
                    where a.shard + 1 = @shard + 1
                      and a.instance = @instance and a.type = 'purged');
