#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_pprof.sh: Go's own pprof (Debian's package golang-go) opens our profiles: tables, raw samples, lines of source and
# the page with the flame graph, each with the report's numbers.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="$PWD/${B:-build}/warpsight"
if ! command -v go >/dev/null || ! [ -x "$(go env GOTOOLDIR 2>/dev/null)/pprof" ]; then
    echo "SKIP go tool pprof: no Go here (Debian: apt install golang-go)"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/pprof.XXXXXX")
pid=
trap 'kill $pid 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool" PPROF_TMPDIR="$scratch" HOME="$scratch"
pprof="$(go env GOTOOLDIR)/pprof"
status=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(tail -c 400 "$scratch/log")"; status=1; fi; }

"$W" import tests/flow/h200-torch.wscap >/dev/null || exit 1
"$W" report --json >"$scratch/report.json"
"$W" export --format pprof -o "$scratch/torch.pb.gz" || exit 1
# name, launches, nanoseconds; launches of one name add up
jq -r '.kernels | group_by(.name)[] | [.[0].name, (map(.launches) | add), (map(.duration.total // 0) | add * 1e9 | round)] | @tsv' "$scratch/report.json" | sort >"$scratch/want"

# The table of one sample type: name, value; lines look like "  6804471ns 90.88% 90.88%  6804471ns 90.88%  NAME".
top() { "$pprof" -top -nodefraction=0 -unit="$2" -sample_index="$1" "$scratch/torch.pb.gz" 2>"$scratch/log" | awk -v OFS='\t' 'on && $1 + 0 > 0 { value = $1; sub(/[a-z]+$/, "", value); $1 = $2 = $3 = $4 = $5 = ""; sub(/^\t+/, ""); gsub(/\t/, " "); print $0 "\t" value } /flat%/ { on = 1 }' | sort; }
top launches count >"$scratch/top.launches" && cut -f 1,2 "$scratch/want" | diff - "$scratch/top.launches" >"$scratch/log" 2>&1
result $? "-top of launches is the report's"
top gpu_time ns >"$scratch/top.time" && cut -f 1,3 "$scratch/want" | diff - "$scratch/top.time" >"$scratch/log" 2>&1
result $? "-top of gpu_time is the report's, to the nanosecond"
"$pprof" -raw "$scratch/torch.pb.gz" >"$scratch/raw" 2>"$scratch/log" && grep -q 'gpu_time/nanoseconds\[dflt\]' "$scratch/raw" && grep -qE '^1: 0x0/0x0/0x0 .*/python3\.12  \[FN\]$' "$scratch/raw" &&
    [ "$(sed -n '/^Samples:/,/^Locations/p' "$scratch/raw" | grep -c 'grid:\[.*x.*x')" -eq "$(jq '.kernels | length' "$scratch/report.json")" ]
result $? "-raw has a sample with its grid for each signature, time as the default, the program as the mapping"

# --- lines of source: the model tells what each did ---
WARPSIGHT_DB="$scratch/lines" "$W" kernels model gemv >/dev/null 2>"$scratch/log" && WARPSIGHT_DB="$scratch/lines" "$W" export --format pprof -o "$scratch/lines.pb.gz" 2>"$scratch/log"
"$pprof" -top -lines -nodefraction=0 -unit=count -sample_index=sectors "$scratch/lines.pb.gz" >"$scratch/log" 2>&1
got=$(awk 'on && $1 > 0 { n = split($NF, part, "/"); sum[part[n]] += $1 } /flat%/ { on = 1 } END { for (at in sum) print at, sum[at] }' "$scratch/log" | sort)
want=$(sqlite3 -separator ' ' "$scratch/lines" "SELECT t.text || ':' || line, sum(sectors) FROM instruction JOIN text t ON t.id = file_id WHERE sectors > 0 GROUP BY 1" 2>>"$scratch/log" | sed -E 's#^[^ ]*/##' | sort)
[ -n "$want" ] && [ "$got" = "$want" ]
result $? "-lines has the sectors of each line, as the database has them ($(wc -l <<<"$want") lines)"

# --- PC samples: a program on the fake CUPTI, whose samples are known ---
fake="$PWD/${B:-build}/fake"
if [ ! -x "$fake/fake_app" ]; then
    echo "SKIP stalls by line: no CUPTI headers, so there is no collector library"
else
    (
        export WARPSIGHT_DB="$scratch/sampled" WARPSIGHT_CUPTI="$fake" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0"
        "$W" run --stalls pc --name sampled "$fake/fake_app" basic >/dev/null 2>"$scratch/log"
        "$W" export sampled --format pprof -o "$scratch/sampled.pb.gz" 2>>"$scratch/log"
    )
    "$pprof" -top -lines -nodefraction=0 -unit=count -sample_index=pc_samples -tagfocus='stall=^short_scoreboard$' "$scratch/sampled.pb.gz" >"$scratch/log" 2>&1
    awk 'on && $NF ~ /sampled.cu:19$/ && $1 == 200 { found = 1 } /flat%/ { on = 1 } END { exit !found }' "$scratch/log"
    result $? "stall samples of one reason, by line of source"
    "$pprof" -tags -unit=count -sample_index=pc_samples "$scratch/sampled.pb.gz" >"$scratch/log" 2>&1 && grep -q '^ stall: Total 585' "$scratch/log" && grep -qE '^ *200\.0 .*: short_scoreboard$' "$scratch/log"
    result $? "-tags lists the reasons"
fi

# --- the flame graph of its own page ---
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$pprof" -http="127.0.0.1:$port" -no_browser "$scratch/torch.pb.gz" >"$scratch/log" 2>&1 </dev/null & pid=$!
for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/ui/flamegraph" -o "$scratch/page" && break; sleep 0.1; done
python3 - "$scratch/page" "$scratch/want" <<'PY' >"$scratch/log" 2>&1
import json, re, sys
page = open(sys.argv[1]).read()
root = json.loads(json.loads(re.search(r'var data = JSON\.parse\(("(?:[^"\\]|\\.)*")\)', page).group(1)))
want = {name: int(ns) for name, _, ns in (line.rstrip("\n").split("\t") for line in open(sys.argv[2]))}
(program,) = root["c"]
assert program["n"] == "python3.12" and program["v"] == root["v"] == sum(want.values()), (program["n"], program["v"])
assert {c["n"]: c["v"] for c in program["c"]} == want, program["c"]
PY
result $? "the flame graph of its page: the program, over it every kernel as wide as its time"
exit $status
