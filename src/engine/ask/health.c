/* What is wrong in the store: instances that wait for what is there, and that
 * nobody will look at (N6); agenda rows that lead to no instance, or are due
 * while no worker of their group is running. All are read in pages, without
 * locks, so a store that is at work may be looked at. Who wants it put right
 * brings along what does that. */
#include <assert.h>

#include "../common/engine_struct.h"
#include "ask.h"
#include "condition.h"

#define PAGE 500
#define LISTED 100                     /* problems that are told one by one */
#define PATIENCE_US (60 * PAWL_SECOND) /* for a worker of a row's group */

typedef struct health {
  pawl_engine *e;
  pawl_mender *mend; /* NULL: only look */
  pawl_buf list;     /* JSON, of the first LISTED */
  int listed;
  int64_t looked, rows, due, held; /* instances; the agenda's */
  int64_t unseen, stray, unserved, repaired;
  int64_t lease_us; /* the oldest lease; 0: there is none */
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

/* Of many problems the first hundred are told: their numbers say the rest. */
static void tell(health *t, const pawl_id *id, place at, pawl_str what) {
  pawl_object o;

  if (t->listed == LISTED) return;
  if (t->listed++) pawl_buf_addc(&t->list, ',');
  pawl_object_begin(&o, &t->list);
  pawl_member_id(&o, "instance", id);
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
  return PAWL_READ(e->store, health_agenda, r, err, .shard = shard,
                   .after = after, .patience_us = PATIENCE_US,
                   .now = pawl_store_now(e->store), .max = max);
}

typedef struct wrongs {
  pawl_id stray[PAGE], asked[PAGE];
  int nstray, nasked;
} wrongs;

/* A lease's id has the time at which it was drawn. */
static void note_lease(health *t, int64_t us) {
  if (!t->lease_us || us < t->lease_us) t->lease_us = us;
}

/* What is stray has no instance: nobody asks which workers could serve it. */
static void look_at_row(health *t, const pawl_rows *r, int k, wrongs *found,
                        pawl_id *id) {
  const pawl_health_agenda_row row = pawl_read_health_agenda(r, k);
  place at = {.workflow = row.workflow, .group = row.executor_group};

  *id = *row.instance;
  t->rows++;
  t->held += row.held;
  if (row.lease) note_lease(t, pawl_id_time_us(row.lease));
  t->due += !row.held && row.due;
  if (row.stray) {
    tell(t, id, (place){0}, pawl_strz("stray"));
    found->stray[found->nstray++] = *id;
  } else if (row.unserved) {
    t->unserved++;
    tell(t, id, at, pawl_strz("unserved"));
    if (row.asked) found->asked[found->nasked++] = *id;
  }
}

/* Does what it was asked lie there yet? Somebody may hold it, or it needs what
 * is not known here. */
static pawl_code look_again(health *t, int shard, const pawl_id *id, int *left,
                            pawl_error *err) {
  pawl_id after = before(id);
  pawl_rows r;

  *left = 0;
  MUST(read_agenda(t->e, shard, &after, 1, &r, err));
  if (!r.nrows) return PAWL_OK;
  const pawl_health_agenda_row row = pawl_read_health_agenda(&r, 0);
  *left = pawl_id_eq(row.instance, id) && row.asked;
  return PAWL_OK;
}

/* What they were asked, to end as a rule, is done as `pawl cancel` does it: no
 * handler runs. All else, also what people answered, is for a worker. */
static pawl_code take_asked(health *t, int shard, const wrongs *found,
                            pawl_error *err) {
  for (int i = 0; i < found->nasked; i++) {
    int left = 0;
    pawl_code rc = t->mend(t->e, PAWL_WRONG_ASKED, shard, &found->asked[i], 1,
                           &left, err);
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
  wrongs found = {.nstray = 0};
  pawl_rows r;
  int gone = 0;

  MUST(read_agenda(t->e, shard, after, PAGE, &r, err));
  assert(r.nrows <= PAGE); /* `found` has room for no more */
  *n = r.nrows;
  for (int k = 0; k < r.nrows; k++) look_at_row(t, &r, k, &found, after);
  t->stray += found.nstray;
  if (!t->mend) return PAWL_OK;
  MUST(t->mend(t->e, PAWL_WRONG_STRAY, shard, found.stray, found.nstray, &gone,
               err));
  t->repaired += gone;
  return take_asked(t, shard, &found, err);
}

/* ---- instances ---- */

/* The statement says what is wrong; here it is counted, told and, if that is
 * wanted, mended page by page. */
static pawl_code look_at_page(health *t, int shard, const pawl_buf *workflow,
                              const char *status, pawl_id *after, int *n,
                              pawl_error *err) {
  pawl_id unseen[PAGE];
  pawl_rows r;
  int nunseen = 0, mended = 0;

  MUST(PAWL_READ(t->e->store, health_page, &r, err, .shard = shard,
                 .workflow = pawl_buf_str(workflow),
                 .status = pawl_strz(status), .after = after,
                 .shards = t->e->nshards, .now = pawl_store_now(t->e->store),
                 .max = PAGE));
  assert(r.nrows <= PAGE);
  *n = r.nrows;
  for (int k = 0; k < r.nrows; k++) {
    const pawl_health_page_row row = pawl_read_health_page(&r, k);
    pawl_str what = row.wrong;
    *after = *row.instance;
    if (!what.at) continue;
    tell(t, after,
         (place){.workflow = pawl_buf_str(workflow), .node = row.node}, what);
    unseen[nunseen++] = *after;
  }
  t->looked += r.nrows;
  t->unseen += nunseen;
  if (!t->mend) return PAWL_OK;
  MUST(t->mend(t->e, PAWL_WRONG_UNSEEN, shard, unseen, nunseen, &mended, err));
  t->repaired += mended;
  return PAWL_OK;
}

/* Those that have not ended, each status by itself and page by page. */
static pawl_code look_at_workflow(health *t, int shard,
                                  const pawl_buf *workflow, pawl_error *err) {
  static const char *const live[] = {"running", "waiting", "suspended"};

  for (size_t i = 0; i < sizeof live / sizeof *live; i++) {
    pawl_id after = {{0}};
    for (int n = PAGE; n == PAGE;)
      MUST(look_at_page(t, shard, workflow, live[i], &after, &n, err));
  }
  return PAWL_OK;
}

static pawl_code next_workflow(health *t, int shard, pawl_buf *workflow,
                               int *more, pawl_error *err) {
  pawl_rows r;

  MUST(PAWL_READ(
      t->e->store, health_workflow, &r, err, .shard = shard,
      .after = workflow->len ? pawl_buf_str(workflow) : pawl_strz("")));
  *more = r.nrows > 0;
  if (!*more) return PAWL_OK;
  pawl_buf_set(workflow, pawl_read_health_workflow(&r, 0).workflow);
  return pawl_buf_check(workflow, err);
}

/* The agenda first: what is stray there would be counted for nothing behind
 * it. */
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
  pawl_id one = before(id);
  pawl_rows r;

  *what = NULL;
  MUST(PAWL_READ(e->store, health_page, &r, err, .shard = pawl_shard_of(e, id),
                 .workflow = workflow, .status = status, .after = &one,
                 .shards = e->nshards, .now = pawl_store_now(e->store),
                 .max = 1));
  if (!r.nrows) return PAWL_OK;
  const pawl_health_page_row row = pawl_read_health_page(&r, 0);
  if (pawl_id_eq(row.instance, id) && row.wrong.at) *what = text_of(row.wrong);
  return PAWL_OK;
}

/* ---- the report ---- */

/* Sound is what needs nobody: what was mended counts as wrong, as somebody
 * wants to know why. */
static pawl_code report(const health *t, pawl_buf *out, pawl_error *err) {
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
  MUST(pawl_condition_tell(t->e, t->lease_us, &o, err));
  pawl_object_end(&o);
  return PAWL_OK;
}

pawl_code pawl_health_look(pawl_engine *e, pawl_mender *mend, pawl_buf *out,
                           pawl_error *err) {
  health t = {.e = e, .mend = mend, .list = {.alloc = &e->alloc}};
  pawl_code rc = PAWL_OK;

  for (int s = 0; s < e->nshards; s++) TRY(look_at_shard(&t, s, err));
  TRY(pawl_buf_check(&t.list, err));
  TRY(report(&t, out, err));
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&t.list);
  return rc;
}

pawl_code pawl_engine_busy(pawl_engine *e, int *busy, pawl_error *err) {
  pawl_rows r;

  *busy = e->nheld > 0;
  for (int s = 0; s < e->nshards && !*busy; s++) {
    MUST(PAWL_READ(e->store, agenda_busy, &r, err, .shard = s,
                   .executor_group = pawl_strz(e->config.group),
                   .horizon_us = PAWL_MAX_LEASE_US,
                   .now = pawl_store_now(e->store)));
    *busy = pawl_read_agenda_busy(&r, 0).held != 0;
  }
  return PAWL_OK;
}
