-- Starting many: one list, checked whole, stored in batches.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"

local function items(n, make)
  local list = {}
  for i = 1, n do list[i] = make and make(i) or { input = { n = i } } end
  return list
end

kit.describe("a start of many", function(backend)
  it("stores them in the order of the list", function()
    local engine, _, url = backend.fresh()
    local ran = {}
    assert(engine:load(kit.one(function(ctx)
      ran[#ran + 1] = ctx.input.n
    end)))
    local ids, created = assert(engine:start_many("t.one", items(5)))
    assert.equal(5, #ids)
    assert.same({ true, true, true, true, true }, { table.unpack(created) })
    for i, id in ipairs(ids) do
      local instance = assert(engine:get(id))
      assert.same({ n = i }, instance.input)
      assert.equal("created", instance.status)
      assert.equal(1, instance.version)
    end
    assert.equal(5, kit.count(backend, url, "agenda"))
    assert.equal(5, assert(engine:run()).ended)
    table.sort(ran)
    assert.same({ 1, 2, 3, 4, 5 }, ran)
  end)

  it("gives each its own options, and all the shared ones", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one()))
    local ids = assert(engine:start_many("t.one", {
      { input = false, priority = 7, tenant = "a", key = "k",
        attributes = { region = "eu", size = 3 } },
      { metadata = { by = "spec" }, correlation = "c", business_key = "b" },
      { delay = "10m", tenant = "none" },
    }, { tenant = "shared", attributes = { region = "us" } }))
    local first = assert(engine:get(ids[1]))
    assert.is_false(first.input)
    assert.equal(7, first.priority)
    assert.equal("a", first.tenant)
    assert.equal("k", first.key)
    assert.equal("eu", first.attributes.region)
    assert.equal(3, first.attributes.size)
    local second = assert(engine:get(ids[2]))
    assert.same({}, second.input)
    assert.equal("shared", second.tenant)
    assert.equal("us", second.attributes.region)
    assert.same({ by = "spec" }, second.metadata)
    assert.equal("c", second.correlation)
    assert.equal("b", second.business_key)
    assert.equal(2, assert(engine:run()).ended)
    clock:advance "10m"
    assert.equal(1, assert(engine:run()).ended)
    assert.equal("none", assert(engine:get(ids[3])).tenant)
  end)

  it("gives what is shared to those that have nothing of their own",
     function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one()))
    local shared = { tenant = "a", priority = 5, group = "default",
      correlation = "c", business_key = "b", metadata = { by = "spec" } }
    local function each(options)
      for name, value in pairs(shared) do options[name] = value end
      local ids = assert(engine:start_many("t.one",
        { { input = { n = 1 } }, {}, { input = pawl.null } }, options))
      for _, id in ipairs(ids) do
        local instance = assert(engine:get(id))
        for name, value in pairs(shared) do
          assert.same(value, instance[name], name)
        end
      end
      return ids
    end
    local now = each {}
    assert.same({ n = 1 }, assert(engine:get(now[1])).input)
    assert.same({}, assert(engine:get(now[2])).input)
    assert.equal(pawl.null, assert(engine:get(now[3])).input)
    local tagged = each { attributes = { region = "eu" } }
    assert.equal("eu", assert(engine:get(tagged[3])).attributes.region)
    each { at = 1 } -- long ago
    each { delay = "10m" }
    each { at = clock:now() + 1200 }
    assert.equal(9, assert(engine:run()).ended)
    clock:advance "10m"
    assert.equal(3, assert(engine:run()).ended)
    clock:advance "10m"
    assert.equal(3, assert(engine:run()).ended)
  end)

  it("is sent again when an answer was lost, and stored once", function()
    if backend.name == "sqlite" then return end -- no answer is lost there
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local total = 0
    for _, list in ipairs { items(1500), items(1500, function(i)
      return { input = { n = i }, key = i % 2 == 0 and "k" .. i or nil }
    end) } do
      for _, point in ipairs { "before_send", "sent" } do
        for passage = 1, 2 do
          probe.fault(("commit.%s=drop@%d"):format(point, passage))
          local ids, created = engine:start_many("t.one", list)
          probe.fault(nil)
          assert(ids, tostring(created))
          local new = 0
          for i, id in ipairs(ids) do
            if created[i] then new = new + 1 end
            if i % 500 == 0 then
              assert.same({ n = i }, assert(engine:get(id)).input)
            end
          end
          total = total + new
          assert.equal(total, kit.count(backend, url, "instance"))
          assert.equal(total, kit.count(backend, url, "agenda"))
        end
      end
    end
    assert.equal(4 * 1500 + 1500 + 3 * 750, total)
  end)

  it("stores an empty list, which is nothing", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local ids, created = assert(engine:start_many("t.one", {}))
    assert.equal(0, #ids)
    assert.equal(0, #created)
  end)

  it("cuts a long list into batches", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local before = engine:count()
    local ids = assert(engine:start_many("t.one", items(2500)))
    local after = engine:count()
    assert.equal(2500, #ids)
    assert.equal(2500, kit.count(backend, url, "instance"))
    assert.equal(2500, kit.count(backend, url, "agenda"))
    -- two statements a batch, and perhaps a wake-up
    assert.is_true(after.statements - before.statements <= 3 * 3)
    assert.same({ n = 2500 }, assert(engine:get(ids[2500])).input)
    assert.same({ n = 1000 }, assert(engine:get(ids[1000])).input)
  end)

  it("says which item is wrong, and stores nothing then", function()
    local engine, _, url = backend.fresh { max_bytes = 1000 }
    assert(engine:load(kit.one()))
    for _, case in ipairs {
      { { key = "" }, "invalid", "^item 1200: option `key`" },
      { { tenant = "a\0b" }, "invalid", "^item 1200: option `tenant`" },
      { { priority = 40000 }, "invalid", "^item 1200: option `priority`" },
      { { id = "nonsense" }, "invalid", "^item 1200: option `id`" },
      { { attributes = { [("x"):rep(300)] = 1 } }, "value",
        "^item 1200: .*attribute" },
      { { input = ("x"):rep(1001) }, "limit", "^item 1200: input has" },
    } do
      local list = items(1300)
      list[1200] = case[1]
      local ids, err = engine:start_many("t.one", list)
      assert.is_nil(ids)
      assert.equal(case[2], err.code, tostring(err))
      assert.matches(case[3], err.message)
    end
    local ids, err = engine:start_many("t.one", {
      {}, { input = { at = function() end } } })
    assert.is_nil(ids)
    assert.equal("value", err.code)
    assert.equal("items[2].input.at", err.where)
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("raises on what is no list of items", function()
    local engine = backend.fresh()
    for _, case in ipairs {
      { "x", "bad argument #2 to 'start_many' %(table expected, got string" },
      { { input = 1 }, "a list of items expected, got a table with the key "
        .. "'input'" },
      { { {}, n = 1 }, "with the key 'n'" },
      { { {}, [3] = {} }, "with the key '3'" },
      { { {}, 7 }, "start_many: item 2: must be a table, got number" },
      { { { colour = 1 } }, "start_many: item 1: unknown option 'colour'" },
      { { {}, { version = 1 } }, "item 2: unknown option 'version'" },
      { { { key = 1 } }, "item 1: option 'key' must be a string" },
      { { { delay = 1, at = 1 } }, "item 1: .*exclude each other" },
    } do
      assert.error_matches(function()
        engine:start_many("t.one", case[1])
      end, case[2])
    end
    local ids, err = engine:start_many("t.one", { {} }, { key = "k" })
    assert.is_nil(ids)
    assert.equal("invalid", err.code)
    ids, err = engine:start_many("has space", { {} })
    assert.is_nil(ids)
    assert.equal("invalid", err.code)
  end)

  it("is of one version", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.one(nil, { version = 2 })))
    local ids = assert(engine:start_many("t.one", items(2)))
    assert.equal(2, assert(engine:get(ids[2])).version)
    ids = assert(engine:start_many("t.one", items(2), { version = 1 }))
    assert.equal(1, assert(engine:get(ids[1])).version)
    local none, err = engine:start_many("t.one", items(2), { version = 7 })
    assert.is_nil(none)
    assert.equal("notfound", err.code)
    assert.equal(4, kit.count(backend, url, "instance"))
  end)

  it("is refused by a version that takes no new instances", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.one(nil, { version = 2 })))
    assert(engine.workflows:deactivate("t.one", 2))
    local ids = assert(engine:start_many("t.one", items(3)))
    assert.equal(1, assert(engine:get(ids[3])).version)
    local none, err = engine:start_many("t.one", items(3), { version = 2 })
    assert.is_nil(none)
    assert.equal("conflict", err.code)
    assert.matches("not active", err.message)
    assert.equal(3, kit.count(backend, url, "instance"))
  end)

  it("names the earlier instance of a key", function()
    local a, b, _, url = kit.pair(backend, { kit.one() })
    local first = assert(a:start("t.one", { n = 0 }, { key = "k2" }))
    local function keyed(i) return { input = { n = i }, key = "k" .. i } end
    local ids, created = assert(b:start_many("t.one", items(3, keyed)))
    assert.equal(first, ids[2])
    assert.same({ true, false, true }, { table.unpack(created) })
    local again, created_again = assert(a:start_many("t.one",
      items(4, keyed)))
    assert.same({ table.unpack(ids) }, { table.unpack(again, 1, 3) })
    assert.same({ false, false, false, true },
      { table.unpack(created_again) })
    assert.equal(4, kit.count(backend, url, "instance"))
    assert.equal(4, assert(a:run()).ended)
    assert.equal(0, assert(b:run()).claimed)
  end)

  it("is refused whole where an id is another workflow's instance", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.timer()))
    local mine = kit.draw_id()
    assert(engine:start("t.one", nil, { id = mine }))
    local ids, err = engine:start_many("t.timer", { {}, { id = mine },
      { id = kit.draw_id() } })
    assert.is_nil(ids)
    assert.equal("conflict", err.code)
    assert.matches(mine .. ' is one of workflow "t.one"', err.message, 1, true)
    assert.equal(1, kit.count(backend, url, "instance"))
  end)

  it("makes one of what stands in the list twice", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local mine = kit.draw_id()
    local ids, created = assert(engine:start_many("t.one", {
      { key = "k" }, { id = mine }, { key = "k" }, { id = mine },
      { key = "k", tenant = "x" },
    }))
    assert.equal(ids[1], ids[3])
    assert.equal(mine, ids[2])
    assert.equal(mine, ids[4])
    assert.are_not.equal(ids[1], ids[5])
    assert.same({ true, true, false, false, true },
      { table.unpack(created) })
    assert.equal(3, kit.count(backend, url, "instance"))
    ids, created = assert(engine:start_many("t.one", { { id = mine } }))
    assert.equal(mine, ids[1])
    assert.is_false(created[1])
  end)

  it("reaches every shard", function()
    if backend.name == "sqlite" then return end -- it has one
    local engine = backend.fresh { shards = 3 }
    assert(engine:load(kit.one()))
    local function keyed(i) return { input = i, key = "k" .. i } end
    local ids = assert(engine:start_many("t.one", items(100, keyed)))
    for i, id in ipairs(ids) do
      assert.equal(i, assert(engine:get(id)).input)
    end
    local again = assert(engine:start_many("t.one", items(100, keyed)))
    assert.same({ table.unpack(ids) }, { table.unpack(again) })
    assert.equal(100, assert(engine:run()).ended)
  end)
end)

---- the rows of one start and of many ----

kit.describe("what a start writes", function(backend)
  --- All that is stored once `start` has started what `given` says.
  local function stored(start, given)
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    start(engine, given)
    return kit.everything(backend, url)
  end

  local function one_by_one(engine, list)
    for _, item in ipairs(list) do
      local options = {}
      for name, value in pairs(item) do
        if name ~= "input" then options[name] = value end
      end
      assert(engine:start("t.one", item.input, options))
    end
  end

  local function at_once(engine, list)
    assert(engine:start_many("t.one", list))
  end

  --- A list of one each time.
  local function in_lists(engine, list)
    for _, item in ipairs(list) do
      assert(engine:start_many("t.one", { item }))
    end
  end

  --- Each with its options as those of all.
  local function shared(engine, list)
    for _, item in ipairs(list) do
      local options, own = {}, { key = item.key, id = item.id,
        input = item.input }
      for name, value in pairs(item) do
        if own[name] == nil then options[name] = value end
      end
      assert(engine:start_many("t.one", { own }, options))
    end
  end

  local ALL = { input = { n = 1.0, text = "grüß" }, priority = 7,
    tenant = "t", group = "g", correlation = "c", business_key = "b",
    metadata = { by = "spec" },
    attributes = { region = "eu", size = 3, on = true } }

  local function all(more)
    local item = {}
    for name, value in pairs(ALL) do item[name] = value end
    for name, value in pairs(more or {}) do item[name] = value end
    return item
  end

  for what, given in pairs {
    ["an input alone"] = { { input = { n = 1 } }, {} },
    ["all options"] = { all() },
    ["a key"] = { all { key = "k" }, { key = "k2" } },
    ["an id of the caller's"] = { all { id = kit.draw_id() } },
    ["a delay"] = { { delay = "10m" }, all { delay = 90 } },
    ["a time"] = { { at = "2026-03-01T00:00:00Z" } },
    ["a key that is known"] = { all { key = "k" },
      { input = { other = 1 }, key = "k", tenant = "t" } },
    ["an id that is known"] = { { id = kit.draw_id(0) },
      { id = kit.draw_id(1), input = { n = 2 } } },
  } do
    it("is the same alone and in a list: " .. what, function()
      local expected = stored(one_by_one, given)
      assert.is_true(#expected.instance > 0)
      assert.same(expected, stored(in_lists, given))
      assert.same(expected, stored(shared, given))
      assert.same(expected, stored(at_once, given))
    end)
  end
end)
