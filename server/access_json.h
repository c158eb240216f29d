/* SPDX-License-Identifier: MIT
 * access_json.h: a regular access pattern and its costs as JSON: `warpsight access --json` and /api/v1/access. */
#ifndef WS_SERVER_ACCESS_JSON_H
#define WS_SERVER_ACCESS_JSON_H

#include "json.h"

#include "../analyzer/access.h"

#include <stdbool.h>

/* What a caller may leave out: rows and planes lie packed. */
void ws_access_fill_defaults(struct ws_pattern *pattern, bool has_pitch, bool has_plane);

/* The pattern, totals of the block, a line per warp, and the lanes of one warp (addresses in bytes from the first
 * element; null: no such lane). */
void ws_access_json(struct ws_json *j, const struct ws_pattern *pattern, const struct ws_access_report *report,
                    uint32_t warp);

#endif
