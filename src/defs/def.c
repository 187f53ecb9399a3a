#include "def.h"

#include <assert.h>
#include <stdlib.h>

#include "../base/sha256.h"
#include "reader.h"

/* ---- the graph ---- */

static pawl_code read_nodes(pawl_reader *r, pawl_str graph) {
  pawl_def *d = r->def;
  pawl_str nodes;
  if (!pawl_json_get(graph, "nodes", &nodes) ||
      pawl_json_kind_of(nodes) != PAWL_JSON_ARRAY)
    return pawl_reader_wrong(r, "nodes", "a list");
  int n = pawl_json_count(nodes);
  d->nodes = pawl_arena_get(d, (size_t)n * sizeof *d->nodes + 1);
  if (!d->nodes) return pawl_reader_nomem(r);
  for (pawl_json_iter it = {0}; pawl_json_walk(nodes, &it);) {
    MUST(pawl_node_read(r, it.value, &d->nodes[d->nnodes]));
    d->nnodes++;
  }
  return PAWL_OK;
}

/* [{"event":"...","key":"..."},...] */
static pawl_code read_rules(pawl_reader *r, pawl_str graph, const char *field,
                            pawl_event_rule **out, int *nout) {
  static const char WANT[] = "a list of objects with `event`";
  pawl_str list;
  if (!pawl_json_get(graph, field, &list)) return PAWL_OK;
  if (pawl_json_kind_of(list) != PAWL_JSON_ARRAY)
    return pawl_reader_wrong(r, field, WANT);
  pawl_event_rule *rules = pawl_arena_get(
      r->def, (size_t)pawl_json_count(list) * sizeof *rules + 1);
  if (!rules) return pawl_reader_nomem(r);
  *out = rules;
  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it);) {
    if (pawl_json_kind_of(it.value) != PAWL_JSON_OBJECT)
      return pawl_reader_wrong(r, field, WANT);
    MUST(pawl_reader_text(r, it.value, "event", &rules->event));
    MUST(pawl_reader_text(r, it.value, "key", &rules->key));
    if (!rules->event) return pawl_reader_wrong(r, field, WANT);
    rules++;
    *nout += 1;
  }
  return PAWL_OK;
}

#define END_NAME(name) #name,
const char *const pawl_retained_names[PAWL_NRETAINED] = {
    PAWL_RETAINED(END_NAME)};

static int said(pawl_str retain, const char *name) {
  pawl_str value;
  if (!retain.at || !pawl_json_get(retain, name, &value)) return -1;
  return pawl_json_kind_of(value) == PAWL_JSON_TRUE;
}

void pawl_retain_read(pawl_str retain, pawl_retain *out) {
  pawl_str us;

  out->archive = said(retain, "archive");
  out->keep_attributes = said(retain, "keep_attributes");
  for (int i = 0; i < PAWL_NRETAINED; i++) {
    out->us[i] = -1;
    if (retain.at && pawl_json_get(retain, pawl_retained_names[i], &us))
      (void)pawl_json_int(us, &out->us[i]);
  }
}

static pawl_code read_retain(pawl_reader *r, pawl_str graph) {
  pawl_str retain = {0};
  int64_t us = -1;
  int flag = 0;

  MUST(pawl_reader_json(r, graph, "retain", PAWL_JSON_OBJECT, PAWL_JSON_OBJECT,
                        "an object", &retain));
  for (int i = 0; i < PAWL_NRETAINED && retain.at; i++)
    MUST(pawl_reader_duration(r, retain, pawl_retained_names[i], 0, &us));
  if (retain.at) MUST(pawl_reader_flag(r, retain, "archive", &flag));
  if (retain.at) MUST(pawl_reader_flag(r, retain, "keep_attributes", &flag));
  pawl_retain_read(retain, &r->def->retain);
  r->def->retains = retain.at != NULL;
  return PAWL_OK;
}

static pawl_code read_on_failure(pawl_reader *r, pawl_str graph) {
  pawl_str given = {0};

  MUST(pawl_reader_json(r, graph, "on_failure", PAWL_JSON_OBJECT,
                        PAWL_JSON_OBJECT, "an object", &given));
  if (!given.at) return PAWL_OK;
  MUST(pawl_reader_text(r, given, "emit", &r->def->failure_emit));
  MUST(pawl_reader_text(r, given, "start", &r->def->failure_start));
  if (r->def->failure_emit || r->def->failure_start) return PAWL_OK;
  return pawl_reader_wrong(r, "on_failure",
                           "an object with `emit`, `start` or both");
}

static pawl_code read_version(pawl_reader *r, pawl_str graph) {
  pawl_str value;
  r->def->is_auto = pawl_json_get(graph, "version", &value) &&
                    pawl_str_eqz(value, "\"auto\"");
  if (r->def->is_auto) return PAWL_OK;
  return pawl_reader_count(r, graph, "version", INT64_MAX, &r->def->version);
}

static pawl_code read_graph(pawl_reader *r, pawl_str graph) {
  pawl_def *d = r->def;
  if (pawl_json_kind_of(graph) != PAWL_JSON_OBJECT)
    return pawl_reader_wrong(r, "graph", "an object");
  MUST(pawl_reader_line(r, graph, &d->line));
  MUST(pawl_reader_text(r, graph, "code", &d->code));
  if (!d->code) return pawl_reader_wrong(r, "code", "there");
  MUST(pawl_reader_text(r, graph, "name", &d->name));
  MUST(pawl_reader_text(r, graph, "description", &d->description));
  /* the check looks at what they say */
  (void)pawl_json_get(graph, "input", &d->input);
  (void)pawl_json_get(graph, "variables", &d->variables);
  MUST(pawl_reader_text(r, graph, "start", &d->start_name));
  if (!d->start_name) return pawl_reader_wrong(r, "start", "there");
  MUST(read_version(r, graph));
  MUST(pawl_reader_asked(r, graph, "deadline", 1, &d->deadline_us,
                         &d->has_deadline));
  MUST(pawl_reader_count(r, graph, "busy_limit", INT64_MAX, &d->busy_limit));
  MUST(pawl_reader_flag(r, graph, "compensate", &d->compensate));
  MUST(pawl_reader_flag(r, graph, "endless", &d->is_endless));
  MUST(read_retain(r, graph));
  MUST(pawl_reader_int(
      r, graph, "keep_history", PAWL_LEAST_HISTORY, PAWL_MOST_HISTORY,
      "an integer from 100 to 1000000: rows that stay", &d->keep_history));
  MUST(pawl_reader_durability(r, graph, &d->durability));
  MUST(read_on_failure(r, graph));
  MUST(pawl_reader_text(r, graph, "on_cancel", &d->on_cancel_name));
  MUST(read_rules(r, graph, "trigger", &d->triggers, &d->ntriggers));
  MUST(read_rules(r, graph, "cancel_on", &d->cancel_on, &d->ncancel_on));
  return read_nodes(r, graph);
}

/* ---- names to indices ---- */

typedef struct named {
  const char *name;
  int index;
} named;

static int by_name_then_index(const void *a, const void *b) {
  const named *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  if (order) return order;
  return x->index < y->index ? -1 : 1;
}

static pawl_code sort_names(pawl_reader *r) {
  pawl_def *d = r->def;
  size_t n = (size_t)d->nnodes;
  named *names = pawl_calloc(d->alloc, n * sizeof *names + 1);
  d->by_name = pawl_arena_get(d, n * sizeof *d->by_name + 1);
  if (!names || !d->by_name) {
    pawl_release(d->alloc, names, n * sizeof *names + 1);
    return pawl_reader_nomem(r);
  }
  for (size_t i = 0; i < n; i++) {
    names[i].name = d->nodes[i].name;
    names[i].index = (int)i;
  }
  qsort(names, n, sizeof *names, by_name_then_index);
  for (size_t i = 0; i < n; i++) d->by_name[i] = names[i].index;
  pawl_release(d->alloc, names, n * sizeof *names + 1);
  return PAWL_OK;
}

static int find_node(const pawl_def *d, const char *name) {
  return pawl_def_node(d, name, strlen(name));
}

/* What is on a node, in the order written. A node that may not have it has it
 * all the same, for the check to find. */
static pawl_code place_boundaries(pawl_reader *r) {
  pawl_def *d = r->def;

  for (int i = 0; i < d->nnodes; i++) {
    pawl_node *node = &d->nodes[i];
    if (!node->on) continue;
    d->has_boundaries = 1;
    node->host = find_node(d, node->on);
    if (node->host >= 0) d->nodes[node->host].nbeside++;
  }
  for (int i = 0; d->has_boundaries && i < d->nnodes; i++) {
    pawl_node *node = &d->nodes[i];
    if (!node->nbeside) continue;
    node->beside =
        pawl_arena_get(d, (size_t)node->nbeside * sizeof *node->beside);
    if (!node->beside) return pawl_reader_nomem(r);
    node->nbeside = 0; /* so many are in there */
  }
  for (int i = 0; d->has_boundaries && i < d->nnodes; i++) {
    if (d->nodes[i].host < 0) continue;
    pawl_node *host = &d->nodes[d->nodes[i].host];
    host->beside[host->nbeside++] = i;
  }
  return PAWL_OK;
}

static void resolve(pawl_def *d) {
  d->start = find_node(d, d->start_name);
  d->on_cancel = d->on_cancel_name ? find_node(d, d->on_cancel_name) : -1;
  for (int i = 0; i < d->nnodes; i++) {
    pawl_node *node = &d->nodes[i];
    for (int k = 0; k < node->nnext; k++)
      node->next[k].to = find_node(d, node->next[k].target);
    for (int k = 0; k < node->non_error; k++)
      node->on_error[k].to = find_node(d, node->on_error[k].target);
    if (node->branch_name) node->branch = find_node(d, node->branch_name);
    d->has_conditions |= node->has_condition;
    d->has_undo_nodes |= node->kind == PAWL_KIND_UNDO;
  }
}

static int can_receive(const pawl_def *d) {
  for (int i = 0; i < d->nnodes; i++)
    if (pawl_kind_shapes[d->nodes[i].kind].receives ||
        pawl_node_listens(&d->nodes[i], PAWL_EAR_MOVE))
      return 1;
  return d->ncancel_on > 0;
}

/* Room for what the check finds out: a row of bits for each join. */
static pawl_code number_joins(pawl_reader *r) {
  pawl_def *d = r->def;
  size_t n = 0, row = ((size_t)d->nnodes + 7) / 8;
  for (int i = 0; i < d->nnodes; i++)
    if (d->nodes[i].kind == PAWL_KIND_JOIN) d->nodes[i].join_row = (int)n++;
  if (n == 0) return PAWL_OK;
  d->meets = pawl_arena_get(d, n * row);
  return d->meets ? PAWL_OK : pawl_reader_nomem(r);
}

/* ---- checksum ---- */

typedef struct module {
  pawl_str name;
  pawl_str text; /* JSON string */
} module;

static int by_module_name(const void *a, const void *b) {
  const module *x = a, *y = b;
  return pawl_str_cmp(x->name, y->name);
}

static void hash_unquoted(pawl_reader *r, pawl_sha256 *sha, pawl_str quoted) {
  pawl_buf_clear(&r->text);
  pawl_json_unquote(quoted, &r->text);
  pawl_sha256_add(sha, r->text.at ? r->text.at : "", r->text.len);
  pawl_sha256_add(sha, "", 1); /* the zero byte that ends it */
}

/* Name, zero byte, text, zero byte, in the order of names. Names are compared
 * and written as they stand in JSON: escapes in module names do not occur. */
static pawl_code hash_bundle(pawl_reader *r, pawl_sha256 *sha) {
  pawl_str bundle = r->def->bundle;
  size_t n = (size_t)pawl_json_count(bundle), size = n * sizeof(module) + 1;
  module *modules = pawl_calloc(r->def->alloc, size);
  size_t i = 0;
  if (!modules) return pawl_reader_nomem(r);
  for (pawl_json_iter it = {0}; pawl_json_walk(bundle, &it);) {
    modules[i].name = it.key;
    modules[i++].text = it.value;
  }
  qsort(modules, n, sizeof *modules, by_module_name);
  for (i = 0; i < n; i++) {
    pawl_sha256_add(sha, modules[i].name.at, modules[i].name.len);
    pawl_sha256_add(sha, "", 1);
    hash_unquoted(r, sha, modules[i].text);
  }
  pawl_release(r->def->alloc, modules, size);
  return pawl_buf_check(&r->text, r->err);
}

/* An object's members without "line"; those of "nodes" likewise. Moving a
 * workflow within its file is no new version of it. */
static void hash_graph(pawl_sha256 *sha, pawl_str object) {
  for (pawl_json_iter it = {0}; pawl_json_walk(object, &it);) {
    if (pawl_str_eqz(it.key, "line")) continue;
    pawl_sha256_add(sha, it.key.at, it.key.len);
    pawl_sha256_add(sha, "", 1);
    if (pawl_str_eqz(it.key, "nodes")) {
      for (pawl_json_iter nodes = {0}; pawl_json_walk(it.value, &nodes);)
        hash_graph(sha, nodes.value);
    } else {
      pawl_sha256_add(sha, it.value.at, it.value.len);
    }
    pawl_sha256_add(sha, "", 1);
  }
}

static pawl_code checksum(pawl_reader *r) {
  pawl_def *d = r->def;
  unsigned char digest[32];
  pawl_sha256 sha;
  pawl_code rc = PAWL_OK;
  pawl_sha256_init(&sha);
  if (d->is_inline) {
    hash_graph(&sha, d->graph);
  } else {
    pawl_sha256_add(&sha, d->source.at, d->source.len);
    rc = hash_bundle(r, &sha);
  }
  pawl_sha256_end(&sha, digest);
  pawl_sha256_hex(digest, d->sha256);
  return rc;
}

/* ---- a definition ---- */

static pawl_code check_bundle(pawl_reader *r, pawl_str bundle) {
  pawl_code rc = pawl_json_check(bundle, NULL, r->err);
  if (rc != PAWL_OK) {
    pawl_error_prefix(r->err, "%s: bundle", r->def->file);
    return rc;
  }
  if (pawl_json_kind_of(bundle) != PAWL_JSON_OBJECT)
    return pawl_reader_wrong(r, "bundle", "an object");
  for (pawl_json_iter it = {0}; pawl_json_walk(bundle, &it);)
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING)
      return pawl_reader_wrong(r, "bundle", "an object of source texts");
  return PAWL_OK;
}

static pawl_code take_texts(pawl_reader *r, const char *file, pawl_str graph,
                            pawl_str source, pawl_str bundle) {
  pawl_def *d = r->def;
  if (!bundle.at || bundle.len == 0) bundle = pawl_strz("{}");
  MUST(pawl_reader_copy(r, pawl_strz(file ? file : "?"), &d->file));
  MUST(pawl_json_check(graph, NULL, r->err));
  MUST(check_bundle(r, bundle));
  MUST(pawl_reader_str(r, graph, &d->graph));
  MUST(pawl_reader_str(r, bundle, &d->bundle));
  d->is_inline = source.at == NULL;
  if (!d->is_inline) MUST(pawl_reader_str(r, source, &d->source));
  return PAWL_OK;
}

pawl_code pawl_def_new(const char *file, pawl_str graph, pawl_str source,
                       pawl_str bundle, const pawl_alloc *alloc,
                       pawl_def **out, pawl_error *err) {
  pawl_code rc;
  pawl_reader r = {
      .err = err, .what = "the workflow", .text = {.alloc = alloc}};
  pawl_def *d = r.def = pawl_calloc(alloc, sizeof *d);
  if (!d) return pawl_reader_nomem(&r);
  d->alloc = alloc;
  d->file = file;
  d->name = d->description = "";
  d->version = 1;
  d->host_ref = -1;
  d->deadline_us = -1;
  d->compensate = 1;
  TRY(pawl_arena_new(&r));
  TRY(take_texts(&r, file, graph, source, bundle));
  TRY(read_graph(&r, d->graph));
  TRY(sort_names(&r));
  resolve(d);
  TRY(place_boundaries(&r));
  d->can_receive = can_receive(d);
  TRY(number_joins(&r));
  TRY(checksum(&r));
  *out = d;
  d = NULL;
out:
  pawl_buf_deinit(&r.text);
  pawl_def_free(d);
  return rc;
}

pawl_code pawl_def_copy(pawl_def *d, pawl_str text, const char **out,
                        pawl_error *err) {
  pawl_reader r = {.def = d, .err = err, .what = "the workflow"};
  return pawl_reader_copy(&r, text, out);
}

/* An inline one's checksum is of its graph, number included: as if its author
 * had written it there. */
pawl_code pawl_def_number(pawl_def *d, int64_t version, pawl_error *err) {
  pawl_reader r = {.def = d,
                   .err = err,
                   .what = "the workflow",
                   .text = {.alloc = d->alloc}};
  pawl_buf graph = {.alloc = d->alloc};
  pawl_str before = d->graph, value = {NULL, 0};
  pawl_code rc = PAWL_OK;

  assert(d->is_auto && version > 0);
  if (!pawl_json_get(before, "version", &value)) return PAWL_OK;
  const char *behind = value.at + value.len;
  pawl_buf_add(&graph, before.at, (size_t)(value.at - before.at));
  pawl_buf_addi(&graph, version);
  pawl_buf_add(&graph, behind, (size_t)(before.at + before.len - behind));
  TRY(pawl_buf_check(&graph, err));
  TRY(pawl_reader_str(&r, pawl_buf_str(&graph), &d->graph));
  d->version = version;
  TRY(checksum(&r));
out:
  pawl_buf_deinit(&graph);
  pawl_buf_deinit(&r.text);
  return rc;
}

/* ---- asking ---- */

/* Orders a zero-terminated name against (text, len). */
static int compare(const char *name, const char *text, size_t len) {
  int order = strncmp(name, text, len);
  return order ? order : name[len] != 0;
}

int pawl_def_has_undo(const pawl_def *def) {
  for (int i = 0; i < def->nnodes; i++)
    if (def->nodes[i].has_undo) return 1;
  return 0;
}

int pawl_def_node(const pawl_def *def, const char *name, size_t len) {
  int low = 0, high = def->nnodes; /* the first not below `name` */
  if (!def->by_name || !len || memchr(name, 0, len)) return -1;
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (compare(def->nodes[def->by_name[mid]].name, name, len) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == def->nnodes) return -1;
  if (compare(def->nodes[def->by_name[low]].name, name, len) != 0) return -1;
  return def->by_name[low];
}

int pawl_def_node_at(const pawl_def *def, const char *name, int *at) {
  if (*at >= 0 && *at < def->nnodes &&
      (def->nodes[*at].name == name || !strcmp(def->nodes[*at].name, name)))
    return *at;
  int found = pawl_def_node(def, name, strlen(name));
  if (found >= 0) *at = found;
  return found;
}

static int find_edge(const pawl_edge *edges, int n, const char *name,
                     size_t len) {
  for (int i = 0; i < n; i++)
    if (strlen(edges[i].name) == len && memcmp(edges[i].name, name, len) == 0)
      return edges[i].to;
  return -1;
}

int pawl_node_next(const pawl_node *node, const char *name, size_t len) {
  if (!name) name = "", len = 0;
  return find_edge(node->next, node->nnext, name, len);
}

int pawl_node_names_error(const pawl_node *node, const char *code) {
  return find_edge(node->on_error, node->non_error, code, strlen(code)) >= 0;
}

int pawl_node_on_error(const pawl_node *node, const char *code) {
  int to = find_edge(node->on_error, node->non_error, code, strlen(code));
  if (to < 0) to = find_edge(node->on_error, node->non_error, "*", 1);
  return to;
}

/* Marks what a branch of `each` can come to, without the each itself. */
static void mark_branch(const pawl_def *def, int each, int *queue,
                        unsigned char *mark) {
  int n = 0, to;

  queue[n++] = def->nodes[each].branch;
  mark[queue[0]] = 1;
  for (int at = 0; at < n; at++)
    for (int i = 0; (to = pawl_node_target(&def->nodes[queue[at]], i)) >= 0;
         i++) {
      if (to == each || mark[to]) continue;
      mark[to] = 1;
      queue[n++] = to;
    }
}

int pawl_def_each_around(const pawl_def *def, int node) {
  size_t n = (size_t)def->nnodes, size = n * (sizeof(int) + 1);
  int found = -1, at = node, *queue = NULL;

  for (int i = 0; at >= 0 && i < def->nnodes; i++) {
    const pawl_node *each = &def->nodes[i];
    if (i == at || each->kind != PAWL_KIND_EACH || each->branch < 0) continue;
    if (!queue) queue = pawl_calloc(def->alloc, size);
    if (!queue) return -1;
    unsigned char *mark = (unsigned char *)(queue + n);
    memset(mark, 0, n);
    mark_branch(def, i, queue, mark);
    if (!mark[at]) continue;
    found = at = i; /* it may be in the branch of another */
    i = -1;
  }
  pawl_release(def->alloc, queue, size);
  return found;
}
