/* SPDX-License-Identifier: MIT
 * cmd_import.c: `warpsight import [--format FORMAT] FILE…`: captures and files of other profilers into the database,
 * each whole or not at all. What is no capture is made one first (import.h). */
#include "cli.h"
#include "cmd.h"
#include "handover.h"
#include "import.h"
#include "paths.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const struct ws_option options[] = {
    {"format", 'f', "FORMAT", "what the files are; without it each file's content tells"},
    {NULL, 0, NULL, NULL},
};
enum { OPT_FORMAT };

static void tell(const char *name, const struct ws_import *done, uint64_t launches, const char *what)
{
    struct ws_arena arena = {NULL};
    const char *path = ws_text_tame(&arena, name);
    if (done->known_session != 0)
        printf("%s: already imported as session %" PRId64 "; nothing is added twice\n", path, done->known_session);
    if (done->session != 0)
        printf("%s: session %" PRId64 ", %" PRIu64 " launches%s\n", path, done->session, launches, what);
    if (done->count.lost_frames > 0)
        (void)ws_cli_failed("import", "%s: %" PRIu64 " frame%s of records %s lost (damaged, cut off or missing)", path,
                            done->count.lost_frames, done->count.lost_frames == 1 ? "" : "s",
                            done->count.lost_frames == 1 ? "is" : "are");
    if (done->unknown > 0)
        (void)ws_cli_failed("import", "%s: %u segments of another version of WarpSight are skipped", path,
                            (unsigned)done->unknown);
    ws_arena_fini(&arena);
}

static int import_capture(struct ws_handover *h, const char *path)
{
    struct ws_import done = {.session = 0};
    int status = ws_handover_file(h, path, &done);
    if (status == WS_EXIT_OK)
        tell(path, &done, done.count.launches, "");
    return status;
}

/* The capture that was made, by way of memory that is the file's own pages. */
static int hand_over(struct ws_handover *h, const char *path, FILE *made, struct ws_import *done)
{
    long size = ftell(made);
    void *bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fileno(made), 0) : MAP_FAILED;
    int status;
    if (bytes == MAP_FAILED)
        return ws_cli_failed("import", "%s: cannot read the temporary file: %s", path, strerror(errno));
    status = ws_handover_bytes(h, path, bytes, (size_t)size, done);
    munmap(bytes, (size_t)size);
    return status;
}

static int import_foreign(struct ws_handover *h, const char *path, const struct ws_import_format *format)
{
    char message[400] = "", what[160];
    struct ws_import_note note;
    struct ws_progress progress;
    struct ws_import done = {.session = 0};
    FILE *made = tmpfile();
    int err, status;
    if (!made)
        return ws_cli_failed("import", "%s: cannot make a temporary file: %s", path, strerror(errno));
    ws_progress_begin(&progress, path, format->unit, false);
    err = format->convert(path, made, &progress, &note, message, sizeof message);
    ws_progress_end(&progress);
    if (err != 0)
        status = ws_cli_failed("import", "%s: %s", path, message);
    else
        status = hand_over(h, path, made, &done);
    fclose(made);
    if (status != WS_EXIT_OK)
        return status;
    snprintf(what, sizeof what, ", imported (%s)", format->name);
    tell(path, &done, note.launches, what);
    if (note.left_out > 0 && done.session != 0)
        printf("%s: %" PRIu64 " rows or cells were left out: not what WarpSight keeps\n", path, note.left_out);
    return WS_EXIT_OK;
}

static int import(struct ws_handover *h, const char *path, const struct ws_import_format *format)
{
    const char *hint = "";
    if (!format)
        format = ws_import_recognise(path, &hint);
    if (*hint)
        return ws_cli_failed("import", "%s: %s", path, hint);
    return format->convert ? import_foreign(h, path, format) : import_capture(h, path);
}

/* The files, in order; one that fails does not keep the others out. */
static int import_all(struct ws_cli *cli, const struct ws_import_format *format)
{
    struct ws_cli again = *cli;
    struct ws_handover *h = NULL;
    char db[WS_PATH_MAX];
    const char *value;
    int found;
    int status;
    if (ws_path_db(db) != 0)
        return ws_cli_failed("import", "no place for the database: set WARPSIGHT_DB or HOME");
    status = ws_handover_open("import", db, &h);
    if (status != WS_EXIT_OK)
        return status;
    while ((found = ws_cli_next(&again, &value)) != WS_CLI_END) {
        int one = found == WS_CLI_OPERAND ? import(h, value, format) : WS_EXIT_OK;
        if (one != WS_EXIT_OK)
            status = one;
    }
    ws_handover_close(h);
    return status;
}

/* "capture, ncu-csv, …" with each in a line of its own, or in one. */
static void list_formats(char *out, size_t cap, bool with_words)
{
    size_t count;
    const struct ws_import_format *formats = ws_import_formats(&count);
    size_t used = strlen(out);
    for (size_t i = 0; i < count && used < cap; i++)
        used += (size_t)(with_words ? snprintf(out + used, cap - used, "\n  %-12s %s", formats[i].name, formats[i].doc)
                                    : snprintf(out + used, cap - used, "%s%s", i ? ", " : "", formats[i].name));
}

int ws_cmd_import(int argc, char **argv)
{
    char about[1024] =
        "Read captures, which `warpsight run -o` or `warpsight export --format capture` wrote, and files "
        "of other profilers, which become sessions marked as imported. A truncated capture gives what "
        "is whole and says what was lost; a foreign file is read whole or not at all. While a daemon "
        "holds the database, it takes the file.\nFormats:";
    struct ws_cli cli = {
        .usage = "[--format FORMAT] FILE…", .about = about, .options = options, .argc = argc, .argv = argv};
    struct ws_cli start = cli;
    const struct ws_import_format *format = NULL;
    const char *value;
    unsigned files = 0;
    int found;
    list_formats(about, sizeof about, true);
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        char names[128] = "";
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found == OPT_FORMAT) {
            format = ws_import_find(value);
            list_formats(names, sizeof names, false);
            if (!format)
                return ws_cli_usage_error("import", "unknown format '%s'; there is: %s", value, names);
        } else {
            files++;
        }
    }
    if (files == 0)
        return ws_cli_usage_error("import", "no file given");
    return import_all(&start, format);
}
