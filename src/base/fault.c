#define _POSIX_C_SOURCE 200809L /* raise, threads */
#include "fault.h"

#ifdef PAWL_TESTING

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL (-1)
#define RAISE(number) (-2 - (number)) /* it is its own inverse */
#define MAX_FAULTS 16

typedef struct fault {
  char point[48];
  int action;    /* CALL, RAISE or PAWL_FAULT_DROP, _FAIL */
  long at, seen; /* happens at this passage; passages so far */
} fault;

/* Points are passed by helper threads, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fault faults[MAX_FAULTS];
static int nfaults;
static int is_set;
static void (*called)(const char *point);

/* A fault that never happens would make its spec pass for nothing. */
static void reject(const char *spec, const char *why) {
  fprintf(stderr,
          "pawl: PAWL_FAULT: %s at \"%s\"; "
          "write point=kill|int|term|drop|fail|call[@passage],...\n",
          why, spec);
  abort();
}

static int action_named(const char *name, size_t len) {
  static const struct {
    const char *name;
    int action;
  } actions[] = {{"kill", RAISE(SIGKILL)},  {"int", RAISE(SIGINT)},
                 {"term", RAISE(SIGTERM)},  {"call", CALL},
                 {"drop", PAWL_FAULT_DROP}, {"fail", PAWL_FAULT_FAIL}};

  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    if (strlen(actions[i].name) == len && !memcmp(actions[i].name, name, len))
      return actions[i].action;
  return PAWL_FAULT_NONE;
}

/* "commit.before=kill@3", of len bytes. */
static void add_fault(const char *spec, size_t len) {
  fault *f = &faults[nfaults];
  size_t point = strcspn(spec, "=,"), action;

  if (point == 0 || point >= len || spec[point] != '=')
    reject(spec, "no action");
  if (point >= sizeof f->point) reject(spec, "a point's name too long");
  if (nfaults == MAX_FAULTS) reject(spec, "too many faults");
  memset(f, 0, sizeof *f);
  memcpy(f->point, spec, point);
  const char *rest = spec + point + 1;
  action = strcspn(rest, "@,");
  f->action = action_named(rest, action);
  if (f->action == PAWL_FAULT_NONE) reject(rest, "an unknown action");
  f->at = 1;
  if (rest[action] == '@') {
    char *end;
    f->at = strtol(rest + action + 1, &end, 10);
    if (f->at < 1 || end != spec + len) reject(rest, "no such passage");
  }
  nfaults++;
}

static void set_faults(const char *spec) {
  nfaults = 0;
  is_set = 1;
  while (spec && *spec) {
    size_t len = strcspn(spec, ",");
    add_fault(spec, len);
    spec += len + (spec[len] == ',');
  }
}

/* It may set other faults, and pass other points: no lock is held. */
static int call(const char *point) {
  if (called) called(point);
  return PAWL_FAULT_NONE;
}

int pawl_fault_at(const char *point) {
  int i, action = PAWL_FAULT_NONE;

  pthread_mutex_lock(&lock);
  if (!is_set) set_faults(getenv("PAWL_FAULT"));
  for (i = 0; i < nfaults; i++) {
    fault *f = &faults[i];
    if (strcmp(f->point, point) != 0) continue;
    if (++f->seen == f->at) action = f->action;
  }
  pthread_mutex_unlock(&lock);
  if (action == CALL) return call(point);
  if (action >= PAWL_FAULT_NONE) return action;
  raise(RAISE(action));
  return PAWL_FAULT_NONE;
}

void pawl_fault_hook(void (*hook)(const char *point)) {
  called = hook;
}

void pawl_fault_set(const char *spec) {
  pthread_mutex_lock(&lock);
  set_faults(spec);
  pthread_mutex_unlock(&lock);
}

#endif
