/* SPDX-License-Identifier: MIT
 * test_line_table.c: lines of a cubin's instructions, and their text. The cubin is tests/fake_cupti/sampled.cubin (its
 * source says how it was made); lines are those that CUPTI's cuptiGetSassToSourceCorrelation gives for it, too. */
#include "../../analyzer/err.h"
#include "../../server/line_table.h"
#include "../../server/sass.h"
#include "../../server/tool.h"
#include "capture.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char transpose[] = "_Z9transposePKfPf";

static uint8_t *read_cubin(size_t *length)
{
    static uint8_t bytes[16384];
    FILE *f = fopen("tests/fake_cupti/sampled.cubin", "rb");
    if (!f) {
        WS_FAIL("no %s", "tests/fake_cupti/sampled.cubin");
        exit(1);
    }
    *length = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

static uint32_t line_at(const struct ws_line_table *t, uint64_t pc)
{
    const struct ws_line_row *row = ws_line_table_find(t, pc);
    return row ? row->line : 0;
}

TEST(each_instruction_has_the_line_that_cupti_gives_it)
{
    static const struct {
        uint64_t pc;
        uint32_t line;
    } expected[] = {{0x000, 13}, {0x010, 16}, {0x020, 17}, {0x030, 17}, {0x040, 16}, {0x0b0, 17}, {0x0c0, 19},
                    {0x0d0, 17}, {0x0e0, 19}, {0x0f0, 10}, {0x100, 19}, {0x110, 17}, {0x120, 18}, {0x130, 19},
                    {0x150, 19}, {0x160, 20}, {0x1f0, 20}, {0x200, 0},  {0x300, 0}};
    struct ws_line_table t;
    size_t length;
    const uint8_t *cubin = read_cubin(&length);
    REQUIRE(ws_line_table_read(cubin, length, transpose, &t) == 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        CHECK_INT(line_at(&t, expected[i].pc), expected[i].line);
    CHECK_INT(t.file_count, 1);
    CHECK_STR(t.files[0], "/tmp/ws-sampled-000000/sampled.cu");
    ws_line_table_fini(&t);
}

TEST(inlined_code_says_where_it_was_called)
{
    struct ws_line_table t;
    size_t length;
    const uint8_t *cubin = read_cubin(&length);
    const struct ws_line_row *row;
    REQUIRE(ws_line_table_read(cubin, length, transpose, &t) == 0);
    row = ws_line_table_find(&t, 0xf0);
    REQUIRE(row != NULL);
    CHECK_INT(row->line, 10);
    CHECK_INT(row->call_line, 17);
    CHECK_INT(row->call_file, 0);
    row = ws_line_table_find(&t, 0x100);
    REQUIRE(row != NULL);
    CHECK_INT(row->call_line, 0);
    ws_line_table_fini(&t);
}

TEST(two_functions_have_tables_of_their_own)
{
    struct ws_line_table t;
    size_t length;
    const uint8_t *cubin = read_cubin(&length);
    REQUIRE(ws_line_table_read(cubin, length, "_Z6vecaddPKfS0_Pf", &t) == 0);
    CHECK_INT(line_at(&t, 0), 22);
    CHECK_INT(line_at(&t, 0xe0), 25);
    CHECK_INT(line_at(&t, 0x1f0), 26);
    ws_line_table_fini(&t);
    CHECK_INT(ws_line_table_read(cubin, length, "_Z6vecadd", &t), -WS_ENOENT);
    ws_line_table_fini(&t);
    CHECK_INT(ws_line_table_read(cubin, length, "", &t), -WS_ENOENT);
    ws_line_table_fini(&t);
}

TEST(code_without_line_info_says_so)
{
    struct ws_line_table t;
    size_t length;
    uint8_t *cubin = read_cubin(&length);
    uint8_t *name = memmem(cubin, length, ".debug_line", 12);
    REQUIRE(name != NULL);
    name[1] = 'x';
    CHECK_INT(ws_line_table_read(cubin, length, transpose, &t), -WS_EUNSUP);
    ws_line_table_fini(&t);
}

/* A whole file that is not there lies behind: a sanitizer sees each byte too far. */
static void read_copy(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length + 1);
    struct ws_line_table t;
    uint32_t index;
    uint64_t offset;
    if (!copy)
        exit(1);
    memcpy(copy + 1, bytes, length);
    (void)ws_line_table_read(copy + 1, length, transpose, &t);
    for (uint64_t pc = 0; pc < 64; pc++)
        (void)ws_line_table_find(&t, pc);
    ws_line_table_fini(&t);
    (void)ws_cubin_symbol(copy + 1, length, transpose, &index, &offset);
    free(copy);
}

TEST(a_cubin_cut_at_any_byte_is_read_without_harm)
{
    size_t length;
    const uint8_t *cubin = read_cubin(&length);
    struct ws_line_table t;
    for (size_t n = 0; n < length; n += n < 600 ? 1 : 37)
        read_copy(cubin, n);
    CHECK_INT(ws_line_table_read(cubin, 63, transpose, &t), -WS_ECORRUPT);
    ws_line_table_fini(&t);
    CHECK_INT(ws_line_table_read((const uint8_t *)"no ELF", 6, transpose, &t), -WS_ECORRUPT);
    ws_line_table_fini(&t);
}

TEST(a_cubin_with_any_byte_changed_is_read_without_harm)
{
    static const uint8_t changes[] = {0x00, 0x7f, 0x80, 0xff};
    size_t length;
    uint8_t *cubin = read_cubin(&length);
    /* Headers, tables of texts, symbols and the line table are in the first part; section headers at the end. */
    for (size_t i = 0; i < length; i += i < 0xd00 || i > length - 1700 ? 1 : 61) {
        uint8_t old = cubin[i];
        for (size_t c = 0; c < sizeof changes; c++) {
            cubin[i] = changes[c];
            read_copy(cubin, length);
        }
        cubin[i] = old;
    }
}

TEST(a_disassembly_is_taken_of_the_wanted_function_alone)
{
    static const char nvdisasm[] = "\t.headerflags\t@\"EF_CUDA_SM90\"\n"
                                   ".text._Z1a:\n"
                                   "        /*0000*/                   NOP ;\n"
                                   "//--------------------- .text._Z1k --------------------------\n"
                                   "\t.section\t.text._Z1k,\"ax\",@progbits\n"
                                   "_Z1k:\n"
                                   ".text._Z1k:\n"
                                   "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
                                   ".L_x_0:\n"
                                   "        /*0010*/              @!P0 BRA `(.L_x_0) ;\n"
                                   "        /*0020*/                   EXIT ;   \n"
                                   ".text._Z1b:\n"
                                   "        /*0000*/                   NOP ;\n";
    static const char cuobjdump[] =
        "\t\tFunction : _Z1k\n"
        "\t.headerflags\t@\"EF_CUDA_SM90\"\n"
        "        /*0000*/                   LDC R1, c[0x0][0x28] ;    /* 0x00000a00ff017b82 */\n"
        "                                                             /* 0x000fe20000000800 */\n"
        "        /*0010*/              @!P0 BRA 0x0 ;                 /* 0x0000000000007947 */\n"
        "\t\tFunction : _Z1b\n"
        "        /*0020*/                   NOP ;                     /* 0x0000000000007918 */\n";
    struct ws_sass s = {NULL, 0, 0};
    CHECK_INT(ws_sass_parse(nvdisasm, "_Z1k", 0, &s), 0);
    CHECK_INT(s.count, 3);
    CHECK_STR(ws_sass_find(&s, 0), "LDC R1, c[0x0][0x28]");
    CHECK_STR(ws_sass_find(&s, 0x10), "@!P0 BRA `(.L_x_0)");
    CHECK(ws_sass_find(&s, 8) == NULL && ws_sass_find(&s, 0x30) == NULL);
    ws_sass_fini(&s);
    CHECK_INT(ws_sass_parse(cuobjdump, "_Z1k", 0, &s), 0);
    CHECK_INT(s.count, 2);
    CHECK_STR(ws_sass_find(&s, 0x10), "@!P0 BRA 0x0");
    ws_sass_fini(&s);
    CHECK_INT(ws_sass_parse("", "_Z1k", 0, &s), 0);
    CHECK_INT(ws_sass_parse(".text._Z1k:\n/*\n/*00*/\n/*zz*/ A ;\n/*0x10*/ A ;\n/*0010*/ ;\n;", "_Z1k", 0, &s), 0);
    CHECK_INT(s.count, 0);
    CHECK_INT(ws_sass_parse(".text.:\n:\n.text._Z1k:", "_Z1k", 0, &s), 0);
    ws_sass_fini(&s);
}

static const char *tool_says(const char *script, unsigned timeout_ms, size_t most, int *err)
{
    static char *text;
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct ws_tool_run run = {.argv = argv, .file = -1, .timeout_ms = timeout_ms, .most = most};
    size_t length = 0;
    free(text);
    text = NULL;
    *err = ws_tool_run(&run, &text, &length);
    return text ? text : "";
}

TEST(a_tool_has_an_end_to_its_time_and_to_its_text)
{
    int err;
    CHECK_STR(tool_says("echo said; echo no >&2; cat", 5000, 100, &err), "said\n");
    CHECK_INT(err, 0);
    CHECK_STR(tool_says("echo wrong; exit 3", 5000, 100, &err), "wrong\n");
    CHECK_INT(err, -WS_EUNSUP);
    (void)tool_says("sleep 60", 100, 100, &err);
    CHECK_INT(err, -WS_EBUSY);
    (void)tool_says("yes", 5000, 1000, &err);
    CHECK_INT(err, -WS_ELIMIT);
}

TEST(a_disassembler_is_given_the_cubin_and_what_it_lacks_is_said)
{
    char folder[200], path[300];
    size_t length;
    const uint8_t *cubin = read_cubin(&length);
    struct ws_sass s;
    FILE *f;
    snprintf(folder, sizeof folder, "%s", scratch_file("tools"));
    CHECK_INT(mkdir(folder, 0700), 0);
    setenv("PATH", folder, 1);
    setenv("CUDA_HOME", folder, 1);
    if (access("/usr/local/cuda/bin/nvdisasm", X_OK) != 0 && access("/usr/local/cuda/bin/cuobjdump", X_OK) != 0)
        CHECK_INT(ws_sass_read(cubin, length, transpose, &s), -WS_ENOENT);
    snprintf(path, sizeof path, "%s/nvdisasm", folder);
    f = fopen(path, "w");
    REQUIRE(f != NULL);
    /* It says how many bytes it was given, as an instruction. */
    fputs("#!/bin/sh\nPATH=/usr/bin:/bin\n[ \"$1 $2\" = '-c -fun' ] || exit 1\n"
          "printf '.text._Z9transposePKfPf:\\n/*0010*/ BYTES %s ;\\n' $(wc -c <\"$4\")\n",
          f);
    fclose(f);
    CHECK_INT(chmod(path, 0700), 0);
    REQUIRE(ws_sass_read(cubin, length, transpose, &s) == 0);
    CHECK_STR(ws_sass_find(&s, 0x10), "BYTES 9184");
    ws_sass_fini(&s);
    CHECK_INT(unlink(path), 0); /* asked again, it is not run again */
    REQUIRE(ws_sass_read(cubin, length, transpose, &s) == 0);
    CHECK_STR(ws_sass_find(&s, 0x10), "BYTES 9184");
    ws_sass_fini(&s);
    f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs("#!/bin/sh\necho nothing\n", f);
    fclose(f);
    CHECK_INT(chmod(path, 0700), 0);
    CHECK_INT(ws_sass_read(cubin, length, "_Z6vecaddPKfS0_Pf", &s), -WS_EUNSUP);
    ws_sass_fini(&s);
    CHECK_INT(ws_sass_read((const uint8_t *)"nothing", 7, transpose, &s), -WS_ECORRUPT);
    ws_sass_fini(&s);
}
