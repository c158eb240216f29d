/* SPDX-License-Identifier: MIT
 * w10_wave_tail.c: a last wave that leaves most of the GPU idle. */
#include "analyzer/rule.h"

/* 3.88 waves lose 3 %, which is nothing (suite). NCU's 1 / (1 + whole waves) >= 20 % fires there. */
#define LEAST_LOSS 0.15

/* Waits for what other warps use: they end where there are fewer warps, so a wave that is not full is faster. */
static double contention(const struct ws_rule_input *in)
{
    static const enum ws_metric_id reasons[] = {WS_M_stall_not_selected,       WS_M_stall_dispatch_stall,
                                                WS_M_stall_math_pipe_throttle, WS_M_stall_lg_throttle,
                                                WS_M_stall_mio_throttle,       WS_M_stall_tex_throttle};
    double share = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        share += ws_rule_stall_share_if_known(in, reasons[i]);
    return fmin(share, 1);
}

/* What the last wave costs beyond its share of the blocks. With fewer blocks than SMs it is seen: SMs that idle while
 * the busiest works. Else every SM has fewer blocks than it could hold, and each of them runs the faster for it. */
static double lost_time(const struct ws_rule_input *in, double waves, double slots)
{
    double whole = floor(waves), filled = waves - whole;
    double last = 1 - contention(in) * (1 - filled);
    if (filled * slots >= in->facts->device->sms)
        return (last - filled) / (whole + last);
    if (!ws_has(in->metric[WS_M_sm_active_cycles_avg]) || !ws_has(in->metric[WS_M_sm_active_cycles_max]) ||
        !ws_has(in->metric[WS_M_elapsed_cycles]) || !(ws_rule_metric(in, WS_M_elapsed_cycles) > 0))
        return 1;
    return (ws_rule_metric(in, WS_M_sm_active_cycles_max) - ws_rule_metric(in, WS_M_sm_active_cycles_avg)) /
           ws_rule_metric(in, WS_M_elapsed_cycles);
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double waves = ws_rule_waves(in), loss;
    double slots = (double)in->occupancy->blocks_per_sm * in->facts->device->sms;
    if (waves < 1)
        return false;
    loss = 1 - waves / ceil(waves);
    if (loss < LEAST_LOSS)
        return false;
    ws_rule_evidence(f, "waves", waves);
    ws_rule_evidence(f, "last_wave", waves - floor(waves));
    ws_rule_evidence(f, "loss", loss);
    ws_rule_evidence(f, "blocks_of_whole_waves", floor(waves) * slots);
    ws_rule_gain(in, f, fmin(loss, lost_time(in, waves, slots)));
    return true;
}

#define GRID(blocks)                                                        \
    {                                                                       \
        .grid = {blocks, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32 \
    }

static const struct ws_rule_case cases[] = {
    {"one block too many", true, 0.4995, 0.0002, .launch = GRID(1057)},
    {"one wave and a half", true, 0.25, 1e-9, .launch = GRID(1584)},
    {"one block too many, and it runs fast alone", true, 0.109, 0.001, .launch = GRID(1057),
     .facts = {WS_FACT(sm_active_cycles_avg, 195409), WS_FACT(sm_active_cycles_max, 219711),
               WS_FACT(elapsed_cycles, 222677)}},
    {"one wave and a half, two thirds of the waits for each other", true, 0.0964, 0.0001, .launch = GRID(1584),
     .facts = {WS_FACT(stall_not_selected, 36), WS_FACT(stall_dispatch_stall, 32), WS_FACT(stall_wait, 28),
               WS_FACT(stall_selected, 4)}},
    {"one wave", false, .launch = GRID(1056)},
    {"two waves", false, .launch = GRID(2112)},
    {"3.88 waves", false, .launch = GRID(4096)},
    {"less than a wave", false, .launch = GRID(100)},
    {"62 waves", false, .launch = GRID(65536)},
};

const struct ws_rule ws_rule_w10_wave_tail = {
    .id = "W10-wave-tail",
    .title = "Mostly idle last wave",
    .condition = "at least one wave, and 1 - waves / ceil(waves) >= 15 %",
    .why = "Blocks run in waves of as many as the GPU holds. If all take equally long, a last wave with few blocks "
           "costs as much time as a full one.",
    .advice = "The grid is {waves} waves; the last one is {last_wave:%} full, so {loss:%} of block slots idle. Choose "
              "a grid of at most {blocks_of_whole_waves:i} blocks, a grid-stride loop, or smaller blocks.",
    .formula =
        "at most 1 - waves / ceil(waves); last wave with fewer blocks than SMs: (busiest - mean SM's active cycles) "
        "/ elapsed; else (t - f) / (whole waves + t), f = its blocks / slots, t = 1 - (1 - f) x share of waits "
        "for units that other warps use",
    .when_not = "Blocks of very different length fill the gap by themselves; other kernels may run in it.",
    .source =
        "own formula: the share of block slots that stay empty, as far as they cost time (tail_wave on an H200: a "
        "lone block runs 8 times as fast as one of 8)",
    .bad = "tail_wave (1057 and 1584 blocks)",
    .good = "tail_wave (1056, 2112 and 4096 blocks), mat_add (3.88 waves)",
    .needs = WS_NEEDS(WS_M_theoretical_occupancy),
    .check = check,
    WS_CASES(cases),
};
