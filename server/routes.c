/* SPDX-License-Identifier: MIT
 * routes.c: the table of routes.def, and what is printed from it. */
#include "routes.h"

#include "api.h"
#include "cli.h"
#include "lists.h"
#include "version.h"

#include <ctype.h>
#include <string.h>

static const struct ws_route routes[] = {
#define WS_ROUTE(method, path, access, handler, params, type, doc) \
    {method, path, WS_ACCESS_##access, ws_api_##handler, params, type, #handler, doc},
#include "routes.def"
};

struct param {
    const char *name, *type, *doc;
};
static const struct param params[] = {
#define WS_PARAM(name, type, doc) {name, type, doc},
#include "routes.def"
};

const struct ws_route *ws_routes(size_t *count)
{
    *count = sizeof routes / sizeof routes[0];
    return routes;
}

/* A number of at most 15 digits at *at; *at is then behind it. */
static bool take_number(const char **at, int64_t *out)
{
    int64_t v = 0;
    int digits = 0;
    const char *s = *at;
    for (; isdigit((unsigned char)*s) && digits < 16; s++, digits++)
        v = v * 10 + (*s - '0');
    if (digits == 0 || digits > 15)
        return false;
    *at = s;
    *out = v;
    return true;
}

bool ws_route_fits(const struct ws_route *route, const char *path, int64_t ids[WS_ROUTE_IDS])
{
    const char *p = route->path;
    int n = 0;
    memset(ids, 0, WS_ROUTE_IDS * sizeof *ids);
    while (*p) {
        if (*p == '{') {
            if (n == WS_ROUTE_IDS || !take_number(&path, &ids[n++]))
                return false;
            p = strchr(p, '}') + 1;
        } else if (strcmp(p, "/*") == 0) {
            return *path == 0 || *path == '/';
        } else if (*p++ != *path++) {
            return false;
        }
    }
    return *path == 0;
}

/* Length of the first name in a blank-separated list, leading blanks skipped; 0 = no more. */
static size_t next_name(const char **list)
{
    *list += strspn(*list, " ");
    return strcspn(*list, " ");
}

bool ws_route_has_param(const struct ws_route *route, const char *name)
{
    const char *at = route->params;
    for (size_t n; (n = next_name(&at)) > 0; at += n)
        if (strlen(name) == n && memcmp(at, name, n) == 0)
            return true;
    return false;
}

static int print_json(void)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    ws_json_object(&j);
    ws_json_key(&j, "routes");
    ws_json_array(&j);
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct ws_route *r = &routes[i];
        ws_json_object_line(&j);
        ws_json_put_text(&j, "method", r->method);
        ws_json_put_text(&j, "path", r->path);
        ws_json_put_text(&j, "parameters", r->params);
        ws_json_put_text(&j, "type", r->type);
        ws_json_put_text(&j, "doc", r->doc);
        ws_json_end(&j);
    }
    ws_json_end(&j);
    ws_json_end(&j);
    return WS_EXIT_OK;
}

int ws_list_routes(bool as_json)
{
    if (as_json)
        return print_json();
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct ws_route *r = &routes[i];
        printf("%-6s %s\n    %s%s%s\n", r->method, r->path, r->doc, *r->params ? "; parameters: " : "", r->params);
    }
    return WS_EXIT_OK;
}

/* --- OpenAPI --- */

static void parameter(struct ws_json *j, const char *name, const char *in, const char *type, const char *doc)
{
    ws_json_object(j);
    ws_json_put_text(j, "name", name);
    ws_json_put_text(j, "in", in);
    if (strcmp(in, "path") == 0)
        ws_json_put_bool(j, "required", true);
    ws_json_put_text(j, "description", doc);
    ws_json_key(j, "schema");
    ws_json_object_line(j);
    ws_json_put_text(j, "type", type);
    ws_json_end(j);
    ws_json_end(j);
}

static void parameters(struct ws_json *j, const struct ws_route *r)
{
    const char *at = r->params;
    ws_json_key(j, "parameters");
    ws_json_array(j);
    if (strstr(r->path, "{id}"))
        parameter(j, "id", "path", "integer", "session");
    if (strstr(r->path, "{kid}"))
        parameter(j, "kid", "path", "integer", "kernel");
    for (size_t n; (n = next_name(&at)) > 0; at += n)
        for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
            if (strlen(params[i].name) == n && memcmp(params[i].name, at, n) == 0)
                parameter(j, params[i].name, "query", params[i].type, params[i].doc);
    ws_json_end(j);
}

static void response(struct ws_json *j, const char *status, const char *doc, const char *type, const char *schema)
{
    ws_json_key(j, status);
    ws_json_object(j);
    ws_json_put_text(j, "description", doc);
    if (*type) {
        ws_json_key(j, "content");
        ws_json_object(j);
        ws_json_key(j, type);
        ws_json_object(j);
        if (schema) {
            ws_json_key(j, "schema");
            ws_json_object_line(j);
            ws_json_put_text(j, "$ref", schema);
            ws_json_end(j);
        }
        ws_json_end(j);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void operation(struct ws_json *j, const struct ws_route *r)
{
    char method[8];
    size_t n = 0;
    for (; r->method[n] && n + 1 < sizeof method; n++)
        method[n] = (char)tolower((unsigned char)r->method[n]);
    method[n] = 0;
    ws_json_key(j, method);
    ws_json_object(j);
    ws_json_put_text(j, "operationId", r->name);
    ws_json_put_text(j, "summary", r->doc);
    parameters(j, r);
    ws_json_key(j, "responses");
    ws_json_object(j);
    response(j, *r->type ? "200" : "204", *r->type ? r->doc : "done", r->type, NULL);
    response(j, "default", "what went wrong", "application/json", "#/components/schemas/error");
    ws_json_end(j);
    if (r->access != WS_ACCESS_TOKEN) {
        ws_json_key(j, "security"); /* none needed: overrides the document's */
        ws_json_array(j);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void error_schema(struct ws_json *j)
{
    static const char *const members[] = {"code", "message", "hint", "request_id"};
    ws_json_key(j, "error");
    ws_json_object(j);
    ws_json_put_text(j, "type", "object");
    ws_json_key(j, "properties");
    ws_json_object(j);
    ws_json_key(j, "error");
    ws_json_object(j);
    ws_json_put_text(j, "type", "object");
    ws_json_key(j, "properties");
    ws_json_object(j);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        ws_json_key(j, members[i]);
        ws_json_object_line(j);
        ws_json_put_text(j, "type", "string");
        ws_json_end(j);
    }
    for (int i = 0; i < 4; i++)
        ws_json_end(j);
}

static void components(struct ws_json *j)
{
    ws_json_key(j, "components");
    ws_json_object(j);
    ws_json_key(j, "securitySchemes");
    ws_json_object(j);
    ws_json_key(j, "token");
    ws_json_object_line(j);
    ws_json_put_text(j, "type", "http");
    ws_json_put_text(j, "scheme", "bearer");
    ws_json_end(j);
    ws_json_end(j);
    ws_json_key(j, "schemas");
    ws_json_object(j);
    error_schema(j);
    ws_json_end(j);
    ws_json_end(j);
    ws_json_key(j, "security");
    ws_json_array(j);
    ws_json_object(j);
    ws_json_key(j, "token");
    ws_json_array(j);
    ws_json_end(j);
    ws_json_end(j);
    ws_json_end(j);
}

void ws_routes_openapi(struct ws_json *j)
{
    size_t count;
    const struct ws_route *r = ws_routes(&count);
    ws_json_object(j);
    ws_json_put_text(j, "openapi", "3.1.0");
    ws_json_key(j, "info");
    ws_json_object(j);
    ws_json_put_text(j, "title", "WarpSight");
    ws_json_put_text(j, "version", WS_VERSION);
    ws_json_put_text(j, "description", "Shapes of the answers: docs/api.md");
    ws_json_end(j);
    ws_json_key(j, "paths");
    ws_json_object(j);
    for (size_t i = 0; i < count; i++) {
        if (r[i].access == WS_ACCESS_PAGE)
            continue;
        ws_json_key(j, r[i].path);
        ws_json_object(j);
        operation(j, &r[i]);
        while (i + 1 < count && strcmp(r[i].path, r[i + 1].path) == 0)
            operation(j, &r[++i]);
        ws_json_end(j);
    }
    ws_json_end(j);
    components(j);
    ws_json_end(j);
}
