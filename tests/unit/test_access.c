/* SPDX-License-Identifier: MIT
 * test_access.c: the counting rules against the teaching texts' tables and against plain references. */
#include "../../analyzer/access.h"
#include "../../analyzer/err.h"
#include "../../analyzer/gpus.h"
#include "test.h"

static struct ws_access_report report_of(struct ws_pattern p)
{
    struct ws_access_report r = {0};
    CHECK_INT(ws_access_report(&p, &r), 0);
    return r;
}

static struct ws_pattern row_pattern(uint32_t width, int64_t stride, int64_t offset)
{
    return (struct ws_pattern){
        .width = width, .stride = stride, .offset = offset, .block_x = 32, .block_y = 1, .block_z = 1};
}

TEST(stride_table)
{
    static const uint32_t want[][2] = {{1, 4}, {2, 8}, {4, 16}, {8, 32}, {16, 32}, {32, 32}, {0, 1}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        CHECK_INT(report_of(row_pattern(4, want[k][0], 0)).sectors, want[k][1]);
}

TEST(misaligned_start_costs_a_fifth_sector)
{
    for (int64_t offset = 0; offset < 32; offset++)
        CHECK_INT(report_of(row_pattern(4, 1, offset)).sectors, offset % 8 ? 5 : 4);
}

TEST(wide_lanes_have_their_own_ideal)
{
    CHECK_INT(report_of(row_pattern(1, 1, 0)).sectors, 1);
    CHECK_INT(report_of(row_pattern(8, 1, 0)).sectors, 8);
    CHECK_INT(report_of(row_pattern(16, 1, 0)).sectors, 16);
    CHECK_INT(report_of(row_pattern(16, 1, 0)).ideal_sectors, 16);
    CHECK_INT(report_of(row_pattern(4, 0, 0)).ideal_sectors, 1); /* a broadcast wants 4 bytes */
    CHECK_INT(report_of(row_pattern(4, 0, 0)).used_bytes, 4);
}

TEST(block_shapes_of_the_two_dimensional_kernel)
{
    static const uint32_t want[][3] = {{32, 8, 32}, {16, 16, 32}, {8, 32, 32}, {4, 64, 64}, {1, 256, 256}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        struct ws_pattern p = {.width = 4, .stride = 1, .block_x = want[k][0], .block_y = want[k][1], .block_z = 1};
        p.pitch = 4096;
        CHECK_INT(report_of(p).sectors, want[k][2]);
        CHECK_INT(report_of(p).warps, 8);
    }
}

TEST(tile_column_conflicts_and_one_word_of_padding_removes_them)
{
    struct ws_pattern p = {.width = 4, .stride = 1, .block_x = 32, .block_y = 32, .block_z = 1, .pitch = 128};
    struct ws_access_report r = report_of(p);
    CHECK_INT(r.wavefronts, 32); /* as a row */
    p.is_transposed = true;
    r = report_of(p);
    CHECK_INT(r.wavefronts, 32 * 32);
    CHECK_INT(r.ideal_wavefronts, 32);
    CHECK_INT(r.padding, 4);
    CHECK_INT(r.padded_wavefronts, 32);
    p.pitch = 132;
    CHECK_INT(report_of(p).wavefronts, 32);
}

TEST(strided_words_conflict_by_the_common_divisor_with_32)
{
    for (int64_t stride = 1; stride <= 64; stride++) {
        int64_t a = stride, b = 32;
        while (b) {
            int64_t t = a % b;
            a = b;
            b = t;
        }
        CHECK_INT(report_of(row_pattern(4, stride, 0)).wavefronts, a);
    }
}

TEST(wide_shared_accesses_go_by_halves_and_quarters)
{
    uint64_t addr[32];
    struct ws_banks b;
    for (uint64_t l = 0; l < 32; l++)
        addr[l] = 8 * l;
    ws_access_banks(addr, UINT32_MAX, 8, WS_ACCESS_LOAD, &b);
    CHECK_INT(b.wavefronts, 2);
    CHECK_INT(b.ideal, 2);
    for (uint64_t l = 0; l < 32; l++)
        addr[l] = 16 * l;
    ws_access_banks(addr, UINT32_MAX, 16, WS_ACCESS_LOAD, &b);
    CHECK_INT(b.wavefronts, 4);
    for (uint64_t l = 0; l < 32; l++)
        addr[l] = 64;
    ws_access_banks(addr, UINT32_MAX, 16, WS_ACCESS_LOAD, &b); /* measured on an H200: 2, not 1 */
    CHECK_INT(b.wavefronts, 2);
    CHECK_INT(b.ideal, 2);
}

/* Element of a lane by the patterns of tests/gpu/calibrate.cu (place()), and the rounds that an H200 counted. */
static int32_t place(uint32_t pattern, int32_t l)
{
    static const int32_t none = -1;
    switch (pattern) {
    case 0:
        return l;
    case 1:
        return 0;
    case 2:
        return l >> 1;
    case 3:
        return (l & 1) | (l >> 2) << 1;
    case 4:
        return l >> 2;
    case 8:
        return l % 2 ? none : l;
    case 11:
        return l < 16 ? 0 : 8;
    case 12:
        return l % 2 ? 16 : 0;
    case 13:
        return l & 15;
    case 14:
        return l < 16 ? l % 2 * 16 : 1;
    case 15:
        return l == 31 ? 9 : l >> 2;
    case 16:
        return l < 16 ? l & 7 : 8 + (l & 7);
    case 17:
        return l % 2 ? none : l / 2;
    case 19:
        return l & 12 ? none : (l & 3) | (l >> 4) << 2;
    case 20:
        return l & 0x14 ? none : (l & 3) | (l >> 3) << 2;
    case 21:
        return l < 16 ? l >> 1 : l - 16;
    default:
        return l < 16 ? l >> 1 : 8 + ((l & 1) | (l - 16) >> 2 << 1);
    }
}

TEST(parts_of_a_warp_join_as_on_an_h200)
{
    static const struct {
        uint32_t pattern, load_8, load_16, store_8, store_16; /* rounds; 0 = not measured */
    } cases[] = {{0, 2, 4, 2, 4},  {1, 1, 2, 2, 4},  {2, 1, 2, 2, 4},  {3, 1, 2, 2, 4},  {4, 1, 2, 2, 4},
                 {8, 2, 4, 2, 4},  {11, 1, 2, 2, 4}, {12, 4, 8, 4, 8}, {13, 2, 4, 2, 0}, {14, 3, 5, 3, 0},
                 {15, 2, 3, 2, 0}, {16, 2, 4, 2, 0}, {17, 1, 2, 2, 0}, {19, 2, 2, 2, 0}, {20, 1, 1, 1, 0},
                 {21, 2, 3, 2, 0}, {22, 2, 2, 2, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (uint32_t width = 8; width <= 16; width += 8)
            for (int op = WS_ACCESS_LOAD; op <= WS_ACCESS_STORE; op++) {
                uint32_t want = op == WS_ACCESS_LOAD ? (width == 8 ? cases[k].load_8 : cases[k].load_16)
                                                     : (width == 8 ? cases[k].store_8 : cases[k].store_16);
                uint64_t addr[32];
                uint32_t mask = 0;
                struct ws_banks b;
                for (int32_t l = 0; l < 32; l++) {
                    int32_t p = place(cases[k].pattern, l);
                    addr[l] = (uint64_t)(p < 0 ? 0 : p) * width;
                    mask |= (uint32_t)(p >= 0) << l;
                }
                ws_access_banks(addr, mask, width, (enum ws_access_op)op, &b);
                if (want && b.wavefronts != want)
                    WS_FAIL("pattern %u, %u bytes, %s: %u rounds, measured %u", cases[k].pattern, width,
                            op == WS_ACCESS_LOAD ? "load" : "store", b.wavefronts, want);
                CHECK(b.ideal <= b.wavefronts);
            }
}

TEST(inactive_lanes_do_not_count)
{
    uint64_t addr[32];
    struct ws_sectors s;
    struct ws_banks b;
    for (uint64_t l = 0; l < 32; l++)
        addr[l] = 128 * l;
    ws_access_sectors(addr, 0x80000001u, 4, &s);
    CHECK_INT(s.sectors, 2);
    CHECK_INT(s.lines, 2);
    CHECK_INT(s.lanes, 2);
    ws_access_banks(addr, 0x00ff0000u, 4, WS_ACCESS_LOAD, &b);
    CHECK_INT(b.wavefronts, 8);
    ws_access_sectors(addr, 0, 4, &s);
    CHECK_INT(s.sectors, 0);
    CHECK_INT(s.ideal, 0);
}

TEST(same_address_depth)
{
    uint64_t addr[32];
    for (uint64_t l = 0; l < 32; l++)
        addr[l] = l % 4 * 4;
    CHECK_INT(ws_access_same_address(addr, UINT32_MAX), 8);
    CHECK_INT(ws_access_same_address(addr, 0x11u), 2);
    CHECK_INT(ws_access_same_address(addr, 0), 0);
}

/* The quick count must equal the plain one for any addresses, in any order. */
TEST(quick_counts_equal_a_plain_reference)
{
    uint64_t state = 12345;
    for (int round = 0; round < 20000; round++) {
        uint64_t addr[32];
        uint32_t mask, sectors = 0, words = 0;
        struct ws_sectors s;
        uint64_t range = 0;
        for (int l = 0; l < 32; l++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            range = 1ull << (6 + (uint64_t)round % 12);
            addr[l] = (1u << 20) + (state >> 33) % range * 4;
        }
        mask = (uint32_t)(state >> 7);
        ws_access_sectors(addr, mask, 4, &s);
        for (int l = 0; l < 32; l++) {
            bool new_sector = mask >> l & 1, new_word = mask >> l & 1;
            for (int k = 0; k < l; k++) {
                if (!(mask >> k & 1))
                    continue;
                new_sector &= addr[k] / 32 != addr[l] / 32;
                new_word &= addr[k] != addr[l];
            }
            sectors += new_sector;
            words += new_word;
        }
        CHECK_INT(s.sectors, sectors);
        CHECK_INT(s.bytes, 4 * words);
    }
}

TEST(impossible_patterns_are_refused)
{
    struct ws_access_report r;
    struct ws_pattern p = row_pattern(3, 1, 0);
    CHECK_INT(ws_access_report(&p, &r), -WS_EINVAL);
    p = row_pattern(4, 1, 0);
    p.block_y = 64;
    CHECK_INT(ws_access_report(&p, &r), -WS_EINVAL);
    p = row_pattern(8, 1, 0);
    p.pitch = 132;
    CHECK_INT(ws_access_report(&p, &r), -WS_EINVAL);
    p = row_pattern(4, INT64_MAX, 0);
    CHECK_INT(ws_access_report(&p, &r), -WS_EINVAL);
}

TEST(every_known_gpu_has_rules_and_all_are_what_the_counting_uses)
{
    struct ws_board board;
    for (size_t k = 0; k < ws_gpus_board_count(); k++) {
        const struct ws_access_rules *r;
        ws_gpus_board_at(k, &board);
        r = ws_access_rules(board.cc_major, board.cc_minor);
        if (!r)
            WS_FAIL("no rules for compute capability %u.%u", board.cc_major, board.cc_minor);
    }
    for (uint32_t cc = 50; cc <= 121; cc++) {
        const struct ws_access_rules *r = ws_access_rules(cc / 10, cc % 10);
        if (!r)
            continue;
        CHECK_INT(r->sector_bytes, WS_ACCESS_SECTOR_BYTES);
        CHECK_INT(r->line_bytes, WS_ACCESS_LINE_BYTES);
        CHECK_INT(r->banks, WS_ACCESS_BANKS);
        CHECK_INT(r->bank_bytes, 4);
        CHECK_INT(r->origin == WS_RULES_MEASURED, cc == 90); /* the only GPU that the counts were held against */
        CHECK(r->note[0] != 0 && r->source[0] != 0);
    }
    CHECK(ws_access_rules(3, 5) == NULL);
    CHECK(ws_access_rules(8, 10) == NULL);
    CHECK(ws_access_rules(13, 0) == NULL);
}
