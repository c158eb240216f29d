/* SPDX-License-Identifier: MIT
 * cmd_occupancy.c: `warpsight occupancy`: what fits on an SM, what limits it, and what if. Needs no GPU.
 * The model is analyzer/occupancy.c; this file reads options and prints.
 * A configuration that cannot be launched is an answer (0 blocks), not an error. */
#include "cli.h"
#include "cmd.h"
#include "json.h"

#include "../analyzer/occupancy.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COMMAND "occupancy"

/* No SM ever had a tenth of it: more is a slip, not a question. */
#define MOST_SMEM_BYTES (16u << 20)
enum { MOST_REGS = 255, MOST_BARRIERS = 16, MOST_CLUSTER = 1024, PLOT_ROWS = 4, PLOT_COLUMNS = 64 };

enum { OPT_CC, OPT_THREADS, OPT_REGS, OPT_SMEM, OPT_CLUSTER, OPT_BARRIERS, OPT_CARVEOUT, OPT_JSON };
static const struct ws_option options[] = {
    {"cc", 0, "N.N", "compute capability, 5.0 to 12.1 (required)"},
    {"threads", 't', "N", "threads per block, 1 to 1024 (required)"},
    {"regs", 'r', "N", "registers per thread; left out = they are no limit"},
    {"smem", 's', "SIZE", "shared memory per block, static and dynamic: bytes, or 48K"},
    {"cluster", 0, "N", "blocks per cluster"},
    {"barriers", 0, "N", "named barriers per block, 1 to 16"},
    {"carveout", 0, "SIZE|N%", "shared memory of an SM asked for; left out = the largest"},
    {"json", 0, NULL, "as JSON, curves included"},
    {NULL, 0, NULL, NULL},
};

struct request {
    const struct ws_limits *limits;
    const char *carveout; /* text: it can be read only when the compute capability is known */
    struct ws_occ_config config;
    bool has_threads, has_regs, json;
};

/* --- reading -------------------------------------------------------------------------------------- */

/* "49152", "48K", "48KiB", "1M": bytes. False for anything else and for more than `most`. */
static bool read_size(const char *text, uint64_t most, uint32_t *out)
{
    static const struct {
        const char *suffix;
        uint64_t scale;
    } units[] = {{"", 1},       {"b", 1},       {"k", 1024},     {"kb", 1024},
                 {"kib", 1024}, {"m", 1 << 20}, {"mb", 1 << 20}, {"mib", 1 << 20}};
    size_t digits = strspn(text, "0123456789");
    uint64_t n = 0;
    if (digits == 0)
        return false;
    for (size_t i = 0; i < digits; i++) {
        n = n * 10 + (uint64_t)(text[i] - '0');
        if (n > most)
            return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(text + digits, units[i].suffix) == 0 && n <= most / units[i].scale) {
            *out = (uint32_t)(n * units[i].scale);
            return true;
        }
    return false;
}

/* "9.0": exactly digits, a dot, digits. */
static const struct ws_limits *read_cc(const char *text)
{
    unsigned major, minor;
    char rest;
    if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 4 ||
        sscanf(text, "%2u.%1u%c", &major, &minor, &rest) != 2)
        return NULL;
    return ws_gpus_limits(major, minor);
}

static int unknown_cc(const char *text)
{
    char known[256] = "";
    size_t count = 0, at = 0;
    const struct ws_limits *all = ws_gpus_limits_all(&count);
    for (size_t i = 0; i < count && at < sizeof known; i++)
        at +=
            (size_t)snprintf(known + at, sizeof known - at, "%s%u.%u", i ? " " : "", all[i].cc_major, all[i].cc_minor);
    return ws_cli_usage_error(COMMAND, "unknown compute capability '%s'; known are %s", text, known);
}

static int read_number(const char *name, const char *text, long long least, long long most, uint32_t *out)
{
    long long n;
    if (!ws_cli_integer(text, least, most, &n))
        return ws_cli_usage_error(COMMAND, "--%s must be a whole number from %lld to %lld, not '%s'", name, least, most,
                                  text);
    *out = (uint32_t)n;
    return WS_EXIT_OK;
}

/* A size, or a percentage of the largest carve-out. */
static int read_carveout(struct request *r)
{
    uint32_t most = r->limits->smem_per_sm, bytes = 0;
    size_t length = strlen(r->carveout);
    long long percent;
    char digits[4] = "";
    if (r->limits->carveouts == WS_CARVEOUT_NONE)
        return ws_cli_usage_error(
            COMMAND, "--carveout: compute capability %u.%u has shared memory of its own, nothing to choose",
            r->limits->cc_major, r->limits->cc_minor);
    if (length > 1 && length < 5 && r->carveout[length - 1] == '%') {
        memcpy(digits, r->carveout, length - 1);
        if (!ws_cli_integer(digits, 0, 100, &percent))
            return ws_cli_usage_error(COMMAND, "--carveout must be 0%% to 100%%, not '%s'", r->carveout);
        bytes = (uint32_t)((uint64_t)most * (uint64_t)percent / 100);
    } else if (!read_size(r->carveout, most, &bytes)) {
        return ws_cli_usage_error(COMMAND, "--carveout must be a size up to %uK, or a percentage, not '%s'",
                                  most / 1024, r->carveout);
    }
    r->config.carveout_chosen = true;
    r->config.carveout_bytes = bytes;
    return WS_EXIT_OK;
}

static int read_option(int option, const char *value, struct request *r)
{
    switch (option) {
    case OPT_CC:
        r->limits = read_cc(value);
        return r->limits ? WS_EXIT_OK : unknown_cc(value);
    case OPT_THREADS:
        r->has_threads = true;
        return read_number("threads", value, 1, WS_BLOCK_THREADS_MAX, &r->config.threads);
    case OPT_REGS:
        r->has_regs = true;
        return read_number("regs", value, 0, MOST_REGS, &r->config.regs_per_thread);
    case OPT_SMEM:
        return read_size(value, MOST_SMEM_BYTES, &r->config.dynamic_smem_bytes)
                   ? WS_EXIT_OK
                   : ws_cli_usage_error(COMMAND, "--smem must be a size up to 16M in bytes, or like 48K, not '%s'",
                                        value);
    case OPT_CLUSTER:
        return read_number("cluster", value, 1, MOST_CLUSTER, &r->config.cluster);
    case OPT_BARRIERS:
        return read_number("barriers", value, 1, MOST_BARRIERS, &r->config.barriers);
    case OPT_CARVEOUT:
        r->carveout = value;
        return WS_EXIT_OK;
    default:
        r->json = true;
        return WS_EXIT_OK;
    }
}

/* --- printing ------------------------------------------------------------------------------------- */

static void print_limits_text(const struct ws_occupancy *o)
{
    for (unsigned i = 0; i < WS_OCC_LIMIT_COUNT; i++) {
        printf("  %-12s", ws_occ_limit_name((enum ws_occ_limit)i));
        if (o->limit[i] == WS_OCC_NO_LIMIT)
            printf("%6s", "-");
        else
            printf("%6u", o->limit[i]);
        printf("%s\n", o->limiters & 1u << i ? "  <- limits" : "");
    }
}

/* One column of a plot: the greatest occupancy of the points that share it would hide the steps, so the
 * first point of each column is drawn. */
static void plot(const struct ws_occ_point *points, size_t n, uint32_t max_warps, uint32_t at, const char *title,
                 const char *unit, uint32_t scale)
{
    static const char *const eighths[9] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t step = (n + PLOT_COLUMNS - 1) / PLOT_COLUMNS, mark = 0;
    printf("\n%s\n", title);
    for (int row = PLOT_ROWS - 1; row >= 0; row--) {
        printf("%5d %% |", (row + 1) * 100 / PLOT_ROWS);
        for (size_t i = 0; i < n; i += step) {
            int level = (int)(points[i].warps * 8u * PLOT_ROWS / max_warps) - 8 * row;
            fputs(eighths[level < 0 ? 0 : (level > 8 ? 8 : level)], stdout);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < n; i++)
        if (points[i].x <= at)
            mark = i / step;
    printf("        %*s^ %u %s   (axis %u to %u)\n", (int)mark, "", at / scale, unit, points[0].x / scale,
           points[n - 1].x / scale);
}

static void print_curves_text(const struct request *r, const struct ws_occupancy *o)
{
    static const struct {
        enum ws_occ_axis axis;
        const char *title, *unit;
        uint32_t scale;
    } plots[] = {{WS_OCC_AXIS_THREADS, "Occupancy over threads per block", "threads", 1},
                 {WS_OCC_AXIS_REGISTERS, "Occupancy over registers per thread", "registers", 1},
                 {WS_OCC_AXIS_SHARED, "Occupancy over shared memory per block", "KiB", 1024}};
    const uint32_t at[] = {r->config.threads, r->config.regs_per_thread, r->config.dynamic_smem_bytes};
    struct ws_occ_point points[WS_OCC_CURVE_MAX];
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++) {
        size_t n = ws_occupancy_curve(r->limits, &r->config, plots[i].axis, points, WS_OCC_CURVE_MAX);
        plot(points, n, o->max_warps, at[i], plots[i].title, plots[i].unit, plots[i].scale);
    }
}

static void print_text(const struct request *r, const struct ws_occupancy *o)
{
    const char *separator = "";
    printf("Compute capability %u.%u: %u threads", r->limits->cc_major, r->limits->cc_minor, r->config.threads);
    if (r->has_regs)
        printf(", %u registers", r->config.regs_per_thread);
    printf(", %.6g KiB of shared memory", r->config.dynamic_smem_bytes / 1024.0);
    if (r->config.cluster > 1)
        printf(", clusters of %u", r->config.cluster);
    printf("\n\n  blocks per SM %5u\n  warps per SM  %5u of %u\n  occupancy     %5.1f %%\n  limited by    ",
           o->blocks_per_sm, o->warps_per_sm, o->max_warps, 100 * o->theoretical.number);
    for (unsigned i = 0; i < WS_OCC_LIMIT_COUNT; i++)
        if (o->limiters & 1u << i) {
            printf("%s%s", separator, ws_occ_limit_name((enum ws_occ_limit)i));
            separator = ", ";
        }
    printf("%s\n", o->blocks_per_sm == 0 ? ": this configuration cannot be launched" : "");
    if (r->config.cluster > r->limits->cluster_portable && r->config.cluster <= r->limits->cluster_max)
        printf("  clusters above %u need cudaFuncAttributeNonPortableClusterSizeAllowed\n",
               r->limits->cluster_portable);
    printf("\nBlocks per SM that each would allow (carve-out %u KiB)\n", o->carveout_bytes / 1024);
    print_limits_text(o);
    print_curves_text(r, o);
    printf("\nsource: %s\n", r->limits->source);
}

static void put_limit(struct ws_json *j, const char *key, uint32_t limit)
{
    if (limit == WS_OCC_NO_LIMIT)
        ws_json_put_null(j, key);
    else
        ws_json_put_uint(j, key, limit);
}

static void put_curves(struct ws_json *j, const struct request *r)
{
    struct ws_occ_point points[WS_OCC_CURVE_MAX];
    ws_json_key(j, "curves");
    ws_json_object(j);
    for (unsigned axis = 0; axis < WS_OCC_AXIS_COUNT; axis++) {
        size_t n = ws_occupancy_curve(r->limits, &r->config, (enum ws_occ_axis)axis, points, WS_OCC_CURVE_MAX);
        ws_json_key(j, ws_occ_axis_name((enum ws_occ_axis)axis));
        ws_json_array(j);
        for (size_t i = 0; i < n; i++) {
            ws_json_object_line(j);
            ws_json_put_uint(j, "x", points[i].x);
            ws_json_put_uint(j, "blocks_per_sm", points[i].blocks);
            ws_json_put_uint(j, "warps_per_sm", points[i].warps);
            ws_json_put_text(j, "limiter", ws_occ_limit_name(points[i].limiter));
            ws_json_end(j);
        }
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void print_json(const struct request *r, const struct ws_occupancy *o)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    char cc[16];
    snprintf(cc, sizeof cc, "%u.%u", r->limits->cc_major, r->limits->cc_minor);
    ws_json_object(&j);
    ws_json_put_text(&j, "cc", cc);
    ws_json_put_uint(&j, "threads", r->config.threads);
    if (r->has_regs)
        ws_json_put_uint(&j, "regs_per_thread", r->config.regs_per_thread);
    else
        ws_json_put_null(&j, "regs_per_thread");
    ws_json_put_uint(&j, "smem_bytes", r->config.dynamic_smem_bytes);
    ws_json_put_uint(&j, "cluster", r->config.cluster ? r->config.cluster : 1);
    ws_json_put_uint(&j, "carveout_bytes", o->carveout_bytes);
    ws_json_put_uint(&j, "blocks_per_sm", o->blocks_per_sm);
    ws_json_put_uint(&j, "warps_per_sm", o->warps_per_sm);
    ws_json_put_uint(&j, "max_warps_per_sm", o->max_warps);
    ws_json_put_number(&j, "occupancy", o->theoretical.number);
    ws_json_put_text(&j, "limiter", ws_occ_limit_name(o->limiter));
    ws_json_key(&j, "limiters");
    ws_json_array_line(&j);
    for (unsigned i = 0; i < WS_OCC_LIMIT_COUNT; i++)
        if (o->limiters & 1u << i)
            ws_json_text(&j, ws_occ_limit_name((enum ws_occ_limit)i));
    ws_json_end(&j);
    ws_json_key(&j, "limits");
    ws_json_object(&j);
    for (unsigned i = 0; i < WS_OCC_LIMIT_COUNT; i++)
        put_limit(&j, ws_occ_limit_name((enum ws_occ_limit)i), o->limit[i]);
    ws_json_end(&j);
    ws_json_put_uint(&j, "allocated_regs_per_block", o->regs_per_block);
    ws_json_put_uint(&j, "allocated_smem_per_block", o->smem_per_block);
    put_curves(&j, r);
    ws_json_put_text(&j, "source", r->limits->source);
    ws_json_end(&j);
    putchar('\n');
}

/* Read every option; WS_EXIT_OK, or what to return. */
static int read_all(struct ws_cli *cli, struct request *r, bool *done)
{
    const char *value;
    int found, status = WS_EXIT_OK;
    *done = false;
    while (status == WS_EXIT_OK && (found = ws_cli_next(cli, &value)) != WS_CLI_END) {
        *done = found == WS_CLI_HELP;
        if (*done)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found == WS_CLI_OPERAND)
            return ws_cli_usage_error(COMMAND, "takes no operand: '%s'", value);
        status = read_option(found, value, r);
    }
    if (status == WS_EXIT_OK && !r->limits)
        return ws_cli_usage_error(COMMAND, "say which compute capability: --cc 9.0");
    if (status == WS_EXIT_OK && !r->has_threads)
        return ws_cli_usage_error(COMMAND, "say how many threads per block: --threads 256");
    return status == WS_EXIT_OK && r->carveout ? read_carveout(r) : status;
}

int ws_cmd_occupancy(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "--cc N.N --threads N [options]",
                         .about = "How many blocks and warps fit on one SM, what limits them, and what if.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct request r = {0};
    struct ws_occupancy o;
    bool done;
    int status = read_all(&cli, &r, &done);
    if (status != WS_EXIT_OK || done)
        return status;
    assert(r.limits);                                  /* else read_all() has said that it is missing */
    if (ws_occupancy_of(r.limits, &r.config, &o) != 0) /* threads were checked */
        return ws_cli_failed(COMMAND, "no such configuration");
    if (r.json)
        print_json(&r, &o);
    else
        print_text(&r, &o);
    return WS_EXIT_OK;
}
