-- SPDX-License-Identifier: MIT
-- schema.sql: THE database schema, embedded into the program. user_version counts its changes.
-- Raw facts only: sums, counts, min and max of them are kept as an index; what a formula makes is
-- computed on read. Times *_ns: int64 nanoseconds since the epoch. Metric values: SI base units.
-- Read on: store.c (every statement), ingest.c (the only writer).
PRAGMA application_id = 0x57534754; -- "WSGT"
PRAGMA user_version = 4;

CREATE TABLE session (
    id          INTEGER PRIMARY KEY,
    token       TEXT NOT NULL UNIQUE,      -- of `warpsight run`, or the agent id of a plain preload
    name        TEXT NOT NULL DEFAULT '',
    source      TEXT NOT NULL CHECK (source IN ('measured', 'modelled', 'recorded', 'imported', 'synthetic')),
    exe         TEXT NOT NULL DEFAULT '',
    argv        TEXT NOT NULL DEFAULT '[]', -- JSON array
    host        TEXT NOT NULL DEFAULT '',
    exit_status INTEGER,                    -- NULL = not known (plain preload, or still running)
    exit_signal INTEGER,
    started_ns  INTEGER NOT NULL DEFAULT 0,
    ended_ns    INTEGER,
    note        TEXT NOT NULL DEFAULT ''
) STRICT;

-- One collector: a process that used CUDA.
CREATE TABLE process (
    id             INTEGER PRIMARY KEY,
    session_id     INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    agent_id       TEXT NOT NULL UNIQUE,
    pid            INTEGER NOT NULL DEFAULT 0,
    ppid           INTEGER NOT NULL DEFAULT 0,
    exe            TEXT NOT NULL DEFAULT '',
    argv           TEXT NOT NULL DEFAULT '[]',
    cwd            TEXT NOT NULL DEFAULT '',
    host           TEXT NOT NULL DEFAULT '',
    boot_id        TEXT NOT NULL DEFAULT '',
    rank           TEXT NOT NULL DEFAULT '',
    started_ns     INTEGER NOT NULL DEFAULT 0,
    ended_ns       INTEGER,                 -- NULL = no BYE: running, killed or crashed
    driver_version INTEGER NOT NULL DEFAULT 0,
    driver_text    TEXT NOT NULL DEFAULT '',
    cupti_version  INTEGER NOT NULL DEFAULT 0,
    cupti_path     TEXT NOT NULL DEFAULT '',
    gpu_uuids      TEXT NOT NULL DEFAULT '',
    warpsight      TEXT NOT NULL DEFAULT '',
    git_commit     TEXT NOT NULL DEFAULT '',
    settings       TEXT NOT NULL DEFAULT '[]' -- JSON array of NAME=value
) STRICT;
CREATE INDEX process_session ON process(session_id);

-- How far each agent's spool was read: changes in the same transaction as the rows it brought.
CREATE TABLE cursor (
    agent_id TEXT PRIMARY KEY,
    segment  INTEGER NOT NULL,  -- number of the segment being read
    offset   INTEGER NOT NULL,  -- bytes of it already ingested
    next_seq INTEGER NOT NULL   -- the frame number expected next
) STRICT, WITHOUT ROWID;

CREATE TABLE device (
    id               INTEGER PRIMARY KEY,
    session_id       INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    idx              INTEGER NOT NULL,   -- CUDA ordinal in the process that reported it
    name             TEXT NOT NULL,
    uuid             TEXT NOT NULL,
    chip             TEXT NOT NULL DEFAULT '',
    cc_major         INTEGER NOT NULL,
    cc_minor         INTEGER NOT NULL,
    sms              INTEGER NOT NULL,
    memory_bytes     INTEGER NOT NULL DEFAULT 0,
    l2_bytes         INTEGER NOT NULL DEFAULT 0,
    sm_clock_hz      INTEGER NOT NULL DEFAULT 0,
    memory_clock_hz  INTEGER NOT NULL DEFAULT 0,
    memory_bus_bits  INTEGER NOT NULL DEFAULT 0,
    pcie_bytes_per_s INTEGER NOT NULL DEFAULT 0,
    max_warps_per_sm INTEGER NOT NULL DEFAULT 0,
    smem_bytes_per_sm INTEGER NOT NULL DEFAULT 0,
    smem_optin_bytes INTEGER NOT NULL DEFAULT 0,
    regs_per_sm      INTEGER NOT NULL DEFAULT 0,
    async_engines    INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session_id, uuid)
) STRICT;

-- Which device a process means by an ordinal: each process of a job may number them anew.
CREATE TABLE process_device (
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    idx        INTEGER NOT NULL,
    device_id  INTEGER NOT NULL REFERENCES device(id) ON DELETE CASCADE,
    PRIMARY KEY (process_id, idx)
) STRICT, WITHOUT ROWID;

-- One signature: mangled name, grid, block, dynamic shared memory. launches, total/min/max_ns are
-- an index over the unprofiled rows of `activity` (a replayed launch has no time of its own).
CREATE TABLE kernel (
    id                INTEGER PRIMARY KEY,
    session_id        INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    device_id         INTEGER REFERENCES device(id) ON DELETE CASCADE, -- of its first launch
    mangled           TEXT NOT NULL,
    grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
    block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
    dynamic_smem_bytes INTEGER NOT NULL,
    cluster_x INTEGER, cluster_y INTEGER, cluster_z INTEGER, -- NULL: no activity record told us
    regs_per_thread   INTEGER,
    static_smem_bytes INTEGER,
    smem_executed_bytes INTEGER,
    local_bytes_per_thread INTEGER,
    launch_type       INTEGER,
    carveout_percent  INTEGER,
    launches          INTEGER NOT NULL DEFAULT 0, -- activity records, replayed launches included
    timed_launches    INTEGER NOT NULL DEFAULT 0, -- those with a time
    total_ns          INTEGER NOT NULL DEFAULT 0,
    min_ns            INTEGER,
    max_ns            INTEGER,
    UNIQUE (session_id, mangled, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_smem_bytes)
) STRICT;

-- Kernel, memcpy and memset executions, many to a row: a million launches are some 250 rows.
-- data: n fixed-size little-endian records, layout in store.h (struct ws_activity_row).
CREATE TABLE activity (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    kind       INTEGER NOT NULL CHECK (kind IN (1, 2, 3)), -- 1 kernel, 2 memcpy, 3 memset
    start_ns   INTEGER NOT NULL, -- least start of the chunk
    end_ns     INTEGER NOT NULL, -- greatest end
    n          INTEGER NOT NULL CHECK (n > 0),
    data       BLOB NOT NULL
) STRICT;
CREATE INDEX activity_session ON activity(session_id, kind, start_ns);

-- What the host did (set `api`): calls, synchronisations, allocations, unified memory, many to a row.
-- data: n wire records of that type, each with its length (wire.def); a `name` in them is a row of `text`.
CREATE TABLE host (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    type       INTEGER NOT NULL, -- enum ws_record_type
    n          INTEGER NOT NULL CHECK (n > 0),
    data       BLOB NOT NULL
) STRICT;
CREATE INDEX host_session ON host(session_id, type);

-- What a process samples over time on one device (PM sampling: of the whole GPU); since schema 4.
CREATE TABLE pm_series (
    id          INTEGER PRIMARY KEY,
    session_id  INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    process_id  INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,  -- the collector's own number in its process
    device_idx  INTEGER NOT NULL,
    interval_ns INTEGER NOT NULL,  -- asked for
    by_timer    INTEGER NOT NULL,  -- 0: by the system clock, the interval is an estimate
    keys        TEXT NOT NULL,     -- columns of a sample, comma-separated: of pm_metrics.def, or CUPTI names
    cupti       TEXT NOT NULL,     -- what CUPTI calls each of them
    UNIQUE (process_id, number)
) STRICT;
CREATE INDEX pm_series_session ON pm_series(session_id);

-- Its samples, many to a row; since schema 4. data: n rows as in record PM_SAMPLES of wire.def, their u32 starts
-- counted from start_ns.
CREATE TABLE pm_samples (
    id         INTEGER PRIMARY KEY,
    series_id  INTEGER NOT NULL REFERENCES pm_series(id) ON DELETE CASCADE,
    start_ns   INTEGER NOT NULL, -- of the first
    end_ns     INTEGER NOT NULL, -- greatest end
    n          INTEGER NOT NULL CHECK (n > 0),
    data       BLOB NOT NULL
) STRICT;
CREATE INDEX pm_samples_series ON pm_samples(series_id, start_ns);

CREATE TABLE text (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE context (
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    context    INTEGER NOT NULL,
    device_idx INTEGER NOT NULL,
    PRIMARY KEY (process_id, context)
) STRICT, WITHOUT ROWID;

-- A launch that got counters.
CREATE TABLE profile (
    id          INTEGER PRIMARY KEY,
    session_id  INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    process_id  INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    kernel_id   INTEGER NOT NULL REFERENCES kernel(id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,  -- the collector's own number in its process
    device_idx  INTEGER NOT NULL,
    context     INTEGER NOT NULL,
    stream      INTEGER,
    correlation INTEGER NOT NULL,
    ordinal     INTEGER NOT NULL,  -- launches of this signature before it
    mode        INTEGER NOT NULL CHECK (mode IN (0, 1)), -- 0 replay, 1 rotate
    passes      INTEGER NOT NULL,
    pass_index  INTEGER,           -- rotate: the pass this launch served
    cost_ns     INTEGER NOT NULL,
    started_ns  INTEGER NOT NULL DEFAULT 0, -- since schema 2; 0 = not known
    UNIQUE (process_id, number)
) STRICT;
CREATE INDEX profile_kernel ON profile(kernel_id);

CREATE TABLE metric_key (
    id  INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE       -- a key of metrics.def, or a CUPTI name given by --metrics
) STRICT;

-- A number, or the code of the reason why there is none (value.h): never both, never neither.
CREATE TABLE metric (
    profile_id INTEGER NOT NULL REFERENCES profile(id) ON DELETE CASCADE,
    key_id     INTEGER NOT NULL REFERENCES metric_key(id),
    value      REAL,
    why        TEXT,
    CHECK ((value IS NULL) <> (why IS NULL)),
    PRIMARY KEY (profile_id, key_id)
) STRICT, WITHOUT ROWID;

-- What each instruction of a kernel did, summed over the launches that a process told of; since schema 3.
-- Numbers of code, space and access: wire.h. A later kind of fact about an instruction is a table of its own.
CREATE TABLE instruction (
    kernel_id   INTEGER NOT NULL REFERENCES kernel(id) ON DELETE CASCADE,
    process_id  INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    code        INTEGER NOT NULL, -- 1 PTX, 2 SASS
    at          INTEGER NOT NULL, -- PTX: line of its text; SASS: byte offset in the function
    space       INTEGER NOT NULL, -- 0 = no memory access
    access      INTEGER NOT NULL,
    opcode_id   INTEGER NOT NULL REFERENCES text(id),
    file_id     INTEGER REFERENCES text(id), -- NULL: the code has no line table
    line        INTEGER NOT NULL,
    launches    INTEGER NOT NULL, -- in which it ran
    runs        INTEGER NOT NULL, -- warps
    lanes       INTEGER NOT NULL, -- threads
    diverged    INTEGER NOT NULL,
    requests    INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    sectors     INTEGER NOT NULL,
    ideal_sectors INTEGER NOT NULL,
    wavefronts  INTEGER NOT NULL,
    ideal_wavefronts INTEGER NOT NULL,
    PRIMARY KEY (kernel_id, process_id, code, at, space, access)
) STRICT, WITHOUT ROWID;

-- run --stalls pc; since schema 4. How a context was sampled: running totals, the last ones stand.
CREATE TABLE pc_sampling (
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    context    INTEGER NOT NULL,
    period     INTEGER NOT NULL, -- a sample every 2^period cycles of an SM; 0 = not known
    samples    INTEGER NOT NULL, -- all; those of pc_sample, and:
    other      INTEGER NOT NULL, -- in kernels that are not the program's
    dropped    INTEGER NOT NULL, -- by the hardware
    PRIMARY KEY (process_id, context)
) STRICT, WITHOUT ROWID;

-- Samples at an instruction for one reason, under CUPTI's name of it: "…_not_issued" is a part of the same name
-- without that ending. A function has them for all its launches, whatever their shape. Since schema 4.
CREATE TABLE pc_sample (
    process_id  INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    function_id INTEGER NOT NULL REFERENCES text(id), -- mangled
    cubin       INTEGER NOT NULL, -- crc, 64 bits
    pc          INTEGER NOT NULL, -- byte offset in the function
    reason_id   INTEGER NOT NULL REFERENCES text(id),
    context     INTEGER NOT NULL,
    samples     INTEGER NOT NULL,
    PRIMARY KEY (process_id, function_id, cubin, pc, reason_id, context)
) STRICT, WITHOUT ROWID;

-- Code that was loaded, once per session and crc, in parts: an ELF file with the line table of its functions. Of a
-- session, so that nothing that is imported can take the place of what another one's samples mean. Once the session's
-- processes have ended, only code in which samples lie is kept. Since schema 4.
CREATE TABLE cubin (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    crc        INTEGER NOT NULL, -- 64 bits
    size       INTEGER NOT NULL, -- of the whole
    offset     INTEGER NOT NULL, -- of this part
    bytes      BLOB NOT NULL,    -- empty at offset 0: it was too large to be kept
    UNIQUE (session_id, crc, offset)
) STRICT;

CREATE TABLE status (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    process_id INTEGER REFERENCES process(id) ON DELETE CASCADE,
    code       TEXT NOT NULL,
    severity   INTEGER NOT NULL,   -- 0 info, 1 warning, 2 error
    message    TEXT NOT NULL,
    remedy     TEXT NOT NULL DEFAULT '',
    count      INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX status_once ON status(session_id, ifnull(process_id, 0), code, message);

CREATE TABLE loss (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    process_id INTEGER REFERENCES process(id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    count      INTEGER NOT NULL,
    from_ns    INTEGER NOT NULL DEFAULT 0,
    to_ns      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX loss_once ON loss(session_id, ifnull(process_id, 0), kind, reason);

-- How launches of a kernel are counted, or why they are not; since schema 4. Numbers: budget.h.
CREATE TABLE decision (
    kernel_id  INTEGER NOT NULL REFERENCES kernel(id) ON DELETE CASCADE,
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    mode       INTEGER NOT NULL, -- 0 replay, 1 rotate, 2 none
    reason     INTEGER NOT NULL,
    refused    INTEGER NOT NULL, -- 1: the budget left out launches of it
    passes     INTEGER NOT NULL, -- of the whole set
    footprint_bytes INTEGER NOT NULL, -- in use on the GPU at most, 0 = not known
    predicted_ns INTEGER NOT NULL, -- of one counted launch
    PRIMARY KEY (kernel_id, process_id)
) STRICT, WITHOUT ROWID;

-- What counting cost a process, against what it was allowed; since schema 4. Totals, the last ones stand.
CREATE TABLE budget (
    process_id   INTEGER PRIMARY KEY REFERENCES process(id) ON DELETE CASCADE,
    limit_ns     INTEGER NOT NULL, -- 0 = no limit
    overhead     REAL NOT NULL,    -- part of the run without us, 0 = no limit
    spent_ns     INTEGER NOT NULL,
    setup_ns     INTEGER NOT NULL, -- of which
    predicted_ns INTEGER NOT NULL, -- for the counted launches
    run_ns       INTEGER NOT NULL,
    counted      INTEGER NOT NULL  -- launches
) STRICT;

-- What collection cost a process: running totals, the last one of a kind stands.
CREATE TABLE cost (
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    what       TEXT NOT NULL,
    count      INTEGER NOT NULL,
    total_ns   INTEGER NOT NULL,
    PRIMARY KEY (process_id, what)
) STRICT, WITHOUT ROWID;

-- What micro-kernels measured on a board (`warpsight ceilings`). Of no session: a board keeps its roofs.
CREATE TABLE ceiling (
    uuid           TEXT NOT NULL,
    driver_version INTEGER NOT NULL,
    key            TEXT NOT NULL,    -- of WS_CEILING_LIST in roofline.h
    rate           REAL,             -- bytes or operations a second
    why            TEXT,
    clock_hz       REAL NOT NULL,    -- SM clock seen while measuring; 0 = not known
    method         TEXT NOT NULL,
    measured_ns    INTEGER NOT NULL,
    CHECK ((rate IS NULL) <> (why IS NULL)),
    PRIMARY KEY (uuid, driver_version, key)
) STRICT, WITHOUT ROWID;

-- When collection of a process went on or off; since schema 4. A process without rows collected all its life.
CREATE TABLE collection (
    process_id INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
    at_ns      INTEGER NOT NULL,
    is_on      INTEGER NOT NULL CHECK (is_on IN (0, 1)),
    reason     TEXT NOT NULL,
    settings   TEXT NOT NULL DEFAULT '[]', -- JSON array of NAME=value, when it went on
    PRIMARY KEY (process_id, at_ns, is_on)
) STRICT, WITHOUT ROWID;
