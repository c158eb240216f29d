/* SPDX-License-Identifier: MIT
 * api_source.c: what each instruction of a kernel did, and the lines of its source.
 * Where the kernel itself has no such facts, those of the same signature in another session are given, and named: the
 * model's beside a measurement. Files are read only if the kernel's own line table names them. */
#include "../analyzer/err.h"
#include "api.h"
#include "session_cache.h"
#include "source_text.h"

#include <stdlib.h>
#include <string.h>

#define LINES_BEFORE 12 /* above the first and below the last line that has facts */
#define LINE_BYTES 500  /* what is shown of a line */

struct source_file {
    int64_t text_id;
    char *path;
    uint32_t first, last; /* lines with facts */
};

struct source {
    struct source_file *files; /* [file_count] */
    size_t file_count, file_cap;
    uint64_t launches;     /* of the processes before */
    uint64_t process_most; /* of the present one */
    int64_t process_id;
    struct ws_json *json;
};

static const char *const code_names[] = {"", "ptx", "sass"};
static const char *const space_names[WS_SPACE_COUNT] = {NULL, "global", "shared", "local", "constant"};
static const char *const op_names[WS_MEMORY_OP_COUNT] = {NULL, "load", "store", "atomic", "async-copy"};

static const char *name_of(const char *const *names, size_t count, uint32_t number)
{
    return number < count ? names[number] : NULL;
}

/* Place of a file in the list, added when new; -1: the instruction has none. -WS_ENOMEM. */
static int place_of_file(struct source *s, const struct ws_instruction_row *row, int64_t *place)
{
    struct source_file *f;
    *place = -1;
    if (row->file_id == 0 || row->rec.line == 0)
        return 0;
    for (size_t i = 0; i < s->file_count && *place < 0; i++)
        if (s->files[i].text_id == row->file_id)
            *place = (int64_t)i;
    if (*place < 0) {
        if (s->file_count == s->file_cap) {
            size_t cap = s->file_cap ? s->file_cap * 2 : 8;
            struct source_file *grown = realloc(s->files, cap * sizeof *grown);
            if (!grown)
                return -WS_ENOMEM;
            s->files = grown;
            s->file_cap = cap;
        }
        s->files[s->file_count] = (struct source_file){row->file_id, strdup(row->file), row->rec.line, row->rec.line};
        if (!s->files[s->file_count].path)
            return -WS_ENOMEM;
        *place = (int64_t)s->file_count++;
    }
    f = &s->files[*place];
    f->first = row->rec.line < f->first ? row->rec.line : f->first;
    f->last = row->rec.line > f->last ? row->rec.line : f->last;
    return 0;
}

static int put_instruction(void *state, const struct ws_instruction_row *row)
{
    struct source *s = state;
    struct ws_json *j = s->json;
    const struct ws_rec_instruction *r = &row->rec;
    int64_t file;
    int err = place_of_file(s, row, &file);
    if (err != 0)
        return err;
    if (row->process_id != s->process_id) {
        s->launches += s->process_most;
        s->process_most = 0;
        s->process_id = row->process_id;
    }
    s->process_most = r->launches > s->process_most ? r->launches : s->process_most;
    ws_json_object_line(j);
    ws_json_put_text(j, "code", name_of(code_names, sizeof code_names / sizeof *code_names, r->code));
    ws_json_put_uint(j, "at", r->at);
    ws_json_put_text(j, "opcode", row->opcode);
    if (file >= 0) {
        ws_json_put_int(j, "file", file);
        ws_json_put_uint(j, "line", r->line);
    } else {
        ws_json_put_null(j, "file");
        ws_json_put_null(j, "line");
    }
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

static uint32_t first_shown(const struct source_file *f)
{
    return f->first > LINES_BEFORE ? f->first - LINES_BEFORE : 1;
}

/* Returns the bytes given. */
static size_t put_lines(struct ws_json *j, const struct source_file *f, const struct ws_source_text *text)
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
static void put_file(struct ws_json *j, const struct source_file *f, int64_t started_ns, size_t *given)
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

/* The session whose facts are shown; *state: when it started. */
struct origin {
    struct ws_json *json;
    int64_t kernel_id, started_ns;
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
    o->started_ns = row->started_ns;
    return 0;
}

static int put_facts(struct ws_json *j, struct ws_store *store, int64_t kernel_id, int64_t session_id)
{
    struct source s = {.json = j};
    struct origin origin = {.json = j, .kernel_id = kernel_id};
    size_t given = 0;
    int err;
    ws_json_key(j, "from");
    err = ws_store_get_session(store, session_id, put_origin, &origin);
    ws_json_key(j, "instructions");
    ws_json_array(j);
    if (err == 0)
        err = ws_store_each_instruction(store, kernel_id, put_instruction, &s);
    ws_json_end(j);
    ws_json_put_uint(j, "launches", s.launches + s.process_most);
    ws_json_key(j, "files");
    ws_json_array(j);
    for (size_t i = 0; err == 0 && i < s.file_count; i++)
        put_file(j, &s.files[i], origin.started_ns, &given);
    ws_json_end(j);
    for (size_t i = 0; i < s.file_count; i++)
        free(s.files[i].path);
    free(s.files);
    return err;
}

static bool has_kernel(const struct ws_cached *c, int64_t kernel_id)
{
    for (size_t i = 0; i < c->session->kernel_count; i++)
        if (c->session->kernels[i].row.id == kernel_id)
            return true;
    return false;
}

static void answer(struct ws_call *call, struct ws_store *store)
{
    struct ws_json *j = ws_call_json(call);
    int64_t kernel_id = 0;
    int64_t session_id = 0;
    int err = ws_store_find_instructions(store, call->request->ids[1], &kernel_id, &session_id);
    ws_json_object(j);
    ws_json_put_int(j, "session", call->request->ids[0]);
    ws_json_put_int(j, "kernel", call->request->ids[1]);
    if (err == 0) {
        err = put_facts(j, store, kernel_id, session_id);
    } else if (err == -WS_ENOENT) {
        err = 0;
        ws_json_put_null(j, "from");
        ws_json_key(j, "instructions");
        ws_json_array(j);
        ws_json_end(j);
        ws_json_put_uint(j, "launches", 0);
        ws_json_key(j, "files");
        ws_json_array(j);
        ws_json_end(j);
    }
    ws_json_end(j);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* No ETag: files and other sessions change without this one. */
void ws_api_source(struct ws_call *call)
{
    const struct ws_cached *c;
    struct ws_store *store;
    bool found;
    call->cache = WS_CACHE_NEVER;
    if (!ws_call_session(call, call->request->ids[0], &c))
        return;
    found = has_kernel(c, call->request->ids[1]);
    ws_session_cache_give(c);
    if (!found)
        ws_call_fail(call, 404, "kernel_not_found", "the session's kernels are at …/kernels",
                     "there is no such kernel in this session");
    else if ((store = ws_call_store(call)) != NULL)
        answer(call, store);
}
