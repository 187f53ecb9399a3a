/* engine/work/slots.h: the instances under lease.
 *
 * A tick is claim -> load -> run -> decide -> commit. The instances under
 * lease stand in `held`, each with what was loaded and, once it has run, the
 * plan that follows; slots and their buffers are reused, so that a step in a
 * steady state allocates nothing here.
 *
 * Layer    engine/work: nobody else holds an instance.
 * Keeps    N1 a slot in use is under our lease, as far as we know. One that is
 *             put ASIDE is so between ticks, and whoever takes it up asks the
 *             store first (aside.h).
 *          N2 a plan that is set is either committed, or kept until the store
 *             says what became of it; its handler does not run again.
 *          N3 an instance that was taken over runs while nothing else is
 *             held that could run (promise 7), one such at a time. While its
 *             handler waits for long, others come in: it rests (alone.h).
 *          N4 a slot whose handlers wait is READY, or has a plan of what came
 *             before or beside them: it is not given back, and nothing is
 *             decided of the tokens that they run for (pawl_decide_beside).
 *          N5 while a handler is under way its slot is in use: who frees the
 *             slot ends its handlers first, so that their ctx speaks for no
 *             other instance.
 *          N6, N7: see rules/decision.h. A slot that is to `look` runs
 *             nothing before it has. */
#ifndef PAWL_ENGINE_WORK_SLOTS_H
#define PAWL_ENGINE_WORK_SLOTS_H

#include <stddef.h>

#include "../../rules/decision.h"
#include "../common/engine_struct.h"

typedef enum pawl_slot_state {
  PAWL_SLOT_FREE,    /* until a claim fills it */
  PAWL_SLOT_READY,   /* the token is active, or due: to be run */
  PAWL_SLOT_PLANNED, /* its plan waits for the commit */
  PAWL_SLOT_SENT,    /* its plan was sent; see pipeline.h */
  PAWL_SLOT_UNKNOWN, /* its plan was sent and the answer lost: to be settled */
  PAWL_SLOT_LEAVING, /* its lease is being given back; then it is FREE */
  PAWL_SLOT_ASIDE    /* for the next tick, which makes it READY; see aside.h */
} pawl_slot_state;

/* What of it was read. */
typedef enum pawl_slot_load {
  PAWL_LOADED_NOTHING,
  PAWL_LOADED_ROW, /* its row alone */
  PAWL_LOADED      /* its inbox and definition, too: it may run */
} pawl_slot_load;

/* What becomes of it. Found with its definition (offers.c). */
typedef enum pawl_slot_fate {
  PAWL_FATE_STAYS,
  PAWL_FATE_PINNED, /* it was started without a version, and stays with this
                       one: that is stored with its next plan, and it STAYS */
  PAWL_FATE_FOREIGN /* its definition cannot run here, or another has written
                       meanwhile: it is given back, and runs nothing before */
} pawl_slot_fate;

/* A handler that waits, or is at hand. What it began from is in its own hands;
 * where its result belongs is said here. */
typedef struct pawl_flight {
  struct pawl_held *owner;  /* NULL: this place is free */
  struct pawl_flight *next; /* of the same slot */
  pawl_run *run;            /* NULL: it does not wait */
  pawl_handler handler;
  int32_t token;
  int64_t visit, attempt;
  int64_t vars_no;       /* the slot's, when it began */
  int64_t began_us;      /* for its record */
  int64_t waits_us;      /* since when, by pawl_await_now; of one that asks
                            again and again, since it asked first */
  int64_t busy_us;       /* spent in Lua */
  int64_t began_mono_us; /* for who is told how long it took */
  int64_t since_us;      /* when it began, by pawl_await_now */
  int64_t until_us;      /* its node's timeout, by the same */
  int64_t wake_us;       /* when what it waits for has passed, or is asked for
                           again */
  int64_t lines;         /* pawl_decision's, while it waits */
  int events;            /* of its descriptor, as found; -1: it is none */
  int is_limited;        /* its definition was, when it began to wait */
  int is_cut;            /* and its timeout is what its trust lets it have */
  /* It may be told both, in either order, and each once. */
  int told;    /* that its instance is cancelled, or has failed */
  int overdue; /* that its time is up */
} pawl_flight;

typedef struct pawl_held {
  pawl_slot_state state;
  pawl_slot_load loaded;
  pawl_look look; /* N6: as a stored plan has told, or because something has
                     come in; until load.c has looked */
  pawl_slot_fate fate;
  int64_t queued_mono_us; /* since when all that may wait do; 0: it can run */
  int64_t patience_us; /* for how long it waits then before its first step */
  int shard;
  pawl_id lease;
  int64_t lease_until_us;
  int64_t held_mono_us; /* since when it is held; and not run */
  int64_t idle_mono_us;
  struct pawl_held *before, *after; /* by their last turns, or claims */
  int64_t behind_us;                /* due then if it gives way: turns.c */
  int64_t was_due_us; /* since when it was due; 0: a handler of it has run
                            under this lease, so it is due anew */
  int latch;          /* as loaded */
  int64_t revision;   /* of its definition; 0: whichever runs */
  pawl_buf tenant, correlation;
  int has_tenant, has_correlation; /* null is not empty */
  int has_rare;    /* of PAWL_STATE_RARE, and it is not loaded yet */
  int parts;       /* rows that its variables are in; 0: its own */
  int vars_parts;  /* the same of those that the plan has changed */
  int nfound;      /* mail.c: letters, before a search */
  int64_t trimmed; /* its history up to there, as its holder knows; -1: not
                      looked */
  int trims;       /* it is to be trimmed before its plan is sent */
  int in_need;     /* times that its plan alone found no memory to be sent */
  pawl_flight flight;   /* of the handler at hand */
  pawl_flight *flights; /* those that wait: d.naloft of them, in e->flights */
  int64_t beside_us;    /* beside them something is due then */
  int64_t vars_no;      /* changes with its variables */
  int changed;          /* its row was not found, or not as it was */
  pawl_decision d; /* the instance, what came in, and the plan that follows */
} pawl_held;

/* A step's own transaction, for as long as it is open: e->unit. */
typedef struct pawl_step_unit {
  const pawl_held *owner;
  pawl_error failed; /* the first of its SQL, by which the step has failed,
                        whatever its handler makes of that; PAWL_OK: none */
} pawl_step_unit;

/* Is it the turn of one that was taken over, before all that is fresh? */
static inline int pawl_alone_is_next(const pawl_engine *e) {
  return e->suspect_ready && !e->alone;
}

/* N3: may others be held and run, too? */
static inline int pawl_alone_lets_in(const pawl_engine *e) {
  return !e->alone || e->alone_rests;
}

/* All slots that were made, free ones too. */
#define PAWL_EACH_SLOT(e, h)               \
  for (pawl_held **h##_at = (e)->held, *h; \
       h##_at < (e)->held + (e)->nheld_slots && (h = *h##_at); h##_at++)
/* All handlers that wait; `f` may be freed meanwhile. */
#define PAWL_EACH_FLIGHT(e, f)                                               \
  for (pawl_flight *f = (e)->flights; f < (e)->flights + (e)->nflight_slots; \
       f++)                                                                  \
    if (f->owner)
/* Members of a statement's arguments: of a row of its, and of one that is found
 * or written under the lease alone. */
#define PAWL_SLOT_MEMBERS(h) .shard = (h)->shard, .id = &(h)->d.id
#define PAWL_LEASE_MEMBERS(h) PAWL_SLOT_MEMBERS(h), .lease = &(h)->lease

/* Handlers that may wait at one time; and, while all these places are in use,
 * those that are the first to wait of their definition (flight.c). */
#define PAWL_PLACES(e) \
  ((e)->config.concurrency + (e)->config.concurrency / 8 + 1)
/* So many come at once where there is no place, and the same number goes. */
#define PAWL_CROWD(e) (((e)->config.batch + 3) / 4)

/* The slot that is decided on. */
static inline pawl_held *pawl_held_of(pawl_decision *d) {
  return (pawl_held *)((char *)d - offsetof(pawl_held, d));
}

/* It is to look, and for no less than it was told before. */
static inline void pawl_held_look(pawl_held *h, pawl_look look) {
  if (look > h->look) h->look = look;
}

/* `*n` are about to be claimed: makes slots for them, and says in `*n` for how
 * many there is one; 0: what is held has to go first. NOMEM when it is short
 * for the first, and nothing is held. */
pawl_code pawl_held_make(pawl_engine *e, int *n, pawl_error *err);
/* A free slot; NULL: more came than pawl_held_make was told of. */
pawl_held *pawl_held_get(pawl_engine *e);
int pawl_held_max(const pawl_engine *e);
/* Frees what was loaded for a transfer to another version. */
void pawl_held_forget(pawl_engine *e, pawl_held *h);
void pawl_held_close(pawl_engine *e); /* all of them */
/* Gives back the free slots at the end: between calls alone, as rounds and
 * visits point to those that they had. */
void pawl_held_drop(pawl_engine *e);
/* Gives back what free slots have kept. */
void pawl_held_shrink(pawl_engine *e);
/* It was claimed, or has its turn: those in use are in that order, from
 * e->first_turn on. */
void pawl_held_put_last(pawl_engine *e, pawl_held *h);
void pawl_held_free(pawl_engine *e, pawl_held *h); /* the slot; no store */
/* The same for one that is another's now. `why` NULL: it was told already. */
void pawl_held_lose(pawl_engine *e, pawl_held *h, const pawl_error *why);
/* As its lease was taken back. `then`: ", before it ran here". */
void pawl_held_lose_lease(pawl_engine *e, pawl_held *h, const char *then);
/* `lease` NULL: whatever it is. NULL: not held. */
pawl_held *pawl_held_find(pawl_engine *e, const pawl_id *id,
                          const pawl_id *lease);
/* That one, if it can go on at once; NULL: it cannot, or is not held. */
pawl_held *pawl_held_ready(pawl_engine *e, const pawl_id *id);
/* Does the row of agenda_get say that it is ours still? *latch: as it says. */
int pawl_held_is_ours(const pawl_held *h, const pawl_rows *rows, int *latch);
void pawl_held_accept(pawl_held *h); /* a committed plan is the state now */

#endif
