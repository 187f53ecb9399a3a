/* Waiting for what becomes of an instance, whoever runs it.
 *
 * Where the store notifies, who ends it is asked to tell so (sql/postgres/
 * waiter.sql), and that is waited for. Who was about to commit then has not
 * seen that anybody waits: so it is looked at again, soon at first, and seldom
 * at last. Where nobody notifies it is looked at when others have written, or
 * a little later. */
#include "../rules/state.h"
#include "../value/json.h"
#include "../value/object.h"
#include "common/engine_struct.h"
#include "common/names.h"
#include "common/time.h"
#include "engine.h"
#include "work/aside.h"

#define LOOK_FIRST_US (10 * 1000)
#define LOOK_LAST_US (10 * PAWL_SECOND)
#define LOOK_UNTOLD_US (100 * 1000)
#define WAITER_US (60 * PAWL_SECOND) /* and who waits longer says so again */

typedef struct waiting {
  char id_text[37];
  const pawl_id *id;
  int64_t until_mono_us, look_us; /* how long until it is looked at again */
  int64_t again_mono_us;          /* when to say again that we wait */
  int is_told;                    /* does the store notify? */
} waiting;

static pawl_code has_ended(pawl_engine *e, const pawl_id *id, int *ended,
                           pawl_error *err) {
  pawl_standing standing;
  const char *status;

  MUST(pawl_anywhere_status(e, id, &status, err));
  *ended = pawl_status_parse(pawl_strz(status), &standing) &&
           pawl_status_has_ended(standing);
  return PAWL_OK;
}

/* It listens before it is known that we wait. */
static pawl_code say_so(pawl_engine *e, waiting *w, int64_t mono,
                        pawl_error *err) {
  int fd;

  MUST(pawl_store_fd(e->store, &fd, err));
  w->is_told = fd >= 0;
  w->again_mono_us = mono + WAITER_US / 2;
  if (!w->is_told) return PAWL_OK;
  return PAWL_WRITE(e->store, waiter_put, NULL, err,
                    .shard = pawl_shard_of(e, w->id), .id = w->id,
                    .ttl_us = WAITER_US, .now = pawl_store_now(e->store));
}

static int64_t next_look(waiting *w, int64_t mono) {
  const int64_t most = w->is_told ? LOOK_LAST_US : LOOK_UNTOLD_US;
  int64_t at = mono + w->look_us;

  w->look_us = w->look_us * 4 < most ? w->look_us * 4 : most;
  if (at > w->again_mono_us) at = w->again_mono_us;
  return at < w->until_mono_us ? at : w->until_mono_us;
}

/* Until it may have ended. */
static pawl_code sleep_once(pawl_engine *e, waiting *w, int64_t mono,
                            pawl_error *err) {
  int woken;

  pawl_store_await_end(e->store, w->id_text);
  const pawl_code rc = pawl_store_wait(e->store, next_look(w, mono),
                                       &e->interrupted, NULL, 0, &woken, err);
  pawl_store_await_end(e->store, NULL);
  if (rc != PAWL_OK || !e->interrupted) return rc;
  e->interrupted = 0;
  return pawl_fail(err, PAWL_INTERRUPTED,
                   "interrupted while instance %s was waited for", w->id_text);
}

/* One step of waiting for what has not ended. */
static pawl_code wait_on(pawl_engine *e, waiting *w, pawl_error *err) {
  const int64_t mono = pawl_clock_mono();

  if (mono >= w->until_mono_us)
    return pawl_fail_hint(err, PAWL_TIMEOUT,
                          "it goes on all the same: ask again",
                          "instance %s has not ended in time", w->id_text);
  if (mono >= w->again_mono_us) return say_so(e, w, mono, err);
  return sleep_once(e, w, mono, err);
}

/* Of what pawl_get tells. */
static void add_member(pawl_object *o, pawl_str instance, const char *name) {
  pawl_str value;
  if (pawl_json_get(instance, name, &value)) pawl_member_json(o, name, value);
}

static pawl_code tell(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                      pawl_error *err) {
  static const char *const MEMBERS[] = {"status", "output", "error",
                                        "cancellation"};
  pawl_buf instance = {.alloc = &e->alloc};
  pawl_object o;
  pawl_code rc = PAWL_OK;

  TRY(pawl_anywhere_get(e, id, &instance, err));
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
  waiting w = {.id = id, .look_us = LOOK_FIRST_US};
  const int64_t mono = pawl_clock_mono();
  int ended;

  pawl_id_format(id, w.id_text);
  w.until_mono_us = timeout_us < 0 || timeout_us > PAWL_NEVER - mono
                        ? PAWL_NEVER
                        : mono + timeout_us;
  MUST(pawl_aside_give_back(e, NULL, 0, err)); /* while it sleeps others run */
  MUST(pawl_store_settle(e->store, err));
  MUST(has_ended(e, id, &ended, err));
  while (!ended) {
    MUST(wait_on(e, &w, err));
    MUST(has_ended(e, id, &ended, err));
  }
  return tell(e, id, out, err);
}
