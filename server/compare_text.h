/* SPDX-License-Identifier: MIT
 * compare_text.h: a comparison for people, in a terminal or as Markdown for a pull request. */
#ifndef WS_SERVER_COMPARE_TEXT_H
#define WS_SERVER_COMPARE_TEXT_H

#include "compare.h"
#include "gate.h"

#include <stdio.h>

struct ws_compare_options {
    bool markdown;
    bool all;                  /* also pairs without a change */
    size_t top;                /* at most so many rows; 0 = all */
    const char *base, *target; /* what the user called them */
};

/* -WS_ENOMEM */
int ws_compare_text(const struct ws_comparison *c, const struct ws_gate *gate, const struct ws_compare_options *options,
                    FILE *out);

#endif
