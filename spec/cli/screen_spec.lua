--- What `pawl worker` shows on a terminal, and what is left there afterwards.
local command = require "spec.support.command"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow {
  code = "warehouse.order.fulfilment", version = 1, start = "reserve",
}
flow:step("reserve", {
  run = function(ctx)
    print("printed by a handler")
    ctx.log("warn", "the stock is low", { left = 3 })
  end,
  next = "charge",
})
flow:step("charge", {
  retry = { max = 1 },
  run = function() error(("the bank has said no "):rep(20)) end,
  next = "done",
})
flow:finish "done"
return flow
]]

-- Its handler says that it has begun, and waits to be let go on.
local SLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.slow", version = 1, start = "wait" }
flow:step("wait", {
  run = function()
    io.open("began", "w"):close()
    local go
    repeat go = io.open "go" until go -- not in os.execute: no INT comes there
    go:close()
  end,
  next = "done",
})
flow:finish "done"
return flow
]]

--- What a shell's line writes to a terminal of so many columns.
local function written(here, width, line, env)
  local given = { TERM = "xterm", LANG = "C.UTF-8", LC_ALL = "C.UTF-8",
    COLUMNS = "", PAWL_STORE = "", TZ = "XST-05:30", SHELL = "/bin/sh",
    PAWL = command.path }
  for name, value in pairs(env or {}) do given[name] = value end
  local _, out = process.run({ "script", "-qec",
    ("stty cols %d; %s"):format(width, line), "/dev/null" },
    { cwd = here.dir, stdin = "", env = given })
  return out
end

--- The rows that are on the terminal at the end, without colours.
local function left(out)
  local rows, at = { "" }, 1
  local text = out:gsub("\27%[%d*m", "")
  local i = 1
  while i <= #text do
    local wipe, up = text:match("^\27%[K()", i), text:match("^\27%[A()", i)
    local c = text:sub(i, i)
    if wipe then
      rows[at] = "" -- we do so at the first column alone
    elseif up then
      at = math.max(at - 1, 1)
    elseif c == "\n" then
      at = at + 1
      rows[at] = rows[at] or ""
    elseif c ~= "\r" then
      rows[at] = rows[at] .. c
    end
    i = wipe or up or i + 1
  end
  return rows
end

local function all(rows) return table.concat(rows, "\n") end

describe("the worker's screen", function()
  local here, id

  after_each(tmp.cleanup)

  local function begin(flow, code)
    here = command.folder()
    here:write("flow.lua", flow)
    assert.equal(0, here:pawl("start", code, "-i", "{}").code)
    id = here:json("list")[1].id
  end

  it("has a line an event within its width, and ends without a rest", function()
    for _, width in ipairs { 60, 80 } do
      begin(FLOW, "warehouse.order.fulfilment")
      local out = written(here, width, "$PAWL worker flow.lua --until-idle")
      local rows = left(out)
      for _, row in ipairs(rows) do
        assert(utf8.len(row) <= width, row)
      end
      local shown = all(rows)
      local short = id:sub(-8)
      assert.matches("^%d%d:%d%d:%d%d worker %d+ on pawl.db, times in XST\n",
        shown)
      assert.matches("\n%d%d:%d%d:%d%d " .. short
        .. " ….*fulfilment ✓ reserve  %d+ ms", shown)
      assert.matches(" " .. short .. " …[%l.]*fulfilment ✗ charge [^\n]*…\n",
        shown)
      assert.is_nil(shown:find(id, 1, true))
      assert.matches("\nprinted by a handler\n", shown, 1, true)
      assert.matches(short .. ' reserve warn: the stock is low {"', shown, 1,
        true)
      assert.matches("\n[%d:]+ stopped: 2 steps, 1 instances ended\n$", shown)
      assert.is_nil(shown:find("steps/s", 1, true))
    end
  end)

  it("says below what runs and how much was done", function()
    begin(FLOW, "warehouse.order.fulfilment")
    local out = written(here, 80, "$PAWL worker flow.lua --until-idle")
    assert.matches("running 1: reserve  0 steps/s  0 ended/s  0 failed  since "
      .. "%d%d:%d%d:%d%d\r\27%[K", out)
    assert.matches("\27%[Kidle  %d[%d.]* steps/s  %d[%d.]* ended/s  1 failed",
      out)
    assert.matches("running 1: charge  [%d.]*[1-9][%d.]* steps/s", out)
    out = written(here, 60, "$PAWL worker flow.lua --until-idle")
    assert.matches("\nidle  0 steps/s  0 ended/s  0 failed\r", out, 1, true)
    assert.is_nil(out:find("since", 1, true))
  end)

  it("has colours by kind, or none", function()
    begin(FLOW, "warehouse.order.fulfilment")
    local out = written(here, 80, "$PAWL worker flow.lua --until-idle")
    assert.matches("\27[32m✓ \27[0m", out, 1, true)
    assert.matches("\27[31m✗ \27[0m", out, 1, true)
    for _, plain in ipairs { "NO_COLOR=1 $PAWL worker",
      "$PAWL worker --no-color", "TERM=dumb $PAWL worker" } do
      begin(FLOW, "warehouse.order.fulfilment")
      out = written(here, 80, plain .. " flow.lua --until-idle")
      assert.matches(id:sub(-8), out, 1, true)
      assert.is_nil(out:find "\27%[%d*m")
    end
    assert.is_nil(out:find("\27", 1, true), "a dumb terminal")
    assert.is_nil(out:find("steps/s", 1, true))
  end)

  it("leaves nothing behind when it is interrupted", function()
    begin(SLOW, "t.slow")
    for _, signals in ipairs { "kill -TERM $p; touch go",
      "kill -TERM $p; kill -INT $p" } do
      local out = written(here, 80, ([[
$PAWL worker flow.lua & p=$!
while [ ! -e began ]; do sleep 0.02; done
%s; wait $p; echo over; touch go
]]):format(signals))
      assert.matches("running 1: wait", out, 1, true)
      local shown = all(left(out))
      assert.matches("\nstopping: a handler that runs is finished", shown, 1,
        true)
      assert.matches("\nover\n", shown, 1, true)
      assert.is_nil(shown:find("steps/s", 1, true), shown)
      begin(SLOW, "t.slow")
    end
  end)

  it("is ended by a second signal where nobody reads of the first", function()
    begin(SLOW, "t.slow")
    local _, out = process.run({ "sh", "-c", [[
mkfifo err; exec 3<>err
dd if=/dev/zero of=err bs=4096 count=99 oflag=nonblock 2>/dev/null
$PAWL worker flow.lua 2>err & p=$!
while [ ! -e began ]; do sleep 0.02; done
kill -TERM $p; sleep 0.2; kill -INT $p; wait $p; echo ended $?; touch go
]] }, { cwd = here.dir, stdin = "", env = { PAWL_STORE = "",
      PAWL = command.path } })
    assert.matches("\nended 130\n", out)
  end)

  it("is stopped where nobody reads what it writes", function()
    for _, how in ipairs { "", "--processes 2" } do
      begin(SLOW, "t.slow")
      local _, out = process.run({ "sh", "-c", ([[
mkfifo log; exec 3<>log
dd if=/dev/zero of=log bs=4096 count=99 oflag=nonblock 2>/dev/null
$PAWL worker flow.lua %s >log & p=$!
sleep 1; kill -TERM $p; touch go; wait $p; echo ended $?
]]):format(how) }, { cwd = here.dir, stdin = "", env = { PAWL_STORE = "",
        PAWL = command.path } })
      assert.matches("^ended 0\n", out)
    end
  end)

  it("takes the line away whole when the window became narrower", function()
    begin(SLOW, "t.slow")
    local out = written(here, 80, [[
$PAWL worker flow.lua --until-idle & p=$!
while [ ! -e began ]; do sleep 0.02; done
stty cols 30; touch go; wait $p]])
    assert.matches("\r\27[K\27[A\27[K\r\27[K\27[A\27[K\r\27[K", out, 1, true)
    for line in all(left(out:match "\27%[A.*")):gmatch "[^\n]+" do
      assert(utf8.len(line) <= 30 or line:find "stopped", line)
    end
  end)

  it("is a log where nobody looks", function()
    begin(FLOW, "warehouse.order.fulfilment")
    local out = here:pawl("worker", "flow.lua", "--until-idle").out
    assert.matches("^%d+%-%d+%-%d+T%d+:%d+:%d+Z worker %d+ on pawl.db\n", out)
    assert.matches("Z warehouse.order.fulfilment " .. id
      .. " step reserve attempt 1 done in ", out, 1, true)
    assert.is_nil(out:find("\27", 1, true))
  end)
end)
