#include "trust.h"

#include <stddef.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../value/json.h"
#include "../../value/object.h"
#include "../../value/options.h"

static const char *const LEVELS[] = {"trusted", "limited", "isolated"};
enum { NLEVELS = sizeof LEVELS / sizeof *LEVELS };

/* ---- what is written ---- */

typedef struct given_trust {
  uint64_t given;
  int level;
  pawl_str author, codes, takes, may, per_minute, per_instance, helper;
  int64_t memory, instructions, effects, time_us, wait_us;
} given_trust;

enum {
  LEAST_MEMORY = 2 << 20, /* a state with our own modules in it, and room */
  LEAST_INSTRUCTIONS = 100000,
  LEAST_US = 1000,
  MOST_AUTHOR = 200,
  A_MINUTE = 1000, /* of each that has a quota, where nothing is said */
  MOST_VARIABLES = 1000,
  MOST_BYTES = 1000 * 1000,
  MOST_TOKENS = 1000,
  MOST_ANCESTORS = 100
};

static const pawl_option trust_rows[] = {
    {"level", PAWL_OPTION_CHOICE, .at = offsetof(given_trust, level),
     .names = LEVELS, .high = NLEVELS},
    {"author", PAWL_OPTION_TEXT, .at = offsetof(given_trust, author), .low = 1,
     .high = MOST_AUTHOR, .raw = 1},
    {"codes", PAWL_OPTION_TEXTS, .at = offsetof(given_trust, codes)},
    {"takes", PAWL_OPTION_TEXTS, .at = offsetof(given_trust, takes)},
    {"may", PAWL_OPTION_OBJECT, .at = offsetof(given_trust, may)},
    {"per_minute", PAWL_OPTION_OBJECT,
     .at = offsetof(given_trust, per_minute)},
    {"per_instance", PAWL_OPTION_OBJECT,
     .at = offsetof(given_trust, per_instance)},
    {"memory", PAWL_OPTION_INT, .at = offsetof(given_trust, memory),
     .low = LEAST_MEMORY, .high = INT64_C(1) << 32},
    {"instructions", PAWL_OPTION_INT,
     .at = offsetof(given_trust, instructions), .low = LEAST_INSTRUCTIONS},
    {"effects", PAWL_OPTION_INT, .at = offsetof(given_trust, effects),
     .low = 0, .high = 1000000},
    {"time_us", PAWL_OPTION_INT, .at = offsetof(given_trust, time_us),
     .low = LEAST_US, .high = 3600 * PAWL_SECOND},
    {"wait_us", PAWL_OPTION_INT, .at = offsetof(given_trust, wait_us),
     .low = LEAST_US, .high = PAWL_MAX_DURATION_US},
    {"helper", PAWL_OPTION_TEXT, .at = offsetof(given_trust, helper), .low = 1,
     .high = 4000, .raw = 1}};
static const pawl_options trust_options = {.what = "trust",
                                           PAWL_OPTION_ROWS(trust_rows)};

typedef struct given_may {
  uint64_t given;
  pawl_str db;
  int await;
#define GIVEN_LIST(name) pawl_str name;
  PAWL_GRANTS(GIVEN_LIST)
} given_may;

#define MAY_ROW(name) \
  {#name, PAWL_OPTION_TEXTS, .at = offsetof(given_may, name)},

static const pawl_option may_rows[] = {
    {"db", PAWL_OPTION_ANY, .at = offsetof(given_may, db)},
    {"await", PAWL_OPTION_BOOL, .at = offsetof(given_may, await)},
    PAWL_GRANTS(MAY_ROW)};
static const pawl_options may_options = {.what = "trust, may",
                                         PAWL_OPTION_ROWS(may_rows)};

typedef struct given_db {
  uint64_t given;
  pawl_str read, write;
} given_db;

static const pawl_option db_rows[] = {
    {"read", PAWL_OPTION_TEXTS, .at = offsetof(given_db, read)},
    {"write", PAWL_OPTION_TEXTS, .at = offsetof(given_db, write)}};
static const pawl_options db_options = {.what = "trust, may.db",
                                        PAWL_OPTION_ROWS(db_rows)};

typedef struct given_quotas {
  uint64_t given;
  int64_t n[PAWL_NQUOTAS];
} given_quotas;

#define QUOTA_ROW(name, text)                                                 \
  {text, PAWL_OPTION_INT, .at = offsetof(given_quotas, n[PAWL_QUOTA_##name]), \
   .high = 1000000000},
static const pawl_option quota_rows[] = {PAWL_QUOTAS(QUOTA_ROW)};
static const pawl_options quota_options = {.what = "trust, per_minute",
                                           PAWL_OPTION_ROWS(quota_rows)};

typedef struct given_bounds {
  uint64_t given;
  int64_t n[PAWL_NBOUNDS];
} given_bounds;

#define BOUND_ROW(name, text)                                                 \
  {text, PAWL_OPTION_INT, .at = offsetof(given_bounds, n[PAWL_BOUND_##name]), \
   .low = 1, .high = 1000000000},
static const pawl_option bound_rows[] = {PAWL_BOUNDS(BOUND_ROW)};
static const pawl_options bound_options = {.what = "trust, per_instance",
                                           PAWL_OPTION_ROWS(bound_rows)};

/* ---- reading ---- */

static int is_pattern(pawl_str s) {
  if (s.len == 0 || s.len > 100) return 0;
  for (size_t i = 0; i < s.len; i++)
    if (strchr("\"\\,% \t\n", s.at[i]) || (s.at[i] == '*' && i + 1 < s.len))
      return 0;
  return 1;
}

/* What a list names, and how. */
typedef struct naming {
  const char *noun, *hint;
} naming;

#define DOTTED "\"mod.quest\" or, for all that begin so, \"mod.*\""
static const naming of_codes = {"code", DOTTED}, of_start = {"code", DOTTED},
                    of_signal = {"event", DOTTED},
                    of_host = {"function", DOTTED},
                    of_tables = {
                        "table",
                        "\"mod_score\" or, for all that begin so, \"mod_*\""};

/* One text as JSON behind those that are in the list, "a,b.*". */
static pawl_code add_pattern(pawl_str json, const char *what, const naming *of,
                             pawl_buf *list, pawl_error *err) {
  pawl_buf text = {.alloc = list->alloc};
  pawl_code rc = PAWL_OK;
  pawl_json_unquote(json, &text);
  TRY(pawl_buf_check(&text, err));
  if (!is_pattern(pawl_buf_str(&text))) {
    rc = pawl_fail_hint(err, PAWL_INVALID, of->hint,
                        "trust: `%s` has what is no %s", what, of->noun);
    pawl_error_where(err, "trust.%s", what);
    goto out;
  }
  if (list->len) pawl_buf_addc(list, ',');
  pawl_buf_adds(list, pawl_buf_str(&text));
  rc = pawl_buf_check(list, err);
out:
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code read_patterns(pawl_str json, const char *what,
                               const naming *of, pawl_buf *list,
                               pawl_error *err) {
  if (!json.len) return PAWL_OK;
  if (json.at[0] == '"') return add_pattern(json, what, of, list, err);
  for (pawl_json_iter it = {0}; pawl_json_walk(json, &it);)
    MUST(add_pattern(it.value, what, of, list, err));
  return PAWL_OK;
}

/* What may be done with the database: true, all of it; tables, as a pattern or
 * a list of them, which are written as well; or {"read":...,"write":...}. */
static pawl_code read_db(pawl_str json, pawl_trust *t, int *db,
                         pawl_error *err) {
  const pawl_json_kind kind = pawl_json_kind_of(json);
  pawl_buf named = {.alloc = t->db_read.alloc};
  given_db g = {0};
  pawl_code rc = PAWL_OK;

  *db = kind != PAWL_JSON_NULL && kind != PAWL_JSON_FALSE;
  t->names_tables = *db && kind != PAWL_JSON_TRUE;
  if (!t->names_tables) return PAWL_OK;
  if (kind == PAWL_JSON_INT || kind == PAWL_JSON_FLOAT) {
    pawl_fail_hint(err, PAWL_INVALID,
                   "true, tables that it may write, or {\"read\":..., "
                   "\"write\":...}",
                   "trust: `may.db` is no number");
    pawl_error_where(err, "trust.may.db");
    return PAWL_INVALID;
  }
  if (kind == PAWL_JSON_OBJECT)
    pawl_buf_adds(&named, json);
  else
    pawl_buf_addf(&named, "{\"write\":%.*s}", (int)json.len, json.at);
  TRY(pawl_buf_check(&named, err));
  TRY(pawl_options_read(&db_options, pawl_buf_str(&named), &g, err));
  TRY(read_patterns(g.read, "may.db.read", &of_tables, &t->db_read, err));
  TRY(read_patterns(g.write, "may.db.write", &of_tables, &t->db_write, err));
out:
  pawl_buf_deinit(&named);
  return rc;
}

static void set_defaults(given_trust *g) {
  memset(g, 0, sizeof *g);
  g->level = PAWL_TRUST_TRUSTED;
  g->memory = (int64_t)16 << 20;
  g->instructions = 5 * 1000 * 1000;
  g->effects = 1000;
  g->time_us = PAWL_SECOND / 10;
  g->wait_us = 60 * PAWL_SECOND;
}

static pawl_code read_quotas(pawl_str json, given_quotas *q, pawl_error *err) {
  memset(q, 0, sizeof *q);
  for (int i = 0; i < PAWL_NQUOTAS; i++) q->n[i] = A_MINUTE;
  return json.len ? pawl_options_read(&quota_options, json, q, err) : PAWL_OK;
}

static pawl_code read_bounds(pawl_str json, given_bounds *b, pawl_error *err) {
  *b = (given_bounds){.n = {[PAWL_BOUND_VARIABLES] = MOST_VARIABLES,
                            [PAWL_BOUND_BYTES] = MOST_BYTES,
                            [PAWL_BOUND_TOKENS] = MOST_TOKENS,
                            [PAWL_BOUND_ANCESTORS] = MOST_ANCESTORS}};
  return json.len ? pawl_options_read(&bound_options, json, b, err) : PAWL_OK;
}

/* ---- as it is told ---- */

static void tell_patterns(pawl_object *o, const char *name, const char *list) {
  pawl_object inner;
  pawl_member_list(o, name, &inner);
  while (*list) {
    const size_t n = strcspn(list, ",");
    pawl_list_next(&inner);
    pawl_json_add_string(inner.out, (pawl_str){list, n});
    list += n + (list[n] == ',');
  }
  pawl_list_end(&inner);
}

static void tell_tables(pawl_object *may, const pawl_trust *t) {
  pawl_object tables;
  pawl_member_object(may, "tables", &tables);
  tell_patterns(&tables, "read", t->db_read.len ? t->db_read.at : "");
  tell_patterns(&tables, "write", t->db_write.len ? t->db_write.at : "");
  pawl_object_end(&tables);
}

static void tell_may(pawl_object *o, const pawl_trust *t) {
  const pawl_limits *l = &t->limits;
  pawl_object may;
  pawl_member_object(o, "may", &may);
  pawl_member_bool(&may, "db", l->db);
  if (t->names_tables) tell_tables(&may, t);
  pawl_member_bool(&may, "await", l->await);
#define TELL_LIST(name) tell_patterns(&may, #name, l->name);
  PAWL_GRANTS(TELL_LIST)
  pawl_object_end(&may);
}

static void tell_counts(pawl_object *o, const pawl_limits *l) {
  pawl_object inner;
  pawl_member_object(o, "per_minute", &inner);
  for (int q = 0; q < PAWL_NQUOTAS; q++)
    pawl_member_int(&inner, pawl_quota_name((pawl_quota)q), l->per_minute[q]);
  pawl_object_end(&inner);
  pawl_member_object(o, "per_instance", &inner);
  for (int b = 0; b < PAWL_NBOUNDS; b++)
    pawl_member_int(&inner, pawl_bound_name((pawl_bound)b),
                    l->per_instance[b]);
  pawl_object_end(&inner);
}

static void write_grants(pawl_trust *t) {
  const pawl_limits *l = &t->limits;
  pawl_object o;
  pawl_object_begin(&o, &t->grants);
  tell_patterns(&o, "codes", t->codes.len ? t->codes.at : "*");
  tell_may(&o, t);
  pawl_member_int(&o, "memory", (int64_t)l->memory);
  pawl_member_int(&o, "instructions", l->instructions);
  pawl_member_int(&o, "time_us", l->time_us);
  pawl_member_int(&o, "wait_us", l->wait_us);
  pawl_member_int(&o, "effects", l->effects);
  tell_counts(&o, l);
  pawl_object_end(&o);
}

/* ---- read ---- */

static pawl_code take(pawl_trust *t, const given_trust *g, pawl_error *err) {
  given_may may;
  given_quotas quotas;
  given_bounds bounds;
  int db = 0;
  memset(&may, 0, sizeof may);
  MUST(read_quotas(g->per_minute, &quotas, err));
  MUST(read_bounds(g->per_instance, &bounds, err));
  if (g->may.len) MUST(pawl_options_read(&may_options, g->may, &may, err));
  MUST(read_patterns(g->codes, "codes", &of_codes, &t->codes, err));
  MUST(read_patterns(g->takes, "takes", &of_codes, &t->takes, err));
  if (may.db.at) MUST(read_db(may.db, t, &db, err));
#define READ_LIST(name)                                                    \
  MUST(read_patterns(may.name, "may." #name, &of_##name, &t->granted.name, \
                     err));
  PAWL_GRANTS(READ_LIST)
  t->level = (pawl_trust_level)g->level;
  t->limits = (pawl_limits){.instructions = g->instructions,
                            .time_us = g->time_us,
                            .wait_us = g->wait_us,
                            .memory = (size_t)g->memory,
                            .effects = (int)g->effects, /* as checked */
                            .db = db,
                            .await = may.await};
  pawl_granted_lend(&t->granted, &t->limits);
  memcpy(t->limits.per_minute, quotas.n, sizeof quotas.n);
  memcpy(t->limits.per_instance, bounds.n, sizeof bounds.n);
  if (g->helper.len) pawl_json_unquote(g->helper, &t->helper);
  if (g->author.len)
    pawl_json_unquote(g->author, &t->author);
  else
    pawl_buf_addz(&t->author, PAWL_GUEST);
  write_grants(t);
  t->isolated = t->limits;
  t->isolated.is_isolated = 1;
  t->isolated.helper = t->helper.at;
  MUST(pawl_buf_check(&t->author, err));
  MUST(pawl_buf_check(&t->grants, err));
  return pawl_buf_check(&t->helper, err);
}

pawl_code pawl_trust_read(pawl_trust *t, const char *text,
                          const pawl_alloc *alloc, pawl_error *err) {
  given_trust g;
  memset(t, 0, sizeof *t);
  t->codes.alloc = t->takes.alloc = t->helper.alloc = alloc;
  t->author.alloc = t->grants.alloc = alloc;
  t->db_read.alloc = t->db_write.alloc = alloc;
  pawl_granted_init(&t->granted, alloc);
  set_defaults(&g);
  if (text && text[0] == '{') {
    g.level = PAWL_TRUST_LIMITED; /* whoever speaks of limits wants them */
    MUST(pawl_options_read(&trust_options, pawl_strz(text), &g, err));
  } else if (text) {
    for (g.level = 0; g.level < NLEVELS; g.level++)
      if (strcmp(text, LEVELS[g.level]) == 0) return take(t, &g, err);
    pawl_fail_hint(err, PAWL_INVALID,
                   "\"trusted\", \"limited\" or \"isolated\"",
                   "there is no trust \"%.40s\"", text);
    pawl_error_where(err, "trust");
    return PAWL_INVALID;
  }
  return take(t, &g, err);
}

void pawl_trust_deinit(pawl_trust *t) {
  pawl_buf_deinit(&t->codes);
  pawl_buf_deinit(&t->takes);
  pawl_buf_deinit(&t->author);
  pawl_buf_deinit(&t->grants);
  pawl_buf_deinit(&t->helper);
  pawl_buf_deinit(&t->db_read);
  pawl_buf_deinit(&t->db_write);
  pawl_granted_deinit(&t->granted);
}

const char *pawl_trust_name(pawl_trust_level level) {
  return LEVELS[level];
}

/* What is not known here is not trusted. */
pawl_trust_level pawl_trust_stored(pawl_str name) {
  for (int level = 0; level < PAWL_TRUST_ISOLATED; level++)
    if (pawl_str_eqz(name, LEVELS[level])) return (pawl_trust_level)level;
  return PAWL_TRUST_ISOLATED;
}

pawl_trust_level pawl_trust_of(const pawl_def *def) {
  return def->is_isolated  ? PAWL_TRUST_ISOLATED
         : def->is_limited ? PAWL_TRUST_LIMITED
                           : PAWL_TRUST_TRUSTED;
}

const pawl_limits *pawl_trust_limits(const pawl_trust *t,
                                     pawl_trust_level level) {
  return level == PAWL_TRUST_ISOLATED  ? &t->isolated
         : level == PAWL_TRUST_LIMITED ? &t->limits
                                       : NULL;
}

/* ---- a definition within its bounds ---- */

enum {
  MOST_ATTEMPTS = 20,
  LEAST_DELAY_US = 100 * 1000, /* between two of them */
  MOST_BUSY = 100,             /* immediate steps in a row */
  MOST_WINDOW = 100            /* branches of an each at one time */
};

static pawl_code check_start(const pawl_trust *t, const pawl_def *def,
                             const char *code, int line, pawl_error *err) {
  if (!code || pawl_names_match(t->limits.start, code)) return PAWL_OK;
  pawl_fail_hint(
      err, PAWL_LIMIT, "who runs it may grant that: trust, may.start",
      "workflow %s may not start %s: its trust is limited", def->code, code);
  pawl_error_where(err, "%s:%d", def->file, line);
  return PAWL_LIMIT;
}

static pawl_code check_escalated(const pawl_trust *t, const pawl_def *def,
                                 const pawl_node *n, pawl_error *err) {
  if (n->kind != PAWL_KIND_ESCALATE ||
      pawl_names_match(t->limits.signal, n->event))
    return PAWL_OK;
  pawl_fail_hint(
      err, PAWL_LIMIT, "who runs it may grant that: trust, may.signal",
      "workflow %s may not send the event %s, which \"%s\" escalates: its "
      "trust is limited",
      def->code, n->event, n->name);
  pawl_error_where(err, "%s:%d", def->file, n->line);
  return PAWL_LIMIT;
}

/* A task that raises an event does so without a handler. */
static pawl_code check_signal(const pawl_trust *t, const pawl_def *def,
                              const pawl_node *n, pawl_error *err) {
  pawl_str signal;
  pawl_buf name = {.alloc = def->alloc};
  pawl_code rc = PAWL_OK;
  if (!n->task.len || !pawl_json_get(n->task, "signal", &signal))
    return PAWL_OK;
  pawl_json_unquote(signal, &name);
  TRY(pawl_buf_check(&name, err));
  if (pawl_names_match(t->limits.signal, name.at)) goto out;
  rc = pawl_fail_hint(
      err, PAWL_LIMIT, "who runs it may grant that: trust, may.signal",
      "workflow %s may not send the event %s, which task \"%s\" raises: its "
      "trust is limited",
      def->code, name.at, n->name);
  pawl_error_where(err, "%s:%d", def->file, n->line);
out:
  pawl_buf_deinit(&name);
  return rc;
}

static void bound_node(pawl_node *n) {
  pawl_retry *r = &n->retry;
  if (r->max > MOST_ATTEMPTS) r->max = MOST_ATTEMPTS;
  if (r->base_us < LEAST_DELAY_US) r->base_us = LEAST_DELAY_US;
  if (r->cap_us < LEAST_DELAY_US) r->cap_us = LEAST_DELAY_US;
  if (n->window > MOST_WINDOW) n->window = MOST_WINDOW;
}

static pawl_code copy_tables(const pawl_trust *t, pawl_def *def,
                             pawl_error *err) {
  if (!t->names_tables) return PAWL_OK;
  MUST(pawl_def_copy(def, pawl_buf_str(&t->db_read), &def->db_read, err));
  return pawl_def_copy(def, pawl_buf_str(&t->db_write), &def->db_write, err);
}

pawl_code pawl_trust_check_tables(const pawl_trust *t, int can_hold,
                                  pawl_error *err) {
  if (!t->names_tables || can_hold) return PAWL_OK;
  pawl_fail_hint(err, PAWL_UNSUPPORTED,
                 "on PostgreSQL rights are a role's: run them in workers of "
                 "their own (--prefix), whose role has rights for no other "
                 "tables, with db = true",
                 "trust: this store cannot hold ctx.db to some tables");
  pawl_error_where(err, "trust.may.db");
  return PAWL_UNSUPPORTED;
}

pawl_code pawl_trust_apply(const pawl_trust *t, pawl_def *def,
                           pawl_error *err) {
  if (t->codes.len && !pawl_names_match(t->codes.at, def->code)) {
    pawl_fail_hint(err, PAWL_LIMIT, "who runs it may grant that: trust, codes",
                   "workflow %s is none of the codes that this file may "
                   "define: %.100s",
                   def->code, t->codes.at);
    pawl_error_where(err, "%s:%d", def->file, def->line);
    return PAWL_LIMIT;
  }
  MUST(check_start(t, def, def->failure_start, def->line, err));
  for (int i = 0; i < def->nnodes; i++) {
    MUST(check_start(t, def, def->nodes[i].workflow, def->nodes[i].line, err));
    MUST(check_signal(t, def, &def->nodes[i], err));
    MUST(check_escalated(t, def, &def->nodes[i], err));
    bound_node(&def->nodes[i]);
  }
  if (!def->busy_limit || def->busy_limit > MOST_BUSY)
    def->busy_limit = MOST_BUSY;
  memcpy(def->per_minute, t->limits.per_minute, sizeof def->per_minute);
  memcpy(def->per_instance, t->limits.per_instance, sizeof def->per_instance);
  def->is_limited = 1;
  def->handler_us = t->limits.time_us;
  def->wait_us = t->limits.wait_us;
  def->may_wait = t->limits.await || t->limits.host[0];
  def->takes = pawl_names_match(t->takes.at, def->code);
  MUST(copy_tables(t, def, err));
  MUST(pawl_def_copy(def, pawl_buf_str(&t->author), &def->author, err));
  return pawl_def_copy(def, pawl_buf_str(&t->grants), &def->grants, err);
}
