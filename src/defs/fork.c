/* Where tokens can be, before any is there; see fork.h. */
#include "fork.h"

#include <assert.h>
#include <inttypes.h>

#include "refuse.h"

/* MAX_STATES bounds memory, MAX_WORK time: a walk that begins again and again
 * is given up. Most graphs have few states: room for more is made when there
 * are. */
enum {
  FEW_STATES = 250,
  MAX_STATES = 20000,
  MAX_WORK = 40 * MAX_STATES,
  OUTSIDE = 0, /* the empty stack */
  NONE = -1
};

/* A stack is the number of its top frame. A fork that is entered is a frame
 * without a branch, what stands in a branch one above it. So children have
 * higher numbers than their parents. */
typedef struct frame {
  int parent; /* frame below: a branch's is its fork's, a fork's a stack */
  int fork;   /* node */
  int label;  /* index into `next`; -1 - node: what that join gathered */
  int depth;  /* branches from the bottom on; a fork's: as below it */
  int open;   /* a fork without a branch */
} frame;

typedef struct state {
  int node, stack;
} state;

/* What is known of a join. */
typedef struct meeting {
  int known;   /* 0; else in which order its depth was found, from 1 */
  int arrived; /* has any token come? */
  int common;  /* stack: what all that came have in common */
  int depth, stays;
} meeting;

/* The first thing that is wrong; a walk goes on without that token. */
typedef struct trouble {
  enum { FINE, ENTERED_AGAIN, TOO_DEEP, NOT_ON_TOP } what;
  int node;  /* at */
  int inner; /* frame */
} trouble;

typedef struct walker {
  const pawl_def *def;
  pawl_error *err;
  char *memory; /* of all that follows but `edges` */
  size_t size;
  int max;        /* states; twice as many frames */
  unsigned slots; /* of a hash: above those and a power of two */
  int is_short;   /* there are more states, of those that may be */
  frame *frames;
  state *states;
  int *frame_slots, *state_slots; /* index + 1; 0: free */
  int nframes, nstates, done;     /* states before `done` are expanded */
  int64_t work;
  int full, nknown;
  trouble trouble;
  meeting *meetings;   /* one for each node */
  unsigned char *back; /* for each node: an each's items came back to it */
  /* scratch, one for each node */
  int *queue;
  unsigned char *mark, *other;
  /* successors of every state, once depths are known */
  int *edges, *first;
  int nedges, edges_cap, collecting;
  /* scratch, one for each frame and state */
  int *counts;
  unsigned char *can;
} walker;

/* ---- memory ---- */

/* One piece: `size` counts when at is NULL. */
static void *cut(char **at, size_t *size, size_t bytes) {
  char *piece = *at;
  bytes = (bytes + 15) / 16 * 16;
  *size += bytes;
  if (piece) *at += bytes;
  return piece;
}

static size_t lay_out(walker *w, char *at) {
  size_t size = 0, n = (size_t)w->def->nnodes, max = (size_t)w->max;
  w->frames = cut(&at, &size, 2 * max * sizeof *w->frames);
  w->states = cut(&at, &size, max * sizeof *w->states);
  w->frame_slots = cut(&at, &size, w->slots * sizeof(int));
  w->state_slots = cut(&at, &size, w->slots * sizeof(int));
  w->meetings = cut(&at, &size, n * sizeof *w->meetings);
  w->queue = cut(&at, &size, n * sizeof(int));
  w->back = cut(&at, &size, n);
  w->mark = cut(&at, &size, n);
  w->other = cut(&at, &size, n);
  w->first = cut(&at, &size, (max + 1) * sizeof(int));
  w->counts = cut(&at, &size, 2 * max * sizeof(int));
  w->can = cut(&at, &size, max);
  return size;
}

static pawl_code no_memory(walker *w) {
  return pawl_fail(w->err, PAWL_NOMEM, "not enough memory to check a graph");
}

static pawl_code open_walker(walker *w) {
  for (w->slots = 1; w->slots <= 2 * (unsigned)w->max;) w->slots *= 2;
  w->size = lay_out(w, NULL);
  w->memory = pawl_calloc(w->def->alloc, w->size);
  if (!w->memory) return no_memory(w);
  lay_out(w, w->memory);
  return PAWL_OK;
}

static void close_walker(walker *w) {
  pawl_release(w->def->alloc, w->edges, (size_t)w->edges_cap * sizeof(int));
  pawl_release(w->def->alloc, w->memory, w->size);
}

/* ---- frames and states, each once ---- */

static unsigned mix(const walker *w, unsigned a, unsigned b, unsigned c) {
  unsigned h = a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du;
  h ^= h >> 15;
  h *= 0x2c1b3c6du;
  return (h ^ h >> 13) % w->slots;
}

static void no_room(walker *w) {
  w->full = 1;
  w->is_short = w->max < MAX_STATES;
}

/* The frame above `parent`; OUTSIDE when there is no room any more. */
static int intern_frame(walker *w, int parent, int fork, int label,
                        int is_open) {
  unsigned at = mix(w, (unsigned)parent, (unsigned)fork,
                    (unsigned)label * 2 + (unsigned)is_open);
  frame *f;
  for (; w->frame_slots[at]; at = (at + 1) % w->slots) {
    f = &w->frames[w->frame_slots[at] - 1];
    if (f->parent == parent && f->fork == fork && f->label == label &&
        f->open == is_open)
      return w->frame_slots[at] - 1;
  }
  if (w->nframes == 2 * w->max) {
    no_room(w);
    return OUTSIDE;
  }
  f = &w->frames[w->nframes++];
  f->parent = parent;
  f->fork = fork;
  f->label = label;
  f->open = is_open;
  f->depth = w->frames[parent].depth + !is_open;
  w->frame_slots[at] = w->nframes;
  return w->nframes - 1;
}

static int push(walker *w, int stack, int fork, int label) {
  int fork_frame = intern_frame(w, stack, fork, 0, 1);
  return intern_frame(w, fork_frame, fork, label, 0);
}

/* The stack below the top branch. */
static int below(const walker *w, int stack) {
  assert(stack != 0); /* that of a token outside all forks */
  return w->frames[w->frames[stack].parent].parent;
}

static int down_to(const walker *w, int stack, int depth) {
  while (w->frames[stack].depth > depth) stack = below(w, stack);
  return stack;
}

static int in_common(const walker *w, int a, int b) {
  int da = w->frames[a].depth, db = w->frames[b].depth;
  a = down_to(w, a, db);
  b = down_to(w, b, da);
  while (a != b) {
    a = below(w, a);
    b = below(w, b);
  }
  return a;
}

/* The branch of a fork that a stack is in; OUTSIDE: it is not in it. */
static int inside(const walker *w, int stack, int fork) {
  while (stack != OUTSIDE && w->frames[stack].fork != fork)
    stack = below(w, stack);
  return stack;
}

/* Its index; NONE when it is new. `*slot` is where it belongs. */
static int find_state(const walker *w, int node, int stack, unsigned *slot) {
  unsigned at = mix(w, (unsigned)node, (unsigned)stack, 1);
  for (; w->state_slots[at]; at = (at + 1) % w->slots) {
    const state *s = &w->states[w->state_slots[at] - 1];
    if (s->node == node && s->stack == stack) return w->state_slots[at] - 1;
  }
  *slot = at;
  return NONE;
}

static void note(walker *w, int what, int node, int inner) {
  if (w->trouble.what != FINE) return;
  w->trouble.what = what;
  w->trouble.node = node;
  w->trouble.inner = inner;
}

static int is_over_branches(const pawl_node *node) {
  return node->kind == PAWL_KIND_EACH && node->branch >= 0;
}

/* May the token come in? What is refused has no state. */
static int may_enter(walker *w, int node, int stack) {
  const pawl_node *n = &w->def->nodes[node];
  if (n->kind != PAWL_KIND_FORK && !is_over_branches(n)) return 1;
  int own = inside(w, stack, node);
  if (own != OUTSIDE && n->kind == PAWL_KIND_EACH) {
    if (own == stack)
      w->back[node] = 1; /* the item has ended; `next` was taken before */
    else
      note(w, NOT_ON_TOP, node, stack);
    return 0;
  }
  if (own != OUTSIDE) {
    note(w, ENTERED_AGAIN, node, own);
    return 0;
  }
  if (w->frames[stack].depth < PAWL_MAX_DEPTH) return 1;
  note(w, TOO_DEEP, node, stack);
  return 0;
}

static void arrive(walker *w, int join, int stack) {
  meeting *m = &w->meetings[join];
  m->common = m->arrived ? in_common(w, m->common, stack) : stack;
  m->arrived = 1;
}

static void add_edge(walker *w, int to) {
  if (PAWL_ROOM(w->def->alloc, w->edges, w->nedges, w->edges_cap))
    w->edges[w->nedges++] = to;
  else
    w->full = 1;
}

static void go(walker *w, int node, int stack) {
  unsigned slot = 0;
  if (w->full || !may_enter(w, node, stack)) return;
  int found = find_state(w, node, stack, &slot);
  if (w->collecting) {
    assert(found != NONE);
    add_edge(w, found);
    return;
  }
  if (++w->work > MAX_WORK) w->full = 1;
  if (found != NONE || w->full) return;
  if (w->nstates == w->max) {
    no_room(w);
    return;
  }
  w->states[w->nstates].node = node;
  w->states[w->nstates++].stack = stack;
  w->state_slots[slot] = w->nstates;
  if (w->def->nodes[node].kind == PAWL_KIND_JOIN) arrive(w, node, stack);
}

/* ---- one step of a walk ---- */

/* The frame of the fork that a join ends, in a stack that came to it. */
static int ended_fork(const walker *w, const meeting *m, int stack) {
  return w->frames[down_to(w, stack, m->depth + 1)].parent;
}

static int behind_join(walker *w, int join, int stack) {
  const meeting *m = &w->meetings[join];
  if (w->frames[stack].depth <= m->depth) return stack;
  int fork_frame = ended_fork(w, m, stack);
  if (!m->stays) return w->frames[fork_frame].parent;
  return intern_frame(w, fork_frame, w->frames[fork_frame].fork, -1 - join, 0);
}

/* 0: it stands before a join whose depth is not known. */
static int expand(walker *w, state s) {
  const pawl_node *node = &w->def->nodes[s.node];
  int stack = s.stack;
  if (node->kind == PAWL_KIND_JOIN) {
    if (!w->meetings[s.node].known) return 0;
    stack = behind_join(w, s.node, stack);
  }
  for (int i = 0; i < node->nbeside; i++) go(w, node->beside[i], stack);
  if (node->kind == PAWL_KIND_FORK) {
    for (int i = 0; i < node->nnext; i++)
      go(w, node->next[i].to, push(w, stack, s.node, i));
    return 1;
  }
  for (int i = 0; i < node->nnext; i++) go(w, node->next[i].to, stack);
  for (int i = 0; i < node->non_error; i++) go(w, node->on_error[i].to, stack);
  if (is_over_branches(node)) go(w, node->branch, push(w, stack, s.node, 0));
  return 1;
}

static void begin_again(walker *w) {
  size_t n = (size_t)w->def->nnodes;
  memset(w->frame_slots, 0, w->slots * sizeof(int));
  memset(w->state_slots, 0, w->slots * sizeof(int));
  memset(w->back, 0, n);
  memset(&w->trouble, 0, sizeof w->trouble);
  memset(&w->frames[OUTSIDE], 0, sizeof *w->frames);
  w->frames[OUTSIDE].fork = NONE;
  w->nframes = 1;
  w->nstates = w->done = 0;
  for (size_t i = 0; i < n; i++) w->meetings[i].arrived = 0;
  go(w, w->def->start, OUTSIDE);
  if (w->def->on_cancel >= 0) go(w, w->def->on_cancel, OUTSIDE);
}

/* Goes through all states; those before unknown joins are left for later by
 * being passed over: go_on_from finds them again. */
static void walk(walker *w) {
  for (; w->done < w->nstates && !w->full; w->done++)
    expand(w, w->states[w->done]);
}

static void go_on_from(walker *w, int join) {
  for (int i = 0; i < w->nstates; i++)
    if (w->states[i].node == join) expand(w, w->states[i]);
}

/* ---- nodes that lead to nodes ---- */

static void reach_mark(walker *w, unsigned char *mark, int *depth, int node,
                       int not_past) {
  if (node == not_past || mark[node]) return;
  mark[node] = 1;
  w->queue[(*depth)++] = node;
}

/* Marks what can be come to from behind `from`; `mark` holds 2 for the nodes
 * that are not passed nor counted, and so is `not_past`. */
static void reach(walker *w, int from, int not_past, unsigned char *mark) {
  const pawl_node *node = &w->def->nodes[from];
  int depth = 0, to;
  for (int i = 0; (to = pawl_node_target(node, i)) >= 0; i++)
    reach_mark(w, mark, &depth, to, not_past);
  while (depth > 0) {
    node = &w->def->nodes[w->queue[--depth]];
    for (int i = 0; (to = pawl_node_target(node, i)) >= 0; i++)
      reach_mark(w, mark, &depth, to, not_past);
  }
}

/* Blocks in w->mark all forks that tokens before a join are inside of. */
static void block_forks_of(walker *w, int join) {
  for (int i = 0; i < w->nstates; i++) {
    int stack = w->states[i].stack;
    if (w->states[i].node != join) continue;
    for (; stack != OUTSIDE; stack = below(w, stack))
      w->mark[w->frames[stack].fork] = 2;
  }
}

static int is_waiting(const walker *w, int node) {
  const meeting *m = &w->meetings[node];
  return w->def->nodes[node].kind == PAWL_KIND_JOIN && m->arrived && !m->known;
}

/* Sets other[j] for waiting joins that a waiting join leads to. */
static void find_led_to(walker *w) {
  size_t n = (size_t)w->def->nnodes;
  memset(w->other, 0, n);
  for (int k = 0; k < w->def->nnodes; k++) {
    if (!is_waiting(w, k)) continue;
    memset(w->mark, 0, n);
    block_forks_of(w, k);
    reach(w, k, k, w->mark);
    w->work += w->nstates;
    for (int j = 0; j < w->def->nnodes; j++)
      if (w->mark[j] == 1) w->other[j] = 1;
  }
}

/* ---- depths ---- */

/* MAYBE: a join that could be it has no depth yet. */
typedef enum answer { NO, MAYBE, YES } answer;

/* Is there a join that ends the same fork as `join`, and that a token of
 * `fork` can come to without this join, and this join's token too without the
 * fork? */
static answer meets_again(walker *w, int join, int fork) {
  const meeting *m = &w->meetings[join];
  size_t n = (size_t)w->def->nnodes;
  answer found = NO;
  memset(w->mark, 0, n);
  memset(w->other, 0, n);
  reach(w, join, fork, w->mark);
  w->other[fork] = 2;
  /* its boundaries lead away from outside of it */
  for (int i = 0; i < w->def->nodes[fork].nbeside; i++)
    w->other[w->def->nodes[fork].beside[i]] = 2;
  reach(w, fork, join, w->other);
  for (int k = 0; k < w->def->nnodes; k++) {
    const meeting *o = &w->meetings[k];
    if (k == join || w->def->nodes[k].kind != PAWL_KIND_JOIN) continue;
    if (w->mark[k] != 1 || w->other[k] != 1) continue;
    if (o->known && o->depth == m->depth) return YES;
    if (!o->known) found = MAYBE;
  }
  return found;
}

static answer gathers_a_part(walker *w, int join) {
  const meeting *m = &w->meetings[join];
  answer found = NO;
  int last = NONE;
  for (int i = 0; i < w->nstates; i++) {
    int fork, stack = w->states[i].stack;
    if (w->states[i].node != join) continue;
    if (w->frames[stack].depth <= m->depth) continue;
    fork = w->frames[ended_fork(w, m, stack)].fork;
    if (fork == last) continue;
    answer one = meets_again(w, join, fork);
    if (one > found) found = one;
    last = fork;
  }
  return found;
}

/* A join whose token may stay in its fork stays, until it is known better. */
static void settle(walker *w, int join) {
  meeting *m = &w->meetings[join];
  m->depth = w->frames[m->common].depth;
  m->known = ++w->nknown;
  m->stays = gathers_a_part(w, join) != NO;
}

/* Gives waiting joins their depth, those first that no other leads to; in a
 * circle of them the first as written. 0: there were none. */
static int settle_some(walker *w) {
  int first = NONE, some = 0;
  find_led_to(w);
  /* settle uses the same marks: choose first */
  for (int i = 0; i < w->def->nnodes; i++) {
    if (!is_waiting(w, i)) continue;
    if (first == NONE) first = i;
    if (!w->other[i]) w->queue[some++] = i;
  }
  if (some == 0 && first != NONE) w->queue[some++] = first;
  for (int i = 0; i < some; i++) w->counts[i] = w->queue[i];
  for (int i = 0; i < some; i++) settle(w, w->counts[i]);
  for (int i = 0; i < some; i++) go_on_from(w, w->counts[i]);
  return some > 0;
}

/* Puts a join right, and forgets what was found later. Where its token goes is
 * known only now: asking again, without the later ones, would not tell. */
static void correct(walker *w, int join) {
  meeting *m = &w->meetings[join];
  int depth = w->frames[m->common].depth, number = m->known;
  for (int i = 0; i < w->def->nnodes; i++)
    if (w->meetings[i].known > number) w->meetings[i].known = 0;
  w->nknown = number;
  if (depth == m->depth) {
    m->stays = !m->stays;
    return;
  }
  w->nknown--;
  settle(w, join);
}

static int is_earlier(const walker *w, int join, int than) {
  return than == NONE || w->meetings[join].known < w->meetings[than].known;
}

/* The first join as found whose depth has fallen with what has come since;
 * NONE. */
static int find_fallen(const walker *w) {
  int wrong = NONE;
  for (int i = 0; i < w->def->nnodes; i++) {
    const meeting *m = &w->meetings[i];
    if (m->known && m->arrived && w->frames[m->common].depth < m->depth &&
        is_earlier(w, i, wrong))
      wrong = i;
  }
  return wrong;
}

/* The first whose depth is not what it should be, now that all is known, or
 * whose token stays in a fork that it should leave, or the reverse. */
static int find_wrong(walker *w) {
  int wrong = NONE;
  for (int i = 0; i < w->def->nnodes; i++) {
    const meeting *m = &w->meetings[i];
    if (!m->known || !m->arrived || !is_earlier(w, i, wrong)) continue;
    if (w->frames[m->common].depth != m->depth ||
        gathers_a_part(w, i) == (m->stays ? NO : YES))
      wrong = i;
  }
  return wrong;
}

static pawl_code too_complicated(walker *w) {
  if (w->is_short) return PAWL_DEFINITION; /* not yet: in_room */
  pawl_fail(w->err, PAWL_DEFINITION,
            "workflow \"%s\" is too complicated: its forks and joins allow "
            "more than %d places for a token",
            w->def->code, MAX_STATES);
  pawl_error_hint(w->err, "call a workflow of its own for a part of it");
  return pawl_refuse_at(w->def, w->def->line, w->err);
}

static pawl_code find_depths(walker *w) {
  begin_again(w);
  for (;;) {
    walk(w);
    if (w->full) return too_complicated(w);
    int wrong = find_fallen(w);
    if (wrong == NONE && settle_some(w)) continue;
    if (wrong == NONE) wrong = find_wrong(w);
    if (wrong == NONE) return PAWL_OK;
    correct(w, wrong);
    begin_again(w);
  }
}

/* ---- what is wrong ---- */

/* A branch's name in messages: branch "a", join "b". */
typedef struct shown {
  const char *what, *name;
} shown;

static shown show(const walker *w, int stack) {
  const frame *f = &w->frames[stack];
  shown s = {"branch", ""};
  if (f->label < 0) {
    s.what = "join";
    s.name = w->def->nodes[-1 - f->label].name;
  } else if (w->def->nodes[f->fork].kind == PAWL_KIND_FORK) {
    s.name = w->def->nodes[f->fork].next[f->label].name;
  } else {
    s.name = w->def->nodes[w->def->nodes[f->fork].branch].name;
  }
  return s;
}

static pawl_code refuse_trouble(walker *w) {
  const trouble *t = &w->trouble;
  const pawl_node *node = &w->def->nodes[t->node];
  if (t->what == FINE) return PAWL_OK;
  shown from = show(w, t->inner);
  switch (t->what) {
    case FINE:
    case ENTERED_AGAIN:
      return pawl_refuse_node(w->def, node, w->err,
                              "join all its branches before going back to it",
                              ": is entered again from its own %s \"%s\"",
                              from.what, from.name);
    case TOO_DEEP:
      return pawl_refuse_node(
          w->def, node, w->err, "call a workflow of its own for that part",
          ": stands inside %d forks already; so deep they cannot be nested",
          PAWL_MAX_DEPTH);
    case NOT_ON_TOP:
      break;
  }
  return pawl_refuse_node(
      w->def, node, w->err, "join the branches first: an item ends once",
      ": %s \"%s\" of " PAWL_NODE_FMT " leads back to it", from.what,
      from.name, PAWL_NODE_ARGS(&w->def->nodes[w->frames[t->inner].fork]));
}

/* Does all that comes after end the whole instance? */
static int ends_all(walker *w, int node) {
  memset(w->mark, 0, (size_t)w->def->nnodes);
  reach(w, node, NONE, w->mark);
  for (int i = 0; i < w->def->nnodes; i++) {
    const pawl_node *n = &w->def->nodes[i];
    if (w->mark[i] && n->kind == PAWL_KIND_FINISH && !n->status_failed &&
        !n->terminate)
      return 0;
  }
  return 1;
}

/* A node that is reached both within an item of `each` and without. Finishes
 * may be: there an item ends early. So may what ends the instance anyway. */
static int shared_node(walker *w, int each) {
  for (int i = 0; i < w->def->nnodes; i++) w->other[i] = 0;
  for (int i = 0; i < w->nstates; i++) {
    const state *s = &w->states[i];
    int within = inside(w, s->stack, each) != OUTSIDE;
    w->other[s->node] |= within ? 1 : 2;
  }
  for (int i = 0; i < w->def->nnodes; i++)
    if (w->other[i] == 3 && w->def->nodes[i].kind != PAWL_KIND_FINISH &&
        !ends_all(w, i))
      return i;
  return NONE;
}

static pawl_code check_each(walker *w, int each) {
  const pawl_node *node = &w->def->nodes[each];
  if (!is_over_branches(node)) return PAWL_OK;
  if (!w->back[each]) {
    pawl_refuse_node(w->def, node, w->err, NULL,
                     ": its branch \"%s\" cannot come back to it",
                     w->def->nodes[node->branch].name);
    pawl_error_hint(w->err, "end it with next = \"%s\"", node->name);
    return PAWL_DEFINITION;
  }
  int shared = shared_node(w, each);
  if (shared == NONE) return PAWL_OK;
  pawl_refuse_node(w->def, &w->def->nodes[shared], w->err, NULL,
                   ": belongs to a branch of " PAWL_NODE_FMT
                   ", and is reached without it too",
                   PAWL_NODE_ARGS(node));
  pawl_error_hint(w->err, "end the branch with next = \"%s\"", node->name);
  return PAWL_DEFINITION;
}

/* How many tokens can come to a join at once: counts[f] of every frame. Of
 * several forks that a branch may open, the one with most. */
static void count_arrivals(walker *w, int join) {
  memset(w->counts, 0, (size_t)w->nframes * sizeof(int));
  for (int i = 0; i < w->nstates; i++)
    if (w->states[i].node == join) w->counts[w->states[i].stack] = 1;
  for (int i = w->nframes - 1; i > 0; i--) {
    const frame *f = &w->frames[i];
    if (!f->open)
      w->counts[f->parent] += w->counts[i];
    else if (w->counts[f->parent] < w->counts[i])
      w->counts[f->parent] = w->counts[i];
  }
}

/* All that came has nothing but a branch in common: nobody meets here. */
static pawl_code refuse_lonely(walker *w, int join, int stack) {
  const pawl_node *node = &w->def->nodes[join];
  const pawl_node *fork;
  if (stack == OUTSIDE ||
      is_over_branches(&w->def->nodes[w->frames[stack].fork]))
    return pawl_refuse_node(w->def, node, w->err,
                            "lead the branches of a fork to it, or remove it",
                            ": has no fork before it");
  fork = &w->def->nodes[w->frames[stack].fork];
  shown only = show(w, stack);
  return pawl_refuse_node(w->def, node, w->err,
                          "lead another of its branches there, or remove it",
                          ": only %s \"%s\" of " PAWL_NODE_FMT
                          " comes to it: its branches can never meet",
                          only.what, only.name, PAWL_NODE_ARGS(fork));
}

static pawl_code refuse_expect(walker *w, int join, int fork_frame) {
  const pawl_node *node = &w->def->nodes[join];
  const pawl_node *fork = &w->def->nodes[w->frames[fork_frame].fork];
  int n = w->counts[fork_frame];
  pawl_refuse_node(w->def, node, w->err, NULL,
                   ": expects %" PRId64 ", but only %d of " PAWL_NODE_FMT
                   " can come to it",
                   node->expect, n, PAWL_NODE_ARGS(fork));
  pawl_error_hint(w->err, "expect = \"all\", or at most %d", n);
  return PAWL_DEFINITION;
}

static pawl_code refuse_items(walker *w, int join, int each) {
  const pawl_node *node = &w->def->nodes[each];
  pawl_refuse_node(w->def, &w->def->nodes[join], w->err, NULL,
                   ": a branch of " PAWL_NODE_FMT " leads to it",
                   PAWL_NODE_ARGS(node));
  pawl_error_hint(w->err,
                  "an each gathers its items itself: next = \"%s\" ends one",
                  node->name);
  return PAWL_DEFINITION;
}

/* The innermost `each` that a stack is in above a depth; NONE. */
static int each_above(const walker *w, int stack, int depth) {
  for (; w->frames[stack].depth > depth; stack = below(w, stack))
    if (w->def->nodes[w->frames[stack].fork].kind == PAWL_KIND_EACH)
      return w->frames[stack].fork;
  return NONE;
}

/* Looks at what comes: *some is a stack, the common one only when there is no
 * other. */
static pawl_code check_arrivals(walker *w, int join, int *some) {
  const meeting *m = &w->meetings[join];
  *some = m->common;
  for (int i = 0; i < w->nstates; i++) {
    int each, stack = w->states[i].stack;
    if (w->states[i].node != join) continue;
    each = each_above(w, stack, m->depth);
    if (each != NONE) return refuse_items(w, join, each);
    if (*some == m->common) *some = stack;
  }
  return PAWL_OK;
}

static pawl_code check_join(walker *w, int join) {
  const meeting *m = &w->meetings[join];
  int most = 0, some, too_few = NONE;
  MUST(check_arrivals(w, join, &some));
  count_arrivals(w, join);
  for (int i = 1; i < w->nframes; i++) {
    const frame *f = &w->frames[i];
    if (!f->open || f->parent != m->common || w->counts[i] == 0) continue;
    if (w->counts[i] > most) most = w->counts[i];
    if (w->def->nodes[join].expect > w->counts[i]) too_few = i;
  }
  if (most <= 1) return refuse_lonely(w, join, some);
  return too_few == NONE ? PAWL_OK : refuse_expect(w, join, too_few);
}

/* ---- who can still come to a join ---- */

static pawl_code collect_edges(walker *w) {
  w->collecting = 1;
  for (int i = 0; i < w->nstates; i++) {
    w->first[i] = w->nedges;
    expand(w, w->states[i]);
  }
  w->first[w->nstates] = w->nedges;
  return w->full ? no_memory(w) : PAWL_OK;
}

static int is_behind(const walker *w, int s, int join) {
  const meeting *m = &w->meetings[join];
  return w->frames[w->states[s].stack].depth > m->depth;
}

static int leads_on(const walker *w, int s) {
  for (int i = w->first[s]; i < w->first[s + 1]; i++)
    if (w->can[w->edges[i]]) return 1;
  return 0;
}

/* can[s]: from the state s, inside the fork that the join ends, a token can
 * come to the join without leaving the fork. As states are mostly in their
 * order, a pass from the end does nearly everything at once. Returns a state
 * of the join itself from which its token comes back; NONE. */
static int find_who_can(walker *w, int join) {
  int grown = 1, again = NONE;
  for (int i = 0; i < w->nstates; i++)
    w->can[i] = w->states[i].node == join && is_behind(w, i, join);
  while (grown) {
    grown = 0;
    for (int i = w->nstates - 1; i >= 0; i--) {
      if (w->can[i] || !is_behind(w, i, join) || !leads_on(w, i)) continue;
      w->can[i] = 1;
      grown = 1;
    }
  }
  for (int i = 0; i < w->nstates; i++)
    if (w->can[i] && w->states[i].node == join && leads_on(w, i)) again = i;
  return again;
}

static unsigned char *row_of(const pawl_def *d, int join) {
  size_t row = ((size_t)d->nnodes + 7) / 8;
  assert(d->meets && d->nodes[join].kind == PAWL_KIND_JOIN);
  return d->meets + row * (size_t)d->nodes[join].join_row;
}

int pawl_def_meets(const pawl_def *def, int node, int join) {
  assert(node >= 0 && node < def->nnodes);
  return row_of(def, join)[node / 8] >> (node % 8) & 1;
}

/* It would come after the join has fired. This also rules out two joins that
 * wait for one another: what goes on from one would come back by the other. */
static pawl_code refuse_return(walker *w, int join, int s) {
  const frame *f =
      &w->frames[ended_fork(w, &w->meetings[join], w->states[s].stack)];
  return pawl_refuse_node(
      w->def, &w->def->nodes[join], w->err,
      "a join joins once: join all branches before going back",
      ": what goes on from it comes back to it inside " PAWL_NODE_FMT,
      PAWL_NODE_ARGS(&w->def->nodes[f->fork]));
}

static pawl_code note_who_can(walker *w, int join) {
  unsigned char *row = row_of(w->def, join);
  int again = find_who_can(w, join);
  if (again != NONE) return refuse_return(w, join, again);
  memset(row, 0, ((size_t)w->def->nnodes + 7) / 8);
  for (int i = 0; i < w->nstates; i++) {
    int node = w->states[i].node;
    if (w->can[i] && node != join)
      row[node / 8] |= (unsigned char)(1 << node % 8);
  }
  return PAWL_OK;
}

static pawl_code check_all(walker *w) {
  const pawl_def *d = w->def;
  MUST(find_depths(w));
  MUST(refuse_trouble(w));
  for (int i = 0; i < d->nnodes; i++) {
    if (d->nodes[i].kind != PAWL_KIND_JOIN) continue;
    MUST(check_join(w, i));
    d->nodes[i].join_depth = w->meetings[i].depth;
    d->nodes[i].join_stays = w->meetings[i].stays;
  }
  for (int i = 0; i < d->nnodes; i++) MUST(check_each(w, i));
  MUST(collect_edges(w));
  for (int i = 0; i < d->nnodes; i++)
    if (d->nodes[i].kind == PAWL_KIND_JOIN) MUST(note_who_can(w, i));
  return PAWL_OK;
}

static int has_tokens(const pawl_def *d) {
  for (int i = 0; i < d->nnodes; i++)
    if (d->nodes[i].kind == PAWL_KIND_FORK ||
        d->nodes[i].kind == PAWL_KIND_JOIN || is_over_branches(&d->nodes[i]))
      return 1;
  return 0;
}

/* `check`, with room for as many states as there are. */
static pawl_code in_room(walker *w, pawl_code (*check)(walker *)) {
  for (int max = FEW_STATES;; max = MAX_STATES) {
    *w = (walker){.def = w->def, .err = w->err, .max = max};
    MUST(open_walker(w));
    const pawl_code rc = check(w);
    if (!w->is_short) return rc;
    close_walker(w);
  }
}

pawl_code pawl_fork_check(const pawl_def *def, pawl_error *err) {
  walker w = {.def = def, .err = err};
  pawl_code rc;

  if (!has_tokens(def)) return PAWL_OK;
  TRY(in_room(&w, check_all));
out:
  close_walker(&w);
  return rc;
}

/* ---- for those who move tokens ---- */

typedef struct spot {
  int node, depth;
  int forks[PAWL_MAX_DEPTH];
} spot;

struct pawl_spots {
  const pawl_alloc *alloc;
  spot *at;
  int n;
};

static pawl_code make_spots(const pawl_def *def, int n, pawl_spots **out,
                            pawl_error *err) {
  pawl_spots *s = pawl_calloc(def->alloc, sizeof *s);
  spot *at = pawl_calloc(def->alloc, sizeof *at * (size_t)n);

  if (!s || !at) {
    pawl_release(def->alloc, s, sizeof *s);
    pawl_release(def->alloc, at, sizeof *at * (size_t)n);
    return pawl_fail(err, PAWL_NOMEM, "not enough memory to look at a graph");
  }
  s->alloc = def->alloc;
  s->at = at;
  s->n = n;
  *out = s;
  return PAWL_OK;
}

/* Without forks, every node is outside of them. */
static pawl_code plain_spots(const pawl_def *def, pawl_spots **out,
                             pawl_error *err) {
  pawl_code rc = make_spots(def, def->nnodes, out, err);
  for (int i = 0; rc == PAWL_OK && i < def->nnodes; i++)
    (*out)->at[i].node = i;
  return rc;
}

static void fill_spot(const walker *w, state from, spot *to) {
  int stack = from.stack;
  to->node = from.node;
  to->depth = w->frames[stack].depth;
  assert(to->depth <= PAWL_MAX_DEPTH); /* G2 */
  for (int d = to->depth; d > 0; d--, stack = below(w, stack))
    to->forks[d - 1] = w->frames[stack].fork;
}

pawl_code pawl_spots_new(const pawl_def *def, pawl_spots **out,
                         pawl_error *err) {
  walker w = {.def = def, .err = err};
  pawl_code rc;

  if (!has_tokens(def)) return plain_spots(def, out, err);
  TRY(in_room(&w, find_depths));
  TRY(make_spots(def, w.nstates, out, err));
  for (int i = 0; i < w.nstates; i++)
    fill_spot(&w, w.states[i], &(*out)->at[i]);
out:
  close_walker(&w);
  return rc;
}

void pawl_spots_free(pawl_spots *s) {
  if (!s) return;
  pawl_release(s->alloc, s->at, sizeof *s->at * (size_t)s->n);
  pawl_release(s->alloc, s, sizeof *s);
}

const int *pawl_spots_at(const pawl_spots *s, int node, int i, int *depth) {
  for (int k = 0; k < s->n; k++) {
    if (s->at[k].node != node || i-- > 0) continue;
    *depth = s->at[k].depth;
    return s->at[k].forks;
  }
  return NULL;
}
