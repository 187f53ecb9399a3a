#include "../../src/base/log.h"

#include "../../src/value/json.h"
#include "test.h"

typedef struct line {
  int level, count;
  char message[64];
  char fields[4096];
} line;

static void keep(void *ud, int level, const char *message,
                 const char *fields) {
  line *l = ud;
  l->level = level;
  l->count++;
  pawl_copy_text(l->message, sizeof l->message, message);
  pawl_copy_text(l->fields, sizeof l->fields, fields);
}

static void a_line_reaches_the_callback(void) {
  line l = {0};
  pawl_log log = {keep, &l}, none = {0};

  pawl_log_write(&log, PAWL_WARN, "slow", "{\"ms\":3}");
  CHECK_INT(l.level, PAWL_WARN);
  CHECK_TEXT(l.message, "slow");
  CHECK_TEXT(l.fields, "{\"ms\":3}");
  pawl_log_write(&log, PAWL_DEBUG, "plain", NULL);
  CHECK_TEXT(l.fields, "{}");
  CHECK_INT(l.count, 2);
  pawl_log_write(&none, PAWL_ERROR, "nobody listens", NULL);
  pawl_log_write(NULL, PAWL_ERROR, "nobody listens", NULL);
  pawl_log_error(NULL, PAWL_ERROR, "nobody listens", NULL);
}

static void an_error_becomes_fields(void) {
  line l = {0};
  pawl_log log = {keep, &l};
  pawl_error err;

  pawl_fail(&err, PAWL_BUSY, "line\n\"two\" \\ \xc3\xa9 \xff");
  pawl_error_sqlstate(&err, "40001");
  pawl_error_where(&err, "a.lua:1");
  pawl_log_error(&log, PAWL_ERROR, "commit", &err);
  CHECK_TEXT(l.message, "commit");
  CHECK_TEXT(l.fields,
             "{\"code\":\"busy\","
             "\"error\":\"line\\u000a\\\"two\\\" \\\\ \xc3\xa9 \xef\xbf\xbd\","
             "\"sqlstate\":\"40001\",\"where\":\"a.lua:1\"}");
}

static void fields_stay_json_when_they_do_not_fit(void) {
  line l = {0};
  pawl_log log = {keep, &l};
  pawl_error err;
  size_t n;
  int bad = 0;

  for (n = 0; n < sizeof err.message; n++) {
    pawl_fail(&err, PAWL_STORE, "x");
    memset(err.message, 1, n); /* six bytes each, escaped */
    err.message[n] = '\0';
    memset(err.hint, '"', sizeof err.hint - 1);
    pawl_log_error(&log, PAWL_ERROR, "long", &err);
    bad += pawl_json_check(pawl_strz(l.fields), NULL, NULL) != PAWL_OK;
    bad += strstr(l.fields, "\"code\":\"store\"") == NULL;
  }
  CHECK_INT(bad, 0);
}

int main(void) {
  a_line_reaches_the_callback();
  an_error_becomes_fields();
  fields_stay_json_when_they_do_not_fit();
  return TEST_END;
}
