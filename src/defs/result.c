#include "result.h"

#include <assert.h>

static const char *const names[] = {
#define HANDLER_NAME(name, text) text,
    PAWL_HANDLERS(HANDLER_NAME)
#undef HANDLER_NAME
};

const char *pawl_handler_name(pawl_handler handler) {
  assert(handler < sizeof names / sizeof *names);
  return names[handler];
}

int pawl_handler_is_pure(pawl_handler handler) {
  return handler != PAWL_HANDLER_RUN && handler != PAWL_HANDLER_UNDO;
}

/* What is done to each member, by its type. */
#define INIT_FLAG(name)
#define INIT_TIME(name)
#define INIT_TEXT(name) r->name.alloc = alloc;
#define INIT_LIST(name) INIT_TEXT(name)
#define INIT(type, name) INIT_##type(name)

#define DEINIT_FLAG(name)
#define DEINIT_TIME(name)
#define DEINIT_TEXT(name) pawl_buf_deinit(&r->name);
#define DEINIT_LIST(name) DEINIT_TEXT(name)
#define DEINIT(type, name) DEINIT_##type(name)

#define CLEAR_FLAG(name) r->name = 0;
#define CLEAR_TIME(name) r->name = 0;
#define CLEAR_TEXT(name) pawl_buf_clear(&r->name);
#define CLEAR_LIST(name) CLEAR_TEXT(name)
#define CLEAR(type, name) CLEAR_##type(name)

#define CLOSE_FLAG(name)
#define CLOSE_TIME(name)
#define CLOSE_TEXT(name)
#define CLOSE_LIST(name) MUST(close_list(&r->name, err));
#define CLOSE(type, name) CLOSE_##type(name)

void pawl_said_init(pawl_said *r, const pawl_alloc *alloc) {
  memset(r, 0, sizeof *r);
  PAWL_RESULT_EFFECTS(INIT)
  PAWL_RESULT_FAILURE(INIT)
  r->retry_after_us = -1;
}

void pawl_said_deinit(pawl_said *r) {
  PAWL_RESULT_EFFECTS(DEINIT)
  PAWL_RESULT_FAILURE(DEINIT)
}

void pawl_said_drop_effects(pawl_said *r) {
  PAWL_RESULT_EFFECTS(CLEAR)
}

void pawl_said_shed_effects(pawl_said *r) {
  pawl_said_drop_effects(r);
  PAWL_RESULT_EFFECTS(DEINIT)
}

void pawl_said_drop_failure(pawl_said *r) {
  PAWL_RESULT_FAILURE(CLEAR)
  r->retry_after_us = -1;
}

void pawl_said_clear(pawl_said *r) {
  pawl_said_drop_effects(r);
  pawl_said_drop_failure(r);
}

/* ---- texts of an error ---- */

static const size_t CUT = sizeof PAWL_CUT - 1; /* its length */

void pawl_failure_keep(pawl_buf *whole, char *fixed, size_t size,
                       pawl_str text) {
  if (whole) pawl_buf_clear(whole);
  if (text.len < size) {
    pawl_str_copy(fixed, size, text);
    return;
  }
  pawl_str_copy(fixed, size - CUT, text);
  memcpy(fixed + strlen(fixed), PAWL_CUT, CUT + 1);
  if (!whole) return;
  if (text.len <= PAWL_MAX_FAILURE) {
    pawl_buf_adds(whole, text);
  } else {
    pawl_buf_add(whole, text.at,
                 pawl_utf8_whole(text.at, PAWL_MAX_FAILURE - CUT));
    pawl_buf_addz(whole, PAWL_CUT);
  }
  if (whole->failed) pawl_buf_clear(whole);
}

/* Whoever took an error for his own has put something in front of its
 * message, or made another one. */
pawl_str pawl_failure_text(const pawl_buf *whole, const char *fixed) {
  size_t n = strlen(fixed);

  if (n > CUT && n < whole->len && !strcmp(fixed + n - CUT, PAWL_CUT) &&
      !memcmp(fixed, whole->at, n - CUT))
    return pawl_buf_str(whole);
  return pawl_strz(fixed);
}

void pawl_said_move(pawl_said *to, pawl_said *from) {
  const pawl_alloc *alloc = from->transition.alloc;
  pawl_said_deinit(to);
  *to = *from;
  pawl_said_init(from, alloc);
}

pawl_code pawl_said_add(pawl_buf *list, pawl_str member, pawl_error *err) {
  if (pawl_buf_room(list, member.len + 1)) {
    pawl_buf_addc(list, list->len ? ',' : '[');
    pawl_buf_adds(list, member);
  }
  return pawl_buf_check(list, err);
}

static pawl_code close_list(pawl_buf *list, pawl_error *err) {
  if (list->len) pawl_buf_addc(list, ']');
  return pawl_buf_check(list, err);
}

pawl_code pawl_said_close(pawl_said *r, pawl_error *err) {
  PAWL_RESULT_EFFECTS(CLOSE)
  return PAWL_OK;
}
