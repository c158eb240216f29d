# SPDX-License-Identifier: MIT
"""failing.py: each call that can fail, failing: once, and from then on always; in the CLI, the daemon, the
collector and `warpsight run`. Run by test_failing.sh. The short form tries FAULT_POINTS / 10 of the calls of each kind and the first one, chosen by the
seed; with FAULT_POINTS of 200 and more the first 200 of each kind and as many chosen ones."""
import glob
import http.client
import json
import os
import re
import signal
import subprocess
import time

from common import (B, FAKE, POINTS, PRELOAD, PROGRAM, SAN, SEED, SHIM, SLOW, choose, content, copy_home, count_calls,
                    crashed, differs, environment, faulty, finish, folder, make_spool, run, scratch, verdict)

CAPTURE = "tests/flow/h200-torch.wscap"
# Kinds of calls of the server's programs, each counted by itself.
KINDS = ["malloc", "calloc", "realloc", "open,open64,fopen,opendir,mkdir", "read,pread,pread64",
         "write,pwrite,pwrite64", "fsync,fdatasync", "ftruncate,ftruncate64,rename,unlink,flock", "sqlite3_step",
         "sqlite3_prepare_v2,sqlite3_prepare_v3", "socket", "pthread_create", "mmap"]
if SAN: # there the shim leaves memory to the sanitizer's allocator
    KINDS = [kind for kind in KINDS if kind not in ("malloc", "calloc", "realloc", "mmap")]


def sources_of(kind):
    """From whom a kind of call fails. libmicrohttpd ends the process itself when its own eventfd cannot be written, which
    no disk can bring about; and inside of SQLite a step that fails without having run is no failure at all."""
    if "sqlite3" in kind:
        return "warpsight"
    return "warpsight,libsqlite3" if "write" in kind else "warpsight,libsqlite3,libmicrohttpd"


def points(total):
    """Which of total calls fail: all of a few, else the first ones (what starts up) and some of the rest."""
    if POINTS >= 200:
        some = set(range(1, min(total, POINTS) + 1))
        return sorted(some | {choose.randint(1, total) for _ in range(POINTS)}) if total else []
    n = max(POINTS // 10, 1)
    return sorted({choose.randint(1, total) for _ in range(n)} | {1}) if total else []


def without_names(value):
    if isinstance(value, dict):
        return {k: without_names(v) for k, v in value.items() if k not in ("name", "demangled")}
    return [without_names(v) for v in value] if isinstance(value, list) else value


def same_answer(a, b):
    """Alike but for names: a kernel's mangled name stands where there is no memory for a shorter one (names.h)."""
    if a == b:
        return True
    try:
        return without_names(json.loads(a)) == without_names(json.loads(b))
    except ValueError:
        return False


def judge_command(done, plain, name):
    """Why this end of a command is wrong, or ""."""
    bad = crashed(done)
    if bad:
        return bad
    if done.returncode == 0:
        if not same_answer(done.stdout, plain.stdout) and not done.stderr.strip() and b"(out of memory)" not in done.stdout:
            return "%s: another answer without a word" % name
        return ""
    if not done.stderr.strip():
        return "%s: status %d without a word" % (name, done.returncode)
    if done.returncode not in (1, 2):
        return "%s: status %d" % (name, done.returncode)
    return ""


def try_command(name, source, command, kinds, changes_database):
    """All kinds of failures of one command, each on a copy of `source`."""
    plain_home = copy_home(source, "plain")
    plain = run(plain_home, *command)
    assert plain.returncode == 0, plain
    wanted = content(plain_home)
    problems, tried, failed = [], 0, 0
    for kind in kinds:
        total = sum(count_calls(copy_home(source, "counted"), kind, *command, sources=sources_of(kind)).values())
        for nth in points(total):
            for mode in "once", "ever":
                home = copy_home(source, "faulty") if changes_database else plain_home
                try:
                    done = faulty(home, kind, nth, mode, *command, sources=sources_of(kind), timeout=20)
                except subprocess.TimeoutExpired:
                    problems.append("%s %s %d %s: hangs" % (name, kind, nth, mode))
                    continue
                tried += 1
                failed += done.returncode != 0
                bad = judge_command(done, plain, name)
                if bad:
                    problems.append("%s %s %d %s: %s" % (name, kind, nth, mode, bad))
                if not changes_database:
                    continue
                # What it left behind is whole: the same command again, undisturbed, completes it.
                after = run(home, *command)
                if after.returncode != 0 or differs(content(home), wanted):
                    problems.append("%s %s %d %s: afterwards status %d %s, %s differ" % (
                        name, kind, nth, mode, after.returncode, after.stderr[-200:], differs(content(home), wanted)))
    verdict("failing_calls_of_" + name, problems, "seed %d, %d failures tried, %d of them ended the command" % (
        SEED, tried, failed))


def passing_read_errors():
    """A read that fails once, while the database is checked at its opening, must not make it look damaged."""
    source = folder("checked")
    run(source, PROGRAM, "import", CAPTURE)
    total = sum(count_calls(copy_home(source, "counted"), "pread,pread64", PROGRAM, "import", CAPTURE,
                            sources="libsqlite3").values())
    problems = []
    every = range(1, total + 1) if POINTS >= 200 else sorted(choose.sample(range(1, total + 1), min(total, POINTS)))
    for nth in every:
        home = copy_home(source, "faulty")
        done = faulty(home, "pread,pread64", nth, "once", PROGRAM, "import", CAPTURE, sources="libsqlite3")
        if any("corrupt" in name for name in os.listdir(home)):
            problems.append("read %d: %s" % (nth, done.stderr[:300]))
    verdict("a_read_that_fails_once_is_no_damaged_database", problems, "%d of %d reads" % (len(every), total))


def commands():
    spool = folder("spool_source")
    make_spool(spool, tokens=1, launches=500)
    try_command("ingest", spool, [PROGRAM, "list", "sessions"], KINDS, True)
    try_command("import", folder("empty"), [PROGRAM, "import", CAPTURE], KINDS, True)
    stored = folder("stored")
    run(stored, PROGRAM, "import", CAPTURE)
    try_command("report", stored, [PROGRAM, "report", "--json"], KINDS, False)
    try_command("export", stored, [PROGRAM, "export", "--format", "capture"], KINDS, False)
    try_command("diff", stored, [PROGRAM, "diff", "1", "1", "--json"], KINDS, False)
    details = sorted(glob.glob("tests/gpu/results/*-ncu-details.csv.gz"))[-1]
    try_command("import_of_nsight_compute", folder("empty"), [PROGRAM, "import", details], KINDS, True)


# --- the daemon ---

def ask(port, path):
    """Status and body, or None when the connection is refused or cut."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=5 * SLOW)
    try:
        c.request("GET", path)
        r = c.getresponse()
        return r.status, r.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        c.close()


PATHS = ["/healthz", "/api/v1/sessions", "/api/v1/sessions/1/kernels", "/api/v1/sessions/1/kernels/1",
         "/api/v1/sessions/1/timeline", "/api/v1/sessions/1/roofline", "/", "/metrics"]
VARYING = ("/healthz", "/metrics")


class Daemon:
    def __init__(self, home, **env):
        self.err = open(os.path.join(home, "err"), "w+b")
        self.process = subprocess.Popen([PROGRAM, "serve", "--no-token", "--listen", "127.0.0.1:0"],
                                        env=environment(home, **env), stdout=subprocess.PIPE, stderr=self.err)
        line = self.process.stdout.readline().decode()
        found = re.match(r"http://127\.0\.0\.1:(\d+)/", line)
        self.port = int(found.group(1)) if found else 0

    def end(self):
        """(status, stderr)"""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(20 * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "hangs"
        self.process.stdout.close()
        self.err.seek(0)
        text = self.err.read().decode(errors="replace")
        self.err.close()
        return status, text


def judge_daemon(daemon, plain):
    """Ask for every path; why an answer or the end is wrong, or ""."""
    bad = ""
    for path in PATHS if daemon.port else []:
        answer = ask(daemon.port, path) if not bad else None
        if daemon.process.poll() is not None and daemon.process.returncode < 0:
            break
        if answer is None or answer[0] >= 500:
            continue # no memory for a connection, or an honest error
        if path not in VARYING and answer[0] == 200 and not same_answer(answer[1], plain[path]):
            bad = "%s: another answer, with status 200" % path
        if path.startswith("/api") and answer[0] not in (200, 500, 503):
            bad = "%s: status %d" % (path, answer[0])
    started = daemon.port != 0
    status, text = daemon.end()
    if "Sanitizer" in text:
        bad = text[text.index("Sanitizer") - 20:][:1500]
    elif status == "hangs" or (isinstance(status, int) and status < 0):
        bad = "ends with %s: %s" % (status, text[-300:])
    elif not started and (status == 0 or not text.strip()):
        bad = "did not start (status %d) and said %r" % (status, text)
    return bad


def daemon():
    source = folder("daemon_source")
    run(source, PROGRAM, "import", CAPTURE)
    log = os.path.join(scratch, "calls")
    d = Daemon(copy_home(source, "plain"))
    plain = {path: ask(d.port, path)[1] for path in PATHS}
    assert d.end()[0] == 0
    problems, tried, unstarted = [], 0, 0
    for kind in KINDS:
        if os.path.exists(log):
            os.unlink(log)
        d = Daemon(copy_home(source, "counted"), LD_PRELOAD=SHIM, FAULT_CALLS=kind, FAULT_FROM=sources_of(kind),
                   FAULT_LOG=log)
        for path in PATHS:
            ask(d.port, path)
        d.end()
        with open(log) as f:
            total = sum(int(line.split()[1]) for line in f)
        some = points(total)
        for nth in some if POINTS >= 200 else some[:3]:
            for mode in "once", "ever":
                d = Daemon(copy_home(source, "faulty"), LD_PRELOAD=SHIM, FAULT_CALLS=kind,
                           FAULT_FROM=sources_of(kind), FAULT_NTH=str(nth), FAULT_MODE=mode)
                tried += 1
                unstarted += d.port == 0
                bad = judge_daemon(d, plain)
                if bad:
                    problems.append("%s %d of %d %s: %s" % (kind, nth, total, mode, bad))
    verdict("failing_calls_of_the_daemon", problems, "seed %d, %d failures tried, %d of them at the start" % (
        SEED, tried, unstarted))


# --- the collector ---

COLLECTOR_KINDS = ["malloc,calloc,realloc", "mmap", "open", "mkdir", "write", "read", "rename", "flock", "opendir",
                   "pthread_create"]
if SAN:
    COLLECTOR_KINDS = COLLECTOR_KINDS[2:]


def collector():
    app = [os.path.join(FAKE, "fake_app"), "basic", "7"]
    log, calls = os.path.join(scratch, "calls"), os.path.join(scratch, "fake-calls")
    both = dict(LD_PRELOAD=SHIM + ":" + PRELOAD, WARPSIGHT_CUPTI=FAKE, FAULT_FROM="libwarpsight",
                FAKE_CUPTI_LOG=calls)
    # The program itself gives nothing back at its end; the collector takes its memory by mmap.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    plain = run(folder("plain"), *app)
    problems, tried, whole = [], 0, 0
    for kind in COLLECTOR_KINDS:
        if os.path.exists(log):
            os.unlink(log)
        run(folder("counted"), *app, FAULT_CALLS=kind, FAULT_LOG=log, **both)
        with open(log) as f:
            total = sum(int(line.split()[1]) for line in f)
        for nth in points(total):
            for mode, error in ("once", ""), ("ever", ""), ("ever", "EDQUOT"):
                home = folder("faulty")
                start = time.monotonic()
                done = run(home, *app, FAULT_CALLS=kind, FAULT_NTH=str(nth), FAULT_MODE=mode, FAULT_ERRNO=error, **both)
                took = time.monotonic() - start
                tried += 1
                where = "%s %d of %d %s: " % (kind, nth, total, mode)
                if (done.returncode, done.stdout, done.stderr) != (plain.returncode, plain.stdout, plain.stderr):
                    problems.append(where + "the program noticed: %r" % (done,))
                if took > 4 * SLOW:
                    problems.append(where + "took %.1f s" % took)
                listed = run(home, PROGRAM, "report", "--json")
                if listed.returncode != 0:
                    continue # nothing came, and the report says so
                report = json.loads(listed.stdout)
                launches = sum(k["launches"] for k in report["kernels"])
                whole += launches == 6
                if launches != 6 and not report["warnings"]:
                    problems.append(where + "%d of 6 launches, and no warning" % launches)
    verdict("failing_calls_of_the_collector", problems, "seed %d, %d failures tried, %d runs complete all the same" % (
        SEED, tried, whole))


# --- warpsight run ---

def launcher():
    """The program runs, or is refused with a word and 125 to 127; what was recorded is in the report, or a word says why."""
    app = [os.path.join(FAKE, "fake_app"), "basic"]
    command = [PROGRAM, "run", *app]
    alone = run(folder("plain"), *app)
    problems, tried, refused = [], 0, 0
    for kind in KINDS:
        total = sum(count_calls(folder("counted"), kind, *command, sources=sources_of(kind),
                                WARPSIGHT_CUPTI=FAKE).values())
        for nth in points(total):
            for mode in "once", "ever":
                home = folder("faulty")
                where = "%s %d of %d %s: " % (kind, nth, total, mode)
                try:
                    done = faulty(home, kind, nth, mode, *command, sources=sources_of(kind), timeout=20,
                                  WARPSIGHT_CUPTI=FAKE)
                except subprocess.TimeoutExpired:
                    problems.append(where + "hangs")
                    continue
                tried += 1
                bad = crashed(done)
                if not bad and done.returncode in (125, 126, 127):
                    refused += 1
                    bad = "" if done.stderr.strip() else "refused without a word"
                elif not bad and done.returncode != alone.returncode:
                    bad = "status %d: %r" % (done.returncode, done.stderr[-200:])
                elif not bad and not done.stdout.startswith(alone.stdout):
                    bad = "the program's output is another"
                elif not bad:
                    listed = run(home, PROGRAM, "report", "--json")
                    report = json.loads(listed.stdout) if listed.returncode == 0 else {"kernels": [], "warnings": []}
                    launches = sum(k["launches"] for k in report["kernels"])
                    said = b"==WARPSIGHT== error" in done.stderr or b"==WARPSIGHT== warning" in done.stderr
                    # Where every write fails, nothing can be said either.
                    if launches != 6 and not report["warnings"] and not said and not ("write" in kind and mode == "ever"):
                        bad = "%d of 6 launches without a word: %r" % (launches, done.stderr[-200:])
                if bad:
                    problems.append(where + bad)
    verdict("failing_calls_of_run", problems, "seed %d, %d failures tried, %d of them refused" % (SEED, tried, refused))


def main():
    passing_read_errors()
    commands()
    daemon()
    if os.path.exists(os.path.join(FAKE, "fake_app")) and os.path.exists(os.path.join(B, "libwarpsight-cupti.so")):
        collector()
        launcher()
    else:
        print("SKIP failing_calls_of_the_collector_and_run: no CUPTI headers, so there is no collector library")
    finish()


main()
