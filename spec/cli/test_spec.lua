--- pawl test: busted, whatever `busted` is on this machine.
local command = require "spec.support.command"
local installed = require "spec.support.installed"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local GOOD <const> = [[
local test = require "pawl.testing"
local flow = require "rooms.flow"

describe("a room", function()
  it("is counted", function()
    local engine <close> = test.engine { load = flow }
    engine:stub("count", { vars = { n = 3 } })
    local id = engine:start "t.room"
    engine:run_until_idle()
    assert.completed(engine, id)
    assert.vars(engine, id, { n = 3 })
  end)
  it("survives a crash", function()
    test.crash_everywhere(function(engine)
      engine:start "t.room"
      engine:run_until_idle()
    end, { load = flow })
  end)
end)
]]
local FLOW <const> = [[
local flow = require "pawl".workflow { code = "t.room" }
flow:step("count", { run = function(ctx) ctx.vars.n = 1 end })
return flow
]]
local BAD <const> = [[
describe("what is wrong", function()
  it("fails", function() assert.is_true(false) end)
  it("is left alone", function() end)
end)
]]

describe("pawl test", function()
  local here

  before_each(function()
    here = command.folder()
    process.run({ "mkdir", here.dir .. "/spec", here.dir .. "/rooms" })
    here:write("spec/room_spec.lua", GOOD)
    here:write("rooms/flow.lua", FLOW)
  end)

  it("runs the specs in ./spec, with all that they need", function()
    local ran = here:pawl("test", "--output=TAP")
    assert.equal(0, ran.code, ran.out .. ran.err)
    assert.matches("ok 1 - a room is counted\n", ran.out, 1, true)
    assert.matches("ok 2 - a room survives a crash\n", ran.out, 1, true)
  end)

  it("runs a file, some of it, and tells of failures", function()
    here:write("spec/bad_spec.lua", BAD)
    local ran = here:pawl("test", "spec/bad_spec.lua", "--output=TAP")
    assert.equal(1, ran.code)
    assert.matches("not ok 1 - what is wrong fails", ran.out, 1, true)
    ran = here:pawl("test", "spec/bad_spec.lua", "--filter=left")
    assert.equal(0, ran.code, ran.out)
    ran = here:pawl("test", "--", "--list")
    assert.equal(0, ran.code, ran.err)
    assert.matches("a room is counted", ran.out, 1, true)
    assert.matches("what is wrong fails", ran.out, 1, true)
  end)

  it("fails when no spec was run", function()
    local ran = here:pawl("test", "--filter=nothere")
    assert.equal(1, ran.code, ran.out)
    assert.equal("pawl: no spec was run: none has 'nothere' in its name\n",
      ran.err)
    here:write("spec/room_spec.lua", "describe('a room', function() end)")
    ran = here:pawl("test", "--output=TAP")
    assert.equal(1, ran.code, ran.out)
    assert.equal("pawl: no spec was run\n", ran.err)
    here:write("spec/room_spec.lua", "pending 'a room'")
    assert.equal(0, here:pawl("test").code)
  end)

  it("has engines and simulations begin with a seed", function()
    here:write("spec/room_spec.lua", [[
      local test = require "pawl.testing"
      it("fails", function()
        local flow = require "rooms.flow"
        local engine <close> = test.engine { load = flow }
        print(engine:start "t.room")
        test.simulate { scenario = function() error "no" end }
      end)]])
    local function ran(...)
      local text = here:pawl("test", "--output=TAP", ...).out
      return text:match "%x+%-%x+%-%x+%-%x+%-%x+",
        text:match "simulate: seed (%d+):"
    end
    local id, seed = ran()
    local other, other_seed = ran("--seed", "417")
    assert.equal("1", seed)
    assert.equal("417", other_seed)
    assert.is_string(id)
    assert.not_equal(id, other)
    assert.equal(other, (ran("--seed", "417")))
  end)

  describe("under crashes", function()
    local COUNTED <const> = [[
      local test = require "pawl.testing"
      local flow = require "rooms.flow"
      describe("a room", function()
        local engine, clock, counts
        before_each(function()
          engine, clock = test.engine { load = flow }
          counts = engine:spy "count"
        end)
        after_each(function() engine:close() end)
        it("is counted [once]", function()
          local id = engine:start "t.room"
          assert.equal(0, #counts.calls)
          engine:run_until_waiting(id, "wait")
          assert.due_in(engine, id, "1d")
          clock:advance "1d"
          assert.completed(engine, id)
          assert.vars(engine, id, { n = 1 })
          SAID
        end)
      end)]]

    before_each(function()
      here:write("rooms/flow.lua", [[
        local flow = require "pawl".workflow { code = "t.room" }
        flow:step("count", { run = function(ctx)
          ctx.vars.n = (ctx.vars.n or 0) + 1
        end })
        flow:timer("wait", { after = "1d" })
        return flow]])
      here:write("spec/room_spec.lua", (COUNTED:gsub("SAID", "")))
    end)

    it("runs each spec again for each place at which its engines can die",
      function()
        local ran = here:pawl("test", "--crash", "200", "--output=TAP")
        assert.equal(0, ran.code, ran.out .. ran.err)
        assert.matches("ok 1 %- a room is counted %[once%]\n", ran.out)
        assert.matches("ok %d+ %- a room is counted %[once%], dying at %d+, "
          .. "before the handler count of t.room\n", ran.out)
        assert.matches("dying at %d+, after the commit behind count of t.room",
          ran.out)
        local _, n = ran.out:gsub("dying at", "")
        assert.matches(("crashes: 1 spec died at %d places in all"):format(n),
          ran.err, 1, true)
        assert.is_nil(ran.err:find "not under crashes")
      end)

    it("has some of them drawn by a seed", function()
      local function places(...)
        local list = {}
        local text = here:pawl("test", "--crash", "3", "--output=TAP", ...).out
        for at in text:gmatch "dying at (%d+)" do
          list[#list + 1] = tonumber(at)
        end
        return list
      end
      local first = places()
      assert.equal(3, #first)
      assert.same(first, places())
      assert.not_same(first, places("--seed", "7"))
      assert.is_true(first[1] < first[2] and first[2] < first[3])
    end)

    it("says where an assertion does not hold, and how to play it again",
      function()
        here:write("spec/room_spec.lua", (COUNTED:gsub("SAID",
          "assert.equal(1, #counts.calls)")))
        assert.equal(0, here:pawl("test").code)
        local ran = here:pawl("test", "--crash", "200", "--output=TAP")
        -- behind the handler, and before what it did is stored
        assert.equal(1, ran.code, ran.out)
        local at = ran.out:match("not ok %d+ %- a room is counted %[once%], "
          .. "dying at (%d+), after the handler count of t.room\n")
        assert.matches("to play one again:\n  pawl test spec/room_spec.lua "
          .. "--filter='a room is counted %[once%]' --crash-at=" .. at .. "\n",
          ran.err, 1, true)
        ran = here:pawl("test", "spec/room_spec.lua",
          "--filter=a room is counted %[once%]", "--crash-at=" .. at,
          "--output=TAP")
        assert.equal(1, ran.code)
        assert.matches("\n1..2\n", ran.out, 1, true)
        ran = here:pawl("test", "--crash-at=9999")
        assert.matches("not under crashes:\n  a room is counted %[once%]: it "
          .. "has %d+ places, and no 9999\n", ran.err)
      end)

    it("tells what it cannot run again, and why", function()
      here:write("spec/room_spec.lua", [[
        local test = require "pawl.testing"
        local flow = require "rooms.flow"
        local function open(options)
          options.load = flow
          local engine <close> = test.engine(options)
          engine:now()
        end
        it("has none", function() end)
        it("has one that does nothing", function() open {} end)
        it("wants none", function() open { crash = false } end)
        it("has a file", function() open { store = "some.db" } end)
        it("fails", function() open {} error "no" end)
        it("waits to be written")
        it("has a tool that kills", function()
          test.crash_everywhere(function(engine)
            engine:start "t.room"
            engine:run_until_idle()
          end, { load = flow })
        end)
        it("has a handler alone", function()
          test.handler(flow, "count")
        end)
        it("replays", function()
          local engine <close> = test.engine { load = flow }
          engine:replay("count", { { vars = { n = 1 } } })
          engine:start "t.room"
          engine:run_until_idle()
        end)]])
      local ran = here:pawl("test", "--crash", "200", "--output=TAP")
      assert.equal(1, ran.code, ran.out)
      assert.is_nil(ran.out:find "dying at")
      assert.matches([[
crashes: 0 specs died at 0 places in all
not under crashes:
  has a file: its engine is on some.db
  has a handler alone: it makes no engine that could die
  has a tool that kills: it makes no engine that could die
  has none: it makes no engine that could die
  has one that does nothing: nothing runs in its engine
  replays: it replays a recording
  wants none: it says crash = false
]], ran.err, 1, true)
    end)

    it("takes one of its options", function()
      local ran = here:pawl("test", "--crash", "3", "--crash-at", "2")
      assert.equal(2, ran.code)
      assert.matches("--crash and --crash-at exclude each other", ran.err, 1,
        true)
    end)
  end)

  it("tells which ways were not gone, and fails below a threshold", function()
    here:write("rooms/flow.lua", [[
      local flow = require "pawl".workflow { code = "t.room" }
      flow:step("count", { run = function(ctx) ctx.vars.n = 1 end,
        on_error = { full = "never" }, next = "done" })
      flow:step("never", { run = function() end })
      flow:finish "done"
      return flow]])
    local ran = here:pawl("test", "--coverage", "gone.json", "--threshold",
      "60")
    assert.equal(1, ran.code, ran.out .. ran.err)
    assert.matches("2 of 4 nodes and ways were gone: 50 %\nt.room: 2 of 4\n  "
      .. "never routed: error full of count, to never\n  never stood at: never",
      ran.out, 1, true)
    assert.matches("the specs go through 50 % of the workflows, less than 60",
      ran.err, 1, true)
    ran = here:pawl("test", "--threshold", "50")
    assert.equal(0, ran.code, ran.out .. ran.err)
    ran = here:pawl("graph", "rooms/flow.lua", "--coverage", "gone.json")
    assert.equal(0, ran.code, ran.err)
    assert.matches('"count"%]:::partly\n', ran.out)
    assert.matches('"never"%]:::missed\n', ran.out)
    assert.matches('"done"%)%):::passed\n', ran.out)
    local drawn = here:json("graph", "rooms/flow.lua", "--coverage",
      "gone.json")
    assert.same({ count = "partly", never = "missed", done = "passed" },
      drawn.marks)
    assert.matches('label="missed"', here:pawl("graph", "rooms/flow.lua",
      "--dot", "--coverage", "gone.json").out, 1, true)
    assert.equal("", ran.err)
    here:write("rooms/flow.lua", FLOW)
    ran = here:pawl("graph", "rooms/flow.lua", "--coverage", "gone.json")
    assert.equal(0, ran.code)
    assert.equal("warning: gone.json tells of nodes that this t.room does not "
      .. "have, as of another version: done, never\n", ran.err)
  end)

  it("says what is wrong with what it is to draw", function()
    here:write("some.json", '{"workflows":[]}')
    here:write("other.json", "[1")
    for said, file in pairs {
      ["some.json tells nothing of t.room"] = "some.json",
      ["other.json is not what `pawl test --coverage` wrote"] = "other.json",
      ["cannot read none.json for --coverage: No such file"] = "none.json",
    } do
      local ran = here:pawl("graph", "rooms/flow.lua", "--coverage", file)
      assert.equal(2, ran.code)
      assert.matches(said, ran.err, 1, true)
    end
  end)

  it("writes snapshots that are missing, and all when it is told to",
    function()
      here:write("spec/room_spec.lua", (GOOD:gsub("    assert.vars",
        '    assert.history(engine, id, "room.txt")\n%0')))
      local unset = { env = { PAWL_WRITE = "" } }
      assert.equal(0, here:pawl("test", unset).code)
      local was = tmp.read(here.dir .. "/room.txt")
      assert.matches("t.room is completed\n  step count -> end\n", was, 1, true)
      here:write("room.txt", (was:gsub("step", "stop")))
      local ran = here:pawl("test", "--output=TAP", unset)
      assert.equal(1, ran.code)
      assert.matches("-   stop count -> end", ran.out, 1, true)
      assert.matches("+   step count -> end", ran.out, 1, true)
      assert.equal(0, here:pawl("test", "--write").code)
      assert.equal(was, tmp.read(here.dir .. "/room.txt"))
      here:write("room.txt", "")
      assert.equal(0, here:pawl("test", { env = { PAWL_WRITE = "1" } }).code)
      assert.equal(was, tmp.read(here.dir .. "/room.txt"))
    end)

  it("tells programs in JSON", function()
    local told = here:json("test")
    assert.equal(2, #told.successes)
  end)

  it("says when it is told two things", function()
    local ran = here:pawl("test", "--json", "--output=TAP")
    assert.equal(2, ran.code)
    assert.matches("--json and --output exclude each other", ran.err, 1, true)
  end)

  it("says where busted is when it is not there", function()
    local ran = here:pawl("test", { env = { LUA_PATH = "./?.lua",
      LUA_PATH_5_4 = "./?.lua" } })
    assert.equal(1, ran.code)
    assert.matches("busted is not there for Lua 5.4", ran.err, 1, true)
  end)
end)

describe("an installed pawl under another Lua", function()
  for _, name in ipairs { "pawl", "pawl.testing" } do
    it("says what to do: " .. name, function()
      local path = installed.prefix() .. "/share/lua/5.1"
      local file = ("%s/%s"):format(path,
        name == "pawl" and "pawl/init.lua" or "pawl/testing.lua")
      local ok, err = pcall(assert(loadfile(file)))
      assert.is_false(ok)
      assert.equal("pawl needs Lua 5.4, and this is " .. _VERSION
        .. ": run specs by `pawl test`", err)
    end)
  end
end)
