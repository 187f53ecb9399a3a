/* Acting from outside: requests go into the inbox, under the agenda row's
 * lock; the lease's holder takes them (rule 3). Whoever asks is the holder
 * himself, for that moment, when nobody else is: by the taker he brings. */
#include <assert.h>

#include "../../base/clock.h"
#include "../../base/fault.h"
#include "../../value/json.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/time.h"
#include "../common/wake.h"
#include "act.h"

typedef struct request {
  const pawl_id *id;
  int shard;
  pawl_id no; /* fixed, so that sending it again is harmless */
  int named;  /* by the caller, who may have asked before */
  const char *kind, *source, *by;
  pawl_str data, event_id;
  unsigned ended; /* for those that have ended in these ways, too */
  int again;      /* the answer was lost: it may be there, or taken already */
} request;

/* Where the store's answers will be. */
typedef struct places {
  int state, answered, letter;
} places;

#define ENDED(status) (1u << PAWL_STATUS_##status)

/* What throws an instance away, or takes it back. */
static int is_removal(const char *kind) {
  return !strcmp(kind, "delete") || !strcmp(kind, "undelete") ||
         !strcmp(kind, "purge");
}

/* What may be asked for when there is no way on any more. */
static unsigned ended_for(const char *kind) {
  if (is_removal(kind))
    return ENDED(FAILED) | ENDED(COMPLETED) | ENDED(CANCELLED);
  if (!strcmp(kind, "retry") || !strcmp(kind, "transfer"))
    return ENDED(FAILED);
  if (!strcmp(kind, "note") || !strcmp(kind, "carry") ||
      !strcmp(kind, "reclaim"))
    return ENDED(FAILED) | ENDED(COMPLETED) | ENDED(CANCELLED);
  return strcmp(kind, "restart") ? 0 : ENDED(FAILED) | ENDED(COMPLETED);
}

static pawl_code send_revive(pawl_engine *e, const request *r,
                             pawl_error *err) {
  return PAWL_SEND(e->store, agenda_revive, NULL, err, .shard = r->shard,
                   .id = r->id, .now = pawl_store_now(e->store),
                   .completed = (r->ended & ENDED(COMPLETED)) != 0,
                   .cancelled = (r->ended & ENDED(CANCELLED)) != 0,
                   .deleted = is_removal(r->kind));
}

static pawl_code send_wake(pawl_engine *e, const request *r, pawl_error *err) {
  if (r->ended) return send_revive(e, r, err);
  return PAWL_SEND(e->store, agenda_wake, NULL, err, .shard = r->shard,
                   .id = r->id, .now = pawl_store_now(e->store));
}

/* A second time asks whether the first was taken; its arguments are alike. */
static pawl_code send_letter(pawl_engine *e, const request *r,
                             pawl_error *err) {
  const pawl_inbox_insert_args letter = {.shard = r->shard,
                                         .id = r->id,
                                         .no = &r->no,
                                         .kind = pawl_strz(r->kind),
                                         .event_id = r->event_id,
                                         .source = pawl_strz(r->source),
                                         .by = pawl_strz(r->by),
                                         .data = r->data,
                                         .now = pawl_store_now(e->store)};
  return pawl_store_send_one(
      e->store,
      r->again ? PAWL_STMT_inbox_insert_again : PAWL_STMT_inbox_insert,
      &letter, NULL, err);
}

static pawl_code send_state(pawl_engine *e, int shard, const pawl_id *id,
                            int *at, pawl_error *err) {
  return PAWL_SEND(e->store, repair_state, at, err, .shard = shard, .id = id);
}

/* What history says to the request behind row `after`. */
static pawl_code send_answer(pawl_engine *e, const request *r, int64_t after,
                             int *at, pawl_error *err) {
  return PAWL_SEND(e->store, repair_answer, at, err, .shard = r->shard,
                   .id = r->id, .request = &r->no, .after = after);
}

pawl_code pawl_act_ended(const pawl_id *id, pawl_standing status,
                         pawl_error *err) {
  return pawl_fail(err, PAWL_ALREADY_FINISHED,
                   "instance %s has ended already: %s", pawl_id_text_of(id).at,
                   pawl_status_name(status));
}

pawl_code pawl_act_deleted(const pawl_id *id, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_CONFLICT, "undelete it first",
                        "instance %s is deleted", pawl_id_text_of(id).at);
}

pawl_code pawl_act_succeeded(const pawl_id *id, const pawl_id *successor,
                             pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_CONFLICT, "start another one with that key",
      "instance %s is not to go on: its key is that of instance %s now",
      pawl_id_text_of(id).at, pawl_id_text_of(successor).at);
}

/* What only one that has its key may be asked for, as it would live again. */
static int is_revival(const char *kind) {
  return !strcmp(kind, "retry") || !strcmp(kind, "restart");
}

/* Is there anyone to read the letter? `at`: where repair_state's rows are. */
static pawl_code read_state(pawl_engine *e, const request *r, int at,
                            pawl_standing *status, int *deleted, int64_t *seq,
                            pawl_error *err) {
  pawl_rows rows;

  pawl_store_rows(e->store, at, &rows);
  if (!rows.nrows) return pawl_instance_missing(r->id, err);
  const pawl_repair_state_row row = pawl_read_repair_state(&rows, 0);
  if (!pawl_status_parse(row.status, status))
    return pawl_fail(err, PAWL_CORRUPT, "an instance with an unknown status");
  if (row.archived_at) return pawl_instance_archived(r->id, err);
  *deleted = row.deleted != 0;
  *seq = row.seq;
  if (row.successor && is_revival(r->kind))
    return pawl_act_succeeded(r->id, row.successor, err);
  return PAWL_OK;
}

/* Who has read the letter, or is to? PAWL_OK also when it was taken before. */
static pawl_code read_sent_of(pawl_engine *e, const request *r, int state,
                              int answered, pawl_standing *status,
                              int *deleted, int64_t *seq, pawl_rows *answers,
                              pawl_error *err) {
  MUST(read_state(e, r, state, status, deleted, seq, err));
  if (r->again) *seq = 0;
  pawl_store_rows(e->store, answered, answers);
  if (*deleted && !answers->nrows && !is_removal(r->kind))
    return pawl_act_deleted(r->id, err);
  if (answers->nrows || !pawl_status_has_ended(*status) ||
      ((r->ended >> *status) & 1u))
    return PAWL_OK;
  return pawl_act_ended(r->id, *status, err);
}

/* *seq: no row of history up to this one answers the request. */
static pawl_code send(pawl_engine *e, const request *r, int64_t *seq,
                      pawl_error *err) {
  pawl_standing status = PAWL_STATUS_RUNNING;
  pawl_rows answers;
  int state, deleted, answered = -1;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_wake(e, r, err));
  TRY(send_letter(e, r, err));
  TRY(send_state(e, r->shard, r->id, &state, err));
  if (r->again) TRY(send_answer(e, r, 0, &answered, err));
  TRY(pawl_store_commit(e->store, err));
  return read_sent_of(e, r, state, answered, &status, &deleted, seq, &answers,
                      err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* ---- how it was met ---- */

typedef struct answer {
  pawl_standing status;
  int deleted;
  int doomed;  /* it is, or will be when it has ended */
  int pending; /* the letter still lies there */
  int taken;   /* history tells of it */
  int refused; /* as it says */
  pawl_error why;
} answer;

static void read_taken(const pawl_rows *rows, answer *a) {
  a->taken = rows->nrows > 0;
  if (!a->taken) return;
  const pawl_repair_answer_row row = pawl_read_repair_answer(rows, 0);
  if (!pawl_str_eqz(row.type, "refused")) return;
  a->refused = 1;
  pawl_fail(&a->why, PAWL_CONFLICT, "%.*s", (int)row.text.len,
            row.text.at ? row.text.at : "");
}

static pawl_code send_look(pawl_engine *e, const request *r, int64_t seq,
                           places *at, pawl_error *err) {
  MUST(send_state(e, r->shard, r->id, &at->state, err));
  MUST(PAWL_SEND(e->store, inbox_get, &at->letter, err, .shard = r->shard,
                 .id = r->id, .no = &r->no));
  return send_answer(e, r, seq, &at->answered, err);
}

static pawl_code read_look(pawl_engine *e, const request *r, const places *at,
                           answer *a, pawl_error *err) {
  pawl_rows rows;
  int64_t now;

  memset(a, 0, sizeof *a);
  MUST(read_state(e, r, at->state, &a->status, &a->deleted, &now, err));
  pawl_store_rows(e->store, at->state, &rows);
  a->doomed = pawl_read_repair_state(&rows, 0).deletion.len > 0;
  pawl_store_rows(e->store, at->letter, &rows);
  a->pending = rows.nrows > 0;
  pawl_store_rows(e->store, at->answered, &rows);
  read_taken(&rows, a);
  return PAWL_OK;
}

static pawl_code read_answer(pawl_engine *e, const request *r, int64_t seq,
                             answer *a, pawl_error *err) {
  places at;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_look(e, r, seq, &at, err));
  TRY(pawl_store_commit(e->store, err));
  return read_look(e, r, &at, a, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* One that has ended is held for a moment alone, by who takes its letters. So
 * who finds it so waits for that, and knows how his own was met. */
static int is_passing(const answer *a, int got) {
  return a->pending && !got && pawl_status_has_ended(a->status);
}

enum { PATIENCE = 6 }; /* times; 63 ms in all */

static int wait_for(int *tries) {
  if (*tries >= PATIENCE) return 0;
  pawl_sleep_us(1000 << (*tries)++);
  return 1;
}

/* Cancelling is done when the instance is cancelled, which may take undoing
 * first, and so may deleting, which somebody may have taken back since;
 * everything else, once the letter was taken. One that has gone and left no row
 * was in vain, or the instance ended: who held it knows. */
static pawl_code judge(const request *r, const answer *a, int got, int *done,
                       pawl_error *err) {
  if (!strcmp(r->kind, "cancel")) {
    *done = a->status == PAWL_STATUS_CANCELLED && a->taken;
    if (!*done && pawl_status_has_ended(a->status)) /* meanwhile */
      return pawl_act_ended(r->id, a->status, err);
    return PAWL_OK;
  }
  if (!strcmp(r->kind, "delete") && !a->refused) {
    *done = a->taken && (a->deleted || !a->doomed);
    return PAWL_OK;
  }
  if (a->pending || (!a->taken && !got)) return PAWL_OK;
  if (a->refused) return pawl_fail_so(err, &a->why);
  *done = 1;
  return PAWL_OK;
}

/* *wait: see is_passing. */
static pawl_code settle(pawl_engine *e, const request *r, int64_t seq, int got,
                        int *done, int *wait, pawl_error *err) {
  answer a;

  MUST(read_answer(e, r, seq, &a, err));
  *wait = is_passing(&a, got);
  return judge(r, &a, got, done, err);
}

/* ---- was it asked for before? ---- */

/* The types of rows that changes leave; other types say nothing of who has left
 * them. What deleting cancels says so, by its transition. */
static const struct {
  const char *kind, *type, *transition;
} ROWS[] = {
    {"cancel", "cancelled", ""}, {"delete", "cancelled", "delete"},
    {"delete", "deletion", ""},  {"delete", "deleted", ""},
    {"kill", "killed", ""},      {"suspend", "suspended", ""},
    {"resume", "resumed", ""},   {"shift", "shifted", ""},
    {"retry", "retried", ""},    {"restart", "restarted", ""},
    {"move", "moved", ""},       {"edit", "changed", ""},
    {"wake", "woken", ""},       {"continue", "continued", ""},
    {"step", "stepped", ""},     {"transfer", "transferred", ""},
    {"note", "note", ""},        {"undelete", "undeleted", ""},
    {"carry", "carried", ""},    {"reclaim", "reclaimed", ""},
    {"archive", "archived", ""}, {"unarchive", "unarchived", ""},
};

/* NULL: nobody knows. */
static const char *kind_of(pawl_str type, pawl_str transition) {
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
    if (pawl_str_eqz(type, ROWS[i].type) &&
        pawl_str_eq(transition, pawl_strz(ROWS[i].transition)))
      return ROWS[i].kind;
  return NULL;
}

/* A name says what was asked for: something else that is asked for by it would
 * be told to be done. */
static pawl_code check_kind(const request *r, pawl_str type,
                            pawl_str transition, pawl_error *err) {
  const char *kind = kind_of(type, transition);

  if (!kind || !strcmp(r->kind, kind)) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_CONFLICT, "give what you ask for a request of its own",
      "request %s of instance %s was to %s it, not to %s it",
      pawl_id_text_of(&r->no).at, pawl_id_text_of(r->id).at, kind, r->kind);
}

/* Where it stands: its history, or, of what leaves no row there, the audit. */
static pawl_code send_met(pawl_engine *e, const request *r, places *at,
                          int *filed, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_look(e, r, 0, at, err));
  TRY(PAWL_SEND(e->store, audit_request, filed, err, .shard = r->shard,
                .instance = r->id, .request = &r->no));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* A row of its history among the lines that the archive has, as
 * {"is":"history",..."request":"...","type":"suspended",...}. */
static int is_answer(pawl_str line, pawl_str name) {
  pawl_str is, named;

  return pawl_json_get(line, "is", &is) && pawl_str_eqz(is, "\"history\"") &&
         pawl_json_get(line, "request", &named) && named.len == name.len + 2 &&
         !memcmp(named.at + 1, name.at, name.len);
}

static int find_answer(pawl_str lines, const pawl_id *no, pawl_str *found) {
  const pawl_id_text text = pawl_id_text_of(no);
  const pawl_str name = pawl_strz(text.at);

  for (const char *at = lines.at, *end = lines.at + lines.len; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    *found = (pawl_str){at, (size_t)(stop - at)};
    if (is_answer(*found, name)) return 1;
    at = stop + 1;
  }
  return 0;
}

/* Of one that is archived: its history is there. */
static pawl_code met_there(pawl_engine *e, const request *r, int *met,
                           int *done, pawl_error *err) {
  pawl_buf type = {.alloc = &e->alloc}, text = {.alloc = &e->alloc},
           way = {.alloc = &e->alloc};
  pawl_archive_get_row row;
  pawl_str line, part;
  int there;
  pawl_code rc = PAWL_OK;

  *met = 0;
  TRY(pawl_archive_find(e, r->id, &there, &row, err));
  if (!there || !row.document.at || !find_answer(row.document, &r->no, &line))
    goto out;
  if (pawl_json_get(line, "type", &part)) pawl_json_unquote(part, &type);
  if (pawl_json_get(line, "text", &part)) pawl_json_unquote(part, &text);
  if (pawl_json_get(line, "transition", &part)) pawl_json_unquote(part, &way);
  TRY(pawl_buf_check(&way, err));
  TRY(pawl_buf_check(&type, err));
  TRY(pawl_buf_check(&text, err));
  *met = *done = 1;
  if (pawl_str_eqz(pawl_buf_str(&type), "refused"))
    TRY(pawl_fail(err, PAWL_CONFLICT, "%s", text.at ? text.at : ""));
  TRY(check_kind(r, pawl_buf_str(&type), pawl_buf_str(&way), err));
out:
  pawl_buf_deinit(&way);
  pawl_buf_deinit(&type);
  pawl_buf_deinit(&text);
  return rc;
}

pawl_code pawl_act_met(pawl_engine *e, const pawl_id *id, const pawl_id *no,
                       const char *kind, int *met, int *done,
                       pawl_error *err) {
  const request r = {
      .id = id, .no = *no, .kind = kind, .shard = pawl_shard_of(e, id)};
  places at;
  pawl_rows rows;
  answer a;
  int filed;

  MUST(send_met(e, &r, &at, &filed, err));
  pawl_store_rows(e->store, filed, &rows);
  *met = *done = rows.nrows > 0;
  if (*met)
    return check_kind(&r, pawl_read_audit_request(&rows, 0).type,
                      (pawl_str){NULL, 0}, err);
  pawl_store_rows(e->store, at.state, &rows);
  if (rows.nrows && pawl_read_repair_state(&rows, 0).archived_at)
    return met_there(e, &r, met, done, err);
  MUST(read_look(e, &r, &at, &a, err));
  *met = a.taken;
  if (!*met) return PAWL_OK;
  pawl_store_rows(e->store, at.answered, &rows);
  const pawl_repair_answer_row row = pawl_read_repair_answer(&rows, 0);
  MUST(check_kind(&r, row.type, row.transition, err));
  return judge(&r, &a, 1, done, err);
}

/* ---- the road ---- */

/* The letter lies there, and will be taken: who is hindered here, whatever by,
 * goes on as one who found the instance held. To ask again would be a request
 * of its own, which counts, too. */
static pawl_code follow(pawl_engine *e, const request *r, pawl_taker *take,
                        int seize, int64_t seq, int *done,
                        pawl_error *hindered, pawl_error *err) {
  const int64_t refused = e->ration.refused;
  int got, wait, tries = 0;
  pawl_error why;
  pawl_code rc;

  assert(!*done);
  do {
    got = wait = 0;
    hindered->code = PAWL_OK;
    rc = take(e, r->id, seize, &got, &why);
    if (pawl_code_is_transient(rc)) got = 0, *hindered = why;
    if (rc == PAWL_OK || pawl_code_is_transient(rc))
      rc = settle(e, r, seq, got, done, &wait, &why);
  } while (wait && !pawl_store_held(e->store) && wait_for(&tries));
  if (pawl_code_is_transient(rc))
    *hindered = why;
  else if (rc != PAWL_OK)
    return pawl_fail_so(err, &why);
  /* one that was decided without memory is given back, and nobody is told */
  if (!hindered->code && e->ration.refused != refused)
    (void)pawl_fail_memory(hindered);
  return PAWL_OK;
}

static pawl_code travel(pawl_engine *e, request *r, pawl_taker *take,
                        int *done, pawl_error *hindered, pawl_error *err) {
  int seize = !strcmp(r->kind, "kill");
  int64_t seq = 0;
  int sent = 0;
  pawl_code rc;

  *done = 0;
  assert(r->data.len > 1 && r->data.at[0] == '{'); /* checked before */
  r->shard = pawl_shard_of(e, r->id);
  r->ended = ended_for(r->kind);
  if (!r->named) MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &r->no, err));
  do {
    if (sent) (void)PAWL_FAULT("engine.act.again");
    if (!sent) (void)PAWL_FAULT("engine.act.send");
    r->again = sent > 0 || r->named;
    rc = send(e, r, &seq, err);
  } while (pawl_store_may_repeat(rc, &sent));
  if (rc != PAWL_OK) return rc;
  /* a kill may meet the last word of him from whom it takes the instance */
  for (int tries = 0; tries <= seize && !*done; tries++)
    MUST(follow(e, r, take, seize, seq, done, hindered, err));
  return PAWL_OK;
}

pawl_code pawl_act_request(pawl_engine *e, pawl_taker *take, const pawl_id *id,
                           const pawl_id *no, const char *kind,
                           const char *source, const char *by, pawl_str data,
                           int *done, pawl_error *hindered, pawl_error *err) {
  request r = {.id = id, .kind = kind, .source = source, .by = by};
  pawl_error other;
  int own;

  r.data = data;
  r.named = no != NULL;
  if (no) r.no = *no;
  MUST(travel(e, &r, take, done ? done : &own, hindered ? hindered : &other,
              err));
  pawl_wake_programs(e);
  return PAWL_OK;
}

/* ---- many of them, by one road ---- */

static request named_of(pawl_engine *e, const pawl_asking *how,
                        const pawl_one_asked *a) {
  return (request){.id = &a->id,
                   .shard = pawl_shard_of(e, &a->id),
                   .no = *how->no,
                   .named = 1,
                   .kind = how->kind,
                   .source = how->source,
                   .by = how->by,
                   .data = pawl_buf_str(&a->letter),
                   .ended = ended_for(how->kind),
                   .again = 1};
}

static pawl_code send_one_of(pawl_engine *e, const request *r, places *at,
                             pawl_error *err) {
  (void)PAWL_FAULT("engine.act.send");
  MUST(send_wake(e, r, err));
  MUST(send_letter(e, r, err));
  MUST(send_state(e, r->shard, r->id, &at->state, err));
  return send_answer(e, r, 0, &at->answered, err);
}

/* All letters in one unit. */
static pawl_code send_all(pawl_engine *e, const pawl_asking *how,
                          const pawl_one_asked *list, int n, places *at,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++) {
    const request r = named_of(e, how, &list[i]);
    if (list[i].ready) TRY(send_one_of(e, &r, &at[i], err));
  }
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* One that cannot have it is refused by itself: its letter is not there. */
static void read_sent(pawl_engine *e, const pawl_asking *how,
                      pawl_one_asked *a, const places *at) {
  const request r = named_of(e, how, a);
  pawl_standing status = PAWL_STATUS_RUNNING;
  pawl_rows answers;
  int64_t seq;
  int deleted;

  a->rc = read_sent_of(e, &r, at->state, at->answered, &status, &deleted, &seq,
                       &answers, &a->why);
  a->ready = a->rc == PAWL_OK;
}

/* Those that were sent one, in the order of the list. */
static pawl_code take_all(pawl_engine *e, pawl_many_taker *take,
                          const pawl_one_asked *list, int n, int *got,
                          pawl_error *err) {
  pawl_id ids[PAWL_ASKED_MAX];
  int own[PAWL_ASKED_MAX], m = 0;

  for (int i = 0; i < n; i++)
    if (list[i].ready) ids[m++] = list[i].id;
  if (!m) return PAWL_OK;
  MUST(take(e, ids, m, own, err));
  for (int i = n; i-- > 0;) got[i] = list[i].ready ? own[--m] : 0;
  return PAWL_OK;
}

static pawl_code read_all(pawl_engine *e, const pawl_asking *how,
                          const pawl_one_asked *list, int n, places *at,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  for (int i = 0; i < n; i++) {
    const request r = named_of(e, how, &list[i]);
    if (!list[i].ready) continue;
    TRY(send_look(e, &r, 0, &at[i], err));
  }
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Who is to be waited for stays ready, unless it was long enough: *wait. */
static void settle_one(pawl_engine *e, const pawl_asking *how,
                       pawl_one_asked *a, const places *at, int got, int last,
                       int *wait) {
  const request r = named_of(e, how, a);
  answer how_met;

  a->rc = read_look(e, &r, at, &how_met, &a->why);
  a->ready = a->rc == PAWL_OK && !last && is_passing(&how_met, got);
  *wait |= a->ready;
  if (a->rc == PAWL_OK) a->rc = judge(&r, &how_met, got, &a->done, &a->why);
}

static pawl_code settle_all(pawl_engine *e, pawl_many_taker *take,
                            const pawl_asking *how, pawl_one_asked *list,
                            int n, places *at, pawl_error *err) {
  int got[PAWL_ASKED_MAX] = {0};
  int wait, tries = pawl_store_held(e->store) ? PATIENCE : 0;

  do {
    const int last = tries >= PATIENCE;
    wait = 0;
    MUST(take_all(e, take, list, n, got, err));
    MUST(read_all(e, how, list, n, at, err));
    for (int i = 0; i < n; i++)
      if (list[i].ready)
        settle_one(e, how, &list[i], &at[i], got[i], last, &wait);
  } while (wait && wait_for(&tries));
  return PAWL_OK;
}

pawl_code pawl_act_request_many(pawl_engine *e, pawl_many_taker *take,
                                const pawl_asking *how, pawl_one_asked *list,
                                int n, pawl_error *err) {
  places at[PAWL_ASKED_MAX];

  assert(n <= PAWL_ASKED_MAX);
  MUST(send_all(e, how, list, n, at, err));
  for (int i = 0; i < n; i++)
    if (list[i].ready) read_sent(e, how, &list[i], &at[i]);
  MUST(settle_all(e, take, how, list, n, at, err));
  pawl_wake_programs(e);
  return PAWL_OK;
}

pawl_code pawl_act_post(pawl_engine *e, const pawl_id *ids, int n,
                        const char *kind, const char *by, pawl_str data,
                        pawl_str event_id, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++) {
    request r = {.id = &ids[i], .kind = kind, .source = "user", .by = by};
    assert(!i || pawl_id_cmp(&ids[i - 1], &ids[i]) < 0); /* as all lock */
    r.shard = pawl_shard_of(e, &ids[i]);
    r.data = data;
    r.event_id = event_id;
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &r.no, err));
    TRY(send_wake(e, &r, err));
    TRY(send_letter(e, &r, err));
  }
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}
