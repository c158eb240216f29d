#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_cudart.sh: whole programs under `warpsight run --model`: those of host.c everywhere, those of programs/ where nvcc
# is; their output, their counts, the mistakes that the model names; and the stand-in's structs against the headers.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
W=$B/warpsight
H=$B/tests/cudart/host
if [ -n "${WS_SCRATCH:-}" ]; then scratch=$WS_SCRATCH/cudart; mkdir -p "$scratch"; else scratch=$(mktemp -d); fi
export WARPSIGHT_DB=$scratch/cudart.db WARPSIGHT_SPOOL=$scratch/spool
failed=0
check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then echo "PASS $name"; else
        echo "FAIL $name"
        head -30 "$scratch/log" "$scratch/out" "$scratch/err" 2>/dev/null
        failed=1
    fi
}
# run NAME STATUS ARGUMENTS…: the program under the model; its output in out, what WarpSight says in err.
run() {
    local status=$1
    shift
    "$W" run --model --json "$@" >"$scratch/out" 2>"$scratch/err"
    [ $? -eq "$status" ] || { echo "exit status is not $status: $*"; return 1; }
}
says() { grep -qF -- "$1" "$scratch/err" || { echo "stderr lacks: $1"; return 1; }; }
prints() { grep -qxF -- "$1" "$scratch/out" || { echo "stdout lacks: $1"; return 1; }; }
report_says() { sed -n '/^{/,$p' "$scratch/out" | grep -qF -- "$1" || { echo "the report lacks: $1"; return 1; }; }
# value KERNEL METRIC: from the report
value() {
    sed -n '/^{/,$p' "$scratch/out" | python3 -c '
import json, sys
k = [x for x in json.load(sys.stdin)["kernels"] if x["name"] == sys.argv[1]]
print(sum(x["metrics"][sys.argv[2]]["value"] * x["launches"] for x in k))' "$1" "$2"
}

# --- without a toolkit ---
packed() {
    run 0 "$H"_"$1" add && prints cudaSuccess && prints "0 wrong" && report_says '"source": "modelled"' &&
        # 1000 threads of 128 a block: 32 warps, two loads; 375 sectors as for the same kernel on a GPU (vec_add_tail)
        [ "$(value vec_add gld_requests)" = 64 ] && [ "$(value vec_add gld_sectors)" = 250 ] &&
        [ "$(value vec_add gst_sectors)" = 125 ]
}
for packing in none speed size; do
    if [ $packing = size ] && ! ldconfig -p 2>/dev/null | grep -q 'libzstd\.so\.1'; then
        echo "SKIP a_program_with_ptx_packed_as_${packing}_runs"
        echo "skip: no libzstd.so.1"
    else
        check "a_program_with_ptx_packed_as_${packing}_runs" packed $packing
    fi
done
# What each line did is in the session, too: one line of the source loads and stores.
lines() {
    run 0 "${H}_none" add && python3 -c '
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("""SELECT f.text, i.line, sum(i.sectors) FROM instruction i JOIN kernel k ON k.id = i.kernel_id
    JOIN text f ON f.id = i.file_id WHERE i.requests > 0 AND k.session_id = (SELECT max(id) FROM session) GROUP BY 1, 2""").fetchall()
assert len(rows) == 1 and rows[0][0].endswith("/vec_add.cu") and rows[0][1] > 0 and rows[0][2] == 375, rows' "$WARPSIGHT_DB"
}
check lines_of_a_whole_program_are_told lines
past() {
    run 0 "${H}_none" past && prints cudaErrorIllegalAddress && says "access out of bounds" && report_says model-bounds
}
check fault_of_a_kernel_is_the_error_of_all_later_calls past
wide() { run 0 "${H}_none" wide && prints cudaErrorInvalidConfiguration && says "block (2048,1,1)" && says "nobody asked"; }
check launch_error_that_nobody_asks_for_is_reported wide
deref() { run 139 "${H}_none" deref && says "the host touches device memory"; }
check host_code_cannot_touch_device_memory deref
inside() { run 0 "${H}_none" inside && prints "invalid argument 1" && says "16 bytes into allocation 1"; }
check free_of_a_pointer_into_an_allocation_fails inside
unserved() { run 0 "${H}_none" unserved && prints "operation not supported 1" && says "cudaMallocMipmappedArray returned 801"; }
check call_that_is_not_served_says_so unserved
capture() { run 0 "${H}_none" capture && says "a default stream cannot be captured"; }
check default_stream_is_not_captured capture
gpu() {
    run 0 --gpu A100 "${H}_none" add && report_says '"cc": "8.0"' && run 0 --gpu 'no such' "${H}_none" add && says "no GPU 'no such'"
}
check gpu_is_chosen_by_name gpu

many() {
    run 0 "${H}_none" many && prints cudaSuccess && says "1 kernel, 1002 launches" && report_says '"profiled_launches": 1000' &&
        report_says "only the first 1000 launches of each kernel have counters"
}
check every_launch_is_counted_the_first_thousand_have_counters many
# 8 blocks: the first, the last, two between; nothing else ran, so the program's own check finds what is missing.
sampled() {
    run 0 --sample 2 "${H}_none" add && ! prints "0 wrong" >/dev/null && report_says '"blocks": 4' && report_says '"of": 8' &&
        report_says "their counts are estimates" && run 0 --sample off "${H}_none" add && prints "0 wrong" &&
        run 0 --model-budget 1G "${H}_none" add && prints "0 wrong" && run 0 --model-budget 1 "${H}_none" add &&
        says "no block ended within the budget" &&
        run 125 --sample 1 "${H}_none" add && says "--sample needs auto, off or a number of blocks from 2, not '1'" &&
        run 125 --model-budget 5m "${H}_none" add && says "--model-budget needs seconds"
    "$W" run --sample 4 "${H}_none" add 2>"$scratch/err"
    [ $? -eq 125 ] && says "belong to --model"
}
check a_part_of_the_blocks_is_labelled_and_bad_bounds_are_named sampled
uninit() {
    run 0 --check uninit "${H}_none" half && says "read of memory that nobody wrote" && says "cudaMalloc 1" &&
        grep -q "(16 times)" "$scratch/err" && run 0 "${H}_none" half && ! grep -q "nobody wrote" "$scratch/err" &&
        run 0 --check uninit "${H}_none" add && ! grep -q "nobody wrote" "$scratch/err" &&
        run 125 --check nonsense "${H}_none" add && says "--check: 'nonsense'"
}
check reads_of_what_nobody_wrote_are_found_on_demand uninit
exe() {
    cat >"$scratch/k.json" <<'J'
{"buffers": {"a": {"bytes": 4000, "fill": "iota_f32"}, "c": {"bytes": 4000}},
 "launches": [{"kernel": "vec_add", "grid": [8], "block": [128],
               "args": [{"buffer": "a"}, {"buffer": "a"}, {"buffer": "c"}, {"i32": 1000}]}]}
J
    "$W" model --exe "${H}_speed" --spec "$scratch/k.json" -q --json >"$scratch/out" 2>"$scratch/err" &&
        [ "$(value vec_add gld_sectors)" = 250 ] || return 1
    ! "$W" model --exe /bin/sh --spec "$scratch/k.json" -q 2>"$scratch/err" && says "/bin/sh: no device code" &&
        ! "$W" model --exe "${H}_none" --kernel nothing --spec "$scratch/k.json" -q 2>"$scratch/err" && says "no kernel 'nothing'" &&
        ! "$W" model --exe "${H}_none" --ptx x --spec "$scratch/k.json" -q 2>"$scratch/err" && says "not both"
}
check model_takes_a_kernel_out_of_a_program exe

# --- with one ---
nvcc=${NVCC-$(command -v nvcc)} # where the Makefile found the toolkit; the one on PATH may be a wrapper elsewhere
skip() {
    echo "SKIP $1"
    echo "skip: no nvcc"
}
compile() { # PROGRAM OUTPUT OPTIONS…
    "$nvcc" -std=c++17 -lineinfo -Wno-deprecated-gpu-targets "${@:3}" "tests/cudart/programs/$1.cu" -o "$scratch/$2" >"$scratch/$2.log" 2>&1
}
compile_all() { # side by side: nvcc takes seconds for each
    local modelled=(-cudart shared -gencode "arch=compute_90,code=compute_90")
    for program in kernels runtime mistakes calls together matrices textures; do compile $program $program "${modelled[@]}" & done
    compile mistakes static &
    compile mistakes sass -cudart shared -gencode arch=compute_90,code=sm_90 &
    wait
}
kernels() {
    run 0 "$scratch/kernels" || return 1
    for line in 'shuffle ok' 'shared ok' 'atomics ok' 'struct ok' 'thread 1 of 32 says hello 1.50 x%'; do prints "$line" || return 1; done
    # 8 blocks of 4 warps, the whole grid in bounds but the last warps: 1000 floats = 125 sectors
    [ "$(value shuffle_sum gld_sectors)" = 125 ] || { echo "shuffle_sum: $(value shuffle_sum gld_sectors) sectors"; return 1; }
    # 4 blocks of 8 warps load 256 ints: 32 requests; the same once more from shared memory at least
    [ "$(value block_sum gld_requests)" = 32 ] || { echo "block_sum: $(value block_sum gld_requests) requests"; return 1; }
}
runtime() {
    run 0 "$scratch/runtime" || return 1
    for line in 'streams ok' 'graph ok' 'memory ok' 'managed ok' 'device ok'; do prints "$line" || return 1; done
    says "CPU time of the model" && ! grep -q "never freed" "$scratch/err"
}
textures() { # their instructions are counted apart, not as loads
    all_ok textures 11 && report_says model-textures && [ "$(value 'fetch_linear<float>' model_texture_instructions)" = 4 ] &&
        [ "$(value 'fetch_linear<float>' gld_requests)" = 0 ] && [ "$(value surface_add model_surface_instructions)" = 30 ]
}
all_ok() { # PROGRAM LINES: each says ok
    run 0 "$scratch/$1" || return 1
    [ "$(grep -c ' ok$' "$scratch/out")" -eq "$2" ] || { echo "$1: not $2 lines that say ok"; return 1; }
}
mistake() { # WHAT CODE TEXT
    run 0 "$scratch/mistakes" "$1" && prints "$2" && says "$3"
}
mistakes() {
    mistake past 1 "ends 8 bytes past the end of allocation 1 (128 bytes of cudaMalloc at mistakes+0x" &&
        mistake freed 1 "was freed already: allocation 1" && mistake twice 1 "freed twice" &&
        mistake kind 1 "cudaMemcpyDeviceToHost, but the destination is device memory" &&
        mistake leak 0 "never freed: 128 bytes of cudaMalloc" && mistake launch 0 "nobody asked" &&
        mistake assert 710 'thread: [31,0,0] Assertion `(int)threadIdx.x < n` failed.' &&
        mistake stack 714 "calls nested deeper than the stack of a thread" &&
        mistake refused 801 "unknown special register '%pm0'" && prints written &&
        mistake array 1 "there is no such array; freed twice?" && mistake rows 1 "128 bytes x 2 rows at byte 0 of row 0 of an array of 128 bytes x 1 rows" &&
        mistake filter 1 "linear filtering needs floating-point values" && mistake texture 700 "no texture or surface object of this form, or its memory was freed" &&
        mistake kernel 700 "mistakes.cu:12" && run 139 "$scratch/mistakes" deref && says "the host touches device memory"
}
relink() {
    run 125 "$scratch/static" leak && says "nvcc -cudart shared -gencode" &&
        run 125 "$scratch/sass" leak &&
        says "it has no PTX" && says "nvcc -cudart shared -gencode"
}
# A kernel that never ends, on a terminal: the line, Ctrl-C, what there is in the session; in a pipe no line.
interrupted() {
    cat >"$scratch/forever.cu" <<'END'
#include <cstdio>
__global__ void forever(volatile int *stop) { while (!*stop) {} }
__global__ void fine(int *p) { p[threadIdx.x] = 1; }
int main()
{
    int *p;
    cudaMalloc(&p, 128);
    fine<<<1, 32>>>(p);
    cudaMemset(p, 0, 128);
    printf("begin\n");
    fflush(stdout);
    forever<<<4, 32>>>(p);
    printf("never\n");
}
END
    "$nvcc" -Wno-deprecated-gpu-targets -cudart shared -gencode arch=compute_90,code=compute_90 "$scratch/forever.cu" -o "$scratch/forever" || return 1
    python3 - "$W" "$scratch/forever" >"$scratch/out" 2>"$scratch/err" <<'END' || return 1
import os, pty, select, subprocess, sys, time
def run(stderr):
    return subprocess.Popen([sys.argv[1], "run", "--model", "--json", sys.argv[2]], stdout=subprocess.PIPE, stderr=stderr, start_new_session=True)
def interrupt(p, until):
    end = time.time() + 60
    while not until() and time.time() < end:
        time.sleep(0.05)
    os.killpg(p.pid, 2)
    return p.communicate(timeout=60)[0].decode()
master, slave = pty.openpty()
shown = b""
def line():
    global shown
    while select.select([master], [], [], 0)[0]:
        shown += os.read(master, 4096)
    return b" of 4 blocks" in shown
p = run(slave)
text = interrupt(p, line)
line()
assert b"0 of 4 blocks" in shown and b"M/s" in shown, shown
assert b"Ctrl-C while" in shown, shown
assert p.returncode == 130, p.returncode
assert "never" not in text and '"model-cancelled"' in text and '"fine"' in text and '"forever"' in text, text
start = time.time()
p = run(subprocess.PIPE)
os.set_blocking(p.stderr.fileno(), False)
time.sleep(2)
os.killpg(p.pid, 2)
said = p.stderr
p.wait(60)
said = said.read()
assert b" of 4 blocks," not in said, said
END
}
registers() {
    run 0 "$scratch/runtime" && grep -q '"regs_per_thread": 16' "$scratch/out" && ! grep -q "not known" "$scratch/err"
}
abi() {
    python3 tests/cudart/abi_check.py collector/cudart >"$scratch/abi.c" &&
        ${CC:-gcc} -std=c11 -fsyntax-only -I"${CUDA_INC:-$(dirname "$nvcc")/../include}" -Icollector/cudart "$scratch/abi.c"
}
if [ -n "$nvcc" ]; then
    compile_all
    check ordinary_kernels_give_their_answers kernels
    check ctrl_c_keeps_what_there_is_and_a_terminal_sees_how_far_it_is interrupted
    check streams_graphs_and_memory_work runtime
    check calls_that_cannot_be_inlined_give_their_answers all_ok calls 5
    check threads_that_wait_for_each_other_give_their_answers all_ok together 7
    check tensor_cores_give_their_answers all_ok matrices 17
    check textures_and_surfaces_give_their_answers textures
    check registers_come_from_ptxas registers
    check planted_mistakes_are_named mistakes
    check program_that_cannot_be_modelled_says_how_to_relink relink
    check structs_and_numbers_are_those_of_the_headers abi
else
    for name in ordinary_kernels_give_their_answers streams_graphs_and_memory_work registers_come_from_ptxas \
        calls_that_cannot_be_inlined_give_their_answers threads_that_wait_for_each_other_give_their_answers tensor_cores_give_their_answers textures_and_surfaces_give_their_answers \
        planted_mistakes_are_named program_that_cannot_be_modelled_says_how_to_relink structs_and_numbers_are_those_of_the_headers; do
        skip $name
    done
fi
exit $failed
