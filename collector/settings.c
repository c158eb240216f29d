/* SPDX-License-Identifier: MIT
 * settings.c: reads settings.def from the environment, once, into storage of the caller's.
 * The only file of the collector that calls getenv. No allocation, no CUDA, no output: a value that
 * does not fit becomes the default and a complaint that the collector reports as STATUS.
 * Add a setting: one row in settings.def. */
#include "settings.h"

#include "../analyzer/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define WS_SETTING_TEXT(field, name, text, option, doc) \
    {#field, name, text, "", option, doc, 0, 0, 0, offsetof(struct ws_settings, field), WS_SETTING_TYPE_TEXT},
#define WS_SETTING_INT(field, name, value, least, most, option, doc) \
    {#field, name, "", "", option, doc, value, least, most, offsetof(struct ws_settings, field), WS_SETTING_TYPE_INT},
#define WS_SETTING_ENUM(field, name, value, choices, option, doc) \
    {#field, name, "", choices, option, doc, value, 0, 0, offsetof(struct ws_settings, field), WS_SETTING_TYPE_ENUM},
const struct ws_setting ws_setting_table[] = {
#include "settings.def"
};
#undef WS_SETTING_TEXT
#undef WS_SETTING_INT
#undef WS_SETTING_ENUM

const size_t ws_setting_count = sizeof ws_setting_table / sizeof ws_setting_table[0];

/* What the launchers of parallel programs call a process's place among the others. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"};

/* --- members by their row --- */

static const char **text_of(struct ws_settings *s, const struct ws_setting *row)
{
    return (const char **)(void *)((char *)s + row->offset);
}

static int64_t *int_of(struct ws_settings *s, const struct ws_setting *row)
{
    return (int64_t *)(void *)((char *)s + row->offset);
}

static int *enum_of(struct ws_settings *s, const struct ws_setting *row)
{
    return (int *)(void *)((char *)s + row->offset);
}

/* --- the choices of an ENUM: "a|b|c" --- */

/* The choice at an index: its start, and its length; "" beyond the last. */
static const char *choice_at(const char *choices, int64_t index, size_t *length)
{
    while (index > 0 && *choices != 0) {
        choices += strcspn(choices, "|");
        choices += *choices == '|';
        index--;
    }
    *length = strcspn(choices, "|");
    return choices;
}

/* The index of a value among the choices, or -1. */
static int choice_find(const char *choices, const char *value)
{
    size_t want = strlen(value);
    for (int i = 0;; i++) {
        size_t length;
        const char *at = choice_at(choices, i, &length);
        if (length == 0)
            return -1;
        if (length == want && memcmp(at, value, want) == 0)
            return i;
    }
}

/* --- parse --- */

/* A whole decimal number within the row's bounds. */
static int parse_int(const struct ws_setting *row, const char *value, int64_t *out)
{
    char *end = NULL;
    long long n;
    if (*value != '-' && (*value < '0' || *value > '9'))
        return -WS_EINVAL;
    errno = 0;
    n = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != 0 || n < row->least || n > row->most)
        return -WS_EINVAL;
    *out = n;
    return 0;
}

int ws_setting_check(const struct ws_setting *setting, const char *value, char *why, size_t cap)
{
    int64_t number;
    switch (setting->type) {
    case WS_SETTING_TYPE_INT:
        if (parse_int(setting, value, &number) == 0)
            return 0;
        snprintf(why, cap, "is not a whole number from %" PRId64 " to %" PRId64, setting->least, setting->most);
        return -WS_EINVAL;
    case WS_SETTING_TYPE_ENUM:
        if (choice_find(setting->choices, value) >= 0)
            return 0;
        snprintf(why, cap, "is not one of %s", setting->choices);
        return -WS_EINVAL;
    case WS_SETTING_TYPE_TEXT:
        break;
    }
    /* Half the arena, so that one variable cannot crowd out the others. */
    if (strlen(value) < WS_SETTINGS_BYTES / 2)
        return 0;
    snprintf(why, cap, "is longer than %u bytes", WS_SETTINGS_BYTES / 2);
    return -WS_EINVAL;
}

int ws_setting_sampling_period(const char *interval, uint32_t *period)
{
    size_t n = strlen(interval);
    long value;
    if (strcmp(interval, "auto") == 0) {
        *period = 0;
        return 0;
    }
    if (n == 0 || n > 2 || strspn(interval, "0123456789") != n)
        return -WS_EINVAL;
    value = strtol(interval, NULL, 10);
    if (value > 26)
        return -WS_EINVAL;
    *period = (uint32_t)value + 5;
    return 0;
}

const struct ws_setting *ws_setting_find(const char *name)
{
    for (size_t i = 0; i < ws_setting_count; i++)
        if (strcmp(ws_setting_table[i].name, name) == 0)
            return &ws_setting_table[i];
    return NULL;
}

/* --- fill --- */

/* A copy in the arena, or NULL when it is full. */
static const char *keep(struct ws_settings *s, const char *text)
{
    size_t n = strlen(text) + 1;
    char *at = s->arena + s->used;
    if (n == 1)
        return "";
    if (n > sizeof s->arena - s->used)
        return NULL;
    memcpy(at, text, n);
    s->used += (uint32_t)n;
    return at;
}

__attribute__((format(printf, 3, 4))) static void complain(struct ws_settings *s, const char *name, const char *format,
                                                           ...)
{
    struct ws_complaint *c;
    va_list args;
    if (s->complaint_count >= WS_SETTINGS_COMPLAINTS)
        return;
    c = &s->complaint[s->complaint_count++];
    c->name = name;
    va_start(args, format);
    vsnprintf(c->message, sizeof c->message, format, args);
    va_end(args);
}

static void set_default(struct ws_settings *s, const struct ws_setting *row)
{
    switch (row->type) {
    case WS_SETTING_TYPE_TEXT:
        *text_of(s, row) = row->text;
        break;
    case WS_SETTING_TYPE_INT:
        *int_of(s, row) = row->value;
        break;
    case WS_SETTING_TYPE_ENUM:
        *enum_of(s, row) = (int)row->value;
        break;
    }
}

/* Takes a value over; what does not fit leaves the default and a complaint. */
static void set_value(struct ws_settings *s, const struct ws_setting *row, const char *value)
{
    char why[96];
    char fallback[64];
    const char *copy;
    if (ws_setting_check(row, value, why, sizeof why) != 0) {
        ws_setting_default(row, fallback, sizeof fallback);
        complain(s, row->name, "%s=%.40s %s; %s is used", row->name, value, why, *fallback ? fallback : "the default");
        return;
    }
    switch (row->type) {
    case WS_SETTING_TYPE_TEXT:
        copy = keep(s, value);
        if (copy)
            *text_of(s, row) = copy;
        else
            complain(s, row->name, "%s is left out: all settings together exceed %u bytes", row->name,
                     WS_SETTINGS_BYTES);
        break;
    case WS_SETTING_TYPE_INT:
        (void)parse_int(row, value, int_of(s, row));
        break;
    case WS_SETTING_TYPE_ENUM:
        *enum_of(s, row) = choice_find(row->choices, value);
        break;
    }
}

int ws_settings_change(struct ws_settings *settings, const struct ws_setting *setting, const char *value, char *why,
                       size_t cap)
{
    const char *copy = value;
    if (ws_setting_check(setting, value, why, cap) != 0)
        return -WS_EINVAL;
    if (setting->type == WS_SETTING_TYPE_TEXT) {
        if (strcmp(*text_of(settings, setting), value) == 0)
            return 0;
        copy = keep(settings, value);
        if (!copy) {
            snprintf(why, cap, "finds no room: %u bytes of settings are used up", WS_SETTINGS_BYTES);
            return -WS_ELIMIT;
        }
        *text_of(settings, setting) = copy;
        return 0;
    }
    set_value(settings, setting, value);
    return 0;
}

/* A variable that is not a setting of ours; "" when it is not set or does not fit. */
static const char *keep_foreign(struct ws_settings *s, ws_settings_lookup *lookup, void *state, const char *name)
{
    const char *value = lookup(state, name);
    const char *copy = value && strlen(value) < WS_SETTINGS_BYTES / 8 ? keep(s, value) : "";
    return copy ? copy : "";
}

static const char *keep_rank(struct ws_settings *s, ws_settings_lookup *lookup, void *state)
{
    for (size_t i = 0; i < sizeof rank_names / sizeof rank_names[0]; i++) {
        const char *value = lookup(state, rank_names[i]);
        char pair[96];
        const char *copy;
        if (!value || *value == 0)
            continue;
        snprintf(pair, sizeof pair, "%s=%.32s", rank_names[i], value);
        copy = keep(s, pair);
        return copy ? copy : "";
    }
    return "";
}

static const char *keep_spool_dir(struct ws_settings *s, ws_settings_lookup *lookup, void *state)
{
    char path[1024];
    const char *runtime = lookup(state, "XDG_RUNTIME_DIR");
    const char *copy;
    if (*s->spool != 0)
        return s->spool;
    /* A relative XDG_RUNTIME_DIR is to be ignored, says its specification. */
    if (runtime && *runtime == '/' && strlen(runtime) < sizeof path - 16)
        snprintf(path, sizeof path, "%s/warpsight", runtime);
    else
        snprintf(path, sizeof path, "/tmp/warpsight-%lu", (unsigned long)geteuid());
    copy = keep(s, path);
    return copy ? copy : "";
}

static const char *lookup_nothing(void *state, const char *name)
{
    (void)state;
    (void)name;
    return NULL;
}

static const char *lookup_environment(void *state, const char *name)
{
    (void)state;
    return secure_getenv(name);
}

void ws_settings_read_from(struct ws_settings *out, ws_settings_lookup *lookup, void *state)
{
    memset(out, 0, offsetof(struct ws_settings, arena));
    for (size_t i = 0; i < ws_setting_count; i++) {
        const struct ws_setting *row = &ws_setting_table[i];
        const char *value = lookup(state, row->name);
        set_default(out, row);
        /* NAME= is how a shell script clears a variable: the default, without a complaint. */
        if (value && *value != 0)
            set_value(out, row, value);
    }
    out->spool_dir = keep_spool_dir(out, lookup, state);
    out->cuda_home = keep_foreign(out, lookup, state, "CUDA_HOME");
    out->cuda_path = keep_foreign(out, lookup, state, "CUDA_PATH");
    out->injection = keep_foreign(out, lookup, state, "CUDA_INJECTION64_PATH");
    out->rank = keep_rank(out, lookup, state);
}

void ws_settings_read(struct ws_settings *out)
{
    bool is_secure = getauxval(AT_SECURE) != 0;
    ws_settings_read_from(out, is_secure ? lookup_nothing : lookup_environment, NULL);
    out->is_secure = is_secure;
}

/* --- show --- */

void ws_setting_default(const struct ws_setting *setting, char *out, size_t cap)
{
    size_t length;
    const char *at;
    switch (setting->type) {
    case WS_SETTING_TYPE_TEXT:
        snprintf(out, cap, "%s", setting->text);
        break;
    case WS_SETTING_TYPE_INT:
        snprintf(out, cap, "%" PRId64, setting->value);
        break;
    case WS_SETTING_TYPE_ENUM:
        at = choice_at(setting->choices, setting->value, &length);
        snprintf(out, cap, "%.*s", (int)length, at);
        break;
    }
}

void ws_setting_format(const struct ws_settings *settings, const struct ws_setting *setting, char *out, size_t cap)
{
    const char *member = (const char *)settings + setting->offset;
    size_t length;
    const char *at;
    switch (setting->type) {
    case WS_SETTING_TYPE_TEXT:
        snprintf(out, cap, "%s", *(const char *const *)(const void *)member);
        break;
    case WS_SETTING_TYPE_INT:
        snprintf(out, cap, "%" PRId64, *(const int64_t *)(const void *)member);
        break;
    case WS_SETTING_TYPE_ENUM:
        at = choice_at(setting->choices, *(const int *)(const void *)member, &length);
        snprintf(out, cap, "%.*s", (int)length, at);
        break;
    }
}

static bool is_default(const struct ws_settings *settings, const struct ws_setting *row)
{
    const char *member = (const char *)settings + row->offset;
    switch (row->type) {
    case WS_SETTING_TYPE_TEXT:
        return strcmp(*(const char *const *)(const void *)member, row->text) == 0;
    case WS_SETTING_TYPE_INT:
        return *(const int64_t *)(const void *)member == row->value;
    case WS_SETTING_TYPE_ENUM:
        return *(const int *)(const void *)member == (int)row->value;
    }
    return true;
}

size_t ws_settings_diff(const struct ws_settings *settings, char *out, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; i < ws_setting_count; i++) {
        const struct ws_setting *row = &ws_setting_table[i];
        size_t name = strlen(row->name);
        size_t value;
        char number[64];
        const char *text = number;
        if (is_default(settings, row))
            continue;
        if (row->type == WS_SETTING_TYPE_TEXT)
            text = *(const char *const *)(const void *)((const char *)settings + row->offset);
        else
            ws_setting_format(settings, row, number, sizeof number);
        value = strlen(text);
        if (name + 1 + value + (used > 0) > cap - used)
            continue;
        if (used > 0)
            out[used++] = 0;
        memcpy(out + used, row->name, name);
        out[used + name] = '=';
        memcpy(out + used + name + 1, text, value);
        used += name + 1 + value;
    }
    return used;
}
