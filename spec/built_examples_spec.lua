-- examples/game and examples/appliance are built from an installed pawl, by the
-- commands of their README, and do what it says.
local installed = require "spec.support.installed"
local process = require "spec.support.process"
local receiver = require "spec.support.datagrams"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

--- The fenced blocks of a text in one language, in order.
local function blocks(text, language)
  local found = {}
  for block in text:gmatch("\n```" .. language .. "\n(.-)```") do
    found[#found + 1] = block
  end
  return found
end

--- A copy of an example, built by the n-th block of its README.
local function built(name, n)
  local dir = tmp.dir()
  shell.output { "sh", "-c", "cp -r examples/" .. name .. "/. " .. dir }
  local readme = tmp.read("examples/" .. name .. "/README.md")
  local commands = blocks(readme, "sh")
  -- what the environment has for the sanitizers, which cc does not read
  installed.sh(dir, (commands[n]:gsub("\n(c[c+]%+?) ",
    "\n%1 $CFLAGS ")))
  table.move(commands, 3, #commands, 1)
  commands[#commands], commands[#commands - 1] = nil, nil
  return dir, commands, blocks(readme, "text")
end

--- What was said, without the times, which a slow machine shifts.
local function timeless(text)
  return (text:gsub("%f[%d]%d+%.%d%d s", "- s"):gsub(" +", " "))
end

local function check_said(output, expected)
  local said = timeless(output)
  for line in timeless(expected):gmatch "[^\n]+" do
    assert.matches(line, said, 1, true)
  end
end

local WAYS <const> = { "CMake", "pkg-config" }

for n, way in ipairs(WAYS) do
  describe("examples/game, built by " .. way .. ",", function()
    local dir, commands, said

    setup(function() dir, commands, said = built("game", n) end)

    it("is played, saved in C and gone on with in C++", function()
      check_said(installed.sh(dir, commands[1]), said[1])
      assert.equal("one.save\nplayed.db\n", installed.sh(dir,
        "ls slots | grep -v -e played.db- -e -pawl-lock"))
    end)

    for _, program in ipairs { "game", "game-cc" } do
      it(program .. " is not hung by its mods", function()
        local line = commands[2]:gsub("build/game", "build/" .. program)
        local output = installed.sh(dir, line)
        check_said(output, said[2])
        assert.matches("mod.greedy: failed", output, 1, true)
        local longest = tonumber(output:match "longest frame: (%d+) ms")
        assert.is_true(longest < 250, output)
        assert.matches("instructions", installed.sh(dir,
          "sqlite3 slots/played.db \"select error from pawl_instance_view "
          .. "where workflow = 'mod.greedy'\""))
      end)

      it(program .. " saves often, and each slot goes on", function()
        installed.sh(dir, "mkdir -p many && build/" .. program
          .. " many --fast --frames 65 --save a")
        installed.sh(dir, "build/" .. program
          .. " many --load a --fast --frames 3 --save a")
        local output = installed.sh(dir, "build/" .. program
          .. " many --load a --fast --frames 600")
        assert.matches("gold: 9\n", output)
        local _, wolves = output:gsub("A wolf comes", "")
        assert.is_true(wolves <= 1)
      end)

      it(program .. " says which slot is not there", function()
        local code, _, err = process.run({ "env", "-u", "LD_PRELOAD", "sh",
          "-c", "build/" .. program .. " slots --load none" },
          { cwd = dir, env = installed.env() })
        assert.equal(1, code)
        assert.equal("game: notfound: slots/none.save: there is no store\n",
          err)
      end)
    end
  end)

  describe("examples/appliance, built by " .. way .. ",", function()
    local dir, commands, said

    setup(function() dir, commands, said = built("appliance", n) end)

    local function check_flash(folder)
      assert.equal(said[1], installed.sh(dir, "sqlite3 " .. folder
        .. "/appliance.db 'select slot, version, trial, switched from boot'"))
      assert.equal("20\n0\n", installed.sh(dir, ("grep -c pump %s/journal; "
        .. "cut -d' ' -f1 %s/journal | sort | uniq -d | wc -l")
        :format(folder, folder)))
      assert.equal("400000\n", installed.sh(dir,
        "stat -c %s " .. folder .. "/slot1.img"))
    end

    it("brews, updates itself, and keeps its flash budget", function()
      local output = installed.sh(dir, commands[1])
      check_flash "flash"
      assert.matches("running 2.0 from slot 1", output, 1, true)
      local seen = 0
      for bytes, told in output:gmatch "flash: (%d+) bytes a step.-: (%w+)\n" do
        assert.is_true(tonumber(bytes) > 500)
        assert.equal("kept", told)
        seen = seen + 1
      end
      assert.is_true(seen >= 1)
    end)

    it("survives its power cuts", function()
      installed.sh(dir, commands[2])
      check_flash "cut"
      local _, starts = tmp.read(dir .. "/cut/log"):gsub("running ", "")
      assert.is_true(starts > 3, "it was hardly ever cut")
      assert.equal(said[1], installed.sh(dir, commands[3]))
    end)

    it("takes a firmware back that is not well", function()
      installed.sh(dir, "mkdir -p back; until build/appliance back --update "
        .. "2.1 --broken --until-done; do sleep 0.1; done")
      assert.equal("0|1.0|0|1\n", installed.sh(dir, "sqlite3 back/"
        .. "appliance.db 'select slot, version, trial, switched from boot'"))
    end)

    it("says when it has written more than it may", function()
      assert.matches("budget 10: BROKEN", installed.sh(dir, "mkdir -p much; "
        .. "build/appliance much --cups 1 --until-done --flash-budget 10"))
    end)

    it("gives signs of life, and ends by SIGTERM", function()
      local socket <close> = receiver.open()
      installed.sh(dir, "mkdir -p life")
      local env = installed.env()
      env.NOTIFY_SOCKET, env.WATCHDOG_USEC = socket.path, "100000"
      local child = process.start({ "env", "-u", "LD_PRELOAD", "sh", "-c",
        "exec build/appliance life" }, { cwd = dir, env = env })
      assert.equal("READY=1", socket:receive(20))
      assert.equal("WATCHDOG=1", socket:receive(5))
      assert.equal("WATCHDOG=1", socket:receive(5))
      child:kill "TERM"
      local last
      repeat last = socket:receive(5) until last ~= "WATCHDOG=1"
      assert.equal("STOPPING=1", last)
      assert.equal(0, child:wait(10))
    end)
  end)
end

describe("the units", function()
  after_each(process.stop_all)

  it("have what systemd waits for", function()
    local unit = tmp.read "examples/appliance/appliance.service"
    assert.matches("\nType=notify\n", unit)
    assert.matches("\nWatchdogSec=%d+\n", unit)
    assert.matches("\nRestart=always\n", unit)
  end)
end)
