#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# auto.sh: what only a GPU can say of --replay-mode auto, --budget and --max-overhead.  usage: OUT=folder tests/gpu/auto.sh [BUNDLE]
# An 8 GiB footprint is not saved and restored; budgets hold against paired runs; replay and rotation mixed in one
# process count alike; NCCL completes. Writes auto.md to OUT, and of what failed there the messages (auto-NAME.log) and
# the capture; 110 s at most. Exit 1: a check failed.
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
# ours NAME OPTIONS… -- PROGRAM…: under run, and its report to $work/NAME.json. What it said stays in OUT; so does the
# capture when the program did not end well.
ours() {
    local name=$1 words=() status
    shift
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    timeout -k 5 120 "$ws" run -f -v --name "$name" -o "$work/$name.wscap" "${words[@]}" -- "$@" >"$work/$name.out" 2>"$OUT/auto-$name.log"
    status=$?
    echo "status $status" >>"$OUT/auto-$name.log"
    "$ws" report --json "$name" >"$work/$name.json" 2>>"$OUT/auto-$name.log"
    [ $status -eq 0 ] || cp "$work/$name.wscap" "$OUT/auto-$name.wscap"
    return $status
}
: >"$report"
say "# Replay or rotation, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' '), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $("$ws" --version | head -1)."
say
say "## An 8 GiB footprint, 12 launches"
ours big-auto --set core --replay-mode auto -- ./gpu-cases big 8 12
check "big 8 12 under auto" $?
for mode in kernel rotate; do
    for gb in 8 1; do
        ours "big-$mode-$gb" --set core --replay-mode $mode --every 2 -- ./gpu-cases big $gb 12
        check "big $gb 12 under $mode" $?
    done
done
sweeps() { tell "$work/$1.json" "[($2) for k in r['kernels'] if k['name'] == 'sweep']"; }
has "$work/big-auto.json" "[k['counting']['mode'] for k in r['kernels'] if k['name'] == 'sweep'] == ['rotate']"
check "auto rotates it" $? "$(sweeps big-auto "k['counting']['reason'], k['counting']['footprint_bytes'], round(k['counting']['predicted'], 3)")"
for mode in auto rotate-8; do
    has "$work/big-$mode.json" "any(k['name'] == 'sweep' for k in r['kernels']) and all(k['metrics'][m]['value'] is not None for k in r['kernels'] if k['name'] == 'sweep' for m in ('gld_sectors', 'elapsed_cycles', 'inst_executed'))"
    check "all its counters are there, $mode" $? "$(sweeps "big-$mode" "{m: k['metrics'][m].get('why', k['metrics'][m]['value']) for m in ('gld_sectors', 'elapsed_cycles', 'inst_executed')}")"
done
# Of one whole set of counters. The first counted launch costs more by itself; that is in both and drops out.
cost() { tell "$work/big-$1.json" "(r['counting']['spent'] - r['counting']['setup']) / r['counting']['launches'] * $2"; }
more() { python3 -c "print(round($(cost "$1-8" "$2") - $(cost "$1-1" "$2"), 3))"; }
rotation=$(more rotate 2) replay=$(more kernel 1)
python3 -c "import sys; sys.exit(0 if 0 < 2 * $rotation < $replay else 1)"
check "7 GiB more take rotation less than half as long as a replay, which saves and restores them" $? "rotation of both passes $rotation s, replay $replay s"
say "Predicted: replay $(sweeps big-kernel-8 "round(k['counting']['predicted'], 3)") s."

say
say "## Replay and rotation mixed in one process"
some=(vec_add stride_read block_shape transpose mat_add offset_copy copy_width map_view diverge)
"$ws" list metrics --json >"$work/metrics.json"
ours replayed --replay-mode kernel -- ./warpsight-kernels run "${some[@]}" --seed 7
check "${some[*]}: replayed" $?
# Another process holds 40 GiB every other moment: what is decided then is rotated, the rest replayed.
./gpu-cases hog 40 150 2>"$OUT/auto-hog.log" &
hog=$!
ours mixed --replay-mode auto -- ./warpsight-kernels run "${some[@]}" --seed 7 --repeat 24
check "the same under auto, other memory coming and going" $?
kill $hog; wait $hog 2>/dev/null; hog=0
has "$work/mixed.json" "min(sum(k.get('counting', {}).get('mode') == m for k in r['kernels']) for m in ('replay', 'rotate')) >= 3"
check "both ways were taken" $? "$(tell "$work/mixed.json" "{(k.get('counting') or {}).get('mode', '') + ' ' + (k.get('counting') or {}).get('reason', ''): 0 for k in r['kernels']}.keys()")"
has "$work/mixed.json" "not any(w['code'] == 'mode-failed' for w in r['warnings'])"
check "no way of counting stopped giving values" $?
python3 "$here/ncu.py" same "$work/metrics.json" "$work/replayed.json" "$work/mixed.json" >"$OUT/auto-mixed.txt" 2>&1
check "mixed deterministic counts equal replayed ones" $? "$(tail -1 "$OUT/auto-mixed.txt")"
say
say "## Budgets against paired runs without us"
# pair NAME TITLE OPTIONS CONDITION PROGRAM…: Python over r = {"plain", "ratio", "added", "loop", "trace", "counting"}
pair() {
    local log=$OUT/auto-$1.log title=$2 options=$3 condition=$4
    shift 4
    python3 "$here/overhead.py" pair "$bundle" 1 "$options" "$@" >"$work/pair.json" 2>"$log" && has "$work/pair.json" "$condition"
    check "$title, $options" $? "$(tell "$work/pair.json" "'plain %.2f s, with us %.2f s more, loop %s, traced %s; spent %.2f s of which setting up %.2f s, %d launches counted' % (r['plain'], r['added'], r['loop'] and round(r['loop'], 3), r['trace'] and round(r['trace'], 3), r['counting']['spent'], r['counting']['setup'], r['counting']['launches'])" 2>>"$log")"
    cat "$work/pair.json" >>"$log"
}
pair storm-budget "launch storm" "--budget 2s --every 100" "r['counting']['spent'] <= 2.1 and r['counting']['launches'] > 0" ./gpu-cases launches 400000
pair storm-overhead "launch storm" "--max-overhead 5% --every 100 --replay-mode rotate" "r['counting']['part'] <= 0.06 or r['counting']['launches'] == 0" ./gpu-cases launches 400000
# One process, for a few percent of a loop that the host bounds are less than from process to process.
WS_CTL=$ws ours turns --idle --replay-mode rotate --every 20 --max-overhead 5% -- python3 "$here/torch_loop.py" turns "${WS_TURN:-10000}"
check "PyTorch loop, one process, --max-overhead 5%" $?
python3 - "$work/turns.out" <<'EOP' >"$work/turns.txt" 2>&1
import json, sys
t = json.loads(open(sys.argv[1]).read().splitlines()[-1])
print(f"{t['iteration'] * 1e3:.3f} ms an iteration; traced {t['traced']:.3f} of plain, every launch looked at {t['watched']:.3f}; setting up and counting {t['spent']:.3f} of the loop")
sys.exit(0 if t["watched"] - t["traced"] + t["spent"] <= 0.06 else 1)
EOP
check "it costs no more than the trace and 5 + 1 %" $? "$(tail -1 "$work/turns.txt")"
python3 - "$work/turns.out" "$work/turns.json" <<'EOP' >"$work/turns.txt" 2>&1
import json, sys
t, c = json.loads(open(sys.argv[1]).read().splitlines()[-1]), json.load(open(sys.argv[2]))["counting"]
said = c["spent"] - c["setup"] * (1 - 1 / t["starts"])  # the later starts set counters up, too
print(f"said {said:.3f} s, seen {t['added']:.3f} s, {c['launches']} launches counted")
sys.exit(0 if c["launches"] >= 3 and t["added"] <= 1.25 * said + 0.05 else 1)
EOP
check "what is said to be spent is what it took" $? "$(tail -1 "$work/turns.txt")"

say
say "## NCCL"
gpus=$(nvidia-smi -L | wc -l)
nccl() { # nccl TITLE COMMAND…
    local title=$1
    shift
    timeout 120 "$@" >"$work/plain" 2>"$work/e"
    ours nccl -- "$@" && head -n "$(wc -l <"$work/plain")" "$work/nccl.out" | cmp -s "$work/plain" -
    check "$title completes under auto, output as without" $? "$(tail -1 "$OUT/auto-nccl.log")"
    has "$work/nccl.json" "r['kernels'] and not any(k['name'].startswith('nccl') and k['profiled_launches'] > 0 for k in r['kernels'])"
    check "$title: no collective was counted" $? "$(tell "$work/nccl.json" "[k['name'] for k in r['kernels'] if k['name'].startswith('nccl')]")"
    has "$work/nccl.json" "any(k['profiled_launches'] > 0 and not k['name'].startswith('nccl') for k in r['kernels'])"
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
    ours "own$option" $option -- python3 "$work/own.py"
    check "torch.profiler under run ${option:-without --yield}: the program ends well" $? "plain: $(head -1 "$work/plain"); here: $(head -1 "$work/own$option.out")"
done
grep -q True "$work/plain" && head -n 1 "$work/own--yield.out" | cmp -s "$work/plain" -
check "--yield: torch.profiler has its GPU events" $?
has "$work/own--yield.json" "len(r['kernels']) >= 1 and any(w['code'] == 'yielded' for w in r['warnings'])"
check "--yield: the kernels before it are there, and what was lost is said" $? "$(tell "$work/own--yield.json" "[(k['name'][:40], k['launches']) for k in r['kernels']]")"

say
say "$failures checks failed; $SECONDS s."
[ $failures -eq 0 ]
