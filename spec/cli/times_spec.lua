--- What the command takes for a time: a date, now, or a span, which is so
--- long ago of what has been, and so long from now of what is due.
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local tmp = require "spec.support.tmp"

describe("a time given to the command", function()
  local here, id

  before_each(function()
    here = command.folder()
    here:write("timer.lua", flows.timer)
    here:pawl("start", "t.timer", "-i", "{}", "--by", "ann")
    assert.equal(0, here:pawl("worker", "timer.lua", "--until-idle").code)
    id = here:json("list")[1].id
  end)

  after_each(tmp.cleanup)

  local function count(...) return #here:json(...) end

  it("is a span back in time where it is of what has been", function()
    assert(count("audit") > 0)
    assert.equal(count("audit"), count("audit", "--since", "1d"))
    assert.equal(0, count("audit", "--until", "1d"))
    assert.equal(1, count("list", "--created-after", "1d"))
    assert.equal(0, count("list", "--created-before", "1d"))
    local all = count("history", id)
    assert(all > 0)
    assert.equal(all, count("history", id, "--completed-after", "1d"))
    assert.equal(0, count("history", id, "--completed-before", "1d"))
    assert.equal(0, count("outbox", "list", "--emitted-before", "1d"))
    assert.equal(0, count("task", "list", "--created-after", "1d"))
    assert.equal(0, count("task", "list", "--created-before", "1d"))
  end)

  it("is shown as one where an attribute is", function()
    id = here:pawl("start", "t.timer", "--attr", "day=@2026-01-31").out
      :match "%S+"
    local told = '{"day":{"type":"date","value":"2026-01-31T00:00:00.000000Z"}}'
    assert.matches(told, here:pawl("show", id).out, 1, true)
    assert.matches(told, here:pawl("show", id, "--json").out, 1, true)
  end)

  it("is a span from now where it is of what is due", function()
    assert.equal(1, count("list", "--due-before", "520w"))
    assert.equal(0, count("list", "--due-before", "0s"))
    assert.equal(0, count("list", "--deadline-before", "8d"))
    assert.equal(0, count("task", "list", "--due-before", "8d"))
    assert.equal(0, count("task", "list", "--due-after", "8d"))
    local began = os.time()
    assert.equal(0, here:pawl("start", "t.timer", "-i", "{}", "--at",
      "2d").code)
    assert.equal(1, count("list", "--status", "created", "--due-before",
      "3d"))
    assert.equal(0, count("list", "--status", "created", "--due-before",
      "1d"))
    assert(os.time() - began < 86400)
    local ran = here:pawl("task", "edit", id, "--due", "2d")
    assert.equal(3, ran.code) -- there is no such task: the time was taken
  end)

  it("is a date or now, too, and else refused with what it may be", function()
    for _, words in ipairs { { "audit", "--since" },
      { "list", "--due-before" } } do
      assert.equal(0, here:pawl(words[1], words[2], "2026-01-31").code)
      assert.equal(0, here:pawl(words[1], words[2], "now").code)
      local ran = here:pawl(words[1], words[2], "soon")
      assert.equal(2, ran.code)
      assert.matches("'soon' is not a time", ran.err, 1, true)
    end
    assert.matches("or how long ago: 90m", here:pawl("audit", "--since",
      "soon").err, 1, true)
    assert.matches("or in how long: 90m", here:pawl("list", "--due-before",
      "soon").err, 1, true)
  end)

  it("is explained by --help and the manual, where one is taken", function()
    for _, words in ipairs { { "audit", "so long ago%." },
      { "start", "so long from now%." },
      { "task", "so%s+long%s+ago%s+where" } } do
      local help = here:pawl(words[1], "--help").out
      assert.matches("A TIME is UTC", help, 1, true)
      assert.matches((words[2]:gsub(" ", "%%s+")), help)
      assert.matches("A TIME is UTC", here:pawl("man", words[1]).out, 1, true)
    end
    assert.is_nil(here:pawl("stats", "--help").out:find("A TIME", 1, true))
  end)
end)
