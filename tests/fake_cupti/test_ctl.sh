#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_ctl.sh: collection that is switched while the program runs: `warpsight ctl`, WARPSIGHT_START, cudaProfilerStart,
# NVTX ranges; and trees of processes. On the fake driver and the fake CUPTI, which tells what is switched on.
set -u
. "$(dirname "$0")/lib.sh" ctl
export FAKE_CUPTI_WATCH="$scratch/watch"
brief='{collection, k:(.kernel|length), p:[.profile[].name], s:[.status[].code]}'
pids=()
at_exit() { for pid in "${pids[@]}"; do kill -CONT "$pid" 2>/dev/null; kill -KILL "$pid" 2>/dev/null; done; }
# serve [NAME=VALUE…]: the serving program in the background under the collector; $pid. Until $scratch/end is there.
serve() {
    env LD_PRELOAD="$PWD/$B/libwarpsight.so" "$@" "$app" serve "$scratch/end" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    pids+=("$pid")
    for _ in $(seq 200); do # until it is listed
        "$ws" ctl list --json >"$scratch/first" 2>/dev/null && jq -e ".processes[] | select(.pid == $pid)" "$scratch/first" >/dev/null && break
        sleep 0.02
    done
}
finish() {
    touch "$scratch/end"
    wait "$pid"
    status=$?
}
# Answer, status of a command.
ctl() { timeout 30 "$ws" ctl "$@" >"$scratch/answer" 2>"$scratch/complaint"; }
# What is switched on now: "CALLBACKS KINDS PROFILERS SUBSCRIBERS".
is_on() {
    touch "$FAKE_CUPTI_WATCH"
    for _ in $(seq 200); do [ -e "$FAKE_CUPTI_WATCH" ] || break; sleep 0.01; done
    grep '^on ' "$FAKE_CUPTI_LOG" | tail -1 | cut -c4-
}
# Kernels that lie outside of the times of collection (a tenth of a second after a stop belongs to what was under way).
outside='[.collection[] | select(.is_on == 1) | .at_ns] as $on | [.collection[] | select(.is_on == 0) | .at_ns] as $off |
    [.kernel[] | .start_ns as $t | select($t > 0) | select([range($on | length) | select($t >= $on[.] and $t < ([$off[] | . + 100000000 | select(. > $t)] | min))] == [])] | length'

# --- idle, start, stop ---

fresh
serve WARPSIGHT_START=idle
touch "$FAKE_CUPTI_WATCH" # a launch takes it away once there was a subscriber
sleep 0.3
check "idle: nobody subscribed to CUPTI" "$([ -e "$FAKE_CUPTI_WATCH" ] && ! grep -q '^on' "$FAKE_CUPTI_LOG" 2>/dev/null; echo $?)" "$(cat "$FAKE_CUPTI_LOG")"
rm -f "$FAKE_CUPTI_WATCH"
check "idle: that is what it is from the moment it is listed" "$(jq -e '.processes[0] | .state == "idle" and .reason == "setting"' "$scratch/first" >/dev/null; echo $?)" "$(cat "$scratch/first")"
ctl list --json
check "idle: the process is listed as idle" "$(jq -e ".processes == [.processes[] | select(.pid == $pid and .state == \"idle\" and .reason == \"setting\")] and (.processes | length == 1)" "$scratch/answer" >/dev/null; echo $?)" "$(cat "$scratch/answer")"
worst="0 0 0"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    ctl start "$pid" || worst="start: $(cat "$scratch/complaint")"
    sleep 0.05
    [ "$(is_on)" = "9 4 1 1" ] || worst="while on: $(is_on)"
    ctl stop || worst="stop: $(cat "$scratch/complaint")"
    [ "$(is_on)" = "0 0 0 1" ] || worst="after a stop: $(is_on)"
done
check "ten times start and stop around a captured graph: all on, all off" "$([ "$worst" = "0 0 0" ]; echo $?)" "$worst"
ctl status --json
check "status answers" "$(jq -e '.processes[0] | .answer == "here" and .state == "idle" and .reason == "ctl"' "$scratch/answer" >/dev/null; echo $?)"
ctl start --duration 100ms
ctl list --json
check "a start with a duration tells its end" "$(jq -e '.processes[0] | .state == "collecting" and .until_ns > .since_ns' "$scratch/answer" >/dev/null; echo $?)"
for _ in $(seq 100); do ctl list --json; jq -e '.processes[0].state == "idle"' "$scratch/answer" >/dev/null && break; sleep 0.05; done
check "it stops by itself" "$(jq -e '.processes[0].reason == "duration"' "$scratch/answer" >/dev/null; echo $?)" "$(cat "$scratch/answer")"
check "and then nothing is on" "$([ "$(is_on)" = "0 0 0 1" ]; echo $?)" "$(is_on)"

# --- settings; what is refused changes nothing ---

ctl start --set trace
check "start --set trace: no callback of launches, no profiler" "$([ "$(is_on)" = "0 4 0 1" ]; echo $?)" "$(is_on)"
ctl start --set core,api -k transpose
check "start with other settings while it collects" "$(sleep 0.1; [ "$(is_on | cut -d' ' -f2-)" = "9 1 1" ]; echo $?)" "$(is_on)"
before=$(is_on)
for bad in "--set nonsense" "--kernel-name regex:("; do
    # shellcheck disable=SC2086
    ctl start $bad
    check "start $bad is refused with the reason" "$([ $? = 1 ] && [ "$(wc -l <"$scratch/complaint")" = 1 ]; echo $?)" "$(cat "$scratch/complaint")"
done
ctl start --every x
check "a value that does not fit is a usage error" "$([ $? = 2 ]; echo $?)" "$(cat "$scratch/complaint")"
ctl start --duration 10parsecs
check "so is a duration that is none" "$([ $? = 2 ]; echo $?)"
ctl strat
check "a slip of the finger is named" "$([ $? = 2 ] && grep -q "did you mean 'start'" "$scratch/complaint"; echo $?)"
ctl stop 1
check "a process without a collector is not found" "$([ $? = 1 ] && grep -q "no running process" "$scratch/complaint"; echo $?)"
ctl stop --set core
check "settings go with start alone" "$([ $? = 2 ]; echo $?)"

# --- hostile files in the folder ---

folder=$(dirname "$(find "$WARPSIGHT_SPOOL" -name '*.open')")
rm -f "$folder/control.ask"
tried=0
put() { # put COMMAND…: a thing named control.ask; it must go away and the process live on
    rm -rf "$folder/control.ask"
    "$@"
    for _ in $(seq 100); do [ -e "$folder/control.ask" ] || [ -L "$folder/control.ask" ] || break; sleep 0.02; done
    { [ ! -e "$folder/control.ask" ] || [ -d "$folder/control.ask" ]; } && kill -0 "$pid" && tried=$((tried + 1))
}
text() { printf '%b' "$1" >"$folder/control.tmp" && mv "$folder/control.tmp" "$folder/control.ask"; }
echo secret >"$scratch/secret"
put ln -s "$scratch/secret" "$folder/control.ask"
put mkfifo "$folder/control.ask"
put mkdir "$folder/control.ask"
put text 'rubbish'
put text ''
put text 'warpsight-control 1\nid 0123456789abcdef0123456789abcdef\ndo destroy\n'
put text 'warpsight-control 1\nid 0123456789abcdef0123456789abcdef\ndo start\nset WARPSIGHT_SPOOL=/etc\n'
put text 'warpsight-control 1\nid 0123456789abcdef0123456789abcdef\ndo start\nduration_ms -5\n'
put text 'warpsight-control 1\nid ../../../../etc/passwd\ndo stop\n'
put text "warpsight-control 1\nid 0123456789abcdef0123456789abcdef\ndo start\nset WARPSIGHT_SET=$(head -c 60000 /dev/zero | tr '\0' a)\n"
rmdir "$folder/control.ask" 2>/dev/null
check "links, pipes, folders, rubbish, huge and half commands do nothing" "$([ $tried = 10 ] && [ "$(cat "$scratch/secret")" = secret ]; echo $?)" "$tried of 10"
check "a setting that a running program cannot change is refused" "$(grep -q 'refused.*WARPSIGHT_SPOOL cannot be changed' "$folder/control.state"; echo $?)" "$(cat "$folder/control.state")"
check "nothing was changed by all of these" "$([ "$(is_on | cut -d' ' -f2-)" = "$(echo "$before" | cut -d' ' -f2-)" ]; echo $?)" "$(is_on), before $before"

# --- several at once; a process that is stopped; the end ---

for i in 1 2 3 4 5 6; do timeout 30 "$ws" ctl "$([ $((i % 2)) = 0 ] && echo status || echo flush)" "$pid" >"$scratch/many.$i" 2>&1 & many[i]=$!; done
answered=0
for i in 1 2 3 4 5 6; do wait "${many[i]}" && answered=$((answered + 1)); done
check "six askers at once are all answered" "$([ $answered = 6 ]; echo $?)" "$(cat "$scratch"/many.*)"
kill -STOP "$pid"
ctl stop
code=$?
check "a stopped process: the asker gives up and takes the command back" "$([ $code = 1 ] && grep -q 'did not answer' "$scratch/complaint" && [ ! -e "$folder/control.ask" ]; echo $?)" "status $code: $(cat "$scratch/complaint"); $(ls "$folder")"
kill -CONT "$pid"
ctl stop
finish
check "the program ends as always" "$([ $status = 0 ] && [ "$(cat "$scratch/out")" = served ] && [ ! -s "$scratch/err" ]; echo $?)" "status $status: $(cat "$scratch/out" "$scratch/err")"
check "its control files are gone" "$([ -z "$(find "$WARPSIGHT_SPOOL" -name 'control*')" ]; echo $?)" "$(find "$WARPSIGHT_SPOOL" -name 'control*')"
facts
claim "no order of calls was wrong, and each start brought kernels of graphs" '([.kernel[] | select(.graph_node != 0)] | length > 20) and ([.collection[] | select(.is_on == 1)] | length >= 12)'
claim "no kernel lies where nothing was collected" "($outside) == 0"
claim "each start has its counters" '[.profile[] | select(.name | contains("transpose"))] | length >= 11'
claim "it ended in order" '.bye | length == 1'
claim "the GPU and the context, which came before the first start, are known" '(.device | length == 1) and (.context | length >= 1) and .hello[-1].gpu_uuids != "" and .context[0].context == .kernel[0].context'

# --- a program that collects from the start ---

fresh
serve WARPSIGHT_NAME=known FAKE_CUPTI_DELAY=cuptiRangeProfilerStop:700
"$ws" ctl list | grep -q "$pid *collecting.* start .*known"
check "a program that was never told anything is listed as collecting" $? "$("$ws" ctl list)"
start=$(date +%s%N)
ctl stop known
code=$?
took=$((($(date +%s%N) - start) / 1000000))
check "a stop waits for the launch that is being profiled" "$([ $code = 0 ] && grep -q stopped "$scratch/answer" && [ "$(is_on)" = "0 0 0 1" ]; echo $?)" "status $code after $took ms: $(cat "$scratch/answer" "$scratch/complaint"), $(is_on)"
finish
facts
claim "the launch that was under way kept its counters" '.profile | length >= 1'
ctl status
check "nothing runs: said in one line" "$([ $? = 1 ] && [ "$(wc -l <"$scratch/complaint")" = 1 ]; echo $?)"

fresh
serve WARPSIGHT_START=idle
folder=$(dirname "$(find "$WARPSIGHT_SPOOL" -name '*.open')")
if [ "$(id -u)" != 0 ]; then
    chmod 500 "$folder"
    ctl start
    check "a folder that cannot be written: one line, status 1" "$([ $? = 1 ] && grep -q 'cannot write' "$scratch/complaint"; echo $?)"
    chmod 700 "$folder"
fi
ctl start
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ctl list --json
check "a process that was killed is not listed" "$(jq -e '.processes == []' "$scratch/answer" >/dev/null; echo $?)"
"$ws" list sessions --json >"$scratch/sessions.json"
check "its session is read, and its folder goes with the control files in it" "$(jq -e '.sessions | length == 1' "$scratch/sessions.json" >/dev/null && [ ! -e "$folder" ]; echo $?)" "$(ls -R "$WARPSIGHT_SPOOL")"

# A graph that was instantiated while it was traced is traced for ever.
fresh
serve WARPSIGHT_START=idle WARPSIGHT_SET=trace FAKE_CUPTI_GRAPHS=stay
for _ in 1 2; do
    ctl start "$pid"
    sleep 0.1
    ctl stop "$pid"
    sleep 0.4
done
finish
facts
claim "records of a time in which nothing is collected are not kept" "($outside) == 0 and ([.kernel[] | select(.graph_node != 0)] | length > 20)"

# CUPTI has another holder when the first start comes.
fresh
serve WARPSIGHT_START=idle FAKE_CUPTI_HOLDER=other
ctl start "$pid"
check "another tool holds CUPTI: the start is refused, and says who" "$([ $? = 1 ] && grep -q 'another profiler holds CUPTI in this process: CUPTI for other' "$scratch/complaint"; echo $?)" "$(cat "$scratch/complaint")"
finish
facts
claim "the report says so, too" '(.kernel == []) and any(.status[]; .code == "other-profiler")'
fresh
env LD_PRELOAD="$PWD/$B/libwarpsight.so" WARPSIGHT_START=idle timeout -k 2 60 "$app" own-profiler >"$scratch/out" 2>"$scratch/err" </dev/null
check "the program's own profiler gets CUPTI in a process that idles" "$(grep -q '^own profiler: 0' "$scratch/out"; echo $?)" "$(head -1 "$scratch/out")"

# --- the program says when ---

profile() { # profile MODE [NAME=VALUE…]
    fresh
    local mode=$1
    shift
    env LD_PRELOAD="$PWD/$B/libwarpsight.so" "$@" timeout -k 2 60 "$app" "$mode" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    facts
}
names='[.kernel[].name | capture("_Z[0-9]+(?<n>[a-z]+)").n | gsub("PKfS|PKfPf|IfEvPT|PKf$"; "")] | map(if startswith("vec") then "vecadd" elif startswith("tr") then "transpose" elif startswith("sc") then "scale" else "reduce" end) | sort'
profile profiler WARPSIGHT_START=api
claim "cudaProfilerStart and -Stop: only what lies between" "($names) == [\"reduce\",\"transpose\"]"
claim "its reason is told" '[.collection[] | select(.is_on == 1) | .reason] == ["profiler-api","profiler-api"]'
claim "counters too" '[.profile[].name] | length == 2'
profile profiler
claim "without the setting these calls change nothing" "($names) == [\"reduce\",\"scale\",\"transpose\",\"vecadd\",\"vecadd\"] and .collection == []"
if "$app" | grep -qx nvtx; then
    profile nvtx WARPSIGHT_NVTX_INCLUDE=step
    claim "--nvtx-include NAME: a pushed range, with those inside it" "($names) == [\"transpose\"]"
    profile nvtx WARPSIGHT_NVTX_INCLUDE=whole
    claim "a start/end range" "($names) == [\"scale\"]"
    profile nvtx WARPSIGHT_NVTX_INCLUDE=whole/
    claim "NAME/ means pushed ranges only" "($names) == []"
    profile nvtx WARPSIGHT_NVTX_INCLUDE=dom@step
    claim "a domain's range, of a registered name" "($names) == [\"reduce\"]"
    profile nvtx WARPSIGHT_NVTX_INCLUDE=step/inner,whole
    claim "nested names, of wide characters, and several expressions" "($names) == [\"scale\",\"transpose\"]"
    profile nvtx WARPSIGHT_NVTX_INCLUDE=early
    claim "a range opened before CUDA was there" "($names) == [\"reduce\",\"scale\",\"transpose\",\"vecadd\"]"
    profile nvtx WARPSIGHT_NVTX_INCLUDE='regex:^(in|wh)'
    claim "an expression" "($names) == [\"scale\",\"transpose\"]"
    profile nvtx WARPSIGHT_NVTX_INCLUDE=nothing
    claim "a range that is never opened: nothing, and why" '.kernel == [] and .profile == [] and any(.status[]; .code == "nvtx-silent" and (.message | contains("no NVTX range")))'
    profile basic WARPSIGHT_NVTX_INCLUDE=step
    claim "a program without NVTX: nothing, and why" '.kernel == [] and any(.status[]; .code == "nvtx-silent" and (.message | contains("no NVTX call")))'
    profile nvtx WARPSIGHT_NVTX_INCLUDE=a@
    claim "an expression that is none is told" '.kernel == [] and any(.status[]; .code == "nvtx-invalid")'
    NVTX_INJECTION64_PATH=/nowhere/tool.so profile nvtx WARPSIGHT_NVTX_INCLUDE=step
    claim "another tool's NVTX injection is left alone" '.kernel == [] and any(.status[]; .code == "nvtx-silent")'
    profile nvtx
    claim "without it NVTX is not touched" "(.kernel | length == 4) and .collection == []"
fi

# --- the page's way ---

fresh
serve WARPSIGHT_START=idle WARPSIGHT_SET=trace
"$ws" serve --listen 127.0.0.1:0 >"$scratch/serve" 2>&1 &
daemon=$!
pids+=("$daemon")
for _ in $(seq 200); do grep -q 'token=' "$scratch/serve" && break; sleep 0.05; done
base=$(grep -o 'http://127.0.0.1:[0-9]*' "$scratch/serve" | head -1) token=$(grep -o 'token=[^ ]*' "$scratch/serve" | head -1 | cut -d= -f2)
ask() { curl -s -m 20 -H "Authorization: Bearer $token" "$@"; }
tell() { ask -H 'X-WarpSight: 1' -H 'Content-Type: application/json' -d "$1" "$base/api/v1/running"; }
agent=$(ask "$base/api/v1/running" | jq -r '.processes[0].agent')
check "the daemon lists the process as idle" "$(ask "$base/api/v1/running" | jq -e ".processes[0] | .pid == $pid and .state == \"idle\" and .reason == \"setting\"" >/dev/null; echo $?)" "$(ask "$base/api/v1/running")"
check "it starts it, for a time" "$(tell "{\"agent\":\"$agent\",\"do\":\"start\",\"duration_ms\":60000}" | jq -e '.process | .state == "collecting" and .until != null' >/dev/null && [ "$(is_on)" = "0 4 0 1" ]; echo $?)" "$(is_on)"
check "a setting that does not fit is refused with its reason" "$(tell "{\"agent\":\"$agent\",\"do\":\"start\",\"set\":\"nonsense\"}" | jq -e '.error | .code == "command_refused" and (.message | contains("nonsense"))' >/dev/null; echo $?)"
check "it stops it" "$(tell "{\"agent\":\"$agent\",\"do\":\"stop\"}" | jq -e '.answer == "stopped" and .process.state == "idle"' >/dev/null && [ "$(is_on)" = "0 0 0 1" ]; echo $?)" "$(is_on)"
finish
kill -TERM "$daemon"
wait "$daemon" 2>/dev/null
"$ws" report --json >"$scratch/report.json"
check "the report says that a part was not collected" "$(jq -e 'any(.warnings[]; .code == "not-collected" and (.message | contains("2 parts")))' "$scratch/report.json" >/dev/null; echo $?)" "$(jq -c .warnings "$scratch/report.json")"
"$ws" report --by-process --json >"$scratch/by.json"
check "and the processes' table knows for how long" "$(jq -e '.processes | length == 1 and .[0].gaps == 2 and .[0].uncollected > 0 and .[0].window < 30 and .[0].busy <= .[0].window' "$scratch/by.json" >/dev/null; echo $?)" "$(cat "$scratch/by.json")"
"$ws" export --format capture -o "$scratch/gaps.wscap" && WARPSIGHT_DB="$scratch/other.db" "$ws" import "$scratch/gaps.wscap" >/dev/null && WARPSIGHT_DB="$scratch/other.db" "$ws" report --by-process --json >"$scratch/by2.json"
check "an exported capture keeps it" "$([ "$(jq -c '.processes[0] | [.gaps, .uncollected, .window]' "$scratch/by.json")" = "$(jq -c '.processes[0] | [.gaps, .uncollected, .window]' "$scratch/by2.json")" ]; echo $?)" "$(cat "$scratch/by2.json")"

# --- run ---

run() {
    timeout -k 2 60 "$ws" run "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
}
fresh
run --profile-from-start off "$app" profiler
"$ws" report --json >"$scratch/report.json"
check "run --profile-from-start off" "$(jq -e '[.kernels[].name] | sort == ["reduce","transpose"]' "$scratch/report.json" >/dev/null; echo $?)" "$(cat "$scratch/err")"
run --idle --profile-from-start off "$app" profiler
check "--idle and that are one too many" "$([ $status = 125 ] && grep -q 'not both' "$scratch/err"; echo $?)"
run --nvtx-include 'a@' "$app" basic
check "a range without a name is refused" "$([ $status = 125 ] && grep -q nvtx-include "$scratch/err"; echo $?)" "$(cat "$scratch/err")"
fresh
run --target-processes application-only "$app" fork-before
"$ws" report --json >"$scratch/report.json"
check "--target-processes application-only: not the child" "$(jq -e '[.kernels[].launches] | add == 6' "$scratch/report.json" >/dev/null; echo $?)" "$(jq -c '[.kernels[].launches]' "$scratch/report.json")"
fresh
run --set trace --name 'job %q{HOME}' "$app" ranks
"$ws" list sessions --json >"$scratch/sessions.json"
"$ws" report --by-process --json >"$scratch/by.json"
check "four ranks, one of them killed: one session" "$(jq -e '.sessions | length == 1' "$scratch/sessions.json" >/dev/null && grep -q 'ranks ended' "$scratch/out"; echo $?)" "$(cat "$scratch/out")"
check "in order of rank, each with host, program and its launches" "$(jq -e --arg h "$(hostname)" '[.processes[] | [.rank, .host, .launches, .ended]] == [["RANK=0",$h,40,true],["RANK=1",$h,20,true],["RANK=2",$h,20,true],["RANK=3",$h,6,false]] and ([.processes[].ppid] | unique | length == 1) and all(.processes[]; .exe | endswith("fake_app"))' "$scratch/by.json" >/dev/null; echo $?)" "$(cat "$scratch/by.json")"
check "kernel time, busy share and imbalance are those of the kernels" "$(jq -e '[.processes[].kernel_time * 1e6 | round] == [500,250,250,75] and .imbalance > 0.86 and .imbalance < 0.861 and all(.processes[]; .busy_share > 0 and .busy_share <= 1)' "$scratch/by.json" >/dev/null; echo $?)" "$(cat "$scratch/by.json")"
"$ws" report --by-process >"$scratch/by.txt"
check "as a table, too" "$([ "$(grep -c fake_app "$scratch/by.txt")" = 4 ] && grep -q '^imbalance: .*86.0 %' "$scratch/by.txt"; echo $?)" "$(cat "$scratch/by.txt")"
cat >"$scratch/spawn.py" <<PY
import subprocess, sys
for i in range(2):
    subprocess.run([sys.argv[1], "basic"], env=dict(__import__("os").environ, OMPI_COMM_WORLD_RANK=str(i)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
PY
fresh
run --set trace "$python" "$scratch/spawn.py" "$app"
"$ws" report --by-process --json >"$scratch/by.json"
check "children of a Python that uses no CUDA itself" "$(jq -e '[.processes[] | [.rank, .launches]] == [["OMPI_COMM_WORLD_RANK=0",6],["OMPI_COMM_WORLD_RANK=1",6]]' "$scratch/by.json" >/dev/null; echo $?)" "$(cat "$scratch/by.json" "$scratch/err")"
run --target-processes some "$app" basic
check "--target-processes is checked" "$([ $status = 125 ]; echo $?)"
WHO=me run --name 'by %q{WHO} on %h, 100%' "$app" basic
"$ws" report --json >"$scratch/report.json"
check "names: %q{VARIABLE}, %h, and a % that is none" "$(jq -e --arg h "$(hostname)" '.session.name == "by me on \($h), 100%"' "$scratch/report.json" >/dev/null; echo $?)" "$(jq -c .session.name "$scratch/report.json")"

exit $failed
