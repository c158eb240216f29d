# SPDX-License-Identifier: MIT
"""common.py: what the tests of this folder share: running the product under shim.so, copies of a spool, the content
of a database. Environment: B (build folder), FAULT_POINTS (random points of a test, 20), FAULT_SEED (the
same seed chooses the same points; 0 draws one; it is printed)."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

B = os.path.abspath(os.environ.get("B", "build"))
SAN = os.path.basename(B) if "san-" in B else ""
SLOW = 4 if SAN else 1
POINTS = int(os.environ.get("FAULT_POINTS", "20"))
SEED = int(os.environ.get("FAULT_SEED", "20261201")) or random.SystemRandom().randrange(1, 10**6)
PROGRAM = os.path.join(B, "warpsight")
WRITER = os.path.join(B, "web", "spool_writer")
FAKE = os.path.join(B, "fake")
PRELOAD = os.path.join(B, "libwarpsight.so")
SHIM = os.path.join(B, "faults", "shim.so")
# What changes the world outside of the process.
EFFECTS = "open,open64,mkdir,write,pwrite,pwrite64,fsync,fdatasync,ftruncate,ftruncate64,rename,unlink"
scratch = tempfile.mkdtemp(dir=os.environ.get("WS_SCRATCH"))
choose = random.Random(SEED)
failures = 0


def folder(name):
    """An empty folder of the scratch."""
    path = os.path.join(scratch, name)
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    return path


def environment(home, **more):
    env = dict(os.environ, WARPSIGHT_DB=os.path.join(home, "db"), WARPSIGHT_SPOOL=os.path.join(home, "spool"), **more)
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:allocator_may_return_null=1"
    return env


def run(home, *command, timeout=60, **env):
    return subprocess.run(command, env=environment(home, **env), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=timeout * SLOW)


def faulty(home, calls, nth, mode, *command, sources="", log="", timeout=60, **env):
    """The command with the shim: see shim.c."""
    more = dict(LD_PRELOAD=SHIM, FAULT_CALLS=calls, FAULT_NTH=str(nth), FAULT_MODE=mode, FAULT_FROM=sources, **env)
    if log:
        more["FAULT_LOG"] = log
    return run(home, *command, timeout=timeout, **more)


def count_calls(home, calls, *command, sources="", **env):
    """{call: how often}, of an undisturbed run."""
    log = os.path.join(scratch, "calls")
    if os.path.exists(log):
        os.unlink(log)
    done = faulty(home, calls, 0, "once", *command, sources=sources, log=log, **env)
    assert done.returncode == 0, done
    with open(log) as f:
        return {line.split()[0]: int(line.split()[1]) for line in f}


def make_spool(home, tokens=3, launches=3000):
    for i in range(tokens):
        subprocess.run([WRITER, os.path.join(home, "spool"), "run%d" % i, str(launches)], check=True)


def copy_home(source, name):
    path = os.path.join(scratch, name)
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(source, path)
    return path


def content(home):
    """What a reader can learn from the database, without ids, and what SQLite says of the file."""
    db = sqlite3.connect(os.path.join(home, "db"))
    db.text_factory = bytes  # names are foreign bytes
    one = lambda sql: db.execute(sql).fetchall()
    facts = {
        "integrity": [str(r[0], "utf-8") for r in one("PRAGMA integrity_check")],
        "foreign": one("PRAGMA foreign_key_check"),
        "launches": one("SELECT s.token, k.mangled, k.launches, k.timed_launches, k.total_ns FROM kernel k "
                        "JOIN session s ON s.id = k.session_id ORDER BY 1, 2"),
        "activity": one("SELECT s.token, a.kind, sum(a.n) FROM activity a JOIN session s ON s.id = a.session_id "
                        "GROUP BY 1, 2 ORDER BY 1, 2"),
        "metrics": one("SELECT s.token, count(*), total(m.value) FROM metric m JOIN profile p ON p.id = m.profile_id "
                       "JOIN session s ON s.id = p.session_id GROUP BY 1 ORDER BY 1"),
        "loss": one("SELECT kind, reason, count FROM loss ORDER BY 1, 2"),
        "ended": one("SELECT agent_id, ended_ns FROM process ORDER BY 1"),
    }
    db.close()
    return facts


def sessions(home):
    done = run(home, PROGRAM, "list", "sessions", "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)["sessions"]


def differs(found, wanted):
    return [k for k in wanted if found[k] != wanted[k]]


def crashed(done):
    """Why this end of a process is none that may be, or ""."""
    text = done.stderr.decode(errors="replace")
    if "Sanitizer" in text:
        return text[text.index("Sanitizer") - 20:][:1500]
    if done.returncode < 0:
        return "signal %d: %s" % (-done.returncode, text[-300:])
    return ""


def verdict(name, problems, note=""):
    global failures
    if problems:
        failures += 1
        print("FAIL %s (seed %d): %d problems; %s" % (name, SEED, len(problems), note))
        print("\n".join("    " + p for p in problems[:8]))
    else:
        print("PASS %s%s" % (name, " (%s)" % note if note else ""))
    sys.stdout.flush()


def finish():
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if failures else 0)


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_REALTIME)
