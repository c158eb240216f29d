# SPDX-License-Identifier: MIT
"""bench.py: what the daemon and its page take, against the targets. Run by `make bench`; never a test.
Each figure is printed with its target; the machine is described first, for figures mean nothing without it. What can
be paired is: this build and another one (BASE=build folder), or the plain way of doing the same, in turn, and the
ratio of each pair is what to believe on a machine that others use, too."""
import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

B = os.path.realpath(os.environ.get("B", "build"))
BASE = os.path.realpath(os.environ["BASE"]) if os.environ.get("BASE") else None
MINUTES = float(os.environ.get("MINUTES", "1"))
# The browser and its daemon as if the machine were ours: on a busy one they measure the others. Needs root.
ALONE = ["chrt", "-r", "1"] if os.environ.get("ALONE") else []
WRITER = os.path.join(B, "web/spool_writer")
LOAD = os.path.join(B, "bench/http_load")
RESULTS = {}


def median(values):
    values = sorted(values)
    n = len(values)
    return values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2


def spread(values, form="%.3g"):
    return (form + " (" + form + " to " + form + ")") % (median(values), min(values), max(values))


def say(name, text, value=None, target=None, below=True):
    good = "" if target is None else "  met" if (value < target) == below else "  MISSED"
    print("  %-34s %s%s" % (name, text, good), flush=True)
    RESULTS[name] = text


def machine():
    cpu = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), "?")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    disk = os.statvfs(scratch)
    print("%s, %d processors, %.0f GiB; Linux %s; SQLite %s; commit %s; %s; load %.1f" % (
        cpu, os.cpu_count(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, os.uname().release,
        __import__("sqlite3").sqlite_version, commit, time.strftime("%Y-%m-%d"), os.getloadavg()[0]))
    print("scratch on %s, %.0f GiB free" % (scratch, disk.f_bavail * disk.f_frsize / 2**30), flush=True)


# --- running things --------------------------------------------------------------------------------

def environment(folder):
    return dict(os.environ, WARPSIGHT_DB=os.path.join(folder, "db"), WARPSIGHT_SPOOL=os.path.join(folder, "spool"))


def pinned():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def timed(command, env=None, pin=True):
    """Seconds of wall, seconds of processor, peak KiB of a whole process."""
    start = time.monotonic()
    p = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, preexec_fn=pinned if pin else None)
    _, status, usage = os.wait4(p.pid, 0)
    assert status == 0, (command, status)
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


class Daemon:
    def __init__(self, folder, build=B, before=()):
        self.env = environment(folder)
        self.folder = folder
        self.process = subprocess.Popen([*before, os.path.join(build, "warpsight"), "serve", "--no-token", "--listen", "127.0.0.1:0"],
                                        env=self.env, stdout=subprocess.PIPE, stderr=open(os.path.join(folder, "log"), "w"))
        self.url = self.process.stdout.readline().decode().strip().rstrip("/")
        self.port = int(self.url.rsplit(":", 1)[1])

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=120) as r:
            return r.read()

    def json(self, path):
        return json.loads(self.get("/api/v1/" + path))

    def memory(self):
        """Resident and peak resident MB (10^6)."""
        text = open("/proc/%d/status" % self.process.pid).read()
        return [int(re.search(k + r":\s+(\d+)", text).group(1)) * 1024 / 1e6 for k in ("VmRSS", "VmHWM")]

    def load(self, seconds, *paths, clients=8):
        out = subprocess.run([LOAD, str(self.port), str(clients), str(seconds), *paths], capture_output=True, text=True)
        return json.loads(out.stdout)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def write(folder, token, launches, kernels=40, pause=0):
    return subprocess.Popen([WRITER, os.path.join(folder, "spool"), token, str(launches), str(pause), str(kernels)],
                            stdout=subprocess.DEVNULL)


class Ingest(threading.Thread):
    """Programs that record without a pause, one after another, until stop(); the spool is kept from running full."""

    def __init__(self, daemon, launches=500000):
        super().__init__(daemon=True)
        self.daemon, self.launches, self.count, self.is_over = daemon, launches, 0, False
        self.start()

    def run(self):
        while not self.is_over:
            assert write(self.daemon.folder, "run%d" % self.count, self.launches).wait() == 0
            self.count += 1
            while not self.is_over and self.backlog() > 256e6:
                time.sleep(0.05)

    def backlog(self):
        return self.daemon.json("status")["spool"]["backlog_bytes"]

    def stop(self):
        self.is_over = True
        self.join()


def database(name, sizes, kernels=40, build=B):
    """A database with a session of each size, made once; by the build that reads it, for schemas differ."""
    folder = os.path.join(scratch, name if build == B else name + "-base")
    if not os.path.exists(folder):
        os.makedirs(folder)
        for i, n in enumerate(sizes):
            assert write(folder, "s%d" % i, n, kernels).wait() == 0
            subprocess.check_call([os.path.join(build, "warpsight"), "list", "sessions"], env=environment(folder),
                                  stdout=subprocess.DEVNULL)
    return folder


# --- what is measured ------------------------------------------------------------------------------

def bench_ingest():
    """Launch records from the spool into SQLite, as a whole process on one processor, its start and end included."""
    launches = 4000000
    source = os.path.join(scratch, "ingest-source")
    os.makedirs(source)
    assert write(source, "big", launches).wait() == 0
    builds = {"this build": B, **({"BASE": BASE} if BASE else {})}
    rates = {k: [] for k in (*builds, "wall", "row a launch")}
    peaks, ratios = [], []
    for _ in range(5):
        for name, build in builds.items():
            folder = tempfile.mkdtemp(dir=scratch)
            shutil.copytree(os.path.join(source, "spool"), os.path.join(folder, "spool"))
            os.sync()
            wall, cpu, peak = timed([os.path.join(build, "warpsight"), "list", "sessions"], environment(folder))
            shutil.rmtree(folder)
            rates[name].append(launches / cpu)
            if name == "this build":
                rates["wall"].append(launches / wall)
                peaks.append(peak * 1024 / 1e6)
        folder = tempfile.mkdtemp(dir=scratch)
        _, cpu, _ = timed([os.path.join(B, "bench/rows"), os.path.join(folder, "rows.db"), str(launches // 4)])
        shutil.rmtree(folder)
        rates["row a launch"].append(launches / 4 / cpu)
        ratios.append(rates["this build"][-1] / rates["row a launch"][-1])
    mega = {k: [x / 1e6 for x in v] for k, v in rates.items()}
    say("ingest, of processor time", spread(mega["this build"]) + " million launches/s", median(mega["this build"]), 1, False)
    say("ingest, of wall time", spread(mega["wall"]) + " million launches/s")
    say("  against a row a launch", spread(ratios, "%.1f") + " times, pair by pair")
    if BASE:
        say("  against BASE", spread([a / b for a, b in zip(rates["this build"], rates["BASE"])], "%.2f") + " times, pair by pair")
    say("ingest, peak memory", spread(peaks, "%.0f") + " MB")


def bench_kernels():
    """The kernels page of a session with 1,000,000 launches: 8 clients that never rest, while records come in."""
    builds = {"this build": B, **({"BASE": BASE} if BASE else {})}
    found = {name: {"other": [], "live": []} for name in builds}
    for _ in range(3):
        for name, build in builds.items():
            here = tempfile.mkdtemp(dir=scratch)
            shutil.copy(os.path.join(database("million", [1000000], build=build), "db"), here)
            daemon = Daemon(here, build)
            ingest = Ingest(daemon)
            time.sleep(2)
            live = write(here, "live", 1200000, 40, 900)  # a session that grows while it is read
            time.sleep(3)
            id = daemon.json("sessions?limit=1")["sessions"][0]["id"]
            for which, session in (("other", 1), ("live", id)):
                got = daemon.load(4, "/api/v1/sessions/%d/kernels" % session,
                                  "/api/v1/sessions/%d/kernels?sort=-gain&limit=50" % session)
                assert got["errors"] == 0, got
                found[name][which].append(got)
            live.wait()
            ingest.stop()
            daemon.stop()
            shutil.rmtree(here)
    for which, text in (("other", "session at rest"), ("live", "session that grows")):
        mine = [x["p99"] for x in found["this build"][which]]
        say("kernels page, p99, " + text, spread(mine, "%.1f") + " ms", median(mine), 50)
        say("  median of all answers", spread([x["p50"] for x in found["this build"][which]], "%.2f") + " ms; slowest %.0f ms; %d answers" % (
            max(x["max"] for x in found["this build"][which]), sum(x["requests"] for x in found["this build"][which])))
        if BASE:
            base = [x["p99"] for x in found["BASE"][which]]
            say("  against BASE", spread([a / b for a, b in zip(mine, base)], "%.2f") + " times, pair by pair")


def bench_memory():
    """The daemon with 10,000,000 launches in the database: all pages of all sessions, and a million more come in."""
    pages = ["", "/kernels", "/report", "/roofline", "/time", "/verify", "/decode", "/timeline", "/timeline/data",
             "/timeline/memory", "/timeline/waits", "/timeline/queue", "/launches?limit=1000", "/export?format=csv"]
    for name, build in {"this build": B, **({"BASE": BASE} if BASE else {})}.items():
        here = tempfile.mkdtemp(dir=scratch)
        shutil.copy(os.path.join(database("ten", [1000000, 4500000, 4500000], 400, build), "db"), here)
        daemon = Daemon(here, build)
        start = daemon.memory()[0]
        for session in 1, 2, 3:
            for page in pages:
                try:
                    daemon.get("/api/v1/sessions/%d%s" % (session, page))
                except urllib.error.HTTPError:
                    pass  # BASE may not have it
        assert write(here, "more", 1000000).wait() == 0
        while daemon.json("status")["spool"]["backlog_bytes"] or not any(
                s["name"] == "more" and s["launches"] == 1000000 for s in daemon.json("sessions")["sessions"]):
            time.sleep(0.1)
        now, peak = daemon.memory()
        label = "" if name == "this build" else " of BASE"
        say("daemon, resident" + label, "%.0f MB after all pages and 1 million more; %.0f MB at its start" % (now, start), now, 100)
        say("daemon, peak" + label, "%.0f MB" % peak, peak, 100)
        daemon.stop()
        shutil.rmtree(here)


def bench_wal():
    """The write-ahead log while records come in and 8 clients read whatever there is."""
    folder = database("million", [1000000])
    here = tempfile.mkdtemp(dir=scratch)
    shutil.copy(os.path.join(folder, "db"), here)
    daemon = Daemon(here)
    ingest = Ingest(daemon)
    paths = ["/api/v1/sessions/1/" + x for x in ("kernels", "timeline", "timeline/data?px=1600", "launches?limit=1000",
                                                   "roofline", "kernels?sort=-gain&limit=20")]
    until = time.monotonic() + 60 * MINUTES
    got = {}
    reader = threading.Thread(target=lambda: got.update(daemon.load(60 * MINUTES, *paths, "/api/v1/sessions")))
    reader.start()
    most, memory = 0, 0
    while time.monotonic() < until:
        wal = os.path.join(here, "db-wal")
        most = max(most, os.path.getsize(wal) if os.path.exists(wal) else 0)
        memory = max(memory, daemon.memory()[0])
        time.sleep(0.02)
    reader.join()
    ingest.stop()
    status = daemon.json("status")
    say("log, greatest in %g min" % MINUTES, "%.0f MB" % (most / 1e6), most / 1e6, 100)
    say("  meanwhile", "%.1f million records in, %d lost, %d answers (p99 %.0f ms), daemon at most %.0f MB" % (
        status["ingest"]["records"] / 1e6, status["ingest"]["lost"], got["requests"], got["p99"], memory))
    daemon.stop()
    shutil.rmtree(here)


def bench_page():
    """A real browser on a session with a million events."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not shutil.which("node") or not chromium or not os.path.isdir("web/node_modules/playwright-core"):
        print("  page: no node, chromium or web/node_modules (make deps)")
        return
    folder = database("million", [1000000])
    daemon = Daemon(folder, B, ALONE)
    daemon.get("/api/v1/sessions/1/report")
    out = subprocess.run([*ALONE, "node", "tests/bench/page.mjs", daemon.url, "1", "9"], capture_output=True, text=True,
                         env=dict(os.environ, CHROMIUM=chromium))
    daemon.stop()
    assert out.returncode == 0, out.stderr[-2000:]
    got = json.loads(out.stdout)
    empty = got["empty"]
    for name, x in got["usable"].items():
        say("page usable: " + name, "%.0f ms (%.0f to %.0f); an empty page takes %.0f (%.0f to %.0f)" % (
            x["median"], x["min"], x["max"], empty["median"], empty["min"], empty["max"]),
            x["median"], 300 if name == "sessions" else None)
    for name, x in got["pan"].items():
        say("timeline, a frame of " + name, "%.1f ms (90 %%: %.1f, slowest %.0f)" % (x["median"], x["p90"], x["max"]), x["median"], 16)
    print("  Chromium " + got["chromium"])


def bench_bundle():
    """What the browser loads, compressed."""
    size = len(gzip.compress(b"".join(open("web/dist/" + f, "rb").read() for f in ("app.js", "app.css", "index.html")), 9))
    say("bundle, gzip -9", "%.1f kB" % (size / 1e3), size / 1e3, 90)


# Files of kernels/ whose launches, in full, the target of the whole is about.
SUITE = "vec_add stride_read mat_add transpose offset_copy matmul fma_peak fp64_peak diverge reduce_tree".split()
COALESCED = ["vec_add", "copy_width<1>", "copy_width<4>", "offset_copy<0>", "mat_add_xcol", "stride_read<1>", "zip_bias", "map_view_contiguous",
             "matmul_naive", "matmul_tiled<32>", "gemv<64>"]


def model(threads, files, build=B):
    """Wall and processor seconds of a whole process; M warp instructions/s of processor time by kernel."""
    folder = tempfile.mkdtemp(dir=scratch)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    p = subprocess.run([os.path.join(build, "warpsight"), "kernels", "model", "--threads", str(threads), *files,
                        *(["--instructions", "v3"] if build == B else [])],
                       env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                       preexec_fn=pinned if threads == 1 else None)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert p.returncode == 0, p.stderr
    shutil.rmtree(folder)
    rates = {m[1]: float(m[2]) for m in re.finditer(r"modelled (\S+) .* ([0-9]+) M/s", p.stderr)}
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, rates


def bench_model():
    """The SIMT model on reference kernels in full, AVX2, bounds checks on; processor time, for others use the machine."""
    runs, pairs = [], []
    for _ in range(5):
        one = model(1, SUITE)
        two = model(2, SUITE)
        runs.append(one)
        pairs.append((one[0] / two[0], two[1] / one[1]))
    say("suite in full, one thread", spread([r[1] for r in runs]) + " s of processor time", median([r[1] for r in runs]), 6)
    say("two threads", spread([p[0] for p in pairs]) + " times as fast by the clock, pair by pair", median([p[0] for p in pairs]), 1.6, False)
    say("  processor time against one", spread([p[1] for p in pairs]) + " times, pair by pair")
    rates = [model(1, ["vec_add", "copy_width", "offset_copy", "mat_add", "stride_read", "zip_bias", "map_view", "matmul", "gemv"])[2]
             for _ in range(5)]
    for name in COALESCED:
        mine = [r[name] for r in rates]
        say("coalesced: " + name, spread(mine) + " M warp instructions/s", median(mine), 150, False)
    if BASE:
        old = [model(1, SUITE, BASE)[1] / model(1, SUITE)[1] for _ in range(3)]
        say("  BASE against this build", spread(old) + " times the processor time, pair by pair")


BENCHES = {n[6:]: f for n, f in globals().items() if n.startswith("bench_")}
wanted = sys.argv[1:] or list(BENCHES)
if not set(wanted) <= set(BENCHES):
    sys.exit("bench: choose from " + " ".join(BENCHES))
scratch = tempfile.mkdtemp(prefix="warpsight-bench-", dir=os.environ.get("BENCH_DIR") or None)
try:
    machine()
    for name in wanted:
        print("%s: %s" % (name, " ".join(BENCHES[name].__doc__.split())), flush=True)
        BENCHES[name]()
finally:
    shutil.rmtree(scratch, ignore_errors=True)
