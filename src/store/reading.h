/* store/reading.h: how a SQLite file is opened that may only be read.
 *
 * Layer    for store/sqconn.c; sees files alone.
 * Keeps    R1 who may only read leaves nothing beside the file, and changes
 *             nothing: no rollback of others' work, no file of ours.
 *          R2 where a write-ahead log may hold commits, they are read too, or
 *             the file is refused.
 *          R3 a file is taken for one that stands still as long as it does:
 *             who has it open so looks before each unit, and opens it anew
 *             once somebody has written. */
#ifndef PAWL_STORE_READING_H
#define PAWL_STORE_READING_H

#include "../base/buf.h"
#include "../base/error.h"

typedef enum pawl_reading {
  PAWL_READING_NO,     /* it can be written: nothing of this concerns it */
  PAWL_READING_SHARED, /* with the -wal and -shm that are there */
  PAWL_READING_ALONE   /* nobody has it open: as a file that stands still */
} pawl_reading;

/* What tells whether somebody has written to a file since. */
typedef struct pawl_reading_mark {
  int64_t inode, bytes, seconds, nanoseconds;
} pawl_reading_mark;

/* May this user write the file and make, or lock, what belongs beside it? */
pawl_code pawl_reading_find(const char *path, pawl_reading *out,
                            pawl_error *err);
/* ALONE: as the file is now, taken before it is opened; and is it still so,
 * with nobody at work (R3)? */
void pawl_reading_note(const char *path, pawl_reading_mark *out);
int pawl_reading_is_still(const char *path, const pawl_reading_mark *mark);
/* The URI under which SQLite takes a file for one that stands still. */
void pawl_reading_uri(const char *path, pawl_buf *out);

#endif
