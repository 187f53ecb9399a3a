/* engine/ask/filter.h: which instances are meant: the one form for lists,
 * counts, groups and bulk acts, read and checked, with what follows from it.
 *
 * Shape    as pawl_list has it in pawl.h. Ids are between `low` and `high`;
 *          times that are given bound them first, as ids begin with the time at
 *          which they were drawn.
 * Errors   PAWL_INVALID with the option as its `where`; those of a read, as ends
 *          of ids are looked up.
 * Owns     its texts; a copy borrows them. */
#ifndef PAWL_ENGINE_ASK_FILTER_H
#define PAWL_ENGINE_ASK_FILTER_H

#include "../../rules/state.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "ask.h"
#include "condition.h"
#include "ranges.h"
#include "sorted.h"

#define PAWL_ALL_STATUSES ((1u << PAWL_NSTATUSES) - 1)

/* `sort`. By the first two: by ids. */
enum {
  PAWL_SORT_NEWEST,
  PAWL_SORT_OLDEST,
  PAWL_SORT_CREATED,
  PAWL_SORT_UPDATED,
  PAWL_SORT_COMPLETED,
  PAWL_SORT_DUE,
  PAWL_NSORTS
};

/* How a compensation stands, or has ended, as it is stored (rules/stored.c). */
enum { PAWL_NUNDONE = 5 };
extern const char *const pawl_undone_names[PAWL_NUNDONE];

/* `before`, `after`, `parent` and `root` may be given as the ends of ids: what
 * they mean is in the members beside. */
typedef struct pawl_filter {
  uint64_t given;
  unsigned statuses;     /* bits of pawl_standing, as asked for */
  unsigned compensation; /* bits of UNDONE */
  pawl_buf workflow, tenant, correlation, business_key, key, group, node,
      error, error_code, cancelled_by;
  pawl_buf before_id, after_id, parent_id, root_id; /* or ends of them */
  int64_t version, limit;
  int64_t created_after, created_before, started_after, started_before,
      updated_after, updated_before, completed_after, completed_before,
      due_before, deadline_before;
  pawl_str attributes;
  int sort; /* the one of SORTS */
  int reverse;
  int group_by; /* the one of pawl_group_names; -1: not asked for */
  int deleted, archived;
  int leased, halted; /* -1: whether or not */
  int waits;
  /* what follows from those */
  int has_before, has_after, has_parent, has_root;
  pawl_id before, after, parent, root;
  pawl_id low, high;    /* between those, neither of them */
  int up;               /* those nearest to `low`, else to `high` */
  pawl_moment from, to; /* the same by a time */
  pawl_buf business_from, business_to, error_text, message_text, code_text,
      code_from, code_to, by_text, undone, stored;
  pawl_conditions conditions;
  int brief;   /* no more than what a walk goes by */
  int counted; /* nor that: how many there are */
  int whole;   /* not those that were purged but for their attributes */
  int few;     /* are of its statuses */
  int none;    /* can there be: nothing need be looked for */
} pawl_filter;

/* Then limit, and whatever else is to be so unless it is asked for otherwise. */
void pawl_filter_init(pawl_engine *e, pawl_filter *f);
void pawl_filter_deinit(pawl_filter *f);
pawl_code pawl_filter_read(pawl_engine *e, pawl_str text, pawl_filter *f,
                           pawl_error *err);
/* The same with what one page may have as its limit at most. */
pawl_code pawl_filter_read_page(pawl_engine *e, pawl_str text, pawl_filter *f,
                                pawl_error *err);

/* ---- what only another verb can be asked for ---- */

/* Not by groups. */
pawl_code pawl_filter_check_whole(const pawl_filter *f, pawl_error *err);
/* Nor in an order: all are meant. */
pawl_code pawl_filter_check_all(const pawl_filter *f, pawl_error *err);
/* Anything at all. */
pawl_code pawl_filter_check_given(const pawl_filter *f, pawl_error *err);

/* ---- what follows ---- */

const char *pawl_filter_sort_name(const pawl_filter *f);
const char *pawl_filter_group_name(const pawl_filter *f); /* "": none */
/* Bits of the statuses that are stored for those asked for. */
unsigned pawl_filter_stored(const pawl_filter *f);
/* Of one that was read: these statuses are asked for no more. */
void pawl_filter_leave_out(pawl_filter *f, unsigned statuses);
/* Created alone: 0; running alone: 1; else PAWL_NULL. */
int64_t pawl_filter_begun(const pawl_filter *f);
/* Is a group asked for that has a name, by which it is found? */
int pawl_filter_is_grouped(const pawl_filter *f);
/* Which word it is found by; NULL: none. */
const char *pawl_filter_found_by(const pawl_filter *f);
/* The same by the agenda, or by deadlines, and the rows that are read: before
 * that time. */
const char *pawl_filter_time_by(const pawl_filter *f);
int64_t pawl_filter_time_until(pawl_engine *e, const pawl_filter *f);
/* Are they told apart by a time, and not by their ids? */
int pawl_filter_is_by_time(const pawl_filter *f);
int pawl_filter_is_ascending(const pawl_filter *f); /* the earliest first */
/* Is nothing given but what counters tell apart? */
int pawl_filter_is_plain(const pawl_filter *f);
/* The next page begins behind that instance. */
void pawl_filter_pass(pawl_filter *f, pawl_id last);

/* Does a counter count such ones? `statuses`: bits. `version` 0: any. */
int pawl_counter_is_of(const pawl_counter_read_row *row, unsigned statuses,
                       int64_t version);

#endif
