#include "breaks.h"

#include <assert.h>
#include <stddef.h>

#include "../../rules/decide.h"
#include "../common/time.h"
#include "../versions/expression.h"
#include "services.h"

#define NOT_DUE (-1)
#define AT_ONCE (-2) /* whatever the number */

typedef struct pawl_break {
  pawl_buf workflow, node, tenant, condition, by, reason;
  int64_t expires_us;
  int ref; /* of the condition; -1: it is not loaded */
} one_break;

/* ---- read ---- */

static void free_all(pawl_engine *e) {
  for (int i = 0; i < e->nbreaks; i++) {
    one_break *b = &e->breaks[i];
    pawl_buf *const texts[] = {&b->workflow,  &b->node, &b->tenant,
                               &b->condition, &b->by,   &b->reason};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
      pawl_buf_deinit(texts[k]);
    if (b->ref >= 0) pawl_expression_drop(e, b->ref);
  }
  e->nbreaks = e->world.breaks = 0;
}

void pawl_breaks_forget(pawl_engine *e) {
  free_all(e);
  pawl_release(&e->alloc, e->breaks,
               sizeof *e->breaks * (size_t)e->breaks_cap);
  e->breaks = NULL;
  e->breaks_cap = 0;
  e->breaks_read = 0;
  e->breaks_due = NOT_DUE;
}

static pawl_code keep(pawl_engine *e, const pawl_breakpoint_list_row *row,
                      pawl_error *err) {
  if (!PAWL_ROOM(&e->alloc, e->breaks, e->nbreaks, e->breaks_cap))
    return pawl_fail_memory(err);
  one_break *b = &e->breaks[e->nbreaks];
  pawl_buf *const texts[] = {&b->workflow,  &b->node, &b->tenant,
                             &b->condition, &b->by,   &b->reason};
  const pawl_str given[] = {row->workflow,  row->node, row->tenant,
                            row->condition, row->by,   row->reason};
  pawl_code rc = PAWL_OK;

  memset(b, 0, sizeof *b);
  b->ref = -1;
  b->expires_us = row->expires_at;
  e->nbreaks++;
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    texts[k]->alloc = &e->alloc;
    pawl_buf_adds(texts[k], given[k]);
    if (rc == PAWL_OK) rc = pawl_buf_check(texts[k], err);
  }
  return rc;
}

pawl_code pawl_breaks_load(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  if (e->breaks_due == NOT_DUE) return PAWL_OK;
  MUST(PAWL_READ(e->store, breakpoint_list, &rows, err,
                 .now = pawl_store_now(e->store)));
  free_all(e);
  for (int k = 0; k < rows.nrows && rc == PAWL_OK; k++) {
    const pawl_breakpoint_list_row row = pawl_read_breakpoint_list(&rows, k);
    rc = keep(e, &row, err);
  }
  if (rc != PAWL_OK) return rc;
  e->world.breaks = e->nbreaks;
  if (e->breaks_due != AT_ONCE) e->breaks_read = e->breaks_due;
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

static pawl_held *slot(pawl_decision *d) {
  return (pawl_held *)((char *)d - offsetof(pawl_held, d));
}

static int is_for(pawl_engine *e, const one_break *b, const pawl_held *h,
                  const pawl_node *node) {
  return pawl_str_eqz(pawl_buf_str(&b->node), node->name) &&
         pawl_str_eq(pawl_buf_str(&b->workflow),
                     pawl_buf_str(&h->d.workflow)) &&
         (!b->tenant.len ||
          (h->has_tenant &&
           pawl_str_eq(pawl_buf_str(&b->tenant), pawl_buf_str(&h->tenant)))) &&
         b->expires_us > pawl_engine_now(e);
}

/* Into `keep`; at NULL: it has none. */
static pawl_code read_key(pawl_engine *e, const pawl_held *h, pawl_buf *keep,
                          pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_SERVICE_ASK(READ, instance_names, &rows, PAWL_SLOT_MEMBERS(h)));
  if (rows.nrows) pawl_buf_adds(keep, pawl_read_instance_names(&rows, 0).key);
  return pawl_buf_check(keep, err);
}

static pawl_code ask(pawl_engine *e, const one_break *b, pawl_held *h,
                     const pawl_token *t, int *holds, pawl_error *err) {
  pawl_buf key = {.alloc = &e->alloc};
  pawl_call c;
  pawl_code rc = PAWL_OK;

  memset(&c, 0, sizeof c);
  if (strstr(b->condition.at, "key")) TRY(read_key(e, h, &key, err));
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
  rc = pawl_expression_holds(e, b->ref, &c, holds, err);
out:
  pawl_buf_deinit(&key);
  return rc;
}

/* Is its condition true? */
static pawl_code holds(pawl_engine *e, one_break *b, pawl_held *h,
                       const pawl_token *t, int *yes, pawl_error *err) {
  *yes = 1;
  if (!b->condition.len) return PAWL_OK;
  if (b->ref < 0)
    MUST(pawl_expression_load(e, pawl_buf_str(&b->condition), &b->ref, err));
  return ask(e, b, h, t, yes, err);
}

int pawl_breaks_stop(void *ud, pawl_decision *d, const pawl_token *t,
                     const pawl_node *node, pawl_stop *stop, pawl_error *err) {
  pawl_engine *e = ud;
  pawl_held *h = slot(d);
  int yes;

  for (int i = 0; i < e->nbreaks; i++) {
    one_break *b = &e->breaks[i];
    if (!is_for(e, b, h, node)) continue;
    if (!stop) return 1;
    stop->failed = holds(e, b, h, t, &yes, err) != PAWL_OK;
    if (!yes && !stop->failed) continue;
    stop->by = pawl_buf_str(&b->by);
    stop->reason = pawl_buf_str(&b->reason);
    stop->until_us = b->expires_us;
    return 1;
  }
  return 0;
}
