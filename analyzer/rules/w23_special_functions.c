/* SPDX-License-Identifier: MIT
 * w23_special_functions.c: the special-function unit is the limit. */
#include "analyzer/rule.h"

/* A polynomial as good as the unit's 22 bits, of degree 9 with only odd terms, and a range reduction in two steps; the
 * reference kernel's has 6.5. */
#define POLYNOMIAL_FMAS 7.0
#define XU_LANES 16.0 /* an SM and cycle */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double xu = ws_rule_metric(in, WS_M_pipe_xu);
    double other = fmax(fmax(ws_rule_metric(in, WS_M_pipe_fma), ws_rule_metric(in, WS_M_pipe_alu)),
                        fmax(ws_rule_metric(in, WS_M_pipe_lsu),
                             fmax(ws_rule_metric(in, WS_M_l2_throughput), ws_rule_metric(in, WS_M_dram_throughput))));
    if (xu < WS_NCU_BUSY)
        return false;
    ws_rule_evidence(f, "pipe_xu", xu);
    /* Each lane of a special function becomes a polynomial on the wider FMA pipe. */
    if (in->has_gain_inputs && in->limits)
        ws_rule_gain(in, f,
                     1 - fmax(other, ws_rule_metric(in, WS_M_pipe_fma) +
                                         xu * POLYNOMIAL_FMAS * XU_LANES / in->limits->fp32_lanes_per_sm) /
                             xu);
    else if (in->has_gain_inputs)
        f->gain = ws_missing(WS_WHY_NO_DEVICE, NULL);
    return true;
}

#define OTHERS(value)                                                                                    \
    WS_FACT(pipe_fma, value), WS_FACT(pipe_alu, value), WS_FACT(pipe_lsu, 0), WS_FACT(l2_throughput, 0), \
        WS_FACT(dram_throughput, 0)

static const struct ws_rule_case cases[] = {
    {"sines: as many FMAs take as long", true, 0, 1e-9, .facts = {WS_FACT(pipe_xu, 0.94), OTHERS(0.23)}},
    {"nothing but special functions", true, 0.125, 1e-9, .facts = {WS_FACT(pipe_xu, 0.8), OTHERS(0)}},
    {"only the pipe is known", true, .facts = {WS_FACT(pipe_xu, 0.8)}},
    {"a modulo here and there", false, .facts = {WS_FACT(pipe_xu, 0.069), OTHERS(0.2)}},
};

const struct ws_rule ws_rule_w23_special_functions = {
    .id = "W23-special-functions",
    .title = "Bound by special functions",
    .condition = "special-function pipe >= 60 %",
    .why = "Sine, exponential, reciprocal, square root, conversions between types and integer division pass a unit of "
           "16 lanes a cycle per SM, an eighth of the FMA rate.",
    .advice = "The special-function unit (16 lanes a cycle) is {pipe_xu:%} busy and limits. Hoist divisions, "
              "avoid integer modulo by a variable; a polynomial pays where some 7 FMAs do and their pipe has room.",
    .formula =
        "1 - max(FMA utilisation + 7 x 16 / FP32 lanes x special-function utilisation, utilisation of every other "
        "pipe, L2 and DRAM) / special-function utilisation: each function replaced by a polynomial",
    .when_not = "Where the intrinsics (__sinf, __expf) are used already and their precision is needed.",
    .source =
        "60 % as Nsight Compute's bound for a busy unit; 7 FMAs: the reference kernel's polynomial for __sinf has "
        "6.5 and gains nothing on an H200",
    .bad = "sfu (__sinf)",
    .good = "sfu (polynomial)",
    .needs = WS_NEEDS(WS_M_pipe_xu),
    .gain_needs = WS_NEEDS(WS_M_pipe_fma, WS_M_pipe_alu, WS_M_pipe_lsu, WS_M_l2_throughput, WS_M_dram_throughput),
    .check = check,
    WS_CASES(cases),
};
