-- What goes with an instance: of each table that has rows of one, its first
-- ones, again and again until there are none. Nobody writes them any more.

-- name: purge_holds
-- args: @shard smallint, @id uuid
-- rows: undelivered boolean, unpublished boolean
-- What others have not got yet.
select exists (select 1 from pawl.message
                where shard = @shard and instance = @id) as undelivered,
       exists (select 1 from (
                 select published_at from pawl.outbox
                  where shard = @shard and instance = @id offset 0) o
                where o.published_at is null) as unpublished;

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
{{purge_first attribute; name; name desc}};

-- name: purge_outbox
-- args: @shard smallint, @id uuid, @max integer
{{purge_first outbox; seq; seq desc}};

-- name: purge_inbox
-- args: @shard smallint, @id uuid, @max integer
{{purge_first inbox; no; no desc}};

-- name: purge_tasks
-- args: @shard smallint, @id uuid, @max integer
-- rows: id uuid
select id from pawl.task where shard = @shard and instance = @id
 order by token, visit limit @max;

-- name: purge_owner
-- args: @shard smallint, @task uuid
delete from pawl.owner where shard = @shard and task = @task;

-- name: purge_task
-- args: @shard smallint, @task uuid
delete from pawl.task where shard = @shard and id = @task;

-- name: purge_ending
-- args: @shard smallint, @id uuid
delete from pawl.ending where shard = @shard and instance = @id;

-- name: purge_instance
-- args: @shard smallint, @id uuid
-- The last of it. Its mark says that nothing else is left.
with gone as ( -- only: postgres
delete from pawl.instance
 where shard = @shard and id = @id and purge_at is not null
-- only: postgres
returning workflow, status)
delete from pawl.standing t
 using gone g cross join lateral (
   select ctid as place from pawl.standing
    where shard = @shard and workflow = g.workflow and status = g.status
      and instance = @id offset 0) p
 where t.shard = @shard and t.ctid = p.place
-- for all
;
