#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_aarch64.sh: the SIMT model compiled for aarch64 and run by qemu-user: opcodes, counts, checks and samples are
# held against the same known answers as here. Slow (a minute): only with WS_SLOW=1.
# Needs aarch64-linux-gnu-gcc and qemu-aarch64 (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user).
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
skip() { echo "SKIP aarch64 ($1)"; exit 77; }
[ -n "${WS_SLOW:-}" ] || skip "slow: WS_SLOW=1 runs it"
command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc"
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "no qemu-aarch64"
echo 'int main(void) { return 0; }' | aarch64-linux-gnu-gcc -static -x c - -o /dev/null 2>/dev/null || skip "no C library for aarch64"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cross=(aarch64-linux-gnu-gcc -O2 -std=c11 -D_GNU_SOURCE -I. -I"$B/gen" -ffp-contract=off -fno-strict-aliasing)

# Only what the model needs: emit.c is about frames, not about execution.
compile() {
    local source
    for source in analyzer/*.c analyzer/rules/*.c collector/model/*.c; do
        [ "$source" = collector/model/emit.c ] && continue
        "${cross[@]}" -c "$source" -o "$scratch/$(echo "$source" | tr / _).o" || return 1
    done
    aarch64-linux-gnu-ar rcs "$scratch/libmodel.a" "$scratch"/*.o
}
if compile 2>"$scratch/err"; then
    echo "PASS aarch64_model_compiles"
else
    echo "FAIL aarch64_model_compiles"
    head -20 "$scratch/err"
    exit 1
fi

failed=0
for test in test_access test_model_exec test_model_check test_model_sample test_model_programs; do
    if ! "${cross[@]}" -static "tests/unit/$test.c" "$scratch/libmodel.a" -lpthread -lm -ldl -o "$scratch/$test" 2>"$scratch/err"; then
        echo "FAIL aarch64_$test (does not link)"
        head -20 "$scratch/err"
        failed=1
    elif "$qemu" "$scratch/$test" >"$scratch/out" 2>&1; then
        echo "PASS aarch64_$test ($(grep -c ^PASS "$scratch/out") tests)"
    else
        echo "FAIL aarch64_$test"
        grep -v ^PASS "$scratch/out" | head -20
        failed=1
    fi
done
exit $failed
