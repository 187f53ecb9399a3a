--- SQL of a script that was granted the database, by the driver that has its
--- words; `said` differs where another of its limits comes first.
local ENDLESS <const> = "with recursive n (i) as (select 1 union all "
  .. "select i + 1 from n) "

local function often(sql)
  return ("while true do ctx.db:query %q end"):format(sql)
end

return {
  { "a query without end", ([[ctx.db:query "%sselect count(*) as n from n"]])
    :format(ENDLESS), "query: took longer than 0.1 s" },
  { "rows without end", ([[ctx.db:query "%sselect i from n"]])
    :format(ENDLESS), { sqlite = "query: its rows have more than",
      postgres = "query: took longer than 0.1 s" } },
  { "rows of more than there may be", { sqlite = ([[
    ctx.db:query "%sselect hex(zeroblob(9000)) as x from n limit 200"]])
      :format(ENDLESS), postgres = [[ctx.db:query
    "select repeat('x', 9000) as x from generate_series(1, 200)"]] },
    "query: its rows have more than 1000000 bytes" },
  { "a value of megabytes", { sqlite = [[
    ctx.db:query "select hex(zeroblob(300000000)) as x"]], postgres = [[
    ctx.db:query "select repeat('x', 2000000) as x"]] },
    { sqlite = "too big",
      postgres = "query: its rows have more than 1000000 bytes" } },
  { "queries without end", often "select 1 as n", "" },
  { "queries that fail without end",
    "while true do pcall(ctx.db.query, ctx.db, 'select') end", "" },
  { "an end of the transaction", "ctx.db:query 'commit'", "transaction" },
  { "a table of pawl's", "ctx.db:query 'delete from pawl_instance'", "" },
  { "a trigger on one of pawl's", [[
    ctx.db:query("create temp trigger t after update on pawl_instance "
      .. "begin delete from pawl_history; end")]],
    "" },
  { "what the session is", "ctx.db:query 'pragma journal_mode = off'", "" },
  { "a file beside", "ctx.db:query \"attach 'pwned.db' as other\"", "" },
}
