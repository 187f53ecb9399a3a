-- name: task_letter
-- Behind task_write, and only if that was done: the instance is told.
insert into pawl_inbox (shard, instance, no, kind, event_id, source, by,
       data, received_at)
select t.shard, t.instance, @request, 'task', @event_id, 'user', @by,
       @data, @now
  from pawl_task t
  join pawl_agenda a on a.shard = t.shard and a.instance = t.instance
 where t.shard = @shard and t.id = @id and t.request = @request
   and t.instance = @instance
on conflict do nothing;

-- name: task_list_instance
-- The plusses keep other indexes out: an instance has few tasks.
select t.id, t.due_at from pawl_task t
 where t.shard = @shard and +t.status = @status
   and t.instance = @instance
   and (@form is null or t.form = @form)
   and (@priority is null or t.priority = @priority)
   and (@due is null or t.due_at <= @due)
   and (@before is null or t.id < @before)
 order by +t.id desc limit @max;

-- name: task_list_owner
select t.id, t.due_at
  from pawl_owner o
  cross join pawl_task t on t.shard = o.shard and t.id = o.task
 where o.shard = @shard and o.kind = @kind and o.id = @owner
   and o.open = (@status in ('pending', 'running'))
   and t.status = @status
   and (@before is null or o.task < @before)
   and {{task_fits}}
   and (@due is null or t.due_at <= @due)
 order by o.task desc limit @max;

-- name: task_end
update pawl_task indexed by pawl_task_visit
   set status = @status, updated_at = @updated_at
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and status in ('pending', 'running')
   and {{lease_guard}};

-- name: task_rename
update pawl_task indexed by pawl_task_visit set node = @node
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and node <> @node
   and {{lease_guard}};

-- name: task_raise
update pawl_task indexed by pawl_task_visit
   set priority = coalesce(@priority, priority),
       escalated_at = @escalated_at, updated_at = @escalated_at
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and status in ('pending', 'running')
   and {{lease_guard}};

-- name: task_due
update pawl_task indexed by pawl_task_visit
   set due_at = @due_at, updated_at = @updated_at
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and status in ('pending', 'running')
   and {{lease_guard}};

-- name: task_close
update pawl_task indexed by pawl_task_visit
   set status = 'cancelled', updated_at = @updated_at
 where shard = @shard and instance = @id
   and status in ('pending', 'running')
   and {{lease_guard}};
