#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ctl.sh: collection that is switched while the program runs, on a real GPU: what idle costs, ten times start and stop
# around a captured graph, what is left after a stop, cudaProfilerStart and NVTX under PyTorch, torchrun.
# usage: OUT=folder tests/gpu/ctl.sh [BUNDLE]     needs a GPU, and PyTorch for its part; writes ctl.md to OUT. Some 60 s.
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
cp "$here/torch_ctl.py" "$here/turns.py" "$work/" && cd "$work" || exit 1
uname -r
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
failures=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
check() { if [ "$2" -eq 0 ]; then say "- ok: $1${3:+ ($3)}"; else say "- **FAILED**: $1${3:+ ($3)}"; failures=$((failures + 1)); fi; }
sum_of() { grep checksum "$1"; }
# has PYTHON FILE: an expression over r
has() { python3 -c "import json, sys; r = json.load(open(sys.argv[1])); sys.exit(0 if ($1) else 1)" "$2"; }
: >"$report"
say "# Collection switched while the program runs, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $("$ws" --version | head -1). \`tests/gpu/ctl.sh\`: \`gpu-loop\` is a captured graph of 20 kernels, 10 launches, one wait."
say

# --- what idle costs, and what a stop leaves ---

"$loop" turns </dev/null >plain.out 2>&1 # the first one warms the machine up
python3 turns.py "$bundle" 6 5 >turns.md 2>err
status=$?
tee -a "$report" <turns.md
say
grep -q 'FAILED' turns.md && failures=$((failures + $(grep -c FAILED turns.md)))
{ [ $status -eq 0 ] || grep -q FAILED turns.md; } || check "turns.py came to its end" 1 "$(tail -1 err)"

# --- ten times start and stop ---

LD_PRELOAD=$preload WARPSIGHT_START=idle WARPSIGHT_NAME=cycles "$loop" until "$work/end" >cycles.out 2>cycles.err &
pid=$!
sleep 1
good=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$ws" ctl start "$pid" --set core >>ctl.log 2>&1 && sleep 0.3 && "$ws" ctl stop "$pid" >>ctl.log 2>&1 && good=$((good + 1))
    sleep 0.1
done
touch "$work/end"
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
