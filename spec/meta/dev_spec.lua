--- ./dev on a machine that lacks something: what it installs, what it says.
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local dev = tmp.read "dev"

--- The words of a variable that ./dev sets in double quotes.
local function words_of(name)
  local words = {}
  for word in assert(dev:match(name .. '="(.-)"')):gmatch "%S+" do
    words[#words + 1] = word
  end
  return words
end

--- A folder with links to all programs of this machine except some.
local function path_without(...)
  local dir = tmp.dir()
  for _, from in ipairs { "/usr/sbin", "/usr/bin", "/usr/local/bin" } do
    shell.output { "sh", "-c", "ln -sf " .. from .. "/* " .. dir .. "/" }
  end
  for _, name in ipairs { ... } do os.remove(dir .. "/" .. name) end
  return dir
end

local function stub(dir, name, body)
  os.remove(dir .. "/" .. name)
  local file <close> = assert(io.open(dir .. "/" .. name, "w"))
  assert(file:write("#!/bin/sh\n", body, "\n"))
  shell.output { "chmod", "+x", dir .. "/" .. name }
end

local function run(path, ...)
  return process.run({ "./dev", ... }, { env = { PATH = path } })
end

describe("./dev on a machine that lacks", function()
  it("packages tells of installing them on standard error alone", function()
    local path = path_without()
    stub(path, "dpkg-query", "exit 1")
    stub(path, "sudo", 'exec "$@"')
    stub(path, "apt-get", 'echo "Selecting previously unselected $1"')
    stub(path, "cmake", "echo configured")
    local code, out, err = run(path, "build")
    assert.equal("", out)
    assert.matches("Selecting previously unselected install", err, 1, true)
    assert.equal(0, code)
  end)

  it("a program says so, and which package has it, before it tests", function()
    local path = path_without("make", "psql")
    stub(path, "dpkg-query", "echo installed")
    local code, out, err = run(path, "test", "spec/none")
    assert.equal("", out)
    assert.equal("dev: not in PATH: make (Debian's package make), "
      .. "psql (Debian's package postgresql)\n", err)
    assert.equal(1, code)
  end)
end)

describe("./dev names the package of", function()
  local installed = {}
  for _, name in ipairs(words_of "PACKAGES_BUILD") do
    installed[name] = true
  end
  for _, name in ipairs(words_of "PACKAGES_TEST") do
    installed[name] = true
  end

  for _, pair in ipairs(words_of "PROGRAMS_TEST") do
    local program, package = pair:match "^([^:]+):?(.*)$"
    it("the program " .. program, function()
      assert.is_true(installed[package ~= "" and package or program])
    end)
  end
end)

--- The first words of commands that a Lua file runs, where they are written
--- out: `process.run({ "make", ...`, `shell.output { "cp", ...`.
local function commands_of(text)
  local found = {}
  for _, call in ipairs { "process%.run", "process%.start", "shell%.output" } do
    for words in text:gmatch(call .. '%s*%(?%s*{(.-)}') do
      local first = words:match '^%s*"([^"]+)"'
      if first == "env" then
        first = words:match '^%s*"env",%s*"%-u",%s*"[%w_]+",%s*"([^"]+)"'
      end
      if first then found[first] = true end
    end
  end
  return found
end

describe("what specs call", function()
  -- Programs of Debian's essential packages.
  local known = {}
  for name in ([[bash chmod cp dd env find id install kill ln mkdir mkfifo
    mktemp nproc rm runuser script setpriv sh stat touch true truncate
    ./dev]]):gmatch "%S+" do
    known[name] = true
  end
  for _, pair in ipairs(words_of "PROGRAMS_TEST") do
    known[pair:match "^[^:]+"] = true
  end

  it("is on every Debian or looked for by ./dev test", function()
    local list = shell.output { "find", "spec", "bench", "-name", "*.lua" }
    local calls = 0
    for path in list:gmatch "[^\n]+" do
      for name in pairs(commands_of(tmp.read(path))) do
        calls = calls + 1
        assert.is_true(known[name], path .. " calls " .. name
          .. ": PROGRAMS_TEST of ./dev does not have it")
      end
    end
    assert.is_true(calls > 20)
  end)
end)

describe("a PostgreSQL of a run", function()
  local function bash(script, ...)
    return (shell.output { "bash", "-c", "set -e; . spec/support/postgres.sh; "
      .. script, "bash", ... }:gsub("%s+$", ""))
  end

  local function exists(path)
    return os.execute("test -e " .. shell.quote(path)) == true
  end

  it("that was killed is ended by the next run, with its files", function()
    if not os.getenv "PAWL_TEST_PG" then
      pending "PAWL_TEST_PG is not set"
      return
    end
    local START = "postgres_start fsync=off; echo $postgres_dir; "
      .. "head -1 $postgres_dir/data/postmaster.pid"
    -- of a process that is gone, and of one that is there: busted
    local dead, pid = bash("export PAWL_OWNER=$$; " .. START)
      :match "(%S+)\n(%d+)"
    local lives = bash(START):match "%S+"
    assert.is_true(exists(lives) and exists(dead))
    bash "postgres_reap"
    assert.is_false(exists(dead))
    assert.is_true(process.poll(5, function()
      return not exists("/proc/" .. pid)
    end))
    local has_owner = (os.getenv "PAWL_OWNER" or "") ~= ""
    assert.is_true(exists(lives), has_owner and "it had an owner" or "")
    bash("postgres_dir=$1; postgres_stop", lives)
    assert.is_false(exists(lives))
  end)

  it("ends with ./dev torture, and so do its workers, by a SIGTERM", function()
    if not os.getenv "PAWL_TEST_PG" then
      pending "PAWL_TEST_PG is not set"
      return
    end
    local function ours(pid)
      return tonumber((bash([[n=0
        for p in /proc/[0-9]*; do
          if { tr '\0' '\n' <$p/environ | grep -qx "PAWL_OWNER=$1"; } \
            2>/dev/null; then n=$((n + 1)); fi
        done
        echo $n]], tostring(pid))))
    end
    local scratch = tmp.dir()
    local torture = process.start({ "./dev", "torture", "60", "postgres" },
      { env = { TMPDIR = scratch } })
    assert.truthy(process.poll(60, function() return ours(torture.pid) > 8 end),
      torture:errors())
    torture:kill "TERM"
    assert.equal(143, torture:wait(30), torture:errors())
    assert.is_true(process.poll(10, function() -- the last one is about to go
      return ours(torture.pid) == 0
    end, 0.2))
    for dir in bash("ls -d /tmp/pawl-pg.* || true"):gmatch "%S+" do
      local owner = tmp.read(dir .. "/owner") or ""
      assert.not_equal(tostring(torture.pid), owner:match "^%d+")
    end
    assert.equal("", bash("ls $1", scratch))
  end)
end)
