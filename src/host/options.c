/* Tables of options as Lua tables: names, shapes, ranges, kinds. */
#include <lauxlib.h>

#include "host.h"

static const char *const shapes[] = {
    [PAWL_OPTION_TEXT] = "text",     [PAWL_OPTION_INT] = "int",
    [PAWL_OPTION_BOOL] = "bool",     [PAWL_OPTION_TIME] = "time",
    [PAWL_OPTION_SPAN] = "span",     [PAWL_OPTION_ID] = "id",
    [PAWL_OPTION_CHOICE] = "choice", [PAWL_OPTION_CHOICES] = "choices",
    [PAWL_OPTION_OBJECT] = "object", [PAWL_OPTION_LIST] = "list",
    [PAWL_OPTION_TEXTS] = "texts",   [PAWL_OPTION_ANY] = "any"};

static void set_text(lua_State *L, const char *field, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, field);
}

static void set_int(lua_State *L, const char *field, int64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, field);
}

static void set_names(lua_State *L, const char *field,
                      const char *const *names, int n) {
  if (!names) return;
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, field);
}

static void push_row(lua_State *L, const pawl_option *row) {
  lua_createtable(L, 0, 6);
  set_text(L, "name", row->name);
  set_text(L, "shape", shapes[row->shape]);
  set_int(L, "low", row->low);
  set_int(L, "high", row->high);
  set_int(L, "needed", row->needed);
  if (row->kinds) set_int(L, "kinds", row->kinds);
  set_names(L, "names", row->names, (int)row->high);
}

void pawl_host_push_options(lua_State *L, const pawl_options *t) {
  lua_createtable(L, t->nrows, 1);
  for (int i = 0; i < t->nrows; i++) {
    push_row(L, &t->rows[i]);
    lua_rawseti(L, -2, i + 1);
  }
  set_names(L, "kinds", t->kinds, t->nkinds);
}
