-- pawl start CODE --many FILE
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local process = require "spec.support.process"

describe("pawl start --many", function()
  after_each(process.stop_all)

  local function folder()
    local here = command.folder()
    here:write("hello.lua", flows.hello)
    assert.equal(0, here:pawl("worker", "hello.lua", "--until-idle").code)
    return here
  end

  it("tells in its help what a line may have, and no more", function()
    local here = folder()
    local told = here:pawl("start", "--help").out:gsub("%s+", " ")
      :match "options of that one: (.-);"
    here:write("list.jsonl", '{"nothing":1}')
    local ran = here:pawl("start", "t.hello", "--many", "list.jsonl")
    assert.equal((ran.err:match "known: (.-)%)":gsub("input, ", "")), told)
  end)

  it("starts an instance a line, and prints their ids in order", function()
    local here = folder()
    here:write("list.jsonl", '{"input":{"n":1}}\n\n'
      .. '{"input":{"n":2},"key":"k","tenant":"b"}\n{}')
    local ran = here:pawl("start", "t.hello", "--many", "list.jsonl",
      "--correlation", "c")
    assert.equal(0, ran.code, ran.err)
    local ids = {}
    for id in ran.out:gmatch "[^\n]+" do ids[#ids + 1] = id end
    assert.equal(3, #ids)
    assert.same({ n = 1 }, here:json("show", ids[1]).input)
    assert.equal("c", here:json("show", ids[1]).correlation)
    assert.equal("b", here:json("show", ids[2]).tenant)
    assert.equal("k", here:json("show", ids[2]).key)
    local again = here:json("start", "t.hello", "--many", "-",
      { stdin = '{"key":"k","tenant":"b"}\n{"key":"new"}\n' })
    assert.equal(ids[2], again[1].id)
    assert.is_false(again[1].created)
    assert.is_true(again[2].created)
  end)

  it("takes attributes of every type, and says what is none", function()
    local here = folder()
    local function start(attributes)
      return here:pawl("start", "t.hello", "--many", "-",
        { stdin = '{}\n{"attributes":' .. attributes:gsub("\n *", "")
          .. "}\n" })
    end
    local ran = start [[{"day":{"type":"date","value":"2026-01-31"},
      "amount":{"type":"decimal","value":"12.50"},"f":1.5,"n":3,
      "no":{"type":"boolean","value":false},"text":"@2026-01-31",
      "bytes":{"type":"binary","value":"AAE="}}]]
    assert.equal(0, ran.code, ran.err)
    local id = ran.out:match "([^\n]+)\n$"
    assert.same({
      amount = { type = "decimal", value = "12.50" },
      bytes = { type = "binary", value = "AAE=" },
      day = { type = "date", value = "2026-01-31T00:00:00.000000Z" },
      f = { type = "float", value = 1.5 },
      n = { type = "integer", value = 3 },
      no = { type = "boolean", value = false },
      text = { type = "string", value = "@2026-01-31" },
    }, here:json("show", id).attributes)
    for _, what in ipairs { "day=@2026-01-31", "amount=12.50", "f=1.5" } do
      assert.equal(id, here:json("list", "--attr", what)[1].id)
    end
    for _, bad in ipairs { "[1]", "{}", '{"type":"date","value":5}',
      '{"type":"date","value":"x"}', '{"type":"string","value":3}',
      '{"type":"binary","value":"?"}', '{"type":"x","value":"x"}',
      '{"type":"date","value":"2026-01-31","more":1}' } do
      ran = start('{"x":' .. bad .. "}")
      assert.equal(2, ran.code)
      assert.matches("line 2: attribute 'x': [{%[].* is no attribute", ran.err)
      assert.matches('"type":"date"', ran.err, 1, true)
    end
    assert.matches("line 2: attribute 'x': null is no value: leave it out",
      start('{"x":null}').err)
    assert.equal(2, #here:json("list"))
  end)

  it("counts what was there, and names what asks for something else",
    function()
      local here = folder()
      local ran = here:pawl("start", "t.hello", "--many", "-", { stdin =
        '{"key":"a","input":{"n":1}}\n{"key":"b","input":{"n":1}}\n' })
      assert.equal("", ran.err)
      local again = '{"key":"a","input":{"n":1}}\n\n{"key":"b","input":'
        .. '{"n":2}}\n{"key":"c","input":{}}\n{"key":"c","input":{"n":3}}\n'
      ran = here:pawl("start", "t.hello", "--many", "-", { stdin = again })
      assert.equal(0, ran.code, ran.err)
      assert.matches("^3 of them were there already", ran.err)
      assert.matches("conflict: 2 of those were started with another input, "
        .. "which is kept: lines 3, 5\n", ran.err)
      local list = here:json("start", "t.hello", "--many", "-",
        { stdin = again })
      assert.is_nil(list[1].conflict)
      assert.is_true(list[2].conflict)
    end)

  it("says of how many it has not compared the inputs", function()
    local here = folder()
    local lines = {}
    for i = 1, 1002 do lines[i] = ('{"key":"%d","input":{}}'):format(i) end
    local text = table.concat(lines, "\n")
    assert.equal(0, here:pawl("start", "t.hello", "--many", "-",
      { stdin = text }).code)
    for _, json in ipairs { {}, { "--json" } } do
      local ran = here:pawl("start", "t.hello", "--many", "-",
        json[1] or "--no-color", { stdin = text })
      assert.equal(0, ran.code, ran.err)
      assert.matches("the inputs of 2 were not compared\n", ran.err, 1, true)
    end
  end)

  it("names the line that is wrong, and starts none", function()
    local here = folder()
    for _, case in ipairs {
      { '{}\n\n[1]\n', "line 3 is no JSON object" },
      { '{}\n{"input":\n', "line 2 is no JSON object" },
      { '{}\n\n{"colour":1}\n', "line 3: unknown option 'colour'" },
      { '{}\n\n{"key":""}\n', "line 3: option `key`" },
    } do
      local ran = here:pawl("start", "t.hello", "--many", "-",
        { stdin = case[1] })
      assert.equal(2, ran.code)
      assert.matches(case[2], ran.err, 1, true)
    end
    assert.same({}, here:json "list")
  end)

  it("refuses what belongs to one instance", function()
    local here = folder()
    local ran = here:pawl("start", "t.hello", "--many", "-", "--key", "k")
    assert.equal(2, ran.code)
    assert.matches("--key is one instance's", ran.err, 1, true)
    ran = here:pawl("start", "t.hello", "--many", "nowhere.jsonl")
    assert.equal(2, ran.code)
    assert.matches("cannot read nowhere.jsonl", ran.err, 1, true)
  end)
end)
