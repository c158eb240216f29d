/* SPDX-License-Identifier: MIT
 * test_settings.c: settings.def read from a made-up environment: defaults, bounds, bad values, hostile sizes.
 * Never touches this process's environment except in the one test that says so. */
#include "../../analyzer/err.h"
#include "../../collector/settings.h"
#include "test.h"

/* "NAME=value" pairs, NULL-ended, as an environment. */
static const char *lookup_pairs(void *state, const char *name)
{
    const char *const *pairs = state;
    size_t n = strlen(name);
    for (; *pairs; pairs++)
        if (strncmp(*pairs, name, n) == 0 && (*pairs)[n] == '=')
            return *pairs + n + 1;
    return NULL;
}

static struct ws_settings settings;

static void read_pairs(const char **pairs)
{
    ws_settings_read_from(&settings, lookup_pairs, (void *)pairs);
}

TEST(an_empty_environment_gives_the_defaults_and_no_complaint)
{
    const char *none[] = {NULL};
    char diff[256];
    read_pairs(none);
    CHECK_INT(settings.flush_ms, 50);
    CHECK_INT(settings.replay, WS_REPLAY_AUTO);
    CHECK_STR(settings.set, "core,memory,stalls");
    CHECK_STR(settings.cupti, "");
    CHECK_INT(settings.complaint_count, 0);
    CHECK_INT(ws_settings_diff(&settings, diff, sizeof diff), 0);
}

TEST(values_are_copied_not_borrowed)
{
    char value[] = "WARPSIGHT_NAME=first";
    const char *pairs[] = {value, NULL};
    read_pairs(pairs);
    memcpy(value + 15, "other", 5);
    CHECK_STR(settings.name, "first");
}

TEST(bounds_are_inclusive_and_one_beyond_is_refused)
{
    static const struct {
        const char *pair;
        int64_t want;
        int complaints;
    } row[] = {
        {"WARPSIGHT_FLUSH_MS=5", 5, 0},     {"WARPSIGHT_FLUSH_MS=10000", 10000, 0},
        {"WARPSIGHT_FLUSH_MS=4", 50, 1},    {"WARPSIGHT_FLUSH_MS=10001", 50, 1},
        {"WARPSIGHT_FLUSH_MS=-5", 50, 1},   {"WARPSIGHT_FLUSH_MS=20x", 50, 1},
        {"WARPSIGHT_FLUSH_MS= 20", 50, 1},  {"WARPSIGHT_FLUSH_MS=+20", 50, 1},
        {"WARPSIGHT_FLUSH_MS=0x20", 50, 1}, {"WARPSIGHT_FLUSH_MS=99999999999999999999999", 50, 1},
        {"WARPSIGHT_FLUSH_MS=", 50, 0},     {"WARPSIGHT_FLUSH_MS=-", 50, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *pairs[] = {row[i].pair, NULL};
        read_pairs(pairs);
        CHECK_INT(settings.flush_ms, row[i].want);
        CHECK_INT(settings.complaint_count, row[i].complaints);
    }
}

TEST(a_complaint_names_the_variable_the_value_and_what_is_used)
{
    const char *pairs[] = {"WARPSIGHT_FLUSH_MS=soon", "WARPSIGHT_REPLAY_MODE=twice", NULL};
    read_pairs(pairs);
    REQUIRE(settings.complaint_count == 2);
    CHECK_STR(settings.complaint[0].name, "WARPSIGHT_REPLAY_MODE");
    CHECK_STR(settings.complaint[0].message,
              "WARPSIGHT_REPLAY_MODE=twice is not one of auto|kernel|rotate|none; auto is used");
    CHECK_STR(settings.complaint[1].message,
              "WARPSIGHT_FLUSH_MS=soon is not a whole number from 5 to 10000; 50 is used");
}

/* The enums of settings.h are a second spelling of the choices: this keeps them equal. */
TEST(every_choice_has_the_enum_value_the_header_says)
{
    static const struct {
        const char *pair;
        const char *variable;
        int want;
    } row[] = {
        {"WARPSIGHT_KERNEL_NAME_BASE=function", "WARPSIGHT_KERNEL_NAME_BASE", WS_NAME_FUNCTION},
        {"WARPSIGHT_KERNEL_NAME_BASE=demangled", "WARPSIGHT_KERNEL_NAME_BASE", WS_NAME_DEMANGLED},
        {"WARPSIGHT_KERNEL_NAME_BASE=mangled", "WARPSIGHT_KERNEL_NAME_BASE", WS_NAME_MANGLED},
        {"WARPSIGHT_REPLAY_MODE=auto", "WARPSIGHT_REPLAY_MODE", WS_REPLAY_AUTO},
        {"WARPSIGHT_REPLAY_MODE=kernel", "WARPSIGHT_REPLAY_MODE", WS_REPLAY_KERNEL},
        {"WARPSIGHT_REPLAY_MODE=rotate", "WARPSIGHT_REPLAY_MODE", WS_REPLAY_ROTATE},
        {"WARPSIGHT_REPLAY_MODE=none", "WARPSIGHT_REPLAY_MODE", WS_REPLAY_NONE},
        {"WARPSIGHT_LOG=off", "WARPSIGHT_LOG", WS_LOG_OFF},
        {"WARPSIGHT_LOG=error", "WARPSIGHT_LOG", WS_LOG_ERROR},
        {"WARPSIGHT_LOG=warn", "WARPSIGHT_LOG", WS_LOG_WARN},
        {"WARPSIGHT_LOG=info", "WARPSIGHT_LOG", WS_LOG_INFO},
        {"WARPSIGHT_LOG=debug", "WARPSIGHT_LOG", WS_LOG_DEBUG},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *pairs[] = {row[i].pair, NULL};
        const struct ws_setting *s = ws_setting_find(row[i].variable);
        int got;
        REQUIRE(s != NULL);
        read_pairs(pairs);
        memcpy(&got, (const char *)&settings + s->offset, sizeof got);
        CHECK_INT(got, row[i].want);
        CHECK_INT(settings.complaint_count, 0);
    }
    /* A new choice must come with its enum value and a row above. */
    CHECK_STR(ws_setting_find("WARPSIGHT_KERNEL_NAME_BASE")->choices, "function|demangled|mangled");
    CHECK_STR(ws_setting_find("WARPSIGHT_REPLAY_MODE")->choices, "auto|kernel|rotate|none");
    CHECK_STR(ws_setting_find("WARPSIGHT_LOG")->choices, "off|error|warn|info|debug");
}

TEST(part_of_a_choice_or_a_bar_is_no_choice)
{
    static const char *const bad[] = {"WARPSIGHT_REPLAY_MODE=kern", "WARPSIGHT_REPLAY_MODE=kernel|rotate",
                                      "WARPSIGHT_REPLAY_MODE=|", "WARPSIGHT_REPLAY_MODE=Rotate"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *pairs[] = {bad[i], NULL};
        read_pairs(pairs);
        CHECK_INT(settings.replay, WS_REPLAY_AUTO);
        CHECK_INT(settings.complaint_count, 1);
    }
}

TEST(a_text_of_half_the_arena_is_refused_and_the_others_survive)
{
    static char huge[WS_SETTINGS_BYTES];
    const char *pairs[] = {huge, "WARPSIGHT_SESSION=abc", NULL};
    int n = snprintf(huge, sizeof huge, "WARPSIGHT_METRICS=");
    memset(huge + n, 'x', sizeof huge - (size_t)n - 1);
    read_pairs(pairs);
    CHECK_STR(settings.metrics, "");
    CHECK_STR(settings.session, "abc");
    CHECK_INT(settings.complaint_count, 1);
}

TEST(texts_that_together_fill_the_arena_are_dropped_whole_with_a_complaint)
{
    static char text[4][WS_SETTINGS_BYTES / 2];
    static const char *const name[4] = {"WARPSIGHT_NAME=", "WARPSIGHT_SET=", "WARPSIGHT_METRICS=", "WARPSIGHT_KERNEL="};
    const char *pairs[] = {text[0], text[1], text[2], text[3], NULL};
    for (int i = 0; i < 4; i++) {
        int n = snprintf(text[i], sizeof text[i], "%s", name[i]);
        memset(text[i] + n, 'a' + i, sizeof text[i] - (size_t)n - 1);
    }
    read_pairs(pairs);
    CHECK(settings.complaint_count >= 1);
    CHECK(settings.used <= WS_SETTINGS_BYTES);
    CHECK_STR(settings.kernel, "");
    CHECK(*settings.name == 'a');
}

TEST(complaints_are_bounded)
{
    const char *pairs[32] = {"WARPSIGHT_LAUNCH_SKIP=x", "WARPSIGHT_LAUNCH_COUNT=x", "WARPSIGHT_EVERY=x",
                             "WARPSIGHT_FLUSH_MS=x",    "WARPSIGHT_MEMORY_MB=x",    "WARPSIGHT_SPOOL_MB=x",
                             "WARPSIGHT_LOG=x",         "WARPSIGHT_REPLAY_MODE=x",  NULL};
    read_pairs(pairs);
    CHECK_INT(settings.complaint_count, 8);
    CHECK(settings.complaint_count <= WS_SETTINGS_COMPLAINTS);
}

TEST(the_spool_folder_follows_setting_then_runtime_dir_then_tmp)
{
    char tmp[64];
    const char *set[] = {"WARPSIGHT_SPOOL=/a/b", "XDG_RUNTIME_DIR=/run/user/7", NULL};
    const char *xdg[] = {"XDG_RUNTIME_DIR=/run/user/7", NULL};
    const char *relative[] = {"XDG_RUNTIME_DIR=run/user/7", NULL};
    snprintf(tmp, sizeof tmp, "/tmp/warpsight-%lu", (unsigned long)geteuid());
    read_pairs(set);
    CHECK_STR(settings.spool_dir, "/a/b");
    read_pairs(xdg);
    CHECK_STR(settings.spool_dir, "/run/user/7/warpsight");
    read_pairs(relative);
    CHECK_STR(settings.spool_dir, tmp);
}

TEST(the_first_rank_variable_that_is_set_is_kept_with_its_name)
{
    const char *pairs[] = {"RANK=9", "SLURM_PROCID=3", "PMI_RANK=", NULL};
    const char *none[] = {NULL};
    read_pairs(pairs);
    CHECK_STR(settings.rank, "SLURM_PROCID=3");
    read_pairs(none);
    CHECK_STR(settings.rank, "");
}

TEST(the_difference_from_the_defaults_is_nul_separated_and_never_cut)
{
    const char *pairs[] = {"WARPSIGHT_NAME=n", "WARPSIGHT_EVERY=7", "WARPSIGHT_REPLAY_MODE=rotate", NULL};
    static const char want[] = "WARPSIGHT_NAME=n\0WARPSIGHT_EVERY=7\0WARPSIGHT_REPLAY_MODE=rotate";
    char out[256];
    size_t n;
    read_pairs(pairs);
    n = ws_settings_diff(&settings, out, sizeof out);
    REQUIRE(n == sizeof want - 1);
    CHECK(memcmp(out, want, n) == 0);
    for (size_t cap = 0; cap < sizeof want; cap++) {
        n = ws_settings_diff(&settings, out, cap);
        CHECK(n <= cap);
        CHECK(n == 0 || n == 16 || n == 17 || n == 28 || n == 34 || n == 45 || n == 46 || n == sizeof want - 1);
    }
}

TEST(default_and_value_are_shown_as_a_person_writes_them)
{
    const char *pairs[] = {"WARPSIGHT_REPLAY_MODE=none", "WARPSIGHT_SKIP=1", NULL};
    char out[64];
    read_pairs(pairs);
    ws_setting_default(ws_setting_find("WARPSIGHT_REPLAY_MODE"), out, sizeof out);
    CHECK_STR(out, "auto");
    ws_setting_format(&settings, ws_setting_find("WARPSIGHT_REPLAY_MODE"), out, sizeof out);
    CHECK_STR(out, "none");
    ws_setting_default(ws_setting_find("WARPSIGHT_MEMORY_MB"), out, sizeof out);
    CHECK_STR(out, "64");
    CHECK(ws_setting_find("WARPSIGHT_NOT_THERE") == NULL);
}

TEST(every_row_is_documented_unique_and_its_default_is_valid)
{
    for (size_t i = 0; i < ws_setting_count; i++) {
        const struct ws_setting *s = &ws_setting_table[i];
        char why[128], text[128];
        CHECK(strncmp(s->name, "WARPSIGHT_", 10) == 0);
        CHECK(strlen(s->doc) > 10);
        ws_setting_default(s, text, sizeof text);
        CHECK_INT(ws_setting_check(s, text, why, sizeof why), 0);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(ws_setting_table[j].name, s->name) != 0);
    }
}

TEST(the_real_environment_is_read)
{
    setenv("WARPSIGHT_EVERY", "12", 1);
    ws_settings_read(&settings);
    CHECK_INT(settings.every, 12);
    CHECK(!settings.is_secure);
}
