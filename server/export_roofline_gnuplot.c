/* SPDX-License-Identifier: MIT
 * export_roofline_gnuplot.c: the roofline as a gnuplot script (5.0 or newer) with its data inside: no other file is
 * read or written. Names are foreign text: what gnuplot could take for more than text is replaced. */
#include "export.h"
#include "roof_dots.h"
#include "text.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Kernels whose names stand in the picture. */
enum { NAMED = 8, NAME_COLUMNS = 30, PANEL_HEIGHT = 620 };

static const char *const colors[WS_LEVEL_COUNT] = {"#0b62c4", "#a04b00", "#1a7f37"};
static const int marks[WS_LEVEL_COUNT] = {7, 5, 9}; /* disc, square, triangle */

/* A text between double quotes, at most so many characters. Quotes, backslashes, backquotes and macros ('@') lose
 * their meaning; control characters and bytes that are no UTF-8 are tamed. */
static void put_quoted(struct ws_arena *arena, FILE *out, const char *text, size_t most)
{
    const char *tame = ws_text_tame(arena, text);
    size_t columns = 0;
    fputc('"', out);
    for (; *tame; tame++) {
        bool starts = ((unsigned char)*tame & 0xc0) != 0x80;
        if (starts && ++columns > most) {
            fputs("...", out);
            break;
        }
        fputc(strchr("\"\\`@", *tame) ? '\'' : *tame, out);
    }
    fputc('"', out);
}

/* --- data --- */

static void put_dots(const struct ws_session *s, const struct ws_roof_panel *p, size_t panel, enum ws_level level,
                     struct ws_arena *arena, FILE *out)
{
    fprintf(out, "$points_%zu_%d << EOD\n# intensity rate share_of_measured_roof kernel\n", panel, (int)level);
    for (size_t i = 0; i < p->count; i++) {
        const struct ws_roof_dot *dot = &p->dots[i];
        char share[32] = "NaN";
        if (dot->level != level)
            continue;
        if (ws_has(dot->percent))
            ws_number_text(dot->percent.number, share);
        fprintf(out, "%.9g %.9g %s ", dot->intensity, dot->rate, share);
        put_quoted(arena, out, s->kernels[dot->kernel].name.alias, 200);
        fputc('\n', out);
    }
    fputs("EOD\n", out);
}

/* What is above its roof is ringed: the third column says by how much. */
static void put_above(const struct ws_roof_panel *p, size_t panel, FILE *out)
{
    if (p->above == 0)
        return;
    fprintf(out, "$above_%zu << EOD\n", panel);
    for (size_t i = 0; i < p->count; i++)
        if (p->dots[i].is_above)
            fprintf(out, "%.9g %.9g %.9g\n", p->dots[i].intensity, p->dots[i].rate, p->dots[i].percent.number);
    fputs("EOD\n", out);
}

static bool has_level(const struct ws_roof_panel *p, enum ws_level level)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->dots[i].level == level)
            return true;
    return false;
}

/* The first kernels of the panel, each at one of its points. */
static void put_names(const struct ws_session *s, const struct ws_roof_panel *p, size_t panel, struct ws_arena *arena,
                      FILE *out)
{
    size_t written = 0;
    fprintf(out, "$names_%zu << EOD\n", panel);
    for (size_t i = 0; i < p->count && written < NAMED; i++) {
        if (i > 0 && p->dots[i].kernel == p->dots[i - 1].kernel)
            continue;
        fprintf(out, "%.9g %.9g ", p->dots[i].intensity, p->dots[i].rate);
        put_quoted(arena, out, s->kernels[p->dots[i].kernel].name.alias, NAME_COLUMNS);
        fputc('\n', out);
        written++;
    }
    fputs("EOD\n", out);
}

static void put_line(const struct ws_roof_line *line, FILE *out)
{
    fprintf(out, "%.9g %.9g\n%.9g %.9g\n\n", pow(10, line->x0), pow(10, line->y0), pow(10, line->x1),
            pow(10, line->y1));
}

static void put_data(const struct ws_session *s, const struct ws_roof_panel *p, size_t panel, struct ws_arena *arena,
                     FILE *out)
{
    struct ws_roof_view view = ws_roof_view_of(p);
    struct ws_roof_line line;
    for (int level = 0; level < WS_LEVEL_COUNT; level++) {
        if (has_level(p, (enum ws_level)level))
            put_dots(s, p, panel, (enum ws_level)level, arena, out);
        if (ws_roof_slope(&p->measured[level], &view, &line)) {
            fprintf(out, "$roof_%zu_%d << EOD\n", panel, level);
            put_line(&line, out);
            fputs("EOD\n", out);
        }
    }
    if (ws_roof_flat(p->measured, &view, &line)) {
        fprintf(out, "$peak_%zu << EOD\n", panel);
        put_line(&line, out);
        fputs("EOD\n", out);
    }
    if (ws_roof_slope(&p->sheet[WS_LEVEL_DRAM], &view, &line)) {
        fprintf(out, "$sheet_%zu << EOD\n", panel);
        put_line(&line, out);
        if (ws_roof_flat(p->sheet, &view, &line))
            put_line(&line, out);
        fputs("EOD\n", out);
    }
    put_above(p, panel, out);
    put_names(s, p, panel, arena, out);
}

/* --- plot --- */

static void put_slope_title(FILE *out, enum ws_level level, const struct ws_roof *roof)
{
    char text[64], at[64];
    ws_unit_format(text, sizeof text, roof->bandwidth, WS_UNIT_BYTE_PER_SECOND);
    ws_unit_format(at, sizeof at, roof->ridge, WS_UNIT_NUMBER);
    fprintf(out, "title \"%s %s measured", ws_level_name(level), text);
    if (ws_has(roof->ridge))
        fprintf(out, ", ridge %s", at);
    fputs("\"", out);
}

/* One plot command: what was given data above. */
static void put_plot(const struct ws_roof_panel *p, size_t panel, FILE *out)
{
    struct ws_roof_view view = ws_roof_view_of(p);
    struct ws_roof_line line;
    fputs("plot ", out);
    for (int level = 0; level < WS_LEVEL_COUNT; level++)
        if (ws_roof_slope(&p->measured[level], &view, &line)) {
            fprintf(out, "$roof_%zu_%d using 1:2 with lines lw 2 lc rgb \"%s\" ", panel, level, colors[level]);
            put_slope_title(out, (enum ws_level)level, &p->measured[level]);
            fputs(", \\\n     ", out);
        } else if (!ws_has(p->measured[level].bandwidth)) {
            fprintf(out, "NaN with lines lc rgb \"#ffffff\" title \"%s not measured\", \\\n     ",
                    ws_level_name((enum ws_level)level));
        }
    if (ws_roof_flat(p->measured, &view, &line)) {
        char text[WS_ROOF_TEXT];
        fprintf(out, "$peak_%zu using 1:2 with lines lw 2 lc rgb \"#6b3fa0\" title \"%s %s measured\", \\\n     ",
                panel, ws_precision_name(p->precision), ws_roof_show_rate(text, p->measured[0].peak, p->precision));
    }
    if (ws_roof_slope(&p->sheet[WS_LEVEL_DRAM], &view, &line))
        fprintf(out, "$sheet_%zu using 1:2 with lines dt 3 lw 1.5 lc rgb \"#57606a\" title \"data sheet\", \\\n     ",
                panel);
    for (int level = 0; level < WS_LEVEL_COUNT; level++)
        if (has_level(p, (enum ws_level)level))
            fprintf(out, "$points_%zu_%d using 1:2 with points pt %d ps 0.7 lc rgb \"%s\" title \"at %s\", \\\n     ",
                    panel, level, marks[level], colors[level], ws_level_name((enum ws_level)level));
    if (p->above > 0)
        fprintf(out,
                "$above_%zu using 1:2 with points pt 6 ps 1.8 lw 1.5 lc rgb \"#cf222e\" title \"above its measured "
                "roof\", \\\n     ",
                panel);
    fprintf(out, "$names_%zu using 1:2:3 with labels left offset 1,0.4 noenhanced font \",9\" notitle\n", panel);
}

static void put_panel(const struct ws_session *s, const struct ws_roof_panel *p, size_t panel, struct ws_arena *arena,
                      FILE *out)
{
    struct ws_roof_view view = ws_roof_view_of(p);
    char title[160];
    snprintf(title, sizeof title, "%s, GPU %u, %.60s%s", ws_precision_name(p->precision),
             s->devices[p->device].device.index, s->devices[p->device].device.name,
             ws_has(p->measured[0].peak) || ws_has(p->measured[0].bandwidth) ? "" : ": roofs not measured");
    fputs("set title ", out);
    put_quoted(arena, out, title, sizeof title);
    fprintf(out, " noenhanced\nset xrange [1e%.0f:1e%.0f]\nset yrange [1e%.0f:1e%.0f]\n", view.x0, view.x1, view.y0,
            view.y1);
    fprintf(out, "set xlabel \"arithmetic intensity, %s\"\nset ylabel \"rate, %s\"\n",
            ws_roof_intensity_unit(p->precision), ws_roof_rate_unit(p->precision));
    put_plot(p, panel, out);
}

static void put_script(const struct ws_session *s, const struct ws_roof_dots *dots, struct ws_arena *arena, FILE *out)
{
    fprintf(out,
            "#!/usr/bin/env gnuplot\n"
            "# Roofline of WarpSight session %" PRId64 ". Needs gnuplot 5 and no other file.\n"
            "#   gnuplot THIS >roofline.svg\n"
            "#   gnuplot -e 'keep_terminal=1; set terminal pngcairo size 1000,%zu' THIS >roofline.png\n"
            "# Solid: measured on this GPU. Dotted: its data sheet.\n"
            "if (!exists(\"keep_terminal\")) set terminal svg size 1000,%zu font \"sans,12\" background rgb \"white\"\n"
            "set encoding utf8\n",
            s->row.id, dots->count * PANEL_HEIGHT, dots->count * PANEL_HEIGHT);
    for (size_t i = 0; i < dots->count; i++)
        put_data(s, &dots->panels[i], i, arena, out);
    fputs("set logscale xy\nset format xy \"10^{%L}\"\nset grid lc rgb \"#d0d7de\"\nset key outside right top\n", out);
    if (dots->count > 1)
        fprintf(out, "set multiplot layout %zu,1\n", dots->count);
    for (size_t i = 0; i < dots->count; i++)
        put_panel(s, &dots->panels[i], i, arena, out);
    if (dots->count > 1)
        fputs("unset multiplot\n", out);
}

int ws_export_roofline_gnuplot(const struct ws_export *e)
{
    struct ws_arena arena = {NULL};
    struct ws_roof_dots dots;
    int err = ws_roof_dots_load(e->session, &dots);
    if (err == 0 && dots.count == 0) {
        char why[200];
        ws_unit_format(why, sizeof why, dots.reason, WS_UNIT_NUMBER);
        snprintf(e->message, e->cap, "no kernel has a roofline point to plot: %s", why);
        err = -WS_ENOENT;
    }
    if (err == 0)
        put_script(e->session, &dots, &arena, e->out);
    ws_roof_dots_fini(&dots);
    ws_arena_fini(&arena);
    return err;
}
