/* SPDX-License-Identifier: MIT
 * cmd_list.c: `warpsight list`: what there is to choose from. Each list is made from the one table that
 * defines it, so a row there is all that it takes to appear here. */
#include "cli.h"
#include "cmd.h"

#include <stdio.h>
#include <string.h>

struct setting {
    const char *name, *type, *fallback, *option, *doc;
};

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)
static const struct setting settings[] = {
#define WS_SETTING_TEXT(field, name, fallback, option, doc) {name, "text", fallback, option, doc},
#define WS_SETTING_INT(field, name, fallback, min, max, option, doc) \
    {name, QUOTE(min) " to " QUOTE(max), QUOTE(fallback), option, doc},
#define WS_SETTING_ENUM(field, name, fallback, values, option, doc) {name, values, QUOTE(fallback), option, doc},
#include "../collector/settings.def"
#undef WS_SETTING_TEXT
#undef WS_SETTING_INT
#undef WS_SETTING_ENUM
};

/* The default of an ENUM stands in the table as an index: its word, as a length within values. */
static const char *fallback_word(const struct setting *s, size_t *length)
{
    const char *at = s->type;
    if (!strchr(s->type, '|')) {
        *length = strlen(s->fallback);
        return s->fallback;
    }
    for (int i = s->fallback[0] - '0'; i > 0; i--)
        at = strchr(at, '|') + 1;
    *length = strcspn(at, "|");
    return at;
}

static int list_settings(void)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const struct setting *s = &settings[i];
        size_t n;
        const char *word = fallback_word(s, &n);
        printf("%s%s%s\n    %s\n    %s; default %.*s\n", s->name, *s->option ? "   run " : "", s->option, s->doc,
               s->type, n ? (int)n : 7, n ? word : "not set");
    }
    return WS_EXIT_OK;
}

struct list {
    const char *name;
    int (*print)(void);
};
static const struct list lists[] = {{"settings", list_settings}};
#define LISTS (sizeof lists / sizeof lists[0])

static const struct ws_option options[] = {{NULL, 0, NULL, NULL}};

int ws_cmd_list(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "settings", .options = options, .argc = argc, .argv = argv};
    const char *value;
    const char *what = NULL;
    int found;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (what)
            return ws_cli_usage_error("list", "one list at a time: '%s' or '%s'", what, value);
        what = value;
    }
    for (size_t i = 0; what && i < LISTS; i++)
        if (strcmp(what, lists[i].name) == 0)
            return lists[i].print();
    if (!what)
        return ws_cli_usage_error("list", "say which list: settings");
    return ws_cli_usage_error("list", "unknown list '%s'; there is: settings", what);
}
