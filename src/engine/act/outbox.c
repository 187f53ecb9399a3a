/* The outbox, by hand: what was set aside is tried again, or dropped.
 *
 * Those that are dead are found page by page, and none twice: they are not dead
 * any more. What is behind one that is dropped is seen to as by a relay, which
 * is why a drop has a lease's id (W14, engine/work/relay.h). Who did it the
 * audit tells, of each row that was changed: the row itself is pruned. */
#include <assert.h>
#include <inttypes.h>

#include "../../base/fault.h"
#include "../../value/object.h"
#include "../../value/options.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/time.h"
#include "../common/wake.h"
#include "act.h"

enum { PAGE = 500, LIMIT = 10000 };

/* ---- reading ---- */

enum { RETRY, DROP };
static const char *const kinds[] = {"retry", "drop"};
static const char *const deeds[] = {"retried", "dropped"}; /* in the audit */

typedef struct request {
  uint64_t given;
  int kind, has_instance;
  pawl_buf by, reason, instance_id, type;
  pawl_id instance;
  int64_t seq, emitted_before_us, limit;
} request;

#define AT(member) .at = offsetof(request, member)
static const pawl_option change_rows[] = {
    {"by", PAWL_OPTION_TEXT, AT(by), .high = PAWL_MAX_BY},
    {"reason", PAWL_OPTION_TEXT, AT(reason), .high = PAWL_MAX_REASON},
    {"instance", PAWL_OPTION_TEXT, AT(instance_id)},
    {"seq", PAWL_OPTION_INT, AT(seq), .low = 1, .high = INT64_MAX},
    {"type", PAWL_OPTION_TEXT, AT(type), .low = 1},
    {"emitted_before_us", PAWL_OPTION_TIME, AT(emitted_before_us), .low = 1,
     .high = INT64_MAX},
    {"limit", PAWL_OPTION_INT, AT(limit), .low = 1, .high = LIMIT},
};
PAWL_OPTIONS_OF(outbox_change) = {.what = "change of the outbox",
                                  PAWL_OPTION_ROWS(change_rows),
                                  PAWL_OPTION_KINDS(kinds),
                                  .kind_at = offsetof(request, kind)};

static pawl_code read_request(pawl_engine *e, pawl_str text, request *r,
                              pawl_error *err) {
  r->limit = LIMIT;
  MUST(pawl_options_read(&pawl_options_of_outbox_change, text, r, err));
  r->has_instance = r->instance_id.at != NULL;
  if (r->has_instance) /* Z2: another tenant's is not there */
    MUST(pawl_engine_find_known(e, r->instance_id.at, &r->instance, err));
  if (r->seq && (!r->has_instance || r->type.len || r->emitted_before_us))
    return pawl_fail(err, PAWL_INVALID,
                     "`seq` goes with `instance`, and with nothing else that "
                     "says which");
  return PAWL_OK;
}

/* ---- changing ---- */

typedef struct place {
  pawl_id instance;
  int64_t seq;
} place;

static pawl_code send_retry(pawl_engine *e, const request *r, int shard,
                            const place *rows, int n, int *at,
                            pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_outbox_retry);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, outbox_retry, .shard = shard,
             .instance = &rows[i].instance, .seq = rows[i].seq,
             .by = pawl_buf_some(&r->by), .reason = pawl_buf_some(&r->reason),
             .now = pawl_store_now(e->store));
  return pawl_store_send(e->store, &e->args, at, err);
}

static pawl_code send_drop(pawl_engine *e, const request *r, int shard,
                           const place *rows, int n, int *at,
                           pawl_error *err) {
  pawl_id lease;

  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &lease, err));
  pawl_args_begin(&e->args, PAWL_STMT_outbox_drop);
  for (int i = 0; i < n; i++)
    PAWL_PUT(
        &e->args, outbox_drop, .shard = shard, .instance = &rows[i].instance,
        .seq = rows[i].seq, .lease = &lease, .by = pawl_buf_some(&r->by),
        .reason = pawl_buf_some(&r->reason), .now = pawl_store_now(e->store));
  MUST(pawl_store_send(e->store, &e->args, at, err));
  pawl_args_begin(&e->args, PAWL_STMT_outbox_pass);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, outbox_pass, .shard = shard,
             .instance = &rows[i].instance, .after = rows[i].seq,
             .lease = &lease, .attempts = PAWL_NULL,
             .now = pawl_store_now(e->store));
  return pawl_store_send(e->store, &e->args, NULL, err);
}

/* `rows` of the change, as those of both are. */
static pawl_code tell_audit(pawl_engine *e, const request *r, int shard,
                            const pawl_rows *rows, pawl_error *err) {
  pawl_id ids[PAGE];

  assert(rows->nrows <= PAGE);
  pawl_args_begin(&e->args, PAWL_STMT_audit_instances);
  for (int i = 0; i < rows->nrows; i++) {
    MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &ids[i], err));
    PAWL_PUT(&e->args, audit_instances, .shard = shard, .id = &ids[i],
             .instance = pawl_read_outbox_retry(rows, i).instance,
             .type = pawl_strz(deeds[r->kind]), .by = pawl_buf_some(&r->by),
             .text = pawl_buf_some(&r->reason),
             .now = pawl_store_now(e->store));
  }
  return pawl_store_send(e->store, &e->args, NULL, err);
}

/* OPEN: what was really changed is known before it is told. */
static pawl_code change_rows_of(pawl_engine *e, const request *r, int shard,
                                const place *rows, int n, int64_t *changed,
                                pawl_error *err) {
  pawl_rows answer;
  int at;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY((r->kind == RETRY ? send_retry : send_drop)(e, r, shard, rows, n, &at,
                                                  err));
  pawl_store_rows(e->store, at, &answer);
  const int64_t more = answer.nrows;
  TRY(tell_audit(e, r, shard, &answer, err));
  TRY(pawl_store_commit(e->store, err));
  *changed += more;
  return rc;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* ---- which ---- */

/* Nothing came of it: there is none, or it is not for this. */
static pawl_code refuse(pawl_engine *e, const request *r, pawl_error *err) {
  pawl_rows rows;
  char id[37];

  pawl_id_format(&r->instance, id);
  pawl_args_begin(&e->args, PAWL_STMT_outbox_run);
  PAWL_PUT(&e->args, outbox_run, .shard = pawl_shard_of(e, &r->instance),
           .instance = &r->instance, .seq = r->seq, .max = 1);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (!rows.nrows || pawl_read_outbox_run(&rows, 0).seq != r->seq)
    return pawl_fail_hint(
        err, PAWL_NOTFOUND, "`pawl outbox list` shows what waits",
        "instance %s has emitted nothing with number %" PRId64 " that is kept",
        id, r->seq);
  return pawl_fail_hint(
      err, PAWL_CONFLICT, "`pawl outbox list` shows how it stands",
      "%s/%" PRId64 " cannot be %s", id, r->seq,
      r->kind == RETRY
          ? "tried again: it is published, leased, behind another, or due"
          : "dropped: it is published, leased, or behind another");
}

static pawl_code change_one(pawl_engine *e, const request *r, int64_t *changed,
                            pawl_error *err) {
  const place row = {r->instance, r->seq};

  MUST(change_rows_of(e, r, pawl_shard_of(e, &r->instance), &row, 1, changed,
                      err));
  return *changed ? PAWL_OK : refuse(e, r, err);
}

/* The first of a shard's dead rows; *n: how many. */
static pawl_code find_dead(pawl_engine *e, const request *r, int shard,
                           int max, place *found, int *n, pawl_error *err) {
#define WHICH(e, r, max)                                                    \
  .tenant = pawl_buf_some(&(e)->tenant), .type = pawl_buf_some(&(r)->type), \
  .emitted_before = (r)->emitted_before_us, .after_at = PAWL_NULL,          \
  .after_seq = PAWL_NULL, .max = (max)
  pawl_rows rows;

  if (r->has_instance)
    MUST(PAWL_READ(e->store, outbox_of, &rows, err, .shard = shard,
                   .instance = &r->instance, .dead = 1, WHICH(e, r, max)));
  else
    MUST(PAWL_READ(e->store, outbox_dead, &rows, err, .shard = shard,
                   WHICH(e, r, max)));
  *n = rows.nrows;
  assert(*n <= PAGE);
  for (int k = 0; k < *n; k++) {
    const pawl_outbox_list_row row = pawl_read_outbox_list(&rows, k);
    found[k] = (place){*row.instance, row.seq};
  }
  return PAWL_OK;
}

/* Others may do the same meanwhile: who finds that nothing was left to change
 * of a page looks no further. */
static pawl_code change_shard(pawl_engine *e, const request *r, int shard,
                              int64_t *changed, pawl_error *err) {
  place found[PAGE];
  int n = PAGE;

  while (n == PAGE && *changed < r->limit) {
    const int64_t before = *changed, left = r->limit - before;
    const int max = left < PAGE ? (int)left : PAGE;
    MUST(find_dead(e, r, shard, max, found, &n, err));
    if (!n) break;
    (void)PAWL_FAULT("engine.outbox.found");
    MUST(change_rows_of(e, r, shard, found, n, changed, err));
    if (*changed == before) break;
  }
  return PAWL_OK;
}

static pawl_code change(pawl_engine *e, const request *r, int64_t *changed,
                        pawl_error *err) {
  if (r->seq) return change_one(e, r, changed, err);
  if (r->has_instance)
    return change_shard(e, r, pawl_shard_of(e, &r->instance), changed, err);
  for (int s = 0; s < e->nshards && *changed < r->limit; s++)
    MUST(change_shard(e, r, s, changed, err));
  return PAWL_OK;
}

pawl_code pawl_engine_outbox_change(pawl_engine *e, pawl_str text,
                                    pawl_buf *out, pawl_error *err) {
  pawl_object o;
  request r;
  int64_t changed = 0;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_outbox_change, &r, sizeof r, &e->alloc);
  TRY(read_request(e, text, &r, err));
  TRY(change(e, &r, &changed, err));
  if (changed && r.kind == RETRY) pawl_wake(e);
  pawl_object_begin(&o, out);
  pawl_member_int(&o, "changed", changed);
  pawl_member_bool(&o, "more", !r.seq && changed >= r.limit);
  pawl_object_end(&o);
out:
  pawl_options_deinit(&pawl_options_of_outbox_change, &r);
  return rc;
}
