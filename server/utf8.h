/* SPDX-License-Identifier: MIT
 * utf8.h: is a foreign text UTF-8? Asked by every writer of text: JSON, XML, terminals. */
#ifndef WS_SERVER_UTF8_H
#define WS_SERVER_UTF8_H

#include <stddef.h>

/* Bytes of the valid sequence at s[0..left), left > 0; 0 when there is none. Overlong forms, surrogates and values
 * above U+10FFFF are not valid (Unicode 15, table 3-7). */
size_t ws_utf8_length(const unsigned char *s, size_t left);

#endif
