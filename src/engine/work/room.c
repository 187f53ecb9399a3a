/* Room where memory is short. */
#include "room.h"

#include "aside.h"
#include "slots.h"

void pawl_room_make(pawl_engine *e) {
  pawl_store_slim(e->store);
  pawl_args_deinit(&e->args);
  pawl_host_tidy(e->host);
  pawl_held_shrink(e);
}

/* Most of it is used, and more than was left the last time. */
static int is_tight(const pawl_engine *e) {
  const int64_t limit = e->ration.limit, used = e->ration.used;
  return limit && used > limit - limit / 4 && used > e->left + limit / 16;
}

void pawl_room_enter(pawl_engine *e) {
  if (e->ration.used < e->left) e->left = e->ration.used;
  if (e->ration.refused == e->roomed && !is_tight(e)) return;
  e->roomed = e->ration.refused;
  pawl_room_make(e);
  pawl_held_drop(e);
  e->left = e->ration.used;
}

pawl_code pawl_room_begin(pawl_engine *e, pawl_error *err) {
  if (e->ration.refused == e->refused) {
    if (e->most < e->config.batch) e->most++;
    return PAWL_OK;
  }
  e->refused = e->ration.refused;
  e->most = e->most > 1 ? e->most / 2 : 1;
  MUST(pawl_aside_give_back(e, NULL, 0, err));
  pawl_held_drop(e);
  return PAWL_OK;
}
