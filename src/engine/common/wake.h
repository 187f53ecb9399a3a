/* engine/common/wake.h: telling who sleeps that something is due: workers, by
 * the store's notification; and programs, by the `wake` of their config.
 *
 * Layer    engine/common.
 * Threads  programs are told in the thread whose call made it due, also those
 *          that have other engines of the process open on the same store. No
 *          lock is held meanwhile; who closes his engine waits for the end. */
#ifndef PAWL_ENGINE_COMMON_WAKE_H
#define PAWL_ENGINE_COMMON_WAKE_H

#include "../../base/clock.h"

#define PAWL_WAKE_EVERY_US 3000 /* at most */

/* After the commit of what is due. */
void pawl_wake(pawl_engine *e);
/* The programs alone: also of what is due later. */
void pawl_wake_programs(pawl_engine *e);

/* Is this thread in the `wake` of that engine, which another one calls? There
 * nobody may call it: its thread may be inside, and closing waits for the end
 * of that `wake`. */
int pawl_wake_is_telling(const pawl_engine *e);

/* The engine is told from now on, if its config says so, and tells others that
 * are open on the store at `url`. */
pawl_code pawl_wake_open(pawl_engine *e, const char *url, pawl_error *err);
/* `ours`: no child that has forked, in whose list its parent's are not. */
void pawl_wake_close(pawl_engine *e, int ours);

#endif
