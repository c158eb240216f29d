/* SPDX-License-Identifier: MIT
 * name_hash.c: a kernel's name as 16 hexadecimal digits. Pure. */
#include "name_hash.h"

#include <stdint.h>
#include <string.h>

/* Marks of one file and build: in a mangled name "<length><mark>…", of which length characters belong to it. */
static const char *const marks[] = {"_GLOBAL__N_", "_INTERNAL_"};

/* Where a number that stands at `at` says a mark's name ends; NULL: there is no such name. *mark: which. */
static const char *end_of_mark(const char *at, const char **mark)
{
    size_t length = 0;
    const char *name = at;
    while (*name >= '0' && *name <= '9' && length < 100000)
        length = length * 10 + (size_t)(*name++ - '0');
    for (size_t i = 0; name != at && i < sizeof marks / sizeof *marks; i++) {
        *mark = marks[i];
        if (strncmp(name, marks[i], strlen(marks[i])) == 0 && !memchr(name, 0, length))
            return name + length;
    }
    return NULL;
}

static uint64_t add(uint64_t hash, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void ws_name_hash(const char *mangled, char out[WS_NAME_HASH])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    bool in_number = false; /* only at a number's first digit may a length begin */
    for (const char *at = mangled; *at;) {
        bool is_digit = *at >= '0' && *at <= '9';
        const char *mark = NULL;
        const char *end = is_digit && !in_number ? end_of_mark(at, &mark) : NULL;
        in_number = is_digit;
        if (end) {
            hash = add(hash, mark, strlen(mark));
            at = end;
            in_number = false;
            continue;
        }
        hash = add(hash, at++, 1);
    }
    for (int i = 0; i < 16; i++)
        out[i] = digits[hash >> (60 - 4 * i) & 15];
    out[16] = 0;
}

bool ws_name_is_hash(const char *text)
{
    return strspn(text, "0123456789abcdefABCDEF") == 16 && text[16] == 0;
}

bool ws_name_equal(const char *a, size_t a_length, const char *b)
{
    size_t at = 0;
    for (;;) {
        while (at < a_length && a[at] == ' ')
            at++;
        while (*b == ' ')
            b++;
        if (at == a_length || *b == 0)
            return at == a_length && *b == 0;
        if (a[at++] != *b++)
            return false;
    }
}
