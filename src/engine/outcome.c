/* Waiting for what becomes of an instance, whoever runs it: its end, or its
 * answer to an event.
 *
 * Where the store notifies, who ends it or answers is asked to tell so
 * (sql/postgres/waiter.sql), and that is waited for. Who was about to commit
 * then has not seen that anybody waits: so it is looked at again, soon at
 * first, and seldom at last. Where nobody notifies, or to who may only read, it
 * is looked at when others have written, or a little later. */
#include "../rules/state.h"
#include "../value/json.h"
#include "../value/object.h"
#include "../value/options.h"
#include "common/engine_struct.h"
#include "common/names.h"
#include "common/time.h"
#include "engine.h"
#include "enter/enter.h"
#include "work/aside.h"

#define LOOK_FIRST_US (10 * 1000)
#define LOOK_LAST_US (10 * PAWL_SECOND)
#define LOOK_UNTOLD_US (100 * 1000)
#define WAITER_US (60 * PAWL_SECOND) /* and who waits longer says so again */

typedef struct waiting waiting;
struct waiting {
  char id_text[37];
  const pawl_id *id;
  const char *what; /* "has not ended" */
  pawl_str event;   /* whose answer is waited for; or none */
  pawl_buf *answer; /* filled in, as it is stored */
  pawl_code (*look)(pawl_engine *e, const waiting *w, int *there,
                    pawl_error *err);
  int64_t until_mono_us, look_us; /* how long until it is looked at again */
  int64_t again_mono_us;          /* when to say again that we wait */
  int is_told;                    /* is it notified? */
};

static int64_t until(int64_t timeout_us) {
  const int64_t mono = pawl_clock_mono();
  return timeout_us < 0 || timeout_us > PAWL_NEVER - mono ? PAWL_NEVER
                                                          : mono + timeout_us;
}

/* By the session, or by the rights of its role. */
static int may_only_read(const pawl_error *why) {
  return why->code == PAWL_READONLY || !strcmp(why->sqlstate, "42501");
}

/* It listens before it is known that we wait. A refusal is in the server's log:
 * so it is asked for no more. */
static pawl_code say_so(pawl_engine *e, waiting *w, int64_t mono,
                        pawl_error *err) {
  pawl_error why;
  int fd;

  MUST(pawl_store_fd(e->store, &fd, err));
  w->is_told = fd >= 0;
  w->again_mono_us = mono + WAITER_US / 2;
  if (!w->is_told) return PAWL_OK;
  const pawl_code rc = PAWL_WRITE(
      e->store, waiter_put, NULL, &why, .shard = pawl_shard_of(e, w->id),
      .id = w->id, .ttl_us = WAITER_US, .now = pawl_store_now(e->store));
  if (rc == PAWL_OK) return PAWL_OK;
  if (!may_only_read(&why)) return pawl_fail_so(err, &why);
  w->is_told = 0;
  w->again_mono_us = PAWL_NEVER;
  return PAWL_OK;
}

static int64_t next_look(waiting *w, int64_t mono) {
  const int64_t most = w->is_told ? LOOK_LAST_US : LOOK_UNTOLD_US;
  int64_t at = mono + w->look_us;

  w->look_us = w->look_us * 4 < most ? w->look_us * 4 : most;
  if (at > w->again_mono_us) at = w->again_mono_us;
  return at < w->until_mono_us ? at : w->until_mono_us;
}

/* Until it may be there. */
static pawl_code sleep_once(pawl_engine *e, waiting *w, int64_t mono,
                            pawl_error *err) {
  int woken;

  pawl_store_await_end(e->store, w->id_text);
  const pawl_code rc = pawl_store_wait(e->store, next_look(w, mono),
                                       &e->interrupted, NULL, 0, &woken, err);
  pawl_store_await_end(e->store, NULL);
  if (rc == PAWL_UNREACHABLE || (rc == PAWL_OK && woken)) {
    /* what was told may be for others who wait for it, and one notification
     * takes all of their places: so we say again that we wait. And where the
     * connection was lost, on the next one. */
    w->again_mono_us = 0;
    w->look_us = LOOK_FIRST_US;
    return PAWL_OK;
  }
  if (rc != PAWL_OK || !e->interrupted) return rc;
  e->interrupted = 0;
  return pawl_fail(err, PAWL_INTERRUPTED,
                   "interrupted while instance %s was waited for", w->id_text);
}

/* One step of waiting for what is not there. */
static pawl_code wait_on(pawl_engine *e, waiting *w, pawl_error *err) {
  const int64_t mono = pawl_clock_mono();

  if (mono >= w->until_mono_us)
    return pawl_fail_hint(err, PAWL_TIMEOUT,
                          "it goes on all the same: ask again",
                          "instance %s %s in time", w->id_text, w->what);
  if (mono >= w->again_mono_us) return say_so(e, w, mono, err);
  return sleep_once(e, w, mono, err);
}

static pawl_code wait_for(pawl_engine *e, waiting *w, pawl_error *err) {
  int there;

  MUST(w->look(e, w, &there, err));
  if (there) return PAWL_OK;
  MUST(pawl_aside_give_back(e, NULL, 0, err)); /* while it sleeps others run */
  MUST(pawl_store_settle(e->store, err));
  while (!there) {
    MUST(wait_on(e, w, err));
    MUST(w->look(e, w, &there, err));
  }
  return PAWL_OK;
}

/* ---- its end ---- */

static pawl_code has_ended(pawl_engine *e, const waiting *w, int *ended,
                           pawl_error *err) {
  pawl_standing standing;
  const char *status;

  MUST(pawl_anywhere_status(e, w->id, &status, err));
  *ended = pawl_status_parse(pawl_strz(status), &standing) &&
           pawl_status_has_ended(standing);
  return PAWL_OK;
}

/* Of what pawl_get tells. */
static void add_member(pawl_object *o, pawl_str instance, const char *name) {
  pawl_str value;
  if (pawl_json_get(instance, name, &value)) pawl_member_json(o, name, value);
}

static pawl_code tell_end(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                          pawl_error *err) {
  static const char *const MEMBERS[] = {"status", "output", "error",
                                        "cancellation"};
  pawl_buf instance = {.alloc = &e->alloc};
  pawl_str purged;
  pawl_object o;
  pawl_code rc = PAWL_OK;

  TRY(pawl_anywhere_get(e, id, &instance, err));
  if (pawl_json_get(pawl_buf_str(&instance), "purged", &purged)) {
    rc = pawl_fail_purged(id, err);
    goto out;
  }
  pawl_object_begin(&o, out);
  pawl_member_id(&o, "id", id);
  for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
    add_member(&o, pawl_buf_str(&instance), MEMBERS[i]);
  pawl_object_end(&o);
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&instance);
  return rc;
}

pawl_code pawl_engine_result(pawl_engine *e, const pawl_id *id,
                             int64_t timeout_us, pawl_buf *out,
                             pawl_error *err) {
  waiting w = {.id = id,
               .what = "has not ended",
               .look = has_ended,
               .until_mono_us = until(timeout_us),
               .look_us = LOOK_FIRST_US};

  pawl_id_format(id, w.id_text);
  MUST(wait_for(e, &w, err));
  return tell_end(e, id, out, err);
}

/* ---- its answer ---- */

static pawl_code find_answer(pawl_engine *e, const waiting *w, int *ended,
                             int *there, pawl_error *err) {
  pawl_buf_clear(w->answer);
  MUST(pawl_anywhere_answer(e, w->id, w->event, ended, w->answer, err));
  *there = w->answer->len > 0;
  return PAWL_OK;
}

/* ": no_seat: it is full" */
static void add_why(pawl_str instance, pawl_buf *text) {
  pawl_str error, cancelled;

  if (pawl_json_get(instance, "cancellation", &cancelled) &&
      pawl_json_kind_of(cancelled) == PAWL_JSON_OBJECT) {
    pawl_buf_addz(text, ": it was cancelled");
    return;
  }
  if (!pawl_json_get(instance, "error", &error) ||
      pawl_json_kind_of(error) != PAWL_JSON_OBJECT)
    return;
  pawl_buf_addz(text, ": ");
  (void)pawl_json_get_text(error, "code", text);
  pawl_buf_addz(text, ": ");
  (void)pawl_json_get_text(error, "message", text);
}

/* Nobody will answer: what came of it instead. */
static pawl_code fail_unanswered(pawl_engine *e, const waiting *w,
                                 pawl_error *err) {
  pawl_buf end = {.alloc = &e->alloc}, text = end;
  pawl_code rc = PAWL_OK;

  TRY(tell_end(e, w->id, &end, err));
  add_why(pawl_buf_str(&end), &text);
  TRY(pawl_buf_check(&text, err));
  rc = pawl_fail_hint(err, PAWL_ALREADY_FINISHED,
                      "`pawl show` has what came of it",
                      "instance %s has ended without an answer%s", w->id_text,
                      text.len ? text.at : "");
out:
  pawl_buf_deinit(&end);
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code has_answered(pawl_engine *e, const waiting *w, int *there,
                              pawl_error *err) {
  int ended;

  MUST(find_answer(e, w, &ended, there, err));
  if (*there || !ended) return PAWL_OK;
  return fail_unanswered(e, w, err);
}

typedef struct question {
  uint64_t given;
  pawl_buf name, event, by;
  pawl_str data; /* borrowed */
  int64_t timeout_us;
} question;

#define AT(member) .at = offsetof(question, member)
static const pawl_option ask_rows[] = {
    {"name", PAWL_OPTION_TEXT, AT(name), .low = 1, .needed = 1},
    {"data", PAWL_OPTION_ANY, AT(data)},
    {"event", PAWL_OPTION_TEXT, AT(event), .low = 1, .high = PAWL_MAX_BY},
    {"by", PAWL_OPTION_TEXT, AT(by), .high = PAWL_MAX_BY},
    {"timeout_us", PAWL_OPTION_SPAN, AT(timeout_us)}};
PAWL_OPTIONS_OF(ask) = {.what = "a question", PAWL_OPTION_ROWS(ask_rows)};
#undef AT

static pawl_code read_question(pawl_engine *e, pawl_str request, question *q,
                               pawl_error *err) {
  pawl_id id;

  q->timeout_us = -1;
  MUST(pawl_options_read(&pawl_options_of_ask, request, q, err));
  if (q->event.len) return PAWL_OK;
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &id, err));
  pawl_buf_set(&q->event, pawl_strz(pawl_id_text_of(&id).at));
  return pawl_buf_check(&q->event, err);
}

/* The event, for this instance alone; what was sent before is not sent again,
 * by its id. */
static pawl_code send(pawl_engine *e, const pawl_id *id, const question *q,
                      pawl_error *err) {
  pawl_buf signal = {.alloc = &e->alloc};
  pawl_object o;
  pawl_code rc = PAWL_OK;

  pawl_object_begin(&o, &signal);
  pawl_member_str(&o, "name", pawl_buf_str(&q->name));
  pawl_member_id(&o, "instance", id);
  pawl_member_str(&o, "id", pawl_buf_str(&q->event));
  if (q->by.len) pawl_member_str(&o, "by", pawl_buf_str(&q->by));
  if (q->data.at) pawl_member_json(&o, "data", q->data);
  pawl_object_end(&o);
  TRY(pawl_buf_check(&signal, err));
  TRY(pawl_engine_signal(e, pawl_buf_str(&signal), NULL, NULL, NULL, err));
out:
  pawl_buf_deinit(&signal);
  return rc;
}

/* {"id","event"} and what is stored: {"value"} or {"error"}. */
static pawl_code tell_answer(const pawl_id *id, const question *q,
                             const pawl_buf *answer, pawl_buf *out,
                             pawl_error *err) {
  static const char *const MEMBERS[] = {"value", "error"};
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_id(&o, "id", id);
  pawl_member_str(&o, "event", pawl_buf_str(&q->event));
  for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
    add_member(&o, pawl_buf_str(answer), MEMBERS[i]);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

static pawl_code ask(pawl_engine *e, const pawl_id *id, const question *q,
                     pawl_buf *answer, pawl_error *err) {
  waiting w = {.id = id,
               .what = "has not answered",
               .event = pawl_buf_str(&q->event),
               .answer = answer,
               .look = has_answered,
               .until_mono_us = until(q->timeout_us),
               .look_us = LOOK_FIRST_US};
  int there, ended;

  pawl_id_format(id, w.id_text);
  MUST(find_answer(e, &w, &ended, &there, err)); /* it was asked before */
  if (there) return PAWL_OK;
  MUST(send(e, id, q, err));
  const pawl_code rc = wait_for(e, &w, err);
  if (rc == PAWL_TIMEOUT || rc == PAWL_UNREACHABLE || rc == PAWL_INTERRUPTED)
    pawl_error_hint(err,
                    "ask again with the event's id, to have its answer: "
                    "%s",
                    q->event.at);
  return rc;
}

pawl_code pawl_engine_ask(pawl_engine *e, const pawl_id *id, pawl_str request,
                          pawl_buf *out, pawl_error *err) {
  pawl_buf answer = {.alloc = &e->alloc};
  question q;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_ask, &q, sizeof q, &e->alloc);
  TRY(read_question(e, request, &q, err));
  TRY(ask(e, id, &q, &answer, err));
  TRY(tell_answer(id, &q, &answer, out, err));
out:
  pawl_options_deinit(&pawl_options_of_ask, &q);
  pawl_buf_deinit(&answer);
  return rc;
}
