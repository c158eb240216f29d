/* SPDX-License-Identifier: MIT
 * w22_fp64.c: arithmetic in double precision where single would be faster. */
#include "analyzer/rule.h"

#define LEAST_FP64 0.15 /* of the FP64 pipe's time (NCU) */
#define MOST_FP32 0.60  /* of the FP32 pipe's: else FP32 is the limit (NCU) */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double fp64 = ws_rule_metric(in, WS_M_pipe_fp64);
    double flop64 = ws_rule_metric(in, WS_M_flop_fp64), flop32 = ws_rule_metric(in, WS_M_flop_fp32);
    double ratio = in->limits ? in->limits->fp32_per_fp64 : 0;
    if (!(fp64 > LEAST_FP64 && ws_rule_metric(in, WS_M_pipe_fma) < MOST_FP32))
        return false;
    ws_rule_evidence(f, "pipe_fp64", fp64);
    if (in->has_gain_inputs && ratio > 0 && flop64 + flop32 > 0)
        ws_rule_gain(in, f, flop64 / (flop64 + flop32) * (1 - 1 / ratio) * fp64);
    else if (in->has_gain_inputs)
        f->gain = ws_missing(ratio > 0 ? WS_WHY_ZERO : WS_WHY_NO_DEVICE, "flop");
    if (ratio > 0)
        ws_rule_evidence(f, "fp32_per_fp64", ratio);
    else
        f->advice =
            "The FP64 pipe is busy {pipe_fp64:%} of the time. Keep double only where precision needs it; check for "
            "unsuffixed constants.";
    return true;
}

#define FLOP(f32, f64)                                                                                              \
    WS_FACT(fp32_add, 0), WS_FACT(fp32_mul, 0), WS_FACT(fp32_fma, f32), WS_FACT(fp64_add, 0), WS_FACT(fp64_mul, 0), \
        WS_FACT(fp64_fma, f64)

static const struct ws_rule_case cases[] = {
    {"FP64 chains", true, 0.486, 0.001,
     .facts = {WS_FACT(pipe_fp64, 0.972), WS_FACT(pipe_fma, 0.02), FLOP(0, 2214592512)}},
    {"on a card with 1/64 of the rate", true, 0.886, 0.001, .driver_name = "NVIDIA GeForce RTX 4090",
     .facts = {WS_FACT(pipe_fp64, 0.9), WS_FACT(pipe_fma, 0.02), FLOP(0, 2214592512)}},
    {"without FLOP counts", true, .facts = {WS_FACT(pipe_fp64, 0.5), WS_FACT(pipe_fma, 0.02)}},
    {"FP32 only", false, .facts = {WS_FACT(pipe_fp64, 0), WS_FACT(pipe_fma, 0.5), FLOP(1e9, 0)}},
    {"FP32 is the limit", false, .facts = {WS_FACT(pipe_fp64, 0.3), WS_FACT(pipe_fma, 0.9), FLOP(1e9, 1e7)}},
};

const struct ws_rule ws_rule_w22_fp64 = {
    .id = "W22-fp64",
    .title = "Double precision",
    .condition = "FP64 pipe busy > 15 % and FP32 pipe < 60 % of the time",
    .why = "FP64 units are half as many as FP32 units on data-centre GPUs and 1/32 to 1/64 on the others. A constant "
           "without the suffix f makes a whole expression double.",
    .advice = "The FP64 pipe is busy {pipe_fp64:%} of the time; FP32 is {fp32_per_fp64}x faster here. Keep double only "
              "where precision needs it; check for unsuffixed constants.",
    .formula = "FP64 share of the FLOP x (1 - FP64 rate / FP32 rate) x FP64 pipe utilisation",
    .when_not = "Where the result needs double precision.",
    .source = "Nsight Compute (15 %, 60 %); rate ratio per compute capability from the Programming Guide",
    .bad = "fp64_peak",
    .good = "fma_peak",
    .needs = WS_NEEDS(WS_M_pipe_fp64, WS_M_pipe_fma),
    .gain_needs = WS_NEEDS(WS_M_flop_fp64, WS_M_flop_fp32),
    .check = check,
    WS_CASES(cases),
};
