/* rules/decide.h: what follows for an instance, decided.
 *
 *   ended?  --> taken over? --> letters --> suspended? --> poisoned?
 *   --> unknown workflow? --> deadline? --> undoing? --> first step?
 *   --> times that have come; if any, that is the decision
 *   --> else each active token runs one step
 *
 * What was decided by the letters and the clock alone, and may come out
 * otherwise when something else comes in meanwhile, is committed before any
 * step runs, so that it can be decided again without losing a handler's result
 * (rule 6).
 *
 * Layer    rules: (state, definition, letters, time, handler's answer) -> plan.
 *          No store, no host, no clock.
 * Errors   none: what goes wrong is part of the plan. Out of memory: the plan
 *          is marked as failed (pawl_plan_check), and is decided again (N7). */
#ifndef PAWL_RULES_DECIDE_H
#define PAWL_RULES_DECIDE_H

#include "decision.h"

/* ---- deciding ---- */

/* What stands next, beside the handlers that wait. 1: it leaves a plan. 0: some
 * wait, and nothing else is worth storing; plan.look_us says when there may
 * be. */
int pawl_decide(pawl_decision *d);
/* The handler of a token that had waited has ended, with rc, and is not aloft
 * any more; what came of it is in d->result. `base`: as the decision has it.
 * Leaves a plan, as do all that follow. */
void pawl_decide_returned(pawl_decision *d, pawl_handler handler,
                          int32_t token, pawl_str base, pawl_code rc,
                          pawl_error *err);
/* May anything be decided beside the handlers that wait? Not while what would
 * end them, or asks for it to stand still, waits for them (docs/decisions/
 * 0100): a request, its deadline, what is to be undone. */
int pawl_decide_beside(const pawl_decision *d);
/* Turns the plan into one that cancels, where that is asked for, keeping what
 * it recorded. */
void pawl_decide_hear(pawl_decision *d);
/* Replaces the plan: the step it came from has failed after all, and nothing
 * of it was stored. */
void pawl_decide_failed(pawl_decision *d, const pawl_error *why);
/* Replaces the plan after the store refused it: the instance fails. 1: not
 * yet, as a decision and a step were in it; it is the decision alone. */
int pawl_decide_refused(pawl_decision *d, const pawl_error *why);

/* ---- what would be decided ---- */

/* The step that runs next, if one does; else NULL. `transactional`: one that
 * needs its own transaction, rather than another. */
const pawl_node *pawl_decide_next_step(const pawl_decision *d,
                                       int transactional);
/* Is it one that needs its own transaction? */
int pawl_decide_is_transactional(const pawl_decision *d);
/* Would a handler that may wait begin next? */
int pawl_decide_may_wait(const pawl_decision *d);
/* The step of the loaded page that is undone next; 0: the page has none.
 * *behind: how many of the page follow it. */
int pawl_undo_next(const pawl_decision *d, const pawl_compensation *u,
                   pawl_str *step, int64_t *seq, int *behind);
/* The variables as they stand in the plan: an object. */
pawl_str pawl_vars_now(const pawl_decision *d);

/* ---- events ---- */

/* Is the name one that the pattern means? */
int pawl_event_matches(const char *pattern, pawl_str name);
/* The text that a wait's or rule's key stands for: from the variables, then
 * the input. 0: there is none, or it is no text, number or boolean; out->failed
 * then says nothing of that, but that there was no memory to look. */
int pawl_event_key(const pawl_decision *d, pawl_str vars, const char *name,
                   pawl_buf *out);
/* Can an event have this key? */
int pawl_event_key_is_sound(pawl_str key);
/* May what asks for this key (at NULL: for none) have the event? Their keys
 * are equal, or neither has one; where one that is addressed to this instance
 * or its receiver has none, none is asked for. */
int pawl_event_fits(const pawl_letter *l, pawl_str key);

/* ---- what cancels it (cancel_on) ---- */

/* Does a rule of the workflow make this event the end of the instance? */
int pawl_rules_cancel(const pawl_decision *d, const pawl_letter *l);
/* The first request to cancel or kill, or event that cancels; NULL: none. */
const pawl_letter *pawl_letters_cancel(const pawl_decision *d);
/* All rules of a definition, their keys as these variables and the input have
 * them; added. One whose key has no value that an event could have is left
 * out. */
void pawl_rules_list(const pawl_decision *d, const pawl_def *def,
                     pawl_str vars, pawl_marks *out);
/* When the instance came into being, in whole milliseconds. */
int64_t pawl_rules_since(const pawl_decision *d);

/* ---- object.c ---- */

/* Replaces a buffer's JSON object by one with `name` set to `value`. */
void pawl_object_set(pawl_buf *object, const char *name, pawl_str value);
void pawl_object_set_text(pawl_buf *object, const char *name, pawl_str text);

/* Sets all members of another object, as written by the same codec. */
void pawl_object_merge(pawl_buf *object, pawl_str other);

#endif
