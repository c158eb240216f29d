/* SPDX-License-Identifier: MIT
 * test_decode.c: the predicted curve of the decode step. */
#include "../../analyzer/decode.h"
#include "test.h"

static struct ws_decode d;

TEST(one_vector_takes_as_long_as_the_matrix_takes_to_read)
{
    struct ws_value dram = ws_value_of(4.807e12);
    struct ws_value fp32 = ws_value_of(66.9e12);
    ws_decode_predict(4096, 1, dram, fp32, &d);
    CHECK_NEAR(d.bytes, 33554432 + 4096 * 6, 0);
    CHECK_NEAR(d.operations, 33554432, 0);
    CHECK_NEAR(d.seconds.number, 6.98e-6, 0.01e-6); /* H200, calculated in the course's terms */
    CHECK_INT(d.bound, WS_BOUND_MEMORY);
    CHECK_INT(d.seconds.origin, WS_ORIGIN_MODEL);
}

TEST(time_is_flat_up_to_the_turning_point_and_grows_with_the_batch_after_it)
{
    struct ws_value dram = ws_value_of(4.8e12);
    struct ws_value fp32 = ws_value_of(66.9e12);
    struct ws_value turn = ws_decode_turn(4096, dram, fp32);
    double one;
    double last;
    CHECK(ws_has(turn) && turn.number > 13.5 && turn.number < 14.5); /* "flat to about 14" */
    ws_decode_predict(4096, 1, dram, fp32, &d);
    one = d.seconds.number;
    ws_decode_predict(4096, 13, dram, fp32, &d);
    CHECK_INT(d.bound, WS_BOUND_MEMORY);
    CHECK(d.seconds.number < 1.02 * one);
    ws_decode_predict(4096, 32, dram, fp32, &d);
    CHECK_INT(d.bound, WS_BOUND_COMPUTE);
    last = d.seconds.number;
    ws_decode_predict(4096, 64, dram, fp32, &d);
    CHECK_NEAR(d.seconds.number, 2 * last, 1e-12);
    ws_decode_predict(4096, turn.number, dram, fp32, &d);
    CHECK_NEAR(d.bytes / dram.number, d.operations / fp32.number, 1e-15);
}

TEST(without_a_roof_there_is_no_prediction_but_its_reason)
{
    struct ws_value none = ws_missing(WS_WHY_NOT_MEASURED, "fp32");
    ws_decode_predict(4096, 4, ws_value_of(4.8e12), none, &d);
    CHECK_INT(d.seconds.why, WS_WHY_NOT_MEASURED);
    CHECK_INT(d.bound, WS_BOUND_UNKNOWN);
    CHECK_INT(ws_decode_turn(4096, none, ws_value_of(1)).why, WS_WHY_NOT_MEASURED);
    /* Memory so slow that arithmetic never catches up. */
    CHECK_INT(ws_decode_turn(4096, ws_value_of(1e9), ws_value_of(1e15)).why, WS_WHY_ZERO);
}
