-- Versions of definitions in the store, and who runs which: promise 8.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local tmp = require "spec.support.tmp"

--- A workflow file's text: a, a timer of an hour, b, z. `says` is its output.
local function text(code, version, says, more)
  return ([[
    local pawl = require "pawl"
    %s
    local flow = pawl.workflow { code = "%s", version = %d, start = "a"%s }
    flow:step("a", { run = function() end, next = "t" })
    flow:timer("t", { after = "1h", next = "b" })
    flow:step("b", { run = function(ctx) ctx.vars.says = %s end, next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars.says end })
    return flow
  ]]):format(more and more.head or "", code, version,
    more and more.options or "", says)
end

local function file(...) return tmp.file("flow.lua", text(...)) end

--- Starts one, lets an hour pass under `worker`, and returns its output.
local function finish(worker, clock, id)
  assert(worker:run())
  clock:advance "1h"
  assert(worker:run())
  local instance = assert(worker:get(id))
  assert(instance.status == "completed", instance.status)
  return instance.output
end

for _, state in ipairs { "host", "private" } do
  kit.describe("a workflow file in a " .. state .. " state",
    function(backend)
      local function fresh(options)
        options = options or {}
        options.state = state
        return backend.fresh(options)
      end

      local function rival(url, clock, options)
        options = options or {}
        options.state = state
        return kit.rival(backend, url, clock, options)
      end

      it("is registered once, however often it is loaded", function()
        local a, clock, url = fresh()
        local b = rival(url, clock)
        local path = file("t.f", 1, '"one"')
        local first = assert(a:load(path))
        local again = assert(a:load(path))
        local third = assert(b:load(path))
        assert.equal(first.sha256, again.sha256)
        assert.equal(first.sha256, third.sha256)
        assert.equal(1, kit.count(backend, url, "workflow"))
        local id = assert(a:start "t.f")
        assert(b:run())
        assert(a:load(path)) -- in use, and the same: no objection
        assert.equal("one", finish(b, clock, id))
      end)

      it("replaces its version while nobody uses that", function()
        local engine, clock, url = fresh()
        local old = assert(engine:load(file("t.f", 1, '"old"')))
        local new = assert(engine:load(file("t.f", 1, '"new"')))
        assert.are_not.equal(old.sha256, new.sha256)
        local id = assert(engine:start "t.f")
        assert.equal("new", finish(engine, clock, id))
        -- the old source stays, by its hash
        assert.equal(2, kit.count(backend, url, "workflow"))
        assert.equal(1, kit.count(backend, url, "workflow",
          ("sha256 = '%s' and source like '%%old%%'"):format(old.sha256)))
      end)

      it("is refused while an unfinished instance uses its version",
        function()
          local engine, clock, url = fresh()
          assert(engine:load(file("t.f", 1, '"old"')))
          local id = assert(engine:start "t.f")
          assert(engine:run())
          local other = rival(url, clock)
          for _, one in ipairs { engine, other } do
            local info, err = one:load(file("t.f", 1, '"new"'))
            assert.is_nil(info)
            assert.equal("exists", err.code)
            assert.matches(id, err.message, 1, true)
            assert.matches("version = 2", err.hint, 1, true)
            assert.matches("flow.lua", err.where, 1, true)
          end
          assert.equal(1, kit.count(backend, url, "workflow"))
          assert.equal("old", finish(engine, clock, id))
          assert(engine:load(file("t.f", 1, '"new"'))) -- now it is free
          id = assert(engine:start "t.f")
          assert.equal("new", finish(engine, clock, id))
        end)

      it("is in use from its start to its end, whatever the status",
        function()
          local engine = fresh()
          assert(engine:load(file("t.f", 1, '"old"')))
          local id = assert(engine:start "t.f")
          assert.is_nil(engine:load(file("t.f", 1, '"new"'))) -- created
          assert(engine:run())
          assert.is_nil(engine:load(file("t.f", 1, '"new"'))) -- waiting
          assert(engine:cancel(id))
          assert(engine:load(file("t.f", 1, '"new"')))
        end)

      it("stands beside its other versions", function()
        local engine, clock, url = fresh()
        assert(engine:load(file("t.f", 1, '"one"')))
        local old = assert(engine:start "t.f")
        assert(engine:run())
        assert(engine:load(file("t.f", 2, '"two"')))
        local new = assert(engine:start "t.f")
        assert(engine:run())
        assert.equal("one", finish(engine, clock, old))
        assert.equal("two", assert(engine:get(new)).output)
        assert.equal(2, kit.count(backend, url, "workflow"))
      end)

      it("runs from the store where only a newer version was loaded",
        function()
          local engine, clock, url = fresh()
          assert(engine:load(file("t.f", 1, '"one"')))
          local id = assert(engine:start "t.f")
          assert(engine:run())
          engine:close()
          local worker = rival(url, clock)
          assert(worker:load(file("t.f", 2, '"two"')))
          assert.equal("one", finish(worker, clock, id))
        end)

      it("runs from the store where nothing was loaded", function()
        local engine, clock, url = fresh()
        assert(engine:load(file("t.f", 1, '"one"')))
        local id = assert(engine:start "t.f")
        engine:close()
        assert.equal("one", finish(rival(url, clock), clock, id))
      end)

      it("does not run from the store where that is forbidden", function()
        local engine, clock, url = fresh()
        assert(engine:load(file("t.f", 1, '"one"')))
        local id = assert(engine:start "t.f")
        local own = rival(url, clock, { stored_code = "own" })
        assert(own:load(file("t.f", 2, '"two"')))
        local stats = assert(own:run())
        assert.equal(0, stats.steps)
        assert.equal("created", kit.status(own, id))
        assert.equal("one", finish(engine, clock, id))
      end)

      it("takes the modules of its bundle with it", function()
        local dir = tmp.dir()
        local function write(name, body)
          local out <close> = assert(io.open(dir .. "/" .. name, "w"))
          assert(out:write(body))
        end
        local module = "rates_" .. state .. "_" .. backend.name
        write(module .. ".lua", 'return { says = "bundled" }')
        write("flow.lua", text("t.f", 1, "rates.says", {
          head = ('local rates = require "%s"'):format(module),
          options = (', bundle = { "%s" }'):format(module),
        }))
        local engine, clock, url = fresh()
        local before = assert(engine:load(dir .. "/flow.lua"))
        local id = assert(engine:start "t.f")
        assert(engine:run())
        engine:close()
        os.remove(dir .. "/" .. module .. ".lua")
        package.loaded[module] = nil
        assert.equal("bundled", finish(rival(url, clock), clock, id))

        -- another text of the module is another version
        write(module .. ".lua", 'return { says = "changed" }')
        local after = assert(rival(url, clock):load(dir .. "/flow.lua"))
        assert.are_not.equal(before.sha256, after.sha256)
      end)

      it("is not stored when it is wrong", function()
        local engine, _, url = fresh()
        for _, body in ipairs {
          'return 7', 'error "no"', 'local x = ', text("t.f", 1, "1")
            :gsub('next = "b"', 'next = "nowhere"'),
        } do
          local info, err = engine:load(tmp.file("flow.lua", body))
          assert.is_nil(info)
          assert.equal("definition", err.code)
        end
        assert.equal(0, kit.count(backend, url, "workflow"))
      end)
    end)
end

kit.describe("an inline workflow", function(backend)
  it("runs only where it was loaded", function()
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock)
    assert(a:load(kit.one()))
    local id = assert(a:start "t.one")
    local stats = assert(b:run())
    assert.equal(0, stats.steps)
    assert.equal("created", kit.status(b, id))
    assert.equal("", kit.trail(b, id))
    assert.equal(1, assert(a:run()).ended)
    assert.equal("step a", kit.trail(a, id))
  end)

  it("keeps its own closures in each engine", function()
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock)
    local ran = {}
    local function flow(who)
      return kit.one(function() ran[#ran + 1] = who end)
    end
    assert(a:load(flow "a"))
    assert(b:load(flow "b"))
    assert(a:start "t.one")
    assert(a:run())
    assert(a:start "t.one")
    assert(b:run())
    assert.same({ "a", "b" }, ran)
    assert.equal(1, kit.count(backend, url, "workflow"))
  end)
end)

kit.describe("a graph", function(backend)
  it("is not found under what no workflow has, in the caller's words",
    function()
      local engine = backend.fresh()
      assert(engine:load(kit.one()))
      assert(engine.workflows:graph("t.one", 1))
      for _, case in ipairs { { "t.one", 1 << 40 }, { "t.one", -1 },
        { "t.one", math.mininteger }, { "no code", 1 }, { "\xff" } } do
        local graph, err = engine.workflows:graph(case[1], case[2])
        assert.is_nil(graph)
        assert.equal("notfound", err.code)
        assert.matches("there is no workflow", err.message)
        assert.is_nil(err.message:find("@", 1, true))
      end
    end)
end)

kit.describe("a version that numbers itself", function(backend)
  --- The same text with `version = "auto"`.
  local function auto(says, code)
    return tmp.file("auto.lua", (text(code or "t.auto", 1, says):gsub(
      "version = 1", 'version = "auto"')))
  end

  local function versions(engine)
    local found = {}
    for i, flow in ipairs(assert(engine.workflows:list {
      workflow = "t.auto" })) do
      found[i] = ("%d.%d"):format(flow.version, flow.revision)
    end
    return table.concat(found, " ")
  end

  it("is the first, then the next with each other content", function()
    local engine, clock, url = backend.fresh()
    assert.equal(1, assert(engine:load(auto '"one"')).version)
    assert.equal(1, assert(engine:load(auto '"one"')).version)
    local old = assert(engine:start "t.auto")
    assert(engine:run())
    assert.equal(2, assert(engine:load(auto '"two"')).version)
    -- what was before is a new version, too: it is what is wanted now
    assert.equal(3, assert(engine:load(auto '"one"')).version)
    assert.equal("1.1 2.1 3.1", versions(engine))
    local flow = assert(engine.workflows:get("t.auto", 2))
    assert.equal(2, flow.graph.version)
    assert.matches('version = "auto"', flow.source)
    engine:close()
    local worker = kit.rival(backend, url, clock) -- from the store
    assert.equal("one", finish(worker, clock, old))
    assert.equal(1, assert(worker:get(old)).version)
    local id = assert(worker:start("t.auto", {}, { version = 2 }))
    assert.equal("two", finish(worker, clock, id))
  end)

  it("comes behind those that were numbered by hand", function()
    local engine = backend.fresh()
    assert(engine:load(file("t.auto", 7, '"seven"')))
    assert(engine.workflows:deactivate("t.auto", 7))
    assert.equal(8, assert(engine:load(auto '"eight"')).version)
    assert(engine:load(file("t.auto", 2147483647, '"last"')))
    kit.refused("limit", "no version behind 2147483647", "another code",
      engine:load(auto '"beyond"'))
  end)

  it("is agreed on by two that begin at once with the same file", function()
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock)
    assert(a:load(auto '"one"'))
    local path, other = auto '"two"', nil
    -- a has seen that there is none behind 1; b is quicker
    probe.fault("register.before=call", function()
      other = assert(b:load(path))
    end)
    local mine = assert(a:load(path))
    probe.fault(nil)
    assert.same({ 2, 2 }, { mine.version, other.version })
    assert.equal(mine.sha256, other.sha256)
    assert.equal("1.1 2.1", versions(a))
    for _, engine in ipairs { a, b } do
      local id = assert(engine:start "t.auto")
      assert.equal("two", finish(engine, clock, id))
    end
  end)

  it("is of each its own when two begin at once with others", function()
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock)
    local mine, theirs = auto '"mine"', auto '"theirs"'
    local other
    probe.fault("register.before=call", function()
      other = assert(b:load(theirs))
    end)
    local own = assert(a:load(mine))
    probe.fault(nil)
    assert.equal(1, other.version)
    assert.equal(2, own.version)
    assert.equal("1.1 2.1", versions(a))
    local id = assert(a:start("t.auto", {}, { version = 2 }))
    assert.equal("mine", finish(a, clock, id))
    id = assert(b:start("t.auto", {}, { version = 1 }))
    assert.equal("theirs", finish(b, clock, id))
  end)

  it("is agreed on where both have looked before one has stored", function()
    if backend.name == "sqlite" then return end -- one writer at a time
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock)
    for _, says in ipairs { '"mine"', '"theirs"' } do
      local code = says == '"mine"' and "t.auto" or "t.other"
      local mine, theirs = auto('"mine"', code), auto(says, code)
      local other
      probe.fault("register.looked=call", function()
        other = assert(b:load(theirs))
      end)
      local own = assert(a:load(mine))
      probe.fault(nil)
      assert.equal(1, other.version)
      assert.equal(says == '"mine"' and 1 or 2, own.version)
    end
  end)

  it("does not undo a hot-fix with the file from before", function()
    local engine = backend.fresh()
    local old = auto '"wrong"'
    assert(engine:load(old))
    local fixed = auto '"right"'
    assert.equal(1, assert(engine.workflows:hotfix(fixed,
      { reason = "wrong" })).version)
    kit.refused("exists", "stored with other contents", "it was hot%-fixed",
      engine:load(old))
    assert.equal(1, assert(engine:load(fixed)).version)
    assert.equal("1.2", versions(engine))
    assert.equal(2, assert(engine:load(auto '"newer"')).version)
    kit.refused("notfound", "to be fixed", nil,
      engine.workflows:hotfix(auto('1', "t.none")))
  end)

  it("may be built by a program", function()
    local engine = backend.fresh()
    local function flow(after)
      local made = pawl.workflow { code = "t.auto", version = "auto",
        start = "t" }
      assert.equal("workflow t.auto auto", tostring(made))
      made:timer("t", { after = after, next = "z" })
      made:finish "z"
      return made
    end
    assert.equal(1, assert(engine:load(flow "1h")).version)
    assert.equal(1, assert(engine:load(flow "1h")).version)
    assert.equal(2, assert(engine:load(flow "2h")).version)
    assert.equal(2, assert(engine:load(flow "2h")).version)
    assert.equal("1.1 2.1", versions(engine))
  end)

  it("is no other word, and no version that a check makes up", function()
    local engine = backend.fresh()
    for _, word in ipairs { "next", "AUTO", "1" } do
      local ok, err = engine:load(tmp.file("flow.lua",
        (text("t.auto", 1, "1"):gsub("version = 1",
          ('version = "%s"'):format(word)))))
      kit.refused("definition", "'version'.*cannot be", 'version = "auto"',
        ok, err)
    end
    local graph = assert(engine:check(auto '"one"'))
    assert.equal("auto", graph.version)
    assert.equal("", versions(engine))
  end)
end)
