-- The schema's own record: which migrations were applied, and facts about the
-- store. store/migrate.c runs these; the first two work on an empty store.

-- name: migration_list
-- rows: number integer, name text, breaking boolean, applied_at time
select number, name, breaking, applied_at from pawl.migration order by number;

-- name: migration_insert
-- args: @number integer, @name text, @breaking boolean, @now time?
insert into pawl.migration (number, name, breaking, applied_at)
values (@number, @name, @breaking, {{now}});

-- name: meta_get
-- args: @key text
-- rows: value text
select value from pawl.meta where key = @key;

-- name: secret_get
-- args: @name text
-- rows: value text
select value from pawl.secret where name = @name;

-- name: meta_put
-- args: @key text, @value text
insert into pawl.meta (key, value) values (@key, @value)
on conflict (key) do update set value = excluded.value;
