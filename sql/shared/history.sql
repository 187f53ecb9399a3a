-- History: added to and trimmed, numbered by the lease's holder alone.

-- name: history_insert
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer??[], @seq bigint[], @type text[], @node text[],
--       @token integer?[], @visit bigint[], @transition text[], @path text[],
--       @attempt integer?[], @by text[], @text text[], @output json[],
--       @changes json[], @error json[], @started_at time?[],
--       @completed_at time[], @due_at time?[], @previous json[],
--       @request uuid[]
-- Each array is unnested by itself: unnest(@a, @b) would first write every
-- array to a store of its own.
insert into pawl.history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, by, executor, text, output, changes,
       error, started_at, completed_at, due_at, previous, request)
select @shard, s.id, s.seq, s.type, s.node, s.token, s.visit, s.transition,
       s.path, s.attempt, s.by, @executor, s.text, s.output, s.changes,
       s.error, s.started_at, s.completed_at, s.due_at, s.previous, s.request
  from (select {{unnested}}) s {{lease_guard}}; -- only: postgres
  where {{lease_guard}}; -- only: sqlite

-- name: history_list
-- args: @shard smallint, @id uuid, @after bigint, @type text, @node text,
--       @by text, @completed_after time?, @completed_before time?,
--       @changing boolean, @max integer
-- rows: seq bigint, type text, node text, token integer??, visit bigint??,
--       transition text, path text, attempt integer??, by text,
--       executor uuid, text text, output json, changes json, error json,
--       started_at time, completed_at time, due_at time, previous json,
--       request uuid
select seq, type, node, token, visit, transition, path, attempt, by,
       executor, text, output, changes, error, started_at, completed_at,
       due_at, previous, request
  from pawl.history
 where shard = @shard and instance = @id and seq > @after {{history_fits}}
 order by seq limit @max;

-- name: history_back
-- args: @shard smallint, @id uuid, @below bigint, @type text, @node text,
--       @by text, @completed_after time?, @completed_before time?,
--       @changing boolean, @max integer
-- rows: seq bigint, changes json
-- Where those of them are that are in front of a row, the newest first.
select seq, case when @changing then changes end as changes
  from pawl.history
 where shard = @shard and instance = @id and seq > 0 and seq < @below
   {{history_fits}}
 order by seq desc limit @max;

-- name: history_behind
-- args: @shard smallint, @id uuid, @seq bigint[], @token integer[],
--       @far bigint
-- rows: seq bigint, led bigint, node text, transition text, path text,
--       told bigint, previous json, upto bigint
-- Of each row: by which of the @far before it its token went on last (`led`),
-- and which behind that says what led there (`told`).
select w.seq, h.seq as led, h.node, h.transition, h.path, p.seq as told,
       p.previous, {{trimmed_upto}} as upto
  {{from_each}} (
  select g.seq, g.led,
         (select seq from pawl.history
           where shard = @shard and instance = @id and seq < g.seq
             and seq > coalesce(g.led, g.seq - @far - 1)
             and token = g.token and previous is not null
           order by seq desc limit 1) as told
    from (select s.seq as seq, s.token as token,
                 (select seq from pawl.history
                   where shard = @shard and instance = @id
                     and seq < s.seq and seq >= s.seq - @far
                     and token = s.token and path is not null and {{moves_on}}
                   order by seq desc limit 1) as led) g offset 0) w
  left join lateral ( -- only: postgres
    select * from pawl.history where shard = @shard -- only: postgres
       and instance = @id and seq = w.led offset 0) h on true -- only: postgres
  left join lateral ( -- only: postgres
    select * from pawl.history where shard = @shard -- only: postgres
       and instance = @id and seq = w.told -- only: postgres
    offset 0) p on true -- only: postgres
  left join pawl.history h -- only: sqlite
    on h.shard = @shard and h.instance = @id and h.seq = w.led -- only: sqlite
  left join pawl.history p -- only: sqlite
    on p.shard = @shard and p.instance = @id and p.seq = w.told -- only: sqlite
 order by w.seq;

-- name: history_onward
-- args: @shard smallint, @id uuid, @seq bigint[], @below bigint[], @max bigint
-- rows: below bigint, seq bigint, transition text, path text
-- By which way it went on from each row; and where a join went on in the same
-- commit, that may be told by one of the next.
select w.below, w.seq, w.transition, w.path {{from_each}} (
  select s.below as below, h.seq, h.transition, h.path from pawl.history h
   where h.shard = @shard and h.instance = @id and h.seq >= s.seq
     and h.seq < s.below and h.seq <= s.seq + @max
     and (h.seq = s.seq or h.path like '%; %') offset 0) w
 order by w.below, w.seq;

-- name: history_undoable
-- args: @shard smallint, @id uuid, @below bigint, @max integer
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       previous json
-- A page of what may have to be undone, and of what was undone already, newest
-- first.
select seq, type, node, token, visit, previous
  from pawl.history
 where shard = @shard and instance = @id and seq < @below
   and type in ('step', 'received', 'task', 'child', 'undone', 'undo_failed')
   and (type <> 'child' or transition is null or transition = 'completed')
 order by seq desc limit @max;

-- name: history_undone
-- args: @shard smallint, @id uuid, @since bigint, @type text, @max integer
-- rows: seq bigint, node text, previous json, error json, completed_at time
-- What became of a compensation that began behind row @since, in order.
select seq, node, previous, error, completed_at
  from pawl.history
 where shard = @shard and instance = @id and seq >= @since and type = @type
 order by seq limit @max;

-- name: history_visits
-- args: @shard smallint, @id uuid, @node text, @below bigint
-- rows: n bigint, trimmed json
-- How often it came to a node before that visit, or stands there since; and
-- what tells of those before that were trimmed. Rows without an attempt tell of
-- the instance, wherever it stood, but for those that end a visit which may
-- have no other row; an undo's stand at what it undoes, which is no visit.
select count(*) as n, (select output from pawl.history
                        where shard = @shard and instance = @id and seq = 0)
         as trimmed from (
  select visit from pawl.history
   where shard = @shard and instance = @id and node = @node
     and visit < @below and seq > {{trimmed_upto}}
     and (attempt is not null or type in ('moved', 'deadline'))
     and type not in ('undone', 'undo_failed')
     and (type <> 'failed' or coalesce(text, '') <> 'undoing')
  union
  select visit from pawl.token_view
   where shard = @shard and instance = @id and node = @node
     and visit < @below and state in ('active', 'waiting')) v;

-- name: history_ways
-- args: @shard smallint, @id uuid, @after bigint, @max integer
-- rows: seq bigint, path text
-- By which ways tokens went on.
select seq, path from pawl.history
 where shard = @shard and instance = @id and seq > @after
   and path is not null and {{moves_on}}
 order by seq limit @max;

-- name: history_given
-- args: @shard smallint, @id uuid, @node text, @token integer?
-- rows: seq bigint, output json, upto bigint
-- What a node gave when that token (null: any) last went on from it; and up to
-- which row others may be gone.
select seq, output, {{trimmed_upto}} as upto from pawl.history
 where shard = @shard and instance = @id and node = @node
   and (@token is null or token = @token)
   and type in ('step', 'received', 'task', 'child')
 order by seq desc limit 1;

-- name: history_led
-- args: @shard smallint, @id uuid, @token integer, @max integer
-- rows: previous json
-- What led to where that token went on, by its newest rows that say so.
select previous from pawl.history
 where shard = @shard and instance = @id and token = @token
   and previous is not null
 order by seq desc limit @max;

-- name: history_token
-- args: @shard smallint, @id uuid, @seq bigint
-- rows: token integer
select token from pawl.history
 where shard = @shard and instance = @id and seq = @seq;

-- What a long history is trimmed by (rules/trim.h): all of it by the lease's
-- holder.

-- name: history_trimmed
-- args: @shard smallint, @id uuid
-- rows: at time, record json
-- What tells of rows that went.
select completed_at as at, output as record from pawl.history
 where shard = @shard and instance = @id and seq = 0;

-- name: history_old
-- args: @shard smallint, @id uuid, @after bigint, @upto bigint, @max integer,
--       @bytes bigint
-- rows: seq bigint, token integer, visit bigint, node text, path text,
--       stays boolean, told boolean, leads boolean, changes json
-- The next ones that have about so many bytes together, one at least: who asks
-- has them all at hand, and may take them all away. Row by row, as the size of
-- a large value is not known before it is read.
-- told: by the audit, which is to have it when it goes. leads: its node is the
-- one that it led to, whose visit has a row of its own.
with recursive walk (seq, bytes, n) as (
  select (select min(seq) from pawl.history
           where shard = @shard and instance = @id and seq > @after),
         0, 1 -- only: sqlite
         0::bigint, 1 -- only: postgres
  union all
  select (select min(seq) from pawl.history
           where shard = @shard and instance = @id and seq > w.seq),
         w.bytes + (
           select coalesce(length(changes::text), 0)
                  + coalesce(length(output::text), 0)
             from pawl.history
            where shard = @shard and instance = @id and seq = w.seq),
         w.n + 1
    from walk w where w.seq < @upto and w.bytes < @bytes and w.n < @max)
select seq, token, visit, node, case when {{moves_on}} then path end as path,
       {{stays_for_ever}} as stays, nullif(by, '') is not null as told,
       type in ('started', 'routed') as leads, changes
  from pawl.history
 where shard = @shard and instance = @id and seq > @after and seq <= @upto
   and seq <= (select max(w.seq) from walk w where w.bytes < @bytes)
 order by seq limit @max;

-- name: history_tell
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seq bigint[]
-- In front of history_drop: what somebody did is the audit's from then on, as
-- of one that is archived (archive_tell).
insert into pawl.audit (shard, at, id, seq, type, by, instance, workflow,
       version, tenant, node, text)
select @shard, h.completed_at, h.instance, h.seq, h.type, h.by, h.instance,
       h.workflow, h.version, h.tenant, h.node, h.text
  {{from_each_held}} (
   select r.completed_at, r.instance, r.seq, r.type, r.by, r.node, r.text,
          t.workflow, t.version, t.tenant
     from pawl.history r
    cross join pawl.instance t
    where r.shard = @shard and r.instance = s.id and r.seq = s.seq
      and nullif(r.by, '') is not null
      and t.shard = @shard and t.id = s.id offset 0) h
  {{where_held}};

-- name: history_drop
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seq bigint[]
-- Not what stays for ever, whatever is asked for.
{{delete_held history; seq = s.seq and request is null
  and type <> 'transferred'}};

-- name: history_trim
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer??[], @record json[], @completed_at time[]
insert into pawl.history (shard, instance, seq, completed_at, executor, type,
       output)
select @shard, s.id, 0, s.completed_at, @executor, 'trimmed', s.record
  {{from_held}}
on conflict (shard, instance, seq) do update
   set completed_at = excluded.completed_at, executor = excluded.executor,
       output = excluded.output;
