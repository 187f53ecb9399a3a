--- Notes what an expression says whenever a row of a table of ours is written,
--- on PostgreSQL: into watch.seen (value), each once.
---@param expression string  SQL, with all names in their schema
---@return string  SQL that sets it up
return function(expression)
  return [[
create schema watch;
create table watch.seen (value text primary key);
create function watch.note() returns trigger language plpgsql as $f$
begin
  insert into watch.seen values (]] .. expression .. [[)
    on conflict do nothing;
  return null;
end $f$;
do $$ declare t record; begin
  for t in select tablename as name from pg_tables where schemaname = 'pawl'
  loop
    execute format('create trigger watch after insert or update or delete on '
      'pawl.%I for each statement execute function watch.note()', t.name);
  end loop;
end $$;
select 1 as done]]
end
