--- The faults of ./dev mutants can still be planted: their texts stand where
--- they say, once.
local list = dofile "spec/mutants/list.lua"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

describe("a fault to be planted", function()
  it("has a text that stands in its file once", function()
    local stale = {}
    for _, mutant in ipairs(list) do
      local text = read(mutant.file)
      local _, to = text:find(mutant.from, 1, true)
      if not to or text:find(mutant.from, to + 1, true) then
        stale[#stale + 1] = mutant.file .. ": " .. mutant.name
      end
    end
    assert.same({}, stale)
  end)

  it("has a name of its own, and specs that exist, or says why none could see "
    .. "it", function()
    local names = {}
    for _, mutant in ipairs(list) do
      assert.is_nil(names[mutant.name], mutant.name)
      names[mutant.name] = true
      assert.not_equal(mutant.from, mutant.to, mutant.name)
      assert.truthy(#mutant.specs > 0 or mutant.equivalent, mutant.name)
      for _, spec in ipairs(mutant.specs) do
        if spec:find "%.lua$" then assert(io.open(spec, "r")):close() end
      end
    end
  end)

  it("is one of at least sixty, of which a handful is for every change",
    function()
      local few = 0
      for _, mutant in ipairs(list) do few = few + (mutant.few and 1 or 0) end
      assert.truthy(#list >= 60, #list)
      assert.truthy(few >= 4 and few <= 8, few)
    end)
end)
