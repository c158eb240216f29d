/* SPDX-License-Identifier: MIT
 * plan.c: which metrics a run wants. See plan.h. */
#include "plan.h"

#include "../analyzer/err.h"

#include <string.h>

static void add_metric(struct ws_plan *plan, enum ws_metric_id id);

/* A computed metric is collected by collecting what its formula names. Depth: metrics.def has no
 * cycles (tested), and has_metric stops a second visit. */
static void add_inputs(struct ws_plan *plan, const char *formula)
{
    while (formula && *formula) {
        size_t n = strspn(formula, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        enum ws_metric_id id = ws_metric_find(formula, n);
        if (id != WS_METRIC_COUNT)
            add_metric(plan, id);
        formula += n > 0 ? n : 1;
    }
}

static void add_metric(struct ws_plan *plan, enum ws_metric_id id)
{
    const struct ws_metric *m = ws_metric_get(id);
    if (plan->has_metric[id])
        return;
    plan->has_metric[id] = true;
    if (m->kind == WS_KIND_EXPR) {
        add_inputs(plan, m->formula);
        add_inputs(plan, m->bound_when);
    }
}

static void refuse(struct ws_plan *plan, const char *name, size_t n)
{
    if (plan->bad[0])
        return;
    if (n >= sizeof plan->bad)
        n = sizeof plan->bad - 1;
    memcpy(plan->bad, name, n);
    plan->bad[n] = 0;
}

static bool is_word(const char *at, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(at, word, n) == 0;
}

static void add_set(struct ws_plan *plan, const char *name, size_t n)
{
    enum ws_set set = ws_set_find(name, n);
    bool is_full = is_word(name, n, "full");
    if (n == 0 || is_word(name, n, "trace") || is_word(name, n, "api"))
        return;
    if (set == WS_SET_COUNT && !is_full) {
        refuse(plan, name, n);
        return;
    }
    for (int id = 0; id < WS_METRIC_COUNT; id++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)id);
        if (m->kind == WS_KIND_RAW && (is_full || m->set == set))
            add_metric(plan, (enum ws_metric_id)id);
    }
}

static void add_named(struct ws_plan *plan, const char *name, size_t n)
{
    enum ws_metric_id id = ws_metric_find(name, n);
    char *copy;
    if (n == 0)
        return;
    if (id != WS_METRIC_COUNT) {
        add_metric(plan, id);
        return;
    }
    if (n >= WS_PLAN_NAME_MAX || plan->extra_count == WS_PLAN_EXTRA_MAX || memchr(name, '|', n)) {
        refuse(plan, name, n);
        return;
    }
    copy = plan->extra[plan->extra_count++];
    memcpy(copy, name, n);
    copy[n] = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (strcmp(plan->entry[i].key, copy) == 0)
            return;
    plan->entry[plan->count++] = (struct ws_plan_entry){.key = copy, .cupti = copy, .scale = 1.0};
}

/* CUPTI's scheduler is greedy and the order in which metrics are added decides how many passes they
 * take: from the catalogue's last entry to its first, GH100 counts core, memory and stalls in 7 passes and
 * everything in 21; the other way round in 8 and 23 (tests/unit/catalogue_passes.golden). */
static void add_entries(struct ws_plan *plan)
{
    for (unsigned id = WS_METRIC_COUNT; id-- > 0;) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)id);
        if (plan->has_metric[id] && m->kind == WS_KIND_RAW && m->cupti[0])
            plan->entry[plan->count++] = (struct ws_plan_entry){.key = m->key, .cupti = m->cupti, .scale = m->scale};
    }
}

static void each_word(struct ws_plan *plan, const char *list, void (*add)(struct ws_plan *, const char *, size_t))
{
    while (*list) {
        size_t n;
        list += strspn(list, ", ");
        n = strcspn(list, ", ");
        add(plan, list, n);
        list += n;
    }
}

int ws_plan_make(struct ws_plan *plan, const char *set, const char *metrics)
{
    memset(plan, 0, sizeof *plan);
    each_word(plan, set, add_set);
    each_word(plan, metrics, add_named);
    add_entries(plan);
    return plan->bad[0] ? -WS_EINVAL : 0;
}

bool ws_plan_has_api(const char *set)
{
    while (*set) {
        size_t n;
        set += strspn(set, ", ");
        n = strcspn(set, ", ");
        if (is_word(set, n, "api") || is_word(set, n, "full"))
            return true;
        set += n;
    }
    return false;
}
