-- docs/words.md against the code: every name in it is there, no word means two
-- things, and the words that we do not use are nowhere.
local commands = require "pawl.cli.commands"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local PAGE = tmp.read "docs/words.md"
local HEADER = tmp.read "src/pawl.h"
local META = tmp.read "lua/pawl/meta/pawl.lua"
local SCHEMA = tmp.read "sql/shared/migrations/0001_first.sql"

local function cells(row)
  local list = {}
  for cell in (row .. "|"):gmatch "%s*([^|]*)|" do
    list[#list + 1] = cell:match "^(.-)%s*$"
  end
  return list
end

--- The rows of all tables with so many columns, headings left out.
local function rows_of(columns)
  local list = {}
  for row in PAGE:gmatch "\n|([^\n]+)|" do
    local cell = cells(row)
    if #cell == columns and not row:find "^%-" and cell[1] ~= "word"
      and cell[1] ~= "not" then
      list[#list + 1] = cell
    end
  end
  return list
end

local WORDS, UNUSED = rows_of(6), rows_of(3)

local function has_word(text, word)
  return text:find("%f[%w_]" .. word:gsub("%p", "%%%0") .. "%f[^%w_]") ~= nil
end

local function cli_files()
  local texts = {}
  for path in shell.output { "find", "lua/pawl/cli", "-name", "*.lua" }
    :gmatch "[^\n]+" do
    texts[#texts + 1] = tmp.read(path)
  end
  return table.concat(texts, "\n")
end

local CLI = cli_files()

local is_there = {}

function is_there.C(name) return has_word(HEADER, name) end

function is_there.Lua(name)
  local noun, verb = name:match "^engine%.(%l+):?(%l*)$"
  if noun and verb == "" then
    return has_word(META, "@field " .. noun) or META:find("@field " .. noun)
  elseif noun then
    return META:find(noun:gsub("^%l", string.upper) .. ":" .. verb .. "(", 1,
      true)
  end
  verb = name:match "^engine:([%l_]+)$"
  if verb then return META:find("Engine:" .. verb .. "(", 1, true) end
  return has_word(META, name)
end

function is_there.command(name)
  local flag = name:match "^%-%-([%l-]+)"
  if flag then return CLI:find('long = "' .. flag .. '"', 1, true) end
  for _, known in ipairs(commands.names) do
    if known == name:match "^pawl (%l+)" then return true end
  end
  return false
end

function is_there.SQL(name)
  local place, column = name:match "^([%l_]+)%.?([%l_]*)$"
  local body = SCHEMA:match("create table pawl%." .. place .. " (%b())")
  return body and (column == "" or has_word(body, column))
end

local AREAS = { "C", "Lua", "command", "SQL" }

describe("docs/words.md", function()
  it("says of each word once what it is", function()
    local seen = {}
    for _, row in ipairs(WORDS) do
      for word in row[1]:gmatch "[%l_]+" do
        assert.is_nil(seen[word], word)
        seen[word] = true
      end
      assert.is_true(#row[2] > 0, row[1])
    end
    assert.is_true(#WORDS >= 40)
  end)

  it("names what there is", function()
    for _, row in ipairs(WORDS) do
      for i, area in ipairs(AREAS) do
        for name in row[i + 2]:gmatch "`([^`]+)`" do
          assert.is_truthy(is_there[area](name),
            ("%s of %s is nowhere in %s"):format(name, row[1], area))
        end
      end
    end
  end)
end)

---- columns -------------------------------------------------------------------

--- "told=column" of each that answers tell under another name.
local function told_otherwise()
  local set = {}
  for path in shell.output { "find", "src/engine", "-name", "*.c" }
    :gmatch "[^\n]+" do
    for text in tmp.read(path):gmatch '"([^"\n]*)"' do
      for told, column in text:gmatch "%f[%w_]([%l_]+)=([%l_]+)" do
        if column ~= told .. "_at" then set[told .. "=" .. column] = true end
      end
    end
  end
  return set
end

describe("a column", function()
  it("is told under its name, but for those that the page has", function()
    local there = {}
    for _, row in ipairs(rows_of(4)) do
      for told in row[1]:gmatch "`([%l_]+)`" do
        for column in row[2]:gmatch "`([%l_]+)`" do
          there[told .. "=" .. column] = true
        end
      end
    end
    local found = told_otherwise()
    for pair in pairs(found) do assert.is_true(there[pair], pair) end
    -- rows of several names have some pairs that are none
    for _, row in ipairs(rows_of(4)) do
      for told in row[1]:gmatch "`([%l_]+)`" do
        local used = false
        for pair in pairs(found) do
          used = used or pair:find("^" .. told .. "=") ~= nil
        end
        assert.is_true(used, told)
      end
    end
  end)
end)

---- what is not said ----------------------------------------------------------

local function add_all(set, text, pattern)
  for name in text:gmatch(pattern) do set[name] = true end
  return set
end

local names = { C = {}, Lua = {}, command = {}, SQL = {}, source = {} }
local CODE = HEADER:gsub("/%*.-%*/", "")
add_all(names.C, CODE, "[%a_][%w_]*")
add_all(names.Lua, META, "@field ([%w_]+)")
add_all(names.Lua, META, "@param ([%w_]+)")
add_all(names.Lua, META, "function [%w_]+[.:]([%w_]+)%(")
add_all(names.command, CLI, 'long = "([%w-]+)"')
for _, name in ipairs(commands.names) do names.command[name] = true end
for path in shell.output { "find", "src/engine", "src/rules", "-name",
    "*.[ch]" }
  :gmatch "[^\n]+" do
  local code = tmp.read(path):gsub("/%*.-%*/", ""):gsub('"[^"\n]*"', "")
  add_all(names.source, code, "[%a_][%w_]*")
  names.source[path:match "([%w_]+)%.[ch]$"] = true
end
add_all(names.SQL, SCHEMA, "create table pawl%.([%l_]+)")
add_all(names.SQL, SCHEMA, "\n  ([%l_]+) [%l]+")

--- "a_b" stands in "x_a_b" and is "a_b", but is not in "ba_b".
local function stands_in(word, name)
  name = "_" .. name:gsub("%-", "_"):lower() .. "_"
  return name:find("_" .. word .. "_", 1, true) ~= nil
end

describe("a word that we do not use", function()
  for _, row in ipairs(UNUSED) do
    for word in row[1]:gmatch "`([%l_]+)`" do
      it("is " .. word, function()
        for area in row[3]:gmatch "%a+" do
          for name in pairs(assert(names[area], area)) do
            assert.is_false(stands_in(word, name), area .. ": " .. name)
          end
        end
      end)
    end
  end

  it("is one of many", function() assert.is_true(#UNUSED >= 8) end)
end)
