/* SPDX-License-Identifier: MIT
 * timeline_plan.c: which metrics a run samples over time. See timeline_plan.h. */
#include "timeline_plan.h"

#include "../analyzer/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool has_entry(const struct ws_timeline_plan *plan, const char *word, size_t length)
{
    for (size_t i = 0; i < plan->count; i++)
        if (strlen(plan->entry[i].key) == length && memcmp(plan->entry[i].key, word, length) == 0)
            return true;
    return false;
}

static int add_word(struct ws_timeline_plan *plan, const char *word, size_t length)
{
    struct ws_timeline_entry *e;
    enum ws_pm_id id = ws_pm_find(word, length);
    if (has_entry(plan, word, length))
        return 0;
    if (plan->count == WS_TIMELINE_MAX || length >= WS_TIMELINE_NAME_MAX)
        return -WS_ELIMIT;
    e = &plan->entry[plan->count];
    snprintf(e->key, sizeof e->key, "%.*s", (int)length, word);
    if (id == WS_PM_COUNT && !strstr(e->key, "__"))
        return -WS_EINVAL;
    e->cupti = id == WS_PM_COUNT ? e->key : ws_pm_get(id)->cupti;
    e->scale = id == WS_PM_COUNT ? ws_pm_scale_of(word, length) : ws_pm_get(id)->scale;
    e->how = id == WS_PM_COUNT ? ws_pm_how_of(word, length) : ws_pm_get(id)->how;
    plan->count++;
    return 0;
}

static int add_all(struct ws_timeline_plan *plan)
{
    int err = 0;
    for (unsigned i = 0; err == 0 && i < WS_PM_COUNT; i++) {
        const char *key = ws_pm_get((enum ws_pm_id)i)->key;
        err = add_word(plan, key, strlen(key));
    }
    return err;
}

int ws_timeline_plan_make(struct ws_timeline_plan *plan, const char *list)
{
    int first_err = 0;
    plan->count = 0;
    plan->bad[0] = 0;
    while (*list) {
        size_t n = strcspn(list, ",");
        bool is_default = n == strlen("default") && memcmp(list, "default", n) == 0;
        int err = n == 0 ? 0 : is_default ? add_all(plan) : add_word(plan, list, n);
        if (err != 0 && first_err == 0) {
            first_err = err;
            snprintf(plan->bad, sizeof plan->bad, "%.*s", (int)(n < sizeof plan->bad ? n : sizeof plan->bad - 1), list);
        }
        list += n + (list[n] == ',');
    }
    return first_err == 0 && plan->count == 0 ? -WS_EINVAL : first_err;
}

/* Digits, with at most three behind a point, in thousandths; -1 when it is none or too large. */
static int64_t read_thousandths(const char **at)
{
    int64_t value = 0;
    int places = -1;
    const char *from = *at;
    for (; (**at >= '0' && **at <= '9') || (**at == '.' && places < 0); ++*at) {
        if (**at == '.') {
            places = 0;
            continue;
        }
        value = value * 10 + (**at - '0');
        places += places >= 0;
        if (value > 1000000000 || places > 3)
            return -1;
    }
    if (*at == from || (*at)[-1] == '.')
        return -1;
    for (int i = places < 0 ? 0 : places; i < 3; i++)
        value *= 10;
    return value;
}

int ws_timeline_interval(const char *text, int64_t *ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"µs", 1000}, {"ms", 1000000}};
    int64_t thousandths = read_thousandths(&text);
    for (size_t i = 0; thousandths >= 0 && i < sizeof units / sizeof *units; i++) {
        int64_t value = thousandths * units[i].ns / 1000;
        if (strcmp(text, units[i].name) != 0)
            continue;
        if (value < WS_TIMELINE_INTERVAL_MIN_NS || value > WS_TIMELINE_INTERVAL_MAX_NS)
            return -WS_EINVAL;
        *ns = value;
        return 0;
    }
    return -WS_EINVAL;
}
