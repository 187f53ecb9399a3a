--- pawl backup FILE
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function run(opts, args)
  local file = store.file(args[1])
  return store.guarded(store.look(opts), function(engine)
    local info = store.try(engine:backup(file,
      { replace = opts.replace }))
    if opts.json then
      term.print(format.json(info))
    else
      term.print(("copied %s to %s: %d bytes"):format(store.name(opts),
        info.file, info.bytes))
    end
    return 0
  end)
end

return {
  name = "backup", args = "FILE", min = 1, max = 1,
  summary = "copy a SQLite store that is in use",
  about = "Copies the store to a new file, as it is at this moment, while "
    .. "workers and others go on with it: they do not wait. FILE appears once "
    .. "all of it is on disk; if the copy fails, is stopped, or the machine "
    .. "dies, what was there stays. No file is overwritten, but with "
    .. "--replace: a store that nobody has open then gives way, once the copy "
    .. "is whole.\n\n"
    .. "The copy is a store like any other. Opened by a worker, its instances "
    .. "go on from their last stored steps, beside those of the original: "
    .. "what they do outside the store is done twice. `pawl restore` goes "
    .. "back to a copy. A copy has all tenants, and with --tenant none is "
    .. "made.\n\n"
    .. "A store in PostgreSQL is backed up with its own tools: pg_dump.",
  options = {
    { long = "replace", help = "a store that is at FILE gives way" },
  },
  examples = {
    { "pawl backup /backup/monday.db", "the store ./pawl.db" },
    { "pawl backup --replace last.db", "one that is saved over" },
    { "pawl backup --store shop.db \"shop-$(date +%F).db\"", "one a day" },
  },
  run = run,
}
