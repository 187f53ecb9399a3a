--- Disks that are full, fail, or cannot be written. SQLite only: a full disk
--- under PostgreSQL is PostgreSQL's to survive, and answers 53100 or restarts,
--- which lost_spec has.
local backends = require "spec.support.backends"
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
    limit(#tmp.read(site.url .. "-wal"))
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
    local ran = site.folder:pawl("start", "t.crash", "--store", site.url)
    assert.matches("^pawl: full: ", ran.err)
    assert.matches("hint: make room", ran.err)
    complains(site, worker, "Z full: .* trying again")
    os.remove(dir .. "/ballast")
    finish(site, worker, ids)
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

  it("that cannot be written is told, and waited for", function()
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
    local worker = site:worker()
    assert.truthy(worker:wait_for("Z readonly: .* trying again", 10),
      worker:output() .. worker:errors())
    assert.truthy(run(table.unpack(allow)))
    finish(site, worker, ids)
  end)
end)
