#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_commands.sh: import, list, report, export as a person types them: output, exit codes, one-line errors.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
B="${B:-build}"
W="$PWD/$B/warpsight"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/commands.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool"
"$B/flow/make_capture" "$scratch/a.wscap" || { echo "FAIL no capture could be made"; exit 1; }
cd "$scratch" || exit 1
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }

# exits CODE NAME COMMAND…: the exit code, and for 1 and 2 exactly one line on stderr and nothing on stdout.
exits() {
    local want=$1 name=$2 code
    shift 2
    "$@" >out 2>err
    code=$?
    if [ $code -ne "$want" ]; then
        bad "$name" "exit $code, wanted $want: $(head -c 300 err)"
    elif [ "$want" -ne 0 ] && { [ "$(wc -l <err)" -ne 1 ] || [ -s out ]; }; then
        bad "$name" "not one line of complaint: $(head -c 300 out err)"
    else
        ok "$name"
    fi
}
# says TEXT NAME: the last command's output holds it.
says() { if grep -qF -- "$1" out err; then ok "$2"; else bad "$2" "no '$1' in: $(head -c 400 out err)"; fi; }
# is FILTER NAME: a jq claim about the last command's stdout.
is() { if jq -e "$1" out >/dev/null 2>jq.err; then ok "$2"; else bad "$2" "not true: $1 $(head -1 jq.err)"; fi; }

# --- usage ---
exits 2 "no command is a usage error" "$W"
exits 2 "an unknown command is a usage error" "$W" reprot
says "'report'" "an unknown command names the nearest"
exits 0 "--help" "$W" --help
exits 0 "--version" "$W" --version
for command in report export import list; do
    exits 0 "$command --help" "$W" $command --help
    exits 2 "$command refuses an unknown option" "$W" $command --frobnicate
    says "warpsight $command: unknown option --frobnicate (try --help)" "$command says which option"
done
exits 2 "import wants a file" "$W" import
exits 2 "list wants a list" "$W" list
exits 2 "list refuses an unknown list" "$W" list nonsense
exits 2 "report takes one session" "$W" report 1 2
exits 2 "report is JSON or CSV" "$W" report --json --csv
exits 2 "report refuses an unknown sort key" "$W" report --sort nonsense
exits 2 "report refuses --top 0" "$W" report --top 0
exits 2 "export wants a format" "$W" export
exits 2 "export refuses an unknown format" "$W" export --format nonsense
says "csv, json, markdown, chrome-trace, pprof, capture, sqlite" "export lists the formats it knows"
exits 2 "export to sqlite wants a file" "$W" export --format sqlite

# --- nothing there ---
exits 1 "report of an empty database says what to do" "$W" report
says "warpsight run" "and names the command"
exits 0 "list of an empty database" "$W" list sessions --json
is '.sessions == []' "an empty list of sessions"
[ ! -e db ] && ok "reading makes no database" || bad "reading makes no database" "it is there"

# --- import ---
exits 0 "import" "$W" import a.wscap
says "session 1" "import names the session"
exits 0 "the same capture again is no error" "$W" import a.wscap
says "already imported as session 1" "and says that it is known"
exits 0 "list sessions" "$W" list sessions --json
is '.sessions | length == 1' "the same capture again is no second session"
is '.sessions[0] | .id == 1 and .name == "tuesday" and .source == "synthetic" and .kernels == 3 and .launches == 7' "a session in the list"
exits 1 "a file that is no capture" "$W" import "$W"
exits 1 "a missing file" "$W" import nothing.wscap
head -c 900 a.wscap >cut.wscap
WARPSIGHT_DB=cut.db exits 0 "a truncated capture" env WARPSIGHT_DB=cut.db "$W" import cut.wscap
says "lost" "a truncated capture says what was lost"
head -c 100 a.wscap >tiny.wscap
exits 1 "a capture without one whole frame" "$W" import tiny.wscap
"$W" import nothing.wscap a.wscap >out 2>err
[ $? -eq 1 ] && grep -q 'already imported' out && ok "one bad file does not keep the others out" || bad "one bad file does not keep the others out" "$(cat out err)"

# --- report ---
exits 0 "report" "$W" report
says "stride_read<2>" "the report shows the alias"
says "8.00 sectors/request, ideal 4.00" "the report shows sectors per request beside the ideal"
says "synthetic" "the report says where its numbers come from"
if grep -q $'\033' out; then bad "no escape reaches a pipe" "it does"; else ok "no escape reaches a pipe"; fi
exits 0 "report by id" "$W" report 1
exits 0 "report by name" "$W" report tuesday
exits 1 "an unknown session" "$W" report wednesday
says "'tuesday'" "an unknown session names the nearest"
exits 1 "an unknown id" "$W" report 99
exits 0 "report --json" "$W" report --json
is '["devices","findings","kernels","session","warnings","warpsight"] - keys == []' "the top of the JSON"
is '.kernels | length == 3' "every kernel is in the JSON"
is '.kernels[0].metrics.gld_sectors_per_request == {"value": 8, "unit": "sector/request"}' "a derived metric"
is '.kernels[0].metrics["smsp__custom.sum"].value == 1/3' "a metric outside of the catalogue reads back exactly"
is '.kernels[0].duration.mean == 1.5e-05 and .kernels[0].duration.origin == "activity"' "time by the activity trace"
is '.kernels[] | select(.mangled == "_Z4copyPKfPf") | .duration.mean == null and .duration.why != null' "no time is null with a reason"
is '[.kernels[].metrics[] | (.value == null) == (.why != null)] | all' "every metric has a number or a reason"
is '.kernels[] | select(.mangled | startswith("<script>")) | .mangled == "<script>alert(1)</script>\"\u001b[31m"' "a hostile name is kept whole"
exits 0 "report --json -o" "$W" report --json -o out.json
cmp -s out.json <("$W" report --json) && ok "-o writes what stdout would get" || bad "-o writes what stdout would get" "differs"
exits 1 "-o into a folder that is not there" "$W" report -o no/where
exits 0 "report -k" "$W" report -k stride_read --json
is '.kernels | length == 1' "-k keeps one kernel"
exits 0 "report -k regex" "$W" report -k 'regex:^_Z' --json
is '.kernels | length == 2' "-k regex: keeps what fits"
exits 1 "-k without a hit" "$W" report -k strid
says "'stride_read'" "-k without a hit names the nearest"
exits 1 "-k without a hit, template arguments given" "$W" report -k 'stride_read<3>'
says "'stride_read<2>'" "names the nearest with its arguments"
"$W" report -k 'stride_read<2>' --json >one.json
hash=$(jq -r '.kernels[0].hash' one.json)
mangled=$(jq -r '.kernels[0].mangled' one.json)
demangled=$(jq -r '.kernels[0].demangled' one.json)
for name in "$hash" "$mangled" "$demangled" "${demangled// /}" 'stride_read< 2 >'; do
    exits 0 "report -k '$name'" "$W" report -k "$name" --json
    cmp -s out one.json && ok "-k takes that name" || bad "-k takes that name" "$name"
done
exits 2 "-k with a wrong expression" "$W" report -k 'regex:('
exits 0 "report --top" "$W" report --top 1 --sort gld_sectors --json
is '.kernels | length == 1 and .[0].name == "stride_read<2>"' "--top after --sort"
exits 0 "report --csv" "$W" report --csv
says '"gld_sectors_per_request",8,sector/request' "a line of CSV"
"$W" report --json >/dev/full 2>err
[ $? -eq 1 ] && ok "a full disk is an error" || bad "a full disk is an error" "$(cat err)"

# --- export ---
for format in csv json markdown chrome-trace pprof capture roofline-svg; do
    "$W" export --format $format >/dev/full 2>err
    [ $? -eq 1 ] && [ "$(cat err)" = "warpsight export: cannot write to stdout: No space left on device" ] &&
        ok "export of $format to a full disk says so in one line" || bad "export of $format to a full disk says so in one line" "$(cat err)"
    "$W" export --format $format -o /dev/full 2>err
    [ $? -eq 1 ] && [ "$(cat err)" = "warpsight export: cannot write /dev/full: No space left on device" ] &&
        ok "and so does -o with $format" || bad "and so does -o with $format" "$(cat err)"
done
mkdir whole
WARPSIGHT_DB=$PWD/whole.db "$W" import "$top/tests/flow/h200-kernels.wscap" >/dev/null
echo old >whole/file
(trap '' XFSZ; ulimit -f 40; export WARPSIGHT_DB=$PWD/whole.db; exec "$W" export h200-kernels --format json -o whole/file) 2>err
[ $? -eq 1 ] && [ "$(cat whole/file)" = old ] && [ "$(ls whole)" = file ] && [ "$(cat err)" = "warpsight export: cannot write whole/file: File too large" ] &&
    ok "an export that fails half-way leaves the old file" || bad "an export that fails half-way leaves the old file" "$(cat err); $(ls whole)"
for i in 1 2 3 4 5 6; do "$W" export --format $([ $((i % 2)) -eq 0 ] && echo json || echo markdown) -o whole/file & done
wait
"$W" export --format json >whole.json && "$W" export --format markdown >whole.md
{ cmp -s whole/file whole.json || cmp -s whole/file whole.md; } && [ "$(ls whole)" = file ] &&
    ok "six exports at once to one file leave a whole one" || bad "six exports at once to one file leave a whole one" "$(ls whole)"
ln -s whole/file link && "$W" export --format csv -o link && [ -L link ] && cmp -s whole/file <("$W" export --format csv) &&
    ok "a link is followed" || bad "a link is followed" "$(ls -l link)"
printf x >$'odd\nname\e[31m'
"$W" import $'odd\nname\e[31m' 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^warpsight import: odd?name?\[31m: ' err &&
    ok "a name with a line end and an escape is quoted in one line" || bad "a name with a line end and an escape is quoted in one line" "$(cat -v err)"
mkfifo pipe
"$W" export --format sqlite -o pipe 2>err
[ $? -eq 1 ] && [ -p pipe ] && [ "$(cat err)" = "warpsight export: cannot write pipe: it is no plain file" ] &&
    ok "an exported database replaces no pipe and no device" || bad "an exported database replaces no pipe and no device" "$(cat err)"
"$W" export --format sqlite -o nowhere/e.sqlite 2>err
[ $? -eq 1 ] && [ ! -e nowhere ] && [ "$(cat err)" = "warpsight export: cannot write nowhere/e.sqlite: No such file or directory" ] &&
    ok "and makes no folder" || bad "and makes no folder" "$(cat err)"
for format in csv json capture sqlite; do
    exits 0 "export $format" "$W" export --format $format -o "e.$format"
done
cmp -s e.json out.json && ok "export json is report --json" || bad "export json is report --json" "differs"
exits 0 "an exported capture imports" env WARPSIGHT_DB=e.db "$W" import e.capture
cmp -s out.json <(WARPSIGHT_DB=e.db "$W" report --json) && ok "and has the same report" || bad "and has the same report" "$(diff out.json <(WARPSIGHT_DB=e.db "$W" report --json) | head -5)"
cmp -s out.json <(WARPSIGHT_DB=e.sqlite "$W" report --json) && ok "an exported database has the same report" || bad "an exported database has the same report" "differs"
exits 1 "export of a session that is not there" "$W" export 9 --format csv
"$W" export --format capture | cmp -s - e.capture && ok "a capture through a pipe" || bad "a capture through a pipe" "differs"
[ "$(stat -c %a db)" = 600 ] && ok "the database is for its owner only" || bad "the database is for its owner only" "$(stat -c %a db)"

# --- the spool ---
"$OLDPWD/$B/flow/make_capture" s.wscap spooled
mkdir -p -m 700 spool spool/spooled
agent=$(od -An -tx1 -j16 -N16 s.wscap | tr -d ' \n')
mkdir -m 700 "spool/spooled/$agent"
head -c "$(grep -abo 'WSSEGM' s.wscap | sed -n 2p | cut -d: -f1)" s.wscap >"spool/spooled/$agent/00000000.done"
exits 0 "a reading command takes finished spools" "$W" list sessions --json
is '.sessions | length == 2 and .[0].id == 2' "a spooled session is listed"
[ ! -e spool/spooled ] && ok "a taken spool is gone" || bad "a taken spool is gone" "$(find spool)"
exits 0 "the newest session is taken" "$W" report --json
is '.session.id == 2' "the newest session by default"

# --- broken databases ---
cp db good.db
printf 'this is not a database, whatever its name says. %.0s' $(seq 200) >db
rm -f db-wal db-shm
sum=$(md5sum db)
exits 1 "a reading command on garbage" "$W" report
[ "$(md5sum db)" = "$sum" ] && ok "it leaves the garbage alone" || bad "it leaves the garbage alone" "changed"
"$W" import a.wscap >out 2>err
[ $? -eq 0 ] && ls db.corrupt-* >/dev/null 2>&1 && ok "import moves it aside" || bad "import moves it aside" "$(ls)"
says "damaged" "and says so"
exits 0 "and works" "$W" report --json
cp good.db newer.db
sqlite3 newer.db 'PRAGMA user_version = 99' 2>/dev/null
exits 1 "a database of a newer version" env WARPSIGHT_DB=newer.db "$W" report
says "newer WarpSight" "says so"
exits 1 "a newer database is not written" env WARPSIGHT_DB=newer.db "$W" import a.wscap
exits 1 "a database that is a folder" env WARPSIGHT_DB="$scratch" "$W" report
exits 1 "a database under a file" env WARPSIGHT_DB="$scratch/a.wscap/db" "$W" report
mkdir -m 777 spool-of-all && chmod 777 spool-of-all
WARPSIGHT_SPOOL=$scratch/spool-of-all "$W" list sessions >out 2>err && grep -q 'is not taken: .*everybody may write' err && ok "a spool that everybody may write is not taken, and that is said" ||
    bad "a spool that everybody may write is not taken, and that is said" "$(head -2 err)"
exits 1 "a damaged database keeps the spool out" bash -c "mkdir -p -m 700 spool2/t/$agent && chmod 700 spool2 spool2/t && cp $scratch/s.wscap spool2/t/$agent/00000000.done && head -c 3000 /dev/urandom >bad.db && WARPSIGHT_SPOOL=$scratch/spool2 WARPSIGHT_DB=$scratch/bad.db $W list sessions"
[ -e "spool2/t/$agent/00000000.done" ] && ok "and the spool is still there" || bad "and the spool is still there" "gone"
exit $status
