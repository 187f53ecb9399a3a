-- Definitions: versions and their revisions.

-- name: workflow_get
-- args: @code text, @version integer?
-- rows: code text, version integer, revision integer, name text,
--       description text, graph json, source text, bundle json,
--       sha256 text, inline boolean, active boolean, trust text,
--       grants json, code_author text
-- Version null: the newest active one. code_author: whose its code is.
select code, version, revision, name, description, graph, source, bundle,
       sha256, inline, active, trust, grants,
       (select c.author from pawl.code c where c.code = w.code) as code_author
  from pawl.workflow w
 where code = @code and current
   and (version = @version or (@version is null and active))
 order by version desc limit 1;

-- name: workflow_show
-- args: @code text, @version integer?, @revision integer?
-- rows: code text, version integer, revision integer, name text,
--       description text, graph json, source text, bundle json,
--       sha256 text, inline boolean, active boolean, current boolean,
--       created_at time, modified_at time, executor_group text, by text,
--       reason text, suspended boolean, off boolean, trust text, author text,
--       grants json
-- Version null: the newest that starts, else the newest; revision null: the
-- one that runs.
select code, version, revision, name, description, graph, source, bundle,
       sha256, inline, active, current, created_at, modified_at,
       executor_group, by, reason, {{suspended w.code}} as suspended,
       switched_off is not null as off, trust, author, grants
  from pawl.workflow w
 where code = @code and (@version is null or version = @version)
   and (revision = @revision or (@revision is null and current))
 order by active desc, version desc limit 1;

-- name: workflow_revisions
-- args: @code text, @version integer
-- rows: revision integer, current boolean, sha256 text, created_at time,
--       modified_at time, by text, reason text
select revision, current, sha256, created_at, modified_at, by, reason
  from pawl.workflow
 where code = @code and version = @version
 order by revision;

-- name: workflow_newest
-- args: @code text
-- rows: version integer
-- Also one that does not start.
select version from pawl.workflow
 where code = @code and current
 order by version desc limit 1;

-- name: workflow_list
-- args: @code text, @prefix text, @search text, @active boolean??,
--       @after_code text, @after_version integer?, @max integer
-- rows: code text, version integer, revision integer, sha256 text,
--       inline boolean, active boolean, name text, description text,
--       nodes integer??,
--       created_at time, modified_at time, by text, reason text,
--       suspended boolean, off boolean, trust text, author text, grants json
select code, version, revision, sha256, inline, active, name, description,
       json_array_length({{readable graph}} -> 'nodes') -- only: postgres
         as nodes, -- only: postgres
       json_array_length(graph, '$.nodes') as nodes, -- only: sqlite
       created_at, modified_at, by, reason,
       {{suspended w.code}} as suspended, switched_off is not null as off,
       trust, author, grants
  from pawl.workflow w
 where current and (@code is null or code = @code)
   and (@prefix is null or left(code, length(@prefix)) = @prefix)
   and (@active is null or active = @active)
   and (@search is null or {{has_text code}} or {{has_text name}}
        or {{has_text description}})
   and (@after_code is null
        or (code, version) > (@after_code, @after_version))
 order by code, version limit @max;

-- name: workflow_activate
-- args: @code text, @version integer, @active boolean, @by text,
--       @reason text, @now time?
update pawl.workflow
   set active = @active, modified_at = {{now}},
       by = @by, reason = coalesce(@reason, reason)
 where code = @code and version = @version and current
   and not exists (select 1 from pawl.workflow o
                    where o.code = @code and o.switched_off is not null);

-- name: workflow_off
-- args: @code text, @by text, @reason text, @now time?
-- None of its versions starts, and none that comes. Each keeps whether it did.
update pawl.workflow
   set switched_off = active, active = false, modified_at = {{now}},
       by = @by, reason = coalesce(@reason, reason)
 where code = @code and current and switched_off is null;

-- name: workflow_on
-- args: @code text, @by text, @reason text, @now time?
-- Those of old revisions, too: they would keep it off.
update pawl.workflow
   set active = switched_off, switched_off = null,
       modified_at = case when current then {{now}} else modified_at end,
       by = case when current then @by else by end,
       reason = case when current then coalesce(@reason, reason)
                     else reason end
 where code = @code and switched_off is not null;

-- name: workflow_lock
-- args: @code text, @version integer
-- rows: revision integer, sha256 text, active boolean, graph json,
--       reason text, trust text, author text, grants json
-- Held until the unit ends: two programs registering a version take turns.
-- Differs: in SQLite the unit's write lock makes them do so.
select revision, sha256, active, graph, reason, trust, author, grants
  from pawl.workflow
 where code = @code and version = @version and current for update;

-- name: workflow_retire
-- args: @code text, @version integer, @now time?
-- The current revision becomes an older one; its source stays, by hash.
update pawl.workflow
   set current = false, modified_at = {{now}}
 where code = @code and version = @version and current;

-- name: workflow_limit
-- args: @code text, @version integer, @trust text, @author text, @grants json
update pawl.workflow set trust = @trust, author = @author, grants = @grants
 where code = @code and version = @version and current;

-- name: workflow_insert
-- args: @code text, @version integer, @name text, @description text,
--       @graph json, @source text, @bundle json, @sha256 text,
--       @inline boolean, @trust text, @author text, @grants json,
--       @active boolean,
--       @executor_group text, @by text, @reason text, @now time?
-- The revision number is allocated here, where it cannot be given twice. Of a
-- code that is switched off, or is being so, it does not start; whether it
-- would is as it was, or as it is to be.
insert into pawl.workflow (code, version, revision, name, description, graph,
       source, bundle, sha256, inline, trust, author, grants, active, current,
       executor_group, created_at, modified_at, by, reason, switched_off)
select @code, @version,
       1 + coalesce((select max(revision) from pawl.workflow
                      where code = @code and version = @version), 0),
       @name, @description, @graph, @source, @bundle, @sha256, @inline,
       @trust, @author, @grants,
       case when o.n > 0 then false else @active end,
       true, @executor_group, {{now}}, {{now}}, @by, @reason,
       case when o.n > 0 then
         coalesce((select switched_off from pawl.workflow
                    where code = @code and version = @version
                    order by revision desc limit 1), @active) end
  from (select count(switched_off) as n from (
          select switched_off from pawl.workflow
           where code = @code for update) l) o
 where true
on conflict do nothing;

-- name: code_author
-- args: @code text
-- rows: author text
select author from pawl.code where code = @code;

-- name: code_claim
-- args: @code text, @author text
-- rows: author text
-- Whose it is: @author's, if it was nobody's. Held until the unit ends.
insert into pawl.code as c (code, author) values (@code, @author)
on conflict (code) do update set author = c.author
returning author;

-- name: code_take
-- args: @code text, @author text
update pawl.code set author = @author where code = @code;
