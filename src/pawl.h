/* pawl.h: durable workflows written in Lua, kept in SQLite or PostgreSQL.
 *
 * The public face of libpawl and the only installed header.
 *
 * Shape    pawl_engine is opaque: one store connection, one Lua state, and
 *          the caller's thread. Nothing happens outside the calls below: no
 *          thread is started unless asked, no signal handler installed,
 *          nothing printed, no environment variable read but for the processes
 *          of isolated workflows: PAWL_HELPER, TZ, LD_LIBRARY_PATH.
 * Names    Instances are the default noun: pawl_get, pawl_list. Every other
 *          noun has a word of its own: pawl_task_get, pawl_workflow_list.
 *          docs/api.md shows each verb in C, Lua, command and SQL, and
 *          docs/words.md says what each word means.
 * Strings  UTF-8, ended by a zero byte. Ids are 36 characters of UUID text,
 *          so an id needs 37 bytes. Where an id is asked for, a shortened one
 *          will do, as pawl_find takes it.
 * JSON     What a call takes as `query`, `options`, `change`... is a JSON
 *          object; NULL stands for an empty one. A key that is not known is
 *          PAWL_INVALID, and the hint names the nearest. So is a filter that
 *          is empty, "" or []: what is not to be filtered by is left out
 *          (only the `role` and `group` of a `user` may be none). Answers are
 *          JSON text, too; what an instance has not is null or left out.
 * Time     int64_t microseconds: instants since 1970-01-01 UTC by the store's
 *          clock (PostgreSQL), the host's (SQLite) or the one in the config;
 *          durations as plain microseconds. Names of both end in _us, in C
 *          and in the JSON that calls take. Answers tell times as text, such
 *          as "2026-11-21T07:38:00.000000Z": pawl_time_us reads it.
 * Errors   What can fail returns a pawl_code and fills the pawl_error given
 *          last, which may be NULL. Results leave through `out` parameters,
 *          written only on PAWL_OK. An `out` for text may be NULL: nobody
 *          wants it; any other pointer of which it is not said is needed, and
 *          NULL there is PAWL_MISUSE or PAWL_INVALID.
 * Memory   Text handed out is the config's allocator's; give it back with
 *          pawl_free, before or after the engine is closed. Everything else
 *          belongs to who made it.
 * Growth   Structs stay as they are written down in src/pawl.abi. What the
 *          program fills in (pawl_config) and what it is shown (pawl_trace)
 *          begins with its size and grows at its end: a shorter one of an older
 *          header is taken, and a longer one of a newer header if the rest is
 *          zero; else, or with a size that no header has, PAWL_MISUSE. What
 *          the program makes room for and pawl fills in has room that is
 *          `reserved`, and zero until a later version has a name for it: nobody
 *          has to set anything before a call.
 * Threads  An engine belongs to one thread at a time; engines are
 *          independent. Only pawl_interrupt may be called from elsewhere, and
 *          of callbacks only `wake` may come from elsewhere.
 * Tenants  An engine that was opened with a tenant is that one's: what it
 *          starts and sends is, and what others have is to it like what is not
 *          there, PAWL_NOTFOUND in the same words. Definitions are shared.
 *          What concerns all is PAWL_UNSUPPORTED: pawl_tick, pawl_next_due,
 *          pawl_busy, pawl_health, pawl_stats, pawl_problems, pawl_prune,
 *          pawl_import, pawl_backup, pawl_backup_bytes, pawl_restore,
 *          pawl_restore_bytes, pawl_outbox_relay, pawl_executor_list,
 *          pawl_workflow_hotfix, pawl_workflow_transfer, pawl_workflow_change
 *          and `live` of pawl_workflow_list.
 *          One that has no tenant sees all, and runs all. Events, waits, tasks
 *          and children have the tenant of their instance, or sender, and meet
 *          their own alone.
 * Inside   Handlers and callbacks (log, trace, clock, alloc, wake, commit, publish,
 *          progress, functions of pawl_register, and their `destroy` while the
 *          engine closes) may call pawl_now, pawl_interrupt,
 *          pawl_executor_id, pawl_is_new, pawl_count, pawl_memory, pawl_format
 *          and pawl_free of their own engine; every other call is PAWL_MISUSE there, and does nothing.
 *          `wake` may be called from another thread, and there of all these
 *          pawl_interrupt alone is right.
 *          Of another engine they may call anything.
 * Forks    An engine does not survive fork(): in the child every call
 *          returns PAWL_MISUSE and pawl_close only frees memory. */
#ifndef PAWL_H
#define PAWL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_VERSION "0.1.0"
#define PAWL_VERSION_NUMBER 1000 /* major * 1000000 + minor * 1000... */

/* What the library exports. A program that links it statically defines
 * PAWL_STATIC; PAWL_BUILDING is for the library's own build. */
#if defined(PAWL_STATIC)
#define PAWL_API
#elif defined(_WIN32) && defined(PAWL_BUILDING)
#define PAWL_API __declspec(dllexport)
#elif defined(_WIN32)
#define PAWL_API __declspec(dllimport)
#else
#define PAWL_API __attribute__((visibility("default")))
#endif
#if defined(__GNUC__)
#define PAWL_MUSTUSE __attribute__((warn_unused_result))
#else
#define PAWL_MUSTUSE
#endif

/* Every code, once: the enum, the strings that Lua and the logs show, and the
 * table in docs/errors.md are made from this list. */
#define PAWL_CODES(X)                                                         \
  X(OK, "ok")                                                                 \
  X(NOMEM, "nomem")           /* the allocator said no */                     \
  X(MISUSE, "misuse")         /* the caller broke this header's contract */   \
  X(INVALID, "invalid")       /* an argument's value is not acceptable */     \
  X(NOTFOUND, "notfound")     /* no such instance, workflow, file */          \
  X(EXISTS, "exists")         /* a version in use differs; a file or a key is
                                 there */ \
  X(AMBIGUOUS, "ambiguous")   /* a shortened id fits several */               \
  X(TAKEN, "taken")           /* a task is another person's */                \
  X(CONFLICT, "conflict")     /* not in the state for what is asked */        \
  X(BUSY, "busy")             /* transient: the same call may succeed */      \
  X(LEASE_LOST, "lease_lost") /* another has the instance, or a kill */       \
  X(ALREADY_FINISHED, "already_finished") /* the instance has ended */        \
  X(UNREACHABLE, "unreachable")           /* the store does not answer */     \
  X(AUTH, "auth")                         /* the store refused who we are */  \
  X(READONLY, "readonly")                 /* the store cannot be written */   \
  X(FULL, "full")                         /* no space left in the store */    \
  X(NOT_A_STORE, "not_a_store") /* the file or database is something else */  \
  X(CORRUPT, "corrupt")         /* the store's data is damaged */             \
  X(STORE_OLD, "store_old")     /* run `pawl migrate` */                      \
  X(STORE_NEW, "store_new")   /* made by a newer pawl: upgrade the program */ \
  X(STORE, "store")           /* any other failure of the store */            \
  X(DEFINITION, "definition") /* a workflow is drawn wrong */                 \
  X(VALUE, "value")           /* a value that cannot be stored exactly */     \
  X(LIMIT, "limit")           /* a size, count or depth limit */              \
  X(SCRIPT, "script")         /* Lua raised an error */                       \
  X(TIMEOUT, "timeout")       /* a time limit was passed */                   \
  X(CANCELLED, "cancelled")   /* the instance is to end */                    \
  X(INTERRUPTED, "interrupted")           /* pawl_interrupt was called */     \
  X(UNSUPPORTED, "unsupported")           /* not in this build */             \
  X(NO_HANDLER, "no_handler_registered")  /* nobody knows the workflow */     \
  X(JOIN_UNREACHABLE, "join_unreachable") /* too few can come to a join */    \
  X(POISONED, "poisoned") /* took its worker down too often */                \
  X(INTERNAL, "internal") /* a bug in pawl: please report */

typedef enum pawl_code {
#define PAWL_CODE_ENUM(name, text) PAWL_##name,
  PAWL_CODES(PAWL_CODE_ENUM)
#undef PAWL_CODE_ENUM
      PAWL_NCODES
} pawl_code;

/* Owns no memory: copied by `=`, never freed, able to report out-of-memory. */
typedef struct pawl_error {
  pawl_code code;     /* ours: branch on this, never on the text */
  char raised[65];    /* the script's: error{ code = "card_declined" }; whole:
                        longer ones are no codes, and the hint says so */
  char sqlstate[6];   /* "40001"; SQLite codes are mapped; "" if not SQL */
  char where[128];    /* "order.lua:12", "vars.items[3].cb", a migration; cut
                         likewise */
  char message[2048]; /* what failed, on which instance and node; one line.
                         One that was longer ends in " ... (cut)"; what is
                         stored of a handler's failure has up to 16 KB */
  char hint[256];     /* what the reader can do about it; may be ""; cut
                         likewise */
  char trace[1536];   /* Lua traceback, cut likewise; may be "" */
  char reserved[65];  /* zero */
} pawl_error;

/* One store connection, one Lua state, the caller's thread. */
typedef struct pawl_engine pawl_engine;

/* The stable text of a code: "lease_lost". Never NULL, and never freed.
 * Cannot fail: a number that is no code has a text as well.
 *
 *   fprintf(stderr, "%s: %s\n", pawl_code_name(err.code), err.message); */
PAWL_API const char *pawl_code_name(pawl_code code);

/* The version of the library that runs, which may be another one than this
 * header's PAWL_VERSION: "0.1.0". Never freed. Cannot fail.
 *
 *   printf("pawl %s\n", pawl_version()); */
PAWL_API const char *pawl_version(void);

/* Reads a time as answers tell it, or shorter: "2026-11-21",
 * "2026-11-21T07:38:00Z". `us`: microseconds since 1970, as calls take them in
 * keys that end in _us. PAWL_INVALID: it is none.
 *
 *   if (pawl_time_us("2026-11-21T07:38:00Z", &at_us, &err) == PAWL_OK) ... */
PAWL_API PAWL_MUSTUSE pawl_code pawl_time_us(const char *text, int64_t *us,
                                             pawl_error *err);

/* ---- JSON, for hosts without a library for it -------------------------- */

/* What follows reads answers and makes what calls take. `json` is where a value
 * begins in a text that ends with a zero: an answer, or what pawl_at and
 * pawl_each point to in it. It is borrowed; nothing is allocated or kept, and
 * no engine is asked, so all of it may be called anywhere. `path` leads from
 * there: "output.items[0].price"; places count from 0, and [-1] is the last;
 * names with other signs as ["a.b"]; NULL or "": the value itself. What has an
 * escape in its name is found by what that stands for.
 *
 * Types are "null", "bool", "int" (64 bits), "num" (any other number), "text",
 * "list" and "object". The getters say PAWL_NOTFOUND where nothing is, or null;
 * PAWL_INVALID where something of another type is, where the path is none, and
 * where the text is damaged: that is seen as far as it is read, and nothing
 * outside of it is touched, whatever it is. */

/* Where a value begins, in `json` itself; NULL: there is none, or it is
 * damaged. A null is one. Cannot fail.
 *
 *   const char *items = pawl_at(instance, "output.items"); */
PAWL_API const char *pawl_at(const char *json, const char *path);

/* A value's type, as above, never freed; NULL as pawl_at has it. Cannot fail.
 *
 *   const char *type = pawl_value_type(instance, "output"); */
PAWL_API const char *pawl_value_type(const char *json, const char *path);

/* Text, without its quotes and escapes, copied to `out` with a zero behind it.
 * `length` (may be NULL): its bytes, the zero not counted, also when they do
 * not fit: then PAWL_LIMIT, and what does is there, whole characters. `out`
 * NULL: only the length is wanted. Text with a zero in it is PAWL_INVALID
 * unless its length is asked for.
 *
 *   char node[64];
 *   rc = pawl_text(json, "tokens[0].node", node, sizeof node, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_text(const char *json, const char *path,
                                          char *out, size_t size,
                                          size_t *length, pawl_error *err);

/* An integer. One that was written as a float ("3.0") is none, as in Lua.
 * PAWL_NOTFOUND, PAWL_INVALID, also beyond 64 bits.
 *
 *   rc = pawl_int(json, "output.total", &total, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_int(const char *json, const char *path,
                                         int64_t *out, pawl_error *err);

/* A number of either type; an integer as the float nearest to it.
 * PAWL_NOTFOUND, PAWL_INVALID.
 *
 *   rc = pawl_num(json, "variables.speed", &speed, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_num(const char *json, const char *path,
                                         double *out, pawl_error *err);

/* true or false, as 1 or 0. PAWL_NOTFOUND, PAWL_INVALID.
 *
 *   rc = pawl_bool(json, "output.approved", &yes, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_bool(const char *json, const char *path,
                                          int *out, pawl_error *err);

/* How many members a list or an object has, or bytes a text. PAWL_NOTFOUND,
 * PAWL_INVALID.
 *
 *   rc = pawl_length(json, "tokens", &n, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_length(const char *json, const char *path,
                                            int64_t *out, pawl_error *err);

/* A place in a list or an object: zeros before the first. */
typedef struct pawl_cursor {
  const char *key;   /* of an object's member: a text, as pawl_text takes it;
                        NULL in a list */
  const char *value; /* where it begins */
  int64_t index;     /* from 0 */
  int32_t broken;    /* 1: it ended where the text is damaged, or is neither
                        list nor object */
  int32_t opened;    /* its own, as is the next */
  const char *next;
} pawl_cursor;

/* Goes to the next member, in the order of the text: 1, and 0 at the end, or
 * where nothing is. The cursor points into `json`, which must stay. It
 * cannot fail: `broken` says whether all was seen.
 *
 *   pawl_cursor task = {0};
 *   while (pawl_each(tasks, NULL, &task))
 *     rc = pawl_text(task.value, "title", title, sizeof title, NULL, &err); */
PAWL_API int pawl_each(const char *json, const char *path,
                       pawl_cursor *cursor);

/* Makes JSON, as printf does. In `format` stands JSON, and
 *   %Q    const char *: the text in quotes, escaped; null for NULL
 *   %q    const char *: escaped, where the format has the quotes: "\"n-%q\""
 *   %.*Q, %.*q   the same of so many bytes: int, const char *
 *   %d %i %u     int and unsigned; also with l, ll, j and z (ptrdiff_t, size_t)
 *   %g    double, so that it reads back the same, never as an integer
 *   %b    int: true unless 0
 *   %J    const char *: the JSON value that begins there, as it is, such as
 *         what pawl_at gave; null for NULL
 *   %%    a percent sign
 * What comes out is one JSON value: PAWL_INVALID when the format lacks a
 * bracket, a text is not UTF-8, a number is not finite, or what stands for %J
 * is no JSON; PAWL_MISUSE for what is not in this list. `out` is the caller's,
 * for pawl_free, of the engine's allocator; without an engine (NULL) of the C
 * library's. It may be called from handlers and callbacks. PAWL_NOMEM.
 *
 *   rc = pawl_format(engine, &input, &err, "{\"name\":%Q,\"n\":%d}", name, n);
 */
PAWL_API PAWL_MUSTUSE pawl_code pawl_format(pawl_engine *engine, char **out,
                                            pawl_error *err,
                                            const char *format, ...);

/* The same into the caller's `out`, with a zero behind it, and without an
 * allocation. PAWL_LIMIT: it does not fit; then, and whenever it fails, `out`
 * is empty.
 *
 *   char query[200];
 *   rc = pawl_format_into(query, sizeof query, &err, "{\"user\":%Q}", user); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_format_into(char *out, size_t size,
                                                 pawl_error *err,
                                                 const char *format, ...);

/* ---- configuration ----------------------------------------------------- */

/* Grows, shrinks (nsize > 0) or frees (nsize == 0) a block, as Lua's
 * allocator does. `ptr` NULL asks for a new block. NULL means refused. */
typedef void *(*pawl_alloc_fn)(void *ud, void *ptr, size_t osize,
                               size_t nsize);

/* Microseconds since the epoch. Called often; must not go backwards much. */
typedef int64_t (*pawl_clock_fn)(void *ud);

enum { PAWL_DEBUG, PAWL_INFO, PAWL_WARN, PAWL_ERROR };
/* Game time: it stands while its speed is 0, or passes as the system's does,
 * slower or faster; and it is what it was set to, be that later or earlier. Of
 * the program's, and of its thread; zeros stand at 1970. */
typedef struct pawl_game_clock {
  int64_t now_us;    /* when it was set; read it by pawl_game_clock_now */
  int64_t since_us;  /* its own */
  double speed;      /* game seconds in one of the system's */
  int64_t passed_us; /* its own */
  int64_t reserved[4];
} pawl_game_clock;

/* What time it is by `clock`, a pawl_game_clock: for the config's `clock`, with
 * the struct as its `clock_ud`, and for the program itself. It never reads less
 * than before unless it was set. NULL is 0. Cannot fail.
 *
 *   config.clock = pawl_game_clock_now;
 *   config.clock_ud = &game->clock;
 *   int64_t saved_us = pawl_game_clock_now(&game->clock); */
PAWL_API int64_t pawl_game_clock_now(void *clock);

/* How much time has passed by it, of which only differences mean anything: none
 * while it stands, and nothing of what it was set ahead or back. By that
 * handlers wait in an engine that goes by pawl_game_clock_now; for the config's
 * `passed` of a program whose `clock` is a function of its own. NULL is 0.
 * Cannot fail.
 *
 *   config.clock = my_clock;
 *   config.passed = my_passed; (calls it, of the same pawl_game_clock) */
PAWL_API int64_t pawl_game_clock_passed(void *clock);

/* Sets it, to be called between calls of an engine that goes by it. What is due
 * by a later time is due with the next tick, each thing once, however far the
 * clock has jumped; set back, nothing is undone, and what was to come comes at
 * its time. Handlers that wait have waited no longer for it. `speed`: 0 pauses;
 * what is less, or no number, is 0. NULL is accepted. Cannot fail.
 *
 *   pawl_game_clock_set(&clock, pawl_game_clock_now(&clock), 0); a pause */
PAWL_API void pawl_game_clock_set(pawl_game_clock *clock, int64_t now_us,
                                  double speed);

/* One log line. `fields` is a JSON object in text; both end with zero. */
typedef void (*pawl_log_fn)(void *ud, int level, const char *message,
                            const char *fields);

/* A handler begins or ended, or an instance met a verdict without one; the
 * strings are borrowed for the call. Told before the commit, save of a
 * transactional step: what is then refused, because another executor took
 * over, is told again by that one. */
typedef struct pawl_trace {
  uint32_t size; /* of the struct, in the library that tells it */
  const char *instance, *workflow, *node;
  const char *kind; /* of the node; "instance" for such a verdict */
  int64_t attempt;
  int64_t at_us;       /* when it began, or ended */
  int64_t elapsed_us;  /* that passed, also while it waited; -1: it begins */
  const char *outcome; /* NULL at the beginning; then "done", "failed",
                          "retry", "fired" (a timer), "undone", "suspended",
                          "cancelled" */
  const char *ended;   /* the instance's status, if this ends it; or NULL */
  const char *detail;  /* the way on, or the error; may be "" */
  int64_t due_us;      /* when the engine looks again, if later; else 0 */
} pawl_trace;
typedef void (*pawl_trace_fn)(void *ud, const pawl_trace *trace);

/* Something is due for the engine, or something is due at another time than was
 * known: it should be ticked, or asked for pawl_next_due. It is called by the
 * calls that make it so (a start, a signal, a task that is completed, a change,
 * a transaction's commit), of this engine or of another one that this process
 * has open on the same store, which may be in another thread; and by pawl_wait,
 * also with 0, when a notification has come from the database. Not during a
 * tick of the engine, whose stats say what is next, not for a time that comes,
 * which pawl_next_due has told, nor for what other processes do to a SQLite
 * file. It may be called for nothing.
 * As it may come from any thread, and from within a call, it is to do what a
 * signal's handler does: set a flag, write to a descriptor that is polled. It
 * may call what takes no engine, and pawl_interrupt (which stops a handler that
 * runs); every other call of this engine, pawl_close too, is PAWL_MISUSE there,
 * whichever engine's call it comes from. In another thread pawl_close waits
 * until it has returned, and after that it is not called. */
typedef void (*pawl_wake_fn)(void *ud);

/* For tests of what a crash leaves: called before a transaction that may write
 * is committed (is_done 0), and after (1). 0: it goes on. Else the engine is
 * as good as killed there: its connection is dropped, what was not committed
 * is undone by the store, what it holds stays leased to it, and every later
 * call is PAWL_UNREACHABLE, or does nothing, until pawl_close. Another engine,
 * on the same store, takes over as from any that died: once the lease has
 * ended. */
typedef int (*pawl_commit_fn)(void *ud, int is_done);

struct lua_State;

/* When commits reach the disk. A store is never damaged; what differs is what a
 * power cut takes away, or a machine that goes down: the commits since the last
 * that had reached the disk, and so steps run again whose effects outside are
 * known there. Only PAWL_DURABLE_EVERY is for stores that others rely on.
 *
 * On SQLite the commits of ticks of 100 ms or less are one transaction, for
 * flush_us at most, in GROUPED and SAVE: until it ends killing the process takes
 * them too, and so does a disk that is full. It ends earlier when another
 * process waits to write, before a handler known to be slow, and by pawl_wait, a
 * longer tick, pawl_save, pawl_transaction_begin and pawl_close; who stops
 * ticking and lets others write to the file calls one of those. Else what is
 * killed has lost nothing that was committed.
 *
 *   EVERY     each commit is on disk before the call returns
 *   GROUPED   within flush_us, as long as there are ticks; on PostgreSQL when
 *             its server says so (synchronous_commit = off, three times
 *             wal_writer_delay at most; behind a pooler: as EVERY)
 *   SAVE      when pawl_save is called, or earlier as the system likes; on
 *             PostgreSQL as GROUPED
 *
 * What is at risk is told by the stats of a tick: `unsaved`, `unsaved_us`,
 * `unwritten`. */
enum { PAWL_DURABLE_EVERY, PAWL_DURABLE_GROUPED, PAWL_DURABLE_SAVE };

/* What an engine is told when it is opened. Set with PAWL_CONFIG_INIT, change
 * what matters; zero and NULL mean the default, given behind each field. It may
 * be an older or a newer header's: what it lacks is as if zero, and what the
 * library does not know yet has to be. */
typedef struct pawl_config {
  uint32_t size;       /* sizeof(pawl_config): set by PAWL_CONFIG_INIT */
  pawl_alloc_fn alloc; /* malloc and free */
  void *alloc_ud;
  pawl_clock_fn clock; /* the store's clock (PostgreSQL), the system's */
  void *clock_ud;
  pawl_log_fn log; /* nothing is logged */
  void *log_ud;
  pawl_trace_fn trace; /* nothing is traced */
  void *trace_ud;
  struct lua_State *lua;   /* the host's Lua state, with Lua's base, package,
                              string, table, math, utf8 and debug; where it has
                              no `pawl` yet it is given one, without files;
                              NULL: a private one */
  const char *group;       /* executor group served and given; "default" */
  const char *prefixes;    /* "billing.,media.": codes served, not ""; all */
  int64_t lease_us;        /* 30 s; longer than an hour is PAWL_INVALID */
  int64_t heartbeat_us;    /* 10 s, at most a third of the lease */
  int64_t max_bytes;       /* variables of one instance; 1 MB */
  int32_t batch;           /* instances claimed at once; 128, 1024 at most */
  int32_t recoveries;      /* takeovers before an instance is suspended; 5 */
  int32_t pooler;          /* 1: behind a pooler in transaction mode, which
                             shares sessions out; -1: behind none; 0: found
                             out when connecting, and logged */
  int32_t stored_code_own; /* 1: never run a definition from the store */
  int32_t unknown_fail;    /* 1: fail what neither we nor the store know;
                              0: it waits for who does */
  int32_t create; /* -1: do not make a missing store, and open one that
                             cannot be written for asking alone; 0, 1: make it */
  int32_t shards; /* of a store made by this open; 1 */
  int32_t heartbeat_thread; /* 1: a helper thread with a connection of its own
                             keeps the leases while a handler blocks, at most
                             until its node's timeout. Not with a private
                             allocator, a virtual clock or ":memory:". */
  int32_t concurrency;      /* handlers that may wait (ctx.await) at one time,
                              three quarters of them of definitions that are
                              not trusted; and beyond that, by an eighth and
                              one, the first of definitions of which none has
                              waited yet; 100, 10000 at most */
  const char *tenant;       /* the engine is this one's (1 to 255 bytes);
                              nobody's: it sees all */
  const char *schema;       /* where in a PostgreSQL database the store is;
                              "pawl"; a-z, 0-9 and _, to 48 bytes */
  const char *retain;       /* JSON, the durations of pawl_prune's options: how
                              long what has ended is kept, where a definition
                              does not say; then ticks prune. Nothing is */
  int64_t busy_us;          /* SQLite: for how long a call waits in all for
                              others who hold the file (one of many transactions
                              for each, and so a tick of more than 100 ms for
                              each round); less than 0: never, then it is
                              PAWL_BUSY and nothing is lost; 0: 5 s, and a
                              pawl_tick that has a budget within that */
  int64_t flush_us;         /* how long a commit may wait for the disk in
                              PAWL_DURABLE_GROUPED, and for the file; 1 s */
  int32_t durability;       /* PAWL_DURABLE_...; EVERY */
  int32_t never_stop;       /* 1: pawl_interrupt lets a handler that runs come
                              to its end, and no hook is set in the program's
                              own state: Lua that only computes is up to twice
                              as fast */
  int64_t seed;      /* of ids, jitter and a private state's math.random:
                              with the same one, and the same clock, two runs
                              store the same. For tests and replays: of two
                              engines that share a seed ids meet. 0: drawn */
  const char *trust; /* of workflows that are loaded, and the most of
                              those that come from the store: "trusted",
                              "limited", "isolated", or a JSON object, keys:
                              level, author, codes, takes, may, memory,
                              instructions, time_us, wait_us, effects,
                              per_minute, per_instance, helper
                              (docs/workflows.md);
                              "trusted" */
  int64_t checkpoint_bytes; /* SQLite: so long the log beside the file gets
                              before it is put into the file; at least 64 KB,
                              less is that; 4 MB, or, where commits may wait for
                              the disk, 32 */
  int64_t memory_bytes;     /* the most that the engine and its Lua may have of
                              the allocator; what is beyond is refused, as if
                              the allocator had: see pawl_memory; unlimited */
  pawl_wake_fn wake;        /* nobody is told */
  void *wake_ud;
  int32_t sync_thread;   /* 1: on SQLite a helper thread syncs what is
                               GROUPED, so that no tick waits for that. It calls
                               nothing of the host's, its allocator neither */
  int32_t reserved;      /* not looked at: no field is named here later */
  pawl_commit_fn commit; /* nobody is asked */
  void *commit_ud;
  const void *copy; /* what pawl_backup_bytes gave, of `copy_size` bytes: a
                       store in memory begins with that, as if it had been
                       restored, and has its shards. Borrowed for the call;
                       with another store PAWL_INVALID; empty */
  size_t copy_size;
  pawl_clock_fn passed; /* beside a `clock` that may be set, with its clock_ud:
                           a count of microseconds that goes as that one does,
                           and not with what it is set by. By it handlers wait,
                           and are over their node's timeout;
                           pawl_game_clock_passed for pawl_game_clock_now, else
                           the clock itself */
} pawl_config;
#ifdef __cplusplus
/* So that no compiler misses the other fields. */
static inline pawl_config pawl_config_default() {
  pawl_config config = pawl_config();
  config.size = static_cast<uint32_t>(sizeof config);
  return config;
}
#define PAWL_CONFIG_INIT pawl_config_default()
#else
#define PAWL_CONFIG_INIT \
  { .size = sizeof(pawl_config) }
#endif

/* ---- engine ------------------------------------------------------------ */

/* Opens the store at `url`:
 *   "pawl.db", "sqlite:PATH"            a file, made if it is not there; NULL
 *                                       means "pawl.db"
 *   ":memory:"                          gone when the engine is closed
 *   "postgres://...", "postgres:CONNINFO"   a database
 * What looks like a database's URL or CONNINFO otherwise ("scheme:...",
 * "user:password@"), or has white space around it, is PAWL_INVALID; anything
 * else is a file, and so is whatever begins with "sqlite:", "./" or "../". An
 * empty store is given its schema. `config` may be NULL; it is read and not
 * kept, but what it points to (a Lua state, the `ud` of callbacks) has to
 * outlive the engine. The engine is the caller's, for pawl_close.
 * Also PAWL_UNREACHABLE, PAWL_AUTH, PAWL_NOT_A_STORE, PAWL_CORRUPT (also what
 * was copied without its log, while it was open), PAWL_STORE_OLD (migrate
 * it), PAWL_STORE_NEW, PAWL_MISUSE (a config that says what this
 * library does not know).
 *
 *   pawl_config config = PAWL_CONFIG_INIT;
 *   config.lease_us = 60 * 1000000;
 *   rc = pawl_open("save.db", &config, &engine, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_open(const char *url,
                                          const pawl_config *config,
                                          pawl_engine **out, pawl_error *err);

/* Releases what is leased, so that others have it at once, then closes. NULL is
 * accepted. PAWL_MISUSE from inside a handler or callback of this engine, which
 * stays open then, as it is; else PAWL_OK, whatever the store says.
 *
 *   pawl_close(engine); */
PAWL_API pawl_code pawl_close(pawl_engine *engine);

/* Whether pawl_open has made the store, which was empty then: 1. So a program
 * that expects its save can tell that there was none; with `create` -1 it is
 * told by PAWL_NOTFOUND. 0 of no engine. Cannot fail. May be called from
 * handlers and callbacks.
 *
 *   if (pawl_is_new(engine)) begin_the_story(engine); */
PAWL_API int pawl_is_new(const pawl_engine *engine);

/* What may be shown of a store's `url` in logs and to people: the path, or
 * "postgres:host=... port=... dbname=... user=...", made of what is read in it.
 * No password, in whatever way it is written; "..." for what cannot be read.
 * Cut to `size`, zero included; opens nothing. Returns `out`. Cannot fail.
 *
 *   char shown[200];
 *   printf("store: %s\n", pawl_store_name(url, shown, sizeof shown)); */
PAWL_API const char *pawl_store_name(const char *url, char *out, size_t size);

/* Brings the schema of a store up to this program's version: the one word
 * `migrate` is about schemas. `shards` counts only when the store is empty
 * (0: 1); it stays as it is from then on. Two programs migrating at once are
 * safe. `report` (may be NULL): JSON {"from":n,"to":n,"shards":n}, the
 * caller's, for pawl_free(NULL, report). PAWL_STORE_NEW: a newer program has
 * changed it. PAWL_UNREACHABLE, PAWL_AUTH, PAWL_READONLY and PAWL_BUSY as they
 * come.
 *
 *   rc = pawl_migrate("postgres://db/app", NULL, 16, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_migrate(const char *url,
                                             const pawl_config *config,
                                             int shards, char **report,
                                             pawl_error *err);

/* What pawl_migrate would do, for somebody else to do by hand: changes nothing.
 * *out: JSON {"store":"postgres","schema":"pawl","from":n,"to":n,"shards":n,
 * "migrations":[{"number":n,"name":"0001_first","breaking":false,"sql":"..."}]},
 * the caller's, for pawl_free(NULL, out). Each has its rows of the table of
 * migrations; all are to be run in one transaction, which fails as a whole when
 * somebody has migrated meanwhile. No "schema" where there are none. A
 * SQLite file need not be there; a database does. PAWL_STORE_NEW, PAWL_UNREACHABLE
 * and PAWL_AUTH as of pawl_migrate.
 *
 *   rc = pawl_migrations("postgres://db/app", NULL, 0, &sql, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_migrations(const char *url,
                                                const pawl_config *config,
                                                int shards, char **out,
                                                pawl_error *err);

/* What is known to be wrong with the libraries that this process runs with (Lua,
 * SQLite, libpq) and, where `url` names a store, with its server, by upstream's
 * own lists; and what guards against it. *out: JSON {"pawl","libraries",
 * "store","sound","findings"}, docs/json.md, the caller's, for
 * pawl_free(NULL, out). A finding's `state` is "guarded", "rare" or "open": of
 * those somebody should do something, and `sound` is false. `url` NULL: of the
 * libraries alone. A store that cannot be looked at is a part of the answer,
 * and not sound; nothing is made or changed. PAWL_INVALID: `url` names none.
 *
 *   rc = pawl_doctor(NULL, NULL, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_doctor(const char *url,
                                            const pawl_config *config,
                                            char **out, pawl_error *err);

/* Gives back text that was handed out, by pawl_migrate too: it knows its
 * allocator, so `engine` may be NULL, or closed. A `text` of NULL is accepted.
 * Cannot fail.
 *
 *   pawl_free(engine, json); */
PAWL_API void pawl_free(pawl_engine *engine, char *text);

/* The engine's time: the store's, the host's or the configured clock's, in
 * microseconds since 1970. Cannot fail: what cannot be asked is guessed from
 * what was seen last; of no engine it is 0. May be called from handlers and
 * callbacks.
 *
 *   int64_t tomorrow_us = pawl_now(engine) + INT64_C(86400) * 1000000; */
PAWL_API int64_t pawl_now(pawl_engine *engine);

/* The engine's own id, as a history's rows and a lease name it. Cannot fail;
 * of no engine it is empty.
 * May be called from handlers and callbacks.
 *
 *   char me[37];
 *   pawl_executor_id(engine, me); */
PAWL_API void pawl_executor_id(const pawl_engine *engine, char out[37]);

/* Executors that live, the youngest first, as a JSON array: id, alive, host,
 * pid, group, started, active (its last heartbeat), expires, stopped,
 * recovered, holds (instances under its leases). `query`: a JSON object or
 * NULL, keys: group, all (also those that have stopped or are dead, for a
 * week), limit (100). A program that only asks is none: it has claimed nothing.
 * The text is the caller's. PAWL_INVALID says what of the query is wrong.
 *
 *   rc = pawl_executor_list(engine, "{\"group\":\"default\"}", &json, &err);
 */
PAWL_API PAWL_MUSTUSE pawl_code pawl_executor_list(pawl_engine *engine,
                                                   const char *query,
                                                   char **out,
                                                   pawl_error *err);

/* How much was asked of the store since the engine was opened. For benches and
 * dashboards. */
typedef struct pawl_counts {
  int64_t trips;        /* round trips */
  int64_t statements;   /* sent */
  int64_t transactions; /* begun, reads included */
  int64_t waited_us;    /* for locks that others held, on SQLite */
  int64_t reserved[4];  /* zero */
} pawl_counts;

/* Fills `out`, with zeros when `engine` is NULL. Cannot fail. May be called
 * from handlers and callbacks.
 *
 *   pawl_count(engine, &after);
 *   printf("%lld trips\n", (long long)(after.trips - before.trips)); */
PAWL_API void pawl_count(const pawl_engine *engine, pawl_counts *out);

/* What the engine has of its allocator. What was handed out is the program's,
 * and does not count; a Lua state of the program's (config.lua) neither. */
typedef struct pawl_memory_use {
  int64_t used, peak; /* bytes now, and the most so far */
  int64_t limit;      /* the config's memory_bytes; 0: none */
  int64_t refused;    /* requests that the limit or the allocator refused, and
                         handlers that were stopped before that */
  int64_t store; /* bytes beside those that SQLite holds for this connection,
                    from an allocator of its own: its pages, schema and
                    statements; 0: libpq does not tell */
  int64_t reserved[7]; /* zero */
} pawl_memory_use;

/* Fills `out`, with zeros when `engine` is NULL. Cannot fail. May be called
 * from handlers and callbacks.
 *
 * At the limit calls say PAWL_NOMEM, and what a tick had begun is given back:
 * no instance fails for it, and the next tick takes fewer at once, after Lua's
 * garbage is collected. A handler in a state of the engine's own is stopped
 * before that, when seven eighths are used and collecting garbage does not
 * help, and tried again as one that found no memory.
 *
 *   pawl_memory(engine, &memory);
 *   printf("%lld of %lld\n", (long long)memory.peak, (long long)memory.limit);
 */
PAWL_API void pawl_memory(const pawl_engine *engine, pawl_memory_use *out);

/* What SQLite has is from `alloc`, too (NULL: the C library's), `limit` bytes
 * at the most (0: as many as it gives). SQLite has one allocator for all that
 * is open in a process, so this is called once, before anything of SQLite's is
 * opened: PAWL_MISUSE behind that, and nothing is changed. It stays until the
 * process ends, and `ud` with it. `alloc` may be called by any thread that has
 * an engine, and its helper thread, one at a time; it may call nothing of
 * SQLite's or pawl's. PAWL_INVALID: a limit below 0.
 *
 * What is refused is PAWL_NOMEM, as at the limit of an engine. Each connection
 * keeps 2 MB of pages for later, and has some hundred KB besides; ":memory:"
 * is in it whole.
 *
 *   rc = pawl_sqlite_memory(arena_alloc, &arena, 16 * 1024 * 1024, &err);
 *   rc = pawl_open("game.db", &config, &engine, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_sqlite_memory(pawl_alloc_fn alloc,
                                                   void *ud, int64_t limit,
                                                   pawl_error *err);

/* How much that is, of all engines and the program's own connections; `store`
 * is 0. Zeros while SQLite's allocator is its own. Cannot fail. May be called
 * from handlers and from callbacks but that `alloc`.
 *
 *   pawl_sqlite_memory_used(&memory);
 *   printf("%lld of %lld\n", (long long)memory.used, (long long)memory.limit);
 */
PAWL_API void pawl_sqlite_memory_used(pawl_memory_use *out);

/* How the store stands, as a JSON object:
 *
 *   at          the store's time
 *   workflows   [{workflow, version, statuses, nodes, recent}], of each version
 *               that has or had instances
 *     statuses  {"running": 3, ...}: how many there are; also "deleted" ones,
 *               which are in no other, "archived" ones, and how many were
 *               "purged"
 *     nodes     [{node, status, count}]: where those stand that wait or are
 *               suspended, if in one place
 *     recent    {since, started, completed, failed, cancelled}: how many since
 *   recent      the sum of those
 *   ready       {versions, count, more, since}: what workers may claim, and
 *               since when the first of it is due; `versions` the same of each
 *               [{group, workflow, version, count, more, since}]
 *   late        {count, more, since}: due, and not made ready, as no worker of
 *               their group looks
 *   soon        {count, more}: due within a minute
 *   orphaned    {count, more}: ready, and taken from executors that died
 *   outbox      {count, more, since, dead}: waits to be published, and when the
 *               first of that was emitted; dead {count, more}: set aside
 *   tasks       {open, overdue}, {count, more} each
 *   held        {count, more, executors, takeovers, instances}: under a lease;
 *               how many executors have those; how often what is ready or
 *               held was taken over since its last commit; the first of them
 *               [{instance, workflow, version, node, attempt, executor, until,
 *               takeovers, since}], as many as `held` says
 *
 * Of what has `more` as many were counted as one call may; where it is true
 * there are more. How many there are of a status is counted as they change, and
 * exact. `query`: a JSON object or NULL, keys: workflow (of this one; what is
 * behind `ready` is of all), minutes (5; of `recent`, whole ones, up to 14),
 * held (0). The text is the caller's. PAWL_INVALID.
 *
 *   rc = pawl_stats(engine, "{\"minutes\":1}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_stats(pawl_engine *engine,
                                           const char *query, char **out,
                                           pawl_error *err);

/* What has failed and stays so, or was suspended by an error, by kind, as a
 * JSON object: problems [{workflow, code, node, count, more, first, last,
 * example, message}], those with the most first; more: there are other kinds.
 * `code` is the error's, `example` the one that failed last, with its message.
 * Up to 10,000 of a kind are counted, then its `more` is true. `query`: a JSON
 * object or NULL, keys: workflow, limit (20). The text is the caller's.
 * PAWL_INVALID.
 *
 *   rc = pawl_problems(engine, "{\"workflow\":\"order\"}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_problems(pawl_engine *engine,
                                              const char *query, char **out,
                                              pawl_error *err);

/* What is wrong in the store, as a JSON object: sound; instances, how many
 * live and were looked at; agenda {rows, due, held}; unseen, how many wait for
 * what is there, or for their turn, and nobody will look at them; stray, how
 * many agenda rows lead to no instance; unserved, how many have been due for a
 * minute while no worker of their group is running; problems, the first hundred
 * of all [{instance, workflow, node, what, text, group}], `what` one of "run",
 * "time", "letter", "event", "items", "stray" and "unserved"; repaired; store {kind,
 * schema, clock_us (how far its clock is ahead of this host's), oldest_lease,
 * oldest_transaction, bytes, free_bytes (of a file), wal_bytes, dead_rows,
 * tables [{table, rows, dead, bytes}] (of a server, the largest first), hidden:
 * which of these this role may not see, or not all of it}; warnings [{what,
 * text}], `what` one of "clock" (more than a second), "transaction" (open for
 * more than an hour), "wal" (more than a GB) and "dead" (a table with more dead
 * rows than others, and 10,000). What a store does not have is null. It
 * reads in pages, without locks, beside workers at work. `repair`, when not 0:
 * the unseen are put on the agenda, so that a worker looks at them, stray rows
 * are taken off, and what the unserved were asked, to end as a rule, is done.
 * The text is the caller's, for pawl_free. Fails as the store does: PAWL_BUSY,
 * PAWL_UNREACHABLE, PAWL_READONLY for a repair.
 *
 *   rc = pawl_health(engine, 0, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_health(pawl_engine *engine, int repair,
                                            char **out, pawl_error *err);

/* Takes away what is past its time: instances that have ended, with all that is
 * theirs, and what else nobody needs any more. `options`: a JSON object or
 * NULL, keys:
 *   retain_us            how long instances are kept that have ended, in
 *                        whatever way
 *   completed_us, failed_us, cancelled_us   the same of one way
 *   deleted_us           since they were deleted, if that is sooner
 *   published_us         rows of the outbox, since they were published (7 days)
 *   tasks_us             tasks that are over, of instances that go on
 *   attributes_us        those that are found still by keep_attributes, since
 *                        they were purged
 *   audit_us             entries of the audit that no history has
 *   revisions_us         revisions of workflows, since another took their place
 *   executors_us         executors, since their last heartbeat (7 days)
 *   archive              true: instances are archived, and not purged, and
 *                        told as "archived" beside "removed"
 *   keep_attributes      true: those that are purged are found by them still
 *   limit                so many rows and instances go at most; all
 *   dry_run              only count
 *   share                of its time, in percent, that it works; the rest of it
 *                        it rests, between transactions. A small part while
 *                        instances begin, end or come to wait in this store,
 *                        else 100
 *   by                   who asks: if anything went, the audit has one entry
 *                        "pruned" for it all, of no instance, with how much
 *                        ("instances 7, outbox 3")
 * What is not given is as the instance's definition says (`retain`), else as
 * the engine was told (pawl_config.retain), else kept. Expired events go, and
 * what an earlier purge has left. Instances are kept beyond their time while
 * their parents live, while children live that end with them, while they have
 * messages that are not delivered, emitted what is not published, or are held.
 *
 * Each transaction is short: it takes as much as fits into some 12 ms, by those
 * before it. Others work meanwhile. One such call, of any
 * executor, is at work in a store at a time: PAWL_BUSY. It returns when it is
 * done, or after pawl_interrupt; what was cut short, by that or by a crash, goes
 * on with the next. `out` (may be NULL): JSON, for each of instances, deleted,
 * outbox, tasks, attributes (so many instances), audit, events, revisions and
 * executors {"removed","kept"},
 * where kept counts by why; freed_bytes (SQLite gives them back), longest_us
 * (so long its longest transaction held its locks), rested_us, finished, dry_run. The text
 * is the caller's. PAWL_INVALID.
 *
 *   rc = pawl_prune(engine, "{\"retain_us\":2592000000000}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_prune(pawl_engine *engine,
                                           const char *options, char **out,
                                           pawl_error *err);

/* Copies a SQLite store, also one in memory, to a file at `path`, as it is when
 * the call begins: whole and consistent, while others write, who do not wait
 * for it. The file appears there once all of it is on disk; when the call
 * fails, or the process dies, what was there stays. The call returns when it is
 * done, or after pawl_interrupt (PAWL_INTERRUPTED). What executors held at that
 * moment runs again where the copy is opened. `options`: a JSON object or NULL,
 * keys: replace (true: a store that is at `path` gives way to the whole copy, in
 * one step; it may be open nowhere). `out` (may be NULL): JSON {"file","bytes"},
 * the caller's. PAWL_EXISTS: a file is there. PAWL_NOT_A_STORE: one that is to
 * give way is something else; PAWL_CONFLICT: it is the store itself; PAWL_BUSY:
 * somebody has it open, or another backup is on its way there.
 * PAWL_UNSUPPORTED: a store in PostgreSQL, for which there is pg_dump.
 * PAWL_NOTFOUND (no such folder), PAWL_READONLY, PAWL_FULL, PAWL_INVALID.
 *
 *   rc = pawl_backup(engine, "slot-2.db", "{\"replace\":true}", NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_backup(pawl_engine *engine,
                                            const char *path,
                                            const char *options, char **out,
                                            pawl_error *err);

/* The same into memory, for a host that writes files in its own way: the bytes
 * that the file would have, for pawl_free. `out` is the caller's. Fails as
 * pawl_backup does, but for the file: PAWL_UNSUPPORTED, PAWL_NOMEM.
 *
 *   rc = pawl_backup_bytes(engine, &bytes, &size, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_backup_bytes(pawl_engine *engine,
                                                  char **out, size_t *size,
                                                  pawl_error *err);

/* What a backup has copied takes the place of all that is in the store, also of
 * one in memory: as one transaction, on disk when the call returns; when it
 * fails, or the process dies, the store is as it was. `path` is a store's file,
 * which stays as it is. Leases in it count no more: what was held when it was
 * copied runs again, and so does what has waited in ctx.await here. What this
 * engine has loaded is stored again, so that it runs; other executors that have
 * the store open should open it anew. Times are as they were: what was to be
 * due meanwhile is due now, unless the config's clock was set back, too.
 * `out` (may be NULL): JSON {"file","bytes"}, the caller's. PAWL_NOTFOUND,
 * PAWL_NOT_A_STORE, PAWL_CORRUPT (it is looked through first), PAWL_STORE_OLD
 * (migrate it), PAWL_STORE_NEW; PAWL_CONFLICT: it has other shards than the
 * store. PAWL_UNSUPPORTED: a store in PostgreSQL, for which there is
 * pg_restore. PAWL_BUSY, PAWL_READONLY, PAWL_FULL, PAWL_INTERRUPTED.
 *
 *   rc = pawl_restore(engine, "slot-2.db", NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_restore(pawl_engine *engine,
                                             const char *path, char **out,
                                             pawl_error *err);

/* The same of what pawl_backup_bytes gave; the bytes are borrowed for the call.
 * Fails as pawl_restore does, but for the file: PAWL_NOT_A_STORE, PAWL_CORRUPT,
 * PAWL_UNSUPPORTED.
 *
 *   rc = pawl_restore_bytes(engine, bytes, size, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_restore_bytes(pawl_engine *engine,
                                                   const void *bytes,
                                                   size_t size,
                                                   pawl_error *err);

/* ---- workflows --------------------------------------------------------- */

/* Loads a workflow file, checks the whole of its graph and registers its
 * version, so that instances of it can be started and run here. `out` (may be
 * NULL): JSON {"workflow","version","sha256","nodes",...}, the caller's. One
 * whose version is "auto" gets its number here: that of the store's newest when
 * the content is the same, else the next.
 * PAWL_DEFINITION says what is drawn wrong and where, or what its Lua raised,
 * PAWL_NOTFOUND that there is no such file, PAWL_EXISTS that this version is in
 * use and reads otherwise.
 *
 *   rc = pawl_load(engine, "order.lua", NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_load(pawl_engine *engine,
                                          const char *path, char **out,
                                          pawl_error *err);

/* The same for text in memory; `name` stands for the file in messages. `out` is
 * the caller's. Fails as pawl_load does, but for PAWL_NOTFOUND.
 *
 *   rc = pawl_load_text(engine, "quest.lua", QUEST, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_load_text(pawl_engine *engine,
                                               const char *name,
                                               const char *text, char **out,
                                               pawl_error *err);

/* pawl_load of a file, or pawl_load_text where `text` is not NULL, with a trust
 * of its own, as the config's `trust` says one: for a mod among a game's own
 * quests. NULL: the engine's. What is loaded as limited, or isolated, is stored
 * as such, and runs so wherever it comes from the store. PAWL_LIMIT: loading it
 * met a limit, or its code or what it starts is not granted to it, or that is
 * the code of another author, or the host's own; PAWL_INVALID: there is no such
 * trust; PAWL_UNSUPPORTED: the program that isolated ones run in is not there.
 * Else as pawl_load. `out` is the caller's.
 *
 *   rc = pawl_load_as(engine, "quest.lua", NULL,
 *                     "{\"author\":\"spells\",\"memory\":4194304}", NULL,
 *                     &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_load_as(pawl_engine *engine,
                                             const char *name,
                                             const char *text,
                                             const char *trust, char **out,
                                             pawl_error *err);

/* The same for a workflow object that a program has built: on top of the
 * config's lua_State's stack, from which it is popped. Such a workflow is
 * inline: only engines that have loaded it run it. `out` is the caller's.
 * PAWL_MISUSE: the engine has
 * a private state, or there is nothing on the stack. Else as pawl_load.
 *
 *   lua_getglobal(L, "flow");
 *   rc = pawl_load_stack(engine, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_load_stack(pawl_engine *engine,
                                                char **out, pawl_error *err);

/* Registers workflow files without running them here: all of them, in one
 * transaction, or none. `options`: a JSON object, keys: files (a list of
 * paths), by. `out` (may be NULL): JSON {"stored","files":[{"file","workflow",
 * "version","sha256","outcome"}]}, the caller's, `outcome` one of "new", "same"
 * (it was there) and "replaced" (a version that nothing used). What is wrong
 * with a file is no error of the call: `stored` is false then, and the file has
 * "error" {"code","message","where","hint"}, as pawl_load would fail; the
 * others have what would have come of them. PAWL_INVALID; PAWL_BUSY: others
 * keep registering the same ones.
 *
 *   rc = pawl_deploy(engine, "{\"files\":[\"order.lua\",\"ship.lua\"]}", &json,
 *                    &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_deploy(pawl_engine *engine,
                                            const char *options, char **out,
                                            pawl_error *err);

/* Checks a file as pawl_load does, without the store being written. `out` (may
 * be NULL): its graph as JSON, the caller's. PAWL_DEFINITION, PAWL_NOTFOUND.
 *
 *   rc = pawl_check(engine, "order.lua", &graph, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_check(pawl_engine *engine,
                                           const char *path, char **out,
                                           pawl_error *err);

/* Workflows that are registered, as a JSON array, by code and version:
 * workflow, version, revision, name, description, active, suspended, inline,
 * nodes, sha256, created, modified, by, reason. `query`: a JSON object or NULL,
 * keys: workflow, prefix (of codes), search (a text in code, name or
 * description, in either case), active (true: whose instances may be started;
 * false: the others), limit (all), after ("CODE@VERSION" of a page's last row),
 * live (true: also `live`, how many instances are unfinished). The text is the
 * caller's. PAWL_INVALID says what of the query is wrong.
 *
 *   rc = pawl_workflow_list(engine, "{\"live\":true}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_list(pawl_engine *engine,
                                                   const char *query,
                                                   char **out,
                                                   pawl_error *err);

/* All that is stored of a workflow, as a JSON object: workflow, version,
 * revision, current (it is the revision that runs), name, description, active,
 * suspended, inline, sha256, created, modified, group, by, reason; source
 * (null when it is inline), bundle (an object: the source of each module),
 * graph; schema (what the graph declares as its input, as JSON Schema, where it
 * does); revisions [{revision, current, sha256, created, modified, by,
 * reason}], oldest first. `query`: a JSON object or NULL, keys: version (the
 * newest that is active, else the newest), revision (of a version; the one that
 * runs). The text is the caller's. PAWL_NOTFOUND, PAWL_INVALID.
 *
 *   rc = pawl_workflow_get(engine, "order.fulfil", "{\"version\":2}", &json,
 *                          &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_get(pawl_engine *engine,
                                                  const char *code,
                                                  const char *query,
                                                  char **out, pawl_error *err);

/* The graph of a registered workflow as JSON, the caller's. `version` 0: the
 * newest. PAWL_NOTFOUND, with the nearest code as a hint.
 *
 *   rc = pawl_workflow_graph(engine, "order.fulfil", 0, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_graph(pawl_engine *engine,
                                                    const char *code,
                                                    int64_t version,
                                                    char **out,
                                                    pawl_error *err);

/* Replaces the source of a version that is registered, and whose instances go
 * on with it from when they are claimed next. The graph must be the same
 * (PAWL_EXISTS says what differs); the older source is kept as a revision.
 * `path` NULL: as with pawl_load_stack. `options`: a JSON object or NULL,
 * keys: by, reason. `out` (may be NULL): JSON {"workflow","version",
 * "revision",...}, the caller's. PAWL_NOTFOUND: nothing to fix is registered.
 *
 *   rc = pawl_workflow_hotfix(engine, "order.lua", "{\"reason\":\"rounding\"}",
 *                             NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_hotfix(pawl_engine *engine,
                                                     const char *path,
                                                     const char *options,
                                                     char **out,
                                                     pawl_error *err);

/* The same for text in memory; `name` stands for the file in messages. `out` is
 * the caller's. Fails as pawl_workflow_hotfix does: PAWL_EXISTS, PAWL_NOTFOUND.
 *
 *   rc = pawl_workflow_hotfix_text(engine, "order.lua", text, NULL, NULL, &err);
 */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_hotfix_text(
    pawl_engine *engine, const char *name, const char *text,
    const char *options, char **out, pawl_error *err);

/* Changes a whole workflow. `change`: a JSON object, keys: kind, by, reason,
 * workflow and, by kind:
 *   "suspend"     workflow or prefix (of codes): no step of its instances
 *                 begins; new ones may be started and wait
 *   "resume"      the same one; shift (true: their times are put off by as
 *                 long as it was suspended)
 *   "activate", "deactivate"   version: whether new instances of it may be
 *                 started; those that run go on
 *   "off"         no version of it starts, also none that comes later; those
 *                 that run go on
 *   "on"          those versions start again that did before
 * `out` (may be NULL): JSON of how it is now, the caller's. PAWL_CONFLICT: it
 * is so already. PAWL_NOTFOUND, PAWL_INVALID.
 *
 *   rc = pawl_workflow_change(engine, "{\"kind\":\"suspend\","
 *                             "\"prefix\":\"billing.\"}", NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_change(pawl_engine *engine,
                                                     const char *change,
                                                     char **out,
                                                     pawl_error *err);

/* Has the instances of one version, unfinished or failed, go on in another,
 * each in a transaction of its own; one that failed where it stood, when it is
 * tried again. `transfer`: a JSON object, keys: workflow, from, to (versions),
 * map (nodes' names, old to new), by, reason; limit and after (an id) for one
 * page; plan (true: nothing is changed). `out`: {"gone":[ids],"asked":[ids],
 * "refused":[{"id","token","node","reason"}],"begun":[{"node","on","count"}],
 * "ended":[...],"next":id}: those asked are held by somebody, who does it
 * before the next step. Of a plan, gone are those that could. Begun and ended
 * are boundaries (`on_timer`, `on_event`) that are new there, or there no more,
 * and at how many places instances that can go stand at what they are on.
 * The text is the caller's. PAWL_NOTFOUND: no such version. PAWL_INVALID.
 *
 *   rc = pawl_workflow_transfer(engine, "{\"workflow\":\"order.fulfil\","
 *                               "\"from\":1,\"to\":2,\"plan\":true}", &json,
 *                               &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_transfer(pawl_engine *engine,
                                                       const char *transfer,
                                                       char **out,
                                                       pawl_error *err);

/* Sets a breakpoint, or takes some away: a token that comes to that node halts
 * before it begins, with no lease and nothing counted, until it is let go on
 * (`continue` and `step` of pawl_change), or the breakpoint's time is over.
 * `change`: a JSON object, keys: kind, workflow, node, tenant, by, reason and,
 * by kind:
 *   "set"         when (an expression in Lua over vars, input, key and
 *                 attempt; where it fails the token halts, and says so),
 *                 lasts_us (an hour), version (whose graph has the node; the
 *                 newest). In all versions; one that is there is set anew
 *   "remove"      without node: all of the workflow; all: of all. What has
 *                 halted there goes on
 * Who holds an instance heeds it after its next commit. `out` (may be NULL):
 * {"workflow","node","expires"}, or {"removed","continued"}, the caller's.
 * PAWL_NOTFOUND: no such workflow, or breakpoint. PAWL_INVALID.
 *
 *   rc = pawl_breakpoint_change(engine, "{\"kind\":\"set\","
 *                               "\"workflow\":\"shop.order\","
 *                               "\"node\":\"ship\"}", NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_breakpoint_change(pawl_engine *engine,
                                                       const char *change,
                                                       char **out,
                                                       pawl_error *err);

/* The breakpoints that are set, as a JSON array: workflow, node, when,
 * tenant, by, reason, set, expires. `query`: a JSON object or NULL, keys:
 * workflow, node, tenant. What has halted is in pawl_list, `halted`. The text
 * is the caller's. PAWL_INVALID says what of the query is wrong.
 *
 *   rc = pawl_breakpoint_list(engine, NULL, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_breakpoint_list(pawl_engine *engine,
                                                     const char *query,
                                                     char **out,
                                                     pawl_error *err);

/* ---- functions for handlers -------------------------------------------- */

/* What a handler asks a function of the host's; borrowed for the call. */
typedef struct pawl_wanted {
  const char *name; /* the function's: one may serve several */
  const char *instance, *workflow, *node;
  int64_t attempt;
  const char *key;   /* "ID/token/visit/n": of this call, the n-th that the
                        handler makes; the same in every attempt, as long as
                        those before it are, so what was done is not done twice */
  const char *input; /* JSON, ended by a zero; "null": nothing was given */
  size_t length;
  int32_t again;     /* 1: it was said to be under way: what of it? */
  int32_t gone;      /* 1: the same, and nobody waits for it any more, as the
                       handler was ended: what is said is not heard */
  int32_t may_wait;  /* 0: it cannot be under way here */
  char reserved[36]; /* zero */
} pawl_wanted;

/* Does it, for a handler that stands still meanwhile. PAWL_OK: *out, if it is
 * set, is one JSON value that pawl_format or a call of pawl.h gave, which goes
 * to pawl and is what the handler gets; else that gets nil. PAWL_BUSY: it is
 * under way; the handler waits, as in ctx.await: others go on, its instance
 * stays leased, and the function is asked again in each tick, until it says
 * otherwise, the node's timeout passes, or the instance is cancelled. Anything
 * else is an error of the handler's, with `err` as far as it was filled in:
 * `raised` is its code for `on_error`, as error{ code = ... } has it, `message`
 * its text. PAWL_INVALID: it is refused for good, and not tried again, as are
 * PAWL_VALUE, PAWL_LIMIT and PAWL_MISUSE.
 * It may call what callbacks may, and may not jump out. */
typedef pawl_code (*pawl_function_fn)(void *ud, const pawl_wanted *asked,
                                      char **out, pawl_error *err);

/* Lends a function to handlers: ctx.host.NAME(value) calls `fn` with `ud`, and
 * returns what it gives. Values are JSON on the way, integers and floats apart.
 * All handlers have it, those that choose and match too, which should only ask;
 * but only the run of a step and `undo` may wait. `name`: as Lua has names.
 * `destroy` (may be NULL) is called once with `ud`: when the engine is closed,
 * or at once, when this fails. PAWL_EXISTS: there is one of this name.
 * PAWL_INVALID, PAWL_NOMEM.
 *
 *   rc = pawl_register(engine, "spawn", spawn, world, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_register(pawl_engine *engine,
                                              const char *name,
                                              pawl_function_fn fn, void *ud,
                                              void (*destroy)(void *ud),
                                              pawl_error *err);

/* ---- starting ---------------------------------------------------------- */

/* Starts an instance of the workflow `code`; on return it is stored and will
 * run, whatever dies next. `input`: any JSON value (NULL: {}). `options`: a
 * JSON object or NULL, keys: key (idempotency: a second start returns the first
 * instance), on_existing and reuse (below), version, priority, delay_us or
 * at_us, deadline_us (from its beginning on; in place of its workflow's),
 * max_bytes (that its variables may have; fewer than the engine's), tenant,
 * group, correlation, business_key, metadata, by (who starts it: told as
 * started_by), attributes ({"name":{"type","value"}}, as pawl_get tells them),
 * id (a UUIDv7 drawn by the caller, which makes repeating the call
 * harmless; PAWL_CONFLICT: it is another workflow's instance. With a key its
 * last 4 digits are replaced by those of the key, as they name the shard: the
 * call gives the id that it has). `id`: the
 * instance's, written with 36 characters and a zero. `created` (may be NULL):
 * 0 when the key named an earlier instance.
 * PAWL_NOTFOUND: there is no such version. Where none is asked for, a code that
 * nobody knows yet is no error: the instance waits for who loads it (see
 * unknown_fail). PAWL_VALUE and PAWL_INVALID say what of input or options is
 * wrong; PAWL_LIMIT: too large.
 * When the key is another instance's, `on_existing` says what follows: "return"
 * gives that one; "fail" is PAWL_EXISTS, with its id in the message; "replace"
 * asks it to cancel, and the new one has the key at once, in one transaction.
 * Once that one has ended, `reuse` says whether a new one may have its key:
 * "never", "ended", or "failed", of those alone; where not, it is returned, or
 * it is PAWL_EXISTS. Who has lost the key is shown with it, and with its
 * `successor`; it cannot be retried or restarted.
 *
 *   char id[37];
 *   rc = pawl_start(engine, "order.fulfil", "{\"price\":3}",
 *                   "{\"key\":\"order-17\"}", id, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_start(pawl_engine *engine,
                                           const char *code, const char *input,
                                           const char *options, char id[37],
                                           int *created, pawl_error *err);

/* Starts many instances of one workflow. `items`: a JSON array of objects,
 * each with `input` and the options of one instance (but for version), over
 * `options`, those of all (but for key and id). `out`: {"ids":[...],
 * "created":[...]}, both in the order of `items`; the caller's.
 * Every item is checked before anything is stored: an error then begins with
 * "item N: ", counted from 1. They are stored in batches of up to 1,000, each
 * whole or not at all, also where a key is in use and refused; lists of up to
 * 1,000 items (and 8 MB) in a store with one shard are one batch, in one with
 * several each shard's items are batches of their own. When a later one fails,
 * the message begins with "N of M instances are stored: "; in a store with one
 * shard they are the first N. An error that begins otherwise has stored
 * nothing, but for PAWL_UNREACHABLE, or a PAWL_NOMEM that says so: nobody knows
 * of the batch whose answer was lost. Within a transaction that is open it is
 * all of them, or none. Where the workflow is not loaded here, each batch takes
 * the version that is the newest active one then. Calling again with keys or
 * ids in the items is harmless.
 * Fails as pawl_start does: PAWL_NOTFOUND, PAWL_INVALID, PAWL_EXISTS.
 *
 *   rc = pawl_start_many(engine, "mail.send", "[{\"input\":1},{\"input\":2}]",
 *                        NULL, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_start_many(pawl_engine *engine,
                                                const char *code,
                                                const char *items,
                                                const char *options,
                                                char **out, pawl_error *err);

/* Begins a transaction of the caller's own: until it is committed or rolled
 * back, what this engine is asked for is one transaction, with the caller's
 * own SQL. Starts, signals, changes, tasks, definitions and all that reads take
 * part, and see what was done before; each call is all or nothing in it, so that
 * one that is refused leaves the others. Begun again inside, it is a savepoint,
 * which ends by itself. What was loaded is unknown again when it is rolled back.
 * One pawl_bulk sees to 1,000 instances at most, and purges take 10,000 rows
 * (PAWL_LIMIT). PAWL_MISUSE, which says why, from what takes no part, as it
 * waits, runs handlers, cannot be undone or is many transactions: pawl_tick,
 * pawl_tick_instance, pawl_next_due, pawl_wait, pawl_result, pawl_ask, pawl_fd,
 * pawl_save; pawl_workflow_transfer, pawl_workflow_change of the kind resume with
 * `shift`; pawl_breakpoint_change; pawl_export with `move`; pawl_outbox_relay,
 * pawl_health, pawl_prune, pawl_backup, pawl_backup_bytes, pawl_restore and
 * pawl_restore_bytes.
 * Nobody else sees anything of it before the commit, and is told of it then:
 * an event that goes to all that wait for it is posted behind the commit
 * (`reached` is 0), and a change is asked for (`done` is 0), but for archive,
 * unarchive and purge, which are done. What it touches
 * stays locked; on SQLite nobody else can write meanwhile, so it should be
 * short: below a second.
 *
 *   rc = pawl_transaction_begin(engine, &err);
 *   if (rc == PAWL_OK)
 *     rc = pawl_transaction_query(engine, "insert into orders values ($1)",
 *                                 "[17]", NULL, NULL, &err);
 *   if (rc == PAWL_OK) rc = pawl_start(engine, "shop.order", ..., &err);
 *   if (rc == PAWL_OK) rc = pawl_transaction_commit(engine, &err);
 *   else (void)pawl_transaction_abort(engine, NULL); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_transaction_begin(pawl_engine *engine,
                                                       pawl_error *err);

/* One statement of the caller's own, in the transaction that is open, with the
 * database's placeholders: `?`, `$1`. `params`: a JSON array of their values,
 * at most 100, or NULL. `out` (may be NULL): the rows, a JSON array of objects,
 * the caller's; `changed` (may be NULL): how many rows it wrote. As in ctx.db:
 * PAWL_MISUSE when it would end the transaction or write pawl's tables,
 * PAWL_TIMEOUT after a second on SQLite, ten on PostgreSQL. When it fails its
 * transaction has failed, and can only be rolled back.
 *
 *   rc = pawl_transaction_query(engine, "select id from orders", NULL, NULL,
 *                               &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_transaction_query(
    pawl_engine *engine, const char *sql, const char *params, int64_t *changed,
    char **out, pawl_error *err);

struct sqlite3;

/* The connection of the transaction that is open, on SQLite, for the program's
 * own statements by SQLite's own functions: prepared once, bound without JSON,
 * read row by row. It is the SQLite that pawl is linked with. The handle is the
 * engine's, until pawl_close; a connection that is lost is another one behind
 * it. Statements that were prepared may be kept, and finalized when they are
 * not needed. They run between begin and the commit or abort that ends the
 * outermost alone, from outside of handlers and callbacks, and beside them all
 * calls that take part. What pawl_transaction_query refuses is SQLITE_AUTH, and
 * told to the log; behind the transaction everything is, and what would write
 * is not committed. One that is not at its end as the outermost is committed
 * has that fail, PAWL_MISUSE. What rolls the transaction back (`or rollback`)
 * has every call fail, PAWL_STORE, until it is aborted. No limit of time is
 * set: nobody else can write meanwhile. The connection's callbacks (authorizer,
 * busy, progress, commit and log) and its settings are pawl's; result codes are
 * extended ones. PAWL_MISUSE: no transaction is open. PAWL_UNSUPPORTED: a store
 * in PostgreSQL.
 *
 *   rc = pawl_transaction_sqlite(engine, &db, &err);
 *   if (rc == PAWL_OK && sqlite3_step(insert) != SQLITE_DONE) ... */
PAWL_API PAWL_MUSTUSE pawl_code pawl_transaction_sqlite(pawl_engine *engine,
                                                        struct sqlite3 **out,
                                                        pawl_error *err);

/* Ends the innermost that is open. When it fails nothing of it has happened,
 * and it is rolled back, with one exception: PAWL_UNREACHABLE when the
 * connection is lost while the outermost is committed, PAWL_NOMEM when it was
 * given up for want of memory, and says so. Then nobody knows: look
 * for what it did; with ids or keys of one's own it may be repeated. What was
 * loaded in it is to be loaded again.
 *
 *   rc = pawl_transaction_commit(engine, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_transaction_commit(pawl_engine *engine,
                                                        pawl_error *err);

/* Rolls the innermost back that is open. PAWL_MISUSE: none is.
 *
 *   if (rc != PAWL_OK) (void)pawl_transaction_abort(engine, NULL); */
PAWL_API pawl_code pawl_transaction_abort(pawl_engine *engine,
                                          pawl_error *err);

/* Sends an event, stored when the call returns. `signal`: a JSON object, keys:
 *   name      dotted words: "payment.received"; all others may be left out
 *   key       text that ties it to waits: "order-17"
 *   instance  goes into this one's inbox alone; the id may be shortened
 *   data      any JSON value
 *   id        of the event, with `source` ("" when left out): what was seen
 *             before, within its time to live, is accepted and ignored
 *   ttl_us    how long waits which begin later may still find it by its key;
 *             a day
 *   start     {"workflow","input","options"}: starts that workflow as
 *             pawl_start does, and signals the instance in the same transaction
 *   by        who sends it
 *   tenant    whose it is: it reaches, starts and is kept for this one's alone;
 *             left out: those that have none (of a tenant's engine: its own)
 * Without instance and start it reaches all that wait for its name, or a
 * pattern that means it, with its key (without one: those that wait without),
 * and starts the workflows that it triggers.
 * `reached` (may be NULL): how many instances it reached or started.
 * `out` (may be NULL): JSON {"reached":n,"id":"...","instance":"...",
 * "created":bool,"repeated":bool}, the caller's; instance: of one that was
 * named or started, created: it was started now. PAWL_ALREADY_FINISHED when
 * that has ended; PAWL_NOTFOUND, PAWL_INVALID.
 *
 *   rc = pawl_signal(engine, "{\"name\":\"payment.received\","
 *                    "\"key\":\"order-17\"}", &reached, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_signal(pawl_engine *engine,
                                            const char *signal,
                                            int64_t *reached, char **out,
                                            pawl_error *err);

/* ---- running ----------------------------------------------------------- */

/* What one tick did. */
typedef struct pawl_tick_stats {
  int64_t claimed;     /* instances leased in this tick */
  int64_t steps;       /* handlers run */
  int64_t commits;     /* transactions */
  int64_t committed;   /* decisions stored */
  int64_t lost;        /* decisions refused: another executor had taken over */
  int64_t ended;       /* instances that ended */
  int64_t held;        /* instances still leased when the tick returned */
  int64_t next_due_us; /* when to look again; 0: now, as of a tick that failed
                          or was interrupted; INT64_MAX: nothing due */
  int64_t waiting;     /* of those leased, instances whose handlers wait */
  int64_t over_us;     /* that it took beyond its budget; 0: it kept it */
  /* where its time went: */
  int64_t claim_us;   /* leases taken, and given back */
  int64_t load_us;    /* what instances need beside their row */
  int64_t run_us;     /* handlers */
  int64_t commit_us;  /* what they did, stored */
  int64_t wait_us;    /* for locks that others held, whatever they were for */
  int64_t rest_us;    /* looking, delivering */
  int64_t unsaved;    /* commits that a power cut could take; see
                          PAWL_DURABLE_..., on PostgreSQL those since the last
                          pawl_save, at most */
  int64_t unsaved_us; /* how long ago the first of them was; 0: none */
  int64_t unwritten;  /* of those: what killing the process would take, too;
                          as long as they are there no other process can write
                          to the file */
  int64_t keep_us; /* keeping house: what is past its time, histories that are
                      kept short, children that end, counters, heartbeats */
  int64_t put_off; /* pieces of that for which it had no time: the next ticks
                      go on */
  int64_t outside; /* handlers that wait for more than a time: a descriptor, or
                      what they ask for again and again */
  int64_t reserved[2]; /* zero */
} pawl_tick_stats;
/* Claims, runs and commits until nothing is due or `budget_us` is spent (0: one
 * round). What it costs to claim, load, run and commit is measured, and what
 * would not fit any more is not begun; one handler is, at least. What it does
 * besides has a quarter of the budget, if that is 100 ms or less, and goes on
 * in the next ticks; what found nothing left eight times in a row takes a
 * quarter once. What was claimed and not run stays held for the next tick
 * (`held` less `waiting` of the stats), which begins with it; it is given back
 * by that one when it was not run for a while, and before pawl_wait, whatever
 * changes that instance or its workflow, and pawl_close. Everything begun is
 * committed on return. `stats` may be NULL. A failing instance is not an error
 * of the tick. Handlers that wait are kept for the next tick, each of which
 * asks all of them again. pawl_interrupt ends it early, which is no failure:
 * what was done is stored. It fails as the store does: PAWL_BUSY and
 * PAWL_UNREACHABLE pass, and the same call may succeed.
 *
 * With a budget, and where the config does not say busy_us, it waits no longer
 * than what is left of it for others who hold a SQLite file. What it had no time
 * for is left to the next one: PAWL_OK, with next_due_us 0 and wait_us as it
 * was; PAWL_BUSY once that has gone on for 5 s from one to the next.
 *
 *   while (running) {
 *     rc = pawl_tick(engine, 2000, &stats, &err); at most two milliseconds
 *     draw_frame();
 *   } */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tick(pawl_engine *engine,
                                          int64_t budget_us,
                                          pawl_tick_stats *stats,
                                          pawl_error *err);

/* The same for one instance alone, whatever its group or prefix. `status`
 * (may be NULL; never freed): "done" when it has ended, "leased" while another
 * executor holds it, "later" when it is due at stats->next_due_us or its
 * handler waits here, "now" when there is more to do. PAWL_NOTFOUND,
 * PAWL_AMBIGUOUS; else as pawl_tick, save that it waits for a file that others
 * hold as any call does.
 *
 *   do rc = pawl_tick_instance(engine, id, 0, NULL, &status, &err);
 *   while (rc == PAWL_OK && !strcmp(status, "now")); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tick_instance(
    pawl_engine *engine, const char *id, int64_t budget_us,
    pawl_tick_stats *stats, const char **status, pawl_error *err);

/* When the engine must next be ticked, in microseconds since 1970: 0 now,
 * INT64_MAX nothing is scheduled. Only looks: nothing is written, and on SQLite
 * nothing is asked, either, as long as nobody has written; PostgreSQL is asked
 * each time. Fails as the store does: PAWL_UNREACHABLE.
 *
 *   rc = pawl_next_due(engine, &due_us, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_next_due(pawl_engine *engine,
                                              int64_t *due_us,
                                              pawl_error *err);

/* Takes to the disk what was committed and is not there yet, and returns when
 * it is: what PAWL_DURABLE_GROUPED and _SAVE leave to be done. Nothing to do is
 * PAWL_OK. PAWL_STORE: the disk has failed, and what it has of the commits
 * since the last save is not known; PAWL_UNREACHABLE.
 *
 *   rc = pawl_save(engine, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_save(pawl_engine *engine,
                                          pawl_error *err);

/* Is anything of this engine's group held by anybody, this engine included?
 * *busy is 1 or 0. Fails as the store does: PAWL_UNREACHABLE.
 *
 *   rc = pawl_busy(engine, &busy, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_busy(pawl_engine *engine, int *busy,
                                          pawl_error *err);

/* Sleeps for `for_us`, until a wake-up from the store, pawl_interrupt, or until
 * a handler that waits can go on. The one call that sleeps; workers use it,
 * embedders need not. 0 or less: takes in what has come, and does not sleep. Being woken is
 * PAWL_OK; PAWL_UNREACHABLE when the store is gone.
 *
 *   rc = pawl_wait(engine, 1000000, &err); at most a second */
PAWL_API PAWL_MUSTUSE pawl_code pawl_wait(pawl_engine *engine, int64_t for_us,
                                          pawl_error *err);

/* A descriptor for the program's own poll: it can be read when somebody says that
 * there is something to do (PostgreSQL's LISTEN), or the connection is lost.
 * Then, and before it is polled, pawl_wait with 0 takes that in, also what came
 * while something else was asked. -1: there is none, of SQLite, behind a pooler
 * or of a replica: who polls looks now and then, by pawl_next_due. It is the
 * engine's: not to be read or closed, and another one after the connection was
 * lost, so ask each time. PAWL_UNREACHABLE.
 *
 *   rc = pawl_wait(engine, 0, &err);
 *   if (rc == PAWL_OK) rc = pawl_next_due(engine, &due_us, &err);
 *   if (rc == PAWL_OK) rc = pawl_fd(engine, &fd, &err); then poll, and tick */
PAWL_API PAWL_MUSTUSE pawl_code pawl_fd(pawl_engine *engine, int *fd,
                                        pawl_error *err);

/* Ends the call under way: a tick (which releases what was not begun), a wait,
 * a relay, a backup, a prune, a bulk (behind the instance that it is at); or, when none is, the next one, before it does
 * anything. What was done is stored, and nothing that is due is forgotten: such
 * a tick says that it is to be called again. The handler that runs is stopped,
 * too, at any trust level, even where it catches errors, unless the config says
 * never_stop: it has failed with "interrupted", and is tried again later, as if
 * memory had been short. A definition that is loaded meanwhile, by a call or by
 * a tick, into a state of the engine's own, is not loaded to its end, also where
 * its file catches errors: such a call is PAWL_INTERRUPTED, and has changed
 * nothing.
 *
 * What a trusted handler does where Lua counts no instructions comes to its end
 * first: a C function (one string.find or gsub, however long, os.execute, a
 * function of the program's) with what it calls on a thread of the program's, a
 * finalizer (__gc), and closing the variables of a handler that waited. A limited
 * or isolated workflow has no such functions, and finalizers neither. In the
 * program's own state (`lua` of the config) a handler is stopped by a hook,
 * which is on its thread, and on coroutines that it makes, while it runs, and is
 * taken away then: not where that state has a hook already, nor within
 * coroutines that were made elsewhere; and what is loaded there is loaded to its
 * end. Legal from another thread and from a
 * signal handler. NULL is accepted. Cannot fail.
 *
 *   static void on_sigint(int sig) { pawl_interrupt(the_engine); } */
PAWL_API void pawl_interrupt(pawl_engine *engine);

/* ---- instances: asking ------------------------------------------------- */

/* Full id of a shortened one, as all calls take it: 4 or more hexadecimal
 * digits of its beginning, or of its end, of which 8 are asked for where its
 * shard has more than 100,000; of a whole one, that it is there. `id` is
 * written with 36 characters and a zero. PAWL_AMBIGUOUS, PAWL_NOTFOUND (all
 * were looked at), PAWL_INVALID: it is no part of an id.
 *
 *   rc = pawl_find(engine, "019aa1f2", id, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_find(pawl_engine *engine,
                                          const char *text, char id[37],
                                          pawl_error *err);

/* One instance as a JSON object: id, workflow, version, status, input,
 * variables, output, error, tokens, times, and, by need, parent, root,
 * parent_node, parent_index, trigger_event, trigger_source, compensation,
 * deadline, max_bytes, suspended_at, trimmed {upto, rows, keep, at} (what is gone of its
 * history), deleted {at, by, reason, purge_at}; of one in the
 * archive archived {at, by, reason}. `id` may be shortened. The text is the
 * caller's, for pawl_free.
 * PAWL_NOTFOUND, PAWL_AMBIGUOUS.
 *
 *   rc = pawl_get(engine, id, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_get(pawl_engine *engine, const char *id,
                                         char **out, pawl_error *err);

/* How one instance stands: "created", "running", "waiting", "suspended",
 * "completed", "failed" or "cancelled", never freed. One row is read: for who
 * asks often. Also of one that is archived, or was purged from there. `id` may
 * be shortened. PAWL_NOTFOUND, PAWL_AMBIGUOUS.
 *
 *   rc = pawl_status(engine, id, &status, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_status(pawl_engine *engine,
                                            const char *id,
                                            const char **status,
                                            pawl_error *err);

/* Waits until an instance has ended, whoever runs it, and tells what came of it:
 * {"id","status","output","error","cancellation"}, as pawl_get has them; the
 * caller's. An instance that failed is an answer, not a failure of this call.
 * `timeout_us`: of the machine's time; 0: only looks, less: without an end. This
 * engine runs nothing meanwhile, and gives back what its ticks hold: who runs
 * the instance itself ticks, and asks afterwards. On PostgreSQL it is woken by
 * the commit that ends it, elsewhere (behind a pooler, too, and where it may
 * only read) it looks every 0.1 s. Also of one that is archived. `id` may be
 * shortened. PAWL_TIMEOUT: ask again; PAWL_INTERRUPTED, PAWL_NOTFOUND,
 * PAWL_AMBIGUOUS, PAWL_UNREACHABLE: as pawl_get.
 *
 *   rc = pawl_result(engine, id, 5000000, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_result(pawl_engine *engine,
                                            const char *id, int64_t timeout_us,
                                            char **out, pawl_error *err);

/* Asks an instance: sends it an event, and waits for what it answers, by the
 * `answer` of the wait that takes it, or by ctx.answer behind that; the
 * caller's. `request`: a JSON object, keys: name and data of the event, event
 * (its id, drawn by the caller: asked again with it, it is not sent again, and
 * has the same answer), by, timeout_us (of the machine's time; none:
 * without an end). The answer is {"id","event","value"}; {"id","event",
 * "error"} where an `answer` has refused it. It waits as pawl_result does.
 * PAWL_TIMEOUT: the event is stored, and may be answered later;
 * PAWL_ALREADY_FINISHED: it has ended, and not answered; else as pawl_signal
 * and pawl_result.
 *
 *   rc = pawl_ask(engine, id, "{\"name\":\"cart.add\",\"data\":7}", &json,
 *                 &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_ask(pawl_engine *engine, const char *id,
                                         const char *request, char **out,
                                         pawl_error *err);

/* Completes what a handler has given the token for, by ctx.callback: its event
 * goes to its instance, with the token as its key and id; once, however often
 * it is asked for. `request`: a JSON object or NULL, keys: data (any JSON
 * value), by. `out` (may be NULL): {"instance","event","repeated"}, the
 * caller's; repeated: that was done before, and this changes nothing.
 * PAWL_NOTFOUND: no such token, whatever is wrong with it; of a good one
 * PAWL_ALREADY_FINISHED: its instance has ended; else as pawl_signal.
 *
 *   rc = pawl_complete(engine, token, "{\"data\":{\"paid\":true}}", NULL,
 *                      &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_complete(pawl_engine *engine,
                                              const char *token,
                                              const char *request, char **out,
                                              pawl_error *err);

/* What handlers have shown of an instance, by ctx.publish: {"NAME":{"value",
 * "updated"},...} by their names; the caller's. `id` may be shortened.
 * PAWL_NOTFOUND, PAWL_AMBIGUOUS.
 *
 *   rc = pawl_published(engine, id, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_published(pawl_engine *engine,
                                               const char *id, char **out,
                                               pawl_error *err);

/* Instances as a JSON array, newest first; the caller's. `query`: a JSON
 * object or NULL, keys: workflow, version, status (a name or a list), tenant,
 * correlation, business_key (with a star at its end: how it begins), key,
 * group, node (where it stands, or ended), error (its code or message; with a
 * star at its end how one of them begins), error_code (of those that have
 * failed, or were suspended by an error: its code alone; with a star how it
 * begins), cancelled_by (who asked for that),
 * compensation (how it stands or has ended, one or a list: "planning",
 * "running", "completed", "completed_with_errors", "stopped"), leased (true or
 * false: an executor holds it, so that it executes now, whatever its status:
 * that tells only what has been recorded), halted (true or false: a token of it
 * stands at a breakpoint), attributes (an object, see below),
 * created_after_us, created_before_us, started_after_us, started_before_us
 * (its first commit; one that is created has none), updated_after_us,
 * updated_before_us,
 * completed_after_us, completed_before_us (at that time or later; earlier),
 * due_before_us (it is to be looked at before then: a timer, a retry, work
 * that nobody has taken), deadline_before_us (of those that live), parent,
 * root (ids: the children of one instance, all that descend from one), waits
 * (true: each has `waits`, what it waits for, see below), deleted (true: those
 * that were, and no others), archived (true: those that were, which have
 * `archived`, and no others), sort ("newest", "oldest", or by a time: see
 * below), reverse (true: the other way round), limit (100), before, after (ids:
 * those older than it; those newer than it; what is nearest to the one that is
 * given), group_by (only of pawl_tally_groups). All must hold. With `error`,
 * `cancelled_by` or `compensation`, completed ones only when `status` names
 * them. PAWL_INVALID says what of it is wrong.
 *
 * `waits` {what, ...} in the words of pawl_explain, as far as one statement
 * tells: "event" {event, key, until}, "person" {title, claimed_by, due},
 * "time" {at}, "retry" {failed, at, error}, "child" {child}, "items" {done,
 * total}, "siblings"; "resume" {by, reason}: it is suspended; "workflow": its
 * workflow is. null of one that has ended, stands in several places, or is a
 * worker's to take.
 *
 * `attributes` {"region":"eu","amount":[">=",100,"<",200],
 * "name":["prefix","a"],"tag":["in","a","b"]}: what each equals; or
 * comparisons (= < <= > >= prefix) and values by turns; or a set of up to 100.
 * A value is a string, a number, a boolean, or {"type","value"} as a start has
 * it. Integers, floats and decimals are compared as numbers, exactly, a float
 * as the decimal that it is written as; strings by their bytes; no value with
 * those of another type.
 *
 * `sort` by "created", "updated" or "completed", the latest first, reads all
 * that the query finds: exact up to 10,000, PAWL_INVALID of more, which is to be
 * narrowed. By "due", the earliest first, any number is sorted, in the order of
 * the agenda: those that wait for a time, each with `due`; not what is ready or
 * leased. With a filter that has an index of its own (keys, parent, root,
 * correlation, error_code, attributes, cancelled_by, compensation) it is as
 * exact, and as bounded, as the other times; deleted, archived and leased ones
 * wait for no time (PAWL_INVALID). A row that was sorted by a time has its
 * `cursor`, which `before` (earlier) and `after` (later) take then.
 *
 * They are found by their index of a key, a parent, a correlation, a root, a
 * business key, an error_code, an attribute (one that is to equal something rather than
 * another), the agenda (leased), deadline_before_us, the agenda (due_before_us:
 * what is suspended is not on it, but where `status` names nothing else) or a
 * tenant, the first of these that is given; else by status and workflow, in the
 * order of their ids, between the times that are given. All else is compared
 * beside. Ids begin with the time at which they were drawn: one that a caller
 * drew more than an hour before or after its start is not found by when it was
 * created, nor by what came before a time.
 *
 *   rc = pawl_list(engine, "{\"status\":\"failed\",\"limit\":20}", &json,
 *                  &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_list(pawl_engine *engine,
                                          const char *query, char **out,
                                          pawl_error *err);

/* How many instances a list would have, whose `query` this is too, up to its
 * limit: 10,000 unless it is less. *more (may be NULL): there are more.
 * PAWL_INVALID.
 *
 *   rc = pawl_tally(engine, "{\"status\":\"failed\"}", &count, &more, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tally(pawl_engine *engine,
                                           const char *query, int64_t *count,
                                           int *more, pawl_error *err);

/* How many of each kind a list would have, whose `query` this is too, with
 * `group_by`: "error" (its code; without `status` of those that have failed, or
 * are suspended), "node", "workflow" or "status". JSON {count, more, groups
 * [{<group_by>, count}]}, the most first, without its name what has none; the caller's.
 * Where nothing else is asked than a workflow, a version and statuses, counters
 * and failures answer, of any number: by "workflow"; by "status", if that is
 * neither created nor running; by "node", of those that are waiting or
 * suspended (and stand in one place, else null); by "error", without `status`
 * and version, up to 10,000 of a kind. All else is looked at one by one, up to
 * the query's limit, which is 10,000 unless it is less; `more`: there are more.
 * PAWL_INVALID.
 *
 *   rc = pawl_tally_groups(engine, "{\"group_by\":\"error\"}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tally_groups(pawl_engine *engine,
                                                  const char *query,
                                                  char **out, pawl_error *err);

/* What is recorded of an instance, oldest first, as a JSON array: all of it,
 * or what fits. `query`: a JSON object or NULL, keys: limit, after (a row's
 * seq), last (the newest so many, without these two), type, node, by, completed_after_us (then or later),
 * completed_before_us, variable or attribute (rows that changed the one of that
 * name, each with its `value` then; null: it was removed). What somebody asked
 * for has the `request` that it was known by. `transition_in` is by which its
 * visit was entered; it is left out where no row at hand tells it (docs/json.md
 * says when). Where rows are gone
 * (`keep_history` of the workflow) a row of the type "trimmed" stands, whatever
 * is asked for, with `trimmed` as pawl_get has it. The text is the caller's.
 * PAWL_NOTFOUND, PAWL_AMBIGUOUS, PAWL_INVALID.
 *
 *   rc = pawl_history(engine, id, "{\"limit\":100}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_history(pawl_engine *engine,
                                             const char *id, const char *query,
                                             char **out, pawl_error *err);

/* Who did what, when, as a JSON array, newest first: what was asked of
 * instances (as their histories tell it), who started them ("started"), what
 * was done to tasks ("claimed", "reassigned"...) and to workflows
 * ("registered", "hotfixed", "activated", "deactivated", "switched_off",
 * "switched_on", "suspended", "resumed", "breakpoint_set",
 * "breakpoint_removed"), with what an instance has emitted
 * ("retried", "dropped"), what was imported, and purges; and who had pawl_prune
 * take something away ("pruned"). `query`: a JSON object or NULL, keys: by, since_us
 * (then or later), until_us (before), type, workflow, tenant, instance, limit
 * (100, at most 10,000), before (an entry's `cursor`: the page behind it).
 * Entries: at, by, type, and by need instance, seq (the row of its history),
 * workflow, version, node, task, text. The text is the caller's. PAWL_INVALID,
 * PAWL_NOTFOUND, PAWL_AMBIGUOUS.
 *
 *   rc = pawl_audit(engine, "{\"by\":\"ann\"}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_audit(pawl_engine *engine,
                                           const char *query, char **out,
                                           pawl_error *err);

/* Where it stands, as a JSON array of tokens, the caller's: no, node, state,
 * visit, previous, parent, scope, fork, branch, data, event, detail, attempt,
 * due, entered, created. `everything`, when not 0: also tokens that are consumed or
 * dropped. PAWL_NOTFOUND, PAWL_AMBIGUOUS.
 *
 *   rc = pawl_tokens(engine, id, 0, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tokens(pawl_engine *engine,
                                            const char *id, int everything,
                                            char **out, pawl_error *err);

/* An instance with all its rows, as lines of JSON that pawl_import takes, in
 * another store of either kind: the workflow that it runs, where it stands, its
 * history, letters, tasks, and what it has to say; docs/export.md tells the
 * lines. As it is at one moment: what an executor that holds it has not
 * committed runs again elsewhere. It stays here as it is, unless it is moved.
 * `options`: a JSON object or NULL, keys: move (true: it is to go on elsewhere;
 * here it is carried away first, see pawl_change, and what it has emitted and
 * nobody has published stays here, to be published; asked again, it is written
 * again. PAWL_BUSY: somebody holds it, and lets it go soon, or its words for
 * others are under way; PAWL_CONFLICT: a child, or its parent, goes on here;
 * not within a transaction, and not with mask), mask (a name or a list: an attribute of that name is
 * left out; "vars.customer.name" is a member of variables, which is "***" there
 * and wherever else data of the workflow has it), by. `id` may be shortened;
 * the text is the caller's. PAWL_NOTFOUND, also of one that is being purged;
 * PAWL_AMBIGUOUS, PAWL_INVALID, PAWL_CORRUPT.
 *
 *   rc = pawl_export(engine, id, "{\"mask\":\"vars.card\"}", &lines, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_export(pawl_engine *engine,
                                            const char *id,
                                            const char *options, char **out,
                                            pawl_error *err);

/* Stores instances from the lines of pawl_export, of this store or another:
 * each in a transaction of its own, with the workflow that it runs, which does
 * not start here unless it is activated. One that is here already is left as it
 * is, so that the same lines twice do no harm; one that was moved does not come
 * back into the store that it was carried away from (PAWL_CONFLICT). What was
 * moved goes on here. Any other is a copy: it gets a letter that suspends it before anything of it can run, and of what the original had
 * still to deliver or to publish nothing comes along. `options`: a JSON object
 * or NULL, keys: copy (true: also what was moved is a copy), release (true: it is to go on here, in the place of the
 * original, which does not any more; refused of what was masked), by, reason,
 * line (the number of the text's first line, for errors: 1). The audit has an
 * entry for each that was stored. `out`: JSON {"imported",
 * "there"}, lists of ids; the caller's. PAWL_INVALID: what is wrong with which
 * line, and `where` = "line 7, visit"; instances in front of it are stored then,
 * but none within a transaction that is open.
 * PAWL_EXISTS: the workflow's version is here with other contents.
 * PAWL_CONFLICT: another instance has its key. Who may import may bring code
 * that workers run: as with pawl_deploy, trust the text.
 *
 *   rc = pawl_import(engine, lines, NULL, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_import(pawl_engine *engine,
                                            const char *lines,
                                            const char *options, char **out,
                                            pawl_error *err);

/* Why it stands where it stands, and what would move it, as a JSON object:
 * id, status, workflow, version, node, error, cancellation, compensation,
 * deleted, deadline, progress, now; lease {executor, host, pid, since, until,
 * lapsed};
 * next_look;
 * suspended {by, reason, since, shift}; workflow_suspended {code, prefix, by,
 * reason, since}; blocked, a list of "suspended", "workflow_suspended",
 * "unknown_workflow", "no_worker", "not_taken" and "unseen", which `unseen`
 * tells in words; workers, idle_since; can_retry: it has failed, and it is
 * known where it stood;
 * tokens [{no, node, kind, fork, branch, state, visit, attempt, since, due,
 * waiting_for {what, ...}, would_move [{what, to, ...}], may [{kind, id}]}];
 * children that live; inbox: what has come in and was not taken, the first 100
 * of inbox_total; undelivered: messages to other instances. `what` is one of
 * "worker", "retry", "time", "event", "person", "siblings", "child" and
 * "items".
 * The text is the caller's. PAWL_NOTFOUND, PAWL_AMBIGUOUS.
 *
 *   rc = pawl_explain(engine, id, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_explain(pawl_engine *engine,
                                             const char *id, char **out,
                                             pawl_error *err);

/* ---- instances: acting ------------------------------------------------- */

/* Changes one instance from outside, recorded with who and why. An instance
 * nobody holds is changed before the call returns (*done = 1), else by its
 * holder before the next step; no handler runs in this call. `change`: a JSON
 * object, keys for all kinds: kind, by, reason, source ("user", "event",
 * "system"), request (an id of 36 characters: asked again with the same one,
 * it is not done again, and answered as it was; a change of another kind by it
 * is PAWL_CONFLICT), dry_run (true: only checked, *done = 0); and by kind:
 *   "cancel"   compensate (false: undo nothing), event_id
 *   "kill"     ends it at once, whoever holds it; nothing is undone
 *   "suspend"  nothing of it runs until it is resumed
 *   "resume"   shift (true: what it waits for is put off by as long as it was
 *              suspended)
 *   "retry"    one that failed or is suspended tries again; token
 *   "restart"  one that completed, failed or is suspended goes on at the node
 *              `from`, with the variables as they were when it last came there,
 *              or before row `seq` of its history; what was cancelled or
 *              killed does not go on
 *   "move"     its token (`token`, if there are several; not that of a
 *              boundary) goes to the node `to`
 *   "edit"     set (an object), unset (names) of variables; if_commits: only
 *              if it made so many commits
 *   "wake"     what it waits for until a time is due now, or at `at_us`;
 *              nodes: only there. What waits for none is looked at; a bulk
 *              refuses it
 *   "continue" what has halted at a breakpoint goes on; nodes: only there;
 *              token. PAWL_CONFLICT: nothing has
 *   "step"     the same of one token, which halts again before its next node,
 *              for lasts_us (an hour)
 *   "transfer" it goes on in to_version, or, if it has failed, will when it is
 *              tried again; map (an object of nodes' names, old to new),
 *              variables (all of them), if_commits
 *   "shift"    for_us: its times are put off by so many microseconds
 *   "note"     text, data (any value): a row of its history and nothing else,
 *              also of one that has ended; it has no reason
 *   "delete"   one that has ended is hidden from lists, and its key is free;
 *              cancel (true): one that lives is cancelled first, and deleted
 *              when that is done (*done = 0 until then), with compensate
 *   "undelete" takes that back, unless another instance has its key by then
 *   "archive"  one that has ended goes into the store's archive: it is read as
 *              before, and keeps its key, but only lists of what is archived
 *              have it, and it is not changed there; force (true): what it
 *              emitted and nobody has published is not published any more
 *   "unarchive" it comes back, as it was
 *   "purge"    one that has ended goes for good, with all its rows, a thousand
 *              at a time; cut short, it is hidden, and goes on when asked
 *              again. force (true): also with what it emitted and nobody has
 *              published. keep_attributes (true): lists of what is archived
 *              find it by them still, with purged {at, by, reason}
 *   "carry"    it is fenced off, as pawl_export with `move` does: it goes on
 *              where that is imported, and here it is not run and refuses
 *              every change but "note", "kill" and "reclaim", and once it has
 *              ended those that throw it away. Not one whose parent goes on
 *              here
 *   "reclaim"  takes that back: only when nobody has imported it
 * Checked beforehand: PAWL_INVALID says what of `change` is not acceptable,
 * PAWL_CONFLICT what does not fit the state it is in, with a hint;
 * PAWL_ALREADY_FINISHED, PAWL_LIMIT. Once it is recorded, what hinders its
 * being done at once is no error: its holder, or a worker, does it. `out`, when
 * not NULL: JSON {"id","kind","done","status"}, the caller's; without "status"
 * when the store does not tell it any more.
 *
 *   rc = pawl_change(engine, id, "{\"kind\":\"cancel\",\"by\":\"ann\"}", &done,
 *                    NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_change(pawl_engine *engine,
                                            const char *id, const char *change,
                                            int *done, char **out,
                                            pawl_error *err);

/* How far a bulk is. Nonzero ends it there. */
typedef struct pawl_progress {
  int64_t matched; /* seen to so far: the sum of those below */
  int64_t done, asked, refused;
  int64_t skipped;     /* what the list does not have any more */
  int64_t reserved[3]; /* zero */
} pawl_progress;
typedef int (*pawl_progress_fn)(void *ud, const pawl_progress *so_far);

/* Changes all instances that a list would have, one after the other, each as
 * pawl_change does: `change` is as there, `query` as pawl_list takes it, with a
 * filter at least; its `limit` may be any, and without it all are meant. Unless
 * the query names statuses, those are seen to that the change can be for: to
 * cancel, those that live; to undelete, those that were deleted.
 * Ids are read in pages of 200 in the list's order, each once, and what is
 * created meanwhile is not met. All changes have one `request`, drawn here
 * unless it is given, which the history of each instance has: cut short, it
 * goes on where it ended when it is asked again, and with the same request
 * what was done is not done again.
 * `progress` (may be NULL) is called after each hundred, and at the end. `out`:
 * JSON {"kind", "request", "dry_run", "matched", "done", "asked" (their holders
 * will do it), "refused", "skipped" (found, but not in the list any more: gone,
 * or changed by another, so that of two who do the same at once each instance
 * is done by one), "refusals": [{"code", "count", "id", "message",
 * "hint"}], one for all that were refused in the same words, whichever ids these
 * have, with the first of them; of more than 20 reasons what is left has a row
 * for each code, with "others": true; "stopped": true when `progress`, or
 * pawl_interrupt, has ended it; and in a transaction "more": whether there are
 * more than it takes there, and then "last": the id behind which it goes on, as
 * `before` or `after` of the query}, the caller's. With dry_run "done" are those that would not be
 * refused. PAWL_INVALID, and what ends it all: PAWL_UNREACHABLE...
 *
 *   rc = pawl_bulk(engine, "{\"status\":\"failed\",\"error\":\"bank*\"}",
 *                  "{\"kind\":\"retry\",\"by\":\"ann\"}", NULL, NULL, &json,
 *                  &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_bulk(pawl_engine *engine,
                                          const char *query,
                                          const char *change,
                                          pawl_progress_fn progress, void *ud,
                                          char **out, pawl_error *err);

/* ---- tasks ------------------------------------------------------------- */

/* Full id of a task's, of which the beginning is given: PAWL_AMBIGUOUS,
 * PAWL_NOTFOUND, PAWL_INVALID.
 *
 *   rc = pawl_task_find(engine, "019aa1f2", id, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task_find(pawl_engine *engine,
                                               const char *text, char id[37],
                                               pawl_error *err);

/* One task as a JSON object: id, instance, tenant, workflow, version,
 * business_key, node, token, visit, title, description, form, status (pending, running: somebody
 * has claimed it, completed, failed, cancelled, timed_out), priority, input,
 * metadata, output, error, transition, due, overdue, assignee, users, roles,
 * groups, delegated_by, claimed_by, claimed, completed_by, completed (when it
 * ended, however), escalated, signal, created, started, updated, and log: who
 * did what to it, and when; where its node declares its output, accepts, and
 * schema: the same as JSON Schema.
 * `id` may be shortened. Its instance may be archived.
 * The text is the caller's. PAWL_NOTFOUND, PAWL_AMBIGUOUS.
 *
 *   rc = pawl_task_get(engine, id, &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task_get(pawl_engine *engine,
                                              const char *id, char **out,
                                              pawl_error *err);

/* Tasks as a JSON array, newest first. `query`: a JSON object or NULL, keys:
 * user (those he may take or has: candidate, assignee, claimed by), role,
 * group (names or lists; with user: of these as well), status (a name or a
 * list), tenant, workflow, version, node, business_key, key (of its instance;
 * the former with a star at its end: how it begins), instance, assignee, form,
 * priority, due_before_us, due_after_us, created_before_us, created_after_us,
 * overdue (true: open ones that should be done by now), limit (100), before,
 * after (ids: older ones; newer ones, the nearest of them unless `before` is
 * there too). Asked for by due time, and not by person, instance or key, they
 * come longest overdue first: `before` one are those behind it, `after` it
 * those in front. They are found by the index of a person, an instance, a
 * business key, a key, the due time, an assignee, a tenant, a form or a
 * workflow, the first of these that is given; all else is compared beside. A
 * page of a candidate's, role's or group's running tasks also reads the pending
 * ones on its way, not those that are done. Those of an instance that was
 * deleted are in no list but that of `instance`. The text is the caller's.
 * PAWL_INVALID says what of the query is wrong.
 *
 *   rc = pawl_task_list(engine, "{\"user\":\"ann\"}", &json, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task_list(pawl_engine *engine,
                                               const char *query, char **out,
                                               pawl_error *err);

/* How many tasks a list would have, whose `query` this is too, up to its limit:
 * 10,000 unless it is less. *more (may be NULL): there are more. PAWL_INVALID.
 *
 *   rc = pawl_task_tally(engine, "{\"overdue\":true}", &count, &more, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task_tally(pawl_engine *engine,
                                                const char *query,
                                                int64_t *count, int *more,
                                                pawl_error *err);

/* Changes a task; `out` (may be NULL): the task as it is now, the caller's.
 * `change` is a JSON object: kind, by (the user who does it), reason, and by
 * kind
 *   claim     roles, groups that the user is in. Only the assignee may; where
 *             there is none, those the task is for, or anybody when it is for
 *             nobody special. Once it is escalated they may too, until it is
 *             reassigned or delegated
 *   unclaim   gives it back
 *   complete  output, take (the transition; needed where several are drawn,
 *             unless the output or its member `take` names one); roles, groups
 *   fail      error: text, or an object with code and message; roles, groups
 *   retry     opens a failed one again
 *   reassign  to: a new assignee; users, roles, groups: instead of those whom
 *             it is for. Takes it from whoever has it
 *   delegate  to: whoever holds it hands it on
 *   escalate  priority; users, roles, groups: added to those it is for
 *   edit      title, description, form, input, priority, due_us, metadata (an
 *             object); unset: names of these, but for title and priority, that
 *             are to be none. Of an open one; when it becomes overdue moves
 *             with its due time. The task's log has what it changed as
 *             "changes": by name from and to, neither where one of them has
 *             more than 200 bytes; the audit has the names
 * Who has claimed a task holds it, else its assignee: claim, complete and fail
 * are theirs, unless override is true. Whom that passed over is recorded with
 * who did it, in the task's log ("instead_of") and in the history.
 * PAWL_TAKEN: another has it, or it is not for this user. PAWL_ALREADY_
 * FINISHED: it is completed, failed, cancelled or timed out. What was
 * completed or failed is stored when the call returns; the instance goes on in
 * the next tick of an engine that serves it.
 *
 *   rc = pawl_task_change(engine, id, "{\"kind\":\"claim\",\"by\":\"ann\"}",
 *                         NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task_change(pawl_engine *engine,
                                                 const char *id,
                                                 const char *change,
                                                 char **out, pawl_error *err);

/* ---- outbox ------------------------------------------------------------ */

/* What workflows have emitted and nobody has published yet, in the order it
 * is due, as a JSON array: instance, seq, tenant, type, payload, created,
 * attempts, state ("waiting", "leased": a relay has it, "behind" another of its instance,
 * "dead": it was set aside), due (of the first two), dead, error, by, reason
 * (who has it tried again, and why), place. `query`: a JSON object or NULL,
 * keys: type, tenant, instance, limit (100), emitted_before_us, dead (true: only those,
 * in the order they were set aside), after (a row's place: the page behind it).
 * The text is the caller's. PAWL_INVALID says what of the query is wrong.
 *
 *   rc = pawl_outbox_list(engine, "{\"type\":\"order.shipped\"}", &json,
 *                         &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_outbox_list(pawl_engine *engine,
                                                 const char *query, char **out,
                                                 pawl_error *err);

/* One that is to be published; the texts are borrowed for the call. */
typedef struct pawl_emitted {
  const char *id; /* "INSTANCE/SEQ": the same whenever it comes */
  const char *instance, *type;
  int64_t seq;
  int64_t attempt;   /* 1 at first */
  const char *event; /* CloudEvents 1.0, structured JSON, ended by a zero */
  size_t length;
  int again; /* it was said to be under way: what of it? `event` is empty */
  char reserved[60]; /* zero */
} pawl_emitted;

/* Publishes one. PAWL_OK: it was accepted, and is never handed over again, but
 * for crashes. PAWL_BUSY: it is under way, and asked for again while others go
 * on, at the latest by the next call. PAWL_INVALID: it is refused for good. Anything else: it
 * has failed, and is tried again later. `err` is filled in with either. */
typedef pawl_code (*pawl_publish_fn)(void *ud, const pawl_emitted *emitted,
                                     pawl_error *err);

/* What one call of a relay did. */
typedef struct pawl_relayed {
  int64_t claimed;     /* instances leased */
  int64_t published;   /* accepted, and stored to be so */
  int64_t failed;      /* attempts that are to be repeated */
  int64_t dead;        /* set aside */
  int64_t lost;        /* another relay took over: it may come twice */
  int64_t under_way;   /* when it returned */
  int64_t next_due_us; /* when to look again; INT64_MAX: nothing is there */
  int64_t limited;     /* 1: more was due, and the rate is spent until then */
  int64_t reserved[6]; /* zero */
} pawl_relayed;

/* Hands over what workflows have emitted, until nothing is due or the time is
 * spent: those of one instance in order, instances side by side, each at least
 * once. What fails is tried again, later each time, and holds up what is behind
 * it of its instance, until it is set aside (dead): then that goes on. Any
 * number of relays may do so; what one that dies had leased passes on when its
 * lease ends. Never waits, but for `publish`, and for its rate until the time is
 * spent. `options`: a JSON object or NULL,
 * keys: budget_us (0: until nothing is due), max_attempts (20), lease_us (30 s;
 * longer than one event takes), batch (instances at one time; 64), base_us,
 * cap_us (the pause after a failure: 1 s, doubled each time up to 5 minutes,
 * with jitter), source (how the events' `source` begins, before the workflow's
 * code: "/pawl/"), finish (true: nothing is begun, only what is under way is
 * asked for), rate (attempts a second at most, counted over all calls of this
 * engine, never more than a batch at once; unlimited). `relayed` may be NULL. pawl_interrupt ends it early,
 * which is no failure. What is under way keeps its lease until the next call,
 * with the same `publish`, or pawl_close. PAWL_INVALID; else it fails as the
 * store does, and the same call may succeed.
 *
 *   rc = pawl_outbox_relay(engine, NULL, send_to_queue, queue, NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_outbox_relay(
    pawl_engine *engine, const char *options, pawl_publish_fn publish,
    void *ud, pawl_relayed *relayed, pawl_error *err);

/* Changes what waits in the outbox. `change`: a JSON object, keys: kind,
 * by, reason, and which: instance and seq, or those that are dead, all or those
 * with instance, type, emitted_before_us; limit (10,000); and by kind
 *   "retry"  it is due now, as if it were new; with seq also one that is not
 *            dead, but waits for its next attempt
 *   "drop"   it will never be published; with seq also one that is not dead,
 *            but the first of its instance
 * The audit has an entry for each that was changed. `out` (may be NULL): JSON
 * {"changed":n,"more":bool}, the caller's; more: the limit was met.
 * PAWL_NOTFOUND: there is no such row; PAWL_CONFLICT: it is published, leased,
 * behind another, or, of a retry, due already; PAWL_INVALID.
 *
 *   rc = pawl_outbox_change(engine, "{\"kind\":\"retry\",\"by\":\"ann\"}",
 *                           NULL, &err); */
PAWL_API PAWL_MUSTUSE pawl_code pawl_outbox_change(pawl_engine *engine,
                                                   const char *change,
                                                   char **out,
                                                   pawl_error *err);

#ifdef __cplusplus
}
#endif
#endif
