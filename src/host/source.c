/* Source text of workflows and their modules. */
#define _POSIX_C_SOURCE 200809L /* stat */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/sha256.h"
#include "../value/json.h"
#include "host_internal.h"

static pawl_code cannot_read(const char *path, int number, pawl_error *err) {
  int is_none = number == ENOENT || number == ENOTDIR;
  return pawl_fail_hint(err, is_none ? PAWL_NOTFOUND : PAWL_INVALID,
                        number == EISDIR   ? "name a file"
                        : number == EACCES ? "let this user read it"
                                           : "",
                        "%s cannot be read: %s", path, strerror(number));
}

static pawl_code too_large(const char *path, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_LIMIT,
                        "data belongs into `input`, or into files of its own",
                        "%s is too large: a source has at most %d MB", path,
                        PAWL_MAX_SOURCE >> 20);
}

/* Looked at before it is opened: a pipe that nobody writes would hold us there,
 * a device may have no end. */
static pawl_code open_source(const char *path, FILE **out, pawl_error *err) {
  struct stat st;

  if (stat(path, &st) != 0) return cannot_read(path, errno, err);
  if (S_ISDIR(st.st_mode)) return cannot_read(path, EISDIR, err);
  if (!S_ISREG(st.st_mode))
    return pawl_fail_hint(err, PAWL_INVALID,
                          "write the source into a file, and name that",
                          "%s cannot be read: it is a pipe or a device", path);
  if (st.st_size > PAWL_MAX_SOURCE) return too_large(path, err);
  *out = fopen(path, "rb");
  return *out ? PAWL_OK : cannot_read(path, errno, err);
}

/* To its end, whatever size it is said to have: it may grow meanwhile, and
 * files of /proc have none. */
pawl_code pawl_source_read(const char *path, pawl_buf *out, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  size_t n = 1;
  FILE *f;
  MUST(open_source(path, &f, err));
  while (n > 0 && out->len <= PAWL_MAX_SOURCE) {
    char *room = pawl_buf_room(out, BUFSIZ);
    if (!room) break;
    n = fread(room, 1, BUFSIZ, f);
    pawl_buf_grew(out, n);
  }
  if (ferror(f)) rc = cannot_read(path, errno, err);
  fclose(f);
  if (rc == PAWL_OK && out->len > PAWL_MAX_SOURCE) rc = too_large(path, err);
  return rc == PAWL_OK ? pawl_buf_check(out, err) : rc;
}

int pawl_source_hash(const char *path, char hex[65]) {
  unsigned char bytes[BUFSIZ], digest[32];
  pawl_sha256 sha;
  size_t n;
  FILE *f;
  if (open_source(path, &f, NULL) != PAWL_OK) return 0;
  pawl_sha256_init(&sha);
  while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
    pawl_sha256_add(&sha, bytes, n);
  int ok = !ferror(f);
  fclose(f);
  pawl_sha256_end(&sha, digest);
  pawl_sha256_hex(digest, hex);
  return ok;
}

/* Bytecode is refused because nobody can read it, and because Lua does not
 * check it: what is damaged, or made to be, reaches memory. */
pawl_code pawl_source_check(const char *name, pawl_str text, pawl_error *err) {
  size_t at;
  if (text.len && text.at[0] == LUA_SIGNATURE[0]) {
    pawl_fail_hint(err, PAWL_DEFINITION,
                   "give the source: a workflow is stored as text",
                   "%s is compiled Lua", name);
  } else if (!pawl_utf8_check(text, &at)) {
    pawl_fail_hint(err, PAWL_DEFINITION,
                   "save it as UTF-8; write other bytes as \"\\xE4\"",
                   "%s is not UTF-8 (byte %zu)", name, at + 1);
  } else if (text.len && memchr(text.at, 0, text.len)) {
    pawl_fail_hint(err, PAWL_DEFINITION, "write it as \"\\0\"",
                   "%s has a zero byte", name);
  } else {
    return PAWL_OK;
  }
  pawl_error_where(err, "%s", name);
  return PAWL_DEFINITION;
}

pawl_str pawl_source_lua(pawl_str text) {
  if (text.len >= 3 && memcmp(text.at, "\xEF\xBB\xBF", 3) == 0)
    text.at += 3, text.len -= 3;
  if (text.len && text.at[0] == '#') {
    const char *line = memchr(text.at, '\n', text.len);
    text.len = line ? text.len - (size_t)(line - text.at) : 0;
    text.at = line ? line : "";
  }
  return text;
}
