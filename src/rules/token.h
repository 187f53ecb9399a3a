/* rules/token.h: where an instance stands.
 *
 * Layer    rules: base and defs only.
 * Owns     a list owns its tokens' buffers; slots keep them when n falls. Names
 *          of nodes and branches are borrowed: they live as long as the
 *          engine. */
#ifndef PAWL_RULES_TOKEN_H
#define PAWL_RULES_TOKEN_H

#include "../base/buf.h"
#include "../defs/def.h"
#include "detail.h"

typedef enum pawl_token_state {
  PAWL_TOKEN_ACTIVE,   /* moving: its node is to be run, at due_us if set */
  PAWL_TOKEN_WAITING,  /* for a time, an event, a person, a child, siblings */
  PAWL_TOKEN_CONSUMED, /* reached an end, forked or merged */
  PAWL_TOKEN_DROPPED   /* came too late, or was no longer wanted */
} pawl_token_state;
const char *pawl_token_state_name(pawl_token_state state);
int pawl_token_is_live(pawl_token_state state); /* active or waiting */

/* Where an instance stands, once. */
typedef struct pawl_token {
  int32_t no;
  pawl_token_state state;
  const char *node, *previous; /* names live as long as the engine */
  int node_at; /* where the node was in its definition when it was last looked
                  up; it may be elsewhere by now */
  const char *fork, *branch; /* NULL: none */
  int64_t visit, attempt;    /* attempts that failed so far in this visit */
  int64_t due_us;            /* 0: none */
  int64_t entered_us; /* when it came there, which a step that it comes to and
                         runs in one go has no need of; 0: nobody says */
  int32_t scope[PAWL_MAX_DEPTH]; /* numbers of the tokens that forked */
  int depth;                     /* of them, outermost first */
#define PAWL_TOKEN_TEXTS(X) X(data) X(event) /* JSON; empty: null */
#define PAWL_TEXT_MEMBER(name) pawl_buf name;
  PAWL_TOKEN_TEXTS(PAWL_TEXT_MEMBER)
  pawl_detail *detail; /* NULL: none; it stays with the slot */
  int failed;  /* a part of that could not be built, for want of memory */
  int stored;  /* it has a row of its own */
  int blind;   /* it began to wait in this decision: nobody has looked yet for
                what is kept for its key, or was passed over */
  int changed; /* since it was loaded or last committed */
} pawl_token;

/* It stands nowhere any more, and waits for no time. */
static inline void pawl_token_close(pawl_token *t, pawl_token_state state) {
  t->state = state;
  t->due_us = 0;
  t->changed = 1;
}

typedef struct pawl_token_list {
  pawl_token *at; /* slots keep their buffers when n falls */
  int n, cap;
} pawl_token_list;

void pawl_tokens_deinit(pawl_token_list *t, const pawl_alloc *alloc);
/* One more, emptied; NULL: out of memory. Pointers into the list die. */
pawl_token *pawl_tokens_add(pawl_token_list *t, const pawl_alloc *alloc);
/* 0: out of memory. */
int pawl_tokens_copy(pawl_token_list *to, const pawl_token_list *from,
                     const pawl_alloc *alloc);
/* A part of it could not be built, for want of memory. */
int pawl_token_has_failed(const pawl_token *t);
/* What it has of a detail; no members, if it has none. */
static inline const pawl_detail *pawl_detail_of(const pawl_token *t) {
  return t->detail ? t->detail : &pawl_detail_none;
}
static inline int pawl_detail_has(const pawl_token *t, pawl_detail_name m) {
  return (pawl_detail_of(t)->has >> m) & 1u;
}
/* Which member of its detail has the key that an ear hears, if it listens; and
 * the number of its subscription. */
static inline pawl_detail_name pawl_ear_key(pawl_ear ear) {
  return ear == PAWL_EAR_MOVE ? PAWL_DETAIL_moved : PAWL_DETAIL_key;
}
#define PAWL_EAR_NUMBERS (1 << 30) /* no token has such a number */
static inline int32_t pawl_ear_no(const pawl_token *t, pawl_ear ear) {
  return t->no + (ear == PAWL_EAR_MOVE ? PAWL_EAR_NUMBERS : 0);
}
/* The key itself; at NULL: it asks for none. */
static inline pawl_str pawl_ear_heard(const pawl_token *t, pawl_ear ear) {
  return pawl_buf_some(ear == PAWL_EAR_MOVE ? &pawl_detail_of(t)->moved
                                            : &pawl_detail_of(t)->key);
}
/* How a token stands at a wait for a condition: its detail's `asks`. */
typedef enum pawl_asks {
  PAWL_ASKS_NOT,
  PAWL_ASKS_WAITS,  /* it did not hold as it was last looked at */
  PAWL_ASKS_STORED, /* variables have changed, and nobody could look: so it is
                       stored */
  PAWL_ASKS_NOW     /* the same, by this decision */
} pawl_asks;

static inline pawl_asks pawl_token_asks(const pawl_token *t) {
  return t->state == PAWL_TOKEN_WAITING ? (pawl_asks)pawl_detail_of(t)->asks
                                        : PAWL_ASKS_NOT;
}
/* Is the condition that it waits for to be asked? */
static inline int pawl_token_asks_now(const pawl_token *t) {
  return pawl_token_asks(t) > PAWL_ASKS_WAITS;
}
/* Nothing is marked as changed: it may be asked before that is stored. */
void pawl_token_ask(pawl_token *t, pawl_asks how);
/* How long it waits at its node, a timer among them; -1: for ever. */
int64_t pawl_token_limit(const pawl_token *t, const pawl_node *node);
/* How long a handler of its node may take. */
int64_t pawl_token_timeout(const pawl_token *t, const pawl_node *node);
/* NULL: none. They are in the order of their numbers. */
pawl_token *pawl_tokens_find(pawl_token_list *t, int32_t no);
int pawl_tokens_live(const pawl_token_list *t);
/* The one live token, if it is a root: it lives in the instance's row unless
 * it has one of its own. Else NULL. */
pawl_token *pawl_tokens_lone(const pawl_token_list *t);
/* The one that the instance's row holds; NULL: none. */
const pawl_token *pawl_tokens_folded(const pawl_token_list *t);
/* Is it inside the fork that token `no` began? */
int pawl_token_is_in(const pawl_token *t, int32_t no);
/* "1.4", "" outside all forks; and back (0: not well formed). */
void pawl_scope_format(const pawl_token *t, char out[80]);
int pawl_scope_parse(pawl_token *t, pawl_str text);

#endif
