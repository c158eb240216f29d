/* SPDX-License-Identifier: MIT
 * dump.c: prints the records of spool segments, one line each: "kernel name=… grid_x=4 …". For tests that look at
 * what the collector wrote before any database does. Ids of interned texts are shown as "name=ID".
 *   dump FILE…     exit 1 when a file is no segment or holds a bad frame that is not its last */
#include "../../analyzer/err.h"
#include "../../collector/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_text(const char *field, struct ws_text t)
{
    if (strcmp(field, "bytes") == 0) { /* a cubin's: no text */
        printf(" length=%" PRIu32, t.length);
        return;
    }
    printf(" %s=", field);
    if (strcmp(field, "data") == 0) {
        for (uint32_t i = 0; i < t.length; i++)
            printf("%02x", (unsigned char)t.at[i]);
        return;
    }
    for (uint32_t i = 0; i < t.length; i++)
        putchar(t.at[i] == 0 ? '|' : t.at[i] == '\n' ? ' ' : t.at[i]);
}

#define WS_RECORD(sym, name, num)                              \
    static void print_##name(const uint8_t *at, size_t length) \
    {                                                          \
        struct ws_rec_##name rec;                              \
        if (ws_wire_get_##name(&rec, at, length) != 0) {       \
            puts("bad " #name);                                \
            return;                                            \
        }                                                      \
        printf(#name);
#define WS_U32(f) printf(" " #f "=%" PRIu32, rec.f);
#define WS_U64(f) printf(" " #f "=%" PRIu64, rec.f);
#define WS_I64(f) printf(" " #f "=%" PRId64, rec.f);
#define WS_F64(f) printf(" " #f "=%.17g", rec.f);
#define WS_STR(f) print_text(#f, rec.f);
#define WS_RECORD_END(name) \
    putchar('\n');          \
    }
#include "../../collector/wire.def"

static void print_record(uint16_t type, const uint8_t *at, size_t length)
{
    switch (type) {
#define WS_RECORD(sym, name, num) \
    case num:                     \
        print_##name(at, length); \
        break;
#include "../../collector/wire.def"
    default:
        printf("unknown type=%u\n", type);
    }
}

static int dump(const uint8_t *at, size_t left)
{
    struct ws_segment_header header;
    struct ws_frame frame;
    if (ws_wire_get_segment(&header, at, left) != 0)
        return 1;
    printf("segment agent=%s number=%u pid=%u\n", header.agent_id, header.number, header.pid);
    at += WS_WIRE_SEGMENT_BYTES;
    left -= WS_WIRE_SEGMENT_BYTES;
    while (left > 0) {
        uint32_t offset = 0;
        const uint8_t *record;
        uint32_t length;
        int r = ws_wire_get_frame(&frame, at, left);
        if (r == -WS_ESHORT) {
            puts("cut");
            return 0;
        }
        if (r != 0)
            return 1;
        while (ws_wire_next_record(&frame, &offset, &record, &length) == 1)
            print_record(frame.type, record, length);
        at += WS_WIRE_FRAME_BYTES + frame.length;
        left -= WS_WIRE_FRAME_BYTES + frame.length;
    }
    return 0;
}

static int dump_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t used = 0;
    size_t n;
    int status = 1;
    if (!f)
        return 1;
    do {
        uint8_t *grown = realloc(data, used + 65536);
        if (!grown)
            goto out;
        data = grown;
        n = fread(data + used, 1, 65536, f);
        used += n;
    } while (n > 0);
    status = dump(data, used);
out:
    free(data);
    fclose(f);
    return status;
}

int main(int argc, char **argv)
{
    int status = 0;
    for (int i = 1; i < argc; i++)
        status |= dump_file(argv[i]);
    return status;
}
