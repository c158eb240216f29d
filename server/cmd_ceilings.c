/* SPDX-License-Identifier: MIT
 * cmd_ceilings.c: `warpsight ceilings`: measure what this board can do, keep it, show it.
 * The micro-kernels are those of warpsight-kernels (kernels/ceilings); this runs them, reads their JSON and stores one
 * row a ceiling, per GPU and driver. The rooflines of every session of that board are drawn under them.
 * Read on: analyzer/roofline.h (the list of ceilings), store.h (where they lie). */
#include "../analyzer/err.h"
#include "../analyzer/roofline.h"
#include "../analyzer/units.h"
#include "../collector/spool.h"
#include "cli.h"
#include "cmd.h"
#include "handover.h"
#include "json.h"
#include "paths.h"
#include "reader.h"
#include "reference.h"
#include "store.h"
#include "text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COMMAND "ceilings"
enum { OUTPUT_MAX = 1 << 20, EXIT_NO_GPU = 77 };

enum { OPT_SHOW, OPT_JSON };
static const struct ws_option options[] = {
    {"show", 0, NULL, "show what is stored, measure nothing"},
    {"json", 0, NULL, "as JSON"},
    {NULL, 0, NULL, NULL},
};

/* --- running the micro-kernels --------------------------------------------------------------------- */

/* Run them. *text: their output, to be freed. Returns a status to exit with. */
static int run_kernels(char **text)
{
    char program[WS_REFERENCE_PATH];
    char *arguments[] = {WS_REFERENCE_PROGRAM, COMMAND, NULL};
    struct ws_progress progress;
    int ended = 0;
    int status = ws_reference_find(COMMAND, program);
    if (status != WS_EXIT_OK)
        return status;
    fprintf(stderr, "==WARPSIGHT== measuring the ceilings of this GPU: some seconds on an otherwise idle board\n");
    ws_progress_begin(&progress, "ceilings", "micro-kernels", false);
    status = ws_reference_run(COMMAND, program, arguments, false, &progress, text, &ended);
    ws_progress_end(&progress);
    if (status != WS_EXIT_OK)
        return status;
    if (ended == WS_REFERENCE_NO_GPU)
        return ws_cli_failed(COMMAND, "there is no GPU here that could be measured");
    if (ended != 0)
        return ws_cli_failed(COMMAND, "the measurement did not run to a good end");
    return *text ? WS_EXIT_OK : ws_cli_failed(COMMAND, "the measurement wrote no result");
}

/* --- reading and storing --------------------------------------------------------------------------- */

static struct ws_text member(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return ws_text_of(cJSON_IsString(item) ? item->valuestring : "");
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* One row; a ceiling without a rate must say why, one that we do not know is an error of ours. */
static bool read_one(const cJSON *item, struct ws_rec_ceiling *rec)
{
    rec->key = member(item, "key");
    rec->why = member(item, "why");
    rec->method = member(item, "method");
    rec->rate = number(item, "rate");
    rec->clock_hz = number(item, "clock_hz");
    return ws_ceiling_find(rec->key.at, rec->key.length) != WS_CEILING_COUNT && (rec->why.length > 0 || rec->rate > 0);
}

enum { CAPTURE_MAX = 1 << 16 };

/* All rows as a capture of one frame: what stores them is the ingest, ours or a daemon's. 0 or -WS_ECORRUPT. */
static int make_capture(const cJSON *device, const cJSON *rows, uint8_t *out, size_t *length)
{
    struct timespec now;
    struct ws_segment_header header = {.pid = (uint32_t)getpid(), .major = WS_WIRE_MAJOR, .minor = WS_WIRE_MINOR};
    struct ws_rec_ceiling rec = {.uuid = member(device, "uuid"), .driver_version = (uint32_t)number(device, "driver")};
    uint8_t *frame = out + WS_WIRE_SEGMENT_BYTES;
    uint8_t *at = frame + WS_WIRE_FRAME_BYTES;
    uint32_t count = 0;
    const cJSON *item;
    clock_gettime(CLOCK_REALTIME, &now);
    rec.measured_ns = header.started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    ws_make_id(header.agent_id);
    ws_wire_put_segment(&header, out);
    cJSON_ArrayForEach(item, rows)
    {
        size_t n = read_one(item, &rec) ? ws_wire_put_ceiling(&rec, at, (size_t)(out + CAPTURE_MAX - at)) : 0;
        if (n == 0)
            return -WS_ECORRUPT;
        at += n;
        count++;
    }
    ws_wire_seal(frame, WS_REC_CEILING, 0, (uint32_t)(at - frame - WS_WIRE_FRAME_BYTES), count, 0);
    *length = (size_t)(at - out);
    return 0;
}

static int store_capture(const uint8_t *bytes, size_t length)
{
    struct ws_handover *h = NULL;
    struct ws_import done;
    char path[WS_PATH_MAX];
    int status;
    if (ws_path_db(path) != 0)
        return ws_cli_failed(COMMAND, "no place for the database: set WARPSIGHT_DB or HOME");
    status = ws_handover_open(COMMAND, path, &h);
    if (status == WS_EXIT_OK)
        status = ws_handover_bytes(h, "the measurement", bytes, length, &done);
    ws_handover_close(h);
    return status;
}

static int store_text(const char *text)
{
    cJSON *tree = cJSON_Parse(text);
    const cJSON *device = cJSON_GetObjectItemCaseSensitive(tree, "device");
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(tree, "ceilings");
    uint8_t *bytes = malloc(CAPTURE_MAX);
    size_t length = 0;
    int status;
    if (!bytes)
        status = ws_cli_failed(COMMAND, "out of memory");
    else if (member(device, "uuid").length == 0 || !cJSON_IsArray(rows) || cJSON_GetArraySize(rows) == 0)
        status = ws_cli_failed(COMMAND, "the measurement wrote no result that can be read");
    else if (make_capture(device, rows, bytes, &length) != 0)
        status = ws_cli_failed(COMMAND, "the measurement wrote a ceiling that cannot be read");
    else
        status = store_capture(bytes, length);
    free(bytes);
    cJSON_Delete(tree);
    return status;
}

static int measure(void)
{
    char *text = NULL;
    int status = run_kernels(&text);
    if (status == WS_EXIT_OK)
        status = store_text(text);
    free(text);
    return status;
}

/* --- showing --------------------------------------------------------------------------------------- */

struct shown {
    struct ws_table *table; /* NULL: JSON */
    struct ws_json *json;
    size_t rows;
};

static void add_row(struct ws_table *table, const struct ws_ceiling_row *row)
{
    enum ws_ceiling_id id = ws_ceiling_find(row->key, strlen(row->key));
    const char *unit = ws_ceiling_unit(id);
    char text[96];
    enum ws_unit known = ws_unit_find(unit, strlen(unit));
    if (known == WS_UNIT_COUNT)
        snprintf(text, sizeof text, ws_has(row->rate) ? "%.4g" : "-", row->rate.number);
    else
        ws_unit_format(text, sizeof text, row->rate, known);
    ws_table_add(table, row->uuid);
    ws_table_printf(table, "%u.%u", row->driver_version / 1000, row->driver_version % 1000 / 10);
    ws_table_add(table, id == WS_CEILING_COUNT ? row->key : ws_ceiling_title(id));
    ws_table_add(table, ws_has(row->rate) ? text : ws_why_text((enum ws_why)row->rate.why));
    if (ws_has(row->clock_hz))
        ws_table_printf(table, "%.0f MHz", row->clock_hz.number / 1e6);
    else
        ws_table_add(table, "-");
    ws_table_add(table, row->method);
}

static void put_row(struct ws_json *j, const struct ws_ceiling_row *row)
{
    enum ws_ceiling_id id = ws_ceiling_find(row->key, strlen(row->key));
    ws_json_object_line(j);
    ws_json_put_text(j, "uuid", row->uuid);
    ws_json_put_uint(j, "driver", row->driver_version);
    ws_json_put_text(j, "key", row->key);
    ws_json_put_text(j, "unit", ws_ceiling_unit(id));
    if (ws_has(row->rate)) {
        ws_json_put_number(j, "rate", row->rate.number);
    } else {
        ws_json_put_null(j, "rate");
        ws_json_put_text(j, "why", ws_why_code((enum ws_why)row->rate.why));
    }
    if (ws_has(row->clock_hz))
        ws_json_put_number(j, "clock_hz", row->clock_hz.number);
    else
        ws_json_put_null(j, "clock_hz");
    ws_json_put_text(j, "method", row->method);
    ws_json_put_int(j, "measured_ns", row->measured_ns);
    ws_json_end(j);
}

static int show_row(void *state, const struct ws_ceiling_row *row)
{
    struct shown *shown = state;
    shown->rows++;
    if (shown->table)
        add_row(shown->table, row);
    else
        put_row(shown->json, row);
    return 0;
}

static int show_text(struct ws_store *store)
{
    static const char *const titles[] = {"GPU", "CUDA driver", "ceiling", "rate", "SM clock", "method"};
    struct ws_text_out out;
    struct ws_table table;
    struct shown shown = {.table = &table};
    int err;
    ws_text_init(&out, stdout);
    ws_table_init(&table, "lllrrl");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        ws_table_add(&table, titles[i]);
    err = ws_store_each_ceiling(store, show_row, &shown);
    ws_table_print(&table, &out);
    if (err != 0)
        return ws_cli_failed(COMMAND, "%s", ws_store_message(store));
    if (shown.rows == 0)
        return ws_cli_failed(COMMAND, "no GPU was measured yet: run 'warpsight ceilings' on the machine that has it");
    return WS_EXIT_OK;
}

static int show_json(struct ws_store *store)
{
    struct ws_json json = {.out = stdout, .pretty = true};
    struct shown shown = {.json = &json};
    int err;
    ws_json_object(&json);
    ws_json_key(&json, "ceilings");
    ws_json_array(&json);
    err = ws_store_each_ceiling(store, show_row, &shown);
    ws_json_end(&json);
    ws_json_end(&json);
    putchar('\n');
    return err == 0 ? WS_EXIT_OK : ws_cli_failed(COMMAND, "%s", ws_store_message(store));
}

int ws_cmd_ceilings(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "[--show] [--json]",
                         .about =
                             "Measure what this GPU can do: DRAM, L2, L1, shared memory, arithmetic, tensor cores. The "
                             "result is kept per GPU and driver, and every roofline is drawn under it.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct ws_store *store = NULL;
    const char *value;
    bool as_json = false, show = false;
    int found, status = WS_EXIT_OK;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found == WS_CLI_OPERAND)
            return ws_cli_usage_error(COMMAND, "takes no operand: '%s'", value);
        as_json = as_json || found == OPT_JSON;
        show = show || found == OPT_SHOW;
    }
    if (!show)
        status = measure();
    if (status == WS_EXIT_OK)
        status = ws_reader_open(COMMAND, &store);
    if (status == WS_EXIT_OK)
        status = as_json ? show_json(store) : show_text(store);
    ws_store_close(store);
    return status;
}
