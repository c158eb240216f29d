/* SPDX-License-Identifier: MIT
 * test_catalogue_chips.c: metrics.def against the real CUPTI, which knows every chip without a GPU or a driver:
 * each counter resolves on each chip or is listed as absent, its unit is CUPTI's, and the sets cost
 * the passes that catalogue_passes.golden says. `make golden` rewrites that file; read the diff. */
#include "analyzer/metrics.h"
#include "collector/locate.h"
#include "collector/plan.h"
#include "collector/timeline_plan.h"
#include "tests/unit/test.h"

#define GOLDEN "tests/unit/catalogue_passes.golden"

#if __has_include(<cupti_profiler_host.h>)

#include <cupti_target.h>

#include <cupti_profiler_host.h>
#include <cupti_version.h>
#include <dlfcn.h>

#define CALLS(X)                                                \
    X(get_version, cuptiGetVersion, uint32_t *)                 \
    X(initialize, cuptiProfilerHostInitialize, void *)          \
    X(deinitialize, cuptiProfilerHostDeinitialize, void *)      \
    X(chips, cuptiProfilerHostGetSupportedChips, void *)        \
    X(properties, cuptiProfilerHostGetMetricProperties, void *) \
    X(add, cuptiProfilerHostConfigAddMetrics, void *)           \
    X(image_size, cuptiProfilerHostGetConfigImageSize, void *)  \
    X(image, cuptiProfilerHostGetConfigImage, void *)           \
    X(passes, cuptiProfilerHostGetNumOfPasses, void *)

struct cupti {
#define CALL(field, name, argument) CUptiResult (*field)(argument);
    CALLS(CALL)
#undef CALL
    uint32_t version;
    size_t chip_count;
    const char *const *chip_names;
};

/* The real library, or a skip with the reason. */
static struct cupti open_cupti(void)
{
    static struct ws_locations places;
    struct ws_locate_hints hints = {.cuda_home = getenv("CUDA_HOME")};
    struct cupti cupti = {0};
    void *handle = NULL;
    CUpti_Profiler_Host_GetSupportedChips_Params chips = {.structSize =
                                                              CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE};
    if (getenv("SAN") && *getenv("SAN"))
        SKIP("libcupti opens its parts with RTLD_DEEPBIND, which a sanitizer's runtime refuses");
    ws_locate_cupti(&hints, &places);
    for (uint32_t i = 0; i < places.found_count && !handle; i++) {
        struct ws_opened opened;
        if (ws_locate_open(&places.found[i], &opened) == 0 && dlsym(opened.cupti, "cuptiProfilerHostInitialize")) {
            (void)ws_locate_open_perf(&places.found[i]);
            handle = opened.cupti;
        }
    }
    if (!handle)
        SKIP("no libcupti with the profiler host API on this machine");
#define CALL(field, name, argument) *(void **)&cupti.field = dlsym(handle, #name);
    CALLS(CALL)
#undef CALL
    if (!cupti.passes || cupti.get_version(&cupti.version) != CUPTI_SUCCESS)
        SKIP("libcupti has no profiler host API");
    if (cupti.chips(&chips) != CUPTI_SUCCESS || chips.numChips == 0)
        SKIP("libcupti lists no chips");
    cupti.chip_count = chips.numChips;
    cupti.chip_names = chips.ppChipNames;
    return cupti;
}

/* NULL when CUPTI lists the chip but does not serve it. */
static CUpti_Profiler_Host_Object *open_chip_for(const struct cupti *cupti, const char *chip, CUpti_ProfilerType type)
{
    CUpti_Profiler_Host_Initialize_Params p = {.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
    p.profilerType = type;
    p.pChipName = chip;
    return cupti->initialize(&p) == CUPTI_SUCCESS ? p.pHostObject : NULL;
}

static CUpti_Profiler_Host_Object *open_chip(const struct cupti *cupti, const char *chip)
{
    return open_chip_for(cupti, chip, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
}

static void close_chip(const struct cupti *cupti, CUpti_Profiler_Host_Object *host)
{
    CUpti_Profiler_Host_Deinitialize_Params p = {.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE};
    p.pHostObject = host;
    cupti->deinitialize(&p);
}

/* The dimension that CUPTI gives the counter, or NULL when the chip has none of that name. */
static const char *unit_on_chip(const struct cupti *cupti, CUpti_Profiler_Host_Object *host, const char *name)
{
    CUpti_Profiler_Host_GetMetricProperties_Params p = {.structSize =
                                                            CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE};
    p.pHostObject = host;
    p.pMetricName = name;
    if (cupti->properties(&p) != CUPTI_SUCCESS)
        return NULL;
    return p.pDimUnit ? p.pDimUnit : "";
}

/* The first of the alternative names that the chip has. */
static bool resolve(const struct cupti *cupti, CUpti_Profiler_Host_Object *host, const char *names,
                    char name[WS_PLAN_NAME_MAX], const char **unit)
{
    const char *next;
    size_t length;
    while (ws_metric_next_name(&names, &next, &length)) {
        snprintf(name, WS_PLAN_NAME_MAX, "%.*s", (int)length, next);
        *unit = unit_on_chip(cupti, host, name);
        if (*unit)
            return true;
    }
    return false;
}

static int count_added(const struct cupti *cupti, CUpti_Profiler_Host_Object *host, const char **names, size_t count)
{
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {.structSize =
                                                           CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        .structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
    CUpti_Profiler_Host_GetConfigImage_Params image = {.structSize =
                                                           CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {.structSize =
                                                            CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
    int result = -1;
    add.pHostObject = size.pHostObject = image.pHostObject = host;
    add.ppMetricNames = names;
    add.numMetrics = count;
    if (cupti->add(&add) != CUPTI_SUCCESS || cupti->image_size(&size) != CUPTI_SUCCESS)
        return -1;
    image.configImageSize = passes.configImageSize = size.configImageSize;
    image.pConfigImage = passes.pConfigImage = malloc(size.configImageSize);
    if (cupti->image(&image) == CUPTI_SUCCESS && cupti->passes(&passes) == CUPTI_SUCCESS)
        result = (int)passes.numOfPasses;
    free(image.pConfigImage);
    return result;
}

/* Passes of what the collector would ask this chip for, in its order, or -1. Only names that were looked up
 * are added: an unknown one makes GetConfigImage crash. One call, for two calls may cost a pass more. */
static int count_passes(const struct cupti *cupti, const char *chip, const char *sets)
{
    static struct ws_plan plan;
    static char text[WS_PLAN_MAX][WS_PLAN_NAME_MAX];
    const char *names[WS_PLAN_MAX], *unit;
    size_t count = 0;
    int passes;
    CUpti_Profiler_Host_Object *host = open_chip(cupti, chip);
    if (!host || ws_plan_make(&plan, sets, "") != 0)
        return -1;
    for (size_t i = 0; i < plan.count; i++)
        if (resolve(cupti, host, plan.entry[i].cupti, text[count], &unit)) {
            names[count] = text[count];
            count++;
        }
    passes = count_added(cupti, host, names, count);
    close_chip(cupti, host);
    return passes;
}

/* What each column of the golden table collects. */
static const char *const levels[] = {"core", "core,memory", "core,memory,stalls", "core,memory,stalls,throughput",
                                     "full"};
enum { CORE, MEMORY, STALLS, THROUGHPUT, FULL, LEVELS };

/* --- the golden table ----------------------------------------------------------------------------- */

static void write_chip(const struct cupti *cupti, const char *chip, FILE *out)
{
    CUpti_Profiler_Host_Object *host = open_chip(cupti, chip);
    if (!host) {
        fprintf(out, "%-6s not served by this CUPTI\n", chip);
        return;
    }
    fprintf(out, "%-6s", chip);
    for (int level = 0; level < LEVELS; level++)
        fprintf(out, " %3d", count_passes(cupti, chip, levels[level]));
    fprintf(out, "  lacks:");
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        char name[WS_PLAN_NAME_MAX];
        const char *unit;
        if (m->kind == WS_KIND_RAW && *m->cupti && !resolve(cupti, host, m->cupti, name, &unit))
            fprintf(out, " %s", m->key);
    }
    fputc('\n', out);
    close_chip(cupti, host);
}

static char *make_table(const struct cupti *cupti)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fprintf(
        out,
        "# catalogue_passes.golden: written by `make golden` from analyzer/metrics.def and CUPTI %u.\n"
        "# chip, then the passes of core · +memory · +stalls · +throughput · +roofline (full), then the keys whose\n"
        "# counter the chip does not have.\n",
        cupti->version);
    for (size_t i = 0; i < cupti->chip_count; i++)
        write_chip(cupti, cupti->chip_names[i], out);
    fclose(out);
    return text;
}

static char *read_golden(const char *path)
{
    char *text = calloc(1, 65536);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(text, 1, 65535, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void write_golden(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
    printf("wrote %s\n", path);
}

/* Line by line, so that what changed is seen at once. */
static void compare(char *got, char *want)
{
    char *got_at, *want_at, *got_line = strtok_r(got, "\n", &got_at), *want_line = strtok_r(want, "\n", &want_at);
    for (; got_line || want_line;
         got_line = strtok_r(NULL, "\n", &got_at), want_line = strtok_r(NULL, "\n", &want_at)) {
        if (!got_line || !want_line || strcmp(got_line, want_line) != 0)
            WS_FAIL("\n  got    %s\n  golden %s", got_line ? got_line : "(nothing)",
                    want_line ? want_line : "(nothing)");
        if (!got_line || !want_line)
            return;
    }
}

static void hold_against(const struct cupti *cupti, const char *path, char *got)
{
    char *want, version[32];
    fputs(got, stdout);
    if (getenv("WS_WRITE_GOLDEN")) {
        write_golden(path, got);
        free(got);
        return;
    }
    want = read_golden(path);
    snprintf(version, sizeof version, "CUPTI %u.", cupti->version);
    if (!strstr(want, version) && *want)
        SKIP("the golden table is of another CUPTI version");
    compare(got, want);
    free(got);
    free(want);
}

TEST(passes_and_absent_counters_are_as_the_golden_table_says)
{
    struct cupti cupti = open_cupti();
    hold_against(&cupti, GOLDEN, make_table(&cupti));
}

/* --- samples over time: one pass, whatever the chip ------------------------------------------------- */

struct sampled {
    const char *names[WS_TIMELINE_MAX], *keys[WS_TIMELINE_MAX];
    size_t count;
    char text[WS_TIMELINE_MAX][WS_PLAN_NAME_MAX];
    char absent[512], left_out[512];
};

static int passes_of(const struct cupti *cupti, const char *chip, const char **names, size_t count)
{
    CUpti_Profiler_Host_Object *host = open_chip_for(cupti, chip, CUPTI_PROFILER_TYPE_PM_SAMPLING);
    int passes = count_added(cupti, host, names, count);
    close_chip(cupti, host);
    return passes;
}

/* What the collector would sample (timeline.c, fit_one_pass), by its own rule. False: the chip is not served. */
static bool sample_chip(const struct cupti *cupti, const char *chip, struct sampled *out)
{
    static struct ws_timeline_plan plan;
    CUpti_Profiler_Host_Object *host = open_chip_for(cupti, chip, CUPTI_PROFILER_TYPE_PM_SAMPLING);
    const char *unit;
    memset(out, 0, sizeof *out);
    if (!host || ws_timeline_plan_make(&plan, "default") != 0)
        return false;
    for (size_t i = 0; i < plan.count; i++) {
        char *name = out->text[out->count];
        if (!resolve(cupti, host, plan.entry[i].cupti, name, &unit)) {
            snprintf(out->absent + strlen(out->absent), 512 - strlen(out->absent), " %s", plan.entry[i].key);
            continue;
        }
        out->names[out->count] = name;
        if (passes_of(cupti, chip, out->names, out->count + 1) == 1)
            out->keys[out->count++] = ws_pm_get(ws_pm_find(plan.entry[i].key, strlen(plan.entry[i].key)))->key;
        else
            snprintf(out->left_out + strlen(out->left_out), 512 - strlen(out->left_out), " %s", plan.entry[i].key);
    }
    close_chip(cupti, host);
    return true;
}

static char *make_samples_table(const struct cupti *cupti)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct sampled s;
    fprintf(out,
            "# pm_passes.golden: written by `make golden` from analyzer/pm_metrics.def and CUPTI %u.\n"
            "# chip, how many of the default metrics one pass samples, then what the chip lacks, and what would need "
            "a second pass\n",
            cupti->version);
    for (size_t i = 0; i < cupti->chip_count; i++) {
        if (!sample_chip(cupti, cupti->chip_names[i], &s)) {
            fprintf(out, "%-6s cannot be sampled\n", cupti->chip_names[i]);
            continue;
        }
        fprintf(out, "%-6s %zu  lacks:%s  second pass:%s\n", cupti->chip_names[i], s.count, s.absent, s.left_out);
    }
    fclose(out);
    return text;
}

TEST(samples_of_one_pass_are_as_the_golden_table_says)
{
    struct cupti cupti = open_cupti();
    hold_against(&cupti, "tests/unit/pm_passes.golden", make_samples_table(&cupti));
}

TEST(the_default_samples_fit_one_pass_on_every_chip_since_ampere)
{
    struct cupti cupti = open_cupti();
    struct sampled s;
    unsigned served = 0;
    for (size_t i = 0; i < cupti.chip_count; i++) {
        const char *chip = cupti.chip_names[i];
        if (!sample_chip(&cupti, chip, &s))
            continue;
        served++;
        /* The collector asks for all at once first: the same answer as one after another. */
        if (passes_of(&cupti, chip, s.names, s.count) != 1)
            WS_FAIL("%s: what fits one by one does not fit together", chip);
        if (s.count == 0 || strcmp(s.keys[0], "sm_active") != 0)
            WS_FAIL("%s: not even SM active", chip);
        if (strncmp(chip, "TU", 2) != 0 && *s.left_out)
            WS_FAIL("%s: a second pass for%s", chip, s.left_out);
    }
    CHECK(served >= 20);
}

/* --- claims that hold on every chip --------------------------------------------------------------- */

TEST(the_sets_keep_within_their_passes)
{
    /* What one profiled launch costs follows from this. GV100 can count L2 in fewer ways than its successors. */
    struct cupti cupti = open_cupti();
    unsigned served = 0;
    for (size_t i = 0; i < cupti.chip_count; i++) {
        const char *chip = cupti.chip_names[i];
        CUpti_Profiler_Host_Object *host = open_chip(&cupti, chip);
        bool is_volta = strncmp(chip, "GV", 2) == 0;
        if (!host)
            continue;
        close_chip(&cupti, host);
        served++;
        if (count_passes(&cupti, chip, levels[CORE]) > 2)
            WS_FAIL("%s: core takes more than 2 passes", chip);
        if (count_passes(&cupti, chip, levels[MEMORY]) > (is_volta ? 4 : 2))
            WS_FAIL("%s: core and memory take more than %d passes", chip, is_volta ? 4 : 2);
        if (count_passes(&cupti, chip, levels[STALLS]) > 7)
            WS_FAIL("%s: core, memory and stalls take more than 7 passes", chip);
        if (count_passes(&cupti, chip, levels[FULL]) < 0)
            WS_FAIL("%s: full has no configuration", chip);
    }
    CHECK(served >= 20);
}

TEST(every_alternative_name_exists_on_some_chip)
{
    struct cupti cupti = open_cupti();
    static bool is_known[WS_METRIC_COUNT][4];
    for (size_t c = 0; c < cupti.chip_count; c++) {
        CUpti_Profiler_Host_Object *host = open_chip(&cupti, cupti.chip_names[c]);
        for (unsigned i = 0; host && i < WS_METRIC_COUNT; i++) {
            const char *at = ws_metric_get((enum ws_metric_id)i)->cupti, *next;
            size_t length;
            for (unsigned n = 0; n < 4 && ws_metric_next_name(&at, &next, &length); n++) {
                char name[WS_PLAN_NAME_MAX];
                snprintf(name, sizeof name, "%.*s", (int)length, next);
                is_known[i][n] |= unit_on_chip(&cupti, host, name) != NULL;
            }
        }
        if (host)
            close_chip(&cupti, host);
    }
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const char *at = ws_metric_get((enum ws_metric_id)i)->cupti, *next;
        size_t length;
        for (unsigned n = 0; ws_metric_next_name(&at, &next, &length); n++)
            if (n >= 4 || !is_known[i][n])
                WS_FAIL("%s: no chip has '%.*s'", ws_metric_get((enum ws_metric_id)i)->key, (int)length, next);
    }
}

/* CUPTI's own word for what it counts, and the units of ours that may stand for it. An instruction is a
 * request where it is a memory instruction, and a thread instruction where threads are counted. */
static bool is_unit_of(const char *cupti, enum ws_unit unit)
{
    static const struct {
        const char *cupti;
        enum ws_unit unit;
    } pairs[] = {{"byte", WS_UNIT_BYTE},
                 {"nanosecond", WS_UNIT_SECOND},
                 {"percent", WS_UNIT_RATIO},
                 {"gpc_cycle", WS_UNIT_CYCLE},
                 {"gpc_cyclewarp", WS_UNIT_WARP_CYCLE},
                 {"instruction", WS_UNIT_INST},
                 {"instruction", WS_UNIT_THREAD_INST},
                 {"instruction", WS_UNIT_REQUEST},
                 {"branch_target", WS_UNIT_INST},
                 {"l1tex_request", WS_UNIT_REQUEST},
                 {"l2_request", WS_UNIT_REQUEST},
                 {"l2_sector", WS_UNIT_SECTOR},
                 {"l1tex_wavefront", WS_UNIT_WAVEFRONT},
                 {"l1data_bank_conflict", WS_UNIT_WAVEFRONT},
                 {"math_op", WS_UNIT_FLOP},
                 {"math_op", WS_UNIT_OP}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].unit == unit && strcmp(pairs[i].cupti, cupti) == 0)
            return true;
    return false;
}

TEST(the_unit_of_every_counter_is_the_one_that_cupti_names)
{
    struct cupti cupti = open_cupti();
    unsigned checked = 0;
    for (size_t c = 0; c < cupti.chip_count; c++) {
        CUpti_Profiler_Host_Object *host = open_chip(&cupti, cupti.chip_names[c]);
        for (unsigned i = 0; host && i < WS_METRIC_COUNT; i++) {
            const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
            char name[WS_PLAN_NAME_MAX];
            const char *unit;
            if (m->kind != WS_KIND_RAW || !resolve(&cupti, host, m->cupti, name, &unit))
                continue;
            checked++;
            if (!is_unit_of(unit, m->unit))
                WS_FAIL("%s on %s: %s is in '%s', not in %s", m->key, cupti.chip_names[c], name, unit,
                        ws_unit_get(m->unit)->title);
        }
        if (host)
            close_chip(&cupti, host);
    }
    CHECK(checked > 2000);
}

#else

TEST(passes_and_absent_counters_are_as_the_golden_table_says)
{
    SKIP("no CUPTI headers on this machine");
}

#endif
