#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# calibrate.sh: counters of one kernel a pattern, measured and set beside what the model says of them.
# usage: OUT=folder tests/gpu/calibrate.sh [BUNDLE]    (make bundle makes BUNDLE, default build/bundle)
# On a machine with an NVIDIA GPU of compute capability 9.0 and the rights to read counters: writes calibrate.wscap,
# modelled.json, measured.json, tensor.json and calibrate.md to OUT. WS_MODEL_ONLY=1: the modelled half, needs no GPU.
# A result to keep: calibrate.py --keep, see there.
# Exit 0: the table is whole, whatever it says; 1: it is not; 3: no hardware counters here.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}")
: "${OUT:=build/gpu-calibration}"
mkdir -p "$OUT" || exit 1
OUT=$(realpath "$OUT")
here=$PWD/tests/gpu
ws=$bundle/warpsight
for file in "$ws" "$bundle/gpu-calibrate" "$bundle/gpu-calibrate.ptx"; do
    [ -r "$file" ] || { echo "calibrate: $file is missing: make bundle, on a machine with nvcc"; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WARPSIGHT_DB=$work/db WARPSIGHT_SPOOL=$work/spool
cd "$bundle" || exit 1 # captures record program and folder: by relative names

# What the model does not know is refused by name and stays empty in the table.
./gpu-calibrate --spec >"$work/spec.json" || exit 1
"$ws" model --spec "$work/spec.json" --ptx gpu-calibrate.ptx --name modelled --json -q >"$OUT/modelled.json" 2>"$work/refused"
grep 'not modelled' "$work/refused"
if [ -n "${WS_MODEL_ONLY:-}" ]; then
    python3 "$here/calibrate.py" "$OUT/modelled.json" | tee "$OUT/calibrate.md"
    exit "${PIPESTATUS[0]}"
fi
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
# Every counter costs 36 s for 126 kernels: only the tensor cores and FP16 need more than the core set.
"$ws" run --set core --every 1 --name measured -o "$OUT/calibrate.wscap" ./gpu-calibrate || { echo "calibrate: warpsight run failed"; exit 1; }
"$ws" report --json measured >"$OUT/measured.json" || exit 1
"$ws" run --set full --every 1 --name tensor -k 'regex:product|software' -o "$OUT/tensor.wscap" ./gpu-calibrate || { echo "calibrate: warpsight run failed"; exit 1; }
"$ws" report --json tensor >"$OUT/tensor.json" || exit 1
{
    echo "Machine: $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1); $(date -u +%Y-%m-%d); \`tests/gpu/calibrate.sh\`."
    echo
    python3 "$here/calibrate.py" "$OUT/modelled.json" "$OUT/measured.json" "$OUT/tensor.json"
} | tee "$OUT/calibrate.md"
exit "${PIPESTATUS[0]}"
