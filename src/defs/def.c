#include "def.h"

#include <stdlib.h>

#include "../base/sha256.h"
#include "../value/json.h"
#include "fork.h"

/* ---- memory ---- */

/* A definition is read once and freed as a whole: blocks in a chain. */
typedef struct block {
  struct block *next;
  size_t size; /* of the whole block, this header included */
} block;

struct pawl_arena {
  block *blocks;
  char *at, *end; /* what is free in the newest block */
};

enum { ALIGN = 16, BLOCK = 4096 };

/* NULL when the allocator refuses. Never zeroed twice: blocks come zeroed. */
static void *arena_get(pawl_def *d, size_t size) {
  struct pawl_arena *a = d->arena;
  size = (size + ALIGN - 1) / ALIGN * ALIGN;
  if (size > (size_t)(a->end - a->at)) {
    size_t head = (sizeof(block) + ALIGN - 1) / ALIGN * ALIGN;
    size_t whole = head + (size > BLOCK ? size : BLOCK);
    block *b = pawl_calloc(d->alloc, whole);
    if (!b) return NULL;
    b->size = whole;
    b->next = a->blocks;
    a->blocks = b;
    a->at = (char *)b + head;
    a->end = (char *)b + whole;
  }
  a->at += size;
  return a->at - size;
}

void pawl_def_free(pawl_def *def) {
  const pawl_alloc *alloc;
  if (!def) return;
  alloc = def->alloc;
  if (def->arena) {
    block *b = def->arena->blocks;
    while (b) {
      block *next = b->next;
      pawl_release(alloc, b, b->size);
      b = next;
    }
    pawl_release(alloc, def->arena, sizeof *def->arena);
  }
  pawl_release(alloc, def, sizeof *def);
}

/* ---- reading ---- */

typedef struct reader {
  pawl_def *def;
  pawl_error *err;
  pawl_buf text;    /* the last unquoted string */
  const char *what; /* "step \"reserve\"", for messages */
  int line;         /* of that */
} reader;

static pawl_code no_memory(reader *r) {
  return pawl_fail(r->err, PAWL_NOMEM, "not enough memory for a definition");
}

/* `where` of the error just made. */
static pawl_code at_line(reader *r) {
  if (r->line > 0)
    pawl_error_where(r->err, "%s:%d", r->def->file, r->line);
  else
    pawl_error_where(r->err, "%s", r->def->file);
  return PAWL_DEFINITION;
}

static pawl_code wrong_type(reader *r, const char *field, const char *want) {
  pawl_fail(r->err, PAWL_DEFINITION, "%s: `%s` must be %s", r->what, field,
            want);
  return at_line(r);
}

static pawl_code copy(reader *r, pawl_str s, const char **out) {
  char *text = arena_get(r->def, s.len + 1);
  if (!text) return no_memory(r);
  if (s.len) memcpy(text, s.at, s.len);
  *out = text;
  return PAWL_OK;
}

static pawl_code copy_str(reader *r, pawl_str s, pawl_str *out) {
  pawl_code rc = copy(r, s, &out->at);
  if (rc == PAWL_OK) out->len = s.len;
  return rc;
}

/* Strings of a graph are names and words: a zero byte in one would make two
 * different names look the same. */
static pawl_code unquote(reader *r, pawl_str quoted, const char *field,
                         const char **out) {
  pawl_code rc;
  pawl_buf_clear(&r->text);
  pawl_json_unquote(quoted, &r->text);
  if ((rc = pawl_buf_check(&r->text, r->err)) != PAWL_OK) return rc;
  if (r->text.len && memchr(r->text.at, 0, r->text.len))
    return wrong_type(r, field, "text without a zero byte");
  return copy(r, pawl_buf_str(&r->text), out);
}

/* Leaves *out alone when the field is not there; so do all below. */
static pawl_code get_text(reader *r, pawl_str object, const char *field,
                          const char **out) {
  pawl_str value;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return wrong_type(r, field, "a string");
  return unquote(r, value, field, out);
}

static pawl_code get_flag(reader *r, pawl_str object, const char *field,
                          int *out) {
  pawl_str value;
  pawl_json_kind kind;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  kind = pawl_json_kind_of(value);
  if (kind != PAWL_JSON_TRUE && kind != PAWL_JSON_FALSE)
    return wrong_type(r, field, "true or false");
  *out = kind == PAWL_JSON_TRUE;
  return PAWL_OK;
}

static pawl_code get_int(reader *r, pawl_str object, const char *field,
                         int64_t min, int64_t max, const char *want,
                         int64_t *out) {
  pawl_str value;
  int64_t n;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  if (!pawl_json_int(value, &n) || n < min || n > max)
    return wrong_type(r, field, want);
  *out = n;
  return PAWL_OK;
}

static pawl_code get_duration(reader *r, pawl_str object, const char *field,
                              int64_t min, int64_t *out) {
  return get_int(r, object, field, min, PAWL_MAX_DURATION_US,
                 min ? "a duration in microseconds, longer than nothing"
                     : "a duration in microseconds",
                 out);
}

static pawl_code get_number(reader *r, pawl_str object, const char *field,
                            double min, double max, const char *want,
                            double *out) {
  pawl_str value;
  double d;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  if (!pawl_json_number(value, &d) || !(d >= min && d <= max))
    return wrong_type(r, field, want);
  *out = d;
  return PAWL_OK;
}

/* "fail" or "suspend" and the like: is the field's text `yes`? */
static pawl_code get_choice(reader *r, pawl_str object, const char *field,
                            const char *no, const char *yes, int *out) {
  const char *text = NULL;
  pawl_code rc = get_text(r, object, field, &text);
  if (rc != PAWL_OK || !text) return rc;
  *out = strcmp(text, yes) == 0;
  if (*out || strcmp(text, no) == 0) return PAWL_OK;
  pawl_fail(r->err, PAWL_DEFINITION, "%s: `%s` cannot be \"%s\"", r->what,
            field, text);
  pawl_error_hint(r->err, "\"%s\" or \"%s\"", no, yes);
  return at_line(r);
}

static int by_edge_name(const void *a, const void *b) {
  const pawl_edge *x = a, *y = b;
  return strcmp(x->name, y->name);
}

static int count_members(pawl_str container) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  int n = 0;
  while (pawl_json_each(container, &it, &key, &value)) n++;
  return n;
}

/* An object {"name":"node",...} as edges sorted by name. */
static pawl_code read_edges(reader *r, pawl_str object, const char *field,
                            pawl_edge **out, int *nout) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_edge *edges;
  int n = 0;
  edges = arena_get(r->def, (size_t)count_members(object) * sizeof *edges + 1);
  if (!edges) return no_memory(r);
  while (pawl_json_each(object, &it, &key, &value)) {
    pawl_str quoted = {key.at - 1, key.len + 2}; /* with its quotes */
    pawl_code rc = unquote(r, quoted, field, &edges[n].name);
    if (rc != PAWL_OK) return rc;
    if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
      return wrong_type(r, field, "names of nodes");
    rc = unquote(r, value, field, &edges[n].target);
    if (rc != PAWL_OK) return rc;
    edges[n++].to = -1;
  }
  qsort(edges, (size_t)n, sizeof *edges, by_edge_name);
  *out = edges;
  *nout = n;
  return PAWL_OK;
}

static pawl_code read_next(reader *r, pawl_str object, pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "next", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) == PAWL_JSON_OBJECT)
    return read_edges(r, value, "next", &node->next, &node->nnext);
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return wrong_type(r, "next", "a node, or named transitions");
  node->next = arena_get(r->def, sizeof *node->next);
  if (!node->next) return no_memory(r);
  node->next->name = "";
  node->next->to = -1;
  node->nnext = 1;
  return unquote(r, value, "next", &node->next->target);
}

static pawl_code read_on_error(reader *r, pawl_str object, pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "on_error", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
    return wrong_type(r, "on_error", "an object: error code to node");
  return read_edges(r, value, "on_error", &node->on_error, &node->non_error);
}

#define CAP_US (300 * PAWL_SECOND)

/* A delay that is given moves the other one's default out of its way; the cap
 * far enough for all of the jitter. */
static void settle_delays(pawl_str object, pawl_retry *retry) {
  int64_t base = retry->base_us;
  int64_t room = base <= PAWL_MAX_DURATION_US / 2 ? 2 * base : base;
  pawl_str ignored;

  if (!pawl_json_get(object, "cap", &ignored)) {
    if (retry->cap_us < (retry->cap_us == CAP_US ? room : base))
      retry->cap_us = room;
  } else if (retry->cap_us < base &&
             !pawl_json_get(object, "base", &ignored)) {
    retry->base_us = retry->cap_us;
  }
}

static pawl_code read_retry(reader *r, pawl_str object, pawl_retry *retry) {
  pawl_code rc;
  pawl_str value;
  if (!pawl_json_get(object, "retry", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
    return wrong_type(r, "retry", "an object");
  TRY(get_int(r, value, "max", 1, INT32_MAX, "an integer of at least 1",
              &retry->max));
  TRY(get_duration(r, value, "base", 0, &retry->base_us));
  TRY(get_duration(r, value, "cap", 0, &retry->cap_us));
  settle_delays(value, retry);
  TRY(get_number(r, value, "factor", 1, 1e300, "a number of at least 1",
                 &retry->factor));
  TRY(get_number(r, value, "jitter", 0, 1, "a number between 0 and 1",
                 &retry->jitter));
out:
  return rc;
}

static const char *const KIND_NAMES[PAWL_NKINDS] = {
#define KIND_NAME(name, text) text,
    PAWL_KINDS(KIND_NAME)
#undef KIND_NAME
};

const char *pawl_kind_name(pawl_kind kind) {
  return (unsigned)kind < PAWL_NKINDS ? KIND_NAMES[kind] : "?";
}

static pawl_code read_kind(reader *r, pawl_str object, pawl_node *node) {
  const char *text = NULL, *near;
  pawl_code rc = get_text(r, object, "kind", &text);
  if (rc != PAWL_OK) return rc;
  if (!text) return wrong_type(r, "kind", "there");
  for (int i = 0; i < PAWL_NKINDS; i++) {
    if (strcmp(text, KIND_NAMES[i]) == 0) {
      node->kind = (pawl_kind)i;
      return PAWL_OK;
    }
  }
  pawl_fail(r->err, PAWL_DEFINITION, "%s: unknown kind \"%s\"", r->what, text);
  near = pawl_nearest(text, KIND_NAMES, PAWL_NKINDS);
  if (near)
    pawl_error_hint(r->err, "did you mean \"%s\"?", near);
  else
    pawl_error_hint(r->err,
                    "kinds: step, choice, timer, finish, wait, task, "
                    "fork, join, call, each");
  return at_line(r);
}

/* Who is meant in messages from here on: `step "reserve"`. */
static pawl_code introduce(reader *r, const char *kind, const char *name) {
  char *text;
  size_t size = strlen(kind) + strlen(name) + 4;
  text = arena_get(r->def, size);
  if (!text) return no_memory(r);
  pawl_copy_text(text, size, kind);
  strcat(strcat(strcat(text, " \""), name), "\"");
  r->what = text;
  return PAWL_OK;
}

/* ---- fields of one kind ---- */

/* Copies a field's JSON as it stands; its kind must be one of two. */
static pawl_code get_json(reader *r, pawl_str object, const char *field,
                          pawl_json_kind kind, pawl_json_kind other,
                          const char *want, pawl_str *out) {
  pawl_str value;
  pawl_json_kind given;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  given = pawl_json_kind_of(value);
  if (given != kind && given != other) return wrong_type(r, field, want);
  return copy_str(r, value, out);
}

/* A name, or `true` for a handler. */
static pawl_code read_key(reader *r, pawl_str object, pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "key", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING)
    return unquote(r, value, "key", &node->key);
  node->has_key = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  if (node->has_key) return PAWL_OK;
  return wrong_type(r, "key", "a name, or true: a handler");
}

static pawl_code read_wait(reader *r, pawl_str object, pawl_node *node) {
  pawl_code rc;
  TRY(get_text(r, object, "event", &node->event));
  TRY(read_key(r, object, node));
  TRY(get_text(r, object, "into", &node->into));
out:
  return rc;
}

/* A list of names; only looked at. */
static pawl_code check_names(reader *r, pawl_str object, const char *member,
                             const char *field) {
  pawl_str value, key, name;
  pawl_json_iter it = {0};
  if (!pawl_json_get(object, member, &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY)
    return wrong_type(r, field, "a list of names");
  while (pawl_json_each(value, &it, &key, &name))
    if (pawl_json_kind_of(name) != PAWL_JSON_STRING || name.len <= 2)
      return wrong_type(r, field, "a list of names");
  return PAWL_OK;
}

static pawl_code check_people(reader *r, pawl_str object, const char *users,
                              const char *roles, const char *groups) {
  pawl_code rc;
  TRY(check_names(r, object, "users", users));
  TRY(check_names(r, object, "roles", roles));
  TRY(check_names(r, object, "groups", groups));
out:
  return rc;
}

static pawl_code check_text(reader *r, pawl_str object, const char *member,
                            const char *field) {
  pawl_str value;
  if (!pawl_json_get(object, member, &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING) return PAWL_OK;
  return wrong_type(r, field, "a string");
}

static pawl_code check_priority(reader *r, pawl_str object,
                                const char *field) {
  static const char *const WORDS[] = {"\"low\"", "\"normal\"", "\"high\"",
                                      "\"urgent\""};
  pawl_str value;
  if (!pawl_json_get(object, "priority", &value)) return PAWL_OK;
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
    if (pawl_str_eqz(value, WORDS[i])) return PAWL_OK;
  return wrong_type(r, field, "low, normal, high or urgent");
}

static pawl_code check_due(reader *r, pawl_str object) {
  pawl_str value;
  int64_t us;
  if (!pawl_json_get(object, "due", &value)) return PAWL_OK;
  if (pawl_json_int(value, &us) && us >= 0 && us <= PAWL_MAX_DURATION_US)
    return PAWL_OK;
  return wrong_type(r, "task.due", "a duration in microseconds");
}

/* The task's own fields stay JSON; here only their types are looked at. */
static pawl_code read_task(reader *r, pawl_str object, pawl_node *node) {
  pawl_code rc;
  pawl_str task, escalate, input;
  TRY(get_text(r, object, "into", &node->into));
  TRY(get_json(r, object, "task", PAWL_JSON_OBJECT, PAWL_JSON_OBJECT,
               "an object", &node->task));
  TRY(get_json(r, object, "escalate", PAWL_JSON_OBJECT, PAWL_JSON_OBJECT,
               "an object", &node->escalate));
  task = node->task.at ? node->task : pawl_strz("{}");
  escalate = node->escalate.at ? node->escalate : pawl_strz("{}");
  TRY(check_text(r, task, "title", "task.title"));
  TRY(check_text(r, task, "description", "task.description"));
  TRY(check_text(r, task, "form", "task.form"));
  TRY(check_text(r, task, "assignee", "task.assignee"));
  TRY(check_text(r, task, "signal", "task.signal"));
  if (pawl_json_get(task, "input", &input) &&
      pawl_json_kind_of(input) != PAWL_JSON_OBJECT &&
      pawl_json_kind_of(input) != PAWL_JSON_ARRAY)
    return wrong_type(r, "task.input", "an object or a list");
  TRY(check_priority(r, task, "task.priority"));
  TRY(check_due(r, task));
  TRY(check_people(r, task, "task.users", "task.roles", "task.groups"));
  TRY(check_priority(r, escalate, "escalate.priority"));
  TRY(check_people(r, escalate, "escalate.users", "escalate.roles",
                   "escalate.groups"));
out:
  return rc;
}

static int find_branch(const pawl_node *node, const char *name) {
  for (int i = 0; i < node->nnext; i++)
    if (strcmp(node->next[i].name, name) == 0) return i;
  return -1;
}

/* Every branch once; without `order` they stand as `next` is sorted. */
static pawl_code read_order(reader *r, pawl_str object, pawl_node *node) {
  static const char WANT[] = "a list of its branches, each of them once";
  pawl_str value, key, name;
  pawl_json_iter it = {0};
  int n = 0;
  node->order = arena_get(r->def, (size_t)node->nnext * sizeof(int) + 1);
  if (!node->order) return no_memory(r);
  for (int i = 0; i < node->nnext; i++) node->order[i] = i;
  if (!pawl_json_get(object, "order", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY ||
      count_members(value) != node->nnext)
    return wrong_type(r, "order", WANT);
  while (pawl_json_each(value, &it, &key, &name)) {
    const char *text;
    pawl_code rc;
    if (pawl_json_kind_of(name) != PAWL_JSON_STRING)
      return wrong_type(r, "order", WANT);
    rc = unquote(r, name, "order", &text);
    if (rc != PAWL_OK) return rc;
    node->order[n] = find_branch(node, text);
    for (int i = 0; i < n; i++)
      if (node->order[i] == node->order[n]) node->order[n] = -1;
    if (node->order[n++] < 0) return wrong_type(r, "order", WANT);
  }
  return PAWL_OK;
}

static pawl_code read_expect(reader *r, pawl_str object, pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "expect", &value)) return PAWL_OK;
  if (pawl_str_eqz(value, "\"all\""))
    node->expect = 0;
  else if (pawl_str_eqz(value, "\"any\""))
    node->expect = 1;
  else if (!pawl_json_int(value, &node->expect) || node->expect < 1)
    return wrong_type(r, "expect", "all, any, or a number of at least 1");
  return PAWL_OK;
}

static pawl_code read_join(reader *r, pawl_str object, pawl_node *node) {
  pawl_code rc;
  TRY(read_expect(r, object, node));
  TRY(get_choice(r, object, "losers", "run", "cancel", &node->losers_cancel));
out:
  return rc;
}

/* What a call and an each over children have alike. */
static pawl_code read_child(reader *r, pawl_str object, pawl_node *node) {
  pawl_code rc;
  TRY(get_text(r, object, "workflow", &node->workflow));
  TRY(get_int(r, object, "workflow_version", 1, INT64_MAX,
              "an integer of at least 1", &node->workflow_version));
  TRY(get_choice(r, object, "parent_end", "cancel", "leave",
                 &node->parent_end_leave));
  TRY(get_text(r, object, "into", &node->into));
out:
  return rc;
}

static pawl_code read_call(reader *r, pawl_str object, pawl_node *node) {
  pawl_str value;
  pawl_code rc = read_child(r, object, node);
  if (rc != PAWL_OK || !pawl_json_get(object, "input", &value)) return rc;
  node->has_input = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  if (node->has_input) return PAWL_OK;
  return get_json(r, object, "input", PAWL_JSON_OBJECT, PAWL_JSON_ARRAY,
                  "an object, a list, or true: a handler", &node->input);
}

static pawl_code read_each(reader *r, pawl_str object, pawl_node *node) {
  pawl_code rc;
  TRY(read_child(r, object, node));
  TRY(get_text(r, object, "branch", &node->branch_name));
  TRY(get_int(r, object, "window", 1, INT32_MAX, "an integer of at least 1",
              &node->window));
  TRY(get_choice(r, object, "on_failure", "stop", "collect", &node->collect));
out:
  return rc;
}

static pawl_code read_of_kind(reader *r, pawl_str object, pawl_node *node) {
  switch (node->kind) {
    case PAWL_KIND_WAIT:
      return read_wait(r, object, node);
    case PAWL_KIND_TASK:
      return read_task(r, object, node);
    case PAWL_KIND_FORK:
      return read_order(r, object, node);
    case PAWL_KIND_JOIN:
      return read_join(r, object, node);
    case PAWL_KIND_CALL:
      return read_call(r, object, node);
    case PAWL_KIND_EACH:
      return read_each(r, object, node);
    default: /* their fields are those of every node */
      return PAWL_OK;
  }
}

/* ---- nodes, and the whole ---- */

static const pawl_node NEW_NODE = {
    .name = NULL,
    .retry = {.max = 3,
              .base_us = PAWL_SECOND,
              .cap_us = CAP_US,
              .factor = 2.0,
              .jitter = 0.5},
    .timeout_us = 600 * PAWL_SECOND,
    .limit_us = -1,
    .branch = -1,
    .window = 16,
    .after_us = -1,
};

static pawl_code get_line(reader *r, pawl_str object, int *out) {
  int64_t line = 0;
  pawl_code rc =
      get_int(r, object, "line", 0, INT32_MAX, "a line's number", &line);
  *out = (int)line; /* at most INT32_MAX */
  if (rc == PAWL_OK) r->line = *out;
  return rc;
}

static pawl_code read_flags(reader *r, pawl_str object, pawl_node *node) {
  pawl_code rc;
  TRY(get_flag(r, object, "transactional", &node->transactional));
  TRY(get_flag(r, object, "terminate", &node->terminate));
  TRY(get_flag(r, object, "run", &node->has_run));
  TRY(get_flag(r, object, "undo", &node->has_undo));
  TRY(get_flag(r, object, "at", &node->has_at));
  TRY(get_flag(r, object, "choose", &node->has_choose));
  TRY(get_flag(r, object, "output", &node->has_output));
  TRY(get_flag(r, object, "match", &node->has_match));
  TRY(get_flag(r, object, "prepare", &node->has_prepare));
  TRY(get_flag(r, object, "items", &node->has_items));
out:
  return rc;
}

/* A step that fails is tried again; what waited for somebody else is not,
 * unless it says so. */
static void settle_retry(pawl_str object, pawl_node *node) {
  pawl_str ignored;
  if (node->kind != PAWL_KIND_WAIT && node->kind != PAWL_KIND_TASK &&
      node->kind != PAWL_KIND_CALL && node->kind != PAWL_KIND_EACH)
    return;
  if (!pawl_json_get(object, "retry", &ignored)) node->retry.max = 1;
}

/* Of a step it bounds its handler, of these how long they wait. */
static int64_t *timeout_of(pawl_node *node) {
  switch (node->kind) {
    case PAWL_KIND_WAIT:
    case PAWL_KIND_TASK:
    case PAWL_KIND_CALL:
    case PAWL_KIND_EACH:
      return &node->limit_us;
    default:
      return &node->timeout_us;
  }
}

static pawl_code read_node(reader *r, pawl_str object, pawl_node *node) {
  pawl_code rc;
  *node = NEW_NODE;
  r->what = "a node";
  r->line = 0;
  if (pawl_json_kind_of(object) != PAWL_JSON_OBJECT)
    return wrong_type(r, "nodes", "a list of objects");
  TRY(get_line(r, object, &node->line));
  TRY(get_text(r, object, "name", &node->name));
  if (!node->name) return wrong_type(r, "name", "there");
  TRY(introduce(r, "node", node->name));
  TRY(read_kind(r, object, node));
  TRY(introduce(r, pawl_kind_name(node->kind), node->name));
  TRY(read_next(r, object, node));
  TRY(read_on_error(r, object, node));
  TRY(read_retry(r, object, &node->retry));
  settle_retry(object, node);
  TRY(get_choice(r, object, "on_exhausted", "fail", "suspend",
                 &node->suspend_exhausted));
  TRY(get_duration(r, object, "timeout", 1, timeout_of(node)));
  TRY(get_duration(r, object, "after", 0, &node->after_us));
  TRY(get_choice(r, object, "status", "completed", "failed",
                 &node->status_failed));
  TRY(read_flags(r, object, node));
  TRY(read_of_kind(r, object, node));
out:
  return rc;
}

static pawl_code read_nodes(reader *r, pawl_str graph) {
  pawl_def *d = r->def;
  pawl_json_iter it = {0};
  pawl_str key, value, nodes;
  pawl_code rc;
  int n;
  if (!pawl_json_get(graph, "nodes", &nodes) ||
      pawl_json_kind_of(nodes) != PAWL_JSON_ARRAY)
    return wrong_type(r, "nodes", "a list");
  n = count_members(nodes);
  d->nodes = arena_get(d, (size_t)n * sizeof *d->nodes + 1);
  if (!d->nodes) return no_memory(r);
  while (pawl_json_each(nodes, &it, &key, &value)) {
    if ((rc = read_node(r, value, &d->nodes[d->nnodes])) != PAWL_OK) return rc;
    d->nnodes++;
  }
  return PAWL_OK;
}

/* [{"event":"...","key":"..."},...] */
static pawl_code read_rules(reader *r, pawl_str graph, const char *field,
                            pawl_event_rule **out, int *nout) {
  static const char WANT[] = "a list of objects with `event`";
  pawl_json_iter it = {0};
  pawl_str list, key, value;
  pawl_event_rule *rules;
  pawl_code rc;
  if (!pawl_json_get(graph, field, &list)) return PAWL_OK;
  if (pawl_json_kind_of(list) != PAWL_JSON_ARRAY)
    return wrong_type(r, field, WANT);
  rules = arena_get(r->def, (size_t)count_members(list) * sizeof *rules + 1);
  if (!rules) return no_memory(r);
  *out = rules;
  while (pawl_json_each(list, &it, &key, &value)) {
    if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
      return wrong_type(r, field, WANT);
    if ((rc = get_text(r, value, "event", &rules->event)) != PAWL_OK ||
        (rc = get_text(r, value, "key", &rules->key)) != PAWL_OK)
      return rc;
    if (!rules->event) return wrong_type(r, field, WANT);
    rules++;
    *nout += 1;
  }
  return PAWL_OK;
}

static pawl_code read_graph(reader *r, pawl_str graph) {
  pawl_def *d = r->def;
  pawl_code rc;
  if (pawl_json_kind_of(graph) != PAWL_JSON_OBJECT)
    return wrong_type(r, "graph", "an object");
  TRY(get_line(r, graph, &d->line));
  TRY(get_text(r, graph, "code", &d->code));
  if (!d->code) return wrong_type(r, "code", "there");
  TRY(get_text(r, graph, "name", &d->name));
  TRY(get_text(r, graph, "description", &d->description));
  TRY(get_text(r, graph, "start", &d->start_name));
  if (!d->start_name) return wrong_type(r, "start", "there");
  TRY(get_int(r, graph, "version", 1, INT64_MAX, "an integer of at least 1",
              &d->version));
  TRY(get_duration(r, graph, "deadline", 1, &d->deadline_us));
  TRY(get_int(r, graph, "busy_limit", 1, INT64_MAX, "an integer of at least 1",
              &d->busy_limit));
  TRY(get_flag(r, graph, "compensate", &d->compensate));
  TRY(read_rules(r, graph, "trigger", &d->triggers, &d->ntriggers));
  TRY(read_rules(r, graph, "cancel_on", &d->cancel_on, &d->ncancel_on));
  TRY(read_nodes(r, graph));
out:
  return rc;
}

/* ---- names to indices ---- */

typedef struct named {
  const char *name;
  int index;
} named;

static int by_name_then_index(const void *a, const void *b) {
  const named *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  if (order) return order;
  return x->index < y->index ? -1 : 1;
}

static pawl_code sort_names(reader *r) {
  pawl_def *d = r->def;
  size_t n = (size_t)d->nnodes;
  named *names = pawl_calloc(d->alloc, n * sizeof *names + 1);
  d->by_name = arena_get(d, n * sizeof *d->by_name + 1);
  if (!names || !d->by_name) {
    pawl_release(d->alloc, names, n * sizeof *names + 1);
    return no_memory(r);
  }
  for (size_t i = 0; i < n; i++) {
    names[i].name = d->nodes[i].name;
    names[i].index = (int)i;
  }
  qsort(names, n, sizeof *names, by_name_then_index);
  for (size_t i = 0; i < n; i++) d->by_name[i] = names[i].index;
  pawl_release(d->alloc, names, n * sizeof *names + 1);
  return PAWL_OK;
}

static int find_node(const pawl_def *d, const char *name) {
  return pawl_def_node(d, name, strlen(name));
}

static void resolve(pawl_def *d) {
  d->start = find_node(d, d->start_name);
  for (int i = 0; i < d->nnodes; i++) {
    pawl_node *node = &d->nodes[i];
    for (int k = 0; k < node->nnext; k++)
      node->next[k].to = find_node(d, node->next[k].target);
    for (int k = 0; k < node->non_error; k++)
      node->on_error[k].to = find_node(d, node->on_error[k].target);
    if (node->branch_name) node->branch = find_node(d, node->branch_name);
  }
}

static int can_receive(const pawl_def *d) {
  for (int i = 0; i < d->nnodes; i++) {
    switch (d->nodes[i].kind) {
      case PAWL_KIND_WAIT:
      case PAWL_KIND_TASK:
      case PAWL_KIND_CALL:
      case PAWL_KIND_EACH:
        return 1;
      default:
        break;
    }
  }
  return d->ncancel_on > 0;
}

/* Room for what the check finds out: a row of bits for each join. */
static pawl_code number_joins(reader *r) {
  pawl_def *d = r->def;
  size_t n = 0, row = ((size_t)d->nnodes + 7) / 8;
  for (int i = 0; i < d->nnodes; i++)
    if (d->nodes[i].kind == PAWL_KIND_JOIN) d->nodes[i].join_row = (int)n++;
  if (n == 0) return PAWL_OK;
  d->meets = arena_get(d, n * row);
  return d->meets ? PAWL_OK : no_memory(r);
}

/* ---- checksum ---- */

typedef struct module {
  pawl_str name;
  pawl_str text; /* JSON string */
} module;

static int by_module_name(const void *a, const void *b) {
  const module *x = a, *y = b;
  return pawl_str_cmp(x->name, y->name);
}

static void hash_unquoted(reader *r, pawl_sha256 *sha, pawl_str quoted) {
  pawl_buf_clear(&r->text);
  pawl_json_unquote(quoted, &r->text);
  pawl_sha256_add(sha, r->text.at ? r->text.at : "", r->text.len);
  pawl_sha256_add(sha, "", 1); /* the zero byte that ends it */
}

/* Name, zero byte, text, zero byte, in the order of names. Names are compared
 * and written as they stand in JSON: escapes in module names do not occur. */
static pawl_code hash_bundle(reader *r, pawl_sha256 *sha) {
  pawl_str bundle = r->def->bundle, key, value;
  pawl_json_iter it = {0};
  size_t n = (size_t)count_members(bundle), size = n * sizeof(module) + 1;
  module *modules = pawl_calloc(r->def->alloc, size);
  size_t i = 0;
  if (!modules) return no_memory(r);
  while (pawl_json_each(bundle, &it, &key, &value)) {
    modules[i].name = key;
    modules[i++].text = value;
  }
  qsort(modules, n, sizeof *modules, by_module_name);
  for (i = 0; i < n; i++) {
    pawl_sha256_add(sha, modules[i].name.at, modules[i].name.len);
    pawl_sha256_add(sha, "", 1);
    hash_unquoted(r, sha, modules[i].text);
  }
  pawl_release(r->def->alloc, modules, size);
  return pawl_buf_check(&r->text, r->err);
}

/* An object's members without "line"; those of "nodes" likewise. Moving a
 * workflow within its file is no new version of it. */
static void hash_graph(pawl_sha256 *sha, pawl_str object) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  while (pawl_json_each(object, &it, &key, &value)) {
    if (pawl_str_eqz(key, "line")) continue;
    pawl_sha256_add(sha, key.at, key.len);
    pawl_sha256_add(sha, "", 1);
    if (pawl_str_eqz(key, "nodes")) {
      pawl_json_iter nodes = {0};
      pawl_str none, node;
      while (pawl_json_each(value, &nodes, &none, &node))
        hash_graph(sha, node);
    } else {
      pawl_sha256_add(sha, value.at, value.len);
    }
    pawl_sha256_add(sha, "", 1);
  }
}

static pawl_code checksum(reader *r) {
  pawl_def *d = r->def;
  unsigned char digest[32];
  pawl_sha256 sha;
  pawl_code rc = PAWL_OK;
  pawl_sha256_init(&sha);
  if (d->is_inline) {
    hash_graph(&sha, d->graph);
  } else {
    pawl_sha256_add(&sha, d->source.at, d->source.len);
    rc = hash_bundle(r, &sha);
  }
  pawl_sha256_end(&sha, digest);
  pawl_sha256_hex(digest, d->sha256);
  return rc;
}

/* ---- a definition ---- */

static pawl_code check_bundle(reader *r, pawl_str bundle) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = pawl_json_check(bundle, NULL, r->err);
  if (rc != PAWL_OK) {
    pawl_error_prefix(r->err, "%s: bundle", r->def->file);
    return rc;
  }
  if (pawl_json_kind_of(bundle) != PAWL_JSON_OBJECT)
    return wrong_type(r, "bundle", "an object");
  while (pawl_json_each(bundle, &it, &key, &value))
    if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
      return wrong_type(r, "bundle", "an object of source texts");
  return PAWL_OK;
}

static pawl_code take_texts(reader *r, const char *file, pawl_str graph,
                            pawl_str source, pawl_str bundle) {
  pawl_def *d = r->def;
  pawl_code rc;
  if (!bundle.at || bundle.len == 0) bundle = pawl_strz("{}");
  TRY(copy(r, pawl_strz(file ? file : "?"), &d->file));
  TRY(pawl_json_check(graph, NULL, r->err));
  TRY(check_bundle(r, bundle));
  TRY(copy_str(r, graph, &d->graph));
  TRY(copy_str(r, bundle, &d->bundle));
  d->is_inline = source.at == NULL;
  if (!d->is_inline) TRY(copy_str(r, source, &d->source));
out:
  return rc;
}

pawl_code pawl_def_new(const char *file, pawl_str graph, pawl_str source,
                       pawl_str bundle, const pawl_alloc *alloc,
                       pawl_def **out, pawl_error *err) {
  pawl_code rc;
  reader r = {.err = err, .what = "the workflow", .text = {.alloc = alloc}};
  pawl_def *d = r.def = pawl_calloc(alloc, sizeof *d);
  if (!d) return no_memory(&r);
  d->alloc = alloc;
  d->file = file;
  d->name = d->description = "";
  d->version = 1;
  d->host_ref = -1;
  d->deadline_us = -1;
  d->compensate = 1;
  d->arena = pawl_calloc(alloc, sizeof *d->arena);
  if (!d->arena) {
    rc = no_memory(&r);
    goto out;
  }
  TRY(take_texts(&r, file, graph, source, bundle));
  TRY(read_graph(&r, d->graph));
  TRY(sort_names(&r));
  resolve(d);
  d->can_receive = can_receive(d);
  TRY(number_joins(&r));
  TRY(checksum(&r));
  *out = d;
  d = NULL;
out:
  pawl_buf_deinit(&r.text);
  pawl_def_free(d);
  return rc;
}

/* ---- asking ---- */

/* Orders a zero-terminated name against (text, len). */
static int compare(const char *name, const char *text, size_t len) {
  int order = strncmp(name, text, len);
  return order ? order : name[len] != 0;
}

int pawl_def_node(const pawl_def *def, const char *name, size_t len) {
  int low = 0, high = def->nnodes; /* the first not below `name` */
  if (!def->by_name || (len && memchr(name, 0, len))) return -1;
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (compare(def->nodes[def->by_name[mid]].name, name, len) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == def->nnodes) return -1;
  if (compare(def->nodes[def->by_name[low]].name, name, len) != 0) return -1;
  return def->by_name[low];
}

int pawl_def_node_at(const pawl_def *def, const char *name, int *at) {
  int found;
  if (*at >= 0 && *at < def->nnodes &&
      (def->nodes[*at].name == name || !strcmp(def->nodes[*at].name, name)))
    return *at;
  found = pawl_def_node(def, name, strlen(name));
  if (found >= 0) *at = found;
  return found;
}

static int find_edge(const pawl_edge *edges, int n, const char *name,
                     size_t len) {
  for (int i = 0; i < n; i++)
    if (strlen(edges[i].name) == len && memcmp(edges[i].name, name, len) == 0)
      return edges[i].to;
  return -1;
}

int pawl_node_next(const pawl_node *node, const char *name, size_t len) {
  if (!name) name = "", len = 0;
  return find_edge(node->next, node->nnext, name, len);
}

int pawl_node_on_error(const pawl_node *node, const char *code) {
  int to = find_edge(node->on_error, node->non_error, code, strlen(code));
  if (to < 0) to = find_edge(node->on_error, node->non_error, "*", 1);
  return to;
}

/* Marks what a branch of `each` can come to, without the each itself. */
static void mark_branch(const pawl_def *def, int each, int *queue,
                        unsigned char *mark) {
  int n = 0, to;

  queue[n++] = def->nodes[each].branch;
  mark[queue[0]] = 1;
  for (int at = 0; at < n; at++)
    for (int i = 0; (to = pawl_node_target(&def->nodes[queue[at]], i)) >= 0;
         i++) {
      if (to == each || mark[to]) continue;
      mark[to] = 1;
      queue[n++] = to;
    }
}

int pawl_def_each_around(const pawl_def *def, int node) {
  size_t n = (size_t)def->nnodes, size = n * (sizeof(int) + 1);
  int found = -1, at = node, *queue = NULL;

  for (int i = 0; at >= 0 && i < def->nnodes; i++) {
    const pawl_node *each = &def->nodes[i];
    unsigned char *mark;
    if (i == at || each->kind != PAWL_KIND_EACH || each->branch < 0) continue;
    if (!queue) queue = pawl_calloc(def->alloc, size);
    if (!queue) return -1;
    mark = (unsigned char *)(queue + n);
    memset(mark, 0, n);
    mark_branch(def, i, queue, mark);
    if (!mark[at]) continue;
    found = at = i; /* it may be in the branch of another */
    i = -1;
  }
  pawl_release(def->alloc, queue, size);
  return found;
}
