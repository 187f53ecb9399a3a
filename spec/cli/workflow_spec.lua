-- pawl workflow: what the store has of definitions, read back.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local tmp = require "spec.support.tmp"

for _, backend in ipairs(backends) do
  describe("pawl workflow on " .. backend.name, function()
    after_each(backend.cleanup)

    --- A folder whose store knows t.hello, as flow.lua has it, and t.timer.
    local function folder()
      local here = command.folder()
      local env = { env = { PAWL_STORE = backend.url() } }
      here:write("flow.lua", flows.hello)
      here:write("timer.lua", flows.timer)
      local ran = here:pawl("worker", "flow.lua", "timer.lua", "--until-idle",
        env)
      assert.equal(0, ran.code, ran.err)
      return here, env
    end

    it("shows what is stored of one", function()
      local here, env = folder()
      local ran = here:pawl("workflow", "show", "t.hello", env)
      assert.equal(0, ran.code, ran.err)
      assert.matches("workflow%s+t.hello 1\n", ran.out)
      assert.matches("state%s+active\n", ran.out)
      assert.matches("REVISION.*\n1 runs ", ran.out)
      local flow = here:json("workflow", "show", "t.hello", "1", env)
      assert.equal(flows.hello, flow.source)
      assert.equal(1, #flow.revisions)
      assert.equal("t.hello", flow.graph.code)
    end)

    it("shows what it declares, which a start has to be", function()
      local here, env = folder()
      here:write("typed.lua", [[
local flow = require("pawl").workflow { code = "t.typed", start = "w",
  input = { n = "integer > 0" }, variables = { sum = "number" } }
flow:wait("w", { event = "go", accepts = { sum = "number" }, next = "z" })
return flow:finish "z"
]])
      assert.equal(0, here:pawl("deploy", "typed.lua", env).code)
      local shown = here:pawl("workflow", "show", "t.typed", env).out
      assert.matches("input%s+{ n: integer > 0 }\n", shown)
      assert.matches("variables%s+{ sum: number }\n", shown)
      assert.matches("accepts%s+w: { sum: number }\n", shown)
      local schema = here:json("workflow", "show", "t.typed", env).schema
      assert.same({ type = "integer", exclusiveMinimum = 0 },
        schema.properties.n)
      local help = here:pawl("start", "t.typed", "--help", env)
      assert.equal(0, help.code)
      assert.equal(here:pawl("start", "--help").out .. "\nInput of t.typed, "
        .. "version 1\n  n                         integer > 0\n", help.out)
      for _, other in ipairs { { "start", "t.none", "--help", env },
        { "start", "t.typed", "--help", "--store", "none.db" },
        { "start", "t.typed", "--help", "--store", "postgres:host=/none" } } do
        assert.equal(here:pawl("start", "--help").out,
          here:pawl(table.unpack(other)).out)
      end
      local ran = here:pawl("start", "t.typed", "-i", '{"n":0}', env)
      assert.equal(1, ran.code)
      assert.matches('value: workflow "t.typed": input.n: expected integer > 0,'
        .. " found 0", ran.err, 1, true)
      here:write("many", '{"input":{"n":1}}\n\n{"input":{"n":"x"}}\n')
      ran = here:pawl("start", "t.typed", "--many", "many", env)
      assert.equal(1, ran.code)
      assert.matches('line 3: workflow "t.typed": input.n: ', ran.err, 1, true)
      assert.same({}, here:json("list", "--workflow", "t.typed", env))
      assert.equal(0, here:pawl("start", "t.typed", "-i", '{"n":1}', env).code)
    end)

    it("shows what it says of durability", function()
      local here, env = folder()
      assert.not_matches("durability",
        here:pawl("workflow", "show", "t.hello", env).out)
      here:write("said.lua", [[
local flow = require("pawl").workflow { code = "t.said", start = "a",
  durability = "grouped" }
flow:step("a", { run = function() end, next = "z", durability = "every" })
return flow:finish "z"
]])
      local ran = here:pawl("deploy", "said.lua", env)
      assert.equal(0, ran.code, ran.err)
      assert.matches("durability%s+grouped, a: every\n",
        here:pawl("workflow", "show", "t.said", env).out)
    end)

    it("writes its source back as it was", function()
      local here, env = folder()
      local ran = here:pawl("workflow", "show", "t.hello", "--source", env)
      assert.equal(0, ran.code, ran.err)
      assert.equal(flows.hello, ran.out)
    end)

    it("lists what is searched for, in pages", function()
      local here, env = folder()
      local function codes(...)
        local found = {}
        for i, row in ipairs(here:json("workflow", "list", ...)) do
          found[i] = row.workflow
        end
        return found
      end
      assert.same({ "t.hello", "t.timer" }, codes("--prefix", "t.", env))
      assert.same({ "t.timer" }, codes("--search", "TIM", env))
      assert.same({ "t.timer" }, codes("--after", "t.hello@1", env))
      assert.equal(0, here:pawl("workflow", "deactivate", "t.timer", "1",
        env).code)
      assert.same({ "t.hello" }, codes("--active", env))
      local ran = here:pawl("workflow", "list", "--limit", "1", env)
      assert.matches("the next page: --after t.hello@1", ran.err, 1, true)
    end)

    it("switches a code off and on", function()
      local here, env = folder()
      local off = here:pawl("workflow", "off", "t.timer", "--by", "ann", env)
      assert.equal(0, off.code, off.err)
      assert.matches("t.timer is switched off", off.out)
      assert.matches("off", here:pawl("workflow", "list", env).out)
      assert.matches("switched off: no new",
        here:pawl("workflow", "show", "t.timer", env).out)
      local again = here:pawl("workflow", "off", "t.timer", env)
      assert.equal(4, again.code)
      assert.matches("switched off already", again.err)
      assert.same({ workflow = "t.timer", off = false },
        here:json("workflow", "on", "t.timer", env))
      assert.equal(2, here:pawl("workflow", "off", env).code)
    end)

    it("says what is missing for a transfer", function()
      local here, env = folder()
      for _, case in ipairs { { "transfer needs CODE\n" },
        { "transfer needs --from VERSION\n", "t.hello" },
        { "transfer needs --from VERSION\n", "t.hello", "--to", "2" },
        { "transfer needs --to VERSION\n", "t.hello", "--from", "1" } } do
        local said = table.remove(case, 1)
        case[#case + 1] = env
        local ran = here:pawl("workflow", "transfer", table.unpack(case))
        assert.equal(2, ran.code)
        assert.matches("pawl: usage: " .. said, ran.err, 1, true)
      end
    end)

    it("says what it does not have", function()
      local here, env = folder()
      local ran = here:pawl("workflow", "show", "t.hallo", env)
      assert.equal(3, ran.code)
      assert.matches('notfound: there is no workflow "t.hallo"', ran.err)
      for _, words in ipairs { { "show" }, { "show", "t.hello", "x" },
        { "show", "t.hello", "--revision", "1" },
        { "show", "t.hello", "--search", "x" }, { "list", "--source" } } do
        table.insert(words, 1, "workflow")
        words[#words + 1] = env
        assert.equal(2, here:pawl(table.unpack(words)).code)
      end
    end)
  end)
end

describe("pawl workflow show --source", function()
  it("has nothing of what a program has built", function()
    local pawl = require "pawl"
    local here = command.folder()
    local engine = assert(pawl.open(here.dir .. "/pawl.db"))
    local flow = pawl.workflow { code = "t.built", start = "z" }
    flow:finish "z"
    assert(engine:load(flow))
    engine:close()
    local ran = here:pawl("workflow", "show", "t.built", "--source")
    assert.equal(3, ran.code)
    assert.matches("has no source in the store", ran.err)
    assert.matches("source%s+none: it is built by a program",
      here:pawl("workflow", "show", "t.built").out)
  end)

  it("writes an older revision's too", function()
    local here = command.folder()
    here:write("flow.lua", flows.hello)
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    here:write("flow.lua", flows.hello .. "-- new\n")
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    local out = here:pawl("workflow", "show", "t.hello", "1", "--source",
      "--revision", "1").out
    assert.equal(flows.hello, out)
    assert.equal(tmp.read(here.dir .. "/flow.lua"),
      here:pawl("workflow", "show", "t.hello", "--source").out)
  end)
end)
