--- The list of the commands, and the files that they are.
local command = require "spec.support.command"
local commands = require "pawl.cli.commands"
local tmp = require "spec.support.tmp"

local CLI <const> = "lua/pawl/cli"

local function listed()
  local set = {}
  for _, name in ipairs(commands.names) do set[name] = true end
  return set
end

describe("the list of commands", function()
  it("has every file that is one, under its own name", function()
    local found = {}
    for file in assert(io.popen("ls " .. CLI)):lines() do
      local text = tmp.read(CLI .. "/" .. file)
      local name = text:match '\n  name = "(%l+)",'
      if name then
        assert.equal(file, name .. ".lua")
        found[name] = true
      end
    end
    assert.same(listed(), found)
  end)

  it("is what `pawl help` lists, in its order", function()
    local out = command.folder():pawl("help").out
    local at = 1
    for _, name in ipairs(commands.names) do
      if name ~= "help" then
        at = assert(out:find("\n  " .. name .. " ", at, true), name)
      end
    end
  end)

  for _, name in ipairs(commands.names) do
    it("has help about " .. name, function()
      local here = command.folder()
      local ran = here:pawl(name, "--help")
      assert.equal(0, ran.code, ran.err)
      assert.matches("^usage: pawl " .. name .. "%f[%W]", ran.out)
      assert.equal(ran.out, here:pawl("help", name).out)
    end)
  end

  it("is also known by what hands type", function()
    local here = command.folder()
    here:pawl "migrate"
    local told = here:pawl("help").out
    local line = assert(told:match "\n(By other names  .-)\n\n")
    for one in line:gmatch "[^\n]+" do assert(#one <= 80, one) end
    local known = listed()
    for _, alias in ipairs(commands.aliases) do
      local name, of = alias[1], alias[2]
      assert.is_nil(known[name], name)
      assert.is_true(known[of], of)
      assert.matches("%f[%w]" .. name .. "%f[%W]", line)
      assert.is_nil(told:find("\n  " .. name .. " ", 1, true))
      assert.equal(here:pawl("help", of).out, here:pawl("help", name).out)
      assert.equal(here:pawl(of, "--help").out, here:pawl(name, "--help").out)
    end
    assert.equal(here:pawl("list").out, here:pawl("ls").out)
    assert.equal(here:pawl("version").out, here:pawl("-V").out)
  end)

  it("has every command that the documents tell of", function()
    local known = listed()
    for _, page in ipairs { "README.md", "docs/workflows.md",
      "docs/architecture.md", "docs/security.md", "docs/errors.md" } do
      for name in tmp.read(page):gmatch "`pawl (%l+)" do
        assert.is_true(known[name], page .. ": pawl " .. name)
      end
    end
  end)
end)
