/* base/log.h: one callback, levels, fields. */
#ifndef PAWL_BASE_LOG_H
#define PAWL_BASE_LOG_H

#include "buf.h"

typedef struct pawl_log {
  pawl_log_fn fn; /* NULL: nothing is logged */
  void *ud;
} pawl_log;

/* `fields` is JSON object text; NULL: "{}". */
void pawl_log_write(const pawl_log *log, int level, const char *message,
                    const char *fields);
/* Logs an error with its code, where and hint as fields. */
void pawl_log_error(const pawl_log *log, int level, const char *message,
                    const pawl_error *err);

#endif
