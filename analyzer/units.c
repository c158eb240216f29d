/* SPDX-License-Identifier: MIT
 * units.c: the table of units.def, dimension arithmetic, and numbers for people.
 * Pure: no allocation, no locale (the decimal point is a point whatever the program set).
 * Add a way to scale: one case in ws_unit_format() and a name in ws_scale_name(). */
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct ws_unit_info units[WS_UNIT_COUNT] = {
#define WS_UNIT(id, symbol, title, people, scale, ...) \
    [WS_UNIT_##id] = {#id, symbol, title, people, WS_SCALE_##scale, {{__VA_ARGS__}}},
#include "units.def"
#undef WS_UNIT
};

const struct ws_unit_info *ws_unit_get(enum ws_unit unit)
{
    return &units[(unsigned)unit < WS_UNIT_COUNT ? unit : WS_UNIT_NUMBER];
}

enum ws_unit ws_unit_find(const char *symbol, size_t length)
{
    for (unsigned i = 0; i < WS_UNIT_COUNT; i++)
        if (strlen(units[i].symbol) == length && memcmp(units[i].symbol, symbol, length) == 0)
            return (enum ws_unit)i;
    return WS_UNIT_COUNT;
}

bool ws_dimension_equal(struct ws_dimension a, struct ws_dimension b)
{
    return memcmp(a.power, b.power, sizeof a.power) == 0;
}

struct ws_dimension ws_dimension_combine(struct ws_dimension a, struct ws_dimension b, int sign)
{
    struct ws_dimension out;
    for (int i = 0; i < WS_BASE_COUNT; i++) {
        int power = a.power[i] + sign * b.power[i];
        out.power[i] = (signed char)(power > 100 ? 100 : power < -100 ? -100 : power);
    }
    return out;
}

const char *ws_scale_name(enum ws_unit_scale scale)
{
    static const char *const names[WS_SCALE_COUNT] = {"plain", "si", "time", "percent"};
    return (unsigned)scale < WS_SCALE_COUNT ? names[scale] : "plain";
}

/* A text being written into storage of the caller's; what does not fit is cut. */
struct out {
    char *at;
    size_t size;
    size_t used;
};

static void put(struct out *out, const char *text, size_t length)
{
    size_t room = out->size > out->used ? out->size - out->used - 1 : 0;
    if (length > room)
        for (length = room; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
            length--; /* UTF-8: not in the middle of a character */
    for (size_t i = 0; i < length; i++)
        out->at[out->used++] = text[i];
    if (out->size > 0)
        out->at[out->used] = '\0';
}

static void put_text(struct out *out, const char *text)
{
    put(out, text, strlen(text));
}

/* Fixed decimals, or an exponent beyond every prefix. snprintf may write the locale's comma. */
static void put_fixed(struct out *out, double number, int decimals)
{
    char digits[32];
    bool is_huge = fabs(number) >= 1e15;
    int length = snprintf(digits, sizeof digits, is_huge ? "%.*e" : "%.*f", is_huge ? 2 : decimals, number);
    for (int i = 0; i < length; i++)
        if (!strchr("-+e0123456789", digits[i]))
            digits[i] = '.';
    put_text(out, digits);
}

/* Three significant digits, which is more than repeated runs agree on. */
static void put_short(struct out *out, double number)
{
    double size = fabs(number);
    put_fixed(out, number, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/* A whole number below 10^15 in full, with a comma between thousands. */
static void put_whole(struct out *out, double number)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(number));
    if (number < 0)
        put_text(out, "-");
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            put_text(out, ",");
        put(out, digits + i, 1);
    }
}

struct prefix {
    double factor;
    const char *text;
};

/* The largest prefix that leaves at least 1 (after rounding to three digits); the last one is the smallest. */
static const struct prefix *choose(const struct prefix *prefixes, size_t count, double number)
{
    size_t i = 0;
    while (i + 1 < count && fabs(number) < prefixes[i].factor * 0.9995)
        i++;
    return &prefixes[i];
}

static void put_si(struct out *out, double number, const char *people)
{
    static const struct prefix prefixes[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"},
                                             {1e6, "M"},  {1e3, "k"},  {1, ""}};
    const struct prefix *prefix = choose(prefixes, sizeof prefixes / sizeof *prefixes, number);
    bool is_abbreviation = people[0] >= 'A' && people[0] <= 'Z'; /* "MB", but "M sectors" */
    if (number == floor(number) && fabs(number) < 1e5) {
        put_whole(out, number);
        prefix = &prefixes[sizeof prefixes / sizeof *prefixes - 1];
    } else {
        put_short(out, number / prefix->factor);
    }
    if (*prefix->text || *people)
        put_text(out, " ");
    put_text(out, prefix->text);
    if (*prefix->text && *people && !is_abbreviation)
        put_text(out, " ");
    put_text(out, people);
}

static void put_time(struct out *out, double number)
{
    static const struct prefix prefixes[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
    const struct prefix *prefix = number == 0 ? prefixes : choose(prefixes, sizeof prefixes / sizeof *prefixes, number);
    put_short(out, number / prefix->factor);
    put_text(out, " ");
    put_text(out, prefix->text);
}

static void put_missing(struct out *out, struct ws_value value)
{
    const char *text = ws_why_text((enum ws_why)value.why);
    const char *hole = strstr(text, "%s");
    if (!hole) {
        put_text(out, text);
        return;
    }
    put(out, text, (size_t)(hole - text));
    put_text(out, value.input ? value.input : "an input");
    put_text(out, hole + 2);
}

size_t ws_unit_format(char *at, size_t size, struct ws_value value, enum ws_unit unit)
{
    struct out out = {NULL, size, 0};
    const struct ws_unit_info *info = ws_unit_get(unit);
    out.at = at;
    put(&out, "", 0);
    if (!ws_has(value)) {
        put_missing(&out, value);
        return out.used;
    }
    switch (info->scale) {
    case WS_SCALE_PERCENT:
        put_short(&out, value.number * 100);
        put_text(&out, " %");
        break;
    case WS_SCALE_TIME:
        put_time(&out, value.number);
        break;
    case WS_SCALE_SI:
        put_si(&out, value.number, info->people);
        break;
    case WS_SCALE_PLAIN:
    case WS_SCALE_COUNT:
        put_short(&out, value.number);
        if (*info->people)
            put_text(&out, " ");
        put_text(&out, info->people);
        break;
    }
    return out.used;
}
