--- pawl migrate
local format = require "pawl.cli.format"
local grants = require "pawl.cli.grants"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function count(n) return n == 1 and "1 shard" or n .. " shards" end

local function commented(text) return (text:gsub("[^\n]+", "-- %0")) end

-- How it is run, and what stands around it: all of it happens, or nothing.
local whole = {
  postgres = {
    head = "-- psql --no-psqlrc --single-transaction --set=ON_ERROR_STOP=1 "
      .. "--file=FILE\n",
    tail = "",
  },
  sqlite = {
    head = "-- sqlite3 -bail STORE < FILE\nbegin immediate;\n",
    tail = "commit;\n",
  },
}

local function print_schema(found)
  local around = whole[found.store]
  if found.from == found.to then
    term.bytes(("-- schema %d: nothing is to be done\n"):format(found.to))
    return
  end
  term.bytes(("-- schema %d -> %d, %s\n"):format(found.from, found.to,
    count(found.shards)))
  if found.store == "sqlite" and found.from == 0 then
    term.bytes "pragma auto_vacuum=incremental;\n"
  end
  term.bytes(around.head)
  for _, migration in ipairs(found.migrations) do
    term.bytes(("\n-- migration %s%s\n%s"):format(migration.name,
      migration.breaking and ", which older programs cannot use" or "",
      migration.sql))
  end
  term.bytes(around.tail)
end

local function print_grants(found)
  term.bytes("\n-- Once, before all this, by who may make roles:\n"
    .. commented(grants.roles(found.schema)))
  term.bytes("\n-- The rights of workers, operators and readers:\n"
    .. grants.rights(found.schema))
end

local function print_all(opts, given)
  local found = store.try(pawl.migrations(opts.store, given))
  if opts.grants and not found.schema then
    options.usage("--grants is for PostgreSQL", "who may open a file says its "
      .. "mode: docs/security.md")
  end
  if opts.grants then found.grants = grants.rights(found.schema) end
  if opts.json then
    term.print(format.json(found))
    return 0
  end
  print_schema(found)
  if opts.grants then print_grants(found) end
  return 0
end

local function run(opts)
  local given = { shards = opts.shards, pooler = opts.pooler,
    schema = opts.schema }
  if opts.print or opts.grants then return print_all(opts, given) end
  local report = store.try(pawl.migrate(opts.store, given))
  if opts.json then
    term.print(format.json(report))
  elseif report.from == report.to then
    term.print(("%s is up to date: schema %d, %s"):format(store.name(opts),
      report.to, count(report.shards)))
  else
    term.print(("%s: schema %d -> %d, %s"):format(store.name(opts),
      report.from, report.to, count(report.shards)))
  end
  return 0
end

return {
  name = "migrate",
  summary = "make a store, or bring its schema up to date",
  about = "Brings the store's schema up to this program's version; an empty "
    .. "store gets all of it. Running it twice, or from two machines at "
    .. "once, is safe.\n\n"
    .. "A store is made by the first `pawl run` too; `migrate` is for stores "
    .. "with several shards, for upgrades, and for databases whose schema "
    .. "is changed by another user than the one who works in it. With "
    .. "--print nothing is changed: what is missing is printed as SQL, with "
    .. "the rows that say so, for somebody to run in one transaction.",
  options = {
    { long = "shards", arg = "N", type = "count", max = 32767,
      help = "shards of a store that is made now; fixed for its life" },
    { long = "print", help = "print the SQL, and change nothing" },
    { long = "grants",
      help = "print with it the rights of workers, operators and readers "
        .. "(PostgreSQL)" },
  },
  examples = {
    { "pawl migrate --store postgres://db/app --shards 8",
      "make or upgrade a store in PostgreSQL" },
    { "pawl migrate --store postgres://db/app --print --grants > pawl.sql",
      "have an administrator do it" },
  },
  run = run,
}
