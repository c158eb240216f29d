/* SPDX-License-Identifier: MIT
 * test_model_kernels.c: the reference kernels on the SIMT model against their .expect files, in full size.
 * The PTX and the launch tables are in kernels/ptx; no nvcc and no GPU are needed. A value that the model does
 * not predict (time, stalls, caches) must be missing, and proves nothing here. */
#include "../../analyzer/derive.h"
#include "../../analyzer/err.h"
#include "../../analyzer/expect.h"
#include "../../collector/model/values.h"
#include "../../server/model_spec.h"
#include "test.h"

struct modelled {
    char names[32][WS_SPEC_NAME_MAX];
    struct ws_value values[32][WS_METRIC_COUNT];
    uint32_t n;
};

static char *read_text(const char *folder, const char *stem, const char *ending, size_t *length)
{
    char path[256];
    char *text;
    FILE *f;
    snprintf(path, sizeof path, "%s/%s.%s", folder, stem, ending);
    f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *length = (size_t)ftell(f);
    rewind(f);
    text = calloc(1, *length + 1);
    if (fread(text, 1, *length, f) != *length)
        WS_FAIL("short read of %s", path);
    fclose(f);
    return text;
}

static void run_all(const char *stem, struct modelled *out)
{
    static uint8_t params[WS_SPEC_PARAMS_MAX];
    char error[WS_MODEL_ERROR_BYTES] = "";
    struct ws_model *model = NULL;
    struct ws_spec *spec = NULL;
    size_t ptx_n = 0, json_n = 0;
    char *ptx = read_text("kernels/ptx", stem, "ptx", &ptx_n);
    char *json = read_text("kernels/ptx", stem, "json", &json_n);
    REQUIRE(ptx && json);
    if (ws_model_new(ptx, ptx_n, &model, error) || ws_spec_new(json, json_n, "kernels/ptx", &spec, error) ||
        ws_spec_prepare(spec, model, error))
        WS_FAIL("%s: %s", stem, error);
    REQUIRE(error[0] == '\0');
    for (uint32_t k = 0; k < ws_spec_launches(spec); k++) {
        struct ws_model_launch launch;
        struct ws_model_result result;
        if (ws_spec_launch(spec, model, k, &launch, params, error)) {
            WS_FAIL("%s", error);
            return;
        }
        if (ws_model_run(model, &launch, &result))
            WS_FAIL("%s", result.refusal);
        for (uint32_t i = 0; i < result.issues_n; i++)
            WS_FAIL("issue: %s", result.issues[i].text);
        ws_spec_short_name(ws_model_kernel_name(model, launch.kernel), out->names[out->n]);
        if (getenv("WS_MODEL_SPEED"))
            fprintf(stderr, "%-28s %12llu wi %7.3f s %7.1f M wi/s\n", out->names[out->n],
                    (unsigned long long)result.counts.ptx_instructions, result.seconds,
                    1e-6 * (double)result.counts.ptx_instructions / result.seconds);
        ws_model_values(&result.counts, out->values[out->n]);
        ws_derive(out->values[out->n]);
        out->n++;
        ws_model_result_fini(&result);
    }
    ws_spec_free(spec);
    ws_model_free(model);
    free(ptx);
    free(json);
}

static bool value_of(void *user, struct ws_word name, enum ws_metric_id key, struct ws_value *out)
{
    const struct modelled *m = user;
    for (uint32_t k = 0; k < m->n; k++)
        if (ws_expect_name_is(name, m->names[k])) {
            *out = m->values[k][key];
            return true;
        }
    return false;
}

static enum ws_expect_fired no_rules(void *user, struct ws_word name, struct ws_word rule)
{
    (void)user;
    (void)name;
    (void)rule;
    return WS_RULE_NOT_RUN;
}

/* Every value of the .expect file that the model gives must hold, and at least `least` of them are given. */
static void judge(const char *stem, int least)
{
    struct modelled *m = calloc(1, sizeof *m);
    size_t length = 0;
    char *text = read_text("kernels", stem, "expect", &length);
    struct ws_expect_reader reader;
    struct ws_expect e;
    struct ws_expect_facts facts = {value_of, no_rules, m};
    int held = 0;
    REQUIRE(text != NULL);
    run_all(stem, m);
    ws_expect_open(&reader, text, length);
    while (ws_expect_next(&reader, &e) == 1) {
        struct ws_value got;
        enum ws_verdict v;
        if (e.kind != WS_EXPECT_VALUE)
            continue;
        v = ws_expect_judge(&e, &facts, &got);
        held += v == WS_VERDICT_HOLDS;
        if (v == WS_VERDICT_BROKEN || v == WS_VERDICT_NO_LAUNCH)
            WS_FAIL("%s.expect:%u %.*s %s: %s, got %.17g want %.17g", stem, e.line, (int)e.name.length, e.name.at,
                    ws_metric_get(e.key)->key, ws_verdict_name(v), got.number, e.number);
    }
    if (getenv("WS_MODEL_SPEED"))
        fprintf(stderr, "%s: %d values hold\n", stem, held);
    if (held < least)
        WS_FAIL("%s: only %d values hold, %d expected", stem, held, least);
    free(text);
    free(m);
}

static bool is_sanitized(void)
{
    const char *san = getenv("SAN");
    return san && *san;
}
#define FULL_SIZE       \
    if (is_sanitized()) \
    SKIP("full size takes too long under a sanitizer")

TEST(vec_add_counts_as_expected)
{
    judge("vec_add", 5);
}

TEST(odd_block_size_counts_as_expected)
{
    judge("block_257", 6);
}

TEST(stride_table_counts_as_expected)
{
    judge("stride_read", 14);
}

TEST(misaligned_copies_count_as_expected)
{
    judge("offset_copy", 6);
}

TEST(matrix_addition_counts_as_expected)
{
    judge("mat_add", 6);
}

TEST(block_shapes_count_as_expected)
{
    judge("block_shape", 10);
}

TEST(transposes_count_as_expected)
{
    judge("transpose", 10);
}

TEST(reductions_count_as_expected)
{
    judge("reduce_tree", 54);
}

TEST(matrix_products_count_as_expected)
{
    FULL_SIZE;
    judge("matmul", 30);
}

TEST(fp32_chains_count_as_expected)
{
    FULL_SIZE;
    judge("fma_peak", 4);
}

TEST(fp64_chains_count_as_expected)
{
    FULL_SIZE;
    judge("fp64_peak", 4);
}

TEST(divergent_kernels_count_as_expected)
{
    FULL_SIZE;
    judge("diverge", 7);
}

TEST(partial_warp_count_as_expected)
{
    judge("vec_add_tail", 4);
}

TEST(views_count_as_expected)
{
    judge("map_view", 16);
}

TEST(reductions_by_thread_or_block_count_as_expected)
{
    judge("reduce_dim", 16);
}

TEST(atomics_count_as_expected)
{
    FULL_SIZE;
    judge("atomic_sum", 10);
}

TEST(occupancy_limited_kernels_count_as_expected)
{
    FULL_SIZE;
    judge("occupancy", 1);
}

TEST(small_grids_count_as_expected)
{
    FULL_SIZE;
    judge("small_grid", 1);
}

TEST(broken_waves_count_as_expected)
{
    FULL_SIZE;
    judge("tail_wave", 1);
}

TEST(unequal_blocks_count_as_expected)
{
    FULL_SIZE;
    judge("imbalance", 2);
}

TEST(slow_warps_at_barriers_count_as_expected)
{
    FULL_SIZE;
    judge("barrier", 2);
}

TEST(gathers_count_as_expected)
{
    FULL_SIZE;
    judge("gather", 6);
}

TEST(half_precision_products_count_as_expected)
{
    FULL_SIZE;
    judge("gemv", 20);
}

/* What ptxas spills is in no PTX: local memory must then be missing, not 0. */
TEST(capped_registers_count_as_expected)
{
    struct modelled *m = calloc(1, sizeof *m);
    judge("spill", 8);
    run_all("spill", m);
    CHECK(!ws_has(m->values[0][WS_M_local_ld_sectors]));
    CHECK(ws_has(m->values[1][WS_M_local_ld_sectors]));
    free(m);
}

TEST(guarded_grids_count_as_expected)
{
    judge("mat_add_guard", 8);
}

TEST(broadcast_operands_count_as_expected)
{
    judge("zip_bias", 4);
}

TEST(local_arrays_count_as_expected)
{
    judge("local_array", 12);
}

TEST(sines_count_as_expected)
{
    FULL_SIZE;
    judge("sfu", 5);
}

TEST(copies_of_two_widths_count_as_expected)
{
    FULL_SIZE;
    judge("copy_width", 12);
}

TEST(constant_tables_count_as_expected)
{
    FULL_SIZE;
    judge("const_index", 4);
}

TEST(six_indices_count_as_expected)
{
    judge("full_kernel", 2);
}
