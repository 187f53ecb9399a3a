--- What the command makes of `--trust`. What is granted and held up by it is in
--- spec/engine/common/trust_spec.lua.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local process = require "spec.support.process"

local SEES <const> = [[
local flow = require("pawl").workflow { code = "%s", start = "a" }
flow:step("a", { retry = { max = 1 }, next = "z", run = function(ctx)
  ctx.vars.io = type(io)
  %s
end })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow]]

for _, backend in ipairs(backends) do
  describe("--trust on " .. backend.label, function()
    local here, env
    before_each(function()
      here = command.folder()
      env = { env = { PAWL_STORE = backend.url() } }
      here:write("mod.lua", SEES:format("mod.one", ""))
      here:write("own.lua", SEES:format("own.one", ""))
      here:write("loop.lua", SEES:format("mod.loop", "while true do end"))
    end)
    after_each(function()
      process.stop_all()
      backend.cleanup()
    end)

    it("limits what `pawl run` runs", function()
      assert.same({ io = "table" },
        here:json("run", "own.lua", env).output)
      assert.same({ io = "nil" },
        here:json("run", "mod.lua", "--trust", "limited", env).output)
      local now, ran = here:json("run", "loop.lua", "--trust",
        '{"instructions":100000,"time_us":60000000}', env)
      assert.equal(1, ran.code, ran.err)
      assert.equal("limit", now.error.code)
      assert.matches("^instructions: more than 100000", now.error.message)
    end)

    it("isolates what `pawl run` and workers run, by this very program",
      function()
        env.env.PAWL_HELPER = ""
        assert.same({ io = "nil" },
          here:json("run", "mod.lua", "--trust", "isolated", env).output)
        assert.matches("mod.one.-isolated",
          here:pawl("workflow", "list", env).out)
        local id = here:json("start", "mod.one", env).id
        assert.equal(0, here:pawl("worker", "--until-idle", env).code)
        assert.same({ io = "nil" }, here:json("show", id, env).output)
        local ran = here:pawl("run", "mod.lua", "--trust",
          '{"level":"isolated","helper":"/nowhere"}', env)
        assert.not_equal(0, ran.code)
        assert.matches("is not there: /nowhere", ran.err, 1, true)
      end)

    it("limits what a worker loads, and what it finds in the store",
      function()
        assert.equal(0, here:pawl("deploy", "mod.lua", env).code)
        local id = here:json("start", "mod.one", env).id
        here:write("other.lua", SEES:format("mod.two", ""))
        local ran = here:pawl("worker", "other.lua", "--until-idle",
          "--trust", "limited", env)
        assert.equal(0, ran.code, ran.err)
        assert.same({ io = "nil" }, here:json("show", id, env).output)
        local trust = {}
        for _, flow in ipairs(here:json("workflow", "list", env)) do
          trust[flow.workflow] = flow.trust
        end
        assert.same({ ["mod.one"] = "trusted", ["mod.two"] = "limited" },
          trust)
      end)

    it("is stored by `deploy`, and shown", function()
      assert.equal(0, here:pawl("deploy", "mod.lua", "--trust", "limited",
        env).code)
      local id = here:json("start", "mod.one", env).id
      assert.equal(0, here:pawl("worker", "--until-idle", env).code)
      assert.same({ io = "nil" }, here:json("show", id, env).output)
      assert.matches("TRUST", here:pawl("workflow", "list", env).out)
      assert.matches("limited", here:pawl("workflow", "list", env).out)
      assert.matches("trust +limited",
        here:pawl("workflow", "show", "mod.one", env).out)
    end)

    it("has what is granted shown", function()
      assert.equal(0, here:pawl("deploy", "mod.lua", "--trust",
        '{"author":"spells","may":{"db":true,"start":["mod.*","duel"]},'
        .. '"per_instance":{"tokens":7},"time_us":50000}', env).code)
      local listed = here:pawl("workflow", "list", env).out
      assert.matches("AUTHOR +MAY", listed)
      assert.matches("limited +spells +db start=mod%.%*,duel", listed)
      local shown = here:pawl("workflow", "show", "mod.one", env).out
      assert.matches("author +spells", shown)
      assert.matches("may +db start=mod%.%*,duel", shown)
      assert.matches("handlers +5000000 instructions, 0%.05 s", shown)
      assert.matches("instance +100 ancestors, 1000000 bytes, 7 tokens, "
        .. "1000 variables", shown)
      local flow = here:json("workflow", "list", env)[1]
      assert.same({ db = true, await = false, start = { "mod.*", "duel" },
        signal = {}, host = {} }, flow.grants.may)
      assert.equal(50000, flow.grants.time_us)
      -- as whoever loads it says
      assert.equal(0, here:pawl("deploy", "mod.lua", "--trust",
        '{"author":"spells"}', env).code)
      assert.matches("limited +spells +nothing",
        here:pawl("workflow", "list", env).out)
    end)

    if backend.name == "sqlite" then
      it("has the tables shown that are granted", function()
        for _, one in ipairs { { '["mod_*"]', "db%.write=mod_%*" },
          { "[]", "db, of no table" },
          { '{"read":["a","b"],"write":"c"}', "db%.read=a,b db%.write=c" } } do
          assert.equal(0, here:pawl("deploy", "mod.lua", "--trust",
            ('{"may":{"db":%s}}'):format(one[1]), env).code)
          assert.matches("limited +guest +" .. one[2],
            here:pawl("workflow", "list", env).out)
        end
        assert.same({ read = { "a", "b" }, write = { "c" } },
          here:json("workflow", "list", env)[1].grants.may.tables)
      end)
    end

    it("leaves out what no workflow has", function()
      assert.equal(0, here:pawl("deploy", "mod.lua", env).code)
      local listed = here:pawl("workflow", "list", env).out
      assert.not_matches("AUTHOR", listed)
      assert.not_matches("MAY", listed)
    end)

    it("names the author whose a code is", function()
      assert.equal(0, here:pawl("deploy", "mod.lua", env).code)
      local ran = here:pawl("deploy", "mod.lua", "--trust",
        '{"author":"spells"}', env)
      assert.not_equal(0, ran.code)
      assert.matches("mod.one is the host's own: it may not be defined by "
        .. "spells", ran.out .. ran.err, 1, true)
    end)

    it("is refused where it means nothing", function()
      local ran = here:pawl("run", "mod.lua", "--trust", "some", env)
      assert.not_equal(0, ran.code)
      assert.matches('no trust "some"', ran.err, 1, true)
      ran = here:pawl("worker", "mod.lua", "--until-idle", "--trust",
        '{"codes":"own.*"}', env)
      assert.not_equal(0, ran.code)
      assert.matches("none of the codes", ran.err)
    end)
  end)
end

--- A file that leaves a mark where it is run by whoever has `io`, and that only
--- some of those who compile it find too deep.
local function marks(depth)
  return ([[
if io then io.open("marked", "w"):close() end
local pawl = require "pawl"
local deep = %s1%s
return pawl.workflow { code = "mod.deep", start = "z" }:finish "z"
]]):format(("("):rep(depth), (")"):rep(depth))
end

describe("a file that is not trusted", function()
  local here
  local env = { env = { PAWL_STORE = ":memory:", PAWL_HELPER = "" } }
  before_each(function() here = command.folder() end)
  after_each(process.stop_all)

  local function is_marked()
    local file <close> = io.open(here.dir .. "/marked")
    return file ~= nil
  end

  for _, level in ipairs { "limited", "isolated" } do
    it("is run by no command at another level: " .. level, function()
      for _, name in ipairs { "run", "worker", "deploy", "check", "graph" } do
        here:write("mod.lua", marks(1))
        local words = { name, "mod.lua", "--trust", level, env }
        if name == "worker" then table.insert(words, 2, "--until-idle") end
        local ran = here:pawl(table.unpack(words))
        assert.equal(0, ran.code, ran.err)
        assert.is_false(is_marked(), name)
      end
    end)
  end

  -- What the command itself finds too deep and the engine does not, is for the
  -- engine to say, at the level that was asked for.
  it("is not run where it cannot be compiled", function()
    for depth = 190, 200 do
      here:write("mod.lua", marks(depth))
      for _, name in ipairs { "run", "deploy" } do
        here:pawl(name, "mod.lua", "--trust", "limited", env)
        assert.is_false(is_marked(), ("%s: %d deep"):format(name, depth))
      end
    end
  end)

  it("is told to be missing, or too large, without a store", function()
    env.env.PAWL_STORE = here.dir .. "/none.db"
    local ran = here:pawl("run", "none.lua", "--trust", "limited", env)
    assert.equal(3, ran.code)
    assert.matches("none.lua cannot be read", ran.err, 1, true)
    here:write("large.lua", ("-"):rep((16 << 20) + 1))
    ran = here:pawl("run", "large.lua", "--trust", "limited", env)
    assert.matches("too large", ran.err, 1, true)
    assert.is_nil(io.open(env.env.PAWL_STORE))
    env.env.PAWL_STORE = ":memory:"
  end)
end)
