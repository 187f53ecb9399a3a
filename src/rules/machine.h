/* rules/machine.h: what the files of one decision share. Nobody else
 * includes it.
 *
 *   step.c        what stands before running, and running active tokens
 *   letters.c     what came in: requests from outside, people, children
 *   migrate.c     going on in another version
 *   route.c       moving a token on, through every kind of node
 *   inside.c      which tokens are inside a fork
 *   join.c        which joins fire
 *   wait.c        events that waits take, and everything that times out
 *   rules.c       events that cancel the instance
 *   each.c        calls and dynamic fan-out
 *   fail.c        what follows a failure, ending
 *   stopped.c     how it stood when it failed, and going on from there
 *   compensate.c  undoing
 *   untaken.c     what had come in and is not taken any more
 *   order.c       who came first, when several things are found at once
 *   detail.c      a token's detail, small JSON
 *
 * All of them work on the slot's plan: `k` is the index of a token in
 * h->plan.tokens, which stays the same while one decision lasts; a pointer to
 * a token dies when another is added.
 *
 * Layer    engine; the store is never touched here. */
#ifndef PAWL_RULES_MACHINE_H
#define PAWL_RULES_MACHINE_H

#include "../engine/internal.h"

#define PAWL_TOO_LATE "it came too late: the join had fired"
#define PAWL_NOWHERE                                                        \
  "nothing says where it stood: it ended at a finish, or what it had done " \
  "was undone; restart it from a node"

static inline pawl_token *pawl_tok(pawl_held *h, int k) {
  return &h->plan.tokens.at[k];
}
static inline int pawl_tok_live(pawl_held *h, int k) {
  return pawl_token_is_live(pawl_tok(h, k)->state);
}

/* It has ended, and nothing decided so far brings it back. */
static inline int pawl_stays_ended(const pawl_held *h) {
  return pawl_status_has_ended(h->status) && !h->plan.revives;
}

/* ---- detail.c ---- */

/* A member of the token's detail; 0: not there. */
int pawl_detail_get(const pawl_token *t, const char *name, pawl_str *value);
int64_t pawl_detail_int(const pawl_token *t, const char *name); /* 0 */
/* Sets a member to JSON text, or takes it out (value.at NULL). */
void pawl_detail_set(pawl_token *t, const char *name, pawl_str value);
void pawl_detail_set_int(pawl_token *t, const char *name, int64_t value);
/* Replaces a buffer's JSON object by one with `name` set to `value`. */
void pawl_object_set(pawl_buf *object, const char *name, pawl_str value);

/* Sets all members of another object, as written by the same codec. */
void pawl_object_merge(pawl_buf *object, pawl_str other);

/* ---- step.c ---- */

/* The variables as they stand in the plan: an object. */
pawl_str pawl_vars_now(const pawl_held *h);
/* Sets one variable; its change is noted in `changes`, which is empty, when
 * not NULL. */
void pawl_vars_set(pawl_held *h, const char *name, pawl_str value,
                   pawl_buf *changes);
/* Replaces all of them. */
void pawl_vars_put(pawl_held *h, pawl_str vars, pawl_buf *changes);
/* The same; *vars gets another buffer for its own, of any text. */
void pawl_vars_take(pawl_held *h, pawl_buf *vars, pawl_buf *changes);
/* Runs one handler for a token; what came of it is in e->result. A step's or
 * an undo may wait: then h->flight.run is set, and nothing has come of it. */
pawl_code pawl_run_handler(pawl_engine *e, pawl_held *h, int k,
                           const pawl_node *node, pawl_handler handler,
                           pawl_str event, pawl_str output, pawl_error *err);
/* A record about a token where it stands: node, visit, attempt (from 1), the
 * rows that led here, completed now. */
pawl_record *pawl_token_record(pawl_engine *e, pawl_held *h, int k,
                               const char *type);
/* A record about the instance as a whole. */
pawl_record *pawl_instance_record(pawl_engine *e, pawl_held *h,
                                  const char *type);
/* The number that the newest record will have. */
int64_t pawl_record_seq(const pawl_held *h);
/* May the variable that `into` names have this? PAWL_LIMIT: the variables
 * would be too large; it need not be tried again. To be asked before anything
 * follows from the output. */
pawl_code pawl_output_fits(pawl_engine *e, const pawl_held *h,
                           const pawl_node *node, pawl_str output,
                           pawl_error *err);
/* A step, wait, task or call has given its output: into the record, and the
 * variable that `into` names. */
void pawl_take_output(pawl_held *h, const pawl_node *node, pawl_record *r,
                      pawl_str output);
/* What a handler did through ctx beside its variables: attributes, events,
 * children, the token's own data. */
void pawl_take_effects(pawl_engine *e, pawl_held *h, int k,
                       const pawl_result *r);
/* Moves a token that leaves `node` to `to`; the way goes into the newest
 * record's path. */
void pawl_leave(pawl_engine *e, pawl_held *h, int k, int to);
/* The same, with the way in another record; -1: in none. */
void pawl_leave_by(pawl_engine *e, pawl_held *h, int k, int to, int record);
/* Node of a token; NULL when the definition has none of that name. */
const pawl_node *pawl_tok_node(pawl_held *h, int k);
/* For the trace: a verdict that came without a handler. */
void pawl_trace_verdict(pawl_engine *e, const pawl_held *h);

/* ---- route.c ---- */

/* The token comes to node `to` and goes on to where it stands next. A handler
 * that fails on the way leaves it standing, active, at its node, where it is
 * tried by itself later. `path`: receives the way; may be NULL. */
void pawl_go_to(pawl_engine *e, pawl_held *h, int k, int to, pawl_buf *path);
/* The same for a token that stands at its node already and has not entered
 * it; the failure is the caller's to deal with. */
pawl_code pawl_enter(pawl_engine *e, pawl_held *h, int k, pawl_buf *path,
                     pawl_error *err);
/* A new token; `from`: index of the one whose scope it shares, with its fork,
 * branch, data and event; -1: a root. Its index; -1: out of memory. */
int pawl_token_new(pawl_held *h, int from);
/* A new token inside the fork that the token `parent` begins: `branch` and
 * `data` (JSON; empty: the parent's) are its own. */
int pawl_token_branch(pawl_held *h, int parent, const char *fork,
                      const char *branch);
/* The level of the fork around a token: its scope, fork, branch and data
 * become those at depth `depth`. */
void pawl_token_climb(pawl_engine *e, pawl_held *h, int k, int depth);
/* Ends a token, with what it waited for; `why` NULL: consumed, else dropped
 * and recorded so. */
void pawl_token_end(pawl_engine *e, pawl_held *h, int k, const char *why);
/* Drops every live token inside the fork of token `no`. */
void pawl_drop_scope(pawl_engine *e, pawl_held *h, int32_t no,
                     const char *why);
/* The token stops waiting where it stands, and nothing else. */
void pawl_stop_waiting(pawl_held *h, int k, const char *task_status);

/* ---- inside.c ---- */

typedef struct pawl_inside {
  int at, end, more;
} pawl_inside;
/* Tokens that may be inside the fork of token `no`, or inside an item, from 0,
 * of the each of that number: all that are, and others, so look again. No
 * token may be added meanwhile. */
pawl_inside pawl_inside_fork(pawl_held *h, int32_t no);
pawl_inside pawl_inside_item(pawl_held *h, int32_t each, int64_t item);
/* The index of the next; -1: there are no more. */
int pawl_inside_next(const pawl_held *h, pawl_inside *in);
/* The index, from 0, of the item that a token belongs to, which is inside an
 * each at depth `level`. */
int64_t pawl_item_of(const pawl_token *t, int level);

/* ---- join.c ---- */

/* Fires every join that can, until none does. */
void pawl_joins_settle(pawl_engine *e, pawl_held *h);
/* The same, if something has just come to one that does not wait for all, or
 * to one that may lead there: the first decide, before anything else that is
 * at hand happens. */
void pawl_joins_race(pawl_engine *e, pawl_held *h);
/* Token k, which still lives, ends here and comes to no join. 1: one of a
 * number can be reached no more for that, and has failed. */
int pawl_join_missed_by(pawl_engine *e, pawl_held *h, int k);
/* Has this join fired already for the group of token k? */
int pawl_join_has_fired(const pawl_held *h, const pawl_token *t,
                        const pawl_node *join);

/* ---- wait.c ---- */

/* Is the name one that the pattern means? */
int pawl_event_matches(const char *pattern, pawl_str name);
/* The text that a wait's or rule's key stands for: from the variables, then
 * the input. 0: there is none, or it is no text, number or boolean; out->failed
 * then says nothing of that, but that there was no memory to look. */
int pawl_event_key(const pawl_held *h, pawl_str vars, const char *name,
                   pawl_buf *out);
/* Can an event have this key? */
int pawl_event_key_is_sound(pawl_str key);
/* May what asks for this key (at NULL: for none) have the event? Their keys
 * are equal, or neither has one; where one that is addressed to this instance
 * or its receiver has none, none is asked for. */
int pawl_event_fits(const pawl_letter *l, pawl_str key);
/* When a token with this time limit (-1: none) began to wait. */
int64_t pawl_wait_began(const pawl_token *t, int64_t limit_us, int64_t now);
/* It is due that long after it began; without a limit its detail says when it
 * began. */
void pawl_wait_until(pawl_token *t, int64_t began_us, int64_t limit_us);
/* What waits comes to wait as `node`, of another version, says; its time is
 * set. One whose key is a handler's is active, to be entered. */
void pawl_wait_renew(pawl_held *h, int k, const pawl_node *node,
                     int64_t began_us);
/* When a task's token must be looked at, if its node is this one now. */
void pawl_task_look(pawl_token *t, const pawl_node *node);
/* Enters a wait node. */
pawl_code pawl_wait_begin(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_error *err);
/* Gives an event to every wait that takes it. 1: taken. */
int pawl_event_give(pawl_engine *e, pawl_held *h, pawl_letter *letter);
/* Everything whose time came before then, in that order: timers, timeouts,
 * overdue tasks; save those of token `except` (0: none). */
void pawl_times_out(pawl_engine *e, pawl_held *h, int64_t before_us,
                    int32_t except);
/* Enters a task node; task_done: a person has dealt with it. */
pawl_code pawl_task_begin(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_error *err);
void pawl_task_done(pawl_engine *e, pawl_held *h, const pawl_letter *letter);

/* ---- rules.c ---- */

/* Does a rule of the workflow make this event the end of the instance? */
int pawl_rules_cancel(const pawl_held *h, const pawl_letter *l);
/* Subscribes to what cancels the instance as its variables now name it, where
 * that differs from what is subscribed. */
void pawl_rules_watch(pawl_held *h);
/* It goes on in another definition: what the one subscribed to is taken back,
 * and what the other wants stands in the same commit. */
void pawl_rules_move(pawl_held *h, const pawl_def *from, const pawl_def *to);

/* ---- each.c ---- */

pawl_code pawl_call_begin(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_error *err);
/* Enters an each, or comes back to it at the end of an item (*item 1: it was
 * that, and the token is consumed). *to: where it goes on at once, for a list
 * without items; else -1. */
pawl_code pawl_each_enter(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, int *to, pawl_error *err);
/* A child has ended. */
void pawl_child_done(pawl_engine *e, pawl_held *h, const pawl_letter *letter);
/* Begins items there is room for; finishes eachs that are through. */
void pawl_eachs_settle(pawl_engine *e, pawl_held *h);
/* Does one stand at an each? It may have its list or results to look at. */
int pawl_eachs_wait(pawl_held *h);
/* The each around a token, innermost first: index of its parked token; -1.
 * *level: the depth of its items. */
int pawl_each_around(pawl_held *h, int k, int *level);
/* The item that token k belongs to has failed. */
void pawl_each_item_failed(pawl_engine *e, pawl_held *h, int parked, int level,
                           int k, const pawl_error *err);
/* An item's token ended at a finish. */
void pawl_each_item_left(pawl_engine *e, pawl_held *h, int k);
/* What ctx.start asked for: messages. */
void pawl_take_starts(pawl_engine *e, pawl_held *h, pawl_str starts);

/* ---- fail.c ---- */

/* A handler of token k's node failed, or what it waited for did: recorded,
 * then tried again, routed, suspended, or the end. e->result says whether it
 * may be tried again. */
void pawl_fail_token(pawl_engine *e, pawl_held *h, int k,
                     const pawl_error *err, int64_t began_us);
/* The instance fails for a reason that lies outside its graph. */
void pawl_fail_outright(pawl_engine *e, pawl_held *h, const pawl_error *err,
                        pawl_str details);
/* What the token waited for is over; where it came from, and what an item's
 * last step gave, stay in its detail. */
void pawl_token_keep(pawl_engine *e, pawl_token *t);
/* Ends it with this status now; tokens that are left are dropped. */
void pawl_end(pawl_engine *e, pawl_held *h, pawl_status status);
/* The same after compensation, where there is something to undo. */
void pawl_end_undoing(pawl_engine *e, pawl_held *h, pawl_status status,
                      int compensate);
/* Children that end with their parent are told to, and who wants it so: those
 * of one waiting token; all, since it ends, or begins to, with `status`. */
void pawl_children_unwanted(pawl_held *h, int32_t token);
void pawl_children_end(pawl_held *h, pawl_status status);
void pawl_suspend(pawl_engine *e, pawl_held *h, const pawl_error *err);
/* For people: where, the script's own code, what. */
void pawl_set_detail(pawl_plan *p, const pawl_error *err);

/* ---- stopped.c ---- */

/* How the instance stood when it failed, and back. */
void pawl_stopped_note(pawl_held *h);
void pawl_stopped_restore(pawl_engine *e, pawl_held *h);
/* Why one that has failed cannot be retried in the other version, appended to
 * `why`; nothing: it can. And so it shall be; the variables are in place. */
void pawl_stopped_check(pawl_engine *e, const pawl_held *h,
                        const pawl_crossing *c, pawl_buf *why);
void pawl_stopped_move(pawl_engine *e, pawl_held *h, const pawl_crossing *c);

/* ---- compensate.c ---- */

int pawl_is_undoing(const pawl_held *h); /* in the plan, as it stands */
/* Everything that stands is dropped; what was done is undone from the next
 * decision on, and then the instance ends with `status`. */
void pawl_undo_begin(pawl_engine *e, pawl_held *h, pawl_status status);
/* The instance ends while it is being undone: the record says so. */
void pawl_undo_stop(pawl_engine *e, pawl_held *h);
/* Undoes the next one. */
void pawl_undo_run(pawl_engine *e, pawl_held *h);
/* The handler that undoes has ended with rc, some time after it began. */
void pawl_undo_returned(pawl_engine *e, pawl_held *h, pawl_code rc,
                        const pawl_error *err, int64_t began_us);

/* ---- migrate.c ---- */

/* Why an instance as it stands in the plan cannot go on in the other version,
 * with these variables, appended to `why`; nothing: it can. */
void pawl_version_check(pawl_engine *e, pawl_held *h, const pawl_crossing *c,
                        pawl_str vars, pawl_buf *why);
/* It goes on there; the variables are in place. */
void pawl_version_change(pawl_engine *e, pawl_held *h, const pawl_crossing *c);

/* ---- letters.c ---- */

/* Takes what has come in, in order. */
void pawl_letters_take(pawl_engine *e, pawl_held *h);
/* Are all of them what a node waits for, in the inbox, and none a request? */
int pawl_letters_are_news(const pawl_held *h);
/* The instance had ended before: what else lies there came too late, an answer
 * of a child that was under way for one, and nobody else will read it; but the
 * events of one that has failed stay. */
void pawl_letters_discard(pawl_held *h);
/* untaken.c */
/* A letter that is passed over for good; what is left when it ends. */
void pawl_untaken_note(pawl_engine *e, pawl_held *h, const pawl_letter *l,
                       const char *why);
void pawl_untaken_end(pawl_engine *e, pawl_held *h);

/* Requests that were not taken are answered on the record, for they will not
 * be: the instance ends with what is decided, for one. */
void pawl_letters_refuse(pawl_engine *e, pawl_held *h, const char *why);
/* The first request to cancel or kill, or event that cancels; NULL: none. */
const pawl_letter *pawl_letters_cancel(const pawl_held *h);
void pawl_letter_cancel(pawl_engine *e, pawl_held *h,
                        const pawl_letter *letter);
/* It is dealt with: its row goes, or stays where it could come again. */
void pawl_letter_taken(pawl_held *h, const pawl_letter *letter);

#endif
