-- docs/json.md against what the commands write.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local commands = require "pawl.cli.commands"
local flows = require "spec.support.flows"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.all", start = "first" }
flow:step("first", { retry = false, undo = function() end,
  run = function(ctx)
    ctx.vars.total = 3
    ctx.attrs.region = "eu"
    ctx.emit("first.done", { n = 1 })
    if ctx.input.fails then
      error { code = "no_luck", message = "not today", details = { a = 1 } }
    end
    return ctx.input.to or "pause"
  end,
  next = { pause = "pause", ask = "ask", call = "call", open = "open",
    token = "token" } })
flow:timer("pause", { after = 3600, next = "done" })
flow:task("ask", { title = "look", role = "clerk", due = "2h",
  form = "form.look", next = "done" })
flow:call("call", { workflow = "t.all", input = function()
  return { to = "ask" } end, next = "done" })
flow:wait("open", { event = "t.open", next = "done",
  answer = function(event) return event.data end })
flow:step("token", { next = "open", run = function(ctx)
  ctx.vars.token = ctx.callback "t.open"
end })
flow:finish "done"
return flow
]]

local SHORT <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.short", start = "done" }
flow:finish "done"
return flow
]]

---- shapes ------------------------------------------------------------------

--- The blocks of the page, by the commands in the heading that they stand
--- under, or else in front of the first colon; "show of what is purged" where
--- words stand behind one.
local function documented()
  local shapes = {}
  local text = tmp.read "docs/json.md"
  for heading, block in text:gmatch "## ([^\n]+)\n(.-)%f[\0#]" do
    local json = assert(block:match "```json\n(.-)\n```", heading)
    local of = heading:find("`", 1, true) and heading or block:match "^([^:]+):"
    for name, more in of:gsub("%s+", " "):gmatch "`pawl ([^`]+)`([^`,]*)" do
      assert.is_nil(shapes[name .. more], name)
      shapes[name .. more] = pawl.json.decode(json)
    end
  end
  assert(next(shapes))
  return shapes
end

local TEXTS <const> = {
  id = "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-7%x%x%x%-%x%x%x%x%-%x+$",
  time = "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%d%d%d%dZ$",
  text = "",
}
local OTHERS <const> = { number = "number", bool = "boolean" }

local function is_null(value) return type(value) == "userdata" end

--- nil, or what is wrong with a value of one word.
local function wrong_word(word, value)
  local name, may_be_null = word:match "^(%l+)(%??)$"
  if is_null(value) then
    return may_be_null == "" and name ~= "data" and "is null" or nil
  elseif TEXTS[name] then
    return (type(value) ~= "string" or not value:find(TEXTS[name]))
      and "is no " .. name or nil
  elseif OTHERS[name] then
    return type(value) ~= OTHERS[name] and "is no " .. name or nil
  elseif name == "error" then
    return (type(value) ~= "table" or type(value.message) ~= "string"
      or type(value.code) ~= "string") and "is no error" or nil
  end
  assert(name == "data", word)
end

local compare

local function compare_members(shape, value, path, out)
  local known = {}
  for key, inner in pairs(shape) do
    local name, may_be_missing = key:match "^([%l%d_]+)(%??)$"
    if name then
      known[name] = inner
      if value[name] == nil and may_be_missing == "" then
        out[#out + 1] = path .. "." .. name .. " is missing"
      end
    end
  end
  for name, inner in pairs(value) do
    local at = known[name] or shape["*"]
    if at then
      compare(at, inner, path .. "." .. name, out)
    else
      out[#out + 1] = path .. "." .. name .. " is not documented"
    end
  end
end

--- Appends what is wrong with a value.
function compare(shape, value, path, out)
  if type(shape) == "string" then
    local wrong = wrong_word(shape, value)
    if wrong then out[#out + 1] = path .. " " .. wrong end
  elseif shape[1] == "null" then
    if not is_null(value) then compare(shape[2], value, path, out) end
  elseif type(value) ~= "table" then
    out[#out + 1] = path .. " is neither a list nor an object"
  elseif shape[1] then
    for i, inner in ipairs(value) do
      compare(shape[1], inner, path .. "[" .. i .. "]", out)
    end
  else
    compare_members(shape, value, path, out)
  end
end

---- the specs ---------------------------------------------------------------

describe("the shapes in docs/json.md", function()
  it("are told apart from others", function()
    local function wrong(shape, value)
      local out = {}
      compare(pawl.json.decode(shape), pawl.json.decode(value), "x", out)
      table.sort(out)
      return table.concat(out, ", ")
    end
    assert.equal("", wrong('{"a":"text","b?":"bool"}', '{"a":"y"}'))
    assert.equal("x.a is missing, x.c is not documented",
      wrong('{"a":"text"}', '{"c":1}'))
    assert.equal("x[2].a is null",
      wrong('[{"a":"number"}]', '[{"a":1},{"a":null}]'))
    assert.equal("x.a is no time", wrong('{"a":"time?"}', '{"a":"soon"}'))
    assert.equal("", wrong('{"a":["null",{"b":"id"}]}', '{"a":null}'))
    assert.equal("x.a.b is no id",
      wrong('{"a":["null",{"b":"id"}]}', '{"a":{"b":"1"}}'))
    assert.equal("x.k is no number", wrong('{"*":"number"}', '{"k":true}'))
    assert.equal("x is no error", wrong('"error?"', '{"code":"a"}'))
    assert.equal("x is neither a list nor an object", wrong("[]", "1"))
  end)
end)

describe("docs/json.md", function()
  after_each(tmp.cleanup)

  it("has a block of each command that writes JSON", function()
    local here = command.folder()
    local has = { completion = true, man = true, help = true, export = true,
      test = true, spec = true } -- which is busted's, and Lua
    for name in pairs(documented()) do has[name:match "%S+"] = true end
    for _, name in ipairs(commands.names) do
      assert.is_true(has[name], name)
    end
    for _, of in ipairs { "task", "workflow", "outbox" } do
      local usage = here:pawl("help", of).out
        :match "usage: pawl %a+%s+(%S+)"
      for verb in usage:gmatch "%a+" do
        assert.is_table(documented()[of .. " " .. verb], of .. " " .. verb)
      end
    end
  end)
end)

for _, backend in ipairs(backends) do
  describe("what the commands write on " .. backend.name, function()
    after_each(backend.cleanup)

    --- Instances of each kind, and what becomes of them.
    local function folder()
      local here = command.folder()
      local _, _, url = backend.fresh { clock = false }
      here:write("all.lua", FLOW)
      here:write("short.lua", SHORT)
      here:write("long.lua", flows.long)
      local function run(...)
        local words = { ... }
        local more = type(words[#words]) == "table" and table.remove(words)
          or {}
        words[#words + 1] = { env = { PAWL_STORE = url }, stdin = more.stdin,
          under = more.under }
        local ran = here:pawl(table.unpack(words))
        assert.equal(more.code or 0, ran.code,
          table.concat({ ... }, " ", 1, #words - 1) .. ran.err)
        return ran.out
      end
      run("deploy", "all.lua")
      local function start(input, ...)
        return run("start", "t.all", "-i", input, ...):match "%S+"
      end
      local ids = {
        start('{"to":"ask"}', "--key", "k", "--tenant", "acme",
          "--correlation", "c", "--business-key", "b", "--by", "ann",
          "--metadata", '{"m":1}'),
        start '{"to":"call"}', start '{"fails":true}', start "{}", start "{}",
      }
      run("cancel", ids[4], "--by", "ann", "--reason", "a test")
      run("deploy", "long.lua")
      ids.long = run("start", "t.long"):match "%S+"
      run("worker", "--until-idle", "all.lua", "long.lua")
      run("delete", ids[4], "--by", "ann", "--reason", "a test")
      run("suspend", ids[5], "--by", "ann")
      run("start", "t.all", "-i", "{}", "--delay", "0")
      return run, ids, function(...) here:write(...) end
    end

    --- Runs commands one by one, and tells what they write from the page.
    local function comparing(run)
      local shapes, seen, wrong = documented(), {}, {}
      local function check(name, ...)
        local words = { ... }
        local more = type(words[#words]) == "table" and table.remove(words)
          or {}
        words[#words + 1] = "--json"
        local shape = assert(shapes[name], name .. " is not documented")
        seen[name] = true
        local said = table.concat(words, " ")
        words[#words + 1] = more
        local out, last = run(table.unpack(words)), nil
        for text in out:gmatch(more.lines and "[^\n]+" or ".+") do
          last = pawl.json.decode(text)
          assert.is_truthy(next(last), said)
          compare(shape, last, said, wrong)
        end
        return last
      end
      local function finish(known)
        assert.equal("", table.concat(wrong, "\n"))
        for name in pairs(shapes) do
          if not seen[name] and not known(name) then
            error("nobody looks at what `pawl " .. name .. "` writes")
          end
        end
      end
      return check, finish
    end

    local function asks(check, ids)
      check("list", "list")
      check("list", "list", "--deleted")
      check("list", "list", "--sort", "due")
      check("list", "list", "--sort", "updated")
      check("list --count", "list", "--count")
      for _, by in ipairs { "error", "node", "status", "workflow" } do
        check("list --group-by", "list", "--group-by", by)
      end
      for _, id in ipairs(ids) do
        check("show", "show", id)
        check("history", "history", id)
        check("explain", "explain", id)
      end
      check("history", "history", ids[1], "--variable", "total")
      assert.equal(100, check("show", "show", ids.long).trimmed.keep)
      local rows = check("history", "history", ids.long, "--type", "timer")
      assert.equal("trimmed", rows[1].type)
      check("tokens", "tokens", ids[1], "--all")
      check("task list", "task", "list")
      check("task list --count", "task", "list", "--count")
      check("outbox list", "outbox", "list")
      for _, name in ipairs { "stats", "problems", "health", "top", "audit",
        "version", "prune" } do
        check(name, name)
      end
      check("doctor", "doctor",
        { code = backend.name == "postgres" and 1 or 0 })
      check("prune", "prune", "--dry-run", "--retain", "completed=0s")
      check("executors", "executors", "--all")
      check("graph", "graph", ids[1])
      check("graph", "graph", "t.all")
    end

    local function changes(check, run, ids)
      local function work() run("worker", "--until-idle", "all.lua") end
      local held = ids[5]
      check("resume", "resume", held)
      check("suspend", "suspend", held)
      check("suspend of several ids", "suspend", held, ids[1], { code = 4 })
      check("explain", "explain", held)
      check("suspend with filters", "resume", "--status", "suspended", "--yes")
      check("suspend with filters", "move", "--node", "pause", "--to",
        "nowhere", "--yes", { code = 2 })
      check("note", "note", held, "hello")
      check("edit", "edit", held, "--set", "a=1")
      check("move", "move", held, "--to", "ask")
      work()
      check("break", "break", "t.all", "ask")
      check("breaks", "breaks")
      check("break of a removal", "break", "--remove", "--all")
      check("step", "step", held, { code = 4 })
      check("continue", "continue", held, { code = 4 })
      check("wake", "wake", held)
      check("cancel", "cancel", held)
      check("retry", "retry", ids[3])
      work()
      check("restart", "restart", ids[3], "--from", "first")
      work()
      check("kill", "kill", ids[2])
      check("archive", "archive", ids[3], "--reason", "old")
      check("list", "list", "--archived")
      check("show", "show", ids[3])
      check("explain", "explain", ids[3])
      check("unarchive", "unarchive", ids[3])
      check("undelete", "undelete", ids[4])
      check("delete", "delete", ids[4])
      check("purge", "purge", ids[4], "--force")
      run("purge", ids[3], "--force", "--keep-attributes")
      check("show of what is purged", "show", ids[3])
      check("list", "list", "--archived")
    end

    local function tasks(check, ids)
      local task = check("task list", "task", "list", "--instance", ids[1])
      local id = task[1].id
      local function on(verb, ...)
        check("task " .. verb, "task", verb, id, ...)
      end
      on("show")
      on("claim", "--by", "ann", "--role", "clerk")
      on("delegate", "--by", "ann", "--to", "bob")
      on("unclaim", "--by", "bob")
      on("reassign", "--by", "eve", "--to", "ann")
      on("escalate", "--priority", "high", "--by", "ann")
      on("edit", "--title", "look twice", "--by", "ann")
      on("claim", "--by", "ann")
      on("complete", "--by", "ann", "--output", '{"a":1}')
    end

    local function moves(check, run, id)
      local lines = run("export", id, "--move", "--children")
      check("list", "list")
      check("show", "show", id)
      check("explain", "explain", id)
      check("import", "import", "-", { stdin = run("export", "--all") })
      check("import", "import", "-", "--store", "two.db", { stdin = lines })
      check("reclaim", "reclaim", id)
      check("backup", "backup", "copy.db", "--store", "two.db")
      check("restore", "restore", "copy.db", "--store", "two.db")
      check("migrate", "migrate")
      check("migrate --print", "migrate", "--print")
      check("migrate --print", "migrate", "--print", "--store", "three.db")
    end

    local function workflows(check)
      check("workflow list", "workflow", "list")
      check("workflow show", "workflow", "show", "t.all")
      for _, verb in ipairs { "deactivate", "activate" } do
        check("workflow " .. verb, "workflow", verb, "t.all", "1")
      end
      for _, verb in ipairs { "off", "on", "suspend", "resume" } do
        check("workflow " .. verb, "workflow", verb, "t.all")
      end
      check("workflow suspend", "workflow", "suspend", "--prefix", "t.")
      check("workflow resume", "workflow", "resume", "--prefix", "t.")
      check("workflow hotfix", "workflow", "hotfix", "all.lua")
      check("workflow transfer", "workflow", "transfer", "t.all", "--from",
        "1", "--to", "2", "--plan")
    end

    local function files(check, write)
      check("check", "check", "all.lua", "none.lua", { code = 3 })
      check("deploy", "deploy", "all.lua")
      write("all2.lua", (FLOW:gsub('code = "t.all"', "%0, version = 2")))
      check("deploy", "deploy", "all2.lua")
      write("bad.lua", "return 1")
      check("deploy", "deploy", "bad.lua", { code = 1 })
      write("mod.lua", (FLOW:gsub('code = "t.all"', 'code = "mod.all"')))
      check("deploy", "deploy", "mod.lua", "--trust",
        '{"codes":"mod.*","may":{"start":["mod.*","t.*"],"host":"spawn",'
        .. '"signal":"*"}}')
      check("workflow list", "workflow", "list")
      check("workflow show", "workflow", "show", "mod.all")
    end

    --- The tenants' own are not found by whom none is given to.
    local function starts(check)
      check("start", "start", "t.short")
      check("start --many", "start", "t.short", "--many", "-",
        { stdin = '{"key":"m","input":{"a":1}}\n' })
      check("start --many", "start", "t.short", "--many", "-",
        { stdin = '{"key":"m","input":{"a":2}}\n' })
      check("signal", "signal", "none", "--key", "n")
      check("signal", "signal", "go", "--start", "t.short")
    end

    local function goes(check, ids)
      check("outbox retry", "outbox", "retry", ids[1])
      check("outbox drop", "outbox", "drop", ids[1])
      check("relay", "relay", "--exec", "cat >/dev/null", "--once",
        { lines = true })
      check("worker", "worker", "--until-idle", "short.lua", { lines = true })
      check("dev", "dev", "short.lua", { lines = true,
        under = { "timeout", "--foreground", "--preserve-status", "3" } })
      check("run", "run", "short.lua", "--quiet")
    end

    --- Asked twice: that there is an answer, a worker has seen to in between.
    local function answers(check, run)
      local id = run("start", "t.all", "-i", '{"to":"open"}', "--key", "w")
        :match "%S+"
      run("worker", "--until-idle", "all.lua")
      run("ask", id, "t.open", "-d", "3", "--event", "e", "--timeout", "0",
        { code = 1 })
      run("worker", "--until-idle", "all.lua")
      assert.equal(3, check("ask", "ask", id, "t.open", "--event", "e").value)
      check("start", "start", "t.all", "--key", "w", "--wait")
    end

    local function completes(check, run)
      local id = run("start", "t.all", "-i", '{"to":"token"}'):match "%S+"
      run("worker", "--until-idle", "all.lua")
      check("complete", "complete",
        check("show", "show", id).variables.token)
    end

    -- these write what is compared above
    local function is_alike(name)
      return name == "task fail" or name == "task retry"
    end

    it("is what docs/json.md says", function()
      local run, ids, write = folder()
      local check, finish = comparing(run)
      asks(check, ids)
      files(check, write)
      workflows(check)
      moves(check, run, ids[1])
      tasks(check, ids)
      changes(check, run, ids)
      starts(check)
      answers(check, run)
      completes(check, run)
      goes(check, ids)
      finish(is_alike)
    end)

    it("has the same names in list and show", function()
      local run, ids = folder()
      local rows = pawl.json.decode(run("list", "--json"))
      local one = pawl.json.decode(run("show", ids[1], "--json"))
      local same
      for _, row in ipairs(rows) do
        if row.id == ids[1] then same = row end
      end
      for name, value in pairs(same) do assert.same(value, one[name], name) end
    end)

    it("is one instance by its key, or its business key", function()
      local run, ids = folder()
      for _, option in ipairs { { "--key", "k" }, { "--business-key", "b" },
        { "--key", "k", "-w", "t.all" } } do
        assert.equal(ids[1], pawl.json.decode(run("show", "--json",
          table.unpack(option))).id)
      end
    end)
  end)
end

describe("pawl show", function()
  after_each(tmp.cleanup)

  it("takes of those with a key the one that has it still", function()
    local here = command.folder()
    here:write("all.lua", FLOW)
    here:pawl("deploy", "all.lua")
    here:write("other.lua", (FLOW:gsub("t%.all", "t.other")))
    here:pawl("deploy", "other.lua")
    local function start(code)
      return here:json("start", code, "-i", "{}", "--key", "k",
        "--on-existing", "replace").id
    end
    local function shown(...)
      local one, ran = here:json("show", "--key", "k", ...)
      assert.equal(0, ran.code, ran.err)
      return one.id
    end
    local first = start "t.all"
    assert.equal(first, shown())
    local second = start "t.all"
    assert.not_equal(first, second)
    assert.equal(second, shown())
    local other = start "t.other"
    local ran = here:pawl("show", "--key", "k")
    assert.equal(2, ran.code)
    assert.matches("%-w CODE names a workflow", ran.err)
    assert.equal(second, shown("-w", "t.all"))
    assert.equal(other, shown("-w", "t.other@1"))
    assert.equal(3, here:pawl("show", "--key", "k", "-w", "t.other@2").code)
    assert.equal(0, here:pawl("cancel", second, other).code)
    for _, id in ipairs { first, second, other } do
      here:pawl("kill", id)
      ran = here:pawl("archive", id)
      assert.equal(0, ran.code, ran.err)
    end
    assert.equal(second, shown("-w", "t.all"))
    assert.equal(other, shown("-w", "t.other"))
    ran = here:pawl("show", "--key", "k")
    assert.equal(2, ran.code)
    assert.matches("pawl list --archived --key k", ran.err, 1, true)
    assert.equal(0, here:pawl("purge", second).code)
    assert.equal(first, shown("-w", "t.all"))
  end)

  it("says what a key does not name", function()
    local here = command.folder()
    here:write("all.lua", FLOW)
    here:pawl("deploy", "all.lua")
    for _ = 1, 2 do
      here:pawl("start", "t.all", "-i", "{}", "--business-key", "b")
    end
    local function refused(code, words, hint, ...)
      local ran = here:pawl("show", ...)
      assert.equal(code, ran.code, ran.err)
      assert.matches(words, ran.err)
      if hint then assert.matches(hint, ran.err, 1, true) end
      assert.equal("", ran.out)
    end
    refused(3, "no instance has the key 'k'", nil, "--key", "k")
    refused(3, "no instance has the business key 'x'", nil,
      "--business-key", "x")
    refused(2, "more than one instance has the business key 'b'",
      "pawl list --business-key b", "--business-key", "b")
    refused(2, "one of them", nil, "--key", "k", "--business-key", "b")
    refused(2, "one of them", nil, "01a2", "--key", "k")
    refused(2, "needs an ID, or %-%-key or %-%-business%-key", nil)
  end)
end)
