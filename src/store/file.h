/* store/file.h: is a SQLite file that is open still the one at its path?
 *
 * SQLite goes on with a file that was deleted, or that another has taken the
 * place of: what it commits then is in nobody's store.
 *
 * Layer    for store/sqconn.c; sees files alone.
 * Keeps    F1 who has a store's file open looks before each unit, before each
 *             commit and while it waits; a unit that finds the file gone is
 *             over, and its connection with it.
 *          F2 the log that a file's writers leave beside it (-wal) is that
 *             file's: where another file has come to the path, who had the old
 *             one open does not open it as long as that log lies there, begun
 *             as it was. SQLite would write what is in it into the new file.
 *             Who comes new cannot know whose log it is.
 *          F3 where a log lies beside no file no store is made: SQLite would
 *             delete what was committed last to one that was moved. */
#ifndef PAWL_STORE_FILE_H
#define PAWL_STORE_FILE_H

#include <stdint.h>

/* A file, whatever its name. Zero: none. */
typedef struct pawl_file_mark {
  int64_t device, inode;
} pawl_file_mark;

/* A log that lies beside a file it does not belong to. A number is given again
 * to a file made later, so it is known by how it begins, too: by numbers that
 * SQLite draws for each. */
typedef struct pawl_left_log {
  pawl_file_mark at; /* zero: there is none */
  unsigned char head[32];
} pawl_left_log;

/* Where a store's file was opened; `path` is absolute, so that a change of
 * folder is no change of files. */
typedef struct pawl_file {
  char path[4096]; /* "": nobody looks */
  pawl_file_mark at, log;
} pawl_file;

/* Does a log lie beside it? */
int pawl_file_has_log(const char *path);
/* F3: one with anything in it, beside no file, or one that is empty. */
int pawl_file_is_log_alone(const char *path);
/* `path` as it is opened. False: it is too long, or there is no file. */
int pawl_file_note(const char *path, pawl_file *out);
/* The log, once it is there: it stays as long as anybody has it open. */
void pawl_file_note_log(pawl_file *file);
int pawl_file_is_still(const pawl_file *file);
/* The log of this file, if it lies there still and may hold anything. */
void pawl_file_find_left(const pawl_file *file, pawl_left_log *out);
/* Does that log lie beside `path`? */
int pawl_file_has_left(const char *path, const pawl_left_log *left);

#endif
