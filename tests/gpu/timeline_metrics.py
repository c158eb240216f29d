#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeline_metrics.py: samples of `gpu-cases phases` held against what is known of its kernels, for timeline_metrics.sh:
#   timeline_metrics.py INTERVAL report.json samples.csv trace.json     a line of markdown a check; exit 1 when one fails
# burn: arithmetic on every SM for 50 ms. stream_add: 50 times 2^31 bytes read and 2^30 written, so the samples of the
# memory, times the memory's peak, must be those bytes over the trace's time.
import csv
import json
import sys

interval_text, report_path, samples_path, trace_path = sys.argv[1:]
NS = int(float(interval_text.rstrip("umns")) * {"us": 1e3, "ms": 1e6}[interval_text.lstrip("0123456789.")])
PEAK = {"H200": 4.8e12, "H100": 3.35e12, "A100": 2.039e12}  # bytes a second, data sheets
failed = False


def check(name, ok, detail):
    global failed
    failed |= not ok
    print(f"  - {'ok' if ok else '**FAILED**'}: {name} ({detail})")


report, trace = json.load(open(report_path)), json.load(open(trace_path))
base = trace["baseTimeNanoseconds"]
work = [(e["cat"], e["name"], base + e["ts"] * 1e3, base + (e["ts"] + e["dur"]) * 1e3) for e in trace["traceEvents"] if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
runs = [(name, a, b) for cat, name, a, b in work if cat == "kernel"]
samples = {}
for row in csv.DictReader(open(samples_path, newline="")):
    if row["value"]:
        samples.setdefault(int(row["start_ns"]), {"length": int(row["length_ns"])})[row["metric"]] = float(row["value"])
samples = sorted((start, s["length"], s) for start, s in samples.items())
series = report["samples"]["series"][0]
keys = [m["key"] for m in series["metrics"]]
check("metrics sampled", "sm_active" in keys and "dram_read" in keys, ", ".join(keys))
lost = sum(int(w["message"].split()[0]) for w in report["warnings"] if w["code"] == "records-lost" and " pm_sample " in w["message"])
told = {w["code"]: w["message"] for w in report["warnings"] if w["code"] in ("records-lost", "timeline-overflow", "timeline-merged", "timeline-bursts")}
in_bursts = "timeline-bursts" in told
if NS >= 100000:  # CUPTI decodes a sample of the default set in 40 to 65 µs (H200)
    check("nothing lost, nothing merged, no bursts", not told, "; ".join(told.values()) or "no warning")
if not samples:
    check("there are samples", False, "none")
    sys.exit(1)
span = samples[-1][0] + samples[-1][1] - samples[0][0]
share = len(samples) * NS / span
if in_bursts:
    check("sampled in bursts, for a good part of the time", share > 0.08, f"{share:.3f}: {len(samples)} samples and {lost} lost in {span / 1e6:.1f} ms; {told['timeline-bursts']}")
else:
    check("as many samples, or lost ones, as the time has intervals", abs(share + lost * NS / span - 1) < 0.05, f"{len(samples)} and {lost} in {span / 1e6:.1f} ms")
lengths = sorted(length for _, length, _ in samples)
check("their length is the interval asked for", abs(lengths[len(lengths) // 2] / NS - 1) < 0.05 and lengths[-1] < 1.5 * NS, f"median {lengths[len(lengths) // 2]} ns, {lengths[0]} to {lengths[-1]}")
pause = 1e8 if in_bursts else 0
check("they begin before the kernels and end after them", samples[0][0] - pause < min(r[1] for r in runs) and samples[-1][0] + samples[-1][1] + pause > max(r[2] for r in runs), f"first sample {(min(r[1] for r in runs) - samples[0][0]) / 1e6:.1f} ms before the first kernel")


def mean(name, key, margin=2):
    """Over the samples that lie within a run of the kernel, the first and last `margin` left out."""
    found = [s[key] for kernel, a, b in runs if name in kernel for at, length, s in samples if key in s and at >= a + margin * NS and at + length <= b - margin * NS]
    return sum(found) / len(found) if found else float("nan"), len(found)


def idle(key):
    found = [s[key] for at, length, s in samples if key in s and all(at + length < a - NS or at > b + NS for _, _, a, b in work)]
    return sum(found) / len(found) if found else float("nan"), len(found)


busy, n = mean("burn", "sm_active")
check("SM active while burn runs: all of them", busy > 0.97, f"{busy:.4f}, {n} samples")
rest, n = idle("sm_active")
check("SM active while nothing runs", rest < 0.02, f"{rest:.4f}, {n} samples")
quiet, n = mean("burn", "dram_read")
check("burn reads nothing from DRAM", quiet < 0.02, f"{quiet:.4f}, {n} samples")
if "tensor_active" in keys:
    tensor, n = mean("burn", "tensor_active")
    check("nor does it use the tensor pipe", tensor < 0.01, f"{tensor:.4f}")
if "warps_active" in keys:
    warps, n = mean("burn", "warps_active")
    check("8 blocks of 256 threads an SM are all its warps", 0.9 < warps <= 1.02, f"{warps:.4f}")
device = report["devices"][0]["name"]
peak = next((p for board, p in PEAK.items() if board in device), None)
took = sorted(b - a for name, a, b in runs if "stream_add" in name)
took = took[len(took) // 2]
read, n = mean("stream_add", "dram_read")
write, _ = mean("stream_add", "dram_write")
check("stream_add reads twice what it writes", 1.7 < read / write < 2.3, f"{read:.4f} and {write:.4f}, {n} samples")
if peak:
    known = 50 * 3 * 2**30 / (took * 1e-9) / peak
    check("its share of the memory's peak is the one of its bytes and its time", abs((read + write) / known - 1) < 0.1, f"{read + write:.4f} sampled, {known:.4f} by {took / 1e6:.2f} ms and {peak / 1e12} TB/s")
# The step of SM active from nothing to all lies where the trace has the kernel's start, and back at its end; those count
# about which nothing is missing.
late = []
for name, a, b in runs:
    if "burn" not in name:
        continue
    for edge, pick, at_of in ((a, 0, lambda at, length: at), (b, -1, lambda at, length: at + length)):
        near = [(at, length, s.get("sm_active", 0)) for at, length, s in samples if abs(at + length / 2 - edge) < 10 * NS]
        on = [at_of(at, length) for at, length, active in near if active > 0.5]
        if len(near) >= 18 and on:
            late.append(on[pick] - edge)
check("its edges are the trace's, to two samples and 20 µs", bool(late or in_bursts) and max((abs(x) for x in late), default=0) < 2 * NS + 20000, f"{len(late)} edges, from {min(late, default=0) / 1e3:.1f} to {max(late, default=0) / 1e3:.1f} µs")
joined = {k["id"]: k["function"] if "function" in k else k["name"] for k in report["kernels"]}
own = {joined[k["kernel"]]: k["samples"] for k in report["samples"]["kernels"] if k["kernel"] in joined}
check("the report joins them with both kernels", any("burn" in k for k in own) and any("stream_add" in k for k in own), ", ".join(f"{k} {v}" for k, v in own.items()))
sys.exit(failed)
