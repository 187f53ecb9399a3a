#include "state.h"

#include <assert.h>

#include "../value/json.h"

const char *const pawl_status_names[PAWL_NSTATUSES] = {
#define STATUS_NAME(name, text) [PAWL_STATUS_##name] = text,
    PAWL_STATUSES(STATUS_NAME)
#undef STATUS_NAME
};

#define BIT(s) (1u << PAWL_STATUS_##s)
#define ENDS (BIT(COMPLETED) | BIT(FAILED) | BIT(CANCELLED))

/* Row: from; bits: where to. */
static const unsigned next_of[PAWL_NSTATUSES] = {
    [PAWL_STATUS_CREATED] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    [PAWL_STATUS_RUNNING] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    [PAWL_STATUS_WAITING] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    [PAWL_STATUS_SUSPENDED] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    /* E1: only a retry or a restart brings an ended one back; what leaves it
     * as it is is no move */
    [PAWL_STATUS_COMPLETED] = BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED),
    [PAWL_STATUS_FAILED] = BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED),
    [PAWL_STATUS_CANCELLED] = BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED),
};

const char *pawl_status_name(pawl_standing s) {
  assert(s < PAWL_NSTATUSES);
  return pawl_status_names[s];
}

int pawl_status_parse(pawl_str text, pawl_standing *out) {
  for (int i = 0; i < PAWL_NSTATUSES; i++) {
    if (pawl_str_eqz(text, pawl_status_names[i])) {
      *out = (pawl_standing)i;
      return 1;
    }
  }
  return 0;
}

int pawl_status_has_ended(pawl_standing s) {
  return (ENDS >> s) & 1u;
}

int pawl_status_may_become(pawl_standing from, pawl_standing to) {
  assert(from < PAWL_NSTATUSES && to < PAWL_NSTATUSES);
  return (next_of[from] >> to) & 1u;
}

/* ---- the state ---- */

#define EACH_MEMBER(what) \
  PAWL_STATE_SELDOM(what) \
  PAWL_STATE_USUAL(what)

void pawl_state_init(pawl_state *s, const pawl_alloc *alloc) {
  memset(s, 0, sizeof *s);
#define INIT_NUMBER(name)
#define INIT_TIME(name)
#define INIT_MARKS(name)
#define INIT_TEXT(name) s->name.alloc = alloc;
#define INIT(type, name) INIT_##type(name)
  EACH_MEMBER(INIT)
}

void pawl_state_deinit(pawl_state *s, const pawl_alloc *alloc) {
#define DEINIT_NUMBER(name)
#define DEINIT_TIME(name)
#define DEINIT_MARKS(name) pawl_marks_deinit(&s->name, alloc);
#define DEINIT_TEXT(name) pawl_buf_deinit(&s->name);
#define DEINIT(type, name) DEINIT_##type(name)
  EACH_MEMBER(DEINIT)
  pawl_tokens_deinit(&s->tokens, alloc);
}

#define CLEAR_NUMBER(name) s->name = 0;
#define CLEAR_TIME(name) CLEAR_NUMBER(name##_us)
#define CLEAR_MARKS(name) pawl_marks_clear(&s->name);
#define CLEAR_TEXT(name) pawl_buf_clear(&s->name);
#define CLEAR(type, name) CLEAR_##type(name)

void pawl_state_clear(pawl_state *s) {
  s->status = PAWL_STATUS_CREATED;
  s->tokens.n = 0;
  s->last_token = 0;
  s->node = s->previous = NULL;
  EACH_MEMBER(CLEAR)
}

int pawl_state_is_cleaning(const pawl_state *s) {
  pawl_str since;

  return s->cancellation.len && !pawl_status_has_ended(s->status) &&
         pawl_json_get(pawl_buf_str(&s->cancellation), "cleaning_since",
                       &since);
}

void pawl_state_drop_undo(pawl_state *s) {
  PAWL_UNDO_MEMBERS(CLEAR, undo.)
}

int pawl_state_copy(pawl_state *to, const pawl_state *from,
                    const pawl_alloc *alloc) {
  to->status = from->status;
  to->last_token = from->last_token;
  to->node = from->node;
  to->previous = from->previous;
#define COPY_NUMBER(name) to->name = from->name;
#define COPY_TIME(name) COPY_NUMBER(name##_us)
#define COPY_MARKS(name) pawl_marks_copy(&to->name, &from->name, alloc);
#define COPY_TEXT(name) pawl_buf_copy(&to->name, &from->name);
#define COPY(type, name) COPY_##type(name)
  EACH_MEMBER(COPY)
  return pawl_tokens_copy(&to->tokens, &from->tokens, alloc) &&
         !pawl_state_has_failed(to);
}

int pawl_state_differs(const pawl_state *a, const pawl_state *b) {
  if (a->last_token != b->last_token && a->last_token > 1) return 1;
#define DIFFERS_NUMBER(name) || a->name != b->name
#define DIFFERS_TIME(name) DIFFERS_NUMBER(name##_us)
#define DIFFERS_MARKS(name) || !pawl_marks_same(&a->name, &b->name)
#define DIFFERS_TEXT(name)            \
  || ((a->name.len || b->name.len) && \
      !pawl_str_eq(pawl_buf_str(&a->name), pawl_buf_str(&b->name)))
#define DIFFERS(type, name) DIFFERS_##type(name)
  return 0 PAWL_STATE_SELDOM(DIFFERS);
}

int pawl_state_folded_differs(const pawl_state *a, const pawl_state *b) {
  static const pawl_token none;
  const pawl_token *x = pawl_tokens_folded(&a->tokens);
  const pawl_token *y = pawl_tokens_folded(&b->tokens);

  if (!x) x = &none;
  if (!y) y = &none;
#define TEXT_DIFFERS(name) \
  || !pawl_str_eq(pawl_buf_str(&x->name), pawl_buf_str(&y->name))
  return !pawl_detail_same(x, y) PAWL_TOKEN_TEXTS(TEXT_DIFFERS);
}

int pawl_state_has_failed(const pawl_state *s) {
#define FAILED_NUMBER(name)
#define FAILED_TIME(name)
#define FAILED_MARKS(name) || s->name.failed
#define FAILED_TEXT(name) || s->name.failed
#define FAILED(type, name) FAILED_##type(name)
  if (0 EACH_MEMBER(FAILED)) return 1;
  for (int k = 0; k < s->tokens.n; k++)
    if (pawl_token_has_failed(&s->tokens.at[k])) return 1;
  return 0;
}
