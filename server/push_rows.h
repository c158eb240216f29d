/* SPDX-License-Identifier: MIT
 * push_rows.h: one session as rows of push_schema.sql, in the text form of COPY. */
#ifndef WS_SERVER_PUSH_ROWS_H
#define WS_SERVER_PUSH_ROWS_H

#include "push.h"
#include "report.h"

#include <stdio.h>

/* X(symbol, table with its columns in the order in which they are written); parents first. */
#define WS_PUSH_TABLES(X)                                                                                        \
    X(SESSION, "session (token, fingerprint, node, name, source, exe, argv, note, started, ended, exit_status, " \
               "cuda_driver, gpu, kernel_time)")                                                                 \
    X(DEVICE, "device (token, uuid, idx, name, chip, cc_major, cc_minor, sms)")                                  \
    X(KERNEL,                                                                                                    \
      "kernel (token, kernel, uuid, hash, name, demangled, grid_x, grid_y, grid_z, block_x, block_y, block_z, "  \
      "dynamic_smem_bytes, launches, profiled, total_s, mean_s, min_s, max_s)")                                  \
    X(METRIC, "metric (token, kernel, key, value, unit)")                                                        \
    X(POINT, "point (token, kernel, prec, level, intensity, rate, roof, percent, bound)")                        \
    X(FINDING, "finding (token, kernel, rule, severity, gain, advice)")                                          \
    X(PC_SAMPLE, "pc_sample (token, hash, reason, samples, not_issued)")                                         \
    X(SAMPLE, "sample (token, series, uuid, kernel, key, samples, mean, min, max, unit)")
enum ws_push_table {
#define WS_PUSH_ENUM(sym, columns) WS_PUSH_##sym,
    WS_PUSH_TABLES(WS_PUSH_ENUM)
#undef WS_PUSH_ENUM
        WS_PUSH_TABLE_COUNT
};

/* What tells whether a session changed since it was pushed, by what its list shows; out is NUL-ended. */
void ws_push_fingerprint(const struct ws_session_row *row, char out[65]);

/* Append the session's rows to table[]. Foreign text that is no UTF-8 loses the bytes that are none. -WS_ENOMEM. */
int ws_push_put_session(FILE *const table[WS_PUSH_TABLE_COUNT], const struct ws_session *session,
                        const char *fingerprint, struct ws_push_count *count);

#endif
