#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_real_cupti.sh: NVIDIA's own libcupti and CUDA runtime on a machine without a driver: programs run on unchanged
# and the report says why nothing was collected. (With a driver the same programs must be unchanged as well.)
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}" "${CUDA_HOME:=/usr/local/cuda}"
ws=$PWD/$B/warpsight
if [ ! -f "$B/libwarpsight-cupti.so" ]; then
    echo "SKIP real CUPTI: no CUPTI headers, so there is no collector library"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/real.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0"
unset WARPSIGHT_CUPTI CUDA_INJECTION64_PATH LD_PRELOAD
failed=0
same() { # same NAME COMMAND…: run without and with us; sets $status
    local name=$1 plain
    shift
    timeout 60 "$@" >"$scratch/plain.out" 2>"$scratch/plain.err" </dev/null
    plain=$?
    timeout 60 "$ws" run -o "$scratch/capture" -f "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    if [ $status = $plain ] && cmp -s "$scratch/out" "$scratch/plain.out" &&
        grep -v '^==WARPSIGHT== ' "$scratch/err" | cmp -s - "$scratch/plain.err"; then
        echo "PASS $name"
    else
        echo "FAIL $name: status $status, want $plain; stderr: $(head -5 "$scratch/err" | tr '\n' '~')"
        failed=1
    fi
}
holds() { # holds NAME JQ: of the newest session's report
    "$ws" report --json >"$scratch/report.json" 2>"$scratch/err"
    if jq -e "$2" "$scratch/report.json" >/dev/null 2>&1; then
        echo "PASS $1"
    else
        echo "FAIL $1: $(jq -c '.warnings' "$scratch/report.json" | head -c 500)"
        failed=1
    fi
}
has_driver=0
ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1 ' && has_driver=1

nvcc=$CUDA_HOME/bin/nvcc
[ -x "$nvcc" ] || nvcc=$(command -v nvcc)
if [ -n "$nvcc" ] && [ -x "$nvcc" ]; then
    cat >"$scratch/hello.cu" <<'END'
#include <cstdio>
__global__ void set(int *p) { *p = 7; }
int main()
{
    int *p = nullptr, v = 0;
    cudaError_t e = cudaMalloc(&p, 4);
    printf("cudaMalloc: %s\n", cudaGetErrorName(e));
    if (e != cudaSuccess)
        return 3;
    set<<<1, 32>>>(p);
    cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost);
    fprintf(stderr, "%d\n", v);
    return v == 7 ? 0 : 4;
}
END
    if "$nvcc" -cudart static -Wno-deprecated-gpu-targets -o "$scratch/hello" "$scratch/hello.cu" 2>"$scratch/nvcc.err"; then
        same "a program with the static CUDA runtime runs unchanged" "$scratch/hello"
        if [ $has_driver = 0 ]; then
            holds "without a driver the report says so" 'any(.warnings[]; .code == "no-driver") and .kernels == []'
        else
            holds "with a driver the kernel is seen" '.kernels | length > 0'
        fi
    else
        echo "SKIP a program with the static CUDA runtime: nvcc does not link here: $(head -1 "$scratch/nvcc.err")"
    fi
else
    echo "SKIP a program with the static CUDA runtime: no nvcc"
fi

# The fake driver under the real CUPTI: every call of CUPTI fails in its own way.
cupti=$(find "$CUDA_HOME"/lib64/ "$CUDA_HOME"/extras/CUPTI/lib64/ -maxdepth 1 -name 'libcupti.so.1[0-9]' 2>/dev/null | head -1)
if [ -x "$B/fake/fake_app" ] && [ -n "$cupti" ] && [ $has_driver = 0 ] && [ -z "${SAN:-}" ]; then
    export WARPSIGHT_CUPTI=$cupti
    same "the real CUPTI without a real driver does no harm" "$PWD/$B/fake/fake_app" basic 5
    holds "and the report names the call that failed" '.kernels == [] and any(.warnings[]; .message | test("cupti[A-Z].* answered [0-9]+"))'
    same "nor in a program with threads" "$PWD/$B/fake/fake_app" threads
    same "nor in one that forks" "$PWD/$B/fake/fake_app" fork-after
else
    echo "SKIP the real CUPTI without a real driver: needs libcupti, no driver and no sanitizer"
fi
exit $failed
