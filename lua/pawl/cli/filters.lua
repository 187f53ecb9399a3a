--- By what instances are found: the options of `pawl list`, which the commands
--- that change instances take too.
local attributes = require "pawl.cli.attributes"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local verb_args = require "pawl.args"

local filters = {}

---@type pawl.cli.Option[]
filters.options = {
  { long = "workflow", short = "w", arg = "CODE",
    help = "of this workflow; CODE@N, as lists show it: of that version" },
  { long = "workflow-version", arg = "N", type = "count", key = "version",
    help = "of this version" },
  { long = "status", arg = "NAME", many = true,
    help = "created, running, waiting, suspended, completed, failed or "
      .. "cancelled; several with commas, or given again" },
  { long = "correlation", arg = "ID", help = "with this correlation" },
  { long = "key", arg = "KEY", help = "started with this key" },
  { long = "business-key", arg = "KEY",
    help = "with this business key; 'order-*': one that begins so" },
  { long = "group", arg = "NAME", help = "of this group of executors" },
  { long = "node", arg = "NODE", help = "that stand there, or ended there" },
  { long = "error", arg = "ERROR", help = "whose error has this code or "
    .. "message; 'bank timeout*': one that begins so. Completed ones only if "
    .. "--status names them" },
  { long = "error-code", arg = "ERROR", help = "failed, or suspended by an "
    .. "error, with this code; 'card_*': one that begins so" },
  { long = "cancelled-by", arg = "WHO", help = "asked to cancel by them" },
  { long = "compensation", arg = "HOW", many = true, type = "name",
    one_of = verb_args.words("list", "compensation"),
    help = "undone so: planning, running, completed, completed_with_errors "
      .. "or stopped; may be given again" },
  { long = "leased", help = "that a worker holds: that execute now, whatever "
    .. "their status" },
  { long = "halted", help = "that have halted at a breakpoint" },
  { long = "attr", arg = "NAME=VALUE", many = true,
    help = "with this attribute: a number, true or false, @2026-01-31 for a "
      .. "date, else text, as NAME:=TEXT is whatever it looks like; also < <= "
      .. "> >=, and 'NAME=a*' for one that begins so. The same name again: "
      .. "one of several, or a range" },
  { long = "since", arg = "SPAN", type = "since", key = "created_after",
    help = "created so long ago at most: 90m, 1d; or since a time" },
  { long = "untouched", arg = "SPAN", type = "since", key = "updated_before",
    help = "not changed for so long" },
  { long = "created-after", arg = "TIME", type = "since",
    help = "created at that time or later" },
  { long = "created-before", arg = "TIME", type = "since",
    help = "created earlier" },
  { long = "started-after", arg = "TIME", type = "since",
    help = "first worked on at that time or later: what is created has not "
      .. "been" },
  { long = "started-before", arg = "TIME", type = "since",
    help = "first worked on earlier" },
  { long = "updated-after", arg = "TIME", type = "since",
    help = "changed at that time or later" },
  { long = "updated-before", arg = "TIME", type = "since",
    help = "not changed since" },
  { long = "completed-after", arg = "TIME", type = "since",
    help = "ended, however, at that time or later" },
  { long = "completed-before", arg = "TIME", type = "since",
    help = "ended earlier" },
  { long = "due-before", arg = "TIME", type = "ahead",
    help = "that are to be looked at before then; now: overdue, or not taken" },
  { long = "deadline-before", arg = "TIME", type = "ahead",
    help = "that live, and whose deadline is earlier; now: it has passed" },
  { long = "parent", arg = "ID", help = "children of this instance" },
  { long = "root", arg = "ID", help = "all that descend from it" },
  { long = "deleted", help = "those that were deleted, and no others" },
  { long = "archived", help = "those that were archived, and no others" },
  { long = "sort", arg = "ORDER", type = "name",
    one_of = verb_args.words("list", "sort"),
    help = "newest or oldest first; created, updated or completed: the "
      .. "latest first, of 10000 at most; due: what is to be looked at first" },
  { long = "reverse", help = "the other way round" },
  { long = "before", arg = "ID", help = "those older than this instance; of a "
    .. "list by a time, its cursor" },
  { long = "after", arg = "ID", help = "those newer, the nearest to it" },
}

--- CODE@N is told apart.
---@param opts table  what the command line said
---@return string? code
---@return integer? version
function filters.of_workflow(opts)
  local code, number = (opts.workflow or ""):match "^(.-)@(.*)$"
  if not code then return opts.workflow, opts.version end
  local version = number:find "^%d+$" and math.tointeger(tonumber(number))
  if code == "" or not version or version < 1 or version > 0x7fffffff then
    options.usage("--workflow takes CODE or CODE@N, got '%s'",
      "N is a version: --workflow order.fulfil@2", opts.workflow)
  elseif opts.version and opts.version ~= version then
    options.usage("--workflow says version %d, --workflow-version says %d",
      nil, version, opts.version)
  end
  return code, version
end

local statuses = verb_args.words("list", "status")

-- What is no status, as it says nothing of what was recorded.
local by_lease <const> = "--leased has those that a worker holds and executes"
local held = { executing = by_lease, leased = by_lease, claimed = by_lease }

local function status_list(given)
  if not given then return nil end
  local out, known = {}, {}
  for _, name in ipairs(statuses) do known[name] = true end
  for _, text in ipairs(given) do
    for name in (text .. ","):gmatch("%s*(.-)%s*,") do
      if name == "" then
        options.usage("--status has an empty name in '%s'", "names are "
          .. "separated by one comma: --status failed,suspended", text)
      elseif not known[name] then
        options.usage("unknown status '%s'", held[name]
          or nearest.hint(name, statuses), name)
      end
      out[#out + 1] = name
    end
  end
  return out
end

--- One NAME>=VALUE, added to what its name is given already: several that are
--- equal are a set.
local function add_condition(out, text)
  local name, as_text, how, value = attributes.split(text)
  if not name then
    options.usage("--attr takes NAME=VALUE, or another of < <= > >=, got '%s'",
      "--attr region=eu --attr 'amount>=100' --attr 'name=a*'", text)
  end
  local given = out[name] or {}
  out[name] = given
  if not as_text and how == "=" and value:find "%*$" then
    how, value = "prefix", value:sub(1, -2)
  elseif not as_text then
    value = attributes.value(value)
  end
  if how == "=" and (#given == 0 or given[1] == "in") then
    given[1] = "in"
  elseif given[1] == "in" or how == "=" and #given > 0 then
    options.usage("--attr compares '%s' and says what it equals, too", nil,
      name)
  else
    given[#given + 1] = how
  end
  given[#given + 1] = value
end

local function conditions(list)
  if not list then return nil end
  local out = {}
  for _, text in ipairs(list) do add_condition(out, text) end
  for name, given in pairs(out) do
    if given[1] == "in" and #given == 2 then out[name] = given[2] end
  end
  return out
end

--- The query of a list, as its options say; ids as they were typed.
---@param opts table  what the command line said
---@return pawl.Query
function filters.read(opts)
  local query = verb_args.among("list", opts)
  query.status, query.attributes = status_list(opts.status),
    conditions(opts.attr)
  query.workflow, query.version = filters.of_workflow(opts)
  query.tenant = nil -- whose the engine is, and no filter
  return query
end

-- What a query may have besides filters.
local order = { limit = true, sort = true }

--- Does it find others than all there are?
---@param query pawl.Query
---@return boolean
function filters.any(query)
  for name in pairs(query) do
    if not order[name] then return true end
  end
  return false
end

--- The same with whole ids.
---@param engine pawl.Engine
---@param query pawl.Query
---@return pawl.Query
function filters.found(engine, query)
  for _, name in ipairs { "before", "after", "parent", "root" } do
    local cursor = query[name] and query[name]:find "^%d+%.%x"
    if not cursor then
      query[name] = query[name] and store.try(engine:find(query[name]))
    end
  end
  return query
end

--- Behind a command's own options those filters that are not called like one
--- of these.
---@param own pawl.cli.Option[]
---@return pawl.cli.Option[]
function filters.behind(own)
  local all, taken = table.move(own, 1, #own, 1, {}), {}
  for _, option in ipairs(own) do taken[option.long] = true end
  for _, option in ipairs(filters.options) do
    if not taken[option.long] then all[#all + 1] = option end
  end
  return all
end

return filters
