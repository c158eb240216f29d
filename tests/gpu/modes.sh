#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# modes.sh: one call for all that is proven of the modes on a GPU: auto.sh, sampling.sh, timeline_metrics.sh, ctl.sh (those
# that are there), and the table of what each mode costs.  usage: OUT=folder tests/gpu/modes.sh [BUNDLE]
# WS_LIMIT seconds in all (1500): what the time did not suffice for is named. Writes modes.md to OUT; exit 1: something failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
bundle=$(realpath "${1:-build/bundle}") here=$PWD/tests/gpu
: "${OUT:=build/gpu-results}" "${WS_LIMIT:=1500}"
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
export OUT
report=$OUT/modes.md
end=$((SECONDS + WS_LIMIT))
case "$(uname -r)" in 4.4.0*) echo "gVisor: no hardware counters here"; exit 3 ;; esac
failures=0
say() { printf '%s\n' "$*" | tee -a "$report"; }
: >"$report"
say "# Modes, $(date -u +%Y-%m-%d)"
say
say "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' '), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1), $(nproc) CPU cores; $("$bundle/warpsight" --version | head -1). Command: \`tests/gpu/modes.sh\`."
say
say "| script | result | s |"
say "|---|---|---|"
for script in auto sampling timeline_metrics ctl; do
    left=$((end - SECONDS)) from=$SECONDS
    if [ ! -f "$here/$script.sh" ]; then
        say "| $script.sh | is not there | |"
    elif [ $left -lt 30 ]; then
        say "| $script.sh | not run: the time is over | |"
        failures=$((failures + 1))
    else
        timeout -k 10 $((left < 420 ? left : 420)) bash "$here/$script.sh" "$bundle" >"$OUT/$script.log" 2>&1
        status=$?
        case $status in 0) word="all checks held" ;; 124) word="**not done in time**" ;; *) word="**failed, status $status**: $script.log" ;; esac
        [ $status -eq 0 ] || failures=$((failures + 1))
        say "| $script.sh | $word | $((SECONDS - from)) |"
    fi
done
say
say "## What a mode costs: wall time with it over wall time without, medians of ${WS_ROUNDS:-2} runs in turn"
say
left=$((end - SECONDS))
python3 "$here/overhead.py" table "$bundle" $((left > 0 ? left : 0)) "${WS_ROUNDS:-2}" 2>"$OUT/overhead.err" | tee -a "$report"
[ "${PIPESTATUS[0]}" -eq 0 ] || failures=$((failures + 1))
say
say "Whole processes: what starting up takes is in it. *loop*: the same of the program's own loop, after 20 rounds."
say
say "$failures parts failed."
[ $failures -eq 0 ]
