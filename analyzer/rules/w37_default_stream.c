/* SPDX-License-Identifier: MIT
 * w37_default_stream.c: work on the legacy default stream, which waits for all others and makes them wait. */
#include "analyzer/rule.h"

#define LEAST_SHARE 0.05 /* of the time. Own choice */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double window = ws_rule_time(in, WS_T_window), serialised = ws_rule_time(in, WS_T_legacy_serialised) / window;
    if (!(window > 0 && ws_rule_time(in, WS_T_legacy_work) >= 1 && ws_rule_time(in, WS_T_blocking_streams) >= 1 &&
          serialised >= LEAST_SHARE))
        return false;
    ws_rule_evidence(f, "legacy_work", ws_rule_time(in, WS_T_legacy_work));
    ws_rule_evidence(f, "blocking_streams", ws_rule_time(in, WS_T_blocking_streams));
    ws_rule_evidence(f, "serialised_share", serialised);
    ws_rule_gain(in, f, serialised);
    return true;
}

#define STREAMS(work, others, serialised)                                                             \
    WS_TIME_FACT(window, 1), WS_TIME_FACT(legacy_work, work), WS_TIME_FACT(blocking_streams, others), \
        WS_TIME_FACT(legacy_serialised, serialised)

static const struct ws_rule_case cases[] = {
    {"legacy work between two streams", true, 0.3, 1e-9, .facts = {STREAMS(100, 2, 0.3)}},
    {"the only stream there is", false, .facts = {STREAMS(100, 0, 0)}},
    {"the others are non-blocking", false, .facts = {STREAMS(100, 2, 0)}},
};

const struct ws_rule ws_rule_w37_default_stream = {
    .id = "W37-default-stream",
    .title = "Legacy default stream",
    .scope = WS_RULE_TIMELINE,
    .condition = "work on the legacy default stream while other blocking streams stand idle before and after it, >= 5 "
                 "% of the time",
    .why = "The legacy default stream waits for all blocking streams, and they wait for it: one launch on it separates "
           "everything before from everything after.",
    .advice = "{legacy_work:i} pieces of work on the default stream serialise {blocking_streams:i} others "
              "({serialised_share:%} of the time). Use non-blocking streams or per-thread default streams.",
    .formula = "serialised time / total",
    .when_not = "With cudaStreamNonBlocking or --default-stream per-thread it does not happen.",
    .source = "CUDA Programming Guide, implicit synchronisation; 5 %: own choice",
    .bad = "default_stream",
    .good = "default_stream (non-blocking)",
    .needs = WS_NEEDS(WS_T_window, WS_T_legacy_work, WS_T_blocking_streams, WS_T_legacy_serialised),
    .check = check,
    WS_CASES(cases),
};
