/* store/reading.h: how a SQLite file is opened that may only be read.
 *
 * Layer    for store/sqlite.c; sees files alone.
 * Keeps    R1 who may only read leaves nothing beside the file, and changes
 *             nothing: no rollback of others' work, no file of ours.
 *          R2 where a write-ahead log may hold commits, they are read too, or
 *             the file is refused. */
#ifndef PAWL_STORE_READING_H
#define PAWL_STORE_READING_H

#include "../base/buf.h"
#include "../base/error.h"

typedef enum pawl_reading {
  PAWL_READING_NO,     /* it can be written: nothing of this concerns it */
  PAWL_READING_SHARED, /* with the -wal and -shm that are there */
  PAWL_READING_ALONE   /* nobody has it open: as a file that stands still */
} pawl_reading;

/* May this user write the file and make, or lock, what belongs beside it? */
pawl_code pawl_reading_find(const char *path, pawl_reading *out,
                            pawl_error *err);
/* The URI under which SQLite takes a file for one that stands still. */
void pawl_reading_uri(const char *path, pawl_buf *out);

#endif
