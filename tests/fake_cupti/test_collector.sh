#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_collector.sh: the real collector under the fake CUPTI, by plain preload, judged by what it wrote to the spool.
# Every number of the program's kernels is known (fake_app.c); every order of calls is checked (fake_cupti.c).
# One test per habit of CUPTI that was measured on a GPU, and one run for each call failing.
set -u
. "$(dirname "$0")/lib.sh" collector
brief='{kernels:(.kernel|length), profiles:[.profile[]|{name,m:.metrics.gld_requests}], status:[.status[]|{code,message}], loss:.loss}'
count() { grep -c "^config $1" "$FAKE_CUPTI_LOG"; }

# --- the fake itself ---

missing=$(grep -o 'cupti[A-Za-z_0-9]*)' collector/cupti_api.def | tr -d ')' | while read -r call; do
    nm -D "$fake/libcupti.so.13" | grep -q " T $call\$" || echo "$call"
done)
[ -z "$missing" ] && echo "PASS the fake has every call of cupti_api.def" || {
    echo "FAIL the fake has every call of cupti_api.def: lacks" $missing
    failed=1
}

# --- values ---

profile basic
claim "the source is synthetic, never measured" '[.hello[].source] | unique == ["synthetic"]'
claim "all launches are traced" '[.kernel[].name] | sort == (["_Z6vecaddPKfS0_Pf","_Z6vecaddPKfS0_Pf","_Z6vecaddPKfS0_Pf","_Z9transposePKfPf","_Z9transposePKfPf","_Z5scaleIfEvPT_"] | sort)'
claim "the first launch of each signature is profiled" '[.profile[].name] | sort == ["_Z5scaleIfEvPT_","_Z6vecaddPKfS0_Pf","_Z9transposePKfPf"]'
claim "counts are those of the kernel" '.profile[] | select(.name | contains("vecadd")) | .metrics | .gld_requests == 64 and .gld_sectors == 256 and .gst_sectors == 128 and .fp32_add == 1024'
claim "durations of the profiler are in seconds" '.profile[] | select(.name | contains("vecadd")) | .metrics.duration | . > 0.0000119 and . < 0.0000121'
claim "conflict counts are those of the kernel" '.profile[] | select(.name | contains("transpose")) | .metrics | .shared_ld_wavefronts == 1024 and .shared_ld_requests == 32'
claim "a replayed launch has no time of its own" '[.kernel[] | select(.name | contains("vecadd")) | .took_ns] | sort == [0, 10000, 10000]'
claim "geometry, registers and shared memory" '.kernel[] | select(.name | contains("scale")) | .grid_x == 8 and .block_x == 128 and .cluster_x == 2 and .regs_per_thread == 32 and .dynamic_smem_bytes == 512 and .local_bytes_per_thread == 8'
claim "copies and sets" '[.memcpy[].copy_kind] == [1,1,2] and .memset[0].bytes == 4096 and .memcpy[0].bytes == 4096'
claim "the device is described" '.device[-1] | .name == "Fake GPU 0" and .chip == "GH100" and .sms == 132 and .l2_bytes == 62914560'
claim "it ends with BYE and nothing dropped" '.bye | length == 1 and .[0].dropped == 0'
claim "its cost is told" '[.cost[].what] | contains(["startup","profile"])'

profile constructor
claim "a context made in a constructor, under the loader's lock: no deadlock, all counters" '[.profile[].name] | sort == ["_Z5scaleIfEvPT_","_Z6vecaddPKfS0_Pf","_Z9transposePKfPf"]'
WARPSIGHT_SET=core,api profile basic
claim "set api: calls, waits, allocations, addresses" '(any(.api[]; .name == "cuLaunchKernel" and .domain == 1)) and
    ([.sync[].sync_kind] == [4]) and ([.memory[] | .bytes] == [4096,4096,4096]) and (.copy_call | length == 3) and (.launch_call | length == 4)'
WARPSIGHT_SET=core,api profile bad-launch
claim "set api: a call that fails has its code" 'any(.api[]; .name == "cuLaunchKernel" and .return_code == 1)'

# --- which launches ---

WARPSIGHT_REPLAY_MODE=none profile basic
claim "without counters everything is timed" '(.profile == []) and ([.kernel[] | select(.took_ns > 0)] | length == 6)'
WARPSIGHT_SET=trace profile basic
claim "set trace asks for no counter" '(.profile == []) and (.kernel | length == 6)'
WARPSIGHT_KERNEL=transpose profile basic
claim "an exact name filters" '[.profile[].name] == ["_Z9transposePKfPf"] and (.kernel | length == 6)'
WARPSIGHT_KERNEL=regex:add profile basic
claim "an expression filters" '[.profile[].name] == ["_Z6vecaddPKfS0_Pf"]'
WARPSIGHT_KERNEL='regex:(' profile basic
claim "a bad expression is told" '(.profile == []) and any(.status[]; .code == "filter-invalid") and (.kernel | length == 6)'
WARPSIGHT_LAUNCH_SKIP=1 WARPSIGHT_LAUNCH_COUNT=1 profile basic
claim "skip and count" '[.profile[] | .name] == ["_Z6vecaddPKfS0_Pf"] and .profile[0].ordinal == 1'
WARPSIGHT_EVERY=2 profile many 16
claim "every second launch of each signature" '.profile | length == 8'
WARPSIGHT_SET=core WARPSIGHT_METRICS=sm__throughput.avg.pct_of_peak_sustained_elapsed profile basic
claim "a metric by its CUPTI name" '.profile[0].metrics | has("sm__throughput.avg.pct_of_peak_sustained_elapsed") or has("sm_throughput")'
WARPSIGHT_METRICS=nonsense profile basic
claim "an unknown metric is not-on-chip and the others are collected" '.profile[0].metrics | .nonsense == "why 2" and .gld_requests == 64'

# --- habits of CUPTI ---

FAKE_CUPTI_NAN=smsp__sass_inst_executed_op_global_ld.sum profile basic
claim "NaN is no number but not-valid" '[.profile[].metrics.gld_requests] | unique == ["why 4"]'
FAKE_CUPTI_UNKNOWN=smsp__sass_inst_executed_op_global_ld.sum,dram__bytes_read.sum profile basic
claim "a metric that the chip lacks is not-on-chip" '[.profile[].metrics.gld_requests] | unique == ["why 2"]'
claim "the next name of a metric is taken" '.profile[0].metrics.dram_read_bytes | type == "number"'
FAKE_CUPTI_DROP=17 profile basic
claim "records that CUPTI dropped are counted" '[.loss[] | select(.reason == "cupti-dropped") | .count] | add == 17'
# CUPTI completes buffers in whatever thread it likes, here in the one that launches: reading them is not its work. Unless
# our own thread is stuck and buffers run out: no record is lost for that.
WARPSIGHT_SET=trace profile many 15000
claim "a storm of launches is whole" '(.kernel | length == 15000) and .loss == []'
check "no buffer is read in a thread of the program's" "$(grep -q 'read while completing' "$FAKE_CUPTI_LOG"; [ $? = 1 ]; echo $?)"
WARPSIGHT_SET=trace WARPSIGHT_MEMORY_MB=24 FAKE_CUPTI_DELAY=cuptiActivityFlushAll:1500:1 profile many 50000
claim "it is whole with few buffers and a flush that takes long, too" '(.kernel | length == 50000) and .loss == []'
check "then some are read where they are completed" "$(grep -q 'read while completing' "$FAKE_CUPTI_LOG"; echo $?)"
FAKE_CUPTI_PASSES=4 WARPSIGHT_REPLAY_MODE=rotate WARPSIGHT_EVERY=1 profile many 64
claim "rotation: each launch serves one pass, and together they are complete" '
    ([.profile[] | .mode] | unique == [1]) and
    ([.profile[] | select(.name | contains("reduce")) | .metrics | to_entries[] | select(.value | type == "number")] | group_by(.key) | length) as $n |
    ([.profile[] | select(.name | contains("reduce")) | .metrics.gld_requests | numbers] | unique == [7]) and $n > 40'
claim "rotation: the pass told is the pass served" '
    [.profile[] | select(.metrics.gld_requests | type == "number") | .pass_index] | unique | length == 1'
[ "$(count user)" -gt 0 ] && [ "$(count kernel)" = 0 ] && echo "PASS rotation never replays" || { echo "FAIL rotation never replays"; failed=1; }
called() { sed -n "s/^count $1 //p" "$FAKE_CUPTI_LOG"; }
asked() { grep -c '^asked memory' "$FAKE_CUPTI_LOG"; }
[ "$(asked)" = 0 ] && echo "PASS rotation does not ask what memory is in use" || { echo "FAIL rotation does not ask what memory is in use: $(asked) times"; failed=1; }
profile graph
claim "kernels of graphs are traced by node" '([.kernel[] | select(.graph_node != 0)] | length == 13) and (any(.status[]; .code == "graph-not-profiled"))'
WARPSIGHT_REPLAY_MODE=kernel profile cooperative
claim "a cooperative kernel is not replayed" '(.profile == []) and (.kernel | length == 1) and (.decision | map([.mode, .reason]) == [[2,3]])'
profile bad-launch
claim "a launch that fails gives no counters" '[.profile[] | .block_x] == [256]'

# --- replay or rotation: --replay-mode auto, the default ---

profile basic
claim "auto: small kernels in little memory are replayed" '([.decision[] | [.mode, .reason]] | unique == [[0,1]]) and ([.profile[].mode] | unique == [0])'
claim "auto: what a launch costs is predicted" '[.decision[] | .predicted_ns > 20000000 and .predicted_ns < 400000000 and .footprint_bytes == 600000000] | length == 3 and all'
FAKE_CUDA_USED_MB=8000 FAKE_CUPTI_PASSES=4 profile many 64
claim "auto: over 8 GB nothing is replayed" '([.decision[] | [.mode, .reason, .footprint_bytes]] | unique == [[1,5,8000000000]]) and ([.profile[].mode] | unique == [1]) and
    ([.profile[] | select(.name | contains("reduce")) | .pass_index] | sort == [0,1,2,3])'
[ "$(count kernel)" = 0 ] && [ "$(count user)" -ge 16 ] && [ "$(count user)" -le 20 ] && echo "PASS auto: 4 kernels of 4 passes, hardly more than 16 launches counted, no memory saved" || { echo "FAIL auto over 8 GB: $(count kernel) replays, $(count user) rotations"; failed=1; }
FAKE_CUDA_USED_MB=149900 FAKE_CUPTI_PASSES=4 profile basic
claim "auto: without room for a copy nothing is replayed" '[.decision[] | [.mode, .reason]] | unique == [[1,4]]'
FAKE_CUDA_MEMORY=999 profile basic
claim "auto: a driver that does not tell its memory" '[.decision[] | [.mode, .reason]] | unique == [[1,7]]'
profile cooperative
claim "auto: a cooperative kernel is rotated" '([.profile[].mode] == [1]) and ([.decision[] | [.mode, .reason]] == [[1,3]])'
profile collective 1
claim "auto: a collective gets no counters, the others do" '([.decision[] | select(.name | contains("nccl")) | [.mode, .reason]] == [[2,2]]) and
    ([.profile[].name] | sort == ["_Z6reducePKfPf","_Z9transposePKfPf"]) and (.kernel | length == 3) and any(.status[]; .code == "collective-not-counted")'
WARPSIGHT_EVERY=1 FAKE_CUDA_DEVICES=2 profile collective 2
claim "auto: collectives on two GPUs of one process: nothing is waited for from there on" '
    (.kernel | length == 6) and (.profile | length == 2) and any(.status[]; .code == "peers-not-counted")'
for mode in auto kernel; do
    WARPSIGHT_REPLAY_MODE=$mode WARPSIGHT_EVERY=1 profile collective 1
    ! grep -q '^counted.*nccl' "$FAKE_CUPTI_LOG" && echo "PASS a collective is never profiled ($mode)" || { echo "FAIL a collective is never profiled ($mode)"; failed=1; }
done
WARPSIGHT_REPLAY_MODE=rotate FAKE_CUDA_DEVICES=2 profile collective 2
claim "rotation: a collective is not waited for when its peer is in the same process" '[.profile[] | select(.name | contains("nccl"))] | length == 1'
FAKE_CUDA_USED_MB=1 FAKE_CUPTI_PASSES=5 profile mixed 40
claim "auto: rotation first and replays between: each has all counters, but for those that rotation is under way for" '
    ([.profile[] | select(.mode == 1 and (.name | contains("transpose") | not)) | .name] | group_by(.) | map(length)) as $n | ($n | length == 2 and (map(. >= 5 and . <= 12) | all)) and
    ([.profile[] | select(.mode == 1 and (.name | contains("reduce"))) | .metrics | to_entries[] | select(.value | type == "number") | .key] | unique | length) as $got | ($got > 40) and
    ([.profile[] | select(.mode == 0) | [.metrics | to_entries[] | select(.value | type == "number")] | length] | unique) == [$got] and
    ([.profile[] | select(.mode == 0) | .block_x] | length >= 3) and ([.profile[] | select(.grid_x == 1000) | .mode] == [0]) and
    ([.decision[] | select(.name | contains("transpose")) | [.mode, .reason]] | unique == [[0,1],[1,11]]) and
    ([.profile[] | select(.name | contains("reduce")) | .metrics.inst_executed | numbers] | unique == [777]) and
    ([.profile[] | select(.name | contains("transpose")) | .metrics.inst_executed | numbers] | unique == [640])'
renewed=$(called cuptiRangeProfilerEnable)
[ "$renewed" -ge 2 ] && [ "$renewed" -le 3 ] && echo "PASS auto: the profiler is started anew for a replay that needs it, and not for every one" || { echo "FAIL auto: $renewed times enabled"; failed=1; }
FAKE_CUPTI_MIX=spoil FAKE_CUPTI_PASSES=3 profile mixed 30
claim "auto: rotation that stops giving values is given up, and told" '
    any(.status[]; .code == "mode-failed") and ([.profile[] | select(.mode == 0)] | length > 5) and
    ([.profile[] | .metrics | to_entries[] | select(.value == "why 4")] == [])'

# --- budget ---

FAKE_CUPTI_DELAY=cuptiRangeProfilerStart:30 WARPSIGHT_EVERY=1 WARPSIGHT_BUDGET=400ms profile many 400
claim "a budget is kept" '.budget[-1] | .limit_ns == 400000000 and .spent_ns > 150000000 and .spent_ns <= 430000000 and .counted >= 3'
claim "what the budget leaves out is traced all the same" '(.profile | length < 14) and (.kernel | length) + ([.profile[] | select(.mode == 1)] | length) == 400'
FAKE_CUPTI_DELAY=cuptiRangeProfilerStart:30 WARPSIGHT_EVERY=1 WARPSIGHT_MAX_OVERHEAD=40% profile steady 600
claim "an overhead is kept: counted launches are spaced" '.budget[-1] | .overhead == 0.4 and .counted >= 2 and .spent_ns <= 0.4 * (.run_ns - .spent_ns) + 40000000'
WARPSIGHT_EVERY=1 WARPSIGHT_MAX_OVERHEAD=0.001% profile many 400
[ "$(asked)" = 4 ] && echo "PASS a launch that the budget has no room for is looked at once a kernel" || { echo "FAIL a launch that the budget has no room for is looked at once a kernel: $(asked) times"; failed=1; }
WARPSIGHT_BUDGET=1ms profile basic
claim "a budget too small for anything: no counters, every kernel says why" '(.profile == []) and ([.decision[] | [.mode, .reason]] | unique == [[2,8]]) and (.decision | length == 3) and (.kernel | length == 6)'
WARPSIGHT_BUDGET=soon WARPSIGHT_MAX_OVERHEAD=5 profile basic
claim "a budget that is none: no limit, and told" '(.profile | length == 3) and ([.status[] | select(.code == "setting-invalid")] | length == 2)'
WARPSIGHT_LOG=info profile basic
grep -q '^==WARPSIGHT== replay transpose: .*predicted [0-9.]* ms' "$scratch/err" && grep -q '^==WARPSIGHT== it took [0-9.]* ms' "$scratch/err" && echo "PASS the prediction is logged when asked for" || { echo "FAIL the prediction is logged when asked for: $(head -3 "$scratch/err")"; failed=1; }

# --- a launch that does not come back ---

for call in cuptiRangeProfilerStart cuptiRangeProfilerStop; do
    for mode in kernel rotate; do
        WARPSIGHT_REPLAY_MODE=$mode WARPSIGHT_REPLAY_TIMEOUT=1 FAKE_CUPTI_DELAY=$call:600000:1 profile stuck
        claim "$call hangs ($mode): the others go on, and the report knows" '
            any(.status[]; .code == "replay-hung" and (.message | contains("transpose"))) and (.profile == [])'
        [ "$status" = 0 ] && grep -q '100 launches' "$scratch/out" && [ $took_ms -lt 6000 ] && echo "PASS $call hangs ($mode): the program ends as it would" || {
            echo "FAIL $call hangs ($mode): status $status after $took_ms ms"
            failed=1
        }
    done
    WARPSIGHT_REPLAY_TIMEOUT=1 FAKE_CUPTI_DELAY=$call:4000:1 profile stuck 500
    claim "$call comes back after it was given up: no values of it, all launches" '
        any(.status[]; .code == "replay-returned") and (.profile == []) and (.kernel | length == 102) and (.bye | length == 1)'
done
WARPSIGHT_REPLAY_TIMEOUT=1 FAKE_CUPTI_DELAY=cuptiRangeProfilerStart:300 profile basic
claim "what is slow is not given up" '(.profile | length == 3) and ([.status[] | select(.code == "replay-hung")] == [])'

# --- the program's own profiler ---

"$app" own-profiler >"$scratch/plain.own" 2>/dev/null
profile own-profiler
claim "the program's own profiler is refused while we hold CUPTI" '(.kernel | length == 8)'
grep -q '^own profiler: 39' "$scratch/out" && grep -q '^own profiler: 0' "$scratch/plain.own" && echo "PASS … and sees the refusal" || { echo "FAIL … and sees the refusal: $(head -1 "$scratch/out")"; failed=1; }
also=
# yielding MODE: as profile, with the library of run --yield
yielding() { preloaded="$preloaded:$PWD/$B/libwarpsight-yield.so$also" profile "$@"; }
for set in core,memory,stalls trace core,api; do
    WARPSIGHT_SET=$set yielding own-profiler
    claim "--yield ($set): what was before is there, nothing after, and it is told" '([.kernel[].name] | unique == ["_Z9transposePKfPf"]) and (.kernel | length == 3) and
        any(.status[]; .code == "yielded" and (.message | contains("own.so"))) and any(.collection[]; .is_on == 0 and .reason == "yield") and (.bye | length == 1)'
    cmp -s "$scratch/out" "$scratch/plain.own" && echo "PASS --yield ($set): the program's own profiler gets CUPTI" || { echo "FAIL --yield ($set): $(head -1 "$scratch/out")"; failed=1; }
done
# A second copy of CUPTI, as a toolkit beside the one of a Python wheel: the driver takes the first that subscribes, for good.
mkdir -p "$scratch/kit/extras/CUPTI/lib64"
cp "$fake/libcupti.so.13" "$fake/libnvperf_host.so" "$scratch/kit/extras/CUPTI/lib64/"
also=:$fake/own.so
WARPSIGHT_CUPTI='' CUDA_HOME="$scratch/kit" yielding own-profiler
claim "--yield beside another copy of CUPTI: the program's is used, and left" '(.kernel | length == 3) and any(.status[]; .code == "yielded")'
cmp -s "$scratch/out" "$scratch/plain.own" && echo "PASS … and the program's own profiler gets it" || { echo "FAIL … and the program's own profiler gets it: $(head -1 "$scratch/out")"; failed=1; }
ASAN_OPTIONS="$ASAN_OPTIONS:detect_odr_violation=0" WARPSIGHT_CUPTI="$scratch/kit" yielding own-profiler
claim "--yield with the other copy: not left, which would be in vain; told, with the remedy" '(.kernel | length == 8) and
    any(.status[]; .code == "yield-failed" and (.message | contains("copy of its own")) and (.remedy | test("WARPSIGHT_CUPTI=/.*libcupti.so.13")))'
also=
yielding basic
claim "--yield where nobody comes: everything is collected" '(.kernel | length == 6) and (.profile | length == 3)'
WARPSIGHT_TIMELINE_METRICS=default yielding own-profiler
claim "--yield while a sampler runs: not left, and told" 'any(.status[]; .code == "yield-failed")'

# --- threads, contexts, devices ---

for mode in auto kernel rotate; do
    WARPSIGHT_REPLAY_MODE=$mode WARPSIGHT_EVERY=1 FAKE_CUPTI_PASSES=3 profile threads
    claim "threads ($mode): every count went to its own kernel" '
        [.profile[] | select(.metrics.inst_executed | type == "number") |
         {"_Z9transposePKfPf":640,"_Z5scaleIfEvPT_":200,"_Z6reducePKfPf":777}[.name] == .metrics.inst_executed] | length > 10 and all'
    # In rotation a launch that is counted is not traced.
    claim "threads ($mode): no launch is lost" '(.kernel | length) + (.profile | map(select(.mode == 1)) | length) == 400'
done
profile streams
claim "streams are told apart" '[.kernel[].stream] | unique | length == 5'
profile contexts
claim "contexts that come and go" '([.context[].context] | unique | length == 10) and (.kernel | length == 10) and ([.kernel[].context] | unique | length == 10)'
FAKE_CUDA_DEVICES=3 profile devices
claim "devices are told apart" '([.device[].uuid] | unique | length == 3) and ([.kernel[] | .device] | sort == [0,1,1,2,2,2])'

# --- processes ---

profile fork-before
claim "a child that forked first is a process of its own" '[.hello[].agent_id] | unique | length == 2'
profile fork-after
claim "a child forked after CUDA collects nothing" '([.hello[].agent_id] | unique | length == 1) and (.bye | length == 1)'
WARPSIGHT_SESSION=tok123 profile exec
claim "exec: both images, one session" '([.hello[].agent_id] | unique | length == 2) and ([.hello[].session_token] | unique == ["tok123"]) and (.kernel | length >= 6)'
profile kill 9
claim "killed: what was finished is there" '(.kernel | length == 6) and .bye == []'

# --- each call failing in turn: the program does not notice, and the report is told ---

"$app" basic 12 >"$scratch/plain.out" 2>"$scratch/plain.err"
# Calls whose failure loses nothing worth telling (a text, an id, freeing things), or that have a fallback.
quiet=" cuptiSubscribe cuptiUnsubscribe cuptiGetCallbackName cuptiGetVersion cuptiGetResultString cuptiGetContextId cuptiGetStreamIdEx cuptiProfilerHostDeinitialize cuptiRangeProfilerDisable cuptiActivityGetNumDroppedRecords cuptiActivityDisable cuptiGetDeviceId cuptiProfilerHostGetMetricProperties cuptiActivityGetNextRecord cuptiDeviceGetChipName "
codes=(15 35 999) # not initialised, no rights, unknown; 39 would be another subscriber
turn=0
# Those of PM sampling: test_timeline.sh; of PC sampling: test_sampling.sh.
for call in $(grep -v 'TIMELINE,\|SAMPLING,\|PCSampling' collector/cupti_api.def | grep -o 'cupti[A-Za-z_0-9]*)' | tr -d ')'); do
    code=${codes[$((turn++ % 3))]}
    FAKE_CUPTI_FAIL=$call:$code WARPSIGHT_SET=core,memory,stalls,api profile basic 12
    if [ "$status" != 12 ] || ! cmp -s "$scratch/out" "$scratch/plain.out" || ! cmp -s "$scratch/err" "$scratch/plain.err"; then
        echo "FAIL $call answers $code: the program noticed (status $status)"
        failed=1
        continue
    fi
    case "$quiet" in
    *" $call "*) claim "$call answers $code: the program does not notice" true ;;
    *) claim "$call answers $code: the program does not notice, the report knows" "any(.status[]; .message | contains(\"$code\"))" ;;
    esac
done
# Only the third time: the launches before keep their counters.
FAKE_CUPTI_FAIL=cuptiRangeProfilerStop:999:3 profile many 40
claim "a failure in the middle keeps what was there" '(.profile | length == 2) and (.kernel | length == 40)'
# A call that hangs at the end holds the program up for two seconds at most.
WARPSIGHT_SET=trace FAKE_CUPTI_DELAY=cuptiActivityFlushAll:20000 profile basic 12
[ "$status" = 12 ] && [ $took_ms -lt 4000 ] && echo "PASS a CUPTI that hangs at exit is left behind" || {
    echo "FAIL a CUPTI that hangs at exit is left behind: status $status after $took_ms ms"
    failed=1
}
exit $failed
