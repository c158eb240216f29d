/* SPDX-License-Identifier: MIT
 * cmd_baseline.c: `warpsight baseline set NAME [SESSION] | list | remove NAME`. Read on: baselines.h. */
#include "../analyzer/err.h"
#include "baselines.h"
#include "cli.h"
#include "cmd.h"
#include "json.h"
#include "paths.h"
#include "reader.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "baseline"
#define MESSAGE 600

static const struct ws_option options[] = {{"json", 0, NULL, "list: as JSON"}, {NULL, 0, NULL, NULL}};

static const char about[] = "Names for sessions to compare with: `baseline set main 12`, then `diff main`. A name "
                            "stays with its session until it "
                            "is set anew or removed. SESSION left out = the newest.";

/* --- set and remove --- */

struct found {
    int64_t id;
    char token[WS_BASELINE_TOKEN];
    char name[120]; /* of the session, for the answer */
};

static int keep_token(void *state, const struct ws_session_row *row)
{
    struct found *f = state;
    if (row->id == f->id) {
        snprintf(f->token, sizeof f->token, "%s", row->token);
        snprintf(f->name, sizeof f->name, "%s", row->name);
    }
    return 0;
}

static int set(const char *db, struct ws_store *store, const char *name, const char *session)
{
    struct found f = {.id = 0};
    char message[MESSAGE];
    int status;
    if (!ws_baseline_is_name(name))
        return ws_cli_usage_error(COMMAND, "'%s' is no name: a letter, then letters, digits and . _ - /, 64 at most",
                                  name);
    status = ws_reader_find(COMMAND, store, session, &f.id);
    if (status != WS_EXIT_OK)
        return status;
    if (ws_store_each_session(store, keep_token, &f) != 0)
        return ws_cli_failed(COMMAND, "%s", ws_store_message(store));
    if (ws_baselines_set(db, name, f.token, message, sizeof message) != 0)
        return ws_cli_failed(COMMAND, "%s", message);
    printf("%s is session %" PRId64 "%s%s\n", name, f.id, *f.name ? ", " : "", f.name);
    return WS_EXIT_OK;
}

static int remove_one(const char *db, const char *name)
{
    char message[MESSAGE];
    int err = ws_baselines_set(db, name, NULL, message, sizeof message);
    if (err == -WS_ENOENT)
        return ws_cli_failed(COMMAND, "there is no baseline '%s'; see: warpsight baseline list", name);
    return err == 0 ? WS_EXIT_OK : ws_cli_failed(COMMAND, "%s", message);
}

/* --- list --- */

struct listing {
    const struct ws_baselines *all;
    struct ws_table *table; /* NULL: JSON */
    struct ws_json *json;
    bool seen[WS_BASELINES_MAX];
};

static void put(struct listing *l, const char *name, const struct ws_session_row *row)
{
    if (l->table) {
        ws_table_add(l->table, name);
        ws_table_printf(l->table, row ? "%" PRId64 : "-", row ? row->id : 0);
        ws_table_add(l->table, row ? row->name : "(deleted)");
        return;
    }
    ws_json_object_line(l->json);
    ws_json_put_text(l->json, "name", name);
    if (row) {
        ws_json_put_int(l->json, "session", row->id);
        ws_json_put_text(l->json, "session_name", row->name);
    } else {
        ws_json_put_null(l->json, "session");
    }
    ws_json_end(l->json);
}

static int put_session(void *state, const struct ws_session_row *row)
{
    struct listing *l = state;
    for (size_t i = 0; i < l->all->count; i++)
        if (strcmp(l->all->item[i].token, row->token) == 0) {
            put(l, l->all->item[i].name, row);
            l->seen[i] = true;
        }
    return 0;
}

static int put_all(struct ws_store *store, struct listing *l)
{
    int err = ws_store_each_session(store, put_session, l);
    for (size_t i = 0; err == 0 && i < l->all->count; i++)
        if (!l->seen[i])
            put(l, l->all->item[i].name, NULL);
    return err == 0 ? WS_EXIT_OK : ws_cli_failed(COMMAND, "%s", ws_store_message(store));
}

static int list(const char *db, struct ws_store *store, bool as_json)
{
    static const char *const titles[] = {"baseline", "session", "name"};
    struct ws_baselines all;
    struct ws_json json = {.out = stdout, .pretty = true};
    struct ws_table table;
    struct ws_text_out t;
    struct listing l = {.all = &all, .json = &json, .table = as_json ? NULL : &table};
    char message[MESSAGE];
    int status;
    if (ws_baselines_load(db, &all, message, sizeof message) != 0)
        return ws_cli_failed(COMMAND, "%s", message);
    if (as_json) {
        ws_json_object(&json);
        ws_json_key(&json, "baselines");
        ws_json_array(&json);
        status = put_all(store, &l);
        ws_json_end(&json);
        ws_json_end(&json);
        putchar('\n');
        return status;
    }
    if (all.count == 0) {
        printf("no baseline is set: warpsight baseline set NAME [SESSION]\n");
        return WS_EXIT_OK;
    }
    ws_table_init(&table, "lrl");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        ws_table_add(&table, titles[i]);
    status = put_all(store, &l);
    ws_text_init(&t, stdout);
    ws_table_print(&table, &t);
    return status;
}

/* --- command line --- */

struct request {
    const char *word[3]; /* what to do, its name, its session */
    size_t words;
    bool json;
};

static int check(const struct request *r)
{
    static const struct {
        const char *what;
        size_t least, most;
    } forms[] = {{"set", 2, 3}, {"list", 1, 1}, {"remove", 2, 2}};
    if (r->words == 0)
        return ws_cli_usage_error(COMMAND, "say what: set NAME [SESSION], list, or remove NAME");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(r->word[0], forms[i].what) != 0)
            continue;
        if (r->words < forms[i].least)
            return ws_cli_usage_error(COMMAND, "%s which baseline?", forms[i].what);
        if (r->words > forms[i].most)
            return ws_cli_usage_error(COMMAND, "'%s' is one word too many for %s", r->word[forms[i].most],
                                      forms[i].what);
        return WS_EXIT_OK;
    }
    return ws_cli_usage_error(COMMAND, "'%s' is none of set, list, remove", r->word[0]);
}

static int carry_out(const struct request *r)
{
    const char *what = r->word[0] ? r->word[0] : "";
    struct ws_store *store = NULL;
    char db[WS_PATH_MAX];
    int status;
    if (ws_path_db(db) != 0)
        return ws_cli_failed(COMMAND, "no place for the database: set WARPSIGHT_DB or HOME");
    if (strcmp(what, "remove") == 0)
        return remove_one(db, r->word[1]);
    status = ws_reader_open(COMMAND, &store);
    if (status == WS_EXIT_OK)
        status = strcmp(what, "set") == 0 ? set(db, store, r->word[1], r->word[2]) : list(db, store, r->json);
    ws_store_close(store);
    return status;
}

int ws_cmd_baseline(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "set NAME [SESSION] | list [--json] | remove NAME",
                         .about = about,
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct request r = {.words = 0};
    const char *value;
    int found;
    int status;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found != WS_CLI_OPERAND)
            r.json = true;
        else if (r.words < sizeof r.word / sizeof r.word[0])
            r.word[r.words++] = value;
        else
            return ws_cli_usage_error(COMMAND, "'%s' is one word too many", value);
    }
    status = check(&r);
    return status == WS_EXIT_OK ? carry_out(&r) : status;
}
