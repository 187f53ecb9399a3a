/* engine/work/services.h: what a running handler may ask of the engine.
 *
 * Layer    engine/work, above host. */
#ifndef PAWL_ENGINE_WORK_SERVICES_H
#define PAWL_ENGINE_WORK_SERVICES_H

#include "slots.h"

/* What ctx may ask of the engine: services_ud of the call is the engine, its
 * owner the slot. */
extern const pawl_services pawl_engine_services;

/* One statement for a handler, in the transactional step's open unit if there
 * is one. That is closed to everybody else. */
static inline pawl_code pawl_service_ask(pawl_engine *e, const pawl_held *h,
                                         int unit, pawl_stmt stmt,
                                         const void *row, pawl_rows *rows,
                                         pawl_error *err) {
  int at;

  if (!e->unit)
    return pawl_store_once_one(e->store, unit, stmt, row, rows, err);
  if (e->unit->owner != h)
    return pawl_fail(err, PAWL_MISUSE,
                     "instance %s cannot ask the store now: a transactional "
                     "step of another one runs",
                     h->d.id_text);
  MUST(pawl_store_send_one(e->store, stmt, row, &at, err));
  pawl_store_rows(e->store, at, rows);
  return PAWL_OK;
}
#define PAWL_SERVICE_ASK(unit, stmt, rows, ...)              \
  pawl_service_ask(e, h, PAWL_UNIT_##unit, PAWL_STMT_##stmt, \
                   &(const pawl_##stmt##_args){__VA_ARGS__}, rows, err)

#endif
