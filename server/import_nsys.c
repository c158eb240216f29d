/* SPDX-License-Identifier: MIT
 * import_nsys.c: the SQLite export of Nsight Systems as a capture: kernels, copies, memsets, calls of the runtime and
 * the driver, synchronisations, allocations, GPUs. Tables and columns by its published schema; what a version does not
 * have is left out. A file is foreign: only plain tables are read, never a view of it, and nothing of it is run. times
 * ns since TARGET_INFO_SESSION_START_TIME.utcEpochNs globalPid    process << 24, globalTid the same and the thread's id
 * below it memory kinds CUPTI's less one (pageable is 0) call names   with the version of their parameters behind
 * ("cudaLaunchKernel_v7000"), which is cut off */
#include "import.h"

#include "../analyzer/err.h"
#include "import_writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 4096, COLUMNS_MAX = 32, NAMES_KEPT = 4096 };
#define TEXT_MAX (64 << 20)
#define PID_MASK 0xffffffu

struct import {
    struct ws_import_writer iw;
    struct ws_import_note *note;
    struct ws_progress *progress;
    uint64_t rows, rows_total; /* read so far; about how many there are */
    sqlite3 *db;
    sqlite3_stmt *string; /* value of a StringIds row */
    int64_t epoch_ns;
    struct ws_import_identity identity;
    int64_t *pids; /* [pid_count], globalPid without the thread's bits */
    size_t pid_count;
    struct {
        int64_t id;
        uint32_t text; /* 0 = empty */
        bool is_call;
    } names[NAMES_KEPT]; /* of this segment, by their id */
    int64_t last_ns;
    char *message;
    size_t cap;
};

/* SQLite's word may quote a name of the file: it stays one line. */
static int failed(const struct import *im, int err)
{
    snprintf(im->message, im->cap, "it cannot be read: %s", sqlite3_errmsg(im->db));
    for (char *c = im->message; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    return err;
}

/* --- tables --- */

/* A plain table of this name: a view could run anything. */
static bool has_table(const struct import *im, const char *table)
{
    sqlite3_stmt *s = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(
            im->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 AND sql LIKE 'CREATE TABLE %'", -1,
            &s, NULL) == SQLITE_OK) {
        sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
        found = sqlite3_step(s) == SQLITE_ROW;
    }
    sqlite3_finalize(s);
    return found;
}

static bool has_column(const struct import *im, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(im->db, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* "SELECT a, NULL, c FROM table [WHERE column / 16777216 = ?1]": NULL for columns that the table lacks. */
static sqlite3_stmt *select_from(struct import *im, const char *table, const char *const *columns, size_t count,
                                 const char *of_process)
{
    sqlite3_str *sql = sqlite3_str_new(im->db);
    sqlite3_stmt *s = NULL;
    char *text;
    sqlite3_str_appendall(sql, "SELECT ");
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendf(sql, has_column(im, table, columns[i]) ? "%s\"%w\"" : "%sNULL", i ? ", " : "", columns[i]);
    sqlite3_str_appendf(sql, " FROM \"%w\"", table);
    if (of_process && has_column(im, table, of_process))
        sqlite3_str_appendf(sql, " WHERE \"%w\" / 16777216 = ?1", of_process);
    text = sqlite3_str_finish(sql);
    if (!text || sqlite3_prepare_v2(im->db, text, -1, &s, NULL) != SQLITE_OK)
        s = NULL;
    sqlite3_free(text);
    return s;
}

/* A row of a table, by number of column. */
static int64_t number(sqlite3_stmt *s, int column)
{
    return sqlite3_column_int64(s, column);
}

/* A number that CUPTI has as 32 bits; -1 and NULL in the export are "none" there, 0 here. */
static uint32_t number32(sqlite3_stmt *s, int column)
{
    int64_t v = number(s, column);
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static uint64_t number64(sqlite3_stmt *s, int column)
{
    int64_t v = number(s, column);
    return v < 0 ? 0 : (uint64_t)v;
}

static int64_t time_of(struct import *im, sqlite3_stmt *s, int column)
{
    int64_t at;
    if (sqlite3_column_type(s, column) == SQLITE_NULL || __builtin_add_overflow(im->epoch_ns, number(s, column), &at))
        return 0;
    if (at > im->last_ns)
        im->last_ns = at;
    return at;
}

/* Walk the rows of one process. */
static int each(struct import *im, const char *table, const char *const *columns, size_t count, const char *of_process,
                int64_t pid, void (*take)(struct import *im, sqlite3_stmt *s))
{
    sqlite3_stmt *s;
    int status;
    if (!has_table(im, table))
        return 0;
    s = select_from(im, table, columns, count, of_process);
    if (!s)
        return failed(im, -WS_ECORRUPT);
    if (sqlite3_bind_parameter_count(s) > 0)
        sqlite3_bind_int64(s, 1, pid);
    else if (of_process && pid != im->pids[0]) { /* rows of nobody belong to the first process */
        sqlite3_finalize(s);
        return 0;
    }
    while ((status = sqlite3_step(s)) == SQLITE_ROW && im->iw.err == 0) {
        take(im, s);
        ws_progress_tell(im->progress, ++im->rows, im->rows_total, NULL);
    }
    sqlite3_finalize(s);
    return status == SQLITE_ROW || status == SQLITE_DONE ? im->iw.err : failed(im, -WS_ECORRUPT);
}
#define EACH(im, table, columns, of_process, pid, take) \
    each(im, table, columns, sizeof(columns) / sizeof(columns)[0], of_process, pid, take)

/* --- names --- */

/* "cudaLaunchKernel" of "cudaLaunchKernel_v7000" */
static void cut_version(char *name)
{
    char *mark = strrchr(name, '_');
    if (mark && mark[1] == 'v' && isdigit((unsigned char)mark[2]) && mark[2 + strspn(mark + 2, "0123456789")] == 0)
        *mark = 0;
}

/* The text of a StringIds row in this segment; its value in *name when it had to be looked up anew. */
static uint32_t name_of(struct import *im, int64_t id, bool is_call)
{
    size_t at = (size_t)((uint64_t)id % NAMES_KEPT);
    const char *value;
    char *name;
    if (im->names[at].text != 0 && im->names[at].id == id && im->names[at].is_call == is_call)
        return im->names[at].text;
    sqlite3_reset(im->string);
    sqlite3_bind_int64(im->string, 1, id);
    value = sqlite3_step(im->string) == SQLITE_ROW ? (const char *)sqlite3_column_text(im->string, 0) : NULL;
    name = strndup(value && *value ? value : "(no name)", WS_WIRE_PAYLOAD_MAX / 2);
    if (!name) {
        im->iw.err = -WS_ENOMEM;
        return 0;
    }
    if (is_call)
        cut_version(name);
    im->names[at].id = id;
    im->names[at].is_call = is_call;
    im->names[at].text = ws_import_text_id(&im->iw, name);
    free(name);
    return im->names[at].text;
}

/* --- rows --- */

static const char *const kernel_columns[] = {"start",
                                             "end",
                                             "deviceId",
                                             "contextId",
                                             "streamId",
                                             "correlationId",
                                             "mangledName",
                                             "demangledName",
                                             "shortName",
                                             "gridX",
                                             "gridY",
                                             "gridZ",
                                             "blockX",
                                             "blockY",
                                             "blockZ",
                                             "registersPerThread",
                                             "staticSharedMemory",
                                             "dynamicSharedMemory",
                                             "localMemoryPerThread",
                                             "sharedMemoryExecuted",
                                             "graphNodeId",
                                             "launchType",
                                             "clusterX",
                                             "clusterY",
                                             "clusterZ"};

static void take_kernel(struct import *im, sqlite3_stmt *s)
{
    struct ws_rec_kernel rec = {.start_ns = time_of(im, s, 0),
                                .end_ns = time_of(im, s, 1),
                                .device = number32(s, 2),
                                .context = number32(s, 3),
                                .stream = number32(s, 4),
                                .correlation = number64(s, 5),
                                .grid_x = number32(s, 9),
                                .grid_y = number32(s, 10),
                                .grid_z = number32(s, 11),
                                .block_x = number32(s, 12),
                                .block_y = number32(s, 13),
                                .block_z = number32(s, 14),
                                .regs_per_thread = number32(s, 15),
                                .static_smem_bytes = number32(s, 16),
                                .dynamic_smem_bytes = number32(s, 17),
                                .local_bytes_per_thread = number32(s, 18),
                                .smem_executed_bytes = number32(s, 19),
                                .graph_node = number64(s, 20),
                                /* 0 is "unknown" there, and all others are one more than CUPTI's. */
                                .launch_type = number32(s, 21) > 0 ? number32(s, 21) - 1 : 0,
                                .cluster_x = number32(s, 22),
                                .cluster_y = number32(s, 23),
                                .cluster_z = number32(s, 24),
                                .carveout_percent = UINT32_MAX};
    int name = sqlite3_column_type(s, 6) != SQLITE_NULL ? 6 : sqlite3_column_type(s, 7) != SQLITE_NULL ? 7 : 8;
    rec.name = name_of(im, number(s, name), false);
    ws_import_put_kernel(&im->iw, &rec);
    im->note->launches++;
}

static uint32_t memory_kind(sqlite3_stmt *s, int column)
{
    int64_t kind = sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : number(s, column);
    return kind >= 0 && kind <= 6 ? (uint32_t)kind + 1 : 0;
}

static const char *const memcpy_columns[] = {"start",    "end",           "deviceId",    "contextId",
                                             "streamId", "correlationId", "bytes",       "copyKind",
                                             "srcKind",  "dstKind",       "graphNodeId", "dstDeviceId"};

static void take_memcpy(struct import *im, sqlite3_stmt *s)
{
    struct ws_rec_memcpy rec = {.start_ns = time_of(im, s, 0),
                                .end_ns = time_of(im, s, 1),
                                .device = number32(s, 2),
                                .context = number32(s, 3),
                                .stream = number32(s, 4),
                                .correlation = number64(s, 5),
                                .bytes = number64(s, 6),
                                .copy_kind = number32(s, 7),
                                .src_kind = memory_kind(s, 8),
                                .dst_kind = memory_kind(s, 9),
                                .graph_node = number64(s, 10),
                                .peer_device =
                                    sqlite3_column_type(s, 11) == SQLITE_NULL ? number32(s, 2) : number32(s, 11)};
    /* 11, 12, 13: unified memory's migrations, which are no copies of the program. */
    if (rec.copy_kind > 10) {
        im->note->left_out++;
        return;
    }
    ws_import_put_memcpy(&im->iw, &rec);
}

static const char *const memset_columns[] = {"start",         "end",   "deviceId", "contextId",  "streamId",
                                             "correlationId", "bytes", "memKind",  "graphNodeId"};

static void take_memset(struct import *im, sqlite3_stmt *s)
{
    struct ws_rec_memset rec = {.start_ns = time_of(im, s, 0),
                                .end_ns = time_of(im, s, 1),
                                .device = number32(s, 2),
                                .context = number32(s, 3),
                                .stream = number32(s, 4),
                                .correlation = number64(s, 5),
                                .bytes = number64(s, 6),
                                .memory_kind = memory_kind(s, 7),
                                .graph_node = number64(s, 8)};
    ws_import_put_memset(&im->iw, &rec);
}

static const char *const call_columns[] = {"start",  "end",         "globalTid", "correlationId",
                                           "nameId", "returnValue", "eventClass"};

static void take_call(struct import *im, sqlite3_stmt *s)
{
    struct ws_rec_api rec = {.start_ns = time_of(im, s, 0),
                             .end_ns = time_of(im, s, 1),
                             .thread = (uint32_t)((uint64_t)number(s, 2) & PID_MASK),
                             .correlation = number64(s, 3),
                             .name = name_of(im, number(s, 4), true),
                             .return_code = number32(s, 5),
                             .domain = number(s, 6) == 1 ? 1 : 2};
    ws_import_put_api(&im->iw, &rec);
}

static const char *const sync_columns[] = {"start",    "end",     "contextId",    "streamId",
                                           "syncType", "eventId", "correlationId"};

static void take_sync(struct import *im, sqlite3_stmt *s)
{
    struct ws_rec_sync rec = {.start_ns = time_of(im, s, 0),
                              .end_ns = time_of(im, s, 1),
                              .context = number32(s, 2),
                              .stream = number(s, 3) < 0 ? UINT32_MAX : number32(s, 3),
                              .sync_kind = number32(s, 4),
                              .event = number32(s, 5),
                              .correlation = number64(s, 6)};
    ws_import_put_sync(&im->iw, &rec);
}

static const char *const memory_columns[] = {"start", "deviceId", "contextId",           "streamId",     "address",
                                             "bytes", "memKind",  "memoryOperationType", "correlationId"};

static void take_memory(struct import *im, sqlite3_stmt *s)
{
    struct ws_rec_memory rec = {.time_ns = time_of(im, s, 0),
                                .device = number32(s, 1),
                                .context = number32(s, 2),
                                .stream = number32(s, 3),
                                .address = (uint64_t)number(s, 4),
                                .bytes = number64(s, 5),
                                .memory_kind = memory_kind(s, 6),
                                .operation = number(s, 7) == 0 ? 1 : 2,
                                .correlation = number64(s, 8)};
    ws_import_put_memory(&im->iw, &rec);
}

static const char *const gpu_columns[] = {
    "id",          "name",        "uuid",      "chipName",      "computeMajor",      "computeMinor",  "smCount",
    "totalMemory", "l2CacheSize", "clockRate", "maxWarpsPerSm", "maxRegistersPerSm", "maxShmemPerSm", "asyncEngines"};

static struct ws_text words(sqlite3_stmt *s, int column)
{
    const char *at = (const char *)sqlite3_column_text(s, column);
    return ws_text_n(at ? at : "", at ? strnlen(at, 200) : 0);
}

static void take_gpu(struct import *im, sqlite3_stmt *s)
{
    char uuid[64];
    const char *said = (const char *)sqlite3_column_text(s, 2);
    struct ws_rec_device rec = {.index = number32(s, 0),
                                .name = words(s, 1),
                                .chip = words(s, 3),
                                .cc_major = number32(s, 4),
                                .cc_minor = number32(s, 5),
                                .sms = number32(s, 6),
                                .memory_bytes = number64(s, 7),
                                .l2_bytes = number64(s, 8),
                                .sm_clock_hz = number64(s, 9),
                                .max_warps_per_sm = number32(s, 10),
                                .regs_per_sm = number32(s, 11),
                                .smem_bytes_per_sm = number64(s, 12),
                                .async_engines = number32(s, 13)};
    /* CUPTI's spelling: measured ceilings of this board are found by it. */
    if (said && *said)
        snprintf(uuid, sizeof uuid, "%s%.50s", strncmp(said, "GPU-", 4) == 0 ? "" : "GPU-", said);
    else
        snprintf(uuid, sizeof uuid, "imported-%u", rec.index);
    rec.uuid = ws_text_of(uuid);
    ws_import_put_device(&im->iw, &rec);
}

/* --- processes --- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Add the processes that a table has rows of. */
static int find_pids(struct import *im, const char *table, const char *column)
{
    char sql[256];
    sqlite3_stmt *s = NULL;
    int status;
    if (!has_table(im, table) || !has_column(im, table, column))
        return 0;
    sqlite3_snprintf(sizeof sql, sql, "SELECT DISTINCT \"%w\" / 16777216 FROM \"%w\"", column, table);
    if (sqlite3_prepare_v2(im->db, sql, -1, &s, NULL) != SQLITE_OK)
        return failed(im, -WS_ECORRUPT);
    while ((status = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t pid = number(s, 0);
        bool is_known = false;
        for (size_t i = 0; i < im->pid_count && !is_known; i++)
            is_known = im->pids[i] == pid;
        if (is_known)
            continue;
        if (im->pid_count == PROCESSES_MAX) {
            sqlite3_finalize(s);
            snprintf(im->message, im->cap, "more than %d processes", PROCESSES_MAX);
            return -WS_ELIMIT;
        }
        im->pids[im->pid_count++] = pid;
    }
    sqlite3_finalize(s);
    return status == SQLITE_DONE ? 0 : failed(im, -WS_ECORRUPT);
}

static int load_pids(struct import *im)
{
    int err = 0;
    im->pids = calloc(PROCESSES_MAX, sizeof *im->pids);
    if (!im->pids)
        return -WS_ENOMEM;
    err = find_pids(im, "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid");
    if (err == 0)
        err = find_pids(im, "CUPTI_ACTIVITY_KIND_MEMCPY", "globalPid");
    if (err == 0)
        err = find_pids(im, "CUPTI_ACTIVITY_KIND_MEMSET", "globalPid");
    if (err == 0)
        err = find_pids(im, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid");
    if (im->pid_count == 0)
        im->pids[im->pid_count++] = 0; /* an export without process ids */
    qsort(im->pids, im->pid_count, sizeof *im->pids, by_number);
    return err;
}

/* A single text that a query gives, or "". */
static void ask(const struct import *im, const char *table, const char *sql, int64_t key, char *out, size_t cap)
{
    sqlite3_stmt *s = NULL;
    out[0] = 0;
    if (has_table(im, table) && sqlite3_prepare_v2(im->db, sql, -1, &s, NULL) == SQLITE_OK) {
        if (sqlite3_bind_parameter_count(s) > 0)
            sqlite3_bind_int64(s, 1, key);
        if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
            snprintf(out, cap, "%.*s", (int)cap - 1, (const char *)sqlite3_column_text(s, 0));
    }
    sqlite3_finalize(s);
}

static int write_process(struct import *im, uint32_t n, const char *path)
{
    int64_t pid = im->pids[n];
    char name[128], exe[512], host[256];
    struct ws_rec_hello hello = {.pid = (uint64_t)pid & PID_MASK, .started_ns = im->epoch_ns};
    struct ws_rec_bye bye = {.records = 0};
    int err;
    ws_import_name(path, name);
    ask(im, "PROCESSES", "SELECT name FROM PROCESSES WHERE globalPid / 16777216 = ?1", pid, exe, sizeof exe);
    ask(im, "TARGET_INFO_SYSTEM_ENV", "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'", 0, host,
        sizeof host);
    hello.session_name = ws_text_of(name);
    hello.exe = ws_text_of(exe);
    hello.host = ws_text_of(host);
    ws_import_process(&im->iw, &im->identity, n, &hello);
    memset(im->names, 0, sizeof im->names);
    err = EACH(im, "TARGET_INFO_GPU", gpu_columns, NULL, pid, take_gpu);
    if (err == 0)
        err = EACH(im, "CUPTI_ACTIVITY_KIND_RUNTIME", call_columns, "globalTid", pid, take_call);
    if (err == 0)
        err = EACH(im, "CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, "globalPid", pid, take_kernel);
    if (err == 0)
        err = EACH(im, "CUPTI_ACTIVITY_KIND_MEMCPY", memcpy_columns, "globalPid", pid, take_memcpy);
    if (err == 0)
        err = EACH(im, "CUPTI_ACTIVITY_KIND_MEMSET", memset_columns, "globalPid", pid, take_memset);
    if (err == 0)
        err = EACH(im, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync_columns, "globalPid", pid, take_sync);
    if (err == 0)
        err = EACH(im, "CUDA_GPU_MEMORY_USAGE_EVENTS", memory_columns, "globalPid", pid, take_memory);
    bye.ended_ns = im->last_ns > 0 ? im->last_ns : 1; /* 0 would mean that it was killed */
    if (err == 0 && n == 0)
        ws_import_status(&im->iw, "imported-nsys-sqlite",
                         "imported from Nsight Systems' SQLite export: it holds times and geometry, no counters",
                         "Its NVTX ranges, host samples and unified-memory events are not read. For counters: "
                         "warpsight run, or ncu --csv --page raw.");
    ws_import_put_bye(&im->iw, &bye);
    return err;
}

/* --- all together --- */

static void load_epoch(struct import *im)
{
    sqlite3_stmt *s = NULL;
    const char *table = "TARGET_INFO_SESSION_START_TIME";
    if (has_table(im, table) && has_column(im, table, "utcEpochNs") &&
        sqlite3_prepare_v2(im->db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1", -1, &s, NULL) ==
            SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW && number(s, 0) > 0)
        im->epoch_ns = number(s, 0);
    sqlite3_finalize(s);
}

/* StringIds by its key, so that a lookup is one: a table without it is none of nsys. */
static int prepare_names(struct import *im)
{
    int is_key = 0;
    if (!has_table(im, "StringIds") ||
        sqlite3_table_column_metadata(im->db, NULL, "StringIds", "id", NULL, NULL, NULL, &is_key, NULL) != SQLITE_OK ||
        !is_key ||
        sqlite3_prepare_v2(im->db, "SELECT value FROM StringIds WHERE id = ?1", -1, &im->string, NULL) != SQLITE_OK) {
        snprintf(im->message, im->cap, "it has no table StringIds as Nsight Systems exports it");
        return -WS_ESYNTAX;
    }
    if (!has_table(im, "CUPTI_ACTIVITY_KIND_KERNEL") && !has_table(im, "CUPTI_ACTIVITY_KIND_MEMCPY") &&
        !has_table(im, "CUPTI_ACTIVITY_KIND_RUNTIME")) {
        snprintf(im->message, im->cap, "it holds no CUDA activity: was nsys run with -t cuda?");
        return -WS_ENOENT;
    }
    return 0;
}

static int identify(struct import *im, const char *path)
{
    FILE *file = fopen(path, "re");
    uint8_t *bytes = malloc(1 << 20);
    size_t n = 1;
    int err = file && bytes ? 0 : -WS_EIO;
    while (err == 0 && n > 0) {
        n = fread(bytes, 1, 1 << 20, file);
        ws_import_identify(&im->identity, bytes, n);
        if (ferror(file))
            err = -WS_EIO;
    }
    if (err != 0)
        snprintf(im->message, im->cap, "it cannot be read");
    if (file)
        (void)fclose(file);
    free(bytes);
    return err;
}

/* The header, so that damage is told as such and not as a table that is missing. */
static int check_file(struct import *im)
{
    int status = sqlite3_exec(im->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    return status == SQLITE_OK ? 0 : failed(im, -WS_ECORRUPT);
}

static int open_foreign(struct import *im, const char *path)
{
    int on = 0;
    if (sqlite3_open_v2(path, &im->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return im->db ? failed(im, -WS_ECORRUPT) : -WS_ENOMEM;
    sqlite3_db_config(im->db, SQLITE_DBCONFIG_DEFENSIVE, 1, &on);
    sqlite3_db_config(im->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &on);
    sqlite3_limit(im->db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
    return 0;
}

/* For who watches: rows are appended, so that the highest number is about their count. */
static void count_rows(struct import *im)
{
    static const char *const tables[] = {
        "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",          "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_MEMSET",  "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUDA_GPU_MEMORY_USAGE_EVENTS",
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[128];
        sqlite3_stmt *s = NULL;
        sqlite3_snprintf(sizeof sql, sql, "SELECT max(rowid) FROM \"%w\"", tables[i]);
        if (has_table(im, tables[i]) && sqlite3_prepare_v2(im->db, sql, -1, &s, NULL) == SQLITE_OK &&
            sqlite3_step(s) == SQLITE_ROW)
            im->rows_total += number64(s, 0);
        sqlite3_finalize(s);
    }
}

static int write_all(struct import *im, const char *path, FILE *out)
{
    int err = open_foreign(im, path);
    if (err == 0)
        err = check_file(im);
    if (err == 0)
        err = prepare_names(im);
    if (err == 0)
        err = identify(im, path);
    if (err == 0)
        err = load_pids(im);
    if (err == 0)
        err = ws_import_begin(&im->iw, out);
    load_epoch(im);
    count_rows(im);
    for (size_t n = 0; err == 0 && n < im->pid_count; n++)
        err = write_process(im, (uint32_t)n, path);
    return err;
}

int ws_import_nsys(const char *path, FILE *out, struct ws_progress *progress, struct ws_import_note *note,
                   char *message, size_t cap)
{
    struct import *im = calloc(1, sizeof *im);
    int err;
    *note = (struct ws_import_note){0};
    snprintf(message, cap, "%s", ws_err_text(-WS_ENOMEM));
    if (!im)
        return -WS_ENOMEM;
    *message = 0;
    im->note = note;
    im->progress = progress;
    im->message = message;
    im->cap = cap;
    err = write_all(im, path, out);
    if (im->iw.w.out && ws_import_end(&im->iw) != 0 && err == 0)
        err = im->iw.err;
    if (err != 0 && *message == 0)
        snprintf(message, cap, "%s", ws_err_text(err));
    sqlite3_finalize(im->string);
    sqlite3_close(im->db);
    free(im->pids);
    free(im);
    return err;
}
