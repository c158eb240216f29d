#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# auto.sh: what only a GPU can say of --replay-mode auto, --budget and --max-overhead.  usage: OUT=folder tests/gpu/auto.sh [BUNDLE]
# An 8 GiB footprint is not saved and restored; budgets hold against paired runs; replay and rotation mixed in one
# process count alike; NCCL completes. Writes auto.md and captures to OUT; some 150 s. Exit 1: a check failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}") here=$PWD/tests/gpu
: "${OUT:=build/gpu-results}"
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
report=$OUT/auto.md
ws=$bundle/warpsight
work=$(mktemp -d)
hog=0
trap '[ $hog -eq 0 ] || kill $hog; rm -rf "$work"' EXIT
export WARPSIGHT_DB=$work/db WARPSIGHT_SPOOL=$work/spool
cd "$bundle" || exit 1
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
failures=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
check() { if [ "$2" -eq 0 ]; then say "- ok: $1${3:+ ($3)}"; else say "- **FAILED**: $1${3:+ ($3)}"; failures=$((failures + 1)); fi; }
# has FILE EXPRESSION: Python over r, the report
has() { python3 -c "import json, sys; r = json.load(open(sys.argv[1])); sys.exit(0 if ($2) else 1)" "$1"; }
tell() { python3 -c "import json, sys; r = json.load(open(sys.argv[1])); print($2)" "$1"; }
: >"$report"
say "# Replay or rotation, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' '), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $("$ws" --version | head -1)."
say
say "## An 8 GiB footprint, 12 launches"
for mode in auto kernel rotate; do
    "$ws" run -f -v --set core --replay-mode $mode --name "big-$mode" -o "$work/$mode.wscap" ./gpu-cases big 8 12 >"$work/o" 2>"$OUT/auto-big-$mode.log"
    check "big 8 12 under $mode" $?
    "$ws" report --json "big-$mode" >"$work/big-$mode.json"
done
has "$work/big-auto.json" "all(k['counting']['mode'] == 'rotate' for k in r['kernels'] if k['name'] == 'sweep')"
check "auto rotates it" $? "$(tell "$work/big-auto.json" "[(k['counting']['reason'], k['counting']['footprint_bytes'], round(k['counting']['predicted'], 3)) for k in r['kernels'] if k['name'] == 'sweep']")"
has "$work/big-auto.json" "all(k['metrics'][m]['value'] is not None for k in r['kernels'] if k['name'] == 'sweep' for m in ('gld_sectors', 'dram_read_bytes', 'inst_executed'))"
check "all its counters are there" $?
spent() { tell "$work/big-$1.json" "round(r['counting']['spent'] - r['counting']['setup'], 3)"; }
python3 -c "import sys; sys.exit(0 if float('$(spent auto)') < float('$(spent kernel)') / 2 else 1)"
check "no memory is saved and restored: counting takes less than half of the replay" $? "auto $(spent auto) s, replay $(spent kernel) s, rotation $(spent rotate) s"
say "Predicted: replay $(tell "$work/big-kernel.json" "[round(k['counting']['predicted'], 3) for k in r['kernels'] if k['name'] == 'sweep']") s."

say
say "## Replay and rotation mixed in one process"
"$ws" list metrics --json >"$work/metrics.json"
"$ws" run --replay-mode kernel --name replayed -o "$OUT/auto-replayed.wscap" ./warpsight-kernels all --seed 7 >/dev/null 2>"$work/e"
check "all bundled kernels, replayed" $?
"$ws" report --json replayed >"$work/replayed.json"
# Another process holds 40 GiB every other half second: what is decided then is rotated, the rest replayed.
./gpu-cases hog 40 400 &
hog=$!
"$ws" run --replay-mode auto --name mixed -o "$OUT/auto-mixed.wscap" ./warpsight-kernels all --seed 7 --repeat 24 >/dev/null 2>"$work/e"
check "all bundled kernels under auto, other memory coming and going" $?
kill $hog; wait $hog 2>/dev/null; hog=0
"$ws" report --json mixed >"$work/mixed.json"
has "$work/mixed.json" "min(sum(k.get('counting', {}).get('mode') == m for k in r['kernels']) for m in ('replay', 'rotate')) >= 10"
check "both ways were taken" $? "$(tell "$work/mixed.json" "{m: sum(k.get('counting', {}).get('mode') == m for k in r['kernels']) for m in ('replay', 'rotate', 'none')}")"
has "$work/mixed.json" "not any(w['code'] == 'mode-failed' for w in r['warnings'])"
check "no way of counting stopped giving values" $?
python3 "$here/ncu.py" same "$work/metrics.json" "$work/replayed.json" "$work/mixed.json" >"$OUT/auto-mixed.txt" 2>&1
check "mixed deterministic counts equal replayed ones" $? "$(tail -1 "$OUT/auto-mixed.txt")"

say
say "## Budgets against paired runs without us"
# pair TITLE OPTIONS CONDITION PROGRAM…: Python over r = {"plain", "ratio", "added", "loop", "counting"}
pair() {
    local title=$1 options=$2 condition=$3
    shift 3
    python3 "$here/overhead.py" pair "$bundle" "${WS_PAIRS:-2}" "$options" "$@" >"$work/pair.json" 2>"$work/e" && has "$work/pair.json" "$condition"
    check "$title, $options" $? "$(tell "$work/pair.json" "'plain %.2f s, wall ratio %.3f, added %.2f s, spent %.2f s of which setting up %.2f s, %d launches counted' % (r['plain'], r['ratio'], r['added'], r['counting']['spent'], r['counting']['setup'], r['counting']['launches']) + (', loop ratio %.3f' % r['loop'] if r['loop'] else '')" 2>/dev/null || head -c 200 "$work/pair.json")"
}
pair "launch storm" "--budget 2s --every 100" "r['counting']['spent'] <= 2.1" ./gpu-cases launches 400000
pair "PyTorch loop, 4,000 iterations" "--budget 2s --every 20" "r['counting']['spent'] <= 2.1 and r['added'] <= 3.5" python3 "$here/torch_loop.py" train 4000
pair "launch storm" "--max-overhead 5% --every 100 --replay-mode rotate" "r['counting']['part'] <= 0.06 or r['counting']['launches'] == 0" ./gpu-cases launches 1000000
pair "PyTorch loop, 6,000 iterations" "--max-overhead 5% --every 20 --replay-mode rotate" "r['loop'] <= 1.06 + 0.03" python3 "$here/torch_loop.py" train 6000

say
say "## NCCL"
gpus=$(nvidia-smi -L | wc -l)
nccl() { # nccl TITLE COMMAND…
    local title=$1
    shift
    timeout 120 "$@" >"$work/plain" 2>"$work/e"
    timeout 120 "$ws" run --name nccl "$@" >"$work/with" 2>"$work/e"
    [ $? -eq 0 ] && head -n "$(wc -l <"$work/plain")" "$work/with" | cmp -s "$work/plain" -
    check "$title completes under auto, output as without" $? "$(tail -1 "$work/e")"
    "$ws" report --json nccl >"$work/nccl.json"
    has "$work/nccl.json" "any(k['function'].startswith('nccl') and k['profiled_launches'] == 0 for k in r['kernels']) or not any(k['function'].startswith('nccl') for k in r['kernels'])"
    check "$title: no collective was counted" $? "$(tell "$work/nccl.json" "[k['function'] for k in r['kernels'] if k['function'].startswith('nccl')]")"
    has "$work/nccl.json" "any(k['profiled_launches'] > 0 and not k['function'].startswith('nccl') for k in r['kernels'])"
    check "$title: compute kernels have counters" $?
}
nccl "all_reduce, world size 1" python3 "$here/torch_loop.py" reduce 300
[ "$gpus" -lt 2 ] || nccl "all_reduce, 2 GPUs" python3 -m torch.distributed.run --standalone --nproc-per-node=2 "$here/torch_loop.py" reduce 300
[ "$gpus" -ge 2 ] || say "- not run: all_reduce over two GPUs; this machine has $gpus"

say
say "## The program's own profiler"
cat >"$work/own.py" <<'EOP'
import torch
x = torch.ones(1 << 20, device="cuda")
for _ in range(3):
    y = x * 2
torch.cuda.synchronize()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
    for _ in range(5):
        y = x + 1
    torch.cuda.synchronize()
print("GPU events:", sum(e.device_type == torch.autograd.DeviceType.CUDA for e in p.events()) > 0)
EOP
python3 "$work/own.py" >"$work/plain" 2>"$work/e"
for option in "" --yield; do
    # shellcheck disable=SC2086  # no word or one
    "$ws" run $option --name own python3 "$work/own.py" >"$work/with" 2>"$work/e"
    status=$?
    [ $status -eq 0 ]
    check "torch.profiler under run ${option:-without --yield}: the program ends well" $? "plain: $(head -1 "$work/plain"); here: $(head -1 "$work/with")"
    "$ws" report --json own >"$work/own.json"
done
head -n 1 "$work/with" | cmp -s "$work/plain" -
check "--yield: torch.profiler has its GPU events" $?
has "$work/own.json" "len(r['kernels']) >= 1 and any(w['code'] == 'yielded' for w in r['warnings'])"
check "--yield: the kernels before it are there, and what was lost is said" $? "$(tell "$work/own.json" "[(k['name'][:40], k['launches']) for k in r['kernels']]")"

say
say "$failures checks failed."
[ $failures -eq 0 ]
