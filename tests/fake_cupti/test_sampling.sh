#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_sampling.sh: `run --stalls pc` on the fake driver and the fake CUPTI: every sample of the program is known
# (fake_cupti.c), and every call's order is checked there. What it writes, what the report says of it, what happens
# when a call fails, lasts long or never comes back.
set -u
. "$(dirname "$0")/lib.sh" sampling
sources=$(mktemp -d /tmp/ws-sampled-XXXXXX) # as long as the name in sampled.cubin
at_exit() { rm -rf "$sources"; }
brief='{k:(.kernel|length), s:[.pc_sample[]|[.function,.pc,.reason,.samples]], t:.pc_sampling, st:[.status[].code], loss:.loss}'
sampled() { WARPSIGHT_STALLS=pc profile "$@"; } # as profile, sampled
sum() { echo "([.pc_sample[] | select(.function == \"$1\" and (.reason | endswith(\"not_issued\") | not)) | .samples] | add // 0)"; }
calls() { sed -n "s/^count $1 //p" "$FAKE_CUPTI_LOG"; }

# --- what is written ---

sampled basic 3
claim "the program is as it was" "$([ $status = 3 ] && echo true || echo false)"
claim "each launch leaves its samples, those that come only with Disable too" "$(sum _Z9transposePKfPf) == 400 and $(sum _Z6vecaddPKfS0_Pf) == 180 and $(sum '_Z5scaleIfEvPT_') == 5"
claim "a place and a reason" '[.pc_sample[] | select(.function == "_Z9transposePKfPf" and .pc == 336 and .reason == "smsp__pcsamp_warps_issue_stalled_short_scoreboard")] | map(.samples) | add == 200'
claim "totals: what came, what is of other kernels" '.pc_sampling[-1] | .samples == 627 and .other == 42 and .dropped == 0 and .period == 15'
claim "no counters, and it is said" '(.profile | length == 0) and any(.status[]; .code == "counters-off")'
claim "the trace goes on" '.kernel | length == 6'
claim "the code, once" '[.cubin[] | [.size, .offset, .length]] == [[9184, 0, 9184]]'
claim "samples and code have the same crc" '(.cubin[0].crc) as $crc | [.pc_sample[] | select(.function != "_Z5scaleIfEvPT_") | .cubin] | unique == [$crc]'
check "no range profiler was touched" "$([ -z "$(calls cuptiRangeProfilerEnable)" ]; echo $?)"
claim "what it took is told" 'any(.cost[]; .what == "sampling" and .total_ns > 0) and any(.cost[]; .what == "modules" and .count == 1)'

WARPSIGHT_SAMPLING_INTERVAL=7 sampled basic
claim "the interval is 2^(5+N)" '.pc_sampling[-1].period == 12'
WARPSIGHT_SAMPLING_INTERVAL=99 sampled basic
claim "an interval that is none: said, and the usual one" '.pc_sampling[-1].period == 15 and any(.status[]; .code == "setting-invalid" and (.message | contains("99")))'
FAKE_CUPTI_SAMPLES_LOST=11 sampled basic
claim "what the hardware dropped is a loss" '(.pc_sampling[-1].dropped == 66) and ([.loss[] | select(.kind == "pc_sample" and .reason == "hardware") | .count] | add == 66)'
sampled slow
claim "drained while it runs: sums, not rows of each drain" "$(sum _Z9transposePKfPf) == 15000 and ([.pc_sample[] | select(.pc == 336)] | length) < 20 and ([.cost[] | select(.what == \"sampling\")][-1].count > 5)"
FAKE_CUPTI_MODULE_MS=1 FAKE_CUPTI_DELAY=cuptiPCSamplingGetData:20 WARPSIGHT_FLUSH_MS=5 sampled contexts
claim "ten contexts, each sampled to its end; no GetData beside a module that is loaded" "$(sum _Z9transposePKfPf) == 1000 and ([.pc_sampling[].context] | unique | length == 10)"
FAKE_CUPTI_MODULE_MS=1300 WARPSIGHT_FLUSH_MS=20 sampled gone
claim "a context goes while a module is being loaded for long: it is not asked again, and said; one that came meanwhile is sampled" "any(.status[]; .code == \"sampling-busy\") and $(sum _Z9transposePKfPf) == 400"
sampled threads
claim "launches from many threads" '.pc_sampling[-1].samples > 0'
sampled graph
claim "kernels of graphs are sampled" '(.kernel | length) as $n | $n > 9 and .pc_sampling[-1].other == 7 * $n'
sampled fork-after
claim "a forked child makes no call" "$([ $status -lt 128 ] && echo true || echo false)"

# --- the command line ---

# refused WORDS OPTIONS…: one line with these words, status 125, nothing started
refused() {
    local words=$1
    shift
    rm -f "$scratch/started"
    timeout 20 "$ws" run "$@" touch "$scratch/started" >"$scratch/out" 2>"$scratch/err"
    status=$?
    [ $status = 125 ] && [ ! -e "$scratch/started" ] && [ "$(wc -l <"$scratch/err")" = 1 ] && grep -qF -- "$words" "$scratch/err"
    check "refused: $*" $? "status $status, $(cat "$scratch/err")"
}
refused "counters|pc" --stalls samples
refused "excludes counters" --stalls pc --metrics gld_sectors
refused "--set is trace or api" --stalls pc --set core
refused "leave --replay-mode out" --stalls pc --replay-mode rotate
refused "samples every launch" --stalls pc -k transpose
refused "samples every launch" --stalls pc -c 1
refused "leave --budget out" --stalls pc --budget 10s
refused "needs a GPU" --stalls pc --model
refused "neither auto nor a number from 0 to 26" --stalls pc --sampling-interval 27
refused "neither auto nor" --stalls pc --sampling-interval 1e1
refused "is for --stalls pc" --sampling-interval 3
"$ws" run --stalls pc --set api --sampling-interval 5 "$app" basic >"$scratch/out" 2>"$scratch/err"
check "--stalls pc --set api --sampling-interval 5" $? "$(cat "$scratch/err")"

# --- the report ---

cp "$here/sampled.cu" "$sources/"
mkdir "$scratch/tools"
cat >"$scratch/tools/nvdisasm" <<'TOOL'
#!/bin/sh
[ "$1 $2" = "-c -fun" ] && [ "$(wc -c <"$4")" = 9184 ] || exit 3
printf '.text._Z9transposePKfPf:\n        /*0000*/  LDC R1, c[0x0][0x28] ;\n        /*0130*/  LDS R5, [R4] ;\n        /*0150*/  STG.E [R2], R5 ;\n'
TOOL
chmod +x "$scratch/tools/nvdisasm"
rm -rf "$WARPSIGHT_DB"*
FAKE_CUPTI_FOLDER=$sources "$ws" run --stalls pc --name sampled "$app" basic >"$scratch/out" 2>"$scratch/err"
check "the report says the method, and how it was sampled" "$(grep -q '^  PC samples      short_scoreboard 51.0 %, mio_throttle 23.5 %, long_scoreboard 15.3 %, others 10.2 %  (400 samples' "$scratch/out" && grep -q '^PC samples  627, one every 2^15 cycles of an SM; 42 in kernels that are not' "$scratch/out" && ! grep -q '^  stalls' "$scratch/out"; echo $?)" "$(grep 'PC samples' "$scratch/out")"
# said NAME JQ: of report --json
said() {
    "$ws" report --json sampled >"$scratch/report.json" 2>"$scratch/err" && jq -e "$2" "$scratch/report.json" >/dev/null
    check "$1" $? "not true: $2 $(jq -c '.pc_sampling, (.kernels[] | .pc_samples)' "$scratch/report.json" | head -c 600)"
}
said "samples of a kernel in JSON" '.kernels[] | select(.name == "transpose") | .pc_samples | .method == "PC samples" and .samples == 400 and .not_issued == 336 and .selected == 0.02 and (.shares | [.[]] | add | . > 0.999999 and . < 1.000001)'
said "they are no counters: metrics and the stall bar have none" '.kernels[] | select(.name == "transpose") | .metrics.stall_short_scoreboard.value == null and .stalls.warp_cycles == null and .stalls.method == "issue-slot counters"'
said "the session's totals" '.pc_sampling == {method: "PC samples", period_log2: 15, period_log2_most: 15, samples: 627, other_kernels: 42, dropped: 0, without_kernel: 0}'
"$ws" report --source transpose sampled >"$scratch/source" 2>"$scratch/err"
check "report --source: the hottest line, its reasons, its text" "$(sed -n 2,3p "$scratch/source" | tr '\n' '~' | grep -q '^  72.0 %  sampled.cu:19  out\[y \* 32 + x\] = tile\[x\]\[y\];.*~          short_scoreboard 69.4 %, mio_throttle 27.8 %, selected 2.78 %~'; echo $?)" "$(head -5 "$scratch/source")"
if ! command -v nvdisasm cuobjdump >/dev/null && [ ! -x /usr/local/cuda/bin/nvdisasm ] && [ ! -x /usr/local/cuda/bin/cuobjdump ]; then
    check "no disassembler: it is said" "$(grep -q 'no SASS text: needs nvdisasm or cuobjdump' "$scratch/source"; echo $?)"
fi
PATH="$scratch/tools:$PATH" "$ws" report --source transpose sampled >"$scratch/source" 2>"$scratch/err"
check "SASS by nvdisasm" "$(grep -q '^            0150  50.0 %  STG.E \[R2\], R5$' "$scratch/source" && grep -q '00f0  15.0 %.*(inlined at line 17)' "$scratch/source"; echo $?)" "$(cat "$scratch/source")"
PATH="$scratch/tools:$PATH" "$ws" report --source transpose --json sampled >"$scratch/source.json" 2>"$scratch/err"
jq -e '.kernels[0] | .samples.samples == 400 and .samples.sass_why == null and ([.samples.rows[] | select(.at == 304)] == [{cubin: .samples.rows[0].cubin, at: 304, sass: "LDS R5, [R4]", file: 0, line: 19, call_file: null, call_line: null, samples: 88, not_issued: 60, stalls: {mio_throttle: 80, selected: 8}}]) and (.samples.rows[0] | .at == 0 and .samples == 0 and .line == 13) and (.files[0].lines | length > 10)' "$scratch/source.json" >/dev/null
check "report --source --json; instructions that were never hit stand in it, too" $? "$(jq -c '.kernels[0].samples.rows' "$scratch/source.json" | head -c 500)"
"$ws" report --source scale sampled >"$scratch/source" 2>&1
check "code that is not there: samples without lines, and why" "$(grep -q 'code without a source line' "$scratch/source" && grep -q 'the code was not told of' "$scratch/source"; echo $?)"
rm "$sources/sampled.cu"
"$ws" report --source transpose sampled >"$scratch/source" 2>&1
check "a file that is not there: lines all the same, and why" "$(grep -q '72.0 %  sampled.cu:19' "$scratch/source" && grep -q 'no text of .*sampled.cu: the file is not on this machine' "$scratch/source"; echo $?)"
"$ws" export sampled --format capture -o "$scratch/sampled.wscap" 2>"$scratch/err" && "$ws" report --json sampled | jq -S 'del(.session.id, .kernels[].id)' >"$scratch/direct" &&
    WARPSIGHT_DB="$scratch/other" "$ws" import "$scratch/sampled.wscap" >/dev/null 2>"$scratch/err" &&
    WARPSIGHT_DB="$scratch/other" "$ws" report --json | jq -S 'del(.session.id, .kernels[].id)' | cmp -s - "$scratch/direct" &&
    WARPSIGHT_DB="$scratch/other" "$ws" report --source transpose | diff -q - "$scratch/source" >/dev/null
check "a capture carries samples and code" $? "$(cat "$scratch/err")"
"$ws" export sampled --format sqlite -o "$scratch/alone.db" 2>"$scratch/err" && WARPSIGHT_DB="$scratch/alone.db" "$ws" report --source transpose | diff -q - "$scratch/source" >/dev/null
check "and so does a database of one session" $? "$(cat "$scratch/err")"
"$ws" export sampled --format pprof -o "$scratch/p.pb.gz" 2>"$scratch/err" && "$python" tests/flow/check_exports.py pprof "$scratch/p.pb.gz" >"$scratch/pprof" 2>&1
check "pprof: samples by source line and reason" "$(grep -q 'pc_samples/count' "$scratch/pprof" && grep -q "^sample 0 0 200 transpose:19 <- fake_app {'stall': 'short_scoreboard'}" "$scratch/pprof"; echo $?)" "$(head -c 600 "$scratch/pprof")"
"$ws" export sampled --format markdown >"$scratch/md" 2>"$scratch/err"
check "markdown: a list of its own" "$(grep -qxF -e '- `transpose`, 400 samples: short_scoreboard 51.0 %, mio_throttle 23.5 %, long_scoreboard 15.3 %; 72.0 % at `sampled.cu:19`' "$scratch/md"; echo $?)" "$(grep -A 3 'PC samples' "$scratch/md")"
"$ws" run --set trace --name plain "$app" basic >/dev/null 2>&1
"$ws" report --source transpose plain >"$scratch/out" 2>"$scratch/err"
check "a session without samples: one line, status 1" "$([ $? = 1 ] && grep -q "has no PC samples of 'transpose'" "$scratch/err" && [ ! -s "$scratch/out" ]; echo $?)"
"$ws" report --source transpose --csv >/dev/null 2>"$scratch/err"
check "--source with --csv: status 2" "$([ $? = 2 ]; echo $?)"
"$ws" serve --background --no-token --listen 127.0.0.1:0 >"$scratch/out" 2>"$scratch/err"
url=$(head -1 "$scratch/out")
id=$("$ws" report --json sampled | jq '.session.id, (.kernels[] | select(.name == "transpose") | .id)' | tr '\n' ' ')
curl -s "${url}api/v1/sessions/${id% * }/kernels/$(echo "$id" | cut -d' ' -f2)/source" >"$scratch/api.json"
jq -e '.from == null and .samples.samples == 400 and (.samples.rows | length == 5) and .files[0].why != null' "$scratch/api.json" >/dev/null
check "the API's source has the samples" $? "$(head -c 300 "$scratch/api.json")"
"$ws" serve --stop >/dev/null 2>&1

# --- a running program ---

rm -rf "$WARPSIGHT_SPOOL" "$FAKE_CUPTI_LOG" "$WARPSIGHT_DB"*
WARPSIGHT_STALLS=pc WARPSIGHT_START=idle LD_PRELOAD="$PWD/$B/libwarpsight.so" "$app" serve "$scratch/end" >"$scratch/out" 2>"$scratch/err" &
pid=$!
for _ in $(seq 200); do "$ws" ctl list --json 2>/dev/null | jq -e ".processes[] | select(.pid == $pid)" >/dev/null && break; sleep 0.02; done
for _ in 1 2 3; do
    "$ws" ctl start "$pid" >/dev/null 2>&1
    sleep 0.4
    "$ws" ctl stop "$pid" >/dev/null 2>&1
    sleep 0.3
done
touch "$scratch/end"
wait "$pid"
facts
claim "ctl start and stop, three times: sampled between them, and totals go on" '([.pc_sample[] | select(.reason | endswith("not_issued") | not) | .samples] | add) as $placed | .pc_sampling[-1] | .samples == $placed + .other and .other > 0'
claim "code that was loaded while idle is there" '.cubin | length == 1'
check "each stop ends it" "$([ "$(calls cuptiPCSamplingEnable)" = 3 ] && [ "$(calls cuptiPCSamplingDisable)" = 3 ]; echo $?)" "$(calls cuptiPCSamplingEnable) $(calls cuptiPCSamplingDisable)"

# --- what fails ---

for call in Enable GetNumStallReasons GetStallReasons SetConfigurationAttribute GetData Disable; do
    FAKE_CUPTI_FAIL=cuptiPCSampling$call:999 sampled basic 4
    claim "cuptiPCSampling$call fails: it is said, the program and its trace go on" "$([ $status = 4 ] && echo true || echo false) and (.kernel | length == 6) and any(.status[]; .code == \"sampling-failed\" and (.message | contains(\"cuptiPCSampling$call\")))"
done
FAKE_CUPTI_FAIL=cuptiPCSamplingEnable:35 sampled basic
claim "no rights: the remedy" 'any(.status[]; .code == "sampling-no-rights" and (.remedy | contains("NVreg_RestrictProfilingToAdminUsers")))'
FAKE_CUPTI_FAIL=cuptiPCSamplingGetData:8:1 sampled basic
claim "the hardware's buffer was full: said, counted, and it goes on" "any(.status[]; .code == \"sampling-overflow\") and any(.loss[]; .reason == \"hardware-full\") and $(sum _Z9transposePKfPf) == 400"
FAKE_CUPTI_FAIL=cuptiGetCubinCrc:999 sampled basic
claim "no crc: samples without code" "(.cubin | length == 0) and $(sum _Z9transposePKfPf) == 400"
FAKE_CUPTI_FAIL=cuptiPCSamplingGetConfigurationAttribute:999 sampled basic
claim "a period that is not told is 0" '.pc_sampling[-1] | .period == 0 and .samples == 627'
start=$(date +%s%N)
FAKE_CUPTI_DELAY=cuptiPCSamplingDisable:20000 sampled basic
claim "Disable never comes back: the program ends, and what was there before is kept" "$([ $((($(date +%s%N) - start) / 1000000)) -lt 12000 ] && echo true || echo false) and $(sum _Z9transposePKfPf) == 400 and (.bye | length == 0)"
exit $failed
