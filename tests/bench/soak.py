# SPDX-License-Identifier: MIT
"""soak.py: the daemon for SECONDS (600) under RATE (20000) launches a second from programs that come and go, with a
reader that asks for its pages. Every 5 s: resident memory, descriptors, threads, WAL. At the end: slope of the memory
over the last two thirds, largest WAL, page times, and whether every launch is in the database, once.
`make soak`; a training step of PyTorch makes some 2,000 launches a second, so the default is ten times that.
Prints the figures as JSON and exits 1 when a bound is broken. B = build folder."""
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

B = os.environ.get("B", "build")
SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
RATE = int(os.environ.get("SOAK_RATE", "20000"))
PROGRAM_SECONDS = 20  # a program's life
WAL_BOUND = 100 << 20
home = tempfile.mkdtemp()
started = []  # processes, ended with this one whatever happens
db, spool = os.path.join(home, "a.db"), os.path.join(home, "spool")


def page(port, path):
    """Seconds that the answer took."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    start = time.monotonic()
    c.request("GET", path)
    r = c.getresponse()
    r.read()
    c.close()
    assert r.status == 200, (path, r.status)
    return time.monotonic() - start


def status(pid):
    with open("/proc/%d/status" % pid) as f:
        text = f.read()
    return (int(re.search(r"VmRSS:\s*(\d+)", text).group(1)), int(re.search(r"Threads:\s*(\d+)", text).group(1)),
            len(os.listdir("/proc/%d/fd" % pid)))


def slope(samples):
    """KiB an hour, by least squares."""
    xs, ys = [s["t"] for s in samples], [s["rss_kib"] for s in samples]
    mx, my = statistics.mean(xs), statistics.mean(ys)
    den = sum((x - mx) ** 2 for x in xs)
    return 3600 * sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / den if den else 0.0


def size(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def main():
    env = dict(os.environ, WARPSIGHT_DB=db, WARPSIGHT_SPOOL=spool)
    daemon = subprocess.Popen([os.path.join(B, "warpsight"), "serve", "--no-token", "--listen", "127.0.0.1:0"], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    started.append(daemon)
    port = int(re.search(r":(\d+)/", daemon.stdout.readline().decode()).group(1))
    samples, times, written, program, began = [], [], 0, None, time.monotonic()
    each = int(RATE * PROGRAM_SECONDS)
    next_sample = 0.0
    while time.monotonic() - began < SECONDS or program:
        t = time.monotonic() - began
        if program and program.poll() is not None:
            assert program.returncode == 0
            program = None
        if not program and t < SECONDS:
            # ten bursts with pauses between them, as the steps of a training have
            program = subprocess.Popen([os.path.join(B, "web", "spool_writer"), spool, "run%d" % (written // each),
                                        str(each), str(int(PROGRAM_SECONDS * 80)), "40"], stdout=subprocess.DEVNULL)
            started.append(program)
            written += each
        if t >= next_sample:
            next_sample = t + 5
            rss, threads, fds = status(daemon.pid)
            samples.append({"t": t, "rss_kib": rss, "threads": threads, "fds": fds, "wal": size(db + "-wal")})
            times.append(page(port, "/api/v1/sessions"))
            if t > 10: # the first program is stored by then
                times.append(page(port, "/api/v1/sessions/1/kernels?limit=50"))
        time.sleep(0.2)
    elapsed = time.monotonic() - began
    for _ in range(600):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        c.request("GET", "/api/v1/sessions?limit=1000")
        stored = sum(s["launches"] for s in json.loads(c.getresponse().read())["sessions"])
        c.close()
        if stored == written:
            break
        time.sleep(0.1)
    with open("/proc/%d/stat" % daemon.pid) as f:
        cpu = f.read().rpartition(")")[2].split()
    cpu_seconds = (int(cpu[11]) + int(cpu[12])) / os.sysconf("SC_CLK_TCK")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(30) == 0
    connection = sqlite3.connect(db)
    integrity = connection.execute("PRAGMA integrity_check").fetchone()[0]
    lost = connection.execute("SELECT ifnull(sum(count), 0) FROM loss").fetchone()[0]
    connection.close()
    late = samples[len(samples) // 3:]
    figures = {
        "seconds": round(elapsed), "launches": written, "launches_per_s": round(written / elapsed),
        "stored": stored, "lost": lost, "integrity": integrity,
        "rss_first_mib": round(samples[0]["rss_kib"] / 1024, 1), "rss_last_mib": round(samples[-1]["rss_kib"] / 1024, 1),
        "rss_most_mib": round(max(s["rss_kib"] for s in samples) / 1024, 1),
        "rss_slope_mib_per_h": round(slope(late) / 1024, 2),
        "fds": [min(s["fds"] for s in late), max(s["fds"] for s in late)],
        "threads": [min(s["threads"] for s in late), max(s["threads"] for s in late)],
        "wal_most_mib": round(max(s["wal"] for s in samples) / 2**20, 1), "db_mib": round(size(db) / 2**20, 1),
        "page_ms_median": round(1000 * statistics.median(times), 1),
        "page_ms_p99": round(1000 * sorted(times)[int(len(times) * 0.99) - 1], 1),
        "daemon_cpu_percent": round(100 * cpu_seconds / elapsed, 1), "load_average": os.getloadavg()[1],
    }
    print(json.dumps(figures, indent=2))
    bad = []
    if stored != written or lost or integrity != "ok":
        bad.append("not every launch is there once")
    if SECONDS >= 300 and abs(slope(late)) > 1024 * 60:
        bad.append("resident memory grows by %.0f MiB an hour" % (slope(late) / 1024))
    if max(s["wal"] for s in samples) > WAL_BOUND:
        bad.append("the WAL grew beyond 100 MB")
    if max(s["fds"] for s in late) - min(s["fds"] for s in late) > 4:
        bad.append("descriptors are not flat")
    for line in bad:
        print("soak: " + line, file=sys.stderr)
    return 1 if bad else 0


try:
    sys.exit(main())
finally:
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(home, ignore_errors=True)
