-- Suspended workflows, by code or by what codes begin with.

-- name: suspension_put
-- args: @code text, @is_prefix boolean, @reason text, @suspended_by text,
--       @now time?
insert into pawl.suspension (code, is_prefix, reason, suspended_by,
       suspended_at)
values (@code, @is_prefix, @reason, @suspended_by, {{now}})
on conflict do nothing;

-- name: suspension_get
-- args: @code text, @is_prefix boolean, @now time?
-- rows: suspended_at time, suspended_by text, reason text, now time
select suspended_at, suspended_by, reason, {{now}} as now
  from pawl.suspension where is_prefix = @is_prefix and code = @code;

-- name: suspension_delete
-- args: @code text, @is_prefix boolean
delete from pawl.suspension where is_prefix = @is_prefix and code = @code;

-- name: suspension_list
-- rows: code text, is_prefix boolean, reason text, suspended_by text,
--       suspended_at time
select code, is_prefix, reason, suspended_by, suspended_at
  from pawl.suspension order by code, is_prefix;
