/* Another store may have come to where ours was: a database was dropped and
 * restored, a file replaced. It knows neither this executor nor what it has
 * loaded, and is told again each time the connection was opened anew. */
#include <string.h>

#include "../common/engine_struct.h"
#include "versions.h"

/* What keeps one definition from being stored is no reason to stop: what the
 * store has runs then. */
static pawl_code tell_one(pawl_engine *e, pawl_def *def, pawl_error *err) {
  pawl_error why;
  pawl_code rc = pawl_register_def(e, def, &why);

  if (rc == PAWL_OK) return PAWL_OK;
  if (rc == PAWL_EXISTS || rc == PAWL_LIMIT) {
    pawl_log_error(&e->log, PAWL_WARN,
                   "the store has another definition than the one that runs",
                   &why);
    return PAWL_OK;
  }
  *err = why;
  return rc;
}

pawl_code pawl_retell(pawl_engine *e, pawl_error *err) {
  int64_t epoch = pawl_store_epoch(e->store);
  pawl_def *def;

  if (epoch == e->store_epoch) return PAWL_OK;
  e->registered = 0;
  e->secret[0] = 0; /* it may be another store */
  for (int i = 0; (def = pawl_registry_at(e->registry, i)); i++) {
    int loaded = 0;
    def->revision = -1; /* counted anew in each store */
    (void)pawl_registry_find(e->registry, def->code, strlen(def->code),
                             def->version, &loaded);
    if (loaded) MUST(tell_one(e, def, err));
  }
  e->store_epoch = epoch; /* lost again meanwhile: again with the next tick */
  return PAWL_OK;
}
