-- docs/api.md, which shows every verb in C, Lua, command and SQL side by side,
-- against what is really there.
local commands = require "pawl.cli.commands"
local core = require "pawl.core"
local pawl = require "pawl"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

local PAGE = tmp.read "docs/api.md"

--- The texts in a column of all tables that fit a pattern, as a set.
local function column(n, pattern)
  local found = {}
  for row in PAGE:gmatch "\n|([^\n]+)|" do
    local i = 0
    for cell in (row .. "|"):gmatch "([^|]*)|" do
      i = i + 1
      if i == n then
        for name in cell:gmatch(pattern) do found[name] = true end
      end
    end
  end
  return found
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function public_functions()
  local names = {}
  for text in tmp.read "src/pawl.h":gsub("/%*.-%*/", ""):gmatch
    "PAWL_API%s+([^;]+);" do
    local name = text:match "(pawl_[%w_]+)%("
    if name then names[name] = true end
  end
  return names
end

local NOUNS = { "tasks", "workflows", "outbox", "executors" }

--- The names in a list of a source: X(one) X(two).
local function listed(path, macro)
  local names = {}
  for name in tmp.read(path):match(macro .. "%(X%)(.-[^\\])\n")
    :gmatch "X%(([%w_]+)%)" do names[name] = true end
  return names
end

--- What a text has in backquotes.
local function quoted(text)
  local names = {}
  for name in text:gmatch "`([%w_]+)`" do names[name] = true end
  return names
end

describe("docs/json.md", function()
  it("has every type of a history's rows, and of an audit's", function()
    local page = tmp.read "docs/json.md"
    assert.same(sorted(listed("src/rules/plan.h", "PAWL_RECORD_TYPES")),
      sorted(quoted(page:match "A row's type is one of(.-)%.\n")))
    assert.same(sorted(listed("src/engine/ask/audit.c", "AUDIT_TYPES")),
      sorted(quoted(page:match "those of a history, or(.-)%.\n")))
  end)
end)

describe("docs/api.md", function()
  it("has every function of pawl.h, and no other", function()
    assert.same(sorted(public_functions()), sorted(column(2,
      "`(pawl_[%w_]+)`")))
  end)

  it("names, where transactions are told of, what takes no part in them",
    function()
      local header, tried = tmp.read "src/pawl.h", {}
      local named = {}
      for name in header:match("from what takes no part,(.-)%.\n")
        :gmatch "(pawl_[%w_]+)" do named[name] = true end
      for name in tmp.read "spec/c/alone_test.c":gmatch
        "REFUSED%((pawl_[%w_]+)" do tried[name] = true end
      assert.same(sorted(named), sorted(tried))
      for body in tmp.read "src/pawl.c":gmatch "(pawl_code pawl_.-)\n}\n" do
        if body:find "\n  ALONE%(" then
          local name = body:match "^pawl_code (pawl_[%w_]+)"
          assert(named[name], name)
        end
      end
      -- and that all others take part is tried as well
      local test = tmp.read "spec/c/alone_test.c"
      local asks_nothing = { pawl_now = true, pawl_interrupt = true,
        pawl_format = true }
      for name in header:gmatch "(pawl_[%w_]+)%(%s*pawl_engine %*engine" do
        assert(asks_nothing[name] or test:find(name .. "(", 1, true), name)
      end
    end)

  it("tells what a callback may call, all of which a test does", function()
    local test = tmp.read "spec/c/inside_test.c"
    for name in pairs(public_functions()) do
      if name ~= "pawl_interrupt" then
        assert(test:find("%f[%w_]" .. name .. "%("), name)
      end
    end
  end)

  it("has every method of an engine, and no other", function()
    local names = {}
    for name, value in pairs(core.engine) do
      if type(value) == "function" then names[name] = true end
    end
    assert.same(sorted(names), sorted(column(3, "`engine:([%w_]+)`")))
  end)

  it("has every method of what has a word of its own", function()
    local engine <close> = assert(testing.open())
    for _, noun in ipairs(NOUNS) do
      local names = {}
      for name in pairs(getmetatable(engine[noun]).__index) do
        names[name] = true
      end
      assert.same(sorted(names),
        sorted(column(3, "`engine%." .. noun .. ":([%w_]+)`")), noun)
    end
  end)

  it("has every field of the module, and no other", function()
    local names = {}
    for name in pairs(pawl) do
      if name:sub(1, 1) ~= "_" then names[name] = true end
    end
    assert.same(sorted(names), sorted(column(3, "`pawl%.([%w_]+)`")))
  end)

  it("has every command, and no other", function()
    local names = {}
    for _, name in ipairs(commands.names) do names[name] = true end
    assert.same(sorted(names), sorted(column(4, "`pawl ([%w]+)")))
  end)

  it("has every verb of the commands that have some", function()
    for _, name in ipairs { "task", "workflow" } do
      local verbs = {}
      local text = tmp.read("lua/pawl/cli/" .. name .. ".lua")
      for verb in text:match "local order = (%b{})":gmatch '"(%w+)"' do
        verbs[verb] = true
      end
      assert.same(sorted(verbs), sorted(column(4, "`pawl " .. name
        .. " (%w+)")), name)
    end
  end)

  it("names tables and views that there are", function()
    local schema = tmp.read "sql/shared/migrations/0001_first.sql"
    for name in pairs(column(5, "`([%w_]+)`")) do
      assert.matches("create %w+ pawl%." .. name .. "%f[^%w_]", schema)
    end
  end)
end)
