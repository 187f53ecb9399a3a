/* Many files become the store's at once, or none of them does: so that a
 * worker never meets a parent's new version beside a child's old one. */
#include <inttypes.h>

#include "../../value/options.h"
#include "register.h"
#include "versions.h"

typedef struct request {
  uint64_t given;
  pawl_buf by;
  pawl_str files;
} request;

static const pawl_option deploy_rows[] = {
    {"files", PAWL_OPTION_LIST, .at = offsetof(request, files), .low = 1,
     .needed = 1},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(request, by),
     .high = PAWL_MAX_BY}};
PAWL_OPTIONS_OF(deploy) = {.what = "deploy", PAWL_OPTION_ROWS(deploy_rows)};

/* A file, and what is wrong with it. */
typedef struct one {
  pawl_buf path;
  pawl_loaded loaded;
  pawl_def *def;
  pawl_outcome outcome;
  pawl_error err; /* code PAWL_OK: nothing */
} one;

typedef struct deploy {
  pawl_engine *e;
  pawl_registering how;
  one *at;
  int n;
} deploy;

static int nwrong(const deploy *d) {
  int n = 0;
  for (int i = 0; i < d->n; i++) n += d->at[i].err.code != PAWL_OK;
  return n;
}

/* ---- reading ---- */

static pawl_code load_one(deploy *d, one *o, pawl_str path, pawl_error *err) {
  const pawl_trust *trust = &d->e->trust;
  o->path.alloc = &d->e->alloc;
  o->loaded.ref = -1;
  pawl_json_unquote(path, &o->path);
  MUST(pawl_buf_check(&o->path, err));
  if (!o->path.len || strlen(o->path.at) != o->path.len)
    return pawl_fail(err, PAWL_INVALID, "deploy: a file's path is %s",
                     o->path.len ? "cut by a zero byte" : "empty");
  MUST(pawl_load_heard(
      d->e, pawl_host_load_file(d->e->host, o->path.at,
                                pawl_trust_limits(trust, trust->level),
                                &o->loaded, err)));
  return pawl_loaded_def(d->e, &o->loaded, trust, 0, &o->def, err);
}

static int is_one_version(const pawl_def *a, const pawl_def *b) {
  if (strcmp(a->code, b->code) != 0) return 0;
  return a->is_auto || b->is_auto ? a->is_auto && b->is_auto
                                  : a->version == b->version;
}

/* Which of two would win is nobody's choice. */
static void check_twice(deploy *d, one *o) {
  for (one *before = d->at; before < o; before++) {
    if (!before->def || !is_one_version(before->def, o->def) ||
        strcmp(before->def->sha256, o->def->sha256) == 0)
      continue;
    pawl_fail_hint(&o->err, PAWL_DEFINITION, "leave one of them out",
                   "it and %s are one version of workflow \"%s\", and differ",
                   before->path.at, o->def->code);
    pawl_error_where(&o->err, "%s", o->path.at);
    return;
  }
}

/* All of them, so that all that is wrong is told at once. Want of memory is no
 * file's fault, nor is it one's that another call has stopped. */
static pawl_code load_all(deploy *d, pawl_str files, pawl_error *err) {
  const int n = pawl_json_count(files);

  d->at = pawl_calloc(&d->e->alloc, sizeof *d->at * (size_t)n);
  if (!d->at) return pawl_fail_memory(err);
  for (pawl_json_iter it = {0}; pawl_json_walk(files, &it);) {
    one *o = &d->at[d->n++];
    if (load_one(d, o, it.value, &o->err) == PAWL_OK) {
      o->err.code = PAWL_OK;
      check_twice(d, o);
    }
    if (o->err.code == PAWL_NOMEM || o->err.code == PAWL_INTERRUPTED) {
      *err = o->err;
      return err->code;
    }
  }
  return PAWL_OK;
}

/* ---- storing ---- */

/* What is wrong with one of them is told of it, and the others are looked at
 * as well. *again: a rival registers one of them. */
static pawl_code register_all(deploy *d, int *again, pawl_error *err) {
  for (int i = 0; i < d->n && !*again; i++) {
    one *o = &d->at[i];
    pawl_code rc =
        pawl_register_one(d->e, o->def, &d->how, &o->outcome, &o->err);
    if (rc == PAWL_OK) {
      o->err.code = PAWL_OK;
      *again = o->outcome == PAWL_OUTCOME_RIVAL;
    } else if (rc != PAWL_EXISTS && rc != PAWL_LIMIT) {
      *err = o->err;
      return rc;
    }
  }
  return PAWL_OK;
}

static pawl_code store_unit(deploy *d, int *again, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  *again = 0;
  TRY(pawl_store_begin(d->e->store, PAWL_UNIT_OPEN, err));
  TRY(register_all(d, again, err));
  if (*again || nwrong(d))
    pawl_store_rollback(d->e->store);
  else
    TRY(pawl_store_commit(d->e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(d->e->store);
  return rc;
}

static pawl_code store_all(deploy *d, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int again = 1;

  for (int tries = 0; tries < PAWL_REGISTER_TRIES; tries++) {
    rc = store_unit(d, &again, err);
    if (rc != PAWL_BUSY && (rc != PAWL_OK || !again)) return rc;
  }
  return rc == PAWL_OK ? pawl_register_rivals(d->at[0].def, err) : rc;
}

/* ---- telling ---- */

static void tell_wrong(pawl_object *o, const pawl_error *err) {
  pawl_object inner;

  pawl_member_object(o, "error", &inner);
  pawl_member_textz(&inner, "code", pawl_code_name(err->code));
  pawl_member_textz(&inner, "message", err->message);
  if (err->where[0]) pawl_member_textz(&inner, "where", err->where);
  if (err->hint[0]) pawl_member_textz(&inner, "hint", err->hint);
  pawl_object_end(&inner);
}

static void tell_one(pawl_object *list, const one *o, int was_looked_up) {
  static const char *const outcomes[] = {[PAWL_OUTCOME_SAME] = "same",
                                         [PAWL_OUTCOME_NEW] = "new",
                                         [PAWL_OUTCOME_REPLACED] = "replaced"};
  pawl_object inner;

  pawl_list_object(list, &inner);
  pawl_member_str(&inner, "file", pawl_buf_str(&o->path));
  if (o->def) {
    pawl_member_textz(&inner, "workflow", o->def->code);
    if (was_looked_up || !o->def->is_auto)
      pawl_member_int(&inner, "version", o->def->version);
    pawl_member_textz(&inner, "sha256", o->def->sha256);
  }
  if (o->err.code != PAWL_OK)
    tell_wrong(&inner, &o->err);
  else if (was_looked_up)
    pawl_member_textz(&inner, "outcome", outcomes[o->outcome]);
  pawl_object_end(&inner);
}

static pawl_code tell(const deploy *d, int was_looked_up, pawl_buf *out,
                      pawl_error *err) {
  pawl_object o, list;

  pawl_object_begin(&o, out);
  pawl_member_bool(&o, "stored", !nwrong(d));
  pawl_member_list(&o, "files", &list);
  for (int i = 0; i < d->n; i++) tell_one(&list, &d->at[i], was_looked_up);
  pawl_list_end(&list);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

static void forget(deploy *d, int n) {
  for (int i = 0; i < d->n; i++) {
    pawl_def_free(d->at[i].def);
    pawl_loaded_drop(d->e, &d->at[i].loaded);
    pawl_buf_deinit(&d->at[i].path);
  }
  pawl_release(&d->e->alloc, d->at, sizeof *d->at * (size_t)n);
}

pawl_code pawl_engine_deploy(pawl_engine *e, pawl_str options, pawl_buf *out,
                             pawl_error *err) {
  request r;
  deploy d = {.e = e};
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_deploy, &r, sizeof r, &e->alloc);
  TRY(pawl_options_read(&pawl_options_of_deploy, options, &r, err));
  d.how.by = pawl_buf_str(&r.by);
  TRY(load_all(&d, r.files, err));
  const int loads = !nwrong(&d);
  if (loads) TRY(store_all(&d, err));
  TRY(tell(&d, loads, out, err));
out:
  forget(&d, d.at ? pawl_json_count(r.files) : 0);
  pawl_options_deinit(&pawl_options_of_deploy, &r);
  return rc;
}
