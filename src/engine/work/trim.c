/* Old rows of history, taken away. */
#include "trim.h"

#include <assert.h>

#include "../../base/fault.h"
#include "../../rules/trim.h"
#include "../common/pipeline.h"
#include "../common/time.h"
#include "budget.h"

#define ROWS 256      /* that one unit looks at: some milliseconds of locks */
#define BYTES 1000000 /* or so; of large values few rows have as many */
#define EACH_ROWS 64  /* who has not looked yet does so as often as that */

#ifdef PAWL_TESTING
static int64_t shortened;
void pawl_trim_shorten(int64_t keep) {
  shortened = keep;
}
#else
enum { shortened = 0 };
#endif

static int64_t kept(const pawl_held *h) {
  return shortened ? shortened : h->d.def->keep_history;
}

/* Does a history of that many rows have enough beyond those that stay? */
static int is_long(const pawl_held *h, int64_t seq) {
  const int64_t keep = kept(h), upto = h->trimmed < 0 ? 0 : h->trimmed;

  return seq - upto > keep + (shortened ? 1 : pawl_trim_slack(keep));
}

/* What undoes has its plan in history. One that is suspended says there why,
 * and goes on or ends before long. */
static int may_be_trimmed(const pawl_held *h) {
  const pawl_state *s = &h->d.state;
  return s->undo.status == PAWL_UNDO_NONE &&
         s->status != PAWL_STATUS_SUSPENDED;
}

/* ---- what is owed ---- */

/* Others may take its place: then it is looked at as who was never. */
static pawl_id *place_of(pawl_engine *e, const pawl_held *h) {
  return &e->trims_owed[pawl_id_home(&h->d.id) % PAWL_SPIN_SLOTS];
}

static int is_owed(pawl_engine *e, const pawl_held *h) {
  return pawl_id_eq(place_of(e, h), &h->d.id);
}

/* It is put off, or there is more to be done than fits: it comes with its next
 * commit, also when it is let go meanwhile. */
static void owe(pawl_engine *e, const pawl_held *h, int owes) {
  pawl_id *place = place_of(e, h);

  if (owes)
    *place = h->d.id;
  else if (pawl_id_eq(place, &h->d.id))
    *place = (pawl_id){{0}};
}

void pawl_trim_note(pawl_engine *e, pawl_held *h) {
  const int64_t was = h->d.seq, is = was + h->d.plan.nrecords;

  if (h->trims || !is_long(h, is) || !may_be_trimmed(h)) return;
  /* nobody has looked: not at each commit of one that waits in between */
  if (h->trimmed < 0 && was / EACH_ROWS == is / EACH_ROWS && !shortened &&
      !is_owed(e, h))
    return;
  if (e->unit) return; /* its own transaction is open */
  h->trims = 1;
  e->ntrims++;
}

/* ---- what is there ---- */

typedef struct look {
  pawl_buf record, rows; /* kept beyond the unit that read them */
  pawl_str was;
  pawl_old_row list[ROWS];
  int n;
} look;

static pawl_code read_record(pawl_engine *e, pawl_held *h, look *k,
                             pawl_error *err) {
  pawl_rows r;

  MUST(PAWL_READ(e->store, history_trimmed, &r, err, PAWL_SLOT_MEMBERS(h)));
  if (r.nrows)
    pawl_buf_set(&k->record, pawl_read_history_trimmed(&r, 0).record);
  MUST(pawl_buf_check(&k->record, err));
  k->was = pawl_buf_some(&k->record);
  h->trimmed = pawl_trimmed_upto(k->was);
  return PAWL_OK;
}

static pawl_code read_rows(pawl_engine *e, const pawl_held *h, int max,
                           look *k, pawl_error *err) {
  pawl_rows r;

  MUST(PAWL_READ(e->store, history_old, &r, err, PAWL_SLOT_MEMBERS(h),
                 .after = h->trimmed, .upto = h->d.seq - kept(h), .max = max,
                 .bytes = BYTES));
  MUST(PAWL_KEEP(history_old, &r, &k->rows, err));
  k->n = r.nrows;
  for (int i = 0; i < k->n; i++) {
    const pawl_history_old_row *row = &PAWL_KEPT(history_old, &k->rows)[i];
    k->list[i] = (pawl_old_row){.seq = row->seq,
                                .token = row->token,
                                .visit = row->visit,
                                .node = row->node,
                                .changes = row->changes,
                                .path = row->path,
                                .stays = row->stays != 0,
                                .told = row->told != 0,
                                .leads = row->leads != 0};
  }
  return PAWL_OK;
}

/* ---- what goes ---- */

static pawl_code send_tell(pawl_engine *e, const pawl_held *h,
                           const pawl_trim *t, pawl_error *err) {
  pawl_args *a = &e->args;

  if (!t->ntell) return PAWL_OK;
  pawl_args_begin(a, PAWL_STMT_history_tell);
  for (int i = 0; i < t->ntell; i++)
    PAWL_PUT(a, history_tell, PAWL_LEASE_MEMBERS(h), .latch = PAWL_NULL,
             .seq = t->tell[i]);
  return pawl_store_send(e->store, a, NULL, err);
}

static pawl_code send(pawl_engine *e, pawl_held *h, const pawl_trim *t,
                      int *at, pawl_error *err) {
  pawl_args *a = &e->args;

  MUST(PAWL_SEND(e->store, agenda_lock, at, err, PAWL_LEASE_MEMBERS(h),
                 .latch = PAWL_NULL));
  MUST(send_tell(e, h, t, err));
  pawl_args_begin(a, PAWL_STMT_history_drop);
  for (int i = 0; i < t->ndrop; i++)
    PAWL_PUT(a, history_drop, PAWL_LEASE_MEMBERS(h), .latch = PAWL_NULL,
             .seq = t->drop[i]);
  MUST(pawl_store_send(e->store, a, NULL, err));
  (void)PAWL_FAULT("engine.trim.dropped");
  return PAWL_SEND(e->store, history_trim, NULL, err, PAWL_LEASE_MEMBERS(h),
                   .latch = PAWL_NULL, .executor = &e->executor,
                   .record = pawl_buf_str(&t->record),
                   .completed_at = pawl_engine_now(e));
}

/* *held: the lease was there, so all of it has happened; else nothing has. */
static pawl_code take_away(pawl_engine *e, pawl_held *h, const pawl_trim *t,
                           int *held, pawl_error *err) {
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send(e, h, t, &at, err));
  (void)PAWL_FAULT("engine.trim.before");
  switch (PAWL_FAULT("engine.trim.fail")) {
    case PAWL_FAULT_FAIL:
      TRY(pawl_fail(err, PAWL_STORE, "it was not to be"));
      break;
    case PAWL_FAULT_DROP:
      TRY(pawl_fail(err, PAWL_UNREACHABLE, "the connection was lost"));
      break;
    default:
      break;
  }
  TRY(pawl_store_commit(e->store, err));
  (void)PAWL_FAULT("engine.trim.after");
  pawl_store_rows(e->store, at, &rows);
  *held = rows.nrows > 0;
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code trim_rows(pawl_engine *e, pawl_held *h, look *k,
                           pawl_error *err) {
  pawl_trim t = {.alloc = &e->alloc};
  int held = 0;
  pawl_code rc = PAWL_OK;

  pawl_trim_decide(&t, k->was, kept(h), h->d.def, &h->d.state.tokens, k->list,
                   k->n);
  if (t.failed) TRY(pawl_fail_memory(err));
  TRY(take_away(e, h, &t, &held, err));
  if (held) h->trimmed = k->list[k->n - 1].seq;
out:
  pawl_trim_deinit(&t);
  return rc;
}

static pawl_code trim(pawl_engine *e, pawl_held *h, int max, pawl_error *err) {
  const int64_t began = pawl_clock_mono();
  size_t size = sizeof(look);
  look *k = pawl_calloc(&e->alloc, size);
  pawl_code rc = PAWL_OK;

  if (!k) return pawl_fail_memory(err);
  k->record.alloc = k->rows.alloc = &e->alloc;
  TRY(read_record(e, h, k, err));
  if (!is_long(h, h->d.seq + h->d.plan.nrecords)) goto out;
  TRY(read_rows(e, h, max, k, err));
  if (k->n) TRY(trim_rows(e, h, k, err));
  (void)pawl_chore_took(e, &e->trim.cost, k->n, began);
out:
  pawl_buf_deinit(&k->record);
  pawl_buf_deinit(&k->rows);
  pawl_release(&e->alloc, k, size);
  return rc;
}

/* Nobody knows whether a unit happened whose answer is lost: the next look
 * tells. */
static pawl_code try_trim(pawl_engine *e, pawl_held *h, pawl_error *err) {
  const int max = pawl_chore_rows(e, &e->trim, ROWS);
  pawl_error why;

  owe(e, h, !max);
  if (!max) return PAWL_OK;
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_KEEP);
  const pawl_code rc = trim(e, h, max, &why);
  (void)pawl_budget_spend(e, was);
  if (rc == PAWL_OK) {
    owe(e, h, is_long(h, h->d.seq + h->d.plan.nrecords));
    return rc;
  }
  h->trimmed = -1;
  if (rc == PAWL_UNREACHABLE) return pawl_fail_so(err, &why);
  if (rc != PAWL_BUSY)
    pawl_log_error(&e->log, PAWL_WARN, "a history was not trimmed", &why);
  return PAWL_OK;
}

pawl_code pawl_trim_noted(pawl_engine *e, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (!e->ntrims) return PAWL_OK;
  assert(!e->nsent); /* L2 */
  e->ntrims = 0;
  PAWL_EACH_SLOT (e, h) {
    int noted = h->trims;
    h->trims = 0; /* also of those that are not come to: noted anew */
    if (noted && rc == PAWL_OK && h->state == PAWL_SLOT_PLANNED && h->d.def &&
        h->d.def->keep_history)
      rc = try_trim(e, h, err);
  }
  return rc;
}

pawl_code pawl_trim_ahead(pawl_engine *e, pawl_held *h, pawl_error *err) {
  if (!h->d.def->keep_history || !is_long(h, h->d.seq) || !may_be_trimmed(h))
    return PAWL_OK;
  return try_trim(e, h, err);
}
