/* engine/internal.h: what the engine's own files share. Nobody else includes
 * it.
 *
 * A tick is claim -> load -> run -> decide -> commit. The instances under
 * lease stand in `held`, each with what was loaded and, once it has run, the
 * plan that follows; slots and their buffers are reused, so that a step in a
 * steady state allocates nothing here.
 *
 * Keeps    N1 a slot in use is under our lease, as far as we know.
 *          N2 a plan that is set is either committed, or kept until the store
 *             says what became of it; its handler does not run again.
 *          N3 an instance that was taken over runs while nothing else is
 *             held (promise 7). */
#ifndef PAWL_ENGINE_INTERNAL_H
#define PAWL_ENGINE_INTERNAL_H

#include "../base/clock.h"
#include "../base/id.h"
#include "../base/log.h"
#include "../base/process.h"
#include "../defs/registry.h"
#include "../host/host.h"
#include "../store/store.h"
#include "engine.h"
#include "plan.h"

#define PAWL_MAX_BATCH 1024
#define PAWL_MAX_LEASE_US (3600 * PAWL_SECOND) /* leases end within this */
#define PAWL_LOST_CLAIMS 16
#define PAWL_BUSY_LOOP 1000 /* immediate steps before an instance yields */

typedef enum pawl_slot_state {
  PAWL_SLOT_FREE,
  PAWL_SLOT_READY,   /* the token is active, or due: to be run */
  PAWL_SLOT_PLANNED, /* its plan waits for the commit */
  PAWL_SLOT_UNKNOWN  /* its plan was sent and the answer lost */
} pawl_slot_state;

enum { PAWL_LOADED_ROW = 1, PAWL_LOADED }; /* the row; inbox and definition */

typedef struct pawl_held {
  pawl_slot_state state;
  int shard;
  pawl_id id, lease;
  char id_text[37];
  int64_t lease_until_us;
  int64_t due_before_us;
  int takeovers; /* counted by this claim too */
  int taken;     /* from a dead executor, by this claim */
  pawl_id taken_from;
  int latch;         /* as loaded */
  int reset;         /* the agenda row has takeovers or a latch to reset */
  int begun;         /* a handler of it has run under this lease */
  int rounds;        /* immediate steps under this lease */
  int loaded;        /* PAWL_LOADED: it may run */
  int pin;           /* started without a version: this one is to be stored */
  int foreign;       /* its definition cannot run here: give it back */
  int transactional; /* its plan was made inside an open unit */
  pawl_def *def;     /* NULL: unknown to us and the store */
  pawl_buf workflow;
  int64_t workflow_version, revision;
  /* the instance as loaded, and as each commit leaves it */
  pawl_status status;
  int64_t version, seq, visit, attempt, token_due_us, started_us;
  int has_token, waiting;
  pawl_buf node, previous;
  pawl_buf tenant, correlation;
  int has_tenant, has_correlation;
  pawl_buf input, vars;
  /* what the inbox asked for */
  int recorded; /* that it was taken over stands in its history */
  int cancel;
  pawl_buf cancellation; /* JSON */
  pawl_buf inbox;        /* 16 bytes each: numbers of rows taken */
  pawl_plan plan;
} pawl_held;

/* Do we serve this version, and with which definition? */
typedef struct pawl_route {
  pawl_buf workflow;
  int64_t version;
  int served;
  int64_t refused;       /* the revision that cannot run here */
  int64_t until_mono_us; /* look again after that */
} pawl_route;

struct pawl_engine {
  pawl_config config; /* defaults filled in */
  pawl_alloc alloc;
  pawl_log log;
  pawl_clock clock;
  pawl_buf group, prefixes;
  pawl_store *store;
  pawl_host *host;
  pawl_registry *registry;
  pawl_idgen ids;
  pawl_args args;
  pawl_id executor;
  pawl_process self;
  int registered;          /* our executor row is there */
  int64_t beat_mono_us;    /* next heartbeat of that row */
  int64_t recover_mono_us; /* next look for dead neighbours */
  int64_t clock_offset_us; /* store time minus host time */
  uint64_t random;
  int nshards, next_shard;
  int open_unit;        /* statements sent in a transactional step's open
                              transaction; 0: none is open */
  int64_t sql_limit_us; /* of one ctx.db:query */
  volatile int interrupted;
  int64_t pid;
  /* held instances */
  pawl_held *held;
  int nheld_slots, nheld;
  int alone; /* what is held was taken over: nothing beside it */
  /* what the last look showed */
  pawl_route *routes;
  int nroutes, routes_cap;
  int fresh_ready, suspect_ready;
  int64_t next_due_us;
  int64_t look_mono_us; /* when routes and timers are looked at again */
  int64_t run_avg_us;   /* moving average of a handler's time */
  int64_t wake_mono_us; /* no other wake-up before that */
  pawl_result result;
  int query_failed;       /* in the open transaction: this step has failed */
  pawl_error query_error; /* the first one */
  struct {                /* claims whose answer was lost */
    int shard;
    pawl_id lease;
  } lost_claims[PAWL_LOST_CLAIMS];
  int nlost_claims;
  struct pawl_pulse *pulse; /* NULL: no helper thread was asked for */
  pawl_held *running;       /* whose handler runs now */
  pawl_stats *stats;        /* of the tick under way */
};

/* engine.c */
double pawl_engine_random(pawl_engine *e);
void pawl_engine_trace(pawl_engine *e, const pawl_held *h, const char *node,
                       const char *kind, int64_t elapsed_us,
                       const char *outcome, const char *detail,
                       int64_t due_us);
void pawl_held_free(pawl_engine *e, pawl_held *h); /* the slot; no store */
void pawl_held_accept(pawl_held *h); /* a committed plan is the state now */

/* claim.c */
/* Reads what is due; then claims up to `want` instances into free slots, or
 * one that was taken over. *got: how many. */
pawl_code pawl_claim_look(pawl_engine *e, pawl_error *err);
pawl_code pawl_claim_more(pawl_engine *e, int want, int *got, pawl_error *err);
/* This one instance; *got 0: not there, not due, or held by another. */
pawl_code pawl_claim_one(pawl_engine *e, const pawl_id *id, int *got,
                         pawl_error *err);
/* Learns how far the store's clock is from the host's. */
pawl_code pawl_claim_clock(pawl_engine *e, pawl_error *err);
/* Gives back what claims took whose answer was lost. */
pawl_code pawl_claim_settle(pawl_engine *e, pawl_error *err);
/* Loads what has come in for slots whose latch is up. */
pawl_code pawl_claim_inbox(pawl_engine *e, pawl_error *err);
/* Looks again at the latch and the inbox of one held instance; its plan is
 * kept. PAWL_LEASE_LOST: it is not ours any more. */
pawl_code pawl_claim_reload(pawl_engine *e, pawl_held *h, pawl_error *err);
/* Gives back what is held without a plan. */
pawl_code pawl_claim_release(pawl_engine *e, pawl_error *err);
/* Extends the leases of everything held, when a third has passed. */
pawl_code pawl_claim_renew(pawl_engine *e, int force, pawl_error *err);
/* Our row among the executors, its heartbeat, and dead neighbours. */
pawl_code pawl_claim_housekeep(pawl_engine *e, pawl_error *err);

/* services.c */
/* What ctx may ask of the engine; ud is the engine, for e->running. */
extern const pawl_services pawl_engine_services;
/* An instance's attributes as JSON {"name":{"type","value"}}. */
pawl_code pawl_attributes_json(pawl_engine *e, int shard, const pawl_id *id,
                               pawl_buf *out, pawl_error *err);
/* Appends one attribute, given as {"type","value"} text, to the columns that
 * begin at argument `first` (type, text, date, bytes, float, number,
 * boolean: the same order in every statement). `scratch` keeps what the
 * columns borrow. */
pawl_code pawl_attribute_args(pawl_args *a, int first, pawl_str name,
                              pawl_str typed, pawl_buf *scratch,
                              pawl_error *err);

/* step.c */
/* Runs what stands next for a READY slot; leaves a plan. */
void pawl_step_run(pawl_engine *e, pawl_held *h);
/* How long the handler that stands next takes, as a rule; 0: no handler. */
int64_t pawl_step_expected_us(const pawl_held *h);
/* Is the step that stands next one that needs its own transaction? */
int pawl_step_is_transactional(const pawl_held *h);
/* Turns the slot's plan into one that cancels, keeping what it recorded. */
void pawl_step_cancel(pawl_engine *e, pawl_held *h);
/* Replaces the slot's plan: the step it came from has failed after all, and
 * nothing of it was stored. */
void pawl_step_fail(pawl_engine *e, pawl_held *h, const pawl_error *why);
/* Replaces the slot's plan after the store refused it: the instance fails. */
void pawl_step_refused(pawl_engine *e, pawl_held *h, const pawl_error *why);

/* commit.c */
/* Writes every PLANNED slot, settles every UNKNOWN one. Slots come back
 * READY, FREE, or, when the store is out of reach, UNKNOWN with an error. */
pawl_code pawl_commit_all(pawl_engine *e, pawl_error *err);
/* Is it what was sent that the store will not have, rather than anything? */
int pawl_commit_is_refusal(const pawl_error *err);
/* Sends agenda_lock for these slots of one shard: the first statement of
 * every commit. */
pawl_code pawl_commit_lock(pawl_engine *e, pawl_held **list, int n,
                           pawl_error *err);
/* Sends one slot's plan into the unit that is open, and ends that. On failure
 * the unit is rolled back, or, PAWL_UNREACHABLE, its end is unknown. */
pawl_code pawl_commit_open(pawl_engine *e, pawl_held *h, pawl_error *err);

/* register.c */
/* Makes the definition known to the store, or finds it there. */
pawl_code pawl_register(pawl_engine *e, pawl_def *def, pawl_error *err);
/* The definition that runs (code, version; 0: the newest): ours, or the stored
 * one when `revision` (0: any) differs. NULL: unknown to both. *foreign: the
 * store has it, but it cannot or may not run here. */
pawl_code pawl_definition(pawl_engine *e, const char *code, int64_t version,
                          int64_t revision, pawl_def **out, int *foreign,
                          pawl_error *err);

#endif
