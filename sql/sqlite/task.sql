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
select t.id, t.due_at from pawl_task t indexed by pawl_task_visit
 where t.shard = @shard and +t.status = @status
   and t.instance = @instance and {{task_fits_page}};

-- name: task_list_owner
select * from ({{owned desc; not @up}}) older
union all
select * from ({{owned asc; @up}}) newer;

-- name: task_end
update pawl_task indexed by pawl_task_visit
   set status = @status, updated_at = @updated_at,
       completed_at = @updated_at
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
   set status = 'cancelled', updated_at = @updated_at,
       completed_at = @updated_at
 where shard = @shard and instance = @id
   and status in ('pending', 'running')
   and {{lease_guard}};
