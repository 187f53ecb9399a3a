-- pawl relay: what was emitted goes to a command; pawl outbox retry and drop.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local json = require("pawl").json
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local socket = require "socket"
local tmp = require "spec.support.tmp"

local FLOW = [[
  local flow = require("pawl").workflow { code = "t.told", start = "tell" }
  flow:step("tell", { next = "z", run = function(ctx)
    for i = 1, ctx.input.n or 2 do
      ctx.emit("told." .. i, { n = i, text = ("x"):rep(ctx.input.size or 1) })
    end
  end })
  flow:finish "z"
  return flow]]

for _, backend in ipairs(backends) do
  describe("pawl relay on " .. backend.name, function()
    local here
    after_each(function()
      process.stop_all()
      backend.cleanup()
    end)

    before_each(function()
      here = command.folder()
      here.env = { PAWL_STORE = backend.url() }
      here:write("told.lua", FLOW)
    end)

    local function pawl(...)
      local words = { ... }
      words[#words + 1] = { env = here.env }
      return here:pawl(table.unpack(words))
    end

    local function start(input)
      local ran = pawl("run", "told.lua", "--quiet", "--input",
        input or "{}")
      assert.equal(0, ran.code, ran.err)
    end

    --- What a command has appended to a file, line by line.
    local function received()
      local list = {}
      for line in (tmp.read(here.dir .. "/got") or ""):gmatch "[^\n]+" do
        list[#list + 1] = assert(json.decode(line))
      end
      return list
    end

    it("gives each event to a command, and ends when nothing is due",
      function()
        start()
        start '{"size":200000}'
        local ran = pawl("relay", "--exec", "cat >> got", "--once",
          "--batch", "1")
        assert.equal(0, ran.code, ran.err)
        assert.equal("4 published, 0 failed, 0 set aside\n", ran.out)
        local got = received()
        assert.equal(4, #got)
        assert.same({ "told.1", "told.2", "told.1", "told.2" },
          { got[1].type, got[2].type, got[3].type, got[4].type })
        assert.equal(200000, #got[4].data.text)
        assert.equal("/pawl/t.told", got[1].source)
        assert.equal("nothing waits to be published\n", pawl("outbox").out)
      end)

    it("hands all of it over at its rate before it ends", function()
      start '{"n":4}'
      local ran = pawl("relay", "--exec", "cat >> got; date +%s.%N >> times",
        "--once", "--rate", "4")
      assert.equal(0, ran.code, ran.err)
      assert.equal("4 published, 0 failed, 0 set aside\n", ran.out)
      assert.equal(4, #received())
      local times = {}
      for line in tmp.read(here.dir .. "/times"):gmatch "%S+" do
        times[#times + 1] = tonumber(line)
      end
      assert.is_true(times[4] - times[1] > 0.5, times[4] - times[1])
      ran = pawl("relay", "--exec", "true", "--rate", "0")
      assert.equal(2, ran.code)
      assert.matches("--rate must be 1 or more", ran.err)
    end)

    it("keeps what a command has said, and exits with 1", function()
      start()
      local ran = pawl("relay", "--once", "--exec",
        "cat > /dev/null; echo out; echo first >&2; echo 'no way' >&2; exit 3")
      assert.equal(1, ran.code, ran.err)
      assert.matches("failed %S+/1, attempt 1: no way", ran.out)
      assert.matches("0 published, 1 failed, 0 set aside", ran.out)
      local listed = pawl "outbox"
      assert.matches("told.1.*retry.*1.*no way", listed.out)
      local rows = json.decode(pawl("outbox", "--json").out)
      assert.equal("no way", rows[2].error)
      ran = pawl("relay", "--once", "--json", "--exec", "exit 65")
      assert.equal(0, ran.code, ran.err) -- the first is not due yet
      ran = pawl("outbox", "retry", rows[2].instance .. "/1", "--by", "ann")
      assert.equal("due again: 1\n", ran.out)
      ran = pawl("relay", "--once", "--json", "--exec", "exit 65")
      assert.equal(1, ran.code, ran.err)
      local first, last = ran.out:match "^(.-)\n.*\n(.-)\n$"
      assert.equal("refused", json.decode(first).event)
      assert.equal("the command exited with 65", json.decode(first).error)
      assert.equal(2, json.decode(last).dead)
      assert.matches("told.1.*dead", pawl("outbox", "list", "--dead").out)
    end)

    it("kills a command that takes too long, and what it has started",
      function()
        start '{"n":1}'
        local ran = pawl("relay", "--once", "--timeout", "0.2s", "--exec",
          "sleep 1000 & sleep 1000")
        assert.equal(1, ran.code, ran.err)
        assert.matches("did not end within 0.2 s", ran.out)
        ran = pawl("outbox", "--json")
        assert.matches("did not end", ran.out)
      end)

    it("tells of one that a signal has ended", function()
      start '{"n":1}'
      local ran = pawl("relay", "--once", "--exec", "kill -9 $$")
      assert.matches("killed by signal 9", ran.out)
    end)

    it("gives up what is dropped", function()
      start()
      assert.equal(1, pawl("relay", "--once", "--exec", "exit 65").code)
      assert.equal("dropped: 2\n", pawl("outbox", "drop", "--dead", "--by",
        "ann", "--reason", "too late").out)
      local told = pawl("audit", "--by", "ann").out
      assert.matches("ann +dropped .*too late.*ann +dropped .*too late", told)
      assert.matches("why; kept in the audit", pawl("outbox", "--help").out)
      assert.equal("nothing was set aside\n", pawl("outbox", "--dead").out)
      local ran = pawl("outbox", "drop", "--dead", "--json")
      assert.same({ changed = 0, more = false }, json.decode(ran.out))
    end)

    it("ends cleanly when it is told to: what is under way is finished",
      function()
        start '{"n":50}'
        local relay = here:start("relay", "--quiet", "--exec",
          "sleep 0.2; cat >> got", { env = here.env })
        assert(process.poll(60, function() return #received() > 0 end))
        relay:kill "TERM"
        assert.equal(0, relay:wait(60))
        local n = #received()
        assert.is_true(n >= 1 and n < 50, tostring(n))
        local left = json.decode(pawl("outbox", "--json", "-n", "100").out)
        assert.equal(50 - n, #left)
        for _, row in ipairs(left) do
          assert.not_equal("leased", row.state)
        end
      end)

    it("says what is written wrong", function()
      for _, case in ipairs {
        { "relay" }, { "relay", "--exec", "cat", "--batch", "0" },
        { "outbox", "retry" }, { "outbox", "retri", "--dead" },
        { "outbox", "drop", "a/b" }, { "outbox", "list", "a" },
        { "outbox", "drop", "a/0" }, { "outbox", "retry", "a/00" },
        { "outbox", "retry", "a/-1" }, { "outbox", "drop", "a/" },
      } do
        local ran = pawl(table.unpack(case))
        assert.equal(2, ran.code, table.concat(case, " ") .. ran.err)
      end
      local both = pawl("relay", "--exec", "cat", "--http", "http://[::1]/")
      assert.equal(2, both.code)
      assert.matches("give %-%-exec or %-%-http, not both", both.err)
      start()
      local ran = pawl("outbox", "retry", "ffffffff/1")
      assert.equal(3, ran.code, ran.err)
    end)
  end)
end

describe("pawl relay --http", function()
  local here, receiver, port
  after_each(process.stop_all)

  before_each(function()
    here = command.folder()
    here:write("told.lua", [[
      local flow = require("pawl").workflow { code = "t.told", start = "tell" }
      flow:step("tell", { next = "z", run = function(ctx)
        for _, name in ipairs(ctx.input) do
          ctx.emit(name, { text = ("x"):rep(3000) })
        end
      end })
      flow:finish "z"
      return flow]])
    receiver = process.start { "lua5.4", "spec/support/receiver.lua",
      here.dir }
    port = assert(process.poll(20, function()
      return (tmp.read(here.dir .. "/port") or ""):match "%d+"
    end), receiver:errors())
  end)

  local function emit(input)
    local ran = here:pawl("run", "told.lua", "--quiet", "--input", input)
    assert.equal(0, ran.code, ran.err)
  end

  local function relay(...)
    return here:pawl("relay", "--once", "--http",
      ("http://127.0.0.1:%s/in?a=1"):format(port), ...)
  end

  it("posts each, and takes what is 2xx for accepted", function()
    emit '["a","status.200","status.202"]'
    emit '["b"]'
    local ran = relay("--header", "Authorization: Bearer 17")
    assert.equal("4 published, 0 failed, 0 set aside\n", ran.out, ran.err)
    assert.equal(0, ran.code)
    local types = {}
    for line in tmp.read(here.dir .. "/posted"):gmatch "[^\n]+" do
      local event = assert(json.decode(line))
      assert.equal(3000, #event.data.text)
      types[#types + 1] = event.type
    end
    assert.equal(4, #types)
    local headers = tmp.read(here.dir .. "/headers")
    assert.matches("Content%-Type: application/cloudevents%+json", headers)
    assert.matches("POST /in%?a=1 HTTP/1", headers)
    assert.matches("Authorization: Bearer 17", headers)
  end)

  it("tries again what may pass, and sets aside what is refused", function()
    emit '["status.503","x"]'
    emit '["status.429"]'
    emit '["status.404","status.302","y"]'
    local ran = relay()
    assert.equal(1, ran.code, ran.err)
    assert.matches("1 published, 2 failed, 2 set aside", ran.out)
    assert.matches("failed %S+, attempt 1: HTTP status 503", ran.out)
    assert.matches("refused %S+, attempt 1: HTTP status 302", ran.out)
    assert.not_matches("elsewhere", tmp.read(here.dir .. "/headers"))
  end)

  it("takes nobody there, and no answer in time, for a failure", function()
    emit '["a"]'
    receiver:kill "STOP"
    local ran = relay("--timeout", "0.3s")
    assert.matches("0 published, 1 failed", ran.out)
    receiver:kill "KILL"
    here:pawl("outbox", "retry", json.decode(here:pawl("outbox", "--json")
      .out)[1].instance .. "/1")
    receiver:wait(20)
    ran = relay()
    assert.matches("attempt 1: .*onnect", ran.out)
  end)

  it("rests while libcurl has nothing to wait for, and ends when told to",
    function()
      emit '["a"]'
      local made = here.dir .. "/libcurl.so.4"
      shell.output { "gcc", "-O1", "-shared", "-fPIC", "-o", made,
        "spec/support/idlecurl.c" }
      local calls = here.dir .. "/calls"
      local child = here:start("relay", "--timeout", "60s", "--http",
        "http://nowhere.invalid/", { env = { LD_LIBRARY_PATH = here.dir,
          PAWL_IDLE_CALLS = calls } })
      local function n()
        return #(tmp.read(calls) or "")
      end
      assert.truthy(process.poll(20, function() return n() >= 3 end),
        child:errors())
      local before = n()
      socket.sleep(1)
      assert.is_true(n() - before <= 8, n() - before)
      child:kill "TERM"
      socket.sleep(0.3) -- it is another stop then
      child:kill "TERM"
      assert.equal(143, child:wait(5), child:errors())
    end)

  it("speaks nothing but HTTP, and to one place alone", function()
    emit '["a"]'
    local ran = here:pawl("relay", "--once", "--http", "file:///etc/passwd")
    assert.equal(2, ran.code, ran.err)
    ran = relay("--exec", "cat")
    assert.equal(2, ran.code, ran.err)
  end)
end)
