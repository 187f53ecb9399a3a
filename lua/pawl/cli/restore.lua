--- pawl restore FILE
local format = require "pawl.cli.format"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

--- Where no store is yet, the file is copied there.
local function copy_there(opts, file)
  local copy <close> = store.try(pawl.open("sqlite:" .. file,
    { state = "private", create = false, tenant = opts.tenant }))
  return store.try(copy:backup(store.name(opts)))
end

local function check_alone(engine)
  local alive = #store.try(engine.executors:list())
  if alive == 0 then return end
  error({ code = "conflict", message = ("%d %s at work in this store"):format(
    alive, alive == 1 and "worker is" or "workers are"),
    hint = "stop them first: `pawl executors` lists them" }, 0)
end

local function restored(opts, file)
  local engine, err = store.find(opts)
  if not engine then
    if err.code == "notfound" then return copy_there(opts, file) end
    error(err, 0)
  end
  return store.guarded(engine, function()
    if not opts.tenant then check_alone(engine) end -- else it is refused
    return store.try(engine:restore(file))
  end)
end

local function run(opts, args)
  local file = store.file(args[1])
  store.check_lasts(opts)
  local info = restored(opts, file)
  if opts.json then
    term.print(format.json { file = file, bytes = info.bytes })
  else
    term.print(("restored %s from %s: %d bytes"):format(store.name(opts),
      file, info.bytes))
  end
  return 0
end

return {
  name = "restore", args = "FILE", min = 1, max = 1,
  summary = "put what a backup has copied in a SQLite store's place",
  about = "All that is in the store is replaced by what FILE holds, which "
    .. "stays as it is: in one transaction, so that a command that fails, or "
    .. "is killed, leaves the store as it was. FILE is looked through first: "
    .. "what is damaged takes no store's place. What was held when it was "
    .. "copied runs again.\n\n"
    .. "Workers are to be stopped first; while any lives the store is left "
    .. "alone. Where there is no store yet, FILE is copied there. A store is "
    .. "restored for all tenants, and with --tenant not at all.\n\n"
    .. "A store in PostgreSQL is restored with its own tools: pg_restore.",
  options = {},
  examples = {
    { "pawl restore /backup/monday.db", "the store ./pawl.db, as it was then" },
  },
  run = run,
}
