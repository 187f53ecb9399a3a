/* Handlers that wait: who can go on, who must, and for how long the engine may
 * sleep.
 *
 *   run -> ctx.await -> the slot keeps the run (pawl_flight); the lease goes on
 *       -> poll: its descriptor is ready, its time has come, it is asked again
 *       -> resumed until it waits again, or ends and leaves a plan
 *
 * Everybody is asked between rounds, without blocking; between ticks their
 * descriptors are polled together with the store's. Time is counted by a clock
 * that only goes up, or by the virtual one. */
#include <poll.h>

#include "../../rules/machine.h"

#define ASK_EVERY_US (50 * 1000)        /* a predicate, at the latest */
#define LOOK_EVERY_US (PAWL_SECOND / 5) /* for requests to cancel */
#define LONG_ROUND_US (50 * 1000) /* results wait no longer for their commit */

int64_t pawl_await_now(const pawl_engine *e) {
  return pawl_clock_is_virtual(&e->clock) ? pawl_clock_now(&e->clock)
                                          : pawl_clock_mono();
}

/* ---- beginning and ending ---- */

static int64_t after_us(int64_t now, int64_t us) {
  return us < 0 || us > PAWL_NEVER - now ? PAWL_NEVER : now + us;
}

void pawl_await_begin(pawl_engine *e, pawl_held *h, pawl_run *run) {
  const pawl_await *a = pawl_run_await(run);
  pawl_flight *f = &h->flight;

  if (!e->nwaiting) e->await_look_us = pawl_engine_now(e) + LOOK_EVERY_US;
  f->run = run;
  f->asked = 1;
  f->wake_us =
      after_us(pawl_await_now(e),
               a->kind == PAWL_AWAIT_PREDICATE ? ASK_EVERY_US : a->timeout_us);
  e->nwaiting++;
}

void pawl_await_abandon(pawl_engine *e, pawl_held *h) {
  pawl_run *run = h->flight.run;

  if (!run) return;
  h->flight.run = NULL;
  e->nwaiting--;
  pawl_host_abandon(run);
}

void pawl_await_abandon_all(pawl_engine *e) {
  for (int i = 0; i < e->nheld_slots; i++) pawl_await_abandon(e, &e->held[i]);
}

static int still_stands(const pawl_held *h) {
  const pawl_flight *f = &h->flight;

  if (!h->def || h->loaded != PAWL_LOADED) return 0;
  if (f->handler == PAWL_HANDLER_RUN && h->compensation.len) return 0;
  for (int k = 0; k < h->tokens.n; k++) {
    const pawl_token *t = &h->tokens.at[k];
    if (t->no == f->token)
      return t->state == PAWL_TOKEN_ACTIVE && t->visit == f->visit &&
             t->attempt == f->attempt;
  }
  return 0;
}

void pawl_await_check(pawl_engine *e, pawl_held *h) {
  if (!h->flight.run) return;
  if (still_stands(h))
    pawl_plan_reset(&h->plan); /* events are asked of what is stored */
  else
    pawl_await_abandon(e, h);
}

/* ---- looking at the store ---- */

static int waits(const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && h->flight.run;
}

static pawl_code look_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_LATCHES);
  pawl_arg_int(&e->args, PAWL_AGENDA_LATCHES_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (!waits(h) || h->shard != shard) continue;
    h->flight.events = 1; /* lost, until its row is seen */
    pawl_arg_id(&e->args, PAWL_AGENDA_LATCHES_ID, &h->id);
    pawl_arg_id(&e->args, PAWL_AGENDA_LATCHES_LEASE, &h->lease);
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    pawl_id id;
    pawl_row_id(&rows, k, PAWL_AGENDA_LATCHES_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (h)
      h->flight.events =
          pawl_row_int(&rows, k, PAWL_AGENDA_LATCHES_R_LATCH) != h->latch;
  }
out:
  return rc;
}

/* Something came in, or its row is another's. No plan is kept: what an event
 * means is asked of the variables as they are. */
static pawl_code look_closer(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_plan_reset(&h->plan);
  pawl_code rc = pawl_claim_reload(e, h, err);

  if (rc != PAWL_LEASE_LOST) return rc;
  pawl_held_lose(e, h, err);
  return PAWL_OK;
}

pawl_code pawl_await_look(pawl_engine *e, pawl_error *err) {
  int64_t now = pawl_engine_now(e);
  pawl_error own;
  pawl_code rc = PAWL_OK;

  if (!err) err = &own;
  /* a clock that was set back must not put it off for long */
  if (!e->nwaiting ||
      (now < e->await_look_us && e->await_look_us - now <= LOOK_EVERY_US))
    return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) TRY(look_shard(e, s, err));
  for (int i = 0; i < e->nheld_slots; i++)
    if (waits(&e->held[i]) && e->held[i].flight.events)
      TRY(look_closer(e, &e->held[i], err));
  TRY(pawl_claim_renew(e, 0, err));
  e->await_look_us = now + LOOK_EVERY_US;
out:
  return rc;
}

/* ---- who can go on ---- */

static int may_be_told(const pawl_held *h) {
  return h->flight.handler == PAWL_HANDLER_RUN;
}

static int deadline_passed(pawl_engine *e, const pawl_held *h) {
  return may_be_told(h) && h->deadline_us &&
         pawl_engine_now(e) >= h->deadline_us;
}

/* Why it may not wait any longer. 0: it may. */
static int must_stop(pawl_engine *e, const pawl_held *h, int64_t now,
                     pawl_error *why) {
  const pawl_flight *f = &h->flight;

  if (may_be_told(h) && !f->told && pawl_letters_cancel(h)) {
    pawl_fail(why, PAWL_CANCELLED, "instance %s is cancelled", h->id_text);
    pawl_error_hint(why,
                    "clean up and return: what is recorded as done is "
                    "undone next");
    return 1;
  }
  if (now >= f->until_us) {
    pawl_fail(why, PAWL_TIMEOUT, "the handler has passed its node's timeout");
    pawl_error_hint(why, "give the node a longer one: timeout = \"1h\"");
    return 1;
  }
  if (!deadline_passed(e, h)) return 0;
  pawl_fail(why, PAWL_TIMEOUT, "the instance passed its deadline");
  pawl_copy_text(why->reason, sizeof why->reason, "deadline");
  return 1;
}

/* Told once; who waits again although its time is up is ended. */
static void tell(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  pawl_flight *f = &h->flight;

  if (why->code == PAWL_CANCELLED) {
    f->told = 1;
  } else if (f->overdue) {
    pawl_step_abandon(e, h, why);
    return;
  } else {
    f->overdue = 1;
  }
  pawl_step_resume(e, h, 0, why);
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

static void closed(pawl_engine *e, pawl_held *h) {
  pawl_error why;
  pawl_fail(&why, PAWL_MISUSE, "ctx.await: descriptor %d is not open",
            pawl_run_await(h->flight.run)->fd);
  pawl_error_hint(&why,
                  "keep its socket in a variable until ctx.await "
                  "returns");
  pawl_step_resume(e, h, 0, &why);
}

/* 1: it went on. */
static int ask(pawl_engine *e, pawl_held *h) {
  pawl_flight *f = &h->flight;
  int64_t now = pawl_await_now(e);
  int is_predicate = pawl_run_await(f->run)->kind == PAWL_AWAIT_PREDICATE;
  pawl_error why;

  if (must_stop(e, h, now, &why))
    tell(e, h, &why);
  else if (f->events < 0)
    closed(e, h);
  else if (f->events || now >= f->wake_us || (is_predicate && e->ask_all))
    pawl_step_resume(e, h, f->events, NULL);
  else
    return 0;
  return 1;
}

int pawl_await_fds(pawl_engine *e) {
  int n = 1;

  if (!e->nwaiting) return n;
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    const pawl_await *a = waits(h) ? pawl_run_await(h->flight.run) : NULL;
    if (!a || a->kind != PAWL_AWAIT_FD) continue;
    e->fds[n].fd = a->fd;
    e->fds[n].events = (short)((a->events & PAWL_AWAIT_READ ? POLLIN : 0) |
                               (a->events & PAWL_AWAIT_WRITE ? POLLOUT : 0));
    e->fds[n].revents = 0;
    e->fd_slots[n++] = h;
  }
  return n;
}

/* Each that waits gets what poll says of its descriptor, and a turn. */
static void prepare(pawl_engine *e) {
  int n = pawl_await_fds(e);

  if (n > 1 && poll(e->fds + 1, (nfds_t)(n - 1), 0) < 0) n = 1;
  for (int i = 0; i < e->nheld_slots; i++)
    e->held[i].flight.asked = e->held[i].flight.events = 0;
  for (int i = 1; i < n; i++)
    e->fd_slots[i]->flight.events = events_of(&e->fds[i]);
}

void pawl_await_poll(pawl_engine *e, int64_t deadline_mono, int *ran) {
  int64_t began = pawl_clock_mono(), until = began + LONG_ROUND_US;
  int i, n = e->nheld_slots;

  *ran = 0;
  if (!e->nwaiting) return;
  if (deadline_mono < until) until = deadline_mono;
  prepare(e);
  for (i = 0; i < n && !e->interrupted; i++) {
    pawl_held *h = &e->held[(e->next_asked + i) % n];
    if (!waits(h) || h->flight.asked) continue;
    if (!ask(e, h)) continue;
    ++*ran;
    if (pawl_clock_mono() < until) continue;
    i++;
    break; /* the next round begins behind it */
  }
  e->next_asked = (e->next_asked + i) % n;
  if (i >= n) e->ask_all = 0;
}

/* ---- how long the engine may sleep ---- */

int64_t pawl_await_next(pawl_engine *e) {
  int64_t now = pawl_await_now(e), us = PAWL_NEVER, next = e->await_look_us;

  if (!e->nwaiting) return PAWL_NEVER;
  for (int i = 0; i < e->nheld_slots; i++) {
    const pawl_held *h = &e->held[i];
    if (!waits(h)) continue;
    if (h->flight.wake_us < us) us = h->flight.wake_us;
    if (h->flight.until_us < us) us = h->flight.until_us;
    if (may_be_told(h) && h->deadline_us && h->deadline_us < next)
      next = h->deadline_us;
  }
  us = us == PAWL_NEVER ? us : pawl_engine_now(e) + (us - now);
  return us < next ? us : next;
}
