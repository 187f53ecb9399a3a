local backends = require "spec.support.backends"
local helper = require "spec.store.helper"

for _, backend in ipairs(backends) do
  describe("a user's own statement on " .. backend.name, function()
    local is_postgres = backend.name == "postgres"
    local own = is_postgres and "pawl.meta" or "pawl_meta"
    local store

    before_each(function()
      store = assert(helper.open(backend.url()))
      assert(store:begin("open"))
      assert(store:query("create table mine (id integer, name text)"))
      assert(store:commit())
      assert(store:begin("open"))
    end)

    after_each(function()
      helper.cleanup()
      backend.cleanup()
    end)

    -- `?1` or `$1`
    local function sql(text)
      return (text:gsub("%$", is_postgres and "$" or "?"))
    end

    it("shares the transaction", function()
      assert(store:send("meta_put", { key = "a", value = "1" }))
      local result = assert(store:query(sql "insert into mine values ($1, $2)",
                                        7, "seven"))
      assert.equal(1, result.changed)
      assert(store:commit())
      assert(store:begin("open"))
      assert.same({ changed = 0, { id = 7, name = "seven" } },
                  store:query("select id, name from mine"))
      assert(store:query("delete from mine"))
      store:rollback()
      assert(store:begin("open"))
      assert.equal(1, #store:query("select * from mine"))
    end)

    it("has values with their types", function()
      local row = assert(store:query(
        "select 1 as i, 9223372036854775807 as big, 'ü' as t, null as n, "
        .. "1.5e0" .. (is_postgres and "::float8" or "")
        .. " as f, 1 < 2 as b"))[1]
      assert.equal("integer", math.type(row.i))
      assert.equal(math.maxinteger, row.big)
      assert.equal("ü", row.t)
      assert.is_nil(row.n)
      assert.equal("float", math.type(row.f))
      assert.equal(1.5, row.f)
      assert.equal(is_postgres and true or 1, row.b)
    end)

    it("takes parameters by position", function()
      local cast = is_postgres and "::float8" or ""
      local result = assert(store:query(
        sql("select $2 as t, $1 + 1 as i, $3" .. cast .. " as f, $4 as n"),
        41, "it's", 0.1, nil))
      assert.same({ t = "it's", i = 42, f = 0.1 }, result[1])
      local refused, err = store:query(sql "select $1 as a, $2 as b", "x")
      assert.is_nil(refused)
      assert.equal("invalid", err.code)
    end)

    it("may read pawl's tables and not write them", function()
      local rows = assert(store:query("select key from " .. own))
      assert.equal("shards", rows[1].key)
      for _, text in ipairs {
        "insert into %s values ('x', 'y')", "update %s set value = '9'",
        "delete from %s", "drop table %s", "alter table %s add x integer",
        "create index mine_i on %s (value)",
        "create trigger mine_t after insert on mine for each row "
          .. (is_postgres and "execute function %s()"
              or "begin delete from %s; end"),
        "with w as (select 1) insert into %s select '1', '2'",
        "/* select */ -- select\n delete from %s",
        "DELETE FROM " .. (is_postgres and '"pawl" . "meta"' or '"PAWL_meta"'),
      } do
        local refused, err = store:query(text:format(own))
        -- SQLite compiles a trigger's body when it is fired.
        if not is_postgres and text:find("trigger") then
          if refused then
            refused, err = store:query("insert into mine values (1, 'x')")
          end
        end
        assert.is_nil(refused, text)
        assert.equal("misuse", err.code, text)
        store:rollback()
        assert(store:begin("open"))
      end
      store:rollback()
      assert.equal("1", helper.get(store, "shards"))
    end)

    it("does not mistake text for tables", function()
      assert(store:query(
        "insert into mine values (1, 'delete from pawl.meta; commit')"))
      assert(store:query("select 1 as a -- pawl.meta\n"))
      assert(store:query("insert into mine /* pawl.x */ values (2, 'x')"))
      assert.equal(2, #store:query("select * from mine"))
    end)

    it("may not end, divide or leave the transaction", function()
      for _, text in ipairs {
        "commit", "end", "rollback", "begin", "savepoint a", "release a",
        " /* x */ commit", "COMMIT", "-- c\nrollback",
        is_postgres and "abort" or "attach ':memory:' as other",
        is_postgres and "set local search_path = pawl" or "detach main",
        is_postgres and "prepare transaction 'x'" or "pragma user_version=1",
        is_postgres and "select set_config('statement_timeout','0',false)"
          or "pragma journal_mode=delete",
        is_postgres and "lock mine" or "pragma foreign_keys=on",
      } do
        local refused, err = store:query(text)
        assert.is_nil(refused, text)
        assert.equal("misuse", err.code, text)
        store:rollback()
        assert(store:begin("open"))
      end
    end)

    it("is one statement", function()
      for _, text in ipairs { "select 1; select 2", "select 1; commit",
        "select ';'; ;; select 2", "select 1; selec 2", "select 1; -- c\n 2",
        "values (1); (select 2)" } do
        local refused, err = store:query(text)
        assert.is_nil(refused)
        assert.same({ "misuse", "query: one statement at a time" },
          { err.code, err.message })
        store:rollback()
        assert(store:begin("open"))
      end
      for _, text in ipairs { "", "  ", "-- nothing", ";" } do
        local refused, err = store:query(text)
        assert.is_nil(refused)
        assert.equal("misuse", err.code)
        store:rollback()
        assert(store:begin("open"))
      end
      assert(store:query("select 1 as a; -- and a comment\n ;"))
    end)

    it("is stopped when its time is up, and harms nobody else", function()
      store:limit(0.05)
      local refused, err = store:query(
        "with recursive n (i) as (select 1 union all select i + 1 from n) "
        .. "select count(*) as c from n")
      assert.is_nil(refused)
      assert.equal("timeout", err.code)
      assert.equal("57014", err.sqlstate)
      store:rollback()
      assert(helper.put(store, "a", "1"))

      -- The limit is the statement's, not the transaction's.
      assert(store:begin("open"))
      assert(store:query("select 1 as a"))
      if is_postgres then
        store:limit(0)
        local left = store:query("select current_setting('statement_timeout')"
                                 .. " as t")[1].t
        assert.equal("1min", left)
      end
      assert(store:send("meta_put", { key = "a", value = "2" }))
      assert(store:commit())
    end)

    it("says what is wrong with it, and undoes the unit", function()
      local refused, err = store:query("selec 1")
      assert.is_nil(refused)
      assert.equal("store", err.code)
      assert.matches("^query: .*syntax error", err.message)
      assert.equal("misuse", select(2, store:query("select 1")).code)
      store:rollback()
      assert(store:begin("open"))
      refused, err = store:query("select * from nowhere")
      assert.is_nil(refused)
      assert.equal("store", err.code)
      assert.matches("nowhere", err.message)
    end)
  end)
end

describe("a column of a user's statement on sqlite", function()
  after_each(helper.cleanup)

  it("has the one type that holds all its values", function()
    local store = assert(helper.open(":memory:"))
    assert(store:begin("open"))
    local rows = assert(store:query [[
      select * from (values (1, 1, 1, null, x'00'), (2.5, 'x', 2, null, 'y'))
    ]])
    assert.same({ changed = 0,
                  { column1 = 1.0, column2 = "1", column3 = 1,
                    column5 = "\0" },
                  { column1 = 2.5, column2 = "x", column3 = 2,
                    column5 = "y" } }, rows)
    assert.equal("float", math.type(rows[1].column1))
    assert.equal("integer", math.type(rows[2].column3))
  end)

  it("may ask pragmas that only look", function()
    local store = assert(helper.open(":memory:"))
    assert(store:begin("open"))
    assert.equal("key", store:query("pragma table_info(pawl_meta)")[1].name)
  end)

  it("may use the virtual tables that SQLite brings along", function()
    local store = assert(helper.open(":memory:"))
    assert(store:begin("open"))
    for _, text in ipairs {
      "create virtual table words using fts5(t)",
      "insert into words values ('a red pen')",
      "create virtual table box using rtree(id, low, high)",
      "insert into box values (1, 2, 3)",
    } do
      assert(store:query(text))
    end
    assert.equal("a red pen", store:query("select t from words('red')")[1].t)
    assert.equal(1, store:query("select id from box where low < 3")[1].id)
    local refused, err = store:query("pragma page_size = 8192")
    assert.is_nil(refused)
    assert.equal("query: pragmas are not allowed", err.message)
  end)

  it("is no address of code, and gives none", function()
    local store = assert(helper.open(":memory:"))
    for _, text in ipairs {
      "select hex(fts3_tokenizer('simple')) as x",
      "select FTS3_Tokenizer('mine', x'4141414141414141') as x",
      "create temp table t as select fts3_tokenizer('simple') as x",
    } do
      assert(store:begin("open"))
      local given, err = store:query(text)
      assert.is_nil(given, text)
      assert.equal("query: addresses of code are not allowed", err.message)
      assert.equal("misuse", err.code)
      store:rollback()
    end
  end)
end)

describe("a user's own table on sqlite", function()
  after_each(function()
    helper.cleanup()
    backends[1].cleanup()
  end)

  local MADE = "create temp table mine (key text primary key, value text)"

  --- What a store answers to statements after each other, then a rollback.
  local function last(store, ...)
    local result, err
    assert(store:begin "open")
    for _, text in ipairs { ... } do
      result, err = store:query(text)
      if not result then break end
    end
    store:rollback()
    return result, err
  end

  it("does not get a name of ours by being renamed", function()
    local store = assert(helper.open(backends[1].url()))
    for _, text in ipairs {
      "alter table temp.mine rename to pawl_meta",
      "alter table mine rename to PAWL_outbox",
      "alter table mine rename to [pawl_later]",
    } do
      local refused, err = last(store, MADE, text)
      assert.is_nil(refused, text)
      assert.equal("misuse", err.code, text)
    end
    local refused, err = last(store, "create table mine (id integer)",
      "alter table mine rename to pawl_later")
    assert.is_nil(refused)
    assert.equal("misuse", err.code)
    assert(last(store, MADE, "alter table mine rename to pawlonia",
      "alter table pawlonia rename column key to pawl_key"))
  end)

  it("does not stand in front of ours", function()
    local store = assert(helper.open(backends[1].url()))
    assert(store:begin "open")
    assert(store:query "create temp table json_each (value text)")
    assert(store:commit())
    assert.equal("1", helper.get(store, "shards"))
    assert(helper.put(store, "a", "1"))
    assert.equal("1", helper.get(store, "a"))
  end)

  it("is late when one operation took all the time", function()
    local store = assert(helper.open(backends[1].url()))
    store:limit(0.02)
    local text = "select instr(hex(zeroblob(%d)), hex(zeroblob(%d)) || 'x')"
    local size, refused, err = 20000
    repeat -- four times the work each time, until this machine takes longer
      size = size * 2
      assert(store:begin "open")
      refused, err = store:query(text:format(size, size // 2))
      store:rollback()
    until not refused or size > 2000000
    assert.is_nil(refused)
    assert.equal("timeout", err.code)
    assert.equal("57014", err.sqlstate)
  end)
end)
