/* engine/work/services.h: what a running handler may ask of the engine.
 *
 * Layer    engine/work, above host. */
#ifndef PAWL_ENGINE_WORK_SERVICES_H
#define PAWL_ENGINE_WORK_SERVICES_H

#include "slots.h"

/* What ctx may ask of the engine: services_ud of the call is the engine, its
 * owner the slot. */
extern const pawl_services pawl_engine_services;

#endif
