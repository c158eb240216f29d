#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_import.py MEASURED IMPORTED: what the recorded H200 session and Nsight Compute's CSV of the same kernels both hold.

Both are `report --json`. Counts that do not depend on the run must be equal; what was printed with two decimals must be within
half a unit of the last place; names, geometry and resources must be the same.
"""
import json
import sys


def kernels(path):
    report = json.load(open(path, encoding="utf-8"))
    out = {}
    for k in report["kernels"]:
        name = k["name"].replace("(int)", "").replace(" ", "")
        out[name, tuple(k["grid"]), tuple(k["block"])] = k
    return report, out


measured_report, measured = kernels(sys.argv[1])
imported_report, imported = kernels(sys.argv[2])
assert imported_report["session"]["source"] == "imported", imported_report["session"]
assert set(measured) == set(imported), set(measured) ^ set(imported)
assert measured_report["devices"][0]["sms"] == imported_report["devices"][0]["sms"]
equal = rounded = 0
for key, a in measured.items():
    b = imported[key]
    for part in ("regs_per_thread", "static_smem_bytes", "dynamic_smem_bytes"):
        assert a[part] == b[part], (key, part, a[part], b[part])
    assert a["occupancy"]["theoretical"] == b["occupancy"]["theoretical"], key
    for metric in ("inst_executed", "launched_threads", "launched_warps"):
        assert a["metrics"][metric]["value"] == b["metrics"][metric]["value"], (key, metric)
        equal += 1
    for metric in ("threads_per_instruction", "threads_pred_on_per_instruction"):
        x, y = a["metrics"][metric]["value"], b["metrics"][metric]["value"]
        assert abs(x - y) <= 0.00501, (key, metric, x, y)
        rounded += 1
    # What the file does not hold says so, and for that reason.
    lost = b["metrics"]["gld_requests"]
    assert lost["value"] is None and lost["why"] == "not-in-source", lost
    assert "Occupancy: Block Limit Registers [block]" in b["metrics"], list(b["metrics"])[-5:]
print(f"{len(measured)} kernels, {equal} counts equal, {rounded} ratios within their rounding")
