/* store/sqconn.h: a connection to a SQLite file: its locks, its transactions,
 * and whether the file is still there.
 *
 * Layer    for store/sqlite.c and sqbackup.c; sqlite3.h is seen by them,
 *          sqconn and sqguard alone.
 * Locks    A unit that writes begins with BEGIN IMMEDIATE: one that reads
 *          first and writes later would fail with BUSY_SNAPSHOT when another
 *          commits in between, whatever the busy handler says.
 *          Libraries before 3.51.3 can corrupt a WAL file that one connection
 *          resets while another checkpoints it. There, commits and checkpoints
 *          of all processes take turns under one lock on a file beside the
 *          database, "<path>-pawl-lock"; pages are written by commits alone
 *          (cache_spill off). The order is SQLite's write lock, then that one:
 *          a checkpoint that holds it never waits for the write lock.
 *          The database file itself is never opened beside SQLite: closing it
 *          would drop SQLite's own locks.
 * Marks    The file alone is not the store while its log (-wal) has commits. So
 *          it says in its header that it has one: its application id is another
 *          (PAWL_SQ_HAS_LOG), written by the first commit and with each
 *          checkpoint, and in the log that this is not so any more. Who reads
 *          both sees a store; who has a copy of the file alone is told so, and
 *          gets no store that has forgotten what was committed last. The last
 *          who closes the file puts its log into it, and that, too. Who is
 *          killed in the midst of it leaves a log that ends with the mark:
 *          where somebody else, such as the command sqlite3, has put that into
 *          the file and taken it away, the file beside says that nothing is
 *          missing.
 * Turns    SQLite's write lock goes to whoever asks while it is free, which is
 *          nearly always the process that has just given it back. Who waits
 *          says so by a lock on the file beside, and who sees that after its
 *          commit pauses for as long as a waiting one sleeps.
 * Groups   Units of a relaxed connection may be committed together
 *          (driver.h): each is a savepoint of one transaction, that begins with
 *          the first of them. Nobody else can write meanwhile, so none is begun
 *          while somebody says that he waits. What rolls that transaction back
 *          as a whole, a disk that is full say, takes all of the group: its
 *          units are counted as undone, and the connection is of no use any
 *          more, so that whoever has it finds out. */
#ifndef PAWL_STORE_SQCONN_H
#define PAWL_STORE_SQCONN_H

#include <sqlite3.h>

#include "driver.h"
#include "reading.h"
#include "sqguard.h"
#include "sqsync.h"
#include "sqturns.h"

#define PAWL_SQ_APPLICATION_ID 0x5061776C /* "Pawl" */
#define PAWL_SQ_SEAL "pragma application_id=0x5061776C"
#define PAWL_SQ_HAS_LOG 0x5061774C /* "PawL" */

#define PAWL_SQ_NSTEERING 10 /* begin, commit...: sqconn.c */

/* Units that are committed together. */
typedef struct pawl_sqgroup {
  int is_open, in_unit; /* a savepoint is open */
  int64_t changes;      /* sqlite3_total_changes as it began */
} pawl_sqgroup;

typedef struct pawl_sqconn {
  const pawl_alloc *alloc;
  sqlite3 *db;
  char *path; /* as SQLite gets it */
  size_t path_size;
  const char *name; /* as the user wrote it, for messages; in path */
  int is_memory;
  pawl_reading reading;         /* it may only be read */
  pawl_reading_mark mark;       /* ALONE: the file as it was opened */
  pawl_file file;               /* else: where it was opened (F1) */
  pawl_driver_options *options; /* the caller's, for who opens it again */
  int lock_fd;                  /* the file beside; -1: in memory */
  int locks_commits;            /* an old library, see Locks */
  int had_log;                  /* beside the file, before it was opened */
  int made_room;                /* for a commit, since the last that was */
  int has_marked;               /* that it has one, see Marks */
  int is_open;                  /* and a store, or to be made one */
  int is_waiting;               /* and says so */
  sqlite3_stmt *steering[PAWL_SQ_NSTEERING];
  pawl_sqgroup group;
  pawl_sqsync *sync; /* the helper thread; NULL: none */
  int is_syncing;    /* when it was looked at last */
  int has_synced;    /* a commit of this connection was */
  int skips_sync; /* commits return before they are on disk: PAWL_UNIT_SOON */
  int64_t page_bytes;
  int64_t wal_pages, checkpoint_pages; /* pages there, next checkpoint at */
  int wants_room;     /* the last commit found too little left of the disk */
  int64_t busy_since; /* monotonic */
  int64_t busy_for;   /* waits so long */
  int no_waiting;
  uint64_t dice;
  int64_t seen_version;   /* data_version when last looked at */
  int64_t schema_version; /* the schema's, 0: not looked at yet */
  pawl_sqguard_state guard;
  pawl_sqturns turns; /* of the statement that runs */
} pawl_sqconn;

/* Closed after init, whether or not open succeeds. */
void pawl_sqconn_init(pawl_sqconn *c, pawl_driver_options *options);
pawl_code pawl_sqconn_open(pawl_sqconn *c, const char *path, pawl_error *err);
/* Its statements have been finalized. */
void pawl_sqconn_close(pawl_sqconn *c);

/* As in driver.h, for the transaction alone. */
pawl_code pawl_sqconn_begin(pawl_sqconn *c, int unit, pawl_error *err);
pawl_code pawl_sqconn_commit(pawl_sqconn *c, int unit, pawl_error *err);
/* Is no unit open any more? */
int pawl_sqconn_end(pawl_sqconn *c);
/* Commits what is grouped. On failure it is open still (BUSY), or undone. */
pawl_code pawl_sqconn_settle(pawl_sqconn *c, pawl_error *err);
/* Is it large, or in somebody's way? */
int pawl_sqconn_must_settle(pawl_sqconn *c);

/* Statements without arguments: without rows, or with one integer. */
pawl_code pawl_sqconn_exec(pawl_sqconn *c, const char *sql, pawl_error *err);
pawl_code pawl_sqconn_ask(pawl_sqconn *c, const char *sql, int64_t *out,
                          pawl_error *err);
/* After a failed call on c->db. */
pawl_code pawl_sqconn_fail(pawl_sqconn *c, const char *what, pawl_error *err);
/* The same of a result code alone. */
pawl_code pawl_sqconn_fail_rc(const char *what, int rc, pawl_error *err);

/* Between `begin` and `end` all of the file is written by SQLite's backup, as
 * one transaction: `lock` once that has SQLite's lock. Its pages need not fit
 * into memory, and nothing of it may be forgotten. */
pawl_code pawl_sqconn_whole_begin(pawl_sqconn *c, pawl_error *err);
pawl_code pawl_sqconn_whole_lock(pawl_sqconn *c, pawl_error *err);
void pawl_sqconn_whole_end(pawl_sqconn *c, int is_done);

/* F1 (file.h). */
pawl_code pawl_sqconn_check_place(pawl_sqconn *c, pawl_error *err);
/* Has another connection committed since the last look? */
int pawl_sqconn_has_news(pawl_sqconn *c);
/* Of the data as others' commits have left it; 0: it may be another file. */
int pawl_sqconn_version(pawl_sqconn *c, int64_t *out);
/* The log, and with it all that was committed, is on disk. */
pawl_code pawl_sqconn_save(pawl_sqconn *c, pawl_error *err);
/* The same, or that is begun by the helper thread, which goes on at it. */
pawl_code pawl_sqconn_flush(pawl_sqconn *c, pawl_error *err);
/* What that has done since the last look is counted; or it has failed. */
pawl_code pawl_sqconn_look_synced(pawl_sqconn *c, pawl_error *err);
/* No transaction is open. */
void pawl_sqconn_tidy(pawl_sqconn *c);

#endif
