/* SPDX-License-Identifier: MIT
 * api_compare.c: two sessions, kernel by kernel. A pair has the same name, grid, block and dynamic shared
 * memory; what has no partner stands alone. Nothing is judged here but which findings came and went; a rule that one
 * side lacks the values for (a modelled session, another counter set) neither came nor went. */
#include "../analyzer/err.h"
#include "../analyzer/rules.h"
#include "api.h"
#include "session_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t none = SIZE_MAX;

struct pair {
    size_t base, target; /* kernels, or none */
    double change;       /* of the total time, s; for the order */
};

struct comparison {
    const struct ws_cached *base, *target;
    struct pair *pairs;
    size_t count;
    bool wanted[WS_METRIC_COUNT];
    bool all;
};

static int compare_signatures(const struct ws_kernel *a, const struct ws_kernel *b)
{
    const struct ws_launch *x = &a->row.launch;
    const struct ws_launch *y = &b->row.launch;
    int c = strcmp(a->row.mangled, b->row.mangled);
    if (c == 0)
        c = memcmp(&x->grid, &y->grid, sizeof x->grid);
    if (c == 0)
        c = memcmp(&x->block, &y->block, sizeof x->block);
    return c != 0 ? c
                  : (x->dynamic_smem_bytes > y->dynamic_smem_bytes) - (x->dynamic_smem_bytes < y->dynamic_smem_bytes);
}

static int by_signature(const void *a, const void *b, void *kernels)
{
    const struct ws_kernel *k = kernels;
    return compare_signatures(&k[*(const size_t *)a], &k[*(const size_t *)b]);
}

/* Places of the kernels, by signature; the caller frees. */
static size_t *sorted_places(const struct ws_session *s)
{
    size_t *at = malloc((s->kernel_count + 1) * sizeof *at);
    if (!at)
        return NULL;
    for (size_t i = 0; i < s->kernel_count; i++)
        at[i] = i;
    qsort_r(at, s->kernel_count, sizeof *at, by_signature, s->kernels);
    return at;
}

static double total_of(const struct ws_cached *c, size_t kernel)
{
    return kernel != none && ws_has(c->session->kernels[kernel].times.total)
               ? c->session->kernels[kernel].times.total.number
               : 0;
}

static void add_pair(struct comparison *c, size_t base, size_t target)
{
    struct pair *p = &c->pairs[c->count++];
    p->base = base;
    p->target = target;
    p->change = fabs(total_of(c->target, target) - total_of(c->base, base));
}

static int by_change(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;
    bool x_both = x->base != none && x->target != none;
    bool y_both = y->base != none && y->target != none;
    if (x_both != y_both)
        return x_both ? -1 : 1;
    return (x->change < y->change) - (x->change > y->change);
}

static int match(struct comparison *c)
{
    const struct ws_session *b = c->base->session;
    const struct ws_session *t = c->target->session;
    size_t *bs = sorted_places(b);
    size_t *ts = sorted_places(t);
    size_t i = 0;
    size_t k = 0;
    c->pairs = malloc((b->kernel_count + t->kernel_count + 1) * sizeof *c->pairs);
    while (bs && ts && c->pairs && (i < b->kernel_count || k < t->kernel_count)) {
        int order = i == b->kernel_count   ? 1
                    : k == t->kernel_count ? -1
                                           : compare_signatures(&b->kernels[bs[i]], &t->kernels[ts[k]]);
        add_pair(c, order <= 0 ? bs[i] : none, order >= 0 ? ts[k] : none);
        i += order <= 0;
        k += order >= 0;
    }
    free(bs);
    free(ts);
    if (!bs || !ts || !c->pairs)
        return -WS_ENOMEM;
    qsort(c->pairs, c->count, sizeof *c->pairs, by_change);
    return 0;
}

/* --- JSON --- */

static void put_number(struct ws_json *j, const char *key, struct ws_value v)
{
    if (ws_has(v))
        ws_json_put_number(j, key, v.number);
    else
        ws_json_put_null(j, key);
}

static void put_change(struct ws_json *j, struct ws_value base, struct ws_value target)
{
    bool both = ws_has(base) && ws_has(target);
    if (both)
        ws_json_put_number(j, "delta", target.number - base.number);
    else
        ws_json_put_null(j, "delta");
    if (both && base.number != 0)
        ws_json_put_number(j, "percent", (target.number - base.number) / base.number);
    else
        ws_json_put_null(j, "percent");
}

/* Half the spread of one side, as a share of its mean; missing with fewer than two launches. */
static struct ws_value spread(const struct ws_cached *c, size_t kernel)
{
    const struct ws_kernel *k = kernel != none ? &c->session->kernels[kernel] : NULL;
    if (!k || !ws_has(k->times.mean) || !ws_has(k->times.min) || !ws_has(k->times.max) || k->launches < 2 ||
        !(k->times.mean.number > 0))
        return ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    return ws_value_of((k->times.max.number - k->times.min.number) / 2 / k->times.mean.number);
}

static void put_duration(struct ws_json *j, const struct comparison *c, const struct pair *p)
{
    struct ws_value missing = ws_missing(WS_WHY_NO_LAUNCH, NULL);
    struct ws_value base = p->base != none ? c->base->session->kernels[p->base].times.mean : missing;
    struct ws_value target = p->target != none ? c->target->session->kernels[p->target].times.mean : missing;
    struct ws_value a = spread(c->base, p->base);
    struct ws_value b = spread(c->target, p->target);
    ws_json_key(j, "duration");
    ws_json_object_line(j);
    put_number(j, "base", base);
    put_number(j, "target", target);
    put_change(j, base, target);
    put_number(j, "noise", !ws_has(a) || (ws_has(b) && b.number > a.number) ? b : a);
    ws_json_end(j);
}

static void put_metrics(struct ws_json *j, const struct comparison *c, const struct pair *p)
{
    struct ws_value missing = ws_missing(WS_WHY_NO_LAUNCH, NULL);
    ws_json_key(j, "metrics");
    ws_json_object(j);
    for (int i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        struct ws_value base = p->base != none ? c->base->kernels[p->base].metric[i] : missing;
        struct ws_value target = p->target != none ? c->target->kernels[p->target].metric[i] : missing;
        if (!c->all && !c->wanted[i])
            continue;
        ws_json_key(j, m->key);
        ws_json_object(j);
        ws_json_key(j, "base");
        ws_report_json_value(j, base, ws_unit_get(m->unit)->symbol, NULL);
        ws_json_key(j, "target");
        ws_report_json_value(j, target, ws_unit_get(m->unit)->symbol, NULL);
        put_change(j, base, target);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_rules(struct ws_json *j, const char *key, uint64_t rules)
{
    ws_json_key(j, key);
    ws_json_array_line(j);
    for (size_t i = 0; i < ws_rules_count() && i < 64; i++)
        if (rules & 1ull << i)
            ws_json_text(j, ws_rules_get(i)->id);
    ws_json_end(j);
}

static void put_side(struct ws_json *j, const char *key, const struct ws_cached *c, size_t kernel)
{
    if (kernel == none)
        ws_json_put_null(j, key);
    else
        ws_json_put_int(j, key, c->session->kernels[kernel].row.id);
}

static void put_dim3(struct ws_json *j, const char *key, struct ws_dim3 d)
{
    ws_json_key(j, key);
    ws_json_array_line(j);
    ws_json_uint(j, d.x);
    ws_json_uint(j, d.y);
    ws_json_uint(j, d.z);
    ws_json_end(j);
}

static void put_pair(struct ws_json *j, const struct comparison *c, const struct pair *p)
{
    const struct ws_kernel *k =
        p->base != none ? &c->base->session->kernels[p->base] : &c->target->session->kernels[p->target];
    uint64_t before = p->base != none ? c->base->kernels[p->base].rules : 0;
    uint64_t after = p->target != none ? c->target->kernels[p->target].rules : 0;
    uint64_t dark_before = p->base != none ? c->base->kernels[p->base].not_judged : 0;
    uint64_t dark_after = p->target != none ? c->target->kernels[p->target].not_judged : 0;
    ws_json_object(j);
    ws_report_json_names(j, &k->name);
    put_dim3(j, "grid", k->row.launch.grid);
    put_dim3(j, "block", k->row.launch.block);
    ws_json_put_uint(j, "dynamic_smem_bytes", k->row.launch.dynamic_smem_bytes);
    put_side(j, "base", c->base, p->base);
    put_side(j, "target", c->target, p->target);
    put_duration(j, c, p);
    put_metrics(j, c, p);
    ws_json_key(j, "findings");
    ws_json_object(j);
    put_rules(j, "appeared", after & ~before & ~dark_before);
    put_rules(j, "gone", before & ~after & ~dark_after);
    put_rules(j, "stayed", before & after);
    put_rules(j, "not_judged", (after & dark_before) | (before & dark_after));
    ws_json_end(j);
    ws_json_end(j);
}

static void put_comparison(struct ws_call *call, const struct comparison *c)
{
    struct ws_json *j = ws_call_json(call);
    ws_json_object(j);
    ws_json_key(j, "base");
    ws_api_put_session(j, call->daemon, &c->base->session->row, c->base->session);
    ws_json_key(j, "target");
    ws_api_put_session(j, call->daemon, &c->target->session->row, c->target->session);
    ws_json_key(j, "kernels");
    ws_json_array(j);
    for (size_t i = 0; i < c->count; i++)
        put_pair(j, c, &c->pairs[i]);
    ws_json_end(j);
    ws_json_end(j);
}

void ws_api_compare(struct ws_call *call)
{
    struct comparison c = {.count = 0};
    int64_t base = 0;
    int64_t target = 0;
    if (ws_call_unchanged(call) || !ws_call_int(call, "base", 1, 1ll << 53, &base) ||
        !ws_call_int(call, "target", 1, 1ll << 53, &target) || !ws_call_metrics(call, "", c.wanted, &c.all))
        return;
    if (base == 0 || target == 0) {
        ws_call_fail(call, 400, "bad_parameter", "", "base and target must both be given");
        return;
    }
    if (!ws_call_session(call, base, &c.base))
        return;
    if (ws_call_session(call, target, &c.target)) {
        if (match(&c) == 0)
            put_comparison(call, &c);
        else
            ws_call_fail_store(call, -WS_ENOMEM);
        free(c.pairs);
        ws_session_cache_give(c.target);
    }
    ws_session_cache_give(c.base);
}
