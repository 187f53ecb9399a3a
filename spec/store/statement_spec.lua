local backends = require "spec.support.backends"
local helper = require "spec.store.helper"
local probe = require "spec.support.probe"

local SAMPLES = {
  boolean = true, integer = 1, float = 1.5, text = "x", json = "{}",
  uuid = helper.id(1), time = 1700000000000000, bytes = "\0\1",
  numeric = "1.50",
}

-- What is walked as a list of conditions.
local LISTS = { ranges = "[]", attributes = "[]" }

local function sample(statement)
  local args = {}
  for _, arg in ipairs(statement.args) do
    local value = arg.type == "json" and LISTS[arg.name] or SAMPLES[arg.type]
    args[arg.name] = arg.list and { value, value } or value
  end
  return args
end

local WAYS = {
  sqlite = { [""] = {} },
  postgres = {
    [""] = { pooler = false }, [" behind a pooler"] = { pooler = true },
    [" in a schema of another name"] = { schema = "second" },
    [" in such a schema, behind a pooler"] = { schema = "second",
      pooler = true },
  },
}

for _, backend in ipairs(backends) do
  for way, options in pairs(WAYS[backend.name]) do
    describe(("a statement of the catalogue on %s%s"):format(
      backend.name, way), function()
      local store

      setup(function()
        store = assert(probe.open(backend.url(), options))
      end)

      teardown(function()
        store:close()
        backend.cleanup()
      end)

      -- Drivers compare the columns that come with those declared.
      for _, statement in ipairs(probe.statements()) do
        it("runs and gives what it declares: " .. statement.name, function()
          assert(store:begin("open"))
          if statement.name:find "^savepoint_" then
            assert(store:send("savepoint", {}))
          end
          local ok, err = store:send(statement.name, sample(statement))
          store:rollback()
          -- Rows that contradict each other are fine here, and so is that those
          -- that must be there are not.
          if not ok and err.code ~= "lease_lost"
            and not err.sqlstate:find("^23") then
            error(err.message)
          end
        end)
      end
    end)
  end
end
