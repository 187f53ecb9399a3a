/* What is installed, and what is known to be wrong with it (base/flaws.h): the
 * libraries that this process runs with and, where a store is named, its server
 * or file. It says what it finds, and repairs nothing. */
#include <stdlib.h>
#include <string.h>

#include "../base/flaws.h"
#include "../host/host.h"
#include "../store/drivers.h"
#include "../store/failure.h"
#include "../value/object.h"
#include "engine.h"

typedef struct doctor {
  pawl_object list; /* of findings */
  pawl_buf findings;
  int open;
} doctor;

static void tell(doctor *d, const pawl_flaw *f) {
  pawl_object o;
  char version[24];

  d->open += f->exposure == PAWL_FLAW_OPEN;
  pawl_flaw_version(f->of, f->fixed, version);
  pawl_list_object(&d->list, &o);
  pawl_member_textz(&o, "id", f->id);
  pawl_member_textz(&o, "of", f->of);
  pawl_member_textz(&o, "state", pawl_exposure_name(f->exposure));
  pawl_member_textz(&o, "text", f->text);
  pawl_member_textz(&o, "guard", f->guard);
  if (version[0]) pawl_member_textz(&o, "fixed", version);
  pawl_member_textz(&o, "source", f->source);
  pawl_object_end(&o);
}

static void tell_version(doctor *d, const char *of, int64_t version) {
  const pawl_flaw *f = NULL;

  while (version && (f = pawl_flaw_of_version(f, of, version))) tell(d, f);
}

static void tell_setting(doctor *d, const char *of, const char *name,
                         const char *value) {
  const pawl_flaw *f = pawl_flaw_of_setting(of, name, value);

  if (f) tell(d, f);
}

/* ---- libraries ---- */

static void begin_library(pawl_object *list, pawl_object *o, const char *name,
                          int64_t version) {
  char text[24];

  pawl_flaw_version(name, version, text);
  pawl_list_object(list, o);
  pawl_member_textz(o, "name", name);
  if (text[0]) pawl_member_textz(o, "version", text);
}

/* "THREADSAFE=1", or a name alone. */
static void look_at_option(doctor *d, const char *of, const char *option) {
  char name[64];
  const char *equals = strchr(option, '=');
  size_t len = equals ? (size_t)(equals - option) : strlen(option);

  if (len >= sizeof name) return;
  memcpy(name, option, len);
  name[len] = '\0';
  tell_setting(d, of, name, equals ? equals + 1 : "");
}

static void add_options(pawl_object *o, doctor *d, const pawl_driver *driver) {
  pawl_object options;
  const char *option;

  pawl_member_list(o, "options", &options);
  for (int i = 0;
       driver->library_option && (option = driver->library_option(i)); i++) {
    pawl_list_next(&options);
    pawl_add_text(o->out, pawl_strz(option));
    look_at_option(d, driver->library, option);
  }
  pawl_list_end(&options);
}

static void add_libraries(pawl_object *o, doctor *d) {
  const int64_t lua = pawl_flaw_lua_version(pawl_host_lua());
  const pawl_driver *driver;
  pawl_object list, one, none;

  pawl_member_list(o, "libraries", &list);
  begin_library(&list, &one, "lua", lua);
  pawl_member_list(&one, "options", &none);
  pawl_list_end(&none);
  pawl_object_end(&one);
  tell_version(d, "lua", lua);
  for (int i = 0; (driver = pawl_drivers_at(i)); i++) {
    if (!driver->library) continue;
    const int64_t version = driver->library_version();
    begin_library(&list, &one, driver->library, version);
    add_options(&one, d, driver);
    pawl_object_end(&one);
    tell_version(d, driver->library, version);
  }
  pawl_list_end(&list);
}

/* ---- a store ---- */

static pawl_code add_settings(pawl_object *o, doctor *d, pawl_store *store,
                              pawl_error *err) {
  const char *of = pawl_store_driver(store);
  pawl_object settings;
  pawl_rows r;
  char value[64], version[24] = "";

  MUST(pawl_store_once_one(store, PAWL_UNIT_READ, PAWL_STMT_doctor_settings,
                           NULL, &r, err));
  pawl_member_object(o, "settings", &settings);
  for (int k = 0; k < r.nrows; k++) {
    const pawl_doctor_settings_row row = pawl_read_doctor_settings(&r, k);
    char name[64];
    pawl_member_named(&settings, row.name);
    pawl_add_text(settings.out, row.value);
    pawl_str_copy(name, sizeof name, row.name);
    pawl_str_copy(value, sizeof value, row.value);
    tell_setting(d, of, name, value);
    if (strcmp(name, "server_version_num") != 0) continue;
    const int64_t number = strtoll(value, NULL, 10);
    pawl_flaw_version(of, number, version);
    tell_version(d, of, number);
  }
  pawl_object_end(&settings);
  if (version[0]) pawl_member_textz(o, "version", version);
  return PAWL_OK;
}

/* What cannot be looked at is told, and is not well. */
static void add_failure(pawl_object *o, doctor *d, const pawl_error *err) {
  pawl_object inner;

  d->open++;
  pawl_member_object(o, "error", &inner);
  pawl_member_textz(&inner, "code", pawl_code_name(err->code));
  pawl_member_textz(&inner, "message", err->message);
  if (err->hint[0]) pawl_member_textz(&inner, "hint", err->hint);
  pawl_object_end(&inner);
}

static void add_store(pawl_object *o, doctor *d, const char *url,
                      const pawl_driver *driver,
                      const pawl_store_options *options) {
  pawl_object inner;
  pawl_store *store = NULL;
  pawl_buf shown = {.alloc = options->alloc};
  pawl_error err;

  pawl_member_object(o, "store", &inner);
  pawl_member_textz(&inner, "kind", driver->name);
  pawl_store_describe(url, &shown);
  pawl_member_str(&inner, "name", pawl_buf_str(&shown));
  pawl_code rc = pawl_store_open(url, options, &store, &err);
  if (rc == PAWL_OK) rc = add_settings(&inner, d, store, &err);
  if (pawl_failure_outside(rc, &err) != PAWL_OK) add_failure(&inner, d, &err);
  pawl_object_end(&inner);
  pawl_store_close(store);
  pawl_buf_deinit(&shown);
}

pawl_code pawl_engine_doctor(const char *url,
                             const pawl_store_options *options, pawl_buf *out,
                             pawl_error *err) {
  doctor d = {.findings = {.alloc = options->alloc}};
  const pawl_driver *driver = NULL;
  const char *target;
  pawl_object o;

  if (url) MUST(pawl_drivers_pick(url, &driver, &target, err));
  pawl_list_begin(&d.list, &d.findings);
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "pawl", PAWL_VERSION);
  add_libraries(&o, &d);
  if (url) add_store(&o, &d, url, driver, options);
  pawl_list_end(&d.list);
  pawl_member_bool(&o, "sound", d.open == 0);
  pawl_member_json(&o, "findings", pawl_buf_str(&d.findings));
  pawl_object_end(&o);
  pawl_code rc = pawl_buf_check(&d.findings, err);
  pawl_buf_deinit(&d.findings);
  return rc == PAWL_OK ? pawl_buf_check(out, err) : rc;
}
