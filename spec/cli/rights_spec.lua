-- docs/security.md: the roles that it makes, with the rights that it gives
-- them, do what it says and nothing else.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.rights", start = "split" }
w:fork("split", { next = { "a", "b", "c", "d" } })
w:step("a", { next = "kids", run = function(ctx)
  ctx.emit("t.done", {})
  ctx.vars.big = ("x"):rep(6000)
  ctx.attrs.color = "red"
end })
w:each("kids", { items = function() return { 1, 2 } end, workflow = "t.kid",
  next = "end" })
w:wait("b", { event = "go", key = function() return "k" end,
  next = { received = "end" } })
w:task("c", { title = "Do it", role = "manager", next = "end" })
w:timer("d", { after = "1h", next = "end" })
w:join("end", { expect = "all", next = "z" })
w:finish "z"
return w
]]

local KID = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.kid", start = "a" }
w:step("a", { next = "z", run = function() end })
w:finish "z"
return w
]]

local FAILING = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.failing", start = "a" }
w:step("a", { next = "z", retry = false, run = function() error "no" end })
w:finish "z"
return w
]]

--- The page's blocks of SQL, in order.
local function blocks()
  local found = {}
  for text in tmp.read "docs/security.md":gmatch "\n```sql\n(.-)```" do
    found[#found + 1] = text
  end
  return found
end

describe("the roles of docs/security.md", function()
  local backend = backends[2]
  if not backend then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local folder, url, ids
  local ROLES = { "pawl_worker", "pawl_operator", "pawl_reader",
    "pawl_owner" }

  local function sql(text)
    return backend.sql(url, "set client_min_messages = error; " .. text
      .. "; select 1 as done")
  end

  local function as(role)
    return (url:gsub("user=%S+", "user=pawl_" .. role))
  end

  --- `line`: words of a command, apart by blanks; ids by name.
  local function run(role, line)
    local words = {}
    for word in line:gmatch "%S+" do words[#words + 1] = ids[word] or word end
    words[#words + 1] = { env = { PAWL_STORE = as(role) } }
    return folder:pawl(table.unpack(words))
  end

  local function may(role, line)
    local ran = run(role, line)
    assert.equal(0, ran.code, line .. ": " .. ran.err)
    return ran
  end

  local function may_not(role, line)
    local ran = run(role, line)
    assert.not_equal(0, ran.code, line)
    assert.matches("auth", ran.err, line)
  end

  local function json(role, line)
    return pawl.json.decode(may(role, line .. " --json").out)
  end

  local WORK = "worker flow.lua kid.lua failing.lua --until-idle "
    .. "--processes 1"

  before_each(function()
    folder, url, ids = command.folder(), backend.url(), {}
    folder:write("flow.lua", FLOW)
    folder:write("kid.lua", KID)
    folder:write("failing.lua", FAILING)
    local made, granted = table.unpack(blocks())
    sql(made)
    may("owner", "migrate")
    sql(granted)
    -- The worker brings the workflows, the operator starts them.
    may("worker", WORK)
    may("operator", "start t.rights")
    may("operator", "start t.failing")
    may("worker", WORK)
    for _, one in ipairs(json("operator", "list")) do
      ids[one.workflow == "t.rights" and "ID" or one.workflow == "t.failing"
        and "FAILED" or "KID"] = one.id
    end
    ids.TASK = json("operator", "task list")[1].id
  end)

  after_each(function()
    sql "drop schema pawl cascade"
    for _, role in ipairs(ROLES) do
      sql("drop owned by " .. role .. "; drop role " .. role)
    end
    backend.cleanup()
  end)

  it("let an operator start and act, and a worker run", function()
    for _, line in ipairs {
      "suspend ID", "resume ID", "edit ID --set x=1", "wake ID",
      "workflow suspend t.rights", "workflow resume t.rights",
      "retry FAILED", "signal go --key k",
      "task claim TASK --by ann --role manager",
      "task complete TASK --by ann", "explain ID", "history ID",
    } do may("operator", line) end
    may("worker", WORK)
    assert.equal("completed", json("reader", "show ID").status)
    may("operator", "restart FAILED --from a")
    may("operator", "cancel FAILED")
    may("operator", "start t.rights --key once")
    may("operator", "start t.rights --key once")
  end)

  it("let a reader look, and change nothing", function()
    for _, line in ipairs { "list", "show ID", "explain ID", "tokens ID",
      "history ID", "outbox", "workflow list", "graph t.rights", "graph ID",
      "task list", "task show TASK" } do may("reader", line) end
    for _, line in ipairs { "start t.rights", "suspend ID", "cancel ID",
      "kill ID", "edit ID --set x=1", "signal go --key k",
      "task claim TASK --by ann --role manager" } do
      may_not("reader", line)
    end
    assert.equal("waiting", json("reader", "show ID").status)
  end)

  it("let no operator put code into the store, and no worker the schema",
    function()
      for _, case in ipairs {
        { "operator", "update pawl.workflow set source = source" },
        { "operator", "update pawl.workflow set sha256 = sha256" },
        { "operator", "insert into pawl.trigger values ('a', 'b', 1)" },
        { "operator", "update pawl.meta set value = '2'" },
        { "operator", "create table pawl.mine (id integer)" },
        { "operator", "drop table pawl.agenda" },
        { "worker", "update pawl.migration set number = 2" },
        { "worker", "create table pawl.mine (id integer)" },
        { "worker", "create function pawl.f() returns integer language sql "
          .. "as 'select 1'" },
        { "worker", "alter table pawl.agenda add mine integer" },
        { "reader", "delete from pawl.history" },
      } do
        local ok, err = pcall(sql, "set role pawl_" .. case[1] .. "; "
          .. case[2])
        assert.is_false(ok, case[2])
        for _, words in ipairs { "permission denied", "must be owner" } do
          ok = ok or tostring(err):find(words, 1, true)
        end
        assert.truthy(ok, tostring(err))
      end
    end)

  it("keep the secret of callbacks from who only reads", function()
    local function reads(role)
      return backend.sql(url, ("select has_table_privilege('pawl_%s', "
        .. "'pawl.secret', 'select')::text as yes"):format(role))[1].yes
    end
    assert.equal("false", reads "reader")
    assert.equal("true", reads "worker")
  end)
end)
