-- How `pawl show` and `pawl list` are read: times, what is cut, --watch.
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local function folder(input)
  local here = command.folder()
  here:write("timer.lua", flows.timer)
  here:pawl("start", "t.timer", "-i", input or "{}")
  assert.equal(0, here:pawl("worker", "timer.lua", "--until-idle").code)
  return here, here:json("list")[1].id
end

--- What a terminal of 80 columns is shown.
local function shown(here, words, env)
  local given = { TERM = "xterm", LANG = "C.UTF-8", LC_ALL = "C.UTF-8",
    COLUMNS = "80", PAWL_STORE = "" }
  for name, value in pairs(env or {}) do given[name] = value end
  local _, out = process.run({ "script", "-qec", words, "/dev/null" },
    { cwd = here.dir, stdin = "", env = given })
  return (out:gsub("\r", ""))
end

describe("times for people", function()
  after_each(tmp.cleanup)

  it("are where they are, named, and told from now", function()
    local here, id = folder()
    local created = here:json("show", id).times.created
    assert.matches("^%d+%-%d+%-%d+T%d+:%d+:%d+%.%d+Z$", created)
    local utc = here:pawl("show", id, { env = { TZ = "UTC0" } }).out
    local day = created:sub(1, 19):gsub("T", " "):gsub("%-", "%%-")
    assert.matches("\ncreated      " .. day .. " UTC %(%d+s ago%)\n", utc)
    assert.matches("\ndue          [%d:%- ]+ UTC %(in %d+%l%)\n", utc)
    local east = here:pawl("show", id, { env = { TZ = "XST-05:30" } })
    local hour, minute = east.out:match "\ncreated +%S+ (%d+):(%d+):%d+ XST "
    local of_day = created:sub(12, 13) * 60 + created:sub(15, 16)
    assert.equal((of_day + 330) % 1440, hour * 60 + minute)
  end)

  it("are the same in all that they read, and UTC in JSON", function()
    local here, id = folder()
    local east = { env = { TZ = "XST-05:30" } }
    for _, name in ipairs { "tokens", "explain" } do
      assert.matches("%d%d:%d%d:%d%d XST", here:pawl(name, id, east).out)
    end
    assert.is_nil(here:pawl("explain", id, "--json", east).out:find("XST",
      1, true))
  end)
end)

describe("pawl show on a terminal", function()
  after_each(tmp.cleanup)

  it("cuts what is long, and says how to see the rest", function()
    local here, id = folder('{"text":"' .. ("x"):rep(100) .. 'end"}')
    local out = shown(here, command.path .. " show " .. id)
    assert.is_nil(out:find("xend", 1, true))
    for line in out:gmatch "[^\n]+" do
      assert(utf8.len((line:gsub("\27%[%d*m", ""))) <= 80, line)
    end
    local how = assert(out:match "`pawl (show %x+ %-%-full)` has all")
    out = shown(here, command.path .. " " .. how)
    assert.matches("xend", out, 1, true)
    assert.is_nil(out:find("cut", 1, true))
    assert.matches("xend", here:pawl("show", id).out, 1, true)
  end)

  it("says nothing of a rest that there is not", function()
    local here, id = folder()
    assert.is_nil(shown(here, command.path .. " show " .. id)
      :find("--full", 1, true))
  end)
end)

describe("--watch", function()
  after_each(tmp.cleanup)

  it("looks again and again until it is stopped", function()
    local here, id = folder()
    for _, words in ipairs { "list", "show " .. id } do
      local out = shown(here, ("timeout -s INT 3 %s %s --watch"):format(
        command.path, words))
      local _, frames = out:gsub("\27%[H\27%[2J", "")
      assert.equal(2, frames)
      assert.truthy(select(2, out:gsub("waiting", "")) >= frames)
      assert.matches("Ctrl-C ends", out, 1, true)
    end
  end)

  it("counts all there are, and not as many as a screen has room for",
    function()
      local here = folder()
      here:write("many.jsonl", ("{}\n"):rep(24))
      assert.equal(0, here:pawl("start", "t.timer", "--many",
        "many.jsonl").code)
      for words, counted in pairs { ["--count"] = "\27%[H\27%[2J25\n",
        ["--group-by workflow"] = "\n +25  t.timer\n25\n" } do
        assert.matches(counted, shown(here, ("timeout -s INT 1 %s list "
          .. "--watch %s"):format(command.path, words)))
      end
    end)

  it("is refused where nobody watches", function()
    local here, id = folder()
    for _, words in ipairs { { "list", "--watch" },
      { "show", id, "--watch" }, { "list", "--watch", "--json" } } do
      local ran = here:pawl(table.unpack(words))
      assert.equal(2, ran.code)
      assert.matches("for people at a terminal", ran.err)
      assert.equal("", ran.out)
    end
  end)
end)
