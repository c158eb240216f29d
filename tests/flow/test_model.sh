#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_model.sh: `warpsight model` and `warpsight access` from the command line to the report, without a GPU.
cd "$(dirname "$0")/../.." || exit 1
W=${B:-build}/warpsight
if [ -n "${WS_SCRATCH:-}" ]; then scratch=$WS_SCRATCH/model; mkdir -p "$scratch"; else scratch=$(mktemp -d); fi
export WARPSIGHT_DB=$scratch/model.db WARPSIGHT_SPOOL=$scratch/spool
failed=0
check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>"$scratch/err"; then echo "PASS $name"; else
        echo "FAIL $name"
        head -20 "$scratch/out" "$scratch/err"
        failed=1
    fi
}

session_holds_the_counts() {
    "$W" model --bundled transpose reduce_tree -q --json >"$scratch/report.json" || return 1
    python3 - "$scratch/report.json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["session"]["source"] == "modelled", r["session"]
k = {x["name"]: x for x in r["kernels"]}
v = lambda name, key: k[name]["metrics"][key]
assert v("transpose_tile<32>", "shared_bank_conflicts")["value"] == 1015808
assert v("transpose_tile<33>", "shared_bank_conflicts")["value"] == 0
assert v("reduce_tree<1>", "shared_ld_wavefronts")["value"] == 760
assert v("transpose_naive", "gst_sectors_per_request")["value"] == 32
for key in ("dram_read_bytes", "l1_throughput", "stall_barrier", "inst_executed"):
    assert v("transpose_naive", key)["value"] is None and v("transpose_naive", key)["why"] == "needs-gpu", key
assert k["transpose_naive"]["regs_per_thread"] >= 16
P
}
check modelled_session_holds_the_counts_and_no_time session_holds_the_counts

capture_imports_again() {
    "$W" model --bundled transpose -q -o "$scratch/t.wscap" || return 1
    WARPSIGHT_DB=$scratch/other.db "$W" import "$scratch/t.wscap" || return 1
    WARPSIGHT_DB=$scratch/other.db "$W" report --json | grep -q '"source": "modelled"'
}
check capture_of_a_modelled_session_imports_as_modelled capture_imports_again

user_kernel_with_refusal() {
    cat >"$scratch/k.ptx" <<'P'
.version 8.0
.target sm_90
.address_size 64
.visible .entry good(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %rd<4>;
 mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
 st.global.u32 [%rd3], %r1; ret; }
.visible .entry bad(.param .u64 p) {
 tcgen05.wait::ld.sync.aligned;
 ret; }
P
    cat >"$scratch/k.json" <<'J'
{"ptx": "k.ptx", "buffers": {"out": {"bytes": 256, "save": "out.bin"}}, "launches": [
 {"kernel": "good", "grid": [1], "block": [64], "args": [{"buffer": "out"}]},
 {"kernel": "bad", "grid": [1], "block": [64], "args": [{"buffer": "out"}]}]}
J
    "$W" model --spec "$scratch/k.json" --json >"$scratch/k.out" 2>"$scratch/k.err" && return 1
    grep -q "bad: line 8: 'tcgen05.wait::ld.sync.aligned': " "$scratch/k.err" || return 1
    python3 - "$scratch/k.out" "$scratch/out.bin" <<'P'
import json, sys, struct
r = json.load(open(sys.argv[1]))
assert [k["name"] for k in r["kernels"]] == ["good"]
assert r["kernels"][0]["metrics"]["gst_sectors"]["value"] == 8
assert any(w["code"] == "model-refused" for w in r["warnings"])
assert struct.unpack("<64I", open(sys.argv[2], "rb").read()) == tuple(range(64))
P
}
check a_refused_kernel_is_named_and_the_others_run user_kernel_with_refusal

checks_from_the_command_line() {
    cat >"$scratch/c.ptx" <<'P'
.version 8.0
.target sm_90
.address_size 64
.visible .entry racy(.param .u64 p) { .reg .b32 %r<5>; .reg .b64 %rd<4>; .shared .align 4 .b8 tile[256];
 mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
 shl.b32 %r2, %r1, 2; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1;
 ld.shared.u32 %r4, [tile]; st.global.u32 [%rd3], %r4; ret; }
P
    echo '{"ptx": "c.ptx", "buffers": {"out": {"bytes": 256}}, "launches": [
 {"kernel": "racy", "grid": [1], "block": [64], "args": [{"buffer": "out"}]}]}' >"$scratch/c.json"
    "$W" model --spec "$scratch/c.json" -q --json >/dev/null || return 1
    "$W" model --spec "$scratch/c.json" -q --json --check races,bounds >"$scratch/c.out" 2>"$scratch/c.err"
    [ $? -eq 1 ] || return 1
    grep -q 'error: racy: race, read after write: ld.shared.u32 at PTX line 7, block (0,0,0), thread (32,0,0), .* byte 0 of tile (256 bytes); thread (0,0,0) wrote it' "$scratch/c.err" || return 1
    grep -q '"code": "model-races"' "$scratch/c.out" || return 1
    "$W" model --spec "$scratch/c.json" --check race 2>"$scratch/c.err"
    [ $? -eq 2 ] && grep -q "'race' is no list of" "$scratch/c.err"
}
check checks_are_chosen_reported_and_fail_the_command checks_from_the_command_line

samples_say_so_everywhere() {
    "$W" model --bundled vec_add transpose --sample 16 --check all --json >"$scratch/s.json" 2>"$scratch/s.err" || return 1
    grep -q 'transpose_naive: 48 of 1024 blocks ran, counts are estimates' "$scratch/s.err" || return 1
    python3 - "$scratch/s.json" <<'P' || return 1
import json, sys
r = json.load(open(sys.argv[1]))
k = {x["name"]: x for x in r["kernels"]}
assert k["vec_add"]["sampled"] == {"blocks": 18, "of": 65536, "interval": 0}, k["vec_add"]["sampled"]
assert k["vec_add"]["metrics"]["gld_sectors"] == {"value": 4194304, "unit": "sector", "grade": "estimate"}
assert k["transpose_tile<32>"]["metrics"]["shared_bank_conflicts"]["grade"] == "estimate"
assert k["transpose_tile<32>"]["metrics"]["shared_bank_conflicts"]["value"] == 1015808
assert [w["message"][:21] for w in r["warnings"] if w["code"] == "model-sampled"] == ["of 4 of 4 launches a "]
P
    "$W" report | grep -q '18 of 65536 blocks: every count is an estimate' || return 1
    "$W" export --format csv -o "$scratch/s.csv" && "$W" export --format roofline-csv -o "$scratch/r.csv" &&
        "$W" export --format roofline-json -o "$scratch/r.json" && "$W" export --format roofline-svg -o "$scratch/r.svg" || return 1
    python3 - "$scratch/s.csv" "$scratch/r.csv" "$scratch/r.json" <<'P' || return 1
import csv, json, sys
for path in sys.argv[1:3]:
    rows = [r for r in csv.DictReader(open(path, newline="")) if r["name"] == "vec_add"]
    assert rows and all((r["sampled_blocks"], r["sampled_of"], r["sampled_interval"]) == ("18", "65536", "0") for r in rows), path
    assert all(None not in r and None not in r.values() for r in rows), path
r = json.load(open(sys.argv[3]))
for name, sampled in ("vec_add", {"blocks": 18, "of": 65536, "interval": 0}), ("transpose_naive", {"blocks": 48, "of": 1024, "interval": 0}):
    entries = [e for e in r["points"] + r["not_plotted"] if e["name"] == name]
    assert entries and all(e["sampled"] == sampled for e in entries), entries
P
    grep -q 'Of 4 kernels a part of the blocks ran' "$scratch/r.svg" || return 1
    "$W" export --format pprof -o "$scratch/s.pb.gz" && gunzip -c <"$scratch/s.pb.gz" | grep -aq '18 of 65536' || return 1
    "$W" model --bundled vec_add_tail -q >/dev/null && "$W" export --format csv | grep -q '^[^[]*,,,.$' || return 1
    "$W" model --bundled vec_add --budget 500k -q | grep -q 'of 65536 blocks: every count is an estimate' || return 1
    "$W" model --bundled vec_add --budget 10 -q >/dev/null 2>"$scratch/s.err"
    [ $? -eq 1 ] && grep -q 'no block ended within the budget' "$scratch/s.err" || return 1
    for wrong in "--instructions v5" "--sample 1" "--sample x" "--budget 0" "--budget 5x" "--budget s"; do
        # shellcheck disable=SC2086
        "$W" model --bundled vec_add $wrong >/dev/null 2>&1
        [ $? -eq 2 ] || { echo "$wrong"; return 1; }
    done
}
check samples_say_so_everywhere samples_say_so_everywhere

bundled_kernels_are_clean() { # those that fill no large buffers, a part of their blocks
    local file
    for file in kernels/ptx/*.json; do basename "$file" .json; done |
        grep -vE '^(matmul|gather|stride_read|gemv|vec_add|chase|offset_copy|occupancy|copy_width)$' >"$scratch/names"
    # shellcheck disable=SC2046
    "$W" kernels model $(cat "$scratch/names") --sample 2 --check bounds,races,align,barrier -q -o "$scratch/clean.wscap" -f
}
check no_bundled_kernel_is_reported bundled_kernels_are_clean

progress_and_ctrl_c() {
    cat >"$scratch/e.ptx" <<'P'
.version 8.0
.target sm_90
.address_size 64
.visible .entry quick(.param .u64 p) { ret; }
.visible .entry endless(.param .u64 p) { L: bra L; ret; }
P
    cat >"$scratch/e.json" <<'J'
{"ptx": "e.ptx", "launches": [
 {"kernel": "quick", "grid": [1], "block": [32], "args": [{"u64": 0}]},
 {"kernel": "endless", "grid": [3], "block": [32], "args": [{"u64": 0}]},
 {"kernel": "quick", "grid": [1], "block": [32], "args": [{"u64": 0}]}]}
J
    python3 - "$W" "$scratch/e.json" <<'P'
import json, os, pty, signal, subprocess, sys, time
command = [sys.argv[1], "model", "--spec", sys.argv[2], "--json"]
master, slave = pty.openpty()
p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, text=True)
os.close(slave)
seen = b""
while b"M PTX warp instructions/s" not in seen: # the line on a terminal
    seen += os.read(master, 4096)
assert b"endless: 0 of 3 blocks, " in seen, seen
p.send_signal(signal.SIGINT)
out = p.communicate(timeout=20)[0]
assert p.returncode == 130, p.returncode
assert '"code": "model-cancelled"' in out and "after 0 of 3 blocks" in out and "model-stopped" not in out, out
kernels = {k["name"]: k for k in json.loads(out)["kernels"]} # what ended, and what ran as far as it came
assert sorted(kernels) == ["endless", "quick"] and kernels["quick"]["launches"] == 1, kernels.keys()
p = subprocess.Popen(command + ["--kernel", "endless"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(0.7)
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=20)
assert p.returncode == 130 and '"name": "endless"' in out and "later launches are missing" in out, (p.returncode, out)
assert "0 M/s" not in err and "\r" not in err and "Ctrl-C while endless ran" in err, err
P
}
check progress_on_a_terminal_only_and_ctrl_c_keeps_what_ran progress_and_ctrl_c

wrong_specs_say_what_is_wrong() {
    local text want
    while IFS='|' read -r text want; do
        echo "$text" >"$scratch/w.json"
        "$W" model --spec "$scratch/w.json" --ptx "$scratch/k.ptx" >/dev/null 2>"$scratch/w.err" && return 1
        grep -q "$want" "$scratch/w.err" || { echo "$text:"; cat "$scratch/w.err"; return 1; }
    done <<'L'
{|launches
{"launches": [{"kernel": "nothing", "grid": [1], "block": [1], "args": []}]}|no kernel 'nothing'
{"launches": [{"kernel": "good", "grid": [1], "block": [1], "args": []}]}|takes 1 arguments
{"launches": [{"kernel": "good", "grid": [1], "block": [1], "args": [{"i32": 1}]}]}|has 4 bytes
{"launches": [{"kernel": "good", "grid": [1], "block": [1], "args": [{"buffer": "x"}]}]}|no such buffer
{"launches": [{"kernel": "good", "grid": [1], "block": [2000], "args": [{"u64": 0}]}]}|block size
{"buffers": {"b": {"bytes": -1}}, "launches": []}|bytes
{"launches": [{"kernel": "good", "grid": [3], "block": [1], "cluster": [2], "args": [{"u64": 0}]}]}|cluster of (2,1,1) blocks does not divide the grid of (3,1,1)
{"launches": [{"kernel": "good", "grid": [4], "block": [1], "cluster": [0], "args": [{"u64": 0}]}]}|cluster of (0,1,1)
{"launches": [{"kernel": "good", "grid": [4], "block": [1], "cluster": 2, "args": [{"u64": 0}]}]}|one to three numbers wanted in 'cluster'
{"launches": [{"kernel": "good", "grid": [64], "block": [1], "cluster": [32], "args": [{"u64": 0}]}]}|at most 16 blocks
{"launches": [{"kernel": "good", "grid": [4], "block": [1], "cooperative": 1, "args": [{"u64": 0}]}]}|true or false wanted in 'cooperative'
L
}
check wrong_specs_say_what_is_wrong wrong_specs_say_what_is_wrong

# Block 0 waits for block 1, which only a cooperative launch has resident; a cluster's rank counts within it.
spec_of_blocks_together() {
    cat >"$scratch/t.ptx" <<'P'
.version 8.0
.target sm_90
.address_size 64
.visible .entry wait(.param .u64 p) {
.reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;
st.release.gpu.global.u32 [%rd1], 7; ret;
L: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.ne.u32 %p2, %r2, 7; @%p2 bra L; ret; }
.visible .entry rank(.param .u64 p) {
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_ctarank; mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret; }
P
    cat >"$scratch/t.json" <<'J'
{"ptx": "t.ptx", "buffers": {"b": {"bytes": 16, "fill": "zero"}}, "launches": [
 {"kernel": "wait", "grid": [2], "block": [1], "args": [{"buffer": "b"}], "cooperative": true}]}
J
    "$W" model --spec "$scratch/t.json" -q --json --max-instructions 100000 >"$scratch/t.out" || return 1
    grep -q model-stopped "$scratch/t.out" && return 1
    sed -i 's/true/false/' "$scratch/t.json"
    "$W" model --spec "$scratch/t.json" -q --json --max-instructions 100000 >"$scratch/t.out"
    grep -q model-stopped "$scratch/t.out" || return 1
    cat >"$scratch/t.json" <<'J'
{"ptx": "t.ptx", "buffers": {"b": {"bytes": 16, "fill": "zero", "save": "ranks"}}, "launches": [
 {"kernel": "rank", "grid": [4], "block": [1], "args": [{"buffer": "b"}], "cluster": [2]}]}
J
    "$W" model --spec "$scratch/t.json" -q >/dev/null || return 1
    [ "$(od -An -tu4 "$scratch/ranks" | tr -s ' ')" = " 0 1 0 1" ]
}
check spec_of_blocks_that_are_resident_together spec_of_blocks_together

access_counts() {
    "$W" access --width 4 --stride 2 --offset 1 --block 32x8 --pitch 4096 --json >"$scratch/a.json" || return 1
    python3 -c 'import json,sys; a=json.load(open(sys.argv[1])); assert a["sectors"]==64 and a["bank_conflicts"]==8 and len(a["per_warp"])==8' "$scratch/a.json" || return 1
    "$W" access --transposed --block 32x32 | grep -q 'advice: .* 4 bytes of padding' || return 1
    "$W" access | grep -q 'rules: measured (NVIDIA H200' || return 1
    "$W" access --cc 6.1 | grep -q 'rules: documented .*whether L1 holds global loads differs' || return 1
    "$W" model --bundled zip_bias -q --gpu 4090 --json | grep -q 'compute capability 8.9 counts memory requests is documented, not measured' || return 1
    "$W" model --bundled zip_bias -q --json | grep -q model-rules && return 1
    "$W" access --width 3 >/dev/null 2>&1
    [ $? -eq 2 ] || return 1
    "$W" access --cc 3.0 >/dev/null 2>&1
    [ $? -eq 2 ]
}
check access_calculator_counts_and_advises access_counts
exit $failed
