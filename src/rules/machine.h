/* rules/machine.h: what the files of one decision share. Nobody outside rules
 * includes it: see decide.h.
 *
 *   decide.c      what stands before running, and what comes after
 *   letters.c     what came in: requests, people, children, events
 *   requests.c    what may be done with it at any time: cancel, move, edit...
 *   route.c       moving a token on, through every kind of node
 *   scope.c       tokens, inside which fork, and their end
 *   boundary.c    what stands beside a node, and interrupts it or begins a lane
 *   interrupt.c   what interrupts, and goes behind what came before it
 *   escalate.c    what is told to whoever is around, outwards
 *   times.c       how long something waits, and what is over
 *   events.c      names, patterns and keys; listening for them
 *   children.c    what it says to its children and its parent
 *   kinds/        what happens at each kind of node
 *   inside.c      which tokens are inside a fork
 *   breakpoint.c  nodes before which a token halts
 *   order.c       who came first, when several things are found at once
 *   cancel_on.c   events that cancel the instance
 *   merge.c       what was changed beside a handler that waited
 *   condition.c   waits for what the variables say
 *   reschedule.c  events that move the time of what waits
 *   fail.c        what follows a failure, ending
 *   retry.c       attempts and delays
 *   stored.c      marks and undoing as the store has them
 *   stopped.c     how it stood when it failed, and going on from there
 *   compensate.c  undoing
 *   transfer.c     going on in another version
 *   untaken.c     what had come in and is not taken any more
 *   vars.c        variables, as the plan has them
 *   record.c      rows of history
 *   ask.c         a handler is asked
 *   detail.c      a token's detail; marks.c: what is remembered by name
 *   object.c      JSON objects, member by member
 *
 * All of them work on d->plan: `k` is the index of a token in
 * d->plan.state.tokens, which stays the same while one decision lasts; a
 * pointer to a token dies when another is added.
 *
 * Layer    rules: no store, no host, no clock. */
#ifndef PAWL_RULES_MACHINE_H
#define PAWL_RULES_MACHINE_H

#include "../value/json.h"
#include "../value/object.h"
#include "decide.h"
#include "kinds.h"

#define PAWL_TOO_LATE "it came too late: the join had fired"
#define PAWL_NOWHERE                                                        \
  "nothing says where it stood: it ended at a finish, or what it had done " \
  "was undone; restart it from a node"

/* ---- vars.c ---- */

/* Sets one variable; its change is noted in `changes`, which is empty, when
 * not NULL. */
void pawl_vars_set(pawl_decision *d, const char *name, pawl_str value,
                   pawl_buf *changes);
/* Replaces all of them. */
void pawl_vars_put(pawl_decision *d, pawl_str vars, pawl_buf *changes);
/* The same; *vars gets another buffer for its own, of any text. */
void pawl_vars_take(pawl_decision *d, pawl_buf *vars, pawl_buf *changes);
/* May the variable `into` (NULL: none), or the one that the node names, have
 * this? PAWL_LIMIT: the variables would be too large; PAWL_VALUE: it is declared
 * otherwise; it need not be tried again. To be asked before anything follows from the output. */
pawl_code pawl_value_fits(pawl_decision *d, const char *into, pawl_str output,
                          pawl_error *err);
pawl_code pawl_output_fits(pawl_decision *d, const pawl_node *node,
                           pawl_str output, pawl_error *err);

/* Variables have changed, or there is another reason to look: the conditions
 * that are waited for have to be. */
void pawl_conditions_stir(pawl_decision *d);
/* May an instance have these variables, by what its start says (PAWL_LIMIT),
 * and its workflow (PAWL_VALUE)? */
pawl_code pawl_vars_fit(pawl_decision *d, pawl_str vars, pawl_error *err);

/* A step's output becomes the variable that its `into` names, among those that
 * its handler has left in d->result. PAWL_LIMIT as above. */
pawl_code pawl_output_joins(pawl_decision *d, const pawl_node *node,
                            pawl_error *err);

/* ---- merge.c ---- */

/* d->result's variables become those of the instance with what the handler has
 * changed. PAWL_CONFLICT: that was changed beside it, too, to something else;
 * the error names the path. PAWL_LIMIT: together they are too large. */
pawl_code pawl_vars_merge(pawl_decision *d, pawl_error *err);

/* ---- record.c ---- */

/* A record about a token where it stands: node, visit, attempt (from 1), the
 * rows that led here; begun when it came there, completed now. */
pawl_record *pawl_token_record(pawl_decision *d, int k, const char *type);
/* One about a token whose visit goes on: what led there is for the record that
 * ends it to say. */
pawl_record *pawl_visit_record(pawl_decision *d, int k, const char *type);
/* The newest one is what leads token k on. */
void pawl_record_leads(pawl_decision *d, int k);
/* A record about the instance as a whole. */
pawl_record *pawl_instance_record(pawl_decision *d, const char *type);
/* A step, wait, task or call has given its output: into the record, and the
 * variable that `into` names. */
void pawl_take_output(pawl_decision *d, const pawl_node *node, pawl_record *r,
                      pawl_str output);
/* What a handler did through ctx beside its variables: attributes, events,
 * children, notes, the token's own data. Before the handler's own record is
 * made, which is to be the newest. */
void pawl_take_effects(pawl_decision *d, int k, const pawl_said *r);
/* A value that is shown by this name, JSON; `answers`: to the event with that
 * id, once, {"value"} or {"error"}. */
void pawl_publish(pawl_decision *d, pawl_str name, pawl_str value,
                  int answers);
/* The attributes that it set, for its record. */
void pawl_take_attrs(pawl_record *r, const pawl_said *result);
/* For the trace: a verdict that came without a handler; a node that took so
 * long; what ended a token's wait, and the way on. */
void pawl_trace_verdict(const pawl_decision *d);
void pawl_trace_step(pawl_decision *d, const pawl_node *node, int64_t took,
                     int k);
void pawl_trace_wait(pawl_decision *d, int k, const pawl_node *node);

/* ---- ask.c, kinds/step.c ---- */

/* Runs one handler for a token; what came of it is in d->result. A step's or
 * an undo's may wait: then the token is aloft, and nothing has come of it. */
pawl_code pawl_run_handler(pawl_decision *d, int k, const pawl_node *node,
                           pawl_handler handler, pawl_error *err);
/* The same of one that is shown an event, or what its node gave; at NULL:
 * none, or the token's own event. */
pawl_code pawl_run_handler_on(pawl_decision *d, int k, const pawl_node *node,
                              pawl_handler handler, pawl_str event,
                              pawl_str output, pawl_error *err);
/* The same of one that is shown what is said here: its node, which handler,
 * event, output and error. */
pawl_code pawl_run_question(pawl_decision *d, int k, pawl_question *q,
                            pawl_error *err);
/* Nothing interrupts a handler, but what comes too late does not count: after
 * that time others may have taken over. */
pawl_code pawl_check_timeout(const pawl_decision *d, const pawl_token *t,
                             const pawl_node *node, pawl_error *err);
/* Of a definition with quotas; PAWL_LIMIT: that was too much. */
pawl_code pawl_spend(pawl_decision *d, pawl_quota quota, int64_t n,
                     pawl_error *err);
/* For what the handler wrote that has ended with `rc`; that, or PAWL_LIMIT. */
pawl_code pawl_spend_lines(pawl_decision *d, pawl_code rc, pawl_error *err);
/* For what d->result has, its variables among it. */
pawl_code pawl_spend_effects(pawl_decision *d, pawl_error *err);
/* Its handler may wait, for which there has to be a place. */
static inline int pawl_wants_place(const pawl_node *node) {
  return node && node->kind == PAWL_KIND_STEP && !node->transactional;
}
/* Token k runs the step at index `at`, unless its handler waits. */
void pawl_step_enter(pawl_decision *d, int k, int at);
/* What a step's handler gave, or why it failed, becomes part of the plan. */
void pawl_step_returned(pawl_decision *d, int k, int at, pawl_code rc,
                        pawl_error *err);

/* ---- bounds.c ---- */

/* May an instance of this definition have these variables? PAWL_LIMIT: not if
 * it is limited. */
pawl_code pawl_vars_bear(pawl_decision *d, pawl_str vars, pawl_error *err);
/* And so many more tokens? */
pawl_code pawl_tokens_bear(pawl_decision *d, int64_t more, pawl_error *err);
/* May an instance have as many ancestors as this one, and as one that it
 * starts (of a limited definition)? Counted from the first that is not trusted,
 * by what is stored (stored.h). */
pawl_code pawl_ancestors_bear(pawl_decision *d, pawl_error *err);
pawl_code pawl_starts_bear(pawl_decision *d, pawl_error *err);

/* ---- route.c ---- */

/* The token comes to `node`, active, in a new visit; so does the instance. */
void pawl_arrive(pawl_decision *d, int k, const char *node);
/* The token stands still until something happens. */
void pawl_stand(pawl_decision *d, int k, int64_t due_us);

/* The token comes to node `to` and goes on to where it stands next. A handler
 * that fails on the way leaves it standing, active, at its node, where it is
 * tried by itself later. `path`: receives the way; may be NULL. */
void pawl_go_to(pawl_decision *d, int k, int to, pawl_buf *path);
/* The same for a token that stands at its node already and has not entered
 * it; the failure is the caller's to deal with. */
pawl_code pawl_enter(pawl_decision *d, int k, pawl_buf *path, pawl_error *err);
/* Do one or more edges lead from one node to the other, without going on from
 * any that is barred (for token t)? Without memory: 1, and it is asked again. */
int pawl_has_way(const pawl_decision *d, int from, int to,
                 int (*bars)(const pawl_decision *d, const pawl_node *node,
                             const pawl_token *t),
                 const pawl_token *t);
/* A new token; `from`: index of the one whose scope it shares, with its fork,
 * branch, data and event; -1: a root. Its index; -1: out of memory. */
int pawl_token_new(pawl_decision *d, int from);
/* A new token inside the fork that the token `parent` begins: `branch` and
 * `data` (JSON; empty: the parent's) are its own. */
int pawl_token_branch(pawl_decision *d, int parent, const char *fork,
                      const char *branch);
/* The level of the fork around a token: its scope, fork, branch and data
 * become those at depth `depth`. */
void pawl_token_climb(pawl_decision *d, int k, int depth);
/* Ends a token, with what it waited for; `why` NULL: consumed, else dropped
 * and recorded so. */
void pawl_token_end(pawl_decision *d, int k, const char *why);
/* Drops every live token inside the fork of token `no`. */
void pawl_drop_scope(pawl_decision *d, int32_t no, const char *why);
/* Moves a token that leaves `node` to `to`; the way goes into the newest
 * record's path. */
void pawl_leave(pawl_decision *d, int k, int to);
/* The same, with the way in another record; -1: in none. */
void pawl_leave_by(pawl_decision *d, int k, int to, int record);
/* The same from a node that has failed like this, for one that deals with it;
 * d->result may have details. */
void pawl_leave_caught(pawl_decision *d, int k, int to, const pawl_error *err);
/* The same by the way that is drawn for it: what it waited for has failed, as
 * this attempt of its node. */
void pawl_leave_failed(pawl_decision *d, int k, int to, const pawl_error *err);
/* The token stops waiting where it stands, and nothing else. */
void pawl_stop_waiting(pawl_decision *d, int k, const char *task_status);

/* ---- inside.c ---- */

typedef struct pawl_inside {
  int at, end, more;
} pawl_inside;
/* Tokens that may be inside the fork of token `no`, or inside an item, from 0,
 * of the each of that number: all that are, and others, so look again. No
 * token may be added meanwhile. */
pawl_inside pawl_inside_fork(pawl_decision *d, int32_t no);
pawl_inside pawl_inside_item(pawl_decision *d, int32_t each, int64_t item);
/* The index of the next; -1: there are no more. */
int pawl_inside_next(const pawl_decision *d, pawl_inside *in);
/* Is somebody left inside the fork of token `no`? */
int pawl_inside_lives(pawl_decision *d, int32_t no);
/* The index, from 0, of the item that a token belongs to, which is inside an
 * each at depth `level`. */
int64_t pawl_item_of(const pawl_token *t, int level);

/* ---- boundary.c ---- */

/* Token k has come to the node: what is on that begins to wait, once. */
pawl_code pawl_boundaries_begin(pawl_decision *d, int k, const pawl_node *node,
                                pawl_error *err);
/* It leaves the node: that ends. */
void pawl_boundaries_leave(pawl_decision *d, int k);
/* So does all that is on what this token stands at, or on its fork. */
void pawl_boundaries_close(pawl_decision *d, int32_t host);
/* What is on forks in which nobody is left ends, too. 1: something was. */
int pawl_boundaries_settle(pawl_decision *d);
/* A way has ended, and others have not: the instance's node is theirs. */
void pawl_boundaries_stand(pawl_decision *d);
/* Boundary k has come to pass, and stays: a token that is to leave in its
 * place, behind the newest row. Its index; -1: out of memory, or of a limit's, by which the
 * boundary has failed. */
int pawl_boundary_lane(pawl_decision *d, int k);
/* Of another version, on where token `no` stands, or (level 0 and above) on a
 * fork around it: it begins, without being entered where it can. Names last. */
void pawl_boundary_begin(pawl_decision *d, int32_t no, int level,
                         const pawl_node *node, const char *name,
                         const char *on);
/* When that which is beside token `host` began, as far as is known. */
int64_t pawl_boundary_since(pawl_decision *d, int32_t host);
/* Behind pawl_stopped_restore. */
void pawl_boundaries_restore(pawl_decision *d);

/* ---- interrupt.c ---- */

/* Boundary k has come to pass, and is about to leave: what it is on is
 * dropped. */
void pawl_boundary_interrupt(pawl_decision *d, int k);
/* Must this wait for what was set going inside (O9): all in the fork of token
 * `host`, or its items, for what happened at that time; boundary k, likewise,
 * which may have ended by that; a letter, for a boundary that may take it? 1:
 * plan.holds says so. */
int pawl_scope_goes_first(pawl_decision *d, int32_t host, int64_t before_us);
int pawl_boundary_waits(pawl_decision *d, int k, int64_t at_us);
int pawl_letter_waits(pawl_decision *d, const pawl_letter *l);
/* The same for whatever happened at that time, among few tokens (O10); the
 * letter was asked about this, too. */
int pawl_others_go_first(pawl_decision *d, int64_t before_us);
/* The same for what ends the instance (O11); plan.only_us is that time then. */
int pawl_late_go_first(pawl_decision *d, int64_t before_us);

/* ---- breakpoint.c ---- */

/* Token k has come to the node: is that to be entered by itself, because it may
 * halt before it? */
int pawl_break_cuts(pawl_decision *d, int k, const pawl_node *node);
/* Token k, which is due, is about to run: does it halt, or (its time is over)
 * go on with the next look? */
int pawl_break_halts(pawl_decision *d, int k);
/* What has halted goes on; the same for one node: it halts before the next, for
 * so long. */
void pawl_break_free(pawl_decision *d, int k);
void pawl_break_step(pawl_decision *d, int k, pawl_str by, int64_t lasts_us);
/* V7: both are asked for by these. */
static inline int pawl_break_may(const pawl_decision *d, const pawl_token *t) {
  return d->world->breaks ||
         (pawl_detail_of(t)->has &
          (PAWL_DETAIL_BIT(halted) | PAWL_DETAIL_BIT(stepping)));
}
static inline int pawl_cuts(pawl_decision *d, int k, const pawl_node *node) {
  return pawl_break_may(d, pawl_tok(d, k)) && pawl_break_cuts(d, k, node);
}
static inline int pawl_halts(pawl_decision *d, int k) {
  return pawl_break_may(d, pawl_tok(d, k)) && pawl_break_halts(d, k);
}

/* ---- escalate.c ---- */

/* Rows for what a handler has escalated at token k, in front of its own, to be
 * filled in by what follows: the index of the first. Then, with that row in
 * place, each goes to who takes it; token k may be gone by that. */
int pawl_escalations_note(pawl_decision *d, int k, pawl_str list);
void pawl_escalations_send(pawl_decision *d, int k, pawl_str list, int row);
/* The same of token k, which stands at a node of that kind, and goes on. */
void pawl_escalate_run(pawl_decision *d, int k);
/* Is this letter of a child one? It goes outwards from token k, which waits for
 * that child; -1: none does any more. */
int pawl_escalation_is(const pawl_letter *l);
void pawl_escalation_take(pawl_decision *d, int k, const pawl_letter *letter);

/* ---- join.c ---- */

/* Fires every join that can, until none does. */
void pawl_joins_settle(pawl_decision *d);
/* The same, if something has just come to one that does not wait for all, or
 * to one that may lead there: the first decide, before anything else that is
 * at hand happens. */
void pawl_joins_race(pawl_decision *d);
/* Settles joins, eachs and conditions, until nothing follows from that. */
void pawl_gather(pawl_decision *d);
/* Token k, which still lives, ends here and comes to no join. 1: one of a
 * number can be reached no more for that, and has failed. */
int pawl_join_missed_by(pawl_decision *d, int k);
/* Has this join fired already for the group of token k? */
int pawl_join_has_fired(const pawl_decision *d, const pawl_token *t,
                        const pawl_node *join);

/* ---- times.c ---- */

/* When a token with this time limit (-1: none) began to wait. */
int64_t pawl_wait_began(const pawl_token *t, int64_t limit_us, int64_t now);
/* It is due that long after it began; without a limit its detail says when it
 * began. */
void pawl_wait_until(pawl_token *t, int64_t began_us, int64_t limit_us);
/* How long token k waits there, in *limit_us, -1: for ever. A handler that
 * says so is asked once in a visit; d->result is its. */
pawl_code pawl_wait_limit(pawl_decision *d, int k, const pawl_node *node,
                          int64_t *limit_us, pawl_error *err);
/* Its limit is that of `is` now; 1: another one. What a handler is to say stays
 * as it was. */
int pawl_limit_transfer(pawl_token *t, const pawl_node *was,
                        const pawl_node *is);
/* What waits has the time limit of `is` now. One that is as it was stays due
 * when it is: it may have been shifted. */
void pawl_wait_transfer(pawl_decision *d, int k, const pawl_node *was,
                        const pawl_node *is);
/* The same with what moves it. */
void pawl_child_transfer(pawl_decision *d, int k, const pawl_node *was,
                         const pawl_node *is);
/* Its `timeout` transition, or the failure "timeout". */
void pawl_time_out(pawl_decision *d, int k, const pawl_node *node);
/* Everything whose time came before then, in that order: timers, timeouts,
 * overdue tasks; save those of token `except` (0: none). */
void pawl_times_out(pawl_decision *d, int64_t before_us, int32_t except);

/* ---- events.c, kinds/wait.c ---- */

/* Strings as they are; numbers and booleans as they print. 0: neither. */
int pawl_event_key_text(pawl_str value, pawl_buf *out);
/* The id that the event was sent with: its letter's is "source:id". */
pawl_str pawl_event_id(const pawl_letter *l);
/* Gives an event to every wait that takes it, and every timer that it moves. 1:
 * taken. */
int pawl_event_give(pawl_decision *d, pawl_letter *letter);
/* Token k, whose time is set, stands and listens from now on; `key` NULL: it
 * asks for none. `is_alone`: of those that do one is told of an event (K6,
 * engine/enter/assign.h). It is free for the next. It listens no more. */
void pawl_listen(pawl_decision *d, int k, pawl_ear ear, const char *event,
                 const pawl_buf *key, int is_alone);
void pawl_listen_free(pawl_decision *d, int k, const pawl_node *node);
/* Token k is due at another time, and stands on. */
void pawl_wait_moved(pawl_decision *d, int k);
void pawl_listen_no_more(pawl_decision *d, int k, pawl_ear ear);
/* The key that a variable, or a field of the input, gives it. PAWL_SCRIPT: none
 * that an event could have; it need not be tried again. */
pawl_code pawl_listen_key(pawl_decision *d, const pawl_node *node,
                          const char *name, pawl_buf *key, pawl_error *err);
/* The same of one that this handler says. */
pawl_code pawl_listen_key_asked(pawl_decision *d, int k, const pawl_node *node,
                                pawl_handler handler, pawl_buf *key,
                                pawl_error *err);
/* As handlers see it. */
void pawl_event_json(const pawl_letter *l, pawl_buf *out);
/* As it was sent, in the record of what came of it. */
void pawl_event_note(pawl_record *r, const pawl_letter *l);
/* What whoever asked is told, JSON: {member: value}. */
void pawl_event_tell(pawl_decision *d, const pawl_letter *l,
                     const char *member, pawl_str value);
/* An error by that field of the node refuses the event at token k. */
pawl_reception pawl_event_refuse(pawl_decision *d, int k, const pawl_letter *l,
                                 const char *by, const pawl_error *err,
                                 pawl_buf *why);

/* ---- condition.c ---- */

/* Asks the condition of token k, which waits or is about to. */
pawl_code pawl_condition_ask(pawl_decision *d, int k, const pawl_node *node,
                             int *holds, pawl_error *err);
/* Looks at them, if this decision may; what holds goes on. `at_us`: when that
 * happened which has stirred them, for a time that has come before is over; 0:
 * just now. */
void pawl_conditions_look(pawl_decision *d, int64_t at_us);
/* The plan is complete: who was not asked is so by the next. */
void pawl_conditions_keep(pawl_decision *d);

/* ---- reschedule.c, and listening in events.c ---- */

/* The event that moves the time of token k, at a node that has one, has come. */
pawl_reception pawl_reschedule(pawl_decision *d, int k, const pawl_node *node,
                               const pawl_letter *l, pawl_str event,
                               pawl_buf *why);
/* It listens for that from now on; the key is looked up first, as it may not be
 * there. PAWL_SCRIPT as in pawl_listen_key. */
pawl_code pawl_reschedule_key(pawl_decision *d, int k, const pawl_node *node,
                              pawl_buf *key, pawl_error *err);
void pawl_reschedule_listen(pawl_decision *d, int k, const pawl_node *node,
                            const pawl_buf *key);
/* No more, if it does. */
void pawl_reschedule_end(pawl_decision *d, int k);
/* The same in another version: a key that a handler says stays as it was. */
void pawl_reschedule_transfer(pawl_decision *d, int k, const pawl_node *was,
                              const pawl_node *is);

/* ---- cancel_on.c ---- */

/* Subscribes to what cancels the instance as its variables now name it, where
 * that differs from what is subscribed. */
void pawl_rules_watch(pawl_decision *d);
/* It goes on in another definition: what the one subscribed to is taken back,
 * and what the other wants stands in the same commit. */
void pawl_rules_transfer(pawl_decision *d, const pawl_def *from,
                         const pawl_def *to);

/* ---- each.c ---- */

/* Begins items there is room for; finishes eachs that are through. */
void pawl_eachs_settle(pawl_decision *d);
/* Does it go on as soon as its results are read? */
int pawl_each_is_through(const pawl_token *t);
/* Does one stand at an each? It may have its list or results to look at. */
int pawl_eachs_wait(pawl_decision *d);
/* The each around a token, innermost first: index of its parked token; -1.
 * *level: the depth of its items. */
int pawl_each_around(pawl_decision *d, int k, int *level);
/* The item that token k belongs to has failed. */
void pawl_each_item_failed(pawl_decision *d, int parked, int level, int k,
                           const pawl_error *err);
/* An item's token ended at a finish. */
void pawl_each_item_left(pawl_decision *d, int k);
/* ---- children.c ---- */

/* A child for the call or each that token k stands at; `index` of the item,
 * -1: of none; `options` of its start, JSON; empty: none. */
void pawl_child_send(pawl_decision *d, int k, const pawl_node *node,
                     const pawl_id *id, pawl_str input, pawl_str options,
                     int64_t index);
/* What token k's node says of its children: their group and priority. Its
 * handlers are asked. `out` stays empty where it says nothing. */
pawl_code pawl_child_options(pawl_decision *d, int k, const pawl_node *node,
                             pawl_buf *out, pawl_error *err);
/* A message to another instance, or in its name: its content is begun, and
 * ended by the caller. `to` NULL: filled in by the caller. */
pawl_effect *pawl_message(pawl_decision *d, int32_t token, const char *kind,
                          const pawl_id *to, pawl_object *content);
/* What ctx.start asked for: messages. */
void pawl_take_starts(pawl_decision *d, pawl_str starts);
/* Children that end with their parent are told to, and who wants it so: those
 * of one waiting token; all, since it ends, or begins to, with `status`. */
void pawl_children_unwanted(pawl_decision *d, int32_t token);
void pawl_children_end(pawl_decision *d, pawl_standing status);
/* Its parent is told that it ends, if that waits for it. */
void pawl_parent_tell(pawl_decision *d, pawl_standing status);
/* A member of what a child says that is text; "" when there is none. */
void pawl_child_text(pawl_decision *d, pawl_str object, const char *name,
                     char *to, size_t size);
/* The child's own error, as the call's: with the code that its script gave,
 * whole in d->result. */
void pawl_child_error(pawl_decision *d, pawl_str data, const char *status,
                      pawl_error *err);

/* ---- caught.c ---- */

/* Where it failed, and in which attempt, among the members of an error. */
void pawl_caught_at(pawl_buf *error, pawl_str node, int64_t attempt);
/* What is told of token k's failure; not at length, as it is kept there. */
void pawl_caught_make(pawl_decision *d, int k, const pawl_error *err,
                      pawl_buf *out);
/* Token k leaves a node that has gone well. */
void pawl_caught_leave(pawl_decision *d, int k);
/* As ctx.error has it; at NULL: nothing, or no longer. */
pawl_str pawl_caught_told(const pawl_token *t);
/* As an instance has it that fails for that; empty: nothing was caught. */
void pawl_caught_reason(const pawl_token *t, pawl_buf *out);

/* ---- fail.c ---- */

/* A handler of token k's node failed, which began then, or (0) what it waited
 * for did: recorded, then tried again, routed, suspended, or the end.
 * d->result says whether it may be tried again. */
void pawl_fail_token(pawl_decision *d, int k, const pawl_error *err,
                     int64_t began_us);
/* The attempt of token k that failed like this, for the rules of retry.c; and
 * that it did, kept with the token. */
pawl_failure pawl_failure_of(const pawl_decision *d, int k,
                             const pawl_error *err);
void pawl_failure_note(pawl_decision *d, int k, const pawl_failure *f);
/* Token k stands where it is until somebody has the instance go on. */
void pawl_suspend_token(pawl_decision *d, int k);
/* The instance fails for a reason that lies outside its graph. */
void pawl_fail_outright(pawl_decision *d, const pawl_error *err);
/* Ends it with this status now; tokens that are left are dropped. */
void pawl_end(pawl_decision *d, pawl_standing status);
/* The same as cancelled, when it has cleaned up, where its definition says how
 * (`on_cancel`): what lives is dropped, and a token comes to that node. */
void pawl_end_cancelled(pawl_decision *d);
/* When its last token has ended while it was not seen to be the last. */
void pawl_end_last(pawl_decision *d);
/* The same after compensation, where there is something to undo. */
void pawl_end_undoing(pawl_decision *d, pawl_standing status, int compensate);
void pawl_suspend(pawl_decision *d, const pawl_error *err);
/* For people: where, the script's own code, what. */
void pawl_set_detail(pawl_plan *p, const pawl_error *err);

/* ---- failure.c ---- */

/* The plan is complete: when the instance fails by it, or is suspended by an
 * error, what its definition's on_failure asks for is added; and taken back,
 * as it is decided otherwise. */
void pawl_failure_tell(pawl_decision *d);
void pawl_failure_untell(pawl_decision *d);
/* The attempt that failed for good by this plan; 0: no handler did. */
int64_t pawl_failed_attempt(const pawl_decision *d);

/* ---- stopped.c ---- */

/* How the instance stood when it failed, and back; what was undone stays. */
void pawl_stopped_note(pawl_decision *d);
void pawl_stopped_restore(pawl_decision *d);
/* Why one that has failed cannot be retried in the other version, appended to
 * `why`; nothing: it can. And so it shall be; the variables are in place. */
void pawl_stopped_check(const pawl_decision *d, const pawl_crossing *c,
                        pawl_buf *why);
void pawl_stopped_transfer(pawl_decision *d, const pawl_crossing *c);

/* ---- compensate.c ---- */

/* Everything that stands is dropped; what was done is undone from the next
 * decision on, and then the instance ends with `status`. */
void pawl_undo_begin(pawl_decision *d, pawl_standing status);
/* Token k stands at a node that has a part of it undone, from the next decision
 * on, and goes on then. */
void pawl_undo_begin_part(pawl_decision *d, int k);
/* The instance ends while it is being undone: the record says so. */
void pawl_undo_stop(pawl_decision *d);
/* Undoes the next one. */
void pawl_undo_run(pawl_decision *d);
/* The handler that undoes has ended with rc, some time after it began. */
void pawl_undo_returned(pawl_decision *d, pawl_code rc, pawl_error *err,
                        int64_t began_us);

/* ---- transfer.c ---- */

/* Why an instance as it stands in the plan cannot go on in the other version,
 * with these variables, appended to `why`; nothing: it can. */
void pawl_version_check(pawl_decision *d, const pawl_crossing *c,
                        pawl_str vars, pawl_buf *why);
/* It goes on there; the variables are in place. */
void pawl_version_change(pawl_decision *d, const pawl_crossing *c);

/* ---- requests.c ---- */

/* Of one letter each. */
int pawl_request_is(const pawl_letter *l);
/* May it be taken while handlers of the instance wait? */
int pawl_request_goes_beside(const pawl_letter *l);
/* 1: it is dealt with; else it stays where it is. */
int pawl_request_take(pawl_decision *d, const pawl_letter *l);
/* Is the instance to end by it? */
int pawl_request_cancels(const pawl_letter *l);
/* It does: by a request, or by an event. */
void pawl_request_cancel(pawl_decision *d, const pawl_letter *l);
void pawl_request_note(pawl_decision *d, const pawl_letter *l);
void pawl_request_refuse(pawl_decision *d, const pawl_letter *l,
                         const char *why);
/* It ends, with all that is to be told of that: is it to be deleted then? */
void pawl_request_delete_ended(pawl_decision *d);
/* A number among the members of its data; `other`: there is none. */
static inline int64_t pawl_letter_int(const pawl_letter *l, const char *name,
                                      int64_t other) {
  return pawl_json_get_int(pawl_buf_str(&l->data), name, other);
}

/* ---- letters.c ---- */

/* Takes what has come in, in order. */
void pawl_letters_take(pawl_decision *d);
/* Is none of them a request? */
int pawl_letters_ask_nothing(const pawl_decision *d);
/* May all of them be taken while handlers of the instance wait? */
int pawl_letters_go_beside(const pawl_decision *d);
/* Are all of them what a node waits for, in the inbox, and none a request? */
int pawl_letters_are_news(const pawl_decision *d);
/* The instance had ended before: what else lies there came too late, an answer
 * of a child that was under way for one, and nobody else will read it; but the
 * events of one that has failed stay. */
void pawl_letters_discard(pawl_decision *d);
/* untaken.c */
/* A letter that is passed over for good; what is left when it ends. */
void pawl_untaken_note(pawl_decision *d, const pawl_letter *l,
                       const char *why);
void pawl_untaken_end(pawl_decision *d);

/* Notes that were not taken are: they are history's, not the instance's. */
void pawl_letters_note(pawl_decision *d);
/* Requests that were not taken are answered on the record, for they will not
 * be: the instance ends with what is decided, for one. */
void pawl_letters_refuse(pawl_decision *d, const char *why);
/* It is dealt with: its row goes, or stays where it could come again. */
void pawl_letter_taken(pawl_decision *d, const pawl_letter *letter);

#endif
