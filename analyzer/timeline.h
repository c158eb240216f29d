/* SPDX-License-Identifier: MIT
 * timeline.h: what the rules W30 to W40 need to know about a whole session: numbers taken from
 * activity, API, memory, synchronisation and unified-memory records. Filled by the server; a fact
 * whose records were not collected is missing and says so. One row here is one fact. */
#ifndef WS_ANALYZER_TIMELINE_H
#define WS_ANALYZER_TIMELINE_H

#include "value.h"

/* X(key, unit, what it is). Times in seconds, sizes in bytes. "Window" = start of the first to end
 * of the last kernel or copy on the device. Unions count overlapping work once. */
#define WS_TIMELINE_LIST(X)                                                                                 \
    X(window, "s", "first start to last end of device work")                                                \
    X(kernels, "", "kernels that ran")                                                                      \
    X(kernel_busy, "s", "union of all kernels")                                                             \
    X(kernel_median, "s", "median duration of a kernel")                                                    \
    X(launch_api, "s", "time of the host in launch calls within the window")                                \
    X(launch_calls, "", "launch calls (a graph launch is one)")                                             \
    X(gpu_idle, "s", "window in which the device did nothing")                                              \
    X(syncs, "", "host-blocking synchronisations (stream, event, device)")                                  \
    X(idle_after_sync, "s", "device idle between the end of a host-blocking wait and the next device work") \
    X(copy_busy, "s", "union of all copies between host and device")                                        \
    X(copies, "", "copies between host and device")                                                         \
    X(copy_bytes, "B", "bytes of all copies between host and device")                                       \
    X(pageable_copies, "", "copies of at least 1 MiB with pageable host memory")                            \
    X(pageable_bytes, "B", "their bytes")                                                                   \
    X(pageable_time, "s", "their summed duration")                                                          \
    X(overlap, "s", "time in which a copy and a kernel ran together")                                       \
    X(copy_streams, "", "streams that carried copies or kernels")                                           \
    X(copy_engines, "", "asynchronous copy engines of the device")                                          \
    X(round_trip_time, "s", "duration of copies that bring back to the device what just left it unchanged") \
    X(round_trip_bytes, "B", "their bytes, both directions")                                                \
    X(round_trips, "", "how many such pairs")                                                               \
    X(failed_calls, "", "CUDA calls that returned an error")                                                \
    X(failed_code, "", "the first such error code")                                                         \
    X(mismatched_copies, "", "copies whose stated kind contradicts the memory kinds")                       \
    X(tiny_reads, "", "blocking device-to-host copies of at most 64 bytes")                                 \
    X(tiny_read_bytes, "B", "median size of those")                                                         \
    X(idle_after_tiny_read, "s", "device idle after those")                                                 \
    X(legacy_work, "", "kernels and copies on the legacy default stream")                                   \
    X(blocking_streams, "", "other blocking streams with work")                                             \
    X(legacy_serialised, "s", "legacy-stream work before and after which all other streams stood idle")     \
    X(chain_kernels, "", "kernels in the longest chain in which one reads what the one before wrote")       \
    X(chain_time, "s", "summed duration of the kernels of all such chains")                                 \
    X(chain_bytes, "B", "DRAM bytes of a kernel of that chain, mean")                                       \
    X(chain_memory_bound, "", "1 if every kernel of that chain is memory-bound, else 0")                    \
    X(fault_groups, "", "GPU page-fault groups on record: the driver drops some")                           \
    X(fault_time, "s", "time in which faults were served or pages moved on demand, as far as recorded")     \
    X(migrated_bytes, "B", "bytes migrated on demand, both directions, as far as recorded")                 \
    X(dram_bytes, "B", "DRAM bytes of all kernels: profiled means times launches")                          \
    X(alloc_calls, "", "cudaMalloc and cudaFree calls after the first kernel")                              \
    X(alloc_time, "s", "their summed duration")                                                             \
    X(leaked_bytes, "B", "device bytes still allocated when the process ended in order")                    \
    X(link_rate, "B/s", "peak of the host link in one direction: the device's word, else the data sheet's")

enum ws_timeline_id {
#define WS_TIMELINE_ENUM(key, unit, what) WS_T_##key,
    WS_TIMELINE_LIST(WS_TIMELINE_ENUM)
#undef WS_TIMELINE_ENUM
        WS_TIMELINE_COUNT
};

struct ws_timeline_facts {
    struct ws_value value[WS_TIMELINE_COUNT];
    long long process; /* of whose busiest GPU they are: row of the database; 0 = there is no device work */
    unsigned device;   /* ordinal in that process */
};

/* All facts missing: not collected. */
void ws_timeline_init(struct ws_timeline_facts *facts);
/* Key, unit and meaning of a fact; "" for no such id. */
const char *ws_timeline_key(enum ws_timeline_id id);
const char *ws_timeline_unit(enum ws_timeline_id id);
const char *ws_timeline_what(enum ws_timeline_id id);

#endif
