/* Loading definitions: from a file, from text that the store kept, from an
 * object of the program's own.
 *
 * A file runs with globals of its own (reads and writes go through to the
 * state's) in which `require` takes the modules of the bundle from their
 * stored texts, and everything else from the state. */
#include <assert.h>
#include <string.h>

#include "../value/luajson.h"
#include "host_internal.h"

typedef struct loading {
  pawl_host *host;
  const char *name;   /* of the file or text, as the user wrote it; or NULL */
  const char *folder; /* NULL: text that came from no file */
  size_t folder_len;
  pawl_str bundle; /* sources that came with it, as JSON; may be empty */
  pawl_loaded *out;
  pawl_catch caught;
  pawl_error spare; /* for a caller who gave none */
} loading;

/* Stack of what follows: (loading) at 1, the record at 2. */
enum { AT_REC = 2, AT_OBJECT, AT_GRAPH, AT_HANDLERS, AT_BUNDLE, AT_FILE };

/* Puts a new record at AT_REC. `sources`: index of a table, or 0. */
static void new_record(lua_State *L, const loading *l, int sources) {
  lua_createtable(L, PAWL_REC_PRIVATE, 0);
  if (l->folder) {
    lua_pushlstring(L, l->folder, l->folder_len);
    lua_rawseti(L, -2, PAWL_REC_FOLDER);
  }
  if (sources)
    lua_pushvalue(L, sources);
  else
    lua_newtable(L);
  lua_rawseti(L, -2, PAWL_REC_SOURCES);
  for (int part = PAWL_REC_MODULES; part <= PAWL_REC_FRESH; part++) {
    lua_newtable(L);
    lua_rawseti(L, -2, part);
  }
  lua_pushboolean(L, l->host->is_private);
  lua_rawseti(L, -2, PAWL_REC_PRIVATE);
  lua_replace(L, AT_REC);
  assert(lua_gettop(L) >= AT_REC);
  pawl_require_set_env(L, AT_REC);
}

/* Pushes the compiled file; 0: it has an error, which has been reported. */
static int push_main(lua_State *L, loading *l) {
  const char *chunk = lua_pushfstring(L, "@%s", l->name);
  int ok =
      pawl_require_push_chunk(L, AT_REC, pawl_buf_str(&l->out->source), chunk);
  lua_remove(L, -2);
  if (!ok && lua_type(L, -1) == LUA_TSTRING)
    pawl_catch_text(&l->caught, lua_tostring(L, -1), 1);
  else if (!ok) /* a limit, of which more is said behind all that */
    pawl_catch_status(&l->caught, L, LUA_ERRRUN);
  return ok;
}

/* Pushes the path on which the definition's modules are found. */
static void push_led_path(lua_State *L, const loading *l) {
  if (l->host->is_private)
    pawl_host_push_anchor(l->host, L, PAWL_ANCHOR_PATH);
  else
    pawl_host_push_path(L);
  if (!l->folder) return;
  lua_rawgeti(L, AT_REC, PAWL_REC_FOLDER);
  lua_insert(L, -2);
  pawl_host_lead_path(L, lua_tostring(L, -2));
  lua_remove(L, -2);
}

/* Calls the function on top with the definition's path; leaves one result. 0:
 * it failed, and the reason was caught. */
static int call_with_path(lua_State *L, loading *l) {
  int function = lua_gettop(L), status;
  pawl_host_push_path(L);
  push_led_path(L, l);
  pawl_host_set_path(L);
  pawl_host_push_anchor(l->host, L, PAWL_ANCHOR_CATCH);
  lua_pushvalue(L, function);
  lua_pushstring(L, l->name);
  status = lua_pcall(L, 1, 1, function + 2);
  if (status != LUA_OK) pawl_catch_status(&l->caught, L, status);
  if (l->host->is_private) {
    l->host->path_ref = -1; /* what runs next sets its own */
  } else {
    lua_pushvalue(L, function + 1);
    pawl_host_set_path(L);
  }
  lua_replace(L, function);
  lua_settop(L, function);
  return status == LUA_OK;
}

/* Is the value at idx what pawl.workflow returns? Then its metatable's
 * `definition` is pushed. */
static int push_definition(lua_State *L, int idx) {
  if (!lua_istable(L, idx) || !lua_getmetatable(L, idx)) return 0;
  lua_pushliteral(L, "__name");
  lua_rawget(L, -2);
  int is_workflow = lua_type(L, -1) == LUA_TSTRING &&
                    strcmp(lua_tostring(L, -1), "pawl.workflow") == 0;
  lua_pop(L, 1);
  lua_pushliteral(L, "definition");
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (is_workflow && lua_isfunction(L, -1)) return 1;
  lua_pop(L, 1);
  return 0;
}

static int not_a_workflow(lua_State *L, loading *l) {
  pawl_error *err = l->caught.err;
  const char *type = luaL_typename(L, AT_OBJECT);
  int is_nil = lua_isnil(L, AT_OBJECT);
  l->caught.rc = PAWL_DEFINITION;
  if (!l->name) { /* an object */
    pawl_fail_hint(err, PAWL_DEFINITION,
                   "give what pawl.workflow { ... } returned",
                   "a %s is not a workflow", type);
    return 0;
  }
  pawl_fail_hint(err, PAWL_DEFINITION,
                 is_nil ? "is `return` missing at its end?"
                        : "return what pawl.workflow { ... } gave",
                 "%s must return a workflow; it returned %s%s", l->name,
                 is_nil ? "" : "a ", type);
  pawl_error_where(err, "%s", l->name);
  return 0;
}

/* The object at AT_OBJECT taken apart into what stands behind it. Raises what
 * the builder does. */
static int take_apart(lua_State *L, loading *l) {
  lua_settop(L, AT_OBJECT);
  if (!push_definition(L, AT_OBJECT)) return not_a_workflow(L, l);
  lua_pushvalue(L, AT_OBJECT);
  lua_call(L, 1, 4);
  if (lua_istable(L, AT_GRAPH) && lua_istable(L, AT_HANDLERS) &&
      lua_istable(L, AT_BUNDLE))
    return 1;
  l->caught.rc = PAWL_DEFINITION;
  pawl_fail(l->caught.err, PAWL_DEFINITION,
            "the workflow was made by another version of pawl");
  return 0;
}

/* Runs the file: record at AT_REC, the workflow and its parts behind it. */
static int run_file(lua_State *L, loading *l) {
  lua_settop(L, AT_REC);
  if (!push_main(L, l) || !call_with_path(L, l)) return 0;
  return take_apart(L, l);
}

/* Reports a module of the bundle that is not there. */
static int missing_module(lua_State *L, loading *l, const char *module) {
  pawl_error *err = l->caught.err;
  l->caught.rc = PAWL_DEFINITION;
  pawl_fail_hint(err, PAWL_DEFINITION,
                 l->bundle.len
                     ? "it was not stored with the workflow"
                     : "only Lua modules found through package.path, or "
                       "beside the workflow's file, can be bundled",
                 "bundle: module '%s' is not there", module);
  if (lua_getfield(L, AT_GRAPH, "line") == LUA_TNUMBER)
    pawl_error_where(err, "%s:%d", l->name, (int)lua_tointeger(L, -1));
  return 0;
}

/* Pushes what is in *text, if that came about. */
static int push_text(lua_State *L, loading *l, pawl_buf *text) {
  if (l->caught.rc == PAWL_OK)
    l->caught.rc = pawl_buf_check(text, l->caught.err);
  if (l->caught.rc != PAWL_OK) return 0;
  lua_pushlstring(L, text->at ? text->at : "", text->len);
  pawl_buf_deinit(text);
  return 1;
}

/* Of a module whose file has to be found first. PAWL_NOTFOUND: there is
 * none. */
static pawl_code read_found(lua_State *L, const loading *l, int name,
                            pawl_buf *text) {
  push_led_path(L, l);
  pawl_require_find(L, name);
  const char *path = lua_tostring(L, -1);
  if (!path) return PAWL_NOTFOUND;
  MUST(pawl_source_read(path, text, l->caught.err));
  return pawl_source_check(path, pawl_buf_str(text), l->caught.err);
}

/* With limits it is looked for where `require` does, beside the file. */
static pawl_code read_module(lua_State *L, loading *l, int name,
                             pawl_buf *text) {
  pawl_host *host = l->host;
  pawl_error *err = l->caught.err;
  const char *module = lua_tostring(L, name);
  if (host->fetch) return host->fetch(host->fetch_ud, module, text, err);
  if (!host->meter) return read_found(L, l, name, text);
  if (!l->folder) return PAWL_NOTFOUND;
  lua_rawgeti(L, AT_REC, PAWL_REC_FOLDER);
  return pawl_source_read_module(lua_tostring(L, -1), module, text, err);
}

/* Pushes the text of the module named on top, found as `require` would; 0:
 * reported. */
static int push_module_text(lua_State *L, loading *l) {
  int name = lua_gettop(L);
  const char *module = lua_tostring(L, name);
  if (l->bundle.len) return missing_module(L, l, module);
  pawl_buf *text = pawl_host_push_own_buf(l->host, L);
  l->caught.rc = read_module(L, l, name, text);
  if (l->caught.rc == PAWL_NOTFOUND) return missing_module(L, l, module);
  if (l->caught.rc == PAWL_OK)
    l->caught.rc =
        pawl_source_check_size(l->host, module, text->len, l->caught.err);
  return push_text(L, l, text);
}

/* Fills the record's sources with what the bundle names and was not given.
 * *added: how many. 0: one is missing. */
static int gather(lua_State *L, loading *l, int *added) {
  int n = (int)lua_rawlen(L, AT_BUNDLE), top = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    int name = top + 1;
    lua_rawgeti(L, AT_BUNDLE, i);
    pawl_record_push_field(L, AT_REC, PAWL_REC_SOURCES, name);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      if (!push_module_text(L, l)) return 0;
      pawl_record_set_field(L, AT_REC, PAWL_REC_SOURCES, name);
      ++*added;
    }
    lua_settop(L, top);
  }
  return 1;
}

/* Takes modules of the bundle, that this file's first run made the state's
 * own `require` load, out of package.loaded again. */
static void forget_fresh(lua_State *L) {
  int n = (int)lua_rawlen(L, AT_BUNDLE);
  for (int i = 1; i <= n; i++) {
    int name = lua_gettop(L) + 1;
    lua_rawgeti(L, AT_BUNDLE, i);
    pawl_record_push_field(L, AT_REC, PAWL_REC_FRESH, name);
    if (lua_toboolean(L, -1)) {
      lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
      lua_pushnil(L);
      lua_setfield(L, -2, lua_tostring(L, name));
    }
    lua_settop(L, name - 1);
  }
}

/* With limits there is nothing but the bundle: what it found beside its file
 * has to be there, or it would not run from the store. */
static int check_bundled(lua_State *L, loading *l) {
  if (!l->host->meter) return 1;
  lua_rawgeti(L, AT_REC, PAWL_REC_FRESH);
  lua_pushnil(L);
  if (!lua_next(L, -2)) {
    lua_pop(L, 1);
    return 1;
  }
  l->caught.rc = pawl_fail_hint(
      l->caught.err, PAWL_DEFINITION, "bundle = { \"its.name\" }",
      "module '%s' is not in the workflow's bundle, which limited trust needs",
      lua_tostring(L, -2));
  pawl_error_where(l->caught.err, "%s", l->name);
  return 0;
}

/* The bundle is known only when the file has run. Then it runs once more,
 * with the very texts that will be stored: what runs here is what runs from
 * the store. */
static int run_with_bundle(lua_State *L, loading *l) {
  int added = 0;
  if (!run_file(L, l) || !gather(L, l, &added)) return 0;
  if (added == 0) return check_bundled(L, l);
  forget_fresh(L);
  lua_rawgeti(L, AT_REC, PAWL_REC_SOURCES);
  new_record(L, l, lua_gettop(L));
  return run_file(L, l) && check_bundled(L, l);
}

static pawl_code encode_part(lua_State *L, loading *l, int part,
                             const char *path, pawl_buf *out) {
  lua_rawgeti(L, AT_REC, part);
  pawl_code rc = pawl_luajson_encode(L, -1, path, 0, out, l->caught.err);
  lua_pop(L, 1);
  return rc;
}

/* Hands the definition over: graph and texts to the caller, the record with
 * the handlers to the host's table. */
static pawl_code keep(lua_State *L, loading *l) {
  pawl_loaded *out = l->out;
  pawl_error *err = l->caught.err;
  size_t most = l->host->meter ? l->host->max_bytes : 0;
  MUST(pawl_luajson_encode(L, AT_GRAPH, "graph", most, &out->graph, err));
  MUST(encode_part(L, l, PAWL_REC_SOURCES, "bundle", &out->bundle));
  MUST(encode_part(L, l, PAWL_REC_OTHERS, "others", &out->others));
  assert(lua_istable(L, AT_REC) && lua_istable(L, AT_HANDLERS));
  lua_pushvalue(L, AT_HANDLERS);
  lua_rawseti(L, AT_REC, PAWL_REC_HANDLERS);
  for (int part = PAWL_REC_OTHERS; part <= PAWL_REC_FRESH; part++) {
    lua_pushnil(L); /* from here on nothing is noted any more */
    lua_rawseti(L, AT_REC, part);
  }
  lua_pushvalue(L, AT_REC);
  pawl_host_set_anchor(l->host, L, PAWL_ANCHOR_DEFS + l->host->next_ref);
  out->ref = l->host->next_ref++;
  return PAWL_OK;
}

/* Pushes the table of sources that came with a text; 0: reported. */
static int push_given(lua_State *L, loading *l) {
  if (l->bundle.len == 0) {
    lua_newtable(L);
    return 1;
  }
  l->caught.rc = pawl_luajson_decode(L, l->bundle, l->caught.err);
  if (l->caught.rc == PAWL_OK && !lua_istable(L, -1))
    l->caught.rc = pawl_fail(l->caught.err, PAWL_CORRUPT,
                             "the bundle of %s is no object", l->name);
  return l->caught.rc == PAWL_OK;
}

/* Runs the file in l->out->source; leaves everything in its place. */
static int load_parts(lua_State *L, loading *l) {
  lua_settop(L, AT_REC);
  if (!push_given(L, l)) return 0;
  new_record(L, l, lua_gettop(L));
  return run_with_bundle(L, l);
}

/* (loading) */
static int load_body(lua_State *L) {
  loading *l = lua_touserdata(L, 1);
  if (load_parts(L, l)) l->caught.rc = keep(L, l);
  return 0;
}

/* The name for messages: short, and without what says nothing. */
void pawl_copy_file(pawl_loaded *out, const char *name) {
  size_t len = strlen(name), room = sizeof out->file - 1;
  if (len > room) {
    const char *base = strrchr(name, '/');
    name = base ? base + 1 : name;
  }
  pawl_copy_text(out->file, sizeof out->file, name);
}

static void begin_loaded(pawl_host *host, pawl_loaded *out) {
  memset(out, 0, sizeof *out);
  out->ref = -1;
  out->graph.alloc = out->source.alloc = &host->alloc;
  out->bundle.alloc = out->others.alloc = &host->alloc;
}

void pawl_loaded_deinit(pawl_loaded *l) {
  pawl_buf_deinit(&l->graph);
  pawl_buf_deinit(&l->source);
  pawl_buf_deinit(&l->bundle);
  pawl_buf_deinit(&l->others);
}

static void set_folder(loading *l, const char *path) {
  const char *slash = strrchr(path, '/');
  l->folder = slash ? path : ".";
  l->folder_len = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;
}

/* Loads what is in out->source, unless filling that has failed with `rc`. On
 * failure nothing is left in *out. */
static pawl_code load_source(pawl_host *host, loading *l, pawl_code rc,
                             pawl_error *err) {
  if (rc != PAWL_OK) goto out;
  l->host = host;
  l->caught.err = err ? err : &l->spare;
  l->caught.script = PAWL_DEFINITION;
  TRY(pawl_source_check(l->name, pawl_buf_str(&l->out->source),
                        l->caught.err));
  pawl_copy_file(l->out, l->name);
  pawl_bound_begin(host);
  rc = pawl_host_protect(host, host->L, load_body, l, 0, 0, &l->caught);
  rc = pawl_bound_end(host, rc, l->caught.err);
out:
  if (rc != PAWL_OK) pawl_loaded_deinit(l->out);
  return rc;
}

static pawl_code check_size(const pawl_host *host, const loading *l,
                            pawl_code rc, pawl_error *err) {
  if (rc != PAWL_OK) return rc;
  return pawl_source_check_size(host, l->name,
                                l->out->source.len + l->bundle.len, err);
}

pawl_code pawl_load_own_file(pawl_host *host, const char *path,
                             pawl_loaded *out, pawl_error *err) {
  loading l = {.name = pawl_host_short_path(path), .out = out};
  begin_loaded(host, out);
  pawl_code rc = pawl_source_read(path, &out->source, err);
  set_folder(&l, path);
  return load_source(host, &l, check_size(host, &l, rc, err), err);
}

pawl_code pawl_load_own_text(pawl_host *host, const char *name, pawl_str text,
                             pawl_str bundle, pawl_loaded *out,
                             pawl_error *err) {
  loading l = {.name = pawl_host_short_path(name), .out = out};
  if (!pawl_str_eqz(bundle, "{}")) l.bundle = bundle;
  begin_loaded(host, out);
  pawl_buf_adds(&out->source, text);
  pawl_code rc = pawl_buf_check(&out->source, err);
  return load_source(host, &l, check_size(host, &l, rc, err), err);
}

/* ---- a workflow object of the host's own ---- */

/* Finds the file that returned the object at AT_OBJECT: a module that is
 * loaded has it for its value. Pushes the file's name; 0: there is none. */
static int push_origin(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_rawequal(L, -1, AT_OBJECT) && lua_type(L, -2) == LUA_TSTRING) {
      pawl_host_push_path(L);
      pawl_require_find(L, lua_gettop(L) - 2);
      return lua_isstring(L, -1);
    }
    lua_pop(L, 1);
  }
  return 0;
}

static int write_dump(lua_State *L, const void *bytes, size_t size, void *ud) {
  (void)L;
  pawl_buf_add(ud, bytes, size);
  return 0;
}

/* Are the functions on top of the stack, two of them, the same code? */
static int same_code(lua_State *L, pawl_host *host) {
  int top = lua_gettop(L), same;
  if (lua_iscfunction(L, -1) || lua_iscfunction(L, -2)) return 0;
  if (!lua_isfunction(L, -2)) return 0; /* an object with __call */
  pawl_buf *a = pawl_host_push_own_buf(host, L);
  pawl_buf *b = pawl_host_push_own_buf(host, L);
  lua_pushvalue(L, top);
  lua_dump(L, write_dump, b, 1);
  lua_pushvalue(L, top - 1);
  lua_dump(L, write_dump, a, 1);
  same = !a->failed && !b->failed &&
         pawl_str_eq(pawl_buf_str(a), pawl_buf_str(b));
  pawl_buf_deinit(a);
  pawl_buf_deinit(b);
  lua_settop(L, top);
  return same;
}

/* Two tables of handlers, at `a` and `b`, whose graphs are equal. */
static int same_handlers(lua_State *L, pawl_host *host, int a, int b) {
  int top = lua_gettop(L), same = 1;
  lua_pushnil(L);
  while (same && lua_next(L, a)) {
    int node = lua_gettop(L);
    lua_pushvalue(L, node - 1);
    if (lua_rawget(L, b) != LUA_TTABLE) same = 0;
    lua_pushnil(L);
    while (same && lua_next(L, node)) {
      lua_pushvalue(L, -2);
      same = lua_rawget(L, node + 1) == LUA_TFUNCTION && same_code(L, host);
      lua_pop(L, 2);
    }
    lua_settop(L, node - 1);
  }
  lua_settop(L, top);
  return same;
}

typedef struct comparison {
  pawl_host *host;
  int refs[2];
  int same;
} comparison;

/* (comparison) */
static int compare_body(lua_State *L) {
  comparison *c = lua_touserdata(L, 1);
  for (int i = 0; i < 2; i++) {
    pawl_host_push_anchor(c->host, L, PAWL_ANCHOR_DEFS + c->refs[i]);
    lua_rawgeti(L, -1, PAWL_REC_HANDLERS);
    lua_replace(L, -2);
  }
  c->same = same_handlers(L, c->host, 2, 3);
  return 0;
}

/* Does the file make the same graph and the same functions as the object in
 * *out? Then the object is as good as the file, and *out gets its texts; the
 * functions stay the object's own. Whatever fails here leaves it inline. */
static void try_origin(pawl_host *host, const char *path, pawl_loaded *out) {
  pawl_loaded file;
  pawl_error spare;
  pawl_catch ignored = {.script = PAWL_SCRIPT, .err = &spare};
  comparison c = {.host = host};
  if (pawl_load_own_file(host, path, &file, NULL) != PAWL_OK) return;
  c.refs[0] = out->ref;
  c.refs[1] = file.ref;
  if (pawl_str_eq(pawl_buf_str(&file.graph), pawl_buf_str(&out->graph)))
    pawl_host_protect(host, host->L, compare_body, &c, 0, 0, &ignored);
  pawl_load_forget(host, file.ref);
  if (c.same) {
    file.ref = out->ref;
    pawl_loaded_deinit(out);
    *out = file;
  } else {
    pawl_loaded_deinit(&file);
  }
}

/* (loading, object); returns the file it came from, or nil */
static int stack_body(lua_State *L) {
  loading *l = lua_touserdata(L, 1);
  lua_pushnil(L);
  lua_insert(L, AT_REC); /* the object is at AT_OBJECT now */
  if (!take_apart(L, l)) return 0;
  pawl_copy_file(l->out, luaL_tolstring(L, AT_FILE, NULL));
  lua_pop(L, 1);
  new_record(L, l, 0);
  l->caught.rc = keep(L, l);
  if (!push_origin(L)) lua_pushnil(L);
  return 1;
}

static int is_other_state(const pawl_host *host, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main != host->main;
}

pawl_code pawl_host_load_stack(pawl_host *host, struct lua_State *L,
                               pawl_loaded *out, pawl_error *err) {
  loading l = {.host = host, .out = out};
  begin_loaded(host, out);
  l.caught.err = err ? err : &l.spare;
  l.caught.script = PAWL_DEFINITION;
  if (is_other_state(host, L)) {
    lua_pop(L, 1);
    return pawl_fail_hint(err, PAWL_MISUSE,
                          "load the workflow's file instead of the object",
                          "this engine has a Lua state of its own");
  }
  pawl_code rc = pawl_host_protect(host, L, stack_body, &l, 1, 1, &l.caught);
  if (rc != PAWL_OK) {
    pawl_loaded_deinit(out);
    return rc;
  }
  out->is_inline = 1;
  if (lua_isstring(L, -1)) try_origin(host, lua_tostring(L, -1), out);
  lua_pop(L, 1);
  return PAWL_OK;
}

void pawl_load_forget(pawl_host *host, int ref) {
  /* On the main thread, and an existing key: cannot raise. */
  if (ref < 0 || !lua_checkstack(host->main, 3)) return;
  lua_pushnil(host->main);
  pawl_host_set_anchor(host, host->main, PAWL_ANCHOR_DEFS + ref);
  if (host->path_ref == ref) host->path_ref = -1;
}
