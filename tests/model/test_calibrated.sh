#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_calibrated.sh: the model of today against what an H200 counted of gpu-calibrate, without GPU and nvcc: PTX, launches
# and measured counts lie in tests/gpu/results. Every difference stands in tests/gpu/calibrate.known with its reason.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
W=$PWD/$B/warpsight
results=$PWD/tests/gpu/results/2026-12-01-h200-calibrate
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/db WARPSIGHT_SPOOL=$scratch/spool
failed=0
check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>"$scratch/err"; then echo "PASS $name"; else
        echo "FAIL $name"
        tail -n 20 "$scratch/out" "$scratch/err"
        failed=1
    fi
}
table() { python3 tests/gpu/calibrate.py "$scratch/modelled.json" "$@"; }

gzip -dc "$results.ptx.gz" >"$scratch/gpu-calibrate.ptx" && gzip -dc "$results.spec.json.gz" >"$scratch/spec.json" || exit 1
"$W" model --spec "$scratch/spec.json" --ptx "$scratch/gpu-calibrate.ptx" --json -q >"$scratch/modelled.json" 2>"$scratch/refused" || cat "$scratch/refused"

as_measured() {
    table "$results.json.gz" --known tests/gpu/calibrate.known >"$scratch/table" || return 1
    grep -qx '315 kernels; 729 of 807 counts equal, 60 more a bound that holds' "$scratch/table" || { tail -1 "$scratch/table"; return 1; }
    # the table of the results is this one
    diff <(grep '^|' "$scratch/table") <(grep '^|' "$results.md")
}
check every_count_is_as_measured_or_known_with_its_reason as_measured

finds_what_is_new() {
    sed '/shared_atomic_of<7,0>/d' tests/gpu/calibrate.known >"$scratch/fewer"
    table "$results.json.gz" --known "$scratch/fewer" >/dev/null 2>"$scratch/found" && return 1
    grep -q 'shared_atomic_of<7,0> fp32_add: modelled 30,720, measured 28,672: a difference that is not known' "$scratch/found" || return 1
    printf 'shared_ld<8,0>\tshared_ld_wavefronts\t1\t2\tgone\n' | cat tests/gpu/calibrate.known - >"$scratch/more"
    table "$results.json.gz" --known "$scratch/more" >/dev/null 2>"$scratch/found" && return 1
    grep -q 'shared_ld<8,0> shared_ld_wavefronts: equal now, or no more there' "$scratch/found"
}
check differences_that_are_new_or_gone_are_found finds_what_is_new
exit $failed
