#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_calibrate.sh: the calibration program compiles, its modelled half runs without a GPU, and its table says what
# differs. What it measures only a GPU tells.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
NVCC=${NVCC-$(command -v nvcc)}
[ -n "$NVCC" ] || { echo "SKIP calibrate (no nvcc)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>"$scratch/err"; then echo "PASS $name"; else
        echo "FAIL $name"
        head -20 "$scratch/out" "$scratch/err"
        failed=1
    fi
}

compiles() {
    mkdir "$scratch/bundle" && ln -s "$PWD/$B/warpsight" "$scratch/bundle/warpsight" || return 1
    "$NVCC" -O2 -std=c++17 -lineinfo --compiler-options -Wall,-Wextra -Werror all-warnings -arch=sm_90 -cudart static \
        tests/gpu/calibrate.cu -o "$scratch/bundle/gpu-calibrate" &&
        "$NVCC" -O2 -std=c++17 -lineinfo -arch=sm_90 -ptx tests/gpu/calibrate.cu -o "$scratch/bundle/gpu-calibrate.ptx"
}
check calibration_program_compiles compiles

modelled_half_runs() {
    OUT=$scratch/cal WS_MODEL_ONLY=1 tests/gpu/calibrate.sh "$scratch/bundle" || return 1
    grep -qF '| `shared_ld<16,6>` | `shared_ld_wavefronts` | 8,192 | - |  |' "$scratch/cal/calibrate.md" || return 1
    grep -qF '| `global_ld<16,0,16>` | `gld_sectors` | 8,704 | - |  |' "$scratch/cal/calibrate.md" || return 1
    grep -qF '| `async_copy<16,1>` | `async_ld_sectors` | 8,192 | - |  |' "$scratch/cal/calibrate.md" || return 1
    # 64 warps, 8 products each of 16 by 8 by 16, a multiply-add is two
    grep -qF '| `product<0>: f16 into f32` | `tensor_ops_fp16` | 2,097,152 | - |  |' "$scratch/cal/calibrate.md" || return 1
    grep -qF '| `store_matrix<4>` | `matrix_st_requests` | 512 | - |  |' "$scratch/cal/calibrate.md" || return 1
    ! grep -q 'not modelled' "$scratch/cal/calibrate.md" || return 1
    [ "$("$scratch/bundle/gpu-calibrate" --spec | grep -c '"kernel"')" -eq 315 ] # as calibrate.py expects
}
check modelled_half_runs_without_a_gpu modelled_half_runs

table_says_what_differs() {
    python3 - "$scratch/cal/modelled.json" "$scratch/measured.json" <<'P' || return 1
import json, sys
r = json.load(open(sys.argv[1]))
for k in r["kernels"]:
    if k["name"].replace(" ", "") == "shared_ld<8,0>":
        k["metrics"]["shared_ld_wavefronts"]["value"] *= 2
json.dump(r, open(sys.argv[2], "w"))
P
    python3 tests/gpu/calibrate.py "$scratch/cal/modelled.json" "$scratch/measured.json" >"$scratch/table" || return 1
    grep -qF '| `shared_ld<8,0>` | `shared_ld_wavefronts` | 1,024 | 2,048 | ×2 |' "$scratch/table" &&
        grep -qF '| `shared_ld<8,1>` | `shared_ld_wavefronts` | 512 | 512 | = |' "$scratch/table" &&
        grep -qE '^315 kernels; [0-9]+ of [0-9]+ counts equal, ' "$scratch/table" || return 1
    python3 - "$scratch/measured.json" <<'P' || return 1
import json, sys
r = json.load(open(sys.argv[1]))
del r["kernels"][0]
json.dump(r, open(sys.argv[1], "w"))
P
    python3 tests/gpu/calibrate.py "$scratch/cal/modelled.json" "$scratch/measured.json" >"$scratch/table"
    [ $? -eq 1 ] # a kernel that was not measured
}
check table_says_what_differs table_says_what_differs
exit $failed
