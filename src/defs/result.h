/* defs/result.h: the functions a node can have, and what one of them said.
 *
 * The host fills a pawl_said while a handler runs; the rules read it, and
 * need to know neither who ran it nor in which language.
 *
 * Layer    defs: base only.
 * Owns     its buffers, kept from one handler to the next. */
#ifndef PAWL_DEFS_RESULT_H
#define PAWL_DEFS_RESULT_H

#include "../base/buf.h"

/* ---- handlers ---- */

/* X(name, its name in a definition): what it returns. */
/* clang-format off */
#define PAWL_HANDLERS(X)                                                    \
  X(RUN, "run")         /* transition, output */                            \
  X(CHOOSE, "choose")   /* transition */                                    \
  X(AT, "at")           /* seconds since 1970 or "2026-01-31T10:00:00Z" */  \
  X(AFTER, "after")     /* timer: a duration, as one is written */          \
  X(TIMEOUT, "timeout") /* step, wait, task, call, each: the same; nil:     \
                           none, of a step the usual one */                 \
  X(EVERY, "every")     /* boundary timer: the same, above 0; nil: it fires \
                           no more */                                       \
  X(DELAY, "delay")     /* of retry, called with (ctx, attempt, error): the \
                           same; nil: by policy */                          \
  X(DEADLINE, "deadline") /* of the workflow, a handler of its start: the   \
                           same, above 0; nil: it has none */               \
  X(DUE, "due")         /* task: the same */                                \
  X(OUTPUT, "output")   /* the instance's output */                         \
  X(UNDO, "undo")       /* nothing; takes back what the node did, of which  \
                           ctx.output is what it gave */                    \
  X(KEY, "key")         /* wait: in `output` a JSON string, number,         \
                           boolean, or anything the engine will refuse */   \
  X(RESCHEDULE, "reschedule") /* of that, its key: the same */              \
  X(MATCH, "match")     /* wait: called with (event, ctx); `truth` */       \
  X(ANSWER, "answer")   /* wait: called with (event, ctx); in `output` what \
                           who asked is told */                             \
  X(CONDITION, "condition") /* wait: `truth` */                             \
  X(PREPARE, "prepare") /* task: in `output` an object or nothing */        \
  X(DATA, "data")       /* escalate: in `output` the event's data */        \
  X(INPUT, "input")     /* call: in `output` the child's input */           \
  X(GROUP, "group")     /* call, each: in `output` the children's group,    \
                           or anything that cannot be one */                \
  X(PRIORITY, "priority") /* call, each: the same of their priority */      \
  X(ITEMS, "items")     /* each: in `output` an array of at most            \
                           PAWL_MAX_ITEMS, up to 16 times the host's        \
                           max_bytes */                                     \
  X(ENOUGH, "enough")   /* each: called with (ctx, so_far); `truth`, and in \
                           `output` what it is given as so_far.sum when the \
                           next item has ended */
/* clang-format on */

typedef enum pawl_handler {
#define PAWL_HANDLER_ENUM(name, text) PAWL_HANDLER_##name,
  PAWL_HANDLERS(PAWL_HANDLER_ENUM)
#undef PAWL_HANDLER_ENUM
} pawl_handler;

/* Bytes of a text; PAWL_MAX_FAILURE: of one of an error's, longer ones are
 * cut and say so. */
enum {
  PAWL_MAX_ITEMS = 100000,
  PAWL_MAX_NOTE = 16384,
  PAWL_MAX_SIGNAL_TEXT = 255, /* as what comes from outside may have */
  PAWL_MAX_LINE = 65536,      /* what a script logs, besides fields */
  PAWL_MAX_FAILURE = 16384
};

const char *pawl_handler_name(pawl_handler handler);
/* Does it leave everything as it is, as all but RUN and UNDO? (Then it may
 * set neither variables, data nor attributes, neither emit nor start, and may
 * not wait.) */
int pawl_handler_is_pure(pawl_handler handler);

/* ---- what it said ---- */

/* X(type, name): all that a handler may leave behind. The struct below, and
 * how it is emptied, freed and handed on, come from these lists: a new effect
 * is one line here. FLAG is an int, TIME in microseconds, TEXT a pawl_buf; so
 * is LIST, a JSON array that grows by pawl_said_add, or empty: none. */
/* clang-format off */
#define PAWL_RESULT_EFFECTS(X)                                              \
  X(FLAG, has_transition)                                                   \
  X(TEXT, transition)                                                       \
  X(FLAG, has_output)                                                       \
  X(TEXT, output)       /* JSON */                                          \
  X(FLAG, vars_changed)                                                     \
  X(TEXT, vars)         /* JSON object, whole, when changed */              \
  X(FLAG, attrs_changed)                                                    \
  X(TEXT, attrs)        /* JSON {"name":{"type","value"}|null} set by       \
                           ctx.attrs */                                     \
  X(FLAG, data_changed)                                                     \
  X(TEXT, data)         /* ctx.token.data, whole, when changed */           \
  X(LIST, emits)        /* [{"type","payload"},...] */                      \
  X(LIST, starts)       /* [{"input","options":{...},"id","workflow"},...]  \
                           of ctx.start. The options: those of              \
                           pawl_start but `at` and `id`, as far as          \
                           given, and always "track" and "parent_end" */    \
  X(LIST, notes)        /* [{"data"?,"text"},...] */                        \
  X(LIST, signals)      /* [{"data"?,"instance"?,"key"?,"name"},...] */     \
  X(LIST, escalations)  /* [{"data","name"},...]: of RUN */                 \
  X(LIST, published)    /* [{"name","value"},...]; with "answers":true to   \
                           the event whose id is the name */                \
  X(FLAG, truth)        /* MATCH, CONDITION, ENOUGH */                      \
  X(TIME, at_us)        /* AT */                                            \
  X(FLAG, has_lasts)                                                        \
  X(TIME, lasts_us)     /* AFTER, TIMEOUT, EVERY, DELAY, DEADLINE,         \
                           DUE */
/* When it failed these alone count: */
#define PAWL_RESULT_FAILURE(X)                                              \
  X(FLAG, no_retry)       /* error{ retry = false }; VALUE, LIMIT and       \
                             MISUSE */                                      \
  X(TIME, retry_after_us) /* error{ retry = seconds | "2m" }; -1: by        \
                             policy */                                      \
  X(TEXT, details)        /* error{ details = ... } as JSON; may be empty */ \
  X(TEXT, message)        /* whole, where pawl_error has its beginning */    \
  X(TEXT, trace)          /* the same */
/* clang-format on */

typedef struct pawl_said {
#define PAWL_MEMBER_FLAG(name) int name;
#define PAWL_MEMBER_TIME(name) int64_t name;
#define PAWL_MEMBER_TEXT(name) pawl_buf name;
#define PAWL_MEMBER_LIST(name) pawl_buf name;
#define PAWL_MEMBER(type, name) PAWL_MEMBER_##type(name)
  PAWL_RESULT_EFFECTS(PAWL_MEMBER)
  PAWL_RESULT_FAILURE(PAWL_MEMBER)
#undef PAWL_MEMBER
#undef PAWL_MEMBER_FLAG
#undef PAWL_MEMBER_TIME
#undef PAWL_MEMBER_TEXT
#undef PAWL_MEMBER_LIST
} pawl_said;

/* Empty, with this allocator in every buffer (NULL: the C library's). */
void pawl_said_init(pawl_said *r, const pawl_alloc *alloc);
void pawl_said_deinit(pawl_said *r);
/* As pawl_said_init leaves it, with the memory it has. */
void pawl_said_clear(pawl_said *r);
/* Of a handler that failed: nothing stays but why, and what it wishes. */
void pawl_said_drop_effects(pawl_said *r);
/* The same, and their memory goes: it was a script's that wanted too much. */
void pawl_said_shed_effects(pawl_said *r);
/* Nothing that failed before is known any more. */
void pawl_said_drop_failure(pawl_said *r);
/* A text of an error, in `fixed`: cut to fit, and kept in `whole` (NULL: not)
 * when it had to be, cut at PAWL_MAX_FAILURE. Without memory for that it stays
 * as it was cut. */
void pawl_failure_keep(pawl_buf *whole, char *fixed, size_t size,
                       pawl_str text);
/* Which of both is the error's: `whole` when `fixed` is its beginning. */
pawl_str pawl_failure_text(const pawl_buf *whole, const char *fixed);
/* One more member of a LIST, whole or not at all. */
pawl_code pawl_said_add(pawl_buf *list, pawl_str member, pawl_error *err);
/* Ends the lists that were begun: no more is added. */
pawl_code pawl_said_close(pawl_said *r, pawl_error *err);
/* What is in `from` goes to `to`, with its memory and allocator; `from` is
 * empty then. What was in `to` is freed. */
void pawl_said_move(pawl_said *to, pawl_said *from);

#endif
