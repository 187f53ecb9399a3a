/* What a handler returned, by its kind: a transition, an output, a time... */
#include <assert.h>
#include <math.h>

#include "../value/luajson.h"
#include "host_internal.h"

/* What a handler returned that it may not; `what` is what that stood for. */
static pawl_code bad_return(pawl_run *run, lua_State *L, int idx,
                            const char *what, const char *hint) {
  pawl_error *err = run->caught.err;
  const int is_null = lua_islightuserdata(L, idx) && !lua_touserdata(L, idx);
  pawl_fail_hint(err, PAWL_VALUE, hint, "`%s` returned %s%s as its %s",
                 run->says, is_null || lua_isnil(L, idx) ? "" : "a ",
                 is_null ? "null" : luaL_typename(L, idx), what);
  pawl_error_where(err, "%s", what);
  return PAWL_VALUE;
}

/* Whether the node has it is for the rules to say: they know the graph. */
static pawl_code take_transition(pawl_run *run, lua_State *L, int idx) {
  size_t len;
  if (lua_isnil(L, idx)) return PAWL_OK;
  if (lua_type(L, idx) != LUA_TSTRING)
    return bad_return(run, L, idx, "transition",
                      "return its name, or nil where there is only one, and "
                      "the output after it: return nil, output");
  const char *text = lua_tolstring(L, idx, &len);
  pawl_buf_add(&run->result->transition, text, len);
  run->result->has_transition = 1;
  return pawl_buf_check(&run->result->transition, run->caught.err);
}

/* `path`: what it is called in errors. */
static pawl_code take_value(pawl_run *run, lua_State *L, int idx,
                            const char *path, size_t max_bytes) {
  MUST(pawl_luajson_encode(L, idx, path, max_bytes, &run->result->output,
                           run->caught.err));
  run->result->has_output = 1;
  return PAWL_OK;
}

static const char *path_of(pawl_handler handler) {
  switch (handler) {
    case PAWL_HANDLER_INPUT:
    case PAWL_HANDLER_DATA:
    case PAWL_HANDLER_KEY:
    case PAWL_HANDLER_GROUP:
    case PAWL_HANDLER_PRIORITY:
      return pawl_handler_name(handler);
    case PAWL_HANDLER_RESCHEDULE:
      return "key";
    case PAWL_HANDLER_ENOUGH:
      return "sum";
    default:
      return "output";
  }
}

static pawl_code take_output(pawl_run *run, lua_State *L, int idx) {
  if (lua_isnil(L, idx)) return PAWL_OK;
  return take_value(run, L, idx, path_of(run->call->handler),
                    run->host->max_bytes);
}

/* What `prepare` returned: what differs from the task as it was written. */
static pawl_code take_overrides(pawl_run *run, lua_State *L, int idx) {
  static const char HINT[] =
      "return what differs, { title = ..., users = ... }, or nothing";
  if (lua_isnil(L, idx)) return PAWL_OK;
  if (!lua_istable(L, idx)) return bad_return(run, L, idx, "task", HINT);
  MUST(take_value(run, L, idx, "task", run->host->max_bytes));
  if (run->result->output.at[0] == '{') return PAWL_OK;
  pawl_fail_hint(run->caught.err, PAWL_VALUE, HINT,
                 "`prepare` returned a list as its task");
  pawl_error_where(run->caught.err, "task");
  return PAWL_VALUE;
}

/* Items may be more than one value is allowed: they are stored one by one. */
static size_t max_items_bytes(const pawl_host *host) {
  const size_t times = 16;
  return host->max_bytes > SIZE_MAX / times ? 0 : host->max_bytes * times;
}

static pawl_code take_items(pawl_run *run, lua_State *L, int idx) {
  static const char HINT[] =
      "return a list, { first, second, ... }; {} when there is nothing to do";
  pawl_buf *out = &run->result->output;
  pawl_error *err = run->caught.err;
  if (!lua_istable(L, idx)) return bad_return(run, L, idx, "list", HINT);
  if (lua_rawlen(L, idx) > PAWL_MAX_ITEMS) {
    pawl_fail_hint(err, PAWL_LIMIT,
                   "give each item a part of the work, such as a page of 1000",
                   "`items` returned %zu items; the limit is %d",
                   (size_t)lua_rawlen(L, idx), PAWL_MAX_ITEMS);
    pawl_error_where(err, "items");
    return PAWL_LIMIT;
  }
  if (run->host->meter &&
      lua_rawlen(L, idx) > (size_t)run->host->meter->limits->effects) {
    pawl_fail_hint(
        err, PAWL_LIMIT, "who runs it may allow more, by its `trust`",
        "`items` returned %zu items; with limited trust %d are the "
        "most",
        (size_t)lua_rawlen(L, idx), run->host->meter->limits->effects);
    pawl_error_where(err, "items");
    return PAWL_LIMIT;
  }
  MUST(take_value(run, L, idx, "items", max_items_bytes(run->host)));
  if (out->at[0] == '[') return PAWL_OK;
  if (out->len == 2) { /* {} in Lua is an empty list too */
    pawl_buf_set(out, pawl_strz("[]"));
    return pawl_buf_check(out, err);
  }
  pawl_fail_hint(err, PAWL_VALUE, HINT, "`items` returned a table with names");
  pawl_error_where(err, "items");
  return PAWL_VALUE;
}

static pawl_code take_time(pawl_run *run, lua_State *L, int idx) {
  static const char HINT[] =
      "return seconds since 1970, or \"2026-01-31T10:00:00Z\", to the year "
      "9999 at most";
  int64_t *out = &run->result->at_us;
  size_t len;
  const char *text;
  if (lua_type(L, idx) == LUA_TSTRING) {
    text = lua_tolstring(L, idx, &len);
    if (pawl_time_parse(text, len, out) && *out <= PAWL_TIME_MAX)
      return PAWL_OK;
    return bad_return(run, L, idx, "time", HINT);
  }
  if (lua_type(L, idx) != LUA_TNUMBER)
    return bad_return(run, L, idx, "time", HINT);
  /* to the nearest: seconds that were computed are a little off */
  double us = floor(lua_tonumber(L, idx) * 1e6 + 0.5);
  if (!(us >= 0 && us < (double)PAWL_TIME_MAX)) /* which rounds up */
    return bad_return(run, L, idx, "time", HINT);
  *out = (int64_t)us; /* within its range, as just checked */
  if (lua_isinteger(L, idx)) *out = lua_tointeger(L, idx) * PAWL_SECOND;
  return PAWL_OK;
}

/* What comes again after no time would come for ever, and who has no time would
 * fail as it begins. */
static pawl_code check_lasts(const pawl_run *run, pawl_error *err) {
  const int is_every = run->call->handler == PAWL_HANDLER_EVERY;
  if (run->result->lasts_us > 0 ||
      !(is_every || run->call->handler == PAWL_HANDLER_DEADLINE))
    return PAWL_OK;
  pawl_fail_hint(
      err, PAWL_VALUE, is_every ? "nil: it fires no more" : "nil: it has none",
      "`%s` returned no duration: it must be longer than nothing", run->says);
  pawl_error_where(err, "duration");
  return PAWL_VALUE;
}

/* As a definition has it; nil: none, but of a timer. */
static pawl_code take_duration(pawl_run *run, lua_State *L, int idx) {
  pawl_error *err = run->caught.err;
  if (lua_isnil(L, idx) && run->call->handler != PAWL_HANDLER_AFTER)
    return PAWL_OK;
  pawl_host_read_duration(run->host, L, idx);
  if (lua_isinteger(L, -3)) {
    run->result->has_lasts = 1;
    run->result->lasts_us = lua_tointeger(L, -3);
    return check_lasts(run, err);
  }
  pawl_fail_hint(err, PAWL_VALUE, lua_tostring(L, -1),
                 "`%s` returned no duration: %s", run->says,
                 lua_tostring(L, -2));
  pawl_error_where(err, "duration");
  return PAWL_VALUE;
}

pawl_code pawl_returned_take(pawl_run *run, lua_State *L, int idx) {
  assert(run->is_over && lua_gettop(L) > idx);
  switch (run->call->handler) {
    case PAWL_HANDLER_RUN:
      if (run->call->one_way && lua_isnil(L, idx + 1))
        return take_output(run, L, idx);
      MUST(take_transition(run, L, idx));
      return take_output(run, L, idx + 1);
    case PAWL_HANDLER_CHOOSE:
      return take_transition(run, L, idx);
    case PAWL_HANDLER_AT:
      return take_time(run, L, idx);
    case PAWL_HANDLER_AFTER:
    case PAWL_HANDLER_TIMEOUT:
    case PAWL_HANDLER_EVERY:
    case PAWL_HANDLER_DELAY:
    case PAWL_HANDLER_DEADLINE:
    case PAWL_HANDLER_DUE:
      return take_duration(run, L, idx);
    case PAWL_HANDLER_OUTPUT:
    case PAWL_HANDLER_KEY:
    case PAWL_HANDLER_RESCHEDULE:
    case PAWL_HANDLER_INPUT:
    case PAWL_HANDLER_DATA:
    case PAWL_HANDLER_GROUP:
    case PAWL_HANDLER_PRIORITY:
    case PAWL_HANDLER_ANSWER:
      return take_output(run, L, idx);
    case PAWL_HANDLER_PREPARE:
      return take_overrides(run, L, idx);
    case PAWL_HANDLER_ITEMS:
      return take_items(run, L, idx);
    case PAWL_HANDLER_MATCH:
    case PAWL_HANDLER_CONDITION:
      run->result->truth = lua_toboolean(L, idx);
      break;
    case PAWL_HANDLER_ENOUGH:
      run->result->truth = lua_toboolean(L, idx);
      return take_output(run, L, idx + 1);
    case PAWL_HANDLER_UNDO:
      break;
  }
  return PAWL_OK;
}
