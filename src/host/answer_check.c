#include "answer_check.h"

#include <string.h>

#include "../base/base64.h"
#include "../base/clock.h"
#include "../base/id.h"
#include "../defs/def.h"
#include "../value/json.h"
#include "host_internal.h"

enum {
  MOST_ITEMS_TIMES = 16, /* of max_bytes: what `items` may give */
  MOST_ATTR_NAME = 200,
  MOST_ATTR_TEXT = 2000,
  MOST_TRANSITION = 1 << 16,
  AROUND = 3,      /* of a list, an effect, what it publishes as an answer */
  MOST_SHOWN = 255 /* of a name, as ctx.publish has it */
};

/* ---- values ---- */

static int is_any_json(pawl_str text, size_t most) {
  pawl_error spare;
  return (!most || text.len <= most) &&
         pawl_json_check_depth(text, PAWL_VALUE_DEPTH, NULL, &spare) ==
             PAWL_OK;
}

static int is_object_json(pawl_str text, size_t most) {
  return is_any_json(text, most) &&
         pawl_json_kind_of(text) == PAWL_JSON_OBJECT;
}

/* A list of records, each with a value in it. */
static int is_list_json(pawl_str text) {
  pawl_json_kind found;
  pawl_error spare;
  return pawl_json_check_depth(text, PAWL_VALUE_DEPTH + AROUND, &found,
                               &spare) == PAWL_OK &&
         found == PAWL_JSON_ARRAY;
}

static int is_text(pawl_str s) {
  size_t at;
  return pawl_utf8_check(s, &at) && !(s.len && memchr(s.at, 0, s.len));
}

/* A member's text, in *out, of 1 to `most` bytes. */
static int get_text(pawl_str object, const char *key, size_t most,
                    pawl_buf *out) {
  pawl_buf_clear(out);
  return pawl_json_get_text(object, key, out) && !out->failed && out->len &&
         out->len <= most && is_text(pawl_buf_str(out));
}

/* Has it no members but those in the list? */
static int has_only(pawl_str object, const char *const *names) {
  if (pawl_json_kind_of(object) != PAWL_JSON_OBJECT) return 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(object, &it);) {
    int i = 0;
    while (names[i] && !pawl_str_eqz(it.key, names[i])) i++;
    if (!names[i]) return 0;
  }
  return 1;
}

/* ---- attributes ---- */

static int is_typed(const char *type, pawl_str value, pawl_buf *scratch) {
  const pawl_json_kind kind = pawl_json_kind_of(value);
  pawl_buf bytes = {.alloc = scratch->alloc};
  int64_t us;
  double number;
  int ok;
  if (strcmp(type, "boolean") == 0)
    return kind == PAWL_JSON_TRUE || kind == PAWL_JSON_FALSE;
  if (strcmp(type, "integer") == 0) return kind == PAWL_JSON_INT;
  if (strcmp(type, "float") == 0) return pawl_json_number(value, &number);
  if (strcmp(type, "date") == 0)
    return pawl_json_int(value, &us) && pawl_date_is_valid(us);
  if (kind != PAWL_JSON_STRING) return 0;
  pawl_buf_clear(scratch);
  pawl_json_unquote(value, scratch);
  if (scratch->failed) return 0;
  if (strcmp(type, "decimal") == 0)
    return pawl_json_is_decimal(pawl_buf_str(scratch));
  if (strcmp(type, "string") == 0)
    return scratch->len <= MOST_ATTR_TEXT && is_text(pawl_buf_str(scratch));
  if (strcmp(type, "binary") != 0) return 0;
  ok = pawl_base64_decode(pawl_buf_str(scratch), &bytes) && !bytes.failed;
  scratch->failed |= bytes.failed;
  pawl_buf_deinit(&bytes);
  return ok;
}

static int is_attribute(pawl_str name, pawl_str typed, pawl_buf *scratch) {
  static const char *const names[] = {"type", "value", NULL};
  char type[16];
  pawl_str value;
  if (!name.len || name.len > MOST_ATTR_NAME ||
      memchr(name.at, '\\', name.len))
    return 0;
  if (pawl_json_kind_of(typed) == PAWL_JSON_NULL) return 1;
  if (!has_only(typed, names) ||
      !get_text(typed, "type", sizeof type - 1, scratch) ||
      !pawl_json_get(typed, "value", &value))
    return 0;
  pawl_copy_text(type, sizeof type, scratch->at);
  return is_typed(type, value, scratch);
}

static int are_attributes(pawl_str attrs, pawl_buf *scratch) {
  for (pawl_json_iter it = {0}; pawl_json_walk(attrs, &it);)
    if (!is_attribute(it.key, it.value, scratch)) return 0;
  return 1;
}

/* ---- what goes out ---- */

static int is_emit(pawl_str emit, pawl_buf *scratch) {
  static const char *const names[] = {"payload", "type", NULL};
  pawl_str payload;
  return has_only(emit, names) && pawl_json_get(emit, "payload", &payload) &&
         get_text(emit, "type", PAWL_MAX_EMIT_TYPE, scratch);
}

static int is_note(pawl_str note, pawl_buf *scratch) {
  static const char *const names[] = {"data", "text", NULL};
  return has_only(note, names) &&
         get_text(note, "text", PAWL_MAX_NOTE, scratch);
}

/* An answer is to the event that has led here, as an object. */
/* {"code","message"}, if there is one. */
static int is_refusal(pawl_str value, pawl_buf *scratch) {
  static const char *const members[] = {"code", "message", NULL};
  pawl_str error;
  return !pawl_json_get(value, "error", &error) ||
         (pawl_json_kind_of(error) == PAWL_JSON_OBJECT &&
          has_only(error, members) &&
          get_text(error, "code", MOST_SHOWN, scratch) &&
          get_text(error, "message", MOST_SHOWN, scratch));
}

static int is_published(const pawl_call *call, pawl_str shown,
                        pawl_buf *scratch) {
  static const char *const names[] = {"answers", "name", "value", NULL};
  static const char *const told[] = {"error", "value", NULL};
  pawl_str answers, id, name, value;
  if (!has_only(shown, names) || !pawl_json_get(shown, "value", &value) ||
      !pawl_json_get(shown, "name", &name) ||
      !get_text(shown, "name", MOST_SHOWN, scratch))
    return 0;
  if (!pawl_json_get(shown, "answers", &answers)) return 1;
  return pawl_json_kind_of(answers) == PAWL_JSON_TRUE &&
         pawl_json_kind_of(value) == PAWL_JSON_OBJECT &&
         has_only(value, told) && is_refusal(value, scratch) &&
         call->event.len && pawl_json_get(call->event, "id", &id) &&
         pawl_str_eq(id, name);
}

static int is_granted_start(const pawl_limits *limits, const pawl_call *call,
                            pawl_str start, pawl_buf *scratch) {
  static const char *const names[] = {"id", "input", "options", "workflow",
                                      NULL};
  pawl_str options;
  pawl_id id;
  if (!has_only(start, names) || !get_text(start, "id", 36, scratch) ||
      !pawl_id_parse(scratch->at, scratch->len, &id) ||
      !get_text(start, "workflow", 200, scratch) ||
      !pawl_def_is_code(scratch->at) ||
      !pawl_names_match(limits->start, scratch->at) ||
      !pawl_json_get(start, "options", &options) ||
      pawl_json_kind_of(options) != PAWL_JSON_OBJECT)
    return 0;
  /* what else is among the options is read when it is started */
  if (!call->tenant.at || !pawl_json_get(options, "tenant", &options))
    return 1;
  pawl_buf_clear(scratch);
  pawl_json_unquote(options, scratch);
  return pawl_str_eq(pawl_buf_str(scratch), call->tenant);
}

/* As ctx.signal makes one of what it was given. */
static int is_granted_signal(const pawl_limits *limits, pawl_str signal,
                             pawl_buf *scratch) {
  static const char *const names[] = {"data", "instance", "key", "name", NULL};
  pawl_str other;
  pawl_id id;
  if (!has_only(signal, names) || !pawl_json_get(signal, "data", &other) ||
      !get_text(signal, "name", 200, scratch) ||
      !pawl_def_is_code(scratch->at) ||
      !pawl_names_match(limits->signal, scratch->at))
    return 0;
  if (pawl_json_get(signal, "key", &other) &&
      !get_text(signal, "key", PAWL_MAX_SIGNAL_TEXT, scratch))
    return 0;
  return !pawl_json_get(signal, "instance", &other) ||
         (get_text(signal, "instance", 36, scratch) &&
          pawl_id_parse(scratch->at, scratch->len, &id));
}

/* The same of ctx.escalate, which is for `run`. */
static int is_granted_escalation(const pawl_limits *limits,
                                 const pawl_call *call, pawl_str one,
                                 pawl_buf *scratch) {
  static const char *const names[] = {"data", "name", NULL};
  pawl_str data;
  return call->handler == PAWL_HANDLER_RUN && has_only(one, names) &&
         pawl_json_get(one, "data", &data) &&
         get_text(one, "name", 200, scratch) &&
         pawl_def_is_code(scratch->at) &&
         pawl_names_match(limits->signal, scratch->at);
}

typedef enum effect {
  EMITS,
  NOTES,
  STARTS,
  SIGNALS,
  ESCALATIONS,
  PUBLISHED
} effect;

static int is_effect(effect kind, pawl_str one, const pawl_limits *limits,
                     const pawl_call *call, pawl_buf *scratch) {
  switch (kind) {
    case EMITS:
      return is_emit(one, scratch);
    case NOTES:
      return is_note(one, scratch);
    case STARTS:
      return is_granted_start(limits, call, one, scratch);
    case SIGNALS:
      return is_granted_signal(limits, one, scratch);
    case ESCALATIONS:
      return is_granted_escalation(limits, call, one, scratch);
    case PUBLISHED:
      return is_published(call, one, scratch);
  }
  return 0;
}

/* A list of them; *left: how many there may be. */
static int are_effects(effect kind, pawl_str list, const pawl_limits *limits,
                       const pawl_call *call, int64_t *left,
                       pawl_buf *scratch) {
  if (!list.len) return 1;
  if (!is_list_json(list)) return 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it);)
    if (!is_effect(kind, it.value, limits, call, scratch) || --*left < 0)
      return 0;
  return 1;
}

/* ---- what it returned ---- */

static int is_output(const pawl_host *host, const pawl_limits *limits,
                     const pawl_call *call, const pawl_said *r) {
  const pawl_str output = pawl_buf_str(&r->output);
  const int is_items = call->handler == PAWL_HANDLER_ITEMS;
  const size_t times = is_items ? MOST_ITEMS_TIMES : 1;
  const size_t most =
      host->max_bytes > SIZE_MAX / times ? 0 : host->max_bytes * times;
  if (!r->has_output) return !output.len && !is_items;
  if (!is_any_json(output, most)) return 0;
  switch (call->handler) {
    case PAWL_HANDLER_ITEMS:
      return output.at[0] == '[' &&
             pawl_json_count(output) <= limits->effects &&
             pawl_json_count(output) <= PAWL_MAX_ITEMS;
    case PAWL_HANDLER_PREPARE:
      return output.at[0] == '{';
    case PAWL_HANDLER_RUN:
    case PAWL_HANDLER_OUTPUT:
    case PAWL_HANDLER_KEY:
    case PAWL_HANDLER_RESCHEDULE:
    case PAWL_HANDLER_INPUT:
    case PAWL_HANDLER_DATA:
    case PAWL_HANDLER_ANSWER:
    case PAWL_HANDLER_GROUP:
    case PAWL_HANDLER_PRIORITY:
    case PAWL_HANDLER_ENOUGH:
      return 1;
    default:
      return 0;
  }
}

static int is_transition(const pawl_call *call, const pawl_said *r) {
  const int may = call->handler == PAWL_HANDLER_RUN ||
                  call->handler == PAWL_HANDLER_CHOOSE;
  return r->has_transition ? may && r->transition.len <= MOST_TRANSITION
                           : !r->transition.len;
}

static int is_duration(const pawl_call *call, const pawl_said *r) {
  if (!r->has_lasts) return call->handler != PAWL_HANDLER_AFTER;
  if (r->lasts_us > PAWL_MAX_DURATION_US) return 0;
  switch (call->handler) {
    case PAWL_HANDLER_AFTER:
    case PAWL_HANDLER_TIMEOUT:
    case PAWL_HANDLER_DELAY:
    case PAWL_HANDLER_DUE:
      return r->lasts_us >= 0;
    case PAWL_HANDLER_EVERY:
    case PAWL_HANDLER_DEADLINE:
      return r->lasts_us > 0;
    default:
      return 0;
  }
}

static int is_object(int is_changed, const pawl_buf *text, size_t most) {
  if (!is_changed) return !text->len;
  return is_object_json(pawl_buf_str(text), most);
}

static int leaves_all(const pawl_said *r) {
  return !r->vars_changed && !r->data_changed && !r->attrs_changed &&
         !r->emits.len && !r->starts.len && !r->notes.len && !r->signals.len &&
         !r->escalations.len && !r->published.len;
}

static int are_all(const pawl_limits *limits, const pawl_call *call,
                   const pawl_said *r, pawl_buf *scratch) {
  int64_t left = limits->effects;
  return are_effects(SIGNALS, pawl_buf_str(&r->signals), limits, call, &left,
                     scratch) &&
         are_effects(ESCALATIONS, pawl_buf_str(&r->escalations), limits, call,
                     &left, scratch) &&
         are_effects(EMITS, pawl_buf_str(&r->emits), limits, call, &left,
                     scratch) &&
         are_effects(NOTES, pawl_buf_str(&r->notes), limits, call, &left,
                     scratch) &&
         are_effects(STARTS, pawl_buf_str(&r->starts), limits, call, &left,
                     scratch) &&
         are_effects(PUBLISHED, pawl_buf_str(&r->published), limits, call,
                     &left, scratch) &&
         (!r->attrs_changed ||
          are_attributes(pawl_buf_str(&r->attrs), scratch));
}

/* ---- all of it ---- */

#define BOOL_FLAG(name) r->name = r->name != 0;
#define BOOL_TIME(name)
#define BOOL_TEXT(name) failed |= r->name.failed;
#define BOOL_LIST(name) BOOL_TEXT(name)
#define BOOL(type, name) BOOL_##type(name)

/* But for what goes out. */
static int is_right(const pawl_host *host, const pawl_limits *limits,
                    const pawl_call *call, const pawl_said *r) {
  if (pawl_handler_is_pure(call->handler) && !leaves_all(r)) return 0;
  if (!is_object(r->vars_changed, &r->vars, host->max_bytes) ||
      !is_object(r->data_changed, &r->data, host->max_bytes) ||
      !is_object(r->attrs_changed, &r->attrs, host->max_bytes) ||
      !is_transition(call, r) || !is_output(host, limits, call, r))
    return 0;
  return r->at_us >= 0 && r->at_us <= PAWL_TIME_MAX && is_duration(call, r);
}

pawl_code pawl_answer_judge(const pawl_host *host, const pawl_limits *limits,
                            const pawl_call *call, pawl_said *r) {
  pawl_buf scratch = {.alloc = &host->alloc};
  int failed = 0, ok;
  PAWL_RESULT_EFFECTS(BOOL)
  PAWL_RESULT_FAILURE(BOOL)
  if (failed) return PAWL_NOMEM;
  ok = is_right(host, limits, call, r) && are_all(limits, call, r, &scratch);
  failed = scratch.failed;
  pawl_buf_deinit(&scratch);
  if (!ok) return failed ? PAWL_NOMEM : PAWL_SCRIPT;
  pawl_said_drop_failure(r); /* there is none */
  return PAWL_OK;
}

/* ---- of one that failed ---- */

static void mend_text(char *text) {
  for (;; text++) {
    const int n = pawl_utf8_length(text, strlen(text));
    if (!*text) return;
    if (n == 0 || (unsigned char)*text < ' ')
      *text = *text == '\n' || *text == '\t' ? *text : '?';
    else
      text += n - 1;
  }
}

void pawl_answer_mend_error(pawl_error *err) {
  mend_text(err->raised);
  mend_text(err->sqlstate);
  mend_text(err->where);
  mend_text(err->message);
  mend_text(err->hint);
  mend_text(err->trace);
}

static void mend_whole(pawl_buf *text) {
  if (text->failed || text->len > PAWL_MAX_FAILURE ||
      !is_text(pawl_buf_str(text)))
    pawl_buf_clear(text);
}

void pawl_answer_mend_failure(pawl_said *r) {
  pawl_said_drop_effects(r);
  r->no_retry = r->no_retry != 0;
  if (r->retry_after_us < -1) r->retry_after_us = -1;
  if (r->details.failed ||
      (r->details.len && !is_any_json(pawl_buf_str(&r->details), 0)))
    pawl_buf_clear(&r->details);
  mend_whole(&r->message);
  mend_whole(&r->trace);
}
