--- What the commands share that change something: who asks, and what to say.
local format = require "pawl.cli.format"
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local act = {}

---@class pawl.cli.Change
---@field method? fun(engine: pawl.Engine, id: string, given: table): ...
---@field asked? string  where a worker does it: in front of the id
---@field later? string  and behind it

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

--- Changes instances, whose ids may be shortened, and says what came of it.
---@param ids string[]
---@param name string     the engine's method
---@param words string    what was done: "resumed"
---@param given? table    the method's options
---@param how? pawl.cli.Change
---@return integer exit code
function act.instance(opts, ids, name, words, given, how)
  how = how or {}
  return several(opts, ids, function(engine, id)
    id = store.try(engine:find(id))
    local method = how.method or engine[name]
    local _, done = store.try(method(engine, id, act.asked(opts, given)))
    if opts.json then return format.json { id = id, done = done } end
    if done then
      term.print(words, " ", id)
    else
      term.print(how.asked or "asked for it:", " ", id, how.later
        or "; the worker that runs it does it before the next step")
    end
  end)
end

return act
