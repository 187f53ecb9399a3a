--- What the commands share that change something: who asks, and what to say.
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local act = {}

--- The options of everybody.
act.options = {
  { long = "reason", arg = "TEXT", help = "why; kept in the history" },
  { long = "by", arg = "WHO", type = "name",
    help = "who asks; default: the user's name" },
}

---@param more pawl.cli.Option[]
---@return pawl.cli.Option[]
function act.with(more)
  return table.move(act.options, 1, #act.options, #more + 1, more)
end

--- Who asks, when nobody says; nil when the system does not know either.
---@return string?
function act.user(opts)
  if opts.by then return opts.by end
  local name = os.getenv "USER"
  return name ~= "" and name or sys.login()
end

--- What every change says of who asks and why.
function act.asked(opts, more)
  more = more or {}
  more.by, more.reason = act.user(opts), opts.reason
  return more
end

--- Changes one instance, whose id may be shortened, and says what came of it.
---@param name string     the engine's method
---@param words string    what was done: "resumed"
---@param given table     the method's options
---@param method? fun(engine: pawl.Engine, id: string, given: table): ...
function act.instance(opts, id, name, words, given, method)
  local engine <close> = store.look(opts)
  id = store.try(engine:find(id))
  method = method or engine[name]
  local _, done = store.try(method(engine, id, act.asked(opts, given)))
  if opts.json then
    term.print(format.json { id = id, done = done })
  elseif done then
    term.print(words, " ", id)
  else
    term.print("asked for it: ", id,
      "; the worker that runs it does it before the next step")
  end
  return 0
end

return act
