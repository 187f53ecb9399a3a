-- name: schema_probe
-- rows: ours boolean, others boolean
-- Is a store here, and is anything else where it would be made? A schema that
-- another role has made counts: its owner could put views in place of our
-- tables, whose functions would run as us.
select to_regclass('pawl.migration') is not null as ours,
       exists (select from pg_catalog.pg_class c
                 join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                where n.nspname = 'pawl')
       or exists (select from pg_catalog.pg_namespace n
                    join pg_catalog.pg_roles r on r.oid = n.nspowner
                   where n.nspname = 'pawl' and not r.rolsuper
                     and not pg_has_role(r.oid, 'member')) as others;

-- name: schema_lock
-- Two programs migrating at once take turns. Held until the transaction ends:
-- a session's lock would leak through a pooler. The class is 'pawl' in ASCII.
select pg_advisory_xact_lock(1885435756, 1);
