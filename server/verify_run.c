/* SPDX-License-Identifier: MIT
 * verify_run.c: every reference kernel and host program under the collector. Which there are, warpsight-kernels says.
 */
#include "verify_run.h"

#include "cli.h"
#include "reference.h"
#include "verify.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "kernels-verify"
/* The first launch of each kernel is replayed for its counters; the others are timed undisturbed. */
#define REPEAT "4"
/* A kernel of 1000 threads: whether there is a GPU at all. */
#define SMALLEST "K02"

static int list_of(const char *command, const char *program, cJSON **list)
{
    char *arguments[] = {WS_REFERENCE_PROGRAM, "list", "--json", NULL};
    char *text = NULL;
    int ended = 0;
    int status = ws_reference_run(command, program, arguments, false, NULL, &text, &ended);
    *list = text ? cJSON_Parse(text) : NULL;
    free(text);
    if (status == WS_EXIT_OK && (ended != 0 || !*list))
        status = ws_cli_failed(command, "%s does not list its kernels", program);
    return status;
}

static int find_gpu(const char *command, const char *program)
{
    char *arguments[] = {WS_REFERENCE_PROGRAM, "run", SMALLEST, NULL};
    char *text = NULL;
    int ended = 0;
    int status = ws_reference_run(command, program, arguments, true, NULL, &text, &ended);
    free(text);
    if (status == WS_EXIT_OK && ended == WS_REFERENCE_NO_GPU)
        status = ws_cli_failed(command, "there is no GPU here: name a session that was recorded on one");
    return status;
}

static int keep(struct ws_verify_runs *runs, const char *name)
{
    const char *copy = ws_arena_text(&runs->arena, name);
    if (!copy || runs->count == WS_VERIFY_RUNS)
        return WS_EXIT_FAILED;
    runs->names[runs->count++] = copy;
    return WS_EXIT_OK;
}

static int run_kernels(const char *command, char *program, struct ws_verify_runs *runs)
{
    char *arguments[] = {"warpsight", "run",      "--set", "full", "--require-kernels", "--name", NAME, program,
                         "all",       "--repeat", REPEAT,  NULL};
    int ended = 0;
    int status = ws_reference_profile(command, arguments, &ended);
    if (status != WS_EXIT_OK)
        return status;
    if (ended != 0)
        return ws_cli_failed(command, "the reference kernels did not run to a good end (exit status %d)", ended);
    return keep(runs, NAME) == WS_EXIT_OK ? WS_EXIT_OK : ws_cli_failed(command, "out of memory");
}

/* A program may fail on purpose (H8): its session is judged all the same. */
static int run_program(const char *command, char *program, char *variant, bool with_counters,
                       struct ws_verify_runs *runs)
{
    char name[96];
    char *sets = with_counters ? "core,memory,throughput,api" : "trace,api";
    char *arguments[] = {"warpsight", "run", "--set", sets, "--name", name, program, "run", variant, NULL};
    int ended = 0;
    int status;
    snprintf(name, sizeof name, NAME "-%.60s%s", variant, with_counters ? "-counters" : "");
    status = ws_reference_profile(command, arguments, &ended);
    if (status == WS_EXIT_OK && ended >= 125 && ended <= 127)
        status = ws_cli_failed(command, "%s %s could not be started", WS_REFERENCE_PROGRAM, variant);
    if (status == WS_EXIT_OK && keep(runs, name) != WS_EXIT_OK)
        status = ws_cli_failed(command, "out of memory, or more than %d programs", WS_VERIFY_RUNS);
    return status;
}

static int run_programs(const char *command, char *program, const cJSON *list, struct ws_verify_runs *runs)
{
    const cJSON *file, *variant;
    int status = WS_EXIT_OK;
    cJSON_ArrayForEach(file, cJSON_GetObjectItemCaseSensitive(list, "kernels"))
    {
        const cJSON *kind = cJSON_GetObjectItemCaseSensitive(file, "kind");
        if (!cJSON_IsString(kind) || strcmp(kind->valuestring, "program") != 0)
            continue;
        cJSON_ArrayForEach(variant, cJSON_GetObjectItemCaseSensitive(file, "variants"))
        {
            /* Twice: counters bend the timeline of a program with few launches, and without them some lines are open.
             */
            for (int with_counters = 0; with_counters < 2 && status == WS_EXIT_OK && cJSON_IsString(variant);
                 with_counters++)
                status = run_program(command, program, variant->valuestring, with_counters != 0, runs);
        }
    }
    return status;
}

int ws_verify_run(const char *command, struct ws_verify_runs *runs)
{
    char program[WS_REFERENCE_PATH];
    cJSON *list = NULL;
    int status = ws_reference_find(command, program);
    if (status == WS_EXIT_OK)
        status = find_gpu(command, program);
    if (status == WS_EXIT_OK)
        status = list_of(command, program, &list);
    if (status == WS_EXIT_OK)
        status = run_kernels(command, program, runs);
    if (status == WS_EXIT_OK)
        status = run_programs(command, program, list, runs);
    cJSON_Delete(list);
    return status;
}

void ws_verify_runs_fini(struct ws_verify_runs *runs)
{
    ws_arena_fini(&runs->arena);
    runs->count = 0;
}
