/* SPDX-License-Identifier: MIT
 * w23_special_functions.c: the special-function unit is the limit. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double xu = ws_rule_metric(in, WS_M_pipe_xu);
    double other = fmax(fmax(ws_rule_metric(in, WS_M_pipe_fma), ws_rule_metric(in, WS_M_pipe_alu)),
                        fmax(ws_rule_metric(in, WS_M_pipe_lsu),
                             fmax(ws_rule_metric(in, WS_M_l2_throughput), ws_rule_metric(in, WS_M_dram_throughput))));
    if (xu < WS_NCU_BUSY)
        return false;
    ws_rule_evidence(f, "pipe_xu", xu);
    ws_rule_gain(in, f, 1 - other / xu);
    return true;
}

#define OTHERS(value)                                                                                    \
    WS_FACT(pipe_fma, value), WS_FACT(pipe_alu, value), WS_FACT(pipe_lsu, 0), WS_FACT(l2_throughput, 0), \
        WS_FACT(dram_throughput, 0)

static const struct ws_rule_case cases[] = {
    {"sines", true, 0.75, 1e-9, .facts = {WS_FACT(pipe_xu, 0.8), OTHERS(0.2)}},
    {"only the pipe is known", true, .facts = {WS_FACT(pipe_xu, 0.8)}},
    {"a modulo here and there", false, .facts = {WS_FACT(pipe_xu, 0.069), OTHERS(0.2)}},
};

const struct ws_rule ws_rule_w23_special_functions = {
    .id = "W23-special-functions",
    .title = "Bound by special functions",
    .condition = "special-function pipe >= 60 %",
    .why = "Sine, exponential, reciprocal, square root, conversions between types and integer division pass a unit of "
           "16 lanes a cycle per SM, an eighth of the FMA rate.",
    .advice = "The special-function unit (16 lanes a cycle) is {pipe_xu:%} busy and limits. Use polynomials, hoist "
              "divisions, avoid integer modulo by a variable.",
    .formula = "1 - greatest utilisation of another pipe, L2 or DRAM / special-function utilisation",
    .when_not = "Where the intrinsics (__sinf, __expf) are used already and their precision is needed.",
    .source = "60 % as Nsight Compute's bound for a busy unit",
    .bad = "sfu (__sinf)",
    .good = "sfu (polynomial)",
    .needs = WS_NEEDS(WS_M_pipe_xu),
    .gain_needs = WS_NEEDS(WS_M_pipe_fma, WS_M_pipe_alu, WS_M_pipe_lsu, WS_M_l2_throughput, WS_M_dram_throughput),
    .check = check,
    WS_CASES(cases),
};
