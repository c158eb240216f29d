#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# facts.py: the output of `dump` as JSON, with interned texts put in: for jq in the tests of this folder.
#   dump FILE… | facts.py   {"hello":[…],"kernels":[…],"profiles":[{…,"metrics":{KEY:number or "why N"}}],"status":[…],…}
import json
import re
import struct
import sys

FIELD = re.compile(r" ([a-z_0-9]+)=")
TEXTS = {"agent_id", "session_token", "session_name", "source", "exe", "argv", "cwd", "host", "boot_id", "rank",
         "driver_text", "cupti_path", "gpu_uuids", "warpsight", "git_commit", "settings", "uuid", "chip", "text",
         "params", "data", "keys", "cupti", "code", "message", "remedy", "kind", "reason", "what", "agent"}


def number(text):
    return float(text) if re.search(r"[.en]", text) else int(text)


def parse(line):
    kind, _, rest = line.partition(" ")
    rest = " " + rest
    marks = list(FIELD.finditer(rest))
    record = {}
    for mark, after in zip(marks, marks[1:] + [None]):
        value = rest[mark.end():after.start() if after else None]
        name = mark.group(1)
        if name in record:  # an "x=" within a text: part of it
            continue
        is_text = name in TEXTS and (kind, name) != ("decision", "reason")
        record[name] = value if is_text or (kind == "device" and name == "name") else number(value)
    return kind, record


facts = {k: [] for k in ("hello", "run", "device", "context", "kernel", "memcpy", "memset", "profile", "status",
                         "loss", "cost", "bye", "bad", "budget", "decision", "collection", "api", "sync", "memory",
                         "copy_call", "launch_call", "pm_series", "pm_samples", "pc_sampling",
                         "pc_sample", "cubin")}
strings, profiles, series = {}, {}, {}
for line in sys.stdin.buffer.read().decode("utf-8", "replace").splitlines():
    if line.startswith(("bad", "unknown")):
        facts["bad"].append(line)
        continue
    kind, r = parse(line)
    if kind == "segment":
        agent, strings, profiles = r["agent"], {}, {}
    elif kind == "string":
        strings[r["id"]] = r["text"]
    elif kind == "metric":
        value = r["value"] if r["why"] == 0 else f"why {r['why']}"
        profiles[r["profile"]]["metrics"][strings[r["key"]]] = value
    elif kind in facts:
        if kind in ("kernel", "profile", "decision", "api"):
            r["name"] = strings[r["name"]]
        if kind == "pc_sample":
            r["function"], r["reason"] = strings[r["function"]], strings[int(r["reason"])]
        if "start_ns" in r:  # jq's numbers are doubles: the difference must be made here
            r["took_ns"] = r["end_ns"] - r["start_ns"]
        if kind == "pm_series":
            series[agent, r["series"]] = r["keys"].split(",")
        if kind == "pm_samples":  # dump.c prints the bytes in hexadecimal
            keys, data, rows = series[agent, r["series"]], bytes.fromhex(r.pop("data")), []
            for at in range(0, len(data), 8 + 4 * len(keys)):
                start, length, *values = struct.unpack_from(f"<II{len(keys)}f", data, at)
                rows.append({"start": r["first_ns"] + start, "took": length, **{k: None if v != v else v for k, v in zip(keys, values)}})
            r["rows"] = rows
        if kind == "profile":
            r["metrics"] = {}
            profiles[r["profile"]] = r
        r["agent"] = agent
        facts[kind].append(r)
json.dump(facts, sys.stdout)
