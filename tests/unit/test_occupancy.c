/* SPDX-License-Identifier: MIT
 * test_occupancy.c: the occupancy model against the toolkit's own header and against known cases.
 * The header is used here only; where it is absent those tests say so and skip. */
#include "analyzer/err.h"
#include "analyzer/occupancy.h"
#include "test.h"

#if defined(__has_include)
#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#define HAVE_TOOLKIT 1
#endif
#endif

static struct ws_occupancy of(uint32_t major, uint32_t minor, struct ws_occ_config config)
{
    struct ws_occupancy out;
    memset(&out, 0, sizeof out);
    CHECK_INT(ws_occupancy_of(ws_gpus_limits(major, minor), &config, &out), 0);
    return out;
}

struct known {
    const char *what;
    uint32_t major, minor, threads, regs, smem;
    uint32_t blocks, warps;
    enum ws_occ_limit limiter;
};

/* Each row was worked out by hand or read from cuda_occupancy.h, none from this program. */
static const struct known cases[] = {
    {"full", 9, 0, 256, 32, 0, 8, 64, WS_OCC_WARPS},
    {"64 registers", 9, 0, 256, 64, 0, 4, 32, WS_OCC_REGISTERS},
    {"80 registers", 9, 0, 256, 80, 0, 3, 24, WS_OCC_REGISTERS},
    {"48 KiB", 9, 0, 256, 32, 49152, 4, 32, WS_OCC_SHARED},
    {"680 threads need 22 warps", 9, 0, 680, 32, 0, 2, 44, WS_OCC_WARPS},
    {"33 registers are allocated as 40", 9, 0, 256, 33, 0, 6, 48, WS_OCC_REGISTERS},
    {"57 KiB and the reserved one", 9, 0, 256, 32, 57 * 1024, 3, 24, WS_OCC_SHARED},
    {"76 KiB", 9, 0, 256, 32, 76 * 1024, 2, 16, WS_OCC_SHARED},
    {"114 KiB", 9, 0, 256, 32, 114 * 1024, 1, 8, WS_OCC_SHARED},
    {"100 KiB", 9, 0, 256, 32, 100 * 1024, 2, 16, WS_OCC_SHARED},
    {"227 KiB, all there is", 9, 0, 256, 32, 227 * 1024, 1, 8, WS_OCC_SHARED},
    {"one byte more cannot be launched", 9, 0, 256, 32, 227 * 1024 + 1, 0, 0, WS_OCC_SHARED},
    {"RTX 3090, 20 registers, 256 threads", 8, 6, 256, 20, 0, 6, 48, WS_OCC_WARPS},
    {"RTX 3090, 20 registers, 512 threads", 8, 6, 512, 20, 0, 3, 48, WS_OCC_WARPS},
    {"20 registers on 9.0", 9, 0, 256, 20, 0, 8, 64, WS_OCC_WARPS},
    {"20 registers on 9.0, 512 threads", 9, 0, 512, 20, 0, 4, 64, WS_OCC_WARPS},
    {"257 threads on 9.0", 9, 0, 257, 16, 0, 7, 63, WS_OCC_WARPS},
    {"257 threads on 8.6", 8, 6, 257, 16, 0, 5, 45, WS_OCC_WARPS},
    {"32 threads on 9.0", 9, 0, 32, 16, 0, 32, 32, WS_OCC_BLOCKS},
    {"32 threads on 8.6", 8, 6, 32, 16, 0, 16, 16, WS_OCC_BLOCKS},
    {"32 threads on 8.9", 8, 9, 32, 16, 0, 24, 24, WS_OCC_BLOCKS},
    {"32 threads on 7.5", 7, 5, 32, 16, 0, 16, 16, WS_OCC_BLOCKS},
    {"72 registers", 9, 0, 256, 72, 0, 3, 24, WS_OCC_REGISTERS},
    {"registers of a block", 9, 0, 1024, 72, 0, 0, 0, WS_OCC_REGISTERS},
    {"more registers than a thread can have", 9, 0, 32, 257, 0, 0, 0, WS_OCC_REGISTERS},
    {"half the registers a block on 5.3", 5, 3, 1024, 40, 0, 0, 0, WS_OCC_REGISTERS},
    {"dedicated shared memory", 6, 1, 256, 16, 49152, 2, 16, WS_OCC_SHARED},
};

TEST(known_configurations_give_the_known_occupancy)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct known *k = &cases[i];
        struct ws_occupancy o = of(
            k->major, k->minor,
            (struct ws_occ_config){.threads = k->threads, .regs_per_thread = k->regs, .dynamic_smem_bytes = k->smem});
        if (o.blocks_per_sm != k->blocks || o.warps_per_sm != k->warps || o.limiter != k->limiter)
            WS_FAIL("%s: got %u blocks, %u warps, %s", k->what, o.blocks_per_sm, o.warps_per_sm,
                    ws_occ_limit_name(o.limiter));
        CHECK_NEAR(o.theoretical.number, (double)k->warps / o.max_warps, 1e-15);
    }
}

TEST(register_limits_of_the_rtx_3090_example)
{
    CHECK_INT(of(8, 6, (struct ws_occ_config){.threads = 256, .regs_per_thread = 20}).limit[WS_OCC_REGISTERS], 10);
    CHECK_INT(of(8, 6, (struct ws_occ_config){.threads = 512, .regs_per_thread = 20}).limit[WS_OCC_REGISTERS], 5);
}

TEST(no_threads_and_too_many_threads_are_refused_and_leave_the_result)
{
    struct ws_occupancy out = {.blocks_per_sm = 77};
    struct ws_occ_config config = {.threads = 0};
    CHECK_INT(ws_occupancy_of(ws_gpus_limits(9, 0), &config, &out), -WS_EINVAL);
    config.threads = 1025;
    CHECK_INT(ws_occupancy_of(ws_gpus_limits(9, 0), &config, &out), -WS_EINVAL);
    CHECK_INT(out.blocks_per_sm, 77);
}

TEST(clusters_too_large_for_the_gpu_cannot_be_launched)
{
    static const struct {
        uint32_t major, minor, cluster, blocks;
    } rows[] = {{9, 0, 8, 8}, {9, 0, 16, 8}, {9, 0, 17, 0}, {12, 0, 8, 6}, {12, 0, 9, 0}, {8, 0, 1, 8}, {8, 0, 2, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ws_occupancy o =
            of(rows[i].major, rows[i].minor,
               (struct ws_occ_config){.threads = 256, .regs_per_thread = 16, .cluster = rows[i].cluster});
        CHECK_INT(o.blocks_per_sm, rows[i].blocks);
        CHECK_INT(o.limiter == WS_OCC_CLUSTER, rows[i].blocks == 0);
    }
}

TEST(a_chosen_carveout_binds_unless_one_block_needs_more)
{
    struct ws_occ_config config = {.threads = 128, .regs_per_thread = 16, .dynamic_smem_bytes = 15 * 1024};
    CHECK_INT(of(9, 0, config).limit[WS_OCC_SHARED], 14); /* 228 / 16 */
    config.carveout_chosen = true;
    config.carveout_bytes = 64 * 1024;
    CHECK_INT(of(9, 0, config).limit[WS_OCC_SHARED], 4);
    config.carveout_bytes = 60 * 1024; /* the next size that exists is 64 */
    CHECK_INT(of(9, 0, config).limit[WS_OCC_SHARED], 4);
    config.carveout_bytes = 8 * 1024; /* less than one block: the driver gives 16 */
    CHECK_INT(of(9, 0, config).limit[WS_OCC_SHARED], 1);
}

TEST(a_launch_on_an_unknown_gpu_says_so_and_an_impossible_one_too)
{
    struct ws_device device = {.cc_major = 4, .cc_minor = 2};
    struct ws_launch launch = {.grid = {1, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32};
    struct ws_occupancy out;
    ws_occupancy(&launch, &device, &out);
    CHECK_INT(out.theoretical.why, WS_WHY_NO_DEVICE);
    device.cc_major = 9, device.cc_minor = 0;
    ws_occupancy(&launch, &device, &out);
    CHECK_INT(out.warps_per_sm, 64);
    launch.block = (struct ws_dim3){UINT32_MAX, UINT32_MAX, UINT32_MAX};
    ws_occupancy(&launch, &device, &out);
    CHECK_INT(out.theoretical.why, WS_WHY_RANGE);
    launch.block = (struct ws_dim3){0, 1, 1};
    ws_occupancy(&launch, &device, &out);
    CHECK_INT(out.theoretical.why, WS_WHY_RANGE);
}

TEST(curves_cover_the_axis_and_pass_through_the_configuration)
{
    struct ws_occ_config config = {.threads = 256, .regs_per_thread = 64, .dynamic_smem_bytes = 48 * 1024};
    static const struct {
        enum ws_occ_axis axis;
        uint32_t n, first, last, at;
    } rows[] = {{WS_OCC_AXIS_THREADS, 32, 32, 1024, 256},
                {WS_OCC_AXIS_REGISTERS, 31, 8, 248, 64},
                {WS_OCC_AXIS_SHARED, 228, 0, 227 * 1024, 48 * 1024}};
    struct ws_occ_point points[WS_OCC_CURVE_MAX];
    uint32_t want = of(9, 0, config).warps_per_sm;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t found = 0, n = ws_occupancy_curve(ws_gpus_limits(9, 0), &config, rows[i].axis, points, WS_OCC_CURVE_MAX);
        CHECK_INT(n, rows[i].n);
        CHECK_INT(points[0].x, rows[i].first);
        CHECK_INT(points[n - 1].x, rows[i].last);
        for (size_t k = 0; k < n; k++)
            if (points[k].x == rows[i].at) {
                CHECK_INT(points[k].warps, want);
                found++;
            }
        CHECK_INT(found, 1);
    }
    CHECK_INT(ws_occupancy_curve(ws_gpus_limits(9, 0), &config, WS_OCC_AXIS_SHARED, points, 5), 5);
}

#ifdef HAVE_TOOLKIT
static uint64_t seed = 0x5eedULL;
static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((seed >> 33) % n);
}

/* The toolkit's limit, INT_MAX meaning none. */
static uint32_t theirs(int limit)
{
    return limit == INT_MAX ? WS_OCC_NO_LIMIT : (uint32_t)limit;
}

/* One random configuration of one compute capability; false on the first difference. */
static bool agree(const struct ws_limits *l, bool barriers)
{
    struct cudaOccDeviceProp dev = {0};
    struct cudaOccFuncAttributes fn = {0};
    struct cudaOccDeviceState state = {0};
    struct cudaOccResult want = {0};
    struct ws_occ_config config = {.threads = 1 + below(1024), .regs_per_thread = below(264)};
    struct ws_occupancy got;
    int percent = below(3) ? -1 : (int)below(101);
    config.static_smem_bytes = below(3) ? 0 : below(49153);
    config.dynamic_smem_bytes = below(4) ? below(l->smem_per_block + 4096) : 0;
    config.barriers = barriers ? below(17) : 0;
    dev.computeMajor = (int)l->cc_major, dev.computeMinor = (int)l->cc_minor;
    dev.maxThreadsPerBlock = WS_BLOCK_THREADS_MAX, dev.maxThreadsPerMultiprocessor = (int)l->warps_per_sm * 32;
    dev.regsPerBlock = (int)l->regs_per_block, dev.regsPerMultiprocessor = (int)l->regs_per_sm;
    dev.warpSize = 32, dev.numSms = 1;
    dev.sharedMemPerBlock = 49152, dev.sharedMemPerBlockOptin = l->smem_per_block;
    dev.sharedMemPerMultiprocessor = l->smem_per_sm, dev.reservedSharedMemPerBlock = l->smem_reserved;
    fn.maxThreadsPerBlock = INT_MAX, fn.numRegs = (int)config.regs_per_thread;
    fn.sharedSizeBytes = config.static_smem_bytes, fn.maxDynamicSharedSizeBytes = config.dynamic_smem_bytes;
    fn.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN, fn.numBlockBarriers = (int)config.barriers;
    state.carveoutConfig = percent;
    config.carveout_chosen = percent >= 0;
    config.carveout_bytes = percent >= 0 ? (uint32_t)((uint64_t)l->smem_per_sm * (uint32_t)percent / 100) : 0;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&want, &dev, &fn, &state, (int)config.threads,
                                                config.dynamic_smem_bytes) != CUDA_OCC_SUCCESS ||
        ws_occupancy_of(l, &config, &got) != 0)
        return false;
    return (uint32_t)want.activeBlocksPerMultiprocessor == got.blocks_per_sm &&
           theirs(want.blockLimitRegs) == got.limit[WS_OCC_REGISTERS] &&
           theirs(want.blockLimitSharedMem) == got.limit[WS_OCC_SHARED] &&
           theirs(want.blockLimitWarps) == got.limit[WS_OCC_WARPS] &&
           theirs(want.blockLimitBlocks) == got.limit[WS_OCC_BLOCKS] &&
           theirs(want.blockLimitBarriers) == got.limit[WS_OCC_BARRIERS];
}

/* Every compute capability that the header knows has a row here, and the two agree everywhere. */
static void compare(bool barriers, int rounds)
{
    size_t count = 0, compared = 0;
    const struct ws_limits *all = ws_gpus_limits_all(&count);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < rounds; k++, compared++)
            if (!agree(&all[i], barriers)) {
                WS_FAIL("cc %u.%u differs in round %d", all[i].cc_major, all[i].cc_minor, k);
                break;
            }
    CHECK(compared >= count * (size_t)rounds);
}

TEST(equal_to_the_toolkits_header_over_random_configurations)
{
    compare(false, 200000);
}

TEST(equal_to_the_toolkits_header_with_named_barriers)
{
    compare(true, 50000);
}
#else
TEST(equal_to_the_toolkits_header_over_random_configurations)
{
    SKIP("no cuda_occupancy.h on this machine");
}
#endif
