--- Disks that are full, fail, or cannot be written. SQLite only: a full disk
--- under PostgreSQL is PostgreSQL's to survive, and answers 53100 or restarts,
--- which lost_spec has.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local process = require "spec.support.process"
local Site = require "spec.support.site"
local tmp = require "spec.support.tmp"

local sqlite = backends[1]
local gated = Site.steps 'if not exists "g.open" then gate "g" end'

local function run(...)
  return process.run({ ... }) == 0
end

describe("a disk under SQLite", function()
  after_each(function()
    probe.fault(nil)
    process.stop_all()
    sqlite.cleanup()
  end)

  --- Lets the handlers go on and waits for the worker's complaint.
  local function complains(site, worker, pattern)
    site:open "g"
    assert.truthy(worker:wait_for(pattern, 10),
      worker:output() .. worker:errors())
    assert.equal(0, site:recorded())
  end

  local function finish(site, worker, ids)
    assert.truthy(site:wait_ended(#ids, 30),
      worker:output() .. worker:errors())
    worker:kill "TERM"
    assert.equal(0, worker:wait(10), worker:errors())
    site:assert_complete(ids)
    assert.equal(#ids * 5, #site:runs()) -- results were kept, not made again
  end

  it("that fails is waited for, and no instance fails with it", function()
    local site = Site.new(sqlite, gated)
    local worker = site:worker { -- files past a limit cannot be written
      under = { "bash", "-c", 'trap "" XFSZ; exec "$@"', "bash" } }
    local function limit(bytes)
      assert.truthy(run("prlimit", "--pid", tostring(worker.pid),
        "--fsize=" .. bytes .. ":unlimited"))
    end
    assert.truthy(worker:wait_for("loaded t.crash", 10))
    local ids = site:start(10)
    site:wait_gate "g"
    limit(8192) -- of the log, which is begun anew now and then
    complains(site, worker, "Z store: .* trying again")
    limit "unlimited"
    finish(site, worker, ids)
  end)

  --- A small disk of our own; nil where we may not mount one.
  local function mount()
    local dir = tmp.dir()
    if not run("mount", "-t", "tmpfs", "-o", "size=4m", "pawl-spec", dir) then
      pending "no right to mount a small disk: run as root"
      return nil
    end
    finally(function()
      process.stop_all()
      assert(run("umount", "--lazy", dir))
    end)
    return dir
  end

  it("that is full is told, and waited for", function()
    local dir = mount()
    if not dir then return end
    local site = Site.new(sqlite, gated, dir .. "/pawl.db")
    local worker = site:worker()
    assert.truthy(worker:wait_for("loaded t.crash", 10))
    local ids = site:start(10)
    site:wait_gate "g"
    assert.is_false(run("dd", "if=/dev/zero", "of=" .. dir .. "/ballast",
      "bs=4k"))
    local large, ran = '"' .. ("x"):rep(100000) .. '"', nil
    for _ = 1, 20 do -- until the log has no room of its own
      ran = site.folder:pawl("start", "t.crash", "--input", large, "--store",
        site.url)
      if ran.code ~= 0 then break end
      ids[#ids + 1] = ran.out:match "%S+"
    end
    assert.matches("^pawl: full: ", ran.err)
    assert.matches("hint: make room", ran.err)
    site:open "g" -- small commits may have room still
    assert.truthy(worker:wait_for("Z full: .* trying again", 10),
      worker:output() .. worker:errors())
    os.remove(dir .. "/ballast")
    finish(site, worker, ids)
  end)

  for _, durability in ipairs { "every", "grouped", "save" } do
    it("that is full can be pruned free: " .. durability, function()
      local dir = mount()
      if not dir then return end
      local url = dir .. "/" .. durability .. ".db"
      local engine <close> = assert(pawl.open(url,
        { durability = durability }))
      assert(engine:load(kit.one(function(ctx)
        ctx.vars.text = ("x"):rep(3000)
      end)))
      local ok, id, err
      for i = 1, 5000 do
        ok, err = engine:start "t.one"
        if ok and i % 50 == 0 then ok, err = engine:run() end
        if not ok then break end
      end
      assert.is_nil(ok)
      assert.matches("full", tostring(err))
      local tries = 0
      repeat -- what was held is given back
        tries = tries + 1
      until engine:run() or tries == 50
      local gone = assert(engine:prune { retain = 0, share = 100 })
      assert.is_true(gone.instances.removed > 50 and gone.freed_bytes > 1e6)
      id = assert(engine:start "t.one")
      assert(engine:run())
      assert.completed(engine, id)
      assert.is_true(assert(engine:health()).sound)
    end)
  end

  it("that is full has its log put into the file, and the commit repeated",
    function()
      local engine, clock, url = sqlite.fresh()
      assert(engine:load(kit.one()))
      probe.fault "commit.full=fail@1"
      local id = assert(engine:start "t.one")
      probe.fault "commit.full=fail@1,commit.full=fail@2"
      local none, err = engine:start "t.one"
      assert.is_nil(none)
      assert.equal("full", err.code)
      probe.fault(nil)
      assert(engine:start "t.one")
      probe.fault "commit.full=fail@2" -- in a tick
      local stats
      repeat stats, err = engine:run() until stats or err.code ~= "busy"
      assert(stats, err)
      assert.equal("completed", kit.status(engine, id))
      assert.equal(2, kit.count(sqlite, url, "instance"))
      clock:advance(1)
      assert.is_true(assert(engine:health()).sound)
    end)

  it("may be small: the log gets no longer than is said", function()
    for bytes, most in pairs { [100000] = 400000, [1] = 300000 } do
      local engine, _, url = sqlite.fresh { checkpoint_bytes = bytes }
      assert(engine:load(kit.one()))
      for _ = 1, 300 do
        assert(engine:start("t.one", { text = ("x"):rep(5000) }))
        assert.is_true(#tmp.read(url .. "-wal") <= most, bytes)
      end
      assert(engine:run())
    end
  end)

  it("keeps the log of who reads, for as long as he does", function()
    local engine, clock, url = sqlite.fresh { checkpoint_bytes = 65536 }
    assert(engine:load(kit.timer()))
    local large = { text = ("x"):rep(5000) }
    local function log() return #tmp.read(url .. "-wal") end
    local function write(n)
      local most = 0
      for _ = 1, n do
        assert(engine:start("t.timer", large))
        most = math.max(most, log())
      end
      return most
    end
    -- one that is open and asks now and then is in nobody's way
    local beside = kit.store(url, clock)
    local function ask()
      assert(beside:send("workflow_newest", { code = "t.timer" }))
    end
    for _ = 1, 5 do
      assert.is_true(write(20) <= 400000)
      assert(beside:begin "read")
      ask()
      assert(beside:commit())
    end
    -- one that stays at its question is
    assert(beside:begin "read")
    ask()
    local grown = write(200)
    assert.is_true(grown > 1000000, grown)
    assert.is_true(grown >= log())
    beside:rollback()
    write(1)
    assert(engine:wait(0)) -- an idle moment
    assert.is_true(log() <= 400000, log())
    assert.is_true(write(50) <= 400000)
    assert.is_true(assert(engine:health()).sound)
  end)

  it("that is full is told where the store has no file beside yet", function()
    local dir = mount()
    if not dir then return end
    local site = Site.new(sqlite, Site.steps(), dir .. "/pawl.db")
    site:start(1)
    assert.is_false(run("dd", "if=/dev/zero", "of=" .. dir .. "/ballast",
      "bs=4k"))
    local ran = site.folder:pawl("list", "--store", site.url)
    assert.matches("^pawl: full: ", ran.err)
    assert.matches("hint: make room", ran.err)
    os.remove(dir .. "/ballast")
    assert.equal(0, site.folder:pawl("list", "--store", site.url).code)
  end)

  it("that is full has the log's room used again, and goes on later",
    function()
      local dir = mount()
      if not dir then return end
      local url = dir .. "/pawl.db"
      local engine <close> = assert(pawl.open(url,
        { checkpoint_bytes = 65536 }))
      assert(engine:load(kit.timer()))
      local large = { text = ("x"):rep(20000) }
      local first
      for _ = 1, 30 do first = assert(engine:start("t.timer", large)) end
      for _ = 1, 20 do -- whose pages will be free
        local gone = assert(engine:start("t.timer", large))
        assert(engine:cancel(gone))
        assert(engine:purge(gone))
      end
      assert.is_false(run("dd", "if=/dev/zero", "of=" .. dir .. "/ballast",
        "bs=1k"))
      -- its pages are there, and the log has its own room
      local n, err = 0, nil
      for _ = 1, 2000 do
        local ok
        ok, err = engine:note(first, { text = "n" })
        if not ok then break end
        n = n + 1
      end
      assert.is_true(n > 20, tostring(err) .. n)
      -- what needs pages that there are not
      local refused
      for _ = 1, 200 do
        local id
        id, refused = engine:start("t.timer", large)
        if not id then break end
      end
      assert.equal("full", refused.code, tostring(refused))
      assert.matches("make room", refused.hint)
      if err then assert.equal("full", err.code, tostring(err)) end
      assert(engine:get(first)) -- it can be asked
      os.remove(dir .. "/ballast")
      assert(engine:start("t.timer", large))
      assert(engine:note(first, { text = "again" }))
      assert.is_true(assert(engine:health()).sound)
    end)

  it("that can only be read has stores that are asked, and restored elsewhere",
    function()
      local dir = mount()
      if not dir then return end
      local url, slot = dir .. "/pawl.db", dir .. "/slot.db"
      local engine = assert(pawl.open(url))
      assert(engine:load(kit.one()))
      local id = assert(engine:start "t.one")
      assert(engine:backup(slot))
      engine:close()
      local files = {}
      for name in assert(io.popen("ls " .. dir)):lines() do
        files[#files + 1] = name
      end
      assert.truthy(run("mount", "-o", "remount,ro", dir))
      for _, path in ipairs { url, slot } do
        local refused, err = pawl.open(path)
        assert.is_nil(refused)
        assert.equal("readonly", err.code)
        assert.matches("create", err.hint)
        local asked <close> = assert(pawl.open(path, { create = false }))
        assert.equal("created", assert(asked:get(id)).status)
        assert.equal(1, #assert(asked:list()))
        assert(asked:history(id))
        for _, call in ipairs {
          function() return asked:start "t.one" end,
          function() return asked:cancel(id) end,
          function() return asked:load(kit.timer()) end,
          function() return asked:restore(slot) end,
          function() return asked:backup(dir .. "/more.db") end,
          function() return asked:prune { retain = 0 } end,
        } do
          local ok
          ok, err = call()
          assert.is_nil(ok)
          assert.equal("readonly", err.code, tostring(err))
        end
        local folder = command.folder() -- and by the command
        for _, words in ipairs { { "list" }, { "show", id },
          { "history", id }, { "explain", id }, { "health" } } do
          words[#words + 1] = "--store"
          words[#words + 1] = path
          local ran = folder:pawl(table.unpack(words))
          assert.equal(0, ran.code, words[1] .. ran.err)
        end
        local ran = folder:pawl("cancel", id, "--store", path)
        assert.not_equal(0, ran.code)
        assert.matches("^pawl: readonly: ", ran.err)
        -- a save on a read-only medium is played on in memory
        local played <close> = assert(pawl.open(":memory:"))
        assert(played:load(kit.one()))
        assert(played:restore(path))
        assert(played:run())
        assert.equal("completed", assert(played:get(id)).status)
        local copy = tmp.dir() .. "/copy.db"
        assert(asked:backup(copy))
        local copied <close> = assert(pawl.open(copy))
        assert.equal("created", assert(copied:get(id)).status)
      end
      local after = {}
      for name in assert(io.popen("ls " .. dir)):lines() do
        after[#after + 1] = name
      end
      assert.same(files, after)
    end)

  it("that cannot be written is told at once, and not waited for", function()
    local site, forbid, allow
    if run("test", "-w", "/proc/1/oom_score_adj") then -- nothing stops root
      local dir = mount()
      if not dir then return end
      site = Site.new(sqlite, Site.steps(), dir .. "/pawl.db")
      forbid = { "mount", "-o", "remount,ro", dir }
      allow = { "mount", "-o", "remount,rw", dir }
    else
      site = Site.new(sqlite, Site.steps())
      forbid = { "chmod", "a-w", site.url }
      allow = { "chmod", "u+w", site.url }
    end
    local ids = site:start(3)
    assert.truthy(run(table.unpack(forbid)))
    local ran = site.folder:pawl("start", "t.crash", "--store", site.url)
    assert.matches("^pawl: readonly: .*cannot be written", ran.err)
    assert.matches("hint: let this user write", ran.err)
    local early = site:worker()
    assert.equal(5, early:wait(10), early:output() .. early:errors())
    assert.matches("readonly: ", early:errors())
    assert.truthy(run(table.unpack(allow)))
    finish(site, site:worker(), ids)
  end)
end)
