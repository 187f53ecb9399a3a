/* One tenant's engine: whose things it makes, and what it does not do. */
#include "tenant.h"

#include "engine_struct.h"

pawl_str pawl_tenant_of(const pawl_engine *e) {
  return pawl_buf_str(&e->tenant);
}

pawl_code pawl_tenant_refuse(pawl_str own, pawl_str other, pawl_error *err) {
  pawl_fail_hint(err, PAWL_INVALID,
                 "leave it out, or ask an engine that is opened without a "
                 "tenant",
                 "option `tenant` is \"%.*s\", but this is tenant \"%.*s\"'s",
                 (int)other.len, other.at, (int)own.len, own.at);
  pawl_error_where(err, "tenant");
  return PAWL_INVALID;
}

pawl_code pawl_tenant_take(const pawl_engine *e, pawl_buf *tenant,
                           pawl_error *err) {
  const pawl_str own = pawl_tenant_of(e);

  if (!own.len) return PAWL_OK;
  if (!tenant->len) pawl_buf_set(tenant, own);
  MUST(pawl_buf_check(tenant, err));
  return pawl_str_eq(own, pawl_buf_str(tenant))
             ? PAWL_OK
             : pawl_tenant_refuse(own, pawl_buf_str(tenant), err);
}

pawl_code pawl_tenant_none(const pawl_engine *e, const char *what,
                           pawl_error *err) {
  const pawl_str own = pawl_tenant_of(e);

  if (!own.len) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_UNSUPPORTED,
                        "it concerns all tenants: open the store without one",
                        "tenant \"%.*s\"'s engine does not %s", (int)own.len,
                        own.at, what);
}
