/* SPDX-License-Identifier: MIT
 * decode.c: t(B) = max(bytes / bandwidth, operations / peak). Pure. */
#include "decode.h"

#define ELEMENT_BYTES 2.0 /* half precision */
#define RESULT_BYTES 4.0

static double vector_bytes(double size)
{
    return size * (ELEMENT_BYTES + RESULT_BYTES);
}

void ws_decode_predict(double size, double batch, struct ws_value bandwidth, struct ws_value peak,
                       struct ws_decode *out)
{
    out->bytes = ELEMENT_BYTES * size * size + batch * vector_bytes(size);
    out->operations = 2 * size * size * batch;
    out->bound = WS_BOUND_UNKNOWN;
    out->seconds = ws_has(bandwidth) ? peak : bandwidth;
    if (!ws_has(bandwidth) || !ws_has(peak))
        return;
    out->bound = out->bytes / bandwidth.number >= out->operations / peak.number ? WS_BOUND_MEMORY : WS_BOUND_COMPUTE;
    out->seconds =
        ws_value_of(out->bound == WS_BOUND_MEMORY ? out->bytes / bandwidth.number : out->operations / peak.number);
    if (ws_has(out->seconds))
        out->seconds.origin = WS_ORIGIN_MODEL;
}

struct ws_value ws_decode_turn(double size, struct ws_value bandwidth, struct ws_value peak)
{
    double slope;
    if (!ws_has(bandwidth) || !ws_has(peak))
        return ws_has(bandwidth) ? peak : bandwidth;
    slope = 2 * size * size / peak.number - vector_bytes(size) / bandwidth.number; /* s a vector */
    if (!(slope > 0))
        return ws_missing(WS_WHY_ZERO, "peak");
    return ws_value_of(ELEMENT_BYTES * size * size / bandwidth.number / slope);
}
