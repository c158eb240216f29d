/* SPDX-License-Identifier: MIT
 * w21_compute_roof.c: the FP32 pipe is full. A fact, not a fault. */
#include "analyzer/rule.h"

#define LEAST_BUSY 0.80 /* NCU */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double busy = ws_rule_metric(in, WS_M_pipe_fma);
    if (busy < LEAST_BUSY)
        return false;
    ws_rule_evidence(f, "pipe_fma", busy);
    ws_rule_evidence_metric(in, f, WS_M_flop_rate_fp32);
    ws_rule_gain(in, f, 0);
    return true;
}

static const struct ws_rule_case cases[] = {
    {"FMA chains", true, 0, 1e-9, .facts = {WS_FACT(pipe_fma, 0.95)}},
    {"diverged: pipe 75 % busy, lanes half empty", false, .facts = {WS_FACT(pipe_fma, 0.75)}},
};

const struct ws_rule ws_rule_w21_compute_roof = {
    .id = "W21-compute-roof",
    .title = "Bound by FP32 arithmetic",
    .is_info = true,
    .condition = "FP32 pipe busy >= 80 % of the time",
    .why = "The multiply-add pipes take an instruction in almost every cycle. Nothing waits for memory.",
    .advice =
        "The FP32 pipe is busy {pipe_fma:%} of the time; only fewer operations, lower precision or tensor cores help.",
    .formula = "0: the kernel is at its roof",
    .when_not = "A busy pipe with half-empty warps is no roof: see W06.",
    .source = "Nsight Compute (80 %)",
    .bad = "fma_peak",
    .good = "vec_add",
    .needs = WS_NEEDS(WS_M_pipe_fma),
    .check = check,
    WS_CASES(cases),
};
