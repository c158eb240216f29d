/* SPDX-License-Identifier: MIT
 * rule.h: what an advice rule is, and what it finds. One rule is one file in rules/; rules.h runs them.
 * A rule sees numbers only (struct ws_facts carries no name) and never prints: its advice is a
 * template whose {keys} are filled from its evidence.
 * To add a rule: a new analyzer/rules/<name>.c; copy the shape of a neighbour. */
#ifndef WS_ANALYZER_RULE_H
#define WS_ANALYZER_RULE_H

#include "facts.h"
#include "gpus.h"
#include "metrics.h"
#include "occupancy.h"
#include "roofline.h"
#include "timeline.h"
#include "value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* INFO states a fact and claims no gain. The others follow from the gain (rules.c). */
enum ws_severity { WS_SEVERITY_INFO, WS_SEVERITY_LOW, WS_SEVERITY_MEDIUM, WS_SEVERITY_HIGH, WS_SEVERITY_COUNT };

enum ws_rule_scope { WS_RULE_KERNEL, WS_RULE_TIMELINE };

struct ws_rule;

struct ws_evidence {
    const char *key; /* a metric key, a timeline key, or the rule's own word for a number; static storage */
    double number;   /* finite */
};

enum { WS_EVIDENCE_MAX = 8, WS_NEEDS_MAX = 12, WS_FINDING_TEXT = 480, WS_FINDINGS_MAX = 32, WS_CASE_FACTS = 40 };

struct ws_finding {
    const struct ws_rule *rule;
    enum ws_severity severity;
    struct ws_value gain; /* share of the time that the repair may save, 0…1; or why it is not known */
    const char *advice;   /* template used; rule->advice unless the check chose another */
    char text[WS_FINDING_TEXT];
    struct ws_evidence evidence[WS_EVIDENCE_MAX];
    size_t evidence_count; /* at least 1 */
};

/* A rule that could not run, or that another one made silent. */
struct ws_rule_skip {
    const struct ws_rule *rule;
    struct ws_value missing;          /* .input names the key, .why says why; PRESENT if yielded */
    const struct ws_rule *yielded_to; /* the finding that says the same better, or NULL */
};

struct ws_findings {
    struct ws_finding item[WS_FINDINGS_MAX]; /* largest gain first, then those without, then INFO */
    size_t count;
    struct ws_rule_skip skipped[WS_FINDINGS_MAX];
    size_t skipped_count;
};

/* What a check may look at. */
struct ws_rule_input {
    const struct ws_facts *facts;         /* kernel rules */
    const struct ws_value *metric;        /* [WS_METRIC_COUNT], raw and derived */
    const struct ws_occupancy *occupancy; /* theoretical may be missing */
    const struct ws_roofline *roofline;
    const struct ws_limits *limits;           /* NULL on an unknown compute capability */
    const struct ws_timeline_facts *timeline; /* timeline rules */
    bool has_gain_inputs; /* all of rule->gain_needs are there: set finding->gain; else it is set already */
};

/* Keys a rule needs: ids of enum ws_metric_id (scope KERNEL) or enum ws_timeline_id (TIMELINE). */
struct ws_rule_needs {
    uint16_t id[WS_NEEDS_MAX];
    uint16_t count;
};
#define WS_NEEDS(...)                                                                   \
    {                                                                                   \
        {__VA_ARGS__}, (uint16_t)(sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t)) \
    }

/* One case of a rule: facts in, fires or quiet. Static tables, run by tests/unit/test_rules.c. */
struct ws_rule_fact {
    uint16_t id_plus_1; /* 0 ends the list */
    double number;
};
#define WS_FACT(key, number)                 \
    {                                        \
        (uint16_t)(WS_M_##key + 1), (number) \
    }
#define WS_TIME_FACT(key, number)            \
    {                                        \
        (uint16_t)(WS_T_##key + 1), (number) \
    }
/* Groups that many cases need. A case that names one stall reason has all others at 0. */
#define WS_FACTS_BUSY(sm, l1, l2, dram) \
    WS_FACT(sm_throughput, sm), WS_FACT(l1_throughput, l1), WS_FACT(l2_throughput, l2), WS_FACT(dram_throughput, dram)
#define WS_FACTS_ISSUE(rate) WS_FACT(issue_active, 1e6 * (rate)), WS_FACT(scheduler_active_cycles, 1e6)
#define WS_FACTS_LOADS(requests, sectors, bytes) \
    WS_FACT(gld_requests, requests), WS_FACT(gld_sectors, sectors), WS_FACT(gld_bytes, bytes)
#define WS_FACTS_STORES(requests, sectors, bytes) \
    WS_FACT(gst_requests, requests), WS_FACT(gst_sectors, sectors), WS_FACT(gst_bytes, bytes)
#define WS_FACTS_DRAM(read, write) WS_FACT(dram_read_bytes, read), WS_FACT(dram_write_bytes, write)
struct ws_rule_case {
    const char *what;
    bool fires;
    double gain, tolerance;                   /* checked if it fires and tolerance > 0 */
    const char *driver_name;                  /* NULL: "NVIDIA H200", cc 9.0, 132 SMs */
    struct ws_launch launch;                  /* grid.x = 0: 1056 blocks of 256 threads, 32 registers */
    struct ws_rule_fact facts[WS_CASE_FACTS]; /* raw counters or timeline facts */
};

struct ws_rule {
    const char *id;    /* "W05-bank-conflicts" */
    const char *title; /* "Shared-memory bank conflicts" */
    enum ws_rule_scope scope;
    bool is_info;           /* severity INFO whatever the gain */
    bool skips_library;     /* advice about source code that the user does not have */
    const char *condition;  /* the test in words, with its thresholds */
    const char *why;        /* what is behind it, for `warpsight explain` */
    const char *advice;     /* template: {key} number, {key:%} percent, {key:i} whole, {key:b} bytes, {key:t} time */
    const char *formula;    /* of the gain */
    const char *when_not;   /* when the advice does not apply */
    const char *source;     /* of the threshold */
    const char *bad, *good; /* reference kernels that fire it and keep it quiet */
    const char *yields_to;  /* ids, space-separated ("W01 W02"): silent where one of them gains 10 % or more */
    struct ws_rule_needs needs;      /* without one of these the rule does not run */
    struct ws_rule_needs gain_needs; /* without one of these it fires with the gain missing */
    /* True if the rule fires; then finding has evidence, and gain if has_gain_inputs. */
    bool (*check)(const struct ws_rule_input *in, struct ws_finding *finding);
    const struct ws_rule_case *cases;
    size_t case_count;
};
#define WS_CASES(table) .cases = (table), .case_count = sizeof(table) / sizeof *(table)

/* Every rule, by the generated list of files. */
#define WS_RULE(name) extern const struct ws_rule ws_rule_##name;
#include "rules_list.h"
#undef WS_RULE

/* --- for checks (rule.c) --------------------------------------------------------------------------- */

/* Thresholds that several rules share. NCU = the rule files of Nsight Compute 2025. */
#define WS_NCU_STALL_SHARE 0.30   /* share of all warp-cycles from which a stall reason matters (NCU) */
#define WS_NCU_ISSUE_GATE 0.80    /* schedulers that issue more often than this have nothing to gain (NCU) */
#define WS_NCU_LATENCY_ISSUE 0.60 /* below this a kernel can be bound by latency (NCU) */
#define WS_NCU_BUSY 0.60          /* a unit at this share of its peak is the bottleneck (NCU) */
#define WS_NCU_FULL 0.80          /* from here on a unit counts as full (NCU) */
#define WS_MIN_DURATION_S \
    10e-6                  /* shorter kernels are all start and end: their stall shares move with cache state (suite) */
#define WS_LEAST_GAIN 0.01 /* below this a finding is noise */

/* The number of a metric or timeline fact that is in needs, or otherwise known to be present. */
static inline double ws_rule_metric(const struct ws_rule_input *in, enum ws_metric_id id)
{
    return in->metric[id].number;
}
static inline double ws_rule_time(const struct ws_rule_input *in, enum ws_timeline_id id)
{
    return in->timeline->value[id].number;
}
/* Add one piece of evidence; key has static storage. A number that is not finite is left out. */
void ws_rule_evidence(struct ws_finding *finding, const char *key, double number);
/* Add a metric if it has a value, under its own key; false if it has none. */
bool ws_rule_evidence_metric(const struct ws_rule_input *in, struct ws_finding *finding, enum ws_metric_id id);
/* Set the gain if all gain_needs are there. Not finite = unknown; else clamped to 0…1 and marked an estimate. */
void ws_rule_gain(const struct ws_rule_input *in, struct ws_finding *finding, double gain);
/* True unless a known gain is below WS_LEAST_GAIN. */
bool ws_rule_worth(const struct ws_finding *finding);

/* Blocks of the grid, threads of a block, warps of a block; saturating. */
double ws_rule_blocks(const struct ws_launch *launch);
uint32_t ws_rule_threads(const struct ws_launch *launch);
uint32_t ws_rule_warps(const struct ws_launch *launch);
/* Blocks / blocks that the whole GPU can hold at once; 0 where that is not known. */
double ws_rule_waves(const struct ws_rule_input *in);
/* Greatest of the utilisations of SM, L1, L2 and DRAM; all four must be present. */
double ws_rule_busiest(const struct ws_rule_input *in);
#define WS_BUSIEST_NEEDS WS_M_sm_throughput, WS_M_l1_throughput, WS_M_l2_throughput, WS_M_dram_throughput

/* --- how much a repair saves ------------------------------------------------------------------------
 * A repair takes work from some units. The kernel then takes as long as its busiest unit has left to do, at the
 * efficiency that the busiest unit has now: time after / time before = max(use x left) / max(use). Only the time in
 * which SMs run can shrink: what a kernel takes to start and end stays. Checked against bad and good twins on an H200:
 * `warpsight kernels verify` prints estimated and measured gain of each. */

/* Share of each unit's work that is left after the repair, 0…1. */
struct ws_rule_left {
    double sm, l1, l2, dram;
};
/* The share of the time saved, 0…1. Needs WS_BUSIEST_NEEDS; uses ws_rule_running. */
double ws_rule_saving(const struct ws_rule_input *in, const struct ws_rule_left *left);
/* Share of the elapsed cycles in which the busiest SM was active; 1 where that was not collected. */
double ws_rule_running(const struct ws_rule_input *in);
/* How much shorter the kernel could be if schedulers issued as often as pays, 80 % of the cycles (NCU's gate).
 * Needs WS_M_issue_rate. */
double ws_rule_issue_room(const struct ws_rule_input *in);
/* The same for a repair that frees waiting warps: their share of all warp-cycles, at most the room to issue. */
double ws_rule_waiting(const struct ws_rule_input *in, double share);
/* What W24 and W25 save: local memory's share of the work of each unit, or of the waiting for it if that is more.
 * Needs WS_LOCAL_GAIN_NEEDS. */
double ws_rule_local_gain(const struct ws_rule_input *in);
#define WS_LOCAL_GAIN_NEEDS WS_BUSIEST_NEEDS, WS_M_local_ld_requests, WS_M_local_st_requests, WS_M_inst_executed

/* The common part of W12, W14 and W15: occupancy is low because of this limiter and nothing is busy.
 * Adds evidence and gain. Needs WS_M_theoretical_occupancy, WS_M_issue_rate, WS_BUSIEST_NEEDS. */
bool ws_rule_occupancy(const struct ws_rule_input *in, struct ws_finding *finding, enum ws_occ_limit limiter);

/* Local-memory share of the L1 sectors from which W24 and W25 speak. Own choice. */
#define WS_LOCAL_SHARE 0.05
/* True if the register count looks like a cap: a multiple of 8 above 16 (caps fall on the granule of the
 * register file, and 16 is reported for any smaller count), or 255. The cap itself is not known. */
bool ws_rule_at_register_cap(const struct ws_launch *launch);

/* Share of all warp-cycles, issuing ones included, that one stall_<reason> took: what the thresholds
 * of NCU mean. (stall_share_<reason> is a share of the stalled ones only.) */
double ws_rule_stall_share(const struct ws_rule_input *in, enum ws_metric_id stall);
/* The same where none of these metrics is in needs: 0 if one is missing. */
double ws_rule_stall_share_if_known(const struct ws_rule_input *in, enum ws_metric_id stall);
#define WS_STALL_NEEDS WS_M_stall_total, WS_M_stall_selected, WS_M_stall_not_selected
/* Mean cycles a warp waited for that reason per instruction it issued. */
double ws_rule_stall_cycles(const struct ws_rule_input *in, enum ws_metric_id stall);

/* One direction of global accesses. */
struct ws_rule_access {
    double requests, sectors, bytes; /* bytes: asked for, an address counted once a warp */
    double ideal;                    /* sectors that would do: bytes / 32, at least 1 a request */
    double share;                    /* of the sectors of loads and stores together */
    double bytes_per_sector, sectors_per_request;
};
/* Loads or stores; false if there are none. Needs WS_ACCESS_NEEDS. */
bool ws_rule_access(const struct ws_rule_input *in, bool stores, struct ws_rule_access *out);
#define WS_ACCESS_NEEDS \
    WS_M_gld_requests, WS_M_gld_sectors, WS_M_gld_bytes, WS_M_gst_requests, WS_M_gst_sectors, WS_M_gst_bytes
/* What a repair of the global accesses saves: what loads and stores move beyond their ideal leaves L1, L2 (as
 * requests of L1 and as fills from DRAM) and DRAM. Loads and stores together: one order of the indices moves both.
 * Needs WS_ACCESS_NEEDS and WS_ACCESS_GAIN_NEEDS. Checked against bad and good twins on an H200. */
double ws_rule_access_gain(const struct ws_rule_input *in);
#define WS_ACCESS_GAIN_NEEDS WS_BUSIEST_NEEDS, WS_M_l1_hit_rate_ld, WS_M_dram_read_bytes, WS_M_dram_write_bytes

#endif
