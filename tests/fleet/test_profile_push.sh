#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_profile_push.sh: the recipes of docs/fleet.md for Pyroscope and Parca, run as they stand there, against a receiver
# that takes what their documentation says and nothing else. A format test: neither program is here.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="$PWD/${B:-build}/warpsight"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/profiles.XXXXXX")
pid=
trap 'kill $pid 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_DB="$scratch/db"
status=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(tail -c 400 "$scratch/log")"; status=1; fi; }

"$W" import tests/flow/h200-torch.wscap >/dev/null || exit 1
mkdir "$scratch/bin" && ln -s "$W" "$scratch/bin/warpsight"
python3 tests/fleet/profile_sinks.py "$scratch/port" "$scratch/taken" 2>"$scratch/log" & pid=$!
for _ in $(seq 100); do [ -s "$scratch/port" ] && break; sleep 0.05; done
url=http://127.0.0.1:$(cat "$scratch/port")
export PYROSCOPE=$url PARCA=$url PATH="$scratch/bin:$PATH"

# Each ```bash block of the page is one recipe.
awk -v to="$scratch/recipe." '/^```bash/ {n++; on = 1; next} /^```/ {on = 0} on {print > (to n)}' docs/fleet.md
[ "$(find "$scratch" -name 'recipe.*' | wc -l)" -eq 2 ] || { echo "FAIL docs/fleet.md has two recipes"; exit 1; }
for n in 1 2; do
    bash -euo pipefail "$scratch/recipe.$n" >"$scratch/log" 2>&1
    result $? "docs/fleet.md: $(grep -oE '\$(PYROSCOPE|PARCA)[^? "]*' "$scratch/recipe.$n") takes the profile"
done
report=$("$W" report --json)
time_ns=$(jq '[.kernels[].duration.total // 0] | add * 1e9 | round' <<<"$report")
launches=$(jq '[.kernels[].launches] | add' <<<"$report")
started=$(date +%s -d "$(jq -r .session.started <<<"$report")")
jq -se --argjson t "$time_ns" --argjson l "$launches" --argjson s "$started" --arg host "$(hostname)" '
    (.[0].name == "torch{node=" + $host + "}") and .[0].from == $s and .[0].values == {gpu_time: $t, launches: $l}' "$scratch/taken" >"$scratch/log" 2>&1
result $? "Pyroscope gets the report's time and launches, under the session's name and from its start"
jq -se --argjson t "$time_ns" --argjson l "$launches" --arg host "$(hostname)" '
    .[1].labels == {__name__: "warpsight", session: "torch", node: $host} and .[1].values.gpu_time == $t and .[1].values.launches == $l' "$scratch/taken" >"$scratch/log" 2>&1
result $? "Parca gets the same, with its labels"

# The receiver is no rubber stamp.
"$W" export --format pprof -o "$scratch/p.pb.gz" && gunzip <"$scratch/p.pb.gz" >"$scratch/p.pb"
refused() { # WHY CURL-ARGUMENT…
    local why=$1
    shift
    curl -s -o "$scratch/log" -w '%{http_code}' "$@" | grep -qx 400 && grep -q "$why" "$scratch/log"
}
q="$url/ingest?name=x&format=pprof&from=1&until=2"
config='sample_type_config={"gpu_time":{"units":"nanoseconds"}};filename=s.json'
refused "not gzip'd" -F "profile=@$scratch/p.pb" -F "$config" "$q" && refused "no file 'profile'" -F x=y "$q" &&
    refused "would be dropped" -F "profile=@$scratch/p.pb.gz" "$q" && refused "no type sectors" -F "profile=@$scratch/p.pb.gz" -F 'sample_type_config={"sectors":{}};filename=s' "$q" &&
    refused "in order" -F "profile=@$scratch/p.pb.gz" -F "$config" "$url/ingest?name=x&format=pprof" && refused "no label __name__" -H 'Content-Type: application/json' -d '{"series":[{"labels":{"labels":[]},"samples":[]}]}' "$url/profiles/writeraw"
result $? "what they would refuse is refused"
exit $status
