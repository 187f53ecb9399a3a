#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../value/json.h"

/* ---- lists whose slots keep their buffers ---- */

/* Room for one more of `size` bytes each; new slots are zero. */
static int grow(const pawl_alloc *alloc, void **list, int n, int *cap,
                size_t size) {
  int more = *cap ? 2 * *cap : 4;
  char *grown;

  if (n < *cap) return 1;
  grown = pawl_realloc(alloc, *list, size * (size_t)*cap, size * (size_t)more);
  if (!grown) return 0;
  memset(grown + size * (size_t)*cap, 0, size * (size_t)(more - *cap));
  *list = grown;
  *cap = more;
  return 1;
}

static void set_text(pawl_buf *to, const pawl_buf *from) {
  pawl_buf_clear(to);
  pawl_buf_adds(to, pawl_buf_str(from));
  if (from->failed) to->failed = 1;
}

/* ---- tokens ---- */

static const char *const token_states[] = {"active", "waiting", "consumed",
                                           "dropped"};

const char *pawl_token_state_name(pawl_token_state state) {
  return token_states[state];
}

int pawl_token_is_live(pawl_token_state state) {
  return state == PAWL_TOKEN_ACTIVE || state == PAWL_TOKEN_WAITING;
}

/* Every buffer of a token, for the functions that walk them. */
#define TOKEN_BUFS(t) \
  { &(t)->data, &(t)->event, &(t)->detail }
enum { NTOKEN_BUFS = 3 };

void pawl_tokens_deinit(pawl_tokens *t, const pawl_alloc *alloc) {
  for (int k = 0; k < t->cap; k++) {
    pawl_buf *bufs[] = TOKEN_BUFS(&t->at[k]);
    for (int i = 0; i < NTOKEN_BUFS; i++) pawl_buf_deinit(bufs[i]);
  }
  pawl_release(alloc, t->at, sizeof *t->at * (size_t)t->cap);
  memset(t, 0, sizeof *t);
}

/* Everything but the buffers is as in `like`; those are kept, and empty. */
static void reset_token(pawl_token *t, const pawl_token *like,
                        const pawl_alloc *alloc) {
  pawl_buf data = t->data, event = t->event, detail = t->detail;
  pawl_buf *bufs[] = TOKEN_BUFS(t);

  *t = *like;
  t->data = data;
  t->event = event;
  t->detail = detail;
  for (int i = 0; i < NTOKEN_BUFS; i++) {
    bufs[i]->alloc = alloc;
    pawl_buf_clear(bufs[i]);
  }
}

pawl_token *pawl_tokens_add(pawl_tokens *t, const pawl_alloc *alloc) {
  static const pawl_token empty;
  void *list = t->at;
  int ok = grow(alloc, &list, t->n, &t->cap, sizeof *t->at);

  t->at = list;
  if (!ok) return NULL;
  reset_token(&t->at[t->n], &empty, alloc);
  return &t->at[t->n++];
}

int pawl_tokens_copy(pawl_tokens *to, const pawl_tokens *from,
                     const pawl_alloc *alloc) {
  to->n = 0;
  for (int k = 0; k < from->n; k++) {
    const pawl_token *old = &from->at[k];
    pawl_token *t = pawl_tokens_add(to, alloc);
    if (!t) return 0;
    reset_token(t, old, alloc);
    set_text(&t->data, &old->data);
    set_text(&t->event, &old->event);
    set_text(&t->detail, &old->detail);
    if (t->data.failed || t->event.failed || t->detail.failed) return 0;
  }
  return 1;
}

pawl_token *pawl_tokens_find(pawl_tokens *t, int32_t no) {
  int low = 0, high = t->n; /* the first not below `no` */
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (t->at[mid].no < no)
      low = mid + 1;
    else
      high = mid;
  }
  return low < t->n && t->at[low].no == no ? &t->at[low] : NULL;
}

int pawl_tokens_live(const pawl_tokens *t) {
  int n = 0;
  for (int k = 0; k < t->n; k++) n += pawl_token_is_live(t->at[k].state);
  return n;
}

pawl_token *pawl_tokens_lone(const pawl_tokens *t) {
  pawl_token *lone = NULL;
  for (int k = 0; k < t->n; k++) {
    if (!pawl_token_is_live(t->at[k].state)) continue;
    if (lone) return NULL;
    lone = &t->at[k];
  }
  return lone && !lone->depth ? lone : NULL;
}

int pawl_token_is_in(const pawl_token *t, int32_t no) {
  for (int i = 0; i < t->depth; i++)
    if (t->scope[i] == no) return 1;
  return 0;
}

void pawl_scope_format(const pawl_token *t, char out[80]) {
  int n = 0;
  out[0] = 0;
  for (int i = 0; i < t->depth; i++)
    n += snprintf(out + n, (size_t)(80 - n), "%s%" PRId32, i ? "." : "",
                  t->scope[i]);
}

int pawl_scope_parse(pawl_token *t, pawl_str text) {
  size_t at = 0;

  t->depth = 0;
  while (at < text.len) {
    int64_t no = 0;
    size_t from = at;
    for (; at < text.len && text.at[at] >= '0' && text.at[at] <= '9'; at++) {
      no = 10 * no + (text.at[at] - '0');
      if (no > INT32_MAX) return 0;
    }
    if (at == from || !no || t->depth == PAWL_MAX_DEPTH) return 0;
    t->scope[t->depth++] = (int32_t)no;
    if (at == text.len) return 1;
    if (text.at[at++] != '.' || at == text.len) return 0;
  }
  return 1;
}

/* ---- the plan ---- */

/* Every buffer of a plan, for the functions that walk them. */
#define PLAN_BUFS(p)                                                        \
  {                                                                         \
    &(p)->vars, &(p)->output, &(p)->error, &(p)->attrs, &(p)->cancellation, \
        &(p)->joined, &(p)->compensation, &(p)->stopped, &(p)->watched,     \
        &(p)->detail                                                        \
  }
#define RECORD_BUFS(r)                                                    \
  {                                                                       \
    &(r)->transition, &(r)->path, &(r)->text, &(r)->caller, &(r)->output, \
        &(r)->changes, &(r)->error, &(r)->previous                        \
  }
#define EFFECT_BUFS(f) \
  { &(f)->name, &(f)->key, &(f)->event_id, &(f)->source, &(f)->data }
enum { NPLAN_BUFS = 10, NRECORD_BUFS = 8, NEFFECT_BUFS = 5 };

void pawl_plan_init(pawl_plan *p, const pawl_alloc *alloc) {
  memset(p, 0, sizeof *p);
  pawl_buf *own[] = PLAN_BUFS(p);
  for (int i = 0; i < NPLAN_BUFS; i++) own[i]->alloc = alloc;
  p->alloc = alloc;
}

static void deinit_record(pawl_record *r) {
  pawl_buf *bufs[] = RECORD_BUFS(r);
  for (int i = 0; i < NRECORD_BUFS; i++) pawl_buf_deinit(bufs[i]);
}

static void deinit_effect(pawl_effect *f) {
  pawl_buf *bufs[] = EFFECT_BUFS(f);
  for (int i = 0; i < NEFFECT_BUFS; i++) pawl_buf_deinit(bufs[i]);
}

void pawl_plan_deinit(pawl_plan *p) {
  pawl_buf *own[] = PLAN_BUFS(p);
  for (int i = 0; i < NPLAN_BUFS; i++) pawl_buf_deinit(own[i]);
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
  pawl_tokens_deinit(&p->tokens, p->alloc);
  p->members = NULL;
  p->nmembers = p->members_cap = p->indexed = 0;
  p->records = NULL;
  p->effects = NULL;
  p->nrecords = p->records_cap = p->neffects = p->effects_cap = 0;
}

void pawl_plan_reset(pawl_plan *p) {
  pawl_buf *own[] = PLAN_BUFS(p);
  for (int i = 0; i < NPLAN_BUFS; i++) pawl_buf_clear(own[i]);
  p->after = PAWL_AFTER_GO_ON;
  p->status = PAWL_STATUS_RUNNING;
  p->tokens.n = 0;
  p->last_token = 0;
  p->visit = 0;
  p->node = p->previous = NULL;
  p->look_us = p->started_us = 0;
  p->vars_changed = p->parts = p->has_output = 0;
  p->resets = 1;
  p->needs_latch = p->ran = p->asked = p->went_on = p->heard = p->raced =
      p->revives = p->stays = p->more = 0;
  p->sent = p->children = p->immediate = 0;
  p->suspended_us = p->deadline_us = p->workflow_version = 0;
  p->begin_us = 0;
  p->nrecords = p->neffects = 0;
  p->nmembers = p->indexed = 0;
  p->failed = 0;
  p->outcome = NULL;
}

pawl_record *pawl_plan_record(pawl_plan *p, const char *type,
                              const char *node) {
  void *list = p->records;
  pawl_record *r = &p->spare_record;

  if (grow(p->alloc, &list, p->nrecords, &p->records_cap, sizeof *r)) {
    p->records = list;
    r = &p->records[p->nrecords++];
  } else {
    p->failed = 1;
  }
  pawl_buf *bufs[] = RECORD_BUFS(r);
  for (int i = 0; i < NRECORD_BUFS; i++) {
    bufs[i]->alloc = p->alloc;
    pawl_buf_clear(bufs[i]);
  }
  r->type = type;
  r->node = node;
  r->token = 0;
  r->visit = r->attempt = 0;
  r->started_us = r->completed_us = r->due_us = 0;
  r->has_output = r->has_request = 0;
  return r;
}

pawl_record *pawl_plan_record_at(pawl_plan *p, int at) {
  return at < p->nrecords ? &p->records[at] : &p->spare_record;
}

pawl_effect *pawl_plan_effect(pawl_plan *p, pawl_effect_kind kind,
                              int32_t token) {
  void *list = p->effects;
  pawl_effect *f = &p->spare_effect;

  if (grow(p->alloc, &list, p->neffects, &p->effects_cap, sizeof *f)) {
    p->effects = list;
    f = &p->effects[p->neffects++];
  } else {
    p->failed = 1;
  }
  pawl_buf *bufs[] = EFFECT_BUFS(f);
  for (int i = 0; i < NEFFECT_BUFS; i++) {
    bufs[i]->alloc = p->alloc;
    pawl_buf_clear(bufs[i]);
  }
  f->kind = kind;
  f->token = token;
  f->n = f->at_us = 0;
  f->has_id = f->has_key = f->old = 0;
  memset(&f->id, 0, sizeof f->id);
  f->node = NULL;
  return f;
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
    if (!same_subject(f, later)) continue;
    f->old = 1;
    if (!f->has_id || later->has_id) continue;
    later->id = f->id; /* an item's child is named when it is begun */
    later->has_id = 1;
  }
  if (size) pawl_release(p->alloc, list, size);
}

static int any_failed(const pawl_buf *const *bufs, int n) {
  int failed = 0;
  for (int i = 0; i < n; i++) failed |= bufs[i]->failed;
  return failed;
}

pawl_code pawl_plan_check(const pawl_plan *p, pawl_error *err) {
  const pawl_buf *const own[] = PLAN_BUFS(p);
  int failed = p->failed || any_failed(own, NPLAN_BUFS);

  for (int k = 0; k < p->tokens.n && !failed; k++) {
    const pawl_buf *const bufs[] = TOKEN_BUFS(&p->tokens.at[k]);
    failed = any_failed(bufs, NTOKEN_BUFS);
  }
  for (int k = 0; k < p->nrecords && !failed; k++) {
    const pawl_buf *const bufs[] = RECORD_BUFS(&p->records[k]);
    failed = any_failed(bufs, NRECORD_BUFS);
  }
  for (int k = 0; k < p->neffects && !failed; k++) {
    const pawl_buf *const bufs[] = EFFECT_BUFS(&p->effects[k]);
    failed = any_failed(bufs, NEFFECT_BUFS);
  }
  return failed ? pawl_fail(err, PAWL_NOMEM, "out of memory") : PAWL_OK;
}

static void add_field(pawl_buf *out, const char *name, const char *text) {
  if (!text[0]) return;
  pawl_buf_addf(out, "%s\"%s\":", out->at[out->len - 1] == '{' ? "" : ",",
                name);
  pawl_json_add_string(out, pawl_strz(text));
}

void pawl_plan_error(pawl_buf *out, const pawl_error *err, pawl_str details) {
  pawl_buf_clear(out);
  pawl_buf_addc(out, '{');
  if (out->failed) return;
  /* the script's own code is what its author will look for */
  add_field(out, "code",
            err->reason[0] ? err->reason : pawl_code_name(err->code));
  add_field(out, "message", err->message);
  add_field(out, "where", err->where);
  add_field(out, "hint", err->hint);
  add_field(out, "sqlstate", err->sqlstate);
  add_field(out, "trace", err->trace);
  if (details.len) {
    pawl_buf_addz(out, ",\"details\":");
    pawl_buf_adds(out, details);
  }
  pawl_buf_addc(out, '}');
}
