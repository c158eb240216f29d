#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_flow.sh: every recorded capture tests/flow/*.wscap becomes the report in FILE.json, byte for byte, and leaves as
# a capture that imports to the same report. `make golden` (WS_WRITE_GOLDEN=1) rewrites the reports: read the diff.
# Only captures recorded on a GPU lie here: synthetic and hostile ones are made by the tests that need them.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="${B:-build}/warpsight"
captures=(tests/flow/*.wscap)
if [ ! -f "${captures[0]}" ]; then
    echo "SKIP recorded captures: there is none in tests/flow yet"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/flow.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool"
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }

# The report of a capture in a database of its own. The program's version is no part of a capture.
report() { # capture, database, output
    WARPSIGHT_DB="$2" "$W" import "$1" >/dev/null && WARPSIGHT_DB="$2" "$W" report --json |
        sed '0,/"warpsight":/s/"version": "[^"]*"/"version": "*"/' >"$3"
}

for capture in "${captures[@]}"; do
    name=$(basename "$capture" .wscap)
    golden="${capture%.wscap}.json"
    if ! report "$capture" "$scratch/$name.db" "$scratch/$name.json" || [ ! -s "$scratch/$name.json" ]; then
        bad "$name imports" "no report"
        continue
    fi
    if [ "${WS_WRITE_GOLDEN:-}" ]; then
        cmp -s "$scratch/$name.json" "$golden" || { cp "$scratch/$name.json" "$golden" && echo "  wrote $golden"; }
    fi
    if cmp -s "$scratch/$name.json" "$golden"; then
        ok "$name has its golden report"
    else
        bad "$name has its golden report" "$(diff "$golden" "$scratch/$name.json" 2>&1 | head -20)"
    fi
    WARPSIGHT_DB="$scratch/$name.db" "$W" export --format capture -o "$scratch/$name.wscap" &&
        report "$scratch/$name.wscap" "$scratch/$name.2.db" "$scratch/$name.2.json"
    if cmp -s "$scratch/$name.json" "$scratch/$name.2.json"; then
        ok "$name exported and imported has the same report"
    else
        bad "$name exported and imported has the same report" "$(diff "$scratch/$name.json" "$scratch/$name.2.json" 2>&1 | head -20)"
    fi
done
exit $status
