/* SPDX-License-Identifier: MIT
 * select.c: which launches get counters. See select.h. The parser below reads just enough of the
 * Itanium mangling to find a function's name; showing names to people is server/names.c. */
#include "select.h"

#include "../analyzer/err.h"
#include "../analyzer/name_hash.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- signatures --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* Eight bytes a step: PyTorch's kernel names reach 2 KB and are hashed at every launch. */
static uint64_t hash_key(const struct ws_launch_key *key)
{
    size_t n = strlen(key->name);
    const char *at = key->name;
    uint64_t h = mix(0x243f6a8885a308d3u, n);
    uint64_t word;
    for (; n >= 8; n -= 8, at += 8) {
        memcpy(&word, at, 8);
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, at, n);
    h = mix(h, word);
    for (int i = 0; i < 3; i++)
        h = mix(h, (uint64_t)key->grid[i] << 32 | key->block[i]);
    h = mix(h, key->dynamic_smem_bytes);
    return h ? h : 1;
}

int ws_select_filter(struct ws_select *select, const char *text, enum ws_name_base base)
{
    select->base = base;
    select->exact = NULL;
    select->has_regex = false;
    if (strncmp(text, "regex:", 6) == 0) {
        if (regcomp(&select->regex, text + 6, REG_EXTENDED | REG_NOSUB) != 0)
            return -WS_ESYNTAX;
        select->has_regex = true;
    } else if (*text) {
        select->exact = text;
    }
    return 0;
}

static bool is_text_match(const struct ws_select *select, const char *name)
{
    if (select->has_regex)
        return regexec(&select->regex, name, 0, NULL, 0) == 0;
    return ws_name_equal(select->exact, strlen(select->exact), name);
}

/* The function in "void ns::f<2>(float*)", or the text itself where there is no list of parameters. */
static const char *function_of(const char *text, size_t *length)
{
    const char *name = text;
    int depth = 0;
    for (const char *at = text; *at; at++) {
        if (depth == 0 && *at == '(' && strncmp(at, "(anonymous namespace)", 21) != 0) {
            *length = (size_t)(at - name);
            return name;
        }
        depth += *at == '<' || *at == '(';
        depth -= *at == '>' || *at == ')';
        if (depth == 0 && (*at == ' ' || *at == ':'))
            name = at + 1;
    }
    *length = strlen(text);
    return text;
}

/* One kernel by any of its names. The collector never demangles: of a demangled name the function is compared. */
static bool is_any_name(const struct ws_select *select, const char *mangled, const char *base, const char *alias)
{
    char hash[WS_NAME_HASH];
    size_t length;
    const char *function = function_of(select->exact, &length);
    if (is_text_match(select, base) || is_text_match(select, alias) || ws_name_equal(function, length, base) ||
        ws_name_equal(function, length, alias) || strcmp(select->exact, mangled) == 0)
        return true;
    if (!ws_name_is_hash(select->exact))
        return false;
    ws_name_hash(mangled, hash);
    return strcasecmp(select->exact, hash) == 0;
}

static bool is_name_match(const struct ws_select *select, const char *mangled)
{
    char base[1024];
    char alias[1024];
    char full[4096];
    if (!select->has_regex && !select->exact)
        return true;
    if (select->base == WS_NAME_MANGLED)
        return is_text_match(select, mangled);
    if (select->base == WS_NAME_DEMANGLED && select->demangle && select->demangle(mangled, full, sizeof full))
        return is_text_match(select, full);
    ws_select_names(mangled, base, alias, sizeof base);
    if (select->exact)
        return is_any_name(select, mangled, base, alias);
    return is_text_match(select, base) || (strcmp(base, alias) != 0 && is_text_match(select, alias));
}

bool ws_select_is_collective(const char *mangled)
{
    static const char *const words[] = {"ncclDevKernel", "ncclKernel", "ncclSymDevKernel", "ncclSymkDevKernel",
                                        "nvshmem"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(mangled, words[i]))
            return true;
    return false;
}

static struct ws_signature *find(struct ws_select *select, const struct ws_launch_key *key)
{
    uint64_t hash = hash_key(key);
    uint32_t slot = (uint32_t)(hash % WS_SELECT_SLOTS);
    struct ws_signature *s;
    while (select->table[slot].hash != 0) {
        if (select->table[slot].hash == hash)
            return &select->table[slot];
        slot = (slot + 1) % WS_SELECT_SLOTS;
    }
    if (select->used >= WS_SELECT_SLOTS / 2)
        return NULL;
    select->used++;
    s = &select->table[slot];
    s->hash = hash;
    s->mode = (uint8_t)select->first_mode;
    s->is_collective = ws_select_is_collective(key->name);
    s->is_match = is_name_match(select, key->name);
    return s;
}

static uint64_t all_passes(const struct ws_select *select)
{
    return select->passes >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << select->passes) - 1;
}

/* Rotation: one pass a launch, and the pass that is up is not ours to choose. A signature that lacks
 * another pass waits; but when it has waited twice it takes any pass, because the pass counter
 * advances only with profiled launches and everybody might be waiting. */
static bool is_rotation_due(const struct ws_select *select, struct ws_signature *s, uint32_t pass)
{
    if (!(s->pass_mask >> pass & 1))
        return true;
    if (select->every == 0 && s->is_complete)
        return false;
    return ++s->waited > 2;
}

static bool is_due(const struct ws_select *select, struct ws_signature *s, uint32_t pass, uint64_t ordinal)
{
    if (s->mode == WS_MODE_NONE)
        return false;
    if (select->every == 0 && s->is_complete)
        return false;
    if (select->every > 1 && ordinal % select->every != 0)
        return false;
    if (s->mode == WS_MODE_ROTATE)
        return is_rotation_due(select, s, pass);
    return true;
}

struct ws_signature *ws_select_next(struct ws_select *select, const struct ws_launch_key *key, uint32_t pass,
                                    int64_t now_ns, bool *profile, uint64_t *ordinal)
{
    struct ws_signature *s = find(select, key);
    *profile = false;
    *ordinal = 0;
    if (!s)
        return NULL;
    *ordinal = s->launches++;
    if (!s->is_match)
        return s;
    if (select->matched++ < select->skip)
        return s;
    if (select->count != 0 && select->profiled >= select->count)
        return s;
    *profile = !s->is_claimed && now_ns >= s->not_before_ns && is_due(select, s, pass, *ordinal);
    s->is_claimed = s->is_claimed || *profile;
    return s;
}

void ws_select_release(struct ws_signature *signature)
{
    signature->is_claimed = false;
}

void ws_select_done(struct ws_select *select, struct ws_signature *signature, uint32_t pass)
{
    select->profiled++;
    signature->is_claimed = false;
    signature->waited = 0;
    if (signature->mode != WS_MODE_ROTATE) {
        signature->is_complete = true;
        return;
    }
    signature->pass_mask |= UINT64_C(1) << pass;
    signature->taken++;
    if (signature->pass_mask == all_passes(select) || signature->taken >= WS_SELECT_ROUND_MAX(select->passes)) {
        signature->is_complete = true;
        signature->pass_mask = 0;
        signature->taken = 0;
    }
}

/* --- names -------------------------------------------------------------------------------------- */

#define DEPTH_MAX 64

struct parser {
    const char *at;
    int depth;
    bool is_bad;
};

static void skip_type(struct parser *p);

static size_t number(struct parser *p)
{
    size_t n = 0;
    while (isdigit((unsigned char)*p->at) && n < 100000)
        n = n * 10 + (size_t)(*p->at++ - '0');
    return n;
}

/* <number><identifier>; false when the text ends before. */
static bool source_name(struct parser *p, const char **name, size_t *length)
{
    size_t n = number(p);
    if (n == 0 || strnlen(p->at, n) < n) {
        p->is_bad = true;
        return false;
    }
    *name = p->at;
    *length = n;
    p->at += n;
    return true;
}

static void skip_substitution(struct parser *p)
{
    p->at++; /* S */
    if (strchr("tabsiod", *p->at) && *p->at) {
        p->at++;
        return;
    }
    while (isdigit((unsigned char)*p->at) || isupper((unsigned char)*p->at))
        p->at++;
    if (*p->at == '_')
        p->at++;
    else
        p->is_bad = true;
}

static void skip_literal(struct parser *p)
{
    p->at++; /* L */
    skip_type(p);
    while (*p->at && strchr("n_0123456789abcdef", *p->at)) /* not isxdigit: E ends a literal */
        p->at++;
    if (*p->at == 'E')
        p->at++;
    else
        p->is_bad = true;
}

/* Everything up to the E that closes what was just opened. */
static void skip_list(struct parser *p)
{
    if (++p->depth > DEPTH_MAX)
        p->is_bad = true;
    while (!p->is_bad && *p->at && *p->at != 'E') {
        if (*p->at == 'L')
            skip_literal(p);
        else
            skip_type(p);
    }
    p->depth--;
    if (*p->at == 'E')
        p->at++;
    else
        p->is_bad = true;
}

static void skip_past_underscore(struct parser *p)
{
    while (*p->at && *p->at != '_')
        p->at++;
    if (*p->at)
        p->at++;
}

/* A closure (UlvE_) or an unnamed type (Ut_): its parameters, E, number, _ */
static void skip_unnamed(struct parser *p)
{
    p->at += p->at[1] ? 2 : 1;
    if (p->at[-1] == 'l')
        skip_list(p);
    number(p);
    if (*p->at == '_')
        p->at++;
}

static void skip_type(struct parser *p)
{
    const char *name;
    size_t length;
    char c = *p->at;
    if (++p->depth > DEPTH_MAX || !c) {
        p->is_bad = true;
        return;
    }
    if (isdigit((unsigned char)c)) {
        source_name(p, &name, &length);
    } else if (c == 'S') {
        skip_substitution(p);
    } else if (c == 'T') {
        skip_past_underscore(p);
    } else if (c == 'N' || c == 'I' || c == 'J' || c == 'F' || c == 'X') {
        p->at++;
        skip_list(p);
    } else if (c == 'A') {
        p->at++;
        number(p);
        if (*p->at == '_')
            p->at++;
        skip_type(p);
    } else if (c == 'D') {
        p->at += p->at[1] ? 2 : 1;
    } else if (c == 'U') {
        skip_unnamed(p);
    } else if (strchr("PROKVCG", c)) {
        p->at++;
        skip_type(p);
    } else {
        p->at++; /* a builtin type or an operator's letter */
    }
    if (*p->at == 'I' && !strchr("PROKVCG", c))
        skip_type(p); /* template arguments belong to what was just read */
    p->depth--;
}

/* Append the template arguments as "<32, 1>" when all of them are integers or booleans. */
static void append_arguments(const char *at, char *alias, size_t size)
{
    size_t begin = strlen(alias);
    size_t n = begin;
    const char *separator = "<";
    at++; /* I */
    while (*at == 'L' && strchr("ijlmxybcsth", at[1]) && at[1]) {
        const char *value = at + 2;
        size_t digits = strspn(value, "0123456789n");
        if (value[digits] != 'E' || digits == 0)
            break;
        n += (size_t)snprintf(alias + n, size - n, "%s%s%.*s", separator, *value == 'n' ? "-" : "",
                              (int)(digits - (*value == 'n')), value + (*value == 'n'));
        if (n + 8 >= size)
            break;
        separator = ", ";
        at = value + digits + 1;
    }
    if (*at == 'E' && n > begin && n + 2 < size)
        snprintf(alias + n, size - n, ">");
    else
        alias[begin] = 0;
}

void ws_select_names(const char *mangled, char *base, char *alias, size_t size)
{
    struct parser p = {mangled, 0, false};
    const char *name = NULL;
    const char *arguments = NULL;
    size_t length = 0;
    bool is_nested;
    snprintf(base, size, "%s", mangled);
    snprintf(alias, size, "%s", mangled);
    if (strncmp(mangled, "_Z", 2) != 0)
        return;
    p.at += 2;
    is_nested = *p.at == 'N';
    if (is_nested)
        p.at++;
    while (!p.is_bad && *p.at && *p.at != 'E') {
        if (isdigit((unsigned char)*p.at)) {
            if (!source_name(&p, &name, &length))
                break;
            arguments = NULL;
        } else if (*p.at == 'I' && name) {
            arguments = p.at;
            skip_type(&p);
        } else if (*p.at == 'S' && is_nested) {
            skip_substitution(&p);
        } else if (strchr("LKVrRO", *p.at)) {
            p.at++; /* internal linkage, qualifiers */
        } else {
            break;
        }
        if (!is_nested && name && *p.at != 'I')
            break;
    }
    if (p.is_bad || !name || length >= size)
        return;
    snprintf(base, size, "%.*s", (int)length, name);
    snprintf(alias, size, "%.*s", (int)length, name);
    if (arguments)
        append_arguments(arguments, alias, size);
}
