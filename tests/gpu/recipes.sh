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
lines="" # of checks: they follow the table
check() { if [ "$2" -eq 0 ]; then lines+="- ok: $1"$'\n'; else lines+="- **FAILED**: $1${3:+ ($3)}"$'\n'; failures=$((failures + 1)); fi; }
: >"$report"
say "# PyTorch recipes, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' '), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $(python3 -c 'import torch, triton; print("PyTorch", torch.__version__, "Triton", triton.__version__)'); $("$ws" --version | head -1)."

# The programs as they are, all at once (and torch.compile's cache is filled): what they print is what must come again.
gpus=$(nvidia-smi --list-gpus | wc -l)
command_of() { if [ "$1" = ddp ]; then echo "torchrun --standalone --nproc-per-node $gpus recipes.py ddp"; else echo "python3 recipes.py $1"; fi; }
names="loop nvtx triton compile ddp"
for name in $names; do (read -ra words <<<"$(command_of "$name")"; timeout 90 "${words[@]}" >"plain.$name" 2>"plain.$name.err"; echo $? >"plain.$name.status") & done
wait

# has EXPRESSION: Python over `kernels` and `devices` of the report; the machine has no jq
has() { python3 -c "import json, sys; r = json.load(open('report.json')); kernels, devices = r['kernels'], r['devices']; sys.exit(0 if ($1) else 1)"; }
# counted KEY: its value of kernel k, 0 where there is none
counted() { printf "(k['metrics'].get('%s', {}).get('value') or 0)" "$1"; }
say
say "| recipe | command | kernels | launches | with counters | seconds |"
say "|---|---|---|---|---|---|"
# recipe NAME EXPRESSION [OPTION…]: printed the same and ended the same, and the expression holds of the report
recipe() {
    local name=$1 expression=$2 words status from
    shift 2
    read -ra words <<<"$(command_of "$name")"
    from=$SECONDS
    timeout 90 "$ws" run "$@" --name "$name" -f -o "$work/$name.wscap" "${words[@]}" >with 2>with.err
    status=$?
    "$ws" report --json "$name" >report.json 2>err
    say "| $name | \`warpsight run $*${*:+ }${words[*]}\` | $(python3 -c "import json; k = json.load(open('report.json'))['kernels']; print(len(k), '|', sum(x['launches'] for x in k), '|', sum(x['profiled_launches'] > 0 for x in k))" 2>/dev/null || echo "? | ? | ?") | $((SECONDS - from)) |"
    [ "$(cat "plain.$name.status")" -eq 0 ] && [ $status -eq 0 ] && cmp -s "plain.$name" with
    check "$name: output and exit status as without" $? "$(tail -1 "plain.$name.err" | head -c 200) / $(tail -1 with.err | head -c 200)"
    has "$expression"
    check "$name: the report has what was run" $? "$(head -c 200 err)"
}
recipe loop "len(kernels) > 5 and any($(counted inst_executed) > 0 for k in kernels)"
recipe nvtx "sum(k['launches'] for k in kernels) == 1" --nvtx-include "step 2/"
recipe triton "any(k['name'] == 'warpsight_add' and k['launches'] == 5 and $(counted gld_sectors_per_request) > 0 for k in kernels)"
recipe compile "any(k['name'].startswith('triton_') for k in kernels)"
# One rank alone has nobody to reduce with: NCCL starts no kernel then.
recipe ddp "len(devices) == $gpus and len(kernels) > 0 and ($gpus == 1 or any(k['name'].startswith('ncclDevKernel') for k in kernels))"
say
say "$lines"
say "$failures checks failed; $SECONDS s in all."
[ $failures -eq 0 ]
