/* SPDX-License-Identifier: MIT
 * test_wire.c: every record comes back as it went, and nothing that was cut or flipped is taken for whole. */
#include "../../analyzer/err.h"
#include "../../collector/wire.h"
#include "test.h"

/* Every field of every record gets a value of its own, made from this counter. */
static uint64_t next_value;
static char texts[64][8];

static struct ws_text next_text(void)
{
    char *t = texts[next_value % 64];
    snprintf(t, sizeof texts[0], "t%u", (unsigned)(next_value++ % 100000));
    return ws_text_of(t);
}

#define WS_RECORD(sym, name, num)                    \
    static void fill_##name(struct ws_rec_##name *r) \
    {                                                \
        memset(r, 0, sizeof *r);                     \
        next_value = (uint64_t)(num)*100;
#define WS_U32(f) r->f = (uint32_t)(0xf0000000u + next_value++);
#define WS_U64(f) r->f = 0xfedcba9800000000u + next_value++;
#define WS_I64(f) r->f = -(int64_t)next_value++;
#define WS_F64(f) r->f = 0.1 * (double)next_value++;
#define WS_STR(f) r->f = next_text();
#define WS_RECORD_END(name) }
#include "../../collector/wire.def"

static bool same_text(struct ws_text a, struct ws_text b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

#define WS_RECORD(sym, name, num)                                                         \
    static bool same_##name(const struct ws_rec_##name *a, const struct ws_rec_##name *b) \
    {                                                                                     \
        return true
#define WS_U32(f) &&a->f == b->f
#define WS_U64(f) &&a->f == b->f
#define WS_I64(f) &&a->f == b->f
#define WS_F64(f) &&a->f == b->f
#define WS_STR(f) &&same_text(a->f, b->f)
#define WS_RECORD_END(name) \
    ;                       \
    }
#include "../../collector/wire.def"

TEST(every_record_comes_back_as_it_went)
{
    uint8_t bytes[4096];
#define WS_RECORD(sym, name, num)                                 \
    {                                                             \
        struct ws_rec_##name in, out;                             \
        size_t n;                                                 \
        fill_##name(&in);                                         \
        n = ws_wire_put_##name(&in, bytes, sizeof bytes);         \
        CHECK_INT(n, ws_wire_size_##name(&in));                   \
        CHECK_INT(ws_wire_get_##name(&out, bytes + 4, n - 4), 0); \
        if (!same_##name(&in, &out))                              \
            WS_FAIL(#name " came back different");                \
        CHECK_INT(ws_wire_put_##name(&in, bytes, n - 1), 0);      \
        CHECK_STR(ws_wire_type_name(num), #name);                 \
    }
#include "../../collector/wire.def"
}

/* Ends of fields of a record, so that a cut can be told from an older writer's shorter record. */
static size_t ends[64];
static size_t end_count;

#define WS_RECORD(sym, name, num)                               \
    static void find_ends_##name(const struct ws_rec_##name *r) \
    {                                                           \
        size_t at = 0;                                          \
        (void)r;                                                \
        end_count = 0;                                          \
        ends[end_count++] = 0;
#define WS_U32(f) ends[end_count++] = at += 4;
#define WS_U64(f) ends[end_count++] = at += 8;
#define WS_I64(f) ends[end_count++] = at += 8;
#define WS_F64(f) ends[end_count++] = at += 8;
#define WS_STR(f) ends[end_count++] = at += 4 + r->f.length;
#define WS_RECORD_END(name) }
#include "../../collector/wire.def"

static bool is_end(size_t at)
{
    for (size_t i = 0; i < end_count; i++)
        if (ends[i] == at)
            return true;
    return false;
}

TEST(a_record_cut_inside_a_field_is_refused_and_one_cut_between_fields_is_older)
{
    uint8_t bytes[4096];
#define WS_RECORD(sym, name, num)                                             \
    {                                                                         \
        struct ws_rec_##name in, out;                                         \
        size_t n;                                                             \
        fill_##name(&in);                                                     \
        find_ends_##name(&in);                                                \
        n = ws_wire_put_##name(&in, bytes, sizeof bytes) - 4;                 \
        for (size_t cut = 0; cut < n; cut++) {                                \
            /* a copy of that size: a sanitizer sees a read behind its end */ \
            uint8_t *copy = malloc(cut ? cut : 1);                            \
            int err;                                                          \
            memcpy(copy, bytes + 4, cut);                                     \
            err = ws_wire_get_##name(&out, copy, cut);                        \
            if ((err == 0) != is_end(cut))                                    \
                WS_FAIL(#name " cut at %zu of %zu: %d", cut, n, err);         \
            free(copy);                                                       \
        }                                                                     \
    }
#include "../../collector/wire.def"
}

TEST(fields_of_a_newer_writer_are_passed_over)
{
    struct ws_rec_context in = {.context = 5, .device = 6}, out;
    uint8_t bytes[64];
    size_t n = ws_wire_put_context(&in, bytes, sizeof bytes);
    memset(bytes + n, 0xee, 10);
    CHECK_INT(ws_wire_get_context(&out, bytes + 4, n - 4 + 10), 0);
    CHECK_INT(out.context, 5);
    CHECK_INT(out.device, 6);
}

TEST(a_text_longer_than_its_record_is_corrupt)
{
    uint8_t bytes[12] = {1, 0, 0, 0, 5, 0, 0, 0, 'a', 'b', 'c', 'd'};
    struct ws_rec_string out;
    CHECK_INT(ws_wire_get_string(&out, bytes, sizeof bytes), -WS_ECORRUPT);
    bytes[4] = bytes[5] = bytes[6] = bytes[7] = 0xff;
    CHECK_INT(ws_wire_get_string(&out, bytes, sizeof bytes), -WS_ECORRUPT);
}

static size_t make_frame(uint8_t *out)
{
    struct ws_rec_context rec = {.context = 1, .device = 2};
    size_t n = ws_wire_put_context(&rec, out + WS_WIRE_FRAME_BYTES, 64);
    n += ws_wire_put_context(&rec, out + WS_WIRE_FRAME_BYTES + n, 64);
    ws_wire_seal(out, WS_REC_CONTEXT, 0, (uint32_t)n, 2, 77);
    return n + WS_WIRE_FRAME_BYTES;
}

TEST(a_frame_comes_back_as_it_went)
{
    uint8_t bytes[256];
    size_t n = make_frame(bytes);
    struct ws_frame frame;
    uint32_t offset = 0, length;
    const uint8_t *at;
    REQUIRE(ws_wire_get_frame(&frame, bytes, n) == 0);
    CHECK_INT(frame.type, WS_REC_CONTEXT);
    CHECK_INT(frame.records, 2);
    CHECK_INT(frame.seq, 77);
    CHECK_INT(ws_wire_next_record(&frame, &offset, &at, &length), 1);
    CHECK_INT(length, 8);
    CHECK_INT(ws_wire_next_record(&frame, &offset, &at, &length), 1);
    CHECK_INT(ws_wire_next_record(&frame, &offset, &at, &length), 0);
}

TEST(a_frame_cut_anywhere_is_short)
{
    uint8_t bytes[256];
    size_t n = make_frame(bytes);
    struct ws_frame frame;
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1);
        memcpy(copy, bytes, cut);
        CHECK_INT(ws_wire_get_frame(&frame, copy, cut), -WS_ESHORT);
        free(copy);
    }
}

TEST(no_single_flipped_bit_passes)
{
    uint8_t bytes[256];
    size_t n = make_frame(bytes);
    struct ws_frame frame;
    for (size_t bit = 0; bit < n * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(ws_wire_get_frame(&frame, bytes, n) != 0);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK_INT(ws_wire_get_frame(&frame, bytes, n), 0);
}

TEST(a_payload_above_the_limit_is_refused_before_it_is_looked_at)
{
    uint8_t bytes[WS_WIRE_FRAME_BYTES] = {0};
    struct ws_frame frame;
    ws_wire_seal(bytes, 1, 0, 0, 0, 0);
    bytes[8] = bytes[9] = bytes[10] = bytes[11] = 0xff;
    CHECK_INT(ws_wire_get_frame(&frame, bytes, sizeof bytes), -WS_ECORRUPT);
}

TEST(records_that_do_not_add_up_are_corrupt)
{
    uint8_t bytes[64] = {0};
    struct ws_frame frame = {.payload = bytes, .length = 12};
    uint32_t offset = 0, length;
    const uint8_t *at;
    bytes[0] = 9; /* one more than is left */
    CHECK_INT(ws_wire_next_record(&frame, &offset, &at, &length), -WS_ECORRUPT);
    bytes[0] = 5; /* leaves 3 bytes: no room for a length */
    CHECK_INT(ws_wire_next_record(&frame, &offset, &at, &length), 1);
    CHECK_INT(ws_wire_next_record(&frame, &offset, &at, &length), -WS_ECORRUPT);
    bytes[0] = bytes[1] = bytes[2] = bytes[3] = 0xff;
    offset = 0;
    CHECK_INT(ws_wire_next_record(&frame, &offset, &at, &length), -WS_ECORRUPT);
}

TEST(a_segment_header_comes_back_as_it_went_and_no_bit_of_it_may_flip)
{
    struct ws_segment_header in = {.number = 3, .pid = 99, .started_ns = -5}, out;
    uint8_t bytes[WS_WIRE_SEGMENT_BYTES];
    memcpy(in.agent_id, "0123456789abcdef0123456789abcdef", 33);
    ws_wire_put_segment(&in, bytes);
    REQUIRE(ws_wire_get_segment(&out, bytes, sizeof bytes) == 0);
    CHECK_STR(out.agent_id, in.agent_id);
    CHECK_INT(out.number, 3);
    CHECK_INT(out.pid, 99);
    CHECK_INT(out.started_ns, -5);
    CHECK_INT(ws_wire_get_segment(&out, bytes, sizeof bytes - 1), -WS_ESHORT);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(ws_wire_get_segment(&out, bytes, sizeof bytes) != 0);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

TEST(another_major_version_is_told_apart_from_damage)
{
    struct ws_segment_header in = {.number = 0}, out;
    uint8_t bytes[WS_WIRE_SEGMENT_BYTES];
    uint32_t crc;
    memcpy(in.agent_id, "0123456789abcdef0123456789abcdef", 33);
    ws_wire_put_segment(&in, bytes);
    bytes[8] = WS_WIRE_MAJOR + 1;
    crc = ws_crc32c(0, bytes, 60);
    for (int i = 0; i < 4; i++)
        bytes[60 + i] = (uint8_t)(crc >> (8 * i));
    CHECK_INT(ws_wire_get_segment(&out, bytes, sizeof bytes), -WS_EVERSION);
}

TEST(resync_finds_the_next_frame_or_segment_and_never_stands_still)
{
    uint8_t bytes[512];
    struct ws_segment_header header = {.number = 0};
    memset(bytes, 'W', sizeof bytes);          /* the first letter of both magics, everywhere */
    CHECK_INT(ws_wire_resync(bytes, 100), 98); /* "WW" at the end may become "WWSF" */
    make_frame(bytes + 37);
    CHECK_INT(ws_wire_resync(bytes, sizeof bytes), 37);
    memcpy(header.agent_id, "0123456789abcdef0123456789abcdef", 33);
    ws_wire_put_segment(&header, bytes + 11);
    CHECK_INT(ws_wire_resync(bytes, sizeof bytes), 11);
    CHECK_INT(ws_wire_resync(bytes, 1), 1);
}

TEST(crc32c_gives_the_published_values)
{
    /* RFC 3720, appendix B.4; "123456789" is the check value of every CRC catalogue. */
    static const uint8_t zeros[32];
    uint8_t ones[32], up[32];
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++)
        up[i] = (uint8_t)i;
    CHECK_INT(ws_crc32c(0, "123456789", 9), 0xe3069283u);
    CHECK_INT(ws_crc32c(0, zeros, 32), 0x8a9136aau);
    CHECK_INT(ws_crc32c(0, ones, 32), 0x62a8ab43u);
    CHECK_INT(ws_crc32c(0, up, 32), 0x46dd794eu);
    CHECK_INT(ws_crc32c(ws_crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
}

TEST(both_ways_to_crc32c_agree_at_every_length_and_alignment)
{
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 131 + 7);
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; n + from <= sizeof bytes; n += n < 40 ? 1 : 37)
            CHECK_INT(ws_crc32c((uint32_t)n, bytes + from, n), ws_crc32c_portable((uint32_t)n, bytes + from, n));
}
