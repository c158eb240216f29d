#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_push.sh: `warpsight push` into a real PostgreSQL (Debian's package, a server of our own in a scratch folder):
# many nodes at once, everything twice, one killed half-way: nothing double, nothing lost.
# The long form, of which docs/fleet.md has the figures: WS_NODES=10 WS_SESSIONS=1000 tests/fleet/test_push.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}" "${WS_NODES:=3}" "${WS_SESSIONS:=200}"
W="$PWD/$B/warpsight"
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
if [ -z "$bin" ] || ! command -v psql >/dev/null; then
    echo "SKIP push: no PostgreSQL server here (Debian: apt install postgresql)"
    exit 77
fi
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/push.XXXXXX")
pg=$(mktemp -d /tmp/wspg.XXXXXX) # short: the path of a socket is
# The server refuses to be root.
as() { if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
[ "$(id -u)" -ne 0 ] || chown postgres "$pg"
trap 'as "$bin/pg_ctl" -D "$pg/data" -m immediate stop >/dev/null 2>&1; rm -rf "$scratch" "$pg"' EXIT
status=0
ok() { echo "PASS $1"; }
bad() { echo "FAIL $1: $2"; status=1; }
(cd / && as "$bin/initdb" -D "$pg/data" -A trust -U ws --no-sync >/dev/null &&
    as "$bin/pg_ctl" -D "$pg/data" -o "-c listen_addresses= -k $pg -c fsync=off -c max_connections=30" -l "$pg/log" -w start >/dev/null) ||
    { bad "PostgreSQL starts" "$(tail -2 "$pg/log" 2>/dev/null)"; exit 1; }
url="postgres://ws@/postgres?host=$pg"
sql() { psql "$url" -qtA -c "$1"; }
export WARPSIGHT_SPOOL="$scratch/spool"

# node K: a database of WS_SESSIONS sessions, copies of one of three kernels with counters.
"$B/flow/make_capture" "$scratch/one.wscap" && WARPSIGHT_DB="$scratch/base" "$W" import "$scratch/one.wscap" >/dev/null || exit 1
node() {
    cp "$scratch/base" "$scratch/node-$1"
    sqlite3 "$scratch/node-$1" "
    CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $WS_SESSIONS) SELECT i FROM n;
    INSERT INTO session (id, token, name, source, exe, argv, host, exit_status, started_ns, ended_ns)
      SELECT i + 100, 'node-$1-' || i || '-\"{,}\\', 'run ' || i, source, exe, argv, 'node-$1', 0, started_ns + i, ended_ns + i FROM session, n;
    INSERT INTO process (id, session_id, agent_id, pid, warpsight) SELECT p.id + i * 100, i + 100, 'agent-$1-' || i, pid, warpsight FROM process p, n;
    CREATE TEMP TABLE d AS SELECT * FROM device, n;
    UPDATE d SET id = i * 100, session_id = i + 100;
    ALTER TABLE d DROP COLUMN i;
    INSERT INTO device SELECT * FROM d;
    CREATE TEMP TABLE k AS SELECT * FROM kernel, n;
    UPDATE k SET id = id + i * 100, session_id = i + 100, device_id = i * 100, total_ns = total_ns + i;
    ALTER TABLE k DROP COLUMN i;
    INSERT INTO kernel SELECT * FROM k;
    INSERT INTO profile (id, session_id, process_id, kernel_id, number, device_idx, context, correlation, ordinal, mode, passes, cost_ns)
      SELECT f.id + i * 100, i + 100, process_id + i * 100, kernel_id + i * 100, number, device_idx, context, correlation, ordinal, mode, passes, cost_ns FROM profile f, n;
    INSERT INTO metric SELECT profile_id + i * 100, key_id, value, why FROM metric, n;
    DELETE FROM session WHERE id < 100;"
}
for k in $(seq "$WS_NODES"); do node "$k" || exit 1; done
push() { WARPSIGHT_DB="$scratch/node-$1" "$W" push "$url" >"$scratch/out-$1" 2>"$scratch/err-$1"; }
# Every session that is there has all of its rows.
torn() { sql "SELECT count(*) FROM warpsight.session s WHERE (SELECT count(*) FROM warpsight.kernel k WHERE k.token = s.token) <> 3
    OR (SELECT count(*) FROM warpsight.metric m WHERE m.token = s.token) <> $metrics OR (SELECT count(*) FROM warpsight.device d WHERE d.token = s.token) <> 1"; }

WARPSIGHT_DB="$scratch/base" "$W" push "$url" >"$scratch/out" 2>"$scratch/err" && grep -q '^1 session added, 0 replaced, 0 there already; 3 kernels' "$scratch/out" &&
    ok "one session makes the tables and is there" || bad "one session makes the tables and is there" "$(cat "$scratch/out" "$scratch/err")"
metrics=$(sql "SELECT count(*) FROM warpsight.metric")
[ "$metrics" -gt 20 ] && [ "$(sql "SELECT name, launches, total_s FROM warpsight.top_kernels ORDER BY total_s DESC LIMIT 1")" = 'stride_read<2>|5|7.5e-05' ] &&
    ok "top kernels say what the report says" || bad "top kernels say what the report says" "$metrics: $(sql "SELECT * FROM warpsight.top_kernels")"
value=$(WARPSIGHT_DB="$scratch/base" "$W" report --json | jq '.kernels[] | select(.name == "stride_read<2>").metrics.gld_sectors_per_request.value')
[ "$(sql "SELECT value FROM warpsight.metric WHERE key = 'gld_sectors_per_request'")" = "$value" ] && ok "a metric is the report's" || bad "a metric is the report's" "$value"
[ "$(sql "SELECT count(*) FROM warpsight.kernel WHERE name LIKE '<script>%'")" = 1 ] && ok "a hostile name is only text" || bad "a hostile name is only text" "$(sql "SELECT name FROM warpsight.kernel")"

# Samples over time: the sums of the report; and tables of an older WarpSight get the one that they lack.
fake=$PWD/$B/fake
if [ -x "$fake/fake_app" ] && [ -f "$B/libwarpsight-cupti.so" ]; then
    sql "DROP TABLE warpsight.sample; DELETE FROM warpsight.schema_version; INSERT INTO warpsight.schema_version VALUES (1)"
    export WARPSIGHT_DB="$scratch/sampled"
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0" WARPSIGHT_CUPTI=$fake \
        "$W" run --timeline-start first --timeline-metrics sm_active,pcie_read "$fake/fake_app" long 2 >"$scratch/out" 2>"$scratch/err" && "$W" push "$url" >"$scratch/out" 2>"$scratch/err"
    want=$("$W" report --json | jq -r '.samples | (.series[0] | "\(.busy_samples) \(.metrics[0].busy.mean * 1e6 | round)"), (.kernels[0] | "\(.samples) \(.mean.sm_active * 1e6 | round)")' | tr '\n' ';')
    got=$(sql "SELECT samples || ' ' || round(mean * 1e6)::text FROM warpsight.sample WHERE key = 'sm_active' ORDER BY kernel" | tr '\n' ';')
    [ -n "$want" ] && [ "$want" = "$got" ] && [ "$(sql "SELECT count(*) FROM warpsight.sample WHERE unit = 'B/s'")" = 2 ] && ok "samples over time are the report's, also in older tables" || bad "samples over time are the report's, also in older tables" "$want, not $got $(cat "$scratch/err")"
    sql "DELETE FROM warpsight.session WHERE exe LIKE '%fake_app'"
    [ "$(sql "SELECT count(*) FROM warpsight.sample")" = 0 ] && ok "samples go with their session" || bad "samples go with their session" "$(sql "SELECT count(*) FROM warpsight.sample")"
    unset WARPSIGHT_DB
fi

# Node 1 is killed as soon as its first rows are there; the others go on at once.
push 1 & victim=$!
for _ in $(seq 400); do [ "$(sql "SELECT count(*) FROM warpsight.session WHERE node = 'node-1'")" -gt 0 ] && break; sleep 0.01; done
pkill -9 -f "^$W push" -P $victim 2>/dev/null || pkill -9 -P $victim 2>/dev/null
kill -9 $victim 2>/dev/null
wait $victim 2>/dev/null
half=$(sql "SELECT count(*) FROM warpsight.session WHERE node = 'node-1'")
[ "$half" -gt 0 ] && [ "$half" -lt "$WS_SESSIONS" ] && ok "a push is killed half-way" || bad "a push is killed half-way" "$half of $WS_SESSIONS are there"
[ "$(torn)" = 0 ] && ok "what it brought is whole" || bad "what it brought is whole" "$(torn) sessions are not"
from=$(date +%s%N)
for k in $(seq "$WS_NODES"); do push "$k" & done
push 2 # and one node twice at the same time
second=$?
wait
took=$((($(date +%s%N) - from) / 1000000))
[ $second -eq 0 ] && ok "the same node twice at once" || bad "the same node twice at once" "$(head -1 "$scratch/err-2")"
[ "$(sql "SELECT count(*) FROM warpsight.session")" -eq $((WS_NODES * WS_SESSIONS + 1)) ] && [ "$(torn)" = 0 ] &&
    [ "$(sql "SELECT count(DISTINCT node) FROM warpsight.session WHERE node LIKE 'node-%'")" -eq "$WS_NODES" ] &&
    ok "$WS_NODES nodes at once: every session once, and whole" || bad "$WS_NODES nodes at once: every session once, and whole" "$(sql "SELECT node, count(*) FROM warpsight.session GROUP BY 1")"
from=$(date +%s%N)
again=0
for k in $(seq "$WS_NODES"); do push "$k"; grep -q "^0 sessions added, 0 replaced, $WS_SESSIONS there already;" "$scratch/out-$k" || again=1; done
echo "figures: $WS_NODES nodes x $WS_SESSIONS sessions in $took ms, all again in $((($(date +%s%N) - from) / 1000000)) ms, $(sql "SELECT pg_database_size('postgres')") bytes" >&2
[ $again -eq 0 ] && ok "pushed again, nothing is sent" || bad "pushed again, nothing is sent" "$(cat "$scratch/out-1" "$scratch/err-1")"

# A session that changed takes its own place.
sqlite3 "$scratch/node-1" "UPDATE session SET note = 'after the fix' WHERE id = 101"
push 1 && grep -q "^0 sessions added, 1 replaced," "$scratch/out-1" && [ "$(sql "SELECT count(*) FROM warpsight.session WHERE note = 'after the fix'")" = 1 ] &&
    [ "$(torn)" = 0 ] && ok "a session that changed is replaced" || bad "a session that changed is replaced" "$(cat "$scratch/out-1" "$scratch/err-1")"
WARPSIGHT_DB="$scratch/node-1" "$W" push "$url" 'run 5' 'run 7' | grep -q '2 there already' && ok "only what is named is pushed" || bad "only what is named is pushed" ""

# --- every query of docs/fleet.md, the last one (which deletes) too ---
python3 - docs/fleet.md >"$scratch/queries" <<'PY'
import re, sys
for q in re.findall(r"```sql\n(.*?)```", open(sys.argv[1]).read(), re.S): print(" ".join(q.split()))
PY
sql "INSERT INTO warpsight.sample SELECT token, 0, 'GPU-0', 0, 'sm_active', 10, 0.2, 0, 1, '' FROM warpsight.session LIMIT 1"
sql "UPDATE warpsight.session SET started = now()"
sql "UPDATE warpsight.session SET started = now() - INTERVAL '1 year' WHERE note = 'after the fix'"
[ "$(wc -l <"$scratch/queries")" -ge 6 ] && while read -r q; do
    rows=$(sql "$q" 2>&1) && ! grep -q ERROR <<<"$rows" && case $q in DELETE*) true ;; *percent*0.5*) true ;; *) [ -n "$rows" ] ;; esac || { bad "query of docs/fleet.md" "$q: $rows"; continue; }
    ok "query of docs/fleet.md: ${q:0:50}"
done <"$scratch/queries"
[ "$(sql "SELECT count(*) FROM warpsight.session")" -eq $((WS_NODES * WS_SESSIONS)) ] && [ "$(torn)" = 0 ] &&
    [ "$(sql "SELECT count(*) FROM warpsight.metric m WHERE NOT EXISTS (SELECT 1 FROM warpsight.session s WHERE s.token = m.token)")" = 0 ] &&
    ok "what is deleted takes its rows along" || bad "what is deleted takes its rows along" "$(sql "SELECT count(*) FROM warpsight.session")"

# --- what cannot be done is said in one line ---
refused() { # NAME STATUS WORDS ARGUMENTS…
    local name=$1 want=$2 words=$3
    shift 3
    WARPSIGHT_DB="$scratch/node-1" "$W" push "$@" >"$scratch/out" 2>"$scratch/err"
    local got=$?
    [ $got -eq "$want" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q -- "$words" "$scratch/err" && ok "$name" || bad "$name" "exit status $got, $(head -2 "$scratch/err")"
}
refused "no target is refused" 2 "say where to"
refused "a target that is no URL is refused" 2 "a URL like" database.example
refused "a server that is not there" 1 "cannot connect" "postgres://ws@127.0.0.1:1/postgres"
refused "a database that does not exist" 1 "cannot connect.*nowhere" "postgres://ws@/nowhere?host=$pg"
refused "a session that does not exist" 1 "no session 'run 0'" "$url" "run 0"
sql "CREATE ROLE guest LOGIN" >/dev/null
refused "a user without rights" 1 "the database refuses: .*permission denied" "postgres://guest@/postgres?host=$pg"
WARPSIGHT_DB="$scratch/node-1" "$W" push "postgres://ws:s3cret@127.0.0.1:1/postgres" 2>&1 | grep -q s3cret && bad "a password is not shown" "it is" || ok "a password is not shown"
exit $status
