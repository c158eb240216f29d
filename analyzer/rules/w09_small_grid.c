/* SPDX-License-Identifier: MIT
 * w09_small_grid.c: fewer blocks than SMs. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double blocks = ws_rule_blocks(&in->facts->launch), sms = in->facts->device->sms;
    if (!(blocks > 0 && blocks < sms))
        return false;
    ws_rule_evidence(f, "blocks", blocks);
    ws_rule_evidence(f, "idle_sms", sms - blocks);
    ws_rule_evidence(f, "sms", sms);
    ws_rule_gain(in, f, 1 - blocks / sms);
    return true;
}

static const struct ws_rule_case cases[] = {
    {"8 blocks", true, 124.0 / 132, 1e-9, .launch = {.grid = {8, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 16}},
    {"a block for each SM", false, .launch = {.grid = {132, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 16}},
    {"1056 blocks", false, .launch = {.grid = {33, 32, 1}, .block = {256, 1, 1}, .regs_per_thread = 16}},
};

const struct ws_rule ws_rule_w09_small_grid = {
    .id = "W09-small-grid",
    .title = "Grid smaller than the GPU",
    .condition = "fewer blocks than SMs",
    .why = "A block runs on one SM. With fewer blocks than SMs the others stand idle for the whole kernel.",
    .advice = "{blocks:i} blocks leave {idle_sms:i} of {sms:i} SMs idle. Split the work into more blocks or run "
              "kernels concurrently.",
    .formula = "1 - blocks / SMs",
    .when_not = "Not where other kernels run on the idle SMs at the same time, nor for a kernel too small to matter.",
    .source = "Nsight Compute (blocks below the number of SMs)",
    .bad = "small_grid (8 blocks), reduce_tree (8 rows)",
    .good = "small_grid (1056 blocks)",
    .check = check,
    WS_CASES(cases),
};
