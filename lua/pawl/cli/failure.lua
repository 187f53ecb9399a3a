--- What is said of an error, and with what code the command ends by it.
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local failure = {}

--- Exit codes by error code; every other failure is 1.
local exits = {
  usage = 2, invalid = 2, ambiguous = 2, misuse = 2, limit = 2,
  notfound = 3,
  exists = 4, taken = 4, busy = 4, conflict = 4,
  already_finished = 4, lease_lost = 4,
  unreachable = 5, auth = 5, not_a_store = 5, store_old = 5, store_new = 5,
  readonly = 5,
}

--- Of an error that the store or the command line has. What a signal cut short
--- ends as that signal would have it.
function failure.exit(err)
  if err.code == "interrupted" and sys.caught() then
    return 128 + sys.caught()
  end
  return exits[err.code] or 1
end

---@param opts table  what the command line said
---@return integer exit code
function failure.report(opts, err)
  local message = tostring(err.message)
  if err.where and not message:find(err.where, 1, true) then
    message = (store.flag_of(opts, err, err.where) or err.where) .. ": "
      .. message
  end
  term.warn(("pawl: %s: %s"):format(err.code,
    term.clean(store.in_flags(opts, err, message))))
  store.tell_hint(opts, err)
  return failure.exit(err)
end

return failure
