/* SPDX-License-Identifier: MIT
 * timebill.c: the window of the device split into parts, and the three rows of the model. Pure. */
#include "timebill.h"

/* Costs of the model besides bytes: the course that it comes from (`002` 1.4) takes these for any GPU. */
#define COPY_S 10e-6
#define LAUNCH_S 5e-6
/* A copy that takes more than half of the window is what there is to mend. */
#define COPY_BOUND 0.5

static const struct {
    const char *key, *title;
} parts[WS_BILL_PART_COUNT] = {
#define WS_BILL_PART_ROW(sym, key, title) [sym] = {key, title},
    WS_BILL_PART_LIST(WS_BILL_PART_ROW)
#undef WS_BILL_PART_ROW
};

static const struct {
    const char *key, *title, *text;
    enum ws_timeline_id fact;
} models[WS_BILL_MODEL_COUNT] = {
#define WS_BILL_MODEL_ROW(sym, key, title, fact, text) [sym] = {key, title, text, WS_T_##fact},
    WS_BILL_MODEL_LIST(WS_BILL_MODEL_ROW)
#undef WS_BILL_MODEL_ROW
};

const char *ws_bill_part_key(enum ws_bill_part_id id)
{
    return (unsigned)id < WS_BILL_PART_COUNT ? parts[id].key : "";
}

const char *ws_bill_part_title(enum ws_bill_part_id id)
{
    return (unsigned)id < WS_BILL_PART_COUNT ? parts[id].title : "";
}

const char *ws_bill_model_key(enum ws_bill_model_id id)
{
    return (unsigned)id < WS_BILL_MODEL_COUNT ? models[id].key : "";
}

const char *ws_bill_model_title(enum ws_bill_model_id id)
{
    return (unsigned)id < WS_BILL_MODEL_COUNT ? models[id].title : "";
}

const char *ws_bill_model_text(enum ws_bill_model_id id)
{
    return (unsigned)id < WS_BILL_MODEL_COUNT ? models[id].text : "";
}

/* A fact; one that is missing names itself unless something deeper is named. */
static struct ws_value fact(const struct ws_timeline_facts *facts, enum ws_timeline_id id)
{
    struct ws_value v = facts->value[id];
    if (!ws_has(v) && !v.input)
        v.input = ws_timeline_key(id);
    return v;
}

static struct ws_value ratio(struct ws_value a, struct ws_value b, const char *zero)
{
    struct ws_value out;
    if (!ws_has(a) || !ws_has(b))
        return ws_has(a) ? b : a;
    if (!(b.number > 0))
        return ws_missing(WS_WHY_ZERO, zero);
    out = ws_value_of(a.number / b.number);
    out.grade = a.grade;
    return out;
}

static struct ws_value plus(struct ws_value a, struct ws_value b, double sign)
{
    struct ws_value out;
    if (!ws_has(a) || !ws_has(b))
        return ws_has(a) ? b : a;
    out = ws_value_of(a.number + sign * b.number);
    /* Sums of whole nanoseconds in seconds: what is left of a difference of equals is rounding. */
    if (ws_has(out) && out.number < 1e-12)
        out.number = 0;
    return out;
}

static void split_window(const struct ws_timeline_facts *facts, struct ws_time_bill *out)
{
    struct ws_value kernels = fact(facts, WS_T_kernel_busy);
    struct ws_value copies = fact(facts, WS_T_copy_busy);
    struct ws_value both = fact(facts, WS_T_overlap);
    struct ws_value gaps = fact(facts, WS_T_gpu_idle);
    struct ws_value named = plus(plus(plus(kernels, copies, 1), both, -1), gaps, 1);
    out->window = fact(facts, WS_T_window);
    out->part[WS_BILL_KERNELS].seconds = plus(kernels, both, -1);
    out->part[WS_BILL_BOTH].seconds = both;
    out->part[WS_BILL_COPIES].seconds = plus(copies, both, -1);
    out->part[WS_BILL_GAPS].seconds = gaps;
    out->part[WS_BILL_OTHER].seconds = plus(out->window, named, -1);
    for (int i = 0; i < WS_BILL_PART_COUNT; i++)
        out->part[i].share = ratio(out->part[i].seconds, out->window, "window");
    out->copy_share = ratio(copies, out->window, "window");
    out->is_copy_bound = ws_has(out->copy_share) && out->copy_share.number > COPY_BOUND;
}

static struct ws_value times(struct ws_value v, double factor)
{
    if (ws_has(v))
        v.number *= factor;
    return v;
}

static struct ws_value copies_of_model(const struct ws_timeline_facts *facts, struct ws_value link)
{
    struct ws_value bytes = fact(facts, WS_T_copy_bytes);
    if (ws_has(bytes) && bytes.number == 0)
        return times(fact(facts, WS_T_copies), COPY_S);
    return plus(times(fact(facts, WS_T_copies), COPY_S), ratio(bytes, link, "link_rate"), 1);
}

void ws_time_bill(const struct ws_timeline_facts *facts, const struct ws_bill_rates *rates, struct ws_time_bill *out)
{
    split_window(facts, out);
    out->model[WS_BILL_MODEL_COPIES].modelled = copies_of_model(facts, rates->link);
    out->model[WS_BILL_MODEL_LAUNCHES].modelled = times(fact(facts, WS_T_launch_calls), LAUNCH_S);
    out->model[WS_BILL_MODEL_KERNELS].modelled = ratio(fact(facts, WS_T_dram_bytes), rates->dram, "dram rate");
    for (int i = 0; i < WS_BILL_MODEL_COUNT; i++) {
        struct ws_bill_model *m = &out->model[i];
        if (ws_has(m->modelled))
            m->modelled.origin = WS_ORIGIN_MODEL;
        m->measured = fact(facts, models[i].fact);
        m->ratio = ratio(m->measured, m->modelled, "modelled");
    }
}
