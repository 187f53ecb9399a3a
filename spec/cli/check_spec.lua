-- pawl check: what one file does at its top level does not keep the others
-- from being checked.
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local shell = require "spec.support.shell"

describe("pawl check", function()
  local function check(text, ...)
    local here = command.folder()
    here:write("odd.lua", text)
    here:write("hello.lua", flows.hello)
    local ran = here:pawl("check", "odd.lua", "hello.lua", ...)
    assert.equal(1, ran.code, ran.err)
    assert.matches("hello", ran.out)
    return ran.out
  end

  it("goes on behind a file that calls os.exit", function()
    for _, text in ipairs { "os.exit(0)", "\nlocal f = os.exit\nf(3, true)" } do
      local out = check(text)
      assert.matches("^odd.lua:%d: misuse: os.exit would end the whole program",
        out)
      assert.matches("\nhello.lua: ok: t.hello 1", out)
    end
  end)

  it("goes on behind a file that loops for ever", function()
    for _, text in ipairs {
      "while true do end",
      "while true do pcall(function() while true do end end) end",
      "\nlocal co = coroutine.wrap(function() while true do end end)\nco()",
      "while true do pcall(coroutine.wrap(function() while true do end end)) "
        .. "end",
    } do
      local out = check(text)
      assert.matches("^odd.lua:%d: definition: the file's top level does not "
        .. "end: it was stopped after %d+ million instructions\n", out)
      assert.matches("\nhello.lua: ok: t.hello 1", out)
    end
  end)

  it("lets a coroutine that was made there run on afterwards", function()
    local here = command.folder()
    here:write("long.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.long", start = "a" }
      local count = coroutine.wrap(function()
        coroutine.yield()
        for _ = 1, 350000000 do end
        coroutine.yield "counted"
      end)
      count()
      flow:step("a", { run = function(ctx) ctx.vars.did = count() end,
        next = "z" })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow
    ]])
    local ran = here:pawl("run", "long.lua")
    assert.equal(0, ran.code, ran.err)
    assert.matches("counted", ran.out)
  end)

  it("exits with 3 where nothing but missing files was wrong", function()
    local here = command.folder()
    here:write("hello.lua", flows.hello)
    here:write("broken.lua", "return 1")
    assert.equal(3, here:pawl("check", "no.lua").code)
    assert.equal(3, here:pawl("check", "no.lua", "none.lua").code)
    assert.equal(3, here:pawl("check", "no.lua", "hello.lua").code)
    assert.equal(1, here:pawl("check", "no.lua", "broken.lua").code)
    assert.equal(1, here:pawl("check", "broken.lua", "no.lua").code)
  end)

  it("takes no pipe, no device and nothing huge for a source, nor does "
    .. "another command", function()
    local here = command.folder()
    shell.output { "mkfifo", here.dir .. "/pipe.lua" }
    shell.output { "truncate", "-s", "17M", here.dir .. "/huge.lua" }
    for path, words in pairs {
      ["/dev/zero"] = "it is a pipe or a device",
      ["/dev/random"] = "it is a pipe or a device",
      ["pipe.lua"] = "it is a pipe or a device",
      ["huge.lua"] = "is too large: a source has at most 16 MB",
    } do
      for _, verb in ipairs { "check", "run", "worker", "deploy" } do
        local ran = here:pawl(verb, path)
        assert.is_true(ran.code ~= 0, verb .. " " .. path)
        assert.matches(words, ran.out .. ran.err, 1, true)
      end
    end
    assert.is_false(here:pawl("list").code == 0) -- no store was made
  end)

  it("says so in JSON, too", function()
    assert.matches('"code":"misuse"', check("os.exit(0)", "--json"))
  end)
end)
