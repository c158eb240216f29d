#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_explain.sh: `warpsight explain` has a whole page for every rule, metric and stall reason; `list rules`.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="${B:-build}/warpsight"
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }

rules=$("$W" list rules | awk '{print $1}')
if [ "$(printf '%s\n' "$rules" | wc -l)" -eq 40 ]; then ok "list rules has forty rows"; else bad "list rules has forty rows" "$rules"; fi

missing=
for rule in $rules; do
    page=$("$W" explain "$rule") || missing="$missing $rule"
    for heading in 'What it sees' 'Why it matters' 'Advice' 'Estimated gain' 'When it does not apply' 'Bad twin' 'Good twin' 'Source'; do
        printf '%s\n' "$page" | grep -q "^$heading" || missing="$missing $rule:$heading"
    done
    [ "$(printf '%s\n' "$page" | awk 'length > 80' | wc -l)" -eq 0 ] || missing="$missing $rule:wide"
done
if [ -z "$missing" ]; then ok "every rule has a whole page"; else bad "every rule has a whole page" "$missing"; fi

if [ "$("$W" explain w05)" = "$("$W" explain W05-bank-conflicts)" ]; then ok "a rule is found by number and by name"; else bad "a rule is found by number and by name" ""; fi
if "$W" explain gld_sectors_per_request | grep -q 'gld_sectors / gld_requests'; then ok "a metric shows its formula"; else bad "a metric shows its formula" ""; fi
if "$W" explain not_selected | grep -qi 'nothing to fix'; then ok "not_selected is no stall"; else bad "not_selected is no stall" ""; fi

# What is said to be gained is what the committed scorecard of an H200 says.
table=$(ls tests/gpu/results/*-scorecard.txt | tail -1)
if "$W" explain W05 --json | python3 -c '
import json, sys
want = [l.split() for l in open(sys.argv[1]) if l.startswith("W05 ")]
got = json.load(sys.stdin)["measured_gains"]
assert len(want) >= 2 and [(w[1], w[2], w[3], w[5]) for w in want] == [(g["bad"], g["good"], "%.1f" % (100 * g["estimated"]), "%.1f" % (100 * g["measured"])) for g in got]
' "$table" && "$W" explain W05 | grep -qE '^    transpose_tile<32> -> transpose_tile<33>: [0-9.]+ %, estimated [0-9.]+ %$' && ! "$W" explain W13 | grep -q 'Measured gain'; then
    ok "a rule says what its good twin gained"
else
    bad "a rule says what its good twin gained" "$("$W" explain W05 | tail -8)"
fi

for name in W99 W0 long_scorebord nonsense ''; do
    out=$("$W" explain "$name" 2>&1 >/dev/null)
    code=$?
    if [ $code -eq 2 ] && [ "$(printf '%s\n' "$out" | wc -l)" -eq 1 ]; then ok "refused: '$name'"; else bad "refused: '$name'" "exit $code, $out"; fi
done
if "$W" explain long_scorebord 2>&1 | grep -q "'long_scoreboard'"; then ok "a slip gets the nearest name"; else bad "a slip gets the nearest name" ""; fi

if command -v python3 >/dev/null; then
    if "$W" list rules --json | python3 -c '
import json, sys
rules = json.load(sys.stdin)["rules"]
assert len(rules) == 40 and all(r["advice"] and r["source"] and r["scope"] in ("kernel", "timeline") for r in rules)
' && "$W" explain barrier --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["is_stall"]'; then
        ok "the JSON of rules and stalls reads"
    else
        bad "the JSON of rules and stalls reads" ""
    fi
else
    echo "SKIP the JSON of rules and stalls reads: no python3"
fi
exit $status
