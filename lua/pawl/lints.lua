--- What is no mistake in a workflow's file, but seldom meant. Of what handlers
--- do only the text between a node's line and the next one's tells: what is
--- defined elsewhere is not looked at. `-- pawl: allow NAME` in it is the
--- author's word that it is meant.
local cycles = require "pawl.cycles"

local lints = {}

---@class pawl.Lint
---@field name string   "busy", "no-key", "no-timeout", "never-raised"
---@field text string
---@field hint string

--- The last line of what begins there, as others begin in `starts`.
local function last_line(starts, first, last)
  for _, line in ipairs(starts) do
    if line > first then return line - 1 end
  end
  return last
end

--- The text of each node, by its name: from its line to that of the next one.
--- None where its line is another file's.
local function texts_of(graph, source)
  local lines, starts, texts = {}, {}, {}
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
  end
  for _, node in ipairs(graph.nodes) do starts[#starts + 1] = node.line end
  table.sort(starts)
  for _, node in ipairs(graph.nodes) do
    local first = node.line or math.huge
    texts[node.name] = first > #lines and "" or table.concat(lines, "\n",
      first, math.min(last_line(starts, first, #lines), #lines))
  end
  return texts
end

-- What reaches beyond the store, as it is written.
local ACTS = { "ctx%.host%.[%w_]+", "ctx%.host%[", "os%.execute", "io%.popen",
  "http%.request" }

local function acts(text)
  for _, pattern in ipairs(ACTS) do
    local found = text:match(pattern)
    if found then return found end
  end
end

local find = {}

find["busy"] = {
  hint = "a timer on the way slows it down; with busy_limit an instance "
    .. "is suspended that goes round too often",
  of = function(graph, add)
    if graph.busy_limit then return end -- its author has thought of it
    for _, way in ipairs(cycles.without_wait(graph)) do
      add(way[1], table.concat(way, " > ") .. " > " .. way[1]
        .. ": a way round on which nothing waits")
    end
  end,
}

find["no-key"] = {
  hint = "a worker that dies behind it leaves a step that runs again: give "
    .. "ctx.idempotency_key() along, so that it counts once",
  of = function(graph, add, texts)
    for _, node in ipairs(graph.nodes) do
      local text = texts[node.name]
      local what = node.kind == "step" and acts(text)
      if what and not text:find "idempotency_key" then
        add(node.name, ("step %q: %s acts outside, without a key"):format(
          node.name, what))
      end
    end
  end,
}

--- Has it, or what is on it, a time?
local function has_time(graph, node)
  if node.timeout or node.on then return true end
  for _, other in ipairs(graph.nodes) do
    if other.on == node.name and other.kind == "timer" then return true end
  end
  return false
end

find["no-timeout"] = {
  hint = "give it timeout = \"7d\" and a way to go then, or the workflow a "
    .. "deadline",
  of = function(graph, add)
    if graph.deadline or graph.timeout or graph.endless then return end
    for _, node in ipairs(graph.nodes) do
      if node.kind == "wait" and not has_time(graph, node) then
        add(node.name, ("wait %q: it may wait for ever"):format(node.name))
      end
    end
  end,
}

-- Codes that come by themselves.
local function comes_by_itself(node, code)
  return code == "*" or code == "timeout" or code == "script"
    or node.kind == "call" or node.kind == "each" or node.kind == "task"
end

find["never-raised"] = {
  hint = "raise it with error { code = ... } in that node, or take it out of "
    .. "on_error",
  of = function(graph, add, texts, source)
    -- what else is called may raise whatever it likes
    local others = source:gsub("require%s*%(?%s*[\"']pawl[\"']", "")
    if others:find "require" then return end
    for _, node in ipairs(graph.nodes) do
      local text = texts[node.name]
      for code in pairs(node.on_error or {}) do
        local quoted = "%f[%w_]code%s*=%s*[\"']" .. code:gsub("%p", "%%%0")
          .. "[\"']"
        if not comes_by_itself(node, code) and not acts(text)
          and not source:find(quoted) then
          add(node.name, ("%s %q: nothing in this file raises %q, which its "
            .. "on_error names"):format(node.kind, node.name, code))
        end
      end
    end
  end,
}

--- All of them, in the order of their names and, of one, of the nodes.
---@param graph table    as engine:check gives it
---@param source string  the file's text
---@return pawl.Lint[]
function lints.of(graph, source)
  local texts, out = texts_of(graph, source), {}
  for _, name in ipairs { "busy", "never-raised", "no-key", "no-timeout" } do
    local allowed = "%-%- pawl: allow " .. name:gsub("%p", "%%%0")
      .. "%f[^%w-]"
    find[name].of(graph, function(node, text)
      if texts[node]:find(allowed) then return end
      out[#out + 1] = { name = name, text = text, hint = find[name].hint }
    end, texts, source)
  end
  return out
end

return lints
