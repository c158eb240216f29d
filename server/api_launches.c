/* SPDX-License-Identifier: MIT
 * api_launches.c: launches one by one, in order of arrival. The cursor is the chunk and the row in it, so a page
 * costs the same wherever it is; with kernel= the chunks between two hits are read, too. */
#include "../analyzer/err.h"
#include "api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FULL = 1 };

struct page {
    struct ws_json *j;
    int64_t base_ns, kernel, limit, written;
    int64_t chunk; /* the cursor: rows of this chunk before row are done */
    uint32_t row;
};

static void put_time(struct ws_json *j, const char *key, bool known, int64_t ns)
{
    if (known)
        ws_json_put_int(j, key, ns);
    else
        ws_json_put_null(j, key);
}

static void put_launch(const struct page *p, const struct ws_activity_chunk *chunk, const struct ws_activity_row *r)
{
    struct ws_json *j = p->j;
    bool is_timed = r->end_ns != 0;
    char text[24];
    ws_json_object_line(j);
    ws_json_put_uint(j, "kernel", r->kernel_id);
    put_time(j, "start_ns", is_timed, r->start_ns - p->base_ns);
    put_time(j, "duration_ns", is_timed, r->end_ns - r->start_ns);
    ws_json_put_int(j, "process", chunk->process_id);
    ws_json_put_uint(j, "device", r->device);
    ws_json_put_uint(j, "context", r->context);
    ws_json_put_uint(j, "stream", r->stream);
    snprintf(text, sizeof text, "%" PRIu64, r->correlation);
    ws_json_put_text(j, "correlation", text);
    snprintf(text, sizeof text, "%" PRIu64, r->graph);
    ws_json_put_text(j, "graph", text);
    ws_json_end(j);
}

static int take_chunk(void *state, const struct ws_activity_chunk *chunk)
{
    struct page *p = state;
    struct ws_activity_row row;
    uint32_t i = chunk->id == p->chunk ? p->row : 0;
    if (chunk->kind != WS_ACTIVITY_KERNEL)
        return 0;
    for (; i < chunk->rows; i++) {
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (p->kernel && (int64_t)row.kernel_id != p->kernel)
            continue;
        if (p->written == p->limit) {
            p->chunk = chunk->id;
            p->row = i;
            return FULL;
        }
        p->written++;
        put_launch(p, chunk, &row);
    }
    return 0;
}

/* "CHUNK.ROW" */
static bool read_cursor(struct ws_call *call, struct page *p)
{
    const char *text = ws_http_param(call->request, "cursor");
    char rest;
    if (!text)
        return true;
    if (sscanf(text, "%15" SCNd64 ".%9" SCNu32 "%c", &p->chunk, &p->row, &rest) == 2 && p->chunk > 0)
        return true;
    ws_call_fail(call, 400, "bad_parameter", "take cursor from next of the page before", "cursor is not one of ours");
    return false;
}

void ws_api_launches(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    struct page p = {.j = ws_call_json(call), .limit = 100};
    struct ws_activity_range range = {0, INT64_MIN, INT64_MAX};
    struct ws_store *store;
    char text[48];
    int err;
    if (ws_call_unchanged(call) || !ws_call_int(call, "limit", 1, 1000, &p.limit) ||
        !ws_call_int(call, "kernel", 1, 1ll << 53, &p.kernel) || !read_cursor(call, &p) ||
        (store = ws_call_store(call)) == NULL)
        return;
    err = ws_api_base_ns(store, id, &p.base_ns);
    if (err != 0) {
        ws_call_fail_store(call, err);
        return;
    }
    range.after_id = p.chunk > 0 ? p.chunk - 1 : 0;
    snprintf(text, sizeof text, "%" PRId64, p.base_ns);
    ws_json_object(p.j);
    ws_json_put_int(p.j, "session", id);
    ws_json_put_text(p.j, "base_ns", text);
    ws_json_key(p.j, "launches");
    ws_json_array(p.j);
    err = ws_store_each_activity_in(store, id, &range, take_chunk, &p);
    ws_json_end(p.j);
    snprintf(text, sizeof text, "%" PRId64 ".%" PRIu32, p.chunk, p.row);
    ws_json_put_text(p.j, "next", err == FULL ? text : NULL);
    ws_json_end(p.j);
    if (err < 0)
        ws_call_fail_store(call, err);
}
