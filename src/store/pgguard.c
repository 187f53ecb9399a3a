#include "pgguard.h"

/* A word of the statement: an identifier or a keyword. */
typedef struct word {
  pawl_str text; /* without quotes */
  int is_quoted; /* compared as it stands; others in lower case */
} word;

static int is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (unsigned char)c >= 0x80;
}

static int is_word_part(char c) {
  return is_word_start(c) || (c >= '0' && c <= '9') || c == '$';
}

/* Behind a quoted thing that begins at `at`; doubled quotes are two things
 * side by side, which is the same to us. */
static size_t skip_quoted(pawl_str s, size_t at, int backslashes) {
  char mark = s.at[at++];
  while (at < s.len && s.at[at] != mark)
    at += backslashes && s.at[at] == '\\' ? 2 : 1;
  return at < s.len ? at + 1 : s.len;
}

/* Comments nest here. */
static size_t skip_block_comment(pawl_str s, size_t at) {
  int depth = 0;
  while (at + 1 < s.len) {
    if (s.at[at] == '/' && s.at[at + 1] == '*') {
      depth++;
      at += 2;
    } else if (s.at[at] == '*' && s.at[at + 1] == '/') {
      at += 2;
      if (--depth == 0) return at;
    } else {
      at++;
    }
  }
  return s.len;
}

static size_t skip_line(pawl_str s, size_t at) {
  while (at < s.len && s.at[at] != '\n') at++;
  return at;
}

/* Behind $tag$ ... $tag$; `at` itself when none begins there. */
static size_t skip_dollars(pawl_str s, size_t at) {
  size_t stop = at + 1;
  if (stop < s.len && is_word_start(s.at[stop]))
    while (stop < s.len && is_word_part(s.at[stop]) && s.at[stop] != '$')
      stop++;
  if (stop >= s.len || s.at[stop] != '$') return at;
  size_t len = stop + 1 - at;
  for (size_t i = at + len; i + len <= s.len; i++)
    if (memcmp(s.at + i, s.at + at, len) == 0) return i + len;
  return s.len;
}

/* Behind the word that begins at `at`. A word that is E, U&... in front of a
 * string belongs to it. */
static size_t read_word(pawl_str s, size_t at, word *out) {
  size_t begin = at;
  if (s.at[at] == '"') {
    at = skip_quoted(s, at, 0);
    out->is_quoted = 1;
    out->text = (pawl_str){s.at + begin + 1, at - begin - 1};
    if (out->text.len > 0 && out->text.at[out->text.len - 1] == '"')
      out->text.len--;
    return at;
  }
  while (at < s.len && is_word_part(s.at[at])) at++;
  out->is_quoted = 0;
  out->text = (pawl_str){s.at + begin, at - begin};
  if (at < s.len && s.at[at] == '\'' && at - begin == 1)
    at = skip_quoted(s, at, s.at[begin] == 'e' || s.at[begin] == 'E');
  return at;
}

/* Behind the white space or comment that begins at `at`, or `at` itself. */
static size_t skip_blank(pawl_str s, size_t at) {
  char c = s.at[at], d = at + 1 < s.len ? s.at[at + 1] : 0;
  if (c == '-' && d == '-') return skip_line(s, at);
  if (c == '/' && d == '*') return skip_block_comment(s, at);
  return c == ' ' || (c >= '\t' && c <= '\r') ? at + 1 : at;
}

/* Behind what begins at `at`, and is no word. */
static size_t skip_other(pawl_str s, size_t at) {
  size_t stop = skip_blank(s, at);
  if (stop > at) return stop;
  if (s.at[at] == '\'') return skip_quoted(s, at, 0);
  if (s.at[at] == '$') stop = skip_dollars(s, at);
  if (s.at[at] >= '0' && s.at[at] <= '9')
    while (stop < s.len && is_word_part(s.at[stop])) stop++;
  return stop > at ? stop : at + 1;
}

/* The next word from *at on; 0 at the end. */
static int next_word(pawl_str s, size_t *at, word *out) {
  while (*at < s.len) {
    if (s.at[*at] == '"' || is_word_start(s.at[*at])) {
      *at = read_word(s, *at, out);
      return 1;
    }
    *at = skip_other(s, *at);
  }
  return 0;
}

static int is_word(const word *w, const char *name) {
  if (strlen(name) != w->text.len) return 0;
  if (w->is_quoted) return memcmp(w->text.at, name, w->text.len) == 0;
  for (size_t i = 0; i < w->text.len; i++) {
    char c = w->text.at[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if (c != name[i]) return 0;
  }
  return 1;
}

static int is_among(const word *w, const char *const *names) {
  for (; *names; names++)
    if (is_word(w, *names)) return 1;
  return 0;
}

/* First words. */
static const char *const of_transactions[] = {
    "begin", "start",     "commit",  "end",     "rollback",
    "abort", "savepoint", "release", "prepare", NULL};
static const char *const of_sessions[] = {
    "set",    "reset",  "discard", "listen",     "unlisten",
    "notify", "lock",   "copy",    "execute",    "deallocate",
    "load",   "do",     "declare", "fetch",      "move",
    "close",  "vacuum", "cluster", "checkpoint", NULL};
static const char *const of_reads[] = {"select", "values", "table", "with",
                                       NULL};
/* Words that make a read something else: a writing CTE, a row lock, a new
 * table. */
static const char *const of_writes[] = {"insert", "update", "delete", "merge",
                                        "into",   "share",  NULL};

const char *pawl_pgguard_objection(pawl_str sql, const char *schema) {
  int is_read, writes = 0, mentions = 0, settings = 0;
  size_t at = 0;
  word w;
  if (!next_word(sql, &at, &w)) return "there is no statement";
  if (!w.is_quoted && is_among(&w, of_transactions))
    return "it cannot begin, end or divide its transaction";
  if (!w.is_quoted && is_among(&w, of_sessions))
    return "a statement of this kind is not allowed: the session is pawl's";
  is_read = !w.is_quoted && is_among(&w, of_reads);
  do {
    if (is_word(&w, "set_config"))
      return "set_config is not allowed: the session is pawl's";
    /* U&"p\0061wl": any name at all */
    if (!w.is_quoted && is_word(&w, "u") && at + 1 < sql.len &&
        sql.at[at] == '&' && sql.at[at + 1] == '"')
      return "names are written plainly, not as U&\"...\"";
    if (is_word(&w, "pawl") || (schema && is_word(&w, schema))) mentions = 1;
    if (is_word(&w, "pg_settings")) settings = 1; /* updating it sets */
    if (!w.is_quoted && is_among(&w, of_writes)) writes = 1;
  } while (next_word(sql, &at, &w));
  if (settings && (!is_read || writes))
    return "settings can only be read: the session is pawl's";
  if (mentions && (!is_read || writes))
    return "pawl's own tables can only be read";
  return NULL;
}

int pawl_pgguard_is_several(pawl_str sql) {
  size_t at = 0, stop;
  int ended = 0;
  word w;

  if (!next_word(sql, &at, &w) || is_word(&w, "create")) return 0;
  while (at < sql.len) {
    stop = skip_blank(sql, at);
    if (stop > at) {
      at = stop;
    } else if (sql.at[at] == ';') {
      ended = 1;
      at++;
    } else if (ended) {
      return 1;
    } else if (sql.at[at] == '"' || is_word_start(sql.at[at])) {
      at = read_word(sql, at, &w);
    } else {
      at = skip_other(sql, at);
    }
  }
  return 0;
}
