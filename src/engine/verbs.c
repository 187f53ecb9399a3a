/* Verbs that need more than one room: a letter is act's and what is wrong is
 * ask's to see, but who takes or mends holds a lease, and that is work's. */
#include "../base/fault.h"
#include "../value/object.h"
#include "../value/options.h"
#include "act/act.h"
#include "ask/ask.h"
#include "common/engine_struct.h"
#include "common/find.h"
#include "common/tenant.h"
#include "engine.h"
#include "enter/enter.h"
#include "work/apply.h"
#include "work/reach.h"
#include "work/relay.h"
#include "work/repair.h"
#include "work/stray.h"

/* No tick will follow: so whoever is to end with it is seen to at once. */
static pawl_code take(pawl_engine *e, const pawl_id *id, int seize, int *got,
                      pawl_error *err) {
  if (pawl_store_held(e->store)) { /* its letter is not to be seen yet */
    const pawl_asked_held one = {*id, seize};
    pawl_buf_add(&e->after_held.asked, &one, sizeof one);
    *got = 0;
    return pawl_buf_check(&e->after_held.asked, err);
  }
  pawl_code rc = pawl_apply(e, id, seize, got, err);
  if (rc == PAWL_OK) pawl_reach_all(e);
  return rc;
}

pawl_code pawl_engine_change_checked(pawl_engine *e, const pawl_id *id,
                                     pawl_str change, int *done, pawl_buf *out,
                                     pawl_error *err) {
  return pawl_act_change(e, take, pawl_archive_file, NULL, id, change, done,
                         out, err);
}

pawl_code pawl_engine_change_listed(pawl_engine *e, const pawl_act_list *of,
                                    const pawl_id *id, pawl_str change,
                                    int *done, pawl_error *err) {
  return pawl_act_change(e, take, pawl_archive_file, of, id, change, done,
                         NULL, err);
}

/* What could not be claimed with the others is taken by itself: it is held, or
 * was left by one who died. That somebody else will take it is no failure. */
static pawl_code take_many(pawl_engine *e, const pawl_id *ids, int n, int *got,
                           pawl_error *err) {
  pawl_code rc;

  if (!pawl_store_held(e->store))
    MUST(pawl_apply_many(e, ids, n, got, err));
  else
    memset(got, 0, sizeof *got * (size_t)n);
  for (int k = 0; k < n; k++) {
    if (got[k]) continue;
    rc = take(e, &ids[k], 0, &got[k], err);
    if (rc != PAWL_OK && !pawl_code_is_transient(rc)) return rc;
    if (rc != PAWL_OK) got[k] = 0;
  }
  if (!pawl_store_held(e->store)) pawl_reach_all(e);
  return PAWL_OK;
}

pawl_code pawl_engine_change_many(pawl_engine *e, const pawl_act_list *of,
                                  pawl_str change, pawl_one_asked *list, int n,
                                  pawl_error *err) {
  return pawl_act_change_many(e, take_many, of, change, list, n, err);
}

/* Fenced off before it is written down; one that is already is as it was, so
 * that an answer that was lost is had by asking again. */
static pawl_code carry(pawl_engine *e, const pawl_id *id, pawl_str by,
                       pawl_error *err) {
  pawl_buf change = {.alloc = &e->alloc};
  pawl_object o;
  int done = 0;
  pawl_code rc = PAWL_OK;

  if (pawl_store_held(e->store))
    return pawl_fail_hint(err, PAWL_MISUSE, "move it behind the transaction",
                          "a move is two transactions: it cannot be part of "
                          "one");
  pawl_object_begin(&o, &change);
  pawl_member_textz(&o, "kind", "carry");
  if (by.len) pawl_member_str(&o, "by", by);
  pawl_object_end(&o);
  TRY(pawl_buf_check(&change, err));
  TRY(pawl_engine_change_checked(e, id, pawl_buf_str(&change), &done, NULL,
                                 err));
  if (!done)
    TRY(pawl_fail_hint(err, PAWL_BUSY,
                       "it is carried away once that one has let go: export "
                       "it again then",
                       "instance %s is held by a worker",
                       pawl_id_text_of(id).at));
out:
  pawl_buf_deinit(&change);
  return rc;
}

pawl_code pawl_engine_export_or_move(pawl_engine *e, const pawl_id *id,
                                     pawl_str options, pawl_buf *out,
                                     pawl_error *err) {
  pawl_buf by = {.alloc = &e->alloc};
  int moves;
  pawl_code rc = PAWL_OK;

  TRY(pawl_export_moves(e, options, &moves, &by, err));
  if (moves) TRY(carry(e, id, pawl_buf_str(&by), err));
  (void)PAWL_FAULT("engine.export.carried");
  TRY(pawl_engine_export(e, id, options, out, err));
out:
  pawl_buf_deinit(&by);
  return rc;
}

pawl_code pawl_engine_prune(pawl_engine *e, pawl_str options, pawl_buf *out,
                            pawl_error *err) {
  return pawl_prune_all(e, take, pawl_archive_file, options, out, err);
}

/* A worker that cannot prune still runs what is due. */
pawl_code pawl_engine_prune_piece(pawl_engine *e, int64_t budget_us,
                                  pawl_error *err) {
  pawl_code rc = pawl_prune_piece(e, take, pawl_archive_file, budget_us, err);

  if (rc == PAWL_OK || rc == PAWL_UNREACHABLE) return rc;
  pawl_log_error(&e->log, PAWL_WARN, "pruning", err);
  return PAWL_OK;
}

pawl_code pawl_engine_workflow_transfer(pawl_engine *e, pawl_str transfer,
                                        pawl_buf *out, pawl_error *err) {
  return pawl_act_transfer(e, take, transfer, out, err);
}

/* What is archived is not changed there. */
static pawl_code act_task(pawl_engine *e, const pawl_id *id, pawl_str action,
                          pawl_error *err) {
  const pawl_code rc = pawl_act_task(e, id, action, err);
  pawl_id instance;
  int there;

  if (rc != PAWL_NOTFOUND) return rc;
  const pawl_error missing = *err;
  MUST(pawl_archive_task(e, id, &there, &instance, err));
  if (there) return pawl_instance_archived(&instance, err);
  *err = missing;
  return rc;
}

/* The answer is the task as it is behind the change, read anew: others may
 * have been faster still. */
pawl_code pawl_engine_task_change(pawl_engine *e, const pawl_id *id,
                                  pawl_str action, pawl_buf *out,
                                  pawl_error *err) {
  MUST(act_task(e, id, action, err));
  if (out) MUST(pawl_engine_task_get(e, id, out, err));
  return PAWL_OK;
}

/* What ask has found goes back to the room that may write it. */
static pawl_code mend(pawl_engine *e, pawl_wrong what, int shard,
                      const pawl_id *ids, int n, int *mended,
                      pawl_error *err) {
  int got;

  switch (what) {
    case PAWL_WRONG_STRAY:
      return pawl_stray_remove(e, shard, ids, NULL, n, mended, err);
    case PAWL_WRONG_ASKED:
      return take(e, ids, 0, &got, err);
    case PAWL_WRONG_UNSEEN:
      break;
  }
  *mended = n;
  return pawl_repair_unseen(e, shard, ids, n, err);
}

pawl_code pawl_engine_health(pawl_engine *e, int repair, pawl_buf *out,
                             pawl_error *err) {
  return pawl_health_look(e, repair ? mend : NULL, out, err);
}

/* ---- the outbox ---- */

typedef struct relay_request {
  uint64_t given;
  pawl_relay_options options;
  pawl_buf source;
} relay_request;

#define AT(member) .at = offsetof(relay_request, member)
static const pawl_option relay_rows[] = {
    {"budget_us", PAWL_OPTION_SPAN, AT(options.budget_us)},
    {"max_attempts", PAWL_OPTION_INT, AT(options.max_attempts), .low = 1,
     .high = 1000000},
    {"lease_us", PAWL_OPTION_SPAN, AT(options.lease_us), .low = 1000,
     .high = PAWL_MAX_LEASE_US},
    {"batch", PAWL_OPTION_INT, AT(options.batch), .low = 1, .high = 1024},
    {"base_us", PAWL_OPTION_SPAN, AT(options.base_us)},
    {"cap_us", PAWL_OPTION_SPAN, AT(options.cap_us)},
    {"source", PAWL_OPTION_TEXT, AT(source), .low = 1, .high = 255},
    {"finish", PAWL_OPTION_BOOL, AT(options.finish)},
    {"rate", PAWL_OPTION_INT, AT(options.rate), .low = 1, .high = 1000000},
};
PAWL_OPTIONS_OF(outbox_relay) = {.what = "relay",
                                 PAWL_OPTION_ROWS(relay_rows)};

pawl_code pawl_engine_outbox_relay(pawl_engine *e, pawl_str options,
                                   pawl_publish_fn publish, void *ud,
                                   pawl_relayed *relayed, pawl_error *err) {
  relay_request r;
  pawl_code rc = PAWL_OK;

  MUST(pawl_tenant_none(e, "publish", err)); /* Z2 */
  pawl_options_init(&pawl_options_of_outbox_relay, &r, sizeof r, &e->alloc);
  r.options = (pawl_relay_options){.max_attempts = 20,
                                   .lease_us = 30 * PAWL_SECOND,
                                   .batch = 64,
                                   .base_us = PAWL_SECOND,
                                   .cap_us = 300 * PAWL_SECOND};
  TRY(pawl_options_read(&pawl_options_of_outbox_relay, options, &r, err));
  r.options.source =
      r.source.len ? pawl_buf_str(&r.source) : pawl_strz("/pawl/");
  TRY(pawl_relay(e, &r.options, publish, ud, relayed, err));
out:
  pawl_options_deinit(&pawl_options_of_outbox_relay, &r);
  return rc;
}
