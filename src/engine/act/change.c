/* One instance is changed from outside: what is asked for is read, checked
 * against where the instance stands now, and put into a letter. Whoever holds
 * it checks again: it may have moved on. */
#include <inttypes.h>
#include <stdio.h>

#include "../../base/fault.h"
#include "../../value/json.h"
#include "../common/answer.h"
#include "../engine.h"
#include "../versions/crossing.h"
#include "act.h"

/* ---- what may be asked for ---- */

enum {
  CANCEL = 1,
  KILL = 2,
  WAKE = 4,
  SUSPEND = 8,
  RESUME = 16,
  RETRY = 32,
  RESTART = 64,
  MOVE = 128,
  EDIT = 256,
  SHIFT = 512,
  MIGRATE = 1024,
  EVERY = 2047
};

static const struct {
  const char *name;
  unsigned bit;
} kinds[] = {{"cancel", CANCEL},   {"kill", KILL},      {"wake", WAKE},
             {"suspend", SUSPEND}, {"resume", RESUME},  {"retry", RETRY},
             {"restart", RESTART}, {"move", MOVE},      {"edit", EDIT},
             {"shift", SHIFT},     {"migrate", MIGRATE}};
#define NKINDS (sizeof kinds / sizeof *kinds)

typedef enum key {
  BY,
  SOURCE,
  REASON,
  COMPENSATE,
  EVENT_ID,
  NODES,
  AT,
  SHIFTS,
  TOKEN,
  NODE,
  SEQ,
  SET,
  UNSET,
  EXPECTED,
  US,
  VERSION,
  MAP,
  VARIABLES,
  IF_VERSION,
  NKEYS
} key;

typedef enum shape { TEXT, TRUTH, NUMBER, INSTANT, SPAN, OBJECT, NAMES } shape;
static const char *const shape_names[] = {
    [TEXT] = "a text",
    [TRUTH] = "true or false",
    [NUMBER] = "an integer, 0 or more",
    [INSTANT] = "microseconds since 1970, to the year 9999 at most",
    [SPAN] = "microseconds, 0 or more, 1,000 years at most",
    [OBJECT] = "an object",
    [NAMES] = "a list of texts"};

/* `letter`: its name there; NULL: it is not for the one who takes it. */
static const struct {
  const char *name;
  shape shape;
  unsigned kinds, needed;
  const char *letter;
} keys[NKEYS] = {
    [BY] = {"by", TEXT, EVERY, 0, NULL},
    [SOURCE] = {"source", TEXT, EVERY, 0, NULL},
    [REASON] = {"reason", TEXT, EVERY, 0, "reason"},
    [COMPENSATE] = {"compensate", TRUTH, CANCEL, 0, "compensate"},
    [EVENT_ID] = {"event_id", TEXT, CANCEL, 0, "event_id"},
    [NODES] = {"nodes", NAMES, WAKE, 0, "nodes"},
    [AT] = {"at", INSTANT, WAKE, 0, "at"},
    [SHIFTS] = {"shift", TRUTH, RESUME, 0, "shift"},
    [TOKEN] = {"token", NUMBER, RETRY | MOVE, 0, "token"},
    [NODE] = {"node", TEXT, RESTART | MOVE, RESTART | MOVE, "node"},
    [SEQ] = {"seq", NUMBER, RESTART, 0, "seq"},
    [SET] = {"set", OBJECT, EDIT, 0, "set"},
    [UNSET] = {"unset", NAMES, EDIT, 0, "unset"},
    [EXPECTED] = {"version", NUMBER, EDIT, 0, "version"},
    [US] = {"us", SPAN, SHIFT, SHIFT, "us"},
    [VERSION] = {"to_version", NUMBER, MIGRATE, MIGRATE, "version"},
    [MAP] = {"map", OBJECT, MIGRATE, 0, "map"},
    [VARIABLES] = {"variables", OBJECT, MIGRATE, 0, "variables"},
    [IF_VERSION] = {"if_version", NUMBER, MIGRATE, 0, "if_version"},
};

typedef struct change {
  unsigned kind;
  const char *kind_name;
  pawl_str given[NKEYS]; /* as JSON; at NULL: not given */
  pawl_buf by, source;
} change;

static int is_names(pawl_str value) {
  pawl_json_iter it = {0};
  pawl_str k, one;
  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY) return 0;
  while (pawl_json_each(value, &it, &k, &one))
    if (pawl_json_kind_of(one) != PAWL_JSON_STRING) return 0;
  return 1;
}

static int has_shape(pawl_str value, shape s) {
  pawl_json_kind kind = pawl_json_kind_of(value);
  int64_t n;
  switch (s) {
    case TEXT:
      return kind == PAWL_JSON_STRING;
    case TRUTH:
      return kind == PAWL_JSON_TRUE || kind == PAWL_JSON_FALSE;
    case NUMBER:
      return pawl_json_int(value, &n) && n >= 0;
    case INSTANT:
      return pawl_json_int(value, &n) && pawl_time_is_valid(n);
    case SPAN:
      return pawl_json_int(value, &n) && n >= 0 && n <= PAWL_MAX_DURATION_US;
    case OBJECT:
      return kind == PAWL_JSON_OBJECT;
    case NAMES:
      return is_names(value);
  }
  return 0;
}

static pawl_code unknown_key(const change *c, pawl_str name, pawl_error *err) {
  const char *names[NKEYS];
  char text[64];
  int n = 0;

  for (int i = 0; i < NKEYS; i++)
    if (keys[i].kinds & c->kind) names[n++] = keys[i].name;
  pawl_str_copy(text, sizeof text, name);
  pawl_fail(err, PAWL_INVALID, "\"%s\" has no `%s`", c->kind_name, text);
  const char *near = pawl_nearest(text, names, n);
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
}

static pawl_code read_key(change *c, pawl_str name, pawl_str value,
                          pawl_error *err) {
  if (pawl_str_eqz(name, "kind")) return PAWL_OK;
  for (int i = 0; i < NKEYS; i++) {
    if (!(keys[i].kinds & c->kind) || !pawl_str_eqz(name, keys[i].name))
      continue;
    if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
    if (!has_shape(value, keys[i].shape))
      return pawl_fail(err, PAWL_INVALID, "`%s` of \"%s\" must be %s",
                       keys[i].name, c->kind_name, shape_names[keys[i].shape]);
    c->given[i] = value;
    return PAWL_OK;
  }
  return unknown_key(c, name, err);
}

static pawl_code read_kind(change *c, pawl_str text, pawl_error *err) {
  const char *names[NKINDS];
  char word[64] = "";
  pawl_str value;

  if (!pawl_json_get(text, "kind", &value) || !has_shape(value, TEXT))
    return pawl_fail(err, PAWL_INVALID, "a change needs its `kind`");
  value.at++, value.len -= 2;
  for (size_t i = 0; i < NKINDS; i++) {
    names[i] = kinds[i].name;
    if (!pawl_str_eqz(value, kinds[i].name)) continue;
    c->kind = kinds[i].bit;
    c->kind_name = kinds[i].name;
    return PAWL_OK;
  }
  pawl_str_copy(word, sizeof word, value);
  pawl_fail(err, PAWL_INVALID, "\"%s\" is no kind of change", word);
  const char *near = pawl_nearest(word, names, (int)NKINDS);
  if (near) pawl_error_hint(err, "did you mean \"%s\"?", near);
  return PAWL_INVALID;
}

static pawl_code read_source(change *c, pawl_error *err) {
  if (!c->given[SOURCE].at) pawl_buf_addz(&c->source, "user");
  if (pawl_buf_check(&c->source, err) != PAWL_OK) return PAWL_NOMEM;
  pawl_str source = pawl_buf_str(&c->source);
  if (pawl_str_eqz(source, "user") || pawl_str_eqz(source, "event") ||
      pawl_str_eqz(source, "system"))
    return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID,
                   "`source` is \"user\", \"event\" or \"system\"");
}

static pawl_code read_change(change *c, pawl_str text, pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str name, value;
  pawl_code rc = PAWL_OK;

  TRY(pawl_json_check(text, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "a change is a JSON object");
  TRY(read_kind(c, text, err));
  while (pawl_json_each(text, &it, &name, &value))
    TRY(read_key(c, name, value, err));
  for (int i = 0; i < NKEYS; i++)
    if ((keys[i].needed & c->kind) && !c->given[i].at)
      return pawl_fail(err, PAWL_INVALID, "\"%s\" needs `%s`", c->kind_name,
                       keys[i].name);
  if (c->given[BY].at) pawl_json_unquote(c->given[BY], &c->by);
  if (c->given[SOURCE].at) pawl_json_unquote(c->given[SOURCE], &c->source);
  TRY(pawl_buf_check(&c->by, err));
  TRY(pawl_buf_check(&c->source, err));
  if (c->by.len && memchr(c->by.at, 0, c->by.len))
    return pawl_fail(err, PAWL_INVALID, "`by` must not have a zero byte");
  TRY(read_source(c, err));
  TRY(pawl_buf_check(&c->by, err));
  TRY(pawl_buf_check(&c->source, err));
out:
  return rc;
}

/* ---- where the instance stands ---- */

static pawl_code look(pawl_engine *e, pawl_subject *s, pawl_error *err) {
  pawl_rows r;
  pawl_str status, name;
  pawl_code rc = PAWL_OK;

  s->shard = pawl_id_route(&s->id) % e->nshards;
  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_STATE);
  pawl_arg_int(&e->args, PAWL_REPAIR_STATE_SHARD, s->shard);
  pawl_arg_id(&e->args, PAWL_REPAIR_STATE_ID, &s->id);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  if (!r.nrows) return pawl_act_unknown(&s->id, err);
  status = pawl_row_str(&r, 0, PAWL_REPAIR_STATE_R_STATUS);
  if (!pawl_status_parse(status, &s->status))
    return pawl_fail(err, PAWL_CORRUPT, "an instance with an unknown status");
  s->started = pawl_row_int(&r, 0, PAWL_REPAIR_STATE_R_STARTED) != 0;
  s->workflow_version =
      pawl_row_int(&r, 0, PAWL_REPAIR_STATE_R_WORKFLOW_VERSION);
  s->version = pawl_row_int(&r, 0, PAWL_REPAIR_STATE_R_VERSION);
  s->seq = pawl_row_int(&r, 0, PAWL_REPAIR_STATE_R_SEQ);
  pawl_buf_adds(&s->workflow,
                pawl_row_str(&r, 0, PAWL_REPAIR_STATE_R_WORKFLOW));
  pawl_buf_adds(&s->vars, pawl_row_str(&r, 0, PAWL_REPAIR_STATE_R_VARIABLES));
  pawl_buf_adds(&s->stopped, pawl_row_str(&r, 0, PAWL_REPAIR_STATE_R_STOPPED));
  if (!s->vars.len) pawl_buf_addz(&s->vars, "{}");
  s->undoing =
      pawl_json_get(pawl_row_str(&r, 0, PAWL_REPAIR_STATE_R_COMPENSATION),
                    "status", &name) &&
      pawl_str_eqz(name, "\"running\"");
  TRY(pawl_buf_check(&s->workflow, err));
  TRY(pawl_buf_check(&s->vars, err));
  TRY(pawl_buf_check(&s->stopped, err));
out:
  return rc;
}

/* ---- checks ---- */

pawl_code pawl_graph_node(const pawl_def *def, pawl_str name, int *index,
                          pawl_error *err) {
  const char **names;
  char text[128];
  size_t size = sizeof *names * (size_t)(def->nnodes ? def->nnodes : 1);

  *index = pawl_def_node(def, name.at, name.len);
  if (*index >= 0) return PAWL_OK;
  pawl_str_copy(text, sizeof text, name);
  pawl_fail(err, PAWL_INVALID,
            "workflow \"%s\" version %" PRId64 " has no node \"%s\"",
            def->code, def->version, text);
  names = pawl_realloc(def->alloc, NULL, 0, size);
  if (!names) return PAWL_INVALID;
  for (int i = 0; i < def->nnodes; i++) names[i] = def->nodes[i].name;
  const char *near = pawl_nearest(text, names, def->nnodes);
  if (near) pawl_error_hint(err, "did you mean \"%s\"?", near);
  pawl_release(def->alloc, names, size);
  return PAWL_INVALID;
}

static pawl_code check_node(pawl_engine *e, const pawl_def *def,
                            pawl_str quoted, pawl_error *err) {
  pawl_buf name = {.alloc = &e->alloc};
  int index;
  pawl_code rc = PAWL_OK;

  pawl_json_unquote(quoted, &name);
  TRY(pawl_buf_check(&name, err));
  TRY(pawl_graph_node(def, pawl_buf_str(&name), &index, err));
out:
  pawl_buf_deinit(&name);
  return rc;
}

static pawl_code check_nodes(pawl_engine *e, const change *c,
                             const pawl_def *def, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str k, one;
  pawl_code rc = PAWL_OK;

  if (c->given[NODE].at) TRY(check_node(e, def, c->given[NODE], err));
  if (!c->given[NODES].at) return PAWL_OK;
  while (pawl_json_each(c->given[NODES], &it, &k, &one))
    TRY(check_node(e, def, one, err));
out:
  return rc;
}

/* "it stands at "a" (token 2), "b" (token 3)" */
static void tell_places(const pawl_places *p, pawl_error *err) {
  char text[200] = "";
  size_t len = 0;

  for (int i = 0; i < p->n && len + 60 < sizeof text; i++)
    len += (size_t)snprintf(text + len, sizeof text - len,
                            "%s\"%.30s\" (token %" PRId32 ")", i ? ", " : "",
                            p->at[i].node ? p->at[i].node : "", p->at[i].no);
  if (p->n) pawl_error_hint(err, "it stands at %s", text);
}

static pawl_code check_token(const change *c, const pawl_subject *s,
                             const pawl_places *p, pawl_error *err) {
  char id[37];
  int64_t no = 0;

  pawl_id_format(&s->id, id);
  if (!c->given[TOKEN].at) {
    if (c->kind != MOVE || p->n == 1) return PAWL_OK;
    pawl_fail(err, PAWL_CONFLICT,
              p->n ? "instance %s stands in %d places: say which `token` to "
                     "move"
                   : "instance %s stands nowhere yet",
              id, p->n);
    tell_places(p, err);
    return PAWL_CONFLICT;
  }
  (void)pawl_json_int(c->given[TOKEN], &no);
  for (int i = 0; i < p->n; i++)
    if (p->at[i].no == no) return PAWL_OK;
  pawl_fail(err, PAWL_CONFLICT, "instance %s has no live token %" PRId64, id,
            no);
  tell_places(p, err);
  return PAWL_CONFLICT;
}

static pawl_code refuse_status(const pawl_subject *s, const char *what,
                               pawl_error *err) {
  char id[37];
  pawl_id_format(&s->id, id);
  return pawl_fail(err, PAWL_CONFLICT, "instance %s %s; it is %s", id, what,
                   pawl_status_name(s->status));
}

/* Will it be suspended once what lies in its inbox has been taken? */
static pawl_code find_suspend(pawl_engine *e, const pawl_subject *s,
                              int *found, pawl_error *err) {
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  *found = 0;
  pawl_args_begin(&e->args, PAWL_STMT_INBOX_LOAD);
  pawl_arg_int(&e->args, PAWL_INBOX_LOAD_SHARD, s->shard);
  pawl_arg_id(&e->args, PAWL_INBOX_LOAD_ID, &s->id);
  pawl_arg_int(&e->args, PAWL_INBOX_LOAD_EVENTS, 0);
  pawl_arg_int(&e->args, PAWL_INBOX_LOAD_OTHERS, 1000);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  for (int k = 0; k < r.nrows; k++) {
    pawl_str kind = pawl_row_str(&r, k, PAWL_INBOX_LOAD_R_KIND);
    if (pawl_str_eqz(kind, "suspend")) *found = 1;
    if (pawl_str_eqz(kind, "resume")) *found = 0;
  }
out:
  return rc;
}

/* What is not suspended may be about to be: then the two follow each other. */
static pawl_code check_resume(pawl_engine *e, const pawl_subject *s,
                              pawl_error *err) {
  int found = s->status == PAWL_STATUS_SUSPENDED;
  pawl_code rc = PAWL_OK;

  if (!found) TRY(find_suspend(e, s, &found, err));
  if (!found) return refuse_status(s, "cannot be resumed", err);
out:
  return rc;
}

/* It has failed: is there a place for it to go on from? */
static pawl_code check_stopped(const change *c, const pawl_subject *s,
                               pawl_error *err) {
  if (s->stopped.len) return PAWL_OK;
  refuse_status(s,
                c->kind == RETRY
                    ? "cannot be retried: it ended at a finish, or what it "
                      "had done was undone"
                    : "cannot be moved: it ended at a finish, or what it had "
                      "done was undone, and nothing says where it stood",
                err);
  pawl_error_hint(err, "restart it from a node");
  return PAWL_CONFLICT;
}

static pawl_code check_status(pawl_engine *e, const change *c,
                              const pawl_subject *s, pawl_error *err) {
  int ended = pawl_status_has_ended(s->status);

  if ((c->kind & (RETRY | MIGRATE)) && s->status == PAWL_STATUS_FAILED)
    return check_stopped(c, s, err);
  if (c->kind == RESTART || c->kind == RETRY) {
    if (s->status == PAWL_STATUS_FAILED || s->status == PAWL_STATUS_SUSPENDED)
      return PAWL_OK;
    if (c->kind == RESTART && s->status == PAWL_STATUS_COMPLETED)
      return PAWL_OK;
    if (ended) return pawl_act_ended(&s->id, s->status, err);
    refuse_status(s,
                  c->kind == RETRY ? "has not failed and is not suspended"
                                   : "has not ended and is not suspended",
                  err);
    pawl_error_hint(err, c->kind == RETRY
                             ? "wake it, to have it tried now"
                             : "suspend it first, or move its token");
    return PAWL_CONFLICT;
  }
  if (ended) return pawl_act_ended(&s->id, s->status, err);
  if (c->kind == SUSPEND && s->status == PAWL_STATUS_SUSPENDED)
    return refuse_status(s, "need not be suspended", err);
  return c->kind == RESUME ? check_resume(e, s, err) : PAWL_OK;
}

static pawl_code check_size(pawl_engine *e, size_t len, pawl_error *err) {
  if ((int64_t)len <= e->config.max_bytes) return PAWL_OK;
  return pawl_fail(err, PAWL_LIMIT,
                   "the variables would have %zu bytes; the limit is %" PRId64,
                   len, e->config.max_bytes);
}

static pawl_code check_expected(const pawl_subject *s, pawl_str expected,
                                pawl_error *err) {
  char id[37];
  int64_t version;

  if (!expected.at || !pawl_json_int(expected, &version) ||
      version == s->version)
    return PAWL_OK;
  pawl_id_format(&s->id, id);
  pawl_fail(err, PAWL_CONFLICT,
            "instance %s has changed meanwhile: it made %" PRId64
            " commits, not %" PRId64,
            id, s->version, version);
  pawl_error_hint(err, "look at it again, then decide");
  return PAWL_CONFLICT;
}

static pawl_code check_edit(pawl_engine *e, const change *c,
                            const pawl_subject *s, pawl_error *err) {
  pawl_buf delta = {.alloc = &e->alloc}, vars = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  if (!c->given[SET].at && !c->given[UNSET].at)
    return pawl_fail(err, PAWL_INVALID,
                     "an edit needs `set`, `unset` or both");
  TRY(check_expected(s, c->given[EXPECTED], err));
  pawl_buf_addz(&delta, "{\"set\":");
  pawl_buf_adds(&delta, c->given[SET].at ? c->given[SET] : pawl_strz("{}"));
  pawl_buf_addz(&delta, ",\"unset\":");
  pawl_buf_adds(&delta,
                c->given[UNSET].at ? c->given[UNSET] : pawl_strz("[]"));
  pawl_buf_addc(&delta, '}');
  TRY(pawl_buf_check(&delta, err));
  pawl_json_apply(pawl_buf_str(&s->vars), pawl_buf_str(&delta), &vars);
  TRY(pawl_buf_check(&vars, err));
  TRY(check_size(e, vars.len, err));
out:
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&vars);
  return rc;
}

static pawl_code tell_cannot(const pawl_buf *why, pawl_error *err) {
  if (!why->len) return PAWL_OK;
  return pawl_fail(err, PAWL_CONFLICT, "the instance cannot be moved: %s",
                   why->at);
}

static pawl_code check_crossing(pawl_engine *e, const pawl_subject *s,
                                const pawl_crossing *c, const pawl_places *p,
                                pawl_error *err) {
  pawl_buf why = {.alloc = &e->alloc};
  pawl_places lost = {0};
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < p->n && !why.len; i++)
    TRY(pawl_crossing_check(c, &p->at[i], &why, err));
  TRY(tell_cannot(&why, err));
  TRY(pawl_crossing_lost(e, c, s->shard, &s->id, 1, &lost, err));
  if (lost.n) pawl_crossing_tell_lost(c, &lost.at[0], &why);
  TRY(pawl_buf_check(&why, err));
  TRY(tell_cannot(&why, err));
out:
  pawl_buf_deinit(&why);
  pawl_places_deinit(e, &lost);
  return rc;
}

static pawl_code check_migrate(pawl_engine *e, const change *c,
                               const pawl_subject *s, const pawl_places *p,
                               pawl_error *err) {
  pawl_crossing crossing = {.map = c->given[MAP]};
  int64_t version = 0;
  pawl_code rc = PAWL_OK;

  (void)pawl_json_int(c->given[VERSION], &version);
  TRY(check_expected(s, c->given[IF_VERSION], err));
  TRY(check_size(e, c->given[VARIABLES].len, err));
  if (s->undoing) return refuse_status(s, "is being undone", err);
  if (version == s->workflow_version)
    return pawl_fail(err, PAWL_CONFLICT,
                     "the instance runs version %" PRId64 " already", version);
  TRY(pawl_crossing_open(e, s->workflow.at, s->workflow_version, version,
                         &crossing, err));
  TRY(check_crossing(e, s, &crossing, p, err));
out:
  pawl_crossing_close(&crossing);
  return rc;
}

/* An item's step needs its item: an each is restarted as a whole. */
static pawl_code check_restart(pawl_engine *e, const change *c,
                               const pawl_def *def, pawl_error *err) {
  pawl_buf name = {.alloc = &e->alloc};
  int at, each;
  pawl_code rc = PAWL_OK;

  pawl_json_unquote(c->given[NODE], &name);
  TRY(pawl_buf_check(&name, err));
  TRY(pawl_graph_node(def, pawl_buf_str(&name), &at, err));
  each = pawl_def_each_around(def, at);
  if (each < 0) goto out;
  rc = pawl_fail(err, PAWL_INVALID,
                 "node \"%s\" is in the branch of each \"%s\": by itself it "
                 "has no item",
                 def->nodes[at].name, def->nodes[each].name);
  pawl_error_hint(err, "restart from \"%s\", which runs all of its items",
                  def->nodes[each].name);
out:
  pawl_buf_deinit(&name);
  return rc;
}

/* Everything that needs the instance's graph and its tokens. */
static pawl_code check_graph(pawl_engine *e, const change *c,
                             const pawl_subject *s, pawl_error *err) {
  pawl_def *def = NULL;
  pawl_places places = {0};
  int own = 0;
  pawl_code rc = PAWL_OK;

  if (!(c->kind & (WAKE | RETRY | RESTART | MOVE | MIGRATE))) return PAWL_OK;
  TRY(pawl_places_load(e, s->shard, &s->id, 1, &places, err));
  if (c->kind == MIGRATE)
    TRY(pawl_places_stopped(e, &s->id, pawl_buf_str(&s->stopped), &places,
                            err));
  if (!pawl_status_has_ended(s->status)) TRY(check_token(c, s, &places, err));
  if (c->kind == RETRY || (c->kind == WAKE && !c->given[NODES].at)) goto out;
  TRY(pawl_graph_find(e, s->workflow.at, s->workflow_version, &def, &own,
                      err));
  TRY(check_nodes(e, c, def, err));
  if (c->kind == RESTART) TRY(check_restart(e, c, def, err));
  if (c->kind == MIGRATE) TRY(check_migrate(e, c, s, &places, err));
out:
  if (own) pawl_def_free(def);
  pawl_places_deinit(e, &places);
  return rc;
}

/* ---- going back in time ---- */

/* The row of history before which a restart goes back: the one asked for, or
 * the first of the latest visit to that node. 0: it never was there, and the
 * variables stay as they are. */
static pawl_code find_seq(pawl_engine *e, const change *c,
                          const pawl_subject *s, int64_t *seq,
                          pawl_error *err) {
  pawl_buf node = {.alloc = &e->alloc};
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  *seq = 0;
  if (c->given[SEQ].at) {
    (void)pawl_json_int(c->given[SEQ], seq);
    if (*seq < 1 || *seq > s->seq + 1)
      return pawl_fail(err, PAWL_INVALID,
                       "its history has %" PRId64
                       " rows; there is no row "
                       "%" PRId64,
                       s->seq, *seq);
    return PAWL_OK;
  }
  pawl_json_unquote(c->given[NODE], &node);
  TRY(pawl_buf_check(&node, err));
  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_VISIT);
  pawl_arg_int(&e->args, PAWL_REPAIR_VISIT_SHARD, s->shard);
  pawl_arg_id(&e->args, PAWL_REPAIR_VISIT_ID, &s->id);
  pawl_arg_str(&e->args, PAWL_REPAIR_VISIT_NODE, pawl_buf_str(&node));
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  if (r.nrows) *seq = pawl_row_int(&r, 0, PAWL_REPAIR_VISIT_R_SEQ);
out:
  pawl_buf_deinit(&node);
  return rc;
}

/* The variables as they were before that row: an instance begins with none,
 * and history has every change. */
static pawl_code fold(pawl_engine *e, const pawl_subject *s, int64_t before,
                      pawl_buf *vars, pawl_error *err) {
  pawl_buf next = {.alloc = &e->alloc};
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_CHANGES);
  pawl_arg_int(&e->args, PAWL_REPAIR_CHANGES_SHARD, s->shard);
  pawl_arg_id(&e->args, PAWL_REPAIR_CHANGES_ID, &s->id);
  pawl_arg_int(&e->args, PAWL_REPAIR_CHANGES_BEFORE, before);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  pawl_buf_addz(vars, "{}");
  for (int k = 0; k < r.nrows; k++) {
    pawl_str delta = pawl_row_str(&r, k, PAWL_REPAIR_CHANGES_R_CHANGES);
    pawl_buf swap;
    pawl_buf_clear(&next);
    pawl_json_apply(pawl_buf_str(vars), delta, &next);
    swap = *vars, *vars = next, next = swap;
  }
  TRY(pawl_buf_check(vars, err));
out:
  pawl_buf_deinit(&next);
  return rc;
}

/* ---- the letter ---- */

static pawl_code add_past(pawl_engine *e, change *c, const pawl_subject *s,
                          pawl_buf *past, pawl_error *err) {
  int64_t seq;
  pawl_code rc = PAWL_OK;

  if (c->kind != RESTART) return PAWL_OK;
  TRY(find_seq(e, c, s, &seq, err));
  if (!seq) return PAWL_OK;
  TRY(fold(e, s, seq, past, err));
  c->given[VARIABLES] = pawl_buf_str(past);
out:
  return rc;
}

static void write_letter(const change *c, const pawl_subject *s,
                         pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  if (c->kind == MIGRATE) /* what was checked is a move from there */
    pawl_member_int(&o, "from", s->workflow_version);
  for (int i = 0; i < NKEYS; i++) {
    if (!keys[i].letter || (!c->given[i].at && i != REASON)) continue;
    pawl_member_json(&o, keys[i].letter,
                     c->given[i].at ? c->given[i] : pawl_strz("\"\""));
  }
  pawl_object_end(&o);
}

/* The change is recorded by now: where the instance stands is left out when
 * the store does not tell, and is no failure of the change. */
static pawl_code answer(pawl_engine *e, const change *c, pawl_subject *s,
                        int done, pawl_buf *out, pawl_error *err) {
  pawl_object o;
  pawl_error why;
  char id[37];
  pawl_code rc = PAWL_OK;
  int known;

  pawl_buf_clear(&s->workflow);
  pawl_buf_clear(&s->vars);
  pawl_buf_clear(&s->stopped);
  known = PAWL_FAULT("engine.change.look") != PAWL_FAULT_FAIL &&
          look(e, s, &why) == PAWL_OK;
  pawl_id_format(&s->id, id);
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "id", id);
  pawl_member_textz(&o, "kind", c->kind_name);
  pawl_member_bool(&o, "done", done);
  if (known) pawl_member_textz(&o, "status", pawl_status_name(s->status));
  pawl_object_end(&o);
  TRY(pawl_buf_check(out, err));
out:
  return rc;
}

pawl_code pawl_engine_change_checked(pawl_engine *e, const pawl_id *id,
                                     pawl_str text, int *done, pawl_buf *out,
                                     pawl_error *err) {
  change c = {.by = {.alloc = &e->alloc}, .source = {.alloc = &e->alloc}};
  pawl_subject s = {.id = *id,
                    .workflow = {.alloc = &e->alloc},
                    .vars = {.alloc = &e->alloc},
                    .stopped = {.alloc = &e->alloc}};
  pawl_buf letter = {.alloc = &e->alloc}, past = {.alloc = &e->alloc};
  int own;
  pawl_code rc = PAWL_OK;

  if (!done) done = &own;
  *done = 0;
  TRY(read_change(&c, text, err));
  TRY(look(e, &s, err));
  TRY(check_status(e, &c, &s, err));
  if (c.kind == EDIT) TRY(check_edit(e, &c, &s, err));
  TRY(check_graph(e, &c, &s, err));
  TRY(add_past(e, &c, &s, &past, err));
  write_letter(&c, &s, &letter);
  TRY(pawl_buf_check(&letter, err));
  TRY(pawl_engine_change(e, id, c.kind_name, c.source.at,
                         c.by.at ? c.by.at : "", pawl_buf_str(&letter), done,
                         err));
  if (out) TRY(answer(e, &c, &s, *done, out, err));
out:
  pawl_buf_deinit(&c.by);
  pawl_buf_deinit(&c.source);
  pawl_buf_deinit(&s.workflow);
  pawl_buf_deinit(&s.vars);
  pawl_buf_deinit(&s.stopped);
  pawl_buf_deinit(&letter);
  pawl_buf_deinit(&past);
  return rc;
}
