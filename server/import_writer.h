/* SPDX-License-Identifier: MIT
 * import_writer.h: what importers write captures with: texts that are told once, an identity that follows from the
 * file's content. Errors stick: after the first one nothing is written, and the end tells it. */
#ifndef WS_SERVER_IMPORT_WRITER_H
#define WS_SERVER_IMPORT_WRITER_H

#include "capture_writer.h"

#include <stdbool.h>

/* Which file it is: the same content has the same identity, and is imported once. */
struct ws_import_identity {
    uint64_t bytes;
    uint32_t crc; /* of all of it */
};
void ws_import_identify(struct ws_import_identity *id, const void *bytes, size_t count);

struct ws_import_text; /* of the table */

/* Zero but for out. */
struct ws_import_writer {
    struct ws_capture_writer w;
    struct ws_import_text *table; /* [cap], of this segment */
    size_t cap, count;
    uint32_t next_text;
    int err; /* the first */
};
int ws_import_begin(struct ws_import_writer *iw, FILE *out);

/* A process's segment: HELLO with the agent and token of the identity (number: which process of the file), the source
 * "imported", and what hello says besides. Texts begin anew. */
void ws_import_process(struct ws_import_writer *iw, const struct ws_import_identity *id, uint32_t number,
                       const struct ws_rec_hello *hello);

/* The id of a text in this segment; told when new. */
uint32_t ws_import_text_id(struct ws_import_writer *iw, const char *text);

/* A fact for the report's warnings, severity 0: where the session is from. */
void ws_import_status(struct ws_import_writer *iw, const char *code, const char *message, const char *remedy);

/* Write the rest and free. Returns the first error. */
int ws_import_end(struct ws_import_writer *iw);

/* put_kernel(iw, &rec), …: as ws_capture_put_…, and errors stick. */
#define WS_RECORD(sym, name, num) \
    void ws_import_put_##name(struct ws_import_writer *iw, const struct ws_rec_##name *rec);
#include "../collector/wire.def"

/* "h200-details" of "/tmp/h200-details.csv.gz": a session's name. */
void ws_import_name(const char *path, char out[128]);

#endif
