#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_hazards.sh: every mode of the fake CUDA program with and without the preloaded collector: exit status, stdout
# and stderr must be the same bytes, and the fake CUPTI must have seen no call out of order or in a forked child.
# Then what each hazard adds: the spool that cannot be written, no HOME, closed descriptors, and so on.
# Read on: tests/fake_cupti/fake_app.c has the modes.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}"
fake=$PWD/$B/fake preload=$PWD/$B/libwarpsight.so
if [ ! -x "$fake/fake_app" ] || [ ! -f "$B/libwarpsight-cupti.so" ]; then
    echo "SKIP hazards: no CUPTI headers, so there is no collector library"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/hazards.XXXXXX")
trap 'chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_CUPTI="$fake" FAKE_CUPTI_LOG="$scratch/calls"
export FAKE_CUDA_DEVICES=2
# The sanitizer's runtime is not the first library here; leaks of a killed program are not ours.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0:handle_segv=0:handle_abort=0"
failed=0

pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; failed=1; }

# Runs a command into NAME.out, NAME.err, NAME.status.
record() {
    local name=$1
    shift
    timeout -k 2 60 "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null
    echo $? >"$scratch/$name.status"
}
segments() { find "$WARPSIGHT_SPOOL" -type f 2>/dev/null; }
dump() { segments | sort | xargs -r "$fake/dump"; }

# same NAME COMMAND…: alike with and without, and a clean log.
same() {
    local name=$1 part
    shift
    rm -rf "$WARPSIGHT_SPOOL" "$FAKE_CUPTI_LOG"
    record plain "$@"
    [ ! -e "$FAKE_CUPTI_LOG" ] || { fail "$name" "CUPTI was used without the preload library"; return 1; }
    record with env LD_PRELOAD="$preload" "$@"
    for part in status out err; do
        # Threads may finish in any order, and so may their lines; what is printed is compared as it is.
        cmp -s "$scratch/plain.$part" "$scratch/with.$part" && continue
        fail "$name" "$part differs: $(diff "$scratch/plain.$part" "$scratch/with.$part" | head -4 | tr '\n' '~')"
        return 1
    done
    if grep -q '^violation' "$FAKE_CUPTI_LOG" 2>/dev/null; then
        fail "$name" "$(grep '^violation' "$FAKE_CUPTI_LOG" | sort | uniq -c | head -3 | tr '\n' '~')"
        return 1
    fi
    return 0
}

# mode NAME [ARGUMENT] [MIN]: a mode of the program; at least MIN kernel records must have reached the spool.
mode() {
    local name="$1${2:+ $2}" kernels
    same "$name" "$fake/fake_app" "$1" ${2:+"$2"} || return
    kernels=$(dump | grep -c '^kernel ')
    [ "$kernels" -ge "${3:-0}" ] || { fail "$name" "only $kernels kernel records, want ${3:-0}"; return; }
    pass "$name"
}

mode basic "" 6
mode basic 42 6
mode no-cuda "" 0
mode init "" 0
mode many 3000 3000
mode threads "" 400
mode main-thread-ends "" 400
mode graph "" 13
mode streams "" 13
mode contexts "" 10
mode devices "" 3
mode cooperative "" 0 # counted while it runs once, and so not traced
mode bad-launch "" 1
mode kill 9 6
mode kill 15 6
mode kill 11 6
mode _exit 0 0
mode _exit 33 0
mode quick_exit 21 0
mode abort "" 0
mode at-exit "" 1
mode fork-after "" 6
mode fork-before "" 12
mode fork-under-load "" 400
mode exec "" 6
mode spawn "" 6
mode close-descriptors "" 14
mode file-size "" 0
mode signals "" 6
mode environment "" 1
mode chdir "" 6
# AddressSanitizer ends a process in which it can map nothing (a thread that starts then needs a mapping).
case "$B" in
    *san-*) echo "SKIP no-memory: the sanitizer itself needs memory" ;;
    *) mode no-memory "" 0 ;;
esac
mode no-descriptors "" 0
mode dlclose "" 4
# A filter that ends the process at the next open: the collector may make none (the fake's own log would).
case "$B" in
*san-*) echo "SKIP seccomp: the sanitizer opens files of its own" ;;
*) FAKE_CUPTI_LOG="" mode seccomp "" 50 ;;
esac

# --- what the libraries are ---

collector=$PWD/$B/libwarpsight-cupti.so
exports() { nm -D --defined-only "$1" | awk '$2 ~ /[A-Z]/ { print $3 }' | grep -v '^WARPSIGHT' | sort | tr '\n' ' '; }
# claim NAME WHAT-IS-WRONG
claim() { if [ -z "$2" ]; then pass "$1"; else fail "$1" "$2"; fi; }
wrong=''
[ -z "$(exports "$preload")" ] || wrong="the preload library defines $(exports "$preload")"
[ "$(exports "$collector")" = "InitializeInjection InitializeInjectionNvtx2 ws_collector_version " ] || wrong+=" the collector defines $(exports "$collector")"
claim "no symbol of libc is interposed" "$wrong"
wrong=''
for so in "$preload" "$collector"; do
    ! readelf -dW "$so" | grep -q STATIC_TLS || wrong+="${so##*/} needs static TLS "
    tls=$(readelf -lW "$so" | awk '$1 == "TLS" { print $6 }')
    case "$B" in *san-*) ;; *) [ $((${tls:-0})) -le 64 ] || wrong+="${so##*/} has $((tls)) bytes of TLS " ;; esac
    readelf -dW "$so" | grep -q NODELETE || wrong+="${so##*/} can be unloaded "
done
claim "no static TLS, and never unloaded" "$wrong"

# --- bounds: 20,000 launches as fast as they go ---

# Seconds, and KiB of the greatest resident memory, of the command.
cost() {
    python3 -c 'import re, subprocess, sys, time
start = time.monotonic()
program = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
most = 0
while program.poll() is None:
    with open("/proc/%d/status" % program.pid) as f:
        seen = re.search(r"Name:\tfake_app\n[^\0]*VmHWM:\s*(\d+)", f.read())
    most = int(seen.group(1)) if seen else most
    time.sleep(0.002)
print("%.3f %d" % (time.monotonic() - start, most))' "$@"
}
case "$B" in
*san-*) echo "SKIP bounds of time and memory: the sanitizer's own are larger" ;;
*)
    rm -rf "$WARPSIGHT_SPOOL"
    read -r plain_s plain_kib <<<"$(cost "$fake/fake_app" many 20000)"
    read -r with_s with_kib <<<"$(cost env LD_PRELOAD="$preload" "$fake/fake_app" many 20000)"
    claim "64 MiB more at most (20000 launches: $plain_kib KiB, with the collector $with_kib KiB)" \
        "$(awk -v a="$plain_kib" -v b="$with_kib" 'BEGIN { if (b - a > 65536 || a <= 0) print b - a " KiB more" }')"
    claim "its end comes at most 2 s later (20000 launches: $plain_s s, with the collector $with_s s)" \
        "$(awk -v a="$plain_s" -v b="$with_s" 'BEGIN { if (b - a > 2) print b - a " s more" }')"
    ;;
esac

# --- surroundings ---

mkdir -p "$scratch/readonly"
chmod 500 "$scratch/readonly"
if [ "$(id -u)" -eq 0 ]; then
    # root writes into such a folder all the same: a file in its place cannot hold a spool even for root
    : >"$scratch/file"
    WARPSIGHT_SPOOL="$scratch/file/spool" same "spool folder that cannot be made" "$fake/fake_app" basic 3 &&
        pass "spool folder that cannot be made"
else
    WARPSIGHT_SPOOL="$scratch/readonly/spool" same "spool folder that cannot be made" "$fake/fake_app" basic 3 &&
        pass "spool folder that cannot be made"
fi

ln -s "$scratch/elsewhere" "$scratch/link"
mkdir -p "$scratch/elsewhere"
WARPSIGHT_SPOOL="$scratch/link" same "spool folder that is a link" "$fake/fake_app" basic 3 &&
    { [ -z "$(find "$scratch/elsewhere" -type f)" ] && pass "spool folder that is a link" ||
        fail "spool folder that is a link" "the collector followed it"; }

mkdir "$scratch/open" && chmod 777 "$scratch/open"
LD_PRELOAD="$preload" WARPSIGHT_SPOOL="$scratch/open" "$fake/fake_app" basic >"$scratch/out" 2>&1
claim "spool folder that everybody may write" "$([ -z "$(find "$scratch/open" -type f)" ] || echo "it was written to")"

same "no HOME, no environment" env -u HOME -u XDG_RUNTIME_DIR -u PATH "$fake/fake_app" basic 3 && pass "no HOME, no environment"
WARPSIGHT_CUPTI=/nowhere same "WARPSIGHT_CUPTI names nothing" "$fake/fake_app" no-cuda && pass "WARPSIGHT_CUPTI names nothing"
WARPSIGHT_FLUSH_MS=soon WARPSIGHT_REPLAY_MODE=twice same "bad settings" "$fake/fake_app" basic 3 && {
    dump | grep -q '^status .*WARPSIGHT_FLUSH_MS=soon is not a whole number' && pass "bad settings" ||
        fail "bad settings" "no status record says so"
}
# /dev/full takes no byte; a spool on a full disk is like it.
if mount -t tmpfs -o size=64k none "$scratch/elsewhere" 2>/dev/null; then
    WARPSIGHT_SPOOL="$scratch/elsewhere/spool" same "spool on a full disk" "$fake/fake_app" many 5000 && pass "spool on a full disk"
    umount "$scratch/elsewhere"
else
    echo "SKIP spool on a full disk: mounting a tmpfs is not permitted here"
fi

# The clock is set while it runs (for the collector alone: the fake driver's time is this clock): nothing waits for the time that it showed before, and nothing is held back.
shim=$PWD/$B/faults/shim.so
for step in 3600 -3600; do
    rm -rf "$WARPSIGHT_SPOOL"
    begun=$(date +%s%N)
    FAULT_FROM=libwarpsight FAULT_STEP_S=$step FAULT_STEP_AFTER_MS=100 LD_PRELOAD="$shim:$preload" timeout -k 2 30 "$fake/fake_app" slow >"$scratch/out" 2>&1
    status=$?
    took=$((($(date +%s%N) - begun) / 1000000))
    kernels=$(dump | grep -c '^kernel ')
    claim "clock set by $step s" "$([ $status -eq 0 ] && [ "$kernels" -eq 300 ] && [ $took -lt 10000 ] || echo "status $status, $kernels of 300 kernel records, $took ms")"
    rm -rf "$WARPSIGHT_SPOOL"
    FAULT_FROM=libwarpsight FAULT_STEP_S=$step FAULT_STEP_AFTER_MS=100 LD_PRELOAD="$shim:$preload" timeout -k 2 30 "$fake/fake_app" kill 9 >"$scratch/out" 2>&1
    kernels=$(dump | grep -c '^kernel ')
    claim "clock set by $step s, then killed" "$([ "$kernels" -eq 6 ] || echo "$kernels of 6 kernel records")"
done

# The spool is removed while the program runs: what was in it is gone and shows as a gap, what follows is kept.
rm -rf "$WARPSIGHT_SPOOL"
LD_PRELOAD="$preload" timeout -k 2 30 "$fake/fake_app" slow >"$scratch/out" 2>&1 &
slow=$!
for _ in $(seq 100); do [ -n "$(segments)" ] && break; sleep 0.02; done
sleep 0.15
rm -rf "$WARPSIGHT_SPOOL"
wait $slow
status=$?
export WARPSIGHT_DB="$scratch/removed-db"
"$B/warpsight" report --json >"$scratch/removed.json" 2>"$scratch/err"
claim "spool removed while it is written" "$([ $status -eq 0 ] && [ "$(cat "$scratch/out")" = "225 kernels ran" ] &&
    jq -e '([.kernels[].launches] | add) as $n | $n > 20 and $n < 300 and any(.warnings[]; .code == "records-lost")' "$scratch/removed.json" >/dev/null ||
    echo "status $status; $(jq -c '[.warnings[].code, (.kernels[].launches)]' "$scratch/removed.json" 2>&1 | head -c 300) $(cat "$scratch/err")")"

# An allocator of the program's own, preloaded beside us.
for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
    path=$(/sbin/ldconfig -p | awk -v so="$allocator" '$1 == so { print $NF; exit }')
    case "$B-$path" in
    *san-*) echo "SKIP $allocator beside us: the sanitizer is an allocator itself" ;;
    *-) echo "SKIP $allocator beside us: it is not installed" ;;
    *)
        rm -rf "$WARPSIGHT_SPOOL" "$FAKE_CUPTI_LOG"
        record plain env LD_PRELOAD="$path" "$fake/fake_app" threads
        record with env LD_PRELOAD="$preload:$path" "$fake/fake_app" threads
        record after env LD_PRELOAD="$path:$preload" "$fake/fake_app" constructor
        kernels=$(dump | grep -c '^kernel ')
        claim "$allocator beside us" "$(cmp -s "$scratch/plain.out" "$scratch/with.out" && cmp -s "$scratch/plain.status" "$scratch/with.status" &&
            [ "$(cat "$scratch/after.status")" = 0 ] && [ "$kernels" -ge 400 ] || echo "status $(cat "$scratch/with.status"), $kernels kernel records")"
        ;;
    esac
done

# Another tool holds the injection variable: it stays, and nothing of ours is loaded.
same "injection variable is taken" env CUDA_INJECTION64_PATH=/nowhere/other.so "$fake/fake_app" basic 3 && {
    [ ! -e "$FAKE_CUPTI_LOG" ] && pass "injection variable is taken" || fail "injection variable is taken" "our collector was loaded"
}
# Another tool holds CUPTI: the collector stays inert and says who.
FAKE_CUPTI_HOLDER=Kineto same "CUPTI is taken" "$fake/fake_app" basic 3 && {
    dump | grep '^status ' | grep -q Kineto && pass "CUPTI is taken" || fail "CUPTI is taken" "no status names the holder"
}

# A privileged program: the loader drops LD_PRELOAD, and a collector named in the environment stays inert.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    cp "$fake/fake_app" "$scratch/setuid_app" && cp "$fake"/lib*.so* "$scratch/"
    chmod 4755 "$scratch/setuid_app"
    chmod 755 "$scratch"
    same "set-user-id program" setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/setuid_app" no-cuda && {
        [ -z "$(segments)" ] && pass "set-user-id program" || fail "set-user-id program" "it was profiled"
    }
else
    echo "SKIP set-user-id program: needs root and setpriv"
fi

# Programs that have nothing to do with CUDA: a shell with a pipe, a script, a compiler run.
same "a shell" /bin/sh -c 'echo a | tr a b; exit 6' && pass "a shell"
printf '#!/bin/sh\necho script "$@"\nexit 4\n' >"$scratch/script"
chmod 755 "$scratch/script"
same "a script" "$scratch/script" one two && pass "a script"
same "python" python3 -c 'import subprocess,sys; print(subprocess.run(["echo","x"],capture_output=True).stdout); sys.exit(8)' && pass "python"

exit $failed
