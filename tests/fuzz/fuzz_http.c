/* SPDX-License-Identifier: MIT
 * fuzz_http.c: any request head at all, judged (libFuzzer; `make fuzz`). Lines: method, target, headers.
 * What must hold of every verdict is checked by other means than the rules use. */
#include "../../server/http_rules.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(claim)                                    \
    do {                                               \
        if (!(claim)) {                                \
            fprintf(stderr, "not true: %s\n", #claim); \
            abort();                                   \
        }                                              \
    } while (0)

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
enum { HEADERS = 40 };

/* Cut the next line off; NULL when there is none. */
static char *next_line(char **at)
{
    char *line = *at;
    char *end = line ? strchr(line, '\n') : NULL;
    if (end)
        *end = 0;
    *at = end ? end + 1 : NULL;
    return line;
}

static size_t count_headers(const struct ws_http_head *head, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < head->count; i++)
        n += strcasecmp(head->headers[i].name, name) == 0;
    return n;
}

static bool is_clean(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            return false;
    return true;
}

static void check_passed(const struct ws_http_head *head, const struct ws_http_request *rq, bool has_secret)
{
    MUST(rq->route && rq->text[0] == '/' && is_clean(rq->text) && !strstr(rq->text, "/../"));
    MUST(count_headers(head, "Host") == 1 && count_headers(head, "Content-Length") <= 1);
    MUST(rq->route->access != WS_ACCESS_TOKEN || (rq->has_token && has_secret));
    MUST(rq->param_count <= WS_HTTP_PARAMS_MAX);
    for (size_t i = 0; i < rq->param_count; i++) {
        MUST(rq->params[i].value + strlen(rq->params[i].value) < rq->text + sizeof rq->text);
        MUST(is_clean(rq->params[i].name) && is_clean(rq->params[i].value));
        MUST(rq->route->access == WS_ACCESS_PAGE || ws_route_has_param(rq->route, rq->params[i].name));
    }
    if (strcmp(head->method, "GET") != 0 && strcmp(head->method, "HEAD") != 0)
        MUST(count_headers(head, "X-WarpSight") == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    static const struct ws_http_policy policy = {hosts, 3, 7750, TOKEN};
    static struct ws_http_request rq;
    static struct ws_http_verdict v;
    struct ws_http_header headers[HEADERS];
    struct ws_http_head head = {.headers = headers};
    char *text = malloc(size + 1);
    char *at = text;
    char *line;
    bool has_secret;
    MUST(text);
    memcpy(text, data, size);
    text[size] = 0;
    has_secret = strstr(text, TOKEN) != NULL;
    head.method = next_line(&at);
    head.target = next_line(&at);
    for (; head.target && head.count < HEADERS && (line = next_line(&at)) != NULL; head.count++) {
        char *colon = strchr(line, ':');
        headers[head.count].name = line;
        headers[head.count].value = colon ? colon + 1 + (colon[1] == ' ') : NULL;
        if (colon)
            *colon = 0;
    }
    if (head.target) {
        ws_http_decide(&head, &policy, &rq, &v);
        MUST(v.status == 0 || v.status == 303 || (v.status >= 400 && v.status < 500));
        MUST(!strstr(v.message, TOKEN) && !strstr(v.hint, TOKEN));
        if (v.status == 0)
            check_passed(&head, &rq, has_secret);
        MUST(v.status < 400 || (*v.code && *v.message));
        if (v.status == 303) {
            static char location[sizeof v.location];
            MUST(has_secret && v.location[0] == '/' && v.location[1] != '/' && is_clean(v.location));
            /* following it must not lead here again */
            memcpy(location, v.location, sizeof location);
            head.target = location;
            ws_http_decide(&head, &policy, &rq, &v);
            MUST(v.status != 303);
        }
    }
    free(text);
    return 0;
}
