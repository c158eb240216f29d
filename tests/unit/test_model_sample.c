/* SPDX-License-Identifier: MIT
 * test_model_sample.c: which blocks are run for all, what is told of the others, and what stops a launch. */
#include "../../analyzer/err.h"
#include "../../collector/model/model.h"
#include "../../collector/model/sample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

TEST(every_block_has_one_place)
{
    static const uint32_t grids[][3] = {{1, 1, 1}, {2, 1, 1},  {3, 1, 1},    {1000, 1, 1}, {16, 64, 1},
                                        {5, 4, 3}, {2, 2, 40}, {100, 1, 99}, {3, 3, 3},    {618, 1, 1}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        struct sample s;
        uint64_t by_stratum[SAMPLE_STRATA] = {0};
        bool *seen;
        sample_init(&s, grids[g]);
        CHECK_INT(s.blocks, (uint64_t)grids[g][0] * grids[g][1] * grids[g][2]);
        seen = calloc(s.blocks, sizeof *seen);
        REQUIRE(seen != NULL);
        for (uint64_t p = 0; p < s.blocks; p++) {
            uint32_t stratum = 99;
            uint64_t b = sample_block(&s, p, &stratum);
            REQUIRE(b < s.blocks && stratum < s.strata_n);
            if (seen[b])
                WS_FAIL("grid %zu: block %lu twice", g, (unsigned long)b);
            seen[b] = true;
            by_stratum[stratum]++;
        }
        for (uint32_t k = 0; k < s.strata_n; k++)
            CHECK_INT(by_stratum[k], s.strata[k].blocks);
        free(seen);
    }
}

TEST(edges_come_first_and_the_order_does_not_fall_into_step)
{
    const uint32_t grid[3] = {18, 66, 1};
    uint32_t columns[16] = {0}, stratum;
    struct sample s;
    sample_init(&s, grid);
    CHECK_INT(s.strata_n, 5);
    CHECK_INT(sample_places(&s, 64), 4ull * SAMPLE_FACE_BLOCKS + 64);
    CHECK_INT(sample_places(&s, 1024), 18 * 66);
    for (uint64_t p = 0; p < sample_places(&s, 64); p++) {
        uint64_t b = sample_block(&s, p, &stratum), x = b % 18, y = b / 18;
        bool is_edge = x == 0 || x == 17 || y == 0 || y == 65;
        CHECK_INT(is_edge, p < 4ull * SAMPLE_FACE_BLOCKS);
        if (!is_edge)
            columns[x - 1]++;
    }
    for (int x = 0; x < 16; x++) /* evenly spaced blocks, 16 apart, would all lie in one column */
        CHECK(columns[x] >= 2 && columns[x] <= 6);
}

TEST(intervals_follow_the_formula_and_vanish_when_all_has_run)
{
    const uint32_t grid[3] = {102, 1, 1};
    const uint64_t taken[SAMPLE_STRATA] = {1, 1, 10};
    const struct sample_sum sums[SAMPLE_STRATA] = {{5, 25}, {7, 49}, {30, 190}}; /* mean 3, variance (190 - 90) / 9 */
    const uint64_t all[SAMPLE_STRATA] = {1, 1, 100};
    const struct sample_sum whole[SAMPLE_STRATA] = {{5, 25}, {7, 49}, {300, 1900}};
    struct sample s;
    struct sample_estimate e;
    sample_init(&s, grid);
    sample_estimate(&s, taken, sums, &e);
    CHECK_NEAR(e.total, 312, 1e-9);
    CHECK_NEAR(e.half_width, 1.96 * sqrt(100.0 * 100.0 * 0.9 * (100.0 / 9) / 10), 1e-9);
    CHECK_NEAR(e.spread, sqrt(100.0 / 9) / 3, 1e-9);
    sample_estimate(&s, all, whole, &e);
    CHECK_NEAR(e.total, 312, 1e-9);
    CHECK_NEAR(e.half_width, 0, 1e-9);
}

/* Block b turns b * 37 % 101 times in a loop, loads one word a turn; the last block of the grid stores 32 times more
 * sectors than the others. */
#define UNEVEN                                                                                           \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"                \
    ".reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<8>;\n"                                            \
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mul.lo.u32 %r2, %r1, 37; rem.u32 %r2, %r2, 101;\n"   \
    "mov.u32 %r3, %tid.x; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r4, 0;\n"        \
    "L: setp.ge.u32 %p1, %r4, %r2; @%p1 bra D; ld.global.u32 %r5, [%rd3]; add.u32 %r4, %r4, 1; bra L;\n" \
    "D: mov.u32 %r6, %nctaid.x; sub.u32 %r6, %r6, 1; setp.ne.u32 %p2, %r1, %r6; @%p2 bra E;\n"           \
    "mul.wide.u32 %rd4, %r3, 32; add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r3; E: ret; }\n"

static bool stop_at_once(void *user, const struct ws_model_progress *p)
{
    *(uint32_t *)user += 1;
    return p->blocks == 0;
}

static void run_uneven(const struct ws_model_launch *how, struct ws_model_result *r)
{
    char error[WS_MODEL_ERROR_BYTES];
    struct ws_model *m = NULL;
    uint64_t args[1];
    struct ws_model_launch l = *how;
    memset(r, 0, sizeof *r);
    REQUIRE(ws_model_new(UNEVEN, strlen(UNEVEN), &m, error) == 0);
    ws_model_alloc(m, 4096, &args[0]);
    l.grid[1] = l.grid[2] = l.block[1] = l.block[2] = 1;
    l.grid[0] = 4000;
    l.block[0] = 32;
    l.params = args;
    l.params_bytes = sizeof args;
    CHECK_INT(ws_model_run(m, &l, r), 0);
    ws_model_result_fini(r);
    ws_model_free(m);
}

TEST(a_sample_is_near_the_truth_says_how_near_and_knows_the_edges)
{
    struct ws_model_result whole, part, two;
    double truth, guess;
    run_uneven(&(struct ws_model_launch){0}, &whole);
    CHECK_INT(whole.is_sampled, 0);
    CHECK_INT(whole.blocks_run, 4000);
    truth = (double)whole.counts.memory[WS_MODEL_GLOBAL_LD].sectors;
    run_uneven(&(struct ws_model_launch){.sample_blocks = 64}, &part);
    guess = (double)part.counts.memory[WS_MODEL_GLOBAL_LD].sectors;
    CHECK_INT(part.is_sampled, 1);
    CHECK_INT(part.is_stopped, 0);
    CHECK_INT(part.blocks_run, 66);
    CHECK_INT(part.blocks, 4000);
    CHECK_INT(part.counts.blocks, 4000);
    CHECK(part.interval > 0.05 && part.interval < 0.3);
    CHECK(guess != truth && fabs(guess - truth) < part.interval * guess);
    CHECK_INT(part.counts.memory[WS_MODEL_GLOBAL_ST].sectors, 32); /* the last block is always run */
    run_uneven(&(struct ws_model_launch){.sample_blocks = 64, .threads = 3}, &two);
    CHECK_INT(two.counts.memory[WS_MODEL_GLOBAL_LD].sectors, part.counts.memory[WS_MODEL_GLOBAL_LD].sectors);
    CHECK_NEAR(two.interval, part.interval, 1e-12);
}

TEST(as_many_blocks_as_there_are_is_no_sample)
{
    struct ws_model_result whole, all, small;
    run_uneven(&(struct ws_model_launch){0}, &whole);
    run_uneven(&(struct ws_model_launch){.sample_blocks = 5000}, &all);
    run_uneven(&(struct ws_model_launch){.sample_blocks = WS_SAMPLE_AUTO}, &small); /* soon done: all */
    CHECK_INT(all.is_sampled, 0);
    CHECK_INT(small.is_sampled, 0);
    CHECK_INT(small.blocks_run, 4000);
    CHECK_INT(all.counts.ptx_thread_instructions, whole.counts.ptx_thread_instructions);
    CHECK_INT(small.counts.ptx_thread_instructions, whole.counts.ptx_thread_instructions);
    CHECK_INT(all.counts.memory[WS_MODEL_GLOBAL_LD].lanes, whole.counts.memory[WS_MODEL_GLOBAL_LD].lanes);
    CHECK_INT(small.counts.memory[WS_MODEL_GLOBAL_LD].lanes, whole.counts.memory[WS_MODEL_GLOBAL_LD].lanes);
}

TEST(a_bound_leaves_a_sample_or_a_part_as_asked)
{
    struct ws_model_result part, cut, none;
    run_uneven(&(struct ws_model_launch){.max_instructions = 100000, .samples_when_cut = true}, &part);
    CHECK_INT(part.is_sampled, 1);
    CHECK_INT(part.is_stopped, 0);
    CHECK_INT(part.stop, WS_MODEL_STOP_INSTRUCTIONS);
    CHECK(part.blocks_run > 100 && part.blocks_run < 1000);
    run_uneven(&(struct ws_model_launch){.max_instructions = 100000}, &cut);
    CHECK_INT(cut.is_sampled, 0);
    CHECK_INT(cut.is_stopped, 1);
    CHECK(cut.counts.ptx_instructions <= 100000);
    run_uneven(&(struct ws_model_launch){.max_instructions = 10, .samples_when_cut = true}, &none);
    CHECK_INT(none.blocks_run, 0);
    CHECK_INT(none.is_stopped, 1);
}

TEST(time_and_the_caller_stop_a_launch_on_every_worker)
{
    static const char endless[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
                                  "L: bra L; ret; }\n";
    char error[WS_MODEL_ERROR_BYTES];
    struct ws_model *m = NULL;
    struct ws_model_result r;
    uint64_t args[1] = {0};
    uint32_t ticks = 0;
    struct ws_model_launch l = {
        .grid = {4, 1, 1}, .block = {32, 1, 1}, .params = args, .params_bytes = 8, .threads = 2};
    REQUIRE(ws_model_new(endless, strlen(endless), &m, error) == 0);
    l.max_seconds = 0.05;
    REQUIRE(ws_model_run(m, &l, &r) == 0);
    CHECK_INT(r.stop, WS_MODEL_STOP_TIME);
    CHECK_INT(r.is_stopped, 1);
    CHECK_INT(r.issues_n, 0);
    ws_model_result_fini(&r);
    l.max_seconds = 0;
    l.tick = stop_at_once;
    l.tick_user = &ticks;
    REQUIRE(ws_model_run(m, &l, &r) == 0);
    CHECK_INT(r.stop, WS_MODEL_STOP_CANCELLED);
    CHECK_INT(ticks, 1);
    ws_model_result_fini(&r);
    ws_model_free(m);
}
