/* What a node has given, as a handler asks for it. */
#include "outputs.h"

#include <assert.h>

#include "../../rules/kinds.h"
#include "../../rules/trim.h"
#include "../../value/json.h"
#include "services.h"

/* ---- at one token ---- */

static int gives(const char *type) {
  static const char *const types[] = {"step", "received", "task", "child"};

  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(type, types[i])) return 1;
  return 0;
}

/* Is its passing a record of one of these types? */
static int may_give(const pawl_node *node) {
  return pawl_kinds[node->kind]->gives && !node->has_condition;
}

/* The newest record of this decision; `token` 0: of any. NULL: none. */
static const pawl_record *planned(const pawl_held *h, pawl_str node,
                                  int32_t token) {
  const pawl_plan *p = &h->d.plan;

  for (int i = p->nrecords - 1; i >= 0; i--) {
    const pawl_record *r = &p->records[i];
    if (r->node && pawl_str_eqz(node, r->node) && gives(r->type) &&
        (!token || r->token == token))
      return r;
  }
  return NULL;
}

static pawl_code fail_lost(pawl_str node, pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_NOTFOUND, "keep it in a variable: into = \"...\"",
      "the output of \"%.*s\" is there no more: its history was trimmed",
      (int)(node.len < 64 ? node.len : 64), node.at);
}

/* What it gave as one token passed it; `token` 0: any. *found: it did. */
static pawl_code find(pawl_engine *e, const pawl_held *h, pawl_str node,
                      int32_t token, int *found, pawl_buf *out,
                      pawl_error *err) {
  const pawl_record *r = planned(h, node, token);
  pawl_rows rows;

  *found = r != NULL;
  if (r && r->has_output) pawl_buf_adds(out, pawl_buf_str(&r->output));
  if (r || !h->d.seq) return pawl_buf_check(out, err);
  MUST(PAWL_SERVICE_ASK(READ, history_given, &rows, PAWL_SLOT_MEMBERS(h),
                        .node = node, .token = token));
  if (!rows.nrows) return PAWL_OK;
  const pawl_history_given_row row = pawl_read_history_given(&rows, 0);
  if (row.seq <= row.upto) return fail_lost(node, err); /* or a newer one */
  *found = 1;
  pawl_buf_adds(out, row.output);
  return pawl_buf_check(out, err);
}

/* ---- those that led to it ---- */

enum { MOST_TOKENS = 64, MOST_ROWS = 64 };

typedef struct way {
  pawl_engine *e;
  const pawl_held *h;
  int32_t tokens[MOST_TOKENS]; /* the nearest first */
  int n;
} way;

static void add_token(way *w, int64_t token) {
  int i = 0;

  while (i < w->n && w->tokens[i] != token) i++;
  if (i == w->n && token > 0 && w->n < MOST_TOKENS)
    w->tokens[w->n++] = (int32_t)token;
}

/* The tokens of rows that are named so: [3,7]. */
static pawl_code add_rows(way *w, pawl_str list, pawl_error *err) {
  const pawl_plan *p = &w->h->d.plan;
  pawl_engine *e = w->e;
  const pawl_held *h = w->h;
  pawl_rows rows;
  int64_t seq;

  for (pawl_json_iter it = {0}; list.len && pawl_json_walk(list, &it);) {
    if (!pawl_json_int(it.value, &seq)) continue;
    if (seq > h->d.seq) {
      const int64_t i = seq - h->d.seq - 1;
      if (i < p->nrecords) add_token(w, p->records[i].token);
      continue;
    }
    MUST(PAWL_SERVICE_ASK(READ, history_token, &rows, PAWL_SLOT_MEMBERS(h),
                          .seq = seq));
    if (rows.nrows) add_token(w, pawl_read_history_token(&rows, 0).token);
  }
  return PAWL_OK;
}

/* What led to one of them: as its rows say, and what it is about to say. */
static pawl_code add_before(way *w, int32_t no, pawl_error *err) {
  const pawl_plan *p = &w->h->d.plan;
  const pawl_token *t =
      pawl_tokens_find((pawl_token_list *)&p->state.tokens, no);
  pawl_engine *e = w->e;
  const pawl_held *h = w->h;
  pawl_buf lists = {.alloc =
                        &e->alloc}; /* the rows go with the next question */
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  if (t) TRY(add_rows(w, pawl_buf_str(&pawl_detail_of(t)->from), err));
  for (int i = 0; i < p->nrecords; i++)
    if (p->records[i].token == no)
      TRY(add_rows(w, pawl_buf_str(&p->records[i].previous), err));
  if (!h->d.seq) goto out;
  TRY(PAWL_SERVICE_ASK(READ, history_led, &rows, PAWL_SLOT_MEMBERS(h),
                       .token = no, .max = MOST_ROWS));
  pawl_buf_addc(&lists, '[');
  for (int k = 0; k < rows.nrows; k++) {
    if (k) pawl_buf_addc(&lists, ',');
    pawl_buf_adds(&lists, pawl_read_history_led(&rows, k).previous);
  }
  pawl_buf_addc(&lists, ']');
  TRY(pawl_buf_check(&lists, err));
  for (pawl_json_iter it = {0}; pawl_json_walk(pawl_buf_str(&lists), &it);)
    TRY(add_rows(w, it.value, err));
out:
  pawl_buf_deinit(&lists);
  return rc;
}

/* Along its own way, as far back as that is known. */
static pawl_code find_behind(pawl_engine *e, const pawl_held *h,
                             const pawl_token *t, pawl_str node, int *found,
                             pawl_buf *out, pawl_error *err) {
  way w = {.e = e, .h = h};

  add_token(&w, t->no);
  for (int i = 0; i < w.n && !*found; i++) {
    MUST(find(e, h, node, w.tokens[i], found, out, err));
    if (!*found) MUST(add_before(&w, w.tokens[i], err));
  }
  for (int i = t->depth - 1; i >= 0 && !*found; i--)
    MUST(find(e, h, node, t->scope[i], found, out, err));
  return PAWL_OK;
}

/* ---- all of it ---- */

static pawl_code fail_none(const pawl_node *node, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_MISUSE,
                        node->kind == PAWL_KIND_EACH
                            ? "its results are in the variable that `into` "
                              "names"
                            : "a step, a wait for an event, a task or a call "
                              "gives one",
                        "ctx.output: %s \"%s\" gives no output",
                        pawl_kind_name(node->kind), node->name);
}

/* It is in no row: was there one, or is there no such node, or none that could
 * give anything? */
static pawl_code miss(pawl_engine *e, const pawl_held *h, pawl_str node,
                      pawl_error *err) {
  const int at = pawl_def_node(h->d.def, node.at, node.len);
  char name[65];
  pawl_rows rows;

  if (at >= 0 && !may_give(&h->d.def->nodes[at]))
    return fail_none(&h->d.def->nodes[at], err);
  MUST(PAWL_SERVICE_ASK(READ, history_trimmed, &rows, PAWL_SLOT_MEMBERS(h)));
  if (rows.nrows &&
      pawl_trimmed_visits(pawl_read_history_trimmed(&rows, 0).record, node,
                          &e->alloc) > 0)
    return fail_lost(node, err);
  if (at >= 0) return PAWL_OK;
  pawl_str_copy(name, sizeof name, node);
  pawl_fail(err, PAWL_MISUSE, "ctx.output: there is no node \"%s\"", name);
  pawl_def_hint_node(h->d.def, name, err);
  return PAWL_MISUSE;
}

pawl_code pawl_service_output(const pawl_call *call, pawl_str node,
                              pawl_buf *out, pawl_error *err) {
  pawl_engine *e = call->services_ud;
  const pawl_held *h = call->owner;
  const pawl_token *t = pawl_tokens_find(
      (pawl_token_list *)&h->d.plan.state.tokens, (int32_t)call->token);
  int found = 0;

  assert(h->state != PAWL_SLOT_FREE); /* N5 */
  if (t && t->depth) MUST(find_behind(e, h, t, node, &found, out, err));
  if (!found) MUST(find(e, h, node, 0, &found, out, err));
  return found ? PAWL_OK : miss(e, h, node, err);
}
