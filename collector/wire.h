/* SPDX-License-Identifier: MIT
 * wire.h: frames and records: encode, decode. Pure C, no CUDA, no I/O, no allocation.
 * The collector, the model and the server link the same object, so both ends agree by construction.
 * Record layouts are in wire.def; this file only frames them.
 *
 * A segment is 64 bytes of header and then frames. A frame is 28 bytes of header and a payload:
 *   u32 magic, u16 type, u16 flags, u32 length, u32 records, u64 seq, u32 crc32c(header before it + payload)
 * The payload is `records` times {u32 length, fields}. A .wscap file is segments one after another. */
#ifndef WS_COLLECTOR_WIRE_H
#define WS_COLLECTOR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_WIRE_MAGIC 0x46535757u /* "WWSF" */
#define WS_WIRE_SEGMENT_MAGIC "WSSEGM\r\n"
#define WS_WIRE_MAJOR 1
#define WS_WIRE_MINOR 0
#define WS_WIRE_SEGMENT_BYTES 64
#define WS_WIRE_FRAME_BYTES 28
/* One frame is one write(): 256 KiB keeps that write short and bounds what a reader must hold. */
#define WS_WIRE_FRAME_MAX 262144u
#define WS_WIRE_PAYLOAD_MAX (WS_WIRE_FRAME_MAX - WS_WIRE_FRAME_BYTES)
/* A reader that does not know the type skips the frame instead of refusing the segment. */
#define WS_WIRE_OPTIONAL 1u

/* A text on the wire: not NUL-ended, points into the frame (or the writer's memory). */
struct ws_text {
    const char *at;
    uint32_t length;
};

enum ws_record_type {
#define WS_RECORD(sym, name, num) sym = (num),
#include "wire.def"
};

/* Numbers of INSTRUCTION records: stored, so never another meaning for one. */
enum ws_code { WS_CODE_PTX = 1, WS_CODE_SASS = 2 };
enum ws_space { WS_SPACE_NONE, WS_SPACE_GLOBAL, WS_SPACE_SHARED, WS_SPACE_LOCAL, WS_SPACE_CONSTANT, WS_SPACE_COUNT };
enum ws_memory_op {
    WS_MEMORY_OP_NONE,
    WS_MEMORY_OP_LOAD,
    WS_MEMORY_OP_STORE,
    WS_MEMORY_OP_ATOMIC,
    WS_MEMORY_OP_ASYNC_COPY,
    WS_MEMORY_OP_COUNT
};

/* struct ws_hello, struct ws_run, …: one plain struct per record. */
#define WS_RECORD(sym, name, num) struct ws_rec_##name {
#define WS_U32(f) uint32_t f;
#define WS_U64(f) uint64_t f;
#define WS_I64(f) int64_t f;
#define WS_F64(f) double f;
#define WS_STR(f) struct ws_text f;
#define WS_RECORD_END(name) \
    }                       \
    ;
#include "wire.def"

/* Bytes that a record needs on the wire, its u32 length included. */
/* Append a record at out; returns the bytes written, or 0 if it does not fit into cap. */
/* Read the fields of one record (without its length) from at[length]; 0, or -WS_ESHORT when a
 * field is cut in two, or -WS_ECORRUPT when a text runs past the record. Texts point into at. */
#define WS_RECORD(sym, name, num)                                                         \
    size_t ws_wire_size_##name(const struct ws_rec_##name *rec);                          \
    size_t ws_wire_put_##name(const struct ws_rec_##name *rec, uint8_t *out, size_t cap); \
    int ws_wire_get_##name(struct ws_rec_##name *rec, const uint8_t *at, size_t length);
#include "wire.def"

struct ws_segment_header {
    char agent_id[33]; /* 32 hex digits and NUL */
    uint32_t number;   /* 0, 1, … within the agent */
    uint32_t pid;
    uint16_t major, minor;
    int64_t started_ns; /* epoch */
};

/* Encode / decode the 64 bytes. get: -WS_ESHORT (less than 64 bytes), -WS_ECORRUPT (no segment),
 * -WS_EVERSION (other major). */
void ws_wire_put_segment(const struct ws_segment_header *header, uint8_t out[WS_WIRE_SEGMENT_BYTES]);
int ws_wire_get_segment(struct ws_segment_header *header, const uint8_t *at, size_t length);

struct ws_frame {
    uint16_t type; /* enum ws_record_type, or one this reader does not know */
    uint16_t flags;
    uint32_t length; /* payload bytes */
    uint32_t records;
    uint64_t seq; /* per agent, from 0, no gaps when nothing was lost */
    const uint8_t *payload;
};

/* Write the header for a payload that already lies at out + WS_WIRE_FRAME_BYTES. */
void ws_wire_seal(uint8_t *out, uint16_t type, uint16_t flags, uint32_t length, uint32_t records, uint64_t seq);

/* What the header of a frame says, from its first WS_WIRE_FRAME_BYTES alone; payload is NULL and no checksum is asked.
 * 0, or -WS_ECORRUPT. */
int ws_wire_peek_frame(struct ws_frame *frame, const uint8_t at[WS_WIRE_FRAME_BYTES]);

/* Look at the frame at at[length]: 0 and *frame; -WS_ESHORT when it is not all there yet;
 * -WS_ECORRUPT when magic, length or checksum are wrong. */
int ws_wire_get_frame(struct ws_frame *frame, const uint8_t *at, size_t length);

/* Walk the records of a frame: *offset starts at 0. 1 = *at and *length hold the next record's fields,
 * 0 = end, -WS_ECORRUPT = the payload does not add up. */
int ws_wire_next_record(const struct ws_frame *frame, uint32_t *offset, const uint8_t **at, uint32_t *length);

/* Bytes to skip from a bad place to the next frame or segment magic (at least 1, at most length). */
size_t ws_wire_resync(const uint8_t *at, size_t length);

/* "kernel", "memcpy", …; NULL for an unknown type. */
const char *ws_wire_type_name(uint16_t type);

/* CRC-32C of data, continuing from crc (0 to begin). The second is for machines without the instruction. */
uint32_t ws_crc32c(uint32_t crc, const void *data, size_t length);
uint32_t ws_crc32c_portable(uint32_t crc, const void *data, size_t length);

static inline struct ws_text ws_text_n(const char *at, size_t length)
{
    struct ws_text t = {at, (uint32_t)length};
    return t;
}

/* A C string as a text; NULL is "". */
struct ws_text ws_text_of(const char *s);
bool ws_text_is(struct ws_text t, const char *s);

#endif
