#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_fuzz.sh: every fuzz program for a few seconds on the seeds and on what it makes of them; `make fuzz` sets
# FUZZ_SECONDS for a long run. A failing input stays in $B/fuzz/<name>.crash-…: make a test of it.
set -u
cd "$(dirname "$0")/../.." || exit 1
B="${B:-build}"
seconds=${FUZZ_SECONDS:-3}
status=0
found=0
for program in "$B"/fuzz/fuzz_*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    found=1
    name=$(basename "$program")
    corpus="$B/fuzz/corpus-$name"
    mkdir -p "$corpus"
    seeds=$(mktemp -d)
    if [ "$name" = fuzz_lines ]; then
        cp tests/fake_cupti/sampled.cubin "$seeds"
        printf 'x.text.k:\n        /*0010*/  @!P0 BRA `(.L_x_0) ;\n\t\tFunction : k\n        /*0020*/  EXIT ;  /* 0x000000000000794d */\n' >"$seeds/sass"
    fi
    [ "$name" != fuzz_fatbin ] || cp tests/cudart/*.fatbin "$seeds"
    # What earlier runs found worth keeping, a file an input; a crash that was mended belongs here, too.
    [ -d "tests/fuzz/corpus/$name" ] && cp "tests/fuzz/corpus/$name"/* "$seeds/"
    # One capture as it is (raw bytes), and its payloads with a header to be made (how fuzz_wire.c reads them).
    if [ "$name" = fuzz_wire ] && [ -x "$B/flow/make_capture" ] && "$B/flow/make_capture" "$seeds/whole"; then
        { printf '\000\377'; tail -c +65 "$seeds/whole"; } >"$seeds/raw"
        { printf '\014\377'; tail -c +65 "$seeds/whole"; } >"$seeds/shown"
        python3 - "$seeds" <<'PY' 2>/dev/null
import struct, sys
folder = sys.argv[1]
data = open(folder + "/whole", "rb").read()
out, at = bytearray(b"\x01\xff"), 64
while at + 28 <= len(data) and data[at:at + 4] == b"WWSF":
    kind, flags, length = struct.unpack_from("<HHI", data, at + 4)
    if length < 1024:
        out += struct.pack("<BBH", kind, flags & 1, length) + data[at + 28:at + 28 + length]
    at += 28 + length
open(folder + "/sealed", "wb").write(out)
PY
        rm -f "$seeds/whole"
    fi
    if [ "$name" = fuzz_http ]; then
        token=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        printf 'GET\n/api/v1/sessions/1/kernels?sort=-mean&filter=a%%20b&limit=5\nHost: localhost:7750\nAuthorization: Bearer %s' $token >"$seeds/api"
        printf 'PUT\n/api/v1/sessions/1/note\nHost: [::1]:7750\nCookie: warpsight_7750=%s\nX-WarpSight: 1\nContent-Type: application/json\nContent-Length: 9\nOrigin: http://127.0.0.1:7750' $token >"$seeds/put"
        printf 'GET\n/sessions/1?token=%s&x=1\nHost: 127.0.0.1:7750\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document' $token >"$seeds/page"
    fi
    if [ "$name" = fuzz_text ]; then
        for f in kernels/*.expect; do { printf '\000'; cat "$f"; } >"$seeds/${f##*/}"; done
        sed -n 's/^WS_EXPR([^"]*"[^"]*", *[A-Z_0-9]*, *"\([^"]*\)".*/\1/p' analyzer/metrics.def | while read -r f; do
            printf '\001%s' "$f" >"$seeds/formula-$(printf %s "$f" | cksum | tr ' ' -)"
        done
    fi
    # Seeds of both pages of Nsight Compute, and a small export of Nsight Systems.
    if [ "$name" = fuzz_import_ncu ] || [ "$name" = fuzz_ncu ]; then
        zcat tests/gpu/results/*-ncu-details.csv.gz | grep -A 60 '^"ID"' >"$seeds/details"
        printf '"ID","Process ID","Kernel Name","Block Size","Grid Size","Device","CC","gpu__time_duration.sum","launch__registers_per_thread"\n"","","","","","","","us","register/thread"\n"0","1","k(int)","(256, 1, 1)","(8, 1, 1)","0","9.0","62.53","16"\n' >"$seeds/raw"
    fi
    [ "$name" != fuzz_import_nsys ] || python3 tests/flow/make_nsys.py "$seeds/nsys" small 2>/dev/null
    length=16384
    [ "$name" != fuzz_import_nsys ] || length=65536
    if "$program" -max_total_time="$seconds" -max_len=$length -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$B/fuzz/$name." "$corpus" "$seeds" >"$B/fuzz/$name.log" 2>&1; then
        echo "PASS $name: $(grep -o 'number_of_executed_units: *[0-9]*' "$B/fuzz/$name.log" | tr -s ' ')"
    else
        echo "FAIL $name: $(grep -E 'ERROR|SUMMARY|not true|Test unit written' "$B/fuzz/$name.log" | head -4 | tr '\n' ' ')"
        status=1
    fi
    rm -rf "$seeds"
done
[ $found -eq 1 ] || { echo "SKIP fuzz: no fuzz program in this build"; exit 77; }
exit $status
