#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_samples.sh: samples over time from `warpsight run --timeline-metrics` to report, exports, capture, HTTP API and
# /metrics, on the fake driver and the fake CUPTI. What the collector writes is judged in test_timeline.sh.
set -u
. "$(dirname "$0")/lib.sh" samples
daemon= live=
at_exit() { kill $daemon $live 2>/dev/null; wait 2>/dev/null; }
holds() { # holds NAME FILE JQ
    jq -e "$3" "$2" >/dev/null 2>"$scratch/jq"
    check "$1" $? "not true: $3 $(head -1 "$scratch/jq") $(head -c 500 "$2")"
}

# --- run, report ---

"$app" long 3 >"$scratch/plain"
export WARPSIGHT_TIMELINE_START=first # the first kernel is in the samples, however slow the machine
"$ws" run --timeline-metrics default "$app" long 3 >"$scratch/out" 2>"$scratch/err"
check "the program's output is its own" "$(cmp -s -n "$(stat -c %s "$scratch/plain")" "$scratch/out" "$scratch/plain"; echo $?)"
check "the report shows them, and says what they are" "$(grep -q 'Samples over time.*whole GPU.*not counters of a kernel' "$scratch/out" && grep -q 'SM active' "$scratch/out" && grep -qE '100 %.*long_runner' "$scratch/out"; echo $?)" "$(head -20 "$scratch/out")"
check "and that nothing was counted" "$(grep -q 'no kernel counters' "$scratch/out"; echo $?)"
"$ws" report --json >"$scratch/report.json"
holds "report --json: the device while kernels ran, and in all" "$scratch/report.json" '.samples.series[0] | .interval_ns == 1000000 and .samples > 200 and .busy_samples >= 110 and .busy_samples <= 130 and .joined and
    (.metrics[0] | .key == "sm_active" and .unit == "" and .busy.mean > 0.97 and .busy.max == 1 and .all.mean > 0.4 and .all.mean < 0.6) and
    (.metrics[5] | .key == "pcie_read" and .unit == "B/s" and (.all.mean - 4096000 | fabs) < 10)'
holds "report --json: a kernel while it alone ran" "$scratch/report.json" '. as $r | .samples.kernels | length == 1 and .[0].kernel == $r.kernels[0].id and .[0].samples > 100 and .[0].mean.sm_active == 1 and (.[0].mean.dram_read - 0.6 | fabs) < 1e-6'
holds "no kernel has counters, and no warning says that they were left out" "$scratch/report.json" '[.kernels[].profiled_launches] == [0] and ([.warnings[].code] | index("no-counters") == null and index("timeline-mode") != null)'
"$ws" run --timeline-interval 200us "$app" long 1 >/dev/null 2>&1
"$ws" report --json >"$scratch/short.json"
holds "--timeline-interval alone samples the default set" "$scratch/short.json" '.samples.series[0] | .interval_ns == 200000 and (.metrics | length == 9)'
"$ws" run --set trace,api --replay-mode none --timeline-metrics sm_active "$app" long 1 >/dev/null 2>&1
"$ws" report --json >"$scratch/api.json"
holds "beside --set trace,api" "$scratch/api.json" '.samples.series[0].metrics | map(.key) == ["sm_active"]'
"$ws" run --set trace "$app" long 1 >/dev/null 2>&1
"$ws" report --json >"$scratch/none.json"
holds "a run without has none" "$scratch/none.json" 'has("samples") | not'

# --- exports ---

"$ws" export --format samples-csv 1 >"$scratch/samples.csv"
n=$(jq '.samples.series[0].samples * 9' "$scratch/report.json")
check "samples-csv: a line a sample and metric" "$([ "$(wc -l <"$scratch/samples.csv")" = $((n + 1)) ] && [ "$(head -1 "$scratch/samples.csv" | tr -d '\r')" = process,device,start_ns,length_ns,metric,value,unit ]; echo $?)" "$(head -3 "$scratch/samples.csv")"
mean=$(tr -d '\r"' <"$scratch/samples.csv" | awk -F, '$5 == "sm_active" { n++; s += $6 } END { print s / n }')
holds "its values are the report's" "$scratch/report.json" ".samples.series[0].metrics[0].all.mean - $mean | fabs < 1e-4"
check "samples-csv of a session without: the head alone" "$([ "$("$ws" export --format samples-csv 4 | wc -l)" = 1 ]; echo $?)"
"$ws" export --format chrome-trace 1 >"$scratch/trace.json"
holds "chrome-trace: counter tracks of the GPU beside its kernels" "$scratch/trace.json" '[.traceEvents[] | select(.ph == "C" and .name == "SM active")] as $c | ([.traceEvents[] | select(.cat == "kernel")] | length == 3) and ($c | length > 200) and ([$c[].args["%"]] | max == 100 and min == 0) and ([$c[].pid] | unique == [0])'
"$ws" export --format capture -o "$scratch/a.wscap" 1 && WARPSIGHT_DB="$scratch/other" "$ws" import "$scratch/a.wscap" >/dev/null && WARPSIGHT_DB="$scratch/other" "$ws" report --json >"$scratch/again.json"
check "a capture brings them back" "$([ "$(jq -cS .samples "$scratch/report.json")" = "$(jq -cS .samples "$scratch/again.json")" ]; echo $?)"
"$ws" export --format sqlite -o "$scratch/one.db" 1 && WARPSIGHT_DB="$scratch/one.db" "$ws" report --json >"$scratch/one.json"
check "so does a database of the session alone" "$([ "$(jq -cS .samples "$scratch/report.json")" = "$(jq -cS .samples "$scratch/one.json")" ]; echo $?)"

# --- the daemon, and a program that runs ---

"$ws" serve --listen 127.0.0.1:0 >"$scratch/serve" 2>&1 &
daemon=$!
for _ in $(seq 200); do url=$(grep -o 'http://[^ ]*' "$scratch/serve" | head -1); [ -n "$url" ] && break; sleep 0.05; done
address=${url%%/\?*} token=${url##*token=}
get() { curl -s -o "$scratch/$1" -w '%{http_code}' -H "Authorization: Bearer $token" "$address$2"; }
code=$(get view.json /api/v1/sessions/1/timeline/samples?px=100)
holds "the API: cells of a range ($code)" "$scratch/view.json" '.session == 1 and (.series | length == 1) and (.series[0] | .seen == .samples and (.start | length) <= 100 and (.start | length) == (.metrics[0].mean | length) and
    ([.end, .start] | transpose | all(.[0] > .[1])) and (.metrics[0] | .key == "sm_active" and .title == "SM active" and (.max | max) == 1 and (.min | min) == 0) and
    (.metrics[7] | .key == "l2_hit_rate" and (.mean | index(null)) != null and ([.mean[] | numbers] | length > 10)))'
from=$(jq '.series[0].start[20]' "$scratch/view.json") to=$(jq '.series[0].start[30]' "$scratch/view.json")
code=$(get part.json "/api/v1/sessions/1/timeline/samples?px=8192&from=$from&to=$to")
holds "a part of it in full detail ($code)" "$scratch/part.json" ".from == $from and .to == $to and (.series[0] | .seen == (.start | length) and .seen > 15 and .seen < 45 and (.start[0] >= $from - 1000000) and .end[-1] <= $to + 1000000)"
code=$(get last.json "/api/v1/sessions/1/timeline/samples?last=50000000")
holds "the last of it ($code)" "$scratch/last.json" '.series[0] | .seen >= 49 and .seen <= 51'
code=$(get none.json /api/v1/sessions/4/timeline/samples)
holds "none of a session without ($code)" "$scratch/none.json" '.series == []'
code=$(get sum.json /api/v1/sessions/1/samples)
check "what they say in all is the report's ($code)" "$([ "$(jq -cS . "$scratch/sum.json")" = "$(jq -cS .samples "$scratch/report.json")" ]; echo $?)"
check "unknown sessions are 404, bad ranges 400" "$([ "$(get x "/api/v1/sessions/99/samples")" = 404 ] && [ "$(get x "/api/v1/sessions/99/timeline/samples")" = 404 ] && [ "$(get x "/api/v1/sessions/1/timeline/samples?px=0")" = 400 ] && [ "$(get x "/api/v1/sessions/1/timeline/samples?from=9&to=3")" = 400 ] && [ "$(get x "/api/v1/sessions/1/timeline/samples?last=-1")" = 400 ]; echo $?)"
FAKE_CUDA_DEVICES=2 WARPSIGHT_TIMELINE_METRICS=default LD_PRELOAD="$PWD/$B/libwarpsight.so" "$app" long 400 >/dev/null 2>&1 &
live=$!
for _ in $(seq 100); do get metrics /metrics >/dev/null; grep -q '^warpsight_gpu_sm_active_ratio{' "$scratch/metrics" && break; sleep 0.1; done
check "/metrics has them with the labels of dcgm-exporter" "$(grep -qE '^warpsight_gpu_sm_active_ratio\{gpu="0",UUID="GPU-[0-9a-f-]+",device="nvidia0",modelName="Fake GPU 0",Hostname="[^"]+"\} 0\.[0-9]+$' "$scratch/metrics"; echo $?)" "$(grep warpsight_gpu "$scratch/metrics" | head -3)"
check "rates, too, and the field of DCGM that they are like" "$(grep -qE '^warpsight_gpu_pcie_read_bytes_per_second\{.*\} 4096000$' "$scratch/metrics" && grep -q 'HELP warpsight_gpu_sm_active_ratio .*DCGM_FI_PROF_SM_ACTIVE' "$scratch/metrics"; echo $?)"
check "but not without the token" "$(! curl -s "$address/metrics" | grep -q warpsight_gpu_; echo $?)"
exit $failed
