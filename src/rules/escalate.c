/* Escalations: what a step's handler, or a node of that kind, tells whoever is
 * around it, and goes on.
 *
 *   own node --> each fork, or each, around it, the innermost first
 *     --> the call, or each, of the parent that has started this instance
 *     --> each fork, or each, around that --> its own parent, and so on
 *
 *   O8 one boundary takes it, the nearest that will; inside of an instance with
 *      the decision in which it was said, so that what interrupts has done so
 *      before anything else runs. In a parent it is a letter of the child's,
 *      and goes on outwards from the token that waits for that child; when
 *      that has gone on, it was nobody's. */
#include <inttypes.h>
#include <stdio.h>

#include "../value/json.h"
#include "machine.h"
#include "order.h"
#include "stored.h"

/* ---- what is around it ---- */

/* Numbers of tokens that a boundary may be on, the innermost first. */
typedef struct around {
  int32_t no[1 + PAWL_MAX_DEPTH];
  int n;
} around;

static around around_of(const pawl_token *t) {
  around a = {.no = {t->no}, .n = 1};

  for (int at = t->depth - 1; at >= 0; at--) a.no[a.n++] = t->scope[at];
  return a;
}

/* One that has failed with it has it, too. */
static int takes(pawl_decision *d, int k, const pawl_node *node,
                 const pawl_letter *l, pawl_str event) {
  pawl_buf why = {.alloc = d->alloc}; /* stands in its row as well */
  const pawl_reception how =
      pawl_kind_of(d, node)->hear(d, k, node, l, event, &why);

  if (why.failed) d->plan.failed = 1;
  pawl_buf_deinit(&why);
  return how == PAWL_RECEIVED ||
         (how == PAWL_LEFT && pawl_tok(d, k)->state != PAWL_TOKEN_WAITING);
}

/* The boundary on token `host` that has taken it; NULL: none. Its key is not
 * asked for, as of all that is addressed. */
static const pawl_node *offer(pawl_decision *d, int32_t host,
                              const pawl_letter *l, pawl_str event) {
  const int n = d->plan.state.tokens.n;

  for (int k = 0; k < n && !pawl_is_over(d); k++) {
    const pawl_token *t = pawl_tok(d, k);
    if (t->state != PAWL_TOKEN_WAITING || pawl_detail_of(t)->host != host)
      continue;
    const pawl_node *node = pawl_tok_node(d, k);
    if (node && node->event &&
        pawl_event_matches(node->event, pawl_buf_str(&l->name)) &&
        takes(d, k, node, l, event))
      return node;
  }
  return NULL;
}

static const pawl_node *offer_all(pawl_decision *d, const around *a,
                                  const pawl_letter *l) {
  pawl_buf event = {.alloc = d->alloc};
  const pawl_node *taker = NULL;

  if (!d->def->has_boundaries) return NULL;
  pawl_event_json(l, &event);
  if (event.failed) d->plan.failed = 1;
  for (int i = 0; i < a->n && !taker && !d->plan.failed; i++)
    taker = offer(d, a->no[i], l, pawl_buf_str(&event));
  pawl_buf_deinit(&event);
  return taker;
}

/* 0: nobody there waits for this instance. */
static int tell_parent(pawl_decision *d, int32_t token, const pawl_letter *l) {
  pawl_str place = pawl_buf_str(&d->parent_place), value;
  pawl_object o;

  if (!d->has_parent || !pawl_json_get(place, "token", &value)) return 0;
  (void)pawl_message(d, token, "escalation", &d->parent, &o);
  pawl_member_textz(&o, "child", d->id_text);
  pawl_place_tell(place, &o);
  pawl_member_str(&o, "name", pawl_buf_str(&l->name));
  pawl_member_str(&o, "source", pawl_buf_str(&l->source));
  pawl_member_str(&o, "id", pawl_event_id(l));
  pawl_member_json(&o, "data", pawl_buf_str(&l->data));
  pawl_object_end(&o);
  return 1;
}

/* ---- as an event ---- */

static void begin_letter(pawl_decision *d, pawl_letter *l, pawl_str said,
                         int64_t at_us) {
  pawl_str data;

  *l = (pawl_letter){.addressed = 1, .received_us = at_us};
  l->kind.alloc = l->name.alloc = l->key.alloc = l->event_id.alloc =
      l->source.alloc = l->by.alloc = l->data.alloc = d->alloc;
  pawl_buf_addz(&l->kind, "escalation");
  (void)pawl_json_get_text(said, "name", &l->name);
  if (!pawl_json_get(said, "data", &data)) data = pawl_strz("null");
  pawl_buf_adds(&l->data, data);
}

static void end_letter(pawl_decision *d, pawl_letter *l) {
  if (l->kind.failed || l->name.failed || l->event_id.failed ||
      l->source.failed || l->data.failed)
    d->plan.failed = 1;
  pawl_buf_deinit(&l->kind);
  pawl_buf_deinit(&l->name);
  pawl_buf_deinit(&l->event_id);
  pawl_buf_deinit(&l->source);
  pawl_buf_deinit(&l->data);
}

/* ---- said here ---- */

/* When what led the token to it happened: so what it leads to is in order. */
static int64_t said_at(pawl_decision *d, int32_t token) {
  const pawl_token *t = pawl_tokens_find(&d->plan.state.tokens, token);
  const int64_t at_us = t ? pawl_order_place(t) : 0;

  return at_us ? at_us : pawl_decision_now(d);
}

/* Its row says who has it. One that ends its instance on the way leaves the
 * others to nobody. */
static void escalate(pawl_decision *d, int32_t token, const around *a,
                     pawl_str said, int row) {
  pawl_letter l;
  char parent[37];

  begin_letter(d, &l, said, said_at(d, token));
  pawl_buf_addz(&l.source, d->id_text);
  pawl_buf_addf(&l.event_id, "%s:escalated:%" PRId64, d->id_text,
                d->seq + row + 1);
  const pawl_node *taker = offer_all(d, a, &l);
  const int told =
      !taker && d->plan.after != PAWL_AFTER_END && tell_parent(d, token, &l);
  pawl_record *r = pawl_plan_record_at(&d->plan, row);
  const char *name = l.name.len ? l.name.at : "";
  if (taker) {
    pawl_buf_addf(&r->text, "\"%s\" to \"%s\"", name, taker->name);
  } else if (told) {
    pawl_id_format(&d->parent, parent);
    pawl_buf_addf(&r->text, "\"%s\" to its parent %s", name, parent);
  } else {
    r->type = "untaken";
    pawl_buf_addf(&r->text, "escalation \"%s\": nobody around it takes it",
                  name);
  }
  end_letter(d, &l);
}

/* In front of that of the step which said so, as notes are. */
int pawl_escalations_note(pawl_decision *d, int k, pawl_str list) {
  const int first = d->plan.nrecords;

  for (pawl_json_iter it = {0}; list.len && pawl_json_walk(list, &it);)
    (void)pawl_visit_record(d, k, "escalated");
  return first;
}

void pawl_escalations_send(pawl_decision *d, int k, pawl_str list, int row) {
  const int32_t token = pawl_tok(d, k)->no;
  const around a = around_of(pawl_tok(d, k));

  for (pawl_json_iter it = {0}; list.len && pawl_json_walk(list, &it);)
    escalate(d, token, &a, it.value, row++);
}

/* ---- said by a node ---- */

static pawl_code say(pawl_decision *d, int k, const pawl_node *node,
                     pawl_buf *said, pawl_error *err) {
  pawl_str data = pawl_strz("null");
  pawl_object o;

  if (node->has_data) {
    MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_DATA, err));
    if (d->result->has_output) data = pawl_buf_str(&d->result->output);
  }
  pawl_object_begin(&o, said);
  pawl_member_textz(&o, "name", node->event);
  pawl_member_json(&o, "data", data);
  pawl_object_end(&o);
  MUST(pawl_spend(d, PAWL_QUOTA_SIGNALS, 1, err));
  return pawl_buf_check(said, err);
}

static void said_so(pawl_decision *d, int k, const pawl_node *node,
                    pawl_str said) {
  const int row = d->plan.nrecords;
  const int32_t token = pawl_tok(d, k)->no;
  const around a = around_of(pawl_tok(d, k));

  (void)pawl_token_record(d, k, "escalated");
  escalate(d, token, &a, said, row);
  d->plan.outcome = "done";
  if (pawl_tok_live(d, k) && !pawl_is_over(d))
    pawl_leave_by(d, k, pawl_node_next(node, "", 0), row);
}

void pawl_escalate_run(pawl_decision *d, int k) {
  const pawl_node *node = pawl_tok_node(d, k);
  const int64_t began_us = pawl_decision_now(d);
  pawl_buf said = {.alloc = d->alloc};
  pawl_error err = {0};

  pawl_said_drop_failure(d->result);
  if (d->def->busy_limit) d->plan.state.immediate++;
  if (say(d, k, node, &said, &err) == PAWL_OK)
    said_so(d, k, node, pawl_buf_str(&said));
  else
    pawl_fail_token(d, k, &err, began_us);
  pawl_buf_deinit(&said);
  pawl_trace_step(d, node, pawl_decision_now(d) - began_us, k);
}

/* ---- said by a child ---- */

/* k -1: what waited for it has gone on. */
static void pass_on(pawl_decision *d, int k, const pawl_letter *l) {
  const char *name = l->name.len ? l->name.at : "";
  const char *source = l->source.len ? l->source.at : "";
  char parent[37];

  if (k >= 0 && tell_parent(d, pawl_tok(d, k)->no, l)) {
    pawl_record *r = pawl_visit_record(d, k, "escalated");
    pawl_id_format(&d->parent, parent);
    pawl_buf_addf(&r->text, "\"%s\" of %s to its parent %s", name, source,
                  parent);
    return;
  }
  pawl_record *r = pawl_instance_record(d, "untaken");
  pawl_buf_addf(&r->text, "escalation \"%s\" of %s: %s", name, source,
                k < 0 ? "what waited for it had gone on by then"
                      : "nobody around it takes it");
}

int pawl_escalation_is(const pawl_letter *l) {
  pawl_str name;
  return pawl_letter_is(l, "child") &&
         pawl_json_get(pawl_buf_str(&l->data), "name", &name);
}

void pawl_escalation_take(pawl_decision *d, int k, const pawl_letter *letter) {
  const pawl_str said = pawl_buf_str(&letter->data);
  const pawl_node *taker = NULL;
  pawl_letter l;

  begin_letter(d, &l, said, letter->received_us);
  (void)pawl_json_get_text(said, "source", &l.source);
  pawl_buf_adds(&l.event_id, pawl_buf_str(&l.source));
  pawl_buf_addc(&l.event_id, ':');
  (void)pawl_json_get_text(said, "id", &l.event_id);
  if (k >= 0) {
    const around a = around_of(pawl_tok(d, k));
    taker = offer_all(d, &a, &l);
  }
  if (!taker) pass_on(d, k, &l);
  end_letter(d, &l);
}
