/* SPDX-License-Identifier: MIT
 * cmd_import.c: `warpsight import FILE…`: capture files into the database, each whole or not at all. */
#include "cli.h"
#include "cmd.h"
#include "handover.h"
#include "paths.h"

#include <inttypes.h>
#include <stdio.h>

static const struct ws_option options[] = {{NULL, 0, NULL, NULL}};

static int import(struct ws_handover *h, const char *path)
{
    struct ws_import done;
    int status = ws_handover_file(h, path, &done);
    if (status != WS_EXIT_OK)
        return status;
    if (done.known_session != 0)
        printf("%s: already imported as session %" PRId64 "; nothing is added twice\n", path, done.known_session);
    if (done.session != 0)
        printf("%s: session %" PRId64 ", %" PRIu64 " launches\n", path, done.session, done.count.launches);
    if (done.count.lost_frames > 0)
        (void)ws_cli_failed("import", "%s: %" PRIu64 " frame%s of records %s lost (damaged, cut off or missing)", path,
                            done.count.lost_frames, done.count.lost_frames == 1 ? "" : "s",
                            done.count.lost_frames == 1 ? "is" : "are");
    if (done.unknown > 0)
        (void)ws_cli_failed("import", "%s: %u segments of another version of WarpSight are skipped", path,
                            (unsigned)done.unknown);
    return WS_EXIT_OK;
}

/* The files, in order; one that fails does not keep the others out. */
static int import_all(struct ws_cli *cli)
{
    struct ws_cli again = *cli;
    struct ws_handover *h = NULL;
    char db[WS_PATH_MAX];
    const char *path;
    int status;
    if (ws_path_db(db) != 0)
        return ws_cli_failed("import", "no place for the database: set WARPSIGHT_DB or HOME");
    status = ws_handover_open("import", db, &h);
    if (status != WS_EXIT_OK)
        return status;
    while (ws_cli_next(&again, &path) == WS_CLI_OPERAND) {
        int one = import(h, path);
        if (one != WS_EXIT_OK)
            status = one;
    }
    ws_handover_close(h);
    return status;
}

int ws_cmd_import(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "FILE…",
                         .about =
                             "Read captures (.wscap) that `warpsight run -o` or `warpsight export --format capture` "
                             "wrote. A truncated capture gives what is whole and says what was lost. While a daemon "
                             "holds the database, it takes the file.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct ws_cli start = cli;
    const char *value;
    unsigned files = 0;
    int found;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        files++;
    }
    if (files == 0)
        return ws_cli_usage_error("import", "no file given");
    return import_all(&start);
}
