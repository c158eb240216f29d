/* SPDX-License-Identifier: MIT
 * values.c: the counts of a modelled launch under the keys of the metrics catalogue.
 * A key that the model cannot know stays missing, with "needs a GPU", never 0. */
#include "values.h"

#include <string.h>

static void put(struct ws_value *raw, enum ws_metric_id id, uint64_t count)
{
    raw[id] = ws_value_of((double)count);
}

static void put_memory(struct ws_value *raw, const struct ws_model_counts *c)
{
    const struct ws_model_memory *m = c->memory;
    put(raw, WS_M_gld_requests, m[WS_MODEL_GLOBAL_LD].requests);
    put(raw, WS_M_gld_sectors, m[WS_MODEL_GLOBAL_LD].sectors);
    put(raw, WS_M_gld_bytes, m[WS_MODEL_GLOBAL_LD].used_bytes);
    put(raw, WS_M_gst_requests, m[WS_MODEL_GLOBAL_ST].requests);
    put(raw, WS_M_gst_sectors, m[WS_MODEL_GLOBAL_ST].sectors);
    put(raw, WS_M_gst_bytes, m[WS_MODEL_GLOBAL_ST].bytes);
    put(raw, WS_M_red_requests, m[WS_MODEL_GLOBAL_RED].requests);
    put(raw, WS_M_red_sectors, m[WS_MODEL_GLOBAL_RED].sectors);
    put(raw, WS_M_atom_requests, m[WS_MODEL_GLOBAL_ATOMIC].requests);
    put(raw, WS_M_atom_sectors, m[WS_MODEL_GLOBAL_ATOMIC].sectors);
    put(raw, WS_M_async_ld_requests, m[WS_MODEL_ASYNC_COPY].requests);
    put(raw, WS_M_async_ld_sectors, m[WS_MODEL_ASYNC_COPY].sectors);
    put(raw, WS_M_async_ld_bytes, m[WS_MODEL_ASYNC_COPY].used_bytes);
    put(raw, WS_M_shared_ld_requests, m[WS_MODEL_SHARED_LD].requests);
    put(raw, WS_M_shared_ld_wavefronts, m[WS_MODEL_SHARED_LD].wavefronts);
    put(raw, WS_M_shared_st_requests, m[WS_MODEL_SHARED_ST].requests);
    put(raw, WS_M_shared_st_wavefronts, m[WS_MODEL_SHARED_ST].wavefronts);
    put(raw, WS_M_shared_atom_requests, m[WS_MODEL_SHARED_ATOMIC].requests);
    put(raw, WS_M_shared_atom_wavefronts, m[WS_MODEL_SHARED_ATOMIC].wavefronts);
    put(raw, WS_M_matrix_ld_requests, m[WS_MODEL_MATRIX_LD].requests);
    put(raw, WS_M_matrix_ld_wavefronts, m[WS_MODEL_MATRIX_LD].wavefronts);
    put(raw, WS_M_matrix_st_requests, m[WS_MODEL_MATRIX_ST].requests);
    put(raw, WS_M_shared_ideal_wavefronts,
        m[WS_MODEL_SHARED_LD].ideal_wavefronts + m[WS_MODEL_SHARED_ST].ideal_wavefronts);
    put(raw, WS_M_local_ld_requests, m[WS_MODEL_LOCAL_LD].requests);
    put(raw, WS_M_local_ld_sectors, m[WS_MODEL_LOCAL_LD].sectors);
    put(raw, WS_M_local_st_requests, m[WS_MODEL_LOCAL_ST].requests);
    put(raw, WS_M_local_st_sectors, m[WS_MODEL_LOCAL_ST].sectors);
    put(raw, WS_M_inst_memory_64b, c->memory_64b);
    put(raw, WS_M_inst_memory_128b, c->memory_128b);
}

static void put_arithmetic(struct ws_value *raw, const struct ws_model_counts *c)
{
    static const enum ws_metric_id keys[WS_MODEL_FP_COUNT] = {
        WS_METRIC_COUNT, WS_M_fp32_add, WS_M_fp32_mul, WS_M_fp32_fma, WS_M_fp64_add,
        WS_M_fp64_mul,   WS_M_fp64_fma, WS_M_fp16_add, WS_M_fp16_mul, WS_M_fp16_fma};
    for (int k = 1; k < WS_MODEL_FP_COUNT; k++) {
        put(raw, keys[k], c->fp[k]);
        if (c->fp_is_lower_bound || c->fp_is_upper_bound[k])
            raw[keys[k]].grade = !c->fp_is_lower_bound     ? WS_GRADE_UPPER_BOUND
                                 : c->fp_is_upper_bound[k] ? WS_GRADE_ESTIMATE
                                                           : WS_GRADE_LOWER_BOUND;
    }
}

static void put_tensor(struct ws_value *raw, const struct ws_model_counts *c)
{
    static const enum ws_metric_id keys[WS_MODEL_TENSOR_COUNT] = {
        WS_M_tensor_ops_fp16_acc16, WS_M_tensor_ops_fp16_acc32, WS_M_tensor_ops_bf16,      WS_M_tensor_ops_tf32,
        WS_M_tensor_ops_fp64,       WS_M_tensor_ops_fp8_acc16,  WS_M_tensor_ops_fp8_acc32, WS_M_tensor_ops_int8,
        WS_M_tensor_ops_int4,       WS_M_tensor_ops_int1};
    for (int k = 0; k < WS_MODEL_TENSOR_COUNT; k++)
        put(raw, keys[k], c->tensor[k]);
    put(raw, WS_M_tensor_ops_fp16_any, c->tensor[0] + c->tensor[1]);
    put(raw, WS_M_tensor_ops_fp8_any, c->tensor[5] + c->tensor[6]);
    put(raw, WS_M_tma_ld_instructions, c->bulk[0]);
    put(raw, WS_M_tma_st_instructions, c->bulk[1]);
}

/* Counts of accesses whose pattern is the model's own. */
static void grade_assumed(struct ws_value *raw, const struct ws_model_counts *c)
{
    static const struct {
        uint8_t kind;
        uint16_t key;
    } rows[] = {
        {WS_MODEL_GLOBAL_LD, WS_M_gld_requests},
        {WS_MODEL_GLOBAL_LD, WS_M_gld_sectors},
        {WS_MODEL_GLOBAL_LD, WS_M_gld_bytes},
        {WS_MODEL_GLOBAL_ST, WS_M_gst_requests},
        {WS_MODEL_GLOBAL_ST, WS_M_gst_sectors},
        {WS_MODEL_GLOBAL_ST, WS_M_gst_bytes},
        {WS_MODEL_SHARED_LD, WS_M_shared_ld_requests},
        {WS_MODEL_SHARED_LD, WS_M_shared_ld_wavefronts},
        {WS_MODEL_SHARED_LD, WS_M_shared_ideal_wavefronts},
        {WS_MODEL_SHARED_ST, WS_M_shared_st_requests},
        {WS_MODEL_SHARED_ST, WS_M_shared_st_wavefronts},
        {WS_MODEL_SHARED_ST, WS_M_shared_ideal_wavefronts},
        {WS_MODEL_SHARED_ATOMIC, WS_M_shared_atom_requests},
        {WS_MODEL_SHARED_ATOMIC, WS_M_shared_atom_wavefronts},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (c->is_assumed[rows[k].kind])
            raw[rows[k].key].grade = WS_GRADE_ESTIMATE;
}

void ws_model_values(const struct ws_model_counts *counts, struct ws_value raw[WS_METRIC_COUNT])
{
    for (int id = 0; id < WS_METRIC_COUNT; id++) {
        bool is_raw = ws_metric_get((enum ws_metric_id)id)->kind == WS_KIND_RAW;
        raw[id] = ws_missing(is_raw ? WS_WHY_NEEDS_GPU : WS_WHY_NOT_COLLECTED, NULL);
    }
    put_memory(raw, counts);
    put_arithmetic(raw, counts);
    put_tensor(raw, counts);
    grade_assumed(raw, counts);
    if (counts->spill_bytes) /* registers that ptxas spills are in SASS only */
        raw[WS_M_local_ld_requests] = raw[WS_M_local_ld_sectors] = raw[WS_M_local_st_requests] =
            raw[WS_M_local_st_sectors] = ws_missing(WS_WHY_NEEDS_GPU, NULL);
}
