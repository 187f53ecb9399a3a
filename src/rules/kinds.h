/* rules/kinds.h: what happens at each kind of node, a file each in kinds/.
 *
 * Layer    rules. Which members a kind has in a definition, and what is checked
 *          of them, is defs' (def.h); how it reads to people is
 *          lua/pawl/kinds/. */
#ifndef PAWL_RULES_KINDS_H
#define PAWL_RULES_KINDS_H

#include "decision.h"

/* What becomes of an event at one node. */
typedef enum pawl_reception {
  PAWL_LEFT, /* it is not taken now, or failed the node */
  PAWL_REFUSED,
  PAWL_ELSEWHERE, /* another instance has it */
  PAWL_RECEIVED
} pawl_reception;

typedef struct pawl_kind_rules {
  /* Token k has come to the node. *to is -1, or where it goes on at once;
   * `path` receives what people are told of the way; it may be NULL. */
  pawl_code (*enter)(pawl_decision *d, int k, const pawl_node *node, int *to,
                     pawl_buf *path, pawl_error *err);
  /* It waits there, and that is over. `status`: what becomes of what it waited
   * for ("cancelled", "timed_out"); NULL: that has ended by itself. NULL:
   * nothing is to be done. */
  void (*stop)(pawl_decision *d, int k, const pawl_node *node,
               const char *status);
  /* What it waits for when it stands there: a letter of this kind that names
   * the token. NULL: none. */
  const char *letter;
  void (*take)(pawl_decision *d, int k, const pawl_node *node,
               const pawl_letter *l);
  /* It listens, and this event is one for it, which it has not been asked
   * about: `event` as handlers see it. `why`: an error that refused it. NULL:
   * nothing is listened for. */
  pawl_reception (*hear)(pawl_decision *d, int k, const pawl_node *node,
                         const pawl_letter *l, pawl_str event, pawl_buf *why);
  /* It waits, and its time has come. */
  void (*time_out)(pawl_decision *d, int k, const pawl_node *node);
  /* Its own times are put off, before its due time is. NULL: it has none. */
  void (*shift)(pawl_decision *d, int k, int64_t by_us);
  /* It is to be due at that time. NULL: nothing but that. */
  void (*wake)(pawl_token *t, const pawl_node *node, int64_t at);
  /* An event has its times worked out anew, as handlers are shown it, from then
   * on: when it is to be looked at, in *due_us. NULL: it has one time, which
   * pawl_wait_limit tells. Where that fails nothing has changed. */
  pawl_code (*move)(pawl_decision *d, int k, const pawl_node *node,
                    int64_t from_us, pawl_str event, int64_t *due_us,
                    pawl_error *err);
  /* It waits, and goes on as the node `is` of another version, of the same
   * kind; `was` is that itself: it begins there, as a boundary. NULL: it just
   * stands there. */
  void (*transfer)(pawl_decision *d, int k, const pawl_node *was,
                   const pawl_node *is);
  int gives;        /* it gives an output */
  int gathers;      /* it waits for other tokens, or items, of its instance */
  int has_children; /* it waits for other instances */
  int has_scope;    /* what waits there is around other tokens */
} pawl_kind_rules;

#define PAWL_KIND_RULES(name, text) \
  extern const pawl_kind_rules pawl_kind_##text;
PAWL_KINDS(PAWL_KIND_RULES)
#undef PAWL_KIND_RULES
/* For who makes a world: rules see them through that alone, so that moving a
 * token on does not depend on what it meets. */
extern const pawl_kind_rules *const pawl_kinds[PAWL_NKINDS];

static inline const pawl_kind_rules *pawl_kind_of(const pawl_decision *d,
                                                  const pawl_node *node) {
  return d->world->kinds[node->kind];
}

#endif
