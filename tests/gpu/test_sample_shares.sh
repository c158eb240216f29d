#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_sample_shares.sh: samples.py on what an H200 gave on 2026-12-01: the transpose of 1024 x 1024 floats with bank conflicts,
# 300 launches under `run --stalls pc` (recorded/h200-samples.json: the fields that are read) and two under
# `ncu --section SourceCounters --page source --print-source sass --csv` (its first five columns; ncu lists each twice).
set -u
cd "$(dirname "$0")" || exit 1
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/gpu-samples-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
failed=0
# check NAME STATUS PATTERN ARGUMENT…: samples.py ends with STATUS and prints a line like PATTERN
check() {
    local name=$1 want=$2 pattern=$3 status
    shift 3
    python3 samples.py "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ $status -eq "$want" ] && grep -qE "$pattern" "$scratch/out"; then echo "PASS $name"; else
        echo "FAIL $name: status $status"
        tail -3 "$scratch/out" "$scratch/err"
        failed=1
    fi
}
ours=recorded/h200-samples.json ncu=recorded/h200-ncu-samples.csv
check "the share of a line in both" 0 '^line 16: ours 33\.6 %, Nsight Compute 43\.7 %; most at one instruction: 7\.9 points \(LDS' $ours $ncu 16 8
check "an instruction in both" 0 '^\| 16 \| `STG\.E desc\[UR6\]\[R2\.64\], R9` \| 22\.6 \| 21\.8 \|$' $ours $ncu 16 8
check "more than the bound" 1 'most at one instruction: 7\.9' $ours $ncu 16 7.5
sed '/"0x7fad837a01c0"/s/0x7fad837a01c0/0x7fad837a0fc0/' $ncu >"$scratch/other.csv"
check "other code" 2 '^not the same code' $ours "$scratch/other.csv" 16 8
head -2 $ncu >"$scratch/empty.csv"
check "no instruction" 2 '^not the same code: 0 instructions' $ours "$scratch/empty.csv" 16 8
sed -E 's/^("0x[0-9a-f]+","[^"]*").*/\1,"0","0","0"/' $ncu >"$scratch/none.csv"
check "no sample" 2 '^no samples' $ours "$scratch/none.csv" 16 8
exit $failed
