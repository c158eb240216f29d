/* SPDX-License-Identifier: MIT
 * xml.h: foreign text inside XML, where one wrong byte makes the whole file unreadable. */
#ifndef WS_SERVER_XML_H
#define WS_SERVER_XML_H

#include <stddef.h>
#include <stdio.h>

/* At most `most` characters of text (0 = all), "…" for the rest; markup is escaped, and what XML 1.0 forbids (control
 * characters, bytes that are no UTF-8, surrogates, U+FFFE, U+FFFF) becomes '?'. Right for content and attributes. */
void ws_xml_text(FILE *out, const char *text, size_t most);

#endif
