/* SPDX-License-Identifier: MIT
 * export.h: a session as a file. One format is one file export_<format>.c and one row of the table in
 * cmd_export.c. */
#ifndef WS_SERVER_EXPORT_H
#define WS_SERVER_EXPORT_H

#include "report.h"
#include "store.h"

#include <stdio.h>

/* What a format is made from. */
struct ws_export {
    struct ws_store *store;
    const struct ws_session *session;
    FILE *out;        /* formats that write bytes */
    const char *path; /* formats that make a file of their own (out is NULL then) */
    char *message;    /* [cap] one line when the result is not 0; "" = the error's own text */
    size_t cap;
};

/* Returns 0 or -WS_E…. Write errors of out are the caller's to find (ferror). */
typedef int ws_export_function(const struct ws_export *e);

struct ws_format {
    const char *name;
    ws_export_function *write;
    bool is_binary; /* not for a terminal */
    bool is_whole;  /* has the whole session: --kernel is not for it */
    bool is_file;   /* makes its file itself: a path is needed */
    const char *doc;
};
/* The table of cmd_export.c, which the HTTP API uses, too. The format of a name, or NULL. */
const struct ws_format *ws_export_formats(size_t *count);
const struct ws_format *ws_export_find(const char *name);

/* Longest path of a file to write. */
#define WS_EXPORT_PATH_MAX 4096

ws_export_function ws_export_csv;
ws_export_function ws_export_json;
ws_export_function ws_export_markdown;
ws_export_function ws_export_chrome_trace;
ws_export_function ws_export_pprof;
ws_export_function ws_export_capture;
ws_export_function ws_export_sqlite;
ws_export_function ws_export_samples_csv;
ws_export_function ws_export_roofline_csv;
ws_export_function ws_export_roofline_json;
ws_export_function ws_export_roofline_svg;
ws_export_function ws_export_roofline_gnuplot;

/* The last columns of a CSV file with counts: of a modelled kernel of which a part of the blocks ran, how many of how
 * many (a launch), and half the 95 % interval / the count that is known worst; else empty. */
#define WS_CSV_SAMPLED ",sampled_blocks,sampled_of,sampled_interval"
void ws_csv_sampled(FILE *out, const struct ws_kernel *kernel);

/* The capture of a session: segments of wire.h, one agent after another; importing it into an empty database
 * gives the same report.
 *   errors  of the store (ws_store_message); -WS_ENOMEM; -WS_EIO when out cannot be written */
int ws_export_capture_to(struct ws_store *store, int64_t session_id, FILE *out);

#endif
