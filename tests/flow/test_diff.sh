#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_diff.sh: `warpsight diff` as a build would use it: forms, conditions, exit statuses, wrong command lines.
# Pairs, noise and conditions themselves: tests/unit/test_compare.c, test_spread.c.
set -u
cd "$(dirname "$0")/../.." || exit 1
W="${B:-build}/warpsight"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/diff.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool" WARPSIGHT_DB="$scratch/db"
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }
# exits STATUS NAME ARGUMENTS…: stdout and stderr in $scratch/out and err
exits() {
    local want=$1 name=$2
    shift 2
    "$W" "$@" >"$scratch/out" 2>"$scratch/err"
    local got=$?
    [ $got -eq "$want" ] && ok "$name" || bad "$name" "exit status $got: $(head -2 "$scratch/err" | tr '\n' ' ')"
}
# refused NAME WORDS ARGUMENTS…: exit status 2, nothing on stdout, one line with these words
refused() {
    local name=$1 words=$2
    shift 2
    exits 2 "$name is refused" diff "$@"
    [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q -- "$words" "$scratch/err" ||
        bad "$name says why" "$(head -c 300 "$scratch/err")"
}

exits 2 "an empty database is trouble, not a difference" diff 1
"$W" import tests/flow/h200-kernels.wscap >/dev/null || exit 1
"$W" import tests/flow/h200-graph.wscap >/dev/null || exit 1
# The same session again, one kernel half as fast, one with more sectors, one under another name.
"$W" export h200-kernels --format sqlite -o "$scratch/one" && sqlite3 "$scratch/one" "
UPDATE session SET token = 'second', name = 'second', started_ns = started_ns + 1000000000;
UPDATE process SET agent_id = 'cccccccccccccccccccccccccccccccc';
UPDATE metric SET value = value * 2 WHERE key_id = (SELECT id FROM metric_key WHERE key = 'duration') AND profile_id IN
  (SELECT p.id FROM profile p JOIN kernel k ON k.id = p.kernel_id WHERE k.mangled LIKE '%matmul_naive%');
UPDATE metric SET value = value + 8 WHERE key_id = (SELECT id FROM metric_key WHERE key = 'gld_sectors') AND profile_id IN
  (SELECT p.id FROM profile p JOIN kernel k ON k.id = p.kernel_id WHERE k.mangled LIKE '%vec_add%');
UPDATE kernel SET mangled = '_Z7renamedPf' WHERE mangled LIKE '%sfu_sin%';" || exit 1
WARPSIGHT_DB="$scratch/one" "$W" export second --format capture -o "$scratch/second.wscap" &&
    "$W" import "$scratch/second.wscap" >/dev/null || exit 1

exits 0 "a session does not differ from itself" diff h200-kernels h200-kernels --fail-on 'duration > 0, gld_sectors > 0, findings > 0, launches > 0'
grep -q '^0 kernels changed, 94 did not$' "$scratch/out" && grep -q '^gate: passed$' "$scratch/out" &&
    ok "and says so" || bad "and says so" "$(head -5 "$scratch/out")"
exits 0 "without a condition a difference is no failure" diff h200-kernels second
grep -q '^only in base$' "$scratch/out" && grep -q 'sfu_sin' "$scratch/out" && ok "a kernel that is gone is named" ||
    bad "a kernel that is gone is named" "$(tail -5 "$scratch/out")"
exits 1 "a slower kernel fails a build" diff h200-kernels second --fail-on 'duration > 5%'
[ "$(grep -c '^fail ' "$scratch/out")" -eq 1 ] && grep -q '^fail .*+100.0 %.*matmul_naive' "$scratch/out" &&
    ok "the table names it alone" || bad "the table names it alone" "$(grep '^fail' "$scratch/out" | head -3)"
exits 1 "one more sector fails a build" diff h200-kernels second --fail-on 'gld_sectors > 0'
grep -q '^fail .*vec_add' "$scratch/out" && ok "its kernel is named" || bad "its kernel is named" "$(tail -5 "$scratch/out")"
exits 0 "the other direction passes" diff second h200-kernels --fail-on 'duration > 5%, gld_sectors > 0'
exits 1 "a condition that no kernel has the values for fails" diff graph graph --fail-on 'gld_sectors > 0'
exits 0 "only the kernels that --kernel names are judged" diff h200-kernels second -k transpose_tile --fail-on 'duration > 5%'

"$W" diff h200-kernels second --fail-on 'duration > 5%' --json >"$scratch/json"
[ $? -eq 1 ] && jq -e '.gate.failed == 1 and (.kernels | length) == 95 and .base.name == "h200-kernels" and
    ([.kernels[] | select(.gate[]?.result == "fail")] | length == 1 and .[0].function == "matmul_naive"
      and .[0].duration.percent == 1 and .[0].duration.noise == null) and
    ([.kernels[] | select(.target == null)] | map(.function) | unique == ["sfu_sin"])' "$scratch/json" >/dev/null &&
    ok "JSON tells the same" || bad "JSON tells the same" "$(jq -c .gate "$scratch/json")"
exits 1 "Markdown has the tables" diff h200-kernels second --fail-on 'duration > 5%' --markdown -o "$scratch/pr.md"
awk -F'|' '/^\|/ { n[NF]++ } END { exit !(n[10] >= 3 && n[9] >= 3) }' "$scratch/pr.md" && [ ! -s "$scratch/out" ] &&
    ok "each row of a table has all its cells" || bad "each row of a table has all its cells" "$(head -c 300 "$scratch/pr.md")"

# --- baselines ---
exits 0 "no baseline yet is no error" baseline list
exits 0 "a baseline is set" baseline set main h200-kernels
exits 0 "another one is the newest session" baseline set feature/x
exits 1 "a baseline is a session's name everywhere" diff main feature/x --fail-on 'duration > 5%'
exits 0 "also for report" report main --top 1
"$W" baseline list --json | jq -e '.baselines | map([.name, .session_name]) == [["feature/x", "second"], ["main", "h200-kernels"]]' >/dev/null &&
    ok "list names both" || bad "list names both" "$("$W" baseline list)"
exits 0 "set anew it moves" baseline set main second
exits 0 "and is the other session" diff main feature/x --fail-on 'duration > 0, duration < 0'
exits 0 "removed" baseline remove feature/x
exits 1 "removed twice is an error" baseline remove feature/x
grep -q "no baseline 'feature/x'" "$scratch/err" && ok "that says so" || bad "that says so" "$(cat "$scratch/err")"
for i in 1 2 3 4 5 6 7 8; do "$W" baseline set "at-once-$i" h200-kernels >/dev/null & done
wait
[ "$("$W" baseline list --json | jq '.baselines | length')" -eq 9 ] && ok "eight at once all count" || bad "eight at once all count" "$("$W" baseline list)"
[ "$(stat -c %a "$WARPSIGHT_DB.baselines")" = 600 ] && ok "only the user reads them" || bad "only the user reads them" "$(ls -l "$WARPSIGHT_DB".base*)"
sqlite3 "$WARPSIGHT_DB" "DELETE FROM session WHERE name = 'second'"
exits 1 "the session of a baseline is deleted" report main
grep -q "session of baseline 'main' was deleted" "$scratch/err" && ok "and says it" || bad "and says it" "$(cat "$scratch/err")"
for words in "" "set" "list now" "set 12 1" "set 'a b'" "remove" "rename a b" "set a 1 2"; do
    eval "\"$W\" baseline $words" >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && ok "baseline $words is refused in one line" || bad "baseline $words is refused in one line" "$(head -3 "$scratch/err")"
done
printf 'main\n' >"$WARPSIGHT_DB.baselines"
exits 0 "damaged baselines keep nobody from a session" report h200-kernels --top 1
exits 2 "a name that only they could know says so" diff main
grep -q 'cannot read .*baselines: corrupt' "$scratch/err" && ok "with the file" || bad "with the file" "$(cat "$scratch/err")"
exits 1 "nor are they overwritten" baseline set main h200-kernels
[ "$(cat "$WARPSIGHT_DB.baselines")" = main ] && ok "by nobody" || bad "by nobody" "$(cat "$WARPSIGHT_DB.baselines")"
rm "$WARPSIGHT_DB.baselines"

refused "no session" "BASE" --json
refused "a third session" "one too many" 1 2 3
refused "a session that does not exist" "nearest names are 'h200-kernels'" h200-kernel
refused "a condition without a number" "needs a number" 1 2 --fail-on 'duration > much'
refused "a condition of no metric" "unknown key 'speed'" 1 2 --fail-on 'speed < 0'
refused "a kernel that does not exist" "no kernel fits 'transpos'" 1 1 -k transpos
refused "two forms at once" "one of --json and --markdown" 1 1 --json --markdown
refused "a folder that does not exist" "cannot write" 1 1 -o "$scratch/none/x"
if [ -w /dev/full ]; then
    "$W" diff 1 1 -o /dev/full >/dev/null 2>"$scratch/err"
    [ $? -eq 2 ] && grep -q 'cannot write' "$scratch/err" && ok "a full disk is trouble" || bad "a full disk is trouble" "$(cat "$scratch/err")"
fi
exit $status
