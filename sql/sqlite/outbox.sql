-- name: outbox_claim
update pawl_outbox
   set lease = @lease, due_at = {{from_now @lease_us}},
       attempts = attempts + (lease is not null)
 where rowid in (
  select d.place from ({{outbox_due}}) d
   where not {{stands_behind d; @shard}} limit @max)
returning instance, seq;

-- name: outbox_park
update pawl_outbox set due_at = {{never}}
 where rowid in (
  select d.place from ({{outbox_due}}) d where {{stands_behind d; @shard}})
   and (select count(*) from ({{outbox_due}})) >= @walk;

-- name: outbox_lock
-- Differs: nobody else writes.
select 1 from pawl_outbox
 where shard = @shard and instance = @instance and seq = @seq and @upto = -1
   and lease = @lease;

-- name: outbox_publish
update pawl_outbox set published_at = @now, lease = @lease
 where shard = @shard and instance = @instance and seq >= @seq
   and seq <= @upto and published_at is null
   and exists (select 1 from pawl_outbox f
                where f.shard = @shard and f.instance = @instance
                  and f.seq = @seq and f.lease = @lease)
returning instance;

-- name: outbox_pass
update pawl_outbox
   set lease = @keep,
       due_at = case when @dead then {{never}} else {{from_now @for_us}} end,
       attempts = coalesce(@attempts, attempts),
       error = coalesce(@error, error),
       dead_at = case when @dead then @now end
 where rowid = (select rowid from pawl_outbox
                 where shard = @shard and instance = @instance
                   and seq > @after order by seq limit 1)
   and published_at is null and dead_at is null
   and (lease = @lease
        or lease is null
           and exists (select 1 from pawl_outbox f
                        where f.shard = @shard and f.instance = @instance
                          and f.seq = @after and f.lease = @lease
                          and (f.published_at is not null
                               or f.dead_at is not null)))
returning instance;

-- name: outbox_retry
update pawl_outbox
   set due_at = @now, dead_at = null, lease = null, attempts = 0, by = @by,
       reason = @reason
 where shard = @shard and instance = @instance and seq = @seq
   and published_at is null
   and (dead_at is not null
        or lease is null and attempts > 0 and due_at < {{never}})
returning instance, seq;

-- name: outbox_drop
update pawl_outbox as s
   set published_at = @now, dead_at = coalesce(dead_at, @now), lease = @lease,
       by = @by, reason = @reason
 where shard = @shard and instance = @instance and seq = @seq
   and published_at is null
   and (dead_at is not null
        or (lease is null or due_at <= @now) and not {{stands_behind s; @shard}})
returning instance, seq;
