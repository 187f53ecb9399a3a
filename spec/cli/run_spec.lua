local command = require "spec.support.command"
local core = require "pawl.core"
local flows = require "spec.support.flows"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

describe("pawl run", function()
  after_each(process.stop_all)

  local function folder(text)
    local here = command.folder()
    here:write("flow.lua", text)
    return here
  end

  it("runs a file and shows each step in a line", function()
    local ran = folder(flows.hello):pawl("run", "flow.lua", "--input",
      '{"name":"Ada"}')
    assert.equal(0, ran.code, ran.err)
    assert.matches("^step greet attempt 1 done in %d+ ms %-> done\n", ran.out)
    assert.matches('output  {"greeting":"hello Ada"}\n', ran.out, 1, true)
    assert.matches("\nhint: pawl show %x+%-", ran.out)
    assert.equal("", ran.err)
  end)

  it("writes one object with --json, whatever handlers print", function()
    local here = folder((flows.hello:gsub("ctx.vars.greeting = ",
      "print 'noise' os.execute 'echo noise' ctx.vars.greeting = ", 1)))
    local instance, ran = here:json("run", "flow.lua")
    assert.equal(0, ran.code, ran.err)
    assert.equal("completed", instance.status)
    assert.same({ greeting = "hello world" }, instance.output)
    assert.equal(1, select(2, ran.out:gsub("\n", "")))
    assert.matches("noise\nnoise\n", ran.err)
  end)

  it("does not go on with what another key names", function()
    local here = folder [[
      local flow = require("pawl").workflow { code = "t.hear", start = "w" }
      flow:wait("w", { event = "go", next = "z" })
      flow:finish "z"
      return flow]]
    assert.equal(6, here:pawl("run", "flow.lua", "--key", "a").code)
    local own = here:pawl("run", "flow.lua")
    assert.equal(6, own.code)
    assert.equal("", own.err)
    assert.equal(2, #here:json "list")
    assert.matches("^resuming ", here:pawl("run", "flow.lua").err)
    assert.matches("^resuming ",
      here:pawl("run", "flow.lua", "--key", "a").err)
    assert.equal(2, #here:json "list")
  end)

  it("is stopped at once where it waits, and talks of no handler", function()
    local here = folder(flows.timer)
    local run = here:start("run", "flow.lua")
    assert.truthy(process.poll(10, function()
      return run:output():find("waiting until", 1, true)
    end), run:errors())
    run:kill "INT"
    assert.equal(130, run:wait(10))
    assert.not_matches("handler", run:errors())
  end)

  it("writes only the output with --quiet", function()
    local ran = folder(flows.hello):pawl("run", "flow.lua", "-q")
    assert.equal('{"greeting":"hello world"}\n', ran.out)
    assert.equal("", ran.err)
  end)

  it("keeps what handlers print out of the quiet output", function()
    local here = folder((flows.hello:gsub("ctx.vars.greeting = ",
      "print 'one' io.write 'two\\n' os.execute 'echo three' %0", 1)))
    local ran = here:pawl("run", "flow.lua", "-q")
    assert.equal('{"greeting":"hello world"}\n', ran.out)
    for _, word in ipairs { "one", "two", "three" } do
      assert.matches(word, ran.err)
    end
  end)

  it("writes null with --quiet when there is no output", function()
    local here = folder((flows.hello:gsub('"done", {.*', '"done"\nreturn flow')
      :gsub("flow:finish%(", "flow:finish ")))
    local ran = here:pawl("run", "flow.lua", "-q")
    assert.equal(0, ran.code, ran.err)
    assert.equal("null\n", ran.out)
  end)

  it("says what failed with --quiet", function()
    local here = folder(flows.fails)
    local ran = here:pawl("run", "flow.lua", "-q", "--store", "a.db")
    assert.equal(1, ran.code)
    assert.equal("", ran.out)
    assert.matches("^pawl: failed: flow.lua:5: no_luck: not today\n"
      .. " hint: pawl show %x+%-%S+ %-%-store a.db\n$", ran.err)
  end)

  it("names the store in its hints unless the environment does", function()
    local here = folder(flows.hello)
    local ran = here:pawl("run", "flow.lua", "--store", "a.db")
    assert.matches("\nhint: pawl show %x+%-%S+ %-%-store a.db\n$", ran.out)
    ran = here:pawl("run", "flow.lua", "--new", { env = { PAWL_STORE =
      "a.db" } })
    assert.matches("\nhint: pawl show [%x-]+\n$", ran.out)
    here:write("timer.lua", flows.timer)
    ran = here:pawl("run", "timer.lua", "--timeout", "50ms", "--key", "a b",
      "--store", "a.db")
    assert.matches("go on with: pawl run timer.lua --store a.db --key 'a b'\n",
      ran.err, 1, true)
  end)

  it("shows what handlers log", function()
    local here = folder((flows.hello:gsub("ctx.vars.greeting = ",
      [[ctx.log("info", "hi\27", { n = 1 }) ctx.log("debug", "detail")
      ctx.log("warn", "careful", { why = "x" }) %0]], 1)))
    local ran = here:pawl("run", "flow.lua")
    assert.matches('^log greet info: hi\\x1b {"n":1}\nstep greet', ran.out)
    assert.equal('warn: careful {"why":"x"}\n', ran.err)
    assert.is_nil((ran.out .. ran.err):find "detail")
    ran = here:pawl("run", "flow.lua", "-q")
    assert.equal('{"greeting":"hello world"}\n', ran.out)
    assert.equal('warn: careful {"why":"x"}\n', ran.err)
  end)

  it("shows bytes that are no text, and cuts what is long", function()
    local here = folder((flows.fails:gsub('"not today"',
      [["\xff\xc2\x9b31m" .. ("x"):rep(240)]], 1)))
    local ran = here:pawl("run", "flow.lua")
    assert.equal(1, ran.code)
    assert.truthy(utf8.len(ran.out))
    assert.matches([[: \xff\u{9b}31mxxx]], ran.out, 1, true)
    assert.matches("attempt 1 failed in %d+ ms: [^\n]*x%.%.%.; again in",
      ran.out)
    assert.is_nil(ran.out:match "attempt 1 [^\n]*" :match(("x"):rep(230)))
  end)

  it("says what to do about one that is suspended", function()
    local here = folder((flows.fails:gsub("retry =",
      "on_exhausted = 'suspend', %0", 1)))
    local function expect(ran)
      assert.equal(1, ran.code)
      assert.matches("hint: start another one with %-%-new, or end this one: "
        .. "pawl cancel %x+%-", ran.out .. ran.err)
    end
    expect(here:pawl("run", "flow.lua"))
    local again = here:pawl("run", "flow.lua")
    expect(again)
    assert.is_nil(again.err:find "resuming")
    assert.matches("^%x+%-%S+ is suspended since ", again.err)
    expect(here:pawl("run", "flow.lua", "-q"))
  end)

  it("refuses --key with --new", function()
    local ran = folder(flows.hello):pawl("run", "flow.lua", "--key", "k",
      "--new")
    assert.equal(2, ran.code)
    assert.matches("^pawl: usage: %-%-key and %-%-new", ran.err)
  end)

  it("says when a key's instance has another input", function()
    local here = folder(flows.hello)
    local first = here:pawl("run", "flow.lua", "--key", "k", "-q", "-i",
      '{"name":"A"}')
    local second = here:pawl("run", "flow.lua", "--key", "k", "-q", "-i",
      '{"name":"B"}')
    assert.equal(first.out, second.out)
    assert.matches("^warning: %x+%-%S+ was started with another input",
      second.err)
    assert.equal("", here:pawl("run", "flow.lua", "--key", "k", "-q", "-i",
      '{ "name": "A" }').err)
  end)

  it("makes no store for a file that is not there or not Lua", function()
    local here = folder("this is not Lua")
    local ran = here:pawl("run", "typo.lua")
    assert.equal(3, ran.code)
    assert.matches("^pawl: notfound: .*typo.lua", ran.err)
    assert.equal(1, here:pawl("run", "flow.lua").code)
    assert.equal(3, here:pawl("worker", "typo.lua").code)
    assert.equal(1, here:pawl("worker", "flow.lua").code)
    assert.is_nil(io.open(here.dir .. "/pawl.db"))
  end)

  it("makes no store for a file that is drawn wrong", function()
    local here = folder(flows.broken)
    here:write("good.lua", flows.hello)
    for _, words in ipairs { { "run", "flow.lua" }, { "worker", "flow.lua" },
      { "worker", "good.lua", "flow.lua" } } do
      words[#words + 1] = { env = { PAWL_STORE = here.dir .. "/new.db" } }
      local ran = here:pawl(table.unpack(words))
      assert.equal(1, ran.code, ran.err)
      assert.matches("^pawl: definition: flow.lua:%d+: ", ran.err)
      assert.is_nil(io.open(here.dir .. "/new.db"))
      assert.equal(0, here:pawl("migrate").code)
      words[#words] = nil
      assert.equal(ran.err, here:pawl(table.unpack(words)).err)
    end
  end)

  it("reads the input from a file and from standard input", function()
    local here = folder(flows.hello)
    here:write("in.json", '{"name":"file"}')
    local ran = here:pawl("run", "flow.lua", "-q", "-i", "@in.json")
    assert.equal('{"greeting":"hello file"}\n', ran.out)
    ran = here:pawl("run", "flow.lua", "-q", "-i", "-",
      { stdin = '{"name":"pipe"}' })
    assert.equal('{"greeting":"hello pipe"}\n', ran.out)
  end)

  it("shows a failed attempt, and exits with 1 when all have", function()
    local ran = folder(flows.fails):pawl("run", "flow.lua")
    assert.equal(1, ran.code)
    assert.matches("step a attempt 1 failed in %d+ ms: flow.lua:5: no_luck: "
      .. "not today; again in %d+ ms\n", ran.out)
    assert.matches("step a attempt 2 failed in %d+ ms: flow.lua:5: no_luck: "
      .. "not today\n", ran.out)
    assert.matches("\nfailed in ", ran.out)
    assert.matches("\nerror   flow.lua:5: no_luck: not today\n", ran.out)
  end)

  it("goes on where it was killed, without repeating a step", function()
    local here = folder(flows.counted)
    local child = here:start("run", "flow.lua")
    assert.truthy(child:wait_for("step first attempt 1 done", 10))
    for _ = 1, 100 do -- into the second step: the first is stored by then
      if (tmp.read(here.dir .. "/ran") or ""):find "slow" then break end
      os.execute "sleep 0.01"
    end
    child:kill "KILL"
    assert.equal(137, child:wait(10))
    local ran = here:pawl("run", "flow.lua")
    assert.equal(0, ran.code, ran.err)
    assert.matches("^resuming %x+%-.*%-%-new", ran.err)
    assert.equal("first\nslow\nslow\nlast\n", tmp.read(here.dir .. "/ran"))
  end)

  it("stops after the running step on Ctrl-C, and says how to go on",
  function()
    local here = folder(flows.counted)
    local child = here:start("run", "flow.lua")
    for _ = 1, 200 do
      if (tmp.read(here.dir .. "/ran") or ""):find "slow" then break end
      os.execute "sleep 0.01"
    end
    child:kill "INT"
    assert.equal(130, child:wait(10), child:errors())
    assert.matches("every finished step is stored", child:errors())
    assert.matches("hint: go on with: pawl run flow.lua", child:errors())
    assert.equal("first\nslow\n", tmp.read(here.dir .. "/ran"))
    local ran = here:pawl("run", "flow.lua")
    assert.equal(0, ran.code, ran.err)
    assert.equal("first\nslow\nlast\n", tmp.read(here.dir .. "/ran"))
  end)

  it("dies at once at the second signal", function()
    local here = folder((flows.counted:gsub("%+ 0.4", "+ 30")))
    local child = here:start("run", "flow.lua")
    assert.truthy(child:wait_for("first", 10))
    os.execute "sleep 0.2"
    child:kill "TERM"
    os.execute "sleep 0.5"
    assert.is_nil(child:code())
    child:kill "TERM"
    assert.equal(143, child:wait(5))
  end)

  it("takes what its group is told, too, for the same signal", function()
    local here = folder(flows.counted)
    local function twice(signal) -- at once, or how long it has taken
      local child = here:start("run", "flow.lua", "--new")
      assert.truthy(child:wait_for("step first attempt 1 done", 10))
      local began = core.mono()
      child:kill(signal)
      os.execute "sleep 0.02" -- or both are one to the kernel already
      child:kill(signal)
      return core.mono() - began, child:wait(10), child
    end
    for _, signal in ipairs { "INT", "TERM" } do
      local took, code, child
      repeat took, code, child = twice(signal) until took < 0.2
      assert.equal(signal == "INT" and 130 or 143, code, child:errors())
      assert.matches("every finished step is stored", child:errors())
    end
  end)

  it("starts another one for another input, or with --new", function()
    local here = folder(flows.timer)
    local function run(...)
      return here:pawl("run", "flow.lua", "--timeout", "100ms", ...)
    end
    assert.equal(1, run().code)
    local second = run()
    assert.matches("^resuming", second.err)
    assert.matches("pawl: timeout: ", second.err)
    assert.is_nil(run("-i", '{"n":1}').err:match "resuming")
    assert.is_nil(run("--new").err:match "resuming")
    assert.equal(3, #(here:json "list"))
  end)

  it("says what a timer waits for", function()
    local ran = folder(flows.timer):pawl("run", "flow.lua", "--timeout",
      "100ms")
    assert.matches("step before attempt 1 done in %d+ ms %-> pause\n",
      ran.out)
    assert.matches("timer pause waiting until .*%(.*%)\n", ran.out)
  end)

  it("says who or what has to move it, and ends with 6", function()
    local here = folder(flows.waits)
    local ran = here:pawl("run", "flow.lua", "-i", '{"order":7}')
    assert.equal(6, ran.code, ran.err)
    assert.equal("", ran.err) -- it follows nobody
    assert.matches('^waiting: It stands at wait "w" .* it waits for the event '
      .. '"go" with the key "7"; `pawl signal go %-%-key 7` moves it', ran.out)
    assert.matches("\nhint: when it can go on: pawl run flow.lua with the same "
      .. "%-%-input; or leave it to: pawl worker flow.lua\n$", ran.out)
    ran = here:pawl("run", "flow.lua", "-i", '{"order":7}', "-q")
    assert.equal(6, ran.code)
    assert.equal("", ran.out)
    assert.matches("pawl: waiting .*`pawl signal go", ran.err)
    local instance
    instance, ran = here:json("run", "flow.lua", "-i", '{"order":7}')
    assert.equal(6, ran.code)
    assert.equal("waiting", instance.status)
    here:pawl("signal", "go", "--key", "7")
    ran = here:pawl("run", "flow.lua", "-i", '{"order":7}')
    assert.equal(0, ran.code, ran.err)
    assert.matches("^wait w received %-> z\n", ran.out)
    assert.is_nil(ran.err:find "following")
  end)

  it("waits on for what is due, and until --timeout", function()
    local here = folder(flows.waits)
    local ran = here:pawl("run", "flow.lua", "-i", '{"order":7}',
      "--timeout", "100ms")
    assert.equal(1, ran.code)
    assert.matches("`pawl signal go %-%-key 7`.*\nwaiting for that; Ctrl%-C",
      ran.out)
    assert.matches("^pawl: timeout: ", ran.err:match "pawl: .*")
    here:write("flow.lua", (flows.waits:gsub('next = "z"',
      'timeout = 0.2, next = { received = "z", timeout = "z" }', 1)
      :gsub("t.waits", "t.patient")))
    ran = here:pawl("run", "flow.lua", "-i", '{"order":7}')
    assert.equal(0, ran.code, ran.err)
    assert.matches('it gives up and goes to "z".\nwaiting for that', ran.out)
    assert.matches("\nwait w timeout %-> z\n", ran.out)
  end)

  it("ends with 6 while its workflow is suspended", function()
    local here = folder(flows.hello)
    here:pawl("run", "flow.lua", "-q")
    here:pawl("workflow", "suspend", "t.hello")
    local ran = here:pawl("run", "flow.lua")
    assert.equal(6, ran.code)
    assert.matches("`pawl workflow resume t.hello` lets it go on", ran.out)
  end)

  it("runs children whose workflows are known", function()
    local here = folder(flows.calls)
    local ran = here:pawl("run", "flow.lua")
    assert.equal(6, ran.code, ran.err)
    assert.matches("its child %x+%-%S+ is an instance of t.hello, which nobody "
      .. "here knows; `pawl worker FILE`", ran.out)
    here:write("hello.lua", flows.hello)
    here:pawl("run", "hello.lua", "-q") -- the store knows it from now on
    ran = here:pawl("run", "flow.lua")
    assert.equal(0, ran.code, ran.err)
    assert.matches("\nt.hello step greet attempt 1 done in %d+ ms %-> done\n",
      "\n" .. ran.out)
    assert.matches('output  {"greeting":"hello world"}\n', ran.out, 1, true)
  end)

  it("goes on with handlers that wait, its own and its children's", function()
    local here = folder(flows.calls)
    here:write("hello.lua", (flows.hello:gsub("ctx.vars.greeting = ",
      "ctx.await(0.1) %0", 1)))
    local ran = here:pawl("run", "hello.lua", "-q")
    assert.equal('{"greeting":"hello world"}\n', ran.out, ran.err)
    ran = here:pawl("run", "flow.lua", "--timeout", "20s")
    assert.equal(0, ran.code, ran.err)
    assert.matches('output  {"greeting":"hello world"}\n', ran.out, 1, true)
    assert.is_nil(ran.out:match "waiting")
  end)

  it("tells each attempt, undo and choice by its own node", function()
    local here = folder(flows.undoes)
    local ran = here:pawl("run", "flow.lua")
    assert.equal(1, ran.code)
    assert.equal(4, select(2, ran.out:gsub("step one attempt 1 ", "")),
      ran.out)
    assert.equal(1, select(2, ran.out:gsub("step one attempt 2 ", "")),
      ran.out)
    assert.matches("\nundo first undone in %d+ ms\nfailed in", ran.out)
    here:write("flow.lua", [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.choice", start = "is_big" }
flow:choice("is_big", { choose = function() return "yes" end,
  next = { yes = "big", no = "small" } })
flow:finish "big"
flow:finish "small"
return flow
]])
    ran = here:pawl("run", "flow.lua")
    assert.matches("^choice is_big done in %d+ ms %-> is_big=yes > big\n",
      ran.out)
  end)

  it("is the same work for two that begin it at once", function()
    -- slow until the other one follows
    local here = folder((flows.counted:gsub("while os.clock.- do end",
      "while not io.open 'both' do os.execute 'sleep 0.01' end", 1)))
    local a, b = here:start("run", "flow.lua"), here:start("run", "flow.lua")
    local follows
    for _ = 1, 2000 do
      follows = (a:errors() .. b:errors()):find "following"
      if follows then break end
      os.execute "sleep 0.01"
    end
    assert.truthy(follows)
    here:write("both", "")
    assert.equal(0, a:wait(20), a:errors())
    assert.equal(0, b:wait(20), b:errors())
    assert.equal(1, #(here:json "list"))
    assert.equal(0, here:pawl("run", "flow.lua").code)
    assert.equal(2, #(here:json "list")) -- it had ended
  end)

  it("runs one instance for one key", function()
    local here = folder(flows.hello)
    local first = here:json("run", "flow.lua", "--key", "k")
    local second, ran = here:json("run", "flow.lua", "--key", "k")
    assert.equal(first.id, second.id)
    assert.equal(0, ran.code)
    assert.matches("already ended", ran.err)
  end)

  it("follows an instance that another worker runs", function()
    local here = folder(flows.counted)
    local child = here:start("run", "flow.lua")
    for _ = 1, 200 do
      if (tmp.read(here.dir .. "/ran") or ""):find "slow" then break end
      os.execute "sleep 0.01"
    end
    local ran = here:pawl("run", "flow.lua")
    assert.equal(0, ran.code, ran.err)
    assert.matches("following", ran.err)
    assert.equal(0, child:wait(10))
    assert.equal("first\nslow\nlast\n", tmp.read(here.dir .. "/ran"))
  end)

  it("shows all that another worker did meanwhile, once", function()
    local here = folder [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.shared", start = "a" }
flow:step("a", {
  retry = { max = 2, base = 1, jitter = 0 },
  run = function()
    if os.getenv "ROLE" == "run" then error "not here" end
  end,
  next = "b",
})
flow:step("b", { run = function() end, next = "done" })
flow:finish "done"
return flow
]]
    local child = here:start("run", "flow.lua", { env = { ROLE = "run" } })
    assert.truthy(child:wait_for("step a attempt 1 failed", 10))
    os.execute "sleep 0.3" -- what it shows is stored by now
    child:kill "STOP"
    local worker = here:start("worker", "flow.lua")
    assert.truthy(worker:wait_for("step b attempt 1 done", 10))
    worker:kill "TERM"
    assert.equal(0, worker:wait(10), worker:errors())
    child:kill "CONT"
    assert.equal(0, child:wait(10), child:errors())
    local out = child:output()
    assert.equal(1, select(2, out:gsub("step a attempt 1 failed", "")), out)
    assert.equal(1, select(2, out:gsub("step a attempt 2 done", "")), out)
    assert.equal(1, select(2, out:gsub("step b attempt 1 done", "")), out)
    assert.matches("following", child:errors())
  end)

  it("stops quietly when nobody reads its output", function()
    local here = folder(flows.counted)
    local shell = require "spec.support.shell"
    local code = process.run({ "bash", "-c", shell.line { command.path,
      "run", "flow.lua" } .. " | true; exit ${PIPESTATUS[0]}" },
      { cwd = here.dir })
    assert.equal(141, code)
  end)

  it("says what is wrong with a file", function()
    local ran = folder(flows.broken):pawl("run", "flow.lua")
    assert.equal(1, ran.code)
    assert.matches("^pawl: definition: flow.lua:3: .*twoo", ran.err)
    assert.matches("\n hint: .*two", ran.err)
    assert.equal(3, command.folder():pawl("run", "nowhere.lua").code)
  end)

  it("refuses an input that is not JSON", function()
    local ran = folder(flows.hello):pawl("run", "flow.lua", "-i", "{name}")
    assert.equal(2, ran.code)
    assert.matches("^pawl: usage: %-%-input is not JSON: .* at 1:", ran.err)
    assert.matches("\n hint: quote it for the shell", ran.err)
    local here = folder(flows.hello)
    here:write("in.json", "{name}")
    for _, from in ipairs { "@in.json", "-" } do
      ran = here:pawl("run", "flow.lua", "-i", from, { stdin = "{name}" })
      assert.equal(2, ran.code)
      assert.matches("is not JSON: .* at 1:", ran.err)
      assert.is_nil(ran.err:find "shell")
    end
  end)

  it("keeps exact numbers of the input", function()
    local here = folder(flows.hello)
    local ran = here:pawl("run", "flow.lua", "--json", "-i",
      '{"i":9007199254740993,"f":1.0}')
    assert.matches('"f":1.0,"i":9007199254740993', ran.out, 1, true)
    assert.equal(9007199254740993, pawl.json.decode(ran.out).input.i)
  end)
end)
