/* SPDX-License-Identifier: MIT
 * kernel_source.h: what is known of a kernel's instructions, and the lines of its source: PC samples of its own session
 * (`run --stalls pc`), and counts of instructions of this or a like session (the SIMT model's).
 * One definition for the API, `report --source` and pprof. Files are read only if a line table of the kernel names
 * them.
 * Read on: line_table.h (places of SASS), sass.h (its text), source_text.h (files), kernel_source_text.c (print). */
#ifndef WS_SERVER_KERNEL_SOURCE_H
#define WS_SERVER_KERNEL_SOURCE_H

#include "../analyzer/stalls.h"
#include "json.h"
#include "report.h"
#include "source_text.h"
#include "store.h"

struct ws_source_file {
    const char *path;
    uint32_t first, last; /* lines with facts */
};

/* One instruction of SASS. */
struct ws_source_sample {
    uint64_t cubin, pc;
    const char *sass; /* NULL: no text of it */
    int64_t file;     /* index into files, -1: no line is known */
    uint32_t line;
    int64_t call_file; /* where that line was inlined, -1: it was not */
    uint32_t call_line;
    struct ws_samples samples; /* all 0: it was never hit */
};

struct ws_kernel_source {
    struct ws_arena arena;
    struct ws_source_file *files; /* [file_count] */
    size_t file_count, file_cap;
    struct ws_source_sample *samples; /* [sample_count], by cubin and pc; none: the kernel has no PC samples */
    size_t sample_count, sample_cap;
    struct ws_samples total;
    const char *sass_why;  /* why there is no text of SASS, NULL = there is */
    const char *lines_why; /* why no place has a line, NULL = some have */
};

/* PC samples of a kernel's function, with places and, if wanted, text. No samples: 0, and sample_count 0.
 *   mangled  its name
 *   errors   of the store; -WS_ENOMEM. Free with ws_kernel_source_fini also then */
int ws_kernel_source_load(struct ws_store *store, int64_t session_id, int64_t kernel_id, const char *mangled,
                          bool wants_sass, struct ws_kernel_source *out);
/* Place of a file in the list, added when new, -1 for NULL or line 0; the line counts as one with facts. -WS_ENOMEM */
int ws_kernel_source_place(struct ws_kernel_source *source, const char *path, uint32_t line, int64_t *place);
void ws_kernel_source_fini(struct ws_kernel_source *source);

/* Lines by their samples, the hottest first: free() *out. */
struct ws_source_line {
    int64_t file; /* -1: of instructions without a line */
    uint32_t line;
    struct ws_samples samples;
    uint64_t all; /* ws_samples_all of them */
};
int ws_kernel_source_lines(const struct ws_kernel_source *source, struct ws_source_line **out, size_t *count);

/* Members of an object: from, instructions, launches, samples, files. errors: of the store, -WS_ENOMEM. */
int ws_kernel_source_json(struct ws_json *j, struct ws_store *store, const struct ws_kernel_row *kernel,
                          int64_t session_id);

/* The same as an object, with session and kernel: what the API answers. */
int ws_kernel_source_answer(struct ws_json *j, struct ws_store *store, const struct ws_kernel_row *kernel,
                            int64_t session_id);

/* The hottest lines of one kernel for people. top 0: all.
 *   errors  -WS_ENOENT it has no PC samples; of the store; -WS_ENOMEM */
int ws_kernel_source_text(struct ws_store *store, const struct ws_session *session, size_t kernel, size_t top,
                          FILE *out);

#endif
