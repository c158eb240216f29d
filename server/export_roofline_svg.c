/* SPDX-License-Identifier: MIT
 * export_roofline_svg.c: the roofline of a session as one picture: self-contained (no script, no font, no link), with
 * logarithmic axes, readable on light and dark, one panel for each GPU and precision. Measured roofs are drawn solid,
 * the data sheet's dotted; a point above its roof is ringed, not moved. Names are foreign text: ws_xml_text. */
#include "export.h"
#include "roof_dots.h"
#include "text.h"
#include "xml.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Sizes in pixels of the picture's own grid. */
enum { WIDTH = 1120, HEAD = 76, PANEL = 540, FOOT = 16 };
enum { LEFT = 104, TOP = 34, PLOT_WIDTH = 640, PLOT_HEIGHT = 430, LEGEND = 772, LINE = 17 };
/* Kernels that get a number in the picture and a line in the legend; of the others the tooltip tells. */
enum { NAMED = 10, NAME_COLUMNS = 34, BOXES = (WS_LEVEL_COUNT + 1) * NAMED };

static const char style[] =
    "<style>\n"
    "svg{--paper:#ffffff;--ink:#1b1f24;--soft:#57606a;--grid:#e4e7eb;--dram:#0b62c4;--l2:#a04b00;--l1:#1a7f37;"
    "--peak:#6b3fa0;--doubt:#cf222e;font:12px system-ui,-apple-system,'Segoe UI',sans-serif}\n"
    "@media (prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--soft:#9aa4af;--grid:#262c34;"
    "--dram:#6cb6ff;--l2:#f0a35e;--l1:#57d97a;--peak:#c8a6ff;--doubt:#ff7b72}}\n"
    ".paper{fill:var(--paper)}text{fill:var(--ink)}.soft{fill:var(--soft)}.h{font-weight:600}"
    ".title{font-size:17px;font-weight:600}.small{font-size:11px}.mid{text-anchor:middle}.end{text-anchor:end}\n"
    ".grid{stroke:var(--grid);stroke-width:1}.frame{fill:none;stroke:var(--soft);stroke-width:1}"
    ".roof{fill:none;stroke-width:2}.sheet{stroke-dasharray:2 4;stroke-width:1.5}\n"
    ".DRAM{stroke:var(--dram);fill:var(--dram)}.L2{stroke:var(--l2);fill:var(--l2)}.L1{stroke:var(--l1);"
    "fill:var(--l1)}.peak{stroke:var(--peak);fill:var(--peak)}text.DRAM,text.L2,text.L1,text.peak{stroke:none}\n"
    ".dot{fill-opacity:.4;stroke-width:1}.dot.big{fill-opacity:1}.doubt{fill:none;stroke:var(--doubt);"
    "stroke-width:1.5}.join{stroke:var(--soft);stroke-width:.8;stroke-opacity:.7}.ridge{fill:var(--paper);"
    "stroke-width:1.5}.tag{font-size:11px;font-weight:600;paint-order:stroke;stroke:var(--paper);stroke-width:3px}\n"
    "</style>\n";

struct box {
    double x0, y0, x1, y1;
};

struct canvas {
    FILE *out;
    const struct ws_session *session;
    const struct ws_roof_panel *panel;
    struct ws_roof_view view;
    struct box taken[BOXES]; /* by marks and numbers of named kernels */
    size_t taken_count;
    size_t named[NAMED]; /* kernels with a number, longest total time first */
    size_t named_count;
};

static double at_x(const struct canvas *c, double log_x)
{
    return LEFT + (log_x - c->view.x0) / (c->view.x1 - c->view.x0) * PLOT_WIDTH;
}

static double at_y(const struct canvas *c, double log_y)
{
    return TOP + PLOT_HEIGHT - (log_y - c->view.y0) / (c->view.y1 - c->view.y0) * PLOT_HEIGHT;
}

static const char *const level_classes[WS_LEVEL_COUNT] = {"DRAM", "L2", "L1"};

/* --- axes --- */

/* Powers of ten, every `step`th with a number so that at most a dozen are written. */
static int step_of(double from, double to)
{
    return (int)fmax(1, ceil((to - from) / 12)) /* doubles have some 600 */;
}

static void put_power(FILE *out, int power)
{
    if (power >= -2 && power <= 3)
        fprintf(out, "%.*f", power < 0 ? -power : 0, pow(10, power));
    else
        fprintf(out, "10<tspan dy=\"-4\" font-size=\"9\">%d</tspan>", power);
}

static void put_axes(const struct canvas *c)
{
    const struct ws_roof_view *v = &c->view;
    int step = step_of(v->x0, v->x1);
    for (int p = (int)v->x0; p <= (int)v->x1; p += step) {
        fprintf(c->out, "<path class=\"grid\" d=\"M%.1f %dv%d\"/><text class=\"small soft mid\" x=\"%.1f\" y=\"%d\">",
                at_x(c, p), TOP, PLOT_HEIGHT, at_x(c, p), TOP + PLOT_HEIGHT + 16);
        put_power(c->out, p);
        fputs("</text>\n", c->out);
    }
    step = step_of(v->y0, v->y1);
    for (int p = (int)v->y0; p <= (int)v->y1; p += step) {
        char text[WS_ROOF_TEXT];
        fprintf(c->out, "<path class=\"grid\" d=\"M%d %.1fh%d\"/><text class=\"small soft end\" x=\"%d\" y=\"%.1f\">",
                LEFT, at_y(c, p), PLOT_WIDTH, LEFT - 6, at_y(c, p) + 4);
        if (p >= 3 && p < 21)
            fputs(ws_roof_show_rate(text, ws_value_of(pow(10, p)), c->panel->precision), c->out);
        else
            put_power(c->out, p);
        fputs("</text>\n", c->out);
    }
    fprintf(c->out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP, PLOT_WIDTH,
            PLOT_HEIGHT);
    fprintf(c->out,
            "<text class=\"soft mid\" x=\"%d\" y=\"%d\">arithmetic intensity, %s of the level's traffic</text>\n",
            LEFT + PLOT_WIDTH / 2, TOP + PLOT_HEIGHT + 36, ws_roof_intensity_unit(c->panel->precision));
    fprintf(c->out, "<text class=\"soft mid\" transform=\"translate(20 %d) rotate(-90)\">rate, %s</text>\n",
            TOP + PLOT_HEIGHT / 2, ws_roof_rate_unit(c->panel->precision));
}

/* --- roofs --- */

static void put_line(const struct canvas *c, const struct ws_roof_line *l, const char *what, const char *kind)
{
    fprintf(c->out, "<path class=\"roof %s%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", what, kind, at_x(c, l->x0),
            at_y(c, l->y0), at_x(c, l->x1), at_y(c, l->y1));
}

/* The level's name along its line, a bit above it, where it begins. */
static void put_slope_name(const struct canvas *c, const struct ws_roof_line *l, enum ws_level level)
{
    double dx = at_x(c, l->x1) - at_x(c, l->x0), dy = at_y(c, l->y1) - at_y(c, l->y0);
    double length = hypot(dx, dy);
    double along = fmin(0.12 * length, 40);
    if (length < 60)
        return;
    fprintf(c->out, "<text class=\"tag %s\" transform=\"translate(%.1f %.1f) rotate(%.1f)\" dy=\"-5\">%s</text>\n",
            level_classes[level], at_x(c, l->x0) + dx / length * along, at_y(c, l->y0) + dy / length * along,
            atan2(dy, dx) * 180 / acos(-1), ws_level_name(level));
}

static void put_roofs(const struct canvas *c)
{
    const struct ws_roof_panel *p = c->panel;
    struct ws_roof_line line;
    for (int level = 0; level < WS_LEVEL_COUNT; level++) {
        if (ws_roof_slope(&p->sheet[level], &c->view, &line))
            put_line(c, &line, level_classes[level], " sheet");
        if (ws_roof_slope(&p->measured[level], &c->view, &line)) {
            put_line(c, &line, level_classes[level], "");
            put_slope_name(c, &line, (enum ws_level)level);
        }
    }
    if (ws_roof_flat(p->sheet, &c->view, &line))
        put_line(c, &line, "peak", " sheet");
    if (ws_roof_flat(p->measured, &c->view, &line))
        put_line(c, &line, "peak", "");
    for (int level = 0; level < WS_LEVEL_COUNT; level++)
        if (ws_has(p->measured[level].ridge) && p->measured[level].ridge.number > 0)
            fprintf(c->out, "<circle class=\"ridge %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill-opacity=\"0\"/>\n",
                    level_classes[level], at_x(c, log10(p->measured[level].ridge.number)),
                    at_y(c, log10(p->measured[level].peak.number)));
}

/* --- points --- */

/* Circle, square, triangle: told apart without colour, too. */
static void put_mark(FILE *out, enum ws_level level, double x, double y, double r, bool is_big)
{
    const char *big = is_big ? " big" : "";
    if (level == WS_LEVEL_DRAM)
        fprintf(out, "<circle class=\"dot DRAM%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", big, x, y, r);
    else if (level == WS_LEVEL_L2)
        fprintf(out, "<rect class=\"dot L2%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", big, x - r,
                y - r, 2 * r, 2 * r);
    else
        fprintf(out, "<path class=\"dot L1%s\" d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>", big, x, y - 1.2 * r, 1.2 * r,
                2.1 * r, -2.4 * r);
}

static size_t number_of(const struct canvas *c, size_t kernel)
{
    for (size_t i = 0; i < c->named_count; i++)
        if (c->named[i] == kernel)
            return i + 1;
    return 0;
}

static void put_tooltip(const struct canvas *c, const struct ws_roof_dot *dot)
{
    const struct ws_kernel *k = &c->session->kernels[dot->kernel];
    char intensity[64], rate[WS_ROOF_TEXT], percent[64];
    ws_unit_format(intensity, sizeof intensity, ws_value_of(dot->intensity), WS_UNIT_NUMBER);
    ws_unit_format(percent, sizeof percent, dot->percent, WS_UNIT_RATIO);
    fputs("<title>", c->out);
    ws_xml_text(c->out, k->name.demangled, 200);
    fprintf(c->out, "\n%s: %s %s, %s", ws_level_name(dot->level), intensity,
            ws_roof_intensity_unit(c->panel->precision),
            ws_roof_show_rate(rate, ws_value_of(dot->rate), c->panel->precision));
    if (ws_has(dot->percent))
        fprintf(c->out, ", %s of its measured roof%s", percent,
                dot->is_above ? ": above it, doubt the counters or the ceiling" : "");
    fputs("</title>", c->out);
}

static void put_dot(const struct canvas *c, const struct ws_roof_dot *dot)
{
    bool is_named = number_of(c, dot->kernel) > 0;
    double x = at_x(c, log10(dot->intensity)), y = at_y(c, log10(dot->rate));
    fputs("<g>", c->out);
    put_tooltip(c, dot);
    put_mark(c->out, dot->level, x, y, is_named ? 4.2 : 3, is_named);
    if (dot->is_above)
        fprintf(c->out, "<circle class=\"doubt\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\"/>", x, y);
    fputs("</g>\n", c->out);
}

static bool is_free(const struct canvas *c, const struct box *b)
{
    if (b->x0 < LEFT || b->x1 > LEFT + PLOT_WIDTH || b->y0 < TOP || b->y1 > TOP + PLOT_HEIGHT)
        return false;
    for (size_t i = 0; i < c->taken_count; i++)
        if (b->x0 < c->taken[i].x1 && b->x1 > c->taken[i].x0 && b->y0 < c->taken[i].y1 && b->y1 > c->taken[i].y0)
            return false;
    return true;
}

/* The kernel's number beside its points, where there is room; without any it stands in the legend only. */
static void put_tag(struct canvas *c, size_t number, double x0, double x1, double y)
{
    double width = number < 10 ? 8 : 15;
    const struct box places[] = {
        {x1 + 7, y - 6, x1 + 7 + width, y + 6},          {x0 - 7 - width, y - 6, x0 - 7, y + 6},
        {x1 - width / 2, y - 19, x1 + width / 2, y - 7}, {x1 - width / 2, y + 7, x1 + width / 2, y + 19},
        {x0 - width / 2, y - 19, x0 + width / 2, y - 7}, {x0 - width / 2, y + 7, x0 + width / 2, y + 19}};
    for (size_t i = 0; i < sizeof places / sizeof places[0] && c->taken_count < BOXES; i++) {
        if (!is_free(c, &places[i]))
            continue;
        c->taken[c->taken_count++] = places[i];
        fprintf(c->out, "<text class=\"tag\" x=\"%.1f\" y=\"%.1f\">%zu</text>\n", places[i].x0, places[i].y1 - 2,
                number);
        return;
    }
}

/* One kernel does its work at one rate: its levels lie on one line. */
struct span {
    double x0, x1, y;
};

static struct span span_of(const struct canvas *c, size_t number)
{
    struct span s = {INFINITY, -INFINITY, 0};
    for (size_t i = 0; i < c->panel->count; i++) {
        const struct ws_roof_dot *dot = &c->panel->dots[i];
        if (dot->kernel != c->named[number - 1])
            continue;
        s.x0 = fmin(s.x0, at_x(c, log10(dot->intensity)));
        s.x1 = fmax(s.x1, at_x(c, log10(dot->intensity)));
        s.y = at_y(c, log10(dot->rate));
    }
    return s;
}

/* Those of named kernels over all others, and what the numbers must not cover. */
static void put_dots(struct canvas *c, bool named)
{
    for (size_t i = 0; i < c->panel->count; i++) {
        const struct ws_roof_dot *dot = &c->panel->dots[i];
        double x = at_x(c, log10(dot->intensity)), y = at_y(c, log10(dot->rate));
        if ((number_of(c, dot->kernel) > 0) != named)
            continue;
        put_dot(c, dot);
        if (named && c->taken_count < BOXES)
            c->taken[c->taken_count++] = (struct box){x - 5, y - 5, x + 5, y + 5};
    }
}

static void put_points(struct canvas *c)
{
    put_dots(c, false);
    for (size_t i = 1; i <= c->named_count; i++) {
        struct span s = span_of(c, i);
        fprintf(c->out, "<path class=\"join\" d=\"M%.1f %.1fH%.1f\"/>\n", s.x0, s.y, s.x1);
    }
    put_dots(c, true);
    for (size_t i = 1; i <= c->named_count; i++) {
        struct span s = span_of(c, i);
        put_tag(c, i, s.x0, s.x1, s.y);
    }
}

/* --- legend --- */

/* "DRAM  4.42 TB/s, ridge 14.4 FLOP/B", or why not; y moves on. */
static void put_roof_row(const struct canvas *c, int *y, const char *what, const char *kind, const char *text)
{
    *y += LINE;
    fprintf(c->out, "<path class=\"roof %s%s\" d=\"M%d %dh22\"/><text x=\"%d\" y=\"%d\">", what, kind, LEGEND, *y - 4,
            LEGEND + 30, *y);
    ws_xml_text(c->out, text, 0);
    fputs("</text>\n", c->out);
}

static void put_memory_row(const struct canvas *c, int *y, enum ws_level level, const struct ws_roof *roof,
                           const char *kind)
{
    char rate[64], ridge[64], text[160];
    ws_unit_format(rate, sizeof rate, roof->bandwidth, WS_UNIT_BYTE_PER_SECOND);
    ws_unit_format(ridge, sizeof ridge, roof->ridge, WS_UNIT_NUMBER);
    if (!ws_has(roof->bandwidth))
        snprintf(text, sizeof text, "%s: %s", ws_level_name(level),
                 roof->bandwidth.why == WS_WHY_NOT_MEASURED ? "not measured" : "measured, but not believed");
    else if (ws_has(roof->ridge))
        snprintf(text, sizeof text, "%s %s, ridge %s %s", ws_level_name(level), rate, ridge,
                 ws_roof_intensity_unit(c->panel->precision));
    else
        snprintf(text, sizeof text, "%s %s", ws_level_name(level), rate);
    put_roof_row(c, y, level_classes[level], kind, text);
}

static void put_peak_row(const struct canvas *c, int *y, const struct ws_roof *roof, const char *kind)
{
    char rate[WS_ROOF_TEXT], text[160];
    if (ws_has(roof->peak))
        snprintf(text, sizeof text, "%s %s", ws_precision_name(c->panel->precision),
                 ws_roof_show_rate(rate, roof->peak, c->panel->precision));
    else
        snprintf(text, sizeof text, "%s: not measured", ws_precision_name(c->panel->precision));
    put_roof_row(c, y, "peak", kind, text);
}

static void put_heading(const struct canvas *c, int *y, const char *text)
{
    *y += LINE + 6;
    fprintf(c->out, "<text class=\"h\" x=\"%d\" y=\"%d\">%s</text>\n", LEGEND, *y, text);
}

static void put_roof_legend(const struct canvas *c, int *y)
{
    const struct ws_roof_panel *p = c->panel;
    bool any = ws_has(p->measured[0].peak);
    for (int level = 0; level < WS_LEVEL_COUNT; level++)
        any = any || ws_has(p->measured[level].bandwidth);
    put_heading(c, y, any ? "Roofs measured on this GPU" : "Roofs of this GPU: not measured");
    for (int level = WS_LEVEL_COUNT; level-- > 0;)
        put_memory_row(c, y, (enum ws_level)level, &p->measured[level], "");
    put_peak_row(c, y, &p->measured[0], "");
    if (!ws_has(p->sheet[WS_LEVEL_DRAM].bandwidth) && !ws_has(p->sheet[0].peak))
        return;
    put_heading(c, y, "Roofs of its data sheet (dotted)");
    if (ws_has(p->sheet[WS_LEVEL_DRAM].bandwidth))
        put_memory_row(c, y, WS_LEVEL_DRAM, &p->sheet[WS_LEVEL_DRAM], " sheet");
    if (ws_has(p->sheet[0].peak))
        put_peak_row(c, y, &p->sheet[0], " sheet");
}

static void put_mark_legend(const struct canvas *c, int *y)
{
    put_heading(c, y, "Points: traffic counted at");
    *y += LINE;
    for (int level = 0; level < WS_LEVEL_COUNT; level++) {
        int x = LEGEND + 6 + 74 * level;
        put_mark(c->out, (enum ws_level)level, x, *y - 4, 4.2, true);
        fprintf(c->out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 12, *y, ws_level_name((enum ws_level)level));
    }
    if (c->panel->above == 0)
        return;
    *y += LINE + 2;
    fprintf(c->out,
            "<circle class=\"doubt\" cx=\"%d\" cy=\"%d\" r=\"6\"/><text x=\"%d\" y=\"%d\">%zu above %s roof: doubt the "
            "counters or the ceiling</text>\n",
            LEGEND + 6, *y - 4, LEGEND + 18, *y, c->panel->above, c->panel->above == 1 ? "its" : "their");
}

static void put_kernel_legend(const struct canvas *c, int *y, size_t kernels)
{
    put_heading(c, y, "Kernels, longest total time first");
    for (size_t i = 0; i < c->named_count; i++) {
        const struct ws_kernel *k = &c->session->kernels[c->named[i]];
        char time[64];
        ws_unit_format(time, sizeof time, k->times.total, WS_UNIT_SECOND);
        *y += LINE;
        fprintf(c->out, "<text class=\"h end\" x=\"%d\" y=\"%d\">%zu</text><text x=\"%d\" y=\"%d\"><title>",
                LEGEND + 14, *y, i + 1, LEGEND + 22, *y);
        ws_xml_text(c->out, k->name.demangled, 200);
        fputs("</title>", c->out);
        ws_xml_text(c->out, k->name.alias, NAME_COLUMNS);
        fprintf(c->out, "</text><text class=\"soft end\" x=\"%d\" y=\"%d\">%s</text>\n", WIDTH - 16, *y,
                ws_has(k->times.total) ? time : "");
    }
    if (kernels > c->named_count) {
        *y += LINE;
        fprintf(c->out, "<text class=\"soft\" x=\"%d\" y=\"%d\">and %zu more: point at one for its name</text>\n",
                LEGEND + 22, *y, kernels - c->named_count);
    }
}

/* --- all together --- */

/* Which kernels get a number: the session has them longest first, a panel's dots are in that order. */
static size_t choose_named(struct canvas *c)
{
    size_t kernels = 0;
    c->named_count = 0;
    for (size_t i = 0; i < c->panel->count; i++) {
        if (i > 0 && c->panel->dots[i].kernel == c->panel->dots[i - 1].kernel)
            continue;
        kernels++;
        if (c->named_count < NAMED)
            c->named[c->named_count++] = c->panel->dots[i].kernel;
    }
    return kernels;
}

static void put_panel(struct canvas *c, size_t place)
{
    int y = TOP - 4 - LINE;
    size_t kernels = choose_named(c);
    c->view = ws_roof_view_of(c->panel);
    c->taken_count = 0;
    fprintf(c->out, "<g transform=\"translate(0 %zu)\">\n<text class=\"h\" x=\"%d\" y=\"20\">%s</text>\n",
            HEAD + place * PANEL, LEFT, ws_precision_name(c->panel->precision));
    if (c->session->device_count > 1) {
        fprintf(c->out, "<text class=\"soft\" x=\"%d\" y=\"20\">GPU %u, ", LEFT + 90,
                c->session->devices[c->panel->device].device.index);
        ws_xml_text(c->out, c->session->devices[c->panel->device].device.name, 60);
        fputs("</text>\n", c->out);
    }
    put_axes(c);
    put_roofs(c);
    put_points(c);
    put_roof_legend(c, &y);
    put_mark_legend(c, &y);
    put_kernel_legend(c, &y, kernels);
    fputs("</g>\n", c->out);
}

/* "Session 1 "name" on NVIDIA H200, measured". */
static void put_head(FILE *out, const struct ws_session *s)
{
    fprintf(out, "<text class=\"title\" x=\"24\" y=\"32\">Roofline of session %" PRId64, s->row.id);
    if (*s->row.name) {
        fputs(" “", out);
        ws_xml_text(out, s->row.name, 60);
        fputs("”", out);
    }
    fputs("</text>\n<text class=\"soft\" x=\"24\" y=\"54\">", out);
    if (s->device_count > 0)
        ws_xml_text(out, s->devices[0].device.name, 60);
    fprintf(out, "%s%s; points ", s->device_count > 1 ? " and others" : "", s->device_count ? "" : "no GPU is known");
    ws_xml_text(out, s->row.source, 20);
    fputs("; kernels at one height do the same work per second, the further right with the less traffic</text>\n", out);
}

static void put_nothing(FILE *out, const struct ws_session *s, const struct ws_roof_dots *dots)
{
    char why[200];
    size_t sampled = 0;
    for (size_t i = 0; i < s->kernel_count; i++)
        sampled += ws_has(s->kernels[i].sampled_blocks);
    ws_unit_format(why, sizeof why, dots->reason, WS_UNIT_NUMBER);
    fprintf(out, "<text x=\"24\" y=\"%d\">No kernel has a point: ", HEAD + 24);
    ws_xml_text(out, why, 0);
    fputs("</text>\n", out);
    if (sampled > 0)
        fprintf(
            out,
            "<text class=\"soft\" x=\"24\" y=\"%d\">Of %zu kernel%s a part of the blocks ran: roofline-json says how "
            "many of how many</text>\n",
            HEAD + 44, sampled, sampled == 1 ? "" : "s");
}

static void put_picture(const struct ws_session *session, const struct ws_roof_dots *dots, FILE *out)
{
    struct canvas c = {.out = out, .session = session};
    size_t height = HEAD + (dots->count > 0 ? dots->count * PANEL : 60) + FOOT + (dots->without > 0 ? 20 : 0);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" width=\"%d\" height=\"%zu\" "
            "role=\"img\">\n<title>Roofline of session %" PRId64 "</title>\n",
            WIDTH, height, WIDTH, height, session->row.id);
    fputs(style, out);
    fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", out);
    put_head(out, session);
    for (size_t i = 0; i < dots->count; i++) {
        c.panel = &dots->panels[i];
        put_panel(&c, i);
    }
    if (dots->count == 0)
        put_nothing(out, session, dots);
    else if (dots->without > 0)
        fprintf(out,
                "<text class=\"soft\" x=\"24\" y=\"%zu\">%zu kernel%s without a point: roofline-json says why</text>\n",
                height - FOOT, dots->without, dots->without == 1 ? "" : "s");
    fputs("</svg>\n", out);
}

int ws_export_roofline_svg(const struct ws_export *e)
{
    struct ws_roof_dots dots;
    int err = ws_roof_dots_load(e->session, &dots);
    if (err == 0)
        put_picture(e->session, &dots, e->out);
    ws_roof_dots_fini(&dots);
    return err;
}
