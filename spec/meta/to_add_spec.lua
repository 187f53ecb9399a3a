--- The lists of docs/architecture.md, "To add ...": what they name is there,
--- an example that was added once stands in each of their files, and they stay
--- short, since a change has one home.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

-- Files that a change touches, at most, with a statement in both dialects as
-- one, and without specs, docs and what only tells of it.
local MOST <const> = {
  ["A kind of node"] = 4,
  ["A field of a node"] = 6,
  ["A field of an instance"] = 3, -- start, ctx and effects have their own
  ["An option of start"] = 4,
  ["A query"] = 5,
  ["A verb that changes an instance"] = 6,
  ["A verb of its own"] = 6, -- three in C, one in Lua, two as a command
  ["A command"] = 2,
  ["A statement"] = 1,
  ["A table or a column"] = 2,
  ["A driver"] = 4, -- besides its SQL
  ["A member of ctx"] = 1,
  ["An effect of a handler"] = 5,
}

-- What was added, and how files name it. `name`: what stands for NAME, TABLE or
-- NNNN_name in a path; `alone`: no other file of these folders names it, save
-- those of `but`.
---@class spec.Added
---@field name? string
---@field says string[]  patterns: one of them stands in each file
---@field alone? string
---@field but? string[]
---@type table<string, spec.Added>
local ADDED <const> = {
  ["A kind of node"] = { name = "choice",
    says = { "pawl_kind_choice", "PAWL_KIND_CHOICE", '"choice"',
      "ChoiceOptions" },
    alone = "src lua", but = { "src/host/options.c" } }, -- a shape's name
  ["A field of a node"] = { name = "step",
    says = { "jitter", "pawl_node", "pawl_kind_step" } },
  ["A field of an instance"] = { says = { "deadline_us", "deadline_at" } },
  ["An option of start"] = { says = { "delay" } },
  ["A query"] = { says = { "correlation" } },
  ["A verb that changes an instance"] = { name = "restart",
    says = { '"restart"', "restart = {" } },
  ["A verb of its own"] = { name = "explain",
    says = { "pawl_explain", "bind_explain", ":explain", '"explain"' } },
  ["A command"] = { name = "graph", says = { '"graph"' } },
  ["A statement"] = { name = "outbox", says = { "name: outbox_" } },
  ["A table or a column"] = { name = "outbox", says = { "pawl.outbox" } },
  ["A driver"] = { name = "sqlite",
    says = { "pawl_driver_sqlite", "X%(sqlite%)", "sqlite3" } },
  ["A member of ctx"] = { says = { '{"emit", PAWL_CTX' }, alone = "src" },
  ["An effect of a handler"] = { says = { "%f[%w]emits", "PAWL_EFFECT_EMIT" },
    alone = "src", but = { "src/host/ctx_effects.c", -- its member's
      "src/defs/limits.h", "src/rules/ask.c", -- its quota's
      -- of a failure, which no handler has asked for
      "src/rules/failure.c", "src/engine/work/failure_told.c" } },
}

local function sections()
  local page = assert(tmp.read "docs/architecture.md")
  local at = assert(page:find("\n## To add", 1, true))
  local list = {}
  while true do
    local first, last, title = page:find("\n### ([^\n]+)", at)
    if not first then return list end
    at = last + 1
    local body = page:sub(at, (page:find("\n### ", at, true) or 0) - 1)
    list[#list + 1] = { title = title, body = body }
  end
end

local SECTIONS <const> = sections()

--- The files of a list, in order, as they are written.
local function rows(body)
  local list = {}
  for path in body:gmatch "\n| `([^`]+)` |" do list[#list + 1] = path end
  return list
end

--- NAME stands for what is added: then the folder is to be there.
local function exists(path)
  local known = path:match "^(.*/)[^/]*%u%u%u" or path
  known = known:match "^(.*/)[^/]*%u%u%u" or known
  local quoted = known:gsub("[^*]+", shell.quote)
  return pcall(shell.output, { "sh", "-c", "ls -d " .. quoted })
end

--- The files that a row stands for, with the example in place of its names.
local function files_of(path, name)
  name = name or ""
  path = path:gsub("NNNN_name", "0001_first"):gsub("%f[%u]NAME%f[%U]", name)
    :gsub("%f[%u]TABLE%f[%U]", name)
  local quoted = path:gsub("[^*]+", shell.quote)
  local list = {}
  for file in shell.output({ "sh", "-c", "ls -d " .. quoted })
    :gmatch "[^\n]+" do
    list[#list + 1] = file
  end
  return list
end

local function names(file, patterns)
  local text = tmp.read(file) or ""
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then return true end
  end
  return false
end

--- The files of these folders that name it.
local function who_names(folders, patterns)
  local list = {}
  local found = shell.output { "sh", "-c", "find " .. folders
    .. " -name '*.[ch]' -o -name '*.lua' ! -path '*/meta/*'" }
  for file in found:gmatch "[^\n]+" do
    if names(file, patterns) then list[#list + 1] = file end
  end
  return list
end

local function is_path(word)
  return word:find "^[%l_]+/" and not word:find "%s"
end

describe("what docs/architecture.md says of adding", function()
  it("is told in one form", function()
    local told = {}
    for _, section in ipairs(SECTIONS) do
      assert.matches("| file | what |\n|%-%-%-|%-%-%-|\n", section.body)
      told[section.title] = true
    end
    for title in pairs(MOST) do assert.is_true(told[title], title) end
  end)

  for _, section in ipairs(SECTIONS) do
    local title = section.title
    it("names files that are there: " .. title, function()
      assert(#rows(section.body) > 0)
      for word in section.body:gmatch "`([^`\n]+)`" do
        if is_path(word) then assert(exists(word), word) end
      end
    end)

    it("is where the last one stands: " .. title, function()
      local added = assert(ADDED[title], "what was added so?")
      local listed = {}
      for _, path in ipairs(rows(section.body)) do
        for _, file in ipairs(files_of(path, added.name)) do
          listed[file] = true
          assert(file:find "/$" or names(file, added.says), file)
        end
      end
      for _, file in ipairs(added.but or {}) do listed[file] = true end
      for _, file in ipairs(added.alone
        and who_names(added.alone, added.says) or {}) do
        assert(listed[file], file .. " is not told of")
      end
    end)

    it("is short: " .. title, function()
      local most = assert(MOST[title], "how long may it be?")
      assert(#rows(section.body) <= most)
    end)
  end

  it("would be seen where it is wrong", function()
    assert.is_true(exists "src/store/NAME.c")
    assert.is_true(exists "sql/shared/migrations/NNNN_name.sql")
    assert.is_true(exists "sql/*/instance.sql")
    assert.is_false(exists "sql/*/nothing.sql")
    assert.is_false(exists "src/nowhere/NAME.c")
    assert.is_false(exists "src/store/nothing.c")
    assert.is_false(names("src/store/sqlite.c", { "pawl_kind_choice" }))
    assert.same({ "src/store/sqlite.c" },
      files_of("src/store/NAME.c", "sqlite"))
    assert.same({ "src/host/ctx_effects.c" },
      who_names("src/host", ADDED["A member of ctx"].says))
  end)
end)
