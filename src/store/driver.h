/* store/driver.h: what a database must be able to do for us.
 *
 * A driver carries bytes; SQL files carry meaning; store.c knows neither
 * dialect. Two drivers: sqlite.c and postgres.c, each with the files below it.
 * A third is written by filling in pawl_driver and naming it in drivers.h, and
 * spec/store and spec/engine tell whether it is right; spec/support/toy.c is one
 * to read (docs/stores.md).
 *
 * Units    A unit of work is begin .. commit | rollback. PAWL_UNIT_BATCH:
 *          statements are queued by `send` and run when `commit` is called,
 *          in one round trip where the database allows it; all or nothing.
 *          PAWL_UNIT_OPEN: an open transaction, each `send` runs at once and
 *          its rows can be read before the next. PAWL_UNIT_READ: as BATCH but
 *          takes no write lock and ends with nothing changed. PAWL_UNIT_SOON:
 *          as BATCH, for what a machine that goes down may forget: others see
 *          it after commit, but it is on disk only with the next unit of
 *          another kind that anybody commits. PAWL_UNIT_RELAXED: as BATCH, and
 *          may be on disk later, and is counted in `unsaved` until then.
 *          PAWL_UNIT_SNAPSHOT: as READ, and all its
 *          statements see the store as it is at one moment.
 * Results  After commit (BATCH, SOON, READ) `rows(k)` gives the rows of the
 *          k-th statement sent since begin, in an OPEN unit as soon as it was
 *          sent; they stay until the next begin or close. A statement with
 *          no rows in its columns is not sent: the store sees to that.
 * Errors   When `send` or `commit` fails, nothing of the unit has happened,
 *          except PAWL_UNREACHABLE from commit: then nobody knows; so, too,
 *          where our memory was short for its answer (failure.h). After a
 *          failure only rollback and close are legal, and in an OPEN unit the
 *          statement savepoint_undo, if a savepoint was made: what failed is
 *          over then. A COMMIT that answers
 *          with the tag ROLLBACK is a failure. SQLSTATE is always set in err;
 *          SQLite's codes are mapped to their nearest SQLSTATE.
 * Codes    BUSY (lock or serialisation: the unit may be repeated),
 *          UNREACHABLE, AUTH, READONLY, FULL, NOT_A_STORE, CORRUPT; LEASE_LOST
 *          from a statement with `every: row` (stmt.h); else STORE.
 * Groups   Where commits may wait (`relaxed`), and the options say `groups`
 *          then, a unit may begin a group, which all that follow join: what is
 *          committed in it is seen on this connection alone, and is others' and
 *          the disk's with `settle`, all of it or nothing. A user's own
 *          statements are in no group. What undoes one counts its units as
 *          undone, in `unsaved`, and every later call fails as UNREACHABLE.
 * Keeps    D1 one unit is open at a time; whatever is sent, committed or
 *             rolled back belongs to it. It is over with commit, submit or
 *             rollback, and so is the transaction.
 *          D2 a script and a user's own statement run in an OPEN unit alone.
 *          D3 rows are asked for when they have been read.
 *          D4 at most PAWL_MAX_SUBMITTED units are submitted, BATCHes all, and
 *             finished in their order.
 *          D5 in a READ unit nothing is written. */
#ifndef PAWL_STORE_DRIVER_H
#define PAWL_STORE_DRIVER_H

#include "../base/clock.h"
#include "../base/log.h"
#include "file.h"
#include "stmt.h"
#include "url.h"

struct pollfd;

typedef struct pawl_conn pawl_conn; /* a driver's own connection */

enum {
  PAWL_UNIT_BATCH,
  PAWL_UNIT_OPEN,
  PAWL_UNIT_READ,
  PAWL_UNIT_SOON,
  PAWL_UNIT_SNAPSHOT,
  PAWL_UNIT_RELAXED
};

enum { /* what the store may rely on */
       PAWL_CAN_OWN_CLOCK =
           1,                 /* statements use the database's clock when their
                             @now is null */
       PAWL_CAN_SUBMIT = 2,   /* it has `submit`, `finish`, `await` */
       PAWL_CAN_SOON = 4,     /* else it gets a BATCH for a SOON */
       PAWL_CAN_RELAX = 16,   /* else it gets a BATCH for a RELAXED */
       PAWL_CAN_SNAPSHOT = 8, /* else each READ is one, and it gets that */
       PAWL_CAN_TABLES = 32,  /* a query may be held to some tables */
};

enum { PAWL_MAX_SUBMITTED = 4 };

enum { /* how `save` saves */
       PAWL_SAVE_ALL,
       PAWL_SAVE_LOCAL, /* where that is somebody else's to do, who does it by
                           himself, it is left to him; where a helper thread
                           does it, it is only begun */
       PAWL_SAVE_LOOK   /* is what was begun done? (`syncing`) */
};

enum { /* does one share sessions out, so that nothing may depend on one? */
       PAWL_POOLER_NONE = -1,
       PAWL_POOLER_UNKNOWN = 0,
       PAWL_POOLER_SHARED = 1
};

typedef enum pawl_lent {                /* in whose hands a connection is */
                         PAWL_LENT_NOT, /* ours */
                         PAWL_LENT,     /* the program's, in an OPEN unit */
                         PAWL_LENT_OVER /* the program's, which may do nothing with it */
} pawl_lent;

/* Commits that are not known to be on disk, where they need not be. */
typedef struct pawl_unsaved {
  int64_t commits, since_mono_us;
  int64_t unwritten, group_mono_us; /* of those: in a group that is open, and
                                       since when */
  int64_t undone; /* units that went with their group; until somebody has
                        been told (store.h) */
  int64_t syncing, later_mono_us; /* of commits, the first ones: on their way
                                     there; and when the others began */
} pawl_unsaved;

static inline void pawl_unsaved_add(pawl_unsaved *u) {
  if (u->commits++ == u->syncing) u->later_mono_us = pawl_clock_mono();
  if (u->commits == 1) u->since_mono_us = u->later_mono_us;
}
static inline void pawl_unsaved_group(pawl_unsaved *u) {
  pawl_unsaved_add(u);
  if (!u->unwritten++) u->group_mono_us = pawl_clock_mono();
}
static inline void pawl_unsaved_undo(pawl_unsaved *u) {
  u->commits -= u->unwritten;
  u->undone += u->unwritten;
  u->unwritten = 0;
}
static inline void pawl_unsaved_clear(pawl_unsaved *u) {
  u->commits = u->since_mono_us = u->syncing = 0;
}
/* Those that were on their way are there. */
static inline void pawl_unsaved_synced(pawl_unsaved *u) {
  u->commits -= u->syncing;
  u->since_mono_us = u->commits ? u->later_mono_us : 0;
  u->syncing = 0;
}

/* Where a copy of a store goes. */
typedef struct pawl_copy {
  const char *path; /* NULL: its bytes are appended to `bytes` */
  pawl_buf *bytes;
  int replace; /* a copy that is at `path` gives way, once this one is whole */
  int64_t size; /* of the copy; filled in */
} pawl_copy;

typedef struct pawl_driver_options {
  const pawl_alloc *alloc;
  const pawl_log *log;
  const pawl_clock *clock;
  pawl_counts *counts;   /* where what is done is counted */
  int pooler;            /* PAWL_POOLER_...; UNKNOWN is found out by `open` */
  const char *schema;    /* of a database that has schemas; NULL: pawl */
  int64_t busy_us;       /* how long it waits for who holds a file; 0: never */
  int has_calls;         /* ... in all of a call (pawl_store_call) */
  int64_t call_us;       /* how long it has, in this one */
  int64_t until_mono_us; /* and not beyond that; 0: it has no end */
  int relaxed;           /* commits return before they are on disk */
  int sync_thread;       /* SQLite: a helper thread may take them there */
  int64_t checkpoint_bytes; /* SQLite: so long the log gets before it is put
                              into the file; 0: as the driver likes */
  int groups;          /* and a BATCH or SOON may begin a group; it changes */
  const char *awaited; /* the id of an instance: `wait` is for the notification
                          that it has ended, not for those of what is due;
                          NULL: none; it changes */
  pawl_unsaved *unsaved; /* where those are counted */
  int sync_failed; /* SQLite: no sync counts until the log is written anew
                           (sqmend.h) */
  int create;      /* a missing SQLite file may be made */
  int look;        /* one that may only be read will do */
  pawl_str image;  /* SQLite: a copy's bytes, instead of a file; borrowed
                           while it is open */
  pawl_str copy;   /* SQLite in memory: what it begins with, likewise; borrowed
                    while it is opened */
  pawl_left_log left_log; /* SQLite: of a file that is gone (file.h, F2) */
  int is_short; /* PostgreSQL: the connection was given up because memory was
                   short; 0 when one is opened */
} pawl_driver_options;

/* What changes when anything is written: by this connection, by others. */
typedef struct pawl_store_marks {
  int64_t ours, others;
} pawl_store_marks;

typedef struct pawl_driver {
  const char *name; /* "sqlite", "postgres": also the folder under sql/ */
  const pawl_url_kind *url;
  const char *missing, *missing_hint; /* why it is not built in; else NULL */
  /* The client library it is made of, NULL: none; its version, as it counts, 0
   * when it is not there; its n-th compile option, NULL behind the last. NULL: it tells none. */
  const char *library;
  int64_t (*library_version)(void);
  const char *(*library_option)(int n);
  unsigned caps;
  /* How long an OPEN unit that runs a user's own statements may take: others
   * wait for its locks. */
  int64_t open_limit_us;
  const pawl_sql *sql;
  const pawl_migration *migrations;
  const char *seal; /* what is run behind each of them; or NULL */
  /* Appends SQL of ours as it is for a schema of that name (pgschema.h); NULL
   * where there are no schemas. */
  void (*put_schema)(pawl_buf *out, const char *sql, const char *name);
  /* Appends what may be shown of `target`: no password, however it is
   * written. Opens nothing. */
  void (*describe)(const char *target, pawl_buf *out);
  /* `target` is what follows the scheme (a path, a conninfo). On failure
   * nothing stays open. */
  pawl_code (*open)(const char *target, pawl_driver_options *options,
                    pawl_conn **out, pawl_error *err);
  void (*close)(pawl_conn *c); /* NULL is accepted */
  pawl_code (*begin)(pawl_conn *c, int unit, pawl_error *err);
  pawl_code (*send)(pawl_conn *c, const pawl_args *args, pawl_error *err);
  pawl_code (*commit)(pawl_conn *c, pawl_error *err);
  /* Sends a BATCH off without waiting, at most PAWL_MAX_SUBMITTED at one time;
   * other units may go on behind it. `finish` ends the oldest one as commit
   * does, and its rows are the ones that `rows` gives then. On failure of
   * submit itself the unit is still open. Without PAWL_CAN_SUBMIT these are
   * NULL. */
  pawl_code (*submit)(pawl_conn *c, pawl_error *err);
  pawl_code (*finish)(pawl_conn *c, pawl_error *err);
  /* Sleeps until `finish` would not wait (*answered 1), the monotonic deadline
   * (in the past: only looks), or one of the caller's descriptors is ready, as
   * for `wait`. */
  void (*await)(pawl_conn *c, int64_t deadline_mono_us, struct pollfd *fds,
                int nfds, int *answered);
  /* No unit open: no-op. False: the unit is not over, and will not be before
   * the connection is closed. */
  int (*rollback)(pawl_conn *c);
  void (*rows)(pawl_conn *c, int k, pawl_rows *out);
  /* Inside an OPEN unit, which may last: gives up the results that there are,
   * also one that a statement left as it failed. The next is the first. */
  void (*forget)(pawl_conn *c);
  /* Runs statements without arguments or rows, inside an OPEN unit: for
   * migrations. */
  pawl_code (*script)(pawl_conn *c, const char *sql, pawl_error *err);
  /* The user's own SQL (one statement, `?`/`$n` placeholders as the database
   * has them) inside an OPEN unit, stopped after limit_us, and where its rows
   * have more than most_bytes (PAWL_LIMIT), if it can be stopped for that.
   * Refused (PAWL_MISUSE): anything that would end the transaction or write
   * pawl's tables. */
  pawl_code (*query)(pawl_conn *c, pawl_query *q, pawl_error *err);
  /* The client library's own handle, until close, goes from hand to hand, for
   * the user's own statements by that library's functions: what `query` refuses
   * is refused to them. `out` may be NULL. Taken back, it fails when what they
   * did has ended the unit, or made a name of ours: then only rollback and
   * close are legal. NULL: there is no such handle. */
  pawl_code (*lend)(pawl_conn *c, pawl_lent to, void **out, pawl_error *err);
  /* Sleeps until the monotonic deadline, a wake-up from another connection,
   * *stop != 0 (looked at every 50 ms at the latest), or until one of the
   * caller's descriptors is ready: fds[1] to fds[nfds - 1], whose revents are
   * set then; fds[0] is the driver's own to use. nfds >= 1. *woken: whether a
   * wake-up has come; each is told once, also when the deadline has passed
   * meanwhile. */
  pawl_code (*wait)(pawl_conn *c, int64_t deadline_mono_us,
                    const volatile int *stop, struct pollfd *fds, int nfds,
                    int *woken, pawl_error *err);
  /* No unit open: takes all that was committed to the disk; PAWL_SAVE_... */
  pawl_code (*save)(pawl_conn *c, int how, pawl_error *err);
  /* No unit open: commits the group that is open, if any; `only_due`: if it is
   * large, or somebody waits for it. BUSY: it is open still. NULL: there never
   * is one. */
  pawl_code (*settle)(pawl_conn *c, int only_due, pawl_error *err);
  /* No unit open: how the store stands, without asking a server; the same
   * twice: nobody has written anything in between. 0: it cannot be told. NULL:
   * it never can. */
  int (*mark)(pawl_conn *c, pawl_store_marks *out);
  /* A descriptor that can be read when a wake-up has come, which `wait` tells
   * then; -1: there is none. NULL: there never is. */
  pawl_code (*fd)(pawl_conn *c, int *out, pawl_error *err);
  /* Inside a READ unit: copies the store, as that unit sees it, to a new file
   * while others write; in bounded steps, between which *stop ends it
   * (INTERRUPTED). EXISTS: nothing is overwritten, but where `replace` says so
   * another copy. On failure all stays as it was. UNSUPPORTED, with what does
   * it, where the database has its own tools. */
  pawl_code (*backup)(pawl_conn *c, pawl_copy *copy, const volatile int *stop,
                      pawl_error *err);
  /* No unit is open here, and in `from`, another store of this driver's with
   * our schema, a READ unit: what that sees takes the place of all that is here,
   * whole or not at all, and no lease in it counts. `from` NULL: only whether it
   * can; UNSUPPORTED, with what does it. */
  pawl_code (*restore)(pawl_conn *c, pawl_conn *from, const volatile int *stop,
                       int64_t *bytes, pawl_error *err);
  /* Bytes that the connection holds now, as the client's library counts them;
   * NULL: it does not. */
  int64_t (*memory)(pawl_conn *c);
  /* Where memory is short, between units, none of whose rows is asked for any
   * more: gives back what they took, and keeps nothing for the next; or NULL. */
  void (*slim)(pawl_conn *c);
  /* After an idle moment: checkpoints and the like. Bounded; or NULL. */
  void (*tidy)(pawl_conn *c);
} pawl_driver;

/* The value for a statement's @now: 0, which is null there, where the
 * database's own clock is used. Another clock that stands at 0 is told as a
 * microsecond later. */
static inline int64_t pawl_driver_now(const pawl_driver *driver,
                                      const pawl_clock *clock) {
  int64_t now;
  if ((driver->caps & PAWL_CAN_OWN_CLOCK) && !pawl_clock_is_virtual(clock))
    return 0;
  now = pawl_clock_now(clock);
  return now ? now : 1;
}

#endif
