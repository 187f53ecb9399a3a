/* engine/common/engine_struct.h: the engine itself, one struct for all rooms.
 *
 * Who needs a field of it includes this; who only passes an engine on does
 * not. What a room or a file keeps there from tick to tick stands under its
 * name; others ask, or say that it is to look again (woken, fresh_ready,
 * look_mono_us, deliver_mono_us, reach_look_us, an offer's until_mono_us).
 *
 * Layer    engine/common, above store; of host.h the types alone.
 * Owns     all of it from pawl_engine_open to pawl_engine_close (engine.c).
 * Threads  one engine, one thread, but for `interrupted`. */
#ifndef PAWL_ENGINE_COMMON_ENGINE_STRUCT_H
#define PAWL_ENGINE_COMMON_ENGINE_STRUCT_H

#include <inttypes.h>

#include "../../base/clock.h"
#include "../../base/id.h"
#include "../../base/log.h"
#include "../../base/process.h"
#include "../../base/ration.h"
#include "../../defs/registry.h"
#include "../../host/host.h"
#include "../../rules/decision.h"
#include "../../store/store.h"
#include "pipeline.h"
#include "trust.h"

#define PAWL_MAX_BATCH 1024
#define PAWL_DEFAULT_GROUP "default" /* so does the index instance_group say */
#define PAWL_MAX_LEASE_US (3600 * PAWL_SECOND) /* leases end within this */
#define PAWL_LOST_CLAIMS 16
#define PAWL_COUNTED_US (15 * 60 * PAWL_SECOND) /* counters have minutes */

/* Do we serve this version, and with which definition? */
typedef struct pawl_offer {
  pawl_buf workflow;
  int64_t version;
  int served;
  int64_t refused;       /* the revision that cannot run here */
  int64_t until_mono_us; /* look again after that */
  int has_share;         /* its handlers have a share of the places to wait */
  int missed;            /* it was said that nobody knows it */
  int is_short;          /* no memory was found for it */
} pawl_offer;

/* May a claim come before the look that shows what is due? */
typedef enum pawl_ahead {
  PAWL_AHEAD_MAY,     /* after a wake-up it does */
  PAWL_AHEAD_DONE,    /* the last one did: a look comes before the next */
  PAWL_AHEAD_IN_VAIN, /* the same, and it found nothing */
  PAWL_AHEAD_NOT      /* nor did a look since: until one finds something */
} pawl_ahead;

/* Steps that a token ran in a row; see spin.h. */
#define PAWL_SPIN_SLOTS 64
typedef struct pawl_spin {
  pawl_id id;
  int32_t token;
  int steps, told;
} pawl_spin;

/* Times that its step's transaction was undone, and nothing stored since. */
typedef struct pawl_rollbacks {
  pawl_id id;
  int64_t commits;
  int n;
} pawl_rollbacks;

/* What is told of a transactional step, once it is committed: told.h. */
enum { PAWL_TOLD_MAX = 4 };
typedef struct pawl_told {
  struct {
    pawl_trace trace;
    pawl_buf text; /* of what it points at */
    size_t instance, workflow, detail;
  } at[PAWL_TOLD_MAX];
  int n;
} pawl_told;

/* What it takes to do something with n at once: averages that forget, and how
 * the time goes with n; see chore.h. */
typedef struct pawl_cost {
  double n, us, nn, nus;
  int seen;
} pawl_cost;

/* What a tick does besides steps, a piece at a time. */
typedef struct pawl_chore {
  pawl_cost cost;       /* of rows */
  int put_off;          /* so many ticks in a row, the last of which began */
  int64_t tick_mono_us; /* then */
} pawl_chore;

/* What the time of a tick goes into. */
typedef enum pawl_spent {
  PAWL_SPENT_REST, /* looking, delivering */
  PAWL_SPENT_CLAIM,
  PAWL_SPENT_LOAD,
  PAWL_SPENT_RUN,
  PAWL_SPENT_COMMIT,
  PAWL_SPENT_WAIT, /* for others' locks, whatever they were for */
  PAWL_SPENT_KEEP, /* keeping house: chores, and heartbeats */
  PAWL_NSPENT
} pawl_spent;

typedef struct pawl_budget {
  int64_t began_mono_us;
  int64_t until_mono_us; /* PAWL_NEVER: it has no end */
  int is_short;          /* of who draws frames: see budget.h */
  int claims, ran;       /* claims made, handlers begun since */
  int is_slow;           /* the last handler was: others run what is left */
  int planned;           /* of those that ran: not committed yet */
  pawl_cost claim, commit;
  pawl_spent on; /* what the time goes into now */
  int64_t since_mono_us, waited_us;
  int64_t spent_us[PAWL_NSPENT];
  int is_on;         /* a tick is under way: chores go by it */
  int64_t chores_us; /* what they took of it */
  int put_off;       /* how many of them */
} pawl_budget;

/* What is taken away in units whose size goes by how long they take, see
 * act/pace.h. */
typedef enum pawl_paced {
  PAWL_PACED_ROWS,     /* of instances that have ended */
  PAWL_PACED_ARCHIVED, /* the same, in the unit that archives them */
  PAWL_PACED_OUTBOX,
  PAWL_PACED_TASKS,
  PAWL_PACED_ATTRIBUTES, /* of so many instances that were purged */
  PAWL_PACED_AUDIT,
  PAWL_PACED_EVENTS,
  PAWL_PACED_REVISIONS,
  PAWL_PACED_EXECUTORS,
  PAWL_PACED_PAGES, /* that a SQLite file gives back */
  PAWL_NPACED
} pawl_paced;

/* Events that were assigned to one of those that wait, and that nobody is known
 * to have taken. */
typedef struct pawl_assigned {
  int64_t again_us; /* when they are looked at, by the engine's clock; 0: there
                       are none */
  pawl_buf names;   /* of `n` of them: tenant, and source ':' id */
  int n, others;    /* others: there are more */
  int look;         /* at what others have left, when there is time for it */
  /* one that is being assigned again, over more than one tick */
  pawl_buf rest; /* its tenant, source and id, each with a zero; or empty */
  int shard, tries;
  int64_t since_us; /* behind whom it goes on */
  pawl_id after;
} pawl_assigned;

/* Whose letter is taken once a held transaction is committed. */
typedef struct pawl_asked_held {
  pawl_id id;
  int seize; /* from whoever holds it */
} pawl_asked_held;

struct pawl_engine {
  /* ---- everybody's ---- */
  pawl_config config; /* defaults filled in */
  pawl_alloc given;   /* the config's: of what outlives the engine */
  pawl_ration ration; /* how much of it this engine has */
  pawl_alloc plain;   /* the ration's, for Lua, what it gives, and answers */
  pawl_alloc alloc;   /* the same, and counts in `refusals` (N7) */
  int64_t refused;    /* the ration's, when less was held for it last */
  int64_t roomed;     /* and when room was made for it, */
  int64_t left;       /* which left so many bytes in use */
  int64_t refusals;   /* requests for memory that were refused */
  pawl_log log;
  pawl_clock clock, passed; /* the time; and for how long handlers wait */
  int64_t clock_offset_us;  /* store time minus host time */
  uint64_t random;          /* time.c */
  pawl_buf group, prefixes, schema, retain;
  pawl_trust trust; /* of what it loads, and the most of what is stored */
  pawl_buf tenant;  /* whose it is; empty: nobody's, all is seen */
  pawl_store *store;
  pawl_host *host;
  pawl_registry *registry;
  pawl_world world;     /* what decisions see of all this: work/run.c */
  int64_t turn_mono_us; /* when the instance that runs had its turn */
  pawl_idgen ids;
  pawl_args args;
  pawl_id executor;
  char executor_text[37]; /* as handlers are shown it */
  pawl_process self;
  int nshards;
  struct pawl_names *names; /* names.c */
  /* ---- the roof's ---- */
  volatile int interrupted;
  int inside; /* calls of pawl.h under way */
  int64_t pid;
  pawl_tick_stats *stats;   /* of the tick under way */
  int64_t held_off_mono_us; /* since when ticks do nothing, as others hold the
                               file; 0: they do */
  int64_t
      relook_mono_us; /* after a wake-up: there may have been more; 0: no */
  /* ---- common: batches under way, see pipeline.h; waking ---- */
  pawl_sent sent[PAWL_MAX_SUBMITTED]; /* a ring */
  int oldest_sent, nsent;
  int64_t wake_mono_us;     /* no other wake-up before that */
  int woken;                /* somebody says that there is something to do */
  pawl_buf store_name;      /* wake.c */
  struct pawl_waker *waker; /* NULL: the program is not told */
  int64_t sql_limit_us;     /* of one statement of a user's */
  /* ---- common: what is to be done once the transaction that a user holds is
   * committed, transaction.c ---- */
  struct {
    int wake;
    int give_back; /* what a tick has left goes back: what runs has changed */
    pawl_buf events; /* to be posted: of each its tenant, source and id, zeros
                        behind them */
    pawl_buf asked;  /* pawl_asked_held of instances that have a letter */
    pawl_buf filed;  /* ids of those that were archived, and have more rows
                        than go at once */
    int64_t rows;    /* that purges in it have taken away */
    pawl_buf levels; /* how far all these were as each began */
  } after_held;
  char secret[80]; /* common/callback.h; "": not read yet */
  /* ---- versions ---- */
  int64_t store_epoch; /* the one that knows us and our definitions */
  int graph_only;      /* no code is to be loaded from the store now */
  /* ---- act: pace.c, prune.c ---- */
  int unit_rows[PAWL_NPACED]; /* that one takes; 0: none of these was yet */
  int64_t unit_mono_us;       /* when the one under way had its locks */
  int64_t longest_us;         /* of units that took rows away */
  struct pawl_pace *pace;     /* of a sweep under way; NULL: it rests not */
  int64_t prune_mono_us;      /* no piece before that */
  int64_t retain_mono_us;     /* stored definitions are asked again then: */
  int stored_retain;          /* do any say how long theirs are kept? */
  pawl_chore sweep;           /* a piece of it; its cost is of the house */
  pawl_cost sweep_costs[PAWL_NPACED]; /* of rows, of each stage */
  int64_t taken_rows;                 /* by all units so far */
  int piece_rows; /* of the piece under way: a unit has no more; 0: no end */
  /* ---- work: held instances, slots.h ---- */
  struct pawl_held **held; /* room for pawl_held_max */
  int nheld_slots; /* made so far: what is never used costs no memory */
  int nheld;
  int ntrims;     /* plans whose instances are to be trimmed, trim.h */
  int last_found; /* a slot; what is looked for next is often behind it */
  struct pawl_held *alone; /* N3: taken over; NULL: no such */
  int alone_rests;         /* its handler waits, others may come in: alone.h */
  int alone_is_called;     /* it rests, and has something to go on with */
  struct pawl_held **order;     /* of a round, turns.h; room for each slot */
  struct pawl_held *first_turn; /* of those in use, pawl_held_put_last */
  struct pawl_held *last_turn;
  int64_t behind_us; /* of the last one, turns.c */
  /* ---- what the last look showed, offers.c and claim.c ---- */
  pawl_offer *offers;
  int noffers, offers_cap;
  int fresh_ready, suspect_ready;
  int held_up; /* ready, and of little trust, whose share of places is in use */
  int is_short;  /* ready, and no memory was found for their definition */
  int short_def; /* nor for the one that was asked for last */
  int kept_out; /* ready, and of those that wait, while all places are in use */
  int64_t next_due_us;
  int64_t looks;         /* made so far */
  int64_t look_mono_us;  /* when offers and timers are looked at again */
  pawl_store_marks mark; /* the store as it was then; `quiet`: that is known */
  int quiet;
  int64_t timer_mono_us; /* not before that for a timer that has come */
  /* ---- claims, claim.c and refill.c ---- */
  int next_shard;
  int most;         /* at once: a batch, or fewer while memory is short */
  int claiming;     /* slots that a claim under way may fill */
  int empty_shards; /* in a row that had less than was wanted */
  int64_t promoted; /* times that have come, and there was no place yet */
  pawl_ahead ahead;
  struct { /* claims whose answer was lost */
    int shard;
    pawl_id lease;
  } lost_claims[PAWL_LOST_CLAIMS];
  int nlost_claims;
  int owes_leases; /* of what was undone: the store may know some of ours that
                      nobody here holds */
  /* ---- durable.c: what was committed has to be on disk, at once, or within
   * flush_us ---- */
  int owes_save, owes_flush;
  /* ---- what fits in a tick, budget.c ---- */
  pawl_budget budget;
  /* ---- executors.c, heartbeat.c ---- */
  int registered;          /* our executor row is there */
  int careful;             /* claims are on disk before what they are for */
  int64_t beat_mono_us;    /* next heartbeat of that row */
  int64_t recover_mono_us; /* next look for dead neighbours */
  int64_t tidy_mono_us;    /* next look for events left behind */
  pawl_assigned assigned;  /* events of this process, enter/assign.h */
  int tidy_at;             /* what of that is done already, executors.c */
  int64_t counters_kept;   /* rows that were left when they were folded */
  pawl_chore orphans, events, counters, waiters, assigning;
  struct pawl_heartbeat *heartbeat; /* NULL: no helper thread was asked for */
  /* ---- breaks.c: breakpoints, as they were read; world.breaks of them ---- */
  pawl_buf breaks;     /* rows of breakpoint_list, kept */
  int *break_refs;     /* of their conditions; -1: it is not loaded */
  int64_t breaks_read; /* how often they had changed then */
  int64_t breaks_due;  /* as a claim has shown since; -1: no more often */
  /* ---- running ---- */
  pawl_said result;
  int64_t run_avg_us; /* moving average of a handler's time */
  pawl_spin spins[PAWL_SPIN_SLOTS];
  pawl_rollbacks rollbacks[PAWL_SPIN_SLOTS];
  struct pawl_quota_use *quotas; /* quota.c */
  int nquotas, quotas_cap;
  int quotas_swept; /* what was left from before is gone */
  /* ---- a transactional step, transactional.c ---- */
  struct pawl_step_unit *unit; /* slots.h; NULL: none is open */
  pawl_told told;              /* of it */
  /* ---- handlers that wait, await.c ---- */
  struct pawl_flight *flights; /* room for all that may wait */
  int nflight_slots;           /* of them, the first, were in use */
  int nflights;                /* that wait */
  int nlimited;                /* of them, those of limited definitions */
  int nwaiting;                /* slots that have any of them */
  int next_asked;              /* where the next round of asking begins */
  int ask_all;                 /* predicates too, once in each tick */
  int64_t await_look_us; /* when latches and leases are looked at again */
  struct pollfd *fds;    /* one for each slot and one for the store */
  struct pawl_flight **fd_flights; /* whose they are */
  pawl_buf base; /* variables, for who returns and had others than there are */
  /* ---- trim.c ---- */
  pawl_chore trim;
  pawl_id trims_owed[PAWL_SPIN_SLOTS]; /* put off, or not all of it done */
  /* ---- deliver.c ---- */
  int64_t deliver_mono_us; /* messages are looked for then; 0: at once, as a
                              commit wrote some */
  int deliver_pause;       /* one was kept: nothing before then */
  int deliver_more;        /* there was no time for all */
  int deliver_shard;       /* with which the next one begins */
  pawl_cost deliver_cost;  /* of those that go out together */
  /* ---- relay.c ---- */
  struct pawl_relay *relay; /* NULL: never asked for */
  /* ---- apply.c, reach.c ---- */
  const pawl_id *inbox_of; /* these are held for their inboxes: their code is
                              not loaded for that */
  int ninboxes;            /* how many; 0: none */
  int holding;             /* some are held for their inboxes */
  int let_go_due;          /* one was let go that others had waked meanwhile */
  pawl_chore ending;       /* children that have to end */
  int64_t reach_look_us;   /* next look for children that have to end; -1: at
                              once, as some were noted */
};
/* Where an instance, a task or an event with this id lives. */
static inline int pawl_shard_of(const pawl_engine *e, const pawl_id *id) {
  return pawl_id_home(id) % e->nshards;
}

/* PAWL_LIMIT when a text has more than the config's max_bytes. `what`: how the
 * message begins, "input has". */
static inline pawl_code pawl_check_bytes(const pawl_engine *e,
                                         const char *what, size_t len,
                                         pawl_error *err) {
  if ((int64_t)len <= e->config.max_bytes) return PAWL_OK;
  return pawl_fail(err, PAWL_LIMIT, "%s %zu bytes; the limit is %" PRId64,
                   what, len, e->config.max_bytes);
}

#endif
