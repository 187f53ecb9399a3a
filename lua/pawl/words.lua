--- Words that explanations are made of: explain.lua's own, and those that each
--- kind of node has for what is waited for there (lua/pawl/kinds).
local duration = require "pawl.duration"

local words = {}

function words.quoted(text) return '"' .. tostring(text) .. '"' end

--- "2026-11-21 07:38:00": UTC; the command says it as its reader's clocks do.
function words.clock(text) return (text:sub(1, 19):gsub("T", " ")) end

--- "2026-11-21 07:38:00 (in 5 min)", seen from the explanation's own time.
function words.when(data, text)
  local core = require "pawl.core" -- not where workflows are only built
  local at, now = core.time_parse(text), core.time_parse(data.now)
  local seconds = (at - now) / 1e6
  if math.abs(seconds) < 1 then return words.clock(text) .. " (now)" end
  local span = duration.show(math.abs(seconds))
  return ("%s (%s)"):format(words.clock(text),
    seconds > 0 and "in " .. span or span .. " ago")
end

--- "", ' by ann', ': "stuck"', ' by ann: "stuck"'.
function words.who_why(by, reason)
  local function is_said(text) return type(text) == "string" and text ~= "" end
  return (is_said(by) and " by " .. by or "")
    .. (is_said(reason) and ": " .. reason or "")
end

function words.plural(n, one, many)
  return ("%d %s"):format(n, n == 1 and one or many or one .. "s")
end

--- Declared types, in a line: "{ count: integer > 0, list: [string] }".
function words.types(types)
  if type(types) ~= "table" then return types end
  if types[1] then return "[" .. words.types(types[1]) .. "]" end
  local list = {}
  for name, one in pairs(types) do
    list[#list + 1] = ("%s: %s"):format(name, words.types(one))
  end
  table.sort(list)
  return "{ " .. table.concat(list, ", ") .. " }"
end

--- "a", "a or b", "a, b or c".
function words.any_of(list)
  if #list < 2 then return list[1] or "nobody" end
  return table.concat(list, ", ", 1, #list - 1) .. " or " .. list[#list]
end

--- A word of a command, as the shell reads it back.
function words.word(text)
  text = tostring(text)
  if text:find("^[%w@%%+=:,./_-]+$") then return text end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Does a token of ctx.callback stand for the event? See
--- src/engine/common/callback.h.
local function is_callback(w)
  local digits, event = (w.key or ""):match "^([%w_-]+)%.(.+)$"
  return digits and #digits == 54 and event == w.event
end

--- The command that sends what is waited for; of a pattern the last word is
--- open.
function words.signal(w, id)
  if is_callback(w) then return ("`pawl complete %s`"):format(w.key) end
  return ("`pawl signal %s%s%s`"):format((w.event:gsub("%*$", "NAME")),
    w.key and " --key " .. words.word(w.key) or "",
    w.key and "" or " --instance " .. id)
end

--- What could not be made of events that were to move a time.
function words.refused(mover)
  if not mover.refused then return "" end
  return (" It has refused %s, with %s."):format(
    words.plural(mover.refused, "such event"), words.error(mover.error))
end

--- What moves the time at which it gives up, or is due.
function words.moved_by(data, w)
  if not w.moved_by then return "" end
  local has_time = w["until"] or type(w.due) == "string"
  return ("%s %s has that worked out anew.%s"):format(
    has_time and "" or " It gives up at no time;",
    words.signal(w.moved_by, data.id), words.refused(w.moved_by))
end

function words.mapped(list, fn)
  local out = {}
  for i, value in ipairs(list) do out[i] = fn(value) end
  return out
end

function words.error(err)
  if type(err) ~= "table" then return nil end
  local code = err.raised or err.code
  local message = tostring(err.message or "")
  return code and code ~= "script" and code .. ": " .. message or message
end

function words.goes(to)
  return to and " and goes to " .. words.quoted(to) or ""
end

function words.timeout_of(data, token)
  for _, move in ipairs(token.would_move) do
    if move.what == "timeout" then
      return (" At %s it gives up%s."):format(words.when(data, move.at),
        move.to and words.goes(move.to) or " and fails with \"timeout\"")
    end
  end
  return ""
end

function words.way_of(token, what)
  for _, move in ipairs(token.would_move) do
    if move.what == what then return move end
  end
  return {}
end

--- The workflow that a node starts: "order.ship 2", "order.ship by gpu" where
--- the graph says which group runs it.
---@param node table  of a graph
---@return string
function words.child(node)
  local child = node.version
    and ("%s %d"):format(node.workflow, node.version)
    or node.workflow
  return type(node.group) == "string" and child .. " by " .. node.group
    or child
end

return words
