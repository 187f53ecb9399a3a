--- How a store stands, for people: `pawl stats` and `pawl top`.
local core = require "pawl.core"
local format = require "pawl.cli.format"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"

local standing = {}

--- In the order in which they are shown.
local STATUSES = { "running", "waiting", "suspended", "failed", "completed",
  "cancelled", "deleted", "archived", "purged" }

--- "10000+" of what was not counted to its end.
local function counted(what)
  return ("%d%s"):format(what.count, what.more and "+" or "")
end

--- "3 ready, the first for 5m"
local function lasting(words, what, now)
  local text = ("%s %s"):format(counted(what), words)
  local since = type(what.since) == "string" and format.since(what.since, now)
  return since and text .. " for " .. since or text
end

--- ", 2 dead", if any are.
local function dead(outbox)
  return outbox.dead.count > 0
    and (", %s dead"):format(counted(outbox.dead)) or ""
end

local COLUMNS = {
  { title = "WORKFLOW", flex = true, value = function(row)
    return format.workflow(row.workflow, row.version)
  end },
}
for i, status in ipairs(STATUSES) do
  COLUMNS[i + 1] = { title = status:upper(), right = true, sparse = true,
    drop = #STATUSES - i + 1,
    value = function(row) return row.statuses[status] end,
    color = function(row)
      return row.statuses[status] and format.color(status)
    end }
end

local NODES = {
  { title = "STANDS AT", flex = true, value = function(row)
    return format.workflow(row.workflow, row.version) .. " " .. row.node
  end },
  { title = "STATUS", value = function(row) return row.status end },
  { title = "COUNT", right = true, value = function(row) return row.count end },
}

local function nodes_of(workflows)
  local rows = {}
  for _, of in ipairs(workflows) do
    for _, node in ipairs(of.nodes) do
      node.workflow, node.version = of.workflow, of.version
      rows[#rows + 1] = node
    end
  end
  table.sort(rows, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a.workflow .. a.node < b.workflow .. b.node
  end)
  return rows
end

local function minutes(recent, now)
  return math.max(1, (now * 1e6 - core.time_parse(recent.since)) / 60e6)
end

--- Those that live, and by their ids as host:pid. What dead ones left is told
--- of anyhow.
---@param engine pawl.Engine
---@return { names: table<string, string>, rows: table[] }
function standing.executors(engine)
  local rows, names = engine.executors:list { limit = 1000 } or {}, {}
  for _, row in ipairs(rows) do
    names[row.id] = ("%s:%d"):format(row.host, row.pid)
  end
  return { names = names, rows = rows }
end

--- "held by db1:1858 3, db2:77 1", who holds most first; nil: nobody does.
local function holders(executors)
  local held, parts = {}, {}
  for _, row in ipairs(executors.rows) do
    if row.holds > 0 then held[#held + 1] = row end
  end
  table.sort(held, function(a, b)
    if a.holds ~= b.holds then return a.holds > b.holds end
    return a.id < b.id
  end)
  for i, row in ipairs(held) do
    parts[i] = ("%s %d"):format(term.clean(executors.names[row.id]), row.holds)
  end
  return #parts > 0 and "held by " .. table.concat(parts, ", ") or nil
end

--- What is due, held and happens, in lines of text.
---@param report pawl.StoreStats
---@param now number
---@param executors? table  as standing.executors has them
---@return string[]
function standing.lines(report, now, executors)
  local recent, held = report.recent, report.held
  local span = minutes(recent, now)
  local lines = {
    lasting("ready", report.ready, now) .. ", " .. counted(report.soon)
      .. " due soon, " .. counted(held) .. " held by " .. held.executors,
    ("%.1f started, %.1f completed, %.1f failed a minute"):format(
      recent.started / span, recent.completed / span, recent.failed / span),
    ("%s to be published%s, tasks: %s open, %s overdue"):format(
      lasting("events", report.outbox, now), dead(report.outbox),
      counted(report.tasks.open), counted(report.tasks.overdue)),
  }
  local by = executors and holders(executors)
  if by then table.insert(lines, 2, by) end
  if report.late.count > 0 then
    lines[#lines + 1] = lasting("due, and no worker looks,", report.late, now)
  end
  if report.orphaned.count + held.takeovers > 0 then
    lines[#lines + 1] = ("%s left by executors that died, %d takeovers")
      :format(counted(report.orphaned), held.takeovers)
  end
  return lines
end

--- For people: what there is, what is due.
---@param report pawl.StoreStats
---@param most integer  so many nodes
---@param executors table  as standing.executors has them
function standing.tell(report, now, most, executors)
  for _, line in ipairs(standing.lines(report, now, executors)) do
    term.print(term.cut(line, term.width() or 1000))
  end
  local there = {}
  for _, of in ipairs(report.workflows) do
    if next(of.statuses) then there[#there + 1] = of end
  end
  if #there == 0 then return end
  term.print ""
  table_of(COLUMNS, there)
  local rows = nodes_of(report.workflows)
  if #rows == 0 then return end
  term.print ""
  table_of(NODES, table.move(rows, 1, math.min(#rows, most), 1, {}))
  if #rows > most then term.print("and ", #rows - most, " more") end
end

return standing
