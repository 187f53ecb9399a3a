/* engine/enter/enter.h: what comes into being: instances and events.
 *
 * Layer    engine/enter: above common and versions. */
#ifndef PAWL_ENGINE_ENTER_ENTER_H
#define PAWL_ENGINE_ENTER_ENTER_H

#include "../../base/buf.h"
#include "../../base/id.h"
#include "../../value/options.h"

/* ---- start.c, start_many.c; starting.c and succeed.c below them ---- */

/* How long workers of its group are given to take the letter that asks an
 * instance to end, before others do. */
#define PAWL_ENDING_GRACE_US (10 * PAWL_SECOND)

/* What a start takes, for ctx.start. */
extern const pawl_options pawl_options_of_start;

/* What a start from inside brings beside its options. */
typedef struct pawl_origin {
  pawl_str key; /* idempotency key, of any length; at NULL: the options' */
  /* The name of what asks for it, and until when that is known: by it no key
   * goes on twice. At NULL: it has none. */
  pawl_str event;
  int64_t event_expires_us;
  /* More for the same transaction, told once it is known which instance it
   * is: the new one, or the one that the key names. NULL: nothing. The unit is
   * an open one then. */
  pawl_code (*also)(pawl_engine *e, void *ud, int shard, const pawl_id *id,
                    int created, pawl_error *err);
  void *ud;
  /* of a child; `parent` NULL: it has none, and of its place at most how many
   * have led to it */
  const pawl_id *parent, *root;
  pawl_str parent_place; /* JSON: rules/stored.h */
  /* Whose it is, unless the options say so: at NULL, the engine's. An event or
   * an instance has said it in the options of what it starts: `inside`. */
  pawl_str tenant;
  int inside;
  pawl_str
      by; /* who has it started, unless the options say; at NULL: nobody */
} pawl_origin;
/* `origin`: NULL when somebody asks for it from outside. */
pawl_code pawl_engine_start(pawl_engine *e, const char *code, pawl_str input,
                            pawl_str options, const pawl_origin *origin,
                            pawl_id *id, int *created, pawl_error *err);
/* One of several that are started in one transaction: its options have an id
 * and no key. */
typedef struct pawl_start_of {
  const char *code;
  pawl_str input, options;
  const pawl_origin *origin;
  int created; /* 0: it is there already, or its version takes no new
                  instances; pawl_engine_start tells which */
} pawl_start_of;
/* All of one shard. When anything is wrong with one of them nothing is stored,
 * and the error is that one's. */
pawl_code pawl_engine_start_together(pawl_engine *e, pawl_start_of *list,
                                     int n, pawl_error *err);
/* `out` (may be NULL): the answer, for pawl_free. There is room for it before
 * anything is stored. */
pawl_code pawl_engine_start_many(pawl_engine *e, const char *code,
                                 pawl_str items, pawl_str options, char **out,
                                 pawl_error *err);

/* ---- import.c ---- */

/* Lines as ask/export.c writes them. `out` (may be NULL): the answer, for
 * pawl_free. There is room for it before anything is stored. */
pawl_code pawl_engine_import(pawl_engine *e, pawl_str text, pawl_str options,
                             char **out, pawl_error *err);
/* The same of one that was exported from this store, and comes back in the
 * place of what is left of it there: without its attributes. Called in its
 * transaction, before the first row and behind the last. PAWL_CONFLICT: it is
 * here already. */
typedef struct pawl_back {
  pawl_code (*before)(pawl_engine *e, void *ud, pawl_error *err);
  pawl_code (*behind)(pawl_engine *e, void *ud, pawl_error *err);
  void *ud;
} pawl_back;
pawl_code pawl_import_back(pawl_engine *e, pawl_str text,
                           const pawl_back *back, pawl_error *err);

/* ---- signal.c ---- */

/* `out` (may be NULL) receives pawl_signal's answer. `from`: the tenant of the
 * instance that sends it; NULL: it comes from outside. */
pawl_code pawl_engine_signal(pawl_engine *e, pawl_str signal,
                             const pawl_str *from, int64_t *reached,
                             pawl_buf *out, pawl_error *err);
/* complete.c: the event of a token of ctx.callback goes to its instance, as
 * pawl_complete says. */
pawl_code pawl_engine_complete(pawl_engine *e, pawl_str token,
                               pawl_str request, pawl_buf *out,
                               pawl_error *err);
/* In a transaction that is held an event is stored and nobody is looked for:
 * who begins to wait meanwhile would see it as little as it sees him. This does
 * it once that is committed; what cannot be done is logged, and left to
 * pawl_signal_tidy. */
void pawl_signal_post_held(pawl_engine *e);
/* Routes what a process that died left behind in a shard, forgets what has
 * expired there: up to `max`, or PAWL_TIDY_MOST. *did: how many. */
enum { PAWL_TIDY_MOST = 500 };
pawl_code pawl_signal_tidy(pawl_engine *e, int shard, int max, int *did,
                           pawl_error *err);

#endif
