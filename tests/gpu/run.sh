#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh: everything that only a GPU can prove, in one call.  usage: OUT=folder tests/gpu/run.sh [BUNDLE]
# Measures the reference kernels and holds them against their .expect files and against Nsight Compute
# on the same program with the same metrics; PyTorch, CUDA graphs, streams; output and exit status with
# and without us; overhead ratios of paired runs. Writes captures (*.wscap), JSON and results.md to OUT.
# Exit 0: all checks held; 1: some did not (results.md says which); 3: no hardware counters here.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}")
: "${OUT:=build/gpu-results}"
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
ws=$bundle/warpsight
here=$PWD/tests/gpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WARPSIGHT_DB=$work/db WARPSIGHT_SPOOL=$work/spool
# What is compared here are replays, unless a line says otherwise; the default, auto, is proven by auto.sh.
export WARPSIGHT_REPLAY_MODE=kernel
# Captures record program, arguments and folder: run from the bundle, by relative names.
cp "$here/torch_small.py" "$bundle/"
cd "$bundle" || exit 1
uname -r
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac

report=$OUT/results.md
failures=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
check() { # check NAME STATUS [detail]
    if [ "$2" -eq 0 ]; then say "- ok: $1${3:+ ($3)}"; else say "- **FAILED**: $1${3:+ ($3)}"; failures=$((failures + 1)); fi
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# timed COMMAND…: milliseconds of wall time on stdout, the command's output thrown away
timed() { local from; from=$(now_ms); "$@" >/dev/null 2>&1; echo $(($(now_ms) - from)); }
median() { sort -n | awk '{v[NR]=$1} END{print NR%2 ? v[(NR+1)/2] : (v[NR/2]+v[NR/2+1])/2}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN{if (b > 0) printf "%.2f", a / b; else printf "?"}'; }

: >"$report"
say "# GPU results, $(date -u +%Y-%m-%d)"
say
say "Machine: $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1), $(nproc) CPU cores, Linux $(uname -r)."
say "Program: WarpSight $("$ws" --version 2>/dev/null | head -1). Command: \`tests/gpu/run.sh\`. Oracle: $(ncu --version 2>/dev/null | tail -1), \`--clock-control none --cache-control none\`."
say "Wall times of a shared machine: read the ratios, not the milliseconds."
say

say "## Doctor"
"$ws" doctor >"$OUT/doctor.txt" 2>&1; check "warpsight doctor says profiling works" $?

say
say "## Ceilings of this board"
"$ws" ceilings >"$OUT/ceilings.txt" 2>&1; check "warpsight ceilings" $?
say
say '```'
tee -a "$report" <"$OUT/ceilings.txt"
say '```'

say
say "## Reference kernels"
"$ws" run --set full --name h200-kernels -o "$OUT/h200-kernels.wscap" ./warpsight-kernels all --seed 7 >"$OUT/kernels.out" 2>"$OUT/kernels.err"
check "warpsight run --set full warpsight-kernels all" $?
"$ws" report --json h200-kernels >"$OUT/h200-kernels.json" 2>"$OUT/report.err"; check "report --json" $?
"$ws" report h200-kernels >"$OUT/report.txt" 2>&1

say
say "## Known answers: the kernels with every counter, each host program once traced and once with counters"
# What Nsight Compute advises on the same program; WS_NCU_DETAILS: a recorded answer (it takes minutes)
if [ -n "${WS_NCU_DETAILS:-}" ]; then
    say "Nsight Compute's advice: recorded before, $(basename "$WS_NCU_DETAILS")."
    cp "$WS_NCU_DETAILS" "$OUT/ncu-details.csv.gz"
else
    ncu --clock-control none --cache-control none --set full --csv --page details \
        ./warpsight-kernels all --seed 7 >"$OUT/ncu-details.csv" 2>"$work/ncu.err"
    check "Nsight Compute's advice on the same program recorded" $?
    gzip -9f "$OUT/ncu-details.csv"
fi
"$ws" kernels verify --strict --ncu "$OUT/ncu-details.csv.gz" >"$OUT/verify.txt" 2>"$OUT/verify.err"
check "warpsight kernels verify --strict: every .expect holds" $? "$(tail -1 "$OUT/verify.txt")"
programs=$("$ws" list sessions --json | python3 -c 'import json, sys; print(*[s["name"] for s in json.load(sys.stdin)["sessions"] if s["name"].startswith("kernels-verify-")])')
mkdir -p "$OUT/programs"
for program in $programs; do
    "$ws" export --format capture -o "$OUT/programs/${program#kernels-verify-}.wscap" "$program" 2>>"$OUT/verify.err"
done

say
say "## Scorecard of our advice"
sed -n '/^Scorecard/,/^$/p' "$OUT/verify.txt" >"$OUT/scorecard.txt"
say
say '```'
tee -a "$report" <"$OUT/scorecard.txt"
say '```'
# shellcheck disable=SC2086  # programs is a list
"$ws" kernels verify kernels-verify $programs --json --ncu "$OUT/ncu-details.csv.gz" 2>"$work/err" |
    python3 -c 'import json, sys; c = json.load(sys.stdin)["scorecard"]; sys.exit(not 2 * c["error_where_ncu"]["median"] <= c["ncu_error"]["median"])'
check "the median error of our estimates is at most half of Nsight Compute's" $?

say
say "## Against Nsight Compute: same program, same metrics, same run"
"$ws" list metrics --json >"$OUT/metrics.json"
# --set core,memory,stalls as by default; one session of our own for equal conditions
from=$(now_ms)
"$ws" run --name compare -o "$work/compare.wscap" ./warpsight-kernels all --seed 7 >/dev/null 2>"$work/err"
ours_suite=$(($(now_ms) - from))
"$ws" report --json compare >"$work/compare.json"
metrics=$(python3 "$here/ncu.py" names "$OUT/metrics.json" core,memory,stalls)
from=$(now_ms)
ncu --clock-control none --cache-control none --csv --page raw --print-units base --metrics "$metrics" \
    ./warpsight-kernels all --seed 7 >"$OUT/ncu.csv" 2>"$work/ncu.err"
ncu_suite=$(($(now_ms) - from))
python3 "$here/ncu.py" compare "$OUT/metrics.json" "$work/compare.json" "$OUT/ncu.csv" >"$OUT/ncu-compare.md" 2>&1
check "deterministic counts equal Nsight Compute's to the last unit" $? "$(tail -1 "$OUT/ncu-compare.md")"
cat "$OUT/ncu-compare.md" >>"$report"

say
say "## Rotation against replay"
"$ws" run --replay-mode rotate --name rotate -o "$OUT/h200-rotate.wscap" ./warpsight-kernels all --seed 7 --repeat 24 >/dev/null 2>"$work/err"
check "warpsight run --replay-mode rotate" $?
"$ws" report --json rotate >"$work/rotate.json"
python3 "$here/ncu.py" same "$OUT/metrics.json" "$work/compare.json" "$work/rotate.json" >"$OUT/rotate-compare.md" 2>&1
check "rotated deterministic counts equal replayed ones" $? "$(tail -1 "$OUT/rotate-compare.md")"

say
say "## Programs run unchanged"
same() { # same NAME COMMAND…: stdout, stderr and exit status with and without us
    local name=$1 plain ours; shift
    "$@" >"$work/a.out" 2>"$work/a.err"; plain=$?
    LD_PRELOAD=$bundle/libwarpsight.so "$@" >"$work/b.out" 2>"$work/b.err"; ours=$?
    [ $plain -eq $ours ] && cmp -s "$work/a.out" "$work/b.out" && cmp -s "$work/a.err" "$work/b.err"
    check "$name: output and exit status $plain equal" $?
}
same "graph" ./gpu-cases graph 50
same "streams" ./gpu-cases streams 100
same "devices" ./gpu-cases devices 50
same "status" ./gpu-cases status 42
same "kernels" ./warpsight-kernels all --seed 7
same "torch" python3 torch_small.py
"$ws" run --name torch -o "$OUT/h200-torch.wscap" python3 torch_small.py >"$work/o" 2>"$work/e"; check "PyTorch profiled" $? "$(grep -c . "$work/o") lines"
"$ws" run --name graph -o "$OUT/h200-graph.wscap" ./gpu-cases graph 20 >"$work/o" 2>"$work/e"; check "CUDA graph program profiled" $?
"$ws" run --require-kernels --name streams ./gpu-cases streams 50 >"$work/o" 2>"$work/e"; check "four threads, four streams profiled" $?
"$ws" run --name devices -o "$OUT/devices.wscap" ./gpu-cases devices 50 >"$work/o" 2>"$work/e"
"$ws" report --json devices >"$OUT/devices.json" && python3 "$here/devices.py" "$WARPSIGHT_DB" "$OUT/devices.json" "$(nvidia-smi -L | wc -l)" 50 >"$work/o" 2>&1
check "a thread a device, two contexts a device: every launch traced, counters of every device" $? "$(tail -1 "$work/o")"
"$ws" run ./gpu-cases status 42 >"$work/o" 2>"$work/e"; [ $? -eq 42 ]; check "run returns the program's status 42" $?
"$ws" run bash -c "./gpu-cases launches 3000000 & sleep 3; kill -9 \$!; wait" >"$work/o" 2>"$work/e"
"$ws" report --json >"$OUT/killed.json" && python3 -c "import json,sys; r=json.load(open(sys.argv[1])); sys.exit(0 if sum(k['launches'] for k in r['kernels'])>1000 else 1)" "$OUT/killed.json"
check "a program killed by SIGKILL still has its session" $?

say
say "## Overhead"
say
say "| case | plain ms | WarpSight ms | Nsight Compute ms | ours / ncu |"
say "|---|---|---|---|---|"
plain=$(timed ./warpsight-kernels all --seed 7)
say "| kernel suite once, core+memory+stalls | $plain | $ours_suite | $ncu_suite | $(ratio "$ours_suite" "$ncu_suite") |"
core=$(python3 "$here/ncu.py" names "$OUT/metrics.json" core)
compare_case() { # compare_case TITLE PAIRS OPTIONS PROGRAM…: medians of PAIRS runs of each, in turn
    local title=$1 pairs=$2 options=$3 p o n i; shift 3
    : >"$work/p"; : >"$work/o"; : >"$work/n"
    for i in $(seq "$pairs"); do
        timed "$@" >>"$work/p"
        # shellcheck disable=SC2086  # options is a list
        timed "$ws" run -f -o "$work/x$i" $options "$@" >>"$work/o"
        timed ncu --clock-control none --cache-control none --metrics "$core" "$@" >>"$work/n"
    done
    p=$(median <"$work/p"); o=$(median <"$work/o"); n=$(median <"$work/n")
    say "| $title | $p | $o | $n | $(ratio "$o" "$n") |"
    say "| … the part that profiling adds | | $((o - p)) | $((n - p)) | $(ratio $((o - p)) $((n - p))) |"
}
compare_case "200 launches of one kernel, every one, core" 1 "--set core --every 1" ./gpu-cases launches 200
compare_case "one launch over 8 GB, core (medians of 5)" 5 "--set core" ./gpu-cases big 8

say
say "Plain tracing, medians of paired runs:"
say
say "| case | plain ms | traced ms | ratio |"
say "|---|---|---|---|"
trace_case() { # trace_case TITLE PAIRS SETS PROGRAM…
    local title=$1 pairs=$2 sets=$3 i; shift 3
    : >"$work/p"; : >"$work/t"; : >"$work/r"
    for i in $(seq "$pairs"); do
        p=$(timed "$@"); t=$(timed env LD_PRELOAD="$bundle/libwarpsight.so" WARPSIGHT_SET="$sets" "$@")
        echo "$p" >>"$work/p"; echo "$t" >>"$work/t"; awk -v a="$t" -v b="$p" 'BEGIN{printf "%.3f\n", a / b}' >>"$work/r"
    done
    say "| $title | $(median <"$work/p") | $(median <"$work/t") | $(median <"$work/r") |"
}
trace_case "PyTorch, 300 iterations ($(( ${WS_PAIRS:-5} )) pairs)" "${WS_PAIRS:-5}" trace python3 torch_small.py 300
trace_case "PyTorch, 300 iterations, with the calls of set api" "${WS_PAIRS:-5}" trace,api python3 torch_small.py 300
trace_case "launch storm, 200,000 launches ($(( ${WS_PAIRS:-5} )) pairs)" "${WS_PAIRS:-5}" trace ./gpu-cases launches 200000
trace_case "launch storm, 200,000 launches, with the calls of set api" "${WS_PAIRS:-5}" trace,api ./gpu-cases launches 200000

say
say "$failures checks failed."
[ "$failures" -eq 0 ]
