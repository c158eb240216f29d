/* SPDX-License-Identifier: MIT
 * test_derive.c: derived metrics against known answers: counts that follow from a kernel's addresses and
 * were read so on an H200 (27-kernel program), and what happens when an input is missing or the catalogue broken. */
#include "analyzer/analyze.h"
#include "analyzer/derive.h"
#include "analyzer/err.h"
#include "tests/unit/test.h"

struct given {
    enum ws_metric_id id;
    double number;
};

/* Everything that no test row mentions was not collected. */
static struct ws_value *derive(const struct given *given, size_t count)
{
    static struct ws_value values[WS_METRIC_COUNT];
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    for (size_t i = 0; i < count; i++)
        values[given[i].id] = ws_value_of(given[i].number);
    CHECK_INT(ws_derive(values), 0);
    return values;
}
#define DERIVE(...) \
    derive((const struct given[]){__VA_ARGS__}, sizeof((const struct given[]){__VA_ARGS__}) / sizeof(struct given))
#define IS(key, number)    \
    {                      \
        WS_M_##key, number \
    }

/* Within a relative tolerance; a missing value fails with its reason. */
static void check_value(const struct ws_value *values, enum ws_metric_id id, double want, double tolerance)
{
    struct ws_value got = values[id];
    if (!ws_has(got))
        WS_FAIL("%s: %s %s", ws_metric_get(id)->key, ws_why_code((enum ws_why)got.why), got.input ? got.input : "");
    else if (fabs(got.number - want) > tolerance * fabs(want))
        WS_FAIL("%s: got %.12g, want %.12g", ws_metric_get(id)->key, got.number, want);
}
#define EXACT 1e-12

TEST(vector_add_moves_four_sectors_a_request_at_a_twelfth_of_a_flop_per_byte)
{
    struct ws_value *v =
        DERIVE(IS(gld_requests, 1048576), IS(gld_sectors, 4194304), IS(gld_bytes, 134217728), IS(gst_requests, 524288),
               IS(gst_sectors, 2097152), IS(gst_bytes, 67108864), IS(local_ld_sectors, 0), IS(local_st_sectors, 0),
               IS(red_sectors, 0), IS(atom_sectors, 0), IS(async_ld_sectors, 0), IS(fp32_add, 16777216),
               IS(fp32_mul, 0), IS(fp32_fma, 0), IS(fp64_add, 0), IS(fp64_mul, 0), IS(fp64_fma, 0));
    check_value(v, WS_M_gld_sectors_per_request, 4, EXACT);
    check_value(v, WS_M_gst_sectors_per_request, 4, EXACT);
    check_value(v, WS_M_gld_efficiency, 1, EXACT);
    check_value(v, WS_M_gst_efficiency, 1, EXACT);
    check_value(v, WS_M_l1_bytes, 201326592, EXACT);
    check_value(v, WS_M_flop, 16777216, EXACT);
    check_value(v, WS_M_intensity_l1, 1.0 / 12, EXACT);
}

TEST(a_stride_costs_sectors_until_every_lane_has_its_own)
{
    static const struct {
        double sectors, per_request, bytes_per_sector;
    } cases[] = {{262144, 4, 32}, {524288, 8, 16}, {1048576, 16, 8}, {2097152, 32, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_value *v =
            DERIVE(IS(gld_requests, 65536), IS(gld_sectors, cases[i].sectors), IS(gld_bytes, 65536 * 128.0));
        check_value(v, WS_M_gld_sectors_per_request, cases[i].per_request, EXACT);
        check_value(v, WS_M_gld_bytes_per_sector, cases[i].bytes_per_sector, EXACT);
        check_value(v, WS_M_gld_efficiency, cases[i].bytes_per_sector / 32, EXACT);
    }
}

TEST(a_misaligned_copy_touches_five_sectors)
{
    struct ws_value *v = DERIVE(IS(gld_requests, 524288), IS(gld_sectors, 2621439), IS(gld_bytes, 524288 * 128.0 - 4));
    check_value(v, WS_M_gld_sectors_per_request, 5, 1e-6);
    check_value(v, WS_M_gld_bytes_per_sector, 25.6, 1e-6);
}

TEST(efficiency_never_exceeds_one)
{
    struct ws_value *v = DERIVE(IS(gld_requests, 1), IS(gld_sectors, 1), IS(gld_bytes, 128));
    check_value(v, WS_M_gld_efficiency, 1, EXACT);
    check_value(v, WS_M_gld_bytes_per_sector, 128, EXACT); /* the raw ratio still shows it */
}

/* requests, wavefronts of loads and stores, conflicts; no access wider than 32 bits */
TEST(bank_conflicts_of_transposes_and_reductions_are_exact)
{
    static const struct {
        double ld_requests, ld_wavefronts, st_requests, st_wavefronts, conflicts, share;
    } cases[] = {
        {32768, 1048576, 32768, 32768, 1015808, 0.939}, /* transpose, tile[32][32] */
        {32768, 32768, 32768, 32768, 0, 0},             /* transpose, tile[32][33] */
        {760, 760, 440, 440, 0, 0},                     /* tree reduction, interleaved */
        {200, 760, 160, 440, 840, 0.7},                 /* strided */
        {200, 200, 160, 160, 0, 0},                     /* sequential */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_value *v =
            DERIVE(IS(shared_ld_requests, cases[i].ld_requests), IS(shared_ld_wavefronts, cases[i].ld_wavefronts),
                   IS(shared_st_requests, cases[i].st_requests), IS(shared_st_wavefronts, cases[i].st_wavefronts),
                   IS(inst_memory_64b, 0), IS(inst_memory_128b, 0), IS(hw_bank_conflicts_ld, 202),
                   IS(hw_bank_conflicts_st, 7));
        check_value(v, WS_M_shared_bank_conflicts, cases[i].conflicts, EXACT);
        CHECK_INT(v[WS_M_shared_bank_conflicts].grade, WS_GRADE_EXACT);
        check_value(v, WS_M_shared_conflict_share, cases[i].share, 1e-3);
        check_value(v, WS_M_shared_ld_wavefronts_per_request, cases[i].ld_wavefronts / cases[i].ld_requests, EXACT);
    }
}

/* Tiled matrix product: LDS.128 needs two rounds without any conflict, so the difference overstates. */
TEST(with_wide_accesses_conflicts_are_an_upper_bound_per_direction)
{
    struct ws_value *v =
        DERIVE(IS(shared_ld_requests, 41943040), IS(shared_ld_wavefronts, 50331648), IS(shared_st_requests, 2097152),
               IS(shared_st_wavefronts, 2097152), IS(inst_memory_64b, 0), IS(inst_memory_128b, 8388608),
               IS(hw_bank_conflicts_ld, 1000), IS(hw_bank_conflicts_st, 299697));
    /* loads: the hardware counter is the smaller one; stores: the difference is (0, where the hardware reads 299,697)
     */
    check_value(v, WS_M_shared_bank_conflicts, 1000, EXACT);
    CHECK_INT(v[WS_M_shared_bank_conflicts].grade, WS_GRADE_UPPER_BOUND);
    CHECK_INT(v[WS_M_shared_conflict_share].grade, WS_GRADE_UPPER_BOUND);
}

TEST(the_models_ideal_makes_conflicts_exact_at_any_width)
{
    struct ws_value *v =
        DERIVE(IS(shared_ld_wavefronts, 50331648), IS(shared_st_wavefronts, 2097152),
               IS(shared_ideal_wavefronts, 52428800), IS(inst_memory_64b, 0), IS(inst_memory_128b, 8388608));
    check_value(v, WS_M_shared_bank_conflicts, 0, EXACT);
    CHECK_INT(v[WS_M_shared_bank_conflicts].grade, WS_GRADE_EXACT);
}

TEST(conflicts_of_unknown_width_are_missing_and_say_why)
{
    struct ws_value *v = DERIVE(IS(shared_ld_requests, 1), IS(shared_ld_wavefronts, 2), IS(shared_st_requests, 1),
                                IS(shared_st_wavefronts, 1));
    CHECK_INT(v[WS_M_shared_bank_conflicts].why, WS_WHY_INPUT);
    /* the ideal comes first in the formula, but the reason must be one that a counter can mend */
    CHECK_STR(v[WS_M_shared_bank_conflicts].input, "inst_memory_64b");
}

TEST(matrix_products_have_the_intensity_of_their_sectors)
{
    struct ws_value *v =
        DERIVE(IS(gld_sectors, 167772160), IS(gst_sectors, 131072), IS(local_ld_sectors, 0), IS(local_st_sectors, 0),
               IS(red_sectors, 0), IS(atom_sectors, 0), IS(async_ld_sectors, 0), IS(fp32_add, 0), IS(fp32_mul, 0),
               IS(fp32_fma, 1073741824), IS(fp64_add, 0), IS(fp64_mul, 0), IS(fp64_fma, 0), IS(duration, 349.4e-6));
    check_value(v, WS_M_flop_fp32, 2147483648, EXACT);
    check_value(v, WS_M_intensity_l1, 0.400, 2e-3);
    check_value(v, WS_M_flop_rate, 6.15e12, 1e-3);
    v = DERIVE(IS(gld_sectors, 8388608), IS(gst_sectors, 131072), IS(local_ld_sectors, 0), IS(local_st_sectors, 0),
               IS(red_sectors, 0), IS(atom_sectors, 0), IS(async_ld_sectors, 0), IS(fp32_add, 0), IS(fp32_mul, 0),
               IS(fp32_fma, 1073741824), IS(fp64_add, 0), IS(fp64_mul, 0), IS(fp64_fma, 0));
    check_value(v, WS_M_l1_bytes, 272629760, EXACT);
    check_value(v, WS_M_intensity_l1, 7.88, 1e-3);
}

TEST(a_fused_multiply_add_is_two_operations_in_each_precision)
{
    struct ws_value *v =
        DERIVE(IS(fp32_add, 3244032), IS(fp32_mul, 540672), IS(fp32_fma, 8858370048), IS(fp64_add, 3244032),
               IS(fp64_mul, 540672), IS(fp64_fma, 2214592512), IS(fp16_add, 1), IS(fp16_mul, 2), IS(fp16_fma, 3));
    check_value(v, WS_M_flop_fp32, 17720524800, EXACT);
    check_value(v, WS_M_flop_fp64, 4432969728, EXACT);
    check_value(v, WS_M_flop, 17720524800.0 + 4432969728.0, EXACT);
    check_value(v, WS_M_flop_fp16, 18, EXACT);
    CHECK_INT(v[WS_M_flop_fp16].grade, WS_GRADE_UPPER_BOUND);
    CHECK_INT(v[WS_M_flop].grade, WS_GRADE_EXACT);
}

TEST(the_tail_of_a_grid_leaves_lanes_idle)
{
    struct ws_value *v = DERIVE(IS(inst_executed, 640), IS(thread_inst_executed, 20192));
    check_value(v, WS_M_threads_per_instruction, 31.55, 1e-4);
}

TEST(a_column_access_finds_seven_of_eight_sectors_in_l1)
{
    struct ws_value *v = DERIVE(IS(gld_sectors, 2097152), IS(l1_hit_sectors_ld, 1835008));
    check_value(v, WS_M_l1_hit_rate_ld, 0.875, EXACT);
}

TEST(occupancy_is_warps_over_what_the_active_cycles_could_hold)
{
    struct ws_value *v =
        DERIVE(IS(warps_active, 48.0 * 132 * 1000), IS(sm_active_cycles, 132 * 1000), IS(max_warps_per_sm, 64));
    check_value(v, WS_M_achieved_occupancy, 0.75, EXACT);
    v = DERIVE(IS(warps_active, 0), IS(sm_active_cycles, 0), IS(max_warps_per_sm, 64));
    CHECK_INT(v[WS_M_achieved_occupancy].why, WS_WHY_ZERO);
    CHECK_STR(v[WS_M_achieved_occupancy].input, "sm_active_cycles");
}

TEST(imbalance_is_zero_on_even_sms_and_weighted_by_their_busy_time)
{
    struct ws_value *v = DERIVE(IS(sm_active_cycles_avg, 900), IS(sm_active_cycles_max, 900), IS(elapsed_cycles, 1000));
    check_value(v, WS_M_sm_imbalance, 0, EXACT);
    v = DERIVE(IS(sm_active_cycles_avg, 500), IS(sm_active_cycles_max, 1000), IS(elapsed_cycles, 1000));
    check_value(v, WS_M_sm_imbalance, 0.25, EXACT);
}

/* Every raw stall counter but the two that are no stalls gets a different number. */
static double fill_stalls(struct ws_value *values)
{
    double total = 0, next = 1;
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        values[i] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
        if (m->kind != WS_KIND_RAW || m->set != WS_SET_STALLS)
            continue;
        values[i] = ws_value_of(next);
        if (i != WS_M_stall_selected && i != WS_M_stall_not_selected)
            total += next;
        next *= 2;
    }
    return total;
}

static bool is_share(const struct ws_metric *m)
{
    return strncmp(m->key, "stall_share_", 12) == 0;
}

TEST(stall_shares_add_up_to_one_without_the_two_that_are_no_stalls)
{
    static struct ws_value values[WS_METRIC_COUNT];
    double total = fill_stalls(values), sum = 0;
    unsigned shares = 0;
    CHECK_INT(ws_derive(values), 0);
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        if (is_share(ws_metric_get((enum ws_metric_id)i))) {
            sum += values[i].number;
            shares++;
        }
    CHECK_INT(shares, 17);
    CHECK_NEAR(sum, 1, 1e-12);
    check_value(values, WS_M_stall_total, total, EXACT);
    check_value(values, WS_M_stall_share_long_scoreboard, values[WS_M_stall_long_scoreboard].number / total, EXACT);
}

TEST(a_reason_that_the_chip_lacks_counts_nothing_and_has_no_share)
{
    static struct ws_value values[WS_METRIC_COUNT];
    double total = fill_stalls(values);
    total -= values[WS_M_stall_gmma].number;
    values[WS_M_stall_gmma] = ws_missing(WS_WHY_NOT_ON_CHIP, NULL);
    CHECK_INT(ws_derive(values), 0);
    check_value(values, WS_M_stall_total, total, EXACT);
    CHECK_INT(values[WS_M_stall_share_gmma].why, WS_WHY_INPUT);
    CHECK_STR(values[WS_M_stall_share_gmma].input, "stall_gmma");
}

TEST(a_reason_that_was_not_collected_leaves_the_shares_missing)
{
    static struct ws_value values[WS_METRIC_COUNT];
    (void)fill_stalls(values);
    values[WS_M_stall_gmma] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    CHECK_INT(ws_derive(values), 0);
    CHECK_INT(values[WS_M_stall_share_wait].why, WS_WHY_INPUT);
    CHECK_STR(values[WS_M_stall_share_wait].input, "stall_gmma");
}

TEST(a_kernel_that_never_stalled_has_no_shares)
{
    static struct ws_value values[WS_METRIC_COUNT];
    (void)fill_stalls(values);
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        if (ws_has(values[i]))
            values[i] = ws_value_of(0);
    CHECK_INT(ws_derive(values), 0);
    CHECK_INT(values[WS_M_stall_share_wait].why, WS_WHY_ZERO);
    CHECK_STR(values[WS_M_stall_share_wait].input, "stall_total");
}

TEST(tensor_operations_are_taken_from_what_the_chip_counts)
{
    struct ws_value *v = DERIVE(IS(tensor_ops_fp16_any, 4096));
    check_value(v, WS_M_tensor_ops_fp16, 4096, EXACT);
    v = DERIVE(IS(tensor_ops_fp16_acc16, 1024), IS(tensor_ops_fp16_acc32, 2048));
    check_value(v, WS_M_tensor_ops_fp16, 3072, EXACT);
    v = DERIVE(IS(tensor_ops_fp16_acc16, 1024));
    CHECK_INT(v[WS_M_tensor_ops_fp16].why, WS_WHY_INPUT);
}

TEST(a_chip_without_tensor_cores_did_no_tensor_operations)
{
    static struct ws_value values[WS_METRIC_COUNT];
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = strncmp(ws_metric_get((enum ws_metric_id)i)->key, "tensor_ops_", 11) == 0
                        ? ws_missing(WS_WHY_NOT_ON_CHIP, NULL)
                        : ws_value_of(1);
    CHECK_INT(ws_derive(values), 0);
    CHECK_INT(values[WS_M_tensor_ops_fp16].why, WS_WHY_INPUT);
    check_value(values, WS_M_tensor_flop, 0, EXACT);
}

TEST(tensor_operations_that_were_not_collected_are_not_zero)
{
    static struct ws_value values[WS_METRIC_COUNT];
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = ws_value_of(1);
    values[WS_M_tensor_ops_fp16_any] = ws_missing(WS_WHY_NOT_ON_CHIP, NULL);
    values[WS_M_tensor_ops_fp16_acc32] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    CHECK_INT(ws_derive(values), 0);
    CHECK_INT(values[WS_M_tensor_flop].why, WS_WHY_INPUT);
    CHECK_STR(values[WS_M_tensor_flop].input, "tensor_ops_fp16_acc32");
}

TEST(on_a_chip_without_asynchronous_copies_l1_bytes_are_whole)
{
    static struct ws_value values[WS_METRIC_COUNT];
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = ws_value_of(1);
    values[WS_M_async_ld_sectors] = ws_missing(WS_WHY_NOT_ON_CHIP, NULL);
    CHECK_INT(ws_derive(values), 0);
    check_value(values, WS_M_l1_bytes, 6 * 32, EXACT);
}

TEST(a_missing_counter_is_named_through_all_that_builds_on_it)
{
    struct ws_value *v = DERIVE(IS(dram_write_bytes, 1), IS(duration, 1));
    CHECK_INT(v[WS_M_dram_bandwidth].why, WS_WHY_INPUT);
    CHECK_STR(v[WS_M_dram_bandwidth].input, "dram_read_bytes");
}

TEST(nothing_measured_gives_nothing_but_reasons)
{
    struct ws_value *v = derive(NULL, 0);
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        if (ws_has(v[i]) || v[i].why >= WS_WHY_COUNT)
            WS_FAIL("%s has a value out of nothing", ws_metric_get((enum ws_metric_id)i)->key);
}

TEST(the_profilers_time_marks_what_is_divided_by_it)
{
    static struct ws_value values[WS_METRIC_COUNT];
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = ws_value_of(1);
    values[WS_M_duration].origin = WS_ORIGIN_PROFILER_TIME;
    CHECK_INT(ws_derive(values), 0);
    CHECK_INT(values[WS_M_flop_rate].origin, WS_ORIGIN_PROFILER_TIME);
    CHECK_INT(values[WS_M_intensity_dram].origin, WS_ORIGIN_SESSION);
}

TEST(raw_values_stay_as_they_are)
{
    struct ws_value *v = DERIVE(IS(gld_sectors, 7), IS(theoretical_occupancy, 0.5));
    CHECK_NEAR(v[WS_M_gld_sectors].number, 7, 0);
    CHECK_NEAR(v[WS_M_theoretical_occupancy].number, 0.5, 0);
    CHECK_INT(v[WS_M_gst_sectors].why, WS_WHY_NOT_COLLECTED);
}

/* --- broken catalogues ---------------------------------------------------------------------------- */

#define ROW_RAW(name)                                             \
    {                                                             \
        .key = name, .kind = WS_KIND_RAW, .cupti = "", .scale = 1 \
    }
#define ROW_EXPR(name, text)                               \
    {                                                      \
        .key = name, .kind = WS_KIND_EXPR, .formula = text \
    }

static int derive_rows(const struct ws_metric *rows, unsigned count, struct ws_value *values, unsigned *bad)
{
    struct ws_catalogue catalogue = {rows, count};
    for (unsigned i = 0; i < count; i++)
        values[i] = ws_value_of(2);
    return ws_derive_catalogue(catalogue, values, bad);
}

TEST(a_formula_that_needs_itself_is_refused_and_the_rest_is_filled)
{
    static const struct ws_metric rows[] = {ROW_RAW("raw"), ROW_EXPR("a", "b + 1"), ROW_EXPR("b", "c + 1"),
                                            ROW_EXPR("c", "a + 1"), ROW_EXPR("sound", "raw * 3")};
    struct ws_value values[5];
    unsigned bad = 99;
    CHECK_INT(derive_rows(rows, 5, values, &bad), -WS_ECYCLE);
    CHECK_INT(bad, 3);
    for (int i = 1; i <= 3; i++)
        CHECK(!ws_has(values[i]) && values[i].why < WS_WHY_COUNT);
    CHECK(ws_has(values[4]) && values[4].number == 6);
}

TEST(a_formula_may_not_be_its_own_bound)
{
    static const struct ws_metric rows[] = {{.key = "a", .kind = WS_KIND_EXPR, .formula = "1", .bound_when = "a"}};
    struct ws_value values[1];
    CHECK_INT(derive_rows(rows, 1, values, NULL), -WS_ECYCLE);
}

TEST(a_broken_formula_is_reported_by_its_row)
{
    static const struct ws_metric rows[] = {ROW_RAW("raw"), ROW_EXPR("a", "raw +"), ROW_EXPR("b", "a"),
                                            ROW_EXPR("c", "nothing")};
    struct ws_value values[4];
    unsigned bad = 99;
    CHECK_INT(derive_rows(rows, 4, values, &bad), -WS_ESYNTAX);
    CHECK_INT(bad, 1);
    CHECK_INT(values[2].why, WS_WHY_INPUT);
    CHECK_STR(values[2].input, "a");
}

TEST(formulas_may_build_on_formulas_only_so_deep)
{
    static char keys[40][8], formulas[40][16];
    struct ws_metric rows[40];
    struct ws_value values[40];
    for (int i = 0; i < 40; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        snprintf(formulas[i], sizeof formulas[i], i < 39 ? "k%d + 1" : "1", i + 1);
        rows[i] = (struct ws_metric){.key = keys[i], .kind = WS_KIND_EXPR, .formula = formulas[i]};
    }
    CHECK_INT(derive_rows(rows, 40, values, NULL), -WS_ELIMIT);
    CHECK_INT(derive_rows(rows + 24, 16, values, NULL), 0);
    CHECK_NEAR(values[0].number, 16, 0);
}

TEST(a_reason_from_a_foreign_file_does_not_confuse_the_order)
{
    static const struct ws_metric rows[] = {ROW_RAW("raw"), ROW_EXPR("a", "raw + 1")};
    struct ws_value values[2];
    struct ws_catalogue catalogue = {rows, 2};
    for (int why = WS_WHY_COUNT; why < 256; why++) {
        values[0] = ws_missing((enum ws_why)why, NULL);
        CHECK_INT(ws_derive_catalogue(catalogue, values, NULL), 0);
        CHECK_INT(values[1].why, WS_WHY_INPUT);
    }
}

/* --- the entry ------------------------------------------------------------------------------------ */

TEST(analyze_fills_what_the_launch_geometry_tells)
{
    static struct ws_value raw[WS_METRIC_COUNT];
    static struct ws_report report;
    struct ws_device device = {.name = "none"};
    struct ws_facts facts = {.device = &device, .raw = raw, .launches = 1};
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        raw[i] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    raw[WS_M_gld_requests] = ws_value_of(2);
    raw[WS_M_gld_sectors] = ws_value_of(8);
    raw[WS_M_gld_sectors_per_request] = ws_value_of(99); /* a derived slot of the input is ignored */
    facts.launch.grid = (struct ws_dim3){4081, 1, 1};
    facts.launch.block = (struct ws_dim3){257, 1, 1};
    ws_analyze(&facts, NULL, &report);
    check_value(report.metric, WS_M_launched_warps, 36729, EXACT);
    check_value(report.metric, WS_M_launched_threads, 4081.0 * 257, EXACT);
    check_value(report.metric, WS_M_gld_sectors_per_request, 4, EXACT);
}

TEST(a_ratio_that_is_given_stands_in_only_for_a_formula_without_value)
{
    static struct ws_value values[WS_METRIC_COUNT], given[WS_METRIC_COUNT];
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        values[i] = given[i] = ws_missing(WS_WHY_NOT_IN_SOURCE, NULL);
    values[WS_M_gld_sectors] = ws_value_of(800);
    values[WS_M_gld_requests] = ws_value_of(100);
    given[WS_M_gld_sectors_per_request] = ws_value_of(7.9);
    given[WS_M_achieved_occupancy] = ws_value_of(0.5);
    given[WS_M_dram_bytes] = ws_value_of(3e6);
    values[WS_M_duration] = ws_value_of(1e-3);
    CHECK_INT(ws_derive_given(values, given), 0);
    check_value(values, WS_M_gld_sectors_per_request, 8, 0);
    check_value(values, WS_M_achieved_occupancy, 0.5, 0);
    check_value(values, WS_M_dram_bandwidth, 3e9, 1e-15); /* and formulas go on from it */
    CHECK_INT(values[WS_M_gst_sectors_per_request].why, WS_WHY_INPUT);
}
