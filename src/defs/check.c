/* Everything that can be known about a graph before it runs. */
#include <stdio.h>

#include "../value/json.h"
#include "fork.h"

/* ---- the nearest name ---- */

enum { LONGEST = 64 }; /* of words compared; longer ones are nobody's slip */

static int lower(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int least(int a, int b) {
  return a < b ? a : b;
}

/* Insert, delete, replace, swap of two neighbours; case does not count. Both
 * at most 2 * LONGEST long. */
static int distance(const char *a, int na, const char *b, int nb) {
  int rows[3][2 * LONGEST + 1];
  int *before = rows[0], *last = rows[1], *row = rows[2];
  for (int j = 0; j <= nb; j++) last[j] = j;
  for (int i = 1; i <= na; i++) {
    int *spare = before;
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + !same);
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = least(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
    row = spare;
  }
  return last[nb];
}

const char *pawl_nearest(const char *name, const char *const *names, int n) {
  const char *best = NULL;
  size_t len = strlen(name);
  int limit, best_distance = 0;
  if (len > LONGEST) return NULL;
  limit = len / 3 > 1 ? (int)(len / 3) : 1;
  for (int i = 0; i < n; i++) {
    size_t other = strlen(names[i]);
    int d;
    if (other + (size_t)limit < len || other > len + (size_t)limit) continue;
    d = distance(name, (int)len, names[i], (int)other);
    if (d <= limit && (!best || d < best_distance)) {
      best = names[i];
      best_distance = d;
    }
  }
  return best;
}

/* ---- errors ---- */

static pawl_code at(const pawl_def *d, int line, pawl_error *err) {
  if (line > 0)
    pawl_error_where(err, "%s:%d", d->file, line);
  else
    pawl_error_where(err, "%s", d->file);
  return PAWL_DEFINITION;
}

/* The start of a message about a node: step "reserve". */
#define NODE_FMT PAWL_NODE_FMT
#define NODE_ARGS(node) PAWL_NODE_ARGS(node)

static pawl_code missing(const pawl_def *d, const pawl_node *node,
                         const char *field, const char *hint,
                         pawl_error *err) {
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": no `%s`", NODE_ARGS(node),
            field);
  pawl_error_hint(err, "%s", hint);
  return at(d, node->line, err);
}

/* Offers the node that was meant. */
static void hint_node(const pawl_def *d, const char *name, pawl_error *err) {
  const char *near = NULL;
  for (int i = 0; i < d->nnodes; i++) {
    const char *pair[2] = {near ? near : d->nodes[i].name, d->nodes[i].name};
    const char *nearer = pawl_nearest(name, pair, 2);
    if (nearer) near = nearer;
  }
  if (near)
    pawl_error_hint(err, "did you mean \"%s\"?", near);
  else
    pawl_error_hint(err, "add a node of that name, or correct it");
}

/* ---- names ---- */

static int is_code_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '-';
}

int pawl_def_is_code(const char *code) {
  size_t word = 0, i;
  for (i = 0; code[i]; i++) {
    if (code[i] == '.' && word > 0)
      word = 0;
    else if (is_code_char(code[i]))
      word++;
    else
      return 0;
  }
  return word > 0 && i <= 200;
}

/* Dotted words as a code has them; in a pattern the last may be "*". */
int pawl_def_is_event(const char *name, int is_pattern) {
  char words[201];
  size_t len = strlen(name);
  if (len > 200) return 0;
  pawl_copy_text(words, sizeof words, name);
  if (is_pattern && len > 0 && words[len - 1] == '*' &&
      (len == 1 || words[len - 2] == '.'))
    words[len - 1] = 'x';
  return pawl_def_is_code(words);
}

static pawl_code check_code(const pawl_def *d, pawl_error *err) {
  char code[201];
  if (pawl_def_is_code(d->code)) return PAWL_OK;
  pawl_copy_text(code, sizeof code, d->code);
  pawl_fail(err, PAWL_DEFINITION, "workflow code \"%s\" is not well formed",
            code);
  pawl_error_hint(err, PAWL_CODE_RULE);
  return at(d, d->line, err);
}

/* What is wrong with a node's, transition's or error code's name; or NULL. */
static const char *name_problem(const char *name) {
  size_t len = strlen(name);
  if (len == 0) return "is empty";
  if (len > 64) return "is longer than 64 bytes";
  for (size_t i = 0; i < len; i++)
    if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
      return "has characters that cannot be printed";
  return NULL;
}

/* The node's own name is not repeated in messages: it may not be fit to. */
static pawl_code check_own_name(const pawl_def *d, const pawl_node *node,
                                pawl_error *err) {
  const char *problem = name_problem(node->name);
  if (!problem) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION, "the name of a %s %s",
            pawl_kind_name(node->kind), problem);
  return at(d, node->line, err);
}

static pawl_code check_edge_name(const pawl_def *d, const pawl_node *node,
                                 const char *field, const char *name,
                                 pawl_error *err) {
  const char *problem = name_problem(name);
  if (!problem) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": a name in `%s` %s",
            NODE_ARGS(node), field, problem);
  return at(d, node->line, err);
}

static pawl_code check_unique(const pawl_def *d, pawl_error *err) {
  for (int i = 1; i < d->nnodes; i++) {
    const pawl_node *first = &d->nodes[d->by_name[i - 1]];
    const pawl_node *again = &d->nodes[d->by_name[i]];
    if (strcmp(first->name, again->name) != 0) continue;
    pawl_fail(err, PAWL_DEFINITION, NODE_FMT " is defined twice",
              NODE_ARGS(again));
    pawl_error_hint(err, "the first is in line %d", first->line);
    return at(d, again->line, err);
  }
  return PAWL_OK;
}

static pawl_code check_edges(const pawl_def *d, const pawl_node *node,
                             const char *field, const pawl_edge *edges, int n,
                             pawl_error *err) {
  for (int i = 0; i < n; i++) {
    char target[65]; /* as long as a name can be */
    pawl_code rc = PAWL_OK;
    /* "" alone stands for `next` as a single name. */
    if (edges[i].name[0] || n > 1)
      rc = check_edge_name(d, node, field, edges[i].name, err);
    if (rc != PAWL_OK) return rc;
    if (edges[i].to >= 0) continue;
    pawl_copy_text(target, sizeof target, edges[i].target);
    pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": `%s` names no node \"%s\"",
              NODE_ARGS(node), field, target);
    hint_node(d, edges[i].target, err);
    return at(d, node->line, err);
  }
  return PAWL_OK;
}

/* ---- what each kind needs ---- */

static pawl_code check_timer(const pawl_def *d, const pawl_node *node,
                             pawl_error *err) {
  if (node->after_us < 0 && !node->has_at)
    return missing(d, node, "after",
                   "after = \"1h\", or at = function(ctx) ... end", err);
  if (node->after_us >= 0 && node->has_at) {
    pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": both `after` and `at`",
              NODE_ARGS(node));
    pawl_error_hint(err, "keep one of them");
    return at(d, node->line, err);
  }
  if (node->nnext == 1 && node->next[0].name[0] == 0) return PAWL_OK;
  return missing(d, node, "next", "a timer has one: next = \"the_next_node\"",
                 err);
}

static pawl_code check_choice(const pawl_def *d, const pawl_node *node,
                              pawl_error *err) {
  if (!node->has_choose)
    return missing(d, node, "choose",
                   "choose = function(ctx) return \"yes\" end", err);
  if (node->nnext >= 2) return PAWL_OK;
  if (node->nnext == 0)
    return missing(d, node, "next", "next = { yes = \"a\", no = \"b\" }", err);
  pawl_fail(err, PAWL_DEFINITION,
            NODE_FMT ": `next` offers nothing to choose from",
            NODE_ARGS(node));
  pawl_error_hint(err, "name at least two: { yes = \"a\", no = \"b\" }");
  return at(d, node->line, err);
}

static pawl_code check_retry(const pawl_def *d, const pawl_node *node,
                             pawl_error *err) {
  if (node->retry.cap_us >= node->retry.base_us) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION,
            NODE_FMT ": `retry`: `cap` is shorter than `base`",
            NODE_ARGS(node));
  pawl_error_hint(err,
                  "cap is the longest delay, base the first; one of them "
                  "may be the workflow's");
  return at(d, node->line, err);
}

static pawl_code check_step(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  if (!node->has_run)
    return missing(d, node, "run", "run = function(ctx) ... end", err);
  if (node->nnext == 0)
    return missing(d, node, "next", "next = \"the_next_node\"", err);
  return check_retry(d, node, err);
}

static pawl_code check_finish(const pawl_def *d, const pawl_node *node,
                              pawl_error *err) {
  if (node->nnext == 0) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": a finish has no `next`",
            NODE_ARGS(node));
  pawl_error_hint(err, "leave it out, or make the node a step");
  return at(d, node->line, err);
}

static int has_single_next(const pawl_node *node) {
  return node->nnext == 1 && node->next[0].name[0] == 0;
}

static int has_transition(const pawl_node *node, const char *name) {
  for (int i = 0; i < node->nnext; i++)
    if (strcmp(node->next[i].name, name) == 0) return 1;
  return 0;
}

/* Named transitions are among `known`, n of them, the first of which must be
 * there. A single next stands for it. */
static pawl_code check_transitions(const pawl_def *d, const pawl_node *node,
                                   const char *const *known, int n,
                                   pawl_error *err) {
  if (has_single_next(node)) return PAWL_OK;
  for (int i = 0; i < node->nnext; i++) {
    const char *name = node->next[i].name, *near;
    char shown[65];
    int k = 0;
    while (k < n && strcmp(name, known[k]) != 0) k++;
    if (k < n) continue;
    pawl_copy_text(shown, sizeof shown, name);
    pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": `next`: no transition \"%s\"",
              NODE_ARGS(node), shown);
    near = pawl_nearest(name, known, n);
    if (near)
      pawl_error_hint(err, "did you mean \"%s\"?", near);
    else
      pawl_error_hint(err, "a %s knows: %s, %s%s%s%s%s",
                      pawl_kind_name(node->kind), known[0], known[1],
                      n > 2 ? ", " : "", n > 2 ? known[2] : "",
                      n > 3 ? ", " : "", n > 3 ? known[3] : "");
    return at(d, node->line, err);
  }
  if (has_transition(node, known[0])) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": `next` has no \"%s\"",
            NODE_ARGS(node), known[0]);
  pawl_error_hint(err, "next = \"a\", or next = { %s = \"a\", ... }",
                  known[0]);
  return at(d, node->line, err);
}

/* A transition that only `field` can bring about. */
static pawl_code check_cause(const pawl_def *d, const pawl_node *node,
                             const char *transition, const char *field,
                             int is_there, pawl_error *err) {
  if (is_there || !has_transition(node, transition)) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION,
            NODE_FMT ": `next` has \"%s\", but there is no `%s`",
            NODE_ARGS(node), transition, field);
  pawl_error_hint(err, "add %s = \"2d\", or leave the transition out", field);
  return at(d, node->line, err);
}

static pawl_code check_event(const pawl_def *d, int line, const char *whose,
                             const char *event, int is_pattern,
                             pawl_error *err) {
  char shown[65];
  if (pawl_def_is_event(event, is_pattern)) return PAWL_OK;
  pawl_copy_text(shown, sizeof shown, event);
  pawl_fail(err, PAWL_DEFINITION, "%s \"%s\" is not well formed", whose,
            shown);
  pawl_error_hint(err, is_pattern ? PAWL_PATTERN_RULE : PAWL_CODE_RULE);
  return at(d, line, err);
}

/* The names of variables that a node uses. */
static pawl_code check_variable(const pawl_def *d, const pawl_node *node,
                                const char *field, const char *name,
                                pawl_error *err) {
  const char *problem = name ? name_problem(name) : NULL;
  if (!problem) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": `%s` %s", NODE_ARGS(node), field,
            problem);
  pawl_error_hint(err, "it is the name of a variable");
  return at(d, node->line, err);
}

static pawl_code check_wait(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  static const char *const KNOWN[] = {"received", "timeout"};
  pawl_code rc;
  char whose[160];
  if (!node->event)
    return missing(d, node, "event", "event = \"payment.*\"", err);
  if (node->nnext == 0)
    return missing(d, node, "next", "next = \"the_next_node\"", err);
  snprintf(whose, sizeof whose, NODE_FMT ": `event`", NODE_ARGS(node));
  TRY(check_event(d, node->line, whose, node->event, 1, err));
  TRY(check_variable(d, node, "key", node->key, err));
  TRY(check_variable(d, node, "into", node->into, err));
  TRY(check_transitions(d, node, KNOWN, 2, err));
  TRY(check_cause(d, node, "timeout", "timeout", node->limit_us >= 0, err));
  TRY(check_retry(d, node, err));
out:
  return rc;
}

static int task_has(const pawl_node *node, const char *field) {
  pawl_str ignored;
  return node->task.at && pawl_json_get(node->task, field, &ignored);
}

/* Whoever takes a task chooses among the names that are not the engine's. */
static pawl_code check_outcomes(const pawl_def *d, const pawl_node *node,
                                pawl_error *err) {
  static const char *const OURS[] = {"overdue", "timeout", "failed"};
  int others = node->nnext;
  if (has_single_next(node)) return PAWL_OK;
  for (int i = 0; i < 3; i++) others -= has_transition(node, OURS[i]);
  if (others > 0) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION,
            NODE_FMT ": `next` has no outcome that a person can take",
            NODE_ARGS(node));
  pawl_error_hint(err, "next = { approved = \"a\", rejected = \"b\", ... }");
  return at(d, node->line, err);
}

static pawl_code check_signal(const pawl_def *d, const pawl_node *node,
                              pawl_error *err) {
  char whose[160], signal[256] = "";
  pawl_str value;
  pawl_buf text = {.alloc = d->alloc};
  pawl_code rc;
  if (!node->task.at || !pawl_json_get(node->task, "signal", &value))
    return PAWL_OK;
  pawl_json_unquote(value, &text);
  rc = pawl_buf_check(&text, err);
  if (rc == PAWL_OK) {
    pawl_str_copy(signal, sizeof signal, pawl_buf_str(&text));
    snprintf(whose, sizeof whose, NODE_FMT ": `signal`", NODE_ARGS(node));
    rc = check_event(d, node->line, whose, signal, 0, err);
  }
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code check_task(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  pawl_code rc;
  pawl_str title;
  int may_be_due = task_has(node, "due") || node->has_prepare;
  if (!task_has(node, "title") ||
      !pawl_json_get(node->task, "title", &title) || title.len <= 2)
    return missing(d, node, "title", "title = \"Approve the order\"", err);
  if (node->nnext == 0)
    return missing(d, node, "next", "next = \"the_next_node\"", err);
  TRY(check_variable(d, node, "into", node->into, err));
  TRY(check_signal(d, node, err));
  TRY(check_outcomes(d, node, err));
  TRY(check_cause(d, node, "overdue", "due", may_be_due, err));
  TRY(check_cause(d, node, "timeout", "timeout", node->limit_us >= 0, err));
  TRY(check_retry(d, node, err));
  if (!node->escalate.at || may_be_due) return PAWL_OK;
  return missing(d, node, "due",
                 "`escalate` is for a task that is overdue: "
                 "due = \"2d\"",
                 err);
out:
  return rc;
}

static pawl_code check_fork(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  if (node->nnext == 0)
    return missing(d, node, "next", "next = { \"ship\", \"bill\" }", err);
  if (node->nnext >= 2) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": has only one branch",
            NODE_ARGS(node));
  pawl_error_hint(err, "next = { \"ship\", \"bill\" }");
  return at(d, node->line, err);
}

static pawl_code check_join(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  if (has_single_next(node)) return PAWL_OK;
  return missing(d, node, "next", "a join has one: next = \"the_next_node\"",
                 err);
}

static pawl_code check_child(const pawl_def *d, const pawl_node *node,
                             pawl_error *err) {
  if (pawl_def_is_code(node->workflow)) return PAWL_OK;
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": `workflow` is not well formed",
            NODE_ARGS(node));
  pawl_error_hint(err, PAWL_CODE_RULE);
  return at(d, node->line, err);
}

static pawl_code check_call(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  static const char *const KNOWN[] = {"completed", "failed", "cancelled",
                                      "timeout"};
  pawl_code rc;
  if (!node->workflow)
    return missing(d, node, "workflow", "workflow = \"order.ship\"", err);
  if (node->nnext == 0)
    return missing(d, node, "next", "next = \"the_next_node\"", err);
  TRY(check_child(d, node, err));
  TRY(check_variable(d, node, "into", node->into, err));
  TRY(check_transitions(d, node, KNOWN, 4, err));
  TRY(check_cause(d, node, "timeout", "timeout", node->limit_us >= 0, err));
  TRY(check_retry(d, node, err));
out:
  return rc;
}

/* What an each is done over: a branch of this graph, or children. */
static pawl_code check_each_over(const pawl_def *d, const pawl_node *node,
                                 pawl_error *err) {
  char target[65];
  if (node->workflow && node->branch_name) {
    pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": both `branch` and `workflow`",
              NODE_ARGS(node));
    pawl_error_hint(err, "keep one of them");
    return at(d, node->line, err);
  }
  if (node->workflow) return check_child(d, node, err);
  if (!node->branch_name)
    return missing(d, node, "branch",
                   "branch = \"the_first_node\", or workflow = \"code\"", err);
  if (node->branch >= 0) return PAWL_OK;
  pawl_copy_text(target, sizeof target, node->branch_name);
  pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": `branch` names no node \"%s\"",
            NODE_ARGS(node), target);
  hint_node(d, node->branch_name, err);
  return at(d, node->line, err);
}

static pawl_code check_each(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  pawl_code rc;
  if (!node->has_items)
    return missing(d, node, "items",
                   "items = function(ctx) return ctx.vars.list end", err);
  if (!has_single_next(node))
    return missing(d, node, "next",
                   "an each has one: next = \"the_next_node\"", err);
  TRY(check_each_over(d, node, err));
  TRY(check_variable(d, node, "into", node->into, err));
out:
  return rc;
}

static pawl_code check_kind(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  static pawl_code (*const CHECKS[PAWL_NKINDS])(
      const pawl_def *, const pawl_node *, pawl_error *) = {
      [PAWL_KIND_STEP] = check_step,   [PAWL_KIND_CHOICE] = check_choice,
      [PAWL_KIND_TIMER] = check_timer, [PAWL_KIND_FINISH] = check_finish,
      [PAWL_KIND_WAIT] = check_wait,   [PAWL_KIND_TASK] = check_task,
      [PAWL_KIND_FORK] = check_fork,   [PAWL_KIND_JOIN] = check_join,
      [PAWL_KIND_CALL] = check_call,   [PAWL_KIND_EACH] = check_each,
  };
  return CHECKS[node->kind](d, node, err);
}

static pawl_code check_node(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  pawl_code rc;
  TRY(check_kind(d, node, err));
  TRY(check_edges(d, node, "next", node->next, node->nnext, err));
  TRY(check_edges(d, node, "on_error", node->on_error, node->non_error, err));
out:
  return rc;
}

/* ---- ways through the graph ---- */

/* One piece of memory for all walks: for every node a mark and a place on the
 * stack of nodes to look at. */
typedef struct walk {
  const pawl_def *def;
  int *mark, *stack;
  int depth;
  size_t size;
} walk;

static void visit(walk *w, int node) {
  if (w->mark[node]) return;
  w->mark[node] = 1;
  w->stack[w->depth++] = node;
}

static pawl_code check_reachable(walk *w, pawl_error *err) {
  const pawl_def *d = w->def;
  visit(w, d->start);
  while (w->depth > 0) {
    const pawl_node *node = &d->nodes[w->stack[--w->depth]];
    int to;
    for (int i = 0; (to = pawl_node_target(node, i)) >= 0; i++) visit(w, to);
  }
  for (int i = 0; i < d->nnodes; i++) {
    const pawl_node *node = &d->nodes[i];
    if (w->mark[i]) continue;
    pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": nothing leads to it",
              NODE_ARGS(node));
    pawl_error_hint(err, "name it in a `next` or `on_error`, or remove it");
    return at(d, node->line, err);
  }
  return PAWL_OK;
}

static int leads_to_marked(const walk *w, const pawl_node *node) {
  int to;
  for (int i = 0; (to = pawl_node_target(node, i)) >= 0; i++)
    if (w->mark[to]) return 1;
  return 0;
}

/* Marks grow from the finishes backwards, a pass over all nodes each time; as
 * nodes are mostly written in their order, a pass from the end does nearly
 * everything at once. */
static pawl_code check_ends(walk *w, pawl_error *err) {
  const pawl_def *d = w->def;
  int grown = 1;
  for (int i = 0; i < d->nnodes; i++)
    w->mark[i] = d->nodes[i].kind == PAWL_KIND_FINISH;
  while (grown) {
    grown = 0;
    for (int i = d->nnodes - 1; i >= 0; i--) {
      if (w->mark[i] || !leads_to_marked(w, &d->nodes[i])) continue;
      w->mark[i] = grown = 1;
    }
  }
  for (int i = 0; i < d->nnodes; i++) {
    const pawl_node *node = &d->nodes[i];
    if (w->mark[i]) continue;
    pawl_fail(err, PAWL_DEFINITION, NODE_FMT ": no way from it to a finish",
              NODE_ARGS(node));
    pawl_error_hint(err, "lead one of its ways to a node made with :finish");
    return at(d, node->line, err);
  }
  return PAWL_OK;
}

static int only_routes(const pawl_node *node) {
  return node->kind == PAWL_KIND_CHOICE || node->kind == PAWL_KIND_FORK ||
         node->kind == PAWL_KIND_JOIN;
}

/* Choices, forks and joins write nothing of their own, so that a circle of
 * them would be walked for ever within one step. Takes away, again and again,
 * those that lead to none that is left: what stays is on such a circle or
 * leads to one. */
static pawl_code check_circles(walk *w, pawl_error *err) {
  const pawl_def *d = w->def;
  int shrunk = 1;
  for (int i = 0; i < d->nnodes; i++) w->mark[i] = only_routes(&d->nodes[i]);
  while (shrunk) {
    shrunk = 0;
    for (int i = d->nnodes - 1; i >= 0; i--) {
      const pawl_node *node = &d->nodes[i];
      if (!w->mark[i]) continue;
      if (leads_to_marked(w, node)) continue;
      w->mark[i] = 0;
      shrunk = 1;
    }
  }
  for (int i = 0; i < d->nnodes; i++) {
    const pawl_node *node = &d->nodes[i];
    if (!w->mark[i]) continue;
    pawl_fail(err, PAWL_DEFINITION,
              NODE_FMT
              ": leads round a circle of choices, forks and joins "
              "alone",
              NODE_ARGS(node));
    pawl_error_hint(err, "put a step or a timer into the circle");
    return at(d, node->line, err);
  }
  return PAWL_OK;
}

static pawl_code check_ways(const pawl_def *d, pawl_error *err) {
  pawl_code rc;
  walk w = {.def = d};
  size_t n = (size_t)d->nnodes;
  w.size = 2 * n * sizeof *w.mark + 1;
  w.mark = pawl_calloc(d->alloc, w.size);
  if (!w.mark)
    return pawl_fail(err, PAWL_NOMEM, "not enough memory to check a graph");
  w.stack = w.mark + n;
  TRY(check_reachable(&w, err));
  TRY(check_ends(&w, err));
  TRY(check_circles(&w, err));
out:
  pawl_release(d->alloc, w.mark, w.size);
  return rc;
}

static pawl_code check_rules(const pawl_def *d, const char *field,
                             const pawl_event_rule *rules, int n,
                             pawl_error *err) {
  for (int i = 0; i < n; i++) {
    const char *problem = rules[i].key ? name_problem(rules[i].key) : NULL;
    char whose[64];
    pawl_code rc;
    snprintf(whose, sizeof whose, "`%s`: event", field);
    rc = check_event(d, d->line, whose, rules[i].event, 1, err);
    if (rc != PAWL_OK) return rc;
    if (!problem) continue;
    pawl_fail(err, PAWL_DEFINITION, "`%s`: `key` %s", field, problem);
    pawl_error_hint(err, "it is the name of a variable, or of the input");
    return at(d, d->line, err);
  }
  return PAWL_OK;
}

static pawl_code check_start(const pawl_def *d, pawl_error *err) {
  char start[65];
  if (d->start >= 0) return PAWL_OK;
  pawl_copy_text(start, sizeof start, d->start_name);
  pawl_fail(err, PAWL_DEFINITION,
            "workflow \"%s\": `start` names no node \"%s\"", d->code, start);
  hint_node(d, d->start_name, err);
  return at(d, d->line, err);
}

pawl_code pawl_def_check(const pawl_def *def, pawl_error *err) {
  pawl_code rc;
  TRY(check_code(def, err));
  for (int i = 0; i < def->nnodes; i++)
    TRY(check_own_name(def, &def->nodes[i], err));
  TRY(check_unique(def, err));
  TRY(check_start(def, err));
  TRY(check_rules(def, "trigger", def->triggers, def->ntriggers, err));
  TRY(check_rules(def, "cancel_on", def->cancel_on, def->ncancel_on, err));
  for (int i = 0; i < def->nnodes; i++)
    TRY(check_node(def, &def->nodes[i], err));
  TRY(check_ways(def, err));
  TRY(pawl_fork_check(def, err));
out:
  return rc;
}
