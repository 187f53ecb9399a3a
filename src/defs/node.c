/* One node of a graph: its kind, and by a table what it may say. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/nearest.h"
#include "reader.h"

const char *const pawl_priorities[] = {"low", "normal", "high", "urgent"};

int pawl_node_target(const pawl_node *node, int i) {
  if (i < node->nnext) return node->next[i].to;
  i -= node->nnext;
  if (i < node->non_error) return node->on_error[i].to;
  i -= node->non_error;
  if (i < node->nbeside) return node->beside[i];
  return i == node->nbeside ? node->branch : -1;
}

int pawl_node_may_host(const pawl_node *node) {
  return node->host < 0 &&
         (node->kind == PAWL_KIND_STEP || node->kind == PAWL_KIND_FORK ||
          pawl_kind_shapes[node->kind].receives);
}

static int has_ear(const pawl_node *node, pawl_ear ear) {
  if (ear == PAWL_EAR_OWN) return node->kind == PAWL_KIND_WAIT;
  return node->kind == PAWL_KIND_TIMER ||
         pawl_kind_shapes[node->kind].receives;
}

const char *pawl_node_listens(const pawl_node *node, pawl_ear ear) {
  if (!has_ear(node, ear)) return NULL;
  return ear == PAWL_EAR_MOVE ? node->moved_by : node->event;
}

const char *pawl_node_key(const pawl_node *node, pawl_ear ear) {
  if (!has_ear(node, ear)) return NULL;
  return ear == PAWL_EAR_MOVE ? node->moved_key : node->key;
}

static pawl_code read_kind(pawl_reader *r, pawl_str object, pawl_node *node) {
  const char *text = NULL, *near, *names[PAWL_NKINDS];
  MUST(pawl_reader_text(r, object, "kind", &text));
  if (!text) return pawl_reader_wrong(r, "kind", "there");
  for (int i = 0; i < PAWL_NKINDS; i++) {
    names[i] = pawl_kind_shapes[i].name;
    if (strcmp(text, names[i]) != 0) continue;
    node->kind = (pawl_kind)i;
    return PAWL_OK;
  }
  pawl_fail(r->err, PAWL_DEFINITION, "%s: unknown kind \"%s\"", r->what, text);
  near = pawl_nearest(text, names, PAWL_NKINDS);
  if (near)
    pawl_error_hint(r->err, "did you mean \"%s\"?", near);
  else
    pawl_error_hint(r->err, "kinds: " PAWL_KINDS_TEXT);
  return pawl_reader_at(r);
}

/* ---- where it leads ---- */

static int by_edge_name(const void *a, const void *b) {
  const pawl_edge *x = a, *y = b;
  return strcmp(x->name, y->name);
}

/* An object {"name":"node",...} as edges sorted by name. */
static pawl_code read_edges(pawl_reader *r, pawl_str object, const char *field,
                            pawl_edge **out, int *nout) {
  int n = 0;
  pawl_edge *edges = pawl_arena_get(
      r->def, (size_t)pawl_json_count(object) * sizeof *edges + 1);
  if (!edges) return pawl_reader_nomem(r);
  for (pawl_json_iter it = {0}; pawl_json_walk(object, &it);) {
    pawl_str quoted = {it.key.at - 1, it.key.len + 2}; /* with its quotes */
    MUST(pawl_reader_unquote(r, quoted, field, &edges[n].name));
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING)
      return pawl_reader_wrong(r, field, "names of nodes");
    MUST(pawl_reader_unquote(r, it.value, field, &edges[n].target));
    edges[n++].to = -1;
  }
  qsort(edges, (size_t)n, sizeof *edges, by_edge_name);
  *out = edges;
  *nout = n;
  return PAWL_OK;
}

static pawl_code read_next(pawl_reader *r, pawl_str object, pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "next", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) == PAWL_JSON_OBJECT)
    return read_edges(r, value, "next", &node->next, &node->nnext);
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_reader_wrong(r, "next", "a node, or named transitions");
  node->next = pawl_arena_get(r->def, sizeof *node->next);
  if (!node->next) return pawl_reader_nomem(r);
  node->next->name = "";
  node->next->to = -1;
  node->nnext = 1;
  return pawl_reader_unquote(r, value, "next", &node->next->target);
}

static pawl_code read_on_error(pawl_reader *r, pawl_str object,
                               pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "on_error", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
    return pawl_reader_wrong(r, "on_error", "an object: error code to node");
  return read_edges(r, value, "on_error", &node->on_error, &node->non_error);
}

/* ---- how often, how long ---- */

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

/* Ended by NULL; left alone where there are none. */
static pawl_code read_names(pawl_reader *r, pawl_str object, const char *name,
                            const char *want, const char ***out) {
  pawl_str list;
  int n = 0;
  if (!pawl_json_get(object, name, &list)) return PAWL_OK;
  if (pawl_json_kind_of(list) != PAWL_JSON_ARRAY)
    return pawl_reader_wrong(r, name, want);
  const char **names = pawl_arena_get(
      r->def, ((size_t)pawl_json_count(list) + 1) * sizeof *names);
  if (!names) return pawl_reader_nomem(r);
  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it);) {
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING)
      return pawl_reader_wrong(r, name, want);
    MUST(pawl_reader_unquote(r, it.value, name, &names[n++]));
  }
  *out = names;
  return PAWL_OK;
}

static pawl_code read_codes(pawl_reader *r, pawl_str retry, const char *name,
                            const char ***out) {
  return read_names(r, retry, name, "a list of error codes", out);
}

static pawl_code read_of(pawl_reader *r, pawl_str object, pawl_node *node) {
  return read_names(r, object, "of", "a list of nodes", &node->of);
}

/* A step that fails is tried again; what waited for somebody else is not,
 * unless it says so. */
static pawl_code read_retry(pawl_reader *r, pawl_str object, pawl_node *node) {
  pawl_retry *retry = &node->retry;
  pawl_str value;
  if (!pawl_json_get(object, "retry", &value)) {
    if (pawl_kind_shapes[node->kind].receives) retry->max = 1;
    return PAWL_OK;
  }
  if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
    return pawl_reader_wrong(r, "retry", "an object");
  MUST(pawl_reader_count(r, value, "max", INT32_MAX, &retry->max));
  MUST(pawl_reader_duration(r, value, "base", 0, &retry->base_us));
  MUST(pawl_reader_duration(r, value, "cap", 0, &retry->cap_us));
  MUST(pawl_reader_flag(r, value, "delay", &node->has_delay));
  MUST(read_codes(r, value, "on", &retry->on));
  MUST(read_codes(r, value, "never", &retry->never));
  settle_delays(value, retry);
  MUST(pawl_reader_number(r, value, "factor", 1, 1e300,
                          "a number of at least 1", &retry->factor));
  return pawl_reader_number(r, value, "jitter", 0, 1,
                            "a number between 0 and 1", &retry->jitter);
}

/* It bounds a handler; where something is waited for, how long that is. */
static pawl_code read_timeout(pawl_reader *r, pawl_str object,
                              pawl_node *node) {
  if (!pawl_kind_shapes[node->kind].receives)
    return pawl_reader_asked(r, object, "timeout", 1, &node->timeout_us,
                             &node->has_timeout);
  return pawl_reader_asked(r, object, "timeout", 1, &node->limit_us,
                           &node->has_timeout);
}

/* ---- what a few kinds say ---- */

/* A name, or `true` for a handler. */
static pawl_code read_key_of(pawl_reader *r, pawl_str object, const char **key,
                             int *asked) {
  pawl_str value;
  if (!pawl_json_get(object, "key", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING)
    return pawl_reader_unquote(r, value, "key", key);
  *asked = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  if (*asked) return PAWL_OK;
  return pawl_reader_wrong(r, "key", "a name, or true: a handler");
}

static pawl_code read_key(pawl_reader *r, pawl_str object, pawl_node *node) {
  return read_key_of(r, object, &node->key, &node->has_key);
}

/* Looked at by the check (value/types.h). */
static pawl_code read_accepts(pawl_reader *r, pawl_str object,
                              pawl_node *node) {
  (void)r;
  (void)pawl_json_get(object, "accepts", &node->accepts);
  return PAWL_OK;
}

static pawl_code read_reschedule(pawl_reader *r, pawl_str object,
                                 pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "reschedule", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
    return pawl_reader_wrong(r, "reschedule", "an object");
  MUST(pawl_reader_text(r, value, "event", &node->moved_by));
  MUST(read_key_of(r, value, &node->moved_key, &node->has_mover_key));
  MUST(pawl_reader_text(r, value, "into", &node->moved_into));
  return node->moved_by ? PAWL_OK
                        : pawl_reader_wrong(r, "reschedule.event", "there");
}

/* A list of names; only looked at. */
static pawl_code check_names(pawl_reader *r, pawl_str object,
                             const char *member, const char *field) {
  pawl_str value;
  if (!pawl_json_get(object, member, &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY)
    return pawl_reader_wrong(r, field, "a list of names");
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);)
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING || it.value.len <= 2)
      return pawl_reader_wrong(r, field, "a list of names");
  return PAWL_OK;
}

static pawl_code check_people(pawl_reader *r, pawl_str object,
                              const char *users, const char *roles,
                              const char *groups) {
  MUST(check_names(r, object, "users", users));
  MUST(check_names(r, object, "roles", roles));
  return check_names(r, object, "groups", groups);
}

static pawl_code check_text(pawl_reader *r, pawl_str object,
                            const char *member, const char *field) {
  pawl_str value;
  if (!pawl_json_get(object, member, &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING) return PAWL_OK;
  return pawl_reader_wrong(r, field, "a string");
}

static pawl_code check_priority(pawl_reader *r, pawl_str object,
                                const char *field) {
  pawl_str value;
  if (!pawl_json_get(object, "priority", &value)) return PAWL_OK;
  for (int i = 0; i < PAWL_NPRIORITIES; i++) {
    const char *word = pawl_priorities[i];
    if (value.len == strlen(word) + 2 &&
        memcmp(value.at + 1, word, strlen(word)) == 0)
      return PAWL_OK; /* a string: nothing else is as long and holds it */
  }
  return pawl_reader_wrong(r, field, "low, normal, high or urgent");
}

static pawl_code check_due(pawl_reader *r, pawl_str object) {
  pawl_str value;
  int64_t us;
  if (!pawl_json_get(object, "due", &value)) return PAWL_OK;
  if (pawl_json_int(value, &us) && us >= 0 && us <= PAWL_MAX_DURATION_US)
    return PAWL_OK;
  return pawl_reader_wrong(r, "task.due", "a duration in microseconds");
}

/* ---- what the store keeps of a task as text ---- */

/* False also without memory to tell: `text` has failed then. */
static int is_kept(pawl_str quoted, size_t most, pawl_buf *text,
                   pawl_unkept *out) {
  if (pawl_json_kind_of(quoted) != PAWL_JSON_STRING) return 1;
  pawl_buf_clear(text);
  pawl_json_unquote(quoted, text);
  if (text->len && memchr(text->at, 0, text->len)) {
    out->why = "has a zero byte";
    out->want = "text without a zero byte";
  } else if (most && text->len > most) {
    out->why = "is longer than 255 bytes";
    out->want = "text of at most 255 bytes";
  }
  return !out->why && !text->failed;
}

/* In a text, or in each of a list of them. */
static int are_kept(pawl_str value, size_t most, pawl_buf *text,
                    pawl_unkept *out) {
  if (!is_kept(value, most, text, out)) return 0;
  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY) return 1;
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);)
    if (!is_kept(it.value, most, text, out)) return 0;
  return 1;
}

pawl_code pawl_task_unkept(const pawl_alloc *alloc, pawl_str task,
                           pawl_unkept *out, pawl_error *err) {
  static const struct {
    const char *name;
    size_t most;
  } members[] = {{"title", 0},
                 {"description", 0},
                 {"signal", 0},
                 {"form", PAWL_MAX_TASK_WORD},
                 {"assignee", PAWL_MAX_TASK_WORD},
                 {"users", PAWL_MAX_TASK_WORD},
                 {"roles", PAWL_MAX_TASK_WORD},
                 {"groups", PAWL_MAX_TASK_WORD}};
  pawl_buf text = {.alloc = alloc};
  pawl_str value;

  *out = (pawl_unkept){0};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    if (!pawl_json_get(task, members[i].name, &value)) continue;
    out->member = members[i].name;
    if (!are_kept(value, members[i].most, &text, out)) break;
  }
  const pawl_code rc = pawl_buf_check(&text, err);
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code check_kept(pawl_reader *r, pawl_str object,
                            const char *where) {
  char field[40];
  pawl_unkept u;

  MUST(pawl_task_unkept(r->text.alloc, object, &u, r->err));
  if (!u.why) return PAWL_OK;
  (void)snprintf(field, sizeof field, "%s.%s", where, u.member);
  return pawl_reader_wrong(r, field, u.want);
}

/* The task's own fields stay JSON; here only their types are looked at. */
static pawl_code read_task(pawl_reader *r, pawl_str object, pawl_node *node) {
  pawl_str task, escalate, input;
  MUST(pawl_reader_json(r, object, "task", PAWL_JSON_OBJECT, PAWL_JSON_OBJECT,
                        "an object", &node->task));
  MUST(pawl_reader_json(r, object, "escalate", PAWL_JSON_OBJECT,
                        PAWL_JSON_OBJECT, "an object", &node->escalate));
  task = node->task.at ? node->task : pawl_strz("{}");
  escalate = node->escalate.at ? node->escalate : pawl_strz("{}");
  MUST(check_text(r, task, "title", "task.title"));
  MUST(check_text(r, task, "description", "task.description"));
  MUST(check_text(r, task, "form", "task.form"));
  MUST(check_text(r, task, "assignee", "task.assignee"));
  MUST(check_text(r, task, "signal", "task.signal"));
  if (pawl_json_get(task, "input", &input) &&
      pawl_json_kind_of(input) != PAWL_JSON_OBJECT &&
      pawl_json_kind_of(input) != PAWL_JSON_ARRAY)
    return pawl_reader_wrong(r, "task.input", "an object or a list");
  MUST(check_priority(r, task, "task.priority"));
  MUST(check_due(r, task));
  MUST(check_people(r, task, "task.users", "task.roles", "task.groups"));
  MUST(check_priority(r, escalate, "escalate.priority"));
  MUST(check_people(r, escalate, "escalate.users", "escalate.roles",
                    "escalate.groups"));
  MUST(check_kept(r, task, "task"));
  return check_kept(r, escalate, "escalate");
}

static int find_branch(const pawl_node *node, const char *name) {
  for (int i = 0; i < node->nnext; i++)
    if (strcmp(node->next[i].name, name) == 0) return i;
  return -1;
}

/* Every branch once; without `order` they stand as `next` is sorted. */
static pawl_code read_order(pawl_reader *r, pawl_str object, pawl_node *node) {
  static const char WANT[] = "a list of its branches, each of them once";
  pawl_str value;
  int n = 0;
  if (pawl_kind_shapes[node->kind].ways != PAWL_WAYS_BRANCHES) return PAWL_OK;
  node->order = pawl_arena_get(r->def, (size_t)node->nnext * sizeof(int) + 1);
  if (!node->order) return pawl_reader_nomem(r);
  for (int i = 0; i < node->nnext; i++) node->order[i] = i;
  if (!pawl_json_get(object, "order", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY ||
      pawl_json_count(value) != node->nnext)
    return pawl_reader_wrong(r, "order", WANT);
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);) {
    const char *text;
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING)
      return pawl_reader_wrong(r, "order", WANT);
    MUST(pawl_reader_unquote(r, it.value, "order", &text));
    node->order[n] = find_branch(node, text);
    for (int i = 0; i < n; i++)
      if (node->order[i] == node->order[n]) node->order[n] = -1;
    if (node->order[n++] < 0) return pawl_reader_wrong(r, "order", WANT);
  }
  return PAWL_OK;
}

static pawl_code read_expect(pawl_reader *r, pawl_str object,
                             pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "expect", &value)) return PAWL_OK;
  if (pawl_str_eqz(value, "\"all\""))
    node->expect = 0;
  else if (pawl_str_eqz(value, "\"any\""))
    node->expect = 1;
  else if (!pawl_json_int(value, &node->expect) || node->expect < 1)
    return pawl_reader_wrong(r, "expect",
                             "all, any, or a number of at least 1");
  return PAWL_OK;
}

static pawl_code read_input(pawl_reader *r, pawl_str object, pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "input", &value)) return PAWL_OK;
  node->has_input = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  if (node->has_input) return PAWL_OK;
  return pawl_reader_json(
      r, object, "input", PAWL_JSON_OBJECT, PAWL_JSON_ARRAY,
      "an object, a list, or true: a handler", &node->input);
}

/* "2.5%" in hundredths of a percent: up to two digits behind the point, more
 * than nothing, 100 at most. -1: it is none. */
static int read_share(pawl_str value) {
  char text[12], *end;
  double percent;

  if (value.len < 4 || value.len - 2 >= sizeof text ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return -1;
  pawl_str_copy(text, sizeof text, (pawl_str){value.at + 1, value.len - 2});
  const size_t len = strlen(text), digits = strspn(text, "0123456789.");
  const char *point = strchr(text, '.');
  if (text[0] == '.' || digits != len - 1 || strcmp(text + digits, "%") ||
      (point && (text + digits - point < 2 || text + digits - point > 3)))
    return -1;
  percent = strtod(text, &end);
  return end == text + digits && percent > 0 && percent <= 100
             ? (int)(percent * 100 + 0.5)
             : -1;
}

int64_t pawl_node_tolerates(const pawl_node *node, int64_t total) {
  if (node->tolerate_share >= 0) return total * node->tolerate_share / 10000;
  return node->tolerate ? node->tolerate : -1;
}

static pawl_code read_tolerate(pawl_reader *r, pawl_str object,
                               pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "tolerate", &value)) return PAWL_OK;
  node->tolerate_share = read_share(value);
  if (node->tolerate_share >= 0 ||
      (pawl_json_int(value, &node->tolerate) && node->tolerate >= 1))
    return PAWL_OK;
  return pawl_reader_wrong(r, "tolerate",
                           "a number of at least 1, or a share: \"10%\"");
}

/* A name, or `true` for a handler; so is the next, of a number. */
static pawl_code read_group(pawl_reader *r, pawl_str object, pawl_node *node) {
  static const char WANT[] = "a group's name, or true: a handler";
  pawl_str value;
  if (!pawl_json_get(object, "group", &value)) return PAWL_OK;
  node->has_group = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  if (node->has_group) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_reader_wrong(r, "group", WANT);
  MUST(pawl_reader_unquote(r, value, "group", &node->group));
  if (node->group[0] && strlen(node->group) <= PAWL_MAX_GROUP) return PAWL_OK;
  return pawl_reader_wrong(r, "group", WANT);
}

static pawl_code read_priority(pawl_reader *r, pawl_str object,
                               pawl_node *node) {
  pawl_str value;
  if (!pawl_json_get(object, "priority", &value)) return PAWL_OK;
  node->has_priority = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  if (node->has_priority) return PAWL_OK;
  return pawl_reader_int(r, object, "priority", INT16_MIN, INT16_MAX,
                         "a number from -32768 to 32767, or true: a handler",
                         &node->priority);
}

static pawl_code read_durability(pawl_reader *r, pawl_str object,
                                 pawl_node *node) {
  return pawl_reader_durability(r, object, &node->durability);
}

/* ---- the table ---- */

typedef struct field {
  const char *name;
  enum { FLAG, TEXT, COUNT, DURATION, CHOICE, OWN } shape;
  size_t at;            /* offset in the node */
  size_t asked;         /* and of a duration's handler */
  int64_t max;          /* of a count */
  const char *no, *yes; /* of a choice */
  pawl_code (*read)(pawl_reader *r, pawl_str object, pawl_node *node);
} field;

#define AT(member) .at = offsetof(pawl_node, member)
#define ROW_FLAG(name, member) {name, FLAG, AT(member)},
#define ROW_TEXT(name, member) {name, TEXT, AT(member)},
#define ROW_DURATION(name, member, flag) \
  {name, DURATION, AT(member), .asked = offsetof(pawl_node, flag)},
#define ROW_COUNT(name, member, most) {name, COUNT, AT(member), .max = most},
#define ROW_CHOICE(name, member, one, other) \
  {name, CHOICE, AT(member), .no = one, .yes = other},
#define ROW(shape, name, ...) ROW_##shape(#name, __VA_ARGS__)

/* All that a node may say. That a kind does not know a field is the builder's
 * to tell (lua/pawl/kinds): here it is read and left alone. */
static const field FIELDS[] = {{"next", OWN, .read = read_next},
                               {"order", OWN, .read = read_order},
                               {"on_error", OWN, .read = read_on_error},
                               {"retry", OWN, .read = read_retry},
                               {"timeout", OWN, .read = read_timeout},
                               {"key", OWN, .read = read_key},
                               {"accepts", OWN, .read = read_accepts},
                               {"reschedule", OWN, .read = read_reschedule},
                               {"task", OWN, .read = read_task},
                               {"expect", OWN, .read = read_expect},
                               {"input", OWN, .read = read_input},
                               {"group", OWN, .read = read_group},
                               {"priority", OWN, .read = read_priority},
                               {"tolerate", OWN, .read = read_tolerate},
                               {"durability", OWN, .read = read_durability},
                               {"of", OWN, .read = read_of},
                               PAWL_NODE_FIELDS(ROW)};
enum { NFIELDS = sizeof FIELDS / sizeof *FIELDS };

static pawl_code read_field(pawl_reader *r, pawl_str object, const field *f,
                            pawl_node *node) {
  void *at = (char *)node + f->at;
  switch (f->shape) {
    case FLAG:
      return pawl_reader_flag(r, object, f->name, at);
    case TEXT:
      return pawl_reader_text(r, object, f->name, at);
    case COUNT:
      return pawl_reader_count(r, object, f->name, f->max, at);
    case DURATION:
      return pawl_reader_asked(r, object, f->name, 0, at,
                               (int *)((char *)node + f->asked));
    case CHOICE:
      return pawl_reader_choice(r, object, f->name, f->no, f->yes, at);
    default:
      return f->read(r, object, node);
  }
}

/* A member of `task` that holds something. */
static int task_says(const pawl_node *node, const char *name) {
  pawl_str value;
  return node->task.at && pawl_json_get(node->task, name, &value) &&
         !pawl_str_eqz(value, "\"\"");
}

int pawl_node_says(const pawl_node *node, const char *name) {
  const char *at = (const char *)node;
  int i = 0;
  while (i < NFIELDS && strcmp(FIELDS[i].name, name) != 0) i++;
  if (i == NFIELDS) return task_says(node, name);
  at += FIELDS[i].at;
  switch (FIELDS[i].shape) {
    case FLAG:
      return *(const int *)at || task_says(node, name);
    case TEXT:
      return *(const char *const *)at != NULL;
    case DURATION:
      return *(const int64_t *)at >= 0 ||
             *(const int *)((const char *)node + FIELDS[i].asked);
    default:
      assert(FIELDS[i].read == read_next);
      return node->nnext > 0;
  }
}

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
    .host = -1,
    .tolerate_share = -1,
    .window = 16,
    .after_us = -1,
    .every_us = -1,
};

pawl_code pawl_node_read(pawl_reader *r, pawl_str object, pawl_node *node) {
  *node = NEW_NODE;
  r->what = "a node";
  r->line = 0;
  if (pawl_json_kind_of(object) != PAWL_JSON_OBJECT)
    return pawl_reader_wrong(r, "nodes", "a list of objects");
  MUST(pawl_reader_line(r, object, &node->line));
  MUST(pawl_reader_text(r, object, "name", &node->name));
  if (!node->name) return pawl_reader_wrong(r, "name", "there");
  MUST(pawl_reader_introduce(r, "node", node->name));
  MUST(read_kind(r, object, node));
  MUST(pawl_reader_introduce(r, pawl_kind_name(node->kind), node->name));
  for (int i = 0; i < NFIELDS; i++)
    MUST(read_field(r, object, &FIELDS[i], node));
  return PAWL_OK;
}
