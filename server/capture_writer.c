/* SPDX-License-Identifier: MIT
 * capture_writer.c: records gather in a frame until their type changes or it is full. */
#include "capture_writer.h"

#include "../analyzer/err.h"

#include <string.h>

/* What an older reader may pass over. */
static bool is_optional(uint16_t type)
{
    return type == WS_REC_SIGNATURE || type >= WS_REC_INSTRUCTION;
}

void ws_capture_seal(struct ws_capture_writer *w)
{
    if (w->records == 0)
        return;
    ws_wire_seal(w->frame, w->type, is_optional(w->type) ? WS_WIRE_OPTIONAL : 0, w->used, w->records, w->seq++);
    fwrite(w->frame, 1, WS_WIRE_FRAME_BYTES + (size_t)w->used, w->out);
    w->used = w->records = 0;
}

void ws_capture_segment(struct ws_capture_writer *w, const char *agent_id, uint32_t pid, int64_t started_ns)
{
    struct ws_segment_header header = {.pid = pid, .started_ns = started_ns};
    uint8_t bytes[WS_WIRE_SEGMENT_BYTES];
    ws_capture_seal(w);
    snprintf(header.agent_id, sizeof header.agent_id, "%s", agent_id);
    ws_wire_put_segment(&header, bytes);
    fwrite(bytes, 1, sizeof bytes, w->out);
    w->seq = 0;
}

/* Where a record of that type goes; the frame before is written when it must be. */
static uint8_t *room(struct ws_capture_writer *w, uint16_t type, size_t size)
{
    if (w->type != type || WS_WIRE_PAYLOAD_MAX - w->used < size)
        ws_capture_seal(w);
    w->type = type;
    return w->frame + WS_WIRE_FRAME_BYTES + w->used;
}

int ws_capture_put_encoded(struct ws_capture_writer *w, uint16_t type, const uint8_t *fields, uint32_t length)
{
    uint8_t *at;
    if (length > WS_WIRE_PAYLOAD_MAX - 4)
        return -WS_ELIMIT;
    at = room(w, type, (size_t)length + 4);
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(length >> (8 * i));
    memcpy(at + 4, fields, length);
    w->used += length + 4;
    w->records++;
    return 0;
}

#define WS_RECORD(sym, name, num)                                                           \
    int ws_capture_put_##name(struct ws_capture_writer *w, const struct ws_rec_##name *rec) \
    {                                                                                       \
        size_t size = ws_wire_size_##name(rec);                                             \
        uint8_t *at = room(w, sym, size);                                                   \
        if (ws_wire_put_##name(rec, at, WS_WIRE_PAYLOAD_MAX - w->used) != size)             \
            return -WS_ELIMIT;                                                              \
        w->used += (uint32_t)size;                                                          \
        w->records++;                                                                       \
        return 0;                                                                           \
    }
#include "../collector/wire.def"
