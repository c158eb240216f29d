/* SPDX-License-Identifier: MIT
 * test_text.c: what reaches a terminal: tamed, aligned, cut to its width; log lines stay one line. */
#include "../../server/log.h"
#include "../../server/text.h"
#include "test.h"

static char *printed(void (*print)(const struct ws_text_out *t, const void *data), const void *data, unsigned width)
{
    char *text = NULL;
    size_t length = 0;
    struct ws_text_out t = {.out = open_memstream(&text, &length), .width = width};
    print(&t, data);
    fclose(t.out);
    return text;
}

TEST(foreign_text_cannot_command_a_terminal)
{
    static const char *const cases[][2] = {
        {"plain <b>&\"'", "plain <b>&\"'"},
        {"\x1b[31mred\x1b]0;title\x07", "?[31mred?]0;title?"},
        {"a\nb\tc\r\x7f", "a?b?c??"},
        {"\xc2\x9b"
         "31m",
         "??31m"}, /* U+009B is CSI */
        {"caf\xc3\xa9 \xc2\xb5s \xe2\x80\xa6", "caf\xc3\xa9 \xc2\xb5s \xe2\x80\xa6"},
        {"\xff\xc3(\xe2\x80", "?"
                              "?("
                              "??"},
        {"\xed\xa0\x80|\xe0\x80\x8a|\xf4\x90\x80\x80", "?\?\?|?\?\?|????"}, /* surrogate, overlong, too great */
        {"", ""},
    };
    struct ws_arena arena = {NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_STR(ws_text_tame(&arena, cases[i][0]), cases[i][1]);
    ws_arena_fini(&arena);
}

TEST(columns_are_characters_and_not_bytes)
{
    CHECK_INT(ws_text_columns(""), 0);
    CHECK_INT(ws_text_columns("15 \xc2\xb5s"), 5);
    CHECK_INT(ws_text_columns("\xe2\x80\xa6"), 1);
}

static void print_table(const struct ws_text_out *t, const void *data)
{
    struct ws_table table;
    (void)data;
    ws_table_init(&table, "rl");
    ws_table_add(&table, "time");
    ws_table_add(&table, "kernel");
    ws_table_printf(&table, "%d \xc2\xb5s", 5);
    ws_table_add(&table, "a_long_name_of_a_kernel_that_goes_on");
    ws_table_add(&table, "150 ms");
    ws_table_add(&table, "k\x1b[2J");
    ws_table_print(&table, t);
}

TEST(a_table_aligns_its_columns_and_cuts_only_the_last)
{
    char *text = printed(print_table, NULL, 0);
    CHECK_STR(text, "  time  kernel\n"
                    "  5 \xc2\xb5s  a_long_name_of_a_kernel_that_goes_on\n"
                    "150 ms  k?[2J\n");
    free(text);
    text = printed(print_table, NULL, 20);
    CHECK_STR(text, "  time  kernel\n"
                    "  5 \xc2\xb5s  a_long_name\xe2\x80\xa6\n"
                    "150 ms  k?[2J\n");
    free(text);
}

static void print_wrapped(const struct ws_text_out *t, const void *data)
{
    ws_text_wrap(t, data, 4, 2);
}

TEST(long_text_breaks_between_words_and_is_indented)
{
    char *text = printed(print_wrapped, "one two  three\nfour", 14);
    CHECK_STR(text, "one two\n  three four\n");
    free(text);
    text = printed(print_wrapped, "", 14);
    CHECK_STR(text, "\n");
    free(text);
    text = printed(print_wrapped, "averyveryverylongword x", 14);
    CHECK_STR(text, "averyveryverylongword\n  x\n");
    free(text);
}

static void print_styled(const struct ws_text_out *t, const void *data)
{
    struct ws_text_out colored = *t;
    colored.color = data != NULL;
    ws_text_printf(&colored, WS_RED, "%d", 7);
    ws_text_put(&colored, WS_PLAIN, "x");
}

TEST(colour_is_there_only_when_asked_for)
{
    char *text = printed(print_styled, "", 0);
    CHECK_STR(text, "\033[31m7\033[0mx");
    free(text);
    text = printed(print_styled, NULL, 0);
    CHECK_STR(text, "7x");
    free(text);
}

TEST(a_pipe_or_a_file_gets_neither_colour_nor_a_width)
{
    struct ws_text_out t;
    FILE *file = tmpfile();
    CHECK_INT(setenv("TERM", "xterm", 1), 0);
    ws_text_init(&t, file);
    CHECK(!t.color && t.width == 0);
    fclose(file);
}

/* What one ws_log call writes to stderr. */
static const char *logged(enum ws_log_level level, const char *text)
{
    static char line[2048];
    int ends[2];
    int saved = dup(STDERR_FILENO);
    ssize_t n;
    if (saved < 0 || pipe(ends) != 0)
        abort();
    dup2(ends[1], STDERR_FILENO);
    ws_log(level, "test", "%s", text);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    n = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    line[n > 0 ? n : 0] = 0;
    return line;
}

TEST(a_log_line_is_one_line_whatever_it_says)
{
    char huge[4000];
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = 0;
    CHECK_STR(logged(WS_WARN, "x=1 name=\"a\nb\x1b[31m\""), "==WARPSIGHT== warning: test: x=1 name=\"a?b?[31m\"\n");
    CHECK_STR(logged(WS_INFO, "quiet"), "");
    ws_log_set_level(WS_INFO);
    CHECK_STR(logged(WS_INFO, "told"), "==WARPSIGHT== info: test: told\n");
    CHECK(strlen(logged(WS_ERROR, huge)) <= 1024);
    CHECK(logged(WS_ERROR, huge)[strlen(logged(WS_ERROR, huge)) - 1] == '\n');
}
