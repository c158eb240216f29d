# SPDX-License-Identifier: MIT
"""loss.py: what is killed at any moment loses nothing that it should not. Run by test_loss.sh; common.py has the
environment. Each test prints one PASS or FAIL line, with the seed of its points and what was seen."""
import os
import signal
import subprocess
import time

from common import (B, EFFECTS, FAKE, POINTS, PRELOAD, PROGRAM, SEED, SLOW, WRITER, choose, content, copy_home,
                    count_calls, crashed, differs, environment, faulty, finish, folder, make_spool, now_ns, run,
                    scratch, sessions, verdict)

PROMISE_NS = 100_000_000  # design: SIGKILL loses at most the last 100 ms of completed records


def kill_program(home):
    """One program killed by SIGKILL at a random moment: (launches told by it, launches lost, late ones, problem)."""
    lines = os.path.join(home, "lines")
    env = environment(home, LD_PRELOAD=PRELOAD, WARPSIGHT_CUPTI=FAKE, WARPSIGHT_SET="trace")
    with open(lines, "wb") as out:
        program = subprocess.Popen([os.path.join(FAKE, "fake_app"), "steady"], env=env, stdout=out,
                                   stderr=subprocess.DEVNULL)
    while os.path.getsize(lines) == 0 and program.poll() is None:
        time.sleep(0.002)
    time.sleep(choose.uniform(0, 0.5))
    killed_ns = now_ns()
    program.send_signal(signal.SIGKILL)
    program.wait()
    with open(lines) as f:
        # A line that was cut by the end has no newline.
        told = [int(line) for line in f if line.endswith("\n")]
    # The machine may be busy with other things: what kept the program itself from running for so long kept our thread
    # from running, too.
    stall_ns = max([b - a for a, b in zip(told, told[1:])] + [killed_ns - told[-1], 0]) if told else 0
    found = sessions(home)
    stored = sum(s["launches"] for s in found)
    due = sum(1 for t in told if t < killed_ns - PROMISE_NS * SLOW - 2 * stall_ns)
    problem = ""
    if stored < due:
        problem = "%d launches stored, %d were complete 100 ms before (longest stall %.0f ms)" % (
            stored, due, stall_ns / 1e6)
    if stored > len(told) + 1:
        problem = "%d launches stored, only %d made" % (stored, len(told))
    if due and len(found) != 1:
        problem = "%d sessions" % len(found)
    last = told[stored - 1] if 0 < stored <= len(told) else told[0] if told else killed_ns
    return len(told), len(told) - stored, (killed_ns - last) / 1e6, problem


def killed_program_loses_no_more_than_the_last_100_ms():
    problems, told, lost, lag = [], 0, [], []
    for i in range(POINTS):
        n, missing, ms, problem = kill_program(folder("program"))
        told += n
        lost.append(max(missing, 0))
        lag.append(ms)
        if problem:
            problems.append("kill %d: %s" % (i, problem))
    lag.sort()
    verdict("killed_program_loses_no_more_than_the_last_100_ms", problems,
            "%d kills, %d launches told, lost at most %d a kill, %d in all; newest record stored: %.0f ms before the "
            "kill (median), %.0f ms (worst)" % (POINTS, told, max(lost), sum(lost), lag[len(lag) // 2], lag[-1]))


def killed_ingest_neither_loses_nor_doubles():
    """The CLI dies at a random system call, half of a write done or none of it; then, while it recovers, again."""
    source = folder("source")
    make_spool(source)
    wanted_home = copy_home(source, "wanted")
    calls = sum(count_calls(wanted_home, EFFECTS, PROGRAM, "list", "sessions").values())
    wanted = content(wanted_home)
    problems, again = [], 0
    for i in range(POINTS):
        home = copy_home(source, "killed")
        for turn in range(3):
            nth = choose.randint(1, calls if turn == 0 else 60)
            done = faulty(home, EFFECTS, nth, "kill", PROGRAM, "list", "sessions")
            if done.returncode != -signal.SIGKILL:
                if done.returncode != 0:
                    problems.append("point %d turn %d (call %d): status %d, %s" % (
                        i, turn, nth, done.returncode, done.stderr[-200:]))
                break
            again += turn > 0
        done = run(home, PROGRAM, "list", "sessions")
        if done.returncode != 0:
            problems.append("point %d: the last run ends with %d, %s" % (i, done.returncode, done.stderr[-200:]))
            continue
        found = content(home)
        if differs(found, wanted):
            problems.append("point %d: %s differ" % (i, differs(found, wanted)))
    verdict("killed_ingest_neither_loses_nor_doubles", problems,
            "seed %d, %d points of %d calls, %d further kills while it recovered" % (SEED, POINTS, calls, again))


def killed_import_neither_loses_nor_doubles():
    capture = "tests/flow/h200-torch.wscap"
    reference = folder("wanted")
    calls = sum(count_calls(reference, EFFECTS, PROGRAM, "import", capture).values())
    wanted = content(reference)
    problems = []
    for i in range(max(POINTS // 2, 1)):
        home = folder("killed")
        for turn in range(2):
            nth = choose.randint(1, calls if turn == 0 else 60)
            faulty(home, EFFECTS, nth, "kill", PROGRAM, "import", capture)
        done = run(home, PROGRAM, "import", capture)
        found = content(home)
        if done.returncode != 0 or differs(found, wanted):
            problems.append("point %d: status %d, %s differ" % (i, done.returncode, differs(found, wanted)))
    verdict("killed_import_neither_loses_nor_doubles", problems, "%d points of %d calls" % (POINTS // 2, calls))


def killed_daemon_neither_loses_nor_doubles():
    """The daemon dies at random moments while programs record, soon after its start included."""
    problems, kills, early, launches, writers = [], 0, 0, 0, 0
    while kills < POINTS:
        home = folder("daemon")
        spool = os.path.join(home, "spool")
        programs = [subprocess.Popen([WRITER, spool, "run%d" % i, "4000", "60"], stdout=subprocess.DEVNULL)
                    for i in range(2)]
        writers += 2
        for _ in range(10):
            daemon = subprocess.Popen([PROGRAM, "serve", "--no-token", "--listen", "127.0.0.1:0"],
                                      env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            soon = choose.random() < 0.3
            if not soon:
                daemon.stdout.readline()
            time.sleep(choose.uniform(0, 0.02 if soon else 0.15))
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()
            daemon.stdout.close()
            kills += 1
            early += soon
        if any(p.wait(60 * SLOW) != 0 for p in programs):
            problems.append("a program that recorded was disturbed")
        found = {s["name"]: s["launches"] for s in sessions(home)}
        launches += sum(found.values())
        if found != {"run0": 4000, "run1": 4000}:
            problems.append("after %d kills: %s" % (kills, found))
        facts = content(home)
        if facts["integrity"] != ["ok"] or facts["foreign"] or facts["loss"]:
            problems.append("after %d kills: %s" % (kills, {k: facts[k] for k in ("integrity", "foreign", "loss")}))
        if sum(n for _, kind, n in facts["activity"] if kind == 1) != 8000:
            problems.append("after %d kills: activity %s" % (kills, facts["activity"]))
    verdict("killed_daemon_neither_loses_nor_doubles", problems,
            "%d kills, %d of them within 20 ms of the start, %d programs, %d launches" % (kills, early, writers, launches))


def main():
    killed_ingest_neither_loses_nor_doubles()
    killed_import_neither_loses_nor_doubles()
    killed_daemon_neither_loses_nor_doubles()
    if os.path.exists(os.path.join(FAKE, "fake_app")) and os.path.exists(os.path.join(B, "libwarpsight-cupti.so")):
        killed_program_loses_no_more_than_the_last_100_ms()
    else:
        print("SKIP killed_program: no CUPTI headers, so there is no collector library")
    finish()


main()
