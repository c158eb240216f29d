/* SPDX-License-Identifier: MIT
 * fuzz_capture.h: what an importer wrote, in memory: segments of whole frames and nothing else. */
#ifndef WS_TESTS_FUZZ_FUZZ_CAPTURE_H
#define WS_TESTS_FUZZ_FUZZ_CAPTURE_H

#include "../../collector/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fuzz_capture {
    FILE *out;
    char *bytes;
    size_t length;
};

static inline void fuzz_must(int truth, const char *claim)
{
    if (truth)
        return;
    fprintf(stderr, "not true: %s\n", claim);
    abort(); /* libFuzzer keeps the input */
}

static inline struct fuzz_capture fuzz_capture_open(void)
{
    struct fuzz_capture c = {NULL, NULL, 0};
    c.out = tmpfile();
    fuzz_must(c.out != NULL, "a temporary file");
    return c;
}

static inline void fuzz_capture_check(struct fuzz_capture *c, int err, const char *message)
{
    size_t at = 0;
    size_t n;
    fuzz_must(err == 0 || (*message && !strchr(message, '\n')), "an error has one line");
    c->length = (size_t)ftell(c->out);
    rewind(c->out);
    c->bytes = malloc(c->length + 1);
    fuzz_must(c->bytes != NULL, "memory");
    n = fread(c->bytes, 1, c->length, c->out);
    fuzz_must(n == c->length, "the file can be read");
    while (err == 0 && at < c->length) {
        const uint8_t *here = (const uint8_t *)c->bytes + at;
        struct ws_segment_header header;
        struct ws_frame frame;
        if (ws_wire_get_segment(&header, here, c->length - at) == 0) {
            at += WS_WIRE_SEGMENT_BYTES;
            continue;
        }
        fuzz_must(at > 0 && ws_wire_get_frame(&frame, here, c->length - at) == 0, "a whole frame");
        at += WS_WIRE_FRAME_BYTES + frame.length;
    }
    fuzz_must(err != 0 || c->length > 0, "a capture that is not empty");
    free(c->bytes);
    fclose(c->out);
}

#endif
