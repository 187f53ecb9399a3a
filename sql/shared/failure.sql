-- Failures: which instances have failed, or were suspended by an error.

-- name: failure_drop
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[]
-- Those that are no failures any more, behind what was written of them.
delete from pawl.failure
-- only: postgres
    t using {{short_rows}} {{lease_guard}}
 cross join lateral (
  select ctid as place from pawl.failure
   where shard = @shard and instance = s.id
     and not {{fails_still}} offset 0) g
 where t.shard = @shard and t.ctid = g.place;
-- only: sqlite
 where shard = @shard and instance = s.id and not {{fails_still}}
   and {{lease_guard}};

-- name: failure_put
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- Those that are, with the time of the commit that made them so.
insert into pawl.failure as f (shard, instance, workflow, code, node,
       failed_at)
select @shard, i.id, i.workflow, i.code, i.node, i.updated_at
  {{from_each}} (
  select id, workflow, {{error_code}} as code,
         coalesce(node, '') as node, updated_at
    from pawl.instance
   where shard = @shard and id = s.id and lease = s.lease
     and {{is_failure}} offset 0) i
 where true
on conflict (shard, instance) do update
   set code = excluded.code, node = excluded.node,
       failed_at = case when f.code = excluded.code
                             and f.node = excluded.node
                        then f.failed_at
                        else excluded.failed_at end;
