/* Answers made of rows: whole, or an error. */
#include "../../src/engine/common/answer.h"
#include "test.h"

/* One row of a statement that gives `id` and nothing else. */
static pawl_rows one_row(pawl_cell *cell) {
  static const pawl_id id = {{1, 2, 3}};
  *cell = (pawl_cell){.s = {(const char *)id.bytes, 16}};
  return (pawl_rows){.stmt = PAWL_STMT_instance_by_key,
                     .cells = cell,
                     .nrows = 1,
                     .ncols = 1};
}

static pawl_code answer(const char *names, pawl_buf *out, pawl_error *err) {
  pawl_cell cell;
  const pawl_rows rows = one_row(&cell);

  pawl_add_rows(out, &rows, names);
  return pawl_answer_check(out, err);
}

static void an_answer_has_what_it_names(void) {
  pawl_buf out = {0};
  pawl_error err = {0};

  CHECK_INT(answer("id other=id", &out, &err), PAWL_OK);
  CHECK(out.at && strstr(out.at, "\"other\":\"01020300-") != NULL);
  pawl_buf_deinit(&out);
}

static void an_unknown_column_is_no_answer(void) {
  pawl_buf out = {0};
  pawl_error err = {0};

  CHECK_INT(answer("id node=nodes", &out, &err), PAWL_INTERNAL);
  CHECK(strstr(err.message, "nodes") != NULL);
  pawl_buf_deinit(&out);
}

int main(void) {
  an_answer_has_what_it_names();
  an_unknown_column_is_no_answer();
  return TEST_END;
}
