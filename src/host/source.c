/* Source text of workflows and their modules. */
#define _XOPEN_SOURCE 700 /* stat, openat, realpath */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static pawl_code check_kind(const char *path, const struct stat *st,
                            pawl_error *err) {
  if (S_ISDIR(st->st_mode)) return cannot_read(path, EISDIR, err);
  if (!S_ISREG(st->st_mode))
    return pawl_fail_hint(err, PAWL_INVALID,
                          "write the source into a file, and name that",
                          "%s cannot be read: it is a pipe or a device", path);
  return st->st_size > PAWL_MAX_SOURCE ? too_large(path, err) : PAWL_OK;
}

/* What is opened may be another thing than what was looked at: a pipe that
 * nobody writes must not hold us then either. */
enum { OPEN_FILE = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* Takes the descriptor, -1: errno says why there is none. */
static pawl_code take_source(const char *path, int fd, FILE **out,
                             pawl_error *err) {
  struct stat st;
  pawl_code rc = PAWL_OK;

  if (fd < 0) return cannot_read(path, errno, err);
  if (fstat(fd, &st) != 0)
    rc = cannot_read(path, errno, err);
  else
    rc = check_kind(path, &st, err);
  if (rc == PAWL_OK && !(*out = fdopen(fd, "rb")))
    rc = cannot_read(path, errno, err);
  if (rc != PAWL_OK) close(fd);
  return rc;
}

/* Looked at before it is opened: a device may do something then. */
static pawl_code open_source(const char *path, FILE **out, pawl_error *err) {
  struct stat st;

  if (stat(path, &st) != 0) return cannot_read(path, errno, err);
  MUST(check_kind(path, &st, err));
  return take_source(path, open(path, OPEN_FILE), out, err);
}

/* To its end, whatever size it is said to have: it may grow meanwhile, and
 * files of /proc have none. Closes it. */
static pawl_code read_all(const char *path, FILE *f, pawl_buf *out,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;
  size_t n = 1;
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

pawl_code pawl_source_read(const char *path, pawl_buf *out, pawl_error *err) {
  FILE *f;
  MUST(open_source(path, &f, err));
  return read_all(path, f, out, err);
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

/* ---- modules beside a file that is not trusted ---- */

enum { MOST_MODULE = 200 }; /* bytes of a module's name */

int pawl_source_is_module(const char *name) {
  size_t n = 0;
  for (; name[n]; n++) {
    const char c = name[n];
    if (c == '.' && n && name[n - 1] != '.' && name[n + 1]) continue;
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
        !(c >= '0' && c <= '9') && c != '_' && c != '-')
      return 0;
  }
  return n > 0 && n <= MOST_MODULE;
}

/* `path` is below the folder, and no part of it is a link: one that has taken
 * a part's place since is not followed. -1: errno. */
static int open_below(const char *folder, const char *path) {
  char part[NAME_MAX + 1];
  int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (dir >= 0) {
    const char *slash = strchr(path, '/');
    const size_t len = slash ? (size_t)(slash - path) : strlen(path);
    const int how = slash ? O_RDONLY | O_DIRECTORY | O_CLOEXEC : OPEN_FILE;
    assert(len < sizeof part); /* it is there */
    memcpy(part, path, len);
    part[len] = 0;
    const int fd = openat(dir, part, how | O_NOFOLLOW);
    const int number = errno;
    close(dir);
    errno = number;
    if (!slash) return fd;
    path = slash + 1;
    dir = fd;
  }
  return -1;
}

/* Links are followed as long as they lead to what lies in the folder, as those
 * of a volume that is swapped whole do. */
static pawl_code open_inside(const char *folder, const char *path, FILE **out,
                             pawl_error *err) {
  struct stat st;
  pawl_code rc = PAWL_OK;
  char *root = realpath(folder, NULL), *real = realpath(path, NULL);
  const size_t len = root ? strlen(root) : 0;
  const size_t below = len > 1 ? len + 1 : len; /* "/" is its own slash */

  if (!root || !real || stat(real, &st) != 0)
    rc = cannot_read(path, errno, err);
  else if (strncmp(real, root, len) != 0 || real[below - 1] != '/')
    rc = pawl_fail_hint(err, PAWL_INVALID,
                        "put the file itself there: a link is followed only "
                        "to what lies in the same folder",
                        "%s leads out of its workflow's folder", path);
  else if ((rc = check_kind(path, &st, err)) == PAWL_OK)
    rc = take_source(path, open_below(root, real + below), out, err);
  free(root);
  free(real);
  return rc;
}

static pawl_code read_inside(const char *folder, const char *name,
                             const char *behind, pawl_buf *text,
                             pawl_error *err) {
  pawl_buf path = {.alloc = text->alloc};
  pawl_code rc;
  FILE *f;
  pawl_buf_addf(&path, "%s/", folder);
  for (; *name; name++) pawl_buf_addc(&path, *name == '.' ? '/' : *name);
  pawl_buf_addz(&path, behind);
  TRY(pawl_buf_check(&path, err));
  TRY(open_inside(folder, path.at, &f, err));
  TRY(read_all(path.at, f, text, err));
  TRY(pawl_source_check(path.at, pawl_buf_str(text), err));
out:
  pawl_buf_deinit(&path);
  return rc;
}

pawl_code pawl_source_read_module(const char *folder, const char *name,
                                  pawl_buf *text, pawl_error *err) {
  pawl_code rc;
  if (!pawl_source_is_module(name))
    return pawl_fail(err, PAWL_NOTFOUND, "that is no name of a module");
  rc = read_inside(folder, name, ".lua", text, err);
  if (rc != PAWL_NOTFOUND) return rc;
  return read_inside(folder, name, "/init.lua", text, err);
}

/* ---- what a source may be ---- */

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

/* No hook sees the compiler. */
pawl_code pawl_source_check_size(const pawl_host *host, const char *name,
                                 size_t len, pawl_error *err) {
  if (!host->meter || len <= host->max_bytes) return PAWL_OK;
  pawl_fail_hint(err, PAWL_LIMIT, "make several workflows of it",
                 "%s has %zu bytes; with limited trust %zu are the most", name,
                 len, host->max_bytes);
  pawl_error_where(err, "%s", name);
  return PAWL_LIMIT;
}

static int is_word(unsigned char c) {
  return isalnum(c) || c == '_';
}

int pawl_source_count_jumps(pawl_str text) {
  const char *at = text.at, *end = text.at + text.len;
  int n = 0;
  while (at < end) {
    const char *word = at;
    while (at < end && is_word((unsigned char)*at)) at++;
    const pawl_str s = {word, (size_t)(at - word)};
    n += pawl_str_eqz(s, "break") || pawl_str_eqz(s, "goto");
    while (at < end && !is_word((unsigned char)*at)) at++;
  }
  return n;
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
