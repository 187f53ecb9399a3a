#include "breaks.h"

#include "../../rules/decide.h"
#include "../common/time.h"
#include "../versions/expression.h"
#include "services.h"

#define NOT_DUE (-1)
#define AT_ONCE (-2) /* whatever the number */

typedef pawl_breakpoint_list_row breakpoint;

/* ---- read ---- */

static const breakpoint *breakpoint_at(const pawl_engine *e, int i) {
  return &PAWL_KEPT(breakpoint_list, &e->breaks)[i];
}

void pawl_breaks_forget(pawl_engine *e) {
  for (int i = 0; i < e->world.breaks; i++)
    if (e->break_refs[i] >= 0) pawl_expression_drop(e, e->break_refs[i]);
  pawl_release(&e->alloc, e->break_refs,
               sizeof *e->break_refs * (size_t)e->world.breaks);
  e->break_refs = NULL;
  e->world.breaks = 0;
  pawl_buf_deinit(&e->breaks);
  e->breaks_read = 0;
  e->breaks_due = NOT_DUE;
}

/* Those of the rows, with none of their conditions loaded. */
static pawl_code keep(pawl_engine *e, const pawl_rows *rows, pawl_error *err) {
  const size_t n = (size_t)rows->nrows;

  MUST(PAWL_KEEP(breakpoint_list, rows, &e->breaks, err));
  if (!n) return PAWL_OK;
  e->break_refs = pawl_realloc(&e->alloc, NULL, 0, sizeof *e->break_refs * n);
  if (!e->break_refs) return pawl_fail_memory(err);
  for (size_t i = 0; i < n; i++) e->break_refs[i] = -1;
  e->world.breaks = rows->nrows;
  return PAWL_OK;
}

pawl_code pawl_breaks_load(pawl_engine *e, pawl_error *err) {
  const int64_t due = e->breaks_due, read = e->breaks_read;
  pawl_rows rows;

  if (due == NOT_DUE) return PAWL_OK;
  MUST(PAWL_READ(e->store, breakpoint_list, &rows, err,
                 .now = pawl_store_now(e->store)));
  pawl_breaks_forget(e);
  e->breaks_due = due; /* until it has come about */
  MUST(keep(e, &rows, err));
  e->breaks_read = due == AT_ONCE ? read : due;
  e->breaks_due = NOT_DUE;
  return PAWL_OK;
}

void pawl_breaks_heard(pawl_engine *e, const pawl_held *h) {
  for (int i = 0; i < h->d.nletters; i++)
    if (pawl_letter_is(&h->d.letters[i], PAWL_HEED) &&
        e->breaks_due == NOT_DUE)
      e->breaks_due = AT_ONCE;
}

/* ---- asked for ---- */

static int is_for(pawl_engine *e, const breakpoint *b, const pawl_held *h,
                  const pawl_node *node) {
  return pawl_str_eqz(b->node, node->name) &&
         pawl_str_eq(b->workflow, pawl_buf_str(&h->d.workflow)) &&
         (!b->tenant.len ||
          (h->has_tenant &&
           pawl_str_eq(b->tenant, pawl_buf_str(&h->tenant)))) &&
         b->expires_at > pawl_engine_now(e);
}

/* Into `keep`; at NULL: it has none. */
static pawl_code read_key(pawl_engine *e, const pawl_held *h, pawl_buf *keep,
                          pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_SERVICE_ASK(READ, instance_names, &rows, PAWL_SLOT_MEMBERS(h)));
  if (rows.nrows) pawl_buf_adds(keep, pawl_read_instance_names(&rows, 0).key);
  return pawl_buf_check(keep, err);
}

static pawl_code ask(pawl_engine *e, int i, pawl_held *h, const pawl_token *t,
                     int *holds, pawl_error *err) {
  pawl_buf key = {.alloc = &e->alloc};
  pawl_call c;
  pawl_code rc = PAWL_OK;

  memset(&c, 0, sizeof c);
  if (strstr(breakpoint_at(e, i)->condition.at, "key"))
    TRY(read_key(e, h, &key, err));
  c.id = h->d.id_text;
  c.attempt = t->attempt + 1;
  c.visit = t->visit;
  c.token = t->no;
  c.correlation = pawl_buf_some(&key);
  c.vars = pawl_vars_now(&h->d);
  c.input = h->d.input.len ? pawl_buf_str(&h->d.input) : pawl_strz("{}");
  c.executor = pawl_strz(e->executor_text);
  c.group = pawl_strz(e->config.group);
  c.services = &pawl_engine_services;
  c.services_ud = e;
  c.owner = h;
  rc = pawl_expression_holds(e, e->break_refs[i], &c, holds, err);
out:
  pawl_buf_deinit(&key);
  return rc;
}

/* Is its condition true? */
static pawl_code holds(pawl_engine *e, int i, pawl_held *h,
                       const pawl_token *t, int *yes, pawl_error *err) {
  const pawl_str condition = breakpoint_at(e, i)->condition;

  *yes = 1;
  if (!condition.len) return PAWL_OK;
  if (e->break_refs[i] < 0)
    MUST(pawl_expression_load(e, condition, &e->break_refs[i], err));
  return ask(e, i, h, t, yes, err);
}

int pawl_breaks_stop(void *ud, pawl_decision *d, const pawl_token *t,
                     const pawl_node *node, pawl_stop *stop, pawl_error *err) {
  pawl_engine *e = ud;
  pawl_held *h = pawl_held_of(d);
  int yes;

  for (int i = 0; i < e->world.breaks; i++) {
    const breakpoint *b = breakpoint_at(e, i);
    if (!is_for(e, b, h, node)) continue;
    if (!stop) return 1;
    stop->failed = holds(e, i, h, t, &yes, err) != PAWL_OK;
    if (!yes && !stop->failed) continue;
    stop->by = b->by;
    stop->reason = b->reason;
    stop->until_us = b->expires_at;
    return 1;
  }
  return 0;
}
