--- What an instance went through, written as a spec that passes.
local backends = require "spec.support.backends"
local kit = require "pawl.testing.spec"
local pawl = require "pawl"
local snapshot = require "pawl.testing.snapshot"
local test = require "pawl.testing"
local tmp = require "spec.support.tmp"
local wander = require "spec.support.wander"

--- PAWL_WANDER: how many workflows, each with instances of its own.
local SEEDS <const> = math.tointeger(tonumber(os.getenv "PAWL_WANDER" or 24))

--- What it went through, but for what nobody took.
local function story(engine, id)
  return (test.history(engine, id):gsub("  untaken[^\n]*\n", "")
    :gsub("  refused[^\n]*\n", ""):gsub("<id %d+>", "<id>"))
end

--- Runs what was written, and gives what its instance went through.
local function again(text)
  local more, n = text:gsub("\n  end%)\nend%)\n$",
    "\n_G.pawl_went(engine, id)%0")
  assert.equal(1, n)
  local went
  _G.pawl_went = function(engine, id) went = story(engine, id) end
  local ok, why = kit.check(more)
  _G.pawl_went = nil
  return ok, why, went
end

--- Writes the spec of an instance, runs it, and compares all of the histories.
local function holds(engine, id, path, what)
  local text = test.spec(engine, id, { load = path })
  local was = story(engine, id)
  local ok, why, went = again(text)
  local said = ("%s: %s\n%s\n%s"):format(tostring(what), tostring(why), was,
    text)
  assert.is_true(ok, said)
  if went ~= was then
    error(table.concat(snapshot.differences(was, went), "\n") .. "\n" .. said,
      0)
  end
  return text
end

local function contains(wanted, text)
  assert.is_truthy(text:find(wanted, 1, true), wanted .. "\n" .. text)
end

for _, backend in ipairs(backends) do
  describe("a spec that is written on " .. backend.name, function()
    local engine, clock

    before_each(function()
      engine, clock = backend.fresh { seed = 1 }
      clock.engines[engine] = true
      assert(engine:load(tmp.file("child.lua", wander.child)))
    end)
    after_each(backend.cleanup)

    --- A workflow of that code, made of this text; its path.
    local function load(code, text, options)
      local path = tmp.file("flow.lua", ("local pawl = require 'pawl'\n"
        .. "local flow = pawl.workflow { code = %q %s }\n%s\nreturn flow\n")
        :format(code, options or "", text))
      assert(engine:load(path))
      return path
    end

    it("goes where its instance went, whatever that was", function()
      for seed = 1, SEEDS do
        local text, code = wander.draw(seed)
        local path = tmp.file("flow.lua", text)
        assert(engine:load(path))
        for n = 1, 2 do
          local id = assert(engine:start(code, { seed = seed, n = n },
            { key = ("%d-%d"):format(seed, n) }))
          wander.play(engine, clock, id, seed * 10 + n,
            seed % 4 == 0 and 5 or nil)
          holds(engine, id, path, "seed " .. seed)
        end
      end
    end)

    it("fails when the workflow comes to go another way", function()
      local path = load("s.changed", [[
        flow:step("count", { run = function(ctx) ctx.vars.n = 5 end })
        flow:choice("is_big", { choose = function(ctx)
          return ctx.vars.n > 3 and "yes" or "no"
        end, next = { yes = "look", no = "small" } })
        flow:step("small", { run = function() end, next = "z" })
        flow:timer("look", { after = "1d", next = "z" })
        flow:finish "z"]])
      local id = assert(engine:start "s.changed")
      assert(engine:run())
      clock:advance "1d"
      holds(engine, id, path)
      for from, to in pairs { ["> 3"] = "> 7", ['"1d"'] = '"2d"',
        ['run = function(ctx)'] = 'retry = { max = 2 }, run = function(ctx)' }
      do
        local changed = tmp.file("changed.lua", (tmp.read(path):gsub(
          from:gsub("[()]", "%%%0"), to, 1)))
        local ok, why = kit.check(test.spec(engine, id, { load = changed }))
        if from:find "run" then
          assert.is_true(ok, why) -- and is told of no harmless change
        else
          assert.is_false(ok)
          assert.matches("s%.changed", why)
        end
      end
    end)

    it("undoes, fails and is set going again as it was", function()
      local path = load("s.undone", [[
        flow:step("book", { retry = { max = 2, base = 1, jitter = 0.5 },
          undo = function(ctx)
            if ctx.attempt == 1 then error { code = "not_yet" } end
            ctx.vars.booked = false
          end, run = function(ctx) ctx.vars.booked = true end })
        flow:step("pay", { retry = false, run = function(ctx)
          if ctx.now() < 1767312000 then error { code = "poor" } end
          error { code = "no_bank", message = "gone", details = { 1, "b" } }
        end })
        flow:finish "z"]])
      local id = assert(engine:start("s.undone", {}))
      assert(engine:run())
      clock:advance "1h"
      local text = holds(engine, id, path)
      contains('assert.failed(engine, id, "poor")', text)
      contains('assert.compensated(engine, id, { "book" })', text)

      path = load("s.retried", [[
        flow:step("pay", { retry = false, run = function(ctx)
          if ctx.now() < 1767312000 then error { code = "poor" } end
        end })
        flow:finish "z"]])
      id = assert(engine:start "s.retried")
      assert(engine:run())
      clock:advance "30h"
      assert(engine:retry(id, { by = "ann", reason = "the bank is back" }))
      assert(engine:run())
      text = holds(engine, id, path)
      contains('engine:retry(id, { by = "ann", reason = "the bank is back" })',
        text)
      contains("assert.completed(engine, id)", text)
    end)

    it("waits where its instance waits, and suspends where it is", function()
      local path = load("s.stands", [[
        flow:step("a", { retry = { max = 1 }, on_exhausted = "suspend",
          run = function(ctx)
            if ctx.input.bad then error { code = "bad" } end
          end })
        flow:wait("paid", { event = "paid" })
        flow:finish "z"]])
      local id = assert(engine:start("s.stands", {}))
      assert(engine:run())
      contains('assert.waiting_at(engine, id, "paid")',
        holds(engine, id, path))
      id = assert(engine:start("s.stands", { bad = true }))
      assert(engine:run())
      contains('assert.equal("suspended", engine:get(id).status)',
        holds(engine, id, path))
      id = assert(engine:start("s.stands", {})) -- nobody has run it
      contains('assert.path(engine, id, pawl.array {})',
        holds(engine, id, path))
    end)

    it("knows boundaries, callbacks, answers, attributes and typed values",
      function()
        local path = load("s.more", [[
          flow:step("ask", { run = function(ctx)
            ctx.vars.token = ctx.callback "job.done"
            ctx.attrs.region, ctx.attrs.sum = "eu", pawl.decimal "12.50"
            ctx.attrs.bytes, ctx.attrs.old = pawl.binary "\0\255a", nil
          end })
          flow:wait("job", { event = "job.done", key = "token",
            into = "result", timeout = "2d",
            next = { received = "open", timeout = "z" } ,
            on_timer = { after = "1h", next = "call" } })
          flow:wait("open", { event = "price", into = "asked",
            answer = function(event) return { sum = event.data } end })
          flow:finish("z", { output = function(ctx) return ctx.vars end })
          flow:step("call", { run = function(ctx) ctx.vars.called = true end,
            next = "open" })]])
        local id = assert(engine:start("s.more", { n = 1.5, big = 2 ^ 53 | 0,
          none = pawl.null, list = pawl.array {}, text = "a\0b\n\"ä\u{1F600}" },
          { attributes = { tier = "gold", old = 1, n = 2,
            day = pawl.date "2026-01-31" }, metadata = { from = "web" },
            business_key = "4711", correlation = "c", by = "ann" }))
        assert(engine:run())
        clock:advance "30m"
        assert(engine:complete(engine:get(id).variables.token, { ok = true }))
        assert(engine:run())
        clock:advance "5m"
        engine:ask(id, "price", 12, { event = "1", timeout = 0 })
        assert(engine:run())
        local text = test.spec(engine, id, { load = path })
        local ok, why = kit.check(text)
        assert.is_true(ok, why)
        contains('bytes = pawl.binary "\\000\\255a", old = pawl.null, '
          .. 'region = "eu",\n          sum = pawl.decimal "12.50",', text)
        contains('day = pawl.date "2026-01-31T00:00:00.000000Z", n = 2', text)
        contains('business_key = "4711"', text)
        contains('text = "a\\000b\\n\\"ä', text)
        contains("list = pawl.array {}", text)
        contains("none = pawl.null", text)
      end)

    it("is made of a year of timers, and of a thousand rows", function()
      local path = load("s.year", [[
        flow:timer("day", { after = "1d" })
        flow:step("count", { run = function(ctx)
          ctx.vars.n = (ctx.vars.n or 0) + 1
        end })
        flow:choice("more", { choose = function(ctx)
          return ctx.vars.n < 365 and "yes" or "no"
        end, next = { yes = "day", no = "z" } })
        flow:finish("z", { output = function(ctx) return ctx.vars.n end })]])
      local id = assert(engine:start "s.year")
      assert(engine:run())
      clock:advance "366d"
      contains("assert.output(engine, id, 365)", holds(engine, id, path))
    end)

    it("leaves out what is too large to be read, and is right", function()
      local path = load("s.large", [[
        flow:step("a", { run = function(ctx)
          ctx.vars.large, ctx.vars.small = ("x"):rep(20000), 1
        end })
        flow:finish "z"]])
      local id = assert(engine:start "s.large")
      assert(engine:run())
      local text = holds(engine, id, path)
      contains("too large to be repeated here: large", text)
      contains("assert.vars(engine, id, { small = 1 })", text)
    end)

    it("is refused where the history has lost its beginning", function()
      load("s.trimmed", [[
        flow:step("a", { run = function(ctx)
          ctx.vars.n = (ctx.vars.n or 0) + 1
        end })
        flow:choice("more", { choose = function(ctx)
          return ctx.vars.n < 400 and "yes" or "no"
        end, next = { yes = "a", no = "z" } })
        flow:finish "z"]], ", keep_history = 100")
      local id = assert(engine:start "s.trimmed")
      assert(engine:run())
      local ok, why = pcall(test.spec, engine, id)
      assert.is_false(ok)
      assert.equal("invalid", why.code)
      contains("was trimmed (`keep_history`)", tostring(why))
    end)

    it("has what is masked nowhere, and says so", function()
      local path = load("s.masked", [[
        flow:step("a", { run = function(ctx)
          ctx.vars.card, ctx.vars.n = ctx.input.card, 1
          return { card = ctx.input.card }
        end })
        flow:wait("w", { event = "go", into = "came" })
        flow:finish("z", { output = function(ctx) return ctx.vars.n end })]])
      local id = assert(engine:start("s.masked", { card = "4711-0815" }))
      assert(engine:run())
      engine:signal { name = "go", instance = id, data = { card = "4711-1" } }
      assert(engine:run())
      local lines = assert(engine:export(id))
      for _, from in ipairs { engine, lines } do
        local text = test.spec(from, id, { load = path,
          mask = { "vars.card" } })
        assert.is_nil(text:find("4711", 1, true), text)
        contains("MASKED", text)
        local ok, why = kit.check(text)
        assert.is_true(ok, why)
      end
    end)

    it("says what it does not repeat", function()
      local path = load("s.crossed", [[
        flow:step("a", { run = function() end })
        flow:wait("w", { event = "go" })
        flow:finish "z"]], ", version = 1")
      local id = assert(engine:start "s.crossed")
      assert(engine:run())
      load("s.crossed", [[
        flow:step("a", { run = function() end })
        flow:wait("w", { event = "go", into = "came" })
        flow:finish "z"]], ", version = 2")
      assert(engine.workflows:transfer("s.crossed", 1, 2))
      assert(engine:run())
      local text = test.spec(engine, id, { load = path })
      contains("NOT REPEATED HERE: it went on in another version", text)
    end)
  end)
end

describe("test.spec", function()
  it("says what is wrong with what it is given", function()
    for said, given in pairs {
      ["there is no instance in it"] = { "" },
      ["line 1 is none of an export"] = { "no" },
      ["unknown option 'lod' (did you mean 'load'?)"] = { "", nil,
        { lod = "x" } },
    } do
      local ok, why = pcall(test.spec, table.unpack(given, 1, 3))
      assert.is_false(ok)
      contains(said, tostring(why))
    end
    local engine <close> = test.open()
    local ok, why = pcall(test.spec, engine,
      "019b76da-a800-7668-9854-bb71800206db")
    assert.is_false(ok)
    assert.equal("notfound", why.code)
  end)
end)
