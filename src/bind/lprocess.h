/* bind/lprocess.h: worker processes, for the command alone.
 *
 * A supervisor starts its own program again, with its own arguments, so that
 * a child shares no store, no Lua state and no thread with it. A child's
 * output comes through pipes, for lines not to mix. It ends when its
 * supervisor has died, too (Linux: PR_SET_PDEATHSIG). */
#ifndef PAWL_BIND_LPROCESS_H
#define PAWL_BIND_LPROCESS_H

#include <lua.h>

/* The signal that asks a child for a clean stop, as often as it likes: who
 * stops a whole group of processes has sent the child a SIGTERM already. */
#include <signal.h>
#define PAWL_STOP_SIGNAL SIGUSR1

/* What to start again; kept. From main, before anything else. */
void pawl_process_take_arguments(char **argv);
/* Adds its functions to the table on top of the stack. */
void pawl_process_open(lua_State *L);
/* Pushes nil and what errno says: how many values. */
int pawl_push_errno(lua_State *L);

#endif
