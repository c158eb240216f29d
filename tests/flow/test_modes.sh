#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_modes.sh: one program counted both ways on an H200 (2026-12-01, adb0d2a), in tests/flow/modes:
#   h200-replay  run --replay-mode kernel ./warpsight-kernels all --seed 7               (tests/gpu/auto.sh)
#   h200-rotate  run --replay-mode rotate ./warpsight-kernels all --seed 7 --repeat 24   (tests/gpu/run.sh)
# Every deterministic count of every kernel is the same number in both.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="${B:-build}/warpsight"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/modes.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_DB="$scratch/db"
status=0
# check NAME STATUS DETAIL
check() { if [ "$2" -eq 0 ]; then echo "PASS $1"; else echo "FAIL $1: $3" && status=1; fi; }
# holds MODE NAME JQ: of the report of that session
holds() {
    jq -e "$3" "$scratch/$1.json" >/dev/null 2>&1
    check "$2" $? "not true: $3"
}
# same A B: the last line of the comparison stands in $scratch/out
same() { python3 tests/gpu/ncu.py same "$scratch/metrics.json" "$scratch/$1.json" "$scratch/$2.json" >"$scratch/out" 2>&1; }

"$W" list metrics --json >"$scratch/metrics.json"
id=0
for mode in replay rotate; do
    "$W" import "tests/flow/modes/h200-$mode.wscap" >/dev/null 2>"$scratch/err"
    check "the capture by $mode imports" $? "$(head -1 "$scratch/err")"
    "$W" report --json $((++id)) >"$scratch/$mode.json" 2>"$scratch/err"
done
holds replay "each kernel of the one was replayed once" '(.kernels | length) == 94 and ([.kernels[] | [.counting.mode, .launches, .profiled_launches]] | unique) == [["replay", 1, 1]]'
holds rotate "each of the other gave a live launch to each of 7 passes" '(.kernels | length) == 94 and ([.kernels[] | [.counting.mode, .counting.passes, .profiled_launches]] | unique) == [["rotate", 7, 7]]'
same replay rotate
check "every deterministic count is equal" $? "$(head -3 "$scratch/out")"
tail -1 "$scratch/out" | grep -qx '3578 equal, 0 unequal, 0 missing'
check "and all of them were compared" $? "$(tail -1 "$scratch/out")"

# The comparison can tell: one count more in one kernel, one kernel less.
jq '(.kernels[] | select(.name == "vec_add") | .metrics.gld_sectors.value) += 1' "$scratch/rotate.json" >"$scratch/more.json"
! same replay more && tail -1 "$scratch/out" | grep -qx '3577 equal, 1 unequal, 0 missing'
check "a count that is one too high is seen" $? "$(tail -1 "$scratch/out")"
jq '.kernels |= .[1:]' "$scratch/rotate.json" >"$scratch/less.json"
! same replay less && tail -1 "$scratch/out" | grep -q '0 unequal, 1 missing$'
check "a kernel that is not there is seen" $? "$(tail -1 "$scratch/out")"
exit $status
