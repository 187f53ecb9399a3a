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
--       inline boolean, active boolean, name text, modified_at time,
--       modified_by text
select code, version, revision, sha256, inline, active, name, modified_at,
       modified_by
  from pawl.workflow
 where current and (@code is null or code = @code)
 order by code, version;

-- name: workflow_lock
-- args: @code text, @version integer
-- rows: revision integer, sha256 text
-- Held until the unit ends: two programs registering a version take turns.
select revision, sha256 from pawl.workflow
 where code = @code and version = @version and current for update;

-- name: workflow_in_use
-- args: @code text, @version integer, @shard smallint[]
-- rows: id uuid
-- An unfinished instance of this version, if there is one.
select i.id from unnest(@shard) as s (shard) cross join lateral (
  select id from pawl.instance
   where shard = s.shard and workflow = @code
     and status in ('running', 'waiting', 'suspended')
     and workflow_version = @version and deleted_at is null limit 1) i
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
--       @inline boolean, @executor_group text, @modified_by text, @now time
-- The revision number is allocated here, where it cannot be given twice.
insert into pawl.workflow (code, version, revision, name, description, graph,
       source, bundle, sha256, inline, active, current, executor_group,
       created_at, modified_at, modified_by)
select @code, @version,
       1 + coalesce((select max(revision) from pawl.workflow
                      where code = @code and version = @version), 0),
       @name, @description, @graph, @source, @bundle, @sha256, @inline, true,
       true, @executor_group, coalesce(@now, now()), coalesce(@now, now()),
       @modified_by
on conflict do nothing;
