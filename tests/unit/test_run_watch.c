/* SPDX-License-Identifier: MIT
 * test_run_watch.c: counting what is in a spool that is being written, and when a line about it is due. */
#include "../../server/run_watch.h"
#include "capture.h"
#include "test.h"

#define TOKEN "cccccccccccccccccccccccccccccccc"

static struct ws_run_watch watch;
static char *told;
static size_t told_length;

static void begin(void)
{
    ws_run_watch_begin(&watch, scratch(), TOKEN);
    watch.out = open_memstream(&told, &told_length);
}

static const char *path_of(const char *agent, const char *file)
{
    char name[200];
    mkdir(scratch_file(TOKEN), 0700);
    snprintf(name, sizeof name, TOKEN "/%s", agent);
    mkdir(scratch_file(name), 0700);
    snprintf(name, sizeof name, TOKEN "/%s/%s", agent, file);
    return scratch_file(name);
}

/* A segment with so many launches traced and measured; its first `bytes` (0 = all) lie in the file. */
static void put(const char *agent, const char *file, unsigned traced, unsigned measured, size_t bytes)
{
    struct capture c = {.bytes = NULL};
    FILE *out = fopen(path_of(agent, file), "w");
    capture_segment(&c, agent, (uint32_t)atoi(file));
    put_greeting(&c, agent, TOKEN, "measured");
    for (unsigned i = 0; i < traced; i++)
        put_kernel(&c, &(struct ws_rec_kernel){.name = 1, .start_ns = i, .end_ns = i + 1});
    for (unsigned i = 0; i < measured; i++)
        put_profile(&c, &(struct ws_rec_profile){.profile = i + 1, .name = 1});
    CHECK(out != NULL);
    CHECK_INT(fwrite(c.bytes, 1, bytes ? bytes : c.used, out), bytes ? bytes : c.used);
    fclose(out);
    free(c.bytes);
}

static void look(double after_s)
{
    ws_run_watch_look_at(&watch, watch.started_s + after_s);
}

TEST(launches_of_all_processes_are_counted_as_they_come)
{
    begin();
    look(1);
    CHECK_INT(watch.launches, 0);
    put(AGENT_A, "00000000.open", 3, 0, 0);
    put(AGENT_B, "00000000.open", 2, 0, 0);
    look(2);
    CHECK_INT(watch.launches, 5);
    CHECK_INT(watch.measured, 0);
    put(AGENT_A, "00000000.open", 7, 1, 0); /* grew: its first frames are as they were */
    look(3);
    CHECK_INT(watch.launches, 9);
    CHECK_INT(watch.measured, 1);
    CHECK_INT(watch.agent_count, 2);
    CHECK(!watch.is_least);
    ws_run_watch_end(&watch);
}

TEST(a_frame_that_is_not_whole_yet_waits)
{
    begin();
    put(AGENT_A, "00000000.open", 3, 0, 0);
    struct stat st;
    CHECK_INT(stat(path_of(AGENT_A, "00000000.open"), &st), 0);
    put(AGENT_A, "00000000.open", 3, 0, (size_t)st.st_size - 1);
    look(1);
    CHECK_INT(watch.launches, 2);
    put(AGENT_A, "00000000.open", 3, 0, 0);
    look(2);
    CHECK_INT(watch.launches, 3);
    ws_run_watch_end(&watch);
}

TEST(a_segment_that_a_daemon_took_is_counted_to_its_end)
{
    begin();
    put(AGENT_A, "00000000.open", 3, 0, 0);
    look(1);
    put(AGENT_A, "00000000.open", 4, 0, 0);
    put(AGENT_A, "00000001.open", 1, 0, 0);
    CHECK_INT(unlink(path_of(AGENT_A, "00000000.open")), 0);
    look(2);
    CHECK_INT(watch.launches, 5);
    CHECK(!watch.is_least);
    ws_run_watch_end(&watch);
}

TEST(one_that_came_and_went_makes_it_at_least)
{
    begin();
    put(AGENT_A, "00000000.done", 3, 0, 0);
    look(1);
    CHECK(!watch.is_least);
    put(AGENT_A, "00000002.open", 1, 1, 0);
    look(6);
    CHECK_INT(watch.launches, 4);
    CHECK(watch.is_least);
    fflush(watch.out);
    CHECK_STR(told, "==WARPSIGHT== 6 s: at least 4 launches traced (0.667/s), 1 measured, in 1 process so far\n");
    ws_run_watch_end(&watch);
}

TEST(what_is_no_spool_counts_nothing)
{
    FILE *out = fopen(path_of(AGENT_A, "00000000.open"), "w");
    CHECK(out != NULL);
    for (int i = 0; i < 100000; i++)
        fputc(i * 7, out);
    fclose(out);
    mkdir(path_of(AGENT_A, "00000001.open"), 0700);
    mkdir(scratch_file(TOKEN "/not-an-agent"), 0700);
    begin();
    look(1);
    look(10);
    CHECK_INT(watch.launches + watch.measured, 0);
    fflush(watch.out);
    CHECK_INT(told_length, 0);
    ws_run_watch_end(&watch);
}

TEST(a_line_comes_after_five_seconds_and_then_after_twice_the_time)
{
    unsigned lines = 0;
    begin();
    put(AGENT_A, "00000000.open", 10, 2, 0);
    for (int s = 1; s <= 100; s++)
        look(s);
    fflush(watch.out);
    for (const char *c = told; *c; c++)
        lines += *c == '\n';
    CHECK_INT(lines, 5); /* 5, 10, 20, 40, 80 s */
    CHECK(strstr(told, "==WARPSIGHT== 5 s: 10 launches traced (2/s), 2 measured, in 1 process so far\n"));
    CHECK(strstr(told, "==WARPSIGHT== 80 s: "));
    ws_run_watch_end(&watch);
}

TEST(without_a_terminal_nothing_is_read_or_said)
{
    CHECK(freopen("/dev/null", "w", stderr) != NULL);
    put(AGENT_A, "00000000.open", 10, 2, 0);
    ws_run_watch_begin(&watch, scratch(), TOKEN);
    CHECK(watch.out == NULL);
    look(100);
    CHECK_INT(watch.agent_count, 0);
    ws_run_watch_end(&watch);
}
