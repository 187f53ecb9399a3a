--- What counters say, beside what is stored: SQL that holds of each store at
--- any moment between two transactions.
local counted = {}

-- The place of instances, as pawl.counter has it.
local STATUS = "case when deleted_at is not null then 'deleted' else status end"
local NODE = "case when deleted_at is null and token_no is not null and status"
  .. " in ('waiting', 'suspended') then coalesce(node, '') else '' end"

--- Rows for each place of which the counters have another number than there
--- are: workflow, version, status, node, told, there.
counted.wrong = ([[
  select workflow, version, status, node, sum(told) as told,
         sum(there) as there
    from (
    select workflow, version, status, node, amount as told, 0 as there
      from pawl.counter where status not in ('purged', 'transferred')
    union all
    select workflow, version, was, was_node, -amount, 0
      from pawl.counter where was not in ('', 'purged', 'transferred')
    union all
    select workflow, version, %s, %s, 0, 1 from pawl.instance
    union all
    select workflow, version, 'archived', '', 0, 1 from pawl.archive
     where purged_at is null) c
   group by workflow, version, status, node
  having sum(told) <> sum(there) order by 1, 2, 3, 4]]):format(STATUS, NODE)

--- Instances that are failures, or live and have a deadline, and have no row
--- that says so, or the other way round.
counted.unlike = [[
  select id, status as wrong from pawl.instance i
   where status in ('failed', 'suspended') and error is not null
     and deleted_at is null
     and not exists (select 1 from pawl.failure f
       where f.shard = i.shard and f.instance = i.id
         and f.workflow = i.workflow
         and f.node = coalesce(i.node, ''))
  union all
  select f.instance, 'stale' from pawl.failure f
   where not exists (select 1 from pawl.instance i
     where i.shard = f.shard and i.id = f.instance and i.error is not null
       and i.status in ('failed', 'suspended') and i.deleted_at is null)
  union all
  select id, 'no deadline' from pawl.instance i
   where deadline_at is not null and completed_at is null
     and not exists (select 1 from pawl.deadline d
       where d.shard = i.shard and d.instance = i.id
         and d.deadline_at = i.deadline_at)
  union all
  select f.instance, 'stale deadline' from pawl.deadline f
   where not exists (select 1 from pawl.instance i
     where i.shard = f.shard and i.id = f.instance
       and i.deadline_at = f.deadline_at and i.completed_at is null)]]

return counted
