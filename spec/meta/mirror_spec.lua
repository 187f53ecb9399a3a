--- A file of src/rules or src/engine has a test of its own, of the same name
--- in the same folder: src/rules/kinds/timer.c is spec/c/rules/kinds/
--- timer_test.c, src/engine/work/claim.c is spec/engine/work/claim_spec.lua.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

-- Tests that are a program of their own, as they need much.
local ELSEWHERE <const> = {
  ["src/rules/decide.c"] = "spec/c/decide_test.c",
  ["src/rules/plan.c"] = "spec/c/plan_test.c",
}

local function files(folder, suffix)
  local list = {}
  local text = shell.output { "find", folder, "-name", "*" .. suffix }
  for path in text:gmatch "[^\n]+" do list[#list + 1] = path end
  table.sort(list)
  return list
end

local function test_of(path)
  local name = path:match "^src/(.*)%.c$"
  return ELSEWHERE[path]
    or name:find "^engine/" and ("spec/%s_spec.lua"):format(name)
    or ("spec/c/%s_test.c"):format(name)
end

--- How much of a test there is: promises that are kept or not.
local function claims(path)
  local text = tmp.read(path)
  if not text then return 0 end
  local _, n = text:gsub(path:find "%.c$" and "CHECK[%u_]*%(" or "assert[.(:]",
    "")
  return n
end

describe("the specs", function()
  for _, folder in ipairs { "src/rules", "src/engine" } do
    it("have a test for each file of " .. folder, function()
      local list = files(folder, ".c")
      assert(#list > 30)
      for _, path in ipairs(list) do
        assert(claims(test_of(path)) >= 3, path .. " lacks " .. test_of(path))
      end
    end)
  end

  it("name tests as what they are of", function()
    for _, path in ipairs(files("spec/c/rules", "_test.c")) do
      local source = path:gsub("^spec/c/(.*)_test%.c$", "src/%1.c")
      assert(tmp.read(source), path .. " is of no file")
    end
    for _, path in ipairs(files("spec/engine", "_spec.lua")) do
      -- what stands in no room tells of many files
      local source = path:match "^spec/(engine/.*/.*)_spec%.lua$"
      if source then
        assert(tmp.read("src/" .. source .. ".c"), path .. " is of no file")
      end
    end
    for source in pairs(ELSEWHERE) do assert(tmp.read(source), source) end
  end)

  it("would be seen where one lacks", function()
    assert.equal(0, claims(test_of "src/rules/nothing.c"))
    assert.equal(0, claims(test_of "src/engine/work/nothing.c"))
    assert.equal(0, claims "spec/c/rules/kit_test.c")
  end)
end)
