-- Children that are asked to end with their parent, until that is done.

-- name: ending_insert
-- args: @shard smallint, @id uuid[], @executor_group text, @grace_us bigint,
--       @now time?
-- In the unit with the letters, in the order of ids. A worker of this group is
-- given some time to take its own; where it is null, and for all others, there
-- is nothing to wait for. What was there is asked for once more: its row is
-- written whether it changes or not, so that ending_done does not find it.
insert into pawl.ending as e (shard, instance, due_at, tries)
select @shard, i.id, coalesce(@now, now())
       + case when i.executor_group = @executor_group then @grace_us else 0 end
         * interval '1 microsecond', 0
  from (select id from unnest(@id) as u (id) order by id) s
 cross join lateral (
  select id, executor_group from pawl.instance
   where shard = @shard and id = s.id
     and status in ('running', 'waiting', 'suspended') offset 0) i
on conflict (shard, instance) do update
   set due_at = least(e.due_at, excluded.due_at), tries = 0;

-- name: ending_next
-- args: @shard smallint, @now time?
-- rows: due boolean
select (select true from pawl.ending
         where shard = @shard and tries >= 0
           and due_at <= coalesce(@now, now())
         order by due_at limit 1) is not null as due;

-- name: ending_take
-- args: @shard smallint, @pause_us bigint, @max integer, @now time?
-- rows: instance uuid, due boolean
-- Those whose time has come, and which of them somebody can hold now. Each is
-- put off before anything is done with it, longer every time, so that whoever
-- dies of one does not die again at once, nor all others.
with due as materialized (
  select ctid as place from pawl.ending
   where shard = @shard and tries >= 0 and due_at <= coalesce(@now, now())
   order by due_at limit @max for update skip locked)
update pawl.ending e
   set tries = least(e.tries, 62) + 1,
       due_at = coalesce(@now, now())
                + @pause_us * (1 << least(e.tries, 6))
                  * interval '1 microsecond'
  from due where e.shard = @shard and e.ctid = due.place
returning e.instance,
          exists (select from pawl.agenda a
                   where a.shard = @shard and a.instance = e.instance
                     and (a.ready or a.due_at <= coalesce(@now, now()))
                  offset 0) as due;

-- name: ending_done
-- args: @shard smallint, @id uuid[], @now time?
-- Somebody has taken what was asked of these: they are neither due nor held.
-- One that was asked for again since it was taken has no tries, and stays.
delete from pawl.ending e
 using (select * from unnest(@id) as u (id) order by id
         limit cardinality(@id)) s
 cross join lateral (
  select ctid as place from pawl.ending
   where shard = @shard and instance = s.id
     and not exists (
       select from pawl.agenda a
        where a.shard = @shard and a.instance = s.id
          and (a.ready or a.lease is not null
               or a.due_at <= coalesce(@now, now())) offset 0) offset 0) g
 where e.shard = @shard and e.ctid = g.place and coalesce(e.tries > 0, false);
