/* SPDX-License-Identifier: MIT
 * test_control.c: the texts of commands and states, whole, cut, and hostile. */
#include "analyzer/err.h"
#include "collector/control.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef"

static struct ws_control_command command;
static char why[WS_CONTROL_TEXT];

static int parse(const char *words)
{
    static char text[WS_CONTROL_BYTES];
    snprintf(text, sizeof text, "%s", words);
    return ws_control_parse(text, strlen(text), &command, why, sizeof why);
}

TEST(a_command_reads_back_as_it_was_written)
{
    struct ws_control_command made = {.id = ID, .verb = WS_CONTROL_START, .duration_ms = 1500};
    char text[512];
    size_t n;
    made.change[0].name = "WARPSIGHT_SET";
    made.change[0].value = "core,memory";
    made.change[1].name = "WARPSIGHT_KERNEL";
    made.change[1].value = "regex:a=b c";
    made.change_count = 2;
    n = ws_control_format(&made, text, sizeof text);
    REQUIRE(n > 0);
    REQUIRE(ws_control_parse(text, n, &command, why, sizeof why) == 0);
    CHECK_STR(command.id, ID);
    CHECK_INT(command.verb, WS_CONTROL_START);
    CHECK_INT(command.duration_ms, 1500);
    CHECK_INT(command.change_count, 2);
    CHECK_STR(command.change[1].name, "WARPSIGHT_KERNEL");
    CHECK_STR(command.change[1].value, "regex:a=b c");
    made.change[0].value = "two\nlines";
    CHECK_INT(ws_control_format(&made, text, sizeof text), 0);
    made.change[0].value = "core";
    CHECK_INT(ws_control_format(&made, text, 40), 0);
}

TEST(what_is_no_command_is_refused)
{
    CHECK_INT(parse(""), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 2\nid " ID "\ndo stop\n"), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 1\ndo stop\n"), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 1\nid " ID "\n"), -WS_ECORRUPT);
    CHECK_STR(command.id, ID); /* so that it can be answered */
    CHECK_INT(parse("warpsight-control 1\nid ../../etc/passwd\ndo stop\n"), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 1\nid " ID "\ndo\n"), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 1\nid " ID "\ndo start\nduration_ms 99999999999999999999\n"), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 1\nid " ID "\ndo start\nset =x\n"), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 1\nid " ID "\ndo start\nset x\n"), -WS_ECORRUPT);
    CHECK_INT(parse("warpsight-control 1\nid " ID "\ndo stop\nof_a_later_version 1\n"), 0);
}

TEST(too_many_settings_are_refused)
{
    char text[2048] = "warpsight-control 1\nid " ID "\ndo start\n";
    for (int i = 0; i < WS_CONTROL_CHANGES; i++)
        strcat(text, "set A=b\n");
    CHECK_INT(parse(text), 0);
    strcat(text, "set A=b\n");
    CHECK_INT(parse(text), -WS_ECORRUPT);
}

TEST(every_cut_of_a_command_and_a_state_is_harmless)
{
    static const char whole[] = "warpsight-control 1\nid " ID "\ndo start\nduration_ms 5\nset A=b\nanswer " ID
                                " ok yes\nstate idle\nreason ctl\nsince_ns 5\n";
    struct ws_control_state *state = calloc(1, sizeof *state);
    REQUIRE(state != NULL);
    for (size_t n = 0; n < sizeof whole; n++) {
        char *text = malloc(n + 1); /* its own end, for the sanitizer */
        REQUIRE(text != NULL);
        memcpy(text, whole, n);
        text[n] = 0;
        (void)ws_control_parse(text, n, &command, why, sizeof why);
        memcpy(text, whole, n);
        (void)ws_control_parse_state(text, n, state);
        free(text);
    }
    free(state);
}

TEST(a_state_reads_back_with_its_answers_and_settings)
{
    struct ws_control_state *made = calloc(2, sizeof *made);
    struct ws_control_state *read = made + 1;
    char text[2048];
    size_t n;
    REQUIRE(made != NULL);
    made->is_on = true;
    made->since_ns = 17;
    made->until_ns = 18;
    snprintf(made->reason, sizeof made->reason, "ctl");
    memcpy(made->answer[0].id, ID, 33);
    snprintf(made->answer[0].text, sizeof made->answer[0].text, "a reason of several words");
    made->answer[0].is_refused = true;
    made->answer_count = 1;
    memcpy(made->settings, "A=1\0B=2", 7);
    made->settings_length = 7;
    n = ws_control_format_state(made, text, sizeof text);
    REQUIRE(n > 0);
    REQUIRE(ws_control_parse_state(text, n, read) == 0);
    CHECK(read->is_on);
    CHECK_INT(read->since_ns, 17);
    CHECK_INT(read->until_ns, 18);
    CHECK_STR(read->reason, "ctl");
    CHECK_INT(read->answer_count, 1);
    CHECK(read->answer[0].is_refused);
    CHECK_STR(read->answer[0].text, "a reason of several words");
    CHECK_INT(read->settings_length, 7);
    CHECK(memcmp(read->settings, "A=1\0B=2", 7) == 0);
    free(made);
}
