/* store/store.h: where instances live.
 *
 * Layer    above base and value, below engine. sqlite3.h is seen only by
 *          sqlite, sqbackup, sqconn and sqguard, libpq-fe.h only by postgres, pgconn
 *          and pgwire.
 * Owns     a pawl_store owns one connection and its prepared statements.
 *          Rows are borrowed until the next begin or close.
 * Threads  one store, one thread. Another thread opens another store.
 * Time     int64_t microseconds since the Unix epoch, UTC, from the store's
 *          clock (or the test's): workers on many machines must agree.
 * Errors   as in driver.h; PAWL_STORE_OLD and PAWL_STORE_NEW from open.
 *          A lost connection is opened again by the next begin; what is found
 *          there is then looked at as by open, and never made (S4).
 * Keeps    S1 an instance is written only under its lease id.
 *          S2 agenda rows are locked first, in id order, then instances.
 *          S3 one unit names one shard.
 *          S4 what takes the place of a store that was lost is used when it is
 *             a store of our schema, else waited for: nothing is made there.
 *          S5 while a transaction is held, or what was grouped is undone, its
 *             connection is not opened again: what follows would happen
 *             outside of it.
 *          S7 one that has died does nothing more: its connection is gone, and
 *             is not opened again. */
#ifndef PAWL_STORE_STORE_H
#define PAWL_STORE_STORE_H

#include "driver.h"

typedef struct pawl_store pawl_store;

/* Asked before a unit that may write is committed, and after: not 0, and the
 * store dies there, as its process might (S7). */
typedef struct pawl_store_gate {
  int (*ask)(void *ud, int is_done); /* NULL: nobody is asked */
  void *ud;
} pawl_store_gate;

#define PAWL_BUSY_US (5 * PAWL_SECOND) /* that a call waits for others */

typedef struct pawl_store_options {
  const pawl_alloc *alloc;
  const pawl_log *log;
  const pawl_clock *clock;
  int pooler;         /* PAWL_POOLER_... */
  const char *schema; /* PostgreSQL: NULL is "pawl"; copied. SQLite has none:
                         PAWL_INVALID */
  int create;         /* -1: a missing or empty store is an error */
  int shards;         /* of a store made now; 0: 1 */
  int relaxed;        /* commits may return before they are on disk */
  int sync_thread;    /* SQLite: a helper thread may take them there */
  int64_t busy_us;    /* SQLite: for how long it waits for others; less than
                         0: never; 0: 5 s */
  int64_t checkpoint_bytes; /* see driver.h */
  int migrate;              /* 1: upgrade an older store too (pawl migrate) */
  pawl_store_gate gate;
  pawl_str copy; /* what a store in memory begins with; .at NULL: nothing;
                    borrowed for the call */
} pawl_store_options;

/* url as in pawl_open. An empty store gets its schema. Retries of a busy or
 * unreachable store are the caller's. */
pawl_code pawl_store_open(const char *url, const pawl_store_options *options,
                          pawl_store **out, pawl_error *err);
void pawl_store_close(pawl_store *store);
/* Appends what is missing of its schema, as pending.h says, and changes
 * nothing. A SQLite file need not be there. */
pawl_code pawl_store_pending(const char *url,
                             const pawl_store_options *options, pawl_buf *out,
                             pawl_error *err);

/* Appends what may be shown of a URL to anybody: what names the store, built
 * from its parts, and no password in whatever way it is written. "..." for what
 * is no URL of a store. */
void pawl_store_describe(const char *url, pawl_buf *out);

int pawl_store_shards(const pawl_store *store);
const char *pawl_store_driver(const pawl_store *store);
/* Can a query be held to some tables (stmt.h)? */
int pawl_store_can_hold_to_tables(const pawl_store *store);
/* How long an OPEN unit with a user's own statements may take (driver.h). */
int64_t pawl_store_open_limit(const pawl_store *store);
/* Schema version found when opening, and after. */
void pawl_store_versions(const pawl_store *store, int *from, int *to);

/* How often it was opened again: each time another store may be there, which
 * does not know what was told to the one before. */
int64_t pawl_store_epoch(const pawl_store *store);

/* 1: from now on begin opens nothing again, and fails as UNREACHABLE instead:
 * what was read from this store is for no other. 0: as ever. */
void pawl_store_stay(pawl_store *store, int stays);

/* One unit of work; see driver.h for the kinds. begin opens a lost
 * connection again first. */
pawl_code pawl_store_begin(pawl_store *store, int unit, pawl_error *err);
/* Each tells where the statement's result will be, for pawl_store_rows, as
 * soon as it is there (driver.h); `at` may be NULL. -1, whose rows are none:
 * its columns were empty. */
pawl_code pawl_store_send(pawl_store *store, const pawl_args *args, int *at,
                          pawl_error *err);
pawl_code pawl_store_send_one(pawl_store *store, pawl_stmt stmt,
                              const void *row, int *at, pawl_error *err);
/* TRY(PAWL_SEND(store, instance_settle, &at, err, .shard = 0, .id = &id));
 * A statement without arguments: by pawl_store_send_one, `row` NULL. */
#define PAWL_SEND(store, stmt, at, err, ...)   \
  pawl_store_send_one(store, PAWL_STMT_##stmt, \
                      &(const pawl_##stmt##_args){__VA_ARGS__}, at, err)
/* On failure the unit is rolled back already. PAWL_UNREACHABLE from commit:
 * nobody knows whether it happened. */
pawl_code pawl_store_commit(pawl_store *store, pawl_error *err);
/* The same in two halves, so that something else can be done while the store
 * works: after submit other units may begin, at most PAWL_MAX_SUBMITTED are
 * submitted at one time, and finish ends the oldest: the same statements, and
 * the same rows (pipeline_spec.lua). Where the store cannot
 * (pawl_store_can_submit), neither may be called. A submit that failed is a
 * commit that failed, with nothing to finish. */
int pawl_store_can_submit(const pawl_store *store);
pawl_code pawl_store_submit(pawl_store *store, pawl_error *err);
pawl_code pawl_store_finish(pawl_store *store, pawl_error *err);
/* Until the oldest can be finished without waiting (then 1), or as in
 * driver.h. 1 also when there is nothing to wait for. */
int pawl_store_await(pawl_store *store, int64_t deadline_mono_us,
                     struct pollfd *fds, int nfds);
/* Over when the store says so: else the connection is closed, and the next
 * begin opens another. */
void pawl_store_rollback(pawl_store *store);
void pawl_store_rows(pawl_store *store, int at, pawl_rows *out);
/* May a unit that ended so be sent again? Only one that does no harm when it
 * happened already. Counts in *tries how often it was, twice at most. */
int pawl_store_may_repeat(pawl_code rc, int *tries);
/* One statement in a unit of its own, of any kind but OPEN; `out` may be
 * NULL. */
pawl_code pawl_store_once(pawl_store *store, int unit, const pawl_args *args,
                          pawl_rows *out, pawl_error *err);
pawl_code pawl_store_once_one(pawl_store *store, int unit, pawl_stmt stmt,
                              const void *row, pawl_rows *out,
                              pawl_error *err);
/* TRY(PAWL_READ(store, instance_settle, &rows, err, .shard = 0, .id = &id));
 * asks in a unit that reads, PAWL_WRITE in a BATCH. */
#define PAWL_READ(store, stmt, rows, err, ...)                 \
  pawl_store_once_one(store, PAWL_UNIT_READ, PAWL_STMT_##stmt, \
                      &(const pawl_##stmt##_args){__VA_ARGS__}, rows, err)
#define PAWL_WRITE(store, stmt, rows, err, ...)                 \
  pawl_store_once_one(store, PAWL_UNIT_BATCH, PAWL_STMT_##stmt, \
                      &(const pawl_##stmt##_args){__VA_ARGS__}, rows, err)
/* The value for a statement's @now: the injected or the host's time; 0, which
 * is null there, where the database's own clock is used. */
int64_t pawl_store_now(const pawl_store *store);
/* A call begins, or a round of one that has many: all that it waits for others
 * who hold a SQLite file is one busy_us together. Without it each unit may. */
void pawl_store_call(pawl_store *store);
/* Nor does it wait beyond that, by pawl_clock_mono; 0: it has no end. */
void pawl_store_until(pawl_store *store, int64_t mono_us);
/* Would it wait any more? */
int pawl_store_is_patient(const pawl_store *store);
/* Holds one transaction open, for as long as its user likes: until it is
 * committed or rolled back every unit is a part of it, all or nothing by a
 * savepoint, and is committed with it. Held again inside, it is a savepoint of
 * its own. What has failed as a whole (a query, a connection) has every unit
 * fail, until the level in which it failed is rolled back. */
pawl_code pawl_store_hold(pawl_store *store, pawl_error *err);
/* How many levels are held; 0: none. */
int pawl_store_held(const pawl_store *store);
/* Ends the innermost level; on failure that is rolled back. Of the outermost,
 * PAWL_UNREACHABLE: nobody knows whether it happened. */
pawl_code pawl_store_held_commit(pawl_store *store, pawl_error *err);
void pawl_store_held_rollback(pawl_store *store);
/* See driver.h; in an OPEN unit, or between the units of what is held. */
pawl_code pawl_store_query(pawl_store *store, pawl_query *q, pawl_error *err);
/* The handle of the connection on which a transaction is held (driver.h). From
 * then on the connection changes hands with give_away, as control goes to the
 * program, and take_back, before anything is asked of the store: that knows
 * what became of the transaction. UNSUPPORTED, where there is none. */
pawl_code pawl_store_lend(pawl_store *store, void **out, pawl_error *err);
void pawl_store_give_away(pawl_store *store);
void pawl_store_take_back(pawl_store *store);
/* What `wait` is for from now on: driver.h, `awaited`. Borrowed. */
void pawl_store_await_end(pawl_store *store, const char *awaited);
/* See driver.h; `fds` may be NULL. */
pawl_code pawl_store_fd(pawl_store *store, int *out, pawl_error *err);
pawl_code pawl_store_wait(pawl_store *store, int64_t deadline_mono_us,
                          const volatile int *stop, struct pollfd *fds,
                          int nfds, int *woken, pawl_error *err);
/* See driver.h; no unit is open. */
pawl_code pawl_store_backup(pawl_store *store, pawl_copy *copy,
                            const volatile int *stop, pawl_error *err);
/* The copy at `path` takes the place of all that is in the store, which is
 * another one from then on (epoch); `path` NULL: the copy is `image`. Whatever
 * is wrong with it is said before anything is touched, and what fails has
 * changed nothing. */
pawl_code pawl_store_restore(pawl_store *store, const char *path,
                             pawl_str image, const volatile int *stop,
                             int64_t *bytes, pawl_error *err);
void pawl_store_tidy(pawl_store *store);
/* Gives back what the store keeps for its next unit, where memory is short. No
 * row is asked for any more; a no-op inside a unit. */
void pawl_store_slim(pawl_store *store);
/* Commits of a relaxed store that may not be on disk yet. */
const pawl_unsaved *pawl_store_unsaved(const pawl_store *store);
/* 1: units that are begun from now on may be a group (driver.h); 0: none more
 * is begun. */
void pawl_store_group(pawl_store *store, int groups);
/* Commits the group that is open, if one is; no unit is. `due`: if it is large,
 * or somebody waits for it. */
pawl_code pawl_store_settle(pawl_store *store, pawl_error *err);
pawl_code pawl_store_settle_due(pawl_store *store, pawl_error *err);
/* Units that were committed, and are undone with their group. Until that is
 * accepted no unit begins: what the caller knows of the store is not so. */
int64_t pawl_store_undone(const pawl_store *store);
void pawl_store_accept(pawl_store *store);
/* Takes them there; no unit is open. `flush`: as far as a server does not do
 * that by itself; where a helper thread does, it is only begun. */
pawl_code pawl_store_save(pawl_store *store, pawl_error *err);
pawl_code pawl_store_flush(pawl_store *store, pawl_error *err);
/* What a flush has begun and another thread has done since is counted. */
pawl_code pawl_store_look_saved(pawl_store *store, pawl_error *err);
/* See driver.h; never told while a transaction is held. */
int pawl_store_mark(pawl_store *store, pawl_store_marks *out);
void pawl_store_count(const pawl_store *store, pawl_counts *out);
/* Bytes that the client's library holds for it; 0: it does not tell. */
int64_t pawl_store_memory(const pawl_store *store);

#endif
