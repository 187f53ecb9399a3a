--- One command for several ids: each by itself, in their order.
--
-- What is wrong with one keeps none of the others; it is told with its id, and
-- the command ends with the code of the worst. Only where the store itself is
-- out of reach nothing more is tried.
local failure = require "pawl.cli.failure"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local of_the_store = 5 -- exit code

local function named(id, err)
  if not err.message:find(id, 1, true) then
    err.message = id .. ": " .. err.message
  end
  return err
end

--- As JSON, beside what came of the others.
local function refusal(id, err)
  return format.json { id = id, error = { code = err.code,
    message = err.message, where = err.where, hint = err.hint } }
end

local function try_each(opts, engine, ids, one, gap)
  local texts, worst = {}, 0
  for i, id in ipairs(ids) do
    if gap and i > 1 and not opts.json then term.print() end
    local ok, result = pcall(one, engine, id)
    if not ok then
      local err = result
      if type(err) ~= "table" or not err.code then error(err, 0) end
      local exit = failure.exit(err)
      if exit == of_the_store then error(err, 0) end
      result = opts.json and refusal(id, err)
      failure.report(opts, named(id, err))
      worst = math.max(worst, exit)
    end
    texts[i] = result
  end
  return texts, worst
end

---@param opts table  what the command line said
---@param ids string[]  or their ends; one is as if it were alone
---@param one fun(engine: pawl.Engine, id: string): string?  with --json: the
---  JSON of what came of it; else it tells that itself
---@param gap? boolean  a line between what is told of them
---@return integer exit code
return function(opts, ids, one, gap)
  local engine <close> = store.look(opts)
  if #ids == 1 then
    local text = one(engine, ids[1])
    if opts.json then term.json(text) end
    return 0
  end
  local texts, worst = try_each(opts, engine, ids, one, gap)
  if opts.json then term.json("[" .. table.concat(texts, ",") .. "]") end
  return worst
end
