-- name: schema_probe
-- Is a store here, and is anything else where it would be made?
-- Differs: the file is ours alone when a store is made in it.
select exists (select 1 from sqlite_master
                where type = 'table' and name = 'pawl_migration') as ours,
       exists (select 1 from sqlite_master) as others;

-- name: schema_lock
-- Differs: BEGIN IMMEDIATE has taken the one write lock already.
select 1;
