#include "stored.h"

#include <assert.h>
#include <inttypes.h>

#include "../value/json.h"
#include "../value/object.h"

/* ---- joins that have fired ---- */

void pawl_joined_write(const pawl_marks *joined, pawl_buf *out) {
  for (int i = 0; i < joined->n; i++) {
    pawl_buf_addz(out, i ? ",{\"join\":" : "[{\"join\":");
    pawl_json_add_string(out, pawl_strz(joined->at[i].name));
    pawl_buf_addf(out, ",\"scope\":%" PRId64 "}", joined->at[i].no);
  }
  if (joined->n) pawl_buf_addc(out, ']');
}

void pawl_joined_read(const pawl_world *w, pawl_str json, pawl_marks *joined) {
  int failed = 0;

  pawl_marks_clear(joined);
  for (pawl_json_iter it = {0}; pawl_json_walk(json, &it);) {
    const char *join = pawl_world_name(w, it.value, "join", &failed);
    if (join)
      pawl_marks_add(joined, w->alloc, join,
                     pawl_json_get_int(it.value, "scope", 0), pawl_strz(NULL));
  }
  joined->failed |= failed;
}

/* ---- where in its parent it stands ---- */

void pawl_place_tell(pawl_str place, pawl_object *o) {
  static const char *const names[] = {"token", "visit", "index"};
  pawl_str value;

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (pawl_json_get(place, names[i], &value))
      pawl_member_json(o, names[i], value);
}

void pawl_place_of_ancestors(int64_t ancestors, pawl_buf *out) {
  if (ancestors) pawl_buf_addf(out, "{\"ancestors\":%" PRId64 "}", ancestors);
}

/* ---- compensation ---- */

static const char *const undo_statuses[] = {
    [PAWL_UNDO_PLANNING] = "\"planning\"",
    [PAWL_UNDO_RUNNING] = "\"running\"",
    [PAWL_UNDO_COMPLETED] = "\"completed\"",
    [PAWL_UNDO_COMPLETED_WITH_ERRORS] = "\"completed_with_errors\"",
    [PAWL_UNDO_STOPPED] = "\"stopped\""};

int pawl_compensation_is_under_way(pawl_str json) {
  pawl_str status;
  return pawl_json_get(json, "status", &status) &&
         (pawl_str_eqz(status, undo_statuses[PAWL_UNDO_PLANNING]) ||
          pawl_str_eqz(status, undo_statuses[PAWL_UNDO_RUNNING]));
}

static void add_json(pawl_object *o, const char *name, const pawl_buf *json) {
  if (json->len) pawl_member_json(o, name, pawl_buf_str(json));
}

static void add_time(pawl_object *o, const char *name, int64_t us) {
  if (us) pawl_member_time(o, name, us);
}

void pawl_compensation_write(const pawl_compensation *u, pawl_buf *out) {
  pawl_object o;

  if (u->status == PAWL_UNDO_NONE) return;
  assert(u->status <= PAWL_UNDO_STOPPED);
  pawl_object_begin(&o, out);
  pawl_member_json(&o, "status", pawl_strz(undo_statuses[u->status]));
  if (!u->by)
    pawl_member_textz(&o, "end", pawl_status_name((pawl_standing)u->end));
  if (u->by) pawl_member_int(&o, "by", u->by);
  if (u->token) pawl_member_int(&o, "token", u->token);
  if (u->attempt) pawl_member_int(&o, "attempt", u->attempt);
  if (u->tried_row) pawl_member_int(&o, "tried", u->tried);
  if (u->tried_row) pawl_member_int(&o, "tried_row", u->tried_row);
  add_json(&o, "error", &u->error);
  add_json(&o, "output", &u->output);
  if (u->node.len) pawl_member_str(&o, "node", pawl_buf_str(&u->node));
  add_time(&o, "started_at", u->started_us);
  if (u->since) {
    pawl_member_int(&o, "since", u->since);
    pawl_member_int(&o, "below", u->below);
    if (u->again) pawl_member_int(&o, "again", u->again);
    pawl_member_int(&o, "planned", u->planned);
    pawl_member_int(&o, "undone", u->undone);
    pawl_member_int(&o, "undo_failed", u->failed);
  }
  add_json(&o, "transfers", &u->transfers);
  add_time(&o, "completed_at", u->completed_us);
  pawl_object_end(&o);
}

static void read_json(pawl_str object, const char *name, pawl_buf *out) {
  pawl_str value;
  if (pawl_json_get(object, name, &value)) pawl_buf_set(out, value);
}

static int64_t read_time(pawl_str object, const char *name) {
  pawl_str text;
  int64_t us = 0;

  if (pawl_json_get(object, name, &text) && text.len > 2)
    (void)pawl_time_parse(text.at + 1, text.len - 2, &us);
  return us;
}

void pawl_compensation_read(pawl_str json, pawl_state *s) {
  pawl_compensation *u = &s->undo;
  pawl_str value;

  pawl_state_drop_undo(s);
  if (!pawl_json_get(json, "status", &value)) return;
  for (int i = PAWL_UNDO_PLANNING; i <= PAWL_UNDO_STOPPED; i++)
    if (pawl_str_eqz(value, undo_statuses[i])) u->status = i;
  if (pawl_json_get(json, "end", &value))
    u->end = pawl_str_eqz(value, "\"failed\"") ? PAWL_STATUS_FAILED
                                               : PAWL_STATUS_CANCELLED;
  u->by = pawl_json_get_int(json, "by", 0);
  u->token = pawl_json_get_int(json, "token", 0);
  u->attempt = pawl_json_get_int(json, "attempt", 0);
  u->tried = pawl_json_get_int(json, "tried", 0);
  u->tried_row = pawl_json_get_int(json, "tried_row", 0);
  read_json(json, "error", &u->error);
  read_json(json, "output", &u->output);
  (void)pawl_json_get_text(json, "node", &u->node);
  u->started_us = read_time(json, "started_at");
  u->since = pawl_json_get_int(json, "since", 0);
  u->below = pawl_json_get_int(json, "below", 0);
  u->again = pawl_json_get_int(json, "again", 0);
  u->planned = pawl_json_get_int(json, "planned", 0);
  u->undone = pawl_json_get_int(json, "undone", 0);
  u->failed = pawl_json_get_int(json, "undo_failed", 0);
  read_json(json, "transfers", &u->transfers);
  u->completed_us = read_time(json, "completed_at");
}
