/* SPDX-License-Identifier: MIT
 * test_fire_matrix.c: which rules fire on the 27 launches of the measured suite (one H200), from the
 * numbers that are published with it. What was not written down is "not collected" here, so rules that
 * need it do not run; tests/flow asserts the whole matrix from the recorded capture. */
#include "rule_facts.h"
#include "test.h"

struct launch {
    const char *what;
    uint32_t grid, block, smem;
    double ld_requests, ld_sectors, ld_bytes, st_requests, st_sectors, st_bytes;
    const char *fires; /* exactly these */
    struct ws_rule_fact facts[24];
};

#define N24 16777216.0
#define N21 2097152.0
#define N20 1048576.0

/* Loads are coalesced 4-byte accesses of n floats unless the sectors say otherwise. */
#define STRIDED(s, sectors, fires, ...)                                                           \
    {                                                                                             \
        "strided read " #s, 8192, 256, 0, 65536, sectors, N21 * 4, 65536, 262144, N21 * 4, fires, \
        {                                                                                         \
            __VA_ARGS__                                                                           \
        }                                                                                         \
    }
#define DRAM(read, l2) WS_FACT(dram_read_bytes, read), WS_FACT(l2_read_sectors, l2), WS_FACT(dram_write_bytes, 8.4e6)
#define SHAPE(what, ld, st, fires)                                         \
    {                                                                      \
        what, 4096, 256, 0, 65536, ld, N20 * 8, 32768, st, N20 * 4, fires, \
        {                                                                  \
            {                                                              \
                0, 0                                                       \
            }                                                              \
        }                                                                  \
    }
#define SHARED(ld, ld_rounds, st, st_rounds, wide)                                                              \
    WS_FACT(shared_ld_requests, ld), WS_FACT(shared_ld_wavefronts, ld_rounds), WS_FACT(shared_st_requests, st), \
        WS_FACT(shared_st_wavefronts, st_rounds), WS_FACT(inst_memory_64b, 0), WS_FACT(inst_memory_128b, wide)
#define LANES(t) WS_FACT(inst_executed, 1e6), WS_FACT(thread_inst_executed, 1e6 * (t)), WS_FACT(sm_throughput, 0.75)

static const struct launch launches[] = {
    {"0 vec_add",
     65536,
     256,
     0,
     1048576,
     4194304,
     N24 * 8,
     524288,
     2097152,
     N24 * 4,
     "W13",
     {WS_FACT(dram_throughput, 0.66), DRAM(134.2e6, 4194304)}},
    STRIDED(1, 262144, "", DRAM(8.4e6, 262144)),
    STRIDED(2, 524288, "W01", DRAM(16.8e6, 524288)),
    STRIDED(4, 1048576, "W01", DRAM(33.5e6, 1048576)),
    STRIDED(8, 2097152, "W01", DRAM(67.1e6, 2097152)),
    STRIDED(16, 2097152, "W01 W04", DRAM(134.2e6, 2097152)),
    STRIDED(32, 2097152, "W01 W04", DRAM(133.7e6, 2097152)),
    {"7 offset 0", 65536, 256, 0, 524288, 2097152, N24 * 4, 524288, 2097152, N24 * 4, "", {DRAM(67.1e6, 2097152)}},
    {"8 offset 1",
     65536,
     256,
     0,
     524288,
     2621439,
     N24 * 4 - 4,
     524288,
     2097152,
     N24 * 4 - 4,
     "W03",
     {DRAM(67.1e6, 2097152)}},
    {"9 offset 8",
     65536,
     256,
     0,
     524288,
     2097151,
     N24 * 4 - 32,
     524288,
     2097151,
     N24 * 4 - 32,
     "",
     {DRAM(67.1e6, 2097151)}},
    SHAPE("10 x = row", 2097152, 1048576, "W01 W02"),
    SHAPE("11 x = col", 262144, 131072, ""),
    SHAPE("12 (32,8)", 262144, 131072, ""),
    SHAPE("13 (16,16)", 262144, 131072, ""),
    SHAPE("14 (8,32)", 262144, 131072, ""),
    SHAPE("15 (4,64)", 524288, 262144, "W01 W02"),
    SHAPE("16 (1,256)", 2097152, 1048576, "W01 W02"),
    {"17 tile[32][32]",
     1024,
     1024,
     4096,
     32768,
     131072,
     N20 * 4,
     32768,
     131072,
     N20 * 4,
     "W05",
     {SHARED(32768, 1048576, 32768, 32768, 0)}},
    {"18 tile[32][33]",
     1024,
     1024,
     4224,
     32768,
     131072,
     N20 * 4,
     32768,
     131072,
     N20 * 4,
     "",
     {SHARED(32768, 32768, 32768, 32768, 0), WS_FACT(stall_barrier, 41), WS_FACT(stall_selected, 10),
      WS_FACT(stall_not_selected, 49), WS_FACTS_ISSUE(0.3), WS_FACT(duration, 6.7e-6)}},
    {"19 matmul naive",
     1024,
     1024,
     0,
     67108864,
     167772160,
     26.4 * 167772160,
     32768,
     131072,
     N20 * 4,
     "W17",
     {WS_FACT(stall_lg_throttle, 37), WS_FACT(stall_dispatch_stall, 14), WS_FACT(stall_selected, 10),
      WS_FACT(stall_not_selected, 39), WS_FACTS_ISSUE(0.5), WS_FACT(duration, 349.4e-6), DRAM(8.39e6, 8388608)}},
    {"20 matmul tiled",
     1024,
     1024,
     8192,
     2097152,
     8388608,
     268435456,
     32768,
     131072,
     N20 * 4,
     "W18",
     {SHARED(41943040, 50331648, 2097152, 2097152, 8388608), WS_FACT(hw_bank_conflicts_ld, 0),
      WS_FACT(hw_bank_conflicts_st, 299697), WS_FACT(stall_mio_throttle, 47), WS_FACT(stall_selected, 10),
      WS_FACT(stall_not_selected, 43), WS_FACTS_ISSUE(0.5), WS_FACT(duration, 249e-6)}},
    {"21 reduce interleaved",
     8,
     256,
     1024,
     256,
     1024,
     32768,
     8,
     8,
     32,
     "W09",
     {SHARED(760, 760, 440, 440, 0), WS_FACT(inst_executed, 21256), WS_FACT(thread_inst_executed, 31.89 * 21256),
      WS_FACT(thread_inst_pred_on, 25.05 * 21256), WS_FACT(sm_throughput, 0.02)}},
    {"22 reduce strided",
     8,
     256,
     1024,
     256,
     1024,
     32768,
     8,
     8,
     32,
     "W05 W09",
     {SHARED(200, 760, 160, 440, 0), WS_FACT(inst_executed, 11464), WS_FACT(thread_inst_executed, 31.81 * 11464),
      WS_FACT(thread_inst_pred_on, 22.15 * 11464), WS_FACT(sm_throughput, 0.02)}},
    {"23 reduce sequential",
     8,
     256,
     1024,
     256,
     1024,
     32768,
     8,
     8,
     32,
     "W09",
     {SHARED(200, 200, 160, 160, 0), WS_FACT(inst_executed, 9480), WS_FACT(thread_inst_executed, 31.76 * 9480),
      WS_FACT(thread_inst_pred_on, 23.12 * 9480), WS_FACT(sm_throughput, 0.02)}},
    {"24 fma_heavy",
     2112,
     256,
     0,
     0,
     0,
     0,
     16896,
     67584,
     16896 * 128,
     "W21",
     {WS_FACT(pipe_fma, 0.95), WS_FACT(pipe_fp64, 0), LANES(32)}},
    {"25 fp64_heavy",
     2112,
     256,
     0,
     0,
     0,
     0,
     16896,
     135168,
     16896 * 256,
     "W22",
     {WS_FACT(pipe_fma, 0.02), WS_FACT(pipe_fp64, 0.97), LANES(32)}},
    {"26 diverge parity",
     2112,
     256,
     0,
     0,
     0,
     0,
     16896,
     67584,
     16896 * 128,
     "W06",
     {WS_FACT(pipe_fma, 0.75), WS_FACT(pipe_fp64, 0), LANES(16.1), WS_FACT(divergent_branches, 16896)}},
};
enum { LAUNCHES = sizeof launches / sizeof *launches };

static struct facts_box box;

static const struct ws_findings *analyze(const struct launch *l)
{
    bool stalls = false;
    facts_init(&box, NULL);
    box.facts.launch = (struct ws_launch){
        .grid = {l->grid, 1, 1}, .block = {l->block, 1, 1}, .regs_per_thread = 16, .static_smem_bytes = l->smem};
    facts_set(&box, WS_M_gld_requests, l->ld_requests);
    facts_set(&box, WS_M_gld_sectors, l->ld_sectors);
    facts_set(&box, WS_M_gld_bytes, l->ld_bytes);
    facts_set(&box, WS_M_gst_requests, l->st_requests);
    facts_set(&box, WS_M_gst_sectors, l->st_sectors);
    facts_set(&box, WS_M_gst_bytes, l->st_bytes);
    for (const struct ws_rule_fact *f = l->facts; f->id_plus_1; f++) {
        facts_set(&box, (enum ws_metric_id)(f->id_plus_1 - 1), f->number);
        stalls = stalls || strncmp(ws_metric_get((enum ws_metric_id)(f->id_plus_1 - 1))->key, "stall_", 6) == 0;
    }
    if (stalls)
        facts_zero_stalls(&box);
    facts_analyze(&box);
    return &box.report.findings;
}

TEST(the_suite_has_27_launches)
{
    CHECK_INT(LAUNCHES, 27);
}

TEST(exactly_the_rules_of_the_matrix_fire_on_each_launch)
{
    for (size_t i = 0; i < LAUNCHES; i++) {
        const struct ws_findings *all = analyze(&launches[i]);
        size_t wanted = 0;
        for (const char *w = launches[i].fires; *w; w += strcspn(w, " "), w += strspn(w, " ")) {
            char id[4] = {0};
            memcpy(id, w, 3);
            wanted++;
            if (!finding_of(all, id))
                WS_FAIL("%s: %s is quiet", launches[i].what, id);
        }
        for (size_t k = 0; k < all->count; k++)
            if (!strstr(launches[i].fires,
                        (char[]){all->item[k].rule->id[0], all->item[k].rule->id[1], all->item[k].rule->id[2], 0}))
                WS_FAIL("%s: %s fires", launches[i].what, all->item[k].rule->id);
        CHECK(all->count == wanted);
    }
}

TEST(the_rules_that_the_published_numbers_reach_did_run)
{
    static const char *const ran[][2] = {{"0", "W13"},  {"1", "W01"},  {"17", "W05"}, {"18", "W20"}, {"19", "W17"},
                                         {"20", "W18"}, {"21", "W07"}, {"24", "W22"}, {"26", "W21"}};
    for (size_t i = 0; i < sizeof ran / sizeof *ran; i++)
        CHECK(skip_of(analyze(&launches[atoi(ran[i][0])]), ran[i][1]) == NULL);
}
