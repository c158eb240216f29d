/* SPDX-License-Identifier: MIT
 * names.c: names of kernels for people. */
#include "names.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* libstdc++'s; it has no C header. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): the ABI's own name */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* A result above this helps nobody. */
#define DEMANGLED_MAX ((size_t)16 << 10)
/* References back to earlier parts multiply: n of them can make a text 3^(n/3) times as long. With 34 the worst is
 * some megabytes for some milliseconds; a hostile name with 80 would take all memory. */
#define REFERENCES_MAX 34
/* libstdc++ refuses what is longer, not knowing how deep it goes. */
#define MANGLED_MAX 1024
/* Template arguments longer than this are folded in the alias. */
#define ARGUMENTS_MAX 40

static int references(const char *mangled)
{
    int n = 0;
    for (const char *c = mangled; (c = strpbrk(c, "ST")) != NULL; c++) {
        const char *end = c + 1 + strspn(c + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        n += *end == '_';
    }
    return n;
}

/* "3foo…" -> length of "foo", *at behind it; 0 when there is no whole name. */
static size_t source_name(const char **at)
{
    size_t n = 0;
    const char *c = *at;
    while (isdigit((unsigned char)*c) && n < MANGLED_MAX)
        n = n * 10 + (size_t)(*c++ - '0');
    if (n == 0 || strnlen(c, n) < n)
        return 0;
    *at = c + n;
    return n;
}

/* What the head of a name tells when the whole cannot be had: "cutlass::device_kernel<...>(...)". */
static const char *demangle_head(struct ws_arena *arena, const char *mangled)
{
    const char *at = mangled + 2;
    bool nested = *at == 'N';
    size_t cap = 2 * strlen(mangled) + 16; /* a scope is at least two characters: "1a" becomes "a::" */
    char *text = ws_arena_take(arena, cap);
    size_t used = 0;
    size_t n;
    if (!text)
        return mangled;
    at += nested;
    while ((n = source_name(&at)) > 0) {
        used += (size_t)snprintf(text + used, cap - used, "%s%.*s", used ? "::" : "", (int)n, at - n);
        if (!nested)
            break;
    }
    if (used == 0)
        return mangled;
    snprintf(text + used, cap - used, "%s(...)", *at == 'I' ? "<...>" : "");
    return text;
}

static const char *demangle(struct ws_arena *arena, const char *mangled)
{
    const char *result = NULL;
    char *text = NULL;
    int status = -1;
    if (strncmp(mangled, "_Z", 2) != 0)
        return mangled;
    if (strnlen(mangled, MANGLED_MAX + 1) <= MANGLED_MAX && references(mangled) <= REFERENCES_MAX)
        text = __cxa_demangle(mangled, NULL, NULL, &status);
    if (status == 0 && text && strlen(text) <= DEMANGLED_MAX)
        result = ws_arena_text(arena, text);
    free(text);
    return result ? result : demangle_head(arena, mangled);
}

/* --- taking a demangled name apart --- */

/* The place behind a group that opens at at[0], one of ( < [ {, or at's end. "operator<" and "->" are no groups. */
static const char *skip_group(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        if (strchr("(<[{", *at))
            depth++;
        else if (strchr(")]}", *at) || (*at == '>' && at[-1] != '-'))
            depth--;
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* Behind "operator" and the symbols that name it, when at stands there; else at. */
static const char *skip_operator(const char *at)
{
    if (strncmp(at, "operator", 8) != 0 || isalnum((unsigned char)at[8]) || at[8] == '_')
        return at;
    at += 8;
    if (strncmp(at, "()", 2) == 0 || strncmp(at, "[]", 2) == 0)
        return at + 2;
    return at + strspn(at, "+-*/%^&|~!=<>,");
}

struct parts {
    const char *name, *name_end; /* the function's own name with its template arguments */
    const char *arguments;       /* '<' of these, or name_end */
};

/* Find the function in "ret scope::name<args>(params) tail". */
static struct parts take_apart(const char *text)
{
    struct parts p = {text, text, text};
    const char *at = text;
    p.arguments = NULL;
    while (*at) {
        const char *next = skip_operator(at);
        if (next != at) {
            at = next;
            continue;
        }
        if (*at == '<' && at > p.name) {
            p.arguments = at;
            at = skip_group(at);
        } else if (*at == '(' || *at == '{' || *at == '[') {
            const char *end = skip_group(at);
            /* "(anonymous namespace)::" and "f(int)::{lambda()#1}::" are scopes; a parameter list ends the name. */
            if (*at == '(' && at > p.name && strncmp(end, "::", 2) != 0)
                break;
            at = end;
        } else if (strncmp(at, "::", 2) == 0 || *at == ' ') {
            at += *at == ' ' ? 1 : 2;
            p.name = at;
            p.arguments = NULL;
        } else {
            at++;
        }
    }
    p.name_end = at;
    if (!p.arguments)
        p.arguments = at;
    return p;
}

static const char *make_alias(struct ws_arena *arena, const struct parts *p)
{
    size_t base = (size_t)(p->arguments - p->name);
    size_t whole = (size_t)(p->name_end - p->name);
    char *alias;
    if (whole - base <= ARGUMENTS_MAX)
        return ws_arena_text_n(arena, p->name, whole);
    alias = ws_arena_take(arena, base + 8);
    if (alias)
        snprintf(alias, base + 8, "%.*s<...>", (int)base, p->name);
    return alias;
}

/* Kernels that come with NVIDIA's libraries, by how their names begin or by their scope. */
static bool is_library(const struct ws_name *n)
{
    static const char *const starts[] = {"cublas", "cudnn",  "cusparse", "cufft",   "curand",  "cusolver", "nvjet",
                                         "nccl",   "sm70_",  "sm75_",    "sm80_",   "sm86_",   "sm89_",    "sm90_",
                                         "sm100_", "volta_", "turing_",  "ampere_", "hopper_", "gemmk1_",  "gemv2"};
    static const char *const scopes[] = {"cutlass::", "cub::", "thrust::", "cublasLt", "cudnn::", "nvinfer"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(n->base, starts[i], strlen(starts[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        const char *at = strstr(n->demangled, scopes[i]);
        const char *open = strpbrk(n->demangled, "<(");
        /* In the function's own scope, not in an argument: a user's kernel may well take a thrust iterator. */
        if (at && (!open || at < open))
            return true;
    }
    return false;
}

void ws_name_of(struct ws_arena *arena, const char *mangled, struct ws_name *out)
{
    struct parts p;
    out->mangled = mangled;
    out->demangled = demangle(arena, mangled);
    p = take_apart(out->demangled);
    out->alias = make_alias(arena, &p);
    out->base = ws_arena_text_n(arena, p.name, (size_t)(p.arguments - p.name));
    if (!out->alias || !*out->alias)
        out->alias = mangled;
    if (!out->base || !*out->base)
        out->base = mangled;
    ws_name_hash(mangled, out->hash);
    out->is_library = is_library(out);
}

/* --- filters --- */

struct ws_name_filter {
    char *exact; /* NULL: a regular expression */
    regex_t regex;
};

struct ws_name_filter *ws_name_filter_new(const char *text, char *message, size_t cap)
{
    struct ws_name_filter *f = calloc(1, sizeof *f);
    int rc;
    if (!f) {
        snprintf(message, cap, "out of memory");
        return NULL;
    }
    if (strncmp(text, "regex:", 6) != 0) {
        f->exact = strdup(text);
        if (f->exact)
            return f;
        snprintf(message, cap, "out of memory");
        free(f);
        return NULL;
    }
    rc = regcomp(&f->regex, text + 6, REG_EXTENDED | REG_NOSUB);
    if (rc == 0)
        return f;
    (void)regerror(rc, &f->regex, message, cap);
    free(f);
    return NULL;
}

void ws_name_filter_free(struct ws_name_filter *filter)
{
    if (!filter)
        return;
    if (!filter->exact)
        regfree(&filter->regex);
    free(filter->exact);
    free(filter);
}

static bool is_name(const char *text, const char *name)
{
    return ws_name_equal(text, strlen(text), name);
}

bool ws_name_filter_fits(const struct ws_name_filter *filter, const struct ws_name *name)
{
    if (!filter->exact)
        return regexec(&filter->regex, name->demangled, 0, NULL, 0) == 0 ||
               regexec(&filter->regex, name->mangled, 0, NULL, 0) == 0;
    return is_name(filter->exact, name->base) || is_name(filter->exact, name->alias) ||
           is_name(filter->exact, name->demangled) || strcmp(filter->exact, name->mangled) == 0 ||
           strcasecmp(filter->exact, name->hash) == 0;
}
