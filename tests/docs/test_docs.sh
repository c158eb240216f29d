#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_docs.sh: the documentation against the program: commands in ```sh blocks are run, commands in the text have only
# options and list names that exist, links lead somewhere, the reference pages are those of the tables.
set -u
cd "$(dirname "$0")/../.." || exit 1
export B="${B:-build}"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/docs.XXXXXX")
trap '"$B/warpsight" serve --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_DB="$scratch/db"
python3 tests/docs/check_docs.py "$scratch"
status=$?
mkdir "$scratch/pages"
python3 tests/docs/reference_pages.py "$B/warpsight" "$scratch/pages"
for page in metrics rules; do
    if cmp -s "docs/$page.md" "$scratch/pages/$page.md"; then
        echo "PASS docs/$page.md is what the tables say"
    else
        echo "FAIL docs/$page.md is not what the tables say: make docs"
        status=1
    fi
done
exit $status
