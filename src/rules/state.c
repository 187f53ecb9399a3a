#include "state.h"

static const char *const names[PAWL_NSTATUSES] = {
#define STATUS_NAME(name, text) [PAWL_STATUS_##name] = text,
    PAWL_STATUSES(STATUS_NAME)
#undef STATUS_NAME
};

#define BIT(s) (1u << PAWL_STATUS_##s)
#define ENDS (BIT(COMPLETED) | BIT(FAILED) | BIT(CANCELLED))

/* Row: from; bits: where to. */
static const unsigned moves[PAWL_NSTATUSES] = {
    [PAWL_STATUS_CREATED] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    [PAWL_STATUS_RUNNING] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    [PAWL_STATUS_WAITING] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    [PAWL_STATUS_SUSPENDED] =
        BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED) | ENDS,
    /* E1: only a retry or a restart brings an ended one back; what leaves it
     * as it is is no move */
    [PAWL_STATUS_COMPLETED] = BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED),
    [PAWL_STATUS_FAILED] = BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED),
    [PAWL_STATUS_CANCELLED] = BIT(RUNNING) | BIT(WAITING) | BIT(SUSPENDED),
};

const char *pawl_status_name(pawl_status s) {
  return names[s];
}

int pawl_status_parse(pawl_str text, pawl_status *out) {
  for (int i = 0; i < PAWL_NSTATUSES; i++) {
    if (pawl_str_eqz(text, names[i])) {
      *out = (pawl_status)i;
      return 1;
    }
  }
  return 0;
}

int pawl_status_has_ended(pawl_status s) {
  return (ENDS >> s) & 1u;
}

int pawl_status_may_move(pawl_status from, pawl_status to) {
  return (moves[from] >> to) & 1u;
}
