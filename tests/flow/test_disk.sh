#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_disk.sh: a disk that is full: one clear line, no half of a session, and all of it once there is space.
# The disk is a tmpfs of this test's own, in a mount namespace of its own: root, or a user namespace.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}"
if [ -z "${WS_OWN_MOUNTS:-}" ]; then
    map=''
    [ "$(id -u)" -eq 0 ] || map=r
    if ! unshare "-m$map" true 2>/dev/null; then
        echo "skip: no mount namespace here"
        echo "SKIP a_full_disk"
        exit 77
    fi
    WS_OWN_MOUNTS=1 exec unshare "-m$map" "$0" "$@"
fi
W=$(realpath "$B/warpsight")
box=$(mktemp -d "${WS_SCRATCH:-/tmp}/disk-XXXXXX")
disk="$box/disk"
trap 'umount "$disk" 2>/dev/null; rm -rf "$box"' EXIT
export WARPSIGHT_DB="$disk/db" WARPSIGHT_SPOOL="$box/spool"
mkdir "$disk"
if ! mount -t tmpfs -o size=40k tmpfs "$disk" 2>/dev/null; then
    echo "skip: no tmpfs can be mounted here"
    echo "SKIP a_full_disk"
    exit 77
fi
status=0
check() { # name, then the reason why it failed, empty if it passed
    if [ -z "$2" ]; then echo "PASS $1"; else printf '%s\nFAIL %s\n' "$2" "$1"; status=1; fi
}
capture=tests/flow/h200-kernels.wscap

# --- import: at every size that is too small the same line ----------------------------------------
problem=''
for size in 40k 100k 200k 300k 400k; do
    mount -o "remount,size=$size" "$disk"
    rm -f "$disk"/*
    out=$("$W" import "$capture" 2>"$box/err"); code=$?
    [ $code -eq 1 ] && [ -z "$out" ] || problem+="$size: status $code, $out"$'\n'
    [ "$(wc -l <"$box/err")" -eq 1 ] && grep -q 'the disk is full: free some space' "$box/err" || problem+="$size: $(cat "$box/err")"$'\n'
done
check import_says_in_one_line_that_the_disk_is_full "$problem"

problem=''
sessions=$("$W" list sessions --json 2>"$box/err" | tr -d ' \n') # the database of the last attempt, still on a full disk
[ "$sessions" = '{"sessions":[]}' ] || problem="there is half of a session: $sessions $(cat "$box/err")"
check nothing_half_is_left_of_it "$problem"

problem=''
mount -o remount,size=20m "$disk"
"$W" import "$capture" >"$box/out" 2>&1 || problem=$(cat "$box/out")
"$W" kernels verify 1 >"$box/out" 2>&1 || problem+=$(tail -1 "$box/out")
check with_space_the_same_import_succeeds "$problem"

# --- the spool: what cannot be stored stays there -------------------------------------------------
writer="$B/web/spool_writer"
if [ -x "$writer" ]; then
    problem=''
    rm -f "$disk"/*
    mount -o remount,size=300k "$disk"
    "$writer" "$WARPSIGHT_SPOOL" many 50000 || problem='the writer failed'
    "$W" list sessions >"$box/out" 2>"$box/err"; code=$?
    [ $code -eq 1 ] && [ "$(wc -l <"$box/err")" -eq 1 ] && grep -q 'the disk is full' "$box/err" || problem+="status $code: $(cat "$box/err")"
    mount -o remount,size=40m "$disk"
    "$W" list sessions --json >"$box/out" 2>"$box/err" || problem+=$(cat "$box/err")
    grep -q '"launches": *50000' "$box/out" || problem+=$(cat "$box/out")
    check the_spool_keeps_what_a_full_disk_refused "$problem"

    # The daemon stores nothing below 512 MiB of free space, and says so; it still reads, and goes on by itself.
    problem=''
    "$W" serve --background --no-token --listen 127.0.0.1:0 >"$box/out" 2>&1 || problem=$(cat "$box/out")
    url=$(head -1 "$box/out")
    "$writer" "$WARPSIGHT_SPOOL" late 1000
    for _ in $(seq 100); do
        health=$(curl -s "${url}healthz"); case $health in *'512 MiB'*) break ;; esac; sleep 0.1
    done
    case $health in *'"reason":"less than 512 MiB are free'*) ;; *) problem+="healthz: $health"$'\n' ;; esac
    [ "$(curl -s -o /dev/null -w '%{http_code}' "${url}healthz")" = 503 ] || problem+='healthz is not 503'$'\n'
    curl -s "${url}api/v1/sessions" | grep -q '"launches":50000' || problem+='reading failed'$'\n'
    out=$("$W" import "$capture" 2>&1); code=$?
    [ $code -eq 1 ] && case $out in *'512 MiB'*) true ;; *) false ;; esac || problem+="import beside it: $code $out"$'\n'
    mount -o remount,size=2g "$disk"
    for _ in $(seq 100); do
        curl -s "${url}api/v1/sessions" | grep -q '"launches":1000[,}]' && break; sleep 0.1
    done
    curl -s "${url}api/v1/sessions" | grep -q '"launches":1000[,}]' || problem+='what came meanwhile is not stored'$'\n'
    [ "$(curl -s -o /dev/null -w '%{http_code}' "${url}healthz")" = 200 ] || problem+='healthz is not 200'$'\n'
    "$W" serve --stop >/dev/null || problem+='it does not stop'$'\n'
    check a_daemon_on_a_full_disk_says_so_reads_on_and_catches_up "$problem"
else
    echo "SKIP the_spool_keeps_what_a_full_disk_refused (spool_writer is not built)"
fi
exit $status
