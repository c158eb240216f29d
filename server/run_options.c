/* SPDX-License-Identifier: MIT
 * run_options.c: the command line of `warpsight run`. Everything that can be wrong with it is found here, before
 * the program starts: an hour of work must not end in "cannot overwrite". Options keep Nsight Compute's names.
 * Add an option that sets something of the collector: its name in collector/settings.def, nothing here. */
#include "run_options.h"

#include "../analyzer/err.h"
#include "../collector/budget.h"
#include "../collector/model/model.h"
#include "../collector/nvtx_filter.h"
#include "../collector/plan.h"
#include "../collector/select.h"
#include "../collector/settings.h"
#include "../collector/timeline_plan.h"
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options of run itself; those of settings.def follow them in the table given to the parser. */
static const struct ws_option own[] = {
    {"output", 'o', "FILE", "also write the session to FILE(.wscap), print no report; %p %h %q{VAR} are expanded"},
    {"export", 0, "FILE", "the same as --output"},
    {"force-overwrite", 'f', NULL, "let -o replace a file that is there"},
    {"csv", 0, NULL, "the report as CSV"},
    {"json", 0, NULL, "the report as JSON"},
    {"require-kernels", 0, NULL, "exit 123 when the program succeeded but no kernel was seen"},
    {"target-processes", 0, "all|application-only", "application-only: children of the program are not followed"},
    {"idle", 0, NULL, "collect nothing until `warpsight ctl start`"},
    {"yield", 0, NULL,
     "let go of CUPTI when the program's own profiler (torch.profiler) starts: from then on nothing is collected"},
    {"profile-from-start", 0, "on|off", "off: collect nothing until the program calls cudaProfilerStart()"},
    {"verbose", 'v', NULL, "say what is set up"},
    {"model", 0, NULL,
     "no GPU: run the kernels on the CPU and predict their counters (program linked with -cudart shared)"},
};
enum { OUTPUT, EXPORT, FORCE, CSV, JSON, REQUIRE, PROCESSES, IDLE, YIELD, FROM_START, VERBOSE, MODEL, OWN };

struct table {
    struct ws_option option[OWN + WS_RUN_SETTINGS + 1];
    size_t row[OWN + WS_RUN_SETTINGS + 1]; /* of ws_setting_table, for options from OWN on */
    int count;
};

/* "-k, --kernel-name" → 'k', "kernel-name". */
static void add_setting(struct table *t, size_t row)
{
    const struct ws_setting *s = &ws_setting_table[row];
    const char *name = strstr(s->option, "--");
    struct ws_option *o = &t->option[t->count];
    if (!name)
        return;
    o->name = name + 2;
    o->letter = s->option[0] == '-' && s->option[1] != '-' ? s->option[1] : (char)0;
    o->arg = s->type == WS_SETTING_TYPE_INT ? "N" : s->type == WS_SETTING_TYPE_ENUM ? s->choices : "TEXT";
    o->doc = s->doc;
    t->row[t->count++] = row;
}

static void make_table(struct table *t)
{
    memset(t, 0, sizeof *t);
    memcpy(t->option, own, sizeof own);
    t->count = OWN;
    for (size_t i = 0; i < ws_setting_count && i < WS_RUN_SETTINGS; i++)
        add_setting(t, i);
}

/* The complaint on stderr, and the status that goes with it. */
#define REFUSE(...) ((void)ws_cli_usage_error("run", __VA_ARGS__), WS_RUN_FAILED)

/* --- the name of -o --- */

struct writer {
    char *out;
    size_t used;
    bool is_full;
    bool is_lenient; /* a % that begins no macro is itself */
};

static void put(struct writer *w, const char *text, size_t n)
{
    if (n >= WS_RUN_PATH_MAX - w->used) {
        w->is_full = true;
        return;
    }
    memcpy(w->out + w->used, text, n);
    w->used += n;
    w->out[w->used] = 0;
}

/* %q{NAME}; at points behind the q. Returns the end, or NULL with a reason. */
static const char *put_variable(struct writer *w, const char *at, char *why, size_t why_cap)
{
    const char *end = *at == '{' ? strchr(at, '}') : NULL;
    char name[128];
    const char *value;
    if (!end || end - at - 1 >= (long)sizeof name || end == at + 1) {
        snprintf(why, why_cap, "%%q wants {NAME}");
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(end - at - 1), at + 1);
    value = getenv(name);
    if (!value) {
        snprintf(why, why_cap, "%%q{%s}: there is no such variable", name);
        return NULL;
    }
    put(w, value, strlen(value));
    return end + 1;
}

/* One macro; at points behind the '%'. */
static const char *put_macro(struct writer *w, const char *at, char *why, size_t why_cap)
{
    char text[256] = "";
    switch (*at) {
    case '%':
        put(w, "%", 1);
        return at + 1;
    case 'p':
        snprintf(text, sizeof text, "%ld", (long)getpid());
        break;
    case 'h':
        if (gethostname(text, sizeof text - 1) != 0)
            snprintf(text, sizeof text, "localhost");
        break;
    case 'q':
        return put_variable(w, at + 1, why, why_cap);
    default:
        if (w->is_lenient) {
            put(w, "%", 1);
            return at;
        }
        snprintf(why, why_cap, "unknown macro %%%.1s: there are %%p %%h %%q{NAME} %%%%", at);
        return NULL;
    }
    put(w, text, strlen(text));
    return at + 1;
}

static int expand(struct writer *w, const char *text, char *why, size_t why_cap)
{
    w->out[0] = 0;
    while (*text) {
        size_t n = strcspn(text, "%");
        put(w, text, n);
        text += n;
        if (*text != '%')
            break;
        text = put_macro(w, text + 1, why, why_cap);
        if (!text)
            return -WS_EINVAL;
    }
    return 0;
}

static int judge_length(const struct writer *w, char *why, size_t why_cap)
{
    if (!w->is_full)
        return 0;
    snprintf(why, why_cap, "the name is too long");
    return -WS_ELIMIT;
}

int ws_run_expand(const char *text, char out[WS_RUN_PATH_MAX], char *why, size_t why_cap)
{
    struct writer w = {out, 0, false, false};
    int err = expand(&w, text, why, why_cap);
    if (err != 0)
        return err;
    if (w.used < 6 || strcmp(out + w.used - 6, ".wscap") != 0)
        put(&w, ".wscap", 6);
    return judge_length(&w, why, why_cap);
}

int ws_run_expand_name(const char *text, char out[WS_RUN_PATH_MAX], char *why, size_t why_cap)
{
    struct writer w = {out, 0, false, true};
    int err = expand(&w, text, why, why_cap);
    return err == 0 ? judge_length(&w, why, why_cap) : err;
}

static int set_output(struct ws_run_options *o, const char *value)
{
    char why[200];
    if (*value == 0)
        return REFUSE("option --output needs a file name");
    if (ws_run_expand(value, o->output, why, sizeof why) != 0)
        return REFUSE("--output %s: %s", value, why);
    o->has_output = true;
    return -1;
}

/* Whether -o can be written when the time comes. */
static int check_output(const struct ws_run_options *o)
{
    char folder[WS_RUN_PATH_MAX];
    char *slash;
    if (!o->has_output)
        return -1;
    if (access(o->output, F_OK) == 0 && !o->is_forced)
        return REFUSE("%s is there already; -f overwrites it", o->output);
    snprintf(folder, sizeof folder, "%s", o->output);
    slash = strrchr(folder, '/');
    if (!slash)
        snprintf(folder, sizeof folder, ".");
    else if (slash == folder)
        folder[1] = 0;
    else
        *slash = 0;
    if (access(folder, W_OK | X_OK) != 0)
        return REFUSE("cannot write to the folder %s: %s", folder, strerror(errno));
    return -1;
}

/* --- values --- */

static const char *value_of(const struct ws_run_options *o, const char *variable)
{
    const struct ws_setting *s = ws_setting_find(variable);
    return s ? o->setting[s - ws_setting_table] : NULL;
}

static int set_setting(struct ws_run_options *o, const struct ws_option *option, size_t row, const char *value)
{
    char why[128];
    if (ws_setting_check(&ws_setting_table[row], value, why, sizeof why) != 0)
        return REFUSE("--%s: %s %s", option->name, value, why);
    o->setting[row] = value;
    if (strcmp(option->name, "name") == 0) {
        if (ws_run_expand_name(value, o->name, why, sizeof why) != 0)
            return REFUSE("--name %s: %s", value, why);
        o->setting[row] = o->name;
    }
    return -1;
}

static const char *nearest_metric(const char *word)
{
    static const char *keys[WS_METRIC_COUNT];
    for (size_t i = 0; i < WS_METRIC_COUNT; i++)
        keys[i] = ws_metric_get((enum ws_metric_id)i)->key;
    return ws_cli_nearest(word, keys, WS_METRIC_COUNT);
}

/* CUPTI's names have a unit and two underscores; any other word must be a key of the catalogue. */
static int check_metrics(const char *list)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        char word[WS_PLAN_NAME_MAX];
        const char *near;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        if (*word == 0 || strstr(word, "__") || ws_metric_find(word, strlen(word)) != WS_METRIC_COUNT)
            continue;
        near = nearest_metric(word);
        return near ? REFUSE("--metrics: no metric '%s'; did you mean '%s'? (all: warpsight list metrics)", word, near)
                    : REFUSE("--metrics: no metric '%s'; see: warpsight list metrics", word);
    }
    return -1;
}

/* The words of a set that count nothing: they go with samples. */
static bool is_trace_only(const char *set)
{
    for (; *set; set += strcspn(set, ", "), set += strspn(set, ", ")) {
        size_t n = strcspn(set, ", ");
        if (!(n == 5 && memcmp(set, "trace", 5) == 0) && !(n == 3 && memcmp(set, "api", 3) == 0))
            return false;
    }
    return true;
}

static const char *nearest_sample(const char *word)
{
    static const char *keys[WS_PM_COUNT];
    for (size_t i = 0; i < WS_PM_COUNT; i++)
        keys[i] = ws_pm_get((enum ws_pm_id)i)->key;
    return ws_cli_nearest(word, keys, WS_PM_COUNT);
}

static int refuse_samples(const struct ws_timeline_plan *plan, const char *list)
{
    const char *near = nearest_sample(plan->bad);
    if (strchr(plan->bad, '/'))
        return REFUSE("--timeline-metrics wants a list before the program: --timeline-metrics default %s", list);
    if (near)
        return REFUSE("--timeline-metrics: no metric '%s'; did you mean '%s'? (all: warpsight list timeline-metrics)",
                      plan->bad, near);
    return REFUSE("--timeline-metrics: no metric '%s' (or too many): default, or see: warpsight list timeline-metrics",
                  plan->bad);
}

/* Samplers and counters exclude each other: what asks for both is refused before anything runs. */
static int check_timeline(struct ws_run_options *o)
{
    static struct ws_timeline_plan plan;
    const struct ws_setting *row = ws_setting_find("WARPSIGHT_TIMELINE_METRICS");
    const char *interval = value_of(o, "WARPSIGHT_TIMELINE_INTERVAL");
    const char *set = value_of(o, "WARPSIGHT_SET");
    const char *replay = value_of(o, "WARPSIGHT_REPLAY_MODE");
    const char *stalls = value_of(o, "WARPSIGHT_STALLS");
    const char *list;
    int64_t ns;
    if (interval && ws_timeline_interval(interval, &ns) != 0)
        return REFUSE("--timeline-interval: %s is no time from 10us to 10ms", interval);
    if (interval && !o->setting[row - ws_setting_table])
        o->setting[row - ws_setting_table] = "default";
    list = o->setting[row - ws_setting_table];
    if (!list)
        return -1;
    if (ws_timeline_plan_make(&plan, list) != 0)
        return refuse_samples(&plan, list);
    if (value_of(o, "WARPSIGHT_METRICS") || (set && !is_trace_only(set)))
        return REFUSE("--timeline-metrics samples instead of counting: %s cannot go with it (--set trace or api can)",
                      set && !is_trace_only(set) ? "--set" : "--metrics");
    if ((replay && strcmp(replay, "none") != 0) || (stalls && strcmp(stalls, "pc") == 0))
        return REFUSE("--timeline-metrics samples instead of counting: %s cannot go with it",
                      replay && strcmp(replay, "none") != 0 ? "--replay-mode" : "--stalls pc");
    return o->is_model ? REFUSE("--timeline-metrics needs a GPU: the model has no clock to sample by") : -1;
}

/* Whether the option of a setting was given; *name is that option. */
static bool is_given(const struct ws_run_options *o, const char *variable, const char **name)
{
    const struct ws_setting *s = ws_setting_find(variable);
    *name = s ? strstr(s->option, "--") : NULL;
    return s && o->setting[s - ws_setting_table];
}

/* PC sampling and the other samplers exclude each other in a process, and it samples every launch. */
static int check_stalls(const struct ws_run_options *o)
{
    static const char *const counters[] = {"WARPSIGHT_METRICS", "WARPSIGHT_REPLAY_MODE", "WARPSIGHT_BUDGET",
                                           "WARPSIGHT_MAX_OVERHEAD"};
    static const char *const choices[] = {"WARPSIGHT_KERNEL", "WARPSIGHT_LAUNCH_SKIP", "WARPSIGHT_LAUNCH_COUNT",
                                          "WARPSIGHT_EVERY"};
    const char *stalls = value_of(o, "WARPSIGHT_STALLS");
    const char *set = value_of(o, "WARPSIGHT_SET");
    const char *interval = value_of(o, "WARPSIGHT_SAMPLING_INTERVAL");
    const char *name;
    uint32_t period;
    if (interval && ws_setting_sampling_period(interval, &period) != 0)
        return REFUSE("--sampling-interval: %s is neither auto nor a number from 0 to 26", interval);
    if (!stalls || strcmp(stalls, "pc") != 0) {
        if (is_given(o, "WARPSIGHT_SAMPLING_INTERVAL", &name) && (stalls || !getenv("WARPSIGHT_STALLS")))
            return REFUSE("%s is for --stalls pc", name);
        return -1;
    }
    if (o->is_model)
        return REFUSE("--stalls pc needs a GPU: the model counts instructions, it has no stalls");
    if (set && !is_trace_only(set))
        return REFUSE("--stalls pc excludes counters: with it, --set is trace or api, not %s", set);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (is_given(o, counters[i], &name))
            return REFUSE("--stalls pc excludes counters: leave %s out, or run once for each", name);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (is_given(o, choices[i], &name))
            return REFUSE("%s chooses launches for counters; --stalls pc samples every launch: report --kernel shows "
                          "one",
                          name);
    return -1;
}

static int check_limits(const struct ws_run_options *o)
{
    const char *budget = value_of(o, "WARPSIGHT_BUDGET");
    const char *overhead = value_of(o, "WARPSIGHT_MAX_OVERHEAD");
    const char *name;
    int64_t ns;
    double part;
    if (o->is_model && (is_given(o, "WARPSIGHT_BUDGET", &name) || is_given(o, "WARPSIGHT_MAX_OVERHEAD", &name)))
        return REFUSE("%s bounds counting on a GPU; with --model a launch is bounded by --model-budget", name);
    if (budget && ws_budget_parse_time(budget, &ns) != 0)
        return REFUSE("--budget: '%s' is no time; write 10s, 500ms, 2m", budget);
    if (overhead && ws_budget_parse_percent(overhead, &part) != 0)
        return REFUSE("--max-overhead: '%s' is no percentage; write 5%%", overhead);
    return -1;
}

/* -1: nothing wrong. */
static int check_sample(const struct ws_run_options *o)
{
    const char *sample = value_of(o, "WARPSIGHT_MODEL_SAMPLE"), *budget = value_of(o, "WARPSIGHT_MODEL_BUDGET");
    uint32_t blocks;
    uint64_t instructions;
    double seconds;
    if ((sample || budget) && !o->is_model)
        return REFUSE("--sample and --model-budget belong to --model");
    if (sample && ws_model_sample_parse(sample, &blocks) != 0)
        return REFUSE("--sample needs auto, off or a number of blocks from 2, not '%s'", sample);
    if (budget && ws_model_budget_parse(budget, &seconds, &instructions) != 0)
        return REFUSE("--model-budget needs seconds (30s) or warp instructions (500M), not '%s'", budget);
    return -1;
}

static int check_values(const struct ws_run_options *o)
{
    static struct ws_plan plan; /* 60 KiB */
    static struct ws_select select;
    static struct ws_nvtx_filter filter;
    const char *ranges = value_of(o, "WARPSIGHT_NVTX_INCLUDE");
    const char *metrics = value_of(o, "WARPSIGHT_METRICS");
    char why[160];
    const char *set = value_of(o, "WARPSIGHT_SET");
    const char *kernel = value_of(o, "WARPSIGHT_KERNEL");
    const char *checks = value_of(o, "WARPSIGHT_MODEL_CHECK");
    unsigned bits;
    int status = metrics ? check_metrics(metrics) : -1;
    if (status != -1)
        return status;
    if (ws_plan_make(&plan, set ? set : "", metrics ? metrics : "") != 0)
        return REFUSE("no set or metric '%s'; sets are core, memory, stalls, throughput, roofline, api, full, trace; "
                      "metrics: warpsight list metrics",
                      plan.bad);
    if (kernel && ws_select_filter(&select, kernel, WS_NAME_FUNCTION) != 0)
        return REFUSE("--kernel-name: '%s' is no POSIX extended regular expression", kernel);
    if (checks && ws_model_check_parse(checks, &bits) != 0)
        return REFUSE("--check: '%s' is no list of bounds, align, barrier, uninit, races, all", checks);
    status = check_sample(o);
    if (status != -1)
        return status;
    if (ranges && ws_nvtx_filter_init(&filter, ranges, why, sizeof why) != 0)
        return REFUSE("--nvtx-include: %s", why);
    if (o->is_csv && o->is_json)
        return REFUSE("--csv or --json, not both");
    if (check_stalls(o) != -1)
        return WS_RUN_FAILED;
    return check_limits(o);
}

static int set_start(struct ws_run_options *o, const char *value)
{
    const struct ws_setting *s = ws_setting_find("WARPSIGHT_START");
    const char **place = &o->setting[s - ws_setting_table];
    if (*place && strcmp(*place, value) != 0)
        return REFUSE("--idle or --profile-from-start off, not both");
    *place = value;
    return -1;
}

static int set_own(struct ws_run_options *o, int which, const char *value)
{
    switch (which) {
    case OUTPUT:
    case EXPORT:
        return set_output(o, value);
    case FORCE:
        o->is_forced = true;
        break;
    case CSV:
        o->is_csv = true;
        break;
    case JSON:
        o->is_json = true;
        break;
    case REQUIRE:
        o->needs_kernels = true;
        break;
    case PROCESSES:
        if (strcmp(value, "all") != 0 && strcmp(value, "application-only") != 0)
            return REFUSE("--target-processes %s is not one of all|application-only", value);
        o->is_application_only = value[1] == 'p';
        break;
    case YIELD:
        o->does_yield = true;
        break;
    case IDLE:
        return set_start(o, "idle");
    case FROM_START:
        if (strcmp(value, "off") == 0 || strcmp(value, "no") == 0)
            return set_start(o, "api");
        if (strcmp(value, "on") != 0 && strcmp(value, "yes") != 0)
            return REFUSE("--profile-from-start %s is not one of on|off", value);
        break;
    case MODEL:
        o->is_model = true;
        break;
    default:
        o->is_verbose = true;
        break;
    }
    return -1;
}

int ws_run_options_read(int argc, char **argv, struct ws_run_options *out)
{
    static struct table table;
    struct ws_cli cli = {
        .usage = "[options] [--] PROGRAM [ARGUMENTS]",
        .about = "Run a CUDA program, measure its kernels, report what slows them down.\n"
                 "The program's output, signals and exit status are its own; lines of WarpSight begin with\n"
                 "==WARPSIGHT== on stderr, and the report follows on stdout when the program has ended.\n"
                 "Exit status: the program's (128+N for signal N); 123 no kernel seen (--require-kernels);\n"
                 "125 bad usage, or it could not be started; 126 not executable; 127 not found.",
        .options = table.option,
        .stop_at_operand = true,
        .argc = argc,
        .argv = argv};
    const char *value;
    int found;
    int status = -1;
    make_table(&table);
    memset(out, 0, sizeof *out);
    while (status == -1 && (found = ws_cli_next(&cli, &value)) != WS_CLI_END && found != WS_CLI_OPERAND) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_RUN_FAILED;
        status =
            found < OWN ? set_own(out, found, value) : set_setting(out, &table.option[found], table.row[found], value);
    }
    if (status == -1 && (cli.at == 0 || cli.at >= argc))
        status = REFUSE("say which program to run");
    if (status == -1)
        status = check_values(out);
    if (status == -1)
        status = check_timeline(out);
    if (status == -1)
        status = check_output(out);
    out->program = argv + cli.at;
    return status;
}
