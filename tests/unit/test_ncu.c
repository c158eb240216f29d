/* SPDX-License-Identifier: MIT
 * test_ncu.c: `ncu --csv --page details` is read as far as it can be trusted. The text here is made up. */
#include "../../analyzer/err.h"
#include "../../server/ncu.h"
#include "capture.h"
#include "test.h"

#include <zlib.h>

#define TITLES                                                                                         \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","     \
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\"," \
    "\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\","    \
    "\"Estimated Speedup\"\n"
#define ROW(id, kernel, block, grid, rule, text, type, speedup)                          \
    "\"" id "\",\"7\",\"app\",\"host\",\"" kernel "\",\"1\",\"7\",\"" block "\",\"" grid \
    "\",\"0\",\"9.0\",\"Section\",\"\",\"\",\"\",\"" rule "\",\"OPT\",\"" text "\",\"" type "\",\"" speedup "\"\n"

static const char file[] =
    "==PROF== Connected to process 7\nresult: \"all right\"\n" TITLES
    "\"0\",\"7\",\"app\",\"host\",\"tile<32>(const float *, float *)\",\"1\",\"7\",\"(32, 32, 1)\",\"(32, 32, "
    "1)\",\"0\",\"9.0\","
    "\"GPU Speed Of Light Throughput\",\"Duration\",\"us\",\"8.58\",\"\",\"\",\"\",\"\",\"\"\n" ROW(
        "0", "tile<32>(const float *, float *)", "(32, 32, 1)", "(32, 32, 1)", "Tail",
        "a \"\"quoted\"\" text,\nof two lines", "global", "12.5")
        ROW("0", "tile<32>(const float *, float *)", "(32, 32, 1)", "(32, 32, 1)", "Stall", "", "global", "31.25")
            ROW("0", "tile<32>(const float *, float *)", "(32, 32, 1)", "(32, 32, 1)", "Conflicts", "", "local", "71")
                ROW("1", "void ns::copy<(int)4>(float4 *)", "(256, 1, 1)", "(4096, 1, 1)", "Occupancy", "", "local",
                    "50.01 %")
                    ROW("2", "tile<32>(const float *, float *)", "(32, 32, 1)", "(32, 32, 1)", "Later", "", "global",
                        "99") "\"3\",\"7\",\"app\",\"host\",\"plain(int *)\",\"1\",\"7\",\"(64, 1, 1)\",\"(1, 1, "
                              "1)\",\"0\",\"9.0\",\"S\",\"Duration\",\"us\",\"2\",\"\",\"\",\"\",\"\",\"\"\r\n";

static struct ws_ncu *parsed(const char *text, size_t length)
{
    struct ws_ncu *ncu = NULL;
    char message[200];
    char *copy = malloc(length > 0 ? length : 1); /* not a byte to spare: a sanitizer sees any read beyond */
    int err;
    memcpy(copy, text, length);
    err = ws_ncu_parse(copy, length, &ncu, message, sizeof message);
    free(copy);
    if (err != 0)
        WS_FAIL("%s", message);
    return ncu;
}

static bool find(const struct ws_ncu *ncu, const char *name, struct ws_dim3 grid, struct ws_dim3 block,
                 struct ws_ncu_advice *out)
{
    struct ws_word word = {name, strlen(name)};
    return ws_ncu_find(ncu, word, grid, block, out);
}

static const struct ws_dim3 square = {32, 32, 1};

TEST(the_largest_global_estimate_of_the_first_launch_counts_and_a_local_one_stays_apart)
{
    struct ws_ncu *ncu = parsed(file, sizeof file - 1);
    struct ws_ncu_advice a;
    REQUIRE(ncu != NULL);
    CHECK_INT(ws_ncu_launches(ncu), 4);
    CHECK_INT(ws_ncu_left_out(ncu), 0);
    REQUIRE(find(ncu, "tile<32>", square, square, &a));
    CHECK_NEAR(a.global.number, 0.3125, 0);
    CHECK_STR(a.global_rule, "Stall");
    CHECK_NEAR(a.local.number, 0.71, 1e-12);
    CHECK_STR(a.local_rule, "Conflicts");
    REQUIRE(find(ncu, "copy<4>", (struct ws_dim3){4096, 1, 1}, (struct ws_dim3){256, 1, 1}, &a));
    CHECK(!ws_has(a.global));
    CHECK_NEAR(a.local.number, 0.5001, 1e-12);
    REQUIRE(find(ncu, "plain", (struct ws_dim3){1, 1, 1}, (struct ws_dim3){64, 1, 1}, &a));
    CHECK(!ws_has(a.global) && !ws_has(a.local));
    ws_ncu_free(ncu);
}

TEST(another_geometry_or_name_is_another_launch)
{
    struct ws_ncu *ncu = parsed(file, sizeof file - 1);
    struct ws_ncu_advice a;
    REQUIRE(ncu != NULL);
    CHECK(!find(ncu, "tile<32>", (struct ws_dim3){32, 31, 1}, square, &a));
    CHECK(!find(ncu, "tile<32>", square, (struct ws_dim3){32, 32, 2}, &a));
    CHECK(!find(ncu, "tile<33>", square, square, &a));
    ws_ncu_free(ncu);
}

TEST(a_row_that_cannot_be_trusted_is_left_out_and_counted)
{
    static const char *const rows[] = {
        ROW("0", "k()", "(1, 1, 1)", "(1, 1, 1)", "R", "", "global", "x"),
        ROW("0", "k()", "(1, 1, 1)", "(1, 1, 1)", "R", "", "global", "-5"),
        ROW("0", "k()", "(1, 1, 1)", "(1, 1, 1)", "R", "", "global", "100.5"),
        ROW("0", "k()", "(1, 1, 1)", "(1, 1, 1)", "R", "", "global", "1e400"),
        ROW("0", "k()", "(1, 1, 1)", "(1, 1, 1)", "R", "", "global", "nan"),
        ROW("0", "k()", "(1, 1, 1)", "(1, 1, 1)", "R", "", "galactic", "5"),
        ROW("0", "k()", "(1, 1, 1)", "(1, 1, 1)", "R", "", "", "5"),
        ROW("0", "k()", "(1, 1)", "(1, 1, 1)", "R", "", "global", "5"),
        ROW("0", "k()", "(1, 1, 1)", "(1, 4294967296, 1)", "R", "", "global", "5"),
        ROW("0", "k()", "(1, 1.5, 1)", "(1, 1, 1)", "R", "", "global", "5"),
        ROW("0", "k()", "", "", "R", "", "global", "5"),
        "\"0\",\"k()\"\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4096];
        int n = snprintf(text, sizeof text, "%s%s", TITLES, rows[i]);
        struct ws_ncu *ncu = parsed(text, (size_t)n);
        struct ws_ncu_advice a;
        REQUIRE(ncu != NULL);
        if (ws_ncu_left_out(ncu) != 1 ||
            (find(ncu, "k", (struct ws_dim3){1, 1, 1}, (struct ws_dim3){1, 1, 1}, &a) && ws_has(a.global)))
            WS_FAIL("row %zu: %zu left out", i, ws_ncu_left_out(ncu));
        ws_ncu_free(ncu);
    }
}

TEST(a_file_of_something_else_is_refused_in_a_sentence)
{
    static const char *const texts[] = {"", "\n\n", "ID;Kernel Name\n", "\"ID\",\"Kernel Name\",\"Grid Size\"\n",
                                        "==ERROR== no kernels were profiled\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ws_ncu *ncu = NULL;
        char message[200] = "";
        CHECK_INT(ws_ncu_parse(texts[i], strlen(texts[i]), &ncu, message, sizeof message), -WS_ESYNTAX);
        CHECK(ncu == NULL && strlen(message) > 20);
    }
}

TEST(a_text_cut_or_changed_at_any_byte_is_read_or_refused)
{
    char message[200];
    for (size_t length = 0; length < sizeof file - 1; length++) {
        struct ws_ncu *ncu = NULL;
        char *copy = malloc(length + 1);
        memcpy(copy, file, length);
        if (ws_ncu_parse(copy, length, &ncu, message, sizeof message) == 0)
            CHECK(ws_ncu_launches(ncu) <= 5);
        free(copy);
        ws_ncu_free(ncu);
    }
    for (size_t at = 0; at < sizeof file - 1; at++)
        for (int byte = 0; byte < 256; byte += 17) {
            struct ws_ncu *ncu = NULL;
            char copy[sizeof file];
            memcpy(copy, file, sizeof file);
            copy[at] = (char)byte;
            (void)ws_ncu_parse(copy, sizeof file - 1, &ncu, message, sizeof message);
            ws_ncu_free(ncu);
        }
}

TEST(plain_and_compressed_files_are_read_alike_and_damaged_ones_refused)
{
    struct ws_ncu *ncu = NULL;
    char message[200];
    gzFile out;
    struct stat st;
    write_file(scratch_file("plain.csv"), file, sizeof file - 1);
    REQUIRE(ws_ncu_read(scratch_file("plain.csv"), &ncu, message, sizeof message) == 0);
    CHECK_INT(ws_ncu_launches(ncu), 4);
    ws_ncu_free(ncu);
    out = gzopen(scratch_file("packed.csv.gz"), "wb");
    REQUIRE(out != NULL);
    CHECK_INT(gzwrite(out, file, sizeof file - 1), (int)sizeof file - 1);
    CHECK_INT(gzclose(out), Z_OK);
    REQUIRE(ws_ncu_read(scratch_file("packed.csv.gz"), &ncu, message, sizeof message) == 0);
    CHECK_INT(ws_ncu_launches(ncu), 4);
    ws_ncu_free(ncu);
    REQUIRE(stat(scratch_file("packed.csv.gz"), &st) == 0 &&
            truncate(scratch_file("packed.csv.gz"), st.st_size / 2) == 0);
    ncu = NULL;
    CHECK(ws_ncu_read(scratch_file("packed.csv.gz"), &ncu, message, sizeof message) != 0);
    CHECK(ncu == NULL);
    CHECK_INT(ws_ncu_read(scratch_file("nothing.csv"), &ncu, message, sizeof message), -WS_EIO);
    CHECK_INT(ws_ncu_read(scratch_file(""), &ncu, message, sizeof message), -WS_EIO); /* a folder */
}
