/* A key goes on from the instance that has it, its holder, to another.
 *
 *   no holder        the new one is stored
 *   the holder lives     return: it is given    fail: it is told of
 *                        replace: it is asked to cancel, and loses the key
 *   the holder has ended reuse: it loses the key; else as while it lived, but
 *                        that nothing of it is left to be replaced
 *
 * Who loses the key keeps it to be shown, and has a successor: by that it is
 * out of the index in which keys are unique. All of it is one transaction,
 * under the lock of the holder's agenda row: of two starts the second finds
 * the first one's instance as the holder.
 *
 * Whoever repeats a start must not have the key go on again: an id that is
 * there is known, and so is an event that has started something by this
 * key. */
#include <assert.h>
#include <stdio.h>

#include "../../base/fault.h"
#include "../../rules/state.h"
#include "../common/time.h"
#include "start.h"

typedef enum verdict { NONE, RETURN, FAIL, TAKE } verdict;

/* Who has the key, and what follows. */
typedef struct holder {
  pawl_id id;
  pawl_standing status;
  int is_archived, is_away;
  int has_ended; /* and nobody asks it to go on */
  verdict verdict;
} holder;

int pawl_start_is_choosy(const pawl_start_options *o) {
  return o->key.len && (o->on_existing || o->reuse);
}

/* ---- what is known already ---- */

static pawl_code find_own(pawl_engine *e, pawl_starting *s, int *found,
                          pawl_error *err) {
  pawl_rows rows;
  int at;

  MUST(PAWL_SEND(e->store, repair_state, &at, err,
                 .shard = pawl_start_shard(e, s), .id = &s->options->id));
  pawl_store_rows(e->store, at, &rows);
  *found = rows.nrows > 0;
  if (!*found) return PAWL_OK;
  const pawl_repair_state_row row = pawl_read_repair_state(&rows, 0);
  s->id = s->options->id;
  s->created = 1;
  const pawl_known known = {&s->id, row.workflow, row.tenant,
                            row.deleted != 0};
  return pawl_start_check_known(s->code, s->options, &known, err);
}

/* "start:", the key's digest, the event's name: kept among the events, in the
 * shard of the key, for as long as the event is known. The digest has the
 * tenant, too. */
static pawl_code name_mark(const pawl_starting *s, pawl_buf *out,
                           pawl_error *err) {
  unsigned char digest[32];

  pawl_start_digest(s->code, s->options, digest);
  pawl_buf_addz(out, "start:");
  for (size_t i = 0; i < sizeof digest; i++)
    pawl_buf_addf(out, "%02x", digest[i]);
  pawl_buf_addc(out, ':');
  pawl_buf_adds(out, s->origin->event);
  return pawl_buf_check(out, err);
}

static pawl_code read_mark(pawl_engine *e, pawl_starting *s,
                           const pawl_buf *mark, int *found, pawl_error *err) {
  pawl_rows rows;
  pawl_str id;
  int at;

  MUST(PAWL_SEND(e->store, event_get, &at, err,
                 .shard = pawl_start_shard(e, s), .tenant = pawl_strz(""),
                 .source = pawl_strz(""), .id = pawl_buf_str(mark)));
  pawl_store_rows(e->store, at, &rows);
  if (!rows.nrows) return PAWL_OK;
  id = pawl_read_event_get(&rows, 0).data;
  *found = id.len == 38 && pawl_id_parse(id.at + 1, 36, &s->id);
  s->created = 0;
  return *found ? PAWL_OK
                : pawl_fail(err, PAWL_CORRUPT,
                            "event \"%s\" names no instance", mark->at);
}

static pawl_code write_mark(pawl_engine *e, const pawl_starting *s,
                            const pawl_buf *mark, pawl_error *err) {
  char id[39] = "\"";

  pawl_id_format(&s->id, id + 1);
  id[37] = '"', id[38] = '\0';
  return PAWL_SEND(e->store, event_copy, NULL, err,
                   .shard = pawl_start_shard(e, s), .tenant = pawl_strz(""),
                   .source = pawl_strz(""), .id = pawl_buf_str(mark),
                   .name = pawl_strz("start"), .data = pawl_strz(id),
                   .received_at = pawl_engine_now(e),
                   .expires_at = s->origin->event_expires_us);
}

/* ---- the holder ---- */

static verdict judge(const pawl_start_options *o, const holder *h) {
  int may_go =
      o->reuse == PAWL_REUSE_ENDED ||
      (o->reuse == PAWL_REUSE_FAILED && h->status == PAWL_STATUS_FAILED);

  if (h->has_ended && may_go) return TAKE;
  if (o->on_existing == PAWL_EXISTING_RETURN) return RETURN;
  if (o->on_existing == PAWL_EXISTING_REPLACE && !h->has_ended)
    return h->is_away ? FAIL : TAKE; /* it goes on where it was imported */
  return FAIL;
}

static pawl_code look(pawl_engine *e, const pawl_starting *s, holder *h,
                      pawl_error *err) {
  pawl_rows rows;
  int keyed, state, letter;

  h->verdict = NONE;
  MUST(pawl_start_send_by_key(e, s, &keyed, err));
  pawl_store_rows(e->store, keyed, &rows);
  if (!rows.nrows) return PAWL_OK;
  h->id = *pawl_read_instance_by_key(&rows, 0).id;
  MUST(PAWL_SEND(e->store, repair_state, &state, err,
                 .shard = pawl_start_shard(e, s), .id = &h->id));
  MUST(PAWL_SEND(e->store, inbox_revive, &letter, err,
                 .shard = pawl_start_shard(e, s), .id = &h->id));
  pawl_store_rows(e->store, state, &rows);
  if (!rows.nrows) return PAWL_OK; /* it went just now */
  h->is_archived = pawl_read_repair_state(&rows, 0).archived_at != 0;
  h->is_away = pawl_read_repair_state(&rows, 0).away.len > 0;
  if (!pawl_status_parse(pawl_read_repair_state(&rows, 0).status, &h->status))
    return pawl_fail(err, PAWL_CORRUPT, "an instance with an unknown status");
  pawl_store_rows(e->store, letter, &rows);
  h->has_ended = pawl_status_has_ended(h->status) && !rows.nrows;
  h->verdict = judge(s->options, h);
  return PAWL_OK;
}

/* What is to be taken is locked first, and looked at again: the agenda row, as
 * by everybody who changes an instance, with whatever it has in its inbox. */
static pawl_code find_holder(pawl_engine *e, const pawl_starting *s, holder *h,
                             pawl_error *err) {
  pawl_id locked = {{0}};
  int where = 0; /* in the archive, or among those that live */

  for (;;) {
    MUST(look(e, s, h, err));
    if (h->verdict != TAKE ||
        (pawl_id_eq(&h->id, &locked) && h->is_archived == where))
      return PAWL_OK;
    (void)PAWL_FAULT("engine.start.lock");
    MUST(PAWL_SEND(e->store, agenda_revive, NULL, err,
                   .shard = pawl_start_shard(e, s), .id = &h->id,
                   .now = pawl_store_now(e->store), .completed = 1,
                   .cancelled = 1, .deleted = 0));
    if (h->is_archived)
      MUST(PAWL_SEND(e->store, archive_lock, NULL, err,
                     .shard = pawl_start_shard(e, s), .id = &h->id));
    locked = h->id;
    where = h->is_archived;
  }
}

/* As lists show it: one that runs may not have begun. */
static pawl_code shown_status(pawl_engine *e, const pawl_starting *s,
                              const holder *h, pawl_standing *out,
                              pawl_error *err) {
  pawl_rows rows;
  int at;

  *out = h->status;
  if (h->status != PAWL_STATUS_RUNNING) return PAWL_OK;
  MUST(PAWL_SEND(e->store, instance_status, &at, err,
                 .shard = pawl_start_shard(e, s), .id = &h->id));
  pawl_store_rows(e->store, at, &rows);
  if (rows.nrows)
    (void)pawl_status_parse(pawl_read_instance_status(&rows, 0).status, out);
  return PAWL_OK;
}

static pawl_code refuse(pawl_engine *e, const pawl_starting *s,
                        const holder *h, pawl_error *err) {
  const pawl_start_options *o = s->options;
  pawl_standing status;
  char key[101];

  MUST(shown_status(e, s, h, &status, err));

  pawl_str_copy(key, sizeof key, pawl_buf_str(&o->key));
  if (h->is_away && !h->has_ended) {
    pawl_fail_hint(
        err, PAWL_CONFLICT,
        "`pawl kill` it here, or take it back by `pawl reclaim` if "
        "nobody has imported it",
        "key \"%s\" of workflow \"%s\" is that of instance %s, which "
        "was carried to another store",
        key, s->code, pawl_id_text_of(&h->id).at);
    pawl_error_where(err, "key");
    return PAWL_CONFLICT;
  }
  pawl_fail(err, PAWL_EXISTS,
            h->has_ended ? "key \"%s\" of workflow \"%s\" is that of instance "
                           "%s, which has ended: %s"
                         : "key \"%s\" of workflow \"%s\" is that of instance "
                           "%s, which is %s",
            key, s->code, pawl_id_text_of(&h->id).at,
            pawl_status_name(status));
  pawl_error_where(err, "key");
  pawl_error_hint(err, h->has_ended
                           ? "to begin again with its key say `reuse`: "
                             "\"ended\", or \"failed\" for those that failed"
                           : "`on_existing` \"return\" gives that one, "
                             "\"replace\" cancels it");
  return PAWL_EXISTS;
}

/* ---- taking ---- */

/* As one who is asked by his parent: who serves it is given some time, else
 * whoever finds it takes the letter (engine/work/reach.h). */
static pawl_code ask_to_cancel(pawl_engine *e, const pawl_starting *s,
                               const holder *h, pawl_error *err) {
  char reason[80], name[50];
  pawl_id no;

  (void)snprintf(reason, sizeof reason, "{\"reason\":\"replaced by %s\"}",
                 pawl_id_text_of(&s->options->id).at);
  (void)snprintf(name, sizeof name, "successor:%s",
                 pawl_id_text_of(&s->options->id).at);
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &no, err));
  MUST(PAWL_SEND(e->store, inbox_insert, NULL, err,
                 .shard = pawl_start_shard(e, s), .id = &h->id, .no = &no,
                 .kind = pawl_strz("cancel"), .event_id = pawl_strz(name),
                 .source = pawl_strz("system"),
                 .by = pawl_buf_some(&s->options->by),
                 .data = pawl_strz(reason), .now = pawl_store_now(e->store)));
  return PAWL_SEND(
      e->store, ending_insert, NULL, err, .shard = pawl_start_shard(e, s),
      .id = &h->id, .executor_group = pawl_buf_str(&e->group),
      .grace_us = PAWL_ENDING_GRACE_US, .now = pawl_store_now(e->store));
}

static pawl_code take_key(pawl_engine *e, const pawl_starting *s,
                          const holder *h, pawl_error *err) {
  if (h->is_archived)
    return PAWL_SEND(e->store, archive_succeed, NULL, err,
                     .shard = pawl_start_shard(e, s), .id = &h->id,
                     .successor = &s->options->id);
  if (h->has_ended)
    MUST(PAWL_SEND(e->store, agenda_unwake, NULL, err,
                   .shard = pawl_start_shard(e, s), .id = &h->id));
  else
    MUST(ask_to_cancel(e, s, h, err));
  e->reach_look_us = -1;
  return PAWL_SEND(e->store, instance_succeed, NULL, err,
                   .shard = pawl_start_shard(e, s), .id = &h->id,
                   .successor = &s->options->id);
}

/* A version that is not active takes no instances: then nothing happens to the
 * holder, either. */
static pawl_code begin_new(pawl_engine *e, pawl_starting *s, const holder *h,
                           pawl_error *err) {
  pawl_rows rows;
  int at;

  if (h->verdict == TAKE) MUST(take_key(e, s, h, err));
  s->id = s->options->id;
  MUST(pawl_start_send(e, s, &at, err));
  pawl_store_rows(e->store, at, &rows);
  s->created = rows.changed == 1;
  if (s->created) return PAWL_OK;
  if (h->verdict == TAKE) {
    s->refused = 1;
    return PAWL_OK;
  }
  MUST(pawl_start_send_by_key(e, s, &at, err)); /* somebody was faster */
  pawl_store_rows(e->store, at, &rows);
  s->refused = !rows.nrows;
  return s->refused ? PAWL_OK
                    : pawl_fail(err, PAWL_BUSY, "another start has the key");
}

static pawl_code settle(pawl_engine *e, pawl_starting *s, pawl_error *err) {
  holder h;

  MUST(find_holder(e, s, &h, err));
  s->id = h.id;
  s->created = 0;
  if (h.verdict == RETURN) return PAWL_OK;
  if (h.verdict == FAIL) return refuse(e, s, &h, err);
  return begin_new(e, s, &h, err);
}

pawl_code pawl_start_succeed(pawl_engine *e, pawl_starting *s,
                             pawl_error *err) {
  const pawl_origin *from = s->origin;
  pawl_buf mark = {.alloc = &e->alloc};
  int known = 0;
  pawl_code rc = PAWL_OK;

  assert(pawl_start_is_choosy(s->options));
  s->refused = 0;
  if (from && from->event.at) TRY(name_mark(s, &mark, err));
  (void)PAWL_FAULT("engine.start.take");
  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(find_own(e, s, &known, err));
  if (!known && mark.len) TRY(read_mark(e, s, &mark, &known, err));
  if (!known) TRY(settle(e, s, err));
  if (s->refused) {
    pawl_store_rollback(e->store);
    goto out;
  }
  if (!known && mark.len) TRY(write_mark(e, s, &mark, err));
  if (from && from->also)
    TRY(from->also(e, from->ud, pawl_start_shard(e, s), &s->id, s->created,
                   err));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_buf_deinit(&mark);
  return rc;
}
