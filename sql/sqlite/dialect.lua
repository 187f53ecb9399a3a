--- What sql/embed.lua must know of SQLite's SQL; see embed.Dialect there.
local sqlite = { sign = "?" }

-- What sql/shared says, as SQLite has it: see shared.lua. One writer at a time
-- (BEGIN IMMEDIATE) needs no row locks; `offset 0` tells PostgreSQL's planner
-- alone to leave a subquery as it is.
sqlite.words = { uuid = "blob", timestamptz = "integer", json = "text",
                 smallint = "integer", bigint = "integer", bytea = "blob",
                 boolean = "integer", numeric = "text", ["true"] = "1",
                 ["false"] = "0", least = "min", greatest = "max",
                 string_agg = "group_concat", strpos = "instr" }
sqlite.says = {
  { "%f[%w_]pawl%.", "pawl_" },
  { "%f[%w_]index (%l)", "index pawl_%1" },
  { "::[%l%d]+", "" },
  { "%s+with %(fillfactor = %d+%)", "" },
  { "%s+for update%f[%W]", "" },
  { "%s+offset 0%f[%W]", "" },
  { "gen_random_uuid%(%)", "lower(hex(randomblob(16)))" },
  { "%f[%w_]left%(([@%w._{}]+), ", "substr(%1, 1, " },
}
sqlite.lacks = "comment on "
sqlite.sends_single_rows = true

-- Words in front of a table.
local BEFORE_TABLE = { from = true, join = true, update = true, into = true }

-- What only looks like one: store/sqturns.h.
local FUNCTIONS = { pawl_turned = true }

--- A temporary table of a user's own statement would stand in front of one of
--- ours, for as long as the connection lives: SQLite is told where ours are.
function sqlite.word(word, before)
  if not word:find("^pawl_") and not word:find("^json_each$")
     and not word:find("^sqlite_master$") or FUNCTIONS[word] then
    return word
  elseif before and BEFORE_TABLE[before:lower()] then
    return "main." .. word
  elseif before == "by" then -- `indexed by`: an index is its table's
    return word
  end
  return nil, word .. " does not stand behind from, join, update or into: it "
    .. "would not be told to be in main"
end

return sqlite
