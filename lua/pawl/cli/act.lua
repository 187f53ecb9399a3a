--- What the commands share that change something: who asks, and what to say.
local filters = require "pawl.cli.filters"
local format = require "pawl.cli.format"
local many = require "pawl.cli.many"
local options = require "pawl.cli.options"
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local act = {}

---@class pawl.cli.Change
---@field method? fun(engine: pawl.Engine, id: string, given: table): ...
---@field asked? string  where a worker does it: in front of the id
---@field later? string  and behind it

local by = { long = "by", arg = "WHO", type = "name",
  help = "who asks; default: the user's name" }

--- The options of everybody.
act.options = {
  { long = "reason", arg = "TEXT", may_be_empty = true,
    help = "why; kept in the history" }, by,
}

--- Of what has no history, or leaves it as it is.
act.audited = {
  { long = "reason", arg = "TEXT", may_be_empty = true,
    help = "why; kept in the audit" }, by,
}

--- Those of what changes instances.
act.of_change = {
  { long = "dry-run", help = "only say what would be done" },
  { long = "request", arg = "ID",
    help = "known by this id, a UUID of version 7: asked again with the same "
      .. "one it is not done again. With filters: not to the same instances; "
      .. "with --limit it goes on with the next" },
}

--- Those of whom is to be found by filters.
local of_many = {
  { long = "yes", short = "y", help = "with filters: do not ask" },
  { long = "limit", short = "n", arg = "N", type = "count",
    help = "with filters: at most so many; default: all" },
}

--- How it is said of a command that it takes several.
act.about_many = "Without ids it takes the filters of `pawl list`, and means "
  .. "all that they find and that it can be done to: on a terminal it says "
  .. "how many these are and asks; elsewhere it needs --yes. Each is changed "
  .. "by itself; what was refused is counted for each error code, with one of "
  .. "them as an example. Cut short, it goes on when it is asked again."

---@param more pawl.cli.Option[]
---@param asking? pawl.cli.Option[]  default: act.options
---@return pawl.cli.Option[]
function act.with(more, asking)
  asking = asking or act.options
  return table.move(asking, 1, #asking, #more + 1, more)
end

--- The same for what changes instances.
---@param more pawl.cli.Option[]
---@param asking? pawl.cli.Option[]
---@return pawl.cli.Option[]
function act.with_change(more, asking)
  local own = act.with(more, asking)
  return table.move(act.of_change, 1, #act.of_change, #own + 1, own)
end

--- The same for what takes filters, too.
---@param more pawl.cli.Option[]
---@param asking? pawl.cli.Option[]
---@return pawl.cli.Option[]
function act.with_filters(more, asking)
  local own = act.with_change(more, asking)
  return filters.behind(table.move(of_many, 1, #of_many, #own + 1, own))
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
  more.dry_run, more.request = opts.dry_run, opts.request
  return more
end

--- The nodes that were named. Without ids they are what the filters look for,
--- and that is one; with ids no filter.
---@param hint? string
---@return string[]?
function act.nodes(opts, ids, hint)
  local nodes = opts.node
  opts.node = nil
  if #ids == 0 then
    if nodes and #nodes > 1 then
      options.usage("--node with filters names one node", hint)
    end
    opts.node = nodes and nodes[1]
  end
  return nodes
end

--- Changes instances, whose ids may be shortened, and says what came of it.
---@param ids string[]    none: those that the filters find
---@param name string     the engine's method
---@param words string    what was done: "resumed"
---@param given? table    the method's options
---@param how? pawl.cli.Change
---@return integer exit code
function act.instance(opts, ids, name, words, given, how)
  how = how or {}
  if #ids == 0 then
    return many(opts, name, words, act.asked(opts, given))
  elseif filters.any(filters.read(opts)) then
    options.usage("give ids, or filters, not both")
  end
  return several(opts, ids, function(engine, id)
    id = store.try(engine:find(id))
    local method = how.method or engine[name]
    local _, done = store.try(method(engine, id, act.asked(opts, given)))
    if opts.json then return format.json { id = id, done = done } end
    if opts.dry_run then
      term.print("would be ", words, " ", id)
    elseif done then
      term.print(words, " ", id)
    else
      term.print(how.asked or "asked for it:", " ", id, how.later
        or "; the worker that runs it does it before the next step")
    end
  end)
end

return act
