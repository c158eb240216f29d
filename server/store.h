/* SPDX-License-Identifier: MIT
 * store.h: the database: every SQL statement, and rows as structs. Nothing else in the program says SQL.
 * One writer at a time (flock on DB.lock); readers open read-only and never write, not even a checkpoint.
 * Read on: schema.sql (the tables), ingest.h (what fills them), report.h (what reads them). */
#ifndef WS_SERVER_STORE_H
#define WS_SERVER_STORE_H

#include "../analyzer/facts.h"
#include "../analyzer/roofline.h"
#include "../analyzer/value.h"
#include "../collector/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_store;

enum ws_store_flags {
    WS_STORE_READ = 0,         /* a missing file is an empty database; nothing is written */
    WS_STORE_WRITE = 1,        /* take the lock, create what is missing */
    WS_STORE_MOVE_CORRUPT = 2, /* with WRITE: a corrupt file is moved aside, with a warning, and a new one begun */
};

/* Open the database at path.
 *   message  [cap] one line for people when the result is not 0; it names the path and what to do
 *   errors   -WS_EBUSY     another process writes
 *            -WS_ECORRUPT  not a database, or damaged; untouched unless MOVE_CORRUPT
 *            -WS_EVERSION  made by a newer WarpSight
 *            -WS_EPERM, -WS_EIO, -WS_ELIMIT, -WS_ENOMEM
 *   thread   a store belongs to one thread at a time, and must not be carried over fork            */
int ws_store_open(struct ws_store **out, const char *path, unsigned flags, char *message, size_t cap);

/* A writer also folds its log into the file. NULL is allowed. */
void ws_store_close(struct ws_store *store);

/* What went wrong last, for people: valid until the next call. */
const char *ws_store_message(const struct ws_store *store);

/* The schema this program writes: user_version of schema.sql. */
int ws_store_schema_version(void);

/* --- writing: inside begin and commit ------------------------------------------------------------
 * All return 0 or -WS_E… (ws_store_message says more): -WS_ECORRUPT, -WS_EIO (disk full too), -WS_EBUSY,
 * -WS_ENOMEM. Texts from the wire may hold any bytes; NUL bytes in them become '?'. */

int ws_store_begin(struct ws_store *store);
int ws_store_commit(struct ws_store *store);
void ws_store_rollback(struct ws_store *store);
/* Fold the write-ahead log into the file when it has grown over 64 MiB. Outside of a transaction. */
int ws_store_checkpoint(struct ws_store *store);

/* The session of a token: -WS_ENOENT when there is none. */
int ws_store_find_token(struct ws_store *store, struct ws_text token, int64_t *session_id);
int ws_store_add_session(struct ws_store *store, struct ws_text token, const char *source, int64_t *session_id);
/* What a process (hello) or `warpsight run` (run) knows of its session; run wins. */
int ws_store_set_session_hello(struct ws_store *store, int64_t session_id, const char *source,
                               const struct ws_rec_hello *hello);
int ws_store_set_session_run(struct ws_store *store, int64_t session_id, const struct ws_rec_run *rec);

/* "measured", "recorded", …; -WS_ENOENT. */
int ws_store_get_source(struct ws_store *store, int64_t session_id, char out[16]);

/* The process of an agent, and whether it said BYE: -WS_ENOENT when there is none. */
int ws_store_find_agent(struct ws_store *store, const char *agent_id, int64_t *process_id, int64_t *session_id,
                        bool *has_ended);
/* Add or update. hello may be NULL: its HELLO was lost, and only the pid is known. */
int ws_store_put_process(struct ws_store *store, int64_t session_id, const char *agent_id, uint32_t pid,
                         const struct ws_rec_hello *hello, int64_t *process_id);
int ws_store_end_process(struct ws_store *store, int64_t process_id, int64_t ended_ns);

struct ws_cursor {
    uint32_t segment;
    uint64_t offset;
    uint64_t next_seq;
};
/* -WS_ENOENT when nothing of this agent was read yet. */
int ws_store_get_cursor(struct ws_store *store, const char *agent_id, struct ws_cursor *out);
int ws_store_set_cursor(struct ws_store *store, const char *agent_id, const struct ws_cursor *cursor);

int ws_store_put_device(struct ws_store *store, int64_t session_id, int64_t process_id,
                        const struct ws_rec_device *device);
/* The device a process means by an ordinal; -WS_ENOENT. */
int ws_store_find_device(struct ws_store *store, int64_t process_id, uint32_t index, int64_t *device_id);
int ws_store_put_context(struct ws_store *store, int64_t process_id, uint32_t context, uint32_t device);

/* The kernel of a signature, added when new; attributes are kept once they are known.
 *   device_id  0 = not known
 *   mangled    the name; sig->name is ignored */
int ws_store_put_kernel(struct ws_store *store, int64_t session_id, int64_t device_id, struct ws_text mangled,
                        const struct ws_rec_signature *sig, int64_t *kernel_id);

/* What a batch adds to a kernel's index. min_ns and max_ns count only when timed > 0. */
struct ws_kernel_delta {
    uint64_t launches, timed;
    int64_t total_ns, min_ns, max_ns;
};
int ws_store_add_launches(struct ws_store *store, int64_t kernel_id, const struct ws_kernel_delta *delta);

/* One execution in a row of table `activity`: 64 bytes, little endian, in the order of the members. */
#define WS_ACTIVITY_BYTES 64
#define WS_ACTIVITY_ROWS 4096 /* at most, in one blob: 256 KiB */
enum ws_activity_kind { WS_ACTIVITY_KERNEL = 1, WS_ACTIVITY_MEMCPY = 2, WS_ACTIVITY_MEMSET = 3 };
struct ws_activity_row {
    int64_t start_ns; /* 0,0: a replayed launch */
    int64_t end_ns;
    uint64_t correlation;
    uint64_t graph_node;
    uint64_t kernel_id; /* kernel: row of `kernel`; memcpy, memset: bytes */
    uint64_t graph;     /* kernel only */
    uint32_t stream;
    uint32_t context;
    uint16_t device; /* ordinal in the process */
    uint16_t peer_device;
    uint8_t copy_kind; /* memcpy */
    uint8_t src_kind;  /* memcpy; memset: memory_kind */
    uint8_t dst_kind;  /* memcpy */
    uint8_t is_async;
};
void ws_activity_pack(const struct ws_activity_row *row, uint8_t out[WS_ACTIVITY_BYTES]);
void ws_activity_unpack(struct ws_activity_row *row, const uint8_t at[WS_ACTIVITY_BYTES]);

int ws_store_add_activity(struct ws_store *store, int64_t session_id, int64_t process_id, enum ws_activity_kind kind,
                          int64_t start_ns, int64_t end_ns, const uint8_t *data, uint32_t rows);

/* Records of the host, wire-encoded one after another, each with its length; `name` is a row of `text`. */
int ws_store_add_host(struct ws_store *store, int64_t session_id, int64_t process_id, uint16_t type, uint32_t rows,
                      const uint8_t *data, size_t length);
int ws_store_put_text(struct ws_store *store, struct ws_text words, int64_t *text_id);

/* A launch with counters; one that is there already (same process and number) keeps its row. */
int ws_store_put_profile(struct ws_store *store, int64_t session_id, int64_t process_id, int64_t kernel_id,
                         const struct ws_rec_profile *rec, int64_t *profile_id);
int ws_store_find_profile(struct ws_store *store, int64_t process_id, uint64_t number, int64_t *profile_id);
int ws_store_put_metric_key(struct ws_store *store, struct ws_text key, int64_t *key_id);
/* A value that is not finite is stored as "not-valid". */
int ws_store_put_metric(struct ws_store *store, int64_t profile_id, int64_t key_id, struct ws_value value);

/* Added to what the process told of that instruction before. file_id 0: no line table. */
int ws_store_add_instruction(struct ws_store *store, int64_t process_id, int64_t kernel_id, int64_t opcode_id,
                             int64_t file_id, const struct ws_rec_instruction *rec);

/* Samples over time of a device. A series that is there already (same process and number) keeps its row.
 *   errors  -WS_EINVAL  more than WS_PM_COLUMNS columns; samples: the bytes do not fit their count, or times that
 *                       cannot be
 *           -WS_ENOENT  samples of a series that was never told of                                              */
#define WS_PM_COLUMNS 16
int ws_store_put_pm_series(struct ws_store *store, int64_t session_id, int64_t process_id,
                           const struct ws_rec_pm_series *rec);
int ws_store_add_pm_samples(struct ws_store *store, int64_t process_id, const struct ws_rec_pm_samples *rec);

/* Of PC sampling. Samples are added to those that the process told of that place, reason and context before; a part of
 * a cubin that is there already stays as it is. */
int ws_store_put_pc_sampling(struct ws_store *store, int64_t process_id, const struct ws_rec_pc_sampling *rec);
int ws_store_add_pc_sample(struct ws_store *store, int64_t process_id, int64_t function_id, int64_t reason_id,
                           const struct ws_rec_pc_sample *rec);
int ws_store_put_cubin(struct ws_store *store, int64_t session_id, const struct ws_rec_cubin *rec);
/* A process has ended: code of the session that no sample lies in goes, unless another process of it may still write.
 */
int ws_store_prune_cubins(struct ws_store *store, int64_t session_id, int64_t process_id);

/* process_id 0: of the session as a whole. */
int ws_store_put_status(struct ws_store *store, int64_t session_id, int64_t process_id,
                        const struct ws_rec_status *rec);
int ws_store_add_loss(struct ws_store *store, int64_t session_id, int64_t process_id, const struct ws_rec_loss *rec);
int ws_store_put_cost(struct ws_store *store, int64_t process_id, const struct ws_rec_cost *rec);
int ws_store_put_collection(struct ws_store *store, int64_t process_id, const struct ws_rec_collection *rec);

/* How launches of a kernel are counted: a word on the budget is kept beside what was decided before. */
int ws_store_put_decision(struct ws_store *store, int64_t process_id, int64_t kernel_id,
                          const struct ws_rec_decision *rec);
int ws_store_put_budget(struct ws_store *store, int64_t process_id, const struct ws_rec_budget *rec);

/* -WS_ENOENT when there is no such session. Deleting takes everything of the session along. */
int ws_store_set_note(struct ws_store *store, int64_t session_id, const char *note);
int ws_store_delete_session(struct ws_store *store, int64_t session_id);
/* Of a board, not of a session. A rate that is not finite is stored as "not-valid"; an older measurement of the
 * same board, driver and key is replaced. */
int ws_store_put_ceiling(struct ws_store *store, const struct ws_rec_ceiling *rec);

/* --- reading -------------------------------------------------------------------------------------
 * each_… call back once a row, in the order named; texts are lent until the callback returns. A result
 * other than 0 stops and is returned. */

struct ws_session_row {
    int64_t id;
    const char *token, *name, *source, *exe, *argv, *host, *note; /* argv: JSON array */
    int64_t started_ns, ended_ns;                                 /* 0 = not known */
    int64_t exit_status, exit_signal;
    bool has_exit;
    uint64_t kernels, launches; /* signatures; activity records of kernels */
};
/* Newest first. */
int ws_store_each_session(struct ws_store *store, int (*each)(void *state, const struct ws_session_row *row),
                          void *state);
/* which: an id (digits only) or a name (the newest of that name); NULL: the newest session.
 * -WS_ENOENT when there is none. */
int ws_store_find_session(struct ws_store *store, const char *which, int64_t *session_id);
/* One session by its id; -WS_ENOENT. */
int ws_store_get_session(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_session_row *row), void *state);

struct ws_process_row {
    int64_t id;
    const char *agent_id, *exe, *argv, *cwd, *host, *boot_id, *rank, *driver_text, *cupti_path, *gpu_uuids;
    const char *warpsight, *git_commit, *settings; /* argv, settings: JSON arrays */
    uint32_t pid, ppid;
    int64_t started_ns, ended_ns; /* ended_ns 0 = no BYE */
    uint32_t driver_version, cupti_version;
};
/* In order of arrival. */
int ws_store_each_process(struct ws_store *store, int64_t session_id,
                          int (*each)(void *state, const struct ws_process_row *row), void *state);

/* Processes of all sessions that did not say goodbye: running, or killed. */
struct ws_open_process {
    int64_t session_id;
    uint32_t pid;
    const char *boot_id;
};
int ws_store_each_open_process(struct ws_store *store, int (*each)(void *state, const struct ws_open_process *row),
                               void *state);

struct ws_device_row {
    int64_t id;
    const char *uuid, *chip;
    struct ws_device device;
    uint32_t max_warps_per_sm, regs_per_sm, async_engines;
    uint64_t smem_bytes_per_sm, smem_optin_bytes;
};
/* In order of arrival. */
int ws_store_each_device(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_device_row *row), void *state);
/* The devices of one process; device.index is the ordinal that this process uses. */
int ws_store_each_process_device(struct ws_store *store, int64_t process_id,
                                 int (*each)(void *state, const struct ws_device_row *row), void *state);
int ws_store_each_context(struct ws_store *store, int64_t process_id,
                          int (*each)(void *state, uint32_t context, uint32_t device), void *state);

struct ws_kernel_row {
    int64_t id;
    int64_t device_id; /* 0 = not known */
    const char *mangled;
    struct ws_launch launch; /* attributes are 0 unless has_attributes */
    bool has_attributes;
    uint32_t smem_executed_bytes, launch_type, carveout_percent;
    uint64_t launches, timed;
    int64_t total_ns, min_ns, max_ns; /* over the timed launches */
};
/* By id. */
int ws_store_each_kernel(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_kernel_row *row), void *state);

struct ws_profile_row {
    int64_t id, process_id, kernel_id;
    struct ws_rec_profile rec; /* name 0; geometry 0: see the kernel */
};
/* By id. */
int ws_store_each_profile(struct ws_store *store, int64_t session_id,
                          int (*each)(void *state, const struct ws_profile_row *row), void *state);

struct ws_metric_row {
    int64_t kernel_id, profile_id, key_id, process_id;
    uint64_t number; /* of the profile in its process */
    const char *key;
    struct ws_value value;
};
/* By kernel id, process id, profile number, key: an order that does not depend on when rows came. */
int ws_store_each_metric(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_metric_row *row), void *state);

struct ws_decision_row {
    int64_t kernel_id, process_id;
    struct ws_rec_decision rec; /* name 0, geometry 0: see the kernel */
    bool is_refused;            /* the budget left out launches of it */
};
/* By kernel and process id. */
int ws_store_each_decision(struct ws_store *store, int64_t session_id,
                           int (*each)(void *state, const struct ws_decision_row *row), void *state);

struct ws_budget_row {
    int64_t process_id;
    struct ws_rec_budget rec;
};
/* By process id. */
int ws_store_each_budget(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_budget_row *row), void *state);

struct ws_instruction_row {
    int64_t process_id, opcode_id, file_id; /* ids of texts; file_id 0: no line table */
    const char *opcode, *file;              /* file "": none */
    struct ws_rec_instruction rec;          /* texts and geometry 0: see the kernel */
};
/* Of one kernel, by process id and then in the order of the code. */
int ws_store_each_instruction(struct ws_store *store, int64_t kernel_id,
                              int (*each)(void *state, const struct ws_instruction_row *row), void *state);
/* The kernel whose instructions tell of this one: itself, else one of the same signature in the newest session that
 * has any. -WS_ENOENT: nothing is known of its instructions. */
int ws_store_find_instructions(struct ws_store *store, int64_t kernel_id, int64_t *found_id, int64_t *session_id);

struct ws_pc_sampling_row {
    int64_t process_id;
    struct ws_rec_pc_sampling rec;
};
/* By process and context. */
int ws_store_each_pc_sampling(struct ws_store *store, int64_t session_id,
                              int (*each)(void *state, const struct ws_pc_sampling_row *row), void *state);

struct ws_pc_sample_row {
    int64_t process_id, function_id, reason_id; /* ids of texts */
    const char *function, *reason;
    uint64_t cubin, pc, samples;
    uint32_t context;
};
/* By process, function, cubin, pc, reason. */
int ws_store_each_pc_sample(struct ws_store *store, int64_t session_id,
                            int (*each)(void *state, const struct ws_pc_sample_row *row), void *state);
/* Of one kernel's function, whatever its launch shape, summed over processes and contexts (0): by cubin, pc, reason. */
int ws_store_each_pc_sample_of(struct ws_store *store, int64_t kernel_id,
                               int (*each)(void *state, const struct ws_pc_sample_row *row), void *state);
/* Of all functions, summed over their places (0): by function, reason. */
int ws_store_each_pc_sum(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_pc_sample_row *row), void *state);

struct ws_cubin_row {
    uint64_t crc, size, offset;
    const uint8_t *bytes; /* [length] */
    size_t length;
};
/* Parts of the session's code, by crc and offset. */
int ws_store_each_cubin(struct ws_store *store, int64_t session_id,
                        int (*each)(void *state, const struct ws_cubin_row *row), void *state);
/* The largest that is read: the collector keeps smaller ones. */
#define WS_CUBIN_BYTES_MAX ((size_t)64 << 20)
/* One whole; free() *bytes.
 *   errors  -WS_ENOENT there is none; -WS_ELIMIT it was too large to be kept; -WS_ESHORT a part of it is lost */
int ws_store_get_cubin(struct ws_store *store, int64_t session_id, uint64_t crc, uint8_t **bytes, size_t *length);

struct ws_activity_chunk {
    int64_t id;
    int64_t process_id;
    enum ws_activity_kind kind;
    int64_t start_ns, end_ns;
    uint32_t rows;
    const uint8_t *data; /* [rows * WS_ACTIVITY_BYTES] */
};
/* By id, one chunk in memory at a time. A blob whose size does not fit its count is -WS_ECORRUPT. */
int ws_store_each_activity(struct ws_store *store, int64_t session_id,
                           int (*each)(void *state, const struct ws_activity_chunk *chunk), void *state);

/* By least start of a chunk, and then by id; next_start_ns: of the chunk that follows, INT64_MAX after the last. */
int ws_store_each_activity_by_start(struct ws_store *store, int64_t session_id,
                                    int (*each)(void *state, const struct ws_activity_chunk *chunk,
                                                int64_t next_start_ns),
                                    void *state);

struct ws_host_chunk {
    int64_t process_id;
    uint16_t type; /* WS_REC_API, WS_REC_SYNC, … */
    uint32_t rows;
    const uint8_t *data; /* [length]; walk with ws_wire_next_record over a struct ws_frame of it */
    size_t length;
};
/* By id. */
int ws_store_each_host(struct ws_store *store, int64_t session_id,
                       int (*each)(void *state, const struct ws_host_chunk *chunk), void *state);
/* Only those of one type. */
int ws_store_each_host_of(struct ws_store *store, int64_t session_id, uint16_t type,
                          int (*each)(void *state, const struct ws_host_chunk *chunk), void *state);
/* The text of a `name`, copied into out[cap] and cut to it; -WS_ENOENT. */
int ws_store_get_text(struct ws_store *store, int64_t text_id, char *out, size_t cap);

/* Only chunks with id > after_id of which some part lies in [from_ns, to_ns). One chunk is in memory at a time,
 * so a session of any size can be read. */
struct ws_activity_range {
    int64_t after_id, from_ns, to_ns;
};
int ws_store_each_activity_in(struct ws_store *store, int64_t session_id, const struct ws_activity_range *range,
                              int (*each)(void *state, const struct ws_activity_chunk *chunk), void *state);

struct ws_pm_series_row {
    int64_t id, process_id, device_id; /* device_id 0: not known */
    uint32_t number, device;           /* ordinal in the process */
    uint64_t interval_ns;
    bool by_timer;
    const char *keys, *cupti;
    size_t columns;         /* of keys, 1 to WS_PM_COLUMNS */
    uint64_t samples;       /* stored */
    int64_t from_ns, to_ns; /* of them; 0, 0 = none */
};
/* By id. */
int ws_store_each_pm_series(struct ws_store *store, int64_t session_id,
                            int (*each)(void *state, const struct ws_pm_series_row *row), void *state);

struct ws_pm_chunk {
    int64_t id, start_ns, end_ns;
    uint32_t rows;
    size_t columns;
    const uint8_t *data; /* rows: ws_pm_unpack */
};
/* Those of which some part lies in [from_ns, to_ns), by start; one in memory at a time. A blob whose size does not fit
 * its count is -WS_ECORRUPT. */
int ws_store_each_pm_samples(struct ws_store *store, const struct ws_pm_series_row *series, int64_t from_ns,
                             int64_t to_ns, int (*each)(void *state, const struct ws_pm_chunk *chunk), void *state);

struct ws_pm_row {
    int64_t start_ns, end_ns;
    float value[WS_PM_COLUMNS]; /* [columns]; NaN = none */
};
/* i < chunk->rows. What is no finite number is NaN. */
void ws_pm_unpack(const struct ws_pm_chunk *chunk, uint32_t i, struct ws_pm_row *out);

struct ws_status_row {
    int64_t process_id; /* 0 = the session */
    const char *code, *message, *remedy;
    uint32_t severity;
    uint64_t count;
};
int ws_store_each_status(struct ws_store *store, int64_t session_id,
                         int (*each)(void *state, const struct ws_status_row *row), void *state);

struct ws_loss_row {
    int64_t process_id; /* 0 = the session */
    const char *kind, *reason;
    uint64_t count;
    int64_t from_ns, to_ns;
};
/* Summed per process, kind and reason. */
int ws_store_each_loss(struct ws_store *store, int64_t session_id,
                       int (*each)(void *state, const struct ws_loss_row *row), void *state);

struct ws_cost_row {
    int64_t process_id;
    const char *what;
    uint64_t count;
    int64_t total_ns;
};
int ws_store_each_cost(struct ws_store *store, int64_t session_id,
                       int (*each)(void *state, const struct ws_cost_row *row), void *state);

/* Collection of a process went on or off. */
struct ws_collection_row {
    int64_t process_id, at_ns;
    bool is_on;
    const char *reason, *settings; /* settings: JSON array */
};
/* By process id and time. */
int ws_store_each_collection(struct ws_store *store, int64_t session_id,
                             int (*each)(void *state, const struct ws_collection_row *row), void *state);

struct ws_ceiling_row {
    const char *uuid, *key, *method;
    uint32_t driver_version;
    struct ws_value rate, clock_hz;
    int64_t measured_ns;
};
/* By uuid, driver version, key. */
int ws_store_each_ceiling(struct ws_store *store, int (*each)(void *state, const struct ws_ceiling_row *row),
                          void *state);
/* The ceilings of one board under one driver: what was not measured says so. -WS_ENOENT, and *out all "not
 * measured", when nothing was. */
int ws_store_get_ceilings(struct ws_store *store, const char *uuid, uint32_t driver_version, struct ws_ceilings *out);

/* Write the session alone into a new database at path, which must not exist: -WS_EEXIST. */
int ws_store_copy_session(struct ws_store *store, int64_t session_id, const char *path);

#endif
