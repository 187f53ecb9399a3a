#include "plan.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../value/object.h"

/* ---- the plan ---- */

/* What is done to each text, by its name. */
#define INIT(name) p->name.alloc = alloc;
#define DEINIT(name) pawl_buf_deinit(&at->name);
#define CLEAR(name)          \
  at->name.alloc = p->alloc; \
  pawl_buf_clear(&at->name);
#define FAILED(name) || at->name.failed

void pawl_plan_init(pawl_plan *p, const pawl_alloc *alloc) {
  memset(p, 0, sizeof *p);
  PAWL_PLAN_TEXTS(INIT)
  pawl_state_init(&p->state, alloc);
  p->alloc = alloc;
}

static void deinit_record(pawl_record *at) {
  PAWL_RECORD_TEXTS(DEINIT)
}

static void deinit_effect(pawl_effect *at) {
  PAWL_EFFECT_TEXTS(DEINIT)
}

void pawl_plan_deinit(pawl_plan *p) {
  pawl_plan *at = p;
  PAWL_PLAN_TEXTS(DEINIT)
  pawl_state_deinit(&p->state, p->alloc);
  pawl_marks_deinit(&p->came, p->alloc);
  for (int k = 0; k < p->records_cap; k++) deinit_record(&p->records[k]);
  for (int k = 0; k < p->effects_cap; k++) deinit_effect(&p->effects[k]);
  deinit_record(&p->spare_record);
  deinit_effect(&p->spare_effect);
  pawl_release(p->alloc, p->records,
               sizeof *p->records * (size_t)p->records_cap);
  pawl_release(p->alloc, p->effects,
               sizeof *p->effects * (size_t)p->effects_cap);
  pawl_release(p->alloc, p->members,
               sizeof *p->members * (size_t)p->members_cap);
  pawl_plan_init(p, p->alloc);
}

void pawl_plan_reset(pawl_plan *p) {
  pawl_plan *at = p;

  memset(p, 0, offsetof(pawl_plan, alloc));
  PAWL_PLAN_TEXTS(CLEAR)
  pawl_state_clear(&p->state);
  pawl_marks_clear(&p->came);
  p->resets = 1;
}

const char *const pawl_record_types[PAWL_NRECORD_TYPES] = {
#define TYPE_NAME(name) #name,
    PAWL_RECORD_TYPES(TYPE_NAME)
#undef TYPE_NAME
};

#ifndef NDEBUG
static int is_type(const char *type) {
  for (int i = 0; i < PAWL_NRECORD_TYPES; i++)
    if (!strcmp(type, pawl_record_types[i])) return 1;
  return 0;
}
#endif

pawl_record *pawl_plan_record(pawl_plan *p, const char *type,
                              const char *node) {
  pawl_record *at = &p->spare_record;

  assert(is_type(type));
  if (PAWL_ROOM(p->alloc, p->records, p->nrecords, p->records_cap))
    at = &p->records[p->nrecords++];
  else
    p->failed = 1;
  memset(at, 0, offsetof(pawl_record, transition)); /* the first text */
  at->type = type;
  at->node = node;
  PAWL_RECORD_TEXTS(CLEAR)
  return at;
}

pawl_record *pawl_plan_record_at(pawl_plan *p, int at) {
  assert(at >= 0);
  return at < p->nrecords ? &p->records[at] : &p->spare_record;
}

pawl_effect *pawl_plan_effect(pawl_plan *p, pawl_effect_kind kind,
                              int32_t token) {
  pawl_effect *at = &p->spare_effect;

  if (PAWL_ROOM(p->alloc, p->effects, p->neffects, p->effects_cap))
    at = &p->effects[p->neffects++];
  else
    p->failed = 1;
  memset(at, 0, offsetof(pawl_effect, name));
  at->kind = kind;
  at->token = token;
  PAWL_EFFECT_TEXTS(CLEAR)
  return at;
}

/* What an effect is about, for those of which the last word counts: 0: each
 * stands for itself. */
static int about(const pawl_effect *f) {
  switch (f->kind) {
    case PAWL_EFFECT_SUBSCRIBE:
    case PAWL_EFFECT_UNSUBSCRIBE:
      return 1;
    case PAWL_EFFECT_ITEM:
      return 2;
    default:
      return 0;
  }
}

/* By what they are about, then as they were made. */
static int by_subject(const void *a, const void *b) {
  const pawl_effect *x = *(pawl_effect *const *)a;
  const pawl_effect *y = *(pawl_effect *const *)b;
  if (about(x) != about(y)) return about(x) - about(y);
  if (x->token != y->token) return x->token < y->token ? -1 : 1;
  if (about(x) == 2 && x->n != y->n) return x->n < y->n ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int same_subject(const pawl_effect *x, const pawl_effect *y) {
  return about(x) == about(y) && x->token == y->token &&
         (about(x) != 2 || x->n == y->n);
}

int pawl_plan_takes(const pawl_plan *p, const pawl_id *letter) {
  for (int i = 0; i < p->neffects; i++) {
    const pawl_effect *f = &p->effects[i];
    if ((f->kind == PAWL_EFFECT_TAKE || f->kind == PAWL_EFFECT_DELETE) &&
        f->has_id && pawl_id_eq(&f->id, letter))
      return 1;
  }
  return 0;
}

void pawl_plan_last_words(pawl_plan *p) {
  pawl_effect *few[32], **list = few;
  size_t size = 0;
  int n = 0;

  for (int i = 0; i < p->neffects; i++) n += about(&p->effects[i]) != 0;
  if (n < 2) return;
  if (n > 32) {
    size = sizeof *list * (size_t)n;
    list = pawl_realloc(p->alloc, NULL, 0, size);
    if (!list) {
      p->failed = 1;
      return;
    }
  }
  n = 0;
  for (int i = 0; i < p->neffects; i++)
    if (about(&p->effects[i])) list[n++] = &p->effects[i];
  qsort(list, (size_t)n, sizeof *list, by_subject);
  for (int i = 0; i + 1 < n; i++) {
    pawl_effect *f = list[i], *later = list[i + 1];
    assert(f < later || !same_subject(f, later)); /* P4 */
    if (!same_subject(f, later)) continue;
    f->old = 1;
    if (!f->has_id || later->has_id) continue;
    later->id = f->id; /* an item's child is named when it is begun */
    later->has_id = 1;
  }
  if (size) pawl_release(p->alloc, list, size);
}

static int record_has_failed(const pawl_record *at) {
  return 0 PAWL_RECORD_TEXTS(FAILED);
}

static int effect_has_failed(const pawl_effect *at) {
  return 0 PAWL_EFFECT_TEXTS(FAILED);
}

pawl_code pawl_plan_check(const pawl_plan *p, pawl_error *err) {
  const pawl_plan *at = p;
  int failed =
      p->failed || pawl_state_has_failed(&p->state) PAWL_PLAN_TEXTS(FAILED);

  for (int k = 0; k < p->nrecords && !failed; k++)
    failed = record_has_failed(&p->records[k]);
  for (int k = 0; k < p->neffects && !failed; k++)
    failed = effect_has_failed(&p->effects[k]);
  return failed ? pawl_fail(err, PAWL_NOMEM, "out of memory") : PAWL_OK;
}

static void add_field(pawl_object *o, const char *name, pawl_str text) {
  if (text.len) pawl_member_str(o, name, text);
}

const char *pawl_failure_code(const pawl_error *err) {
  return err->raised[0] ? err->raised : pawl_code_name(err->code);
}

void pawl_plan_error(pawl_buf *out, const pawl_error *err,
                     const pawl_said *said) {
  static const pawl_said nothing = {0};
  pawl_object o;

  if (!said) said = &nothing;
  pawl_buf_clear(out);
  pawl_object_begin(&o, out);
  add_field(&o, "code", pawl_strz(pawl_failure_code(err)));
  add_field(&o, "message", pawl_failure_text(&said->message, err->message));
  add_field(&o, "where", pawl_strz(err->where));
  add_field(&o, "hint", pawl_strz(err->hint));
  add_field(&o, "sqlstate", pawl_strz(err->sqlstate));
  add_field(&o, "trace", pawl_failure_text(&said->trace, err->trace));
  if (said->details.len)
    pawl_member_json(&o, "details", pawl_buf_str(&said->details));
  pawl_object_end(&o);
}
