-- Quotas: what limited workflows have done in a minute.

-- name: quota_read
-- args: @workflow text, @minute time, @executor uuid
-- rows: quota text, amount bigint
-- By all others than this one, who knows what it has done itself.
select quota, sum(amount)::bigint as amount
  from pawl.quota
 where workflow = @workflow and minute = @minute and executor <> @executor
 group by quota;

-- name: quota_add
-- args: @workflow text[], @minute time[], @quota text[], @executor uuid[],
--       @amount bigint[]
insert into pawl.quota (workflow, minute, quota, executor, amount)
-- only: postgres
select s.workflow, s.minute, s.quota, s.executor, sum(s.amount)
  from (select {{unnested}}) s
 group by s.workflow, s.minute, s.quota, s.executor
    on conflict (workflow, minute, quota, executor)
    do update set amount = quota.amount + excluded.amount;
-- only: sqlite
values (@workflow, @minute, @quota, @executor, @amount)
on conflict do update set amount = amount + excluded.amount;
-- for all

-- name: quota_prune
-- args: @before time
-- Minutes that nobody asks for any more.
delete from pawl.quota
-- only: postgres
 where ctid in (select ctid from pawl.quota
                 where minute < @before for update skip locked);
-- only: sqlite
 where minute < @before;
-- for all
