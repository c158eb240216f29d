/* SPDX-License-Identifier: MIT
 * test_model_patterns.c: what makes the model quick must not be seen. Requests that repeat a pattern, shift it or leave
 * it are counted as the rules say, one by one, and move the right bytes; copies that give way to their source and
 * results that are computed once for a warp's life are those that the text computes. */
#include "../../analyzer/access.h"
#include "../../analyzer/err.h"
#include "../../collector/model/model.h"
#include "test.h"

#include <math.h>

#define REQUESTS 64
#define DATA_BYTES 65536
#define NO_LANE UINT32_MAX

static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

/* One request's offsets of one shape; lanes without one do not take part. */
static void make_request(uint32_t at[32], uint32_t shape, uint32_t width)
{
    uint32_t first = draw(512) * width, step = (draw(9) + 2) * width, room = DATA_BYTES - 16;
    for (uint32_t l = 0; l < 32; l++) {
        switch (shape) {
        case 0:
            at[l] = first + l * width;
            break;
        case 1:
            at[l] = first;
            break;
        case 2:
            at[l] = first + l * step;
            break;
        case 3: /* two rows of 16, or 16 lanes at one address */
            at[l] = first + l / 16 * 4096 + (step & 8 ? l % 16 * width : 0);
            break;
        case 4: /* eights: rows and single addresses by turns */
            at[l] = first + l / 8 * 640 + (l / 8 % 2 ? 0 : l % 8 * width);
            break;
        case 5:
            at[l] = first + (31 - l) * width;
            break;
        default:
            at[l] = draw(room / width) * width;
        }
        if (shape == 7 && draw(3) == 0)
            at[l] = NO_LANE;
    }
}

struct world {
    uint32_t at[REQUESTS][32]; /* offsets */
    uint8_t data[DATA_BYTES];
    uint32_t out[32];
    struct ws_model_result result;
};

/* Requests by twos and threes of a kind, so that they repeat; some move as a whole. */
static void make_world(struct world *w, uint32_t width, uint32_t seed)
{
    random_state = seed;
    for (uint32_t k = 0; k < sizeof w->data; k++)
        w->data[k] = (uint8_t)draw(256);
    for (uint32_t k = 0; k < REQUESTS; k++) {
        uint32_t move = draw(3) * 4 * width;
        if (k == 0 || draw(3) == 0) {
            make_request(w->at[k], draw(8), width);
            continue;
        }
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t old = w->at[k - 1][l];
            w->at[k][l] = old == NO_LANE || old + move + 16 > DATA_BYTES ? old : old + move;
        }
    }
}

/* A warp that goes through the requests: load, xor the words into the sum. */
static int run_world(struct world *w, const char *load, const char *combine, bool is_shared, const char *set)
{
    char text[4096], error[WS_MODEL_ERROR_BYTES];
    struct ws_model *m = NULL;
    uint64_t args[3];
    struct ws_model_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = args, .params_bytes = sizeof args};
    int err;
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o, .param .u64 i, .param "
             ".u64 d) {\n.reg .pred %%p<4>; .reg .b32 %%r<32>; .reg .b64 %%rd<24>; %s\n"
             "ld.param.u64 %%rd1, [o]; ld.param.u64 %%rd2, [i]; ld.param.u64 %%rd3, [d]; mov.u32 %%r1, %%tid.x;\n"
             "mul.wide.u32 %%rd4, %%r1, 4; add.s64 %%rd5, %%rd2, %%rd4; add.s64 %%rd6, %%rd1, %%rd4;\n"
             "mov.u32 %%r2, 0; mov.u32 %%r3, 0; mov.u32 %%r9, %s;\n"
             "L1: ld.global.u32 %%r4, [%%rd5]; setp.eq.u32 %%p1, %%r4, -1; @%%p1 bra L2;\n"
             "cvt.u64.u32 %%rd7, %%r4; add.s64 %%rd8, %%rd3, %%rd7; add.u32 %%r10, %%r9, %%r4;\n%s\n%s\n"
             "L2: add.s64 %%rd5, %%rd5, 128; add.u32 %%r2, %%r2, 1; setp.lt.u32 %%p2, %%r2, 64; @%%p2 bra L1;\n"
             "st.global.u32 [%%rd6], %%r3; ret; }\n",
             is_shared ? ".shared .align 16 .b8 tile[65536];" : "", is_shared ? "tile" : "0", load, combine);
    err = ws_model_new(text, strlen(text), &m, error);
    if (err) {
        WS_FAIL("%s", error);
        return err;
    }
    ws_model_alloc(m, sizeof w->out, &args[0]);
    ws_model_alloc(m, sizeof w->at, &args[1]);
    ws_model_alloc(m, sizeof w->data, &args[2]);
    memcpy(ws_model_at(m, args[1], sizeof w->at), w->at, sizeof w->at);
    memcpy(ws_model_at(m, args[2], sizeof w->data), w->data, sizeof w->data);
    l.instructions = set;
    err = ws_model_run(m, &l, &w->result);
    if (err == 0)
        memcpy(w->out, ws_model_at(m, args[0], sizeof w->out), sizeof w->out);
    if (err == 0 && w->result.issues_n > 0)
        WS_FAIL("%s", w->result.issues[0].text);
    ws_model_result_fini(&w->result);
    ws_model_free(m);
    return err;
}

static uint32_t lanes_of(const uint32_t at[32], uint64_t addr[32])
{
    uint32_t mask = 0;
    for (uint32_t l = 0; l < 32; l++) {
        addr[l] = at[l] == NO_LANE ? 0 : 1u << 20 | at[l]; /* an allocation begins at a multiple of 512 */
        mask |= (uint32_t)(at[l] != NO_LANE) << l;
    }
    return mask;
}

static struct ws_model_memory by_the_rules(const struct world *w, uint32_t width, bool is_shared)
{
    struct ws_model_memory sum = {0};
    for (uint32_t k = 0; k < REQUESTS; k++) {
        uint64_t addr[32];
        uint32_t mask = lanes_of(w->at[k], addr);
        struct ws_sectors s;
        struct ws_banks b;
        if (!mask)
            continue;
        ws_access_sectors(addr, mask, width, &s);
        ws_access_banks(addr, mask, width, WS_ACCESS_LOAD, &b);
        sum.requests++;
        sum.lanes += s.lanes;
        sum.bytes += (uint64_t)s.lanes * width;
        sum.sectors += is_shared ? 0 : s.sectors;
        sum.ideal_sectors += is_shared ? 0 : s.ideal;
        sum.lines += is_shared ? 0 : s.lines;
        sum.used_bytes += is_shared ? 0 : s.bytes;
        sum.wavefronts += is_shared ? b.wavefronts : 0;
        sum.ideal_wavefronts += is_shared ? b.ideal : 0;
    }
    return sum;
}

/* The loads of the table of offsets: rows of 128 bytes, 64 of them. */
static void without_table(struct ws_model_memory *m)
{
    m->requests -= REQUESTS;
    m->lanes -= 32ull * REQUESTS;
    m->bytes -= 128ull * REQUESTS;
    m->sectors -= 4ull * REQUESTS;
    m->ideal_sectors -= 4ull * REQUESTS;
    m->lines -= 1ull * REQUESTS;
    m->used_bytes -= 128ull * REQUESTS;
}

static void check_memory(const struct ws_model_memory *is, const struct ws_model_memory *want, uint32_t seed)
{
    if (memcmp(is, want, sizeof *is) != 0)
        WS_FAIL("seed %u: %llu requests %llu lanes %llu sectors %llu wavefronts, by the rules %llu %llu %llu %llu",
                seed, (unsigned long long)is->requests, (unsigned long long)is->lanes, (unsigned long long)is->sectors,
                (unsigned long long)is->wavefronts, (unsigned long long)want->requests, (unsigned long long)want->lanes,
                (unsigned long long)want->sectors, (unsigned long long)want->wavefronts);
}

static const struct {
    const char *load, *combine;
    uint32_t width;
    bool is_shared;
} loads[] = {
    {"ld.global.u32 %r5, [%rd8];", "xor.b32 %r3, %r3, %r5;", 4, false},
    {"ld.global.u8 %r5, [%rd8];", "xor.b32 %r3, %r3, %r5;", 1, false},
    {"ld.global.s16 %r5, [%rd8];", "xor.b32 %r3, %r3, %r5;", 2, false},
    {"ld.global.u64 %rd9, [%rd8];", "cvt.u32.u64 %r5, %rd9; xor.b32 %r3, %r3, %r5;", 8, false},
    {"ld.global.v2.u32 {%r5, %r6}, [%rd8];", "xor.b32 %r3, %r3, %r5; xor.b32 %r3, %r3, %r6;", 8, false},
    {"ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd8];",
     "xor.b32 %r3, %r3, %r5; xor.b32 %r3, %r3, %r6; xor.b32 %r3, %r3, %r7; xor.b32 %r3, %r3, %r8;", 16, false},
    {"ld.u32 %r5, [%rd8];", "xor.b32 %r3, %r3, %r5;", 4, false},
    {"ld.shared.u32 %r5, [%r10];", "", 4, true},
    {"ld.shared.u64 %rd9, [%r10];", "", 8, true},
    {"ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r10];", "", 16, true},
};

static uint32_t sum_of(const struct world *w, uint32_t lane, uint32_t width)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < REQUESTS; k++) {
        const uint8_t *p = w->data + w->at[k][lane];
        if (w->at[k][lane] == NO_LANE)
            continue;
        for (uint32_t n = 0; n < (width > 4 ? width : 4); n += 4) {
            uint32_t v = 0;
            memcpy(&v, p + n, width < 4 ? width : 4);
            sum ^= width == 2 ? (uint32_t)(int16_t)v : v;
        }
    }
    return sum;
}

TEST(requests_that_repeat_or_move_are_counted_by_the_rules)
{
    static const char *const sets[] = {"base", "v3", "v4"};
    static struct world w;
    for (size_t k = 0; k < sizeof loads / sizeof *loads; k++)
        for (uint32_t seed = 1; seed <= 12; seed++) {
            struct ws_model_memory want, is;
            int err;
            make_world(&w, loads[k].width, seed);
            err = run_world(&w, loads[k].load, loads[k].combine, loads[k].is_shared, sets[seed % 3]);
            if (err == -WS_EINVAL && seed % 3 != 0)
                continue; /* this machine lacks the instructions */
            REQUIRE(err == 0);
            want = by_the_rules(&w, loads[k].width, loads[k].is_shared);
            is = w.result.counts.memory[loads[k].is_shared ? WS_MODEL_SHARED_LD : WS_MODEL_GLOBAL_LD];
            if (!loads[k].is_shared)
                without_table(&is);
            check_memory(&is, &want, seed);
            for (uint32_t l = 0; l < 32 && !loads[k].is_shared && loads[k].width != 8; l++)
                CHECK_INT(w.out[l], sum_of(&w, l, loads[k].width));
        }
}

/* --- what need not run --- */

static void run_plain(const char *body, uint32_t out[256], uint32_t blocks, uint32_t threads,
                      struct ws_model_result *result)
{
    char text[4096], error[WS_MODEL_ERROR_BYTES];
    struct ws_model *m = NULL;
    struct {
        uint64_t out;
        uint32_t n;
    } args = {.n = 5};
    struct ws_model_launch l = {.grid = {blocks, 1, 1},
                                .block = {threads, 1, 1},
                                .params = &args,
                                .params_bytes = 12,
                                .max_instructions = 1000000};
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o, .param .u32 n) {\n"
             ".reg .pred %%p<4>; .reg .b32 %%r<32>; .reg .b64 %%rd<24>;\nld.param.u64 %%rd1, [o]; ld.param.u32 %%r20, "
             "[n]; mov.u32 %%r1, %%tid.x; mov.u32 %%r21, %%ctaid.x; mov.u32 %%r22, %%ntid.x;\n"
             "mad.lo.u32 %%r23, %%r21, %%r22, %%r1; mul.wide.u32 %%rd2, %%r23, 4; add.s64 %%rd3, %%rd1, %%rd2;\n%s\n"
             "st.global.u32 [%%rd3], %%r10; ret; }\n",
             body);
    REQUIRE(ws_model_new(text, strlen(text), &m, error) == 0);
    ws_model_alloc(m, 256 * sizeof *out, &args.out);
    CHECK_INT(ws_model_run(m, &l, result), 0);
    memcpy(out, ws_model_at(m, args.out, 256 * sizeof *out), 256 * sizeof *out);
    ws_model_result_fini(result);
    ws_model_free(m);
}

TEST(two_registers_that_a_loop_exchanges_keep_their_own_values)
{
    uint32_t out[256];
    struct ws_model_result result;
    run_plain("mov.u32 %r2, %r1; mov.u32 %r3, 100; mov.u32 %r5, 0;\n"
              "L: mov.u32 %r4, %r2; mov.u32 %r2, %r3; mov.u32 %r3, %r4; add.u32 %r5, %r5, 1;\n"
              "setp.lt.u32 %p1, %r5, 3; @%p1 bra L; mad.lo.u32 %r10, %r2, 1000, %r3;",
              out, 1, 32, &result);
    for (uint32_t l = 0; l < 32; l++)
        CHECK_INT(out[l], 100 * 1000 + l);
    CHECK_INT(result.counts.ptx_instructions, 8 + 3 + 3 * 6 + 1 + 2); /* whatever ran */
}

TEST(a_copy_keeps_the_value_of_the_turn_in_which_its_lane_left_the_loop)
{
    uint32_t out[256];
    struct ws_model_result result;
    run_plain("mov.u32 %r5, 0;\nL: mul.lo.u32 %r6, %r5, 7; mov.u32 %r7, %r6; add.u32 %r5, %r5, 1;\n"
              "setp.le.u32 %p1, %r5, %r1; @%p1 bra L; mov.u32 %r10, %r7;",
              out, 1, 32, &result);
    for (uint32_t l = 0; l < 32; l++)
        CHECK_INT(out[l], 7 * l);
}

TEST(a_move_under_a_guard_is_no_copy)
{
    uint32_t out[256];
    struct ws_model_result result;
    run_plain("mov.u32 %r10, 1; setp.gt.u32 %p1, %r1, 9; @%p1 mov.u32 %r10, %r20;", out, 1, 32, &result);
    for (uint32_t l = 0; l < 32; l++)
        CHECK_INT(out[l], l > 9 ? 5 : 1);
}

TEST(what_is_computed_once_is_each_warps_own_and_holds_for_every_block)
{
    uint32_t out[256];
    struct ws_model_result result;
    /* %r11 depends on the thread and a parameter alone, %r12 on the block, too; the text defines %r13 after its use */
    run_plain("mul.lo.u32 %r11, %r1, %r20; add.u32 %r12, %r11, %r21; setp.eq.u32 %p1, %r20, 5; @%p1 bra A;\n"
              "B: add.u32 %r10, %r12, %r13; bra C;\nA: xor.b32 %r13, %r11, 3; bra B;\nC:",
              out, 2, 100, &result);
    for (uint32_t b = 0; b < 2; b++)
        for (uint32_t t = 0; t < 100; t++)
            CHECK_INT(out[b * 100 + t], t * 5 + b + ((t * 5) ^ 3));
}

TEST(results_that_nobody_reads_are_counted_all_the_same)
{
    uint32_t out[256];
    struct ws_model_result result;
    run_plain("mov.u32 %r10, 3; add.u32 %r11, %r10, %r1; mul.lo.u32 %r12, %r11, %r11;", out, 1, 64, &result);
    CHECK_INT(out[63], 3);
    CHECK_INT(result.counts.ptx_instructions, 2 * (8 + 3 + 2));
}

/* --- several instructions, or all lanes, at once --- */

TEST(multiply_adds_one_after_another_are_those_of_the_text)
{
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        const char *t = is_wide ? "f64" : "f32", *z = is_wide ? "cvt.rzi.u32.f64" : "cvt.rzi.u32.f32";
        char body[1024];
        uint32_t out[256];
        struct ws_model_result result;
        snprintf(
            body, sizeof body,
            ".reg .%s %%f<9>; cvt.rn.%s.u32 %%f1, %%r1; cvt.rn.%s.u32 %%f2, %%r20; setp.lt.u32 %%p1, %%r1, 20;\n"
            "fma.rn.%s %%f3, %%f1, %%f2, %%f1; fma.rn.%s %%f4, %%f3, %%f3, %%f1; fma.rn.%s %%f3, %%f4, %%f3, %%f4;\n"
            "@%%p1 bra B; fma.rn.%s %%f3, %%f3, %%f2, %%f1; fma.rn.%s %%f3, %%f3, %%f2, %%f3;\nB: %s %%r10, %%f3;",
            t, t, t, t, t, t, t, t, z);
        run_plain(body, out, 1, 64, &result);
        for (uint32_t x = 0; x < 64; x++) {
            double a = 6.0 * x, b = a * a + x, c = b * a + b,
                   d = is_wide ? c * 5 + x : (double)fmaf((float)c, 5, (float)x);
            double e = is_wide ? d * 5 + d : (double)fmaf((float)d, 5, (float)d);
            if (x < 32 && !is_wide)
                CHECK_INT(out[x], (uint32_t)(x < 20 ? c : e)); /* below 2^24: exact but for the two rounded above */
            if (is_wide)
                CHECK_INT(out[x], (uint32_t)(x < 20 ? c : e));
        }
        CHECK_INT(result.counts.fp[is_wide ? 6 : 3], 3 * 64 + 2 * 44); /* multiply-adds */
    }
}

static float value_of_half(uint32_t h)
{
    int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
    float v = exponent == 31  ? fraction ? NAN : INFINITY
              : exponent == 0 ? ldexpf((float)fraction, -24)
                              : ldexpf((float)(1024 + fraction), exponent - 25);
    return h >> 15 ? -v : v;
}

TEST(every_half_becomes_its_float)
{
    for (uint32_t high = 0; high < 256; high++) {
        char body[512];
        uint32_t out[256];
        struct ws_model_result result;
        snprintf(body, sizeof body,
                 ".reg .b16 %%h<2>; .reg .f32 %%f<2>; add.u32 %%r2, %%r1, %u; cvt.u16.u32 %%h1, %%r2;\n"
                 "cvt.f32.f16 %%f1, %%h1; mov.b32 %%r10, %%f1;",
                 high << 8);
        run_plain(body, out, 1, 256, &result);
        for (uint32_t low = 0; low < 256; low++) {
            float is, want = value_of_half(high << 8 | low);
            memcpy(&is, &out[low], sizeof is);
            CHECK(isnan(want) ? isnan(is) : is == want && signbit(is) == signbit(want));
        }
    }
}

TEST(vectors_of_four_words_go_to_memory_and_come_back)
{
    uint32_t out[256];
    struct ws_model_result result;
    run_plain("mul.lo.u32 %r2, %r1, 16; cvt.u64.u32 %rd4, %r2; add.s64 %rd5, %rd1, %rd4; mul.lo.u32 %r4, %r1, 10;\n"
              "add.u32 %r5, %r4, 1; add.u32 %r6, %r4, 2; add.u32 %r7, %r4, 3;\n"
              "st.global.v4.u32 [%rd5], {%r4, %r5, %r6, %r7}; st.global.v4.u32 [%rd5], {%r4, %r5, %r6, %r7};\n"
              "ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%rd5]; ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%rd5];\n"
              "mad.lo.u32 %r10, %r11, 7, %r12; mad.lo.u32 %r10, %r10, 7, %r13; mad.lo.u32 %r10, %r10, 7, %r14;",
              out, 1, 32, &result);
    for (uint32_t l = 0; l < 128; l++) {
        uint32_t v = 10 * l;
        CHECK_INT(out[l], l < 32 ? ((v * 7 + v + 1) * 7 + v + 2) * 7 + v + 3 : l / 4 * 10 + l % 4);
    }
    CHECK_INT(result.counts.memory[WS_MODEL_GLOBAL_LD].sectors, 32);
}
