/* SPDX-License-Identifier: MIT
 * roofline.c: points under roofs. Pure. Roofs come from measured ceilings or from the data sheet
 * (gpus.def), never from one in place of the other.
 * To add a precision: a row in precisions[] and its ceiling in roofline.h. */
#include "roofline.h"

#include "gpus.h"
#include "metrics.h"

#include <string.h>

static const struct {
    const char *key, *unit, *title;
} ceiling_rows[WS_CEILING_COUNT] = {
#define WS_CEILING_ROW(sym, key, unit, title) [sym] = {key, unit, title},
    WS_CEILING_LIST(WS_CEILING_ROW)
#undef WS_CEILING_ROW
};

/* What each precision counts, which measured ceilings bound it (the higher one, where a kernel may do
 * either), and which data-sheet rate. Integer work has no data-sheet rate that a source states. */
static const struct {
    const char *name;
    enum ws_metric_id operations;
    enum ws_ceiling_id ceiling, other;
    enum ws_rate rate, other_rate; /* WS_RATE_COUNT = none */
} precisions[WS_PRECISION_COUNT] = {
    {"fp64", WS_M_flop_fp64, WS_CEILING_FP64, WS_CEILING_FP64, WS_RATE_FP64, WS_RATE_FP64},
    {"fp32", WS_M_flop_fp32, WS_CEILING_FP32, WS_CEILING_FP32, WS_RATE_FP32, WS_RATE_FP32},
    {"fp16", WS_M_flop_fp16, WS_CEILING_FP16, WS_CEILING_FP16, WS_RATE_FP16, WS_RATE_FP16},
    {"int32", WS_M_int_inst, WS_CEILING_INT32, WS_CEILING_INT32, WS_RATE_COUNT, WS_RATE_COUNT},
    {"tensor-fp64", WS_M_tensor_ops_fp64, WS_CEILING_TENSOR_FP64, WS_CEILING_TENSOR_FP64, WS_RATE_TENSOR_FP64,
     WS_RATE_TENSOR_FP64},
    {"tensor-tf32", WS_M_tensor_ops_tf32, WS_CEILING_TENSOR_TF32, WS_CEILING_TENSOR_TF32, WS_RATE_TENSOR_TF32,
     WS_RATE_TENSOR_TF32},
    {"tensor-fp16", WS_M_tensor_ops_fp16, WS_CEILING_TENSOR_FP16, WS_CEILING_TENSOR_FP16_ACC16,
     WS_RATE_TENSOR_FP16_FP32, WS_RATE_TENSOR_FP16_FP16},
    {"tensor-bf16", WS_M_tensor_ops_bf16, WS_CEILING_TENSOR_BF16, WS_CEILING_TENSOR_BF16, WS_RATE_TENSOR_BF16,
     WS_RATE_TENSOR_BF16},
    {"tensor-fp8", WS_M_tensor_ops_fp8, WS_CEILING_TENSOR_FP8, WS_CEILING_TENSOR_FP8, WS_RATE_TENSOR_FP8,
     WS_RATE_TENSOR_FP8},
    {"tensor-int8", WS_M_tensor_ops_int8, WS_CEILING_TENSOR_INT8, WS_CEILING_TENSOR_INT8, WS_RATE_TENSOR_INT8,
     WS_RATE_TENSOR_INT8},
};

static const struct {
    const char *name;
    enum ws_metric_id bytes;
} levels[WS_LEVEL_COUNT] = {{"DRAM", WS_M_dram_bytes}, {"L2", WS_M_l2_bytes}, {"L1", WS_M_l1_bytes}};

/* The compiler loads constants with HFMA2 and converts with HADD2: that is no arithmetic. Two such instructions a
 * thread prove nothing, and neither do many in a long kernel: moves in loops reach 1.3 % of its instructions (suite,
 * two 6 % at one a thread), conversions 53 % (a product with FP16 weights) but are additions only. A kernel whose
 * multiplies and FMAs are above that computes in FP16; one that only adds cannot be told from one that converts. */
#define FP16_MOVES_PER_THREAD 8.0
#define FP16_LEAST_SHARE 0.05

void ws_ceilings_init(struct ws_ceilings *ceilings)
{
    for (unsigned i = 0; i < WS_CEILING_COUNT; i++) {
        ceilings->at[i].rate = ws_missing(WS_WHY_NOT_MEASURED, ceiling_rows[i].key);
        ceilings->at[i].clock_hz = ws_missing(WS_WHY_NOT_MEASURED, ceiling_rows[i].key);
    }
}

const char *ws_ceiling_key(enum ws_ceiling_id id)
{
    return (unsigned)id < WS_CEILING_COUNT ? ceiling_rows[id].key : "";
}

const char *ws_ceiling_unit(enum ws_ceiling_id id)
{
    return (unsigned)id < WS_CEILING_COUNT ? ceiling_rows[id].unit : "";
}

const char *ws_ceiling_title(enum ws_ceiling_id id)
{
    return (unsigned)id < WS_CEILING_COUNT ? ceiling_rows[id].title : "";
}

enum ws_ceiling_id ws_ceiling_find(const char *key, size_t length)
{
    for (unsigned i = 0; i < WS_CEILING_COUNT; i++)
        if (strlen(ceiling_rows[i].key) == length && memcmp(ceiling_rows[i].key, key, length) == 0)
            return (enum ws_ceiling_id)i;
    return WS_CEILING_COUNT;
}

const char *ws_level_name(enum ws_level level)
{
    return (unsigned)level < WS_LEVEL_COUNT ? levels[level].name : "unknown";
}

const char *ws_precision_name(enum ws_precision precision)
{
    return (unsigned)precision < WS_PRECISION_COUNT ? precisions[precision].name : "unknown";
}

const char *ws_bound_name(enum ws_bound bound)
{
    static const char *const names[WS_BOUND_COUNT] = {"unknown", "memory", "compute"};
    return (unsigned)bound < WS_BOUND_COUNT ? names[bound] : "unknown";
}

/* --- values -------------------------------------------------------------------------------------- */

/* a / b: the reason of whichever is missing; b = 0 names `zero`. */
static struct ws_value ratio(struct ws_value a, struct ws_value b, const char *zero)
{
    struct ws_value out;
    if (!ws_has(a) || !ws_has(b))
        return ws_has(a) ? b : a;
    if (!(b.number > 0))
        return ws_missing(WS_WHY_ZERO, zero);
    out = ws_value_of(a.number / b.number);
    out.grade = a.grade;
    return out;
}

/* The greater of two; the one that is there, or the reason of the first. */
static struct ws_value greater(struct ws_value a, struct ws_value b)
{
    if (!ws_has(b))
        return a;
    return ws_has(a) && a.number >= b.number ? a : b;
}

/* A metric as the input of a ratio: missing says which key it is. */
static struct ws_value input(const struct ws_value *metric, enum ws_metric_id id)
{
    struct ws_value v = metric[id];
    if (!ws_has(v) && !v.input)
        v.input = ws_metric_get(id)->key;
    return v;
}

/* --- roofs --------------------------------------------------------------------------------------- */

/* L1 and shared memory deliver 128 bytes a cycle and SM at most (32 banks of 4 bytes). 256 SMs at 3 GHz are more than
 * any board has: a "measurement" above that measured something else, and is not believed. */
#define L1_MOST_BYTES_PER_S (128.0 * 3e9 * 256)

struct ws_value ws_ceiling_measured(const struct ws_ceilings *ceilings, enum ws_ceiling_id id)
{
    struct ws_value rate = ceilings ? ceilings->at[id].rate : ws_missing(WS_WHY_NOT_MEASURED, ceiling_rows[id].key);
    if ((id == WS_CEILING_L1_READ || id == WS_CEILING_SHARED_READ) && ws_has(rate) && rate.number > L1_MOST_BYTES_PER_S)
        return ws_missing(WS_WHY_RANGE, ceiling_rows[id].key);
    return rate;
}

/* A kernel may read, write or copy: the best of the three is what DRAM was seen to do. */
struct ws_value ws_ceiling_bandwidth(const struct ws_ceilings *ceilings, enum ws_level level)
{
    switch (level) {
    case WS_LEVEL_DRAM:
        return greater(ws_ceiling_measured(ceilings, WS_CEILING_DRAM_READ),
                       greater(ws_ceiling_measured(ceilings, WS_CEILING_DRAM_COPY),
                               ws_ceiling_measured(ceilings, WS_CEILING_DRAM_WRITE)));
    case WS_LEVEL_L2:
        return ws_ceiling_measured(ceilings, WS_CEILING_L2_READ);
    default:
        return ws_ceiling_measured(ceilings, WS_CEILING_L1_READ);
    }
}

/* Roof over a point, from the two ceilings that are set. */
static void fill_roof(struct ws_roof *roof, struct ws_value intensity, struct ws_value rate)
{
    struct ws_value slope = roof->bandwidth;
    roof->bound = WS_BOUND_UNKNOWN;
    roof->is_above = false;
    roof->ridge = ratio(roof->peak, roof->bandwidth, "bandwidth");
    if (ws_has(slope))
        slope = ws_has(intensity) ? ws_value_of(intensity.number * slope.number) : intensity;
    roof->roof = ws_has(slope) ? roof->peak : slope;
    if (ws_has(slope) && ws_has(roof->peak)) {
        roof->bound = slope.number < roof->peak.number ? WS_BOUND_MEMORY : WS_BOUND_COMPUTE;
        roof->roof = roof->bound == WS_BOUND_MEMORY ? slope : roof->peak;
    }
    roof->percent = ratio(rate, roof->roof, "roof");
    roof->is_above = ws_has(roof->percent) && roof->percent.number > 1;
}

/* What the data sheet of a board says; all missing for a board that is not known. */
struct sheet {
    struct ws_value bandwidth, rate[WS_RATE_COUNT];
};

static void read_sheet(struct sheet *sheet, const struct ws_device *device)
{
    struct ws_board board;
    bool known = ws_gpus_board(device->name, &board) == 0;
    struct ws_value unknown = ws_missing(WS_WHY_NO_DEVICE, NULL);
    sheet->bandwidth = known ? board.dram_bytes_per_s : unknown;
    for (unsigned i = 0; i < WS_RATE_COUNT; i++)
        sheet->rate[i] = known ? board.rate[i] : unknown;
}

static struct ws_value sheet_rate(const struct sheet *sheet, enum ws_rate rate)
{
    return rate < WS_RATE_COUNT ? sheet->rate[rate] : ws_missing(WS_WHY_NOT_IN_SOURCE, NULL);
}

/* Bandwidth and peak of both roofs. */
static void fill_ceilings(struct ws_roof *on_board, struct ws_roof *on_sheet, enum ws_level level,
                          enum ws_precision precision, const struct ws_ceilings *ceilings, const struct sheet *sheet)
{
    struct ws_value none = ws_missing(WS_WHY_NOT_IN_SOURCE, NULL); /* no data sheet states L1 or L2 bandwidth */
    on_board->bandwidth = ws_ceiling_bandwidth(ceilings, level);
    on_board->peak = greater(ws_ceiling_measured(ceilings, precisions[precision].ceiling),
                             ws_ceiling_measured(ceilings, precisions[precision].other));
    on_sheet->bandwidth = level == WS_LEVEL_DRAM ? sheet->bandwidth : none;
    on_sheet->peak =
        greater(sheet_rate(sheet, precisions[precision].rate), sheet_rate(sheet, precisions[precision].other_rate));
}

void ws_roofline_roofs(const struct ws_device *device, const struct ws_ceilings *ceilings, enum ws_level level,
                       enum ws_precision precision, struct ws_roof *on_board, struct ws_roof *on_sheet)
{
    struct ws_value nothing = ws_missing(WS_WHY_NO_LAUNCH, NULL);
    struct sheet sheet;
    read_sheet(&sheet, device);
    fill_ceilings(on_board, on_sheet, level, precision, ceilings, &sheet);
    fill_roof(on_board, nothing, nothing);
    fill_roof(on_sheet, nothing, nothing);
    on_board->roof = on_board->percent = on_sheet->roof = on_sheet->percent = nothing;
}

struct ws_value ws_ceiling_sheet(const struct ws_device *device, enum ws_ceiling_id id)
{
    struct sheet sheet;
    read_sheet(&sheet, device);
    if (id == WS_CEILING_DRAM_READ || id == WS_CEILING_DRAM_WRITE || id == WS_CEILING_DRAM_COPY)
        return sheet.bandwidth;
    for (unsigned i = 0; i < WS_PRECISION_COUNT; i++) {
        if (precisions[i].ceiling == id)
            return sheet_rate(&sheet, precisions[i].rate);
        if (precisions[i].other == id)
            return sheet_rate(&sheet, precisions[i].other_rate);
    }
    return ws_missing(WS_WHY_NOT_IN_SOURCE, NULL);
}

static void fill_point(struct ws_roof_point *p, const struct ws_value *metric, const struct ws_ceilings *ceilings,
                       const struct sheet *sheet)
{
    p->operations = metric[precisions[p->precision].operations];
    p->intensity = ratio(p->operations, input(metric, levels[p->level].bytes), ws_level_name(p->level));
    p->flop_rate = ratio(p->operations, input(metric, WS_M_duration), "duration");
    fill_ceilings(&p->measured, &p->sheet, p->level, p->precision, ceilings, sheet);
    fill_roof(&p->measured, p->intensity, p->flop_rate);
    fill_roof(&p->sheet, p->intensity, p->flop_rate);
}

static bool has_half_arithmetic(const struct ws_value *metric)
{
    struct ws_value mul = metric[WS_M_fp16_mul], fma = metric[WS_M_fp16_fma], all = metric[WS_M_thread_inst_executed];
    struct ws_value work = metric[WS_M_flop_fp16], threads = metric[WS_M_launched_threads];
    return ws_has(mul) && ws_has(fma) && ws_has(all) && ws_has(work) && ws_has(threads) &&
           work.number > FP16_MOVES_PER_THREAD * threads.number &&
           mul.number + fma.number >= FP16_LEAST_SHARE * all.number;
}

/* True if the kernel does work of this precision. */
static bool has_work(const struct ws_value *metric, enum ws_precision precision)
{
    struct ws_value work = metric[precisions[precision].operations];
    if (precision == WS_PRECISION_FP16 && !has_half_arithmetic(metric))
        return false;
    return ws_has(work) && work.number > 0;
}

void ws_roofline(const struct ws_value *metric, const struct ws_device *device, const struct ws_ceilings *ceilings,
                 struct ws_roofline *out)
{
    struct sheet sheet;
    bool counted = false;
    read_sheet(&sheet, device);
    out->count = 0;
    for (unsigned precision = 0; precision < WS_PRECISION_COUNT; precision++) {
        counted = counted || ws_has(metric[precisions[precision].operations]);
        for (unsigned level = 0; level < WS_LEVEL_COUNT && has_work(metric, (enum ws_precision)precision); level++) {
            struct ws_roof_point *p = &out->points[out->count++];
            p->level = (enum ws_level)level;
            p->precision = (enum ws_precision)precision;
            fill_point(p, metric, ceilings, &sheet);
        }
    }
    out->reason = counted ? ws_missing(WS_WHY_ZERO, "flop") : input(metric, WS_M_flop);
    for (unsigned level = 0; level < WS_LEVEL_COUNT; level++) {
        struct ws_roof_traffic *t = &out->traffic[level];
        t->bytes = input(metric, levels[level].bytes);
        t->rate = ratio(t->bytes, input(metric, WS_M_duration), "duration");
        t->ceiling = ws_ceiling_bandwidth(ceilings, (enum ws_level)level);
        t->percent = ratio(t->rate, t->ceiling, "ceiling");
    }
}
