/* base/fault.h: named points where tests make the program die or lose its
 * connection. Built in only with -DPAWL_TESTING; otherwise nothing is there.
 *
 * PAWL_FAULT="commit.before=kill@3,commit.sent=drop@1": at the third passage
 * of commit.before the process kills itself (SIGKILL); at the first of
 * commit.sent the caller is told to drop its connection; `int` and `term` send
 * the process those signals. "engine.act.send=call" lets the test itself do
 * something there, as others do in the meantime. */
#ifndef PAWL_BASE_FAULT_H
#define PAWL_BASE_FAULT_H

enum { PAWL_FAULT_NONE, PAWL_FAULT_DROP, PAWL_FAULT_FAIL };

#ifdef PAWL_TESTING
int pawl_fault_at(const char *point);
/* Replaces what the environment said; NULL: no faults. For specs. */
void pawl_fault_set(const char *spec);
/* What `call` calls, with the point's name. */
void pawl_fault_hook(void (*hook)(const char *point));
#define PAWL_FAULT(point) pawl_fault_at(point)
#else
#define PAWL_FAULT(point) PAWL_FAULT_NONE
#endif

#endif
