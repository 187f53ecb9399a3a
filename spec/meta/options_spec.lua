-- The tables of options in C (value/options.h) against what is written about
-- them: pawl.h, which tells C, and lua/pawl/meta/pawl.lua, which tells editors.
local core = require "pawl.core"
local option = require "pawl.option"
local tmp = require "spec.support.tmp"

local HEADER = tmp.read "src/pawl.h"
local META = tmp.read "lua/pawl/meta/pawl.lua"

local verbs = core.options()

local function set(...)
  local names = {}
  for _, name in ipairs { ... } do names[name] = true end
  return names
end

local function sorted(names)
  local list = {}
  for name in pairs(names) do list[#list + 1] = name end
  table.sort(list)
  return list
end

--- The options of one kind of a verb's requests, or of a verb without kinds.
local function options_of(verb, kind)
  local names, bit = {}, 1
  for i, name in ipairs(verbs[verb].kinds or {}) do
    if name == kind then bit = 1 << i - 1 end
  end
  for _, row in ipairs(verbs[verb]) do
    if not row.kinds or row.kinds & bit ~= 0 then
      -- times are microseconds in C alone, and their names say so
      names[(row.name:gsub("_us$", ""))] = row
    end
  end
  return names
end

---- pawl.h ------------------------------------------------------------------

-- Where the function is not called like the verb.
local FUNCTIONS = {
  item = "start_many", signal_start = "signal",
}

-- Whose comment goes on with that of another function.
local ALSO = { item = "start" }

-- Other names of options that it does tell.
local UNTOLD = {
  task_list = set("roles", "groups"),
  task_change = set("role", "group"),
}

local function comment_of(verb)
  local at = assert(HEADER:find("pawl_code pawl_"
    .. (FUNCTIONS[verb] or verb) .. "(", 1, true), verb)
  local before = HEADER:sub(1, at)
  return (before:match(".*/%*(.-)%*/") or ""):gsub("\n %*", " ")
end

--- What a comment lists behind "keys:", what is in parentheses left out.
local function listed(comment)
  local names = {}
  local text = comment:match "keys: (.*)"
  text = text and text:gsub("%b()", ""):match "^[^.:;]*"
  for word in (text or ""):gmatch "[^,]+" do
    local name = word:match "^%s*([%w_]+)%s*$"
    if name then names[name] = true end
  end
  return names
end

describe("pawl.h", function()
  for _, verb in ipairs(sorted(verbs)) do
    it("tells all options of " .. verb, function()
      local words, missing = {}, {}
      local comment = comment_of(verb)
      if ALSO[verb] then comment = comment .. comment_of(ALSO[verb]) end
      for word in comment:gmatch "[%w_]+" do words[word] = true end
      for _, row in ipairs(verbs[verb]) do
        if not words[row.name] and not (UNTOLD[verb] or {})[row.name] then
          missing[#missing + 1] = row.name
        end
      end
      for _, kind in ipairs(verbs[verb].kinds or {}) do
        if not words[kind] then missing[#missing + 1] = kind end
      end
      assert.same({}, missing)
    end)

    it("tells no other options of " .. verb, function()
      local known, unknown = set "kind", {}
      for _, row in ipairs(verbs[verb]) do known[row.name] = true end
      if verb == "signal_start" then return end -- inside of signal's
      for name in pairs(listed(comment_of(verb))) do
        if not known[name] then unknown[#unknown + 1] = name end
      end
      assert.same({}, unknown)
    end)
  end
end)

---- annotations -------------------------------------------------------------

-- By class: the verb, its kind; what stands in C under another name (`as`),
-- what only one of both has.
local CLASSES = {
  StartOptions = { "start" },
  StartItem = { "item" },
  Signal = { "signal" },
  AskOptions = { "ask", c = set("name", "data") },
  CompleteOptions = { "complete", c = set("data") },
  SignalStart = { "signal_start", lua = set(table.unpack(sorted(
    options_of "start"))), c = set "options" },
  Query = { "list" },
  WorkflowQuery = { "workflow_list" },
  OutboxQuery = { "outbox_list" },
  OutboxChange = { "outbox_change", "retry" },
  RelayOptions = { "outbox_relay", lua = set("publish", "how") },
  ExecutorQuery = { "executor_list" },
  BreakpointQuery = { "breakpoint_list" },
  BreakpointOptions = { "breakpoint_change", "set" },
  BreakpointRemoval = { "breakpoint_change", "remove" },
  StatsQuery = { "stats" },
  ProblemQuery = { "problems" },
  TaskQuery = { "task_list" },
  TaskActor = { "task_change", "claim" },
  TaskCompletion = { "task_change", "complete" },
  TaskFailure = { "task_change", "fail" },
  TaskReassignment = { "task_change", "reassign",
    c = set("role", "group") },
  TaskEdit = { "task_change", "edit" },
  TaskEscalation = { "task_change", "escalate",
    c = set("role", "group") },
  CancelOptions = { "change", "cancel" },
  ResumeOptions = { "change", "resume", c = set "source" },
  RetryOptions = { "change", "retry", c = set "source" },
  RestartOptions = { "change", "restart", c = set "source" },
  MoveOptions = { "change", "move", c = set "source" },
  EditOptions = { "change", "edit", c = set "source" },
  HistoryQuery = { "history" },
  AuditQuery = { "audit" },
  NoteOptions = { "change", "note", c = set "source" },
  WakeOptions = { "change", "wake", as = { node = "nodes" },
    c = set "source" },
  ContinueOptions = { "change", "continue", as = { node = "nodes" },
    c = set "source" },
  StepOptions = { "change", "step", as = { node = "nodes" },
    c = set "source" },
}

--- The fields of a class and of those above it.
local function fields_of(class, into)
  into = into or {}
  local above, text = META:match("%-%-%-@class pawl%." .. class
    .. "(:? ?[%w._]*)\n(.-)\n[^-]")
  assert(text, "no class pawl." .. class)
  for name in text:gmatch "@field ([%w_]+)" do into[name] = true end
  local parent = above:match "pawl%.([%w_]+)"
  return parent and fields_of(parent, into) or into
end

describe("an annotation", function()
  for _, class in ipairs(sorted(CLASSES)) do
    local about = CLASSES[class]
    it("of pawl." .. class .. " has the options that there are", function()
      local want = options_of(about[1], about[2])
      local told, unknown = {}, {}
      for name in pairs(fields_of(class)) do
        local own = (about.as or {})[name] or name
        if not want[own] and not (about.lua or {})[name] then
          unknown[#unknown + 1] = name
        end
        told[own] = true
      end
      for name in pairs(want) do
        if told[name] or (about.c or {})[name] then want[name] = nil end
      end
      table.sort(unknown)
      assert.same({}, unknown)
      assert.same({}, sorted(want))
    end)
  end
end)

describe("a child", function()
  it("is started with what a start takes, but for when and its id", function()
    local want = options_of "start"
    want.at, want.id = nil, nil
    want.track, want.parent_end = true, true -- what is only a child's
    assert.same(sorted(want), sorted(option.child(verbs.start)))
  end)
end)

---- the command ---------------------------------------------------------------

-- By command: the verb, flags that are called otherwise, options that have no
-- flag, and flags that are no option.
local COMMANDS = {
  history = { "history" },
  audit = { "audit" },
  list = { "list", filters = true, as = { attr = "attributes",
    ["workflow-version"] = "version" },
    own = set("count", "since", "untouched"), none = set("key", "waits") },
  start = { "start", as = { attr = "attributes" },
    made = set("text", "object"), -- of these it makes those it does not name
    none = set "id",
    own = set("input", "many", "wait", "timeout") },
  signal = { "signal", own = set("input", "start-key",
    "on-existing", "reuse", "deadline", "max-bytes"), none = set "name" },
  ask = { "ask", none = set "name", own = set "data" },
  outbox = { "outbox_list" },
  relay = { "outbox_relay", none = set("budget", "finish"), own = set(
    "exec", "http", "header", "once", "timeout", "quiet") },
  executors = { "executor_list" },
  breaks = { "breakpoint_list" },
  stats = { "stats", own = set "watch", none = set "held" },
  problems = { "problems" },
  task = { "task_list", as = { ["workflow-version"] = "version" },
    none = set("roles", "groups"), own = set(
    "candidate", "output", "take", "error", "code", "to", "override",
    "by", "reason", "all", "json", "title", "description", "input", "due",
    "metadata", "unset", "count") },
}

describe("the command", function()
  for _, name in ipairs(sorted(COMMANDS)) do
    local about = COMMANDS[name]
    it(name .. " has a flag for each option, and no other", function()
      local options, flags, unknown = options_of(about[1]), {}, {}
      options.tenant = nil -- every command has it
      local text = tmp.read("lua/pawl/cli/" .. name .. ".lua")
      if about.filters then
        text = text .. tmp.read "lua/pawl/cli/filters.lua"
      end
      for flag in text:gmatch 'long = "([%w-]+)"' do
        local own = (about.as or {})[flag] or flag:gsub("-", "_")
        flags[own] = true
        if not options[own] and not (about.own or {})[flag] then
          unknown[#unknown + 1] = flag
        end
      end
      for option_name in pairs(options) do
        if flags[option_name] or (about.none or {})[option_name]
          or (about.made or {})[options[option_name].shape] then
          options[option_name] = nil
        end
      end
      assert.same({}, unknown)
      assert.same({}, sorted(options))
    end)
  end
end)
