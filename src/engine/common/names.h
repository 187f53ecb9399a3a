/* engine/common/names.h: names that live as long as the engine, and the shard
 * of a key's events.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_NAMES_H
#define PAWL_ENGINE_COMMON_NAMES_H

#include "../../base/buf.h"

/* The same text, kept as long as the engine: names of nodes and branches come
 * from definitions, so there are few. NULL: out of memory. */
const char *pawl_engine_intern(pawl_engine *e, pawl_str name);
void pawl_engine_forget_names(pawl_engine *e);
/* The shard that keeps events with this key. */
int pawl_event_shard(const pawl_engine *e, pawl_str key);

#endif
