/* SPDX-License-Identifier: MIT
 * api_source.c: what is known of a kernel's instructions, and the lines of its source (kernel_source.h).
 * Files are read only if a line table of the kernel names them. */
#include "../analyzer/err.h"
#include "api.h"
#include "kernel_source.h"
#include "session_cache.h"

#include <stdlib.h>
#include <string.h>

/* The kernel's row, its name copied: the cache may drop the session. */
static bool find_kernel(const struct ws_cached *c, int64_t kernel_id, struct ws_kernel_row *row, char **mangled)
{
    for (size_t i = 0; i < c->session->kernel_count; i++)
        if (c->session->kernels[i].row.id == kernel_id) {
            *row = c->session->kernels[i].row;
            *mangled = strdup(row->mangled);
            row->mangled = *mangled;
            return true;
        }
    return false;
}

/* No ETag: files and other sessions change without this one. */
void ws_api_source(struct ws_call *call)
{
    const struct ws_cached *c;
    struct ws_kernel_row row;
    struct ws_store *store;
    char *mangled = NULL;
    bool found;
    int err = 0;
    call->cache = WS_CACHE_NEVER;
    if (!ws_call_session(call, call->request->ids[0], &c))
        return;
    found = find_kernel(c, call->request->ids[1], &row, &mangled);
    ws_session_cache_give(c);
    if (!found)
        ws_call_fail(call, 404, "kernel_not_found", "the session's kernels are at …/kernels",
                     "there is no such kernel in this session");
    else if (!mangled)
        ws_call_fail_store(call, -WS_ENOMEM);
    else if ((store = ws_call_store(call)) != NULL)
        err = ws_kernel_source_answer(ws_call_json(call), store, &row, call->request->ids[0]);
    if (err != 0)
        ws_call_fail_store(call, err);
    free(mangled);
}
