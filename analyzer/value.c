/* SPDX-License-Identifier: MIT
 * value.c: codes and sentences for the reasons of value.h. */
#include "value.h"

#include <string.h>

static const struct {
    const char *code;
    const char *text;
} whys[WS_WHY_COUNT] = {
#define WS_WHY_ROW(sym, num, code, text) [sym] = {code, text},
    WS_WHY_LIST(WS_WHY_ROW)
#undef WS_WHY_ROW
};

const char *ws_why_code(enum ws_why why)
{
    return (unsigned)why < WS_WHY_COUNT ? whys[why].code : "unknown";
}

const char *ws_why_text(enum ws_why why)
{
    return (unsigned)why < WS_WHY_COUNT ? whys[why].text : "unknown reason";
}

enum ws_why ws_why_find(const char *code)
{
    for (unsigned i = 1; i < WS_WHY_COUNT; i++)
        if (strcmp(whys[i].code, code) == 0)
            return (enum ws_why)i;
    return WS_WHY_COUNT;
}

const char *ws_grade_name(enum ws_grade grade)
{
    static const char *const names[WS_GRADE_COUNT] = {"exact", "upper bound", "lower bound", "estimate"};
    return (unsigned)grade < WS_GRADE_COUNT ? names[grade] : "unknown";
}

const char *ws_origin_name(enum ws_origin origin)
{
    static const char *const names[WS_ORIGIN_COUNT] = {"session", "activity", "profiler time", "model"};
    return (unsigned)origin < WS_ORIGIN_COUNT ? names[origin] : "unknown";
}
