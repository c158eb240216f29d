#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# recipes.py: programs as PyTorch users write them, for recipes.sh: recipes.py loop|nvtx|triton|compile|ddp
# Prints one number that must be the same with and without WarpSight.
import sys

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton: # on the module's level: Triton looks up the names of a kernel there

    @triton.jit
    def warpsight_add(a, b, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


def loop():
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    x, y = torch.randn(256, 512, device="cuda"), torch.randint(0, 10, (256,), device="cuda")
    step = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        step.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        step.step()
    return loss.item()


def nvtx():
    x = torch.ones(1 << 20, device="cuda")
    for i in range(4):
        torch.cuda.nvtx.range_push(f"step {i}")
        x = x * 2
        torch.cuda.nvtx.range_pop()
    return x.sum().item()


def triton_kernel():
    n = 1 << 20
    a, b = torch.ones(n, device="cuda"), torch.full((n,), 2.0, device="cuda")
    out = torch.empty_like(a)
    for _ in range(5):
        warpsight_add[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)
    return out.sum().item()


def compiled():
    @torch.compile(mode="reduce-overhead")
    def f(x):
        return torch.nn.functional.gelu(x * 2 + 1).sum()

    x = torch.linspace(0, 1, 1 << 16, device="cuda")
    for _ in range(6):
        out = f(x).clone()
    return out.item()


def ddp():
    import torch.distributed as dist

    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())
    x = torch.full((1 << 16,), float(dist.get_rank() + 1), device="cuda")
    for _ in range(5):
        dist.all_reduce(x)
        x = x / dist.get_world_size()
    out = x.sum().item()
    dist.destroy_process_group()
    return out


if __name__ == "__main__":
    result = {"loop": loop, "nvtx": nvtx, "triton": triton_kernel, "compile": compiled, "ddp": ddp}[sys.argv[1]]()
    torch.cuda.synchronize()
    print(f"{result:.4f}")
