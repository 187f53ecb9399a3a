#include "pending.h"

#include <assert.h>
#include <stdio.h>

#include "../value/json.h"
#include "pgschema.h"

/* A text, or what SQL says as it is: a number, null. */
typedef struct literal {
  const char *text;
  int is_plain;
} literal;

static void add_literal(pawl_buf *out, literal value) {
  if (value.is_plain) {
    pawl_buf_addz(out, value.text);
    return;
  }
  pawl_buf_addc(out, '\'');
  for (const char *at = value.text; *at; at++) {
    if (*at == '\'') pawl_buf_addc(out, '\'');
    pawl_buf_addc(out, *at);
  }
  pawl_buf_addc(out, '\'');
}

/* A statement of ours with its arguments written out: $1 or ?1 is the first.
 * None has nine arguments, or a quoted text. */
static void add_statement(const pawl_driver *driver, pawl_stmt stmt,
                          const literal *values, pawl_buf *out) {
  int nargs = pawl_stmts[stmt].nargs;
  pawl_buf room = {.alloc = out->alloc};
  const char *text = pawl_sqltext_read(driver->sql[stmt].text, &room);
  if (!text) out->failed = 1;
  for (const char *at = text ? text : ""; *at; at++) {
    int no = (*at == '$' || *at == '?') ? at[1] - '0' : 0;
    if (no < 1 || no > nargs) {
      pawl_buf_addc(out, *at);
      continue;
    }
    assert(nargs < 10);
    add_literal(out, values[no - 1]);
    at++;
  }
  pawl_buf_addz(out, ";\n");
  pawl_buf_deinit(&room);
}

static void number_text(char out[24], int64_t number) {
  snprintf(out, 24, "%lld", (long long)number);
}

/* The rows that migrate.c writes: of the migration, and of the store with the
 * first one. */
static void add_rows(const pawl_driver *driver, const pawl_migration *m,
                     const pawl_schema *found, int64_t now, pawl_buf *out) {
  char number[24], time[24], shards[24];
  const char *breaking = m->breaking ? "true" : "false";
  number_text(number, m->number);
  number_text(time, now);
  number_text(shards, found->shards);
  add_statement(
      driver, PAWL_STMT_migration_insert,
      (const literal[]){
          {number, 1}, {m->name, 0}, {breaking, 1}, {now ? time : "null", 1}},
      out);
  if (m->number == 1)
    add_statement(driver, PAWL_STMT_meta_put,
                  (const literal[]){{"shards", 0}, {shards, 0}}, out);
}

static void add_migration(const pawl_driver *driver, const char *schema,
                          const pawl_migration *m, const pawl_schema *found,
                          int64_t now, pawl_buf *out) {
  pawl_buf plain = {.alloc = out->alloc}, named = {.alloc = out->alloc};
  pawl_buf room = {.alloc = out->alloc};
  const char *text = pawl_sqltext_read(m->text, &room);
  pawl_buf_addz(&plain, text ? text : "");
  plain.failed |= !text;
  if (driver->seal) pawl_buf_addf(&plain, "\n%s;", driver->seal);
  pawl_buf_addc(&plain, '\n');
  add_rows(driver, m, found, now, &plain);
  if (schema && !plain.failed) driver->put_schema(&named, plain.at, schema);
  const pawl_buf *sql = schema ? &named : &plain;
  pawl_buf_addf(out, "{\"number\":%d,\"name\":", m->number);
  pawl_json_add_string(out, pawl_strz(m->name));
  pawl_buf_addf(out,
                ",\"breaking\":%s,\"sql\":", m->breaking ? "true" : "false");
  out->failed |= plain.failed | named.failed;
  if (!out->failed) pawl_json_add_string(out, (pawl_str){sql->at, sql->len});
  pawl_buf_addc(out, '}');
  pawl_buf_deinit(&plain);
  pawl_buf_deinit(&named);
  pawl_buf_deinit(&room);
}

/* S6 */
pawl_code pawl_pending(const pawl_driver *driver, const char *schema,
                       const pawl_schema *found, const pawl_clock *clock,
                       pawl_buf *out, pawl_error *err) {
  int64_t now = pawl_driver_now(driver, clock);
  assert(!schema || driver->put_schema);
  pawl_buf_addf(out, "{\"store\":\"%s\"", driver->name);
  if (driver->put_schema)
    pawl_buf_addf(out, ",\"schema\":\"%s\"", schema ? schema : PAWL_PG_SCHEMA);
  pawl_buf_addf(out, ",\"from\":%d,\"to\":%d,\"shards\":%d,\"migrations\":[",
                found->from, pawl_nmigrations, found->shards);
  for (int i = found->from; i < pawl_nmigrations; i++) {
    if (i > found->from) pawl_buf_addc(out, ',');
    add_migration(driver, schema, &driver->migrations[i], found, now, out);
  }
  pawl_buf_addz(out, "]}");
  return pawl_buf_check(out, err);
}
