-- start, list, show, history, cancel: asking the store and acting on it.
local command = require "spec.support.command"
local flows = require "spec.support.flows"

local function folder()
  local here = command.folder()
  here:write("hello.lua", flows.hello)
  here:write("timer.lua", flows.timer)
  here:write("fails.lua", flows.fails)
  return here
end

describe("pawl start", function()
  it("prints the id, and starts once for one key", function()
    local here = folder()
    here:pawl("run", "hello.lua")
    local first = here:pawl("start", "t.hello", "--key", "k", "-i",
      '{"name":"x"}')
    assert.equal(0, first.code, first.err)
    assert.matches("^%x+%-%x+%-7%x+%-%x+%-%x+\n$", first.out)
    local second, ran = here:json("start", "t.hello", "--key", "k")
    assert.equal(first.out, second.id .. "\n")
    assert.is_false(second.created)
    assert.equal(0, ran.code)
  end)

  it("keeps what the options say", function()
    local here = folder()
    here:pawl("run", "hello.lua")
    local id = here:json("start", "t.hello", "--priority", "7", "--delay",
      "2h", "--tenant", "acme", "--correlation", "c", "--business-key", "b",
      "--key", "k-17", "--attr", "region=eu", "--attr", "n=3", "--attr",
      "zip:=0123", "--metadata", '{"from":"shop"}', "--max-bytes", "500").id
    local instance = here:json("show", id)
    assert.equal("created", instance.status)
    assert.equal(7, instance.priority)
    assert.equal(500, instance.max_bytes)
    assert.matches("\nmax bytes    500\n", here:pawl("show", id).out)
    assert.matches("--deadline must be longer than 0, got '0'",
      here:pawl("start", "t.hello", "--deadline", "0").err, 1, true)
    assert.equal("acme", instance.tenant)
    assert.same({ from = "shop" }, instance.metadata)
    assert.is_string(instance.started_by) -- the user's name
    assert.equal("ann", here:json("show",
      here:json("start", "t.hello", "--by", "ann").id).started_by)
    assert.matches('\nmetadata     {"from":"shop"}\n',
      here:pawl("show", id).out)
    assert.equal(id, here:json("list", "--tenant", "acme", "--correlation",
      "c", "--business-key", "b")[1].id)
    assert.equal(id, here:json("list", "--key", "k-17")[1].id)
    assert.equal(0, #here:json("list", "--tenant", "other"))
    assert.equal(0, #here:json("list", "--key", "k"))
  end)

  it("warns when no worker has loaded the workflow", function()
    local here = folder()
    here:pawl("run", "hello.lua")
    local ran = here:pawl("start", "t.helo")
    assert.equal(0, ran.code, ran.err)
    assert.equal("warning: no worker has loaded workflow t.helo yet\n"
      .. " hint: did you mean 't.hello'?\n", ran.err)
    ran = here:pawl("start", "other")
    assert.equal("warning: no worker has loaded workflow other yet\n",
      ran.err)
    assert.equal("", here:pawl("start", "t.hello").err)
    ran = here:pawl("start", "t.hello", "--version", "7")
    assert.equal(3, ran.code)
  end)

  it("makes the store, as run does", function()
    local here = folder()
    local ran = here:pawl("start", "t.hello")
    assert.equal(0, ran.code, ran.err)
    assert.equal("made a new store: pawl.db\n"
      .. "warning: no worker has loaded workflow t.hello yet\n",
      ran.err)
    assert.equal(ran.out, here:json "list"[1].id .. "\n")
  end)

  it("says when a key's instance has another input", function()
    local here = folder()
    here:pawl("run", "hello.lua")
    here:pawl("start", "t.hello", "--key", "k", "-i", '{"n":1.0,"a":2}')
    local same = here:pawl("start", "t.hello", "--key", "k", "-i",
      '{"a":2, "n":1.0}')
    assert.equal("already there: an earlier start had this key\n", same.err)
    local other = here:pawl("start", "t.hello", "--key", "k", "-i",
      '{"a":2,"n":1}')
    assert.equal(same.out, other.out)
    assert.matches("warning: %x+%-%S+ was started with another input",
      other.err)
  end)

  it("names a wrong value", function()
    local here = folder()
    for _, words in ipairs {
      { "--priority", "high" }, { "--delay", "soon" }, { "--at", "noon" },
      { "--attr", "novalue" }, { "--version", "0" }, { "--at", "1960-01-01" },
      { "--delay", "1h", "--at", "2030-01-01" },
      { "--metadata", "[1]" }, { "--metadata", "null" }, { "--metadata", "{" },
      { "--attr", "a=1", "--attr", "a=2" }, { "--version", "99999999999" },
    } do
      local ran = here:pawl("start", "t.hello", table.unpack(words))
      assert.equal(2, ran.code)
      assert.matches(words[1], ran.err, 1, true)
    end
  end)
end)

describe("pawl history", function()
  it("shows what fits, and what a variable was", function()
    local here = folder()
    here:pawl("run", "hello.lua", "-i", '{"name":"Ann"}')
    local id = here:json "list"[1].id
    here:pawl("note", id, "seen", "--by", "ann")
    assert.equal(1, #here:json("history", id, "--type", "note"))
    assert.equal(1, #here:json("history", id, "--by", "ann"))
    assert.equal("ann", here:json("history", id, "--completed-after",
      "2020-01-01", "--type", "note")[1].by)
    assert.equal(0, #here:json("history", id, "--completed-before",
      "2020-01-01"))
    local all = here:json("history", id)
    assert.same({ all[#all - 1], all[#all] },
      here:json("history", id, "--last", "2"))
    assert.equal(2, here:pawl("history", id, "--last", "2", "-n", "2").code)
    local ran = here:pawl("history", id, "--node", "nosuch")
    assert.equal("nothing like that is recorded\n", ran.out)
    ran = here:pawl("history", id, "--after", "99")
    assert.equal("nothing is recorded behind row 99\n", ran.out)
    local changed = here:json("history", id, "--variable", "greeting")
    assert.equal(1, #changed)
    ran = here:pawl("history", id, "--variable", "greeting")
    assert.matches("VALUE", ran.out)
    assert.matches(changed[1].value, ran.out, 1, true)
    assert.equal(2, here:pawl("history", id, "--completed-after", "x").code)
  end)
end)

describe("pawl list", function()
  it("refuses a filter that is empty", function()
    local here = folder()
    here:pawl("run", "hello.lua")
    local function refused(words, ...)
      local ran = here:pawl(...)
      assert.equal(2, ran.code, ran.err)
      assert.equal("", ran.out)
      assert.matches("^pawl: usage: " .. words .. "\n", ran.err)
    end
    for _, option in ipairs { "workflow", "tenant", "key", "status", "store",
      "schema", "group", "node", "correlation" } do
      local words = "%-%-" .. option .. " is empty"
      refused(words, "list", "--" .. option, "")
      refused(words, "list", "--" .. option .. "=")
    end
    refused("%-%-workflow is empty", "cancel", "-w", "", "--yes")
    refused("%-%-store is empty", "-s", "", "list")
    refused("%-%-prefix is empty", "worker", "hello.lua", "--prefix", "")
    refused("%-%-limit is empty", "list", "--limit", "")
    refused("an argument is empty", "worker", "")
    refused("an argument is empty", "show", "")
    refused("an argument is empty", "start", "", "--input", "{}")
    here.env = { PAWL_STORE = "", PAWL_TENANT = "" } -- as if not there
    assert.equal(1, #here:json("list"))
    local id = here:json("start", "t.timer").id
    assert.equal(0, here:pawl("cancel", id, "--reason", "").code)
  end)

  it("shows a table, newest first", function()
    local here = folder()
    local first = here:json("run", "hello.lua").id
    here:pawl("run", "fails.lua")
    local ran = here:pawl "list"
    assert.equal(0, ran.code, ran.err)
    local rows = {}
    for line in ran.out:gmatch "[^\n]+" do rows[#rows + 1] = line end
    assert.matches("^ID +WORKFLOW +STATUS +NODE +AGE +WHY$", rows[1])
    assert.matches("t.fails@1 +failed +a +%d+s  no_luck: not today$", rows[2])
    assert.matches("^" .. first:gsub("%-", "%%-")
      .. "  t.hello@1  completed  done +%d+s  %-$", rows[3])
    assert.equal(3, #rows)
  end)

  it("keeps a row one line, and a key one word", function()
    local here = folder()
    here:pawl "migrate"
    here:pawl("start", "t.hello", "--key", "a\tb\nc\27d")
    assert.matches(" a\\x09b\\x0ac\\x1bd ", here:pawl("list").out, 1, true)
  end)

  it("filters and pages", function()
    local here = folder()
    for i = 1, 3 do
      here:pawl("run", "hello.lua", "-i", ('{"n":%d}'):format(i))
    end
    here:pawl("run", "fails.lua")
    assert.equal(1, #here:json("list", "--status", "failed"))
    assert.equal(4, #here:json("list", "--status", "failed,completed"))
    assert.equal(3, #here:json("list", "--workflow", "t.hello"))
    local page = here:json("list", "-n", "2")
    assert.equal(2, #page)
    local rest = here:json("list", "--before", page[2].id)
    assert.equal(2, #rest)
    assert.is_true(rest[1].id < page[2].id)
    local newer = here:json("list", "--after", rest[2].id, "-n", "1")
    assert.same({ rest[1].id }, { newer[1].id, #newer > 1 and "" or nil })
    local first = here:json("list", "--sort", "oldest", "-n", "1")
    assert.equal(rest[2].id, first[1].id)
  end)

  it("takes nodes, errors, groups and times", function()
    local here = folder()
    here:pawl("run", "hello.lua")
    here:pawl("run", "fails.lua")
    local function count(...) return #here:json("list", ...) end
    local failed = here:json("list", "--status", "failed")[1]
    assert.equal(1, count("--error", failed.error.code))
    assert.equal(1, count("--error", failed.error.code:sub(1, 3) .. "*"))
    assert.equal(0, count("--error", failed.error.code:sub(1, 3)))
    assert.equal(1, count("--node", failed.node, "--status", "failed"))
    assert.equal(2, count("--group", "default"))
    for _, what in ipairs { "created", "updated", "completed" } do
      assert.equal(2, count("--" .. what .. "-after", "2020-01-01"))
      assert.equal(0, count("--" .. what .. "-before", "2020-01-01"))
    end
    local ran = here:pawl("list", "--sort", "odlest")
    assert.equal(2, ran.code)
    assert.matches("oldest", ran.err)
    ran = here:pawl("list", "--created-after", "yesterday")
    assert.equal(2, ran.code)
    assert.matches("not a time", ran.err)
  end)

  it("takes conditions on attributes", function()
    local here = folder()
    local function start(...) here:pawl("start", "t.hello", ...) end
    start("--attr", "region=eu", "--attr", "amount=12.5")
    start("--attr", "region=us", "--attr", "amount=100", "--attr", "vip=true")
    start("--attr", "region:=7", "--attr", "text:=a*")
    local function count(...)
      local given = { "list" }
      for _, text in ipairs { ... } do
        given[#given + 1], given[#given + 2] = "--attr", text
      end
      return #here:json(table.unpack(given))
    end
    assert.equal(1, count "region=eu")
    assert.equal(2, count("region=eu", "region=us"))
    assert.equal(1, count "amount=12.50")
    assert.equal(2, count "amount>=12.5")
    assert.equal(1, count("amount>12.5", "amount<=100"))
    assert.equal(1, count("region=u*", "vip=true"))
    assert.equal(0, count "region=7")
    assert.equal(1, count "region:=7")
    assert.equal(1, count "text:=a*")
    assert.equal(0, count "amount<@2026-01-31")
    for text, words in pairs { region = "NAME=VALUE", ["=eu"] = "NAME=VALUE",
      ["due<@soon"] = "not a time", ["a!b"] = "NAME=VALUE" } do
      local ran = here:pawl("list", "--attr", text)
      assert.equal(2, ran.code, text)
      assert.matches(words, ran.err)
    end
    local ran = here:pawl("list", "--attr", "a=1", "--attr", "a>1")
    assert.equal(2, ran.code)
    assert.matches("equals, too", ran.err)
  end)

  it("reads an attribute's value as a start does", function()
    local here = folder()
    local big = "12345678901234567890.10"
    local function start(...) return here:json("start", "t.hello", ...).id end
    local id = start("--attr", "day=@2026-01-31", "--attr", "sum=" .. big,
      "--attr", "n=-7", "--attr", "large=9223372036854775808", "--attr",
      "vip=false", "--attr", 'zip="01\\u0032"', "--attr", "code=007",
      "--attr", "at:=@home", "--attr", "name=a*")
    assert.same({
      day = { type = "date", value = "2026-01-31T00:00:00.000000Z" },
      sum = { type = "decimal", value = big },
      n = { type = "integer", value = -7 },
      large = { type = "decimal", value = "9223372036854775808" },
      vip = { type = "boolean", value = false },
      zip = { type = "string", value = "012" },
      code = { type = "string", value = "007" },
      at = { type = "string", value = "@home" },
      name = { type = "string", value = "a*" },
    }, here:json("show", id).attributes)
    for _, text in ipairs { "day>=@2026-01-31", "day<@2026-01-31T00:00:01Z",
      "sum=" .. big, "sum>12345678901234567890.09",
      "sum<12345678901234567890.11", "n=-7", "large=9223372036854775808",
      "large>9223372036854775807", "vip=false", 'zip="012"', "zip:=012",
      "code=007", "at:=@home", "name:=a*", 'name="a*"' } do
      assert.equal(1, #here:json("list", "--attr", text), text)
    end
    for _, text in ipairs { "sum>" .. big, "zip=12", "day=@2026-01-30",
      "large=9223372036854775807" } do
      assert.equal(0, #here:json("list", "--attr", text), text)
    end
    for text, words in pairs { ["day=@soon"] = "'soon' is not a time",
      ['zip="1" "2"'] = "not one text in quotes" } do
      for _, verb in ipairs { { "start", "t.hello" }, { "list" } } do
        verb[#verb + 1], verb[#verb + 2] = "--attr", text
        local ran = here:pawl(table.unpack(verb))
        assert.equal(2, ran.code, text)
        assert.matches(words, ran.err, 1, true)
      end
    end
  end)

  it("says how many there are", function()
    local here = folder()
    for _ = 1, 3 do here:pawl("start", "t.hello") end
    assert.equal("3\n", here:pawl("list", "--count").out)
    assert.equal("more than 2\n", here:pawl("list", "--count", "-n", "2").out)
    assert.equal("0\n", here:pawl("list", "--count", "--status", "failed")
      .out)
    assert.same({ count = 2, more = true }, here:json("list", "--count", "-n",
      "2"))
  end)

  it("says how a list goes on", function()
    local here = folder()
    for _ = 1, 3 do here:pawl("run", "hello.lua") end
    local ids = {}
    for i, row in ipairs(here:json "list") do ids[i] = row.id end
    local function next_page(...)
      return here:pawl("list", "-n", "1", ...).err:match "%-%-.*[^\n]"
    end
    assert.equal("--before " .. ids[1], next_page())
    assert.equal("--after " .. ids[3], next_page("--sort", "oldest"))
    assert.equal("--after " .. ids[2], next_page("--after", ids[3]))
    assert.equal("--before " .. ids[2], next_page("--before", ids[1]))
  end)

  it("is an empty array when there is nothing", function()
    local here = folder()
    here:pawl "migrate"
    assert.equal("[]\n", here:pawl("list", "--json").out)
    assert.equal("no instances\n", here:pawl("list").out)
  end)

  it("takes a short option's value without a space", function()
    local here = folder()
    for i = 1, 2 do
      here:pawl("run", "hello.lua", "-i", ('{"n":%d}'):format(i))
    end
    assert.equal(1, #here:json("list", "-n1"))
    local ran = here:pawl("list", "-limit")
    assert.equal(2, ran.code)
    assert.matches("hint: did you mean %-%-limit%?", ran.err)
  end)

  it("refuses a list of statuses with an empty name", function()
    for _, list in ipairs { "created,,", "created,", ",failed", "," } do
      local ran = folder():pawl("list", "--status", list)
      assert.equal(2, ran.code, list)
      assert.matches("^pawl: usage: %-%-status has an empty name", ran.err)
    end
  end)

  it("names an unknown status", function()
    local ran = folder():pawl("list", "--status", "faild")
    assert.equal(2, ran.code)
    assert.matches("hint: did you mean 'failed'", ran.err, 1, true)
  end)

  it("does not look into a store in memory, which has nothing", function()
    local here = folder()
    for _, words in ipairs { { "list" }, { "show", "1" }, { "stats" },
      { "cancel", "1" }, { "purge", "--status", "failed", "--yes" },
      { "task", "list" }, { "outbox" }, { "workflow", "list" }, { "prune" },
      { "backup", "copy.db" }, { "restore", "copy.db" }, { "export", "--all" },
      { "relay", "--exec", "cat", "--once" }, { "signal", "go" },
      { "health" } } do
      words[#words + 1], words[#words + 2] = "--store", ":memory:"
      local ran = here:pawl(table.unpack(words))
      assert.equal(2, ran.code, words[1] .. ": " .. ran.err)
      assert.matches("^pawl: usage: a store in memory has nothing in it",
        ran.err)
    end
    assert.equal(0, here:pawl("run", "hello.lua", "--store", ":memory:").code)
  end)

  it("does not make a store that is not there", function()
    local here = folder()
    local ran = here:pawl("list", "--store", "typo.db")
    assert.is_true(ran.code ~= 0)
    assert.matches("typo.db", ran.err)
    assert.is_nil(io.open(here.dir .. "/typo.db"))
  end)
end)

describe("pawl show", function()
  it("is one JSON object", function()
    local here = folder()
    local id = here:json("run", "hello.lua").id
    local ran = here:pawl("show", id:sub(1, 18), "--json")
    assert.equal(0, ran.code, ran.err)
    assert.equal(1, select(2, ran.out:gsub("\n", "")))
    assert.matches("^{", ran.out)
  end)

  it("tells people where it stands", function()
    local here = folder()
    here:pawl("run", "timer.lua", "--timeout", "50ms")
    local id = here:json "list"[1].id
    local ran = here:pawl("show", id)
    assert.equal(0, ran.code, ran.err)
    assert.matches("\nworkflow     t.timer 1\n", ran.out)
    assert.matches("\nstatus       waiting\n", ran.out)
    assert.matches("TOKEN  NODE +STATE", ran.out)
    assert.matches("pause", ran.out)
  end)

  it("tells people what went wrong", function()
    local here = folder()
    local id = here:json("run", "fails.lua").id
    assert.matches("\nerror        no_luck: not today\n",
      here:pawl("show", id).out)
  end)

  it("shows an empty input and output", function()
    local here = folder()
    here:write("flow.lua", (flows.hello:gsub("return { greeting = .- }",
      "return {}")))
    local id = here:json("run", "flow.lua").id
    local ran = here:pawl("show", id)
    assert.matches("\ninput        {}\n", ran.out)
    assert.matches("\noutput       {}\n", ran.out)
    id = here:json("run", "flow.lua", "-i", "null").id
    assert.matches("\ninput        null\n", here:pawl("show", id).out)
  end)

  it("says when there is no such instance", function()
    local here = folder()
    here:pawl "migrate"
    local ran = here:pawl("show", "0123abcd")
    assert.equal(3, ran.code)
    assert.matches("^pawl: notfound: ", ran.err)
    assert.matches("0123abcd", ran.err)
  end)

  it("names the store in its hints", function()
    local here = folder()
    here:pawl("migrate", "--store", "my store.db")
    local ran = here:pawl("show", "0123abcd", "--store", "my store.db")
    assert.matches("hint: `pawl list --store 'my store.db'`", ran.err, 1, true)
    ran = here:pawl("show", "0123abcd", { env = { PAWL_STORE =
      "my store.db" } })
    assert.matches("hint: `pawl list`", ran.err, 1, true)
  end)
end)

describe("pawl history", function()
  it("shows what was recorded, in order", function()
    local here = folder()
    local id = here:json("run", "fails.lua").id
    local entries = here:json("history", id)
    assert.equal("failed", entries[1].type)
    assert.equal(1, entries[1].attempt)
    assert.equal(2, entries[2].attempt)
    local ran = here:pawl("history", id)
    assert.matches("^SEQ  TIME +TYPE +NODE +ATTEMPT +TOOK  DETAIL\n", ran.out)
    assert.matches("  fails.lua:5: no_luck: not today", ran.out, 1, true)
  end)

  it("shows by which transition it came to a node", function()
    local here = folder()
    here:write("ways.lua", [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "ways", start = "a" }
flow:step("a", { next = { go = "c", no = "z" },
  run = function() return "go" end })
flow:choice("c", { next = { big = "b", small = "z" },
  choose = function() return "big" end })
flow:step("b", { next = "z", run = function() return nil, { n = 1 } end })
flow:finish "z"
return flow
]])
    local id = here:json("run", "ways.lua").id
    local ran = here:pawl("history", id)
    assert.matches("step +a [^\n]+  %-> c=big > b\n", ran.out)
    assert.matches("step +b [^\n]+  via big %-> z; output {\"n\":1}\n",
      ran.out)
  end)

  it("says where rows are gone, and show how many", function()
    local here = folder()
    here:write("long.lua", flows.long)
    local id = here:json("run", "long.lua").id
    local gone = here:json("show", id).trimmed.rows
    assert.is_true(gone > 100)
    local text = ("rows are gone up to here, %d in all (keep_history = 100)")
      :format(gone)
    local ran = here:pawl("history", id)
    assert.matches("\n *%d+  [^\n]+  trimmed  ", ran.out)
    assert.matches(text, ran.out, 1, true)
    assert.matches(text, here:pawl("history", id, "--variable", "n").out, 1,
      true)
    assert.matches(("history +%d of its first %%d+ rows are gone "
      .. "%%(keep_history = 100%%)\n"):format(gone), here:pawl("show", id).out)
  end)

  it("says that there is no more behind a row, not that there is nothing",
    function()
      local here = folder()
      local id = here:json("run", "hello.lua").id
      assert.equal("nothing is recorded behind row 100\n",
        here:pawl("history", id, "--after", "100").out)
    end)

  it("says where a value is that cannot be stored", function()
    local here = folder()
    here:write("flow.lua", (flows.hello:gsub("ctx.vars.greeting =",
      "ctx.vars.a = { b = { [1.5] = 2 } } %0", 1)))
    local ran = here:pawl("run", "flow.lua")
    assert.equal(1, ran.code)
    assert.matches("\nerror   vars.a.b: value: a table with a float", ran.out,
      1, true)
    local id = here:json "list"[1].id
    assert.matches("vars.a.b: value: a table with a float",
      here:pawl("history", id).out, 1, true)
  end)

  it("says a reason once", function()
    local here = folder()
    here:write("flow.lua", (flows.hello:gsub("ctx.vars.greeting =",
      "os.execute 'kill -9 $PPID' %0", 1)))
    local function work()
      return here:pawl("worker", "flow.lua", "--until-idle", "--recoveries",
        "1").code
    end
    assert.equal(0, work()) -- loads it
    local id = here:json("start", "t.hello").id
    assert.equal(137, work())
    assert.equal(137, work())
    assert.equal(0, work())
    local last = here:pawl("history", id).out:match "([^\n]+)\n$"
    assert.matches(" suspended .* poisoned: ", last)
    local message = here:json("show", id).error.message
    local _, stop = last:find(message, 1, true)
    assert.truthy(stop, last)
    assert.is_nil(last:find(message, stop, true), last)
  end)
end)

describe("pawl cancel", function()
  it("cancels, once", function()
    local here = folder()
    here:pawl("run", "timer.lua", "--timeout", "50ms")
    local id = here:json "list"[1].id
    local ran = here:pawl("cancel", id:sub(1, 13), "--reason", "ordered twice",
      "--by", "ada")
    assert.equal(0, ran.code, ran.err)
    assert.equal("cancelled " .. id .. "\n", ran.out)
    assert.equal("cancelled", here:json("show", id).status)
    assert.matches("ordered twice", here:pawl("show", id).out)
    ran = here:pawl("cancel", id)
    assert.equal(4, ran.code)
    assert.matches("^pawl: already_finished: ", ran.err)
  end)

  it("names who asks without being told", function()
    local shell = require "spec.support.shell"
    local here = folder()
    here:pawl("run", "timer.lua", "--timeout", "50ms")
    local id = here:json "list"[1].id
    local ran = here:pawl("cancel", id, { env = { USER = "" } })
    assert.equal(0, ran.code, ran.err)
    assert.equal(shell.output { "id", "-un" },
      here:json("show", id).cancellation.by .. "\n")
  end)
end)
