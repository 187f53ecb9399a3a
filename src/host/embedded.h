/* host/embedded.h: the Lua modules inside the program.
 *
 * Each is there as its text, and as what the Lua that built the program made
 * of it, with the names and lines that error messages tell: a sixth of the
 * work to load.
 *
 * Layer    of the host, and of the command's shell; includes lua.h in its .c
 *          file.
 * Keeps    B2 compiled code is only for a Lua of the release that made it,
 *          which checks format, byte order and sizes besides. For any other,
 *          and where compiled code is damaged in front, there is the text. */
#ifndef PAWL_HOST_EMBEDDED_H
#define PAWL_HOST_EMBEDDED_H

struct lua_State;
struct pawl_lua_source; /* pawl_lua.h, made by sql/embed.lua */

/* Lets `require` find all that the library has: fills package.preload. Raises
 * errors of memory. */
void pawl_embedded_preload(struct lua_State *L);
/* The same of others, as the command's own are. They have to stay. */
void pawl_embedded_add(struct lua_State *L,
                       const struct pawl_lua_source *sources, int n);
/* Runs the module and pushes what it returns; raises. It is `require` that
 * runs one only once. */
void pawl_embedded_run(struct lua_State *L, const char *module);
/* Leaves its main function on top of the stack; raises. */
void pawl_embedded_load(struct lua_State *L,
                        const struct pawl_lua_source *source);

#endif
