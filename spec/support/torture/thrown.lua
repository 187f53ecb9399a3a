--- What the checker looks for of those that were deleted, archived or purged,
--- by clients and by whoever prunes: each is where the model says, whole, and
--- of what is gone nothing is left.
local thrown = {}

--- An id as the checker has it.
function thrown.plain(id) return (id:gsub("-", "")) end

--- Those of which only what others have written is left: { [id] = true }.
---@param cases torture.Case[]
---@return table<string, boolean>
function thrown.gone(cases)
  local gone = {}
  for _, case in ipairs(cases) do
    if case.place == "none" or case.place == "kept" then
      gone[thrown.plain(case.id)] = true
    end
  end
  return gone
end

-- Everywhere that one can be; a column of a dialect is told apart by `is`.
local PLACES = [[
  select $id(id) as id, key,
         case when purge_at is not null then 'half purged'
              when deleted_at is not null then 'deleted'
              else 'hot' end as place
    from pawl.instance
  union all
  select $id(id), key,
         case when rest then 'half archived'
              when purged_at is not null and document is null then 'kept'
              when purged_at is null and document is not null then 'archive'
              else 'an archive without a document' end
    from pawl.archive]]

--- { [id] = "PLACE, PLACE" }: a place for each row.
local function places(store)
  local places_of = {}
  for _, row in ipairs(store:rows(PLACES)) do
    local before = places_of[row.id]
    places_of[row.id] = before and before .. " and " .. row.place or row.place
  end
  return places_of
end

local function each_in_its_place(store, tell)
  local is_at, thrown_away = places(store), {}
  for _, case in ipairs(store.cases) do
    local id = case.id and thrown.plain(case.id)
    if id then
      local at = is_at[id] or "none"
      thrown_away[id] = true
      if at ~= case.place then
        tell(("%s (%s) is %s, not %s"):format(case.key, id, at, case.place))
      end
    end
  end
  for id, at in pairs(is_at) do
    if at ~= "hot" and not thrown_away[id] then
      tell(("%s is %s, and nobody asked for that"):format(id, at))
    end
  end
end

--- The tables in which rows belong to an instance.
local function tables(store)
  local names = {}
  for _, row in ipairs(store.sql(store.dialect == "sqlite" and [[
    select substr(m.name, 6) as name
      from sqlite_master m join pragma_table_info(m.name) c
     where m.type = 'table' and c.name = 'instance'
       and m.name like 'pawl\_%' escape '\']] or [[
    select t.table_name as name from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'pawl' and c.column_name = 'instance'
       and t.table_type = 'BASE TABLE']])) do
    names[#names + 1] = row.name
  end
  assert(#names > 10, #names)
  return names
end

-- What stays: attributes, while the archive has their instance, and that
-- somebody has archived, deleted or purged it.
local EXTRA = {
  attribute = [[ and not exists (select 1 from pawl.archive a
    where a.shard = t.shard and a.id = t.instance)]],
  audit = [[ and t.type <> 'purged' and t.type <> 'deleted' and not exists (
    select 1 from pawl.archive a where a.shard = t.shard
       and a.id = t.instance and a.purged_at is null)]],
}

function thrown.nothing_left(store, tell)
  for _, name in ipairs(tables(store)) do
    for _, row in ipairs(store:rows(([[
      select $id(t.instance) as id, count(*) as n from pawl.%s t
       where t.instance is not null and not exists (
         select 1 from pawl.instance i
          where i.shard = t.shard and i.id = t.instance)%s
       group by t.instance]]):format(name, EXTRA[name] or ""))) do
      tell(("%s: %s rows of %s"):format(row.id, row.n, name))
    end
  end
  for _, row in ipairs(store:rows [[select $id(o.task) as id
    from pawl.owner o where not exists (select 1 from pawl.task t
      where t.shard = o.shard and t.id = o.task)]]) do
    tell("an owner of task " .. row.id)
  end
end

local function told_once(store, tell)
  local n = {}
  for _, row in ipairs(store:rows [[
    select $id(instance) as id, count(*) as n from pawl.audit
     where type = 'purged' and by = 'torture' group by instance]]) do
    n[row.id] = tonumber(row.n)
  end
  local gone = thrown.gone(store.cases)
  for _, case in ipairs(store.cases) do
    local id = case.id and thrown.plain(case.id)
    if id and gone[id] and not case.is_swept and n[id] ~= 1 then
      tell(("%s (%s): told %d times"):format(case.key, id, n[id] or 0))
    elseif id and not gone[id] and n[id] then
      tell(("%s (%s) is told, and was not purged"):format(case.key, id))
    end
  end
end

-- Who has a key: it is one.
local HOLDERS = [[
  select key, $id(id) as id from pawl.instance
   where key is not null and deleted_at is null and successor is null
  union all
  select key, $id(id) from pawl.archive
   where key is not null and purged_at is null and successor is null]]

local has_key = { hot = true, archive = true }

local function keys_free_or_kept(store, tell)
  local holders = {}
  for _, row in ipairs(store:rows(HOLDERS)) do
    holders[row.key] = holders[row.key] and holders[row.key] .. " and "
      .. row.id or row.id
  end
  for _, case in ipairs(store.cases) do
    if case.id then
      local wanted = has_key[case.place] and case.id or case.heir
      wanted = wanted and thrown.plain(wanted) or "nobody"
      local found = holders[case.key] or "nobody"
      if found ~= wanted then
        tell(("%s is that of %s, not of %s"):format(case.key, found, wanted))
      end
    end
  end
end

local function attributes_kept(store, tell)
  local marks = {}
  for _, row in ipairs(store:rows [[select $id(instance) as id, count(*) as n
    from pawl.attribute where name = 'mark' group by instance]]) do
    marks[row.id] = tonumber(row.n)
  end
  for _, case in ipairs(store.cases) do
    if case.id and case.place ~= "none"
      and marks[thrown.plain(case.id)] ~= 1 then
      tell(("%s, %s, has lost its attribute"):format(case.key, case.place))
    end
  end
end

--- The checks, by name, in order.
thrown.checks = {
  { "each is where it was put", each_in_its_place },
  { "of what is gone nothing is left", thrown.nothing_left },
  { "a purge is told once", told_once },
  { "a key is free or kept", keys_free_or_kept },
  { "attributes stay where they are to", attributes_kept },
}

return thrown
