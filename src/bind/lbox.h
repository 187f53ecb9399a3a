/* bind/lbox.h: an engine as a Lua object, and what its methods share.
 *
 * Layer    bind: above pawl.h, value and host; below the methods by noun.
 * Owns     the userdata owns the engine. Its first user value is a thread whose
 *          stack holds the callbacks (clock, log, trace) and runs them, so
 *          that they work whichever coroutine called, and inside handlers; the
 *          second what has a word of its own (engine.tasks).
 * Raises   wrong arguments, use after close, and calls from inside one of the
 *          engine's own handlers or callbacks. The core itself never raises,
 *          and nothing that Lua could leak is held when a raise is possible.
 */
#ifndef PAWL_BIND_LBOX_H
#define PAWL_BIND_LBOX_H

#include <lua.h>

#include "../base/buf.h"
#include "../pawl.h"

#define PAWL_ENGINE_MT "pawl.engine"

typedef struct pawl_bind_box {
  pawl_engine *engine; /* NULL: closed, or not open yet */
  /* Two threads, because a callback may call another (a log line asks for
   * the time): the keeper never runs, so its slots stay where they are. */
  lua_State *keeper, *runner;
  int64_t last_us, last_passed_us; /* what the clock said last */
  int inside;                      /* calls into the core under way */
} pawl_bind_box;

/* Runs a call into the core with the box marked as being inside. Lua may have
 * run since the box was checked, and a finalizer have closed the engine: the
 * core says so when it is given none. */
#define PAWL_INSIDE(box, rc, call) \
  do {                             \
    (box)->inside++;               \
    (rc) = (call);                 \
    (box)->inside--;               \
  } while (0)

/* ---- the box ---- */

/* The box at 1; of_: an open one; idle: for methods that change or ask the
 * store, which wait their turn. */
pawl_bind_box *pawl_bind_self(lua_State *L, const char *method);
/* The same, whose error blames the line of another level. */
pawl_bind_box *pawl_bind_self_at(lua_State *L, const char *method, int level);
pawl_bind_box *pawl_bind_box_of(lua_State *L, const char *method);
pawl_bind_box *pawl_bind_idle(lua_State *L, const char *method, int level);
/* The engine of the object at idx; raises when it is none, or closed. */
pawl_engine *pawl_bind_engine(lua_State *L, int idx);

/* ---- values ---- */

/* Seconds as Lua has them to microseconds; 0: not a time. */
int pawl_bind_to_us(lua_State *L, int idx, int64_t *us);
void pawl_bind_push_seconds(lua_State *L, int64_t us);
void pawl_bind_set_seconds(lua_State *L, const char *key, int64_t us);
/* nil for never: nothing is scheduled. */
void pawl_bind_push_due(lua_State *L, int64_t us);
void pawl_bind_set_int(lua_State *L, const char *key, int64_t n);
void pawl_bind_set_flag(lua_State *L, const char *key, int yes);
void pawl_bind_set_text(lua_State *L, const char *key, const char *text);
/* { trips =, statements =, transactions = } */
int pawl_bind_push_counts(lua_State *L, const pawl_counts *counts);

/* What is done to an answer at the top before Lua sees it. */
typedef void (*pawl_bind_tidy)(lua_State *L);

/* Pushes what `text` decodes to, or nil, err, and frees it, even when Lua
 * raises. How many values. */
int pawl_bind_take_json(lua_State *L, pawl_engine *engine, char *text,
                        pawl_bind_tidy tidy);

#endif
