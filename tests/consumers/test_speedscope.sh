#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_speedscope.sh: speedscope (its npm package, in chromium) opens our Chrome traces and pprof profiles; its rows, names
# and times are the report's. Needs what the browser tests need.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="$PWD/${B:-build}/warpsight"
skip() { echo "SKIP speedscope ($1)"; exit 77; }
command -v node >/dev/null || skip "no node"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || skip "node 20 is needed"
[ -f web/node_modules/speedscope/package.json ] || skip "no web/node_modules/speedscope: make deps"
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser)}
[ -n "$CHROMIUM" ] || skip "no chromium"
export CHROMIUM
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/speedscope.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool"
status=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(tail -c 400 "$scratch/log")"; status=1; fi; }

for name in torch kernels graph; do
    "$W" import "tests/flow/h200-$name.wscap" >/dev/null || exit 1
    "$W" report --json >"$scratch/$name.report.json"
    "$W" export --format chrome-trace -o "$scratch/$name.json"
    "$W" export --format pprof -o "$scratch/$name.pb.gz"
done
node tests/consumers/speedscope.mjs "$scratch"/{torch,kernels,graph}.{json,pb.gz} >"$scratch/opened" 2>"$scratch/log"
result $? "speedscope opens the traces and the profiles of three sessions"

for name in torch kernels graph; do
    python3 - "$scratch/opened" "$name" "$scratch/$name.report.json" "$scratch/$name.json" <<'PY' >"$scratch/log" 2>&1
import json, sys
opened, name, report, trace = json.load(open(sys.argv[1])), sys.argv[2], json.load(open(sys.argv[3])), json.load(open(sys.argv[4]))
profiles = opened[name + ".json"]["profiles"]
gpu = [p for p in profiles if p["name"].startswith("NVIDIA H200 (pid 0), stream ")]
assert gpu and all(p["unit"] == "microseconds" for p in profiles), [p["name"] for p in profiles]
slices = sum(e["ph"] == "X" for e in trace["traceEvents"])
shown = sum(count for p in profiles for count, _ in p["weights"].values())
assert shown == slices > 0, (shown, slices)
# A frame is named by the slice and its arguments.
frames = {}
for p in gpu:
    for frame, (count, total) in p["weights"].items():
        of = frames.setdefault(frame.split(" {\"")[0], [0, 0])
        of[0], of[1] = of[0] + count, of[1] + total
for k in report["kernels"]: # a launch that was replayed has no place on the time line
    if k["duration"].get("origin") == "activity":
        timed = k["launches"] - k["profiled_launches"]
        count, total = frames[k["demangled"]]
        assert count == timed, (k["demangled"], count, timed)
        assert abs(total * 1e-6 / timed - k["duration"]["mean"]) <= 1e-6 * k["duration"]["mean"], (k["demangled"], total)
    elif k["launches"] == k["profiled_launches"]:
        assert k["demangled"] not in frames, k["demangled"]
print(shown, "slices")
PY
    result $? "its frames of h200-$name are the trace's slices, the kernels as long as the report says: $(tail -1 "$scratch/log" | head -c 40)"
    python3 - "$scratch/opened" "$name" "$scratch/$name.report.json" <<'PY' >"$scratch/log" 2>&1
import json, os, sys
opened, name, report = json.load(open(sys.argv[1])), sys.argv[2], json.load(open(sys.argv[3]))
(profile,) = opened[name + ".pb.gz"]["profiles"]
program = os.path.basename(report["session"]["exe"])
total = sum((k["duration"]["total"] or 0) for k in report["kernels"]) * 1e9
assert profile["unit"] == "nanoseconds", profile["unit"]
assert abs(profile["weights"][program][1] - total) <= 200, (profile["weights"][program], total)
names = {k["name"] for k in report["kernels"]}
assert names and names <= set(profile["weights"]), names - set(profile["weights"])
PY
    result $? "its flame graph of h200-$name has the program over all $(jq '.kernels | length' "$scratch/$name.report.json") kernels, and the report's time"
done

echo '{"traceEvents": []}' >"$scratch/empty.json"
! node tests/consumers/speedscope.mjs "$scratch/empty.json" >/dev/null 2>"$scratch/log" && grep -q '^empty.json: ' "$scratch/log"
result $? "what speedscope does not open fails this test"
exit $status
