--- What the SQL of a script may touch that was granted some tables alone.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

local FILE <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "mod.one", start = "a", version = %d }
flow:step("a", { retry = { max = 1 }, transactional = true, run = function(ctx)
  ctx.vars.rows = ctx.db:query(ctx.input.sql)
end, next = "z" })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow]]

local TABLES <const> = {
  "create table game_player (id integer primary key, gold integer)",
  "create table game_secret (id integer, gold integer)",
  "create table mod_score (id integer, gold integer)",
  "create table mod_other (id integer, gold integer)",
  "create view mod_sees as select gold from game_secret",
  "create trigger watch after update on mod_other begin "
    .. "insert into game_secret values (3, 3); end",
  "insert into game_player values (1, 10)",
  "insert into game_secret values (2, 20)",
}

local GRANT <const> = { read = "game_player", write = { "mod_*" } }

local function load(engine, level, db, version)
  return engine:load(tmp.file("flow.lua", FILE:format(version or 1)),
    { trust = { level = level, may = { db = db } } })
end

local function host(backend, level, db)
  local engine, clock, url = backend.fresh()
  for _, sql in ipairs(TABLES) do
    assert(engine:transaction(function(tx)
      tx:query(sql)
      return true
    end))
  end
  assert(load(engine, level, db))
  return engine, clock, url
end

local function ask(engine, sql)
  local id = assert(engine:start("mod.one", { sql = sql }))
  engine:run { id = id }
  return assert(engine:get(id))
end

local function assert_refused(engine, sql, what)
  local now = ask(engine, sql)
  assert.equal("failed", now.status, sql)
  assert.equal("limit", now.error.code)
  assert.matches(what, now.error.message, 1, true)
  assert.matches("trust, may.db", now.error.hint, 1, true)
end

local ALLOWED <const> = {
  "insert into mod_score values (1, 5)",
  "update mod_score set gold = gold + 1 where id = 1",
  "select s.gold from mod_score s, game_player p where s.id = p.id",
  "select id from mod_score where gold in (select gold from game_player)",
  "insert into mod_score (id, gold) select id, gold from game_player",
  "insert into mod_score values (7, 'please select * from it') returning id",
  "insert into mod_score values (8, 1) on conflict do nothing",
  "with recursive n(i) as (select 1 union all select i + 1 from n "
    .. "where i < 3) select i from n",
  "select value from json_each('[1,2]')",
  "delete from mod_score",
}

local READ <const> = "it may not read "
local WRITE <const> = "it may not write "
-- SQLite asks for one or the other first
local ANYHOW <const> = "its trust is limited"

--- Each leaves all as it is.
local REFUSED <const> = {
  { "drop table game_player", ANYHOW },
  { "select * from game_secret", READ .. "game_secret" },
  { "select count(*) from game_secret", READ .. "game_secret" },
  { "select 1 from mod_score where exists (select 1 from game_secret)",
    READ .. "game_secret" },
  { "select 1 where 1 in game_secret", READ .. "game_secret" },
  { "with game_player as (select gold from game_secret) "
    .. "select gold from game_player", READ .. "game_secret" },
  { "select gold from mod_sees", READ .. "game_secret" },
  { "insert into mod_score select * from game_secret",
    "has to name the columns" },
  { "insert into mod_score/**/SeLeCt/**/*from game_secret",
    "has to name the columns" },
  { "insert into mod_score (id) select gold from game_secret",
    READ .. "game_secret" },
  { "update mod_score set gold = s.gold from game_secret s",
    READ .. "game_secret" },
  { "update game_player set gold = 1000", WRITE .. "game_player" },
  { "insert into game_player values (9, 9)", WRITE .. "game_player" },
  { "insert or replace into game_player values (1, 9)",
    WRITE .. "game_player" },
  { "delete from game_player", WRITE .. "game_player" },
  { "update mod_other set gold = 1", WRITE .. "game_secret" },
  { "select id from pawl_instance", READ .. "pawl_instance" },
  { "select name from sqlite_master", READ .. "sqlite_master" },
  { "select name from pragma_table_info('game_secret')", READ .. "pragma_" },
  { "pragma table_info(game_secret)", ANYHOW },
  { "create table mod_more (n integer)", ANYHOW },
  { "alter table mod_score add column n integer", ANYHOW },
  { "create temp table mod_more (n integer)", ANYHOW },
  { "create temp trigger t after insert on mod_score begin "
    .. "delete from game_player; end", ANYHOW },
  { "analyze mod_score", ANYHOW },
}

local LEVELS <const> = { "limited", "isolated" }

local function all_rows(engine)
  local found
  assert(engine:transaction(function(tx)
    found = {}
    for _, name in ipairs { "game_player", "game_secret", "mod_score" } do
      found[name] = tx:query("select id, gold from " .. name)
    end
    return true
  end))
  return found
end

local function describe_tables(backend)
  for _, level in ipairs(LEVELS) do
    it("are those that it was granted, " .. level, function()
      local engine = host(backend, level, GRANT)
      for _, sql in ipairs(ALLOWED) do
        local now = ask(engine, sql)
        assert.equal("completed", now.status,
          sql .. ": " .. tostring(now.error and now.error.message))
      end
      local before = all_rows(engine)
      for _, one in ipairs(REFUSED) do
        assert_refused(engine, one[1], one[2])
      end
      assert.same(before, all_rows(engine))
    end)
  end

  it("may be virtual ones, whose own tables are granted as well", function()
    local engine, _, url = host(backend, "limited", GRANT)
    backend.sql(url, "create virtual table mod_words using fts5(t)")
    for _, sql in ipairs { "insert into mod_words values ('a red pen')",
      "select t from mod_words('red')" } do
      local now = ask(engine, sql)
      assert.equal("completed", now.status, now.error and now.error.message)
    end
    assert.equal("query: pragmas are not allowed",
      ask(engine, "pragma page_size = 8192").error.message)
  end)

  it("are written as well where they are but named", function()
    local engine = host(backend, "limited", { "mod_score", "game_player" })
    for _, name in ipairs { "mod_score", "game_player" } do
      assert.equal("completed",
        ask(engine, "update " .. name .. " set gold = 1").status)
    end
    assert_refused(engine, "select gold from mod_other", READ .. "mod_other")
  end)

  it("are none where none is named, and all but ours where all are", function()
    local engine = host(backend, "limited", {})
    assert_refused(engine, "select gold from mod_score", READ .. "mod_score")
    assert.equal("completed", ask(engine, "select 1 as n").status)
    assert(load(engine, "limited", "*", 2))
    assert.equal("completed", ask(engine, "delete from game_secret").status)
    assert_refused(engine, "select id from pawl_instance",
      READ .. "pawl_instance")
  end)

  it("are any where the grant is true", function()
    local engine = host(backend, "limited", true)
    assert.equal("completed", ask(engine, "delete from game_secret").status)
    assert.equal("completed",
      ask(engine, "insert into mod_score select * from game_player").status)
  end)

  it("are those of the engine for what comes from the store", function()
    local engine, clock, url = host(backend, "limited", true)
    local id = assert(engine:start("mod.one",
      { sql = "delete from game_secret" }))
    engine:close()
    engine = kit.rival(backend, url, clock,
      { trust = { may = { db = GRANT } } })
    engine:run { id = id }
    assert.equal("limit", assert(engine:get(id)).error.code)
    engine:close()
  end)

  it("hold nobody else in the same engine", function()
    local engine = host(backend, "limited", GRANT)
    assert_refused(engine, "select gold from game_secret",
      READ .. "game_secret")
    assert.equal(1, #all_rows(engine).game_secret)
  end)
end

local function describe_refusal(backend)
  local function assert_unsupported(engine, err)
    assert.is_nil(engine)
    assert.equal("unsupported", err.code)
    assert.matches("cannot hold ctx.db to some tables", err.message)
    assert.matches("rights are a role's", err.hint)
  end

  it("are refused by a store that cannot hold it to them", function()
    local engine, clock, url = backend.fresh()
    for _, db in ipairs { GRANT, "mod_*", { "mod_*" } } do
      assert_unsupported(load(engine, "limited", db))
      assert_unsupported(pawl.open(url, { clock = clock,
        trust = { may = { db = db } } }))
    end
    assert(load(engine, "limited", true))
    assert.equal("completed", ask(engine, "select 1 as n").status)
  end)
end

kit.describe("tables that a script may touch", function(backend)
  if backend.name == "sqlite" and backend.label ~= "toy" then
    describe_tables(backend)
  else
    describe_refusal(backend)
  end

  it("are names, and nothing else", function()
    local engine = backend.fresh()
    for _, db in ipairs { 5, { 5 }, { read = 5 }, { reads = "a" },
      { write = { "a b" } } } do
      local info, err = load(engine, "limited", db)
      assert.is_nil(info)
      assert.equal("invalid", err.code)
      assert.matches("trust[,:]", err.message)
    end
  end)

  it("are called so where a name is none", function()
    local engine = backend.fresh()
    for list, said in pairs {
      [{ db = "a b" }] = "`may.db.write` has what is no table",
      [{ db = { read = "a b" } }] = "`may.db.read` has what is no table",
      [{ start = "a b" }] = "`may.start` has what is no code",
      [{ signal = "a b" }] = "`may.signal` has what is no event",
      [{ host = "a b" }] = "`may.host` has what is no function" } do
      local _, err = engine:load(tmp.file("flow.lua", FILE:format(1)),
        { trust = { level = "limited", may = list } })
      assert.matches(said, err.message, 1, true)
      assert.matches(list.db and '"mod_*"' or '"mod.*"', err.hint, 1, true)
    end
  end)
end)
