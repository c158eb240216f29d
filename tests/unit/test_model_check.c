/* SPDX-License-Identifier: MIT
 * test_model_check.c: each check of the SIMT model finds its seeded bug at its line, thread and allocation, and says
 * nothing about the same kernel without the bug. PTX is written here by hand. */
#include "../../analyzer/err.h"
#include "../../collector/model/model.h"
#include "test.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"bug.cu\"\n"
/* %r1 = tid, %rd3 = &out[tid], %rd5 = &in[tid], %r4 = &tile[tid], %r2 = tid + 1 */
#define BEGIN                                                                               \
    HEAD ".visible .entry k(.param .u64 k_out, .param .u64 k_in) {\n"                       \
         ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"        \
         ".shared .align 4 .b8 tile[512];\n"                                                \
         "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [k_out]; ld.param.u64 %rd2, [k_in];\n"    \
         "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd3, %rd1, %rd4; add.s64 %rd5, %rd2, %rd4;\n" \
         "mov.u32 %r3, tile; shl.b32 %r5, %r1, 2; add.u32 %r4, %r3, %r5; add.u32 %r2, %r1, 1;\n"
#define AT77 "\n.loc 1 77 3\n"
#define END "\nret; }\n"

struct found {
    struct ws_model_result result;
    char text[sizeof(((struct ws_model_issue *)0)->text)]; /* of the first issue */
};

/* 2 blocks of 64 threads, checks of uninit and races. out and in have 512 bytes, in is not written. */
static void check_ptx_at(const char *body, uint32_t workers, uint32_t epoch, struct found *f)
{
    char text[8192], error[WS_MODEL_ERROR_BYTES];
    struct ws_model *m = NULL;
    uint64_t args[2];
    struct ws_model_launch l = {.grid = {2, 1, 1}, .block = {64, 1, 1}, .threads = workers, .test_epoch = epoch};
    memset(f, 0, sizeof *f);
    snprintf(text, sizeof text, "%s%s%s", BEGIN, body, END);
    if (ws_model_new(text, strlen(text), &m, error) != 0) {
        WS_FAIL("%s", error);
        return;
    }
    ws_model_alloc(m, 512, &args[0]);
    ws_model_alloc(m, 512, &args[1]);
    ws_model_label(m, args[1], "points");
    CHECK_INT(ws_model_undefine(m, args[1]), 0);
    l.params = args;
    l.params_bytes = sizeof args;
    l.checks = WS_CHECK_ALL;
    CHECK_INT(ws_model_run(m, &l, &f->result), 0);
    if (f->result.issues_n > 0)
        snprintf(f->text, sizeof f->text, "%s", f->result.issues[0].text);
    ws_model_result_fini(&f->result);
    ws_model_free(m);
}

static void check_ptx(const char *body, struct found *f)
{
    check_ptx_at(body, 1, 0, f);
}

struct seeded {
    const char *what;
    const char *body;
    unsigned check; /* 0: nothing to find */
    bool is_hint;
    uint64_t count;
    const char *says[4]; /* in the text */
};

static const struct seeded seeded[] = {
    {"global memory that nobody wrote",
     AT77 "ld.global.u32 %r6, [%rd5]; st.global.u32 [%rd3], %r6;",
     WS_CHECK_UNINIT,
     false,
     128,
     {"k: read of memory that nobody wrote: ld.global.u32", "bug.cu:77", "block (0,0,0), thread (0,0,0)",
      "byte 0 of points (512 bytes)"}},
    {"global memory that the thread wrote", "st.global.u32 [%rd5], %r1; ld.global.u32 %r6, [%rd5];", 0, false, 0, {0}},
    {"an atomic on what nobody wrote, by half of the threads",
     "setp.lt.u32 %p1, %r1, 32;" AT77 "@%p1 atom.global.add.u32 %r6, [%rd5], 1; st.global.u32 [%rd3], %r6;",
     WS_CHECK_UNINIT,
     false,
     32,
     {"atom.global.add.u32", "bug.cu:77", "thread (0,0,0)"}},
    {"the upper half of 8 bytes",
     "and.b32 %r7, %r1, 1; setp.eq.u32 %p1, %r7, 0; @%p1 st.global.u32 [%rd5], %r1;" AT77
     "@%p1 ld.global.u64 %rd6, [%rd5];",
     WS_CHECK_UNINIT,
     false,
     64,
     {"ld.global.u64", "bug.cu:77"}},
    {"shared memory that nobody wrote",
     AT77 "ld.shared.u32 %r6, [%r4]; st.global.u32 [%rd3], %r6;",
     WS_CHECK_UNINIT,
     false,
     128,
     {"ld.shared.u32", "bug.cu:77", "byte 0 of tile (512 bytes)", "offset 0 of 512 bytes"}},
    {"shared memory of the block before",
     "mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r8, 0; @%p1 st.shared.u32 [%r4], %r1;" AT77 "ld.shared.u32 %r6, [%r4];",
     WS_CHECK_UNINIT,
     false,
     64,
     {"block (1,0,0)"}},
    {"a read of what another warp writes",
     "st.shared.u32 [%r4], %r1; xor.b32 %r7, %r5, 128; add.u32 %r7, %r7, %r3;" AT77 "ld.shared.u32 %r6, [%r7];",
     WS_CHECK_UNINIT,
     false,
     64,
     {"nobody wrote", "bug.cu:77"}}, /* warp 0 reads before warp 1 has run */
    {"the same with a barrier",
     "st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r7, %r5, 128; add.u32 %r7, %r7, %r3; ld.shared.u32 %r6, [%r7];",
     0,
     false,
     0,
     {0}},
    {"a write of what another warp reads",
     "st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r7, %r5, 128; add.u32 %r7, %r7, %r3; "
     "setp.ge.u32 %p1, %r1, 32; @!%p1 ld.shared.u32 %r6, [%r7];" AT77 "@%p1 st.shared.u32 [%r4], %r2;",
     WS_CHECK_RACES,
     false,
     64,
     {"race, write after read: st.shared.u32", "bug.cu:77", "thread (32,0,0)",
      "thread (0,0,0) read it, a barrier between is missing"}},
    {"the same with a barrier",
     "st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r7, %r5, 128; add.u32 %r7, %r7, %r3; ld.shared.u32 %r6, [%r7]; "
     "bar.sync 0; st.shared.u32 [%r4], %r6;",
     0,
     false,
     0,
     {0}},
    {"two warps write one word",
     AT77 "setp.eq.u32 %p1, %r5, 0; xor.b32 %r7, %r5, 128; setp.eq.u32 %p2, %r7, 0; or.pred %p1, %p1, %p2; @%p1 "
          "st.shared.u32 [tile+8], %r2;",
     WS_CHECK_RACES,
     false,
     2,
     {"race, two writes", "byte 8 of tile", "thread (32,0,0)", "thread (0,0,0) wrote it"}},
    {"all write the same value", "st.shared.u32 [tile], 5;", 0, false, 0, {0}},
    {"lanes of one store disagree",
     AT77 "st.shared.u32 [tile], %r1;",
     WS_CHECK_RACES,
     true,
     0,
     {"race, two writes", "__syncwarp() between is missing"}},
    {"a neighbour lane's word without __syncwarp",
     "st.shared.u32 [%r4], %r1; xor.b32 %r7, %r5, 4; add.u32 %r7, %r7, %r3;" AT77 "ld.shared.u32 %r6, [%r7];",
     WS_CHECK_RACES,
     true,
     128,
     {"race, read after write", "thread (1,0,0) wrote it, __syncwarp() between is missing"}},
    {"the same with __syncwarp",
     "st.shared.u32 [%r4], %r1; xor.b32 %r7, %r5, 4; add.u32 %r7, %r7, %r3; bar.warp.sync -1; ld.shared.u32 %r6, "
     "[%r7];",
     0,
     false,
     0,
     {0}},
    {"atomics of all threads",
     "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [tile], 0; bar.sync 0; red.shared.add.u32 [tile], %r2; bar.sync 0; "
     "ld.shared.u32 %r6, [tile];",
     0,
     false,
     0,
     {0}},
    {"a plain read beside atomics",
     "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [tile], 0; bar.sync 0; red.shared.add.u32 [tile], %r2;" AT77
     "ld.shared.u32 %r6, [tile];",
     WS_CHECK_RACES,
     true, /* the first lane meets its own warp's atomics; what warp 0 misses of warp 1's comes second */
     0,
     {"race, read after write: ld.shared.u32", "bug.cu:77"}},
    {"bytes beside each other",
     "add.u32 %r7, %r3, %r1; st.shared.u8 [%r7], %r2; bar.sync 0; ld.shared.u8 %r6, [%r7]; st.shared.u8 [%r7], %r6;",
     0,
     false,
     0,
     {0}},
    {"an asynchronous copy that another warp reads",
     "st.global.u32 [%rd5], %r1; cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.wait_all; bar.warp.sync -1; "
     "setp.ge.u32 %p1, %r1, 32; xor.b32 %r7, %r5, 128; add.u32 %r7, %r7, %r3;" AT77 "@%p1 ld.shared.u32 %r6, [%r7];",
     WS_CHECK_RACES,
     false,
     64,
     {"race, read after write: ld.shared.u32", "bug.cu:77"}},
    {"past the end",
     AT77 "st.global.u32 [%rd5+508], %r6;",
     WS_CHECK_BOUNDS,
     false,
     126,
     {"access out of bounds", "bug.cu:77", "thread (1,0,0)", "0 bytes past points (512 bytes)"}},
    {"past the end of shared memory",
     AT77 "st.shared.u32 [%r4+260], %r1;",
     WS_CHECK_BOUNDS,
     false,
     0,
     {"access out of bounds"}},
    {"misaligned",
     AT77 "ld.param.u64 %rd6, [k_out]; ld.global.u32 %r6, [%rd6+2];",
     WS_CHECK_ALIGN,
     false,
     128,
     {"misaligned access", "bug.cu:77"}},
    {"a barrier for half of a warp",
     "and.b32 %r7, %r1, 1; setp.eq.u32 %p1, %r7, 0; @%p1 bra SKIP;" AT77 "bar.sync 0; SKIP:",
     WS_CHECK_BARRIER,
     false,
     0,
     {"barrier reached by a part", "bug.cu:77"}},
    {"a barrier that waits for more threads than there are",
     AT77 "bar.sync 1, 96;",
     WS_CHECK_BARRIER,
     false,
     2,
     {"never completes", "bug.cu:77", "block (0,0,0)"}},
};

static bool is_expected(const struct seeded *s, const struct found *f)
{
    const struct ws_model_issue *issue = &f->result.issues[0];
    if (s->check == 0)
        return f->result.issues_n == 0;
    if (f->result.issues_n == 0 || issue->check != s->check || issue->is_hint != s->is_hint)
        return false;
    for (int k = 0; k < 4; k++)
        if (s->says[k] && !strstr(f->text, s->says[k]))
            return false;
    return s->count == 0 || issue->count == s->count;
}

TEST(seeded_bugs_are_found_at_their_place_and_clean_twins_are_clean)
{
    for (size_t k = 0; k < sizeof seeded / sizeof *seeded; k++) {
        struct found f;
        check_ptx(seeded[k].body, &f);
        if (!is_expected(&seeded[k], &f))
            WS_FAIL("%s: %u issues, %lu times: %s", seeded[k].what, f.result.issues_n,
                    (unsigned long)f.result.issues[0].count, f.text);
    }
}

/* Blocks run in any order on several workers: the text is that of the first block in the order of the grid. */
TEST(the_first_block_is_named_whatever_the_workers)
{
    struct found one, two;
    check_ptx_at(seeded[4].body, 1, 0, &one);
    check_ptx_at(seeded[4].body, 2, 0, &two);
    CHECK_STR(one.text, two.text);
    CHECK_INT(one.result.issues[0].count, two.result.issues[0].count);
}

/* The number of intervals between barriers is 32 bits; when it is used up, nothing is forgotten or invented. */
TEST(intervals_wrap_around)
{
    static const char *const clean =
        "st.shared.u32 [%r4], %r1; mov.u32 %r9, 0; L: bar.sync 0; xor.b32 %r7, %r5, 128; "
        "add.u32 %r7, %r7, %r3; ld.shared.u32 %r6, [%r7]; bar.sync 0; "
        "st.shared.u32 [%r4], %r6; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 6; @%p1 bra L;";
    static const char *const racy =
        "st.shared.u32 [%r4], %r1; mov.u32 %r9, 0; L: bar.sync 0; xor.b32 %r7, %r5, 128; "
        "add.u32 %r7, %r7, %r3; ld.shared.u32 %r6, [%r7]; "
        "st.shared.u32 [%r4], %r9; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 6; @%p1 bra L;";
    for (uint32_t back = 0; back < 16; back++) {
        struct found f;
        check_ptx_at(clean, 1, UINT32_MAX - back, &f);
        if (f.result.issues_n > 0)
            WS_FAIL("%u intervals before the last: %s", back, f.text);
        check_ptx_at(racy, 1, UINT32_MAX - back, &f);
        CHECK_INT(f.result.issues[0].check, WS_CHECK_RACES);
        /* warp 1 writes what warp 0 has read, warp 0 no more than that: 6 turns of 32 lanes in 2 blocks, the first
         * store of a value that differs */
        CHECK(f.result.issues[0].count >= 64);
    }
}

TEST(what_an_unchecked_launch_wrote_counts_as_written)
{
    static const char ptx[] = BEGIN "ld.global.u32 %r6, [%rd5];" END;
    char error[WS_MODEL_ERROR_BYTES];
    struct ws_model_result result;
    struct ws_model *m = NULL;
    uint64_t args[2];
    struct ws_model_launch l = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .params = args, .params_bytes = sizeof args};
    REQUIRE(ws_model_new(ptx, strlen(ptx), &m, error) == 0);
    ws_model_alloc(m, 512, &args[0]);
    ws_model_alloc(m, 512, &args[1]);
    CHECK_INT(ws_model_undefine(m, args[1] + 4), -WS_ENOENT);
    ws_model_undefine(m, args[1]);
    ws_model_define(m, args[1], 128);
    l.checks = WS_CHECK_UNINIT;
    REQUIRE(ws_model_run(m, &l, &result) == 0);
    CHECK_INT(result.issues_n, 1);
    CHECK_INT(result.issues[0].count, 32);
    CHECK(strstr(result.issues[0].text, "thread (32,0,0)") != NULL);
    ws_model_result_fini(&result);
    l.checks = 0;
    REQUIRE(ws_model_run(m, &l, &result) == 0);
    CHECK_INT(result.issues_n, 0);
    ws_model_result_fini(&result);
    l.checks = WS_CHECK_UNINIT;
    REQUIRE(ws_model_run(m, &l, &result) == 0);
    CHECK_INT(result.issues_n, 0);
    ws_model_result_fini(&result);
    ws_model_free(m);
}

TEST(lists_of_checks_are_read)
{
    unsigned checks = 99;
    CHECK_INT(ws_model_check_parse("bounds", &checks), 0);
    CHECK_INT(checks, WS_CHECK_BOUNDS);
    CHECK_INT(ws_model_check_parse("races,uninit", &checks), 0);
    CHECK_INT(checks, WS_CHECK_RACES | WS_CHECK_UNINIT);
    CHECK_INT(ws_model_check_parse("all", &checks), 0);
    CHECK_INT(checks, WS_CHECK_ALL);
    CHECK_INT(ws_model_check_parse("race", &checks), -WS_EINVAL);
    CHECK_INT(ws_model_check_parse("", &checks), -WS_EINVAL);
    CHECK_INT(ws_model_check_parse("races,", &checks), -WS_EINVAL);
    CHECK_INT(ws_model_check_parse("trap", &checks), -WS_EINVAL);
    CHECK_INT(checks, WS_CHECK_ALL);
}
