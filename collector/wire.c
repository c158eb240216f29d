/* SPDX-License-Identifier: MIT
 * wire.c: frames and records: encode, decode. Pure; every length is checked before use.
 * Record bodies are generated from wire.def, so this file does not change with a new field. */
#include "wire.h"

#include "../analyzer/err.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>
#endif

/* --- little-endian primitives: byte by byte, so that any host and any alignment agree --- */

static void put_u32(uint8_t *out, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static void put_u64(uint8_t *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get_u64(const uint8_t *at)
{
    return (uint64_t)get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

static void put_u16(uint8_t *out, uint16_t v)
{
    out[0] = (uint8_t)v;
    out[1] = (uint8_t)(v >> 8);
}

static uint16_t get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

/* --- a cursor over the fields of one record --- */

struct cursor {
    const uint8_t *at;
    size_t left;
    int err;
};

/* The next n bytes, or NULL when the record ends here (a field an older writer did not send). */
static const uint8_t *take(struct cursor *c, size_t n)
{
    const uint8_t *at = c->at;
    if (c->err != 0 || c->left == 0)
        return NULL;
    if (c->left < n) {
        c->err = -WS_ESHORT;
        return NULL;
    }
    c->at += n;
    c->left -= n;
    return at;
}

static uint32_t take_u32(struct cursor *c)
{
    const uint8_t *at = take(c, 4);
    return at ? get_u32(at) : 0;
}

static uint64_t take_u64(struct cursor *c)
{
    const uint8_t *at = take(c, 8);
    return at ? get_u64(at) : 0;
}

static double take_f64(struct cursor *c)
{
    uint64_t bits = take_u64(c);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static struct ws_text take_text(struct cursor *c)
{
    uint32_t n = take_u32(c);
    struct ws_text t = {"", 0};
    if (c->err != 0 || n == 0)
        return t;
    if (n > c->left) {
        c->err = -WS_ECORRUPT;
        return t;
    }
    t.at = (const char *)c->at;
    t.length = n;
    c->at += n;
    c->left -= n;
    return t;
}

static uint8_t *put_text(uint8_t *out, struct ws_text t)
{
    put_u32(out, t.length);
    if (t.length > 0)
        memcpy(out + 4, t.at, t.length);
    return out + 4 + t.length;
}

static uint8_t *put_f64(uint8_t *out, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_u64(out, bits);
    return out + 8;
}

/* --- size, put, get of every record --- */

#define WS_RECORD(sym, name, num)                               \
    size_t ws_wire_size_##name(const struct ws_rec_##name *rec) \
    {                                                           \
        size_t n = 4;                                           \
        (void)rec;
#define WS_U32(f) n += 4;
#define WS_U64(f) n += 8;
#define WS_I64(f) n += 8;
#define WS_F64(f) n += 8;
#define WS_STR(f) n += 4 + (size_t)rec->f.length;
#define WS_RECORD_END(name) \
    return n;               \
    }
#include "wire.def"

#define WS_RECORD(sym, name, num)                                                        \
    size_t ws_wire_put_##name(const struct ws_rec_##name *rec, uint8_t *out, size_t cap) \
    {                                                                                    \
        size_t n = ws_wire_size_##name(rec);                                             \
        uint8_t *p = out;                                                                \
        if (n > cap || n > WS_WIRE_PAYLOAD_MAX)                                          \
            return 0;                                                                    \
        put_u32(p, (uint32_t)(n - 4));                                                   \
        p += 4;
#define WS_U32(f)       \
    put_u32(p, rec->f); \
    p += 4;
#define WS_U64(f)       \
    put_u64(p, rec->f); \
    p += 8;
#define WS_I64(f)                 \
    put_u64(p, (uint64_t)rec->f); \
    p += 8;
#define WS_F64(f) p = put_f64(p, rec->f);
#define WS_STR(f) p = put_text(p, rec->f);
#define WS_RECORD_END(name)   \
    return (size_t)(p - out); \
    }
#include "wire.def"

#define WS_RECORD(sym, name, num)                                                       \
    int ws_wire_get_##name(struct ws_rec_##name *rec, const uint8_t *at, size_t length) \
    {                                                                                   \
        struct cursor c = {at, length, 0};
#define WS_U32(f) rec->f = take_u32(&c);
#define WS_U64(f) rec->f = take_u64(&c);
#define WS_I64(f) rec->f = (int64_t)take_u64(&c);
#define WS_F64(f) rec->f = take_f64(&c);
#define WS_STR(f) rec->f = take_text(&c);
#define WS_RECORD_END(name) \
    return c.err;           \
    }
#include "wire.def"

/* --- segment header: magic 8, major 2, minor 2, number 4, agent id 16, pid 4, zero 4, started 8,
 *     zero 12, crc32c 4 = 64 bytes --- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return 0;
}

void ws_wire_put_segment(const struct ws_segment_header *header, uint8_t out[WS_WIRE_SEGMENT_BYTES])
{
    memset(out, 0, WS_WIRE_SEGMENT_BYTES);
    memcpy(out, WS_WIRE_SEGMENT_MAGIC, 8);
    put_u16(out + 8, WS_WIRE_MAJOR);
    put_u16(out + 10, WS_WIRE_MINOR);
    put_u32(out + 12, header->number);
    for (size_t i = 0; i < 16 && header->agent_id[2 * i] != 0; i++)
        out[16 + i] = (uint8_t)(hex_digit(header->agent_id[2 * i]) << 4 | hex_digit(header->agent_id[2 * i + 1]));
    put_u32(out + 32, header->pid);
    put_u64(out + 40, (uint64_t)header->started_ns);
    put_u32(out + 60, ws_crc32c(0, out, 60));
}

int ws_wire_get_segment(struct ws_segment_header *header, const uint8_t *at, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    if (length < WS_WIRE_SEGMENT_BYTES)
        return -WS_ESHORT;
    if (memcmp(at, WS_WIRE_SEGMENT_MAGIC, 8) != 0 || get_u32(at + 60) != ws_crc32c(0, at, 60))
        return -WS_ECORRUPT;
    if (get_u16(at + 8) != WS_WIRE_MAJOR)
        return -WS_EVERSION;
    header->major = get_u16(at + 8);
    header->minor = get_u16(at + 10);
    header->number = get_u32(at + 12);
    for (size_t i = 0; i < 16; i++) {
        header->agent_id[2 * i] = digits[at[16 + i] >> 4];
        header->agent_id[2 * i + 1] = digits[at[16 + i] & 15];
    }
    header->agent_id[32] = 0;
    header->pid = get_u32(at + 32);
    header->started_ns = (int64_t)get_u64(at + 40);
    return 0;
}

/* --- frames --- */

void ws_wire_seal(uint8_t *out, uint16_t type, uint16_t flags, uint32_t length, uint32_t records, uint64_t seq)
{
    uint32_t crc;
    put_u32(out, WS_WIRE_MAGIC);
    put_u16(out + 4, type);
    put_u16(out + 6, flags);
    put_u32(out + 8, length);
    put_u32(out + 12, records);
    put_u64(out + 16, seq);
    crc = ws_crc32c(0, out, 24);
    crc = ws_crc32c(crc, out + WS_WIRE_FRAME_BYTES, length);
    put_u32(out + 24, crc);
}

int ws_wire_peek_frame(struct ws_frame *frame, const uint8_t at[WS_WIRE_FRAME_BYTES])
{
    uint32_t payload = get_u32(at + 8);
    if (get_u32(at) != WS_WIRE_MAGIC || payload > WS_WIRE_PAYLOAD_MAX)
        return -WS_ECORRUPT;
    frame->type = get_u16(at + 4);
    frame->flags = get_u16(at + 6);
    frame->length = payload;
    frame->records = get_u32(at + 12);
    frame->seq = get_u64(at + 16);
    frame->payload = NULL;
    return 0;
}

int ws_wire_get_frame(struct ws_frame *frame, const uint8_t *at, size_t length)
{
    struct ws_frame seen;
    uint32_t crc;
    if (length < 4)
        return -WS_ESHORT;
    if (get_u32(at) != WS_WIRE_MAGIC)
        return -WS_ECORRUPT;
    if (length < WS_WIRE_FRAME_BYTES)
        return -WS_ESHORT;
    if (ws_wire_peek_frame(&seen, at) != 0)
        return -WS_ECORRUPT;
    if (length - WS_WIRE_FRAME_BYTES < seen.length)
        return -WS_ESHORT;
    crc = ws_crc32c(0, at, 24);
    crc = ws_crc32c(crc, at + WS_WIRE_FRAME_BYTES, seen.length);
    if (crc != get_u32(at + 24))
        return -WS_ECORRUPT;
    *frame = seen;
    frame->payload = at + WS_WIRE_FRAME_BYTES;
    return 0;
}

int ws_wire_next_record(const struct ws_frame *frame, uint32_t *offset, const uint8_t **at, uint32_t *length)
{
    uint32_t n;
    if (*offset == frame->length)
        return 0;
    if (frame->length - *offset < 4)
        return -WS_ECORRUPT;
    n = get_u32(frame->payload + *offset);
    if (n > frame->length - *offset - 4)
        return -WS_ECORRUPT;
    *at = frame->payload + *offset + 4;
    *length = n;
    *offset += 4 + n;
    return 1;
}

size_t ws_wire_resync(const uint8_t *at, size_t length)
{
    uint8_t magic[4];
    put_u32(magic, WS_WIRE_MAGIC);
    for (size_t i = 1; i < length; i++) {
        size_t left = length - i;
        if (at[i] == magic[0] && memcmp(at + i, magic, left < 4 ? left : 4) == 0)
            return i;
        if (at[i] == (uint8_t)WS_WIRE_SEGMENT_MAGIC[0] &&
            memcmp(at + i, WS_WIRE_SEGMENT_MAGIC, left < 8 ? left : 8) == 0)
            return i;
    }
    return length;
}

const char *ws_wire_type_name(uint16_t type)
{
    switch (type) {
#define WS_RECORD(sym, name, num) \
    case num:                     \
        return #name;
#include "wire.def"
    default:
        return NULL;
    }
}

/* CRC-32C (Castagnoli). Where the processor has the instruction (every x86-64 since 2008 or so), that: a reader
 * spends half of its time here otherwise. Else a 16-entry table: 1 KiB tables would cost the host program cache
 * lines for no gain at our rates (a frame every 50 ms). Both give the same; test_wire.c holds them together. */
uint32_t ws_crc32c_portable(uint32_t crc, const void *data, size_t length)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u, 0x417b1dbcu, 0x5125dad3u, 0x61c69362u, 0x7198540du,
        0x82f63b78u, 0x92a8fc17u, 0xa24bb5a6u, 0xb21572c9u, 0xc38d26c4u, 0xd3d3e1abu, 0xe330a81au, 0xf36e6f75u,
    };
    const uint8_t *p = data;
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc ^= p[i];
        crc = table[crc & 15] ^ (crc >> 4);
        crc = table[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}

#if defined(__x86_64__)
#define CPUID_SSE42 (1u << 20) /* ecx of leaf 1 */

static bool has_instruction(void)
{
    static atomic_int known; /* 0 = not asked yet, 1 = no, 2 = yes; every thread finds the same */
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (is == 0) {
        unsigned a, b, c = 0, d;
        is = __get_cpuid(1, &a, &b, &c, &d) && (c & CPUID_SSE42) ? 2 : 1;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return is == 2;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_instruction(uint32_t crc, const uint8_t *p, size_t length)
{
    uint64_t c = ~crc;
    for (; length >= 8; length -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        c = __builtin_ia32_crc32di(c, word);
    }
    for (; length > 0; length--)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
    return ~(uint32_t)c;
}

uint32_t ws_crc32c(uint32_t crc, const void *data, size_t length)
{
    return has_instruction() ? crc32c_instruction(crc, data, length) : ws_crc32c_portable(crc, data, length);
}
#else
uint32_t ws_crc32c(uint32_t crc, const void *data, size_t length)
{
    return ws_crc32c_portable(crc, data, length);
}
#endif

struct ws_text ws_text_of(const char *s)
{
    return ws_text_n(s ? s : "", s ? strlen(s) : 0);
}

bool ws_text_is(struct ws_text t, const char *s)
{
    size_t n = strlen(s);
    return t.length == n && memcmp(t.at, s, n) == 0;
}
