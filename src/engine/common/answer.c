#include "answer.h"

#include "../../base/clock.h"
#include "../../value/json.h"

/* The last "id" before `at`: of what is damaged, as records begin with it. */
static const char *id_before(const pawl_buf *answer, size_t at, char id[37]) {
  static const char MARK[] = "\"id\":\"";
  const size_t mark = sizeof MARK - 1;
  pawl_id parsed;
  for (; at >= mark + 36; at--) {
    const char *from = answer->at + at - mark - 36;
    if (memcmp(from, MARK, mark) != 0 ||
        !pawl_id_parse(from + mark, 36, &parsed))
      continue;
    memcpy(id, from + mark, 36);
    id[36] = 0;
    return id;
  }
  return NULL;
}

pawl_code pawl_answer_check(const pawl_buf *answer, pawl_error *err) {
  pawl_json_reader reader;
  pawl_error why;
  char id[37];
  const char *of;
  pawl_code rc = pawl_buf_check(answer, err);

  if (rc != PAWL_OK || !answer->len) return rc;
  pawl_json_reader_init(&reader, pawl_buf_str(answer), answer->alloc);
  rc = pawl_json_check_all(&reader, NULL, &why);
  of = id_before(answer, reader.at, id);
  pawl_json_reader_deinit(&reader);
  /* what is nested to the limit is nested deeper in an answer */
  if (rc == PAWL_OK || rc == PAWL_LIMIT) return PAWL_OK;
  if (rc == PAWL_NOMEM) return pawl_fail(err, rc, "out of memory");
  pawl_fail(err, PAWL_CORRUPT, "the store holds damaged JSON%s%s: %s",
            of ? ", of " : "", of ? of : "", why.message);
  pawl_error_hint(err,
                  "somebody else has written to the store, or the disk is "
                  "failing: restore it from a backup");
  return PAWL_CORRUPT;
}

void pawl_object_begin(pawl_object *o, pawl_buf *out) {
  o->out = out;
  o->n = 0;
  pawl_buf_addc(out, '{');
}

void pawl_object_end(pawl_object *o) {
  pawl_buf_addc(o->out, '}');
}

void pawl_member(pawl_object *o, const char *name) {
  if (o->n++) pawl_buf_addc(o->out, ',');
  pawl_buf_addf(o->out, "\"%s\":", name);
}

void pawl_member_object(pawl_object *o, const char *name, pawl_object *inner) {
  pawl_member(o, name);
  pawl_object_begin(inner, o->out);
}

void pawl_member_null(pawl_object *o, const char *name) {
  pawl_member(o, name);
  pawl_buf_addz(o->out, "null");
}

void pawl_member_bool(pawl_object *o, const char *name, int yes) {
  pawl_member(o, name);
  pawl_buf_addz(o->out, yes ? "true" : "false");
}

void pawl_member_int(pawl_object *o, const char *name, int64_t n) {
  pawl_member(o, name);
  pawl_buf_addi(o->out, n);
}

void pawl_member_str(pawl_object *o, const char *name, pawl_str text) {
  pawl_member(o, name);
  pawl_json_add_string(o->out, text);
}

void pawl_member_textz(pawl_object *o, const char *name, const char *text) {
  pawl_member_str(o, name, pawl_strz(text));
}

void pawl_member_time(pawl_object *o, const char *name, int64_t us) {
  char text[28];
  pawl_member(o, name);
  pawl_time_format(us, text);
  pawl_buf_addf(o->out, "\"%s\"", text);
}

void pawl_member_json(pawl_object *o, const char *name, pawl_str json) {
  if (!json.len) {
    pawl_member_null(o, name);
    return;
  }
  pawl_member(o, name);
  pawl_buf_adds(o->out, json);
}

void pawl_cell_text(pawl_object *o, const char *name, const pawl_cell *c) {
  if (c->is_null)
    pawl_member_null(o, name);
  else
    pawl_member_str(o, name, c->s);
}

void pawl_cell_json(pawl_object *o, const char *name, const pawl_cell *c) {
  pawl_str none = {NULL, 0};
  pawl_member_json(o, name, c->is_null ? none : c->s);
}

void pawl_cell_int(pawl_object *o, const char *name, const pawl_cell *c) {
  if (c->is_null)
    pawl_member_null(o, name);
  else
    pawl_member_int(o, name, c->i);
}

void pawl_cell_bool(pawl_object *o, const char *name, const pawl_cell *c) {
  if (c->is_null)
    pawl_member_null(o, name);
  else
    pawl_member_bool(o, name, c->i != 0);
}

void pawl_cell_time(pawl_object *o, const char *name, const pawl_cell *c) {
  if (c->is_null)
    pawl_member_null(o, name);
  else
    pawl_member_time(o, name, c->i);
}

void pawl_cell_id(pawl_object *o, const char *name, const pawl_cell *c) {
  pawl_id id;
  char text[37];
  if (c->is_null || c->s.len != 16) {
    pawl_member_null(o, name);
    return;
  }
  memcpy(id.bytes, c->s.at, 16);
  pawl_id_format(&id, text);
  pawl_member(o, name);
  pawl_buf_addf(o->out, "\"%s\"", text);
}

void pawl_member_lease(pawl_object *o, const pawl_rows *agenda) {
#define CELL(col) pawl_rows_cell(agenda, 0, PAWL_AGENDA_GET_R_##col)
  pawl_object lease;
  pawl_id id;

  if (!agenda->nrows || CELL(LEASE)->is_null) {
    pawl_member_null(o, "lease");
    return;
  }
  pawl_member_object(o, "lease", &lease);
  pawl_cell_id(&lease, "executor", CELL(EXECUTOR));
  pawl_cell_text(&lease, "host", CELL(HOST));
  pawl_cell_int(&lease, "pid", CELL(PID));
  pawl_row_id(agenda, 0, PAWL_AGENDA_GET_R_LEASE, &id);
  pawl_member_time(&lease, "since", pawl_id_time_us(&id));
  pawl_cell_time(&lease, "until", CELL(DUE_AT));
  pawl_member_bool(&lease, "lapsed", CELL(DUE_AT)->i <= CELL(NOW)->i);
  pawl_object_end(&lease);
#undef CELL
}
