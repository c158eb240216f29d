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

/* What one must know before believing a difference of times: another GPU, driver, source. Calls each with a line. */
void ws_compare_warnings(const struct ws_comparison *c, void (*each)(void *state, const char *line), void *state);

/* -WS_ENOMEM */
int ws_compare_text(const struct ws_comparison *c, const struct ws_gate *gate, const struct ws_compare_options *options,
                    FILE *out);

/* How the conditions came out over all pairs. */
struct ws_gate_tally {
    size_t passed, failed, noise, unknown;
    size_t never_judged; /* conditions that no pair had the values for */
};
struct ws_gate_tally ws_gate_tally(const struct ws_gate *gate, const struct ws_comparison *c);

#endif
