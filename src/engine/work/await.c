/* Handlers that wait: who can go on, who must, and for how long the engine may
 * sleep.
 *
 *   run -> ctx.await -> the slot keeps the run (pawl_flight); the lease goes
 *       on, and what else its instance has to do is done beside it
 *       -> poll: its descriptor is ready, its time has come, it is asked again
 *       -> resumed until it waits again, or ends and leaves a plan
 *
 * Everybody is asked between rounds, without blocking; between ticks their
 * descriptors are polled together with the store's. Time is counted by a clock
 * that only goes up, or by what passes by the virtual one. */
#include "await.h"

#include <assert.h>
#include <poll.h>

#include "../../rules/decide.h"
#include "../common/time.h"
#include "claim.h"
#include "run.h"

#define LONG_WAIT_US (PAWL_SECOND / 10) /* others may come in meanwhile, N3 */
#define LONG_ROUND_US (50 * 1000) /* results wait no longer for their commit */

/* ---- looking at the store ---- */

/* Only then may its handlers go on (N4). */
static int waits(const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && h->flights;
}

int pawl_await_may_go_on(const pawl_engine *e, const pawl_held *h) {
  return pawl_alone_lets_in(e) || h == e->alone;
}

static int may_go_on(const pawl_engine *e, const pawl_held *h) {
  return waits(h) && pawl_await_may_go_on(e, h);
}

/* N3: it is the one that was taken over, and rests. */
static int rests(const pawl_engine *e, const pawl_held *h) {
  return h == e->alone && e->alone_rests;
}

static pawl_code look_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_agenda_latches);
  PAWL_EACH_SLOT (e, h) {
    if (!waits(h) || h->shard != shard) continue;
    h->changed = 1; /* lost, until its row is seen */
    PAWL_PUT(&e->args, agenda_latches, .shard = shard, .id = &h->d.id,
             .lease = &h->lease);
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_agenda_latches_row row = pawl_read_agenda_latches(&rows, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (h) h->changed = row.latch != h->latch;
  }
  return PAWL_OK;
}

/* Something came in, or its row is another's. No plan is kept: what an event
 * means is asked of the variables as they are. */
static pawl_code look_closer(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_plan_reset(&h->d.plan);
  h->beside_us = 0;
  pawl_code rc = pawl_claim_reload(e, h, err);

  if (rc != PAWL_LEASE_LOST) return rc;
  pawl_held_lose(e, h, err);
  return PAWL_OK;
}

pawl_code pawl_await_look(pawl_engine *e, pawl_error *err) {
  int64_t now = pawl_engine_now(e);

  /* a clock that was set back must not put it off for long */
  if (!e->nwaiting ||
      (now < e->await_look_us && e->await_look_us - now <= PAWL_AWAIT_LOOK_US))
    return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) MUST(look_shard(e, s, err));
  PAWL_EACH_SLOT (e, h)
    if (waits(h) && h->changed) MUST(look_closer(e, h, err));
  MUST(pawl_claim_heartbeat(e, 0, err));
  e->await_look_us = now + PAWL_AWAIT_LOOK_US;
  return PAWL_OK;
}

/* ---- who can go on ---- */

static int may_be_told(const pawl_flight *f) {
  return f->handler == PAWL_HANDLER_RUN;
}

static int64_t deadline_of(const pawl_flight *f) {
  const int64_t us = f->owner->d.state.deadline_us;
  return us && may_be_told(f) ? us : PAWL_NEVER;
}

/* Its instance is to end, and undoes what was done. */
static int is_ending(const pawl_held *h) {
  return pawl_undo_is_under_way(&h->d.state.undo) ||
         pawl_letters_cancel(&h->d);
}

/* Why it may not wait any longer. 0: it may. */
static int must_stop(pawl_engine *e, const pawl_flight *f, int64_t now,
                     pawl_error *why) {
  const pawl_held *h = f->owner;

  if (may_be_told(f) && !f->told && is_ending(h)) {
    pawl_fail_hint(
        why, PAWL_CANCELLED,
        "clean up and return: what is recorded as done is undone "
        "next",
        "instance %s %s", h->d.id_text,
        pawl_letters_cancel(&h->d) || h->d.state.undo.end != PAWL_STATUS_FAILED
            ? "is cancelled"
            : "has failed");
    return 1;
  }
  if (now >= f->until_us) {
    pawl_fail_hint(
        why, PAWL_TIMEOUT,
        f->is_cut ? "who runs it may allow more, by its `trust`: wait"
                  : "give the node a longer one: timeout = \"1h\"",
        f->is_cut ? "the handler has waited for as long as its trust lets it"
                  : "the handler has passed its node's timeout");
    return 1;
  }
  if (pawl_engine_now(e) < deadline_of(f)) return 0;
  pawl_fail(why, PAWL_TIMEOUT, "the instance passed its deadline");
  pawl_copy_text(why->raised, sizeof why->raised, "deadline");
  return 1;
}

/* Told once; who waits again although its time is up is ended. */
static void tell(pawl_engine *e, pawl_flight *f, const pawl_error *why) {
  if (why->code == PAWL_CANCELLED) {
    f->told = 1;
  } else if (f->overdue) {
    pawl_step_abandon(e, f, why);
    return;
  } else {
    f->overdue = 1;
  }
  pawl_step_resume(e, f, 0, why);
}

/* What poll found of a descriptor; -1: it is none. */
static int events_of(const struct pollfd *p) {
  int events = 0, odd = p->revents & (POLLERR | POLLHUP);

  if (p->revents & POLLNVAL) return -1;
  if ((p->events & POLLIN) && (odd || (p->revents & POLLIN)))
    events |= PAWL_AWAIT_READ;
  if ((p->events & POLLOUT) && (odd || (p->revents & POLLOUT)))
    events |= PAWL_AWAIT_WRITE;
  return events;
}

static void closed(pawl_engine *e, pawl_flight *f) {
  pawl_error why;
  pawl_fail_hint(&why, PAWL_MISUSE,
                 "keep its socket in a variable until ctx.await returns",
                 "ctx.await: descriptor %d is not open",
                 pawl_run_await(f->run)->fd);
  pawl_step_resume(e, f, 0, &why);
}

static int is_predicate(const pawl_flight *f) {
  return pawl_run_await(f->run)->kind == PAWL_AWAIT_PREDICATE;
}

/* Has come what it waits for? */
static int is_due(const pawl_flight *f, int64_t now) {
  return f->events || now >= f->wake_us || pawl_run_is_lost(f->run);
}

/* N3: of one that rests. What it asks is asked less often then. */
static int call(pawl_engine *e, const pawl_flight *f) {
  const int64_t now = pawl_await_now(e);
  pawl_error why;

  if (is_due(f, now) || must_stop(e, f, now, &why)) e->alone_is_called = 1;
  return 0;
}

/* 1: it went on. */
static int ask(pawl_engine *e, pawl_flight *f) {
  assert(f->owner->state == PAWL_SLOT_READY && f->run); /* N4 */
  int64_t now = pawl_await_now(e);
  pawl_error why;

  if (rests(e, f->owner)) return call(e, f);
  if (must_stop(e, f, now, &why))
    tell(e, f, &why);
  else if (f->events < 0)
    closed(e, f);
  else if (is_due(f, now) || (is_predicate(f) && e->ask_all))
    pawl_step_resume(e, f, f->events, NULL);
  else
    return 0;
  return 1;
}

int pawl_await_outside(pawl_engine *e) {
  int n = 0;

  PAWL_EACH_FLIGHT(e, f) {
    n += pawl_run_await(f->run)->kind != PAWL_AWAIT_TIME;
  }
  return n;
}

int pawl_await_fds(pawl_engine *e) {
  int n = 1;

  if (!e->nwaiting) return n;
  PAWL_EACH_FLIGHT(e, f) {
    const pawl_await *a =
        may_go_on(e, f->owner) ? pawl_run_await(f->run) : NULL;
    if (!a || a->kind != PAWL_AWAIT_FD) continue;
    e->fds[n].fd = a->fd;
    e->fds[n].events = (short)((a->events & PAWL_AWAIT_READ ? POLLIN : 0) |
                               (a->events & PAWL_AWAIT_WRITE ? POLLOUT : 0));
    e->fds[n].revents = 0;
    assert(n <= pawl_held_max(e)); /* one more is the store's */
    e->fd_flights[n++] = f;
  }
  return n;
}

/* Each that waits gets what poll says of its descriptor, and a turn. */
static void prepare(pawl_engine *e) {
  int n = pawl_await_fds(e);

  if (n > 1 && poll(e->fds + 1, (nfds_t)(n - 1), 0) < 0) n = 1;
  PAWL_EACH_FLIGHT(e, f) f->events = 0;
  for (int i = 1; i < n; i++) e->fd_flights[i]->events = events_of(&e->fds[i]);
}

void pawl_await_poll(pawl_engine *e, int64_t deadline_mono, int *ran) {
  int64_t began = pawl_clock_mono(), until = began + LONG_ROUND_US;
  int i, n = e->nflight_slots; /* those that begin anew have been asked */

  *ran = 0;
  if (!e->nwaiting) return;
  if (deadline_mono < until) until = deadline_mono;
  prepare(e);
  for (i = 0; i < n && !e->interrupted; i++) {
    pawl_flight *f = &e->flights[(e->next_asked + i) % n];
    if (!f->owner || !may_go_on(e, f->owner) || !ask(e, f)) continue;
    ++*ran;
    if (pawl_clock_mono() < until) continue;
    i++;
    break; /* the next round begins behind it */
  }
  e->next_asked = (e->next_asked + i) % n;
  if (i >= n) e->ask_all = 0;
}

/* ---- how long the engine may sleep ---- */

/* When there is something to decide beside those of a slot: at once, where a
 * step has waited for a place, and there is one. */
static int64_t beside(const pawl_engine *e, const pawl_held *h) {
  if (!pawl_decide_beside(&h->d)) return PAWL_NEVER;
  return pawl_await_has_place(e, h) && pawl_decide_may_wait(&h->d)
             ? 0
             : h->beside_us;
}

int pawl_await_beside(pawl_engine *e, const pawl_held *h) {
  if (pawl_engine_now(e) < beside(e, h)) return 0;
  if (!rests(e, h)) return 1;
  e->alone_is_called = 1;
  return 0;
}

/* When there may be something to decide beside those of a slot. */
static int64_t next_beside(pawl_engine *e) {
  int64_t next = PAWL_NEVER;

  PAWL_EACH_SLOT (e, h)
    if (may_go_on(e, h) && beside(e, h) < next) next = beside(e, h);
  return next;
}

/* N3: by pawl_await_now, of the alone one's handlers; PAWL_NEVER: one of them
 * goes on before. */
static int64_t all_wait_long_at(const pawl_engine *e, int64_t now) {
  int64_t at = now;

  for (const pawl_flight *f = e->alone->flights; f; f = f->next) {
    const int64_t long_at = pawl_time_after(f->waits_us, LONG_WAIT_US);
    if (long_at > at) at = long_at;
    if (pawl_run_is_lost(f->run)) return PAWL_NEVER;
    if (!is_predicate(f) && f->wake_us < pawl_time_after(at, LONG_WAIT_US))
      return PAWL_NEVER;
  }
  return at;
}

int64_t pawl_await_rests_at(pawl_engine *e) {
  const pawl_held *h = e->alone;

  if (!h || e->alone_rests || !waits(h) || h->look) return PAWL_NEVER;
  const int64_t now_us = pawl_engine_now(e), now = pawl_await_now(e);
  if (beside(e, h) < pawl_time_after(now_us, LONG_WAIT_US)) return PAWL_NEVER;
  const int64_t at = all_wait_long_at(e, now);
  return at == PAWL_NEVER ? at : pawl_time_after(now_us, at - now);
}

void pawl_await_rest(pawl_engine *e) {
  const int64_t us = pawl_time_after(pawl_await_now(e), PAWL_AWAIT_LOOK_US);

  for (pawl_flight *f = e->alone->flights; f; f = f->next)
    if (is_predicate(f)) f->wake_us = us;
}

int64_t pawl_await_next(pawl_engine *e) {
  int64_t now = pawl_await_now(e), us = PAWL_NEVER, next = e->await_look_us;

  if (!e->nflights) return PAWL_NEVER;
  PAWL_EACH_FLIGHT(e, f) {
    if (!may_go_on(e, f->owner)) continue;
    if (pawl_run_is_lost(f->run)) us = now;
    if (f->wake_us < us) us = f->wake_us;
    if (f->until_us < us) us = f->until_us;
    if (deadline_of(f) < next) next = deadline_of(f);
  }
  us = us == PAWL_NEVER ? us : pawl_engine_now(e) + (us - now);
  const int64_t beside = next_beside(e);
  if (beside < next) next = beside;
  const int64_t rest = pawl_await_rests_at(e);
  if (rest < next) next = rest;
  return us < next ? us : next;
}
