/* Callbacks: who has a token sends its event to its instance, once. */

#include "../../value/options.h"
#include "../common/callback.h"
#include "../common/engine_struct.h"
#include "enter.h"

#define SOURCE "callback"

typedef struct completion {
  uint64_t given;
  pawl_buf by;
  pawl_str data; /* borrowed */
} completion;

#define AT(member) .at = offsetof(completion, member)
static const pawl_option complete_rows[] = {
    {"data", PAWL_OPTION_ANY, AT(data)},
    {"by", PAWL_OPTION_TEXT, AT(by), .high = PAWL_MAX_BY}};
PAWL_OPTIONS_OF(complete) = {.what = "a completion",
                             PAWL_OPTION_ROWS(complete_rows)};
#undef AT

/* Whether it was forged, or is of an instance that is purged, another tenant's
 * or another store's: who has no good one learns nothing. */
static pawl_code fail_unknown(pawl_error *err) {
  return pawl_fail_hint(err, PAWL_NOTFOUND,
                        "give it whole, as ctx.callback did in this store",
                        "nothing can be completed with this token");
}

/* The event has the token as its id, so that it comes once, and as its key, so
 * that a wait may ask for this one. */
static pawl_code write_signal(const pawl_callback *c, pawl_str token,
                              const completion *q, pawl_buf *out,
                              pawl_error *err) {
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_str(&o, "name", c->event);
  pawl_member_id(&o, "instance", &c->instance);
  pawl_member_str(&o, "id", token);
  pawl_member_str(&o, "key", token);
  pawl_member_textz(&o, "source", SOURCE);
  if (q->by.len) pawl_member_str(&o, "by", pawl_buf_str(&q->by));
  if (q->data.at) pawl_member_json(&o, "data", q->data);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

/* {"instance","event","repeated"} */
static pawl_code tell(const pawl_callback *c, pawl_str sent, pawl_buf *out,
                      pawl_error *err) {
  pawl_object o;
  pawl_str repeated = {NULL, 0};

  (void)pawl_json_get(sent, "repeated", &repeated);
  pawl_object_begin(&o, out);
  pawl_member_id(&o, "instance", &c->instance);
  pawl_member_str(&o, "event", c->event);
  pawl_member_json(&o, "repeated", repeated);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

static pawl_code complete(pawl_engine *e, pawl_str token, const completion *q,
                          pawl_buf *out, pawl_error *err) {
  pawl_buf signal = {.alloc = &e->alloc}, sent = {.alloc = &e->alloc};
  pawl_callback c;
  pawl_str secret;
  pawl_code rc = PAWL_OK;

  TRY(pawl_callback_secret(e, &secret, err));
  if (!pawl_callback_read(secret, token, &c)) {
    rc = fail_unknown(err);
    goto out;
  }
  TRY(write_signal(&c, token, q, &signal, err));
  rc = pawl_engine_signal(e, pawl_buf_str(&signal), NULL, NULL, &sent, err);
  if (rc == PAWL_NOTFOUND) rc = fail_unknown(err);
  if (rc == PAWL_OK) rc = tell(&c, pawl_buf_str(&sent), out, err);
out:
  pawl_buf_deinit(&signal);
  pawl_buf_deinit(&sent);
  return rc;
}

pawl_code pawl_engine_complete(pawl_engine *e, pawl_str token,
                               pawl_str request, pawl_buf *out,
                               pawl_error *err) {
  completion q;
  pawl_code rc = PAWL_OK;

  if (!token.at)
    return pawl_fail_hint(err, PAWL_INVALID, "what ctx.callback has given",
                          "a completion has no token");
  pawl_options_init(&pawl_options_of_complete, &q, sizeof q, &e->alloc);
  TRY(pawl_options_read(&pawl_options_of_complete, request, &q, err));
  rc = complete(e, token, &q, out, err);
out:
  pawl_options_deinit(&pawl_options_of_complete, &q);
  return rc;
}
