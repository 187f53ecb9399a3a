--- The rights that docs/security.md gives to the roles of a store, as SQL.

local ROLES <const> = [[
create role pawl_owner login;
create role pawl_worker login;
create role pawl_operator login;
create role pawl_reader login;
create schema pawl authorization pawl_owner;
]]

local RIGHTS <const> = [[
begin; -- nobody reads the secret in between
grant usage on schema pawl to pawl_worker, pawl_operator, pawl_reader;
grant select on all tables in schema pawl
  to pawl_worker, pawl_operator, pawl_reader;
grant insert, update, delete on all tables in schema pawl
  to pawl_worker, pawl_operator;
revoke insert, update, delete on pawl.migration, pawl.meta, pawl.secret
  from pawl_worker, pawl_operator;
revoke select on pawl.secret from pawl_reader;
revoke insert, update, delete on pawl.workflow, pawl.trigger
  from pawl_operator;
commit;
]]

local function named(text, schema)
  return (text:gsub("%f[%w_]pawl%f[^%w]", schema))
end

local grants = {}

--- Once, by a superuser or the owner of the database.
function grants.roles(schema) return named(ROLES, schema) end

--- After each migration. Roles of a schema of another name have that name, too:
--- those of one store have no rights in another.
function grants.rights(schema) return named(RIGHTS, schema) end

return grants
