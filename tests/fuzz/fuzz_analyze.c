/* SPDX-License-Identifier: MIT
 * fuzz_analyze.c: libFuzzer over ws_analyze() and the timeline rules: bytes become facts, and what must hold of every
 * report is checked (tests/unit/report_check.h). `make fuzz-analyze`, clang. Every `make test` does the same with a
 * fixed generator in tests/unit/test_analyze_fuzz.c. */
#include "../unit/report_check.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *at;
    size_t left;
};

static uint32_t take(struct bytes *b)
{
    uint32_t v = 0;
    size_t n = b->left < sizeof v ? b->left : sizeof v;
    memcpy(&v, b->at, n);
    b->at += n;
    b->left -= n;
    return v;
}

/* Any double at all, or the reason why there is none. ws_value_of() is the door through which all values come. */
static struct ws_value take_value(struct bytes *b)
{
    uint32_t kind = take(b);
    double number;
    uint64_t bits = (uint64_t)take(b) << 32;
    if (kind % 8 == 0)
        return ws_missing((enum ws_why)(1 + kind / 8 % (WS_WHY_COUNT - 1)), NULL);
    if (kind % 8 < 4)
        return ws_value_of((double)(bits >> 32) / (1 + kind / 8 % 1000));
    bits |= take(b);
    memcpy(&number, &bits, sizeof number);
    return ws_value_of(number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"NVIDIA H200", "Tesla T4", "?", NULL};
    static struct ws_report report;
    static struct ws_findings findings;
    static struct ws_timeline_facts timeline;
    struct ws_value raw[WS_METRIC_COUNT];
    struct ws_ceilings ceilings;
    struct bytes b = {data, size};
    uint32_t w[16];
    struct ws_device device;
    struct ws_facts facts;
    for (unsigned i = 0; i < 16; i++)
        w[i] = take(&b);
    device = (struct ws_device){
        .name = names[w[0] % 4], .cc_major = w[0] >> 8 & 15, .cc_minor = w[0] >> 12 & 7, .sms = w[1] & 255};
    facts = (struct ws_facts){.device = &device,
                              .launch = {.grid = {w[2], w[3] & 0xffff, w[3] >> 16},
                                         .block = {w[4] & 2047, w[5] & 31, w[5] >> 30},
                                         .cluster = {w[6] & 15, w[6] >> 4 & 3, w[6] >> 31},
                                         .regs_per_thread = w[7] & 511,
                                         .static_smem_bytes = w[8],
                                         .dynamic_smem_bytes = w[9],
                                         .local_bytes_per_thread = w[10]},
                              .is_library = w[11] & 1,
                              .raw = raw};
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        raw[i] = take_value(&b);
    ws_ceilings_init(&ceilings);
    for (unsigned i = 0; i < WS_CEILING_COUNT; i++)
        ceilings.at[i].rate = take_value(&b);
    for (unsigned i = 0; i < WS_TIMELINE_COUNT; i++)
        timeline.value[i] = take_value(&b);
    ws_analyze(&facts, w[11] & 2 ? &ceilings : NULL, &report);
    ws_rules_run_timeline(&timeline, &findings);
    if (report_problem(&report) || findings_problem(&findings)) {
        fprintf(stderr, "%s\n", report_problem_text);
        abort();
    }
    return 0;
}
