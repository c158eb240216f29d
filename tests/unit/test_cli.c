/* SPDX-License-Identifier: MIT
 * test_cli.c: option tables: every spelling, every mistake. */
#include "../../server/cli.h"
#include "test.h"

static const struct ws_option options[] = {
    {"kernel-name", 'k', "NAME", "a name"},
    {"force", 'f', NULL, "a flag"},
    {"json", 0, NULL, "a flag without letter"},
    {NULL, 0, NULL, NULL},
};
enum { KERNEL, FORCE, JSON };

struct step {
    int found;
    const char *value;
};

/* argv (argv[0] included, NULL at the end) gives exactly these steps. */
static void check_steps(const char *const *words, bool stop, const struct step *want)
{
    char *argv[16];
    int argc = 0;
    struct ws_cli cli = {.usage = "", .options = options, .stop_at_operand = stop};
    const char *value;
    while (words[argc]) {
        argv[argc] = strdup(words[argc]);
        argc++;
    }
    cli.argc = argc;
    cli.argv = argv;
    for (const struct step *s = want;; s++) {
        int found = ws_cli_next(&cli, &value);
        CHECK_INT(found, s->found);
        if (found != s->found)
            break;
        if (s->value)
            CHECK_STR(value, s->value);
        else
            CHECK(value == NULL);
        if (s->found == WS_CLI_END || s->found == WS_CLI_ERROR || s->found == WS_CLI_HELP)
            break;
    }
    for (int i = 0; i < argc; i++)
        free(argv[i]);
}
#define STEPS(...) ((const struct step[]){__VA_ARGS__})
#define WORDS(...) ((const char *const[]){"report", __VA_ARGS__, NULL})

TEST(long_and_short_options_and_operands_mix)
{
    check_steps(WORDS("--kernel-name", "a", "x", "--kernel-name=b", "-kc", "-k", "d", "-fkd", "--json", "y"), false,
                STEPS({KERNEL, "a"}, {WS_CLI_OPERAND, "x"}, {KERNEL, "b"}, {KERNEL, "c"}, {KERNEL, "d"}, {FORCE, NULL},
                      {KERNEL, "d"}, {JSON, NULL}, {WS_CLI_OPERAND, "y"}, {WS_CLI_END, NULL}));
}

TEST(after_two_dashes_everything_is_an_operand)
{
    check_steps(WORDS("-f", "--", "-f", "--json"), false,
                STEPS({FORCE, NULL}, {WS_CLI_OPERAND, "-f"}, {WS_CLI_OPERAND, "--json"}, {WS_CLI_END, NULL}));
}

TEST(a_single_dash_is_an_operand)
{
    check_steps(WORDS("-"), false, STEPS({WS_CLI_OPERAND, "-"}, {WS_CLI_END, NULL}));
}

TEST(an_option_value_may_be_empty_or_look_like_an_option)
{
    check_steps(WORDS("--kernel-name=", "-k", "-f"), false, STEPS({KERNEL, ""}, {KERNEL, "-f"}, {WS_CLI_END, NULL}));
}

TEST(mistakes_are_errors)
{
    check_steps(WORDS("--nope"), false, STEPS({WS_CLI_ERROR, NULL}));
    check_steps(WORDS("--js"), false, STEPS({WS_CLI_ERROR, NULL})); /* no abbreviations */
    check_steps(WORDS("-x"), false, STEPS({WS_CLI_ERROR, NULL}));
    check_steps(WORDS("--json=1"), false, STEPS({WS_CLI_ERROR, NULL}));
    check_steps(WORDS("--kernel-name"), false, STEPS({WS_CLI_ERROR, NULL}));
    check_steps(WORDS("-fk"), false, STEPS({FORCE, NULL}, {WS_CLI_ERROR, NULL}));
}

TEST(help_wins_wherever_it_stands)
{
    check_steps(WORDS("-f", "--help"), false, STEPS({FORCE, NULL}, {WS_CLI_HELP, NULL}));
    check_steps(WORDS("-h"), false, STEPS({WS_CLI_HELP, NULL}));
}

TEST(another_programs_options_are_not_ours)
{
    char *argv[] = {"run", "-f", "./app", "--json", NULL};
    struct ws_cli cli = {.usage = "", .options = options, .stop_at_operand = true, .argc = 4, .argv = argv};
    const char *value;
    CHECK_INT(ws_cli_next(&cli, &value), FORCE);
    CHECK_INT(ws_cli_next(&cli, &value), WS_CLI_OPERAND);
    CHECK_STR(value, "./app");
    CHECK_INT(cli.at, 2);
}

TEST(integers_are_whole_and_in_range)
{
    long long v = 7;
    CHECK(ws_cli_integer("0", 0, 10, &v) && v == 0);
    CHECK(ws_cli_integer("-3", -5, 10, &v) && v == -3);
    v = 7;
    CHECK(!ws_cli_integer("", 0, 10, &v));
    CHECK(!ws_cli_integer("11", 0, 10, &v));
    CHECK(!ws_cli_integer("1x", 0, 10, &v));
    CHECK(!ws_cli_integer(" 1", 0, 10, &v));
    CHECK(!ws_cli_integer("+1", 0, 10, &v));
    CHECK(!ws_cli_integer("0x1", 0, 10, &v));
    CHECK(!ws_cli_integer("99999999999999999999", 0, 10, &v));
    CHECK_INT(v, 7);
}

TEST(the_nearest_name_is_a_slip_away_and_no_more)
{
    static const char *const names[] = {"report", "run", "list", "import"};
    CHECK_STR(ws_cli_nearest("reprot", names, 4), "report");
    CHECK_STR(ws_cli_nearest("lsit", names, 4), "list");
    CHECK_STR(ws_cli_nearest("IMPORT", names, 4), "import");
    CHECK(ws_cli_nearest("frobnicate", names, 4) == NULL);
    CHECK_INT(ws_cli_distance("", "abc"), 3);
    CHECK_INT(ws_cli_distance("kitten", "sitting"), 3);
}
