#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_doctor.sh: `warpsight doctor` on made-up machines: /proc files of a folder, the fake driver and the fake CUPTI.
# Each machine differs from the good one in exactly one thing; the verdict and the exit status must follow.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}"
ws=$PWD/$B/warpsight fake=$PWD/$B/fake
if [ ! -f "$fake/libcupti.so.13" ] || [ ! -f "$B/libwarpsight-cupti.so" ]; then
    echo "SKIP doctor: no CUPTI headers, so there are no fake libraries"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/doctor.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
unset CUDA_HOME CUDA_PATH CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH LD_PRELOAD WARPSIGHT_CUPTI
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
failed=0

# machine: a fresh good machine in $root.
machine() {
    root=$scratch/root
    rm -rf "$root"
    mkdir -p "$root/proc/driver/nvidia" "$root/proc/self" "$root/proc/sys/kernel" "$root/usr/local/cuda/lib64" "$root/run"
    echo 6.1.0-test >"$root/proc/sys/kernel/osrelease"
    printf 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version:  gcc 12.2.0\n' \
        >"$root/proc/driver/nvidia/version"
    printf 'ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n' >"$root/proc/driver/nvidia/params"
    printf 'Name:\tdoctor\nCapEff:\t0000000000000000\n' >"$root/proc/self/status"
    cp "$fake/libcuda.so.1" "$root/"
    cp "$fake/libcupti.so.13" "$fake/libnvperf_host.so" "$root/usr/local/cuda/lib64/"
    # the fake CUPTI finds its driver beside itself
    cp "$fake/libcuda.so.1" "$root/usr/local/cuda/lib64/"
}

# expect NAME STATUS TRACE COUNTERS ID STATE [TEXT]: exit status, verdicts, and one check with its state.
expect() {
    local json status got
    json=$(WARPSIGHT_DOCTOR_ROOT=$root "$ws" doctor --json 2>"$scratch/err")
    status=$?
    got=$(jq -r '"\(.works.trace) \(.works.counters)"' <<<"$json" 2>/dev/null)
    if [ "$status" != "$2" ] || [ "$got" != "$3 $4" ]; then
        echo "FAIL $1: exit $status, works $got, want $2, $3 $4: $(head -3 "$scratch/err")"
        jq -c '.checks[]' <<<"$json" | head -8
        failed=1
    elif ! jq -e --arg id "$5" --arg state "$6" --arg text "${7:-}" \
        '[.checks[] | select(.id == $id and .state == $state and (.message | contains($text)))] | length > 0' <<<"$json" >/dev/null; then
        echo "FAIL $1: no check $5=$6 with '${7:-}': $(jq -c '[.checks[] | {id,state,message}]' <<<"$json")"
        failed=1
    elif [ "$(jq '[.checks[] | select(.state == "bad" and .remedy == "")] | length' <<<"$json")" != 0 ]; then
        echo "FAIL $1: something is bad and there is no remedy"
        failed=1
    else
        echo "PASS $1"
    fi
}

machine
expect "a good machine" 0 true true driver ok "580.159.04, for CUDA 13.0"
expect "a good machine names its GPU and chip" 0 true true gpu ok "Fake GPU 0, compute capability 9.0, 132 SMs, chip GH100"
expect "a good machine names its CUPTI" 0 true true cupti ok "installed toolkit"

machine
printf 'RmProfilingAdminOnly: 1\n' >"$root/proc/driver/nvidia/params"
expect "counters for administrators only, new spelling" 1 true false rights bad "RmProfilingAdminOnly: 1"
printf 'NVreg_RestrictProfilingToAdminUsers: 1\n' >"$root/proc/driver/nvidia/params"
expect "counters for administrators only, old spelling" 1 true false rights bad "NVreg_RestrictProfilingToAdminUsers: 1"
printf 'CapEff:\t0000000000200000\n' >"$root/proc/self/status"
expect "CAP_SYS_ADMIN opens the gate" 0 true true rights ok "may read counters"
printf 'CapEff:\t0000004000000000\n' >"$root/proc/self/status"
expect "CAP_PERFMON opens the gate of a new driver" 0 true true rights ok "may read counters"
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue' >"$root/proc/driver/nvidia/version"
expect "CAP_PERFMON does not open that of an old one" 1 true false rights bad

machine
rm "$root/proc/driver/nvidia/params"
expect "a driver that does not say who may" 0 true true rights note "does not say"

machine
touch "$root/.dockerenv"
expect "a container without capabilities is warned" 0 true true rights note "some hosts refuse"

machine
rm -r "$root/libcuda.so.1" "$root/proc/driver"
expect "no driver" 1 false false driver bad "no NVIDIA driver"
machine
rm "$root/libcuda.so.1"
expect "a container without the driver's library" 1 false false driver bad "its library is not here"
machine
FAKE_CUDA_INIT=100 expect "a driver without a GPU" 1 false false driver bad "sees no GPU"
FAKE_CUDA_INIT=803 expect "driver and library of different versions" 1 false false driver bad "do not fit"
FAKE_CUDA_INIT=999 expect "a driver that does not start" 1 false false driver bad "answers 999"

machine
rm "$root/usr/local/cuda/lib64/libcupti.so.13"
expect "no CUPTI" 1 false false cupti bad "no usable libcupti"
: >"$root/usr/local/cuda/lib64/libcupti.so.13"
expect "a CUPTI that is no library" 1 false false cupti bad "libcupti.so.13"
machine
rm "$root/usr/local/cuda/lib64/libnvperf_host.so"
expect "CUPTI without its host library" 1 true false cupti bad "no libnvperf_host.so"
machine
FAKE_CUDA_VERSION=12080 expect "a CUPTI newer than the driver" 1 false false cupti bad "newer than the driver"

machine
echo 4.4.0 >"$root/proc/sys/kernel/osrelease"
expect "gVisor" 1 true false kernel note gVisor
echo 5.15.153.1-microsoft-standard-WSL2 >"$root/proc/sys/kernel/osrelease"
expect "WSL" 0 true true kernel note WSL

machine
CUDA_INJECTION64_PATH=/opt/other/libtool.so expect "another tool is injected" 1 false false variable bad /opt/other/libtool.so
CUDA_INJECTION64_PATH=$PWD/$B/libwarpsight-cupti.so expect "our own injection is no fault" 0 true true tools ok
NVTX_INJECTION64_PATH=/opt/libcupti.so expect "an NVTX injection is noted" 0 true true variable note NVTX_INJECTION64_PATH
mkdir -p "$root/proc/4711"
echo nv-hostengine >"$root/proc/4711/comm"
expect "DCGM at work is noted" 0 true true tool note "nv-hostengine (pid 4711)"

machine
FAKE_CUDA_NAME="NVIDIA H100 80GB HBM3 MIG 1g.10gb" expect "a MIG instance" 0 true true slice note "MIG instance"
FAKE_CUDA_NAME="NVIDIA A40-48Q" expect "a vGPU" 0 true true slice note "GPU 0 is a vGPU"
FAKE_CUDA_NAME="NVIDIA RTX 6000-Ada" expect "a board with a dash is a whole board" 0 true true driver ok
WARPSIGHT_DOCTOR_ROOT=$root FAKE_CUDA_NAME="NVIDIA RTX 6000-Ada" "$ws" doctor --json | jq -e '[.checks[] | select(.id == "slice")] | length == 0' >/dev/null &&
    echo "PASS and nothing is said of it" || { echo "FAIL and nothing is said of it"; failed=1; }

# features NAME JQ: what jq makes of the whole answer must be true.
features() {
    if WARPSIGHT_DOCTOR_ROOT=$root "$ws" doctor --json | jq -e "$2" >/dev/null; then echo "PASS $1"; else
        echo "FAIL $1: $(WARPSIGHT_DOCTOR_ROOT=$root "$ws" doctor --json | jq -c '[.next, [.features[] | [.id, .works, .why]]]')"
        failed=1
    fi
}
machine
features "every feature works on a good machine, with its cost and command" '.next == "warpsight run ./app" and ([.features[] | select(.works and .why == "" and .cost != "" and .command != "")] | length) == 7'
printf 'RmProfilingAdminOnly: 1\n' >"$root/proc/driver/nvidia/params"
features "without rights counters say why and how, tracing works" '.next == "warpsight run --set trace ./app" and ([.features[] | select(.works | not)] | map(.id) == ["counters", "rotation", "ceilings"]) and ([.features[] | select((.works | not) and (.why | contains("RmProfilingAdminOnly")) and .remedy != "")] | length) == 3'
machine
rm -r "$root/libcuda.so.1" "$root/proc/driver"
features "without a driver the model is what is next" '.next == "warpsight kernels model transpose" and ([.features[] | select(.works)] | map(.id) == ["model", "recorded"]) and ([.features[] | select((.works | not) and (.why | contains("no NVIDIA driver")))] | length) == 5'
machine
echo 4.4.0 >"$root/proc/sys/kernel/osrelease"
features "gVisor is why there are no counters" '[.features[] | select((.works | not) and (.why | contains("gVisor")))] | map(.id) == ["counters", "rotation", "ceilings"]'

# Hostile files: long lines, no line ends, binary bytes.
machine
head -c 100000 /dev/zero | tr '\0' '9' >"$root/proc/driver/nvidia/version"
head -c 100000 /dev/urandom >"$root/proc/driver/nvidia/params"
head -c 100000 /dev/urandom >"$root/proc/self/status"
WARPSIGHT_DOCTOR_ROOT=$root "$ws" doctor --json 2>/dev/null | jq -e .works.model >/dev/null && echo "PASS hostile files of /proc" || {
    echo "FAIL hostile files of /proc"
    failed=1
}

machine
WARPSIGHT_DOCTOR_ROOT=$root "$ws" doctor >"$scratch/text" && grep -q '^hardware counters  *yes' "$scratch/text" && grep -q '^next: warpsight run ./app$' "$scratch/text" && echo "PASS the text says what works" || {
    echo "FAIL the text says what works"
    failed=1
}
"$ws" doctor --nonsense >/dev/null 2>"$scratch/err"
[ $? = 2 ] && [ "$(wc -l <"$scratch/err")" = 1 ] && echo "PASS a usage error is one line and exit 2" || {
    echo "FAIL a usage error is one line and exit 2"
    failed=1
}
# This machine, whatever it is: an answer, and no crash.
"$ws" doctor --json 2>/dev/null | jq -e '.checks | length > 3' >/dev/null && echo "PASS this machine gets an answer" || {
    echo "FAIL this machine gets an answer"
    failed=1
}
exit $failed
