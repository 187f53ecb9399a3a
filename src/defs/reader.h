/* defs/reader.h: a graph's JSON, read member by member into an arena.
 *
 * Layer    defs; private to def.c and node.c.
 * Owns     what is read lies in the definition's arena, and goes with it.
 * Errors   PAWL_DEFINITION says of whom it is: "step "reserve": `retry` must
 *          be an object", `where` the file and line; PAWL_NOMEM.
 * Keeps    R4 a member that is not there leaves *out alone. */
#ifndef PAWL_DEFS_READER_H
#define PAWL_DEFS_READER_H

#include "../value/json.h"
#include "def.h"

typedef struct pawl_reader {
  pawl_def *def;
  pawl_error *err;
  pawl_buf text;    /* the last unquoted string */
  const char *what; /* who is read, for messages: step "reserve" */
  int line;         /* of that */
} pawl_reader;

/* First of all: the definition's arena, freed by pawl_def_free. */
pawl_code pawl_arena_new(pawl_reader *r);
/* Zeroed memory that is freed with the definition; NULL: there is none. */
void *pawl_arena_get(pawl_def *d, size_t size);

/* Errors, to be returned. */
pawl_code pawl_reader_nomem(pawl_reader *r);
pawl_code pawl_reader_wrong(pawl_reader *r, const char *field,
                            const char *want);
/* Adds file and line to the error that was just made. */
pawl_code pawl_reader_at(pawl_reader *r);
/* Who is meant in messages from here on. */
pawl_code pawl_reader_introduce(pawl_reader *r, const char *kind,
                                const char *name);

/* Copies of text. Strings of a graph are names and words: a zero byte in one
 * would make two different names look the same, and is refused. */
pawl_code pawl_reader_copy(pawl_reader *r, pawl_str s, const char **out);
pawl_code pawl_reader_str(pawl_reader *r, pawl_str s, pawl_str *out);
pawl_code pawl_reader_unquote(pawl_reader *r, pawl_str quoted,
                              const char *field, const char **out);

/* Members of an object, by their shape (R4). */
pawl_code pawl_reader_text(pawl_reader *r, pawl_str object, const char *field,
                           const char **out);
pawl_code pawl_reader_flag(pawl_reader *r, pawl_str object, const char *field,
                           int *out);
pawl_code pawl_reader_int(pawl_reader *r, pawl_str object, const char *field,
                          int64_t min, int64_t max, const char *want,
                          int64_t *out);
/* An integer from 1 to max. */
pawl_code pawl_reader_count(pawl_reader *r, pawl_str object, const char *field,
                            int64_t max, int64_t *out);
/* Microseconds; min is 0, or 1. */
pawl_code pawl_reader_duration(pawl_reader *r, pawl_str object,
                               const char *field, int64_t min, int64_t *out);
/* The same, or `true`: a handler says it. */
pawl_code pawl_reader_asked(pawl_reader *r, pawl_str object, const char *field,
                            int64_t min, int64_t *out, int *asked);
pawl_code pawl_reader_number(pawl_reader *r, pawl_str object,
                             const char *field, double min, double max,
                             const char *want, double *out);
/* One of two words: is it `yes`? */
pawl_code pawl_reader_choice(pawl_reader *r, pawl_str object,
                             const char *field, const char *no,
                             const char *yes, int *out);
/* "every", "grouped" or "save", as PAWL_DURABLE_...; -1: it does not say. */
pawl_code pawl_reader_durability(pawl_reader *r, pawl_str object, int *out);
/* Its JSON as it stands, of one of two kinds. */
pawl_code pawl_reader_json(pawl_reader *r, pawl_str object, const char *field,
                           pawl_json_kind kind, pawl_json_kind other,
                           const char *want, pawl_str *out);
/* The line where it was written: messages from here on tell it. */
pawl_code pawl_reader_line(pawl_reader *r, pawl_str object, int *out);

/* node.c: one node of the graph, by the table of all fields. */
pawl_code pawl_node_read(pawl_reader *r, pawl_str object, pawl_node *node);

#endif
