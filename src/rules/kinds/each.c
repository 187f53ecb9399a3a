/* Dynamic fan-out: one branch, or one child, for each item of a list. Items
 * and results are rows of their own, so that the cost is linear in their
 * number; the token that waits at the each counts them. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../value/json.h"
#include "../machine.h"
#include "../order.h"

/* ---- items ---- */

static pawl_effect *item_effect(pawl_decision *d, int32_t token, int64_t no,
                                const char *state, pawl_str data) {
  pawl_effect *f = pawl_plan_effect(&d->plan, PAWL_EFFECT_ITEM, token);
  f->n = no;
  pawl_buf_addz(&f->name, state);
  pawl_buf_adds(&f->data, data);
  return f;
}

/* The data of an item's token: what the each's token has, and the item. */
static void item_data(pawl_token *t, pawl_str item, int64_t no) {
  char index[24];
  snprintf(index, sizeof index, "%" PRId64, no + 1);
  pawl_object_set(&t->data, "item", item);
  pawl_object_set(&t->data, "index", pawl_strz(index));
}

/* How many have ended. */
static int64_t ended(const pawl_token *t) {
  return pawl_detail_of(t)->done + pawl_detail_of(t)->failed;
}

/* One of them is under way no more. */
static void count_ended(pawl_decision *d, int parked, pawl_detail_name how) {
  pawl_token *t = pawl_tok(d, parked);
  const pawl_detail *of = pawl_detail_of(t);

  pawl_detail_set(t, PAWL_DETAIL_live, of->live - 1);
  pawl_detail_set(t, how,
                  1 + (how == PAWL_DETAIL_done ? of->done : of->failed));
}

static void begin_item(pawl_decision *d, int parked, const pawl_node *node,
                       pawl_str item, int64_t no) {
  pawl_token *t = pawl_tok(d, parked);
  int32_t token = t->no;
  char index[24], from[32];
  pawl_effect *f;
  pawl_error err;
  pawl_id id;

  pawl_detail_set(t, PAWL_DETAIL_live, pawl_detail_of(t)->live + 1);
  pawl_detail_set(t, PAWL_DETAIL_next, no + 1);
  if (node->workflow) {
    if (pawl_id_make(d->world->ids, pawl_decision_now(d), &id, &err) !=
        PAWL_OK) {
      d->plan.failed = 1;
      return;
    }
    pawl_child_send(d, parked, node, &id, item,
                    pawl_buf_str(&pawl_detail_of(t)->options), no);
    f = item_effect(d, token, no, "started", pawl_strz("null"));
    f->id = id;
    f->has_id = 1;
    return;
  }
  snprintf(index, sizeof index, "%" PRId64, no + 1);
  int k = pawl_token_branch(d, parked, node->name,
                            pawl_decision_name(d, pawl_strz(index)));
  if (k < 0) return;
  item_data(pawl_tok(d, k), item, no);
  if (d->plan.nrecords) {
    snprintf(from, sizeof from, "[%" PRId64 "]", pawl_record_seq(d));
    pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_from, pawl_strz(from));
  }
  pawl_go_to(d, k, node->branch, NULL);
}

/* Does it wait for items still? One that came back at once may have failed it,
 * or been enough. */
static int waits_for_items(pawl_decision *d, int parked, int64_t visit) {
  const pawl_token *t = pawl_tok(d, parked);

  return !pawl_is_over(d) && !d->plan.failed && t->visit == visit &&
         t->state == PAWL_TOKEN_WAITING && !pawl_detail_of(t)->enough;
}

/* Items that are at hand, as far as the window goes. */
static void begin_from(pawl_decision *d, int parked, const pawl_node *node,
                       pawl_str items) {
  const int64_t visit = pawl_tok(d, parked)->visit;
  pawl_json_iter it = {0};

  for (int64_t no = 0; no < node->window && pawl_json_walk(items, &it); no++) {
    begin_item(d, parked, node, it.value, no);
    if (!waits_for_items(d, parked, visit)) return;
  }
}

/* It waits, and what ends its items gives it another. */
static void forget_place(pawl_decision *d, int parked, int64_t visit) {
  pawl_token *t = pawl_tok(d, parked);

  if (t->visit == visit && t->state == PAWL_TOKEN_WAITING && !ended(t))
    pawl_order_drop(t);
}

static pawl_code begin_each(pawl_decision *d, int k, const pawl_node *node,
                            int *to, pawl_error *err) {
  pawl_buf items = {.alloc = d->alloc}, options = {.alloc = d->alloc},
           mover = {.alloc = d->alloc};
  pawl_code rc = PAWL_OK;
  const int64_t visit = pawl_tok(d, k)->visit;
  int64_t total, limit_us;
  pawl_effect *f;
  pawl_token *t;

  TRY(pawl_run_handler(d, k, node, PAWL_HANDLER_ITEMS, err));
  pawl_buf_adds(&items, d->result->has_output
                            ? pawl_buf_str(&d->result->output)
                            : pawl_strz("[]"));
  TRY(pawl_buf_check(&items, err));
  total = pawl_json_count(pawl_buf_str(&items));
  if (!total) {
    pawl_record *r;
    TRY(pawl_output_fits(d, node, pawl_strz("[]"), err));
    r = pawl_token_record(d, k, "each");
    pawl_buf_addz(&r->text, "no items");
    if (node->into) pawl_vars_set(d, node->into, pawl_strz("[]"), &r->changes);
    *to = node->next[0].to;
    goto out;
  }
  TRY(pawl_child_options(d, k, node, &options, err));
  TRY(pawl_reschedule_key(d, k, node, &mover, err));
  TRY(pawl_wait_limit(d, k, node, &limit_us, err));
  if (node->workflow)
    TRY(pawl_spend(d, PAWL_QUOTA_STARTS, total, err));
  else
    TRY(pawl_tokens_bear(d, total < node->window ? total : node->window, err));
  t = pawl_tok(d, k);
  t->state = PAWL_TOKEN_WAITING;
  pawl_wait_until(t, pawl_decision_now(d), limit_us);
  pawl_reschedule_listen(d, k, node, &mover);
  pawl_detail_set(t, PAWL_DETAIL_total, total);
  pawl_detail_set(t, PAWL_DETAIL_next, 0);
  pawl_detail_set(t, PAWL_DETAIL_live, 0);
  pawl_detail_set(t, PAWL_DETAIL_done, 0);
  pawl_detail_set(t, PAWL_DETAIL_failed, 0);
  pawl_detail_drop(t, PAWL_DETAIL_results); /* of a visit that failed */
  pawl_detail_drop(t, PAWL_DETAIL_enough);
  pawl_detail_drop(t, PAWL_DETAIL_sum);
  if (options.len)
    pawl_detail_put(t, PAWL_DETAIL_options, pawl_buf_str(&options));
  f = pawl_plan_effect(&d->plan, PAWL_EFFECT_ITEMS, t->no);
  pawl_buf_adds(&f->data, pawl_buf_str(&items));
  begin_from(d, k, node, pawl_buf_str(&items));
  forget_place(d, k, visit);
out:
  pawl_buf_deinit(&items);
  pawl_buf_deinit(&options);
  return rc;
}

/* Without forks and boundaries an item is one token, and what that has begun
 * ends with it. */
static int may_have_siblings(const pawl_decision *d) {
  if (d->def->has_boundaries) return 1;
  for (int i = 0; i < d->def->nnodes; i++)
    if (d->def->nodes[i].kind == PAWL_KIND_FORK) return 1;
  return 0;
}

static int is_of_item(pawl_decision *d, int k, int32_t each, int level,
                      int64_t no) {
  return pawl_tok_live(d, k) && pawl_token_is_in(pawl_tok(d, k), each) &&
         pawl_item_of(pawl_tok(d, k), level) == no;
}

/* Does a token of the item live still, when one has ended? */
static int item_lives(pawl_decision *d, int32_t each, int level, int64_t no) {
  int k;

  if (!may_have_siblings(d)) return 0;
  pawl_inside in = pawl_inside_item(d, each, no);
  while ((k = pawl_inside_next(d, &in)) >= 0)
    if (is_of_item(d, k, each, level, no)) return 1;
  return 0;
}

/* Token k, and whoever is left of its item behind a join that did not wait for
 * all, ends with it. */
static void end_item(pawl_decision *d, int k, int32_t each, int level,
                     int64_t no, const char *why) {
  if (pawl_tok_live(d, k)) pawl_token_end(d, k, why);
  if (!may_have_siblings(d)) return;
  pawl_inside in = pawl_inside_item(d, each, no);
  while ((k = pawl_inside_next(d, &in)) >= 0)
    if (is_of_item(d, k, each, level, no)) pawl_token_end(d, k, why);
}

/* ---- ended before all are through ---- */

/* Nothing of it goes on: what is under way ends, and it fails. `text` NULL:
 * there is nothing to add. */
static void fail_each(pawl_decision *d, int parked, const pawl_error *err,
                      const char *why, const char *text) {
  int at;

  pawl_drop_scope(d, pawl_tok(d, parked)->no, why);
  pawl_stop_waiting(d, parked, "cancelled");
  d->result->no_retry = 1;
  at = d->plan.nrecords;
  pawl_fail_token(d, parked, err, 0);
  if (text) pawl_buf_addz(&pawl_plan_record_at(&d->plan, at)->text, text);
}

/* What the others would have given is not waited for: what is under way ends,
 * and what was not begun is not. */
static void end_early(pawl_decision *d, int parked) {
  pawl_detail_set(pawl_tok(d, parked), PAWL_DETAIL_enough, 1);
  pawl_detail_set(pawl_tok(d, parked), PAWL_DETAIL_live, 0);
  pawl_drop_scope(d, pawl_tok(d, parked)->no, "enough is known");
  pawl_stop_waiting(d, parked, "cancelled");
}

/* {"total","done","failed","under_way","index", "result" or "error", "sum"} */
static void tell_so_far(const pawl_token *t, const pawl_effect *item,
                        pawl_buf *out) {
  const pawl_detail *of = pawl_detail_of(t);
  int failed = pawl_str_eqz(pawl_buf_str(&item->name), "failed");
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_int(&o, "total", of->total);
  pawl_member_int(&o, "done", of->done);
  pawl_member_int(&o, "failed", of->failed);
  pawl_member_int(&o, "under_way", of->live);
  pawl_member_int(&o, "index", item->n + 1);
  pawl_member_json(&o, failed ? "error" : "result", pawl_buf_str(&item->data));
  if (of->sum.len) pawl_member_json(&o, "sum", pawl_buf_str(&of->sum));
  pawl_object_end(&o);
}

enum { MOST_SUM = 4096 }; /* bytes: it is written with every item */

static pawl_code keep_sum(pawl_decision *d, int parked, const pawl_node *node,
                          pawl_error *err) {
  const pawl_buf *sum = &d->result->output;

  if (!d->result->has_output) {
    pawl_detail_drop(pawl_tok(d, parked), PAWL_DETAIL_sum);
    return PAWL_OK;
  }
  if (sum->len > MOST_SUM) {
    pawl_fail(err, PAWL_LIMIT,
              "each \"%s\": `enough` keeps %zu bytes; the limit is %d",
              node->name, sum->len, MOST_SUM);
    pawl_error_hint(err, "keep counts rather than what was counted");
    return PAWL_LIMIT;
  }
  pawl_detail_put(pawl_tok(d, parked), PAWL_DETAIL_sum, pawl_buf_str(sum));
  return PAWL_OK;
}

/* What the item that has just ended left. */
static const pawl_effect *newest_item(const pawl_decision *d, int32_t each) {
  int i = d->plan.neffects;

  do assert(i > 0);
  while (d->plan.effects[--i].kind != PAWL_EFFECT_ITEM ||
         d->plan.effects[i].token != each);
  return &d->plan.effects[i];
}

/* An item has ended, and others have not: do they matter? What only passes
 * undoes the decision, which is taken again; any other failure is that of the
 * each. */
static void judge(pawl_decision *d, int parked) {
  const pawl_node *node = pawl_tok_node(d, parked);
  const pawl_token *t = pawl_tok(d, parked);
  pawl_buf so_far = {.alloc = d->alloc};
  pawl_str none = {0};
  pawl_error err = {0};

  if (!node->has_enough || d->plan.failed || t->failed ||
      ended(t) >= pawl_detail_of(t)->total)
    return;
  tell_so_far(t, newest_item(d, t->no), &so_far);
  pawl_code rc = pawl_run_handler_on(d, parked, node, PAWL_HANDLER_ENOUGH,
                                     none, pawl_buf_str(&so_far), &err);
  if (rc == PAWL_OK) rc = keep_sum(d, parked, node, &err);
  if (so_far.failed || pawl_failure_passes(&err) != PAWL_PASSES_NOT)
    d->plan.failed = 1;
  else if (rc != PAWL_OK)
    fail_each(d, parked, &err, "its each failed", NULL);
  else if (d->result->truth)
    end_early(d, parked);
  pawl_buf_deinit(&so_far);
}

/* ---- one has ended ---- */

/* The caller ends its tokens, and then has it judged. */
static void item_done(pawl_decision *d, int parked, int64_t no,
                      pawl_str result) {
  assert(no >= 0);
  count_ended(d, parked, PAWL_DETAIL_done);
  item_effect(d, pawl_tok(d, parked)->no, no, "done",
              result.len ? result : pawl_strz("null"));
}

void pawl_each_item_left(pawl_decision *d, int k) {
  int level, parked = pawl_each_around(d, k, &level);
  if (parked < 0) return;
  (void)pawl_boundaries_settle(d); /* on forks in which nobody is left */
  int64_t no = pawl_item_of(pawl_tok(d, k), level);
  pawl_order_pass(d, k, parked);
  if (item_lives(d, pawl_tok(d, parked)->no, level, no)) return;
  item_done(d, parked, no, pawl_strz(NULL));
  judge(d, parked);
}

/* Enters it, or comes back to it at the end of an item, where the token is
 * consumed. A list without items goes on at once. */
static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  int level, parked = pawl_each_around(d, k, &level);

  (void)path;
  if (parked < 0 || pawl_tok_node(d, parked) != node)
    return begin_each(d, k, node, to, err);
  int64_t no = pawl_item_of(pawl_tok(d, k), level);
  pawl_order_pass(d, k, parked);
  item_done(d, parked, no, pawl_buf_str(&pawl_detail_of(pawl_tok(d, k))->out));
  pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_out); /* it is kept there now */
  pawl_token_end(d, k, NULL);
  end_item(d, k, pawl_tok(d, parked)->no, level, no, "its item has ended");
  judge(d, parked);
  return PAWL_OK;
}

/* So many items' errors are whole in the list of results, an eighth of what
 * variables may have at most; others as an error has room for. */
enum { WHOLE_ERRORS = 8 };

/* {"code","message"} of an error, for the list of results. `nfailed`: items
 * that have failed before. */
static void listed_error(const pawl_decision *d, const pawl_error *err,
                         int64_t nfailed, pawl_buf *out) {
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "code", pawl_failure_code(err));
  pawl_member_str(&o, "message",
                  nfailed < WHOLE_ERRORS
                      ? pawl_failure_text(&d->result->message, err->message)
                      : pawl_strz(err->message));
  pawl_object_end(&o);
}

/* How many may fail. */
static int64_t tolerated(const pawl_node *node, int64_t total) {
  const int64_t n = pawl_node_tolerates(node, total);
  return node->collect ? total : n > 0 ? n : 0;
}

/* One item has failed: noted, or the end of all of them. */
static void item_failed(pawl_decision *d, int parked, int64_t no,
                        const pawl_error *err) {
  const pawl_node *node = pawl_tok_node(d, parked);
  const pawl_detail *of;
  pawl_buf text = {.alloc = d->alloc};
  char told[80];

  listed_error(d, err, pawl_detail_of(pawl_tok(d, parked))->failed, &text);
  count_ended(d, parked, PAWL_DETAIL_failed);
  item_effect(d, pawl_tok(d, parked)->no, no, "failed", pawl_buf_str(&text));
  pawl_buf_deinit(&text);
  of = pawl_detail_of(pawl_tok(d, parked));
  const int64_t most = tolerated(node, of->total);
  if (of->failed <= most) {
    judge(d, parked);
    return;
  }
  snprintf(told, sizeof told,
           "%" PRId64 " of %" PRId64 " items failed, %" PRId64
           " are tolerated",
           of->failed, of->total, most);
  fail_each(d, parked, err, "another item failed", most ? told : NULL);
}

void pawl_each_item_failed(pawl_decision *d, int parked, int level, int k,
                           const pawl_error *err) {
  int64_t no = pawl_item_of(pawl_tok(d, k), level);

  pawl_order_pass(d, k, parked);
  end_item(d, k, pawl_tok(d, parked)->no, level, no, "its item failed");
  item_failed(d, parked, no, err);
}

/* ---- what is at hand, and what is through ---- */

int pawl_each_is_through(const pawl_token *t) {
  return t->state == PAWL_TOKEN_WAITING &&
         (ended(t) >= pawl_detail_of(t)->total || pawl_detail_of(t)->enough);
}

/* Does it belong to this visit? The token may have left another each. */
static int is_of(const pawl_item *item, const pawl_token *t) {
  return item->token == t->no && item->visit == t->visit;
}

static const pawl_item *loaded_item(const pawl_decision *d,
                                    const pawl_token *t, int64_t no) {
  for (int i = 0; i < d->nitems; i++)
    if (is_of(&d->items[i], t) && d->items[i].no == no) return &d->items[i];
  return NULL;
}

/* Was its row looked for, so that there is none? Those are read that come next
 * in what is stored. */
static int is_missing(pawl_decision *d, const pawl_token *t, int64_t no) {
  const pawl_token *stored = pawl_tokens_find(&d->state.tokens, t->no);

  return d->has_items && !d->plan.look && stored &&
         stored->visit == t->visit && stored->state == PAWL_TOKEN_WAITING &&
         pawl_detail_of(stored)->total && pawl_detail_of(stored)->next == no;
}

static void fail_missing(pawl_decision *d, const pawl_node *node,
                         const char *what, int64_t no) {
  pawl_error err;

  pawl_fail(&err, PAWL_CORRUPT,
            "%s %" PRId64 " of each \"%s\" is not in the store", what, no + 1,
            node->name);
  pawl_error_hint(&err, "somebody else has deleted it there");
  pawl_fail_outright(d, &err);
}

/* Were the results read that are stored? */
static int has_results(pawl_decision *d, const pawl_token *t) {
  const pawl_token *stored = pawl_tokens_find(&d->state.tokens, t->no);

  return d->has_items && !d->plan.look && stored &&
         stored->visit == t->visit && pawl_detail_of(stored)->results;
}

/* The results, in order; failed ones as {"error":...}. The first item whose
 * row is gone; -1: they are all there. */
static int64_t list_results(pawl_decision *d, int k, pawl_buf *list) {
  const pawl_token *t = pawl_tok(d, k);
  int64_t no = 0, total = pawl_detail_of(t)->total;

  pawl_buf_addc(list, '[');
  for (int i = 0; i < d->nitems; i++) {
    if (!is_of(&d->items[i], t)) continue;
    if (d->items[i].no != no) return no;
    if (no++) pawl_buf_addc(list, ',');
    pawl_buf_adds(list, pawl_buf_str(&d->items[i].data));
  }
  pawl_buf_addc(list, ']');
  return no < total ? no : -1;
}

static void finish_each(pawl_decision *d, int k, const pawl_node *node) {
  pawl_buf list = {.alloc = d->alloc};
  pawl_error err = {0};
  int64_t missing = node->into ? list_results(d, k, &list) : -1;

  if (missing >= 0) {
    pawl_buf_deinit(&list);
    fail_missing(d, node, "the result of item", missing);
    return;
  }
  if (list.failed) d->plan.failed = 1;
  if (pawl_output_fits(d, node, pawl_buf_str(&list), &err) != PAWL_OK) {
    pawl_buf_deinit(&list);
    pawl_fail_token(d, k, &err, 0);
    return;
  }
  pawl_record *r = pawl_token_record(d, k, "each");
  const pawl_token *t = pawl_tok(d, k);
  r->due_us = t->due_us;
  pawl_buf_addf(&r->text, "%" PRId64 " done, %" PRId64 " failed",
                pawl_detail_of(t)->done, pawl_detail_of(t)->failed);
  if (pawl_detail_of(t)->enough)
    pawl_buf_addf(&r->text, ": enough of %" PRId64, pawl_detail_of(t)->total);
  if (node->into)
    pawl_vars_set(d, node->into, pawl_buf_str(&list), &r->changes);
  pawl_buf_deinit(&list);
  d->plan.outcome = "done";
  pawl_leave(d, k, node->next[0].to);
}

static void settle_each(pawl_decision *d, int k, const pawl_node *node) {
  const int64_t visit = pawl_tok(d, k)->visit;

  for (;;) {
    pawl_token *t = pawl_tok(d, k);
    int64_t total = pawl_detail_of(t)->total;
    int64_t next = pawl_detail_of(t)->next;
    if (d->plan.failed || t->failed) return; /* N7: it counts no more */
    if (pawl_each_is_through(t)) {
      /* results are loaded before it goes on, not in this very decision */
      if (node->into && !has_results(d, t)) {
        pawl_detail_set(t, PAWL_DETAIL_results, 1);
        pawl_look_again(d);
        return;
      }
      const int64_t at_us = pawl_order_place(t);
      pawl_order_follow(d, t);
      finish_each(d, k, node);
      pawl_conditions_look(d, at_us); /* Q6 */
      pawl_order_follow(d, NULL);
      return;
    }
    if (next >= total || pawl_detail_of(t)->live >= node->window) return;
    const pawl_item *item = loaded_item(d, t, next);
    if (!item && is_missing(d, t, next)) {
      fail_missing(d, node, "item", next);
      return;
    }
    if (!item) {
      pawl_look_again(d);
      return;
    }
    begin_item(d, k, node, pawl_buf_str(&item->data), next);
    if (!waits_for_items(d, k, visit) &&
        !pawl_detail_of(pawl_tok(d, k))->enough)
      return;
  }
}

void pawl_eachs_settle(pawl_decision *d) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    if (pawl_is_over(d)) return;
    if (pawl_tok(d, k)->state != PAWL_TOKEN_WAITING) continue;
    const pawl_node *node = pawl_tok_node(d, k);
    if (node && node->kind == PAWL_KIND_EACH) settle_each(d, k, node);
  }
}

int pawl_eachs_wait(pawl_decision *d) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_node *node = pawl_tok_node(d, k);
    if (pawl_tok(d, k)->state == PAWL_TOKEN_WAITING && node &&
        node->kind == PAWL_KIND_EACH)
      return 1;
  }
  return 0;
}

/* ---- children, times ---- */

static void stop(pawl_decision *d, int k, const pawl_node *node,
                 const char *status) {
  if (status && node->workflow) /* they are no longer wanted */
    pawl_children_unwanted(d, pawl_tok(d, k)->no);
}

static void take(pawl_decision *d, int k, const pawl_node *node,
                 const pawl_letter *l) {
  pawl_str data = pawl_buf_str(&l->data), output = {0};
  int64_t index = pawl_json_get_int(data, "index", 0);
  char status[16];
  pawl_error err;

  (void)node;
  if (pawl_detail_of(pawl_tok(d, k))->enough) return; /* it came too late */
  pawl_child_text(d, data, "status", status, sizeof status);
  if (d->plan.failed) return; /* nothing of it counts */
  pawl_order_note(d, k, l->received_us);
  (void)pawl_json_get(data, "output", &output);
  if (!strcmp(status, "completed")) {
    item_done(d, k, index, output);
    judge(d, k);
  } else {
    pawl_said_clear(d->result); /* of whoever failed before */
    pawl_child_error(d, data, status, &err);
    item_failed(d, k, index, &err);
  }
}

static void time_out(pawl_decision *d, int k, const pawl_node *node) {
  if (pawl_node_next(node, "timeout", 7) < 0)
    pawl_drop_scope(d, pawl_tok(d, k)->no, "its each timed out");
  pawl_time_out(d, k, node);
}

const pawl_kind_rules pawl_kind_each = {.enter = enter,
                                        .stop = stop,
                                        .letter = "child",
                                        .take = take,
                                        .time_out = time_out,
                                        .transfer = pawl_child_transfer,
                                        .gathers = 1,
                                        .has_children = 1,
                                        .has_scope = 1};
