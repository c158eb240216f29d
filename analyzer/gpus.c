/* SPDX-License-Identifier: MIT
 * gpus.c: the tables made from gpus.def and the look-ups in them. No number is written here
 * except the carve-out sizes, which whole families share. */
#include "gpus.h"

#include "err.h"

#include <string.h>

#define PG13 "CUDA Programming Guide 13, compute capabilities; "
#define PG12 "CUDA C++ Programming Guide 12, compute capabilities; "
#define OCC "cuda_occupancy.h of CUDA 13.0"
#define PTXAS "; ptxas 13.0 (threads per SM)"
#define HTG "; Hopper Tuning Guide (clusters)"
#define BTG "; Blackwell Tuning Guide (clusters)"
#define DQ "; deviceQuery (registers per block)"

static const struct ws_limits limits_table[] = {
#define WS_LIMITS(major, minor, warps, blocks, regs_sm, regs_block, regs_thread, parts, smem_sm, smem_block, reserved, \
                  granule, carve, barriers, portable, cluster, lanes, ratio, source)                                   \
    {major,    minor,   warps,      blocks,   regs_sm, regs_block,          regs_thread,                               \
     parts,    smem_sm, smem_block, reserved, granule, WS_CARVEOUT_##carve, barriers,                                  \
     portable, cluster, lanes,      ratio,    source},
#include "gpus.def"
#undef WS_LIMITS
};

/* Sizes in KiB, rising. Source: Programming Guide 13 table 32 (Volta: guide 12, cc 7.x). */
static const struct {
    uint16_t n;
    uint16_t kib[10];
} carveouts[WS_CARVEOUT_SETS] = {
    [WS_CARVEOUT_NONE] = {0, {0}},
    [WS_CARVEOUT_VOLTA] = {6, {0, 8, 16, 32, 64, 96}},
    [WS_CARVEOUT_TURING] = {2, {32, 64}},
    [WS_CARVEOUT_TO_100] = {6, {0, 8, 16, 32, 64, 100}},
    [WS_CARVEOUT_TO_164] = {8, {0, 8, 16, 32, 64, 100, 132, 164}},
    [WS_CARVEOUT_TO_228] = {10, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
};

struct board_row {
    const char *names;
    uint16_t major, minor, sms, boost_mhz;
    double tera[WS_RATE_COUNT];
    double dram_giga;
    uint32_t l2_kib;
    double link_giga;
    const char *source;
};

static const struct board_row boards[] = {
#define WS_BOARD(names, major, minor, sms, mhz, fp64, fp32, fp16, t64, tf32, t16h, t16f, bf16, fp8, int8, dram, l2, \
                 link, source)                                                                                      \
    {names, major, minor, sms, mhz, {fp64, fp32, fp16, t64, tf32, t16h, t16f, bf16, fp8, int8}, dram, l2, link, source},
#include "gpus.def"
#undef WS_BOARD
};

enum { LIMITS_COUNT = sizeof limits_table / sizeof *limits_table, BOARD_COUNT = sizeof boards / sizeof *boards };

const struct ws_limits *ws_gpus_limits(uint32_t cc_major, uint32_t cc_minor)
{
    for (size_t i = 0; i < LIMITS_COUNT; i++)
        if (limits_table[i].cc_major == cc_major && limits_table[i].cc_minor == cc_minor)
            return &limits_table[i];
    return NULL;
}

const struct ws_limits *ws_gpus_limits_all(size_t *count)
{
    *count = LIMITS_COUNT;
    return limits_table;
}

size_t ws_gpus_board_count(void)
{
    return BOARD_COUNT;
}

/* 0 in the table means that the source does not say. */
static struct ws_value known(double number, double scale)
{
    return number > 0 ? ws_value_of(number * scale) : ws_missing(WS_WHY_NOT_IN_SOURCE, NULL);
}

void ws_gpus_board_at(size_t i, struct ws_board *out)
{
    const struct board_row *row = &boards[i];
    out->names = row->names;
    out->cc_major = row->major;
    out->cc_minor = row->minor;
    out->sms = row->sms;
    out->boost_clock_hz = known(row->boost_mhz, 1e6);
    for (size_t r = 0; r < WS_RATE_COUNT; r++)
        out->rate[r] = known(row->tera[r], 1e12);
    out->dram_bytes_per_s = known(row->dram_giga, 1e9);
    out->l2_bytes = known(row->l2_kib, 1024);
    out->link_bytes_per_s = known(row->link_giga, 1e9);
    out->source = row->source;
}

/* True if `name` is one of the '|'-separated names. */
static int named(const char *names, const char *name)
{
    size_t length = strlen(name);
    while (length > 0) {
        size_t piece = strcspn(names, "|");
        if (piece == length && memcmp(names, name, length) == 0)
            return 1;
        if (names[piece] == 0)
            break;
        names += piece + 1;
    }
    return 0;
}

int ws_gpus_board(const char *driver_name, struct ws_board *out)
{
    for (size_t i = 0; driver_name && i < BOARD_COUNT; i++)
        if (named(boards[i].names, driver_name)) {
            ws_gpus_board_at(i, out);
            return 0;
        }
    return -WS_ENOENT;
}

uint32_t ws_gpus_carveout(const struct ws_limits *limits, uint64_t bytes)
{
    for (size_t i = 0; i < carveouts[limits->carveouts].n; i++)
        if ((uint64_t)carveouts[limits->carveouts].kib[i] * 1024u >= bytes)
            return carveouts[limits->carveouts].kib[i] * 1024u;
    return limits->smem_per_sm;
}
