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
          select version, deleted_at from pawl.instance
           where shard = s.shard and id = n.instance offset 0) i
         where i.version = @version
           and i.deleted_at is null) as live
  from {{rows}};

-- name: workflow_in_use
-- args: @code text, @version integer, @shard smallint[]
-- rows: id uuid
-- An unfinished instance of this version, if there is one.
select i.id from {{rows}}
 cross join unnest(array['running', 'waiting', 'suspended']) as l (status)
 cross join lateral (
  select n.instance as id from pawl.standing n
   cross join lateral (
    select version, deleted_at from pawl.instance
     where shard = s.shard and id = n.instance offset 0) t
   where n.shard = s.shard and n.workflow = @code and n.status = l.status
     and t.version = @version and t.deleted_at is null limit 1) i
 limit 1;
