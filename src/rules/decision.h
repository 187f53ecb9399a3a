/* rules/decision.h: one instance to be decided on: how it stands in the store,
 * what has come in for it, the circumstances, and the plan that follows.
 *
 * A decision is a function: who calls it fills in everything but the plan, and
 * finds the plan filled in. Nothing else of the world is seen but what stands
 * in pawl_world, so that a test can decide a million times without a store or
 * a Lua state.
 *
 * Layer    rules: base, value and defs only.
 * Owns     its buffers and lists, which whoever has it keeps from one instance
 *          to the next. The definition and the crossing are borrowed.
 * Keeps    N6 nobody waits unseen: an instance that has not ended and waits for
 *             something that the store may hold has looked there since the
 *             commit with which it began to wait, or has a row on the agenda
 *             that is due. So one whose plan has told it to `look` runs
 *             nothing before it has, and a row is taken off, or put off, by a
 *             decision that saw all there is (pawl_decision_saw_all).
 *          N7 a decision during which memory was refused has failed, and is
 *             taken again: a text that could not be built looks like one
 *             that is not there (an event fits no key, a join has not
 *             fired). Lua's own memory does not count: it knows what to do. */
#ifndef PAWL_RULES_DECISION_H
#define PAWL_RULES_DECISION_H

#include "../base/clock.h"
#include "../base/id.h"
#include "../defs/result.h"
#include "crossing.h"
#include "plan.h"

#define PAWL_BUSY_LOOP 1000 /* immediate steps before an instance yields */
#define PAWL_SLOW_US 12500  /* a handler that others should not wait for */
/* What the key of an event may be: 1 to 255 bytes, none of them zero. */
#define PAWL_MAX_KEY 255

typedef struct pawl_decision pawl_decision;

/* What may run. */
typedef enum pawl_turn {
  PAWL_TURN_WHOLE,
  PAWL_TURN_LETTERS, /* it is held to take its inbox: no node */
  PAWL_TURN_UNIT     /* a step's own transaction is open: that step alone */
} pawl_turn;

/* A handler that is to run for a token that stands at `node`. */
typedef struct pawl_question {
  const pawl_token *token;
  const pawl_node *node;
  pawl_handler handler;
  pawl_str event, output; /* at NULL: none */
  pawl_str error;         /* what led here; at NULL: nothing has failed */
} pawl_question;

typedef struct pawl_letter pawl_letter;

/* A breakpoint that holds a token: who has set it and why, each may be empty,
 * and from when on it is none. */
typedef struct pawl_stop {
  pawl_str by, reason;
  int64_t until_us;
  int failed; /* its condition has: so it holds */
} pawl_stop;
/* The letter that says: breakpoints have changed. */
#define PAWL_HEED "heed"
#define PAWL_HALT_US (3600 * PAWL_SECOND) /* where nobody says for how long */

/* What a decision asks of the world. */
struct pawl_world {
  void *ud;
  const struct pawl_kind_rules *const *kinds; /* pawl_kinds */
  const pawl_alloc *alloc;
  const int64_t *refusals; /* requests for memory that were refused (N7) */
  pawl_idgen *ids;
  pawl_said *result; /* where `ask` leaves what came of it */
  int64_t max_bytes; /* of an instance's variables */
  int recoveries;    /* takeovers before it is suspended */
  int unknown_fail;  /* what nobody knows fails, rather than waits */
  int breaks;        /* breakpoints that are set, of whatever workflow */
  int64_t (*now)(void *ud);
  double (*random)(void *ud); /* 0 <= it < 1 */
  /* The same text, kept as long as the world: names of nodes and branches come
   * from definitions, so there are few. NULL: out of memory. */
  const char *(*name)(void *ud, pawl_str text);
  /* Runs a handler. PAWL_OK with *waits set: a step's or an undo's waits, and
   * nothing has come of it yet; d->naloft and d->may_wait say so. Sets
   * d->began_us and, once it has ended, d->took_us and d->passed_us. */
  pawl_code (*ask)(void *ud, pawl_decision *d, const pawl_question *q,
                   int *waits, pawl_error *err);
  /* So many more of what a limited definition may do in a minute: the plan is
   * to say so. PAWL_LIMIT: there are too many; there may be more in *wait_us,
   * or never, when that is -1. */
  pawl_code (*spend)(void *ud, pawl_decision *d, pawl_quota quota, int64_t n,
                     int64_t *wait_us, pawl_error *err);
  /* Takes an event with a key for the instance, from all others that would: it
   * has it from then on, whatever comes of the decision. *taken 0: another has
   * it, or it has expired. */
  pawl_code (*claim)(void *ud, pawl_decision *d, const pawl_letter *l,
                     pawl_str id, int *taken, pawl_error *err);
  /* Does a breakpoint hold the token before that node? Asked while `breaks` is
   * not 0. `stop` NULL: is there one at all, whatever its condition? Else err
   * says why that has failed. */
  int (*stops)(void *ud, pawl_decision *d, const pawl_token *t,
               const pawl_node *node, pawl_stop *stop, pawl_error *err);
  /* A step has ended, however. */
  void (*stepped)(void *ud, const pawl_decision *d, int32_t token,
                  pawl_node *node);
  /* Does the handler of this token wait? Asked while naloft is not 0. */
  int (*is_aloft)(void *ud, const pawl_decision *d, const pawl_token *t);
  /* Has this instance had its turn, so that others may go on? */
  int (*is_late)(void *ud, const pawl_decision *d);
  void (*trace)(void *ud, const pawl_decision *d, const char *node,
                const char *kind, int64_t elapsed_us, const char *outcome,
                const char *detail, int64_t due_us);
};

/* A row of the inbox, or an event that was found waiting for a key. */
struct pawl_letter {
  pawl_id no;
  pawl_buf kind, name, key, event_id, source, by, data;
  int has_key;
  int addressed;    /* an event sent to this instance by name */
  int kept;         /* it was found among the events */
  int32_t news_for; /* the token for which it was found and that has not been
                       asked about it; 0: it may have been */
  pawl_id came;     /* orders what was received in one instant */
  int64_t received_us;
};

static inline int pawl_letter_is(const pawl_letter *l, const char *kind) {
  return pawl_str_eqz(pawl_buf_str(&l->kind), kind);
}

/* What a token waits for, not a request. */
static inline int pawl_letter_is_news(const pawl_letter *l) {
  return pawl_letter_is(l, "event") || pawl_letter_is(l, "task") ||
         pawl_letter_is(l, "child");
}

/* An item of an each that is to be begun, or a result: as loaded. */
typedef struct pawl_item {
  int32_t token;
  int64_t visit; /* the token's, when it was loaded */
  int64_t no;
  pawl_buf data; /* JSON */
} pawl_item;

struct pawl_decision {
  const pawl_world *world;
  const pawl_alloc *alloc; /* the world's */
  pawl_said *result;       /* the world's: of the handler that ran last */
  /* ---- whom it is about ---- */
  pawl_id id;
  char id_text[37];
  pawl_def *def; /* NULL: unknown to us and the store */
  pawl_buf workflow;
  int64_t version;
  pawl_buf input;
  int64_t max_bytes;  /* and that of its variables; 0: as the world says */
  int64_t created_us; /* known where kept events were found */
  int has_parent;
  pawl_id parent;
  pawl_buf parent_place; /* stored.h; empty: none */
  /* ---- as it is stored, and as each commit leaves it ---- */
  int64_t commits, seq; /* how many; the newest row of history */
  pawl_state state;
  pawl_buf vars; /* JSON object; empty: {} */
  /* ---- what came in ---- */
  pawl_letter *letters; /* in order of arrival; slots keep their buffers */
  int nletters, letters_cap;
  int unread;       /* events lie there that are not at hand */
  int64_t read_us;  /* engine/work/mail.h, M1: when the last was received that
                      may come before what was not read; PAWL_NEVER: all was */
  pawl_item *items; /* the next of each each, in order; or, once all are done,
                       its results */
  int nitems, items_cap;
  int has_items; /* since the last commit: what the eaches want next was read */
  pawl_buf undo; /* compensation: a page of the steps to undo, newest first, as
                    JSON: [{"seq","node","visit","token"},...] */
  int undo_last; /* none is older than the page's */
  int64_t undo_total; /* of the whole plan, as counted when it was made */
  int undo_gone;      /* history was trimmed: nobody knows the whole plan */
  int64_t undo_again; /* as the record has it: pawl_compensation */
  int64_t undo_seq;   /* the step that the next ones belong to; 0: none */
  pawl_buf undo_output, undo_data; /* JSON: its own, and its token's */
  const char *undo_branch;         /* its token's */
  pawl_buf
      undo_transfers; /* the rows that say by which names nodes went before, as
                          found when the plan was made: JSON; empty: none */
  pawl_crossing *crossing; /* what the first letter that asks for a transfer to
                              another version needs; NULL: there is none */
  /* ---- the circumstances ---- */
  int takeovers; /* counted by this claim too */
  int taken;     /* from a dead executor, by this claim; until that stands in
                    its history */
  pawl_id taken_from;
  int rounds; /* immediate steps under this lease */
  pawl_turn turn;
  int one_by_one; /* its next decision is stored by itself */
  int may_wait;   /* there is room for one more handler that waits */
  int naloft;     /* handlers of it that wait */
  /* ---- the handler that ran last ---- */
  int32_t running_token; /* its token */
  int64_t began_us;      /* for its record */
  int64_t took_us;       /* that passed until it ended, also while it waited */
  int64_t passed_us;     /* the same as it counts for its timeout: not what the
                            clock was set by */
  int64_t lines; /* that it wrote to the log, of a limited definition */
  pawl_str base; /* the variables that it had, where they may be others by now;
                    at NULL: as they are */
  pawl_plan plan;
};

/* NULL-safe on an all-zero decision. */
void pawl_decision_init(pawl_decision *d, const pawl_world *world);
void pawl_decision_deinit(pawl_decision *d);

/* N6: nothing has begun to wait since the store was asked. May its plan leave
 * the instance to itself? It has ended, with no request left, or is suspended,
 * or was decided on all that the store held, and nothing in it begins to
 * wait. */
int pawl_decision_saw_all(const pawl_decision *d);
/* Does the plan change what most leave as it is (PAWL_STATE_SELDOM), or the
 * lone token's own columns? */
int pawl_decision_has_seldom(const pawl_decision *d);
/* A committed plan is the state now. */
void pawl_decision_accept(pawl_decision *d);

static inline void pawl_look_again(pawl_decision *d) {
  if (d->plan.look == PAWL_LOOK_NO) d->plan.look = PAWL_LOOK_AGAIN;
}
/* M3: letters that may come next were not read. */
static inline int pawl_is_behind(const pawl_decision *d) {
  return d->read_us < PAWL_NEVER;
}
static inline int64_t pawl_decision_now(const pawl_decision *d) {
  return d->world->now(d->world->ud);
}
static inline double pawl_decision_random(const pawl_decision *d) {
  return d->world->random(d->world->ud);
}
static inline void pawl_decision_trace(const pawl_decision *d,
                                       const char *node, const char *kind,
                                       int64_t elapsed_us, const char *outcome,
                                       const char *detail, int64_t due_us) {
  d->world->trace(d->world->ud, d, node, kind, elapsed_us, outcome, detail,
                  due_us);
}
/* How long it may take in all, as its start or else its definition says; not
 * above 0: as long as it likes. */
static inline int64_t pawl_decision_lasts(const pawl_decision *d) {
  const int64_t own = d->plan.state.lasts;
  return own ? own : d->def->deadline_us;
}
/* How many bytes its variables may have: a start may say less than the engine,
 * not more. */
static inline int64_t pawl_decision_max_bytes(const pawl_decision *d) {
  return d->max_bytes && d->max_bytes < d->world->max_bytes
             ? d->max_bytes
             : d->world->max_bytes;
}
static inline const char *pawl_decision_name(const pawl_decision *d,
                                             pawl_str text) {
  return d->world->name(d->world->ud, text);
}
/* The same of a member that is a text; NULL: there is none, or (*failed is
 * set) no memory. */
const char *pawl_world_name(const pawl_world *w, pawl_str object,
                            const char *member, int *failed);

/* ---- where it stands in the plan ---- */

static inline pawl_token *pawl_tok(pawl_decision *d, int k) {
  return &d->plan.state.tokens.at[k];
}
static inline int pawl_tok_live(pawl_decision *d, int k) {
  return pawl_token_is_live(pawl_tok(d, k)->state);
}
/* Node of a token; NULL when the definition has none of that name. */
const pawl_node *pawl_tok_node(pawl_decision *d, int k);
/* What was done is being undone. */
static inline int pawl_is_undoing(const pawl_decision *d) {
  return pawl_undo_is_under_way(&d->plan.state.undo);
}
/* It was cancelled, and cleans up. */
static inline int pawl_is_cleaning(const pawl_decision *d) {
  return pawl_state_is_cleaning(&d->plan.state);
}
/* By a node, and then it goes on: meanwhile all others stand still, and what
 * comes for them lies where it is. */
static inline int pawl_is_undoing_part(const pawl_decision *d) {
  return pawl_is_undoing(d) && d->plan.state.undo.by;
}
/* Nothing of it goes on now: it ends, or what was done is undone. */
static inline int pawl_is_over(const pawl_decision *d) {
  return d->plan.after == PAWL_AFTER_END || pawl_is_undoing(d);
}
/* Its handler waits: it has begun and not ended. */
static inline int pawl_is_aloft(const pawl_decision *d, const pawl_token *t) {
  return d->naloft && d->world->is_aloft(d->world->ud, d, t);
}
/* The number that the newest record will have. */
static inline int64_t pawl_record_seq(const pawl_decision *d) {
  return d->seq + d->plan.nrecords;
}
/* It has ended, and nothing decided so far brings it back. */
/* One that fails keeps its events: a retry or a restart may take them, in the
 * order in which they came, also that whose own record the store refused. */
static inline int pawl_keeps_events(const pawl_decision *d) {
  return d->plan.state.status == PAWL_STATUS_FAILED;
}
static inline int pawl_stays_ended(const pawl_decision *d) {
  return pawl_status_has_ended(d->state.status) && !d->plan.revives;
}

#endif
