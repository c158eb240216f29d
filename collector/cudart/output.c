/* SPDX-License-Identifier: MIT
 * output.c: what kernels print, until a call that waits shows it. Under the lock of rt.c, or from the launch that it
 * protects. */
#include "rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT (64u << 20) /* a runaway kernel */

static char *kept;
static size_t kept_n, kept_cap;

void rt_print(void *state, bool is_assert, const char *text, size_t bytes)
{
    (void)state;
    if (is_assert) {
        (void)fwrite(text, 1, bytes, stderr);
        return;
    }
    if (kept_n + bytes > LIMIT)
        return;
    if (kept_cap - kept_n < bytes) {
        size_t cap = kept_cap * 2 + bytes + 4096;
        char *bigger = realloc(kept, cap);
        if (!bigger)
            return;
        kept = bigger;
        kept_cap = cap;
    }
    memcpy(kept + kept_n, text, bytes);
    kept_n += bytes;
}

void rt_print_flush(void)
{
    if (kept_n > 0)
        (void)fwrite(kept, 1, kept_n, stdout);
    kept_n = 0;
}

size_t rt_print_pending(void)
{
    return kept_n;
}
