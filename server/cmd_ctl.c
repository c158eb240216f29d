/* SPDX-License-Identifier: MIT
 * cmd_ctl.c: `warpsight ctl`: which processes are being measured, and start, stop or flush them while they run.
 * Needs no daemon and no rights but the spool folder's.
 * Read on: ctl.h (how a process is reached), collector/collection.h (what it then does). */
#include "../analyzer/err.h"
#include "../collector/settings.h"
#include "cli.h"
#include "cmd.h"
#include "ctl.h"
#include "json.h"
#include "paths.h"
#include "store.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROCESSES_MAX 1024

/* The first rows are settings that a command may change: the option's long name is its row's in settings.def. */
static const struct ws_option options[] = {
    {"set", 0, "LIST", "start: counter sets, as for run"},
    {"metrics", 0, "LIST", "start: further metrics"},
    {"kernel-name", 'k', "NAME", "start: only kernels of this name get counters; regex:RE"},
    {"kernel-name-base", 0, "BASE", "start: what --kernel-name is compared with"},
    {"launch-skip", 's', "N", "start: matching launches to let pass first"},
    {"launch-count", 'c', "N", "start: launches that get counters at most"},
    {"every", 0, "N", "start: profile every Nth launch of each signature"},
    {"replay-mode", 0, "MODE", "start: how counters are had"},
    {"duration", 0, "TIME", "start: stop again after so long: 10s, 500ms, 2m"},
    {"all", 0, NULL, "every process of the spool"},
    {"json", 0, NULL, "as JSON"},
    {NULL, 0, NULL, NULL},
};
enum { SETTINGS_END = 8, DURATION = SETTINGS_END, ALL, JSON };

struct ctl {
    const char *verb, *which;
    struct ws_control_command command;
    bool is_all, as_json;
    char spool[WS_PATH_MAX];
    char session_token[128]; /* of the session whose id `which` is; "" = none */
    struct ws_ctl_process *processes;
    size_t count;
};

/* --- the command line --- */

/* The row of settings.def whose option is --NAME. */
static const struct ws_setting *setting_of_option(const char *name)
{
    for (size_t i = 0; i < ws_setting_count; i++) {
        const char *at = strstr(ws_setting_table[i].option, "--");
        if (at && strcmp(at + 2, name) == 0)
            return &ws_setting_table[i];
    }
    return NULL;
}

static int take_setting(struct ctl *c, int option, const char *value)
{
    const struct ws_setting *row = setting_of_option(options[option].name);
    char why[128];
    if (!row || ws_setting_check(row, value, why, sizeof why) != 0)
        return ws_cli_usage_error("ctl", "--%s: %s %s", options[option].name, value, row ? why : "is no setting");
    if (c->command.change_count == WS_CONTROL_CHANGES)
        return ws_cli_usage_error("ctl", "too many settings");
    c->command.change[c->command.change_count].name = row->name;
    c->command.change[c->command.change_count++].value = value;
    return WS_EXIT_OK;
}

/* "10s", "1.5m", "500ms", "2h"; a number alone is seconds. */
static int take_duration(struct ctl *c, const char *text)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}, {"", 1e3}};
    char *end = NULL;
    double number = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
    for (size_t i = 0; end && number > 0 && i < sizeof units / sizeof units[0]; i++) {
        double ms = number * units[i].ms;
        if (strcmp(end, units[i].unit) != 0 || !isfinite(ms) || ms < 1 || ms > 3.6e6 * 24 * 365)
            continue;
        c->command.duration_ms = (int64_t)ms;
        return WS_EXIT_OK;
    }
    return ws_cli_usage_error("ctl", "--duration: %s is no time such as 10s, 500ms, 2m, 1h", text);
}

static int take_operand(struct ctl *c, const char *value)
{
    if (!c->verb)
        c->verb = value;
    else if (!c->which)
        c->which = value;
    else
        return ws_cli_usage_error("ctl", "one process or session at a time: '%s' or '%s'", c->which, value);
    return WS_EXIT_OK;
}

static int check(struct ctl *c)
{
    static const char *const words[] = {"list", "start", "stop", "flush", "status"};
    const char *near;
    bool has_options = c->command.change_count > 0 || c->command.duration_ms > 0;
    if (!c->verb)
        return ws_cli_usage_error("ctl", "say what to do: list, start, stop, flush or status");
    c->command.verb = ws_control_verb_find(c->verb);
    near = ws_cli_nearest(c->verb, words, sizeof words / sizeof words[0]);
    if (c->command.verb == WS_CONTROL_VERBS && strcmp(c->verb, "list") != 0)
        return near ? ws_cli_usage_error("ctl", "cannot '%s'; did you mean '%s'?", c->verb, near)
                    : ws_cli_usage_error("ctl", "cannot '%s'; there is: list, start, stop, flush, status", c->verb);
    if (has_options && c->command.verb != WS_CONTROL_START)
        return ws_cli_usage_error("ctl", "settings and --duration go with start");
    if (c->is_all && c->which)
        return ws_cli_usage_error("ctl", "--all, or one: '%s'", c->which);
    return WS_EXIT_OK;
}

/* -1: go on. */
static int read_arguments(struct ctl *c, int argc, char **argv)
{
    struct ws_cli cli = {
        .usage = "list|start|stop|flush|status [PID|SESSION] [options]",
        .about = "What the processes of this spool collect now, and tell them to start, stop or flush.\n"
                 "PID|SESSION: a process id, or the id, name or token of a session, which means all its processes;\n"
                 "left out: the one that runs. Programs: `warpsight run`, or the preloaded library; those with\n"
                 "WARPSIGHT_START=idle (`run --idle`) wait for a start.",
        .options = options,
        .argc = argc,
        .argv = argv};
    const char *value;
    int found;
    int status = WS_EXIT_OK;
    while (status == WS_EXIT_OK && (found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found == WS_CLI_OPERAND)
            status = take_operand(c, value);
        else if (found < SETTINGS_END)
            status = take_setting(c, found, value);
        else if (found == DURATION)
            status = take_duration(c, value);
        else if (found == ALL)
            c->is_all = true;
        else
            c->as_json = true;
    }
    if (status == WS_EXIT_OK)
        status = check(c);
    return status == WS_EXIT_OK ? -1 : status;
}

/* --- which processes --- */

static int token_of(void *state, const struct ws_session_row *row)
{
    struct ctl *c = state;
    snprintf(c->session_token, sizeof c->session_token, "%s", row->token);
    return 0;
}

/* A session by its number: the database knows its token. Without a database there is no such number. */
static void find_session(struct ctl *c)
{
    char db[WS_PATH_MAX], message[300];
    struct ws_store *store = NULL;
    long long id;
    if (!c->which || !ws_cli_integer(c->which, 1, INT64_MAX, &id) || ws_path_db(db) != 0 ||
        ws_store_open(&store, db, WS_STORE_READ, message, sizeof message) != 0)
        return;
    (void)ws_store_get_session(store, id, token_of, c);
    ws_store_close(store);
}

static int keep(void *state, const struct ws_ctl_process *process)
{
    struct ctl *c = state;
    struct ws_ctl_process *grown;
    if (c->count == PROCESSES_MAX)
        return 0;
    grown = realloc(c->processes, (c->count + 1) * sizeof *grown);
    if (!grown)
        return -WS_ENOMEM;
    c->processes = grown;
    c->processes[c->count++] = *process;
    return 0;
}

static bool is_session(const struct ctl *c, const struct ws_ctl_process *p)
{
    size_t n = strlen(c->which);
    return strcmp(p->token, c->session_token) == 0 || strcmp(p->name, c->which) == 0 ||
           (n >= 6 && (strncmp(p->token, c->which, n) == 0 || strncmp(p->agent_id, c->which, n) == 0));
}

/* Leave those that `which` means: a process id before all, so that a number is never a surprise. */
static void choose(struct ctl *c)
{
    char *end;
    unsigned long pid = strtoul(c->which, &end, 10);
    bool is_pid = false;
    size_t kept = 0;
    for (size_t i = 0; i < c->count && *end == 0; i++)
        is_pid = is_pid || c->processes[i].pid == pid;
    for (size_t i = 0; i < c->count; i++)
        if (is_pid ? c->processes[i].pid == pid : is_session(c, &c->processes[i]))
            c->processes[kept++] = c->processes[i];
    c->count = kept;
}

static bool are_of_one_session(const struct ctl *c)
{
    for (size_t i = 1; i < c->count; i++)
        if (strcmp(c->processes[i].token, c->processes[0].token) != 0)
            return false;
    return true;
}

static int find(struct ctl *c)
{
    int err;
    if (ws_path_spool(c->spool) != 0)
        return ws_cli_failed("ctl", "the path of the spool is too long");
    err = ws_ctl_each(c->spool, keep, c);
    if (err == -WS_EPERM)
        return ws_cli_failed("ctl", "the spool folder %s is not yours alone: set WARPSIGHT_SPOOL", c->spool);
    if (err != 0)
        return ws_cli_failed("ctl", "%s", ws_err_text(err));
    find_session(c);
    if (c->which)
        choose(c);
    if (c->count == 0 && strcmp(c->verb, "list") != 0)
        return c->which ? ws_cli_failed("ctl", "no running process or session '%s' in %s; see: warpsight ctl list",
                                        c->which, c->spool)
                        : ws_cli_failed("ctl", "no process with a collector runs (spool %s)", c->spool);
    if (!c->which && !c->is_all && strcmp(c->verb, "list") != 0 && !are_of_one_session(c))
        return ws_cli_failed(
            "ctl", "%zu processes of several sessions run: say which, or --all; see: warpsight ctl list", c->count);
    return WS_EXIT_OK;
}

/* --- showing --- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void put_json(struct ws_json *j, const struct ws_ctl_process *p, const char *answer, const char *error)
{
    ws_json_object_line(j);
    ws_ctl_put_process(j, p);
    ws_json_put_text(j, "reason", p->was_told ? p->reason : "");
    ws_json_put_int(j, "since_ns", p->was_told ? p->since_ns : p->started_ns);
    if (p->until_ns > 0)
        ws_json_put_int(j, "until_ns", p->until_ns);
    if (answer)
        ws_json_put_text(j, "answer", answer);
    if (error)
        ws_json_put_text(j, "error", error);
    ws_json_end(j);
}

static void add_seconds(struct ws_table *table, int64_t ns)
{
    if (ns < 0)
        ws_table_add(table, "-");
    else
        ws_table_printf(table, "%.1f s", (double)ns * 1e-9);
}

static int list(struct ctl *c)
{
    static const char *const titles[] = {"pid", "state", "since", "left", "why", "rank", "session", "program"};
    struct ws_json j = {.out = stdout, .pretty = true};
    struct ws_text_out t;
    struct ws_table table;
    int64_t now = now_ns();
    if (c->as_json) {
        ws_json_object(&j);
        ws_json_key(&j, "processes");
        ws_json_array(&j);
        for (size_t i = 0; i < c->count; i++)
            put_json(&j, &c->processes[i], NULL, NULL);
        ws_json_end(&j);
        ws_json_end(&j);
        putchar('\n');
        return WS_EXIT_OK;
    }
    if (c->count == 0) {
        printf("no process with a collector runs (spool %s)\n", c->spool);
        return WS_EXIT_OK;
    }
    ws_text_init(&t, stdout);
    ws_table_init(&table, "rlrrllll");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        ws_table_add(&table, titles[i]);
    for (size_t i = 0; i < c->count; i++) {
        const struct ws_ctl_process *p = &c->processes[i];
        ws_table_printf(&table, "%u", p->pid);
        ws_table_add(&table, p->is_on ? "collecting" : "idle");
        add_seconds(&table, now - (p->was_told ? p->since_ns : p->started_ns));
        add_seconds(&table, p->until_ns > now ? p->until_ns - now : -1);
        ws_table_add(&table, p->was_told ? p->reason : "start");
        ws_table_add(&table, *p->rank ? p->rank : "-");
        ws_table_printf(&table, "%.8s%s%s", p->token, *p->name ? " " : "", p->name);
        ws_table_add(&table, p->exe);
    }
    ws_table_print(&table, &t);
    return WS_EXIT_OK;
}

/* --- telling --- */

/* The process as it is after the command; the folder names it. */
static int refresh(void *state, const struct ws_ctl_process *now)
{
    struct ws_ctl_process *p = state;
    if (strcmp(now->agent_id, p->agent_id) == 0)
        *p = *now;
    return 0;
}

static int tell_one(struct ctl *c, struct ws_ctl_process *p, struct ws_json *j)
{
    char answer[WS_CONTROL_TEXT] = "";
    char message[600] = "";
    int err = ws_ctl_ask(p, &c->command, answer, sizeof answer, message, sizeof message);
    if (err == 0)
        (void)ws_ctl_each(c->spool, refresh, p);
    if (c->as_json)
        put_json(j, p, err == 0 ? answer : NULL, err == 0 ? NULL : message);
    else if (err == 0 && c->command.verb == WS_CONTROL_STATUS)
        printf("%u: %s (%s)\n", p->pid, p->is_on ? "collecting" : "idle", p->was_told ? p->reason : "start");
    else if (err == 0)
        printf("%u: %s\n", p->pid, answer);
    else
        (void)ws_cli_failed("ctl", "%s", message);
    return err == 0 ? WS_EXIT_OK : WS_EXIT_FAILED;
}

static int tell(struct ctl *c)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    int status = WS_EXIT_OK;
    if (c->as_json) {
        ws_json_object(&j);
        ws_json_key(&j, "processes");
        ws_json_array(&j);
    }
    for (size_t i = 0; i < c->count; i++) {
        int one = tell_one(c, &c->processes[i], &j);
        if (one != WS_EXIT_OK)
            status = one;
    }
    if (c->as_json) {
        ws_json_end(&j);
        ws_json_end(&j);
        putchar('\n');
    }
    return status;
}

int ws_cmd_ctl(int argc, char **argv)
{
    static struct ctl c;
    int status = read_arguments(&c, argc, argv);
    if (status != -1)
        return status;
    status = find(&c);
    if (status == WS_EXIT_OK)
        status = strcmp(c.verb, "list") == 0 ? list(&c) : tell(&c);
    free(c.processes);
    return status;
}
