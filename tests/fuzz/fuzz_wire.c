/* SPDX-License-Identifier: MIT
 * fuzz_wire.c: any bytes at all, read as a capture and then shown as a report (libFuzzer; `make fuzz`).
 * The first byte says how: raw bytes; or bytes cut into payloads that get a right header and checksum, because chance
 * never finds a CRC. The database is in memory and is rolled back after each input. */
#include "../../analyzer/err.h"
#include "../../server/export.h"
#include "../../server/frames.h"
#include "../../server/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was found wrong ends the run: libFuzzer keeps the input. */
#define MUST(claim)                                    \
    do {                                               \
        if (!(claim)) {                                \
            fprintf(stderr, "not true: %s\n", #claim); \
            abort();                                   \
        }                                              \
    } while (0)

static struct ws_store *store;
static FILE *nowhere;

static void open_once(void)
{
    char message[256];
    if (store)
        return;
    /* A file that does not exist reads as an empty database in memory. */
    MUST(ws_store_open(&store, "/tmp/warpsight-fuzz-does-not-exist", WS_STORE_READ, message, sizeof message) == 0);
    nowhere = fopen("/dev/null", "w");
    MUST(nowhere);
}

/* Feed as intake does: what was not consumed is shown again, with more. */
static int feed(struct ws_frames *in, const uint8_t *at, size_t length, size_t step)
{
    size_t from = 0;
    size_t to = 0;
    int err = 0;
    while (err == 0) {
        size_t n = 0;
        bool at_end;
        to = length - to > step ? to + step : length;
        at_end = to == length;
        err = ws_frames_take(in, at + from, to - from, true, at_end, &n);
        MUST(n <= to - from);
        from += n;
        /* At a segment header, where the caller decides. */
        if (err == 0 && at_end && n == 0 && from < length)
            from += ws_wire_resync(at + from, length - from);
        MUST(from <= length);
        if (at_end && from == length)
            break;
    }
    return err;
}

/* Payloads with right headers: type, length and bytes come from the input. */
static uint8_t *sealed(const uint8_t *data, size_t size, size_t *length)
{
    uint8_t *out = malloc(size * (WS_WIRE_FRAME_BYTES + 1) + 1);
    uint64_t seq = 0;
    size_t used = 0;
    MUST(out);
    while (size >= 4) {
        uint16_t type = data[0] % 26;
        uint16_t flags = data[1] & 1;
        size_t n = (size_t)data[2] | (size_t)(data[3] & 3) << 8;
        seq += data[1] >> 7; /* a gap now and then */
        data += 4;
        size -= 4;
        if (n > size)
            n = size;
        memcpy(out + used + WS_WIRE_FRAME_BYTES, data, n);
        ws_wire_seal(out + used, type, flags, (uint32_t)n, 1 + (uint32_t)(n / 8), seq++);
        used += WS_WIRE_FRAME_BYTES + n;
        data += n;
        size -= n;
    }
    *length = used;
    return out;
}

static void show(int64_t session_id)
{
    struct ws_session *session = NULL;
    struct ws_json json = {.out = nowhere};
    struct ws_text_options text = {.details = 3, .all = true};
    char message[200] = "";
    struct ws_export export = {.store = store, .out = nowhere, .message = message, .cap = sizeof message};
    int err = ws_report_load(store, session_id, &session);
    MUST(err == 0);
    export.session = session;
    MUST(ws_report_json(session, &json) == 0);
    MUST(json.depth == 0);
    MUST(ws_report_text(session, &text, nowhere) == 0);
    MUST(ws_report_csv(session, nowhere) == 0);
    MUST(ws_export_capture_to(store, session_id, nowhere) == 0);
    MUST(ws_export_roofline_csv(&export) == 0);
    MUST(ws_export_roofline_svg(&export) == 0);
    err = ws_export_roofline_gnuplot(&export);
    MUST(err == 0 || (err == -WS_ENOENT && *message)); /* nothing to plot */
    ws_report_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_segment_header header = {.agent_id = "0123456789abcdef0123456789abcdef", .pid = 7};
    struct ws_frames *in;
    const int64_t *ids;
    size_t count;
    uint8_t *made = NULL;
    size_t length;
    size_t step;
    if (size < 2)
        return 0;
    open_once();
    step = 1 + (size_t)data[1] * 16;
    made = data[0] & 1 ? sealed(data + 2, size - 2, &length) : NULL;
    if (!made)
        length = size - 2;
    MUST(ws_store_begin(store) == 0);
    in = ws_frames_new(store, (data[0] & 2) != 0);
    MUST(in);
    MUST(ws_frames_segment(in, &header, "", NULL) == 0);
    /* The database is fine, so nothing in the bytes may be an error of it. */
    MUST(feed(in, made ? made : data + 2, length, step) == 0);
    MUST(ws_frames_finish(in) == 0);
    ids = ws_frames_sessions(in, &count);
    /* Reports cost a hundred times as much as the reading: some inputs ask for them. */
    for (size_t i = 0; i < count && (data[0] & 12) == 12; i++)
        show(ids[i]);
    ws_frames_free(in);
    ws_store_rollback(store);
    free(made);
    return 0;
}
