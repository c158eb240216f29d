#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_ceilings.sh: `warpsight ceilings` with a stand-in for warpsight-kernels: what it stores, shows and refuses.
# Needs no GPU; the real micro-kernels are proved by tests/gpu.
set -u
cd "$(dirname "$0")/../.." || exit 1
B="${B:-build}"
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }

box=$(mktemp -d "${WS_SCRATCH:-/tmp}/ceilings-XXXXXX")
trap 'rm -rf "$box"' EXIT
cp "$B/warpsight" "$box/"
[ -d "$B/lib" ] && cp -r "$B/lib" "$box/"
export WARPSIGHT_DB="$box/db" WARPSIGHT_SPOOL="$box/spool"
W="$box/warpsight"
# What the stand-in says, and how it ends.
stand_in() {
    printf '#!/bin/sh\n[ "$1" = ceilings ] || exit 2\ncat <<"JSON"\n%s\nJSON\nexit %s\n' "$1" "$2" >"$box/warpsight-kernels"
    chmod +x "$box/warpsight-kernels"
}

out=$("$W" ceilings 2>&1); code=$?
if [ $code -eq 1 ] && printf '%s' "$out" | grep -q 'built where nvcc is'; then ok "without the kernels it says so"; else bad "without the kernels it says so" "$code $out"; fi

out=$("$W" ceilings --show 2>&1 >/dev/null); code=$?
if [ $code -eq 1 ] && printf '%s' "$out" | grep -q 'no GPU was measured'; then ok "nothing stored is said"; else bad "nothing stored is said" "$code $out"; fi

device='"device":{"name":"NVIDIA H200","uuid":"GPU-1","cc":"9.0","sms":132,"driver":13000,"runtime":13000}'
stand_in "{$device,\"ceilings\":[{\"key\":\"dram_read\",\"unit\":\"B/s\",\"method\":\"loads\",\"rate\":4.25e12,\"min\":4.2e12,\"max\":4.3e12,\"clock_hz\":1.7e9,\"repeats\":11},{\"key\":\"tensor_fp8\",\"unit\":\"FLOP/s\",\"method\":\"mma.sync\",\"rate\":null,\"why\":\"not-on-chip\"}]}" 0
out=$("$W" ceilings 2>/dev/null); code=$?
if [ $code -eq 0 ] && printf '%s' "$out" | grep -q '4.25 TB/s' && printf '%s' "$out" | grep -q '1700 MHz' && printf '%s' "$out" | grep -q '13.0'; then ok "measured rates are stored and shown"; else bad "measured rates are stored and shown" "$code $out"; fi
if "$W" ceilings --show --json | python3 -c '
import json, sys
rows = {r["key"]: r for r in json.load(sys.stdin)["ceilings"]}
assert rows["dram_read"]["rate"] == 4.25e12 and rows["dram_read"]["driver"] == 13000, rows
assert rows["tensor_fp8"]["rate"] is None and rows["tensor_fp8"]["why"] == "not-on-chip", rows
'; then ok "JSON shows the same"; else bad "JSON shows the same" ""; fi

stand_in "{$device,\"ceilings\":[{\"key\":\"dram_read\",\"rate\":4.4e12,\"method\":\"\"},{\"key\":\"nonsense\",\"rate\":1,\"method\":\"\"}]}" 0
out=$("$W" ceilings 2>&1); code=$?
if [ $code -eq 1 ] && "$W" ceilings --show --json | grep -q '"rate": 4250000000000'; then ok "an unknown ceiling stores nothing"; else bad "an unknown ceiling stores nothing" "$code $out"; fi

for text in '' 'not json' '{}' "{$device}" "{$device,\"ceilings\":[]}" '{"device":{},"ceilings":[{"key":"fp32","rate":1}]}' "{$device,\"ceilings\":[{\"key\":\"fp32\",\"rate\":-1}]}"; do
    stand_in "$text" 0
    "$W" ceilings >/dev/null 2>"$box/err"; code=$?
    if [ $code -eq 1 ] && grep -q 'warpsight ceilings: ' "$box/err"; then ok "refused: ${text:0:50}"; else bad "refused: ${text:0:50}" "$code $(cat "$box/err")"; fi
done

# How far it is, on a terminal: blanks before the JSON say so.
{
    printf '#!/bin/sh\nprintf "    \\n"\nfor i in 1 2 3 4; do sleep 0.25; echo; done\ncat <<"JSON"\n'
    printf '%s\nJSON\n' "{$device,\"ceilings\":[{\"key\":\"dram_read\",\"rate\":4.3e12,\"method\":\"loads\"}]}"
} >"$box/warpsight-kernels"
python3 - "$W" "$box/seen" <<'PY' && grep -qE $'\r\x1b\\[Kceilings: 2 of 4 micro-kernels, [0-9.]+/s, [01] s left' "$box/seen" && "$W" ceilings --show --json | grep -q '"rate": 4300000000000' && ok "a terminal shows how far the measurement is" || bad "a terminal shows how far the measurement is" "$(head -c 400 "$box/seen" | cat -v)"
import os, pty, subprocess, sys
master, slave = pty.openpty()
child = subprocess.Popen([sys.argv[1], "ceilings"], stdout=subprocess.DEVNULL, stderr=slave, env=dict(os.environ, TERM="xterm"))
os.close(slave)
seen = b""
try:
    while part := os.read(master, 4096):
        seen += part
except OSError: # the other side is closed
    pass
open(sys.argv[2], "wb").write(seen)
sys.exit(child.wait())
PY
stand_in '' 77
out=$("$W" ceilings 2>&1); code=$?
if [ $code -eq 1 ] && printf '%s' "$out" | grep -q 'no GPU here'; then ok "no GPU is said"; else bad "no GPU is said" "$code $out"; fi
stand_in '' 1
out=$("$W" ceilings 2>&1); code=$?
if [ $code -eq 1 ] && printf '%s' "$out" | grep -q 'good end'; then ok "a failed measurement is said"; else bad "a failed measurement is said" "$code $out"; fi
"$W" ceilings extra >/dev/null 2>&1; [ $? -eq 2 ] && ok "operands are refused" || bad "operands are refused" "$?"
exit $status
