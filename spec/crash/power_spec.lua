--- Power cuts, made of what was asked of the files and of when they were
--- synced: `./dev torture` has the long form.
local assert = require "luassert"
local power = require "spec.support.torture.power"

local SEED <const> = tonumber(os.getenv "PAWL_SEED") or 1

describe("a store after a power cut", function()
  for i, case in ipairs(power.cases) do
    it("has what it was said to have: " .. power.title(case), function()
      math.randomseed(SEED + i)
      case.states = 20
      local states, entries, marks = power.run(case, SEED)
      assert.equal(20, states)
      assert.is_true(entries > 100, entries)
      assert.is_true(marks > 4, marks) -- the faster it is, the fewer
    end)
  end

  for lies, own in pairs { program = "save", disk = "every" } do
    it("would be seen to lack it: the " .. lies .. " lies", function()
      math.randomseed(SEED)
      local ok, why = pcall(power.run, { own = own, whole = "", rounds = 12,
        budget = 0, states = 60, lies = lies }, SEED)
      assert.is_false(ok)
      assert.matches("cut behind entry", why)
    end)
  end
end)
