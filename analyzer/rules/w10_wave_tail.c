/* SPDX-License-Identifier: MIT
 * w10_wave_tail.c: a last wave that leaves most of the GPU idle. */
#include "analyzer/rule.h"

/* 3.88 waves lose 3 %, which is nothing (suite). NCU's 1 / (1 + whole waves) >= 20 % fires there. */
#define LEAST_LOSS 0.15

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
    ws_rule_gain(in, f, loss);
    return true;
}

#define GRID(blocks)                                                        \
    {                                                                       \
        .grid = {blocks, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32 \
    }

static const struct ws_rule_case cases[] = {
    {"one block too many", true, 0.4995, 0.0002, .launch = GRID(1057)},
    {"one wave and a half", true, 0.25, 1e-9, .launch = GRID(1584)},
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
    .formula = "1 - waves / ceil(waves)",
    .when_not = "Blocks of very different length fill the gap by themselves; other kernels may run in it.",
    .source = "own formula: the share of block slots that stay empty",
    .bad = "tail_wave (1057 and 1584 blocks)",
    .good = "tail_wave (1056, 2112 and 4096 blocks), mat_add (3.88 waves)",
    .needs = WS_NEEDS(WS_M_theoretical_occupancy),
    .check = check,
    WS_CASES(cases),
};
