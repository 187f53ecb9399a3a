/* engine/enter/event.h: an event on its way in, as signal.c was asked to send
 * it, or as its row has it.
 *
 * Layer    engine/enter, for signal.c and assign.c. */
#ifndef PAWL_ENGINE_ENTER_EVENT_H
#define PAWL_ENGINE_ENTER_EVENT_H

#include "../../value/options.h"
#include "../common/engine_struct.h"

/* What it starts, when nobody waits for it. */
typedef struct pawl_event_start {
  uint64_t given;
  pawl_buf workflow;
  pawl_str input, options; /* slices of JSON text */
} pawl_event_start;

typedef struct pawl_event {
  uint64_t given;
  pawl_buf name, key, instance, id, source, by, tenant;
  int64_t ttl_us;
  pawl_str data, start_json; /* slices of JSON text */
  pawl_event_start start;
  pawl_buf wide;   /* the pattern that means it too: "payment.*" */
  pawl_buf global; /* source ':' id: what inboxes know it by */
  pawl_id came;    /* drawn for it: orders what came in one instant */
  int has_id, has_start;
  int64_t received_us; /* by the store's time; 0: now */
  int64_t expires_us;
  /* what came of it */
  int64_t reached;
  pawl_id target; /* of one that goes to a single instance */
  int repeated, created, is_missing;
} pawl_event;

extern const pawl_options pawl_options_of_signal, pawl_options_of_signal_start;

void pawl_event_init(pawl_event *v, const pawl_alloc *alloc);
void pawl_event_deinit(pawl_event *v);
/* The names that are worked out of others: `wide` and `global`. */
pawl_code pawl_event_complete(pawl_event *v, pawl_error *err);

/* ---- its row ---- */

/* Where a row of an event is. */
typedef struct pawl_event_place {
  int shard;
  pawl_str tenant, source, id;
} pawl_event_place;

/* Lists of texts, and of places: a buffer, and where the next one begins. A
 * place's shard is not in it. */
void pawl_event_add_text(pawl_buf *list, pawl_str text);
pawl_str pawl_event_next_text(const pawl_buf *list, size_t *at);
void pawl_event_add_place(pawl_buf *list, const pawl_event_place *place);
void pawl_event_next_place(const pawl_buf *list, size_t *at,
                           pawl_event_place *place);

/* *there 0: it was forgotten. *posted: as it says. `keep` has what the event's
 * data borrows. */
pawl_code pawl_event_load(pawl_engine *e, const pawl_event_place *place,
                          pawl_event *v, pawl_buf *keep, int *there,
                          int *posted, pawl_error *err);
void pawl_event_times(pawl_event *v, const pawl_event_get_row *row);

/* ---- into inboxes, in a unit that the caller has begun ---- */

pawl_code pawl_event_wake(pawl_engine *e, int shard, const pawl_id *ids, int n,
                          pawl_error *err);
/* Under their agenda rows' locks: once into each that has not ended. `at`:
 * where the result is. */
pawl_code pawl_event_write(pawl_engine *e, const pawl_event *v, int shard,
                           const pawl_id *ids, const pawl_id *nos, int n,
                           int *at, pawl_error *err);

#endif
