#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_programs.sh: the host programs H1…H8 as an H200 ran them (tests/flow/programs, written by tests/gpu/run.sh),
# each once traced and once with counters: every line of their .expect files is judged by one of the two and holds.
# launch_storm_* and sync_each_* are left out here: their captures have megabytes of calls.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="${B:-build}/warpsight"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/programs.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_DB="$scratch/db"
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }

sessions=()
for capture in tests/flow/programs/*.wscap; do
    "$W" import "$capture" >/dev/null 2>"$scratch/err" || bad "import $capture" "$(head -1 "$scratch/err")"
    sessions+=("$((${#sessions[@]} + 1))")
done
if "$W" kernels verify --strict "${sessions[@]}" >"$scratch/out" 2>&1; then
    ok "every line of the programs' known answers is judged and holds"
else
    bad "every line of the programs' known answers is judged and holds" "$(grep -E '^(broken|unknown)' "$scratch/out" | head -3)"
fi
[ "${#sessions[@]}" -ge 30 ] && ok "all recorded programs are there" || bad "all recorded programs are there" "${#sessions[@]}"

# One session alone leaves lines open, so that the first check says something.
one=$("$W" list sessions --json | jq '.sessions[] | select(.name == "kernels-verify-managed_first_touch") | .id')
"$W" kernels verify --strict "$one" >"$scratch/out" 2>&1
[ $? -eq 1 ] && grep -q '^unknown .*gld_requests' "$scratch/out" && ok "a traced session alone leaves its counters open" ||
    bad "a traced session alone leaves its counters open" "$(tail -1 "$scratch/out")"
# A known answer that does not hold is seen: the twin's session under the bad program's name.
bad_id=$("$W" list sessions --json | jq '.sessions[] | select(.name == "kernels-verify-pinned_locked") | .id')
sqlite3 "$WARPSIGHT_DB" "UPDATE session SET argv = replace(argv, 'pinned_locked', 'pinned_pageable') WHERE id = $bad_id"
"$W" kernels verify "$bad_id" >"$scratch/out" 2>&1
[ $? -eq 1 ] && grep -q '^broken .*W32' "$scratch/out" && ok "a rule that must fire and does not is broken" ||
    bad "a rule that must fire and does not is broken" "$(tail -1 "$scratch/out")"
exit $status
