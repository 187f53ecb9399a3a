--- Instances as a table for people, and what they are in all.
local format = require "pawl.cli.format"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"
local why = require "pawl.cli.why"

local function present(value)
  return value ~= nil and type(value) ~= "userdata" and value
end

--- What people call it by; `pawl run` draws its keys itself.
local function key_of(row)
  local key = present(row.business_key) or present(row.key)
  return key and not key:find "^run:%x+$" and key or nil
end

local columns = {
  { title = "ID", value = function(i) return i.shown end },
  { title = "WORKFLOW", flex = true, least = 10, tail = true,
    value = function(i) return format.workflow(i.workflow, i.version) end },
  { title = "KEY", flex = true, sparse = true, drop = 1, tail = true,
    value = key_of },
  { title = "STATUS", value = function(i) return i.status end,
    color = function(i) return format.color(i.status) end },
  { title = "NODE", flex = true, least = 6,
    value = function(i) return i.node end },
  { title = "AGE", right = true, drop = 2,
    value = function(i) return i.age end },
  { title = "WHY", flex = true, sparse = true, least = 12,
    value = function(i) return i.why end },
}

--- "3 instances: 1 waiting, 2 failed", in the order of their lives.
local function totals(rows)
  local counts, counted = {}, false
  local pieces = { { ("%d instance%s:"):format(#rows,
    #rows == 1 and "" or "s") } }
  for _, row in ipairs(rows) do
    counts[row.status] = (counts[row.status] or 0) + 1
  end
  for _, status in ipairs(verb_args.words("list", "status")) do
    if counts[status] then
      pieces[#pieces + 1] = { ("%s%d "):format(counted and ", " or " ",
        counts[status]) }
      counted = true
      pieces[#pieces + 1] = { status, format.color(status) }
    end
  end
  return term.fit(pieces, term.width())
end

---@param engine pawl.Engine
---@param rows table[]  as engine:list gives them, at least one
return function(engine, rows)
  local now = engine:now()
  why.add(engine, rows)
  term.shorten(rows, "id")
  for _, row in ipairs(rows) do
    row.age = format.since(row.times.created, now)
  end
  table_of(columns, rows)
  if term.tty then term.print(totals(rows)) end -- no row, for who counts lines
end
