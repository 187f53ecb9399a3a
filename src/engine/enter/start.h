/* engine/enter/start.h: what start.c and start_many.c share; nobody else includes
 * it. Starting one instance and starting a thousand differ in their
 * statements only: options, ids and refusals are the same. */
#ifndef PAWL_ENGINE_ENTER_START_H
#define PAWL_ENGINE_ENTER_START_H

#include "../internal.h"

typedef struct pawl_start_options {
  pawl_buf key, tenant, group, correlation, business_key;
  int has_key, has_tenant, has_group, has_correlation, has_business_key;
  int64_t version, priority;
  int64_t delay_us, at_us;
  pawl_str metadata, attributes; /* slices of the options' text */
  int has_id;
  pawl_id id;
  int nread;    /* members that were read, whatever they say */
  int was_sent; /* it may have been stored already */
} pawl_start_options;

void pawl_start_options_init(pawl_start_options *o, const pawl_alloc *alloc);
void pawl_start_options_deinit(pawl_start_options *o);
/* As after init, with its memory kept. */
void pawl_start_options_clear(pawl_start_options *o);
/* A JSON object, known to be valid (at NULL: none), over what is set already.
 * With `input` that member is no option: its text goes there. */
pawl_code pawl_start_options_read(pawl_start_options *o, pawl_str text,
                                  pawl_str *input, pawl_error *err);

pawl_code pawl_start_check_code(const char *code, pawl_error *err);
pawl_code pawl_start_check_size(const pawl_engine *e, pawl_str input,
                                pawl_error *err);
/* Unless o has one: the newest that is loaded here, or 0, which is the store's
 * to fill in. PAWL_NOTFOUND: nobody knows the one that o has. */
pawl_code pawl_start_version(pawl_engine *e, const char *code,
                             pawl_start_options *o, pawl_error *err);
/* With a key the routing number is the key's, so that both starts meet in one
 * shard, where the index makes them one. */
pawl_code pawl_start_id(pawl_engine *e, const char *code,
                        pawl_start_options *o, pawl_error *err);
int pawl_start_shard(const pawl_engine *e, const pawl_id *id);

const char *pawl_start_group(const pawl_engine *e,
                             const pawl_start_options *o);
void pawl_start_arg_word(pawl_args *a, int arg, const pawl_buf *b, int has);
/* 0: the newest active one, or 0 when nobody knows the code; a worker will
 * answer for that. */
void pawl_start_arg_version(pawl_args *a, int arg, int64_t version);
/* When it begins: a time, or a delay that counts from the store's. */
void pawl_start_arg_due(pawl_args *a, int due_at, int delay_us,
                        const pawl_start_options *o);
/* All of instance_alike but its columns, @id and @input. */
void pawl_start_alike_args(pawl_engine *e, int shard, const char *code,
                           const pawl_start_options *o);
/* A row of attribute_start's for each of o's. `scratch` has room for what they
 * borrow: pawl_start_attributes_room. */
pawl_code pawl_start_attribute_args(pawl_engine *e,
                                    const pawl_start_options *o,
                                    pawl_buf *scratch, pawl_error *err);
size_t pawl_start_attributes_room(const pawl_start_options *o);

/* PAWL_INVALID: the version (`asked` for, or 0) takes no new instances. */
pawl_code pawl_start_refuse(const char *code, const pawl_start_options *o,
                            int64_t asked, pawl_error *err);

#endif
