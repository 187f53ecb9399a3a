/* defs/registry.h: the definitions this engine has, and what it serves.
 *
 * Owns     the definitions added to it.
 * Keeps    R9 what is undone leaves what was found before: of each code and
 *             version the definition that was there, or none. */
#ifndef PAWL_DEFS_REGISTRY_H
#define PAWL_DEFS_REGISTRY_H

#include "def.h"

typedef struct pawl_registry pawl_registry;

pawl_code pawl_registry_new(const pawl_alloc *alloc, pawl_registry **out,
                            pawl_error *err);
void pawl_registry_free(pawl_registry *r);
/* Takes `def`; one of the same code and version is replaced, and the old one
 * kept until the registry is freed (an instance may be running it). `loaded`:
 * given to this engine by its user, rather than read from the store. On
 * failure `def` is still the caller's. */
pawl_code pawl_registry_take(pawl_registry *r, pawl_def *def, int loaded,
                             pawl_error *err);
/* From now on what is taken can be undone: all that comes behind this mark. */
int pawl_registry_mark(pawl_registry *r);
/* The last that was taken behind `mark` is out of it, and the caller's; NULL:
 * there is none left. */
pawl_def *pawl_registry_undo(pawl_registry *r, int mark);
/* What was taken stays for good. */
void pawl_registry_settle(pawl_registry *r);
/* NULL when it is not there. version 0: the highest loaded. *loaded (may be
 * NULL) tells whether its user loaded it. */
pawl_def *pawl_registry_find(const pawl_registry *r, const char *code,
                             size_t len, int64_t version, int *loaded);
/* The i-th definition in use, or NULL past the end. */
pawl_def *pawl_registry_at(const pawl_registry *r, int i);
/* Does the list "billing.,media." (NULL or "": everything) serve this code?
 * Plain prefixes, byte by byte: '_' and '%' are ordinary characters. */
int pawl_prefixes_match(const char *prefixes, const char *code, size_t len);

#endif
