#include "decision.h"

#include <assert.h>
#include <string.h>

#include "../value/json.h"

/* What is done to each text, by its name. */
#define TEXTS(X) \
  X(workflow)    \
  X(input)       \
  X(parent_place) X(vars) X(undo) X(undo_output) X(undo_data) X(undo_transfers)
#define LETTER_TEXTS(X) \
  X(kind) X(name) X(key) X(event_id) X(source) X(by) X(data)

void pawl_decision_init(pawl_decision *d, const pawl_world *world) {
  memset(d, 0, sizeof *d);
  d->world = world;
  d->alloc = world->alloc;
  d->result = world->result;
#define INIT(name) d->name.alloc = d->alloc;
  TEXTS(INIT)
  pawl_state_init(&d->state, d->alloc);
  pawl_plan_init(&d->plan, d->alloc);
}

void pawl_decision_deinit(pawl_decision *d) {
#define DEINIT(name) pawl_buf_deinit(&d->name);
  TEXTS(DEINIT)
#define DEINIT_LETTER(name) pawl_buf_deinit(&d->letters[i].name);
  for (int i = 0; i < d->letters_cap; i++) {
    LETTER_TEXTS(DEINIT_LETTER)
  }
  for (int i = 0; i < d->items_cap; i++) pawl_buf_deinit(&d->items[i].data);
  pawl_release(d->alloc, d->letters,
               sizeof *d->letters * (size_t)d->letters_cap);
  pawl_release(d->alloc, d->items, sizeof *d->items * (size_t)d->items_cap);
  pawl_state_deinit(&d->state, d->alloc);
  pawl_plan_deinit(&d->plan);
}

const char *pawl_world_name(const pawl_world *w, pawl_str object,
                            const char *member, int *failed) {
  pawl_buf text = {.alloc = w->alloc};
  const char *kept = NULL;

  if (!pawl_json_get_text(object, member, &text)) return NULL;
  if (!text.failed) kept = w->name(w->ud, pawl_buf_str(&text));
  if (!kept) *failed = 1;
  pawl_buf_deinit(&text);
  return kept;
}

/* ---- where it stands in the plan ---- */

const pawl_node *pawl_tok_node(pawl_decision *d, int k) {
  pawl_token *t = pawl_tok(d, k);
  assert(k >= 0 && k < d->plan.state.tokens.n);
  int at =
      t->node && d->def ? pawl_def_node_at(d->def, t->node, &t->node_at) : -1;
  return at < 0 ? NULL : &d->def->nodes[at];
}

/* ---- what the plan leaves ---- */

int pawl_decision_saw_all(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;

  if (p->after == PAWL_AFTER_END) return 1;
  if (pawl_stays_ended(d)) return p->heard || !p->stays;
  return p->heard &&
         (!d->plan.look ||
          (p->state.status == PAWL_STATUS_SUSPENDED && !pawl_is_behind(d)));
}

int pawl_decision_has_seldom(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;

  if (p->version || pawl_state_differs(&p->state, &d->state)) return 1;
  return p->after != PAWL_AFTER_END && /* an end has all that in its own row */
         (!pawl_str_eq(pawl_buf_str(&p->state.output),
                       pawl_buf_str(&d->state.output)) ||
          pawl_state_folded_differs(&p->state, &d->state));
}

/* The live ones stand now as the plan has them, with or without rows of their
 * own. */
static void keep_live(pawl_token_list *all) {
  pawl_token *folded = pawl_tokens_lone(all);
  int n = 0;

  if (folded && folded->stored) folded = NULL;
  for (int k = 0; k < all->n; k++) {
    pawl_token *t = &all->at[k];
    assert(!k || all->at[k - 1].no != t->no); /* P1 */
    if (!pawl_token_is_live(t->state)) continue;
    t->stored = t != folded;
    t->changed = 0;
    if (n != k) { /* the dead one's buffers serve again */
      pawl_token dead = all->at[n];
      all->at[n] = *t;
      *t = dead;
      folded = folded == t ? &all->at[n] : folded;
    }
    n++;
  }
  all->n = n;
}

static void drop_taken(pawl_decision *d) {
  int n = 0;
  for (int k = 0; k < d->nletters; k++) {
    pawl_letter l = d->letters[k];
    if (pawl_plan_takes(&d->plan, &l.no)) continue;
    d->letters[k] = d->letters[n];
    d->letters[n++] = l;
  }
  d->nletters = n;
}

void pawl_decision_accept(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  pawl_state was = d->state;

  assert(!p->failed);                       /* P3 */
  assert(p->state.visit >= d->state.visit); /* P1 */
  assert(p->state.last_token >= was.last_token || !was.visit);
  assert(p->after != PAWL_AFTER_BACK && p->after != PAWL_AFTER_FORGET);
  d->state = p->state; /* they change places: nothing is copied */
  p->state = was;
  keep_live(&d->state.tokens);
  d->commits++;
  d->seq += p->nrecords;
  if (d->nletters) drop_taken(d);
  if (p->vars_changed) pawl_buf_swap(&d->vars, &p->vars);
  if (p->version) {
    d->version = p->version;
    d->def = NULL;
  }
  d->one_by_one = d->has_items = d->taken = 0;
  d->rounds++;
}
