#include "pattern.h"

#include <ctype.h>
#include <string.h>

#include "host_internal.h"
#include "toll.h"

/* Captures whose end is not known, and those that are a place. */
enum { CAPTURE_OPEN = -1, CAPTURE_PLACE = -2 };

enum {
  MAX_CAPTURES = 32, /* as Lua's own */
  MAX_DEPTH = 200,
  ESCAPE = '%',
  PAY_EVERY = 256,    /* steps that are paid for at once */
  PASSED_A_STEP = 512 /* bytes that are looked through for one of them */
};

typedef struct capture {
  const char *at;
  ptrdiff_t len;
} capture;

typedef struct matcher {
  lua_State *L;
  const char *subject, *subject_end, *pattern_end;
  int depth, steps;
  int ncaptures;
  capture captures[MAX_CAPTURES];
} matcher;

static const char *match(matcher *m, const char *s, const char *p);

static void pay(matcher *m, int steps) {
  m->steps += steps;
  if (m->steps < PAY_EVERY) return;
  steps = m->steps;
  m->steps = 0;
  pawl_toll_spend(m->L, (size_t)steps);
}

/* ---- classes ---- */

/* Behind the class that begins at p. */
static const char *class_end(matcher *m, const char *p) {
  if (p == m->pattern_end)
    luaL_error(m->L, "malformed pattern (ends with '%%')");
  if (*p++ == ESCAPE) {
    if (p == m->pattern_end)
      luaL_error(m->L, "malformed pattern (ends with '%%')");
    return p + 1;
  }
  if (p[-1] != '[') return p;
  if (p < m->pattern_end && *p == '^') p++;
  do { /* a ']' that comes first stands for itself */
    if (p == m->pattern_end)
      luaL_error(m->L, "malformed pattern (missing ']')");
    if (*p++ == ESCAPE) {
      if (p == m->pattern_end)
        luaL_error(m->L, "malformed pattern (missing ']')");
      p++;
    }
  } while (p == m->pattern_end || *p != ']');
  return p + 1;
}

static int in_class(int c, int name) {
  int is_in;
  switch (tolower(name)) {
    case 'a':
      is_in = isalpha(c);
      break;
    case 'c':
      is_in = iscntrl(c);
      break;
    case 'd':
      is_in = isdigit(c);
      break;
    case 'g':
      is_in = isgraph(c);
      break;
    case 'l':
      is_in = islower(c);
      break;
    case 'p':
      is_in = ispunct(c);
      break;
    case 's':
      is_in = isspace(c);
      break;
    case 'u':
      is_in = isupper(c);
      break;
    case 'w':
      is_in = isalnum(c);
      break;
    case 'x':
      is_in = isxdigit(c);
      break;
    default:
      return name == c;
  }
  return isupper(name) ? !is_in : is_in != 0;
}

/* p: at the '['; last: at its ']'. */
static int in_set(int c, const char *p, const char *last) {
  int yes = 1;
  if (p[1] == '^') yes = 0, p++;
  while (++p < last) {
    if (*p == ESCAPE) {
      if (in_class(c, (unsigned char)*++p)) return yes;
    } else if (p[1] == '-' && p + 2 < last) {
      p += 2;
      if ((unsigned char)p[-2] <= c && c <= (unsigned char)*p) return yes;
    } else if ((unsigned char)*p == c) {
      return yes;
    }
  }
  return !yes;
}

/* Is the byte at s one of the class p..end? */
static int is_single(const matcher *m, const char *s, const char *p,
                     const char *end) {
  if (s >= m->subject_end) return 0;
  int c = (unsigned char)*s;
  switch (*p) {
    case '.':
      return 1;
    case ESCAPE:
      return in_class(c, (unsigned char)p[1]);
    case '[':
      return in_set(c, p, end - 1);
    default:
      return (unsigned char)*p == c;
  }
}

/* ---- items ---- */

static const char *match_balance(matcher *m, const char *s, const char *p) {
  int level = 1;
  if (p >= m->pattern_end - 1)
    luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
  if (s >= m->subject_end || *s != *p) return NULL;
  const char opens = p[0], closes = p[1];
  while (++s < m->subject_end) {
    pay(m, 1);
    if (*s == closes) {
      if (--level == 0) return s + 1;
    } else if (*s == opens) {
      level++;
    }
  }
  return NULL;
}

/* As many as there are, then fewer. */
static const char *match_most(matcher *m, const char *s, const char *p,
                              const char *end) {
  ptrdiff_t n = 0;
  while (is_single(m, s + n, p, end)) {
    n++;
    pay(m, 1);
  }
  for (; n >= 0; n--) {
    const char *found = match(m, s + n, end + 1);
    if (found) return found;
  }
  return NULL;
}

/* As few as will do. */
static const char *match_least(matcher *m, const char *s, const char *p,
                               const char *end) {
  for (;;) {
    const char *found = match(m, s, end + 1);
    if (found) return found;
    if (!is_single(m, s, p, end)) return NULL;
    s++;
    pay(m, 1);
  }
}

static const char *begin_capture(matcher *m, const char *s, const char *p,
                                 ptrdiff_t what) {
  if (m->ncaptures >= MAX_CAPTURES) luaL_error(m->L, "too many captures");
  m->captures[m->ncaptures].at = s;
  m->captures[m->ncaptures].len = what;
  m->ncaptures++;
  const char *found = match(m, s, p);
  if (!found) m->ncaptures--;
  return found;
}

static const char *end_capture(matcher *m, const char *s, const char *p) {
  int i = m->ncaptures - 1;
  while (i >= 0 && m->captures[i].len != CAPTURE_OPEN) i--;
  if (i < 0) luaL_error(m->L, "invalid pattern capture");
  m->captures[i].len = s - m->captures[i].at;
  const char *found = match(m, s, p);
  if (!found) m->captures[i].len = CAPTURE_OPEN;
  return found;
}

static const char *match_again(matcher *m, const char *s, int digit) {
  int i = digit - '1';
  if (i < 0 || i >= m->ncaptures || m->captures[i].len == CAPTURE_OPEN)
    luaL_error(m->L, "invalid capture index %%%d", i + 1);
  ptrdiff_t len = m->captures[i].len;
  if (len < 0 || m->subject_end - s < len) return NULL;
  pay(m, (int)(len / 64 < PAY_EVERY ? len / 64 : PAY_EVERY));
  return memcmp(m->captures[i].at, s, (size_t)len) == 0 ? s + len : NULL;
}

/* %f[set]: between a byte that is not in the set and one that is. */
static int is_frontier(matcher *m, const char *s, const char *p,
                       const char **end) {
  if (p == m->pattern_end || *p != '[')
    luaL_error(m->L, "missing '[' after '%%f' in pattern");
  *end = class_end(m, p);
  int before = s == m->subject ? 0 : (unsigned char)s[-1];
  int after = s == m->subject_end ? 0 : (unsigned char)*s;
  return !in_set(before, p, *end - 1) && in_set(after, p, *end - 1);
}

/* One class and what stands behind it. *on: where to go on; NULL: the answer
 * is returned. */
static const char *match_class(matcher *m, const char *s, const char **p,
                               int *on) {
  const char *end = class_end(m, *p), *found;
  const char how = end < m->pattern_end ? *end : 0;
  *on = 0;
  switch (how) {
    case '*':
      return match_most(m, s, *p, end);
    case '-':
      return match_least(m, s, *p, end);
    case '+':
      return is_single(m, s, *p, end) ? match_most(m, s + 1, *p, end) : NULL;
    case '?':
      if (is_single(m, s, *p, end) &&
          (found = match(m, s + 1, end + 1)) != NULL)
        return found;
      *p = end + 1;
      *on = 1;
      return s;
    default:
      if (!is_single(m, s, *p, end)) return NULL;
      *p = end;
      *on = 1;
      return s + 1;
  }
}

/* One item of the pattern, as match_class. */
static const char *match_item(matcher *m, const char *s, const char **p,
                              int *on) {
  const char *at = *p, *end;
  *on = 0;
  if (*at == '(') {
    return at + 1 < m->pattern_end && at[1] == ')'
               ? begin_capture(m, s, at + 2, CAPTURE_PLACE)
               : begin_capture(m, s, at + 1, CAPTURE_OPEN);
  }
  if (*at == ')') return end_capture(m, s, at + 1);
  if (*at == '$' && at + 1 == m->pattern_end)
    return s == m->subject_end ? s : NULL;
  if (*at != ESCAPE || at + 1 == m->pattern_end)
    return match_class(m, s, p, on);
  if (at[1] == 'b') {
    s = match_balance(m, s, at + 2);
    *p = at + 4;
    *on = s != NULL;
    return s;
  }
  if (at[1] == 'f') {
    *on = is_frontier(m, s, at + 2, &end);
    *p = end;
    return *on ? s : NULL;
  }
  if (isdigit((unsigned char)at[1])) {
    s = match_again(m, s, (unsigned char)at[1]);
    *p = at + 2;
    *on = s != NULL;
    return s;
  }
  return match_class(m, s, p, on);
}

/* Where the match of the pattern from p on, at s, ends; NULL: none. */
static const char *match(matcher *m, const char *s, const char *p) {
  int on = 1;
  if (m->depth++ >= MAX_DEPTH) luaL_error(m->L, "pattern too complex");
  while (on && p < m->pattern_end) {
    pay(m, 1);
    s = match_item(m, s, &p, &on);
  }
  m->depth--;
  return s;
}

/* ---- what is found ---- */

static void begin(matcher *m, lua_State *L, pawl_str subject,
                  pawl_str pattern) {
  m->L = L;
  m->subject = subject.at;
  m->subject_end = subject.at + subject.len;
  m->pattern_end = pattern.at + pattern.len;
  m->depth = m->ncaptures = m->steps = 0;
}

static const char *match_at(matcher *m, const char *s, const char *p) {
  m->depth = m->ncaptures = 0;
  return match(m, s, p);
}

static void push_capture(matcher *m, int i, const char *s, const char *end) {
  if (i >= m->ncaptures) {
    if (i != 0) luaL_error(m->L, "invalid capture index %%%d", i + 1);
    lua_pushlstring(m->L, s, (size_t)(end - s));
    return;
  }
  const capture *c = &m->captures[i];
  if (c->len == CAPTURE_OPEN) luaL_error(m->L, "unfinished capture");
  if (c->len == CAPTURE_PLACE)
    lua_pushinteger(m->L, (lua_Integer)(c->at - m->subject) + 1);
  else
    lua_pushlstring(m->L, c->at, (size_t)c->len);
}

/* s NULL: only what was captured. */
static int push_captures(matcher *m, const char *s, const char *end) {
  int n = m->ncaptures == 0 && s ? 1 : m->ncaptures;
  luaL_checkstack(m->L, n, "too many captures");
  for (int i = 0; i < n; i++) push_capture(m, i, s, end);
  return n;
}

static pawl_str check_str(lua_State *L, int idx) {
  pawl_str s;
  s.at = luaL_checklstring(L, idx, &s.len);
  return s;
}

/* Argument `idx`, a place in a text of that length, from 0 on. */
static size_t check_begin(lua_State *L, int idx, size_t len) {
  lua_Integer at = luaL_optinteger(L, idx, 1);
  if (at > 0) return (size_t)at - 1;
  if (at == 0 || at < -(lua_Integer)len) return 0;
  return len - (size_t)-at;
}

static int is_plain(pawl_str pattern) {
  for (size_t i = 0; i < pattern.len; i++)
    if (pattern.at[i] && strchr("^$*+?.([%-", pattern.at[i])) return 0;
  return 1;
}

/* Where `what` is in `text`. */
static const char *find_plain(matcher *m, pawl_str text, pawl_str what) {
  const char *at = text.at, *end = text.at + text.len, *found;
  if (what.len == 0) return at;
  while ((size_t)(end - at) >= what.len) {
    const size_t most = (size_t)(end - at) - what.len + 1;
    found = memchr(at, what.at[0], most);
    pawl_toll_spend(m->L,
                    (found ? (size_t)(found - at) : most) / PASSED_A_STEP);
    if (!found) return NULL;
    pay(m, 1);
    if (memcmp(found, what.at, what.len) == 0) return found;
    pawl_toll_spend(m->L, what.len / 256);
    at = found + 1;
  }
  return NULL;
}

static int find_or_match(lua_State *L, int is_find) {
  matcher m;
  pawl_str s = check_str(L, 1), p = check_str(L, 2);
  size_t init = check_begin(L, 3, s.len);
  if (init > s.len) {
    lua_pushnil(L);
    return 1;
  }
  begin(&m, L, s, p);
  pawl_toll_spend(L, p.len / 16);
  if (is_find && (lua_toboolean(L, 4) || is_plain(p))) {
    const char *at = find_plain(&m, (pawl_str){s.at + init, s.len - init}, p);
    if (!at) {
      lua_pushnil(L);
      return 1;
    }
    lua_pushinteger(L, (lua_Integer)(at - s.at) + 1);
    lua_pushinteger(L, (lua_Integer)(at - s.at) + (lua_Integer)p.len);
    return 2;
  }
  int is_anchored = p.len > 0 && p.at[0] == '^';
  const char *at = s.at + init;
  do {
    pay(&m, 1);
    const char *end = match_at(&m, at, p.at + is_anchored);
    if (end && is_find) {
      lua_pushinteger(L, (lua_Integer)(at - s.at) + 1);
      lua_pushinteger(L, (lua_Integer)(end - s.at));
      return push_captures(&m, NULL, NULL) + 2;
    }
    if (end) return push_captures(&m, at, end);
  } while (at++ < m.subject_end && !is_anchored);
  lua_pushnil(L);
  return 1;
}

int pawl_pattern_find(lua_State *L) {
  return find_or_match(L, 1);
}

int pawl_pattern_match(lua_State *L) {
  return find_or_match(L, 0);
}

/* (upvalues: subject, pattern, where to go on, where the last match ended) */
static int gmatch_next(lua_State *L) {
  matcher m;
  pawl_str s = check_str(L, lua_upvalueindex(1));
  pawl_str p = check_str(L, lua_upvalueindex(2));
  const char *last = s.at + lua_tointeger(L, lua_upvalueindex(4));
  const char *at = s.at + lua_tointeger(L, lua_upvalueindex(3));
  const int has_last = lua_tointeger(L, lua_upvalueindex(4)) >= 0;
  begin(&m, L, s, p);
  for (; at <= m.subject_end; at++) {
    pay(&m, 1);
    const char *end = match_at(&m, at, p.at);
    if (!end || (has_last && end == last)) continue;
    lua_pushinteger(L, end - s.at);
    lua_pushvalue(L, -1);
    lua_replace(L, lua_upvalueindex(3));
    lua_replace(L, lua_upvalueindex(4));
    return push_captures(&m, at, end);
  }
  return 0;
}

int pawl_pattern_gmatch(lua_State *L) {
  pawl_str s = check_str(L, 1);
  check_str(L, 2);
  size_t init = check_begin(L, 3, s.len);
  lua_settop(L, 2);
  lua_pushinteger(L, (lua_Integer)(init > s.len ? s.len + 1 : init));
  lua_pushinteger(L, -1);
  lua_pushcclosure(L, gmatch_next, 4);
  return 1;
}

/* ---- gsub ---- */

/* The text that grows; what it may grow to is asked for in larger and larger
 * pieces. */
typedef struct growing {
  luaL_Buffer b;
  size_t asked, len;
} growing;

static void grow(lua_State *L, growing *g, size_t n) {
  g->len += n;
  if (g->len <= g->asked) return;
  g->asked = g->len + g->len / 2 + LUAL_BUFFERSIZE;
  pawl_toll_need(L, 2 * g->asked);
}

static void add_text(lua_State *L, growing *g, const char *at, size_t len) {
  grow(L, g, len);
  luaL_addlstring(&g->b, at, len);
}

/* The value on top, which it pops. */
static void add_top(lua_State *L, growing *g) {
  size_t len;
  lua_tolstring(L, -1, &len);
  grow(L, g, len);
  luaL_addvalue(&g->b);
}

/* %0 to %9 in the replacement stand for what was found. */
static void add_replacement(matcher *m, growing *g, const char *s,
                            const char *end) {
  lua_State *L = m->L;
  size_t len;
  const char *r = lua_tolstring(L, 3, &len), *r_end = r + len, *at;
  while ((at = memchr(r, ESCAPE, (size_t)(r_end - r))) != NULL) {
    add_text(L, g, r, (size_t)(at - r));
    r = at + 2;
    pay(m, 1);
    if (at + 1 < r_end && at[1] == ESCAPE) {
      add_text(L, g, at, 1);
    } else if (at + 1 < r_end && at[1] == '0') {
      add_text(L, g, s, (size_t)(end - s));
    } else if (at + 1 < r_end && isdigit((unsigned char)at[1])) {
      push_capture(m, at[1] - '1', s, end);
      luaL_tolstring(L, -1, NULL); /* a place is a number */
      lua_remove(L, -2);
      add_top(L, g);
    } else {
      luaL_error(L, "invalid use of '%%' in replacement string");
    }
  }
  add_text(L, g, r, (size_t)(r_end - r));
}

/* What replaces s..end; 0: it stays. */
static int add_value(matcher *m, growing *g, const char *s, const char *end,
                     int type) {
  lua_State *L = m->L;
  if (type == LUA_TFUNCTION) {
    lua_pushvalue(L, 3);
    lua_call(L, push_captures(m, s, end), 1);
  } else if (type == LUA_TTABLE) {
    push_capture(m, 0, s, end);
    lua_gettable(L, 3);
  } else {
    add_replacement(m, g, s, end);
    return 1;
  }
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    add_text(L, g, s, (size_t)(end - s));
    return 0;
  }
  if (!lua_isstring(L, -1))
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  add_top(L, g);
  return 1;
}

int pawl_pattern_gsub(lua_State *L) {
  matcher m;
  growing g = {.asked = 0};
  pawl_str s = check_str(L, 1), p = check_str(L, 2);
  const int type = lua_type(L, 3);
  const lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)s.len + 1);
  const int is_anchored = p.len > 0 && p.at[0] == '^';
  const char *at = s.at, *last = NULL;
  lua_Integer n = 0;
  int changed = 0;
  if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TFUNCTION &&
      type != LUA_TTABLE)
    return luaL_typeerror(L, 3, "string/function/table");
  lua_settop(L, 4);
  if (type == LUA_TNUMBER) lua_tolstring(L, 3, NULL);
  luaL_buffinit(L, &g.b);
  begin(&m, L, s, p);
  while (n < most) {
    pay(&m, 1);
    const char *end = match_at(&m, at, p.at + is_anchored);
    if (end && end != last) {
      n++;
      changed |= add_value(&m, &g, at, end, type);
      at = last = end;
    } else if (at < m.subject_end) {
      add_text(L, &g, at++, 1);
    } else {
      break;
    }
    if (is_anchored) break;
  }
  if (changed) {
    add_text(L, &g, at, (size_t)(m.subject_end - at));
    luaL_pushresult(&g.b);
  } else {
    lua_pushvalue(L, 1);
  }
  lua_pushinteger(L, n);
  return 2;
}
