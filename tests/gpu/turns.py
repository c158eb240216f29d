#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# turns.py: what idling costs and what a stop leaves: processes of gpu-loop that live side by side and measure in turn. The
# rates of processes that are started one after another differ by a tenth on a shared machine; so each kind has several,
# and what counts is the mean of their medians.  usage: turns.py BUNDLE PROCESSES ROUNDS     prints a table and checks
# Exit 1: a check did not hold.
import os
import statistics
import subprocess
import sys
import time

bundle, processes, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ours = {"LD_PRELOAD": os.path.join(bundle, "libwarpsight.so"), "WARPSIGHT_SET": "core"}
KINDS = [("plain", {}), ("idle", {**ours, "WARPSIGHT_START": "idle"}), ("started late, stopped", {**ours, "WARPSIGHT_START": "idle"}),
         ("started at once, stopped", ours)]
VALUES = ["iterations a second", "launch of a kernel, ns", "launch of the graph, ns"]


class Loop:
    def __init__(self, kind, environment):
        self.kind, self.values = kind, []
        self.process = subprocess.Popen([os.path.join(bundle, "gpu-loop"), "turns"], env={**os.environ, **environment},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.kind}: the program ended, status {self.process.wait()}")
        return line

    def ctl(self, *what):
        done = subprocess.run([os.path.join(bundle, "warpsight"), "ctl", *what, str(self.process.pid)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.kind}: ctl {what[0]}: {done.stderr.strip()}")

    def end(self):
        self.process.stdin.close()
        return self.process.stdout.read().strip(), self.process.wait()


loops = [Loop(kind, environment) for _ in range(processes) for kind, environment in KINDS]
for loop in loops:
    loop.ask("run")
for loop in loops:
    if "stopped" in loop.kind:
        if "late" in loop.kind:
            loop.ctl("start")
        loop.ask("run")
        loop.ctl("stop")
        loop.ask("run")
time.sleep(0.3)
for number in range(rounds):
    for loop in loops if number % 2 == 0 else reversed(loops):
        loop.values.append([float(word) for word in loop.ask("measure").split()])
ends = [loop.end() for loop in loops]


def medians(kind, i):
    return [statistics.median(v[i] for v in loop.values) for loop in loops if loop.kind == kind]


mean = {kind: [statistics.fmean(medians(kind, i)) for i in range(3)] for kind, _ in KINDS}
# Two standard errors of a difference, as the plain processes show them among themselves.
noise = [2 * statistics.stdev(medians("plain", i)) * (2 / processes) ** 0.5 / mean["plain"][i] for i in range(3)]
print("| process | " + " | ".join(f"{v} | of plain" for v in VALUES) + " |\n|---|" + "---|---|" * 3)
for kind, _ in KINDS:
    print(f"| {kind} | " + " | ".join(f"{mean[kind][i]:.0f} | {mean[kind][i] / mean['plain'][i]:.3f}" for i in range(3)) + " |")
print(f"\nMeans of {processes} processes each, medians of {rounds} turns; two standard errors of a ratio: "
      + ", ".join(f"{n:.1%}" for n in noise) + ".\n")
failures = 0


def check(what, is_good, detail):
    global failures
    failures += not is_good
    print(f"- {'ok' if is_good else '**FAILED**'}: {what} ({detail})")


def near(kind, i):
    ratio, bound = mean[kind][i] / mean["plain"][i], max(0.01, noise[i])
    return (1 / ratio if i == 0 else ratio) <= 1 + bound, f"{ratio:.3f} of plain, bound {bound:.1%}"


check("idle costs nothing measurable: iterations", *near("idle", 0))
check("idle costs nothing measurable: launches", *near("idle", 1))
# A subscriber makes it four times as long: no noise comes near.
graph = mean["idle"][2] / mean["plain"][2]
check("idle: nobody subscribed to CUPTI, which a launch of a graph shows", graph < 1.5, f"{graph:.2f} of plain")
for kind in ("started late, stopped", "started at once, stopped"):
    check(f"{kind}: launches of kernels are as fast as if never started", *near(kind, 1))
check("the same result in all, and status 0", len(set(ends)) == 1 and ends[0][1] == 0, ends[0][0])
sys.exit(failures > 0)
