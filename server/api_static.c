/* SPDX-License-Identifier: MIT
 * api_static.c: the page and its two files. They hold no data, so they need no token. */
#include "api.h"
#include "assets.h"

#include <string.h>

static void answer_asset(struct ws_call *call, const struct ws_asset *a)
{
    const char *v = ws_http_param(call->request, "v");
    bool names_content = v && strcmp(v, a->hash) == 0 && call->request->route->access == WS_ACCESS_OPEN;
    call->cache = names_content ? WS_CACHE_FOREVER : WS_CACHE_ASK;
    snprintf(call->etag, sizeof call->etag, "\"%s\"", a->hash);
    if (call->request->if_none_match && ws_http_etag_matches(call->request->if_none_match, call->etag)) {
        call->status = 304;
        return;
    }
    call->lent = a->data;
    call->lent_bytes = a->size;
}

static void answer_file(struct ws_call *call, enum ws_asset_id id)
{
    const struct ws_asset *a = ws_asset_get(id);
    if (a->size == 0)
        ws_call_fail(call, 404, "not_built", "run make web, then make", "this program was built without its page");
    else
        answer_asset(call, a);
}

void ws_api_page(struct ws_call *call)
{
    answer_asset(call, ws_asset_page());
}

void ws_api_script(struct ws_call *call)
{
    answer_file(call, WS_ASSET_JS);
}

void ws_api_style(struct ws_call *call)
{
    answer_file(call, WS_ASSET_CSS);
}
