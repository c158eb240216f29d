/* SPDX-License-Identifier: MIT
 * http_rules.c: the checks of a request's head, in the order in which their answers are owed:
 * shape, Host, Origin, Sec-Fetch-Site, path, method, token, write header, parameters.
 * Whoever reaches us through another site's page or name must learn nothing, not even which paths exist:
 * so those checks stand before the path. Comparing Host with Origin would be no check: under DNS
 * rebinding both are the attacker's name. Both are held against a fixed list. */
#include "http_rules.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool refuse(struct ws_http_verdict *v, int status, const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Always false, so that a check can end with it. */
static bool refuse(struct ws_http_verdict *v, int status, const char *code, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    v->status = status;
    v->code = code;
    v->hint = hint;
    vsnprintf(v->message, sizeof v->message, format, args);
    va_end(args);
    return false;
}

/* --- headers --- */

/* What a header without a value has. Longer than any fixed prefix that is looked for in one. */
static const char no_value[16] = "";

/* The i-th value (from 0) of a header, or NULL. */
static const char *header(const struct ws_http_head *head, const char *name, size_t i)
{
    for (size_t k = 0; k < head->count; k++)
        if (strcasecmp(head->headers[k].name, name) == 0 && i-- == 0)
            return head->headers[k].value ? head->headers[k].value : no_value;
    return NULL;
}

static bool is_read(const struct ws_http_head *head)
{
    return strcmp(head->method, "GET") == 0 || strcmp(head->method, "HEAD") == 0;
}

static bool check_shape(const struct ws_http_head *head, struct ws_http_verdict *v)
{
    size_t bytes = 0;
    if (strlen(head->target) > WS_HTTP_TARGET_MAX)
        return refuse(v, 414, "target_too_long", "", "the URL has more than %d bytes", WS_HTTP_TARGET_MAX);
    for (size_t i = 0; i < head->count; i++)
        bytes += strlen(head->headers[i].name) + (head->headers[i].value ? strlen(head->headers[i].value) : 0);
    if (bytes > WS_HTTP_HEADERS_MAX)
        return refuse(v, 431, "headers_too_large", "", "the headers have more than %d bytes", WS_HTTP_HEADERS_MAX);
    /* Two ways to say where the body ends: what one reader sees as a body, another sees as a request. */
    if (header(head, "Content-Length", 1) ||
        (header(head, "Content-Length", 0) && header(head, "Transfer-Encoding", 0)))
        return refuse(v, 400, "bad_length", "", "the length of the body is said twice");
    return true;
}

/* --- where it comes from --- */

/* A whole decimal port of 1 to 5 digits. */
static bool port_is(const char *text, uint16_t port)
{
    size_t n = strspn(text, "0123456789");
    return n >= 1 && n <= 5 && text[n] == 0 && strtol(text, NULL, 10) == port;
}

/* How much of host[:port] is the host, a trailing dot not counted. */
static size_t host_length(const char *text, size_t *behind)
{
    size_t n = text[0] == '[' ? strcspn(text, "]") : strcspn(text, ":");
    if (text[0] == '[' && text[n] == ']')
        n++;
    *behind = n;
    return n > 1 && text[n - 1] == '.' ? n - 1 : n;
}

/* default_port: what no port at all means; 0 = any. */
static bool host_matches(const struct ws_http_policy *policy, const char *text, uint16_t default_port)
{
    size_t behind;
    size_t n = host_length(text, &behind);
    bool known = false;
    for (size_t i = 0; i < policy->host_count; i++)
        known |= strlen(policy->hosts[i]) == n && strncasecmp(policy->hosts[i], text, n) == 0;
    if (!known)
        return false;
    if (text[behind] == 0)
        return default_port == 0 || default_port == policy->port;
    return text[behind] == ':' && port_is(text + behind + 1, policy->port);
}

bool ws_http_host_allowed(const struct ws_http_policy *policy, const char *host)
{
    return host_matches(policy, host, 0);
}

static bool check_host(const struct ws_http_head *head, const struct ws_http_policy *policy, struct ws_http_verdict *v)
{
    const char *host = header(head, "Host", 0);
    if (!host || header(head, "Host", 1))
        return refuse(v, 403, "bad_host", "", "a request must have one Host header");
    if (!ws_http_host_allowed(policy, host))
        return refuse(v, 403, "bad_host",
                      "open http://127.0.0.1 with the daemon's port, or start it with --allow-host NAME",
                      "this daemon does not answer under that host name");
    return true;
}

static bool check_origin(const struct ws_http_head *head, const struct ws_http_policy *policy,
                         struct ws_http_verdict *v)
{
    const char *origin;
    for (size_t i = 0; (origin = header(head, "Origin", i)) != NULL; i++)
        if (strncmp(origin, "http://", 7) != 0 || !host_matches(policy, origin + 7, 80))
            return refuse(v, 403, "bad_origin", "", "requests from pages of other sites are not answered");
    return true;
}

static bool header_is(const struct ws_http_head *head, const char *name, const char *value)
{
    const char *got = header(head, name, 0);
    return got && strcmp(got, value) == 0 && !header(head, name, 1);
}

/* The page may be opened by a link on another site: it holds no data. */
static bool is_page_visit(const struct ws_http_head *head, const struct ws_route *route)
{
    return route && route->access == WS_ACCESS_PAGE && is_read(head) && header_is(head, "Sec-Fetch-Mode", "navigate") &&
           header_is(head, "Sec-Fetch-Dest", "document");
}

static bool check_fetch_site(const struct ws_http_head *head, const struct ws_route *route, struct ws_http_verdict *v)
{
    const char *site;
    for (size_t i = 0; (site = header(head, "Sec-Fetch-Site", i)) != NULL; i++)
        if (strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 && !is_page_visit(head, route))
            return refuse(v, 403, "cross_site", "", "requests from other sites are not answered");
    return true;
}

/* --- the target --- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode [from, end) to at, a NUL behind it. Returns the place behind the NUL, or NULL: a broken escape, or
 * a control character (NUL would cut the text, a line end could split a header or a log line). */
static char *decode(char *at, const char *from, const char *end, bool plus_is_blank)
{
    while (from < end) {
        unsigned char c = (unsigned char)*from++;
        if (c == '%') {
            int high = end - from >= 2 ? hex_digit(from[0]) : -1;
            int low = high >= 0 ? hex_digit(from[1]) : -1;
            if (low < 0)
                return NULL;
            c = (unsigned char)(high * 16 + low);
            from += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        if (c < 0x20 || c == 0x7f)
            return NULL;
        *at++ = (char)c;
    }
    *at++ = 0;
    return at;
}

/* Decode the path. An escaped slash or backslash, and the steps "." and "..", are never part of a path of
 * ours: *odd is then set, and the path is unknown. */
static char *decode_path(struct ws_http_request *rq, const char *from, const char *end, bool *odd)
{
    char *behind = decode(rq->text, from, end, false);
    size_t slashes = 0;
    if (!behind)
        return NULL;
    for (const char *s = from; s < end; s++)
        slashes += *s == '/';
    for (const char *s = rq->text; *s; s++) {
        if (*s == '/') {
            size_t n = strcspn(s + 1, "/");
            slashes--;
            *odd |= (n == 1 && s[1] == '.') || (n == 2 && s[1] == '.' && s[2] == '.') || (n == 0 && s[1] == '/');
        }
        *odd |= *s == '\\';
    }
    *odd |= slashes != 0;
    return behind;
}

/* Split name=value&… into rq->params. False: broken, or too many. */
static bool decode_query(struct ws_http_request *rq, char *at, const char *query)
{
    while (*query) {
        size_t n = strcspn(query, "&");
        size_t name = strcspn(query, "=&");
        struct ws_http_param *p = &rq->params[rq->param_count];
        if (n > 0) {
            if (rq->param_count == WS_HTTP_PARAMS_MAX)
                return false;
            p->name = at;
            at = decode(at, query, query + name, true);
            if (!at)
                return false;
            p->value = at;
            at = decode(at, query + name + (name < n), query + n, true);
            if (!at)
                return false;
            rq->param_count++;
        }
        query += n + (query[n] == '&');
    }
    return true;
}

/* text[] has room for it: decoded, a text is no longer than its source, and each NUL stands for a separator,
 * but for "a&" (a NUL more a pair, and of those there are at most WS_HTTP_PARAMS_MAX) and the last one. */
static bool parse_target(const char *target, struct ws_http_request *rq, bool *odd)
{
    const char *query = strchr(target, '?');
    const char *end = query ? query : target + strlen(target);
    char *behind;
    for (const char *s = target; *s; s++)
        if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f)
            return false;
    if (target[0] != '/')
        return false;
    behind = decode_path(rq, target, end, odd);
    return behind && decode_query(rq, behind, query ? query + 1 : end);
}

/* --- route and method --- */

/* The route of path and method; *any is one of the path alone; allow lists the methods of the path. */
static const struct ws_route *find_route(const char *path, const char *method, int64_t ids[WS_ROUTE_IDS],
                                         const struct ws_route **any, char allow[64])
{
    size_t count;
    const struct ws_route *routes = ws_routes(&count);
    const struct ws_route *found = NULL;
    const char *want = strcmp(method, "HEAD") == 0 ? "GET" : method;
    size_t n = 0;
    *any = NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t got[WS_ROUTE_IDS];
        if (!ws_route_fits(&routes[i], path, got))
            continue;
        *any = &routes[i];
        memcpy(ids, got, sizeof got);
        if (n < 48)
            n += (size_t)snprintf(allow + n, 64 - n, "%s%s", n ? ", " : "",
                                  strcmp(routes[i].method, "GET") == 0 ? "GET, HEAD" : routes[i].method);
        if (strcmp(routes[i].method, want) == 0)
            found = &routes[i];
    }
    return found;
}

/* --- token --- */

bool ws_http_token_equal(const char *a, const char *b)
{
    size_t n = strlen(a);
    volatile unsigned char differs = 0;
    if (n != strlen(b))
        return false;
    for (size_t i = 0; i < n; i++)
        differs = (unsigned char)(differs | (a[i] ^ b[i]));
    return differs == 0;
}

void ws_http_cookie_name(uint16_t port, char out[24])
{
    snprintf(out, 24, "warpsight_%u", (unsigned)port);
}

/* Whether text starts with a token that ends where the token must. */
static bool token_at(const char *token, const char *text, size_t length)
{
    char got[WS_TOKEN_CHARS + 1];
    if (length != WS_TOKEN_CHARS)
        return false;
    memcpy(got, text, length);
    got[length] = 0;
    return ws_http_token_equal(token, got);
}

static bool cookie_has_token(const char *cookies, const char *name, const char *token)
{
    size_t n = strlen(name);
    while (*cookies) {
        size_t pair;
        cookies += strspn(cookies, "; ");
        pair = strcspn(cookies, ";");
        if (pair > n && strncmp(cookies, name, n) == 0 && cookies[n] == '=' &&
            token_at(token, cookies + n + 1, pair - n - 1))
            return true;
        cookies += pair;
    }
    return false;
}

static bool has_token(const struct ws_http_head *head, const struct ws_http_policy *policy)
{
    char name[24];
    const char *text;
    if (!policy->token)
        return true;
    text = header(head, "Authorization", 0);
    if (text && strncasecmp(text, "Bearer ", 7) == 0)
        return token_at(policy->token, text + 7, strlen(text + 7));
    ws_http_cookie_name(policy->port, name);
    for (size_t i = 0; (text = header(head, "Cookie", i)) != NULL; i++)
        if (cookie_has_token(text, name, policy->token))
            return true;
    return false;
}

/* The target without its token, otherwise byte for byte; it cannot leave this host, for it starts with one slash.
 * Pairs are counted as decode_query() counted them: "%74oken" is a token, too, and would lead here again. */
static void strip_token(const struct ws_http_request *rq, const char *target, char out[WS_HTTP_TARGET_MAX + 1])
{
    const char *query = strchr(target, '?');
    size_t n = query ? (size_t)(query - target) : strlen(target);
    size_t param = 0;
    char mark = '?';
    memcpy(out, target, n);
    for (const char *s = query ? query + 1 : target + n; *s;) {
        size_t pair = strcspn(s, "&");
        if (pair > 0 && strcmp(rq->params[param++].name, "token") != 0) {
            out[n++] = mark;
            memcpy(out + n, s, pair);
            n += pair;
            mark = '&';
        }
        s += pair + (s[pair] == '&');
    }
    out[n] = 0;
}

static bool check_token(const struct ws_http_head *head, const struct ws_http_policy *policy,
                        struct ws_http_request *rq, struct ws_http_verdict *v)
{
    const char *given = rq->route->access == WS_ACCESS_PAGE ? ws_http_param(rq, "token") : NULL;
    rq->has_token = has_token(head, policy);
    if (given && policy->token && !ws_http_token_equal(policy->token, given))
        return refuse(v, 401, "bad_token", "open the URL that `warpsight serve` printed", "the token is wrong");
    if (given) {
        v->status = 303;
        strip_token(rq, head->target, v->location);
        return false;
    }
    if (rq->route->access == WS_ACCESS_TOKEN && !rq->has_token)
        return refuse(v, 401, "token_needed",
                      "open the URL that `warpsight serve` printed, or send Authorization: Bearer TOKEN",
                      "this needs the daemon's token");
    return true;
}

/* --- body and parameters --- */

static bool check_body(const struct ws_http_head *head, struct ws_http_verdict *v)
{
    const char *length = header(head, "Content-Length", 0);
    const char *type = header(head, "Content-Type", 0);
    bool has_body = header(head, "Transfer-Encoding", 0) || (length && strcmp(length, "0") != 0);
    size_t n = type ? strcspn(type, "; ") : 0;
    if (is_read(head))
        return !has_body || refuse(v, 400, "unexpected_body", "", "this request takes no body");
    if (!header_is(head, "X-WarpSight", "1"))
        return refuse(v, 403, "write_header_needed", "send the header X-WarpSight: 1",
                      "a request that changes something must say that it means it");
    if (has_body && !(n == 16 && strncasecmp(type, "application/json", n) == 0))
        return refuse(v, 415, "bad_content_type", "send Content-Type: application/json", "the body must be JSON");
    if (length && (strspn(length, "0123456789") != strlen(length) || strlen(length) > 9 ||
                   strtol(length, NULL, 10) > WS_HTTP_BODY_MAX))
        return refuse(v, 413, "body_too_large", "", "the body has more than %d bytes", WS_HTTP_BODY_MAX);
    return true;
}

static bool check_params(struct ws_http_request *rq, struct ws_http_verdict *v)
{
    if (rq->route->access == WS_ACCESS_PAGE)
        return true;
    for (size_t i = 0; i < rq->param_count; i++) {
        const char *name = rq->params[i].name;
        if (!ws_route_has_param(rq->route, name))
            return refuse(v, 400, "unknown_parameter", *rq->route->params ? rq->route->params : "it takes none",
                          "unknown parameter '%.60s'", name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(rq->params[k].name, name) == 0)
                return refuse(v, 400, "bad_parameter", "", "parameter '%.60s' is given twice", name);
    }
    return true;
}

/* --- all of it --- */

static bool judge(const struct ws_http_head *head, const struct ws_http_policy *policy, struct ws_http_request *rq,
                  struct ws_http_verdict *v)
{
    const struct ws_route *any = NULL;
    bool odd = false;
    bool whole;
    if (!check_shape(head, v) || !check_host(head, policy, v))
        return false;
    whole = parse_target(head->target, rq, &odd);
    if (whole && !odd)
        rq->route = find_route(rq->text, head->method, rq->ids, &any, v->allow);
    if (!check_origin(head, policy, v) || !check_fetch_site(head, rq->route, v))
        return false;
    if (!whole)
        return refuse(v, 400, "bad_target", "", "the URL is not well-formed");
    if (!any)
        return refuse(v, 404, "not_found", "`warpsight list routes` lists what there is",
                      "there is nothing at this path");
    if (!rq->route)
        return refuse(v, 405, "method_not_allowed", v->allow, "this path does not take %.20s", head->method);
    return check_token(head, policy, rq, v) && check_body(head, v) && check_params(rq, v);
}

void ws_http_decide(const struct ws_http_head *head, const struct ws_http_policy *policy,
                    struct ws_http_request *request, struct ws_http_verdict *verdict)
{
    request->route = NULL;
    request->target = head->target;
    request->param_count = 0;
    request->has_token = false;
    request->is_head = strcmp(head->method, "HEAD") == 0;
    request->if_none_match = header(head, "If-None-Match", 0);
    memset(request->ids, 0, sizeof request->ids);
    request->text[0] = 0;
    verdict->status = 0;
    verdict->code = verdict->hint = "";
    verdict->message[0] = verdict->allow[0] = verdict->location[0] = 0;
    judge(head, policy, request, verdict);
    if (verdict->status != 405)
        verdict->allow[0] = 0;
}

const char *ws_http_param(const struct ws_http_request *request, const char *name)
{
    for (size_t i = 0; i < request->param_count; i++)
        if (strcmp(request->params[i].name, name) == 0)
            return request->params[i].value;
    return NULL;
}

bool ws_http_etag_matches(const char *if_none_match, const char *etag)
{
    size_t n = strlen(etag);
    while (*if_none_match) {
        if_none_match += strspn(if_none_match, ", \t");
        if (*if_none_match == '*')
            return true;
        if (strncmp(if_none_match, "W/", 2) == 0)
            if_none_match += 2;
        if (strncmp(if_none_match, etag, n) == 0 && strchr(", \t", if_none_match[n]))
            return true;
        if_none_match += strcspn(if_none_match, ",");
    }
    return false;
}
