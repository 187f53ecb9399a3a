/* An event on its way in: its members, its row, and what goes into inboxes. */
#include "event.h"

#include <assert.h>
#include <string.h>

#include "../common/time.h"

#define MAX_WORD PAWL_MAX_KEY /* key, id, source, by: bytes */
#define DEFAULT_TTL_US (86400 * PAWL_SECOND)

#define WORD(member) .at = offsetof(pawl_event, member), .high = MAX_WORD
static const pawl_option signal_rows[] = {
    {"name", PAWL_OPTION_TEXT, WORD(name), .low = 1, .needed = 1},
    {"key", PAWL_OPTION_TEXT, WORD(key), .low = 1},
    {"instance", PAWL_OPTION_TEXT, WORD(instance), .low = 1},
    {"data", PAWL_OPTION_ANY, .at = offsetof(pawl_event, data)},
    {"id", PAWL_OPTION_TEXT, WORD(id), .low = 1},
    {"source", PAWL_OPTION_TEXT, WORD(source)},
    {"ttl_us", PAWL_OPTION_SPAN, .at = offsetof(pawl_event, ttl_us), .low = 1},
    {"start", PAWL_OPTION_OBJECT, .at = offsetof(pawl_event, start_json)},
    {"by", PAWL_OPTION_TEXT, WORD(by)},
    {"tenant", PAWL_OPTION_TEXT, WORD(tenant), .low = 1}};
PAWL_OPTIONS_OF(signal) = {.what = "a signal", PAWL_OPTION_ROWS(signal_rows)};

static const pawl_option start_of_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(pawl_event_start, workflow),
     .low = 1, .high = MAX_WORD, .needed = 1},
    {"input", PAWL_OPTION_ANY, .at = offsetof(pawl_event_start, input)},
    {"options", PAWL_OPTION_OBJECT,
     .at = offsetof(pawl_event_start, options)}};
PAWL_OPTIONS_OF(signal_start) = {.what = "a signal's `start`",
                                 PAWL_OPTION_ROWS(start_of_rows)};

void pawl_event_init(pawl_event *v, const pawl_alloc *alloc) {
  pawl_options_init(&pawl_options_of_signal, v, sizeof *v, alloc);
  pawl_options_init(&pawl_options_of_signal_start, &v->start, sizeof v->start,
                    alloc);
  v->wide.alloc = v->global.alloc = alloc;
  v->ttl_us = DEFAULT_TTL_US;
}

void pawl_event_deinit(pawl_event *v) {
  pawl_options_deinit(&pawl_options_of_signal, v);
  pawl_options_deinit(&pawl_options_of_signal_start, &v->start);
  pawl_buf_deinit(&v->wide);
  pawl_buf_deinit(&v->global);
}

pawl_code pawl_event_complete(pawl_event *v, pawl_error *err) {
  const char *dot = strrchr(v->name.at, '.');

  assert(v->id.len > 0); /* by it an inbox knows what it has had */
  pawl_buf_clear(&v->wide);
  pawl_buf_clear(&v->global);
  if (dot) pawl_buf_add(&v->wide, v->name.at, (size_t)(dot - v->name.at) + 1);
  pawl_buf_addc(&v->wide, '*');
  pawl_buf_adds(&v->global, pawl_buf_str(&v->source));
  pawl_buf_addc(&v->global, ':');
  pawl_buf_adds(&v->global, pawl_buf_str(&v->id));
  MUST(pawl_buf_check(&v->wide, err));
  return pawl_buf_check(&v->global, err);
}

/* ---- texts one behind the other, each with a zero ---- */

void pawl_event_add_text(pawl_buf *list, pawl_str text) {
  pawl_buf_adds(list, text);
  pawl_buf_addc(list, 0);
}

pawl_str pawl_event_next_text(const pawl_buf *list, size_t *at) {
  const pawl_str text = pawl_strz(list->at + *at);

  *at += text.len + 1;
  return text;
}

void pawl_event_add_place(pawl_buf *list, const pawl_event_place *place) {
  pawl_event_add_text(list, place->tenant);
  pawl_event_add_text(list, place->source);
  pawl_event_add_text(list, place->id);
}

void pawl_event_next_place(const pawl_buf *list, size_t *at,
                           pawl_event_place *place) {
  place->tenant = pawl_event_next_text(list, at);
  place->source = pawl_event_next_text(list, at);
  place->id = pawl_event_next_text(list, at);
}

/* ---- its row ---- */

void pawl_event_times(pawl_event *v, const pawl_event_get_row *row) {
  if (row->came) v->came = *row->came;
  v->received_us = row->received_at;
  v->expires_us = row->expires_at;
}

pawl_code pawl_event_load(pawl_engine *e, const pawl_event_place *place,
                          pawl_event *v, pawl_buf *keep, int *there,
                          int *posted, pawl_error *err) {
  pawl_rows rows;

  *there = *posted = 0;
  MUST(PAWL_READ(e->store, event_get, &rows, err, .shard = place->shard,
                 .tenant = place->tenant, .source = place->source,
                 .id = place->id));
  MUST(PAWL_KEEP(event_get, &rows, keep, err));
  if (!rows.nrows) return PAWL_OK;
  const pawl_event_get_row *row = PAWL_KEPT(event_get, keep);
  *there = 1;
  *posted = (int)row->posted;
  pawl_buf_set(&v->name, row->name);
  pawl_buf_set(&v->key, row->key);
  pawl_buf_set(&v->by, row->by);
  pawl_buf_set(&v->tenant, place->tenant);
  pawl_buf_set(&v->source, place->source);
  pawl_buf_set(&v->id, place->id);
  v->data = row->data;
  pawl_event_times(v, row);
  v->has_id = 1;
  if (v->name.failed || v->key.failed || v->by.failed || v->tenant.failed ||
      v->source.failed || v->id.failed)
    return pawl_fail_memory(err);
  return pawl_event_complete(v, err);
}

/* ---- into inboxes ---- */

pawl_code pawl_event_wake(pawl_engine *e, int shard, const pawl_id *ids, int n,
                          pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_agenda_wake_many);
  for (int i = 0; i < n; i++)
    PAWL_PUT(a, agenda_wake_many, .shard = shard, .id = &ids[i],
             .now = pawl_store_now(e->store));
  return pawl_store_send(e->store, a, NULL, err);
}

pawl_code pawl_event_write(pawl_engine *e, const pawl_event *v, int shard,
                           const pawl_id *ids, const pawl_id *nos, int n,
                           int *at, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_inbox_insert_many);
  for (int i = 0; i < n; i++)
    PAWL_PUT(a, inbox_insert_many, .shard = shard, .id = &ids[i],
             .no = &nos[i], .name = pawl_buf_str(&v->name),
             .key = pawl_buf_some(&v->key),
             .event_id = pawl_buf_str(&v->global),
             .source = pawl_buf_str(&v->source),
             .by = pawl_buf_given(&v->by, v->by.at != NULL), .data = v->data,
             .addressed = v->instance.len || v->has_start,
             .received_at = v->received_us,
             .now = v->received_us ? 0 : pawl_store_now(e->store));
  return pawl_store_send(e->store, a, at, err);
}
