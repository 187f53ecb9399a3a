#include "luajson.h"

#include <lauxlib.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* A Lua error jumps over these frames. That is harmless as long as nothing is
 * held outside the Lua state: temporary memory is userdata, anchored on the
 * stack. And Lua code may run in the midst of this: allocating may collect
 * garbage, which calls finalizers, which may change the very table that is
 * being walked. So no string is used that the stack does not hold too, and
 * no traversal goes on across an allocation. */

#define KEPT 64  /* members of one object kept on the Lua stack */
#define POOL 256 /* keys of all open objects kept on the C stack */
#define EXTRA 8  /* Lua stack slots for everything else of one level */

void pawl_luajson_array_mt(lua_State *L) {
  luaL_newmetatable(L, PAWL_ARRAY_MT); /* the old one if it is there */
}

/* ---- encode ------------------------------------------------------------ */

/* A table on the way from the root to the value at hand, and where in it. */
typedef struct level {
  const struct level *up;
  const void *table;
  int depth;
  pawl_str key; /* of the member at hand; at NULL: it is `index` */
  lua_Integer index;
} level;

typedef struct encoder {
  lua_State *L;
  const char *path;
  int most; /* levels */
  size_t begin, max_bytes;
  size_t limit; /* of out's length */
  pawl_buf *out;
  pawl_error *err;
  const void *array_mt; /* NULL: nobody asked for it yet, or there is none */
  pawl_json_key pool[POOL];
  size_t used;
} encoder;

static pawl_code encode_value(encoder *e, const level *up, int at);

static int is_name(pawl_str s) {
  for (size_t i = 0; i < s.len; i++) {
    char c = s.at[i];
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' &&
        (i == 0 || c < '0' || c > '9'))
      return 0;
  }
  return s.len > 0;
}

/* Text of a fixed size: from what does not fit on, all is dropped. */
typedef struct path_text {
  char at[sizeof((pawl_error *)0)->where];
  size_t len;
  int is_full;
} path_text;

static void add_text(path_text *p, const char *text, size_t len) {
  size_t room = p->is_full ? 0 : sizeof p->at - p->len - 1;
  if (len > room) {
    p->is_full = 1;
    len = pawl_utf8_whole(text, room);
  }
  memcpy(p->at + p->len, text, len);
  p->len += len;
}

static void add_odd_key(path_text *p, pawl_str key) {
  const size_t most = 48;
  size_t n = key.len <= most ? key.len : pawl_utf8_whole(key.at, most), i;
  char number[8];
  add_text(p, "[\"", 2);
  for (i = 0; i < n; i++) {
    unsigned char c = (unsigned char)key.at[i];
    if (c == '"' || c == '\\') add_text(p, "\\", 1);
    if (c >= 0x20 && c != 0x7f) {
      int len = pawl_utf8_length(key.at + i, n - i);
      add_text(p, key.at + i, (size_t)(len ? len : 1));
      if (len > 1) i += (size_t)len - 1;
    } else {
      snprintf(number, sizeof number, "\\%03d", c); /* as Lua writes it */
      add_text(p, number, strlen(number));
    }
  }
  if (n < key.len) add_text(p, "...", 3);
  add_text(p, "\"]", 2);
}

static void add_path(path_text *p, const level *at) {
  char number[32];
  if (!at) return;
  add_path(p, at->up);
  if (!at->key.at) {
    snprintf(number, sizeof number, "[%lld]", (long long)at->index);
    add_text(p, number, strlen(number));
  } else if (is_name(at->key)) {
    add_text(p, ".", 1);
    add_text(p, at->key.at, at->key.len);
  } else {
    add_odd_key(p, at->key);
  }
}

/* Says where the error that was just filled in happened. */
static pawl_code at_path(const encoder *e, const level *at, pawl_code code) {
  path_text p;
  if (!e->err) return code;
  p.len = 0;
  p.is_full = 0;
  add_text(&p, e->path, strlen(e->path));
  add_path(&p, at);
  p.at[p.len] = '\0';
  pawl_error_where(e->err, "%s", p.at);
  return code;
}

static pawl_code refuse(const encoder *e, const level *at, const char *what,
                        const char *hint) {
  pawl_fail(e->err, PAWL_VALUE, "%s cannot be stored", what);
  if (hint) pawl_error_hint(e->err, "%s", hint);
  return at_path(e, at, PAWL_VALUE);
}

static pawl_code over_limit(const encoder *e) {
  pawl_fail(e->err, PAWL_LIMIT, "larger than %zu bytes as JSON", e->max_bytes);
  pawl_error_hint(e->err, "keep large data elsewhere and store its name");
  return at_path(e, NULL, PAWL_LIMIT);
}

/* May there be so many bytes more? */
static int has_room(const encoder *e, size_t more) {
  return !e->out->failed && e->out->len <= e->limit &&
         more <= e->limit - e->out->len;
}

static pawl_code refuse_size(const encoder *e, size_t more) {
  if (e->out->len > e->limit || more > e->limit - e->out->len)
    return over_limit(e);
  return pawl_buf_check(e->out, e->err);
}

static pawl_code encode_string(encoder *e, const level *at, pawl_str s,
                               const char *what) {
  size_t bad;
  /* before it is looked at: it may be long */
  if (!has_room(e, s.len)) return refuse_size(e, s.len);
  if (pawl_json_add_checked(e->out, s, &bad)) return PAWL_OK;
  pawl_fail(e->err, PAWL_VALUE,
            "%s that is not UTF-8 cannot be stored (byte %zu)", what, bad + 1);
  pawl_error_hint(e->err, "encode binary data as text, such as base64");
  return at_path(e, at, PAWL_VALUE);
}

static pawl_code encode_number(encoder *e, const level *up, int at) {
  if (lua_isinteger(e->L, at)) {
    pawl_buf_addi(e->out, lua_tointeger(e->L, at));
    return PAWL_OK;
  }
  lua_Number d = lua_tonumber(e->L, at);
  if (isnan(d)) return refuse(e, up, "NaN", NULL);
  if (isinf(d)) return refuse(e, up, "an infinite number", NULL);
  pawl_json_add_float(e->out, d);
  return PAWL_OK;
}

/* What lua_next finds in a table. */
typedef struct shape {
  lua_Integer nstrings, nintegers;
  lua_Integer least, most; /* integer keys */
  int odd;                 /* the type of a key that is neither */
  int kept;                /* of the string keys, left on the stack, each with
                              its value behind it */
} shape;

static const char *odd_key_name(int type) {
  switch (type) {
    case LUA_TNUMBER:
      return "a table with a float as a key";
    case LUA_TBOOLEAN:
      return "a table with a boolean as a key";
    case LUA_TTABLE:
      return "a table with a table as a key";
    case LUA_TFUNCTION:
      return "a table with a function as a key";
    case LUA_TTHREAD:
      return "a table with a thread as a key";
    default:
      return "a table with a userdata as a key";
  }
}

/* Walks the table at index t once; nothing in here allocates. */
static void look_at(lua_State *L, int t, shape *s) {
  memset(s, 0, sizeof *s);
  s->odd = LUA_TNONE;
  lua_pushnil(L);
  while (lua_next(L, t)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      s->nstrings++;
      if (s->kept < KEPT) {
        s->kept++;
        lua_pushvalue(L, -2); /* lua_next takes this one */
        continue;
      }
    } else if (lua_isinteger(L, -2)) {
      lua_Integer i = lua_tointeger(L, -2);
      if (s->nintegers == 0 || i < s->least) s->least = i;
      if (s->nintegers == 0 || i > s->most) s->most = i;
      s->nintegers++;
    } else {
      s->odd = lua_type(L, -2);
    }
    lua_pop(L, 1);
  }
}

static int has_array_mt(encoder *e, int t) {
  if (!lua_getmetatable(e->L, t)) return 0;
  if (!e->array_mt) {
    luaL_getmetatable(e->L, PAWL_ARRAY_MT);
    e->array_mt = lua_topointer(e->L, -1);
    lua_pop(e->L, 1);
  }
  int same = lua_topointer(e->L, -1) == e->array_mt;
  lua_pop(e->L, 1);
  return same;
}

static pawl_code refuse_holes(encoder *e, const level *self, int t) {
  char what[80];
  lua_Integer i = 1;
  while (lua_rawgeti(e->L, t, i) != LUA_TNIL) {
    lua_pop(e->L, 1);
    i++;
  }
  lua_pop(e->L, 1);
  snprintf(what, sizeof what, "a list with a hole at [%lld]", (long long)i);
  return refuse(e, self->up, what,
                "fill it with pawl.null, or use strings as keys");
}

/* Is what look_at found an object or a whole list, and nothing else? */
static pawl_code check_shape(encoder *e, const level *self, int t,
                             const shape *s, int is_array) {
  if (s->odd != LUA_TNONE)
    return refuse(e, self->up, odd_key_name(s->odd), "use strings as keys");
  if (s->nstrings > 0 && is_array)
    return refuse(e, self->up, "an array with a string as a key",
                  "arrays have the keys 1..n");
  if (s->nstrings > 0 && s->nintegers > 0)
    return refuse(e, self->up, "a table with both list items and string keys",
                  "put the list under a key of its own");
  if (s->nintegers > 0 && s->least < 1)
    return refuse(e, self->up, "a table with an integer key below 1",
                  "lists have the keys 1..n; otherwise use strings as keys");
  if (s->most > s->nintegers) return refuse_holes(e, self, t);
  return PAWL_OK;
}

static pawl_code encode_array(encoder *e, level *self, int t, lua_Integer n) {
  pawl_buf_addc(e->out, '[');
  self->key.at = NULL;
  for (self->index = 1; self->index <= n; self->index++) {
    if (self->index > 1) pawl_buf_addc(e->out, ',');
    lua_rawgeti(e->L, t, self->index);
    MUST(encode_value(e, self, lua_gettop(e->L)));
    lua_pop(e->L, 1);
  }
  pawl_buf_addc(e->out, ']');
  return PAWL_OK;
}

/* Keys of an object: `at[i].tag` says where on the stack the i-th lies, with
 * its value behind it, or where in the list at index `list` when that is not
 * 0. */
typedef struct object_keys {
  pawl_json_key *at;
  size_t n;
  int list;
} object_keys;

/* Room for n keys: of the pool, or a userdata on the stack. */
static pawl_json_key *make_room(encoder *e, size_t n) {
  if (n > POOL - e->used)
    return lua_newuserdatauv(e->L, n * sizeof(pawl_json_key), 0);
  e->used += n;
  return e->pool + e->used - n;
}

/* The key at index `at` of the stack. */
static void take_key(encoder *e, object_keys *k, int at, size_t tag) {
  pawl_json_key *key = &k->at[k->n++];
  key->text.at = lua_tolstring(e->L, at, &key->text.len);
  key->tag = tag;
}

/* The n members that look_at left on the stack, from `first` on. */
static void keys_from_stack(encoder *e, object_keys *k, int first, int n) {
  k->n = 0;
  k->list = 0;
  k->at = make_room(e, (size_t)n);
  for (int i = first; i < first + 2 * n; i += 2) take_key(e, k, i, (size_t)i);
}

/* Too many keys for the stack: a list holds them. Both blocks are made first;
 * keys that a finalizer added meanwhile are left out. */
static void keys_from_table(encoder *e, object_keys *k, int t, size_t n) {
  lua_State *L = e->L;
  k->n = 0;
  k->at = lua_newuserdatauv(L, n * sizeof *k->at, 0);
  lua_createtable(L, (int)n, 0); /* a table that exists has not 2^31 keys */
  k->list = lua_gettop(L);
  lua_pushnil(L);
  while (k->n < n && lua_next(L, t)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING) continue;
    take_key(e, k, -1, k->n + 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, k->list, (lua_Integer)k->n); /* fits: no allocation */
  }
}

/* Where on the stack the value of the i-th key lies; it may be the top. */
static int member_value(encoder *e, int t, const object_keys *k, size_t i) {
  if (!k->list) return (int)k->at[i].tag + 1;
  lua_rawgeti(e->L, k->list, (lua_Integer)k->at[i].tag);
  lua_rawget(e->L, t);
  return lua_gettop(e->L);
}

static pawl_code encode_members(encoder *e, level *self, int t,
                                const object_keys *k) {
  pawl_buf_addc(e->out, '{');
  for (size_t i = 0; i < k->n; i++) {
    if (i > 0) pawl_buf_addc(e->out, ',');
    MUST(encode_string(e, self->up, k->at[i].text, "a key"));
    pawl_buf_addc(e->out, ':');
    self->key = k->at[i].text;
    MUST(encode_value(e, self, member_value(e, t, k, i)));
    if (k->list) lua_pop(e->L, 1);
  }
  pawl_buf_addc(e->out, '}');
  return PAWL_OK;
}

/* `base` is the top of the stack before look_at. */
static pawl_code encode_object(encoder *e, level *self, int t, int base,
                               const shape *s) {
  object_keys k;
  size_t used = e->used;

  if (s->nstrings == s->kept) {
    keys_from_stack(e, &k, base + 1, s->kept);
  } else {
    lua_settop(e->L, base);
    keys_from_table(e, &k, t, (size_t)s->nstrings);
  }
  pawl_json_sort_keys(k.at, k.n);
  pawl_code rc = encode_members(e, self, t, &k);
  e->used = used;
  return rc;
}

static pawl_code enter(const encoder *e, const level *self) {
  for (const level *l = self->up; l; l = l->up)
    if (l->table == self->table) return refuse(e, self->up, "a cycle", NULL);
  if (self->depth > e->most) {
    pawl_fail(e->err, PAWL_LIMIT, "nested deeper than %d levels",
              pawl_json_depth_told(e->most));
    return at_path(e, self->up, PAWL_LIMIT);
  }
  if (!lua_checkstack(e->L, 2 * KEPT + EXTRA)) {
    pawl_fail(e->err, PAWL_NOMEM, "no memory for the Lua stack");
    return at_path(e, self->up, PAWL_NOMEM);
  }
  return PAWL_OK;
}

static pawl_code encode_table(encoder *e, const level *up, int t) {
  lua_State *L = e->L;
  int base = lua_gettop(L), is_array;
  level self;
  shape s;
  pawl_code rc;

  memset(&self, 0, sizeof self);
  self.up = up;
  self.table = lua_topointer(L, t);
  self.depth = up ? up->depth + 1 : 1;
  TRY(enter(e, &self));
  look_at(L, t, &s);
  is_array = has_array_mt(e, t);
  TRY(check_shape(e, &self, t, &s, is_array));
  if (is_array || s.nintegers > 0)
    rc = encode_array(e, &self, t, s.nintegers);
  else
    rc = encode_object(e, &self, t, base, &s);
out:
  lua_settop(L, base);
  return rc;
}

/* The value at index `at`, which is not relative. */
static pawl_code encode_value(encoder *e, const level *up, int at) {
  lua_State *L = e->L;
  const char *plain = "store booleans, numbers, strings, tables or pawl.null";
  pawl_code rc = PAWL_OK;
  pawl_str s;

  switch (lua_type(L, at)) {
    case LUA_TNIL:
      return refuse(e, up, "nil", "use pawl.null");
    case LUA_TBOOLEAN:
      pawl_buf_addz(e->out, lua_toboolean(L, at) ? "true" : "false");
      break;
    case LUA_TNUMBER:
      rc = encode_number(e, up, at);
      break;
    case LUA_TSTRING:
      s.at = lua_tolstring(L, at, &s.len);
      rc = encode_string(e, up, s, "a string");
      break;
    case LUA_TTABLE:
      rc = encode_table(e, up, at);
      break;
    case LUA_TFUNCTION:
      return refuse(e, up, "a function", plain);
    case LUA_TTHREAD:
      return refuse(e, up, "a thread", plain);
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(L, at)) return refuse(e, up, "a userdata", plain);
      pawl_buf_addz(e->out, "null");
      break;
    default:
      return refuse(e, up, "a userdata", plain);
  }
  return rc != PAWL_OK || has_room(e, 0) ? rc : refuse_size(e, 0);
}

static pawl_code encode(lua_State *L, int idx, const char *path, int most,
                        size_t max_bytes, pawl_buf *out, pawl_error *err) {
  encoder e;
  int top = lua_gettop(L);

  if (!lua_checkstack(L, EXTRA))
    return pawl_fail(err, PAWL_NOMEM, "no memory for the Lua stack");
  e.L = L;
  e.path = path;
  e.most = most;
  e.begin = out->len;
  e.max_bytes = max_bytes;
  e.limit = max_bytes ? out->len + max_bytes : SIZE_MAX;
  e.out = out;
  e.err = err;
  e.array_mt = NULL;
  e.used = 0;
  pawl_code rc = encode_value(&e, NULL, lua_absindex(L, idx));
  lua_settop(L, top);
  if (rc == PAWL_OK) rc = pawl_buf_check(out, err);
  if (rc != PAWL_OK && out->at) { /* half a value is of no use */
    out->len = e.begin;
    out->at[out->len] = '\0';
  }
  return rc;
}

pawl_code pawl_luajson_encode(lua_State *L, int idx, const char *path,
                              size_t max_bytes, pawl_buf *out,
                              pawl_error *err) {
  return encode(L, idx, path, PAWL_VALUE_DEPTH, max_bytes, out, err);
}

pawl_code pawl_luajson_encode_around(lua_State *L, int idx, const char *path,
                                     size_t max_bytes, pawl_buf *out,
                                     pawl_error *err) {
  return encode(L, idx, path, PAWL_JSON_DEPTH, max_bytes, out, err);
}

/* ---- decode ------------------------------------------------------------ */

/* A container's first members wait on the stack until it closes or there are
 * this many: most tables are then made in their final size, at once. */
#define WAITING 16

typedef struct decoder {
  lua_State *L;
  pawl_json_reader reader;
  pawl_alloc alloc;
  int mt;      /* stack index of the metatable of arrays; nil before one */
  int scratch; /* of the reader's block, or nil */
} decoder;

static pawl_code decode_value(decoder *d, pawl_error *err);

/* The reader's memory is a userdata: if Lua raises, it is collected. */
static void *scratch_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  decoder *d = ud;
  if (nsize == 0) return NULL; /* goes with the stack */
  void *block = lua_newuserdatauv(d->L, nsize, 0);
  if (ptr) memcpy(block, ptr, osize < nsize ? osize : nsize);
  lua_replace(d->L, d->scratch);
  return block;
}

/* An array of the n values behind `first`, which it replaces. */
static void make_array(decoder *d, int first, int n, int size) {
  lua_State *L = d->L;
  lua_createtable(L, size, 0);
  lua_replace(L, first);
  for (; n > 0; n--) lua_rawseti(L, first, n);
  if (lua_isnil(L, d->mt)) {
    pawl_luajson_array_mt(L);
    lua_replace(L, d->mt);
  }
  lua_pushvalue(L, d->mt);
  lua_setmetatable(L, first);
}

static pawl_code decode_array(decoder *d, pawl_error *err) {
  int first = lua_gettop(d->L) + 1;
  lua_Integer n = 0;

  lua_pushnil(d->L); /* its place */
  for (;;) {
    MUST(pawl_json_next(&d->reader, err));
    if (d->reader.event == PAWL_JSON_END) break;
    MUST(decode_value(d, err));
    n++;
    if (n > WAITING)
      lua_rawseti(d->L, first, n);
    else if (n == WAITING)
      make_array(d, first, WAITING, 2 * WAITING);
  }
  if (n < WAITING) make_array(d, first, (int)n, (int)n);
  return PAWL_OK;
}

/* A table of the n pairs of key and value behind `first`, which it replaces. */
static void make_object(decoder *d, int first, int n, int size) {
  lua_State *L = d->L;
  lua_createtable(L, 0, size);
  lua_replace(L, first);
  for (; n > 0; n--) lua_rawset(L, first);
}

/* Is the key on top of the stack new to the object of n members so far? */
static int is_new_key(decoder *d, int first, lua_Integer n) {
  lua_State *L = d->L;
  int i;
  if (n >= WAITING) {
    lua_pushvalue(L, -1);
    i = lua_rawget(L, first) == LUA_TNIL;
    lua_pop(L, 1);
    return i;
  }
  for (i = 0; i < n; i++)
    if (lua_rawequal(L, -1, first + 1 + 2 * i)) return 0;
  return 1;
}

static pawl_code refuse_key(const decoder *d, pawl_error *err) {
  char shown[64];
  pawl_str_copy(shown, sizeof shown, d->reader.str);
  pawl_fail(err, PAWL_VALUE, "the key \"%s\" stands here again", shown);
  pawl_json_locate(d->reader.text, d->reader.begin, err);
  return PAWL_VALUE;
}

/* Pushes the key just read. While keys come in strict byte order, as encode
 * writes them, each is new. `last` is the one before, at NULL once there is
 * no such order: then the object itself is asked. */
static pawl_code decode_key(decoder *d, int first, lua_Integer n,
                            pawl_str *last, pawl_error *err) {
  const pawl_json_reader *r = &d->reader;
  pawl_str key = r->str;
  int borrowed = key.at == r->text.at + r->begin + 1; /* else in scratch */

  lua_pushlstring(d->L, key.at, key.len);
  if (last->at && borrowed && (n == 0 || pawl_str_cmp(*last, key) < 0)) {
    *last = key;
    return PAWL_OK;
  }
  last->at = NULL;
  return is_new_key(d, first, n) ? PAWL_OK : refuse_key(d, err);
}

static pawl_code decode_object(decoder *d, pawl_error *err) {
  int first = lua_gettop(d->L) + 1;
  lua_Integer n = 0;
  pawl_str last = {"", 0};

  lua_pushnil(d->L); /* its place */
  for (;;) {
    MUST(pawl_json_next(&d->reader, err));
    if (d->reader.event == PAWL_JSON_END) break;
    MUST(decode_key(d, first, n, &last, err));
    MUST(pawl_json_next(&d->reader, err));
    MUST(decode_value(d, err));
    n++;
    if (n > WAITING)
      lua_rawset(d->L, first);
    else if (n == WAITING)
      make_object(d, first, WAITING, 2 * WAITING);
  }
  if (n < WAITING) make_object(d, first, (int)n, (int)n);
  return PAWL_OK;
}

/* Pushes the value whose first token was just read. */
static pawl_code decode_value(decoder *d, pawl_error *err) {
  const pawl_json_reader *r = &d->reader;
  lua_State *L = d->L;

  switch (r->kind) {
    case PAWL_JSON_NULL:
      lua_pushlightuserdata(L, NULL);
      break;
    case PAWL_JSON_FALSE:
      lua_pushboolean(L, 0);
      break;
    case PAWL_JSON_TRUE:
      lua_pushboolean(L, 1);
      break;
    case PAWL_JSON_INT:
      lua_pushinteger(L, r->i);
      break;
    case PAWL_JSON_FLOAT:
      lua_pushnumber(L, r->d);
      break;
    case PAWL_JSON_STRING:
      lua_pushlstring(L, r->str.at, r->str.len);
      break;
    default:
      if (!lua_checkstack(L, 2 * WAITING + EXTRA))
        return pawl_fail(err, PAWL_NOMEM, "no memory for the Lua stack");
      return r->kind == PAWL_JSON_ARRAY ? decode_array(d, err)
                                        : decode_object(d, err);
  }
  return PAWL_OK;
}

pawl_code pawl_luajson_decode(lua_State *L, pawl_str text, pawl_error *err) {
  decoder d;
  int top = lua_gettop(L);
  pawl_code rc;

  if (!lua_checkstack(L, EXTRA))
    return pawl_fail(err, PAWL_NOMEM, "no memory for the Lua stack");
  d.L = L;
  d.alloc.fn = scratch_alloc;
  d.alloc.ud = &d;
  d.mt = top + 1;
  d.scratch = top + 2;
  lua_settop(L, d.scratch);
  pawl_json_reader_init(&d.reader, text, &d.alloc);
  TRY(pawl_json_next(&d.reader, err));
  TRY(decode_value(&d, err));
  TRY(pawl_json_next(&d.reader, err)); /* nothing may follow */
  lua_replace(L, d.mt);
  top++;
out:
  lua_settop(L, top);
  return rc;
}
