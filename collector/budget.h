/* SPDX-License-Identifier: MIT
 * budget.h: what profiling a launch will cost, whether that fits into what was allowed, and whether to replay or to
 * rotate. Pure: no CUDA, no clock (times are given); who calls serialises the calls.
 *
 * The estimate of one profiled launch:
 *   rotation  a fixed part + the launch
 *   replay    a fixed part + passes x the launch + (passes + 1) x footprint / WS_BUDGET_SAVE_RATE
 *   either    what CUPTI spends on the first of a context, besides; a replay after rotation has that again
 * The fixed parts start at what was measured on an H200 and follow what this process measures. The footprint is an
 * upper bound: CUPTI saves what the kernel may write, we know only what the program holds. */
#ifndef WS_COLLECTOR_BUDGET_H
#define WS_COLLECTOR_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes a second of saving or restoring memory between passes: 8 GiB and 2 passes took 0.2 s on an H200. */
#define WS_BUDGET_SAVE_RATE 100e9
/* What must stay free beside a copy of the footprint. */
#define WS_BUDGET_SPARE_BYTES (UINT64_C(256) << 20)

/* Numbers of DECISION and PROFILE records: stored, so never another meaning for one. */
enum ws_mode { WS_MODE_REPLAY, WS_MODE_ROTATE, WS_MODE_NONE, WS_MODE_COUNT };

/* Why a kernel was counted the way it was. X(symbol, stored number, code, sentence) */
#define WS_MODE_REASON_LIST(X)                                                                                  \
    X(WS_REASON_ASKED, 0, "asked", "--replay-mode asks for it")                                                 \
    X(WS_REASON_CHEAP, 1, "cheap", "a replay costs little, or no more than rotating")                           \
    X(WS_REASON_COLLECTIVE, 2, "collective", "a collective (NCCL, NVSHMEM) waits for its peers")                \
    X(WS_REASON_COOPERATIVE, 3, "cooperative", "blocks of a cooperative launch wait for each other")            \
    X(WS_REASON_MEMORY, 4, "memory", "too little memory is free for a copy of what the program holds")          \
    X(WS_REASON_FOOTPRINT, 5, "footprint", "saving and restoring its memory costs more than rotating")          \
    X(WS_REASON_LONG, 6, "long", "running it once a pass costs more than rotating")                             \
    X(WS_REASON_UNKNOWN, 7, "memory-unknown", "the driver does not say how much memory is in use")              \
    X(WS_REASON_BUDGET, 8, "budget", "--budget or --max-overhead left no room for it")                          \
    X(WS_REASON_PEERS, 9, "peers", "several GPUs and collectives in one process: a wait for one may never end") \
    X(WS_REASON_FAILED, 10, "failed", "the other way of counting stopped giving values in this process")        \
    X(WS_REASON_MIDWAY, 11, "midway",                                                                           \
      "others are being rotated: a replay would start CUPTI's profiler and their passes anew")

enum ws_mode_reason {
#define WS_REASON_ENUM(sym, num, code, text) sym = (num),
    WS_MODE_REASON_LIST(WS_REASON_ENUM)
#undef WS_REASON_ENUM
        WS_REASON_COUNT
};

/* What is known of a launch before it is profiled. */
struct ws_risk {
    uint32_t passes;          /* of the whole set */
    int64_t launch_ns;        /* of a launch like it, 0 = not known */
    uint64_t footprint_bytes; /* in use on its GPU at most */
    uint64_t free_bytes;
    bool has_memory;  /* the two above are known */
    bool is_first;    /* none was profiled in its context yet */
    bool is_midway;   /* rotation has left its context such that a replay starts CUPTI's profiler anew */
    bool is_rotating; /* and it had better not: others rotate there now, or that was done often enough */
    bool is_collective, is_cooperative;
    bool has_peers;                /* collectives were seen, and this process uses several GPUs */
    bool is_failed[WS_MODE_COUNT]; /* this way of counting has stopped working */
};

struct ws_budget {
    /* set by the caller before the first call */
    int64_t limit_ns;   /* in all, 0 = no limit */
    double overhead;    /* part of the run without us, 0 = no limit */
    int64_t started_ns; /* of the run, by the clock of `now` */
    /* its own */
    int64_t spent_ns, reserved_ns;
    uint64_t profiled;
    double scale[2];     /* of the fixed part of replay and rotation; 0 = nothing measured yet */
    double memory_scale; /* of saving and restoring, the same */
};

/* "10s", "500ms", "1.5s", "2m", or seconds without a unit; more than 0 and at most a year.
 *   errors  -WS_EINVAL */
int ws_budget_parse_time(const char *text, int64_t *ns);
/* "5%", "0.5%": more than 0 and at most 1000 %.   errors  -WS_EINVAL */
int ws_budget_parse_percent(const char *text, double *part);

/* Time that one profiled launch will take, ns. What is left 0 in the risk is left out: a lower bound. */
int64_t ws_budget_predict(const struct ws_budget *budget, enum ws_mode mode, const struct ws_risk *risk);

/* --replay-mode auto: how to count this kernel, and why. */
enum ws_mode ws_budget_decide(const struct ws_budget *budget, const struct ws_risk *risk, enum ws_mode_reason *why);

/* Whether there is any limit. */
bool ws_budget_is_limited(const struct ws_budget *budget);

/* Whether `predicted_ns` fits into what is left at `now_ns`; else *not_before_ns as below. Takes nothing. */
bool ws_budget_fits(const struct ws_budget *budget, int64_t now_ns, int64_t predicted_ns, int64_t *not_before_ns);

/* Take `predicted_ns` out of what is left at `now_ns`. False: it does not fit, and *not_before_ns says from when on it
 * may (INT64_MAX: never). Each that succeeds is followed by exactly one settle or release. */
bool ws_budget_reserve(struct ws_budget *budget, int64_t now_ns, int64_t predicted_ns, int64_t *not_before_ns);
void ws_budget_settle(struct ws_budget *budget, enum ws_mode mode, const struct ws_risk *risk, int64_t predicted_ns,
                      int64_t measured_ns);
void ws_budget_release(struct ws_budget *budget, int64_t predicted_ns);
/* Time that no prediction went before: setting up, and holding a launch that is then not profiled. */
void ws_budget_spend(struct ws_budget *budget, int64_t ns);

/* Code ("footprint") and sentence of a reason; "unknown" for a number that is none. */
const char *ws_reason_code(uint32_t reason);
const char *ws_reason_text(uint32_t reason);

#endif
