#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_exports.py: reads exports as their consumers do, without our code.

  check_exports.py chrome TRACE REPORT   is TRACE a trace, and are its times those of `report --json`?
  check_exports.py pprof PROFILE         prints a pprof profile as text (profile.proto, decoded here)
"""
import gzip
import json
import sys
from collections import Counter
from decimal import Decimal


def claim(truth, *words):
    if not truth:
        sys.exit("not true: " + " ".join(str(w) for w in words))


def check_slice(e):
    claim(isinstance(e["name"], str) and e["name"], "a slice has a name", e)
    claim(isinstance(e["ts"], Decimal) and isinstance(e["dur"], Decimal) and e["dur"] >= 0, "a slice has its span", e)
    claim(e["ts"].as_tuple().exponent == -3 and e["dur"].as_tuple().exponent == -3, "times have three decimals", e)
    claim(e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"), "a known category", e)
    if e["cat"] == "kernel":
        for key in ("grid", "block", "device", "context", "stream", "correlation", "shared memory"):
            claim(key in e["args"], "a kernel says its", key)


def check_flows(events):
    """Each arrow ends at a slice of the GPU that begins where it does, and starts inside a call of the host."""
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    claim(len(starts) == sum(e["ph"] == "s" for e in events), "an id starts one flow")
    slices = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    for e in events:
        if e["ph"] in "sf":
            claim((e["pid"], e["tid"], e["ts"]) in slices, "a flow is bound to a slice", e)
        if e["ph"] == "f":
            claim(e["bp"] == "e" and e["id"] in starts, "a flow that ends has started", e)
            claim(starts[e["id"]]["ts"] <= e["ts"], "and not after its end", e)
    return len([e for e in events if e["ph"] == "f"])


def chrome(path, report_path):
    trace = json.load(open(path, encoding="utf-8"), parse_float=Decimal)
    report = json.load(open(report_path, encoding="utf-8"))
    for key in ("schemaVersion", "deviceProperties", "traceEvents", "displayTimeUnit", "baseTimeNanoseconds", "traceName"):
        claim(key in trace, "there is", key)
    claim(isinstance(trace["baseTimeNanoseconds"], int), "the base is in whole nanoseconds")
    claim(trace["source"] == report["session"]["source"], "the source is the session's")
    claim([d["name"] for d in trace["deviceProperties"]] == [d["name"] for d in report["devices"]], "the GPUs are there")
    events = trace["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for e in events:
        claim(e["ph"] in "XMsf", "a known phase", e)
        if e["ph"] == "X":
            check_slice(e)
            claim(not e["cat"].startswith(("gpu", "kernel")) or (e["pid"], e["tid"]) in named, "each stream has a name", e)
    flows = check_flows(events)
    kernels = [e for e in events if e["ph"] == "X" and e["cat"] == "kernel"]
    timed = {k["demangled"]: 0 for k in report["kernels"]}
    for e in kernels:
        claim(e["name"] in timed, "a kernel of the report", e["name"])
        timed[e["name"]] += int(e["dur"] * 1000)
    for k in report["kernels"]:
        if k["duration"].get("origin") == "activity" and sum(o["demangled"] == k["demangled"] for o in report["kernels"]) == 1:
            mean = timed[k["demangled"]] / max(1, sum(e["name"] == k["demangled"] for e in kernels))
            claim(abs(mean * 1e-9 - k["duration"]["mean"]) <= 1e-6 * k["duration"]["mean"], "times add up", k["name"])
    counts = Counter(e["cat"] for e in events if e["ph"] == "X")
    print(f"{sum(counts.values())} slices, {flows} flows, {trace['launchesWithoutTime']} without time")


# --- pprof: protobuf's wire format, and the field numbers of profile.proto ---

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """[(number, value)]: an int, or bytes."""
    at, out = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            claim(tag & 7 == 2, "only numbers and blocks", tag)
            size, at = varint(data, at)
            claim(at + size <= len(data), "a block ends inside")
            value, at = data[at:at + size], at + size
        out.append((tag >> 3, value))
    return out


def packed(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def pprof(path):
    raw = open(path, "rb").read()
    claim(raw[:2] == b"\x1f\x8b", "it is gzip")
    top = fields(gzip.decompress(raw))
    texts = [v.decode("utf-8") for n, v in top if n == 6]
    claim(texts and texts[0] == "", "text 0 is empty")
    one = dict(top)
    types = [tuple(texts[dict(fields(v)).get(i, 0)] for i in (1, 2)) for n, v in top if n == 1]
    functions = {dict(fields(v))[1]: dict(fields(v)) for n, v in top if n == 5}
    places = {dict(fields(v))[1]: dict(fields(dict(fields(v))[4])) for n, v in top if n == 4}
    locations = {i: place[1] for i, place in places.items()}
    lines = {i: ":%d" % place[2] if place.get(2) else "" for i, place in places.items()}
    mappings = {dict(fields(v))[1]: texts[dict(fields(v)).get(5, 0)] for n, v in top if n == 3}
    claim(set(locations.values()) <= set(functions), "each place has its function")
    print("comment", texts[one[13]].split(" ", 3)[-1])
    print("types", " ".join("/".join(t) for t in types), "default", texts[one[14]])
    print("mapping", *mappings.values())
    for n, v in top:
        if n != 2:
            continue
        s = fields(v)
        stack = [texts[functions[locations[i]].get(2, 0)] + lines[i] for i in packed(dict(s)[1])]
        values = packed(dict(s)[2])
        claim(len(values) == len(types), "a value a type")
        labels = {texts[dict(fields(b))[1]]: texts[dict(fields(b)).get(2, 0)] for m, b in s if m == 3}
        print("sample", *values, " <- ".join(stack), labels)


if __name__ == "__main__":
    {"chrome": chrome, "pprof": pprof}[sys.argv[1]](*sys.argv[2:])
