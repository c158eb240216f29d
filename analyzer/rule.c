/* SPDX-License-Identifier: MIT
 * rule.c: what the checks of several rules have in common: evidence, gain, waves, stall shares and
 * the access formula. Pure. The rules themselves are in rules/, the engine in rules.c. */
#include "rule.h"

#define SECTOR_BYTES 32.0

void ws_rule_evidence(struct ws_finding *finding, const char *key, double number)
{
    if (isfinite(number) && finding->evidence_count < WS_EVIDENCE_MAX)
        finding->evidence[finding->evidence_count++] = (struct ws_evidence){key, number};
}

bool ws_rule_evidence_metric(const struct ws_rule_input *in, struct ws_finding *finding, enum ws_metric_id id)
{
    if (!ws_has(in->metric[id]))
        return false;
    ws_rule_evidence(finding, ws_metric_get(id)->key, in->metric[id].number);
    return true;
}

void ws_rule_gain(const struct ws_rule_input *in, struct ws_finding *finding, double gain)
{
    if (!in->has_gain_inputs)
        return;
    finding->gain = ws_value_of(fmin(fmax(gain, 0), 1));
    if (!isfinite(gain)) /* fmin and fmax swallow NaN */
        finding->gain = ws_missing(WS_WHY_NOT_VALID, NULL);
    finding->gain.grade = WS_GRADE_ESTIMATE;
}

bool ws_rule_worth(const struct ws_finding *finding)
{
    return !ws_has(finding->gain) || finding->gain.number >= WS_LEAST_GAIN;
}

double ws_rule_blocks(const struct ws_launch *launch)
{
    return (double)launch->grid.x * launch->grid.y * launch->grid.z;
}

uint32_t ws_rule_threads(const struct ws_launch *launch)
{
    double threads = (double)launch->block.x * launch->block.y * launch->block.z;
    return threads > WS_BLOCK_THREADS_MAX ? WS_BLOCK_THREADS_MAX : (uint32_t)threads;
}

uint32_t ws_rule_warps(const struct ws_launch *launch)
{
    return (ws_rule_threads(launch) + WS_WARP_LANES - 1) / WS_WARP_LANES;
}

double ws_rule_waves(const struct ws_rule_input *in)
{
    double slots = (double)in->occupancy->blocks_per_sm * in->facts->device->sms;
    return ws_has(in->occupancy->theoretical) && slots > 0 ? ws_rule_blocks(&in->facts->launch) / slots : 0;
}

double ws_rule_busiest(const struct ws_rule_input *in)
{
    return fmax(fmax(ws_rule_metric(in, WS_M_sm_throughput), ws_rule_metric(in, WS_M_l1_throughput)),
                fmax(ws_rule_metric(in, WS_M_l2_throughput), ws_rule_metric(in, WS_M_dram_throughput)));
}

/* part / whole, at most all of it; all where there is no whole. */
static double left_of(double part, double whole)
{
    return whole > 0 ? fmin(fmax(part, 0) / whole, 1) : 1;
}

double ws_rule_running(const struct ws_rule_input *in)
{
    struct ws_value active = in->metric[WS_M_sm_active_cycles_max], elapsed = in->metric[WS_M_elapsed_cycles];
    if (!ws_has(active) || !ws_has(elapsed) || !(elapsed.number > 0))
        return 1;
    return fmin(fmax(active.number / elapsed.number, 0), 1);
}

double ws_rule_saving(const struct ws_rule_input *in, const struct ws_rule_left *left)
{
    double now = ws_rule_busiest(in);
    double then = fmax(
        fmax(ws_rule_metric(in, WS_M_sm_throughput) * left->sm, ws_rule_metric(in, WS_M_l1_throughput) * left->l1),
        fmax(ws_rule_metric(in, WS_M_l2_throughput) * left->l2, ws_rule_metric(in, WS_M_dram_throughput) * left->dram));
    return now > 0 ? ws_rule_running(in) * (1 - then / now) : 0;
}

double ws_rule_issue_room(const struct ws_rule_input *in)
{
    return fmax(1 - ws_rule_metric(in, WS_M_issue_rate) / WS_NCU_ISSUE_GATE, 0);
}

double ws_rule_waiting(const struct ws_rule_input *in, double share)
{
    return ws_rule_running(in) * fmin(share, ws_rule_issue_room(in));
}

double ws_rule_local_gain(const struct ws_rule_input *in)
{
    double requests = ws_rule_metric(in, WS_M_local_ld_requests) + ws_rule_metric(in, WS_M_local_st_requests);
    double share = ws_rule_metric(in, WS_M_local_share), instructions = ws_rule_metric(in, WS_M_inst_executed);
    struct ws_rule_left left = {left_of(instructions - requests, instructions), 1 - share, 1 - share, 1 - share};
    double waits = ws_rule_stall_share_if_known(in, WS_M_stall_long_scoreboard) +
                   ws_rule_stall_share_if_known(in, WS_M_stall_lg_throttle);
    double gain = ws_rule_saving(in, &left);
    return ws_has(in->metric[WS_M_issue_rate]) ? fmax(gain, ws_rule_waiting(in, waits * share)) : gain;
}

#define LEAST_OCCUPANCY 0.80 /* NCU */

bool ws_rule_occupancy(const struct ws_rule_input *in, struct ws_finding *finding, enum ws_occ_limit limiter)
{
    double issue = ws_rule_metric(in, WS_M_issue_rate), occupancy = ws_rule_metric(in, WS_M_theoretical_occupancy);
    if (occupancy >= LEAST_OCCUPANCY || in->occupancy->limiter != limiter || issue >= WS_NCU_LATENCY_ISSUE ||
        ws_rule_busiest(in) >= WS_NCU_BUSY || ws_rule_waves(in) < 1)
        return false;
    ws_rule_evidence(finding, "theoretical_occupancy", occupancy);
    ws_rule_evidence(finding, "blocks_per_sm", in->occupancy->blocks_per_sm);
    ws_rule_evidence(finding, "issue_rate", issue);
    ws_rule_gain(in, finding, fmin(ws_rule_issue_room(in), 1 - occupancy));
    return true;
}

enum { REGS_ALWAYS_REPORTED = 16, REGS_GRANULE = 8, REGS_MOST = 255 };

bool ws_rule_at_register_cap(const struct ws_launch *launch)
{
    return launch->regs_per_thread >= REGS_MOST ||
           (launch->regs_per_thread > REGS_ALWAYS_REPORTED && launch->regs_per_thread % REGS_GRANULE == 0);
}

double ws_rule_stall_share(const struct ws_rule_input *in, enum ws_metric_id stall)
{
    double all = ws_rule_metric(in, WS_M_stall_total) + ws_rule_metric(in, WS_M_stall_selected) +
                 ws_rule_metric(in, WS_M_stall_not_selected);
    return all > 0 ? ws_rule_metric(in, stall) / all : 0;
}

double ws_rule_stall_share_if_known(const struct ws_rule_input *in, enum ws_metric_id stall)
{
    const enum ws_metric_id needed[] = {stall, WS_STALL_NEEDS};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!ws_has(in->metric[needed[i]]))
            return 0;
    return ws_rule_stall_share(in, stall);
}

double ws_rule_stall_cycles(const struct ws_rule_input *in, enum ws_metric_id stall)
{
    double issued = ws_rule_metric(in, WS_M_stall_selected);
    return issued > 0 ? ws_rule_metric(in, stall) / issued : 0;
}

bool ws_rule_access(const struct ws_rule_input *in, bool stores, struct ws_rule_access *out)
{
    double all = ws_rule_metric(in, WS_M_gld_sectors) + ws_rule_metric(in, WS_M_gst_sectors);
    out->requests = ws_rule_metric(in, stores ? WS_M_gst_requests : WS_M_gld_requests);
    out->sectors = ws_rule_metric(in, stores ? WS_M_gst_sectors : WS_M_gld_sectors);
    out->bytes = ws_rule_metric(in, stores ? WS_M_gst_bytes : WS_M_gld_bytes);
    if (!(out->requests > 0 && out->sectors > 0 && out->bytes > 0))
        return false;
    out->ideal = fmin(fmax(out->bytes / SECTOR_BYTES, out->requests), out->sectors);
    out->share = out->sectors / all;
    out->bytes_per_sector = out->bytes / out->sectors;
    out->sectors_per_request = out->sectors / out->requests;
    return true;
}

double ws_rule_access_gain(const struct ws_rule_input *in)
{
    struct ws_rule_access loads = {.sectors = 0}, stores = {.sectors = 0};
    struct ws_rule_left left = {.sm = 1};
    double read = ws_rule_metric(in, WS_M_dram_read_bytes), write = ws_rule_metric(in, WS_M_dram_write_bytes);
    double missed, useful_read, l2;
    (void)ws_rule_access(in, false, &loads);
    (void)ws_rule_access(in, true, &stores);
    missed = loads.sectors * (1 - ws_rule_metric(in, WS_M_l1_hit_rate_ld)); /* reach L2; every store does */
    useful_read = fmin(read, loads.ideal * SECTOR_BYTES);
    left.l1 = left_of(loads.ideal + stores.ideal, loads.sectors + stores.sectors);
    l2 = missed + stores.sectors + read / SECTOR_BYTES;
    left.l2 = left_of(fmin(loads.ideal, missed) + stores.ideal + useful_read / SECTOR_BYTES, l2);
    /* What is written leaves L2 later, and other kernels' lines leave meanwhile: stores have no part in DRAM. */
    left.dram = left_of(useful_read + write, read + write);
    return ws_rule_saving(in, &left);
}
