/* rules/state.h: how an instance stands, and which move of its status is
 * legal, as one table.
 *
 * A decision begins with a copy of what is stored and changes that; what is to
 * be written is where the two differ; once it is stored they change places.
 * A member is one line of a list below: nothing that copies, compares or
 * frees can forget it.
 *
 * Layer    rules: base and defs only. Docs and specs are made from the lists.
 * Owns     its buffers. Names of nodes are borrowed: they live as long as the
 *          engine.
 * Keeps    E1 an ended instance changes only when somebody asks for it: a retry
 *             or a restart brings it back; a transfer to another version leaves
 *             its status as it is, and is written apart (a plan that `stays`).
 *
 * `created` is stored as `running` without a start time, so that the first
 * commit of an instance changes no indexed column. */
#ifndef PAWL_RULES_STATE_H
#define PAWL_RULES_STATE_H

#include "../base/clock.h"
#include "marks.h"
#include "token.h"

/* clang-format off */
#define PAWL_STATUSES(X)                                            \
  X(CREATED, "created") X(RUNNING, "running") X(WAITING, "waiting") \
  X(SUSPENDED, "suspended") X(COMPLETED, "completed")               \
  X(FAILED, "failed") X(CANCELLED, "cancelled")
/* clang-format on */

typedef enum pawl_standing {
#define PAWL_STATUS_ENUM(name, text) PAWL_STATUS_##name,
  PAWL_STATUSES(PAWL_STATUS_ENUM)
#undef PAWL_STATUS_ENUM
      PAWL_NSTATUSES
} pawl_standing;

extern const char *const pawl_status_names[PAWL_NSTATUSES];
const char *pawl_status_name(pawl_standing s);
/* 0 when the text names no status. */
int pawl_status_parse(pawl_str text, pawl_standing *out);
int pawl_status_has_ended(pawl_standing s);
/* May an instance go from one status to the other in one commit? */
int pawl_status_may_become(pawl_standing from, pawl_standing to);

/* ---- compensation ---- */

/* What was done is undone, newest first: what of that is recorded. Compensation
 * is a plan that history has; this says how far down it is. */
typedef enum pawl_undo_status {
  PAWL_UNDO_NONE,
  PAWL_UNDO_PLANNING,  /* what there is to undo is to be counted */
  PAWL_UNDO_RUNNING,   /* from here on what is counted below is set */
  PAWL_UNDO_COMPLETED, /* so it is when all was undone */
  PAWL_UNDO_COMPLETED_WITH_ERRORS,
  PAWL_UNDO_STOPPED /* killed before it was through */
} pawl_undo_status;

/* clang-format off */
#define PAWL_UNDO_MEMBERS(X, of)                                             \
  X(NUMBER, of status)       /* pawl_undo_status */                          \
  X(NUMBER, of end)          /* pawl_standing: how the instance ends then; 0 \
                                where it goes on */                          \
  X(NUMBER, of by)           /* the token whose node has it undone; 0: the   \
                                instance ends by it */                       \
  X(NUMBER, of token)        /* that which stands at what is undone, where   \
                                others stand as well; 0: none yet */         \
  X(NUMBER, of started_us)                                                   \
  X(NUMBER, of completed_us) /* 0: it has not ended */                       \
  X(NUMBER, of since)        /* what becomes of it stands in history from    \
                                that row on; 0: it is not planned yet */     \
  X(NUMBER, of below)        /* steps before that row are left */            \
  X(NUMBER, of again)        /* no row behind that one tells of what had     \
                                been undone before; 0: none does */          \
  X(NUMBER, of planned)                                                      \
  X(NUMBER, of undone)                                                       \
  X(NUMBER, of failed)                                                       \
  X(NUMBER, of tried)        /* so often was it tried, before another undo   \
                                began in place of that */                    \
  X(NUMBER, of tried_row)    /* to undo that row of history; 0: none */      \
  X(NUMBER, of attempt)      /* the one that failed; 0: none did */          \
  X(TEXT, of error)          /* JSON: why it ends so; empty: nothing */      \
  X(TEXT, of output)         /* JSON: with which output; empty: none */      \
  X(TEXT, of node)           /* where it stood, plain; empty: nowhere */     \
  X(TEXT, of transfers)      /* JSON [5]: the rows that tell of transfers to \
                                another version, where nodes had other       \
                                names; empty: there are none */
/* clang-format on */

/* ---- the state ---- */

/* Its `lasts`, where a function has said that it has no deadline. */
#define PAWL_LASTS_FOR_EVER PAWL_MAX_DURATION_US

/* Members that most commits leave as they are. Each is a column of
 * instance_load and an argument of instance_seldom of the same name, and
 * engine/work reads and writes it by this list; a TIME x is the member x_us and
 * the column x_at. Variables are not here: they may be large, so a plan has
 * them only when they have changed. */
/* clang-format off */
#define PAWL_STATE_OWN(X)                                                    \
  X(NUMBER, sent)         /* messages and outbox rows, so far */             \
  X(NUMBER, children)     /* that were started, and are to be told its end */\
  X(NUMBER, immediate)    /* steps in a row; 0 without a busy_limit */       \
  X(TIME, suspended)      /* suspended_us: since when; 0: it is not */       \
  X(TIME, deadline)       /* deadline_us; 0: none */                         \
  X(NUMBER, lasts)        /* from its beginning until then, as its start     \
                             says, or a function that was asked as it began; \
                             0: as its definition says */                    \
  X(MARKS, joined)        /* joins that have fired while siblings still run, \
                             and the token that forked */
/* The same of those that hardly any instance has: their columns are
 * instance_rare's, which is asked where instance_load says that there is
 * something. So is the undoing. */
#define PAWL_STATE_RARE(X)                                                   \
  X(TEXT, stopped)        /* JSON list of its tokens when it failed; empty:  \
                             null */                                         \
  X(TEXT, cancellation)   /* JSON: who, why, when; empty: null */            \
  X(TEXT, deletion)       /* JSON: who and why; empty: null. Of one that     \
                             lives: it is deleted as it ends */              \
  X(TIME, deleted)        /* deleted_us: since when it is; 0: it is not */   \
  X(TIME, purge)          /* purge_us: since when it is being purged */      \
  X(TEXT, away)           /* JSON: who has carried it to another store, and  \
                             why; empty: null */
#define PAWL_STATE_SELDOM(X) \
  PAWL_STATE_OWN(X) PAWL_STATE_RARE(X) PAWL_UNDO_MEMBERS(X, undo.)
/* The others. */
#define PAWL_STATE_USUAL(X)                                                  \
  X(NUMBER, visit)        /* the highest that was given out */               \
  X(NUMBER, started_us)   /* 0: it has not begun */                          \
  X(NUMBER, begin_us)     /* not before, while it has not begun; 0: at once */\
  X(TEXT, output)       /* JSON; empty: none */                              \
  X(MARKS, watched)       /* what cancels it, as subscribed, by the rules'   \
                             numbers */
/* clang-format on */

#define PAWL_STATE_NUMBER(name) int64_t name;
#define PAWL_STATE_TIME(name) int64_t name##_us;
#define PAWL_STATE_TEXT(name) pawl_buf name;
#define PAWL_STATE_MARKS(name) pawl_marks name;
#define PAWL_STATE_MEMBER(type, name) PAWL_STATE_##type(name)

typedef struct pawl_compensation {
  PAWL_UNDO_MEMBERS(PAWL_STATE_MEMBER, )
} pawl_compensation;

typedef struct pawl_state {
  pawl_standing status;
  pawl_token_list
      tokens;         /* the live ones; in a plan all that were, as they stand
                         now */
  int32_t last_token; /* the highest number that was given out */
  const char *node, *previous; /* where it stands or ended, for people */
  pawl_compensation undo;
  PAWL_STATE_OWN(PAWL_STATE_MEMBER)
  PAWL_STATE_RARE(PAWL_STATE_MEMBER)
  PAWL_STATE_USUAL(PAWL_STATE_MEMBER)
} pawl_state;

void pawl_state_init(pawl_state *s, const pawl_alloc *alloc);
void pawl_state_deinit(pawl_state *s, const pawl_alloc *alloc);
/* Empty, with the memory it has. */
void pawl_state_clear(pawl_state *s);
/* 0: out of memory. */
int pawl_state_copy(pawl_state *to, const pawl_state *from,
                    const pawl_alloc *alloc);
/* Do members of PAWL_STATE_SELDOM differ, or the tokens given out beyond the
 * first? */
int pawl_state_differs(const pawl_state *a, const pawl_state *b);
/* Are the texts of the token that stands in the instance's row others? */
int pawl_state_folded_differs(const pawl_state *a, const pawl_state *b);
int pawl_state_has_failed(const pawl_state *s); /* as of a token */
/* Nothing is undone, nor was. */
void pawl_state_drop_undo(pawl_state *s);
/* It was cancelled, what it did is undone, and it goes on from the node that
 * `on_cancel` names: its cancellation says since when. */
int pawl_state_is_cleaning(const pawl_state *s);
static inline int pawl_undo_is_under_way(const pawl_compensation *u) {
  return u->status == PAWL_UNDO_PLANNING || u->status == PAWL_UNDO_RUNNING;
}

#endif
