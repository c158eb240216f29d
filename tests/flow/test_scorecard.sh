#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_scorecard.sh: `warpsight kernels verify` on the recorded H200 session: what our advice promised on each bad twin
# against what the twins' times show, and Nsight Compute's estimates beside it (made up here, recorded in tests/gpu).
set -u
cd "$(dirname "$0")/../.." || exit 1
ws=$PWD/${B:-build}/warpsight
root=$PWD
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/scorecard-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/db WARPSIGHT_SPOOL=$scratch/spool
cd "$scratch" || exit 1
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2"; tail -n 20 log; fi; }
"$ws" import "$root/tests/flow/h200-kernels.wscap" >log 2>&1 && "$ws" kernels verify h200-kernels --json >card.json 2>>log &&
    "$ws" report h200-kernels --json >report.json 2>>log
result $? "recorded session is verified"

# twins FILES…: the twin lines of the kernels (programs have sessions of their own), one a line
cat "$root"/kernels/*.expect | awk '$1 == "id" { kernel = $2 ~ /^K/ } $1 == "twin" && kernel' >twins
python3 - >log 2>&1 <<'PY'
import json, statistics

card = json.load(open("card.json"))["scorecard"]
kernels = {k["name"].replace(" ", ""): k for k in json.load(open("report.json"))["kernels"]}
lines = [l.split() for l in open("twins")]
assert [(t["rule"], t["bad"], t["good"]) for t in card["twins"]] == [(l[1], l[3], l[5]) for l in lines] and len(lines) >= 30
errors = []
for t, l in zip(card["twins"], lines):
    work = float(l[7]) if len(l) > 6 else 1
    bad, good = kernels[t["bad"]], kernels[t["good"]]
    assert t["work"] == work and t["bad_time"] == bad["duration"]["mean"] and t["good_time"] == good["duration"]["mean"]
    assert abs(t["measured"] - (1 - t["good_time"] / work / t["bad_time"])) < 1e-12
    gains = [f["gain"] for f in bad["findings"] if f["rule"][:3] == t["rule"]]
    assert gains == [t["estimated"]], (t, gains)
    assert abs(t["error"] - abs(t["estimated"] - t["measured"])) < 1e-12 and "ncu" not in t
    errors.append(t["error"])
assert card["error"]["twins"] == len(errors) and abs(card["error"]["median"] - statistics.median(errors)) < 1e-12
assert card["error"]["median"] < 0.06, card["error"]
PY
result $? "each twin's estimate is its finding's, measured is what the times say, the median error below 6 points"

python3 - >log 2>&1 <<'PY'
import csv, json

titles = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
          "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"]
out = csv.writer(open("ncu.csv", "w", newline=""), quoting=csv.QUOTE_ALL)
open("ncu.csv", "w").write("==PROF== Connected to process 1\n")
with open("ncu.csv", "a", newline="") as f:
    out = csv.writer(f, quoting=csv.QUOTE_ALL, lineterminator="\n")
    out.writerow(titles)
    for i, k in enumerate(json.load(open("report.json"))["kernels"]):
        head = [i, 1, "app", "host", k["demangled"], 1, 7, "(%d, %d, %d)" % tuple(k["block"]), "(%d, %d, %d)" % tuple(k["grid"]), 0, "9.0"]
        out.writerow(head + ["Speed Of Light", "Duration", "us", "5", "", "", "", "", ""])
        if k["name"].startswith("diverge"):
            out.writerow(head + ["Section", "", "", "", "Only local", "OPT", "text", "local", "61"])
        else:
            out.writerow(head + ["Section", "", "", "", "Small", "OPT", 'a "text"\nof two lines', "global", "10"])
            out.writerow(head + ["Section", "", "", "", "Large", "OPT", "text", "global", "30"])
PY
gzip -k ncu.csv
"$ws" kernels verify h200-kernels --json --ncu ncu.csv >a.json 2>>log && "$ws" kernels verify h200-kernels --json --ncu ncu.csv.gz >b.json 2>>log &&
    cmp -s a.json b.json && python3 - >>log 2>&1 <<'PY'
import json, statistics

card = json.load(open("a.json"))["scorecard"]
for t in card["twins"]:
    local = t["bad"].startswith("diverge")
    assert (t["ncu"], t["ncu_rule"]) == ((None, "") if local else (0.3, "Large")), t
    assert (t["ncu_local"], t["ncu_local_rule"]) == ((0.61, "Only local") if local else (None, ""))
    assert t["ncu_error"] == (None if local else abs(0.3 - t["measured"]))
with_ncu = [t for t in card["twins"] if t["ncu"] is not None]
assert card["ncu_error"]["twins"] == len(with_ncu) < len(card["twins"])
assert abs(card["ncu_error"]["median"] - statistics.median(t["ncu_error"] for t in with_ncu)) < 1e-12
assert abs(card["error_where_ncu"]["median"] - statistics.median(t["error"] for t in with_ncu)) < 1e-12
PY
result $? "Nsight Compute's largest global estimate stands beside ours, a local one apart, from plain and packed files"
"$ws" kernels verify h200-kernels --ncu ncu.csv >out 2>>log && grep -qE '^W06 +diverge_parity .*\(local 61.0 %\) +- *$' out && grep -qE '^W05 +transpose_tile<32> .* 30.0 % ' out &&
    grep -qE '^our estimates: median absolute error [0-9.]+ points over [0-9]+ twins$' out && grep -q "^Nsight Compute's: median absolute error" out && tail -1 out | grep -q 'expectations hold'
result $? "the table says it, and the summary still comes last"
"$ws" kernels verify h200-kernels --ncu nothing.csv >out 2>log
[ $? -eq 1 ] && [ "$(wc -l <log)" -eq 1 ] && [ ! -s out ]
result $? "a file that is not there is one line"
"$ws" kernels verify h200-kernels --ncu card.json >out 2>log
[ $? -eq 1 ] && [ "$(wc -l <log)" -eq 1 ] && grep -q 'ncu --csv --page details' log
result $? "a file of something else is one line that says what is wanted"

# The real one, where it is recorded: ours must be at most half as wrong.
shopt -s nullglob
real=("$root"/tests/gpu/results/*ncu-details.csv*)
if [ ${#real[@]} -eq 0 ]; then
    echo "SKIP our median error is at most half of Nsight Compute's (its estimates are not recorded yet)"
else
    "$ws" kernels verify h200-kernels --json --ncu "${real[-1]}" >real.json 2>log &&
        jq -e '.scorecard | .ncu_error.twins >= 15 and .error.median * 2 <= .ncu_error.median and .error_where_ncu.median * 2 <= .ncu_error.median' real.json >>log 2>&1
    result $? "our median error is at most half of Nsight Compute's"
    # The committed table is what this program says of the recorded session and file: read the diff of `make golden`.
    golden=${real[-1]%-ncu-details.csv*}-scorecard.txt
    "$ws" kernels verify h200-kernels --ncu "${real[-1]}" 2>log | sed -n '/^Scorecard/,/^$/p' >table
    [ -z "${WS_WRITE_GOLDEN:-}" ] || cp table "$golden"
    diff "$golden" table >>log 2>&1
    result $? "the committed scorecard is the one this program makes"
fi
