#include "migrate.h"

#include <stdio.h>
#include <stdlib.h>

/* A run under way. */
typedef struct migrator {
  const pawl_driver *driver;
  pawl_conn *conn;
  const pawl_migrate_options *options;
  pawl_args args;
  int is_locked; /* in an OPEN unit that holds the schema lock */
  int nsent;     /* statements of that unit */
} migrator;

/* What one look at the version table tells. */
typedef struct findings {
  int exists; /* is there a version table? */
  int newest; /* the highest number applied */
  int breaks; /* the first one that is unknown to us and breaking, or 0 */
  char breaks_name[64];
} findings;

/* Runs the statement in m->args: in the open unit, or in one of its own that
 * only reads, since opening a store that is as it should be must not make
 * others wait. */
static pawl_code ask(migrator *m, pawl_rows *rows, pawl_error *err) {
  pawl_code rc;
  TRY(pawl_args_check(&m->args, err));
  if (!m->is_locked) {
    m->nsent = 0;
    TRY(m->driver->begin(m->conn, PAWL_UNIT_READ, err));
  }
  TRY(m->driver->send(m->conn, &m->args, err));
  if (!m->is_locked) TRY(m->driver->commit(m->conn, err));
  m->driver->rows(m->conn, m->nsent++, rows);
  return PAWL_OK;
out:
  m->driver->rollback(m->conn);
  return rc;
}

static void note_version(const pawl_rows *rows, int i, findings *out) {
  int number = (int)pawl_row_int(rows, i, PAWL_VERSION_LIST_R_NUMBER);
  if (number > out->newest) out->newest = number;
  if (number <= pawl_nmigrations || out->breaks ||
      !pawl_row_int(rows, i, PAWL_VERSION_LIST_R_BREAKING))
    return;
  out->breaks = number;
  pawl_copy_text(out->breaks_name, sizeof out->breaks_name,
                 pawl_row_str(rows, i, PAWL_VERSION_LIST_R_NAME).at);
}

static pawl_code look(migrator *m, findings *out, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc;
  *out = (findings){0};
  pawl_args_begin(&m->args, PAWL_STMT_SCHEMA_PROBE);
  TRY(ask(m, &rows, err));
  out->exists = pawl_row_int(&rows, 0, PAWL_SCHEMA_PROBE_R_OURS) != 0;
  if (!out->exists && pawl_row_int(&rows, 0, PAWL_SCHEMA_PROBE_R_OTHERS)) {
    rc = pawl_fail(err, PAWL_NOT_A_STORE,
                   "something else is where the store would be made");
    pawl_error_sqlstate(err, "3F000");
    pawl_error_hint(err, "give pawl a database of its own");
    return rc;
  }
  if (!out->exists) return PAWL_OK;
  pawl_args_begin(&m->args, PAWL_STMT_VERSION_LIST);
  TRY(ask(m, &rows, err));
  for (int i = 0; i < rows.nrows; i++) note_version(&rows, i, out);
out:
  return rc;
}

static pawl_code begin_locked(migrator *m, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc;
  TRY(m->driver->begin(m->conn, PAWL_UNIT_OPEN, err));
  m->is_locked = 1;
  m->nsent = 0;
  pawl_args_begin(&m->args, PAWL_STMT_SCHEMA_LOCK);
  TRY(ask(m, &rows, err));
out:
  return rc;
}

/* Commits when all went well until now. */
static pawl_code end_locked(migrator *m, pawl_code rc, pawl_error *err) {
  if (rc == PAWL_OK) rc = m->driver->commit(m->conn, err);
  m->driver->rollback(m->conn); /* no-op after a commit */
  m->is_locked = 0;
  return rc;
}

/* Runs one migration's script and records it. */
static pawl_code apply(migrator *m, const pawl_migration *migration,
                       pawl_error *err) {
  int own_clock = (m->driver->caps & PAWL_CAN_OWN_CLOCK) &&
                  !pawl_clock_is_virtual(m->options->clock);
  pawl_rows rows;
  pawl_code rc;
  TRY(m->driver->script(m->conn, migration->text, err));
  pawl_args_begin(&m->args, PAWL_STMT_VERSION_INSERT);
  pawl_arg_int(&m->args, PAWL_VERSION_INSERT_NUMBER, migration->number);
  pawl_arg_textz(&m->args, PAWL_VERSION_INSERT_NAME, migration->name);
  pawl_arg_int(&m->args, PAWL_VERSION_INSERT_BREAKING, migration->breaking);
  if (!own_clock)
    pawl_arg_time(&m->args, PAWL_VERSION_INSERT_NOW,
                  pawl_clock_now(m->options->clock));
  TRY(ask(m, &rows, err));
  return PAWL_OK;
out:
  pawl_error_where(err, "migration %s", migration->name);
  return rc;
}

static pawl_code put_shards(migrator *m, pawl_error *err) {
  int shards = m->options->shards > 0 ? m->options->shards : 1;
  char text[16];
  pawl_rows rows;
  snprintf(text, sizeof text, "%d", shards);
  pawl_args_begin(&m->args, PAWL_STMT_META_PUT);
  pawl_arg_textz(&m->args, PAWL_META_PUT_KEY, "shards");
  pawl_arg_textz(&m->args, PAWL_META_PUT_VALUE, text);
  return ask(m, &rows, err);
}

/* The whole schema in one transaction, unless a rival was first. */
static pawl_code make_store(migrator *m, pawl_error *err) {
  findings found;
  pawl_code rc;
  TRY(begin_locked(m, err));
  TRY(look(m, &found, err));
  if (!found.exists) {
    for (int i = 0; i < pawl_nmigrations; i++)
      TRY(apply(m, &m->driver->migrations[i], err));
    TRY(put_shards(m, err));
  }
out:
  return end_locked(m, rc, err);
}

/* Applies the first migration that is missing; a rival may be at it, too. */
static pawl_code upgrade_once(migrator *m, int *done, pawl_error *err) {
  findings found;
  pawl_code rc;
  TRY(begin_locked(m, err));
  TRY(look(m, &found, err));
  *done = found.newest >= pawl_nmigrations;
  if (!*done) TRY(apply(m, &m->driver->migrations[found.newest], err));
out:
  return end_locked(m, rc, err);
}

static pawl_code fail_old(const findings *found, pawl_error *err) {
  pawl_code rc = pawl_fail(err, PAWL_STORE_OLD,
                           "the store has schema %d, this pawl needs %d",
                           found->newest, pawl_nmigrations);
  pawl_error_hint(err, "run `pawl migrate`");
  return rc;
}

static int is_up(const findings *found) {
  return found->exists && found->newest >= pawl_nmigrations;
}

/* Brings an empty or older store to our version, as far as it may. */
static pawl_code bring_up(migrator *m, const findings *found,
                          pawl_error *err) {
  int done = 0;
  pawl_code rc = PAWL_OK;
  if (!found->exists && m->options->create < 0) {
    rc = pawl_fail(err, PAWL_NOTFOUND, "there is no store in the database");
    pawl_error_sqlstate(err, "3F000");
    pawl_error_hint(err, "`pawl migrate` makes one");
    return rc;
  }
  if (!found->exists) return make_store(m, err);
  if (!m->options->upgrade) return fail_old(found, err);
  while (rc == PAWL_OK && !done) rc = upgrade_once(m, &done, err);
  return rc;
}

static pawl_code check_newer(const findings *found, pawl_error *err) {
  if (!found->breaks) return PAWL_OK;
  pawl_code rc = pawl_fail(
      err, PAWL_STORE_NEW,
      "the store has schema %d (%s), which this pawl, with schema %d, "
      "cannot use",
      found->breaks, found->breaks_name, pawl_nmigrations);
  pawl_error_hint(err, "upgrade this program");
  return rc;
}

static pawl_code get_shards(migrator *m, int *out, pawl_error *err) {
  pawl_rows rows;
  long shards = 0;
  pawl_code rc;
  pawl_args_begin(&m->args, PAWL_STMT_META_GET);
  pawl_arg_textz(&m->args, PAWL_META_GET_KEY, "shards");
  TRY(ask(m, &rows, err));
  if (rows.nrows == 1)
    shards =
        strtol(pawl_row_str(&rows, 0, PAWL_META_GET_R_VALUE).at, NULL, 10);
  if (shards < 1 || shards > INT16_MAX) {
    rc = pawl_fail(err, PAWL_CORRUPT,
                   "the store does not say how many "
                   "shards it has");
    pawl_error_hint(err, "restore the row `shards` of its table meta");
    return rc;
  }
  *out = (int)shards; /* just checked */
out:
  return rc;
}

pawl_code pawl_migrate_run(const pawl_driver *driver, pawl_conn *conn,
                           const pawl_migrate_options *options,
                           pawl_schema *out, pawl_error *err) {
  migrator m = {.driver = driver, .conn = conn, .options = options};
  pawl_schema schema = {0};
  findings found;
  pawl_code rc;
  pawl_args_init(&m.args, options->alloc);
  TRY(look(&m, &found, err));
  TRY(check_newer(&found, err));
  schema.from = found.newest;
  if (!is_up(&found)) {
    TRY(bring_up(&m, &found, err));
    TRY(look(&m, &found, err)); /* a newer rival may have made it */
    TRY(check_newer(&found, err));
  }
  schema.to = found.newest;
  TRY(get_shards(&m, &schema.shards, err));
  *out = schema;
out:
  pawl_args_deinit(&m.args);
  return rc;
}
