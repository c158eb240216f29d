/* SPDX-License-Identifier: MIT
 * test_roofline.c: points, roofs and what is said where there is none. Numbers of the measured suite. */
#include "rule_facts.h"
#include "test.h"

static struct facts_box box;
static struct ws_ceilings ceilings;

/* Counters of the naive (#19) or tiled (#20) matrix product, n = 1024. */
static void matmul(double ld_sectors, double duration)
{
    static const enum ws_metric_id zero[] = {WS_M_fp32_add,         WS_M_fp32_mul,        WS_M_fp64_add,
                                             WS_M_fp64_mul,         WS_M_fp64_fma,        WS_M_local_ld_sectors,
                                             WS_M_local_st_sectors, WS_M_red_sectors,     WS_M_atom_sectors,
                                             WS_M_async_ld_sectors, WS_M_dram_write_bytes};
    facts_init(&box, NULL);
    box.facts.launch = (struct ws_launch){.grid = {32, 32, 1}, .block = {32, 32, 1}, .regs_per_thread = 32};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        facts_set(&box, zero[i], 0);
    facts_set(&box, WS_M_fp32_fma, 1073741824);
    facts_set(&box, WS_M_gld_sectors, ld_sectors);
    facts_set(&box, WS_M_gst_sectors, 131072);
    facts_set(&box, WS_M_dram_read_bytes, 8388608);
    facts_set(&box, WS_M_duration, duration);
}

static void measure(double dram, double l1, double fp32)
{
    ws_ceilings_init(&ceilings);
    ceilings.at[WS_CEILING_DRAM_COPY].rate = ws_value_of(dram);
    ceilings.at[WS_CEILING_L1_READ].rate = ws_value_of(l1);
    ceilings.at[WS_CEILING_FP32].rate = ws_value_of(fp32);
}

static const struct ws_roof_point *point(enum ws_level level, enum ws_precision precision)
{
    const struct ws_roofline *r = &box.report.roofline;
    for (size_t i = 0; i < r->count; i++)
        if (r->points[i].level == level && r->points[i].precision == precision)
            return &r->points[i];
    return NULL;
}

TEST(each_level_has_its_own_intensity)
{
    matmul(167772160, 349.4e-6);
    measure(4.3e12, 30e12, 60e12);
    ws_analyze(&box.facts, &ceilings, &box.report);
    CHECK_INT(box.report.roofline.count, 3);
    CHECK_NEAR(point(WS_LEVEL_L1, WS_PRECISION_FP32)->intensity.number, 0.4, 0.001);
    CHECK_NEAR(point(WS_LEVEL_DRAM, WS_PRECISION_FP32)->intensity.number, 256, 0.001);
    CHECK_NEAR(point(WS_LEVEL_DRAM, WS_PRECISION_FP32)->flop_rate.number, 6.146e12, 0.001e12);
    CHECK_INT(point(WS_LEVEL_L2, WS_PRECISION_FP32)->intensity.why, WS_WHY_NOT_COLLECTED);
    CHECK_STR(point(WS_LEVEL_L2, WS_PRECISION_FP32)->intensity.input, "l2_bytes");
}

TEST(the_lower_ceiling_binds_and_the_percent_is_of_it)
{
    const struct ws_roof_point *l1, *dram;
    matmul(167772160, 349.4e-6);
    measure(4.3e12, 30e12, 60e12);
    ws_analyze(&box.facts, &ceilings, &box.report);
    l1 = point(WS_LEVEL_L1, WS_PRECISION_FP32);
    dram = point(WS_LEVEL_DRAM, WS_PRECISION_FP32);
    CHECK_INT(l1->measured.bound, WS_BOUND_MEMORY);
    CHECK_NEAR(l1->measured.roof.number, 0.3997 * 30e12, 0.001 * 30e12);
    CHECK_NEAR(l1->measured.percent.number, 6.146e12 / (0.3997 * 30e12), 0.001);
    CHECK_NEAR(l1->measured.ridge.number, 2, 1e-9);
    CHECK_INT(dram->measured.bound, WS_BOUND_COMPUTE);
    CHECK_NEAR(dram->measured.percent.number, 6.146 / 60, 0.0001);
}

TEST(without_measured_ceilings_the_roof_is_not_measured_and_the_sheet_does_not_stand_in)
{
    const struct ws_roof_point *p;
    matmul(167772160, 349.4e-6);
    ws_analyze(&box.facts, NULL, &box.report);
    p = point(WS_LEVEL_DRAM, WS_PRECISION_FP32);
    REQUIRE(p != NULL);
    CHECK_INT(p->measured.roof.why, WS_WHY_NOT_MEASURED);
    CHECK_INT(p->measured.percent.why, WS_WHY_NOT_MEASURED);
    CHECK_INT(p->measured.bound, WS_BOUND_UNKNOWN);
    CHECK_NEAR(p->sheet.ridge.number, 13.9, 0.1); /* 66.9 / 4.8 */
    CHECK_NEAR(p->sheet.percent.number, 0.092, 0.001);
    CHECK_INT(point(WS_LEVEL_L1, WS_PRECISION_FP32)->sheet.roof.why, WS_WHY_NOT_IN_SOURCE);
}

TEST(an_unknown_board_has_no_sheet)
{
    matmul(167772160, 349.4e-6);
    box.device.name = "NVIDIA Something New";
    ws_analyze(&box.facts, NULL, &box.report);
    CHECK_INT(point(WS_LEVEL_DRAM, WS_PRECISION_FP32)->sheet.roof.why, WS_WHY_NO_DEVICE);
}

TEST(a_point_above_its_roof_is_flagged_and_kept)
{
    const struct ws_roof_point *p;
    matmul(8388608, 20e-6); /* 107 TFLOP/s */
    measure(4.3e12, 30e12, 60e12);
    ws_analyze(&box.facts, &ceilings, &box.report);
    p = point(WS_LEVEL_DRAM, WS_PRECISION_FP32);
    CHECK(p->measured.is_above);
    CHECK_NEAR(p->measured.percent.number, 107.37 / 60, 0.001);
    CHECK_NEAR(p->measured.roof.number, 60e12, 0);
}

TEST(the_best_measured_dram_rate_is_the_roof)
{
    matmul(167772160, 349.4e-6);
    measure(4.0e12, 30e12, 60e12);
    ceilings.at[WS_CEILING_DRAM_READ].rate = ws_value_of(4.4e12);
    ceilings.at[WS_CEILING_DRAM_WRITE].rate = ws_value_of(3.9e12);
    ws_analyze(&box.facts, &ceilings, &box.report);
    CHECK_NEAR(point(WS_LEVEL_DRAM, WS_PRECISION_FP32)->measured.bandwidth.number, 4.4e12, 0);
}

/* The matrix product with these half-precision instructions for each of its 2^20 threads. */
static bool has_half_point(double add, double mul, double fma, double instructions)
{
    matmul(167772160, 349.4e-6);
    facts_set(&box, WS_M_fp16_add, 1048576 * add);
    facts_set(&box, WS_M_fp16_mul, 1048576 * mul);
    facts_set(&box, WS_M_fp16_fma, 1048576 * fma);
    if (instructions > 0)
        facts_set(&box, WS_M_thread_inst_executed, 1048576 * instructions);
    ws_analyze(&box.facts, NULL, &box.report);
    return point(WS_LEVEL_DRAM, WS_PRECISION_FP16) != NULL;
}

TEST(half_precision_instructions_that_move_or_convert_are_no_work)
{
    CHECK(!has_half_point(0, 0, 1, 17));        /* a constant in a short kernel: 5.9 % */
    CHECK(!has_half_point(0, 0, 133, 10813));   /* constants in a loop */
    CHECK(!has_half_point(8320, 0, 15, 18489)); /* weights converted for a product in FP32 */
    CHECK(has_half_point(0, 0, 4096, 4500));
    CHECK(has_half_point(100, 100, 0, 1000));
    CHECK(!has_half_point(0, 0, 4096, 0)); /* the count that would tell was not collected */
}

TEST(the_roofs_over_a_level_need_no_kernel)
{
    struct ws_roof measured, sheet;
    facts_init(&box, NULL);
    measure(4e12, 30e12, 60e12);
    ws_roofline_roofs(&box.device, &ceilings, WS_LEVEL_DRAM, WS_PRECISION_FP32, &measured, &sheet);
    CHECK_NEAR(measured.ridge.number, 15, 1e-9);
    CHECK_NEAR(sheet.ridge.number, 13.9, 0.1);
    CHECK(!ws_has(measured.roof) && !ws_has(measured.percent) && !measured.is_above);
    ws_roofline_roofs(&box.device, NULL, WS_LEVEL_L2, WS_PRECISION_INT32, &measured, &sheet);
    CHECK_INT(measured.bandwidth.why, WS_WHY_NOT_MEASURED);
    CHECK_INT(measured.peak.why, WS_WHY_NOT_MEASURED);
    CHECK_INT(sheet.peak.why, WS_WHY_NOT_IN_SOURCE);
}

TEST(every_ceiling_has_the_data_sheet_rate_of_its_own_type)
{
    facts_init(&box, NULL);
    CHECK_NEAR(ws_ceiling_sheet(&box.device, WS_CEILING_DRAM_WRITE).number, 4.8e12, 1e9);
    CHECK_NEAR(ws_ceiling_sheet(&box.device, WS_CEILING_FP64).number, 33.5e12, 0.1e12);
    CHECK_NEAR(ws_ceiling_sheet(&box.device, WS_CEILING_TENSOR_BF16).number, 989.4e12, 1e12);
    CHECK_NEAR(ws_ceiling_sheet(&box.device, WS_CEILING_TENSOR_FP16_ACC16).number, 989.4e12, 1e12);
    CHECK_INT(ws_ceiling_sheet(&box.device, WS_CEILING_L1_READ).why, WS_WHY_NOT_IN_SOURCE);
    CHECK_INT(ws_ceiling_sheet(&box.device, WS_CEILING_INT32).why, WS_WHY_NOT_IN_SOURCE);
    box.device.name = "NVIDIA Something New";
    CHECK_INT(ws_ceiling_sheet(&box.device, WS_CEILING_FP32).why, WS_WHY_NO_DEVICE);
}

TEST(a_copy_has_no_point_but_its_traffic)
{
    facts_init(&box, NULL);
    for (enum ws_metric_id id = WS_M_fp32_add; id <= WS_M_fp64_fma; id++)
        facts_set(&box, id, 0);
    facts_set(&box, WS_M_dram_read_bytes, 67.1e6);
    facts_set(&box, WS_M_dram_write_bytes, 67.1e6);
    facts_set(&box, WS_M_duration, 50e-6);
    measure(4e12, 30e12, 60e12);
    ws_analyze(&box.facts, &ceilings, &box.report);
    CHECK_INT(box.report.roofline.count, 0);
    CHECK_INT(box.report.roofline.reason.why, WS_WHY_ZERO);
    CHECK_NEAR(box.report.roofline.traffic[WS_LEVEL_DRAM].percent.number, 134.2e6 / 50e-6 / 4e12, 1e-9);
    CHECK_INT(box.report.roofline.traffic[WS_LEVEL_L2].rate.why, WS_WHY_NOT_COLLECTED);
}

TEST(without_counters_the_roofline_says_which_are_missing)
{
    facts_init(&box, NULL);
    facts_analyze(&box);
    CHECK_INT(box.report.roofline.count, 0);
    CHECK(!ws_has(box.report.roofline.reason) && box.report.roofline.reason.input);
}

TEST(tensor_work_counts_by_type_and_takes_the_higher_of_two_accumulators)
{
    matmul(167772160, 349.4e-6);
    facts_set(&box, WS_M_tensor_ops_fp16_any, 2e12);
    facts_set(&box, WS_M_tensor_ops_bf16, 0);
    measure(4e12, 30e12, 60e12);
    ceilings.at[WS_CEILING_TENSOR_FP16].rate = ws_value_of(650e12);
    ceilings.at[WS_CEILING_TENSOR_FP16_ACC16].rate = ws_value_of(660e12);
    ws_analyze(&box.facts, &ceilings, &box.report);
    REQUIRE(point(WS_LEVEL_DRAM, WS_PRECISION_TENSOR_FP16) != NULL);
    CHECK_NEAR(point(WS_LEVEL_DRAM, WS_PRECISION_TENSOR_FP16)->measured.peak.number, 660e12, 0);
    CHECK(point(WS_LEVEL_DRAM, WS_PRECISION_TENSOR_BF16) == NULL);
}

TEST(ceilings_are_found_by_key)
{
    for (unsigned i = 0; i < WS_CEILING_COUNT; i++) {
        const char *key = ws_ceiling_key((enum ws_ceiling_id)i);
        CHECK_INT(ws_ceiling_find(key, strlen(key)), i);
        CHECK(*ws_ceiling_unit((enum ws_ceiling_id)i) && *ws_ceiling_title((enum ws_ceiling_id)i));
    }
    CHECK_INT(ws_ceiling_find("dram", 4), WS_CEILING_COUNT);
    CHECK_INT(ws_ceiling_find("", 0), WS_CEILING_COUNT);
}
