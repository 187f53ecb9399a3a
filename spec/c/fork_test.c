/* Where tokens can be: depths of joins, who can still come to them, and what
 * can never join. */
#include "../../src/defs/fork.h"

#include "test.h"

/* A graph in few words: nodes apart by ';', each "name kind to...". Kinds:
 *   s step   c choice   f fork   j join   e each: "branch next"   z finish
 *   j2 a join that expects two   x a failing finish */
static void add_node(pawl_buf *out, const char *text, int line) {
  char name[16], kind[8], to[5][16], words[100];
  int n;
  static const struct {
    char letter;
    const char *kind, *more;
  } KINDS[] = {{'s', "step", ",\"run\":true"},
               {'c', "choice", ",\"choose\":true"},
               {'f', "fork", ""},
               {'j', "join", ""},
               {'e', "each", ",\"items\":true"},
               {'z', "finish", ""},
               {'x', "finish", ",\"status\":\"failed\""}};
  size_t k = 0;
  pawl_str_copy(words, sizeof words, (pawl_str){text, strcspn(text, ";")});
  n = sscanf(words, " %15s %7s %15s %15s %15s %15s %15s", name, kind, to[0],
             to[1], to[2], to[3], to[4]) -
      2;
  while (KINDS[k].letter != kind[0]) k++;
  pawl_buf_addf(out, "%s{\"name\":\"%s\",\"kind\":\"%s\",\"line\":%d%s",
                line > 1 ? "," : "", name, KINDS[k].kind, line, KINDS[k].more);
  if (kind[1]) pawl_buf_addf(out, ",\"expect\":%s", kind + 1);
  if (kind[0] == 'e')
    pawl_buf_addf(out, ",\"branch\":\"%s\",\"next\":\"%s\"", to[0], to[1]);
  else if (n == 1 && kind[0] != 'f')
    pawl_buf_addf(out, ",\"next\":\"%s\"", to[0]);
  else if (n > 0) {
    for (int i = 0; i < n; i++)
      pawl_buf_addf(out, "%s\"%d%s\":\"%s\"", i ? "," : ",\"next\":{", i,
                    to[i], to[i]);
    pawl_buf_addc(out, '}');
  }
  pawl_buf_addc(out, '}');
}

static pawl_def *draw(const char *text, pawl_error *err) {
  pawl_buf graph = {0};
  pawl_str none = {NULL, 0};
  pawl_def *d = NULL;
  char first[16];
  sscanf(text, " %15s", first);
  pawl_buf_addf(&graph, "{\"code\":\"c\",\"start\":\"%s\",\"nodes\":[", first);
  for (int line = 1; text; line++) {
    add_node(&graph, text, line);
    text = strchr(text, ';');
    if (text) text++;
  }
  pawl_buf_addz(&graph, "]}");
  if (pawl_def_new("g.lua", pawl_buf_str(&graph), none, none, NULL, &d, err))
    printf("%s\n%s\n", err->message, graph.at), abort();
  pawl_buf_deinit(&graph);
  return d;
}

static int node(const pawl_def *d, const char *name) {
  int i = pawl_def_node(d, name, strlen(name));
  if (i < 0) printf("no node %s\n", name), abort();
  return i;
}

/* ---- graphs drawn by hand ---- */

/* "join depth stays: who can still come to it" */
typedef struct expected {
  const char *join;
  int depth, stays;
  const char *from; /* separated by spaces, with one at both ends */
} expected;

static void check_expected(const pawl_def *d, const expected *e) {
  const pawl_node *join = &d->nodes[node(d, e->join)];
  CHECK_INT(join->join_depth, e->depth);
  CHECK_INT(join->join_stays, e->stays);
  for (int i = 0; i < d->nnodes; i++) {
    char word[24];
    snprintf(word, sizeof word, " %s ", d->nodes[i].name);
    if (!CHECK_INT(pawl_def_meets(d, i, node(d, e->join)),
                   strstr(e->from, word) != NULL))
      printf("  from %s to %s\n", d->nodes[i].name, e->join);
  }
}

static void good_graphs_are_understood(void) {
  static const struct {
    const char *graph;
    expected joins[3];
  } GOOD[] = {
      {"f f a b; a s j; b s j; j j z; z z", {{"j", 0, 0, " a b "}}},
      /* straight from the fork */
      {"f f j j; j j s; s s z; z z", {{"j", 0, 0, " "}}},
      /* nested, each with its own join */
      {"f f a g; a s j; g f b c; b s k; c s k; k j d; d s j; j j z; z z",
       {{"j", 0, 0, " a g b c k d "}, {"k", 1, 0, " b c "}}},
      /* nested, to one join */
      {"f f a g; a s j; g f b c; b s j; c s j; j j z; z z",
       {{"j", 0, 0, " a g b c "}}},
      /* a part first, then the rest */
      {"f f a b c; a s j; b s j; c s k; j j d; d s k; k j z; z z",
       {{"j", 0, 1, " a b "}, {"k", 0, 0, " a b c d j "}}},
      /* the same, where one that may come to the part may skip it too */
      {"f f a b; a c j k; b s j; j j k; k j z; z z",
       {{"j", 0, 1, " a b "}, {"k", 0, 0, " a b j "}}},
      /* three parts in a row */
      {"f f a b c d; a s j; b s j; c s k; d s l; j j k; k j l; l j z; z z",
       {{"j", 0, 1, " a b "},
        {"k", 0, 1, " a b c j "},
        {"l", 0, 0, " a b c d j k "}}},
      /* a fork behind a part, which stays in the first */
      {"f f a b c; a s j; b s j; c s l; j j g; g f d e; d s k; e s k; k j l;"
       "l j z; z z",
       {{"j", 0, 1, " a b "},
        {"k", 1, 0, " d e "},
        {"l", 0, 0, " a b c j g d e k "}}},
      /* a branch that goes back before it joins */
      {"f f a b; a s c; c c a j; b s j; j j z; z z", {{"j", 0, 0, " a b c "}}},
      /* a way round the fork */
      {"q c f s; s s j; f f a b; a s j; b s j; j j z; z z",
       {{"j", 0, 0, " a b "}}},
      /* all of it again */
      {"f f a b; a s j; b s j; j j q; q c f z; z z", {{"j", 0, 0, " a b "}}},
      /* one fork after the other, and round */
      {"f f a b; a s j; b s j; j j g; g f d e; d s k; e s k; k j q; q c f z;"
       "z z",
       {{"j", 0, 0, " a b "}, {"k", 0, 0, " d e "}}},
      /* two forks, of which one is taken, to one join */
      {"q c f g; f f a b; a s j; b s j; g f d e; d s j; e s j; j j z; z z",
       {{"j", 0, 0, " a b d e "}}},
      /* two joins of one fork */
      {"f f a b c d; a s j; b s j; c s k; d s k; j j z; k j y; z z; y z",
       {{"j", 0, 0, " a b "}, {"k", 0, 0, " c d "}}},
      /* a branch that ends by itself */
      {"f f a b c; a s j; b s j; c s y; j j z; y z; z z",
       {{"j", 0, 0, " a b "}}},
      /* a retry in a branch of a fork: the inner token leaves its fork, as
       * the join where it meets the rest ends the outer one */
      {"m f f q; q s k; f f a b; a s j k; b s j; j j d; d c f k; k j z; z z",
       {{"j", 1, 0, " a b "}, {"k", 0, 0, " f a b j d q "}}},
      /* in a branch of an each */
      {"e e f z; f f a b; a s j; b s j; j j e; z z", {{"j", 1, 0, " a b "}}},
      /* an each in a branch */
      {"f f e b; e e a d; a s e; d s j; b s j; j j z; z z",
       {{"j", 0, 0, " e d b "}}},
      /* two of three */
      {"f f a b c; a s j; b s j; c s j; j j2 z; z z",
       {{"j", 0, 0, " a b c "}}},
  };
  for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
    pawl_error err = {0};
    int failed = test_failed;
    pawl_def *d = draw(GOOD[i].graph, &err);
    if (CHECK_INT(pawl_def_check(d, &err), PAWL_OK)) {
      for (int k = 0; k < 3 && GOOD[i].joins[k].join; k++)
        check_expected(d, &GOOD[i].joins[k]);
    } else {
      printf("  %s: %s\n", err.where, err.message);
    }
    if (test_failed > failed) printf("  of %s\n", GOOD[i].graph);
    pawl_def_free(d);
  }
}

static void what_can_never_join_is_refused(void) {
  static const struct {
    const char *graph, *where, *message, *hint;
  } BAD[] = {
      {"a s j; j j z; z z", "g.lua:2", "join \"j\": has no fork before it",
       "lead the branches of a fork to it, or remove it"},
      {"f f a b; a s j; b s z; j j z; z z", "g.lua:4",
       "join \"j\": only branch \"0a\" of fork \"f\" comes to it: its "
       "branches "
       "can never meet",
       "lead another of its branches there, or remove it"},
      {"f f a b; a s j; b s j; j j k; k j z; z z", "g.lua:5",
       "join \"k\": has no fork before it", NULL},
      {"f f a b; a s j; b s j; j j3 z; z z", "g.lua:4",
       "join \"j\": expects 3, but only 2 of fork \"f\" can come to it",
       "expect = \"all\", or at most 2"},
      {"f f a b; a s q; q c f j; b s j; j j z; z z", "g.lua:1",
       "fork \"f\": is entered again from its own branch \"0a\"",
       "join all its branches before going back to it"},
      {"f f a b c; a s j; b s j; c s k; j j q; q c f k; k j z; z z", "g.lua:1",
       "fork \"f\": is entered again from its own join \"j\"", NULL},
      /* each of two parts waits for the other */
      {"f f a b c d; a s j; b s j; c s k; d s k; j j q; q s k z; k j r;"
       "r s j z; z z",
       "g.lua:6",
       "join \"j\": what goes on from it comes back to it inside fork \"f\"",
       "a join joins once: join all branches before going back"},
      {"e e a z; a s y; y z; z z", "g.lua:1",
       "each \"e\": its branch \"a\" cannot come back to it",
       "end it with next = \"e\""},
      {"e e a b; a c e b; b s z; z z", "g.lua:3",
       "step \"b\": belongs to a branch of each \"e\", and is reached without "
       "it too",
       "end the branch with next = \"e\""},
      {"e e f z; f f a b; a s e; b s e; z z", "g.lua:1",
       "each \"e\": branch \"0a\" of fork \"f\" leads back to it",
       "join the branches first: an item ends once"},
      {"f f e b; e e a j; a c e j; b s j; j j z; z z", NULL,
       "join \"j\": a branch of each \"e\" leads to it", NULL},
      {"a f b q; b f c q; c f d q; d f e q; e f g q; g f h q; h f k q; k s q;"
       "q z",
       "g.lua:7",
       "fork \"h\": stands inside 6 forks already; so deep they cannot be "
       "nested",
       "call a workflow of its own for that part"},
      {"f f j q; q c f j; j j f; z z", NULL, NULL, NULL},
  };
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    pawl_error err = {0};
    pawl_def *d = draw(BAD[i].graph, &err);
    CHECK_INT(pawl_def_check(d, &err), PAWL_DEFINITION);
    if (BAD[i].where) CHECK_TEXT(err.where, BAD[i].where);
    if (BAD[i].message) CHECK_TEXT(err.message, BAD[i].message);
    if (BAD[i].hint) CHECK_TEXT(err.hint, BAD[i].hint);
    pawl_def_free(d);
  }
}

/* An item may end at a finish, and a branch may end the whole instance at
 * nodes that others use too. */
static void an_item_may_end_early(void) {
  static const char *const GOOD[] = {
      "e e a z; a c e z; z z",
      "e e a b; a c e g; b c g z; g s x; x x; z z",
      "f f e b; e e a d; a c e d; b s j; d z; j z",
  };
  for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
    pawl_error err = {0};
    pawl_def *d = draw(GOOD[i], &err);
    if (!CHECK_INT(pawl_def_check(d, &err), PAWL_OK))
      printf("  %s: %s\n", GOOD[i], err.message);
    pawl_def_free(d);
  }
}

/* Twenty choices between forks one after the other are walked once each; a
 * tower of alternatives that all stay open is too much. */
static void what_is_too_large_is_said_to_be(void) {
  pawl_buf text = {0};
  pawl_error err = {0};
  pawl_def *d;
  for (int i = 0; i < 300; i++)
    pawl_buf_addf(&text, "f%d f a%d b%d; a%d s j%d; b%d s j%d; j%d j f%d;", i,
                  i, i, i, i, i, i, i, i + 1);
  pawl_buf_addz(&text, "f300 z");
  d = draw(text.at, &err);
  CHECK_INT(pawl_def_check(d, &err), PAWL_OK);
  pawl_def_free(d);
  pawl_buf_clear(&text);
  for (int i = 0; i < 6; i++)
    pawl_buf_addf(&text, "f%d f n%d n%d n%d n%d n%d; n%d s f%d;", i, i, i, i,
                  i, i, i, i + 1);
  pawl_buf_addz(&text, "f6 z");
  d = draw(text.at, &err);
  CHECK_INT(pawl_def_check(d, &err), PAWL_DEFINITION);
  CHECK(strstr(err.message, "too complicated") != NULL);
  pawl_def_free(d);
  pawl_buf_deinit(&text);
}

/* ---- graphs drawn at random, against a game of tokens ---- */

static uint32_t seed;

static int below(int n) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (uint32_t)n);
}

/* A few nodes that lead mostly forward, the last of them a finish. */
static void draw_at_random(char *text, size_t size, int n) {
  static const char KINDS[] = "scfffjjjse";
  size_t at = 0;
  int each = -1; /* whose branch is to be led back */
  for (int i = 0; i < n; i++) {
    char kind = i == 0 ? 'f' : KINDS[below((int)sizeof KINDS - 1)];
    int ways = kind == 'f' ? 2 + below(2) : kind == 'c' || kind == 'e' ? 2 : 1;
    at += (size_t)snprintf(text + at, size - at, "n%d %c", i, kind);
    for (int k = 0; k < ways; k++) {
      int to = i + 1;
      if (k > 0 || below(3) == 0) to = below(20) ? to + below(4) : below(n);
      if (kind != 'e' && each >= 0 && below(2) == 0) to = each, each = -1;
      at += (size_t)snprintf(text + at, size - at, " n%d", to > n ? n : to);
    }
    at += (size_t)snprintf(text + at, size - at, ";");
    if (kind == 'e') each = i;
  }
  snprintf(text + at, size - at, "n%d z", n);
}

enum { TOKENS = 200, MOVES = 400 };

/* Where a token stands, and the forks it is inside of: their numbers, and an
 * each's node. */
typedef struct token {
  int node, depth, waits;
  int forks[PAWL_MAX_DEPTH], eachs[PAWL_MAX_DEPTH];
  int items; /* the number of those it waits for, at an each */
} token;

typedef struct game {
  const pawl_def *def;
  token tokens[TOKENS];
  int ntokens, last_fork;
  int fired[MOVES][2]; /* join, fork's number */
  int nfired;
} game;

static void put(game *g, token t, int to) {
  if (g->ntokens == TOKENS) return; /* it counts as one that has ended */
  t.node = to;
  t.waits = 0;
  g->tokens[g->ntokens++] = t;
}

static token take(game *g, int i) {
  token t = g->tokens[i];
  g->tokens[i] = g->tokens[--g->ntokens];
  return t;
}

static void enter(game *g, token *t, int each) {
  t->forks[t->depth] = ++g->last_fork;
  t->eachs[t->depth++] = each;
}

/* An item ends where it began; else none to two of them begin. */
static void move_each(game *g, int i) {
  token t = g->tokens[i];
  if (t.depth > 0 && t.eachs[t.depth - 1] == t.node) {
    take(g, i);
    return;
  }
  enter(g, &t, t.node);
  g->tokens[i].waits = 1;
  g->tokens[i].items = g->last_fork;
  for (int k = below(3); k > 0; k--) put(g, t, g->def->nodes[t.node].branch);
}

/* Does an each wait for items that are still there? */
static int has_items(const game *g, const token *t) {
  for (int k = 0; k < g->ntokens; k++)
    if (g->tokens[k].depth > t->depth &&
        g->tokens[k].forks[t->depth] == t->items)
      return 1;
  return 0;
}

/* A token that is not held up goes one node on; 0: an `all` join had fired
 * already. */
static int move(game *g, int i) {
  const pawl_node *n = &g->def->nodes[g->tokens[i].node];
  if (n->kind == PAWL_KIND_JOIN && g->tokens[i].depth > n->join_depth) {
    int fork = g->tokens[i].forks[n->join_depth];
    for (int k = 0; k < g->nfired; k++)
      if (g->fired[k][0] == g->tokens[i].node && g->fired[k][1] == fork)
        return 0;
    g->tokens[i].waits = 1;
  } else if (n->kind == PAWL_KIND_FORK) {
    token t = take(g, i);
    enter(g, &t, -1);
    for (int k = 0; k < n->nnext; k++) put(g, t, n->next[k].to);
  } else if (n->kind == PAWL_KIND_EACH) {
    move_each(g, i);
  } else if (n->nnext == 0) {
    take(g, i);
  } else {
    g->tokens[i].node = n->next[below(n->nnext)].to;
  }
  return 1;
}

/* Fires one join for which nobody can come any more, or ends an each whose
 * items have ended; 0: there is none. */
static int fire(game *g) {
  for (int i = 0; i < g->ntokens; i++) {
    token t = g->tokens[i];
    const pawl_node *n = &g->def->nodes[t.node];
    int d = n->join_depth, may_come = 0;
    if (!t.waits) continue;
    if (n->kind == PAWL_KIND_EACH && has_items(g, &t)) continue;
    if (n->kind == PAWL_KIND_EACH) {
      take(g, i);
      put(g, t, n->next[0].to);
      return 1;
    }
    for (int k = 0; k < g->ntokens; k++)
      may_come |= g->tokens[k].depth > d &&
                  g->tokens[k].forks[d] == t.forks[d] &&
                  (pawl_def_meets(g->def, g->tokens[k].node, t.node) ||
                   (g->tokens[k].node == t.node && !g->tokens[k].waits));
    if (may_come) continue;
    for (int k = g->ntokens - 1; k >= 0; k--)
      if (g->tokens[k].waits && g->tokens[k].node == t.node &&
          g->tokens[k].forks[d] == t.forks[d])
        take(g, k);
    g->fired[g->nfired][0] = t.node;
    g->fired[g->nfired++][1] = t.forks[d];
    t.depth = d + (n->join_stays ? 1 : 0);
    put(g, t, n->next[0].to);
    return 1;
  }
  return 0;
}

static int pick(const game *g) {
  int n = 0;
  for (int i = 0; i < g->ntokens; i++) n += !g->tokens[i].waits;
  if (n == 0) return -1;
  n = below(n);
  for (int i = 0;; i++)
    if (!g->tokens[i].waits && n-- == 0) return i;
}

/* Until all tokens have ended, or long enough. */
static const char *play(const pawl_def *d) {
  game *g = calloc(1, sizeof *g);
  const char *problem = NULL;
  put(g, (token){0}, d->start);
  g->def = d;
  for (int moves = 0; moves < MOVES && !problem && g->ntokens > 0; moves++) {
    int i = pick(g);
    if (i >= 0 && (below(4) || !fire(g))) {
      if (!move(g, i)) problem = "somebody came after a join had fired";
    } else if (i < 0 && !fire(g)) {
      problem = "all wait for one another";
    }
  }
  free(g);
  return problem;
}

/* The stack of a token as a list; what naive_meets goes through. */
typedef struct place {
  int node, depth;
  int stack[PAWL_MAX_DEPTH + 1][2];
} place;

enum { PLACES = 3000 };

typedef struct places {
  const pawl_def *def;
  place at[PLACES];
  int n, full;
} places;

static int is_in_item(const place *p) {
  return p->depth > 0 && p->stack[p->depth - 1][0] == p->node;
}

static void come(places *p, place to) {
  if (is_in_item(&to)) return; /* of this each: it ends */
  for (int i = 0; i < p->n; i++)
    if (p->at[i].node == to.node && p->at[i].depth == to.depth &&
        memcmp(p->at[i].stack, to.stack,
               sizeof to.stack[0] * (size_t)to.depth) == 0)
      return;
  if (p->n < PLACES)
    p->at[p->n++] = to;
  else
    p->full = 1;
}

static void leave(places *p, place from) {
  const pawl_node *n = &p->def->nodes[from.node];
  if (n->kind == PAWL_KIND_JOIN && from.depth > n->join_depth) {
    from.depth = n->join_depth;
    if (n->join_stays) from.stack[from.depth++][1] = 1000 + from.node;
  }
  if (n->kind == PAWL_KIND_EACH) {
    place to = from;
    to.node = n->branch;
    to.stack[to.depth][0] = from.node;
    to.stack[to.depth++][1] = 0;
    come(p, to);
  }
  for (int i = 0; i < n->nnext; i++) {
    place to = from;
    if (n->kind == PAWL_KIND_FORK) {
      to.stack[to.depth][0] = from.node;
      to.stack[to.depth++][1] = i;
    }
    to.node = n->next[i].to;
    come(p, to);
  }
}

/* From every place at `from` on, without leaving the join's fork. */
static int naive_meets(const places *all, places *p, int from, int join) {
  int depth = all->def->nodes[join].join_depth;
  p->n = 0;
  p->def = all->def;
  if (from == join) return 0;
  for (int i = 0; i < all->n; i++)
    if (all->at[i].node == from && all->at[i].depth > depth)
      come(p, all->at[i]);
  for (int i = 0; i < p->n; i++) {
    if (p->at[i].depth <= depth) continue;
    if (p->at[i].node == join) return 1;
    leave(p, p->at[i]);
  }
  return 0;
}

/* What all stacks that come to a join have in common. */
static int naive_depth(const places *all, int join) {
  const place *first = NULL;
  int depth = 0;
  for (int i = 0; i < all->n; i++) {
    const place *p = &all->at[i];
    int same = 0;
    if (p->node != join) continue;
    if (!first) first = p, depth = p->depth;
    while (same < depth && same < p->depth &&
           memcmp(p->stack[same], first->stack[same],
                  sizeof first->stack[0]) == 0)
      same++;
    depth = same;
  }
  return depth;
}

static void compare_with_naive(const pawl_def *d, const char *text) {
  places *all = calloc(2, sizeof *all), *some = all + 1;
  place start = {.node = d->start};
  all->def = d;
  come(all, start);
  for (int i = 0; i < all->n; i++) leave(all, all->at[i]);
  for (int j = 0; j < d->nnodes && !all->full; j++) {
    if (d->nodes[j].kind != PAWL_KIND_JOIN) continue;
    if (!CHECK_INT(d->nodes[j].join_depth, naive_depth(all, j)))
      printf("  of n%d in %s\n", j, text);
    for (int i = 0; i < d->nnodes; i++)
      if (!CHECK_INT(pawl_def_meets(d, i, j), naive_meets(all, some, i, j)))
        printf("  from n%d to n%d in %s\n", i, j, text);
  }
  free(all);
}

/* PAWL_GRAPHS=100000 in the environment: a longer run. */
static void random_graphs_play_to_their_end(void) {
  int good = 0, stays = 0, eachs = 0;
  int tries = getenv("PAWL_GRAPHS") ? atoi(getenv("PAWL_GRAPHS")) : 4000;
  for (int i = 0; i < tries && test_failed < 5; i++) {
    char text[600];
    pawl_error err = {0};
    pawl_def *d;
    seed = (uint32_t)i;
    draw_at_random(text, sizeof text, 3 + below(9));
    d = draw(text, &err);
    if (pawl_def_check(d, &err) == PAWL_OK) {
      const char *problem = NULL;
      good++;
      for (int k = 0; k < d->nnodes; k++) {
        stays += d->nodes[k].join_stays;
        eachs += d->nodes[k].kind == PAWL_KIND_EACH;
      }
      compare_with_naive(d, text);
      for (int k = 0; k < 20 && !problem; k++) problem = play(d);
      if (!CHECK(problem == NULL)) printf("  %s: %s\n", problem, text);
    }
    pawl_def_free(d);
  }
  if (getenv("PAWL_GRAPHS"))
    printf("%d of %d graphs, %d joins of a part, %d eachs\n", good, tries,
           stays, eachs);
  CHECK(good > tries / 100);
  CHECK(stays > tries / 1000);
  CHECK(eachs > tries / 1000);
}

int main(void) {
  good_graphs_are_understood();
  what_can_never_join_is_refused();
  an_item_may_end_early();
  what_is_too_large_is_said_to_be();
  random_graphs_play_to_their_end();
  return TEST_END;
}
