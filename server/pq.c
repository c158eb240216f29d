/* SPDX-License-Identifier: MIT
 * pq.c: see pq.h. */
#include "pq.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef WS_HAVE_PQ
#define SONAME "libpq.so.5"

struct ws_pq_functions ws_pq;

/* A data pointer as a function's: POSIX allows what ISO C leaves open. */
static bool find(void *library, const char *name, void *at)
{
    void *symbol = dlsym(library, name);
    memcpy(at, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool ws_pq_open(char *message, size_t cap)
{
    void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    bool is_whole = library != NULL;
#define WS_PQ_FIND(name) is_whole = is_whole && find(library, #name, &ws_pq.name);
    WS_PQ_FUNCTIONS(WS_PQ_FIND)
#undef WS_PQ_FIND
    if (!is_whole)
        snprintf(message, cap, "%s is missing or too old: install Debian's libpq5, or what your system calls it",
                 SONAME);
    return is_whole;
}
#else
bool ws_pq_open(char *message, size_t cap)
{
    snprintf(message, cap, "this program was built without libpq: install libpq-dev, then run make");
    return false;
}
#endif
