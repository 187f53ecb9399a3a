#define _POSIX_C_SOURCE 200809L
#include "wire.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL /* there the socket says so: SO_NOSIGPIPE */
#define MSG_NOSIGNAL 0
#endif

enum {
  HEAD = 4,        /* of a message: how long the rest is */
  FILL = 16384,    /* bytes that are asked for at once */
  PIECE = 65536,   /* and that are sent at once */
  KEPT = 4 * FILL, /* room that stays with the channel */
  NONE = -1        /* the length of a text that is none */
};

size_t pawl_wire_most(pawl_wire_kind kind, size_t max_bytes) {
  enum { KB = 1 << 10, MB = 1 << 20 };
  /* one value; a machine's sizes may be short of a few of the largest */
  const size_t value = max_bytes < SIZE_MAX / 64 ? max_bytes : SIZE_MAX / 64;
  switch (kind) {
    case PAWL_WIRE_READY:
      return KB;
    case PAWL_WIRE_LOADED: /* a definition and its bundle */
    case PAWL_WIRE_DONE:   /* variables, data, items, and all effects */
      return 8 * MB + 32 * value;
    case PAWL_WIRE_LOG: /* the fields are one */
      return PAWL_MAX_LINE + KB + value;
    case PAWL_WIRE_ASK: /* an input, or a statement and what it is given */
      return MB + 4 * value;
    default:
      return 0;
  }
}

/* ---- writing ---- */

size_t pawl_wire_begin(pawl_buf *out, pawl_wire_kind kind) {
  const size_t from = out->len;
  const char head[HEAD + 1] = {0, 0, 0, 0, (char)kind};
  pawl_buf_add(out, head, sizeof head);
  return from;
}

void pawl_wire_end(pawl_buf *out, size_t from) {
  uint32_t len;
  if (out->failed) return;
  assert(out->len >= from + HEAD + 1);
  len = (uint32_t)(out->len - from - HEAD); /* most < 4 GB, as is checked */
  memcpy(out->at + from, &len, HEAD);
}

void pawl_wire_add_int(pawl_buf *out, int64_t n) {
  pawl_buf_add(out, &n, sizeof n);
}

void pawl_wire_add_str(pawl_buf *out, pawl_str s) {
  int32_t len = s.at ? (int32_t)s.len : NONE; /* 2 GB, as is checked */
  pawl_buf_add(out, &len, sizeof len);
  if (!s.at) return;
  pawl_buf_adds(out, s);
  pawl_buf_addc(out, 0);
}

static void add_text(pawl_buf *out, const char *text) {
  pawl_wire_add_str(out, pawl_strz(text));
}

void pawl_wire_add_error(pawl_buf *out, const pawl_error *err) {
  pawl_wire_add_int(out, err->code);
  add_text(out, err->raised);
  add_text(out, err->sqlstate);
  add_text(out, err->where);
  add_text(out, err->message);
  add_text(out, err->hint);
  add_text(out, err->trace);
}

void pawl_wire_add_limits(pawl_buf *out, const pawl_limits *l) {
  pawl_wire_add_int(out, l->instructions);
  pawl_wire_add_int(out, l->time_us);
  pawl_wire_add_int(out, (int64_t)l->memory);
  pawl_wire_add_int(out, l->effects);
  pawl_wire_add_int(out, l->db);
  pawl_wire_add_int(out, l->await);
#define ADD_GRANT(name) add_text(out, l->name);
  PAWL_GRANTS(ADD_GRANT)
#undef ADD_GRANT
}

void pawl_wire_add_call(pawl_buf *out, const pawl_call *c) {
  pawl_wire_add_int(out, c->handler);
  pawl_wire_add_int(out, c->version);
  pawl_wire_add_int(out, c->attempt);
  pawl_wire_add_int(out, c->visit);
  pawl_wire_add_int(out, c->token);
  pawl_wire_add_int(out, c->transactional);
  pawl_wire_add_int(out, c->one_way);
#define ADD_NAME(name) add_text(out, c->name);
#define ADD_TEXT(name) pawl_wire_add_str(out, c->name);
  PAWL_CALL_NAMES(ADD_NAME)
  PAWL_CALL_TEXTS(ADD_TEXT)
#undef ADD_NAME
#undef ADD_TEXT
}

#define ADD_FLAG(name) pawl_wire_add_int(out, r->name);
#define ADD_TIME(name) pawl_wire_add_int(out, r->name);
#define ADD_TEXT(name) pawl_wire_add_str(out, pawl_buf_str(&r->name));
#define ADD_LIST(name) ADD_TEXT(name)
#define ADD(type, name) ADD_##type(name)

void pawl_wire_add_result(pawl_buf *out, const pawl_said *r) {
  PAWL_RESULT_EFFECTS(ADD)
  PAWL_RESULT_FAILURE(ADD)
}

/* ---- reading ---- */

static size_t left(const pawl_wire *w) {
  return w->is_bad ? 0 : (size_t)(w->end - w->at);
}

int64_t pawl_wire_take_int(pawl_wire *w) {
  int64_t n;
  if (left(w) < sizeof n) {
    w->is_bad = 1;
    return 0;
  }
  memcpy(&n, w->at, sizeof n);
  w->at += sizeof n;
  return n;
}

pawl_str pawl_wire_take_str(pawl_wire *w) {
  pawl_str s = {NULL, 0};
  int32_t len;
  if (left(w) < sizeof len) {
    w->is_bad = 1;
    return s;
  }
  memcpy(&len, w->at, sizeof len);
  w->at += sizeof len;
  if (len == NONE) return s;
  if (len < 0 || left(w) < (size_t)len + 1 || w->at[len] != 0) {
    w->is_bad = 1;
    return s;
  }
  s = (pawl_str){w->at, (size_t)len};
  w->at += (size_t)len + 1;
  return s;
}

const char *pawl_wire_take_text(pawl_wire *w) {
  const pawl_str s = pawl_wire_take_str(w);
  if (s.at && memchr(s.at, 0, s.len)) w->is_bad = 1;
  return w->is_bad ? NULL : s.at;
}

#define TAKE_FIXED(to) pawl_str_copy(to, sizeof(to), pawl_wire_take_str(w))

void pawl_wire_take_error(pawl_wire *w, pawl_error *err) {
  const int64_t code = pawl_wire_take_int(w);
  memset(err, 0, sizeof *err);
  if (code <= PAWL_OK || code >= PAWL_NCODES) w->is_bad = 1;
  err->code = w->is_bad ? PAWL_INTERNAL : (pawl_code)code;
  TAKE_FIXED(err->raised);
  TAKE_FIXED(err->sqlstate);
  TAKE_FIXED(err->where);
  TAKE_FIXED(err->message);
  TAKE_FIXED(err->hint);
  TAKE_FIXED(err->trace);
}

void pawl_wire_take_limits(pawl_wire *w, pawl_limits *l) {
  memset(l, 0, sizeof *l);
  l->instructions = pawl_wire_take_int(w);
  l->time_us = pawl_wire_take_int(w);
  l->memory = (size_t)pawl_wire_take_int(w);
  l->effects = (int)pawl_wire_take_int(w);
  l->db = (int)pawl_wire_take_int(w);
  l->await = (int)pawl_wire_take_int(w);
#define TAKE_GRANT(name) l->name = pawl_wire_take_text(w);
  PAWL_GRANTS(TAKE_GRANT)
#undef TAKE_GRANT
}

void pawl_wire_take_call(pawl_wire *w, pawl_call *c) {
  memset(c, 0, sizeof *c);
  const int64_t handler = pawl_wire_take_int(w);
  c->handler = (pawl_handler)handler;
  c->version = pawl_wire_take_int(w);
  c->attempt = pawl_wire_take_int(w);
  c->visit = pawl_wire_take_int(w);
  c->token = pawl_wire_take_int(w);
  c->transactional = (int)pawl_wire_take_int(w);
  c->one_way = (int)pawl_wire_take_int(w);
#define TAKE_NAME(name) c->name = pawl_wire_take_text(w);
#define TAKE_STR(name) c->name = pawl_wire_take_str(w);
  PAWL_CALL_NAMES(TAKE_NAME)
  PAWL_CALL_TEXTS(TAKE_STR)
#undef TAKE_NAME
#undef TAKE_STR
}

#define TAKE_FLAG(name) r->name = (int)pawl_wire_take_int(w);
#define TAKE_TIME(name) r->name = pawl_wire_take_int(w);
#define TAKE_TEXT(name) pawl_buf_adds(&r->name, pawl_wire_take_str(w));
#define TAKE_LIST(name) TAKE_TEXT(name)
#define TAKE(type, name) TAKE_##type(name)

void pawl_wire_take_result(pawl_wire *w, pawl_said *r) {
  PAWL_RESULT_EFFECTS(TAKE)
  PAWL_RESULT_FAILURE(TAKE)
}

int pawl_wire_is_whole(const pawl_wire *w) {
  return !w->is_bad && w->at == w->end;
}

/* ---- the channel ---- */

void pawl_channel_init(pawl_channel *c, int fd, const pawl_alloc *alloc) {
  memset(c, 0, sizeof *c);
  c->fd = fd;
  c->in.alloc = c->out.alloc = alloc;
}

void pawl_channel_deinit(pawl_channel *c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
  pawl_buf_deinit(&c->in);
  pawl_buf_deinit(&c->out);
  c->taken = c->sent = 0;
}

int pawl_channel_next(pawl_channel *c, const size_t most[PAWL_WIRE_NKINDS],
                      pawl_wire *w) {
  const char *at = c->in.at + c->taken;
  const size_t there = c->in.len - c->taken;
  uint32_t len;
  if (there < HEAD) return 0;
  memcpy(&len, at, HEAD);
  if (len < 1) return -1;
  if (there == HEAD) return 0;
  const unsigned char kind = (unsigned char)at[HEAD];
  if (kind >= PAWL_WIRE_NKINDS || len > most[kind]) return -1;
  if (there < HEAD + (size_t)len) return 0;
  *w = (pawl_wire){.kind = (pawl_wire_kind)kind,
                   .at = at + HEAD + 1,
                   .end = at + HEAD + len};
  c->taken += HEAD + (size_t)len;
  return 1;
}

/* What was taken makes room; a buffer that one long message needed is given
 * back. */
static void tidy(pawl_channel *c) {
  const size_t rest = c->in.len - c->taken;
  if (!c->taken) return;
  if (rest) memmove(c->in.at, c->in.at + c->taken, rest);
  c->in.len = rest;
  c->taken = 0;
  if (!rest && c->in.cap > KEPT) {
    const pawl_alloc *alloc = c->in.alloc;
    pawl_buf_deinit(&c->in);
    c->in.alloc = alloc;
  }
}

int pawl_channel_has_more(const pawl_channel *c) {
  return c->in.len > c->taken;
}

int pawl_channel_is_silent(const pawl_channel *c) {
  char byte;
  return !pawl_channel_has_more(c) &&
         recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

long pawl_channel_fill(pawl_channel *c) {
  char *room;
  ssize_t n;
  tidy(c);
  room = pawl_buf_room(&c->in, FILL);
  if (!room) {
    errno = ENOMEM;
    return -1;
  }
  n = recv(c->fd, room, FILL, 0);
  if (n < 0 && errno == ECONNRESET) n = 0;
  if (n > 0) pawl_buf_grew(&c->in, (size_t)n);
  return (long)n;
}

int pawl_channel_flush(pawl_channel *c) {
  pawl_buf *out = &c->out;
  const size_t left = out->len - c->sent;
  const ssize_t n = send(c->fd, out->at + c->sent, left < PIECE ? left : PIECE,
                         MSG_NOSIGNAL);
  if (n < 0) return errno == EPIPE || errno == ECONNRESET ? 0 : -1;
  c->sent += (size_t)n;
  if (c->sent < out->len) return 1;
  pawl_buf_clear(out);
  c->sent = 0;
  return 1;
}
