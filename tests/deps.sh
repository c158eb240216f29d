#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deps.sh: installs, by apt, exactly the Debian packages that are missing, and says which.
# usage: tests/deps.sh [build|test|lint]     build: what make and make demo need; test (default) adds what the tests
# need, lint what only `make lint` and the tests against other people's programs (tests/fleet, tests/consumers) need: they skip without
# Nothing is done when nothing is missing, so that `make test` works without network or rights then.
set -u
cd "$(dirname "$0")/.." || exit 1
need=(gcc g++ make pkg-config git libsqlite3-dev libcjson-dev libmicrohttpd-dev zlib1g-dev libpq-dev)
[ "${1:-test}" = build ] || need+=(python3 curl jq gnuplot-nox sqlite3 clang libclang-rt-14-dev libjemalloc2 libtcmalloc-minimal4)
[ "${1:-test}" = lint ] && need+=(clang-format clang-tidy postgresql prometheus golang-go)
# Browser tests need node 20 (Debian 12 has 18: there they skip); with it, a browser and the pinned packages.
has_node=0
if [ "${1:-test}" != build ] && command -v node >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] && [ -f web/package-lock.json ]; then
    has_node=1
    need+=(chromium)
fi
missing=()
if command -v dpkg-query >/dev/null; then
    for p in "${need[@]}"; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
    done
elif pkg-config --exists sqlite3 libcjson libmicrohttpd 2>/dev/null; then
    exit 0 # not Debian: what counts is whether the build finds its libraries
else
    echo "deps: not a Debian system; install what gives pkg-config sqlite3, libcjson and libmicrohttpd" >&2
    exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "deps: missing: ${missing[*]}; run 'make deps' as root" >&2; exit 1; }
        as_root=(sudo)
    fi
    echo "deps: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    install() { "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
    # Package lists may be absent on a fresh machine: try once as things are, then with new lists.
    install || { "${as_root[@]}" apt-get update >>"$log" 2>&1 && install; } || {
        tail -5 "$log" >&2
        echo "deps: apt-get could not install ${missing[*]}" >&2
        exit 1
    }
fi
if [ $has_node -eq 1 ] && [ web/package-lock.json -nt web/node_modules/.package-lock.json ]; then
    echo "deps: npm ci in web/ (browser tests)"
    (cd web && npm ci --no-audit --no-fund >"$log" 2>&1) || echo "deps: npm ci failed; browser tests will be skipped: $(tail -1 "$log")"
fi
