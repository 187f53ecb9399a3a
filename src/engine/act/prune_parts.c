/* What goes beside instances that have ended: stages of a sweep, prune.c. */
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/task.h"
#include "../common/time.h"
#include "sweep.h"

#define KEPT_US (7 * 24 * 3600 * PAWL_SECOND) /* what nobody has said of */

enum { CUT = 250 }; /* pages, by prune_cut */

/* So many are looked at, and go. */
static int page_of(const pawl_sweep *w, pawl_paced of) {
  const int rows = pawl_pace_rows(w->e, of), page = pawl_sweep_page(w);
  return pawl_sweep_at_most(w, rows < page ? rows : page);
}

/* One statement, in a unit of its own: *n rows go. */
static pawl_code take_once(pawl_sweep *w, pawl_paced of, pawl_stmt stmt,
                           const void *args, int64_t *n, pawl_error *err) {
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  TRY(pawl_pace_begin(w->e, PAWL_UNIT_OPEN, err));
  TRY(pawl_store_send_one(w->e->store, stmt, args, &at, err));
  pawl_store_rows(w->e->store, at, &rows);
  *n = rows.changed;
  TRY(pawl_pace_commit(w->e, of, *n, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(w->e->store);
  return rc;
}
#define TAKE_ONCE(w, of, stmt, n, err, ...)       \
  take_once(w, PAWL_PACED_##of, PAWL_STMT_##stmt, \
            &(const pawl_##stmt##_args){__VA_ARGS__}, n, err)

static pawl_code delete_outbox(pawl_sweep *w,
                               const pawl_prune_published_row *list,
                               const int *which, int n, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (!n || w->asked.dry_run) return PAWL_OK;
  TRY(pawl_pace_begin(w->e, PAWL_UNIT_SOON, err));
  pawl_args_begin(&w->e->args, PAWL_STMT_prune_outbox);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&w->e->args, prune_outbox, .shard = w->at.shard,
             .id = list[which[i]].instance, .seq = list[which[i]].seq);
  TRY(pawl_store_send(w->e->store, &w->e->args, NULL, err));
  TRY(pawl_pace_commit(w->e, PAWL_PACED_OUTBOX, n, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(w->e->store);
  return rc;
}

pawl_code pawl_sweep_outbox(pawl_sweep *w, int *done, pawl_error *err) {
  const int64_t by = w->now_us - pawl_sweep_kept(w->asked.published,
                                                 w->ours.published, KEPT_US);
  const pawl_id before = pawl_sweep_id_behind(by);
  const int most = page_of(w, PAWL_PACED_OUTBOX), page = pawl_sweep_page(w);
  pawl_buf keep = {.alloc = &w->e->alloc};
  pawl_rows rows;
  int which[PAWL_SWEEP_PAGE], n = 0, k;
  pawl_code rc = PAWL_OK;

  TRY(PAWL_READ(w->e->store, prune_published, &rows, err, .shard = w->at.shard,
                .after = &w->at.after, .after_seq = w->at.after_seq,
                .before = &before, .max = page));
  TRY(PAWL_KEEP(prune_published, &rows, &keep, err));
  const pawl_prune_published_row *list = PAWL_KEPT(prune_published, &keep);
  for (k = 0; k < rows.nrows && n < most; k++) {
    w->at.after = *list[k].instance;
    w->at.after_seq = list[k].seq;
    if (list[k].published_at && list[k].published_at <= by) which[n++] = k;
  }
  w->looked += k;
  *done = k == rows.nrows && rows.nrows < page;
  TRY(delete_outbox(w, list, which, n, err));
  pawl_sweep_removed(w, n);
out:
  pawl_buf_deinit(&keep);
  return rc;
}

/* One that failed can be opened again while its instance stands there, which
 * needs it then. */
static const pawl_task_status task_ends[] = {
    PAWL_TASK_COMPLETED, PAWL_TASK_CANCELLED, PAWL_TASK_TIMED_OUT,
    PAWL_TASK_FAILED};
_Static_assert(sizeof task_ends / sizeof *task_ends == PAWL_NTASK_ENDS,
               "a place has one of them");

static pawl_code take_tasks(pawl_sweep *w, int64_t by, int *over,
                            pawl_error *err) {
  const pawl_id before = pawl_sweep_id_behind(by);
  pawl_id ids[PAWL_SWEEP_PAGE];
  pawl_rows rows;
  const int max = page_of(w, PAWL_PACED_TASKS);
  int n = 0, k;

  MUST(PAWL_READ(
      w->e->store, prune_tasks, &rows, err, .shard = w->at.shard,
      .status = pawl_strz(pawl_task_status_names[task_ends[w->at.status]]),
      .after = &w->at.after, .before = &before, .max = max));
  for (k = 0; k < rows.nrows; k++) {
    const pawl_prune_tasks_row row = pawl_read_prune_tasks(&rows, k);
    w->at.after = *row.id;
    if (row.updated_at > by) continue;
    if (row.needed)
      pawl_sweep_count_of(w)->kept[PAWL_KEPT_TASK]++;
    else
      ids[n++] = *row.id;
  }
  w->looked += rows.nrows;
  *over = rows.nrows < max;
  if (n && !w->asked.dry_run)
    MUST(pawl_purge_tasks(w->e, w->at.shard, ids, n, err));
  pawl_sweep_removed(w, n);
  return PAWL_OK;
}

pawl_code pawl_sweep_tasks(pawl_sweep *w, int *done, pawl_error *err) {
  int64_t kept = pawl_sweep_kept(w->asked.tasks, w->ours.tasks, -1);
  int over = 1;

  *done = kept < 0 || w->at.status == PAWL_NTASK_ENDS;
  if (*done) return PAWL_OK;
  MUST(take_tasks(w, w->now_us - kept, &over, err));
  if (over) {
    w->at.status++;
    w->at.after = (pawl_id){{0}};
  }
  return PAWL_OK;
}

/* A dry run counts all. */
static int most_of(const pawl_sweep *w, pawl_paced of) {
  return pawl_sweep_at_most(
      w, w->asked.dry_run ? INT32_MAX : pawl_pace_rows(w->e, of));
}

static pawl_code send_attributes(pawl_sweep *w, pawl_stmt stmt,
                                 const pawl_id *ids, int n, pawl_error *err) {
  pawl_args_begin(&w->e->args, stmt);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&w->e->args, prune_attributes, .shard = w->at.shard,
             .id = &ids[i]);
  return pawl_store_send(w->e->store, &w->e->args, NULL, err);
}

/* Attributes, and what says whose they were. */
static pawl_code take_attributes(pawl_sweep *w, int64_t before, int max,
                                 int64_t *n, pawl_error *err) {
  pawl_id ids[PAWL_SWEEP_PAGE];
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  assert(max <= PAWL_SWEEP_PAGE);
  TRY(pawl_pace_begin(w->e, PAWL_UNIT_OPEN, err));
  TRY(PAWL_SEND(w->e->store, prune_left, &at, err, .shard = w->at.shard,
                .before = before, .max = max));
  pawl_store_rows(w->e->store, at, &rows);
  const int found = rows.nrows;
  for (int i = 0; i < found; i++) ids[i] = *pawl_read_prune_left(&rows, i).id;
  if (found) {
    TRY(send_attributes(w, PAWL_STMT_prune_attributes, ids, found, err));
    TRY(send_attributes(w, PAWL_STMT_prune_archive, ids, found, err));
  }
  TRY(pawl_pace_commit(w->e, PAWL_PACED_ATTRIBUTES, found, err));
  *n = found;
out:
  if (rc != PAWL_OK) pawl_store_rollback(w->e->store);
  return rc;
}

pawl_code pawl_sweep_attributes(pawl_sweep *w, int *done, pawl_error *err) {
  const int64_t kept = pawl_sweep_kept(w->asked.attributes, w->ours.attributes,
                                       -1),
                before = w->now_us - kept;
  const int max = w->asked.dry_run ? most_of(w, PAWL_PACED_ATTRIBUTES)
                                   : page_of(w, PAWL_PACED_ATTRIBUTES);
  pawl_rows rows;
  int64_t n;

  *done = 1;
  if (kept < 0) return PAWL_OK;
  if (w->asked.dry_run) {
    MUST(PAWL_READ(w->e->store, prune_left_count, &rows, err,
                   .shard = w->at.shard, .before = before, .max = max));
    n = pawl_read_prune_left_count(&rows, 0).n;
  } else {
    MUST(take_attributes(w, before, max, &n, err));
  }
  pawl_sweep_removed(w, n);
  *done = n < max || w->asked.dry_run;
  return PAWL_OK;
}

pawl_code pawl_sweep_audit(pawl_sweep *w, int *done, pawl_error *err) {
  const int64_t kept = pawl_sweep_kept(w->asked.audit, w->ours.audit, -1),
                before = w->now_us - kept;
  const int max = most_of(w, PAWL_PACED_AUDIT);
  int64_t n;
  pawl_rows rows;

  *done = 1;
  if (kept < 0) return PAWL_OK;
  if (w->asked.dry_run) {
    MUST(PAWL_READ(w->e->store, prune_audited, &rows, err,
                   .shard = w->at.shard, .before = before, .max = max));
    n = pawl_read_prune_audited(&rows, 0).n;
  } else {
    MUST(TAKE_ONCE(w, AUDIT, prune_audit, &n, err, .shard = w->at.shard,
                   .before = before, .max = max));
  }
  pawl_sweep_removed(w, n);
  *done = n < max || w->asked.dry_run;
  return PAWL_OK;
}

pawl_code pawl_sweep_events(pawl_sweep *w, int *done, pawl_error *err) {
  const int max = most_of(w, PAWL_PACED_EVENTS);
  int64_t n;
  pawl_rows rows;

  if (w->asked.dry_run) {
    MUST(PAWL_READ(w->e->store, prune_expired, &rows, err,
                   .shard = w->at.shard, .now = pawl_store_now(w->e->store),
                   .max = max));
    n = pawl_read_prune_expired(&rows, 0).n;
  } else {
    MUST(TAKE_ONCE(w, EVENTS, event_prune, &n, err, .shard = w->at.shard,
                   .now = pawl_store_now(w->e->store), .max = max));
  }
  pawl_sweep_removed(w, n);
  *done = n < max || w->asked.dry_run;
  return PAWL_OK;
}

static pawl_code forget_revisions(pawl_sweep *w, const pawl_buf *keep, int n,
                                  pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_pace_begin(w->e, PAWL_UNIT_SOON, err));
  for (int i = 0; i < n; i++) {
    const pawl_prune_revisions_row *row = &PAWL_KEPT(prune_revisions, keep)[i];
    TRY(PAWL_SEND(w->e->store, prune_revision, NULL, err, .code = row->code,
                  .version = row->version, .revision = row->revision));
  }
  TRY(pawl_pace_commit(w->e, PAWL_PACED_REVISIONS, n, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(w->e->store);
  return rc;
}

pawl_code pawl_sweep_revisions(pawl_sweep *w, int *done, pawl_error *err) {
  int64_t kept = pawl_sweep_kept(w->asked.revisions, w->ours.revisions, -1);
  const int max = most_of(w, PAWL_PACED_REVISIONS);
  pawl_buf keep = {.alloc = &w->e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  *done = 1;
  if (kept < 0) return PAWL_OK;
  TRY(PAWL_READ(w->e->store, prune_revisions, &rows, err,
                .before = w->now_us - kept, .max = max));
  TRY(PAWL_KEEP(prune_revisions, &rows, &keep, err));
  const int n = rows.nrows;
  if (!w->asked.dry_run && n) TRY(forget_revisions(w, &keep, n, err));
  pawl_sweep_removed(w, n);
  *done = n < max;
out:
  pawl_buf_deinit(&keep);
  return rc;
}

pawl_code pawl_sweep_executors(pawl_sweep *w, int *done, pawl_error *err) {
  const int64_t before =
      w->now_us -
      pawl_sweep_kept(w->asked.executors, w->ours.executors, KEPT_US);
  const int max =
      pawl_sweep_at_most(w, pawl_pace_rows(w->e, PAWL_PACED_EXECUTORS));
  int64_t n;
  pawl_rows rows;

  if (w->asked.dry_run) {
    MUST(
        PAWL_READ(w->e->store, prune_executors, &rows, err, .before = before));
    n = pawl_read_prune_executors(&rows, 0).n;
  } else {
    MUST(TAKE_ONCE(w, EXECUTORS, executor_prune, &n, err, .before = before,
                   .max = max));
  }
  pawl_sweep_removed(w, n);
  *done = n < max || w->asked.dry_run;
  return PAWL_OK;
}

pawl_code pawl_sweep_space(pawl_sweep *w, int *done, pawl_error *err) {
  const int few = w->e->piece_rows && w->e->piece_rows < CUT;
  pawl_rows rows;
  int64_t pages = 0, bytes = 0;
  pawl_code rc = PAWL_OK;

  MUST(pawl_store_once_one(w->e->store, PAWL_UNIT_READ, PAWL_STMT_prune_space,
                           NULL, &rows, err));
  if (rows.nrows) {
    pages = pawl_read_prune_space(&rows, 0).pages;
    bytes = pages * pawl_read_prune_space(&rows, 0).page_bytes;
  }
  *done = !pages || w->asked.dry_run;
  if (*done) return PAWL_OK;
  TRY(pawl_pace_begin(w->e, PAWL_UNIT_SOON, err));
  TRY(pawl_store_send_one(w->e->store,
                          few ? PAWL_STMT_prune_cut_few : PAWL_STMT_prune_cut,
                          NULL, NULL, err));
  TRY(pawl_pace_commit(w->e, PAWL_PACED_PAGES, 0, err));
  MUST(pawl_store_once_one(w->e->store, PAWL_UNIT_READ, PAWL_STMT_prune_space,
                           NULL, &rows, err));
  if (rows.nrows) {
    const pawl_prune_space_row row = pawl_read_prune_space(&rows, 0);
    w->looked += pages - row.pages;
    if (row.pages < pages)
      w->freed_bytes += bytes - row.pages * row.page_bytes;
    *done = row.pages >= pages; /* nothing can be cut */
  }
  return PAWL_OK;
out:
  pawl_store_rollback(w->e->store);
  return rc;
}
