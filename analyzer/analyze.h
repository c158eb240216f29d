/* SPDX-License-Identifier: MIT
 * analyze.h: facts in, report out. The only entry of the analyzer that the server uses.
 * Pure and re-entrant: no allocation, no I/O, no clock. All storage is the caller's. */
#ifndef WS_ANALYZER_ANALYZE_H
#define WS_ANALYZER_ANALYZE_H

#include "facts.h"
#include "metrics.h"
#include "occupancy.h"
#include "roofline.h"
#include "rule.h"
#include "stalls.h"

/* Everything computed about one signature. */
struct ws_report {
    struct ws_value metric[WS_METRIC_COUNT]; /* raw copied, EXPR and MODEL filled */
    struct ws_occupancy occupancy;           /* .theoretical.why says why there is none */
    struct ws_roofline roofline;
    struct ws_stall_bar stalls;
    struct ws_findings findings; /* of the kernel rules; rules.h has the timeline rules */
};

/* Fill *out from *facts.
 *   facts     device and raw must be set
 *   ceilings  measured ceilings of the device, or NULL: the roofline then says "not measured"
 *   errors    none: what cannot be computed is a ws_value with its reason
 *   thread    any; reads only its arguments */
void ws_analyze(const struct ws_facts *facts, const struct ws_ceilings *ceilings, struct ws_report *out);

#endif
