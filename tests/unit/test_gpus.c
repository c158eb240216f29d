/* SPDX-License-Identifier: MIT
 * test_gpus.c: every row of gpus.def is well-formed, sourced and found again. */
#include "analyzer/err.h"
#include "analyzer/gpus.h"
#include "test.h"

TEST(every_compute_capability_row_is_plausible_and_found_by_its_number)
{
    size_t n = 0;
    const struct ws_limits *l = ws_gpus_limits_all(&n);
    CHECK(n >= 20);
    for (size_t i = 0; i < n; i++, l++) {
        CHECK(ws_gpus_limits(l->cc_major, l->cc_minor) == l); /* also: no number twice */
        CHECK(l->source && *l->source);
        CHECK(l->warps_per_sm >= 32 && l->warps_per_sm <= 64 && l->blocks_per_sm >= 16 && l->blocks_per_sm <= 32);
        CHECK(l->regs_per_sm == 65536 && l->regs_per_block <= l->regs_per_sm);
        CHECK(l->smem_per_block + l->smem_reserved <= l->smem_per_sm);
        CHECK(l->smem_reserved == (l->cc_major >= 8 ? 1024u : 0u));
        CHECK((l->cluster_max > 1) == (l->cc_major >= 9) && l->cluster_max >= l->cluster_portable);
        CHECK_INT(ws_gpus_carveout(l, l->smem_per_sm), l->smem_per_sm);
        CHECK_INT(ws_gpus_carveout(l, UINT64_MAX), l->smem_per_sm);
    }
}

TEST(the_compute_capabilities_that_ship_are_all_there)
{
    static const uint32_t cc[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
    for (size_t i = 0; i < sizeof cc / sizeof *cc; i++)
        CHECK(ws_gpus_limits(cc[i] / 10, cc[i] % 10) != NULL);
    CHECK(ws_gpus_limits(4, 0) == NULL);
    CHECK(ws_gpus_limits(9, 1) == NULL);
}

TEST(carveouts_go_in_the_steps_of_the_hardware)
{
    static const struct {
        uint32_t major, minor, ask_kib, got_kib;
    } rows[] = {{9, 0, 0, 0},   {9, 0, 1, 8},   {9, 0, 65, 100},  {9, 0, 133, 164}, {9, 0, 197, 228},
                {7, 5, 0, 32},  {7, 5, 33, 64}, {7, 0, 65, 96},   {8, 0, 101, 132}, {8, 6, 65, 100},
                {6, 1, 10, 96}, {12, 0, 1, 8},  {12, 0, 100, 100}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(ws_gpus_carveout(ws_gpus_limits(rows[i].major, rows[i].minor), (uint64_t)rows[i].ask_kib * 1024u),
                  rows[i].got_kib * 1024u);
}

/* Cross-check of the data sheets: FP32 = SMs x lanes x 2 x boost clock, within rounding of the sheet. */
TEST(every_board_is_found_by_each_of_its_names_and_its_fp32_rate_follows_from_its_clock)
{
    CHECK(ws_gpus_board_count() >= 15);
    for (size_t i = 0; i < ws_gpus_board_count(); i++) {
        struct ws_board b, again;
        char names[256];
        ws_gpus_board_at(i, &b);
        CHECK(b.source && *b.source);
        REQUIRE(ws_gpus_limits(b.cc_major, b.cc_minor) != NULL);
        snprintf(names, sizeof names, "%s", b.names);
        for (char *name = strtok(names, "|"); name; name = strtok(NULL, "|")) {
            CHECK_INT(ws_gpus_board(name, &again), 0);
            CHECK(again.names == b.names);
        }
        REQUIRE(ws_has(b.rate[WS_RATE_FP32]) && ws_has(b.dram_bytes_per_s));
        if (ws_has(b.boost_clock_hz)) {
            double fp32 =
                b.boost_clock_hz.number * b.sms * ws_gpus_limits(b.cc_major, b.cc_minor)->fp32_lanes_per_sm * 2;
            if (fabs(b.rate[WS_RATE_FP32].number / fp32 - 1) > 0.015)
                WS_FAIL("%s: sheet %g, from clock %g", b.names, b.rate[WS_RATE_FP32].number, fp32);
        }
    }
}

TEST(an_unknown_board_is_not_guessed)
{
    struct ws_board b;
    CHECK_INT(ws_gpus_board("NVIDIA H2000", &b), -WS_ENOENT);
    CHECK_INT(ws_gpus_board("NVIDIA", &b), -WS_ENOENT);
    CHECK_INT(ws_gpus_board("", &b), -WS_ENOENT);
    CHECK_INT(ws_gpus_board("|", &b), -WS_ENOENT);
    CHECK_INT(ws_gpus_board(NULL, &b), -WS_ENOENT);
    CHECK_INT(ws_gpus_board("NVIDIA GeForce RTX 4090", &b), 0);
    CHECK(!ws_has(b.rate[WS_RATE_TENSOR_FP64]));                                  /* the card has none: absent, not 0 */
    CHECK_NEAR(b.rate[WS_RATE_FP32].number / b.dram_bytes_per_s.number, 82, 0.5); /* the ridge, FLOP per byte */
}
