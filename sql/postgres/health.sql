-- name: health_workflow
-- args: @shard smallint, @after text
-- rows: workflow text
-- The next workflow that has instances.
select workflow from pawl.standing
 where shard = @shard and workflow > @after
 order by workflow limit 1;

-- name: health_store
-- rows: schema integer, now time, bytes bigint, free_bytes bigint,
--       transaction_since time, hidden bigint, file text
-- How the store itself is. What other roles do is told to members of
-- pg_read_all_stats alone: the rest is hidden.
select (select max(number) from pawl.migration) as schema,
       clock_timestamp() as now,
       (select sum(pg_total_relation_size(c.oid))::bigint
          from pg_catalog.pg_class c
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'pawl' and c.relkind = 'r') as bytes,
       null::bigint as free_bytes, a.since as transaction_since, a.hidden,
       null::text as file
  from (
  select min(xact_start) as since,
         count(case when state is null then 1 end) as hidden
    from pg_catalog.pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid()
     and coalesce(backend_type, '') in ('client backend', '')) a;

-- name: health_tables
-- rows: name text, live bigint, dead bigint, bytes bigint, waits bigint
-- The largest first, by what the server has counted lately. waits: for so many
-- seconds it was not vacuumed, since the store was made at most.
select t.relname as name, t.n_live_tup as live, t.n_dead_tup as dead,
       pg_total_relation_size(t.relid) as bytes,
       extract(epoch from clock_timestamp()
               - greatest(t.last_vacuum, t.last_autovacuum,
                          (select min(applied_at) from pawl.migration)))::bigint
         as waits
  from pg_catalog.pg_stat_user_tables t
 where t.schemaname = 'pawl'
 order by 4 desc, 1;

-- name: health_wal
-- rows: bytes bigint
-- For members of pg_monitor.
select sum(size)::bigint as bytes from pg_catalog.pg_ls_waldir();
