/* store/pgsession.h: how names resolve in a PostgreSQL session, how its
 * statements are planned, and what is left of a user's own statements in it.
 * Texts for store/postgres.c.
 *
 * Whoever may create functions in a schema of the search path can have them
 * called in our place: an exact match there beats what PostgreSQL's catalogue
 * offers for any type (public.unnest(uuid[]), which would run as our role).
 * So:
 *
 *   C1  our statements, migrations too, resolve in pg_catalog alone; what is
 *       ours is named with its schema. pg_temp is named last: left out, it
 *       would be looked at first.
 *   C2  a user's own statement (ctx.db), and what it leaves to the commit
 *       (deferred triggers), resolves as its role and database are set.
 *   C3  nothing that a user's statement sets for the session outlives its
 *       unit, in whatever way it does so.
 *   C4  our statements are planned without the ways to walk a table (WAYS),
 *       whatever the tables' statistics say; a user's own as the server would.
 *   C6  what we send is read as it is meant (READS), whatever role and database
 *       say; a user's own, and what it leaves to the commit, as they say.
 *
 * A session of our own is told once (PATH, WAYS, READS). Behind a pooler each
 * transaction may meet another session, so each is told for itself, by one
 * statement that goes along with its first one (UNIT): no function or operator
 * in it is looked up by path, and outside a transaction block it warns of
 * nothing, as SET LOCAL would. */
#ifndef PAWL_STORE_PGSESSION_H
#define PAWL_STORE_PGSESSION_H

#define PAWL_PG_PATH "set search_path to pg_catalog, pg_temp"

/* Our statements look rows up by key. Plans are made while a store is small,
 * when walking it seems cheaper, and are kept while it grows; without these
 * ways to walk, and made anew now and then, they stay flat. A plan for any
 * arguments is as good as one for these then, and saves planning: without
 * being told, the server plans a statement with short arrays at every call,
 * because it takes arrays it does not know for longer ones. */
#define PAWL_PG_WAYS(X)                 \
  X(enable_seqscan, off)                \
  X(enable_bitmapscan, off)             \
  X(enable_hashjoin, off)               \
  X(enable_mergejoin, off)              \
  X(enable_material, off)               \
  X(enable_sort, off)                   \
  X(jit, off)                           \
  X(max_parallel_workers_per_gather, 0) \
  X(plan_cache_mode, force_generic_plan)
/* Numbers of no value travel as text: {NULL}. */
#define PAWL_PG_READS(X) X(array_nulls, on)
#define PAWL_PG_OWN(X) PAWL_PG_WAYS(X) PAWL_PG_READS(X)
#define PAWL_PG_WAY(name, value) \
  ", pg_catalog.set_config('" #name "', '" #value "', false)"
#define PAWL_PG_WAY_NOW(name, value) \
  ", pg_catalog.set_config('" #name "', '" #value "', true)"
#define PAWL_PG_WAY_NAME(name, value) ", '" #name "'"

#define PAWL_PG_SETTINGS "select 1" PAWL_PG_OWN(PAWL_PG_WAY)
#define PAWL_PG_UNIT                                                    \
  "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', " \
  "true)" PAWL_PG_OWN(PAWL_PG_WAY_NOW)
/* For the rest of the transaction as role and database are set. */
#define PAWL_PG_USER_SETTINGS                                 \
  "select set_config(name, reset_val, true) from pg_settings" \
  " where name in (''" PAWL_PG_OWN(PAWL_PG_WAY_NAME) ")"

/* Around a user's statement, and before a commit that may fire its
 * triggers (C2; the settings before the path). A function of theirs may have changed role as well as
 * path; what is ours comes back by UNIT. */
#define PAWL_PG_USER_PATH "set local search_path to default"
#define PAWL_PG_OWN_ROLE "set local role to default"

/* Inside the transaction, so that it is the same session behind a pooler too,
 * and undone with it (C3). What is our own in the session is told again
 * afterwards. Temporary tables go as well: they would be another instance's. */
static const char *const pawl_pg_resets[] = {"reset role", "reset all",
                                             "close all", "discard temp"};
/* Locks of the session are not the transaction's: a rollback keeps them. */
#define PAWL_PG_UNLOCK "select pg_catalog.pg_advisory_unlock_all()"

#endif
