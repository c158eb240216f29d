/* SPDX-License-Identifier: MIT
 * import.h: files of other profilers as captures. An importer turns a file into the bytes of a .wscap whose source says
 * "imported"; how those become a session is intake's business, as with any capture: whole or not at all, and only once.
 * Add a format: import_<format>.c, a line here, a row in import.c. */
#ifndef WS_SERVER_IMPORT_H
#define WS_SERVER_IMPORT_H

#include "progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What was found in a file. */
struct ws_import_note {
    uint64_t launches;
    uint64_t left_out; /* rows or cells that could not be read as what they should be */
    uint64_t values;   /* counters */
};

/* Write path as a capture to out.
 *   progress is told how far it is, in the unit of its kind of file; NULL = nobody
 *   message  [cap] one line when the result is not 0, without the path
 *   errors   -WS_ESYNTAX  not of this format; -WS_EIO; -WS_ELIMIT; -WS_ENOMEM; -WS_ENOENT: nothing in it to import */
typedef int ws_importer(const char *path, FILE *out, struct ws_progress *progress, struct ws_import_note *note,
                        char *message, size_t cap);

struct ws_import_format {
    const char *name;     /* for --format */
    ws_importer *convert; /* NULL: it is a capture, nothing to convert */
    const char *unit;     /* of progress */
    const char *doc;
};
const struct ws_import_format *ws_import_formats(size_t *count);
const struct ws_import_format *ws_import_find(const char *name);

/* The format of a file by its first bytes. What is none of ours counts as a capture, whose reader will say so; but for
 * reports that another program must export first *hint is one line, else "". */
const struct ws_import_format *ws_import_recognise(const char *path, const char **hint);

ws_importer ws_import_ncu;
/* The same of text[length]; path is for the session's name. */
int ws_import_ncu_text(const char *text, size_t length, const char *path, FILE *out, struct ws_progress *progress,
                       struct ws_import_note *note, char *message, size_t cap);
ws_importer ws_import_nsys;

#endif
