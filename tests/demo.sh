#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# demo.sh: the main job on real input, into a database of its own (build/demo).
# With an NVIDIA GPU: profiles the reference kernels here and now. Without one: imports the recorded H200 session
# and says so. usage: demo.sh BUILD_FOLDER
set -eu
cd "$(dirname "$0")/.."
b=${1:-build}
demo=$b/demo
mkdir -p "$demo"
WARPSIGHT_DB=$(realpath "$demo")/warpsight.db
WARPSIGHT_SPOOL=$(realpath "$demo")/spool
export WARPSIGHT_DB WARPSIGHT_SPOOL
capture=tests/flow/h200-kernels.wscap
say() { printf '\n==> %s\n' "$*"; }

if [ -x "$b/warpsight-kernels" ] && [ -e /dev/nvidiactl ]; then
    say "A GPU is here: $b/warpsight run $b/warpsight-kernels all"
    "$b/warpsight" run --name demo "$b/warpsight-kernels" all >"$demo/report.txt" || status=$?
    [ "${status:-0}" -eq 0 ] || { cat "$demo/report.txt"; exit "$status"; }
    cat "$demo/report.txt"
else
    say "No GPU on this machine: showing the session recorded on an NVIDIA H200 ($capture)"
    "$b/warpsight" list sessions 2>/dev/null | grep -q h200-kernels || "$b/warpsight" import "$capture"
    "$b/warpsight" report h200-kernels
fi
