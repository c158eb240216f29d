#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_prometheus.sh: a real Prometheus (Debian's package) scrapes /metrics of a daemon, with the token as docs/fleet.md
# says, and answers queries about kernels; promtool finds nothing to say about the text.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="${B:-build}/warpsight"
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
    echo "SKIP prometheus: no Prometheus here (Debian: apt install prometheus)"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/prometheus.XXXXXX")
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_DB="$scratch/db"
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

"$W" import tests/flow/h200-torch.wscap >/dev/null || exit 1
"$W" serve --listen 127.0.0.1:0 >"$scratch/serve" 2>&1 & pids+=($!)
for _ in $(seq 200); do url=$(grep -o 'http://[^ ]*' "$scratch/serve" | head -1); [ -n "$url" ] && break; sleep 0.05; done
address=$(echo "$url" | sed -E 's#http://([^/]*)/.*#\1#') token=${url##*token=}
curl -s "http://$address/metrics" | promtool check metrics >"$scratch/check" 2>&1 && [ ! -s "$scratch/check" ] &&
    ok "promtool has nothing to say without a token" || bad "promtool has nothing to say without a token" "$(head -3 "$scratch/check")"
curl -s -H "Authorization: Bearer $token" "http://$address/metrics" | promtool check metrics >"$scratch/check" 2>&1 && [ ! -s "$scratch/check" ] &&
    ok "nor with one" || bad "nor with one" "$(head -3 "$scratch/check")"

port=$(free_port)
printf '%s' "$token" >"$scratch/token"
cat >"$scratch/prometheus.yml" <<YML
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: warpsight
    authorization: {credentials_file: $scratch/token}
    static_configs: [{targets: ["$address"]}]
YML
prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/data" --web.listen-address="127.0.0.1:$port" >"$scratch/prometheus.log" 2>&1 & pids+=($!)
query() { curl -sG "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result | map(.value[1]) | join(" ")' 2>/dev/null; }
for _ in $(seq 300); do [ "$(query 'up{job="warpsight"}')" = 1 ] && [ -n "$(query warpsight_kernel_seconds_total)" ] && break; sleep 0.1; done
[ "$(query 'up{job="warpsight"}')" = 1 ] && ok "Prometheus scrapes the daemon" || bad "Prometheus scrapes the daemon" "$(tail -2 "$scratch/prometheus.log")"
[ "$(query warpsight_up)" = 1 ] && ok "the daemon can store" || bad "the daemon can store" "$(query warpsight_up)"
slowest=$(curl -sG "http://127.0.0.1:$port/api/v1/query" --data-urlencode 'query=topk(1, warpsight_kernel_seconds_total)' | jq -r '.data.result[0].metric.kernel')
report=$("$W" report --json | jq -r '.kernels | max_by(.duration.total) | .demangled')
[ -n "$slowest" ] && [ "$slowest" = "$report" ] && ok "the slowest kernel is the report's" || bad "the slowest kernel is the report's" "$slowest, not $report"
[ "$(query 'count(warpsight_kernel_launches_total{gpu="0", UUID=~"GPU-.+", device=~"nvidia[0-9]+"})')" = "$("$W" report --json | jq '.kernels | length')" ] &&
    ok "every kernel has dcgm's labels gpu, UUID, device" || bad "every kernel has dcgm's labels gpu, UUID, device" "$(query 'count(warpsight_kernel_launches_total)')"

# Samples over time of a program that runs: on the fake driver, where that was built.
fake=$PWD/${B:-build}/fake
if [ -x "$fake/fake_app" ] && [ -f "${B:-build}/libwarpsight-cupti.so" ]; then
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0" WARPSIGHT_CUPTI=$fake WARPSIGHT_TIMELINE_METRICS=default \
        LD_PRELOAD="$PWD/${B:-build}/libwarpsight.so" "$fake/fake_app" long 600 >/dev/null 2>&1 & pids+=($!)
    sampled='warpsight_gpu_sm_active_ratio{gpu="0", UUID=~"GPU-.+", device="nvidia0", modelName="Fake GPU 0", Hostname=~".+"}'
    for _ in $(seq 300); do [ -n "$(query "$sampled")" ] && break; sleep 0.1; done
    [ "$(query "$sampled > bool 0.2 and $sampled < bool 0.8")" = 1 ] && ok "samples of the GPU carry the labels of dcgm-exporter" || bad "samples of the GPU carry the labels of dcgm-exporter" "$(query "$sampled")"
    [ "$(query 'warpsight_gpu_pcie_read_bytes_per_second')" = 4096000 ] && ok "rates are bytes a second" || bad "rates are bytes a second" "$(query 'warpsight_gpu_pcie_read_bytes_per_second')"
    curl -s -H "Authorization: Bearer $token" "http://$address/metrics" | promtool check metrics >"$scratch/check" 2>&1
    grep -v "label names should be written in 'snake_case'" "$scratch/check" >"$scratch/left" || [ $? = 1 ] # dcgm-exporter's: modelName
    [ ! -s "$scratch/left" ] && ok "promtool has nothing to say to them" || bad "promtool has nothing to say to them" "$(head -3 "$scratch/left")"
else
    echo "SKIP samples of the GPU: no CUPTI headers, so there is no collector library"
fi
exit $status
