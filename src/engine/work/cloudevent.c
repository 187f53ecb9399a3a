#include "cloudevent.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../value/object.h"

void pawl_cloudevent_id(const pawl_outbox_run_row *row,
                        char id[PAWL_CLOUDEVENT_ID]) {
  (void)snprintf(id, PAWL_CLOUDEVENT_ID, "%s/%" PRId64,
                 pawl_id_text_of(row->instance).at, row->seq);
}

/* A code has nothing that a URI could not have. */
static void add_source(pawl_object *o, pawl_str begins, pawl_str workflow) {
  pawl_buf text = {.alloc = o->out->alloc};

  pawl_buf_adds(&text, begins);
  pawl_buf_adds(&text, workflow);
  pawl_member_str(o, "source", pawl_buf_str(&text));
  if (text.failed) o->out->failed = 1;
  pawl_buf_deinit(&text);
}

static void add_some(pawl_object *o, const char *name, pawl_str value) {
  if (value.len) pawl_member_str(o, name, value);
}

void pawl_cloudevent_write(const pawl_outbox_run_row *row, pawl_str source,
                           pawl_buf *out) {
  char id[PAWL_CLOUDEVENT_ID], sequence[24];
  pawl_object o;

  pawl_cloudevent_id(row, id);
  (void)snprintf(sequence, sizeof sequence, "%020" PRId64, row->seq);
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "specversion", "1.0");
  pawl_member_textz(&o, "id", id);
  add_source(&o, source, row->workflow);
  pawl_member_str(&o, "type", row->type);
  pawl_member_time(&o, "time", row->created_at);
  pawl_member_id(&o, "subject", row->instance);
  pawl_member_textz(&o, "sequence", sequence);
  if (row->version) pawl_member_int(&o, "workflowversion", row->version);
  add_some(&o, "correlation", row->correlation);
  add_some(&o, "businesskey", row->business_key);
  add_some(&o, "tenant", row->tenant);
  if (row->payload.len && !pawl_str_eqz(row->payload, "null")) {
    pawl_member_textz(&o, "datacontenttype", "application/json");
    pawl_member_json(&o, "data", row->payload);
  }
  pawl_object_end(&o);
}
