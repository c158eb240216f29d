/* SPDX-License-Identifier: MIT
 * http_rules.h: who may ask what: from a request's head to a verdict. Pure: no socket, no clock, no
 * allocation, so that every rule is a unit test and the whole is a fuzz target.
 * The rules and why they stand: docs/api.md, "Rules for every request". Sockets are http.c's. */
#ifndef WS_SERVER_HTTP_RULES_H
#define WS_SERVER_HTTP_RULES_H

#include "routes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_HTTP_TARGET_MAX = 8192,   /* bytes of the request target */
    WS_HTTP_HEADERS_MAX = 16384, /* bytes of all header names and values */
    WS_HTTP_BODY_MAX = 65536,
    WS_HTTP_PARAMS_MAX = 16,
    WS_TOKEN_CHARS = 64, /* 256 bits in hexadecimal */
};

struct ws_http_header {
    const char *name, *value; /* value may be NULL */
};

/* A request before its body. target is as it was sent: nothing decoded. */
struct ws_http_head {
    const char *method, *target;
    const struct ws_http_header *headers;
    size_t count;
};

struct ws_http_policy {
    const char *const *hosts; /* names that Host and Origin may carry, without port; IPv6 in brackets */
    size_t host_count;
    uint16_t port;
    const char *token; /* WS_TOKEN_CHARS, or NULL: none is asked for */
};

struct ws_http_param {
    const char *name, *value; /* decoded, within text[] */
};

/* What a request that passed asks for. */
struct ws_http_request {
    const struct ws_route *route;
    int64_t ids[WS_ROUTE_IDS];
    struct ws_http_param params[WS_HTTP_PARAMS_MAX];
    size_t param_count;
    bool is_head;                                           /* HEAD: answered as GET without the body */
    bool has_token;                                         /* the right one, or none is asked for */
    const char *target;                                     /* as sent, lent from the head */
    const char *if_none_match;                              /* lent from the head, or NULL */
    char text[WS_HTTP_TARGET_MAX + WS_HTTP_PARAMS_MAX + 2]; /* the decoded path, then names and values of params */
};

/* status 0: go on. 303: the token of the URL is right; set the cookie and go to location.
 * Else an error: code is static, message and hint are for people, allow is set with 405. */
struct ws_http_verdict {
    int status;
    const char *code;
    const char *hint;
    char message[160];
    char allow[64];
    char location[WS_HTTP_TARGET_MAX + 1];
};

/* Judge a request's head; *request is whole only if verdict->status is 0 or 303. Nothing is judged by the
 * body but its announced length: http.c counts what arrives. */
void ws_http_decide(const struct ws_http_head *head, const struct ws_http_policy *policy,
                    struct ws_http_request *request, struct ws_http_verdict *verdict);

/* The value of a parameter, or NULL. */
const char *ws_http_param(const struct ws_http_request *request, const char *name);

/* Whether a host[:port] of a Host header is one of the policy's. */
bool ws_http_host_allowed(const struct ws_http_policy *policy, const char *host);

/* Equal in constant time for texts of the same length. */
bool ws_http_token_equal(const char *a, const char *b);

/* "warpsight_PORT": cookies are not told apart by port, so the name must. */
void ws_http_cookie_name(uint16_t port, char out[24]);

/* Whether an If-None-Match value names this entity tag (quotes included), or is "*". */
bool ws_http_etag_matches(const char *if_none_match, const char *etag);

#endif
