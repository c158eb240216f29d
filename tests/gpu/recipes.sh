#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# recipes.sh: WarpSight under PyTorch as its users start it: plain, torchrun, NVTX, Triton, torch.compile with CUDA graphs.
# usage: OUT=folder tests/gpu/recipes.sh [BUNDLE]     needs a GPU, PyTorch and Triton; writes recipes.md to OUT.
# What was run and when stands in tests/gpu/results; without a row there this script has not been run.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}") here=$PWD/tests/gpu
: "${OUT:=build/gpu-results}"
mkdir -p "$OUT"
report=$(realpath "$OUT")/recipes.md
ws=$bundle/warpsight
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WARPSIGHT_DB=$work/db WARPSIGHT_SPOOL=$work/spool
cp "$here/recipes.py" "$work/" && cd "$work" || exit 1
uname -r
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
failures=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
check() { if [ "$2" -eq 0 ]; then say "- ok: $1${3:+ ($3)}"; else say "- **FAILED**: $1${3:+ ($3)}"; failures=$((failures + 1)); fi; }
: >"$report"
say "# PyTorch recipes, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' '), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $(python3 -c 'import torch, triton; print("PyTorch", torch.__version__, "Triton", triton.__version__)'); $("$ws" --version | head -1)."

# has EXPRESSION: Python over `kernels` and `devices` of the report; the machine has no jq
has() { python3 -c "import json, sys; r = json.load(open('report.json')); kernels, devices = r['kernels'], r['devices']; sys.exit(0 if ($1) else 1)"; }
value="k['metrics'].get('%s', {}).get('value') or 0"
# recipe NAME EXPRESSION COMMAND…: output alike, and the expression holds of the report
recipe() {
    local name=$1 expression=$2 plain status
    shift 2
    timeout 120 "$@" >plain 2>plain.err
    plain=$?
    timeout 240 "$ws" run --name "$name" -o "$work/$name.wscap" "$@" >with 2>with.err
    status=$?
    # the report follows the program's own output
    [ $plain -eq 0 ] && [ $status -eq 0 ] && head -n "$(wc -l <plain)" with | cmp -s plain -
    check "$name: output and exit status as without" $? "$(tail -1 with.err)"
    "$ws" report --json "$name" >report.json 2>err && has "$expression"
    check "$name: the report has what was run" $? "$(python3 -c "import json; k = json.load(open('report.json'))['kernels']; print(len(k), 'kernels,', sum(x['launches'] for x in k), 'launches,', sum(x['profiled_launches'] > 0 for x in k), 'with counters')" 2>/dev/null)"
}
# shellcheck disable=SC2059
counted() { printf "$value" "$1"; }
recipe loop "len(kernels) > 5 and any($(counted inst_executed) > 0 for k in kernels)" python3 recipes.py loop
recipe nvtx "any(k['launches'] >= 4 for k in kernels)" python3 recipes.py nvtx
recipe triton "any(k['function'] == 'warpsight_add' and k['launches'] == 5 and $(counted gld_sectors_per_request) > 0 for k in kernels)" python3 recipes.py triton
recipe compile "any(k['function'].startswith('triton_') for k in kernels)" python3 recipes.py compile
gpus=$(nvidia-smi --list-gpus | wc -l)
recipe torchrun "any(k['function'].startswith('ncclDevKernel') for k in kernels)" torchrun --standalone --nproc-per-node "$gpus" recipes.py ddp
has "len(devices) == $gpus"; check "torchrun: every rank's GPU is in the session" $? "$gpus"
say
say "$failures checks failed."
[ $failures -eq 0 ]
