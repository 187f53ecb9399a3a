/* base/nearest.h: which known word was meant: "did you mean".
 *
 * The same rule as lua/pawl/nearest.lua: at most a third of the word's letters
 * may differ, but always one; case does not count; words of more than 64
 * bytes are nobody's slip. */
#ifndef PAWL_BASE_NEAREST_H
#define PAWL_BASE_NEAREST_H

/* The name of `names` nearest to `name`, of equals the first; NULL when none
 * is near. */
const char *pawl_nearest(const char *name, const char *const *names, int n);

#endif
