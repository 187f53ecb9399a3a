#include "results.h"

#include <assert.h>
#include <stdalign.h>

#include "failure.h"

/* A unit's rows are a few KB as a rule. What a large one took is given back
 * at the next clear; and all of it once there was no memory for more. */
#define BLOCK_BYTES ((size_t)16 * 1024)
#define KEEP_BYTES ((size_t)1024 * 1024)

struct pawl_arena_block {
  pawl_arena_block *next;
  size_t size, used; /* of bytes */
  alignas(max_align_t) char bytes[];
};

static size_t block_size(size_t bytes) {
  return sizeof(pawl_arena_block) + bytes;
}

static pawl_arena_block *arena_grow(pawl_arena *a, size_t size) {
  size_t bytes = a->at ? a->at->size * 2 : BLOCK_BYTES;
  if (bytes > KEEP_BYTES) bytes = KEEP_BYTES;
  if (bytes < size) bytes = size;
  pawl_arena_block *block = pawl_realloc(a->alloc, NULL, 0, block_size(bytes));
  if (!block) {
    a->is_short = 1;
    return NULL;
  }
  block->size = bytes;
  block->used = 0;
  block->next = a->at ? a->at->next : NULL;
  if (a->at)
    a->at->next = block;
  else
    a->first = block;
  a->at = block;
  return block;
}

static void *arena_take(pawl_arena *a, size_t size) {
  size_t align = alignof(max_align_t);
  size = (size + align - 1) & ~(align - 1);
  while (a->at && a->at->size - a->at->used < size && a->at->next)
    a->at = a->at->next;
  pawl_arena_block *block = a->at;
  if (!block || block->size - block->used < size)
    if (!(block = arena_grow(a, size))) return NULL;
  void *at = block->bytes + block->used;
  block->used += size;
  return at;
}

static void arena_clear(pawl_arena *a, size_t keep_bytes) {
  pawl_arena_block **link = &a->first;
  size_t kept = 0;
  while (*link) {
    pawl_arena_block *block = *link;
    block->used = 0;
    kept += block->size;
    if (kept > keep_bytes) {
      kept -= block->size;
      *link = block->next;
      pawl_release(a->alloc, block, block_size(block->size));
    } else {
      link = &block->next;
    }
  }
  a->at = a->first;
}

void pawl_results_init(pawl_results *r, const pawl_alloc *alloc) {
  *r = (pawl_results){.arena = {.alloc = alloc}};
}

static void release_open(pawl_results *r) {
  pawl_release(r->arena.alloc, r->open, r->open_cap * sizeof *r->open);
  r->open = NULL;
  r->open_cap = 0;
}

void pawl_results_deinit(pawl_results *r) {
  const pawl_alloc *alloc = r->arena.alloc;
  arena_clear(&r->arena, 0);
  release_open(r);
  pawl_release(alloc, r->rows, (size_t)r->cap * sizeof *r->rows);
  pawl_results_init(r, alloc);
}

void pawl_results_clear(pawl_results *r) {
  const size_t keep_bytes = r->arena.is_short ? 0 : KEEP_BYTES;
  arena_clear(&r->arena, keep_bytes);
  if (r->open_cap * sizeof *r->open > keep_bytes) release_open(r);
  r->arena.is_short = 0;
  r->n = 0;
  r->nopen = 0;
}

pawl_code pawl_results_begin(pawl_results *r, pawl_stmt stmt, int ncols,
                             pawl_error *err) {
  if (!PAWL_ROOM(r->arena.alloc, r->rows, r->n, r->cap))
    return pawl_failure_memory(err);
  r->rows[r->n++] = (pawl_rows){.stmt = stmt, .ncols = ncols};
  r->nopen = 0;
  return PAWL_OK;
}

int pawl_results_ncols(const pawl_results *r) {
  assert(r->n > 0);
  return r->rows[r->n - 1].ncols;
}

pawl_cell *pawl_results_row(pawl_results *r) {
  assert(r->n > 0);
  pawl_rows *rows = &r->rows[r->n - 1];
  size_t want = r->nopen + (size_t)rows->ncols;
  if (want > r->open_cap || !r->open) {
    size_t cap = r->open_cap ? r->open_cap * 2 : 256;
    while (cap < want) cap *= 2;
    void *cells =
        pawl_realloc(r->arena.alloc, r->open, r->open_cap * sizeof *r->open,
                     cap * sizeof *r->open);
    if (!cells) {
      r->arena.is_short = 1;
      return NULL;
    }
    r->open = cells;
    r->open_cap = cap;
  }
  pawl_cell *row = r->open + r->nopen;
  for (int i = 0; i < rows->ncols; i++) row[i] = (pawl_cell){.is_null = 1};
  r->nopen = want;
  rows->nrows++;
  return row;
}

pawl_str pawl_results_copy(pawl_results *r, const void *bytes, size_t len) {
  char *at = arena_take(&r->arena, len + 1);
  if (!at) return (pawl_str){NULL, 0};
  if (len > 0) memcpy(at, bytes, len);
  at[len] = 0;
  return (pawl_str){at, len};
}

pawl_code pawl_results_end(pawl_results *r, int64_t changed, pawl_error *err) {
  pawl_rows *rows = &r->rows[r->n - 1];
  assert(r->n > 0 && r->nopen == (size_t)rows->nrows * (size_t)rows->ncols);
  rows->changed = changed;
  if (r->nopen == 0) return PAWL_OK;
  size_t size = r->nopen * sizeof *r->open;
  pawl_cell *cells = arena_take(&r->arena, size);
  if (!cells) return pawl_failure_memory(err);
  memcpy(cells, r->open, size);
  rows->cells = cells;
  r->nopen = 0;
  return PAWL_OK;
}

void pawl_results_get(const pawl_results *r, int k, pawl_rows *out) {
  assert(k >= 0 && k < r->n);
  *out = r->rows[k];
}

void pawl_answer_init(pawl_answer *a, const pawl_alloc *alloc) {
  pawl_results_init(&a->results, alloc);
  a->names.alloc = a->types.alloc = alloc;
}

void pawl_answer_deinit(pawl_answer *a) {
  pawl_results_deinit(&a->results);
  pawl_buf_deinit(&a->names);
  pawl_buf_deinit(&a->types);
}

void pawl_answer_clear(pawl_answer *a) {
  pawl_results_clear(&a->results);
  pawl_buf_clear(&a->names);
  pawl_buf_clear(&a->types);
}

pawl_code pawl_answer_column(pawl_answer *a, const char *name, pawl_type type,
                             pawl_error *err) {
  pawl_buf_add(&a->names, &name, sizeof name);
  pawl_buf_add(&a->types, &type, sizeof type);
  return a->names.failed || a->types.failed ? pawl_failure_memory(err)
                                            : PAWL_OK;
}

void pawl_answer_get(const pawl_answer *a, pawl_query *out) {
  pawl_results_get(&a->results, 0, &out->rows);
  out->names = (const char *const *)(void *)a->names.at;
  out->col_types = (const pawl_type *)(void *)a->types.at;
}
