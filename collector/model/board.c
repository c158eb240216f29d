/* SPDX-License-Identifier: MIT
 * board.c: a row of gpus.def as the device of a modelled session. */
#include "board.h"

#include <stdio.h>
#include <string.h>

static bool find_board(const char *wanted, struct ws_board *out)
{
    for (size_t k = 0; k < ws_gpus_board_count(); k++) {
        struct ws_board board;
        ws_gpus_board_at(k, &board);
        if (strcasestr(board.names, wanted)) {
            *out = board;
            return true;
        }
    }
    return false;
}

bool ws_model_board(const char *wanted, struct ws_board *board, struct ws_emit_device *out, char name[64])
{
    const struct ws_limits *limits;
    if (!find_board(wanted, board))
        return false;
    snprintf(name, 64, "%.*s", (int)strcspn(board->names, "|"), board->names);
    memset(out, 0, sizeof *out);
    out->name = name;
    out->cc_major = board->cc_major;
    out->cc_minor = board->cc_minor;
    out->sms = board->sms;
    out->l2_bytes = ws_has(board->l2_bytes) ? (uint64_t)board->l2_bytes.number : 0;
    out->sm_clock_hz = ws_has(board->boost_clock_hz) ? (uint64_t)board->boost_clock_hz.number : 0;
    limits = ws_gpus_limits(board->cc_major, board->cc_minor);
    if (limits) {
        out->max_warps_per_sm = limits->warps_per_sm;
        out->regs_per_sm = limits->regs_per_sm;
        out->smem_bytes_per_sm = limits->smem_per_sm;
        out->smem_optin_bytes = limits->smem_per_block;
    }
    return true;
}
