/* Definitions and the store: making a version known, finding the one that
 * runs, and never changing one under an instance (promise 8). */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "../../base/fault.h"
#include "../../base/nearest.h"
#include "../../value/json.h"
#include "../common/audit.h"
#include "../common/engine_struct.h"
#include "author.h"
#include "register.h"
#include "versions.h"

/* An inline one has no source that could be stored: whoever has not loaded it
 * himself cannot run it. */
pawl_code pawl_loaded_def(pawl_engine *e, const pawl_loaded *l,
                          const pawl_trust *trust, int64_t version,
                          pawl_def **out, pawl_error *err) {
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;
  pawl_str source = l->is_inline ? pawl_strz(NULL) : pawl_buf_str(&l->source);

  TRY(pawl_def_new(l->file, pawl_buf_str(&l->graph), source,
                   l->bundle.len ? pawl_buf_str(&l->bundle) : pawl_strz("{}"),
                   &e->alloc, &def, err));
  TRY(pawl_def_check(def, err));
  if (pawl_host_is_limited(l->ref)) TRY(pawl_trust_apply(trust, def, err));
  def->is_isolated = pawl_host_is_isolated(e->host, l->ref);
  if (def->is_auto && version) TRY(pawl_def_number(def, version, err));
  def->host_ref = l->ref;
  *out = def;
  def = NULL;
out:
  pawl_def_free(def);
  return rc;
}

/* ---- registering ---- */

typedef struct known {
  int exists;
  int64_t revision;
  int same, active, fixed;
  pawl_trust_level trust;
  pawl_str graph, author, grants; /* until the unit is over */
} known;

static pawl_code send_lock(pawl_engine *e, const pawl_def *def, known *k,
                           pawl_error *err) {
  pawl_rows rows;
  int at;

  /* what is not there yet is active from its first day */
  *k = (known){.active = 1};
  MUST(PAWL_SEND(e->store, workflow_lock, &at, err,
                 .code = pawl_strz(def->code), .version = def->version));
  pawl_store_rows(e->store, at, &rows);
  if (!rows.nrows) return PAWL_OK;
  const pawl_workflow_lock_row row = pawl_read_workflow_lock(&rows, 0);
  k->exists = 1;
  k->revision = row.revision;
  k->same = pawl_str_eqz(row.sha256, def->sha256);
  k->active = row.active != 0;
  k->fixed = row.revision > 1 && row.reason.at;
  k->graph = row.graph;
  k->author = row.author;
  k->grants = row.grants;
  k->trust = pawl_trust_stored(row.trust);
  return PAWL_OK;
}

/* A hot-fix changes what handlers do, and nothing of the graph. */
static pawl_code check_fix(const pawl_def *def, const known *k,
                           pawl_error *err) {
  if (k->exists) return pawl_hotfix_check(def, k->graph, err);
  pawl_fail_hint(err, PAWL_NOTFOUND, "`pawl deploy` stores what is new",
                 "there is no workflow \"%s\" version %" PRId64 " to be fixed",
                 def->code, def->version);
  pawl_error_where(err, "%s", def->file);
  return PAWL_NOTFOUND;
}

/* An unfinished instance of this version: its id, or "". */
static pawl_code find_user(pawl_engine *e, const pawl_def *def, char id[37],
                           pawl_error *err) {
  pawl_rows rows;
  int at;

  id[0] = 0;
  pawl_args_begin(&e->args, PAWL_STMT_workflow_in_use);
  for (int s = 0; s < e->nshards; s++)
    PAWL_PUT(&e->args, workflow_in_use, .code = pawl_strz(def->code),
             .version = def->version, .shard = s);
  MUST(pawl_store_send(e->store, &e->args, &at, err));
  pawl_store_rows(e->store, at, &rows);
  if (rows.nrows) pawl_id_format(pawl_read_workflow_in_use(&rows, 0).id, id);
  return PAWL_OK;
}

static pawl_code send_retire(pawl_engine *e, const pawl_def *def,
                             pawl_error *err) {
  return PAWL_SEND(e->store, workflow_retire, NULL, err,
                   .code = pawl_strz(def->code), .version = def->version,
                   .now = pawl_store_now(e->store));
}

/* Who made it, when nobody says: this process, which `own` tells. */
static pawl_str who(pawl_engine *e, const pawl_registering *r,
                    char own[PAWL_MAX_SELF]) {
  pawl_str given = r->fix ? pawl_buf_str(&r->fix->by) : r->by;
  return given.len ? given : pawl_audit_self(e, own);
}

/* Of a fix; NULL: of another registration there is none. */
static const char *why(const pawl_registering *r) {
  if (!r->fix) return NULL;
  return r->fix->reason.at ? r->fix->reason.at : "";
}

/* Whose it is, how far he is trusted, and what was granted. */
typedef struct standing {
  pawl_trust_level trust;
  pawl_str author, grants;
} standing;

/* A fix of what is limited stays so, and its author's, whoever makes it. */
static standing standing_of(const pawl_def *def, const pawl_registering *r,
                            const known *k) {
  standing s = {pawl_trust_of(def), pawl_strz(def->author),
                pawl_strz(def->grants)};
  if (!r->fix || k->trust <= s.trust) return s;
  s.trust = k->trust;
  if (def->is_limited) return s;
  s.author = k->author;
  s.grants = k->grants;
  return s;
}

static pawl_code send_insert(pawl_engine *e, const pawl_def *def,
                             const pawl_registering *r, const known *k,
                             int *at, pawl_error *err) {
  const standing s = standing_of(def, r, k);
  char own[PAWL_MAX_SELF];

  assert(!k->same && def->version > 0);
  return PAWL_SEND(
      e->store, workflow_insert, at, err, .code = pawl_strz(def->code),
      .version = def->version, .name = pawl_strz(def->name),
      .description = pawl_strz(def->description), .graph = def->graph,
      .source = def->source, .bundle = def->bundle,
      .sha256 = pawl_strz(def->sha256), .inline_ = def->is_inline,
      .trust = pawl_strz(pawl_trust_name(s.trust)), .author = s.author,
      .grants = s.grants, .executor_group = pawl_strz(e->config.group),
      .active = k->active, .by = who(e, r, own), .reason = pawl_strz(why(r)),
      .now = pawl_store_now(e->store));
}

/* Is all said that its loading says? Of what is trusted that is nothing. */
static int is_told(const pawl_def *def, pawl_trust_level trust,
                   pawl_str author, pawl_str grants) {
  return !def->is_limited ||
         (pawl_trust_of(def) <= trust && pawl_author_is(def, author) &&
          pawl_str_eqz(grants, def->grants));
}

/* What somebody trusts less than it is stored is stored so from now on. The
 * way back is another version. */
static pawl_code send_limit(pawl_engine *e, const pawl_def *def,
                            const known *k, pawl_error *err) {
  const pawl_trust_level own = pawl_trust_of(def);
  MUST(pawl_author_claim(e, def, 0, err));
  return PAWL_SEND(
      e->store, workflow_limit, NULL, err, .code = pawl_strz(def->code),
      .version = def->version,
      .trust = pawl_strz(pawl_trust_name(own > k->trust ? own : k->trust)),
      .author = pawl_strz(def->author), .grants = pawl_strz(def->grants));
}

/* Its triggers replace those of its older versions. */
static pawl_code send_triggers(pawl_engine *e, const pawl_def *def,
                               pawl_error *err) {
  pawl_args *a = &e->args;

  MUST(PAWL_SEND(e->store, trigger_clear, NULL, err,
                 .workflow = pawl_strz(def->code), .version = def->version));
  pawl_args_begin(a, PAWL_STMT_trigger_put);
  for (int i = 0; i < def->ntriggers; i++)
    PAWL_PUT(a, trigger_put, .pattern = pawl_strz(def->triggers[i].event),
             .workflow = pawl_strz(def->code), .version = def->version);
  return pawl_store_send(e->store, a, NULL, err);
}

static pawl_code refuse_change(const pawl_def *def, const known *k,
                               const char *user, pawl_error *err) {
  pawl_fail(err, PAWL_EXISTS,
            "workflow \"%s\" version %" PRId64
            " is stored "
            "with other contents%s%s%s%s",
            def->code, def->version, k->fixed ? ", by a hot-fix" : "",
            user[0] ? ", and instance " : "", user,
            user[0] ? " still runs it" : "");
  pawl_error_where(err, "%s", def->file);
  if (k->fixed)
    pawl_error_hint(err,
                    "it was hot-fixed in the store: load the fixed file, or "
                    "give yours version = %" PRId64,
                    def->version + 1);
  else
    pawl_error_hint(err,
                    "give the changed workflow version = %" PRId64
                    "; instances finish on the version they began with",
                    def->version + 1);
  return PAWL_EXISTS;
}

/* Others keep their instances: what is in use is replaced by a hot-fix
 * alone. So is a hot-fix, by a file that may be older than it. */
static pawl_code check_replace(pawl_engine *e, const pawl_def *def,
                               const known *k, pawl_error *err) {
  char user[37];

  MUST(find_user(e, def, user, err));
  /* another store has given its number to something else */
  return user[0] || k->fixed || def->is_auto ? refuse_change(def, k, user, err)
                                             : PAWL_OK;
}

/* ---- a number of its own ---- */

/* The highest that the store has of its code; 0: none. */
static pawl_code find_newest(pawl_engine *e, const pawl_def *def,
                             int64_t *version, pawl_error *err) {
  pawl_rows rows;
  int at;

  MUST(PAWL_SEND(e->store, workflow_newest, &at, err,
                 .code = pawl_strz(def->code)));
  pawl_store_rows(e->store, at, &rows);
  *version = rows.nrows ? pawl_read_workflow_newest(&rows, 0).version : 0;
  return PAWL_OK;
}

/* Was it this, before the hot-fix that runs now? A file that may be older than
 * the fix is not to undo it by being the next version. */
static pawl_code check_fixed(pawl_engine *e, const pawl_def *def,
                             const known *k, pawl_error *err) {
  pawl_rows rows;
  int at;

  if (!k->fixed) return PAWL_OK;
  MUST(PAWL_SEND(e->store, workflow_revisions, &at, err,
                 .code = pawl_strz(def->code), .version = def->version));
  pawl_store_rows(e->store, at, &rows);
  for (int i = 0; i < rows.nrows; i++)
    if (pawl_str_eqz(pawl_read_workflow_revisions(&rows, i).sha256,
                     def->sha256))
      return refuse_change(def, k, "", err);
  return PAWL_OK;
}

/* Other contents than the newest: it is what comes behind. */
static pawl_code take_next(pawl_engine *e, pawl_def *def, known *k,
                           pawl_error *err) {
  MUST(check_fixed(e, def, k, err));
  if (def->version >= INT32_MAX)
    return pawl_fail_hint(err, PAWL_LIMIT, "register it under another code",
                          "there is no version behind %" PRId64
                          " of workflow \"%s\"",
                          def->version, def->code);
  *k = (known){.active = 1};
  return pawl_def_number(def, def->version + 1, err);
}

/* Looks at what is stored, under its lock, by the number that it has or is to
 * have. */
static pawl_code look(pawl_engine *e, pawl_def *def, const pawl_registering *r,
                      known *k, pawl_error *err) {
  const int numbers = def->is_auto && !r->keeps_number;
  int64_t newest = 0;

  if (numbers) {
    MUST(find_newest(e, def, &newest, err));
    MUST(pawl_def_number(def, newest ? newest : 1, err));
  }
  MUST(send_lock(e, def, k, err));
  if (r->fix) return check_fix(def, k, err);
  return numbers && k->exists && !k->same ? take_next(e, def, k, err)
                                          : PAWL_OK;
}

pawl_code pawl_register_one(pawl_engine *e, pawl_def *def,
                            const pawl_registering *r, pawl_outcome *out,
                            pawl_error *err) {
  pawl_rows rows;
  known k;
  char own[PAWL_MAX_SELF];
  int at;

  MUST(pawl_author_look(e, def, err));
  MUST(look(e, def, r, &k, err));
  (void)PAWL_FAULT("register.looked");
  def->revision = k.revision;
  *out = PAWL_OUTCOME_SAME;
  if (k.same)
    return is_told(def, k.trust, k.author, k.grants)
               ? PAWL_OK
               : send_limit(e, def, &k, err);
  if (k.exists) {
    if (!r->fix) MUST(check_replace(e, def, &k, err));
    MUST(send_retire(e, def, err));
  }
  MUST(pawl_author_claim(e, def, r->fix != NULL, err));
  MUST(send_insert(e, def, r, &k, &at, err));
  pawl_store_rows(e->store, at, &rows);
  *out = !rows.changed ? PAWL_OUTCOME_RIVAL
         : k.exists    ? PAWL_OUTCOME_REPLACED
                       : PAWL_OUTCOME_NEW;
  def->revision = 0; /* allocated by the insert; asked for when it matters */
  if (!rows.changed) return PAWL_OK;
  MUST(pawl_audit_workflow(e, r->fix ? "hotfixed" : "registered",
                           pawl_strz(def->code), def->version, who(e, r, own),
                           pawl_strz(why(r)), err));
  return send_triggers(e, def, err);
}

/* In one transaction: look under the lock, then insert, replace or refuse. */
static pawl_code register_unit(pawl_engine *e, pawl_def *def,
                               const pawl_registering *r,
                               pawl_outcome *outcome, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(pawl_register_one(e, def, r, outcome, err));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* What the store has of (code, version); version 0: the newest active. The
 * rows are borrowed. */
static pawl_code fetch(pawl_engine *e, const char *code, int64_t version,
                       pawl_rows *rows, pawl_error *err) {
  return PAWL_READ(e->store, workflow_get, rows, err, .code = pawl_strz(code),
                   .version = version);
}

/* Is it there already, as it is? Found by a read, without a lock. */
static pawl_code find_same(pawl_engine *e, pawl_def *def,
                           const pawl_registering *r, int *same,
                           pawl_error *err) {
  pawl_rows rows;
  int64_t version = def->version;

  *same = 0;
  if (def->is_auto && !r->keeps_number) {
    MUST(PAWL_READ(e->store, workflow_newest, &rows, err,
                   .code = pawl_strz(def->code)));
    if (!rows.nrows) return PAWL_OK;
    version = pawl_read_workflow_newest(&rows, 0).version;
    MUST(pawl_def_number(def, version, err));
  }
  MUST(fetch(e, def->code, version, &rows, err));
  if (!rows.nrows) return PAWL_OK;
  const pawl_workflow_get_row row = pawl_read_workflow_get(&rows, 0);
  *same =
      pawl_str_eqz(row.sha256, def->sha256) &&
      is_told(def, pawl_trust_stored(row.trust), row.code_author, row.grants);
  if (*same) def->revision = row.revision;
  return PAWL_OK;
}

/* What was registered before, as by every worker that is started again, is
 * found by a read; so is what a rival has registered at the same moment. They
 * are met a few times, then reported. */
static pawl_code register_def(pawl_engine *e, pawl_def *def,
                              const pawl_registering *given, pawl_error *err) {
  pawl_registering r = *given;
  pawl_outcome outcome = PAWL_OUTCOME_RIVAL;
  pawl_code rc = PAWL_OK;
  int same;

  for (int tries = 0; tries < PAWL_REGISTER_TRIES; tries++) {
    MUST(find_same(e, def, &r, &same, err));
    if (same) return PAWL_OK;
    (void)PAWL_FAULT("register.before"); /* rivals come in here */
    rc = register_unit(e, def, &r, &outcome, err);
    if (rc != PAWL_OK && rc != PAWL_BUSY) return rc;
    /* or what others have made of it meanwhile would be gone behind */
    if (rc == PAWL_OK && outcome != PAWL_OUTCOME_RIVAL) r.keeps_number = 1;
  }
  return rc == PAWL_OK ? pawl_register_rivals(def, err) : rc;
}

pawl_code pawl_register_rivals(const pawl_def *def, pawl_error *err) {
  return pawl_fail(err, PAWL_BUSY, "others keep registering workflow \"%s\"",
                   def->code);
}

pawl_code pawl_register_def(pawl_engine *e, pawl_def *def, pawl_error *err) {
  return register_def(e, def, &(pawl_registering){.keeps_number = 1}, err);
}

/* ---- loading ---- */

static void describe(const pawl_def *def, pawl_buf *out) {
  pawl_buf_addz(out, "{\"workflow\":");
  pawl_json_add_string(out, pawl_strz(def->code));
  pawl_buf_addf(out,
                ",\"version\":%" PRId64 ",\"revision\":%" PRId64
                ",\"sha256\":\"%s\",\"inline\":%s,\"trust\":\"%s\""
                ",\"nodes\":%d,\"file\":",
                def->version, def->revision, def->sha256,
                def->is_inline ? "true" : "false",
                pawl_trust_name(pawl_trust_of(def)), def->nnodes);
  pawl_json_add_string(out, pawl_strz(def->file));
  pawl_buf_addc(out, '}');
}

static pawl_code take_loaded(pawl_engine *e, pawl_loaded *l,
                             const pawl_trust *trust, const pawl_fix *fix,
                             pawl_buf *out, pawl_error *err) {
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;

  TRY(pawl_loaded_def(e, l, trust, 0, &def, err));
  TRY(register_def(e, def, &(pawl_registering){.fix = fix}, err));
  if (out) describe(def, out);
  if (out) TRY(pawl_buf_check(out, err));
  TRY(pawl_registry_take(e->registry, def, 1, err));
  assert(def->host_ref == l->ref);
  l->ref = -1; /* the registry's now */
  if (l->others.len > 2)
    pawl_log_write(&e->log, PAWL_INFO, "modules outside the bundle",
                   l->others.at);
  /* what was left to others for want of it may be ours now */
  for (int i = 0; i < e->noffers; i++) e->offers[i].until_mono_us = 0;
  return PAWL_OK;
out:
  pawl_def_free(def);
  return rc;
}

/* What has become the registry's keeps its functions: its `ref` is -1 here. */
void pawl_loaded_drop(pawl_engine *e, pawl_loaded *l) {
  if (l->ref >= 0) pawl_host_unload(e->host, l->ref);
  pawl_loaded_deinit(l);
}

/* What was loaded, with `rc`, becomes ours, or is dropped. */
static pawl_code take_or_drop(pawl_engine *e, pawl_loaded *l,
                              const pawl_trust *trust, pawl_code rc,
                              pawl_buf *out, pawl_error *err) {
  if (rc == PAWL_OK) rc = take_loaded(e, l, trust, NULL, out, err);
  pawl_loaded_drop(e, l);
  return rc;
}

/* Of a load that was stopped, and is a call of its own: it was heard. */
pawl_code pawl_load_heard(pawl_engine *e, pawl_code rc) {
  if (rc == PAWL_INTERRUPTED && !e->stats) e->interrupted = 0;
  return rc;
}

static pawl_code load_as(pawl_engine *e, const char *name, pawl_str text,
                         const pawl_trust *trust, pawl_buf *out,
                         pawl_error *err) {
  const pawl_limits *limits = pawl_trust_limits(trust, trust->level);
  pawl_loaded l = {.ref = -1};
  pawl_code rc = text.at
                     ? pawl_host_load_text(e->host, name, text,
                                           pawl_strz("{}"), limits, &l, err)
                     : pawl_host_load_file(e->host, name, limits, &l, err);
  return take_or_drop(e, &l, trust, pawl_load_heard(e, rc), out, err);
}

pawl_code pawl_engine_load_file(pawl_engine *e, const char *path,
                                pawl_buf *out, pawl_error *err) {
  return load_as(e, path, pawl_strz(NULL), &e->trust, out, err);
}

pawl_code pawl_engine_load_text(pawl_engine *e, const char *name,
                                pawl_str text, pawl_buf *out,
                                pawl_error *err) {
  return load_as(e, name, text, &e->trust, out, err);
}

pawl_code pawl_engine_load_as(pawl_engine *e, const char *name, pawl_str text,
                              const char *trust, pawl_buf *out,
                              pawl_error *err) {
  pawl_trust own;
  pawl_code rc;
  if (!trust) return load_as(e, name, text, &e->trust, out, err);
  rc = pawl_trust_read(&own, trust, &e->alloc, err);
  if (rc == PAWL_OK)
    rc = pawl_trust_check_tables(&own, pawl_store_can_hold_to_tables(e->store),
                                 err);
  if (rc == PAWL_OK) rc = load_as(e, name, text, &own, out, err);
  pawl_trust_deinit(&own);
  return rc;
}

static pawl_code load_stack(pawl_engine *e, pawl_loaded *l, pawl_error *err) {
  if (!e->config.lua)
    return pawl_fail(err, PAWL_MISUSE,
                     "this engine runs definitions in a "
                     "private state: load a file instead");
  if (e->trust.level != PAWL_TRUST_TRUSTED)
    return pawl_fail_hint(err, PAWL_INVALID, "load its file",
                          "a workflow object runs in the program's own Lua "
                          "state, and cannot be limited");
  return pawl_host_load_stack(e->host, e->config.lua, l, err);
}

pawl_code pawl_engine_load_stack(pawl_engine *e, pawl_buf *out,
                                 pawl_error *err) {
  pawl_loaded l = {.ref = -1};
  pawl_code rc = load_stack(e, &l, err);
  return take_or_drop(e, &l, &e->trust, rc, out, err);
}

/* From a file, from text, or from the stack. */
static pawl_code load_fix(pawl_engine *e, const char *name, const char *text,
                          pawl_loaded *l, pawl_error *err) {
  const pawl_limits *limits = pawl_trust_limits(&e->trust, e->trust.level);
  if (text)
    return pawl_host_load_text(e->host, name, pawl_strz(text), pawl_strz("{}"),
                               limits, l, err);
  return name ? pawl_host_load_file(e->host, name, limits, l, err)
              : load_stack(e, l, err);
}

pawl_code pawl_engine_workflow_hotfix(pawl_engine *e, const char *name,
                                      const char *text, pawl_str options,
                                      pawl_buf *out, pawl_error *err) {
  pawl_fix fix;
  pawl_loaded l = {.ref = -1};
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_workflow_hotfix, &fix, sizeof fix,
                    &e->alloc);
  if (options.len)
    TRY(pawl_options_read(&pawl_options_of_workflow_hotfix, options, &fix,
                          err));
  TRY(pawl_load_heard(e, load_fix(e, name, text, &l, err)));
  TRY(take_loaded(e, &l, &e->trust, &fix, out, err));
out:
  pawl_loaded_drop(e, &l);
  pawl_options_deinit(&pawl_options_of_workflow_hotfix, &fix);
  return rc;
}

pawl_code pawl_engine_check(pawl_engine *e, const char *path, pawl_buf *out,
                            pawl_error *err) {
  pawl_loaded l = {.ref = -1};
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;

  TRY(pawl_load_heard(
      e, pawl_host_load_file(e->host, path,
                             pawl_trust_limits(&e->trust, e->trust.level), &l,
                             err)));
  TRY(pawl_loaded_def(e, &l, &e->trust, 0, &def, err));
  if (out) pawl_buf_adds(out, def->graph);
  if (out) TRY(pawl_buf_check(out, err));
out:
  pawl_def_free(def);
  pawl_loaded_drop(e, &l);
  return rc;
}

pawl_code pawl_no_workflow(const char *code, int64_t version,
                           pawl_error *err) {
  static const char hint[] = "load its file first";

  if (!version)
    return pawl_fail_hint(err, PAWL_NOTFOUND, hint,
                          "there is no workflow \"%s\"", code);
  return pawl_fail_hint(err, PAWL_NOTFOUND, hint,
                        "there is no workflow \"%s\" version %" PRId64, code,
                        version);
}

pawl_code pawl_check_workflow(const char *code, int64_t version,
                              pawl_error *err) {
  char text[101];

  if (pawl_def_is_code(code) && version <= INT32_MAX && version >= 0)
    return PAWL_OK;
  pawl_copy_text(text, sizeof text, code); /* nothing that a store takes */
  return pawl_no_workflow(text, version, err);
}

pawl_code pawl_engine_workflow_graph(pawl_engine *e, const char *code,
                                     int64_t version, pawl_buf *out,
                                     pawl_error *err) {
  pawl_rows rows;

  MUST(pawl_check_workflow(code, version, err));
  MUST(fetch(e, code, version, &rows, err));
  if (!rows.nrows) return pawl_no_workflow(code, version, err);
  pawl_buf_adds(out, pawl_read_workflow_get(&rows, 0).graph);
  return pawl_buf_check(out, err);
}

pawl_code pawl_graph_find(pawl_engine *e, const char *code, int64_t version,
                          pawl_def **out, int *own, pawl_error *err) {
  pawl_rows rows;

  *own = 0;
  *out = version ? pawl_registry_find(e->registry, code, strlen(code), version,
                                      NULL)
                 : NULL;
  if (*out) return PAWL_OK;
  MUST(fetch(e, code, version, &rows, err));
  if (!rows.nrows) return pawl_no_workflow(code, version, err);
  MUST(pawl_def_new(code, pawl_read_workflow_get(&rows, 0).graph,
                    pawl_strz(NULL), pawl_strz("{}"), &e->alloc, out, err));
  *own = 1;
  return PAWL_OK;
}

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
  /* without memory there is no hint; the error itself stands */
  names = pawl_realloc(def->alloc, NULL, 0, size);
  if (!names) return PAWL_INVALID;
  for (int i = 0; i < def->nnodes; i++) names[i] = def->nodes[i].name;
  const char *near = pawl_nearest(text, names, def->nnodes);
  if (near) pawl_error_hint(err, "did you mean \"%s\"?", near);
  pawl_release(def->alloc, names, size);
  return PAWL_INVALID;
}

/* ---- running from the store ---- */

/* Is the stored source what was registered? Told before a line of it is run.
 * Whoever can write the row can write its checksum as well: this finds what
 * was changed by mistake, by a part of the rights, or on the disk. */
static pawl_code check_stored(pawl_engine *e, const char *name,
                              const pawl_workflow_get_row *row,
                              pawl_error *err) {
  pawl_def *def = NULL;
  pawl_code rc;

  TRY(pawl_def_new(name, row->graph, row->source, row->bundle, &e->alloc, &def,
                   err));
  if (pawl_str_eqz(row->sha256, def->sha256)) goto out;
  rc = pawl_fail_hint(err, PAWL_CORRUPT,
                      "give workers the workflow's file, and look who may "
                      "write the table of workflows",
                      "the stored source of workflow \"%s\" version %" PRId64
                      " is not the one whose SHA-256 is recorded",
                      def->code, def->version);
  pawl_error_where(err, "%s", name);
out:
  pawl_def_free(def);
  return rc;
}

/* The stored source becomes a definition of ours. A failure to load it is
 * not the instance's: it is left to workers that can. */
static pawl_code load_stored(pawl_engine *e, const pawl_workflow_get_row *row,
                             pawl_def **out, pawl_error *err) {
  pawl_loaded l = {.ref = -1};
  pawl_def *def = NULL;
  pawl_buf name = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;
  int64_t revision = row->revision;
  /* the lower of two words: of who stored it, and of who runs it */
  pawl_trust_level level = pawl_trust_stored(row->trust);

  if (e->trust.level > level) level = e->trust.level;
  pawl_buf_adds(&name, row->code);
  pawl_buf_addf(&name, "@%" PRId64, row->version);
  TRY(pawl_buf_check(&name, err));
  TRY(check_stored(e, name.at, row, err));
  TRY(pawl_host_load_text(e->host, name.at, row->source, row->bundle,
                          pawl_trust_limits(&e->trust, level), &l, err));
  TRY(pawl_loaded_def(e, &l, &e->trust, row->version, &def, err));
  def->revision = revision;
  TRY(pawl_registry_take(e->registry, def, 0, err));
  l.ref = -1; /* the registry's now */
  *out = def;
  def = NULL;
out:
  pawl_def_free(def);
  pawl_loaded_drop(e, &l);
  pawl_buf_deinit(&name);
  return rc;
}

/* Ours is the one the store runs now? An inline one stands for itself. Another
 * store that has come to where ours was counts revisions of its own. */
static int is_current(const pawl_engine *e, const pawl_def *def,
                      int64_t revision) {
  if (!revision) return 1;
  return def->revision == revision &&
         e->store_epoch == pawl_store_epoch(e->store);
}

pawl_code pawl_definition(pawl_engine *e, const char *code, int64_t version,
                          int64_t revision, pawl_def **out, int *foreign,
                          pawl_error *err) {
  pawl_rows rows;
  pawl_error why;
  pawl_def *def = NULL;

  *out = NULL;
  *foreign = 0;
  e->short_def = 0;
  /* which is the newest active one, the store knows */
  def = version ? pawl_registry_find(e->registry, code, strlen(code), version,
                                     NULL)
                : NULL;
  if (def && is_current(e, def, revision)) {
    *out = def;
    return PAWL_OK;
  }
  MUST(fetch(e, code, version, &rows, err));
  if (!rows.nrows) return PAWL_OK;
  const pawl_workflow_get_row row = pawl_read_workflow_get(&rows, 0);
  if (def && pawl_str_eqz(row.sha256, def->sha256)) {
    def->revision = row.revision;
    *out = def;
    return PAWL_OK;
  }
  if (!version) /* now that the newest is known, perhaps it is ours */
    return pawl_definition(e, code, row.version, row.revision, out, foreign,
                           err);
  *foreign = 1;
  if (e->config.stored_code_own || e->graph_only || !row.source.at)
    return PAWL_OK;
  const pawl_code rc = load_stored(e, &row, out, &why);
  if (rc == PAWL_OK) *foreign = 0;
  if (rc == PAWL_OK) return rc;
  if (rc == PAWL_INTERRUPTED) {
    *err = why;
    return rc;
  }
  e->short_def = rc == PAWL_NOMEM;
  pawl_error_prefix(&why, "%s %" PRId64, code, row.version);
  pawl_log_error(&e->log, PAWL_WARN,
                 "a stored definition cannot run here; it is left to others",
                 &why);
  return PAWL_OK;
}
