/* base/error.h: how every failure travels.
 *
 * Layer    base; pawl_error and the list of codes are public (pawl.h).
 * Errors   What can fail returns pawl_code and takes pawl_error *err last,
 *          which may be NULL. Filled once, where it happened; on the way up
 *          only what that level alone knows is added. */
#ifndef PAWL_BASE_ERROR_H
#define PAWL_BASE_ERROR_H

#include <stdarg.h>

#include "../pawl.h"

#if defined(__GNUC__)
#define PAWL_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define PAWL_PRINTF(at, first)
#endif

/* Our two control-flow macros. Where something was acquired: `rc` and the label
 * `out`, which gives it back, must exist. */
#define TRY(x)                           \
  do {                                   \
    if ((rc = (x)) != PAWL_OK) goto out; \
  } while (0)
/* Where there is nothing to give back: the failure is returned. */
#define MUST(x)                             \
  do {                                      \
    const pawl_code failed_ = (x);          \
    if (failed_ != PAWL_OK) return failed_; \
  } while (0)

/* Clears *err, sets code and message, returns the code. err may be NULL.
 * A message too long is cut at a character's edge, and says so. */
pawl_code pawl_fail(pawl_error *err, pawl_code code, const char *fmt, ...)
    PAWL_PRINTF(3, 4);
/* The same, with a hint that says what to do about it; "": none. */
pawl_code pawl_fail_hint(pawl_error *err, pawl_code code, const char *hint,
                         const char *fmt, ...) PAWL_PRINTF(4, 5);
void pawl_vfail(pawl_error *err, pawl_code code, const char *hint,
                const char *fmt, va_list args) PAWL_PRINTF(4, 0);
/* And with its SQLSTATE. */
pawl_code pawl_fail_as(pawl_error *err, pawl_code code, const char *sqlstate,
                       const char *hint, const char *fmt, ...)
    PAWL_PRINTF(5, 6);
/* PAWL_NOMEM, when there is nothing more to say. */
pawl_code pawl_fail_memory(pawl_error *err);
/* As another call has failed, whose error was kept apart until it was known to
 * be the caller's: hands it on whole, and returns its code. */
pawl_code pawl_fail_so(pawl_error *err, const pawl_error *why);
/* What only this level knows; no-ops when err is NULL. */
void pawl_error_hint(pawl_error *err, const char *fmt, ...) PAWL_PRINTF(2, 3);
void pawl_error_where(pawl_error *err, const char *fmt, ...) PAWL_PRINTF(2, 3);
void pawl_error_sqlstate(pawl_error *err, const char *sqlstate);
/* Puts "text: " in front of the message. */
void pawl_error_prefix(pawl_error *err, const char *fmt, ...)
    PAWL_PRINTF(2, 3);

/* May the very same call succeed later? BUSY, UNREACHABLE, NOMEM, FULL and
 * TIMEOUT; not INTERRUPTED, whose caller was told to stop. */
int pawl_code_is_transient(pawl_code code);

/* Does the request itself bring the failure about, so that it is refused
 * however often it is tried? What a store says is about the request when it is
 * about values, constraints or limits (22, 23, 54): rights, disks, triggers
 * and a store that is gone are mended by somebody, and what was accepted
 * meanwhile waits for that. `why` is the failure's, filled. */
int pawl_code_is_final(pawl_code code, const pawl_error *why);

/* What a message ends in that was longer. */
#define PAWL_CUT " ... (cut)"
/* A message that another one is made of: cut to size, it says so. */
void pawl_copy_message(char *to, size_t size, const char *from);

/* Copies at most size - 1 bytes of UTF-8, never cutting a character. */
void pawl_copy_text(char *to, size_t size, const char *from);

#endif
