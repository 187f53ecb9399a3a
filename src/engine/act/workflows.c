/* Whole workflows: suspended and resumed, active or not.
 *
 * Suspending writes one row and touches no instance: claims heed it, whether
 * there are three instances or a million. Only times that shall be put off for
 * as long as it lasted need a letter each. */
#include <inttypes.h>

#include "../../value/options.h"
#include "../common/audit.h"
#include "../common/engine_struct.h"
#include "../common/wake.h"
#include "act.h"

#define BATCH 100

/* ---- reading ---- */

enum { SUSPEND, RESUME, ACTIVATE, DEACTIVATE, OFF, ON };
static const char *const kinds[] = {"suspend",    "resume", "activate",
                                    "deactivate", "off",    "on"};
#define VERSIONS (1u << ACTIVATE | 1u << DEACTIVATE) /* of one version */
#define CODES (1u << OFF | 1u << ON)                 /* of all of one code */

/* `code` is the one, or what codes begin with. */
typedef struct request {
  uint64_t given;
  int kind;
  pawl_buf code, prefix, by, reason;
  int is_prefix, shift;
  int64_t version;
} request;

static const pawl_option change_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(request, code), .low = 1,
     .needed = VERSIONS | CODES},
    {"prefix", PAWL_OPTION_TEXT, .at = offsetof(request, prefix), .low = 1,
     .kinds = ~(VERSIONS | CODES)},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(request, by), .high = PAWL_MAX_BY},
    {"reason", PAWL_OPTION_TEXT, .at = offsetof(request, reason),
     .high = PAWL_MAX_REASON},
    {"shift", PAWL_OPTION_BOOL, .at = offsetof(request, shift),
     .kinds = ~(VERSIONS | CODES)},
    {"version", PAWL_OPTION_INT, .at = offsetof(request, version), .low = 1,
     .high = INT32_MAX, .kinds = VERSIONS, .needed = VERSIONS},
};
PAWL_OPTIONS_OF(workflow_change) = {.what = "change of a workflow",
                                    PAWL_OPTION_ROWS(change_rows),
                                    PAWL_OPTION_KINDS(kinds),
                                    .kind_at = offsetof(request, kind)};

static pawl_code read_request(request *r, pawl_str text, pawl_error *err) {
  MUST(pawl_options_read(&pawl_options_of_workflow_change, text, r, err));
  if (r->code.len && r->prefix.len)
    return pawl_fail(err, PAWL_INVALID,
                     "`workflow` and `prefix` exclude each other");
  if (!r->by.len) pawl_buf_deinit(&r->by); /* an empty one is none */
  if (!r->reason.len) pawl_buf_deinit(&r->reason);
  r->is_prefix = r->prefix.len > 0;
  if (r->is_prefix) pawl_buf_swap(&r->code, &r->prefix);
  if (!r->code.len)
    return pawl_fail(err, PAWL_INVALID,
                     "say which `workflow`, or with what codes begin: "
                     "`prefix`");
  return PAWL_OK;
}

/* ---- suspending ---- */

typedef struct suspended {
  int there;
  pawl_suspension_get_row row;
  pawl_buf keep; /* what the row borrows */
} suspended;

static int64_t lasted_us(const suspended *s) {
  return s->row.now - s->row.suspended_at;
}

/* By exactly what was suspended: a workflow is not resumed by a prefix that it
 * falls under. */
static pawl_code find(pawl_engine *e, const request *r, suspended *s,
                      pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, suspension_get, &rows, err,
                 .code = pawl_buf_str(&r->code), .is_prefix = r->is_prefix,
                 .now = pawl_store_now(e->store)));
  s->there = rows.nrows > 0;
  if (!s->there) return PAWL_OK;
  MUST(PAWL_KEEP(suspension_get, &rows, &s->keep, err));
  s->row = *PAWL_KEPT(suspension_get, &s->keep);
  return PAWL_OK;
}

/* A code nobody knows is a slip, most likely; a prefix need not fit yet. */
static pawl_code check_known(pawl_engine *e, const request *r,
                             pawl_error *err) {
  pawl_rows rows;

  if (r->is_prefix) return PAWL_OK;
  MUST(PAWL_READ(e->store, workflow_list, &rows, err,
                 .code = pawl_buf_str(&r->code), .active = PAWL_NULL,
                 .max = 1));
  if (rows.nrows) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_NOTFOUND,
      "`pawl workflow list` lists them; give a `prefix` for codes "
      "that nobody has loaded yet",
      "there is no workflow \"%s\"", r->code.at);
}

/* As the store has it, so that who asks twice is told the same. */
static pawl_code answer(const request *r, const suspended *s, int64_t shifted,
                        pawl_buf *out, pawl_error *err) {
  pawl_object o;
  int resumed = r->kind == RESUME;

  pawl_object_begin(&o, out);
  pawl_member_str(&o, r->is_prefix ? "prefix" : "workflow",
                  pawl_buf_str(&r->code));
  pawl_member_bool(&o, "suspended", !resumed);
  pawl_member_time(&o, "since", s->row.suspended_at);
  if (resumed) {
    pawl_member_int(&o, "suspended_us", lasted_us(s));
    pawl_member_int(&o, "shifted", shifted);
  }
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

/* One of the verbs' statements, and, when it has changed anything, who did so:
 * in one unit. */
static pawl_code write_noted(pawl_engine *e, const request *r, pawl_stmt stmt,
                             const void *row, const char *deed, int *changed,
                             pawl_error *err) {
  pawl_buf code = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int at;

  pawl_buf_addf(&code, "%s%s", r->code.at, r->is_prefix ? "*" : "");
  TRY(pawl_buf_check(&code, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(pawl_store_send_one(e->store, stmt, row, &at, err));
  pawl_store_rows(e->store, at, &rows);
  *changed = rows.changed > 0;
  if (*changed)
    TRY(pawl_audit_workflow(e, deed, pawl_buf_str(&code), r->version,
                            pawl_buf_str(&r->by), pawl_buf_str(&r->reason),
                            err));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_buf_deinit(&code);
  return rc;
}
#define WRITE_NOTED(stmt, deed, changed, ...) \
  write_noted(e, r, PAWL_STMT_##stmt,         \
              &(const pawl_##stmt##_args){__VA_ARGS__}, deed, changed, err)

/* Whoever claims an instance looks at these rows, so that none is begun from
 * then on, on any worker. */
static pawl_code suspend(pawl_engine *e, const request *r, pawl_buf *out,
                         pawl_error *err) {
  suspended s = {.keep = {.alloc = &e->alloc}};
  int changed;
  pawl_code rc = PAWL_OK;

  TRY(check_known(e, r, err));
  TRY(WRITE_NOTED(suspension_put, "suspended", &changed,
                  .code = pawl_buf_str(&r->code), .is_prefix = r->is_prefix,
                  .reason = pawl_strz(r->reason.at), .by = pawl_strz(r->by.at),
                  .now = pawl_store_now(e->store)));
  if (!changed) {
    TRY(find(e, r, &s, err));
    rc = pawl_fail(err, PAWL_CONFLICT, "%s \"%s\" is suspended already%s%s",
                   r->is_prefix ? "prefix" : "workflow", r->code.at,
                   s.row.by.len ? ", by " : "",
                   s.row.by.len ? s.row.by.at : "");
    goto out;
  }
  TRY(find(e, r, &s, err));
  if (out) TRY(answer(r, &s, 0, out, err));
out:
  pawl_buf_deinit(&s.keep);
  return rc;
}

/* ---- resuming ---- */

/* In the order of their ids, which is also the order in which letters lock. */
static pawl_code load_batch(pawl_engine *e, const request *r, int shard,
                            const pawl_id *after, pawl_id *ids, int *n,
                            pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, agenda_of, &rows, err, .shard = shard,
                 .code = pawl_buf_str(&r->code), .is_prefix = r->is_prefix,
                 .after = after, .max = BATCH));
  *n = rows.nrows < BATCH ? rows.nrows : BATCH;
  for (int k = 0; k < *n; k++)
    ids[k] = *pawl_read_agenda_of(&rows, k).instance;
  return PAWL_OK;
}

/* `once` names the suspension: it is the same however often a resume is tried,
 * and a letter is put there once. */
static void write_shift(const request *r, const suspended *s, pawl_buf *data,
                        pawl_buf *once) {
  pawl_object o;
  pawl_object_begin(&o, data);
  pawl_member_str(&o, "reason",
                  r->reason.at ? pawl_buf_str(&r->reason) : pawl_strz(""));
  pawl_member_int(&o, "for_us", lasted_us(s));
  pawl_object_end(&o);
  pawl_buf_addf(once, "%" PRId64 ":%s", s->row.suspended_at, r->code.at);
}

/* Whatever has a time has an agenda row. The letters lie there before the
 * workflow goes on, so that no timer fires early; one that is asked for twice,
 * because this process died on the way, is put there once. */
static pawl_code shift_all(pawl_engine *e, const request *r,
                           const suspended *s, int64_t *shifted,
                           pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc}, once = {.alloc = &e->alloc};
  pawl_id ids[BATCH];
  int n;
  pawl_code rc = PAWL_OK;

  write_shift(r, s, &data, &once);
  TRY(pawl_buf_check(&data, err));
  TRY(pawl_buf_check(&once, err));
  for (int shard = 0; shard < e->nshards; shard++) {
    pawl_id after = {{0}};
    do {
      TRY(load_batch(e, r, shard, &after, ids, &n, err));
      if (!n) break;
      TRY(pawl_act_post(e, ids, n, "shift", r->by.at ? r->by.at : "",
                        pawl_buf_str(&data), pawl_buf_str(&once), err));
      after = ids[n - 1];
      *shifted += n;
    } while (n == BATCH);
  }
out:
  pawl_buf_deinit(&data);
  pawl_buf_deinit(&once);
  return rc;
}

/* Locks on all of them, until somebody else's transaction ends. */
static pawl_code check_shift(pawl_engine *e, const request *r,
                             pawl_error *err) {
  if (!r->shift || !pawl_store_held(e->store)) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_MISUSE, "resume it behind the transaction, or without `shift`",
      "to shift all times of \"%s\" cannot be a part of the transaction that "
      "is open: each instance is asked, however many there are",
      r->code.at);
}

/* Those that were due meanwhile are due now: nothing has to be woken one by
 * one, but whoever sleeps has to look. */
static pawl_code resume(pawl_engine *e, const request *r, pawl_buf *out,
                        pawl_error *err) {
  suspended s = {.keep = {.alloc = &e->alloc}};
  int changed;
  int64_t shifted = 0;
  pawl_code rc = PAWL_OK;

  TRY(check_shift(e, r, err));
  TRY(find(e, r, &s, err));
  if (!s.there) {
    rc = pawl_fail_hint(err, PAWL_CONFLICT,
                        "resume what was suspended, as it was written then: "
                        "a workflow or a prefix",
                        "%s \"%s\" is not suspended",
                        r->is_prefix ? "prefix" : "workflow", r->code.at);
    goto out;
  }
  if (r->shift) TRY(shift_all(e, r, &s, &shifted, err));
  TRY(WRITE_NOTED(suspension_delete, "resumed", &changed,
                  .code = pawl_buf_str(&r->code), .is_prefix = r->is_prefix));
  pawl_wake(e);
  if (out) TRY(answer(r, &s, shifted, out, err));
out:
  pawl_buf_deinit(&s.keep);
  return rc;
}

/* ---- active or not ---- */

/* It was not changed: it is not there, or another verb's. */
static pawl_code refuse_version(pawl_engine *e, const request *r,
                                pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, workflow_show, &rows, err,
                 .code = pawl_buf_str(&r->code), .version = r->version));
  if (rows.nrows)
    return pawl_fail_hint(err, PAWL_CONFLICT,
                          "`pawl workflow on` switches it on again",
                          "workflow \"%s\" is switched off", r->code.at);
  return pawl_fail_hint(err, PAWL_NOTFOUND, "`pawl workflow list` lists them",
                        "there is no workflow \"%s\" version %" PRId64,
                        r->code.at, r->version);
}

/* New starts heed it; what lives of that version goes on. */
static pawl_code activate(pawl_engine *e, const request *r, pawl_buf *out,
                          pawl_error *err) {
  const int active = r->kind == ACTIVATE;
  int changed;
  pawl_object o;

  MUST(WRITE_NOTED(
      workflow_activate, active ? "activated" : "deactivated", &changed,
      .code = pawl_buf_str(&r->code), .version = r->version, .active = active,
      .by = pawl_strz(r->by.at), .reason = pawl_strz(r->reason.at),
      .now = pawl_store_now(e->store)));
  if (!changed) return refuse_version(e, r, err);
  if (!out) return PAWL_OK;
  pawl_object_begin(&o, out);
  pawl_member_str(&o, "workflow", pawl_buf_str(&r->code));
  pawl_member_int(&o, "version", r->version);
  pawl_member_bool(&o, "active", active);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

/* A version that came in the same moment was not seen by the first statement,
 * which has waited for it; the second one sees it. */
static pawl_code write_switch(pawl_engine *e, const request *r, int *changed,
                              pawl_error *err) {
  int again;

  if (r->kind == ON)
    return WRITE_NOTED(
        workflow_on, "switched_on", changed, .code = pawl_buf_str(&r->code),
        .by = pawl_strz(r->by.at), .reason = pawl_strz(r->reason.at),
        .now = pawl_store_now(e->store));
  for (int i = 0; i < 2; i++)
    MUST(WRITE_NOTED(workflow_off, "switched_off", i ? &again : changed,
                     .code = pawl_buf_str(&r->code), .by = pawl_strz(r->by.at),
                     .reason = pawl_strz(r->reason.at),
                     .now = pawl_store_now(e->store)));
  return PAWL_OK;
}

/* The whole code: no version of it starts, also none that is loaded later. What
 * lives goes on. */
static pawl_code switch_code(pawl_engine *e, const request *r, pawl_buf *out,
                             pawl_error *err) {
  int changed;
  pawl_object o;

  MUST(check_known(e, r, err));
  MUST(write_switch(e, r, &changed, err));
  if (!changed)
    return pawl_fail(
        err, PAWL_CONFLICT, "workflow \"%s\" is %s", r->code.at,
        r->kind == OFF ? "switched off already" : "not switched off");
  if (!out) return PAWL_OK;
  pawl_object_begin(&o, out);
  pawl_member_str(&o, "workflow", pawl_buf_str(&r->code));
  pawl_member_bool(&o, "off", r->kind == OFF);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_workflow_change(pawl_engine *e, pawl_str text,
                                      pawl_buf *out, pawl_error *err) {
  request r;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_workflow_change, &r, sizeof r, &e->alloc);
  TRY(read_request(&r, text, err));
  if (r.kind == SUSPEND)
    rc = suspend(e, &r, out, err);
  else if (r.kind == RESUME)
    rc = resume(e, &r, out, err);
  else if (r.kind == OFF || r.kind == ON)
    rc = switch_code(e, &r, out, err);
  else
    rc = activate(e, &r, out, err);
out:
  pawl_options_deinit(&pawl_options_of_workflow_change, &r);
  return rc;
}
