--- What is known of an instance, read from its lines (docs/export.md): the one
--- form that a store and a file have in common.
local core = require "pawl.core"
local keys = require "pawl.keys"

local recorded = {}

---@class pawl.RecordedInstance
---@field row table         of the table `instance`; times are microseconds
---@field flow? table       its workflow: code, version, source, graph
---@field nodes table<string, table>  of its graph, by name
---@field history table[]   oldest first
---@field tasks table<string, table[]>  by "NODE/VISIT", with their owners
---@field tokens table[]    those that have rows of their own
---@field attributes table[]
---@field variables table   all of them
---@field children pawl.RecordedInstance[]  those that are among the lines
---@field is_masked boolean
---@field masks? string[]   by what, where that is known
---@field at integer        when it was written down
---@field is_trimmed boolean

local Problem = { __tostring = function(self)
  return self.message .. (self.hint and " (" .. self.hint .. ")" or "")
end }

--- Raises what cannot be: with the fields of an error, and one line as text.
function recorded.fail(message, hint, ...)
  error(setmetatable({ code = "invalid", message = message:format(...),
    hint = hint }, Problem), 0)
end

local TIMES <const> = { instance = { "created_at", "started_at",
  "completed_at", "entered_at", "token_due_at" },
  history = { "completed_at", "started_at", "due_at" },
  token = { "due_at", "entered_at" }, task = { "due_at", "completed_at" },
  export = { "at" } }

local function read_times(is, row)
  for _, name in ipairs(TIMES[is] or {}) do
    local value = row[name]
    if type(value) == "string" then row[name] = core.time_parse(value) end
  end
end

local function decoded(line, no)
  local row, err = core.json_decode(line)
  if type(row) == "table" and type(row.is) == "string" then
    read_times(row.is, row)
    return row
  end
  recorded.fail("line %d is none of an export%s", "`pawl export` writes them",
    no, err and ": " .. tostring(err.message or err) or "")
end

---- one instance --------------------------------------------------------------

local function begin(row, flows)
  return { row = {}, flow = flows[row.workflow .. "@" .. row.version],
    nodes = {}, history = {}, tasks = {}, tokens = {}, attributes = {},
    variables = {}, children = {}, is_masked = row.masked == true, at = row.at,
    is_trimmed = false, by_id = {} }
end

local TAKE <const> = {}

function TAKE.instance(one, row)
  one.row = row
  for name, value in pairs(row.variables or {}) do
    one.variables[name] = value
  end
end

function TAKE.history(one, row)
  if row.seq == 0 then
    one.is_trimmed = true
  else
    one.history[#one.history + 1] = row
  end
end

--- A part's members are JSON without its braces, in a text.
function TAKE.variable(one, row)
  local members = core.json_decode("{" .. row.members .. "}")
  for name, value in pairs(members or {}) do one.variables[name] = value end
end

function TAKE.task(one, row)
  row.owners = {}
  one.by_id[row.id] = row
  local at = ("%s/%d"):format(row.node, row.visit)
  one.tasks[at] = one.tasks[at] or {}
  table.insert(one.tasks[at], row)
end

function TAKE.owner(one, row)
  local task = one.by_id[row.task]
  if task then table.insert(task.owners, row) end
end

function TAKE.token(one, row) table.insert(one.tokens, row) end

function TAKE.attribute(one, row) table.insert(one.attributes, row) end

--- Its graph's nodes by their names.
local function finish(one)
  local graph = one.flow and one.flow.graph
  for _, node in ipairs(graph and graph.nodes or {}) do
    one.nodes[node.name] = node
  end
  table.sort(one.history, function(a, b) return a.seq < b.seq end)
end

---- all of them ---------------------------------------------------------------

--- Each line with its number, without what ends it.
local function lines_of(text)
  local no = 0
  return coroutine.wrap(function()
    for line in text:gmatch "[^\n]+" do
      no = no + 1
      coroutine.yield(line, no)
    end
  end)
end

local function read_all(text)
  local flows, list, one = {}, {}, nil
  for line, no in lines_of(text) do
    local row = decoded(line, no)
    if row.is == "workflow" then
      flows[("%s@%d"):format(row.code, row.version)] = row
    elseif row.is == "export" then
      one = begin(row, flows)
      list[#list + 1] = one
    elseif row.is == "end" and one then
      finish(one)
      one = nil
    elseif one and TAKE[row.is] then
      TAKE[row.is](one, row)
    elseif not one then
      recorded.fail("line %d stands outside of an instance",
        "`pawl export` writes them", no)
    end
  end
  if one then recorded.fail("the last instance is cut short") end
  return list
end

--- Children know their parents.
local function join(list)
  local by_id = {}
  for _, one in ipairs(list) do by_id[one.row.id] = one end
  for _, one in ipairs(list) do
    local parent = one.row.parent and by_id[one.row.parent]
    if parent then table.insert(parent.children, one) end
  end
end

local function listed(list)
  local ids = {}
  for i = 1, math.min(#list, 5) do ids[i] = list[i].row.id end
  return table.concat(ids, ", ") .. (#list > 5 and ", ..." or "")
end

--- The instance of that id, or its beginning or end; the only one that has no
--- parent among the lines, where none is said.
---@param text string  lines, as pawl export writes them
---@param id? string
---@return pawl.RecordedInstance
function recorded.read(text, id)
  local list, found, by_id = read_all(text), {}, {}
  join(list)
  for _, one in ipairs(list) do by_id[one.row.id] = true end
  for _, one in ipairs(list) do
    local own = one.row.id
    local is_it = not by_id[one.row.parent or ""]
    if id then is_it = own:sub(1, #id) == id or own:sub(-#id) == id end
    if is_it then found[#found + 1] = one end
  end
  if #found == 1 then return found[1] end
  if #list == 0 then recorded.fail "there is no instance in it" end
  if #found == 0 then
    recorded.fail("there is no instance %s in it: it has %s", nil, id,
      listed(list))
  end
  recorded.fail("it has several instances: %s", "say which", listed(found))
end

--- Codes of workflows that its nodes start one of for each item.
---@param one pawl.RecordedInstance
---@return string[]
function recorded.each_codes(one)
  local codes = {}
  for _, node in pairs(one.nodes) do
    if node.kind == "each" then codes[node.workflow or ""] = true end
  end
  codes[""] = nil
  return keys(codes)
end

return recorded
