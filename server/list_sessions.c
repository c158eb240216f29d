/* SPDX-License-Identifier: MIT
 * list_sessions.c: `warpsight list sessions`: what is recorded, newest first. */
#include "cli.h"
#include "lists.h"
#include "reader.h"
#include "text.h"

#include <inttypes.h>
#include <time.h>

static int put_json(void *state, const struct ws_session_row *row)
{
    struct ws_json *j = state;
    ws_json_object_line(j);
    ws_report_json_session_members(j, row, NULL);
    ws_report_json_time(j, "ended", row->ended_ns);
    ws_json_put_uint(j, "kernels", row->kernels);
    ws_json_put_uint(j, "launches", row->launches);
    ws_json_put_text(j, "note", row->note);
    ws_json_end(j);
    return 0;
}

static int put_row(void *state, const struct ws_session_row *row)
{
    struct ws_table *table = state;
    char when[32] = "-";
    time_t seconds = (time_t)(row->started_ns / 1000000000);
    struct tm local;
    if (row->started_ns > 0 && localtime_r(&seconds, &local))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    ws_table_printf(table, "%" PRId64, row->id);
    ws_table_add(table, when);
    ws_table_add(table, row->source);
    ws_table_printf(table, "%" PRIu64, row->kernels);
    ws_table_printf(table, "%" PRIu64, row->launches);
    if (row->has_exit)
        ws_table_printf(table, "%" PRId64, row->exit_status);
    else
        ws_table_add(table, "-");
    ws_table_add(table, row->name);
    ws_table_add(table, row->exe);
    return 0;
}

static int print_json(struct ws_store *store)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    int err;
    ws_json_object(&j);
    ws_json_key(&j, "sessions");
    ws_json_array(&j);
    err = ws_store_each_session(store, put_json, &j);
    ws_json_end(&j);
    ws_json_end(&j);
    return err;
}

static int print_table(struct ws_store *store)
{
    static const char *const titles[] = {"id", "started", "source", "kernels", "launches", "exit", "name", "program"};
    struct ws_text_out t;
    struct ws_table table;
    int err;
    ws_text_init(&t, stdout);
    ws_table_init(&table, "rllrrrll");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        ws_table_add(&table, titles[i]);
    err = ws_store_each_session(store, put_row, &table);
    ws_table_print(&table, &t);
    return err;
}

int ws_list_sessions(bool as_json)
{
    struct ws_store *store = NULL;
    int status = ws_reader_open("list", &store);
    if (status == WS_EXIT_OK && (as_json ? print_json(store) : print_table(store)) != 0)
        status = ws_cli_failed("list", "%s", ws_store_message(store));
    ws_store_close(store);
    return status;
}
