#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_foreign.sh: ten CUDA programs that know nothing of the model (foreign/*.cu), compiled as a reader would, run unmodified by
# `warpsight run --model`: each checks its own output against the CPU and prints the counts that it derives by hand
# ("expect KERNEL METRIC N"), which are held against the report. Slow (half a minute of nvcc): only with WS_SLOW=1.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
skip() { echo "SKIP foreign ($1)"; exit 77; }
[ -n "${WS_SLOW:-}" ] || skip "slow: WS_SLOW=1 runs it"
nvcc=${NVCC-$(command -v nvcc)}
[ -n "$nvcc" ] || skip "no nvcc"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/foreign.db WARPSIGHT_SPOOL=$scratch/spool
failed=0

# One line for each count that differs, and one with the sum; 1 when any differs or none was told.
compare() { # OUTPUT
    python3 -c '
import json, sys
text = open(sys.argv[1]).read()
kernels = json.loads(text[text.index("\n{") + 1:])["kernels"]
counts = differ = 0
for line in text.splitlines():
    if not line.startswith("expect "):
        continue
    name, metric, want = line[len("expect "):].rsplit(" ", 2)
    rows = [k for k in kernels if k["name"] == name]
    values = [1 if metric == "launches" else k["metrics"].get(metric, {}).get("value") for k in rows]
    got = None if not rows or None in values else sum(v * k["launches"] for v, k in zip(values, rows))
    counts += 1
    if got != int(want):
        differ += 1
        print(f"{name} {metric}: by hand {want}, modelled {got}")
print(f"{counts} counts, {differ} differ")
sys.exit(differ > 0 or counts == 0)' "$1"
}
for source in tests/cudart/foreign/*.cu; do
    program=$(basename "$source" .cu)
    if ! "$nvcc" -O2 -std=c++17 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" \
        -o "$scratch/$program" >"$scratch/err" 2>&1; then
        echo "FAIL foreign_${program}_compiles"
        head -20 "$scratch/err"
        failed=1
        continue
    fi
    "$B/warpsight" run --model --json "$scratch/$program" >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ $status -eq 0 ] && grep -qx PASS "$scratch/out"; then
        echo "PASS foreign_${program}_gives_the_right_output"
    else
        echo "FAIL foreign_${program}_gives_the_right_output (exit status $status)"
        grep -E '^FAIL| wrong$' "$scratch/out"
        head -20 "$scratch/err"
        failed=1
    fi
    if compare "$scratch/out" >"$scratch/counts" 2>&1; then
        echo "PASS foreign_${program}_counts_are_those_derived_by_hand ($(tail -1 "$scratch/counts"))"
    else
        echo "FAIL foreign_${program}_counts_are_those_derived_by_hand"
        tail -20 "$scratch/counts"
        failed=1
    fi
done
exit $failed
