/* SPDX-License-Identifier: MIT
 * roofline.h: where a kernel stands under its roofs, per memory level and precision.
 * A roof is what micro-kernels measured on this board; the data sheet's roof is carried beside it
 * and never stands in for it. A point above its roof is flagged, not clipped. */
#ifndef WS_ANALYZER_ROOFLINE_H
#define WS_ANALYZER_ROOFLINE_H

#include "facts.h"
#include "value.h"

#include <stdbool.h>
#include <stddef.h>

/* X(symbol, key in JSON and database, unit, title). What `warpsight ceilings` measures. Rates count
 * an FMA as 2 operations and an integer instruction as 1; bytes are those the kernel asked for; copy counts read +
 * write. */
#define WS_CEILING_LIST(X)                                                                      \
    X(WS_CEILING_DRAM_READ, "dram_read", "B/s", "DRAM read")                                    \
    X(WS_CEILING_DRAM_WRITE, "dram_write", "B/s", "DRAM write")                                 \
    X(WS_CEILING_DRAM_COPY, "dram_copy", "B/s", "DRAM copy, read + write")                      \
    X(WS_CEILING_L2_READ, "l2_read", "B/s", "L2 read")                                          \
    X(WS_CEILING_L1_READ, "l1_read", "B/s", "L1 read")                                          \
    X(WS_CEILING_SHARED_READ, "shared_read", "B/s", "shared-memory read")                       \
    X(WS_CEILING_FP64, "fp64", "FLOP/s", "FP64 FMA")                                            \
    X(WS_CEILING_FP32, "fp32", "FLOP/s", "FP32 FMA")                                            \
    X(WS_CEILING_FP16, "fp16", "FLOP/s", "FP16 FMA, packed pairs")                              \
    X(WS_CEILING_INT32, "int32", "op/s", "32-bit integer instructions (IMAD)")                  \
    X(WS_CEILING_TENSOR_FP64, "tensor_fp64", "FLOP/s", "tensor FP64")                           \
    X(WS_CEILING_TENSOR_TF32, "tensor_tf32", "FLOP/s", "tensor TF32, sums in FP32")             \
    X(WS_CEILING_TENSOR_FP16, "tensor_fp16", "FLOP/s", "tensor FP16, sums in FP32")             \
    X(WS_CEILING_TENSOR_FP16_ACC16, "tensor_fp16_acc16", "FLOP/s", "tensor FP16, sums in FP16") \
    X(WS_CEILING_TENSOR_BF16, "tensor_bf16", "FLOP/s", "tensor BF16, sums in FP32")             \
    X(WS_CEILING_TENSOR_FP8, "tensor_fp8", "FLOP/s", "tensor FP8, sums in FP32")                \
    X(WS_CEILING_TENSOR_INT8, "tensor_int8", "op/s", "tensor INT8, sums in INT32")

enum ws_ceiling_id {
#define WS_CEILING_ENUM(sym, key, unit, title) sym,
    WS_CEILING_LIST(WS_CEILING_ENUM)
#undef WS_CEILING_ENUM
        WS_CEILING_COUNT
};

struct ws_ceiling {
    struct ws_value rate;     /* bytes or operations per second, median of the repeats */
    struct ws_value clock_hz; /* SM clock observed while measuring */
};

/* Measured ceilings of one GPU. Start from ws_ceilings_init(): all "not measured". */
struct ws_ceilings {
    struct ws_ceiling at[WS_CEILING_COUNT];
};
void ws_ceilings_init(struct ws_ceilings *ceilings);
/* Key, unit and title of a ceiling; "" for no such id. The id of a key, or WS_CEILING_COUNT. */
const char *ws_ceiling_key(enum ws_ceiling_id id);
const char *ws_ceiling_unit(enum ws_ceiling_id id);
const char *ws_ceiling_title(enum ws_ceiling_id id);
enum ws_ceiling_id ws_ceiling_find(const char *key, size_t length);

enum ws_level { WS_LEVEL_DRAM, WS_LEVEL_L2, WS_LEVEL_L1, WS_LEVEL_COUNT };
enum ws_precision {
    WS_PRECISION_FP64,
    WS_PRECISION_FP32,
    WS_PRECISION_FP16,
    WS_PRECISION_INT32,
    WS_PRECISION_TENSOR_FP64,
    WS_PRECISION_TENSOR_TF32,
    WS_PRECISION_TENSOR_FP16,
    WS_PRECISION_TENSOR_BF16,
    WS_PRECISION_TENSOR_FP8,
    WS_PRECISION_TENSOR_INT8,
    WS_PRECISION_COUNT
};
/* The rate that rooflines use: what was measured, or why it is not there (NULL: not measured). One that no board can
 * reach measured something else: WS_WHY_RANGE. */
struct ws_value ws_ceiling_measured(const struct ws_ceilings *ceilings, enum ws_ceiling_id id);
/* The measured bandwidth of a memory level: of DRAM the best of read, write and copy. */
struct ws_value ws_ceiling_bandwidth(const struct ws_ceilings *ceilings, enum ws_level level);

enum ws_bound { WS_BOUND_UNKNOWN, WS_BOUND_MEMORY, WS_BOUND_COMPUTE, WS_BOUND_COUNT };

/* One roof over one point: what it allows, and how near the point is. */
struct ws_roof {
    struct ws_value bandwidth; /* bytes per second of the level */
    struct ws_value peak;      /* operations per second of the precision */
    struct ws_value roof;      /* min(peak, intensity x bandwidth) */
    struct ws_value percent;   /* flop_rate / roof, 0…1; above 1 is kept and flagged */
    struct ws_value ridge;     /* peak / bandwidth, operations per byte */
    enum ws_bound bound;       /* which of the two binds */
    bool is_above;             /* percent > 1: doubt the counters or the ceiling */
};

/* The kernel's work in one precision against the bytes of one level. */
struct ws_roof_point {
    enum ws_level level;
    enum ws_precision precision;
    struct ws_value operations; /* per launch */
    struct ws_value intensity;  /* operations per byte at this level */
    struct ws_value flop_rate;  /* operations per second */
    struct ws_roof measured;    /* JSON: roof, percent, bound; roof_source "measured" or its reason */
    struct ws_roof sheet;       /* the data sheet's, for the dotted line */
};

/* Traffic of one level, also for kernels that compute nothing. */
struct ws_roof_traffic {
    struct ws_value bytes;   /* per launch */
    struct ws_value rate;    /* bytes per second */
    struct ws_value ceiling; /* measured */
    struct ws_value percent; /* rate / ceiling */
};

enum { WS_ROOF_POINTS_MAX = WS_LEVEL_COUNT * WS_PRECISION_COUNT };
struct ws_roofline {
    struct ws_roof_point points[WS_ROOF_POINTS_MAX];
    size_t count;           /* precisions without work have no point */
    struct ws_value reason; /* count is 0: why (no work counted, or the counters are missing) */
    struct ws_roof_traffic traffic[WS_LEVEL_COUNT];
};

/* Fill *out.
 *   metric    [WS_METRIC_COUNT], raw and derived
 *   device    its driver name finds the data-sheet roof
 *   ceilings  measured on this device, or NULL: every roof is then WS_WHY_NOT_MEASURED            */
void ws_roofline(const struct ws_value *metric, const struct ws_device *device, const struct ws_ceilings *ceilings,
                 struct ws_roofline *out);

/* The two roofs over a level and precision, without a point under them: bandwidth, peak and ridge are filled, roof and
 * percent say that there is no kernel. */
void ws_roofline_roofs(const struct ws_device *device, const struct ws_ceilings *ceilings, enum ws_level level,
                       enum ws_precision precision, struct ws_roof *on_board, struct ws_roof *on_sheet);
/* What the data sheet of the board says of a ceiling; missing where it says nothing. */
struct ws_value ws_ceiling_sheet(const struct ws_device *device, enum ws_ceiling_id id);

/* "DRAM", "L2", "L1" · "fp32", "tensor-bf16", … · "unknown", "memory", "compute". */
const char *ws_level_name(enum ws_level level);
const char *ws_precision_name(enum ws_precision precision);
const char *ws_bound_name(enum ws_bound bound);

#endif
