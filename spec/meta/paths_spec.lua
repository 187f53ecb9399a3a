--- Files that docs and comments speak of are there, under the names they have
--- now.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FOLDERS <const> = { "src", "lua", "sql", "spec", "docs", "bench",
                          "examples", "cmake" }

-- Where a path may be meant from, beside the file that names it.
local FROM <const> = { "", "src/", "src/engine/", "src/rules/", "lua/",
                       "lua/pawl/", "docs/" }

-- Of other people, or made by the build.
local OTHERS <const> = {
  ["pawl_sql.h"] = true, ["pawl_sql.c"] = true,
  ["pawl_lua.h"] = true, ["pawl_lua.c"] = true, ["pawl_cli.c"] = true,
  ["pawl_kinds.h"] = true, ["pawl_kinds.c"] = true,
  ["lua.h"] = true, ["lauxlib.h"] = true, ["lualib.h"] = true,
  ["sqlite3.h"] = true, ["libpq-fe.h"] = true,
  ["stdio.h"] = true, ["string.h"] = true,
}

local files, bases = {}, {}
do
  local find = { "find", table.unpack(FOLDERS) }
  for _, word in ipairs { "-type", "f" } do find[#find + 1] = word end
  for path in shell.output(find):gmatch "[^\n]+" do
    files[path] = true
    bases[path:match "[^/]+$"] = true
  end
end

local function is_there(path, from)
  if OTHERS[path] then return true end
  if not path:find "/" then return bases[path] end
  for _, root in ipairs(FROM) do
    if files[root .. path] then return true end
  end
  return files[from:match "^(.*/)" .. path]
end

--- What people read in a file: all of a page, else its comments.
local READ <const> = {
  md = function(text) return text end,
  c = function(text)
    local list = {}
    for comment in text:gmatch "/%*.-%*/" do list[#list + 1] = comment end
    return table.concat(list, "\n")
  end,
  lua = function(text)
    local list = {}
    for comment in ("\n" .. text):gmatch "\n%s*%-%-[^\n]*" do
      list[#list + 1] = comment
    end
    return table.concat(list, "\n")
  end,
}
READ.h, READ.sql = READ.c, READ.lua

--- "NAME.c": a file that is still to be written.
local function stands_for_any(path) return path:find "%u%u%u" end

local function is_source(path)
  if path:find "^[/.]" or stands_for_any(path) then return false end
  return path:find "%.[ch]$" or path:find "/.*%.lua$" or path:find "/.*%.sql$"
end

--- Names of sources in a text that lead nowhere.
local function gone(text, from)
  local found = {}
  for word in text:gmatch "%f[%w_./*-][%w_./*-]+" do
    local path = word:gsub("%.+$", "")
    local any = path:find("*", 1, true)
    if is_source(path) and not any and not is_there(path, from) then
      found[#found + 1] = path
    end
  end
  return found
end

describe("files that are spoken of", function()
  local own = { ["README.md"] = true }
  for path in pairs(files) do
    -- a spec's own examples are files that it makes
    if not path:find "^spec/" or path:find "^spec/support/" then
      own[path] = true
    end
  end

  it("are there", function()
    local wrong = {}
    for path in pairs(own) do
      local read = READ[path:match "%.(%l+)$"]
      for _, name in ipairs(read and gone(read(tmp.read(path)), path) or {}) do
        wrong[#wrong + 1] = path .. ": " .. name
      end
    end
    table.sort(wrong)
    assert.same({}, wrong)
  end)

  it("are told when they are gone", function()
    assert.same({ "src/engine/step.c", "engine/step.h", "step2.c" },
      gone("see src/engine/step.c, (engine/step.h), src/pawl.c and step2.c.",
        "docs/x.md"))
  end)
end)
