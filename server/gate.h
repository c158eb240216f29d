/* SPDX-License-Identifier: MIT
 * gate.h: the conditions of `warpsight diff --fail-on`, which fail a build:
 *
 *   duration > 5%, gld_sectors_per_request > 0, achieved_occupancy < -2%
 *
 * Each is KEY, one of > >= < <=, a number: the change from base to target that must not be. With % it is relative to
 * base; without, in the unit of the key (seconds for times, 0.02 for two points of a ratio).
 *   duration   median time of a launch; a change within the noise (spread.h) never fails
 *   total      time of all launches
 *   launches   how many
 *   findings   rules that fire in target and did not in base, less those that went
 *   any metric of `warpsight list metrics` */
#ifndef WS_SERVER_GATE_H
#define WS_SERVER_GATE_H

#include "compare.h"

enum ws_gate_key { WS_GATE_DURATION, WS_GATE_TOTAL, WS_GATE_LAUNCHES, WS_GATE_FINDINGS, WS_GATE_METRIC };

#define WS_GATE_MAX 32
#define WS_GATE_TEXT 96

struct ws_gate_condition {
    char text[WS_GATE_TEXT]; /* as it was written, blanks folded */
    const char *key;         /* "duration", or the metric's; static */
    enum ws_gate_key what;
    enum ws_metric_id metric; /* of WS_GATE_METRIC */
    bool is_above;            /* > or >= */
    bool takes_equal;         /* >= or <= */
    bool is_relative;
    double limit;
};

struct ws_gate {
    struct ws_gate_condition condition[WS_GATE_MAX];
    size_t count;
};

/* Adds the conditions of text. False: message [cap] says what is wrong, and *gate is of no use. */
bool ws_gate_parse(const char *text, struct ws_gate *gate, char *message, size_t cap);

enum ws_gate_result {
    WS_GATE_PASSES,
    WS_GATE_FAILS,
    WS_GATE_NOISE,  /* the limit is passed, the noise is not */
    WS_GATE_UNKNOWN /* one side has no value */
};
struct ws_gate_judged {
    enum ws_gate_result result;
    struct ws_value base, target; /* in unit */
    struct ws_value change;       /* of what the limit is about: a ratio when is_relative */
    struct ws_value noise;        /* duration: ratio of base */
    enum ws_unit unit;
};

/* Of a pair (ws_compare_is_pair). */
struct ws_gate_judged ws_gate_judge(const struct ws_gate_condition *condition, const struct ws_comparison *c,
                                    const struct ws_pair *p);

/* How the conditions came out over all pairs. */
struct ws_gate_tally {
    size_t passed, failed, noise, unknown;
    size_t never_judged; /* conditions that no pair had the values for */
};
struct ws_gate_tally ws_gate_tally(const struct ws_gate *gate, const struct ws_comparison *c);

/* "pass", "fail", "within-noise", "unknown". */
const char *ws_gate_result_name(enum ws_gate_result result);

#endif
