-- docs/json.md against what the commands write.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
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
  next = { pause = "pause", ask = "ask", call = "call" } })
flow:timer("pause", { after = 3600, next = "done" })
flow:task("ask", { title = "look", role = "clerk", due = "2h",
  form = "form.look", next = "done" })
flow:call("call", { workflow = "t.all", input = function()
  return { to = "ask" } end, next = "done" })
flow:finish "done"
return flow
]]

---- shapes ------------------------------------------------------------------

--- The blocks of the page, by the heading that they stand under.
local function documented()
  local shapes, heading = {}, nil
  local text = tmp.read "docs/json.md"
  for head, block in text:gmatch "## `pawl ([^`]+)`\n(.-)%f[\0#]" do
    heading = head
    local json = assert(block:match "```json\n(.-)\n```", heading)
    shapes[heading] = pawl.json.decode(json)
  end
  assert(heading)
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
    local name, may_be_missing = key:match "^([%l_]+)(%??)$"
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

for _, backend in ipairs(backends) do
  describe("what the commands write on " .. backend.name, function()
    after_each(backend.cleanup)

    --- Instances of each kind, and what becomes of them.
    local function folder()
      local here = command.folder()
      local _, _, url = backend.fresh { clock = false }
      here:write("all.lua", FLOW)
      local function run(...)
        local words = { ... }
        words[#words + 1] = { env = { PAWL_STORE = url } }
        local ran = here:pawl(table.unpack(words))
        assert.equal(0, ran.code, table.concat({ ... }, " ") .. ran.err)
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
      run("worker", "--until-idle", "all.lua")
      run("delete", ids[4], "--by", "ann", "--reason", "a test")
      run("suspend", ids[5], "--by", "ann")
      run("start", "t.all", "-i", "{}", "--delay", "0")
      return run, ids
    end

    it("is what docs/json.md says", function()
      local run, ids = folder()
      local commands = {
        ["list"] = { { "list" }, { "list", "--deleted" },
          { "list", "--sort", "due" }, { "list", "--sort", "updated" } },
        ["list --count"] = { { "list", "--count" } },
        ["list --group-by"] = { { "list", "--group-by", "error" },
          { "list", "--group-by", "node" }, { "list", "--group-by",
            "status" }, { "list", "--group-by", "workflow" } },
        ["show"] = {}, ["history"] = {},
        ["task list"] = { { "task", "list" } },
        ["outbox list"] = { { "outbox", "list" } },
        ["stats"] = { { "stats" } }, ["problems"] = { { "problems" } },
        ["health"] = { { "health" } },
        ["executors"] = { { "executors", "--all" } },
        ["audit"] = { { "audit" } },
      }
      for i, id in ipairs(ids) do
        commands.show[i] = { "show", id }
        commands.history[i] = { "history", id }
      end
      commands.history[#ids + 1] = { "history", ids[1], "--variable",
        "total" }
      local shapes, wrong = documented(), {}
      for name, list in pairs(commands) do
        local shape = assert(shapes[name], name .. " is not documented")
        shapes[name] = nil
        for _, words in ipairs(list) do
          words[#words + 1] = "--json"
          local written = pawl.json.decode(run(table.unpack(words)))
          assert.is_truthy(next(written), table.concat(words, " "))
          compare(shape, written, table.concat(words, " "), wrong)
        end
      end
      assert.is_nil(next(shapes))
      assert.equal("", table.concat(wrong, "\n"))
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
