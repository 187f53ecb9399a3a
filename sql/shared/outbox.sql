-- The outbox: what workflows tell the world, in their steps' own commits, and
-- what a relay makes of it (engine/work/relay.h).
--
-- Of an instance's rows the first that is neither published nor dead is its
-- front: that alone is claimed, with a lease, and what is behind it goes with
-- it. What a claim finds behind a front too often is put off to the end of
-- time, under the lock of the row before it; whoever settles a row sees, in a
-- later statement, to the one behind it.

-- name: outbox_list
-- args: @shard smallint[], @type text, @emitted_before time?,
--       @after_at time??, @after_instance uuid, @after_seq bigint??,
--       @max integer
-- rows: instance uuid, seq bigint, tenant text, type text, payload json,
--       created_at time, attempts integer, due_at time, error text,
--       leased boolean, dead_at time, by text, reason text, behind boolean
-- What waits to be published, in the order it is due; the caller merges the
-- shards. @after...: the page behind that row.
select o.* {{from_each}} (
  {{emitted due_at; published_at is null}}
   order by due_at, instance, seq limit @max) o;

-- name: outbox_list_tenant
-- args: @shard smallint[], @tenant text, @type text, @emitted_before time?,
--       @after_at time??, @after_instance uuid, @after_seq bigint??,
--       @max integer
-- rows: like outbox_list
-- The same of one tenant's.
select o.* {{from_each}} (
  {{emitted due_at; published_at is null and t.tenant = @tenant}}
   order by tenant, due_at, instance, seq limit @max) o;

-- name: outbox_dead
-- args: like outbox_list_tenant
-- rows: like outbox_list
-- Of those the ones that were set aside, in the order in which they were.
select o.* {{from_each}} (
  {{emitted dead_at; published_at is null and dead_at is not null
                     and (@tenant is null or t.tenant = @tenant)}}
   order by dead_at, instance, seq limit @max) o;

-- name: outbox_of
-- args: @shard smallint[], @instance uuid, @tenant text, @type text,
--       @dead boolean, @emitted_before time?, @after_at time??,
--       @after_instance uuid, @after_seq bigint??, @max integer
-- rows: like outbox_list
-- The same of one instance, found by its key. (Said so that no index of what
-- all others have seems to serve.)
select o.* {{from_each}} (
  {{emitted case when @dead then dead_at else due_at end;
            t.instance = @instance and (published_at is null) is true
            and (not @dead or dead_at is not null)
            and (@tenant is null or t.tenant = @tenant)}}
   order by case when @dead then dead_at else due_at end, seq limit @max) o;

-- name: outbox_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seq bigint[], @tenant text[], @type text[], @payload json[],
--       @created_at time[]
insert into pawl.outbox (shard, instance, seq, tenant, type, payload,
       created_at, attempts, due_at)
select @shard, s.id, s.seq, s.tenant, s.type, s.payload, s.created_at, 0,
       s.created_at
  {{from_held}};

-- name: outbox_run
-- args: @shard smallint, @instance uuid[], @seq bigint[], @small integer,
--       @max integer
-- rows: instance uuid, seq bigint, type text, payload json, withheld boolean,
--       created_at time, attempts integer, open boolean, workflow text,
--       version integer, tenant text, correlation text, business_key text
-- Of each instance the row with that number and what is behind it, @max in
-- all; of those behind no payload that is longer than @small.
select o.* {{from_each}} (
  select t.instance, t.seq, t.type,
         case when t.seq = s.seq or length(t.payload::text) <= @small
              then t.payload end as payload,
         t.seq > s.seq and length(t.payload::text) > @small as withheld,
         t.created_at, t.attempts,
         t.published_at is null and t.dead_at is null as open,
         i.workflow, i.version, i.tenant, i.correlation, i.business_key
    from pawl.outbox t
    left join lateral ( -- only: postgres
      select * from pawl.instance where shard = @shard -- only: postgres
         and id = t.instance offset 0) i on true -- only: postgres
    left join pawl.instance i on i.shard = @shard -- only: sqlite
         and i.id = t.instance -- only: sqlite
   where t.shard = @shard and t.instance = s.instance and t.seq >= s.seq
   order by t.seq limit @max) o;

-- name: outbox_next
-- args: @shard smallint
-- rows: due_at time
-- When the next one is due, or a lease ends.
select due_at from pawl.outbox
 where shard = @shard and published_at is null
 order by due_at, instance, seq limit 1;
