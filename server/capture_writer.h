/* SPDX-License-Identifier: MIT
 * capture_writer.h: writes a .wscap: segments of frames of records, one after another. Knows the wire and a FILE.
 * Read on: collector/wire.h (the bytes), export_capture.c and import_….c (what is written). */
#ifndef WS_SERVER_CAPTURE_WRITER_H
#define WS_SERVER_CAPTURE_WRITER_H

#include "../collector/wire.h"

#include <stdio.h>

/* Zero but for out and frame. */
struct ws_capture_writer {
    FILE *out;      /* errors stay in ferror(out) */
    uint8_t *frame; /* [WS_WIRE_FRAME_MAX], the caller's */
    uint16_t type;  /* of the open frame; 0 = none */
    uint32_t used, records;
    uint64_t seq;
};

/* Begin an agent's segment: frame numbers start at 0. */
void ws_capture_segment(struct ws_capture_writer *w, const char *agent_id, uint32_t pid, int64_t started_ns);

/* Write what is held back. At the end. */
void ws_capture_seal(struct ws_capture_writer *w);

/* ws_capture_put_kernel(w, &rec), …: one a record type. -WS_ELIMIT: the record is larger than a frame. */
#define WS_RECORD(sym, name, num) \
    int ws_capture_put_##name(struct ws_capture_writer *w, const struct ws_rec_##name *rec);
#include "../collector/wire.def"

/* The same with fields[length] that are encoded already. */
int ws_capture_put_encoded(struct ws_capture_writer *w, uint16_t type, const uint8_t *fields, uint32_t length);

#endif
