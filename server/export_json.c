/* SPDX-License-Identifier: MIT
 * export_json.c: the report as JSON: what `report --json` prints. */
#include "export.h"

int ws_export_json(const struct ws_export *e)
{
    struct ws_json json = {.out = e->out, .pretty = true};
    return ws_report_json(e->session, &json);
}
