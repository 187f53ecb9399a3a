#include "drivers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "pgurl.h"

#ifndef PAWL_POSTGRES
const pawl_driver pawl_driver_no_postgres = {
    .name = "postgres",
    .url = &pawl_pgurl,
    .missing = "this pawl was built without PostgreSQL",
    .missing_hint = "build with -DPAWL_POSTGRES=ON, or use a SQLite file",
};
#endif

#define ENTRY(name) &pawl_driver_##name,
static const pawl_driver *const drivers[] = {PAWL_DRIVERS(ENTRY)};
enum { NDRIVERS = sizeof drivers / sizeof *drivers };

#ifdef PAWL_TESTING
const pawl_driver *pawl_drivers_extra;
#endif

const pawl_driver *pawl_drivers_at(int i) {
  return i < NDRIVERS ? drivers[i] : NULL;
}

/* The driver of a URL that says so itself. */
static const pawl_driver *find(const char *url) {
#ifdef PAWL_TESTING
  if (pawl_drivers_extra &&
      pawl_url_begins(url, pawl_drivers_extra->url->scheme))
    return pawl_drivers_extra;
#endif
  for (int i = 0; i < NDRIVERS; i++) {
    const pawl_url_kind *kind = drivers[i]->url;
    if (pawl_url_begins(url, kind->scheme) ||
        (kind->is_whole && kind->is_whole(url)))
      return drivers[i];
  }
  return NULL;
}

/* "a store is postgres://user@host/database, or a file, PATH ..." */
static void hint_forms(pawl_error *err) {
  char text[sizeof err->hint] = "";
  for (int i = 0; i < NDRIVERS; i++) {
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "%s%s", i > 0 ? ", or " : "",
             drivers[i]->url->form);
  }
  pawl_error_hint(err, "a store is %s", text);
}

static pawl_code fail_mistyped(pawl_error *err) {
  pawl_fail(err, PAWL_INVALID,
            "the store looks like the URL of a database, mistyped");
  hint_forms(err);
  return PAWL_INVALID;
}

/* What env files, quotes and line ends leave there: it would be of the path's
 * or of the database's name. */
static pawl_code check_ends(const char *url, pawl_error *err) {
  size_t len = strlen(url);
  int front = strspn(url, PAWL_URL_SPACE) > 0;
  if (!front && (len == 0 || !strchr(PAWL_URL_SPACE, url[len - 1])))
    return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_INVALID,
      "take it out where it is set, perhaps in an environment file; a URL is "
      "postgres://user@host/database, a file whose name is so is sqlite:PATH",
      "the store's URL %s with white space", front ? "begins" : "ends");
}

/* A URL of something else would be a strange name for a file. */
static pawl_code check_bare(const char *url, pawl_error *err) {
  int scheme = pawl_url_scheme(url);
  if (scheme) {
    pawl_fail(err, PAWL_INVALID, "there is no kind of store named \"%.*s:\"",
              scheme, url);
    hint_forms(err);
    return PAWL_INVALID;
  }
  if (pawl_url_is_mistyped(url)) return fail_mistyped(err);
  for (int i = 0; i < NDRIVERS; i++)
    if (drivers[i]->url->check_bare)
      MUST(drivers[i]->url->check_bare(url, err));
  return pawl_url_has_secret(url) ? fail_mistyped(err) : PAWL_OK;
}

/* What is behind the scheme may be a whole URL, too. */
static pawl_code check_target(const pawl_url_kind *kind, const char *url,
                              const char **target, pawl_error *err) {
  *target = url;
  if (kind->is_whole && kind->is_whole(url)) return PAWL_OK;
  *target = url + strlen(kind->scheme);
  if (kind->is_whole && kind->is_whole(*target)) return PAWL_OK;
  return kind->check ? kind->check(*target, err) : PAWL_OK;
}

static pawl_code check_built(const pawl_driver *driver, pawl_error *err) {
  if (!driver->missing) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_UNSUPPORTED, driver->missing_hint, "%s",
                        driver->missing);
}

pawl_code pawl_drivers_pick(const char *url, const pawl_driver **driver,
                            const char **target, pawl_error *err) {
  if (!url) url = "pawl.db";
  *driver = drivers[NDRIVERS - 1];
  *target = url;
  if (pawl_url_begins(url, "./") || pawl_url_begins(url, "../"))
    return PAWL_OK; /* U2 */
  const pawl_driver *named = find(url);
  if (!named || named->url->check) MUST(check_ends(url, err));
  if (!named) return check_bare(url, err);
  *driver = named;
  MUST(check_target(named->url, url, target, err));
  MUST(check_built(named, err));
  assert(!(named->caps & PAWL_CAN_SUBMIT) == !named->submit);
  return PAWL_OK;
}
