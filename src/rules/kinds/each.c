/* Calls, and dynamic fan-out: one branch, or one child, for each item of a
 * list. Items and results are rows of their own, so that the cost is linear
 * in their number; the token that waits at the each counts them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../machine.h"
#include "../order.h"

/* ---- children ---- */

/* The part of a "start" message that says who asked. */
static void add_parent(const pawl_held *h, pawl_buf *b, const pawl_token *t,
                       const char *node, int64_t index) {
  pawl_buf_addf(
      b, ",\"seq\":%" PRId64 ",\"token\":%d,\"visit\":%" PRId64 ",\"node\":",
      pawl_record_seq(h), (int)t->no, t->visit);
  pawl_json_add_string(b, pawl_strz(node));
  if (index >= 0) pawl_buf_addf(b, ",\"index\":%" PRId64, index);
}

static void send_child(pawl_held *h, int k, const pawl_node *node,
                       const pawl_id *id, pawl_str input, int64_t index) {
  pawl_effect *f =
      pawl_plan_effect(&h->plan, PAWL_EFFECT_MESSAGE, pawl_tok(h, k)->no);
  pawl_buf *b = &f->data;

  f->id = *id;
  f->has_id = 1;
  pawl_buf_addz(&f->name, "start");
  pawl_buf_addz(b, "{\"workflow\":");
  pawl_json_add_string(b, pawl_strz(node->workflow));
  if (node->workflow_version)
    pawl_buf_addf(b, ",\"version\":%" PRId64, node->workflow_version);
  pawl_buf_addz(b, ",\"input\":");
  pawl_buf_adds(b, input.len ? input : pawl_strz("{}"));
  pawl_buf_addz(b, ",\"options\":{},\"track\":true,\"parent_end\":");
  pawl_buf_addz(b, node->parent_end_leave ? "\"leave\"" : "\"cancel\"");
  add_parent(h, b, pawl_tok(h, k), node->name, index);
  pawl_buf_addc(b, '}');
  h->plan.sent++;
  h->plan.children++;
  h->plan.more = 1;
}

pawl_code pawl_call_begin(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_error *err) {
  pawl_str none = {0}, input = node->input;
  int64_t now = pawl_engine_now(e);
  pawl_code rc = PAWL_OK;
  char text[39];
  pawl_token *t;
  pawl_id id;

  if (node->has_input) {
    TRY(pawl_run_handler(e, h, k, node, PAWL_HANDLER_INPUT, none, none, err));
    if (e->result.has_output) input = pawl_buf_str(&e->result.output);
  }
  TRY(pawl_id_make(&e->ids, now, &id, err));
  send_child(h, k, node, &id, input, -1);
  t = pawl_tok(h, k);
  t->state = PAWL_TOKEN_WAITING;
  pawl_wait_until(t, now, node->limit_us);
  text[0] = '"';
  pawl_id_format(&id, text + 1);
  text[37] = '"';
  text[38] = 0;
  pawl_detail_set(t, "child", pawl_strz(text));
out:
  return rc;
}

/* {"track":false,"parent_end":"leave",...}: what is not for the child itself
 * is taken out. */
static void split_options(pawl_str options, pawl_buf *out, int *track,
                          int *leave) {
  pawl_str value;
  pawl_buf_adds(out, options.len ? options : pawl_strz("{}"));
  *track = 1;
  *leave = 0;
  if (!options.len) return;
  if (pawl_json_get(options, "track", &value))
    *track = pawl_json_kind_of(value) != PAWL_JSON_FALSE;
  if (pawl_json_get(options, "parent_end", &value))
    *leave = pawl_str_eqz(value, "\"leave\"");
  pawl_object_set(out, "track", (pawl_str){NULL, 0});
  pawl_object_set(out, "parent_end", (pawl_str){NULL, 0});
  if (!out->len) pawl_buf_addz(out, "{}");
}

static void take_start(pawl_engine *e, pawl_held *h, pawl_str start) {
  pawl_str id = {0}, workflow = {0}, input = {0}, options = {0};
  pawl_buf rest = {.alloc = &e->alloc};
  int track, leave;
  pawl_effect *f;
  pawl_token none = {0};

  (void)pawl_json_get(start, "id", &id);
  (void)pawl_json_get(start, "workflow", &workflow);
  (void)pawl_json_get(start, "input", &input);
  (void)pawl_json_get(start, "options", &options);
  split_options(options, &rest, &track, &leave);
  f = pawl_plan_effect(&h->plan, PAWL_EFFECT_MESSAGE, 0);
  f->has_id = id.len == 38 && pawl_id_parse(id.at + 1, 36, &f->id);
  pawl_buf_addz(&f->name, "start");
  pawl_buf_addz(&f->data, "{\"workflow\":");
  pawl_buf_adds(&f->data, workflow);
  pawl_buf_addz(&f->data, ",\"input\":");
  pawl_buf_adds(&f->data, input.len ? input : pawl_strz("{}"));
  pawl_buf_addz(&f->data, ",\"options\":");
  pawl_buf_adds(&f->data, pawl_buf_str(&rest));
  pawl_buf_addz(&f->data, track ? ",\"track\":true" : ",\"track\":false");
  pawl_buf_addz(&f->data, leave ? ",\"parent_end\":\"leave\""
                                : ",\"parent_end\":\"cancel\"");
  none.visit = h->plan.visit;
  add_parent(h, &f->data, &none, h->plan.node ? h->plan.node : "", -1);
  pawl_buf_addc(&f->data, '}');
  h->plan.sent++;
  h->plan.children += track;
  h->plan.more = 1;
  pawl_buf_deinit(&rest);
}

void pawl_take_starts(pawl_engine *e, pawl_held *h, pawl_str starts) {
  pawl_json_iter it = {0};
  pawl_str key, one;
  while (starts.len && pawl_json_each(starts, &it, &key, &one))
    take_start(e, h, one);
}

/* ---- items ---- */

static pawl_effect *item_effect(pawl_held *h, int32_t token, int64_t no,
                                const char *state, pawl_str data) {
  pawl_effect *f = pawl_plan_effect(&h->plan, PAWL_EFFECT_ITEM, token);
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

static void count_item(pawl_held *h, int parked, const char *what, int by) {
  pawl_token *t = pawl_tok(h, parked);
  pawl_detail_set_int(t, what, pawl_detail_int(t, what) + by);
}

static void begin_item(pawl_engine *e, pawl_held *h, int parked,
                       const pawl_node *node, pawl_str item, int64_t no) {
  int32_t token = pawl_tok(h, parked)->no;
  char index[24], from[32];
  pawl_effect *f;
  pawl_error err;
  pawl_id id;
  int k;

  count_item(h, parked, "live", 1);
  pawl_detail_set_int(pawl_tok(h, parked), "next", no + 1);
  if (node->workflow) {
    if (pawl_id_make(&e->ids, pawl_engine_now(e), &id, &err) != PAWL_OK) {
      h->plan.failed = 1;
      return;
    }
    send_child(h, parked, node, &id, item, no);
    f = item_effect(h, token, no, "started", pawl_strz("null"));
    f->id = id;
    f->has_id = 1;
    return;
  }
  snprintf(index, sizeof index, "%" PRId64, no + 1);
  k = pawl_token_branch(h, parked, node->name,
                        pawl_engine_intern(e, pawl_strz(index)));
  if (k < 0) return;
  item_data(pawl_tok(h, k), item, no);
  if (h->plan.nrecords) {
    snprintf(from, sizeof from, "[%" PRId64 "]", pawl_record_seq(h));
    pawl_detail_set(pawl_tok(h, k), "from", pawl_strz(from));
  }
  pawl_go_to(e, h, k, node->branch, NULL);
}

static int64_t count_members(pawl_str list) {
  pawl_json_iter it = {0};
  pawl_str key, one;
  int64_t n = 0;
  while (pawl_json_each(list, &it, &key, &one)) n++;
  return n;
}

/* Items that are at hand, as far as the window goes. */
static void begin_from(pawl_engine *e, pawl_held *h, int parked,
                       const pawl_node *node, pawl_str items) {
  pawl_json_iter it = {0};
  pawl_str key, one;
  for (int64_t no = 0;
       no < node->window && pawl_json_each(items, &it, &key, &one); no++)
    begin_item(e, h, parked, node, one, no);
}

static pawl_code begin_each(pawl_engine *e, pawl_held *h, int k,
                            const pawl_node *node, int *to, pawl_error *err) {
  pawl_buf items = {.alloc = &e->alloc};
  pawl_str none = {0};
  pawl_code rc = PAWL_OK;
  int64_t total;
  pawl_effect *f;
  pawl_token *t;

  TRY(pawl_run_handler(e, h, k, node, PAWL_HANDLER_ITEMS, none, none, err));
  pawl_buf_adds(&items, e->result.has_output ? pawl_buf_str(&e->result.output)
                                             : pawl_strz("[]"));
  TRY(pawl_buf_check(&items, err));
  total = count_members(pawl_buf_str(&items));
  if (!total) {
    pawl_record *r;
    TRY(pawl_output_fits(e, h, node, pawl_strz("[]"), err));
    r = pawl_token_record(e, h, k, "each");
    pawl_buf_addz(&r->text, "no items");
    if (node->into) pawl_vars_set(h, node->into, pawl_strz("[]"), &r->changes);
    *to = node->next[0].to;
    goto out;
  }
  t = pawl_tok(h, k);
  t->state = PAWL_TOKEN_WAITING;
  pawl_wait_until(t, pawl_engine_now(e), node->limit_us);
  pawl_detail_set_int(t, "total", total);
  pawl_detail_set_int(t, "next", 0);
  pawl_detail_set_int(t, "live", 0);
  pawl_detail_set_int(t, "done", 0);
  pawl_detail_set_int(t, "failed", 0);
  f = pawl_plan_effect(&h->plan, PAWL_EFFECT_ITEMS, t->no);
  pawl_buf_adds(&f->data, pawl_buf_str(&items));
  begin_from(e, h, k, node, pawl_buf_str(&items));
out:
  pawl_buf_deinit(&items);
  return rc;
}

int pawl_each_around(pawl_held *h, int k, int *level) {
  pawl_tokens *all = &h->plan.tokens;
  const pawl_token *t = pawl_tok(h, k);

  for (int d = t->depth - 1; d >= 0; d--) {
    const pawl_token *parked = pawl_tokens_find(all, t->scope[d]);
    const pawl_node *node;
    if (!parked || !pawl_token_is_live(parked->state)) continue;
    node = pawl_tok_node(h, (int)(parked - all->at));
    if (!node || node->kind != PAWL_KIND_EACH) continue;
    *level = d + 1;
    return (int)(parked - all->at);
  }
  return -1;
}

/* Without forks an item is one token, and what that has begun ends with it. */
static int may_have_siblings(const pawl_held *h) {
  for (int i = 0; i < h->def->nnodes; i++)
    if (h->def->nodes[i].kind == PAWL_KIND_FORK) return 1;
  return 0;
}

static int is_of_item(pawl_held *h, int k, int32_t each, int level,
                      int64_t no) {
  return pawl_tok_live(h, k) && pawl_token_is_in(pawl_tok(h, k), each) &&
         pawl_item_of(pawl_tok(h, k), level) == no;
}

/* Does a token of the item live still, when one has ended? */
static int item_lives(pawl_held *h, int32_t each, int level, int64_t no) {
  pawl_inside in;
  int k;

  if (!may_have_siblings(h)) return 0;
  in = pawl_inside_item(h, each, no);
  while ((k = pawl_inside_next(h, &in)) >= 0)
    if (is_of_item(h, k, each, level, no)) return 1;
  return 0;
}

/* Token k, and whoever is left of its item behind a join that did not wait for
 * all, ends with it. */
static void end_item(pawl_engine *e, pawl_held *h, int k, int32_t each,
                     int level, int64_t no, const char *why) {
  pawl_inside in;

  if (pawl_tok_live(h, k)) pawl_token_end(e, h, k, why);
  if (!may_have_siblings(h)) return;
  in = pawl_inside_item(h, each, no);
  while ((k = pawl_inside_next(h, &in)) >= 0)
    if (is_of_item(h, k, each, level, no)) pawl_token_end(e, h, k, why);
}

static void item_done(pawl_held *h, int parked, int64_t no, pawl_str result) {
  count_item(h, parked, "live", -1);
  count_item(h, parked, "done", 1);
  item_effect(h, pawl_tok(h, parked)->no, no, "done",
              result.len ? result : pawl_strz("null"));
}

void pawl_each_item_left(pawl_engine *e, pawl_held *h, int k) {
  pawl_str none = {0};
  int level, parked = pawl_each_around(h, k, &level);
  int64_t no;
  (void)e;
  if (parked < 0) return;
  no = pawl_item_of(pawl_tok(h, k), level);
  if (item_lives(h, pawl_tok(h, parked)->no, level, no)) return;
  item_done(h, parked, no, none);
}

pawl_code pawl_each_enter(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, int *to, pawl_error *err) {
  int level, parked = pawl_each_around(h, k, &level);
  pawl_str result = {0}, none = {0};
  int64_t no;

  if (parked < 0 || pawl_tok_node(h, parked) != node)
    return begin_each(e, h, k, node, to, err);
  no = pawl_item_of(pawl_tok(h, k), level);
  (void)pawl_detail_get(pawl_tok(h, k), "out", &result);
  item_done(h, parked, no, result);
  pawl_detail_set(pawl_tok(h, k), "out", none); /* it is kept there now */
  pawl_token_end(e, h, k, NULL);
  end_item(e, h, k, pawl_tok(h, parked)->no, level, no, "its item has ended");
  return PAWL_OK;
}

/* {"code","message"} of an error, for the list of results. */
static void short_error(const pawl_error *err, pawl_buf *out) {
  pawl_buf_addz(out, "{\"code\":");
  pawl_json_add_string(
      out,
      pawl_strz(err->reason[0] ? err->reason : pawl_code_name(err->code)));
  pawl_buf_addz(out, ",\"message\":");
  pawl_json_add_string(out, pawl_strz(err->message));
  pawl_buf_addc(out, '}');
}

/* One item has failed: noted, or the end of all of them. */
static void item_failed(pawl_engine *e, pawl_held *h, int parked, int64_t no,
                        const pawl_error *err) {
  const pawl_node *node = pawl_tok_node(h, parked);
  pawl_buf text = {.alloc = &e->alloc};

  short_error(err, &text);
  count_item(h, parked, "live", -1);
  count_item(h, parked, "failed", 1);
  item_effect(h, pawl_tok(h, parked)->no, no, "failed", pawl_buf_str(&text));
  pawl_buf_deinit(&text);
  if (node->collect) return;
  pawl_drop_scope(e, h, pawl_tok(h, parked)->no, "another item failed");
  pawl_stop_waiting(h, parked, "cancelled");
  e->result.no_retry = 1;
  pawl_fail_token(e, h, parked, err, 0);
}

void pawl_each_item_failed(pawl_engine *e, pawl_held *h, int parked, int level,
                           int k, const pawl_error *err) {
  int64_t no = pawl_item_of(pawl_tok(h, k), level);

  end_item(e, h, k, pawl_tok(h, parked)->no, level, no, "its item failed");
  item_failed(e, h, parked, no, err);
}

/* ---- what is at hand, and what is through ---- */

/* Does it belong to this visit? The token may have left another each. */
static int is_of(const pawl_item *item, const pawl_token *t) {
  return item->token == t->no && item->visit == t->visit;
}

static const pawl_item *loaded_item(const pawl_held *h, const pawl_token *t,
                                    int64_t no) {
  for (int i = 0; i < h->nitems; i++)
    if (is_of(&h->items[i], t) && h->items[i].no == no) return &h->items[i];
  return NULL;
}

/* Was its row looked for, so that there is none? Those are read that come next
 * in what is stored. */
static int is_missing(pawl_held *h, const pawl_token *t, int64_t no) {
  const pawl_token *stored = pawl_tokens_find(&h->tokens, t->no);

  return h->has_items && !h->look && stored && stored->visit == t->visit &&
         stored->state == PAWL_TOKEN_WAITING &&
         pawl_detail_int(stored, "total") &&
         pawl_detail_int(stored, "next") == no;
}

static void fail_missing(pawl_engine *e, pawl_held *h, const pawl_node *node,
                         const char *what, int64_t no) {
  pawl_error err;

  pawl_fail(&err, PAWL_CORRUPT,
            "%s %" PRId64 " of each \"%s\" is not in the store", what, no + 1,
            node->name);
  pawl_error_hint(&err, "somebody else has deleted it there");
  pawl_fail_outright(e, h, &err, pawl_strz(NULL));
}

/* Were the results read that are stored? */
static int has_results(pawl_held *h, const pawl_token *t) {
  const pawl_token *stored = pawl_tokens_find(&h->tokens, t->no);

  return h->has_items && !h->look && stored && stored->visit == t->visit &&
         pawl_detail_int(stored, "results");
}

/* The results, in order; failed ones as {"error":...}. The first item whose
 * row is gone; -1: they are all there. */
static int64_t list_results(pawl_held *h, int k, pawl_buf *list) {
  const pawl_token *t = pawl_tok(h, k);
  int64_t no = 0, total = pawl_detail_int(t, "total");

  pawl_buf_addc(list, '[');
  for (int i = 0; i < h->nitems; i++) {
    if (!is_of(&h->items[i], t)) continue;
    if (h->items[i].no != no) return no;
    if (no++) pawl_buf_addc(list, ',');
    pawl_buf_adds(list, pawl_buf_str(&h->items[i].data));
  }
  pawl_buf_addc(list, ']');
  return no < total ? no : -1;
}

static void finish_each(pawl_engine *e, pawl_held *h, int k,
                        const pawl_node *node) {
  pawl_buf list = {.alloc = &e->alloc};
  pawl_error err = {0};
  const pawl_token *t;
  pawl_record *r;
  int64_t missing = node->into ? list_results(h, k, &list) : -1;

  if (missing >= 0) {
    pawl_buf_deinit(&list);
    fail_missing(e, h, node, "the result of item", missing);
    return;
  }
  if (list.failed) h->plan.failed = 1;
  if (pawl_output_fits(e, h, node, pawl_buf_str(&list), &err) != PAWL_OK) {
    pawl_buf_deinit(&list);
    pawl_fail_token(e, h, k, &err, 0);
    return;
  }
  r = pawl_token_record(e, h, k, "each");
  t = pawl_tok(h, k);
  pawl_buf_addf(&r->text, "%" PRId64 " done, %" PRId64 " failed",
                pawl_detail_int(t, "done"), pawl_detail_int(t, "failed"));
  if (node->into)
    pawl_vars_set(h, node->into, pawl_buf_str(&list), &r->changes);
  pawl_buf_deinit(&list);
  h->plan.outcome = "done";
  pawl_leave(e, h, k, node->next[0].to);
}

/* 1: it is through, and has gone on. */
static int settle_each(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node) {
  for (;;) {
    pawl_token *t = pawl_tok(h, k);
    int64_t total = pawl_detail_int(t, "total");
    int64_t next = pawl_detail_int(t, "next");
    int64_t gone = pawl_detail_int(t, "done") + pawl_detail_int(t, "failed");
    const pawl_item *item;
    if (h->plan.failed || t->detail.failed)
      return 0; /* N7: it counts no more */
    if (gone >= total) {
      /* results are loaded before it goes on, not in this very decision */
      if (node->into && !has_results(h, t)) {
        pawl_detail_set_int(t, "results", 1);
        h->look = h->look ? h->look : 1;
        return 0;
      }
      finish_each(e, h, k, node);
      return 1;
    }
    if (next >= total || pawl_detail_int(t, "live") >= node->window) return 0;
    item = loaded_item(h, t, next);
    if (!item && is_missing(h, t, next)) {
      fail_missing(e, h, node, "item", next);
      return 0;
    }
    if (!item) {
      h->look = h->look ? h->look : 1;
      return 0;
    }
    begin_item(e, h, k, node, pawl_buf_str(&item->data), next);
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) return 0;
  }
}

void pawl_eachs_settle(pawl_engine *e, pawl_held *h) {
  for (int k = 0; k < h->plan.tokens.n; k++) {
    const pawl_node *node;
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) return;
    if (pawl_tok(h, k)->state != PAWL_TOKEN_WAITING) continue;
    node = pawl_tok_node(h, k);
    if (node && node->kind == PAWL_KIND_EACH) settle_each(e, h, k, node);
  }
}

int pawl_eachs_wait(pawl_held *h) {
  for (int k = 0; k < h->plan.tokens.n; k++) {
    const pawl_node *node = pawl_tok_node(h, k);
    if (pawl_tok(h, k)->state == PAWL_TOKEN_WAITING && node &&
        node->kind == PAWL_KIND_EACH)
      return 1;
  }
  return 0;
}

/* ---- what children say ---- */

static void text_of(pawl_held *h, pawl_str object, const char *name, char *to,
                    size_t size) {
  pawl_buf text = {.alloc = h->plan.alloc};
  pawl_str value;
  to[0] = 0;
  if (pawl_json_kind_of(object) == PAWL_JSON_OBJECT &&
      pawl_json_get(object, name, &value) &&
      pawl_json_kind_of(value) == PAWL_JSON_STRING) {
    pawl_json_unquote(value, &text);
    pawl_str_copy(to, size, pawl_buf_str(&text));
    if (text.failed) h->plan.failed = 1;
  }
  pawl_buf_deinit(&text);
}

static int is_own_code(const char *text) {
  for (int code = 0; code < PAWL_NCODES; code++)
    if (!strcmp(text, pawl_code_name((pawl_code)code))) return 1;
  return 0;
}

/* The child's own error, as the call's: with the code that its script gave. */
static void child_error(pawl_held *h, pawl_str data, const char *status,
                        pawl_error *err) {
  pawl_str error = {0};
  char message[sizeof err->message];

  (void)pawl_json_get(data, "error", &error);
  text_of(h, error, "message", message, sizeof message);
  pawl_fail(err, PAWL_SCRIPT, "the child %s%s%s",
            !strcmp(status, "cancelled") ? "was cancelled" : "failed",
            message[0] ? ": " : "", message);
  text_of(h, error, "code", err->reason, sizeof err->reason);
  if (!err->reason[0] || is_own_code(err->reason))
    pawl_copy_text(
        err->reason, sizeof err->reason,
        !strcmp(status, "cancelled") ? "child_cancelled" : "child_failed");
}

/* What the nodes behind the call see as ctx.event. */
static void set_child_event(pawl_token *t, pawl_str data, const char *status,
                            pawl_str what) {
  pawl_str child;
  pawl_buf_clear(&t->event);
  pawl_buf_addf(&t->event, "{\"name\":\"child.%s\"", status);
  if (pawl_json_get(data, "child", &child)) {
    pawl_buf_addz(&t->event, ",\"id\":");
    pawl_buf_adds(&t->event, child);
  }
  pawl_buf_addz(&t->event, ",\"data\":");
  pawl_buf_adds(&t->event, what.at ? what : pawl_strz("null"));
  pawl_buf_addc(&t->event, '}');
  t->changed = 1;
}

static void call_done(pawl_engine *e, pawl_held *h, int k,
                      const pawl_node *node, pawl_str data,
                      const char *status) {
  pawl_str output = {0}, error = {0};
  pawl_record *r;
  pawl_error err;
  int to = pawl_node_next(node, status, strlen(status));

  if (to < 0 && !strcmp(status, "completed")) to = pawl_node_next(node, "", 0);
  if (to < 0) {
    child_error(h, data, status, &err);
    e->result.no_retry = 0;
    e->result.retry_after_us = -1;
    pawl_fail_token(e, h, k, &err, 0);
    return;
  }
  if (!strcmp(status, "completed"))
    (void)pawl_json_get(data, "output", &output);
  if (pawl_output_fits(e, h, node, output, &err) != PAWL_OK) {
    pawl_fail_token(e, h, k, &err, 0);
    return;
  }
  r = pawl_token_record(e, h, k, "child");
  if (node->nnext > 1 || node->next[0].name[0])
    pawl_buf_addz(&r->transition, status);
  if (!strcmp(status, "completed")) {
    pawl_take_output(h, node, r, output);
  } else if (pawl_json_get(data, "error", &error)) {
    pawl_buf_adds(&r->error, error); /* why it takes that way */
  }
  set_child_event(pawl_tok(h, k), data, status, output.at ? output : error);
  h->plan.outcome = "done";
  pawl_leave(e, h, k, to);
}

static int same_child(const pawl_token *t, pawl_str data) {
  pawl_str child, waited;
  return !pawl_detail_get(t, "child", &waited) ||
         !pawl_json_get(data, "child", &child) || pawl_str_eq(child, waited);
}

void pawl_child_done(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  pawl_str data = pawl_buf_str(&l->data), value, output = {0};
  int64_t no = 0, visit = 0, index = 0;
  char status[16];
  pawl_error err;

  if (pawl_json_get(data, "token", &value)) (void)pawl_json_int(value, &no);
  if (pawl_json_get(data, "visit", &value)) (void)pawl_json_int(value, &visit);
  if (pawl_json_get(data, "index", &value)) (void)pawl_json_int(value, &index);
  text_of(h, data, "status", status, sizeof status);
  if (h->plan.failed) return; /* nothing of it counts */
  for (int k = 0; k < h->plan.tokens.n; k++) {
    const pawl_token *t = pawl_tok(h, k);
    const pawl_node *node;
    if (t->no != no || t->visit != visit || t->state != PAWL_TOKEN_WAITING)
      continue;
    node = pawl_tok_node(h, k);
    if (!node) return;
    if (node->kind == PAWL_KIND_CALL) {
      pawl_order_note(h, k, l->received_us);
      if (same_child(t, data)) call_done(e, h, k, node, data, status);
    } else if (node->kind == PAWL_KIND_EACH) {
      (void)pawl_json_get(data, "output", &output);
      if (!strcmp(status, "completed")) {
        item_done(h, k, index, output);
      } else {
        child_error(h, data, status, &err);
        item_failed(e, h, k, index, &err);
      }
    }
    return;
  }
}
