/* Routes: what was seen on the agenda, and whether we serve it. */
#include "offers.h"

#include <inttypes.h>

#include "../versions/versions.h"
#include "await.h"

#define OFFER_TTL_US PAWL_SECOND /* a refused one is asked again */

/* There are as many as versions that this worker meets: few, so they are gone
 * over. */
static pawl_offer *find_offer(pawl_engine *e, pawl_str code, int64_t version) {
  for (int i = 0; i < e->noffers; i++)
    if (e->offers[i].version == version &&
        pawl_str_eq(pawl_buf_str(&e->offers[i].workflow), code))
      return &e->offers[i];
  return NULL;
}

static pawl_code add_offer(pawl_engine *e, pawl_str code, int64_t version,
                           pawl_offer **out, pawl_error *err) {
  if (!PAWL_ROOM(&e->alloc, e->offers, e->noffers, e->offers_cap))
    return pawl_fail_memory(err);
  pawl_offer *r = &e->offers[e->noffers];
  memset(r, 0, sizeof *r);
  r->workflow.alloc = &e->alloc;
  pawl_buf_set(&r->workflow, code);
  if (r->workflow.failed) return pawl_fail_memory(err);
  r->version = version;
  e->noffers++;
  *out = r;
  return PAWL_OK;
}

/* Asked each time: a first one of its handlers may have waited since. */
static int needs_none(const pawl_engine *e, const pawl_offer *r) {
  return pawl_await_needs_none(pawl_registry_find(
      e->registry, r->workflow.at, r->workflow.len, r->version, NULL));
}

int pawl_offer_is_open(pawl_engine *e, const pawl_offer *r) {
  if (!r->served) return 0;
  if (pawl_await_is_full(e) && !needs_none(e, r)) {
    e->kept_out = 1;
    return 0;
  }
  if (!r->has_share || pawl_await_lets_limited(e)) return 1;
  e->held_up = 1;
  return 0;
}

static int any_open(pawl_engine *e) {
  int any = 0;

  for (int i = 0; i < e->noffers; i++)
    any |= pawl_offer_is_open(e, &e->offers[i]);
  return any;
}

void pawl_offers_let_in(pawl_engine *e) {
  const int share = e->held_up && pawl_await_lets_limited(e);
  const int place = e->kept_out && !pawl_await_is_full(e);

  if (share) e->held_up = 0;
  if (place) e->kept_out = 0;
  if (share || place) e->fresh_ready = 1;
  /* what was seen before the last place was taken */
  if (e->fresh_ready && pawl_await_is_full(e)) e->fresh_ready = any_open(e);
}

void pawl_offers_forget(pawl_engine *e) {
  while (e->noffers) pawl_buf_deinit(&e->offers[--e->noffers].workflow);
}

/* Said once: who is missing is for people to find out. */
static void miss_offer(pawl_engine *e, pawl_offer *r) {
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
static pawl_code decide_offer(pawl_engine *e, pawl_offer *r, pawl_error *err) {
  pawl_def *def = NULL;
  int foreign = 0;

  r->until_mono_us = pawl_clock_mono() + OFFER_TTL_US;
  r->served = 0;
  if (!pawl_prefixes_match(e->config.prefixes, r->workflow.at,
                           r->workflow.len))
    return PAWL_OK;
  const pawl_code rc = pawl_definition(e, r->workflow.at, r->version,
                                       r->refused, &def, &foreign, err);
  if (rc == PAWL_INTERRUPTED) r->until_mono_us = 0; /* with the next look */
  if (rc != PAWL_OK) return rc;
  r->is_short = e->short_def;
  r->has_share = pawl_await_has_share(def);
  if (def)
    r->served = 1;
  else if (!foreign && e->config.unknown_fail)
    r->served = 1;
  else if (!foreign)
    miss_offer(e, r);
  return PAWL_OK;
}

static pawl_code take_offer(pawl_engine *e, const pawl_agenda_offers_row *row,
                            pawl_error *err) {
  pawl_offer *r = find_offer(e, row->workflow, row->version);

  if (!r) MUST(add_offer(e, row->workflow, row->version, &r, err));
  if (!r->until_mono_us ||
      (!r->served && pawl_clock_mono() >= r->until_mono_us))
    MUST(decide_offer(e, r, err));
  e->is_short = e->is_short || r->is_short;
  if (!pawl_offer_is_open(e, r)) return PAWL_OK;
  if (row->suspect)
    e->suspect_ready = 1;
  else
    e->fresh_ready = 1;
  return PAWL_OK;
}

/* The rows are kept: definitions may have to be fetched, which ends their
 * life. */
pawl_code pawl_offers_take(pawl_engine *e, const pawl_rows *rows,
                           pawl_error *err) {
  pawl_buf keep = {.alloc = &e->alloc};
  int n = rows->nrows;
  pawl_code rc = PAWL_OK;

  TRY(PAWL_KEEP(agenda_offers, rows, &keep, err));
  for (int k = 0; k < n; k++)
    TRY(take_offer(e, &PAWL_KEPT(agenda_offers, &keep)[k], err));
out:
  pawl_buf_deinit(&keep);
  return rc;
}

/* ---- the definition of one that is held ---- */

/* What was started when nobody knew its workflow runs on the newest version
 * that somebody has loaded since. */
static pawl_code find_newest(pawl_engine *e, pawl_held *h, int *foreign,
                             pawl_error *err) {
  MUST(pawl_definition(e, h->d.workflow.at, 0, 0, &h->d.def, foreign, err));
  if (!h->d.def) return PAWL_OK;
  h->d.version = h->d.def->version;
  h->fate = PAWL_FATE_PINNED;
  return PAWL_OK;
}

static int has_letter(const pawl_held *h, const char *kind) {
  for (int i = 0; i < h->d.nletters; i++)
    if (pawl_letter_is(&h->d.letters[i], kind)) return 1;
  return 0;
}

static int has_text(pawl_str text, pawl_str part) {
  for (size_t at = 0; at + part.len <= text.len; at++)
    if (!memcmp(text.at + at, part.at, part.len)) return 1;
  return 0;
}

/* Can it be ended without its definition? Not where steps are to be undone, or
 * it cleans up: that is for those who can run them. */
static pawl_code may_end_blind(pawl_engine *e, const pawl_held *h, int *may,
                               pawl_error *err) {
  pawl_rows rows;
  pawl_str graph;

  *may = !h->d.state.started_us;
  if (*may) return PAWL_OK;
  MUST(PAWL_READ(e->store, workflow_get, &rows, err,
                 .code = pawl_buf_str(&h->d.workflow),
                 .version = h->d.version));
  *may = 1;
  if (!rows.nrows) return PAWL_OK;
  graph = pawl_read_workflow_get(&rows, 0).graph;
  *may = !has_text(graph, pawl_strz("\"undo\":true")) &&
         !has_text(graph, pawl_strz("\"on_cancel\":"));
  return PAWL_OK;
}

/* Asked of one that has ended, none of it needs a graph. */
static int is_put_away(const pawl_held *h) {
  return pawl_status_has_ended(h->d.state.status) && h->d.nletters == 1 &&
         (has_letter(h, "delete") || has_letter(h, "undelete") ||
          has_letter(h, "purge"));
}

/* Is it held for its inbox alone? */
static int is_for_inbox(const pawl_engine *e, const pawl_id *id) {
  for (int i = 0; i < e->ninboxes; i++)
    if (pawl_id_eq(&e->inbox_of[i], id)) return 1;
  return 0;
}

pawl_code pawl_offers_definition(pawl_engine *e, pawl_held *h,
                                 pawl_error *err) {
  int64_t asked = h->d.version;
  int may = 0, foreign = 0;
  pawl_offer *r;
  pawl_code rc = PAWL_OK;

  if (h->d.def) return PAWL_OK;
  e->graph_only = is_for_inbox(e, &h->d.id);
  rc = asked ? pawl_definition(e, h->d.workflow.at, asked, h->revision,
                               &h->d.def, &foreign, err)
             : find_newest(e, h, &foreign, err);
  const int stopped = rc == PAWL_INTERRUPTED; /* it is given back for now */
  if (stopped) foreign = 1;
  TRY(stopped ? PAWL_OK : rc);
  /* what lies in its inbox may be taken without knowing it */
  if (!h->d.def && !e->config.unknown_fail && !h->d.nletters) foreign = 1;
  if (!foreign) goto out;
  if (has_letter(h, "cancel") || has_letter(h, "delete"))
    TRY(may_end_blind(e, h, &may, err));
  if (has_letter(h, "kill") || is_put_away(h)) may = 1; /* nothing is undone */
  if (may) goto out;
  h->fate = PAWL_FATE_FOREIGN;
  /* that its code was not asked for says nothing of whom it may run with */
  r = e->graph_only ? NULL
                    : find_offer(e, pawl_buf_str(&h->d.workflow), asked);
  if (r) {
    r->served = 0;
    r->is_short = e->short_def;
    r->refused = h->revision;
    r->until_mono_us = stopped ? 0 : pawl_clock_mono() + OFFER_TTL_US;
  }
out:
  e->graph_only = 0;
  return rc;
}
