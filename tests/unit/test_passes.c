/* SPDX-License-Identifier: MIT
 * test_passes.c: which pass a profiled launch served, whatever a replay in between does to CUPTI's counter. */
#include "collector/passes.h"

#include "test.h"

TEST(one_pass_is_always_up)
{
    struct ws_passes p = {.count = 1};
    CHECK_INT(ws_passes_next(&p), 0);
    CHECK_INT(ws_passes_served(&p, 99), 0);
    ws_passes_interrupted(&p);
    CHECK_INT(ws_passes_next(&p), 0);
}

TEST(undisturbed_passes_have_the_numbers_of_their_turn)
{
    struct ws_passes p = {.count = 4};
    CHECK_INT(ws_passes_next(&p), WS_PASS_UNKNOWN); /* the process may have rotated before we looked */
    for (uint32_t i = 0; i < 12; i++) {
        CHECK_INT(ws_passes_served(&p, 100 + i % 4), i % 4);
        if (i >= 4)
            CHECK_INT(ws_passes_next(&p), (i + 1) % 4);
    }
}

TEST(after_a_replay_the_next_pass_is_not_known_and_found_again)
{
    struct ws_passes p = {.count = 3};
    for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(ws_passes_served(&p, 100 + i), i);
    ws_passes_interrupted(&p);
    CHECK_INT(ws_passes_next(&p), WS_PASS_UNKNOWN);
    CHECK_INT(ws_passes_served(&p, 102), 2); /* the replay had moved the counter */
    CHECK_INT(ws_passes_served(&p, 100), 0);
    CHECK_INT(ws_passes_next(&p), 1);
}

/* The counter jumps while the passes are still being learnt: numbers are given as they come, never one twice. */
TEST(passes_learnt_out_of_turn_are_still_told_apart)
{
    struct ws_passes p = {.count = 4};
    CHECK_INT(ws_passes_served(&p, 102), 0);
    ws_passes_interrupted(&p);
    CHECK_INT(ws_passes_served(&p, 100), 1);
    CHECK_INT(ws_passes_served(&p, 101), 2);
    CHECK_INT(ws_passes_served(&p, 102), 0);
    CHECK_INT(ws_passes_served(&p, 103), 3);
    CHECK_INT(ws_passes_served(&p, 100), 1);
    CHECK_INT(ws_passes_next(&p), 2);
}

TEST(a_pattern_too_many_takes_the_pass_that_was_up)
{
    struct ws_passes p = {.count = 2};
    CHECK_INT(ws_passes_served(&p, 100), 0);
    CHECK_INT(ws_passes_served(&p, 101), 1);
    CHECK_INT(ws_passes_served(&p, 100), 0);
    CHECK_INT(ws_passes_served(&p, 777), 1);
    ws_passes_interrupted(&p);
    CHECK(ws_passes_served(&p, 778) < 2);
}

/* Random jumps by replays, random lengths: every pass has one number, and the number is right each time. */
TEST(numbers_stay_with_their_passes_through_random_jumps)
{
    uint64_t seed = 5;
    for (int round = 0; round < 500; round++) {
        struct ws_passes p = {.count = 2 + (uint32_t)round % 62};
        uint32_t number[WS_PASSES_MAX];
        uint32_t turn = 0;
        memset(number, 0xff, sizeof number);
        for (int i = 0; i < 400; i++) {
            uint32_t got;
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if (seed >> 60 == 0) {
                turn = (uint32_t)(seed >> 33) % p.count;
                ws_passes_interrupted(&p);
            }
            got = ws_passes_served(&p, UINT64_C(1) << turn);
            REQUIRE(got < p.count);
            REQUIRE(number[turn] == UINT32_MAX || number[turn] == got);
            number[turn] = got;
            turn = (turn + 1) % p.count;
        }
    }
}
