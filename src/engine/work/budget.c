/* What fits: sums over what was measured, in microseconds. */
#include "budget.h"

#include <string.h>

#include "../../rules/decide.h"

/* ---- a tick ---- */

void pawl_budget_begin(pawl_engine *e, int64_t budget_us) {
  pawl_budget *b = &e->budget;
  const int64_t mono = pawl_clock_mono();
  pawl_counts counts;

  pawl_store_count(e->store, &counts);
  b->began_mono_us = b->since_mono_us = mono;
  b->until_mono_us = budget_us <= 0 || budget_us >= PAWL_NEVER - mono
                         ? PAWL_NEVER
                         : mono + budget_us;
  b->is_short = budget_us > 0 && budget_us <= PAWL_FRAME_US;
  b->claims = b->ran = b->planned = b->is_slow = b->put_off = 0;
  b->is_on = 1;
  b->chores_us = 0;
  b->on = PAWL_SPENT_REST;
  b->waited_us = counts.waited_us;
  memset(b->spent_us, 0, sizeof b->spent_us);
}

pawl_spent pawl_budget_spend(pawl_engine *e, pawl_spent on) {
  pawl_budget *b = &e->budget;
  const pawl_spent before = b->on;
  const int64_t mono = pawl_clock_mono();
  pawl_counts counts;

  pawl_store_count(e->store, &counts);
  const int64_t waited = counts.waited_us - b->waited_us;
  b->spent_us[PAWL_SPENT_WAIT] += waited;
  b->spent_us[before] += mono - b->since_mono_us - waited;
  b->waited_us = counts.waited_us;
  b->since_mono_us = mono;
  b->on = on;
  return before;
}

int pawl_budget_is_over(const pawl_engine *e) {
  return e->budget.is_on && pawl_clock_mono() >= e->budget.until_mono_us;
}

static double left_us(const pawl_engine *e) {
  return (double)(e->budget.until_mono_us - pawl_clock_mono());
}

static int has_end(const pawl_engine *e) {
  return e->budget.until_mono_us != PAWL_NEVER;
}

int pawl_budget_fits(const pawl_engine *e, const pawl_held *h) {
  const pawl_budget *b = &e->budget;

  if (!has_end(e) || !b->ran) return 1;
  const pawl_node *node = h->d.def ? pawl_decide_next_step(&h->d, 0) : NULL;
  const int64_t run =
      node && node->run_avg_us ? node->run_avg_us : e->run_avg_us;
  return left_us(e) >= (double)run + pawl_cost_of(&b->commit, b->planned + 1);
}

int pawl_budget_fresh(const pawl_engine *e) {
  int n = 0;
  if (e->nheld == e->nwaiting) return 0;
  PAWL_EACH_SLOT (e, h)
    n += h->state == PAWL_SLOT_READY && !h->flights && !h->d.rounds;
  return n;
}

int pawl_budget_room(const pawl_engine *e, int most) {
  const pawl_budget *b = &e->budget;

  if (!has_end(e)) return most;
  const double run = (double)e->run_avg_us;
  const double claim = pawl_cost_of(&b->claim, 1);
  const double commit = pawl_cost_of(&b->commit, b->planned + 1);
  const double one_more = pawl_cost_of(&b->claim, 2) - claim + run +
                          pawl_cost_of(&b->commit, b->planned + 2) - commit;
  const double room = (left_us(e) - claim - commit - run) / (one_more + 1) + 1;
  if (room - e->nheld >= most) return most; /* whatever they have done */
  const int held = pawl_budget_fresh(e);
  int n = room > most + held ? most : room < 0 ? -held : (int)room - held;

  if (n < 1 && !held && !b->ran) n = 1;
  return n < most ? n : most;
}

int pawl_budget_is_tight(const pawl_engine *e) {
  const int least = (e->config.batch + 3) / 4;
  return has_end(e) && pawl_budget_room(e, least) < least;
}

int64_t pawl_budget_over_us(const pawl_engine *e) {
  const int64_t over = pawl_clock_mono() - e->budget.until_mono_us;
  return has_end(e) && over > 0 ? over : 0;
}

void pawl_budget_tell(pawl_engine *e, pawl_tick_stats *stats) {
  const int64_t *spent = e->budget.spent_us;

  (void)pawl_budget_spend(e, PAWL_SPENT_REST);
  stats->over_us = pawl_budget_over_us(e);
  stats->claim_us = spent[PAWL_SPENT_CLAIM];
  stats->load_us = spent[PAWL_SPENT_LOAD];
  stats->run_us = spent[PAWL_SPENT_RUN];
  stats->commit_us = spent[PAWL_SPENT_COMMIT];
  stats->wait_us = spent[PAWL_SPENT_WAIT];
  stats->rest_us = spent[PAWL_SPENT_REST];
  stats->keep_us = spent[PAWL_SPENT_KEEP];
  stats->put_off = e->budget.put_off;
  const pawl_unsaved *u = pawl_store_unsaved(e->store);
  stats->unsaved = u->commits;
  stats->unwritten = u->unwritten;
  stats->unsaved_us = u->commits ? pawl_clock_mono() - u->since_mono_us : 0;
  e->budget.is_on = 0;
}
