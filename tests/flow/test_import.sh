#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_import.sh: files of other profilers: Nsight Compute's CSV as recorded beside the H200 session and as written here in
# base and scaled units, Nsight Systems' SQLite export by its published schema (a format test: made by make_nsys.py), and
# files that are none or want to do harm: one line, and nothing stored.
set -u
cd "$(dirname "$0")/../.." || exit 1
B="${B:-build}"
W="$PWD/$B/warpsight"
top="$PWD"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/import.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool"
cd "$scratch" || exit 1
status=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 500 log)"; status=1; fi; }
is() { jq -e "$1" report.json >/dev/null 2>log; result $? "$2"; }
sessions() { "$W" list sessions --json | jq '.sessions | length'; }
# refused TEXT NAME FILE…: exit 1, one line with TEXT on stderr, no output, no session.
refused() {
    local text=$1 name=$2 before code
    shift 2
    before=$(sessions)
    "$W" import "$@" >out 2>log
    code=$?
    [ $code -eq 1 ] && [ ! -s out ] && [ "$(wc -l <log)" -eq 1 ] && grep -qF -- "$text" log && [ "$(sessions)" -eq "$before" ]
    result $? "$name"
}

# --- Nsight Compute, recorded ---
real=("$top"/tests/gpu/results/*-h200-ncu-details.csv.gz)
"$W" import "${real[-1]}" >out 2>log && grep -q ', 94 launches, imported (ncu-csv)$' out
result $? "the recorded details page imports"
"$W" report --json >report.json
is '.session.source == "imported" and .session.name == "2026-11-30-h200-ncu-details"' "its source says imported"
"$W" report >text && grep -q '  imported  ' text && "$W" list sessions | grep -q ' imported ' && "$W" export --format markdown | head -1 | grep -q '(imported)' && "$W" report --html page.html && grep -q 'imported' page.html
result $? "and so do text, list, Markdown and page"
zcat "${real[-1]}" >plain.csv
"$W" import plain.csv >out 2>log && grep -q 'already imported as session 1; nothing is added twice' out
result $? "the same file unpacked is the same session"
WARPSIGHT_DB=measured "$W" import "$top/tests/flow/h200-kernels.wscap" >/dev/null && WARPSIGHT_DB=measured "$W" report --json >measured.json
"$top/tests/flow/check_import.py" measured.json report.json >log 2>&1
result $? "what both tools say of a kernel is the same: $(head -c 100 log)"
is '[.kernels[] | select(.name == "vec_add" or .name == "small_grid<8>" or .name == "diverge_predicated") | .findings[].rule] | sort == ["W07-predication", "W09-small-grid", "W13-dram-bound"]' "our advice works on it"
is '[.kernels[].skipped[] | select(.rule == "W01-uncoalesced-loads") | .why] | length == 94 and all(. == "not-in-source")' "a rule without its inputs says that the file does not hold them"
"$W" export --format capture -o back.wscap && WARPSIGHT_DB=back "$W" import back.wscap >/dev/null && WARPSIGHT_DB=back "$W" report --json | jq 'del(.session.id)' >back.json && jq 'del(.session.id)' report.json | cmp -s - back.json 2>log
result $? "it leaves as a capture and comes back the same"

# --- Nsight Compute, raw page, base and scaled units ---
python3 - <<'PY'
names = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes.sum.per_second", "sm__cycles_elapsed.max", "gpc__cycles_elapsed.avg.per_second",
         "smsp__sass_inst_executed_op_global_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
         "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
         "zz__own.sum", "zz__wait.avg", "launch__registers_per_thread", "launch__shared_mem_per_block_static",
         "launch__shared_mem_per_block_dynamic", "launch__func_cache_config", "device__attribute_multiprocessor_count",
         "device__attribute_display_name", "device__attribute_clock_rate"]
base = [("62,530", "ns"), ("16,780,000", "byte"), ("1,234,500,000,000", "byte/second"), ("123,669", "cycle"), ("1,973,000,000", "cycle/second"),
        ("524,288", "inst"), ("999", ""), ("2,097,152", "sector"), ("93.61", "%"), ("7", ""), ("2,500", "ns"), ("72", "register/thread"),
        ("1,024", "byte/block"), ("20,480", "byte/block"), ("CachePreferNone", ""), ("132", ""), ("NVIDIA H200", ""), ("1,980,000", "")]
scaled = [("62.53", "us"), ("16.78", "Mbyte"), ("1.2345", "Tbyte/second"), ("123,669", "cycle"), ("1.973", "cycle/nsecond"),
          ("524,288", "inst"), ("999", ""), ("2,097,152", "sector"), ("93.61", "%"), ("7", ""), ("2.50", "usecond"), ("72", "register/thread"),
          ("1.024", "Kbyte/block"), ("20.48", "Kbyte/block"), ("CachePreferNone", ""), ("132", ""), ("NVIDIA H200", ""), ("1,980,000", "")]
head = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]


def line(cells):
    return ",".join('"%s"' % c.replace('"', '""') for c in cells) + "\n"


def write(path, rows, order):
    with open(path, "w") as f:
        f.write('==PROF== Connected to process 7 ("a b")\nsaid: "an odd quote\n')
        f.write(line(head + [names[i] for i in order]))
        f.write(line([""] * len(head) + [rows[i][1] for i in order]))
        for n, kernel in enumerate(['void k<(int)2>(const float *, "x")', "other(int)", 'void k<(int)2>(const float *, "x")']):
            f.write(line([str(n), "7", "app", "host", kernel, "1", "7", "(256, 1, 1)", "(1056, 1, 1)", "0", "9.0"] + [rows[i][0] for i in order]))


write("base.csv", base, range(len(names)))
write("scaled.csv", scaled, range(len(names)))
write("turned.csv", base, list(reversed(range(len(names)))))
PY
for name in base scaled turned; do
    WARPSIGHT_DB=$name "$W" import $name.csv >out 2>log && grep -q ', 3 launches, imported (ncu-csv)$' out
    result $? "a raw page imports ($name)"
    WARPSIGHT_DB=$name "$W" report --json | jq '.kernels' >$name.json
done
jq '{kernels: .}' base.json >report.json
is '.kernels | length == 2 and ([.[].launches] | sort) == [1, 2]' "two kernels, three launches"
is '.kernels[0].duration.mean == 6.253e-05 and .kernels[0].metrics.dram_read_bytes.value == 16780000' "seconds and bytes"
is '.kernels[0].metrics.dram_bandwidth == {"value": 1234500000000, "unit": "B/s"}' "a rate that is given stands in for its formula"
is '.kernels[0].metrics.achieved_occupancy.value == 0.9361' "percent become a ratio, exactly"
is '.kernels[0].metrics.gld_requests.value == 524288' "our own counter is better than one that is nearly the same"
is '.kernels[0].metrics.gld_sectors_per_request.value == 4' "formulas work on imported counters"
is '.kernels[0].metrics["zz__own.sum"].value == 7 and .kernels[0].metrics["zz__wait.avg"].value == 2500' "what is unknown keeps its CUPTI name and unit"
is '.kernels[0] | .regs_per_thread == 72 and .static_smem_bytes == 1024 and .dynamic_smem_bytes == 20480' "resources of the launch"
cmp -s base.json scaled.json 2>log
result $? "scaled units give the very same numbers"
diff <(jq -S . base.json) <(jq -S . turned.json) >log 2>&1
result $? "the order of columns does not matter"

# --- Nsight Systems ---
"$top/tests/flow/make_nsys.py" n.sqlite && "$W" import n.sqlite >out 2>log && grep -q '5 launches, imported (nsys-sqlite)$' out
result $? "an export of Nsight Systems imports"
"$W" report n --json >report.json
is '.session.source == "imported" and .session.started == "2026-11-30T00:53:20.000000000Z"' "with its source and its start"
is '[.warnings[].code] == ["imported-nsys-sqlite"]' "and one word on what it does not hold"
is '.devices == [.devices[0]] and .devices[0].name == "NVIDIA H200" and .devices[0].sms == 132 and .devices[0].uuid == "GPU-01234567-89ab-cdef-0123-456789abcdef"' "its GPU"
is '[.kernels[] | {name, launches}] | sort_by(.name) == [{"name": "copy", "launches": 1}, {"name": "stride_read<2>", "launches": 4}]' "its kernels, by their mangled names"
is '.kernels[] | select(.name == "stride_read<2>") | .duration.min == 7e-07 and .duration.max == 1.5e-05 and .regs_per_thread == 32' "their times and resources"
"$W" export n --format chrome-trace -o n.json && "$top/tests/flow/check_exports.py" chrome n.json report.json >log 2>&1 && grep -q '^16 slices, 8 flows, 0 without time$' log
result $? "calls lead to launches and copies, in each of its processes: $(head -c 60 log)"
[ "$(jq '[.traceEvents[] | select(.name == "cudaLaunchKernel" or .name == "cudaMemcpyAsync")] | length' n.json)" -eq 6 ] && jq -e '[.traceEvents[] | select(.cat == "gpu_memcpy") | .name] | sort == ["Memcpy DtoD (Device -> Device)", "Memcpy HtoD (Pageable -> Device)"]' n.json >/dev/null 2>log
result $? "names of calls without the version of their parameters; kinds of memory"
"$W" import n.sqlite >out 2>log && grep -q 'already imported' out
result $? "the same export again is no second session"
"$top/tests/flow/make_nsys.py" bare.sqlite bare && "$W" import bare.sqlite >out 2>log && "$W" report bare --json >report.json
is '[.kernels[].launches] | add == 4' "an older export, with fewer tables and columns"

# --- what is none, or wants to do harm ---
"$W" import --format nonsense n.sqlite >out 2>log
[ $? -eq 2 ] && grep -q 'there is: capture, ncu-csv, nsys-sqlite' log
result $? "an unknown --format is a usage error and lists them"
refused "column titles" "a text that is no CSV" "$top/README.md"
refused "titles" "a capture called a CSV" --format ncu-csv "$top/tests/flow/h200-graph.wscap"
refused "not a database" "a CSV called a database" --format nsys-sqlite plain.csv
refused "not one whole frame" "a database called a capture" --format capture n.sqlite
refused "database of WarpSight" "our own database" db
gzip -k n.sqlite
refused "gunzip" "a compressed database" n.sqlite.gz
printf 'NVR\0\0\0report' >x.ncu-rep && cp x.ncu-rep x.nsys-rep
refused "ncu --import" "a report of Nsight Compute says how to export it" x.ncu-rep
refused "nsys export" "a report of Nsight Systems says how to export it" x.nsys-rep
head -c 300000 "${real[-1]}" | head -c 30000 >cut.csv.gz
refused "cannot be read" "a compressed file that is cut" cut.csv.gz
sed 's/"Grid Size"/"Gitter"/' plain.csv >nogrid.csv
refused "'Grid Size'" "a CSV without a column that is needed" nogrid.csv
grep '^"ID"' plain.csv >empty.csv
refused "no launch" "a CSV without a launch" empty.csv
"$top/tests/flow/make_nsys.py" nokey.sqlite nokey
refused "StringIds" "a database that would make lookups slow" nokey.sqlite
sqlite3 other.sqlite 'CREATE TABLE t (a)'
refused "StringIds" "a database of something else" other.sqlite
python3 - <<'PY'
import sqlite3
db = sqlite3.connect("lines.sqlite")
db.execute('CREATE TABLE "a\n\x1b[31mb" (x)')
db.execute("PRAGMA writable_schema = 1")
db.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE x ('")
db.commit()
PY
refused "malformed" "a damaged schema whose names have line ends is told in one line" lines.sqlite
head -c 20000 n.sqlite >cut.sqlite
refused "cannot be read" "a database that is cut" cut.sqlite
"$top/tests/flow/make_nsys.py" view.sqlite view && "$W" import view.sqlite >out 2>log && grep -q ' 0 launches' out
result $? "a view of a foreign database is not run"
"$top/tests/flow/make_nsys.py" hostile.sqlite hostile && "$W" import hostile.sqlite >out 2>log && "$W" report hostile --json >report.json
is '(.warnings | any(.code == "records-lost" and (.message | test("impossible")))) and ([.kernels[].duration.mean] | all(. == null))' "texts and numbers out of place are lost, and said so"
LC_ALL=C sed '200s/,"[0-9,.]*",/,"\xff\xfe1,2,3",/; 300s/"(256/"(9999999999/' plain.csv >odd.csv && "$W" import odd.csv >out 2>log && grep -q 'left out' out
result $? "cells that are no numbers are left out and counted"
"$W" import plain.csv x.ncu-rep n.sqlite >out 2>log
[ $? -eq 1 ] && [ "$(grep -c 'already imported' out)" -eq 2 ]
result $? "one bad file does not keep the others out"
exit $status
