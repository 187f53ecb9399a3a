-- Breakpoints: nodes before which tokens halt. Whoever changes them counts it,
-- and claims see the number.

-- name: breakpoint_put
-- args: @workflow text, @node text, @tenant text, @condition text, @by text,
--       @reason text, @lasts_us bigint, @now time?
-- One that is there is set anew.
insert into pawl.breakpoint (workflow, node, tenant, condition, by, reason,
       set_at, expires_at)
values (@workflow, @node, @tenant, @condition, @by, @reason, {{now}},
        {{from_now @lasts_us}})
on conflict (workflow, node, tenant) do update
   set condition = excluded.condition, by = excluded.by,
       reason = excluded.reason, set_at = excluded.set_at,
       expires_at = excluded.expires_at;

-- name: breakpoint_changed
-- args: @changes bigint
-- Behind what changes them: so many more.
insert into pawl.breakpoint_change as c (no, changes) values (1, @changes)
on conflict (no) do update set changes = c.changes + excluded.changes;

-- name: breakpoint_list
-- args: @workflow text, @node text, @tenant text, @now time?
-- rows: workflow text, node text, tenant text, condition text, by text,
--       reason text, set_at time, expires_at time
-- Those that count. Null @tenant: whosever they are.
select workflow, node, tenant, condition, by, reason, set_at, expires_at
  from pawl.breakpoint
 where expires_at > {{now}}
   and (@workflow is null or workflow = @workflow)
   and (@node is null or node = @node)
   and (@tenant is null or tenant = @tenant)
 order by workflow, node, tenant;

-- name: breakpoint_end
-- args: @workflow text, @node text, @tenant text, @now time?
-- They count no more, and are there until what has halted there goes on.
update pawl.breakpoint set expires_at = {{now}}
 where expires_at > {{now}} and workflow = @workflow and node = @node
   and tenant = @tenant;

-- name: breakpoint_tidy
-- args: @now time?
delete from pawl.breakpoint where expires_at <= {{now}};

-- name: breakpoint_leased
-- args: @shard smallint, @workflow text, @horizon_us bigint, @now time?
-- rows: instance uuid
-- Those of a workflow that somebody holds: leases end within the horizon.
select f.instance
  from (select instance, workflow from pawl.agenda
               indexed by pawl_agenda_due -- only: sqlite
         where shard = @shard and not ready and lease is not null
           and due_at <= {{from_now @horizon_us}}
         order by due_at offset 0) f
 where f.workflow = @workflow
 order by f.instance;

-- name: breakpoint_halted
-- args: @shard smallint, @workflow text, @node text, @tenant text,
--       @after uuid, @max integer
-- rows: instance uuid
-- Those that have halted there: a page of them, in the order of their ids. They
-- are on the agenda, by the time until which they do.
select a.instance
  from pawl.agenda a {{instance_at a.shard; a.instance}}
 where a.shard = @shard and a.instance > @after and a.workflow = @workflow
   and (@tenant = '' or t.tenant = @tenant)
   and {{stands_at t; @node}} and {{halts t}}
 order by a.instance limit @max;
