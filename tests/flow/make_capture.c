/* SPDX-License-Identifier: MIT
 * make_capture.c: writes a synthetic capture for tests of commands: `make_capture FILE [TOKEN]`. Its source says
 * "synthetic" wherever it is shown. What it writes never becomes a file of tests/flow. */
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
