#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_failing.sh: calls that fail, once or from then on always, in CLI, daemon and collector: failing.py has the tests.
# FAULT_POINTS (20) is how many points each; `make faults` runs the long form.
set -u
cd "$(dirname "$0")/../.." || exit 1
export B="${B:-build}"
command -v python3 >/dev/null || { echo "SKIP failing: no python3"; exit 77; }
[ -f "$B/faults/shim.so" ] || { echo "SKIP failing: shim.so is not built"; exit 77; }
exec python3 tests/faults/failing.py
