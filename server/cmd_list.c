/* SPDX-License-Identifier: MIT
 * cmd_list.c: `warpsight list`: what there is to choose from. Each list is made from the one table that
 * defines it, so a row there is all that it takes to appear here. */
#include "cli.h"
#include "cmd.h"
#include "json.h"
#include "lists.h"

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

static void setting_json(struct ws_json *j, const struct setting *s)
{
    size_t n;
    const char *word = fallback_word(s, &n);
    ws_json_object(j);
    ws_json_put_text(j, "name", s->name);
    ws_json_put_text(j, "option", *s->option ? s->option : NULL);
    ws_json_put_text(j, "type", s->type);
    ws_json_key(j, "default");
    ws_json_text_n(j, word, n);
    ws_json_put_text(j, "doc", s->doc);
    ws_json_end(j);
}

static int list_settings(bool as_json)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    if (as_json) {
        ws_json_object(&j);
        ws_json_key(&j, "settings");
        ws_json_array(&j);
    }
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const struct setting *s = &settings[i];
        size_t n;
        const char *word = fallback_word(s, &n);
        if (as_json)
            setting_json(&j, s);
        else
            printf("%s%s%s\n    %s\n    %s; default %.*s\n", s->name, *s->option ? "   run " : "", s->option, s->doc,
                   s->type, n ? (int)n : 7, n ? word : "not set");
    }
    if (as_json) {
        ws_json_end(&j);
        ws_json_end(&j);
        putchar('\n');
    }
    return WS_EXIT_OK;
}

struct list {
    const char *name;
    ws_list *print;
};
static const struct list lists[] = {
    {"sessions", ws_list_sessions}, {"metrics", ws_list_metrics}, {"timeline-metrics", ws_list_timeline_metrics},
    {"rules", ws_list_rules},       {"routes", ws_list_routes},   {"settings", list_settings}};
#define LISTS (sizeof lists / sizeof lists[0])

static const struct ws_option options[] = {{"json", 0, NULL, "as JSON"}, {NULL, 0, NULL, NULL}};

/* "settings, rules" */
static const char *list_names(char *at, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < LISTS && used < size; i++)
        used += (size_t)snprintf(at + used, size - used, "%s%s", i ? ", " : "", lists[i].name);
    return at;
}

int ws_cmd_list(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "LIST [--json]", .options = options, .argc = argc, .argv = argv};
    char names[256], about[300];
    const char *value;
    const char *what = NULL;
    bool as_json = false;
    int found;
    snprintf(about, sizeof about, "Lists: %s.", list_names(names, sizeof names));
    cli.about = about;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found != WS_CLI_OPERAND) {
            as_json = true;
            continue;
        }
        if (what)
            return ws_cli_usage_error("list", "one list at a time: '%s' or '%s'", what, value);
        what = value;
    }
    for (size_t i = 0; what && i < LISTS; i++)
        if (strcmp(what, lists[i].name) == 0)
            return lists[i].print(as_json);
    if (!what)
        return ws_cli_usage_error("list", "say which list: %s", names);
    return ws_cli_usage_error("list", "unknown list '%s'; there is: %s", what, names);
}
