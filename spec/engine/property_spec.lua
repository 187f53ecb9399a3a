--- Promises about all workflows that can be drawn: random graphs of every kind
--- of node are played to their end while handlers fail, engines are overtaken,
--- answers get lost and events come early and twice. What is looked at is in
--- spec/support/holds.lua.
---
--- PAWL_GRAPHS: how many on each store (120). PAWL_SEED: the first, or, when
--- PAWL_GRAPHS is not set, the only one.
local backends = require "spec.support.backends"
local graphs = require "spec.support.graphs"
local Random = require "pawl.testing.random"
local shrink = require "spec.support.shrink"
local Stage = require "spec.support.play"

local SHRINK_SECONDS = 60

local wanted, seed = os.getenv "PAWL_GRAPHS", os.getenv "PAWL_SEED"
local first = math.tointeger(tonumber(seed or 1))
local count = math.tointeger(tonumber(wanted or seed and 1 or 120))
assert(first and count, "PAWL_SEED and PAWL_GRAPHS are whole numbers")

--- Plays what `draw` makes of the seeds; the first that breaks a promise is cut
--- down and shown.
---@param draw fun(seed: integer): spec.Case?  nil: there is none for this seed
local function play_all(backend, draw, n)
  local stage = Stage.new(backend)
  local played = 0
  for i = first, first + n - 1 do
    local case = draw(i)
    local problem = case and stage:play(case)
    if problem then
      local function on_new_store(smaller)
        stage:close()
        stage = Stage.new(backend)
        return stage:play(smaller)
      end
      case, problem = shrink(case, problem, on_new_store, Stage.why,
        SHRINK_SECONDS)
      stage:close()
      error(Stage.report(case, problem), 0)
    end
    played = played + (case and 1 or 0)
    if wanted and i % 500 == 0 then
      io.stderr:write(("%s: %d graphs hold\n"):format(backend.name, played))
    end
  end
  stage:close()
  return played
end

for _, backend in ipairs(backends) do
  describe("random workflows on " .. backend.name, function()
    it("keep all promises to their end", function()
      assert.equal(count, play_all(backend, graphs.draw, count))
    end)

    it("keep them too, as the checker lets them, with a way led elsewhere",
      function()
        local n = math.max(count // 3, 1)
        local played = play_all(backend, function(i)
          local case = graphs.lead_astray(graphs.draw(i))
          local why = Stage.why(case)
          if not why then return case end
          assert.equal("definition", why.code)
          assert.truthy(why.message)
        end, n)
        assert.truthy(n < 30 or played > n // 10, played)
      end)
  end)
end

describe("a workflow that breaks a promise", function()
  local function kinds(case)
    local found = {}
    for _, node in ipairs(case.flows[1].nodes) do
      found[node.kind] = (found[node.kind] or 0) + 1
    end
    return found
  end

  it("is cut down to what breaks it, and shown as Lua", function()
    local case
    local i = first
    repeat
      case = graphs.draw(i)
      i = i + 1
    until #case.flows[1].nodes > 20 and #case.story > 3 and kinds(case).wait
      and (kinds(case).fork or 0) > 1
    local function play(smaller)
      local has = kinds(smaller)
      return has.wait and has.fork and { what = "it", text = "is broken" }
        or nil
    end
    local small, problem = shrink(case, play(case), play, Stage.why,
      SHRINK_SECONDS)
    assert.is_nil(Stage.why(small))
    assert.truthy(#small.flows[1].nodes <= 5, #small.flows[1].nodes)
    assert.equal(0, #small.story)
    local report = Stage.report(small, problem)
    assert.matches("PAWL_SEED=" .. case.seed, report, 1, true)
    assert.matches(graphs.text(small, 1, "p"), report, 1, true)
  end)
end)

describe("the checker", function()
  for name, spoil in pairs(graphs.spoil) do
    it("refuses a random workflow with " .. name, function()
      local refused = 0
      for i = first, first + 39 do
        local case = graphs.draw(i)
        local expected = spoil(case.flows[1], Random.new(i))
        if expected then
          local why = Stage.why(case)
          assert.truthy(why, ("seed %d was accepted\n%s"):format(i,
            graphs.text(case, 1, "p")))
          assert.equal("definition", why.code)
          assert.matches(expected, why.message)
          refused = refused + 1
        end
      end
      assert.truthy(refused > 2, refused)
    end)
  end
end)
