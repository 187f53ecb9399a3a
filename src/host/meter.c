#include "meter.h"

#include <assert.h>

#include "../base/clock.h"

pawl_meter *pawl_meter_of(lua_State *L) {
  void *ud;
  return lua_getallocf(L, &ud) == pawl_meter_alloc ? ud : NULL;
}

/* ---- memory ---- */

static size_t hard_limit(const pawl_meter *m) {
  const size_t soft = m->limits->memory, least = (size_t)48 << 20;
  size_t room = soft < least ? least : soft;
  return room > SIZE_MAX - soft ? SIZE_MAX : soft + room;
}

/* With the next instruction. lua_sethook may be called at any time, also from
 * within an allocation. */
static void look_soon(const pawl_meter *m) {
  if (m->depth && m->running && lua_gethookcount(m->running) != 1)
    lua_sethook(m->running, m->hook, LUA_MASKCOUNT, 1);
}

/* ---- how long an instruction may take (H14) ---- */

enum {
  LARGE = 16 << 10,         /* bytes: less is nothing */
  TEXT_WEIGHS = 20 << 10,   /* bytes of a text that are gone through in some
                               40 us, if it is read as a number */
  BLOCK_WEIGHS = 1024 << 10 /* and of another block */
};

int pawl_meter_weight(const pawl_meter *m) {
  return 1 + (int)(m->text / TEXT_WEIGHS + m->block / BLOCK_WEIGHS);
}

int pawl_meter_step(const pawl_meter *m) {
  const int step = PAWL_METER_CLOCK_EVERY / pawl_meter_weight(m);
  return step > PAWL_METER_STEP ? PAWL_METER_STEP : step > 0 ? step : 1;
}

void pawl_meter_watch(const pawl_meter *m, lua_State *L) {
  if (lua_gethookcount(L) > pawl_meter_step(m))
    lua_sethook(L, m->hook, LUA_MASKCOUNT, pawl_meter_step(m));
}

/* Of a new block Lua tells what it is for. */
static void weigh(pawl_meter *m, size_t size, int is_text) {
  size_t *most = is_text ? &m->text : &m->block;
  if (size <= *most) return;
  *most = size;
  if (m->running && lua_gethookcount(m->running) > pawl_meter_step(m))
    look_soon(m);
}

void *pawl_meter_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  pawl_meter *m = ud;
  const int is_text = !ptr && osize == LUA_TSTRING;
  void *block;
  if (!ptr) osize = 0; /* for a new one Lua tells what it is for */
  if (nsize == 0) {
    if (ptr) pawl_release(&m->alloc, ptr, osize);
    m->bytes -= osize;
    return NULL;
  }
  if (nsize > osize && m->depth) {
    const size_t more = nsize - osize, hard = hard_limit(m);
    if (more > hard || m->bytes > hard - more) {
      if (!m->met) m->met = PAWL_LIMIT_MEMORY;
      look_soon(m);
      return NULL;
    }
    m->churn += more;
  }
  block = pawl_realloc(&m->alloc, ptr, osize, nsize);
  if (!block) return NULL;
  m->bytes = m->bytes - osize + nsize;
  if (nsize > LARGE) weigh(m, nsize, is_text);
  if (m->churn > PAWL_CHURN_MOST || m->bytes > m->limits->memory ||
      pawl_meter_is_short(m))
    look_soon(m);
  return block;
}

/* ---- limits that are met ---- */

static void fill(const pawl_meter *m, pawl_error *err) {
  const pawl_limits *l = m->limits;
  static const char HINT[] =
      "what takes long or holds much belongs into more steps; who runs it may "
      "allow more, by its `trust`";
  switch (m->met) {
    case PAWL_LIMIT_INSTRUCTIONS:
      pawl_fail_hint(err, PAWL_LIMIT, HINT,
                     "instructions: more than %lld were run",
                     (long long)l->instructions);
      break;
    case PAWL_LIMIT_TIME:
      pawl_fail_hint(err, PAWL_LIMIT, HINT,
                     "time: it ran for longer than %g s",
                     (double)l->time_us / 1e6);
      break;
    case PAWL_LIMIT_MEMORY:
      pawl_fail_hint(err, PAWL_LIMIT, HINT,
                     "memory: its Lua state would hold more than %zu bytes",
                     l->memory);
      break;
    case PAWL_LIMIT_EFFECTS:
      pawl_fail_hint(err, PAWL_LIMIT, HINT,
                     "effects: more than %d events, notes, starts, attributes "
                     "and log lines of one handler",
                     l->effects);
      break;
    default:
      pawl_fail_hint(err, PAWL_LIMIT, HINT,
                     "depth: too many coroutines run within one another");
      break;
  }
}

pawl_code pawl_meter_fail(const pawl_meter *m, pawl_error *err) {
  if (m->met == PAWL_LIMIT_SHORT)
    return pawl_fail_hint(err, PAWL_NOMEM, "it is tried again later",
                          "the handler was stopped: its engine has used what "
                          "memory it may");
  if (m->met == PAWL_LIMIT_INTERRUPT)
    return pawl_fail_hint(err, PAWL_INTERRUPTED, "it is tried again later",
                          "the handler was stopped: its engine was "
                          "interrupted");
  fill(m, err);
  return PAWL_LIMIT;
}

int pawl_meter_is_innocent(const pawl_meter *m) {
  /* a machine may be busy with other things */
  return m->met == PAWL_LIMIT_TIME || m->met == PAWL_LIMIT_SHORT ||
         m->met == PAWL_LIMIT_INTERRUPT;
}

int pawl_meter_is_short(const pawl_meter *m) {
  return m->ration && pawl_ration_is_short(m->ration);
}

/* ---- shares ---- */

void pawl_meter_begin(pawl_meter *m, lua_State *L, const pawl_share *share) {
  if (m->depth++) return;
  m->running = L;
  m->met = PAWL_WITHIN;
  m->churn = 0;
  m->unlooked = 0;
  m->threads = 0;
  if (m->text > m->bytes) m->text = m->bytes;
  if (m->block > m->bytes) m->block = m->bytes;
  pawl_meter_watch(m, L);
  m->left = share ? share->left : m->limits->instructions;
  m->effects = share ? share->effects : m->limits->effects;
  m->until_us = pawl_clock_mono() + (share ? share->us : m->limits->time_us);
}

void pawl_meter_end(pawl_meter *m) {
  assert(m->depth > 0);
  if (--m->depth == 0) m->running = NULL;
}

void pawl_meter_keep(const pawl_meter *m, pawl_share *share) {
  int64_t us = m->until_us - pawl_clock_mono();
  share->left = m->left;
  share->effects = m->effects;
  share->us = us > 0 ? us : 0;
}
