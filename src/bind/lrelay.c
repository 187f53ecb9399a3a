#include "lrelay.h"

#include <lauxlib.h>

#include "../host/host.h"
#include "../value/luajson.h"
#include "lbox.h"
#include "lerror.h"

enum { ENGINE = 1, OPTIONS, PUBLISH };

typedef struct publish_call {
  const pawl_emitted *emitted;
  pawl_error *why;
  pawl_code rc;
} publish_call;

static int is_word(lua_State *L, int idx, const char *word) {
  return lua_type(L, idx) == LUA_TSTRING &&
         strcmp(lua_tostring(L, idx), word) == 0;
}

/* What the function says of its failure: text, or an object with a message. */
static void read_why(lua_State *L, int idx, pawl_error *why) {
  const char *text = NULL;

  if (lua_type(L, idx) == LUA_TTABLE && lua_getfield(L, idx, "message"))
    text = lua_tostring(L, -1);
  else if (!lua_isnoneornil(L, idx))
    text = luaL_tolstring(L, idx, NULL);
  (void)pawl_fail(why, PAWL_SCRIPT, "%s",
                  text ? text : "publish did not return true");
}

/* publish(event, id, attempt, again): true; "later"; nil, why: it has failed;
 * false, why: it is refused. */
static int publish_protected(lua_State *L) {
  publish_call *c = lua_touserdata(L, 2);
  const pawl_emitted *m = c->emitted;

  lua_settop(L, 1);
  lua_pushlstring(L, m->event, m->length);
  lua_pushstring(L, m->id);
  lua_pushinteger(L, m->attempt);
  lua_pushboolean(L, m->again);
  lua_call(L, 4, 2);
  if (is_word(L, 1, "later")) {
    c->rc = PAWL_BUSY;
  } else if (lua_toboolean(L, 1)) {
    c->rc = PAWL_OK;
  } else {
    c->rc = lua_isnil(L, 1) ? PAWL_SCRIPT : PAWL_INVALID;
    read_why(L, 2, c->why);
  }
  return 0;
}

static pawl_code publish(void *ud, const pawl_emitted *emitted,
                         pawl_error *why) {
  publish_call c = {emitted, why, PAWL_SCRIPT};
  lua_State *L = ud;
  const int top = lua_gettop(L);

  if (!lua_checkstack(L, 8)) return pawl_fail_memory(why);
  lua_pushcfunction(L, publish_protected);
  lua_pushvalue(L, PUBLISH);
  lua_pushlightuserdata(L, &c);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
                                                      : "publish has raised";
    c.rc = pawl_fail(why, PAWL_SCRIPT, "%s", text);
  }
  lua_settop(L, top);
  return c.rc;
}

int pawl_bind_outbox_relay(lua_State *L) {
  pawl_bind_box *box = pawl_bind_idle(L, "outbox:relay", 2);
  pawl_relayed r;
  pawl_error err;
  pawl_code rc;

  luaL_checktype(L, PUBLISH, LUA_TFUNCTION);
  lua_settop(L, PUBLISH);
  pawl_buf *options = pawl_host_push_buf(L);
  if (!lua_isnil(L, OPTIONS) &&
      pawl_luajson_encode(L, OPTIONS, "options", 0, options, &err) != PAWL_OK)
    return pawl_bind_failure(L, &err);
  PAWL_INSIDE(
      box, rc,
      pawl_outbox_relay(box->engine, options->at, publish, L, &r, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_createtable(L, 0, 8);
  pawl_bind_set_int(L, "claimed", r.claimed);
  pawl_bind_set_int(L, "published", r.published);
  pawl_bind_set_int(L, "failed", r.failed);
  pawl_bind_set_int(L, "dead", r.dead);
  pawl_bind_set_int(L, "lost", r.lost);
  pawl_bind_set_int(L, "under_way", r.under_way);
  pawl_bind_set_flag(L, "limited", r.limited != 0);
  pawl_bind_push_due(L, r.next_due_us);
  lua_setfield(L, -2, "next_due");
  return 1;
}
