/* engine/common/time.h: time and chance.
 *
 * Layer    engine/common.
 * Time     microseconds since the Unix epoch, by the store's clock: workers on
 *          many machines must agree. */
#ifndef PAWL_ENGINE_COMMON_TIME_H
#define PAWL_ENGINE_COMMON_TIME_H

#include "../../base/buf.h"

int64_t pawl_engine_now(pawl_engine *e);
/* From 0 up to 1, for jitter: nothing secret. */
double pawl_engine_random(pawl_engine *e);

#endif
