/* json_fuzz.c: any bytes as JSON text.
 *
 * - reading, writing and reading again gives the same text;
 * - pawl_json_check says what the reader says, and of repeated keys what a
 *   naive comparison of all pairs says;
 * - slices agree with the reader, and never leave their text;
 * - a delta folds back. The two objects come from the text when it is an
 *   array of them.
 *
 * With PAWL_FUZZ_MAIN a plain program that reads the files named as its
 * arguments; else a libFuzzer target. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/value/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EXPECT(claim) ((claim) ? (void)0 : stop(#claim, __FILE__, __LINE__))

static void stop(const char *claim, const char *file, int line) {
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, claim);
  abort();
}

static void write_scalar(const pawl_json_reader *r, pawl_buf *out) {
  switch (r->kind) {
    case PAWL_JSON_NULL:
      pawl_buf_addz(out, "null");
      break;
    case PAWL_JSON_FALSE:
      pawl_buf_addz(out, "false");
      break;
    case PAWL_JSON_TRUE:
      pawl_buf_addz(out, "true");
      break;
    case PAWL_JSON_INT:
      pawl_buf_addi(out, r->i);
      break;
    case PAWL_JSON_FLOAT:
      pawl_json_add_float(out, r->d);
      break;
    default:
      pawl_json_add_string(out, r->str);
  }
}

static void write_token(const pawl_json_reader *r, int comma, pawl_buf *out) {
  int is_object = r->kind == PAWL_JSON_OBJECT;
  if (comma) pawl_buf_addc(out, ',');
  switch (r->event) {
    case PAWL_JSON_BEGIN:
      pawl_buf_addc(out, is_object ? '{' : '[');
      break;
    case PAWL_JSON_END:
      pawl_buf_addc(out, is_object ? '}' : ']');
      break;
    case PAWL_JSON_KEY:
      pawl_json_add_string(out, r->str);
      pawl_buf_addc(out, ':');
      break;
    case PAWL_JSON_VALUE:
      write_scalar(r, out);
      break;
    default:
      break;
  }
}

/* Reads the text and writes it anew. */
static pawl_code rewrite(pawl_str text, pawl_buf *out) {
  pawl_json_reader r;
  pawl_code rc;
  int after_value = 0; /* does a comma come before the next member? */

  pawl_json_reader_init(&r, text, NULL);
  while ((rc = pawl_json_next(&r, NULL)) == PAWL_OK) {
    EXPECT(r.begin <= r.end && r.end <= text.len);
    if (r.event == PAWL_JSON_DONE) break;
    write_token(&r, after_value && r.event != PAWL_JSON_END, out);
    after_value = r.event == PAWL_JSON_VALUE || r.event == PAWL_JSON_END;
  }
  if (rc != PAWL_OK) EXPECT(pawl_json_next(&r, NULL) == rc);
  pawl_json_reader_deinit(&r);
  return rc;
}

static int same_key(pawl_str a, pawl_str b) {
  pawl_buf x = {0}, y = {0};
  int same;
  pawl_str quoted_a = {a.at - 1, a.len + 2}, quoted_b = {b.at - 1, b.len + 2};
  pawl_json_unquote(quoted_a, &x);
  pawl_json_unquote(quoted_b, &y);
  same = pawl_str_eq(pawl_buf_str(&x), pawl_buf_str(&y));
  pawl_buf_deinit(&x);
  pawl_buf_deinit(&y);
  return same;
}

/* Does some object in this valid text repeat a key? All pairs. */
static int repeats_a_key(pawl_str text) {
  pawl_json_iter i = {0}, j;
  pawl_str key, value, other, unused;
  int is_object = pawl_json_kind_of(text) == PAWL_JSON_OBJECT;

  while (pawl_json_each(text, &i, &key, &value)) {
    if (repeats_a_key(value)) return 1;
    j = i;
    while (is_object && pawl_json_each(text, &j, &other, &unused))
      if (same_key(key, other)) return 1;
  }
  return 0;
}

/* Only memory safety is promised for text that may not be JSON. */
static void slice(pawl_str text) {
  pawl_json_iter it = {0};
  pawl_buf out = {0};
  pawl_str key, value;
  int64_t i;
  double d;

  while (pawl_json_each(text, &it, &key, &value)) {
    EXPECT(value.at >= text.at && value.len > 0);
    EXPECT(value.at + value.len <= text.at + text.len);
    pawl_json_unquote(value, &out);
    if (pawl_json_int(value, &i)) EXPECT(pawl_json_number(value, &d));
  }
  if (pawl_json_get(text, "a", &value)) pawl_json_kind_of(value);
  pawl_json_unquote(text, &out);
  pawl_buf_deinit(&out);
}

static void fold(pawl_str before, pawl_str after) {
  pawl_buf delta = {0}, folded = {0}, none = {0};

  pawl_json_delta(before, after, &delta);
  pawl_json_apply(before, pawl_buf_str(&delta), &folded);
  pawl_json_delta(pawl_buf_str(&folded), after, &none);
  EXPECT(!delta.failed && !folded.failed && none.len == 0);
  if (delta.len > 0)
    EXPECT(pawl_json_check(pawl_buf_str(&delta), NULL, NULL) == PAWL_OK);
  EXPECT(pawl_json_check(pawl_buf_str(&folded), NULL, NULL) == PAWL_OK);
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&folded);
  pawl_buf_deinit(&none);
}

static void fold_all(pawl_str text) {
  pawl_json_iter it = {0};
  pawl_str key, before = {"{}", 2}, after;

  while (pawl_json_each(text, &it, &key, &after)) {
    if (pawl_json_kind_of(after) != PAWL_JSON_OBJECT) continue;
    fold(before, after);
    fold(after, before);
    before = after;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  pawl_str text = {(const char *)data, size};
  pawl_buf once = {0}, twice = {0};
  pawl_code read, checked;
  pawl_error err;

  if (size == 0) return 0;
  slice(text);
  read = rewrite(text, &once);
  checked = pawl_json_check(text, NULL, &err);
  if (read != PAWL_OK) {
    EXPECT(checked != PAWL_OK && err.code == checked && err.where[0]);
  } else {
    EXPECT((checked == PAWL_OK) == !repeats_a_key(text));
    EXPECT(rewrite(pawl_buf_str(&once), &twice) == PAWL_OK);
    EXPECT(pawl_str_eq(pawl_buf_str(&once), pawl_buf_str(&twice)));
    if (checked == PAWL_OK) fold_all(text);
  }
  pawl_buf_deinit(&once);
  pawl_buf_deinit(&twice);
  return 0;
}

#ifdef PAWL_FUZZ_MAIN
static void try_file(const char *path) {
  FILE *file = fopen(path, "rb");
  pawl_buf text = {0};
  size_t n;

  if (!file) {
    perror(path);
    exit(1);
  }
  do {
    char *to = pawl_buf_room(&text, 65536);
    EXPECT(to != NULL);
    n = fread(to, 1, 65536, file);
    pawl_buf_grew(&text, n);
  } while (n > 0);
  fclose(file);
  LLVMFuzzerTestOneInput((const uint8_t *)text.at, text.len);
  pawl_buf_deinit(&text);
}

int main(int argc, char **argv) {
  int i;
  for (i = 1; i < argc; i++) try_file(argv[i]);
  printf("%d files\n", argc - 1);
  return argc == 1; /* nothing was tried */
}
#endif
