/* SPDX-License-Identifier: MIT
 * test_metrics.c: the catalogue itself is well-formed: keys, texts, CUPTI names, formulas, dimensions.
 * What the chips make of the CUPTI names is in test_catalogue_chips.c; what the formulas give in test_derive.c. */
#include "analyzer/derive.h"
#include "analyzer/err.h"
#include "analyzer/expr.h"
#include "tests/unit/test.h"

static const struct ws_metric *row(unsigned i)
{
    return ws_metric_get((enum ws_metric_id)i);
}

static bool is_identifier(const char *key)
{
    if (*key < 'a' || *key > 'z')
        return false;
    return key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

TEST(every_key_is_a_lower_case_identifier_and_unique)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        if (!is_identifier(row(i)->key))
            WS_FAIL("bad key '%s'", row(i)->key);
        if (ws_metric_find(row(i)->key, strlen(row(i)->key)) != i)
            WS_FAIL("key '%s' stands twice", row(i)->key);
    }
}

TEST(every_entry_has_title_doc_and_source)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = row(i);
        if (!*m->title || !*m->source || (unsigned)m->unit >= WS_UNIT_COUNT)
            WS_FAIL("%s: title, source or unit is missing", m->key);
        if (!*m->doc || m->doc[strlen(m->doc) - 1] != '.')
            WS_FAIL("%s: the doc is no sentence: '%s'", m->key, m->doc);
        for (unsigned j = 0; j < i; j++)
            if (strcmp(row(j)->title, m->title) == 0)
                WS_FAIL("%s and %s have the same title '%s'", row(j)->key, m->key, m->title);
    }
}

TEST(the_kind_says_which_fields_are_there)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = row(i);
        bool is_raw = m->kind == WS_KIND_RAW, is_expr = m->kind == WS_KIND_EXPR;
        if (!!m->cupti != is_raw || !!m->formula != is_expr || (m->bound_when && !is_expr))
            WS_FAIL("%s: fields do not fit its kind", m->key);
        if (is_raw ? (unsigned)m->set >= WS_SET_COUNT || !(m->scale > 0) : m->set != WS_SET_COUNT)
            WS_FAIL("%s: set or scale does not fit its kind", m->key);
    }
}

/* unit__name.rollup or unit__name.rollup.submetric */
static bool is_cupti_name(const char *name, size_t length)
{
    static const char *const ends[] = {".sum", ".avg", ".max", ".avg.pct_of_peak_sustained_elapsed"};
    const char *dot = memchr(name, '.', length);
    if (!dot || !strstr(name, "__") || strstr(name, "__") > dot)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strlen(ends[i]) == length - (size_t)(dot - name) && memcmp(dot, ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

TEST(cupti_names_have_a_rollup_and_a_percentage_is_scaled)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const char *at = row(i)->cupti, *name;
        size_t length;
        while (ws_metric_next_name(&at, &name, &length)) {
            bool is_percent = length > 4 && strstr(name, ".pct") && strstr(name, ".pct") < name + length;
            if (!is_cupti_name(name, length))
                WS_FAIL("%s: '%.*s' is no CUPTI name", row(i)->key, (int)length, name);
            if (is_percent != (row(i)->scale == 0.01))
                WS_FAIL("%s: scale %g with '%.*s'", row(i)->key, row(i)->scale, (int)length, name);
            if ((strncmp(name, "gpu__time", 9) == 0) != (row(i)->scale == 1e-9))
                WS_FAIL("%s: scale %g with '%.*s'", row(i)->key, row(i)->scale, (int)length, name);
        }
    }
}

TEST(no_cupti_name_is_collected_twice)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        for (unsigned j = 0; j < i; j++)
            if (row(i)->cupti && row(j)->cupti && *row(i)->cupti && strcmp(row(i)->cupti, row(j)->cupti) == 0)
                WS_FAIL("%s and %s are the same counter", row(i)->key, row(j)->key);
}

TEST(alternative_names_are_walked_in_order)
{
    const char *at = "a.sum|bc.sum", *name;
    size_t length;
    REQUIRE(ws_metric_next_name(&at, &name, &length) == 1 && length == 5 && memcmp(name, "a.sum", 5) == 0);
    REQUIRE(ws_metric_next_name(&at, &name, &length) == 1 && length == 6 && memcmp(name, "bc.sum", 6) == 0);
    CHECK_INT(ws_metric_next_name(&at, &name, &length), 0);
    at = NULL;
    CHECK_INT(ws_metric_next_name(&at, &name, &length), 0);
    at = ws_metric_get(WS_M_shared_ideal_wavefronts)->cupti;
    CHECK_INT(ws_metric_next_name(&at, &name, &length), 0);
}

static void check_formula(const struct ws_metric *m, const char *formula, bool must_fit)
{
    struct ws_expr expr;
    struct ws_dimension dimension;
    int err = ws_expr_parse(&expr, formula, strlen(formula), ws_catalogue_get());
    if (err) {
        WS_FAIL("%s: %s at '%s'", m->key, ws_err_text(err), formula + expr.error_at);
        return;
    }
    err = ws_expr_dimension(&expr, &dimension);
    if (err)
        WS_FAIL("%s: %s at '%s'", m->key, ws_err_text(err), formula + expr.error_at);
    else if (must_fit && !ws_dimension_equal(dimension, ws_unit_get(m->unit)->dimension))
        WS_FAIL("%s: '%s' is not in %s", m->key, formula, ws_unit_get(m->unit)->title);
}

TEST(every_formula_parses_and_has_the_dimension_of_its_unit)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        if (row(i)->formula)
            check_formula(row(i), row(i)->formula, true);
        if (row(i)->bound_when)
            check_formula(row(i), row(i)->bound_when, false);
    }
}

TEST(no_formula_needs_itself)
{
    static struct ws_value values[WS_METRIC_COUNT];
    unsigned bad = WS_METRIC_COUNT;
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = ws_value_of(1);
    CHECK_INT(ws_derive_catalogue(ws_catalogue_get(), values, &bad), 0);
    CHECK_INT(bad, WS_METRIC_COUNT);
}

TEST(every_formula_has_a_value_when_every_input_is_one)
{
    static struct ws_value values[WS_METRIC_COUNT];
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = ws_value_of(1);
    CHECK_INT(ws_derive(values), 0);
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        if (!ws_has(values[i]))
            WS_FAIL("%s: %s", row(i)->key, ws_why_code((enum ws_why)values[i].why));
}

/* The keys that JSON, CSV, .expect files and scripts use. A renamed key breaks them all. */
TEST(promised_keys_exist)
{
    static const char *const promised[] = {"duration",
                                           "inst_executed",
                                           "thread_inst_executed",
                                           "gld_requests",
                                           "gld_sectors",
                                           "gst_requests",
                                           "gst_sectors",
                                           "shared_ld_requests",
                                           "shared_ld_wavefronts",
                                           "shared_st_requests",
                                           "shared_st_wavefronts",
                                           "local_ld_sectors",
                                           "local_st_sectors",
                                           "fp32_add",
                                           "fp32_mul",
                                           "fp32_fma",
                                           "fp64_add",
                                           "fp64_mul",
                                           "fp64_fma",
                                           "fp16_add",
                                           "fp16_mul",
                                           "fp16_fma",
                                           "tensor_ops_fp16",
                                           "tensor_ops_bf16",
                                           "tensor_ops_tf32",
                                           "tensor_ops_fp64",
                                           "tensor_ops_fp8",
                                           "tensor_ops_int8",
                                           "gld_bytes",
                                           "gst_bytes",
                                           "issue_active",
                                           "dram_read_bytes",
                                           "dram_write_bytes",
                                           "l2_bytes",
                                           "l2_read_sectors",
                                           "l1_throughput",
                                           "l2_throughput",
                                           "dram_throughput",
                                           "sm_throughput",
                                           "l1_hit_rate_ld",
                                           "l2_hit_rate",
                                           "hw_bank_conflicts_ld",
                                           "hw_bank_conflicts_st",
                                           "l1_bytes",
                                           "gld_efficiency",
                                           "gst_efficiency",
                                           "gld_sectors_per_request",
                                           "gst_sectors_per_request",
                                           "shared_ld_wavefronts_per_request",
                                           "shared_st_wavefronts_per_request",
                                           "shared_bank_conflicts",
                                           "threads_per_instruction",
                                           "achieved_occupancy",
                                           "theoretical_occupancy",
                                           "flop_fp32",
                                           "flop_fp64",
                                           "dram_bytes",
                                           "dram_bandwidth",
                                           "intensity_dram",
                                           "intensity_l2",
                                           "intensity_l1",
                                           "flop_rate",
                                           "stall_long_scoreboard",
                                           "stall_no_instruction",
                                           "stall_selected",
                                           "stall_not_selected",
                                           "stall_share_long_scoreboard",
                                           "stall_share_no_instruction"};
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++)
        if (ws_metric_find(promised[i], strlen(promised[i])) == WS_METRIC_COUNT)
            WS_FAIL("no metric '%s'", promised[i]);
}

TEST(a_key_is_found_by_its_whole_length_only)
{
    CHECK_INT(ws_metric_find("gld_sectors_per_request", 11), WS_M_gld_sectors);
    CHECK_INT(ws_metric_find("gld_sectors", 10), WS_METRIC_COUNT);
    CHECK_INT(ws_metric_find("", 0), WS_METRIC_COUNT);
    CHECK_INT(ws_metric_find("gld_sectors\0x", 13), WS_METRIC_COUNT);
}

TEST(set_names_read_back)
{
    for (unsigned i = 0; i < WS_SET_COUNT; i++)
        CHECK_INT(ws_set_find(ws_set_name((enum ws_set)i), strlen(ws_set_name((enum ws_set)i))), i);
    CHECK_INT(ws_set_find("full", 4), WS_SET_COUNT);
    CHECK_STR(ws_set_name(WS_SET_COUNT), "none");
}
