--- What is imported stands where the definition that the store has a node: a
--- token elsewhere is refused, and all of its instance with it.
local graphs = require "spec.support.graphs"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local Stage = require "spec.support.play"

--- A fork with a task, a timer and an each in it.
local function wide()
  local flow = pawl.workflow { code = "t.wide", start = "split" }
  flow:fork("split", { next = { "ask", "nap", "list" } })
  flow:task("ask", { title = "?", role = "boss", next = "meet" })
  flow:timer("nap", { after = "1h", next = "meet" })
  flow:each("list", { items = function() return { 1, 2 } end,
    branch = "item", next = "meet" })
  flow:wait("item", { event = "go", next = "list" })
  flow:step("late", { run = function() end, next = "z" })
  flow:join("meet", { expect = "all", next = "late" })
  flow:finish "z"
  return flow
end

kit.describe("what is imported", function(backend)
  --- An instance that stands, as lines; and a store that has nothing.
  local function exported(flow, code)
    local engine, clock = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start(code))
    assert(engine:run())
    return assert(engine:export(id)), backend.fresh { clock = clock }, id
  end

  local function changed(text, from, to)
    local result, n = text:gsub(from:gsub("%p", "%%%0"), to, 1)
    assert.equal(1, n, from)
    return result
  end

  local function nothing_of(there)
    assert.same({}, assert(there:list()))
    assert.same({}, assert(there.workflows:list()))
    assert.same({}, assert(there:audit()))
  end

  --- The number of the line that has this in it.
  local function line_of(text, words)
    local n = 1
    for line in text:gmatch "[^\n]+" do
      if line:find(words, 1, true) then return n end
      n = n + 1
    end
  end

  it("is refused where its token stands at no node", function()
    local text, there = exported(kit.timer(), "t.timer")
    local bad = changed(text, '"node":"t","visit"', '"node":"nap","visit"')
    for _, options in ipairs { {}, { release = true }, { copy = true } } do
      local ok, err = there:import(bad, options)
      kit.refused("invalid", '^line 3: token 1 stands at node "nap", and '
        .. 'workflow "t.timer" version 1 has no such node here$',
        "was exported with", ok, err)
      assert.equal("line 3, node", err.where)
      nothing_of(there)
    end
    assert(there:import(text))
  end)

  it("is refused where one token of many does", function()
    local text, there = exported(wide(), "t.wide")
    for from, to in pairs {
      ['"node":"nap","state":"waiting"'] = '"node":"doze","state":"waiting"',
      ['"node":"item","state":"waiting"'] = '"node":"it","state":"waiting"',
      ['"node":"ask","state":"waiting"'] = '"node":"","state":"waiting"',
      ['"fork":"split"'] = '"fork":"parted"',
    } do
      local bad = changed(text, from, to)
      local ok, err = there:import(bad)
      kit.refused("invalid", "no such node here", nil, ok, err)
      local name = to:match '"%w+":"(%w*)"'
      assert.matches(('"%s", and'):format(name), err.message, 1, true)
      assert.matches(("line %d, %s$"):format(line_of(bad, to),
        to:match '^"(%w+)"'), err.where)
      nothing_of(there)
    end
    assert(there:import(text))
  end)

  it("is refused where it waits at what nothing waits at", function()
    local text, there = exported(wide(), "t.wide")
    kit.refused("invalid", 'token %d+ waits at step "late", where nothing '
      .. "waits", nil, there:import(changed(text,
      '"node":"nap","state":"waiting"', '"node":"late","state":"waiting"')))
    nothing_of(there)
  end)

  it("is refused where a token has a scope that is none of its", function()
    local text, there = exported(wide(), "t.wide")
    local token = '"no":%d,"node":"%s","state":"waiting"[^\n]-"scope":"%s"'
    local item = text:match '"no":(%d+),"node":"item"'
    local list = text:match '"no":(%d+),"node":"list"'
    local nap = text:match '"no":(%d+),"node":"nap"'
    local function bad(no, node, was, is)
      local line = text:match(token:format(no, node, was))
      return changed(text, line, (line:gsub('"scope":".-"',
        '"scope":"' .. is .. '"')))
    end
    for scope, words in pairs {
      x = 'token %d has a scope that is none: "x"',
      ["1."] = 'token %d has a scope that is none: "1%."',
      ["0"] = 'token %d has a scope that is none: "0"',
      [""] = 'token %d is inside of 1 forks, and its scope "" has 0',
      ["1.2"] = 'token %d is inside of 1 forks, and its scope "1%.2" has 2',
      [nap] = "token %d cannot have come from token " .. nap,
      ["77"] = "token %d cannot have come from token 77",
    } do
      local ok, err = there:import(bad(nap, "nap", "1", scope))
      kit.refused("invalid", words, nil, ok, err)
      assert.matches("line %d+, scope$", err.where)
      nothing_of(there)
    end
    local scope = "1." .. list
    kit.refused("invalid", 'is an item of each "list", and token ' .. nap
      .. ", which is to wait there for it, does not live", nil,
      there:import(changed(bad(item, "item", scope, "1." .. nap),
        '"no":' .. nap, '"no":99')))
    kit.refused("invalid", "cannot have come from token " .. list, nil,
      there:import(bad(item, "item", scope, list .. ".1")))
    assert(there:import(text))
  end)

  it("is refused where a token is inside of what is no fork", function()
    local text, there = exported(wide(), "t.wide")
    local ok, err = there:import(changed(text, '"fork":"split"',
      '"fork":"late"'))
    kit.refused("invalid", 'is inside step "late", which is no fork', nil, ok,
      err)
    assert.matches("fork$", err.where)
    nothing_of(there)
  end)

  it("is looked at by the revision that runs here", function()
    local text, there = exported(kit.timer(), "t.timer")
    assert(there:load(kit.timer()))
    local other = pawl.workflow { code = "t.timer", start = "pause" }
    other:timer("pause", { after = "1h", next = "z" })
    other:finish "z"
    assert(there:load(other)) -- nobody used the first
    local ok, err = there:import(text, { release = true })
    kit.refused("invalid", 'stands at node "t"', nil, ok, err)
    assert.same({}, assert(there:list()))
    assert(there:load(kit.timer()))
    assert(there:import(text, { release = true }))
  end)

  it("stays as it is, if it is there already", function()
    local text, there, id = exported(kit.timer(), "t.timer")
    assert(there:import(text))
    assert.same({ imported = {}, there = { id } }, assert(there:import(
      changed(text, '"node":"t","visit"', '"node":"nap","visit"'))))
  end)

  it("is taken where nobody knows its workflow, or it stands nowhere",
    function()
      local text, there, id = exported(kit.timer(), "t.timer")
      assert(there:import((text:gsub('{"is":"workflow".-\n', "", 1))))
      assert.equal(id, assert(there:list())[1].id)

      local engine, clock = backend.fresh()
      assert(engine:start "t.timer") -- it has no version yet
      assert(engine:load(kit.timer("1h", "t.ended")))
      assert(engine:start "t.ended")
      assert(engine:run())
      clock:advance "2h"
      assert(engine:run())
      local other = backend.fresh { clock = clock }
      for _, one in ipairs(assert(engine:list())) do
        assert(other:import(assert(engine:export(one.id))))
      end
      assert.equal(2, #assert(other:list()))
    end)

  it("is taken wherever random workflows let an instance stand", function()
    local stage = Stage.new(backend)
    local exports, kinds = 0, {}
    local wanted = { "wait waiting", "task waiting", "timer waiting",
      "join waiting", "each waiting" }
    local function is_through()
      for _, kind in ipairs(wanted) do
        if not kinds[kind] then return false end
      end
      return exports >= 200
    end
    --- Whoever looks who lives carries them to another store, too.
    function stage:live()
      local list = Stage.live(self)
      for _, one in ipairs(list) do
        if one.version ~= 0 and not is_through() then
          local there <close> = assert(pawl.open ":memory:")
          local text = self:must("export", one.id)
          assert.same({ one.id },
            assert(there:import(text, { release = true })).imported)
          exports = exports + 1
          for _, token in ipairs(self:must("tokens", one.id)) do
            local node = self.nodes[one.flow][token.node]
            kinds[node.kind .. " " .. token.state] = true
          end
        end
      end
      return list
    end
    for seed = 1, 40 do
      local problem = stage:play(graphs.draw(seed))
      assert.is_nil(problem, problem and problem.text)
      if is_through() then break end
    end
    stage:close()
    assert.truthy(exports >= 100, exports)
    for _, kind in ipairs(wanted) do
      assert.truthy(kinds[kind], kind)
    end
  end)
end)
