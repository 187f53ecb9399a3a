/* zoo.h: a workflow with a node of nearly every kind, and what a C test needs
 * to bring an instance of it to its end: for tests that do something to each
 * part of an engine in turn. */
#ifndef PAWL_SPEC_ZOO_H
#define PAWL_SPEC_ZOO_H

#include "../../src/pawl.h"

static const char ZOO[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'zoo.a', version = 1, start = 'a',\n"
    "  deadline = '365d' }\n"
    "local often = { max = 50, base = 1, cap = 2 }\n"
    "w:step('a', { retry = often, run = function(ctx)\n"
    "  ctx.vars.k = 'k1' ctx.vars.big = string.rep('x', 6000)\n"
    "  ctx.attrs.color = 'red' ctx.attrs.n = 3\n"
    "  ctx.emit('made', { n = 1 })\n"
    "  ctx.log('info', 'made', { n = 1 })\n"
    "  return nil, { hold = 1 }\n"
    "end, undo = function(ctx) ctx.log('info', 'undo') end, next = 'f' })\n"
    "w:fork('f', { next = { 'w', 't', 'tm', 'e', 'q', 'aw' } })\n"
    "w:wait('w', { event = 'pay.*', key = 'k', timeout = '70d',\n"
    "  match = function(event, ctx) return event.data.amount == 5 end,\n"
    "  next = { received = 'c', timeout = 'j' } })\n"
    "w:choice('c', { choose = function(ctx)\n"
    "  return ctx.event.data.amount > 3 and 'much' or 'little' end,\n"
    "  next = { much = 'j', little = 'j' } })\n"
    "w:task('t', { title = 'Do', role = 'manager', due = '20d',\n"
    "  next = { approved = 'j', rejected = 'j' } })\n"
    "w:timer('tm', { after = '1h', next = 'j' })\n"
    "w:each('e', { items = function() return { 1, 2, 3 } end,\n"
    "  branch = 'eb', window = 2, next = 'j' })\n"
    "w:step('eb', { retry = often, run = function(ctx)\n"
    "  return nil, { v = ctx.token.data.item } end, next = 'e' })\n"
    "w:step('q', { retry = often, transactional = true,\n"
    "  run = function(ctx)\n"
    "    return nil, (ctx.db:query('select 1 as one')) end, next = 'j' })\n"
    "w:step('aw', { retry = often, run = function(ctx)\n"
    "  ctx.await(1) ctx.heartbeat { at = 1 }\n"
    "  assert(ctx.attrs.color == 'red')\n"
    "end, next = 'j' })\n"
    "w:join('j', { expect = 'all', next = 'z' })\n"
    "w:finish('z', { output = function(ctx) return { ok = true } end })\n"
    "return w\n";

/* A clock that the test moves; it goes on by itself a little. */
typedef struct zoo_clock {
  int64_t us;
} zoo_clock;

static inline int64_t zoo_now(void *ud) {
  zoo_clock *clock = ud;
  return clock->us += 10;
}

#endif
