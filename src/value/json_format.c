/* JSON made from a format: pawl_format and pawl_format_into, of pawl.h. What
 * comes out is one value, or nothing: text is quoted here, and the whole is
 * read once more, as a format may lack a bracket. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>

#include "json_parts.h"

typedef struct form {
  va_list args;
  pawl_buf *out;
  pawl_error *err;
  int n; /* of the argument, in messages */
} form;

/* One conversion: "%.*Q", "%lld". */
typedef struct spec {
  int has_length; /* ".*" */
  char size;      /* of an integer: 0, 'l', 'L' (ll), 'z', 'j' */
  char what;
} spec;

/* `at`: behind the percent sign. Returns what is behind it. */
static const char *read_spec(const char *at, spec *s) {
  s->has_length = at[0] == '.' && at[1] == '*';
  if (s->has_length) at += 2;
  s->size = 0;
  if (*at == 'l' || *at == 'z' || *at == 'j') s->size = *at++;
  if (s->size == 'l' && *at == 'l') s->size = 'L', at++;
  s->what = *at;
  return *at ? at + 1 : at;
}

static pawl_code wrong(form *f, const char *why) {
  return pawl_fail(f->err, PAWL_INVALID, "argument %d of the format %s", f->n,
                   why);
}

static pawl_code add_integer(form *f, const spec *s) {
  int64_t n;
  switch (s->size) {
    case 0:
      n = va_arg(f->args, int);
      break;
    case 'l':
      n = va_arg(f->args, long);
      break;
    case 'L':
      n = va_arg(f->args, long long);
      break;
    case 'j':
      n = va_arg(f->args, intmax_t);
      break;
    default:
      n = va_arg(f->args, ptrdiff_t);
      break;
  }
  pawl_buf_addi(f->out, n);
  return PAWL_OK;
}

static pawl_code add_unsigned(form *f, const spec *s) {
  uint64_t n;
  switch (s->size) {
    case 0:
      n = va_arg(f->args, unsigned);
      break;
    case 'l':
      n = va_arg(f->args, unsigned long);
      break;
    case 'L':
      n = va_arg(f->args, unsigned long long);
      break;
    case 'j':
      n = va_arg(f->args, uintmax_t);
      break;
    default:
      n = va_arg(f->args, size_t);
      break;
  }
  if (n > INT64_MAX) return wrong(f, "is beyond 64 bits with a sign");
  pawl_buf_addi(f->out, (int64_t)n);
  return PAWL_OK;
}

static pawl_code add_double(form *f) {
  double d = va_arg(f->args, double);
  if (!isfinite(d)) return wrong(f, "is no number that JSON has");
  pawl_json_add_float(f->out, d);
  return PAWL_OK;
}

/* `quotes`: around it, or null where there is none; else they stand in the
 * format. */
static pawl_code add_text(form *f, const spec *s, int quotes) {
  const int len = s->has_length ? va_arg(f->args, int) : 0;
  pawl_str text = {va_arg(f->args, const char *), 0};
  const size_t from = f->out->len;
  size_t bad;

  if (!text.at) {
    if (quotes) pawl_buf_addz(f->out, "null");
    return PAWL_OK;
  }
  if (s->has_length && len < 0) return wrong(f, "has a length below 0");
  text.len = s->has_length ? (size_t)len : strlen(text.at);
  if (!pawl_json_add_checked(f->out, text, &bad))
    return wrong(f, "is not UTF-8");
  if (quotes || f->out->failed) return PAWL_OK;
  f->out->len -= 2;
  memmove(f->out->at + from, f->out->at + from + 1, f->out->len - from);
  f->out->at[f->out->len] = '\0';
  return PAWL_OK;
}

static pawl_code add_value(form *f) {
  const char *json = va_arg(f->args, const char *);
  const char *end = json ? pawl_json_sound_end(json) : NULL;

  if (!json)
    pawl_buf_addz(f->out, "null");
  else if (!end)
    return wrong(f, "is no JSON");
  else
    pawl_buf_add(f->out, json, (size_t)(end - json));
  return PAWL_OK;
}

static pawl_code add_one(form *f, const spec *s) {
  f->n++;
  if (s->has_length && s->what != 'Q' && s->what != 'q') goto unknown;
  if (s->size && !strchr("diu", s->what)) goto unknown;
  switch (s->what) {
    case 'd':
    case 'i':
      return add_integer(f, s);
    case 'u':
      return add_unsigned(f, s);
    case 'g':
      return add_double(f);
    case 'b':
      pawl_buf_addz(f->out, va_arg(f->args, int) ? "true" : "false");
      return PAWL_OK;
    case 'Q':
      return add_text(f, s, 1);
    case 'q':
      return add_text(f, s, 0);
    case 'J':
      return add_value(f);
    default:
      break;
  }
unknown:
  return pawl_fail_hint(f->err, PAWL_MISUSE,
                        "%Q %q %.*Q %d %u (l ll z j) %g %b %J %%",
                        "the format's conversion %d is not known", f->n);
}

static pawl_code add_all(form *f, const char *format) {
  spec s;
  while (*format) {
    const size_t plain = strcspn(format, "%");
    pawl_buf_add(f->out, format, plain);
    format += plain;
    if (!*format) break;
    if (format[1] == '%') {
      pawl_buf_addc(f->out, '%');
      format += 2;
      continue;
    }
    format = read_spec(format + 1, &s);
    MUST(add_one(f, &s));
  }
  return PAWL_OK;
}

static pawl_code check(const pawl_buf *b, pawl_error *err) {
  const char *end = pawl_json_sound_end(b->at ? b->at : "");
  if (end && !*end) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID,
                        "look at its brackets, commas and quotes; text is "
                        "%Q",
                        "what the format gives is no JSON: %.200s",
                        b->at ? b->at : "");
}

pawl_code pawl_json_format(pawl_buf *b, const char *format, va_list args,
                           pawl_error *err) {
  form f = {.out = b, .err = err};
  va_copy(f.args, args);
  pawl_code rc = add_all(&f, format);
  va_end(f.args);
  if (rc == PAWL_OK && !b->failed) rc = check(b, err);
  return rc;
}
