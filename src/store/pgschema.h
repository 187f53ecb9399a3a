/* store/pgschema.h: a store in a schema of another name than `pawl`, so that
 * one PostgreSQL database has several.
 *
 * Statements and migrations are written for the schema `pawl`. Another name is
 * put in where that stands as a word of its own, quoted, also inside of strings
 * (bodies of functions, what is given to format), and bare where it is all of a
 * string. The channel of wake-ups, `pawl_wake`, becomes `NAME_wake`.
 *
 *   Y9  no text of ours has the word `pawl` for anything but the schema, save
 *       in comments. */
#ifndef PAWL_STORE_PGSCHEMA_H
#define PAWL_STORE_PGSCHEMA_H

#include "../base/buf.h"

#define PAWL_PG_SCHEMA "pawl"
enum { PAWL_PG_SCHEMA_MAX = 48 };

/* Letters in lower case, digits and _, of at most PAWL_PG_SCHEMA_MAX bytes, no
 * digit first and no "pg_": PAWL_INVALID. */
pawl_code pawl_pgschema_check(const char *name, pawl_error *err);
/* Appends `sql` as it is for the schema `name`; the end is a zero byte. Fails
 * as buffers do (base/buf.h). */
void pawl_pgschema_put(pawl_buf *out, const char *sql, const char *name);

#endif
