--- docs/reference.md: every option, every member of `ctx`, every method and
--- every flag in one place, made of the annotations for editors and of the
--- tables that commands are made from.
local boundaries = "lua/pawl/boundary.lua"
local command = require "spec.support.command"
local commands = require "pawl.cli.commands"
local kinds = require "pawl.kinds"
local reference = require "spec.support.reference"
local tmp = require "spec.support.tmp"

local META <const> = "lua/pawl/meta/pawl.lua"

local page = { path = "docs/reference.md" }

local HEAD = [[
# Reference

Made from the annotations and tables in the sources; a spec compares. What the
pieces are for, with workflows that run, is in
[`workflows.md`](workflows.md); the same functions in C are in
[`api.md`](api.md), the shapes of JSON in [`json.md`](json.md). What is in
[brackets] may be left out; `number|string` of a time is seconds, or text such
as "90s", "2h30m", "7d".

]]

---- annotations --------------------------------------------------------------

--- A cell of a table: no line ends in it, and its bars are its own.
local function cell(text) return (text:gsub("|", "\\|"):gsub("%s+", " ")) end

local function add(out, ...)
  for _, line in ipairs { ... } do out[#out + 1] = line end
end

--- The fields of a class, a row each.
local function add_fields(out, file, class)
  add(out, "| | type | |", "|---|---|---|")
  for _, field in ipairs(reference.fields(file, class)) do
    add(out, ("| `%s` | `%s` | %s |"):format(field.is_needed and field.name
      or "[" .. field.name .. "]", cell(field.type), cell(field.text)))
  end
  add(out, "")
end

local function add_class(out, title, file, class)
  add(out, "### " .. title, "")
  add_fields(out, file, class)
end

--- Where classes are declared.
local FILES = { META, "lua/pawl/workflow.lua", boundaries }
for _, name in ipairs(kinds.names) do
  FILES[#FILES + 1] = "lua/pawl/kinds/" .. name .. ".lua"
end

---@class spec.Class
---@field head string    what stands behind "@class": with the class it is over
---@field name string    "pawl.MoveOptions"
---@field file string
---@field fields spec.Field[]

--- All classes that have fields, in the order of their declarations, and by
--- name.
---@return spec.Class[] list
---@return table<string, spec.Class> by_name
function page.classes()
  local list, by_name = {}, {}
  for _, file in ipairs(FILES) do
    for head in tmp.read(file):gmatch "%-%-%-@class (pawl%.[^\n]+)" do
      local one = { head = head, name = head:match "^pawl%.%w+", file = file,
        fields = reference.fields(file, head) }
      if #one.fields > 0 and one.name ~= "pawl.Workflow" then
        list[#list + 1] = one
        by_name[one.name] = one
      end
    end
  end
  return list, by_name
end

local OBJECTS = { Engine = "engine", Tasks = "engine.tasks",
  Workflows = "engine.workflows", Outbox = "engine.outbox",
  Executors = "engine.executors", pawl = "pawl", json = "pawl.json",
  Transaction = "tx" }

--- An argument that is a table of its own: "{ timeout?: number|string }".
local function inline(param)
  local name, shape, text = param:match "^(%w+)%??%s+(%b{})%s*(.*)$"
  if not name then return nil end
  return ("`%s`: `%s`%s"):format(name, shape,
    text ~= "" and ", " .. text or "")
end

--- What is told of a function: its words, and arguments that no class names.
local function told_of(told, params)
  local out = { table.concat(told, " ") }
  for _, param in ipairs(params) do out[#out + 1] = inline(param) end
  return table.concat(out, " ")
end

--- Every method and function, by the object that has it, with what stands above
--- it, and its annotated arguments.
function page.functions()
  local by, order, told, params, open = {}, {}, {}, {}, false
  for line in tmp.read(META):gmatch "([^\n]*)\n" do
    local object, mark, name, arguments =
      line:match "^function (%w+)([.:])([%w_]+)(%b()) end"
    if OBJECTS[object] then
      if not by[object] then
        by[object] = {}
        order[#order + 1] = object
      end
      table.insert(by[object], { told = told_of(told, params),
        words = table.concat(told, " "), params = params,
        call = OBJECTS[object] .. mark .. name .. arguments })
    end
    local words = line:match "^%-%-%- ([^@%s].*)$"
    local param = line:match "^%-%-%-@param (.*)$"
    if words then
      told[#told + 1] = words
    elseif param then
      params[#params + 1] = param
    elseif not line:find "^%-%-%-" then
      told, params = {}, {}
    elseif open and line:find "^%-%-%-%s" then
      params[#params] = params[#params] .. line:match "^%-%-%-%s+(.*)$":gsub(
        "^", " ")
    end
    open = param or open and line:find "^%-%-%-%s%s" ~= nil
  end
  return order, by
end

---- the command --------------------------------------------------------------

--- What `pawl NAME --help` says.
local function add_command(out, here, name)
  local ran = here:pawl("help", name)
  assert(ran.code == 0, ran.err)
  add(out, "### pawl " .. name, "", "```text", (ran.out:gsub("%s+$", "")),
    "```", "")
end

---- the page -----------------------------------------------------------------

--- Classes that are found by what they are for.
local PLACES = { { "pawl.workflow { ... }", "pawl.WorkflowOptions" },
  { "retain", "pawl.Retain" }, { "on_failure", "pawl.OnFailure" },
  { "trigger, cancel_on", "pawl.EventRule" } }
for _, kind in ipairs(kinds.names) do
  PLACES[#PLACES + 1] = { ("flow:%s(name, { ... })"):format(kind),
    reference.class(kind) }
end
for _, place in ipairs { { "retry", "pawl.Retry" },
  { "reschedule", "pawl.Reschedule" }, { "escalate", "pawl.EscalateOptions" },
  { "enough: so_far", "pawl.SoFar" }, { "on_timer, on_event", "pawl.Boundary" },
  { "on_timer", "pawl.BoundaryTimer" }, { "on_event", "pawl.BoundaryEvent" },
} do
  PLACES[#PLACES + 1] = place
end
local HANDLERS = { { "ctx", "pawl.Ctx" }, { "ctx.event", "pawl.Event" },
  { "ctx.error", "pawl.Caught" }, { "ctx.token", "pawl.Token" },
  { "ctx.signal { ... }", "pawl.SentEvent" },
  { "error { ... }", "pawl.Raised" } }

--- Whether a class has a place of its own.
page.places = {}
for _, places in ipairs { PLACES, HANDLERS } do
  for _, place in ipairs(places) do page.places[place[2]] = true end
end

local function add_places(out, title, places)
  local _, by_name = page.classes()
  add(out, "## " .. title, "")
  for _, place in ipairs(places) do
    local class = assert(by_name[place[2]], place[2])
    add_class(out, place[1], class.file, class.head)
  end
end

local function add_workflows(out)
  add_places(out, "What a workflow says", PLACES)
  add_places(out, "What a handler has, and raises", HANDLERS)
end

local function add_methods(out)
  local order, by = page.functions()
  add(out, "## Methods and functions", "",
    "Each gives nil and an error where it fails.", "")
  for _, object in ipairs(order) do
    add(out, "### " .. OBJECTS[object], "", "| | |", "|---|---|")
    for _, one in ipairs(by[object]) do
      add(out, ("| `%s` | %s |"):format(cell(one.call), cell(one.told)))
    end
    add(out, "")
  end
end

--- The names of classes in a type, but for what a function of the user's is
--- given.
local function named(type)
  return type:gsub("fun%b()[^|]*", ""):gmatch "pawl%.%u%w*"
end

--- What may be said, by class: all that options, arguments and `ctx` name, and
--- what those name.
---@return table<string, boolean>
function page.said()
  local _, by_name = page.classes()
  local _, functions = page.functions()
  local said = {}
  local function say(type)
    for name in named(type) do
      local class = by_name[name]
      if class and not said[name] then
        said[name] = true
        say(class.head:sub(#name + 1))
        for _, field in ipairs(class.fields) do say(field.type) end
      end
    end
  end
  for name in pairs(page.places) do say(name) end
  say "pawl.ChildOptions|pawl.AwaitFd" -- of functions of ctx
  for _, list in pairs(functions) do
    for _, one in ipairs(list) do
      for _, param in ipairs(one.params) do say(param) end
    end
  end
  return said
end

--- All that has no place above.
local function add_rest(out)
  local said = page.said()
  local list = page.classes()
  for _, title in ipairs { "Options and arguments", "What methods give" } do
    add(out, "## " .. title, "")
    for _, class in ipairs(list) do
      if (said[class.name] or false) == (title:sub(1, 1) == "O")
        and not page.places[class.name] then
        add_class(out, class.head, class.file, class.head)
      end
    end
  end
end

local function add_commands(out)
  local here = command.folder()
  add(out, "## The command", "")
  for _, name in ipairs(commands.names) do add_command(out, here, name) end
end

---@return string
function page.text()
  local out = {}
  add_workflows(out)
  add_methods(out)
  add_rest(out)
  add_commands(out)
  return HEAD .. table.concat(out, "\n"):gsub("\n+$", "") .. "\n"
end

return page
