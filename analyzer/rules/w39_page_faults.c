/* SPDX-License-Identifier: MIT
 * w39_page_faults.c: managed memory that the GPU fetches page by page. */
#include "analyzer/rule.h"

#define LEAST_BYTES 0.05 /* of the DRAM bytes of all kernels */
#define LEAST_TIME 0.05  /* of the timeline, where those bytes are not known */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double groups = ws_rule_time(in, WS_T_fault_groups), moved = ws_rule_time(in, WS_T_migrated_bytes);
    double share = 0; /* unknown where a replayed kernel's faults happened in the profiler's time */
    bool by_bytes = ws_has(in->timeline->value[WS_T_dram_bytes]);
    if (in->has_gain_inputs && ws_rule_time(in, WS_T_window) > 0)
        share = ws_rule_time(in, WS_T_fault_time) / ws_rule_time(in, WS_T_window);
    if (!(groups > 0 || moved > 0) ||
        (by_bytes ? moved < LEAST_BYTES * ws_rule_time(in, WS_T_dram_bytes) : share < LEAST_TIME))
        return false;
    ws_rule_evidence(f, "fault_groups", groups);
    ws_rule_evidence(f, "migrated_bytes", moved);
    if (in->has_gain_inputs)
        ws_rule_evidence(f, "fault_time", ws_rule_time(in, WS_T_fault_time));
    ws_rule_gain(in, f, share);
    return true;
}

#define FAULTS(groups, bytes, time)                                                                     \
    WS_TIME_FACT(window, 0.3), WS_TIME_FACT(fault_groups, groups), WS_TIME_FACT(migrated_bytes, bytes), \
        WS_TIME_FACT(fault_time, time)

static const struct ws_rule_case cases[] = {
    {"first touch on the GPU", true, 0.8, 1e-9, .facts = {FAULTS(3000, 1.07e9, 0.24), WS_TIME_FACT(dram_bytes, 2.1e9)}},
    {"without DRAM counters", true, .facts = {FAULTS(3000, 1.07e9, 0.24)}},
    {"the driver dropped the fault records", true, 0.8, 1e-9, .facts = {FAULTS(0, 1.07e9, 0.24)}},
    {"prefetched", false, .facts = {FAULTS(0, 0, 0), WS_TIME_FACT(dram_bytes, 2.1e9)}},
    {"a few pages", false, .facts = {FAULTS(3, 200000, 0.0001), WS_TIME_FACT(dram_bytes, 2.1e9)}},
};

const struct ws_rule ws_rule_w39_page_faults = {
    .id = "W39-page-faults",
    .title = "GPU page faults",
    .scope = WS_RULE_TIMELINE,
    .condition = "GPU page-fault groups, and bytes migrated on demand >= 5 % of the DRAM bytes (of the time, where "
                 "those are not known)",
    .why = "Managed memory moves when it is touched. Every first touch on the GPU stops the threads that wait for the "
           "page and moves a small piece over the link.",
    .advice = "{migrated_bytes:b} or more moved on demand, page by page. Call cudaMemPrefetchAsync before "
              "the kernel or copy explicitly.",
    .formula = "time of the faults and moves on record / total",
    .when_not = "Data of which the GPU needs only a small, unpredictable part.",
    .source = "5 %: own choice",
    .bad = "managed (first touch)",
    .good = "managed (prefetched)",
    .needs = WS_NEEDS(WS_T_fault_groups, WS_T_migrated_bytes),
    .gain_needs = WS_NEEDS(WS_T_window, WS_T_fault_time),
    .check = check,
    WS_CASES(cases),
};
