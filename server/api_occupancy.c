/* SPDX-License-Identifier: MIT
 * api_occupancy.c: the occupancy calculator: one configuration on one compute capability, and its curves.
 * The limits and the thinking are the analyzer's (gpus.def, occupancy.c). */
#include "../analyzer/err.h"
#include "../analyzer/occupancy.h"
#include "api.h"

#include <stdlib.h>

/* "9.0" → a row of gpus.def. */
static const struct ws_limits *find_limits(struct ws_call *call)
{
    const char *text = ws_http_param(call->request, "cc");
    const struct ws_limits *limits = NULL;
    unsigned major;
    unsigned minor;
    char rest;
    if (text && sscanf(text, "%2u.%2u%c", &major, &minor, &rest) == 2)
        limits = ws_gpus_limits(major, minor);
    if (!text)
        limits = ws_gpus_limits(9, 0);
    if (!limits)
        ws_call_fail(call, 400, "bad_parameter", "/api/v1/catalogue lists the known ones under limits",
                     "cc must be a known compute capability, such as 9.0");
    return limits;
}

static bool read_config(struct ws_call *call, struct ws_occ_config *c)
{
    int64_t threads = 256;
    int64_t regs = 32;
    int64_t smem = 0;
    int64_t dynamic = 0;
    int64_t barriers = 1;
    int64_t cluster = 1;
    int64_t carveout = -1;
    if (!ws_call_int(call, "threads", 1, WS_BLOCK_THREADS_MAX, &threads) || !ws_call_int(call, "regs", 0, 255, &regs) ||
        !ws_call_int(call, "smem", 0, 1 << 20, &smem) || !ws_call_int(call, "dynamic", 0, 1 << 20, &dynamic) ||
        !ws_call_int(call, "barriers", 0, 64, &barriers) || !ws_call_int(call, "cluster", 1, 64, &cluster) ||
        !ws_call_int(call, "carveout", 0, 1 << 20, &carveout))
        return false;
    *c = (struct ws_occ_config){.threads = (uint32_t)threads,
                                .regs_per_thread = (uint32_t)regs,
                                .static_smem_bytes = (uint32_t)smem,
                                .dynamic_smem_bytes = (uint32_t)dynamic,
                                .barriers = (uint32_t)barriers,
                                .cluster = (uint32_t)cluster,
                                .carveout_chosen = carveout >= 0,
                                .carveout_bytes = carveout >= 0 ? (uint32_t)carveout : 0};
    return true;
}

static void put_config(struct ws_json *j, const struct ws_occ_config *c)
{
    ws_json_key(j, "config");
    ws_json_object(j);
    ws_json_put_uint(j, "threads", c->threads);
    ws_json_put_uint(j, "regs", c->regs_per_thread);
    ws_json_put_uint(j, "smem", c->static_smem_bytes);
    ws_json_put_uint(j, "dynamic", c->dynamic_smem_bytes);
    ws_json_put_uint(j, "barriers", c->barriers);
    ws_json_put_uint(j, "cluster", c->cluster);
    if (c->carveout_chosen)
        ws_json_put_uint(j, "carveout", c->carveout_bytes);
    else
        ws_json_put_null(j, "carveout");
    ws_json_end(j);
}

static void put_occupancy(struct ws_json *j, const struct ws_occupancy *o)
{
    ws_json_key(j, "occupancy");
    ws_json_object(j);
    if (ws_has(o->theoretical))
        ws_json_put_number(j, "theoretical", o->theoretical.number);
    else
        ws_json_put_null(j, "theoretical");
    ws_json_put_uint(j, "blocks_per_sm", o->blocks_per_sm);
    ws_json_put_uint(j, "warps_per_sm", o->warps_per_sm);
    ws_json_put_uint(j, "max_warps", o->max_warps);
    ws_json_put_text(j, "limiter", ws_occ_limit_name(o->limiter));
    ws_json_key(j, "limiters");
    ws_json_array_line(j);
    for (int i = 0; i < WS_OCC_LIMIT_COUNT; i++)
        if (o->limiters & (1u << i))
            ws_json_text(j, ws_occ_limit_name((enum ws_occ_limit)i));
    ws_json_end(j);
    ws_json_key(j, "limits");
    ws_json_object(j);
    for (int i = 0; i < WS_OCC_LIMIT_COUNT; i++) {
        ws_json_key(j, ws_occ_limit_name((enum ws_occ_limit)i));
        if (o->limit[i] == WS_OCC_NO_LIMIT)
            ws_json_null(j);
        else
            ws_json_uint(j, o->limit[i]);
    }
    ws_json_end(j);
    ws_json_put_uint(j, "regs_per_block", o->regs_per_block);
    ws_json_put_uint(j, "smem_per_block", o->smem_per_block);
    ws_json_put_uint(j, "carveout_bytes", o->carveout_bytes);
    ws_json_end(j);
}

static void put_curves(struct ws_json *j, const struct ws_limits *limits, const struct ws_occ_config *c)
{
    struct ws_occ_point points[WS_OCC_CURVE_MAX];
    ws_json_key(j, "curves");
    ws_json_object(j);
    for (int axis = 0; axis < WS_OCC_AXIS_COUNT; axis++) {
        size_t n = ws_occupancy_curve(limits, c, (enum ws_occ_axis)axis, points, WS_OCC_CURVE_MAX);
        ws_json_key(j, ws_occ_axis_name((enum ws_occ_axis)axis));
        ws_json_array(j);
        for (size_t i = 0; i < n; i++) {
            ws_json_object_line(j);
            ws_json_put_uint(j, "x", points[i].x);
            ws_json_put_uint(j, "blocks", points[i].blocks);
            ws_json_put_uint(j, "warps", points[i].warps);
            ws_json_put_text(j, "limiter", ws_occ_limit_name(points[i].limiter));
            ws_json_end(j);
        }
        ws_json_end(j);
    }
    ws_json_end(j);
}

void ws_api_put_limits(struct ws_json *j, const struct ws_limits *l)
{
    char cc[24];
    snprintf(cc, sizeof cc, "%u.%u", (unsigned)l->cc_major, (unsigned)l->cc_minor);
    ws_json_object(j);
    ws_json_put_text(j, "cc", cc);
    ws_json_put_uint(j, "warps_per_sm", l->warps_per_sm);
    ws_json_put_uint(j, "blocks_per_sm", l->blocks_per_sm);
    ws_json_put_uint(j, "regs_per_sm", l->regs_per_sm);
    ws_json_put_uint(j, "regs_per_block", l->regs_per_block);
    ws_json_put_uint(j, "regs_per_thread", l->regs_per_thread);
    ws_json_put_uint(j, "smem_per_sm", l->smem_per_sm);
    ws_json_put_uint(j, "smem_per_block", l->smem_per_block);
    ws_json_put_uint(j, "smem_reserved", l->smem_reserved);
    ws_json_put_uint(j, "smem_granule", l->smem_granule);
    ws_json_put_uint(j, "barriers_per_sm", l->barriers_per_sm);
    ws_json_put_uint(j, "cluster_portable", l->cluster_portable);
    ws_json_put_uint(j, "cluster_max", l->cluster_max);
    ws_json_put_uint(j, "fp32_lanes_per_sm", l->fp32_lanes_per_sm);
    ws_json_put_text(j, "source", l->source);
    ws_json_end(j);
}

void ws_api_occupancy(struct ws_call *call)
{
    const struct ws_limits *limits;
    struct ws_occ_config config;
    struct ws_occupancy o;
    struct ws_json *j = ws_call_json(call);
    if (ws_call_unchanged(call))
        return;
    limits = find_limits(call);
    if (!limits || !read_config(call, &config))
        return;
    if (ws_occupancy_of(limits, &config, &o) != 0) {
        ws_call_fail(call, 400, "bad_parameter", "", "no such launch is possible");
        return;
    }
    ws_json_object(j);
    put_config(j, &config);
    ws_json_key(j, "limits");
    ws_api_put_limits(j, limits);
    put_occupancy(j, &o);
    put_curves(j, limits, &config);
    ws_json_end(j);
}
