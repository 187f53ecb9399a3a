-- pawl list as people see it: a table within the terminal, and why each stands
-- as it does.
local command = require "spec.support.command"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local FLOWS = {
  pay = [[
local f = pawl.workflow { code = "shop.order_fulfilment", version = 3,
  start = "pay" }
f:wait("pay", { event = "payment.*", key = "k", timeout = "2d", next = {
  received = "ask", timeout = "done" } })
f:task("ask", { title = "Look at it", users = { "ann" },
  next = { approved = "done" } })
f:finish "done"
return f]],
  bill = [[
local f = pawl.workflow { code = "shop.billing", version = 1, start = "pay" }
f:step("pay", { retry = { max = 1 }, next = "done", run = function()
  error { code = "card_declined", message = "the bank said no, and at such "
    .. "length that no terminal has room for it, however wide it may be, "
    .. "so that it is cut there" }
end })
f:finish "done"
return f]],
  again = [[
local f = pawl.workflow { code = "t.again", version = 1, start = "a" }
f:step("a", { retry = { max = 3, base = 5000, jitter = 0 }, next = "done",
  run = function() error "no luck" end })
f:finish "done"
return f]],
  long = [[
local f = pawl.workflow { code = "t.long", version = 1, start = "a" }
f:step("a", { retry = { max = 1 }, next = "done",
  run = function() error(("no luck "):rep(1500), 0) end })
f:finish "done"
return f]],
  nap = [[
local f = pawl.workflow { code = "t.nap", version = 1, start = "a" }
f:timer("a", { after = "3h", next = "done" })
f:finish "done"
return f]],
}

local function folder(...)
  local here = command.folder()
  local files = {}
  for _, name in ipairs { ... } do
    files[#files + 1] = here:write(name .. ".lua",
      'local pawl = require "pawl"\n' .. FLOWS[name])
  end
  function here.work(self)
    assert.equal(0, self:pawl("worker", "--until-idle",
      table.unpack(files)).code)
  end
  return here
end

--- What a terminal of that width is shown, without colours, by lines.
local function shown(here, width, ...)
  local words = table.concat({ command.path, ... }, " ")
  local code, out = process.run({ "script", "-qec", words, "/dev/null" }, {
    cwd = here.dir, stdin = "", env = { TERM = "xterm", LANG = "C.UTF-8",
      LC_ALL = "C.UTF-8", COLUMNS = tostring(width), PAWL_STORE = "" } })
  assert.equal(0, code, out)
  local lines = {}
  for line in out:gsub("\r", ""):gmatch "([^\n]+)\n" do
    lines[#lines + 1] = line
  end
  return lines, out
end

local function plain(line) return (line:gsub("\27%[%d*m", "")) end

--- By workflow, what its row says last.
local function reasons(here)
  local why = {}
  local out = here:pawl("list").out
  local at = out:find("WHY", 1, true)
  for line in out:gmatch "[^\n]+" do
    why[line:match "^%S+ +([%w._]+)"] = line:sub(at)
  end
  return why
end

describe("pawl list on a terminal", function()
  local here

  before_each(function()
    here = folder("pay", "bill")
    for _, words in ipairs { { "shop.order_fulfilment", "-i", '{"k":"a1"}' },
      { "shop.billing", "--business-key", "order-4711" } } do
      here:pawl("start", table.unpack(words))
    end
    here:work()
  end)

  after_each(tmp.cleanup)

  for _, width in ipairs { 60, 80, 140 } do
    it(("fits %d columns"):format(width), function()
      local lines = shown(here, width, "list")
      for _, line in ipairs(lines) do
        assert(utf8.len(plain(line)) <= width, line)
      end
      assert.matches("^ID +WORKFLOW ", plain(lines[1]))
      assert.matches("shop.billing@1 .*failed +pay +%d+s  card_decl",
        plain(lines[2]))
      assert.matches("fulfilment@3 .*waiting +pay +%d+s  event pay",
        plain(lines[3]))
      assert.equal("2 instances: 1 waiting, 1 failed", plain(lines[4]))
      assert.equal(width > 60, lines[2]:find("order-4711", 1, true) ~= nil)
      assert.matches("…", lines[2], 1, true)
    end)
  end

  it("colours what failed", function()
    local lines = shown(here, 80, "list")
    assert.matches("\27[31mfailed ", lines[2], 1, true)
    assert.matches("\27[36mwaiting", lines[3], 1, true)
    local _, out = shown(here, 80, "list", "--no-color")
    assert.is_nil(out:find("\27", 1, true))
  end)

  it("shows ends of ids, which every command takes", function()
    local id = here:json("list", "--status", "waiting")[1].id
    local short = shown(here, 80, "list")[3]:match "^(%x+)"
    assert.equal(id:sub(-8), short)
    for _, words in ipairs { { "show" }, { "explain" }, { "history" },
      { "tokens" }, { "graph" }, { "suspend" }, { "resume" },
      { "edit", "--set", "a=1" }, { "wake" }, { "move", "--to", "pay" },
      { "signal", "payment.got", "--instance" }, { "list", "--before" },
      { "list", "--parent" }, { "cancel" } } do
      words[#words + 1] = short
      local ran = here:pawl(table.unpack(words))
      assert.equal(0, ran.code, table.concat(words, " ") .. "\n" .. ran.err)
    end
  end)

  it("names the next page within the width", function()
    local lines = shown(here, 60, "list", "-n", "1")
    assert(#lines[4] <= 60, lines[4])
    local short = assert(lines[4]:match "%-%-before (%x+)$", lines[4])
    local rest = here:json("list", "--before", short)
    assert.equal("shop.order_fulfilment", rest[1].workflow)
  end)
end)

describe("pawl list in a pipe", function()
  after_each(tmp.cleanup)

  it("cuts nothing and counts nothing", function()
    local here = folder "bill"
    local id = here:pawl("start", "shop.billing", "--key", "k").out:sub(1, 36)
    here:work()
    local out = here:pawl("list", { env = { COLUMNS = "60" } }).out
    local row = assert(out:match("\n" .. id:gsub("%-", "%%-") .. "([^\n]+)\n$"))
    assert.matches("^  shop.billing@1  k +failed  pay +%d+s  "
      .. "card_declined: the bank .* it is cut there$", row)
  end)

  it("has all of them in JSON", function()
    local here = folder "bill"
    here:pawl("start", "shop.billing")
    here:work()
    local row = here:json("list")[1]
    assert.equal(36, #row.id)
    assert.matches("so that it is cut there$", row.error.message)
    assert.matches("^%d+%-%d+%-%d+T.*Z$", row.times.created)
    assert.is_nil(row.why)
  end)
end)

describe("why in pawl list", function()
  after_each(tmp.cleanup)

  it("is what it waits for", function()
    local here = folder("pay", "again", "nap")
    here:pawl("start", "nobody.knows")
    here:pawl("start", "t.again")
    here:pawl("start", "t.nap")
    here:pawl("start", "shop.order_fulfilment", "-i", '{"k":"a1"}')
    here:work()
    local why = reasons(here)
    assert.equal("no worker has loaded its workflow", why["nobody.knows"])
    assert.matches("^attempt 1 failed; again in 1h: .*no luck$",
      why["t.again"])
    assert.equal("due in 2h", why["t.nap"])
    assert.equal("event payment.* key a1; gives up in 1d",
      why["shop.order_fulfilment"])
    here:pawl("signal", "payment.got", "--key", "a1")
    here:work()
    assert.equal("task Look at it", reasons(here)["shop.order_fulfilment"])
    local task = here:json("task", "list")[1].id
    here:pawl("task", "claim", task, "--by", "ann")
    assert.equal("task Look at it by ann",
      reasons(here)["shop.order_fulfilment"])
  end)

  it("is no longer than a line has room for, where nothing is cut", function()
    local here = folder "long"
    here:pawl("start", "t.long")
    here:work()
    local told = reasons(here)["t.long"]
    assert.truthy(told:find("^no luck") and #told <= 203, #told)
  end)

  it("is who ended or held it, and why", function()
    local here = folder("nap", "pay")
    here:pawl("start", "t.nap")
    here:pawl("start", "shop.order_fulfilment", "-i", '{"k":"a1"}')
    here:work()
    local ids = {}
    for _, row in ipairs(here:json "list") do ids[row.workflow] = row.id end
    here:pawl("cancel", ids["t.nap"], "--by", "bob", "--reason", "too late")
    here:pawl("suspend", ids["shop.order_fulfilment"], "--reason", "stop it")
    local why = reasons(here)
    assert.equal("by bob: too late", why["t.nap"])
    assert.equal("stop it", why["shop.order_fulfilment"])
  end)

  it("is nothing of what has completed", function()
    local here = folder "nap"
    here:pawl("start", "t.nap")
    here:work()
    here:pawl("wake", here:json("list")[1].id)
    here:work()
    assert.is_nil(here:pawl("list").out:find("WHY", 1, true))
  end)
end)
