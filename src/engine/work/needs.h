/* engine/work/needs.h: what a held instance needs before it runs.
 *
 * Layer    engine/work, for load.c and mail.c. Asked of every slot in every
 *          round, so what can be is inline. */
#ifndef PAWL_ENGINE_WORK_NEEDS_H
#define PAWL_ENGINE_WORK_NEEDS_H

#include "slots.h"

static inline int pawl_slot_is_held(const pawl_held *h) {
  return h->state == PAWL_SLOT_READY || h->state == PAWL_SLOT_PLANNED;
}

static inline int pawl_slot_is_new(const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && h->loaded == PAWL_LOADED_ROW;
}

/* Just loaded, or told to look; or its letters are read anew, and those that
 * were found among the events with them. */
static inline int pawl_needs_look(const pawl_held *h) {
  return pawl_slot_is_held(h) && h->loaded && (pawl_slot_is_new(h) || h->look);
}

static inline int pawl_needs_tokens(const pawl_held *h) {
  return pawl_slot_is_new(h) && h->d.state.started_us &&
         !h->d.state.tokens.n && !pawl_status_has_ended(h->d.state.status);
}

/* A plain sequence that nobody has called looks at no inbox. */
int pawl_needs_inbox(const pawl_held *h);
/* The node where a token stands; NULL: the definition has none of that name. */
const pawl_node *pawl_held_node_of(const pawl_held *h, const pawl_token *t);

#endif
