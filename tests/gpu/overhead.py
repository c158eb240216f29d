#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# overhead.py: programs with and without us, in turn: wall time of the whole process, and of the loop where the program
# tells it.
#   overhead.py table BUNDLE SECONDS ROUNDS     the table of modes by programs as markdown, within so many seconds
#   overhead.py pair BUNDLE ROUNDS "OPTIONS" PROGRAM…   plain, traced and with OPTIONS: one line of JSON, with what the report says of the cost
# A cell that the time did not suffice for says so. Start-up is in the wall times: the longer a run the smaller its part.
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from ncu import names

MODES = [("trace", "--set trace"), ("trace + PM sampling", "--set trace --timeline-metrics default"), ("PC sampling", "--stalls pc"),
         ("rotate, 5 %", "--replay-mode rotate --every 20 --max-overhead 5%"), ("auto", ""), ("replay", "--replay-mode kernel")]
TORCH, NCU = "torch.profiler", "Nsight Compute, as many launches as replay counted"


def run(command, scratch, environment):
    times = os.path.join(scratch, "loop")
    if os.path.exists(times):
        os.remove(times)
    start = time.perf_counter()
    done = subprocess.run(command, env={**environment, "TORCH_LOOP_TIME": times}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False)
    wall = time.perf_counter() - start
    loop = float(open(times, encoding="ascii").read()) if os.path.exists(times) else None
    return done, wall, loop


def environment_in(scratch):
    return {**os.environ, "WARPSIGHT_DB": os.path.join(scratch, "db"), "WARPSIGHT_SPOOL": os.path.join(scratch, "spool")}


def with_us(bundle, options, program, scratch):
    name = os.path.join(scratch, "run.wscap")
    return [os.path.join(bundle, "warpsight"), "run", "-f", "-o", name, *shlex.split(options), "--", *program]


def programs(bundle, gpus):
    cases = os.path.join(bundle, "gpu-cases")
    here = os.path.dirname(os.path.abspath(__file__))
    loop = [sys.executable, os.path.join(here, "torch_loop.py")]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={gpus}"] if gpus > 1 else [sys.executable]
    return [("PyTorch training loop, 2,000 iterations", [*loop, "train", "2000"]),
            ("launch storm, 400,000 launches", [cases, "launches", "400000"]),
            ("8 GiB kernel, 100 launches", [cases, "big", "8", "100"]),
            ("CUDA graph of 10 nodes, 20,000 launches", [cases, "graph", "20000"]),
            (f"NCCL all-reduce loop, {gpus} GPU{'s' if gpus > 1 else ''}, 1,000 rounds",
             [*torchrun, os.path.join(here, "torch_loop.py"), "reduce", "1000"])]


def profiled(bundle, environment):
    """Launches that our last run counted: Nsight Compute is given as many."""
    report = subprocess.run([os.path.join(bundle, "warpsight"), "report", "--json"], env=environment, capture_output=True, check=False)
    return json.loads(report.stdout).get("counting", {}).get("launches", 0)


def others(bundle, program, environment):
    """(column, command, environment) of the other profilers that can do the same on a PyTorch loop within minutes."""
    if "train" not in program:
        return []
    count = profiled(bundle, environment)
    metrics = subprocess.run([os.path.join(bundle, "warpsight"), "list", "metrics", "--json"], env=environment, capture_output=True, check=True)
    core = names({m["key"]: m for m in json.loads(metrics.stdout)["metrics"]}, ["core"])
    ncu = ["ncu", "--clock-control", "none", "--cache-control", "none", "-c", str(count), "--metrics", core, *program]
    return [(TORCH, program, {**environment, "TORCH_LOOP_PROFILER": "1"})] + ([(NCU, ncu, environment)] if count else [])


def one_round(bundle, title, program, scratch, environment, end, row):
    """A plain run and one under each mode; False: the program itself, or one of them, failed."""
    done, wall, loop = run(program, scratch, environment)
    if done.returncode != 0:
        sys.stderr.write(f"{title}: {done.stderr.decode(errors='replace')[-300:]}\n")
        return False
    row["plain"].append(wall)
    good = True
    modes = [(m, lambda o=o: (with_us(bundle, o, program, scratch), environment)) for m, o in MODES]
    modes += [(m, lambda m=m: next(((c, e) for n, c, e in others(bundle, program, environment) if n == m), None)) for m in (TORCH, NCU)]
    for mode, command in modes:
        if time.monotonic() > end or (made := command()) is None:
            continue
        done, wall_us, loop_us = run(made[0], scratch, made[1])
        if done.returncode != 0:
            good = False
            sys.stderr.write(f"{title}, {mode}: {done.stderr.decode(errors='replace')[-300:]}\n")
            continue
        row[mode].append((wall_us / wall, loop_us / loop if loop and loop_us else None))
    return good


def text_of(cells):
    if not cells:
        return "not measured"
    loops = [l for _, l in cells if l]
    return f"{statistics.median(w for w, _ in cells):.3f}" + (f" (loop {statistics.median(loops):.3f})" if loops else "")


def table(bundle, seconds, rounds):
    gpus = min(2, subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.count("GPU "))
    end = time.monotonic() + seconds
    columns = [m for m, _ in MODES] + [TORCH, NCU]
    rows = [(title, program, {"plain": [], **{m: [] for m in columns}}) for title, program in programs(bundle, gpus)]
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        environment = environment_in(scratch)
        # Every program once before any twice: what the time does not suffice for is a repetition.
        for _ in range(rounds):
            for title, program, row in rows:
                if time.monotonic() < end:
                    failures += not one_round(bundle, title, program, scratch, environment, end, row)
    print("| program | runs | plain s | " + " | ".join(columns) + " |")
    print("|---|---|---|" + "---|" * len(columns))
    for title, _, row in rows:
        first = f"{statistics.median(row['plain']):.2f}" if row["plain"] else "not measured"
        print(f"| {title} | {len(row['plain'])} | {first} | " + " | ".join(text_of(row[m]) for m in columns) + " |", flush=True)
    return 1 if failures else 0


def pair(bundle, rounds, options, program):
    """The program plain, traced, and with OPTIONS, in turn. Medians; "trace" and "loop" are of the program's own loop."""
    walls, loops, names = {}, {}, ("plain", "trace", "with")
    with tempfile.TemporaryDirectory() as scratch:
        environment = environment_in(scratch)
        for name in names * rounds:
            command = program if name == "plain" else with_us(bundle, "--set trace" if name == "trace" else options, program, scratch)
            done, wall, loop = run(command, scratch, environment)
            if done.returncode != 0:
                print(f"{name}: status {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
                return 1
            walls.setdefault(name, []).append(wall)
            loops.setdefault(name, []).append(loop or 0)
        report = subprocess.run([os.path.join(bundle, "warpsight"), "report", "--json"], env=environment, capture_output=True, check=False)
        counting = json.loads(report.stdout)["counting"]
    wall, loop = ({name: statistics.median(v) for name, v in times.items()} for times in (walls, loops))
    answer = {"plain": wall["plain"], "ratio": wall["with"] / wall["plain"], "added": wall["with"] - wall["plain"],
              "loop": loop["with"] / loop["plain"] if loop["plain"] else None,
              "trace": loop["trace"] / loop["plain"] if loop["plain"] else None, "counting": counting}
    print(json.dumps(answer))
    return 0


if sys.argv[1] == "table":
    sys.exit(table(os.path.abspath(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
sys.exit(pair(os.path.abspath(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:]))
