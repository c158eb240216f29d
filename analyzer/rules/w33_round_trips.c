/* SPDX-License-Identifier: MIT
 * w33_round_trips.c: data that goes to the host and comes back unchanged. */
#include "analyzer/rule.h"

#define LEAST_COPIES 0.50 /* of the busy time; the round trips of the eight-step example take 96 % */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double copies = ws_rule_time(in, WS_T_copy_busy), pairs = ws_rule_time(in, WS_T_round_trips);
    double busy = copies + ws_rule_time(in, WS_T_kernel_busy) - ws_rule_time(in, WS_T_overlap);
    if (!(pairs >= 1 && busy > 0 && copies / busy >= LEAST_COPIES))
        return false;
    ws_rule_evidence(f, "copy_share", copies / busy);
    ws_rule_evidence(f, "round_trips", pairs);
    ws_rule_evidence(f, "round_trip_bytes", ws_rule_time(in, WS_T_round_trip_bytes));
    ws_rule_gain(in, f, ws_rule_time(in, WS_T_round_trip_time) / busy);
    return true;
}

#define STEPS(copy, kernel, pairs, trip)                                                        \
    WS_TIME_FACT(copy_busy, copy), WS_TIME_FACT(kernel_busy, kernel), WS_TIME_FACT(overlap, 0), \
        WS_TIME_FACT(round_trips, pairs), WS_TIME_FACT(round_trip_bytes, 5.6e8), WS_TIME_FACT(round_trip_time, trip)

/* Eight operations, n = 10^7 on the model's GPU: 16 copies of 1.26 ms and 8 kernels of 0.109 ms. */
static const struct ws_rule_case cases[] = {
    {"out and in again at every step", true, 0.839, 0.002, .facts = {STEPS(0.02016, 0.000872, 7, 0.01764)}},
    {"resident", false, .facts = {STEPS(0.00252, 0.000872, 0, 0)}},
    {"long kernels between", false, .facts = {STEPS(0.02016, 0.2, 7, 0.01764)}},
};

const struct ws_rule ws_rule_w33_round_trips = {
    .id = "W33-round-trips",
    .title = "Round trips over the link",
    .scope = WS_RULE_TIMELINE,
    .condition =
        "the same buffer copied to the host and back (or to the device twice), copies >= 50 % of the busy time",
    .why = "The link to the host is tens of times slower than device memory. What the next kernel needs can stay where "
           "it is.",
    .advice = "Copies are {copy_share:%} of the busy time, and {round_trips:i} buffers ({round_trip_bytes:b}) went "
              "over the link and came back. Keep the tensor on the GPU between kernels.",
    .formula = "time of the avoidable copies / busy time",
    .when_not = "Where the host changes the data between the copies.",
    .source = "time bill of eight elementwise operations: 6.2 times faster when resident",
    .bad = "round_trip",
    .good = "round_trip (resident)",
    .needs = WS_NEEDS(WS_T_copy_busy, WS_T_kernel_busy, WS_T_overlap, WS_T_round_trips, WS_T_round_trip_bytes,
                      WS_T_round_trip_time),
    .check = check,
    WS_CASES(cases),
};
