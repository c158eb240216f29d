# SPDX-License-Identifier: MIT
# devices.py: what a session of `gpu-cases devices N` must hold. usage: devices.py DATABASE REPORT.json DEVICES N
import json
import sqlite3
import sys

database, report_file, devices, launches = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
report = json.load(open(report_file))
session = report["session"]["id"]
db = sqlite3.connect(database)
contexts = db.execute(
    "SELECT device_idx, count(*) FROM context JOIN process ON process.id = context.process_id"
    " WHERE session_id = ? GROUP BY device_idx", (session,)).fetchall()
profiles = db.execute("SELECT count(*) FROM profile WHERE session_id = ?", (session,)).fetchone()[0]
traced = sum(k["launches"] for k in report["kernels"])
bad = [w["code"] for w in report["warnings"] if w["code"].endswith("failed")]
ok = (len(report["devices"]) == devices and contexts == [(i, 2) for i in range(devices)]
      and traced == 2 * devices * launches and profiles == 1 and not bad)
print(f"{len(report['devices'])} devices, contexts per device {dict(contexts)}, {traced} launches, {profiles} profiled {bad}")
sys.exit(0 if ok else 1)
