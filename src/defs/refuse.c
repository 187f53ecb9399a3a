#include "refuse.h"

#include <stdarg.h>
#include <stdio.h>

pawl_code pawl_refuse_at(const pawl_def *def, int line, pawl_error *err) {
  if (line > 0)
    pawl_error_where(err, "%s:%d", def->file, line);
  else
    pawl_error_where(err, "%s", def->file);
  return PAWL_DEFINITION;
}

pawl_code pawl_refuse_node(const pawl_def *def, const pawl_node *node,
                           pawl_error *err, const char *hint, const char *fmt,
                           ...) {
  char text[sizeof err->message]; /* what is cut here is cut again, and told */
  va_list args;

  va_start(args, fmt);
  (void)vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  pawl_fail(err, PAWL_DEFINITION, PAWL_NODE_FMT "%s", PAWL_NODE_ARGS(node),
            text);
  if (hint) pawl_error_hint(err, "%s", hint);
  return pawl_refuse_at(def, node->line, err);
}
