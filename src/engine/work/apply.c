/* Instances are held for their inboxes: their letters are taken, here and now.
 */
#include "apply.h"

#include <assert.h>

#include "../versions/versions.h"
#include "aside.h"
#include "claim.h"
#include "commit.h"
#include "deliver.h"
#include "rounds.h"

#define TAKES_MAX 100 /* decisions of one visit to an inbox */

/* What a visit borrows, and gives back. */
typedef struct visit {
  const pawl_id *ids;
  int n;
  const pawl_id *outer; /* who delivers a message to them */
  int nouter, fresh, suspect;
  pawl_budget budget; /* of the tick that reaches for them */
  struct {
    pawl_held *h;
    pawl_def *def;
  } lent[PAWL_APPLY_MAX];
  int nlent;
} visit;

/* Its handler waits here: the holder is this engine. Whoever seizes it takes
 * it from us; else the letter is found by the next look. 1: nothing to take. */
static int is_waiting(pawl_engine *e, const pawl_id *id, int seize) {
  pawl_held *h = pawl_held_find(e, id, NULL);

  e->await_look_us = 0;
  if (!h) return 0;
  if (seize) pawl_held_free(e, h);
  return !seize;
}

/* The graph is enough for taking letters. Code out of the store is not loaded
 * for them: a definition is a program, and who only cancels has not asked for
 * one to be run. */
static pawl_code lend_graph(pawl_engine *e, pawl_held *h, visit *v,
                            pawl_error *err) {
  int own = 0;
  pawl_code rc;

  if (h->fate != PAWL_FATE_FOREIGN) return PAWL_OK;
  rc =
      pawl_graph_find(e, h->d.workflow.at, h->d.version, &h->d.def, &own, err);
  if (rc == PAWL_NOTFOUND) return PAWL_OK;
  if (rc == PAWL_OK) h->fate = PAWL_FATE_STAYS;
  if (own) {
    v->lent[v->nlent].h = h;
    v->lent[v->nlent++].def = h->d.def;
  }
  return rc;
}

/* A slot whose commit is in doubt needs its graph yet. */
static void take_graphs_back(visit *v) {
  int n = 0;

  for (int i = 0; i < v->nlent; i++)
    if (v->lent[i].h->state == PAWL_SLOT_FREE)
      pawl_def_free(v->lent[i].def);
    else
      v->lent[n++] = v->lent[i];
  v->nlent = n;
}

/* Has any of them a letter left? */
static int any_letters(pawl_engine *e, const visit *v) {
  for (int i = 0; i < v->n; i++) {
    const pawl_held *h = pawl_held_ready(e, &v->ids[i]);
    if (h && h->d.nletters) return 1;
  }
  return 0;
}

/* Everything that lies there is taken; a request that comes in meanwhile has
 * somebody else to take it. */
static pawl_code take_inboxes(pawl_engine *e, const visit *v,
                              pawl_error *err) {
  for (int i = 0; i < TAKES_MAX; i++) {
    MUST(pawl_rounds_run(e, 1, 0, err));
    if (!any_letters(e, v)) break;
  }
  return pawl_claim_release(e, err);
}

/* Those that were claimed are to take their letters, and nothing else. */
static pawl_code take_held(pawl_engine *e, visit *v, pawl_error *err) {
  int nheld = 0;

  for (int i = 0; i < v->n; i++) {
    pawl_held *h = pawl_held_ready(e, &v->ids[i]);
    if (!h) continue;
    h->d.turn = PAWL_TURN_LETTERS;
    MUST(lend_graph(e, h, v, err));
    nheld++;
  }
  if (!nheld) return PAWL_OK;
  MUST(take_inboxes(e, v, err));
  e->holding = 1;
  return e->deliver_mono_us ? PAWL_OK : pawl_deliver(e, err);
}

/* What has come in while they were held woke nobody: who sent it found them so,
 * and there may be no other to take it. */
static pawl_code take_late(pawl_engine *e, visit *v, pawl_error *err) {
  for (int i = 0; i < TAKES_MAX && e->let_go_due; i++) {
    e->let_go_due = 0;
    take_graphs_back(v); /* before others are in their slots */
    MUST(pawl_claim_these(e, v->ids, v->n, err));
    MUST(take_held(e, v, err));
  }
  return PAWL_OK;
}

static void begin_visit(pawl_engine *e, visit *v, const pawl_id *ids, int n) {
  *v = (visit){.ids = ids,
               .n = n,
               .outer = e->inbox_of,
               .nouter = e->ninboxes,
               .fresh = e->fresh_ready,
               .suspect = e->suspect_ready,
               .budget = e->budget};
  e->inbox_of = ids;
  e->ninboxes = n;
  e->let_go_due = 0;
}

static pawl_code end_visit(pawl_engine *e, visit *v, pawl_code rc,
                           pawl_error *err) {
  e->holding = 0;
  e->inbox_of = v->outer;
  e->ninboxes = v->nouter;
  rc = pawl_rounds_end(e, rc, err);
  e->budget = v->budget; /* what it took is what that one took */
  take_graphs_back(v);   /* those that are in doubt are lost */
  e->fresh_ready = v->fresh;
  e->suspect_ready = v->suspect;
  return rc;
}

pawl_code pawl_apply(pawl_engine *e, const pawl_id *id, int seize, int *got,
                     pawl_error *err) {
  pawl_tick_stats stats;
  pawl_code rc = PAWL_OK;
  visit v;

  *got = 0;
  begin_visit(e, &v, id, 1);
  TRY(pawl_rounds_begin(e, 0, &stats, err));
  TRY(pawl_commit_all(e, err));
  TRY(pawl_aside_give_back(e, id, 1, err));
  if (is_waiting(e, id, seize)) goto out;
  TRY(seize ? pawl_claim_seize(e, id, got, err)
            : pawl_claim_one(e, id, got, err));
  if (*got) TRY(take_held(e, &v, err));
  TRY(take_late(e, &v, err));
out:
  return end_visit(e, &v, rc, err);
}

pawl_code pawl_apply_many(pawl_engine *e, const pawl_id *ids, int n, int *got,
                          pawl_error *err) {
  pawl_tick_stats stats;
  pawl_code rc = PAWL_OK;
  visit v;

  assert(n <= PAWL_APPLY_MAX);
  memset(got, 0, sizeof *got * (size_t)n);
  begin_visit(e, &v, ids, n);
  TRY(pawl_rounds_begin(e, 0, &stats, err));
  TRY(pawl_commit_all(e, err));
  TRY(pawl_aside_give_back(e, ids, n, err));
  /* with handlers that wait here one is looked at by itself */
  if (e->nwaiting) goto out;
  TRY(pawl_claim_these(e, ids, n, err));
  for (int i = 0; i < n; i++) got[i] = pawl_held_ready(e, &ids[i]) != NULL;
  TRY(take_held(e, &v, err));
  TRY(take_late(e, &v, err));
out:
  return end_visit(e, &v, rc, err);
}
