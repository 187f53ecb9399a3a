/* How strict a plan is, and a unit. */
#include "durable.h"

#include "batch.h"

enum { FLUSH_OWED = 1, FLUSH_BEGUN }; /* 0: neither */

static int of_record(const pawl_def *def, const pawl_record *r,
                     int otherwise) {
  const int at = r->node ? pawl_def_node(def, r->node, strlen(r->node)) : -1;
  const int said = at >= 0 ? def->nodes[at].durability : -1;

  return said >= 0 ? said : otherwise;
}

/* PAWL_DURABLE_...: the lower, the stricter. */
static int of_plan(const pawl_engine *e, const pawl_held *h) {
  const pawl_def *def = h->d.def;
  const pawl_plan *p = &h->d.plan;

  if (!def || !def->durables) return e->config.durability;
  const int whole =
      def->durability >= 0 ? def->durability : e->config.durability;
  int strictest = p->nrecords ? PAWL_DURABLE_SAVE : whole;
  for (int k = 0; k < p->nrecords; k++) {
    const int one = of_record(def, &p->records[k], whole);
    if (one < strictest) strictest = one;
  }
  return strictest;
}

int pawl_durable_unit(pawl_engine *e, pawl_held **list, int n) {
  const int own = e->config.durability;
  int strictest = PAWL_DURABLE_SAVE, any = 0;

  for (int i = 0; i < n; i++) {
    if (!pawl_plan_writes(&list[i]->d.plan)) continue;
    const int one = of_plan(e, list[i]);
    if (one < strictest) strictest = one;
    any = 1;
  }
  if (!any) return PAWL_UNIT_BATCH;
  if (strictest == PAWL_DURABLE_GROUPED) e->owes_flush = FLUSH_OWED;
  if (strictest == PAWL_DURABLE_EVERY && own != PAWL_DURABLE_EVERY)
    e->owes_save = 1;
  return own == PAWL_DURABLE_EVERY && strictest > own ? PAWL_UNIT_RELAXED
                                                      : PAWL_UNIT_BATCH;
}

pawl_code pawl_durable_stored(pawl_engine *e, pawl_error *err) {
  if (!e->owes_save) return PAWL_OK;
  return pawl_durable_save(e, err);
}

pawl_code pawl_durable_save(pawl_engine *e, pawl_error *err) {
  MUST(pawl_store_save(e->store, err));
  e->owes_save = e->owes_flush = 0;
  return PAWL_OK;
}

pawl_code pawl_durable_flush(pawl_engine *e, pawl_error *err) {
  MUST(pawl_store_flush(e->store, err));
  e->owes_flush = pawl_store_unsaved(e->store)->syncing ? FLUSH_BEGUN : 0;
  return PAWL_OK;
}

pawl_code pawl_durable_look(pawl_engine *e, pawl_error *err) {
  const pawl_code rc = pawl_store_look_saved(e->store, err);

  if (e->owes_flush == FLUSH_BEGUN && !pawl_store_unsaved(e->store)->syncing)
    e->owes_flush = rc == PAWL_OK ? 0 : FLUSH_OWED;
  return rc;
}

int pawl_durable_is_due(pawl_engine *e) {
  const pawl_unsaved *u = pawl_store_unsaved(e->store);

  if (!u->commits || u->syncing || /* those behind it come next */
      (e->config.durability != PAWL_DURABLE_GROUPED && !e->owes_flush))
    return 0;
  return pawl_clock_mono() - u->since_mono_us >= e->config.flush_us;
}
