#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# torch_loop.py: PyTorch loops whose time with and without us is compared: torch_loop.py train|reduce ITERATIONS
#   train    a small model, forward, backward, SGD: some 30 launches an iteration
#   reduce   torch.distributed.all_reduce of 4 MB after a matrix product, NCCL; under torchrun as many ranks as it starts,
#            else one
# Prints a number that must be the same in every run; TORCH_LOOP_TIME=FILE: seconds of the loop, without its first 20 rounds;
# TORCH_LOOP_PROFILER=1: under torch.profiler, of CUDA alone.
import contextlib
import os
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


def main(what, iterations):
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
