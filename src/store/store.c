#define _POSIX_C_SOURCE 200809L /* getpid */
#include "store.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "drivers.h"
#include "failure.h"
#include "migrate.h"
#include "pending.h"

/* What a store is doing. FAILED: only rollback and close are legal. */
typedef enum phase { IDLE, IN_UNIT, FAILED } phase;

struct pawl_store {
  pawl_alloc alloc_copy; /* `alloc` points here, or is NULL */
  pawl_log log;
  pawl_clock clock;
  const pawl_alloc *alloc;
  pawl_driver_options options; /* to open the connection again */
  const pawl_driver *driver;
  pawl_conn *conn; /* NULL: lost */
  char *target;
  size_t target_size;
  pawl_buf schema_name; /* what options.schema points to */
  pid_t owner;          /* the process that opened it */
  pawl_schema schema;
  phase phase;
  int unit;
  int nsent;      /* results that the unit has, or will have */
  pawl_args args; /* of statements sent by one struct */
  int nsubmitted; /* on this connection */
  int nlost;      /* older ones, which went with another */
  int lost_short; /* because memory was short (failure.h) */
  pawl_counts counts;
  pawl_unsaved unsaved;
  int64_t epoch;
  int stays; /* a lost connection is not opened again now */
  pawl_store_gate gate;
  int has_died;     /* S7 */
  int nheld;        /* levels of the transaction that is held */
  int failed_level; /* in which it has failed as a whole, by `why`; 0: none */
  pawl_error why;
  int saved;   /* the unit that is open has a savepoint */
  int is_lent; /* the connection has been, and changes hands */
};

void pawl_store_describe(const char *url, pawl_buf *out) {
  const pawl_driver *driver = NULL;
  const char *target;
  if (pawl_drivers_pick(url, &driver, &target, NULL) == PAWL_OK)
    driver->describe(target, out);
  else
    pawl_buf_addz(out, "...");
}

/* ---- the connection ---- */

static pawl_code fail_forked(pawl_error *err) {
  return pawl_fail_hint(err, PAWL_MISUSE, "open it in the child",
                        "the store was opened before fork()");
}

static int is_foreign(const pawl_store *store) {
  return store->owner != getpid();
}

/* The program's allocator is called while it closes, and may ask about the
 * store: it has none by then. */
static void close_conn(pawl_store *store) {
  pawl_conn *conn = store->conn;

  store->conn = NULL;
  store->driver->close(conn);
}

static void drop_conn(pawl_store *store) {
  if (!store->conn) return;
  close_conn(store);
  store->is_lent = 0;
  if (store->nsubmitted) store->lost_short = store->options.is_short;
  store->nlost += store->nsubmitted;
  store->nsubmitted = 0;
  assert(store->phase != IN_UNIT); /* D1: its transaction went with it */
}

static pawl_code fail_gone(int is_short, pawl_error *err) {
  if (is_short) return pawl_failure_short(err);
  return pawl_fail(err, PAWL_UNREACHABLE, "the connection was lost");
}

/* A lost connection is a rollback: what it was doing is over, and so is all
 * that is held. */
static pawl_code settle(pawl_store *store, pawl_code rc) {
  if (rc == PAWL_OK) return rc;
  if (store->phase == IN_UNIT) store->phase = FAILED;
  /* the schema has been dropped, and may be made anew under the connection */
  if (rc == PAWL_UNREACHABLE || rc == PAWL_NOT_A_STORE ||
      store->unsaved.undone)
    drop_conn(store);
  return rc;
}

/* Of a call with a copy: what is not a store there is the copy, or the file
 * that it was to replace. Ours stays, one in memory above all. */
static pawl_code settle_copy(pawl_store *store, pawl_code rc) {
  return rc == PAWL_NOT_A_STORE ? rc : settle(store, rc);
}

static pawl_code migrate(pawl_store *store, const pawl_store_options *o,
                         int only_looks, pawl_error *err) {
  pawl_migrate_options options = {.alloc = store->alloc,
                                  .clock = &store->clock,
                                  .only_looks = only_looks,
                                  .upgrade = o->migrate,
                                  .create = o->create,
                                  .shards = o->shards};
  return pawl_migrate_run(store->driver, store->conn, &options, &store->schema,
                          err);
}

static pawl_store *new_store(const pawl_store_options *o) {
  pawl_store *store = pawl_calloc(o->alloc, sizeof *store);
  if (!store) return NULL;
  if (o->alloc) {
    store->alloc_copy = *o->alloc;
    store->alloc = &store->alloc_copy;
  }
  pawl_args_init(&store->args, store->alloc);
  if (o->log) store->log = *o->log;
  if (o->clock) store->clock = *o->clock;
  store->gate = o->gate;
  store->options =
      (pawl_driver_options){.alloc = store->alloc,
                            .log = &store->log,
                            .clock = &store->clock,
                            .counts = &store->counts,
                            .pooler = o->pooler,
                            .busy_us = o->busy_us < 0   ? 0
                                       : o->busy_us > 0 ? o->busy_us
                                                        : PAWL_BUSY_US,
                            .relaxed = o->relaxed,
                            .sync_thread = o->sync_thread,
                            .checkpoint_bytes = o->checkpoint_bytes,
                            .unsaved = &store->unsaved,
                            .create = o->create >= 0,
                            .look = o->create < 0};
  store->owner = getpid();
  return store;
}

/* Frees the memory alone: what the driver holds belongs to another process
 * when we are a fork's child. */
static void free_store(pawl_store *store) {
  pawl_alloc alloc = store->alloc_copy;
  pawl_args_deinit(&store->args);
  pawl_buf_deinit(&store->schema_name);
  pawl_release(&alloc, store->target, store->target_size);
  pawl_release(&alloc, store, sizeof *store);
}

static pawl_code check_options(const pawl_store_options *o, pawl_error *err) {
  if (o->shards >= 0 && o->shards <= INT16_MAX) return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID, "%d shards: a store has 1 to %d of them",
                   o->shards, INT16_MAX);
}

static int copy_names(pawl_store *store, const char *target,
                      const char *schema) {
  store->target_size = strlen(target) + 1;
  store->target = pawl_realloc(store->alloc, NULL, 0, store->target_size);
  if (!store->target) return 0;
  memcpy(store->target, target, store->target_size);
  if (!schema) return 1;
  store->schema_name.alloc = store->alloc;
  pawl_buf_addz(&store->schema_name, schema);
  store->options.schema = store->schema_name.at ? store->schema_name.at : "";
  return !store->schema_name.failed;
}

/* One without a connection yet; on failure, too, *out is to be closed. */
static pawl_code make(const char *url, const pawl_store_options *o,
                      pawl_store **out, pawl_error *err) {
  const pawl_driver *driver = NULL;
  const char *target;

  MUST(check_options(o, err));
  MUST(pawl_drivers_pick(url, &driver, &target, err));
  *out = new_store(o);
  if (!*out || !copy_names(*out, target, o->schema))
    return pawl_fail(err, PAWL_NOMEM, "no memory for the store");
  (*out)->driver = driver;
  if (!o->copy.at || strcmp(target, ":memory:") == 0) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID,
                        "open it without, and restore the copy there",
                        "a `copy` is what a store in memory begins with");
}

static pawl_code connect(pawl_store *store, pawl_error *err) {
  return store->driver->open(store->target, &store->options, &store->conn,
                             err);
}

pawl_code pawl_store_pending(const char *url,
                             const pawl_store_options *options, pawl_buf *out,
                             pawl_error *err) {
  pawl_store *store = NULL;
  pawl_error own;
  pawl_code rc;

  if (!err) err = &own;
  TRY(make(url, options, &store, err));
  rc = connect(store, err);
  if (rc == PAWL_NOTFOUND && !strcmp(err->sqlstate, "58P01")) /* no file */
    store->schema.shards = options->shards > 0 ? options->shards : 1;
  else if (rc == PAWL_OK)
    TRY(migrate(store, options, 1, err));
  else
    goto out;
  TRY(pawl_pending(store->driver, store->options.schema, &store->schema,
                   &store->clock, out, err));
out:
  pawl_store_close(store);
  return pawl_failure_outside(rc, err);
}

pawl_code pawl_store_open(const char *url, const pawl_store_options *options,
                          pawl_store **out, pawl_error *err) {
  static const pawl_store_options none = {0};
  const pawl_store_options *o = options ? options : &none;
  pawl_store *store = NULL;
  pawl_error own;
  pawl_code rc;

  if (!err) err = &own;
  TRY(make(url, o, &store, err));
  store->options.copy = o->copy;
  TRY(connect(store, err));
  store->options.copy = (pawl_str){0}; /* the caller's */
  TRY(migrate(store, o, 0, err));
  store->options.create = 0; /* it is there; nothing is to take its place */
  *out = store;
  return PAWL_OK;
out:
  pawl_store_close(store);
  return pawl_failure_outside(rc, err);
}

void pawl_store_close(pawl_store *store) {
  if (!store) return;
  if (!is_foreign(store) && store->conn) {
    store->driver->rollback(store->conn);
    close_conn(store);
  }
  free_store(store);
}

int pawl_store_shards(const pawl_store *store) {
  return store->schema.shards;
}

const char *pawl_store_driver(const pawl_store *store) {
  return store->driver->name;
}

int64_t pawl_store_open_limit(const pawl_store *store) {
  return store->driver->open_limit_us;
}

int64_t pawl_store_epoch(const pawl_store *store) {
  return store->epoch;
}

void pawl_store_stay(pawl_store *store, int stays) {
  store->stays = stays;
}

void pawl_store_versions(const pawl_store *store, int *from, int *to) {
  *from = store->schema.from;
  *to = store->schema.to;
}

/* ---- units ---- */

static pawl_code fail_phase(const char *call, const char *why,
                            pawl_error *err) {
  return pawl_fail(err, PAWL_MISUSE, "%s: %s", call, why);
}

/* Is a unit open and unharmed? */
static pawl_code check_unit(const pawl_store *store, const char *call,
                            pawl_error *err) {
  if (is_foreign(store)) return fail_forked(err);
  if (store->phase == IDLE)
    return fail_phase(call, "no unit of work is open", err);
  if (store->phase == FAILED)
    return fail_phase(call, "the unit of work has failed: roll it back", err);
  assert(store->conn); /* one that is lost has failed: settle */
  return PAWL_OK;
}

/* S4: another store may have come to where ours was. */
static pawl_code check_again(pawl_store *store, pawl_error *err) {
  pawl_migrate_options options = {
      .alloc = store->alloc, .clock = &store->clock, .create = -1};
  pawl_schema found;
  MUST(pawl_migrate_run(store->driver, store->conn, &options, &found, err));
  if (found.shards == store->schema.shards) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_MISUSE,
      /* waiting would not mend it */ "open it anew: restart the program",
      "the store that is there now has %d shards, the one before had %d",
      found.shards, store->schema.shards);
}

static pawl_code fail_died(pawl_error *err) {
  return pawl_fail_hint(err, PAWL_UNREACHABLE, "open another engine",
                        "the engine was told to die");
}

static pawl_code reopen(pawl_store *store, pawl_error *err) {
  pawl_code rc;
  if (store->has_died) return fail_died(err);     /* S7 */
  assert(!store->conn && !store->options.create); /* S4 */
  TRY(store->driver->open(store->target, &store->options, &store->conn, err));
  TRY(check_again(store, err));
  store->epoch++;
  return PAWL_OK;
out:
  drop_conn(store);
  return rc;
}

static pawl_code fail_undone(const pawl_store *store, pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_UNREACHABLE,
      "they were at risk, as `durability` allows; what they did is done again",
      "%" PRId64 " commits that had not reached the file are undone",
      store->unsaved.undone);
}

/* Begins on the connection there is; drops one that turns out to be lost. */
static pawl_code begin(pawl_store *store, int unit, pawl_error *err) {
  if (store->unsaved.undone) return fail_undone(store, err); /* S5 */
  if (!store->conn) return fail_gone(store->options.is_short, err);
  return settle(store, store->driver->begin(store->conn, unit, err));
}

/* ---- a transaction that is held ---- */

/* By itself, not as a part of a unit: its result is counted all the same. */
static pawl_code send_plain(pawl_store *store, pawl_stmt stmt,
                            pawl_error *err) {
  pawl_args_begin(&store->args, stmt);
  MUST(store->driver->send(store->conn, &store->args, err));
  store->nsent++;
  return PAWL_OK;
}

/* It cannot go on: its level has to be rolled back; with its connection all
 * levels have to. */
static pawl_code spoil(pawl_store *store, pawl_code rc, pawl_error *err) {
  pawl_error unsaid;

  if (rc == PAWL_OK) return rc;
  if (!err) err = &unsaid;
  if (!store->failed_level) {
    store->failed_level = store->nheld;
    store->why = *err;
  }
  if (rc == PAWL_UNREACHABLE || rc == PAWL_NOT_A_STORE) {
    drop_conn(store);
    store->failed_level = 1;
  }
  return rc;
}

/* Whatever has failed in it: the same again. S5: so it is with a connection
 * that is lost, until all is rolled back. */
static pawl_code check_held(const pawl_store *store, pawl_error *err) {
  if (!store->failed_level) return PAWL_OK;
  if (err) *err = store->why;
  pawl_error_prefix(err,
                    "the transaction has failed, and has to be rolled "
                    "back");
  return store->why.code;
}

static int may_write(int unit) {
  return unit != PAWL_UNIT_READ && unit != PAWL_UNIT_SNAPSHOT;
}

/* What the units before have read is over, as it is outside: it would stay
 * until the end of all else. */
static void forget_rows(pawl_store *store) {
  store->driver->forget(store->conn);
  store->nsent = 0;
}

/* A unit that only reads has nothing to undo. */
static pawl_code begin_held(pawl_store *store, int unit, pawl_error *err) {
  pawl_error unsaid;

  if (!err) err = &unsaid;
  MUST(check_held(store, err));
  forget_rows(store);
  store->saved = may_write(unit);
  if (store->saved)
    MUST(spoil(store, send_plain(store, PAWL_STMT_savepoint, err), err));
  store->phase = IN_UNIT;
  store->unit = unit;
  return PAWL_OK;
}

static pawl_code commit_held(pawl_store *store, pawl_error *err) {
  pawl_error unsaid;

  if (!err) err = &unsaid;
  store->phase = IDLE;
  if (!store->saved) return PAWL_OK;
  return spoil(store, send_plain(store, PAWL_STMT_savepoint_release, err),
               err);
}

/* Back to the last savepoint, which goes too. */
static pawl_code undo_held(pawl_store *store, pawl_error *err) {
  MUST(send_plain(store, PAWL_STMT_savepoint_undo, err));
  return send_plain(store, PAWL_STMT_savepoint_release, err);
}

static void rollback_held(pawl_store *store) {
  pawl_error err;

  store->phase = IDLE;
  if (!store->conn) {
    (void)spoil(store, fail_gone(store->options.is_short, &err), &err);
  } else if (store->saved) {
    (void)spoil(store, undo_held(store, &err), &err);
  } else {
    pawl_fail(&err, PAWL_STORE, "a question to the store has failed");
    (void)spoil(store, PAWL_STORE, &err);
  }
}

int pawl_store_held(const pawl_store *store) {
  return store->nheld;
}

pawl_code pawl_store_hold(pawl_store *store, pawl_error *err) {
  if (store->nheld) {
    if (store->phase != IDLE)
      return fail_phase("hold", "a unit of work is open", err);
    MUST(check_held(store, err));
    MUST(spoil(store, send_plain(store, PAWL_STMT_savepoint, err), err));
  } else {
    MUST(pawl_store_settle(store, err)); /* a user's statements may come */
    MUST(pawl_store_begin(store, PAWL_UNIT_OPEN, err));
    store->phase = IDLE; /* of the units in it */
    store->failed_level = 0;
  }
  store->nheld++;
  return PAWL_OK;
}

static pawl_code fail_unheld(const char *call, pawl_error *err) {
  return pawl_fail(err, PAWL_MISUSE, "%s: no transaction is open", call);
}

static pawl_code commit_outermost(pawl_store *store, pawl_error *err) {
  pawl_code rc;

  store->nheld = 0;
  store->phase = IN_UNIT;
  store->unit = PAWL_UNIT_OPEN;
  rc = pawl_store_commit(store, err);
  if (rc != PAWL_UNREACHABLE) return rc;
  pawl_error_prefix(err, "nobody knows whether the transaction was committed");
  pawl_error_hint(err,
                  "look for what it did: with ids or keys of your own it may "
                  "be repeated without harm");
  return rc;
}

pawl_code pawl_store_held_commit(pawl_store *store, pawl_error *err) {
  pawl_error unsaid;
  pawl_code rc = PAWL_OK;

  if (is_foreign(store)) return fail_forked(err);
  if (!store->nheld || store->phase != IDLE) return fail_unheld("commit", err);
  if (!err) err = &unsaid;
  TRY(check_held(store, err));
  if (store->nheld == 1) return commit_outermost(store, err);
  TRY(spoil(store, send_plain(store, PAWL_STMT_savepoint_release, err), err));
  store->nheld--;
  return PAWL_OK;
out:
  pawl_store_held_rollback(store);
  return rc;
}

void pawl_store_held_rollback(pawl_store *store) {
  pawl_error err;

  if (is_foreign(store) || !store->nheld) return;
  store->phase = IDLE;
  if (--store->nheld == 0) {
    store->failed_level = 0;
    if (store->conn && !store->driver->rollback(store->conn)) drop_conn(store);
    return;
  }
  if (store->failed_level > store->nheld) store->failed_level = 0;
  if (!store->failed_level) (void)spoil(store, undo_held(store, &err), &err);
}

/* ---- and lent ---- */

pawl_code pawl_store_lend(pawl_store *store, void **out, pawl_error *err) {
  if (is_foreign(store)) return fail_forked(err);
  if (!store->nheld || store->phase != IDLE) return fail_unheld("lend", err);
  MUST(check_held(store, err));
  if (!store->driver->lend)
    return pawl_fail_hint(
        err, PAWL_UNSUPPORTED, "run the statement by the call for queries",
        "a connection to %s is not lent", store->driver->name);
  store->is_lent = 1;
  return store->driver->lend(store->conn, PAWL_LENT_NOT, out, err);
}

void pawl_store_give_away(pawl_store *store) {
  pawl_error err;
  const int may = store->nheld && !store->failed_level;

  if (!store->is_lent || !store->conn || is_foreign(store)) return;
  pawl_code rc = store->driver->lend(
      store->conn, may ? PAWL_LENT : PAWL_LENT_OVER, NULL, &err);
  if (rc != PAWL_OK) (void)spoil(store, rc, &err);
}

void pawl_store_take_back(pawl_store *store) {
  pawl_error err;

  if (!store->is_lent || !store->conn || is_foreign(store)) return;
  pawl_code rc = store->driver->lend(store->conn, PAWL_LENT_NOT, NULL, &err);
  if (rc == PAWL_OK || !store->nheld) return;
  (void)spoil(store, rc, &err);
  store->failed_level = 1; /* no savepoint of it is left, or is to be kept */
}

pawl_code pawl_store_begin(pawl_store *store, int unit, pawl_error *err) {
  pawl_error why = {0};
  if (is_foreign(store)) return fail_forked(err);
  if (store->phase != IDLE)
    return fail_phase("begin", "a unit of work is open", err);
  if (store->nheld) return begin_held(store, unit, err);
  if (unit == PAWL_UNIT_SOON && !(store->driver->caps & PAWL_CAN_SOON))
    unit = PAWL_UNIT_BATCH;
  if (unit == PAWL_UNIT_RELAXED && !(store->driver->caps & PAWL_CAN_RELAX))
    unit = PAWL_UNIT_BATCH;
  if (unit == PAWL_UNIT_SNAPSHOT && !(store->driver->caps & PAWL_CAN_SNAPSHOT))
    unit = PAWL_UNIT_READ;
  pawl_code rc = begin(store, unit, &why);
  if (rc == PAWL_UNREACHABLE && !store->stays && !store->unsaved.undone) {
    if (!strcmp(why.sqlstate, "58P01")) /* no cut line */
      pawl_log_error(&store->log, PAWL_WARN, "the store is opened anew", &why);
    MUST(reopen(store, err));
    rc = begin(store, unit, &why);
  }
  if (rc != PAWL_OK) return pawl_fail_so(err, &why);
  store->phase = IN_UNIT;
  store->unit = unit;
  store->nsent = 0;
  return PAWL_OK;
}

pawl_code pawl_store_send(pawl_store *store, const pawl_args *args, int *at,
                          pawl_error *err) {
  if (at) *at = -1;
  MUST(check_unit(store, "send", err));
  if (!pawl_args_rows(args)) return PAWL_OK;
  MUST(settle(store, pawl_args_check(args, err)));
  MUST(settle(store, store->driver->send(store->conn, args, err)));
  if (at) *at = store->nsent;
  store->nsent++;
  return PAWL_OK;
}

pawl_code pawl_store_send_one(pawl_store *store, pawl_stmt stmt,
                              const void *row, int *at, pawl_error *err) {
  pawl_args_begin(&store->args, stmt);
  if (row) pawl_args_put(&store->args, stmt, row);
  return pawl_store_send(store, &store->args, at, err);
}

/* Undone while we wait for it, as the server does it behind a process that is
 * gone: who looks next is not to find it half done. */
static void die(pawl_store *store) {
  store->has_died = 1;
  store->phase = IDLE;
  store->driver->rollback(store->conn);
  drop_conn(store);
}

/* Is the store to die at this commit? */
static pawl_code ask_gate(pawl_store *store, int is_done, pawl_error *err) {
  if (!store->gate.ask || !store->conn || store->has_died ||
      !store->gate.ask(store->gate.ud, is_done))
    return PAWL_OK;
  die(store);
  return fail_died(err);
}

pawl_code pawl_store_commit(pawl_store *store, pawl_error *err) {
  pawl_code rc;
  TRY(check_unit(store, "commit", err));
  if (store->nheld) return commit_held(store, err);
  if (may_write(store->unit)) MUST(ask_gate(store, 0, err));
  TRY(settle(store, store->driver->commit(store->conn, err)));
  store->phase = IDLE;
  return may_write(store->unit) ? ask_gate(store, 1, err) : PAWL_OK;
out:
  pawl_store_rollback(store);
  return rc;
}

int pawl_store_can_hold_to_tables(const pawl_store *store) {
  return (store->driver->caps & PAWL_CAN_TABLES) != 0;
}

int pawl_store_can_submit(const pawl_store *store) {
  return (store->driver->caps & PAWL_CAN_SUBMIT) != 0 && !store->nheld;
}

pawl_code pawl_store_submit(pawl_store *store, pawl_error *err) {
  pawl_code rc;
  TRY(check_unit(store, "submit", err));
  if (store->unit != PAWL_UNIT_BATCH ||
      store->nlost + store->nsubmitted == PAWL_MAX_SUBMITTED)
    TRY(settle(store, fail_phase("submit", "it is not possible now", err)));
  MUST(ask_gate(store, 0, err));
  TRY(settle(store, store->driver->submit(store->conn, err)));
  store->phase = IDLE;
  store->nsubmitted++;
  assert(store->nlost + store->nsubmitted <= PAWL_MAX_SUBMITTED); /* D4 */
  return PAWL_OK;
out:
  pawl_store_rollback(store);
  return rc;
}

pawl_code pawl_store_finish(pawl_store *store, pawl_error *err) {
  if (is_foreign(store)) return fail_forked(err);
  if (store->phase != IDLE || store->nheld)
    return fail_phase("finish", "a unit of work is open", err);
  if (store->nlost) {
    store->nlost--;
    return fail_gone(store->lost_short, err);
  }
  if (!store->nsubmitted)
    return fail_phase("finish", "nothing is submitted", err);
  store->nsubmitted--;
  assert(store->conn); /* drop_conn counts what goes with it as lost */
  MUST(settle(store, store->driver->finish(store->conn, err)));
  return ask_gate(store, 1, err);
}

int pawl_store_await(pawl_store *store, int64_t deadline_mono_us,
                     struct pollfd *fds, int nfds) {
  int answered = 1;
  if (!is_foreign(store) && store->conn && !store->nlost && store->nsubmitted)
    store->driver->await(store->conn, deadline_mono_us, fds, nfds, &answered);
  return answered;
}

void pawl_store_call(pawl_store *store) {
  store->options.has_calls = 1;
  store->options.call_us = 0;
}

void pawl_store_until(pawl_store *store, int64_t mono_us) {
  store->options.until_mono_us = mono_us;
}

int pawl_store_is_patient(const pawl_store *store) {
  const pawl_driver_options *o = &store->options;

  return o->busy_us > 0 && (!o->has_calls || o->call_us < o->busy_us) &&
         (!o->until_mono_us || pawl_clock_mono() < o->until_mono_us);
}

int pawl_store_may_repeat(pawl_code rc, int *tries) {
  assert(*tries >= 0);
  if ((rc != PAWL_UNREACHABLE && rc != PAWL_BUSY) || *tries == 2) return 0;
  ++*tries;
  return 1;
}

void pawl_store_rollback(pawl_store *store) {
  if (is_foreign(store) || store->phase == IDLE) return;
  if (store->nheld) {
    rollback_held(store);
    return;
  }
  store->phase = IDLE;
  if (store->conn && !store->driver->rollback(store->conn)) drop_conn(store);
}

void pawl_store_rows(pawl_store *store, int at, pawl_rows *out) {
  *out = (pawl_rows){0};
  if (at >= 0 && store->conn && !is_foreign(store))
    store->driver->rows(store->conn, at, out);
}

pawl_code pawl_store_once(pawl_store *store, int unit, const pawl_args *args,
                          pawl_rows *out, pawl_error *err) {
  int at;
  MUST(pawl_store_begin(store, unit, err));
  pawl_code rc = pawl_store_send(store, args, &at, err);
  if (rc == PAWL_OK) rc = pawl_store_commit(store, err);
  if (rc == PAWL_OK && out) pawl_store_rows(store, at, out);
  pawl_store_rollback(store); /* no-op after a commit */
  return rc;
}

pawl_code pawl_store_once_one(pawl_store *store, int unit, pawl_stmt stmt,
                              const void *row, pawl_rows *out,
                              pawl_error *err) {
  pawl_args_begin(&store->args, stmt);
  if (row) pawl_args_put(&store->args, stmt, row);
  return pawl_store_once(store, unit, &store->args, out, err);
}

int64_t pawl_store_now(const pawl_store *store) {
  return pawl_driver_now(store->driver, &store->clock);
}

pawl_code pawl_store_query(pawl_store *store, pawl_query *q, pawl_error *err) {
  pawl_error unsaid;

  if (!err) err = &unsaid;
  if (store->nheld && store->phase == IDLE) {
    MUST(check_held(store, err));
    return spoil(store, store->driver->query(store->conn, q, err), err);
  }
  MUST(check_unit(store, "query", err));
  if (store->unit != PAWL_UNIT_OPEN)
    return fail_phase("query", "wants an open transaction", err);
  return settle(store, store->driver->query(store->conn, q, err));
}

/* ---- between units ---- */

static pawl_code check_idle(pawl_store *store, const char *what,
                            pawl_error *err) {
  if (is_foreign(store)) return fail_forked(err);
  if (store->phase != IDLE || store->nheld)
    return fail_phase(what, "a unit of work is open", err);
  if (!store->conn) /* the next begin connects, or tells why it cannot */
    return fail_gone(store->options.is_short, err);
  return PAWL_OK;
}

pawl_code pawl_store_fd(pawl_store *store, int *out, pawl_error *err) {
  MUST(check_idle(store, "fd", err));
  *out = -1;
  if (!store->driver->fd) return PAWL_OK;
  return settle(store, store->driver->fd(store->conn, out, err));
}

pawl_code pawl_store_wait(pawl_store *store, int64_t deadline_mono_us,
                          const volatile int *stop, struct pollfd *fds,
                          int nfds, int *woken, pawl_error *err) {
  struct pollfd own;
  *woken = 0;
  MUST(pawl_store_settle(store, err));
  MUST(check_idle(store, "wait", err));
  if (!fds) fds = &own, nfds = 1;
  return settle(store, store->driver->wait(store->conn, deadline_mono_us, stop,
                                           fds, nfds, woken, err));
}

pawl_code pawl_store_backup(pawl_store *store, pawl_copy *copy,
                            const volatile int *stop, pawl_error *err) {
  pawl_code rc;

  TRY(pawl_store_settle(store, err));
  TRY(pawl_store_begin(store, PAWL_UNIT_READ, err));
  TRY(settle_copy(store, store->driver->backup(store->conn, copy, stop, err)));
out:
  pawl_store_rollback(store);
  return rc;
}

/* A copy as a store of its own, which is only read. */
static pawl_code open_copy(pawl_store *store, const char *path, pawl_str image,
                           pawl_store **out, pawl_error *err) {
  const pawl_store_options options = {.alloc = store->alloc,
                                      .log = &store->log,
                                      .clock = &store->clock,
                                      .busy_us = store->options.busy_us,
                                      .create = -1};
  pawl_buf url = {.alloc = store->alloc};
  pawl_code rc;

  pawl_buf_addz(&url, store->driver->url->scheme);
  pawl_buf_addz(&url, path ? path : ":memory:");
  TRY(pawl_buf_check(&url, err));
  TRY(make(url.at, &options, out, err));
  if (!path) (*out)->options.image = image;
  TRY(connect(*out, err));
  TRY(migrate(*out, &options, 0, err));
  if ((*out)->schema.shards == store->schema.shards) goto out;
  rc = pawl_fail_hint(
      err, PAWL_CONFLICT, "restore it where a store was made with as many",
      "%s: it has %d shards, the store has %d", path ? path : "the copy",
      (*out)->schema.shards, store->schema.shards);
out:
  pawl_buf_deinit(&url);
  return rc;
}

pawl_code pawl_store_restore(pawl_store *store, const char *path,
                             pawl_str image, const volatile int *stop,
                             int64_t *bytes, pawl_error *err) {
  pawl_store *from = NULL;
  pawl_code rc;

  TRY(pawl_store_settle(store, err));
  /* opens what was lost */
  TRY(pawl_store_begin(store, PAWL_UNIT_READ, err));
  pawl_store_rollback(store);
  TRY(check_idle(store, "restore", err));
  TRY(store->driver->restore(store->conn, NULL, stop, bytes, err));
  TRY(open_copy(store, path, image, &from, err));
  TRY(pawl_store_begin(from, PAWL_UNIT_READ, err));
  TRY(settle_copy(store, store->driver->restore(store->conn, from->conn, stop,
                                                bytes, err)));
  store->epoch++;
out:
  pawl_store_close(from);
  return rc;
}

const pawl_unsaved *pawl_store_unsaved(const pawl_store *store) {
  return &store->unsaved;
}

void pawl_store_group(pawl_store *store, int groups) {
  store->options.groups = groups;
}

void pawl_store_await_end(pawl_store *store, const char *awaited) {
  store->options.awaited = awaited;
}

/* In one that is held there is no group: it was settled before. */
static pawl_code settle_group(pawl_store *store, int only_due,
                              pawl_error *err) {
  if (is_foreign(store)) return fail_forked(err);
  if (store->phase != IDLE)
    return fail_phase("settle", "a unit of work is open", err);
  if (!store->unsaved.unwritten || !store->conn) return PAWL_OK;
  return settle(store, store->driver->settle(store->conn, only_due, err));
}

pawl_code pawl_store_settle(pawl_store *store, pawl_error *err) {
  return settle_group(store, 0, err);
}

pawl_code pawl_store_settle_due(pawl_store *store, pawl_error *err) {
  return settle_group(store, 1, err);
}

int64_t pawl_store_undone(const pawl_store *store) {
  return store->unsaved.undone;
}

void pawl_store_accept(pawl_store *store) {
  store->unsaved.undone = 0;
}

static pawl_code save(pawl_store *store, int how, pawl_error *err) {
  if (is_foreign(store)) return fail_forked(err);
  if (store->phase != IDLE || store->nheld)
    return fail_phase("save", "a unit of work is open", err);
  if (store->unsaved.undone) return fail_undone(store, err);
  if (!store->unsaved.commits) return PAWL_OK;
  if (!store->conn) /* what was committed over it is the store's own */
    MUST(reopen(store, err));
  return settle(store, store->driver->save(store->conn, how, err));
}

pawl_code pawl_store_save(pawl_store *store, pawl_error *err) {
  return save(store, PAWL_SAVE_ALL, err);
}

pawl_code pawl_store_flush(pawl_store *store, pawl_error *err) {
  return save(store, PAWL_SAVE_LOCAL, err);
}

pawl_code pawl_store_look_saved(pawl_store *store, pawl_error *err) {
  if (!store->unsaved.syncing || !store->conn) return PAWL_OK;
  return save(store, PAWL_SAVE_LOOK, err);
}

/* It has a connection of ours, on which nothing is under way. */
static int is_at_rest(const pawl_store *store) {
  return !is_foreign(store) && store->phase == IDLE && !store->nheld &&
         store->conn;
}

int pawl_store_mark(pawl_store *store, pawl_store_marks *out) {
  return is_at_rest(store) && store->driver->mark &&
         store->driver->mark(store->conn, out);
}

void pawl_store_tidy(pawl_store *store) {
  if (is_at_rest(store) && store->driver->tidy)
    store->driver->tidy(store->conn);
}

void pawl_store_slim(pawl_store *store) {
  if (is_at_rest(store) && store->driver->slim)
    store->driver->slim(store->conn);
}

void pawl_store_count(const pawl_store *store, pawl_counts *out) {
  *out = store->counts;
}

int64_t pawl_store_memory(const pawl_store *store) {
  if (is_foreign(store) || !store->conn || !store->driver->memory) return 0;
  return store->driver->memory(store->conn);
}
