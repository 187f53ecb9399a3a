/* What is wrong in the store, and how it is put right: instances that wait for
 * what is there, and that nobody will look at (N6); agenda rows that lead to no
 * instance, or are due while no worker of their group is running. All are read
 * in pages, without locks, so a store that is at work may be looked at; to put
 * an instance on the agenda that was in order does no harm: it is looked at
 * once more. */
#include "../common/answer.h"
#include "../engine.h"
#include "../work/stray.h"

#define PAGE 500
#define LISTED 100                     /* problems that are told one by one */
#define PATIENCE_US (60 * PAWL_SECOND) /* for a worker of a row's group */

typedef struct health {
  pawl_engine *e;
  int repair;
  pawl_buf list; /* JSON, of the first LISTED */
  int listed;
  int64_t looked, rows, due, held; /* instances; the agenda's */
  int64_t unseen, stray, unserved, repaired;
} health;

/* What could move it, in the words of health_page. */
static const char *text_of(pawl_str what) {
  static const struct {
    const char *what, *text;
  } texts[] = {
      {"run", "it can run, and is not on the agenda"},
      {"time", "it waits for a time, and is not on the agenda"},
      {"letter", "its inbox holds what nobody has looked at"},
      {"event", "an event that it waits for is there, and nobody has looked"},
      {"items", "none of its items is under way, and nothing is due"},
      {"stray", "an agenda row leads to no instance"},
      {"unserved", "it is due, and no worker of its group is running"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (pawl_str_eqz(what, texts[i].what)) return texts[i].text;
  return "";
}

/* Where it is, as far as that is known. */
typedef struct place {
  pawl_str workflow, node, group;
} place;

static void tell(health *t, const pawl_id *id, place at, pawl_str what) {
  char text[37];
  pawl_object o;

  if (t->listed == LISTED) return;
  pawl_id_format(id, text);
  if (t->listed++) pawl_buf_addc(&t->list, ',');
  pawl_object_begin(&o, &t->list);
  pawl_member_textz(&o, "instance", text);
  if (at.workflow.at) pawl_member_str(&o, "workflow", at.workflow);
  if (at.node.at) pawl_member_str(&o, "node", at.node);
  if (at.group.at) pawl_member_str(&o, "group", at.group);
  pawl_member_str(&o, "what", what);
  pawl_member_textz(&o, "text", text_of(what));
  pawl_object_end(&o);
}

/* ---- the agenda ---- */

/* The id before this one. */
static pawl_id before(const pawl_id *id) {
  pawl_id last = *id;
  int i = (int)sizeof last.bytes;
  while (i-- && !last.bytes[i]--) continue;
  return last;
}

/* At most `max` rows, from the one behind `after` on. */
static pawl_code read_agenda(pawl_engine *e, int shard, const pawl_id *after,
                             int max, pawl_rows *r, pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_HEALTH_AGENDA);
  pawl_arg_int(a, PAWL_HEALTH_AGENDA_SHARD, shard);
  pawl_arg_id(a, PAWL_HEALTH_AGENDA_AFTER, after);
  pawl_arg_int(a, PAWL_HEALTH_AGENDA_PATIENCE_US, PATIENCE_US);
  pawl_store_arg_now(e->store, a, PAWL_HEALTH_AGENDA_NOW);
  pawl_arg_int(a, PAWL_HEALTH_AGENDA_MAX, max);
  return pawl_store_once(e->store, PAWL_UNIT_READ, a, r, err);
}

typedef struct wrongs {
  pawl_id stray[PAGE], asked[PAGE];
  int n, nstray, nasked;
} wrongs;

static void look_at_row(health *t, const pawl_rows *r, int k, wrongs *found,
                        pawl_id *id) {
#define IS(col) (pawl_row_int(r, k, PAWL_HEALTH_AGENDA_R_##col) != 0)
  place at = {
      .workflow = pawl_row_str(r, k, PAWL_HEALTH_AGENDA_R_WORKFLOW),
      .group = pawl_row_str(r, k, PAWL_HEALTH_AGENDA_R_EXECUTOR_GROUP)};

  pawl_row_id(r, k, PAWL_HEALTH_AGENDA_R_INSTANCE, id);
  t->rows++;
  t->held += IS(HELD);
  t->due += !IS(HELD) && IS(DUE);
  if (IS(STRAY)) {
    tell(t, id, (place){0}, pawl_strz("stray"));
    found->stray[found->nstray++] = *id;
  } else if (IS(UNSERVED)) {
    t->unserved++;
    tell(t, id, at, pawl_strz("unserved"));
    if (IS(ASKED)) found->asked[found->nasked++] = *id;
  }
#undef IS
}

/* Does what it was asked lie there yet? Somebody may hold it, or it needs what
 * is not known here. */
static pawl_code look_again(health *t, int shard, const pawl_id *id, int *left,
                            pawl_error *err) {
  pawl_id after = before(id), one;
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  *left = 0;
  TRY(read_agenda(t->e, shard, &after, 1, &r, err));
  if (!r.nrows) return PAWL_OK;
  pawl_row_id(&r, 0, PAWL_HEALTH_AGENDA_R_INSTANCE, &one);
  *left = pawl_id_eq(&one, id) &&
          pawl_row_int(&r, 0, PAWL_HEALTH_AGENDA_R_ASKED) != 0;
out:
  return rc;
}

/* What they were asked, to end as a rule, is done as `pawl cancel` does it: no
 * handler runs. All else, also what people answered, is for a worker. */
static pawl_code take_asked(health *t, int shard, const wrongs *found,
                            pawl_error *err) {
  for (int i = 0; i < found->nasked; i++) {
    int left = 0;
    pawl_code rc = pawl_engine_apply(t->e, &found->asked[i], err);
    if (rc == PAWL_OK) rc = look_again(t, shard, &found->asked[i], &left, err);
    if (rc == PAWL_OK)
      t->repaired += !left;
    else if (pawl_code_is_transient(rc))
      return rc;
    else
      pawl_log_error(&t->e->log, PAWL_WARN, "it is not put right", err);
  }
  return PAWL_OK;
}

/* One page of a shard; *n: how many rows it had. */
static pawl_code look_at_agenda(health *t, int shard, pawl_id *after, int *n,
                                pawl_error *err) {
  wrongs found = {.n = 0};
  pawl_rows r;
  pawl_code rc = PAWL_OK;
  int gone = 0;

  TRY(read_agenda(t->e, shard, after, PAGE, &r, err));
  *n = r.nrows;
  for (int k = 0; k < r.nrows; k++) look_at_row(t, &r, k, &found, after);
  t->stray += found.nstray;
  if (!t->repair) return PAWL_OK;
  TRY(pawl_stray_remove(t->e, shard, found.stray, NULL, found.nstray, &gone,
                        err));
  t->repaired += gone;
  TRY(take_asked(t, shard, &found, err));
out:
  return rc;
}

/* ---- instances ---- */

static pawl_code wake(health *t, int shard, const pawl_id *ids, int n,
                      pawl_error *err) {
  pawl_args *a = &t->e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  if (!n) return PAWL_OK;
  pawl_args_begin(a, PAWL_STMT_AGENDA_WAKE_MANY);
  pawl_arg_int(a, PAWL_AGENDA_WAKE_MANY_SHARD, shard);
  for (int i = 0; i < n; i++)
    pawl_arg_id(a, PAWL_AGENDA_WAKE_MANY_ID, &ids[i]);
  pawl_store_arg_now(t->e->store, a, PAWL_AGENDA_WAKE_MANY_NOW);
  TRY(pawl_store_once(t->e->store, PAWL_UNIT_BATCH, a, &rows, err));
  t->repaired += n;
  t->e->fresh_ready = 1;
  t->e->look_mono_us = 0;
  pawl_start_wake(t->e);
out:
  return rc;
}

static pawl_code look_at_page(health *t, int shard, const pawl_buf *workflow,
                              const char *status, pawl_id *after, int *n,
                              pawl_error *err) {
  pawl_args *a = &t->e->args;
  pawl_id unseen[PAGE];
  pawl_rows r;
  pawl_code rc = PAWL_OK;
  int nunseen = 0;

  pawl_args_begin(a, PAWL_STMT_HEALTH_PAGE);
  pawl_arg_int(a, PAWL_HEALTH_PAGE_SHARD, shard);
  pawl_arg_str(a, PAWL_HEALTH_PAGE_WORKFLOW, pawl_buf_str(workflow));
  pawl_arg_textz(a, PAWL_HEALTH_PAGE_STATUS, status);
  pawl_arg_id(a, PAWL_HEALTH_PAGE_AFTER, after);
  pawl_arg_int(a, PAWL_HEALTH_PAGE_SHARDS, t->e->nshards);
  pawl_store_arg_now(t->e->store, a, PAWL_HEALTH_PAGE_NOW);
  pawl_arg_int(a, PAWL_HEALTH_PAGE_MAX, PAGE);
  TRY(pawl_store_once(t->e->store, PAWL_UNIT_READ, a, &r, err));
  *n = r.nrows;
  for (int k = 0; k < r.nrows; k++) {
    pawl_str what = pawl_row_str(&r, k, PAWL_HEALTH_PAGE_R_WRONG);
    pawl_row_id(&r, k, PAWL_HEALTH_PAGE_R_INSTANCE, after);
    if (!what.at) continue;
    tell(t, after,
         (place){.workflow = pawl_buf_str(workflow),
                 .node = pawl_row_str(&r, k, PAWL_HEALTH_PAGE_R_NODE)},
         what);
    unseen[nunseen++] = *after;
  }
  t->looked += r.nrows;
  t->unseen += nunseen;
  if (t->repair) TRY(wake(t, shard, unseen, nunseen, err));
out:
  return rc;
}

static pawl_code look_at_workflow(health *t, int shard,
                                  const pawl_buf *workflow, pawl_error *err) {
  static const char *const live[] = {"running", "waiting"};
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < 2; i++) {
    pawl_id after = {{0}};
    for (int n = PAGE; n == PAGE;)
      TRY(look_at_page(t, shard, workflow, live[i], &after, &n, err));
  }
out:
  return rc;
}

static pawl_code next_workflow(health *t, int shard, pawl_buf *workflow,
                               int *more, pawl_error *err) {
  pawl_args *a = &t->e->args;
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_HEALTH_WORKFLOW);
  pawl_arg_int(a, PAWL_HEALTH_WORKFLOW_SHARD, shard);
  pawl_arg_str(a, PAWL_HEALTH_WORKFLOW_AFTER,
               workflow->len ? pawl_buf_str(workflow) : pawl_strz(""));
  TRY(pawl_store_once(t->e->store, PAWL_UNIT_READ, a, &r, err));
  *more = r.nrows > 0;
  if (!*more) return PAWL_OK;
  pawl_buf_clear(workflow);
  pawl_buf_adds(workflow,
                pawl_row_str(&r, 0, PAWL_HEALTH_WORKFLOW_R_WORKFLOW));
  TRY(pawl_buf_check(workflow, err));
out:
  return rc;
}

static pawl_code look_at_shard(health *t, int shard, pawl_error *err) {
  pawl_buf workflow = {.alloc = &t->e->alloc};
  pawl_id after = {{0}};
  pawl_code rc = PAWL_OK;
  int more = 1;

  for (int n = PAGE; n == PAGE;)
    TRY(look_at_agenda(t, shard, &after, &n, err));
  for (;;) {
    TRY(next_workflow(t, shard, &workflow, &more, err));
    if (!more) break;
    TRY(look_at_workflow(t, shard, &workflow, err));
  }
out:
  pawl_buf_deinit(&workflow);
  return rc;
}

/* ---- one of them ---- */

pawl_code pawl_health_of(pawl_engine *e, const pawl_id *id, pawl_str workflow,
                         pawl_str status, const char **what, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_id one = before(id);
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  *what = NULL;
  pawl_args_begin(a, PAWL_STMT_HEALTH_PAGE);
  pawl_arg_int(a, PAWL_HEALTH_PAGE_SHARD, pawl_id_route(id) % e->nshards);
  pawl_arg_str(a, PAWL_HEALTH_PAGE_WORKFLOW, workflow);
  pawl_arg_str(a, PAWL_HEALTH_PAGE_STATUS, status);
  pawl_arg_id(a, PAWL_HEALTH_PAGE_AFTER, &one);
  pawl_arg_int(a, PAWL_HEALTH_PAGE_SHARDS, e->nshards);
  pawl_store_arg_now(e->store, a, PAWL_HEALTH_PAGE_NOW);
  pawl_arg_int(a, PAWL_HEALTH_PAGE_MAX, 1);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &r, err));
  if (!r.nrows) return PAWL_OK;
  pawl_row_id(&r, 0, PAWL_HEALTH_PAGE_R_INSTANCE, &one);
  if (pawl_id_eq(&one, id) && !pawl_row_null(&r, 0, PAWL_HEALTH_PAGE_R_WRONG))
    *what = text_of(pawl_row_str(&r, 0, PAWL_HEALTH_PAGE_R_WRONG));
out:
  return rc;
}

/* ---- the report ---- */

static void report(const health *t, pawl_buf *out) {
  pawl_object o, agenda;

  pawl_object_begin(&o, out);
  pawl_member_bool(&o, "sound", !t->unseen && !t->stray && !t->unserved);
  pawl_member_int(&o, "instances", t->looked);
  pawl_member_object(&o, "agenda", &agenda);
  pawl_member_int(&agenda, "rows", t->rows);
  pawl_member_int(&agenda, "due", t->due);
  pawl_member_int(&agenda, "held", t->held);
  pawl_object_end(&agenda);
  pawl_member_int(&o, "unseen", t->unseen);
  pawl_member_int(&o, "stray", t->stray);
  pawl_member_int(&o, "unserved", t->unserved);
  pawl_member_int(&o, "repaired", t->repaired);
  pawl_member(&o, "problems");
  pawl_buf_addc(out, '[');
  pawl_buf_adds(out, pawl_buf_str(&t->list));
  pawl_buf_addc(out, ']');
  pawl_object_end(&o);
}

pawl_code pawl_engine_health(pawl_engine *e, int repair, pawl_buf *out,
                             pawl_error *err) {
  health t = {.e = e, .repair = repair, .list = {.alloc = &e->alloc}};
  pawl_code rc = PAWL_OK;

  for (int s = 0; s < e->nshards; s++) TRY(look_at_shard(&t, s, err));
  TRY(pawl_buf_check(&t.list, err));
  report(&t, out);
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&t.list);
  return rc;
}

pawl_code pawl_engine_busy(pawl_engine *e, int *busy, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  *busy = e->nheld > 0;
  for (int s = 0; s < e->nshards && !*busy; s++) {
    pawl_args_begin(a, PAWL_STMT_AGENDA_BUSY);
    pawl_arg_int(a, PAWL_AGENDA_BUSY_SHARD, s);
    pawl_arg_textz(a, PAWL_AGENDA_BUSY_EXECUTOR_GROUP, e->config.group);
    pawl_arg_int(a, PAWL_AGENDA_BUSY_HORIZON_US, PAWL_MAX_LEASE_US);
    pawl_store_arg_now(e->store, a, PAWL_AGENDA_BUSY_NOW);
    TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &r, err));
    *busy = pawl_row_int(&r, 0, PAWL_AGENDA_BUSY_R_HELD) != 0;
  }
out:
  return rc;
}
