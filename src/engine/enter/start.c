/* Starting an instance: stored when the call returns (promise 1). */
#include <inttypes.h>
#include <stdio.h>

#include "../../base/sha256.h"
#include "../../value/json.h"
#include "../common/pipeline.h"
#include "start.h"

#define MAX_WORD 255 /* key, tenant, group, correlation: bytes */

static const char *const option_names[] = {
    "key",   "version",     "priority",     "delay",    "at",         "tenant",
    "group", "correlation", "business_key", "metadata", "attributes", "id"};

static pawl_code read_word(pawl_str value, const char *name, pawl_buf *out,
                           int *has, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_fail(err, PAWL_INVALID, "option `%s` must be a string", name);
  pawl_buf_clear(out);
  pawl_json_unquote(value, out);
  *has = 1;
  if (out->failed) return pawl_buf_check(out, err);
  if (!out->len || out->len > MAX_WORD || memchr(out->at, 0, out->len))
    return pawl_fail(err, PAWL_INVALID,
                     "option `%s` must have 1 to %d bytes, "
                     "none of them zero",
                     name, MAX_WORD);
  return PAWL_OK;
}

static pawl_code read_int(pawl_str value, const char *name, int64_t low,
                          int64_t high, int64_t *out, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (!pawl_json_int(value, out) || *out < low || *out > high)
    return pawl_fail(err, PAWL_INVALID,
                     "option `%s` must be an integer from "
                     "%" PRId64 " to %" PRId64,
                     name, low, high);
  return PAWL_OK;
}

static pawl_code read_object(pawl_str value, const char *name, pawl_str *out,
                             pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "option `%s` must be an object", name);
  *out = value;
  return PAWL_OK;
}

static pawl_code read_id(pawl_str value, pawl_start_options *o,
                         pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (value.len != 38 || !pawl_id_parse(value.at + 1, 36, &o->id))
    return pawl_fail(err, PAWL_INVALID,
                     "option `id` must be a UUID, drawn by "
                     "the caller");
  o->has_id = 1;
  return PAWL_OK;
}

static pawl_code unknown_option(pawl_str key, pawl_error *err) {
  char name[64];
  const int n = (int)(sizeof option_names / sizeof *option_names);
  pawl_fail(err, PAWL_INVALID, "start has no option `%.*s`",
            (int)(key.len < 60 ? key.len : 60), key.at);
  snprintf(name, sizeof name, "%.*s", (int)(key.len < 60 ? key.len : 60),
           key.at);
  const char *near = pawl_nearest(name, option_names, n);
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
}

static pawl_code read_option(pawl_start_options *o, pawl_str key,
                             pawl_str value, pawl_error *err) {
  int64_t day = 86400 * PAWL_SECOND;
  if (pawl_str_eqz(key, "key"))
    return read_word(value, "key", &o->key, &o->has_key, err);
  if (pawl_str_eqz(key, "tenant"))
    return read_word(value, "tenant", &o->tenant, &o->has_tenant, err);
  if (pawl_str_eqz(key, "group"))
    return read_word(value, "group", &o->group, &o->has_group, err);
  if (pawl_str_eqz(key, "correlation"))
    return read_word(value, "correlation", &o->correlation,
                     &o->has_correlation, err);
  if (pawl_str_eqz(key, "business_key"))
    return read_word(value, "business_key", &o->business_key,
                     &o->has_business_key, err);
  if (pawl_str_eqz(key, "version"))
    return read_int(value, "version", 1, INT32_MAX, &o->version, err);
  if (pawl_str_eqz(key, "priority"))
    return read_int(value, "priority", INT16_MIN, INT16_MAX, &o->priority,
                    err);
  if (pawl_str_eqz(key, "delay"))
    return read_int(value, "delay", 0, 36500 * day, &o->delay_us, err);
  if (pawl_str_eqz(key, "at"))
    return read_int(value, "at", 1, 200 * 365 * day, &o->at_us, err);
  if (pawl_str_eqz(key, "metadata"))
    return read_object(value, "metadata", &o->metadata, err);
  if (pawl_str_eqz(key, "attributes"))
    return read_object(value, "attributes", &o->attributes, err);
  if (pawl_str_eqz(key, "id")) return read_id(value, o, err);
  return unknown_option(key, err);
}

pawl_code pawl_start_options_read(pawl_start_options *o, pawl_str text,
                                  pawl_str *input, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  if (!text.at) return PAWL_OK;
  if (pawl_json_kind_of(text) != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "%s must be an object",
                     input ? "an item" : "start's options");
  while (pawl_json_each(text, &it, &key, &value)) {
    if (input && pawl_str_eqz(key, "input")) {
      *input = value;
      continue;
    }
    TRY(read_option(o, key, value, err));
    o->nread++;
  }
out:
  return rc;
}

static pawl_buf *const *words(pawl_start_options *o, pawl_buf *list[6]) {
  list[0] = &o->key;
  list[1] = &o->tenant;
  list[2] = &o->group;
  list[3] = &o->correlation;
  list[4] = &o->business_key;
  list[5] = NULL;
  return list;
}

void pawl_start_options_init(pawl_start_options *o, const pawl_alloc *alloc) {
  pawl_buf *list[6];
  memset(o, 0, sizeof *o);
  for (pawl_buf *const *w = words(o, list); *w; w++) (*w)->alloc = alloc;
}

void pawl_start_options_deinit(pawl_start_options *o) {
  pawl_buf *list[6];
  for (pawl_buf *const *w = words(o, list); *w; w++) pawl_buf_deinit(*w);
}

void pawl_start_options_clear(pawl_start_options *o) {
  pawl_start_options clean = {.key = o->key,
                              .tenant = o->tenant,
                              .group = o->group,
                              .correlation = o->correlation,
                              .business_key = o->business_key};
  pawl_buf *list[6];
  *o = clean;
  for (pawl_buf *const *w = words(o, list); *w; w++) pawl_buf_clear(*w);
}

/* ---- which version, which id ---- */

/* Has the store the version that is asked for? */
static pawl_code check_version(pawl_engine *e, const char *code,
                               int64_t version, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_GET);
  pawl_arg_textz(&e->args, PAWL_WORKFLOW_GET_CODE, code);
  pawl_arg_int(&e->args, PAWL_WORKFLOW_GET_VERSION, version);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (rows.nrows) return PAWL_OK;
  pawl_fail(err, PAWL_NOTFOUND, "there is no workflow \"%s\" version %" PRId64,
            code, version);
  pawl_error_hint(err, "load its file first, or leave the version out");
  rc = PAWL_NOTFOUND;
out:
  return rc;
}

pawl_code pawl_start_version(pawl_engine *e, const char *code,
                             pawl_start_options *o, pawl_error *err) {
  pawl_def *def =
      pawl_registry_find(e->registry, code, strlen(code), o->version, NULL);
  if (def) o->version = def->version;
  return def || !o->version ? PAWL_OK
                            : check_version(e, code, o->version, err);
}

pawl_code pawl_start_id(pawl_engine *e, const char *code,
                        pawl_start_options *o, pawl_error *err) {
  unsigned char digest[32];
  pawl_sha256 sha;
  uint16_t number;

  if (!o->has_key)
    return o->has_id ? PAWL_OK
                     : pawl_id_make(&e->ids, pawl_engine_now(e), &o->id, err);
  pawl_sha256_init(&sha);
  pawl_sha256_add(&sha, o->tenant.at ? o->tenant.at : "", o->tenant.len);
  pawl_sha256_add(&sha, "", 1);
  pawl_sha256_add(&sha, code, strlen(code) + 1);
  pawl_sha256_add(&sha, o->key.at, o->key.len);
  pawl_sha256_end(&sha, digest);
  number = (uint16_t)(digest[0] << 8 | digest[1]);
  if (!o->has_id)
    return pawl_id_make_routed(&e->ids, pawl_engine_now(e), number, &o->id,
                               err);
  o->id.bytes[14] = digest[0]; /* the caller's draw, on the key's shard */
  o->id.bytes[15] = digest[1];
  return PAWL_OK;
}

/* ---- writing ---- */

const char *pawl_start_group(const pawl_engine *e,
                             const pawl_start_options *o) {
  return o->has_group ? o->group.at : e->config.group;
}

void pawl_start_arg_word(pawl_args *a, int arg, const pawl_buf *b, int has) {
  if (has)
    pawl_arg_str(a, arg, pawl_buf_str(b));
  else
    pawl_arg_null(a, arg);
}

static void arg_count(pawl_args *a, int arg, int64_t n, int has) {
  if (has)
    pawl_arg_int(a, arg, n);
  else
    pawl_arg_null(a, arg);
}

void pawl_start_arg_version(pawl_args *a, int arg, int64_t version) {
  arg_count(a, arg, version, version > 0);
}

static void arg_parent(pawl_args *a, const pawl_origin *from) {
  static const pawl_origin none = {0};
  if (!from || !from->parent) from = &none;
  pawl_arg_id(a, PAWL_INSTANCE_START_PARENT, from->parent);
  pawl_arg_id(a, PAWL_INSTANCE_START_ROOT, from->root);
  arg_count(a, PAWL_INSTANCE_START_PARENT_SEQ, from->parent_seq,
            from->parent_seq > 0);
  arg_count(a, PAWL_INSTANCE_START_PARENT_TOKEN, from->parent_token,
            from->parent_token > 0);
  arg_count(a, PAWL_INSTANCE_START_PARENT_VISIT, from->parent_visit,
            from->parent_visit > 0);
  pawl_arg_textz(a, PAWL_INSTANCE_START_PARENT_NODE, from->parent_node);
  arg_count(a, PAWL_INSTANCE_START_PARENT_INDEX, from->parent_index,
            from->parent && from->parent_index >= 0);
  pawl_arg_textz(a, PAWL_INSTANCE_START_PARENT_END, from->parent_end);
  pawl_arg_null(a, PAWL_INSTANCE_START_TRIGGER_EVENT);
}

/* A row's own place among the arguments: where it begins counts from the
 * store's time. */
void pawl_start_arg_due(pawl_args *a, int due_at, int delay_us,
                        const pawl_start_options *o) {
  if (o->at_us)
    pawl_arg_time(a, due_at, o->at_us);
  else
    pawl_arg_null(a, due_at);
  arg_count(a, delay_us, o->delay_us, o->delay_us > 0);
}

int pawl_start_shard(const pawl_engine *e, const pawl_id *id) {
  return pawl_id_route(id) % e->nshards;
}

void pawl_start_alike_args(pawl_engine *e, int shard, const char *code,
                           const pawl_start_options *o) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INSTANCE_ALIKE);
  pawl_arg_int(a, PAWL_INSTANCE_ALIKE_SHARD, shard);
  pawl_arg_textz(a, PAWL_INSTANCE_ALIKE_WORKFLOW, code);
  pawl_start_arg_version(a, PAWL_INSTANCE_ALIKE_WORKFLOW_VERSION, o->version);
  pawl_start_arg_word(a, PAWL_INSTANCE_ALIKE_TENANT, &o->tenant,
                      o->has_tenant);
  pawl_arg_int(a, PAWL_INSTANCE_ALIKE_PRIORITY, o->priority);
  pawl_arg_textz(a, PAWL_INSTANCE_ALIKE_EXECUTOR_GROUP,
                 pawl_start_group(e, o));
  pawl_start_arg_word(a, PAWL_INSTANCE_ALIKE_BUSINESS_KEY, &o->business_key,
                      o->has_business_key);
  pawl_start_arg_word(a, PAWL_INSTANCE_ALIKE_CORRELATION_ID, &o->correlation,
                      o->has_correlation);
  pawl_arg_str(a, PAWL_INSTANCE_ALIKE_METADATA, o->metadata);
  pawl_start_arg_due(a, PAWL_INSTANCE_ALIKE_DUE_AT,
                     PAWL_INSTANCE_ALIKE_DELAY_US, o);
  pawl_store_arg_now(e->store, a, PAWL_INSTANCE_ALIKE_NOW);
}

static pawl_code send_alike(pawl_engine *e, int shard, const char *code,
                            pawl_str input, const pawl_start_options *o,
                            pawl_error *err) {
  pawl_start_alike_args(e, shard, code, o);
  pawl_arg_id(&e->args, PAWL_INSTANCE_ALIKE_ID, &o->id);
  pawl_arg_str(&e->args, PAWL_INSTANCE_ALIKE_INPUT, input);
  return pawl_store_send(e->store, &e->args, err);
}

static pawl_code send_instance(pawl_engine *e, int shard, const char *code,
                               pawl_str input, const pawl_start_options *o,
                               const pawl_origin *origin, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INSTANCE_START);
  pawl_arg_int(a, PAWL_INSTANCE_START_SHARD, shard);
  pawl_arg_id(a, PAWL_INSTANCE_START_ID, &o->id);
  pawl_arg_textz(a, PAWL_INSTANCE_START_WORKFLOW, code);
  pawl_start_arg_version(a, PAWL_INSTANCE_START_WORKFLOW_VERSION, o->version);
  pawl_start_arg_word(a, PAWL_INSTANCE_START_TENANT, &o->tenant,
                      o->has_tenant);
  pawl_arg_int(a, PAWL_INSTANCE_START_PRIORITY, o->priority);
  pawl_arg_textz(a, PAWL_INSTANCE_START_EXECUTOR_GROUP,
                 pawl_start_group(e, o));
  pawl_start_arg_word(a, PAWL_INSTANCE_START_BUSINESS_KEY, &o->business_key,
                      o->has_business_key);
  pawl_start_arg_word(a, PAWL_INSTANCE_START_CORRELATION_ID, &o->correlation,
                      o->has_correlation);
  pawl_start_arg_word(a, PAWL_INSTANCE_START_EXTERNAL_ID, &o->key, o->has_key);
  arg_parent(a, origin);
  pawl_arg_str(a, PAWL_INSTANCE_START_INPUT, input);
  pawl_arg_str(a, PAWL_INSTANCE_START_METADATA, o->metadata);
  pawl_start_arg_due(a, PAWL_INSTANCE_START_DUE_AT,
                     PAWL_INSTANCE_START_DELAY_US, o);
  pawl_store_arg_now(e->store, a, PAWL_INSTANCE_START_NOW);
  return pawl_store_send(e->store, a, err);
}

size_t pawl_start_attributes_room(const pawl_start_options *o) {
  return o->attributes.len > 2 ? 4 * o->attributes.len + 64 : 0;
}

pawl_code pawl_start_attribute_args(pawl_engine *e,
                                    const pawl_start_options *o,
                                    pawl_buf *scratch, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str name, value;
  pawl_code rc = PAWL_OK;

  if (!o->attributes.at) return PAWL_OK;
  while (pawl_json_each(o->attributes, &it, &name, &value)) {
    pawl_arg_id(&e->args, PAWL_ATTRIBUTE_START_ID, &o->id);
    TRY(pawl_attribute_args(&e->args, PAWL_ATTRIBUTE_START_NAME, name, value,
                            scratch, err));
  }
out:
  return rc;
}

static pawl_code send_attributes(pawl_engine *e, int shard,
                                 const pawl_start_options *o,
                                 pawl_buf *scratch, int *sent,
                                 pawl_error *err) {
  const size_t room = pawl_start_attributes_room(o);
  pawl_code rc = PAWL_OK;

  *sent = 0;
  if (!room) return PAWL_OK;
  if (!pawl_buf_room(scratch, room))
    return pawl_fail(err, PAWL_NOMEM, "out of memory");
  pawl_args_begin(&e->args, PAWL_STMT_ATTRIBUTE_START);
  pawl_arg_int(&e->args, PAWL_ATTRIBUTE_START_SHARD, shard);
  TRY(pawl_start_attribute_args(e, o, scratch, err));
  pawl_store_arg_now(e->store, &e->args, PAWL_ATTRIBUTE_START_NOW);
  TRY(pawl_store_send(e->store, &e->args, err));
  *sent = 1;
out:
  return rc;
}

static pawl_code send_by_key(pawl_engine *e, int shard, const char *code,
                             const pawl_start_options *o, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INSTANCE_BY_KEY);
  pawl_arg_int(a, PAWL_INSTANCE_BY_KEY_SHARD, shard);
  pawl_arg_textz(a, PAWL_INSTANCE_BY_KEY_WORKFLOW, code);
  pawl_start_arg_word(a, PAWL_INSTANCE_BY_KEY_TENANT, &o->tenant,
                      o->has_tenant);
  pawl_start_arg_word(a, PAWL_INSTANCE_BY_KEY_EXTERNAL_ID, &o->key,
                      o->has_key);
  return pawl_store_send(e->store, a, err);
}

/* Nothing was inserted: is it there already, or was it refused, because its
 * version takes no new instances? */
static pawl_code was_refused(pawl_engine *e, int shard,
                             const pawl_start_options *o, int open, int nsent,
                             int *refused, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_STATE);
  pawl_arg_int(&e->args, PAWL_REPAIR_STATE_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_REPAIR_STATE_ID, &o->id);
  if (open) {
    TRY(pawl_store_send(e->store, &e->args, err));
    pawl_store_rows(e->store, nsent, &rows);
  } else {
    TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  }
  *refused = rows.nrows == 0;
out:
  return rc;
}

/* Can nothing of the kind be there? The id is ours, and was not sent yet. */
static int is_alike(const pawl_start_options *o, const pawl_origin *origin) {
  return !o->has_key && !o->has_id && !o->was_sent &&
         !(origin && origin->parent);
}

/* *refused: the version is not active; nothing was stored. */
static pawl_code start_unit(pawl_engine *e, const char *code, pawl_str input,
                            pawl_start_options *o, const pawl_origin *origin,
                            pawl_id *id, int *created, int *refused,
                            pawl_error *err) {
  const int open = origin && origin->also; /* what follows needs the answer */
  const int alike = is_alike(o, origin);
  int shard = pawl_start_shard(e, &o->id), more = 0;
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  *refused = 0;
  o->was_sent = 1;
  TRY(pawl_store_begin(e->store, open ? PAWL_UNIT_OPEN : PAWL_UNIT_BATCH,
                       err));
  TRY(alike ? send_alike(e, shard, code, input, o, err)
            : send_instance(e, shard, code, input, o, origin, err));
  TRY(send_attributes(e, shard, o, &scratch, &more, err));
  if (o->has_key) TRY(send_by_key(e, shard, code, o, err));
  if (!open) TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  *created = rows.changed == 1;
  *id = o->id;
  if (o->has_key) {
    pawl_store_rows(e->store, 1 + more, &rows);
    if (rows.nrows) pawl_row_id(&rows, 0, PAWL_INSTANCE_BY_KEY_R_ID, id);
    *refused = !rows.nrows;
    *created = rows.nrows && pawl_id_eq(id, &o->id);
  } else if (!*created) {
    TRY(was_refused(e, shard, o, open, 1 + more, refused, err));
  }
  if (open && *refused) {
    pawl_store_rollback(e->store);
  } else if (open) {
    TRY(origin->also(e, origin->ud, shard, id, *created,
                     1 + more + (o->has_key || !*created), err));
    TRY(pawl_store_commit(e->store, err));
  }
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_buf_deinit(&scratch);
  return rc;
}

static pawl_code start_once(pawl_engine *e, const char *code, pawl_str input,
                            pawl_start_options *o, const pawl_origin *origin,
                            pawl_id *id, int *created, int *refused,
                            pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int tries = 0;; tries++) { /* the id is fixed: repeating is harmless */
    rc = start_unit(e, code, input, o, origin, id, created, refused, err);
    if (rc == PAWL_OK && tries && !o->has_id && !o->has_key && !*refused)
      *created = 1; /* an id of ours */
    if ((rc != PAWL_UNREACHABLE && rc != PAWL_BUSY) || tries == 2) break;
  }
  return rc;
}

pawl_code pawl_start_refuse(const char *code, const pawl_start_options *o,
                            int64_t asked, pawl_error *err) {
  if (asked || o->version)
    pawl_fail(err, PAWL_CONFLICT,
              "workflow \"%s\" version %" PRId64
              " is not active: no new instances of it are started",
              code, o->version ? o->version : asked);
  else
    pawl_fail(err, PAWL_CONFLICT,
              "no version of workflow \"%s\" is active: no new instances of "
              "it are started",
              code);
  pawl_error_hint(err,
                  "`pawl workflows` shows which are; `pawl workflows "
                  "activate` changes it");
  return PAWL_CONFLICT;
}

/* Nobody waits for its answer, where that can be. */
static pawl_code send_wake(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_sent *sent;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_WAKE);
  pawl_arg_textz(&e->args, PAWL_WAKE_CHANNEL, "pawl_wake");
  if (!pawl_pipeline_is_open(e) || pawl_pipeline_is_full(e))
    return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err);
  TRY(pawl_pipeline_place(e, &sent, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(pawl_store_send(e->store, &e->args, err));
  TRY(pawl_store_submit(e->store, err));
  pawl_pipeline_sent(e); /* n is 0: there is nothing to apply */
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Sleeping workers are told after the commit, not more often than they can
 * use it: who was told looks again a little later (pawl_engine_wait). */
void pawl_start_wake(pawl_engine *e) {
  pawl_error err;
  int64_t mono = pawl_clock_mono();

  e->woken = 1; /* it may be ours to run */
  if (mono < e->wake_mono_us) return;
  e->wake_mono_us = mono + PAWL_WAKE_EVERY_US;
  if (send_wake(e, &err) != PAWL_OK)
    pawl_log_error(&e->log, PAWL_DEBUG, "wake-up not sent", &err);
}

pawl_code pawl_start_check_code(const char *code, pawl_error *err) {
  char text[101];
  if (code && pawl_def_is_code(code)) return PAWL_OK;
  pawl_copy_text(text, sizeof text, code ? code : "");
  pawl_fail(err, PAWL_INVALID, "\"%s\" cannot be a workflow's code", text);
  pawl_error_hint(err, PAWL_CODE_RULE);
  return PAWL_INVALID;
}

pawl_code pawl_start_check_size(const pawl_engine *e, pawl_str input,
                                pawl_error *err) {
  if ((int64_t)input.len <= e->config.max_bytes) return PAWL_OK;
  return pawl_fail(err, PAWL_LIMIT,
                   "input has %zu bytes; the limit is %" PRId64, input.len,
                   e->config.max_bytes);
}

/* Is it JSON, and not too long? at NULL becomes {}. */
static pawl_code check_input(pawl_engine *e, pawl_str *input,
                             pawl_error *err) {
  if (!input->at) *input = pawl_strz("{}");
  pawl_code rc = pawl_json_check(*input, NULL, err);
  if (rc != PAWL_OK) {
    pawl_error_prefix(err, "input");
    return rc;
  }
  return pawl_start_check_size(e, *input, err);
}

/* A key from inside may be longer than what people are allowed. */
static pawl_code take_key(const pawl_origin *origin, pawl_start_options *o,
                          pawl_error *err) {
  if (!origin || !origin->key.at) return PAWL_OK;
  pawl_buf_clear(&o->key);
  pawl_buf_adds(&o->key, origin->key);
  o->has_key = 1;
  return pawl_buf_check(&o->key, err);
}

pawl_code pawl_engine_start(pawl_engine *e, const char *code, pawl_str input,
                            pawl_str text, pawl_id *id, int *created,
                            pawl_error *err) {
  return pawl_start_from(e, code, input, text, NULL, id, created, err);
}

pawl_code pawl_start_from(pawl_engine *e, const char *code, pawl_str input,
                          pawl_str text, const pawl_origin *origin,
                          pawl_id *id, int *created, pawl_error *err) {
  pawl_start_options o;
  int64_t asked;
  int refused = 0;
  pawl_code rc = PAWL_OK;

  pawl_start_options_init(&o, &e->alloc);
  TRY(pawl_start_check_code(code, err));
  TRY(check_input(e, &input, err));
  if (text.at) TRY(pawl_json_check(text, NULL, err));
  TRY(pawl_start_options_read(&o, text, NULL, err));
  TRY(take_key(origin, &o, err));
  asked = o.version;
  TRY(pawl_start_version(e, code, &o, err));
  TRY(pawl_start_id(e, code, &o, err));
  TRY(start_once(e, code, input, &o, origin, id, created, &refused, err));
  if (refused && !asked && o.version) { /* ours is not active */
    o.version = 0;
    TRY(start_once(e, code, input, &o, origin, id, created, &refused, err));
  }
  if (refused) {
    rc = pawl_start_refuse(code, &o, asked, err);
    goto out;
  }
  if (*created && !o.delay_us && !o.at_us) pawl_start_wake(e);
out:
  pawl_start_options_deinit(&o);
  return rc;
}
