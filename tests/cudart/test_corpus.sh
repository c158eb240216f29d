#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_corpus.sh: what users write (corpus/*.cu: 20 kernels, and libraries' headers), for every compute capability that nvcc
# compiles to PTX, optimised, with -use_fast_math and as a debug build; each must give the CPU's answers under the model.
# Slow (ten minutes of nvcc on two cores): only with WS_SLOW=1. WS_CORPUS_ARCHS="90" picks capabilities.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
skip() { echo "SKIP corpus ($1)"; exit 77; }
[ -n "${WS_SLOW:-}" ] || skip "slow: WS_SLOW=1 runs it"
nvcc=${NVCC-$(command -v nvcc)}
[ -n "$nvcc" ] || skip "no nvcc"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/corpus.db WARPSIGHT_SPOOL=$scratch/spool
failed=0

# One program: NAME ARCH OPTION. Every check of it says ok, none is refused, nothing is reported as an error.
one() {
    local name="$1_sm_$2${3//-/_}" program=$scratch/program
    if ! "$nvcc" -std=c++17 --extended-lambda -lineinfo -Wno-deprecated-gpu-targets -cudart shared \
        -gencode "arch=compute_$2,code=compute_$2" "$3" "tests/cudart/corpus/$1.cu" -o "$program" >"$scratch/err" 2>&1; then
        echo "FAIL corpus_${name}_compiles"
        head -20 "$scratch/err"
        failed=1
        return
    fi
    "$B/warpsight" run --model "$program" >"$scratch/out" 2>"$scratch/err"
    if [ $? -eq 0 ] && grep -q ' ok$' "$scratch/out" && ! grep -q ' WRONG$' "$scratch/out" &&
        ! grep -qE 'not modelled|== error' "$scratch/err"; then
        echo "PASS corpus_$name ($(grep -c ' ok$' "$scratch/out") answers)"
    else
        echo "FAIL corpus_$name"
        grep ' WRONG$' "$scratch/out"
        head -20 "$scratch/err"
        failed=1
    fi
}
for source in tests/cudart/corpus/*.cu; do
    program=$(basename "$source" .cu)
    for arch in ${WS_CORPUS_ARCHS:-75 80 86 89 90}; do
        for option in -O3 -use_fast_math -G; do
            [ "$program" = libraries ] && [ "$arch$option" != 90-O3 ] && continue # a minute of nvcc each
            one "$program" "$arch" "$option"
        done
    done
done
exit $failed
