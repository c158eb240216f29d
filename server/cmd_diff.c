/* SPDX-License-Identifier: MIT
 * cmd_diff.c: `warpsight diff BASE [TARGET]`: what changed between two sessions, and, with --fail-on, whether a build
 * may pass. Read on: compare.h (pairs), gate.h (conditions), compare_text.c and compare_json.c (forms). */
#include "../analyzer/err.h"
#include "cli.h"
#include "cmd.h"
#include "compare_text.h"
#include "json.h"
#include "nearest.h"
#include "reader.h"

#include <stdint.h>
#include <string.h>

/* As diff(1): "they differ" and "I could not look" are told apart. */
enum { EXIT_SAME = 0, EXIT_FAILED_GATE = 1, EXIT_TROUBLE = 2 };

static const struct ws_option options[] = {
    {"fail-on", 0, "CONDITIONS", "exit with 1 where one holds: 'duration > 5%, gld_sectors_per_request > 0'"},
    {"kernel", 'k', "NAME", "only kernels of this name, as for report"},
    {"top", 'n', "N", "at most N kernels in the tables (default 20; 0: all)"},
    {"all", 'a', NULL, "kernels that did not change, too"},
    {"json", 0, NULL, "everything as JSON, with every metric"},
    {"markdown", 0, NULL, "tables for a pull request"},
    {"output", 'o', "FILE", "write to FILE"},
    {NULL, 0, NULL, NULL},
};
enum { OPT_FAIL_ON, OPT_KERNEL, OPT_TOP, OPT_ALL, OPT_JSON, OPT_MARKDOWN, OPT_OUTPUT };

static const char about[] =
    "Two sessions, kernel by kernel: times by the median of the launches with their noise, counts, findings that came "
    "and went. BASE and TARGET are ids, names or baselines (warpsight list sessions); TARGET left out = the newest.\n"
    "--fail-on takes KEY > NUMBER or KEY < NUMBER, with % for a change relative to base, without in the key's own "
    "unit; KEY is duration, total, launches, findings or a metric. A change of duration within the noise never fails; "
    "a condition that no kernel has the values for fails.\n"
    "Exit status: 0 nothing failed, 1 a condition of --fail-on holds, 2 the comparison could not be made.";

struct request {
    const char *base, *target, *kernel, *output;
    bool json;
    struct ws_compare_options form;
    struct ws_gate gate;
};

static int read_option(struct request *r, int found, const char *value)
{
    char message[200];
    long long top;
    switch (found) {
    case OPT_FAIL_ON:
        if (!ws_gate_parse(value, &r->gate, message, sizeof message))
            return ws_cli_usage_error("diff", "--fail-on: %s", message);
        break;
    case OPT_KERNEL:
        r->kernel = value;
        break;
    case OPT_TOP:
        if (!ws_cli_integer(value, 0, INT32_MAX, &top))
            return ws_cli_usage_error("diff", "--top needs a whole number from 0, not '%s'", value);
        r->form.top = (size_t)top;
        break;
    case OPT_ALL:
        r->form.all = true;
        break;
    case OPT_JSON:
        r->json = true;
        break;
    case OPT_MARKDOWN:
        r->form.markdown = true;
        break;
    case OPT_OUTPUT:
        r->output = value;
        break;
    default:
        if (r->target)
            return ws_cli_usage_error("diff", "two sessions are compared: '%s' is one too many", value);
        *(r->base ? &r->target : &r->base) = value;
        break;
    }
    return WS_EXIT_OK;
}

/* --- JSON --- */

static void put_side(struct ws_json *j, const char *key, const struct ws_cached *side)
{
    ws_json_key(j, key);
    ws_json_object(j);
    ws_report_json_session_members(j, &side->session->row, side->session);
    ws_json_end(j);
}

static void put_note(void *state, const char *line)
{
    ws_json_text(state, line);
}

static void put_gate(struct ws_json *j, const struct request *r, const struct ws_comparison *c, const struct ws_pair *p)
{
    ws_json_key(j, "gate");
    ws_json_array(j);
    for (size_t g = 0; g < r->gate.count && ws_compare_is_pair(p); g++) {
        struct ws_gate_judged judged = ws_gate_judge(&r->gate.condition[g], c, p);
        const char *unit = ws_unit_get(judged.unit)->symbol;
        ws_json_object(j);
        ws_json_put_text(j, "condition", r->gate.condition[g].text);
        ws_json_put_text(j, "result", ws_gate_result_name(judged.result));
        ws_report_json_put_value(j, "base", judged.base, unit);
        ws_report_json_put_value(j, "target", judged.target, unit);
        ws_report_json_put_value(j, "change", judged.change, r->gate.condition[g].is_relative ? "ratio" : unit);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_json(const struct request *r, const struct ws_comparison *c, FILE *out)
{
    struct ws_json j = {.out = out, .pretty = true};
    struct ws_gate_tally t = ws_gate_tally(&r->gate, c);
    ws_json_object(&j);
    put_side(&j, "base", c->base);
    put_side(&j, "target", c->target);
    ws_json_key(&j, "notes");
    ws_json_array(&j);
    ws_compare_warnings(c, put_note, &j);
    ws_json_end(&j);
    ws_json_key(&j, "gate");
    ws_json_object_line(&j);
    ws_json_put_uint(&j, "failed", t.failed);
    ws_json_put_uint(&j, "passed", t.passed);
    ws_json_put_uint(&j, "within_noise", t.noise);
    ws_json_put_uint(&j, "unknown", t.unknown);
    ws_json_put_uint(&j, "never_judged", t.never_judged);
    ws_json_end(&j);
    ws_json_key(&j, "kernels");
    ws_json_array(&j);
    for (size_t i = 0; i < c->count; i++) {
        ws_json_object(&j);
        ws_compare_json_pair(&j, c, &c->pairs[i], NULL);
        if (r->gate.count > 0)
            put_gate(&j, r, c, &c->pairs[i]);
        ws_json_end(&j);
    }
    ws_json_end(&j);
    ws_json_end(&j);
    fputc('\n', out);
}

/* --- the comparison --- */

/* Keep the pairs whose kernel fits; 0, or the status to exit with. */
static int select_pairs(const struct request *r, struct ws_comparison *c)
{
    char message[320];
    struct ws_nearest near = {.word = r->kernel};
    struct ws_name_filter *filter = ws_name_filter_new(r->kernel, message, sizeof message);
    size_t kept = 0;
    if (!filter)
        return ws_cli_usage_error("diff", "--kernel %s: %s", r->kernel, message);
    for (size_t i = 0; i < c->count; i++) {
        const struct ws_name *name = &ws_compare_kernel(c, &c->pairs[i])->name;
        ws_nearest_offer_kernel(&near, name);
        if (ws_name_filter_fits(filter, name))
            c->pairs[kept++] = c->pairs[i];
    }
    ws_name_filter_free(filter);
    c->count = kept;
    if (kept > 0)
        return WS_EXIT_OK;
    (void)ws_cli_failed("diff", "no kernel fits '%s'; the nearest names are %s", r->kernel,
                        ws_nearest_list(&near, message, sizeof message));
    return EXIT_TROUBLE;
}

static int print(const struct request *r, const struct ws_comparison *c)
{
    struct ws_gate_tally t = ws_gate_tally(&r->gate, c);
    FILE *out = ws_reader_output("diff", r->output);
    int err = 0;
    if (!out)
        return EXIT_TROUBLE;
    if (r->json)
        put_json(r, c, out);
    else
        err = ws_compare_text(c, &r->gate, &r->form, out);
    if (err != 0)
        (void)ws_cli_failed("diff", "%s", ws_err_text(err));
    if (ws_reader_close_output("diff", out, r->output, err == 0 ? WS_EXIT_OK : WS_EXIT_FAILED) != WS_EXIT_OK)
        return EXIT_TROUBLE;
    return t.failed + t.never_judged > 0 ? EXIT_FAILED_GATE : EXIT_SAME;
}

static int compare(const struct request *r, struct ws_store *store, int64_t base_id, int64_t target_id)
{
    const struct ws_cached *base = NULL;
    const struct ws_cached *target = NULL;
    struct ws_comparison c = {.count = 0};
    int status = WS_EXIT_OK;
    int err = ws_session_cache_take(store, base_id, 0, &base);
    if (err == 0)
        err = ws_session_cache_take(store, target_id, 0, &target);
    if (err == 0)
        err = ws_compare(store, base, target, &c);
    if (err != 0) {
        (void)ws_cli_failed("diff", "%s", *ws_store_message(store) ? ws_store_message(store) : ws_err_text(err));
        status = EXIT_TROUBLE;
    }
    if (status == WS_EXIT_OK && r->kernel)
        status = select_pairs(r, &c);
    if (status == WS_EXIT_OK)
        status = print(r, &c);
    ws_compare_free(&c);
    if (target)
        ws_session_cache_give(target);
    if (base)
        ws_session_cache_give(base);
    return status;
}

static int diff(const struct request *r)
{
    struct ws_store *store = NULL;
    int64_t base = 0;
    int64_t target = 0;
    int status = EXIT_TROUBLE;
    if (ws_reader_open("diff", &store) == WS_EXIT_OK && ws_reader_find("diff", store, r->base, &base) == WS_EXIT_OK &&
        ws_reader_find("diff", store, r->target, &target) == WS_EXIT_OK)
        status = compare(r, store, base, target);
    ws_store_close(store);
    return status;
}

int ws_cmd_diff(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "BASE [TARGET] [--fail-on CONDITIONS] [options]",
                         .about = about,
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct request r = {.form.top = 20};
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
    if (!r.base)
        return ws_cli_usage_error("diff", "say which session to compare with: warpsight diff BASE [TARGET]");
    if (r.json && r.form.markdown)
        return ws_cli_usage_error("diff", "one of --json and --markdown");
    r.form.base = r.base;
    r.form.target = r.target;
    return diff(&r);
}
