/* SPDX-License-Identifier: MIT
 * ncu_units.c: numbers and units as Nsight Compute prints them. */
#include "ncu_units.h"

#include "../analyzer/number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Words that may have a prefix, and how we call them. */
static const struct {
    const char *word, *base;
} words[] = {{"second", "s"},        {"s", "s"},           {"byte", "byte"},
             {"hz", "hz"},           {"cycle", "cycle"},   {"inst", "inst"},
             {"warp", "warp"},       {"thread", "thread"}, {"sector", "sector"},
             {"request", "request"}, {"block", "block"},   {"register", "register"}};

static const char *find_word(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, text, length) == 0)
            return words[i].base;
    return NULL;
}

static bool find_prefix(char c, int *exponent)
{
    static const struct {
        char letter;
        int exponent;
    } prefixes[] = {{'n', -9}, {'u', -6}, {'m', -3}, {'k', 3}, {'K', 3}, {'M', 6}, {'G', 9}, {'T', 12}, {'P', 15}};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (prefixes[i].letter == c) {
            *exponent = prefixes[i].exponent;
            return true;
        }
    return false;
}

/* One side of a fraction onto the end of base. Returns its exponent. */
static int read_part(const char *text, size_t length, char *base, size_t cap)
{
    size_t used = strlen(base);
    const char *word = find_word(text, length);
    int exponent = 0;
    if (!word && length > 1 && find_prefix(text[0], &exponent)) {
        word = find_word(text + 1, length - 1);
        if (!word)
            exponent = 0;
    }
    snprintf(base + used, cap - used, "%.*s", word ? (int)strlen(word) : (int)(length < 64 ? length : 64),
             word ? word : text);
    return exponent;
}

void ws_ncu_unit_read(const char *text, struct ws_ncu_unit *out)
{
    size_t over = strcspn(text, "/");
    out->base[0] = 0;
    out->exponent = read_part(text, over, out->base, sizeof out->base);
    if (text[over] == 0)
        return;
    snprintf(out->base + strlen(out->base), sizeof out->base - strlen(out->base), "/");
    out->exponent -= read_part(text + over + 1, strlen(text + over + 1), out->base, sizeof out->base);
}

bool ws_ncu_unit_fits(const struct ws_ncu_unit *unit, enum ws_unit ours, int *exponent)
{
    static const char *const never_counts[] = {"s", "byte", "hz", "cycle/s", "%", "byte/s"};
    const char *base = unit->base;
    *exponent = unit->exponent;
    switch (ours) {
    case WS_UNIT_SECOND:
        return strcmp(base, "s") == 0;
    case WS_UNIT_BYTE:
        return strcmp(base, "byte") == 0;
    case WS_UNIT_BYTE_PER_SECOND:
        return strcmp(base, "byte/s") == 0;
    case WS_UNIT_HERTZ:
        return strcmp(base, "hz") == 0 || strcmp(base, "cycle/s") == 0;
    case WS_UNIT_RATIO:
        if (strcmp(base, "%") == 0)
            *exponent -= 2;
        return strcmp(base, "%") == 0 || *base == 0 || strcmp(base, "inst/cycle") == 0;
    default:
        for (size_t i = 0; i < sizeof never_counts / sizeof never_counts[0]; i++)
            if (strcmp(base, never_counts[i]) == 0)
                return false;
        return true;
    }
}

/* The digits without the commas between groups of three; 0 when the groups are none. */
static size_t copy_digits(const char *text, char *out, size_t cap)
{
    size_t run = strspn(text, "0123456789");
    bool is_grouped = text[run] == ',' && run > 0 && run <= 3;
    size_t used = 0;
    for (;;) {
        if (run == 0 || used + run >= cap)
            return 0;
        memcpy(out + used, text, run);
        used += run;
        text += run;
        if (*text != ',' || !is_grouped)
            break;
        text++;
        run = strspn(text, "0123456789");
        if (run != 3)
            return 0;
    }
    run = strcspn(text, " (");
    if (used + run >= cap)
        return 0;
    memcpy(out + used, text, run);
    return used + run;
}

bool ws_ncu_number_read(const char *text, int exponent, double *out)
{
    char digits[96];
    char *mark;
    size_t n;
    double number = 0;
    bool is_negative;
    text += strspn(text, " ");
    is_negative = *text == '-';
    text += is_negative;
    n = copy_digits(text, digits, sizeof digits - 16);
    if (n == 0)
        return false;
    digits[n] = 0;
    /* An exponent of its own is joined with ours, so that the text is rounded once. */
    mark = strpbrk(digits, "eE");
    if (mark) {
        int own = 0;
        int length = 0;
        if (sscanf(mark + 1, "%4d%n", &own, &length) != 1 || mark[1 + length] != 0)
            return false;
        exponent += own;
        *mark = 0;
    }
    if (exponent != 0)
        snprintf(digits + strlen(digits), sizeof digits - strlen(digits), "e%d", exponent);
    n = ws_number_read(digits, strlen(digits), &number);
    if (n == 0 || digits[n] != 0)
        return false;
    *out = is_negative ? -number : number;
    return true;
}
