/* engine/work/births.h: children that come into being as a message asks for.
 *
 * Each is started under an id that its parent has drawn, so that whoever finds
 * the message again starts no second one. What a page of messages asks for at
 * once is one transaction: an each over many children costs no transaction for
 * each of them.
 *
 * Layer    engine/work, above enter; deliver.c has the messages.
 * Errors   those of a start. What is final (pawl_code_is_final) is the
 *          parent's to be told. */
#ifndef PAWL_ENGINE_WORK_BIRTHS_H
#define PAWL_ENGINE_WORK_BIRTHS_H

#include "slots.h"

/* Its instance is who sends it. */
typedef pawl_message_list_row pawl_message_row;

/* A member of what it says; at NULL: there is none. */
static inline pawl_str pawl_message_member(const pawl_message_row *m,
                                           const char *name) {
  pawl_str value = {NULL, 0};
  if (m->data.len) (void)pawl_json_get(m->data, name, &value);
  return value;
}

/* What a child has of its parent; `root` and the words stay as they are when
 * the parent is gone. */
typedef struct pawl_kin {
  pawl_id root;
  pawl_buf tenant, group;
} pawl_kin;
void pawl_kin_init(const pawl_engine *e, pawl_kin *k);
void pawl_kin_deinit(pawl_kin *k);
pawl_code pawl_kin_read(pawl_engine *e, const pawl_id *parent, pawl_kin *k,
                        pawl_error *err);

/* Is it waited for, or to end with its parent? */
int pawl_birth_is_tracked(const pawl_message_row *m);
/* May it go out with others? Which of two of a key is first is for the order
 * of their messages to say. */
int pawl_birth_may_join(const pawl_message_row *m);
/* One "start" message. */
pawl_code pawl_birth(pawl_engine *e, const pawl_message_row *m,
                     pawl_error *err);
/* n of them, whose children are of one shard, at once or not at all. born[i] 0:
 * nothing was stored for it: it was there, or is refused, as pawl_birth tells.
 */
pawl_code pawl_births(pawl_engine *e, const pawl_message_row *const *list,
                      int n, unsigned char *born, pawl_error *err);

#endif
