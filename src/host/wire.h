/* host/wire.h: messages between an engine's host and a process that runs a
 * definition of isolated trust (remote.h, isolate.h).
 *
 *   length: 4 bytes | kind: 1 byte | its members, one behind the other
 *
 * A number has 8 bytes, a text its length in 4 and a zero behind it. Both ends
 * are one program's two versions of the same file on one machine, so that
 * nothing is said of order of bytes; that they are of one version is asked
 * first.
 *
 * Layer    of the host; above base and defs.
 * Owns     a pawl_channel its descriptor and its buffers. What was taken out
 *          of a message is borrowed until the next is asked for.
 * Keeps    H13 nothing outside of a message is read, whatever it says: a member
 *             that is not whole, or not there, spoils the message. Whoever
 *             has taken all asks pawl_wire_is_whole before he uses any. */
#ifndef PAWL_HOST_WIRE_H
#define PAWL_HOST_WIRE_H

#include "../base/buf.h"
#include "../defs/limits.h"
#include "host.h"

/* What both ends have to be of one mind about. */
#define PAWL_WIRE_VERSION PAWL_VERSION "/1"

typedef enum pawl_wire_kind {
  /* to the process */
  PAWL_WIRE_SETUP = 1, /* version, max_bytes, limits */
  PAWL_WIRE_LEND,      /* name of a function of the program's */
  PAWL_WIRE_LOAD,      /* name, source, bundle, is it a file */
  PAWL_WIRE_RUN,       /* serial, may_wait, call */
  PAWL_WIRE_RESUME,    /* serial, events, has_why, why */
  PAWL_WIRE_ABANDON,   /* serial */
  PAWL_WIRE_REPLY,     /* code, then an error, or number and text */
  /* from it */
  PAWL_WIRE_READY,  /* version, what holds it (fence.h) */
  PAWL_WIRE_LOADED, /* code, then an error, or graph, bundle and others */
  PAWL_WIRE_DONE,   /* code, then an error; await; result */
  PAWL_WIRE_LOG,    /* serial, level, message, fields: no reply */
  PAWL_WIRE_ASK,    /* what, serial, and as that needs; a REPLY follows */
  PAWL_WIRE_NKINDS
} pawl_wire_kind;

/* How long one from the process may be. The host refuses a longer one by its
 * announced length; the process does not send it. 0: it sends none. */
size_t pawl_wire_most(pawl_wire_kind kind, size_t max_bytes);

typedef enum pawl_wire_ask {
  PAWL_ASK_NOW,
  PAWL_ASK_HEARTBEAT, /* progress */
  PAWL_ASK_CANCELLED,
  PAWL_ASK_ATTRS,
  PAWL_ASK_VISITS,
  PAWL_ASK_PROGRESS,
  PAWL_ASK_OUTPUT,   /* node */
  PAWL_ASK_CALLBACK, /* event */
  PAWL_ASK_NEW_ID,
  PAWL_ASK_QUERY,  /* sql, params */
  PAWL_ASK_HOST,   /* name, input, number, again, gone, may_wait */
  PAWL_ASK_MODULE, /* name; while it loads */
  PAWL_NASKS
} pawl_wire_ask;

/* ---- writing ---- */

/* Begins a message behind those that are in *out; where it begins. */
size_t pawl_wire_begin(pawl_buf *out, pawl_wire_kind kind);
void pawl_wire_end(pawl_buf *out, size_t from);
void pawl_wire_add_int(pawl_buf *out, int64_t n);
/* at NULL: none, which is not the empty one */
void pawl_wire_add_str(pawl_buf *out, pawl_str s);
void pawl_wire_add_error(pawl_buf *out, const pawl_error *err);
void pawl_wire_add_limits(pawl_buf *out, const pawl_limits *limits);
void pawl_wire_add_call(pawl_buf *out, const pawl_call *call);
void pawl_wire_add_result(pawl_buf *out, const pawl_said *result);

/* ---- reading ---- */

typedef struct pawl_wire {
  pawl_wire_kind kind;
  const char *at, *end;
  int is_bad;
} pawl_wire;

int64_t pawl_wire_take_int(pawl_wire *w);
pawl_str pawl_wire_take_str(pawl_wire *w);
/* A text without zeros within it; NULL: none. */
const char *pawl_wire_take_text(pawl_wire *w);
/* Cut where they are too long. Whether it is text that can be shown is for
 * whom it is from to say. */
void pawl_wire_take_error(pawl_wire *w, pawl_error *err);
void pawl_wire_take_limits(pawl_wire *w, pawl_limits *limits);
/* All but who is asked: services, services_ud and owner. */
void pawl_wire_take_call(pawl_wire *w, pawl_call *call);
/* Into an empty one. */
void pawl_wire_take_result(pawl_wire *w, pawl_said *result);
/* Was all there, and nothing else? */
int pawl_wire_is_whole(const pawl_wire *w);

/* ---- the channel ---- */

typedef struct pawl_channel {
  int fd; /* -1: none */
  pawl_buf in, out;
  size_t taken; /* of `in` */
  size_t sent;  /* of `out` */
} pawl_channel;

void pawl_channel_init(pawl_channel *c, int fd, const pawl_alloc *alloc);
void pawl_channel_deinit(pawl_channel *c); /* closes it */
/* The next message, if it has come: 1; 0: not yet. -1: it has more bytes than
 * `most` says of its kind, or is of none. */
int pawl_channel_next(pawl_channel *c, const size_t most[PAWL_WIRE_NKINDS],
                      pawl_wire *w);
/* Has it anything else that was not taken? */
int pawl_channel_has_more(const pawl_channel *c);
/* Neither that, nor anything that has come and was not read. */
int pawl_channel_is_silent(const pawl_channel *c);
/* Waits, as long as the socket does, and reads: how many bytes; 0: nobody is
 * there any more; -1: errno, as EAGAIN when it has waited for long, EINTR. */
long pawl_channel_fill(pawl_channel *c);
/* Sends a piece of `out`, which is empty once all has gone: 1; 0: nobody is
 * there; -1: errno, likewise. One piece, as who reads slowly holds up what
 * sends to him. */
int pawl_channel_flush(pawl_channel *c);

#endif
