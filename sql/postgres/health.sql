-- What is wrong in the store: read in pages, without locks.

-- name: agenda_busy
-- args: @shard smallint, @executor_group text, @horizon_us bigint, @now time
-- rows: held boolean
-- Is anything of this group held by anybody? No lease is longer than the
-- horizon, so that later rows need not be read.
select exists (
  select from pawl.agenda
   where shard = @shard and not ready and lease is not null
     and executor_group = @executor_group
     and due_at <= coalesce(@now, now())
                   + @horizon_us * interval '1 microsecond') as held;

-- name: health_agenda
-- args: @shard smallint, @after uuid, @patience_us bigint, @now time,
--       @max integer
-- rows: instance uuid, workflow text, executor_group text, due boolean,
--       held boolean, unserved boolean, asked boolean, stray boolean
-- A page of the agenda, in the order of ids. Unserved is what has been due for
-- longer than that while no worker of its group is alive; what has been asked
-- of it can be taken by others.
select a.instance, a.workflow, a.executor_group,
       a.ready or a.due_at <= coalesce(@now, now()) as due,
       a.lease is not null as held,
       a.due_at < coalesce(@now, now())
                  - @patience_us * interval '1 microsecond'
       and a.executor_group not in (
         select executor_group from pawl.executor
          where stopped_at is null and recovered_at is null
            and expires_at > coalesce(@now, now())) as unserved,
       (select 1 from pawl.inbox b
         where b.shard = @shard and b.instance = a.instance
           and not b.taken and b.kind not in ('event', 'child', 'task')
         order by b.received_at, b.no limit 1) is not null as asked,
       not exists (select from pawl.instance i
                    where i.shard = @shard and i.id = a.instance
                   offset 0) as stray
  from pawl.agenda a
 where a.shard = @shard and a.instance > @after
 order by a.instance limit @max;

-- name: health_workflow
-- args: @shard smallint, @after text
-- rows: workflow text
-- The next workflow that has instances.
select workflow from pawl.standing
 where shard = @shard and workflow > @after
 order by workflow limit 1;

-- name: health_page
-- args: @shard smallint, @workflow text, @status text, @after uuid,
--       @shards integer, @now time, @max integer
-- rows: instance uuid, node text, wrong text
-- A page of a workflow's instances that live, in the order of ids. What is due
-- or held will be looked at. Of all others: what could move them, and nobody
-- has looked at it, and the node of the token that it would move. What was kept
-- a moment ago may be under way.
-- With `offset 0` the planner asks about each, and does not make a list of
-- all first.
with page as materialized (
  select instance from pawl.standing
   where shard = @shard and workflow = @workflow and status = @status
     and instance > @after
   order by instance limit @max
)
select i.id as instance,
       case when i.token_no is not null then i.node
            else (select t.node from pawl.token t
                   where t.shard = @shard and t.instance = i.id
                     and t.no::text = split_part(f.wrong, ' ', 2)) end as node,
       split_part(f.wrong, ' ', 1) as wrong
  from page p
 cross join lateral (
  select * from pawl.instance where shard = @shard and id = p.instance
  offset 0) i
  left join lateral (
  select due_at, ready or lease is not null
                 or due_at <= coalesce(@now, now()) as is_due
    from pawl.agenda where shard = @shard and instance = p.instance
  offset 0) a on true
 cross join lateral (
  select
       case
         when a.is_due or i.deleted_at is not null then null
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
           (select 'letter ' || coalesce(b.data ->> 'token', '')
              from pawl.inbox b
             where b.shard = @shard and b.instance = i.id
               and not b.taken and b.kind <> 'event' limit 1),
           (select 'event ' || s.token from pawl.subscription s
            where s.shard = @shard and s.instance = i.id and s.token > 0
              and exists (
                select from pawl.inbox b
                 where b.shard = @shard and b.instance = i.id
                   and not b.taken and b.kind = 'event'
                   and case when s.pattern like '%*'
                            then starts_with(b.name, left(s.pattern, -1))
                                 and strpos(substr(b.name, length(s.pattern)),
                                            '.') = 0
                            else b.name = s.pattern end
                   and case when b.key is null or s.key is null
                            then b.addressed
                                 or b.key is null and s.key is null
                            else b.key = s.key end
                   and strpos(coalesce((
                         select t.detail from pawl.token t
                          where t.shard = @shard and t.instance = i.id
                            and t.no = s.token), i.token_detail)::text,
                         '"' || b.event_id || '"') = 0 offset 0) limit 1),
           (select 'event ' || s.token from pawl.subscription s
            where s.shard = @shard and s.instance = i.id and s.token > 0
              and exists (
                select from generate_series(0, @shards - 1) as n (shard)
                 cross join lateral (
                  select * from pawl.event
                   where shard = n.shard and key = s.key offset 0) e
                 where case when s.pattern like '%*'
                            then starts_with(e.name, left(s.pattern, -1))
                                 and strpos(substr(e.name, length(s.pattern)),
                                            '.') = 0
                            else e.name = s.pattern end
                   and e.routed and e.expires_at > coalesce(@now, now())
                   and e.received_at
                       < coalesce(@now, now()) - interval '5 s'
                   and not exists (
                     select from (
                       select instance, kind, event_id from pawl.inbox
                        where shard = @shard and event_id is not null
                          and (instance, kind, event_id)
                              >= (i.id, 'event', e.source || ':' || e.id)
                        order by instance, kind, event_id limit 1) b
                      where b.instance = i.id and b.kind = 'event'
                        and b.event_id = e.source || ':' || e.id)
                   and strpos(coalesce((
                         select t.detail from pawl.token t
                          where t.shard = @shard and t.instance = i.id
                            and t.no = s.token), i.token_detail)::text,
                         '"' || e.source || ':' || e.id || '"') = 0
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
  offset 0) f
 order by i.id;
