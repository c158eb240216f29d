# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh: what every test here opens with: . "$(dirname "$0")/lib.sh" NAME. It skips (77) where there is no collector, makes
# a folder of the test's own with database and spool, and has the words in which the tests speak. `exit $failed` ends them.
# A test may set `brief` (jq: what a false claim shows), `defs` (jq: before each claim) and redefine seen() and at_exit().
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${B:=build}"
fake=$PWD/$B/fake ws=$PWD/$B/warpsight app=$PWD/$B/fake/fake_app here=$PWD/tests/fake_cupti
preloaded=$PWD/$B/libwarpsight.so
if [ ! -x "$app" ] || [ ! -f "$B/libwarpsight-cupti.so" ]; then
    echo "SKIP $1: no CUPTI headers, so there is no collector library"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/$1.XXXXXX")
at_exit() { :; }
trap 'at_exit; chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_CUPTI="$fake" FAKE_CUPTI_LOG="$scratch/calls"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0"
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH LD_PRELOAD RANK WARPSIGHT_SESSION WARPSIGHT_NAME WARPSIGHT_SET WARPSIGHT_STALLS WARPSIGHT_START
# The interpreter itself: a version manager's wrapper takes ten times as long.
python=$(python3 -c 'import sys; print(sys.executable)')
failed=0 status=0 took_ms=0 brief=. defs=

seen() { :; }
# check NAME STATUS [DETAIL]: what failed shows the detail, and what seen() has to say.
check() {
    if [ "$2" -eq 0 ]; then
        echo "PASS $1"
    else
        echo "FAIL $1: ${3:-} $(seen)"
        failed=1
    fi
}

fresh() { rm -rf "$WARPSIGHT_DB"* "$WARPSIGHT_SPOOL" "$FAKE_CUPTI_LOG" "$scratch"/{end,out}; }

# facts: facts.json of what lies in the spool.
facts() { find "$WARPSIGHT_SPOOL" -name '*.open' -o -name '*.done' 2>/dev/null | sort | xargs -r "$fake/dump" | "$python" "$here/facts.py" >"$scratch/facts.json"; }

# profile MODE [ARGUMENT]: the program under the collector by plain preload: facts.json, out, err, $status and $took_ms.
profile() {
    local start
    rm -rf "$WARPSIGHT_SPOOL" "$FAKE_CUPTI_LOG"
    start=$(date +%s%N)
    LD_PRELOAD="$preloaded" timeout -k 2 60 "$app" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    took_ms=$((($(date +%s%N) - start) / 1000000))
    facts
}

# claim NAME JQ: it holds of facts.json, and the fake saw no call out of order.
claim() {
    if grep -q '^violation' "$FAKE_CUPTI_LOG" 2>/dev/null; then
        check "$1" 1 "$(grep '^violation' "$FAKE_CUPTI_LOG" | sort | uniq -c | head -3 | tr '\n' '~')"
    else
        jq -e "$defs $2" "$scratch/facts.json" >/dev/null 2>"$scratch/jq"
        check "$1" $? "not true: $2 $(head -1 "$scratch/jq") $(jq -c "$brief" "$scratch/facts.json" | head -c 1000)"
    fi
}
