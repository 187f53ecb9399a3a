#include "migrate.h"

#include <assert.h>
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

/* What one look at the table of migrations tells. */
typedef struct findings {
  int exists; /* is there a table of migrations? */
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
  const pawl_migration_list_row row = pawl_read_migration_list(rows, i);
  int number = (int)row.number;
  if (number > out->newest) out->newest = number;
  if (number <= pawl_nmigrations || out->breaks || !row.breaking) return;
  out->breaks = number;
  pawl_copy_text(out->breaks_name, sizeof out->breaks_name, row.name.at);
}

static pawl_code look(migrator *m, findings *out, pawl_error *err) {
  pawl_rows rows;
  *out = (findings){0};
  pawl_args_begin(&m->args, PAWL_STMT_schema_probe);
  MUST(ask(m, &rows, err));
  const pawl_schema_probe_row row = pawl_read_schema_probe(&rows, 0);
  out->exists = row.ours != 0;
  if (!out->exists && row.others)
    return pawl_fail_as(err, PAWL_NOT_A_STORE, "3F000",
                        "give pawl a database of its own",
                        "something else is where the store would be made");
  if (!out->exists) return PAWL_OK;
  pawl_args_begin(&m->args, PAWL_STMT_migration_list);
  MUST(ask(m, &rows, err));
  for (int i = 0; i < rows.nrows; i++) note_version(&rows, i, out);
  return PAWL_OK;
}

static pawl_code begin_locked(migrator *m, pawl_error *err) {
  pawl_rows rows;
  MUST(m->driver->begin(m->conn, PAWL_UNIT_OPEN, err));
  m->is_locked = 1;
  m->nsent = 0;
  pawl_args_begin(&m->args, PAWL_STMT_schema_lock);
  return ask(m, &rows, err);
}

/* Commits when all went well until now. */
static pawl_code end_locked(migrator *m, pawl_code rc, pawl_error *err) {
  if (rc == PAWL_OK) rc = m->driver->commit(m->conn, err);
  m->driver->rollback(m->conn); /* no-op after a commit */
  m->is_locked = 0;
  return rc;
}

static pawl_code run_script(migrator *m, const pawl_migration *migration,
                            pawl_error *err) {
  pawl_buf room = {.alloc = m->args.alloc};
  const char *text = pawl_sqltext_read(migration->text, &room);
  pawl_code rc =
      text ? m->driver->script(m->conn, text, err) : pawl_fail_memory(err);
  pawl_buf_deinit(&room);
  return rc;
}

/* Runs one migration's script and records it. */
static pawl_code apply(migrator *m, const pawl_migration *migration,
                       pawl_error *err) {
  pawl_rows rows;
  pawl_code rc;
  assert(migration->number == 1 + migration - m->driver->migrations);
  TRY(run_script(m, migration, err));
  pawl_args_begin(&m->args, PAWL_STMT_migration_insert);
  PAWL_PUT(&m->args, migration_insert, .number = migration->number,
           .name = pawl_strz(migration->name), .breaking = migration->breaking,
           .now = pawl_driver_now(m->driver, m->options->clock));
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
  pawl_args_begin(&m->args, PAWL_STMT_meta_put);
  PAWL_PUT(&m->args, meta_put, .key = pawl_strz("shards"),
           .value = pawl_strz(text));
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

static int is_up(const findings *found) {
  return found->exists && found->newest >= pawl_nmigrations;
}

/* Brings an empty or older store to our version, as far as it may. */
static pawl_code bring_up(migrator *m, const findings *found,
                          pawl_error *err) {
  int done = 0;
  if (!found->exists && m->options->create < 0)
    return pawl_fail_as(err, PAWL_NOTFOUND, "3F000",
                        "`pawl migrate` makes one",
                        "there is no store in the database");
  if (!found->exists) return make_store(m, err);
  if (!m->options->upgrade)
    return pawl_fail_hint(err, PAWL_STORE_OLD, "run `pawl migrate`",
                          "the store has schema %d, this pawl needs %d",
                          found->newest, pawl_nmigrations);
  while (!done) MUST(upgrade_once(m, &done, err));
  return PAWL_OK;
}

static pawl_code check_newer(const findings *found, pawl_error *err) {
  if (!found->breaks) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_STORE_NEW, "upgrade this program",
                        "the store has schema %d (%s), which this pawl, with "
                        "schema %d, cannot use",
                        found->breaks, found->breaks_name, pawl_nmigrations);
}

static pawl_code get_shards(migrator *m, int *out, pawl_error *err) {
  pawl_rows rows;
  long shards = 0;
  pawl_args_begin(&m->args, PAWL_STMT_meta_get);
  PAWL_PUT(&m->args, meta_get, .key = pawl_strz("shards"));
  MUST(ask(m, &rows, err));
  if (rows.nrows == 1)
    shards = strtol(pawl_read_meta_get(&rows, 0).value.at, NULL, 10);
  if (shards < 1 || shards > INT16_MAX)
    return pawl_fail_hint(err, PAWL_CORRUPT,
                          "restore the row `shards` of its table meta",
                          "the store does not say how many shards it has");
  *out = (int)shards; /* just checked */
  return PAWL_OK;
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
  if (options->only_looks && !found.exists) {
    schema.shards = options->shards > 0 ? options->shards : 1;
    *out = schema;
    goto out;
  }
  if (!options->only_looks && !is_up(&found)) {
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
