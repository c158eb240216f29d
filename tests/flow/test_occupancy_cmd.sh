#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_occupancy_cmd.sh: the command line of `warpsight occupancy`: answers, bad input, JSON. Needs no GPU.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="${B:-build}/warpsight"
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }

# what is asked, blocks, warps, limiter
answers='
--cc 9.0 --threads 256 --regs 64 --smem 48K|4|32|registers
--cc 9.0 --threads 256 --regs 32 --smem 49152|4|32|shared
--cc 9.0 --threads 256|8|64|warps
--cc 8.6 --threads 32 --regs 16|16|16|blocks
--cc 12.1 --threads 1024 --regs 64|1|32|warps
--cc 9.0 --threads 1024 --regs 65|0|0|registers
--cc 9.0 --threads 256 --smem 228K|0|0|shared
--cc 9.0 --threads 256 --cluster 32|0|0|cluster
--cc 8.0 --threads 256 --cluster 2|0|0|cluster
--cc 9.0 --threads 64 --barriers 16|4|8|barriers
--cc 9.0 --threads 128 --smem 15K --carveout 64K|4|16|shared
--cc 9.0 --threads 128 --smem 15K --carveout 28%|4|16|shared
'
while IFS='|' read -r arguments blocks warps limiter; do
    [ -n "$arguments" ] || continue
    # shellcheck disable=SC2086
    out=$("$W" occupancy $arguments --json 2>&1)
    code=$?
    want="\"blocks_per_sm\": $blocks, \"warps_per_sm\": $warps, \"limiter\": \"$limiter\""
    got=$(printf '%s\n' "$out" | sed -n 's/^  \("blocks_per_sm": [0-9]*\),$/\1/p; s/^  \("warps_per_sm": [0-9]*\),$/\1/p; s/^  \("limiter": "[a-z]*"\),$/\1/p' | paste -sd, | sed 's/,/, /g')
    if [ $code -eq 0 ] && [ "$got" = "$want" ]; then ok "answer: $arguments"; else bad "answer: $arguments" "exit $code, $got"; fi
done <<<"$answers"

bad_input='
--cc 9.0 --threads 0
--cc 9.0 --threads 1025
--cc 9.0 --threads -1
--cc 9.0 --threads 32x
--cc 9.0 --threads
--cc 9.0
--threads 32
--cc 9.1 --threads 32
--cc 9 --threads 32
--cc 9.0.0 --threads 32
--cc 99999999999.0 --threads 32
--cc 9.0 --threads 32 --smem -1
--cc 9.0 --threads 32 --smem 1e9
--cc 9.0 --threads 32 --smem 99999999999999999999
--cc 9.0 --threads 32 --smem 48Q
--cc 9.0 --threads 32 --smem 17M
--cc 9.0 --threads 32 --smem 0x10
--cc 9.0 --threads 32 --regs 256
--cc 9.0 --threads 32 --regs -1
--cc 9.0 --threads 32 --cluster 0
--cc 9.0 --threads 32 --barriers 17
--cc 9.0 --threads 32 --carveout 101%
--cc 9.0 --threads 32 --carveout 229K
--cc 6.1 --threads 32 --carveout 50%
--cc 9.0 --threads 32 extra
--cc 9.0 --threads 32 --nonsense
'
while read -r arguments; do
    [ -n "$arguments" ] || continue
    # shellcheck disable=SC2086
    out=$("$W" occupancy $arguments 2>&1 >/dev/null)
    code=$?
    if [ $code -eq 2 ] && [ "$(printf '%s\n' "$out" | wc -l)" -eq 1 ] && [ -n "$out" ]; then
        ok "refused: $arguments"
    else
        bad "refused: $arguments" "exit $code, $out"
    fi
done <<<"$bad_input"

if command -v python3 >/dev/null; then
    if "$W" occupancy --cc 9.0 --threads 256 --regs 64 --smem 48K --json | python3 -c '
import json, sys
o = json.load(sys.stdin)
assert o["occupancy"] == 0.5 and o["limiters"] == ["registers", "shared"], o
assert o["limits"] == {"warps": 8, "blocks": 32, "registers": 4, "shared": 4, "barriers": None, "cluster": None}, o
c = o["curves"]
assert [len(c[k]) for k in ("threads", "registers", "shared")] == [32, 31, 228]
assert [p["warps_per_sm"] for p in c["threads"] if p["x"] == 256] == [32]
'; then ok "the JSON holds limits and curves"; else bad "the JSON holds limits and curves" "see above"; fi
else
    echo "SKIP the JSON holds limits and curves: no python3"
fi

if "$W" occupancy --cc 9.0 --threads 256 --regs 64 | grep -q 'limited by    registers'; then ok "text names the limiter"; else bad "text names the limiter" ""; fi
exit $status
