--- Shortened ids: beginnings, which are times, and ends, which are random.
local kit = require "spec.engine.kit"

local function end_of(id, n) return (id:gsub("-", ""):sub(-n)) end

--- So many instances that are older than all others, past the engine.
local OLD = {
  sqlite = [[
    with recursive n (i) as (
      select 1 union all select i + 1 from n where i < %d)
    insert into pawl_instance (shard, id, workflow, version, priority,
      executor_group, created_at, status, attempt, visit, commits, seq,
      updated_at)
    select 0, cast(x'00000000' || printf('%%012d', i) as blob), 'old', 1, 0,
      'default', 1, 'completed', 0, 0, 1, 0, 1 from n]],
  postgres = [[
    insert into pawl.instance (shard, id, workflow, version, priority,
      executor_group, created_at, status, attempt, visit, commits, seq,
      updated_at)
    select 0, ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
      'old', 1, 0, 'default', now(), 'completed', 0, 0, 1, 0, now()
      from generate_series(1, %d) i]],
}

kit.describe("an instance's id", function(backend)
  local function many(options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(kit.one()))
    local items = {}
    for i = 1, 500 do items[i] = {} end
    local ids = assert(engine:start_many("t.one", items))
    return engine, ids, url, clock
  end

  it("may be shortened to its end, of 500 made at once", function()
    for _, shards in ipairs { 1, 3 } do
      local engine, ids = many { shards = shards }
      for i, id in ipairs(ids) do
        if i % 25 == 0 then
          assert.equal(id, engine:find(end_of(id, 8)))
          assert.equal(id, engine:find(end_of(id, 16):upper()))
        end
      end
      local id = ids[7]
      assert.equal(id, engine:find(id:sub(-17))) -- with a hyphen in it
      assert.equal(id, assert(engine:get(end_of(id, 12))).id)
      assert.equal(id, engine:find(id))
      assert.equal(id, engine:find(id:sub(1, 34)))
    end
  end)

  it("is not found where it is not, though it be whole", function()
    for _, shards in ipairs { 1, 3 } do
      local engine = many { shards = shards }
      local unknown = kit.draw_id()
      local id, err = engine:find(unknown)
      assert.is_nil(id)
      assert.equal("notfound", err.code)
      assert.matches("there is no instance " .. unknown, err.message, 1, true)
    end
  end)

  it("is not found by what no id begins or ends with", function()
    local engine = many()
    local id, err = engine:find "0123456789ab"
    assert.is_nil(id)
    assert.equal("notfound", err.code)
    id, err = engine:find "zzzz"
    assert.is_nil(id)
    assert.equal("invalid", err.code)
    assert.matches("beginning or its end", err.hint)
  end)

  it("needs 8 digits of its end where older ones were not looked at",
    function()
      local engine, ids, url = many()
      local last = ids[#ids]
      backend.sql(url, OLD[backend.name]:format(100000))
      local short = assert(end_of(last, 5))
      local id, err = engine:find(short)
      assert.is_nil(id)
      assert.equal("ambiguous", err.code)
      assert.equal(last, engine:find(end_of(last, 8)))
      -- two of the old ones end so
      id, err = engine:find(backend.name == "sqlite" and "30303031" or "0001")
      assert.is_nil(id)
      assert.equal("ambiguous", err.code)
      assert.matches("begin or end with", err.message)
    end)

  it("is found by its end however many are newer", function()
    local engine, _, url = many()
    backend.sql(url, OLD[backend.name]:format(200000))
    local pg = backend.name == "postgres"
    local oldest, word = "00000000-0000-7000-8000-000000000001", "000000000001"
    if not pg then
      oldest, word = "00000000-3030-3030-3030-303030303031", "3030303030303031"
    end
    assert.equal(oldest, engine:find(word))
    -- of a short end it is not said to be the only one
    local id, err = engine:find(word:sub(-7))
    assert.is_nil(id)
    assert.equal("ambiguous", err.code)
    id, err = engine:find "abcdefabcdef"
    assert.is_nil(id)
    assert.equal("notfound", err.code)
  end)

  it("is found by its end among a tenant's, however many are newer", function()
    local engine, _, url = many()
    local mine = assert(engine:start("t.one", {}, { tenant = "a" }))
    backend.sql(url, OLD[backend.name]:format(100001) .. (
      "; update %s set tenant = 'a' where workflow = 'old'"):format(
      kit.table(backend, "instance")))
    local one <close> = assert(backend.open(url, { tenant = "a" }))
    assert.equal(mine, one:find(end_of(mine, 8)))
    local first = backend.name == "postgres"
      and "00000000-0000-7000-8000-000000000001"
      or "00000000-3030-3030-3030-303030303031"
    assert.equal(first, one:find(end_of(first, 16)))
  end)
end)
