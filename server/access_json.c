/* SPDX-License-Identifier: MIT
 * access_json.c: a regular access pattern and its costs as JSON. The rules are analyzer/access.c. */
#include "access_json.h"

void ws_access_fill_defaults(struct ws_pattern *pattern, bool has_pitch, bool has_plane)
{
    struct ws_pattern *p = pattern;
    int64_t step = p->stride ? (p->stride < 0 ? -p->stride : p->stride) : 1;
    if (!has_pitch)
        p->pitch = (p->is_transposed ? p->block_y : p->block_x) * step * (int64_t)p->width;
    if (!has_plane)
        p->plane = p->pitch * (p->is_transposed ? p->block_x : p->block_y);
}

static void put_warps(struct ws_json *j, const struct ws_pattern *p, const struct ws_access_report *a)
{
    ws_json_key(j, "per_warp");
    ws_json_array(j);
    for (uint32_t warp = 0; warp < a->warps; warp++) {
        uint64_t addr[WS_ACCESS_LANES];
        uint32_t mask = ws_access_lanes(p, warp, addr);
        struct ws_sectors s;
        struct ws_banks b, stored;
        ws_access_sectors(addr, mask, p->width, &s);
        ws_access_banks(addr, mask, p->width, WS_ACCESS_LOAD, &b);
        ws_access_banks(addr, mask, p->width, WS_ACCESS_STORE, &stored);
        ws_json_object_line(j);
        ws_json_put_uint(j, "lanes", s.lanes);
        ws_json_put_uint(j, "sectors", s.sectors);
        ws_json_put_uint(j, "ideal_sectors", s.ideal);
        ws_json_put_uint(j, "wavefronts", b.wavefronts);
        ws_json_put_uint(j, "ideal_wavefronts", b.ideal);
        ws_json_put_uint(j, "store_wavefronts", stored.wavefronts);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_lanes(struct ws_json *j, const struct ws_pattern *p, uint32_t warp)
{
    uint64_t addr[WS_ACCESS_LANES];
    uint32_t mask = ws_access_lanes(p, warp, addr);
    ws_json_put_uint(j, "warp", warp);
    ws_json_key(j, "lane_bytes");
    ws_json_array_line(j);
    for (uint32_t l = 0; l < WS_ACCESS_LANES; l++)
        if (mask >> l & 1)
            ws_json_int(j, (int64_t)(addr[l] - WS_ACCESS_BASE));
        else
            ws_json_null(j);
    ws_json_end(j);
}

void ws_access_json(struct ws_json *j, const struct ws_pattern *pattern, const struct ws_access_report *report,
                    uint32_t warp)
{
    const struct ws_pattern *p = pattern;
    const struct ws_access_report *a = report;
    ws_json_object(j);
    ws_json_key(j, "pattern");
    ws_json_object(j);
    ws_json_put_uint(j, "width", p->width);
    ws_json_put_int(j, "stride", p->stride);
    ws_json_put_int(j, "offset", p->offset);
    ws_json_key(j, "block");
    ws_json_array_line(j);
    ws_json_uint(j, p->block_x);
    ws_json_uint(j, p->block_y);
    ws_json_uint(j, p->block_z);
    ws_json_end(j);
    ws_json_put_int(j, "pitch", p->pitch);
    ws_json_put_int(j, "plane", p->plane);
    ws_json_put_bool(j, "transposed", p->is_transposed);
    ws_json_end(j);
    ws_json_put_uint(j, "warps", a->warps);
    ws_json_put_uint(j, "lanes", a->lanes);
    ws_json_put_uint(j, "bytes", a->bytes);
    ws_json_put_uint(j, "sectors", a->sectors);
    ws_json_put_uint(j, "ideal_sectors", a->ideal_sectors);
    ws_json_put_number(j, "sectors_per_request", (double)a->sectors / a->warps);
    ws_json_put_number(j, "efficiency", (double)a->used_bytes / (WS_ACCESS_SECTOR_BYTES * (double)a->sectors));
    ws_json_put_uint(j, "lines", a->lines);
    ws_json_put_uint(j, "wavefronts", a->wavefronts);
    ws_json_put_uint(j, "ideal_wavefronts", a->ideal_wavefronts);
    ws_json_put_uint(j, "store_wavefronts", a->store_wavefronts);
    ws_json_put_uint(j, "bank_conflicts", a->wavefronts - a->ideal_wavefronts);
    ws_json_put_uint(j, "padding_bytes", a->padding);
    ws_json_put_uint(j, "padded_wavefronts", a->padded_wavefronts);
    put_warps(j, p, a);
    put_lanes(j, p, warp);
    ws_json_end(j);
}
