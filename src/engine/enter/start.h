/* engine/enter/start.h: what starting.c has for start.c, start_many.c and
 * succeed.c; nobody else includes it. Starting one instance and starting a
 * thousand differ in their statements only: options, ids and refusals are the
 * same.
 *
 * What doubles, and what it buys:
 *
 *   start       one statement, one trip, without arrays; and it may belong to a
 *               transaction that goes on (pawl_origin.also), which is how a
 *               signal starts an instance that cannot miss its event
 *   start_many  a thousand rows in one trip and one commit, checked whole
 *   alike       instead of both, for ids that were drawn for this: looks for
 *               nothing that may be there already, a tenth cheaper
 *   succeed     a key that is in use goes on to another instance, if the start
 *               says so: a transaction of several trips, behind one of the
 *               above that has met the key
 *
 * All leave the same rows: start_many_spec.lua, signal_spec.lua. */
#ifndef PAWL_ENGINE_ENTER_START_H
#define PAWL_ENGINE_ENTER_START_H

#include "../common/engine_struct.h"
#include "enter.h"

/* What a start only hands on to its row is a column of `given` in
 * sql/shared/instance.sql: members, options and arguments are made of that
 * list. A text is a name or a key, of 1 to 255 bytes; JSON is an object. */
#define PAWL_START_text(name) pawl_buf name;
#define PAWL_START_json(name) pawl_str name;
#define PAWL_START_MEMBER(type, name, column) PAWL_START_##type(name)

/* What is to happen when the key is another instance's: while that one lives,
 * and once it has ended. */
enum { PAWL_EXISTING_RETURN, PAWL_EXISTING_FAIL, PAWL_EXISTING_REPLACE };
enum { PAWL_REUSE_NEVER, PAWL_REUSE_ENDED, PAWL_REUSE_FAILED };

typedef struct pawl_start_options {
  uint64_t given;
  pawl_buf key, group;
  int64_t version, priority;
  int64_t delay_us, at_us;
  int64_t deadline_us, max_bytes; /* 0: as its workflow, or the engine, says */
  int on_existing, reuse;
  pawl_str attributes; /* a slice of the options' text, as all JSON is */
  pawl_str input;      /* of an item */
  int has_id;
  pawl_id id;
  int was_sent; /* it may have been stored already */
  PAWL_COLUMNS_given(PAWL_START_MEMBER)
} pawl_start_options;

/* A start, and what came of it. */
typedef struct pawl_starting {
  const char *code;
  pawl_str input;
  pawl_start_options *options;
  const pawl_origin *origin; /* NULL: it is asked for from outside */
  pawl_id id;
  int created, refused; /* its version is not active: nothing was stored */
} pawl_starting;

static inline int pawl_start_shard(const pawl_engine *e,
                                   const pawl_starting *s) {
  return pawl_shard_of(e, &s->options->id);
}

void pawl_start_options_init(pawl_start_options *o, const pawl_alloc *alloc);
void pawl_start_options_deinit(pawl_start_options *o);
/* As after init, with its memory kept. */
void pawl_start_options_clear(pawl_start_options *o);
/* A JSON object, known to be valid (at NULL: none), over what is set already.
 * An item's has its input, too. */
pawl_code pawl_start_options_read(pawl_start_options *o, pawl_str text,
                                  int is_item, pawl_error *err);
/* Has it an option, or an input alone? */
int pawl_start_is_plain(const pawl_start_options *o);

pawl_code pawl_start_check_code(const char *code, pawl_error *err);
/* PAWL_LIMIT: the input, or one of o's objects, has more than max_bytes. */
pawl_code pawl_start_check_size(const pawl_engine *e,
                                const pawl_start_options *o, pawl_str input,
                                pawl_error *err);
/* PAWL_INVALID: it is said what is to become of a key, and there is none. */
pawl_code pawl_start_check_reuse(const pawl_start_options *o, pawl_error *err);
/* Unless o has one: the origin's tenant, or the engine's. PAWL_INVALID: o's is
 * another. */
pawl_code pawl_start_tenant(const pawl_engine *e, const pawl_origin *origin,
                            pawl_start_options *o, pawl_error *err);
/* Unless o has one: the newest that is loaded here, or 0, which is the store's
 * to fill in. PAWL_NOTFOUND: nobody knows the one that o has. */
pawl_code pawl_start_version(pawl_engine *e, const char *code,
                             pawl_start_options *o, pawl_error *err);
/* PAWL_VALUE: the input is not what this version, if it is loaded here, takes.
 * Else the instance fails as it begins. */
pawl_code pawl_start_check_input(const pawl_engine *e, const char *code,
                                 int64_t version, pawl_str input,
                                 pawl_error *err);
/* With a key the home is the key's, so that both starts meet in one
 * shard, where the index makes them one. */
pawl_code pawl_start_id(pawl_engine *e, const char *code,
                        pawl_start_options *o, pawl_error *err);

/* Of tenant, workflow and key. */
void pawl_start_digest(const char *code, const pawl_start_options *o,
                       unsigned char digest[32]);

const char *pawl_start_group(const pawl_engine *e,
                             const pawl_start_options *o);
/* What the arguments of instance_start, instance_insert and instance_alike
 * have in common, of the options `o`. It begins at a time, or after a delay
 * that counts from the store's. Their version 0: the newest active one, or 0
 * when nobody knows the code; a worker will answer for that. */
#define PAWL_START_ARG_text(name) pawl_buf_some(&o->name)
#define PAWL_START_ARG_json(name) o->name
#define PAWL_START_ARG(type, name, column) \
  .column = PAWL_START_ARG_##type(name),
#define PAWL_START_MEMBERS(e)                                              \
  .id = &o->id, .priority = o->priority,                                   \
  .executor_group = pawl_strz(pawl_start_group(e, o)), .due_at = o->at_us, \
  .lasts = o->deadline_us, .max_bytes = o->max_bytes,                      \
  .delay_us = o->delay_us, PAWL_COLUMNS_given(PAWL_START_ARG)
/* The arguments of attribute_start for n options, which stand `step` bytes
 * apart: a row for each attribute. `scratch` has what they borrow. */
pawl_code pawl_start_attributes(pawl_engine *e, const pawl_start_options *list,
                                size_t step, int n, pawl_buf *scratch,
                                pawl_error *err);

/* What is there already, under the id that a start brings. */
typedef struct pawl_known {
  const pawl_id *id;
  pawl_str workflow, tenant;
  int deleted;
} pawl_known;
/* PAWL_CONFLICT: it is not what `o` would have started of `code`. */
pawl_code pawl_start_check_known(const char *code, const pawl_start_options *o,
                                 const pawl_known *known, pawl_error *err);
/* Into the unit that is open: the instance, if neither its id nor its key is
 * there, and its attributes. *at: where it says whether it is new. */
pawl_code pawl_start_send(pawl_engine *e, const pawl_starting *s, int *at,
                          pawl_error *err);
/* Who has the key. */
pawl_code pawl_start_send_by_key(pawl_engine *e, const pawl_starting *s,
                                 int *at, pawl_error *err);

/* PAWL_INVALID: the version (`asked` for, or 0) takes no new instances. */
pawl_code pawl_start_refuse(const char *code, const pawl_start_options *o,
                            int64_t asked, pawl_error *err);

/* ---- succeed.c ---- */

/* Is it said that the key may go on, or that it must be free? */
int pawl_start_is_choosy(const pawl_start_options *o);
/* One unit, all or nothing: the key goes on to the new instance, or the one
 * that has it is given, or is told of (PAWL_EXISTS), as the options say. May
 * be repeated. */
pawl_code pawl_start_succeed(pawl_engine *e, pawl_starting *s,
                             pawl_error *err);

#endif
