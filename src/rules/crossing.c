/* Can a token go from one version of a workflow to another? */
#include "crossing.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "../value/json.h"
#include "decision.h"
#include "kinds.h"

/* ---- places ---- */

void pawl_places_deinit(const pawl_world *w, pawl_places *p) {
  pawl_release(w->alloc, p->at, sizeof *p->at * (size_t)p->cap);
  memset(p, 0, sizeof *p);
}

pawl_place *pawl_places_add(const pawl_world *w, pawl_places *p) {
  if (!PAWL_ROOM(w->alloc, p->at, p->n, p->cap)) return NULL;
  memset(&p->at[p->n], 0, sizeof *p->at);
  return &p->at[p->n++];
}

static void push_fork(pawl_place *place, const char *fork) {
  if (fork && place->depth < PAWL_MAX_DEPTH)
    place->forks[place->depth++] = fork;
}

void pawl_place_around(pawl_place *place, const pawl_token *t) {
  const pawl_levels *up = &pawl_detail_of(t)->up;

  place->host = (int32_t)pawl_detail_of(t)->host;
  place->guarded = pawl_detail_of(t)->guarded != 0;
  place->halted = pawl_detail_of(t)->halted.len > 0;
  place->steps = pawl_detail_of(t)->stepping.len > 0;
  memcpy(place->scope, t->scope, sizeof place->scope);
  place->depth = 0;
  for (int i = 0; i < up->n; i++) push_fork(place, up->at[i].fork);
  push_fork(place, t->fork);
}

int pawl_place_read(const pawl_world *w, pawl_place *place, const char *fork,
                    pawl_str scope, pawl_str detail) {
  pawl_token t = {.fork = fork, .data = {.alloc = w->alloc}};
  int ok = pawl_detail_read(w, detail, &t);

  if (scope.at) (void)pawl_scope_parse(&t, scope);
  pawl_place_around(place, &t);
  pawl_detail_free(&t);
  return ok;
}

/* As stopped.c wrote it. */
static int read_stopped(const pawl_world *w, pawl_str token, pawl_place *at) {
  pawl_str value, detail = {0}, scope = {0};
  int failed = 0;

  at->no = (int32_t)pawl_json_get_int(token, "no", 0);
  at->waiting = pawl_json_get(token, "waiting", &value) &&
                pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  at->node = pawl_world_name(w, token, "node", &failed);
  (void)pawl_json_get(token, "detail", &detail);
  if (pawl_json_get(token, "scope", &value) && value.len >= 2)
    scope = (pawl_str){value.at + 1, value.len - 2};
  return pawl_place_read(w, at, pawl_world_name(w, token, "fork", &failed),
                         scope, detail) &&
         !failed;
}

pawl_code pawl_places_stopped(const pawl_world *w, const pawl_id *instance,
                              pawl_str stopped, pawl_places *p,
                              pawl_error *err) {
  pawl_str tokens;

  if (!stopped.len || !pawl_json_get(stopped, "tokens", &tokens))
    return PAWL_OK;
  for (pawl_json_iter it = {0}; pawl_json_walk(tokens, &it);) {
    pawl_place *at = pawl_places_add(w, p);
    if (!at) return pawl_fail_memory(err);
    at->instance = *instance;
    if (!read_stopped(w, it.value, at)) return pawl_fail_memory(err);
  }
  return PAWL_OK;
}

/* ---- names ---- */

/* Boundaries are called after what they are on, if by no name of their own
 * ("ask.on_timer"), and so is what they lead to ("ask.on_timer.run"): what
 * comes behind that name; NULL: nothing does. */
static const char *behind_host(const char *name) {
  const char *timer = strstr(name, ".on_timer");

  return timer ? timer : strstr(name, ".on_event");
}

/* The new name of what it is on, and the rest. 1: that has one. */
static int map_host(pawl_str map, const char *name, pawl_buf *out) {
  const char *rest = behind_host(name);
  pawl_buf host = {.alloc = out->alloc};
  pawl_str value;
  int found = 0;

  if (!rest) return 0;
  pawl_buf_adds(&host, (pawl_str){name, (size_t)(rest - name)});
  out->failed |= host.failed;
  if (!host.failed && pawl_json_get(map, host.at ? host.at : "", &value)) {
    pawl_json_unquote(value, out);
    pawl_buf_addz(out, rest);
    found = 1;
  }
  pawl_buf_deinit(&host);
  return found;
}

void pawl_map_name(pawl_str map, const char *name, pawl_buf *out) {
  pawl_str value;

  pawl_buf_clear(out);
  if (map.at && pawl_json_get(map, name, &value))
    pawl_json_unquote(value, out);
  else if (!map.at || !map_host(map, name, out))
    pawl_buf_addz(out, name);
}

/* ---- can a token cross? ---- */

static int index_of(const pawl_def *def, const char *name) {
  return pawl_def_node(def, name, strlen(name));
}

int pawl_crossing_across(const pawl_crossing *c, const char *node,
                         pawl_buf *name) {
  pawl_map_name(c->map, node, name);
  return pawl_def_node(c->to, name->at, name->len);
}

static const char *items_of(const pawl_node *each) {
  return each->workflow ? "children" : "branches";
}

/* A boundary is one there too, on the same node. */
static int same_host(const pawl_crossing *c, const pawl_node *was,
                     const pawl_node *is, pawl_buf *name) {
  if (was->host < 0 || is->host < 0) return was->host == is->host;
  return pawl_crossing_across(c, was->on, name) == is->host;
}

static void check_node(const pawl_crossing *c, const pawl_place *place,
                       pawl_buf *name, pawl_buf *why) {
  int old = index_of(c->from, place->node);
  int new = pawl_crossing_across(c, place->node, name);

  if (new < 0) {
    pawl_buf_addf(why, "version %" PRId64 " has no node \"%s\"",
                  c->to->version, name->at ? name->at : "");
    return;
  }
  if (old < 0) return;
  const pawl_node *was = &c->from->nodes[old];
  const pawl_node *is = &c->to->nodes[new];
  if (pawl_kind_shapes[was->kind].waits_for && is->kind != was->kind)
    pawl_buf_addf(why,
                  "\"%s\" is a %s, and \"%s\" of version %" PRId64 " a %s",
                  was->name, pawl_kind_name(was->kind), is->name,
                  c->to->version, pawl_kind_name(is->kind));
  else if (!same_host(c, was, is, name))
    pawl_buf_addf(why, "\"%s\" is %s%s%s, and not so in version %" PRId64,
                  was->name, was->host < 0 ? "on no node" : "on \"",
                  was->host < 0 ? "" : was->on, was->host < 0 ? "" : "\"",
                  c->to->version);
  else if (was->kind == PAWL_KIND_EACH && place->waiting &&
           !was->workflow != !is->workflow)
    pawl_buf_addf(
        why,
        "\"%s\" has %s for its items, and \"%s\" of version %" PRId64 " %s",
        was->name, items_of(was), is->name, c->to->version, items_of(is));
}

/* The fork at one level has to be there too. Its index; -1: `why` tells. */
static int check_fork(const pawl_crossing *c, const pawl_place *place,
                      const char *fork, pawl_buf *name, pawl_buf *why) {
  int index = pawl_crossing_across(c, fork, name);

  if (index < 0)
    pawl_buf_addf(why,
                  "version %" PRId64
                  " has no node \"%s\", which token %d came from",
                  c->to->version, name->at ? name->at : "", (int)place->no);
  else if (c->to->nodes[index].kind != PAWL_KIND_FORK &&
           c->to->nodes[index].kind != PAWL_KIND_EACH)
    pawl_buf_addf(why, "\"%s\" is a %s in version %" PRId64 ", not a fork",
                  name->at, pawl_kind_name(c->to->nodes[index].kind),
                  c->to->version);
  else
    return index;
  return -1;
}

static int has_spot(const pawl_spots *s, int node, const int *forks,
                    int depth) {
  const int *at;
  int d;
  for (int i = 0; (at = pawl_spots_at(s, node, i, &d)); i++)
    if (d == depth && !memcmp(at, forks, sizeof *at * (size_t)d)) return 1;
  return 0;
}

/* Is this place one that the old graph itself leads to? One that a person has
 * put a token in need not be. */
static int is_regular(const pawl_crossing *c, const pawl_place *place) {
  int forks[PAWL_MAX_DEPTH] = {0};
  int node = index_of(c->from, place->node);
  for (int i = 0; i < place->depth; i++)
    forks[i] = index_of(c->from, place->forks[i]);
  return node >= 0 && has_spot(c->left, node, forks, place->depth);
}

/* One of the new node's surroundings is one of the old node's. */
static int was_there(const pawl_crossing *c, int old, const int *forks,
                     int depth, pawl_buf *name) {
  const int *at;
  int d;
  for (int i = 0; (at = pawl_spots_at(c->left, old, i, &d)); i++) {
    int same = d == depth;
    for (int k = 0; same && k < d; k++)
      same = pawl_crossing_across(c, c->from->nodes[at[k]].name, name) ==
             forks[k];
    if (same) return 1;
  }
  return 0;
}

/* A token that was put there by hand is as out of place as before, if the
 * node's surroundings are what they were. */
static int is_unchanged(const pawl_crossing *c, const pawl_place *place,
                        int new, pawl_buf *name) {
  int old = index_of(c->from, place->node);
  const int *at;
  int d;
  if (old < 0) return 0;
  for (int i = 0; (at = pawl_spots_at(c->right, new, i, &d)); i++)
    if (!was_there(c, old, at, d, name)) return 0;
  return 1;
}

static void add_forks(const pawl_def *def, const int *forks, int depth,
                      pawl_buf *out) {
  if (!depth) pawl_buf_addz(out, "outside all forks");
  for (int i = 0; i < depth; i++)
    pawl_buf_addf(out, "%s\"%s\"", i ? " > " : "inside ",
                  def->nodes[forks[i]].name);
}

/* Its forks have to be the ones it would be in, had it come there by itself:
 * else a join ahead would not know it, or let it pass. */
static void check_forks(const pawl_crossing *c, const pawl_place *place,
                        pawl_buf *name, pawl_buf *why) {
  int forks[PAWL_MAX_DEPTH] = {0}, depth = 0, new;

  for (int i = 0; i < place->depth; i++) {
    forks[i] = check_fork(c, place, place->forks[i], name, why);
    if (forks[i] < 0) return;
  }
  new = pawl_crossing_across(c, place->node, name);
  if (has_spot(c->right, new, forks, place->depth)) return;
  if (!is_regular(c, place) && is_unchanged(c, place, new, name)) return;
  const int *at = pawl_spots_at(c->right, new, 0, &depth);
  pawl_buf_addf(why, "\"%s\" stands ", c->to->nodes[new].name);
  add_forks(c->to, at, at ? depth : 0, why);
  pawl_buf_addf(why, " in version %" PRId64 ", and this token ",
                c->to->version);
  add_forks(c->to, forks, place->depth, why);
}

pawl_code pawl_crossing_check(const pawl_crossing *c, const pawl_place *place,
                              pawl_buf *why, pawl_error *err) {
  pawl_buf name = {.alloc = why->alloc};
  pawl_code rc = PAWL_OK;

  assert(c->from && c->to && c->left && c->right);
  if (!place->node) return PAWL_OK;
  if (place->host && pawl_crossing_boundary(c, place->node, &name) < 0)
    goto out; /* it ends there */
  check_node(c, place, &name, why);
  if (!why->len) check_forks(c, place, &name, why);
  TRY(pawl_buf_check(&name, err));
  TRY(pawl_buf_check(why, err));
out:
  pawl_buf_deinit(&name);
  return rc;
}

/* ---- what is on what ---- */

int pawl_crossing_boundary(const pawl_crossing *c, const char *boundary,
                           pawl_buf *name) {
  const int old = index_of(c->from, boundary);
  const int new = old < 0 ? -1 : pawl_crossing_across(c, boundary, name);

  if (new < 0 || c->from->nodes[old].host < 0 || c->to->nodes[new].host < 0 ||
      c->from->nodes[old].kind != c->to->nodes[new].kind ||
      !same_host(c, &c->from->nodes[old], &c->to->nodes[new], name))
    return -1;
  return new;
}

/* What boundary `at` of the other version was on node `old`; NULL: nothing. */
static const pawl_node *boundary_before(const pawl_crossing *c, int old,
                                        int at, pawl_buf *name) {
  const pawl_node *host = old < 0 ? NULL : &c->from->nodes[old];

  for (int i = 0; host && i < host->nbeside; i++) {
    const pawl_node *was = &c->from->nodes[host->beside[i]];
    if (pawl_crossing_boundary(c, was->name, name) == at) return was;
  }
  return NULL;
}

static int is_beside(const pawl_crossing *c, const pawl_place *all, int n,
                     int32_t host, int at, pawl_buf *name) {
  for (int i = 0; i < n; i++)
    if (all[i].host == host &&
        pawl_crossing_boundary(c, all[i].node, name) == at)
      return 1;
  return 0;
}

/* It has come to pass, and has another time there, which may be ahead. */
static int comes_again(const pawl_node *was, const pawl_node *is) {
  if (is->kind != PAWL_KIND_TIMER) return 0;
  return (pawl_node_repeats(is) && !pawl_node_repeats(was)) ||
         is->after_us > was->after_us;
}

typedef struct beginning {
  const pawl_crossing *c;
  const pawl_place *all;
  int n;
  const pawl_marks *joined;
  pawl_begins *begins;
  void *ud;
  pawl_buf *name;
} beginning;

/* On node `old` of this version, where token `host` stands, or which it has
 * forked at. `guarded`: they have begun. */
static void begin_on(const beginning *b, const pawl_place *place, int level,
                     int32_t host, const char *node, int guarded) {
  const int old = index_of(b->c->from, node);
  const int new = pawl_crossing_across(b->c, node, b->name);
  const pawl_node *is = new < 0 ? NULL : &b->c->to->nodes[new];

  for (int i = 0; is && i < is->nbeside; i++) {
    const int at = is->beside[i];
    const pawl_node *was = boundary_before(b->c, old, at, b->name);
    if (is_beside(b->c, b->all, b->n, host, at, b->name)) continue;
    if (!was || !guarded || comes_again(was, &b->c->to->nodes[at]))
      b->begins(b->ud, place, level, at);
  }
}

/* Its join has fired: nothing is on it any more, though somebody runs on. */
static int is_joined(const beginning *b, int32_t fork) {
  for (int i = 0; b->joined && i < b->joined->n; i++) {
    const pawl_mark *m = &b->joined->at[i];
    const int at = m->no == fork ? index_of(b->c->from, m->name) : -1;
    if (at >= 0 && !b->c->from->nodes[at].join_stays) return 1;
  }
  return 0;
}

/* Somebody inside of it was met before, or it is an each, whose token lives. */
static int was_met(const beginning *b, int before, int32_t fork) {
  for (int i = 0; i < b->n; i++) {
    if (b->all[i].no == fork) return 1;
    for (int k = 0; i < before && k < b->all[i].depth; k++)
      if (b->all[i].scope[k] == fork) return 1;
  }
  return 0;
}

void pawl_crossing_begins(const pawl_crossing *c, const pawl_place *all, int n,
                          const pawl_marks *joined, pawl_begins *begins,
                          void *ud, pawl_buf *name) {
  const beginning b = {c, all, n, joined, begins, ud, name};

  if (!c->to->has_boundaries) return;
  for (int i = 0; i < n; i++) {
    const pawl_place *p = &all[i];
    for (int level = 0; level < p->depth; level++)
      if (!was_met(&b, i, p->scope[level]) && !is_joined(&b, p->scope[level]))
        begin_on(&b, p, level, p->scope[level], p->forks[level], 1);
    if (p->node && !p->host && (p->stands || p->guarded))
      begin_on(&b, p, -1, p->no, p->node, p->guarded);
  }
}

/* ---- what was done ---- */

void pawl_crossing_tell_lost(const pawl_crossing *c, const pawl_place *lost,
                             pawl_buf *why) {
  if (!lost->node) {
    pawl_buf_addf(
        why,
        "its history was trimmed, so that nobody knows what was done; "
        "version %" PRId64
        " may have to undo it: move it to one without `undo`",
        c->to->version);
    return;
  }
  pawl_buf_addf(why,
                "\"%s\" was done and can be undone; version %" PRId64
                " has no node of that name: map it to the one that undoes it, "
                "or to one without `undo`",
                lost->node, c->to->version);
}
