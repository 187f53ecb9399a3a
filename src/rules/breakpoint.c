/* Breakpoints: a token that comes to a node where one is set halts before that
 * begins, until somebody lets it go on, or its time is over.
 *
 *   V4 it halts before its node is entered: no handler was asked, nothing that
 *      stands beside the node has begun, no attempt is counted. A boundary
 *      begins with its node, and never halts.
 *   V5 it stays active, and due when its time is over, as one that is tried
 *      again: its siblings, its instance's deadline and whoever cancels, moves
 *      or transfers it find what they always do.
 *   V6 what was let go on is held by none before that attempt has ended; the
 *      next attempt halts anew.
 *   V7 where none is set, and nobody steps, that is seen by one look at a
 *      number. */
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"

/* Where it halts, and why. */
typedef struct stand {
  pawl_str by, reason;
  int64_t until_us;
  const pawl_error *err; /* its condition has failed; NULL: it has not */
  int steps;             /* it is the next node of one that steps */
} stand;

/* ---- halting ---- */

/* {"by":"ann","since":1790000000000000,"reason":"...","steps":true} */
static void note(pawl_decision *d, int k, const stand *s,
                 const pawl_buf *error) {
  pawl_buf text = {.alloc = d->alloc};
  pawl_object o;

  pawl_object_begin(&o, &text);
  if (s->by.len) pawl_member_str(&o, "by", s->by);
  pawl_member_int(&o, "since", pawl_decision_now(d));
  if (s->reason.len) pawl_member_str(&o, "reason", s->reason);
  if (s->steps) pawl_member_bool(&o, "steps", 1);
  if (error->len) pawl_member_json(&o, "error", pawl_buf_str(error));
  pawl_object_end(&o);
  if (text.failed) d->plan.failed = 1;
  pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_halted, pawl_buf_str(&text));
  pawl_buf_deinit(&text);
}

/* A row about the token that is none of its way: what led to its node is still
 * to be told of that. */
static pawl_record *row(pawl_decision *d, int k, const char *type) {
  pawl_record *r = pawl_token_record(d, k, type);

  if (r->previous.len)
    pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_from,
                    pawl_buf_str(&r->previous));
  return r;
}

static void halt(pawl_decision *d, int k, const stand *s) {
  const pawl_node *node = pawl_tok_node(d, k);
  pawl_record *r = row(d, k, "halted");

  pawl_buf_adds(&r->by, s->by);
  pawl_buf_adds(&r->text, s->reason);
  r->due_us = s->until_us;
  if (s->err) pawl_plan_error(&r->error, s->err, NULL);
  note(d, k, s, &r->error);
  pawl_token *t = pawl_tok(d, k);
  t->due_us = s->until_us;
  t->changed = 1;
  d->plan.state.node = node->name;
  d->plan.outcome = "halted";
  pawl_trace_wait(d, k, node);
}

/* Its breakpoint, if there is one and its condition holds, or has failed. */
static int halt_at(pawl_decision *d, int k, const pawl_node *node) {
  pawl_stop stop = {.until_us = 0};
  pawl_error err;

  if (!d->world->stops(d->world->ud, d, pawl_tok(d, k), node, &stop, &err))
    return 0;
  halt(d, k,
       &(stand){.by = stop.by,
                .reason = stop.reason,
                .until_us = stop.until_us,
                .err = stop.failed ? &err : NULL});
  return 1;
}

static int halt_behind_step(pawl_decision *d, int k) {
  pawl_buf own = {.alloc = d->alloc}, by = {.alloc = d->alloc};

  pawl_buf_copy(&own, &pawl_detail_of(pawl_tok(d, k))->stepping);
  (void)pawl_json_get_text(pawl_buf_str(&own), "by", &by);
  const int64_t lasts_us =
      pawl_json_get_int(pawl_buf_str(&own), "lasts", PAWL_HALT_US);
  pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_stepping);
  halt(d, k,
       &(stand){.by = pawl_buf_str(&by),
                .until_us = pawl_time_after(pawl_decision_now(d), lasts_us),
                .steps = 1});
  if (own.failed || by.failed) d->plan.failed = 1;
  pawl_buf_deinit(&own);
  pawl_buf_deinit(&by);
  return 1;
}

/* ---- going on ---- */

void pawl_break_free(pawl_decision *d, int k) {
  pawl_token *t = pawl_tok(d, k);

  pawl_detail_drop(t, PAWL_DETAIL_halted);
  pawl_detail_set(t, PAWL_DETAIL_freed, t->attempt + 1); /* V6 */
  t->due_us = 0;
  t->changed = 1;
}

void pawl_break_step(pawl_decision *d, int k, pawl_str by, int64_t lasts_us) {
  pawl_buf text = {.alloc = d->alloc};
  pawl_object o;

  pawl_break_free(d, k);
  pawl_object_begin(&o, &text);
  if (by.len) pawl_member_str(&o, "by", by);
  pawl_member_int(&o, "lasts", lasts_us);
  pawl_object_end(&o);
  if (text.failed) d->plan.failed = 1;
  pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_stepping, pawl_buf_str(&text));
  pawl_buf_deinit(&text);
}

/* Nobody let it: it goes on by itself, with the next look. */
static void time_over(pawl_decision *d, int k) {
  pawl_record *r = row(d, k, "continued");

  pawl_buf_addz(&r->text, "its time was over");
  pawl_break_free(d, k);
  d->plan.outcome = "continued";
}

/* ---- asked for ---- */

int pawl_break_cuts(pawl_decision *d, int k, const pawl_node *node) {
  const pawl_token *t = pawl_tok(d, k);

  if (pawl_detail_of(t)->stepping.len) return 1;
  return d->world->breaks > 0 &&
         d->world->stops(d->world->ud, d, t, node, NULL, NULL);
}

int pawl_break_halts(pawl_decision *d, int k) {
  const pawl_token *t = pawl_tok(d, k);
  const pawl_detail *own = pawl_detail_of(t);
  const pawl_node *node = pawl_tok_node(d, k);

  if (!node || own->host) return 0; /* V4 */
  if (own->halted.len) {
    time_over(d, k);
    return 1;
  }
  if (own->freed == t->attempt + 1) return 0; /* V6 */
  if (own->stepping.len) return halt_behind_step(d, k);
  return d->world->breaks > 0 && halt_at(d, k, node);
}
