/* value/options.h: a JSON object read into a struct, by a table.
 *
 * An option is a row: its name, its shape, where its value goes. Reading,
 * what is said of a wrong one, and the struct's memory follow from the rows;
 * what options mean together is their owner's to check.
 *
 *   typedef struct query {
 *     uint64_t given;        (X1)
 *     pawl_buf tenant;
 *     int64_t limit;
 *   } query;
 *   #define AT(member) .at = offsetof(query, member)
 *   static const pawl_option list_rows[] = {
 *       {"tenant", PAWL_OPTION_TEXT, AT(tenant)},
 *       {"limit", PAWL_OPTION_INT, AT(limit), .low = 1, .high = 10000}};
 *   PAWL_OPTIONS_OF(list) = {.what = "list", PAWL_OPTION_ROWS(list_rows)};
 *
 * Layer    value: above base.
 * Owns     the struct's buffers are the struct's; slices of JSON (pawl_str)
 *          are borrowed from the text that was read.
 * Errors   PAWL_INVALID with the option's name as `where`: it is unknown (the
 *          hint names the nearest one), of another shape or out of range (the
 *          message says what was wanted), or missing. PAWL_VALUE when the
 *          text is no JSON, PAWL_NOMEM. Of wrong ones the first in the text.
 * Keeps    X1 the struct begins with a uint64_t: bit i is set once row i was
 *             given. null is not given, save to PAWL_OPTION_ANY.
 *          X2 what was not given stays as it was: put defaults there first.
 *          X3 a table has at most 64 rows.
 * Tables   pawl_verbs has all of them. What Lua takes is made of them;
 *          spec/meta/options_spec.lua compares them with its annotations
 *          and with the lists of pawl.h. */
#ifndef PAWL_VALUE_OPTIONS_H
#define PAWL_VALUE_OPTIONS_H

#include <stddef.h>

#include "json.h"

typedef enum pawl_option_shape {
  PAWL_OPTION_TEXT,    /* pawl_buf: low to high bytes, none of them zero (raw:
                          up to high bytes); with
                          names one of the `high` of them */
  PAWL_OPTION_INT,     /* int64_t from low to high */
  PAWL_OPTION_BOOL,    /* int */
  PAWL_OPTION_TIME,    /* int64_t: microseconds since 1970 */
  PAWL_OPTION_SPAN,    /* int64_t: microseconds */
  PAWL_OPTION_ID,      /* pawl_id: a whole UUID, of version 7 */
  PAWL_OPTION_CHOICE,  /* int: which of the `high` names */
  PAWL_OPTION_CHOICES, /* unsigned: bits of one, or of a list of them, which
                          is not empty if low is 1; so are the next lists */
  PAWL_OPTION_OBJECT,  /* pawl_str, as are those below: JSON */
  PAWL_OPTION_LIST,    /* of texts */
  PAWL_OPTION_TEXTS,   /* a text or a list of them */
  PAWL_OPTION_ANY      /* also null */
} pawl_option_shape;

typedef struct pawl_option {
  const char *name;
  pawl_option_shape shape;
  size_t at;         /* offset in the struct; rows may share one: the last
                         that is given counts */
  int64_t low, high; /* high 0: as far as the shape goes */
  const char *const *names; /* of choices */
  unsigned kinds;  /* bits of the kinds it goes with; 0: all of them */
  unsigned needed; /* bits of those that cannot do without */
  int raw;         /* a pawl_str there takes the JSON, once it is checked */
} pawl_option;

/* Bytes of what people say who do something: by whom, why, and by which event,
 * "source:id". */
enum {
  PAWL_MAX_BY = 255,
  PAWL_MAX_REASON = 4000,
  PAWL_MAX_EVENT_ID = 2 * PAWL_MAX_BY + 1
};

typedef struct pawl_options {
  const char *what; /* whose they are, for messages: "start", "a signal" */
  const pawl_option *rows;
  int nrows;
  /* Where requests come in kinds, which their member `kind` says, `what` is
   * "change" rather than "a change". Otherwise all is of kind 0. */
  const char *const *kinds;
  int nkinds;
  size_t kind_at; /* of an int: which of the kinds */
} pawl_options;

#define PAWL_OPTION_ROWS(list) \
  .rows = (list), .nrows = (int)(sizeof(list) / sizeof *(list))
#define PAWL_OPTION_KINDS(list) \
  .kinds = (list), .nkinds = (int)(sizeof(list) / sizeof *(list))
/* Was row i given? X1 */
#define PAWL_OPTION_GIVEN(o, i) ((int)((o)->given >> (i)&1u))

/* A verb's table is defined as PAWL_OPTIONS_OF(verb) = {...}; */
#define PAWL_OPTIONS_OF(verb)                       \
  extern const pawl_options pawl_options_of_##verb; \
  const pawl_options pawl_options_of_##verb
/* and listed in pawl.c. Lua's shapes are made of that list, NULL ends it. */
typedef struct pawl_verb {
  const char *name;
  const pawl_options *options;
} pawl_verb;
extern const pawl_verb pawl_verbs[];

/* Before the first use: everything is zero but the buffers' allocator. */
void pawl_options_init(const pawl_options *t, void *o, size_t size,
                       const pawl_alloc *alloc);
/* Nothing is given; buffers keep their memory. */
void pawl_options_clear(const pawl_options *t, void *o);
void pawl_options_deinit(const pawl_options *t, void *o);

/* Reads `text` over what is in `o`. at NULL: no options. */
pawl_code pawl_options_read(const pawl_options *t, pawl_str text, void *o,
                            pawl_error *err);
/* The same of JSON that was checked. */
pawl_code pawl_options_take(const pawl_options *t, pawl_str text, void *o,
                            pawl_error *err);

#endif
