/* SPDX-License-Identifier: MIT
 * w35_no_overlap.c: copies and kernels that run one after the other. */
#include "analyzer/rule.h"

#define LEAST_SHARE 0.20  /* of the timeline, each */
#define MOST_OVERLAP 0.10 /* of the smaller of the two */
#define CHUNKS 4.0        /* more chunks gain little: 8 instead of 4 of equal time 6 % */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double window = ws_rule_time(in, WS_T_window), overlap = ws_rule_time(in, WS_T_overlap);
    double copies = ws_rule_time(in, WS_T_copy_busy), kernels = ws_rule_time(in, WS_T_kernel_busy);
    double less = fmin(copies, kernels), more = fmax(copies, kernels);
    if (!(window > 0 && less / window >= LEAST_SHARE && overlap < MOST_OVERLAP * less))
        return false;
    ws_rule_evidence(f, "copy_busy", copies);
    ws_rule_evidence(f, "kernel_busy", kernels);
    ws_rule_evidence(f, "chunks", CHUNKS);
    ws_rule_evidence(f, "possible_time", more + less / CHUNKS);
    ws_rule_gain(in, f, 1 - (more + less / CHUNKS) / (copies + kernels));
    return true;
}

#define WORK(all, copy, kernel, both)                                                            \
    WS_TIME_FACT(window, all), WS_TIME_FACT(copy_busy, copy), WS_TIME_FACT(kernel_busy, kernel), \
        WS_TIME_FACT(overlap, both)

/* 8 ms of copies, 10 ms of kernels: 18 ms one after the other, 12 ms in four chunks. */
static const struct ws_rule_case cases[] = {
    {"one stream", true, 1.0 / 3, 1e-9, .facts = {WORK(0.018, 0.008, 0.010, 0)}},
    {"four chunks", false, .facts = {WORK(0.012, 0.008, 0.010, 0.006)}},
    {"hardly any copies", false, .facts = {WORK(0.018, 0.001, 0.017, 0)}},
};

const struct ws_rule ws_rule_w35_no_overlap = {
    .id = "W35-no-overlap",
    .title = "Copies and kernels do not overlap",
    .scope = WS_RULE_TIMELINE,
    .condition = "copies and kernels each >= 20 % of the time, overlap < 10 % of the smaller",
    .why = "Copy engines and SMs work at the same time if the copies are asynchronous, the host memory is pinned and "
           "the streams differ. If one of the three is missing, they take turns.",
    .advice = "Copies ({copy_busy:t}) and kernels ({kernel_busy:t}) run one after the other. With {chunks:i} chunks in "
              "{chunks:i} streams and pinned memory about {possible_time:t} are possible.",
    .formula = "1 - (greater + smaller / chunks) / (copies + kernels), for 4 chunks",
    .when_not = "Where a kernel needs all of its input before it starts. Copies of both directions overlap only with "
                "two copy engines.",
    .source = "CUDA Best Practices Guide, overlapping transfers and computation; exact for equal chunks",
    .bad = "streams (one stream)",
    .good = "streams (four chunks)",
    .needs = WS_NEEDS(WS_T_window, WS_T_copy_busy, WS_T_kernel_busy, WS_T_overlap),
    .check = check,
    WS_CASES(cases),
};
