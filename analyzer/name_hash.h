/* SPDX-License-Identifier: MIT
 * name_hash.h: a kernel's name as 16 hexadecimal digits: what a script writes down where names are long, contain
 * blanks and quotes, or must not be told. Pure. Used by the collector (-k) and the server (reports, filters). */
#ifndef WS_ANALYZER_NAME_HASH_H
#define WS_ANALYZER_NAME_HASH_H

#include <stdbool.h>
#include <stddef.h>

enum { WS_NAME_HASH = 17 }; /* bytes with the NUL */

/* The hash of a mangled name: FNV-1a of 64 bits over its bytes, where the mark that a compiler gives to an anonymous
 * namespace of one file and build (_GLOBAL__N__…, _INTERNAL_…) counts as its beginning only. The same in every session,
 * on every machine and after a recompilation; another template argument or parameter is another hash. */
void ws_name_hash(const char *mangled, char out[WS_NAME_HASH]);

/* Whether text is written like a hash: 16 hexadecimal digits, small or capital. */
bool ws_name_is_hash(const char *text);

/* Whether two names are the same but for blanks: "f<32, 8>" and "f<32,8>". */
bool ws_name_equal(const char *a, size_t a_length, const char *b);

#endif
