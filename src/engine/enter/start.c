/* Starting an instance: stored when the call returns (promise 1). */
#include "start.h"

#include <assert.h>

#include "../common/wake.h"

/* Nothing was inserted: is it there already, or was it refused, because its
 * version takes no new instances? */
static pawl_code was_refused(pawl_engine *e, pawl_starting *s, int open,
                             pawl_error *err) {
  pawl_rows rows;
  int at;

  if (open) {
    MUST(PAWL_SEND(e->store, repair_state, &at, err,
                   .shard = pawl_start_shard(e, s), .id = &s->options->id));
    pawl_store_rows(e->store, at, &rows);
  } else {
    MUST(PAWL_READ(e->store, repair_state, &rows, err,
                   .shard = pawl_start_shard(e, s), .id = &s->options->id));
  }
  s->refused = rows.nrows == 0;
  if (s->refused) return PAWL_OK;
  const pawl_repair_state_row row = pawl_read_repair_state(&rows, 0);
  const pawl_known known = {&s->options->id, row.workflow, row.tenant,
                            row.deleted != 0};
  return pawl_start_check_known(s->code, s->options, &known, err);
}

static pawl_code start_unit(pawl_engine *e, pawl_starting *s,
                            pawl_error *err) {
  pawl_start_options *o = s->options;
  const pawl_origin *from = s->origin;
  const int open = from && from->also; /* what follows needs the answer */
  int inserted, keyed;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  s->refused = 0;
  TRY(pawl_store_begin(e->store, open ? PAWL_UNIT_OPEN : PAWL_UNIT_BATCH,
                       err));
  TRY(pawl_start_send(e, s, &inserted, err));
  if (o->key.len) TRY(pawl_start_send_by_key(e, s, &keyed, err));
  if (!open) TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, inserted, &rows);
  s->created = rows.changed == 1;
  s->id = o->id;
  if (o->key.len) {
    pawl_store_rows(e->store, keyed, &rows);
    if (rows.nrows) s->id = *pawl_read_instance_by_key(&rows, 0).id;
    s->created = rows.nrows && pawl_id_eq(&s->id, &o->id);
  }
  if (!s->created && !(o->key.len && rows.nrows))
    TRY(was_refused(e, s, open, err));
  if (open && s->refused) {
    pawl_store_rollback(e->store);
  } else if (open) {
    TRY(from->also(e, from->ud, pawl_start_shard(e, s), &s->id, s->created,
                   err));
    TRY(pawl_store_commit(e->store, err));
  }
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Most keys are free: what it costs to have one go on is paid for those that
 * are not. What belongs to the same transaction must not be told twice. */
static pawl_code start_either(pawl_engine *e, pawl_starting *s,
                              pawl_error *err) {
  const int choosy = pawl_start_is_choosy(s->options);

  if (!choosy || !(s->origin && s->origin->also)) {
    MUST(start_unit(e, s, err));
    if (!choosy || s->created || s->refused) return PAWL_OK;
  }
  return pawl_start_succeed(e, s, err);
}

/* The id was drawn before: when an answer is lost, the next try finds its own
 * row and not a second instance. */
static pawl_code start_once(pawl_engine *e, pawl_starting *s,
                            pawl_error *err) {
  const pawl_start_options *o = s->options;
  int tries = 0;
  pawl_code rc;

  do rc = start_either(e, s, err);
  while (pawl_store_may_repeat(rc, &tries));
  if (rc == PAWL_OK && tries && !o->has_id && !o->key.len && !s->refused)
    s->created = 1; /* an id of ours */
  return rc;
}

/* Is it JSON? at NULL becomes {}. */
static pawl_code check_input(pawl_str *input, pawl_error *err) {
  if (!input->at) *input = pawl_strz("{}");
  pawl_code rc = pawl_json_check_depth(*input, PAWL_VALUE_DEPTH, NULL, err);
  if (rc != PAWL_OK) pawl_error_prefix(err, "input");
  return rc;
}

/* A key from inside may be longer than what people are allowed. */
static pawl_code take_origin(const pawl_origin *origin, pawl_start_options *o,
                             pawl_error *err) {
  if (!origin) return PAWL_OK;
  if (origin->key.at) pawl_buf_set(&o->key, origin->key);
  if (origin->by.at && !o->by.len) pawl_buf_set(&o->by, origin->by);
  MUST(pawl_buf_check(&o->by, err));
  return pawl_buf_check(&o->key, err);
}

/* All that can be known of it beforehand. *asked: the version that its caller
 * names. */
static pawl_code prepare(pawl_engine *e, pawl_starting *s, pawl_str text,
                         int64_t *asked, pawl_error *err) {
  pawl_start_options *o = s->options;

  MUST(pawl_start_check_code(s->code, err));
  MUST(check_input(&s->input, err));
  if (text.at) MUST(pawl_json_check(text, NULL, err));
  MUST(pawl_start_options_read(o, text, 0, err));
  MUST(pawl_start_check_size(e, o, s->input, err));
  MUST(pawl_start_tenant(e, s->origin, o, err));
  MUST(take_origin(s->origin, o, err));
  MUST(pawl_start_check_reuse(o, err));
  *asked = o->version;
  MUST(pawl_start_version(e, s->code, o, err));
  if (!s->origin)
    MUST(pawl_start_check_input(e, s->code, o->version, s->input, err));
  return pawl_start_id(e, s->code, o, err);
}

/* A version that is loaded here may be inactive in the store while another is
 * active: then that one is tried, unless the caller has named it. */
pawl_code pawl_engine_start(pawl_engine *e, const char *code, pawl_str input,
                            pawl_str text, const pawl_origin *origin,
                            pawl_id *id, int *created, pawl_error *err) {
  pawl_start_options options, *o = &options;
  pawl_starting s = {
      .code = code, .input = input, .options = o, .origin = origin};
  int64_t asked;
  pawl_code rc = PAWL_OK;

  pawl_start_options_init(o, &e->alloc);
  TRY(prepare(e, &s, text, &asked, err));
  TRY(start_once(e, &s, err));
  if (s.refused && !asked && o->version) { /* ours is not active */
    o->version = 0;
    TRY(start_once(e, &s, err));
  }
  if (s.refused) TRY(pawl_start_refuse(code, o, asked, err));
  *id = s.id;
  *created = s.created;
  if (s.created && (pawl_start_is_choosy(o) || !(o->delay_us || o->at_us)))
    pawl_wake(e); /* also for one that was replaced */
  else if (s.created)
    pawl_wake_programs(e); /* it may be due before what they wait for */
out:
  pawl_start_options_deinit(o);
  return rc;
}

/* ---- several in one transaction ---- */

typedef struct among {
  pawl_starting s;
  pawl_start_options options;
  int at; /* where the store says whether it is new */
} among;

static pawl_code send_all(pawl_engine *e, among *list, int n,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++) {
    assert(pawl_start_shard(e, &list[i].s) ==
           pawl_start_shard(e, &list[0].s)); /* S3 */
    TRY(pawl_start_send(e, &list[i].s, &list[i].at, err));
  }
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Sent again when the answer was lost: then those of the first time are there
 * already, and the caller looks. */
static pawl_code store_all(pawl_engine *e, among *list, int n,
                           pawl_error *err) {
  int tries = 0;
  pawl_code rc;

  do rc = send_all(e, list, n, err);
  while (pawl_store_may_repeat(rc, &tries));
  return rc;
}

static void tell_all(pawl_engine *e, const among *all, pawl_start_of *list,
                     int n) {
  int due = 0, later = 0;
  pawl_rows rows;

  for (int i = 0; i < n; i++) {
    const pawl_start_options *o = &all[i].options;
    pawl_store_rows(e->store, all[i].at, &rows);
    list[i].created = rows.changed == 1;
    due |= list[i].created && !(o->delay_us || o->at_us);
    later |= list[i].created;
  }
  if (due)
    pawl_wake(e);
  else if (later)
    pawl_wake_programs(e);
}

pawl_code pawl_engine_start_together(pawl_engine *e, pawl_start_of *list,
                                     int n, pawl_error *err) {
  const size_t size = (size_t)n * sizeof(among);
  among *all = pawl_calloc(&e->alloc, size);
  int64_t asked;
  pawl_code rc = PAWL_OK;

  if (!all) return pawl_fail_memory(err);
  for (int i = 0; i < n; i++) {
    pawl_start_options_init(&all[i].options, &e->alloc);
    all[i].s = (pawl_starting){.code = list[i].code,
                               .input = list[i].input,
                               .options = &all[i].options,
                               .origin = list[i].origin};
  }
  for (int i = 0; i < n; i++) {
    TRY(prepare(e, &all[i].s, list[i].options, &asked, err));
    assert(all[i].options.has_id && !all[i].options.key.len);
  }
  TRY(store_all(e, all, n, err));
  tell_all(e, all, list, n);
out:
  for (int i = 0; i < n; i++) pawl_start_options_deinit(&all[i].options);
  pawl_release(&e->alloc, all, size);
  return rc;
}
