/* SPDX-License-Identifier: MIT
 * timebill.h: where the time of a session went, beside what a simple model of the same device says it should be.
 * Pure. The device's window is split without rest: kernels alone, copies alone, both, other work, nothing.
 * The model: a copy takes 10 us and its bytes over the link, a launch call 5 us, a kernel its bytes over DRAM. */
#ifndef WS_ANALYZER_TIMEBILL_H
#define WS_ANALYZER_TIMEBILL_H

#include "timeline.h"
#include "value.h"

/* X(symbol, key, title). Parts of the device's window; they add to it. */
#define WS_BILL_PART_LIST(X)                                   \
    X(WS_BILL_KERNELS, "kernels", "kernels alone")             \
    X(WS_BILL_BOTH, "both", "kernels and copies together")     \
    X(WS_BILL_COPIES, "copies", "copies to and from the host") \
    X(WS_BILL_OTHER, "other", "copies on the device, memsets") \
    X(WS_BILL_GAPS, "gaps", "gaps: the device did nothing")
enum ws_bill_part_id {
#define WS_BILL_PART_ENUM(sym, key, title) sym,
    WS_BILL_PART_LIST(WS_BILL_PART_ENUM)
#undef WS_BILL_PART_ENUM
        WS_BILL_PART_COUNT
};

/* X(symbol, key, title, fact that was measured, the model in words). What the model has a word on. */
#define WS_BILL_MODEL_LIST(X)                                                                           \
    X(WS_BILL_MODEL_COPIES, "copies", "copies", copy_busy, "10 us a copy + bytes / link rate")          \
    X(WS_BILL_MODEL_LAUNCHES, "launches", "launch calls of the host", launch_api, "5 us a launch call") \
    X(WS_BILL_MODEL_KERNELS, "kernels", "kernels", kernel_busy, "DRAM bytes of all kernels / DRAM rate")
enum ws_bill_model_id {
#define WS_BILL_MODEL_ENUM(sym, key, title, fact, model) sym,
    WS_BILL_MODEL_LIST(WS_BILL_MODEL_ENUM)
#undef WS_BILL_MODEL_ENUM
        WS_BILL_MODEL_COUNT
};

struct ws_bill_part {
    struct ws_value seconds, share; /* of the window, 0…1 */
};

struct ws_bill_model {
    struct ws_value measured, modelled; /* s */
    struct ws_value ratio;              /* measured / modelled */
};

/* Bytes per second. */
struct ws_bill_rates {
    struct ws_value link; /* peak of the host link, one direction */
    struct ws_value dram;
};

struct ws_time_bill {
    struct ws_value window; /* s */
    struct ws_bill_part part[WS_BILL_PART_COUNT];
    struct ws_bill_model model[WS_BILL_MODEL_COUNT];
    struct ws_value copy_share; /* of the window in which copies ran, alone or not */
    bool is_copy_bound;         /* copy_share above a half: the transfers are the program */
};

/* Fill *out. A part whose facts are missing says why. */
void ws_time_bill(const struct ws_timeline_facts *facts, const struct ws_bill_rates *rates, struct ws_time_bill *out);

/* Key and title; "" for no such id. */
const char *ws_bill_part_key(enum ws_bill_part_id id);
const char *ws_bill_part_title(enum ws_bill_part_id id);
const char *ws_bill_model_key(enum ws_bill_model_id id);
const char *ws_bill_model_title(enum ws_bill_model_id id);
const char *ws_bill_model_text(enum ws_bill_model_id id);

#endif
