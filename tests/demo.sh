#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# demo.sh: the main job on real input, into a database of its own (build/demo).
# With an NVIDIA GPU: profiles the reference kernels here and now. Without one: imports the recorded H200 session
# and says so, and models the same kernels on this machine's CPU, so that both stand side by side. Then starts the daemon in the background and prints its URL. usage: demo.sh BUILD_FOLDER [replay]
# replay: the recorded session even where a GPU is
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

if [ "${2:-}" != replay ] && [ -x "$b/warpsight-kernels" ] && [ -e /dev/nvidiactl ]; then
    say "A GPU is here: $b/warpsight run $b/warpsight-kernels all"
    "$b/warpsight" run --name demo "$b/warpsight-kernels" all >"$demo/report.txt" || status=$?
    [ "${status:-0}" -eq 0 ] || { cat "$demo/report.txt"; exit "$status"; }
    cat "$demo/report.txt"
else
    say "No GPU on this machine: showing the session recorded on an NVIDIA H200 ($capture)"
    "$b/warpsight" list sessions 2>/dev/null | grep -q h200-kernels || "$b/warpsight" import "$capture"
    "$b/warpsight" report h200-kernels
    # Every bundled file. The big launches run as many whole blocks as fit in 10 M warp instructions, and say so.
    start=$(date +%s%N)
    if "$b/warpsight" kernels model --name demo-model --quiet --json --budget 10M --threads "$(nproc)" >"$demo/model.json" 2>"$demo/model.err"; then
        say "The SIMT model ran all of these kernels on this CPU in $(awk "BEGIN { printf \"%.1f\", ($(date +%s%N) - $start) / 1e9 }") s: session demo-model, labelled modelled; $(grep -c '"sampled": {' "$demo/model.json") launch shapes of $(grep -c '"mangled":' "$demo/model.json") from a part of their blocks (\"k of N blocks\"); compare it with h200-kernels in the browser"
    else
        cat "$demo/model.err"
        exit 1
    fi
fi

say "In the browser (the daemon runs on; the URL holds its token)"
"$b/warpsight" serve --stop >/dev/null 2>&1 || true
"$b/warpsight" serve --background >"$demo/serve.txt" 2>&1 || "$b/warpsight" serve --listen 127.0.0.1:0 --background >"$demo/serve.txt" 2>&1 || {
    cat "$demo/serve.txt"
    exit 1
}
head -n 1 "$demo/serve.txt"
echo "to stop it: WARPSIGHT_DB=$WARPSIGHT_DB $b/warpsight serve --stop"
