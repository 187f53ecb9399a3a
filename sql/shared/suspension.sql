-- Suspended workflows, by code or by what codes begin with.

-- name: suspension_put
-- args: @code text, @is_prefix boolean, @reason text, @by text,
--       @now time?
insert into pawl.suspension (code, is_prefix, reason, by,
       suspended_at)
values (@code, @is_prefix, @reason, @by, {{now}})
on conflict do nothing;

-- name: suspension_get
-- args: @code text, @is_prefix boolean, @now time?
-- rows: suspended_at time, by text, reason text, now time
select suspended_at, by, reason, {{now}} as now
  from pawl.suspension where is_prefix = @is_prefix and code = @code;

-- name: suspension_delete
-- args: @code text, @is_prefix boolean
delete from pawl.suspension where is_prefix = @is_prefix and code = @code;
