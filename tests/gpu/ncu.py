# SPDX-License-Identifier: MIT
# ncu.py: holds our reports against Nsight Compute's CSV, and one of our reports against another.
#   names METRICS.json SETS                 CUPTI names of these sets, comma-separated, for ncu --metrics
#   compare METRICS.json REPORT.json CSV    deterministic counts must be equal; times and DRAM within tolerance
#   same METRICS.json A.json B.json         deterministic counts of two of our sessions must be equal
# Last line: a summary. Exit 0 when all that must be equal is.
import csv
import json
import re
import sys

# Counted by instrumented code or fixed by the addresses: the same in every run of the same program.
DETERMINISTIC = re.compile(
    r"^(inst_executed|thread_inst_executed|thread_inst_pred_on|gld_|gst_|shared_(ld|st)_|local_|fp(16|32|64)_|"
    r"red_|atom_|branches|divergent_branches|inst_memory_)"
)
TOLERANCE = {"dram_read_bytes": 0.05, "l2_read_sectors": 0.02, "issue_active": 0.02, "duration": 0.25}
# Below these a replayed launch says more about the state of the caches and clocks than about itself.
FLOOR = {"dram_read_bytes": 64 << 20, "duration": 20e-6}


def load_metrics(path):
    return {m["key"]: m for m in json.load(open(path))["metrics"]}


def names(metrics, sets):
    out = []
    for m in metrics.values():
        if m.get("set") in sets and m.get("cupti"):
            out.append(m["cupti"].split("|")[0])
    return ",".join(dict.fromkeys(out))


def strip(name):
    """A name as both tools can spell it: no return type, no parameters, no spaces, no casts."""
    name = re.sub(r"^void ", "", name)
    name = name.split("(")[0] if "<" not in name.split("(")[0] or ">" in name.split("(")[0] else name
    name = re.sub(r">\(.*", ">", name)
    return re.sub(r"\(\w+\)|\s", "", name)


def ours(path):
    out = {}
    for k in json.load(open(path))["kernels"]:
        key = (strip(k["demangled"]), tuple(k["grid"]), tuple(k["block"]))
        out[key] = k
    return out


def triple(text):
    return tuple(int(x) for x in re.findall(r"\d+", text)[:3])


def oracle(path):
    lines = open(path, errors="replace").read().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.DictReader(lines[start:]))[1:]  # the row below the header holds the units
    out = {}
    for row in rows:
        key = (strip(row["Kernel Name"]), triple(row["Grid Size"]), triple(row["Block Size"]))
        out.setdefault(key, row)  # the first launch of a signature, as we take it
    return out


def number(text):
    try:
        return float(text.replace(",", ""))
    except (ValueError, AttributeError):
        return None


def compare(metrics, report_path, csv_path):
    mine, theirs = ours(report_path), oracle(csv_path)
    equal = unequal = loose = far = 0
    lines = []
    for key, kernel in mine.items():
        row = theirs.get(key)
        if row is None:
            lines.append(f"| {key[0]} | not in Nsight Compute's output | | |")
            unequal += 1
            continue
        for name, value in kernel["metrics"].items():
            m = metrics.get(name)
            if not m or not m.get("cupti") or value["value"] is None:
                continue
            other = next((number(row[c]) for c in m["cupti"].split("|") if row.get(c)), None)
            if other is None:
                continue
            other *= m.get("scale", 1) or 1
            got = value["value"]
            if DETERMINISTIC.match(name):
                if got == other:
                    equal += 1
                else:
                    unequal += 1
                    lines.append(f"| {key[0]} | {name} | {got:.17g} | {other:.17g} |")
            elif name in TOLERANCE:
                if other < FLOOR.get(name, 0):
                    continue
                loose += 1
                if abs(got - other) > TOLERANCE[name] * max(abs(other), 1):
                    far += 1
                    lines.append(f"| {key[0]} | {name} (±{TOLERANCE[name]:.0%}) | {got:.6g} | {other:.6g} |")
    if lines:
        print("\n| kernel | metric | WarpSight | Nsight Compute |\n|---|---|---|---|")
        print("\n".join(lines))
    print(f"\n{len(mine)} signatures: {equal} deterministic counts equal, {unequal} not; {loose - far} of {loose} others within tolerance")
    return unequal == 0 and equal > 0


def same(path_a, path_b):
    a, b = ours(path_a), ours(path_b)
    equal = unequal = missing = 0
    for key in a:
        if key not in b:
            missing += 1
            continue
        for name, value in a[key]["metrics"].items():
            other = b[key]["metrics"].get(name, {}).get("value")
            if not DETERMINISTIC.match(name) or value["value"] is None:
                continue
            if other is None:
                missing += 1
                print(f"{key[0]} {name}: missing in the second")
            elif other == value["value"]:
                equal += 1
            else:
                unequal += 1
                print(f"{key[0]} {name}: {value['value']:.17g} against {other:.17g}")
    print(f"{equal} equal, {unequal} unequal, {missing} missing")
    return unequal == 0 and missing == 0 and equal > 0


def main(argv):
    metrics = load_metrics(argv[2])
    if argv[1] == "names":
        print(names(metrics, argv[3].split(",")))
        return 0
    if argv[1] == "compare":
        return 0 if compare(metrics, argv[3], argv[4]) else 1
    return 0 if same(argv[3], argv[4]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
