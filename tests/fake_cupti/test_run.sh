#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_run.sh: `warpsight run` from the command line to the report, on the fake driver and the fake CUPTI: values,
# exit statuses, what passes through to the program, what is refused before it starts, what is said when something
# is missing. The collector's own tests are in test_collector.sh.
set -u
. "$(dirname "$0")/lib.sh" run
seen() { echo "status $status; stdout: $(head -c 300 "$scratch/out" | tr '\n' '~'); stderr: $(head -c 500 "$scratch/err" | tr '\n' '~')"; }
# run OPTIONS…: stdout, stderr and status of `warpsight run OPTIONS…`
run() {
    timeout -k 2 60 "$ws" run "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
}
report() { "$ws" report --json "$@" >"$scratch/report.json" 2>"$scratch/err"; }
# holds NAME JQ: of report.json
holds() {
    jq -e "$2" "$scratch/report.json" >/dev/null 2>&1
    check "$1" $? "not true: $2: $(jq -c '{session, w:[.warnings[].code], k:[.kernels[]|{name,launches,profiled_launches}]}' "$scratch/report.json" | head -c 700);"
}

# --- from the program to the report ---

run --name first -- "$app" basic 5 </dev/null
check "the exit status is the program's" $([ $status = 5 ]; echo $?)
"$app" basic 5 >"$scratch/plain.out" 2>"$scratch/plain.err"
check "the program's stdout comes first and unchanged" "$(cmp -s -n "$(stat -c %s "$scratch/plain.out")" "$scratch/out" "$scratch/plain.out"; echo $?)"
check "its stderr is unchanged, ours is marked" "$(grep -v '^==WARPSIGHT== ' "$scratch/err" | cmp -s - "$scratch/plain.err"; echo $?)"
check "the report follows on stdout" "$(grep -q transpose "$scratch/out"; echo $?)"
report
holds "the session says where it comes from" '.session | .source == "synthetic" and .name == "first" and .exit_status == 5 and (.argv[-1] == "5") and .cupti != null'
holds "kernels, launches, those with counters" '[.kernels[] | [.name, .launches, .profiled_launches]] | sort == [["scale<float>",1,1],["transpose",2,1],["vecadd",3,1]]'
holds "counts are those of the kernel" '.kernels[] | select(.name == "vecadd") | .metrics | .gld_requests.value == 64 and .gld_sectors.value == 256 and .gst_sectors.value == 128 and .fp32_add.value == 1024'
holds "derived metrics follow" '.kernels[] | select(.name == "vecadd") | .metrics | .gld_sectors_per_request.value == 4 and .gld_efficiency.value == 1 and .achieved_occupancy.value == 0.0625'
holds "bank conflicts" '.kernels[] | select(.name == "transpose") | .metrics.shared_bank_conflicts.value == 992'
holds "times are those of launches that were not profiled" '.kernels[] | select(.name == "vecadd") | .duration.mean == 0.00001 and .duration.min == .duration.max'
holds "names of all three kinds" '.kernels[] | select(.name == "vecadd") | .mangled == "_Z6vecaddPKfS0_Pf" and .demangled == "vecadd(float const*, float const*, float*)"'
holds "an absent number has its reason" '[.kernels[].metrics[] | select(.value == null and ((.why // "") == ""))] == []'
holds "the device" '.devices[0] | .name == "Fake GPU 0" and .cc == "9.0" and .sms == 132'

FAKE_CUPTI_NAN=smsp__sass_inst_executed_op_global_ld.sum run "$app" basic
report
holds "NaN is absent, with a reason, and so is what needs it" '.kernels[] | select(.name == "vecadd") | .metrics | .gld_requests.value == null and .gld_requests.why != null and .gld_sectors_per_request.value == null'

run --json "$app" basic
tail -n +2 "$scratch/out" | jq -e '.kernels | length == 3' >/dev/null
check "--json prints the report as JSON after the program's output" $?
run --csv "$app" basic
check "--csv prints it as CSV" "$(grep -q 'vecadd.*gld_sectors' "$scratch/out"; echo $?)"

# --- how kernels were counted, and what it cost ---

FAKE_CUDA_USED_MB=8100 FAKE_CUPTI_PASSES=4 run "$app" many 64
check "rotated for its footprint: the report says so" "$(grep -q 'counted  *by rotation, 4 passes: .*(at most 8.10 GB in use)' "$scratch/out"; echo $?)"
report
holds "rotated for its footprint: JSON" '[.kernels[].counting | [.mode, .reason, .footprint_bytes, .passes]] | unique == [["rotate","footprint",8100000000,4]]'
holds "what counting took" '.counting | .budget == null and .max_overhead == null and .spent > .setup and .launches >= 16 and .kernels_refused == 0'
FAKE_CUDA_USED_MB=8100 FAKE_CUPTI_PASSES=4 run "$app" basic && report
holds "rotated too seldom: what is missing says why" '.kernels[] | select(.name == "transpose") | [.metrics[] | select(.why == "pass-missing")] | length > 5'
run --verbose "$app" basic
check "--verbose: what a replay is predicted to cost, before it" "$(grep -q '^==WARPSIGHT== replay transpose: .*predicted' "$scratch/err"; echo $?)"
FAKE_CUPTI_DELAY=cuptiRangeProfilerStart:30 run --budget 400ms --every 1 --name budget "$app" many 400
check "a budget: what was spent of it" "$(grep -q 'counting took [0-9.]* ms of at most 400 ms' "$scratch/out"; echo $?)"
report budget
holds "a budget: in words" 'any(.warnings[]; .message | test("^counting took [0-9.]+ ms of at most 400 ms, [0-9.]+ % of the run without it: [0-9]+ launches; of 4 kernels launches were left out, 0 have no counter at all$"))'
holds "a budget: JSON" '.counting | .budget == 0.4 and .spent <= 0.46 and .kernels_refused == 4'
"$ws" export --format capture -f -o "$scratch/budget.wscap" budget 2>/dev/null || "$ws" export --format capture -o "$scratch/budget.wscap" budget
WARPSIGHT_DB="$scratch/other-db" "$ws" import "$scratch/budget.wscap" >/dev/null 2>&1
WARPSIGHT_DB="$scratch/other-db" "$ws" report --json >"$scratch/again.json" 2>/dev/null
jq -e --slurpfile a "$scratch/report.json" '[.counting, [.kernels[].counting]] == [$a[0].counting, [$a[0].kernels[].counting]]' "$scratch/again.json" >/dev/null
check "a budget survives export and import" $?
run --budget 1us --name tiny "$app" basic
check "no time unit of microseconds" $([ $status = 125 ]; echo $?)
run --budget 1ms --name tiny "$app" basic && report tiny
holds "a budget spent on setting up: every counter says so" '(.kernels | length == 3) and ([.kernels[].profiled_launches] | add == 0) and ([.kernels[].metrics.gld_sectors.why] | unique == ["budget-spent"])'
check "a budget spent on setting up: the text says so" "$("$ws" report tiny | grep -q 'not: --budget or --max-overhead left no room'; echo $?)"
FAKE_CUPTI_VARY=smsp__sass_inst_executed.sum run --every 1 --name varying "$app" many 32 && report varying
holds "launches that differ are marked" '.kernels[] | select(.name == "reduce") | .varies == ["inst_executed"] and (.metrics.inst_executed | .varies and .min == 777 and .max == 1554 and .launches == 8 and .deviation > 0) and (.metrics.gld_requests | has("varies") | not)'
check "launches that differ are marked in the text" "$("$ws" report varying | grep -q 'varies  *inst_executed 777.* to 1,554.*: its launches differ'; echo $?)"

# --- options reach the collector ---

run -k transpose "$app" basic && report
holds "-k" '[.kernels[] | select(.profiled_launches > 0) | .name] == ["transpose"]'
run --kernel-name=regex:add --kernel-name-base demangled "$app" basic && report
holds "--kernel-name=regex:…" '[.kernels[] | select(.profiled_launches > 0) | .name] == ["vecadd"]'
run -k vecad "$app" basic
check "-k that fits nothing names the nearest" "$(grep -q "warning.*vecad: none got counters.*nearest names are .vecadd." "$scratch/err"; echo $?)"
run -k 'scale<float>' "$app" basic && report && run -k "$(jq -r '.kernels[] | select(.name == "vecadd") | .hash' "$scratch/report.json")" "$app" basic && report
holds "-k takes a hash" '[.kernels[] | select(.profiled_launches > 0) | .name] == ["vecadd"]'
run -k 'vecadd(float const*, float const*, float*)' "$app" basic && report
holds "-k takes a demangled name" '[.kernels[] | select(.profiled_launches > 0) | .name] == ["vecadd"]'
run -s 1 -c 1 "$app" basic && report
holds "-s and -c" '[.kernels[] | .profiled_launches] | add == 1'
run --every 1 "$app" basic && report
holds "--every" '[.kernels[] | .profiled_launches] | add == 6'
run --replay-mode none "$app" basic && report
holds "--replay-mode none" '[.kernels[] | .profiled_launches] | add == 0'
run --replay-mode rotate --every 1 "$app" many 400 && report
holds "--replay-mode rotate gives the same counts" '.kernels[] | select(.name == "vecadd") | .metrics | .gld_requests.value == 64 and .gld_sectors.value == 256'
run --set core --metrics sm_throughput "$app" basic && report
holds "--set and --metrics" '.kernels[0].metrics | .stall_barrier.value == null and .sm_throughput.value != null'
WARPSIGHT_KERNEL=transpose run "$app" basic && report
holds "the environment's settings count as well" '[.kernels[] | select(.profiled_launches > 0) | .name] == ["transpose"]'
run --target-processes all -v "$app" basic
check "-v says what is set" "$(grep -q '^==WARPSIGHT== WARPSIGHT_SESSION=' "$scratch/err"; echo $?)"

# --- refused before the program starts ---

mark=$scratch/started
# refused NAME STATUS WORDS OPTIONS…: one line on stderr with these words, nothing started
refused() {
    local name=$1 want=$2 words=$3
    shift 3
    rm -f "$mark"
    run "$@"
    [ $status = "$want" ] && [ ! -e "$mark" ] && [ "$(wc -l <"$scratch/err")" = 1 ] && [ ! -s "$scratch/out" ] && grep -qF -- "$words" "$scratch/err"
    check "$name" $?
}
: >"$scratch/there.wscap"
refused "no program" 125 "which program"
refused "nothing after --" 125 "which program" --
refused "an unknown option" 125 "--nonsense" --nonsense touch "$mark"
refused "an option without its value" 125 "needs" -k
refused "a number that is none" 125 "whole number" -c many touch "$mark"
refused "a number out of bounds" 125 "whole number from 0" -s -1 touch "$mark"
refused "an unknown replay mode" 125 "auto|kernel|rotate|none" --replay-mode twice touch "$mark"
refused "a budget that is no time" 125 "'soon' is no time" --budget soon touch "$mark"
refused "an overhead that is no percentage" 125 "'5' is no percentage" --max-overhead 5 touch "$mark"
refused "a bound on counting with --model" 125 "with --model a launch is bounded by --model-budget" --model --budget 10s touch "$mark"
refused "an unknown set" 125 "cores" --set cores touch "$mark"
refused "an unknown metric, with the nearest" 125 "gld_sectors" --metrics gld_sektors touch "$mark"
refused "a bad expression" 125 "regular expression" -k 'regex:(' touch "$mark"
refused "samples of a metric that is none" 125 "did you mean 'sm_active'" --timeline-metrics sm_activ touch "$mark"
refused "samples of a program" 125 "--timeline-metrics default /bin/true" --timeline-metrics /bin/true touch "$mark"
refused "an interval too short" 125 "10us to 10ms" --timeline-interval 1us touch "$mark"
refused "an interval without its unit" 125 "10us to 10ms" --timeline-metrics default --timeline-interval 100 touch "$mark"
refused "samples and counters" 125 "--metrics cannot go with it" --timeline-metrics default --metrics gld_sectors touch "$mark"
refused "samples and a set that counts" 125 "--set cannot go with it" --timeline-metrics default --set api,core touch "$mark"
refused "samples and replay" 125 "--replay-mode cannot go with it" --timeline-metrics default --replay-mode rotate touch "$mark"
refused "samples of the model" 125 "needs a GPU" --model --timeline-metrics default touch "$mark"
refused "two forms of report" 125 "not both" --csv --json touch "$mark"
refused "a file that is there" 125 "there already" -o "$scratch/there" touch "$mark"
refused "a folder that is not there" 125 "nowhere" -o /nowhere/at/all touch "$mark"
refused "an unknown macro" 125 "%z" -o "$scratch/%z" touch "$mark"
refused "a variable that is not set" 125 "no such variable" -o "$scratch/%q{WS_NOT_SET}" touch "$mark"
refused "other target processes" 125 "all|application-only" --target-processes some touch "$mark"
refused "a program that is not there" 127 "not found" /nowhere/program
refused "a program that is nowhere in PATH" 127 "not found" no-such-program
printf 'text' >"$scratch/text"
refused "a file that is no program" 126 "cannot be executed" "$scratch/text"
refused "a folder" 126 "cannot be executed" "$scratch"
chmod +x "$scratch/text"
run "$scratch/text" # execvp hands it to the shell, as env(1) does
check "a text that is executable goes to the shell" $([ $status = 127 ]; echo $?)

# --- exit statuses and signals ---

run "$app" kill 9
check "killed: 128 + 9" $([ $status = 137 ]; echo $?)
report
holds "killed: the session is there" '(.kernels | map(.launches) | add == 6) and .session.exit_status == 137 and any(.warnings[]; .code == "program-signal")'
run "$app" abort
check "aborted: 128 + 6" $([ $status = 134 ]; echo $?)
run --require-kernels "$app" no-cuda
check "no kernel where one is required: 123" $([ $status = 123 ]; echo $?)
check "no CUDA: it is said, with hints" "$(grep -q '^==WARPSIGHT== no CUDA call was seen' "$scratch/err" && grep -q 'doctor\|no NVIDIA driver here' "$scratch/err"; echo $?)"
run "$app" init
check "CUDA without a kernel is told apart" "$([ $status = 0 ] && grep -q 'CUDA was started, but no kernel' "$scratch/err"; echo $?)"
run --require-kernels "$app" no-cuda 7
check "the program's own failure goes before 123" $([ $status = 7 ]; echo $?)
run --require-kernels "$app" basic
check "a kernel was seen: 0" $([ $status = 0 ]; echo $?)
report
printf 'in' | timeout 20 "$ws" run --replay-mode none cat >"$scratch/out" 2>"$scratch/err"
check "stdin is the program's" "$(head -c 2 "$scratch/out" | grep -q in; echo $?)"
"$ws" run sh -c 'trap "exit 9" TERM; echo ready; i=0; while [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done' >"$scratch/out" 2>"$scratch/err" &
pid=$!
for _ in $(seq 100); do
    grep -q ready "$scratch/out" && break
    sleep 0.05
done
kill -TERM $pid
wait $pid
status=$?
check "SIGTERM is passed on, and the report still comes" "$([ $status = 9 ] && grep -q '==WARPSIGHT== session' "$scratch/err"; echo $?)"

# --- environment of the program ---

run sh -c 'echo "$LD_PRELOAD"'
check "LD_PRELOAD is ours" "$([ "$(head -1 "$scratch/out")" = "$PWD/$B/libwarpsight.so" ]; echo $?)"
LD_PRELOAD=libm.so.6 run sh -c 'echo "$LD_PRELOAD"'
check "what was preloaded stays, behind ours" "$([ "$(head -1 "$scratch/out")" = "$PWD/$B/libwarpsight.so:libm.so.6" ]; echo $?)"
(cd "$scratch" && WARPSIGHT_SPOOL=relative run sh -c 'echo "$WARPSIGHT_SPOOL"')
check "the spool's path is absolute for the program" "$([ "$(head -1 "$scratch/out")" = "$scratch/relative" ]; echo $?)"
run "$ws" run --name inner "$app" basic 4
check "run within run" $([ $status = 4 ]; echo $?)
run --name tree sh -c "$app basic; $app fork-before; exec $app basic 3"
check "a tree of processes: status" $([ $status = 3 ]; echo $?)
report tree
holds "a tree of processes: one session" '.kernels | map(.launches) | add == 24'
run "$app" exec && true
report
holds "exec: both images in one session" '(.kernels | map(.launches) | add == 12) and .session.exit_status == 11'

# --- -o ---

fresh
USERNAME_OF_TEST=me run --name cap -o "$scratch/cap-%%-%q{USERNAME_OF_TEST}" "$app" basic
check "-o: macros, .wscap added, no report" "$([ $status = 0 ] && [ -s "$scratch/cap-%-me.wscap" ] && ! grep -q transpose "$scratch/out"; echo $?)"
report cap && cp "$scratch/report.json" "$scratch/direct.json"
USERNAME_OF_TEST=me run -o "$scratch/cap-%%-%q{USERNAME_OF_TEST}.wscap" touch "$mark"
check "-o: not twice without -f" $([ $status = 125 ]; echo $?)
run -f -o "$scratch/cap-%%-me.wscap" --name cap2 "$app" basic
check "-o: -f overwrites" $([ $status = 0 ]; echo $?)
WARPSIGHT_DB="$scratch/other" "$ws" import "$scratch/cap-%-me.wscap" >/dev/null 2>"$scratch/err" && WARPSIGHT_DB="$scratch/other" report
holds "-o: the capture holds the session" '.kernels[] | select(.name == "vecadd") | .metrics.gld_sectors.value == 256 and .launches == 3'
[ -z "$(find "$scratch" -name '*.part')" ]
check "-o: nothing is left beside it" $?

# --- what is dropped is counted, to the last record ---

WARPSIGHT_MEMORY_MB=4 run --set trace "$app" many 200000 && report
holds "launches and lost ones add up" '([.kernels[].launches] | add) + ([.warnings[] | select(.code == "records-lost") | .message | capture("^(?<n>[0-9]+) kernel record").n | tonumber] | add // 0) == 200000'

kept=$(jq '[.kernels[].launches] | add' "$scratch/report.json")
"$ws" serve --background --no-token --listen 127.0.0.1:0 >"$scratch/out" 2>"$scratch/err"
url=$(head -1 "$scratch/out")
curl -s "${url}api/v1/sessions/$(jq .session.id "$scratch/report.json")" >"$scratch/api.json"
jq -e --argjson kept "$kept" '([.loss[] | select(.kind == "kernel") | .count] | add // 0) == 200000 - $kept' "$scratch/api.json" >/dev/null
check "the API counts the same" $? "$(jq -c .loss "$scratch/api.json" 2>&1 | head -c 200);"
"$ws" serve --stop >/dev/null

# --- what is missing is said, and the program runs on ---

mkdir -p "$scratch/alone" && cp "$ws" "$scratch/alone/"
timeout -k 2 60 "$scratch/alone/warpsight" run sh -c 'exit 6' >"$scratch/out" 2>"$scratch/err"
status=$?
check "libraries that are not there: said, and none of ld.so's lines" "$([ $status = 6 ] && grep -q 'it has no collector' "$scratch/err" && ! grep -q ld.so "$scratch/err"; echo $?)"
if echo 'int main(void){return 6;}' | ${CC:-gcc} -x c - -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o "$scratch/musl" 2>/dev/null; then
    run "$scratch/musl"
    check "a program for musl: said, no collector" "$(grep -q 'made for musl: it runs as it is, without the collector' "$scratch/err" && ! grep -q ld.so "$scratch/err"; echo $?)"
fi

CUDA_INJECTION64_PATH=/opt/other/libtool.so run "$app" basic 5
check "another tool is injected: the program runs" "$([ $status = 5 ] && grep -q 'warning.*/opt/other/libtool.so' "$scratch/err"; echo $?)"
report
holds "another tool is injected: the report says which" 'any(.warnings[]; .code == "injection-taken" and (.message | contains("/opt/other/libtool.so")))'
FAKE_CUPTI_HOLDER=Kineto run "$app" basic 5
report
holds "another tool holds CUPTI: the report says which" 'any(.warnings[]; .message | contains("Kineto"))'
run --yield --name yield "$app" own-profiler
check "--yield: the program's own profiler gets CUPTI" "$([ $status = 0 ] && grep -q '^own profiler: 0$' "$scratch/out"; echo $?)"
report yield
holds "--yield: the report says what was lost" '[.kernels[] | [.name, .launches]] == [["transpose",3]] and any(.warnings[]; .code == "yielded" and (.message | contains("own.so")) and .remedy != "")'
FAKE_CUPTI_FAIL=cuptiRangeProfilerEnable:35 run "$app" basic 5
check "no rights: the program runs" $([ $status = 5 ]; echo $?)
report
holds "no rights: times, and the remedy" '(.kernels | length == 3) and any(.warnings[]; .code == "counters-no-rights" and (.remedy | contains("NVreg_RestrictProfilingToAdminUsers")))'
: >"$scratch/file"
WARPSIGHT_SPOOL=$scratch/file/spool run "$app" basic 5
check "no spool: the program runs, and it is said" "$([ $status = 5 ] && grep -q 'spool' "$scratch/err"; echo $?)"
WARPSIGHT_DB=$scratch/file/db run "$app" basic 5
check "no database: the program runs, the session stays in the spool" "$([ $status = 5 ] && grep -q 'stays in the spool' "$scratch/err"; echo $?)"
report
holds "no database: a later report takes it" '.session.exit_status == 5 and (.kernels | length == 3)'
fresh
head -c 4096 /dev/urandom >"$WARPSIGHT_DB"
run "$app" basic 5
check "a corrupt database is moved aside" "$([ $status = 5 ] && ls "$WARPSIGHT_DB".corrupt-* >/dev/null 2>&1 && grep -q 3' kernels' "$scratch/err"; echo $?)"

fresh
run "$app" basic # makes the database
flock "$WARPSIGHT_DB.lock" sleep 1 &
run "$app" basic 5
check "another writer: its end is awaited" "$([ $status = 5 ] && grep -q ': 3 kernels' "$scratch/err"; echo $?)"
wait
mkdir -p "$scratch/alone" && cp "$ws" "$scratch/alone/"
timeout 20 "$scratch/alone/warpsight" run "$app" basic 5 >"$scratch/out" 2>"$scratch/err"
status=$?
check "built without CUDA: the program runs, and it is said" "$([ $status = 5 ] && grep -q 'built without CUDA' "$scratch/err"; echo $?)"
mkdir -p "$scratch/pre fix/bin" "$scratch/pre fix/lib/warpsight"
cp "$ws" "$scratch/pre fix/bin/" && cp "$B"/libwarpsight*.so "$scratch/pre fix/lib/warpsight/"
timeout 20 "$scratch/pre fix/bin/warpsight" run "$app" basic 5 >"$scratch/out" 2>"$scratch/err"
status=$?
check "installed under a path with a blank" "$([ $status = 5 ] && grep -q ': 3 kernels, 6 launches' "$scratch/err"; echo $?)"
if echo 'int main(void){return 6;}' | ${CC:-gcc} -static -x c - -o "$scratch/static" 2>/dev/null; then
    run "$scratch/static"
    check "a static program" "$([ $status = 6 ] && grep -q 'linked statically' "$scratch/err"; echo $?)"
    report
    holds "a static program: the report says so" 'any(.warnings[]; .code == "program-static")'
else
    echo "SKIP a static program: no static libc here"
fi
if echo 'int main(void){return 6;}' | ${CC:-gcc} -m32 -x c - -o "$scratch/small" 2>/dev/null; then
    run "$scratch/small"
    check "a 32-bit program: one line, and none of ld.so's" "$([ $status = 6 ] && ! grep -q ld.so "$scratch/err"; echo $?)"
else
    echo "SKIP a 32-bit program: no 32-bit libc here"
fi

# --- without run ---

fresh
LD_PRELOAD="$PWD/$B/libwarpsight.so" WARPSIGHT_NAME=plain "$app" basic >/dev/null 2>&1
report
holds "plain preload: report shows it afterwards" '.session.name == "plain" and (.kernels | length == 3) and .session.source == "synthetic"'
exit $failed
