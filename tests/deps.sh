#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deps.sh: installs, by apt, exactly the Debian packages that are missing, and says which.
# Nothing is done when nothing is missing, so that `make test` works without network or rights then.
set -u
need=(gcc make pkg-config libsqlite3-dev libcjson-dev libmicrohttpd-dev zlib1g-dev python3 clang clang-format clang-tidy libclang-rt-14-dev sqlite3 git curl)
missing=()
for p in "${need[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null; then
    # Not Debian: what counts is whether the build finds its libraries.
    pkg-config --exists sqlite3 libcjson libmicrohttpd 2>/dev/null && exit 0
    echo "deps: no apt-get here; install what gives pkg-config sqlite3, libcjson and libmicrohttpd" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "deps: missing: ${missing[*]}; run 'make deps' as root" >&2; exit 1; }
    as_root=(sudo)
fi
echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
# Package lists may be absent on a fresh machine: try once as things are, then with new lists.
install || { "${as_root[@]}" apt-get update >>"$log" 2>&1 && install; } || {
    tail -5 "$log" >&2
    echo "deps: apt-get could not install ${missing[*]}" >&2
    exit 1
}
