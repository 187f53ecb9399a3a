#include "error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

const char *pawl_code_name(pawl_code code) {
  static const char *const names[PAWL_NCODES] = {
#define CODE_NAME(name, text) [PAWL_##name] = text,
      PAWL_CODES(CODE_NAME)
#undef CODE_NAME
  };
  /* Through an unsigned: a negative number is no code either. */
  return (unsigned)code < PAWL_NCODES ? names[code] : "unknown";
}

/* A message that fills `to`, which was too small for it. */
static void mark_cut(char *to, size_t size) {
  size_t n = pawl_utf8_whole(to, size - sizeof PAWL_CUT);
  memcpy(to + n, PAWL_CUT, sizeof PAWL_CUT);
}

void pawl_copy_message(char *to, size_t size, const char *from) {
  pawl_copy_text(to, size, from);
  if (strlen(from) >= size) mark_cut(to, size);
}

/* Formats into `to`, cut at a character's edge. */
static int format(char *to, size_t size, const char *fmt, va_list args)
    PAWL_PRINTF(3, 0);
static int format(char *to, size_t size, const char *fmt, va_list args) {
  int n = vsnprintf(to, size, fmt, args), is_cut = n >= (int)size;
  if (n < 0) n = 0;
  if (is_cut) n = (int)pawl_utf8_whole(to, size - 1);
  to[n] = '\0';
  return is_cut;
}

/* Every text is made aside first: an argument may be a field of *err. */
static void set_text(char *to, size_t size, const char *fmt, va_list args)
    PAWL_PRINTF(3, 0);
static void set_text(char *to, size_t size, const char *fmt, va_list args) {
  char text[sizeof((pawl_error *)0)->hint];
  assert(size <= sizeof text);
  if (format(text, size, fmt, args)) mark_cut(text, size);
  memcpy(to, text, size);
}

void pawl_vfail(pawl_error *err, pawl_code code, const char *hint,
                const char *fmt, va_list args) {
  char text[sizeof err->message];

  if (!err) return;
  if (format(text, sizeof text, fmt, args)) mark_cut(text, sizeof text);
  memset(err, 0, sizeof *err);
  err->code = code;
  memcpy(err->message, text, sizeof text);
  pawl_copy_message(err->hint, sizeof err->hint, hint);
}

pawl_code pawl_fail(pawl_error *err, pawl_code code, const char *fmt, ...) {
  va_list args;

  va_start(args, fmt);
  pawl_vfail(err, code, "", fmt, args);
  va_end(args);
  return code;
}

pawl_code pawl_fail_hint(pawl_error *err, pawl_code code, const char *hint,
                         const char *fmt, ...) {
  va_list args;

  va_start(args, fmt);
  pawl_vfail(err, code, hint, fmt, args);
  va_end(args);
  return code;
}

pawl_code pawl_fail_as(pawl_error *err, pawl_code code, const char *sqlstate,
                       const char *hint, const char *fmt, ...) {
  va_list args;

  va_start(args, fmt);
  pawl_vfail(err, code, hint, fmt, args);
  va_end(args);
  pawl_error_sqlstate(err, sqlstate);
  return code;
}

pawl_code pawl_fail_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "out of memory");
}

pawl_code pawl_fail_so(pawl_error *err, const pawl_error *why) {
  assert(why->code != PAWL_OK);
  if (err) *err = *why;
  return why->code;
}

void pawl_error_hint(pawl_error *err, const char *fmt, ...) {
  va_list args;

  if (!err) return;
  va_start(args, fmt);
  set_text(err->hint, sizeof err->hint, fmt, args);
  va_end(args);
}

void pawl_error_where(pawl_error *err, const char *fmt, ...) {
  va_list args;

  if (!err) return;
  va_start(args, fmt);
  set_text(err->where, sizeof err->where, fmt, args);
  va_end(args);
}

void pawl_error_sqlstate(pawl_error *err, const char *sqlstate) {
  if (err) pawl_copy_text(err->sqlstate, sizeof err->sqlstate, sqlstate);
}

void pawl_error_prefix(pawl_error *err, const char *fmt, ...) {
  char text[sizeof err->message];
  va_list args;

  if (!err) return;
  va_start(args, fmt);
  (void)format(text, sizeof text - 2, fmt, args); /* room for the colon */
  va_end(args);
  size_t len = strlen(text);
  memcpy(text + len, ": ", 3);
  if (sizeof text - len - 2 > sizeof PAWL_CUT)
    pawl_copy_message(text + len + 2, sizeof text - len - 2, err->message);
  else
    mark_cut(text, sizeof text);
  memcpy(err->message, text, sizeof text);
}

int pawl_code_is_transient(pawl_code code) {
  switch (code) {
    case PAWL_NOMEM:
    case PAWL_BUSY:
    case PAWL_UNREACHABLE:
    case PAWL_FULL: /* somebody makes room, and it goes on */
    case PAWL_TIMEOUT:
      return 1;
    default:
      return 0;
  }
}

static int is_about_data(const char *sqlstate) {
  static const char *const classes[] = {"22", "23", "54"};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (!strncmp(sqlstate, classes[i], 2)) return 1;
  return 0;
}

int pawl_code_is_final(pawl_code code, const pawl_error *why) {
  if (pawl_code_is_transient(code)) return 0;
  if (why->sqlstate[0])
    return code != PAWL_LEASE_LOST && is_about_data(why->sqlstate);
  switch (code) {
    case PAWL_INVALID:
    case PAWL_NOTFOUND:
    case PAWL_AMBIGUOUS:
    case PAWL_EXISTS:
    case PAWL_CONFLICT:
    case PAWL_ALREADY_FINISHED:
    case PAWL_CORRUPT:
    case PAWL_DEFINITION:
    case PAWL_VALUE:
    case PAWL_LIMIT:
      return 1;
    default:
      return 0;
  }
}

void pawl_copy_text(char *to, size_t size, const char *from) {
  pawl_str_copy(to, size, pawl_strz(from));
}
