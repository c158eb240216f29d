#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_lines.sh: the lines that line_table.c finds for every instruction are those of CUPTI's own call
# (cuptiGetSassToSourceCorrelation, which needs no GPU), for reference kernels compiled here: templates, inlined
# functions, headers, several kernels in a cubin.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}" "${CUDA_HOME:=/usr/local/cuda}"
: "${NVCC:=$CUDA_HOME/bin/nvcc}"
cupti=$(ls "$CUDA_HOME"/{lib64,lib,extras/CUPTI/lib64,targets/x86_64-linux/lib}/libcupti.so.1[3-9] 2>/dev/null | head -1)
if [ ! -x "$B/fake/lines" ] || [ ! -x "$NVCC" ] || [ -z "$cupti" ]; then
    echo "SKIP lines: no nvcc or no libcupti here"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/lines.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/ask.py" <<'PY'
import ctypes, os, sys
cupti = ctypes.CDLL(sys.argv[1])
class Params(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("cubin", ctypes.c_char_p), ("function", ctypes.c_char_p), ("cubin_size", ctypes.c_size_t),
                ("line", ctypes.c_uint32), ("pc", ctypes.c_uint64), ("file", ctypes.c_char_p), ("folder", ctypes.c_char_p)]
cubin = open(sys.argv[2], "rb").read()
for pc in range(0, int(sys.argv[4], 0), 16):
    p = Params(ctypes.sizeof(Params), cubin, sys.argv[3].encode(), len(cubin), 0, pc, None, None)
    r = cupti.cuptiGetSassToSourceCorrelation(ctypes.byref(p))
    path = p.file and os.path.join((p.folder or b"").decode(), p.file.decode())
    print("%x %d %s" % (pc, p.line if r == 0 else 0, path if r == 0 and path else "-"))
PY
status=0
for kernel in transpose reduce_tree matmul; do
    "$NVCC" -cubin -lineinfo -std=c++17 -arch=sm_90 -o "$scratch/$kernel.cubin" "kernels/$kernel.cu" 2>"$scratch/log" || { echo "FAIL $kernel: $(tail -1 "$scratch/log")"; status=1; continue; }
    readelf -sW "$scratch/$kernel.cubin" 2>/dev/null | awk '$4 == "FUNC" && $3 > 0 { print $3, $NF }' >"$scratch/functions"
    n=0
    while read -r bytes name; do
        "$B/fake/lines" "$scratch/$kernel.cubin" "$name" "$bytes" >"$scratch/ours"
        python3 "$scratch/ask.py" "$cupti" "$scratch/$kernel.cubin" "$name" "$bytes" >"$scratch/theirs"
        if [ -s "$scratch/ours" ] && cmp -s "$scratch/ours" "$scratch/theirs"; then
            n=$((n + $(wc -l <"$scratch/ours")))
        else
            echo "FAIL $kernel, $name: $(diff "$scratch/ours" "$scratch/theirs" | head -4 | tr '\n' '~')"
            status=1
        fi
    done <"$scratch/functions"
    [ $n -gt 0 ] && echo "PASS $kernel: $n instructions have the lines that CUPTI gives them" || { echo "FAIL $kernel: no instruction was compared"; status=1; }
done
exit $status
