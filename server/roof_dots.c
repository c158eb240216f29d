/* SPDX-License-Identifier: MIT
 * roof_dots.c: the points of a session in panels, and the lines over them. Draws nothing. */
#include "roof_dots.h"

#include "../analyzer/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The panel of a GPU and precision; NULL when out of memory. */
static struct ws_roof_panel *panel_of(struct ws_roof_dots *dots, const struct ws_session *s, size_t device,
                                      enum ws_precision precision)
{
    struct ws_roof_panel *p;
    for (size_t i = 0; i < dots->count; i++)
        if (dots->panels[i].device == device && dots->panels[i].precision == precision)
            return &dots->panels[i];
    if (dots->count == dots->cap) {
        size_t cap = dots->cap ? 2 * dots->cap : 8;
        struct ws_roof_panel *grown = realloc(dots->panels, cap * sizeof *grown);
        if (!grown)
            return NULL;
        dots->panels = grown;
        dots->cap = cap;
    }
    p = &dots->panels[dots->count++];
    *p = (struct ws_roof_panel){.device = device,
                                .precision = precision,
                                .least_x = INFINITY,
                                .least_y = INFINITY,
                                .most_x = -INFINITY,
                                .most_y = -INFINITY};
    for (int level = 0; level < WS_LEVEL_COUNT; level++)
        ws_roofline_roofs(&s->devices[device].device, &s->ceilings[device], (enum ws_level)level, precision,
                          &p->measured[level], &p->sheet[level]);
    return p;
}

static void widen_x(struct ws_roof_panel *p, double x)
{
    p->least_x = fmin(p->least_x, x);
    p->most_x = fmax(p->most_x, x);
}

static void widen_y(struct ws_roof_panel *p, double y)
{
    p->least_y = fmin(p->least_y, y);
    p->most_y = fmax(p->most_y, y);
}

static int add_dot(struct ws_roof_panel *p, size_t kernel, const struct ws_roof_point *point)
{
    if (p->count == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        struct ws_roof_dot *grown = realloc(p->dots, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        p->dots = grown;
        p->cap = cap;
    }
    p->dots[p->count++] = (struct ws_roof_dot){kernel,
                                               point->level,
                                               point->intensity.number,
                                               point->flop_rate.number,
                                               point->measured.percent,
                                               point->measured.is_above};
    p->above += point->measured.is_above;
    widen_x(p, point->intensity.number);
    widen_y(p, point->flop_rate.number);
    return 0;
}

/* What a logarithmic axis can show. */
static bool is_drawable(struct ws_value v)
{
    return ws_has(v) && v.number > 0;
}

/* Adds a kernel's points; *added counts them, *missing is why the last of them has no place. */
static int add_kernel(struct ws_roof_dots *dots, const struct ws_session *s, size_t kernel, const struct ws_roofline *r,
                      size_t *added, struct ws_value *missing)
{
    size_t device = s->kernels[kernel].device;
    for (size_t i = 0; i < r->count; i++) {
        const struct ws_roof_point *point = &r->points[i];
        struct ws_roof_panel *panel;
        if (device >= s->device_count || !is_drawable(point->intensity) || !is_drawable(point->flop_rate)) {
            *missing = device >= s->device_count       ? ws_missing(WS_WHY_NO_DEVICE, NULL)
                       : is_drawable(point->intensity) ? point->flop_rate
                                                       : point->intensity;
            continue;
        }
        panel = panel_of(dots, s, device, point->precision);
        if (!panel || add_dot(panel, kernel, point) != 0)
            return -WS_ENOMEM;
        (*added)++;
    }
    return 0;
}

/* A roof is a part of the picture, too. */
static void widen_to_roof(struct ws_roof_panel *p, const struct ws_roof *roof)
{
    if (is_drawable(roof->ridge))
        widen_x(p, roof->ridge.number);
    if (is_drawable(roof->peak))
        widen_y(p, roof->peak.number);
}

static int by_device(const void *a, const void *b)
{
    const struct ws_roof_panel *x = a;
    const struct ws_roof_panel *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (int)x->precision - (int)y->precision;
}

int ws_roof_dots_load(const struct ws_session *session, struct ws_roof_dots *out)
{
    struct ws_report *report = malloc(sizeof *report);
    int err = report ? 0 : -WS_ENOMEM;
    *out = (struct ws_roof_dots){.reason = ws_missing(WS_WHY_NO_LAUNCH, NULL)};
    for (size_t i = 0; err == 0 && i < session->kernel_count; i++) {
        struct ws_value missing;
        size_t added = 0;
        ws_report_analyze(session, i, report);
        missing = report->roofline.reason;
        err = add_kernel(out, session, i, &report->roofline, &added, &missing);
        if (added == 0 && out->without++ == 0)
            out->reason = missing;
    }
    free(report);
    for (size_t i = 0; i < out->count; i++)
        for (int level = 0; level < WS_LEVEL_COUNT; level++) {
            widen_to_roof(&out->panels[i], &out->panels[i].measured[level]);
            widen_to_roof(&out->panels[i], &out->panels[i].sheet[level]);
        }
    if (out->count > 0)
        qsort(out->panels, out->count, sizeof *out->panels, by_device);
    return err;
}

void ws_roof_dots_fini(struct ws_roof_dots *dots)
{
    for (size_t i = 0; i < dots->count; i++)
        free(dots->panels[i].dots);
    free(dots->panels);
    *dots = (struct ws_roof_dots){.count = 0};
}

/* --- lines --- */

/* Room above the highest and beside the outermost: a dot on the edge is half a dot. */
#define ROOM 0.12

struct ws_roof_view ws_roof_view_of(const struct ws_roof_panel *panel)
{
    struct ws_roof_view v = {floor(log10(panel->least_x) - ROOM), ceil(log10(panel->most_x) + ROOM),
                             floor(log10(panel->least_y) - ROOM), ceil(log10(panel->most_y) + ROOM)};
    return v;
}

bool ws_roof_slope(const struct ws_roof *roof, const struct ws_roof_view *view, struct ws_roof_line *out)
{
    double rise, end;
    if (!is_drawable(roof->bandwidth))
        return false;
    rise = log10(roof->bandwidth.number);
    out->x0 = fmax(view->x0, view->y0 - rise);
    end = is_drawable(roof->ridge) ? log10(roof->ridge.number) : view->y1 - rise;
    out->x1 = fmin(view->x1, end);
    out->y0 = out->x0 + rise;
    out->y1 = out->x1 + rise;
    return out->x0 < out->x1;
}

bool ws_roof_flat(const struct ws_roof *roofs, const struct ws_roof_view *view, struct ws_roof_line *out)
{
    double start = INFINITY;
    if (!is_drawable(roofs[0].peak))
        return false;
    for (int level = 0; level < WS_LEVEL_COUNT; level++)
        if (is_drawable(roofs[level].ridge))
            start = fmin(start, log10(roofs[level].ridge.number));
    out->x0 = isfinite(start) ? fmax(view->x0, start) : view->x0;
    out->x1 = view->x1;
    out->y0 = out->y1 = log10(roofs[0].peak.number);
    return out->x0 < out->x1;
}

const char *ws_roof_rate_unit(enum ws_precision precision)
{
    return precision == WS_PRECISION_INT32 || precision == WS_PRECISION_TENSOR_INT8 ? "op/s" : "FLOP/s";
}

const char *ws_roof_intensity_unit(enum ws_precision precision)
{
    return precision == WS_PRECISION_INT32 || precision == WS_PRECISION_TENSOR_INT8 ? "op/B" : "FLOP/B";
}

const char *ws_roof_show_rate(char text[WS_ROOF_TEXT], struct ws_value rate, enum ws_precision precision)
{
    char *flop;
    ws_unit_format(text, WS_ROOF_TEXT, rate, WS_UNIT_FLOP_PER_SECOND);
    flop = strstr(text, "FLOP");
    if (flop && *ws_roof_rate_unit(precision) == 'o') {
        memmove(flop, flop + 2, strlen(flop + 2) + 1);
        memcpy(flop, "op", 2);
    }
    return text;
}
