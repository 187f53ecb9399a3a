#include "log.h"

/* Room for every field of a pawl_error with each byte escaped as \u00XX would
 * be 6 KB; what does not fit is left out, field by field. No memory is asked
 * for: running out of it is what may have to be logged. */
typedef struct fields {
  char text[2048];
  size_t len;
} fields;

void pawl_log_write(const pawl_log *log, int level, const char *message,
                    const char *text) {
  if (!log || !log->fn) return;
  log->fn(log->ud, level, message, text ? text : "{}");
}

static int add_bytes(fields *f, const char *bytes, size_t len) {
  if (len > sizeof f->text - f->len - 2) return 0; /* "}" and the zero */
  memcpy(f->text + f->len, bytes, len);
  f->len += len;
  return 1;
}

/* Quoted and escaped; bytes that are not UTF-8 become U+FFFD. */
static int add_quoted(fields *f, const char *at) {
  static const char digits[] = "0123456789abcdef";
  size_t left = strlen(at);

  if (!add_bytes(f, "\"", 1)) return 0;
  while (left > 0) {
    char escape[] = {'\\', 'u', '0', '0', '0', '0'};
    int n = pawl_utf8_length(at, left), ok;
    if (n == 0) {
      n = 1;
      ok = add_bytes(f, "\xef\xbf\xbd", 3);
    } else if ((unsigned char)*at < 0x20) {
      escape[4] = digits[*at >> 4];
      escape[5] = digits[*at & 15];
      ok = add_bytes(f, escape, sizeof escape);
    } else {
      ok = *at != '"' && *at != '\\' ? 1 : add_bytes(f, "\\", 1);
      ok = ok && add_bytes(f, at, (size_t)n);
    }
    if (!ok) return 0;
    at += n;
    left -= (size_t)n;
  }
  return add_bytes(f, "\"", 1);
}

static void add_field(fields *f, const char *name, const char *text) {
  size_t before = f->len;
  if (text[0] == '\0') return;
  if ((before == 1 || add_bytes(f, ",", 1)) && add_quoted(f, name) &&
      add_bytes(f, ":", 1) && add_quoted(f, text))
    return;
  f->len = before;
}

void pawl_log_error(const pawl_log *log, int level, const char *message,
                    const pawl_error *err) {
  fields f;

  if (!log || !log->fn) return;
  f.len = 0;
  add_bytes(&f, "{", 1);
  add_field(&f, "code", pawl_code_name(err->code));
  add_field(&f, "error", err->message);
  add_field(&f, "raised", err->raised);
  add_field(&f, "sqlstate", err->sqlstate);
  add_field(&f, "where", err->where);
  add_field(&f, "hint", err->hint);
  memcpy(f.text + f.len, "}", 2);
  log->fn(log->ud, level, message, f.text);
}
