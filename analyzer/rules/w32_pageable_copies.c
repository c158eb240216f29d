/* SPDX-License-Identifier: MIT
 * w32_pageable_copies.c: copies whose host side is pageable memory. */
#include "analyzer/rule.h"

#define LEAST_SHARE 0.05 /* of the timeline */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double window = ws_rule_time(in, WS_T_window), copies = ws_rule_time(in, WS_T_pageable_copies);
    double time = ws_rule_time(in, WS_T_pageable_time), bytes = ws_rule_time(in, WS_T_pageable_bytes);
    if (!(window > 0 && copies >= 1 && time / window >= LEAST_SHARE))
        return false;
    ws_rule_evidence(f, "pageable_copies", copies);
    ws_rule_evidence(f, "pageable_bytes", bytes);
    ws_rule_evidence(f, "copy_rate", bytes / time);
    ws_rule_evidence(f, "pageable_share", time / window);
    ws_rule_gain(in, f, time / window * (1 - bytes / time / ws_rule_time(in, WS_T_link_rate)));
    return true;
}

#define COPIES(n, bytes, time)                                                                      \
    WS_TIME_FACT(window, 1), WS_TIME_FACT(pageable_copies, n), WS_TIME_FACT(pageable_bytes, bytes), \
        WS_TIME_FACT(pageable_time, time)

static const struct ws_rule_case cases[] = {
    {"pageable at a fifth of the link", true, 0.4, 1e-9,
     .facts = {COPIES(10, 6.4e9, 0.5), WS_TIME_FACT(link_rate, 64e9)}},
    {"the link is not known", true, .facts = {COPIES(10, 6.4e9, 0.5)}},
    {"pinned", false, .facts = {COPIES(0, 0, 0), WS_TIME_FACT(link_rate, 64e9)}},
    {"2 % of the time", false, .facts = {COPIES(1, 2.5e8, 0.02), WS_TIME_FACT(link_rate, 64e9)}},
};

const struct ws_rule ws_rule_w32_pageable_copies = {
    .id = "W32-pageable-copies",
    .title = "Copies from pageable memory",
    .scope = WS_RULE_TIMELINE,
    .condition = "copies of at least 1 MiB with pageable host memory, >= 5 % of the timeline",
    .why = "The driver cannot let the GPU read memory that may be paged out: it copies through a buffer of its own, "
           "and an asynchronous copy then does not overlap.",
    .advice = "{pageable_copies:i} copies ({pageable_bytes:b}) use pageable memory at {copy_rate:b}/s; it is staged "
              "and cannot overlap. Allocate with cudaMallocHost (pin_memory=True).",
    .formula = "share of the time in these copies x (1 - their rate / peak of the link)",
    .when_not = "Memory used for one copy only: pinning costs more than the copy. Pinned memory is taken from the "
                "whole machine.",
    .source = "CUDA Best Practices Guide, pinned memory; 5 %: own choice",
    .bad = "pinned (pageable)",
    .good = "pinned (pinned)",
    .needs = WS_NEEDS(WS_T_window, WS_T_pageable_copies, WS_T_pageable_bytes, WS_T_pageable_time),
    .gain_needs = WS_NEEDS(WS_T_link_rate),
    .check = check,
    WS_CASES(cases),
};
