#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_sampled.sh: the PC samples recorded on an H200: `run --stalls pc` of the transpose with bank conflicts
# (transpose_tile<32>) and without (transpose_tile<33>), 300 launches each. Where they lie, by line and instruction, with
# no GPU and no CUDA toolkit; every sample is accounted for.
set -u
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/sampled-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/db WARPSIGHT_SPOOL=$scratch/spool
ws=${B:-build}/warpsight
failed=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2" && cat "$scratch/log" && failed=1; fi; }

"$ws" import tests/flow/h200-sampling.wscap >"$scratch/log" 2>&1
result $? "recorded samples import"
"$ws" report --json >"$scratch/report.json" 2>"$scratch/log" &&
    for pitch in 32 33; do "$ws" report --source "transpose_tile<$pitch>" --json >"$scratch/$pitch.json" 2>>"$scratch/log" || break; done
result $? "reports of the session and of both kernels"
# judge NAME: Python on stdin, with session, rows[pitch], line(pitch, number), reason(pitch, name) = shares
judge() {
    {
        cat <<'PY'
import json, sys
here = sys.argv[1]
session = json.load(open(here + "/report.json"))
rows = {p: json.load(open(f"{here}/{p}.json"))["kernels"][0]["samples"]["rows"] for p in (32, 33)}
total = {p: sum(x["samples"] for x in r) for p, r in rows.items()}
line = lambda p, n: sum(x["samples"] for x in rows[p] if x["line"] == n) / total[p]
reason = lambda p, name, at=None: sum(x["stalls"].get(name, 0) for x in rows[p] if at in (None, x["line"])) / total[p]
PY
        cat
    } >"$scratch/judge.py"
    python3 "$scratch/judge.py" "$scratch" >"$scratch/log" 2>&1
    result $? "$1"
}
judge "every sample is accounted for" <<'PY'
s = session["pc_sampling"]
assert s["dropped"] == 0 and s["without_kernel"] == 0, s
assert sum(total.values()) + s["other_kernels"] == s["samples"], (total, s)
PY
judge "the rate is one sample an interval and SM" <<'PY'
sms, hz = 132, 1.98e9
for k in session["kernels"]:
    p = 32 if "32" in k["name"] else 33
    most = k["duration"]["total"] * sms * hz / 2 ** session["pc_sampling"]["period_log2"]
    assert 0.6 * most < total[p] < 1.1 * most, (p, total[p], most)
PY
judge "the conflicting load and its consumer are the hottest line, and hold what waits for shared memory" <<'PY'
hottest = max({x["line"] for x in rows[32]}, key=lambda n: line(32, n))
assert hottest == 23 and 0.31 < line(32, 23) < 0.38, (hottest, line(32, 23))
assert reason(32, "short_scoreboard", 23) / reason(32, "short_scoreboard") > 0.6
consumer = max(rows[32], key=lambda x: x["samples"])
assert consumer["line"] == 23 and max(consumer["stalls"], key=consumer["stalls"].get) == "short_scoreboard", consumer
PY
judge "without conflicts the wait is for global memory, on the line that reads it" <<'PY'
assert max({x["line"] for x in rows[33]}, key=lambda n: line(33, n)) == 19
assert reason(33, "short_scoreboard") < 0.6 * reason(32, "short_scoreboard")
assert reason(33, "long_scoreboard") > 1.4 * reason(32, "long_scoreboard")
assert total[33] < 0.5 * total[32], total
PY
judge "every instruction of both has a line of transpose.cu" <<'PY'
for p, r in rows.items():
    files = json.load(open(f"{here}/{p}.json"))["kernels"][0]["files"]
    assert [f["path"].rsplit("/", 1)[1] for f in files] == ["transpose.cu"], files
    assert all(14 <= x["line"] <= 24 for x in r if x["samples"]), p
PY
exit $failed
