-- SPDX-License-Identifier: MIT
-- push_schema.sql: what `warpsight push` keeps in a PostgreSQL-compatible engine; run by push.c where it is missing.
-- Every key begins with the session's token, so that a distributed engine can spread rows by it, and nothing but
-- ordinary tables and views is used. Times are seconds, rates per second: SI base units as in `report --json`.
-- What a formula makes is stored here, other than in schema.sql: nobody recomputes a fleet. Documented in docs/fleet.md.
CREATE SCHEMA IF NOT EXISTS warpsight;
CREATE TABLE IF NOT EXISTS warpsight.schema_version (version INT PRIMARY KEY);

CREATE TABLE IF NOT EXISTS warpsight.session (
    token       TEXT PRIMARY KEY,     -- random, made by the run: the same session has it everywhere
    fingerprint TEXT NOT NULL,        -- changes when the session or the analysis does
    node        TEXT NOT NULL,        -- host that ran it
    name        TEXT NOT NULL,
    source      TEXT NOT NULL,        -- measured | recorded | modelled | imported | synthetic
    exe         TEXT NOT NULL,
    argv        TEXT NOT NULL,        -- JSON array
    note        TEXT NOT NULL,
    started     TIMESTAMPTZ,
    ended       TIMESTAMPTZ,
    exit_status BIGINT,
    cuda_driver INT NOT NULL,         -- as cuDriverGetVersion: 13000; 0 = not known
    gpu         TEXT NOT NULL,        -- of its first device
    kernel_time DOUBLE PRECISION,     -- s, of all launches
    pushed      TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS session_started ON warpsight.session (started);

CREATE TABLE IF NOT EXISTS warpsight.device (
    token    TEXT NOT NULL REFERENCES warpsight.session (token) ON DELETE CASCADE,
    uuid     TEXT NOT NULL,
    idx      INT NOT NULL,
    name     TEXT NOT NULL,
    chip     TEXT NOT NULL,
    cc_major INT NOT NULL,
    cc_minor INT NOT NULL,
    sms      INT NOT NULL,
    PRIMARY KEY (token, uuid)
);

-- One signature: name, grid, block, dynamic shared memory.
CREATE TABLE IF NOT EXISTS warpsight.kernel (
    token     TEXT NOT NULL REFERENCES warpsight.session (token) ON DELETE CASCADE,
    kernel    BIGINT NOT NULL,        -- its number in the session
    uuid      TEXT NOT NULL,          -- of the device, '' = not known
    hash      TEXT NOT NULL,          -- of the mangled name: the same in every session
    name      TEXT NOT NULL,          -- short
    demangled TEXT NOT NULL,
    grid_x BIGINT NOT NULL, grid_y BIGINT NOT NULL, grid_z BIGINT NOT NULL,
    block_x INT NOT NULL, block_y INT NOT NULL, block_z INT NOT NULL,
    dynamic_smem_bytes BIGINT NOT NULL,
    launches  BIGINT NOT NULL,
    profiled  BIGINT NOT NULL,        -- launches with counters
    total_s   DOUBLE PRECISION,       -- NULL: no time is known
    mean_s    DOUBLE PRECISION,
    min_s     DOUBLE PRECISION,
    max_s     DOUBLE PRECISION,
    PRIMARY KEY (token, kernel)
);
CREATE INDEX IF NOT EXISTS kernel_hash ON warpsight.kernel (hash);

-- Metrics that have a value; keys and units are those of `warpsight list metrics`.
CREATE TABLE IF NOT EXISTS warpsight.metric (
    token  TEXT NOT NULL REFERENCES warpsight.session (token) ON DELETE CASCADE,
    kernel BIGINT NOT NULL,
    key    TEXT NOT NULL,
    value  DOUBLE PRECISION NOT NULL,
    unit   TEXT NOT NULL,
    PRIMARY KEY (token, kernel, key)
);

-- Points that have an intensity and a rate, with the measured roof over them where the board was measured.
CREATE TABLE IF NOT EXISTS warpsight.point (
    token     TEXT NOT NULL REFERENCES warpsight.session (token) ON DELETE CASCADE,
    kernel    BIGINT NOT NULL,
    prec      TEXT NOT NULL,          -- fp32, fp64, …
    level     TEXT NOT NULL,          -- DRAM, L2, L1
    intensity DOUBLE PRECISION NOT NULL, -- operations a byte
    rate      DOUBLE PRECISION NOT NULL, -- operations a second
    roof      DOUBLE PRECISION,       -- operations a second at this intensity
    percent   DOUBLE PRECISION,       -- rate / roof, a ratio
    bound     TEXT NOT NULL,          -- memory, compute, or unknown
    PRIMARY KEY (token, kernel, prec, level)
);

CREATE TABLE IF NOT EXISTS warpsight.finding (
    token    TEXT NOT NULL REFERENCES warpsight.session (token) ON DELETE CASCADE,
    kernel   BIGINT NOT NULL,
    rule     TEXT NOT NULL,
    severity TEXT NOT NULL,
    gain     DOUBLE PRECISION,        -- share of the kernel's time, an estimate; NULL = not known
    advice   TEXT NOT NULL,
    PRIMARY KEY (token, kernel, rule)
);

-- PC samples of a function, in all its launch shapes together: a method of its own, no metric. Since version 2.
CREATE TABLE IF NOT EXISTS warpsight.pc_sample (
    token      TEXT NOT NULL REFERENCES warpsight.session (token) ON DELETE CASCADE,
    hash       TEXT NOT NULL,         -- of the mangled name, as in warpsight.kernel
    reason     TEXT NOT NULL,         -- selected, not_selected, or a stall reason of `warpsight list metrics`
    samples    BIGINT NOT NULL,
    not_issued BIGINT NOT NULL,       -- those of them in whose cycle the scheduler issued nothing
    PRIMARY KEY (token, hash, reason)
);

-- Samples over time (run --timeline-metrics) of the whole GPU, in sum; since version 3.
CREATE TABLE IF NOT EXISTS warpsight.sample (
    token   TEXT NOT NULL REFERENCES warpsight.session (token) ON DELETE CASCADE,
    series  INT NOT NULL,             -- of the session: one a process and device
    uuid    TEXT NOT NULL,            -- of the device, '' = not known
    kernel  BIGINT NOT NULL,          -- samples while it alone ran; 0 = while any kernel ran on the device
    key     TEXT NOT NULL,            -- of `warpsight list timeline-metrics`, or a CUPTI name
    samples BIGINT NOT NULL,
    mean    DOUBLE PRECISION NOT NULL,
    min     DOUBLE PRECISION NOT NULL,
    max     DOUBLE PRECISION NOT NULL,
    unit    TEXT NOT NULL,
    PRIMARY KEY (token, series, kernel, key)
);

CREATE OR REPLACE VIEW warpsight.top_kernels AS
SELECT k.hash, min(k.name) AS name, s.gpu, count(DISTINCT k.token) AS sessions, count(DISTINCT s.node) AS nodes,
       sum(k.launches) AS launches, sum(k.total_s) AS total_s, sum(k.total_s) / sum(k.launches) AS mean_s
FROM warpsight.kernel k JOIN warpsight.session s ON s.token = k.token
WHERE k.total_s IS NOT NULL GROUP BY k.hash, s.gpu;

CREATE OR REPLACE VIEW warpsight.roofline AS
SELECT s.started, s.node, s.gpu, s.name AS session, k.name AS kernel, p.prec, p.level, p.intensity, p.rate, p.roof,
       p.percent, p.bound, k.total_s, p.token, p.kernel AS number
FROM warpsight.point p JOIN warpsight.kernel k ON k.token = p.token AND k.kernel = p.kernel
JOIN warpsight.session s ON s.token = p.token;

-- What each rule could save, in seconds of GPU time: the sum of gain x time over the fleet.
CREATE OR REPLACE VIEW warpsight.savings AS
SELECT f.rule, s.gpu, count(*) AS kernels, count(DISTINCT s.node) AS nodes, sum(f.gain * k.total_s) AS seconds
FROM warpsight.finding f JOIN warpsight.kernel k ON k.token = f.token AND k.kernel = f.kernel
JOIN warpsight.session s ON s.token = f.token
WHERE f.gain IS NOT NULL AND k.total_s IS NOT NULL GROUP BY f.rule, s.gpu;

INSERT INTO warpsight.schema_version VALUES (3);
