-- What an ANALYZE has counted in a SQLite store, which others may have said of
-- the file that they share with it: plans are made without it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local backend
for _, b in ipairs(kit.backends) do
  if b.name == "sqlite" then backend = b end
end
if not backend then return end

-- Tables that are walked on purpose: a few rows, or all of them wanted.
local MEANT = {
  executor = "a row for each process, not for each thing that runs",
  suspension = "prefixes that are suspended: a few",
  trigger = "one for each event of a workflow",
  migration = "all migrations: a few",
  workflow = "all versions, when somebody asks",
}

--- Walks in the plan of every statement, as a connection makes them now. Each
--- table with its alias, as SQLite names it in its plans.
local function walks(url)
  local list, n = {}, 0
  for name, statement in pairs(kit.statements "sqlite") do
    local named = {}
    for owner, alias in statement.text:gmatch "pawl_([%l]+) ([%l]+)" do
      named[alias] = owner
    end
    for _, row in ipairs(kit.select(url, "explain query plan "
      .. statement.text)) do
      local scanned, how = row.detail:match "^SCAN ([%w_]+)(.*)$"
      local owner = scanned and (scanned:match "^pawl_(%l+)$" or named[scanned])
      if owner and not how:find "VIRTUAL" and not MEANT[owner]
        and owner ~= "tokens" then -- a view over the text of one instance
        list[#list + 1] = name .. ": " .. row.detail
      end
      -- the primary key of one shard, of a table that has many
      if row.detail:find "%(shard=%?%)$" and not row.detail:find "_due"
        and not row.detail:find "_unpublished" then
        list[#list + 1] = name .. ": " .. row.detail
      end
    end
    n = n + 1
  end
  assert.is_true(n > 130, n .. " statements")
  table.sort(list)
  return table.concat(list, "\n")
end

describe("what was counted in a store, on sqlite,", function()
  after_each(backend.cleanup)

  --- A store in which somebody has counted tables of one row, and it again.
  local function counted(url)
    url = url or backend.url()
    local engine = backend.open(url)
    assert(engine:load(pawl.workflow { code = "t.counted", start = "w" }
      :wait("w", { event = "go", timeout = "1h", next = {
        received = "z", timeout = "z" } }):finish "z"))
    assert(engine:start("t.counted", {}))
    engine:close()
    backend.sql(url, [[
      create table guest (id integer primary key, name text);
      create index guest_name on guest (name);
      insert into guest values (1, 'ann'), (2, 'ben');
      analyze]])
    local kept = backend.sql(url,
      "select count(*) as n from sqlite_stat1 where tbl like 'pawl%'")
    assert.is_true(tonumber(kept[1].n) > 5)
    return url
  end

  it("is forgotten when it is opened: no statement walks", function()
    local url = counted()
    backend.open(url):close()
    assert.equal("", walks(url))
  end)

  it("is forgotten by who has it open, too", function()
    local url = backend.url()
    backend.open(url)
    local store = kit.store(url)
    -- as a plan by counts would have it, were its order not given
    local load = kit.statements "sqlite".instance_load.text
      :gsub("cross join", "join")
    local function walks_now()
      assert(store:begin "open") -- explaining alone reads no schema anew
      assert(store:query "select count(*) as n from pawl_agenda")
      local rows = assert(store:query("explain query plan "
        .. load:gsub("@[%w_]+", "0")))
      assert(store:commit())
      for _, row in ipairs(rows) do
        if row.detail:find("(shard=?)", 1, true) then return true end
      end
      return false
    end
    assert.is_false(walks_now())
    store:tidy()
    counted(url)
    assert.is_true(walks_now()) -- it has read what was counted
    store:tidy()
    assert.is_false(walks_now())
  end)

  it("is kept for the tables of others", function()
    local url = counted()
    backend.open(url):close()
    assert.same({ { tbl = "guest" } }, kit.select(url,
      "select tbl from sqlite_stat1"))
  end)
end)
