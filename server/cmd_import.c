/* SPDX-License-Identifier: MIT
 * cmd_import.c: `warpsight import FILE…`: capture files into the database, each whole or not at all. */
#include "../analyzer/err.h"
#include "cli.h"
#include "cmd.h"
#include "ingest.h"
#include "paths.h"

#include <inttypes.h>
#include <stdio.h>

static const struct ws_option options[] = {{NULL, 0, NULL, NULL}};

#define MESSAGE 600

static int import(struct ws_store *store, const char *path)
{
    struct ws_import done;
    char message[MESSAGE];
    int err = ws_ingest_file(store, path, &done, message, sizeof message);
    if (err != 0)
        return ws_cli_failed("import", "%s", message);
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
    struct ws_store *store = NULL;
    char db[WS_PATH_MAX];
    char message[MESSAGE];
    const char *path;
    int status = WS_EXIT_OK;
    if (ws_path_db(db) != 0)
        return ws_cli_failed("import", "no place for the database: set WARPSIGHT_DB or HOME");
    if (ws_store_open(&store, db, WS_STORE_WRITE | WS_STORE_WAIT | WS_STORE_MOVE_CORRUPT, message, sizeof message) != 0)
        return ws_cli_failed("import", "%s", message);
    while (ws_cli_next(&again, &path) == WS_CLI_OPERAND) {
        int one = import(store, path);
        if (one != WS_EXIT_OK)
            status = one;
    }
    ws_store_close(store);
    return status;
}

int ws_cmd_import(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "FILE…",
                         .about =
                             "Read captures (.wscap) that `warpsight run -o` or `warpsight export --format capture` "
                             "wrote. A truncated capture gives what is whole and says what was lost.",
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
