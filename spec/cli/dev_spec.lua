--- pawl dev: files are taken as they change, while instances run.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local pawl = require "pawl"
local process = require "spec.support.process"

local PATIENCE <const> = 20

--- Waits for "go" between its two steps, so that an instance is under way.
local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.dev", version = 1, start = "a" }
flow:step("a", { next = "w", run = function(ctx) ctx.vars.a = "one" end })
flow:wait("w", { event = "go", next = "b" })
flow:step("b", { next = "z", run = function(ctx) ctx.vars.b = "one" end })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow
]]

local function flow(...)
  local text = FLOW
  for i = 1, select("#", ...), 2 do
    local from, to = select(i, ...)
    local n
    text, n = text:gsub(from, to)
    assert(n > 0, from)
  end
  return text
end

for _, backend in ipairs(backends) do
  describe("pawl dev on " .. backend.name, function()
    local here, env, dev

    before_each(function()
      here = command.folder()
      env = { env = { PAWL_STORE = backend.url() } }
    end)

    after_each(function()
      process.stop_all()
      backend.cleanup()
    end)

    local function start(...)
      local words = { "dev", ... }
      words[#words + 1] = env
      dev = here:start(table.unpack(words))
    end

    local function says(pattern)
      assert.truthy(dev:wait_for(pattern, PATIENCE), pattern .. "\n"
        .. dev:output() .. dev:errors())
    end

    local function at_rest(id)
      says(id:gsub("%-", "%%-") .. " step a attempt 1 done")
    end

    local function json(...)
      local words = { ... }
      words[#words + 1] = env
      return (here:json(table.unpack(words)))
    end

    --- By another process, as from another window.
    local function ended(id)
      for _ = 1, PATIENCE * 10 do
        local instance = json("show", id)
        if instance.status == "completed" then return instance.output end
        require("system").sleep(0.1)
      end
      error("it has not ended: " .. dev:output() .. dev:errors())
    end

    local function stop()
      dev:kill "TERM"
      assert.equal(0, dev:wait(PATIENCE), dev:output() .. dev:errors())
      assert.equal("", dev:errors())
    end

    it("hot-fixes what is in use, and running instances go on with it",
      function()
        here:write("flow.lua", FLOW)
        start("flow.lua")
        says "loaded t.dev 1 from flow.lua\n"
        local id = json("start", "t.dev").id
        at_rest(id)
        here:write("flow.lua", flow('ctx.vars.b = "one"',
          'ctx.vars.b = "two"'))
        says "hot%-fixed t.dev 1, revision 2, from flow.lua\n"
        json("signal", "go", "--instance", id)
        assert.same({ a = "one", b = "two" }, ended(id))
        stop()
      end)

    it("replaces what nobody uses, and starts anew with --input", function()
      here:write("flow.lua", FLOW)
      start("flow.lua", "--input", '{"x":1}')
      says "started t.dev "
      local id = dev:output():match "started t.dev (%S+)"
      at_rest(id)
      json("signal", "go", "--instance", id)
      assert.same({ a = "one", b = "one" }, ended(id))
      -- another graph, which no hot-fix may bring
      here:write("flow.lua", flow('next = "b" }', 'next = "c" }',
        'flow:step%("b"', 'flow:step("c"', '"one"', "ctx.input.x"))
      says("started t.dev %S+\n.*started t.dev %S+\n")
      local second = dev:output():match ".*started t.dev (%S+)"
      assert.not_equal(id, second)
      at_rest(second)
      json("signal", "go", "--instance", second)
      assert.same({ a = 1, b = 1 }, ended(second))
      assert.not_matches("hot%-fixed", dev:output())
      stop()
    end)

    it("says what is wrong with a file, and goes on as it was", function()
      here:write("flow.lua", FLOW)
      start("flow.lua")
      says "loaded t.dev 1"
      local id = json("start", "t.dev").id
      at_rest(id)
      here:write("flow.lua", (FLOW:gsub("flow:wait", "flow:wait(((")))
      says "Z definition: flow.lua:%d.*; t.dev 1 goes on as it was\n"
      -- drawn otherwise, and in use
      here:write("flow.lua", flow('"b"', '"c"'))
      says('exists: .*node "c" is not in the stored version; .*, and instance '
        .. id:gsub("%-", "%%-") .. " still runs it; t.dev 1 goes on as it was")
      says "hint: .*version = 2"
      os.remove(here.dir .. "/flow.lua")
      says "Z flow.lua is gone; t.dev 1 goes on as it was\n"
      json("signal", "go", "--instance", id)
      assert.same({ a = "one", b = "one" }, ended(id))
      -- as a version of its own it is right
      here:write("flow.lua", flow('"b"', '"c"', "version = 1", "version = 2"))
      says "loaded t.dev 2 from flow.lua\n"
      local second = json("start", "t.dev").id
      at_rest(second)
      assert.equal(2, json("show", second).version)
      stop()
    end)
  end)
end

describe("pawl dev", function()
  after_each(process.stop_all)

  it("begins with a file that is wrong, and waits for it", function()
    local here = command.folder()
    here:write("flow.lua", "return 7")
    local dev = here:start("dev", "flow.lua", "--json")
    assert.truthy(dev:wait_for('"event":"error"', PATIENCE), dev:errors())
    here:write("flow.lua", FLOW)
    assert.truthy(dev:wait_for('"event":"loaded"', PATIENCE), dev:output())
    dev:kill "TERM"
    assert.equal(0, dev:wait(PATIENCE))
    local events = {}
    for line in dev:output():gmatch "[^\n]+" do
      local event = assert(pawl.json.decode(line))
      events[#events + 1] = event.event
      if event.event == "error" then
        assert.equal("definition", event.code)
        assert.equal("flow.lua", event.file)
      elseif event.event == "loaded" then
        assert.same({ "t.dev", 1 }, { event.workflow, event.version })
      end
    end
    assert.equal("started error loaded stopped", table.concat(events, " "))
  end)

  it("takes new files of a folder, and versions that number themselves",
    function()
      local here = command.folder()
      here:write("flow.lua", flow("version = 1", 'version = "auto"'))
      local dev = here:start("dev", ".")
      assert.truthy(dev:wait_for("loaded t.dev 1 ", PATIENCE), dev:errors())
      here:write("other.lua", flow("t%.dev", "t.other"))
      assert.truthy(dev:wait_for("loaded t.other 1 from ./other.lua",
        PATIENCE), dev:output())
      here:write("flow.lua", flow("version = 1", 'version = "auto"', '"b"',
        '"c"'))
      assert.truthy(dev:wait_for("loaded t.dev 2 ", PATIENCE), dev:output())
    end)

  it("says that a file of a folder is gone, and takes it when it is back",
    function()
      local here = command.folder()
      here:write("flow.lua", FLOW)
      here:write("other.lua", flow("t%.dev", "t.other"))
      local dev = here:start("dev", ".")
      assert.truthy(dev:wait_for("loaded t.other 1", PATIENCE), dev:errors())
      os.rename(here.dir .. "/other.lua", here.dir .. "/away")
      assert.truthy(dev:wait_for("Z %./other.lua is gone; t.other 1 goes on "
        .. "as it was\n", PATIENCE), dev:output())
      os.rename(here.dir .. "/away", here.dir .. "/other.lua")
      assert.truthy(dev:wait_for("is gone.*loaded t.other 1 from ./other.lua",
        PATIENCE), dev:output())
      local _, told = dev:output():gsub("is gone", "")
      assert.equal(1, told)
    end)

  it("says that a hot-fix is in the way, where nobody else is", function()
    local here = command.folder()
    here:write("flow.lua", FLOW)
    local dev = here:start("dev", "flow.lua", "--start")
    assert.truthy(dev:wait_for("started t.dev", PATIENCE), dev:errors())
    here:write("flow.lua", flow('ctx.vars.b = "one"', 'ctx.vars.b = 2'))
    assert.truthy(dev:wait_for("hot%-fixed t.dev 1", PATIENCE), dev:output())
    assert.equal(0, here:pawl("cancel", "-w", "t.dev", "--yes").code)
    here:write("flow.lua", flow('"b"', '"c"'))
    assert.truthy(dev:wait_for('node "c" is not in the stored version; '
      .. 'workflow "t.dev" version 1 is stored with other contents, by a '
      .. "hot%-fix; t.dev 1 goes on", PATIENCE), dev:output())
  end)

  it("says so when two files have one version", function()
    local here = command.folder()
    here:write("a.lua", FLOW)
    here:write("b.lua", flow("one", "two"))
    local dev = here:start("dev", ".")
    assert.truthy(dev:wait_for("a.lua and %./b.lua both have t.dev 1",
      PATIENCE), dev:output() .. dev:errors())
    assert.truthy(dev:wait_for("saved last runs", PATIENCE))
  end)

  it("takes a file whose bundled module was changed", function()
    local here = command.folder()
    local function module(word)
      here:write("words.lua", ("return { word = %q }"):format(word))
    end
    module "first"
    here:write("flow.lua", [[
local pawl = require "pawl"
local words = require "words"
local flow = pawl.workflow { code = "t.words", start = "z",
  bundle = { "words" } }
flow:finish("z", { output = function() return words.word end })
return flow
]])
    local env = { env = { LUA_PATH = here.dir .. "/?.lua;;" } }
    local dev = here:start("dev", "flow.lua", "--start", env)
    assert.truthy(dev:wait_for("started t.words", PATIENCE), dev:errors())
    module "second"
    assert.truthy(dev:wait_for("started t.words.*started t.words", PATIENCE),
      dev:output())
    assert.truthy(dev:wait_for("finish z done.*finish z done", PATIENCE),
      dev:output())
    local said = {}
    for i, row in ipairs(here:json("list", "--sort", "oldest")) do
      said[i] = here:json("show", row.id).output
    end
    assert.same({ "first", "second" }, said)
  end)

  it("keeps nothing in memory, and needs files", function()
    local here = command.folder()
    here:write("flow.lua", FLOW)
    local dev = here:start("dev", "flow.lua", "--start", "--store", ":memory:")
    assert.truthy(dev:wait_for("step a attempt 1 done", PATIENCE),
      dev:errors())
    dev:kill "TERM"
    assert.equal(0, dev:wait(PATIENCE))
    assert.is_nil(io.open(here.dir .. "/pawl.db"))
    assert.equal(2, here:pawl("dev").code)
    local ran = here:pawl("dev", "none.lua")
    assert.equal(3, ran.code)
    assert.matches("none.lua", ran.err)
  end)
end)
