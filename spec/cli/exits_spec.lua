-- Exit codes: `pawl help exit` says what they mean, and every command means the
-- same by them.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local shell = require "spec.support.shell"

local FLOWS = {
  wait = [[
    local flow = require("pawl").workflow { code = "t.wait", start = "hear" }
    flow:wait("hear", { event = "go", next = "z" })
    flow:finish "z"
    return flow]],
  ask = [[
    local flow = require("pawl").workflow { code = "t.ask", start = "ask" }
    flow:task("ask", { title = "Ask", next = "z" })
    flow:finish "z"
    return flow]],
  ["end"] = [[
    local flow = require("pawl").workflow { code = "t.end", start = "z" }
    flow:finish "z"
    return flow]],
}

for _, backend in ipairs(backends) do
  describe("an exit code on " .. backend.name, function()
    local here, ended, waits, task
    after_each(backend.cleanup)

    before_each(function()
      here = command.folder()
      here.env = { PAWL_STORE = backend.url() }
      for name, text in pairs(FLOWS) do here:write(name .. ".lua", text) end
      local function ran(...)
        local words = { ... }
        words[#words + 1] = { env = here.env }
        local result = here:pawl(table.unpack(words))
        assert.equal(0, result.code, result.err)
        return (result.out:gsub("%s+$", ""))
      end
      ran("worker", "wait.lua", "ask.lua", "end.lua", "--until-idle")
      ended, waits = ran("start", "t.end"), ran("start", "t.wait")
      local asks = ran("start", "t.ask")
      ran("worker", "--until-idle", "--processes", "1")
      task = ran("task", "list", "--json"):match '"id":"([^"]+)"'
      assert(task, asks)
    end)

    local function codes(list)
      for _, case in ipairs(list) do
        local words = { table.unpack(case, 2) }
        words[#words + 1] = { env = here.env }
        local ran = here:pawl(table.unpack(words))
        local said = table.concat(case, " ", 2) .. ": " .. ran.err
        assert.equal(case[1], ran.code, said)
        assert.not_matches("internal", ran.err)
      end
    end

    it("is 2 for what is written wrong", function()
      codes {
        { 2, "list", "--statu" }, { 2, "show" }, { 2, "list", "-n", "0" },
        { 2, "cancel", waits, "--by", "" }, { 2, "wake", waits, "--by", "" },
        { 2, "worker", "--lease", "0" },
        { 2, "move", waits, "--to", "nowhere" },
        { 2, "signal", "not a name" },
        { 2, "start", "t.end", "--version", "x" },
        { 2, "list", "-n", "20000" },
      }
      here:write("large.json", '"' .. ("x"):rep(5 << 20) .. '"')
      codes { { 2, "start", "t.end", "--input", "@large.json" },
        { 2, "signal", "go", "--data", "@large.json" } }
      here.env.PAWL_POOLER = "maybe"
      codes { { 2, "list" } }
      for _, word in ipairs { "no", "0", "off", "" } do
        here.env.PAWL_POOLER = word
        codes { { 0, "list" } }
      end
    end)

    it("is 3 for what is not there", function()
      local none = "00000000-0000-7000-8000-000000000000"
      for _, name in ipairs { "show", "cancel", "suspend", "resume", "retry",
        "kill", "wake", "explain", "tokens", "history", "graph" } do
        codes { { 3, name, none } }
      end
      codes {
        { 3, "restart", none, "--from", "z" }, { 3, "move", none, "--to", "z" },
        { 3, "edit", none, "--set", "a=1" }, { 3, "task", "claim", none },
        { 3, "signal", "go", "--instance", none }, { 3, "run", "none.lua" },
        { 3, "check", "none.lua" }, { 3, "worker", "none.lua" },
      }
    end)

    it("is 4 for what is in no state for it", function()
      for _, name in ipairs { "cancel", "suspend", "resume", "retry", "kill",
        "wake" } do
        codes { { 4, name, ended } }
      end
      codes {
        { 4, "move", ended, "--to", "z" },
        { 0, "note", ended, "seen" }, { 2, "note", ended },
        { 4, "edit", ended, "--set", "a=1" },
        { 4, "signal", "go", "--instance", ended },
        { 4, "resume", waits }, { 4, "retry", waits },
        { 4, "restart", waits, "--from", "hear" },
        { 4, "workflow", "resume", "t.wait" },
        { 0, "workflow", "suspend", "t.wait" },
        { 4, "workflow", "suspend", "t.wait" },
        { 0, "workflow", "resume", "t.wait" },
        { 0, "suspend", waits }, { 4, "suspend", waits },
        { 4, "task", "unclaim", task }, { 4, "task", "retry", task },
        { 0, "task", "complete", task, "--by", "ann" },
        { 4, "task", "complete", task, "--by", "bob" },
        { 4, "task", "claim", task }, { 4, "task", "reassign", task,
          "--to", "eve" },
      }
    end)
  end)
end

describe("a stream that is closed", function()
  local function run(here, words, redirect)
    local line = ("cd %s && PAWL_STORE= %s %s %s"):format(
      shell.quote(here.dir), shell.quote(command.path), words, redirect)
    local pipe = assert(io.popen("(" .. line .. ") 2>&1; echo rc=$?"))
    local said = pipe:read "a"
    pipe:close()
    return said
  end

  it("is an error of standard output, before anything is done", function()
    local here = command.folder()
    here:write("end.lua", FLOWS["end"])
    for _, words in ipairs { "list", "start t.end", "version", "check end.lua",
      "check end.lua --json", "worker --help", "run end.lua" } do
      local said = run(here, words, ">&-")
      assert.matches("^pawl: output: standard output is closed\n hint: ", said)
      assert.matches("rc=1\n$", said)
    end
    assert.is_nil(io.open(here.dir .. "/pawl.db"))
  end)

  it("keeps no worker from its work", function()
    local here = command.folder()
    here:write("end.lua", FLOWS["end"])
    assert.equal(0, here:pawl("start", "t.end").code)
    for _, more in ipairs { "", " --json", " --processes 2" } do
      assert.equal("rc=0\n", run(here, "worker end.lua --until-idle" .. more,
        "<&- >&- 2>&-"))
    end
    assert.equal("completed", here:json "list"[1].status)
  end)

  it("is no place for a store's file", function()
    local here = command.folder()
    here:write("end.lua", FLOWS["end"])
    assert.matches("rc=0\n$", run(here, "worker end.lua --until-idle",
      "<&- 2>&-"))
    assert.matches("rc=3\n$", run(here, "show 1234567", "2>&-"))
  end)
end)
