#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sampling.sh: `run --stalls pc` on a GPU: where the samples of the bank-conflicted transpose lie, what sampling costs (in
# pairs with the plain program), what a killed program leaves, the code and its text.
# usage: OUT=folder tests/gpu/sampling.sh [BUNDLE]     needs a GPU; writes sampling.md to OUT; under 90 s.
# What was run and when stands in tests/gpu/results; without a row there this script has not been run.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}") source=$PWD/kernels/transpose.cu cases_source=$PWD/tests/gpu/cases.cu here=$PWD/tests/gpu
: "${OUT:=build/gpu-results}"
mkdir -p "$OUT"
report=$(realpath "$OUT")/sampling.md
ws=$bundle/warpsight kernels=$bundle/warpsight-kernels
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WARPSIGHT_DB=$work/db WARPSIGHT_SPOOL=$work/spool
cd "$work" || exit 1
uname -r
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
failures=0 skips=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
lines="" # of checks: they follow the tables
check() { if [ "$2" -eq 0 ]; then lines+="- ok: $1${3:+ ($3)}"$'\n'; else lines+="- **FAILED**: $1${3:+ ($3)}"$'\n'; failures=$((failures + 1)); fi; }
skip() { lines+="- not here: $1"$'\n'; skips=$((skips + 1)); }
# of FILE EXPRESSION: prints what Python makes of its JSON, as r (the machine has no jq)
of() { python3 -c "import json, sys; r = json.load(open('$1')); print($2)"; }
ms() { # ms COMMAND…: its wall time
    local from
    from=$(date +%s%N)
    "$@" >out 2>err || echo "status $?: $*" >>failed
    echo $((($(date +%s%N) - from) / 1000000))
}
: >"$report"
: >failed
say "# PC sampling, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $("$ws" --version | head -1)."

# --- where the samples are ---
hot=$(grep -n 'out\[.*tile\[' "$source" | head -1 | cut -d: -f1)
timeout 60 "$ws" run --stalls pc --name hot "$kernels" run 'transpose_tile<32>' --repeat 300 >out 2>err
check "the program ends as it does without" $? "$(tail -1 err | head -c 200)"
"$ws" report --source 'transpose_tile<32>' --json hot >source.json 2>err
"$ws" report --source 'transpose_tile<32>' --all hot >source.txt 2>&1
"$ws" report --json hot >report.json 2>err
# shares EXPRESSION: of what it counts in a row x, the part on the hot line
shares() { of source.json "next((sum($1 for x in s['rows'] if $hot in (x['line'], x['call_line'])) / max(1, sum($1 for x in s['rows'])) for k in r['kernels'] for s in [k['samples']] if s), 0)"; }
share=$(shares "x['samples']") waits=$(shares "x['stalls'].get('short_scoreboard', 0)")
lines_by_heat="sorted({x['line'] for k in r['kernels'] for x in k['samples']['rows']}, key=lambda l: -sum(x['samples'] for k in r['kernels'] for x in k['samples']['rows'] if x['line'] == l))"
[ "$(of source.json "($lines_by_heat)[0]")" = "$hot" ]
check "the conflicting load and its consumer, line $hot, are the hottest line" $? "$share of all samples"
# Not 60 % of all samples: a conflict also holds up who waits for the pipe before it, and blocks that end; see below.
python3 -c "import sys; sys.exit(0 if $waits >= 0.6 else 1)"
check "at least 60 % of the samples that wait for shared memory lie there" $? "$waits of short_scoreboard"
say
say '```'
head -40 source.txt | tee -a "$report"
say '```'
of report.json "' '.join('%s=%s' % x for x in r['pc_sampling'].items())" >totals
sum=$(of report.json "sum(k['pc_samples']['samples'] for k in {k['mangled']: k for k in r['kernels'] if 'pc_samples' in k}.values()) + r['pc_sampling']['other_kernels'] + r['pc_sampling']['dropped'] + r['pc_sampling']['without_kernel']")
total=$(of report.json "r['pc_sampling']['samples']")
python3 -c "import sys; sys.exit(0 if $total > 1000 and abs($sum - $total) <= 0.01 * $total else 1)"
check "samples by place, other kernels' and dropped ones add up to the total" $? "$sum of $total; $(cat totals)"
[ "$(of report.json "sum(k['launches'] for k in r['kernels'])")" -ge 300 ]
check "the trace is whole beside it" $? "$(of report.json "[(k['name'], k['launches']) for k in r['kernels']]")"
check "every reason has a name" "$([ "$(of report.json "max((k['pc_samples']['unnamed'] for k in r['kernels'] if 'pc_samples' in k), default=0)")" = 0 ]; echo $?)"

# --- a capture for tests/flow, which test_sampled.sh reads ---
(cd "$bundle" && ./warpsight run --stalls pc --name h200-sampling -f -o "$(dirname "$report")/h200-sampling.wscap" ./warpsight-kernels run 'transpose_tile<32>' 'transpose_tile<33>' --repeat 300) >out 2>err
check "a capture with samples is written" $? "$(tail -1 err | head -c 200)"

# --- beside Nsight Compute: launches so long that their beginning and end do not count ---
long_line=$(grep -n 'out\[.*tile\[' "$cases_source" | head -1 | cut -d: -f1)
if command -v ncu >/dev/null; then
    "$ws" run --stalls pc --name long "$bundle/gpu-cases" transpose 50 >out 2>err
    "$ws" report --source transpose_long --json long >long.json 2>err
    timeout 60 ncu --clock-control none --cache-control none --section SourceCounters --warp-sampling-interval 3 --page source --print-source sass \
        --csv "$bundle/gpu-cases" transpose 2 >ncu.csv 2>ncu.err
    cp ncu.csv long.json "$(dirname "$report")/"
    python3 "$here/samples.py" long.json ncu.csv "$long_line" 5 >shares.md
    check "each instruction has the share that Nsight Compute gives it, within 5 points" $? "$(tail -1 shares.md)"
    say
    tee -a "$report" <shares.md
else
    skip "no ncu: nothing to compare the shares with"
fi

# --- code and text ---
python3 - <<'PY' >cubins
import os, sqlite3
db = sqlite3.connect(os.environ["WARPSIGHT_DB"])
hit = {c for c, in db.execute("SELECT DISTINCT cubin FROM pc_sample")}
whole = {c for c, in db.execute("SELECT crc FROM cubin GROUP BY session_id, crc HAVING sum(length(bytes)) = max(size)")}
print(len(hit), len(hit & whole))
PY
read -r hit whole <cubins
[ "${hit:-0}" -gt 0 ] && [ "$hit" = "$whole" ]
check "the code of every sample is there, whole" $? "$whole of $hit"
[ "$(of source.json "sum(x['samples'] > 0 and x['line'] is None for k in r['kernels'] for x in (k['samples'] or {'rows': []})['rows'])")" = 0 ]
check "every sampled instruction has a line" $?
if command -v nvdisasm cuobjdump >/dev/null || [ -x /usr/local/cuda/bin/nvdisasm ] || [ -x /usr/local/cuda/bin/cuobjdump ]; then
    [ "$(of source.json "any('LDS' in (x['sass'] or '') and x['line'] == $hot for k in r['kernels'] for x in k['samples']['rows'])")" = True ]
    check "the conflicting load is an LDS" $?
else
    skip "nvdisasm, cuobjdump: no SASS text"
fi

# --- what it costs: N and 2N launches, so that what is paid once drops out ---
say
say "| program | N = 20000, ms | 2N, ms | once, ms | a launch, µs |"
say "|---|---|---|---|---|"
cost() { # cost NAME COMMAND…: three pairs, the medians
    local name=$1 a=() b=() x y
    shift
    for _ in 1 2 3; do
        a+=("$(ms "$@" run 'transpose_tile<32>' --repeat 20000)")
        b+=("$(ms "$@" run 'transpose_tile<32>' --repeat 40000)")
    done
    x=$(printf '%s\n' "${a[@]}" | sort -n | sed -n 2p) y=$(printf '%s\n' "${b[@]}" | sort -n | sed -n 2p)
    say "| $name | $x | $y | $((2 * x - y)) | $(python3 -c "print(round(($y - $x) / 20, 2))") |"
    slope=$((y - x))
}
cost plain "$kernels"
cost 'run --set trace' "$ws" run --set trace -f -o "$work/t" "$kernels"
trace=$slope
cost 'run --stalls pc' "$ws" run --stalls pc -f -o "$work/p" "$kernels"
python3 -c "import sys; sys.exit(0 if $slope <= max(1.03 * $trace, $trace + 30) else 1)"
check "sampling beside the trace takes at most 3 % (or 30 ms) of 20000 launches more than the trace alone" $? "$slope ms against $trace"
check "no run failed" "$([ ! -s failed ]; echo $?)" "$(head -2 failed)"
say
say "$("$ws" report hot 2>/dev/null | grep -A 1 'WarpSight took' | tr -s ' \n' ' ')"

# --- killed ---
timeout -s KILL 6 "$ws" run --stalls pc --name killed timeout -s KILL 3 "$kernels" run 'transpose_tile<32>' --repeat 1000000 >out 2>err
"$ws" report --json killed >killed.json 2>err
python3 -c "import sys; sys.exit(0 if $(of killed.json "max((k['pc_samples']['samples'] for k in r['kernels'] if 'pc_samples' in k), default=0)") > 1000 else 1)"
check "a killed program leaves the samples that were drained" $? "$(of killed.json "r.get('pc_sampling')")"

say
say "$lines"
say "$failures checks failed, $skips not possible here; $SECONDS s in all."
[ $failures -eq 0 ]
