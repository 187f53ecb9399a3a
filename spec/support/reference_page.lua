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

--- All classes of options and queries, by where they are declared: those that a
--- method names among its arguments.
local function classes(text)
  local list = {}
  for class in text:gmatch "%-%-%-@class (pawl%.[^\n]+)" do
    local name = class:match "^pawl%.(%w+)"
    if name:find "Options$" or name:find "Query$" or name == "Signal"
      or name == "TaskActor" or name == "TaskCompletion"
      or name == "TaskFailure" or name == "TaskReassignment"
      or name == "TaskEdit" or name == "TaskEscalation"
      or name == "OutboxChange" or name == "Trust" then
      list[#list + 1] = class
    end
  end
  return list
end

local OBJECTS = { Engine = "engine", Tasks = "engine.tasks",
  Workflows = "engine.workflows", Outbox = "engine.outbox",
  Executors = "engine.executors", pawl = "pawl", json = "pawl.json",
  Transaction = "tx" }

--- Every method and function, by the object that has it, with what stands above
--- it but for annotations.
local function functions(text)
  local by, order, told = {}, {}, {}
  for line in text:gmatch "([^\n]*)\n" do
    local object, mark, name, arguments =
      line:match "^function (%w+)([.:])([%w_]+)(%b()) end"
    if OBJECTS[object] then
      if not by[object] then
        by[object] = {}
        order[#order + 1] = object
      end
      table.insert(by[object], { told = table.concat(told, " "),
        call = OBJECTS[object] .. mark .. name .. arguments })
    end
    local words = line:match "^%-%-%- ([^@%s].*)$"
    if words then
      told[#told + 1] = words
    elseif not line:find "^%-%-%-@" then
      told = {}
    end
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

local function add_workflows(out)
  add(out, "## What a workflow says", "")
  local file = "lua/pawl/workflow.lua"
  add_class(out, "pawl.workflow { ... }", file, "pawl.WorkflowOptions")
  add_class(out, "retain", file, "pawl.Retain")
  add_class(out, "on_failure", file, "pawl.OnFailure")
  add_class(out, "trigger, cancel_on", file, "pawl.EventRule")
  for _, kind in ipairs(kinds.names) do
    add_class(out, ("flow:%s(name, { ... })"):format(kind),
      "lua/pawl/kinds/" .. kind .. ".lua", reference.class(kind))
  end
  add_class(out, "retry", "lua/pawl/kinds/step.lua", "pawl.Retry")
  add_class(out, "on_timer, on_event", boundaries, "pawl.Boundary")
  add_class(out, "on_timer", boundaries, "pawl.BoundaryTimer: pawl.Boundary")
  add_class(out, "on_event", boundaries, "pawl.BoundaryEvent: pawl.Boundary")
  add(out, "## What a handler has: ctx", "")
  add_fields(out, META, "pawl.Ctx")
end

local function add_methods(out, text)
  local order, by = functions(text)
  add(out, "## Methods and functions", "",
    "Each gives nil and an error where it fails.", "")
  for _, object in ipairs(order) do
    add(out, "### " .. OBJECTS[object], "", "| | |", "|---|---|")
    for _, one in ipairs(by[object]) do
      add(out, ("| `%s` | %s |"):format(cell(one.call), cell(one.told)))
    end
    add(out, "")
  end
  add(out, "## Options of methods", "")
  for _, class in ipairs(classes(text)) do
    if #reference.fields(META, class) > 0 then
      add_class(out, class:match "^%S+%w", META, class)
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
  add_methods(out, tmp.read(META))
  add_commands(out)
  return HEAD .. table.concat(out, "\n"):gsub("\n+$", "") .. "\n"
end

return page
