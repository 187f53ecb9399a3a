-- name: doctor_settings
-- rows: name text, value text
-- What counts of how the server and the database were set up, as sessions begin
-- with it. The collation of a database of the C library's: is it the one that
-- the indexes were made by?
select s.name, s.reset_val as value
  from pg_catalog.pg_settings s
 where s.name in ('server_version_num', 'server_encoding', 'fsync',
                  'full_page_writes', 'synchronous_commit', 'data_checksums',
                  'zero_damaged_pages', 'ignore_checksum_failure',
                  'in_hot_standby', 'max_prepared_transactions')
union all
select 'collation', case when c.kind <> 'c' or c.made is null
                           or c.now is null then 'unknown'
                         when c.made = c.now then 'same'
                         else 'changed' end
  from (select coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') as kind,
               to_jsonb(d) ->> 'datcollversion' as made,
               (select pg_collation_actual_version(l.oid)
                  from pg_catalog.pg_collation l
                 where l.collprovider = 'c' and l.collcollate = d.datcollate
                 order by l.oid limit 1) as now
          from pg_catalog.pg_database d
         where d.datname = current_database()) c
 order by 1;
