/* Everything that can be known about a graph before it runs. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>

#include "../base/nearest.h"
#include "../value/json.h"
#include "../value/types.h"
#include "fork.h"
#include "refuse.h"

/* ---- errors ---- */

static pawl_code missing(const pawl_def *d, const pawl_node *node,
                         const char *field, const char *hint,
                         pawl_error *err) {
  return pawl_refuse_node(d, node, err, hint, ": no `%s`", field);
}

void pawl_def_hint_node(const pawl_def *d, const char *name, pawl_error *err) {
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
    if (i == 200)
      return 0;
    else if (code[i] == '.' && word > 0)
      word = 0;
    else if (is_code_char(code[i]))
      word++;
    else
      return 0;
  }
  return word > 0;
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
  pawl_fail_hint(err, PAWL_DEFINITION, PAWL_CODE_RULE,
                 "workflow code \"%s\" is not well formed", code);
  return pawl_refuse_at(d, d->line, err);
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
  return pawl_refuse_at(d, node->line, err);
}

static pawl_code check_edge_name(const pawl_def *d, const pawl_node *node,
                                 const char *field, const char *name,
                                 pawl_error *err) {
  const char *problem = name_problem(name);
  if (!problem) return PAWL_OK;
  return pawl_refuse_node(d, node, err, NULL, ": a name in `%s` %s", field,
                          problem);
}

static pawl_code check_unique(const pawl_def *d, pawl_error *err) {
  for (int i = 1; i < d->nnodes; i++) {
    const pawl_node *first = &d->nodes[d->by_name[i - 1]];
    const pawl_node *again = &d->nodes[d->by_name[i]];
    if (strcmp(first->name, again->name) != 0) continue;
    pawl_refuse_node(d, again, err, NULL, " is defined twice");
    pawl_error_hint(err, "the first is in line %d", first->line);
    return PAWL_DEFINITION;
  }
  return PAWL_OK;
}

static pawl_code no_such_node(const pawl_def *d, const pawl_node *node,
                              const char *field, const char *name,
                              pawl_error *err) {
  char target[65]; /* as long as a name can be */
  pawl_copy_text(target, sizeof target, name);
  pawl_refuse_node(d, node, err, NULL, ": `%s` names no node \"%s\"", field,
                   target);
  pawl_def_hint_node(d, name, err);
  return PAWL_DEFINITION;
}

static pawl_code check_edges(const pawl_def *d, const pawl_node *node,
                             const char *field, const pawl_edge *edges, int n,
                             pawl_error *err) {
  for (int i = 0; i < n; i++) {
    /* "" alone stands for `next` as a single name. */
    if (edges[i].name[0] || n > 1)
      MUST(check_edge_name(d, node, field, edges[i].name, err));
    if (edges[i].to < 0)
      return no_such_node(d, node, field, edges[i].target, err);
  }
  return PAWL_OK;
}

/* ---- what each kind needs: its shape (kinds.h) ---- */

static int has_single_next(const pawl_node *node) {
  return node->nnext == 1 && node->next[0].name[0] == 0;
}

static int has_transition(const pawl_node *node, const char *name) {
  for (int i = 0; i < node->nnext; i++)
    if (strcmp(node->next[i].name, name) == 0) return 1;
  return 0;
}

/* The hint of a need. A single `next` may have been given as several. */
static pawl_code miss_need(const pawl_def *d, const pawl_node *node,
                           const pawl_need *need, pawl_error *err) {
  const char *kind = pawl_kind_name(node->kind);
  char how[120];
  if (strcmp(need->field, "next") != 0 ||
      pawl_kind_shapes[node->kind].ways != PAWL_WAYS_SINGLE)
    return missing(d, node, need->field, need->how, err);
  snprintf(how, sizeof how, "a%s %s has one: %s",
           strchr("aeiou", kind[0]) ? "n" : "", kind, need->how);
  return missing(d, node, need->field, how, err);
}

static int has_need(const pawl_node *node, const pawl_need *need) {
  if (strcmp(need->field, "next") == 0 &&
      pawl_kind_shapes[node->kind].ways == PAWL_WAYS_SINGLE)
    return has_single_next(node);
  return pawl_node_says(node, need->field);
}

static pawl_code check_needs(const pawl_def *d, const pawl_node *node,
                             pawl_error *err) {
  const pawl_kind_shape *shape = &pawl_kind_shapes[node->kind];
  const pawl_need *either = shape->either;
  for (const pawl_need *need = shape->needs; need->field; need++)
    if (!has_need(node, need)) return miss_need(d, node, need, err);
  if (!either) return PAWL_OK;
  if (pawl_node_says(node, either[0].field) !=
      pawl_node_says(node, either[1].field))
    return PAWL_OK;
  if (!pawl_node_says(node, either[0].field))
    return missing(d, node, either[0].field, either[0].how, err);
  return pawl_refuse_node(d, node, err, either[1].how, ": both `%s` and `%s`",
                          either[0].field, either[1].field);
}

/* How many ways lead on. */
static pawl_code check_next(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  static const struct {
    int least, most;
    const char *problem, *hint;
  } WAYS[] = {
      [PAWL_WAYS_NONE] = {0, 0, "a finish has no `next`",
                          "leave it out, or make the node a step"},
      [PAWL_WAYS_SINGLE] = {1, 1, "", ""}, /* a need */
      [PAWL_WAYS_ANY] = {1, INT_MAX, "", ""},
      [PAWL_WAYS_NAMED] = {2, INT_MAX, "`next` offers nothing to choose from",
                           "name at least two: { yes = \"a\", no = \"b\" }"},
      [PAWL_WAYS_BRANCHES] = {2, INT_MAX, "has only one branch",
                              "next = { \"ship\", \"bill\" }"},
  };
  pawl_ways ways = pawl_kind_shapes[node->kind].ways;
  if (node->nnext >= WAYS[ways].least && node->nnext <= WAYS[ways].most)
    return PAWL_OK;
  return pawl_refuse_node(d, node, err, WAYS[ways].hint, ": %s",
                          WAYS[ways].problem);
}

static pawl_code unknown_transition(const pawl_def *d, const pawl_node *node,
                                    const char *const *known, int n, int i,
                                    pawl_error *err) {
  const char *name = node->next[i].name, *near = pawl_nearest(name, known, n);
  char shown[65], all[200];
  size_t len = 0;
  pawl_copy_text(shown, sizeof shown, name);
  pawl_refuse_node(d, node, err, NULL, ": `next`: no transition \"%s\"",
                   shown);
  if (near) {
    pawl_error_hint(err, "did you mean \"%s\"?", near);
    return PAWL_DEFINITION;
  }
  for (int k = 0; k < n && len < sizeof all; k++)
    len += (size_t)snprintf(all + len, sizeof all - len, "%s%s",
                            k > 0 ? ", " : "", known[k]);
  pawl_error_hint(err, "a %s knows: %s", pawl_kind_name(node->kind), all);
  return PAWL_DEFINITION;
}

static const char *const *known_transitions(const pawl_node *node) {
  const pawl_kind_shape *shape = &pawl_kind_shapes[node->kind];
  return shape->others && pawl_node_says(node, shape->either[1].field)
             ? shape->others
             : shape->transitions;
}

/* Named transitions are among those that the kind knows, the first of which
 * must be there. A single next stands for it. */
static pawl_code check_transitions(const pawl_def *d, const pawl_node *node,
                                   pawl_error *err) {
  const char *const *known = known_transitions(node);
  int n = 0;
  if (!known || has_single_next(node)) return PAWL_OK;
  while (known[n]) n++;
  for (int i = 0; i < node->nnext; i++) {
    int k = 0;
    while (k < n && strcmp(node->next[i].name, known[k]) != 0) k++;
    if (k == n) return unknown_transition(d, node, known, n, i, err);
  }
  if (has_transition(node, known[0])) return PAWL_OK;
  pawl_refuse_node(d, node, err, NULL, ": `next` has no \"%s\"", known[0]);
  pawl_error_hint(err, "next = \"a\", or next = { %s = \"a\", ... }",
                  known[0]);
  return PAWL_DEFINITION;
}

/* A transition that only `field` can bring about. */
static pawl_code check_cause(const pawl_def *d, const pawl_node *node,
                             const char *transition, const char *field,
                             int is_there, pawl_error *err) {
  if (is_there || !has_transition(node, transition)) return PAWL_OK;
  pawl_refuse_node(d, node, err, NULL,
                   ": `next` has \"%s\", but there is no `%s`", transition,
                   field);
  pawl_error_hint(err, "add %s = \"2d\", or leave the transition out", field);
  return PAWL_DEFINITION;
}

/* ---- what its fields hold ---- */

static pawl_code check_retry(const pawl_def *d, const pawl_node *node,
                             pawl_error *err) {
  if (node->retry.cap_us >= node->retry.base_us) return PAWL_OK;
  return pawl_refuse_node(
      d, node, err,
      "cap is the longest delay, base the first; one of them "
      "may be the workflow's",
      ": `retry`: `cap` is shorter than `base`");
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
  return pawl_refuse_at(d, line, err);
}

/* The names of variables that a node uses. */
static pawl_code check_variable(const pawl_def *d, const pawl_node *node,
                                const char *field, const char *name,
                                pawl_error *err) {
  const char *problem = name ? name_problem(name) : NULL;
  if (!problem) return PAWL_OK;
  return pawl_refuse_node(d, node, err, "it is the name of a variable",
                          ": `%s` %s", field, problem);
}

/* Is a variable of that name, or with `input` also a member of the input, at
 * odds with what is declared? `hint`: what to write instead. */
static int is_undeclared(const pawl_def *d, const char *name, int input,
                         char hint[120]) {
  char near[PAWL_TYPES_NAME], other[PAWL_TYPES_NAME] = "";
  if (!name || !d->variables.at || (input && !d->input.at)) return 0;
  if (pawl_types_may_have(d->variables, name, near)) return 0;
  if (input && pawl_types_may_have(d->input, name, other)) return 0;
  if (near[0] || other[0])
    snprintf(hint, 120, "did you mean \"%s\"?", near[0] ? near : other);
  else
    snprintf(hint, 120, "declare it, or let others in: [\"*\"] = \"any\"");
  return 1;
}

/* The variable that takes something. */
static pawl_code check_into(const pawl_def *d, const pawl_node *node,
                            const char *field, const char *name,
                            pawl_error *err) {
  char hint[120];
  MUST(check_variable(d, node, field, name, err));
  if (!is_undeclared(d, name, 0, hint)) return PAWL_OK;
  return pawl_refuse_node(d, node, err, hint,
                          ": `%s` names \"%s\", which `variables` does not "
                          "declare",
                          field, name);
}

static pawl_code check_key(const pawl_def *d, const pawl_node *node,
                           const char *field, const char *name,
                           pawl_error *err) {
  char hint[120];
  MUST(check_variable(d, node, field, name, err));
  if (!is_undeclared(d, name, 1, hint)) return PAWL_OK;
  return pawl_refuse_node(d, node, err, hint,
                          ": `%s` names \"%s\", which neither `variables` nor "
                          "`input` declares",
                          field, name);
}

static pawl_code check_pattern(const pawl_def *d, const pawl_node *node,
                               const char *field, const char *pattern,
                               pawl_error *err) {
  char whose[160];
  if (!pattern) return PAWL_OK;
  snprintf(whose, sizeof whose, PAWL_NODE_FMT ": `%s`", PAWL_NODE_ARGS(node),
           field);
  return check_event(d, node->line, whose, pattern, 1, err);
}

static pawl_code check_types(const pawl_def *d, int line, pawl_str type,
                             const char *whose, pawl_error *err) {
  if (!type.at || pawl_types_check(type, whose, err) == PAWL_OK)
    return PAWL_OK;
  return pawl_refuse_at(d, line, err);
}

static pawl_code check_variables(const pawl_def *d, pawl_error *err) {
  if (!d->variables.at || pawl_json_kind_of(d->variables) == PAWL_JSON_OBJECT)
    return check_types(d, d->line, d->variables, "variables", err);
  pawl_fail_hint(err, PAWL_DEFINITION,
                 "give each its type: variables = { total = \"number\" }",
                 "workflow \"%s\": `variables` does not name them", d->code);
  return pawl_refuse_at(d, d->line, err);
}

static pawl_code check_accepts(const pawl_def *d, const pawl_node *node,
                               pawl_error *err) {
  char whose[160];
  snprintf(whose, sizeof whose, PAWL_NODE_FMT ": accepts",
           PAWL_NODE_ARGS(node));
  return check_types(d, node->line, node->accepts, whose, err);
}

static pawl_code check_child(const pawl_def *d, const pawl_node *node,
                             pawl_error *err) {
  if (!node->workflow || pawl_def_is_code(node->workflow)) return PAWL_OK;
  return pawl_refuse_node(d, node, err, PAWL_CODE_RULE,
                          ": `workflow` is not well formed");
}

static pawl_code check_tolerance(const pawl_def *d, const pawl_node *node,
                                 pawl_error *err) {
  if (!node->collect || (!node->tolerate && node->tolerate_share < 0))
    return PAWL_OK;
  return pawl_refuse_node(d, node, err, "keep one of them",
                          ": both `tolerate` and `on_failure`");
}

static pawl_code check_branch(const pawl_def *d, const pawl_node *node,
                              pawl_error *err) {
  if (!node->branch_name || node->branch >= 0) return PAWL_OK;
  return no_such_node(d, node, "branch", node->branch_name, err);
}

/* Whoever takes a task chooses among the names that are not the engine's. */
static pawl_code check_outcomes(const pawl_def *d, const pawl_node *node,
                                pawl_error *err) {
  static const char *const OURS[] = {"overdue", "timeout", "failed"};
  int others = node->nnext;
  if (has_single_next(node)) return PAWL_OK;
  for (int i = 0; i < 3; i++) others -= has_transition(node, OURS[i]);
  if (others > 0) return PAWL_OK;
  return pawl_refuse_node(d, node, err,
                          "next = { approved = \"a\", rejected = \"b\", ... }",
                          ": `next` has no outcome that a person can take");
}

static pawl_code check_signal(const pawl_def *d, const pawl_node *node,
                              pawl_error *err) {
  char whose[160], signal[256] = "";
  pawl_str value;
  pawl_buf text = {.alloc = d->alloc};
  if (!node->task.at || !pawl_json_get(node->task, "signal", &value))
    return PAWL_OK;
  pawl_json_unquote(value, &text);
  pawl_code rc = pawl_buf_check(&text, err);
  if (rc == PAWL_OK) {
    pawl_str_copy(signal, sizeof signal, pawl_buf_str(&text));
    snprintf(whose, sizeof whose, PAWL_NODE_FMT ": `signal`",
             PAWL_NODE_ARGS(node));
    rc = check_event(d, node->line, whose, signal, 0, err);
  }
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code check_task(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  int may_be_due = pawl_node_says(node, "due") || node->has_prepare;
  MUST(check_signal(d, node, err));
  MUST(check_outcomes(d, node, err));
  MUST(check_cause(d, node, "overdue", "due", may_be_due, err));
  if (!node->escalate.at || may_be_due) return PAWL_OK;
  return missing(d, node, "due",
                 "`escalate` is for a task that is overdue: "
                 "due = \"2d\"",
                 err);
}

/* Does it say how long it waits? */
static int has_limit(const pawl_node *node) {
  return node->limit_us >= 0 || node->has_timeout;
}

static int is_same_key(const pawl_node *node) {
  if (node->has_key || node->has_mover_key) return 0; /* who knows */
  if (!node->key || !node->moved_key) return node->key == node->moved_key;
  return strcmp(node->key, node->moved_key) == 0;
}

/* Does a wait take all that is to have its time worked out anew? One that may
 * refuse an event, or leave it to another, does not. */
static int takes_its_mover(const pawl_node *node) {
  return node->kind == PAWL_KIND_WAIT && node->event && node->moved_by &&
         strcmp(node->event, node->moved_by) == 0 && is_same_key(node) &&
         !node->has_match && !node->has_answer && !node->accepts.at &&
         !node->take_one;
}

static pawl_code check_reschedule(const pawl_def *d, const pawl_node *node,
                                  pawl_error *err) {
  MUST(check_pattern(d, node, "reschedule.event", node->moved_by, err));
  if (node->moved_by && node->kind != PAWL_KIND_TIMER && !has_limit(node) &&
      !pawl_node_says(node, "due"))
    return pawl_refuse_node(d, node, err, "timeout = \"7d\"",
                            ": `reschedule` moves a `timeout`, and there is "
                            "none");
  if (takes_its_mover(node))
    return pawl_refuse_node(d, node, err,
                            "name another event, or one with another key",
                            ": `reschedule` names the event that it waits for "
                            "itself, which moves it on");
  MUST(check_key(d, node, "reschedule.key", node->moved_key, err));
  return check_into(d, node, "reschedule.into", node->moved_into, err);
}

static pawl_code check_take(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  if (!node->take_one || node->key || node->has_key) return PAWL_OK;
  return pawl_refuse_node(d, node, err, "key = \"order\"",
                          ": `take` is of events with a key, and there is "
                          "no `key`");
}

/* It is asked about variables: what is said of events has nothing to be of. */
static pawl_code check_condition(const pawl_def *d, const pawl_node *node,
                                 pawl_error *err) {
  const struct {
    const char *name;
    int is_said;
  } fields[] = {{"key", node->key || node->has_key},
                {"take", node->take_one},
                {"match", node->has_match},
                {"answer", node->has_answer},
                {"accepts", node->accepts.at != NULL},
                {"into", node->into != NULL},
                {"undo", node->has_undo},
                {"on", node->on != NULL}};

  if (!node->has_condition) return PAWL_OK;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (fields[i].is_said)
      return pawl_refuse_node(d, node, err, "leave it out",
                              ": `%s` is of a wait for an event, and this "
                              "one has a `condition`",
                              fields[i].name);
  return PAWL_OK;
}

/* A boundary: it waits beside a node where a token may rest. */
static pawl_code check_boundary(const pawl_def *d, const pawl_node *node,
                                pawl_error *err) {
  const int repeats = node->every_us >= 0 || node->has_every;

  if (!node->on && !repeats) return PAWL_OK;
  if (!node->on)
    return pawl_refuse_node(d, node, err, "on_timer = { every = \"1d\", ... }",
                            ": `every` is for the boundary of a node");
  if (node->host < 0) return no_such_node(d, node, "on", node->on, err);
  if (node->kind != PAWL_KIND_TIMER && node->kind != PAWL_KIND_WAIT)
    return pawl_refuse_node(d, node, err, "on_timer, or on_event",
                            ": `on` is for a timer or a wait");
  if (!pawl_node_may_host(&d->nodes[node->host]))
    return pawl_refuse_node(
        d, node, err, "put it on a step, task, wait, call, each or fork",
        ": nothing stays at \"%s\" that a boundary could be beside", node->on);
  if (node->interrupts && repeats)
    return pawl_refuse_node(d, node, err, "leave one of them out",
                            ": one with `every` cannot `interrupt`");
  if (has_limit(node))
    return pawl_refuse_node(d, node, err, "leave it out",
                            ": a boundary has no `timeout`");
  return PAWL_OK;
}

/* A boundary begins with what it is on; nobody else comes to it. */
static pawl_code check_targets(const pawl_def *d, const pawl_node *node,
                               pawl_error *err) {
  const int own = node->nnext + node->non_error;

  for (int i = 0; i <= own + node->nbeside; i++) {
    const int to = pawl_node_target(node, i);
    if (to < 0 || d->nodes[to].host < 0 ||
        (i >= own && i < own + node->nbeside))
      continue;
    return pawl_refuse_node(d, node, err, "lead to what it is on",
                            ": leads to \"%s\", which begins with \"%s\"",
                            d->nodes[to].name, d->nodes[to].on);
  }
  return PAWL_OK;
}

/* What an undo names: nodes that have one, and what is around such. */
static pawl_code check_undone(const pawl_def *d, const pawl_node *node,
                              const char *name, pawl_error *err) {
  const int at = pawl_def_node(d, name, strlen(name));

  if (at < 0) return no_such_node(d, node, "of", name, err);
  if (d->nodes[at].has_undo || d->nodes[at].kind == PAWL_KIND_FORK ||
      d->nodes[at].branch >= 0)
    return PAWL_OK;
  return pawl_refuse_node(d, node, err, "undo = function(ctx) ... end",
                          ": `of` names \"%s\", which has no `undo`", name);
}

static pawl_code check_undo(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  if (!pawl_def_has_undo(d))
    return pawl_refuse_node(
        d, node, err,
        "give what it is to take back undo = function(ctx) ... end",
        ": no node has `undo`");
  if (pawl_def_each_around(d, (int)(node - d->nodes)) >= 0)
    return pawl_refuse_node(
        d, node, err,
        "let the each have `workflow`: what fails there is undone there",
        ": in the branch of an each it would undo what others did as well");
  for (int i = 0; node->of && node->of[i]; i++)
    MUST(check_undone(d, node, node->of[i], err));
  return PAWL_OK;
}

static int undoes_inside(const pawl_def *d, const pawl_spots *spots,
                         int around) {
  const int *forks;
  int depth;

  for (int at = 0; at < d->nnodes; at++) {
    if (!d->nodes[at].has_undo) continue;
    for (int i = 0; (forks = pawl_spots_at(spots, at, i, &depth)); i++)
      for (int k = 0; k < depth; k++)
        if (forks[k] == around) return 1;
  }
  return 0;
}

static pawl_code check_undone_inside(const pawl_def *d,
                                     const pawl_spots *spots,
                                     const pawl_node *node, pawl_error *err) {
  for (int i = 0; node->of && node->of[i]; i++) {
    const int at = pawl_def_node(d, node->of[i], strlen(node->of[i]));
    if (d->nodes[at].has_undo || undoes_inside(d, spots, at)) continue;
    return pawl_refuse_node(
        d, node, err,
        "give what it is to take back undo = function(ctx) ... end",
        ": `of` names \"%s\", and nothing inside that has `undo`",
        node->of[i]);
  }
  return PAWL_OK;
}

/* Of a graph of which all else has been looked at: what is inside a fork is
 * known by its joins. */
static pawl_code check_undos(const pawl_def *d, pawl_error *err) {
  pawl_spots *spots = NULL;
  pawl_code rc = PAWL_OK;

  if (!d->has_undo_nodes) return PAWL_OK;
  MUST(pawl_spots_new(d, &spots, err));
  for (int i = 0; i < d->nnodes; i++)
    if (d->nodes[i].kind == PAWL_KIND_UNDO)
      TRY(check_undone_inside(d, spots, &d->nodes[i], err));
out:
  pawl_spots_free(spots);
  return rc;
}

/* What it says is one event, and no pattern. */
static pawl_code check_escalated(const pawl_def *d, const pawl_node *node,
                                 pawl_error *err) {
  char whose[160];

  if (!node->event) return PAWL_OK; /* check_needs says so */
  snprintf(whose, sizeof whose, PAWL_NODE_FMT ": `event`",
           PAWL_NODE_ARGS(node));
  return check_event(d, node->line, whose, node->event, 0, err);
}

static pawl_code check_node(const pawl_def *d, const pawl_node *node,
                            pawl_error *err) {
  MUST(check_needs(d, node, err));
  MUST(check_next(d, node, err));
  MUST(check_pattern(d, node, "event", node->event, err));
  MUST(check_accepts(d, node, err));
  MUST(check_child(d, node, err));
  MUST(check_branch(d, node, err));
  MUST(check_boundary(d, node, err));
  MUST(check_targets(d, node, err));
  MUST(check_tolerance(d, node, err));
  MUST(check_key(d, node, "key", node->key, err));
  MUST(check_into(d, node, "into", node->into, err));
  MUST(check_reschedule(d, node, err));
  MUST(check_take(d, node, err));
  MUST(check_condition(d, node, err));
  MUST(check_transitions(d, node, err));
  if (node->kind == PAWL_KIND_TASK) MUST(check_task(d, node, err));
  if (node->kind == PAWL_KIND_UNDO) MUST(check_undo(d, node, err));
  if (node->kind == PAWL_KIND_ESCALATE) MUST(check_escalated(d, node, err));
  if (pawl_kind_shapes[node->kind].receives)
    MUST(check_cause(d, node, "timeout", "timeout", has_limit(node), err));
  MUST(check_retry(d, node, err));
  MUST(check_edges(d, node, "next", node->next, node->nnext, err));
  return check_edges(d, node, "on_error", node->on_error, node->non_error,
                     err);
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

static void visit(walk *w, int node, int mark) {
  if (w->mark[node]) return;
  assert(node < w->def->nnodes && w->depth < w->def->nnodes); /* G2 */
  w->mark[node] = mark;
  w->stack[w->depth++] = node;
}

static pawl_code check_reachable(walk *w, pawl_error *err) {
  const pawl_def *d = w->def;
  visit(w, d->start, 1);
  if (d->on_cancel >= 0) visit(w, d->on_cancel, 1);
  while (w->depth > 0) {
    const pawl_node *node = &d->nodes[w->stack[--w->depth]];
    int to;
    for (int i = 0; (to = pawl_node_target(node, i)) >= 0; i++)
      visit(w, to, 1);
  }
  for (int i = 0; i < d->nnodes; i++) {
    const pawl_node *node = &d->nodes[i];
    if (w->mark[i]) continue;
    return pawl_refuse_node(d, node, err,
                            "name it in a `next` or `on_error`, or remove it",
                            ": nothing leads to it");
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

  if (d->is_endless) return PAWL_OK;
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
    return pawl_refuse_node(
        d, node, err,
        "lead one of its ways to a node made with :finish, "
        "or give the workflow endless = true",
        ": no way from it to a finish");
  }
  return PAWL_OK;
}

/* Choices, forks and joins write nothing of their own, so that a circle of
 * them would be walked for ever within one step. Takes away, again and again,
 * those that lead to none that is left: what stays is on such a circle or
 * leads to one. */
static pawl_code check_circles(walk *w, pawl_error *err) {
  const pawl_def *d = w->def;
  int shrunk = 1;
  for (int i = 0; i < d->nnodes; i++)
    w->mark[i] = pawl_kind_shapes[d->nodes[i].kind].routes;
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
    return pawl_refuse_node(
        d, node, err, "put a step or a timer into the circle",
        ": leads round a circle of choices, forks and joins alone");
  }
  return PAWL_OK;
}

enum { MAIN = 1, LANE = 2 };

/* Marks what can be come to without lanes, or from this one, which may meet
 * nothing of the former but finishes: its index; -1: it does not. */
static int mark_ways(walk *w, int from, int mark) {
  const pawl_def *d = w->def;
  int to, met = -1;

  visit(w, from, mark);
  while (w->depth > 0) {
    const pawl_node *node = &d->nodes[w->stack[--w->depth]];
    for (int i = 0; (to = pawl_node_target(node, i)) >= 0; i++) {
      if (mark == MAIN && pawl_node_is_lane(&d->nodes[to])) continue;
      if (mark == LANE && w->mark[to] == MAIN &&
          d->nodes[to].kind != PAWL_KIND_FINISH)
        met = to;
      visit(w, to, mark);
    }
  }
  return met;
}

/* What a boundary begins beside its node, and leaves that as it is, goes its
 * own way: else all that is behind would be done twice. */
static pawl_code check_lanes(walk *w, pawl_error *err) {
  const pawl_def *d = w->def;

  if (!d->has_boundaries) return PAWL_OK;
  (void)mark_ways(w, d->start, MAIN);
  if (d->on_cancel >= 0) (void)mark_ways(w, d->on_cancel, MAIN);
  for (int i = 0; i < d->nnodes; i++) {
    if (!pawl_node_is_lane(&d->nodes[i])) continue;
    const int met = mark_ways(w, i, LANE);
    if (met < 0) continue;
    return pawl_refuse_node(
        d, &d->nodes[i], err,
        "end its way at a finish of its own, or let it `interrupt`",
        ": leads to \"%s\", where what it is beside goes as well, so that it "
        "would be done twice",
        d->nodes[met].name);
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
  memset(w.mark, 0, n * sizeof *w.mark);
  TRY(check_lanes(&w, err));
out:
  pawl_release(d->alloc, w.mark, w.size);
  return rc;
}

static pawl_code check_rules(const pawl_def *d, const char *field,
                             const pawl_event_rule *rules, int n,
                             pawl_error *err) {
  for (int i = 0; i < n; i++) {
    const char *problem = rules[i].key ? name_problem(rules[i].key) : NULL;
    char whose[64], hint[120];
    snprintf(whose, sizeof whose, "`%s`: event", field);
    MUST(check_event(d, d->line, whose, rules[i].event, 1, err));
    if (problem)
      pawl_fail_hint(err, PAWL_DEFINITION,
                     "it is the name of a variable, or of the input",
                     "`%s`: `key` %s", field, problem);
    else if (is_undeclared(d, rules[i].key, 1, hint))
      pawl_fail_hint(err, PAWL_DEFINITION, hint,
                     "`%s`: `key` names \"%s\", which neither `variables` nor "
                     "`input` declares",
                     field, rules[i].key);
    else
      continue;
    return pawl_refuse_at(d, d->line, err);
  }
  return PAWL_OK;
}

static pawl_code refuse_on_failure(const pawl_def *d, pawl_error *err,
                                   const char *problem, const char *hint) {
  pawl_fail(err, PAWL_DEFINITION, "workflow \"%s\": `on_failure`: %s", d->code,
            problem);
  pawl_error_hint(err, "%s", hint);
  return pawl_refuse_at(d, d->line, err);
}

/* One that is started by its own failure would begin, and fail, for ever. */
static pawl_code check_on_failure(const pawl_def *d, pawl_error *err) {
  size_t size = d->failure_emit ? strlen(d->failure_emit) : 1;

  if (size < 1 || size > PAWL_MAX_EMIT_TYPE)
    return refuse_on_failure(d, err, "`emit` must have 1 to 200 bytes",
                             "a name: emit = \"order.failed\"");
  if (!d->failure_start) return PAWL_OK;
  if (!pawl_def_is_code(d->failure_start))
    return refuse_on_failure(d, err, "`start` cannot be a workflow's code",
                             PAWL_CODE_RULE);
  if (!strcmp(d->failure_start, d->code))
    return refuse_on_failure(d, err, "`start` names the workflow itself",
                             "name another one, that sees to the failure");
  return PAWL_OK;
}

/* What is undone is read from history, back to where it began. */
static pawl_code check_keep_history(const pawl_def *d, pawl_error *err) {
  if (!d->keep_history) return PAWL_OK;
  for (int i = 0; i < d->nnodes; i++) {
    if (!d->nodes[i].has_undo) continue;
    return pawl_refuse_node(
        d, &d->nodes[i], err,
        "leave out `keep_history`, or let a workflow of its own do what may "
        "have to be undone",
        ": its `undo` needs all of the history, which `keep_history` trims");
  }
  return PAWL_OK;
}

static pawl_code check_start(const pawl_def *d, pawl_error *err) {
  char start[65];
  if (d->start >= 0 && d->nodes[d->start].host < 0) return PAWL_OK;
  if (d->start >= 0)
    return pawl_refuse_node(d, &d->nodes[d->start], err,
                            "start at what it is on",
                            ": nothing starts at a boundary");
  pawl_copy_text(start, sizeof start, d->start_name);
  pawl_fail(err, PAWL_DEFINITION,
            "workflow \"%s\": `start` names no node \"%s\"", d->code, start);
  (void)pawl_refuse_at(d, d->line, err);
  pawl_def_hint_node(d, d->start_name, err);
  return PAWL_DEFINITION;
}

/* Its token stands alone: all others have ended. */
static pawl_code check_on_cancel(const pawl_def *d, pawl_error *err) {
  char shown[65];

  if (!d->on_cancel_name) return PAWL_OK;
  if (d->on_cancel >= 0 && d->nodes[d->on_cancel].host >= 0)
    return pawl_refuse_node(d, &d->nodes[d->on_cancel], err,
                            "begin at what it is on",
                            ": `on_cancel` begins at no boundary");
  if (d->on_cancel >= 0 && pawl_def_each_around(d, d->on_cancel) >= 0)
    return pawl_refuse_node(d, &d->nodes[d->on_cancel], err,
                            "let it lead to nodes of its own",
                            ": `on_cancel` begins in the branch of an each");
  if (d->on_cancel >= 0) return PAWL_OK;
  pawl_copy_text(shown, sizeof shown, d->on_cancel_name);
  pawl_fail(err, PAWL_DEFINITION,
            "workflow \"%s\": `on_cancel` names no node \"%s\"", d->code,
            shown);
  (void)pawl_refuse_at(d, d->line, err);
  pawl_def_hint_node(d, d->on_cancel_name, err);
  return PAWL_DEFINITION;
}

pawl_code pawl_def_check(const pawl_def *def, pawl_error *err) {
  MUST(check_code(def, err));
  for (int i = 0; i < def->nnodes; i++)
    MUST(check_own_name(def, &def->nodes[i], err));
  MUST(check_unique(def, err));
  MUST(check_start(def, err));
  MUST(check_types(def, def->line, def->input, "input", err));
  MUST(check_variables(def, err));
  MUST(check_on_failure(def, err));
  MUST(check_on_cancel(def, err));
  MUST(check_keep_history(def, err));
  MUST(check_rules(def, "trigger", def->triggers, def->ntriggers, err));
  MUST(check_rules(def, "cancel_on", def->cancel_on, def->ncancel_on, err));
  for (int i = 0; i < def->nnodes; i++)
    MUST(check_node(def, &def->nodes[i], err));
  MUST(check_ways(def, err));
  MUST(pawl_fork_check(def, err));
  return check_undos(def, err);
}
