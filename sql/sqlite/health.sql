-- name: health_workflow
select workflow from pawl_instance indexed by pawl_instance_workflow
 where shard = @shard and workflow > @after
 order by workflow limit 1;

-- name: health_store
-- Differs: a file on this host, whose pages are counted; who else reads it is
-- known to nobody.
select (select max(number) from pawl_migration) as schema, 0 as now,
       p.page_count * s.page_size as bytes,
       f.freelist_count * s.page_size as free_bytes,
       0 as transaction_since, 0 as hidden,
       (select d.file from pragma_database_list() d where d.name = 'main')
         as file
  from pragma_page_count() p, pragma_page_size() s, pragma_freelist_count() f;

-- name: health_tables
-- Differs: how large each is would be found by reading all of them.
select null as name, 0 as live, 0 as dead, 0 as bytes, 0 as waits
 where false;

-- name: health_wal
-- Differs: it is a file beside the store's, see health_store.
select 0 as bytes where false;
