/* Steps counted in a table by id: two that meet there displace each other. */
#include "spin.h"

#include "../../value/json.h"

static uint32_t place_of(const pawl_held *h, int32_t token) {
  const unsigned char *b = h->d.id.bytes; /* the last ones are random */
  return (uint32_t)(b[12] ^ b[13] ^ token) % PAWL_SPIN_SLOTS;
}

static void tell(pawl_engine *e, const pawl_held *h, const char *node) {
  pawl_buf b = {.alloc = &e->alloc};

  pawl_buf_addf(&b, "{\"instance\":\"%s\",\"workflow\":", h->d.id_text);
  pawl_json_add_string(&b, pawl_buf_str(&h->d.workflow));
  pawl_buf_addz(&b, ",\"node\":");
  pawl_json_add_string(&b, pawl_strz(node));
  pawl_buf_addf(&b, ",\"steps\":%d,\"hint\":", PAWL_BUSY_LOOP);
  pawl_json_add_string(&b, pawl_strz("let it wait, or give the workflow a "
                                     "busy_limit"));
  pawl_buf_addc(&b, '}');
  pawl_log_write(&e->log, PAWL_WARN,
                 "an instance runs step after step without waiting",
                 b.failed ? NULL : b.at);
  pawl_buf_deinit(&b);
}

void pawl_spin_step(pawl_engine *e, const pawl_held *h, int32_t token,
                    const char *node) {
  pawl_spin *s = &e->spins[place_of(h, token)];

  if (!pawl_id_eq(&s->id, &h->d.id) || s->token != token) {
    s->id = h->d.id;
    s->token = token;
    s->steps = s->told = 0;
  }
  /* once for each that is remembered: a log that is full of it helps nobody */
  if (++s->steps < PAWL_BUSY_LOOP || s->told) return;
  s->told = 1;
  tell(e, h, node);
}

int pawl_spin_rolled_back(pawl_engine *e, const pawl_held *h) {
  pawl_rollbacks *r = &e->rollbacks[place_of(h, 0)];

  if (!pawl_id_eq(&r->id, &h->d.id) || r->commits != h->d.commits) {
    r->id = h->d.id;
    r->commits = h->d.commits;
    r->n = 0;
  }
  return ++r->n;
}

/* All of its tokens: what is counted are steps without a rest of the
 * instance, whichever token takes it. */
void pawl_spin_rest(pawl_engine *e, const pawl_held *h) {
  for (int i = 0; i < PAWL_SPIN_SLOTS; i++)
    if (e->spins[i].steps && pawl_id_eq(&e->spins[i].id, &h->d.id))
      e->spins[i].steps = 0;
}
