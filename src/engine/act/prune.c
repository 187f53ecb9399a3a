/* What is past its time goes, and what nobody needs any more: a sweep through
 * the store, stage by stage, shard by shard, in the order of ids.
 *
 *   ended       instances, by how their workflow retains them, else as asked
 *   deleted     those that were deleted, and those whose purge, or archive,
 *               was cut short
 *   outbox      rows that were published
 *   tasks       that are over, of instances that go on
 *   attributes  that have outlived their instance
 *   audit       entries of what no history has
 *   events      that have expired
 *   revisions   of versions that were hot-fixed since
 *   executors   that are long gone
 *   space       that SQLite's file has free then
 *
 * One housekeeper is at work in a store at a time: he has its one row in
 * `housekeeper`, for TTL_US, and takes it anew before that is over. It is no
 * more than manners: each unit is right beside another's. Who leaves it writes
 * down his place, so that the next goes on there. What somebody asked for by
 * name the audit tells, in numbers. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/fault.h"
#include "../../value/options.h"
#include "../common/audit.h"
#include "../common/chore.h"
#include "../common/find.h"
#include "../common/time.h"
#include "sweep.h"

#define TTL_US (30 * PAWL_SECOND)
#define SWEEP_EVERY_US (60 * PAWL_SECOND) /* by workers */
#define LOOK_EVERY_US (10 * PAWL_SECOND)  /* is it due, or has he gone? */
enum {
  ROWS_APART = 8,  /* of an instance, beside its history */
  LONG_ROWS = 200, /* one that has more is no part of a unit by itself */
  MOST_ROWS = 1000,
  SMALL_ROWS = 32, /* one that has fewer is, however little time there is */
  FULL_TRIES = 6,  /* of a unit for which the disk has no room */
  REST = 9         /* a worker works a tenth of its time */
};

/* ---- what is asked for ---- */

typedef pawl_sweep_request request;

#define SPAN(name) \
  {#name "_us", PAWL_OPTION_SPAN, .at = offsetof(request, name)},
static const pawl_option prune_rows[] = {
    PAWL_SWEPT(SPAN){"archive", PAWL_OPTION_BOOL,
                     .at = offsetof(request, archive)},
    {"keep_attributes", PAWL_OPTION_BOOL,
     .at = offsetof(request, keep_attributes)},
    {"limit", PAWL_OPTION_INT, .at = offsetof(request, limit), .low = 1},
    {"dry_run", PAWL_OPTION_BOOL, .at = offsetof(request, dry_run)},
    {"share", PAWL_OPTION_INT, .at = offsetof(request, share), .low = 1,
     .high = 100},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(request, by),
     .high = PAWL_MAX_BY}};
PAWL_OPTIONS_OF(prune) = {.what = "prune", PAWL_OPTION_ROWS(prune_rows)};
/* What pawl_config.retain says: the first of them. */
static const pawl_options retain_options = {
    .what = "retain",
    .rows = prune_rows,
    .nrows = (int)(offsetof(request, archive) - offsetof(request, retain)) /
                 (int)sizeof(int64_t) +
             2};

static void init_request(request *r, const pawl_alloc *alloc) {
  pawl_options_init(&pawl_options_of_prune, r, sizeof *r, alloc);
#define NEVER(name) r->name = -1;
  PAWL_SWEPT(NEVER)
  r->archive = r->keep_attributes = -1;
  r->limit = INT64_MAX;
}

static pawl_code read_retain(pawl_engine *e, request *r, pawl_error *err) {
  const char *text = e->config.retain;

  init_request(r, &e->alloc);
  if (!text || !text[0]) return PAWL_OK;
  return pawl_options_read(&retain_options, pawl_strz(text), r, err);
}

pawl_code pawl_prune_check(pawl_engine *e, pawl_error *err) {
  request r;
  return read_retain(e, &r, err);
}

static int64_t span_of(const request *r, pawl_retained end) {
  const int64_t spans[] = {
#define END_SPAN(name) r->name,
      PAWL_RETAINED(END_SPAN)};
  if (spans[end] >= 0 || end == PAWL_RETAINED_deleted) return spans[end];
  return r->retain;
}

/* ---- a sweep ---- */

typedef pawl_sweep sweep;
typedef pawl_sweep_place place;
typedef pawl_sweep_count count;

/* One step of a stage: as much as one unit takes. *done: no more in this
 * shard. */
typedef struct stage {
  const char *name;
  pawl_code (*step)(sweep *w, int *done, pawl_error *err);
  int by_shard;
} stage;

/* ---- how long? ---- */

/* A version of a workflow that says how long its instances are kept. version 0:
 * those of the workflow are all there. */
typedef struct version {
  char workflow[256];
  int64_t version;
  pawl_retain retain;
} version;

static int nversions(const sweep *w) {
  return (int)(w->versions.len / sizeof(version));
}

static const version *version_at(const sweep *w, int i) {
  return (const version *)(const void *)w->versions.at + i;
}

static int is_of(const version *v, pawl_str workflow) {
  return pawl_str_eqz(workflow, v->workflow);
}

static void add_version(sweep *w, pawl_str workflow, int64_t number,
                        pawl_str retain) {
  version v = {.version = number};

  assert(workflow.len < sizeof v.workflow);
  memcpy(v.workflow, workflow.at, workflow.len);
  pawl_retain_read(retain, &v.retain);
  pawl_buf_add(&w->versions, (const char *)&v, sizeof v);
}

/* Once in a sweep: what is deployed meanwhile counts for the next one. */
static pawl_code know_workflow(sweep *w, pawl_str workflow, pawl_error *err) {
  pawl_rows rows;

  for (int i = 0; i < nversions(w); i++)
    if (is_of(version_at(w, i), workflow)) return PAWL_OK;
  MUST(PAWL_READ(w->e->store, prune_retains, &rows, err, .code = workflow));
  add_version(w, workflow, 0, (pawl_str){0});
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_prune_retains_row row = pawl_read_prune_retains(&rows, k);
    add_version(w, workflow, row.version, row.retain);
  }
  return pawl_buf_check(&w->versions, err);
}

/* What is asked for now counts for all; else a definition's word wins. -1: they
 * stay. */
static int64_t kept_us(const sweep *w, const version *v, pawl_retained end) {
  int64_t us = span_of(&w->asked, end);

  if (us < 0 && v) us = v->retain.us[end];
  return us < 0 ? span_of(&w->ours, end) : us;
}

static const version *version_of(const sweep *w, pawl_str workflow,
                                 int64_t number) {
  for (int i = 0; i < nversions(w); i++) {
    const version *v = version_at(w, i);
    if (v->version == number && is_of(v, workflow)) return v;
  }
  return NULL;
}

static int64_t kept_of(const sweep *w, pawl_str workflow, int64_t number,
                       pawl_retained end) {
  return kept_us(w, version_of(w, workflow, number), end);
}

/* Who has said so counts as for a time. */
static int first_said(int asked, int of_version, int ours) {
  const int said = asked >= 0 ? asked : of_version >= 0 ? of_version : ours;
  return said > 0;
}

static int is_filed(const sweep *w, const version *v) {
  return first_said(w->asked.archive, v ? v->retain.archive : -1,
                    w->ours.archive);
}

static int keeps_attributes(const sweep *w, const version *v) {
  return first_said(w->asked.keep_attributes,
                    v ? v->retain.keep_attributes : -1,
                    w->ours.keep_attributes);
}

/* The shortest time among a workflow's versions. */
static int64_t least_kept(const sweep *w, pawl_str workflow,
                          pawl_retained end) {
  int64_t least = -1;

  for (int i = 0; i < nversions(w); i++) {
    if (!is_of(version_at(w, i), workflow)) continue;
    int64_t us = kept_us(w, version_at(w, i), end);
    if (us >= 0 && (least < 0 || us < least)) least = us;
  }
  return least;
}

/* ---- instances ---- */

/* A long one does not fit into a unit: it is marked as by pawl_change, and its
 * rows go in the stage that follows. */
static pawl_code mark(sweep *w, const pawl_purgeable *p, pawl_error *err) {
  static const char WHY[] = "{\"reason\":\"past its time\"}";
  static const char KEEPS[] =
      "{\"reason\":\"past its time\",\"keep_attributes\":true}";
  pawl_error hindered;
  int done = 0;
  pawl_code rc = pawl_act_request(
      w->e, w->take, &p->id, NULL, "purge", "system", "",
      pawl_strz(p->keep_attributes ? KEEPS : WHY), &done, &hindered, err);

  if (rc != PAWL_OK && rc != PAWL_CONFLICT && rc != PAWL_ALREADY_FINISHED &&
      rc != PAWL_NOTFOUND)
    return rc;
  if (rc == PAWL_OK && !done && hindered.code)
    return pawl_fail_so(err, &hindered);
  if (!done) pawl_sweep_count_of(w)->kept[PAWL_KEPT_LEASED]++;
  return PAWL_OK;
}

/* How many of the list one unit can take; what is needed takes nothing. */
static int fit(const sweep *w, const pawl_purgeable *list, int n, int *takes) {
  const int room = pawl_pace_rows(w->e, PAWL_PACED_ROWS);
  const int large = room < SMALL_ROWS  ? SMALL_ROWS
                    : room > LONG_ROWS ? LONG_ROWS
                                       : room;
  int64_t rows = 0;
  int i;

  *takes = 0;
  for (i = 0; i < n && *takes < pawl_sweep_at_most(w, n); i++) {
    if (list[i].hold) continue;
    rows += list[i].rows;
    if (rows > room && (*takes || list[i].rows > large)) break;
    ++*takes;
  }
  return i;
}

enum { FILED = 16 }; /* in one step; each is a unit of its own */

/* What is wrong with one is no reason for others to stay. */
static void keep_refused(sweep *w, const pawl_id *id, pawl_error *why) {
  pawl_error_prefix(why, "instance %s", pawl_id_text_of(id).at);
  pawl_log_error(&w->e->log, PAWL_WARN,
                 "what is past its time cannot be archived, and stays", why);
  pawl_sweep_count_of(w)->kept[PAWL_KEPT_REFUSED]++;
}

static pawl_code file_one(sweep *w, const pawl_purgeable *p, pawl_error *err) {
  const pawl_filed f = {.what = PAWL_FILE_IN,
                        .id = p->id,
                        .completed_us = p->completed_us,
                        .until_mono = w->until_mono,
                        .reason = pawl_strz("past its time")};
  int done = 0;
  pawl_code rc = w->asked.dry_run ? PAWL_OK : w->file(w->e, &f, &done, err);

  if (rc == PAWL_BUSY) pawl_sweep_count_of(w)->kept[PAWL_KEPT_LEASED]++;
  if (rc == PAWL_BUSY || rc == PAWL_NOTFOUND) return PAWL_OK; /* not now */
  if (rc != PAWL_OK && !pawl_code_is_final(rc, err)) return rc;
  if (rc != PAWL_OK) {
    keep_refused(w, &p->id, err);
    return PAWL_OK;
  }
  pawl_sweep_count_of(w)->archived++;
  w->left--;
  return PAWL_OK;
}

static pawl_code file_some(sweep *w, pawl_purgeable *list, int n, int *used,
                           pawl_error *err) {
  int64_t until_mono = pawl_clock_mono() + PAWL_UNIT_US;

  if (until_mono > w->until_mono) until_mono = w->until_mono;
  if (n > FILED) n = FILED;
  MUST(pawl_purge_look(w->e, w->at.shard, list, n, err));
  for (*used = 0; *used < n && w->left; ++*used) {
    if (*used && pawl_clock_mono() >= until_mono) break;
    if (list[*used].hold)
      pawl_sweep_count_of(w)->kept[list[*used].hold]++;
    else
      MUST(file_one(w, &list[*used], err));
  }
  return PAWL_OK;
}

/* Of a list in the order of ids, as much as one unit takes: *used of them were
 * seen to. */
static pawl_code purge_some(sweep *w, pawl_purgeable *list, int n, int *used,
                            pawl_error *err) {
  pawl_purgeable take[PAWL_SWEEP_PAGE];
  int takes, ntake = 0;
  int64_t gone = 0;

  MUST(pawl_purge_look(w->e, w->at.shard, list, n, err));
  *used = fit(w, list, n, &takes);
  for (int i = 0; i < *used; i++) {
    if (list[i].hold)
      pawl_sweep_count_of(w)->kept[list[i].hold]++;
    else
      take[ntake++] = list[i];
  }
  assert(ntake == takes);
  if (w->asked.dry_run) {
    gone = ntake;
  } else {
    MUST(pawl_purge_many(w->e, w->at.shard, take, ntake, &gone, err));
    pawl_sweep_count_of(w)->kept[PAWL_KEPT_LEASED] += ntake - gone;
  }
  pawl_sweep_removed(w, gone);
  if (*used == n || ntake || !w->left) return PAWL_OK;
  if (w->asked.dry_run) /* it alone is too long for a unit */
    pawl_sweep_removed(w, 1);
  else
    MUST(mark(w, &list[*used], err));
  ++*used;
  return PAWL_OK;
}

/* Those at the front that go the same way. */
static pawl_code remove_some(sweep *w, pawl_purgeable *list, int n, int *used,
                             pawl_error *err) {
  int k = 1;

  while (k < n && list[k].is_filed == list[0].is_filed) k++;
  return (list[0].is_filed ? file_some : purge_some)(w, list, k, used, err);
}

/* So many are looked at together, by what rows they have at least. */
static int instances_page(const sweep *w) {
  const int n = w->e->piece_rows / ROWS_APART;
  return !w->e->piece_rows || n > PAWL_SWEEP_PAGE ? PAWL_SWEEP_PAGE
         : n > 0                                  ? n
                                                  : 1;
}

static void add_candidate(const sweep *w, pawl_purgeable *list, int *n,
                          const pawl_prune_ended_row *row) {
  const version *v = version_of(w, row->workflow, row->version);
  pawl_purgeable *p = &list[(*n)++];

  *p = (pawl_purgeable){
      .id = *row->id,
      .is_filed = !row->deleted_at && is_filed(w, v),
      .keep_attributes = keeps_attributes(w, v),
      .has_parent = row->parent != NULL,
      .completed_us = row->completed_at,
      .rows = row->seq + row->sent + row->parts + ROWS_APART,
      .hold = row->away.len ? PAWL_HOLD_AWAY : PAWL_HOLD_NOTHING};
  if (row->parent) p->parent = *row->parent;
}

/* Behind the last that was looked at, and, where that is the page's last one,
 * behind the page. */
static int move_on(sweep *w, const pawl_purgeable *list, int n, int used,
                   const pawl_id *last, int page_is_last) {
  if (used < n) {
    w->at.after = list[used - 1].id;
    return 0;
  }
  w->at.after = *last;
  return page_is_last;
}

static int has_passed(const sweep *w, int64_t at_us, int64_t kept) {
  return kept >= 0 && at_us <= w->now_us - kept;
}

static pawl_code next_workflow(sweep *w, int *done, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(w->e->store, health_workflow, &rows, err,
                 .shard = w->at.shard, .after = pawl_strz(w->at.workflow)));
  *done = !rows.nrows;
  if (*done) return PAWL_OK;
  pawl_str code = pawl_read_health_workflow(&rows, 0).workflow;
  assert(code.len < sizeof w->at.workflow);
  memcpy(w->at.workflow, code.at, code.len);
  w->at.workflow[code.len] = '\0';
  w->at.status = 0;
  w->at.after = (pawl_id){{0}};
  return know_workflow(w, pawl_strz(w->at.workflow), err);
}

static pawl_code take_ended(sweep *w, const pawl_id *before, int *page_is_last,
                            pawl_error *err) {
  const pawl_retained end = (pawl_retained)w->at.status;
  const pawl_str code = pawl_strz(w->at.workflow);
  const int page = instances_page(w);
  pawl_purgeable list[PAWL_SWEEP_PAGE];
  pawl_id last = w->at.after;
  pawl_rows rows;
  int n = 0, used = 0;

  MUST(PAWL_READ(w->e->store, prune_ended, &rows, err, .shard = w->at.shard,
                 .workflow = code,
                 .status = pawl_strz(pawl_retained_names[end]),
                 .after = &w->at.after, .before = before, .max = page));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_prune_ended_row row = pawl_read_prune_ended(&rows, k);
    int64_t kept = kept_of(w, code, row.version, end);
    last = *row.id;
    if (!row.deleted_at && has_passed(w, row.completed_at, kept))
      add_candidate(w, list, &n, &row);
  }
  w->looked += rows.nrows;
  *page_is_last = rows.nrows < page;
  if (n) MUST(remove_some(w, list, n, &used, err));
  *page_is_last = move_on(w, list, n, used, &last, *page_is_last);
  return PAWL_OK;
}

static pawl_code step_ended(sweep *w, int *done, pawl_error *err) {
  int over = 1;

  if (!w->at.workflow[0] || w->at.status == PAWL_RETAINED_deleted)
    return next_workflow(w, done, err);
  MUST(know_workflow(w, pawl_strz(w->at.workflow), err));
  int64_t kept =
      least_kept(w, pawl_strz(w->at.workflow), (pawl_retained)w->at.status);
  if (kept >= 0) {
    const pawl_id before = pawl_sweep_id_behind(w->now_us - kept);
    MUST(take_ended(w, &before, &over, err));
  }
  if (over) {
    w->at.status++;
    w->at.after = (pawl_id){{0}};
  }
  return PAWL_OK;
}

/* As one that has ended, or since it was deleted, whichever is sooner. */
static int is_over(const sweep *w, const pawl_prune_ended_row *row) {
  for (pawl_retained end = 0; end < PAWL_RETAINED_deleted; end++)
    if (pawl_str_eqz(row->status, pawl_retained_names[end]) &&
        has_passed(w, row->completed_at,
                   kept_of(w, row->workflow, row->version, end)))
      return 1;
  return has_passed(
      w, row->deleted_at,
      kept_of(w, row->workflow, row->version, PAWL_RETAINED_deleted));
}

/* What was cut short goes on, until the time is over. */
static pawl_code finish_purge(sweep *w, const pawl_id *id, int *gone,
                              pawl_error *err) {
  pawl_purged how = PAWL_PURGED_HERE;

  if (!w->asked.dry_run)
    MUST(pawl_purge_rows(w->e, id, w->until_mono, &how, err));
  *gone = how != PAWL_PURGED_IN_PART;
  pawl_sweep_removed(w, how == PAWL_PURGED_HERE);
  return PAWL_OK;
}

/* Of those that were archived, and cut short, until the time is over. */
static pawl_code finish_archived(sweep *w, int *all, pawl_error *err) {
  pawl_id ids[FILED];
  pawl_rows rows;

  *all = 1;
  if (w->asked.dry_run) return PAWL_OK;
  MUST(PAWL_READ(w->e->store, archive_left, &rows, err, .shard = w->at.shard,
                 .max = FILED));
  const int n = rows.nrows;
  for (int i = 0; i < n; i++) ids[i] = *pawl_read_archive_left(&rows, i).id;
  for (int i = 0; i < n && *all; i++)
    MUST(pawl_archive_rest(w->e, &ids[i], w->until_mono, all, err));
  *all = *all && n < FILED;
  return PAWL_OK;
}

static pawl_code step_deleted(sweep *w, int *done, pawl_error *err) {
  const int page = instances_page(w);
  pawl_buf keep = {.alloc = &w->e->alloc};
  pawl_purgeable list[PAWL_SWEEP_PAGE];
  pawl_id last = w->at.after;
  pawl_rows rows;
  int n = 0, used = 0, gone = 1, all, k;
  pawl_code rc = PAWL_OK;

  TRY(finish_archived(w, &all, err));
  if (!all) goto out;
  TRY(PAWL_READ(w->e->store, prune_deleted, &rows, err, .shard = w->at.shard,
                .after = &w->at.after, .max = page));
  TRY(PAWL_KEEP(prune_ended, &rows, &keep, err));
  const int nrows = rows.nrows;
  w->looked += nrows;
  for (k = 0; k < nrows && gone && w->left; k++) {
    const pawl_prune_ended_row *row = &PAWL_KEPT(prune_ended, &keep)[k];
    if (row->purge_at) {
      TRY(finish_purge(w, row->id, &gone, err));
      if (!gone) break;
    } else {
      TRY(know_workflow(w, row->workflow, err));
      if (is_over(w, row)) add_candidate(w, list, &n, row);
    }
    last = *row->id;
  }
  if (n) TRY(remove_some(w, list, n, &used, err));
  *done = move_on(w, list, n, used, &last, k == nrows && nrows < page);
out:
  pawl_buf_deinit(&keep);
  return rc;
}

static const stage stages[] = {{"instances", step_ended, 1},
                               {"deleted", step_deleted, 1},
                               {"outbox", pawl_sweep_outbox, 1},
                               {"tasks", pawl_sweep_tasks, 1},
                               {"attributes", pawl_sweep_attributes, 1},
                               {"audit", pawl_sweep_audit, 1},
                               {"events", pawl_sweep_events, 1},
                               {"revisions", pawl_sweep_revisions, 0},
                               {"executors", pawl_sweep_executors, 0},
                               {"space", pawl_sweep_space, 0}};
enum { NSTAGES = sizeof stages / sizeof *stages, SPACE = NSTAGES - 1 };
_Static_assert(NSTAGES == (int)PAWL_NPACED, "each has a cost of its own");

/* ---- going through them ---- */

static pawl_code step(sweep *w, pawl_error *err) {
  const stage *s = &stages[w->at.stage];
  int done = 0;

  (void)PAWL_FAULT("engine.prune.step");
  MUST(s->step(w, &done, err));
  if (!done) return PAWL_OK;
  int shard = s->by_shard ? w->at.shard + 1 : w->e->nshards;
  w->at = (place){.stage = w->at.stage, .shard = shard};
  if (shard >= w->e->nshards) w->at = (place){.stage = w->at.stage + 1};
  return PAWL_OK;
}

static int is_finished(const sweep *w) {
  return w->at.stage == NSTAGES;
}

/* A limit is of what goes: the space is given back all the same. */
static void heed_limit(sweep *w) {
  if (w->left > 0 || w->at.stage >= SPACE) return;
  w->at = (place){.stage = SPACE};
}

/* "stage shard status seq id workflow": of a sweep that goes on later. */
static void write_place(const place *p, pawl_buf *out) {
  pawl_buf_addf(out, "%d %d %d %" PRId64 " %s %s", p->stage, p->shard,
                p->status, p->after_seq, pawl_id_text_of(&p->after).at,
                p->workflow);
}

/* Of instances the last, or of tasks that behind them. */
enum {
  MOST_STATUS = (int)PAWL_RETAINED_deleted > (int)PAWL_NTASK_ENDS
                    ? (int)PAWL_RETAINED_deleted
                    : (int)PAWL_NTASK_ENDS
};

/* What cannot be read is a place of its own: the beginning. */
static void read_place(const pawl_engine *e, pawl_str text, place *p) {
  char id[64] = "";
  place q = {0};
  char copy[512];

  *p = q;
  if (!text.len || text.len >= sizeof copy) return;
  memcpy(copy, text.at, text.len);
  copy[text.len] = '\0';
  if (sscanf(copy, "%d %d %d %" SCNd64 " %63s %255s", &q.stage, &q.shard,
             &q.status, &q.after_seq, id, q.workflow) < 5 ||
      q.stage < 0 || q.stage >= NSTAGES || q.shard < 0 ||
      q.shard >= e->nshards || q.status < 0 || q.status > MOST_STATUS ||
      !pawl_id_parse(id, strlen(id), &q.after))
    return;
  *p = q;
}

/* ---- who does it ---- */

/* *got: we have it, or have it on. `dead`: whose it may be taken from. Nobody
 * waits for the disk: what a power cut takes is manners. */
static pawl_code take_from(sweep *w, const pawl_id *dead, int asked, int *got,
                           pawl_buf *place_of, pawl_error *err) {
  const pawl_process *self = &w->e->self;
  pawl_rows rows;

  const pawl_housekeeper_take_args row = {.executor = &w->e->executor,
                                          .host = pawl_strz(self->host),
                                          .boot = pawl_strz(self->boot),
                                          .space = pawl_strz(self->space),
                                          .pid = self->pid,
                                          .begun = self->begun,
                                          .dead = dead,
                                          .ttl_us = TTL_US,
                                          .asked = asked,
                                          .now = pawl_store_now(w->e->store)};

  MUST(pawl_store_once_one(w->e->store, PAWL_UNIT_SOON,
                           PAWL_STMT_housekeeper_take, &row, &rows, err));
  *got = rows.nrows > 0;
  if (!*got || !place_of) return PAWL_OK;
  pawl_buf_set(place_of, pawl_read_housekeeper_take(&rows, 0).place);
  return pawl_buf_check(place_of, err);
}

/* Rule 10: what a process of this host had, which is gone, is free at once. */
static int find_dead(const pawl_engine *e, const pawl_housekeeper_get_row *row,
                     pawl_id *dead) {
  pawl_process other = {.pid = row->pid, .begun = row->begun};

  pawl_str_copy(other.host, sizeof other.host, row->host);
  pawl_str_copy(other.boot, sizeof other.boot, row->boot);
  pawl_str_copy(other.space, sizeof other.space, row->space);
  *dead = *row->executor;
  return pawl_process_is_gone(&e->self, &other);
}

static pawl_code take_house(sweep *w, int asked, int *got, pawl_buf *place_of,
                            pawl_error *err) {
  pawl_engine *e = w->e;
  pawl_rows rows;
  pawl_id dead;

  MUST(take_from(w, &e->executor, asked, got, place_of, err));
  if (*got) return PAWL_OK;
  MUST(PAWL_READ(e->store, housekeeper_get, &rows, err,
                 .now = pawl_store_now(e->store)));
  if (!rows.nrows) return PAWL_OK;
  const pawl_housekeeper_get_row row = pawl_read_housekeeper_get(&rows, 0);
  if (!find_dead(e, &row, &dead)) return PAWL_OK;
  return take_from(w, &dead, asked, got, place_of, err);
}

/* at: where whoever is next goes on; NULL: at the beginning. */
static pawl_code leave_house(sweep *w, const place *at, int64_t pause_us,
                             pawl_error *err) {
  pawl_buf text = {.alloc = &w->e->alloc};
  pawl_code rc = PAWL_OK;

  if (at) write_place(at, &text);
  TRY(pawl_buf_check(&text, err));
  const pawl_housekeeper_leave_args row = {
      .executor = &w->e->executor,
      .pause_us = pause_us,
      .place = at ? pawl_buf_str(&text) : pawl_strz(""),
      .now = pawl_store_now(w->e->store)};
  TRY(pawl_store_once_one(w->e->store, PAWL_UNIT_SOON,
                          PAWL_STMT_housekeeper_leave, &row, NULL, err));
out:
  pawl_buf_deinit(&text);
  return rc;
}

static int64_t seconds(int64_t us) {
  return us > 0 ? us / PAWL_SECOND : 0;
}

static pawl_code refuse_busy(pawl_engine *e, pawl_error *err) {
  const int64_t now = pawl_engine_now(e);
  pawl_rows rows;

  MUST(PAWL_READ(e->store, housekeeper_get, &rows, err,
                 .now = pawl_store_now(e->store)));
  if (!rows.nrows)
    return pawl_fail_hint(err, PAWL_BUSY, "ask again in a moment",
                          "somebody was pruning this store just now");
  const pawl_housekeeper_get_row row = pawl_read_housekeeper_get(&rows, 0);
  pawl_fail(err, PAWL_BUSY,
            "process %" PRId64
            " of host \"%.*s\" is pruning this store now, "
            "since %" PRId64 " s",
            row.pid, (int)(row.host.len < 63 ? row.host.len : 63), row.host.at,
            seconds(now - row.since));
  pawl_error_hint(err,
                  "ask again in a moment; had it died, its time would be over "
                  "in %" PRId64 " s",
                  seconds(row.expires_at - now) + 1);
  return PAWL_BUSY;
}

static void init_sweep(sweep *w, count *counts) {
  memset(counts, 0, sizeof *counts * NSTAGES);
  w->counts = counts;
  w->now_us = pawl_engine_now(w->e);
  w->left = w->asked.limit;
  w->e->longest_us = 0;
  w->versions.alloc = &w->e->alloc;
}

/* ---- all at once ---- */

static const char *const kept_names[PAWL_NKEPT] = {
    [PAWL_HOLD_PARENT] = "parent",
    [PAWL_HOLD_WORD] = "word",
    [PAWL_HOLD_CHILDREN] = "children",
    [PAWL_HOLD_UNDELIVERED] = "undelivered",
    [PAWL_HOLD_UNPUBLISHED] = "unpublished",
    [PAWL_HOLD_AWAY] = "away",
    [PAWL_KEPT_LEASED] = "leased",
    [PAWL_KEPT_TASK] = "needed",
    [PAWL_KEPT_REFUSED] = "refused"};

static void tell_count(pawl_object *o, const char *name, const count *c) {
  pawl_object inner, kept;

  pawl_member_object(o, name, &inner);
  pawl_member_int(&inner, "removed", c->removed);
  if (c->archived) pawl_member_int(&inner, "archived", c->archived);
  pawl_member_object(&inner, "kept", &kept);
  for (int i = 0; i < PAWL_NKEPT; i++)
    if (c->kept[i]) pawl_member_int(&kept, kept_names[i], c->kept[i]);
  pawl_object_end(&kept);
  pawl_object_end(&inner);
}

static void tell(const sweep *w, int finished, pawl_buf *out) {
  pawl_object o;

  pawl_object_begin(&o, out);
  for (int i = 0; i < SPACE; i++)
    tell_count(&o, stages[i].name, &w->counts[i]);
  pawl_member_int(&o, "freed_bytes", w->freed_bytes);
  pawl_member_int(&o, "longest_us", w->e->longest_us);
  pawl_member_int(&o, "rested_us", w->pace.rested_us);
  pawl_member_bool(&o, "finished", finished);
  pawl_member_bool(&o, "dry_run", w->asked.dry_run);
  pawl_object_end(&o);
}

/* "instances 7, outbox 3": what went; empty: nothing did. */
static void tell_gone(const sweep *w, pawl_buf *out) {
  for (int i = 0; i < SPACE; i++) {
    const count *c = &w->counts[i];
    if (c->removed)
      pawl_buf_addf(out, "%s%s %" PRId64, out->len ? ", " : "", stages[i].name,
                    c->removed);
    if (c->archived)
      pawl_buf_addf(out, "%s%s archived %" PRId64, out->len ? ", " : "",
                    stages[i].name, c->archived);
  }
}

/* Also of a sweep that was cut short, or has failed half-way. */
static pawl_code tell_audit(const sweep *w, pawl_error *err) {
  pawl_engine *e = w->e;
  pawl_buf text = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  if (!w->asked.by.len || w->asked.dry_run) return PAWL_OK;
  tell_gone(w, &text);
  TRY(pawl_buf_check(&text, err));
  if (!text.len) goto out;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(pawl_audit_store(e, "pruned", pawl_buf_str(&w->asked.by),
                       pawl_buf_str(&text), err));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_buf_deinit(&text);
  return rc;
}

/* As a pace calls it, and between units. */
static pawl_code keep_house(void *ud, pawl_error *err) {
  sweep *w = ud;
  int got;

  if (w->asked.dry_run || pawl_engine_now(w->e) < w->again_us) return PAWL_OK;
  MUST(take_house(w, 1, &got, NULL, err));
  if (!got) return refuse_busy(w->e, err);
  w->again_us = pawl_engine_now(w->e) + TTL_US / 3;
  return PAWL_OK;
}

/* A unit that the disk has no room for is undone, and the next is smaller. */
static int may_be_smaller(pawl_code rc, const pawl_error *err, int *tries) {
  const int is_full =
      rc == PAWL_FULL || (rc == PAWL_BUSY && !strcmp(err->sqlstate, "40001"));
  if (rc == PAWL_OK) *tries = 0;
  return is_full && ++*tries <= FULL_TRIES;
}

static pawl_code go_through(sweep *w, int *finished, pawl_error *err) {
  int tries = 0;

  w->again_us = pawl_engine_now(w->e) + TTL_US / 3;
  while (!is_finished(w)) {
    MUST(pawl_pace_rest(w->e, err)); /* A2 */
    if (w->e->interrupted) break;
    MUST(keep_house(w, err));
    const pawl_code rc = step(w, err);
    if (may_be_smaller(rc, err, &tries)) continue;
    if (rc != PAWL_OK) return rc;
    *finished = *finished && (w->left > 0 || w->at.stage >= SPACE);
    heed_limit(w);
  }
  *finished = *finished && is_finished(w);
  return PAWL_OK;
}

/* Whatever came of it: what has gone is told, and the house is left. */
static pawl_code end_sweep(sweep *w, pawl_code rc, pawl_error *err) {
  pawl_error second;
  pawl_code next = tell_audit(w, rc == PAWL_OK ? err : &second);

  if (rc == PAWL_OK) rc = next;
  next = leave_house(w, NULL, 0, rc == PAWL_OK ? err : &second);
  return rc == PAWL_OK ? next : rc;
}

static pawl_code sweep_all(sweep *w, pawl_buf *out, pawl_error *err) {
  pawl_engine *e = w->e;
  int got = 0, finished = 1;
  pawl_code rc = PAWL_OK;

  e->interrupted = 0;
  if (!w->asked.dry_run) {
    MUST(take_house(w, 1, &got, NULL, err));
    if (!got) return refuse_busy(e, err);
  }
  w->pace =
      (struct pawl_pace){.asked = w->asked.dry_run ? 100 : (int)w->asked.share,
                         .keep = keep_house,
                         .ud = w};
  pawl_pace_enter(e, &w->pace);
  TRY(go_through(w, &finished, err));
  tell(w, finished, out);
  rc = pawl_buf_check(out, err);
out:
  pawl_pace_leave(e);
  e->interrupted = 0;
  pawl_buf_deinit(&w->versions);
  return got ? end_sweep(w, rc, err) : rc;
}

pawl_code pawl_prune_all(pawl_engine *e, pawl_taker *take, pawl_filer *file,
                         pawl_str options, pawl_buf *out, pawl_error *err) {
  sweep w = {.e = e, .take = take, .file = file, .until_mono = PAWL_NEVER};
  count counts[NSTAGES];
  pawl_code rc = PAWL_OK;

  if (pawl_store_held(e->store))
    return pawl_fail_hint(err, PAWL_MISUSE, "prune behind the transaction",
                          "to prune is many transactions: it cannot be part "
                          "of one that is held");
  init_request(&w.asked, &e->alloc);
  TRY(pawl_options_read(&pawl_options_of_prune, options, &w.asked, err));
  TRY(read_retain(e, &w.ours, err));
  init_sweep(&w, counts);
  TRY(sweep_all(&w, out, err));
out:
  pawl_options_deinit(&pawl_options_of_prune, &w.asked);
  return rc;
}

/* ---- a piece ---- */

static int is_told(const pawl_engine *e) {
  const pawl_def *d;

  if (e->config.retain && e->config.retain[0]) return 1;
  for (int i = 0; (d = pawl_registry_at(e->registry, i)); i++)
    if (d->retains) return 1;
  return 0;
}

/* Nothing is pruned unless somebody has said for how long it is kept: we, or a
 * version that is stored, whoever runs it. */
static pawl_code find_wanted(pawl_engine *e, int64_t now_mono, int *wanted,
                             pawl_error *err) {
  pawl_rows rows;

  *wanted = 1;
  if (is_told(e)) return PAWL_OK;
  if (now_mono >= e->retain_mono_us) {
    MUST(pawl_store_once_one(e->store, PAWL_UNIT_READ, PAWL_STMT_prune_wanted,
                             NULL, &rows, err));
    e->stored_retain = rows.nrows > 0;
    e->retain_mono_us = now_mono + LOOK_EVERY_US;
  }
  *wanted = e->stored_retain;
  return PAWL_OK;
}

/* As much as fits in what is left of the piece; its first step takes a row,
 * however little that is. 0: there is no time for one. */
static int rows_of_step(const sweep *w, int64_t left_us, int steps) {
  const pawl_cost *cost = &w->e->sweep_costs[w->at.stage];

  return (steps ? pawl_cost_fits : pawl_cost_must)(cost, left_us, MOST_ROWS);
}

static pawl_code do_step(sweep *w, int rows, int64_t *took_us,
                         pawl_error *err) {
  pawl_cost *cost = &w->e->sweep_costs[w->at.stage];
  const int64_t began = pawl_clock_mono(), before = w->e->taken_rows;

  w->looked = 0;
  w->e->piece_rows = rows;
  const pawl_code rc = step(w, err);
  w->e->piece_rows = 0;
  const int64_t n = w->looked + w->e->taken_rows - before;
  *took_us = pawl_chore_took(w->e, cost, (int)n, began);
  return rc;
}

/* `fits`: it ends with the tick. */
static pawl_code do_steps(sweep *w, int64_t left_us, int fits,
                          pawl_error *err) {
  int64_t took_us = 0;

  for (int steps = 0; !is_finished(w) && !w->e->interrupted; steps++) {
    const int rows = fits ? rows_of_step(w, left_us, steps) : 0;
    if (fits ? !rows : steps && pawl_clock_mono() >= w->until_mono) break;
    MUST(do_step(w, rows, &took_us, err));
    left_us -= took_us;
  }
  return PAWL_OK;
}

static pawl_code do_piece(sweep *w, int64_t time_us, int fits,
                          pawl_error *err) {
  const int64_t began = pawl_clock_mono();
  pawl_error second;

  w->until_mono = began + time_us;
  const pawl_code rc = do_steps(w, time_us, fits, err);
  const int64_t took = pawl_clock_mono() - began;
  w->e->prune_mono_us = began + took + REST * took;
  if (is_finished(w)) w->e->prune_mono_us = began + SWEEP_EVERY_US;
  const pawl_code left = leave_house(w, is_finished(w) ? NULL : &w->at,
                                     is_finished(w) ? SWEEP_EVERY_US : 0,
                                     rc == PAWL_OK ? err : &second);
  return rc == PAWL_OK ? left : rc;
}

/* Who has it from where it was left. */
static pawl_code sweep_on(sweep *w, int64_t time_us, int fits,
                          pawl_error *err) {
  pawl_buf place_of = {.alloc = &w->e->alloc};
  const int64_t began = pawl_clock_mono();
  int got;
  pawl_code rc = PAWL_OK;

  TRY(take_house(w, 0, &got, &place_of, err));
  (void)pawl_chore_took(w->e, &w->e->sweep.cost, 1, began);
  if (!got) goto out;
  read_place(w->e, pawl_buf_str(&place_of), &w->at);
  TRY(do_piece(w, time_us, fits, err));
out:
  pawl_buf_deinit(&place_of);
  return rc;
}

pawl_code pawl_prune_piece(pawl_engine *e, pawl_taker *take, pawl_filer *file,
                           int64_t most_us, pawl_error *err) {
  sweep w = {.e = e, .take = take, .file = file};
  const int64_t began = pawl_clock_mono();
  count counts[NSTAGES];
  int wanted;
  pawl_code rc = PAWL_OK;

  if (began < e->prune_mono_us) return PAWL_OK;
  const int64_t house = 2 * (int64_t)pawl_cost_of(&e->sweep.cost, 1);
  int64_t us = pawl_chore_time(e, &e->sweep, 2.0 * (double)house);
  if (!us) return PAWL_OK;
  e->prune_mono_us = began + LOOK_EVERY_US;
  MUST(find_wanted(e, began, &wanted, err));
  if (!wanted) return PAWL_OK;
  const int fits = us != PAWL_NEVER;
  if (fits) us = us > house ? us - house : 0;
  init_request(&w.asked, &e->alloc);
  TRY(read_retain(e, &w.ours, err));
  init_sweep(&w, counts);
  TRY(sweep_on(&w, us < most_us ? us : most_us, fits, err));
out:
  pawl_buf_deinit(&w.versions);
  return rc;
}
