/* Room where memory is short. */
#include "room.h"

#include "aside.h"
#include "slots.h"

void pawl_room_make(pawl_engine *e) {
  pawl_host_tidy(e->host);
  pawl_held_shrink(e);
}

pawl_code pawl_room_begin(pawl_engine *e, pawl_error *err) {
  if (e->ration.refused == e->refused) {
    if (e->most < e->config.batch) e->most++;
    return PAWL_OK;
  }
  e->refused = e->ration.refused;
  e->most = e->most > 1 ? e->most / 2 : 1;
  MUST(pawl_aside_give_back(e, NULL, 0, err));
  pawl_room_make(e);
  return PAWL_OK;
}
