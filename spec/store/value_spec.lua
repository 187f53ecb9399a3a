local backends = require "spec.support.backends"
local helper = require "spec.store.helper"

local MIN, MAX = math.mininteger, math.maxinteger
-- Microseconds of 4713 BC (PostgreSQL's first day) and "never".
local FIRST, NEVER = -210866803200000000, MAX

-- type, the attribute's column, values that must come back as they went in
local VALUES = {
  { "text", "text_value", { "", "a", "it's \"quoted\" \\ and $1 ?1 @x",
                            "ü 漢字 \u{1F600}", "line\nfeed\ttab",
                            ("long "):rep(400) } },
  { "bytes", "bytes_value", { "", "\0", "\0\1\2\254\255",
                              ("\0"):rep(70000) } },
  { "time", "date_value", { 0, 1, -1, 1700000000123456, FIRST, NEVER,
                            946684800000000 } },
  { "float", "float_value", { 0.0, -0.0, 1.0, 0.1, -1.5, 1e300, 5e-324,
                              2.0 ^ 53, 1.7976931348623157e308 } },
  { "numeric", "number_value", {
    "0", "1", "-1", "9999", "10000", "10001", "-12.50", "0.1", "0.0001",
    "0.00001", "123456789012345678901234567890.123456789", "100000000",
    "0.00000000000000000001", "1.10", "5000.0005", "-0.001" } },
  { "boolean", "boolean_value", { true, false } },
}

--- Same value and same kind; -0.0 is not 0.0.
local function same(expected, actual)
  assert.equal(math.type(expected) or type(expected),
               math.type(actual) or type(actual))
  if math.type(expected) == "float" then
    assert.equal(("%a"):format(expected), ("%a"):format(actual))
  else
    assert.is_true(expected == actual)
  end
end

for _, backend in ipairs(backends) do
  describe("a value stored in " .. backend.name, function()
    local store

    before_each(function()
      store = assert(helper.open(backend.url()))
      assert(helper.unit(store, "batch",
                         { "instance_insert", helper.instances(1) }))
    end)

    after_each(function()
      helper.cleanup()
      backend.cleanup()
    end)

    --- One attribute row for each value, all in one statement.
    local function attributes(column, values)
      local args = { shard = 0, now = 0 }
      for _, name in ipairs { "id", "name", "type", "text_value",
                              "date_value", "bytes_value", "float_value",
                              "number_value", "boolean_value",
                              "sortable" } do
        args[name] = { n = #values }
      end
      for i, value in ipairs(values) do
        args.id[i] = helper.id(1)
        args.name[i] = ("%03d"):format(i)
        args.type[i] = column
        args[column][i] = value
      end
      return args
    end

    for _, case in ipairs(VALUES) do
      local type, column, values = table.unpack(case)
      it("comes back as it was: " .. type, function()
        assert(helper.unit(store, "batch",
                           { "attribute_start",
                             attributes(column, values) }))
        local rows = helper.ask(store, "attribute_list",
                                { shard = 0, id = helper.id(1) })
        table.sort(rows, function(a, b) return a.name < b.name end)
        assert.equal(#values, #rows)
        for i, value in ipairs(values) do
          same(value, rows[i][column])
          for _, other in ipairs(VALUES) do
            if other[2] ~= column then assert.is_nil(rows[i][other[2]]) end
          end
        end
      end)
    end

    it("comes back as it was: integers of each size, ids, JSON", function()
      local json = { '{}', '[]', 'null', '{"b":1,"a":1,"a":-0.0}',
                     '"\\u0000 \\ud83d\\ude00"', ' { "x" : 1.0 } ',
                     '[1e400, 12345678901234567890]' }
      for i, text in ipairs(json) do
        local args = helper.instances(1)
        args.id[1] = helper.id(100 + i)
        args.input[1] = text
        args.priority[1] = i % 2 == 0 and 32767 or -32768
        args.version = i % 2 == 0 and 2147483647 or -2147483648
        assert(helper.unit(store, "batch", { "instance_insert", args }))
        local row = helper.ask(store, "instance_get",
                               { shard = 0, id = helper.id(100 + i) })[1]
        assert.equal(text, row.input)
        assert.equal(args.priority[1], row.priority)
        assert.equal(args.version, row.version)
        assert.equal(helper.id(100 + i), row.id)
        assert.is_nil(row.tenant)
      end
      local seen = {}
      for i, big in ipairs { MIN, -1, 0, MAX } do
        assert(helper.unit(store, "batch", { "executor_insert", {
          id = helper.id(i), host = "h", boot = "b", space = "s", pid = big,
          begun = big, executor_group = "g", ttl_us = 1, now = 0 } }))
      end
      for _, row in ipairs(helper.ask(store, "executor_local", {
        host = "h", boot = "b", space = "s" })) do
        assert.equal(row.pid, row.begun)
        seen[row.id] = row.pid
      end
      assert.same({ [helper.id(1)] = MIN, [helper.id(2)] = -1,
                    [helper.id(3)] = 0, [helper.id(4)] = MAX }, seen)
    end)

    it("is refused when it could not come back", function()
      local function refused(column, value, what)
        local ok, err = helper.unit(store, "batch", { "attribute_start",
          attributes(column, { value }) })
        assert.is_nil(ok)
        assert.equal("value", err.code)
        assert.equal(column, err.where)
        assert.matches(what, err.message)
      end
      refused("text_value", "a\0b", "zero byte")
      refused("text_value", "\xff", "UTF%-8")
      refused("text_value", "\xed\xa0\x80", "UTF%-8")
      refused("float_value", 0 / 0, "finite")
      refused("float_value", math.huge, "finite")
      refused("date_value", MIN, "long ago")
      for _, text in ipairs { "", "1e5", "NaN", "01", "1.", ".5", "+1",
                              " 1", "0x10" } do
        refused("number_value", text, "decimal")
      end

      local args = helper.instances(1)
      args.priority[1] = 32768
      local ok, err = helper.unit(store, "batch",
                                  { "instance_insert", args })
      assert.is_nil(ok)
      assert.equal("value", err.code)
      assert.equal("priority", err.where)
    end)

    it("keeps nulls among a column's values", function()
      local args = helper.instances(3)
      args.id = { helper.id(11), helper.id(12), helper.id(13) }
      args.tenant = { n = 3, "a", nil, "c" }
      args.metadata = { helper.null, "{}", helper.null }
      assert(helper.unit(store, "batch", { "instance_insert", args }))
      local function get(i)
        return helper.ask(store, "instance_get",
                          { shard = 0, id = helper.id(i) })[1]
      end
      assert.equal("a", get(11).tenant)
      assert.is_nil(get(12).tenant)
      assert.equal("c", get(13).tenant)
      assert.is_nil(get(11).metadata)
      assert.equal("{}", get(12).metadata)
    end)
  end)
end
