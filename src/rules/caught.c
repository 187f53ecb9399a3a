/* What failed, and was caught: it goes with the token to where that led.
 *
 *   E6 handlers are told of it in the node that it led to, and past forks,
 *      choices and undos; behind the next node that has gone well they are
 *      not. A finish that fails has it as its reason however far away, until
 *      the node that failed is passed again. */
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"

enum { MOST_DETAILS = 4096 }; /* bytes that go along */

void pawl_caught_at(pawl_buf *error, pawl_str node, int64_t attempt) {
  pawl_buf number = {.alloc = error->alloc};

  pawl_object_set_text(error, "node", node);
  pawl_buf_addf(&number, "%" PRId64, attempt);
  pawl_object_set(error, "attempt", pawl_buf_str(&number));
  error->failed |= number.failed;
  pawl_buf_deinit(&number);
}

void pawl_caught_make(pawl_decision *d, int k, const pawl_error *err,
                      pawl_buf *out) {
  pawl_token *t = pawl_tok(d, k);

  pawl_plan_error(out, err, NULL);
  pawl_caught_at(out, pawl_strz(t->node), t->attempt);
  if (d->result->details.len && d->result->details.len <= MOST_DETAILS)
    pawl_object_set(out, "details", pawl_buf_str(&d->result->details));
  t->failed |= out->failed;
}

#define PAST "past" /* true: handlers are told no more */

void pawl_caught_leave(pawl_decision *d, int k) {
  pawl_token *t = pawl_tok(d, k);
  const pawl_node *node = pawl_tok_node(d, k);
  pawl_str error = pawl_buf_str(&pawl_detail_of(t)->error), at;

  if (!error.len || !node || node->kind == PAWL_KIND_UNDO) return;
  pawl_buf changed = {.alloc = d->alloc};
  pawl_buf own = {.alloc = d->alloc};
  (void)pawl_json_get_text(error, "node", &own);
  if (own.len && pawl_str_eqz(pawl_buf_str(&own), node->name)) {
    pawl_detail_drop(t, PAWL_DETAIL_error);
  } else if (!pawl_json_get(error, PAST, &at)) {
    pawl_buf_adds(&changed, error);
    pawl_object_set(&changed, PAST, pawl_strz("true"));
    pawl_detail_put(t, PAWL_DETAIL_error, pawl_buf_str(&changed));
  }
  t->failed |= changed.failed | own.failed;
  pawl_buf_deinit(&changed);
  pawl_buf_deinit(&own);
}

pawl_str pawl_caught_told(const pawl_token *t) {
  const pawl_buf *error = &pawl_detail_of(t)->error;
  pawl_str past;

  if (!error->len || pawl_json_get(pawl_buf_str(error), PAST, &past))
    return (pawl_str){NULL, 0};
  return pawl_buf_str(error);
}

void pawl_caught_reason(const pawl_token *t, pawl_buf *out) {
  static const char *const ours[] = {"node", "attempt", PAST};
  const pawl_buf *error = &pawl_detail_of(t)->error;

  pawl_buf_clear(out);
  if (!error->len) return;
  pawl_buf_adds(out, pawl_buf_str(error));
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    pawl_object_set(out, ours[i], (pawl_str){NULL, 0});
}
