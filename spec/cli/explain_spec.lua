-- explain, tokens, outbox, and graph of an instance.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local flows = require "spec.support.flows"

local BRANCHES = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.branches", start = "f" }
flow:fork("f", { next = { left = "a", right = "t" } })
flow:step("a", { run = function(ctx) ctx.emit("told", { n = 1 }) end,
  next = "j" })
flow:timer("t", { after = 3600, next = "j" })
flow:join("j", { next = "z" })
flow:finish "z"
return flow
]]

local KINDS = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.kinds", start = "w" }
flow:wait("w", { event = "go.*", key = "k", timeout = 5, next = {
  received = "ask", timeout = "z" } })
flow:task("ask", { title = "Yes?", next = { yes = "call", no = "z" } })
flow:call("call", { workflow = "t.other", version = 2, next = "all",
  on_error = { child_failed = "z" } })
flow:each("all", { items = function() return {} end, branch = "one",
  window = 3, next = "f" })
flow:step("one", { run = function() end, next = "all" })
flow:fork("f", { next = { "l", "r" } })
flow:step("l", { run = function() end, next = "j" })
flow:step("r", { run = function() end, next = "j" })
flow:join("j", { expect = "any", losers = "cancel", next = "z" })
flow:finish "z"
return flow
]]

local function started(env)
  local here = command.folder()
  here:write("branches.lua", BRANCHES)
  here:pawl("worker", "branches.lua", "--until-idle", env)
  local id = here:json("start", "t.branches", env).id
  local ran = here:pawl("worker", "branches.lua", "--until-idle", env)
  assert.equal(0, ran.code, ran.err)
  return here, id
end

describe("pawl explain", function()
  it("says in sentences where an instance stands", function()
    local here, id = started()
    local ran = here:pawl("explain", id:sub(1, 18))
    assert.equal(0, ran.code, ran.err)
    assert.matches("^t.branches 1 is waiting; it began ", ran.out)
    assert.matches('stands at timer "t" since', ran.out)
    assert.matches('it waits for all that can still come: 1 is here, missing '
      .. 'is token %d at "t" %(branch "right"%); then it goes to "z".',
      ran.out)
    local data = here:json("explain", id)
    assert.equal(id, data.id)
    assert.equal(2, #data.tokens)
    assert.is_true(#data.sentences >= 3)
    assert.equal(3, here:pawl("explain", "ffffffff").code)
    assert.equal(2, here:pawl("explain").code)
  end)

  it("names commands with the store they need", function()
    local here = command.folder()
    here:write("hello.lua", flows.hello)
    here:pawl("start", "t.hello", "--store", "other.db")
    local id = here:json("list", "--store", "other.db")[1].id
    local ran = here:pawl("explain", id, "--store", "other.db")
    assert.matches("no worker has ever loaded t.hello", ran.out)
    assert.matches("`pawl worker --store other.db`", ran.out, 1, true)
  end)
end)

describe("pawl health", function()
  local sqlite = backends[1]

  it("is pointed to where nobody will look, and names who waits", function()
    local here, id = started()
    assert.equal(0, here:pawl("health").code)
    assert.equal("sqlite", sqlite.name)
    sqlite.sql(here.dir .. "/pawl.db", "delete from pawl_agenda")
    local ran = here:pawl("explain", id)
    assert.matches("it waits for a time, and is not on the agenda", ran.out)
    assert.matches("pawl health --repair", ran.out, 1, true)
    ran = here:pawl("health")
    assert.equal(1, ran.code)
    assert.matches("  t.branches%s+t%s+it waits for a time", ran.out)
    assert.equal(0, here:pawl("health", "--repair").code)
    assert.is_nil(here:pawl("explain", id).out:find("pawl health", 1, true))
  end)

  it("tells of what no worker serves", function()
    local here = command.folder()
    here:write("hello.lua", flows.hello)
    here:pawl("worker", "hello.lua", "--until-idle")
    here:pawl("start", "t.hello", "--group", "far")
    assert.equal(0, here:pawl("health").code)
    sqlite.sql(here.dir .. "/pawl.db",
      "update pawl_agenda set due_at = due_at - 120000000")
    local ran = here:pawl("health", "--repair")
    assert.equal(1, ran.code)
    assert.matches("no worker of its group is running: far", ran.out)
    assert.matches("1 is due and needs a worker", ran.out)
  end)
end)

describe("pawl tokens", function()
  it("lists the live ones, and all", function()
    local here, id = started()
    local ran = here:pawl("tokens", id)
    assert.equal(0, ran.code, ran.err)
    assert.matches("TOKEN%s+FROM%s+FORK%s+NODE%s+STATE", ran.out)
    assert.matches("1%s+f/left%s+j%s+waiting", ran.out)
    assert.matches("1%s+f/right%s+t%s+waiting", ran.out)
    assert.equal(2, #here:json("tokens", id))
    assert.is_true(#here:json("tokens", id, "--all") >= 2)
  end)

  it("says why there are none of one that never forked", function()
    local here = command.folder()
    here:write("flow.lua", flows.hello)
    here:pawl("run", "flow.lua")
    local id = here:json("list")[1].id
    assert.equal("it had one token alone: `pawl history` tells where that "
      .. "was\n", here:pawl("tokens", id, "--all").out)
    assert.equal("no tokens: it has not begun, or has ended\n",
      here:pawl("tokens", id).out)
  end)
end)

describe("pawl outbox", function()
  it("lists what waits to be published", function()
    local here, id = started()
    local ran = here:pawl "outbox"
    assert.equal(0, ran.code, ran.err)
    assert.matches("told%s+" .. id:gsub("%-", "%%-")
      .. '%s+1%s+waiting%s+0%s+{"n":1}',
      ran.out)
    local rows = here:json("outbox", "--type", "told", "--instance", id)
    assert.equal(1, #rows)
    assert.same({ n = 1 }, rows[1].payload)
    assert.equal("nothing waits to be published\n",
      here:pawl("outbox", "--type", "other").out)
    assert.equal("nothing waits to be published\n",
      here:pawl("outbox", "--after", rows[1].place).out)
    assert.equal("nothing waits to be published\n",
      here:pawl("outbox", "--emitted-before", "2001-01-01").out)
    assert.equal(1, #here:json("outbox", "--emitted-before", "2101-01-01"))
    assert.equal(2, here:pawl("outbox", "--after", "x").code)
  end)
end)

describe("pawl graph", function()
  it("draws every kind of node", function()
    local here = command.folder()
    here:write("kinds.lua", KINDS)
    local ran = here:pawl("graph", "kinds.lua")
    assert.equal(0, ran.code, ran.err)
    assert.equal([==[
flowchart TD
  n1{{"w<br/>go.*"}}
  n2[/"ask"/]
  n3[["call<br/>t.other 2"]]
  n4[("all<br/>3 at once")]
  n5["one"]
  n6[/"f"\]
  n7["l"]
  n8["r"]
  n9[\"j<br/>any, cancels the rest"/]
  n10(("z"))
  begin(( )) --> n1
  n1 -->|"received"| n2
  n1 -->|"timeout"| n10
  n2 -->|"no"| n10
  n2 -->|"yes"| n3
  n3 --> n4
  n3 -.->|"child_failed"| n10
  n4 -->|"each item"| n5
  n4 --> n6
  n5 --> n4
  n6 --> n7
  n6 --> n8
  n7 --> n9
  n8 --> n9
  n9 --> n10
]==], ran.out)
    ran = here:pawl("graph", "kinds.lua", "--dot")
    assert.matches('"w" [shape=hexagon, label="w\\ngo.*"];', ran.out, 1, true)
    assert.matches('"j" [shape=invtrapezium', ran.out, 1, true)
    assert.matches('"all" -> "one" [label="each item"];', ran.out, 1, true)
  end)

  it("marks what failed and what was dropped", function()
    local here = command.folder()
    here:write("fails.lua", flows.fails)
    here:pawl("run", "fails.lua")
    local id = here:json("list")[1].id
    assert.same({ a = "failed" }, here:json("graph", id).marks)
  end)
end)

for _, backend in ipairs(backends) do
  describe("pawl graph on " .. backend.name, function()
    after_each(backend.cleanup)

    it("marks where an instance has been and stands", function()
      local env = { env = { PAWL_STORE = backend.url() } }
      local here, id = started(env)
      local ran = here:pawl("graph", id, env)
      assert.equal(0, ran.code, ran.err)
      assert.matches('"f".-:::passed', ran.out)
      assert.matches('n2["a"]:::passed', ran.out, 1, true)
      assert.matches('n3(["t"]):::live', ran.out, 1, true)
      assert.matches('n5(("z"))\n', ran.out, 1, true)
      assert.matches('legend_live["live"]:::live', ran.out, 1, true)
      assert.is_nil(ran.out:find("legend_failed", 1, true))
      assert.same({ f = "passed", a = "passed", t = "live", j = "live" },
        here:json("graph", id, env).marks)
      local dot = here:pawl("graph", id, "--dot", env).out
      assert.matches('"t" [shape=oval, color="#1f6feb", penwidth=4];', dot, 1,
        true)
      assert.matches("subgraph cluster_legend", dot)
      assert.equal(3, here:pawl("graph", "ffffffff", env).code)
    end)
  end)
end
