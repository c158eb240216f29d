/* SPDX-License-Identifier: MIT
 * export_pprof.c: the session as a pprof profile: profile.proto, gzip'd. Encoded by hand: seven messages of numbers and
 * texts are no reason to link a protobuf library. One sample a kernel signature: memory follows signatures, not
 * launches; and one a source line, where lines are known.
 *   sample types  launches/count, gpu_time/nanoseconds (the default); instructions/count and sectors/count where the
 *                 session has counts of instructions; pc_samples/count where it has PC samples
 *   stack         kernel (leaf), program
 *   labels        grid, block, GPU; of the model: "k of N" blocks that ran, if not all did; of PC samples: stall,
 *                 the reason, and no grid: they are of all launch shapes
 * A kernel whose time is not known has its launches and no time. */
#include "export.h"
#include "kernel_source.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* --- protobuf: bytes that grow --- */

struct bytes {
    uint8_t *at;
    size_t used, cap;
    bool failed; /* out of memory: what was put since is not there */
};

static void put(struct bytes *b, const void *from, size_t n)
{
    if (b->failed || n == 0)
        return;
    if (b->cap - b->used < n) {
        size_t cap = 2 * b->cap + n + 256;
        uint8_t *grown = realloc(b->at, cap);
        if (!grown) {
            b->failed = true;
            return;
        }
        b->at = grown;
        b->cap = cap;
    }
    memcpy(b->at + b->used, from, n);
    b->used += n;
}

static void put_varint(struct bytes *b, uint64_t v)
{
    uint8_t out[10];
    size_t n = 0;
    do {
        out[n] = (uint8_t)(v & 0x7f);
        v >>= 7;
        if (v != 0)
            out[n] |= 0x80;
        n++;
    } while (v != 0);
    put(b, out, n);
}

enum { VARINT = 0, LENGTH = 2 }; /* wire types */

static void put_number(struct bytes *b, unsigned field, uint64_t v)
{
    if (v == 0) /* proto3: what is 0 is not written */
        return;
    put_varint(b, field << 3 | VARINT);
    put_varint(b, v);
}

static void put_block(struct bytes *b, unsigned field, const void *from, size_t n)
{
    put_varint(b, field << 3 | LENGTH);
    put_varint(b, n);
    put(b, from, n);
}

/* A message inside of another; it is empty again afterwards. */
static void put_message(struct bytes *b, unsigned field, struct bytes *inner)
{
    b->failed = b->failed || inner->failed;
    put_block(b, field, inner->at, inner->used);
    inner->used = 0;
}

/* --- profile.proto: the field numbers that are used --- */

enum { P_SAMPLE_TYPE = 1, P_SAMPLE, P_MAPPING, P_LOCATION, P_FUNCTION, P_STRINGS, P_TIME = 9, P_DURATION };
enum { P_COMMENT = 13, P_DEFAULT_TYPE = 14 };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct profile {
    struct bytes out;     /* everything but the texts */
    struct bytes strings; /* the string table's entries */
    uint64_t string_count;
    uint64_t function, location; /* ids given so far */
    bool has_lines, has_samples;
};

/* The index of a text; the table may hold one twice. */
static uint64_t text(struct profile *p, const char *words)
{
    put_block(&p->strings, P_STRINGS, words, strlen(words));
    return p->string_count++;
}

static void put_type(struct profile *p, const char *type, const char *unit)
{
    struct bytes m = {0};
    put_number(&m, TYPE_TYPE, text(p, type));
    put_number(&m, TYPE_UNIT, text(p, unit));
    put_message(&p->out, P_SAMPLE_TYPE, &m);
    free(m.at);
}

static uint64_t put_function(struct profile *p, const char *name, const char *system_name, const char *file)
{
    struct bytes m = {0};
    put_number(&m, FUNCTION_ID, ++p->function);
    put_number(&m, FUNCTION_NAME, text(p, name));
    put_number(&m, FUNCTION_SYSTEM_NAME, text(p, system_name));
    put_number(&m, FUNCTION_FILE, *file ? text(p, file) : 0);
    put_message(&p->out, P_FUNCTION, &m);
    free(m.at);
    return p->function;
}

/* A place in a function; line 0: none. */
static uint64_t put_location(struct profile *p, uint64_t function, uint64_t line)
{
    struct bytes m = {0};
    struct bytes at = {0};
    put_number(&m, LOCATION_ID, ++p->location);
    put_number(&m, LOCATION_MAPPING, 1);
    put_number(&at, LINE_FUNCTION, function);
    put_number(&at, LINE_LINE, line);
    put_message(&m, LOCATION_LINE, &at);
    put_message(&p->out, P_LOCATION, &m);
    free(m.at);
    free(at.at);
    return p->location;
}

static void put_label(struct profile *p, struct bytes *sample, uint64_t key, const char *value)
{
    struct bytes m = {0};
    put_number(&m, LABEL_KEY, key);
    put_number(&m, LABEL_TEXT, text(p, value));
    put_message(sample, SAMPLE_LABEL, &m);
    free(m.at);
}

struct label_keys {
    uint64_t grid, block, gpu, stall, sampled;
};

/* What a sample counts, in the order of the types. */
struct values {
    uint64_t launches, time_ns, instructions, sectors, pc_samples;
};

/* stall: of PC samples, else NULL. */
static void put_sample(struct profile *p, const struct ws_kernel *k, uint64_t location, const struct values *values,
                       const struct label_keys *keys, const char *stall)
{
    const struct ws_launch *l = &k->row.launch;
    struct bytes m = {0};
    struct bytes list = {0};
    char words[64];
    put_varint(&list, location);
    put_varint(&list, 1);
    put_message(&m, SAMPLE_LOCATIONS, &list);
    put_varint(&list, values->launches);
    put_varint(&list, values->time_ns);
    if (p->has_lines) {
        put_varint(&list, values->instructions);
        put_varint(&list, values->sectors);
    }
    if (p->has_samples)
        put_varint(&list, values->pc_samples);
    put_message(&m, SAMPLE_VALUES, &list);
    if (stall) {
        put_label(p, &m, keys->stall, stall);
        put_message(&p->out, P_SAMPLE, &m);
        free(m.at);
        free(list.at);
        return;
    }
    snprintf(words, sizeof words, "%ux%ux%u", l->grid.x, l->grid.y, l->grid.z);
    put_label(p, &m, keys->grid, words);
    snprintf(words, sizeof words, "%ux%ux%u", l->block.x, l->block.y, l->block.z);
    put_label(p, &m, keys->block, words);
    snprintf(words, sizeof words, "%zu", k->device);
    put_label(p, &m, keys->gpu, words);
    if (ws_has(k->sampled_blocks)) {
        snprintf(words, sizeof words, "%.0f of %" PRIu64, k->sampled_blocks.number, ws_report_blocks(k));
        put_label(p, &m, keys->sampled, words);
    }
    put_message(&p->out, P_SAMPLE, &m);
    free(m.at);
    free(list.at);
}

static bool any_sampled(const struct ws_session *s)
{
    for (size_t i = 0; i < s->kernel_count; i++)
        if (ws_has(s->kernels[i].sampled_blocks))
            return true;
    return false;
}

/* --- lines of the source --- */

struct line {
    int64_t file_id;
    uint32_t line;
    struct values values;
};

struct lines {
    struct line *at; /* [count] */
    size_t count, cap;
    struct ws_arena files; /* names, by their id */
    struct {
        int64_t id;
        const char *name;
    } file[16]; /* a kernel has few: those of its headers */
    size_t file_count;
};

static int add_line(void *state, const struct ws_instruction_row *row)
{
    struct lines *l = state;
    struct line *grown;
    bool is_known = row->file_id == 0;
    for (size_t i = 0; i < l->file_count && !is_known; i++)
        is_known = l->file[i].id == row->file_id;
    if (!is_known && l->file_count < sizeof l->file / sizeof l->file[0]) {
        l->file[l->file_count].id = row->file_id;
        l->file[l->file_count].name = ws_arena_text(&l->files, row->file);
        if (!l->file[l->file_count++].name)
            return -WS_ENOMEM;
    }
    if (l->count == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 256;
        grown = realloc(l->at, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        l->at = grown;
        l->cap = cap;
    }
    l->at[l->count++] = (struct line){row->file_id, row->rec.line, {0, 0, row->rec.runs, row->rec.sectors, 0}};
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;
    if (x->file_id != y->file_id)
        return x->file_id < y->file_id ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static const char *file_name(const struct lines *l, int64_t id)
{
    for (size_t i = 0; i < l->file_count; i++)
        if (l->file[i].id == id)
            return l->file[i].name;
    return "";
}

/* One sample a line; instructions of a line are summed. */
static void put_lines(struct profile *p, const struct ws_kernel *k, struct lines *l, const struct label_keys *keys)
{
    uint64_t function = 0;
    if (l->count > 0)
        qsort(l->at, l->count, sizeof *l->at, by_place);
    for (size_t i = 0; i < l->count;) {
        struct line sum = l->at[i];
        size_t next = i + 1;
        for (; next < l->count && by_place(&l->at[next], &sum) == 0; next++) {
            sum.values.instructions += l->at[next].values.instructions;
            sum.values.sectors += l->at[next].values.sectors;
        }
        if (i == 0 || l->at[i - 1].file_id != sum.file_id)
            function = put_function(p, k->name.alias, k->name.mangled, file_name(l, sum.file_id));
        put_sample(p, k, put_location(p, function, sum.line), &sum.values, keys, NULL);
        i = next;
    }
}

static int load_lines(struct ws_store *store, const struct ws_kernel *k, struct lines *l)
{
    l->count = l->file_count = 0;
    return ws_store_each_instruction(store, k->row.id, add_line, l);
}

static int is_there(void *state, const struct ws_instruction_row *row)
{
    (void)row;
    *(bool *)state = true;
    return 1; /* no more */
}

/* Whether the session knows of any instruction: the types say so before the first sample. */
static int look_for_lines(struct profile *p, struct ws_store *store, const struct ws_session *s)
{
    int err = 0;
    for (size_t i = 0; err == 0 && !p->has_lines && i < s->kernel_count; i++)
        err = ws_store_each_instruction(store, s->kernels[i].row.id, is_there, &p->has_lines);
    return err == 1 ? 0 : err;
}

/* --- PC samples --- */

/* One sample a line and reason. */
static void put_line_samples(struct profile *p, const struct ws_kernel *k, const struct ws_source_line *line,
                             const char *file, const struct label_keys *keys)
{
    uint64_t location = put_location(p, put_function(p, k->name.alias, k->name.mangled, file), line->line);
    struct ws_stall stall;
    for (int i = 0; i < WS_STALL_COUNT; i++) {
        struct values values = {.pc_samples = line->samples.all[i]};
        if (values.pc_samples == 0)
            continue;
        ws_stalls_get((enum ws_stall_id)i, &stall);
        put_sample(p, k, location, &values, keys, stall.reason);
    }
}

/* Of a function, once for all its launch shapes. */
static int put_pc_samples(struct profile *p, struct ws_store *store, const struct ws_session *s, size_t kernel,
                          const struct label_keys *keys)
{
    const struct ws_kernel *k = &s->kernels[kernel];
    struct ws_kernel_source source;
    struct ws_source_line *lines = NULL;
    size_t count = 0;
    int err;
    for (size_t i = 0; i < kernel; i++)
        if (s->kernels[i].samples == k->samples)
            return 0;
    if (!k->samples)
        return 0;
    err = ws_kernel_source_load(store, s->row.id, k->row.id, k->row.mangled, false, &source);
    if (err == 0)
        err = ws_kernel_source_lines(&source, &lines, &count);
    for (size_t i = 0; err == 0 && i < count; i++)
        put_line_samples(p, k, &lines[i], lines[i].file < 0 ? "" : source.files[lines[i].file].path, keys);
    free(lines);
    ws_kernel_source_fini(&source);
    return err;
}

/* --- all together --- */

static void put_program(struct profile *p, const struct ws_session *s)
{
    const char *exe = *s->row.exe ? s->row.exe : s->process_count > 0 ? s->processes[0].exe : "";
    const char *slash = strrchr(exe, '/');
    struct bytes m = {0};
    put_number(&m, MAPPING_ID, 1);
    put_number(&m, MAPPING_FILE, text(p, exe));
    put_number(&m, MAPPING_HAS_FUNCTIONS, 1);
    put_message(&p->out, P_MAPPING, &m);
    free(m.at);
    (void)put_location(p, put_function(p, *exe ? (slash ? slash + 1 : exe) : "program", exe, ""), 0);
}

static int put_session(struct profile *p, struct ws_store *store, const struct ws_session *s)
{
    const struct ws_session_row *r = &s->row;
    char comment[320];
    struct label_keys keys;
    struct lines lines = {.at = NULL};
    int err = look_for_lines(p, store, s);
    for (size_t i = 0; i < s->kernel_count; i++)
        p->has_samples = p->has_samples || s->kernels[i].samples;
    (void)text(p, ""); /* entry 0 of the table is "" */
    put_type(p, "launches", "count");
    put_type(p, "gpu_time", "nanoseconds");
    if (p->has_lines) {
        put_type(p, "instructions", "count");
        put_type(p, "sectors", "count");
    }
    if (p->has_samples)
        put_type(p, "pc_samples", "count");
    put_number(&p->out, P_DEFAULT_TYPE, text(p, "gpu_time"));
    put_number(&p->out, P_TIME, r->started_ns > 0 ? (uint64_t)r->started_ns : 0);
    put_number(&p->out, P_DURATION, r->ended_ns > r->started_ns ? (uint64_t)(r->ended_ns - r->started_ns) : 0);
    snprintf(comment, sizeof comment, "WarpSight session %" PRId64 " %s (%s)", r->id, r->name, r->source);
    put_number(&p->out, P_COMMENT, text(p, comment));
    keys = (struct label_keys){text(p, "grid"), text(p, "block"), text(p, "gpu"), p->has_samples ? text(p, "stall") : 0,
                               any_sampled(s) ? text(p, "sampled_blocks") : 0};
    put_program(p, s);
    for (size_t i = 0; err == 0 && i < s->kernel_count; i++) {
        const struct ws_kernel *k = &s->kernels[i];
        struct values values = {.launches = k->launches};
        if (ws_has(k->times.total))
            values.time_ns = (uint64_t)llround(k->times.total.number * 1e9);
        put_sample(p, k, put_location(p, put_function(p, k->name.alias, k->name.mangled, ""), 0), &values, &keys, NULL);
        err = put_pc_samples(p, store, s, i, &keys);
        if (!p->has_lines || err != 0)
            continue;
        err = load_lines(store, k, &lines);
        if (err == 0)
            put_lines(p, k, &lines, &keys);
    }
    free(lines.at);
    ws_arena_fini(&lines.files);
    return err;
}

/* --- gzip --- */

static int write_gzip(const struct bytes *first, const struct bytes *second, FILE *out)
{
    const struct bytes *parts[] = {first, second};
    z_stream z = {.next_in = NULL};
    uint8_t buffer[16384];
    int status = Z_OK;
    /* 15 bits of window and 16 for "gzip, not zlib"; no name and no time in it: the same session, the same bytes. */
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -WS_ENOMEM;
    for (size_t i = 0; status == Z_OK && i < 2; i++) {
        int flush = i == 1 ? Z_FINISH : Z_NO_FLUSH;
        if (parts[i]->used > UINT32_MAX) {
            status = Z_DATA_ERROR;
            break;
        }
        z.next_in = parts[i]->at;
        z.avail_in = (uInt)parts[i]->used;
        do {
            z.next_out = buffer;
            z.avail_out = sizeof buffer;
            status = deflate(&z, flush);
            fwrite(buffer, 1, sizeof buffer - z.avail_out, out);
        } while (status == Z_OK && (z.avail_in > 0 || z.avail_out == 0 || flush == Z_FINISH));
        if (status == Z_BUF_ERROR) /* nothing was left to do */
            status = Z_OK;
    }
    (void)deflateEnd(&z);
    return status == Z_STREAM_END ? 0 : -WS_ELIMIT;
}

int ws_export_pprof(const struct ws_export *e)
{
    struct profile p = {.string_count = 0};
    int err;
    err = put_session(&p, e->store, e->session);
    if (err == 0)
        err = p.out.failed || p.strings.failed ? -WS_ENOMEM : write_gzip(&p.out, &p.strings, e->out);
    free(p.out.at);
    free(p.strings.at);
    return err;
}
