/* SPDX-License-Identifier: MIT
 * cmd_push.c: `warpsight push URL [SESSION…]`: sessions of this machine into a database that many machines share.
 * Read on: push.h; push_schema.sql, docs/fleet.md (what is there then). */
#include "../analyzer/err.h"
#include "cli.h"
#include "cmd.h"
#include "push.h"
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct ws_option options[] = {{NULL, 0, NULL, NULL}};

static const char about[] =
    "Copies sessions into PostgreSQL, or an engine that speaks its protocol: kernels, metrics, roofline points and "
    "findings, in the schema warpsight, which is made where it is missing. What is there already is not sent again; a "
    "push that was interrupted is taken up by the next one. SESSION left out = all.\n"
    "The password belongs into PGPASSWORD or ~/.pgpass: a command line is seen by others.";

struct ids {
    int64_t *id;
    size_t count, cap;
};

static int keep(struct ids *ids, int64_t id)
{
    if (ids->count == ids->cap) {
        size_t cap = ids->cap ? ids->cap * 2 : 256;
        int64_t *grown = realloc(ids->id, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        ids->id = grown;
        ids->cap = cap;
    }
    ids->id[ids->count++] = id;
    return 0;
}

static int keep_row(void *state, const struct ws_session_row *row)
{
    return keep(state, row->id);
}

/* The sessions that the rest of the command line names; all for none. */
static int find_sessions(struct ws_cli *cli, struct ws_store *store, struct ids *ids)
{
    const char *word;
    int64_t id;
    bool is_named = false;
    while (ws_cli_next(cli, &word) == WS_CLI_OPERAND) {
        int status = ws_reader_find("push", store, word, &id);
        is_named = true;
        if (status != WS_EXIT_OK)
            return status;
        if (keep(ids, id) != 0)
            return ws_cli_failed("push", "%s", ws_err_text(-WS_ENOMEM));
    }
    if (!is_named && ws_store_each_session(store, keep_row, ids) != 0)
        return ws_cli_failed("push", "%s", ws_store_message(store));
    return WS_EXIT_OK;
}

static int push(const char *url, struct ws_store *store, const struct ids *ids)
{
    struct ws_push *target = NULL;
    struct ws_progress progress;
    const struct ws_push_count *n;
    char message[600] = "";
    int err = ws_push_open(url, &target, message, sizeof message);
    if (err == -WS_EINVAL)
        return ws_cli_usage_error("push", "%s", message);
    if (err != 0)
        return ws_cli_failed("push", "%s", *message ? message : ws_err_text(err));
    ws_progress_begin(&progress, "push", "sessions", false);
    err = ws_push_sessions(target, store, ids->id, ids->count, &progress, message, sizeof message);
    ws_progress_end(&progress);
    n = ws_push_counted(target);
    printf("%" PRIu64 " session%s added, %" PRIu64 " replaced, %" PRIu64 " there already; %" PRIu64 " kernels, %" PRIu64
           " metric values\n",
           n->added, n->added == 1 ? "" : "s", n->replaced, n->known, n->kernels, n->metrics);
    ws_push_close(target);
    if (err != 0)
        return ws_cli_failed("push", "%s; what is not counted is not there: push again", message);
    return WS_EXIT_OK;
}

int ws_cmd_push(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "postgres://USER@HOST/DATABASE [SESSION…]",
                         .about = about,
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct ws_cli rest;
    struct ws_store *store = NULL;
    struct ids ids = {.count = 0};
    const char *url = NULL;
    const char *value;
    int found;
    int status;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (!url) {
            url = value;
            rest = cli;
        }
    }
    if (!url)
        return ws_cli_usage_error("push", "say where to: warpsight push postgres://user@host/database");
    status = ws_reader_open("push", &store);
    if (status == WS_EXIT_OK)
        status = find_sessions(&rest, store, &ids);
    if (status == WS_EXIT_OK)
        status = push(url, store, &ids);
    free(ids.id);
    ws_store_close(store);
    return status;
}
