/* SPDX-License-Identifier: MIT
 * cmd_export.c: `warpsight export [SESSION] --format FORMAT [-k NAME] [-o FILE]`. Add a format: export_<format>.c, a
 * line in export.h, a row below. */
#include "../analyzer/err.h"
#include "cli.h"
#include "cmd.h"
#include "export.h"
#include "reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct ws_format formats[] = {
    {.name = "csv", .write = ws_export_csv, .doc = "one line a kernel and metric, RFC 4180"},
    {.name = "json", .write = ws_export_json, .doc = "the report, as `report --json` prints it"},
    {.name = "markdown",
     .write = ws_export_markdown,
     .doc = "a summary for a pull request: kernels, findings, warnings"},
    {.name = "chrome-trace",
     .write = ws_export_chrome_trace,
     .doc = "a trace for Perfetto, chrome://tracing or speedscope"},
    {.name = "pprof",
     .write = ws_export_pprof,
     .is_binary = true,
     .doc = "time and launches of kernels for `go tool pprof`"},
    {.name = "capture",
     .write = ws_export_capture,
     .is_binary = true,
     .is_whole = true,
     .doc = "a .wscap that `warpsight import` reads anywhere"},
    {.name = "sqlite",
     .write = ws_export_sqlite,
     .is_binary = true,
     .is_file = true,
     .is_whole = true,
     .doc = "the session alone as a database"},
    {.name = "samples-csv",
     .write = ws_export_samples_csv,
     .is_whole = true,
     .doc = "samples over time (run --timeline-metrics), one line a sample and metric"},
    {.name = "roofline-csv",
     .write = ws_export_roofline_csv,
     .doc = "one line a kernel, precision and memory level, with its roofs"},
    {.name = "roofline-json",
     .write = ws_export_roofline_json,
     .doc = "points, measured and data-sheet ceilings, ridges"},
    {.name = "roofline-svg",
     .write = ws_export_roofline_svg,
     .doc = "a picture that needs no other file, for light and dark"},
    {.name = "roofline-gnuplot",
     .write = ws_export_roofline_gnuplot,
     .doc = "a script with its data inside: gnuplot FILE >x.svg"},
};
#define FORMATS (sizeof formats / sizeof formats[0])

static const struct ws_option options[] = {
    {"format", 'f', "FORMAT", "which format"},
    {"kernel", 'k', "NAME", "only kernels of this name, as for report (not for capture and sqlite)"},
    {"output", 'o', "FILE", "write to FILE instead of stdout"},
    {NULL, 0, NULL, NULL},
};
enum { OPT_FORMAT, OPT_KERNEL, OPT_OUTPUT };

struct request {
    const struct ws_format *format;
    const char *session, *kernel, *output;
};

const struct ws_format *ws_export_formats(size_t *count)
{
    *count = FORMATS;
    return formats;
}

/* "csv, json, …" */
static const char *format_names(char *at, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; i < FORMATS && used < cap; i++)
        used += (size_t)snprintf(at + used, cap - used, "%s%s", i ? ", " : "", formats[i].name);
    return at;
}

const struct ws_format *ws_export_find(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static int read_option(struct request *r, int found, const char *value)
{
    char names[256];
    if (found == OPT_OUTPUT) {
        r->output = value;
    } else if (found == OPT_KERNEL) {
        r->kernel = value;
    } else if (found == OPT_FORMAT) {
        r->format = ws_export_find(value);
        if (!r->format)
            return ws_cli_usage_error("export", "unknown format '%s'; there is: %s", value,
                                      format_names(names, sizeof names));
    } else if (r->session) {
        return ws_cli_usage_error("export", "one session at a time: '%s' or '%s'", r->session, value);
    } else {
        r->session = value;
    }
    return WS_EXIT_OK;
}

static int write_format(const struct request *r, struct ws_store *store, const struct ws_session *session)
{
    char message[600] = "";
    struct ws_export e = {
        .store = store, .session = session, .path = r->output, .message = message, .cap = sizeof message};
    int err;
    if (!r->format->is_file)
        e.out = ws_reader_output("export", r->output);
    if (!r->format->is_file && !e.out)
        return WS_EXIT_FAILED;
    err = r->format->write(&e);
    if (err != 0 && e.out && ferror(e.out)) /* told below, or at the end for stdout, with its reason */
        return ws_reader_close_output("export", e.out, r->output, WS_EXIT_FAILED);
    if (err != 0 && !*message)
        snprintf(message, sizeof message, "%s", *ws_store_message(store) ? ws_store_message(store) : ws_err_text(err));
    if (err != 0)
        (void)ws_cli_failed("export", "%s", message);
    if (e.out)
        return ws_reader_close_output("export", e.out, r->output, err == 0 ? WS_EXIT_OK : WS_EXIT_FAILED);
    return err == 0 ? WS_EXIT_OK : WS_EXIT_FAILED;
}

static int export(const struct request *r)
{
    struct ws_store *store = NULL;
    struct ws_session *session = NULL;
    int status = ws_reader_open("export", &store);
    if (status == WS_EXIT_OK)
        status = ws_reader_session("export", store, r->session, &session);
    if (status == WS_EXIT_OK && r->kernel)
        status = ws_reader_select("export", session, r->kernel, NULL, 0);
    if (status == WS_EXIT_OK)
        status = write_format(r, store, session);
    ws_report_free(session);
    ws_store_close(store);
    return status;
}

int ws_cmd_export(int argc, char **argv)
{
    struct ws_cli cli = {
        .usage = "[SESSION] --format FORMAT [-k NAME] [-o FILE]", .options = options, .argc = argc, .argv = argv};
    struct request r = {.format = NULL};
    char about[1024];
    size_t used = 0;
    const char *value;
    int found;
    int status;
    for (size_t i = 0; i < FORMATS && used < sizeof about; i++)
        used += (size_t)snprintf(about + used, sizeof about - used, "%s  %-16s %s", i ? "\n" : "Formats:\n",
                                 formats[i].name, formats[i].doc);
    cli.about = about;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        status = found == WS_CLI_ERROR ? WS_EXIT_USAGE : read_option(&r, found, value);
        if (status != WS_EXIT_OK)
            return status;
    }
    if (!r.format)
        return ws_cli_usage_error("export", "say which --format: %s", format_names(about, sizeof about));
    if (r.kernel && r.format->is_whole)
        return ws_cli_usage_error("export", "format %s has the whole session: --kernel is not for it", r.format->name);
    if (r.format->is_file && !r.output)
        return ws_cli_usage_error("export", "format %s makes a file: say which with -o FILE", r.format->name);
    if (r.format->is_binary && !r.output && isatty(STDOUT_FILENO))
        return ws_cli_usage_error("export", "format %s is not for a terminal: use -o FILE", r.format->name);
    return export(&r);
}
