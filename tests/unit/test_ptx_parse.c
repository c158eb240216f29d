/* SPDX-License-Identifier: MIT
 * test_ptx_parse.c: PTX text to a tree: good text, broken text, hostile text. */
#include "../../analyzer/err.h"
#include "../../collector/model/ptx.h"
#include "test.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static struct ptx_module *parse(const char *text, char *error)
{
    struct ptx_module *m = NULL;
    char none[256];
    if (ptx_parse(text, strlen(text), &m, error ? error : none, 256) != 0)
        return NULL;
    return m;
}

TEST(a_kernel_with_everything)
{
    struct ptx_module *m =
        parse(HEAD ".global .align 4 .u32 table[3] = {1, 0x10, 077};\n"
                   ".const .f32 pi = 0f40490FDB;\n"
                   ".visible .entry k(.param .u64 .ptr .align 1 k_param_0, .param .align 8 .b8 k_param_1[24])\n"
                   ".maxntid 256, 1, 1\n"
                   "{ .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<3>; .shared .align 16 .b8 tile[512];\n"
                   ".loc 1 42 7\n ld.param.u64 %rd1, [k_param_0+0]; // a comment\n"
                   "$L__a: setp.ge.and.s32 %p1|%p2, %r1, -5, !%p2; /* another */\n"
                   "@!%p1 bra $L__a;\n { .reg .b32 t; mov.b64 {t, _}, %rd1; }\n"
                   "st.shared.v2.u32 [tile+8], {%r1, %r2};\n ret; }\n",
              NULL);
    const struct ptx_func *f;
    REQUIRE(m != NULL);
    CHECK_INT(m->version, 800);
    CHECK_INT(m->target, 80);
    CHECK_INT(m->funcs_n, 1);
    f = &m->funcs[0];
    CHECK_STR(f->refusal, "");
    CHECK(f->is_entry);
    CHECK_INT(f->maxntid[0], 256);
    CHECK_INT(f->params_n, 2);
    CHECK_INT(m->vars[f->params[1]].bytes, 24);
    CHECK_INT(m->vars[f->params[1]].align, 8);
    CHECK_INT(f->ins_n, 6);
    CHECK_INT(f->regs_n, 3 + 4 + 3 + 1);
    CHECK_INT(f->ins[0].source_line, 42);
    CHECK_INT(f->ins[0].line, 10);
    CHECK_INT(f->labels[0].ins, 1);
    CHECK(f->ins[2].is_guard_negated);
    CHECK_INT(m->vars[0].init[4], 16);
    CHECK_INT(m->vars[0].init[8], 63); /* 077 is octal */
    ptx_free(m);
}

TEST(an_inner_register_hides_an_outer_one_of_its_name)
{
    struct ptx_module *m =
        parse(HEAD ".entry k() { .reg .b32 t; { .reg .b64 t; mov.u64 t, 1; } mov.u32 t, 1; ret; }", NULL);
    REQUIRE(m != NULL);
    CHECK_INT(m->funcs[0].reg_type[m->funcs[0].operands[m->funcs[0].ins[0].first].reg], PTX_B64);
    CHECK_INT(m->funcs[0].reg_type[m->funcs[0].operands[m->funcs[0].ins[1].first].reg], PTX_B32);
    ptx_free(m);
}

TEST(addresses_in_initialisers_become_relocations)
{
    struct ptx_module *m = parse(
        HEAD ".global .u32 a[4];\n.global .u64 p[2] = {generic(a)+8, a};\n.global .b8 s[4] = {104, 105, 0};", NULL);
    REQUIRE(m != NULL);
    CHECK_INT(m->vars[1].relocs_n, 2);
    CHECK_INT(m->vars[1].relocs[0].addend, 8);
    CHECK_INT(m->vars[1].relocs[1].offset, 8);
    ptx_free(m);
}

TEST(debug_sections_are_skipped)
{
    struct ptx_module *m =
        parse(HEAD ".entry k() { ret; }\n.file 1 \"k.cu\"\n.section .debug_str { a: .b8 1,2,3\n .b8 0 }\n", NULL);
    REQUIRE(m != NULL);
    CHECK_INT(m->files_n, 1);
    ptx_free(m);
}

TEST(operands_nobody_knows_refuse_only_their_function)
{
    struct ptx_module *m =
        parse(HEAD ".entry a() { .reg .f32 %f<9>; tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, [%f5,%f6]]; ret; }\n"
                   ".entry b() { ret; }",
              NULL);
    REQUIRE(m != NULL);
    CHECK(strstr(m->funcs[0].refusal, "line 4") != NULL);
    CHECK(strstr(m->funcs[0].refusal, "tex.2d") != NULL);
    CHECK_STR(m->funcs[1].refusal, "");
    ptx_free(m);
}

TEST(faults_name_their_line)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"", "line 1"},
        {"hello", "line 1"},
        {HEAD "\n.entry k( { }", "line 5"},
        {HEAD ".entry k() { .reg .b32 %r<2>;\n @%p1 ret; }", "line 5"},
        {HEAD ".entry k() { ret;", "line 4"},
        {HEAD ".global .u32 a[2] = {1,2,3};", "line 4"},
        {HEAD ".global .u32 a[99999999][99999999];", "line 4"},
        {HEAD ".global .align 3 .u32 a;", "line 4"},
        {HEAD ".entry k() { .reg .b32 %r<4000000000>; ret; }", "line 4"},
        {HEAD ".entry k() { mov.u32 %r1", "line 4"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char error[256] = "";
        struct ptx_module *m = parse(cases[k].text, error);
        if (m)
            WS_FAIL("case %zu was accepted", k);
        if (!strstr(error, cases[k].line))
            WS_FAIL("case %zu: '%s' does not say %s", k, error, cases[k].line);
        ptx_free(m);
    }
}

TEST(deep_nesting_ends_in_an_error)
{
    char *text = calloc(1, 300000);
    char error[256] = "";
    strcat(text, HEAD ".entry k() ");
    memset(text + strlen(text), '{', 100000);
    CHECK(parse(text, error) == NULL);
    text[0] = '\0';
    strcat(text, HEAD ".global .u32 a[4] = ");
    memset(text + strlen(text), '{', 100000);
    CHECK(parse(text, error) == NULL);
    free(text);
}

TEST(every_truncation_of_real_ptx_is_harmless)
{
    FILE *f = fopen("kernels/ptx/reduce_tree.ptx", "rb");
    char *text = calloc(1, 65536);
    size_t n;
    int whole = 0;
    REQUIRE(f != NULL);
    n = fread(text, 1, 65535, f);
    fclose(f);
    for (size_t cut = 0; cut <= n; cut += 7) {
        char *copy = malloc(cut ? cut : 1); /* no byte after the end: a sanitizer sees every read past it */
        struct ptx_module *m = NULL;
        char error[256];
        memcpy(copy, text, cut);
        if (ptx_parse(copy, cut, &m, error, sizeof error) == 0) {
            whole++;
            ptx_free(m);
        }
        free(copy);
    }
    CHECK(whole > 0);
    free(text);
}
