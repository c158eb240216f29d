/* SPDX-License-Identifier: MIT
 * value.h: struct ws_value, a number or the reason why there is none.
 * A zero is a measured zero and NaN never leaves this type: make values with ws_value_of().
 * Add a reason: one row in WS_WHY_LIST, with a number that was never used before (it is stored). */
#ifndef WS_ANALYZER_VALUE_H
#define WS_ANALYZER_VALUE_H

#include <math.h>
#include <stdbool.h>

/* X(symbol, stored number, code in JSON/SQL, sentence).  The code is what is stored and shown to
 * programs; the sentence is what a person reads. A sentence with %s names the missing input. */
#define WS_WHY_LIST(X)                                                                                        \
    X(WS_WHY_PRESENT, 0, "", "")                                                                              \
    X(WS_WHY_NOT_COLLECTED, 1, "not-collected", "not collected in this session")                              \
    X(WS_WHY_NOT_ON_CHIP, 2, "not-on-chip", "this GPU has no such counter")                                   \
    X(WS_WHY_NO_RIGHTS, 3, "no-rights", "the driver refuses counters to this user")                           \
    X(WS_WHY_NOT_VALID, 4, "not-valid", "the counter was read but not valid (NaN)")                           \
    X(WS_WHY_INPUT, 5, "input-missing", "needs %s, which has no value")                                       \
    X(WS_WHY_ZERO, 6, "zero-denominator", "undefined: %s is 0")                                               \
    X(WS_WHY_NEEDS_GPU, 7, "needs-gpu", "needs a GPU: the model does not predict it")                         \
    X(WS_WHY_NO_LAUNCH, 8, "no-launch", "no launch of this kernel was profiled")                              \
    X(WS_WHY_NO_DEVICE, 9, "unknown-device", "this GPU is not in the table of limits")                        \
    X(WS_WHY_FAILED, 10, "failed", "the profiler failed on this launch")                                      \
    X(WS_WHY_RANGE, 11, "out-of-range", "the value was outside its physical range")                           \
    X(WS_WHY_NOT_IN_SOURCE, 12, "not-in-source", "the imported file does not hold it")                        \
    X(WS_WHY_NOT_MEASURED, 13, "not-measured", "this ceiling was not measured on this GPU")                   \
    X(WS_WHY_DISTORTED, 14, "distorted", "launches were replayed for counters, which stretches the timeline") \
    X(WS_WHY_BUDGET, 15, "budget-spent", "--budget or --max-overhead left no room for it")                    \
    X(WS_WHY_PASS, 16, "pass-missing", "rotated, and no launch was left for its pass")                        \
    X(WS_WHY_UNCOUNTED, 17, "not-counted", "launches of this kernel are not counted: see how it was counted")

enum ws_why {
#define WS_WHY_ENUM(sym, num, code, text) sym = (num),
    WS_WHY_LIST(WS_WHY_ENUM)
#undef WS_WHY_ENUM
        WS_WHY_COUNT
};

/* How good a present number is, where that differs from "exact as the session's source says". */
enum ws_grade { WS_GRADE_EXACT, WS_GRADE_UPPER_BOUND, WS_GRADE_LOWER_BOUND, WS_GRADE_ESTIMATE, WS_GRADE_COUNT };

/* Where a present number comes from, where that differs from the session's own source. */
enum ws_origin { WS_ORIGIN_SESSION, WS_ORIGIN_ACTIVITY, WS_ORIGIN_PROFILER_TIME, WS_ORIGIN_MODEL, WS_ORIGIN_COUNT };

struct ws_value {
    double number;        /* SI base unit of the metric; meaningless unless why is PRESENT */
    const char *input;    /* the key that is missing or 0, static storage; else NULL */
    unsigned char why;    /* enum ws_why */
    unsigned char grade;  /* enum ws_grade */
    unsigned char origin; /* enum ws_origin */
};

static inline bool ws_has(struct ws_value v)
{
    return v.why == WS_WHY_PRESENT;
}

static inline struct ws_value ws_missing(enum ws_why why, const char *input)
{
    struct ws_value v = {0.0, input, (unsigned char)why, WS_GRADE_EXACT, WS_ORIGIN_SESSION};
    return v;
}

/* The only way to make a present value: NaN and infinity become "not valid". */
static inline struct ws_value ws_value_of(double number)
{
    struct ws_value v = {number, 0, WS_WHY_PRESENT, WS_GRADE_EXACT, WS_ORIGIN_SESSION};
    if (!isfinite(number))
        return ws_missing(WS_WHY_NOT_VALID, 0);
    return v;
}

/* Code ("not-collected"), and the sentence with %s still in it where a key belongs. Never NULL. */
const char *ws_why_code(enum ws_why why);
const char *ws_why_text(enum ws_why why);
/* The reason with this code, or WS_WHY_COUNT. */
enum ws_why ws_why_find(const char *code);
/* "exact", "upper bound", …; "session", "activity", "profiler time", "model". Never NULL. */
const char *ws_grade_name(enum ws_grade grade);
const char *ws_origin_name(enum ws_origin origin);

#endif
