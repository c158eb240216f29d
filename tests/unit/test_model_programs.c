/* SPDX-License-Identifier: MIT
 * test_model_programs.c: kernels as nvcc 13 compiles them (tests/model/ptx, from tests/cudart/programs): calls that
 * cannot be inlined, malloc, grid-wide barriers, clusters, mbarriers, tensor cores. No nvcc is needed. And hostile
 * forms. */
#include "../../analyzer/err.h"
#include "../../collector/model/model.h"
#include "test.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

struct work {
    struct ws_model *model;
    struct ws_model_launch launch;
    struct ws_model_result result;
    uint64_t args[8];
};

static char *read_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n;
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    text = malloc((size_t)n + 1);
    *length = fread(text, 1, (size_t)n, f);
    fclose(f);
    return text;
}

static bool open_text(struct work *w, const char *text, size_t length)
{
    char error[WS_MODEL_ERROR_BYTES];
    int err = ws_model_new(text, length, &w->model, error);
    if (err)
        WS_FAIL("%s", error);
    return err == 0;
}

static bool open_ptx(struct work *w, const char *name)
{
    char path[128];
    size_t length = 0;
    char *text;
    bool is_open;
    memset(w, 0, sizeof *w);
    snprintf(path, sizeof path, "tests/model/ptx/%s.ptx", name);
    text = read_file(path, &length);
    if (!text) {
        WS_FAIL("%s cannot be read", path);
        return false;
    }
    is_open = open_text(w, text, length);
    free(text);
    return is_open;
}

static void *buffer(struct work *w, int arg, uint64_t bytes)
{
    if (ws_model_alloc(w->model, bytes, &w->args[arg]) != 0)
        return NULL;
    return ws_model_at(w->model, w->args[arg], bytes);
}

static int run(struct work *w, const char *kernel, uint32_t grid, uint32_t block)
{
    int err;
    ws_model_result_fini(&w->result);
    err = ws_model_find(w->model, kernel, &w->launch.kernel);
    if (err) {
        WS_FAIL("no kernel %s", kernel);
        return err;
    }
    w->launch.grid[0] = grid;
    w->launch.block[0] = block;
    w->launch.grid[1] = w->launch.grid[2] = w->launch.block[1] = w->launch.block[2] = 1;
    w->launch.params = w->args;
    w->launch.params_bytes = sizeof w->args;
    if (w->launch.max_instructions == 0)
        w->launch.max_instructions = 50000000;
    err = ws_model_run(w->model, &w->launch, &w->result);
    if (err)
        WS_FAIL("%s: %s", kernel, w->result.refusal);
    for (uint32_t k = 0; !err && k < w->result.issues_n; k++)
        printf("    %s\n", w->result.issues[k].text);
    return err;
}

static void done(struct work *w)
{
    ws_model_result_fini(&w->result);
    ws_model_free(w->model);
}

static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

TEST(functions_that_call_themselves)
{
    static const char *const sets[] = {"base", NULL};
    for (int s = 0; s < 2; s++) {
        struct work w;
        int *out;
        REQUIRE(open_ptx(&w, "calls"));
        out = buffer(&w, 0, 64 * sizeof(int32_t));
        w.launch.instructions = sets[s];
        REQUIRE(run(&w, "recursive", 1, 64) == 0);
        for (int i = 0; i < 64; i++)
            CHECK_INT(out[i], fib(i % 13));
        CHECK_INT(w.result.issues_n, 0);
        CHECK_INT(w.result.counts.memory[WS_MODEL_LOCAL_ST].requests, 0); /* frames are no traffic of the text */
        done(&w);
    }
}

static double call_of(int which, double a, int b)
{
    double p = 1;
    for (int k = 0; k < b; k++)
        p *= a;
    return which == 0 ? a + b : which == 1 ? a * b : p;
}

TEST(functions_by_address_from_global_and_constant_memory)
{
    struct work w;
    double *out;
    REQUIRE(open_ptx(&w, "calls"));
    out = buffer(&w, 0, 96 * sizeof(int64_t));
    w.args[1] = 1;
    REQUIRE(run(&w, "pointers", 1, 96) == 0);
    for (int i = 0; i < 96; i++) {
        double v = call_of((i + 1) % 3, 1.0 + i, 3);
        if (i % 4 != 1)
            v += call_of(i & 1 ? 0 : 2, 2.0, i % 6);
        CHECK(out[i] == call_of(i % 5 == 0 ? 1 : 0, v, 2));
    }
    done(&w);
}

TEST(virtual_functions_of_objects_from_the_heap)
{
    struct work w;
    float *out;
    int *destroyed;
    REQUIRE(open_ptx(&w, "calls"));
    out = buffer(&w, 0, 64 * sizeof(int32_t));
    destroyed = buffer(&w, 1, 4);
    REQUIRE(run(&w, "virtuals", 1, 64) == 0);
    for (int i = 0; i < 64; i++)
        CHECK(out[i] == (i % 3 == 0 ? 2.0f : 6.0f) * (float)i * (float)i);
    CHECK_INT(*destroyed, 42);
    done(&w);
}

TEST(malloc_of_kernels_lives_from_launch_to_launch)
{
    struct work w;
    int *out;
    REQUIRE(open_ptx(&w, "calls"));
    out = buffer(&w, 0, 32 * sizeof(int32_t));
    REQUIRE(run(&w, "keep", 1, 32) == 0);
    REQUIRE(run(&w, "take", 1, 32) == 0);
    for (int i = 0; i < 32; i++)
        CHECK_INT(out[i], 7 * i);
    REQUIRE(run(&w, "too_much", 1, 32) == 0);
    CHECK_INT(out[31], 1);
    done(&w);
}

#define HEAP_HEAD                                                                                    \
    HEAD                                                                                             \
        ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n" \
        ".entry k(.param .u64 a) { .reg .b64 %rd<9>; .reg .b32 %r<4>;\n"                             \
        "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 20; call.uni (r), malloc, (n); ld.param.b64 %rd1, [r]; }\n"
#define FREE "{ .param .b64 p; st.param.b64 [p], %rd1; call.uni free, (p); }\n"

static void run_text(struct work *w, const char *text, int want_fatal, const char *says)
{
    memset(w, 0, sizeof *w);
    REQUIRE(open_text(w, text, strlen(text)));
    REQUIRE(run(w, "k", 1, 1) == 0);
    CHECK_INT(w->result.fatal, want_fatal);
    REQUIRE(w->result.issues_n > 0);
    CHECK(strstr(w->result.issues[0].text, says) != NULL);
    done(w);
}

TEST(the_heap_has_exact_bounds)
{
    struct work w;
    run_text(&w, HEAP_HEAD "st.u32 [%rd1+16], 7;\nst.u32 [%rd1+20], 7; ret; }", WS_MODEL_FATAL_ADDRESS, "PTX line 9");
    run_text(&w, HEAP_HEAD FREE "st.u32 [%rd1], 7; ret; }", WS_MODEL_FATAL_ADDRESS, "in the heap of malloc");
    run_text(&w, HEAP_HEAD FREE FREE "ret; }", WS_MODEL_FATAL_ADDRESS, "free of what malloc did not give");
}

TEST(calls_that_lead_nowhere_or_too_deep_end_the_launch)
{
    struct work w;
    run_text(&w,
             HEAD ".func f(.param .b64 x) { ret; }\n.global .u64 t = f;\n"
                  ".entry k(.param .u64 a) { .reg .b64 %rd<3>; mov.u64 %rd1, 4096;\n"
                  "{ .param .b64 p; st.param.b64 [p], 0; proto : .callprototype ()_ (.param .b64 _);\n"
                  "call %rd1, (p), proto; } ret; }",
             WS_MODEL_FATAL_CALL, "no function of this form");
    run_text(&w, /* the form is another one */
             HEAD ".func f(.param .b32 x) { ret; }\n.func g(.param .b64 x) { ret; }\n.global .u64 t[2] = {f, g};\n"
                  ".entry k(.param .u64 a) { .reg .b64 %rd<3>; mov.u64 %rd1, f;\n"
                  "{ .param .b64 p; st.param.b64 [p], 0; proto : .callprototype ()_ (.param .b64 _);\n"
                  "call %rd1, (p), proto; } ret; }",
             WS_MODEL_FATAL_CALL, "no function of this form");
    run_text(&w, HEAD ".func f() {\ncall f, ();\nret; }\n.entry k(.param .u64 a) {\n call f, (); ret; }",
             WS_MODEL_FATAL_STACK, "deeper than the stack");
}

TEST(a_grid_that_waits_for_itself)
{
    enum { N = 16 * 64, STEPS = 5 };
    struct work w;
    int *a, *want = calloc((size_t)N * (STEPS + 1), sizeof *want);
    REQUIRE(want && open_ptx(&w, "together"));
    a = buffer(&w, 0, (size_t)N * (STEPS + 1) * sizeof *want);
    for (int i = 0; i < N; i++)
        a[i] = want[i] = 3 * i;
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < N; i++)
            want[N * (s + 1) + (i + 97) % N] = want[N * s + i] + i;
    w.args[1] = (uint64_t)STEPS << 32 | N;
    w.launch.is_cooperative = true;
    w.launch.threads = 2; /* one team: the second has nothing to do */
    REQUIRE(run(&w, "grid_steps", 16, 64) == 0);
    CHECK(memcmp(a, want, (size_t)N * (STEPS + 1) * sizeof *want) == 0);
    CHECK_INT(w.result.blocks_run, 16);
    CHECK_INT(w.result.counts.barriers, 16 * 2 * 2 * STEPS);
    w.launch.is_cooperative = false; /* cooperative groups trap then */
    w.launch.threads = 1;
    REQUIRE(run(&w, "grid_steps", 16, 64) == 0);
    CHECK_INT(w.result.fatal, WS_MODEL_FATAL_TRAP);
    free(want);
    done(&w);
}

TEST(clusters_share_their_memory)
{
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct work w;
        int *out;
        REQUIRE(open_ptx(&w, "together"));
        out = buffer(&w, 0, (size_t)8 * 64 * sizeof(int32_t));
        w.launch.dynamic_smem_bytes = 65 * 4;
        w.launch.threads = threads;
        w.launch.checks = WS_CHECK_ALL;
        REQUIRE(run(&w, "cluster_ring", 8, 64) == 0);
        for (int b = 0; b < 8; b++)
            for (int t = 0; t < 64; t++)
                CHECK_INT(out[b * 64 + t], 63 - t + 1000 * (b / 4 * 4 + (b + 1) % 4) + (t == 3 ? 2016 : 0));
        CHECK_INT(w.result.issues_n, 0);
        CHECK(w.result.counts.is_assumed[WS_MODEL_SHARED_LD]);
        ws_model_result_fini(&w.result);
        w.launch.grid[0] = 6;
        CHECK_INT(ws_model_run(w.model, &w.launch, &w.result), -WS_EINVAL);
        done(&w);
    }
}

TEST(the_shared_memory_of_a_block_that_is_none_of_the_cluster)
{
    struct work w;
    run_text(&w,
             HEAD ".entry k(.param .u64 a) { .reg .b32 %r<4>; .shared .align 4 .b8 s[64]; mov.u32 %r1, s;\n"
                  "mapa.shared::cluster.u32 %r2, %r1, 3; st.shared::cluster.u32 [%r2], 1; ret; }",
             WS_MODEL_FATAL_ADDRESS, "out of bounds");
    run_text(
        &w,
        HEAD
        ".entry k(.param .u64 a) { .reg .b32 %r<4>; .reg .b64 %rd<3>; .shared .align 8 .b8 s[16]; mov.u32 %r1, s;\n"
        "mbarrier.init.shared.b64 [%r1+4], 1; mbarrier.init.shared.b64 [%r1+16], 1; ret; }",
        WS_MODEL_FATAL_ALIGN, "misaligned");
}

TEST(mbarriers_and_the_copies_that_they_await)
{
    struct work w;
    int *in, *out;
    REQUIRE(open_ptx(&w, "together"));
    out = buffer(&w, 0, 768 * sizeof(int32_t));
    w.launch.checks = WS_CHECK_ALL;
    REQUIRE(run(&w, "block_barrier", 1, 256) == 0);
    for (int i = 0; i < 768; i++)
        CHECK_INT(out[i], (255 - i % 256) * (i / 256 + 1));
    CHECK_INT(w.result.issues_n, 0);
    in = buffer(&w, 0, 512 * sizeof(int32_t));
    out = buffer(&w, 1, 512 * sizeof(int32_t));
    for (int i = 0; i < 512; i++)
        in[i] = i * 11;
    REQUIRE(run(&w, "pipeline_copy", 1, 256) == 0);
    for (int i = 0; i < 512; i++)
        CHECK_INT(out[i], 11 * (i / 256 * 256 + 255 - i % 256));
    CHECK_INT(w.result.issues_n, 0);
    CHECK_INT(w.result.counts.bulk[0], 1);
    done(&w);
}

/* Phases of one barrier, step by step, in one thread. */
TEST(an_mbarrier_counts_arrivals_and_bytes)
{
    struct work w = {0};
    uint32_t *out;
    static const char text[] = HEAD
        ".entry k(.param .u64 a) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .shared .align 8 .b8 s[8];\n"
        "ld.param.u64 %rd1, [a]; mov.u32 %r1, s;\n"
        "mbarrier.init.shared.b64 [%r1], 2;\n"
        "mbarrier.arrive.shared.b64 %rd2, [%r1];\n"
        "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd2; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1], %r2;\n"
        "mbarrier.pending_count.b64 %r2, %rd2; st.global.u32 [%rd1+4], %r2;\n"
        "mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r1], 16;\n" /* all have arrived, 16 bytes have not */
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+8], %r2;\n"
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 16;\n"
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+12], %r2;\n"
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 1; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+16], %r2;\n"
        "mbarrier.arrive_drop.shared.b64 %rd4, [%r1]; mbarrier.arrive.shared.b64 _, [%r1];\n"
        "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd4; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+20], %r2;\n"
        "mbarrier.arrive.shared.b64 %rd4, [%r1];\n" /* of the one that is left */
        "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd4; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+24], %r2;\n"
        "mbarrier.inval.shared.b64 [%r1]; ret; }";
    static const uint32_t want[] = {0, 2, 0, 1, 0, 1, 1};
    REQUIRE(open_text(&w, text, sizeof text - 1));
    out = buffer(&w, 0, 64);
    REQUIRE(run(&w, "k", 1, 1) == 0);
    for (int i = 0; i < 7; i++)
        CHECK_INT(out[i], want[i]);
    CHECK_INT(w.result.issues_n, 0);
    done(&w);
}

TEST(warps_that_wait_for_each_other_take_turns)
{
    struct work w;
    int *out;
    REQUIRE(open_ptx(&w, "together"));
    out = buffer(&w, 0, 32);
    REQUIRE(run(&w, "ping_pong", 1, 64) == 0);
    for (int i = 0; i < 8; i++)
        CHECK_INT(out[i], 10 * (i / 2) + i % 2);
    CHECK_INT(w.result.is_stopped, false);
    done(&w);
}

/* As ptxas -v of nvcc 13.0 has it for these declarations (sm_90): 64, 48, 60 and 288 bytes. */
TEST(static_shared_memory_is_what_ptxas_says)
{
    static const struct {
        const char *body; /* used in another order than declared */
        uint32_t bytes;
    } rows[] = {
        {".shared .align 1 .b8 a[3]; .shared .align 8 .b8 d[16]; .shared .align 2 .b8 s[10]; .shared .align 4 .b8 "
         "f[28];"
         "mov.u32 %r1, f; mov.u32 %r2, s; mov.u32 %r3, d; mov.u32 %r4, a;",
         64},
        {".shared .align 1 .b8 c[5]; .shared .align 16 .b8 v[32]; mov.u32 %r1, v; mov.u32 %r2, c;", 48},
        {".shared .align 4 .b8 a[20]; .shared .align 4 .b8 b[20]; .shared .align 4 .b8 e[20];"
         "mov.u32 %r1, b; mov.u32 %r2, e; mov.u32 %r3, a;",
         60},
        {".shared .align 1 .b8 m[96]; .shared .align 2 .b8 s[192]; mov.u32 %r1, s; mov.u32 %r2, m;", 288},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct work w = {0};
        struct ws_model_shape shape = {0};
        char text[1024];
        snprintf(text, sizeof text, HEAD ".entry k(.param .u64 p) { .reg .b32 %%r<9>; %s ret; }", rows[k].body);
        REQUIRE(open_text(&w, text, strlen(text)));
        CHECK_INT(ws_model_shape(w.model, 0, &shape), 0);
        CHECK_INT(shape.static_smem_bytes, rows[k].bytes);
        done(&w);
    }
}

/* --- tensor cores --- */

static int small(uint32_t i)
{
    return (int)(i * 2654435761u >> 28) - 7;
}

static uint16_t half_of(int v) /* -8 to 8 */
{
    uint16_t bits = 0;
    int a = v < 0 ? -v : v, e = 0;
    if (a == 0)
        return 0;
    while (a >> (e + 1))
        e++;
    bits = (uint16_t)((e + 15) << 10 | ((a << (10 - e)) & 0x3ff));
    return (uint16_t)(bits | (v < 0 ? 0x8000 : 0));
}

TEST(mma_of_halves_by_its_layout)
{
    struct work w;
    uint16_t *a, *b;
    float *c;
    REQUIRE(open_ptx(&w, "matrices"));
    a = buffer(&w, 0, 512);
    b = buffer(&w, 1, 256);
    c = buffer(&w, 2, 512);
    for (uint32_t i = 0; i < 256; i++)
        a[i] = half_of(small(i));
    for (uint32_t i = 0; i < 128; i++) {
        b[i] = half_of(small(i + 999));
        c[i] = 3;
    }
    REQUIRE(run(&w, "mma_f16", 1, 32) == 0);
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t n = 0; n < 8; n++) {
            int sum = 3;
            for (uint32_t k = 0; k < 16; k++)
                sum += small(r * 16 + k) * small(n * 16 + k + 999);
            CHECK(c[r * 8 + n] == (float)sum);
        }
    CHECK_INT(w.result.counts.tensor[1], 2 * 16 * 8 * 16); /* FP16 into FP32 */
    done(&w);
}

TEST(mma_of_bytes_nibbles_and_bits)
{
    struct work w;
    int8_t *a, *b;
    uint32_t *wa, *wb;
    int *c, *d;
    REQUIRE(open_ptx(&w, "matrices"));
    a = buffer(&w, 0, 512);
    b = buffer(&w, 1, 256);
    c = buffer(&w, 2, 512);
    for (uint32_t i = 0; i < 512; i++)
        a[i] = (int8_t)(small(i) * 15);
    for (uint32_t i = 0; i < 256; i++)
        b[i] = (int8_t)(small(i + 9) * -13);
    REQUIRE(run(&w, "mma_s8", 1, 32) == 0);
    for (uint32_t at = 0; at < 128; at++) {
        int sum = 0;
        for (uint32_t k = 0; k < 32; k++)
            sum += a[at / 8 * 32 + k] * b[at % 8 * 32 + k];
        CHECK_INT(c[at], sum);
    }
    CHECK_INT(w.result.counts.tensor[7], 2 * 16 * 8 * 32);
    wa = buffer(&w, 0, 512);
    wb = buffer(&w, 1, 256);
    d = buffer(&w, 3, 512);
    for (uint32_t i = 0; i < 128; i++)
        wa[i] = i * 2654435761u + 17;
    for (uint32_t i = 0; i < 64; i++)
        wb[i] = i * 2246822519u + 5;
    REQUIRE(run(&w, "mma_packed", 1, 32) == 0);
    for (uint32_t at = 0; at < 128; at++) {
        int sum = 0, bits = 0;
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t x = wa[at / 8 * 8 + k], y = wb[at % 8 * 8 + k];
            bits += __builtin_popcount(x ^ y);
            for (int e = 0; e < 8; e++)
                sum += ((int)(x << (28 - 4 * e)) >> 28) * (int)(y >> (4 * e) & 15);
        }
        CHECK_INT(c[at], sum);
        CHECK_INT(d[at], bits);
    }
    CHECK_INT(w.result.counts.tensor[8], 2 * 16 * 8 * 64);
    CHECK_INT(w.result.counts.tensor[9], 2 * 16 * 8 * 256);
    done(&w);
}

TEST(ldmatrix_movmatrix_stmatrix_agree)
{
    struct work w;
    uint16_t *a, *b, *c;
    REQUIRE(open_ptx(&w, "matrices"));
    a = buffer(&w, 0, 512);
    b = buffer(&w, 1, 256);
    c = buffer(&w, 2, 256);
    for (uint32_t i = 0; i < 256; i++)
        a[i] = half_of(i % 17 == 0 ? 2 : 0);
    for (uint32_t i = 0; i < 128; i++)
        b[i] = half_of(small(i) / 2);
    w.launch.checks = WS_CHECK_ALL;
    REQUIRE(run(&w, "mma_ldmatrix", 1, 32) == 0);
    for (uint32_t r = 0; r < 16; r++) /* twice the identity: B comes back, turned */
        for (uint32_t n = 0; n < 8; n++)
            CHECK_INT(c[r * 8 + n], half_of(2 * (small(n * 16 + r) / 2)));
    CHECK_INT(w.result.issues_n, 0);
    CHECK(!w.result.counts.is_assumed[WS_MODEL_SHARED_LD]);
    done(&w);
}

TEST(wmma_products_in_every_instruction_set)
{
    static const char *const sets[] = {"base", "v3", "v4"};
    for (int s = 0; s < 3; s++) {
        struct work w;
        int8_t *a, *b;
        int *c;
        int err;
        REQUIRE(open_ptx(&w, "matrices"));
        a = buffer(&w, 0, 1600);
        b = buffer(&w, 1, 1600);
        c = buffer(&w, 2, 6400);
        for (uint32_t i = 0; i < 1600; i++) {
            a[i] = (int8_t)small(i);
            b[i] = (int8_t)small(i + 5);
            c[i] = small(i + 77);
        }
        w.args[3] = 40ull << 32 | 40;
        w.args[4] = 40; /* rows */
        w.launch.instructions = sets[s];
        w.launch.checks = WS_CHECK_ALL;
        w.launch.block[0] = 32;
        REQUIRE(ws_model_find(w.model, "_Z7productIaaiLi16ELi16ELi16E", &w.launch.kernel) == 0);
        w.launch.grid[0] = w.launch.grid[1] = w.launch.grid[2] = w.launch.block[1] = w.launch.block[2] = 1;
        w.launch.params = w.args;
        w.launch.params_bytes = sizeof w.args;
        err = ws_model_run(w.model, &w.launch, &w.result);
        if (err == -WS_EINVAL) { /* this machine or build lacks the set */
            done(&w);
            continue;
        }
        REQUIRE(err == 0);
        for (uint32_t r = 0; r < 16; r++)
            for (uint32_t n = 0; n < 16; n++) {
                int sum = small(r * 40 + n + 77);
                for (uint32_t k = 0; k < 16; k++)
                    sum += a[r * 40 + k] * b[n * 40 + k];
                CHECK_INT(c[r * 40 + n], 2 * sum);
            }
        CHECK_INT(w.result.counts.tensor[7], 2 * 16 * 16 * 16);
        CHECK_INT(w.result.issues_n, 0);
        CHECK(w.result.counts.is_assumed[WS_MODEL_GLOBAL_LD] && w.result.counts.is_assumed[WS_MODEL_GLOBAL_ST]);
        done(&w);
    }
}

/* A shape, a type or a number of registers that does not belong together must not reach the arithmetic. */
TEST(matrix_forms_that_do_not_fit_are_refused)
{
    static const char *const bodies[] = {
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r1,%r2}, {%f1,%f2,%f3,%f4};",
        "mma.sync.aligned.m64n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
        "{%f1,%f2,%f3,%f4};",
        "mma.sync.aligned.m16n8k256.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
        "{%r1,%r2,%r3,%r4};",
        "mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
        "{%f1,%f2,%f3,%f4};",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2}, {%r1,%r2}, {%r1,%r2}, {%f1,%f2};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r1,%r2}, "
        "{%f1,%f2,%f3,%f4}, %r1, 0;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.s8.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
        "{%f1,%f2,%f3,%f4};",
        "wmma.load.a.sync.aligned.row.m8n8k1.f64 {%d1}, [%rd1], %r1;",
        "wmma.load.a.sync.aligned.row.m200n8k16.f16 {%r1}, [%rd1], %r1;",
        "wmma.load.c.sync.aligned.row.m16n16k16.f32 {%f1,%f2,%f3,%f4}, [%rd1], %r1;",
        "wmma.load.b.sync.aligned.row.m8n8k32.s4 {%r1}, [%rd1], %r1;",
        "wmma.store.a.sync.aligned.row.m16n16k16.f32 [%rd1], {%f1,%f2,%f3,%f4}, %r1;",
        "stmatrix.sync.aligned.m8n8.x3.shared.b16 [%r1], {%r1,%r2,%r3};",
        "movmatrix.sync.aligned.m8n8.b16 %r1, %r2;",
        "mbarrier.init.shared.b64 [%r1], 1, 2;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], "
        "[%r4];",
        "wgmma.wait_group.sync.aligned 0;",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        struct work w = {0};
        char text[1024];
        uint32_t kernel;
        snprintf(
            text, sizeof text,
            HEAD
            ".entry k(.param .u64 a) { .reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .f64 %%d<9>; .reg .b64 %%rd<9>;\n%s\n"
            "ret; }",
            bodies[k]);
        REQUIRE(open_text(&w, text, strlen(text)));
        REQUIRE(ws_model_find(w.model, "k", &kernel) == 0);
        w.launch =
            (struct ws_model_launch){.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = w.args, .params_bytes = 8};
        if (ws_model_run(w.model, &w.launch, &w.result) != -WS_EUNSUP || !strstr(w.result.refusal, "k: line 5: '"))
            WS_FAIL("not refused by line: %s (%s)", bodies[k], w.result.refusal);
        done(&w);
    }
}
