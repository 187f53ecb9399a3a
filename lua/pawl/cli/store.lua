--- Opening the store that the options name, and giving up on errors.
local pawl = require "pawl"
local sys = require "pawl.sys"

local store = {}

--- Returns what it was given, or ends the command with the error.
function store.try(value, err, ...)
  if value == nil then error(err, 0) end
  return value, err, ...
end

---@param opts table                what the command line said
---@param extra? pawl.OpenOptions
---@return pawl.Engine
function store.open(opts, extra)
  local given = { state = "private", pooler = opts.pooler or nil }
  for key, value in pairs(extra or {}) do given[key] = value end
  return store.try(pawl.open(opts.store, given))
end

--- For commands that only look: a missing store is not made, so that a typo
--- in --store is an error rather than an empty list.
function store.look(opts) return store.open(opts, { create = false }) end

--- The store's name for people; a password in a URL is left out.
function store.name(opts)
  return ((opts.store or "pawl.db"):gsub("(://[^:/@]*):[^@]*@", "%1@")
    :gsub("(password=)%S+", "%1..."))
end

local transient = { busy = true, unreachable = true, lease_lost = true,
  timeout = true, nomem = true, full = true, readonly = true, store = true }

--- May the same call succeed in a while? A worker waits for that.
function store.is_transient(err)
  return type(err) == "table" and transient[err.code] or false
end

--- Runs `fn(engine)` with signals stopping that engine cleanly.
function store.guarded(engine, fn)
  sys.catch_signals()
  sys.watch(engine)
  local result = table.pack(pcall(fn, engine))
  sys.watch(nil)
  engine:close()
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

return store
