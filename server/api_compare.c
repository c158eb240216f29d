/* SPDX-License-Identifier: MIT
 * api_compare.c: GET /compare: two sessions, kernel by kernel (compare.h). */
#include "../analyzer/err.h"
#include "api.h"
#include "compare.h"

static void put_comparison(struct ws_call *call, const struct ws_comparison *c, const bool *wanted)
{
    struct ws_json *j = ws_call_json(call);
    ws_json_object(j);
    ws_json_key(j, "base");
    ws_api_put_session(j, call->daemon, &c->base->session->row, c->base->session);
    ws_json_key(j, "target");
    ws_api_put_session(j, call->daemon, &c->target->session->row, c->target->session);
    ws_json_key(j, "kernels");
    ws_json_array(j);
    for (size_t i = 0; i < c->count; i++) {
        ws_json_object(j);
        ws_compare_json_pair(j, c, &c->pairs[i], wanted);
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_json_end(j);
}

static void compare(struct ws_call *call, const struct ws_cached *base, const struct ws_cached *target,
                    const bool *wanted)
{
    struct ws_store *store = ws_call_store(call);
    struct ws_comparison c;
    int err;
    if (!store)
        return;
    err = ws_compare(store, base, target, &c);
    if (err == 0)
        put_comparison(call, &c, wanted);
    else
        ws_call_fail_store(call, err);
    ws_compare_free(&c);
}

void ws_api_compare(struct ws_call *call)
{
    const struct ws_cached *base = NULL;
    const struct ws_cached *target = NULL;
    bool wanted[WS_METRIC_COUNT] = {false};
    bool all = false;
    int64_t base_id = 0;
    int64_t target_id = 0;
    if (ws_call_unchanged(call) || !ws_call_int(call, "base", 1, 1ll << 53, &base_id) ||
        !ws_call_int(call, "target", 1, 1ll << 53, &target_id) || !ws_call_metrics(call, "", wanted, &all))
        return;
    if (base_id == 0 || target_id == 0) {
        ws_call_fail(call, 400, "bad_parameter", "", "base and target must both be given");
        return;
    }
    if (!ws_call_session(call, base_id, &base))
        return;
    if (ws_call_session(call, target_id, &target)) {
        compare(call, base, target, all ? NULL : wanted);
        ws_session_cache_give(target);
    }
    ws_session_cache_give(base);
}
