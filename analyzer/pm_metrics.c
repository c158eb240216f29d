/* SPDX-License-Identifier: MIT
 * pm_metrics.c: the table of pm_metrics.def and look-up by key. Definitions are there; nothing else is here. */
#include "pm_metrics.h"

#include <stdbool.h>
#include <string.h>

static const struct ws_pm_metric metrics[WS_PM_COUNT] = {
#define WS_PM(key, title, unit, how, scale, dcgm, cupti, doc) \
    [WS_PM_##key] = {#key, title, cupti, dcgm, doc, scale, WS_UNIT_##unit, WS_PM_##how},
#include "pm_metrics.def"
#undef WS_PM
};

const struct ws_pm_metric *ws_pm_get(enum ws_pm_id id)
{
    return &metrics[(unsigned)id < WS_PM_COUNT ? id : 0];
}

enum ws_pm_id ws_pm_find(const char *key, size_t length)
{
    for (unsigned i = 0; i < WS_PM_COUNT; i++)
        if (strlen(metrics[i].key) == length && memcmp(metrics[i].key, key, length) == 0)
            return (enum ws_pm_id)i;
    return WS_PM_COUNT;
}

static bool has_part(const char *name, size_t length, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp(name + i, part, n) == 0)
            return true;
    return false;
}

enum ws_pm_how ws_pm_how_of(const char *name, size_t length)
{
    return length > 4 && memcmp(name + length - 4, ".sum", 4) == 0 ? WS_PM_SUM : WS_PM_MEAN;
}

double ws_pm_scale_of(const char *name, size_t length)
{
    return has_part(name, length, ".pct") ? 0.01 : 1.0;
}
