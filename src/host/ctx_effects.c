/* ctx.emit, note, signal, escalate, publish, answer and start: what happens
 * with the decision. */
#include <assert.h>
#include <string.h>

#include "../base/id.h"
#include "../base/nearest.h"
#include "../defs/def.h"
#include "ctx.h"
#include "embedded.h"
#include "toll.h"

/* Adds what is in `member` to a list of the result, and frees it. */
static void add_effect(lua_State *L, pawl_run *run, pawl_buf *list,
                       pawl_buf *member) {
  pawl_error err;
  assert(!run->is_over); /* H5: no Lua has run in between that could end it */
  pawl_toll_spend(L, member->len);
  pawl_toll_effect(L);
  if (pawl_buf_check(member, &err) != PAWL_OK ||
      pawl_said_add(list, pawl_buf_str(member), &err) != PAWL_OK)
    pawl_ctx_raise(L, &err);
  pawl_buf_deinit(member);
}

/* Text without zeros, of at most so many bytes, and some. */
static int is_name(pawl_str text, size_t most) {
  size_t at;
  return text.len && text.len <= most && !memchr(text.at, 0, text.len) &&
         pawl_utf8_check(text, &at);
}

static pawl_str check_emit_type(lua_State *L) {
  static const char HINT[] = "ctx.emit(\"order.placed\", payload)";
  pawl_error err;
  pawl_str type;
  size_t at;
  if (lua_type(L, 1) != LUA_TSTRING)
    pawl_ctx_raise_text(L, PAWL_MISUSE, HINT,
                        "ctx.emit: the type is a %s, not text",
                        luaL_typename(L, 1));
  type.at = lua_tolstring(L, 1, &type.len);
  if (type.len == 0 || type.len > PAWL_MAX_EMIT_TYPE) {
    pawl_fail(&err, PAWL_VALUE, "ctx.emit: the type has %zu bytes", type.len);
    pawl_error_hint(&err, "a type has 1 to %d bytes: %s", PAWL_MAX_EMIT_TYPE,
                    HINT);
    pawl_ctx_raise(L, &err);
  }
  if (!pawl_utf8_check(type, &at) || memchr(type.at, 0, type.len))
    pawl_ctx_raise_text(L, PAWL_VALUE,
                        "a type is a name; data goes into the payload",
                        "ctx.emit: the type is not UTF-8, or has a zero byte");
  return type;
}

/* ctx.emit(type, payload?): a message that leaves with the decision */
static int ctx_emit(lua_State *L, pawl_run *run) {
  lua_settop(L, 2);
  pawl_str type = check_emit_type(L);
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_buf_addz(out, "{\"payload\":");
  pawl_ctx_add_value(L, run, 2, "payload", "null", out);
  pawl_buf_addz(out, ",\"type\":");
  pawl_json_add_string(out, type);
  pawl_buf_addc(out, '}');
  add_effect(L, run, &run->result->emits, out);
  return 0;
}

/* ctx.note(text, data?): a row of history in front of that of the step */
static int ctx_note(lua_State *L, pawl_run *run) {
  static const char HINT[] = "ctx.note(\"sent by hand\", data)";
  pawl_error err;
  pawl_str text;
  size_t at;
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TSTRING)
    pawl_ctx_raise_text(L, PAWL_MISUSE, HINT, "ctx.note: the text is a %s",
                        luaL_typename(L, 1));
  text.at = lua_tolstring(L, 1, &text.len);
  if (text.len == 0 || text.len > PAWL_MAX_NOTE) {
    pawl_fail(&err, PAWL_VALUE, "ctx.note: the text has %zu bytes", text.len);
    pawl_error_hint(&err, "a text has 1 to %d bytes; data may have more: %s",
                    PAWL_MAX_NOTE, HINT);
    pawl_ctx_raise(L, &err);
  }
  if (!pawl_utf8_check(text, &at) || memchr(text.at, 0, text.len))
    pawl_ctx_raise_text(L, PAWL_VALUE, "what is no text goes into the data",
                        "ctx.note: the text is not UTF-8, or has a zero byte");
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_buf_addc(out, '{');
  if (!lua_isnil(L, 2)) {
    pawl_buf_addz(out, "\"data\":");
    pawl_ctx_add_value(L, run, 2, "data", "null", out);
    pawl_buf_addc(out, ',');
  }
  pawl_buf_addz(out, "\"text\":");
  pawl_json_add_string(out, text);
  pawl_buf_addc(out, '}');
  add_effect(L, run, &run->result->notes, out);
  return 0;
}

#define SIGNAL_HINT \
  "ctx.signal { name = \"order.paid\", key = id, data = ... }"

/* What the table at idx 1 has becomes a copy of it, whose members are the same
 * whenever they are read. */
static void take_signal_options(lua_State *L) {
  static const char *const names[] = {"name", "key", "instance", "data"};
  enum { N = sizeof names / sizeof *names };
  if (!lua_istable(L, 1))
    pawl_ctx_raise_text(L, PAWL_MISUSE, SIGNAL_HINT,
                        "ctx.signal: the event is a %s, not a table",
                        luaL_typename(L, 1));
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    int i = 0;
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[...]";
    while (i < N && strcmp(names[i], name) != 0) i++;
    if (i < N) continue;
    const char *near = pawl_nearest(name, names, N);
    pawl_ctx_raise_text(
        L, PAWL_MISUSE,
        near ? lua_pushfstring(L, "did you mean `%s`?", near) : SIGNAL_HINT,
        "ctx.signal: there is no option `%s`", name);
  }
  lua_createtable(L, 0, N);
  for (int i = 0; i < N; i++) {
    lua_getfield(L, 1, names[i]);
    lua_setfield(L, -2, names[i]);
  }
  lua_replace(L, 1);
}

/* Option `name` as text, pushed; 0, and nothing is: it is not given. */
static int push_signal_text(lua_State *L, const char *name) {
  const int type = lua_getfield(L, 1, name);
  pawl_str text;
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  if (type != LUA_TSTRING && !lua_isinteger(L, -1))
    pawl_ctx_raise_text(L, PAWL_MISUSE, SIGNAL_HINT,
                        "ctx.signal: option '%s' is a %s, not text", name,
                        luaL_typename(L, -1));
  text.at = lua_tolstring(L, -1, &text.len);
  if (!is_name(text, PAWL_MAX_SIGNAL_TEXT))
    pawl_ctx_raise_text(
        L, PAWL_VALUE, SIGNAL_HINT,
        "ctx.signal: option '%s' must be text of 1 to %d bytes", name,
        PAWL_MAX_SIGNAL_TEXT);
  return 1;
}

static void add_signal_text(lua_State *L, const char *name, pawl_buf *out) {
  pawl_str text;
  if (!push_signal_text(L, name)) return;
  text.at = lua_tolstring(L, -1, &text.len);
  pawl_buf_addf(out, ",\"%s\":", name);
  pawl_json_add_string(out, text);
  lua_pop(L, 1);
}

/* Told here: that it can reach nobody would show elsewhere, and later. */
static void take_signal(lua_State *L) {
  char shown[101];
  pawl_id id;
  take_signal_options(L);
  if (!push_signal_text(L, "name"))
    pawl_ctx_raise_text(L, PAWL_MISUSE, SIGNAL_HINT,
                        "ctx.signal: the event has no `name`");
  pawl_copy_text(shown, sizeof shown, lua_tostring(L, -1));
  if (!pawl_def_is_code(lua_tostring(L, -1)))
    pawl_ctx_raise_text(L, PAWL_VALUE, PAWL_CODE_RULE,
                        "\"%s\" cannot be an event's name", shown);
  lua_pop(L, 1);
  if (!push_signal_text(L, "instance")) return;
  pawl_copy_text(shown, sizeof shown, lua_tostring(L, -1));
  if (!pawl_id_parse(shown, strlen(shown), &id))
    pawl_ctx_raise_text(L, PAWL_VALUE, "an id has 36 characters",
                        "ctx.signal: \"%s\" is no instance's id", shown);
  lua_pop(L, 1);
}

/* May it send events of this name, by that function of ctx? */
static void check_event_granted(lua_State *L, const pawl_run *run,
                                const char *function, const char *name) {
  pawl_ctx_check_granted(
      L, run, function, "signal", name,
      !run->host->meter ||
          pawl_names_match(run->host->meter->limits->signal, name));
}

static void check_signal_granted(lua_State *L, const pawl_run *run) {
  (void)push_signal_text(L, "name");
  check_event_granted(L, run, "signal", lua_tostring(L, -1));
  lua_pop(L, 1);
}

/* ctx.signal { name =, key =, instance =, data = }: an event, sent when the
 * step is stored */
static int ctx_signal(lua_State *L, pawl_run *run) {
  lua_settop(L, 1);
  take_signal(L);
  check_signal_granted(L, run);
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  lua_getfield(L, 1, "data");
  pawl_buf_addz(out, "{\"data\":");
  pawl_ctx_add_value(L, run, lua_gettop(L), "data", "null", out);
  lua_pop(L, 1);
  add_signal_text(L, "instance", out);
  add_signal_text(L, "key", out);
  add_signal_text(L, "name", out);
  pawl_buf_addc(out, '}');
  add_effect(L, run, &run->result->signals, out);
  return 0;
}

#define ESCALATE_HINT "ctx.escalate(\"stock.low\", { left = 3 })"

static const char *check_escalated_name(lua_State *L) {
  char shown[101];
  size_t len;
  if (lua_type(L, 1) != LUA_TSTRING)
    pawl_ctx_raise_text(L, PAWL_MISUSE, ESCALATE_HINT,
                        "ctx.escalate: the event's name is a %s, not text",
                        luaL_typename(L, 1));
  const char *name = lua_tolstring(L, 1, &len);
  pawl_copy_text(shown, sizeof shown, name);
  if (strlen(name) != len || !pawl_def_is_code(name))
    pawl_ctx_raise_text(L, PAWL_VALUE, PAWL_CODE_RULE,
                        "\"%s\" cannot be an event's name", shown);
  return name;
}

/* ctx.escalate(name, data): an event for whoever is around the step, once it is
 * stored */
static int ctx_escalate(lua_State *L, pawl_run *run) {
  lua_settop(L, 2);
  if (run->call->handler != PAWL_HANDLER_RUN)
    pawl_ctx_raise_text(L, PAWL_MISUSE, "ctx.signal reaches an instance by id",
                        "ctx.escalate is for `run`: there is nobody around "
                        "what is undone");
  const char *name = check_escalated_name(L);
  check_event_granted(L, run, "escalate", name);
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_buf_addz(out, "{\"data\":");
  pawl_ctx_add_value(L, run, 2, "data", "null", out);
  pawl_buf_addz(out, ",\"name\":");
  pawl_json_add_string(out, pawl_strz(name));
  pawl_buf_addc(out, '}');
  add_effect(L, run, &run->result->escalations, out);
  return 0;
}

/* ctx.publish(name, value): shown to whoever asks, once this is stored */
static int ctx_publish(lua_State *L, pawl_run *run) {
  static const char HINT[] = "ctx.publish(\"progress\", value)";
  pawl_str name;
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TSTRING)
    pawl_ctx_raise_text(L, PAWL_MISUSE, HINT,
                        "ctx.publish: the name is a %s, not text",
                        luaL_typename(L, 1));
  name.at = lua_tolstring(L, 1, &name.len);
  if (!is_name(name, PAWL_MAX_SIGNAL_TEXT))
    pawl_ctx_raise_text(L, PAWL_VALUE, HINT,
                        "ctx.publish: the name must be text of 1 to %d bytes",
                        PAWL_MAX_SIGNAL_TEXT);
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_buf_addz(out, "{\"name\":");
  pawl_json_add_string(out, name);
  pawl_buf_addz(out, ",\"value\":");
  pawl_ctx_add_value(L, run, 2, "value", "null", out);
  pawl_buf_addc(out, '}');
  add_effect(L, run, &run->result->published, out);
  return 0;
}

#define REFUSAL_HINT \
  "ctx.answer(nil, { code = \"sold_out\", message = \"none is left\" })"

/* A member of the error at 2; `other`: where it has none. */
static void add_refusal(lua_State *L, const char *name, const char *other,
                        pawl_buf *out) {
  pawl_str text;
  if (lua_type(L, 2) == LUA_TTABLE)
    lua_getfield(L, 2, name);
  else
    lua_pushnil(L);
  if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING)
    pawl_ctx_raise_text(L, PAWL_MISUSE, REFUSAL_HINT,
                        "ctx.answer: the error's %s is a %s", name,
                        luaL_typename(L, -1));
  text.at = lua_tolstring(L, -1, &text.len);
  pawl_json_add_string(out, text.at ? text : pawl_strz(other));
  lua_pop(L, 1);
}

/* {"error":{"code","message"}} */
static void add_refused(lua_State *L, pawl_buf *out) {
  const char *text = "it was refused";
  if (lua_type(L, 2) == LUA_TSTRING)
    text = lua_tostring(L, 2);
  else if (lua_type(L, 2) != LUA_TTABLE)
    pawl_ctx_raise_text(L, PAWL_MISUSE, REFUSAL_HINT,
                        "ctx.answer: the error is a %s", luaL_typename(L, 2));
  if (!lua_isnil(L, 1))
    pawl_ctx_raise_text(L, PAWL_MISUSE, REFUSAL_HINT,
                        "ctx.answer: there is a value beside the error");
  pawl_buf_addz(out, "{\"error\":{\"code\":");
  add_refusal(L, "code", "refused", out);
  pawl_buf_addz(out, ",\"message\":");
  add_refusal(L, "message", text, out);
  pawl_buf_addz(out, "}}");
}

/* ctx.answer(value), or (nil, error): what who sent ctx.event by engine:ask is
 * told; what has a source was not sent so */
static int ctx_answer(lua_State *L, pawl_run *run) {
  pawl_str id = {0}, source;
  lua_settop(L, 2);
  if (run->call->event.len) (void)pawl_json_get(run->call->event, "id", &id);
  if (!id.len)
    pawl_ctx_raise_text(L, PAWL_MISUSE,
                        "answer behind a wait, where ctx.event is the event",
                        "ctx.answer: no event has led here");
  if (pawl_json_get(run->call->event, "source", &source) && source.len > 2)
    return 0;
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_buf_addz(out, "{\"answers\":true,\"name\":");
  pawl_buf_adds(out, id);
  pawl_buf_addz(out, ",\"value\":");
  if (lua_isnil(L, 2)) {
    pawl_buf_addz(out, "{\"value\":");
    pawl_ctx_add_value(L, run, 1, "value", "null", out);
    pawl_buf_addc(out, '}');
  } else {
    add_refused(L, out);
  }
  pawl_buf_addc(out, '}');
  add_effect(L, run, &run->result->published, out);
  return 0;
}

/* Told where the child is started: that it never began would show elsewhere,
 * and later. */
static const char *check_child_code(lua_State *L) {
  const char *code = lua_tostring(L, 1);
  size_t len;
  if (lua_type(L, 1) != LUA_TSTRING)
    pawl_ctx_raise_text(
        L, PAWL_MISUSE, "ctx.start(\"order.ship\", input, options)",
        "ctx.start: the workflow is a %s, not text", luaL_typename(L, 1));
  lua_tolstring(L, 1, &len);
  if (!pawl_def_is_code(code) || strlen(code) != len) {
    char text[101];
    pawl_copy_text(text, sizeof text, code);
    pawl_ctx_raise_text(L, PAWL_MISUSE, PAWL_CODE_RULE,
                        "\"%s\" cannot be a workflow's code", text);
  }
  return code;
}

/* Replaces the options at idx 3 by what option.child_reader's function makes of
 * them. */
static void read_child_options(lua_State *L, const pawl_run *run) {
  pawl_host_push_anchor(run->host, L, PAWL_ANCHOR_CHILD);
  if (lua_isnil(L, -1)) {
    pawl_embedded_run(L, "pawl.option");
    lua_getfield(L, -1, "child_reader");
    pawl_host_push_options(L, run->host->start);
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    pawl_host_set_anchor(run->host, L, PAWL_ANCHOR_CHILD);
  }
  lua_pushvalue(L, 3);
  lua_call(L, 1, 2);
  if (lua_isnil(L, -2))
    pawl_ctx_raise_text(L, PAWL_MISUSE, "", "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  lua_replace(L, 3);
  lua_settop(L, 3);
}

/* (run, name, value) -> {type, value} */
static int child_attribute(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  if (lua_type(L, 2) != LUA_TSTRING)
    pawl_ctx_raise_text(L, PAWL_VALUE, "attributes = { name = value }",
                        "ctx.start: an attribute's name is not a string");
  pawl_ctx_check_attr_name(L);
  pawl_ctx_push_attr(L, run);
  pawl_ctx_join_entry(L);
  return 1;
}

/* Writes options.attributes, of the table at idx 3, as the store has them. */
static void convert_attributes(lua_State *L, pawl_run *run) {
  if (lua_getfield(L, 3, "attributes") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, 4)) {
    lua_pushvalue(L, -2);
    /* by a call, as what reads a value expects it at a certain index */
    lua_pushcfunction(L, child_attribute);
    lua_pushlightuserdata(L, run);
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -5);
    lua_call(L, 3, 1);
    lua_rawset(L, 5); /* [name] = entry */
    lua_pop(L, 1);
  }
  lua_setfield(L, 3, "attributes");
  lua_settop(L, 3);
}

/* What is to be an object is no list; attributes were made one just now. */
static void check_objects(lua_State *L, pawl_run *run) {
  const pawl_options *t = run->host->start;
  for (int i = 0; i < t->nrows; i++) {
    const char *name = t->rows[i].name;
    if (t->rows[i].shape != PAWL_OPTION_OBJECT) continue;
    if (strcmp(name, "attributes") == 0) continue;
    if (lua_getfield(L, 3, name) != LUA_TNIL &&
        pawl_ctx_push_encoded(L, run, -1, name)->at[0] != '{')
      pawl_ctx_raise_text(L, PAWL_VALUE,
                          lua_pushfstring(L, "%s = { name = value }", name),
                          "ctx.start: option '%s' is a list", name);
    lua_settop(L, 3);
  }
}

/* A tenant's instance has its children for that tenant, as they are unless they
 * are told otherwise. */
static void check_tenant(lua_State *L, const pawl_run *run) {
  const pawl_str own = run->call->tenant;
  pawl_str other;

  if (!own.at || lua_getfield(L, 3, "tenant") != LUA_TSTRING) {
    lua_settop(L, 3);
    return;
  }
  other.at = lua_tolstring(L, -1, &other.len);
  if (!pawl_str_eq(own, other))
    pawl_ctx_raise_text(
        L, PAWL_INVALID, "leave it out: it is its parent's",
        "ctx.start: option 'tenant' is \"%.*s\", but the instance is one of "
        "tenant \"%.*s\"",
        (int)other.len, other.at, (int)own.len, own.at);
  lua_settop(L, 3);
}

/* ctx.start(code, input?, options?) -> the id of the instance to be */
static int ctx_start(lua_State *L, pawl_run *run) {
  pawl_error err;
  char id[37];
  lua_settop(L, 3);
  const char *code = check_child_code(L);
  pawl_ctx_check_granted(
      L, run, "start", "start", code,
      !run->host->meter ||
          pawl_names_match(run->host->meter->limits->start, code));
  read_child_options(L, run);
  convert_attributes(L, run);
  check_objects(L, run);
  check_tenant(L, run);
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_buf_addz(out, "{\"input\":");
  pawl_ctx_add_value(L, run, 2, "input", "{}", out);
  pawl_buf_addz(out, ",\"options\":");
  pawl_ctx_add_value(L, run, 3, "options", "{}", out);
  /* Last: what is refused takes no id. */
  if (run->call->services->new_id(run->call, id, &err) != PAWL_OK)
    return pawl_ctx_raise(L, &err);
  pawl_buf_addf(out, ",\"id\":\"%s\",\"workflow\":\"%s\"}", id, code);
  add_effect(L, run, &run->result->starts, out);
  lua_pushstring(L, id);
  return 1;
}

const pawl_ctx_member pawl_ctx_effects[] = {
    {"answer", PAWL_CTX_CALL, PAWL_CTX_ACTS, "ctx.answer(value, error)",
     ctx_answer},
    {"emit", PAWL_CTX_CALL, PAWL_CTX_ACTS, "ctx.emit(type, payload)",
     ctx_emit},
    {"escalate", PAWL_CTX_CALL, PAWL_CTX_ACTS, "ctx.escalate(name, data)",
     ctx_escalate},
    {"note", PAWL_CTX_CALL, PAWL_CTX_ACTS, "ctx.note(text, data)", ctx_note},
    {"publish", PAWL_CTX_CALL, PAWL_CTX_ACTS, "ctx.publish(name, value)",
     ctx_publish},
    {"signal", PAWL_CTX_CALL, PAWL_CTX_ACTS, "ctx.signal(event)", ctx_signal},
    {"start", PAWL_CTX_CALL, PAWL_CTX_ACTS, "ctx.start(code, input, options)",
     ctx_start},
    {NULL}};
