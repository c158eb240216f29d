/* SPDX-License-Identifier: MIT
 * export_roofline_json.c: points, ceilings and ridges as JSON: the answer of /api/v1/sessions/{id}/roofline. */
#include "api.h"
#include "export.h"

int ws_export_roofline_json(const struct ws_export *e)
{
    struct ws_json json = {.out = e->out, .pretty = true};
    return ws_api_put_roofline(&json, e->session);
}
