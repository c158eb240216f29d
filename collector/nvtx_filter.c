/* SPDX-License-Identifier: MIT
 * nvtx_filter.c: see nvtx_filter.h. An expression is a list of parts that must lie on the stack one above the other;
 * the search tries each place, parts of any number by going on one higher: stacks and expressions are short. */
#include "nvtx_filter.h"

#include "../analyzer/err.h"

#include <stdio.h>
#include <string.h>

#define STACK_MAX 64

/* --- reading --- */

struct reader {
    const char *at;
    char *why;
    size_t cap;
};

#define REFUSE(r, ...) (snprintf((r)->why, (r)->cap, __VA_ARGS__), -WS_EINVAL)

/* Plain characters up to one of `marks` into out; backslashes taken away. */
static int read_name(struct reader *r, const char *marks, char *out)
{
    size_t n = 0;
    while (*r->at && !strchr(marks, *r->at)) {
        if (*r->at == '\\' && r->at[1])
            r->at++;
        if (n == WS_NVTX_NAME - 1)
            return REFUSE(r, "a name is longer than %d bytes", WS_NVTX_NAME - 1);
        out[n++] = *r->at++;
    }
    out[n] = 0;
    return 0;
}

/* An expression's characters are its own: up to the next '/' or ','. */
static int read_regex(struct reader *r, struct ws_nvtx_part *part)
{
    int err;
    r->at += strlen("regex:");
    err = read_name(r, ",/", part->text);
    if (err != 0)
        return err;
    if (regcomp(&part->regex, part->text, REG_EXTENDED | REG_NOSUB) != 0)
        return REFUSE(r, "'%.60s' is no POSIX extended regular expression", part->text);
    part->kind = WS_NVTX_REGEX;
    return 0;
}

static int read_part(struct reader *r, struct ws_nvtx_part *part)
{
    bool is_mark = (*r->at == '*' || *r->at == '+') && (r->at[1] == '/' || r->at[1] == ',' || r->at[1] == 0);
    int err;
    if (is_mark) {
        part->kind = *r->at++ == '*' ? WS_NVTX_MANY : WS_NVTX_ONE;
        return 0;
    }
    if (strncmp(r->at, "regex:", 6) == 0)
        return read_regex(r, part);
    part->kind = WS_NVTX_TEXT;
    err = read_name(r, ",/]", part->text);
    return err != 0 || part->text[0] ? err : REFUSE(r, "a range needs a name");
}

/* "DOMAIN@" in front, if there is one before the expression's end. */
static int read_domain(struct reader *r, struct ws_nvtx_expression *e)
{
    const char *end = r->at;
    if (strncmp(end, "regex:", 6) == 0)
        return 0;
    while (*end && *end != ',' && *end != '@')
        end += *end == '\\' && end[1] ? 2 : 1;
    if (*end != '@')
        return 0;
    if (end == r->at)
        return REFUSE(r, "a domain needs a name before the @");
    if (read_name(r, "@", e->domain) != 0)
        return -WS_EINVAL;
    r->at++;
    return 0;
}

static int read_expression(struct reader *r, struct ws_nvtx_expression *e)
{
    int err = read_domain(r, e);
    if (err == 0 && *r->at == '[') {
        e->is_bottom = e->is_push_only = true;
        r->at++;
    }
    while (err == 0) {
        if (e->part_count == WS_NVTX_PARTS)
            return REFUSE(r, "more than %d ranges in one expression", WS_NVTX_PARTS);
        err = read_part(r, &e->part[e->part_count]);
        if (err != 0)
            break;
        e->part_count++;
        if (*r->at == ']') {
            e->is_top = e->is_push_only = true;
            r->at++;
        }
        if (*r->at != '/')
            break;
        e->is_push_only = true;
        r->at++;
        if (*r->at == 0 || *r->at == ',')
            break;
        if (e->is_top)
            return REFUSE(r, "nothing can lie above the highest range");
    }
    if (err == 0 && *r->at && *r->at != ',')
        return REFUSE(r, "'%.40s' is not understood", r->at);
    return err;
}

int ws_nvtx_filter_init(struct ws_nvtx_filter *out, const char *text, char *why, size_t cap)
{
    struct reader r = {text, why, cap};
    int err = 0;
    memset(out, 0, sizeof *out);
    while (err == 0 && *r.at) {
        if (out->count == WS_NVTX_EXPRESSIONS)
            err = REFUSE(&r, "more than %d expressions", WS_NVTX_EXPRESSIONS);
        else
            err = read_expression(&r, &out->expression[out->count++]);
        if (err == 0 && *r.at == ',' && *++r.at == 0)
            err = REFUSE(&r, "a range needs a name");
    }
    if (err != 0)
        ws_nvtx_filter_fini(out);
    return err;
}

void ws_nvtx_filter_fini(struct ws_nvtx_filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        for (size_t p = 0; p < WS_NVTX_PARTS; p++)
            if (filter->expression[i].part[p].kind == WS_NVTX_REGEX)
                regfree(&filter->expression[i].part[p].regex);
    filter->count = 0;
}

/* --- comparing --- */

static bool fits(const struct ws_nvtx_part *part, const char *name)
{
    if (part->kind == WS_NVTX_REGEX)
        return regexec(&part->regex, name, 0, NULL, 0) == 0;
    return part->kind == WS_NVTX_ONE || strncmp(part->text, name, WS_NVTX_NAME - 1) == 0;
}

bool ws_nvtx_filter_fits_range(const struct ws_nvtx_filter *filter, const char *domain, const char *name)
{
    for (size_t i = 0; i < filter->count; i++) {
        const struct ws_nvtx_expression *e = &filter->expression[i];
        if (!e->is_push_only && e->part_count == 1 && e->part[0].kind != WS_NVTX_MANY && fits(&e->part[0], name) &&
            strcmp(e->domain, domain) == 0)
            return true;
    }
    return false;
}

/* Whether the parts from p on lie on names from `at` on. Depth is bounded by the number of parts. */
static bool lies_at(const struct ws_nvtx_expression *e, size_t p, const char *const *name, size_t at, size_t count)
{
    for (; p < e->part_count && e->part[p].kind != WS_NVTX_MANY; p++, at++)
        if (at >= count || !fits(&e->part[p], name[at]))
            return false;
    if (p == e->part_count)
        return !e->is_top || at == count;
    for (size_t next = at; next <= count; next++)
        if (lies_at(e, p + 1, name, next, count))
            return true;
    return false;
}

bool ws_nvtx_filter_fits_stack(const struct ws_nvtx_filter *filter, const char *const *domain, const char *const *name,
                               size_t count)
{
    for (size_t i = 0; i < filter->count; i++) {
        const struct ws_nvtx_expression *e = &filter->expression[i];
        const char *mine[STACK_MAX];
        size_t n = 0;
        for (size_t k = 0; k < count && n < STACK_MAX; k++)
            if (strcmp(domain[k], e->domain) == 0)
                mine[n++] = name[k];
        for (size_t at = 0; at < n && (at == 0 || !e->is_bottom); at++)
            if (lies_at(e, 0, mine, at, n))
                return true;
    }
    return false;
}
