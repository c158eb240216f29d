#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_http.sh: the daemon over real sockets: daemon_test.py has the tests.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}"
export B=$(realpath "$B")
if ! command -v python3 >/dev/null; then
    echo "skip: no python3"
    echo "SKIP test_http"
    exit 77
fi
if [ -z "${WS_SCRATCH:-}" ]; then
    WS_SCRATCH=$(mktemp -d)
    export WS_SCRATCH
    trap 'rm -rf "$WS_SCRATCH"' EXIT
fi
python3 tests/web/daemon_test.py "$@"
