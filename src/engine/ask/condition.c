#define _POSIX_C_SOURCE 200809L /* stat */
#include "condition.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../../base/clock.h"
#include "../../base/fault.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "ask.h"

/* Beyond these a person should know. */
#define CLOCK_US PAWL_SECOND
#define TRANSACTION_US (3600 * PAWL_SECOND)
#define WAL_BYTES (INT64_C(1) << 30)
#define DEAD_ROWS 10000 /* and more than live, for so many seconds: */
#define DEAD_S 3600     /* a load leaves many, until the next vacuum */

typedef struct condition {
  pawl_engine *e;
  pawl_buf tables, warnings, file;
  int64_t lease_us, now_us, schema, clock_us, transaction_us, hidden;
  int64_t bytes, free_bytes, wal_bytes, dead; /* -1: not known */
} condition;

static void warn(condition *c, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void warn(condition *c, const char *what, const char *format, ...) {
  char text[160];
  pawl_object o;
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (c->warnings.len) pawl_buf_addc(&c->warnings, ',');
  pawl_object_begin(&o, &c->warnings);
  pawl_member_textz(&o, "what", what);
  pawl_member_textz(&o, "text", text);
  pawl_object_end(&o);
}

/* ---- what the store tells ---- */

/* The middle of the trip is when the store read its clock. */
static pawl_code read_store(condition *c, pawl_error *err) {
  static const pawl_clock host = {0};
  const int64_t sent = pawl_clock_now(&host);
  pawl_rows r;

  MUST(pawl_store_once_one(c->e->store, PAWL_UNIT_READ, PAWL_STMT_health_store,
                           NULL, &r, err));
  const int64_t got = pawl_clock_now(&host);
  if (!r.nrows) return PAWL_OK;
  const pawl_health_store_row row = pawl_read_health_store(&r, 0);
  c->now_us = got;
  c->schema = row.schema;
  c->clock_us = row.now ? row.now - (sent + got) / 2 : 0;
  c->transaction_us = row.transaction_since;
  c->hidden = row.hidden;
  c->bytes = row.bytes;
  c->free_bytes = row.file.at ? row.free_bytes : -1;
  pawl_buf_set(&c->file, row.file);
  return pawl_buf_check(&c->file, err);
}

static pawl_code read_tables(condition *c, pawl_error *err) {
  pawl_rows r;
  pawl_object o;

  MUST(pawl_store_once_one(c->e->store, PAWL_UNIT_READ,
                           PAWL_STMT_health_tables, NULL, &r, err));
  if (r.nrows) c->dead = 0;
  for (int k = 0; k < r.nrows; k++) {
    const pawl_health_tables_row row = pawl_read_health_tables(&r, k);
    if (k) pawl_buf_addc(&c->tables, ',');
    pawl_object_begin(&o, &c->tables);
    pawl_member_str(&o, "table", row.name);
    pawl_member_int(&o, "rows", row.live);
    pawl_member_int(&o, "dead", row.dead);
    pawl_member_int(&o, "bytes", row.bytes);
    pawl_object_end(&o);
    c->dead += row.dead;
    if (row.dead > DEAD_ROWS && row.dead > row.live && row.waits > DEAD_S)
      warn(c, "dead",
           "table %.*s has %" PRId64
           " dead rows, and was not vacuumed for %" PRId64 " min",
           (int)row.name.len, row.name.at, row.dead, row.waits / 60);
  }
  return PAWL_OK;
}

/* Of a file: beside it, if it is there; memory has none. Of a server: if it
 * tells us. */
static pawl_code read_wal(condition *c, pawl_error *err) {
  struct stat found;
  pawl_rows r;
  pawl_error why;

  if (c->free_bytes >= 0 && !c->file.len) {
    c->wal_bytes = 0;
    return PAWL_OK;
  }
  if (c->free_bytes >= 0) {
    pawl_buf_addz(&c->file, "-wal");
    MUST(pawl_buf_check(&c->file, err));
    c->wal_bytes = stat(c->file.at, &found) ? 0 : (int64_t)found.st_size;
    return PAWL_OK;
  }
  pawl_code rc = pawl_store_once_one(c->e->store, PAWL_UNIT_READ,
                                     PAWL_STMT_health_wal, NULL, &r, &why);
  if (rc == PAWL_OK && r.nrows)
    c->wal_bytes = pawl_read_health_wal(&r, 0).bytes;
  if (rc == PAWL_OK || !strcmp(why.sqlstate, "42501")) return PAWL_OK;
  return pawl_fail_so(err, &why);
}

/* ---- what it comes to ---- */

static int64_t seconds(int64_t us) {
  return us / PAWL_SECOND;
}

static void judge(condition *c) {
  if (PAWL_FAULT("health.far") == PAWL_FAULT_FAIL) { /* as nobody can wait */
    c->clock_us -= 2 * CLOCK_US;
    c->transaction_us = c->now_us - 2 * TRANSACTION_US;
  }
  const int64_t off = c->clock_us < 0 ? -c->clock_us : c->clock_us;
  const int64_t open = c->transaction_us ? c->now_us - c->transaction_us : 0;

  if (off > CLOCK_US)
    warn(c, "clock", "the store's clock is %" PRId64 " s %s this host's",
         seconds(off), c->clock_us > 0 ? "ahead of" : "behind");
  if (open > TRANSACTION_US)
    warn(c, "transaction",
         "a transaction is open for %" PRId64
         " s: until it ends no dead row goes",
         seconds(open));
  if (c->wal_bytes > WAL_BYTES)
    warn(c, "wal", "the write-ahead log has %" PRId64 " MB",
         c->wal_bytes >> 20);
}

static void member_known(pawl_object *o, const char *name, int64_t n) {
  if (n < 0)
    pawl_member_null(o, name);
  else
    pawl_member_int(o, name, n);
}

static void member_joined(pawl_object *o, const char *name,
                          const pawl_buf *list) {
  pawl_member(o, name);
  pawl_buf_addc(o->out, '[');
  pawl_buf_adds(o->out, pawl_buf_str(list));
  pawl_buf_addc(o->out, ']');
}

static void add_hidden(pawl_object *list, const char *name) {
  pawl_list_next(list);
  pawl_json_add_string(list->out, pawl_strz(name));
}

static void tell(const condition *c, pawl_object *o) {
  pawl_object s, hidden;

  pawl_member_object(o, "store", &s);
  pawl_member_textz(&s, "kind", pawl_store_driver(c->e->store));
  pawl_member_int(&s, "schema", c->schema);
  pawl_member_int(&s, "clock_us", c->clock_us);
  pawl_member_time(&s, "oldest_lease", c->lease_us);
  pawl_member_time(&s, "oldest_transaction", c->transaction_us);
  member_known(&s, "bytes", c->bytes);
  member_known(&s, "free_bytes", c->free_bytes);
  member_known(&s, "wal_bytes", c->wal_bytes);
  member_known(&s, "dead_rows", c->dead);
  member_joined(&s, "tables", &c->tables);
  pawl_member_list(&s, "hidden", &hidden);
  if (c->hidden) add_hidden(&hidden, "oldest_transaction");
  if (c->wal_bytes < 0) add_hidden(&hidden, "wal_bytes");
  pawl_list_end(&hidden);
  pawl_object_end(&s);
  member_joined(o, "warnings", &c->warnings);
}

pawl_code pawl_condition_tell(pawl_engine *e, int64_t lease_us, pawl_object *o,
                              pawl_error *err) {
  condition c = {.e = e,
                 .tables = {.alloc = &e->alloc},
                 .warnings = {.alloc = &e->alloc},
                 .file = {.alloc = &e->alloc},
                 .lease_us = lease_us,
                 .wal_bytes = -1,
                 .dead = -1};
  pawl_code rc = PAWL_OK;

  TRY(read_store(&c, err));
  TRY(read_tables(&c, err));
  TRY(read_wal(&c, err));
  judge(&c);
  TRY(pawl_buf_check(&c.tables, err));
  TRY(pawl_buf_check(&c.warnings, err));
  tell(&c, o);
out:
  pawl_buf_deinit(&c.tables);
  pawl_buf_deinit(&c.warnings);
  pawl_buf_deinit(&c.file);
  return rc;
}
