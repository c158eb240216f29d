#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ctl.sh: collection that is switched while the program runs, on a real GPU: what idle costs, ten times start and stop
# around a captured graph, what is left after a stop, cudaProfilerStart and NVTX under PyTorch, torchrun.
# usage: OUT=folder tests/gpu/ctl.sh [BUNDLE]     needs a GPU, and PyTorch for its part; writes ctl.md to OUT. Under 120 s.
# Exit 0: all checks held; 1: some did not; 3: no hardware counters here.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}") here=$PWD/tests/gpu
: "${OUT:=build/gpu-results}"
mkdir -p "$OUT"
report=$(realpath "$OUT")/ctl.md
ws=$bundle/warpsight preload=$bundle/libwarpsight.so loop=$bundle/gpu-loop
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WARPSIGHT_DB=$work/db WARPSIGHT_SPOOL=$work/spool
cp "$here/torch_ctl.py" "$work/" && cd "$work" || exit 1
uname -r
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
failures=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
check() { if [ "$2" -eq 0 ]; then say "- ok: $1${3:+ ($3)}"; else say "- **FAILED**: $1${3:+ ($3)}"; failures=$((failures + 1)); fi; }
median() { sort -n | awk '{v[NR]=$1} END{print NR == 0 ? 0 : NR%2 ? v[(NR+1)/2] : (v[NR/2]+v[NR/2+1])/2}'; }
# rate FILE [SKIP]: the median of its windows after the first SKIP
rate() { grep -v checksum "$1" | tail -n +"$((${2:-2} + 1))" | median; }
sum_of() { grep checksum "$1"; }
# has PYTHON FILE: an expression over r
has() { python3 -c "import json, sys; r = json.load(open(sys.argv[1])); sys.exit(0 if ($1) else 1)" "$2"; }
: >"$report"
say "# Collection switched while the program runs, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $("$ws" --version | head -1). \`tests/gpu/ctl.sh\`: rates of \`gpu-loop\` (a captured graph of 20 kernels, 10 launches, one wait), medians of quarter seconds."
say

# --- what idle costs, and what a stop leaves: runs that take turns ---

"$loop" 1 >/dev/null 2>&1 # the first one warms the machine up
: >plain.rates; : >idle.rates; : >stopped.rates
for _ in 1 2 3 4 5; do
    "$loop" 2.5 >plain.out 2>&1
    rate plain.out >>plain.rates
    LD_PRELOAD=$preload WARPSIGHT_START=idle "$loop" 2.5 >idle.out 2>&1
    rate idle.out >>idle.rates
    LD_PRELOAD=$preload WARPSIGHT_SET=core "$loop" 3.5 >stopped.out 2>&1 &
    pid=$!
    sleep 1
    for _ in 1 2 3 4 5 6; do "$ws" ctl stop "$pid" >>ctl.log 2>&1 && break; sleep 0.2; done
    wait "$pid"
    stopped=$?
    # The stop came after about a second of windows, and the first after it has a part of both.
    rate stopped.out 6 >>stopped.rates
done
plain=$(median <plain.rates) idle=$(median <idle.rates) after=$(median <stopped.rates)
spread=$(sort -n plain.rates | awk '{v[NR]=$1} END{printf "%.4f", v[NR] / v[1] - 1}')
ratio() { awk -v a="$1" -v b="$2" 'BEGIN{printf "%.4f", (b > 0 ? a / b : 0)}'; }
say "| run | iterations a second | of plain |"
say "|---|---|---|"
say "| plain | $plain | 1 |"
say "| \`WARPSIGHT_START=idle\` | $idle | $(ratio "$idle" "$plain") |"
say "| after \`ctl stop\` | $after | $(ratio "$after" "$plain") |"
say
say "The five plain runs differ by $(awk -v s="$spread" 'BEGIN{printf "%.2f %%", 100 * s}') among themselves."
say
# Within 1 %, or within what plain runs differ by where that is more, but never more than 3 %: a noisier machine tells nothing.
near() { awk -v r="$(ratio "$1" "$plain")" -v s="$spread" 'BEGIN{bound = s > 0.01 ? s : 0.01; if (bound > 0.03) bound = 0.03; exit !(r >= 1 - bound)}'; }
near "$idle"
check "idle costs nothing measurable" $? "$(ratio "$idle" "$plain") of plain; bound: the spread, from 1 to 3 %"
near "$after"
check "after a stop the program is as fast as if never started" $? "$(ratio "$after" "$plain") of plain"
[ "$(sum_of plain.out)" = "$(sum_of idle.out)" ] && [ "$(sum_of plain.out)" = "$(sum_of stopped.out)" ] && [ "$stopped" -eq 0 ]
check "the same result in all three" $? "$(sum_of plain.out)"

# --- ten times start and stop ---

LD_PRELOAD=$preload WARPSIGHT_START=idle WARPSIGHT_NAME=cycles "$loop" 14 >cycles.out 2>cycles.err &
pid=$!
sleep 1
good=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$ws" ctl start "$pid" --set core >>ctl.log 2>&1 && sleep 0.5 && "$ws" ctl stop "$pid" >>ctl.log 2>&1 && good=$((good + 1))
    sleep 0.2
done
wait "$pid"
status=$?
[ $good -eq 10 ] && [ $status -eq 0 ] && [ "$(sum_of cycles.out)" = "$(sum_of plain.out)" ]
check "ten times start and stop around a captured graph: no crash, the same result" $? "$good of 10, status $status, $(head -c 200 cycles.err)"
"$ws" report --json cycles >cycles.json 2>err
has "any(k['name'] == 'in_graph' and k['launches'] > 100 for k in r['kernels'])" cycles.json
check "kernels of the graph, which was captured before, are traced" $? "$(head -c 200 err)"
has "any(k['name'] == 'plain' and k['profiled_launches'] >= 10 for k in r['kernels'])" cycles.json
check "each start took counters again" $? "$(python3 -c "import json; print([(k['name'], k['launches'], k['profiled_launches']) for k in json.load(open('cycles.json'))['kernels']])" 2>/dev/null)"
"$ws" report --by-process --json cycles >by.json 2>err
has "r['processes'][0]['gaps'] == 11 and r['processes'][0]['busy'] <= r['processes'][0]['window'] < 10" by.json
check "eleven gaps, none of them in the window" $? "$(head -c 300 by.json | tr -d '\n')"

# --- the program says when: PyTorch ---

if python3 -c 'import torch' 2>/dev/null; then
    timeout 60 python3 torch_ctl.py ranges >torch.plain 2>&1
    timeout 60 "$ws" run --set trace --name api --profile-from-start off python3 torch_ctl.py ranges >torch.api 2>torch.err
    "$ws" report --json api >api.json 2>err
    grep -q "$(cat torch.plain)" torch.api
    check "cudaProfilerStart under PyTorch: the same result" $? "$(tail -1 torch.err | head -c 200)"
    has "any('softmax' in k['mangled'] for k in r['kernels']) and not any('tanh' in k['mangled'] or 'erf' in k['mangled'] for k in r['kernels'])" api.json
    check "only what lies between start and stop" $? "$(python3 -c "import json; print([k['name'] for k in json.load(open('api.json'))['kernels']])" 2>/dev/null | head -c 300)"
    timeout 60 "$ws" run --set trace --name nvtx --nvtx-include step/inner python3 torch_ctl.py ranges >torch.nvtx 2>torch.err
    "$ws" report --json nvtx >nvtx.json 2>err
    grep -q "$(cat torch.plain)" torch.nvtx
    check "NVTX ranges under PyTorch: the same result" $? "$(tail -1 torch.err | head -c 200)"
    has "any('erf' in k['mangled'] for k in r['kernels']) and not any('tanh' in k['mangled'] or 'softmax' in k['mangled'] for k in r['kernels'])" nvtx.json
    check "only what lies in the range" $? "$(python3 -c "import json; print([k['name'] for k in json.load(open('nvtx.json'))['kernels']])" 2>/dev/null | head -c 300)"
    timeout 90 "$ws" run --set trace --name ranks torchrun --standalone --nproc-per-node 2 torch_ctl.py rank >ranks.out 2>ranks.err
    status=$?
    "$ws" report --by-process --json ranks >ranks.json 2>err
    [ $status -eq 0 ] && has "[p['rank'] for p in r['processes'] if p['launches'] > 0] == ['RANK=0', 'RANK=1'] and r['imbalance'] > 0" ranks.json
    check "torchrun, two ranks on one GPU: one session, in order of rank" $? "status $status, $(head -c 400 ranks.json | tr -d '\n')"
    say
    say '```'
    "$ws" report --by-process ranks | tee -a "$report"
    say '```'
else
    say "- not run: PyTorch is not on this machine"
fi
say
say "$failures checks failed; $SECONDS s in all."
[ $failures -eq 0 ]
