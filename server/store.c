/* SPDX-License-Identifier: MIT
 * store.c: every SQL statement, opening and checking the database, rows to structs and back.
 * All statements are prepared when a database is opened: schema and SQL cannot drift apart unseen.
 * Add a query: a row in STATEMENTS, a function below, its declaration in store.h. */
#include "store.h"

#include "../analyzer/err.h"
#include "../collector/budget.h"
#include "cli.h"
#include "dbfile.h"
#include "json.h"
#include "log.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Every compiler we build with takes literals far longer than the 4095 bytes that C promises. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const char schema[] =
#include "schema_sql.h"
    ;
#pragma GCC diagnostic pop

#define KERNEL_COLUMNS                                                                          \
    "id, device_id, mangled, grid_x, grid_y, grid_z, block_x, block_y, block_z, "               \
    "dynamic_smem_bytes, cluster_x, cluster_y, cluster_z, regs_per_thread, static_smem_bytes, " \
    "local_bytes_per_thread, carveout_percent, smem_executed_bytes, launch_type, launches, "    \
    "timed_launches, total_ns, min_ns, max_ns"
#define SESSION_COLUMNS                                                                   \
    "id, token, name, source, exe, argv, host, note, started_ns, ended_ns, exit_status, " \
    "exit_signal, (SELECT count(*) FROM kernel WHERE session_id = session.id), "          \
    "(SELECT ifnull(sum(launches), 0) FROM kernel WHERE session_id = session.id)"
#define ACTIVITY_COLUMNS "process_id, kind, start_ns, end_ns, n, data, id"
#define DEVICE_TAIL                                                                             \
    "name, uuid, chip, cc_major, cc_minor, sms, memory_bytes, l2_bytes, sm_clock_hz, "          \
    "memory_clock_hz, memory_bus_bits, pcie_bytes_per_s, max_warps_per_sm, smem_bytes_per_sm, " \
    "smem_optin_bytes, regs_per_sm, async_engines"

/* A count that grows; QUANTITY_MAX is its end. */
#define SUM(column) #column " = min(" #column " + excluded." #column ", 9007199254740992)"

/* X(name, SQL). Parameters are ?1, ?2, … in the order of the caller's arguments. */
#define STATEMENTS(X)                                                                                                                                                            \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                                                                                                  \
    X(COMMIT, "COMMIT")                                                                                                                                                          \
    X(ROLLBACK, "ROLLBACK")                                                                                                                                                      \
    X(SESSION_BY_TOKEN, "SELECT id FROM session WHERE token = ?1")                                                                                                               \
    X(SESSION_ADD, "INSERT INTO session (token, source) VALUES (?1, ?2) RETURNING id")                                                                                           \
    X(SESSION_HELLO, "UPDATE session SET name = iif(name = '', ?2, name), exe = iif(exe = '', ?3, exe), "                                                                        \
                     "argv = iif(argv = '[]', ?4, argv), host = iif(host = '', ?5, host), "                                                                                      \
                     "started_ns = iif(started_ns = 0, ?6, started_ns), "                                                                                                        \
                     "source = iif(EXISTS (SELECT 1 FROM process WHERE session_id = ?1), source, ?7) "                                                                           \
                     "WHERE id = ?1")                                                                                                                                            \
    X(SESSION_RUN, "UPDATE session SET name = iif(?2 = '', name, ?2), exe = ?3, argv = ?4, host = ?5, "                                                                          \
                   "started_ns = ?6, ended_ns = ?7, exit_status = ?8, exit_signal = ?9 WHERE id = ?1")                                                                           \
    X(SESSION_SOURCE, "SELECT source FROM session WHERE id = ?1")                                                                                                                \
    X(PROCESS_BY_AGENT, "SELECT id, session_id, ended_ns FROM process WHERE agent_id = ?1")                                                                                      \
    X(PROCESS_ADD, "INSERT INTO process (session_id, agent_id, pid) VALUES (?1, ?2, ?3) "                                                                                        \
                   "ON CONFLICT (agent_id) DO UPDATE SET pid = excluded.pid RETURNING id")                                                                                       \
    X(PROCESS_HELLO, "UPDATE process SET pid = ?2, ppid = ?3, exe = ?4, argv = ?5, cwd = ?6, host = ?7, "                                                                        \
                     "boot_id = ?8, rank = ?9, started_ns = ?10, driver_version = ?11, driver_text = ?12, "                                                                      \
                     "cupti_version = ?13, cupti_path = ?14, gpu_uuids = ?15, warpsight = ?16, "                                                                                 \
                     "git_commit = ?17, settings = ?18 WHERE id = ?1")                                                                                                           \
    X(PROCESS_END, "UPDATE process SET ended_ns = ?2 WHERE id = ?1")                                                                                                             \
    X(CURSOR_GET, "SELECT segment, offset, next_seq FROM cursor WHERE agent_id = ?1")                                                                                            \
    X(CURSOR_SET, "INSERT OR REPLACE INTO cursor (agent_id, segment, offset, next_seq) VALUES (?1, ?2, ?3, ?4)")                                                                 \
    X(DEVICE_PUT, "INSERT INTO device (session_id, idx, name, uuid, chip, cc_major, cc_minor, sms, "                                                                             \
                  "memory_bytes, l2_bytes, sm_clock_hz, memory_clock_hz, memory_bus_bits, pcie_bytes_per_s, "                                                                    \
                  "max_warps_per_sm, smem_bytes_per_sm, smem_optin_bytes, regs_per_sm, async_engines) "                                                                          \
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) "                                                               \
                  "ON CONFLICT (session_id, uuid) DO UPDATE SET name = excluded.name RETURNING id")                                                                              \
    X(DEVICE_MAP, "INSERT OR REPLACE INTO process_device (process_id, idx, device_id) VALUES (?1, ?2, ?3)")                                                                      \
    X(DEVICE_FIND, "SELECT device_id FROM process_device WHERE process_id = ?1 AND idx = ?2")                                                                                    \
    X(CONTEXT_PUT, "INSERT OR REPLACE INTO context (process_id, context, device_idx) VALUES (?1, ?2, ?3)")                                                                       \
    X(KERNEL_PUT, "INSERT INTO kernel (session_id, device_id, mangled, grid_x, grid_y, grid_z, block_x, "                                                                        \
                  "block_y, block_z, dynamic_smem_bytes, cluster_x, cluster_y, cluster_z, regs_per_thread, "                                                                     \
                  "static_smem_bytes, smem_executed_bytes, local_bytes_per_thread, launch_type, "                                                                                \
                  "carveout_percent) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "                                                                      \
                  "?15, ?16, ?17, ?18, ?19) ON CONFLICT (session_id, mangled, grid_x, grid_y, grid_z, "                                                                          \
                  "block_x, block_y, block_z, dynamic_smem_bytes) DO UPDATE SET "                                                                                                \
                  "device_id = ifnull(device_id, excluded.device_id), "                                                                                                          \
                  "cluster_x = ifnull(cluster_x, excluded.cluster_x), "                                                                                                          \
                  "cluster_y = ifnull(cluster_y, excluded.cluster_y), "                                                                                                          \
                  "cluster_z = ifnull(cluster_z, excluded.cluster_z), "                                                                                                          \
                  "regs_per_thread = ifnull(regs_per_thread, excluded.regs_per_thread), "                                                                                        \
                  "static_smem_bytes = ifnull(static_smem_bytes, excluded.static_smem_bytes), "                                                                                  \
                  "smem_executed_bytes = ifnull(smem_executed_bytes, excluded.smem_executed_bytes), "                                                                            \
                  "local_bytes_per_thread = ifnull(local_bytes_per_thread, excluded.local_bytes_per_thread), "                                                                   \
                  "launch_type = ifnull(launch_type, excluded.launch_type), "                                                                                                    \
                  "carveout_percent = ifnull(carveout_percent, excluded.carveout_percent) RETURNING id")                                                                         \
    X(KERNEL_ADD, "UPDATE kernel SET launches = launches + ?2, timed_launches = timed_launches + ?3, "                                                                           \
                  "total_ns = iif(total_ns > 9223372036854775807 - ?4, 9223372036854775807, total_ns + ?4), "                                                                    \
                  "min_ns = iif(?3 = 0, min_ns, min(ifnull(min_ns, ?5), ?5)), "                                                                                                  \
                  "max_ns = iif(?3 = 0, max_ns, max(ifnull(max_ns, ?6), ?6)) WHERE id = ?1")                                                                                     \
    X(ACTIVITY_ADD, "INSERT INTO activity (session_id, process_id, kind, start_ns, end_ns, n, data) "                                                                            \
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                                                                                                       \
    X(HOST_ADD, "INSERT INTO host (session_id, process_id, type, n, data) VALUES (?1, ?2, ?3, ?4, ?5)")                                                                          \
    X(HOST_IDS, "SELECT id FROM host WHERE session_id = ?1 ORDER BY id")                                                                                                         \
    X(HOST_IDS_OF, "SELECT id FROM host WHERE session_id = ?1 AND type = ?2 ORDER BY id")                                                                                        \
    X(HOST_ONE, "SELECT process_id, type, n, data FROM host WHERE id = ?1")                                                                                                      \
    X(PM_SERIES_PUT,                                                                                                                                                             \
      "INSERT INTO pm_series (session_id, process_id, number, device_idx, interval_ns, by_timer, keys, cupti) VALUES "                                                           \
      "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (process_id, number) DO NOTHING")                                                                                            \
    X(PM_SERIES_FIND, "SELECT id, keys FROM pm_series WHERE process_id = ?1 AND number = ?2")                                                                                    \
    X(PM_SERIES,                                                                                                                                                                 \
      "SELECT s.id, s.process_id, ifnull(d.device_id, 0), s.number, s.device_idx, s.interval_ns, s.by_timer, s.keys, "                                                           \
      "s.cupti, (SELECT ifnull(sum(n), 0) FROM pm_samples WHERE series_id = s.id), (SELECT ifnull(min(start_ns), 0) "                                                            \
      "FROM pm_samples WHERE series_id = s.id), (SELECT ifnull(max(end_ns), 0) FROM pm_samples WHERE series_id = "                                                               \
      "s.id) FROM pm_series s LEFT JOIN process_device d ON d.process_id = s.process_id AND d.idx = s.device_idx "                                                               \
      "WHERE s.session_id = ?1 ORDER BY s.id")                                                                                                                                   \
    X(PM_SAMPLES_ADD, "INSERT INTO pm_samples (series_id, start_ns, end_ns, n, data) VALUES (?1, ?2, ?3, ?4, ?5)")                                                               \
    X(PM_SAMPLES_IDS,                                                                                                                                                            \
      "SELECT id FROM pm_samples WHERE series_id = ?1 AND end_ns >= ?2 AND start_ns < ?3 ORDER BY start_ns, id")                                                                 \
    X(PM_SAMPLES_ONE, "SELECT id, start_ns, end_ns, n, data FROM pm_samples WHERE id = ?1")                                                                                      \
    X(TEXT_PUT, "INSERT INTO text (text) VALUES (?1) ON CONFLICT (text) DO UPDATE SET text = text RETURNING id")                                                                 \
    X(TEXT_GET, "SELECT text FROM text WHERE id = ?1")                                                                                                                           \
    X(PROFILE_PUT, "INSERT INTO profile (session_id, process_id, kernel_id, number, device_idx, context, "                                                                       \
                   "stream, correlation, ordinal, mode, passes, pass_index, cost_ns, started_ns) "                                                                               \
                   "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) "                                                                                       \
                   "ON CONFLICT (process_id, number) DO UPDATE SET cost_ns = excluded.cost_ns RETURNING id")                                                                     \
    X(PROFILE_FIND, "SELECT id FROM profile WHERE process_id = ?1 AND number = ?2")                                                                                              \
    X(KEY_PUT, "INSERT INTO metric_key (key) VALUES (?1) ON CONFLICT (key) DO UPDATE SET key = key RETURNING id")                                                                \
    X(METRIC_PUT, "INSERT OR REPLACE INTO metric (profile_id, key_id, value, why) VALUES (?1, ?2, ?3, ?4)")                                                                      \
    X(INSTRUCTION_ADD,                                                                                                                                                           \
      "INSERT INTO instruction (kernel_id, process_id, code, at, space, access, opcode_id, file_id, line, launches, "                                                            \
      "runs, lanes, diverged, requests, bytes, sectors, ideal_sectors, wavefronts, ideal_wavefronts) VALUES (?1, ?2, "                                                           \
      "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) "                                                                                           \
      "ON CONFLICT (kernel_id, process_id, code, at, space, access) DO UPDATE SET " SUM(launches) ", " SUM(                                                                      \
          runs) ", " SUM(lanes) ", " SUM(diverged) ", " SUM(requests) ", " SUM(bytes) ", " SUM(sectors) ", " SUM(ideal_sectors) ", " SUM(wavefronts) ", " SUM(ideal_wavefronts)) \
    X(INSTRUCTIONS, "SELECT process_id, code, at, space, access, opcode_id, file_id, line, launches, runs, lanes, "                                                              \
                    "diverged, requests, bytes, sectors, ideal_sectors, wavefronts, ideal_wavefronts, o.text, "                                                                  \
                    "f.text FROM instruction JOIN text o ON o.id = opcode_id LEFT JOIN text f ON f.id = file_id "                                                                \
                    "WHERE kernel_id = ?1 ORDER BY process_id, code, at, space, access")                                                                                         \
    X(INSTRUCTIONS_OF,                                                                                                                                                           \
      "SELECT k.id, k.session_id FROM kernel me CROSS JOIN session s CROSS JOIN kernel k ON k.session_id = s.id "                                                                \
      "AND k.mangled = me.mangled AND k.grid_x = me.grid_x AND k.grid_y = me.grid_y AND k.grid_z = me.grid_z AND "                                                               \
      "k.block_x = me.block_x AND k.block_y = me.block_y AND k.block_z = me.block_z AND k.dynamic_smem_bytes = "                                                                 \
      "me.dynamic_smem_bytes WHERE me.id = ?1 AND EXISTS (SELECT 1 FROM instruction WHERE kernel_id = k.id) "                                                                    \
      "ORDER BY k.id <> me.id, s.id DESC LIMIT 1")                                                                                                                               \
    X(PC_SAMPLING_PUT, "INSERT OR REPLACE INTO pc_sampling (process_id, context, period, samples, other, dropped) "                                                              \
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                                                                                                        \
    X(PC_SAMPLE_ADD, "INSERT INTO pc_sample (process_id, function_id, cubin, pc, reason_id, context, samples) VALUES "                                                           \
                     "(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (process_id, function_id, cubin, pc, reason_id, "                                                                 \
                     "context) DO UPDATE SET " SUM(samples))                                                                                                                     \
    X(CUBIN_PUT, "INSERT OR IGNORE INTO cubin (session_id, crc, size, offset, bytes) VALUES (?1, ?2, ?3, ?4, ?5)")                                                               \
    X(CUBIN_PRUNE,                                                                                                                                                               \
      "DELETE FROM cubin WHERE session_id = ?1 AND NOT EXISTS (SELECT 1 FROM process WHERE session_id = ?1 "                                                                     \
      "AND id <> ?2 AND ended_ns IS NULL) AND crc NOT IN (SELECT cubin FROM process p JOIN pc_sample s ON "                                                                      \
      "s.process_id = p.id WHERE p.session_id = ?1)")                                                                                                                            \
    X(PC_SAMPLINGS,                                                                                                                                                              \
      "SELECT process_id, context, period, samples, other, dropped FROM pc_sampling WHERE process_id IN "                                                                        \
      "(SELECT id FROM process WHERE session_id = ?1) ORDER BY process_id, context")                                                                                             \
    X(PC_SAMPLES,                                                                                                                                                                \
      "SELECT process_id, function_id, f.text, cubin, pc, reason_id, r.text, context, samples FROM process p "                                                                   \
      "JOIN pc_sample s ON s.process_id = p.id JOIN text f ON f.id = function_id JOIN text r ON r.id = reason_id "                                                               \
      "WHERE p.session_id = ?1 ORDER BY process_id, function_id, cubin, pc, reason_id, context")                                                                                 \
    X(PC_SAMPLES_OF,                                                                                                                                                             \
      "SELECT 0, function_id, f.text, cubin, pc, reason_id, r.text, 0, min(sum(samples), 9007199254740992) "                                                                     \
      "FROM kernel k JOIN text f ON f.text = k.mangled JOIN process p ON p.session_id = k.session_id JOIN pc_sample "                                                            \
      "s ON "                                                                                                                                                                    \
      "s.process_id = p.id AND s.function_id = f.id JOIN text r ON r.id = reason_id WHERE k.id = ?1 "                                                                            \
      "GROUP BY cubin, pc, reason_id ORDER BY cubin, pc, r.text")                                                                                                                \
    X(PC_SUMS,                                                                                                                                                                   \
      "SELECT 0, function_id, f.text, 0, 0, reason_id, r.text, 0, min(sum(samples), 9007199254740992) FROM process p "                                                           \
      "JOIN pc_sample s ON s.process_id = p.id JOIN text f ON f.id = function_id JOIN text r ON r.id = reason_id "                                                               \
      "WHERE p.session_id = ?1 GROUP BY function_id, reason_id ORDER BY f.text, r.text")                                                                                         \
    X(CUBINS, "SELECT crc, size, offset, bytes FROM cubin WHERE session_id = ?1 ORDER BY crc, offset")                                                                           \
    X(CUBIN_PARTS, "SELECT size, offset, bytes FROM cubin WHERE session_id = ?1 AND crc = ?2 ORDER BY offset")                                                                   \
    X(STATUS_PUT, "INSERT INTO status (session_id, process_id, code, severity, message, remedy, count) "                                                                         \
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (session_id, ifnull(process_id, 0), code, "                                                                   \
                  "message) DO UPDATE SET severity = excluded.severity, remedy = excluded.remedy, "                                                                              \
                  "count = excluded.count")                                                                                                                                      \
    X(LOSS_ADD, "INSERT INTO loss (session_id, process_id, kind, reason, count, from_ns, to_ns) "                                                                                \
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (session_id, ifnull(process_id, 0), kind, "                                                                     \
                "reason) DO UPDATE SET count = min(count + excluded.count, 9007199254740992), "                                                                                  \
                "from_ns = iif(from_ns = 0, excluded.from_ns, from_ns), to_ns = max(to_ns, excluded.to_ns)")                                                                     \
    X(DECISION_PUT, "INSERT INTO decision (kernel_id, process_id, mode, reason, refused, passes, footprint_bytes, "                                                              \
                    "predicted_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (kernel_id, process_id) DO "                                                              \
                    "UPDATE SET refused = max(refused, excluded.refused), "                                                                                                      \
                    "mode = iif(excluded.refused, mode, excluded.mode), "                                                                                                        \
                    "reason = iif(excluded.refused, reason, excluded.reason), passes = excluded.passes, "                                                                        \
                    "footprint_bytes = excluded.footprint_bytes, predicted_ns = excluded.predicted_ns")                                                                          \
    X(DECISIONS,                                                                                                                                                                 \
      "SELECT kernel_id, process_id, mode, reason, refused, passes, footprint_bytes, predicted_ns FROM kernel "                                                                  \
      "JOIN decision ON kernel_id = kernel.id WHERE session_id = ?1 ORDER BY kernel_id, process_id")                                                                             \
    X(BUDGET_PUT, "INSERT OR REPLACE INTO budget (process_id, limit_ns, overhead, spent_ns, setup_ns, predicted_ns, "                                                            \
                  "run_ns, counted) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                                                                                                    \
    X(BUDGETS,                                                                                                                                                                   \
      "SELECT process_id, limit_ns, overhead, spent_ns, setup_ns, predicted_ns, run_ns, counted FROM process "                                                                   \
      "JOIN budget ON process_id = process.id WHERE session_id = ?1 ORDER BY process_id")                                                                                        \
    X(COST_PUT, "INSERT OR REPLACE INTO cost (process_id, what, count, total_ns) VALUES (?1, ?2, ?3, ?4)")                                                                       \
    X(COLLECTION_PUT,                                                                                                                                                            \
      "INSERT OR REPLACE INTO collection (process_id, at_ns, is_on, reason, settings) VALUES (?1, ?2, ?3, ?4, ?5)")                                                              \
    X(CEILING_PUT, "INSERT OR REPLACE INTO ceiling (uuid, driver_version, key, rate, why, clock_hz, "                                                                            \
                   "method, measured_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                                                                                               \
    X(CEILINGS, "SELECT uuid, driver_version, key, rate, why, clock_hz, method, measured_ns FROM ceiling "                                                                       \
                "ORDER BY uuid, driver_version, key")                                                                                                                            \
    X(SESSIONS, "SELECT " SESSION_COLUMNS " FROM session ORDER BY id DESC")                                                                                                      \
    X(SESSION, "SELECT " SESSION_COLUMNS " FROM session WHERE id = ?1")                                                                                                          \
    X(SESSION_NEWEST, "SELECT id FROM session ORDER BY id DESC LIMIT 1")                                                                                                         \
    X(SESSION_BY_NAME, "SELECT id FROM session WHERE name = ?1 ORDER BY id DESC LIMIT 1")                                                                                        \
    X(SESSION_BY_ID, "SELECT id FROM session WHERE id = ?1")                                                                                                                     \
    X(PROCESSES, "SELECT id, agent_id, exe, argv, cwd, host, boot_id, rank, driver_text, cupti_path, "                                                                           \
                 "gpu_uuids, warpsight, git_commit, settings, pid, ppid, started_ns, ended_ns, "                                                                                 \
                 "driver_version, cupti_version FROM process WHERE session_id = ?1 ORDER BY id")                                                                                 \
    X(DEVICES, "SELECT id, idx, " DEVICE_TAIL " FROM device WHERE session_id = ?1 ORDER BY id")                                                                                  \
    X(PROCESS_DEVICES, "SELECT device.id, process_device.idx, " DEVICE_TAIL " FROM process_device JOIN device "                                                                  \
                       "ON device.id = device_id WHERE process_id = ?1 ORDER BY device.id")                                                                                      \
    X(CONTEXTS, "SELECT context, device_idx FROM context WHERE process_id = ?1 ORDER BY context")                                                                                \
    X(KERNELS, "SELECT " KERNEL_COLUMNS " FROM kernel WHERE session_id = ?1 ORDER BY id")                                                                                        \
    X(PROFILES, "SELECT profile.id, process_id, kernel_id, number, device_idx, context, stream, "                                                                                \
                "correlation, ordinal, mode, passes, pass_index, cost_ns, started_ns FROM kernel CROSS JOIN "                                                                    \
                "profile ON kernel_id = kernel.id WHERE kernel.session_id = ?1 ORDER BY profile.id")                                                                             \
    X(METRICS,                                                                                                                                                                   \
      "SELECT kernel_id, profile.id, key, value, why, key_id, process_id, number FROM kernel CROSS JOIN profile "                                                                \
      "ON kernel_id = kernel.id CROSS JOIN metric ON profile_id = profile.id "                                                                                                   \
      "CROSS JOIN metric_key ON key_id = metric_key.id WHERE kernel.session_id = ?1 "                                                                                            \
      "ORDER BY kernel_id, process_id, number, key")                                                                                                                             \
    X(ACTIVITY_IDS, "SELECT id FROM activity WHERE session_id = ?1 AND id > ?2 AND end_ns >= ?3 AND start_ns < ?4 "                                                              \
                    "ORDER BY id")                                                                                                                                               \
    X(ACTIVITY_ALL, "SELECT id FROM activity WHERE session_id = ?1 ORDER BY id")                                                                                                 \
    X(ACTIVITY_STARTS, "SELECT id, start_ns FROM activity WHERE session_id = ?1 ORDER BY start_ns, id")                                                                          \
    X(ACTIVITY_ONE, "SELECT " ACTIVITY_COLUMNS " FROM activity WHERE id = ?1")                                                                                                   \
    X(OPEN_PROCESSES, "SELECT session_id, pid, boot_id FROM process WHERE ended_ns IS NULL ORDER BY id")                                                                         \
    X(SESSION_NOTE, "UPDATE session SET note = ?2 WHERE id = ?1 RETURNING id")                                                                                                   \
    X(SESSION_DELETE, "DELETE FROM session WHERE id = ?1 RETURNING id")                                                                                                          \
    X(STATUSES, "SELECT process_id, code, message, remedy, severity, count FROM status "                                                                                         \
                "WHERE session_id = ?1 ORDER BY id")                                                                                                                             \
    X(LOSSES, "SELECT process_id, kind, reason, count, from_ns, to_ns FROM loss "                                                                                                \
              "WHERE session_id = ?1 ORDER BY id")                                                                                                                               \
    X(COLLECTIONS, "SELECT process_id, at_ns, is_on, reason, c.settings FROM collection c JOIN process p ON p.id = "                                                             \
                   "process_id WHERE session_id = ?1 ORDER BY process_id, at_ns, is_on")                                                                                         \
    X(COSTS, "SELECT process_id, what, count, total_ns FROM cost JOIN process ON process.id = process_id "                                                                       \
             "WHERE session_id = ?1 ORDER BY process_id, what")

enum statement {
#define X(name, sql) S_##name,
    STATEMENTS(X)
#undef X
        STATEMENT_COUNT
};

static const char *const statements[STATEMENT_COUNT] = {
#define X(name, sql) sql,
    STATEMENTS(X)
#undef X
};

struct ws_store {
    sqlite3 *db;
    struct ws_dblock lock;
    bool is_writer;
    bool in_transaction;
    bool is_older; /* the file is of an older schema; set by opening */
    sqlite3_stmt *prepared[STATEMENT_COUNT];
    char path[WS_PATH_MAX]; /* "" = an empty database in memory */
    char message[512];
};

/* Above this the write-ahead log is folded in; readers that never pause would let it grow without end. */
#define WAL_BYTES (64ll << 20)
/* Below this a whole check costs less than a tenth of a second. */
#define CHECK_BYTES (64ll << 20)

/* --- errors --- */

static int err_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -WS_ECORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -WS_EBUSY;
    case SQLITE_NOMEM:
        return -WS_ENOMEM;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -WS_EPERM;
    case SQLITE_TOOBIG:
        return -WS_ELIMIT;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return -WS_EINVAL;
    default:
        return -WS_EIO;
    }
}

static void say(struct ws_store *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct ws_store *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->message, sizeof s->message, format, args);
    va_end(args);
}

/* The commonest of all failures deserves words of its own. */
static bool is_full(const struct ws_store *s, int rc)
{
    int system = s->db ? sqlite3_system_errno(s->db) : 0;
    return (rc & 0xff) == SQLITE_FULL || ((rc & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT));
}

/* Keep what SQLite says, and give back our code. */
static int fail(struct ws_store *s, int rc)
{
    if (is_full(s, rc)) {
        say(s, "%s: the disk is full: free some space and try again (what was stored before is safe)", s->path);
        return -WS_EIO;
    }
    say(s, "%s: %s", *s->path ? s->path : "database in memory", s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
    return err_of(rc);
}

const char *ws_store_message(const struct ws_store *store)
{
    return store->message;
}

/* 2^53: no real count, size or rate comes near it, JSON keeps it exact, and sums of it do not overflow. */
#define QUANTITY_MAX (1ull << 53)

/* --- running statements ---
 * types, one letter an argument: i int64_t, u uint64_t (above INT64_MAX it wraps: ids and handles),
 * q uint64_t quantity (clamped to QUANTITY_MAX), t const char *, x struct ws_text, d double, b const void * and int, n
 * NULL (no argument), z int64_t that becomes NULL when 0. */

static int bind_text(sqlite3_stmt *st, int at, struct ws_text text)
{
    char *copy;
    if (text.length == 0)
        return sqlite3_bind_text(st, at, "", 0, SQLITE_STATIC);
    if (!memchr(text.at, 0, text.length))
        return sqlite3_bind_text64(st, at, text.at, text.length, SQLITE_STATIC, SQLITE_UTF8);
    /* A NUL would hide the rest of the text from every reader. */
    copy = sqlite3_malloc64(text.length);
    if (!copy)
        return SQLITE_NOMEM;
    for (uint32_t i = 0; i < text.length; i++)
        copy[i] = text.at[i] ? text.at[i] : '?';
    return sqlite3_bind_text64(st, at, copy, text.length, sqlite3_free, SQLITE_UTF8);
}

static int bind_one(sqlite3_stmt *st, int at, char type, va_list *args)
{
    switch (type) {
    case 'i':
        return sqlite3_bind_int64(st, at, va_arg(*args, int64_t));
    case 'u':
        return sqlite3_bind_int64(st, at, (int64_t)va_arg(*args, uint64_t));
    case 'q': {
        uint64_t v = va_arg(*args, uint64_t);
        return sqlite3_bind_int64(st, at, v > QUANTITY_MAX ? (int64_t)QUANTITY_MAX : (int64_t)v);
    }
    case 'z': {
        int64_t v = va_arg(*args, int64_t);
        return v ? sqlite3_bind_int64(st, at, v) : sqlite3_bind_null(st, at);
    }
    case 't':
        return sqlite3_bind_text(st, at, va_arg(*args, const char *), -1, SQLITE_STATIC);
    case 'x':
        return bind_text(st, at, va_arg(*args, struct ws_text));
    case 'd':
        return sqlite3_bind_double(st, at, va_arg(*args, double));
    case 'b': {
        const void *data = va_arg(*args, const void *);
        return sqlite3_bind_blob(st, at, data, va_arg(*args, int), SQLITE_STATIC);
    }
    default:
        return sqlite3_bind_null(st, at);
    }
}

static int bind_all(struct ws_store *s, enum statement id, const char *types, va_list *args)
{
    sqlite3_stmt *st = s->prepared[id];
    int rc = SQLITE_OK;
    for (int i = 0; types[i] && rc == SQLITE_OK; i++)
        rc = bind_one(st, i + 1, types[i], args);
    return rc == SQLITE_OK ? 0 : fail(s, rc);
}

static void done(struct ws_store *s, enum statement id)
{
    sqlite3_reset(s->prepared[id]);
    sqlite3_clear_bindings(s->prepared[id]);
}

/* Run to the end. */
static int run(struct ws_store *s, enum statement id, const char *types, ...)
{
    va_list args;
    int err;
    va_start(args, types);
    err = bind_all(s, id, types, &args);
    va_end(args);
    if (err == 0) {
        int rc = sqlite3_step(s->prepared[id]);
        if (rc != SQLITE_DONE && rc != SQLITE_ROW)
            err = fail(s, rc);
    }
    done(s, id);
    return err;
}

/* Run to the end; *out is the first column of the first row. -WS_ENOENT without a row. */
static int run_for(struct ws_store *s, int64_t *out, enum statement id, const char *types, ...)
{
    va_list args;
    int err;
    va_start(args, types);
    err = bind_all(s, id, types, &args);
    va_end(args);
    if (err == 0) {
        int rc = sqlite3_step(s->prepared[id]);
        if (rc == SQLITE_ROW) {
            *out = sqlite3_column_int64(s->prepared[id], 0);
            /* INSERT … RETURNING has done its work only when the statement has ended. */
            rc = sqlite3_step(s->prepared[id]);
        } else if (rc == SQLITE_DONE) {
            err = -WS_ENOENT;
        }
        if (rc != SQLITE_DONE && rc != SQLITE_ROW)
            err = fail(s, rc);
    }
    done(s, id);
    return err;
}

/* Call back for each row. */
static int each_row(struct ws_store *s, enum statement id, int64_t key, int (*row)(sqlite3_stmt *st, void *state),
                    void *state)
{
    sqlite3_stmt *st = s->prepared[id];
    int err = 0;
    int rc = sqlite3_bind_parameter_count(st) > 0 ? sqlite3_bind_int64(st, 1, key) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return fail(s, rc);
    while (err == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
        err = row(st, state);
    if (err == 0 && rc != SQLITE_DONE)
        err = fail(s, rc);
    done(s, id);
    return err;
}

/* --- opening --- */

int ws_store_schema_version(void)
{
    static const char word[] = "PRAGMA user_version = ";
    const char *at = strstr(schema, word);
    return at ? atoi(at + sizeof word - 1) : 0;
}

static int application_id(void)
{
    static const char word[] = "PRAGMA application_id = ";
    const char *at = strstr(schema, word);
    return at ? (int)strtol(at + sizeof word - 1, NULL, 0) : 0;
}

static int pragma_int(struct ws_store *s, const char *sql, int64_t *out)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return rc == SQLITE_ROW ? 0 : fail(s, rc);
}

static int execute(struct ws_store *s, const char *sql)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : fail(s, rc);
}

/* trusted_schema and defensive mode: the file may come from anywhere. mmap stays off: with it, an
 * I/O error is a SIGBUS. */
static int configure(struct ws_store *s)
{
    int err;
    sqlite3_busy_timeout(s->db, s->is_writer ? 2000 : 500);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    if (!s->is_writer)
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    err = execute(s, "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;");
    if (err == 0 && s->is_writer)
        err = execute(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                         "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864; "
                         "PRAGMA cache_size = -16384;"); /* rows are appended: more only stays in memory */
    return err;
}

/* What makes a database of version i + 1 one of version i + 2: new columns last, as schema.sql has them. */
static const char *const upgrades[] = {
    "ALTER TABLE profile ADD COLUMN started_ns INTEGER NOT NULL DEFAULT 0;",
    "CREATE TABLE instruction (kernel_id INTEGER NOT NULL REFERENCES kernel(id) ON DELETE CASCADE, process_id INTEGER "
    "NOT NULL REFERENCES process(id) ON DELETE CASCADE, code INTEGER NOT NULL, at INTEGER NOT NULL, space INTEGER NOT "
    "NULL, access INTEGER NOT NULL, opcode_id INTEGER NOT NULL REFERENCES text(id), file_id INTEGER REFERENCES "
    "text(id), line INTEGER NOT NULL, launches INTEGER NOT NULL, runs INTEGER NOT NULL, lanes INTEGER NOT NULL, "
    "diverged INTEGER NOT NULL, requests INTEGER NOT NULL, bytes INTEGER NOT NULL, sectors INTEGER NOT NULL, "
    "ideal_sectors INTEGER NOT NULL, wavefronts INTEGER NOT NULL, ideal_wavefronts INTEGER NOT NULL, "
    "PRIMARY KEY (kernel_id, process_id, code, at, space, access)) STRICT, WITHOUT ROWID;",
    "CREATE TABLE pm_series (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE "
    "CASCADE, process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE, number INTEGER NOT NULL, "
    "device_idx "
    "INTEGER NOT NULL, interval_ns INTEGER NOT NULL, by_timer INTEGER NOT NULL, keys TEXT NOT NULL, cupti TEXT NOT "
    "NULL, UNIQUE (process_id, number)) STRICT; CREATE INDEX pm_series_session ON pm_series(session_id); CREATE TABLE "
    "pm_samples (id INTEGER PRIMARY KEY, series_id INTEGER NOT NULL REFERENCES pm_series(id) ON DELETE CASCADE, "
    "start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, n INTEGER NOT NULL CHECK (n > 0), data BLOB NOT NULL) STRICT; "
    "CREATE INDEX pm_samples_series ON pm_samples(series_id, start_ns);"
    "CREATE TABLE pc_sampling (process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE, context INTEGER "
    "NOT "
    "NULL, period INTEGER NOT NULL, samples INTEGER NOT NULL, other INTEGER NOT NULL, dropped INTEGER NOT NULL, "
    "PRIMARY "
    "KEY (process_id, context)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE pc_sample (process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE, function_id INTEGER "
    "NOT "
    "NULL REFERENCES text(id), cubin INTEGER NOT NULL, pc INTEGER NOT NULL, reason_id INTEGER NOT NULL REFERENCES "
    "text(id), context INTEGER NOT NULL, samples INTEGER NOT NULL, PRIMARY KEY (process_id, function_id, cubin, pc, "
    "reason_id, context)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE cubin (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE, "
    "crc "
    "INTEGER NOT NULL, size INTEGER NOT NULL, offset INTEGER NOT NULL, bytes BLOB NOT NULL, UNIQUE (session_id, crc, "
    "offset)) STRICT;"
    " CREATE TABLE collection (process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE, at_ns INTEGER NOT "
    "NULL, is_on INTEGER NOT NULL CHECK (is_on IN (0, 1)), reason TEXT NOT NULL, settings TEXT NOT NULL DEFAULT '[]', "
    "PRIMARY KEY (process_id, at_ns, is_on)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE decision (kernel_id INTEGER NOT NULL REFERENCES kernel(id) ON DELETE CASCADE, process_id INTEGER NOT "
    "NULL REFERENCES process(id) ON DELETE CASCADE, mode INTEGER NOT NULL, reason INTEGER NOT NULL, refused INTEGER "
    "NOT NULL, passes INTEGER NOT NULL, footprint_bytes INTEGER NOT NULL, predicted_ns INTEGER NOT NULL, PRIMARY KEY "
    "(kernel_id, process_id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE budget (process_id INTEGER PRIMARY KEY REFERENCES process(id) ON DELETE CASCADE, limit_ns INTEGER "
    "NOT NULL, overhead REAL NOT NULL, spent_ns INTEGER NOT NULL, setup_ns INTEGER NOT NULL, predicted_ns INTEGER NOT "
    "NULL, run_ns INTEGER NOT NULL, counted INTEGER NOT NULL) STRICT;",
};

static int upgrade(struct ws_store *s, int64_t version)
{
    int err = execute(s, "BEGIN IMMEDIATE");
    for (; err == 0 && version < ws_store_schema_version(); version++) {
        char *script = sqlite3_mprintf("%s PRAGMA user_version = %lld;", upgrades[version - 1], version + 1);
        err = script ? execute(s, script) : -WS_ENOMEM;
        sqlite3_free(script);
    }
    if (err == 0)
        err = execute(s, "COMMIT");
    if (err != 0)
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* s->message says what failed */
    return err;
}

/* Ours, of a version we know, or empty (then the schema is made). */
static int check_identity(struct ws_store *s)
{
    int64_t id = 0;
    int64_t version = 0;
    int64_t tables = 0;
    int err = pragma_int(s, "PRAGMA application_id", &id);
    if (err == 0)
        err = pragma_int(s, "PRAGMA user_version", &version);
    if (err == 0)
        err = pragma_int(s, "SELECT count(*) FROM sqlite_schema", &tables);
    if (err != 0)
        return err;
    if (tables == 0 && id == 0) {
        /* A reader must not write: what it sees is an empty file, and it will find no table. */
        char *script = sqlite3_mprintf("BEGIN IMMEDIATE;\n%s\nCOMMIT;", schema);
        if (!script)
            return -WS_ENOMEM;
        err = execute(s, script);
        sqlite3_free(script);
        return err;
    }
    if (id != application_id()) {
        say(s, "%s is the database of another program; set WARPSIGHT_DB to a file of its own", s->path);
        return -WS_EINVAL;
    }
    if (version > ws_store_schema_version()) {
        say(s,
            "%s was made by a newer WarpSight (schema %lld, this one knows %d); use that version, or set "
            "WARPSIGHT_DB to another file",
            s->path, (long long)version, ws_store_schema_version());
        return -WS_EVERSION;
    }
    s->is_older = version >= 1 && version < ws_store_schema_version();
    if (s->is_older && s->is_writer)
        return upgrade(s, version);
    if (s->is_older) {
        say(s, "%s was made by an older WarpSight (schema %lld); what brings it up to date must be able to write it",
            s->path, (long long)version);
        return -WS_EVERSION;
    }
    return 0;
}

/* What a check found wrong. A page that could not be read at all ("… error code=N") says nothing about the file: a
 * good one must not be moved aside because of it. */
static int error_of_check(const char *answer)
{
    const char *code = strstr(answer, "error code=");
    int rc = code ? (int)strtol(code + strlen("error code="), NULL, 10) : SQLITE_CORRUPT;
    int err = err_of(rc);
    return err == 0 ? -WS_ECORRUPT : err;
}

static int check_whole(struct ws_store *s)
{
    sqlite3_stmt *st = NULL;
    const char *answer = NULL;
    int err = 0;
    int rc = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        answer = (const char *)sqlite3_column_text(st, 0);
    if (rc != SQLITE_ROW) {
        err = fail(s, rc);
    } else if (!answer) {
        err = fail(s, SQLITE_NOMEM);
    } else if (strcmp(answer, "ok") != 0) {
        say(s, "%s: %s", s->path, answer);
        err = error_of_check(answer);
    }
    sqlite3_finalize(st);
    return err;
}

static int prepare_all(struct ws_store *s)
{
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        int rc = sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->prepared[i], NULL);
        if (rc == SQLITE_OK)
            continue;
        if (rc != SQLITE_ERROR)
            return fail(s, rc);
        /* The tables are not those of schema.sql although the version says so. */
        say(s, "%s has tables that do not fit this WarpSight: %s", s->path, sqlite3_errmsg(s->db));
        return -WS_ECORRUPT;
    }
    return 0;
}

static bool should_check(const struct ws_store *s)
{
    struct stat st;
    if (*s->path == 0)
        return false;
    return s->lock.was_unclean || (stat(s->path, &st) == 0 && st.st_size <= CHECK_BYTES);
}

static int connect(struct ws_store *s)
{
    int flags = s->is_writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    const char *name = *s->path ? s->path : ":memory:";
    int rc;
    int err;
    if (*s->path == 0)
        flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY;
    rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc != SQLITE_OK)
        return fail(s, rc);
    err = configure(s);
    if (err == 0)
        err = check_identity(s);
    if (err == 0 && should_check(s))
        err = check_whole(s);
    return err == 0 ? prepare_all(s) : err;
}

static void disconnect(struct ws_store *s)
{
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_finalize(s->prepared[i]);
        s->prepared[i] = NULL;
    }
    sqlite3_close(s->db);
    s->db = NULL;
}

/* "file:PATH?option" for SQLite; freed with sqlite3_free. NULL: out of memory. */
static char *uri_of(const char *path, const char *option)
{
    char escaped[3 * WS_PATH_MAX];
    size_t n = 0;
    for (const char *c = path; *c; c++) {
        if (strchr("?#%", *c))
            n += (size_t)snprintf(escaped + n, sizeof escaped - n, "%%%02x", (unsigned)*c);
        else
            escaped[n++] = *c;
    }
    escaped[n] = 0;
    return sqlite3_mprintf("file:%s?%s", escaped, option);
}

/* A read-only folder lets no reader make the files that go with a log; a database that has no log at all
 * can be read without them. */
static int connect_immutable(struct ws_store *s)
{
    char wal[WS_PATH_MAX + 8];
    struct stat st;
    char *uri;
    int rc;
    int err;
    snprintf(wal, sizeof wal, "%s-wal", s->path);
    if (stat(wal, &st) == 0 && st.st_size > 0) {
        say(s, "%s has a log that cannot be read without writing to its folder", s->path);
        return -WS_EPERM;
    }
    uri = uri_of(s->path, "immutable=1");
    if (!uri)
        return -WS_ENOMEM;
    disconnect(s);
    rc = sqlite3_open_v2(uri, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    sqlite3_free(uri);
    err = rc == SQLITE_OK ? configure(s) : fail(s, rc);
    if (err == 0)
        err = check_identity(s);
    return err == 0 ? prepare_all(s) : err;
}

static int open_reader(struct ws_store *s, bool exists)
{
    int err;
    struct stat st;
    /* An empty file is what a writer leaves that was killed before its first transaction. */
    if (!exists || (stat(s->path, &st) == 0 && st.st_size == 0))
        s->path[0] = 0;
    err = connect(s);
    if (err != 0 && *s->path && s->db) {
        int code = sqlite3_errcode(s->db) & 0xff;
        if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
            err = connect_immutable(s);
    }
    return err;
}

static int move_aside(struct ws_store *s)
{
    char moved[WS_PATH_MAX];
    char why[sizeof s->message];
    int err;
    memcpy(why, s->message, sizeof why);
    disconnect(s);
    err = ws_dbfile_move_aside(s->path, moved);
    if (err != 0)
        return err;
    ws_log(WS_WARN, "store", "the database is damaged and was moved to %s; a new one is begun (%s)", moved, why);
    s->lock.was_unclean = false;
    return ws_dbfile_create(s->path, s->message, sizeof s->message);
}

static int open_writer(struct ws_store *s, bool exists, unsigned flags)
{
    int err = ws_dbfile_lock(&s->lock, s->path, s->message, sizeof s->message);
    if (err != 0)
        return err;
    /* Never open the file by hand when it is there: closing it would drop SQLite's locks in this process. */
    if (!exists)
        err = ws_dbfile_create(s->path, s->message, sizeof s->message);
    if (err == 0)
        err = connect(s);
    if (err == -WS_ECORRUPT) {
        /* A read that failed in passing can look like damage: only what is seen twice is believed. */
        disconnect(s);
        err = connect(s);
    }
    if (err == -WS_ECORRUPT && flags & WS_STORE_MOVE_CORRUPT) {
        err = move_aside(s);
        if (err == 0)
            err = connect(s);
    }
    return err;
}

/* A writer brings an older database up to date when it opens it. */
static int upgrade_for_reader(const char *path, char *message, size_t cap)
{
    struct ws_store *writer = NULL;
    int err = ws_store_open(&writer, path, WS_STORE_WRITE, message, cap);
    ws_store_close(writer);
    return err;
}

int ws_store_open(struct ws_store **out, const char *path, unsigned flags, char *message, size_t cap)
{
    struct ws_store *s = calloc(1, sizeof *s);
    bool exists;
    int err;
    if (!s) {
        snprintf(message, cap, "out of memory");
        return -WS_ENOMEM;
    }
    s->lock.fd = -1;
    s->is_writer = (flags & WS_STORE_WRITE) != 0;
    err = ws_dbfile_resolve(path, true, s->path, &exists, s->message, sizeof s->message);
    if (err == 0)
        err = s->is_writer ? open_writer(s, exists, flags) : open_reader(s, exists);
    if (err == -WS_EVERSION && s->is_older) {
        disconnect(s);
        err = upgrade_for_reader(path, s->message, sizeof s->message);
        if (err == 0)
            err = open_reader(s, exists);
    }
    if (err == 0) {
        *out = s;
        return 0;
    }
    snprintf(message, cap, "%s%s", s->message,
             err == -WS_ECORRUPT ? "; move the file away, or `warpsight run` will" : "");
    disconnect(s);
    ws_dbfile_unlock(&s->lock, false);
    free(s);
    return err;
}

void ws_store_close(struct ws_store *store)
{
    if (!store)
        return;
    ws_store_rollback(store);
    if (store->is_writer)
        (void)sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    disconnect(store);
    ws_dbfile_unlock(&store->lock, true);
    free(store);
}

/* --- writing --- */

int ws_store_begin(struct ws_store *store)
{
    int err = run(store, S_BEGIN, "");
    store->in_transaction = err == 0;
    return err;
}

int ws_store_commit(struct ws_store *store)
{
    int err = run(store, S_COMMIT, "");
    if (err == 0)
        store->in_transaction = false;
    return err;
}

void ws_store_rollback(struct ws_store *store)
{
    /* SQLite rolls back by itself on some errors; then there is nothing left to do. */
    if (store->in_transaction && !sqlite3_get_autocommit(store->db))
        (void)run(store, S_ROLLBACK, "");
    store->in_transaction = false;
}

int ws_store_checkpoint(struct ws_store *store)
{
    char wal[WS_PATH_MAX + 8];
    struct stat st;
    int rc;
    snprintf(wal, sizeof wal, "%s-wal", store->path);
    if (stat(wal, &st) != 0 || st.st_size < WAL_BYTES)
        return 0;
    rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    /* A reader in the middle of something: the next batch tries again. */
    return rc == SQLITE_OK || rc == SQLITE_BUSY ? 0 : fail(store, rc);
}

/* NUL-separated words as a JSON array; the caller frees. NULL: out of memory. */
static char *words_to_json(struct ws_text words)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct ws_json j = {.out = out};
    const char *at = words.at;
    const char *end = words.at + words.length;
    bool failed;
    if (!out)
        return NULL;
    ws_json_array(&j);
    while (at < end) {
        const char *nul = memchr(at, 0, (size_t)(end - at));
        size_t n = (size_t)((nul ? nul : end) - at);
        ws_json_text_n(&j, at, n);
        at += n + 1;
    }
    ws_json_end(&j);
    failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    text[strcspn(text, "\n")] = 0;
    return text;
}

int ws_store_find_token(struct ws_store *store, struct ws_text token, int64_t *session_id)
{
    return run_for(store, session_id, S_SESSION_BY_TOKEN, "x", token);
}

int ws_store_add_session(struct ws_store *store, struct ws_text token, const char *source, int64_t *session_id)
{
    return run_for(store, session_id, S_SESSION_ADD, "xt", token, source);
}

int ws_store_set_session_hello(struct ws_store *store, int64_t session_id, const char *source,
                               const struct ws_rec_hello *hello)
{
    char *argv = words_to_json(hello->argv);
    int err = argv ? run(store, S_SESSION_HELLO, "ixxtxit", session_id, hello->session_name, hello->exe, argv,
                         hello->host, hello->started_ns, source)
                   : -WS_ENOMEM;
    free(argv);
    return err;
}

int ws_store_set_session_run(struct ws_store *store, int64_t session_id, const struct ws_rec_run *rec)
{
    char *argv = words_to_json(rec->argv);
    bool ended = rec->ended_ns != 0;
    int err = -WS_ENOMEM;
    if (argv && ended)
        err = run(store, S_SESSION_RUN, "ixxtxiiii", session_id, rec->session_name, rec->exe, argv, rec->host,
                  rec->started_ns, rec->ended_ns, (int64_t)rec->exit_status, (int64_t)rec->signal);
    else if (argv)
        err = run(store, S_SESSION_RUN, "ixxtxinnn", session_id, rec->session_name, rec->exe, argv, rec->host,
                  rec->started_ns);
    free(argv);
    return err;
}

int ws_store_get_source(struct ws_store *store, int64_t session_id, char out[16])
{
    sqlite3_stmt *st = store->prepared[S_SESSION_SOURCE];
    int err = 0;
    int rc = sqlite3_bind_int64(st, 1, session_id);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        snprintf(out, 16, "%s", (const char *)sqlite3_column_text(st, 0));
    else
        err = rc == SQLITE_DONE ? -WS_ENOENT : fail(store, rc);
    done(store, S_SESSION_SOURCE);
    return err;
}

int ws_store_find_agent(struct ws_store *store, const char *agent_id, int64_t *process_id, int64_t *session_id,
                        bool *has_ended)
{
    sqlite3_stmt *st = store->prepared[S_PROCESS_BY_AGENT];
    int err = 0;
    int rc = sqlite3_bind_text(st, 1, agent_id, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        *process_id = sqlite3_column_int64(st, 0);
        *session_id = sqlite3_column_int64(st, 1);
        *has_ended = sqlite3_column_type(st, 2) != SQLITE_NULL;
    } else {
        err = rc == SQLITE_DONE ? -WS_ENOENT : fail(store, rc);
    }
    done(store, S_PROCESS_BY_AGENT);
    return err;
}

static int put_hello(struct ws_store *s, int64_t id, const struct ws_rec_hello *h)
{
    char *argv = words_to_json(h->argv);
    char *settings = words_to_json(h->settings);
    int err = -WS_ENOMEM;
    if (argv && settings)
        err = run(s, S_PROCESS_HELLO, "iuuxtxxxxiixixxxxt", id, h->pid, h->ppid, h->exe, argv, h->cwd, h->host,
                  h->boot_id, h->rank, h->started_ns, (int64_t)h->driver_version, h->driver_text,
                  (int64_t)h->cupti_version, h->cupti_path, h->gpu_uuids, h->warpsight, h->git_commit, settings);
    free(argv);
    free(settings);
    return err;
}

int ws_store_put_process(struct ws_store *store, int64_t session_id, const char *agent_id, uint32_t pid,
                         const struct ws_rec_hello *hello, int64_t *process_id)
{
    int err = run_for(store, process_id, S_PROCESS_ADD, "iti", session_id, agent_id, (int64_t)pid);
    return err == 0 && hello ? put_hello(store, *process_id, hello) : err;
}

int ws_store_end_process(struct ws_store *store, int64_t process_id, int64_t ended_ns)
{
    return run(store, S_PROCESS_END, "ii", process_id, ended_ns);
}

int ws_store_get_cursor(struct ws_store *store, const char *agent_id, struct ws_cursor *out)
{
    sqlite3_stmt *st = store->prepared[S_CURSOR_GET];
    int err = 0;
    int rc = sqlite3_bind_text(st, 1, agent_id, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        out->segment = (uint32_t)sqlite3_column_int64(st, 0);
        out->offset = (uint64_t)sqlite3_column_int64(st, 1);
        out->next_seq = (uint64_t)sqlite3_column_int64(st, 2);
    } else {
        err = rc == SQLITE_DONE ? -WS_ENOENT : fail(store, rc);
    }
    done(store, S_CURSOR_GET);
    return err;
}

int ws_store_set_cursor(struct ws_store *store, const char *agent_id, const struct ws_cursor *cursor)
{
    return run(store, S_CURSOR_SET, "tiuu", agent_id, (int64_t)cursor->segment, cursor->offset, cursor->next_seq);
}

int ws_store_put_device(struct ws_store *store, int64_t session_id, int64_t process_id, const struct ws_rec_device *d)
{
    int64_t device_id;
    int err = run_for(store, &device_id, S_DEVICE_PUT, "iixxxiiiqqqqiqiqqii", session_id, (int64_t)d->index, d->name,
                      d->uuid, d->chip, (int64_t)d->cc_major, (int64_t)d->cc_minor, (int64_t)d->sms, d->memory_bytes,
                      d->l2_bytes, d->sm_clock_hz, d->memory_clock_hz, (int64_t)d->memory_bus_bits, d->pcie_bytes_per_s,
                      (int64_t)d->max_warps_per_sm, d->smem_bytes_per_sm, d->smem_optin_bytes, (int64_t)d->regs_per_sm,
                      (int64_t)d->async_engines);
    return err == 0 ? run(store, S_DEVICE_MAP, "iii", process_id, (int64_t)d->index, device_id) : err;
}

int ws_store_find_device(struct ws_store *store, int64_t process_id, uint32_t index, int64_t *device_id)
{
    return run_for(store, device_id, S_DEVICE_FIND, "ii", process_id, (int64_t)index);
}

int ws_store_put_context(struct ws_store *store, int64_t process_id, uint32_t context, uint32_t device)
{
    return run(store, S_CONTEXT_PUT, "iii", process_id, (int64_t)context, (int64_t)device);
}

int ws_store_put_kernel(struct ws_store *store, int64_t session_id, int64_t device_id, struct ws_text mangled,
                        const struct ws_rec_signature *sig, int64_t *kernel_id)
{
    if (!sig->has_attributes)
        return run_for(store, kernel_id, S_KERNEL_PUT, "izxiiiiiiinnnnnnnnn", session_id, device_id, mangled,
                       (int64_t)sig->grid_x, (int64_t)sig->grid_y, (int64_t)sig->grid_z, (int64_t)sig->block_x,
                       (int64_t)sig->block_y, (int64_t)sig->block_z, (int64_t)sig->dynamic_smem_bytes);
    return run_for(store, kernel_id, S_KERNEL_PUT, "izxiiiiiiiiiiiiiiii", session_id, device_id, mangled,
                   (int64_t)sig->grid_x, (int64_t)sig->grid_y, (int64_t)sig->grid_z, (int64_t)sig->block_x,
                   (int64_t)sig->block_y, (int64_t)sig->block_z, (int64_t)sig->dynamic_smem_bytes,
                   (int64_t)sig->cluster_x, (int64_t)sig->cluster_y, (int64_t)sig->cluster_z,
                   (int64_t)sig->regs_per_thread, (int64_t)sig->static_smem_bytes, (int64_t)sig->smem_executed_bytes,
                   (int64_t)sig->local_bytes_per_thread, (int64_t)sig->launch_type, (int64_t)sig->carveout_percent);
}

int ws_store_add_launches(struct ws_store *store, int64_t kernel_id, const struct ws_kernel_delta *d)
{
    return run(store, S_KERNEL_ADD, "iqqiii", kernel_id, d->launches, d->timed, d->total_ns, d->min_ns, d->max_ns);
}

static void put_le(uint8_t *out, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_le(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

void ws_activity_pack(const struct ws_activity_row *row, uint8_t out[WS_ACTIVITY_BYTES])
{
    put_le(out, (uint64_t)row->start_ns, 8);
    put_le(out + 8, (uint64_t)row->end_ns, 8);
    put_le(out + 16, row->correlation, 8);
    put_le(out + 24, row->graph_node, 8);
    put_le(out + 32, row->kernel_id, 8);
    put_le(out + 40, row->graph, 8);
    put_le(out + 48, row->stream, 4);
    put_le(out + 52, row->context, 4);
    put_le(out + 56, row->device, 2);
    put_le(out + 58, row->peer_device, 2);
    out[60] = row->copy_kind;
    out[61] = row->src_kind;
    out[62] = row->dst_kind;
    out[63] = row->is_async;
}

void ws_activity_unpack(struct ws_activity_row *row, const uint8_t at[WS_ACTIVITY_BYTES])
{
    row->start_ns = (int64_t)get_le(at, 8);
    row->end_ns = (int64_t)get_le(at + 8, 8);
    row->correlation = get_le(at + 16, 8);
    row->graph_node = get_le(at + 24, 8);
    row->kernel_id = get_le(at + 32, 8);
    row->graph = get_le(at + 40, 8);
    row->stream = (uint32_t)get_le(at + 48, 4);
    row->context = (uint32_t)get_le(at + 52, 4);
    row->device = (uint16_t)get_le(at + 56, 2);
    row->peer_device = (uint16_t)get_le(at + 58, 2);
    row->copy_kind = at[60];
    row->src_kind = at[61];
    row->dst_kind = at[62];
    row->is_async = at[63];
}

int ws_store_add_activity(struct ws_store *store, int64_t session_id, int64_t process_id, enum ws_activity_kind kind,
                          int64_t start_ns, int64_t end_ns, const uint8_t *data, uint32_t rows)
{
    return run(store, S_ACTIVITY_ADD, "iiiiiib", session_id, process_id, (int64_t)kind, start_ns, end_ns, (int64_t)rows,
               data, (int)(rows * WS_ACTIVITY_BYTES));
}

int ws_store_add_host(struct ws_store *store, int64_t session_id, int64_t process_id, uint16_t type, uint32_t rows,
                      const uint8_t *data, size_t length)
{
    return run(store, S_HOST_ADD, "iiiib", session_id, process_id, (int64_t)type, (int64_t)rows, data, (int)length);
}

static size_t columns_of(const char *keys, size_t length)
{
    size_t n = 1;
    for (size_t i = 0; i < length; i++)
        n += keys[i] == ',';
    return n;
}

int ws_store_put_pm_series(struct ws_store *store, int64_t session_id, int64_t process_id,
                           const struct ws_rec_pm_series *rec)
{
    if (rec->keys.length == 0 || columns_of(rec->keys.at, rec->keys.length) > WS_PM_COLUMNS)
        return -WS_EINVAL;
    return run(store, S_PM_SERIES_PUT, "iiiiqixx", session_id, process_id, (int64_t)rec->series, (int64_t)rec->device,
               rec->interval_ns, (int64_t)(rec->trigger != 0), rec->keys, rec->cupti);
}

static int find_series(struct ws_store *s, int64_t process_id, uint32_t number, int64_t *id, size_t *columns)
{
    sqlite3_stmt *st = s->prepared[S_PM_SERIES_FIND];
    int err = 0;
    int rc = sqlite3_bind_int64(st, 1, process_id);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(st, 2, number);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        const char *keys = (const char *)sqlite3_column_text(st, 1);
        *id = sqlite3_column_int64(st, 0);
        *columns = keys ? columns_of(keys, strlen(keys)) : 0;
    } else {
        err = rc == SQLITE_DONE ? -WS_ENOENT : fail(s, rc);
    }
    done(s, S_PM_SERIES_FIND);
    return err;
}

#define PM_BYTES(columns) (8 + 4 * (columns)) /* of one sample: two u32, and an f32 a column */

static uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void ws_pm_unpack(const struct ws_pm_chunk *chunk, uint32_t i, struct ws_pm_row *out)
{
    const uint8_t *at = chunk->data + (size_t)i * PM_BYTES(chunk->columns);
    out->start_ns = chunk->start_ns + read_u32(at);
    out->end_ns = out->start_ns + read_u32(at + 4);
    for (size_t k = 0; k < chunk->columns; k++) {
        uint32_t bits = read_u32(at + 8 + 4 * k);
        memcpy(&out->value[k], &bits, sizeof bits);
        if (!isfinite(out->value[k]))
            out->value[k] = NAN;
    }
}

int ws_store_add_pm_samples(struct ws_store *store, int64_t process_id, const struct ws_rec_pm_samples *rec)
{
    struct ws_pm_chunk chunk = {.start_ns = rec->first_ns, .rows = rec->samples, .data = (const uint8_t *)rec->data.at};
    int64_t series_id = 0;
    int64_t end_ns = rec->first_ns;
    int err = find_series(store, process_id, rec->series, &series_id, &chunk.columns);
    if (err != 0)
        return err;
    if (rec->samples == 0 || rec->data.length / PM_BYTES(chunk.columns) != rec->samples ||
        rec->data.length % PM_BYTES(chunk.columns) != 0 || rec->first_ns <= 0 || rec->first_ns > INT64_MAX / 2)
        return -WS_EINVAL;
    for (uint32_t i = 0; i < rec->samples; i++) {
        struct ws_pm_row row;
        ws_pm_unpack(&chunk, i, &row);
        end_ns = row.end_ns > end_ns ? row.end_ns : end_ns;
    }
    return run(store, S_PM_SAMPLES_ADD, "iiiib", series_id, rec->first_ns, end_ns, (int64_t)rec->samples, rec->data.at,
               (int)rec->data.length);
}

int ws_store_put_text(struct ws_store *store, struct ws_text words, int64_t *text_id)
{
    return run_for(store, text_id, S_TEXT_PUT, "x", words);
}

#define NONE_U32 0xffffffffu
int ws_store_put_profile(struct ws_store *store, int64_t session_id, int64_t process_id, int64_t kernel_id,
                         const struct ws_rec_profile *rec, int64_t *profile_id)
{
    char types[] = "iiiuiiiuqiiiii";
    if (rec->stream == NONE_U32)
        types[6] = 'z'; /* its argument is 0 then: NULL */
    if (rec->pass_index == NONE_U32)
        types[11] = 'z';
    return run_for(store, profile_id, S_PROFILE_PUT, types, session_id, process_id, kernel_id, rec->profile,
                   (int64_t)rec->device, (int64_t)rec->context, rec->stream == NONE_U32 ? 0 : (int64_t)rec->stream,
                   rec->correlation, rec->ordinal, (int64_t)(rec->mode != 0), (int64_t)rec->passes,
                   rec->pass_index == NONE_U32 ? 0 : (int64_t)rec->pass_index, rec->cost_ns, rec->started_ns);
}

int ws_store_find_profile(struct ws_store *store, int64_t process_id, uint64_t number, int64_t *profile_id)
{
    return run_for(store, profile_id, S_PROFILE_FIND, "iu", process_id, number);
}

int ws_store_put_metric_key(struct ws_store *store, struct ws_text key, int64_t *key_id)
{
    return run_for(store, key_id, S_KEY_PUT, "x", key);
}

int ws_store_put_metric(struct ws_store *store, int64_t profile_id, int64_t key_id, struct ws_value value)
{
    if (ws_has(value) && isfinite(value.number))
        return run(store, S_METRIC_PUT, "iidn", profile_id, key_id, value.number);
    return run(store, S_METRIC_PUT, "iint", profile_id, key_id,
               ws_why_code(ws_has(value) ? WS_WHY_NOT_VALID : (enum ws_why)value.why));
}

int ws_store_add_instruction(struct ws_store *store, int64_t process_id, int64_t kernel_id, int64_t opcode_id,
                             int64_t file_id, const struct ws_rec_instruction *rec)
{
    return run(store, S_INSTRUCTION_ADD, "iiiiiiiziqqqqqqqqqq", kernel_id, process_id, (int64_t)rec->code,
               (int64_t)rec->at, (int64_t)rec->space, (int64_t)rec->access, opcode_id, file_id, (int64_t)rec->line,
               rec->launches, rec->runs, rec->lanes, rec->diverged, rec->requests, rec->bytes, rec->sectors,
               rec->ideal_sectors, rec->wavefronts, rec->ideal_wavefronts);
}

int ws_store_put_pc_sampling(struct ws_store *store, int64_t process_id, const struct ws_rec_pc_sampling *rec)
{
    return run(store, S_PC_SAMPLING_PUT, "iiiqqq", process_id, (int64_t)rec->context, (int64_t)rec->period,
               rec->samples, rec->other, rec->dropped);
}

int ws_store_add_pc_sample(struct ws_store *store, int64_t process_id, int64_t function_id, int64_t reason_id,
                           const struct ws_rec_pc_sample *rec)
{
    return run(store, S_PC_SAMPLE_ADD, "iiuqiiq", process_id, function_id, rec->cubin, rec->pc, reason_id,
               (int64_t)rec->context, rec->samples);
}

int ws_store_put_cubin(struct ws_store *store, int64_t session_id, const struct ws_rec_cubin *rec)
{
    return run(store, S_CUBIN_PUT, "iuqqb", session_id, rec->crc, rec->size, rec->offset,
               (const void *)(rec->bytes.length > 0 ? rec->bytes.at : ""), (int)rec->bytes.length);
}

int ws_store_prune_cubins(struct ws_store *store, int64_t session_id, int64_t process_id)
{
    return run(store, S_CUBIN_PRUNE, "ii", session_id, process_id);
}

int ws_store_put_ceiling(struct ws_store *store, const struct ws_rec_ceiling *rec)
{
    double clock_hz = isfinite(rec->clock_hz) && rec->clock_hz > 0 ? rec->clock_hz : 0;
    if (rec->why.length > 0)
        return run(store, S_CEILING_PUT, "xixnxdxi", rec->uuid, (int64_t)rec->driver_version, rec->key, rec->why,
                   clock_hz, rec->method, rec->measured_ns);
    if (!isfinite(rec->rate))
        return run(store, S_CEILING_PUT, "xixntdxi", rec->uuid, (int64_t)rec->driver_version, rec->key,
                   ws_why_code(WS_WHY_NOT_VALID), clock_hz, rec->method, rec->measured_ns);
    return run(store, S_CEILING_PUT, "xixdndxi", rec->uuid, (int64_t)rec->driver_version, rec->key, rec->rate, clock_hz,
               rec->method, rec->measured_ns);
}

int ws_store_put_status(struct ws_store *store, int64_t session_id, int64_t process_id, const struct ws_rec_status *rec)
{
    return run(store, S_STATUS_PUT, "izxixxq", session_id, process_id, rec->code, (int64_t)rec->severity, rec->message,
               rec->remedy, rec->count);
}

int ws_store_add_loss(struct ws_store *store, int64_t session_id, int64_t process_id, const struct ws_rec_loss *rec)
{
    return run(store, S_LOSS_ADD, "izxxqii", session_id, process_id, rec->kind, rec->reason, rec->count, rec->from_ns,
               rec->to_ns);
}

int ws_store_put_collection(struct ws_store *store, int64_t process_id, const struct ws_rec_collection *rec)
{
    char *settings = words_to_json(rec->settings);
    int err = settings ? run(store, S_COLLECTION_PUT, "iiixt", process_id, rec->at_ns, (int64_t)(rec->is_on != 0),
                             rec->reason, settings)
                       : -WS_ENOMEM;
    free(settings);
    return err;
}

int ws_store_put_cost(struct ws_store *store, int64_t process_id, const struct ws_rec_cost *rec)
{
    return run(store, S_COST_PUT, "ixqi", process_id, rec->what, rec->count, rec->total_ns);
}

int ws_store_put_decision(struct ws_store *store, int64_t process_id, int64_t kernel_id,
                          const struct ws_rec_decision *rec)
{
    return run(store, S_DECISION_PUT, "iiiiiiqi", kernel_id, process_id, (int64_t)rec->mode, (int64_t)rec->reason,
               (int64_t)(rec->reason == WS_REASON_BUDGET), (int64_t)rec->passes, rec->footprint_bytes,
               rec->predicted_ns);
}

int ws_store_put_budget(struct ws_store *store, int64_t process_id, const struct ws_rec_budget *rec)
{
    double overhead = isfinite(rec->overhead) && rec->overhead > 0 ? rec->overhead : 0;
    return run(store, S_BUDGET_PUT, "iidiiiiq", process_id, rec->limit_ns, overhead, rec->spent_ns, rec->setup_ns,
               rec->predicted_ns, rec->run_ns, rec->counted);
}

int ws_store_set_note(struct ws_store *store, int64_t session_id, const char *note)
{
    int64_t id;
    return run_for(store, &id, S_SESSION_NOTE, "it", session_id, note);
}

int ws_store_delete_session(struct ws_store *store, int64_t session_id)
{
    int64_t id;
    return run_for(store, &id, S_SESSION_DELETE, "i", session_id);
}

/* --- reading --- */

static const char *text(sqlite3_stmt *st, int column)
{
    const char *t = (const char *)sqlite3_column_text(st, column);
    return t ? t : "";
}

static uint32_t u32(sqlite3_stmt *st, int column)
{
    return (uint32_t)sqlite3_column_int64(st, column);
}

static uint64_t u64(sqlite3_stmt *st, int column)
{
    return (uint64_t)sqlite3_column_int64(st, column);
}

/* What each_row hands on: the caller's function and its state. */
#define CALL(type)                                             \
    struct call_##type {                                       \
        int (*each)(void *state, const struct ws_##type *row); \
        void *state;                                           \
    }
CALL(session_row);
CALL(process_row);
CALL(device_row);
CALL(kernel_row);
CALL(profile_row);
CALL(instruction_row);
CALL(pc_sampling_row);
CALL(pc_sample_row);
CALL(cubin_row);
CALL(decision_row);
CALL(budget_row);
CALL(metric_row);
CALL(activity_chunk);
CALL(host_chunk);
CALL(status_row);
CALL(loss_row);
CALL(cost_row);
CALL(collection_row);
CALL(ceiling_row);

static int session_of(sqlite3_stmt *st, void *state)
{
    struct call_session_row *call = state;
    struct ws_session_row row = {
        .id = sqlite3_column_int64(st, 0),
        .token = text(st, 1),
        .name = text(st, 2),
        .source = text(st, 3),
        .exe = text(st, 4),
        .argv = text(st, 5),
        .host = text(st, 6),
        .note = text(st, 7),
        .started_ns = sqlite3_column_int64(st, 8),
        .ended_ns = sqlite3_column_int64(st, 9),
        .exit_status = sqlite3_column_int64(st, 10),
        .exit_signal = sqlite3_column_int64(st, 11),
        .has_exit = sqlite3_column_type(st, 10) != SQLITE_NULL,
        .kernels = u64(st, 12),
        .launches = u64(st, 13),
    };
    return call->each(call->state, &row);
}

int ws_store_each_session(struct ws_store *store, int (*each)(void *state, const struct ws_session_row *row),
                          void *state)
{
    struct call_session_row call = {each, state};
    return each_row(store, S_SESSIONS, 0, session_of, &call);
}

struct one_session {
    struct call_session_row call;
    bool found;
};

static int one_session_of(sqlite3_stmt *st, void *state)
{
    struct one_session *one = state;
    one->found = true;
    return session_of(st, &one->call);
}

int ws_store_get_session(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_session_row *row), void *state)
{
    struct one_session one = {{each, state}, false};
    int err = each_row(store, S_SESSION, session_id, one_session_of, &one);
    return err == 0 && !one.found ? -WS_ENOENT : err;
}

int ws_store_find_session(struct ws_store *store, const char *which, int64_t *session_id)
{
    long long id;
    int err;
    if (!which)
        return run_for(store, session_id, S_SESSION_NEWEST, "");
    if (ws_cli_integer(which, 0, INT64_MAX, &id)) {
        err = run_for(store, session_id, S_SESSION_BY_ID, "i", (int64_t)id);
        if (err != -WS_ENOENT)
            return err;
    }
    /* A name may look like a number, too. */
    return run_for(store, session_id, S_SESSION_BY_NAME, "t", which);
}

static int process_of(sqlite3_stmt *st, void *state)
{
    struct call_process_row *call = state;
    struct ws_process_row row = {
        .id = sqlite3_column_int64(st, 0),
        .agent_id = text(st, 1),
        .exe = text(st, 2),
        .argv = text(st, 3),
        .cwd = text(st, 4),
        .host = text(st, 5),
        .boot_id = text(st, 6),
        .rank = text(st, 7),
        .driver_text = text(st, 8),
        .cupti_path = text(st, 9),
        .gpu_uuids = text(st, 10),
        .warpsight = text(st, 11),
        .git_commit = text(st, 12),
        .settings = text(st, 13),
        .pid = u32(st, 14),
        .ppid = u32(st, 15),
        .started_ns = sqlite3_column_int64(st, 16),
        .ended_ns = sqlite3_column_int64(st, 17),
        .driver_version = u32(st, 18),
        .cupti_version = u32(st, 19),
    };
    return call->each(call->state, &row);
}

int ws_store_each_process(struct ws_store *store, int64_t session_id,
                          int (*each)(void *state, const struct ws_process_row *row), void *state)
{
    struct call_process_row call = {each, state};
    return each_row(store, S_PROCESSES, session_id, process_of, &call);
}

CALL(open_process);

static int open_process_of(sqlite3_stmt *st, void *state)
{
    struct call_open_process *call = state;
    struct ws_open_process row = {sqlite3_column_int64(st, 0), u32(st, 1), text(st, 2)};
    return call->each(call->state, &row);
}

int ws_store_each_open_process(struct ws_store *store, int (*each)(void *state, const struct ws_open_process *row),
                               void *state)
{
    struct call_open_process call = {each, state};
    return each_row(store, S_OPEN_PROCESSES, 0, open_process_of, &call);
}

static int device_of(sqlite3_stmt *st, void *state)
{
    struct call_device_row *call = state;
    struct ws_device_row row = {
        .id = sqlite3_column_int64(st, 0),
        .uuid = text(st, 3),
        .chip = text(st, 4),
        .device = {.name = text(st, 2),
                   .index = u32(st, 1),
                   .cc_major = u32(st, 5),
                   .cc_minor = u32(st, 6),
                   .sms = u32(st, 7),
                   .memory_bytes = u64(st, 8),
                   .l2_bytes = u64(st, 9),
                   .sm_clock_hz = u64(st, 10),
                   .memory_clock_hz = u64(st, 11),
                   .memory_bus_bits = u32(st, 12),
                   .pcie_bytes_per_s = u64(st, 13)},
        .max_warps_per_sm = u32(st, 14),
        .smem_bytes_per_sm = u64(st, 15),
        .smem_optin_bytes = u64(st, 16),
        .regs_per_sm = u32(st, 17),
        .async_engines = u32(st, 18),
    };
    return call->each(call->state, &row);
}

int ws_store_each_device(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_device_row *row), void *state)
{
    struct call_device_row call = {each, state};
    return each_row(store, S_DEVICES, session_id, device_of, &call);
}

int ws_store_each_process_device(struct ws_store *store, int64_t process_id,
                                 int (*each)(void *state, const struct ws_device_row *row), void *state)
{
    struct call_device_row call = {each, state};
    return each_row(store, S_PROCESS_DEVICES, process_id, device_of, &call);
}

struct call_context {
    int (*each)(void *state, uint32_t context, uint32_t device);
    void *state;
};

static int context_of(sqlite3_stmt *st, void *state)
{
    struct call_context *call = state;
    return call->each(call->state, u32(st, 0), u32(st, 1));
}

int ws_store_each_context(struct ws_store *store, int64_t process_id,
                          int (*each)(void *state, uint32_t context, uint32_t device), void *state)
{
    struct call_context call = {each, state};
    return each_row(store, S_CONTEXTS, process_id, context_of, &call);
}

static struct ws_dim3 dim3_of(sqlite3_stmt *st, int column)
{
    struct ws_dim3 d = {u32(st, column), u32(st, column + 1), u32(st, column + 2)};
    return d;
}

static int kernel_of(sqlite3_stmt *st, void *state)
{
    struct call_kernel_row *call = state;
    struct ws_kernel_row row = {
        .id = sqlite3_column_int64(st, 0),
        .device_id = sqlite3_column_int64(st, 1),
        .mangled = text(st, 2),
        .launch = {.grid = dim3_of(st, 3),
                   .block = dim3_of(st, 6),
                   .cluster = dim3_of(st, 10),
                   .regs_per_thread = u32(st, 13),
                   .static_smem_bytes = u32(st, 14),
                   .dynamic_smem_bytes = u32(st, 9),
                   .local_bytes_per_thread = u32(st, 15)},
        .has_attributes = sqlite3_column_type(st, 13) != SQLITE_NULL,
        .carveout_percent = u32(st, 16),
        .smem_executed_bytes = u32(st, 17),
        .launch_type = u32(st, 18),
        .launches = u64(st, 19),
        .timed = u64(st, 20),
        .total_ns = sqlite3_column_int64(st, 21),
        .min_ns = sqlite3_column_int64(st, 22),
        .max_ns = sqlite3_column_int64(st, 23),
    };
    return call->each(call->state, &row);
}

int ws_store_each_kernel(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_kernel_row *row), void *state)
{
    struct call_kernel_row call = {each, state};
    return each_row(store, S_KERNELS, session_id, kernel_of, &call);
}

static uint32_t u32_or_none(sqlite3_stmt *st, int column)
{
    return sqlite3_column_type(st, column) == SQLITE_NULL ? NONE_U32 : u32(st, column);
}

static int profile_of(sqlite3_stmt *st, void *state)
{
    struct call_profile_row *call = state;
    struct ws_profile_row row = {
        .id = sqlite3_column_int64(st, 0),
        .process_id = sqlite3_column_int64(st, 1),
        .kernel_id = sqlite3_column_int64(st, 2),
        .rec = {.profile = u64(st, 3),
                .device = u32(st, 4),
                .context = u32(st, 5),
                .stream = u32_or_none(st, 6),
                .correlation = u64(st, 7),
                .ordinal = u64(st, 8),
                .mode = u32(st, 9),
                .passes = u32(st, 10),
                .pass_index = u32_or_none(st, 11),
                .cost_ns = sqlite3_column_int64(st, 12),
                .started_ns = sqlite3_column_int64(st, 13)},
    };
    return call->each(call->state, &row);
}

int ws_store_each_profile(struct ws_store *store, int64_t session_id,
                          int (*each)(void *state, const struct ws_profile_row *row), void *state)
{
    struct call_profile_row call = {each, state};
    return each_row(store, S_PROFILES, session_id, profile_of, &call);
}

static int decision_of(sqlite3_stmt *st, void *state)
{
    struct call_decision_row *call = state;
    struct ws_decision_row row = {.kernel_id = sqlite3_column_int64(st, 0),
                                  .process_id = sqlite3_column_int64(st, 1),
                                  .rec = {.mode = u32(st, 2),
                                          .reason = u32(st, 3),
                                          .passes = u32(st, 5),
                                          .footprint_bytes = u64(st, 6),
                                          .predicted_ns = sqlite3_column_int64(st, 7)},
                                  .is_refused = sqlite3_column_int(st, 4) != 0};
    return call->each(call->state, &row);
}

int ws_store_each_decision(struct ws_store *store, int64_t session_id,
                           int (*each)(void *state, const struct ws_decision_row *row), void *state)
{
    struct call_decision_row call = {each, state};
    return each_row(store, S_DECISIONS, session_id, decision_of, &call);
}

static int budget_of(sqlite3_stmt *st, void *state)
{
    struct call_budget_row *call = state;
    struct ws_budget_row row = {.process_id = sqlite3_column_int64(st, 0),
                                .rec = {.limit_ns = sqlite3_column_int64(st, 1),
                                        .overhead = sqlite3_column_double(st, 2),
                                        .spent_ns = sqlite3_column_int64(st, 3),
                                        .setup_ns = sqlite3_column_int64(st, 4),
                                        .predicted_ns = sqlite3_column_int64(st, 5),
                                        .run_ns = sqlite3_column_int64(st, 6),
                                        .counted = u64(st, 7)}};
    return call->each(call->state, &row);
}

int ws_store_each_budget(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_budget_row *row), void *state)
{
    struct call_budget_row call = {each, state};
    return each_row(store, S_BUDGETS, session_id, budget_of, &call);
}

/* A number column and, where that is NULL, the code of its reason. */
static struct ws_value value_of(sqlite3_stmt *st, int number, int reason)
{
    enum ws_why why;
    if (sqlite3_column_type(st, number) != SQLITE_NULL)
        return ws_value_of(sqlite3_column_double(st, number));
    why = ws_why_find(text(st, reason));
    /* A code of a later version: that there is no value is all we know. */
    return ws_missing(why == WS_WHY_COUNT || why == WS_WHY_PRESENT ? WS_WHY_NOT_VALID : why, NULL);
}

static int metric_of(sqlite3_stmt *st, void *state)
{
    struct call_metric_row *call = state;
    struct ws_metric_row row = {.kernel_id = sqlite3_column_int64(st, 0),
                                .profile_id = sqlite3_column_int64(st, 1),
                                .key = text(st, 2),
                                .key_id = sqlite3_column_int64(st, 5),
                                .value = value_of(st, 3, 4),
                                .process_id = sqlite3_column_int64(st, 6),
                                .number = u64(st, 7)};
    return call->each(call->state, &row);
}

int ws_store_each_metric(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_metric_row *row), void *state)
{
    struct call_metric_row call = {each, state};
    return each_row(store, S_METRICS, session_id, metric_of, &call);
}

static int instruction_of(sqlite3_stmt *st, void *state)
{
    struct call_instruction_row *call = state;
    struct ws_instruction_row row = {
        .process_id = sqlite3_column_int64(st, 0),
        .opcode_id = sqlite3_column_int64(st, 5),
        .file_id = sqlite3_column_int64(st, 6),
        .opcode = text(st, 18),
        .file = text(st, 19),
        .rec = {.code = u32(st, 1),
                .at = u32(st, 2),
                .space = u32(st, 3),
                .access = u32(st, 4),
                .line = u32(st, 7),
                .launches = u64(st, 8),
                .runs = u64(st, 9),
                .lanes = u64(st, 10),
                .diverged = u64(st, 11),
                .requests = u64(st, 12),
                .bytes = u64(st, 13),
                .sectors = u64(st, 14),
                .ideal_sectors = u64(st, 15),
                .wavefronts = u64(st, 16),
                .ideal_wavefronts = u64(st, 17)},
    };
    return call->each(call->state, &row);
}

int ws_store_each_instruction(struct ws_store *store, int64_t kernel_id,
                              int (*each)(void *state, const struct ws_instruction_row *row), void *state)
{
    struct call_instruction_row call = {each, state};
    return each_row(store, S_INSTRUCTIONS, kernel_id, instruction_of, &call);
}

struct kernel_place {
    int64_t kernel_id, session_id;
};

static int place_of(sqlite3_stmt *st, void *state)
{
    struct kernel_place *place = state;
    place->kernel_id = sqlite3_column_int64(st, 0);
    place->session_id = sqlite3_column_int64(st, 1);
    return 0;
}

int ws_store_find_instructions(struct ws_store *store, int64_t kernel_id, int64_t *found_id, int64_t *session_id)
{
    struct kernel_place place = {0, 0};
    int err = each_row(store, S_INSTRUCTIONS_OF, kernel_id, place_of, &place);
    if (err != 0 || place.kernel_id == 0)
        return err != 0 ? err : -WS_ENOENT;
    *found_id = place.kernel_id;
    *session_id = place.session_id;
    return 0;
}

static int pc_sampling_of(sqlite3_stmt *st, void *state)
{
    struct call_pc_sampling_row *call = state;
    struct ws_pc_sampling_row row = {
        .process_id = sqlite3_column_int64(st, 0),
        .rec = {.context = u32(st, 1),
                .period = u32(st, 2),
                .samples = u64(st, 3),
                .other = u64(st, 4),
                .dropped = u64(st, 5)},
    };
    return call->each(call->state, &row);
}

int ws_store_each_pc_sampling(struct ws_store *store, int64_t session_id,
                              int (*each)(void *state, const struct ws_pc_sampling_row *row), void *state)
{
    struct call_pc_sampling_row call = {each, state};
    return each_row(store, S_PC_SAMPLINGS, session_id, pc_sampling_of, &call);
}

static int pc_sample_of(sqlite3_stmt *st, void *state)
{
    struct call_pc_sample_row *call = state;
    struct ws_pc_sample_row row = {
        .process_id = sqlite3_column_int64(st, 0),
        .function_id = sqlite3_column_int64(st, 1),
        .function = text(st, 2),
        .cubin = u64(st, 3),
        .pc = u64(st, 4),
        .reason_id = sqlite3_column_int64(st, 5),
        .reason = text(st, 6),
        .context = u32(st, 7),
        .samples = u64(st, 8),
    };
    return call->each(call->state, &row);
}

int ws_store_each_pc_sample(struct ws_store *store, int64_t session_id,
                            int (*each)(void *state, const struct ws_pc_sample_row *row), void *state)
{
    struct call_pc_sample_row call = {each, state};
    return each_row(store, S_PC_SAMPLES, session_id, pc_sample_of, &call);
}

int ws_store_each_pc_sample_of(struct ws_store *store, int64_t kernel_id,
                               int (*each)(void *state, const struct ws_pc_sample_row *row), void *state)
{
    struct call_pc_sample_row call = {each, state};
    return each_row(store, S_PC_SAMPLES_OF, kernel_id, pc_sample_of, &call);
}

int ws_store_each_pc_sum(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_pc_sample_row *row), void *state)
{
    struct call_pc_sample_row call = {each, state};
    return each_row(store, S_PC_SUMS, session_id, pc_sample_of, &call);
}

static int cubin_of(sqlite3_stmt *st, void *state)
{
    struct call_cubin_row *call = state;
    struct ws_cubin_row row = {.crc = u64(st, 0),
                               .size = u64(st, 1),
                               .offset = u64(st, 2),
                               .bytes = sqlite3_column_blob(st, 3),
                               .length = (size_t)sqlite3_column_bytes(st, 3)};
    return call->each(call->state, &row);
}

int ws_store_each_cubin(struct ws_store *store, int64_t session_id,
                        int (*each)(void *state, const struct ws_cubin_row *row), void *state)
{
    struct call_cubin_row call = {each, state};
    return each_row(store, S_CUBINS, session_id, cubin_of, &call);
}

/* The next part behind those that are there. */
static int add_part(sqlite3_stmt *st, uint8_t **bytes, size_t *length, size_t *size)
{
    size_t offset = (size_t)sqlite3_column_int64(st, 1);
    const void *part = sqlite3_column_blob(st, 2);
    size_t n = (size_t)sqlite3_column_bytes(st, 2);
    if (!*bytes) {
        if (u64(st, 0) > WS_CUBIN_BYTES_MAX)
            return -WS_ELIMIT;
        *size = (size_t)u64(st, 0);
        *bytes = malloc(*size + 1);
    }
    if (!*bytes)
        return -WS_ENOMEM;
    if (n == 0 && offset == 0)
        return -WS_ELIMIT; /* not kept */
    if (offset != *length || n > *size - *length || !part)
        return -WS_ESHORT;
    memcpy(*bytes + offset, part, n);
    *length += n;
    return 0;
}

int ws_store_get_cubin(struct ws_store *store, int64_t session_id, uint64_t crc, uint8_t **bytes, size_t *length)
{
    sqlite3_stmt *st = store->prepared[S_CUBIN_PARTS];
    uint8_t *all = NULL;
    size_t used = 0;
    size_t size = 0;
    int err = 0;
    int rc = sqlite3_bind_int64(st, 1, session_id);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(st, 2, (int64_t)crc);
    if (rc != SQLITE_OK)
        return fail(store, rc);
    while (err == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
        err = add_part(st, &all, &used, &size);
    if (err == 0 && rc != SQLITE_DONE)
        err = fail(store, rc);
    done(store, S_CUBIN_PARTS);
    if (err == 0)
        err = !all ? -WS_ENOENT : used != size ? -WS_ESHORT : 0;
    if (err != 0) {
        free(all);
        return err;
    }
    *bytes = all;
    *length = used;
    return 0;
}

static int activity_of(sqlite3_stmt *st, void *state)
{
    struct call_activity_chunk *call = state;
    struct ws_activity_chunk chunk = {
        .id = sqlite3_column_int64(st, 6),
        .process_id = sqlite3_column_int64(st, 0),
        .kind = (enum ws_activity_kind)sqlite3_column_int(st, 1),
        .start_ns = sqlite3_column_int64(st, 2),
        .end_ns = sqlite3_column_int64(st, 3),
        .rows = u32(st, 4),
        .data = sqlite3_column_blob(st, 5),
    };
    if ((uint64_t)sqlite3_column_bytes(st, 5) != (uint64_t)chunk.rows * WS_ACTIVITY_BYTES)
        return -WS_ECORRUPT;
    return call->each(call->state, &chunk);
}

/* Ids of chunks, in memory: a few bytes for 256 KiB of data. Asked for with their data in one statement, SQLite would
 * sort all the data. */
struct chunk_ids {
    int64_t *at;
    size_t count, room;
};

static int take_id(struct chunk_ids *ids, int64_t id)
{
    if (ids->count == ids->room) {
        size_t room = ids->room ? ids->room * 2 : 256;
        int64_t *at = realloc(ids->at, room * sizeof *at);
        if (!at)
            return -WS_ENOMEM;
        ids->at = at;
        ids->room = room;
    }
    ids->at[ids->count++] = id;
    return 0;
}

/* The ids that a statement gives for up to four keys. */
static int find_chunks(struct ws_store *s, enum statement id, const int64_t *keys, int count, struct chunk_ids *ids)
{
    sqlite3_stmt *st = s->prepared[id];
    int err = 0;
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < count; i++)
        rc = sqlite3_bind_int64(st, i + 1, keys[i]);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
            err = take_id(ids, sqlite3_column_int64(st, 0));
        if (err != 0)
            break;
    }
    if (err == 0 && rc != SQLITE_DONE)
        err = fail(s, rc);
    done(s, id);
    return err;
}

static int each_chunk(struct ws_store *s, enum statement one, const struct chunk_ids *ids,
                      int (*row)(sqlite3_stmt *st, void *state), void *state)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < ids->count; i++)
        err = each_row(s, one, ids->at[i], row, state);
    return err;
}

int ws_store_each_activity_in(struct ws_store *store, int64_t session_id, const struct ws_activity_range *range,
                              int (*each)(void *state, const struct ws_activity_chunk *chunk), void *state)
{
    struct call_activity_chunk call = {each, state};
    struct chunk_ids ids = {NULL, 0, 0};
    const int64_t keys[] = {session_id, range->after_id, range->from_ns, range->to_ns};
    int err = find_chunks(store, S_ACTIVITY_IDS, keys, 4, &ids);
    if (err == 0)
        err = each_chunk(store, S_ACTIVITY_ONE, &ids, activity_of, &call);
    free(ids.at);
    return err;
}

int ws_store_each_activity(struct ws_store *store, int64_t session_id,
                           int (*each)(void *state, const struct ws_activity_chunk *chunk), void *state)
{
    struct call_activity_chunk call = {each, state};
    struct chunk_ids ids = {NULL, 0, 0};
    int err = find_chunks(store, S_ACTIVITY_ALL, &session_id, 1, &ids);
    if (err == 0)
        err = each_chunk(store, S_ACTIVITY_ONE, &ids, activity_of, &call);
    free(ids.at);
    return err;
}

/* Chunks with their least starts. */
struct chunk_starts {
    struct chunk_ids ids, starts;
};

static int find_starts(struct ws_store *s, int64_t session_id, struct chunk_starts *out)
{
    sqlite3_stmt *st = s->prepared[S_ACTIVITY_STARTS];
    int err = 0;
    int rc = sqlite3_bind_int64(st, 1, session_id);
    while (err == 0 && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
            err = take_id(&out->ids, sqlite3_column_int64(st, 0));
        if (rc == SQLITE_ROW && err == 0)
            err = take_id(&out->starts, sqlite3_column_int64(st, 1));
    }
    if (err == 0 && rc != SQLITE_DONE)
        err = fail(s, rc);
    done(s, S_ACTIVITY_STARTS);
    return err;
}

struct by_start {
    int (*each)(void *state, const struct ws_activity_chunk *chunk, int64_t next_start_ns);
    void *state;
    int64_t next_start_ns;
};

static int with_next_start(void *state, const struct ws_activity_chunk *chunk)
{
    const struct by_start *b = state;
    return b->each(b->state, chunk, b->next_start_ns);
}

int ws_store_each_activity_by_start(struct ws_store *store, int64_t session_id,
                                    int (*each)(void *state, const struct ws_activity_chunk *chunk,
                                                int64_t next_start_ns),
                                    void *state)
{
    struct by_start b = {each, state, 0};
    struct call_activity_chunk call = {with_next_start, &b};
    struct chunk_starts found = {{NULL, 0, 0}, {NULL, 0, 0}};
    int err = find_starts(store, session_id, &found);
    for (size_t i = 0; err == 0 && i < found.ids.count; i++) {
        b.next_start_ns = i + 1 < found.ids.count ? found.starts.at[i + 1] : INT64_MAX;
        err = each_row(store, S_ACTIVITY_ONE, found.ids.at[i], activity_of, &call);
    }
    free(found.ids.at);
    free(found.starts.at);
    return err;
}

static int host_of(sqlite3_stmt *st, void *state)
{
    struct call_host_chunk *call = state;
    struct ws_host_chunk chunk = {
        .process_id = sqlite3_column_int64(st, 0),
        .type = (uint16_t)sqlite3_column_int(st, 1),
        .rows = u32(st, 2),
        .data = sqlite3_column_blob(st, 3),
        .length = (size_t)sqlite3_column_bytes(st, 3),
    };
    return call->each(call->state, &chunk);
}

static int each_host(struct ws_store *s, enum statement which, const int64_t *keys, int count,
                     struct call_host_chunk *call)
{
    struct chunk_ids ids = {NULL, 0, 0};
    int err = find_chunks(s, which, keys, count, &ids);
    if (err == 0)
        err = each_chunk(s, S_HOST_ONE, &ids, host_of, call);
    free(ids.at);
    return err;
}

int ws_store_each_host(struct ws_store *store, int64_t session_id,
                       int (*each)(void *state, const struct ws_host_chunk *chunk), void *state)
{
    struct call_host_chunk call = {each, state};
    return each_host(store, S_HOST_IDS, &session_id, 1, &call);
}

int ws_store_each_host_of(struct ws_store *store, int64_t session_id, uint16_t type,
                          int (*each)(void *state, const struct ws_host_chunk *chunk), void *state)
{
    struct call_host_chunk call = {each, state};
    const int64_t keys[] = {session_id, type};
    return each_host(store, S_HOST_IDS_OF, keys, 2, &call);
}

struct call_pm_series {
    int (*each)(void *state, const struct ws_pm_series_row *row);
    void *state;
};

static int pm_series_of(sqlite3_stmt *st, void *state)
{
    struct call_pm_series *call = state;
    struct ws_pm_series_row row = {.id = sqlite3_column_int64(st, 0),
                                   .process_id = sqlite3_column_int64(st, 1),
                                   .device_id = sqlite3_column_int64(st, 2),
                                   .number = u32(st, 3),
                                   .device = u32(st, 4),
                                   .interval_ns = (uint64_t)sqlite3_column_int64(st, 5),
                                   .by_timer = sqlite3_column_int(st, 6) != 0,
                                   .keys = text(st, 7),
                                   .cupti = text(st, 8),
                                   .samples = (uint64_t)sqlite3_column_int64(st, 9),
                                   .from_ns = sqlite3_column_int64(st, 10),
                                   .to_ns = sqlite3_column_int64(st, 11)};
    row.columns = columns_of(row.keys, strlen(row.keys));
    return row.columns > WS_PM_COLUMNS ? -WS_ECORRUPT : call->each(call->state, &row);
}

int ws_store_each_pm_series(struct ws_store *store, int64_t session_id,
                            int (*each)(void *state, const struct ws_pm_series_row *row), void *state)
{
    struct call_pm_series call = {each, state};
    return each_row(store, S_PM_SERIES, session_id, pm_series_of, &call);
}

struct call_pm_chunk {
    int (*each)(void *state, const struct ws_pm_chunk *chunk);
    void *state;
    size_t columns;
};

static int pm_chunk_of(sqlite3_stmt *st, void *state)
{
    struct call_pm_chunk *call = state;
    struct ws_pm_chunk chunk = {.id = sqlite3_column_int64(st, 0),
                                .start_ns = sqlite3_column_int64(st, 1),
                                .end_ns = sqlite3_column_int64(st, 2),
                                .rows = u32(st, 3),
                                .columns = call->columns,
                                .data = sqlite3_column_blob(st, 4)};
    size_t bytes = (size_t)sqlite3_column_bytes(st, 4);
    if (chunk.rows == 0 || bytes % PM_BYTES(call->columns) != 0 || bytes / PM_BYTES(call->columns) != chunk.rows ||
        chunk.start_ns <= 0 || chunk.start_ns > INT64_MAX / 2)
        return -WS_ECORRUPT;
    return call->each(call->state, &chunk);
}

int ws_store_each_pm_samples(struct ws_store *store, const struct ws_pm_series_row *series, int64_t from_ns,
                             int64_t to_ns, int (*each)(void *state, const struct ws_pm_chunk *chunk), void *state)
{
    struct call_pm_chunk call = {each, state, series->columns};
    struct chunk_ids ids = {NULL, 0, 0};
    const int64_t keys[] = {series->id, from_ns, to_ns};
    int err = find_chunks(store, S_PM_SAMPLES_IDS, keys, 3, &ids);
    if (err == 0)
        err = each_chunk(store, S_PM_SAMPLES_ONE, &ids, pm_chunk_of, &call);
    free(ids.at);
    return err;
}

int ws_store_get_text(struct ws_store *store, int64_t text_id, char *out, size_t cap)
{
    sqlite3_stmt *st = store->prepared[S_TEXT_GET];
    int err = 0;
    int rc = sqlite3_bind_int64(st, 1, text_id);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        snprintf(out, cap, "%s", text(st, 0));
    else
        err = rc == SQLITE_DONE ? -WS_ENOENT : fail(store, rc);
    done(store, S_TEXT_GET);
    return err;
}

static int status_of(sqlite3_stmt *st, void *state)
{
    struct call_status_row *call = state;
    struct ws_status_row row = {
        .process_id = sqlite3_column_int64(st, 0),
        .code = text(st, 1),
        .message = text(st, 2),
        .remedy = text(st, 3),
        .severity = u32(st, 4),
        .count = u64(st, 5),
    };
    return call->each(call->state, &row);
}

int ws_store_each_status(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_status_row *row), void *state)
{
    struct call_status_row call = {each, state};
    return each_row(store, S_STATUSES, session_id, status_of, &call);
}

static int loss_of(sqlite3_stmt *st, void *state)
{
    struct call_loss_row *call = state;
    struct ws_loss_row row = {
        .process_id = sqlite3_column_int64(st, 0),
        .kind = text(st, 1),
        .reason = text(st, 2),
        .count = u64(st, 3),
        .from_ns = sqlite3_column_int64(st, 4),
        .to_ns = sqlite3_column_int64(st, 5),
    };
    return call->each(call->state, &row);
}

int ws_store_each_loss(struct ws_store *store, int64_t session_id,
                       int (*each)(void *state, const struct ws_loss_row *row), void *state)
{
    struct call_loss_row call = {each, state};
    return each_row(store, S_LOSSES, session_id, loss_of, &call);
}

static int cost_of(sqlite3_stmt *st, void *state)
{
    struct call_cost_row *call = state;
    struct ws_cost_row row = {
        .process_id = sqlite3_column_int64(st, 0),
        .what = text(st, 1),
        .count = u64(st, 2),
        .total_ns = sqlite3_column_int64(st, 3),
    };
    return call->each(call->state, &row);
}

int ws_store_each_cost(struct ws_store *store, int64_t session_id,
                       int (*each)(void *state, const struct ws_cost_row *row), void *state)
{
    struct call_cost_row call = {each, state};
    return each_row(store, S_COSTS, session_id, cost_of, &call);
}

static int collection_of(sqlite3_stmt *st, void *state)
{
    struct call_collection_row *call = state;
    struct ws_collection_row row = {.process_id = sqlite3_column_int64(st, 0),
                                    .at_ns = sqlite3_column_int64(st, 1),
                                    .is_on = sqlite3_column_int(st, 2) != 0,
                                    .reason = text(st, 3),
                                    .settings = text(st, 4)};
    return call->each(call->state, &row);
}

int ws_store_each_collection(struct ws_store *store, int64_t session_id,
                             int (*each)(void *state, const struct ws_collection_row *row), void *state)
{
    struct call_collection_row call = {each, state};
    return each_row(store, S_COLLECTIONS, session_id, collection_of, &call);
}

static int ceiling_of(sqlite3_stmt *st, void *state)
{
    struct call_ceiling_row *call = state;
    double clock_hz = sqlite3_column_double(st, 5);
    struct ws_ceiling_row row = {.uuid = text(st, 0),
                                 .driver_version = u32(st, 1),
                                 .key = text(st, 2),
                                 .rate = value_of(st, 3, 4),
                                 .method = text(st, 6),
                                 .measured_ns = sqlite3_column_int64(st, 7)};
    row.clock_hz = clock_hz > 0 ? ws_value_of(clock_hz) : ws_missing(WS_WHY_NOT_MEASURED, NULL);
    return call->each(call->state, &row);
}

int ws_store_each_ceiling(struct ws_store *store, int (*each)(void *state, const struct ws_ceiling_row *row),
                          void *state)
{
    struct call_ceiling_row call = {each, state};
    return each_row(store, S_CEILINGS, 0, ceiling_of, &call);
}

struct board {
    const char *uuid;
    uint32_t driver_version;
    struct ws_ceilings *out;
    bool found;
};

static int ceiling_of_board(void *state, const struct ws_ceiling_row *row)
{
    struct board *board = state;
    enum ws_ceiling_id id = ws_ceiling_find(row->key, strlen(row->key));
    if (id == WS_CEILING_COUNT || row->driver_version != board->driver_version || strcmp(row->uuid, board->uuid) != 0)
        return 0;
    board->out->at[id].rate = row->rate;
    board->out->at[id].clock_hz = row->clock_hz;
    board->found = true;
    return 0;
}

int ws_store_get_ceilings(struct ws_store *store, const char *uuid, uint32_t driver_version, struct ws_ceilings *out)
{
    struct board board = {uuid, driver_version, out, false};
    int err;
    ws_ceilings_init(out);
    err = ws_store_each_ceiling(store, ceiling_of_board, &board);
    return err == 0 && !board.found ? -WS_ENOENT : err;
}

/* --- copying a session --- */

/* Tables in an order in which no row comes before what it refers to; ?1 is the session. */
static const char *const copies[] = {
    "INSERT INTO session SELECT * FROM src.session WHERE id = ?1",
    "INSERT INTO process SELECT * FROM src.process WHERE session_id = ?1",
    "INSERT INTO cursor SELECT * FROM src.cursor WHERE agent_id IN (SELECT agent_id FROM process)",
    "INSERT INTO device SELECT * FROM src.device WHERE session_id = ?1",
    "INSERT INTO process_device SELECT * FROM src.process_device WHERE process_id IN (SELECT id FROM process)",
    "INSERT INTO context SELECT * FROM src.context WHERE process_id IN (SELECT id FROM process)",
    "INSERT INTO kernel SELECT * FROM src.kernel WHERE session_id = ?1",
    "INSERT INTO activity SELECT * FROM src.activity WHERE session_id = ?1",
    "INSERT INTO host SELECT * FROM src.host WHERE session_id = ?1",
    "INSERT INTO pm_series SELECT * FROM src.pm_series WHERE session_id = ?1",
    "INSERT INTO pm_samples SELECT * FROM src.pm_samples WHERE series_id IN (SELECT id FROM pm_series)",
    ("INSERT INTO text SELECT * FROM src.text WHERE EXISTS (SELECT 1 FROM host) OR id IN (SELECT opcode_id FROM "
     "src.instruction WHERE kernel_id IN (SELECT id FROM kernel) UNION SELECT file_id FROM src.instruction WHERE "
     "kernel_id IN (SELECT id FROM kernel) UNION SELECT function_id FROM src.pc_sample WHERE process_id IN (SELECT id "
     "FROM "
     "process) UNION SELECT reason_id FROM src.pc_sample WHERE process_id IN (SELECT id FROM process))"),
    "INSERT INTO pc_sampling SELECT * FROM src.pc_sampling WHERE process_id IN (SELECT id FROM process)",
    "INSERT INTO pc_sample SELECT * FROM src.pc_sample WHERE process_id IN (SELECT id FROM process)",
    "INSERT INTO cubin SELECT * FROM src.cubin WHERE session_id = ?1",
    "INSERT INTO instruction SELECT * FROM src.instruction WHERE kernel_id IN (SELECT id FROM kernel)",
    "INSERT INTO profile SELECT * FROM src.profile WHERE session_id = ?1",
    ("INSERT INTO metric_key SELECT * FROM src.metric_key WHERE id IN (SELECT m.key_id FROM src.metric m, profile p "
     "WHERE p.id = m.profile_id)"),
    "INSERT INTO metric SELECT * FROM src.metric WHERE profile_id IN (SELECT id FROM profile)",
    "INSERT INTO status SELECT * FROM src.status WHERE session_id = ?1",
    "INSERT INTO loss SELECT * FROM src.loss WHERE session_id = ?1",
    "INSERT INTO decision SELECT * FROM src.decision WHERE kernel_id IN (SELECT id FROM kernel)",
    "INSERT INTO budget SELECT * FROM src.budget WHERE process_id IN (SELECT id FROM process)",
    "INSERT INTO cost SELECT * FROM src.cost WHERE process_id IN (SELECT id FROM process)",
    "INSERT INTO collection SELECT * FROM src.collection WHERE process_id IN (SELECT id FROM process)",
    "INSERT INTO ceiling SELECT * FROM src.ceiling WHERE uuid IN (SELECT uuid FROM device)",
};

static int copy_rows(struct ws_store *to, int64_t session_id)
{
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        sqlite3_stmt *st = NULL;
        int rc = sqlite3_prepare_v2(to->db, copies[i], -1, &st, NULL);
        if (rc == SQLITE_OK && sqlite3_bind_parameter_count(st) > 0)
            rc = sqlite3_bind_int64(st, 1, session_id);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(st);
        sqlite3_finalize(st);
        if (rc != SQLITE_DONE)
            return fail(to, rc);
    }
    return 0;
}

/* Read-only: a connection that may write would also fold in the log of a database that is not its own. */
static int attach(struct ws_store *to, const char *path)
{
    sqlite3_stmt *st = NULL;
    char *uri = uri_of(path, "mode=ro");
    int rc = uri ? sqlite3_prepare_v2(to->db, "ATTACH ?1 AS src", -1, &st, NULL) : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(st, 1, uri, -1, sqlite3_free);
    else
        sqlite3_free(uri);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    sqlite3_finalize(st);
    return rc == SQLITE_DONE ? 0 : fail(to, rc);
}

int ws_store_copy_session(struct ws_store *store, int64_t session_id, const char *path)
{
    struct ws_store *to = NULL;
    struct stat st;
    char lock[WS_PATH_MAX + 8];
    int err;
    if (lstat(path, &st) == 0) {
        say(store, "%s exists already", path);
        return -WS_EEXIST;
    }
    err = ws_store_open(&to, path, WS_STORE_WRITE, store->message, sizeof store->message);
    if (err != 0)
        return err;
    err = attach(to, store->path);
    if (err == 0)
        err = ws_store_begin(to);
    if (err == 0)
        err = copy_rows(to, session_id);
    if (err == 0)
        err = ws_store_commit(to);
    if (err != 0)
        say(store, "%s", to->message);
    snprintf(lock, sizeof lock, "%s.lock", to->path);
    ws_store_close(to);
    (void)remove(lock); /* of a file that nobody else writes yet */
    return err;
}
