#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh: runs every test program that was built and every tests/*/test_*.sh, and counts their
# PASS / FAIL / SKIP lines. Called by `make test` with B = build folder; arguments pick tests by name.
# A test that prints no line at all, or ends with a status other than 0, 1 or 77, is a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${B:=build}"
export B SAN="${SAN:-}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
# No test may read or write the user's own database or spool.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool" WS_SCRATCH="$scratch"
passed=0 failed=0 skipped=0
for test in "$B"/tests/test_* tests/*/test_*.sh; do
    [ -x "$test" ] && [ -f "$test" ] || continue
    name=$(basename "$test" .sh)
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    log="$scratch/$name.log"
    start=$SECONDS
    timeout -k 5 "${WS_TEST_TIMEOUT:-900}" "$test" >"$log" 2>&1
    status=$?
    p=$(grep -c '^PASS ' "$log") f=$(grep -c '^FAIL ' "$log") s=$(grep -c '^SKIP ' "$log")
    if [ $((p + f + s)) -eq 0 ] || { [ $status -ne 0 ] && [ $status -ne 77 ] && [ "$f" -eq 0 ]; }; then
        f=$((f + 1))
        echo "FAIL $name (exit status $status)" >>"$log"
    fi
    printf '%-34s %4d passed %3d failed %3d skipped %4d s\n' "$name" "$p" "$f" "$s" $((SECONDS - start))
    if [ "$f" -ne 0 ]; then # the end of its output, and the failures that stood before that
        head -n -60 "$log" | grep -E '^FAIL ' | cut -c1-600 | sed 's/^/    /'
        tail -n 60 "$log" | sed 's/^/    /'
    fi
    [ "$s" -eq 0 ] || grep -E '^(SKIP |skip: )' "$log" | sort | uniq -c | sort -rn | head -4 | sed 's/^ */    /'
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
