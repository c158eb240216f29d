#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_timeline.sh: PM sampling (--timeline-metrics) under the fake CUPTI, judged by what the collector wrote to the
# spool. What a sample reads follows from the fake's launches (fake_pm.h), so every number is known.
set -u
. "$(dirname "$0")/lib.sh" timeline
# Bursts: a machine that is as slow as a sanitizer makes it decodes more slowly than the fake samples at 10 µs.
defs='def rows: [.pm_samples[].rows[]]; def series: [.pm_series[]] | unique_by(.series); def bursts: any(.status[]; .code == "timeline-bursts");'
brief='{series:[.pm_series[]|{series,device,keys}], samples:([.pm_samples[].rows[]]|length), status:[.status[]|{code,message}], loss:.loss}'
# sample MODE [ARGUMENT]: as profile, with sampling on (unless METRICS says otherwise). The program waits for the sampler,
# so that its first kernel is in the samples; START=beside is what people get.
sample() { WARPSIGHT_TIMELINE_METRICS="${METRICS-default}" WARPSIGHT_TIMELINE_START="${START-first}" profile "$@"; }
calls() { grep -c "^$1" "$FAKE_CUPTI_LOG"; }

# --- what a sample is ---

sample long 3
claim "one series, of the whole default set" 'series | length == 1 and .[0].interval_ns == 1000000 and .[0].trigger == 1 and
    (.[0].keys == "sm_active,dram_read,dram_write,warps_active,tensor_active,pcie_read,pcie_write,l2_hit_rate,gr_active")'
claim "the names are those of the chip" '.pm_series[0].cupti | split(",") | length == 9 and .[0] == "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed"'
claim "samples follow one another, a millisecond each" '(rows | length > 200) and ([rows[].took] | unique == [1000000]) and
    ([rows | range(1; length) as $i | .[$i].start - .[$i - 1].start | fabs - 1000000 | fabs] | max < 1000)'
claim "the first sample, for which CUPTI makes up a start, is left out" '.hello[0].started_ns < rows[0].start'
claim "percentages are shares, counts stay counts" '(rows | any(.sm_active == 1 and (.dram_read - 0.6 | fabs) < 1e-6 and (.warps_active - 0.5 | fabs) < 1e-6)) and
    ([rows[].pcie_read] | unique == [4096])'
claim "a value that the chip does not give is none" '(rows | any(.sm_active == 0 and .l2_hit_rate == null and .gr_active == 0)) and ([rows[] | select(.sm_active > 0) | .l2_hit_rate - 0.8 | fabs] | max < 1e-6)'
claim "40 ms of each of three kernels were active" '[rows[].sm_active] | add | . > 117 and . < 123'
claim "times are those of the trace" '.kernel as $k | [rows[] | select(.sm_active == 1) | . as $r | any($k[]; .start_ns <= $r.start + 1000 and .end_ns >= $r.start + $r.took - 1000)] | all and length > 100'
claim "kernels are traced as always, and none is counted" '(.kernel | length == 3) and (.profile == []) and ([.kernel[].took_ns] | unique == [40000000])'
claim "the report is told of the mode" 'any(.status[]; .code == "timeline-mode" and .severity == 0)'
claim "nothing was lost, and the cost is told" '(.loss == []) and (.bye[0].dropped == 0) and any(.cost[]; .what == "timeline")'
check "no range profiler beside it" "$([ "$(calls 'count cuptiRangeProfiler')" = 0 ]; echo $?)"

METRICS=gr_active,sm_active,gr_active,sm__inst_executed.sum WARPSIGHT_TIMELINE_INTERVAL=100us sample long 1
claim "a list, in its order, and a CUPTI name" '.pm_series[0] | .keys == "gr_active,sm_active,sm__inst_executed.sum" and .interval_ns == 100000'
claim "ten times as many samples" 'rows | length > 700'
METRICS=sm_active WARPSIGHT_TIMELINE_INTERVAL=10us sample long 1
claim "10 µs: thousands of samples; what one decode could not hold is counted" '([.loss[] | select(.kind == "pm_sample") | .count] | add // 0) as $lost |
    (rows | length) as $n | ((rows[-1].start - rows[0].start) / 10000 + 1) as $wanted |
    $n > 500 and (bursts or $n + $lost > 6000) and (bursts or $n + $lost > $wanted * 0.99) and $n + $lost < (.bye[0].ended_ns - rows[0].start) / 10000 + 100'
FAKE_CUPTI_DELAY=cuptiPmSamplingDecodeData:15 METRICS=sm_active WARPSIGHT_TIMELINE_INTERVAL=10us sample long 5
claim "a decode slower than the samples: what its image did not hold is lost, said, and in no row" '([.loss[] | select(.kind == "pm_sample") | .count] | add) as $lost |
    $lost > 300 and any(.status[]; .code == "timeline-overflow") and ([rows[].took] | unique == [10000])'
claim "from then on bursts, with pauses in which they are decoded" 'bursts and (rows | length > 1000) and
    ([rows | range(1; length) as $i | .[$i].start - .[$i - 1].start - 10000 | select(. > 5000000)] | length > 5)'
claim "which are sampled as they should be" '([rows[] | select(.sm_active == 1)] | length > 500) and ([rows[] | select(.sm_active == 0)] | length > 500)'
FAKE_CUDA_DEVICES=3 sample long 1
claim "each device has its series" '(series | map(.device) == [0, 1, 2]) and ([.pm_samples[].series] | unique == [1, 2, 3])'
claim "and its own samples" '. as $f | [range(1; 4) as $s | [$f.pm_samples[] | select(.series == $s) | .rows[].sm_active] | add | . > 39 and . < 41] | all'
sample contexts
claim "a device has one sampler, whatever contexts come and go" 'series | length == 1'

# --- beside the program ---

START=beside FAKE_CUPTI_DELAY=cuptiPmSamplingEnable:150 sample long 5
claim "the program does not wait while sampling is set up, and the samples tell when it began" '(rows[0].start - .kernel[0].start_ns) as $late | $late > 100000000 and $late < 400000000 and
    (.kernel | length == 5) and any(.cost[]; .what == "timeline-setup" and .total_ns > 150000000) and ([.cost[] | select(.what == "startup") | .total_ns] | add < 140000000)'
claim "what was before is not lost: it was never sampled" '.loss == []'
START=first FAKE_CUPTI_DELAY=cuptiPmSamplingEnable:150 sample long 1
claim "--timeline-start first: the program waits, and its first kernel is sampled" 'rows[0].start <= .kernel[0].start_ns + 1000000 and ([rows[].sm_active] | add > 38)'
START=beside FAKE_CUPTI_DELAY=cuptiPmSamplingEnable:700 sample long 1
claim "a program that ends first has no samples, and is told why" '(rows == []) and (.kernel | length == 1) and any(.status[]; .code == "timeline-late" and (.remedy | contains("--timeline-start first")))'
check "and ends in time" "$([ $status -eq 0 ] && [ $took_ms -lt 2500 ]; echo $?)" "after $took_ms ms"
START=beside FAKE_CUPTI_DELAY=cuptiPmSamplingEnable:300 sample fork-after
claim "a fork waits for the set-up, and the child makes no call" '[.hello[].agent_id] | unique | length == 1'
check "the child forks again and waits for nothing" "$([ $status -eq 0 ] && grep -q 'child ended with 7' "$scratch/out" && [ $took_ms -lt 2500 ]; echo $?)" "after $took_ms ms"

# --- what is missing ---

FAKE_CUPTI_UNKNOWN=$(printf '%s,' PCI.TriageCompute.pcie__read_bytes.sum pcie__read_bytes.sum) sample long 1
claim "a metric that the chip lacks is told, and the others are sampled" '(.pm_series[0].keys | split(",") | length == 8 and index("pcie_read") == null) and any(.status[]; .code == "timeline-absent" and (.message | contains("pcie_read")))'
FAKE_CUPTI_SECOND_PASS=TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed sample long 1
claim "what needs a second pass is left out, and said" '(.pm_series[0].keys | split(",") | length == 8 and index("tensor_active") == null) and any(.status[]; .code == "timeline-passes" and (.message | contains("tensor_active")))'
claim "and the rest is as it was" 'rows | any(.sm_active == 1 and (.l2_hit_rate - 0.8 | fabs) < 1e-6)'
FAKE_CUPTI_PASSES=2 sample long 1
claim "where nothing fits, nothing is sampled" '(.pm_series == []) and any(.status[]; .code == "timeline-failed") and (.kernel | length == 1)'
FAKE_CUPTI_FAIL=cuptiPmSamplingSetConfig:27 sample long 1
claim "a configuration that CUPTI does not support" '(.pm_samples == []) and any(.status[]; .message | contains("cuptiPmSamplingSetConfig answered 27")) and (.kernel | length == 1)'
FAKE_CUPTI_FAIL=cuptiPmSamplingEnable:35 sample long 1
claim "without the right to profile" '(.pm_samples == []) and any(.status[]; .code == "counters-no-rights" and (.remedy | contains("NVreg_RestrictProfilingToAdminUsers"))) and (.kernel | length == 1)'
METRICS=sm_active,nonsense sample long 1
claim "a word that is no metric is told" '(.pm_series[0].keys == "sm_active") and any(.status[]; .code == "timeline-unknown" and (.message | contains("nonsense")))'
WARPSIGHT_TIMELINE_INTERVAL=1us sample long 1
claim "an interval out of bounds is 1 ms, and told" '.pm_series[0].interval_ns == 1000000 and any(.status[]; .code == "setting-invalid")'
sed 's/cuptiPmSamplingDecodeData/cuptiPmSamplingDecodeXXXX/g' "$fake/libcupti.so.13" >"$scratch/libcupti.so.13"
cp "$fake"/libnvperf_host.so "$fake"/libcuda.so.1 "$scratch/"
WARPSIGHT_CUPTI=$scratch sample long 1
claim "a CUPTI without the call" '(.pm_series == []) and any(.status[]; .code == "timeline-unavailable" and (.message | contains("cuptiPmSamplingDecodeData"))) and (.profile == []) and (.kernel | length == 1)'

# --- loss and bounds ---

FAKE_CUPTI_PM_BUFFER=50 sample long 10
claim "a buffer that runs over: the loss is counted and sampling goes on" '([.loss[] | select(.kind == "pm_sample" and .reason == "hardware-buffer") | .count] | add) as $lost |
    (rows | length) as $n | $lost > 100 and $n > 60 and $n + $lost > 250 and $n + $lost < (.bye[0].ended_ns - .hello[0].started_ns) / 1000000 + 50 and any(.status[]; .code == "timeline-overflow")'
METRICS=default WARPSIGHT_TIMELINE_INTERVAL=10us WARPSIGHT_TIMELINE_MB=1 sample long 8
claim "towards their bound neighbours are merged: less than the bound, to the end of the run" 'bursts or (([.pm_samples[].rows[] | 44] | add) as $bytes | (.kernel | map(.end_ns) | max) as $last |
    $bytes < 1048576 and ([rows[].took] | max >= 20000) and (rows[-1].start > $last) and any(.status[]; .code == "timeline-merged"))'
claim "and what is merged adds up, or what is missing is counted" 'bursts or (.loss | length > 0) or (([rows[] | .sm_active * .took] | add) as $ns | $ns > 315000000 and $ns < 330000000 and ([rows[] | .pcie_read / .took * 10000 - 4096 | fabs] | max < 1))'
FAKE_CUPTI_DELAY=cuptiPmSamplingDecodeData:300 WARPSIGHT_MEMORY_MB=8 WARPSIGHT_TIMELINE_INTERVAL=100us sample long 1
claim "what cannot be decoded in time at the end is counted" '(rows | length) as $n | [.loss[] | select(.kind == "pm_sample") | .count] | add | . + $n > 700 and . > 300'
check "and the program does not wait for it" "$([ $took_ms -lt 3000 ]; echo $?)" "$took_ms ms"
WARPSIGHT_MEMORY_MB=12 sample long 1
claim "with little memory the image is small, and samples arrive" '([.loss[] | select(.kind == "pm_sample") | .count] | add // 0) as $lost | (rows | length > 20) and (rows | length) + $lost > 50'

# --- the end of the program, and others ---

"$app" long 1 >"$scratch/plain.out" 2>"$scratch/plain.err"
for call in $(grep -o 'TIMELINE, cupti[A-Za-z_0-9]*)' collector/cupti_api.def | tr -d ')' | sed 's/.* //'); do
    FAKE_CUPTI_FAIL=$call:999 sample long 1
    if [ "$status" != 0 ] || ! cmp -s "$scratch/out" "$scratch/plain.out" || ! cmp -s "$scratch/err" "$scratch/plain.err"; then
        check "$call fails: the program does not notice" 1 "status $status"
        continue
    fi
    case $call in
    cuptiPmSamplingDisable) claim "$call fails: the program does not notice" 'rows | length > 50' ;;
    *) claim "$call fails: the program does not notice, the report knows" '(any(.status[]; .message | contains("'$call' answered 999"))) and (.kernel | length == 1)' ;;
    esac
done
FAKE_CUPTI_DELAY=cuptiPmSamplingDecodeData:20000 sample long 1
check "a decode that hangs at exit is left behind" "$([ "$status" = 0 ] && [ $took_ms -lt 5000 ]; echo $?)" "after $took_ms ms"
sample fork-after
claim "a child forked while sampling makes no call" '[.hello[].agent_id] | unique | length == 1'
sample kill 9
claim "killed: its series is there" 'series | length == 1'
exit $failed
