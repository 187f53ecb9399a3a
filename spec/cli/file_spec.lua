-- check, graph, migrate, version, help: commands that run nothing.
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local pawl = require "pawl"

local function folder()
  local here = command.folder()
  for _, name in ipairs { "hello", "broken", "branches" } do
    here:write(name .. ".lua", flows[name])
  end
  return here
end

describe("pawl check", function()
  it("says that a file is good", function()
    local ran = folder():pawl("check", "hello.lua")
    assert.equal(0, ran.code, ran.err)
    assert.equal("hello.lua: ok: t.hello 1, 2 nodes\n", ran.out)
  end)

  it("names file, line and what to write instead", function()
    local ran = folder():pawl("check", "hello.lua", "broken.lua")
    assert.equal(1, ran.code)
    assert.matches("\nbroken.lua:3: definition: .*twoo", ran.out)
    assert.matches("\n hint: .*two", ran.out)
  end)

  it("tells programs the same", function()
    local results, ran = folder():json("check", "hello.lua", "broken.lua",
      "nowhere.lua")
    assert.equal(1, ran.code)
    assert.is_true(results[1].ok)
    assert.equal("broken.lua:3", results[2].error.where)
    assert.equal("notfound", results[3].error.code)
  end)

  it("keeps its output clean of what files print", function()
    local here = folder()
    here:write("loud.lua", "print 'noise'\n" .. flows.hello)
    local results, ran = here:json("check", "loud.lua")
    assert.is_true(results[1].ok)
    assert.matches("noise", ran.err)
    ran = here:pawl("graph", "loud.lua")
    assert.matches("^flowchart", ran.out)
    assert.matches("noise", ran.err)
  end)

  it("warns of a way round on which nothing waits", function()
    local here = folder()
    local function flow(more)
      return ([[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.round", start = "ask", %s }
local function go() end
flow:step("ask", { run = go, next = "is_there" })
flow:choice("is_there", { choose = go, next = { yes = "z", no = "pause" } })
flow:timer("pause", { after = %s, next = "ask" })
flow:step("try", { run = go, next = "z", on_error = { ["*"] = "mend" } })
flow:step("mend", { run = go, next = "%s" })
flow:finish "z"
return flow
]]):format(more.limit or "", more.after or '"1s"', more.mend or "z")
    end
    local function warned(more)
      here:write("round.lua", (flow(more):gsub('next = { yes = "z"',
        'next = { yes = "try"')))
      local ran = here:pawl("check", "round.lua")
      assert.equal(0, ran.code, ran.out .. ran.err)
      local results = here:json("check", "round.lua")
      local texts = {}
      for text in ran.out:gmatch "warning: ([^\n]+)" do
        texts[#texts + 1] = text
      end
      local said = {}
      for i, one in ipairs(results[1].warnings) do
        said[i] = one.text .. " (" .. one.name .. ")"
      end
      assert.same(texts, said)
      return texts
    end
    local TAIL = ": a way round on which nothing waits (busy)"
    assert.same({}, warned {})
    assert.same({ "ask > is_there > pause > ask" .. TAIL },
      warned { after = "0" })
    assert.same({ "try > mend > try" .. TAIL }, warned { mend = "try" })
    assert.same({ "ask > is_there > pause > ask" .. TAIL,
      "try > mend > try" .. TAIL }, warned { after = "0", mend = "try" })
    assert.same({}, warned { after = "0", limit = "busy_limit = 10" })
  end)

  it("leaves no store behind", function()
    local here = folder()
    here:pawl("check", "hello.lua")
    assert.is_nil(io.open(here.dir .. "/pawl.db"))
  end)
end)

describe("pawl graph", function()
  it("draws Mermaid", function()
    local ran = folder():pawl("graph", "branches.lua")
    assert.equal(0, ran.code, ran.err)
    assert.equal([[
flowchart TD
  n1["a"]
  n2{"c"}
  n3(["t"])
  n4(("z"))
  begin(( )) --> n1
  n1 --> n2
  n1 -.->|"bad"| n4
  n2 -->|"no #34;way#34;"| n4
  n2 -->|"yes"| n3
  n3 --> n4
]], ran.out)
  end)

  it("draws DOT", function()
    local ran = folder():pawl("graph", "branches.lua", "--dot")
    assert.matches('^digraph "t.branches" {\n', ran.out)
    assert.matches('"c" -> "z" [label="no \\"way\\""];', ran.out, 1, true)
    assert.matches('"a" -> "z" [label="bad", style=dashed];', ran.out, 1,
      true)
  end)

  it("draws what follows a failure", function()
    local here = folder()
    here:write("told.lua", (flows.hello:gsub('code = "t.hello"',
      '%0, on_failure = { emit = "order.failed", start = "repair" }')))
    local text = "on failure: emits order.failed, starts repair"
    assert.matches('\n  failure>"' .. text .. '"]\n',
      here:pawl("graph", "told.lua").out, 1, true)
    assert.matches('\n  " failure" [shape=note, label="' .. text .. '"];\n}',
      here:pawl("graph", "told.lua", "--dot").out, 1, true)
    assert.is_nil(here:pawl("graph", "hello.lua").out:find("failure", 1, true))
  end)

  it("draws what the store knows", function()
    local here = folder()
    here:pawl("run", "hello.lua")
    local ran = here:pawl("graph", "t.hello@1")
    assert.equal(0, ran.code, ran.err)
    assert.matches('n1["greet"]', ran.out, 1, true)
    assert.equal("t.hello", here:json("graph", "t.hello").code)
    assert.equal(3, here:pawl("graph", "t.nope").code)
    assert.equal(2, here:pawl("graph", "t.hello", "--format", "svg").code)
  end)
end)

describe("pawl migrate", function()
  it("makes a store, and finds it up to date after", function()
    local here = folder()
    local report, ran = here:json("migrate", "--shards", "4")
    assert.equal(0, ran.code, ran.err)
    assert.equal(0, report.from)
    assert.equal(4, report.shards)
    ran = here:pawl "migrate"
    assert.equal(("pawl.db is up to date: schema %d, 4 shards\n"):format(
      report.to), ran.out)
  end)

  it("does not pretend to change the number of shards", function()
    local here = folder()
    here:pawl "migrate"
    for _, json in ipairs { "--json", "--no-color" } do
      local ran = here:pawl("migrate", "--shards", "3", json)
      assert.equal(2, ran.code)
      assert.equal("", ran.out)
      assert.matches("^pawl: invalid: the store has 1 shard, not 3\n hint: ",
        ran.err)
    end
    assert.equal(0, here:pawl("migrate", "--shards", "1").code)
    local ran = here:pawl("migrate", "--shards", "99999")
    assert.equal(2, ran.code)
    assert.matches("^pawl: usage: %-%-shards is at most 32767", ran.err)
  end)

  it("says so when a file is not a store", function()
    local here = folder()
    here:write("other.db", ("not a database "):rep(100))
    local ran = here:pawl("list", "--store", "other.db")
    assert.equal(5, ran.code)
    assert.matches("^pawl: not_a_store: .*other.db", ran.err)
  end)

  it("does not show a password", function()
    local ran = folder():pawl("migrate", "--store",
      "postgres://me:secret@127.0.0.1:1/x")
    assert.is_true(ran.code == 5 or ran.err:find "unsupported" ~= nil)
    assert.is_nil((ran.out .. ran.err):find "secret")
  end)
end)

describe("pawl version", function()
  it("knows what is built in", function()
    local build, ran = folder():json "version"
    assert.equal(0, ran.code, ran.err)
    assert.equal(pawl.version(), build.pawl)
    assert.equal("5.4", build.lua)
    assert.is_true(build.schema >= 1)
    assert.matches("^3%.%d+%.%d+$", build.sqlite)
    ran = folder():pawl "--version"
    assert.matches("^pawl " .. pawl.version() .. "\n", ran.out)
  end)
end)

describe("pawl help", function()
  local here = command.folder()

  it("lists the commands", function()
    local ran = here:pawl()
    assert.equal(0, ran.code, ran.err)
    for _, name in ipairs { "run", "start", "worker", "list", "show",
      "explain", "tokens", "outbox", "history", "cancel", "suspend", "resume",
      "retry", "restart", "move", "kill", "wake", "edit", "workflow", "graph",
      "check", "migrate", "version" } do
      assert.matches("\n  " .. name .. " +%l", ran.out)
      local one = here:pawl(name, "--help")
      assert.equal(0, one.code, one.err)
      assert.matches("^usage: pawl " .. name, one.out)
      assert.matches("\nExamples\n  pawl " .. name, one.out)
      assert.matches("%-%-json", one.out)
      assert.equal(one.out, here:pawl("help", name).out)
      for line in one.out:gmatch "[^\n]+" do
        assert.is_true(#line <= 80, line)
      end
    end
    assert.matches("\n  5 ", here:pawl("help", "exit").out)
  end)

  it("offers the nearest name", function()
    local ran = here:pawl "lst"
    assert.equal(2, ran.code)
    assert.equal("pawl: usage: unknown command 'lst'\n"
      .. " hint: did you mean `pawl list`?\n", ran.err)
    ran = here:pawl("list", "--jsn")
    assert.equal(2, ran.code)
    assert.matches("hint: did you mean %-%-json%?", ran.err)
    assert.equal(2, here:pawl("list", "extra").code)
    assert.equal(2, here:pawl("show").code)
    assert.equal(2, here:pawl("list", "--limit").code)
    assert.equal(2, here:pawl("list", "--json=yes").code)
  end)

  it("takes common options before the command", function()
    here:pawl("migrate", "--store", "x.db")
    local ran = here:pawl("--store", "x.db", "--json", "list")
    assert.equal("[]\n", ran.out)
    ran = here:pawl("list", { env = { PAWL_STORE = "x.db" } })
    assert.equal("no instances\n", ran.out)
  end)

  it("fails when its words cannot be written", function()
    local process = require "spec.support.process"
    local code, _, err = process.run { "sh", "-c",
      "'" .. command.path .. "' help >/dev/full" }
    assert.equal(1, code)
    assert.matches("^pawl: output: cannot be written", err)
  end)

  it("refuses an unknown option without a command", function()
    for _, word in ipairs { "--bogus", "-z" } do
      local ran = here:pawl(word)
      assert.equal(2, ran.code)
      assert.equal("", ran.out)
      assert.matches("^pawl: usage: unknown option " .. word:gsub("%-", "%%-"),
        ran.err)
    end
    assert.matches("hint: did you mean %-%-version%?",
      here:pawl("--versoin").err)
    assert.equal(pawl.version(), pawl.json.decode(
      here:pawl("--version", "--json").out).pawl)
    assert.equal(here:pawl("help").out, here:pawl("-h").out)
  end)

  it("takes one value of an option that has one", function()
    for _, case in ipairs {
      { "--limit is given twice", "list", "-n", "1", "--limit", "2" },
      { "--store is given twice", "--store", "a.db", "list", "-s", "a.db" },
      { "--priority is given twice", "start", "t.x", "--priority", "1",
        "--priority", "2" },
      { "--since and --created-after say the same", "list", "--since", "1d",
        "--created-after", "2026-01-31" },
    } do
      local ran = here:pawl(table.unpack(case, 2))
      assert.equal(2, ran.code, case[1])
      assert.matches("pawl: usage: " .. case[1], ran.err, 1, true)
    end
    assert.equal(0, here:pawl("version", "--json", "--json").code)
  end)

  it("tells what scripts need to know", function()
    local exits = here:pawl("help", "exit").out
    assert.matches("\n  1 .-%-%-timeout.-\n  2 ", exits)
    assert.matches("plain text on stderr, with %-%-json too", exits)
    assert.matches("Errors are plain text on stderr", here:pawl("help").out)
    assert.matches("SIGTERM", here:pawl("run", "--help").out)
  end)
end)
