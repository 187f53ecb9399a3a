-- What is wrong in the store: read in pages, without locks.

-- name: agenda_busy
-- args: @shard smallint, @executor_group text, @horizon_us bigint, @now time
-- rows: held boolean
select exists (
  select 1 from pawl_agenda
   where shard = @shard and not ready and lease is not null
     and executor_group = @executor_group
     and due_at <= @now + @horizon_us) as held;

-- name: health_agenda
-- args: @shard smallint, @after uuid, @patience_us bigint, @now time,
--       @max integer
-- rows: instance uuid, workflow text, executor_group text, due boolean,
--       held boolean, unserved boolean, asked boolean, stray boolean
select a.instance, a.workflow, a.executor_group,
       a.ready or a.due_at <= @now as due,
       a.lease is not null as held,
       a.due_at < @now - @patience_us
       and a.executor_group not in (
         select executor_group from pawl_executor
          where stopped_at is null and recovered_at is null
            and expires_at > @now) as unserved,
       (select 1 from pawl_inbox b
         where b.shard = @shard and b.instance = a.instance
           and not b.taken and b.kind not in ('event', 'child', 'task')
         order by b.received_at, b.no limit 1) is not null as asked,
       not exists (select 1 from pawl_instance i
                    where i.shard = @shard and i.id = a.instance) as stray
  from pawl_agenda a
 where a.shard = @shard and a.instance > @after
 order by a.instance limit @max;

-- name: health_workflow
-- args: @shard smallint, @after text
-- rows: workflow text
select workflow from pawl_instance indexed by pawl_instance_workflow
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
-- Differs: subqueries in FROM cannot look outside; joins do. The plus keeps the
-- index by expiry out: events are found by their keys.
with recursive shards (no) as (
  select 0 union all select no + 1 from shards where no + 1 < @shards
), page as (
  select id as instance from pawl_instance indexed by pawl_instance_workflow
   where shard = @shard and workflow = @workflow and status = @status
     and id > @after
   order by id limit @max
)
select f.instance,
       case when f.token_no is not null then f.node
            else (select t.node from pawl_token t
                   where t.shard = @shard and t.instance = f.instance
                     and t.no = substr(f.wrong, instr(f.wrong, ' ') + 1)) end
         as node,
       substr(f.wrong, 1, instr(f.wrong || ' ', ' ') - 1) as wrong
  from (
select i.id as instance, i.node, i.token_no,
       case
         when a.is_due or i.deleted_at is not null then null
         when a.due_at is null and i.status = 'running'
              then 'run ' || coalesce((
                select cast(t.no as text) from pawl_token t
                 where t.shard = @shard and t.instance = i.id
                   and t.state = 'active' order by t.no limit 1), '')
         else coalesce(
           case when a.due_at is null
                then (select 'time ' || t.no from pawl_token t
                       where t.shard = @shard and t.instance = i.id
                         and t.state in ('active', 'waiting')
                         and t.due_at is not null
                       order by t.due_at limit 1) end,
           case when a.due_at is null
                     and (i.token_due_at is not null
                          or i.deadline_at is not null) then 'time' end,
           (select 'letter ' || coalesce(case when json_valid(b.data)
                   then json_extract(b.data, '$.token') end, '')
              from pawl_inbox b
             where b.shard = @shard and b.instance = i.id
               and not b.taken and b.kind <> 'event' limit 1),
           (select 'event ' || s.token from pawl_subscription s
            where s.shard = @shard and s.instance = i.id and s.token > 0
              and exists (
                select 1 from pawl_inbox b
                 where b.shard = @shard and b.instance = i.id
                   and not b.taken and b.kind = 'event'
                   and case when s.pattern like '%*'
                            then substr(b.name, 1, length(s.pattern) - 1)
                                 = substr(s.pattern, 1, length(s.pattern) - 1)
                                 and instr(substr(b.name, length(s.pattern)),
                                            '.') = 0
                            else b.name = s.pattern end
                   and case when b.key is null or s.key is null
                            then b.addressed
                                 or b.key is null and s.key is null
                            else b.key = s.key end
                   and instr(coalesce((
                         select t.detail from pawl_token t
                          where t.shard = @shard and t.instance = i.id
                            and t.no = s.token), i.token_detail),
                         '"' || b.event_id || '"') = 0) limit 1),
           (select 'event ' || s.token from pawl_subscription s
            where s.shard = @shard and s.instance = i.id and s.token > 0
              and exists (
                select 1 from shards n
                 cross join pawl_event e
                 where e.shard = n.no and e.key = s.key
                   and case when s.pattern like '%*'
                            then substr(e.name, 1, length(s.pattern) - 1)
                                 = substr(s.pattern, 1, length(s.pattern) - 1)
                                 and instr(substr(e.name, length(s.pattern)),
                                            '.') = 0
                            else e.name = s.pattern end
                   and e.routed and +e.expires_at > @now
                   and e.received_at
                       < @now - 5000000
                   and not exists (
                     select 1 from pawl_inbox b
                      where b.shard = @shard and b.instance = i.id
                        and b.kind = 'event'
                        and b.event_id = e.source || ':' || e.id)
                   and instr(coalesce((
                         select t.detail from pawl_token t
                          where t.shard = @shard and t.instance = i.id
                            and t.no = s.token), i.token_detail),
                         '"' || e.source || ':' || e.id || '"') = 0
               ) limit 1),
           case when i.token_state = 'waiting'
                     and i.token_detail like '%"total":%'
                     and (i.token_detail like '%"live":0%'
                          or i.token_detail not like '%"live":%')
                then 'items' end,
           (select 'items ' || t.no from pawl_token t
             where t.shard = @shard and t.instance = i.id
               and t.state = 'waiting' and t.detail like '%"total":%'
               and (t.detail like '%"live":0%'
                    or t.detail not like '%"live":%')
             order by t.no limit 1))
       end as wrong
  from page p
 cross join pawl_instance i
  left join (select shard, instance, due_at,
                    ready or lease is not null or due_at <= @now as is_due
               from pawl_agenda) a
    on a.shard = @shard and a.instance = p.instance
 where i.shard = @shard and i.id = p.instance
) f
 order by f.instance;
