--- What an engine does, on stores that no other spec has: the one in memory,
--- and a third driver (spec/support/toy.c) that was written from the contract
--- of src/store/driver.h alone. The engine's own specs are run on them, each
--- in a process of its own (PAWL_SPEC_BACKEND; spec/support/conform.lua).
local shell = require "spec.support.shell"

--- Files and titles of spec/engine that are about something else.
local ASIDE <const> = {
  toy = {
    files = {
      ask = { "backup",    -- which it cannot
              "condition" }, -- of its own file
      [""] = { "plans",    -- SQLite's own, looked at by its shell
               "held_file",   -- which it cannot hold
               "doctor",      -- who does not know it
               "is_new", "restore", -- of SQLite's files
               "groups",      -- which it does not make
               "meanwhile", -- by a shell of SQLite's
               "hostile", "liar" }, -- which no store has to do with
      common = { "chore" },   -- counts rows of its shell
      work = { "durable" },   -- as each of its commits is
    },
    titles = {
      "by the command",                        -- which has no such driver
      "are read by an index from their place", -- a plan, as above
      "read from one store is not delivered into the next", -- moves its file
      "yields to the others after a thousand steps", -- counts batches ahead
      "asks the store nothing as long as nobody has written", -- by its marks
      "tells what is at risk, until it is saved", -- which it never is
      "tells when that thread fails, and tries again", -- it needs none
      "says so where there can be no thread",
      "says what it has", -- of which SQLite's part is not its own
    },
  },
  [":memory:"] = {
    files = {
      -- They look from beside, or lose the connection and with it the store.
      act = { "prune", "prune_parts", "purge" },
      ask = { "backup", "condition", "export", "health", "stats" },
      common = { "answer", "chore", "find", "sortable" },
      work = { "attr_log", "deliver", "executors", "large_vars", "load",
               "mail", "needs", "reach", "repair", "stray", "told",
               "transactional", "trim" },
      enter = { "succeed" },
      [""] = { "child", "code", "decision", "doctor", "failed_transfer",
               "hostile", "liar", -- which no store has to do with
               "is_new", "kept", "meanwhile",
               "plans", "restore", "protocol", "refused",
               "twice", "untaken", "verbs",
               "views" },
    },
    titles = { -- they write into the store by hand
      "is refused where it would have to sort without end",
      "is found by a status that few have",
      "is left by a dead executor what it takes alone",
      "is heeded by who holds the instance", -- set by a second engine
    },
  },
}

local function is_aside(backend, path)
  local room, name = path:match "^spec/engine/(.-)/?([^/]+)_spec%.lua$"
  for _, other in ipairs(ASIDE[backend].files[room] or {}) do
    if other == name then return true end
  end
  return false
end

---@return string[] command
local function command(backend)
  local words = { "env", "PAWL_SPEC_BACKEND=" .. backend, "lua5.4", "spec/run",
                  "--output=spec/support/conform.lua" }
  for _, title in ipairs(ASIDE[backend].titles) do
    words[#words + 1] = "--filter-out=" .. title
  end
  for path in shell.output { "find", "spec/engine", "-name", "*_spec.lua" }
    :gmatch "%S+" do
    if not is_aside(backend, path) then words[#words + 1] = path end
  end
  return words
end

--- Side by side: nearly all of the time is Lua's.
local function start(backend)
  return assert(io.popen(shell.line(command(backend)) .. " 2>&1 </dev/null"))
end

describe("the engine's specs", function()
  local runs, told = {}, {}

  setup(function()
    for backend in pairs(ASIDE) do runs[backend] = start(backend) end
    for backend, run in pairs(runs) do
      told[backend] = run:read "a"
      run:close()
    end
  end)

  local function numbers(backend)
    local passed, failed, aside = told[backend]
      :match "(%d+) passed, (%d+) failed, (%d+) aside"
    assert(passed, told[backend])
    assert.equal("0", failed, told[backend])
    return tonumber(passed), tonumber(aside)
  end

  it("pass on a store in memory, where one connection does", function()
    local passed, aside = numbers ":memory:"
    assert.is_true(passed > 600, told[":memory:"])
    assert.is_true(aside < passed, told[":memory:"])
  end)

  it("pass on a third driver, which meets its whole contract", function()
    local passed, aside = numbers "toy"
    assert.is_true(passed > 1200, told.toy)
    assert.equal(0, aside)
    local calls = assert(told.toy:match "calls: ([^\n]*)", told.toy)
    for name, n in calls:gmatch "(%l+)=(%d+)" do
      assert.is_true(tonumber(n) > 0, name .. " is called by no spec")
    end
    assert.equal(12, select(2, calls:gsub("=", "=")))
  end)
end)
