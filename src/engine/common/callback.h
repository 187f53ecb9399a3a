/* engine/common/callback.h: what ctx.callback gives to the outside: a text that
 * names an instance, a visit and an event, and that nobody can make who does
 * not know the store's secret.
 *
 *   base64url of  instance (16 bytes)  visit (8)  mac (16),  "."  event
 *
 * The mac is the beginning of HMAC-SHA256 of all before it and the event, under
 * the secret's SHA-256: 128 bits. So nothing is stored for one, and each
 * attempt of a visit has the same.
 *
 * Layer    engine/common.
 * Keeps    J4 it is as long as an event's key may be: it is one, of the event
 *             that it stands for. */
#ifndef PAWL_ENGINE_COMMON_CALLBACK_H
#define PAWL_ENGINE_COMMON_CALLBACK_H

#include "../../base/buf.h"
#include "../../base/id.h"

#define PAWL_CALLBACK_SECRET "callback" /* its name in the table `secret` */

typedef struct pawl_callback {
  pawl_id instance;
  int64_t visit;
  pawl_str event; /* of one that was read: in the token */
} pawl_callback;

/* Appends the token. */
void pawl_callback_write(pawl_str secret, const pawl_callback *c,
                         pawl_buf *out);
/* 0: it was not made with this secret. */
int pawl_callback_read(pawl_str secret, pawl_str token, pawl_callback *out);

/* As the store has it, read once; then nothing is asked. PAWL_CORRUPT: it has
 * none. */
pawl_code pawl_callback_secret(pawl_engine *e, pawl_str *out, pawl_error *err);
/* What was found of it; *out as above. */
pawl_code pawl_callback_keep(pawl_engine *e, pawl_str found, pawl_str *out,
                             pawl_error *err);

#endif
