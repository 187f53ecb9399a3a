-- What is wrong in the store: read in pages, without locks.

-- name: agenda_busy
-- args: @shard smallint, @executor_group text, @horizon_us bigint, @now time?
-- rows: held boolean
-- Is anything of this group held by anybody? No lease is longer than the
-- horizon, so that later rows need not be read.
select exists (
  select 1 from pawl.agenda
   where shard = @shard and not ready and lease is not null
     and executor_group = @executor_group
     and due_at <= {{from_now @horizon_us}}) as held;

-- name: health_agenda
-- args: @shard smallint, @after uuid, @patience_us bigint, @now time?,
--       @max integer
-- rows: instance uuid, workflow text, executor_group text, due boolean,
--       held boolean, lease uuid, unserved boolean, asked boolean,
--       stray boolean
-- A page of the agenda, in the order of ids. Unserved is what has been due for
-- longer than that while no worker of its group is alive; what has been asked
-- of it can be taken by others.
select a.instance, a.workflow, a.executor_group,
       a.ready or a.due_at <= {{now}} as due, a.lease is not null as held,
       a.lease,
       a.due_at < {{from_now -@patience_us}}
       and a.executor_group not in (
         select executor_group from pawl.executor
          where stopped_at is null and recovered_at is null
            and expires_at > {{now}}) as unserved,
       (select 1 from pawl.inbox b
         where b.shard = @shard and b.instance = a.instance
           and not b.taken and b.kind not in ('event', 'child', 'task')
         order by b.received_at, b.no limit 1) is not null as asked,
       not exists (select 1 from pawl.instance i
                    where i.shard = @shard and i.id = a.instance
                   offset 0) as stray
  from pawl.agenda a
 where a.shard = @shard and a.instance > @after
 order by a.instance limit @max;

-- name: health_page
-- args: @shard smallint, @workflow text, @status text, @after uuid,
--       @shards integer, @now time?, @max integer
-- rows: instance uuid, node text, wrong text
-- A page of a workflow's instances that live, in the order of ids. What is due
-- or held will be looked at, and what is suspended need not be; what undoes a
-- part of what it did leaves all else until then. Of all others:
-- what could move them, and nobody has looked at it, and the node of the token
-- that it would move. What was kept a moment ago may be under way, and what
-- was assigned to another one is.
-- With `offset 0` the planner asks about each, and does not make a list of
-- all first.
-- Differs: in SQLite subqueries in FROM cannot look outside; joins do. The plus
-- keeps the index by expiry out: events are found by their keys.
-- only: postgres
with page as materialized (
  select instance from pawl.standing
   where shard = @shard and workflow = @workflow and status = @status
     and instance > @after
   order by instance limit @max
)
-- only: sqlite
with recursive shards (no) as (
  select 0 union all select no + 1 from shards where no + 1 < @shards
), page as (
  select id as instance from pawl.instance indexed by pawl_instance_workflow
   where shard = @shard and workflow = @workflow and status = @status
     and id > @after
   order by id limit @max
)
-- for all
select f.instance,
       case when f.token_no is not null then f.node
            else (select t.node from pawl.token t
                   where t.shard = @shard and t.instance = f.instance
-- only: postgres
                     and t.no::text = split_part(f.wrong, ' ', 2)) end as node,
       split_part(f.wrong, ' ', 1) as wrong
-- only: sqlite
                     and t.no = substr(f.wrong, instr(f.wrong, ' ') + 1)) end
         as node,
       substr(f.wrong, 1, instr(f.wrong || ' ', ' ') - 1) as wrong
-- for all
  from (
  select i.id as instance, i.node, i.token_no,
       case
         when a.is_due or i.deleted_at is not null
              or i.status = 'suspended' then null
         when a.due_at is not null and i.compensation is not null then null
         when a.due_at is null and i.status = 'running'
              then 'run ' || coalesce((
                select cast(t.no as text) from pawl.token t
                 where t.shard = @shard and t.instance = i.id
                   and t.state = 'active' order by t.no limit 1), '')
         else coalesce(
           case when a.due_at is null
                then (select 'time ' || t.no from pawl.token t
                       where t.shard = @shard and t.instance = i.id
                         and t.state in ('active', 'waiting')
                         and t.due_at is not null
                       order by t.due_at limit 1) end,
           case when a.due_at is null
                     and (i.token_due_at is not null
                          or i.deadline_at is not null) then 'time' end,
           (select 'letter ' ||
-- only: postgres
                   coalesce(b.data ->> 'token', '')
-- only: sqlite
                   coalesce(case when json_valid(b.data)
                     then json_extract(b.data, '$.token') end, '')
-- for all
              from pawl.inbox b
             where b.shard = @shard and b.instance = i.id
               and not b.taken and b.kind <> 'event' limit 1),
           (select 'event ' || (s.token % 1073741824) from pawl.subscription s
            where s.shard = @shard and s.instance = i.id and s.token > 0
              and exists (
                select 1 from pawl.inbox b
                 where b.shard = @shard and b.instance = i.id
                   and not b.taken and b.kind = 'event'
                   and {{pattern_fits b}}
                   and case when b.key is null or s.key is null
                            then b.addressed
                                 or b.key is null and s.key is null
                            else b.key = s.key end
                   and strpos({{detail_of}}::text,
                         '"' || b.event_id || '"') = 0 offset 0) limit 1),
           (select 'event ' || (s.token % 1073741824) from pawl.subscription s
            where s.shard = @shard and s.instance = i.id and s.token > 0
              and exists (
-- only: postgres
                select 1 from generate_series(0, @shards - 1) as n (shard)
                 cross join lateral (
                  select * from pawl.event
                   where shard = n.shard and tenant = s.tenant and key = s.key
                   offset 0) e
                 where {{pattern_fits e}} and e.expires_at > {{now}}
-- only: sqlite
                select 1 from shards n cross join pawl.event e
                 where e.shard = n.no and e.tenant = s.tenant and e.key = s.key
                   and {{pattern_fits e}} and +e.expires_at > {{now}}
-- for all
                   and e.posted and e.received_at < {{from_now -5000000}}
                   and not exists (
-- only: postgres
                     select 1 from (
                       select instance, kind, event_id from pawl.inbox
                        where shard = @shard and event_id is not null
                          and (instance, kind, event_id)
                              >= (i.id, 'event', e.source || ':' || e.id)
                        order by instance, kind, event_id limit 1) b
                      where b.instance = i.id and b.kind = 'event'
-- only: sqlite
                     select 1 from pawl.inbox b
                      where b.shard = @shard and b.instance = i.id
                        and b.kind = 'event'
-- for all
                        and b.event_id = e.source || ':' || e.id)
                   and strpos({{detail_of}}::text,
                         '"' || e.source || ':' || e.id || '"') = 0
                   and (e.taker is null or e.taker = i.id
                        or s.token >= 1073741824
                        or strpos({{detail_of}}::text, '"takes_one":true') = 0)
                   and (s.free is null or s.free and e.assigned_at is null)
                offset 0) limit 1),
           case when i.token_state = 'waiting'
                     and i.token_detail::text like '%"total":%'
                     and (i.token_detail::text like '%"live":0%'
                          or i.token_detail::text not like '%"live":%')
                then 'items' end,
           (select 'items ' || t.no from pawl.token t
             where t.shard = @shard and t.instance = i.id
               and t.state = 'waiting' and t.detail::text like '%"total":%'
               and (t.detail::text like '%"live":0%'
                    or t.detail::text not like '%"live":%')
             order by t.no limit 1))
       end as wrong
  from page p
-- only: postgres
 cross join lateral (
  select * from pawl.instance where shard = @shard and id = p.instance
  offset 0) i
  left join lateral (
  select due_at, ready or lease is not null or due_at <= {{now}} as is_due
    from pawl.agenda where shard = @shard and instance = p.instance
  offset 0) a on true
  offset 0
-- only: sqlite
 cross join pawl.instance i
  left join (select shard, instance, due_at,
                    ready or lease is not null or due_at <= @now as is_due
               from pawl.agenda) a
    on a.shard = @shard and a.instance = p.instance
 where i.shard = @shard and i.id = p.instance
-- for all
) f
 order by f.instance;
