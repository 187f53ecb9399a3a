--- What somebody may put into a schema of the search path who has no right on
--- Pawl's own: functions and operators that fit our statements' arguments
--- better than PostgreSQL's own, which are for any type. Each fails when it is
--- called: what does not meet them is not asked to do anything.
local decoys = {}

local TYPES = { "smallint", "integer", "bigint", "uuid", "text", "boolean",
  "timestamptz", "json", "jsonb", "bytea", "numeric", "double precision" }

local ARRAYS = { "unnest", "array_to_json", "cardinality", "array_to_string" }
local VALUES = { "to_json", "to_jsonb", "array_agg", "json_agg", "concat" }

-- No operator of PostgreSQL takes these as they are.
local OPERATORS = {
  { "bigint", "*", "interval", "interval" },
  { "integer", "*", "interval", "interval" },
  { "text", "||", "integer", "text" },
  { "text", "||", "bigint", "text" },
  { "uuid[]", "=", "uuid[]", "boolean" },
  { "text[]", "=", "text[]", "boolean" },
  { "text", "||", "smallint", "text" },
  { "uuid", "||", "uuid[]", "uuid[]" },
}

local FUNCTION = [[
create function public.%s(%s) returns %s language plpgsql as $$
begin raise exception 'a decoy was called: %s(%s)'; end $$;
]]

local function add(to, name, args, returns)
  to[#to + 1] = FUNCTION:format(name, args, returns, name, args)
end

--- SQL that makes them all in the schema public.
---@return string
function decoys.sql()
  local out = {}
  for _, of in ipairs(TYPES) do
    for _, name in ipairs(ARRAYS) do
      add(out, name, of .. "[]", name == "unnest" and "setof " .. of or "text")
    end
    for _, name in ipairs(VALUES) do add(out, name, of, "text") end
  end
  for i, op in ipairs(OPERATORS) do
    add(out, "decoy_" .. i, op[1] .. ", " .. op[3], op[4])
    out[#out + 1] = ("create operator public.%s (leftarg = %s, "
      .. "rightarg = %s, function = public.decoy_%d);\n")
      :format(op[2], op[1], op[3], i)
  end
  return table.concat(out)
end

return decoys
