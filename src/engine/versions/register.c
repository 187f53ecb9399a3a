/* Definitions and the store: making a version known, finding the one that
 * runs, and never changing one under an instance (promise 8). */
#include <inttypes.h>
#include <stdio.h>

#include "../../value/json.h"
#include "../act/act.h"
#include "../engine.h"
#include "hotfix.h"

static pawl_code from_loaded(pawl_engine *e, pawl_loaded *l, pawl_def **out,
                             pawl_error *err) {
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;
  pawl_str source = l->is_inline ? pawl_strz(NULL) : pawl_buf_str(&l->source);

  TRY(pawl_def_new(l->file, pawl_buf_str(&l->graph), source,
                   l->bundle.len ? pawl_buf_str(&l->bundle) : pawl_strz("{}"),
                   &e->alloc, &def, err));
  TRY(pawl_def_check(def, err));
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
} known;

static pawl_code send_lock(pawl_engine *e, const pawl_def *def, known *k,
                           pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_LOCK);
  pawl_arg_textz(&e->args, PAWL_WORKFLOW_LOCK_CODE, def->code);
  pawl_arg_int(&e->args, PAWL_WORKFLOW_LOCK_VERSION, def->version);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_store_rows(e->store, 0, &rows);
  k->exists = rows.nrows > 0;
  k->revision =
      k->exists ? pawl_row_int(&rows, 0, PAWL_WORKFLOW_LOCK_R_REVISION) : 0;
  k->same = k->exists &&
            pawl_str_eqz(pawl_row_str(&rows, 0, PAWL_WORKFLOW_LOCK_R_SHA256),
                         def->sha256);
  k->active =
      !k->exists || pawl_row_int(&rows, 0, PAWL_WORKFLOW_LOCK_R_ACTIVE);
  k->fixed = k->exists && k->revision > 1 &&
             !pawl_row_null(&rows, 0, PAWL_WORKFLOW_LOCK_R_REASON);
out:
  return rc;
}

/* A hot-fix changes what handlers do, and nothing of the graph. */
static pawl_code check_fix(pawl_engine *e, const pawl_def *def, const known *k,
                           pawl_error *err) {
  pawl_rows rows;

  if (!k->exists) {
    pawl_fail(err, PAWL_NOTFOUND,
              "there is no workflow \"%s\" version %" PRId64 " to be fixed",
              def->code, def->version);
    pawl_error_where(err, "%s", def->file);
    pawl_error_hint(err, "load it without `hotfix`");
    return PAWL_NOTFOUND;
  }
  pawl_store_rows(e->store, 0, &rows);
  return pawl_hotfix_check(
      def, pawl_row_str(&rows, 0, PAWL_WORKFLOW_LOCK_R_GRAPH), err);
}

/* An unfinished instance of this version: its id, or "". */
static pawl_code find_user(pawl_engine *e, const pawl_def *def, char id[37],
                           pawl_error *err) {
  pawl_rows rows;
  pawl_id user;
  pawl_code rc = PAWL_OK;

  id[0] = 0;
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_IN_USE);
  pawl_arg_textz(&e->args, PAWL_WORKFLOW_IN_USE_CODE, def->code);
  pawl_arg_int(&e->args, PAWL_WORKFLOW_IN_USE_VERSION, def->version);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(&e->args, PAWL_WORKFLOW_IN_USE_SHARD, s);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_store_rows(e->store, 1, &rows);
  if (rows.nrows) {
    pawl_row_id(&rows, 0, PAWL_WORKFLOW_IN_USE_R_ID, &user);
    pawl_id_format(&user, id);
  }
out:
  return rc;
}

static pawl_code send_retire(pawl_engine *e, const pawl_def *def,
                             pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_RETIRE);
  pawl_arg_textz(&e->args, PAWL_WORKFLOW_RETIRE_CODE, def->code);
  pawl_arg_int(&e->args, PAWL_WORKFLOW_RETIRE_VERSION, def->version);
  pawl_store_arg_now(e->store, &e->args, PAWL_WORKFLOW_RETIRE_NOW);
  return pawl_store_send(e->store, &e->args, err);
}

static pawl_code send_insert(pawl_engine *e, const pawl_def *def,
                             const pawl_fix *fix, const known *k,
                             pawl_error *err) {
  pawl_args *a = &e->args;
  char by[96];

  snprintf(by, sizeof by, "%.63s:%" PRId64, e->self.host, e->self.pid);
  pawl_args_begin(a, PAWL_STMT_WORKFLOW_INSERT);
  pawl_arg_textz(a, PAWL_WORKFLOW_INSERT_CODE, def->code);
  pawl_arg_int(a, PAWL_WORKFLOW_INSERT_VERSION, def->version);
  pawl_arg_textz(a, PAWL_WORKFLOW_INSERT_NAME, def->name);
  pawl_arg_textz(a, PAWL_WORKFLOW_INSERT_DESCRIPTION, def->description);
  pawl_arg_str(a, PAWL_WORKFLOW_INSERT_GRAPH, def->graph);
  pawl_arg_str(a, PAWL_WORKFLOW_INSERT_SOURCE, def->source);
  pawl_arg_str(a, PAWL_WORKFLOW_INSERT_BUNDLE, def->bundle);
  pawl_arg_textz(a, PAWL_WORKFLOW_INSERT_SHA256, def->sha256);
  pawl_arg_int(a, PAWL_WORKFLOW_INSERT_INLINE, def->is_inline);
  pawl_arg_textz(a, PAWL_WORKFLOW_INSERT_EXECUTOR_GROUP, e->config.group);
  pawl_arg_int(a, PAWL_WORKFLOW_INSERT_ACTIVE, k->active);
  pawl_arg_textz(a, PAWL_WORKFLOW_INSERT_MODIFIED_BY,
                 fix && fix->by.len ? fix->by.at : by);
  if (fix)
    pawl_arg_textz(a, PAWL_WORKFLOW_INSERT_REASON,
                   fix->reason.at ? fix->reason.at : "");
  pawl_store_arg_now(e->store, a, PAWL_WORKFLOW_INSERT_NOW);
  return pawl_store_send(e->store, a, err);
}

/* Its triggers replace those of its older versions. */
static pawl_code send_triggers(pawl_engine *e, const pawl_def *def,
                               pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_TRIGGER_CLEAR);
  pawl_arg_textz(a, PAWL_TRIGGER_CLEAR_WORKFLOW, def->code);
  pawl_arg_int(a, PAWL_TRIGGER_CLEAR_VERSION, def->version);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_TRIGGER_PUT);
  for (int i = 0; i < def->ntriggers; i++) {
    pawl_arg_textz(a, PAWL_TRIGGER_PUT_PATTERN, def->triggers[i].event);
    pawl_arg_textz(a, PAWL_TRIGGER_PUT_WORKFLOW, def->code);
    pawl_arg_int(a, PAWL_TRIGGER_PUT_VERSION, def->version);
  }
  TRY(pawl_store_send(e->store, a, err));
out:
  return rc;
}

static pawl_code refuse_change(const pawl_def *def, const known *k,
                               const char *user, pawl_error *err) {
  pawl_fail(err, PAWL_EXISTS,
            "workflow \"%s\" version %" PRId64
            " is stored "
            "with other contents%s%s%s",
            def->code, def->version, user[0] ? ", and instance " : "", user,
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
                               const known *k, int *nsent, pawl_error *err) {
  char user[37];
  pawl_code rc = PAWL_OK;

  TRY(find_user(e, def, user, err));
  ++*nsent;
  if (user[0] || k->fixed) rc = refuse_change(def, k, user, err);
out:
  return rc;
}

/* In one transaction: look under the lock, then insert, replace or refuse.
 * *again: another program inserted it at the same moment. */
static pawl_code register_unit(pawl_engine *e, pawl_def *def,
                               const pawl_fix *fix, int *again,
                               pawl_error *err) {
  pawl_rows rows;
  known k;
  pawl_code rc = PAWL_OK;
  int nsent = 1;

  *again = 0;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(send_lock(e, def, &k, err));
  if (fix) TRY(check_fix(e, def, &k, err));
  if (!k.same) {
    if (k.exists) {
      if (!fix) TRY(check_replace(e, def, &k, &nsent, err));
      TRY(send_retire(e, def, err));
      nsent++;
    }
    TRY(send_insert(e, def, fix, &k, err));
    pawl_store_rows(e->store, nsent, &rows);
    *again = rows.changed == 0;
    if (!*again) TRY(send_triggers(e, def, err));
    k.revision = 0; /* allocated by the insert; asked for when it matters */
  }
  def->revision = k.revision;
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* What the store has of (code, version); version 0: the newest active. The
 * rows are borrowed. */
static pawl_code fetch(pawl_engine *e, const char *code, int64_t version,
                       pawl_rows *rows, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_GET);
  pawl_arg_textz(&e->args, PAWL_WORKFLOW_GET_CODE, code);
  if (version) pawl_arg_int(&e->args, PAWL_WORKFLOW_GET_VERSION, version);
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

static pawl_code register_def(pawl_engine *e, pawl_def *def,
                              const pawl_fix *fix, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int again = 1;

  for (int tries = 0; tries < 5; tries++) {
    TRY(fetch(e, def->code, def->version, &rows, err));
    if (rows.nrows &&
        pawl_str_eqz(pawl_row_str(&rows, 0, PAWL_WORKFLOW_GET_R_SHA256),
                     def->sha256)) {
      def->revision = pawl_row_int(&rows, 0, PAWL_WORKFLOW_GET_R_REVISION);
      return PAWL_OK;
    }
    rc = register_unit(e, def, fix, &again, err);
    if (rc != PAWL_OK && rc != PAWL_BUSY) goto out;
  }
  if (rc == PAWL_OK)
    rc = pawl_fail(err, PAWL_BUSY, "others keep registering workflow \"%s\"",
                   def->code);
out:
  return rc;
}

pawl_code pawl_register(pawl_engine *e, pawl_def *def, pawl_error *err) {
  return register_def(e, def, NULL, err);
}

/* ---- loading ---- */

static void describe(const pawl_def *def, pawl_buf *out) {
  pawl_buf_addz(out, "{\"workflow\":");
  pawl_json_add_string(out, pawl_strz(def->code));
  pawl_buf_addf(out,
                ",\"version\":%" PRId64 ",\"revision\":%" PRId64
                ",\"sha256\":\"%s\",\"inline\":%s,\"nodes\":%d,\"file\":",
                def->version, def->revision, def->sha256,
                def->is_inline ? "true" : "false", def->nnodes);
  pawl_json_add_string(out, pawl_strz(def->file));
  pawl_buf_addc(out, '}');
}

static pawl_code take_loaded(pawl_engine *e, pawl_loaded *l,
                             const pawl_fix *fix, pawl_buf *out,
                             pawl_error *err) {
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;

  TRY(from_loaded(e, l, &def, err));
  TRY(register_def(e, def, fix, err));
  if (out) describe(def, out);
  if (out) TRY(pawl_buf_check(out, err));
  TRY(pawl_registry_take(e->registry, def, 1, err));
  l->ref = -1; /* the registry's now */
  if (l->others.len > 2)
    pawl_log_write(&e->log, PAWL_INFO, "modules outside the bundle",
                   l->others.at);
  for (int i = 0; i < e->nroutes; i++) e->routes[i].until_mono_us = 0;
  return PAWL_OK;
out:
  pawl_def_free(def);
  return rc;
}

static void init_loaded(pawl_engine *e, pawl_loaded *l) {
  memset(l, 0, sizeof *l);
  l->ref = -1;
  l->graph.alloc = l->source.alloc = l->bundle.alloc = l->others.alloc =
      &e->alloc;
}

static void drop_loaded(pawl_engine *e, pawl_loaded *l) {
  if (l->ref >= 0) pawl_host_unload(e->host, l->ref);
  pawl_loaded_deinit(l);
}

pawl_code pawl_engine_load_file(pawl_engine *e, const char *path,
                                pawl_buf *out, pawl_error *err) {
  pawl_loaded l;
  init_loaded(e, &l);
  pawl_code rc = pawl_host_load_file(e->host, path, &l, err);
  if (rc == PAWL_OK) rc = take_loaded(e, &l, NULL, out, err);
  drop_loaded(e, &l);
  return rc;
}

pawl_code pawl_engine_load_text(pawl_engine *e, const char *name,
                                pawl_str text, pawl_buf *out,
                                pawl_error *err) {
  pawl_loaded l;
  init_loaded(e, &l);
  pawl_code rc =
      pawl_host_load_text(e->host, name, text, pawl_strz("{}"), &l, err);
  if (rc == PAWL_OK) rc = take_loaded(e, &l, NULL, out, err);
  drop_loaded(e, &l);
  return rc;
}

static pawl_code load_stack(pawl_engine *e, pawl_loaded *l, pawl_error *err) {
  if (!e->config.lua)
    return pawl_fail(err, PAWL_MISUSE,
                     "this engine runs definitions in a "
                     "private state: load a file instead");
  return pawl_host_load_stack(e->host, e->config.lua, l, err);
}

pawl_code pawl_engine_load_stack(pawl_engine *e, pawl_buf *out,
                                 pawl_error *err) {
  pawl_loaded l;
  init_loaded(e, &l);
  pawl_code rc = load_stack(e, &l, err);
  if (rc == PAWL_OK) rc = take_loaded(e, &l, NULL, out, err);
  drop_loaded(e, &l);
  return rc;
}

pawl_code pawl_engine_hotfix(pawl_engine *e, const char *path,
                             pawl_str options, pawl_buf *out,
                             pawl_error *err) {
  pawl_fix fix = {.by = {.alloc = &e->alloc}, .reason = {.alloc = &e->alloc}};
  pawl_loaded l;
  pawl_code rc = PAWL_OK;

  init_loaded(e, &l);
  TRY(pawl_hotfix_read(options, &fix, err));
  TRY(path ? pawl_host_load_file(e->host, path, &l, err)
           : load_stack(e, &l, err));
  TRY(take_loaded(e, &l, &fix, out, err));
out:
  drop_loaded(e, &l);
  pawl_buf_deinit(&fix.by);
  pawl_buf_deinit(&fix.reason);
  return rc;
}

pawl_code pawl_engine_check(pawl_engine *e, const char *path, pawl_buf *out,
                            pawl_error *err) {
  pawl_loaded l;
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;

  init_loaded(e, &l);
  TRY(pawl_host_load_file(e->host, path, &l, err));
  TRY(from_loaded(e, &l, &def, err));
  if (out) pawl_buf_adds(out, def->graph);
  if (out) TRY(pawl_buf_check(out, err));
out:
  pawl_def_free(def);
  drop_loaded(e, &l);
  return rc;
}

static pawl_code unknown_workflow(const char *code, int64_t version,
                                  pawl_error *err) {
  if (version)
    pawl_fail(err, PAWL_NOTFOUND,
              "there is no workflow \"%s\" version %" PRId64, code, version);
  else
    pawl_fail(err, PAWL_NOTFOUND, "there is no workflow \"%s\"", code);
  pawl_error_hint(err, "load its file first");
  return PAWL_NOTFOUND;
}

pawl_code pawl_engine_graph(pawl_engine *e, const char *code, int64_t version,
                            pawl_buf *out, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(fetch(e, code, version, &rows, err));
  if (!rows.nrows) return unknown_workflow(code, version, err);
  pawl_buf_adds(out, pawl_row_str(&rows, 0, PAWL_WORKFLOW_GET_R_GRAPH));
  TRY(pawl_buf_check(out, err));
out:
  return rc;
}

pawl_code pawl_graph_find(pawl_engine *e, const char *code, int64_t version,
                          pawl_def **out, int *own, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  *own = 0;
  *out = version ? pawl_registry_find(e->registry, code, strlen(code), version,
                                      NULL)
                 : NULL;
  if (*out) return PAWL_OK;
  TRY(fetch(e, code, version, &rows, err));
  if (!rows.nrows) return unknown_workflow(code, version, err);
  TRY(pawl_def_new(code, pawl_row_str(&rows, 0, PAWL_WORKFLOW_GET_R_GRAPH),
                   pawl_strz(NULL), pawl_strz("{}"), &e->alloc, out, err));
  *own = 1;
out:
  return rc;
}

/* ---- running from the store ---- */

/* Is the stored source what was registered? Told before a line of it is run.
 * Whoever can write the row can write its checksum as well: this finds what
 * was changed by mistake, by a part of the rights, or on the disk. */
static pawl_code check_stored(pawl_engine *e, const char *name,
                              const pawl_rows *rows, pawl_error *err) {
  pawl_def *def = NULL;
  pawl_code rc;

  TRY(pawl_def_new(name, pawl_row_str(rows, 0, PAWL_WORKFLOW_GET_R_GRAPH),
                   pawl_row_str(rows, 0, PAWL_WORKFLOW_GET_R_SOURCE),
                   pawl_row_str(rows, 0, PAWL_WORKFLOW_GET_R_BUNDLE),
                   &e->alloc, &def, err));
  if (pawl_str_eqz(pawl_row_str(rows, 0, PAWL_WORKFLOW_GET_R_SHA256),
                   def->sha256))
    goto out;
  rc = pawl_fail(err, PAWL_CORRUPT,
                 "the stored source of workflow \"%s\" version %" PRId64
                 " is not the one whose SHA-256 is recorded",
                 def->code, def->version);
  pawl_error_where(err, "%s", name);
  pawl_error_hint(err,
                  "give workers the workflow's file, and look who may "
                  "write the table of workflows");
out:
  pawl_def_free(def);
  return rc;
}

/* The stored source becomes a definition of ours. A failure to load it is
 * not the instance's: it is left to workers that can. */
static pawl_code load_stored(pawl_engine *e, const pawl_rows *rows,
                             pawl_def **out, pawl_error *err) {
  pawl_loaded l;
  pawl_def *def = NULL;
  pawl_buf name = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;
  int64_t revision = pawl_row_int(rows, 0, PAWL_WORKFLOW_GET_R_REVISION);

  init_loaded(e, &l);
  pawl_buf_adds(&name, pawl_row_str(rows, 0, PAWL_WORKFLOW_GET_R_CODE));
  pawl_buf_addf(&name, "@%" PRId64,
                pawl_row_int(rows, 0, PAWL_WORKFLOW_GET_R_VERSION));
  TRY(pawl_buf_check(&name, err));
  TRY(check_stored(e, name.at, rows, err));
  TRY(pawl_host_load_text(
      e->host, name.at, pawl_row_str(rows, 0, PAWL_WORKFLOW_GET_R_SOURCE),
      pawl_row_str(rows, 0, PAWL_WORKFLOW_GET_R_BUNDLE), &l, err));
  TRY(from_loaded(e, &l, &def, err));
  def->revision = revision;
  TRY(pawl_registry_take(e->registry, def, 0, err));
  l.ref = -1; /* the registry's now */
  *out = def;
  def = NULL;
out:
  pawl_def_free(def);
  drop_loaded(e, &l);
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
  pawl_code rc = PAWL_OK;
  pawl_def *def = NULL;

  *out = NULL;
  *foreign = 0;
  /* which is the newest active one, the store knows */
  def = version ? pawl_registry_find(e->registry, code, strlen(code), version,
                                     NULL)
                : NULL;
  if (def && is_current(e, def, revision)) {
    *out = def;
    return PAWL_OK;
  }
  TRY(fetch(e, code, version, &rows, err));
  if (!rows.nrows) return PAWL_OK;
  if (def && pawl_str_eqz(pawl_row_str(&rows, 0, PAWL_WORKFLOW_GET_R_SHA256),
                          def->sha256)) {
    def->revision = pawl_row_int(&rows, 0, PAWL_WORKFLOW_GET_R_REVISION);
    *out = def;
    return PAWL_OK;
  }
  if (!version) /* now that the newest is known, perhaps it is ours */
    return pawl_definition(
        e, code, pawl_row_int(&rows, 0, PAWL_WORKFLOW_GET_R_VERSION),
        pawl_row_int(&rows, 0, PAWL_WORKFLOW_GET_R_REVISION), out, foreign,
        err);
  *foreign = 1;
  if (e->config.stored_code_own || e->graph_only ||
      pawl_row_null(&rows, 0, PAWL_WORKFLOW_GET_R_SOURCE))
    return PAWL_OK;
  if (load_stored(e, &rows, out, &why) == PAWL_OK)
    *foreign = 0;
  else
    pawl_log_error(&e->log, PAWL_WARN,
                   "a stored definition cannot run "
                   "here; it is left to others",
                   &why);
out:
  return rc;
}
