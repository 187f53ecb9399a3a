-- A column of words from a list takes no other, whoever writes it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local columns = {
  instance = { "status" }, token = { "state" }, item = { "state" },
  task = { "status", "priority" }, owner = { "kind" },
  counter = { "was", "status" },
}

--- An each of children that wait for a clerk: a row of each of these.
local function load(engine)
  local child = pawl.workflow { code = "t.child", start = "a" }
  child:task("a", { title = "?", role = "clerk", next = "z" })
  child:finish "z"
  local flow = pawl.workflow { code = "t.each", start = "f" }
  flow:fork("f", { next = { "e", "w" } })
  flow:each("e", { items = function() return { 1, 2 } end,
    workflow = "t.child", next = "j" })
  flow:wait("w", { event = "go", next = "j" })
  flow:join("j", { next = "z" })
  flow:finish "z"
  assert(engine:load(child))
  assert(engine:load(flow))
end

kit.describe("what a column may say", function(backend)
  it("is checked by the store", function()
    local engine, _, url = backend.fresh()
    load(engine)
    assert(engine:start "t.each")
    assert(engine:run())
    for name, list in pairs(columns) do
      assert.is_true(tonumber(kit.count(backend, url, name)) > 0, name)
      for _, column in ipairs(list) do
        local done, err = pcall(backend.sql, url,
          ("update %s set %s = 'nonsense'"):format(kit.table(backend, name),
            column))
        assert.is_false(done, name .. "." .. column)
        assert.matches("[Cc][Hh][Ee][Cc][Kk]", tostring(err),
          name .. "." .. column)
      end
    end
  end)

  it("is all that an instance goes through, until it is purged", function()
    local engine, clock, url = backend.fresh()
    load(engine)
    local id = assert(engine:start "t.each")
    assert(engine:run())
    assert(engine:cancel(id))
    assert(engine:run())
    clock:advance "1d"
    assert(engine:archive(id))
    assert(engine:unarchive(id))
    assert(engine:delete(id))
    assert(engine:undelete(id))
    assert(engine:purge(id))
    local words = {}
    for _, row in ipairs(kit.select(url, "select was, status from "
        .. kit.table(backend, "counter"))) do
      words[row.was], words[row.status] = true, true
    end
    for _, word in ipairs { "", "running", "waiting", "cancelled",
      "archived", "deleted", "purged" } do
      assert.is_true(words[word], word)
    end
  end)

  it("is in no table twice: whose code, what failed, what it is found by",
  function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one(function() error "no" end, { retry = false })))
    local id = assert(engine:start("t.one", nil, { attributes = { n = 1 } }))
    assert(engine:run())
    assert.failed(engine, id)
    local function columns_of(name)
      local list = {}
      for column in pairs(kit.select(url, ("select * from %s")
          :format(kit.table(backend, name)))[1]) do
        list[#list + 1] = column
      end
      table.sort(list)
      return table.concat(list, " ")
    end
    backend.sql(url, ("update %s set author = 'a'"):format(
      kit.table(backend, "code")))
    assert.equal("author code", columns_of "code")
    assert.equal("code failed_at instance node shard workflow",
      columns_of "failure")
    for _, name in ipairs { "workflow", "version" } do
      assert.is_nil((" " .. columns_of "attribute" .. " "):find(
        " " .. name .. " "))
    end
  end)
end)
