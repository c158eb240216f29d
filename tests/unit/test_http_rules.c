/* SPDX-License-Identifier: MIT
 * test_http_rules.c: who may ask what. One table per rule; the order of the checks; hostile targets. */
#include "../../server/http_rules.h"
#include "test.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define WRONG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdee"

static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]", "gpu-box"};
static const struct ws_http_policy policy = {hosts, 4, 7750, TOKEN};
static struct ws_http_request request;
static struct ws_http_verdict verdict;

/* headers: "Name: value" texts, ended by NULL. */
static int ask_with(const struct ws_http_policy *p, const char *method, const char *target, const char *const *headers)
{
    static char names[16][64];
    struct ws_http_header h[16];
    struct ws_http_head head = {method, target, h, 0};
    for (; headers[head.count]; head.count++) {
        const char *colon = strchr(headers[head.count], ':');
        snprintf(names[head.count], sizeof names[0], "%.*s", (int)(colon - headers[head.count]), headers[head.count]);
        h[head.count].name = names[head.count];
        h[head.count].value = colon + 2;
    }
    memset(&request, 0x5a, sizeof request);
    memset(&verdict, 0x5a, sizeof verdict);
    ws_http_decide(&head, p, &request, &verdict);
    return verdict.status;
}

#define ASK(method, target, ...) ask_with(&policy, method, target, (const char *const[]){__VA_ARGS__, NULL})
#define HOST "Host: 127.0.0.1:7750"
#define AUTH "Authorization: Bearer " TOKEN

TEST(host_must_be_on_the_list)
{
    static const struct {
        const char *host;
        int status;
    } cases[] = {
        {"Host: 127.0.0.1:7750", 0},
        {"Host: localhost:7750", 0},
        {"Host: LOCALHOST:7750", 0},
        {"Host: localhost.:7750", 0},
        {"Host: localhost", 0},
        {"Host: [::1]:7750", 0},
        {"Host: [::1]", 0},
        {"Host: gpu-box:7750", 0},
        {"Host: localhost:80", 403},
        {"Host: localhost:77500", 403},
        {"Host: localhost:", 403},
        {"Host: localhost:7750x", 403},
        {"Host: localhost:+7750", 403},
        {"Host: evil.example", 403},
        {"Host: evil.example:7750", 403},
        {"Host: localhost.evil.example:7750", 403},
        {"Host: 127.0.0.1.evil.example:7750", 403},
        {"Host: 127.0.0.1@evil.example", 403},
        {"Host: xlocalhost:7750", 403},
        {"Host: 192.168.0.1:7750", 403},
        {"Host: 0.0.0.0:7750", 403},
        {"Host: [::1", 403},
        {"Host: [::1]x:7750", 403},
        {"Host: ", 403},
        {"Host: .", 403},
        {"Host: :7750", 403},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ASK("GET", "/healthz", cases[i].host) != cases[i].status)
            WS_FAIL("%s: got %d", cases[i].host, verdict.status);
}

TEST(two_or_no_host_headers_are_refused)
{
    CHECK_INT(ASK("GET", "/healthz", HOST, HOST), 403);
    CHECK_INT(ASK("GET", "/healthz", HOST, "Host: evil.example"), 403);
    CHECK_INT(ASK("GET", "/healthz", "Accept: */*"), 403);
    CHECK_STR(verdict.code, "bad_host");
}

TEST(origin_must_be_ours_exactly)
{
    static const struct {
        const char *origin;
        int status;
    } cases[] = {
        {"Origin: http://127.0.0.1:7750", 0},
        {"Origin: http://localhost:7750", 0},
        {"Origin: http://gpu-box:7750", 0},
        {"Origin: http://127.0.0.1", 403},
        {"Origin: http://127.0.0.1:7751", 403},
        {"Origin: https://127.0.0.1:7750", 403},
        {"Origin: http://evil.example", 403},
        {"Origin: http://evil.example:7750", 403},
        {"Origin: http://127.0.0.1:7750.evil.example", 403},
        {"Origin: null", 403},
        {"Origin: ", 403},
        {"Origin: file://", 403},
        {"Origin: http://", 403},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ASK("GET", "/api/v1/catalogue", HOST, AUTH, cases[i].origin) != cases[i].status)
            WS_FAIL("%s: got %d", cases[i].origin, verdict.status);
    CHECK_INT(ASK("GET", "/healthz", HOST, "Origin: http://127.0.0.1:7750", "Origin: http://evil.example"), 403);
}

TEST(other_sites_get_nothing_but_the_page)
{
    static const struct {
        const char *target, *site, *mode, *dest;
        int status;
    } cases[] = {
        {"/api/v1/catalogue", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", 0},
        {"/api/v1/catalogue", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", 0},
        {"/api/v1/catalogue", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script", 403},
        {"/api/v1/catalogue", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", 403},
        {"/api/v1/catalogue", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document",
         403},
        {"/app.js", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script", 403},
        {"/healthz", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", 403},
        {"/metrics", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image", 403},
        {"/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", 0},
        {"/sessions/3", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", 0},
        {"/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe", 403},
        {"/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: document", 403},
        {"/nothing", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", 403},
        {"/", "Sec-Fetch-Site: Same-Origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", 403},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ASK("GET", cases[i].target, HOST, AUTH, cases[i].site, cases[i].mode, cases[i].dest) != cases[i].status)
            WS_FAIL("%s from %s: got %d", cases[i].target, cases[i].site, verdict.status);
}

TEST(whoever_is_refused_by_origin_does_not_learn_which_paths_exist)
{
    CHECK_INT(ASK("GET", "/nothing", "Host: evil.example"), 403);
    CHECK_INT(ASK("GET", "/nothing", HOST, "Origin: http://evil.example"), 403);
    CHECK_INT(ASK("GET", "/nothing", HOST, "Sec-Fetch-Site: cross-site"), 403);
    CHECK_INT(ASK("BREW", "/nothing", HOST, "Sec-Fetch-Site: cross-site"), 403);
}

TEST(checks_come_in_the_order_that_is_promised)
{
    /* each request breaks two rules; the earlier one answers */
    CHECK_INT(ASK("GET", "/api/v1/catalogue?x=1", HOST), 401);
    CHECK_INT(ASK("POST", "/nothing", HOST), 404);
    CHECK_INT(ASK("POST", "/api/v1/catalogue", HOST), 405);
    CHECK_INT(ASK("GET", "/api/v1/catalogue?x=1", HOST, AUTH), 400);
    CHECK_INT(ASK("GET", "/%zz", "Host: evil.example"), 403);
}

TEST(unknown_paths_are_404)
{
    static const char *const targets[] = {"/nothing",
                                          "/api",
                                          "/api/v1",
                                          "/api/v1/",
                                          "/api/v2/catalogue",
                                          "/api/v1/catalogue/",
                                          "/app.jsx",
                                          "/App.js",
                                          "//app.js",
                                          "//evil.example/",
                                          "/./",
                                          "/../app.js",
                                          "/sessions/../../etc/passwd",
                                          "/sessions/%2e%2e/%2e%2e/etc/passwd",
                                          "/sessions/..%2f..%2fetc",
                                          "/sessions/a%2fb",
                                          "/sessions/..\\x",
                                          "/sessions//3",
                                          "/sessionsx"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (ASK("GET", targets[i], HOST, AUTH) != 404)
            WS_FAIL("%s: got %d", targets[i], verdict.status);
}

TEST(malformed_targets_are_400)
{
    static const char *const targets[] = {
        "app.js",
        "http://127.0.0.1:7750/app.js",
        "*",
        "",
        "/app.js%00",
        "/app.js%0d%0aSet-Cookie:x",
        "/%",
        "/%4",
        "/%zz",
        "/app.js?v=%",
        "/app.js?v=%0a",
        "/app.js?v=\x01",
        "/caf\xc3\xa9",
        "/sessions?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1&m=1&n=1&o=1&p=1&q=1"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (ASK("GET", targets[i], HOST, AUTH) != 400)
            WS_FAIL("%s: got %d", targets[i], verdict.status);
}

TEST(wrong_method_is_405_and_says_which_are_right)
{
    CHECK_INT(ASK("POST", "/healthz", HOST), 405);
    CHECK_STR(verdict.allow, "GET, HEAD");
    CHECK_INT(ASK("OPTIONS", "/healthz", HOST), 405);
    CHECK_INT(ASK("TRACE", "/", HOST), 405);
    CHECK_INT(ASK("get", "/", HOST), 405);
    CHECK_INT(ASK("HEAD", "/", HOST), 0);
    CHECK(request.is_head);
    CHECK_STR(verdict.allow, "");
}

TEST(api_needs_the_token_and_page_does_not)
{
    static const struct {
        const char *target, *header;
        int status;
    } cases[] = {
        {"/api/v1/catalogue", "Accept: */*", 401},
        {"/api/v1/catalogue", AUTH, 0},
        {"/api/v1/catalogue", "authorization: bearer " TOKEN, 0},
        {"/api/v1/catalogue", "Authorization: Bearer " WRONG, 401},
        {"/api/v1/catalogue", "Authorization: Bearer ", 401},
        {"/api/v1/catalogue", "Authorization: Bearer " TOKEN "0", 401},
        {"/api/v1/catalogue", "Authorization: Basic " TOKEN, 401},
        {"/api/v1/catalogue", "Authorization: ", 401},
        {"/api/v1/catalogue", "Cookie: warpsight_7750=" TOKEN, 0},
        {"/api/v1/catalogue", "Cookie: a=b; warpsight_7750=" TOKEN "; c=d", 0},
        {"/api/v1/catalogue", "Cookie: warpsight_7750=" WRONG "; warpsight_7750=" TOKEN, 0},
        {"/api/v1/catalogue", "Cookie: warpsight_7751=" TOKEN, 401},
        {"/api/v1/catalogue", "Cookie: xwarpsight_7750=" TOKEN, 401},
        {"/api/v1/catalogue", "Cookie: warpsight_7750=" WRONG, 401},
        {"/api/v1/catalogue", "Cookie: warpsight_7750", 401},
        {"/api/v1/catalogue", "Cookie: warpsight_7750=", 401},
        {"/api/v1/catalogue?token=" TOKEN, "Accept: */*", 401},
        {"/", "Accept: */*", 0},
        {"/sessions/3/kernels", "Accept: */*", 0},
        {"/app.js?v=1", "Accept: */*", 0},
        {"/healthz", "Accept: */*", 0},
        {"/metrics", "Accept: */*", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ASK("GET", cases[i].target, HOST, cases[i].header) != cases[i].status)
            WS_FAIL("%s with %s: got %d", cases[i].target, cases[i].header, verdict.status);
}

TEST(metrics_knows_whether_the_token_came)
{
    CHECK_INT(ASK("GET", "/metrics", HOST), 0);
    CHECK(!request.has_token);
    CHECK_INT(ASK("GET", "/metrics", HOST, AUTH), 0);
    CHECK(request.has_token);
}

TEST(without_a_token_in_the_policy_none_is_asked_for)
{
    struct ws_http_policy open = policy;
    open.token = NULL;
    CHECK_INT(ask_with(&open, "GET", "/api/v1/catalogue", (const char *const[]){HOST, NULL}), 0);
    CHECK(request.has_token);
    CHECK_INT(ask_with(&open, "GET", "/api/v1/catalogue", (const char *const[]){"Host: evil.example", NULL}), 403);
}

TEST(token_in_the_url_of_a_page_becomes_a_cookie_and_leaves_the_url)
{
    static const struct {
        const char *target;
        int status;
        const char *location;
    } cases[] = {
        {"/?token=" TOKEN, 303, "/"},
        {"/sessions/3?token=" TOKEN "&sort=-mean", 303, "/sessions/3?sort=-mean"},
        {"/sessions?a=%20&token=" TOKEN "&b", 303, "/sessions?a=%20&b"},
        {"/?%74oken=" TOKEN "&a=1", 303, "/?a=1"},
        {"/?a=token&&token=" TOKEN "&token=x", 303, "/?a=token"},
        {"/?token=" WRONG, 401, ""},
        {"/?token=", 401, ""},
        {"/?token", 401, ""},
        {"//evil.example/?token=" TOKEN, 404, ""},
        {"/app.js?token=" TOKEN, 400, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (ASK("GET", cases[i].target, HOST) != cases[i].status)
            WS_FAIL("%s: got %d", cases[i].target, verdict.status);
        CHECK_STR(verdict.location, cases[i].location);
    }
}

TEST(unknown_parameters_are_400_and_named)
{
    CHECK_INT(ASK("GET", "/api/v1/occupancy?thread=256", HOST, AUTH), 400);
    CHECK_STR(verdict.code, "unknown_parameter");
    CHECK(strstr(verdict.message, "'thread'") != NULL);
    CHECK(strstr(verdict.hint, "threads") != NULL);
    CHECK_INT(ASK("GET", "/api/v1/occupancy?threads=1&threads=2", HOST, AUTH), 400);
    CHECK_STR(verdict.code, "bad_parameter");
    CHECK_INT(ASK("GET", "/api/v1/occupancy?threads=256&&", HOST, AUTH), 0);
    CHECK_INT(ASK("GET", "/healthz?x", HOST), 400);
    CHECK_INT(ASK("GET", "/sessions?any=thing&of=the+page", HOST), 0);
}

TEST(parameters_are_decoded)
{
    REQUIRE(ASK("GET", "/api/v1/occupancy?cc=%39.0&regs=&th%72eads=a+b%2B", HOST, AUTH) == 0);
    CHECK_STR(ws_http_param(&request, "cc"), "9.0");
    CHECK_STR(ws_http_param(&request, "regs"), "");
    CHECK_STR(ws_http_param(&request, "threads"), "a b+");
    CHECK(ws_http_param(&request, "smem") == NULL);
}

TEST(bodies_are_announced_once_and_only_where_they_belong)
{
    CHECK_INT(ASK("GET", "/healthz", HOST, "Content-Length: 0"), 0);
    CHECK_INT(ASK("GET", "/healthz", HOST, "Content-Length: 5"), 400);
    CHECK_INT(ASK("GET", "/healthz", HOST, "Transfer-Encoding: chunked"), 400);
    CHECK_INT(ASK("GET", "/healthz", HOST, "Content-Length: 0", "Transfer-Encoding: chunked"), 400);
    CHECK_STR(verdict.code, "bad_length");
    CHECK_INT(ASK("GET", "/healthz", HOST, "Content-Length: 0", "Content-Length: 5"), 400);
}

TEST(too_long_targets_and_headers_have_their_own_answers)
{
    static char target[WS_HTTP_TARGET_MAX + 3];
    static char value[WS_HTTP_HEADERS_MAX + 16];
    memset(target, 'a', sizeof target - 1);
    target[0] = '/';
    CHECK_INT(ASK("GET", target, HOST), 414);
    target[WS_HTTP_TARGET_MAX] = 0;
    CHECK_INT(ASK("GET", target, HOST), 404);
    memset(value, 'a', sizeof value - 1);
    memcpy(value, "X: ", 3);
    CHECK_INT(ASK("GET", "/healthz", HOST, value), 431);
}

TEST(longest_possible_target_fits)
{
    /* sixteen "a&" and the rest in one value: every NUL that decoding adds */
    static char target[WS_HTTP_TARGET_MAX + 1];
    memset(target, 'a', sizeof target - 1);
    memcpy(target, "/sessions?", 10);
    for (int i = 0; i < 15; i++)
        target[11 + 2 * i] = '&';
    CHECK_INT(ASK("GET", target, HOST), 0);
    CHECK_INT(request.param_count, 16);
    CHECK_INT(strlen(request.params[15].name), WS_HTTP_TARGET_MAX - 10 - 30);
}

TEST(tokens_differ_in_any_character_or_length)
{
    char other[] = TOKEN;
    CHECK(ws_http_token_equal(TOKEN, other));
    for (size_t i = 0; i < strlen(TOKEN); i++) {
        other[i] ^= 1;
        CHECK(!ws_http_token_equal(TOKEN, other));
        other[i] ^= 1;
    }
    CHECK(!ws_http_token_equal(TOKEN, ""));
    CHECK(!ws_http_token_equal("", TOKEN));
}

TEST(etags_match_as_a_list)
{
    CHECK(ws_http_etag_matches("\"a-1\"", "\"a-1\""));
    CHECK(ws_http_etag_matches("W/\"a-1\"", "\"a-1\""));
    CHECK(ws_http_etag_matches("\"b\", \"a-1\"", "\"a-1\""));
    CHECK(ws_http_etag_matches("*", "\"a-1\""));
    CHECK(!ws_http_etag_matches("\"a-10\"", "\"a-1\""));
    CHECK(!ws_http_etag_matches("\"a-1", "\"a-1\""));
    CHECK(!ws_http_etag_matches("", "\"a-1\""));
    CHECK(!ws_http_etag_matches("x\"a-1\"", "\"a-1\""));
}

TEST(every_parameter_of_a_route_is_described)
{
    /* the OpenAPI text leaves out what is not */
    size_t count;
    const struct ws_route *r = ws_routes(&count);
    size_t named = 0;
    size_t described = 0;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct ws_json j = {.out = out};
    ws_routes_openapi(&j);
    fclose(out);
    for (size_t i = 0; i < count; i++)
        for (const char *s = r[i].params; *s; s += strspn(s, " ")) {
            named++;
            s += strcspn(s, " ");
        }
    for (const char *s = text; (s = strstr(s, "\"in\":\"query\"")) != NULL; s++)
        described++;
    CHECK_INT(described, named);
    CHECK(named > 5);
    free(text);
}

TEST(number_in_a_path_stays_below_2_to_the_53)
{
    struct ws_route r = {.method = "GET", .path = "/s/{id}/k/{kid}"};
    int64_t ids[WS_ROUTE_IDS];
    CHECK(ws_route_fits(&r, "/s/12/k/999999999999999", ids));
    CHECK_INT(ids[0], 12);
    CHECK_INT(ids[1], 999999999999999);
    CHECK(!ws_route_fits(&r, "/s/12/k/1000000000000000", ids));
    CHECK(!ws_route_fits(&r, "/s//k/1", ids));
    CHECK(!ws_route_fits(&r, "/s/-1/k/1", ids));
    CHECK(!ws_route_fits(&r, "/s/1/k/1x", ids));
    CHECK(!ws_route_fits(&r, "/s/1/k/", ids));
}

TEST(writes_need_their_header_json_and_a_small_body)
{
    size_t count;
    const struct ws_route *r = ws_routes(&count);
    bool has_put = false;
    for (size_t i = 0; i < count; i++)
        has_put |= strcmp(r[i].method, "PUT") == 0;
    REQUIRE(has_put);
    CHECK_INT(ASK("PUT", "/api/v1/sessions/1/note", HOST, "X-WarpSight: 1"), 401);
    CHECK_INT(ASK("PUT", "/api/v1/sessions/1/note", HOST, AUTH, "Content-Length: 2"), 403);
    CHECK_STR(verdict.code, "write_header_needed");
    CHECK_INT(ASK("PUT", "/api/v1/sessions/1/note", HOST, AUTH, "X-WarpSight: 1", "Content-Length: 2"), 415);
    CHECK_INT(ASK("PUT", "/api/v1/sessions/1/note", HOST, AUTH, "X-WarpSight: 1", "Content-Length: 2",
                  "Content-Type: text/plain"),
              415);
    CHECK_INT(ASK("PUT", "/api/v1/sessions/1/note", HOST, AUTH, "X-WarpSight: 1", "Content-Length: 2",
                  "Content-Type: application/json; charset=utf-8"),
              0);
    CHECK_INT(ASK("PUT", "/api/v1/sessions/1/note", HOST, AUTH, "X-WarpSight: 1", "Content-Length: 65537",
                  "Content-Type: application/json"),
              413);
    CHECK_INT(ASK("PUT", "/api/v1/sessions/1/note", HOST, AUTH, "X-WarpSight: 1", "Content-Length: -1",
                  "Content-Type: application/json"),
              413);
    CHECK_INT(ASK("DELETE", "/api/v1/sessions/1", HOST, AUTH, "X-WarpSight: 1"), 0);
    CHECK_INT(ASK("POST", "/api/v1/sessions/1", HOST, AUTH), 405);
    CHECK_STR(verdict.allow, "GET, HEAD, DELETE");
}
