/* base/base64.h: bytes as text (RFC 4648, section 4). */
#ifndef PAWL_BASE_BASE64_H
#define PAWL_BASE_BASE64_H

#include "buf.h"

void pawl_base64_encode(pawl_str bytes, pawl_buf *out);
/* Appends the bytes; 0 when the text is not base64. `text` may be part of
 * what *out held before the call. */
int pawl_base64_decode(pawl_str text, pawl_buf *out);

#endif
