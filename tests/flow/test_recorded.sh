#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_recorded.sh: the recorded H200 session against the known answers: every .expect line of the reference kernels
# (values, rules that must fire, rules that must stay quiet), and the numbers the teaching texts are about.
set -u
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/recorded-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/db WARPSIGHT_SPOOL=$scratch/spool
ws=$B/warpsight
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2"; cat "$scratch/log"; fi; }

"$ws" import tests/flow/h200-kernels.wscap >"$scratch/log" 2>&1
result $? "recorded H200 session imports"
"$ws" kernels verify h200-kernels >"$scratch/log" 2>&1
result $? "every expectation of the reference kernels holds in the recorded session"
grep -q ' 0 broken' "$scratch/log" && [ "$(grep -oE '[0-9]+ expectations hold' "$scratch/log" | grep -oE '[0-9]+')" -ge 740 ]
result $? "at least 740 expectations were judged"
"$ws" report --json h200-kernels >"$scratch/report.json" 2>"$scratch/log"
python3 - "$scratch/report.json" >"$scratch/log" 2>&1 <<'PY'
import json
import sys

kernels = {k["name"]: k for k in json.load(open(sys.argv[1]))["kernels"]}
want = [
    ("transpose_tile<32>", "shared_ld_wavefronts_per_request", 32), ("transpose_tile<32>", "shared_bank_conflicts", 1015808),
    ("transpose_tile<33>", "shared_ld_wavefronts_per_request", 1), ("transpose_tile<33>", "shared_bank_conflicts", 0),
    ("mat_add_xrow", "gld_sectors_per_request", 32), ("mat_add_xcol", "gld_sectors_per_request", 4),
    ("stride_read<1>", "gld_sectors_per_request", 4), ("stride_read<2>", "gld_sectors_per_request", 8),
    ("stride_read<4>", "gld_sectors_per_request", 16), ("stride_read<8>", "gld_sectors_per_request", 32),
]
for name, key, number in want:
    got = kernels[name]["metrics"][key]["value"]
    assert got == number, (name, key, got)
assert round(kernels["offset_copy<1>"]["metrics"]["gld_sectors_per_request"]["value"], 2) == 5.0
assert abs(kernels["diverge_parity"]["metrics"]["threads_per_instruction"]["value"] - 16.1) < 0.05
assert all(k["occupancy"]["limiter"] for k in kernels.values())
PY
result $? "the numbers of the teaching texts are in the report"
sqlite3 "$WARPSIGHT_DB" "UPDATE kernel SET mangled = 'k' || id" 2>"$scratch/log"
"$ws" report --json h200-kernels >"$scratch/renamed.json" 2>"$scratch/log"
python3 - "$scratch/report.json" "$scratch/renamed.json" >"$scratch/log" 2>&1 <<'PY'
import json
import sys

a, b = ({k["id"]: [(f["rule"], f["gain"]) for f in k["findings"]] for k in json.load(open(p))["kernels"]} for p in sys.argv[1:])
assert a and a == b
PY
result $? "rules judge numbers: every kernel renamed, the same findings"
