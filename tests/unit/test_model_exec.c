/* SPDX-License-Identifier: MIT
 * test_model_exec.c: opcodes lane by lane, control flow, faults, refusals; all instruction sets and numbers of
 * workers must agree bit for bit. PTX is written here by hand. */
#include "../../analyzer/err.h"
#include "../../collector/model/model.h"
#include "test.h"

#include <math.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* A kernel with an output array and an input array of 32-bit words; %r1 = tid, %rd3 = &out[tid], %r2 = in[tid]. */
#define BEGIN                                                                                                  \
    HEAD ".visible .entry k(.param .u64 k_out, .param .u64 k_in) {\n"                                          \
         ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .f32 %f<16>; .reg .f64 %d<16>; .reg .b64 " \
         "%rd<24>;\n"
#define LOAD                                                                           \
    "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [k_out]; ld.param.u64 %rd2, [k_in];\n"    \
    "cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;\n"                  \
    "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd3, %rd1, %rd4; add.s64 %rd5, %rd2, %rd4;\n" \
    "ld.global.u32 %r2, [%rd5];\n"
#define KERNEL(regs, body) BEGIN regs LOAD body "\nret; }\n"
#define OUT32(reg) "st.global.u32 [%rd3], " reg ";"

/* The same with a body that is not known at compile time; end: after it. */
static const char *kernel_text(const char *regs, const char *body, const char *end)
{
    static char text[8192];
    snprintf(text, sizeof text, "%s%s%s%s%s\nret; }\n", BEGIN, regs, LOAD, body, end);
    return text;
}

struct run {
    uint32_t in[1024], out[1024];
    struct ws_model_result result;
    int err;
};

static const char *instruction_set;
static uint32_t workers;

static void run_ptx(const char *ptx, struct run *r, uint32_t blocks, uint32_t threads)
{
    char error[WS_MODEL_ERROR_BYTES];
    struct ws_model *m = NULL;
    uint64_t args[2] = {0, 0};
    struct ws_model_launch l = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
    r->err = ws_model_new(ptx, strlen(ptx), &m, error);
    if (r->err) {
        WS_FAIL("%s", error);
        return;
    }
    ws_model_alloc(m, sizeof r->out, &args[0]);
    ws_model_alloc(m, sizeof r->in, &args[1]);
    memcpy(ws_model_at(m, args[1], sizeof r->in), r->in, sizeof r->in);
    l.params = args;
    l.params_bytes = sizeof args;
    l.instructions = instruction_set;
    l.threads = workers;
    l.max_instructions = 10000000;
    r->err = ws_model_run(m, &l, &r->result);
    if (r->err == 0)
        memcpy(r->out, ws_model_at(m, args[0], sizeof r->out), sizeof r->out);
    ws_model_result_fini(&r->result);
    ws_model_free(m);
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

struct lane_case {
    const char *body; /* %r2 → %r3 */
    uint32_t in, out;
};

/* Each row: what an instruction makes of one word. */
static const struct lane_case lane_cases[] = {
    {"add.u32 %r3, %r2, -1;", 0, 0xffffffffu},
    {"mul.hi.s32 %r3, %r2, %r2;", 0x80000000u, 0x40000000u},
    {"mul.hi.u32 %r3, %r2, %r2;", 0xffffffffu, 0xfffffffeu},
    {"mad.lo.s32 %r3, %r2, 3, 4;", 5, 19},
    {"div.s32 %r3, %r2, -1;", 0x80000000u, 0x80000000u},
    {"div.u32 %r3, %r2, 7;", 50, 7},
    {"rem.s32 %r3, %r2, 7;", (uint32_t)-50, (uint32_t)-1},
    {"shl.b32 %r3, %r2, 32;", 5, 0},
    {"shl.b32 %r3, %r2, 31;", 3, 0x80000000u},
    {"shr.s32 %r3, %r2, 99;", 0x80000000u, 0xffffffffu},
    {"shr.u32 %r3, %r2, 99;", 0x80000000u, 0},
    {"shf.l.wrap.b32 %r3, %r2, 1, 4;", 0xf0000000u, 0x1fu},
    {"shf.r.clamp.b32 %r3, %r2, 1, 40;", 0xf0000000u, 1},
    {"popc.b32 %r3, %r2;", 0xf0f0f0f0u, 16},
    {"clz.b32 %r3, %r2;", 0, 32},
    {"clz.b32 %r3, %r2;", 0x00010000u, 15},
    {"brev.b32 %r3, %r2;", 0x00000006u, 0x60000000u},
    {"bfind.u32 %r3, %r2;", 0x00010000u, 16},
    {"bfind.s32 %r3, %r2;", 0xffff0000u, 15},
    {"bfind.u32 %r3, %r2;", 0, 0xffffffffu},
    {"bfe.u32 %r3, %r2, 4, 8;", 0x12345678u, 0x67},
    {"bfe.s32 %r3, %r2, 28, 8;", 0xf2345678u, 0xffffffffu},
    {"bfi.b32 %r3, %r2, 0, 8, 8;", 0xabcd, 0xcd00},
    {"prmt.b32 %r3, %r2, 0, 0x0123;", 0x11223344u, 0x44332211u},
    {"fns.b32 %r3, %r2, 0, 3;", 0x000000b4u, 5},
    {"fns.b32 %r3, %r2, 7, -2;", 0x000000b4u, 5},
    {"fns.b32 %r3, %r2, 4, 0;", 0x000000b4u, 4},
    {"fns.b32 %r3, %r2, 3, 0;", 0x000000b4u, 0xffffffffu},
    {"fns.b32 %r3, %r2, 5, 3;", 0x000000b4u, 0xffffffffu},
    {"fns.b32 %r3, %r2, 32, 1;", 0x000000b4u, 0xffffffffu},
    {"prmt.b32 %r3, %r2, 0, 0xbbbb;", 0x81223344u, 0xffffffffu},
    {"lop3.b32 %r3, %r2, 0x0f, 0xf0, 0x96;", 0xaa, 0xaa ^ 0xff},
    {"min.s32 %r3, %r2, 1;", 0xffffffffu, 0xffffffffu},
    {"min.u32 %r3, %r2, 1;", 0xffffffffu, 1},
    {"abs.s32 %r3, %r2;", 0x80000000u, 0x80000000u},
    {"neg.s32 %r3, %r2;", 5, (uint32_t)-5},
    {"not.b32 %r3, %r2;", 5, ~5u},
    {"cnot.b32 %r3, %r2;", 0, 1},
    {"add.sat.s32 %r3, %r2, 1;", 0x7fffffffu, 0x7fffffffu},
    {"mul24.lo.u32 %r3, %r2, 2;", 0xff000003u, 6},
    {"sad.u32 %r3, %r2, 10, 100;", 3, 107},
    {"dp4a.u32.u32 %r3, %r2, %r2, 1;", 0x01020304u, 1 + 1 + 4 + 9 + 16},
    {"dp2a.lo.u32.u32 %r3, %r2, 0x01020304, 7;", 0xffff0002u, 7 + 65535 * 3 + 2 * 4},
    {"dp2a.hi.s32.s32 %r3, %r2, 0xfe030405, 7;", 0xffff0002u, 7 + 2 + 2 * 3},
    {"dp2a.lo.u32.s32 %r3, %r2, 0x0102fe04, 7;", 0xffff0002u, 7u - 2u * 65535 + 2 * 4},
    {"dp2a.hi.s32.u32 %r3, %r2, 0xfe030405, 300;", 0xffff0002u, 300 - 254 + 2 * 3},
    {"setp.lt.u32 %p1, %r2, 5; selp.b32 %r3, 1, 0, %p1;", 5, 0},
    {"setp.lt.s32 %p1, %r2, 5; selp.b32 %r3, 1, 0, %p1;", 0xffffffffu, 1},
    {"set.gt.u32.u32 %r3, %r2, 5;", 6, 0xffffffffu},
    {"slct.b32.s32 %r3, 7, 8, %r2;", 0xffffffffu, 8},
    {"setp.eq.s32 %p1, %r2, 3; not.pred %p2, %p1; and.pred %p3, %p1, !%p2; selp.b32 %r3, 1, 0, %p3;", 3, 1},
    {"setp.ne.or.s32 %p1|%p2, %r2, 3, %p5; selp.b32 %r3, 1, 2, %p2;", 3, 1},
    {"cvt.u16.u32 %h1, %r2; cvt.u32.u16 %r3, %h1;", 0x12345678u, 0x5678},
    {"cvt.u16.u32 %h1, %r2; cvt.s32.s16 %r3, %h1;", 0x1234f678u, 0xfffff678u},
    {"cvt.s32.s8 %r3, %r2;", 0x80, 0xffffff80u},
    {"cvt.u16.u32 %h1, %r2; add.s16 %h1, %h1, 1; cvt.u32.u16 %r3, %h1;", 0xffff, 0},
    {"cvt.u16.u32 %h1, %r2; mul.wide.s16 %r3, %h1, %h1;", 0x8000, 0x40000000u},
    {"cvt.rn.f32.s32 %f1, %r2; mov.b32 %r3, %f1;", 0xffffffffu, 0xbf800000u},
    {"cvt.rn.f32.u32 %f1, %r2; mov.b32 %r3, %f1;", 0xffffffffu, 0x4f800000u},
    {"cvt.rz.f32.u32 %f1, %r2; mov.b32 %r3, %f1;", 0xffffffffu, 0x4f7fffffu},
    {"mov.b32 %f1, %r2; cvt.rzi.s32.f32 %r3, %f1;", 0x7fc00000u, 0},
    {"mov.b32 %f1, %r2; cvt.rzi.s32.f32 %r3, %f1;", 0x7f800000u, 0x7fffffffu},
    {"mov.b32 %f1, %r2; cvt.rzi.u32.f32 %r3, %f1;", 0xbf800000u, 0},
    {"mov.b32 %f1, %r2; cvt.rni.s32.f32 %r3, %f1;", 0x40200000u, 2}, /* 2.5 to even */
    {"mov.b32 %f1, %r2; cvt.rpi.f32.f32 %f2, %f1; mov.b32 %r3, %f2;", 0x40200000u, 0x40400000u},
    {"mov.b32 %f1, %r2; cvt.sat.f32.f32 %f2, %f1; mov.b32 %r3, %f2;", 0xc0200000u, 0},
    {"mov.b32 %f1, %r2; cvt.rn.f16.f32 %h1, %f1; cvt.u32.u16 %r3, %h1;", 0x3f800000u, 0x3c00},
    {"mov.b32 %f1, %r2; cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f2, %h1; mov.b32 %r3, %f2;", 0x477fe000u, 0x477fe000u},
    {"mov.b32 %f1, %r2; cvt.rn.bf16.f32 %h1, %f1; cvt.u32.u16 %r3, %h1;", 0x3f808001u, 0x3f81},
    {"mov.b32 %f1, %r2; cvt.rn.f16x2.f32 %r3, %f1, 0f3F800000;", 0x40000000u, 0x40003c00u},
    {"set.eq.f16x2.f16x2 %r3, %r2, 0x3c003c00;", 0x3c004000u, 0x3c000000u},
    {"set.ne.f16x2.f16x2 %r3, %r2, 0x3c003c00;", 0x7e004000u, 0x00003c00u}, /* a NaN is not unequal, but: */
    {"set.neu.f16x2.f16x2 %r3, %r2, 0x3c003c00;", 0x7e003c00u, 0x3c000000u},
    {"set.ge.bf16x2.bf16x2 %r3, %r2, 0x3f803f80;", 0x40003f00u, 0x3f800000u},
    {"add.u16x2 %r3, %r2, 0x00010001;", 0xffff0005u, 0x00000006u},
    {"min.s16x2 %r3, %r2, 0x00010001;", 0xffff0005u, 0xffff0001u},
    {"max.s16x2 %r3, %r2, 0x00010001;", 0xffff0005u, 0x00010005u},
    {"min.u16x2 %r3, %r2, 0x00010001;", 0xffff0005u, 0x00010001u},
    {"max.u16x2 %r3, %r2, 0x00010001;", 0xffff0005u, 0xffff0005u},
    {"vabsdiff4.u32.u32.u32 %r3, %r2, 0x01020304, 0;", 0x04030201u, 0x03010103u},
    {"vabsdiff4.u32.u32.u32.add %r3, %r2, 0x01020304, 100;", 0x04030201u, 108},
    {"fma.rn.f16x2 %r3, %r2, %r2, %r2;", 0x3c004000u, 0x40004600u},
    {"cvt.u16.u32 %h1, %r2; add.f16 %h1, %h1, %h1; cvt.u32.u16 %r3, %h1;", 0x3c00, 0x4000},
    {"mov.b32 %f1, %r2; min.f32 %f2, %f1, 0f3F800000; mov.b32 %r3, %f2;", 0x7fc00000u, 0x3f800000u},
    {"mov.b32 %f1, %r2; max.f32 %f2, %f1, 0f00000000; mov.b32 %r3, %f2;", 0x80000000u, 0},
    {"mov.b32 %f1, %r2; add.ftz.f32 %f2, %f1, 0f00000000; mov.b32 %r3, %f2;", 0x00000001u, 0},
    {"mov.b32 %f1, %r2; add.f32 %f2, %f1, 0f00000000; mov.b32 %r3, %f2;", 0x00000001u, 1},
    {"mov.b32 %f1, %r2; add.rz.f32 %f2, %f1, 0f33000000; mov.b32 %r3, %f2;", 0x3f7fffffu, 0x3f7fffffu},
    {"mov.b32 %f1, %r2; add.rp.f32 %f2, %f1, 0f00000001; mov.b32 %r3, %f2;", 0x3f800000u, 0x3f800001u},
    {"mov.b32 %f1, %r2; add.sat.f32 %f2, %f1, %f1; mov.b32 %r3, %f2;", 0x3f800000u, 0x3f800000u},
    {"mov.b32 %f1, %r2; fma.rn.f32 %f2, %f1, %f1, %f1; mov.b32 %r3, %f2;", 0x3f800001u, 0x40000002u},
    {"mov.b32 %f1, %r2; setp.ltu.f32 %p1, %f1, %f1; selp.b32 %r3, 1, 0, %p1;", 0x7fc00000u, 1},
    {"mov.b32 %f1, %r2; setp.ne.f32 %p1, %f1, %f1; selp.b32 %r3, 1, 0, %p1;", 0x7fc00000u, 0},
    {"mov.b32 %f1, %r2; setp.neu.f32 %p1, %f1, %f1; selp.b32 %r3, 1, 0, %p1;", 0x7fc00000u, 1},
    {"mov.b32 %f1, %r2; setp.nan.f32 %p1, %f1, 0f00000000; selp.b32 %r3, 1, 0, %p1;", 0x7fc00000u, 1},
    {"mov.b32 %f1, %r2; testp.subnormal.f32 %p1, %f1; selp.b32 %r3, 1, 0, %p1;", 0x00000001u, 1},
    {"mov.b32 %f1, %r2; sqrt.rn.f32 %f2, %f1; mov.b32 %r3, %f2;", 0x41100000u, 0x40400000u},
    {"mov.b32 %f1, %r2; ex2.approx.f32 %f2, %f1; mov.b32 %r3, %f2;", 0x40400000u, 0x41000000u},
    {"mov.b32 %f1, %r2; cvt.f64.f32 %d1, %f1; mul.rn.f64 %d2, %d1, %d1; cvt.rn.f32.f64 %f2, %d2; mov.b32 %r3, %f2;",
     0x40400000u, 0x41100000u},
    {"mul.wide.s32 %rd6, %r2, %r2; cvt.u32.u64 %r3, %rd6;", 0xffffffffu, 1},
    {"cvt.s64.s32 %rd6, %r2; shr.s64 %rd7, %rd6, 33; cvt.u32.u64 %r3, %rd7;", 0x80000000u, 0xffffffffu},
    {"mov.b64 %rd6, {%r2, 7}; mov.b64 {_, %r3}, %rd6;", 1, 7},
    {"add.cc.u32 %r4, %r2, %r2; addc.u32 %r3, 0, 0;", 0x80000000u, 1},
    {"sub.cc.u32 %r4, %r2, 1; subc.u32 %r3, 0, 0;", 0, 0xffffffffu},
    /* the carry of a subtraction is 1 where nothing is borrowed: nvcc's division of 128-bit integers adds it */
    {"sub.cc.u32 %r4, %r2, 1; addc.u32 %r3, 0, 0;", 0, 0},
    {"sub.cc.u32 %r4, %r2, 1; addc.u32 %r3, 0, 0;", 1, 1},
    {"sub.cc.u32 %r4, %r2, 1; subc.cc.u32 %r4, 0, 0; subc.cc.u32 %r4, 7, 6; addc.u32 %r3, 2, 0;", 0, 3},
    {"sub.cc.u32 %r4, %r2, 1; subc.cc.u32 %r4, 0, 0; subc.cc.u32 %r4, 7, 7; addc.u32 %r3, 2, 0;", 0, 2},
    {"mov.b64 %rd1, {%r2, 0}; sub.cc.u64 %rd1, %rd1, 1; addc.u32 %r3, 0, 0;", 0, 0},
    {"mov.b64 %rd1, {%r2, 0}; sub.cc.u64 %rd1, %rd1, 1; addc.u32 %r3, 0, 0;", 1, 1},
    {"mad.lo.cc.u32 %r4, %r2, %r2, %r2; madc.hi.u32 %r3, %r2, %r2, 0;", 0xffffffffu, 0xffffffffu},
    {"mul.hi.u64 %rd6, %rd7, %rd7; cvt.u64.u32 %rd7, %r2; shl.b64 %rd7, %rd7, 32; mul.hi.u64 %rd6, %rd7, %rd7; "
     "cvt.u32.u64 %r3, %rd6;",
     0x10000u, 0},
    {"abs.f32 %f1, %f1; mov.b32 %f1, %r2; abs.f32 %f2, %f1; neg.f32 %f3, %f2; mov.b32 %r3, %f3;", 0x3f800000u,
     0xbf800000u},
    {"mov.u32 %r3, WARP_SZ;", 0, 32},
    {"mov.u32 %r3, %ntid.x;", 0, 64},
};

static void check_lanes(void)
{
    static struct run r;
    for (size_t k = 0; k < sizeof lane_cases / sizeof *lane_cases; k++) {
        const char *ptx = kernel_text("", lane_cases[k].body, OUT32("%r3"));
        for (int l = 0; l < 1024; l++)
            r.in[l] = lane_cases[k].in;
        run_ptx(ptx, &r, 1, 64);
        if (r.err)
            WS_FAIL("%s: %s", lane_cases[k].body, r.result.refusal);
        else if (r.out[0] != lane_cases[k].out || r.out[63] != lane_cases[k].out)
            WS_FAIL("%s of %#x: got %#x, want %#x", lane_cases[k].body, lane_cases[k].in, r.out[0], lane_cases[k].out);
    }
}

TEST(opcodes_give_what_ptx_says)
{
    check_lanes();
}

/* What a warp at once makes of sine, cosine and 2^x, against the library's, in units of the last place: lanes near and
 * far, large, not finite. */
static int64_t apart(uint32_t a, uint32_t b)
{
    int64_t x = a & 0x80000000u ? -(int64_t)(a & 0x7fffffffu) : (int64_t)a;
    int64_t y = b & 0x80000000u ? -(int64_t)(b & 0x7fffffffu) : (int64_t)b;
    return x > y ? x - y : y - x;
}

TEST(sine_cosine_and_powers_of_a_whole_warp)
{
    static const struct {
        const char *op;
        float (*of)(float);
    } ops[] = {{"sin.approx.f32", sinf}, {"cos.approx.f32", cosf}, {"ex2.approx.f32", exp2f}};
    static struct run r;
    for (size_t k = 0; k < 3; k++) {
        char body[128];
        for (uint32_t l = 0; l < 1024; l++) /* 0 to 2 million and back down to 1e-6, both signs */
            r.in[l] =
                bits_of((l & 1 ? -1.0f : 1.0f) * (l < 512 ? 0.011f * (float)l * (float)(l + 1) : 3000.0f / (float)l));
        r.in[1] = bits_of(INFINITY);
        r.in[2] = bits_of(NAN);
        r.in[3] = bits_of(3e6f);
        r.in[4] = bits_of(-0.0f);
        r.in[5] = bits_of(-3e38f);
        r.in[6] = bits_of(1e-30f);
        snprintf(body, sizeof body, "mov.b32 %%f1, %%r2; %s %%f2, %%f1; mov.b32 %%r3, %%f2;", ops[k].op);
        run_ptx(kernel_text("", body, OUT32("%r3")), &r, 1, 1024);
        REQUIRE(r.err == 0);
        for (uint32_t l = 0; l < 1024; l++) {
            float in, is;
            memcpy(&in, &r.in[l], sizeof in);
            memcpy(&is, &r.out[l], sizeof is);
            if (isnan(ops[k].of(in)))
                CHECK(isnan(is));
            else
                CHECK(apart(r.out[l], bits_of(ops[k].of(in))) <= 1);
        }
    }
}

TEST(the_plain_build_gives_the_same)
{
    instruction_set = "base";
    check_lanes();
}

#define TILE_MASK "and.b32 %r6, %r1, 16; mov.u32 %r4, 0xffff; shl.b32 %r4, %r4, %r6; "

TEST(shuffles_votes_and_matches)
{
    static struct run r;
    static const struct {
        const char *body;
        uint32_t lane0, lane5, lane31;
    } cases[] = {
        {"shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;", 1, 4, 30},
        {"shfl.sync.down.b32 %r3|%p1, %r1, 4, 31, -1;", 4, 9, 31},
        {"shfl.sync.up.b32 %r3, %r1, 4, 0, -1;", 0, 1, 27},
        {"shfl.sync.idx.b32 %r3, %r1, 3, 0x181f, -1;", 3, 3, 27}, /* segments of 8 */
        {"setp.gt.u32 %p1, %r1, 29; vote.sync.ballot.b32 %r3, %p1, -1;", 0xc0000000u, 0xc0000000u, 0xc0000000u},
        {"setp.gt.u32 %p1, %r1, 29; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r3, 1, 0, %p2;", 1, 1, 1},
        {"setp.gt.u32 %p1, %r1, 29; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r3, 1, 0, %p2;", 0, 0, 0},
        {"and.b32 %r4, %r1, 1; match.any.sync.b32 %r3, %r4, -1;", 0x55555555u, 0xaaaaaaaau, 0xaaaaaaaau},
        {"redux.sync.add.u32 %r3, %r1, -1;", 496, 496, 496},
        {"redux.sync.max.s32 %r3, %r1, -1;", 31, 31, 31},
        /* membermasks of two tiles of 16 lanes in one instruction, as cooperative groups make them */
        {TILE_MASK "redux.sync.add.u32 %r3, %r1, %r4;", 120, 120, 376},
        {TILE_MASK "setp.gt.u32 %p1, %r1, 14; vote.sync.ballot.b32 %r3, %p1, %r4;", 0x8000u, 0x8000u, 0xffff0000u},
        {TILE_MASK "setp.gt.u32 %p1, %r1, 14; vote.sync.all.pred %p2, %p1, %r4; selp.b32 %r3, 1, 0, %p2;", 0, 0, 1},
        {TILE_MASK "setp.gt.u32 %p1, %r1, 15; vote.sync.any.pred %p2, %p1, %r4; selp.b32 %r3, 1, 0, %p2;", 0, 0, 1},
        {TILE_MASK "setp.gt.u32 %p1, %r1, 14; vote.sync.uni.pred %p2, %p1, %r4; selp.b32 %r3, 1, 0, %p2;", 0, 0, 1},
        {TILE_MASK "and.b32 %r5, %r1, 1; match.any.sync.b32 %r3, %r5, %r4;", 0x5555u, 0xaaaau, 0xaaaa0000u},
        {TILE_MASK "max.u32 %r5, %r1, 16; match.all.sync.b32 %r3|%p1, %r5, %r4;", 0xffffu, 0xffffu, 0},
        {"activemask.b32 %r3;", 0xffffffffu, 0xffffffffu, 0xffffffffu},
        {"mov.u32 %r3, %lanemask_lt;", 0, 31, 0x7fffffffu},
        {"setp.gt.u32 %p1, %r1, 4; mov.u32 %r3, 9; @%p1 mov.u32 %r3, %laneid;", 9, 5, 31},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *ptx = kernel_text("", cases[k].body, OUT32("%r3"));
        run_ptx(ptx, &r, 1, 32);
        if (r.err)
            WS_FAIL("%s: %s", cases[k].body, r.result.refusal);
        else if (r.out[0] != cases[k].lane0 || r.out[5] != cases[k].lane5 || r.out[31] != cases[k].lane31)
            WS_FAIL("%s: got %#x %#x %#x", cases[k].body, r.out[0], r.out[5], r.out[31]);
    }
}

/* Lanes leave the loop one by one and meet again behind it. */
TEST(data_dependent_loop)
{
    static struct run r;
    for (uint32_t l = 0; l < 64; l++)
        r.in[l] = l + 1;
    run_ptx(KERNEL("", "mov.u32 %r3, 0; mov.u32 %r4, %r2;\n"
                       "L1: setp.eq.u32 %p1, %r4, 1; @%p1 bra L2;\n"
                       "and.b32 %r5, %r4, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra L3;\n"
                       "mad.lo.u32 %r4, %r4, 3, 1; bra L4;\n"
                       "L3: shr.u32 %r4, %r4, 1;\n"
                       "L4: add.u32 %r3, %r3, 1; bra L1;\n"
                       "L2: activemask.b32 %r6; setp.ne.u32 %p3, %r6, -1; @%p3 mov.u32 %r3, 9999;\n" OUT32("%r3")),
            &r, 1, 64);
    REQUIRE(r.err == 0);
    for (uint32_t l = 0; l < 64; l++) {
        uint32_t steps = 0;
        for (uint64_t v = l + 1; v != 1; steps++)
            v = v % 2 ? 3 * v + 1 : v / 2;
        CHECK_INT(r.out[l], steps);
    }
}

TEST(divergent_returns_leave_the_others_running)
{
    static struct run r;
    run_ptx(KERNEL("", "and.b32 %r4, %r1, 3; setp.eq.u32 %p1, %r4, 0; @%p1 ret;\n"
                       "setp.eq.u32 %p1, %r4, 1; @!%p1 bra L1; mov.u32 %r3, 11; bra L2;\n"
                       "L1: setp.eq.u32 %p1, %r4, 2; @%p1 exit; mov.u32 %r3, 33;\n"
                       "L2: " OUT32("%r3")),
            &r, 1, 40);
    REQUIRE(r.err == 0);
    for (uint32_t l = 0; l < 40; l++)
        CHECK_INT(r.out[l], l % 4 == 1 ? 11 : l % 4 == 3 ? 33 : 0);
    CHECK_INT(r.result.counts.memory[WS_MODEL_GLOBAL_ST].lanes, 20);
}

TEST(calls_are_inlined_with_their_frames)
{
    static struct run r;
    run_ptx(HEAD
            ".func (.param .b32 ret0) twice(.param .b32 x, .param .align 8 .b8 s[16]) {\n"
            ".reg .b32 %r<4>; .reg .pred %p<2>; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [s+8];\n"
            "setp.gt.u32 %p1, %r1, 5; @%p1 bra L; st.param.b32 [ret0], 1; ret;\n"
            "L: add.u32 %r3, %r1, %r2; st.param.b32 [ret0+0], %r3; ret; }\n"
            ".visible .entry k(.param .u64 k_out, .param .u64 k_in) { .reg .b32 %r<9>; .reg .b64 %rd<5>;\n"
            "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [k_out]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
            "{ .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 r0; st.param.b32 [p0], %r1;\n"
            "st.param.b32 [p1+8], 1000; call.uni (r0), twice, (p0, p1); ld.param.b32 %r2, [r0]; }\n"
            "{ .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 r0; st.param.b32 [p0], %r2;\n"
            "st.param.b32 [p1+8], 1; call.uni (r0), twice, (p0, p1); ld.param.b32 %r2, [r0]; }\n"
            "st.global.u32 [%rd3], %r2; ret; }",
            &r, 1, 32);
    REQUIRE(r.err == 0);
    for (uint32_t l = 0; l < 32; l++)
        CHECK_INT(r.out[l], l > 5 ? l + 1001 : 1);
    CHECK_INT(r.result.counts.memory[WS_MODEL_LOCAL_ST].requests, 0); /* registers carry them on a GPU */
}

TEST(unknown_opcodes_are_refused_by_name_line_and_opcode)
{
    static struct run r;
    run_ptx(HEAD ".entry k(.param .u64 a, .param .u64 b) {\n\nwgmma.fence.sync.aligned;\nret; }", &r, 1, 1);
    CHECK_INT(r.err, -WS_EUNSUP);
    CHECK(strstr(r.result.refusal, "k: line 6: 'wgmma.fence.sync.aligned'") != NULL);
    run_ptx(KERNEL("", "mov.u32 %r3, %pm7;\n" OUT32("%r3")), &r, 1, 32);
    CHECK_INT(r.err, -WS_EUNSUP);
    CHECK(strstr(r.result.refusal, "unknown special register '%pm7'") != NULL);
    run_ptx(HEAD ".entry k(.param .u64 a, .param .u64 b) {.reg .b64 %rd<3>;\nadd.u32 %rd1, %rd2, 1; ret; }", &r, 1, 1);
    CHECK_INT(r.err, -WS_EUNSUP);
}

TEST(indexed_branch)
{
    static struct run r;
    run_ptx(KERNEL("", "and.b32 %r4, %r1, 3;\n"
                       "ts: .branchtargets A, B, C, B;\n brx.idx %r4, ts;\n"
                       "A: mov.u32 %r3, 10; bra E;\nB: mov.u32 %r3, 20; bra E;\nC: mov.u32 %r3, 30;\nE: " OUT32("%r3")),
            &r, 1, 32);
    REQUIRE(r.err == 0);
    for (uint32_t l = 0; l < 32; l++)
        CHECK_INT(r.out[l], l % 4 == 0 ? 10 : l % 4 == 2 ? 30 : 20);
}

/* Reverse a block through shared memory: wrong without the barrier between the warps. */
/* Element (r, c) of matrix m is 64 m + 8 r + c, rows of 16 bytes side by side. */
TEST(ldmatrix_gives_fragments_and_counts_a_round_a_matrix)
{
    static const char fill[] = ".shared .align 16 .b8 s[512];\n";
    static const char body[] = "mov.u32 %r9, s; shl.b32 %r10, %r1, 4; add.u32 %r10, %r9, %r10; shl.b32 %r11, %r1, 3;\n"
                               "mov.u32 %r12, 0;\n"
                               "F: add.u32 %r13, %r11, %r12; cvt.u16.u32 %h1, %r13; shl.b32 %r14, %r12, 1;\n"
                               "add.u32 %r14, %r10, %r14; st.shared.u16 [%r14], %h1; add.u32 %r12, %r12, 1;\n"
                               "setp.lt.u32 %p1, %r12, 8; @%p1 bra F; bar.warp.sync -1;\n";
    static const char plain[] = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r10];"
                                "st.global.u32 [%rd3], %r3; st.global.u32 [%rd3+128], %r4; "
                                "st.global.u32 [%rd3+256], %r5; st.global.u32 [%rd3+384], %r6;";
    static const char turned[] = "ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%r3}, [%r10];" OUT32("%r3");
    char both[4096];
    struct run r = {0};
    snprintf(both, sizeof both, "%s%s", body, plain);
    run_ptx(kernel_text(fill, both, ""), &r, 1, 32);
    REQUIRE(r.err == 0);
    for (uint32_t m = 0; m < 4; m++)
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t first = 64 * m + 8 * (l / 4) + l % 4 * 2;
            CHECK_INT(r.out[32 * m + l], first | (first + 1) << 16);
        }
    CHECK_INT(r.result.counts.memory[WS_MODEL_MATRIX_LD].requests, 1);
    CHECK_INT(r.result.counts.memory[WS_MODEL_MATRIX_LD].wavefronts, 4);
    snprintf(both, sizeof both, "%s%s", body, turned);
    run_ptx(kernel_text(fill, both, ""), &r, 1, 32);
    REQUIRE(r.err == 0);
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t first = 8 * (l % 4 * 2) + l / 4;
        CHECK_INT(r.out[l], first | (first + 8) << 16);
    }
    CHECK_INT(r.result.counts.memory[WS_MODEL_MATRIX_LD].wavefronts, 1);
    CHECK_INT(r.result.counts.memory[WS_MODEL_MATRIX_LD].lanes, 8);
    CHECK_INT(r.result.counts.memory[WS_MODEL_SHARED_LD].requests, 0); /* as the GPU's counters have it */
}

/* Rows of equal addresses never join: an H200 counts 4 rounds (calibrate, load_matrix_apart<4,0>). */
TEST(ldmatrix_of_one_row_again_and_again_takes_a_round_a_matrix)
{
    static struct run r;
    run_ptx(KERNEL(".shared .align 16 .b8 s[512];",
                   "mov.u32 %r9, s; shr.u32 %r10, %r1, 3; shl.b32 %r10, %r10, 4; add.u32 %r10, %r9, %r10;\n"
                   "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r10];" OUT32("%r3")),
            &r, 1, 32);
    REQUIRE(r.err == 0);
    CHECK_INT(r.result.counts.memory[WS_MODEL_MATRIX_LD].requests, 1);
    CHECK_INT(r.result.counts.memory[WS_MODEL_MATRIX_LD].wavefronts, 4);
    CHECK_INT(r.result.counts.memory_128b, 1);
}

/* --- what SASS makes of operations that it has no instruction for: 32 lanes, counts as an H200 gave (calibrate) --- */

static void run_operation(const char *operation, const char *values, struct run *r)
{
    char body[1024];
    snprintf(body, sizeof body, "%s\n%s\nst.global.f32 [%%rd3], %%f3; st.global.f64 [%%rd1+1024], %%d3;", values,
             operation);
    run_ptx(kernel_text("", body, ""), r, 1, 32);
}

#define F32(x, y) "xor.b32 %r9, %r2, " x "; mov.b32 %f1, %r9; xor.b32 %r10, %r2, " y "; mov.b32 %f2, %r10;"
#define F64(x, y)                                                                         \
    "cvt.u64.u32 %rd12, %r2; xor.b64 %rd10, %rd12, " x "; xor.b64 %rd11, %rd12, " y ";\n" \
    "mov.b64 %d1, %rd10; mov.b64 %d2, %rd11;"
#define ORDINARY F32("0x3fc00000", "0x40100000") /* 1.5, 2.25 */
#define ORDINARY_64 F64("0x3ff8000000000000", "0x4002000000000000")

static const struct {
    const char *operation, *values;
    uint8_t f32[3], f64[3]; /* add, mul, fma a lane */
    bool is_bound;
} operations[] = {
    {"div.rn.f32 %f3, %f1, %f2;", ORDINARY, {0, 0, 5}, {0, 0, 0}, false},
    {"div.rn.ftz.f32 %f3, %f1, %f2;", ORDINARY, {0, 0, 5}, {0, 0, 0}, false},
    {"div.rn.f32 %f3, %f1, %f2;", F32("0", "0x3f800000"), {0, 0, 5}, {0, 0, 0}, false},          /* 0 / 1 */
    {"div.rn.f32 %f3, %f1, %f2;", F32("0x0d800000", "0x3f800000"), {0, 0, 5}, {0, 0, 0}, false}, /* 2^-100 / 1 */
    {"div.rn.f32 %f3, %f1, %f2;", F32("0x0b800000", "0x3f800000"), {0, 0, 5}, {0, 0, 0}, true},  /* 2^-104 / 1 */
    {"div.rn.f32 %f3, %f1, %f2;", F32("0x3f800000", "0x00400000"), {0, 0, 5}, {0, 0, 0}, true},  /* 1 / denormal */
    {"div.rz.f32 %f3, %f1, %f2;", ORDINARY, {0, 0, 0}, {0, 0, 0}, true},
    {"div.full.f32 %f3, %f1, %f2;", ORDINARY, {0, 1, 0}, {0, 0, 0}, false},
    {"div.approx.f32 %f3, %f1, %f2;", ORDINARY, {0, 1, 0}, {0, 0, 0}, false},
    {"div.approx.f32 %f3, %f1, %f2;", F32("0x3f800000", "0x00400000"), {0, 3, 0}, {0, 0, 0}, false},
    {"div.approx.ftz.f32 %f3, %f1, %f2;", ORDINARY, {0, 1, 0}, {0, 0, 0}, false},
    {"rcp.rn.f32 %f3, %f1;", ORDINARY, {1, 0, 2}, {0, 0, 0}, false},
    {"rcp.rn.f32 %f3, %f1;", F32("0x7e000000", "0"), {1, 0, 2}, {0, 0, 0}, false}, /* 2^125 */
    {"rcp.rn.f32 %f3, %f1;", F32("0x7e800000", "0"), {0, 0, 0}, {0, 0, 0}, true},  /* 2^126 */
    {"rcp.rz.f32 %f3, %f1;", ORDINARY, {1, 0, 2}, {0, 0, 0}, false},
    {"rcp.approx.f32 %f3, %f1;", ORDINARY, {0, 2, 0}, {0, 0, 0}, false},
    {"rcp.approx.ftz.f32 %f3, %f1;", ORDINARY, {0, 0, 0}, {0, 0, 0}, false},
    {"sqrt.rn.f32 %f3, %f1;", ORDINARY, {0, 2, 2}, {0, 0, 0}, false},
    {"sqrt.rn.f32 %f3, %f1;", F32("0x0d000000", "0"), {0, 2, 2}, {0, 0, 0}, false}, /* 2^-101 */
    {"sqrt.rn.f32 %f3, %f1;", F32("0x03800000", "0"), {0, 0, 0}, {0, 0, 0}, true},  /* 2^-120 */
    {"sqrt.approx.f32 %f3, %f1;", ORDINARY, {0, 0, 0}, {0, 0, 0}, false},
    {"rsqrt.approx.f32 %f3, %f1;", ORDINARY, {0, 0, 0}, {0, 0, 0}, false},
    {"ex2.approx.f32 %f3, %f1;", ORDINARY, {0, 0, 0}, {0, 0, 0}, false},
    {"lg2.approx.f32 %f3, %f1;", ORDINARY, {0, 0, 0}, {0, 0, 0}, false},
    {"sin.approx.f32 %f3, %f1;", ORDINARY, {0, 1, 0}, {0, 0, 0}, false},
    {"cos.approx.ftz.f32 %f3, %f1;", ORDINARY, {0, 1, 0}, {0, 0, 0}, false},
    {"tanh.approx.f32 %f3, %f1;", ORDINARY, {0, 0, 0}, {0, 0, 0}, false},
    {"div.rn.f64 %d3, %d1, %d2;", ORDINARY_64, {0, 0, 1}, {0, 1, 7}, false},
    {"div.rn.f64 %d3, %d1, %d2;", F64("0", "0x3ff0000000000000"), {0, 0, 1}, {0, 1, 7}, true}, /* 0 / 1 */
    {"sqrt.rn.f64 %d3, %d1;", ORDINARY_64, {0, 0, 0}, {0, 3, 5}, false},
    {"sqrt.rn.f64 %d3, %d1;", F64("0", "0"), {0, 0, 0}, {0, 3, 5}, true},
    {"rcp.rn.f64 %d3, %d1;", ORDINARY_64, {0, 0, 0}, {0, 0, 5}, false},
    {"rcp.rn.f64 %d3, %d1;", F64("0x0010000000000000", "0"), {0, 0, 0}, {0, 0, 5}, false}, /* 2^-1022 */
    {"rcp.rn.f64 %d3, %d1;", F64("0x7fe0000000000000", "0"), {0, 0, 0}, {0, 0, 5}, true},  /* 2^1023 */
    {"rcp.approx.ftz.f64 %d3, %d1;", ORDINARY_64, {0, 0, 0}, {0, 0, 0}, false},
    {"rsqrt.approx.f64 %d3, %d1;", ORDINARY_64, {0, 0, 0}, {0, 2, 3}, false},
    /* the rule of the compiler: what only a select reads may be skipped, what constants make is no work */
    {"mul.f32 %f4, %f1, %f2; setp.lt.f32 %p1, %f1, %f2; selp.f32 %f3, %f4, %f1, %p1;",
     ORDINARY,
     {0, 1, 0},
     {0, 0, 0},
     false},
    {"mov.f32 %f4, 0f3FC00000; add.f32 %f5, %f4, %f4; mul.f32 %f6, %f5, %f5; add.f32 %f3, %f6, %f1;",
     ORDINARY,
     {1, 0, 0},
     {0, 0, 0},
     false},
};

TEST(operations_in_software_count_as_their_sass_does)
{
    static const char *const sets[] = {"base", "v3", "v4"};
    static struct run r;
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
        const uint64_t *fp = r.result.counts.fp;
        instruction_set = sets[k % 3];
        run_operation(operations[k].operation, operations[k].values, &r);
        instruction_set = NULL;
        if (r.err == -WS_EINVAL)
            continue; /* this machine lacks the instructions */
        REQUIRE(r.err == 0);
        for (int n = 0; n < 3; n++)
            if (fp[1 + n] != 32ull * operations[k].f32[n] || fp[4 + n] != 32ull * operations[k].f64[n])
                WS_FAIL("%s: %llu %llu %llu, %llu %llu %llu", operations[k].operation, (unsigned long long)fp[1],
                        (unsigned long long)fp[2], (unsigned long long)fp[3], (unsigned long long)fp[4],
                        (unsigned long long)fp[5], (unsigned long long)fp[6]);
        if (r.result.counts.fp_is_lower_bound != operations[k].is_bound)
            WS_FAIL("%s with %s: lower bound %d", operations[k].operation, operations[k].values,
                    r.result.counts.fp_is_lower_bound);
    }
}

/* Half of the lanes divide by a denormal, under a guard that half of those pass. */
TEST(lanes_that_take_the_long_way_are_told_apart)
{
    static struct run r;
    for (uint32_t l = 0; l < 32; l++)
        r.in[l] = l < 16 ? 0x00400000u : 0x3f800000u;
    run_ptx(KERNEL("", "mov.b32 %f1, %r2; and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 0;\n"
                       "mov.f32 %f2, 0f3F800000; @%p1 div.approx.f32 %f2, %f1, %f1; mov.b32 %r3, %f2;" OUT32("%r3")),
            &r, 1, 32);
    memset(r.in, 0, sizeof r.in);
    REQUIRE(r.err == 0);
    CHECK_INT(r.result.counts.fp[2], 8 * 3 + 8 * 1);
    CHECK(r.result.counts.fp_is_lower_bound); /* other instructions read the operands, too */
}

TEST(work_that_only_a_select_reads_is_an_upper_bound)
{
    static struct run r;
    run_ptx(KERNEL("", "cvt.rn.f32.u32 %f1, %r1; mul.f32 %f2, %f1, %f1; add.f32 %f5, %f1, %f1;\n"
                       "setp.lt.f32 %p1, %f1, 0f41000000; selp.f32 %f3, %f2, %f1, %p1; add.f32 %f4, %f3, %f5;\n"
                       "mov.b32 %r3, %f4;" OUT32("%r3")),
            &r, 1, 32);
    REQUIRE(r.err == 0);
    CHECK(r.result.counts.fp_is_upper_bound[2]);
    CHECK(!r.result.counts.fp_is_upper_bound[1]);
    CHECK(!r.result.counts.fp_is_lower_bound);
}

/* --- atomics of shared memory: requests and rounds as an H200 counts (calibrate, shared_atomic_of) --- */

TEST(shared_atomics_count_rounds_and_retries)
{
    static const struct {
        const char *atomic;
        uint32_t shift, mask; /* address: (tid >> shift & mask) * step */
        uint32_t step;
        uint64_t requests, rounds, loads, load_rounds;
    } cases[] = {
        {"atom.shared.add.u32 %r3, [%r9], %r1;", 0, 31, 4, 1, 1, 0, 0},
        {"atom.shared.add.u32 %r3, [%r9], %r1;", 5, 31, 4, 1, 32, 0, 0},    /* all one word */
        {"atom.shared.min.u32 %r3, [%r9], %r1;", 0, 31, 8, 1, 2, 0, 0},     /* every second word */
        {"atom.shared.exch.b32 %r3, [%r9], %r1;", 0, 31, 128, 1, 32, 0, 0}, /* one bank */
        {"atom.shared.cas.b32 %r3, [%r9], %r1, 7;", 0, 31, 4, 1, 2, 0, 0},
        {"atom.shared.cas.b32 %r3, [%r9], %r1, 7;", 5, 31, 4, 1, 64, 0, 0},
        {"atom.shared.cas.b64 %rd9, [%r9], %rd4, 7;", 0, 31, 8, 1, 4, 0, 0},
        {"atom.shared.add.u64 %rd9, [%r9], %rd4;", 0, 31, 8, 1, 4, 1, 2},
        {"atom.shared.add.u64 %rd9, [%r9], %rd4;", 1, 31, 8, 2, 8, 2, 2},
        {"atom.shared.add.u64 %rd9, [%r9], %rd4;", 0, 31, 16, 2, 8, 2, 6},
        {"atom.shared.add.u64 %rd9, [%r9], %rd4;", 0, 31, 256, 16, 64, 16, 272},
        {"red.shared.add.f32 [%r9], 0f3F800000;", 0, 31, 4, 1, 2, 1, 1},
        {"red.shared.add.f32 [%r9], 0f3F800000;", 5, 31, 4, 32, 64, 32, 32},
        {"red.shared.add.f32 [%r9], 0f3F800000;", 0, 31, 8, 2, 4, 2, 3},
        {"red.shared.add.f32 [%r9], 0f3F800000;", 0, 31, 128, 32, 64, 32, 528},
    };
    static struct run r;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct ws_model_memory *atom = &r.result.counts.memory[WS_MODEL_SHARED_ATOMIC],
                                     *load = &r.result.counts.memory[WS_MODEL_SHARED_LD];
        char body[512];
        snprintf(body, sizeof body,
                 "mov.u32 %%r9, s; shr.u32 %%r10, %%r1, %u; and.b32 %%r10, %%r10, %u; mul.lo.u32 %%r10, %%r10, %u;\n"
                 "add.u32 %%r9, %%r9, %%r10; %s st.global.u32 [%%rd3], %%r3; st.global.u64 [%%rd1+1024], %%rd9;",
                 cases[k].shift, cases[k].mask, cases[k].step, cases[k].atomic);
        run_ptx(kernel_text(".shared .align 16 .b8 s[8192];", body, ""), &r, 1, 32);
        REQUIRE(r.err == 0);
        if (atom->requests != cases[k].requests || atom->wavefronts != cases[k].rounds ||
            load->requests != cases[k].loads || load->wavefronts != cases[k].load_rounds)
            WS_FAIL("%s by %u: %llu requests %llu rounds, %llu loads %llu rounds", cases[k].atomic, cases[k].step,
                    (unsigned long long)atom->requests, (unsigned long long)atom->wavefronts,
                    (unsigned long long)load->requests, (unsigned long long)load->wavefronts);
    }
    CHECK_INT(r.result.counts.fp[1], 528); /* an addition a lane and try: 32 + 31 + … + 1 */
}

TEST(barriers_order_the_warps)
{
    static struct run r;
    run_ptx(KERNEL(".shared .align 4 .b8 tile[1024];",
                   "mov.u32 %r4, tile; shl.b32 %r5, %r1, 2; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r1;\n"
                   "bar.sync 0; mov.u32 %r6, tile; sub.u32 %r7, 1020, %r5; add.u32 %r6, %r6, %r7;\n"
                   "ld.shared.u32 %r3, [%r6]; " OUT32("%r3")),
            &r, 1, 256);
    REQUIRE(r.err == 0);
    for (uint32_t l = 0; l < 256; l++)
        CHECK_INT(r.out[l], 255 - l);
    CHECK_INT(r.result.counts.barriers, 8);
    CHECK_INT(r.result.counts.memory[WS_MODEL_SHARED_LD].wavefronts, 8);
    CHECK_INT(r.result.issues_n, 0);
}

TEST(barrier_reductions)
{
    static struct run r;
    run_ptx(KERNEL("", "setp.gt.u32 %p1, %r1, 99; bar.red.popc.u32 %r3, 0, %p1;\n"
                       "bar.red.and.pred %p2, 0, %p1; @%p2 mov.u32 %r3, 7777; " OUT32("%r3")),
            &r, 1, 128);
    REQUIRE(r.err == 0);
    CHECK_INT(r.out[0], 28);
    CHECK_INT(r.out[127], 28);
}

TEST(a_barrier_that_half_a_warp_reaches_is_reported)
{
    static struct run r;
    run_ptx(KERNEL("", "setp.gt.u32 %p1, %r1, 15; @%p1 bra L;\nbar.sync 0;\nL: " OUT32("%r1")), &r, 1, 32);
    REQUIRE(r.err == 0);
    REQUIRE(r.result.issues_n == 1);
    CHECK(strstr(r.result.issues[0].text, "barrier") != NULL);
}

TEST(out_of_bounds_is_named_with_thread_line_and_allocation)
{
    static struct run r;
    run_ptx(KERNEL("", ".loc 1 77 0\n st.global.u32 [%rd3+4080], %r1;"), &r, 1, 32);
    REQUIRE(r.err == 0);
    REQUIRE(r.result.issues_n == 1);
    CHECK(strstr(r.result.issues[0].text, "out of bounds") != NULL);
    CHECK(strstr(r.result.issues[0].text, ":77 (PTX line 12)") != NULL ||
          strstr(r.result.issues[0].text, "77") != NULL);
    CHECK(strstr(r.result.issues[0].text, "thread (4,0,0)") != NULL);
    CHECK(strstr(r.result.issues[0].text, "0 bytes past an allocation (4096 bytes)") != NULL);
    CHECK_INT(r.result.issues[0].count, 28);
    CHECK_INT(r.out[1020], 0); /* lane 0 is inside */
    CHECK_INT(r.out[1023], 3);
}

TEST(wild_addresses_touch_nothing)
{
    static struct run r;
    static const char *const bodies[] = {
        "mov.u64 %rd6, 0; ld.global.u32 %r3, [%rd6];",
        "mov.u64 %rd6, -4; ld.global.u32 %r3, [%rd6];",
        "mov.u64 %rd6, -1; st.global.u8 [%rd6], %r1;",
        "mov.u32 %r4, -4; ld.shared.u32 %r3, [%r4];",
        "mov.u32 %r4, 1048576; st.shared.u32 [%r4], %r1;",
        "mov.u64 %rd6, -8; st.shared.u64 [%rd6], %rd6;",
        "mov.u64 %rd6, 99; ld.local.u32 %r3, [%rd6];",
        "mov.u64 %rd6, 0x0100000000000000; ld.u32 %r3, [%rd6];",
        "mov.u64 %rd6, 0x0200000000001000; st.u32 [%rd6], %r1;",
        "mov.u64 %rd6, 8; atom.global.add.u32 %r3, [%rd6], 1; add.u32 %r4, %r3, 1; st.global.u32 [%rd3], %r4;",
        "add.u64 %rd6, %rd3, 2; ld.global.u32 %r3, [%rd6];",
        "mov.u64 %rd6, -16; ld.param.u32 %r3, [%rd6];",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        const char *ptx = kernel_text("", bodies[k], "");
        run_ptx(ptx, &r, 1, 32);
        if (r.err)
            WS_FAIL("%s: %s", bodies[k], r.result.refusal);
        else if (r.result.issues_n == 0)
            WS_FAIL("%s: no issue", bodies[k]);
    }
}

TEST(traps_stop_the_launch)
{
    static struct run r;
    run_ptx(KERNEL("", "setp.eq.u32 %p1, %r1, 3; @%p1 trap; " OUT32("%r1")), &r, 4, 32);
    REQUIRE(r.err == 0);
    CHECK(r.result.is_stopped);
    REQUIRE(r.result.issues_n == 1);
    CHECK(strstr(r.result.issues[0].text, "trap") != NULL);
}

TEST(endless_loops_end_at_the_bound)
{
    static struct run r;
    run_ptx(KERNEL("", "L: add.u32 %r3, %r3, 1; bra L;"), &r, 1, 32);
    REQUIRE(r.err == 0);
    CHECK(r.result.is_stopped);
}

TEST(atomics_count_and_add)
{
    static struct run r;
    run_ptx(KERNEL("", "atom.global.add.u32 %r3, [%rd1], 1; atom.global.max.u32 %r4, [%rd1+4], %r1;\n"
                       "add.u32 %r5, %r4, 1; st.global.u32 [%rd3+256], %r5;\n"
                       "red.global.add.f32 [%rd1+8], 0f3F000000; atom.global.cas.b32 %r6, [%rd1+12], 0, 5;"),
            &r, 2, 64);
    REQUIRE(r.err == 0);
    CHECK_INT(r.out[0], 128);
    CHECK_INT(r.out[1], 63);
    CHECK_INT(r.out[2], bits_of(64.0f));
    CHECK_INT(r.out[3], 5);
    /* the first add's result is not used: RED. max's is: ATOM. cas always returns. */
    CHECK_INT(r.result.counts.memory[WS_MODEL_GLOBAL_RED].requests, 4 + 4);
    CHECK_INT(r.result.counts.memory[WS_MODEL_GLOBAL_RED].lanes, 256);
    CHECK_INT(r.result.counts.memory[WS_MODEL_GLOBAL_RED].same_address, 256);
    CHECK_INT(r.result.counts.memory[WS_MODEL_GLOBAL_RED].sectors, 8);
    CHECK_INT(r.result.counts.memory[WS_MODEL_GLOBAL_ATOMIC].requests, 4 + 4);
}

TEST(local_arrays_are_interleaved)
{
    static struct run r;
    run_ptx(KERNEL(".local .align 16 .b8 depot[64];",
                   "mov.u64 %rd6, depot; cvta.local.u64 %rd7, %rd6; and.b32 %r4, %r1, 15; mul.wide.u32 %rd8, %r4, 4;\n"
                   "add.u64 %rd9, %rd7, %rd8; st.u32 [%rd9], %r1; st.local.u64 [%rd6+8], %rd8;\n"
                   "add.u64 %rd10, %rd6, %rd8; ld.local.u32 %r3, [%rd10]; " OUT32("%r3")),
            &r, 1, 32);
    REQUIRE(r.err == 0);
    CHECK_INT(r.out[0], 0);
    CHECK_INT(r.out[31], 31);
    CHECK_INT(r.out[2], 8); /* overwritten by the 64-bit store */
    CHECK_INT(r.result.counts.memory[WS_MODEL_LOCAL_ST].requests, 2);
    CHECK_INT(r.result.counts.memory[WS_MODEL_LOCAL_LD].sectors, 32); /* 16 rows of words, two lanes a row 64 B apart */
}

TEST(packed_and_wide_accesses_keep_their_bytes)
{
    static struct run r;
    for (uint32_t l = 0; l < 1024; l++)
        r.in[l] = 0x01020304u * (l + 1);
    run_ptx(KERNEL("", "mul.wide.u32 %rd6, %r1, 16; add.s64 %rd7, %rd2, %rd6; add.s64 %rd8, %rd1, %rd6;\n"
                       "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd7]; st.global.v2.u32 [%rd8], {%r7, %r6};\n"
                       "ld.global.s8 %r8, [%rd7+3]; ld.global.s16 %rd9, [%rd7+2]; st.global.u64 [%rd8+8], %rd9;"),
            &r, 1, 32);
    REQUIRE(r.err == 0);
    CHECK_INT(r.out[4], r.in[7]);
    CHECK_INT(r.out[5], r.in[6]);
    CHECK_INT((int32_t)r.out[126], (int16_t)(r.in[124] >> 16));
    CHECK_INT(r.result.counts.memory_128b, 1);
    CHECK_INT(r.result.counts.memory_64b, 2);
    CHECK_INT(r.result.counts.memory[WS_MODEL_GLOBAL_LD].sectors, 4 + 16 + 16 + 16);
}

TEST(shared_loads_join_only_when_alignment_is_proved)
{
    static struct run r;
    static const char *const begin = "mov.u32 %r4, tile; shl.b32 %r5, %r1, ";
    static const char *const middle =
        "; add.u32 %r4, %r4, %r5; ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r4+4];\n";
    static const char *const end = "ld.shared.u32 %r8, [%r4+8]; ld.shared.u32 %r9, [%r4+12];\n" OUT32("%r9");
    static const struct {
        const char *shift, *between;
        uint64_t requests;
    } cases[] = {{"4", "", 1},
                 {"3", "", 2},
                 {"2", "", 4},
                 {"4", "st.shared.u32 [%r4], %r1;", 2},
                 {"4", "add.u32 %r4, %r4, 0;", 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char body[1024];
        snprintf(body, sizeof body, "%s%s%s%s", begin, cases[k].shift, middle, cases[k].between);
        run_ptx(kernel_text(".shared .align 4 .b8 tile[1024];", body, end), &r, 1, 32);
        CHECK_INT(r.err, 0);
        CHECK_INT(r.result.counts.memory[WS_MODEL_SHARED_LD].requests, cases[k].requests);
    }
}

TEST(counts_do_not_depend_on_workers_or_instruction_set)
{
    static const char *const sets[] = {"base", "v3", "v4"};
    static struct run first, r;
    static const char *const ptx = KERNEL(
        ".shared .align 4 .b8 tile[512];",
        "mov.u32 %r9, %ctaid.x; mad.lo.u32 %r4, %r1, 3, %r9; and.b32 %r4, %r4, 127; shl.b32 %r5, %r4, 2;\n"
        "mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], %r1; bar.sync 0;\n"
        "ld.shared.u32 %r3, [%r6]; mul.wide.u32 %rd6, %r4, 4; add.s64 %rd7, %rd2, %rd6; ld.global.f32 %f1, [%rd7];\n"
        "fma.rn.f32 %f2, %f1, %f1, %f1; mov.b32 %r7, %f2; xor.b32 %r3, %r3, %r7;\n"
        "setp.lt.u32 %p1, %r4, 50; @%p1 bra L; mul.f32 %f3, %f1, %f2; mov.b32 %r3, %f3;\nL: " OUT32("%r3"));
    for (uint32_t l = 0; l < 1024; l++)
        r.in[l] = first.in[l] = bits_of(1.0f + (float)l);
    run_ptx(ptx, &first, 37, 100);
    REQUIRE(first.err == 0);
    for (size_t s = 0; s < 3; s++)
        for (uint32_t n = 1; n <= 3; n++) {
            instruction_set = sets[s];
            workers = n;
            run_ptx(ptx, &r, 37, 100);
            if (r.err == -WS_EINVAL && s > 0)
                continue; /* this machine lacks it */
            CHECK_INT(r.err, 0);
            /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): both begin as zeroes, padding included */
            CHECK(memcmp(&r.result.counts, &first.result.counts, sizeof r.result.counts) == 0);
            if (n == 1)
                CHECK(memcmp(r.out, first.out, sizeof r.out) == 0);
        }
}

TEST(launches_that_no_gpu_would_take_are_refused)
{
    static struct run r;
    run_ptx(KERNEL("", OUT32("%r1")), &r, 1, 1025);
    CHECK_INT(r.err, -WS_EINVAL);
    run_ptx(KERNEL("", OUT32("%r1")), &r, 0, 32);
    CHECK_INT(r.err, -WS_EINVAL);
}

TEST(kernels_are_found_by_their_source_name)
{
    static const char *const ptx =
        HEAD ".entry _Z7vec_addPKfS0_Pfi() { ret; }\n.entry _ZN2ns4copyILi1EEEvPf() { ret; }\n"
             ".entry _ZN2ns4copyILi2EEEvPf() { ret; }\n.entry plain() { ret; }";
    char error[WS_MODEL_ERROR_BYTES];
    struct ws_model *m = NULL;
    uint32_t k = 99;
    REQUIRE(ws_model_new(ptx, strlen(ptx), &m, error) == 0);
    CHECK_INT(ws_model_find(m, "vec_add", &k), 0);
    CHECK_INT(k, 0);
    CHECK_INT(ws_model_find(m, "plain", &k), 0);
    CHECK_INT(k, 3);
    CHECK_INT(ws_model_find(m, "copy", &k), -WS_EINVAL);
    CHECK_INT(ws_model_find(m, "copyILi2E", &k), 0);
    CHECK_INT(k, 2);
    CHECK_INT(ws_model_find(m, "nothing", &k), -WS_ENOENT);
    ws_model_free(m);
}
