/* Tables of options as Lua tables: names, shapes, ranges, kinds. */
#include "loptions.h"

#include <lauxlib.h>

#include "../value/options.h"
#include "lbox.h"

static const char *const shapes[] = {
    [PAWL_OPTION_TEXT] = "text",     [PAWL_OPTION_INT] = "int",
    [PAWL_OPTION_BOOL] = "bool",     [PAWL_OPTION_TIME] = "time",
    [PAWL_OPTION_SPAN] = "span",     [PAWL_OPTION_ID] = "id",
    [PAWL_OPTION_CHOICE] = "choice", [PAWL_OPTION_CHOICES] = "choices",
    [PAWL_OPTION_OBJECT] = "object", [PAWL_OPTION_LIST] = "list",
    [PAWL_OPTION_TEXTS] = "texts",   [PAWL_OPTION_ANY] = "any"};

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
  pawl_bind_set_text(L, "name", row->name);
  pawl_bind_set_text(L, "shape", shapes[row->shape]);
  pawl_bind_set_int(L, "low", row->low);
  pawl_bind_set_int(L, "high", row->high);
  pawl_bind_set_int(L, "needed", row->needed);
  if (row->kinds) pawl_bind_set_int(L, "kinds", row->kinds);
  set_names(L, "names", row->names, (int)row->high);
}

int pawl_bind_options(lua_State *L) {
  lua_newtable(L);
  for (const pawl_verb *v = pawl_verbs; v->name; v++) {
    lua_createtable(L, v->options->nrows, 1);
    for (int i = 0; i < v->options->nrows; i++) {
      push_row(L, &v->options->rows[i]);
      lua_rawseti(L, -2, i + 1);
    }
    set_names(L, "kinds", v->options->kinds, v->options->nkinds);
    lua_setfield(L, -2, v->name);
  }
  return 1;
}
