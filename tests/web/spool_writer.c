/* SPDX-License-Identifier: MIT
 * spool_writer.c: a program that records as the collector does, with the collector's own writer, but has no
 * GPU: for tests of the daemon. Synthetic on purpose; what it writes never becomes a file of tests/flow.
 * usage: spool_writer SPOOL TOKEN LAUNCHES [PAUSE_MS [KERNELS [host]]]
 * host: a call for each launch that returned 700 ns before it started, each 8th followed by a wait for its stream; an
 * allocation of a megabyte for each 100th launch, every second of which is released.
 * Launches come in ten bursts with a pause between two. Kernel 0 has a hostile name. Says "ready" on
 * stdout when the first burst is in the spool. */
#include "../../collector/spool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BURSTS 10

static void make_id(char out[33])
{
    static const char digits[] = "0123456789abcdef";
    unsigned seed = (unsigned)(ws_now_ns() ^ getpid());
    for (int i = 0; i < 32; i++)
        out[i] = digits[(unsigned)rand_r(&seed) % 16];
    out[32] = 0;
}

static void greet(const char *agent_id, const char *token)
{
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    struct ws_rec_hello hello = {.agent_id = ws_text_of(agent_id),
                                 .session_token = ws_text_of(token),
                                 .session_name = ws_text_of(token),
                                 .source = ws_text_of("synthetic"),
                                 .pid = (uint64_t)getpid(),
                                 .started_ns = ws_now_ns(),
                                 .exe = ws_text_of("/opt/app/\"<b>train</b>\""),
                                 .argv = ws_text_n("train\0--name=</script><script>alert(1)</script>", 48),
                                 .host = ws_text_of("host"),
                                 .driver_version = 13000,
                                 .driver_text = ws_text_of("580.0"),
                                 .cupti_version = 130001,
                                 .settings = ws_text_of("")};
    struct ws_rec_device device = {.name = ws_text_of("NVIDIA H200"),
                                   .uuid = ws_text_of("GPU-00000000-0000-0000-0000-000000000001"),
                                   .chip = ws_text_of("GH100"),
                                   .cc_major = 9,
                                   .sms = 132,
                                   .memory_bytes = 150000000000ull,
                                   .sm_clock_hz = 1980000000,
                                   .max_warps_per_sm = 64,
                                   .smem_bytes_per_sm = 233472,
                                   .regs_per_sm = 65536};
    struct ws_rec_context context = {.context = 1};
    if (f && fgets(boot, sizeof boot, f))
        boot[strcspn(boot, "\n")] = 0;
    if (f)
        fclose(f);
    hello.boot_id = ws_text_of(boot);
    ws_spool_hello(&hello);
    ws_spool_device(&device);
    ws_spool_context(&context);
}

static uint32_t kernel_name(unsigned kernel)
{
    char name[96];
    if (kernel == 0)
        return ws_spool_string_id("</script><img src=x onerror=alert(1)>\"\\\n\xff");
    snprintf(name, sizeof name, "_Z%zukernel%uPfS_i", strlen("kernel") + snprintf(NULL, 0, "%u", kernel), kernel);
    return ws_spool_string_id(name);
}

static void launch(uint64_t i, unsigned kernels, int64_t start_ns)
{
    unsigned kernel = (unsigned)(i % kernels);
    struct ws_rec_kernel rec = {.name = kernel_name(kernel),
                                .context = 1,
                                .stream = 7 + (uint32_t)(i % 2),
                                .correlation = i + 1,
                                .start_ns = start_ns,
                                .end_ns = start_ns + 1000 + (int64_t)kernel * 100,
                                .grid_x = 64,
                                .grid_y = 1,
                                .grid_z = 1,
                                .block_x = 128,
                                .block_y = 1,
                                .block_z = 1,
                                .regs_per_thread = 32,
                                .carveout_percent = 0xffffffffu};
    struct ws_rec_memcpy copy = {.context = 1,
                                 .stream = 7,
                                 .start_ns = start_ns,
                                 .end_ns = start_ns + 500,
                                 .bytes = 4096,
                                 .copy_kind = 1,
                                 .src_kind = 1,
                                 .dst_kind = 3};
    ws_spool_kernel(&rec);
    if (i % 16 == 0)
        ws_spool_memcpy(&copy);
}

static void host(uint64_t i, int64_t start_ns)
{
    struct ws_rec_api api = {.name = ws_spool_string_id("cudaLaunchKernel"),
                             .domain = 2,
                             .correlation = i + 1,
                             .start_ns = start_ns - 1900,
                             .end_ns = start_ns - 700};
    struct ws_rec_sync sync = {.sync_kind = 3,
                               .context = 1,
                               .stream = 7 + (uint32_t)(i % 2),
                               .correlation = i + 1,
                               .start_ns = start_ns - 600,
                               .end_ns = start_ns + 2000};
    struct ws_rec_memory memory = {.operation = 1 + (i / 100) % 2,
                                   .memory_kind = 3,
                                   .address = 0xd000,
                                   .bytes = 1 << 20,
                                   .time_ns = start_ns,
                                   .context = 1};
    ws_spool_api(&api);
    if (i % 8 == 7)
        ws_spool_sync(&sync);
    if (i % 100 == 0)
        ws_spool_memory(&memory);
}

static void count(unsigned kernel)
{
    static const struct {
        const char *key;
        double value;
    } values[] = {{"inst_executed", 65536},
                  {"gld_requests", 8192},
                  {"gld_sectors", 131072},
                  {"gst_requests", 8192},
                  {"gst_sectors", 32768},
                  {"gld_bytes", 1048576},
                  {"gst_bytes", 1048576},
                  {"shared_ld_requests", 8192},
                  {"shared_ld_wavefronts", 65536},
                  {"fp32_fma", 1048576},
                  {"dram_read_bytes", 4194304},
                  {"dram_write_bytes", 1048576},
                  {"fp32_add", 0},
                  {"fp32_mul", 0},
                  {"thread_inst_executed", 2097152},
                  {"shared_st_requests", 0},
                  {"shared_st_wavefronts", 0}};
    struct ws_rec_profile profile = {.profile = kernel + 1,
                                     .name = kernel_name(kernel),
                                     .context = 1,
                                     .stream = 7,
                                     .correlation = kernel + 1,
                                     .grid_x = 64,
                                     .grid_y = 1,
                                     .grid_z = 1,
                                     .block_x = 128,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .passes = 3,
                                     .pass_index = 0xffffffffu,
                                     .cost_ns = 5000000,
                                     .started_ns = 1000}; /* long before the launches */
    ws_spool_profile(&profile);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct ws_rec_metric metric = {.profile = kernel + 1, .key = ws_spool_string_id(values[i].key)};
        metric.value = values[i].value * (1 + kernel % 7);
        ws_spool_metric(&metric);
    }
}

static void rest(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static void nothing(bool final)
{
    (void) final;
}

int main(int argc, char **argv)
{
    char agent_id[33];
    uint64_t launches = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    unsigned pause_ms = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    unsigned kernels = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 5;
    bool has_host = argc > 6;
    struct ws_spool_config config = {
        .memory_bytes = 64u << 20, .disk_bytes = 2048ull << 20, .flush_ms = 20, .tick = nothing};
    if (argc < 4 || kernels == 0) {
        fprintf(stderr, "usage: spool_writer SPOOL TOKEN LAUNCHES [PAUSE_MS [KERNELS [host]]]\n");
        return 2;
    }
    make_id(agent_id);
    config.folder = argv[1];
    config.session = argv[2];
    config.agent_id = agent_id;
    config.started_ns = ws_now_ns();
    if (ws_spool_init(&config) != 0 || ws_spool_start() != 0)
        return 1;
    greet(agent_id, argv[2]);
    for (unsigned k = 0; k < kernels && k < launches; k++)
        count(k);
    for (uint64_t i = 0; i < launches; i++) {
        int64_t now = ws_now_ns();
        launch(i, kernels, now);
        if (has_host)
            host(i, now);
        if (i % 4096 == 4095)
            rest(1); /* the memory of the queue is bounded, and nothing may be dropped here */
        if (pause_ms && (i + 1) % (launches / BURSTS + 1) == 0) {
            rest(100);
            if (i < launches / BURSTS + 1) {
                printf("ready\n");
                fflush(stdout);
            }
            rest(pause_ms);
        }
    }
    return ws_spool_finish(10000) ? 0 : 1;
}
