/* SPDX-License-Identifier: MIT
 * roof_dots.h: what a picture of a roofline is drawn from: the points of a session, sorted into one panel for each GPU
 * and precision, with the measured and the data-sheet roofs over them. Draws nothing.
 * Read on: export_roofline_svg.c and export_roofline_gnuplot.c (draw it), analyzer/roofline.h (the roofs). */
#ifndef WS_SERVER_ROOF_DOTS_H
#define WS_SERVER_ROOF_DOTS_H

#include "report.h"

/* One kernel at one level of memory. */
struct ws_roof_dot {
    size_t kernel; /* of the session */
    enum ws_level level;
    double intensity, rate; /* operations per byte, operations per second; both > 0 */
    struct ws_value percent;
    bool is_above; /* its measured roof: doubt the counters or the ceiling */
};

/* One GPU and precision. */
struct ws_roof_panel {
    size_t device; /* of the session */
    enum ws_precision precision;
    struct ws_roof measured[WS_LEVEL_COUNT], sheet[WS_LEVEL_COUNT]; /* bandwidth, peak and ridge only */
    struct ws_roof_dot *dots;                                       /* [count], in order of the session's kernels */
    size_t count, cap;
    size_t above;                            /* dots above their measured roof */
    double least_x, most_x, least_y, most_y; /* of the dots, the ridges and the peaks */
};

struct ws_roof_dots {
    struct ws_roof_panel *panels; /* [count]: those with a dot; by GPU, then precision */
    size_t count, cap;
    size_t without;         /* kernels that have no dot at all */
    struct ws_value reason; /* why the first of these has none */
};

/* Fill *out; ws_roof_dots_fini frees it, also after an error. -WS_ENOMEM. */
int ws_roof_dots_load(const struct ws_session *session, struct ws_roof_dots *out);
void ws_roof_dots_fini(struct ws_roof_dots *dots);

/* The picture's edges, whole powers of ten around everything in it: log10 of the intensity and of the rate. */
struct ws_roof_view {
    double x0, x1, y0, y1;
};
struct ws_roof_view ws_roof_view_of(const struct ws_roof_panel *panel);

/* A straight line in that view, as log10. */
struct ws_roof_line {
    double x0, y0, x1, y1;
};
/* The rising part of a roof: bytes per second times intensity, up to the peak or the edge. False: no bandwidth, or
 * nothing of it lies in the view. */
bool ws_roof_slope(const struct ws_roof *roof, const struct ws_roof_view *view, struct ws_roof_line *out);
/* The level part over all levels of roofs[WS_LEVEL_COUNT], from the first ridge on. False: no peak. */
bool ws_roof_flat(const struct ws_roof *roofs, const struct ws_roof_view *view, struct ws_roof_line *out);

/* "FLOP/s" or, for integers, "op/s"; the unit of the intensity likewise. */
const char *ws_roof_rate_unit(enum ws_precision precision);
const char *ws_roof_intensity_unit(enum ws_precision precision);
/* A rate for people: "63.8 TFLOP/s", "16.7 Top/s", or why there is none; in text, which is returned. */
enum { WS_ROOF_TEXT = 96 };
const char *ws_roof_show_rate(char text[WS_ROOF_TEXT], struct ws_value rate, enum ws_precision precision);

#endif
