/* SPDX-License-Identifier: MIT
 * cmd_report.c: `warpsight report [SESSION]`: reads the options, loads, prints in the form that was asked for. */
#include "../analyzer/err.h"
#include "assets.h"
#include "by_process.h"
#include "cli.h"
#include "cmd.h"
#include "html_report.h"
#include "kernel_source.h"
#include "reader.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

static const struct ws_option options[] = {
    {"json", 0, NULL, "everything as JSON"},
    {"csv", 0, NULL, "one line a kernel and metric"},
    {"html", 0, "FILE", "the page of `warpsight serve`, with this session inside, as one file"},
    {"kernel", 'k', "NAME",
     "only kernels of this name: f, f<2>, a mangled or demangled name, a hash; regex:RE finds a part"},
    {"source", 0, "KERNEL",
     "its hottest lines and instructions by PC samples (run --stalls pc); with --json, all of them; with --html, they "
     "are kept in the file, with the text of the source"},
    {"sort", 's', "KEY", "order by duration (default), mean, min, max, launches, gain, name, or a metric"},
    {"top", 'n', "N", "only the first N kernels"},
    {"all", 'a', NULL, "describe every kernel, with every metric (default: the first 10, the main ones)"},
    {"by-process", 0, NULL, "its processes (ranks, children) beside each other, and nothing else"},
    {"output", 'o', "FILE", "write to FILE"},
    {NULL, 0, NULL, NULL},
};
enum { OPT_JSON, OPT_CSV, OPT_HTML, OPT_KERNEL, OPT_SOURCE, OPT_SORT, OPT_TOP, OPT_ALL, OPT_BY_PROCESS, OPT_OUTPUT };

#define DETAILS 10
#define SOURCE_LINES 10

struct request {
    bool json, csv, html, all, source, by_process;
    const char *session, *kernel, *sort, *output;
    long long top;
};

static int read_option(struct request *r, int found, const char *value)
{
    switch (found) {
    case OPT_JSON:
        r->json = true;
        break;
    case OPT_CSV:
        r->csv = true;
        break;
    case OPT_HTML:
        r->html = true;
        r->output = value;
        break;
    case OPT_KERNEL:
        r->kernel = value;
        break;
    case OPT_SOURCE:
        r->kernel = value;
        r->source = true;
        break;
    case OPT_SORT:
        if (!ws_report_is_sort_key(value))
            return ws_cli_usage_error("report", "unknown sort key '%s'; see: warpsight list metrics", value);
        r->sort = value;
        break;
    case OPT_TOP:
        if (!ws_cli_integer(value, 1, INT32_MAX, &r->top))
            return ws_cli_usage_error("report", "--top needs a whole number from 1, not '%s'", value);
        break;
    case OPT_ALL:
        r->all = true;
        break;
    case OPT_BY_PROCESS:
        r->by_process = true;
        break;
    case OPT_OUTPUT:
        r->output = value;
        break;
    default:
        if (r->session)
            return ws_cli_usage_error("report", "one session at a time: '%s' or '%s'", r->session, value);
        r->session = value;
        break;
    }
    return WS_EXIT_OK;
}

/* Whether a kernel before this one is the same function in another launch shape. */
static bool is_shown(const struct ws_session *s, size_t kernel)
{
    for (size_t i = 0; i < kernel; i++)
        if (strcmp(s->kernels[i].row.mangled, s->kernels[kernel].row.mangled) == 0)
            return true;
    return false;
}

static int print_source_json(struct ws_store *store, const struct ws_session *s, FILE *out)
{
    struct ws_json json = {.out = out, .pretty = true};
    int err = 0;
    ws_json_object(&json);
    ws_json_put_int(&json, "session", s->row.id);
    ws_report_json_sampling(&json, s);
    ws_json_key(&json, "kernels");
    ws_json_array(&json);
    for (size_t i = 0; err == 0 && i < s->kernel_count; i++) {
        ws_json_object(&json);
        ws_json_put_int(&json, "id", s->kernels[i].row.id);
        ws_report_json_names(&json, &s->kernels[i].name);
        err = ws_kernel_source_json(&json, store, &s->kernels[i].row, s->row.id);
        ws_json_end(&json);
    }
    ws_json_end(&json);
    ws_json_end(&json);
    return err;
}

/* -WS_ENOENT: no kernel has samples. */
static int print_source(const struct request *r, struct ws_store *store, const struct ws_session *s, FILE *out)
{
    bool any = false;
    int err = 0;
    if (r->json)
        return print_source_json(store, s, out);
    for (size_t i = 0; err == 0 && i < s->kernel_count; i++) {
        if (is_shown(s, i))
            continue;
        err = ws_kernel_source_text(store, s, i, r->all ? 0 : SOURCE_LINES, out);
        any = any || err == 0;
        err = err == -WS_ENOENT ? 0 : err;
    }
    return err == 0 && !any ? -WS_ENOENT : err;
}

static int print_processes(const struct request *r, struct ws_store *store, const struct ws_session *session, FILE *out)
{
    struct ws_json json = {.out = out, .pretty = true};
    struct ws_by_process all;
    int err = ws_by_process_load(store, session, &all);
    if (err == 0 && r->json) {
        ws_json_object(&json);
        ws_json_put_int(&json, "session", session->row.id);
        ws_by_process_json(&json, &all);
        ws_json_end(&json);
        fputc('\n', out);
    } else if (err == 0) {
        ws_by_process_text(&all, out);
    }
    ws_by_process_free(&all);
    return err;
}

static int print(const struct request *r, struct ws_store *store, const struct ws_session *session,
                 const struct ws_session *sources, FILE *out)
{
    struct ws_json json = {.out = out, .pretty = true};
    struct ws_text_options text = {.all = r->all, .details = r->all || r->kernel ? SIZE_MAX : DETAILS};
    if (r->source && !r->html)
        return print_source(r, store, session, out);
    if (r->by_process)
        return print_processes(r, store, session, out);
    if (r->json)
        return ws_report_json(session, &json);
    if (r->csv)
        return ws_report_csv(session, out);
    if (r->html)
        return ws_html_report(store, session, sources, out);
    return ws_report_text(session, &text, out);
}

static int report(const struct request *r, struct ws_store *store)
{
    struct ws_session *session = NULL;
    struct ws_session *sources = NULL; /* --html: the whole session, and the lines of the kernels that --source names */
    bool is_whole = r->html && r->source;
    FILE *out;
    int err;
    int status = ws_reader_session("report", store, r->session, &session);
    if (status == WS_EXIT_OK)
        status = ws_reader_select("report", session, is_whole ? NULL : r->kernel, r->sort, (size_t)r->top);
    if (status == WS_EXIT_OK && is_whole)
        status = ws_reader_session("report", store, r->session, &sources);
    if (status == WS_EXIT_OK && is_whole)
        status = ws_reader_select("report", sources, r->kernel, NULL, 0);
    if (status == WS_EXIT_OK) {
        out = ws_reader_output("report", r->output);
        err = out ? print(r, store, session, sources, out) : 0;
        if (err == -WS_ENOENT && r->source)
            status = ws_cli_failed("report",
                                   "session %" PRId64 " has no PC samples of '%s': run the program with --stalls pc",
                                   session->row.id, r->kernel);
        else if (err != 0)
            status = ws_cli_failed("report", "%s", ws_err_text(err));
        status = out ? ws_reader_close_output("report", out, r->output, status) : WS_EXIT_FAILED;
    }
    ws_report_free(session);
    ws_report_free(sources);
    return status;
}

int ws_cmd_report(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "[SESSION] [options]",
                         .about = "What each kernel of a session did, and what to change. SESSION is an id or a name "
                                  "(see: warpsight list sessions); left out = the newest.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct request r = {.json = false};
    struct ws_store *store = NULL;
    const char *value;
    int found;
    int status;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        status = found == WS_CLI_ERROR ? WS_EXIT_USAGE : read_option(&r, found, value);
        if (status != WS_EXIT_OK)
            return status;
    }
    if (r.source && r.csv)
        return ws_cli_usage_error("report", "--source goes with --json, --html or alone");
    if (r.by_process && (r.csv || r.html || r.source || r.kernel || r.sort || r.top || r.all))
        return ws_cli_usage_error("report", "--by-process goes with --json and --output alone");
    if (r.json + r.csv + r.html > 1)
        return ws_cli_usage_error("report", "one of --json, --csv and --html");
    if (r.html && ws_asset_get(WS_ASSET_HTML)->size == 0)
        return ws_cli_failed("report", "this program was built without its page: run make web, then make");
    status = ws_reader_open("report", &store);
    if (status == WS_EXIT_OK)
        status = report(&r, store);
    ws_store_close(store);
    return status;
}
