/* From one version of a workflow to another: which instances can go, and
 * sending them there, each in a transaction of its own. */
#include <inttypes.h>

#include "../../value/json.h"
#include "../common/answer.h"
#include "../engine.h"
#include "../versions/crossing.h"
#include "act.h"

#define PAGE 200

typedef struct moving {
  pawl_buf code, by, reason, before;
  int64_t from_version, to_version, limit;
  pawl_crossing crossing;
  int apply;
  pawl_id after; /* the last one that was looked at */
  int shard, over;
  /* the page */
  pawl_id ids[PAGE];
  int64_t versions[PAGE];
  int undoing[PAGE], n;
  pawl_places places, lost;
  pawl_buf movable, refused, asked; /* JSON members */
} moving;

static pawl_code read_text(pawl_str value, const char *name, pawl_buf *out,
                           pawl_error *err) {
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_fail(err, PAWL_INVALID, "`%s` must be a text", name);
  pawl_json_unquote(value, out);
  return pawl_buf_check(out, err);
}

static pawl_code read_count(pawl_str value, const char *name, int64_t *out,
                            pawl_error *err) {
  if (pawl_json_int(value, out) && *out > 0 && *out <= INT32_MAX)
    return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID, "`%s` must be an integer above 0", name);
}

static pawl_code read_member(moving *m, pawl_str key, pawl_str value,
                             pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_str_eqz(key, "workflow"))
    return read_text(value, "workflow", &m->code, err);
  if (pawl_str_eqz(key, "from"))
    return read_count(value, "from", &m->from_version, err);
  if (pawl_str_eqz(key, "to"))
    return read_count(value, "to", &m->to_version, err);
  if (pawl_str_eqz(key, "limit"))
    return read_count(value, "limit", &m->limit, err);
  if (pawl_str_eqz(key, "after"))
    return read_text(value, "after", &m->before, err);
  if (pawl_str_eqz(key, "by")) return read_text(value, "by", &m->by, err);
  if (pawl_str_eqz(key, "reason"))
    return read_text(value, "reason", &m->reason, err);
  if (pawl_str_eqz(key, "map")) {
    if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
      return pawl_fail(err, PAWL_INVALID, "`map` must be an object");
    m->crossing.map = value;
    return PAWL_OK;
  }
  return pawl_fail(err, PAWL_INVALID, "a move has no `%.*s`",
                   (int)(key.len < 60 ? key.len : 60), key.at);
}

/* The page after an instance goes on in its shard. */
static pawl_code read_after(pawl_engine *e, moving *m, pawl_error *err) {
  if (!m->before.len) return PAWL_OK;
  if (m->before.len != 36 ||
      !pawl_id_parse(m->before.at, m->before.len, &m->after))
    return pawl_fail(err, PAWL_INVALID, "`after` must be an instance's id");
  m->shard = pawl_id_route(&m->after) % e->nshards;
  return PAWL_OK;
}

static pawl_code read_moving(pawl_engine *e, moving *m, pawl_str text,
                             pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  TRY(pawl_json_check(text, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "a move is a JSON object");
  while (pawl_json_each(text, &it, &key, &value))
    TRY(read_member(m, key, value, err));
  if (!m->code.len || !m->from_version || !m->to_version)
    return pawl_fail(err, PAWL_INVALID,
                     "a move needs `workflow`, `from` and `to`");
  if (m->from_version == m->to_version)
    return pawl_fail(err, PAWL_INVALID,
                     "a move is from one version to another one");
  TRY(read_after(e, m, err));
  TRY(pawl_crossing_open(e, m->code.at, m->from_version, m->to_version,
                         &m->crossing, err));
out:
  return rc;
}

static pawl_code load_page(pawl_engine *e, moving *m, pawl_error *err) {
  pawl_rows r;
  pawl_str status;
  int64_t max = m->limit && m->limit < PAGE ? m->limit : PAGE;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_LIVE);
  pawl_arg_int(&e->args, PAWL_REPAIR_LIVE_SHARD, m->shard);
  pawl_arg_str(&e->args, PAWL_REPAIR_LIVE_WORKFLOW, pawl_buf_str(&m->code));
  pawl_arg_int(&e->args, PAWL_REPAIR_LIVE_WORKFLOW_VERSION, m->from_version);
  pawl_arg_id(&e->args, PAWL_REPAIR_LIVE_AFTER, &m->after);
  pawl_arg_int(&e->args, PAWL_REPAIR_LIVE_MAX, max);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  m->n = r.nrows < PAGE ? r.nrows : PAGE;
  m->over = m->n < max; /* of this shard */
  m->places.n = m->lost.n = 0;
  for (int k = 0; k < m->n; k++) {
    pawl_row_id(&r, k, PAWL_REPAIR_LIVE_R_ID, &m->ids[k]);
    m->versions[k] = pawl_row_int(&r, k, PAWL_REPAIR_LIVE_R_VERSION);
    m->undoing[k] =
        pawl_json_get(pawl_row_str(&r, k, PAWL_REPAIR_LIVE_R_COMPENSATION),
                      "status", &status) &&
        pawl_str_eqz(status, "\"running\"");
    TRY(pawl_places_stopped(e, &m->ids[k],
                            pawl_row_str(&r, k, PAWL_REPAIR_LIVE_R_STOPPED),
                            &m->places, err));
  }
  TRY(pawl_places_load(e, m->shard, m->ids, m->n, &m->places, err));
  TRY(pawl_crossing_lost(e, &m->crossing, m->shard, m->ids, m->n, &m->lost,
                         err));
out:
  return rc;
}

static void note_refused(moving *m, const pawl_id *id, const pawl_place *place,
                         pawl_str reason) {
  pawl_object o;
  char text[37];

  pawl_id_format(id, text);
  if (m->refused.len) pawl_buf_addc(&m->refused, ',');
  pawl_object_begin(&o, &m->refused);
  pawl_member_textz(&o, "id", text);
  if (place) {
    if (place->no) pawl_member_int(&o, "token", place->no);
    pawl_member_textz(&o, "node", place->node);
  }
  pawl_member_str(&o, "reason", reason);
  pawl_object_end(&o);
}

static void note(pawl_buf *list, const pawl_id *id) {
  char text[37];
  pawl_id_format(id, text);
  pawl_buf_addf(list, "%s\"%s\"", list->len ? "," : "", text);
}

static void write_letter(const moving *m, pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_str(&o, "reason",
                  m->reason.at ? pawl_buf_str(&m->reason) : pawl_strz(""));
  pawl_member_int(&o, "from", m->from_version);
  pawl_member_int(&o, "version", m->to_version);
  if (m->crossing.map.at) pawl_member_json(&o, "map", m->crossing.map);
  pawl_object_end(&o);
}

static pawl_code send_one(pawl_engine *e, moving *m, const pawl_id *id,
                          pawl_error *err) {
  pawl_buf letter = {.alloc = &e->alloc};
  pawl_error why;
  int done = 0;
  pawl_code rc = PAWL_OK;

  write_letter(m, &letter);
  TRY(pawl_buf_check(&letter, err));
  rc = pawl_engine_change(e, id, "migrate", "user", m->by.at ? m->by.at : "",
                          pawl_buf_str(&letter), &done, &why);
  if (rc == PAWL_INVALID || rc == PAWL_CONFLICT) { /* it has moved on */
    note_refused(m, id, NULL, pawl_strz(why.message));
    rc = PAWL_OK;
  } else if (rc == PAWL_ALREADY_FINISHED) {
    rc = PAWL_OK; /* then there is nothing to move */
  } else if (rc == PAWL_OK) {
    note(done ? &m->movable : &m->asked, id);
  } else if (err) {
    *err = why;
  }
out:
  pawl_buf_deinit(&letter);
  return rc;
}

static pawl_code look_at(pawl_engine *e, moving *m, int k, pawl_error *err) {
  pawl_buf why = {.alloc = &e->alloc};
  const pawl_place *bad = NULL;
  pawl_code rc = PAWL_OK;

  if (m->undoing[k]) {
    note_refused(m, &m->ids[k], NULL,
                 pawl_strz("its compensation is under way"));
    return PAWL_OK;
  }
  for (int i = 0; i < m->places.n && !bad; i++) {
    const pawl_place *place = &m->places.at[i];
    if (!pawl_id_eq(&place->instance, &m->ids[k])) continue;
    TRY(pawl_crossing_check(&m->crossing, place, &why, err));
    if (why.len) bad = place;
  }
  for (int i = 0; i < m->lost.n && !bad; i++) {
    if (!pawl_id_eq(&m->lost.at[i].instance, &m->ids[k])) continue;
    bad = &m->lost.at[i];
    pawl_crossing_tell_lost(&m->crossing, bad, &why);
    TRY(pawl_buf_check(&why, err));
  }
  if (bad)
    note_refused(m, &m->ids[k], bad, pawl_buf_str(&why));
  else if (m->apply)
    TRY(send_one(e, m, &m->ids[k], err));
  else
    note(&m->movable, &m->ids[k]);
out:
  pawl_buf_deinit(&why);
  return rc;
}

/* Page by page through the shards; a limit ends it after one page, and
 * "next" says where to go on. */
static pawl_code walk(pawl_engine *e, moving *m, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (; m->shard < e->nshards; m->shard++) {
    for (m->over = 0; !m->over;) {
      TRY(load_page(e, m, err));
      for (int k = 0; k < m->n; k++) TRY(look_at(e, m, k, err));
      if (m->n) m->after = m->ids[m->n - 1];
      if (m->limit && m->n) return PAWL_OK;
    }
    memset(&m->after, 0, sizeof m->after);
  }
out:
  return rc;
}

static void add_list(pawl_object *o, const char *name, const pawl_buf *list) {
  pawl_member(o, name);
  pawl_buf_addc(o->out, '[');
  pawl_buf_adds(o->out, pawl_buf_str(list));
  pawl_buf_addc(o->out, ']');
}

static pawl_code report(pawl_engine *e, const moving *m, pawl_buf *out,
                        pawl_error *err) {
  pawl_object o;
  char id[37];
  pawl_code rc = PAWL_OK;

  TRY(pawl_buf_check(&m->movable, err));
  TRY(pawl_buf_check(&m->refused, err));
  TRY(pawl_buf_check(&m->asked, err));
  pawl_object_begin(&o, out);
  add_list(&o, m->apply ? "moved" : "movable", &m->movable);
  if (m->apply) add_list(&o, "asked", &m->asked);
  add_list(&o, "refused", &m->refused);
  if (m->shard < e->nshards) {
    pawl_id_format(&m->after, id);
    pawl_member_textz(&o, "next", id);
  }
  pawl_object_end(&o);
  TRY(pawl_buf_check(out, err));
out:
  return rc;
}

pawl_code pawl_engine_moves(pawl_engine *e, pawl_str text, int apply,
                            pawl_buf *out, pawl_error *err) {
  size_t size = sizeof(moving);
  moving *m = pawl_realloc(&e->alloc, NULL, 0, size);
  pawl_code rc = PAWL_OK;

  if (!m) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  memset(m, 0, size);
  pawl_buf *bufs[] = {&m->code,    &m->by,      &m->reason, &m->before,
                      &m->movable, &m->refused, &m->asked};
  for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
    bufs[i]->alloc = &e->alloc;
  m->apply = apply;
  TRY(read_moving(e, m, text, err));
  TRY(walk(e, m, err));
  if (out) TRY(report(e, m, out, err));
out:
  pawl_crossing_close(&m->crossing);
  pawl_places_deinit(e, &m->places);
  pawl_places_deinit(e, &m->lost);
  for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
    pawl_buf_deinit(bufs[i]);
  pawl_release(&e->alloc, m, size);
  return rc;
}
