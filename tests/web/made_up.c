/* SPDX-License-Identifier: MIT
 * made_up.c: writes a synthetic session for the browser tests, by the collector's own encoder: kernels with
 * counters, copies, a loss, a warning, names that are an attack. Nothing of it was measured, and it says so:
 * source = synthetic. It never becomes a file of the repository.
 *   made_up FILE [after]     `after`: the same program, one kernel mended, one gone, one launched in another shape
 *   made_up FILE live        no end: the process that started this one is said to run still
 *   made_up FILE rotated     one kernel, counted by rotation, whose launches differ
 *   made_up FILE sampled     PC samples of one kernel, whose code is tests/fake_cupti/sampled.cubin */
#include "../unit/capture.h"

#include <math.h>

enum { KEYS_MAX = 64 };

struct made {
    const char *name;
    uint32_t grid[3], block[3], regs, smem;
    unsigned launches;
    double us;                               /* mean time of a launch */
    double load_sectors, store_sectors;      /* per request */
    double rounds;                           /* per shared load; 0: no shared memory */
    double flop_per_thread, dram_per_thread; /* FP32 operations, bytes */
    double occupancy;
    const char *stall;
};

static const struct made made[] = {
    {"_Z9mat_naivePKfS0_Pfi", {128, 128, 1}, {16, 16, 1}, 38, 0, 4, 6600, 2.5, 4, 0, 4096, 40, 0.97, "lg_throttle"},
    {"_Z9mat_tiledILi32EEvPKfS1_Pfi",
     {64, 64, 1},
     {32, 32, 1},
     40,
     8192,
     4,
     2900,
     4,
     4,
     1,
     4096,
     12,
     0.94,
     "mio_throttle"},
    {"_Z11copy_stridePKfPfii", {65536, 1, 1}, {256, 1, 1}, 18, 0, 12, 1890, 32, 4, 0, 0, 36, 0.86, "long_scoreboard"},
    {"_Z14transpose_tilePKfPfi",
     {128, 128, 1},
     {32, 32, 1},
     24,
     4096,
     20,
     220,
     4,
     4,
     32,
     0,
     8,
     0.84,
     "short_scoreboard"},
    {"_Z15transpose_naivePKfPfi", {128, 128, 1}, {32, 32, 1}, 20, 0, 20, 430, 4, 32, 0, 0, 10, 0.82, "drain"},
    {"_Z7vec_addPKfS0_Pfi", {131072, 1, 1}, {256, 1, 1}, 16, 0, 40, 96, 4, 4, 0, 1, 12, 0.9, "long_scoreboard"},
    {"_Z8fma_peakILi16EEvPfi",
     {1056, 1, 1},
     {256, 1, 1},
     32,
     0,
     8,
     810,
     4,
     4,
     0,
     170000,
     8,
     0.98,
     "math_pipe_throttle"},
    {"_Z11reduce_treePKfPfi", {4096, 1, 1}, {256, 1, 1}, 16, 1024, 30, 31, 4, 4, 1, 1, 4, 0.71, "barrier"},
    {"<script>alert(1)</script><img src=x onerror=alert(2)>",
     {4, 1, 1},
     {64, 1, 1},
     16,
     0,
     2,
     2.2,
     8,
     8,
     0,
     2,
     16,
     0.04,
     "no_instruction"},
    {"=HYPERLINK(\"http://evil.example/\",\"x\")",
     {8, 1, 1},
     {64, 1, 1},
     16,
     0,
     2,
     2.4,
     4,
     4,
     0,
     0,
     8,
     0.05,
     "no_instruction"},
    /* NOLINTNEXTLINE(misc-misleading-bidirectional): that is what the page must tame */
    {"a kernel with no counters \xe2\x80\xae\xff", {80, 1, 1}, {128, 1, 1}, 32, 0, 3, 12, 0, 0, 0, 0, 0, 0, NULL},
};
enum { MADE = sizeof made / sizeof made[0], MEND = 3, RESHAPED = 6, GONE = 7 };

static const char *const reasons[] = {
    "barrier",        "branch_resolving", "dispatch_stall",     "drain",        "gmma",         "imc_miss",
    "lg_throttle",    "long_scoreboard",  "math_pipe_throttle", "membar",       "mio_throttle", "misc",
    "no_instruction", "short_scoreboard", "sleeping",           "tex_throttle", "wait"};

static uint32_t keys; /* interned so far, in this capture */
static const char *key_names[KEYS_MAX];

static uint32_t key_id(struct capture *c, const char *name)
{
    for (uint32_t i = 0; i < keys; i++)
        if (strcmp(key_names[i], name) == 0)
            return 1000 + i;
    if (keys == KEYS_MAX)
        abort();
    key_names[keys] = strdup(name);
    put_text(c, 1000 + keys, name);
    return 1000 + keys++;
}

static void put(struct capture *c, uint64_t profile, const char *name, double value)
{
    put_value(c, profile, key_id(c, name), value);
}

static void put_shared(struct capture *c, uint64_t profile, const struct made *k, double warps)
{
    double requests = k->rounds > 0 ? warps * 4 : 0;
    put(c, profile, "shared_ld_requests", requests);
    put(c, profile, "shared_ld_wavefronts", requests * k->rounds);
    put(c, profile, "shared_st_requests", requests / 4);
    put(c, profile, "shared_st_wavefronts", requests / 4);
    put(c, profile, "inst_memory_64b", 0);
    put(c, profile, "inst_memory_128b", 0);
}

static void put_stalls(struct capture *c, uint64_t profile, const struct made *k, double warp_cycles)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        char name[48];
        snprintf(name, sizeof name, "stall_%s", reasons[i]);
        put(c, profile, name, warp_cycles * (strcmp(reasons[i], k->stall) == 0 ? 0.5 : 0.003 * (double)(i % 6)));
    }
}

/* The raw counters of one launch; what a formula makes of them is not said here. */
static void put_metrics(struct capture *c, uint64_t profile, const struct made *k, double us)
{
    double blocks = (double)k->grid[0] * k->grid[1], threads = blocks * k->block[0] * k->block[1], warps = threads / 32;
    double cycles = us * 1755, loads = warps * 4, stores = warps;
    put(c, profile, "duration", us * 1e-6);
    put(c, profile, "elapsed_cycles", cycles);
    put(c, profile, "sm_active_cycles", cycles * 130);
    put(c, profile, "sm_active_cycles_avg", cycles * 0.98);
    put(c, profile, "sm_active_cycles_max", cycles * 0.99);
    put(c, profile, "scheduler_active_cycles", cycles * 520);
    put(c, profile, "issue_active", cycles * 520 * (k->flop_per_thread > 1e5 ? 0.93 : 0.31));
    put(c, profile, "warps_active", cycles * 130 * 64 * k->occupancy);
    put(c, profile, "inst_executed", warps * 310);
    put(c, profile, "thread_inst_executed", warps * 310 * 31.5);
    put(c, profile, "thread_inst_pred_on", warps * 310 * 30);
    put(c, profile, "gld_requests", loads);
    put(c, profile, "gld_sectors", loads * k->load_sectors);
    put(c, profile, "gld_bytes", loads * 128);
    put(c, profile, "gst_requests", stores);
    put(c, profile, "gst_sectors", stores * k->store_sectors);
    put(c, profile, "gst_bytes", stores * 128);
    put(c, profile, "fp32_add", 0);
    put(c, profile, "fp32_mul", 0);
    put(c, profile, "fp32_fma", threads * k->flop_per_thread / 2);
    put(c, profile, "fp64_add", 0);
    put(c, profile, "fp64_mul", 0);
    put(c, profile, "fp64_fma", 0);
    put(c, profile, "dram_read_bytes", threads * k->dram_per_thread * 0.7);
    put(c, profile, "dram_write_bytes", threads * k->dram_per_thread * 0.3);
    put(c, profile, "l2_bytes", threads * k->dram_per_thread * 1.4);
    put(c, profile, "sm_throughput", k->flop_per_thread > 1e5 ? 0.96 : 0.34);
    put(c, profile, "l1_throughput", k->load_sectors > 8 ? 0.97 : 0.4);
    put(c, profile, "l2_throughput", 0.45);
    put(c, profile, "dram_throughput", k->dram_per_thread * threads / (us * 1e-6) / 4.8e12);
    put_shared(c, profile, k, warps);
    put_stalls(c, profile, k, cycles * 130 * 64);
}

static struct made made_of(size_t i, bool is_after)
{
    struct made k = made[i];
    if (is_after && i == MEND)
        k.us *= 0.45;
    if (is_after && i == RESHAPED) {
        k.grid[0] /= 2;
        k.block[0] *= 2;
    }
    return k;
}

static struct ws_rec_kernel launch_of(const struct made *k, size_t i, int64_t start_ns, int64_t end_ns)
{
    struct ws_rec_kernel r = a_kernel((uint32_t)(100 + i), k->grid[0], start_ns, end_ns);
    r.grid_y = k->grid[1];
    r.block_x = k->block[0];
    r.block_y = k->block[1];
    r.regs_per_thread = k->regs;
    r.static_smem_bytes = 0;
    r.dynamic_smem_bytes = k->smem;
    r.stream = i % 5 == 0 ? 13 : 7;
    return r;
}

static void put_profiled(struct capture *c, const struct made *k, size_t i, uint64_t number)
{
    struct ws_rec_profile r = {.profile = number,
                               .name = (uint32_t)(100 + i),
                               .context = 1,
                               .stream = 7,
                               .correlation = number,
                               .grid_x = k->grid[0],
                               .grid_y = k->grid[1],
                               .grid_z = 1,
                               .block_x = k->block[0],
                               .block_y = k->block[1],
                               .block_z = 1,
                               .dynamic_smem_bytes = k->smem,
                               .passes = 9,
                               .pass_index = 0xffffffffu,
                               .cost_ns = 4000000,
                               .started_ns = 1000}; /* long before the launches */
    put_profile(c, &r);
    put_metrics(c, number, k, k->us);
}

static int64_t put_copy(struct capture *c, int64_t at, int64_t ns, uint32_t kind)
{
    struct ws_rec_memcpy r = {.context = 1,
                              .stream = 7,
                              .correlation = (uint64_t)at,
                              .start_ns = at,
                              .end_ns = at + ns,
                              .bytes = (uint64_t)ns * 50,
                              .copy_kind = kind,
                              .src_kind = kind == 1 ? 1 : 3,
                              .dst_kind = kind == 1 ? 3 : 1};
    put_memcpy(c, &r);
    return at + ns + 40000;
}

enum { CALL_NAME = 99 };

/* The host's call for a launch: it returned a while before the kernel began. */
static void put_call(struct capture *c, int64_t start_ns, unsigned n)
{
    int64_t returned = start_ns - 1500 - 900 * (int64_t)(n % 6);
    struct ws_rec_api r = {.name = CALL_NAME,
                           .domain = 2,
                           .correlation = (uint64_t)start_ns,
                           .thread = 1,
                           .start_ns = returned - 3000,
                           .end_ns = returned};
    put_api(c, &r);
}

/* A round ends: an allocation that every second round gives back, a stream that waits for an event, a host that waits.
 */
static void put_round(struct capture *c, unsigned round, int64_t at)
{
    struct ws_rec_memory memory = {.operation = 1 + round % 2,
                                   .memory_kind = 3,
                                   .address = 0xd0000000,
                                   .bytes = 256u << 20,
                                   .time_ns = at - 600000,
                                   .context = 1};
    struct ws_rec_sync event = {
        .sync_kind = 2, .context = 1, .stream = 13, .event = 5, .start_ns = at - 500000, .end_ns = at - 499000};
    struct ws_rec_sync host = {
        .sync_kind = 3, .context = 1, .stream = 7, .start_ns = at - 400000, .end_ns = at - 40000};
    put_memory(c, &memory);
    if (round == 0) {
        memory.address++;
        memory.bytes /= 4;
        put_memory(c, &memory);
    }
    put_sync(c, &event);
    put_sync(c, &host);
}

/* A live one is sampled, too, a millisecond each: a share that rises and falls, a rate, and one that is not always
 * there. */
static void put_sampled(struct capture *c, int64_t from_ns)
{
    enum { N = 300, COLUMNS = 3 };
    static uint8_t data[N * (8 + 4 * COLUMNS)];
    struct ws_rec_pm_series series = {.series = 1,
                                      .interval_ns = 1000000,
                                      .trigger = 1,
                                      .keys = ws_text_of("sm_active,pcie_read,l2_hit_rate"),
                                      .cupti = ws_text_of("a,b,c")};
    struct ws_rec_pm_samples samples = {
        .series = 1, .first_ns = from_ns, .samples = N, .data = ws_text_n((char *)data, sizeof data)};
    for (unsigned i = 0; i < N; i++) {
        const uint32_t times[2] = {i * 1000000, 1000000};
        const float values[COLUMNS] = {(float)(i % 100) / 100, 1000, i % 20 < 10 ? 0.75F : (float)NAN};
        memcpy(data + (size_t)i * (8 + 4 * COLUMNS), times, 8);
        memcpy(data + (size_t)i * (8 + 4 * COLUMNS) + 8, values, sizeof values);
    }
    put_pm_series(c, &series);
    put_pm_samples(c, &samples);
}

static void put_body(struct capture *c, bool is_after, bool is_live)
{
    int64_t at = 1500000000;
    uint64_t number = 0;
    for (size_t i = 0; i < MADE; i++)
        put_text(c, (uint32_t)(100 + i), made[i].name);
    put_text(c, CALL_NAME, "cudaLaunchKernel");
    if (is_live)
        put_sampled(c, at);
    for (unsigned round = 0; round < 4; round++) {
        at = put_copy(c, at, 4000000, 1);
        for (size_t i = 0; i < MADE; i++) {
            const struct made k = made_of(i, is_after);
            if (is_after && i == GONE)
                continue;
            for (unsigned n = round; n < made[i].launches; n += 4) {
                int64_t ns = (int64_t)(k.us * 1000 * (1 + 0.02 * ((n * 7) % 5)));
                struct ws_rec_kernel r = launch_of(&k, i, at, at + ns);
                put_kernel(c, &r);
                put_call(c, at, n);
                at += ns + 3000 + (n % 3 == 0 ? 20000 : 0);
            }
            if (round == 0 && made[i].stall)
                put_profiled(c, &k, i, ++number);
        }
        at = put_copy(c, at, 1300000, 2);
        put_round(c, round, at);
    }
    for (unsigned n = 0; is_live && n < 200; n++, at += 200000) {
        struct ws_rec_kernel r = launch_of(&made[5], 5, at, at + 96000);
        put_kernel(c, &r);
    }
}

/* Who speaks. A live one is our parent, on this start of this machine: the daemon asks whether it is there. */
static void put_who(struct capture *c, const char *agent, bool is_live)
{
    char boot[64] = "";
    FILE *f = is_live ? fopen("/proc/sys/kernel/random/boot_id", "re") : NULL;
    if (f && !fgets(boot, sizeof boot, f))
        boot[0] = 0;
    if (f)
        fclose(f);
    boot[strcspn(boot, "\n")] = 0;
    struct ws_rec_hello rec = {.agent_id = ws_text_of(agent),
                               .session_token = ws_text_of(agent),
                               .session_name = ws_text_of(is_live ? "made up, running" : "made up"),
                               .source = ws_text_of("synthetic"),
                               .pid = is_live ? (uint64_t)getppid() : 4242,
                               .ppid = 1,
                               .started_ns = 1000000000,
                               .exe = ws_text_of("/opt/<b>made up</b>"),
                               .argv = ws_text_n("made_up\0--size\0<i>1</i>", 23),
                               .host = ws_text_of("nowhere"),
                               .boot_id = ws_text_of(boot),
                               .driver_version = 13000,
                               .cupti_version = 130001,
                               .driver_text = ws_text_of("580.0"),
                               .warpsight = ws_text_of("0"),
                               .settings = ws_text_of("")};
    put_hello(c, &rec);
}

static const struct {
    uint32_t pc;
    const char *reason;
    uint64_t samples;
} samples[] = {
    {0x0f0, "long_scoreboard", 60}, {0x110, "mio_throttle", 12}, {0x120, "barrier", 40},
    {0x130, "mio_throttle", 80},    {0x130, "selected", 8},      {0x150, "short_scoreboard", 200},
};

static void put_samples(struct capture *c)
{
    static char bytes[16384];
    struct ws_rec_kernel kernel = {.name = 900,
                                   .context = 1,
                                   .stream = 7,
                                   .start_ns = 1000000000,
                                   .end_ns = 1000020000,
                                   .grid_x = 1,
                                   .grid_y = 1,
                                   .grid_z = 1,
                                   .block_x = 32,
                                   .block_y = 32,
                                   .block_z = 1,
                                   .regs_per_thread = 12,
                                   .static_smem_bytes = 4096};
    struct ws_rec_pc_sampling sampling = {.context = 1, .period = 12, .samples = 420, .other = 20};
    struct ws_rec_cubin cubin = {.crc = 7};
    FILE *f = fopen("tests/fake_cupti/sampled.cubin", "rb");
    if (!f) {
        perror("tests/fake_cupti/sampled.cubin");
        exit(1);
    }
    cubin.size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    cubin.bytes = ws_text_n(bytes, (size_t)cubin.size);
    put_text(c, 900, "_Z9transposePKfPf");
    put_kernel(c, &kernel);
    put_cubin(c, &cubin);
    put_pc_sampling(c, &sampling);
    for (uint32_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct ws_rec_pc_sample one = {.context = 1,
                                       .cubin = 7,
                                       .function = 900,
                                       .pc = samples[i].pc,
                                       .reason = 901 + i,
                                       .samples = samples[i].samples};
        char reason[80];
        snprintf(reason, sizeof reason, "smsp__pcsamp_warps_issue_stalled_%s", samples[i].reason);
        put_text(c, one.reason, reason);
        put_pc_sample(c, &one);
    }
}

/* Two passes, two rounds: instructions differ from launch to launch, requests do not. */
static void put_rotated(struct capture *c)
{
    static const double values[] = {1000, 32, 2000, 32};
    struct ws_rec_decision decision = {.name = 900,
                                       .grid_x = 8,
                                       .grid_y = 1,
                                       .grid_z = 1,
                                       .block_x = 256,
                                       .block_y = 1,
                                       .block_z = 1,
                                       .mode = 1,
                                       .reason = 5,
                                       .passes = 2,
                                       .footprint_bytes = 8100000000,
                                       .predicted_ns = 24000000};
    struct ws_rec_budget budget = {
        .limit_ns = 10000000000, .spent_ns = 4100000000, .run_ns = 132000000000, .counted = 4};
    put_text(c, 900, "_Z5sweepPf");
    put_text(c, 901, "inst_executed");
    put_text(c, 902, "gld_requests");
    put_decision(c, &decision);
    for (uint64_t i = 0; i < 4; i++) {
        struct ws_rec_profile profile = {.profile = i + 1,
                                         .name = 900,
                                         .context = 1,
                                         .stream = 7,
                                         .correlation = i + 1,
                                         .ordinal = i,
                                         .grid_x = 8,
                                         .grid_y = 1,
                                         .grid_z = 1,
                                         .block_x = 256,
                                         .block_y = 1,
                                         .block_z = 1,
                                         .mode = 1,
                                         .passes = 2,
                                         .pass_index = (uint32_t)(i % 2),
                                         .cost_ns = 24000000,
                                         .started_ns = 1000000000 + (int64_t)i * 50000000};
        struct ws_rec_metric metric = {.profile = i + 1, .key = 901 + (uint32_t)(i % 2), .value = values[i]};
        put_profile(c, &profile);
        put_metric(c, &metric);
    }
    put_budget(c, &budget);
}

int main(int argc, char **argv)
{
    bool is_rotated = argc == 3 && strcmp(argv[2], "rotated") == 0;
    bool is_sampled = argc == 3 && strcmp(argv[2], "sampled") == 0;
    bool is_after = argc == 3 && strcmp(argv[2], "after") == 0, is_live = argc == 3 && strcmp(argv[2], "live") == 0;
    const char *agent = is_rotated   ? "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
                        : is_sampled ? "dddddddddddddddddddddddddddddddd"
                        : is_live    ? "cccccccccccccccccccccccccccccccc"
                        : is_after   ? AGENT_B
                                     : AGENT_A;
    struct capture c = {0};
    struct ws_rec_context context = {.context = 1, .device = 0};
    struct ws_rec_status status = {.code = ws_text_of("clock-not-locked"),
                                   .severity = 1,
                                   .message = ws_text_of("The SM clock moved by 11 % while counting."),
                                   .remedy = ws_text_of("Lock it: `nvidia-smi -lgc 1755`."),
                                   .count = 3};
    struct ws_rec_loss loss = {.kind = ws_text_of("kernel"), .reason = ws_text_of("quota"), .count = 12};
    struct ws_rec_cost cost = {.what = ws_text_of("profile"), .count = 10, .total_ns = 84000000};
    if (argc < 2 || (argc == 3 && !is_after && !is_live && !is_sampled && !is_rotated) || argc > 3) {
        fprintf(stderr, "usage: made_up FILE [after|live|rotated|sampled]\n");
        return 2;
    }
    capture_segment(&c, agent, 0);
    put_who(&c, agent, is_live);
    put_gpu(&c, 0, "GPU-00000000-1111-2222-3333-444444444444");
    put_context(&c, &context);
    if (is_rotated)
        put_rotated(&c);
    else if (is_sampled)
        put_samples(&c);
    else
        put_body(&c, is_after, is_live);
    if (is_after)
        put_loss(&c, &loss);
    put_status(&c, &status);
    put_cost(&c, &cost);
    if (!is_live)
        put_end(&c);
    write_file(argv[1], c.bytes, c.used);
    free(c.bytes);
    return 0;
}
