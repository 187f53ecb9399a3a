#include "quota.h"

#include <string.h>

#include "../../value/json.h"
#include "../common/time.h"
#include "batch.h"

#define MINUTE_US (60 * PAWL_SECOND)
#define READ_EVERY_US (PAWL_SECOND / 2) /* while there is much room */
#define KEEP_US (10 * MINUTE_US)        /* whoever's clock is behind */

/* Of one workflow, in the minute that is. */
typedef struct pawl_quota_use {
  pawl_buf workflow;
  int64_t minute_us;
  int64_t read_mono_us;         /* 0: nobody asked yet */
  int64_t mine[PAWL_NQUOTAS];   /* as planned here, committed or not */
  int64_t others[PAWL_NQUOTAS]; /* as read */
} pawl_quota_use;

static int64_t minute_of(int64_t us) {
  return us - us % MINUTE_US;
}

/* ---- what is known ---- */

static pawl_quota_use *find(pawl_engine *e, pawl_str workflow) {
  pawl_quota_use *u;
  for (int i = 0; i < e->nquotas; i++)
    if (pawl_str_eq(pawl_buf_str(&e->quotas[i].workflow), workflow))
      return &e->quotas[i];
  if (!PAWL_ROOM(&e->alloc, e->quotas, e->nquotas, e->quotas_cap)) return NULL;
  u = &e->quotas[e->nquotas];
  memset(u, 0, sizeof *u);
  u->workflow.alloc = &e->alloc;
  pawl_buf_adds(&u->workflow, workflow);
  if (u->workflow.failed) {
    pawl_buf_deinit(&u->workflow);
    return NULL;
  }
  e->nquotas++;
  return u;
}

/* As of this minute; NULL: no memory. */
static pawl_quota_use *use_of(pawl_engine *e, const pawl_decision *d) {
  int64_t minute = minute_of(pawl_engine_now(e));
  pawl_quota_use *u = find(e, pawl_buf_str(&d->workflow));
  if (!u || u->minute_us == minute) return u;
  u->minute_us = minute;
  u->read_mono_us = 0;
  memset(u->mine, 0, sizeof u->mine);
  memset(u->others, 0, sizeof u->others);
  return u;
}

static void take_rows(pawl_quota_use *u, const pawl_rows *rows) {
  memset(u->others, 0, sizeof u->others);
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_quota_read_row row = pawl_read_quota_read(rows, k);
    for (int q = 0; q < PAWL_NQUOTAS; q++)
      if (pawl_str_eqz(row.quota, pawl_quota_name((pawl_quota)q)))
        u->others[q] = row.amount;
  }
}

/* What cannot be read now is taken as it was: a store that is not there lets
 * nobody commit. */
static void read_others(pawl_engine *e, pawl_quota_use *u) {
  const pawl_quota_read_args row = {.workflow = pawl_buf_str(&u->workflow),
                                    .minute = u->minute_us,
                                    .executor = &e->executor};
  pawl_error unsaid;
  pawl_rows rows;
  int at;

  u->read_mono_us = pawl_clock_mono();
  if (!e->unit) {
    if (pawl_store_once_one(e->store, PAWL_UNIT_READ, PAWL_STMT_quota_read,
                            &row, &rows, &unsaid) == PAWL_OK)
      take_rows(u, &rows);
  } else if (pawl_store_send_one(e->store, PAWL_STMT_quota_read, &row, &at,
                                 &unsaid) == PAWL_OK) {
    pawl_store_rows(e->store, at, &rows);
    take_rows(u, &rows);
  }
}

static int64_t room(const pawl_quota_use *u, const pawl_decision *d,
                    pawl_quota quota) {
  return d->def->per_minute[quota] - u->mine[quota] - u->others[quota];
}

static int is_over(const pawl_quota_use *u, const pawl_decision *d,
                   pawl_quota quota, int64_t n) {
  return n > room(u, d, quota);
}

/* ---- spending ---- */

/* One effect of each quota. */
static void plan_it(pawl_decision *d, pawl_quota quota, int64_t n,
                    int64_t minute_us) {
  pawl_plan *p = &d->plan;
  const char *name = pawl_quota_name(quota);
  pawl_effect *f = NULL;

  for (int k = 0; k < p->neffects && !f; k++)
    if (p->effects[k].kind == PAWL_EFFECT_SPEND &&
        p->effects[k].at_us == minute_us &&
        pawl_str_eqz(pawl_buf_str(&p->effects[k].name), name))
      f = &p->effects[k];
  if (!f) {
    f = pawl_plan_effect(p, PAWL_EFFECT_SPEND, 0);
    pawl_buf_addz(&f->name, name);
    f->at_us = minute_us;
  }
  f->n += n;
}

static pawl_code refuse(pawl_engine *e, const pawl_decision *d,
                        const pawl_quota_use *u, pawl_quota quota, int64_t n,
                        int64_t *wait_us, pawl_error *err) {
  int64_t most = d->def->per_minute[quota];
  *wait_us = n > most ? -1 : u->minute_us + MINUTE_US - pawl_engine_now(e);
  (void)pawl_fail_hint(
      err, PAWL_LIMIT,
      n > most ? "who runs it may allow more, by `per_minute` of its `trust`"
               : "the next minute has as many again; who runs it may allow "
                 "more, by `per_minute` of its `trust`",
      "%s: more than %" PRId64 " in a minute, of all instances of %s",
      pawl_quota_name(quota), most, d->workflow.at);
  if (n <= most)
    pawl_copy_text(err->raised, sizeof err->raised, PAWL_RAISED_QUOTA);
  return PAWL_LIMIT;
}

/* What others did matters most near the end. */
static int is_to_read(const pawl_quota_use *u, const pawl_decision *d,
                      pawl_quota quota) {
  return !u->read_mono_us ||
         room(u, d, quota) <= d->def->per_minute[quota] / 2 ||
         pawl_clock_mono() - u->read_mono_us > READ_EVERY_US;
}

pawl_code pawl_quota_spend(void *ud, pawl_decision *d, pawl_quota quota,
                           int64_t n, int64_t *wait_us, pawl_error *err) {
  pawl_engine *e = ud;
  pawl_quota_use *u = use_of(e, d);
  pawl_code rc = PAWL_OK;

  *wait_us = -1;
  if (!u) return pawl_fail_memory(err);
  if (is_to_read(u, d, quota)) read_others(e, u);
  if (is_over(u, d, quota, n)) {
    rc = refuse(e, d, u, quota, n, wait_us, err);
    /* those lines that fitted are written */
    n = quota == PAWL_QUOTA_LOGS ? room(u, d, quota) : 0;
  }
  if (n <= 0) return rc;
  u->mine[quota] += n;
  plan_it(d, quota, n, u->minute_us);
  return rc;
}

/* ---- lines, which are written before their handler ends ---- */

int pawl_quota_log(pawl_engine *e, pawl_held *h) {
  const pawl_quota_use *u;
  if (!h->d.def || !h->d.def->is_limited) return 1;
  u = use_of(e, &h->d);
  h->d.lines++;
  return u && !is_over(u, &h->d, PAWL_QUOTA_LOGS, h->d.lines);
}

/* ---- the store ---- */

pawl_code pawl_quota_send(pawl_engine *e, pawl_held **list, int n,
                          pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_quota_add);
  EACH (h) {
    if (!pawl_plan_writes(&h->d.plan)) continue;
    for (int k = 0; k < h->d.plan.neffects; k++) {
      const pawl_effect *f = &h->d.plan.effects[k];
      if (f->kind != PAWL_EFFECT_SPEND) continue;
      PAWL_PUT(&e->args, quota_add, .workflow = pawl_buf_str(&h->d.workflow),
               .minute = f->at_us, .quota = pawl_buf_str(&f->name),
               .executor = &e->executor, .amount = f->n);
    }
  }
  return pawl_store_send(e->store, &e->args, NULL, err);
}

pawl_code pawl_quota_tidy(pawl_engine *e, pawl_error *err) {
  if (e->quotas_swept && !e->nquotas) return PAWL_OK;
  MUST(PAWL_WRITE(e->store, quota_prune, NULL, err,
                  .before = pawl_engine_now(e) - KEEP_US));
  e->quotas_swept = 1;
  return PAWL_OK;
}

void pawl_quota_close(pawl_engine *e) {
  for (int i = 0; i < e->nquotas; i++) pawl_buf_deinit(&e->quotas[i].workflow);
  pawl_release(&e->alloc, e->quotas,
               sizeof *e->quotas * (size_t)e->quotas_cap);
  e->quotas = NULL;
  e->nquotas = e->quotas_cap = 0;
}
