/* Decisions by themselves: random workflows are decided on, step after step,
 * with random letters, times, failures and handlers that wait, without a store
 * or a Lua state. A model of what a store would hold is kept from the plans
 * alone, and after each of them it is looked at:
 *
 *   W1 the plan is whole, and the status moves as it may
 *   W2 tokens stand in order of their numbers, at nodes that are there, inside
 *      tokens that came before them; no two share a visit
 *   W3 an end leaves nothing alive; what lives has not ended
 *   W4 nobody waits unseen: what is let go of is looked at when the first of
 *      its times comes, or a condition is to be asked, and what sleeps has none
 *   W5 exactly the tokens that stand at waits are subscribed, and exactly those
 *      that stand at tasks have a task that is open
 *   W6 decided again from the same, with the same chance, it is the same
 *   W7 it comes to an end, when everything that it waits for is given to it
 *   W9 nothing is decided of a token whose handler waits but its end, while its
 *      own is not back; what that has set is in the variables then, beside what
 *      others have set meanwhile
 *   W8 at a boundary stands only what has a host: a token at the node that it
 *      is on, or somebody inside of that fork
 *   W10 what was done is undone once; while a node has it undone, all others
 *      stand where they are
 *   W11 who cleans up after it was cancelled does so until it is cancelled
 *
 * PAWL_DECISIONS=1000000: so many; PAWL_SEED: begins with that workflow. */
#include <stdlib.h>

#include "../../src/base/clock.h"
#include "../../src/rules/decide.h"
#include "../../src/rules/kinds.h"
#include "../../src/value/json.h"
#include "test.h"

/* ---- chance ---- */

enum { ALOFT_MAX = 4 };

/* A handler that waits. */
typedef struct aloft {
  pawl_handler handler;
  int32_t token;
  int64_t visit, attempt;
  int node;
  pawl_buf base; /* the variables that it was given */
} aloft;

typedef struct world {
  uint64_t seed;
  aloft aloft[ALOFT_MAX];
  int64_t now, refusals;
  pawl_idgen ids;
  pawl_said result;
  pawl_alloc alloc;
  char *names[256];
  int nnames;
  int calm; /* nothing fails, and everything is answered */
  pawl_world face;
} world;

static uint64_t draw(world *w) {
  w->seed ^= w->seed << 13;
  w->seed ^= w->seed >> 7;
  w->seed ^= w->seed << 17;
  return w->seed;
}
/* 0 to n - 1 */
static int pick(world *w, int n) {
  return (int)(draw(w) % (uint64_t)n);
}
/* In one of `n` times, but for calm ones. */
static int rarely(world *w, int n) {
  int it = pick(w, n) == 0;
  return it && !w->calm;
}

/* ---- the world ---- */

static int64_t w_now(void *ud) {
  return ((world *)ud)->now;
}

static double w_random(void *ud) {
  return (double)(draw(ud) >> 11) / 9007199254740992.0;
}

static const char *w_name(void *ud, pawl_str text) {
  world *w = ud;
  for (int i = 0; i < w->nnames; i++)
    if (pawl_str_eqz(text, w->names[i])) return w->names[i];
  if (w->nnames == 256) abort();
  w->names[w->nnames] = calloc(1, text.len + 1);
  memcpy(w->names[w->nnames], text.at, text.len);
  return w->names[w->nnames++];
}

/* Some breakpoint is set somewhere, and holds now and then. */
static int w_stops(void *ud, pawl_decision *d, const pawl_token *t,
                   const pawl_node *node, pawl_stop *stop, pawl_error *err) {
  world *w = ud;
  (void)d, (void)t, (void)node;
  if (!rarely(w, 10)) return 0;
  if (!stop) return 1;
  stop->by = pawl_strz("ann");
  stop->until_us = w->now + PAWL_SECOND * (1 + pick(w, 100));
  stop->failed = pick(w, 4) == 0;
  if (stop->failed) pawl_fail(err, PAWL_SCRIPT, "no such condition");
  return 1;
}

static void w_stepped(void *ud, const pawl_decision *d, int32_t token,
                      pawl_node *node) {
  (void)ud, (void)d, (void)token, (void)node;
}

static int w_is_late(void *ud, const pawl_decision *d) {
  (void)d;
  return rarely(ud, 20);
}

static int is_of(const aloft *a, const pawl_token *t) {
  return a->token == t->no && a->visit == t->visit && a->attempt == t->attempt;
}

static int w_is_aloft(void *ud, const pawl_decision *d, const pawl_token *t) {
  const world *w = ud;
  for (int i = 0; i < d->naloft; i++)
    if (is_of(&w->aloft[i], t)) return 1;
  return 0;
}

static void begin_waiting(world *w, pawl_decision *d, const pawl_question *q) {
  aloft *a = &w->aloft[d->naloft++];
  a->handler = q->handler;
  a->token = q->token->no;
  a->visit = q->token->visit;
  a->attempt = q->token->attempt;
  a->node = (int)(q->node - d->def->nodes);
  pawl_buf_set(&a->base, pawl_vars_now(d));
  d->may_wait = d->naloft < ALOFT_MAX;
}

static void w_trace(void *ud, const pawl_decision *d, const char *node,
                    const char *kind, int64_t elapsed_us, const char *outcome,
                    const char *detail, int64_t due_us) {
  (void)ud, (void)d, (void)node, (void)kind, (void)elapsed_us, (void)outcome,
      (void)detail, (void)due_us;
}

static void take_way(world *w, const pawl_node *node) {
  const char *name = node->next[pick(w, node->nnext)].name;
  if (!name[0]) return;
  w->result.has_transition = 1;
  pawl_buf_addz(&w->result.transition, name);
}

static void say(world *w, const char *json) {
  w->result.has_output = 1;
  pawl_buf_addz(&w->result.output, json);
}

static void say_items(world *w) {
  int n = pick(w, 5);
  w->result.has_output = 1;
  pawl_buf_addc(&w->result.output, '[');
  for (int i = 0; i < n; i++)
    pawl_buf_addf(&w->result.output, "%s%d", i ? "," : "", i * 7);
  pawl_buf_addc(&w->result.output, ']');
}

/* One variable is set, or taken away. */
static void say_vars(world *w, pawl_str seen) {
  pawl_buf delta = {0};

  if (pick(w, 3) == 0)
    pawl_buf_addf(&delta, "{\"set\":{\"k\":\"k%d\"}}", pick(w, 3));
  else if (pick(w, 4) == 0)
    pawl_buf_addf(&delta, "{\"unset\":[\"p%d\"]}", pick(w, 3));
  else
    pawl_buf_addf(&delta, "{\"set\":{\"p%d\":%d}}", pick(w, 3), pick(w, 9));
  pawl_json_apply(seen, pawl_buf_str(&delta), &w->result.vars);
  w->result.vars_changed = 1;
  pawl_buf_deinit(&delta);
}

/* What a step says, or why it fails. `seen`: the variables that it has. */
static pawl_code say_step(world *w, const pawl_node *node, pawl_str seen,
                          pawl_error *err) {
  if (rarely(w, 10)) {
    w->result.no_retry = pick(w, 3) == 0;
    pawl_fail(err, PAWL_SCRIPT, "it went wrong");
    if (pick(w, 2)) pawl_copy_text(err->raised, sizeof err->raised, "e1");
    return PAWL_SCRIPT;
  }
  take_way(w, node);
  if (pick(w, 3) == 0) say(w, "{\"n\":1}");
  if (pick(w, 3) == 0) say_vars(w, seen);
  if (rarely(w, 8))
    pawl_buf_addz(&w->result.emits, "[{\"type\":\"t\",\"payload\":1}]");
  if (rarely(w, 8))
    pawl_buf_addz(&w->result.escalations, "[{\"data\":1,\"name\":\"e.x\"}]");
  return PAWL_OK;
}

static pawl_code say_undo(world *w, pawl_error *err) {
  return rarely(w, 6) ? pawl_fail(err, PAWL_SCRIPT, "no way back") : PAWL_OK;
}

static pawl_code w_ask(void *ud, pawl_decision *d, const pawl_question *q,
                       int *waits, pawl_error *err) {
  world *w = ud;

  d->began_us = w->now;
  d->took_us = 1;
  switch (q->handler) {
    case PAWL_HANDLER_RUN:
      *waits = d->may_wait && rarely(w, 5);
      if (!*waits) return say_step(w, q->node, pawl_vars_now(d), err);
      begin_waiting(w, d, q);
      return PAWL_OK;
    case PAWL_HANDLER_UNDO:
      *waits = d->may_wait && rarely(w, 12);
      if (!*waits) return say_undo(w, err);
      begin_waiting(w, d, q);
      return PAWL_OK;
    case PAWL_HANDLER_CHOOSE:
      if (rarely(w, 30)) return pawl_fail(err, PAWL_SCRIPT, "no choice");
      take_way(w, q->node);
      return PAWL_OK;
    case PAWL_HANDLER_AT:
      w->result.at_us = w->now + pick(w, 1000) * PAWL_SECOND;
      return PAWL_OK;
    case PAWL_HANDLER_AFTER:
    case PAWL_HANDLER_TIMEOUT:
    case PAWL_HANDLER_DUE:
      if (rarely(w, 30)) return pawl_fail(err, PAWL_VALUE, "no duration");
      w->result.has_lasts = q->handler == PAWL_HANDLER_AFTER || pick(w, 4);
      w->result.lasts_us = pick(w, 100) * PAWL_SECOND;
      return PAWL_OK;
    case PAWL_HANDLER_DEADLINE:
      if (rarely(w, 9)) return pawl_fail(err, PAWL_VALUE, "no duration");
      w->result.has_lasts = pick(w, 2) != 0;
      w->result.lasts_us = (50 + pick(w, 5000)) * PAWL_SECOND;
      return PAWL_OK;
    case PAWL_HANDLER_MATCH:
      w->result.truth = w->calm || pick(w, 2);
      return PAWL_OK;
    case PAWL_HANDLER_CONDITION:
      if (rarely(w, 30)) return pawl_fail(err, PAWL_SCRIPT, "who knows");
      w->result.truth = w->calm || pick(w, 3) == 0;
      return PAWL_OK;
    case PAWL_HANDLER_ENOUGH:
      if (rarely(w, 30)) return pawl_fail(err, PAWL_SCRIPT, "who knows");
      w->result.truth = pick(w, 3) == 0;
      if (pick(w, 2)) say(w, "3");
      return PAWL_OK;
    case PAWL_HANDLER_GROUP:
      if (pick(w, 2)) say(w, rarely(w, 9) ? "7" : "\"g\"");
      return PAWL_OK;
    case PAWL_HANDLER_KEY:
      say(w, "\"k1\"");
      return PAWL_OK;
    case PAWL_HANDLER_ITEMS:
      say_items(w);
      return PAWL_OK;
    default:
      if (pick(w, 2)) say(w, "{\"a\":1}");
      return PAWL_OK;
  }
}

static pawl_code w_claim(void *ud, pawl_decision *d, const pawl_letter *l,
                         pawl_str id, int *taken, pawl_error *err) {
  world *w = ud;
  (void)d, (void)l, (void)id;
  *taken = w->calm || pick(w, 2);
  return w->calm || !rarely(w, 30)
             ? PAWL_OK
             : pawl_fail(err, PAWL_UNREACHABLE, "no store");
}

static void world_init(world *w, uint64_t seed) {
  memset(w, 0, sizeof *w);
  w->seed = seed * 2654435761u + 88172645463325252u;
  w->now = INT64_C(1700000000) * PAWL_SECOND;
  pawl_said_init(&w->result, &w->alloc);
  w->face = (pawl_world){.ud = w,
                         .kinds = pawl_kinds,
                         .alloc = &w->alloc,
                         .refusals = &w->refusals,
                         .ids = &w->ids,
                         .result = &w->result,
                         .max_bytes = 1000000,
                         .recoveries = 5,
                         .now = w_now,
                         .random = w_random,
                         .name = w_name,
                         .ask = w_ask,
                         .is_aloft = w_is_aloft,
                         .claim = w_claim,
                         .breaks = pick(w, 2),
                         .stops = w_stops,
                         .stepped = w_stepped,
                         .is_late = w_is_late,
                         .trace = w_trace};
}

static void world_deinit(world *w) {
  for (int i = 0; i < w->nnames; i++) free(w->names[i]);
  for (int i = 0; i < ALOFT_MAX; i++) pawl_buf_deinit(&w->aloft[i].base);
  pawl_said_deinit(&w->result);
}

/* ---- workflows ---- */

typedef struct graph {
  world *w;
  pawl_buf text;
  int n;     /* nodes so far */
  int eachs; /* around what is drawn */
} graph;

static void name_node(graph *g, char out[16]) {
  snprintf(out, 16, "n%d", g->n++);
}

static void open_node(graph *g, const char *name, const char *kind) {
  pawl_buf_addf(&g->text, ",{\"name\":\"%s\",\"kind\":\"%s\",\"line\":1", name,
                kind);
}

static void blocks(graph *g, int depth, int n, const char *next,
                   char first[16]);

/* Branches that all come to a join. */
static void add_fork(graph *g, int depth, const char *next, char first[16]) {
  static const char *const expects[] = {"\"all\"", "\"all\"", "\"any\"", "2"};
  int n = 2 + pick(g->w, 2);
  char join[16], ways[3][16];

  name_node(g, first);
  name_node(g, join);
  for (int i = 0; i < n; i++)
    blocks(g, depth + 1, 1 + pick(g->w, 2), join, ways[i]);
  open_node(g, first, "fork");
  pawl_buf_addz(&g->text, ",\"next\":{");
  for (int i = 0; i < n; i++)
    pawl_buf_addf(&g->text, "%s\"%s\":\"%s\"", i ? "," : "", ways[i], ways[i]);
  pawl_buf_addz(&g->text, "}}");
  open_node(g, join, "join");
  pawl_buf_addf(&g->text, ",\"expect\":%s,\"losers\":\"%s\",\"next\":\"%s\"}",
                expects[pick(g->w, 4)], pick(g->w, 2) ? "run" : "cancel",
                next);
}

static void add_each(graph *g, int depth, const char *next, char first[16]) {
  static const char *const allows[] = {
      "\"on_failure\":\"stop\"", "\"on_failure\":\"collect\"",
      "\"tolerate\":1", "\"tolerate\":\"34%\",\"enough\":true",
      "\"on_failure\":\"collect\",\"enough\":true"};
  char inner[16];

  name_node(g, first);
  if (pick(g->w, 2)) {
    open_node(g, first, "each");
    pawl_buf_addz(&g->text, ",\"items\":true,\"workflow\":\"t.child\"");
  } else {
    g->eachs++;
    blocks(g, depth + 1, 1, first, inner);
    g->eachs--;
    open_node(g, first, "each");
    pawl_buf_addf(&g->text, ",\"items\":true,\"branch\":\"%s\"", inner);
  }
  pawl_buf_addf(&g->text,
                ",\"into\":\"all\",%s,\"window\":%d,\"next\":\"%s\"}",
                allows[pick(g->w, 5)], 1 + pick(g->w, 3), next);
}

static void add_choice(graph *g, int depth, const char *next, char first[16]) {
  char yes[16];

  name_node(g, first);
  blocks(g, depth + 1, 1, next, yes);
  open_node(g, first, "choice");
  pawl_buf_addf(&g->text,
                ",\"choose\":true,\"next\":{\"yes\":\"%s\",\"no\":\"%s\"}}",
                yes, next);
}

/* Which of them it was. */
static int add_leaf(graph *g, int what, const char *next, char first[16]) {
  static const struct {
    const char *kind, *says;
  } leaves[] = {
      {"step", "\"run\":true,\"undo\":true"},
      {"step", "\"run\":true,\"undo\":true,\"on_exhausted\":\"suspend\""},
      {"step", "\"run\":true,\"on_error\":{\"e1\":\"%s\"}"},
      {"timer", "\"after\":60000000"},
      {"timer", "\"at\":true"},
      {"timer", "\"after\":true"},
      {"timer",
       "\"at\":true,\"reschedule\":{\"event\":\"e.x\",\"into\":\"m\"}"},
      {"wait", "\"event\":\"e.x\",\"key\":true,\"into\":\"got\""},
      {"wait", "\"event\":\"e.x\",\"key\":true,\"take\":\"one\""},
      {"wait", "\"event\":\"e.*\",\"match\":true,\"timeout\":90000000"},
      {"task", "\"task\":{\"title\":\"t\",\"due\":50000000}"},
      {"task", "\"task\":{\"title\":\"t\"},\"timeout\":70000000"},
      {"call", "\"workflow\":\"t.child\",\"group\":true,\"into\":\"child\""},
      {"task", "\"task\":{\"title\":\"t\"},\"due\":true,\"timeout\":true"},
      {"wait",
       "\"event\":\"e.x\",\"key\":true,\"timeout\":true,\"reschedule\":{"
       "\"event\":\"e.y\"}"},
      {"call", "\"workflow\":\"t.child\",\"timeout\":true"},
      {"wait", "\"condition\":true"},
      {"wait",
       "\"condition\":true,\"timeout\":true,\"reschedule\":{\"event\":"
       "\"e.y\",\"into\":\"m\"}"},
  };
  enum { NLEAVES = sizeof leaves / sizeof *leaves };
  char says[120];

  what %= NLEAVES;
  name_node(g, first);
  open_node(g, first, leaves[what].kind);
  if (what == 2)
    snprintf(says, sizeof says, "\"run\":true,\"on_error\":{\"e1\":\"%s\"}",
             next);
  else
    snprintf(says, sizeof says, "%s", leaves[what].says);
  pawl_buf_addf(&g->text, ",%s,\"next\":\"%s\"}", says, next);
  return what;
}

static void add_undo(graph *g, const char *next, char first[16]) {
  name_node(g, first);
  open_node(g, first, "undo");
  if (pick(g->w, 2))
    pawl_buf_addf(&g->text, ",\"on_error\":{\"undo_failed\":\"%s\"}", next);
  pawl_buf_addf(&g->text, ",\"next\":\"%s\"}", next);
}

static void add_escalate(graph *g, const char *next, char first[16]) {
  name_node(g, first);
  open_node(g, first, "escalate");
  pawl_buf_addf(&g->text, ",\"event\":\"e.x\",\"data\":true,\"next\":\"%s\"}",
                next);
}

/* A boundary of the newest node, which leads to `next`, or a lane. */
static void add_beside(graph *g, const char *on, const char *next) {
  const int is_lane = pick(g->w, 2);
  char boundary[16], step[16], end[16];

  name_node(g, boundary);
  name_node(g, step);
  name_node(g, end);
  if (pick(g->w, 2)) {
    open_node(g, boundary, "timer");
    pawl_buf_addf(&g->text, ",\"after\":%d", 20000000 * (1 + pick(g->w, 4)));
    if (is_lane && pick(g->w, 2))
      pawl_buf_addz(&g->text, ",\"every\":40000000");
  } else {
    open_node(g, boundary, "wait");
    pawl_buf_addf(&g->text, ",\"event\":\"e.x\"%s",
                  pick(g->w, 2) ? ",\"key\":true" : "");
  }
  pawl_buf_addf(&g->text, ",\"on\":\"%s\",\"interrupt\":%s,\"next\":\"%s\"}",
                on, is_lane ? "false" : "true", is_lane ? step : next);
  if (!is_lane) return;
  open_node(g, step, "step");
  pawl_buf_addf(&g->text, ",\"run\":true,\"next\":\"%s\"}", end);
  open_node(g, end, "finish");
  pawl_buf_addz(&g->text, "}");
}

/* `n` of them, one behind the other, that lead to `next`. */
static void blocks(graph *g, int depth, int n, const char *next,
                   char first[16]) {
  char to[16];

  snprintf(to, sizeof to, "%s", next);
  for (int i = 0; i < n; i++) {
    int what = pick(g->w, depth < 3 ? 30 : 18);
    int is_leaf = what < 18 || what > 21;
    if (what == 18 || what == 19)
      add_fork(g, depth, to, first);
    else if (what == 20)
      add_each(g, depth, to, first);
    else if (what == 21)
      add_choice(g, depth, to, first);
    else if (what > 26)
      add_escalate(g, to, first);
    else if (what > 21 && !g->eachs)
      add_undo(g, to, first);
    else
      what = add_leaf(g, what, to, first);
    /* not on a timer, a choice or an undo */
    if (what < 21 && !(is_leaf && what >= 3 && what <= 6) && !pick(g->w, 4))
      add_beside(g, first, to);
    snprintf(to, sizeof to, "%s", first);
  }
}

/* NULL: it was drawn wrong (a join that nobody can reach, for one). */
static pawl_def *draw_workflow(world *w) {
  graph g = {.w = w};
  pawl_str none = {0};
  pawl_def *def = NULL;
  pawl_error err;
  char first[16], on_cancel[40] = "";

  pawl_buf_addz(&g.text,
                "{\"name\":\"z\",\"kind\":\"finish\",\"line\":1,"
                "\"output\":true}");
  blocks(&g, 0, 1 + pick(w, 4), "z", first);
  if (!pick(w, 3)) {
    char clean[16];
    blocks(&g, 1, 1 + pick(w, 2), "z", clean);
    snprintf(on_cancel, sizeof on_cancel, "\"on_cancel\":\"%s\",", clean);
  }
  pawl_buf whole = {0};
  pawl_buf_addf(&whole,
                "{\"code\":\"t.drawn\",\"version\":1,\"line\":1,"
                "\"start\":\"%s\",\"compensate\":%s,%s%s\"nodes\":[",
                first, pick(w, 2) ? "true" : "false", on_cancel,
                pick(w, 4) ? "" : "\"deadline\":true,");
  pawl_buf_adds(&whole, pawl_buf_str(&g.text));
  pawl_buf_addz(&whole, "]}");
  if (pawl_def_new("t.lua", pawl_buf_str(&whole), none, none, NULL, &def,
                   &err) != PAWL_OK) {
    printf("%s\n%s\n", err.message, whole.at);
    abort();
  }
  if (pawl_def_check(def, &err) != PAWL_OK) {
    pawl_def_free(def);
    def = NULL;
  } else {
    def->host_ref = 1;
  }
  pawl_buf_deinit(&g.text);
  pawl_buf_deinit(&whole);
  return def;
}

/* ---- what a store would hold ---- */

typedef struct thing { /* a subscription, a task, a child, the items of one */
  int32_t token;
  int64_t visit, index; /* index -1: of a call */
  pawl_id id;
} thing;

typedef struct things {
  thing at[400];
  int n;
} things;

typedef struct model {
  things waits, tasks, children;
  char *items[64]; /* JSON arrays, by the order of `eaches` */
  things eaches;
  char *results[64][8];
  pawl_buf undo; /* JSON list of steps that can be undone, newest first */
  int64_t undo_n;
} model;

static thing *find_thing(things *t, int32_t token, int64_t visit,
                         int64_t index) {
  for (int i = 0; i < t->n; i++)
    if (t->at[i].token == token && (visit < 0 || t->at[i].visit == visit) &&
        (index < -1 || t->at[i].index == index))
      return &t->at[i];
  return NULL;
}

static thing *add_thing(things *t, int32_t token, int64_t visit,
                        int64_t index) {
  if (t->n == 400) abort();
  t->at[t->n] = (thing){.token = token, .visit = visit, .index = index};
  return &t->at[t->n++];
}

static void drop_thing(things *t, thing *one) {
  if (one) *one = t->at[--t->n];
}

static char *copy_text(const char *text) {
  char *copy = calloc(1, strlen(text) + 1);
  if (!copy) abort();
  return strcpy(copy, text);
}

/* The token that stands there by now, in what is stored. */
static const pawl_token *stored_token(const pawl_decision *d, int32_t no) {
  return pawl_tokens_find((pawl_token_list *)&d->state.tokens, no);
}

static int member_int(pawl_str object, const char *name, int64_t *out) {
  pawl_str value;
  return pawl_json_get(object, name, &value) && pawl_json_int(value, out);
}

static void note_message(model *m, const pawl_effect *f) {
  pawl_str data = pawl_buf_str(&f->data), name = pawl_buf_str(&f->name);
  int64_t token = 0, visit = 0, index = -1;

  (void)pawl_json_get(data, "place", &data); /* a "start" tells it there */
  (void)member_int(data, "token", &token);
  (void)member_int(data, "visit", &visit);
  (void)member_int(data, "index", &index);
  if (pawl_str_eqz(name, "start")) {
    add_thing(&m->children, (int32_t)token, visit, index)->id = f->id;
  } else if (pawl_str_eqz(name, "end_children")) {
    for (int i = m->children.n - 1; i >= 0; i--)
      if (!token || m->children.at[i].token == token)
        drop_thing(&m->children, &m->children.at[i]);
  }
}

static void note_items(model *m, const pawl_decision *d,
                       const pawl_effect *f) {
  const pawl_token *t =
      pawl_tokens_find((pawl_token_list *)&d->plan.state.tokens, f->token);
  thing *each = find_thing(&m->eaches, f->token, -1, -2);
  int at;

  if (!each) each = add_thing(&m->eaches, f->token, 0, -1);
  at = (int)(each - m->eaches.at);
  if (at >= 64) abort();
  each->visit = t ? t->visit : 0;
  free(m->items[at]);
  m->items[at] = copy_text(f->data.at);
  for (int i = 0; i < 8; i++)
    free(m->results[at][i]), m->results[at][i] = NULL;
}

static void note_item(model *m, const pawl_effect *f) {
  thing *each = find_thing(&m->eaches, f->token, -1, -2);
  int failed = pawl_str_eqz(pawl_buf_str(&f->name), "failed");
  char **at;

  if (!CHECK(each && f->n < 8)) return;
  if (!failed && !pawl_str_eqz(pawl_buf_str(&f->name), "done")) return;
  at = &m->results[each - m->eaches.at][f->n];
  CHECK(!*at); /* an item is dealt with once */
  *at = copy_text(f->data.len ? f->data.at : "null");
}

static void note_effect(model *m, const pawl_decision *d,
                        const pawl_effect *f) {
  if (f->old) return;
  switch (f->kind) {
    case PAWL_EFFECT_SUBSCRIBE:
      if (!find_thing(&m->waits, f->token, -1, -2))
        add_thing(&m->waits, f->token, 0, -1);
      break;
    case PAWL_EFFECT_UNSUBSCRIBE:
      drop_thing(&m->waits, find_thing(&m->waits, f->token, -1, -2));
      break;
    case PAWL_EFFECT_TASK:
      CHECK(!find_thing(&m->tasks, f->token, f->n, -2)); /* once a visit */
      add_thing(&m->tasks, f->token, f->n, -1);
      break;
    case PAWL_EFFECT_TASK_END:
      drop_thing(&m->tasks, find_thing(&m->tasks, f->token, f->n, -2));
      break;
    case PAWL_EFFECT_ITEMS:
      note_items(m, d, f);
      break;
    case PAWL_EFFECT_ITEM:
      note_item(m, f);
      break;
    case PAWL_EFFECT_MESSAGE:
      note_message(m, f);
      break;
    default:
      break;
  }
}

/* A step that can be undone goes in front; one that was undone goes. */
static void note_record(model *m, const pawl_decision *d, const pawl_record *r,
                        int64_t seq) {
  int at = r->node ? pawl_def_node(d->def, r->node, strlen(r->node)) : -1;
  pawl_buf all = {0};
  pawl_json_iter it = {0};
  pawl_str key, one;
  int64_t gone = -1, no;
  int n = 0;

  if (!strcmp(r->type, "undone") || !strcmp(r->type, "undo_failed"))
    gone = atoll(r->previous.at + 1);
  else if (strcmp(r->type, "step") || at < 0 || !d->def->nodes[at].has_undo)
    return;
  pawl_buf_addc(&all, '[');
  if (!strcmp(r->type, "step")) {
    pawl_buf_addf(&all,
                  "{\"seq\":%" PRId64 ",\"node\":\"%s\",\"visit\":%" PRId64
                  ",\"token\":%d}",
                  seq, r->node, r->visit, (int)r->token);
    n++;
  }
  while (m->undo.len &&
         pawl_json_each(pawl_buf_str(&m->undo), &it, &key, &one)) {
    if (!member_int(one, "seq", &no) || no == gone) {
      gone = -1;
      continue;
    }
    if (n++) pawl_buf_addc(&all, ',');
    pawl_buf_adds(&all, one);
  }
  CHECK(gone < 0); /* W10: it was there */
  pawl_buf_addc(&all, ']');
  pawl_buf_swap(&all, &m->undo);
  pawl_buf_deinit(&all);
  m->undo_n = n;
}

static void model_deinit(model *m) {
  for (int i = 0; i < 64; i++) {
    free(m->items[i]);
    for (int k = 0; k < 8; k++) free(m->results[i][k]);
  }
  pawl_buf_deinit(&m->undo);
}

/* ---- what is loaded ---- */

static void add_item(pawl_decision *d, const thing *each, int64_t no,
                     pawl_str data) {
  pawl_item *item;
  if (!PAWL_ROOM(NULL, d->items, d->nitems, d->items_cap)) abort();
  item = &d->items[d->nitems++];
  item->token = each->token;
  item->visit = each->visit;
  item->no = no;
  pawl_buf_set(&item->data, data);
}

static void load_items(const model *m, pawl_decision *d) {
  d->nitems = 0;
  d->has_items = 1;
  for (int i = 0; i < m->eaches.n; i++) {
    pawl_json_iter it = {0};
    pawl_str key, one;
    int64_t n = 0, done = 0;
    while (pawl_json_each(pawl_strz(m->items[i]), &it, &key, &one))
      done += m->results[i][n++] != NULL;
    it.at = 0;
    const pawl_token *t = stored_token(d, m->eaches.at[i].token);
    int through = done == n || (t && pawl_detail_of(t)->enough);
    for (int64_t no = 0; no < n; no++) {
      const char *result = m->results[i][no];
      (void)pawl_json_each(pawl_strz(m->items[i]), &it, &key, &one);
      if (through) one = pawl_strz(result ? result : "null");
      add_item(d, &m->eaches.at[i], no, one);
    }
  }
}

static void load_undo(const model *m, pawl_decision *d) {
  pawl_str step;
  int64_t seq = 0;
  int behind;

  pawl_buf_set(&d->undo,
               m->undo.len ? pawl_buf_str(&m->undo) : pawl_strz("[]"));
  d->undo_last = 1;
  d->undo_total = m->undo_n;
  d->undo_seq = 0;
  if (pawl_undo_next(d, &d->state.undo, &step, &seq, &behind))
    d->undo_seq = seq;
}

static void load(const model *m, pawl_decision *d) {
  load_items(m, d);
  load_undo(m, d);
  d->unread = 0;
  d->read_us = PAWL_NEVER;
}

/* ---- letters ---- */

static pawl_letter *add_letter(world *w, pawl_decision *d, const char *kind) {
  static int64_t number;
  pawl_letter *l;
  pawl_buf *texts[7];

  if (!PAWL_ROOM(NULL, d->letters, d->nletters, d->letters_cap)) abort();
  l = &d->letters[d->nletters++];
  texts[0] = &l->kind, texts[1] = &l->name, texts[2] = &l->key;
  texts[3] = &l->event_id, texts[4] = &l->source, texts[5] = &l->by;
  texts[6] = &l->data;
  for (int i = 0; i < 7; i++) pawl_buf_clear(texts[i]);
  l->has_key = l->addressed = l->kept = l->news_for = 0;
  (void)pawl_id_make(&w->ids, w->now, &l->no, NULL);
  l->came = l->no;
  l->received_us = w->now;
  pawl_buf_addz(&l->kind, kind);
  pawl_buf_addf(&l->event_id, ":%" PRId64, ++number);
  return l;
}

static void send_event(world *w, pawl_decision *d) {
  pawl_letter *l = add_letter(w, d, "event");
  pawl_buf_addz(&l->name, pick(w, 4) ? "e.x" : "e.y");
  pawl_buf_addz(&l->data, "{\"v\":1}");
  l->addressed = pick(w, 2);
  l->has_key = !l->addressed && pick(w, 2);
  if (l->has_key) pawl_buf_addz(&l->key, "k1");
}

static void answer_task(world *w, model *m, pawl_decision *d) {
  const thing *task = &m->tasks.at[pick(w, m->tasks.n)];
  pawl_letter *l = add_letter(w, d, "task");
  pawl_buf_addf(&l->data,
                "{\"token\":%d,\"visit\":%" PRId64
                ",\"status\":\"%s\","
                "\"output\":{\"ok\":true}}",
                (int)task->token, task->visit,
                rarely(w, 4) ? "failed" : "completed");
}

static void answer_child(world *w, model *m, pawl_decision *d) {
  thing *child = &m->children.at[pick(w, m->children.n)];
  pawl_letter *l = add_letter(w, d, "child");
  char id[37];

  pawl_id_format(&child->id, id);
  pawl_buf_addf(&l->data,
                "{\"child\":\"%s\",\"token\":%d,\"visit\":%" PRId64
                ",\"status\":\"%s\",\"output\":5",
                id, (int)child->token, child->visit,
                rarely(w, 4) ? "failed" : "completed");
  if (child->index >= 0)
    pawl_buf_addf(&l->data, ",\"index\":%" PRId64, child->index);
  pawl_buf_addc(&l->data, '}');
  drop_thing(&m->children, child);
}

static void ask_for(world *w, pawl_decision *d) {
  static const char *const kinds[] = {"cancel", "kill", "suspend", "resume",
                                      "retry",  "wake", "shift",   "edit",
                                      "note",   "step", "continue"};
  const char *kind = kinds[pick(w, 11)];
  pawl_letter *l = add_letter(w, d, kind);
  pawl_buf_addz(&l->data, !strcmp(kind, "shift")  ? "{\"for_us\":1000000}"
                          : !strcmp(kind, "edit") ? "{\"set\":{\"q\":1}}"
                          : !strcmp(kind, "note") ? "{\"text\":\"n\"}"
                                                  : "{}");
}

static int waits_for_variables(const pawl_decision *d) {
  for (int k = 0; k < d->state.tokens.n; k++)
    if (pawl_token_asks(&d->state.tokens.at[k])) return 1;
  return 0;
}

static void write_letters(world *w, model *m, pawl_decision *d) {
  if (pick(w, 3) == 0) send_event(w, d);
  if (m->tasks.n && pick(w, 3) == 0) answer_task(w, m, d);
  if (m->children.n && pick(w, 2)) answer_child(w, m, d);
  if (rarely(w, 25)) ask_for(w, d);
  if (waits_for_variables(d) && pick(w, 6) == 0)
    pawl_buf_addz(&add_letter(w, d, "edit")->data, "{\"set\":{\"q\":1}}");
  if (d->state.status == PAWL_STATUS_SUSPENDED && pick(w, 2))
    add_letter(w, d, "resume");
}

/* ---- what must hold ---- */

static void check_tokens(const pawl_decision *d) {
  const pawl_state *s = &d->state;
  for (int k = 0; k < s->tokens.n; k++) {
    const pawl_token *t = &s->tokens.at[k];
    CHECK(pawl_token_is_live(t->state));
    CHECK(!k || s->tokens.at[k - 1].no < t->no); /* W2 */
    CHECK(t->no > 0 && t->no <= s->last_token);
    CHECK(t->node && pawl_def_node(d->def, t->node, strlen(t->node)) >= 0);
    CHECK(t->visit > 0 && t->visit <= s->visit);
    for (int i = 0; i < t->depth; i++) CHECK(t->scope[i] < t->no);
    for (int i = 0; i < k; i++) CHECK(s->tokens.at[i].visit != t->visit);
  }
}

static int is_inside(const pawl_decision *d, int32_t no) {
  for (int k = 0; k < d->state.tokens.n; k++)
    if (pawl_token_is_in(&d->state.tokens.at[k], no)) return 1;
  return 0;
}

/* W8 */
static void check_boundaries(const pawl_decision *d) {
  for (int k = 0; k < d->state.tokens.n; k++) {
    const pawl_token *t = &d->state.tokens.at[k], *host;
    const pawl_node *node =
        &d->def->nodes[pawl_def_node(d->def, t->node, strlen(t->node))];
    const int32_t no = (int32_t)pawl_detail_of(t)->host;
    CHECK((node->host >= 0) == (no != 0));
    if (!no) continue;
    host = stored_token(d, no);
    if (host)
      CHECK(!strcmp(host->node, node->on));
    else
      CHECK(d->def->nodes[node->host].kind == PAWL_KIND_FORK &&
            is_inside(d, no));
  }
}

static const pawl_node *node_at(const pawl_decision *d, const pawl_token *t) {
  return &d->def->nodes[pawl_def_node(d->def, t->node, strlen(t->node))];
}

/* W5 */
static void check_waiting(const model *m, const pawl_decision *d) {
  int waits = 0, tasks = 0;
  for (int k = 0; k < d->state.tokens.n; k++) {
    const pawl_token *t = &d->state.tokens.at[k];
    if (t->state != PAWL_TOKEN_WAITING) continue;
    for (pawl_ear ear = PAWL_EAR_OWN; ear < PAWL_NEARS; ear++) {
      if (!pawl_node_listens(node_at(d, t), ear)) continue;
      waits++;
      CHECK(find_thing((things *)&m->waits, pawl_ear_no(t, ear), -1, -2) !=
            NULL);
    }
    if (node_at(d, t)->kind == PAWL_KIND_TASK) {
      tasks++;
      CHECK(find_thing((things *)&m->tasks, t->no, t->visit, -2) != NULL);
    }
  }
  CHECK_INT(m->waits.n, waits);
  CHECK(m->tasks.n >= tasks); /* one that failed at a person may stay open */
}

/* When the first that stands there is due; one that is to run: now. */
static int64_t soonest(const pawl_decision *d, int64_t now) {
  int64_t first = PAWL_NEVER;
  for (int k = 0; k < d->state.tokens.n; k++) {
    const pawl_token *t = &d->state.tokens.at[k];
    if (d->state.undo.by && t->no != d->state.undo.token) continue;
    int64_t at = pawl_token_asks_now(t)          ? now
                 : t->due_us                     ? t->due_us
                 : t->state == PAWL_TOKEN_ACTIVE ? now
                                                 : PAWL_NEVER;
    if (at < first) first = at;
  }
  return first;
}

/* W4 */
static void check_rest(const world *w, const pawl_decision *d) {
  const pawl_plan *p = &d->plan;
  int64_t first = soonest(d, w->now);

  if (d->state.status == PAWL_STATUS_SUSPENDED) return;
  if (p->after == PAWL_AFTER_SLEEP) CHECK(first == PAWL_NEVER);
  if (p->after == PAWL_AFTER_LET_GO)
    CHECK(p->look_us <= first || first < w->now);
}

/* W11 */
static void check_cancelled(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;

  if (!pawl_state_is_cleaning(&d->state)) return;
  if (pawl_status_has_ended(p->state.status))
    CHECK_INT(p->state.status, PAWL_STATUS_CANCELLED);
  else
    CHECK(pawl_state_is_cleaning(&p->state));
  CHECK(!pawl_undo_is_under_way(&p->state.undo) || p->state.undo.by);
}

/* W10 */
static void check_undoing(const pawl_decision *d) {
  const pawl_state *to = &d->plan.state;

  if (!d->state.undo.by || d->state.undo.by != to->undo.by) return;
  for (int k = 0; k < d->state.tokens.n; k++) {
    const pawl_token *t = &d->state.tokens.at[k], *now = &to->tokens.at[k];
    CHECK_INT(t->no, now->no);
    if (t->no == d->state.undo.token || to->undo.status == PAWL_UNDO_STOPPED)
      continue;
    CHECK(now->state == t->state && now->visit == t->visit);
  }
}

static void check_plan(const pawl_decision *d) { /* W1 */
  const pawl_plan *p = &d->plan;
  pawl_error err;

  if (!CHECK(pawl_plan_check(p, &err) == PAWL_OK)) printf("%s\n", err.message);
  CHECK(p->revives || p->stays ||
        pawl_status_may_become(d->state.status, p->state.status));
  check_undoing(d);
  check_cancelled(d);
  if (p->after == PAWL_AFTER_END) { /* W3 */
    CHECK(pawl_status_has_ended(p->state.status));
    CHECK_INT(pawl_tokens_live(&p->state.tokens), 0);
  } else if (!p->stays && !pawl_stays_ended(d)) {
    CHECK(!pawl_status_has_ended(p->state.status));
  }
}

/* ---- one instance ---- */

typedef struct story {
  world w;
  model m;
  pawl_decision d;
  int64_t decisions;
} story;

static uint64_t mix(uint64_t h, const void *bytes, size_t len) {
  const unsigned char *b = bytes;
  for (size_t i = 0; i < len; i++) h = (h ^ b[i]) * 1099511628211u;
  return h;
}

/* Of a plan, but for the ids that are drawn. */
static uint64_t digest(const pawl_plan *p) {
  uint64_t h = 14695981039346656037u;
  for (int k = 0; k < p->state.tokens.n; k++) {
    const pawl_token *t = &p->state.tokens.at[k];
    h = mix(h, &t->no, sizeof t->no);
    h = mix(h, &t->state, sizeof t->state);
    h = mix(h, &t->visit, sizeof t->visit);
    h = mix(h, &t->due_us, sizeof t->due_us);
    h = mix(h, t->node, strlen(t->node));
  }
  for (int k = 0; k < p->nrecords; k++) {
    h = mix(h, p->records[k].type, strlen(p->records[k].type));
    h = mix(h, &p->records[k].token, sizeof p->records[k].token);
  }
  for (int k = 0; k < p->neffects; k++) {
    h = mix(h, &p->effects[k].kind, sizeof p->effects[k].kind);
    h = mix(h, &p->effects[k].token, sizeof p->effects[k].token);
  }
  h = mix(h, &p->after, sizeof p->after);
  return mix(h, &p->state.status, sizeof p->state.status);
}

/* Those whose tokens have ended are ended where they stand. */
static void cull(story *s) {
  pawl_decision *d = &s->d;

  for (int i = d->naloft - 1; i >= 0; i--) {
    const pawl_token *t = stored_token(d, s->w.aloft[i].token);
    if (t && t->state == PAWL_TOKEN_ACTIVE && is_of(&s->w.aloft[i], t))
      continue;
    const aloft last = s->w.aloft[--d->naloft];
    s->w.aloft[d->naloft] = s->w.aloft[i];
    s->w.aloft[i] = last;
  }
}

static void store(story *s) {
  pawl_decision *d = &s->d;

  check_plan(d);
  if (d->plan.after == PAWL_AFTER_BACK || d->plan.after == PAWL_AFTER_FORGET) {
    CHECK(!d->naloft);
    return;
  }
  pawl_plan_last_words(&d->plan);
  for (int k = 0; k < d->plan.neffects; k++)
    note_effect(&s->m, d, &d->plan.effects[k]);
  for (int k = 0; k < d->plan.nrecords; k++)
    note_record(&s->m, d, &d->plan.records[k], d->seq + 1 + k);
  CHECK(!d->naloft || d->plan.after == PAWL_AFTER_GO_ON ||
        d->plan.after == PAWL_AFTER_END);
  pawl_decision_accept(d);
  if (pawl_status_has_ended(d->state.status)) /* all of it goes with it */
    s->m.waits.n = s->m.tasks.n = s->m.children.n = 0;
  cull(s);
  check_tokens(d);
  check_boundaries(d);
  if (!pawl_is_undoing(d) || d->state.undo.by) check_waiting(&s->m, d);
  check_rest(&s->w, d);
}

/* W6 */
static int decide(story *s) {
  pawl_decision *d = &s->d;
  const int naloft = d->naloft;
  d->turn = !naloft && rarely(&s->w, 12) ? PAWL_TURN_LETTERS : PAWL_TURN_WHOLE;
  uint64_t chance = s->w.seed, once;

  d->running_token = 0;
  int planned = pawl_decide(d);
  s->decisions++;
  if (!d->plan.waits && pick(&s->w, 4) == 0) {
    int letters_left = d->plan.leaves;
    pawl_look look = d->plan.look;
    once = digest(&d->plan);
    s->w.seed = chance;
    CHECK_INT(pawl_decide(d), planned);
    CHECK(digest(&d->plan) == once);
    CHECK(!d->plan.waits && d->plan.look == look &&
          d->plan.leaves == letters_left);
  }
  CHECK(planned || d->naloft);
  CHECK(d->naloft >= naloft);
  return planned;
}

static int is_same(pawl_str a, pawl_str b, const char *name) {
  pawl_str x = {0}, y = {0};
  (void)pawl_json_get(a, name, &x);
  (void)pawl_json_get(b, name, &y);
  return pawl_str_eq(x, y);
}

/* W9, of a step that is on record: `given` to its handler, which `left` that,
 * while there were others `before`. */
static void check_merged(const pawl_decision *d, pawl_str given, pawl_str left,
                         pawl_str before) {
  static const char *const names[] = {"k", "p0", "p1", "p2"};
  const pawl_str now = pawl_vars_now(d);

  for (int i = 0; i < 4; i++) {
    if (is_same(given, left, names[i]))
      CHECK(is_same(now, before, names[i]));
    else
      CHECK(is_same(now, left, names[i]));
  }
}

static int has_record(const pawl_plan *p, const char *type, int32_t token) {
  for (int k = 0; k < p->nrecords; k++)
    if (!strcmp(p->records[k].type, type) && p->records[k].token == token)
      return 1;
  return 0;
}

/* One of the handlers that wait ends. */
static void come_back(story *s) {
  pawl_decision *d = &s->d;
  const int i = pick(&s->w, d->naloft);
  aloft a = s->w.aloft[i];
  pawl_buf left = {0}, before = {0};
  pawl_error err = {0};

  s->w.aloft[i] = s->w.aloft[--d->naloft];
  s->w.aloft[d->naloft] = a; /* its buffer stays */
  d->turn = PAWL_TURN_WHOLE;
  const pawl_str base = pawl_buf_str(&a.base);
  pawl_said_clear(&s->w.result);
  const pawl_code rc =
      a.handler == PAWL_HANDLER_RUN
          ? say_step(&s->w, &d->def->nodes[a.node], base, &err)
          : say_undo(&s->w, &err);
  pawl_buf_set(&before,
               d->vars.len ? pawl_buf_str(&d->vars) : pawl_strz("{}"));
  pawl_buf_set(&left, s->w.result.vars_changed
                          ? pawl_buf_str(&s->w.result.vars)
                          : base);
  pawl_decide_returned(d, a.handler, a.token, base, rc, &err);
  if (rc == PAWL_OK && has_record(&d->plan, "step", a.token))
    check_merged(d, base, pawl_buf_str(&left), pawl_buf_str(&before));
  s->decisions++;
  pawl_buf_deinit(&left);
  pawl_buf_deinit(&before);
}

/* Beside handlers that wait, or when one of them ends. */
static void go_on(story *s) {
  pawl_decision *d = &s->d;

  d->may_wait = d->naloft < ALOFT_MAX;
  if (d->naloft && (pick(&s->w, 2) || !pawl_decide_beside(d)))
    come_back(s);
  else if (!decide(s))
    return;
  store(s);
}

/* It is let go of, and claimed again when there is something to do. */
static void claim(story *s) {
  pawl_decision *d = &s->d;

  if (d->plan.after == PAWL_AFTER_GO_ON || d->naloft) return;
  d->rounds = d->one_by_one = 0;
  int64_t first = soonest(d, s->w.now);
  if (first != PAWL_NEVER && first > s->w.now && pick(&s->w, 2))
    s->w.now = first; /* nothing else happens until then */
  for (int i = d->nletters - 1; i >= 0 && d->nletters > 6; i--)
    if (pawl_str_eqz(pawl_buf_str(&d->letters[i].kind), "event")) {
      pawl_letter l = d->letters[i]; /* nobody wants it */
      d->letters[i] = d->letters[--d->nletters];
      d->letters[d->nletters] = l;
    }
}

static int is_over(const story *s) {
  return pawl_status_has_ended(s->d.state.status);
}

static void tell(story *s, uint64_t seed) {
  pawl_decision *d = &s->d;
  const char *what = "PAWL_SEED";

  printf("%s=%" PRIu64 ": %s after %" PRId64 " decisions\n%s\n", what, seed,
         pawl_status_name(d->state.status), s->decisions, d->def->graph.at);
  for (int k = 0; k < d->state.tokens.n; k++)
    printf("  token %d at %s, %s, due %" PRId64 "\n",
           (int)d->state.tokens.at[k].no, d->state.tokens.at[k].node,
           pawl_token_state_name(d->state.tokens.at[k].state),
           d->state.tokens.at[k].due_us);
}

static int64_t play(uint64_t seed) {
  static story s; /* large */
  pawl_def *def;
  int failed = test_failed;
  int64_t decisions = 0;

  memset(&s, 0, sizeof s);
  world_init(&s.w, seed);
  def = draw_workflow(&s.w);
  if (def) {
    pawl_decision_init(&s.d, &s.w.face);
    (void)pawl_id_make(&s.w.ids, s.w.now, &s.d.id, NULL);
    pawl_id_format(&s.d.id, s.d.id_text);
    pawl_buf_addz(&s.d.workflow, "t.drawn");
    s.d.version = 1;
    s.d.def = def;
    s.d.created_us = s.w.now;
    while (s.decisions < 3000 && failed == test_failed) {
      if (s.decisions > 300) s.w.calm = 1;
      if (is_over(&s) && (s.w.calm || s.d.state.status != PAWL_STATUS_FAILED ||
                          pick(&s.w, 3)))
        break;
      /* where events begin lane upon lane, others have to come to their time */
      s.w.now += s.decisions > 1000 ? PAWL_SECOND : 1000;
      load(&s.m, &s.d);
      if (is_over(&s))
        add_letter(&s.w, &s.d, "retry");
      else
        write_letters(&s.w, &s.m, &s.d);
      go_on(&s);
      claim(&s);
    }
    CHECK(failed != test_failed || is_over(&s)); /* W7 */
    if (failed != test_failed) tell(&s, seed);
    decisions = s.decisions;
    pawl_decision_deinit(&s.d);
    pawl_def_free(def);
  }
  model_deinit(&s.m);
  world_deinit(&s.w);
  return decisions;
}

int main(void) {
  const char *most = getenv("PAWL_DECISIONS"), *first = getenv("PAWL_SEED");
  int64_t left = most ? atoll(most) : 60000;
  uint64_t seed = first ? strtoull(first, NULL, 10) : 1;

  for (int stories = 0; left > 0 && test_failed < 20; seed++, stories++) {
    left -= play(seed);
    if (stories > 100000) break; /* every one was drawn wrong */
  }
  return TEST_END;
}
