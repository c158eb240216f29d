/* SPDX-License-Identifier: MIT
 * test_timebill.c: parts of a window that add to it, and the model beside them. */
#include "../../analyzer/timebill.h"
#include "test.h"

static struct ws_timeline_facts facts;
static struct ws_bill_rates rates;
static struct ws_time_bill bill;

static void set(enum ws_timeline_id id, double v)
{
    facts.value[id] = ws_value_of(v);
}

/* 10 ms: kernels 4 ms, copies 5 ms of which 1 ms together, memsets 0.5 ms, nothing 1.5 ms. */
static void begin(void)
{
    ws_timeline_init(&facts);
    set(WS_T_window, 10e-3);
    set(WS_T_kernel_busy, 4e-3);
    set(WS_T_copy_busy, 5e-3);
    set(WS_T_overlap, 1e-3);
    set(WS_T_gpu_idle, 1.5e-3);
    set(WS_T_copies, 3);
    set(WS_T_copy_bytes, 64e6);
    set(WS_T_launch_calls, 100);
    set(WS_T_launch_api, 1e-3);
    set(WS_T_dram_bytes, 8e9);
    rates.link = ws_value_of(64e9);
    rates.dram = ws_value_of(4e12);
}

TEST(parts_add_to_the_window)
{
    double sum = 0;
    double share = 0;
    begin();
    ws_time_bill(&facts, &rates, &bill);
    for (int i = 0; i < WS_BILL_PART_COUNT; i++) {
        REQUIRE(ws_has(bill.part[i].seconds) && ws_has(bill.part[i].share));
        sum += bill.part[i].seconds.number;
        share += bill.part[i].share.number;
    }
    CHECK_NEAR(sum, 10e-3, 1e-12);
    CHECK_NEAR(share, 1, 1e-12);
    CHECK_NEAR(bill.part[WS_BILL_KERNELS].seconds.number, 3e-3, 1e-12);
    CHECK_NEAR(bill.part[WS_BILL_COPIES].seconds.number, 4e-3, 1e-12);
    CHECK_NEAR(bill.part[WS_BILL_OTHER].seconds.number, 0.5e-3, 1e-12);
    CHECK_NEAR(bill.copy_share.number, 0.5, 1e-12);
    CHECK(!bill.is_copy_bound);
}

TEST(the_model_is_that_of_the_course)
{
    begin();
    ws_time_bill(&facts, &rates, &bill);
    CHECK_NEAR(bill.model[WS_BILL_MODEL_COPIES].modelled.number, 3 * 10e-6 + 1e-3, 1e-12);
    CHECK_NEAR(bill.model[WS_BILL_MODEL_LAUNCHES].modelled.number, 0.5e-3, 1e-12);
    CHECK_NEAR(bill.model[WS_BILL_MODEL_KERNELS].modelled.number, 2e-3, 1e-12);
    CHECK_NEAR(bill.model[WS_BILL_MODEL_KERNELS].ratio.number, 2, 1e-9);
    CHECK_INT(bill.model[WS_BILL_MODEL_COPIES].modelled.origin, WS_ORIGIN_MODEL);
    /* The worked example: three copies of 10^7 floats on PCIe with 32 GB/s. */
    set(WS_T_copy_bytes, 3 * 4e7);
    rates.link = ws_value_of(32e9);
    ws_time_bill(&facts, &rates, &bill);
    CHECK_NEAR(bill.model[WS_BILL_MODEL_COPIES].modelled.number, 3.78e-3, 1e-9);
}

TEST(copies_above_half_of_the_window_are_flagged)
{
    begin();
    set(WS_T_copy_busy, 5.1e-3);
    ws_time_bill(&facts, &rates, &bill);
    CHECK(bill.is_copy_bound);
}

TEST(what_was_not_collected_has_no_number_and_says_so)
{
    begin();
    facts.value[WS_T_launch_api] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    facts.value[WS_T_gpu_idle] = ws_missing(WS_WHY_DISTORTED, NULL);
    rates.link = ws_missing(WS_WHY_NOT_MEASURED, NULL);
    ws_time_bill(&facts, &rates, &bill);
    CHECK_INT(bill.model[WS_BILL_MODEL_LAUNCHES].measured.why, WS_WHY_NOT_COLLECTED);
    CHECK(strcmp(bill.model[WS_BILL_MODEL_LAUNCHES].measured.input, "launch_api") == 0);
    CHECK(!ws_has(bill.model[WS_BILL_MODEL_LAUNCHES].ratio));
    CHECK_INT(bill.part[WS_BILL_OTHER].seconds.why, WS_WHY_DISTORTED);
    CHECK(ws_has(bill.part[WS_BILL_KERNELS].seconds));
    CHECK_INT(bill.model[WS_BILL_MODEL_COPIES].modelled.why, WS_WHY_NOT_MEASURED);
    /* No copy needs no link. */
    set(WS_T_copies, 0);
    set(WS_T_copy_bytes, 0);
    ws_time_bill(&facts, &rates, &bill);
    CHECK_NEAR(bill.model[WS_BILL_MODEL_COPIES].modelled.number, 0, 0);
    CHECK_INT(bill.model[WS_BILL_MODEL_COPIES].ratio.why, WS_WHY_ZERO);
}

TEST(an_empty_session_has_no_bill)
{
    ws_timeline_init(&facts);
    rates.link = rates.dram = ws_value_of(1);
    ws_time_bill(&facts, &rates, &bill);
    for (int i = 0; i < WS_BILL_PART_COUNT; i++)
        CHECK_INT(bill.part[i].share.why, WS_WHY_NOT_COLLECTED);
    CHECK(!bill.is_copy_bound);
}

TEST(every_row_has_words)
{
    for (int i = 0; i < WS_BILL_PART_COUNT; i++)
        CHECK(*ws_bill_part_key((enum ws_bill_part_id)i) && *ws_bill_part_title((enum ws_bill_part_id)i));
    for (int i = 0; i < WS_BILL_MODEL_COUNT; i++)
        CHECK(*ws_bill_model_key((enum ws_bill_model_id)i) && *ws_bill_model_text((enum ws_bill_model_id)i));
}
