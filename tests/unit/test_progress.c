/* SPDX-License-Identifier: MIT
 * test_progress.c: the line about long work: what it says, how wide it is, how often it is written, and where not. */
#include "../../server/progress.h"
#include "test.h"

TEST(the_line_says_how_far_how_fast_and_how_long_still)
{
    static const struct {
        struct ws_progress_now now;
        const char *text;
    } cases[] = {
        {{"import a.wscap", "B", 40000000, 160000000, 2, NULL},
         "import a.wscap: 40.0 MB of 160 MB, 20.0 MB/s, 6 s left"},
        {{"push", "sessions", 250, 1000, 50, NULL}, "push: 250 of 1000 sessions, 5/s, 2 min 30 s left"},
        {{"push", "sessions", 1, 1000, 10, NULL}, "push: 1 of 1000 sessions, 0.10/s, 2 h 46 min left"},
        {{"push", "sessions", 1000, 1000, 10, NULL}, "push: 1000 of 1000 sessions, 100/s, 0 s left"},
        {{"read", "B", 5000, 0, 1, NULL}, "read: 5,000 B, 5,000 B/s"},          /* a pipe has no length */
        {{"gemm", "blocks", 0, 64, 3, NULL}, "gemm: 0 of 64 blocks"},           /* nothing done: no rate, no time */
        {{"gemm", "blocks", 1, 64, 0, NULL}, "gemm: 1 of 64 blocks, 0 s left"}, /* no time passed: no rate */
        {{"read", "B", 2000, 1000, 1, NULL}, "read: 2,000 B of 1,000 B, 2,000 B/s"}, /* a file that grew: no time */
        {{"gemm", "blocks", 16, 64, 4, "812 M PTX warp instructions/s"},
         "gemm: 16 of 64 blocks, 812 M PTX warp instructions/s, 12 s left"},
        {{"push", "sessions", 1, UINT64_MAX, 1, NULL},
         "push: 1 of 18446744073709551615 sessions, 1/s, 277777 h 46 min left"},
    };
    char out[200];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(ws_progress_text(out, sizeof out, 0, &cases[i].now), strlen(cases[i].text));
        CHECK_STR(out, cases[i].text);
    }
}

TEST(a_narrow_terminal_cuts_the_name_and_no_number)
{
    struct ws_progress_now now = {"import caf\xc3\xa9/caf\xc3\xa9.wscap", "B", 1000, 4000, 1, NULL};
    char out[200];
    ws_progress_text(out, sizeof out, 62, &now); /* the whole line has 63 columns */
    CHECK_STR(out, "import caf\xc3\xa9/caf\xc3\xa9.wsc\xe2\x80\xa6: 1,000 B of 4,000 B, 1,000 B/s, 3 s left");
    ws_progress_text(out, sizeof out, 63, &now);
    CHECK_STR(out, "import caf\xc3\xa9/caf\xc3\xa9.wscap: 1,000 B of 4,000 B, 1,000 B/s, 3 s left");
    ws_progress_text(out, sizeof out, 20, &now);
    CHECK_STR(out, "1,000 B of 4,000 B, 1,000 B/s, 3 s left");
}

TEST(a_name_cannot_command_the_terminal_and_a_long_one_fits_its_room)
{
    struct ws_progress_now now = {"a\x1b[2J\nb", "B", 1000, 0, 0, NULL};
    char name[2000], out[64];
    ws_progress_text(out, sizeof out, 0, &now);
    CHECK_STR(out, "a?[2J?b: 1,000 B");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    now.what = name;
    CHECK_INT(ws_progress_text(out, sizeof out, 0, &now), sizeof out - 1);
    CHECK_INT(strlen(out), sizeof out - 1);
}

/* What a line of work writes when it tells at these times. */
static char *written(const double *times, size_t count, bool ends)
{
    char *text = NULL;
    size_t length = 0;
    struct ws_progress p = {.what = "w", .unit = "steps", .out = open_memstream(&text, &length)};
    for (size_t i = 0; i < count; i++)
        ws_progress_tell_at(&p, times[i], i + 1, count, "r");
    if (ends)
        ws_progress_end(&p);
    fclose(p.out);
    return text;
}

TEST(a_line_is_written_over_at_most_five_times_a_second)
{
    double times[1001];
    size_t lines = 0;
    for (size_t i = 0; i < 1001; i++)
        times[i] = 0.001 * (double)i;
    char *text = written(times, 1001, false);
    for (const char *at = text; (at = strstr(at, "\r\033[K")) != NULL; at++)
        lines++;
    CHECK(lines >= 4 && lines <= 5); /* 0.2, 0.4, 0.6, 0.8, 1.0 s, as far as 0.001 adds up to them */
    CHECK(!strchr(text, '\n'));
    free(text);
}

TEST(short_work_shows_nothing_and_wipes_nothing)
{
    char *text = written((const double[]){0, 0.1, 0.19}, 3, true);
    CHECK_STR(text, "");
    free(text);
}

TEST(the_end_wipes_the_line)
{
    char *text = written((const double[]){0.25}, 1, true);
    CHECK_STR(text, "\r\033[Kw: 1 of 1 steps, r, 0 s left\r\033[K");
    free(text);
}

TEST(where_stderr_is_no_terminal_nothing_is_shown)
{
    struct ws_progress p;
    ws_progress_tell(NULL, 1, 2, NULL);
    ws_progress_end(NULL);
    CHECK(freopen("/dev/null", "w", stderr) != NULL);
    ws_progress_begin(&p, "w", "steps", false);
    CHECK(p.out == NULL);
    ws_progress_tell_at(&p, p.started_s + 10, 1, 2, NULL);
    CHECK(!p.has_line);
}
