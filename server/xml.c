/* SPDX-License-Identifier: MIT
 * xml.c: foreign text inside XML. Writes to the caller's FILE, keeps nothing. */
#include "xml.h"

#include "utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Code of a valid sequence of n bytes. */
static uint32_t code_of(const unsigned char *s, size_t n)
{
    uint32_t code = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

/* Controls are forbidden or useless; those that turn the reading direction make a name look like another. */
static bool is_allowed(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && code != 0xfffe && code != 0xffff &&
           !(code >= 0x202a && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
}

static void put(FILE *out, const char *at, size_t n)
{
    switch (*at) {
    case '&':
        fputs("&amp;", out);
        break;
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    case '\'':
        fputs("&#39;", out);
        break;
    default:
        fwrite(at, 1, n, out);
        break;
    }
}

void ws_xml_text(FILE *out, const char *text, size_t most)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length = strlen(text);
    size_t written = 0;
    for (size_t i = 0; i < length; written++) {
        size_t n = ws_utf8_length(s + i, length - i);
        if (most > 0 && written == most) {
            fputs("…", out);
            return;
        }
        if (n == 0 || !is_allowed(code_of(s + i, n)))
            fputc('?', out);
        else
            put(out, text + i, n);
        i += n ? n : 1;
    }
}
