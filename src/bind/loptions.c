#include "loptions.h"

#include <lauxlib.h>

#include "../host/host.h"

int pawl_bind_options(lua_State *L) {
  lua_newtable(L);
  for (const pawl_verb *v = pawl_verbs; v->name; v++) {
    pawl_host_push_options(L, v->options);
    lua_setfield(L, -2, v->name);
  }
  return 1;
}
