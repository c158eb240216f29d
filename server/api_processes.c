/* SPDX-License-Identifier: MIT
 * api_processes.c: processes: those of a session beside each other; and those that run now, which can be told to start,
 * stop or flush (the same files as `warpsight ctl` uses). */
#include "../analyzer/err.h"
#include "api.h"
#include "by_process.h"
#include "ctl.h"
#include "session_cache.h"

#include <cjson/cJSON.h>
#include <string.h>

void ws_api_processes(struct ws_call *call)
{
    const struct ws_cached *c;
    struct ws_by_process all;
    struct ws_store *store;
    struct ws_json *j;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL ||
        !ws_call_session(call, call->request->ids[0], &c))
        return;
    err = ws_by_process_load(store, c->session, &all);
    if (err == 0) {
        j = ws_call_json(call);
        ws_json_object(j);
        ws_json_put_int(j, "session", c->session->row.id);
        ws_by_process_json(j, &all);
        ws_json_end(j);
    } else {
        ws_call_fail_store(call, err);
    }
    ws_by_process_free(&all);
    ws_session_cache_give(c);
}

/* --- those that run --- */

static void put_running(struct ws_json *j, const struct ws_ctl_process *p)
{
    ws_json_object(j);
    ws_ctl_put_process(j, p);
    ws_json_put_text(j, "reason", p->was_told ? p->reason : "start");
    ws_report_json_time(j, "since", p->was_told ? p->since_ns : p->started_ns);
    ws_report_json_time(j, "until", p->until_ns);
    ws_json_end(j);
}

static int put_one(void *state, const struct ws_ctl_process *p)
{
    put_running(state, p);
    return 0;
}

void ws_api_running(struct ws_call *call)
{
    struct ws_json *j = ws_call_json(call);
    ws_json_object(j);
    ws_json_key(j, "processes");
    ws_json_array(j);
    if (ws_ctl_each(call->daemon->spool, put_one, j) != 0) {
        ws_call_fail(call, 500, "spool_unusable", "see the daemon's log", "the spool folder cannot be read");
        return;
    }
    ws_json_end(j);
    ws_json_end(j);
}

struct wanted {
    const char *agent;
    struct ws_ctl_process process;
    bool is_found;
};

static int find_one(void *state, const struct ws_ctl_process *p)
{
    struct wanted *w = state;
    if (strcmp(p->agent_id, w->agent) != 0)
        return 0;
    w->process = *p;
    w->is_found = true;
    return 1;
}

static const char *text_of(const cJSON *body, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* What the body asks for. False: the answer is 400 already. */
static bool read_command(struct ws_call *call, const cJSON *body, struct ws_control_command *command)
{
    const char *verb = text_of(body, "do");
    const char *set = text_of(body, "set");
    const cJSON *duration = cJSON_GetObjectItemCaseSensitive(body, "duration_ms");
    command->verb = ws_control_verb_find(verb ? verb : "");
    if (command->verb == WS_CONTROL_VERBS) {
        ws_call_fail(call, 400, "bad_command", "", "do must be start, stop, flush or status");
        return false;
    }
    if (duration) {
        if (!cJSON_IsNumber(duration) || !(duration->valuedouble >= 1 && duration->valuedouble <= 3.6e6 * 24 * 365)) {
            ws_call_fail(call, 400, "bad_duration", "", "duration_ms must be a number of milliseconds");
            return false;
        }
        command->duration_ms = (int64_t)duration->valuedouble;
    }
    if (set && command->verb == WS_CONTROL_START) {
        command->change[0].name = "WARPSIGHT_SET";
        command->change[0].value = set;
        command->change_count = 1;
    }
    return true;
}

static void tell(struct ws_call *call, struct wanted *w, struct ws_control_command *command)
{
    char answer[WS_CONTROL_TEXT] = "";
    char message[600] = "";
    int err = ws_ctl_ask(&w->process, command, answer, sizeof answer, message, sizeof message);
    struct ws_json *j;
    if (err != 0) {
        ws_call_fail(call,
                     err == -WS_ENOENT   ? 404
                     : err == -WS_EINVAL ? 422
                                         : 503,
                     err == -WS_ENOENT   ? "process_not_found"
                     : err == -WS_EINVAL ? "command_refused"
                                         : "no_answer",
                     "", "%s", message);
        return;
    }
    (void)ws_ctl_each(call->daemon->spool, find_one, w);
    j = ws_call_json(call);
    ws_json_object(j);
    ws_json_put_text(j, "answer", answer);
    ws_json_key(j, "process");
    put_running(j, &w->process);
    ws_json_end(j);
}

void ws_api_control(struct ws_call *call)
{
    struct ws_control_command command = {.verb = WS_CONTROL_STATUS};
    cJSON *body = cJSON_Parse(call->body);
    struct wanted w = {.agent = text_of(body, "agent")};
    if (!w.agent) {
        ws_call_fail(call, 400, "bad_json", "{\"agent\": \"…\", \"do\": \"start\"}", "the body names no process");
    } else if (read_command(call, body, &command)) {
        (void)ws_ctl_each(call->daemon->spool, find_one, &w);
        if (w.is_found)
            tell(call, &w, &command);
        else
            ws_call_fail(call, 404, "process_not_found", "it has ended, perhaps", "no such process runs");
    }
    cJSON_Delete(body);
}
