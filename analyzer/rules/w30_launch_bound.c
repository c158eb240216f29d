/* SPDX-License-Identifier: MIT
 * w30_launch_bound.c: kernels so short that launching them takes longer than running them. */
#include "analyzer/rule.h"

#define MOST_BUSY 0.50
#define MOST_MEDIAN_S 10e-6 /* a launch costs the host about 5 us (H200: 5.07) */
#define LEAST_API 0.60

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double window = ws_rule_time(in, WS_T_window), busy = ws_rule_time(in, WS_T_kernel_busy) / window;
    double api = ws_rule_time(in, WS_T_launch_api), calls = ws_rule_time(in, WS_T_launch_calls);
    if (!(window > 0 && calls > 0 && busy < MOST_BUSY && ws_rule_time(in, WS_T_kernel_median) < MOST_MEDIAN_S &&
          api / window >= LEAST_API))
        return false;
    ws_rule_evidence(f, "kernel_median", ws_rule_time(in, WS_T_kernel_median));
    ws_rule_evidence(f, "launch_cost", api / calls);
    ws_rule_evidence(f, "gpu_busy", busy);
    ws_rule_evidence(f, "kernels", ws_rule_time(in, WS_T_kernels));
    ws_rule_gain(in, f, 1 - busy);
    return true;
}

#define STORM(all, busy, median, api)                                                                \
    WS_TIME_FACT(window, all), WS_TIME_FACT(kernel_busy, busy), WS_TIME_FACT(kernel_median, median), \
        WS_TIME_FACT(launch_api, api), WS_TIME_FACT(launch_calls, 20000), WS_TIME_FACT(kernels, 20000)

/* 20,000 launches of vec_add<<<64,256>>> on an H200: 101.4 ms, 0.969 us a kernel. */
static const struct ws_rule_case cases[] = {
    {"launch storm", true, 0.81, 0.002, .facts = {STORM(0.1014, 0.01938, 0.969e-6, 0.0980)}},
    {"the same as a graph", false, .facts = {STORM(0.0210, 0.01938, 0.969e-6, 0.0001)}},
    {"long kernels", false, .facts = {STORM(0.1014, 0.0400, 50e-6, 0.0980)}},
    {"the host does other things", false, .facts = {STORM(0.1014, 0.01938, 0.969e-6, 0.0200)}},
};

const struct ws_rule ws_rule_w30_launch_bound = {
    .id = "W30-launch-bound",
    .title = "Bound by launches",
    .scope = WS_RULE_TIMELINE,
    .condition =
        "GPU busy < 50 % between the first and the last work, median kernel < 10 us, launch calls >= 60 % of that time",
    .why =
        "A launch costs the host some microseconds. Kernels that run for less leave the GPU waiting for the next one.",
    .advice = "Kernels take {kernel_median:t} but each launch costs {launch_cost:t}; the GPU is busy {gpu_busy:%}. "
              "Merge kernels or replay a CUDA graph.",
    .formula = "1 - busy share of the GPU",
    .when_not = "Where the host waits between launches, W31 and W36 name the cause.",
    .source = "storm of 20,000 launches on an H200: 5.07 us a launch, 0.97 us a kernel, busy 19 %",
    .bad = "launch_storm",
    .good = "launch_storm (graph)",
    .needs =
        WS_NEEDS(WS_T_window, WS_T_kernel_busy, WS_T_kernel_median, WS_T_launch_api, WS_T_launch_calls, WS_T_kernels),
    .check = check,
    WS_CASES(cases),
};
