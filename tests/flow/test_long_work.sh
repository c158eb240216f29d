#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_long_work.sh: long work tells how far it is on a terminal (a pseudo-terminal here), wipes that line when it ends, and
# writes nothing of it into a pipe. The text and the pace of the line: tests/unit/test_progress.c.
set -u
cd "$(dirname "$0")/../.." || exit 1
B="${B:-build}"
W="$PWD/$B/warpsight"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/progress.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_SPOOL="$scratch/spool"
status=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 600 "$scratch/log" | cat -v)"; status=1; fi; }

# on_terminal DB COMMAND…: stderr is a terminal 80 columns wide; what it got is on stdout, the command's own stdout in out
on_terminal() {
    WARPSIGHT_DB="$scratch/$1" python3 - "$scratch/out" "${@:2}" <<'PY'
import fcntl, os, pty, struct, subprocess, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
with open(sys.argv[1], "wb") as out:
    child = subprocess.Popen(sys.argv[2:], stdout=out, stderr=slave, env=dict(os.environ, TERM="xterm"))
os.close(slave)
seen = b""
while True:
    try:
        part = os.read(master, 65536)
    except OSError: # the terminal's other side is closed
        break
    if not part:
        break
    seen += part
sys.stdout.buffer.write(seen)
sys.exit(child.wait())
PY
}
# shows PATTERN NAME: the terminal had such a line, none wider than it, and the last thing done to it was to wipe it
shows() {
    python3 - "$scratch/seen" "$1" <<'PY' >"$scratch/log" 2>&1
import re, sys
lines = open(sys.argv[1], encoding="utf-8", newline="").read().split("\r\x1b[K")
assert lines[0] == "" and lines[-1] == "", lines
lines = [line for line in lines if line]
assert lines, "no line"
assert all(re.fullmatch(sys.argv[2], line) for line in lines), lines
assert max(map(len, lines)) < 80, lines
PY
    result $? "$2"
}
n=1200000 # work of less than a fifth of a second shows no line
"$B/flow/make_capture" "$scratch/long.wscap" --launches $n || exit 1
size='[0-9.,]+ [kM]?B'
on_terminal a "$W" import "$scratch/long.wscap" >"$scratch/seen" && grep -q "$n launches" "$scratch/out"
result $? "a long capture is imported on a terminal"
shows ".*: $size of $size, $size/s(, [0-9a-z ]+ left)?" "and tells bytes, rate and time left"
WARPSIGHT_DB="$scratch/b" "$W" import "$scratch/long.wscap" >"$scratch/out" 2>"$scratch/log" && [ ! -s "$scratch/log" ]
result $? "in a pipe it tells nothing"

# The same bytes as what a program left in the spool: whoever reads next takes it.
python3 - "$scratch" <<'PY'
import os, sys
bytes = open(sys.argv[1] + "/long.wscap", "rb").read()
at = [i for i in range(0, 200) if bytes[i:i + 32].isalnum() and all(c in b"0123456789abcdef" for c in bytes[i:i + 32])][0]
agent = bytes[at:at + 32].decode()
folder = f"{sys.argv[1]}/spool/{'0' * 32}/{agent}"
os.makedirs(folder, 0o700)
for f in (folder, os.path.dirname(folder), sys.argv[1] + "/spool"):
    os.chmod(f, 0o700)
open(folder + "/00000000.done", "wb").write(bytes)
PY
on_terminal c "$W" list sessions --json >"$scratch/seen" && [ "$(jq '.sessions[0].launches' "$scratch/out")" -eq $n ]
result $? "a command that finds a long spool takes it"
shows "storing what was recorded: $size of $size, $size/s(, [0-9a-z ]+ left)?" "and tells how far it is"

# A CSV of Nsight Compute and a database of Nsight Systems, each many times as long as recorded.
python3 - "$scratch" "$n" <<'PY'
import sqlite3, subprocess, sys, glob, gzip
folder, n = sys.argv[1], int(sys.argv[2])
text = gzip.open(glob.glob("tests/gpu/results/*-h200-ncu-details.csv.gz")[-1], "rt").read()
head, rows = text[text.index('"ID"'):].split("\n", 1)
with open(folder + "/long.csv", "w") as out:
    out.write(head + "\n")
    for _ in range(n // 20000):
        out.write(rows)
subprocess.check_call(["tests/flow/make_nsys.py", folder + "/long.sqlite"])
db = sqlite3.connect(folder + "/long.sqlite")
columns = [c[1] for c in db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")]
while db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0] < n:
    db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT {','.join(columns)} FROM CUPTI_ACTIVITY_KIND_KERNEL")
db.commit()
PY
on_terminal d "$W" import "$scratch/long.csv" >"$scratch/seen"
shows ".*: $size of $size, $size/s(, [0-9a-z ]+ left)?" "so does a long CSV of Nsight Compute"
on_terminal d "$W" import "$scratch/long.sqlite" >"$scratch/seen"
shows ".*: [0-9]+ of [0-9]+ rows, [0-9.,]+ ?[kM]?/s(, [0-9a-z ]+ left)?|storing: $size of $size, $size/s(, [0-9a-z ]+ left)?" "and a long database of Nsight Systems, by rows"

# A program that runs on: lines now and then, in a terminal only, and the program's own output as it is.
fake="$B/fake"
if [ -n "${SAN:-}" ] || [ ! -x "$fake/fake_app" ]; then
    echo "SKIP a long run: no fake CUPTI in this build"
else
    printf '#!/bin/sh\nexec %s/fake_app steady 6000\n' "$PWD/$fake" >"$scratch/app" && chmod +x "$scratch/app"
    WARPSIGHT_CUPTI="$PWD/$fake" on_terminal e "$W" run --set trace "$scratch/app" >"$scratch/seen" & running=$!
    WARPSIGHT_DB="$scratch/f" WARPSIGHT_CUPTI="$PWD/$fake" "$W" run --set trace "$scratch/app" >/dev/null 2>"$scratch/piped"
    wait $running
    grep -qE '^==WARPSIGHT== [0-9]+ s: [0-9]+ launches traced \([0-9.e+]+/s\), 0 measured, in 1 process so far' "$scratch/seen" && ! grep -q 'so far' "$scratch/piped"
    result $? "a long run says after five seconds what it has recorded, and in a pipe nothing: $(grep -c 'so far' "$scratch/seen") lines"
fi
exit $status
