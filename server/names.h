/* SPDX-License-Identifier: MIT
 * names.h: names of kernels for people. The mangled name is what is stored; everything here is made on read.
 * A name is foreign text of any length and content: work and result are bounded. */
#ifndef WS_SERVER_NAMES_H
#define WS_SERVER_NAMES_H

#include "../analyzer/name_hash.h"
#include "arena.h"

#include <stdbool.h>

struct ws_name {
    const char *mangled;   /* "_Z11stride_readILi2EEvPKfPfi" */
    const char *demangled; /* "void stride_read<2>(float const*, float*, int)"; = mangled when it cannot be told */
    const char *alias; /* "stride_read<2>": no return type, no scope, no parameters; long template arguments folded */
    const char *base;  /* "stride_read": the function's bare name */
    char hash[WS_NAME_HASH]; /* "f3a9…": of the mangled name, the same everywhere and always (name_hash.h) */
    bool is_library;         /* of a vendor's library: its source is not the user's to change */
};

/* Fill *out; texts live in the arena (mangled is lent). Never fails: what cannot be had is the mangled name. */
void ws_name_of(struct ws_arena *arena, const char *mangled, struct ws_name *out);

/* What --kernel says: "NAME" is one of a kernel's four names, exactly but for blanks, or its hash; "regex:RE" is a
 * POSIX extended regular expression found in the demangled or the mangled name. */
struct ws_name_filter;

/* NULL when the expression is wrong or memory is out; message [cap] says so. */
struct ws_name_filter *ws_name_filter_new(const char *text, char *message, size_t cap);
void ws_name_filter_free(struct ws_name_filter *filter);
bool ws_name_filter_fits(const struct ws_name_filter *filter, const struct ws_name *name);

#endif
