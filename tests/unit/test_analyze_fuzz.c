/* SPDX-License-Identifier: MIT
 * test_analyze_fuzz.c: random and hostile facts; no NaN or infinity leaves ws_analyze(), no text is
 * broken, nothing that must be bounded is not. Deterministic: the seed is in the file. */
#include "report_check.h"
#include "rule_facts.h"
#include "test.h"

#include <float.h>

/* Four tests of these: under a sanitizer one alone would take too long. */
enum { CASES = 50000, TIMELINE_CASES = 200000 };

static uint64_t seed = 0x77617270ULL;
static uint32_t next(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(seed >> 32);
}
static uint32_t below(uint32_t n)
{
    return next() % n;
}

/* Mostly plausible, sometimes nothing a counter ever says. */
static double number(void)
{
    static const double odd[] = {0, 0, 0, 1, -1, -0.0, 1e-300, 1e300, DBL_MAX, -DBL_MAX, DBL_MIN, 4.9e-324, 1e18};
    double u = next() / 4294967296.0;
    switch (below(8)) {
    case 0:
        return odd[below(sizeof odd / sizeof *odd)];
    case 1:
    case 2:
        return u;
    default:
        return floor(pow(10, u * 12));
    }
}

static struct facts_box box;
static struct ws_ceilings ceilings;
static long broken;

static uint32_t size(void)
{
    static const uint32_t odd[] = {0, 1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 65535, UINT32_MAX};
    return below(3) ? 1 + below(64) : odd[below(sizeof odd / sizeof *odd)];
}

static void random_facts(void)
{
    static const char *const names[] = {"NVIDIA H200", "NVIDIA GeForce RTX 4090", "Tesla T4", "nobody's board", NULL};
    uint32_t absent = below(4) ? below(30) : 0; /* percent of the counters that are missing */
    facts_init(&box, names[below(5)]);
    if (below(10) == 0) {
        box.device.cc_major = below(14);
        box.device.cc_minor = below(10);
        box.device.sms = size();
        box.device.name = NULL;
    }
    box.facts.is_library = below(8) == 0;
    box.facts.launch = (struct ws_launch){.grid = {size(), size(), size()},
                                          .block = {size(), below(3) ? 1 : size(), below(3) ? 1 : size()},
                                          .cluster = {below(4) ? 0 : size(), 1, size()},
                                          .regs_per_thread = size(),
                                          .static_smem_bytes = below(2) ? 0 : next(),
                                          .dynamic_smem_bytes = below(2) ? below(300000) : next(),
                                          .local_bytes_per_thread = size()};
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        box.raw[i] =
            below(100) < absent ? ws_missing((enum ws_why)(1 + below(WS_WHY_COUNT - 1)), NULL) : ws_value_of(number());
    ws_ceilings_init(&ceilings);
    for (unsigned i = 0; i < WS_CEILING_COUNT; i++)
        if (below(2))
            ceilings.at[i].rate = ws_value_of(number());
}

static void fuzz_analyzer(uint64_t start)
{
    long findings = 0, points = 0;
    seed = start;
    for (int i = 0; i < CASES && broken < 20; i++) {
        random_facts();
        ws_analyze(&box.facts, below(3) ? &ceilings : NULL, &box.report);
        if (report_problem(&box.report)) {
            broken++;
            WS_FAIL("case %d: %s", i, report_problem(&box.report));
        }
        findings += (long)box.report.findings.count;
        points += (long)box.report.roofline.count;
    }
    /* the facts reach the rules and the roofline at all */
    CHECK(findings > CASES / 2);
    CHECK(points > CASES);
}

TEST(no_nan_or_infinity_leaves_the_analyzer_first_quarter)
{
    fuzz_analyzer(1);
}
TEST(no_nan_or_infinity_leaves_the_analyzer_second_quarter)
{
    fuzz_analyzer(2);
}
TEST(no_nan_or_infinity_leaves_the_analyzer_third_quarter)
{
    fuzz_analyzer(3);
}
TEST(no_nan_or_infinity_leaves_the_analyzer_last_quarter)
{
    fuzz_analyzer(4);
}

TEST(no_nan_or_infinity_leaves_the_timeline_rules)
{
    static struct ws_timeline_facts facts;
    static struct ws_findings found;
    long findings = 0;
    for (int i = 0; i < TIMELINE_CASES && broken < 20; i++) {
        ws_timeline_init(&facts);
        for (unsigned k = 0; k < WS_TIMELINE_COUNT; k++)
            if (below(10))
                facts.value[k] = ws_value_of(number());
        ws_rules_run_timeline(&facts, &found);
        if (findings_problem(&found)) {
            broken++;
            WS_FAIL("case %d: %s", i, findings_problem(&found));
        }
        findings += (long)found.count;
    }
    CHECK(findings > TIMELINE_CASES / 2);
}
