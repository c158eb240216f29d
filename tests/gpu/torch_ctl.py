# SPDX-License-Identifier: MIT
# torch_ctl.py: PyTorch for ctl.sh: work outside, inside cudaProfilerStart/Stop, inside an NVTX range; or a rank.
# usage: torch_ctl.py ranges | torchrun … torch_ctl.py rank     prints a checksum
import os
import sys

import torch

torch.manual_seed(7)
x = torch.randn(1024, 1024, device="cuda:0")
if sys.argv[1] == "rank":  # both ranks on one GPU; no collective: NCCL refuses that
    for _ in range(20 * (1 + int(os.environ["RANK"]))):
        x = torch.softmax(x @ x, -1)
    torch.cuda.synchronize()
    print(f"rank {os.environ['RANK']} done", flush=True)
else:
    y = torch.tanh(x)  # outside of all
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    y = torch.softmax(y, -1)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.range_push("inner")
    y = torch.erf(y)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    y = torch.tanh(y)
    print(f"checksum {y.double().sum().item():.6f}")
