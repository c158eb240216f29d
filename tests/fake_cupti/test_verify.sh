#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_verify.sh: `warpsight kernels verify` without a session: everything that warpsight-kernels lists is run under the
# collector and judged. The kernels are those of the fake driver under a script in place of warpsight-kernels: what is
# tested is the way from the list to the verdicts. Known answers themselves need a GPU (tests/gpu) or a recorded session.
set -u
. "$(dirname "$0")/lib.sh" verify
seen() { echo "status $status; stdout: $(head -c 400 "$scratch/out"); stderr: $(head -c 600 "$scratch/err")"; }
mkdir "$scratch/bin"
cp "$B/warpsight" "$B/libwarpsight.so" "$B/libwarpsight-cupti.so" "$scratch/bin/"
ws=$scratch/bin/warpsight
verify() { "$ws" kernels verify "$@" >"$scratch/out" 2>"$scratch/err" </dev/null; status=$?; }

verify
check "without warpsight-kernels it says so in one line" $([ $status -eq 1 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q 'warpsight-kernels is not there' "$scratch/err"; echo $?)

cat >"$scratch/bin/warpsight-kernels" <<'SH'
#!/bin/sh
echo "warpsight-kernels: no CUDA GPU here" >&2
[ "$1" = list ] && exec echo '{"kernels":[]}'
exit 77
SH
chmod +x "$scratch/bin/warpsight-kernels"
verify
check "without a GPU it says so in one line, exit 1" $([ $status -eq 1 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q 'there is no GPU here' "$scratch/err" && [ ! -s "$scratch/out" ]; echo $?)
check "and records nothing" $([ ! -e "$scratch/db" ]; echo $?)

cat >"$scratch/bin/warpsight-kernels" <<SH
#!/bin/sh
echo "\$*" >>"$scratch/asked"
case \$1 in
list) echo '{"kernels":[{"id":"K01","name":"vec_add","kind":"kernel","variants":["vec_add"]},
 {"id":"H6","name":"launch_storm","kind":"program","variants":["launch_storm_direct","launch_storm_graph"]},
 {"id":"H1","name":"round_trip","kind":"program","variants":["round_trip_resident"]},
 {"id":"H8","name":"failing_calls","kind":"program","variants":["failing_calls_bad"]}]}' ;;
run) case \$2 in failing_calls_bad) exec "$PWD/$B/fake/fake_app" basic 3 ;; *) exec "$PWD/$B/fake/fake_app" basic 0 ;; esac ;;
*) exec "$PWD/$B/fake/fake_app" basic 0 ;;
esac
SH
verify
grep -v '^list' "$scratch/asked" | sed 1d >"$scratch/ran"
programs='launch_storm_direct launch_storm_graph round_trip_resident failing_calls_bad'
{ echo "all --repeat 4"; for p in $programs; do echo "run $p"; echo "run $p"; done; } | cmp -s - "$scratch/ran"
check "the kernels run once, each variant of a program on its own, traced and with counters" $?
"$ws" list sessions --json >"$scratch/sessions" 2>>"$scratch/err"
{ echo kernels-verify; for p in $programs; do echo "kernels-verify-$p"; echo "kernels-verify-$p-counters"; done; } | cmp -s - <(jq -r '.sessions | reverse | .[].name' "$scratch/sessions")
check "a session each" $?
sqlite3 "$WARPSIGHT_DB" "SELECT session.name || ' ' || settings FROM process JOIN session ON session.id = session_id" >"$scratch/settings" 2>>"$scratch/err"
grep -q '^kernels-verify .*full' "$scratch/settings" && grep -q '^kernels-verify-launch_storm_direct .*trace,api' "$scratch/settings" &&
    grep -q '^kernels-verify-launch_storm_direct-counters .*core,memory,throughput,api' "$scratch/settings"
check "kernels with every counter; programs traced, and again with counters" $?
grep -qE '^no launch +vec_add +expected fp32_add == 16777216 +measured no launch in this session' "$scratch/out" &&
    grep -qE '^(broken|unknown|holds) +launch_storm_direct +expected W30 fires' "$scratch/out"
check "every line has expected, measured and verdict" $?
grep -qE '^9 sessions: [0-9]+ expectations hold, [0-9]+ broken, [0-9]+ not judged$' "$scratch/out" && [ $status -eq 1 ]
check "the summary comes last, and what does not hold is exit 1" $?
verify kernels-verify-launch_storm_direct kernels-verify-launch_storm_graph --json
jq -e '(.sessions | length == 2) and (.sessions[0].lines | length > 0) and .scorecard.twins[0].rule == "W30" and .scorecard.twins[0].bad_time > 0' "$scratch/out" >/dev/null
check "recorded sessions of twin programs are held against each other" $?
exit $failed
