/* SPDX-License-Identifier: MIT
 * compare.c: see compare.h. Nothing is judged here but which findings came and went; a rule that one side lacks the
 * values for (a modelled session, another counter set) neither came nor went. */
#include "compare.h"

#include "../analyzer/err.h"
#include "launch_times.h"

#include <stdlib.h>
#include <string.h>

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
    return kernel != WS_COMPARE_NONE && ws_has(c->session->kernels[kernel].times.total)
               ? c->session->kernels[kernel].times.total.number
               : 0;
}

/* Times of two clocks are no difference. */
static bool has_mixed_clock(const struct ws_comparison *c, size_t base, size_t target)
{
    struct ws_value a = c->base->session->kernels[base].times.mean;
    struct ws_value b = c->target->session->kernels[target].times.mean;
    return ws_has(a) && ws_has(b) && a.origin != b.origin;
}

static void add_pair(struct ws_comparison *c, size_t base, size_t target)
{
    struct ws_pair *p = &c->pairs[c->count++];
    static const struct ws_spread nothing;
    p->base = base;
    p->target = target;
    p->impact = ws_value_of(total_of(c->target, target) - total_of(c->base, base));
    p->is_mixed_clock = ws_compare_is_pair(p) && has_mixed_clock(c, base, target);
    p->duration = ws_compare_is_pair(p) && !p->is_mixed_clock
                      ? ws_spread_compare(&c->base_times[base], &c->target_times[target])
                      : ws_spread_compare(&nothing, &nothing);
    if (ws_compare_is_pair(p) && !ws_has(p->duration.delta))
        p->impact = p->duration.delta;
}

static int by_impact(const void *a, const void *b)
{
    const struct ws_pair *x = a;
    const struct ws_pair *y = b;
    double i = ws_has(x->impact) ? fabs(x->impact.number) : -1;
    double k = ws_has(y->impact) ? fabs(y->impact.number) : -1;
    if (ws_compare_is_pair(x) != ws_compare_is_pair(y))
        return ws_compare_is_pair(x) ? -1 : 1;
    if (i != k)
        return i < k ? 1 : -1;
    return x->base != y->base ? (x->base > y->base) - (x->base < y->base)
                              : (x->target > y->target) - (x->target < y->target);
}

static int match(struct ws_comparison *c)
{
    const struct ws_session *b = c->base->session;
    const struct ws_session *t = c->target->session;
    size_t *bs = sorted_places(b);
    size_t *ts = sorted_places(t);
    size_t i = 0;
    size_t k = 0;
    bool is_ready;
    c->pairs = malloc((b->kernel_count + t->kernel_count + 1) * sizeof *c->pairs);
    is_ready = bs && ts && c->pairs;
    while (is_ready && (i < b->kernel_count || k < t->kernel_count)) {
        int order = i == b->kernel_count   ? 1
                    : k == t->kernel_count ? -1
                                           : compare_signatures(&b->kernels[bs[i]], &t->kernels[ts[k]]);
        add_pair(c, order <= 0 ? bs[i] : WS_COMPARE_NONE, order >= 0 ? ts[k] : WS_COMPARE_NONE);
        i += order <= 0;
        k += order >= 0;
    }
    free(bs);
    free(ts);
    if (!is_ready)
        return -WS_ENOMEM;
    qsort(c->pairs, c->count, sizeof *c->pairs, by_impact);
    return 0;
}

int ws_compare(struct ws_store *store, const struct ws_cached *base, const struct ws_cached *target,
               struct ws_comparison *out)
{
    int err;
    *out = (struct ws_comparison){.base = base, .target = target};
    err = ws_launch_times_load(store, base->session, &out->base_times);
    if (err == 0)
        err = ws_launch_times_load(store, target->session, &out->target_times);
    return err != 0 ? err : match(out);
}

void ws_compare_free(struct ws_comparison *c)
{
    free(c->base_times);
    free(c->target_times);
    free(c->pairs);
}

bool ws_compare_is_pair(const struct ws_pair *p)
{
    return p->base != WS_COMPARE_NONE && p->target != WS_COMPARE_NONE;
}

const struct ws_kernel *ws_compare_kernel(const struct ws_comparison *c, const struct ws_pair *p)
{
    return p->base != WS_COMPARE_NONE ? &c->base->session->kernels[p->base] : &c->target->session->kernels[p->target];
}

struct ws_value ws_compare_metric(const struct ws_comparison *c, const struct ws_pair *p, bool target,
                                  enum ws_metric_id id)
{
    const struct ws_cached *side = target ? c->target : c->base;
    size_t kernel = target ? p->target : p->base;
    return kernel == WS_COMPARE_NONE ? ws_missing(WS_WHY_NO_LAUNCH, NULL) : side->kernels[kernel].metric[id];
}

struct ws_value ws_compare_median(const struct ws_comparison *c, const struct ws_pair *p, bool target)
{
    const struct ws_cached *side = target ? c->target : c->base;
    const struct ws_spread *times = target ? c->target_times : c->base_times;
    size_t kernel = target ? p->target : p->base;
    struct ws_value v;
    if (kernel == WS_COMPARE_NONE)
        return ws_missing(WS_WHY_NO_LAUNCH, NULL);
    v = side->session->kernels[kernel].times.mean;
    if (!ws_has(v) || times[kernel].count == 0)
        return ws_has(v) ? ws_missing(WS_WHY_NOT_COLLECTED, NULL) : v;
    v.number = times[kernel].median;
    return v;
}

struct ws_findings_change ws_compare_findings(const struct ws_comparison *c, const struct ws_pair *p)
{
    static const struct ws_kernel_summary nothing;
    const struct ws_kernel_summary *b = p->base != WS_COMPARE_NONE ? &c->base->kernels[p->base] : &nothing;
    const struct ws_kernel_summary *t = p->target != WS_COMPARE_NONE ? &c->target->kernels[p->target] : &nothing;
    return (struct ws_findings_change){.appeared = t->rules & ~b->rules & ~b->not_judged,
                                       .gone = b->rules & ~t->rules & ~t->not_judged,
                                       .stayed = b->rules & t->rules,
                                       .not_judged = (t->rules & b->not_judged) | (b->rules & t->not_judged)};
}

static uint32_t cc_of(const struct ws_session *s)
{
    return s->device_count > 0 ? s->devices[0].device.cc_major * 10 + s->devices[0].device.cc_minor : 0;
}

void ws_compare_warnings(const struct ws_comparison *c, void (*each)(void *state, const char *line), void *state)
{
    const struct ws_session *b = c->base->session;
    const struct ws_session *t = c->target->session;
    bool has_devices = b->device_count > 0 && t->device_count > 0;
    char line[200];
    if (strcmp(b->row.source, t->row.source) != 0 &&
        (strcmp(b->row.source, "modelled") == 0 || strcmp(t->row.source, "modelled") == 0))
        each(state, "one side is modelled: counts may be compared, times may not");
    if (has_devices && (strcmp(b->devices[0].device.name, t->devices[0].device.name) != 0 || cc_of(b) != cc_of(t)))
        each(state, "the GPUs differ: times say what the GPUs can do, not only what the programs do");
    if (ws_report_driver(b) != ws_report_driver(t) && ws_report_driver(b) != 0 && ws_report_driver(t) != 0) {
        snprintf(line, sizeof line, "the drivers differ: CUDA %u.%u and %u.%u", ws_report_driver(b) / 1000,
                 ws_report_driver(b) % 1000 / 10, ws_report_driver(t) / 1000, ws_report_driver(t) % 1000 / 10);
        each(state, line);
    }
}
