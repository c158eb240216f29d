/* SPDX-License-Identifier: MIT
 * ncu.h: what Nsight Compute would advise: reads the output of `ncu --csv --page details`, for the scorecard of our
 * own advice. The file is foreign bytes: every row that is not as expected is left out, and counted.
 * Read on: scorecard.c (who asks). */
#ifndef WS_SERVER_NCU_H
#define WS_SERVER_NCU_H

#include "../analyzer/expect.h"
#include "../analyzer/facts.h"

/* The largest estimates of one launch: shares of the kernel's time that its rules say can be saved. A global estimate
 * is of the whole kernel; a local one is of a part of it (one unit's time, say) and cannot be held against times. */
struct ws_ncu_advice {
    struct ws_value global, local;        /* 0…1, or missing: no rule made such an estimate */
    const char *global_rule, *local_rule; /* "" if missing; lent, valid while the file is */
};

struct ws_ncu;

/* Read text[length], which need not end in NUL.
 *   out      free with ws_ncu_free
 *   errors   -WS_ESYNTAX  no line of column titles, or a column that is needed is not there: message [cap] says which
 *            -WS_ELIMIT   more launches than any program worth advising has; -WS_ENOMEM */
int ws_ncu_parse(const char *text, size_t length, struct ws_ncu **out, char *message, size_t cap);
/* The same of a file, plain or compressed by gzip. Also -WS_EIO, -WS_ELIMIT for more than 1 GiB. */
int ws_ncu_read(const char *path, struct ws_ncu **out, char *message, size_t cap);
void ws_ncu_free(struct ws_ncu *ncu);

size_t ws_ncu_launches(const struct ws_ncu *ncu);
size_t ws_ncu_left_out(const struct ws_ncu *ncu); /* rows that could not be read */

/* The first launch of the kernel that NAME of an .expect file means, with this geometry; false: there is none. */
bool ws_ncu_find(const struct ws_ncu *ncu, struct ws_word name, struct ws_dim3 grid, struct ws_dim3 block,
                 struct ws_ncu_advice *out);

#endif
