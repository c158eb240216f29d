/* SPDX-License-Identifier: MIT
 * routes.h: routes.def as a table: look-up of a path, the OpenAPI text.
 * Who may call a route is decided in http_rules.h; what it answers is in api_<noun>.c. */
#ifndef WS_SERVER_ROUTES_H
#define WS_SERVER_ROUTES_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ws_access { WS_ACCESS_PAGE, WS_ACCESS_OPEN, WS_ACCESS_TOKEN };

struct ws_call;
typedef void ws_handler(struct ws_call *call);

struct ws_route {
    const char *method;
    const char *path;
    enum ws_access access;
    ws_handler *handler;
    const char *params; /* names, blank-separated */
    const char *type;   /* media type of a good answer */
    const char *name;   /* of the handler */
    const char *doc;
};

/* All routes, in the order of routes.def. */
const struct ws_route *ws_routes(size_t *count);

enum { WS_ROUTE_IDS = 2 };

/* Whether a decoded, absolute path fits a route's; ids are then set (0 where the route has none).
 * A number is 1 to 15 digits, so it is below 2^53. */
bool ws_route_fits(const struct ws_route *route, const char *path, int64_t ids[WS_ROUTE_IDS]);

/* Whether blank-separated names hold name. */
bool ws_route_has_param(const struct ws_route *route, const char *name);

/* OpenAPI 3.1 of all /api/ routes, /healthz and /metrics. */
void ws_routes_openapi(struct ws_json *j);

#endif
