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
 *             held (promise 7), also while its handler waits.
 *          N4 a slot whose handler waits is READY, or has a plan of what came
 *             before that handler: it is neither decided nor given back.
 *          N5 while a handler is under way its slot is in use: who frees the
 *             slot ends the handler first, so that its ctx speaks for no
 *             other instance.
 *          N6 nobody waits unseen: an instance that has not ended and waits for
 *             something that the store may hold has looked there since the
 *             commit with which it began to wait, or has a row on the agenda
 *             that is due. So a slot that is told to look runs nothing before
 *             it has (pawl_held_has_looked), and a row is taken off, or put
 *             off, by a decision that saw all there is (pawl_held_saw_all).
 *          N7 a decision during which memory was refused has failed, and is
 *             taken again: a text that could not be built looks like one
 *             that is not there (an event fits no key, a join has not
 *             fired). Lua's own memory does not count: it knows what to do. */
#ifndef PAWL_ENGINE_INTERNAL_H
#define PAWL_ENGINE_INTERNAL_H

#include "../base/clock.h"
#include "../base/id.h"
#include "../base/log.h"
#include "../base/process.h"
#include "../defs/registry.h"
#include "../host/host.h"
#include "../rules/plan.h"
#include "../store/store.h"
#include "engine.h"
#include "versions/crossing.h"

#define PAWL_MAX_BATCH 1024
#define PAWL_MAX_LEASE_US (3600 * PAWL_SECOND) /* leases end within this */
#define PAWL_LOST_CLAIMS 16
#define PAWL_MAX_CONCURRENCY 10000
#define PAWL_WAKE_EVERY_US 3000 /* at most */
#define PAWL_BUSY_LOOP 1000     /* immediate steps before an instance yields */
#define PAWL_SLOW_US 12500      /* a handler that others should not wait for */

typedef enum pawl_slot_state {
  PAWL_SLOT_FREE,
  PAWL_SLOT_READY,   /* the token is active, or due: to be run */
  PAWL_SLOT_PLANNED, /* its plan waits for the commit */
  PAWL_SLOT_SENT,    /* its plan was sent; see pipeline.h */
  PAWL_SLOT_UNKNOWN  /* its plan was sent and the answer lost */
} pawl_slot_state;

enum { PAWL_LOADED_ROW = 1, PAWL_LOADED }; /* the row; inbox and definition */

/* A handler that waits: the instance stands still meanwhile. What it began
 * from is in its own hands; where its result belongs is said here. */
typedef struct pawl_flight {
  pawl_run *run; /* NULL: none */
  pawl_handler handler;
  int32_t token;
  int64_t visit, attempt;
  int64_t began_us;      /* for its record */
  int64_t busy_us;       /* spent in Lua */
  int64_t began_mono_us; /* for who is told how long it took */
  int64_t until_us;      /* its node's timeout, by pawl_await_now */
  int64_t wake_us;       /* when what it waits for has passed, or is asked for
                           again */
  int events;            /* of its descriptor, as found */
  int asked;             /* it had its turn in this round */
  int told;              /* that its instance is cancelled */
  int overdue;           /* it was told that its time is up */
} pawl_flight;

/* A row of the inbox, or an event that was found waiting for a key. */
typedef struct pawl_letter {
  pawl_id no;
  pawl_buf kind, name, key, event_id, source, caller, data;
  int has_key;
  int addressed;    /* an event sent to this instance by name */
  int kept;         /* it was found among the events */
  int32_t news_for; /* the token for which it was found and that has not been
                       asked about it; 0: it may have been */
  pawl_id came;     /* orders what was received in one instant */
  int64_t received_us;
} pawl_letter;

/* An item of an each that is to be begun, or a result: as loaded. */
typedef struct pawl_item {
  int32_t token;
  int64_t visit; /* the token's, when it was loaded */
  int64_t no;
  pawl_buf data; /* JSON */
} pawl_item;

typedef struct pawl_held {
  pawl_slot_state state;
  int going;              /* it is being given back */
  int64_t queued_mono_us; /* since when all that may wait do; 0: it can run */
  int succeeds;           /* it was claimed while handlers waited */
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
  int look;          /* N6: load.c is to look again before it runs: a wait has
                        begun, an each wants items */
  int stale;         /* N6: something may lie in its inbox that was not read */
  int pin;           /* started without a version: this one is to be stored */
  int foreign;       /* its definition cannot run here: give it back */
  int transactional; /* its plan was made inside an open unit */
  int32_t running_token; /* whose handler ran last */
  int solo;              /* N3: nothing is claimed beside it */
  int apply_only;        /* held to take its inbox; no node may run */
  int letters_left;      /* of them, for who may run nodes */
  int one_by_one;        /* its next decision is stored by itself */
  pawl_def *def;         /* NULL: unknown to us and the store */
  pawl_buf workflow;
  int64_t workflow_version, revision;
  /* the instance as loaded, and as each commit leaves it */
  pawl_status status;
  int64_t version, seq, visit, started_us;
  int64_t created_us; /* known where kept events were found */
  pawl_tokens tokens; /* the live ones */
  int32_t last_token;
  const char *node, *previous; /* interned */
  pawl_buf tenant, correlation;
  int has_tenant, has_correlation;
  pawl_buf input, vars;
  int parts; /* rows that its variables are in; 0: its own */
  int64_t sent, children, immediate, suspended_us, deadline_us;
  int64_t begin_us; /* see plan.h */
  pawl_buf joined, compensation, stopped, output;
  pawl_buf cancellation; /* JSON, as stored */
  int has_parent;
  pawl_id parent;
  int64_t parent_token, parent_visit, parent_index; /* index -1: none */
  pawl_buf parent_node;
  /* what load.c fetched beside it */
  int recorded;         /* that it was taken over stands in its history */
  pawl_letter *letters; /* in order of arrival; slots keep their buffers */
  int nletters, letters_cap;
  int nfound;       /* mail.c: of them, before a search */
  int unread;       /* events lie there that are not at hand */
  int flooded;      /* mail.c: its inbox holds more events than a page */
  int behind;       /* letters that may come next were not read: look again */
  int64_t read_us;  /* mail.h, M1: when the last was received that may come
                       before them; PAWL_NEVER: all was read */
  pawl_buf watched; /* what cancels it, as subscribed, by the rules' numbers:
                       [[0,"order.withdrawn","17"],[2,"shop.*",null]]; empty:
                       nothing */
  pawl_item *items; /* the next of each each, in order; or, once all are done,
                       its results */
  int nitems, items_cap;
  int has_items; /* since the last commit: what the eaches want next was read */
  pawl_buf undo; /* compensation: a page of the steps to undo, newest first, as
                    JSON: [{"seq","node","visit","token"},...] */
  int undo_last; /* none is older than the page's */
  int64_t undo_total; /* of the whole plan, as counted when it was made */
  int64_t undo_seq;   /* the step that the next ones belong to; 0: none */
  pawl_buf undo_output, undo_data; /* JSON: its own, and its token's */
  const char *undo_branch;         /* its token's */
  pawl_buf
      undo_moves; /* the rows that say by which names nodes went before, as
                          found when the plan was made: JSON; empty: none */
  pawl_crossing *crossing; /* what the first letter that asks for a move to
                              another version needs; NULL: there is none */
  pawl_flight flight;
  pawl_plan plan;
} pawl_held;

/* Do we serve this version, and with which definition? */
typedef struct pawl_route {
  pawl_buf workflow;
  int64_t version;
  int served;
  int64_t refused;       /* the revision that cannot run here */
  int64_t until_mono_us; /* look again after that */
  int missed;            /* it was said that nobody knows it */
} pawl_route;

/* A batch under way; see pipeline.h. */
typedef struct pawl_sent {
  int want;         /* a claim of so many; 0: a commit, or, with n 0, a
                       wake-up */
  int shard;        /* of a claim */
  pawl_id lease;    /* of a claim */
  pawl_held **list; /* of a commit; room for every slot */
  int n;
  int plain; /* it went the short way, see plain.h */
} pawl_sent;

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
  int64_t version;
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

struct pawl_engine {
  pawl_config config; /* defaults filled in */
  pawl_alloc alloc;   /* the config's, and counts in `refusals` (N7) */
  pawl_alloc plain;   /* the config's, for Lua, what it gives, and answers */
  int64_t refusals;   /* requests for memory that were refused */
  pawl_log log;
  pawl_clock clock;
  pawl_buf group, prefixes;
  pawl_store *store;
  int64_t store_epoch; /* the one that knows us and our definitions */
  pawl_host *host;
  pawl_registry *registry;
  pawl_idgen ids;
  pawl_args args;
  pawl_id executor;
  pawl_process self;
  int registered;          /* our executor row is there */
  int careful;             /* claims are on disk before what they are for */
  int64_t beat_mono_us;    /* next heartbeat of that row */
  int64_t recover_mono_us; /* next look for dead neighbours */
  int64_t tidy_mono_us;    /* next look for events left behind */
  int64_t clock_offset_us; /* store time minus host time */
  uint64_t random;
  int nshards, next_shard;
  const pawl_id *inbox_of; /* this one is held for its inbox: its code is not
                              loaded for that; NULL: none */
  int graph_only;          /* no code is to be loaded from the store now */
  int open_unit;           /* statements sent in a transactional step's open
                              transaction; 0: none is open */
  const pawl_held *unit_owner; /* whose step that is */
  pawl_told told;              /* of it */
  int64_t sql_limit_us;        /* of one ctx.db:query */
  volatile int interrupted;
  int inside; /* calls of pawl.h under way */
  int64_t pid;
  /* batches under way, see pipeline.h */
  pawl_sent sent[PAWL_MAX_SUBMITTED]; /* a ring */
  int oldest_sent, nsent;
  int claiming;     /* slots that a claim under way may fill */
  int empty_shards; /* in a row that had less than was wanted */
  /* held instances */
  pawl_held *held;
  int nheld_slots; /* made so far: what is never used costs no memory */
  int nheld;
  int last_found; /* a slot; what is looked for next is often behind it */
  int alone;      /* what is held was taken over: nothing beside it */
  /* handlers that wait, await.c */
  int nwaiting;
  int next_asked;        /* where the next round of asking begins */
  int ask_all;           /* predicates too, once in each tick */
  int64_t await_look_us; /* when latches and leases are looked at again */
  struct pollfd *fds;    /* one for each slot and one for the store */
  pawl_held **fd_slots;  /* whose they are */
  /* what the last look showed */
  pawl_route *routes;
  int nroutes, routes_cap;
  int fresh_ready, suspect_ready;
  int64_t next_due_us;
  int64_t look_mono_us;   /* when routes and timers are looked at again */
  int woken;              /* somebody says that there is something to do */
  int unlooked;           /* the last claim was one without looking */
  int in_vain;            /* such a one found nothing, nor did a look since */
  int64_t run_avg_us;     /* moving average of a handler's time */
  int64_t wake_mono_us;   /* no other wake-up before that */
  int64_t relook_mono_us; /* after one: there may have been more; 0: no */
  pawl_result result;
  int query_failed;       /* in the open transaction: this step has failed */
  pawl_error query_error; /* the first one */
  struct pawl_names *names;
  int64_t deliver_mono_us; /* messages left behind are looked for then */
  int deliver_pause;       /* one was kept: nothing before then */
  int messages; /* the last commits wrote some: deliver.c has work */
  pawl_spin spins[PAWL_SPIN_SLOTS];
  pawl_rollbacks rollbacks[PAWL_SPIN_SLOTS];
  int64_t reach_look_us; /* next look for children that have to end */
  int reach_asked;       /* some were noted: that look is due now */
  int reaching, holding; /* it is at them; one is held for its inbox */
  struct {               /* claims whose answer was lost */
    int shard;
    pawl_id lease;
  } lost_claims[PAWL_LOST_CLAIMS];
  int nlost_claims;
  struct pawl_pulse *pulse; /* NULL: no helper thread was asked for */
  pawl_stats *stats;        /* of the tick under way */
};

/* names.c */
/* The same text, kept as long as the engine: names of nodes and branches come
 * from definitions, so there are few. NULL: out of memory. */
const char *pawl_engine_intern(pawl_engine *e, pawl_str name);
void pawl_engine_forget_names(pawl_engine *e);
/* The shard that keeps events with this key. */
int pawl_event_shard(const pawl_engine *e, pawl_str key);

/* engine.c */
double pawl_engine_random(pawl_engine *e);
void pawl_engine_trace(pawl_engine *e, const pawl_held *h, const char *node,
                       const char *kind, int64_t elapsed_us,
                       const char *outcome, const char *detail,
                       int64_t due_us);
/* A free slot, made when there is none yet; NULL: all pawl_held_max of them
 * are taken. */
pawl_held *pawl_held_get(pawl_engine *e);
int pawl_held_max(const pawl_engine *e);
void pawl_held_free(pawl_engine *e, pawl_held *h); /* the slot; no store */
/* N6: nothing has begun to wait, nor come in, since the store was asked. */
int pawl_held_has_looked(const pawl_held *h);
/* N6: may its plan leave the instance to itself? It has ended, with no request
 * left, or is suspended, or was decided on all that the store held, and nothing
 * in it begins to wait. */
int pawl_held_saw_all(const pawl_held *h);
/* The same for one that is another's now. `why` NULL: it was told already. */
void pawl_held_lose(pawl_engine *e, pawl_held *h, const pawl_error *why);
/* `lease` NULL: whatever it is. NULL: not held. */
pawl_held *pawl_held_find(pawl_engine *e, const pawl_id *id,
                          const pawl_id *lease);
void pawl_held_accept(pawl_held *h); /* a committed plan is the state now */

/* Claims one instance to take its inbox, and gives it back; no node runs.
 * `seize`: whoever holds it. *got 0: another does. */
pawl_code pawl_engine_hold(pawl_engine *e, const pawl_id *id, int seize,
                           int *got, pawl_error *err);

/* claim.c */
/* Reads what is due; then claims up to `want` instances into free slots, or
 * one that was taken over. */
pawl_code pawl_claim_look(pawl_engine *e, pawl_error *err);
pawl_code pawl_claim_more(pawl_engine *e, int want, pawl_error *err);
/* Claims of the workflows that the last look showed, or earlier ones; the next
 * look is put off until this is done, but not for long. */
pawl_code pawl_claim_unlooked(pawl_engine *e, int want, pawl_error *err);
/* As pawl_claim_more, sent ahead; not for those taken over. */
pawl_code pawl_claim_send(pawl_engine *e, int want, pawl_error *err);
/* This one instance; *got 0: not there, not due, or held by another. When its
 * workflow is suspended, the slot is one to apply the inbox only. */
pawl_code pawl_claim_one(pawl_engine *e, const pawl_id *id, int *got,
                         pawl_error *err);
/* The same, whoever holds it. */
pawl_code pawl_claim_seize(pawl_engine *e, const pawl_id *id, int *got,
                           pawl_error *err);
/* Learns how far the store's clock is from the host's. */
pawl_code pawl_claim_clock(pawl_engine *e, pawl_error *err);
/* Gives back what claims took whose answer was lost. */
pawl_code pawl_claim_settle(pawl_engine *e, pawl_error *err);
/* The definition of a slot that was just loaded, its letters included. One
 * that cannot run here is marked, to be given back. */
pawl_code pawl_claim_definition(pawl_engine *e, pawl_held *h, pawl_error *err);
/* Looks again at the latch and the inbox of one held instance; its plan is
 * kept. PAWL_LEASE_LOST: it is not ours any more. */
pawl_code pawl_claim_reload(pawl_engine *e, pawl_held *h, pawl_error *err);
/* Gives back what is held without a plan, save what is queued: instances in
 * the middle of their way that wait for their turn to wait, but not for
 * long. */
pawl_code pawl_claim_release(pawl_engine *e, pawl_error *err);
int pawl_claim_queued(const pawl_engine *e);
/* Extends the leases of everything held, when a third has passed. */
pawl_code pawl_claim_renew(pawl_engine *e, int force, pawl_error *err);
/* Our row among the executors, its heartbeat, and dead neighbours. */
pawl_code pawl_claim_housekeep(pawl_engine *e, pawl_error *err);

/* query.c */
/* PAWL_NOTFOUND, with its hint. */
pawl_code pawl_not_found(const pawl_id *id, pawl_error *err);
/* Into the unit that is open: instance_get, token_list, agenda_get. */
pawl_code pawl_send_get(pawl_engine *e, int shard, const pawl_id *id,
                        pawl_error *err);
pawl_code pawl_send_tokens(pawl_engine *e, int shard, const pawl_id *id,
                           int everything, pawl_error *err);
pawl_code pawl_send_agenda(pawl_engine *e, int shard, const pawl_id *id,
                           pawl_error *err);

/* services.c */
/* What ctx may ask of the engine: services_ud of the call is the engine, its
 * owner the slot. */
extern const pawl_services pawl_engine_services;
/* One statement for the slot's handler; `h` NULL: for no handler. */
pawl_code pawl_service_ask(pawl_engine *e, const pawl_held *h, int unit,
                           pawl_rows *rows, pawl_error *err);
/* visits.c: the how many-th visit of its node the call is. */
pawl_code pawl_count_visits(pawl_engine *e, const pawl_held *h,
                            const pawl_call *call, int64_t *out,
                            pawl_error *err);
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
int64_t pawl_step_expected_us(pawl_engine *e, const pawl_held *h);
/* Is the step that stands next one that needs its own transaction? */
int pawl_step_is_transactional(pawl_engine *e, const pawl_held *h);
/* Turns the slot's plan into one that cancels, keeping what it recorded. */
void pawl_step_hear(pawl_engine *e, pawl_held *h);
/* Replaces the slot's plan: the step it came from has failed after all, and
 * nothing of it was stored. */
void pawl_step_fail(pawl_engine *e, pawl_held *h, const pawl_error *why);
/* Goes on with the slot's handler, as pawl_host_resume does. When it ends it
 * leaves a plan. */
void pawl_step_resume(pawl_engine *e, pawl_held *h, int events,
                      const pawl_error *why);
/* Ends the handler where it stands; its step has failed with *why. */
void pawl_step_abandon(pawl_engine *e, pawl_held *h, const pawl_error *why);
/* Would a handler that may wait begin next? */
int pawl_step_may_wait(pawl_engine *e, const pawl_held *h);
/* Replaces the slot's plan after the store refused it: the instance fails. 1:
 * not yet, as a decision and a step were in it; it is the decision alone. */
int pawl_step_refused(pawl_engine *e, pawl_held *h, const pawl_error *why);

/* await.c */
/* Time for waiting: only goes up, save under a virtual clock. */
int64_t pawl_await_now(const pawl_engine *e);
/* The slot's handler waits for what its run says, from now on. */
void pawl_await_begin(pawl_engine *e, pawl_held *h, pawl_run *run);
/* Ends it where it stands. No-op when none waits. */
void pawl_await_abandon(pawl_engine *e, pawl_held *h);
void pawl_await_abandon_all(pawl_engine *e);
/* After a commit: whatever it was of stands there no longer? Then it goes. */
void pawl_await_check(pawl_engine *e, pawl_held *h);
/* Are the instances still ours, and is one to be cancelled? Now and then. */
pawl_code pawl_await_look(pawl_engine *e, pawl_error *err);
/* Goes on with those that can. *ran: how many. */
void pawl_await_poll(pawl_engine *e, int64_t deadline_mono, int *ran);
/* When one of them must be asked again, by the engine's time; descriptors are
 * not counted. */
int64_t pawl_await_next(pawl_engine *e);
/* Their descriptors, into e->fds from the second on: how many with that. */
int pawl_await_fds(pawl_engine *e);

/* load.c */
/* Rows of instance_load into the slots held under `lease`. */
pawl_code pawl_load_rows(pawl_engine *e, const pawl_id *lease,
                         const pawl_rows *rows, pawl_error *err);
/* What READY slots need beside their row, by need: tokens that have rows of
 * their own, the inbox (latch up, or `look`), events waiting for the key of a
 * wait (`look`, and whenever the slot was just loaded), items or results of an
 * each, what compensation undoes. Clears `look`. */
pawl_code pawl_load_more(pawl_engine *e, pawl_error *err);
/* Frees what was loaded for a move to another version. */
void pawl_load_forget(pawl_engine *e, pawl_held *h);
/* Down an instance's history, past what was undone already. */
typedef struct pawl_undo_walk {
  const pawl_def *def;
  const pawl_renames *renames; /* a row's node may go by another name now */
  int shard;
  pawl_id id;
  int64_t below;  /* what comes next is older than this row */
  int64_t n, max; /* steps found; no more than these are put into `list` */
  pawl_buf *list; /* as pawl_held has it, without the brackets */
  int over;       /* there are none older */
} pawl_undo_walk;
/* Goes on until `n` is `upto`, or it is over. */
pawl_code pawl_undo_walk_on(pawl_engine *e, pawl_undo_walk *w, int64_t upto,
                            pawl_error *err);

/* compensate.c */
/* The step of the loaded page that `compensation` undoes next; 0: the page has
 * none. *behind: how many of the page follow it. */
int pawl_undo_next(const pawl_held *h, const pawl_buf *compensation,
                   pawl_str *step, int64_t *seq, int *behind);

/* commit.c */
/* Writes every PLANNED slot, settles every UNKNOWN one. Slots come back
 * READY, FREE, or, when the store is out of reach, UNKNOWN with an error. */
pawl_code pawl_commit_all(pawl_engine *e, pawl_error *err);
/* Sends every PLANNED slot off, where the store can do that without waiting
 * (they are SENT then); else as pawl_commit_all. */
pawl_code pawl_commit_ahead(pawl_engine *e, pawl_error *err);
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

/* renew.c */
/* Tells a store that was opened again of this engine and its definitions. */
pawl_code pawl_renew(pawl_engine *e, pawl_error *err);

/* deliver.c */
/* Hands over what commits asked of other instances: those just written, and
 * now and then those that a dead process left behind. Idempotent. */
pawl_code pawl_deliver(pawl_engine *e, pawl_error *err);

/* start.c */
/* What a start from inside brings beside its options. */
typedef struct pawl_origin {
  pawl_str key; /* idempotency key, of any length; at NULL: the options' */
  /* More for the same transaction, told once it is known which instance it
   * is: the new one, or the one that the key names. NULL: nothing. The unit is
   * an open one then; `nsent` statements were sent in it before. */
  pawl_code (*also)(pawl_engine *e, void *ud, int shard, const pawl_id *id,
                    int created, int nsent, pawl_error *err);
  void *ud;
  /* of a child; `parent` NULL: it has none */
  const pawl_id *parent, *root;
  int64_t parent_seq, parent_token, parent_visit; /* 0: null */
  int64_t parent_index;                           /* -1: null */
  const char *parent_node, *parent_end;
} pawl_origin;
/* pawl_engine_start with an origin (NULL: none). */
pawl_code pawl_start_from(pawl_engine *e, const char *code, pawl_str input,
                          pawl_str options, const pawl_origin *origin,
                          pawl_id *id, int *created, pawl_error *err);
/* Tells sleeping workers that something is due, after its commit. */
void pawl_start_wake(pawl_engine *e);

/* rules.c: events that cancel an instance */
/* One more rule into a text like pawl_held.watched; key.at NULL: it has
 * none. */
void pawl_rules_add(pawl_buf *out, int64_t no, pawl_str pattern, pawl_str key);
/* All rules of the definition, their keys as these variables and the input
 * have them. One whose key has no value that an event could have is left
 * out. */
void pawl_rules_text(const pawl_held *h, pawl_str vars, pawl_buf *out);
/* The number of the rule and its key in one member of such a text; key.at
 * NULL: it has none. */
void pawl_rules_read(pawl_str one, int64_t *no, pawl_str *key);
/* When the instance came into being, in whole milliseconds. */
int64_t pawl_rules_since(const pawl_held *h);

/* signal.c */
/* What the key of an event may be: 1 to 255 bytes, none of them zero. */
#define PAWL_MAX_KEY 255
/* pawl_engine_signal for messages, whose JSON has the event's id: repeating
 * one is harmless then. */
pawl_code pawl_signal_send(pawl_engine *e, pawl_str json, int64_t *reached,
                           pawl_error *err);
/* Routes what a process that died left behind, forgets what has expired. */
pawl_code pawl_signal_tidy(pawl_engine *e, pawl_error *err);

/* act.c */
/* Asks for a change of one instance and, when nobody holds it, makes it here.
 * *done (may be NULL): it was made here; 0: the holder will. `data` is as the
 * kind wants it, and was checked. `retry` and `restart` reach instances that
 * have ended; `kill` takes the instance from whoever holds it. */
pawl_code pawl_engine_change(pawl_engine *e, const pawl_id *id,
                             const char *kind, const char *source,
                             const char *who, pawl_str data, int *done,
                             pawl_error *err);
/* Takes an instance's inbox now, if nobody holds it. No node runs. */
pawl_code pawl_engine_apply(pawl_engine *e, const pawl_id *id,
                            pawl_error *err);

/* health.c: what could move this instance, with that status in the store, though
 * nobody will look at it; *what NULL: nothing. */
pawl_code pawl_health_of(pawl_engine *e, const pawl_id *id, pawl_str workflow,
                         pawl_str status, const char **what, pawl_error *err);

#endif
