/* SPDX-License-Identifier: MIT
 * cmd_explain.c: `warpsight explain RULE|METRIC|STALL`: the page a person reads about one of them.
 * Every word comes from the table that defines the thing: rules/, metrics.def, stalls.def. Needs no GPU. */
#include "cli.h"
#include "cmd.h"
#include "json.h"
#include "lists.h"
#include "scorecard_text.h"

#include "../analyzer/rules.h"
#include "../analyzer/stalls.h"

#include <stdio.h>
#include <string.h>

#define COMMAND "explain"
enum { WIDTH = 78, INDENT = 4, NAMES_MAX = 1024 };

/* --- text ----------------------------------------------------------------------------------------- */

/* Columns that length bytes of UTF-8 take: continuation bytes take none. */
static size_t columns(const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* A paragraph under a heading, broken at blanks. Nothing for a missing text. */
static void section(const char *heading, const char *text)
{
    size_t used = 0;
    if (!text || !*text)
        return;
    printf("\n%s\n", heading);
    while (*text) {
        size_t word = strcspn(text, " "), wide = columns(text, word);
        if (used > 0 && used + 1 + wide > WIDTH - INDENT) {
            putchar('\n');
            used = 0;
        }
        if (used == 0)
            printf("%*s", INDENT, "");
        else
            putchar(' ');
        printf("%.*s", (int)word, text);
        used += wide + (used > 0);
        text += word + strspn(text + word, " ");
    }
    putchar('\n');
}

/* The keys of a needs list as "a, b, c"; "" for none. */
static void keys_of(const struct ws_rule *rule, const struct ws_rule_needs *needs, char *at, size_t size)
{
    size_t used = 0;
    at[0] = 0;
    for (uint16_t i = 0; i < needs->count && used < size; i++) {
        const char *key = rule->scope == WS_RULE_KERNEL ? ws_metric_get((enum ws_metric_id)needs->id[i])->key
                                                        : ws_timeline_key((enum ws_timeline_id)needs->id[i]);
        used += (size_t)snprintf(at + used, size - used, "%s%s", i ? ", " : "", key);
    }
}

/* --- what the twins gained ------------------------------------------------------------------------ */

/* One line of the committed scorecard: "W05   bad   good   49.2 %   38.5 %  10.6 %  …". */
struct gain {
    char bad[80], good[80];
    double estimated, measured;
};

enum { LINES = sizeof scorecard_lines / sizeof scorecard_lines[0] };

/* The next line about a rule from *line on, which moves on; false: there is none. One with "-" for a number is none. */
static bool next_gain(size_t *line, const struct ws_rule *rule, struct gain *out)
{
    while (*line < LINES) {
        char id[8];
        int found = sscanf(scorecard_lines[(*line)++], "%7s %79s %79s %lf %% %lf %%", id, out->bad, out->good,
                           &out->estimated, &out->measured);
        if (found == 5 && strncmp(rule->id, id, strlen(id)) == 0 && rule->id[strlen(id)] == '-')
            return true;
    }
    return false;
}

static void gains_text(const struct ws_rule *rule)
{
    struct gain g;
    size_t line = 0;
    bool is_first = true;
    while (next_gain(&line, rule, &g)) {
        if (is_first)
            printf("\nMeasured gain of the good twin (recorded: %s)\n", WS_SCORECARD_NAME);
        is_first = false;
        int used = printf("%*s%s -> %s: %.1f %%,", INDENT, "", g.bad, g.good, g.measured);
        if (used + (int)sizeof " estimated 99.9 %" - 1 > WIDTH)
            printf("\n%*s", INDENT + 3, "");
        printf(" estimated %.1f %%\n", g.estimated);
    }
}

static void put_gains(struct ws_json *j, const struct ws_rule *rule)
{
    struct gain g;
    size_t line = 0;
    ws_json_key(j, "measured_gains");
    ws_json_array(j);
    while (next_gain(&line, rule, &g)) {
        ws_json_object_line(j);
        ws_json_put_text(j, "bad", g.bad);
        ws_json_put_text(j, "good", g.good);
        ws_json_put_number(j, "measured", g.measured / 100);
        ws_json_put_number(j, "estimated", g.estimated / 100);
        ws_json_put_text(j, "recorded", WS_SCORECARD_NAME);
        ws_json_end(j);
    }
    ws_json_end(j);
}

/* --- rules ---------------------------------------------------------------------------------------- */

static void rule_text(const struct ws_rule *r)
{
    char needs[NAMES_MAX], gain[NAMES_MAX];
    keys_of(r, &r->needs, needs, sizeof needs);
    keys_of(r, &r->gain_needs, gain, sizeof gain);
    printf("%s: %s\n", r->id, r->title);
    section("What it sees", r->condition);
    section("Why it matters", r->why);
    section("Advice ({key} is the measured value)", r->advice);
    section("Estimated gain, as a share of the time", r->formula);
    section("When it does not apply", r->when_not);
    section("Does not run without", needs);
    section("Fires with the gain unknown without", gain);
    section("Silent where one of these gains 10 % or more", r->yields_to);
    section("Bad twin (reference kernel that fires it)", r->bad);
    section("Good twin (keeps it quiet)", r->good);
    gains_text(r);
    section("Source of the thresholds", r->source);
}

static void put_needs(struct ws_json *j, const char *name, const struct ws_rule *r, const struct ws_rule_needs *needs)
{
    ws_json_key(j, name);
    ws_json_array_line(j);
    for (uint16_t i = 0; i < needs->count; i++)
        ws_json_text(j, r->scope == WS_RULE_KERNEL ? ws_metric_get((enum ws_metric_id)needs->id[i])->key
                                                   : ws_timeline_key((enum ws_timeline_id)needs->id[i]));
    ws_json_end(j);
}

static void rule_json(struct ws_json *j, const struct ws_rule *r)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"id", r->id},
                 {"title", r->title},
                 {"scope", r->scope == WS_RULE_KERNEL ? "kernel" : "timeline"},
                 {"condition", r->condition},
                 {"why", r->why},
                 {"advice", r->advice},
                 {"formula", r->formula},
                 {"when_not", r->when_not},
                 {"source", r->source},
                 {"bad_twin", r->bad},
                 {"good_twin", r->good},
                 {"yields_to", r->yields_to}};
    ws_json_object(j);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ws_json_put_text(j, texts[i].key, texts[i].text);
    ws_json_put_bool(j, "info", r->is_info);
    put_needs(j, "needs", r, &r->needs);
    put_needs(j, "gain_needs", r, &r->gain_needs);
    put_gains(j, r);
    ws_json_end(j);
}

int ws_list_rules(bool as_json)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    if (as_json) {
        ws_json_object(&j);
        ws_json_key(&j, "rules");
        ws_json_array(&j);
    }
    for (size_t i = 0; i < ws_rules_count(); i++) {
        const struct ws_rule *r = ws_rules_get(i);
        if (as_json)
            rule_json(&j, r);
        else
            printf("%-26s %-9s %s%s\n", r->id, r->scope == WS_RULE_KERNEL ? "kernel" : "timeline", r->title,
                   r->is_info ? " (a fact)" : "");
    }
    if (as_json) {
        ws_json_end(&j);
        ws_json_end(&j);
        putchar('\n');
    }
    return WS_EXIT_OK;
}

/* --- metrics -------------------------------------------------------------------------------------- */

/* The rules that look at a metric, as "W01, W02". */
static void users_of(enum ws_metric_id id, char *at, size_t size)
{
    size_t used = 0;
    at[0] = 0;
    for (size_t i = 0; i < ws_rules_count(); i++) {
        const struct ws_rule *r = ws_rules_get(i);
        bool uses = false;
        for (uint16_t k = 0; k < r->needs.count; k++)
            uses = uses || r->needs.id[k] == id;
        for (uint16_t k = 0; k < r->gain_needs.count; k++)
            uses = uses || r->gain_needs.id[k] == id;
        if (uses && r->scope == WS_RULE_KERNEL && used < size)
            used += (size_t)snprintf(at + used, size - used, "%s%.3s", used ? ", " : "", r->id);
    }
}

static const char *kind_text(const struct ws_metric *m)
{
    switch (m->kind) {
    case WS_KIND_RAW:
        return m->cupti && *m->cupti ? "a counter of the GPU" : "counted by the model only; no GPU has such a counter";
    case WS_KIND_EXPR:
        return "computed from other metrics when it is read";
    default:
        return "computed by WarpSight from the launch and the limits of the GPU";
    }
}

static void metric_text(enum ws_metric_id id)
{
    const struct ws_metric *m = ws_metric_get(id);
    const struct ws_unit_info *unit = ws_unit_get(m->unit);
    char users[NAMES_MAX];
    users_of(id, users, sizeof users);
    printf("%s: %s\n", m->key, m->title);
    section("What it is", m->doc);
    section("Unit", *unit->symbol ? unit->title : "a ratio, 0 to 1");
    section("Kind", kind_text(m));
    section("Formula", m->formula);
    section("An upper bound where this is not 0", m->bound_when);
    if (m->kind == WS_KIND_RAW) {
        section("Counter (alternatives by chip)", m->cupti);
        section("Collected with --set", m->cupti && *m->cupti ? ws_set_name(m->set) : NULL);
    }
    section("Rules that use it", users);
    section("Source", m->source);
}

static void metric_json(struct ws_json *j, enum ws_metric_id id)
{
    const struct ws_metric *m = ws_metric_get(id);
    char users[NAMES_MAX];
    users_of(id, users, sizeof users);
    ws_json_object(j);
    ws_json_put_text(j, "key", m->key);
    ws_json_put_text(j, "title", m->title);
    ws_json_put_text(j, "unit", ws_unit_get(m->unit)->symbol);
    ws_json_put_text(j, "doc", m->doc);
    ws_json_put_text(j, "source", m->source);
    ws_json_put_text(j, "formula", m->formula);
    ws_json_put_text(j, "cupti", m->kind == WS_KIND_RAW ? m->cupti : NULL);
    ws_json_put_text(j, "rules", users);
    ws_json_end(j);
}

/* --- stalls --------------------------------------------------------------------------------------- */

static void stall_text(enum ws_stall_id id)
{
    struct ws_stall s;
    char users[NAMES_MAX];
    ws_stalls_get(id, &s);
    users_of(s.metric, users, sizeof users);
    printf("%s: %s\n", s.reason, s.is_stall ? "a stall reason" : "a warp state that is no stall");
    section("What it means", s.meaning);
    section("What to do", s.remedy);
    section("When that applies", s.applies);
    section(
        "Gate",
        s.is_stall
            ? "Advice only where schedulers issue in less than 80 % of the cycles: else something else is the limit."
            : NULL);
    section("Metrics", ws_metric_get(s.metric)->key);
    section("Rules that use it", users);
    section("Source", "Nsight Compute's stall rules for the gate; texts checked against a measured suite on an H200");
}

static void stall_json(struct ws_json *j, enum ws_stall_id id)
{
    struct ws_stall s;
    ws_stalls_get(id, &s);
    ws_json_object(j);
    ws_json_put_text(j, "reason", s.reason);
    ws_json_put_bool(j, "is_stall", s.is_stall);
    ws_json_put_text(j, "meaning", s.meaning);
    ws_json_put_text(j, "remedy", s.remedy);
    ws_json_put_text(j, "applies", s.applies);
    ws_json_put_text(j, "metric", ws_metric_get(s.metric)->key);
    ws_json_end(j);
}

/* --- choosing ------------------------------------------------------------------------------------- */

/* The nearest of all names there are. */
static int unknown(const char *name)
{
    const char *names[WS_METRIC_COUNT + WS_STALL_COUNT + 64];
    const char *near;
    size_t n = 0;
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        names[n++] = ws_metric_get((enum ws_metric_id)i)->key;
    for (unsigned i = 0; i < WS_STALL_COUNT; i++) {
        struct ws_stall s;
        ws_stalls_get((enum ws_stall_id)i, &s);
        names[n++] = s.reason;
    }
    for (size_t i = 0; i < ws_rules_count() && n < sizeof names / sizeof *names; i++)
        names[n++] = ws_rules_get(i)->id;
    near = ws_cli_nearest(name, names, n);
    if (near)
        return ws_cli_usage_error(COMMAND, "no rule, metric or stall reason is called '%s'; did you mean '%s'?", name,
                                  near);
    return ws_cli_usage_error(COMMAND, "no rule, metric or stall reason is called '%s'; see 'warpsight list'", name);
}

static int explain(const char *name, bool as_json)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    const struct ws_rule *rule = ws_rules_find(name);
    enum ws_stall_id stall = ws_stalls_find(name);
    enum ws_metric_id metric = ws_metric_find(name, strlen(name));
    if (rule && as_json)
        rule_json(&j, rule);
    else if (rule)
        rule_text(rule);
    else if (stall != WS_STALL_COUNT && as_json)
        stall_json(&j, stall);
    else if (stall != WS_STALL_COUNT)
        stall_text(stall);
    else if (metric != WS_METRIC_COUNT && as_json)
        metric_json(&j, metric);
    else if (metric != WS_METRIC_COUNT)
        metric_text(metric);
    else
        return unknown(name);
    if (as_json)
        putchar('\n');
    return WS_EXIT_OK;
}

static const struct ws_option options[] = {{"json", 0, NULL, "as JSON"}, {NULL, 0, NULL, NULL}};

int ws_cmd_explain(int argc, char **argv)
{
    struct ws_cli cli = {
        .usage = "RULE|METRIC|STALL [--json]",
        .about = "What it is, why it matters, where it comes from: W05, gld_sectors_per_request, long_scoreboard.",
        .options = options,
        .argc = argc,
        .argv = argv};
    const char *value;
    const char *name = NULL;
    bool as_json = false;
    int found;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found == WS_CLI_OPERAND && name)
            return ws_cli_usage_error(COMMAND, "one at a time: '%s' or '%s'", name, value);
        if (found == WS_CLI_OPERAND)
            name = value;
        else
            as_json = true;
    }
    if (!name)
        return ws_cli_usage_error(COMMAND, "say what: a rule (W05), a metric key, or a stall reason");
    return explain(name, as_json);
}
