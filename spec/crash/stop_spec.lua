--- Clean stops, and power cuts of `pawl run`.
local Site = require "spec.support.site"
local process = require "spec.support.process"
local system = require "system"

Site.each("a worker that is told to stop", function(new)
  it("finishes what runs and gives back what was not begun", function()
    local site = new(Site.steps 'if not exists "g.open" then gate "g" end')
    local ids = site:start(30)
    local worker = site:worker()
    site:wait_gate "g"
    assert.equal(30, site:number "select count(*) from pawl.agenda \
      where lease is not null")
    worker:kill "TERM"
    site:open "g"
    assert.equal(0, worker:wait(10), worker:output() .. worker:errors())
    assert.matches("stopped: 1 steps, 0 instances ended", worker:output())
    assert.equal(1, site:recorded())
    assert.equal(30, site:number "select count(*) from pawl.agenda \
      where lease is null and takeovers = 0")
    site:drain()
    site:assert_complete(ids)
    assert.equal(150, #site:runs())
    assert.equal(0, site:number "select count(*) from pawl.history \
      where type = 'recovered'")
  end)

  it("dies at once when it is told twice", function()
    local site = new(Site.steps 'if not exists "g.open" then gate "g" end')
    local ids = site:start(3)
    local worker = site:worker()
    site:wait_gate "g"
    worker:kill "INT" -- two of the same might be seen as one
    worker:kill "TERM"
    local code = worker:wait(5)
    assert.truthy(code == 130 or code == 143, code)
    assert.equal(0, site:recorded())
    site:open "g"
    site:drain()
    site:assert_complete(ids)
    assert.equal(16, #site:runs())
  end)
end)

local STOPPING = "stopping: a handler that runs is finished first, one in "
  .. "ctx.await begins anew later; press Ctrl-C again to stop at once\n"

Site.each("a worker whose handler takes long", function(new)
  it("says at once that it stops", function()
    for _, words in ipairs { {}, { "--processes", "2" } } do
      local site = new(Site.steps 'if not exists "g.open" then gate "g" end')
      local ids = site:start(1)
      local worker = site:worker(words)
      site:wait_gate "g"
      worker:kill "INT"
      assert.truthy(process.poll(10, function()
        return worker:errors():find(STOPPING, 1, true)
      end), worker:errors())
      assert.is_nil(worker:code())
      site:open "g"
      assert.equal(0, worker:wait(20), worker:errors())
      local _, times = worker:errors():gsub("stopping: a handler", "")
      assert.equal(1, times)
      site:drain()
      site:assert_complete(ids)
    end
  end)

  it("stops also while its processes begin", function()
    local site = new(Site.steps())
    for i = 1, 12 do
      local worker = site:worker { "--processes", "2" }
      assert.truthy(process.poll(10, function()
        return worker:output():find("2 workers on ", 1, true)
      end), worker:errors())
      system.sleep(i * 0.003)
      worker:kill "INT"
      assert.equal(0, worker:wait(20), worker:errors())
    end
  end)

  it("says so when it is `pawl run`", function()
    local site = new(Site.steps 'if not exists "g.open" then gate "g" end')
    local run = site.folder:start("run", "flow.lua", "--store", site.url)
    site:wait_gate "g"
    run:kill "TERM"
    assert.truthy(process.poll(10, function()
      return run:errors():find(STOPPING, 1, true)
    end), run:errors())
    assert.is_nil(run:code())
    site:open "g"
    assert.equal(143, run:wait(20))
  end)
end)

Site.each("a power cut of `pawl run`", function(new)
  --- `pawl run` of the site's file, in the background.
  local function run(site, fault, ...)
    local words = { "run", "flow.lua", "--store", site.url, ... }
    words[#words + 1] = { env = { PAWL_FAULT = fault or "" } }
    return site.folder:start(table.unpack(words))
  end

  it("is gone on from the last finished step, at once", function()
    local site = new(Site.flow { { "a" }, { "b" },
      { "c", 'if not exists "g.open" then gate "g" end' }, { "d" } })
    local first = run(site)
    site:wait_gate "g"
    first:kill "KILL"
    assert.equal(137, first:wait(10))
    assert.equal(2, site:recorded())
    site:open "g"
    local second = run(site)
    -- a lease is 30 seconds; its holder is seen to be dead
    assert.equal(0, second:wait(15), second:output() .. second:errors())
    assert.matches("^resuming ", second:errors())
    local id = site.folder:json("list", "--store", site.url)[1].id
    site:assert_complete { id }
    assert.same({ id .. " a", id .. " b", id .. " c", id .. " c",
      id .. " d" }, site:runs())
  end)

  it("loses no step, whichever commit it comes at", function()
    local site = new(Site.flow { { "a" }, { "b" }, { "c" } })
    local deaths, passage, ids = 0, 0, {}
    for _, point in ipairs { "before", "after" } do
      local code
      repeat
        passage = passage + 1
        local key = ("%d"):format(passage)
        local fault = ("engine.commit.%s=kill@%d"):format(point,
          (passage - 1) % 4 + 1)
        local child = run(site, fault, "--key", key)
        code = child:wait(20)
        if code ~= 0 then
          assert.equal(137, code, child:output() .. child:errors())
          deaths = deaths + 1
          child = run(site, nil, "--key", key)
          assert.equal(0, child:wait(20), child:output() .. child:errors())
          local last = point == "after" and deaths == 6
          assert.matches(last and "^already ended " or "^resuming ",
            child:errors())
        end
      until code == 0 or passage == 20
    end
    assert.equal(6, deaths) -- each of three steps, before and after
    for i, it in ipairs(site.folder:json("list", "--store", site.url)) do
      ids[i] = it.id
    end
    assert.equal(8, #ids)
    site:assert_complete(ids)
    assert.equal(24 + 3, #site:runs()) -- what was not stored ran again
  end)
end)
