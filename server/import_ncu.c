/* SPDX-License-Identifier: MIT
 * import_ncu.c: Nsight Compute's CSV as a capture: `ncu --csv --page raw` (a column a metric, a row of units under the
 * titles) and `--page details` (a row a metric), base or scaled units, plain or gzip'd.
 * What is ours by ncu_names.def or metrics.def gets our key and our unit; all else is kept: under its CUPTI name in
 * CUPTI's base unit (ns, byte, %), as `run --metrics` has it; a label without a CUPTI name as "Section: Label [unit]".
 * A CSV has no times of day: launches are counted and have a duration, but no place on a timeline. */
#include "import.h"

#include "../analyzer/err.h"
#include "../analyzer/metrics.h"
#include "csv_reader.h"
#include "import_writer.h"
#include "ncu_units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES_MAX = 1000000, NAME_MAX_BYTES = 200, DEVICES = 64, OTHERS_MAX = 20000 };

enum column {
    ID,
    PID,
    PROCESS,
    HOST,
    KERNEL,
    CONTEXT,
    STREAM,
    BLOCK,
    GRID,
    DEVICE,
    CC,
    SECTION,
    METRIC,
    UNIT,
    VALUE,
    COLUMNS
};
static const char *const titles[COLUMNS] = {"ID",      "Process ID",   "Process Name", "Host Name",   "Kernel Name",
                                            "Context", "Stream",       "Block Size",   "Grid Size",   "Device",
                                            "CC",      "Section Name", "Metric Name",  "Metric Unit", "Metric Value"};

/* Facts of a launch or its GPU that are no metrics to us. */
enum fact {
    FACT_REGS,
    FACT_STATIC_SMEM,
    FACT_DYNAMIC_SMEM,
    FACT_SMS,
    FACT_CC_MAJOR,
    FACT_CC_MINOR,
    FACT_L2_BYTES,
    FACT_SM_CLOCK,
    FACT_MEMORY_CLOCK,
    FACT_BUS_BITS,
    FACT_WARPS,
    FACT_REGS_PER_SM,
    FACT_SMEM_PER_SM,
    FACTS
};
static const struct {
    const char *name;
    enum fact fact;
    int exponent; /* what makes the number ours, besides its unit */
} facts[] = {
    {"launch__registers_per_thread", FACT_REGS, 0},
    {"launch__shared_mem_per_block_static", FACT_STATIC_SMEM, 0},
    {"launch__shared_mem_per_block_dynamic", FACT_DYNAMIC_SMEM, 0},
    {"Registers Per Thread", FACT_REGS, 0},
    {"Static Shared Memory Per Block", FACT_STATIC_SMEM, 0},
    {"Dynamic Shared Memory Per Block", FACT_DYNAMIC_SMEM, 0},
    {"# SMs", FACT_SMS, 0},
    {"device__attribute_multiprocessor_count", FACT_SMS, 0},
    {"device__attribute_compute_capability_major", FACT_CC_MAJOR, 0},
    {"device__attribute_compute_capability_minor", FACT_CC_MINOR, 0},
    {"device__attribute_l2_cache_size", FACT_L2_BYTES, 0},
    {"device__attribute_clock_rate", FACT_SM_CLOCK, 3}, /* kHz, as the driver has it */
    {"device__attribute_memory_clock_rate", FACT_MEMORY_CLOCK, 3},
    {"device__attribute_global_memory_bus_width", FACT_BUS_BITS, 0},
    {"device__attribute_max_warps_per_multiprocessor", FACT_WARPS, 0},
    {"device__attribute_max_registers_per_multiprocessor", FACT_REGS_PER_SM, 0},
    {"device__attribute_max_shared_memory_per_multiprocessor", FACT_SMEM_PER_SM, 0},
};

static const struct {
    const char *name;
    enum ws_metric_id id;
} aliases[] = {
#define WS_NCU(name, key) {name, WS_M_##key},
#include "ncu_names.def"
#undef WS_NCU
};
enum { ALIAS = 100 }; /* rank of an alias: our own counter, where it is there too, is better */

/* What one name of the file is to us. */
struct meaning {
    enum ws_metric_id id; /* WS_METRIC_COUNT: a metric that is not ours */
    int rank;             /* least wins where several names of a launch are the same metric */
    int fact;             /* enum fact, or -1 */
    bool is_skipped;      /* an attribute of the device that we do not keep */
};

struct device {
    bool is_told;
    uint32_t cc_major, cc_minor;
    double fact[FACTS]; /* of the last launch on it; 0 = not known */
    char name[64];
};

struct import {
    struct ws_import_writer iw;
    struct ws_import_note *note;
    struct ws_progress *progress;
    size_t place[COLUMNS];
    bool is_raw;
    /* the launch that is being read */
    bool is_open;
    char id[64], pid[32];
    char *kernel; /* name; NULL before the first */
    uint32_t grid[3], block[3], device, context, stream;
    bool has[WS_METRIC_COUNT];
    int rank[WS_METRIC_COUNT];
    double value[WS_METRIC_COUNT];
    struct {
        uint32_t key; /* text id */
        double value;
    } * others;
    size_t other_count, other_cap;
    double fact[FACTS];
    bool has_fact[FACTS];
    char device_name[64];
    struct device devices[DEVICES];
    uint32_t processes; /* told apart by their pid */
};

/* --- names --- */

/* The place of a name among the alternatives of a counter, or -1. */
static int rank_of(const struct ws_metric *m, const char *name)
{
    const char *at = m->cupti;
    const char *one;
    size_t length;
    for (int rank = 0; at && ws_metric_next_name(&at, &one, &length) == 1; rank++)
        if (strlen(name) == length && memcmp(name, one, length) == 0)
            return rank;
    return -1;
}

static struct meaning meaning_of(const char *name)
{
    struct meaning m = {WS_METRIC_COUNT, 0, -1, false};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (strcmp(facts[i].name, name) == 0)
            m.fact = (int)i;
    for (unsigned i = 0; i < WS_METRIC_COUNT && m.fact < 0; i++) {
        int rank = ws_metric_get((enum ws_metric_id)i)->kind == WS_KIND_RAW
                       ? rank_of(ws_metric_get((enum ws_metric_id)i), name)
                       : -1;
        if (rank >= 0)
            return (struct meaning){(enum ws_metric_id)i, rank, -1, false};
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(aliases[i].name, name) == 0)
            return (struct meaning){aliases[i].id, ALIAS, -1, false};
    m.is_skipped = m.fact < 0 && strncmp(name, "device__attribute_", 18) == 0;
    return m;
}

/* --- values of a launch --- */

static void keep_other(struct import *im, const char *section, const char *name, const struct ws_ncu_unit *unit,
                       const char *number)
{
    bool is_cupti = strstr(name, "__") != NULL;
    int exponent = unit->exponent;
    char base[sizeof unit->base + 1];
    char key[2 * NAME_MAX_BYTES + 64];
    double value;
    snprintf(base, sizeof base, "%s", unit->base);
    if (strcmp(base, "s") == 0) { /* CUPTI's own unit of time */
        exponent += 9;
        snprintf(base, sizeof base, "ns");
    }
    if (!ws_ncu_number_read(number, exponent, &value)) {
        im->note->left_out++; /* a word, as "CachePreferNone" */
        return;
    }
    if (is_cupti)
        snprintf(key, sizeof key, "%.*s", NAME_MAX_BYTES, name);
    else
        snprintf(key, sizeof key, "%.*s%s%.*s%s%s%s", NAME_MAX_BYTES, section, *section ? ": " : "", NAME_MAX_BYTES,
                 name, *base ? " [" : "", base, *base ? "]" : "");
    if (im->other_count == OTHERS_MAX)
        return;
    if (im->other_count == im->other_cap) {
        size_t cap = im->other_cap ? 2 * im->other_cap : 256;
        void *grown = realloc(im->others, cap * sizeof *im->others);
        if (!grown) {
            im->iw.err = -WS_ENOMEM;
            return;
        }
        im->others = grown;
        im->other_cap = cap;
    }
    im->others[im->other_count].key = ws_import_text_id(&im->iw, key);
    im->others[im->other_count++].value = value;
}

static void keep_fact(struct import *im, int row, const struct ws_ncu_unit *unit, const char *number)
{
    double value;
    int exponent = unit->exponent + (strncmp(unit->base, "hz", 2) == 0 ? 0 : facts[row].exponent);
    if (!ws_ncu_number_read(number, exponent, &value) || !(value >= 0 && value < 1e15)) {
        im->note->left_out++;
        return;
    }
    im->fact[facts[row].fact] = value;
    im->has_fact[facts[row].fact] = true;
}

static void keep_value(struct import *im, const struct meaning *m, const char *section, const char *name,
                       const char *unit_text, const char *number)
{
    struct ws_ncu_unit unit;
    int exponent;
    double value;
    if (*number == 0)
        return;
    ws_ncu_unit_read(unit_text, &unit);
    if (m->fact >= 0) {
        keep_fact(im, m->fact, &unit, number);
    } else if (strcmp(name, "device__attribute_display_name") == 0) {
        snprintf(im->device_name, sizeof im->device_name, "%.63s", number);
    } else if (m->is_skipped) {
        return;
    } else if (m->id == WS_METRIC_COUNT || !ws_ncu_unit_fits(&unit, ws_metric_get(m->id)->unit, &exponent)) {
        keep_other(im, section, name, &unit, number);
    } else if (!ws_ncu_number_read(number, exponent, &value)) {
        im->note->left_out++;
    } else if (!im->has[m->id] || m->rank < im->rank[m->id]) {
        im->has[m->id] = true;
        im->rank[m->id] = m->rank;
        im->value[m->id] = value;
    }
}

/* --- a launch is whole --- */

static uint32_t fact32(const struct import *im, enum fact fact)
{
    return im->has_fact[fact] && im->fact[fact] <= UINT32_MAX ? (uint32_t)im->fact[fact] : 0;
}

/* Told before the first launch on it. What the file does not hold stays 0. */
static void put_device(struct import *im)
{
    struct device *d = &im->devices[im->device];
    char name[96], uuid[32];
    struct ws_rec_device rec = {.index = im->device,
                                .cc_major = im->has_fact[FACT_CC_MAJOR] ? fact32(im, FACT_CC_MAJOR) : d->cc_major,
                                .cc_minor = im->has_fact[FACT_CC_MINOR] ? fact32(im, FACT_CC_MINOR) : d->cc_minor,
                                .sms = fact32(im, FACT_SMS),
                                .l2_bytes = (uint64_t)im->fact[FACT_L2_BYTES],
                                .sm_clock_hz = (uint64_t)im->fact[FACT_SM_CLOCK],
                                .memory_clock_hz = (uint64_t)im->fact[FACT_MEMORY_CLOCK],
                                .memory_bus_bits = fact32(im, FACT_BUS_BITS),
                                .max_warps_per_sm = fact32(im, FACT_WARPS),
                                .regs_per_sm = fact32(im, FACT_REGS_PER_SM),
                                .smem_bytes_per_sm = (uint64_t)im->fact[FACT_SMEM_PER_SM]};
    if (d->is_told)
        return;
    d->is_told = true;
    snprintf(name, sizeof name, "unnamed GPU %u", im->device);
    snprintf(uuid, sizeof uuid, "imported-%u", im->device); /* the file does not tell it */
    rec.name = ws_text_of(*im->device_name ? im->device_name : name);
    rec.uuid = ws_text_of(uuid);
    ws_import_put_device(&im->iw, &rec);
}

/* Registers are told: the launch and its resources. Else only what was counted (occupancy would be a guess). */
static void put_kernel(struct import *im, uint32_t name)
{
    struct ws_rec_kernel rec = {.name = name,
                                .device = im->device,
                                .context = im->context,
                                .stream = im->stream,
                                .grid_x = im->grid[0],
                                .grid_y = im->grid[1],
                                .grid_z = im->grid[2],
                                .block_x = im->block[0],
                                .block_y = im->block[1],
                                .block_z = im->block[2],
                                .regs_per_thread = fact32(im, FACT_REGS),
                                .static_smem_bytes = fact32(im, FACT_STATIC_SMEM),
                                .dynamic_smem_bytes = fact32(im, FACT_DYNAMIC_SMEM),
                                .carveout_percent = UINT32_MAX};
    if (im->has_fact[FACT_REGS])
        ws_import_put_kernel(&im->iw, &rec);
}

static void put_profile(struct import *im, uint32_t name)
{
    struct ws_rec_profile rec = {.profile = im->note->launches,
                                 .name = name,
                                 .device = im->device,
                                 .context = im->context,
                                 .stream = im->stream,
                                 .grid_x = im->grid[0],
                                 .grid_y = im->grid[1],
                                 .grid_z = im->grid[2],
                                 .block_x = im->block[0],
                                 .block_y = im->block[1],
                                 .block_z = im->block[2],
                                 .dynamic_smem_bytes = fact32(im, FACT_DYNAMIC_SMEM),
                                 .pass_index = UINT32_MAX};
    ws_import_put_profile(&im->iw, &rec);
}

static void put_metrics(struct import *im)
{
    struct ws_rec_metric rec = {.profile = im->note->launches};
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        if (im->has[i]) {
            rec.key = ws_import_text_id(&im->iw, ws_metric_get((enum ws_metric_id)i)->key);
            rec.value = im->value[i];
            ws_import_put_metric(&im->iw, &rec);
            im->note->values++;
        }
    for (size_t i = 0; i < im->other_count; i++) {
        rec.key = im->others[i].key;
        rec.value = im->others[i].value;
        ws_import_put_metric(&im->iw, &rec);
        im->note->values++;
    }
}

static void close_launch(struct import *im)
{
    uint32_t name;
    if (!im->is_open)
        return;
    im->is_open = false;
    im->note->launches++;
    name = ws_import_text_id(&im->iw, im->kernel);
    put_device(im);
    put_kernel(im, name);
    put_profile(im, name);
    put_metrics(im);
}

/* --- a launch begins --- */

/* "(32, 8, 1)" or "32, 8, 1" */
static bool read_dim3(const char *text, uint32_t out[3])
{
    text += *text == '(';
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long long n;
        text += strspn(text, " ");
        if (*text < '0' || *text > '9')
            return false;
        n = strtoull(text, &end, 10);
        if (n > UINT32_MAX)
            return false;
        out[i] = (uint32_t)n;
        text = end + strspn(end, " ");
        if (i < 2 && *text++ != ',')
            return false;
    }
    return *text == 0 || strcmp(text, ")") == 0;
}

static uint32_t read_u32(const char *text)
{
    double value;
    return ws_ncu_number_read(text, 0, &value) && value >= 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static const char *cell(const struct import *im, const struct ws_csv_row *row, enum column c)
{
    return im->place[c] == SIZE_MAX ? "" : ws_csv_cell(row, im->place[c]);
}

/* The process, before its first launch. A file of several processes becomes one. */
static void begin_process(struct import *im, const struct ws_csv_row *row, const char *path,
                          const struct ws_import_identity *id)
{
    char name[128];
    struct ws_rec_hello hello = {.pid = read_u32(cell(im, row, PID)),
                                 .exe = ws_text_of(cell(im, row, PROCESS)),
                                 .host = ws_text_of(cell(im, row, HOST))};
    ws_import_name(path, name);
    hello.session_name = ws_text_of(name);
    ws_import_process(&im->iw, id, 0, &hello);
}

static bool begin_launch(struct import *im, const struct ws_csv_row *row)
{
    const char *cc = cell(im, row, CC);
    const char *kernel = cell(im, row, KERNEL);
    uint32_t grid[3], block[3];
    if (!read_dim3(cell(im, row, GRID), grid) || !read_dim3(cell(im, row, BLOCK), block) || *kernel == 0)
        return false;
    memcpy(im->grid, grid, sizeof grid);
    memcpy(im->block, block, sizeof block);
    free(im->kernel);
    im->kernel = strndup(kernel, WS_WIRE_PAYLOAD_MAX / 2);
    if (!im->kernel) {
        im->iw.err = -WS_ENOMEM;
        return false;
    }
    snprintf(im->id, sizeof im->id, "%.63s", cell(im, row, ID));
    snprintf(im->pid, sizeof im->pid, "%.31s", cell(im, row, PID));
    im->device = read_u32(cell(im, row, DEVICE)) % DEVICES;
    im->context = read_u32(cell(im, row, CONTEXT));
    im->stream = read_u32(cell(im, row, STREAM));
    (void)sscanf(cc, "%3u.%3u", &im->devices[im->device].cc_major, &im->devices[im->device].cc_minor);
    memset(im->has, 0, sizeof im->has);
    memset(im->has_fact, 0, sizeof im->has_fact);
    memset(im->fact, 0, sizeof im->fact);
    im->other_count = 0;
    im->device_name[0] = 0;
    im->is_open = true;
    return true;
}

/* --- the pages --- */

static bool is_same_launch(const struct import *im, const struct ws_csv_row *row)
{
    return im->is_open && strcmp(im->id, cell(im, row, ID)) == 0 && strcmp(im->pid, cell(im, row, PID)) == 0;
}

static int read_details(struct import *im, struct ws_csv_row *row, const char *text, size_t length, size_t at,
                        const char *path, const struct ws_import_identity *id)
{
    bool has_process = false;
    while (im->iw.err == 0 && ws_csv_read_row(row, text, length, &at)) {
        struct meaning m;
        ws_progress_tell(im->progress, at, length, NULL);
        if (row->count == 1 && *ws_csv_cell(row, 0) == 0)
            continue; /* an empty line */
        if (!is_same_launch(im, row)) {
            close_launch(im);
            if (im->note->launches == LAUNCHES_MAX)
                return -WS_ELIMIT;
            if (!has_process)
                begin_process(im, row, path, id);
            has_process = true;
            if (!begin_launch(im, row)) {
                im->note->left_out++;
                continue;
            }
        }
        if (*cell(im, row, METRIC) == 0)
            continue; /* a rule's row */
        m = meaning_of(cell(im, row, METRIC));
        keep_value(im, &m, cell(im, row, SECTION), cell(im, row, METRIC), cell(im, row, UNIT), cell(im, row, VALUE));
    }
    close_launch(im);
    return row->failed ? -WS_ENOMEM : 0;
}

struct raw_column {
    char *name, *unit; /* NULL: no metric */
    struct meaning meaning;
};

/* The columns of metrics, from the rows of titles and units. */
static struct raw_column *read_columns(const struct import *im, const struct ws_csv_row *row, size_t *count)
{
    struct raw_column *columns;
    *count = row->count < WS_CSV_COLUMNS_MAX ? row->count : WS_CSV_COLUMNS_MAX;
    columns = calloc(*count + 1, sizeof *columns);
    for (size_t i = 0; columns && i < *count; i++) {
        const char *name = ws_csv_cell(row, i);
        bool is_metric = strstr(name, "__") != NULL;
        for (int c = 0; c < COLUMNS; c++)
            is_metric = is_metric && im->place[c] != i;
        if (is_metric) {
            columns[i].name = strndup(name, NAME_MAX_BYTES);
            columns[i].meaning = meaning_of(name);
        }
    }
    return columns;
}

static void free_columns(struct raw_column *columns, size_t count)
{
    for (size_t i = 0; columns && i < count; i++) {
        free(columns[i].name);
        free(columns[i].unit);
    }
    free(columns);
}

static int read_raw(struct import *im, struct ws_csv_row *row, const char *text, size_t length, size_t at,
                    const char *path, const struct ws_import_identity *id)
{
    size_t count;
    struct raw_column *columns = read_columns(im, row, &count);
    bool has_units = false;
    int err = columns ? 0 : -WS_ENOMEM;
    bool has_process = false;
    while (err == 0 && im->iw.err == 0 && ws_csv_read_row(row, text, length, &at)) {
        ws_progress_tell(im->progress, at, length, NULL);
        if (row->count == 1 && *ws_csv_cell(row, 0) == 0)
            continue;
        if (!has_units && !has_process && *cell(im, row, ID) == 0) {
            has_units = true;
            for (size_t i = 0; i < count; i++)
                if (columns[i].name)
                    columns[i].unit = strndup(ws_csv_cell(row, i), NAME_MAX_BYTES);
            continue;
        }
        if (im->note->launches == LAUNCHES_MAX) {
            err = -WS_ELIMIT;
            break;
        }
        if (!has_process)
            begin_process(im, row, path, id);
        has_process = true;
        if (!begin_launch(im, row)) {
            im->note->left_out++;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            if (columns[i].name)
                keep_value(im, &columns[i].meaning, "", columns[i].name, columns[i].unit ? columns[i].unit : "",
                           ws_csv_cell(row, i));
        close_launch(im);
    }
    free_columns(columns, count);
    return err == 0 && row->failed ? -WS_ENOMEM : err;
}

/* --- all together --- */

static bool find_columns(struct import *im, const struct ws_csv_row *row)
{
    for (int c = 0; c < COLUMNS; c++) {
        im->place[c] = SIZE_MAX;
        for (size_t i = 0; i < row->count && i < WS_CSV_COLUMNS_MAX && im->place[c] == SIZE_MAX; i++)
            if (strcmp(ws_csv_cell(row, i), titles[c]) == 0)
                im->place[c] = i;
    }
    return im->place[ID] != SIZE_MAX && im->place[KERNEL] != SIZE_MAX;
}

/* The place of the line of titles: the program's own output, with any quotes in it, may stand before it. */
static bool find_titles(struct import *im, struct ws_csv_row *row, const char *text, size_t length, size_t *at)
{
    while (*at < length) {
        size_t line = *at;
        const char *end = memchr(text + line, '\n', length - line);
        if ((length - line > 5 && memcmp(text + line, "\"ID\",", 5) == 0) ||
            (length - line > 3 && memcmp(text + line, "ID,", 3) == 0)) {
            if (ws_csv_read_row(row, text, length, at) && find_columns(im, row))
                return true;
        }
        *at = end ? (size_t)(end - text) + 1 : length;
    }
    return false;
}

static int read_pages(struct import *im, struct ws_csv_row *row, const char *text, size_t length, const char *path,
                      char *message, size_t cap)
{
    struct ws_import_identity id = {0};
    size_t at = 0;
    ws_import_identify(&id, text, length);
    if (!find_titles(im, row, text, length, &at)) {
        if (row->failed)
            return -WS_ENOMEM;
        snprintf(message, cap,
                 "it is no capture, and no CSV of Nsight Compute: there is no line of column titles (ncu --csv "
                 "--page raw or details)");
        return -WS_ESYNTAX;
    }
    if (im->place[GRID] == SIZE_MAX || im->place[BLOCK] == SIZE_MAX) {
        snprintf(message, cap, "there is no column '%s': ncu of 2021 and later writes it",
                 im->place[GRID] == SIZE_MAX ? titles[GRID] : titles[BLOCK]);
        return -WS_ESYNTAX;
    }
    im->is_raw = im->place[METRIC] == SIZE_MAX;
    if (!im->is_raw && im->place[VALUE] == SIZE_MAX) {
        snprintf(message, cap, "there is no column '%s'", titles[VALUE]);
        return -WS_ESYNTAX;
    }
    return im->is_raw ? read_raw(im, row, text, length, at, path, &id)
                      : read_details(im, row, text, length, at, path, &id);
}

static void put_origin(struct import *im)
{
    char message[200];
    /* Nobody was killed: when it ended the file does not tell, and 0 would mean that it did not. */
    struct ws_rec_bye bye = {.ended_ns = 1, .records = im->note->values};
    snprintf(message, sizeof message,
             "imported from Nsight Compute's CSV (page %s): %" PRIu64 " launch%s, %" PRIu64 " values, %" PRIu64
             " cells or rows left out",
             im->is_raw ? "raw" : "details", im->note->launches, im->note->launches == 1 ? "" : "es", im->note->values,
             im->note->left_out);
    ws_import_status(&im->iw, "imported-ncu-csv", message,
                     "What it does not hold is missing here; --page raw holds more than --page details.");
    ws_import_put_bye(&im->iw, &bye);
}

int ws_import_ncu_text(const char *text, size_t length, const char *path, FILE *out, struct ws_progress *progress,
                       struct ws_import_note *note, char *message, size_t cap)
{
    struct import *im = calloc(1, sizeof *im);
    struct ws_csv_row row = {.text = NULL};
    int err = im ? ws_import_begin(&im->iw, out) : -WS_ENOMEM;
    *note = (struct ws_import_note){0};
    snprintf(message, cap, "%s", ws_err_text(err));
    if (!im)
        return err;
    im->note = note;
    im->progress = progress;
    if (err == 0)
        err = read_pages(im, &row, text, length, path, message, cap);
    if (err == 0 && im->iw.err == 0 && note->launches == 0) {
        snprintf(message, cap, "it holds no launch that can be read");
        err = -WS_ENOENT;
    }
    if (err == 0)
        put_origin(im);
    if (err == -WS_ELIMIT)
        snprintf(message, cap, "more than %d launches", LAUNCHES_MAX);
    if (ws_import_end(&im->iw) != 0 && err == 0) {
        err = im->iw.err;
        snprintf(message, cap, "%s", ws_err_text(err));
    }
    ws_csv_row_free(&row);
    free(im->kernel);
    free(im->others);
    free(im);
    return err;
}

int ws_import_ncu(const char *path, FILE *out, struct ws_progress *progress, struct ws_import_note *note, char *message,
                  size_t cap)
{
    char *text = NULL;
    size_t length = 0;
    int err = ws_csv_read_file(path, &text, &length);
    if (err == 0)
        err = ws_import_ncu_text(text, length, path, out, progress, note, message, cap);
    else
        snprintf(message, cap, "%s", err == -WS_EIO ? "it cannot be read" : ws_err_text(err));
    free(text);
    return err;
}
