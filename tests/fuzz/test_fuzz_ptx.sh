#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_fuzz_ptx.sh: mutated PTX through the model: no crash, no hang, no read outside (a sanitizer build sees those).
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
[ -x "$B/tests/fuzz_ptx" ] || { echo "SKIP hostile_ptx_is_harmless"; echo "skip: $B/tests/fuzz_ptx was not built"; exit 77; }
timeout 300 "$B/tests/fuzz_ptx" kernels/ptx/{vec_add,reduce_tree,transpose,diverge,atomic_sum}.ptx || {
    echo "FAIL hostile_ptx_is_harmless (exit status $?)"
    exit 1
}
