-- Published: what handlers show of an instance to whoever asks, and what they
-- answer to events.

-- name: published_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @answers boolean[], @name text[], @value json[], @updated_at time[]
-- rows: told bigint
-- Of values the last one stays, of answers the first, and who waits for one is
-- told.
with put as ( -- only: postgres
insert into pawl.published as p (shard, instance, answers, name, value,
       updated_at)
select @shard, s.id, s.answers, s.name, s.value, s.updated_at
  {{from_held}}
on conflict (shard, instance, answers, name) do update
   set value = excluded.value, updated_at = excluded.updated_at
 where not p.answers
-- only: sqlite
returning 0 as told;
-- only: postgres
returning p.instance, p.answers), moved as (
select instance as id from put where answers), told as (
{{waiters_are_told}})
select count(*) as told from put;
-- for all

-- name: published_get
-- args: @shard smallint, @id uuid, @answers boolean, @name text
-- rows: value json
select value from pawl.published
 where shard = @shard and instance = @id and answers = @answers
   and name = @name;

-- name: published_list
-- args: @shard smallint, @id uuid
-- rows: name text, value json, updated_at time
select name, value, updated_at from pawl.published
 where shard = @shard and instance = @id and not answers order by name;
