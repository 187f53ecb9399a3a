/* What a running handler may ask of the engine, behind host.h's callbacks.
 *
 * Each acts for the slot whose call it is given: another's handler may run
 * meanwhile, as one that waits may have lent its ctx. Those that use the store
 * are called while a handler runs, so e->args is free, and one at a time. */
#include "services.h"

#include <assert.h>

#include "../../rules/decide.h"
#include "../../rules/trim.h"
#include "../../rules/way.h"
#include "../../value/json.h"
#include "../common/attributes.h"
#include "../common/callback.h"
#include "../common/query.h"
#include "../common/time.h"
#include "outputs.h"
#include "quota.h"

/* Whose call it is. */
static pawl_held *slot_of(const pawl_call *call) {
  pawl_held *h = call->owner;
  assert(h->state != PAWL_SLOT_FREE); /* N5 */
  return h;
}

/* The store's time, as everything that is recorded has it. */
static int64_t service_now(const pawl_call *call) {
  return pawl_engine_now(call->services_ud);
}

static void service_log(const pawl_call *call, int level, const char *message,
                        const char *fields) {
  pawl_engine *e = call->services_ud;
  pawl_buf b = {.alloc = &e->alloc};

  if (!pawl_quota_log(e, slot_of(call))) return;
  pawl_buf_addz(&b, "{\"instance\":\"");
  pawl_buf_addz(&b, call->id);
  pawl_buf_addz(&b, "\",\"node\":");
  pawl_json_add_string(&b, pawl_strz(call->node));
  pawl_buf_addz(&b, ",\"fields\":");
  pawl_buf_addz(&b, fields && fields[0] ? fields : "{}");
  pawl_buf_addc(&b, '}');
  pawl_log_write(&e->log, level, message, b.failed ? NULL : b.at);
  pawl_buf_deinit(&b);
}

static pawl_code lease_lost(const pawl_held *h, pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_LEASE_LOST, "stop: nothing this handler does will be recorded",
      "instance %s: its lease was taken back, by `kill` or by another "
      "executor",
      h->d.id_text);
}

/* The latch of its row, if that is still ours. */
static pawl_code read_latch(pawl_engine *e, const pawl_held *h, int *latch,
                            pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_SERVICE_ASK(READ, agenda_get, &rows, PAWL_SLOT_MEMBERS(h),
                        .now = pawl_store_now(e->store)));
  return pawl_held_is_ours(h, &rows, latch) ? PAWL_OK : lease_lost(h, err);
}

/* Something has come in when the latch is another one. Is it to end? */
static pawl_code look_for_cancel(pawl_engine *e, const pawl_held *h, int latch,
                                 int *out, pawl_error *err) {
  pawl_rows rows;

  *out = 0;
  if (latch == h->latch || pawl_state_is_cleaning(&h->d.state))
    return PAWL_OK; /* who kills it takes its lease */
  MUST(PAWL_SERVICE_ASK(READ, inbox_cancel, &rows, PAWL_SLOT_MEMBERS(h)));
  *out = rows.nrows > 0;
  return PAWL_OK;
}

/* A reader finds it in the instance while the step runs; what a handler beside
 * it has said is kept for that one's next attempt. */
static pawl_code tell_progress(pawl_engine *e, const pawl_held *h,
                               pawl_str progress, int64_t visit,
                               pawl_error *err) {
  pawl_rows rows;

  if (!pawl_tokens_folded(&h->d.state.tokens))
    MUST(PAWL_SERVICE_ASK(BATCH, token_progress, &rows, PAWL_LEASE_MEMBERS(h),
                          .visit = visit));
  return PAWL_SERVICE_ASK(BATCH, instance_progress, &rows,
                          PAWL_LEASE_MEMBERS(h), .progress = progress,
                          .visit = visit);
}

static pawl_code service_heartbeat(const pawl_call *call, pawl_str progress,
                                   int *cancelled, pawl_error *err) {
  pawl_engine *e = call->services_ud;
  pawl_held *h = slot_of(call);
  pawl_rows rows;
  int latch;

  /* its own row is locked: nobody can claim it, nor ask it to end */
  if (e->unit && e->unit->owner == h) return PAWL_OK;
  if (progress.at) MUST(tell_progress(e, h, progress, call->visit, err));
  MUST(PAWL_SERVICE_ASK(BATCH, agenda_heartbeat, &rows, PAWL_LEASE_MEMBERS(h),
                        .lease_us = e->config.lease_us,
                        .now = pawl_store_now(e->store)));
  if (rows.nrows) {
    const pawl_agenda_heartbeat_row row = pawl_read_agenda_heartbeat(&rows, 0);
    h->lease_until_us = row.due_at;
    latch = (int)row.latch;
  } else { /* another's, or somebody writes to its inbox at this moment */
    MUST(read_latch(e, h, &latch, err));
  }
  return look_for_cancel(e, h, latch, cancelled, err);
}

static pawl_code service_progress(const pawl_call *call, pawl_buf *out,
                                  pawl_error *err) {
  pawl_engine *e = call->services_ud;
  const pawl_held *h = slot_of(call);
  pawl_rows rows;

  MUST(PAWL_SERVICE_ASK(READ, instance_progressed, &rows, PAWL_SLOT_MEMBERS(h),
                        .visit = call->visit));
  if (rows.nrows)
    pawl_buf_adds(out, pawl_read_instance_progressed(&rows, 0).progress);
  return pawl_buf_check(out, err);
}

static pawl_code service_cancelled(const pawl_call *call, int *out,
                                   pawl_error *err) {
  pawl_engine *e = call->services_ud;
  const pawl_held *h = slot_of(call);
  int latch;

  MUST(read_latch(e, h, &latch, err));
  return look_for_cancel(e, h, latch, out, err);
}

static pawl_code service_new_id(const pawl_call *call, char id[37],
                                pawl_error *err) {
  pawl_engine *e = call->services_ud;
  pawl_id made;
  pawl_code rc = pawl_id_make(&e->ids, pawl_engine_now(e), &made, err);
  if (rc == PAWL_OK) pawl_id_format(&made, id);
  return rc;
}

/* ---- ctx.callback ---- */

static pawl_code read_secret(pawl_engine *e, const pawl_held *h, pawl_str *out,
                             pawl_error *err) {
  pawl_rows rows;

  *out = pawl_strz(e->secret);
  if (out->len) return PAWL_OK;
  MUST(PAWL_SERVICE_ASK(READ, secret_get, &rows,
                        .name = pawl_strz(PAWL_CALLBACK_SECRET)));
  return pawl_callback_keep(
      e, rows.nrows ? pawl_read_secret_get(&rows, 0).value : pawl_strz(""),
      out, err);
}

static pawl_code service_callback(const pawl_call *call, pawl_str event,
                                  pawl_buf *out, pawl_error *err) {
  pawl_engine *e = call->services_ud;
  const pawl_held *h = slot_of(call);
  const pawl_callback c = {h->d.id, call->visit, event};
  pawl_str secret;
  char name[201];

  pawl_str_copy(name, sizeof name, event);
  if (event.len >= sizeof name || memchr(event.at, 0, event.len) ||
      !pawl_def_is_event(name, 0))
    return pawl_fail_hint(err, PAWL_MISUSE, PAWL_CODE_RULE,
                          "ctx.callback: \"%.60s\" cannot be an event's name",
                          name);
  MUST(read_secret(e, h, &secret, err));
  pawl_callback_write(secret, &c, out);
  return pawl_buf_check(out, err);
}

/* ---- ctx.visit ----
 *
 * Visits are numbered over all nodes, so those of one are counted, when a
 * handler asks: the rows of history that tell of a smaller number, what stands
 * there, and what this decision has brought there and is not stored yet.
 * Attempts of one visit share its number, so they see the same count. Who
 * undoes one is told which that was. */

/* Is this visit of the node the first that the plan tells of? */
static int is_first(const pawl_plan *p, const char *node, int64_t visit,
                    int until) {
  for (int i = 0; i < until && i < p->nrecords; i++)
    if (p->records[i].visit == visit && p->records[i].node &&
        !strcmp(p->records[i].node, node))
      return 0;
  for (int i = 0; i < until - p->nrecords; i++)
    if (p->state.tokens.at[i].visit == visit && p->state.tokens.at[i].node &&
        !strcmp(p->state.tokens.at[i].node, node))
      return 0;
  return 1;
}

/* Visits of this decision, which no row tells of. */
static int64_t count_planned(const pawl_held *h, const char *at,
                             int64_t below) {
  const pawl_plan *p = &h->d.plan;
  int64_t n = 0;

  for (int i = 0; i < p->nrecords + p->state.tokens.n; i++) {
    int is_token = i >= p->nrecords;
    const pawl_token *t =
        is_token ? &p->state.tokens.at[i - p->nrecords] : NULL;
    const char *node = t ? t->node : p->records[i].node;
    int64_t visit = t ? t->visit : p->records[i].visit;
    if (visit > h->d.state.visit && visit < below && node &&
        !strcmp(node, at) && is_first(p, node, visit, i))
      n++;
  }
  return n;
}

/* The number of the visit that is asked about. */
static int64_t visit_of(const pawl_held *h, const pawl_call *call) {
  int64_t seq;
  int behind;
  pawl_str step;

  if (call->handler != PAWL_HANDLER_UNDO ||
      !pawl_undo_next(&h->d, &h->d.state.undo, &step, &seq, &behind))
    return call->visit;
  return pawl_json_get_int(step, "visit", call->visit);
}

/* ---- of nodes that have no rows of their own: rules/way.h ---- */

enum { WAYS = 1000 }; /* rows, read at a time */

static int64_t count_came(const pawl_held *h, const pawl_call *call) {
  const pawl_marks *came = &h->d.plan.came;
  int64_t n = 0;

  for (int i = 0; i < came->n; i++)
    n += came->at[i].no > h->d.state.visit && came->at[i].no < call->visit &&
         !strcmp(came->at[i].name, call->node);
  return n;
}

/* Of what the paths tell of, this visit and those that began behind it. */
static int64_t count_later(const pawl_held *h, const pawl_call *call) {
  const pawl_token_list *all = &h->d.state.tokens;
  int64_t n = 0;

  for (int i = 0; i < all->n; i++)
    n += pawl_token_is_live(all->at[i].state) &&
         all->at[i].visit >= call->visit &&
         !strcmp(all->at[i].node, call->node);
  return n;
}

/* It goes there where it is cancelled, and no row says by which way. */
static int is_where_it_cleans(const pawl_held *h, const pawl_call *call) {
  const pawl_def *def = h->d.def;

  return pawl_state_is_cleaning(&h->d.state) && def->on_cancel >= 0 &&
         !strcmp(def->nodes[def->on_cancel].name, call->node);
}

static pawl_code read_trimmed(pawl_engine *e, const pawl_held *h,
                              const pawl_call *call, int64_t *upto, int64_t *n,
                              pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_SERVICE_ASK(READ, history_trimmed, &rows, PAWL_SLOT_MEMBERS(h)));
  if (!rows.nrows) return PAWL_OK;
  const pawl_str record = pawl_read_history_trimmed(&rows, 0).record;
  const int64_t gone =
      pawl_trimmed_visits(record, pawl_strz(call->node), &e->alloc);
  *upto = pawl_trimmed_upto(record);
  *n += gone > 0 ? gone : 0;
  return PAWL_OK;
}

/* How often the paths tell of the node. */
static pawl_code read_ways(pawl_engine *e, const pawl_held *h,
                           const pawl_call *call, int64_t *n,
                           pawl_error *err) {
  int64_t after = 0;
  pawl_rows rows;

  MUST(read_trimmed(e, h, call, &after, n, err));
  do {
    MUST(PAWL_SERVICE_ASK(READ, history_ways, &rows, PAWL_SLOT_MEMBERS(h),
                          .after = after, .max = WAYS));
    for (int k = 0; k < rows.nrows; k++) {
      const pawl_history_ways_row row = pawl_read_history_ways(&rows, k);
      *n += pawl_way_count(row.path, pawl_strz(call->node));
      after = row.seq;
    }
  } while (rows.nrows == WAYS);
  return PAWL_OK;
}

static pawl_code count_ways(pawl_engine *e, const pawl_held *h,
                            const pawl_call *call, int64_t *out,
                            pawl_error *err) {
  int64_t told = is_where_it_cleans(h, call);

  *out += count_came(h, call);
  if (!h->d.state.visit) return PAWL_OK; /* nothing of it is stored */
  MUST(read_ways(e, h, call, &told, err));
  told -= count_later(h, call);
  *out += told > 0 ? told : 0;
  return PAWL_OK;
}

static pawl_code service_visits(const pawl_call *call, int64_t *out,
                                pawl_error *err) {
  pawl_engine *e = call->services_ud;
  const pawl_held *h = slot_of(call);
  const int64_t visit = visit_of(h, call);
  pawl_rows rows;

  *out = 1;
  if (visit <= 1) return PAWL_OK; /* it came nowhere before */
  if (pawl_way_tells_of(h->d.def, pawl_strz(call->node)))
    return count_ways(e, h, call, out, err);
  *out += count_planned(h, call->node, visit);
  if (!h->d.state.visit) return PAWL_OK; /* nothing of it is stored */
  MUST(PAWL_SERVICE_ASK(READ, history_visits, &rows, PAWL_SLOT_MEMBERS(h),
                        .node = pawl_strz(call->node), .below = visit));
  if (rows.nrows) {
    const pawl_history_visits_row row = pawl_read_history_visits(&rows, 0);
    const int64_t gone =
        pawl_trimmed_visits(row.trimmed, pawl_strz(call->node), &e->alloc);
    *out += row.n + (gone > 0 ? gone : 0);
  }
  return PAWL_OK;
}

/* ---- attributes ---- */

static pawl_code service_attrs(const pawl_call *call, pawl_buf *out,
                               pawl_error *err) {
  pawl_engine *e = call->services_ud;
  const pawl_held *h = slot_of(call);
  pawl_rows rows;

  MUST(PAWL_SERVICE_ASK(READ, attribute_list, &rows, PAWL_SLOT_MEMBERS(h)));
  return pawl_attributes_add(&rows, out, err);
}

/* ---- ctx.db ---- */

static int may_touch(const void *ud, const char *table, int writes) {
  const pawl_def *def = ud;
  return pawl_names_match(def->db_write, table) ||
         (!writes && pawl_names_match(def->db_read, table));
}

/* A limited one's statement takes no longer than its handler may. */
static pawl_query_bounds bounds_of(const pawl_engine *e, const pawl_def *def,
                                   pawl_tables *tables) {
  pawl_query_bounds b = {.us = e->sql_limit_us};
  *tables = (pawl_tables){may_touch, def};
  if (def->db_write) b.tables = tables;
  if (!def->is_limited) return b;
  if (def->handler_us < b.us) b.us = def->handler_us;
  b.bytes = (size_t)e->config.max_bytes;
  return b;
}

static pawl_code service_query(const pawl_call *call, pawl_str sql,
                               pawl_str params, pawl_buf *out,
                               int64_t *changed, pawl_error *err) {
  pawl_engine *e = call->services_ud;

  assert(e->unit && e->unit->owner == slot_of(call));
  if (e->unit->failed.code != PAWL_OK)
    return pawl_fail(
        err, PAWL_MISUSE,
        "an earlier query of this step has failed: it cannot go on");
  pawl_tables tables;
  const pawl_query_bounds bounds = bounds_of(e, slot_of(call)->d.def, &tables);
  return pawl_query_run(e, &bounds, sql, params, out, changed,
                        &e->unit->failed, err);
}

const pawl_services pawl_engine_services = {
    .now = service_now,
    .log = service_log,
    .heartbeat = service_heartbeat,
    .cancelled = service_cancelled,
    .attrs = service_attrs,
    .new_id = service_new_id,
    .visits = service_visits,
    .progress = service_progress,
    .output = pawl_service_output,
    .callback = service_callback,
    .query = service_query,
};
