#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_loss.sh: kill -9 at random points of the program, of the ingest and of the daemon: loss.py has the tests.
# FAULT_POINTS (20) is how many points each; `make faults` runs the long form.
set -u
cd "$(dirname "$0")/../.." || exit 1
export B="${B:-build}"
command -v python3 >/dev/null || { echo "SKIP loss: no python3"; exit 77; }
[ -f "$B/faults/shim.so" ] || { echo "SKIP loss: shim.so is not built"; exit 77; }
exec python3 tests/faults/loss.py
