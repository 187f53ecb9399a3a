-- Definitions: versions and their revisions.

-- name: workflow_get
-- args: @code text, @version integer
-- rows: code text, version integer, revision integer, name text,
--       description text, graph json, source text, bundle json,
--       sha256 text, inline boolean, active boolean
-- Version null: the newest active one.
select code, version, revision, name, description, graph, source, bundle,
       sha256, inline, active
  from pawl.workflow
 where code = @code and current
   and (version = @version or (@version is null and active))
 order by version desc limit 1;

-- name: workflow_list
-- args: @code text
-- rows: code text, version integer, revision integer, sha256 text,
--       inline boolean, active boolean, name text, nodes integer,
--       created_at time, modified_at time, modified_by text, reason text,
--       suspended boolean
select code, version, revision, sha256, inline, active, name,
       json_array_length(graph -> 'nodes') as nodes, created_at, modified_at,
       modified_by, reason,
       exists (select from pawl.suspension p
                where not p.is_prefix and p.code = w.code)
       or exists (select from pawl.suspension p
                   where p.is_prefix
                     and left(w.code, length(p.code)) = p.code) as suspended
  from pawl.workflow w
 where current and (@code is null or code = @code)
 order by code, version;

-- name: workflow_count
-- args: @code text, @version integer, @shard smallint[]
-- rows: live bigint
-- Unfinished instances of this version, by shard.
select (select count(*)
          from unnest(array['running', 'waiting', 'suspended']) as l (status)
         cross join lateral (
          select instance from pawl.standing
           where shard = s.shard and workflow = @code and status = l.status
          offset 0) n
         cross join lateral (
          select workflow_version, deleted_at from pawl.instance
           where shard = s.shard and id = n.instance offset 0) i
         where i.workflow_version = @version
           and i.deleted_at is null) as live
  from unnest(@shard) as s (shard);

-- name: workflow_activate
-- args: @code text, @version integer, @active boolean, @modified_by text,
--       @reason text, @now time
update pawl.workflow
   set active = @active, modified_at = coalesce(@now, now()),
       modified_by = @modified_by, reason = coalesce(@reason, reason)
 where code = @code and version = @version and current;

-- name: workflow_lock
-- args: @code text, @version integer
-- rows: revision integer, sha256 text, active boolean, graph json,
--       reason text
-- Held until the unit ends: two programs registering a version take turns.
select revision, sha256, active, graph, reason from pawl.workflow
 where code = @code and version = @version and current for update;

-- name: workflow_in_use
-- args: @code text, @version integer, @shard smallint[]
-- rows: id uuid
-- An unfinished instance of this version, if there is one.
select i.id from unnest(@shard) as s (shard)
 cross join unnest(array['running', 'waiting', 'suspended']) as l (status)
 cross join lateral (
  select n.instance as id from pawl.standing n
   cross join lateral (
    select workflow_version, deleted_at from pawl.instance
     where shard = s.shard and id = n.instance offset 0) t
   where n.shard = s.shard and n.workflow = @code and n.status = l.status
     and t.workflow_version = @version and t.deleted_at is null limit 1) i
 limit 1;

-- name: workflow_retire
-- args: @code text, @version integer, @now time
-- The current revision becomes an older one; its source stays, by hash.
update pawl.workflow
   set current = false, modified_at = coalesce(@now, now())
 where code = @code and version = @version and current;

-- name: workflow_insert
-- args: @code text, @version integer, @name text, @description text,
--       @graph json, @source text, @bundle json, @sha256 text,
--       @inline boolean, @active boolean, @executor_group text,
--       @modified_by text, @reason text, @now time
-- The revision number is allocated here, where it cannot be given twice.
insert into pawl.workflow (code, version, revision, name, description, graph,
       source, bundle, sha256, inline, active, current, executor_group,
       created_at, modified_at, modified_by, reason)
select @code, @version,
       1 + coalesce((select max(revision) from pawl.workflow
                      where code = @code and version = @version), 0),
       @name, @description, @graph, @source, @bundle, @sha256, @inline, @active,
       true, @executor_group, coalesce(@now, now()), coalesce(@now, now()),
       @modified_by, @reason
on conflict do nothing;
