#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_exports.sh: Chrome trace, pprof and Markdown: golden files of synthetic sessions, recorded H200 sessions read by
# readers that are not ours, and a long session that needs no more memory than a short one.
# `make golden` (WS_WRITE_GOLDEN=1) rewrites tests/flow/exports: read the diff.
set -u
cd "$(dirname "$0")/../.." || exit 1
B="${B:-build}"
W="$PWD/$B/warpsight"
check="$PWD/tests/flow/check_exports.py"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/exports.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool"
status=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 400 "$scratch/log")"; status=1; fi; }
golden() { # NAME: $scratch/NAME is tests/flow/exports/NAME
    [ -z "${WS_WRITE_GOLDEN:-}" ] || cp "$scratch/$1" "tests/flow/exports/$1"
    diff "tests/flow/exports/$1" "$scratch/$1" >"$scratch/log" 2>&1
    result $? "$1 is the golden file"
}

# --- golden files ---
"$B/flow/make_capture" "$scratch/few.wscap" --launches 3 && "$B/flow/make_capture" "$scratch/tuesday.wscap" || exit 1
"$W" import "$scratch/few.wscap" "$scratch/tuesday.wscap" >/dev/null || { echo "FAIL import"; exit 1; }
"$W" export 1 --format chrome-trace -o "$scratch/few.chrome.json"
golden few.chrome.json
"$W" export 1 --format markdown >"$scratch/few.md"
golden few.md
"$W" export tuesday --format markdown >"$scratch/tuesday.md"
golden tuesday.md
"$W" export tuesday --format pprof >"$scratch/tuesday.pb.gz" && "$check" pprof "$scratch/tuesday.pb.gz" >"$scratch/tuesday.pprof.txt"
golden tuesday.pprof.txt
"$W" export tuesday --format pprof | cmp -s - "$scratch/tuesday.pb.gz" 2>"$scratch/log"
result $? "the same session is the same profile, byte for byte"

# --- hostile names stay text ---
! grep -q '<script>' "$scratch/tuesday.md" || grep -q '`<script>' "$scratch/tuesday.md"
result $? "a name with markup is code in Markdown"
"$W" export tuesday --format chrome-trace -o "$scratch/t.json" && python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$scratch/t.json" 2>"$scratch/log"
result $? "a name with quotes and escapes is JSON"

# --- what other programs make of recorded sessions ---
for name in torch kernels graph; do
    "$W" import "tests/flow/h200-$name.wscap" >/dev/null
    "$W" report --json >"$scratch/report.json"
    "$W" export --format chrome-trace -o "$scratch/$name.json"
    "$check" chrome "$scratch/$name.json" "$scratch/report.json" >"$scratch/log" 2>&1
    result $? "the trace of h200-$name is one, with the report's times: $(head -c 200 "$scratch/log")"
    "$W" export --format pprof -o "$scratch/$name.pb.gz"
    total=$(jq '[.kernels[] | .duration.total // 0] | add * 1e9 | round' "$scratch/report.json")
    "$check" pprof "$scratch/$name.pb.gz" >"$scratch/log" 2>&1
    sum=$(awk '$1 == "sample" {s += $3} END {printf "%.0f", s}' "$scratch/log")
    [ $((sum - total)) -le 200 ] && [ $((total - sum)) -le 200 ] && [ "$total" -gt 0 ]
    result $? "the profile of h200-$name adds up to the report's time ($sum ns)"
done
# The model tells what each line did: the profile has it, summed as the database has it.
WARPSIGHT_DB="$scratch/lines" "$W" kernels model gemv >/dev/null 2>"$scratch/log"
WARPSIGHT_DB="$scratch/lines" "$W" export --format pprof -o "$scratch/lines.pb.gz" && "$check" pprof "$scratch/lines.pb.gz" >"$scratch/log" 2>&1
want=$(sqlite3 "$scratch/lines" 'SELECT sum(runs), sum(sectors) FROM instruction' | tr '|' ' ')
[ "$(awk '$1 == "sample" {i += $4; s += $5} END {printf "%.0f %.0f", i, s}' "$scratch/log")" = "$want" ] && grep -qE '^sample 0 0 [1-9][0-9]* [1-9][0-9]* gemv<64>:[1-9]' "$scratch/log" && grep -q '^types .*instructions/count sectors/count' "$scratch/log"
result $? "lines of the source with their instructions and sectors ($want)"
"$W" export h200-kernels --format chrome-trace -k vec_add -o "$scratch/one.json" && "$W" export torch --format pprof -k softmax_warp_forward -o "$scratch/one.pb.gz" 2>"$scratch/log"
"$check" pprof "$scratch/one.pb.gz" 2>&1 | grep -c '^sample' | grep -qx 1
result $? "--kernel keeps one kernel"

# --- the commands of the page ---
mkdir -p "$scratch/page/bin"
real=(tests/gpu/results/*-h200-ncu-details.csv.gz)
cp "${real[-1]}" "$scratch/page/ncu-details.csv.gz"
python3 tests/flow/make_nsys.py "$scratch/page/nsys.sqlite"
ln -sf "$W" "$scratch/page/bin/warpsight"
while IFS= read -r command; do
    (cd "$scratch/page" && PATH="$scratch/page/bin:$PATH" bash -c "$command") >"$scratch/log" 2>&1
    result $? "docs/exports.md: $command"
done < <(awk '/^```sh/ {on = 1; next} /^```/ {on = 0} on' docs/exports.md)
[ "$(find "$scratch/page" -type f -size +100c | wc -l)" -eq 7 ]
result $? "and each export left its file"

# --- memory does not follow the size ---
rss() { # LAUNCHES: peak memory in MiB of the export, and its size in bytes
    "$B/flow/make_capture" "$scratch/long.wscap" --launches "$1"
    WARPSIGHT_DB="$scratch/long$1" "$W" import "$scratch/long.wscap" >/dev/null
    WARPSIGHT_DB="$scratch/long$1" python3 - "$W" "$scratch/long.json" <<'PY'
import os, subprocess, sys
child = subprocess.Popen([sys.argv[1], "export", "--format", "chrome-trace", "-o", sys.argv[2]])
_, status, usage = os.wait4(child.pid, 0)
if status == 0:
    print(usage.ru_maxrss // 1024, os.path.getsize(sys.argv[2]))
PY
}
read -r few _ < <(rss 30000)
read -r many bytes < <(rss 150000)
echo "$few MiB, then $many MiB for $bytes bytes" >"$scratch/log"
if [ -n "${SAN:-}" ]; then
    [ "${bytes:-0}" -gt 100000000 ]
    result $? "a long session leaves under a sanitizer"
else
    [ "${bytes:-0}" -gt 100000000 ] && [ "$many" -le $((few + 16)) ] && [ "$many" -lt 64 ]
    result $? "a trace of ${bytes:-0} bytes took $many MiB, a fifth of it $few MiB"
fi
[ "$(tail -n 1 "$scratch/long.json")" = "$(tail -n 1 "$scratch/few.chrome.json")" ] && [ "$(grep -c '"ph":"f"' "$scratch/long.json")" -eq $((150000 + 15000)) ]
result $? "and is whole: each launch and copy has its flow"
exit $status
