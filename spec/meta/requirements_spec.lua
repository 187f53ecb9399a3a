--- docs/requirements.md: whatever the record must hold and do is proven by a
--- spec that there is, or is answered otherwise, with a reason.
local tmp = require "spec.support.tmp"

local COUNTS = { S1 = 55, S2 = 61, S3 = 80, S4 = 72, S5 = 62, X = 13, E = 25 }
-- What needs no second store where another spec of the row has one: a store's
-- own ways, the command, the module.
local ALONE = { "^cli/", "^lua/", "^meta/", "^store/process_spec$",
  "^store/conformance_spec$" }
-- And what reads no store at all, or is about one that is neither.
local NO_STORE = { "^meta/", "^lua/testing/", "^store/conformance_spec$" }

---@return { id: string, how: string }[]
local function rows()
  local list = {}
  for line in tmp.read "docs/requirements.md":gmatch "[^\n]+" do
    local id, how = line:match "^| ([SXE][%d.]+) | .- | (.*) |$"
    if id then list[#list + 1] = { id = id, how = how } end
  end
  return list
end

--- File and title of each spec that a row names.
local function named(how)
  local list, at = {}, 1
  while true do
    local from, stop, file = how:find("`([%w_/]+_spec)` ", at)
    if not from then return list end
    local next_one = how:find("; `[%w_/]+_spec` ", stop) or #how + 1
    list[#list + 1] = { file = file, title = how:sub(stop + 1, next_one - 1) }
    at = next_one
  end
end

local texts = {}
local function text_of(file)
  if texts[file] == nil then
    local handle = io.open("spec/" .. file .. ".lua")
    texts[file] = handle and handle:read "a" or false
    if handle then handle:close() end
  end
  return texts[file]
end

--- Titles of a file, as far as they are written in it: what stands between
--- literals is left out. With what each does.
---@return { title: string, is_made: boolean, from: integer, body: string }[]
local function specs(text)
  local found = {}
  for from, indent, args, at in
    text:gmatch "\n()( *)it%((.-),%s*function%b()()" do
    local parts = {}
    for literal in args:gmatch '"([^"]*)"' do parts[#parts + 1] = literal end
    local rest = args:gsub('"[^"]*"', ""):gsub("[%s.]", "")
    found[#found + 1] = { title = table.concat(parts), from = from,
      is_made = rest ~= "",
      body = text:match("^(.-)\n" .. indent .. " ? ?end%)", at) or "" }
  end
  return found
end

--- Whole; of a title that is made when it runs a beginning will do.
local function find(text, title)
  for _, one in ipairs(specs(text)) do
    if one.title == title
      or one.is_made and one.title:sub(1, #title) == title then
      return one
    end
  end
end

--- Does it prove nothing somewhere? It is pending, or ends at its head.
local function is_skipped(body)
  if body:find "\n%s*pending[%s(]" or body:find "return pending[%s(]" then
    return true
  end
  for line in body:gmatch "[^\n]+" do
    if line:find "^%s*if .* then return end" then return true end
    if not line:find "^%s*local " and not line:find "^%s*%-%-" then
      return false
    end
  end
  return false
end

-- What is of one store by its nature, and what there is of the other.
local OWN = {
  ["searches and never scans"] = "SQLite's planner; PostgreSQL's: walks_spec",
  ["walks nothing, made on tables of very many rows"] = "the other way round",
  ["reads ready rows in order, from their own index"] = "SQLite's planner; "
    .. "what a claim costs is compared on both",
  ["is tried again: the store is nowhere else"] = "a store in memory",
  ["in memory is each store's own"] = "a store in memory",
  ["are there for each table that has rows of an instance"] = "reads SQL that "
    .. "both have",
}

-- What a line around specs begins with: are they for both stores?
local AROUND = { { "^%s*kit%.describe%(", true }, { "^kit%.each%(", true },
  { "^Site%.each%(", true }, { "^for .*backends", true },
  { "^for ", false }, { "^describe%(", false } }

local function is_of(file, patterns)
  for _, pattern in ipairs(patterns) do
    if file:find(pattern) then return true end
  end
  return false
end

--- Is the block that this place is in one that runs on both stores?
local function on_both(text, from)
  local both
  for line in text:sub(1, from):gmatch "[^\n]+" do
    for _, around in ipairs(AROUND) do
      if line:find(around[1]) then
        both = around[2]
        break
      end
    end
  end
  return both
end

describe("what the record must hold", function()
  it("is told whole, in order", function()
    local seen, last = {}, {}
    for _, row in ipairs(rows()) do
      local group, number = row.id:match "^(S%d)%.(%d+)$"
      if not group then group, number = row.id:match "^([XE])(%d+)$" end
      assert.equal((last[group] or 0) + 1, tonumber(number), row.id)
      last[group], seen[group] = tonumber(number), (seen[group] or 0) + 1
    end
    assert.same(COUNTS, seen)
  end)

  it("is proven by specs that there are", function()
    for _, row in ipairs(rows()) do
      for _, spec in ipairs(named(row.how)) do
        local text = text_of(spec.file)
        assert.is_truthy(text, row.id .. ": no file spec/" .. spec.file)
        local found = find(text, spec.title)
        assert(found, ("%s: %s has no '%s'"):format(row.id, spec.file,
          spec.title))
        assert(not is_skipped(found.body), ("%s: %s skips '%s'"):format(row.id,
          spec.file, spec.title))
        assert.is_truthy(is_of(spec.file, ALONE) or OWN[spec.title]
          or on_both(text, found.from), row.id .. ": " .. spec.file
          .. " runs on one store")
      end
    end
  end)

  it("is proven on both stores, whatever has one", function()
    for _, row in ipairs(rows()) do
      local list, proven = named(row.how), false
      for _, spec in ipairs(list) do
        local text = text_of(spec.file)
        proven = proven or is_of(spec.file, NO_STORE) or OWN[spec.title]
          or on_both(text, find(text, spec.title).from)
      end
      assert(proven or #list == 0, row.id .. " is proven on one store")
    end
  end)

  it("is not proven by what is skipped", function()
    for body, skips in pairs {
      ["\n  pending 'later'\n  assert(x)"] = true,
      ["\n  if as_root then return pending('no') end\n  assert(x)"] = true,
      ["\n  local a = 1\n  -- why\n  if not sqlite then return end"] = true,
      ["\n  assert(x)\n  if sqlite then return end\n  assert(y)"] = false,
      ["\n  assert.equal('pending', x)\n  assert(x)"] = false,
    } do assert.equal(skips, is_skipped(body), body) end
    local found = find('\n  it("does a " .. x,\n  function()\n    a()\n  end)'
      .. '\n  it("does b", function(done)\n    pending "b"\n  end)', "does b")
    assert.same({ "does b", '\n    pending "b"' }, { found.title,
      found.body })
  end)

  it("is found by its whole title, and on both stores where it stands",
    function()
      local text = [[
describe("one", function()
  it("does a", function() end)
end)
kit.describe("two", function()
  it("does a thing", function() end)
  it("does b: " .. name, function() end)
end)
for _, backend in ipairs(kit.backends) do
  it("does c", function() end)
end
]]
      assert.is_nil(find(text, "does a th"))
      assert.is_nil(find(text, "does c "))
      assert.is_truthy(find(text, "does b"))
      local both = {}
      for i, title in ipairs { "does a", "does a thing", "does b", "does c" } do
        both[i] = on_both(text, find(text, title).from)
      end
      assert.same({ false, true, true, true }, both)
  end)

  it("is missing only where that is said", function()
    local missing = { Later = {} }
    for _, row in ipairs(rows()) do
      local list = missing[row.how:match "^(%u[%l ]+): "]
      if list then list[#list + 1] = row.id
      else assert.is_true(#named(row.how) > 0, row.id .. " is not proven") end
    end
    assert.same({ "S2.53", "S5.46" }, missing.Later)
  end)
end)
