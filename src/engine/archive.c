/* The archive: instances that have ended, out of the tables of those that live.
 * It joins rooms: what is archived is an export (ask), its rows go as a purge's
 * do (act), and come back as an import's (enter). How it is asked: archived.c.
 *
 *   in     its lines are read; one transaction: held, compared with them,
 *          written down, and its rows gone. Of one with many rows only the
 *          instance's own goes then, by which all others are found; these go
 *          in batches behind it, and `rest` is set until they have.
 *   out    one transaction: its rows, then the archive's is gone.
 *
 * So it is in one place or the other for everybody, whoever is killed when
 * (decision 0049). */
#include "../base/fault.h"
#include "../value/json.h"
#include "../value/object.h"
#include "act/act.h"
#include "act/pace.h"
#include "ask/ask.h"
#include "common/answer.h"
#include "common/engine_struct.h"
#include "common/find.h"
#include "common/time.h"
#include "engine.h"
#include "enter/enter.h"

/* ---- in ---- */

enum { READS = 3 };

static pawl_code send_note(pawl_engine *e, const pawl_filed *f,
                           const char *type, pawl_error *err) {
  pawl_id own;

  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &own, err));
  return PAWL_SEND(e->store, archive_note, NULL, err,
                   .shard = pawl_shard_of(e, &f->id), .id = &own,
                   .instance = &f->id, .type = pawl_strz(type), .by = f->by,
                   .text = f->reason, .request = f->request,
                   .now = pawl_store_now(e->store));
}

/* Others change what an instance that has ended has left, too: its tasks, what
 * it has emitted. They do not while this unit lasts. */
static pawl_code lock_parts(pawl_engine *e, const pawl_id *id,
                            pawl_error *err) {
  const int shard = pawl_shard_of(e, id);

  MUST(PAWL_SEND(e->store, archive_lock_tasks, NULL, err, .shard = shard,
                 .id = id));
  return PAWL_SEND(e->store, archive_lock_outbox, NULL, err, .shard = shard,
                   .id = id);
}

static pawl_code write_down(pawl_engine *e, const pawl_filed *f,
                            const pawl_id *lease, const pawl_exported *x,
                            const pawl_buf *who, int rest, pawl_error *err) {
  const int shard = pawl_shard_of(e, &f->id);

  MUST(PAWL_SEND(e->store, archive_insert, NULL, err, .shard = shard,
                 .id = &f->id, .lease = lease, .deletion = pawl_buf_str(who),
                 .rest = rest, .document = pawl_buf_str(&x->lines),
                 .now = pawl_store_now(e->store)));
  MUST(PAWL_SEND(e->store, archive_tell, NULL, err, .shard = shard,
                 .id = &f->id));
  MUST(PAWL_SEND(e->store, archive_tasks, NULL, err, .shard = shard,
                 .id = &f->id));
  return send_note(e, f, "archived", err);
}

/* S2: its agenda row first, as everybody locks it who changes one. is_read: x
 * has been read; *same: it is still so, and the unit has happened. */
static pawl_code put_in(pawl_engine *e, const pawl_filed *f, pawl_exported *x,
                        int is_read, const pawl_buf *who, int *rest, int *same,
                        pawl_error *err) {
  const int shard = pawl_shard_of(e, &f->id);
  const pawl_purgeable one = {
      .id = f->id, .is_filed = 1, .completed_us = f->completed_us};
  pawl_id lease;
  pawl_code rc = PAWL_OK;

  *same = 1;
  TRY(pawl_pace_begin(e, PAWL_UNIT_OPEN, err));
  TRY(pawl_archive_seize(e, shard, &one, &lease, err));
  TRY(lock_parts(e, &f->id, err));
  if (is_read)
    TRY(pawl_export_is_same(e, &f->id, x, same, err));
  else
    TRY(pawl_export_held(e, &f->id, x, err));
  if (!*same) {
    pawl_store_rollback(e->store);
    return PAWL_OK;
  }
  *rest = x->nrows > pawl_pace_rows(e, PAWL_PACED_ARCHIVED);
  TRY(write_down(e, f, &lease, x, who, *rest, err));
  (void)PAWL_FAULT("engine.archive.rows");
  TRY(pawl_archive_clear(e, shard, &one, &lease, !*rest, err));
  (void)PAWL_FAULT("engine.archive.commit");
  TRY(pawl_pace_commit(e, PAWL_PACED_ARCHIVED, x->nrows, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* What is long is read before others have to wait; again, where it has changed
 * since, and in the end while they do. In a transaction they wait longer than
 * for that. */
static pawl_code read_and_put_in(pawl_engine *e, const pawl_filed *f,
                                 const pawl_buf *who, int *rest,
                                 pawl_error *err) {
  pawl_exported x = {.lines = {.alloc = &e->alloc}};
  int same = 0;
  pawl_code rc = PAWL_OK;

  for (int tries = 0; !same; tries++) {
    const int is_read = tries < READS && !pawl_store_held(e->store);
    if (is_read) TRY(pawl_export_ended(e, &f->id, &x, err));
    (void)PAWL_FAULT("engine.archive.read");
    TRY(put_in(e, f, &x, is_read, who, rest, &same, err));
  }
out:
  pawl_buf_deinit(&x.lines);
  return rc;
}

static pawl_code finish(pawl_engine *e, const pawl_filed *f, pawl_error *err) {
  const int64_t until_mono = f->until_mono ? f->until_mono : PAWL_NEVER;
  int gone;
  return pawl_archive_rest(e, &f->id, until_mono, &gone, err);
}

/* In a transaction the batches come behind it. */
static pawl_code finish_in_turn(pawl_engine *e, const pawl_filed *f,
                                pawl_error *err) {
  if (!pawl_store_held(e->store)) return finish(e, f, err);
  pawl_buf_add(&e->after_held.filed, f->id.bytes, sizeof f->id.bytes);
  return pawl_buf_check(&e->after_held.filed, err);
}

/* Asked for twice, or cut short: what is left of it goes. */
static pawl_code file_in(pawl_engine *e, const pawl_filed *f, int *done,
                         pawl_error *err) {
  pawl_buf who = {.alloc = &e->alloc};
  pawl_archive_get_row row;
  int there, rest = 0;
  pawl_code rc = PAWL_OK;

  TRY(pawl_archive_find(e, &f->id, &there, &row, err));
  if (there && f->is_listed) TRY(pawl_instance_missing(&f->id, err));
  if (there) rest = row.rest == 1;
  pawl_write_who(f->by, f->reason, &who);
  TRY(pawl_buf_check(&who, err));
  if (!there) TRY(read_and_put_in(e, f, &who, &rest, err));
  if (rest) TRY(finish_in_turn(e, f, err));
  *done = 1;
out:
  pawl_buf_deinit(&who);
  return rc;
}

/* ---- out ---- */

typedef struct coming {
  const pawl_filed *file;
  int has_successor;   /* as its lines say */
  int is_purged;       /* but for its attributes */
  int64_t archived_us; /* when they were written */
} coming;

static pawl_code fail_changed(const pawl_id *id, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_BUSY, "look at it, then ask again",
                        "instance %s has changed meanwhile",
                        pawl_id_text_of(id).at);
}

/* Whose rest goes was archived anew meanwhile: what is done with the row of
 * the archive is done when nothing else is left. */
static pawl_code lock(pawl_engine *e, const pawl_id *id, int *there,
                      coming *found, pawl_error *err) {
  pawl_rows rows;
  int at;

  MUST(PAWL_SEND(e->store, archive_lock, &at, err,
                 .shard = pawl_shard_of(e, id), .id = id));
  pawl_store_rows(e->store, at, &rows);
  *there = rows.nrows > 0;
  if (!*there) return PAWL_OK;
  const pawl_archive_lock_row row = pawl_read_archive_lock(&rows, 0);
  found->has_successor = row.successor != NULL;
  found->archived_us = row.archived_at;
  found->is_purged = row.purged_at != 0;
  return row.rest == 1 ? fail_changed(id, err) : PAWL_OK;
}

/* Its key may have gone on since its lines were read, or it was back already,
 * and was archived anew. */
static pawl_code before(pawl_engine *e, void *ud, pawl_error *err) {
  const coming *c = ud;
  coming now = {.file = c->file};
  int there;

  MUST(lock(e, &c->file->id, &there, &now, err));
  if (there && now.has_successor == c->has_successor &&
      now.archived_us == c->archived_us)
    return PAWL_OK;
  return fail_changed(&c->file->id, err);
}

static pawl_code behind(pawl_engine *e, void *ud, pawl_error *err) {
  const coming *c = ud;
  const pawl_id *id = &c->file->id;
  const int shard = pawl_shard_of(e, id);

  MUST(PAWL_SEND(e->store, archive_untell, NULL, err, .shard = shard,
                 .id = id));
  MUST(PAWL_SEND(e->store, archive_untask, NULL, err, .shard = shard,
                 .id = id));
  MUST(send_note(e, c->file, "unarchived", err));
  (void)PAWL_FAULT("engine.unarchive.last");
  return PAWL_SEND(e->store, archive_remove, NULL, err, .shard = shard,
                   .id = id);
}

static const char INSTANCE[] = "{\"is\":\"instance\",";

/* Its key was taken while it was archived: its own line, behind the head, is to
 * say so, unless it does. */
static void add_lines(pawl_str text, const pawl_id *successor, pawl_buf *out) {
  const size_t n = sizeof INSTANCE - 1;
  const char *head = memchr(text.at, '\n', text.len);
  const size_t front = head ? (size_t)(head + 1 - text.at) : text.len;
  const pawl_str rest = {text.at + front, text.len - front};
  const char *end = memchr(rest.at, '\n', rest.len);
  const pawl_str own = {rest.at, end ? (size_t)(end - rest.at) : 0};
  pawl_str value;

  if (!successor || own.len < n || memcmp(own.at, INSTANCE, n) != 0 ||
      pawl_json_get(own, "successor", &value)) {
    pawl_buf_adds(out, text);
    return;
  }
  pawl_buf_add(out, text.at, front + n);
  pawl_buf_addf(out, "\"successor\":\"%s\",", pawl_id_text_of(successor).at);
  pawl_buf_add(out, rest.at + n, rest.len - n);
}

static pawl_code file_out(pawl_engine *e, const pawl_filed *f, int *done,
                          pawl_error *err) {
  pawl_buf lines = {.alloc = &e->alloc};
  coming c = {.file = f};
  const pawl_back back = {before, behind, &c};
  pawl_archive_get_row row;
  int there;
  pawl_code rc = PAWL_OK;

  TRY(pawl_archive_find(e, &f->id, &there, &row, err));
  if (!there || row.purged_at) TRY(pawl_instance_missing(&f->id, err));
  c.has_successor = row.successor != NULL;
  c.archived_us = row.archived_at;
  const int rest = row.rest == 1;
  add_lines(row.document, row.successor, &lines);
  TRY(pawl_buf_check(&lines, err));
  if (rest) TRY(finish(e, f, err));
  TRY(pawl_archive_damaged(
      &f->id, pawl_import_back(e, pawl_buf_str(&lines), &back, err), err));
  *done = 1;
out:
  pawl_buf_deinit(&lines);
  return rc;
}

/* ---- off ---- */

/* All that a list finds it by stays, or nothing does. */
static pawl_code send_off(pawl_engine *e, const pawl_filed *f,
                          const pawl_buf *who, pawl_error *err) {
  const int shard = pawl_shard_of(e, &f->id);

  if (f->keep_attributes)
    return PAWL_SEND(e->store, archive_purge, NULL, err, .shard = shard,
                     .id = &f->id, .deletion = pawl_buf_str(who),
                     .now = pawl_store_now(e->store));
  MUST(PAWL_SEND(e->store, archive_remove, NULL, err, .shard = shard,
                 .id = &f->id));
  return PAWL_SEND(e->store, purge_attribute, NULL, err, .shard = shard,
                   .id = &f->id, .max = INT32_MAX);
}

/* Somebody was faster: he has purged it, or brought it back. */
static pawl_code fail_left(pawl_engine *e, const pawl_id *id,
                           pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, repair_state, &rows, err,
                 .shard = pawl_shard_of(e, id), .id = id));
  return rows.nrows ? fail_changed(id, err) : pawl_instance_missing(id, err);
}

/* *gone: it was here that it went. */
static pawl_code take_off(pawl_engine *e, const pawl_filed *f,
                          const pawl_buf *who, int *gone, pawl_error *err) {
  const int shard = pawl_shard_of(e, &f->id);
  coming found = {.file = f};
  int there;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(lock(e, &f->id, &there, &found, err));
  *gone = there && !(found.is_purged && f->keep_attributes);
  if (*gone) {
    TRY(PAWL_SEND(e->store, purge_audit, NULL, err, .shard = shard,
                  .id = &f->id, .max = INT32_MAX));
    TRY(PAWL_SEND(e->store, archive_untask, NULL, err, .shard = shard,
                  .id = &f->id));
    if (f->by.len) TRY(send_note(e, f, "purged", err));
    TRY(PAWL_SEND(e->store, archive_count, NULL, err, .shard = shard,
                  .id = &f->id));
    TRY(send_off(e, f, who, err));
  }
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code file_off(pawl_engine *e, const pawl_filed *f, int *done,
                          pawl_error *err) {
  pawl_buf who = {.alloc = &e->alloc};
  pawl_archive_get_row row;
  int there;
  pawl_code rc = PAWL_OK;

  TRY(pawl_archive_find(e, &f->id, &there, &row, err));
  *done = there && row.purged_at && f->keep_attributes && !f->is_listed;
  if (*done) goto out; /* its attributes have stayed already */
  if (there && row.rest == 1) TRY(finish(e, f, err));
  pawl_write_who(f->by, f->reason, &who);
  TRY(pawl_buf_check(&who, err));
  TRY(take_off(e, f, &who, done, err));
  if (!*done) TRY(fail_left(e, &f->id, err));
out:
  pawl_buf_deinit(&who);
  return rc;
}

pawl_code pawl_archive_file(pawl_engine *e, const pawl_filed *f, int *done,
                            pawl_error *err) {
  switch (f->what) {
    case PAWL_FILE_IN:
      return file_in(e, f, done, err);
    case PAWL_FILE_OUT:
      return file_out(e, f, done, err);
    case PAWL_FILE_OFF:
      break;
  }
  return file_off(e, f, done, err);
}
