/* Handlers that wait: how each begins to, and how it is ended where it stands.
 * What becomes of them in between is await.c's. */
#include <assert.h>

#include "../../rules/decide.h"
#include "../common/time.h"
#include "await.h"

#define ASK_EVERY_US (50 * 1000) /* a predicate, at the latest */

int64_t pawl_await_now(const pawl_engine *e) {
  return pawl_clock_is_virtual(&e->passed) ? pawl_clock_now(&e->passed)
                                           : pawl_clock_mono();
}

static int64_t after_us(int64_t now, int64_t us) {
  return us < 0 || us > PAWL_NEVER - now ? PAWL_NEVER : now + us;
}

/* ---- places ---- */

/* Of one instance no more than leave a quarter of the places to others. */
static int most_of_one(const pawl_engine *e) {
  return e->config.concurrency - e->config.concurrency / 4;
}

/* Of definitions that are not trusted, all of them together, likewise; and one
 * place at least where there are two. */
static int most_limited(const pawl_engine *e) {
  const int n = e->config.concurrency;
  return n > 1 && n < 4 ? n - 1 : most_of_one(e);
}

int pawl_await_has_share(const pawl_def *def) {
  return def && def->is_limited && def->may_wait;
}

/* Nobody knows of a handler whether it will wait. Most never do; of those of
 * one definition the first that does shows it, and has a place of its own for
 * that. */
int pawl_await_needs_none(const pawl_def *def) {
  return def && !def->has_waited && !pawl_await_has_share(def);
}

int pawl_await_is_full(const pawl_engine *e) {
  return e->nflights >= e->config.concurrency;
}

int pawl_await_is_held_up(const pawl_engine *e, const pawl_held *h) {
  if (pawl_await_is_full(e) && !pawl_await_needs_none(h->d.def)) return 1;
  return pawl_await_has_share(h->d.def) && e->nlimited >= most_limited(e);
}

int pawl_await_has_place(const pawl_engine *e, const pawl_held *h) {
  return e->nflights < PAWL_PLACES(e) && h->d.naloft < most_of_one(e) &&
         !pawl_await_is_held_up(e, h);
}

/* An eighth of their share is free: what is claimed for one place and finds
 * none is given back again, so they come together. */
int pawl_await_lets_limited(const pawl_engine *e) {
  const int most = most_limited(e);
  return (most - e->nlimited) * 8 >= most;
}

/* The first that is free: those in use stay together at the front. */
static pawl_flight *take_place(pawl_engine *e) {
  for (int i = 0; i < e->nflight_slots; i++)
    if (!e->flights[i].owner) return &e->flights[i];
  assert(e->nflight_slots < PAWL_PLACES(e));
  return &e->flights[e->nflight_slots++];
}

void pawl_await_begin(pawl_engine *e, pawl_held *h, pawl_run *run) {
  const pawl_await *a = pawl_run_await(run);
  const int is_predicate = a->kind == PAWL_AWAIT_PREDICATE;
  const int64_t now = pawl_await_now(e);

  assert(run && h->state != PAWL_SLOT_FREE); /* N5 */
  if (!e->nflights) e->await_look_us = pawl_engine_now(e) + PAWL_AWAIT_LOOK_US;
  pawl_flight *f = take_place(e);
  *f = h->flight;
  f->owner = h;
  f->run = run;
  f->events = 0; /* what was found is told */
  f->lines = h->d.lines;
  f->is_limited = pawl_await_has_share(h->d.def);
  if (h->d.def) h->d.def->has_waited = 1;
  e->nlimited += f->is_limited;
  if (!is_predicate || !f->waits_us) f->waits_us = now;
  f->wake_us = after_us(now, is_predicate ? ASK_EVERY_US : a->timeout_us);
  f->next = h->flights;
  h->flights = f;
  h->d.naloft++;
  e->nflights++;
  e->nwaiting += h->d.naloft == 1;
  h->d.may_wait = pawl_await_has_place(e, h);
}

pawl_run *pawl_await_take(pawl_engine *e, pawl_flight *f) {
  pawl_held *h = f->owner;
  pawl_flight **at = &h->flights;

  while (*at != f) at = &(*at)->next;
  *at = f->next;
  h->flight = *f;
  h->d.lines = f->lines;
  f->owner = NULL;
  h->d.naloft--;
  e->nflights--;
  e->nlimited -= f->is_limited;
  e->nwaiting -= !h->d.naloft;
  assert(e->nlimited >= 0 && e->nlimited <= e->nflights);
  assert(h->d.naloft >= 0 && e->nwaiting >= 0 && e->nwaiting <= e->nflights);
  while (e->nflight_slots && !e->flights[e->nflight_slots - 1].owner)
    e->nflight_slots--;
  return h->flight.run;
}

static void abandon(pawl_engine *e, pawl_flight *f) {
  pawl_host_abandon(pawl_await_take(e, f));
}

void pawl_await_abandon(pawl_engine *e, pawl_held *h) {
  while (h->flights) abandon(e, h->flights);
}

void pawl_await_abandon_all(pawl_engine *e) {
  PAWL_EACH_SLOT (e, h) pawl_await_abandon(e, h);
}

/* ---- whose handler waits ---- */

static int is_of(const pawl_flight *f, const pawl_token *t) {
  return f->token == t->no && f->visit == t->visit && f->attempt == t->attempt;
}

int pawl_await_is_aloft(const pawl_held *h, const pawl_token *t) {
  for (const pawl_flight *f = h->flights; f; f = f->next)
    if (is_of(f, t)) return 1;
  return 0;
}

/* What was not stored when it began to wait stands nowhere yet. */
static int stands(const pawl_held *h, const pawl_flight *f) {
  if (!h->d.def || h->loaded != PAWL_LOADED) return 0;
  for (int k = 0; k < h->d.state.tokens.n; k++) {
    const pawl_token *t = &h->d.state.tokens.at[k];
    if (t->no == f->token) return t->state == PAWL_TOKEN_ACTIVE && is_of(f, t);
  }
  return 0;
}

void pawl_await_check(pawl_engine *e, pawl_held *h) {
  if (!h->flights) return;
  pawl_plan_reset(&h->d.plan); /* events are asked of what is stored */
  for (pawl_flight *f = h->flights, *next; f; f = next) {
    next = f->next;
    if (!stands(h, f)) abandon(e, f);
  }
}
