local command = require "spec.support.command"
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

  it("writes only the output with --quiet", function()
    local ran = folder(flows.hello):pawl("run", "flow.lua", "-q")
    assert.equal('{"greeting":"hello world"}\n', ran.out)
    assert.equal("", ran.err)
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
    assert.matches("step a attempt 1 failed in %d+ ms: not today; again in "
      .. "%d+ ms\n", ran.out)
    assert.matches("step a attempt 2 failed in %d+ ms: not today\n", ran.out)
    assert.matches("\nfailed in ", ran.out)
    assert.matches("\nerror   no_luck: not today\n", ran.out)
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
    os.execute "sleep 0.2"
    assert.is_nil(child:code())
    child:kill "TERM"
    assert.equal(143, child:wait(5))
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
    assert.matches("\n hint: ", ran.err)
  end)

  it("keeps exact numbers of the input", function()
    local here = folder(flows.hello)
    local ran = here:pawl("run", "flow.lua", "--json", "-i",
      '{"i":9007199254740993,"f":1.0}')
    assert.matches('"f":1.0,"i":9007199254740993', ran.out, 1, true)
    assert.equal(9007199254740993, pawl.json.decode(ran.out).input.i)
  end)
end)
