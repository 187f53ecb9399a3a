/* Leases: what is due, taking it, keeping it, giving it back.
 *
 * Claims are SOON units (docs/decisions/0023): a machine that goes down takes
 * the executors of its SQLite store with it, and what they held is free then,
 * claim or no claim. Once one has gone down they are not, so that whoever
 * brings it down is found out. */
#include <inttypes.h>

#include "../../base/fault.h"
#include "../common/pipeline.h"
#include "../internal.h"
#include "stray.h"

#define PROMOTE_MAX 1000
#define ROUTE_TTL_US PAWL_SECOND        /* a refused route is asked again */
#define LOOK_EVERY_US (PAWL_SECOND / 5) /* timers, under a full backlog */
#define RECOVER_EVERY_US (10 * PAWL_SECOND)
#define QUEUE_US PAWL_SECOND /* then others may have them */
#define QUEUE_NEW_US (50 * 1000)
#define TIDY_EVERY_US (10 * PAWL_SECOND) /* events left behind, expired */

static void arg_now(pawl_engine *e, int arg) {
  pawl_store_arg_now(e->store, &e->args, arg);
}

static void saw_clock(pawl_engine *e, int64_t store_now_us) {
  if (store_now_us)
    e->clock_offset_us = store_now_us - pawl_clock_now(&e->clock);
}

static void args_next(pawl_engine *e, int shard) {
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_NEXT);
  pawl_arg_int(&e->args, PAWL_AGENDA_NEXT_SHARD, shard);
  arg_now(e, PAWL_AGENDA_NEXT_NOW);
}

pawl_code pawl_claim_clock(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  args_next(e, 0);
  pawl_code rc =
      pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err);
  if (rc == PAWL_OK)
    saw_clock(e, pawl_row_int(&rows, 0, PAWL_AGENDA_NEXT_R_NOW));
  return rc;
}

/* ---- which versions are ours to run ---- */

static pawl_route *find_route(pawl_engine *e, pawl_str code, int64_t version) {
  for (int i = 0; i < e->nroutes; i++)
    if (e->routes[i].version == version &&
        pawl_str_eq(pawl_buf_str(&e->routes[i].workflow), code))
      return &e->routes[i];
  return NULL;
}

static pawl_code add_route(pawl_engine *e, pawl_str code, int64_t version,
                           pawl_route **out, pawl_error *err) {
  if (e->nroutes == e->routes_cap) {
    int cap = e->routes_cap ? 2 * e->routes_cap : 16;
    size_t old = sizeof *e->routes * (size_t)e->routes_cap;
    pawl_route *routes =
        pawl_realloc(&e->alloc, e->routes, old, sizeof *routes * (size_t)cap);
    if (!routes) return pawl_fail(err, PAWL_NOMEM, "out of memory");
    e->routes = routes;
    e->routes_cap = cap;
  }
  pawl_route *r = &e->routes[e->nroutes];
  memset(r, 0, sizeof *r);
  r->workflow.alloc = &e->alloc;
  pawl_buf_adds(&r->workflow, code);
  if (r->workflow.failed) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  r->version = version;
  e->nroutes++;
  *out = r;
  return PAWL_OK;
}

/* Said once: who is missing is for people to find out. */
static void miss_route(pawl_engine *e, pawl_route *r) {
  pawl_error err;

  if (r->missed) return;
  r->missed = 1;
  if (r->version)
    pawl_fail(&err, PAWL_NO_HANDLER,
              "no worker has loaded workflow \"%s\" version %" PRId64,
              r->workflow.at, r->version);
  else
    pawl_fail(&err, PAWL_NO_HANDLER, "no worker has loaded workflow \"%s\"",
              r->workflow.at);
  pawl_error_hint(&err,
                  "start a worker of the group \"%s\" that has its file; "
                  "`pawl list --workflow %s` shows what waits",
                  e->config.group, r->workflow.at);
  pawl_log_error(&e->log, PAWL_WARN,
                 "instances wait for a workflow that nobody has loaded", &err);
}

/* Is this version ours to run? Ours when its prefix is, and we have it, or
 * the store has it and we may run that, or nobody has it and we were told
 * to fail the unknown. */
static pawl_code decide_route(pawl_engine *e, pawl_route *r, pawl_error *err) {
  pawl_def *def = NULL;
  int foreign = 0;
  pawl_code rc = PAWL_OK;

  r->until_mono_us = pawl_clock_mono() + ROUTE_TTL_US;
  r->served = 0;
  if (!pawl_prefixes_match(e->config.prefixes, r->workflow.at,
                           r->workflow.len))
    return PAWL_OK;
  TRY(pawl_definition(e, r->workflow.at, r->version, r->refused, &def,
                      &foreign, err));
  if (def)
    r->served = 1;
  else if (!foreign && e->config.unknown_fail)
    r->served = 1;
  else if (!foreign)
    miss_route(e, r);
out:
  return rc;
}

/* One row of agenda_routes, copied: definitions may have to be fetched, which
 * ends the rows' life. */
typedef struct seen_route {
  size_t from, len; /* of its code, in the buffer of all codes */
  int64_t version;
  int suspect;
} seen_route;

static void copy_routes(const pawl_rows *rows, pawl_buf *codes,
                        seen_route *seen) {
  for (int k = 0; k < rows->nrows; k++) {
    pawl_str code = pawl_row_str(rows, k, PAWL_AGENDA_ROUTES_R_WORKFLOW);
    seen[k].from = codes->len;
    seen[k].len = code.len;
    seen[k].version =
        pawl_row_int(rows, k, PAWL_AGENDA_ROUTES_R_WORKFLOW_VERSION);
    seen[k].suspect = pawl_row_int(rows, k, PAWL_AGENDA_ROUTES_R_SUSPECT) != 0;
    pawl_buf_adds(codes, code);
  }
}

static pawl_code take_route(pawl_engine *e, pawl_str code,
                            const seen_route *seen, pawl_error *err) {
  pawl_route *r = find_route(e, code, seen->version);
  pawl_code rc = PAWL_OK;

  if (!r) TRY(add_route(e, code, seen->version, &r, err));
  if (!r->until_mono_us ||
      (!r->served && pawl_clock_mono() >= r->until_mono_us))
    TRY(decide_route(e, r, err));
  if (r->served && seen->suspect) e->suspect_ready = 1;
  if (r->served && !seen->suspect) e->fresh_ready = 1;
out:
  return rc;
}

static pawl_code take_routes(pawl_engine *e, const pawl_rows *rows,
                             pawl_error *err) {
  pawl_buf codes = {.alloc = &e->alloc};
  int n = rows->nrows;
  size_t size = sizeof(seen_route) * (size_t)n;
  seen_route *seen = NULL;
  pawl_code rc = PAWL_OK;

  if (!n) return PAWL_OK;
  seen = pawl_realloc(&e->alloc, NULL, 0, size);
  if (!seen) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  copy_routes(rows, &codes, seen);
  TRY(pawl_buf_check(&codes, err));
  for (int k = 0; k < n; k++) {
    pawl_str code = {codes.at + seen[k].from, seen[k].len};
    TRY(take_route(e, code, &seen[k], err));
  }
out:
  pawl_buf_deinit(&codes);
  pawl_release(&e->alloc, seen, size);
  return rc;
}

/* ---- looking ---- */

static pawl_code promote(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_PROMOTE);
  pawl_arg_int(&e->args, PAWL_AGENDA_PROMOTE_SHARD, shard);
  arg_now(e, PAWL_AGENDA_PROMOTE_NOW);
  pawl_arg_int(&e->args, PAWL_AGENDA_PROMOTE_MAX, PROMOTE_MAX);
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err);
}

static pawl_code look_shard(pawl_engine *e, int shard, int promoted,
                            pawl_error *err) {
  pawl_rows rows;
  int64_t due, now;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  args_next(e, shard);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_ROUTES);
  pawl_arg_int(&e->args, PAWL_AGENDA_ROUTES_SHARD, shard);
  pawl_arg_textz(&e->args, PAWL_AGENDA_ROUTES_EXECUTOR_GROUP, e->config.group);
  TRY(pawl_store_send(e->store, &e->args, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  now = pawl_row_int(&rows, 0, PAWL_AGENDA_NEXT_R_NOW);
  saw_clock(e, now);
  if (!pawl_row_null(&rows, 0, PAWL_AGENDA_NEXT_R_DUE_AT)) {
    due = pawl_row_int(&rows, 0, PAWL_AGENDA_NEXT_R_DUE_AT);
    if (due <= now && !promoted) {
      TRY(promote(e, shard, err));
      return look_shard(e, shard, 1, err);
    }
    /* what is due and yet not promoted is locked by another promoter */
    if (due <= now) due = now + 1000;
    if (due < e->next_due_us) e->next_due_us = due;
  }
  pawl_store_rows(e->store, 1, &rows);
  TRY(take_routes(e, &rows, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_claim_look(pawl_engine *e, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  e->fresh_ready = e->suspect_ready = e->empty_shards = 0;
  e->next_due_us = PAWL_NEVER;
  for (int s = 0; s < e->nshards; s++) TRY(look_shard(e, s, 0, err));
  e->look_mono_us = pawl_clock_mono() + LOOK_EVERY_US;
  e->unlooked = 0;
  if (e->fresh_ready) e->in_vain = 0;
out:
  return rc;
}

/* ---- loading ---- */

/* A claimed agenda row goes into a slot; the instance follows. */
static void hold(pawl_engine *e, pawl_held *h, int shard, const pawl_id *lease,
                 const pawl_rows *r, int k) {
  int64_t at_us = pawl_row_int(r, k, PAWL_AGENDA_CLAIM_R_NOW);
  h->state = PAWL_SLOT_READY;
  h->shard = shard;
  h->lease = *lease;
  pawl_row_id(r, k, PAWL_AGENDA_CLAIM_R_INSTANCE, &h->id);
  pawl_id_format(&h->id, h->id_text);
  h->takeovers = (int)pawl_row_int(r, k, PAWL_AGENDA_CLAIM_R_TAKEOVERS);
  h->latch = (int)pawl_row_int(r, k, PAWL_AGENDA_CLAIM_R_LATCH);
  h->due_before_us = pawl_row_int(r, k, PAWL_AGENDA_CLAIM_R_DUE_BEFORE);
  h->taken = !pawl_row_null(r, k, PAWL_AGENDA_CLAIM_R_EXECUTOR_BEFORE);
  if (h->taken)
    pawl_row_id(r, k, PAWL_AGENDA_CLAIM_R_EXECUTOR_BEFORE, &h->taken_from);
  /* by the store's time of then: the answer may have lain for a while */
  h->lease_until_us =
      (at_us ? at_us : pawl_engine_now(e)) + e->config.lease_us;
  h->reset = h->takeovers > 0 || h->latch > 0;
  h->begun = h->rounds = h->recorded = h->transactional = 0;
  h->solo = 0;
  h->queued_mono_us = 0;
  h->succeeds = e->nwaiting > 0;
  h->foreign = h->loaded = h->pin = h->look = h->stale = h->apply_only = 0;
  h->one_by_one = 0;
  h->def = NULL;
  h->tokens.n = 0;
  h->nletters = h->nitems = 0;
  h->behind = h->flooded = h->unread = 0;
  h->read_us = PAWL_NEVER;
  pawl_buf_clear(&h->undo);
  h->undo_last = 0;
  h->undo_seq = 0;
  pawl_plan_reset(&h->plan);
  e->nheld++;
  if (e->stats) e->stats->claimed++;
}

/* What was started when nobody knew its workflow runs on the newest version
 * that somebody has loaded since. */
static pawl_code find_newest(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  TRY(pawl_definition(e, h->workflow.at, 0, 0, &h->def, &h->foreign, err));
  if (!h->def) return PAWL_OK;
  h->workflow_version = h->def->version;
  h->pin = 1;
out:
  return rc;
}

static int has_letter(const pawl_held *h, const char *kind) {
  for (int i = 0; i < h->nletters; i++)
    if (pawl_str_eqz(pawl_buf_str(&h->letters[i].kind), kind)) return 1;
  return 0;
}

/* Can it be ended without its definition? Not where steps are to be undone:
 * that is for those who can run them. */
static pawl_code may_end_blind(pawl_engine *e, const pawl_held *h, int *may,
                               pawl_error *err) {
  static const char mark[] = "\"undo\":true";
  pawl_rows rows;
  pawl_str graph;
  pawl_code rc = PAWL_OK;

  *may = !h->started_us;
  if (*may) return PAWL_OK;
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_GET);
  pawl_arg_str(&e->args, PAWL_WORKFLOW_GET_CODE, pawl_buf_str(&h->workflow));
  pawl_arg_int(&e->args, PAWL_WORKFLOW_GET_VERSION, h->workflow_version);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  *may = 1;
  if (!rows.nrows) return PAWL_OK;
  graph = pawl_row_str(&rows, 0, PAWL_WORKFLOW_GET_R_GRAPH);
  for (size_t at = 0; *may && at + sizeof mark - 1 <= graph.len; at++)
    *may = memcmp(graph.at + at, mark, sizeof mark - 1) != 0;
out:
  return rc;
}

pawl_code pawl_claim_definition(pawl_engine *e, pawl_held *h,
                                pawl_error *err) {
  int64_t asked = h->workflow_version;
  int may = 0;
  pawl_route *r;
  pawl_code rc = PAWL_OK;

  if (h->def) return PAWL_OK;
  e->graph_only = e->inbox_of && pawl_id_eq(e->inbox_of, &h->id);
  if (asked)
    TRY(pawl_definition(e, h->workflow.at, asked, h->revision, &h->def,
                        &h->foreign, err));
  else
    TRY(find_newest(e, h, err));
  /* what lies in its inbox may be taken without knowing it */
  if (!h->def && !e->config.unknown_fail && !h->nletters) h->foreign = 1;
  if (!h->foreign) return PAWL_OK;
  if (has_letter(h, "cancel")) TRY(may_end_blind(e, h, &may, err));
  if (has_letter(h, "kill")) may = 1; /* nothing is undone */
  if (may) {
    h->foreign = 0;
    return PAWL_OK;
  }
  /* that its code was not asked for says nothing of whom it may run with */
  r = e->graph_only ? NULL : find_route(e, pawl_buf_str(&h->workflow), asked);
  if (r) {
    r->served = 0;
    r->refused = h->revision;
    r->until_mono_us = pawl_clock_mono() + ROUTE_TTL_US;
  }
out:
  e->graph_only = 0;
  return rc;
}

/* ---- claiming ---- */

/* Rows of a claim in the order in which they should run. An UPDATE returns
 * them in any. */
static void sort_claim(const pawl_rows *r, int *order) {
  for (int k = 0; k < r->nrows; k++) {
    int64_t priority = pawl_row_int(r, k, PAWL_AGENDA_CLAIM_R_PRIORITY);
    int64_t due = pawl_row_int(r, k, PAWL_AGENDA_CLAIM_R_DUE_BEFORE);
    int at = k;
    for (; at > 0; at--) { /* nearly in order, as a rule */
      int p = order[at - 1];
      int64_t other = pawl_row_int(r, p, PAWL_AGENDA_CLAIM_R_PRIORITY);
      if (other > priority ||
          (other == priority &&
           pawl_row_int(r, p, PAWL_AGENDA_CLAIM_R_DUE_BEFORE) <= due))
        break;
      order[at] = p;
    }
    order[at] = k;
  }
}

/* The clock of an answer that was waited for. */
static void saw_claim(pawl_engine *e) {
  pawl_rows rows;
  pawl_store_rows(e->store, 0, &rows);
  if (rows.nrows)
    saw_clock(e, pawl_row_int(&rows, 0, PAWL_AGENDA_CLAIM_R_NOW));
}

/* What the first statement of the open results claimed, and its instances,
 * which the second one loaded. */
static pawl_code take_claim(pawl_engine *e, int shard, const pawl_id *lease,
                            int *got, pawl_error *err) {
  int order[PAWL_MAX_BATCH];
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_store_rows(e->store, 0, &rows);
  if (rows.nrows > PAWL_MAX_BATCH)
    return pawl_fail(err, PAWL_INTERNAL, "a claim of %d rows", rows.nrows);
  *got = rows.nrows;
  sort_claim(&rows, order);
  for (int k = 0; k < rows.nrows; k++) {
    pawl_held *h = pawl_held_get(e);
    if (!h) return pawl_fail(err, PAWL_INTERNAL, "no slot for a claim");
    hold(e, h, shard, lease, &rows, order[k]);
  }
  pawl_store_rows(e->store, 1, &rows);
  TRY(pawl_load_rows(e, lease, &rows, err));
  TRY(pawl_stray_claimed(e, shard, lease, err));
  if (*got) TRY(pawl_load_more(e, err));
out:
  return rc;
}

/* A claim whose commit was not answered may have happened: its lease id is
 * kept, so that the rows need not wait for the lease's end. */
static void remember_lost(pawl_engine *e, int shard, const pawl_id *lease) {
  if (e->nlost_claims == PAWL_LOST_CLAIMS) return; /* those wait */
  e->lost_claims[e->nlost_claims].shard = shard;
  e->lost_claims[e->nlost_claims++].lease = *lease;
}

pawl_code pawl_claim_settle(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  while (e->nlost_claims) {
    int k = e->nlost_claims - 1;
    pawl_args_begin(&e->args, PAWL_STMT_AGENDA_UNCLAIM_LEASE);
    pawl_arg_int(&e->args, PAWL_AGENDA_UNCLAIM_LEASE_SHARD,
                 e->lost_claims[k].shard);
    pawl_arg_id(&e->args, PAWL_AGENDA_UNCLAIM_LEASE_LEASE,
                &e->lost_claims[k].lease);
    pawl_arg_int(&e->args, PAWL_AGENDA_UNCLAIM_LEASE_HORIZON_US,
                 PAWL_MAX_LEASE_US);
    arg_now(e, PAWL_AGENDA_UNCLAIM_LEASE_NOW);
    TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
    e->nlost_claims = k;
  }
out:
  return rc;
}

/* The load that goes with a claim, in the same transaction and trip. */
static pawl_code send_load(pawl_engine *e, int shard, const pawl_id *lease,
                           int64_t now_us, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_LOAD);
  pawl_arg_int(&e->args, PAWL_INSTANCE_LOAD_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_LOAD_LEASE, lease);
  pawl_arg_int(&e->args, PAWL_INSTANCE_LOAD_LEASE_US, e->config.lease_us);
  if (now_us) pawl_arg_time(&e->args, PAWL_INSTANCE_LOAD_NOW, now_us);
  return pawl_store_send(e->store, &e->args, err);
}

/* @now of a claim and of its load must be the same instant: the database's
 * now() is (one transaction), the host's clock is read once. */
static int64_t same_now(pawl_engine *e, int arg) {
  const pawl_cell *c;
  pawl_store_arg_now(e->store, &e->args, arg);
  c = e->args.cols[arg].cells;
  return c->is_null ? 0 : c->i;
}

/* `end`: pawl_store_commit, or the two halves of it. */
static pawl_code end_claim(pawl_engine *e, int shard, const pawl_id *lease,
                           pawl_code (*end)(pawl_store *, pawl_error *),
                           pawl_error *err) {
  pawl_code rc = end(e->store, err);
  if (rc == PAWL_UNREACHABLE) remember_lost(e, shard, lease);
  return rc;
}

static int claim_unit(const pawl_engine *e, int suspect) {
  return suspect || e->careful ? PAWL_UNIT_BATCH : PAWL_UNIT_SOON;
}

/* Sends a claim of one shard, and its load. *sent 0: there is nothing that we
 * would run. */
static pawl_code send_claim(pawl_engine *e, int shard, int suspect, int want,
                            const pawl_id *lease, int *sent, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int n = 0;
  int64_t now_us;

  *sent = 0;
  /* the two claims' arguments have the same places, save @max at the end */
  pawl_args_begin(&e->args, suspect ? PAWL_STMT_AGENDA_CLAIM_SUSPECT
                                    : PAWL_STMT_AGENDA_CLAIM);
  pawl_arg_int(&e->args, PAWL_AGENDA_CLAIM_SHARD, shard);
  pawl_arg_textz(&e->args, PAWL_AGENDA_CLAIM_EXECUTOR_GROUP, e->config.group);
  for (int i = 0; i < e->nroutes; i++) {
    if (!e->routes[i].served) continue;
    pawl_arg_str(&e->args, PAWL_AGENDA_CLAIM_WORKFLOW,
                 pawl_buf_str(&e->routes[i].workflow));
    pawl_arg_int(&e->args, PAWL_AGENDA_CLAIM_WORKFLOW_VERSION,
                 e->routes[i].version);
    n++;
  }
  if (!n) return PAWL_OK;
  pawl_arg_id(&e->args, PAWL_AGENDA_CLAIM_LEASE, lease);
  pawl_arg_id(&e->args, PAWL_AGENDA_CLAIM_EXECUTOR, &e->executor);
  pawl_arg_int(&e->args, PAWL_AGENDA_CLAIM_LEASE_US, e->config.lease_us);
  now_us = same_now(e, PAWL_AGENDA_CLAIM_NOW);
  if (!suspect) pawl_arg_int(&e->args, PAWL_AGENDA_CLAIM_MAX, want);
  TRY(pawl_store_begin(e->store, claim_unit(e, suspect), err));
  TRY(pawl_store_send(e->store, &e->args, err));
  TRY(send_load(e, shard, lease, now_us, err));
  *sent = 1;
out:
  return rc;
}

static pawl_code claim_shard(pawl_engine *e, int shard, int suspect, int want,
                             int *got, pawl_error *err) {
  pawl_id lease;
  pawl_code rc = PAWL_OK;
  int sent;

  *got = 0;
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &lease, err));
  TRY(send_claim(e, shard, suspect, want, &lease, &sent, err));
  if (!sent) return PAWL_OK;
  TRY(end_claim(e, shard, &lease, pawl_store_commit, err));
  saw_claim(e);
  (void)PAWL_FAULT("engine.claim.after");
  TRY(take_claim(e, shard, &lease, got, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static int next_shard(pawl_engine *e) {
  int s = e->next_shard;
  e->next_shard = (s + 1) % e->nshards;
  return s;
}

pawl_code pawl_claim_more(pawl_engine *e, int want, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int n = 0, got = 0;

  if (e->suspect_ready && !e->nheld) { /* N3: one alone, before the others */
    for (int k = 0; k < e->nshards && !got; k++) {
      int s = next_shard(e);
      TRY(claim_shard(e, s, 1, 1, &got, err));
    }
    if (got) {
      for (int i = 0; i < e->nheld_slots; i++)
        e->held[i].solo = e->held[i].state != PAWL_SLOT_FREE;
      e->alone = 1;
      return PAWL_OK;
    }
    e->suspect_ready = 0;
  }
  if (!e->fresh_ready || e->suspect_ready) return PAWL_OK;
  for (int k = 0; k < e->nshards && got < want; k++) {
    int s = next_shard(e);
    TRY(claim_shard(e, s, 0, want - got, &n, err));
    got += n;
  }
  if (got < want) e->fresh_ready = 0; /* until the next look */
out:
  return rc;
}

pawl_code pawl_claim_unlooked(pawl_engine *e, int want, pawl_error *err) {
  int before = e->nheld;
  pawl_code rc = PAWL_OK;

  e->unlooked = e->fresh_ready = 1;
  e->look_mono_us = pawl_clock_mono() + LOOK_EVERY_US;
  TRY(pawl_claim_more(e, want, err));
  e->in_vain = e->nheld == before;
out:
  return rc;
}

pawl_code pawl_claim_send(pawl_engine *e, int want, pawl_error *err) {
  pawl_sent *sent;
  pawl_code rc = PAWL_OK;
  int any;

  if (!e->fresh_ready) return PAWL_OK;
  TRY(pawl_pipeline_place(e, &sent, err));
  sent->shard = next_shard(e);
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &sent->lease, err));
  TRY(send_claim(e, sent->shard, 0, want, &sent->lease, &any, err));
  if (!any) {
    e->fresh_ready = 0;
    return PAWL_OK;
  }
  TRY(end_claim(e, sent->shard, &sent->lease, pawl_store_submit, err));
  sent->want = want;
  e->claiming += want;
  pawl_pipeline_sent(e);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_claim_finish(pawl_engine *e, pawl_sent *sent, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int got = 0;

  e->claiming -= sent->want;
  TRY(end_claim(e, sent->shard, &sent->lease, pawl_store_finish, err));
  (void)PAWL_FAULT("engine.claim.after");
  TRY(take_claim(e, sent->shard, &sent->lease, &got, err));
  e->empty_shards = got < sent->want ? e->empty_shards + 1 : 0;
  if (e->empty_shards >= e->nshards) e->fresh_ready = 0;
out:
  return rc;
}

/* What the first statement of the open results says: may only the inbox be
 * taken? */
static int is_suspended(pawl_engine *e) {
  pawl_rows rows;
  pawl_store_rows(e->store, 0, &rows);
  return rows.nrows &&
         pawl_row_int(&rows, 0, PAWL_AGENDA_CLAIM_ONE_R_SUSPENDED);
}

/* `stmt`: agenda_claim_one or agenda_seize, which are alike. */
static pawl_code claim_this(pawl_engine *e, pawl_stmt stmt, const pawl_id *id,
                            int *got, pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards, suspended;
  pawl_id lease;
  int64_t now_us;
  pawl_code rc = PAWL_OK;

  *got = 0;
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &lease, err));
  pawl_args_begin(&e->args, stmt);
  pawl_arg_int(&e->args, PAWL_AGENDA_CLAIM_ONE_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_CLAIM_ONE_ID, id);
  pawl_arg_id(&e->args, PAWL_AGENDA_CLAIM_ONE_LEASE, &lease);
  pawl_arg_id(&e->args, PAWL_AGENDA_CLAIM_ONE_EXECUTOR, &e->executor);
  pawl_arg_int(&e->args, PAWL_AGENDA_CLAIM_ONE_LEASE_US, e->config.lease_us);
  now_us = same_now(e, PAWL_AGENDA_CLAIM_ONE_NOW);
  TRY(pawl_store_begin(e->store, claim_unit(e, 0), err));
  TRY(pawl_store_send(e->store, &e->args, err));
  TRY(send_load(e, shard, &lease, now_us, err));
  TRY(end_claim(e, shard, &lease, pawl_store_commit, err));
  saw_claim(e);
  suspended = is_suspended(e);
  TRY(take_claim(e, shard, &lease, got, err));
  for (int i = 0; i < e->nheld_slots && suspended; i++)
    if (e->held[i].state != PAWL_SLOT_FREE &&
        pawl_id_eq(&e->held[i].lease, &lease))
      e->held[i].apply_only = 1;
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_claim_one(pawl_engine *e, const pawl_id *id, int *got,
                         pawl_error *err) {
  return claim_this(e, PAWL_STMT_AGENDA_CLAIM_ONE, id, got, err);
}

pawl_code pawl_claim_seize(pawl_engine *e, const pawl_id *id, int *got,
                           pawl_error *err) {
  return claim_this(e, PAWL_STMT_AGENDA_SEIZE, id, got, err);
}

pawl_code pawl_claim_reload(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  pawl_id lease;
  int latch;

  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_GET);
  pawl_arg_int(&e->args, PAWL_AGENDA_GET_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_GET_ID, &h->id);
  arg_now(e, PAWL_AGENDA_GET_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (rows.nrows == 0 || pawl_row_null(&rows, 0, PAWL_AGENDA_GET_R_LEASE))
    goto lost;
  pawl_row_id(&rows, 0, PAWL_AGENDA_GET_R_LEASE, &lease);
  if (!pawl_id_eq(&lease, &h->lease)) goto lost;
  latch = (int)pawl_row_int(&rows, 0, PAWL_AGENDA_GET_R_LATCH);
  h->stale = 1;
  TRY(pawl_load_more(e, err));
  h->latch = latch; /* not before: it says what was read (N6) */
  h->reset = h->reset || h->latch > 0;
out:
  return rc;
lost:
  return pawl_fail(err, PAWL_LEASE_LOST,
                   "instance %s: its lease was taken back, by `kill` or by "
                   "another executor",
                   h->id_text);
}

/* ---- keeping and giving back ---- */

/* How long it may wait for its turn here. Who has begun goes on here, as a
 * rule; who came for a place that has been taken again may get the next. */
static int64_t patience_us(const pawl_held *h) {
  if (h->rounds > 0) return QUEUE_US;
  return h->succeeds ? QUEUE_NEW_US : 0;
}

static int is_queued(const pawl_engine *e, const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && !h->flight.run && h->queued_mono_us &&
         e->nwaiting >= e->config.concurrency &&
         pawl_clock_mono() - h->queued_mono_us < patience_us(h);
}

int pawl_claim_queued(const pawl_engine *e) {
  int n = 0;
  for (int i = 0; i < e->nheld_slots; i++) n += is_queued(e, &e->held[i]);
  return n;
}

static int is_idle(const pawl_engine *e, const pawl_held *h, int shard) {
  return h->state == PAWL_SLOT_READY && h->shard == shard && !h->flight.run &&
         !is_queued(e, h);
}

static pawl_code release_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < e->nheld_slots; i++)
    e->held[i].going = is_idle(e, &e->held[i], shard);
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_UNCLAIM);
  pawl_arg_int(&e->args, PAWL_AGENDA_UNCLAIM_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (!h->going) continue;
    pawl_arg_id(&e->args, PAWL_AGENDA_UNCLAIM_ID, &h->id);
    pawl_arg_id(&e->args, PAWL_AGENDA_UNCLAIM_LEASE, &h->lease);
    /* the next holder will record the takeover, if we have not */
    pawl_arg_id(&e->args, PAWL_AGENDA_UNCLAIM_EXECUTOR,
                h->taken && !h->recorded ? &h->taken_from : NULL);
    pawl_arg_time(&e->args, PAWL_AGENDA_UNCLAIM_DUE_AT,
                  h->begun ? pawl_engine_now(e) : h->due_before_us);
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
  for (int i = 0; i < e->nheld_slots; i++)
    if (e->held[i].going) pawl_held_free(e, &e->held[i]);
  e->fresh_ready = 1; /* at least these */
out:
  return rc;
}

pawl_code pawl_claim_release(pawl_engine *e, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  if (e->nheld == e->nwaiting) return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) TRY(release_shard(e, s, err));
out:
  return rc;
}

static pawl_code renew_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_RENEW);
  pawl_arg_int(&e->args, PAWL_AGENDA_RENEW_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (h->state == PAWL_SLOT_FREE || h->shard != shard) continue;
    pawl_arg_id(&e->args, PAWL_AGENDA_RENEW_ID, &h->id);
    pawl_arg_id(&e->args, PAWL_AGENDA_RENEW_LEASE, &h->lease);
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  pawl_arg_int(&e->args, PAWL_AGENDA_RENEW_LEASE_US, e->config.lease_us);
  arg_now(e, PAWL_AGENDA_RENEW_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    pawl_id id;
    pawl_row_id(&rows, k, PAWL_AGENDA_RENEW_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (h)
      h->lease_until_us = pawl_row_int(&rows, k, PAWL_AGENDA_RENEW_R_DUE_AT);
  }
out:
  return rc;
}

pawl_code pawl_claim_renew(pawl_engine *e, int force, pawl_error *err) {
  int64_t now = pawl_engine_now(e), soonest = PAWL_NEVER;
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < e->nheld_slots; i++)
    if (e->held[i].state != PAWL_SLOT_FREE &&
        e->held[i].lease_until_us < soonest)
      soonest = e->held[i].lease_until_us;
  if (soonest == PAWL_NEVER) return PAWL_OK;
  if (!force && soonest - now > e->config.lease_us * 2 / 3) return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) TRY(renew_shard(e, s, err));
out:
  return rc;
}

/* ---- executors ---- */

static pawl_code send_executor(pawl_engine *e, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_EXECUTOR_INSERT);
  pawl_arg_id(a, PAWL_EXECUTOR_INSERT_ID, &e->executor);
  pawl_arg_textz(a, PAWL_EXECUTOR_INSERT_HOST, e->self.host);
  pawl_arg_textz(a, PAWL_EXECUTOR_INSERT_BOOT, e->self.boot);
  pawl_arg_textz(a, PAWL_EXECUTOR_INSERT_SPACE, e->self.space);
  pawl_arg_int(a, PAWL_EXECUTOR_INSERT_PID, e->self.pid);
  pawl_arg_int(a, PAWL_EXECUTOR_INSERT_BEGUN, e->self.begun);
  pawl_arg_textz(a, PAWL_EXECUTOR_INSERT_EXECUTOR_GROUP, e->config.group);
  pawl_arg_int(a, PAWL_EXECUTOR_INSERT_TTL_US, 3 * e->config.heartbeat_us);
  arg_now(e, PAWL_EXECUTOR_INSERT_NOW);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_prune(pawl_engine *e, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_EXECUTOR_PRUNE);
  pawl_arg_time(&e->args, PAWL_EXECUTOR_PRUNE_BEFORE,
                pawl_engine_now(e) - 7 * 24 * 3600 * PAWL_SECOND);
  pawl_arg_int(&e->args, PAWL_EXECUTOR_PRUNE_MAX, 100);
  return pawl_store_send(e->store, &e->args, err);
}

static pawl_code send_fallen(pawl_engine *e, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_EXECUTOR_FALLEN);
  pawl_arg_textz(&e->args, PAWL_EXECUTOR_FALLEN_BOOT, e->self.boot);
  return pawl_store_send(e->store, &e->args, err);
}

/* Our row comes, on disk before the first claim; those of processes long gone
 * go. Has the machine gone down under another one? */
static pawl_code register_executor(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_executor(e, err));
  TRY(send_prune(e, err));
  TRY(send_fallen(e, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 2, &rows);
  e->careful = rows.nrows > 0 || !e->self.boot[0]; /* or nobody can tell */
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code beat(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_args_begin(&e->args, PAWL_STMT_EXECUTOR_BEAT);
  pawl_arg_id(&e->args, PAWL_EXECUTOR_BEAT_ID, &e->executor);
  pawl_arg_int(&e->args, PAWL_EXECUTOR_BEAT_TTL_US,
               3 * e->config.heartbeat_us);
  arg_now(e, PAWL_EXECUTOR_BEAT_NOW);
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err);
}

/* A neighbour has gone without goodbye: what it held is due now. */
static pawl_code recover(pawl_engine *e, const pawl_id *executor,
                         pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  for (int s = 0; s < e->nshards; s++) {
    for (int more = 1, rounds = 0; more && rounds < 1000; rounds++) {
      pawl_args_begin(&e->args, PAWL_STMT_AGENDA_ORPHAN);
      pawl_arg_int(&e->args, PAWL_AGENDA_ORPHAN_SHARD, s);
      pawl_arg_id(&e->args, PAWL_AGENDA_ORPHAN_EXECUTOR, executor);
      pawl_arg_int(&e->args, PAWL_AGENDA_ORPHAN_HORIZON_US, PAWL_MAX_LEASE_US);
      arg_now(e, PAWL_AGENDA_ORPHAN_NOW);
      pawl_arg_int(&e->args, PAWL_AGENDA_ORPHAN_MAX, PROMOTE_MAX);
      TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
      more = rows.changed == PROMOTE_MAX;
    }
  }
  pawl_args_begin(&e->args, PAWL_STMT_EXECUTOR_RECOVERED);
  pawl_arg_id(&e->args, PAWL_EXECUTOR_RECOVERED_ID, executor);
  arg_now(e, PAWL_EXECUTOR_RECOVERED_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
out:
  return rc;
}

#define NEIGHBOURS 64

/* Rule 10: leases of processes of this host that are gone end at once. */
static pawl_code recover_neighbours(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_id gone[NEIGHBOURS];
  pawl_code rc = PAWL_OK;
  int n = 0;

  if (!e->self.boot[0]) return PAWL_OK;
  pawl_args_begin(&e->args, PAWL_STMT_EXECUTOR_LOCAL);
  pawl_arg_textz(&e->args, PAWL_EXECUTOR_LOCAL_HOST, e->self.host);
  pawl_arg_textz(&e->args, PAWL_EXECUTOR_LOCAL_BOOT, e->self.boot);
  pawl_arg_textz(&e->args, PAWL_EXECUTOR_LOCAL_SPACE, e->self.space);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows && n < NEIGHBOURS; k++) {
    pawl_process other = e->self;
    other.pid = pawl_row_int(&rows, k, PAWL_EXECUTOR_LOCAL_R_PID);
    other.begun = pawl_row_int(&rows, k, PAWL_EXECUTOR_LOCAL_R_BEGUN);
    if (!pawl_process_is_gone(&e->self, &other)) continue;
    pawl_row_id(&rows, k, PAWL_EXECUTOR_LOCAL_R_ID, &gone[n++]);
  }
  for (int k = 0; k < n; k++) TRY(recover(e, &gone[k], err));
out:
  return rc;
}

pawl_code pawl_claim_housekeep(pawl_engine *e, pawl_error *err) {
  int64_t mono = pawl_clock_mono();
  pawl_code rc = PAWL_OK;

  if (!e->registered) {
    TRY(register_executor(e, err));
    e->registered = 1;
    e->beat_mono_us = mono + e->config.heartbeat_us;
    e->recover_mono_us = 0;
  }
  if (mono >= e->beat_mono_us) {
    TRY(beat(e, err));
    e->beat_mono_us = mono + e->config.heartbeat_us;
  }
  if (mono >= e->recover_mono_us) {
    TRY(recover_neighbours(e, err));
    e->recover_mono_us = mono + RECOVER_EVERY_US;
  }
  if (mono >= e->tidy_mono_us) {
    e->tidy_mono_us = mono + TIDY_EVERY_US;
    TRY(pawl_signal_tidy(e, err));
  }
out:
  return rc;
}
