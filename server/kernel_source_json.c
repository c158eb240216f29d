/* SPDX-License-Identifier: MIT
 * kernel_source_json.c: instructions of a kernel and the lines of their source as JSON, for the API and `report
 * --source
 * --json`. Where the kernel itself has no counts of instructions, those of the same signature in another session are
 * given, and named: the model's beside a measurement. PC samples are the session's own. */
#include "kernel_source.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES_BEFORE 12 /* above the first and below the last line that has facts */
#define LINE_BYTES 500  /* what is shown of a line */

struct view {
    struct ws_json *json;
    struct ws_kernel_source source;
    uint64_t launches;     /* of the processes before */
    uint64_t process_most; /* of the present one */
    int64_t process_id;
    int64_t started_ns; /* when what is shown was recorded */
};

static const char *const code_names[] = {"", "ptx", "sass"};
static const char *const space_names[WS_SPACE_COUNT] = {NULL, "global", "shared", "local", "constant"};
static const char *const op_names[WS_MEMORY_OP_COUNT] = {NULL, "load", "store", "atomic", "async-copy"};

static const char *name_of(const char *const *names, size_t count, uint32_t number)
{
    return number < count ? names[number] : NULL;
}

static void put_place(struct ws_json *j, const char *file_key, const char *line_key, int64_t file, uint32_t line)
{
    if (file >= 0) {
        ws_json_put_int(j, file_key, file);
        ws_json_put_uint(j, line_key, line);
    } else {
        ws_json_put_null(j, file_key);
        ws_json_put_null(j, line_key);
    }
}

static int put_instruction(void *state, const struct ws_instruction_row *row)
{
    struct view *v = state;
    struct ws_json *j = v->json;
    const struct ws_rec_instruction *r = &row->rec;
    int64_t file;
    int err = ws_kernel_source_place(&v->source, row->file_id ? row->file : NULL, r->line, &file);
    if (err != 0)
        return err;
    if (row->process_id != v->process_id) {
        v->launches += v->process_most;
        v->process_most = 0;
        v->process_id = row->process_id;
    }
    v->process_most = r->launches > v->process_most ? r->launches : v->process_most;
    ws_json_object_line(j);
    ws_json_put_text(j, "code", name_of(code_names, sizeof code_names / sizeof *code_names, r->code));
    ws_json_put_uint(j, "at", r->at);
    ws_json_put_text(j, "opcode", row->opcode);
    put_place(j, "file", "line", file, r->line);
    ws_json_put_text(j, "space", name_of(space_names, WS_SPACE_COUNT, r->space));
    ws_json_put_text(j, "access", name_of(op_names, WS_MEMORY_OP_COUNT, r->access));
    ws_json_put_uint(j, "launches", r->launches);
    ws_json_put_uint(j, "runs", r->runs);
    ws_json_put_uint(j, "lanes", r->lanes);
    ws_json_put_uint(j, "diverged", r->diverged);
    ws_json_put_uint(j, "requests", r->requests);
    ws_json_put_uint(j, "bytes", r->bytes);
    ws_json_put_uint(j, "sectors", r->sectors);
    ws_json_put_uint(j, "ideal_sectors", r->ideal_sectors);
    ws_json_put_uint(j, "wavefronts", r->wavefronts);
    ws_json_put_uint(j, "ideal_wavefronts", r->ideal_wavefronts);
    ws_json_end(j);
    return 0;
}

static void put_sample(struct ws_json *j, const struct ws_source_sample *one)
{
    struct ws_stall stall;
    char cubin[32];
    snprintf(cubin, sizeof cubin, "%" PRIx64, one->cubin);
    ws_json_object_line(j);
    ws_json_put_text(j, "cubin", cubin);
    ws_json_put_uint(j, "at", one->pc);
    ws_json_put_text(j, "sass", one->sass);
    put_place(j, "file", "line", one->file, one->line);
    put_place(j, "call_file", "call_line", one->call_file, one->call_line);
    ws_json_put_uint(j, "samples", ws_samples_all(&one->samples));
    ws_json_put_uint(j, "not_issued", ws_samples_not_issued(&one->samples));
    ws_json_key(j, "stalls");
    ws_json_object_line(j);
    for (int i = 0; i < WS_STALL_COUNT; i++)
        if (one->samples.all[i] > 0) {
            ws_stalls_get((enum ws_stall_id)i, &stall);
            ws_json_put_uint(j, stall.reason, one->samples.all[i]);
        }
    ws_json_end(j);
    ws_json_end(j);
}

static void put_samples(struct ws_json *j, const struct ws_kernel_source *s)
{
    ws_json_key(j, "samples");
    if (s->sample_count == 0) {
        ws_json_null(j);
        return;
    }
    ws_json_object(j);
    ws_report_json_samples_members(j, &s->total);
    ws_json_put_text(j, "sass_why", s->sass_why);
    ws_json_put_text(j, "lines_why", s->lines_why);
    ws_json_key(j, "rows");
    ws_json_array(j);
    for (size_t i = 0; i < s->sample_count; i++)
        put_sample(j, &s->samples[i]);
    ws_json_end(j);
    ws_json_end(j);
}

static uint32_t first_shown(const struct ws_source_file *f)
{
    return f->first > LINES_BEFORE ? f->first - LINES_BEFORE : 1;
}

/* Returns the bytes given. */
static size_t put_lines(struct ws_json *j, const struct ws_source_file *f, const struct ws_source_text *text)
{
    size_t given = 0;
    const char *at;
    size_t length;
    size_t offset = 0;
    uint32_t last = f->last < UINT32_MAX - LINES_BEFORE ? f->last + LINES_BEFORE : f->last;
    for (uint32_t line = 1; line <= last && ws_source_text_line(text, &offset, &at, &length); line++)
        if (line >= first_shown(f)) {
            length = length < LINE_BYTES ? length : LINE_BYTES;
            ws_json_text_n(j, at, length);
            given += length + 1;
        }
    return given;
}

/* *given: bytes of text in the answer, which has an end however many files the table names. */
static void put_file(struct ws_json *j, const struct ws_source_file *f, int64_t started_ns, size_t *given)
{
    struct ws_source_text text = {NULL, 0, 0};
    bool is_read = *given < WS_SOURCE_BYTES_MAX;
    int err = is_read ? ws_source_text_read(f->path, &text) : -WS_ELIMIT;
    ws_json_object(j);
    ws_json_put_text(j, "path", f->path);
    ws_json_put_uint(j, "first", err == 0 ? first_shown(f) : f->first);
    ws_json_key(j, "lines");
    ws_json_array(j);
    if (err == 0)
        *given += put_lines(j, f, &text);
    ws_json_end(j);
    ws_json_put_text(j, "why", err == 0 ? NULL : is_read ? ws_source_text_why(err) : "too much text in other files");
    ws_json_put_bool(j, "changed", err == 0 && started_ns > 0 && text.changed_ns > started_ns);
    ws_json_end(j);
    free(text.bytes);
}

/* The session whose counts are shown. */
struct origin {
    struct ws_json *json;
    int64_t kernel_id;
    int64_t *started_ns;
};

static int put_origin(void *state, const struct ws_session_row *row)
{
    struct origin *o = state;
    ws_json_object(o->json);
    ws_json_put_int(o->json, "session", row->id);
    ws_json_put_text(o->json, "name", row->name);
    ws_json_put_text(o->json, "source", row->source);
    ws_json_put_int(o->json, "kernel", o->kernel_id);
    ws_json_end(o->json);
    if (*o->started_ns == 0)
        *o->started_ns = row->started_ns;
    return 0;
}

/* Counts of instructions; none: "from" is null. */
static int put_instructions(struct view *v, struct ws_store *store, int64_t kernel_id)
{
    struct ws_json *j = v->json;
    struct origin origin = {.json = j, .started_ns = &v->started_ns};
    int64_t session_id = 0;
    int err = ws_store_find_instructions(store, kernel_id, &origin.kernel_id, &session_id);
    bool is_known = err == 0;
    ws_json_key(j, "from");
    if (is_known)
        err = ws_store_get_session(store, session_id, put_origin, &origin);
    else
        ws_json_null(j);
    ws_json_key(j, "instructions");
    ws_json_array(j);
    if (is_known && err == 0)
        err = ws_store_each_instruction(store, origin.kernel_id, put_instruction, v);
    ws_json_end(j);
    ws_json_put_uint(j, "launches", v->launches + v->process_most);
    return err == -WS_ENOENT && !is_known ? 0 : err;
}

static int note_start(void *state, const struct ws_session_row *row)
{
    *(int64_t *)state = row->started_ns;
    return 0;
}

int ws_kernel_source_json(struct ws_json *j, struct ws_store *store, const struct ws_kernel_row *kernel,
                          int64_t session_id)
{
    struct view v = {.json = j};
    size_t given = 0;
    int err = ws_kernel_source_load(store, session_id, kernel->id, kernel->mangled, true, &v.source);
    if (err == 0 && v.source.sample_count > 0)
        err = ws_store_get_session(store, session_id, note_start, &v.started_ns);
    if (err == 0)
        err = put_instructions(&v, store, kernel->id);
    if (err == 0) {
        put_samples(j, &v.source);
        ws_json_key(j, "files");
        ws_json_array(j);
        for (size_t i = 0; i < v.source.file_count; i++)
            put_file(j, &v.source.files[i], v.started_ns, &given);
        ws_json_end(j);
    }
    ws_kernel_source_fini(&v.source);
    return err;
}

int ws_kernel_source_answer(struct ws_json *j, struct ws_store *store, const struct ws_kernel_row *kernel,
                            int64_t session_id)
{
    int err;
    ws_json_object(j);
    ws_json_put_int(j, "session", session_id);
    ws_json_put_int(j, "kernel", kernel->id);
    err = ws_kernel_source_json(j, store, kernel, session_id);
    ws_json_end(j);
    return err;
}
