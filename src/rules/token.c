#include "token.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const char *const token_states[] = {"active", "waiting", "consumed",
                                           "dropped"};

const char *pawl_token_state_name(pawl_token_state state) {
  assert(state <= PAWL_TOKEN_DROPPED);
  return token_states[state];
}

int pawl_token_is_live(pawl_token_state state) {
  return state == PAWL_TOKEN_ACTIVE || state == PAWL_TOKEN_WAITING;
}

void pawl_tokens_deinit(pawl_token_list *t, const pawl_alloc *alloc) {
#define DEINIT(name) pawl_buf_deinit(&t->at[k].name);
  for (int k = 0; k < t->cap; k++) {
    pawl_detail_free(&t->at[k]);
    PAWL_TOKEN_TEXTS(DEINIT)
  }
#undef DEINIT
  pawl_release(alloc, t->at, sizeof *t->at * (size_t)t->cap);
  memset(t, 0, sizeof *t);
}

/* Everything but the buffers is as in `like`; those are kept, and empty. */
static void reset_token(pawl_token *t, const pawl_token *like,
                        const pawl_alloc *alloc) {
  pawl_token was = *t;

  *t = *like;
#define KEEP(name)       \
  t->name = was.name;    \
  t->name.alloc = alloc; \
  pawl_buf_clear(&t->name);
  PAWL_TOKEN_TEXTS(KEEP)
#undef KEEP
  t->detail = was.detail;
  pawl_detail_keep(t, 0);
}

static pawl_token *add(pawl_token_list *t, const pawl_token *like,
                       const pawl_alloc *alloc) {
  if (!PAWL_ROOM(alloc, t->at, t->n, t->cap)) return NULL;
  reset_token(&t->at[t->n], like, alloc);
  return &t->at[t->n++];
}

pawl_token *pawl_tokens_add(pawl_token_list *t, const pawl_alloc *alloc) {
  static const pawl_token empty;
  return add(t, &empty, alloc);
}

int pawl_tokens_copy(pawl_token_list *to, const pawl_token_list *from,
                     const pawl_alloc *alloc) {
  to->n = 0;
  for (int k = 0; k < from->n; k++) {
    const pawl_token *old = &from->at[k];
    pawl_token *t = add(to, old, alloc);
    if (!t) return 0;
#define COPY(name) pawl_buf_copy(&t->name, &old->name);
    PAWL_TOKEN_TEXTS(COPY)
#undef COPY
    pawl_detail_copy(t, old, PAWL_DETAIL_ALL);
    if (pawl_token_has_failed(t)) return 0;
  }
  return 1;
}

int pawl_token_has_failed(const pawl_token *t) {
#define FAILED(name) +t->name.failed
  return (t->failed PAWL_TOKEN_TEXTS(FAILED)) != 0;
#undef FAILED
}

void pawl_token_ask(pawl_token *t, pawl_asks how) {
  pawl_detail *own = pawl_detail_with(t, PAWL_DETAIL_asks);
  if (own) own->asks = how;
}

int64_t pawl_token_limit(const pawl_token *t, const pawl_node *node) {
  if (pawl_node_asks_limit(node))
    return pawl_detail_has(t, PAWL_DETAIL_limit) ? pawl_detail_of(t)->limit
                                                 : -1;
  return node->kind == PAWL_KIND_TIMER ? node->after_us : node->limit_us;
}

int64_t pawl_token_timeout(const pawl_token *t, const pawl_node *node) {
  const int is_said = node->kind == PAWL_KIND_STEP && node->has_timeout &&
                      pawl_detail_of(t)->limit > 0;

  return is_said ? pawl_detail_of(t)->limit : node->timeout_us;
}

pawl_token *pawl_tokens_find(pawl_token_list *t, int32_t no) {
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

int pawl_tokens_live(const pawl_token_list *t) {
  int n = 0;
  for (int k = 0; k < t->n; k++) n += pawl_token_is_live(t->at[k].state);
  return n;
}

pawl_token *pawl_tokens_lone(const pawl_token_list *t) {
  pawl_token *lone = NULL;
  for (int k = 0; k < t->n; k++) {
    if (!pawl_token_is_live(t->at[k].state)) continue;
    if (lone) return NULL;
    lone = &t->at[k];
  }
  return lone && !lone->depth ? lone : NULL;
}

const pawl_token *pawl_tokens_folded(const pawl_token_list *t) {
  const pawl_token *lone = pawl_tokens_lone(t);
  return lone && !lone->stored ? lone : NULL;
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
