-- What goes with an instance: of each table that has rows of one, its first
-- ones, again and again until there are none. Nobody writes them any more.

-- name: purge_sent
-- args: @shard smallint, @id uuid[]
-- rows: id uuid, undelivered boolean, unpublished boolean
-- What others have not got yet.
select s.id as id, o.* {{from_each}} (
  select exists (select 1 from (
                   select seq from pawl.message
                    where shard = @shard and instance = s.id offset 0) m)
           as undelivered,
         exists (select 1 from (
                   select published_at from pawl.outbox
                    where shard = @shard and instance = s.id offset 0) p
                  where p.published_at is null) as unpublished) o;

-- name: purge_parents
-- args: @shard smallint, @id uuid[]
-- rows: id uuid, lives boolean, undelivered boolean
-- Parents that are there.
select i.id, i.status in ('running', 'waiting', 'suspended') as lives,
       exists (select 1 from (
                 select seq from pawl.message
                  where shard = @shard and instance = i.id offset 0) m)
         as undelivered
  {{from_each}} (
  select id, status from pawl.instance
   where shard = @shard and id = s.id offset 0) i;

-- name: purge_children
-- args: @shard smallint, @parent uuid[]
-- rows: parent uuid
-- Of these, those with children that live and end with them.
select c.parent {{from_each}} (
  select parent from pawl.instance
         indexed by pawl_instance_parent -- only: sqlite
   where shard = @shard and parent = s.parent
     and status in ('running', 'waiting', 'suspended')
     and {{member parent_place; end}} = 'cancel' limit 1) c;

-- name: purge_candidates
-- args: @shard smallint, @id uuid[]
-- rows: like prune_ended
select i.* {{from_each}} (
  select {{candidate}} from pawl.instance
   where shard = @shard and id = s.id offset 0) i;

-- Many at once, in one unit: each is seized, all that is its own goes, then
-- what it was seized by. Where the lease is not had, nothing happens.

-- name: purge_seize
-- args: @shard smallint, @id uuid[], @lease uuid[], @completed_at time[],
--       @hidden boolean[], @executor uuid, @now time?
-- What has ended as it was seen to, and is on nobody's agenda.
insert into pawl.agenda ({{agenda_columns}}, lease, executor)
select i.shard, i.id, i.workflow, i.version, i.executor_group, i.priority,
       false, {{now}}, 0, 0, s.lease, @executor
  {{from_each}} (
  select * from pawl.instance where {{ended_as_seen}} offset 0) i
 where true
on conflict (shard, instance) do nothing;

-- name: purge_unseize
-- args: @shard smallint, @id uuid[], @lease uuid[], @completed_at time[],
--       @hidden boolean[]
-- rows: instance uuid
-- Who waited for another's hold of one has seen it as it was before that: so
-- those that are held are looked at again, and let go.
delete from pawl.agenda
-- only: postgres
  a using {{short_rows}}
 cross join lateral (
  select ctid as place from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     and not exists (select 1 from pawl.instance
                      where {{ended_as_seen}} offset 0)
  offset 0) g
 where a.shard = @shard and a.ctid = g.place
returning a.instance;
-- only: sqlite
 where shard = @shard and instance = @id and lease = @lease
   and not exists (select 1 from pawl.instance where {{ended_as_seen}})
returning instance;
-- for all

-- name: purge_held_history
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[]
{{delete_held history; true}};

-- name: purge_held_item
-- args: like purge_held_history
{{delete_held item; true}};

-- name: purge_held_token
-- args: like purge_held_history
{{delete_held token; true}};

-- name: purge_held_variable
-- args: like purge_held_history
{{delete_held variable; true}};

-- name: purge_held_subscription
-- args: like purge_held_history
{{delete_held subscription; true}};

-- name: purge_held_attribute
-- args: like purge_held_history
{{delete_held attribute; true}};

-- name: purge_held_outbox
-- args: like purge_held_history
{{delete_held outbox; true}};

-- name: purge_held_inbox
-- args: like purge_held_history
{{delete_held inbox; true}};

-- name: purge_held_published
-- args: like purge_held_history
{{delete_held published; true}};

-- name: purge_held_failure
-- args: like purge_held_history
{{delete_held failure; true}};

-- name: purge_held_audit
-- args: like purge_held_history
delete from pawl.audit
-- only: postgres
  t using {{short_rows}} {{lease_guard}}
 cross join lateral (
  select ctid as place from pawl.audit
   where shard + 1 = @shard + 1 and instance = s.id and type <> 'purged'
  offset 0) g
 where t.shard = @shard and t.ctid = g.place;
-- only: sqlite
 where shard + 1 = @shard + 1 and instance = @id and type <> 'purged'
   and {{lease_guard}};
-- for all

-- name: purge_held_ending
-- args: like purge_held_history
{{delete_held ending; true}};
-- name: purge_held_owner
-- args: like purge_held_history
delete from pawl.owner
-- only: postgres
  o using {{short_rows}} {{lease_guard}}
 cross join lateral (
  select id from pawl.task
   where shard = @shard and instance = s.id and instance is not null
  offset 0) t
 cross join lateral (
  select ctid as place from pawl.owner
   where shard = @shard and task = t.id offset 0) g
 where o.shard = @shard and o.ctid = g.place;
-- only: sqlite
 where shard = @shard and {{lease_guard}} and task in (
  select id from pawl_task where shard = @shard and instance = @id);
-- for all

-- name: purge_held_task
-- args: like purge_held_history
{{delete_held task; instance is not null}};

-- name: purge_held_instance
-- args: like purge_held_history
{{held_instances_go 'purged'}};

-- name: archive_instance
-- args: like purge_held_history
-- It is in the archive by now.
{{held_instances_go 'archived'}};

-- One that is too long for that was marked: its rows go table by table.

-- name: purge_marked
-- args: like archive_left_of
-- rows: like archive_left_of
-- It still is: each batch goes behind this.
select purge_at as since from pawl.instance
 where shard = @shard and id = @id and purge_at is not null for update;

-- name: purge_history
-- args: @shard smallint, @id uuid, @max integer
{{purge_first history; seq; seq desc}};

-- name: purge_item
-- args: @shard smallint, @id uuid, @max integer
{{purge_first item; token, no; token desc, no desc}};

-- name: purge_token
-- args: @shard smallint, @id uuid, @max integer
{{purge_first token; no; no desc}};

-- name: purge_variable
-- args: @shard smallint, @id uuid, @max integer
{{purge_first variable; part; part desc}};

-- name: purge_subscription
-- args: @shard smallint, @id uuid, @max integer
{{purge_first subscription; token; token desc}};

-- name: purge_attribute
-- args: @shard smallint, @id uuid, @max integer
-- Not of one that is to be found by them; nor when another has purged that to
-- its end meanwhile.
{{purge_first attribute; name; name desc}}
   and not exists (select 1 from pawl.instance i
                    where i.shard = @shard and i.id = @id
                      and {{keeps_attributes i}} offset 0)
   and not exists (select 1 from pawl.archive a
                    where a.shard = @shard and a.id = @id
                      and a.purged_at is not null offset 0);

-- name: purge_keep
-- args: @shard smallint, @id uuid
-- Before the last of one of which attributes stay.
insert into pawl.archive ({{archive_columns}}, deletion, archived_at,
       purged_at, rest)
select {{archive_columns}}, deletion, purge_at, purge_at, false
  from pawl.instance i
 where shard = @shard and id = @id and purge_at is not null
   and {{keeps_attributes i}};

-- name: purge_held_keep
-- args: @shard smallint, @id uuid[], @lease uuid[], @deletion json,
--       @now time?
-- The same of those that go in one unit.
insert into pawl.archive ({{archive_columns}}, deletion, archived_at,
       purged_at, rest)
select t.* {{from_each}} (
  select {{archive_columns}}, @deletion as deletion, {{now}} as archived_at,
         {{now}} as purged_at, false as rest
    from pawl.instance
   where shard = @shard and id = s.id
     and exists (select 1 from pawl.agenda a
                  where a.shard = @shard and a.instance = s.id
                    and a.lease = s.lease offset 0) offset 0) t;

-- name: purge_outbox
-- args: @shard smallint, @id uuid, @max integer
{{purge_first outbox; seq; seq desc}};

-- name: purge_inbox
-- args: @shard smallint, @id uuid, @max integer
{{purge_first inbox; no; no desc}};

-- name: purge_published
-- args: @shard smallint, @id uuid, @max integer
{{purge_first published; answers, name; answers desc, name desc}};

-- name: purge_failure
-- args: @shard smallint, @id uuid
delete from pawl.failure where shard = @shard and instance = @id;

-- name: purge_audit
-- args: @shard smallint, @id uuid, @max integer
-- How its tasks went from hand to hand; that it is purged is told.
delete from pawl.audit
-- only: postgres
 where ctid = any (array(
-- only: sqlite
 where (shard, at, id) in (
-- for all
  select ctid -- only: postgres
  select shard, at, id -- only: sqlite
    from pawl.audit
   where shard + 1 = @shard + 1 and instance = @id and type <> 'purged'
   order by at limit @max)
) -- only: postgres
;

-- name: purge_tasks
-- args: @shard smallint, @id uuid, @max integer
-- rows: id uuid
select id from pawl.task where shard = @shard and instance = @id
 order by token, visit limit @max;

-- name: purge_owner
-- args: @shard smallint, @id uuid[]
-- Of tasks.
{{delete_listed owner; task}};

-- name: purge_task
-- args: @shard smallint, @id uuid[]
{{delete_listed task; id}};

-- name: purge_agenda
-- args: @shard smallint, @id uuid
-- Whoever holds it loses it.
delete from pawl.agenda where shard = @shard and instance = @id;

-- name: purge_ending
-- args: @shard smallint, @id uuid
delete from pawl.ending where shard = @shard and instance = @id;

-- name: purge_deadline
-- args: @shard smallint, @id uuid
-- Of one that was carried away it is there still.
delete from pawl.deadline where shard = @shard and instance = @id;

-- name: purge_instance
-- args: @shard smallint, @id uuid
-- The last of it. Its mark says that nothing else is left.
with gone as ( -- only: postgres
delete from pawl.instance
 where shard = @shard and id = @id and purge_at is not null
-- only: postgres
returning workflow, version, status, deleted_at,
          {{counted_node status; token_no; node}} as node), counted as (
insert into pawl.counter ({{counter_columns}})
select @shard, workflow, version,
       case when deleted_at is null then status else 'deleted' end,
       case when deleted_at is null then node else '' end, 'purged', '',
       to_timestamp(0), 1
  from gone)
delete from pawl.standing t
 using gone g cross join lateral (
   select ctid as place from pawl.standing
    where shard = @shard and workflow = g.workflow and status = g.status
      and instance = @id offset 0) p
 where t.shard = @shard and t.ctid = p.place
-- for all
;
