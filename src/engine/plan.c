#include "plan.h"

#include <assert.h>

#include "../value/json.h"

/* Every buffer of a plan, for the three functions that walk them. */
#define PLAN_BUFS(p)                                                        \
  {                                                                         \
    &(p)->vars, &(p)->output, &(p)->error, &(p)->attrs, &(p)->cancellation, \
        &(p)->detail                                                        \
  }
#define RECORD_BUFS(r)                                                    \
  {                                                                       \
    &(r)->transition, &(r)->path, &(r)->text, &(r)->caller, &(r)->output, \
        &(r)->changes, &(r)->error                                        \
  }
enum { NPLAN_BUFS = 6, NRECORD_BUFS = 7 };

void pawl_plan_init(pawl_plan *p, const pawl_alloc *alloc) {
  memset(p, 0, sizeof *p);
  pawl_buf *own[] = PLAN_BUFS(p);
  for (int i = 0; i < NPLAN_BUFS; i++) own[i]->alloc = alloc;
  for (int k = 0; k < PAWL_PLAN_RECORDS; k++) {
    pawl_buf *bufs[] = RECORD_BUFS(&p->records[k]);
    for (int i = 0; i < NRECORD_BUFS; i++) bufs[i]->alloc = alloc;
  }
}

void pawl_plan_deinit(pawl_plan *p) {
  pawl_buf *own[] = PLAN_BUFS(p);
  for (int i = 0; i < NPLAN_BUFS; i++) pawl_buf_deinit(own[i]);
  for (int k = 0; k < PAWL_PLAN_RECORDS; k++) {
    pawl_buf *bufs[] = RECORD_BUFS(&p->records[k]);
    for (int i = 0; i < NRECORD_BUFS; i++) pawl_buf_deinit(bufs[i]);
  }
}

void pawl_plan_reset(pawl_plan *p) {
  pawl_buf *own[] = PLAN_BUFS(p);
  for (int i = 0; i < NPLAN_BUFS; i++) pawl_buf_clear(own[i]);
  p->after = PAWL_AFTER_GO_ON;
  p->status = PAWL_STATUS_RUNNING;
  p->node = p->previous = NULL;
  p->visit = p->attempt = 0;
  p->waiting = 0;
  p->token_due_us = p->look_us = p->started_us = 0;
  p->vars_changed = p->has_output = 0;
  p->resets = 1;
  p->nrecords = 0;
  p->outcome = NULL;
}

pawl_record *pawl_plan_record(pawl_plan *p, const char *type,
                              const char *node) {
  assert(p->nrecords < PAWL_PLAN_RECORDS);
  pawl_record *r = &p->records[p->nrecords++];
  pawl_buf *bufs[] = RECORD_BUFS(r);
  for (int i = 0; i < NRECORD_BUFS; i++) pawl_buf_clear(bufs[i]);
  r->type = type;
  r->node = node;
  r->visit = r->attempt = 0;
  r->started_us = r->completed_us = r->due_us = 0;
  r->has_output = 0;
  return r;
}

pawl_code pawl_plan_check(const pawl_plan *p, pawl_error *err) {
  const pawl_buf *own[] = PLAN_BUFS(p);
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < NPLAN_BUFS; i++) TRY(pawl_buf_check(own[i], err));
  for (int k = 0; k < p->nrecords; k++) {
    const pawl_buf *bufs[] = RECORD_BUFS(&p->records[k]);
    for (int i = 0; i < NRECORD_BUFS; i++) TRY(pawl_buf_check(bufs[i], err));
  }
out:
  return rc;
}

static void add_field(pawl_buf *out, const char *name, const char *text) {
  if (!text[0]) return;
  pawl_buf_addf(out, "%s\"%s\":", out->at[out->len - 1] == '{' ? "" : ",",
                name);
  pawl_json_add_string(out, pawl_strz(text));
}

void pawl_plan_error(pawl_buf *out, const pawl_error *err, pawl_str details) {
  pawl_buf_clear(out);
  pawl_buf_addc(out, '{');
  if (out->failed) return;
  /* the script's own code is what its author will look for */
  add_field(out, "code",
            err->reason[0] ? err->reason : pawl_code_name(err->code));
  add_field(out, "message", err->message);
  add_field(out, "where", err->where);
  add_field(out, "hint", err->hint);
  add_field(out, "sqlstate", err->sqlstate);
  add_field(out, "trace", err->trace);
  if (details.len) {
    pawl_buf_addz(out, ",\"details\":");
    pawl_buf_adds(out, details);
  }
  pawl_buf_addc(out, '}');
}
