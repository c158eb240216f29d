#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeline_metrics.sh: PM sampling (`run --timeline-metrics`) on a real GPU: samples at 10 µs, 50 µs, 100 µs and 1 ms beside
# the trace, their values held against what is known of two kernels, their times against the trace's, and what it costs.
# usage: OUT=folder tests/gpu/timeline_metrics.sh [BUNDLE]     needs a GPU; writes timeline_metrics.md to OUT; about 80 s.
# What was run and when stands in tests/gpu/results; without a row there this script has not been run.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}") here=$PWD/tests/gpu
: "${OUT:=build/gpu-results}"
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
report=$OUT/timeline_metrics.md
ws=$bundle/warpsight
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WARPSIGHT_DB=$work/db WARPSIGHT_SPOOL=$work/spool
cp "$here/torch_small.py" "$bundle/"
cd "$bundle" || exit 1
uname -r
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
failures=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
check() { if [ "$2" -eq 0 ]; then say "- ok: $1${3:+ ($3)}"; else say "- **FAILED**: $1${3:+ ($3)}"; failures=$((failures + 1)); fi; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
timed() { local from; from=$(now_ms); "$@" >/dev/null 2>&1; echo $(($(now_ms) - from)); }
median() { sort -n | awk '{v[NR]=$1} END{print NR%2 ? v[(NR+1)/2] : (v[NR/2]+v[NR/2+1])/2}'; }
: >"$report"
say "# Samples over time on a GPU, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $("$ws" --version | head -1). Command: \`tests/gpu/timeline_metrics.sh\`."
say

say "## Values and times"
say
for interval in 10us 50us 100us 1ms; do
    "$ws" run --timeline-metrics default --timeline-interval "$interval" --timeline-start first --name "pm-$interval" -o "$OUT/pm-$interval.wscap" -f ./gpu-cases phases 3 >"$work/o" 2>"$work/e"
    check "$interval: the program ends as always" $? "$(tail -1 "$work/e")"
    "$ws" report --json "pm-$interval" >"$OUT/pm-$interval.json" 2>"$work/e" &&
        "$ws" export --format samples-csv -o "$work/samples.csv" "pm-$interval" 2>>"$work/e" &&
        "$ws" export --format chrome-trace -o "$work/trace.json" "pm-$interval" 2>>"$work/e"
    check "$interval: report, samples and trace" $? "$(tail -1 "$work/e")"
    python3 "$here/timeline_metrics.py" "$interval" "$OUT/pm-$interval.json" "$work/samples.csv" "$work/trace.json" >"$work/checks" 2>&1
    status=$?
    cat "$work/checks" | tee -a "$report"
    check "$interval: all of these" $status "$(grep -c FAILED "$work/checks") failed, capture $(stat -c %s "$OUT/pm-$interval.wscap") bytes"
    rm -f "$work"/samples.csv "$work"/trace.json
done
"$ws" run --timeline-metrics default --name beside ./gpu-cases phases 8 >"$work/o" 2>"$work/e"
"$ws" report --json beside >"$work/r.json" 2>"$work/e" && "$ws" export --format samples-csv -o "$work/samples.csv" beside && "$ws" export --format chrome-trace -o "$work/trace.json" beside
python3 - "$work/r.json" "$work/samples.csv" "$work/trace.json" >"$work/late" 2>&1 <<'PY'
import csv, json, sys
report, trace = json.load(open(sys.argv[1])), json.load(open(sys.argv[3]))
at = [int(row["start_ns"]) for row in csv.DictReader(open(sys.argv[2], newline=""))]
first = min(trace["baseTimeNanoseconds"] + e["ts"] * 1e3 for e in trace["traceEvents"] if e.get("cat") in ("kernel", "gpu_memset"))
print(f"first sample {(min(at) - first) / 1e6:.0f} ms after the first work;", *[w["message"] for w in report["warnings"] if w["code"] == "overhead"])
assert 0 < min(at) - first < 1e9 and not any(w["code"].startswith("timeline-late") for w in report["warnings"])
PY
check "set up beside the program: it does not wait, and the samples begin later" $? "$(tail -1 "$work/late")"
rm -f "$work"/samples.csv "$work"/trace.json
gzip -9f "$OUT"/pm-10us.wscap "$OUT"/pm-50us.wscap "$OUT"/pm-100us.wscap

say
say "## What the samplers exclude"
say
"$ws" run --timeline-metrics default --metrics gld_sectors ./gpu-cases launches 10 >"$work/o" 2>"$work/e"; [ $? -eq 125 ]; check "samples and counters together are refused" $?
WARPSIGHT_SET=core WARPSIGHT_TIMELINE_METRICS=default WARPSIGHT_TIMELINE_START=first LD_PRELOAD=$bundle/libwarpsight.so ./gpu-cases launches 1000 >"$work/o" 2>&1
check "in the environment both: sampled, not counted, and the program lives" $?
"$ws" report --json >"$work/r.json" 2>/dev/null
python3 -c "import json; r = json.load(open('$work/r.json')); assert r['samples']['series'] and all(k['profiled_launches'] == 0 for k in r['kernels']) and any(w['code'] == 'timeline-mode' for w in r['warnings'])"
check "and the report says so" $?
"$ws" run --timeline-start first --timeline-metrics sm__inst_executed.sum,l1tex__t_sectors.sum,smsp__warps_issue_stalled_long_scoreboard.sum,smsp__sass_inst_executed.sum ./gpu-cases launches 100 >"$work/o" 2>"$work/e"
check "names that may need two passes: what fits is sampled, the program lives" $? "$("$ws" report --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(len(r.get("samples", {"series": []})["series"]), "series;", *[w["message"] for w in r["warnings"] if w["code"].startswith("timeline-")][:4])')"
"$ws" run --timeline-metrics default --timeline-interval 100us bash -c "./gpu-cases launches 3000000 & sleep 2; kill -9 \$!; wait" >"$work/o" 2>"$work/e"
"$ws" report --json >"$work/r.json" 2>/dev/null && python3 -c "import json; assert json.load(open('$work/r.json'))['samples']['series'][0]['samples'] > 1000"
check "a program killed by SIGKILL keeps its samples" $?
"$ws" run --timeline-metrics default --timeline-start first ./gpu-cases phases 1 >"$work/o" 2>"$work/e" && "$ws" report --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["samples"]["series"][0]["samples"] > 50'
check "and the next run can sample again" $?

say
say "## Overhead: medians of paired runs, ms of wall time"
say
say "| case | plain | trace | ratio | + samples, 1 ms | ratio to trace | + samples, 10 µs | ratio to trace |"
say "|---|---|---|---|---|---|---|---|"
ratio() { awk -v a="$1" -v b="$2" 'BEGIN{if (b > 0) printf "%.3f", a / b; else printf "?"}'; }
overhead() { # overhead TITLE PAIRS PROGRAM…
    local title=$1 pairs=$2 i; shift 2
    : >"$work/p"; : >"$work/t"; : >"$work/s"; : >"$work/f"
    for i in $(seq "$pairs"); do
        timed "$@" >>"$work/p"
        timed env LD_PRELOAD="$bundle/libwarpsight.so" WARPSIGHT_SET=trace "$@" >>"$work/t"
        timed env LD_PRELOAD="$bundle/libwarpsight.so" WARPSIGHT_TIMELINE_METRICS=default "$@" >>"$work/s"
        timed env LD_PRELOAD="$bundle/libwarpsight.so" WARPSIGHT_TIMELINE_METRICS=default WARPSIGHT_TIMELINE_INTERVAL=10us "$@" >>"$work/f"
    done
    local p t s f
    p=$(median <"$work/p") t=$(median <"$work/t") s=$(median <"$work/s") f=$(median <"$work/f")
    say "| $title | $p | $t | $(ratio "$t" "$p") | $s | $(ratio "$s" "$t") | $f | $(ratio "$f" "$t") |"
}
overhead "phases, 5 rounds" 3 ./gpu-cases phases 5
overhead "launch storm, 200,000 launches" 3 ./gpu-cases launches 200000
python3 -c 'import torch' 2>/dev/null && overhead "PyTorch, 300 iterations" 2 python3 torch_small.py 300
say
say "Start and decode, from the report of the 100 µs run: $(python3 -c "
import json
print(*[w['message'] for w in json.load(open('$OUT/pm-100us.json'))['warnings'] if w['code'] == 'overhead'])")"
say
say "$failures checks failed."
[ $failures -eq 0 ]
