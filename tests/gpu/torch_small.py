# SPDX-License-Identifier: MIT
# torch_small.py: a small PyTorch program for run.sh: matmul, gelu, layer norm, softmax.
# usage: torch_small.py [iterations]; prints a checksum, the same in every run.
import sys

import torch

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 20
torch.manual_seed(7)
x = torch.randn(2048, 2048, device="cuda")
norm = torch.nn.LayerNorm(2048).cuda()
with torch.no_grad():
    for _ in range(iterations):
        y = torch.nn.functional.gelu(x @ x)
        y = torch.softmax(norm(y), -1)
torch.cuda.synchronize()
print(f"torch_small {iterations} {y.double().sum().item():.6f}")
