-- The schema's own record: which migrations were applied, and facts about the
-- store. store/migrate.c runs these; the first two work on an empty store.

-- name: schema_probe
-- rows: ours boolean, others boolean
-- Is a store here, and is anything else where it would be made?
-- Differs: the file is ours alone when a store is made in it.
select exists (select 1 from sqlite_master
                where type = 'table' and name = 'pawl_version') as ours,
       exists (select 1 from sqlite_master) as others;

-- name: schema_lock
-- Differs: BEGIN IMMEDIATE has taken the one write lock already.
select 1;

-- name: version_list
-- rows: number integer, name text, breaking boolean, applied_at time
select number, name, breaking, applied_at from pawl_version order by number;

-- name: version_insert
-- args: @number integer, @name text, @breaking boolean, @now time
insert into pawl_version (number, name, breaking, applied_at)
values (@number, @name, @breaking, @now);

-- name: meta_get
-- args: @key text
-- rows: value text
select value from pawl_meta where key = @key;

-- name: meta_put
-- args: @key text, @value text
insert into pawl_meta (key, value) values (@key, @value)
on conflict (key) do update set value = excluded.value;
