--- pawl migrate
local format = require "pawl.cli.format"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function run(opts)
  local report = store.try(pawl.migrate(opts.store, {
    shards = opts.shards, pooler = opts.pooler, schema = opts.schema,
  }))
  if opts.json then
    term.print(format.json(report))
  elseif report.from == report.to then
    term.print(("%s is up to date: schema %d, %d shard%s"):format(
      store.name(opts), report.to, report.shards,
      report.shards == 1 and "" or "s"))
  else
    term.print(("%s: schema %d -> %d, %d shard%s"):format(store.name(opts),
      report.from, report.to, report.shards,
      report.shards == 1 and "" or "s"))
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
    .. "is changed by another user than the one who works in it.",
  options = {
    { long = "shards", arg = "N", type = "count", max = 32767,
      help = "shards of a store that is made now; fixed for its life" },
  },
  examples = {
    { "pawl migrate --store postgres://db/app --shards 8",
      "make or upgrade a store in PostgreSQL" },
  },
  run = run,
}
