#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_claims.sh: docs/security.md and docs/reliability.md name a test for each claim: each of these exists.
set -u
cd "$(dirname "$0")/../.." || exit 1
missing=''
found=0
# `a_sentence_of_several_words`: a unit test or one of daemon_test.py, failing.py, loss.py
for name in $(grep -ohE '`[a-z0-9]+(_[a-z0-9]+){3,}`' docs/security.md docs/reliability.md | tr -d '`' | sort -u); do
    found=$((found + 1))
    grep -qrE "(TEST\(|def )$name\(?\)?" tests --include='*.c' --include='*.py' || missing+="$name "
done
# fuzz_x, test_x: a program
for name in $(grep -ohE '\b(fuzz|test)_[a-z_]+\b' docs/security.md docs/reliability.md | sort -u); do
    case $name in *_test) continue ;; esac
    found=$((found + 1))
    [ -n "$(find tests -name "$name.c" -o -name "$name.sh")" ] || missing+="$name "
done
# hazards: `words of a PASS line`
while read -r name; do
    found=$((found + 1))
    grep -qF "\"$name\"" tests/preload/test_hazards.sh || missing+="'$name' "
done < <(grep -oE 'hazards: (`[^`]+`(, )?)+' docs/security.md | grep -oE '`[^`]+`' | tr -d '`')
if [ -z "$missing" ] && [ $found -gt 40 ]; then
    echo "PASS every_claim_of_the_docs_has_its_test ($found)"
else
    echo "FAIL every_claim_of_the_docs_has_its_test: of $found, these do not exist: $missing"
    exit 1
fi
