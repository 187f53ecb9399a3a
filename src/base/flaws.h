/* base/flaws.h: what is known to be wrong with what pawl stands on.
 *
 * Lua, SQLite, libpq and PostgreSQL publish lists of their bugs; of those here
 * is what can hurt a store, or a program that has pawl inside, and what pawl
 * does about it. A table, and questions to it; what is installed is for others
 * to find out (engine/doctor.c).
 *
 * Versions are numbers as their libraries count: SQLite's 3040001, libpq's and
 * a server's 150020, of Lua 50404. A distribution may have mended an older
 * version: what a number says is upstream's.
 *
 * Keeps    A5 a flaw is listed where upstream says so itself: `source`.
 *          A6 nothing is OPEN that pawl guards against, or that hardly any
 *             program meets: a monitor would learn to look away. */
#ifndef PAWL_BASE_FLAWS_H
#define PAWL_BASE_FLAWS_H

#include <stdint.h>

typedef enum pawl_exposure {
  PAWL_FLAW_GUARDED, /* it is there, and pawl sees to it that it does no harm */
  PAWL_FLAW_RARE,    /* nothing guards, and hardly anything comes near it */
  PAWL_FLAW_OPEN     /* somebody should do something */
} pawl_exposure;

typedef struct pawl_flaw {
  const char *id, *of;  /* "lua", "sqlite", "libpq", "postgres" */
  int64_t since, fixed; /* the first version that has it, the first without */
  const char *setting; /* or NULL: then it is of an option, not of a version */
  const char *wrong;   /* it is there where this is the option's value ... */
  const char *right;   /* ... or where this is not */
  pawl_exposure exposure;
  const char *text, *guard; /* what happens; what guards, or what helps */
  const char *source;       /* where upstream tells of it */
} pawl_flaw;

/* The first behind `after` (NULL: of all) that this version has; NULL: none. */
const pawl_flaw *pawl_flaw_of_version(const pawl_flaw *after, const char *of,
                                      int64_t version);
/* The one of an option that has this value; NULL: it is well. */
const pawl_flaw *pawl_flaw_of_setting(const char *of, const char *setting,
                                      const char *value);

const char *pawl_exposure_name(pawl_exposure exposure);

/* "3.40.1" of SQLite's 3040001, and so on; "" of 0. */
void pawl_flaw_version(const char *of, int64_t version, char out[24]);
/* 50404 of "... Lua 5.4.4 ..."; 0 when it says nothing of the kind. */
int64_t pawl_flaw_lua_version(const char *text);

#endif
