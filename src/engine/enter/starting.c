/* What all starts have in common: options and what is wrong with them, ids,
 * and the statements by which an instance is stored. */
#include "start.h"

#include <assert.h>
#include <inttypes.h>

#include "../../base/sha256.h"
#include "../../value/options.h"
#include "../../value/types.h"
#include "../common/sortable.h"
#include "../common/tenant.h"
#include "../common/time.h"

#define MAX_WORD 255 /* of keys and names: bytes */

static const char *const existing[] = {"return", "fail", "replace"};
static const char *const reuses[] = {"never", "ended", "failed"};

#define YEAR_US (365 * 86400 * PAWL_SECOND)
#define AT(member) .at = offsetof(pawl_start_options, member)
#define WORD(member) AT(member), .low = 1, .high = MAX_WORD
#define ROW_text(name) {#name, PAWL_OPTION_TEXT, WORD(name)},
#define ROW_json(name) {#name, PAWL_OPTION_OBJECT, AT(name)},
#define ROW(type, name, column) ROW_##type(name)

/* `id` and `input` come last: where they stand is asked for. */
/* clang-format off */
static const pawl_option start_rows[] = {
    {"key", PAWL_OPTION_TEXT, WORD(key)},
    {"on_existing", PAWL_OPTION_CHOICE, AT(on_existing), .names = existing,
     .high = 3},
    {"reuse", PAWL_OPTION_CHOICE, AT(reuse), .names = reuses, .high = 3},
    {"version", PAWL_OPTION_INT, AT(version), .low = 1, .high = INT32_MAX},
    {"priority", PAWL_OPTION_INT, AT(priority), .low = INT16_MIN,
     .high = INT16_MAX},
    {"delay_us", PAWL_OPTION_SPAN, AT(delay_us), .high = 100 * YEAR_US},
    {"at_us", PAWL_OPTION_TIME, AT(at_us), .low = 1},
    {"deadline_us", PAWL_OPTION_SPAN, AT(deadline_us), .low = 1,
     .high = 100 * YEAR_US},
    {"max_bytes", PAWL_OPTION_INT, AT(max_bytes), .low = 1,
     .high = INT64_MAX},
    {"group", PAWL_OPTION_TEXT, WORD(group)},
    PAWL_COLUMNS_given(ROW)
    {"attributes", PAWL_OPTION_OBJECT, AT(attributes)},
    {"id", PAWL_OPTION_ID, AT(id)},
    {"input", PAWL_OPTION_ANY, AT(input)}};
/* clang-format on */
enum { INPUT = sizeof start_rows / sizeof *start_rows - 1, ID = INPUT - 1 };
PAWL_OPTIONS_OF(start) = {.what = "start", .rows = start_rows, .nrows = INPUT};
PAWL_OPTIONS_OF(item) = {.what = "an item", PAWL_OPTION_ROWS(start_rows)};

pawl_code pawl_start_options_read(pawl_start_options *o, pawl_str text,
                                  int is_item, pawl_error *err) {
  MUST(pawl_options_take(
      is_item ? &pawl_options_of_item : &pawl_options_of_start, text, o, err));
  o->has_id |= PAWL_OPTION_GIVEN(o, ID);
  if (o->delay_us && o->at_us) /* also one of all, and one of an item */
    return pawl_fail(err, PAWL_INVALID,
                     "options `delay_us` and `at_us` exclude each other");
  return PAWL_OK;
}

/* Such items share all their columns but the input. */
int pawl_start_is_plain(const pawl_start_options *o) {
  return !(o->given & ~(UINT64_C(1) << INPUT));
}

void pawl_start_options_init(pawl_start_options *o, const pawl_alloc *alloc) {
  pawl_options_init(&pawl_options_of_start, o, sizeof *o, alloc);
}

void pawl_start_options_deinit(pawl_start_options *o) {
  pawl_options_deinit(&pawl_options_of_start, o);
}

void pawl_start_options_clear(pawl_start_options *o) {
  pawl_options_clear(&pawl_options_of_item, o);
  o->has_id = o->was_sent = 0;
}

/* ---- whose, which version, which id ---- */

pawl_code pawl_start_tenant(const pawl_engine *e, const pawl_origin *origin,
                            pawl_start_options *o, pawl_error *err) {
  if (origin && origin->inside) return PAWL_OK;
  if (origin && origin->tenant.at && !o->tenant.len)
    pawl_buf_set(&o->tenant, origin->tenant);
  MUST(pawl_buf_check(&o->tenant, err));
  if (origin && origin->tenant.at &&
      !pawl_str_eq(origin->tenant, pawl_buf_str(&o->tenant)))
    return pawl_tenant_refuse(origin->tenant, pawl_buf_str(&o->tenant), err);
  return pawl_tenant_take(e, &o->tenant, err);
}

/* Has the store the version that is asked for? */
static pawl_code check_version(pawl_engine *e, const char *code,
                               int64_t version, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, workflow_get, &rows, err, .code = pawl_strz(code),
                 .version = version));
  if (rows.nrows) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_NOTFOUND, "load its file first, or leave the version out",
      "there is no workflow \"%s\" version %" PRId64, code, version);
}

/* What this program has loaded is looked for first: it costs no trip, and is
 * what the caller sees. */
pawl_code pawl_start_version(pawl_engine *e, const char *code,
                             pawl_start_options *o, pawl_error *err) {
  pawl_def *def =
      pawl_registry_find(e->registry, code, strlen(code), o->version, NULL);
  if (def) o->version = def->version;
  return def || !o->version ? PAWL_OK
                            : check_version(e, code, o->version, err);
}

pawl_code pawl_start_check_input(const pawl_engine *e, const char *code,
                                 int64_t version, pawl_str input,
                                 pawl_error *err) {
  const pawl_def *def =
      pawl_registry_find(e->registry, code, strlen(code), version, NULL);
  if (!def || !def->input.at) return PAWL_OK;
  pawl_code rc = pawl_types_fit(def->input, input, "input", err);
  if (rc != PAWL_OK) pawl_error_prefix(err, "workflow \"%s\"", code);
  return rc;
}

void pawl_start_digest(const char *code, const pawl_start_options *o,
                       unsigned char digest[32]) {
  pawl_sha256 sha;

  pawl_sha256_init(&sha);
  pawl_sha256_add(&sha, o->tenant.at ? o->tenant.at : "", o->tenant.len);
  pawl_sha256_add(&sha, "", 1);
  pawl_sha256_add(&sha, code, strlen(code) + 1);
  pawl_sha256_add(&sha, o->key.at, o->key.len);
  pawl_sha256_end(&sha, digest);
}

/* A key's shard follows from tenant, workflow and key alone, whoever starts it
 * and however many shards draw ids. */
pawl_code pawl_start_id(pawl_engine *e, const char *code,
                        pawl_start_options *o, pawl_error *err) {
  unsigned char digest[32];

  if (!o->key.len)
    return o->has_id ? PAWL_OK
                     : pawl_id_make(&e->ids, pawl_engine_now(e), &o->id, err);
  pawl_start_digest(code, o, digest);
  uint16_t number = (uint16_t)(digest[0] << 8 | digest[1]);
  if (!o->has_id)
    return pawl_id_make_at_home(&e->ids, pawl_engine_now(e), number, &o->id,
                                err);
  o->id.bytes[14] = digest[0]; /* the caller's draw, on the key's shard */
  o->id.bytes[15] = digest[1];
  return PAWL_OK;
}

/* ---- writing ---- */

const char *pawl_start_group(const pawl_engine *e,
                             const pawl_start_options *o) {
  return o->group.len ? o->group.at : e->config.group;
}

/* The short statement: it looks for nothing that might be there already. */
static pawl_code send_alike(pawl_engine *e, const pawl_starting *s, int *at,
                            pawl_error *err) {
  const pawl_start_options *o = s->options;
  return PAWL_SEND(
      e->store, instance_alike, at, err, .shard = pawl_start_shard(e, s),
      .workflow = pawl_strz(s->code), .version = o->version, .input = s->input,
      .now = pawl_store_now(e->store), PAWL_START_MEMBERS(e));
}

/* The long one, for a key, an id of the caller's, or a parent: nothing is
 * inserted when it is there. */
static pawl_code send_instance(pawl_engine *e, const pawl_starting *s, int *at,
                               pawl_error *err) {
  static const pawl_origin none;
  const pawl_start_options *o = s->options;
  const pawl_origin *from = s->origin ? s->origin : &none;

  assert(!from->parent || from->root);
  return PAWL_SEND(
      e->store, instance_start, at, err, .shard = pawl_start_shard(e, s),
      .workflow = pawl_strz(s->code), .version = o->version,
      .key = pawl_buf_some(&o->key), .input = s->input, .parent = from->parent,
      .root = from->root, .parent_place = from->parent_place,
      .now = pawl_store_now(e->store), PAWL_START_MEMBERS(e));
}

static const pawl_start_options *option_at(const pawl_start_options *list,
                                           size_t step, int i) {
  return (const void *)((const char *)list + step * (size_t)i);
}

/* At most, decoded; with the zeros behind each. */
static size_t room_of(const pawl_start_options *o) {
  return o->attributes.len > 2 ? 4 * o->attributes.len + 64 : 0;
}

static pawl_code put_attributes(pawl_engine *e, const pawl_start_options *o,
                                pawl_buf *scratch, pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);
  const char *room = scratch->at;
  pawl_attribute v;
  pawl_str sorts;

  if (!o->attributes.at) return PAWL_OK;
  for (pawl_json_iter it = {0}; pawl_json_walk(o->attributes, &it);) {
    MUST(pawl_attribute_read(it.key, it.value, &v, scratch, err));
    sorts = pawl_sortable_of(&v, scratch);
    assert(scratch->at == room); /* what was put before borrows from it */
    PAWL_PUT(&e->args, attribute_start, .shard = pawl_shard_of(e, &o->id),
             .id = &o->id, PAWL_ATTRIBUTE_MEMBERS(v, sorts), .now = now);
  }
  return PAWL_OK;
}

/* Room is made for all before the first, as it may not move any more. */
pawl_code pawl_start_attributes(pawl_engine *e, const pawl_start_options *list,
                                size_t step, int n, pawl_buf *scratch,
                                pawl_error *err) {
  size_t room = 0;

  assert(n == 1 || step >= sizeof *list);
  pawl_args_begin(&e->args, PAWL_STMT_attribute_start);
  for (int i = 0; i < n; i++) room += room_of(option_at(list, step, i));
  if (!room) return PAWL_OK;
  pawl_buf_clear(scratch);
  if (!pawl_buf_room(scratch, room)) return pawl_fail_memory(err);
  for (int i = 0; i < n; i++)
    MUST(put_attributes(e, option_at(list, step, i), scratch, err));
  return PAWL_OK;
}

/* Ours, or one that was first. */
pawl_code pawl_start_send_by_key(pawl_engine *e, const pawl_starting *s,
                                 int *at, pawl_error *err) {
  return PAWL_SEND(e->store, instance_by_key, at, err,
                   .shard = pawl_start_shard(e, s),
                   .workflow = pawl_strz(s->code),
                   .tenant = pawl_buf_some(&s->options->tenant),
                   .key = pawl_buf_some(&s->options->key));
}

/* Can nothing of the kind be there? The id is ours, and was not sent yet. */
static int is_alike(const pawl_starting *s) {
  const pawl_start_options *o = s->options;
  return !o->key.len && !o->has_id && !o->was_sent &&
         !(s->origin && (s->origin->parent || s->origin->parent_place.len));
}

pawl_code pawl_start_send(pawl_engine *e, const pawl_starting *s, int *at,
                          pawl_error *err) {
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY((is_alike(s) ? send_alike : send_instance)(e, s, at, err));
  s->options->was_sent = 1;
  TRY(pawl_start_attributes(e, s->options, 0, 1, &scratch, err));
  TRY(pawl_store_send(e->store, &e->args, NULL, err));
out:
  pawl_buf_deinit(&scratch);
  return rc;
}

/* ---- refusing ---- */

static pawl_code refuse_deleted(const pawl_id *id, pawl_error *err) {
  pawl_fail_hint(err, PAWL_CONFLICT, "undelete it, or draw another id",
                 "instance %s is deleted: its id cannot start another",
                 pawl_id_text_of(id).at);
  pawl_error_where(err, "id");
  return PAWL_CONFLICT;
}

/* Not a word of what another tenant has. */
static pawl_code refuse_foreign(const pawl_id *id, pawl_error *err) {
  pawl_fail_hint(err, PAWL_CONFLICT, "draw another id for it",
                 "the id %s is taken by another tenant's instance",
                 pawl_id_text_of(id).at);
  pawl_error_where(err, "id");
  return PAWL_CONFLICT;
}

/* An id is one instance's: given again for something else it is a slip. */
pawl_code pawl_start_check_known(const char *code, const pawl_start_options *o,
                                 const pawl_known *known, pawl_error *err) {
  const pawl_id *id = known->id;
  const pawl_str workflow = known->workflow;

  if (!pawl_str_eq(known->tenant, pawl_buf_str(&o->tenant)))
    return refuse_foreign(id, err);
  if (known->deleted) return refuse_deleted(id, err);
  if (pawl_str_eqz(workflow, code)) return PAWL_OK;
  pawl_fail_hint(err, PAWL_CONFLICT, "draw another id for it",
                 "instance %s is one of workflow \"%.*s\": its id cannot "
                 "start \"%s\"",
                 pawl_id_text_of(id).at, (int)workflow.len, workflow.at, code);
  pawl_error_where(err, "id");
  return PAWL_CONFLICT;
}

/* In the words of what was asked for: a version, or just the workflow. */
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
                  "`pawl workflow list` shows which are; `pawl workflow "
                  "activate CODE VERSION` changes it, or `pawl workflow on "
                  "CODE` where it was switched off");
  return PAWL_CONFLICT;
}

pawl_code pawl_start_check_code(const char *code, pawl_error *err) {
  char text[101];
  if (code && pawl_def_is_code(code)) return PAWL_OK;
  pawl_copy_text(text, sizeof text, code ? code : "");
  return pawl_fail_hint(err, PAWL_INVALID, PAWL_CODE_RULE,
                        "\"%s\" cannot be a workflow's code", text);
}

/* What handlers add is weighed with each commit. */
pawl_code pawl_start_check_size(const pawl_engine *e,
                                const pawl_start_options *o, pawl_str input,
                                pawl_error *err) {
#define CHECK_text(name)
#define CHECK_json(name) \
  MUST(pawl_check_bytes(e, #name " has", o->name.len, err));
#define CHECK(type, name, column) CHECK_##type(name)
  MUST(pawl_check_bytes(e, "input has", input.len, err));
  PAWL_COLUMNS_given(CHECK);
  return pawl_check_bytes(e, "attributes has", o->attributes.len, err);
}

pawl_code pawl_start_check_reuse(const pawl_start_options *o,
                                 pawl_error *err) {
  if (o->key.len || (!o->on_existing && !o->reuse)) return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID, "give the key that may be in use already",
                 "option `%s` needs a `key`",
                 o->on_existing ? "on_existing" : "reuse");
  pawl_error_where(err, "%s", o->on_existing ? "on_existing" : "reuse");
  return PAWL_INVALID;
}
