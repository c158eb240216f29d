/* SPDX-License-Identifier: MIT
 * make_capture.c: writes a synthetic capture for tests of commands: `make_capture FILE [TOKEN]`, or one of N launches
 * with the calls that made them: `make_capture FILE --launches N`. Its source says "synthetic" wherever it is shown.
 * What it writes never becomes a file of tests/flow. */
#include "../unit/capture.h"

/* Texts 10, 11, …: counters of a kernel that reads every other word. */
static const struct {
    const char *key;
    double value;
} counters[] = {
    {"gld_requests", 1024}, {"gld_sectors", 8192},       {"gld_bytes", 131072},    {"gst_requests", 1024},
    {"gst_sectors", 4096},  {"gst_bytes", 131072},       {"inst_executed", 50000}, {"thread_inst_executed", 1600000},
    {"warps_active", 64e6}, {"sm_active_cycles", 2e6},   {"dram_read_bytes", 3e6}, {"dram_write_bytes", 1e6},
    {"duration", 1.5e-5},   {"smsp__custom.sum", 1. / 3}};
#define COUNTERS (sizeof counters / sizeof counters[0])

static void put_process(struct capture *c, const char *token)
{
    struct ws_rec_cost cost = {.what = ws_text_of("profile"), .count = 1, .total_ns = 5000000};
    capture_segment(c, AGENT_A, 0);
    put_greeting(c, AGENT_A, token, "synthetic");
    put_gpu(c, 0, "GPU-1");
    put_text(c, 1, "_Z11stride_readILi2EEvPKfPfi");
    put_text(c, 2, "_Z4copyPKfPf");
    put_text(c, 3, "<script>alert(1)</script>\"\x1b[31m");
    for (uint32_t i = 0; i < COUNTERS; i++)
        put_text(c, 10 + i, counters[i].key);
    for (int i = 0; i < 5; i++)
        put_launch(c, 1, 1024, 1000000 + i * 100000, 1015000 + i * 100000);
    put_launch(c, 2, 64, 0, 0);
    put_launch(c, 3, 64, 2000000, 2000500);
    put_counters(c, 1, 1, 1024);
    for (uint32_t i = 0; i < COUNTERS; i++)
        put_value(c, 1, 10 + i, counters[i].value);
    put_cost(c, &cost);
    put_end(c);
}

/* A launch on one of two streams, the runtime call that made it and the driver call within; each tenth is a copy and
 * a memset besides. */
static void put_step(struct capture *c, int64_t i)
{
    int64_t at = 1000100000 + i * 10000;
    struct ws_rec_api runtime = {.name = 4,
                                 .domain = 2,
                                 .correlation = (uint64_t)at,
                                 .thread = 4243,
                                 .start_ns = at - 7001,
                                 .end_ns = at - 1000};
    struct ws_rec_api driver = runtime;
    struct ws_rec_kernel kernel = a_kernel(1, 1024, at, at + 1501);
    struct ws_rec_memcpy copy = {.context = 1,
                                 .stream = 9,
                                 .correlation = (uint64_t)at + 1,
                                 .start_ns = at + 2000,
                                 .end_ns = at + 2000 + 4096,
                                 .bytes = 4096,
                                 .copy_kind = 1,
                                 .src_kind = 2,
                                 .dst_kind = 3};
    struct ws_rec_memset set = {.context = 1,
                                .stream = 9,

                                .start_ns = at + 7000,
                                .end_ns = at + 7500,
                                .bytes = 512,
                                .memory_kind = 3};
    driver.name = 5;
    driver.domain = 1;
    driver.start_ns += 100;
    driver.end_ns -= 100;
    put_api(c, &driver);
    put_api(c, &runtime);
    kernel.stream = i % 2 ? 7 : 8;
    put_kernel(c, &kernel);
    if (i % 10 != 0)
        return;
    runtime.name = 6;
    runtime.correlation = copy.correlation;
    put_api(c, &runtime);
    put_memcpy(c, &copy);
    put_memset(c, &set);
}

static int write_long(const char *path, int64_t launches)
{
    struct capture c = {0};
    capture_segment(&c, AGENT_B, 0);
    put_greeting(&c, AGENT_B, "long", "synthetic");
    put_gpu(&c, 0, "GPU-1");
    put_text(&c, 1, "_Z11stride_readILi2EEvPKfPfi");
    put_text(&c, 4, "cudaLaunchKernel");
    put_text(&c, 5, "cuLaunchKernel");
    put_text(&c, 6, "cudaMemcpyAsync");
    for (int64_t i = 0; i < launches; i++)
        put_step(&c, i);
    put_end(&c);
    write_file(path, c.bytes, c.used);
    free(c.bytes);
    return 0;
}

int main(int argc, char **argv)
{
    struct capture c = {0};
    struct ws_rec_run run = {.session_token = ws_text_of(argc > 2 ? argv[2] : "token"),
                             .session_name = ws_text_of("tuesday"),
                             .exe = ws_text_of("/bin/app"),
                             .argv = ws_text_of("app"),
                             .started_ns = 1000000000,
                             .ended_ns = 3000000000};
    char agent[33] = AGENT_A;
    if (argc < 2)
        return 2;
    if (argc == 4 && strcmp(argv[2], "--launches") == 0)
        return write_long(argv[1], strtoll(argv[3], NULL, 10));
    put_process(&c, argc > 2 ? argv[2] : "token");
    /* Another token is another process: its agent must be another, too. */
    if (argc > 2) {
        struct ws_segment_header header;
        snprintf(agent, sizeof agent, "%032x", (unsigned)ws_crc32c(0, argv[2], strlen(argv[2])));
        if (ws_wire_get_segment(&header, c.bytes, c.used) != 0)
            return 1;
        memcpy(header.agent_id, agent, sizeof agent);
        ws_wire_put_segment(&header, c.bytes);
    }
    c.seq = 0;
    agent[0] = 'f';
    capture_segment(&c, agent, 0);
    put_run(&c, &run);
    write_file(argv[1], c.bytes, c.used);
    free(c.bytes);
    return 0;
}
