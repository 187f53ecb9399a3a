#include "toll.h"

#include <assert.h>

#include "host_internal.h"

enum {
  BYTES_A_STEP = 64, /* that cost as much as an instruction */
  /* of JSON: */
  VALUE_COST = 16, /* it is found, made, put in its place */
  TEXT_A_STEP = 16 /* bytes that are looked at each by itself */
};

static void on_count(lua_State *L, lua_Debug *ar);

/* ---- limits that are met ---- */

int pawl_toll_meet(lua_State *L, pawl_limit limit) {
  pawl_meter *m = pawl_meter_of(L);
  pawl_error err;
  assert(m);
  if (!m->met) m->met = limit;
  /* who swallows it is stopped with his next instruction */
  lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
  (void)pawl_meter_fail(m, &err);
  pawl_host_where(L, 0, err.where, sizeof err.where);
  pawl_host_push_error(L, &err);
  return lua_error(L);
}

void pawl_toll_recall(lua_State *L) {
  const pawl_meter *m = pawl_meter_of(L);
  if (m && m->met && m->depth) pawl_toll_meet(L, m->met);
}

/* ---- looking ---- */

static void look_at_memory(lua_State *L, pawl_meter *m, size_t more) {
  const size_t soft = m->limits->memory;
  if (more <= soft && m->bytes <= soft - more) return;
  if (more <= soft) lua_gc(L, LUA_GCCOLLECT);
  if (more > soft || m->bytes > soft - more)
    pawl_toll_meet(L, PAWL_LIMIT_MEMORY);
}

/* The engine's own limit, as far as it is this state's to keep. */
static void look_at_engine(lua_State *L, const pawl_meter *m) {
  if (!pawl_meter_is_short(m)) return;
  lua_gc(L, LUA_GCCOLLECT);
  if (!pawl_meter_is_short(m)) return;
  m->ration->refused++;
  pawl_toll_meet(L, PAWL_LIMIT_SHORT);
}

static void look(lua_State *L, pawl_meter *m) {
  if (m->met) pawl_toll_meet(L, m->met);
  m->left -= (int64_t)(m->churn / BYTES_A_STEP);
  m->churn = 0;
  m->unlooked = 0;
  if (m->left <= 0) pawl_toll_meet(L, PAWL_LIMIT_INSTRUCTIONS);
  if (pawl_clock_mono() > m->until_us) pawl_toll_meet(L, PAWL_LIMIT_TIME);
  if (pawl_meter_is_interrupted(m)) pawl_toll_meet(L, PAWL_LIMIT_INTERRUPT);
  look_at_memory(L, m, 0);
  look_at_engine(L, m);
}

static void on_count(lua_State *L, lua_Debug *ar) {
  pawl_meter *m = pawl_meter_of(L);
  const int count = lua_gethookcount(L), step = pawl_meter_step(m);
  (void)ar;
  if (!m->met && count != step) lua_sethook(L, on_count, LUA_MASKCOUNT, step);
  if (!m->depth) return;
  m->left -= count;
  m->unlooked += count * pawl_meter_weight(m);
  if (m->met || m->left <= 0 || m->unlooked >= PAWL_METER_CLOCK_EVERY ||
      m->churn > PAWL_CHURN_MOST || m->bytes > m->limits->memory ||
      pawl_meter_is_short(m) || pawl_meter_is_interrupted(m))
    look(L, m);
}

void pawl_toll_look(lua_State *L) {
  pawl_meter *m = pawl_meter_of(L);
  if (m && m->depth) look(L, m);
}

void pawl_toll_spend(lua_State *L, size_t n) {
  pawl_meter *m = pawl_meter_of(L);
  if (!m || !m->depth) return;
  if (m->left < 0 || n > (size_t)m->left)
    pawl_toll_meet(L, PAWL_LIMIT_INSTRUCTIONS);
  m->left -= (int64_t)n;
  if (n > PAWL_METER_CLOCK_EVERY) n = PAWL_METER_CLOCK_EVERY;
  m->unlooked += (int)n;
  if (m->met || m->unlooked >= PAWL_METER_CLOCK_EVERY) look(L, m);
}

void pawl_toll_need(lua_State *L, size_t n) {
  pawl_meter *m = pawl_meter_of(L);
  if (!m || !m->depth) return;
  look_at_memory(L, m, n);
  pawl_toll_spend(L, n / BYTES_A_STEP);
}

void pawl_toll_json(lua_State *L, pawl_str text) {
  size_t values = 1;
  if (!pawl_meter_of(L)) return;
  for (size_t i = 0; i < text.len; i++)
    values += text.at[i] == ',' || text.at[i] == '[' || text.at[i] == '{';
  pawl_toll_spend(L, values * VALUE_COST + text.len / TEXT_A_STEP);
}

/* What it was is gone; that it may have been short values shows its room. */
void pawl_toll_vain(lua_State *L, pawl_buf *out) {
  const size_t room = out->cap;
  pawl_buf_deinit(out);
  pawl_toll_spend(L, room * 2);
}

void pawl_toll_effect(lua_State *L) {
  pawl_meter *m = pawl_meter_of(L);
  if (!m || !m->depth) return;
  if (--m->effects < 0) pawl_toll_meet(L, PAWL_LIMIT_EFFECTS);
}

void pawl_toll_watch(lua_State *L) {
  pawl_meter_of(L)->hook = on_count;
  lua_sethook(L, on_count, LUA_MASKCOUNT, PAWL_METER_STEP);
}
