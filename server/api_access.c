/* SPDX-License-Identifier: MIT
 * api_access.c: the access calculator: what one regular pattern costs. The rules are analyzer/access.c. */
#include "access_json.h"
#include "api.h"

#define FAR (1 << 28)

static bool read_flag(struct ws_call *call, const char *name, bool *out)
{
    int64_t n = 0;
    if (!ws_call_int(call, name, 0, 1, &n))
        return false;
    *out = n != 0;
    return true;
}

static bool read_pattern(struct ws_call *call, struct ws_pattern *p)
{
    int64_t width = 4, stride = 1, offset = 0, x = 32, y = 1, z = 1, pitch = INT64_MIN, plane = INT64_MIN;
    if (!ws_call_int(call, "width", 1, 16, &width) || !ws_call_int(call, "stride", -FAR, FAR, &stride) ||
        !ws_call_int(call, "offset", -FAR, FAR, &offset) || !ws_call_int(call, "x", 1, 1024, &x) ||
        !ws_call_int(call, "y", 1, 1024, &y) || !ws_call_int(call, "z", 1, 64, &z) ||
        !ws_call_int(call, "pitch", -FAR, FAR, &pitch) || !ws_call_int(call, "plane", -FAR, FAR, &plane) ||
        !read_flag(call, "transposed", &p->is_transposed))
        return false;
    p->width = (uint32_t)width;
    p->stride = stride;
    p->offset = offset;
    p->block_x = (uint32_t)x;
    p->block_y = (uint32_t)y;
    p->block_z = (uint32_t)z;
    p->pitch = pitch;
    p->plane = plane;
    ws_access_fill_defaults(p, pitch != INT64_MIN, plane != INT64_MIN);
    return true;
}

void ws_api_access(struct ws_call *call)
{
    struct ws_pattern pattern = {0};
    struct ws_access_report report;
    int64_t warp = 0;
    if (ws_call_unchanged(call))
        return;
    if (!read_pattern(call, &pattern) || !ws_call_int(call, "warp", 0, 31, &warp))
        return;
    if (ws_access_report(&pattern, &report) != 0 || warp >= report.warps) {
        ws_call_fail(call, 400, "bad_parameter",
                     "width 1, 2, 4, 8 or 16; at most 1024 threads; pitch and plane multiples of the width",
                     "no such access");
        return;
    }
    ws_access_json(ws_call_json(call), &pattern, &report, (uint32_t)warp);
}
