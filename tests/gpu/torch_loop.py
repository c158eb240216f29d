#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# torch_loop.py: PyTorch loops whose time with and without us is compared: torch_loop.py train|reduce|turns ITERATIONS
#   train    a small model, forward, backward, SGD: some 30 launches an iteration
#   reduce   torch.distributed.all_reduce of 4 MB after a matrix product, NCCL; under torchrun as many ranks as it starts,
#            else one
#   turns    train under `run --idle`, WS_CTL=path of warpsight; one process, since from process to process a loop that the host
#            bounds differs by more than what is looked for. ITERATIONS with the counters that the run asks for; then turns of
#            250 without, traced, and with every launch looked at but none counted, 6 times. Prints JSON: "added", seconds that
#            counting added to the first: all time above its median iteration, of those iterations that take twice as long
#            and of the next 5 of each; "spent", the same as a part of the loop without it; "traced" and "watched" over plain,
#            medians of the turns; "starts" of counting, each of which sets counters up
# Else prints a number that must be the same in every run; TORCH_LOOP_TIME=FILE: seconds of the loop, without its first 20
# rounds; TORCH_LOOP_PROFILER=1: under torch.profiler, of CUDA alone.
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

import torch


def train():
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    x, y = torch.randn(256, 512, device="cuda"), torch.randint(0, 10, (256,), device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def reduce():
    import torch.distributed as dist

    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29577")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    x = torch.ones(1024, 1024, device="cuda")

    def step():
        y = x @ x
        dist.all_reduce(y)
        return y[0, 0]

    return step


def tell(*words):
    """warpsight ctl, as from another terminal."""
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}
    subprocess.run([os.environ["WS_CTL"], "ctl", *words[:1], str(os.getpid()), *words[1:]], env=environment, check=True, stdout=sys.stderr)


def timed(step, iterations, order=None):
    """Seconds of each iteration, and of all with what is queued at the end; the first ones meet the context anew."""
    torch.cuda.synchronize()
    if order:
        tell(*order)
    took = []
    start = at = time.perf_counter()
    for _ in range(iterations):
        step()
        now = time.perf_counter()
        took.append(now - at)
        at = now
    torch.cuda.synchronize()
    return took, time.perf_counter() - start


def turns(iterations):
    step = train()
    timed(step, 100)
    took, total = timed(step, iterations, ["start", "--set", "core,memory,stalls"])
    usual = statistics.median(took)
    added, near = 0.0, 0
    for t in took:
        near = 6 if t > 2 * usual else near - 1
        if near > 0:
            added += t - usual
    rates = {"traced": [], "watched": []}
    for _ in range(6):
        seconds = {}
        for name, order in [("plain", ["stop"]), ("traced", ["start", "--set", "trace"]), ("again", ["stop"]),
                            ("watched", ["start", "--set", "core,memory,stalls", "--launch-skip", "1000000000"])]:
            timed(step, 20, order)
            seconds[name] = sum(timed(step, 250)[0])
        for name in rates:
            rates[name].append(2 * seconds[name] / (seconds["plain"] + seconds["again"]))
    print(json.dumps({"iteration": usual, "added": added, "spent": added / (total - added), "starts": 1 + len(rates["watched"]), **{name: statistics.median(v) for name, v in rates.items()}}))


def main(what, iterations):
    if what == "turns":
        turns(iterations)
        return
    step = {"train": train, "reduce": reduce}[what]()
    for _ in range(20):
        last = step()
    torch.cuda.synchronize()
    profiler = contextlib.nullcontext()
    if os.environ.get("TORCH_LOOP_PROFILER"):
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    with profiler:
        start = time.perf_counter()
        for _ in range(iterations):
            last = step()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
    if os.environ.get("RANK", "0") == "0":
        print(f"{what} {iterations} {last.item():.6f}")
        if os.environ.get("TORCH_LOOP_TIME"):
            with open(os.environ["TORCH_LOOP_TIME"], "w", encoding="ascii") as f:
                f.write(f"{took:.6f}\n")
    if what == "reduce":
        torch.distributed.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]))
