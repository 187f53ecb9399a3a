--- engine.workflows: what is registered, and what becomes of its instances.
local args = require "pawl.args"
local core = require "pawl.core"
local option = require "pawl.option"

local workflows = {}

local list_shape = args.of "workflow_list"

--- What is registered.
function workflows:list(query, how)
  return core.workflow_list(self[1], args.query("workflows:list", list_shape,
    query), how)
end

local get_shape = args.of("workflow_get", nil, { version = false })

--- All that is stored of one: source, bundle, graph, revisions.
function workflows:get(code, version, options, how)
  args.text("workflows:get", code)
  if version ~= nil and not option.check.count(version) then
    error(("bad argument #2 to 'workflows:get' (a version expected, got %s)")
      :format(type(version)), 2)
  end
  local given = args.read("workflows:get", get_shape, options)
  given.version = version
  return core.workflow_get(self[1], code, next(given) and given or nil, how)
end

--- The graph of a workflow that the store knows.
function workflows:graph(code, version)
  return core.workflow_graph(self[1], code, version)
end

local hotfix_shape = args.of "workflow_hotfix"

--- Replaces the source of a version that is in use.
function workflows:hotfix(flow, options)
  return core.workflow_hotfix(self[1], flow,
    args.query("workflows:hotfix", hotfix_shape, options))
end

---- all its instances, and which versions start -----------------------------

for _, kind in ipairs { "suspend", "resume" } do
  local name = "workflows:" .. kind
  local shape = args.of("workflow_change", kind)
  workflows[kind] = function(self, options, more)
    if more ~= nil then
      error(name .. ": options go into the one table, beside workflow or "
        .. "prefix", 2)
    end
    local given = args.read(name, shape, options)
    if (given.workflow == nil) == (given.prefix == nil) then
      error(name .. ": give { workflow = code } or { prefix = \"billing.\" }",
        2)
    end
    given.kind = kind
    return core.workflow_change(self[1], given)
  end
end

for _, kind in ipairs { "activate", "deactivate" } do
  local name = "workflows:" .. kind
  local shape = args.of("workflow_change", kind,
    { workflow = false, version = false })
  workflows[kind] = function(self, code, version, options)
    args.text(name, code)
    if not option.check.count(version) then
      error(("bad argument #2 to '%s' (a version expected, got %s)"):format(
        name, type(version)), 2)
    end
    local given = args.read(name, shape, options)
    given.kind, given.workflow, given.version = kind, code, version
    return core.workflow_change(self[1], given)
  end
end

--- All of a code: no version of it starts, also none that comes later.
for _, kind in ipairs { "off", "on" } do
  local name = "workflows:" .. kind
  local shape = args.of("workflow_change", kind, { workflow = false })
  workflows[kind] = function(self, code, options)
    args.text(name, code)
    local given = args.read(name, shape, options)
    given.kind, given.workflow = kind, code
    return core.workflow_change(self[1], given)
  end
end

---- to another version --------------------------------------------------------

local PAGE = 500

local transfer_shape = args.of("workflow_transfer", nil, {
  workflow = false, from = false, to = false, limit = false, after = false,
  vars = { "callable" } })

local function read_transfer(code, from, to, options)
  local name = "workflows:transfer"
  args.text(name, code)
  if not option.check.count(from) or not option.check.count(to) then
    error(("bad argument #%d to '%s' (a version expected)"):format(
      option.check.count(from) and 3 or 2, name), 3)
  end
  local given, why = option.read(name, transfer_shape, options)
  if not given then error(why, 3) end
  given.workflow, given.from, given.to = code, from, to
  if given.map and next(given.map) == nil then given.map = nil end
  return given
end

--- Pages of which can go and which cannot.
local function pages(engine, given)
  local done = false
  local asked = { plan = true, workflow = given.workflow, from = given.from,
    to = given.to, map = given.map, limit = PAGE }
  return function()
    if done then return nil end
    local report, err = core.workflow_transfer(engine, asked)
    if not report then
      done = true
      return false, err
    end
    asked.after, done = report.next, report.next == nil
    return report
  end
end

--- What somebody's function has raised, in words.
local function raised(value)
  if type(value) ~= "table" then return tostring(value) end
  local meta = getmetatable(value)
  if meta and meta.__tostring then return tostring(value) end
  if type(value.message) == "string" then return value.message end
  return core.json_encode(value) or tostring(value)
end

--- The new variables, or nil and why there are none.
local function transform(vars, instance)
  local ok, value = pcall(vars, instance.variables, instance)
  if not ok then return nil, "vars failed: " .. raised(value) end
  if not args.object(value) then
    return nil, "vars gave a " .. type(value)
      .. ", not a table of variables"
  end
  local text, err = core.json_encode(value)
  if not text then
    return nil, "vars gave what cannot be stored: " .. tostring(err)
  end
  return value
end

--- Codes that say: not this one.
local refusals = { invalid = true, conflict = true, limit = true, value = true }

--- One instance: into one of the lists. false, err: the store is in the way.
local function transfer_one(engine, id, given, lists)
  local change = { kind = "transfer", to_version = given.to, map = given.map,
    by = given.by, reason = given.reason }
  if given.vars then
    local instance, err = engine:get(id)
    if not instance then
      if err.code == "notfound" then return true end
      return false, err
    end
    local values, why = transform(given.vars, instance)
    if not values then
      table.insert(lists.refused, { id = id, reason = why })
      return true
    end
    change.variables, change.if_commits = values, instance.commits
  end
  if given.plan then
    table.insert(lists.gone, id)
    return true
  end
  local ok, done = core.change(engine, id, change)
  if ok then
    table.insert(done and lists.gone or lists.asked, id)
  elseif refusals[done.code] then
    table.insert(lists.refused, { id = id, reason = done.message })
  elseif done.code ~= "already_finished" then
    return false, done
  end
  return true
end

--- Counts of a page: one for each boundary.
local function add_counts(list, more)
  for _, one in ipairs(more) do
    local known
    for _, had in ipairs(list) do
      if had.node == one.node then known = had end
    end
    if known then
      known.count = known.count + one.count
    else
      list[#list + 1] = one
    end
  end
end

--- Its instances of one version go on in another, each in a transaction of its
--- own; `plan`: only says which would.
---@param code string
---@param from integer
---@param to integer
---@param options? pawl.TransferOptions
---@return string[]? gone
---@return pawl.TransferRefusal[]|pawl.Error refused
---@return string[] asked  held by somebody, who does it before the next step
---@return pawl.TransferBeside beside  boundaries that begin and end with it
function workflows:transfer(code, from, to, options)
  local engine = self[1]
  local given = read_transfer(code, from, to, options)
  local lists = { gone = {}, asked = {}, refused = {} }
  local beside = { begun = {}, ended = {} }
  for report, err in pages(engine, given) do
    if not report then return nil, err end
    table.move(report.refused, 1, #report.refused, #lists.refused + 1,
      lists.refused)
    for name, list in pairs(beside) do add_counts(list, report[name]) end
    for _, id in ipairs(report.gone) do
      local ok, why = transfer_one(engine, id, given, lists)
      if not ok then return nil, why end
    end
  end
  return lists.gone, lists.refused, lists.asked, beside
end

return workflows
