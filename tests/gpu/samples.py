# SPDX-License-Identifier: MIT
# samples.py: where our PC samples lie, beside Nsight Compute's of the same kernel (--section SourceCounters --page source
# --print-source sass --csv), instruction by instruction.
# usage: samples.py OURS.json NCU.csv LINE POINTS     OURS is `report --source KERNEL --json`, LINE one of the source
# Prints Markdown; last line: the share of LINE in both and the largest difference at one instruction. Exit 0 when that
# is at most POINTS (per cent of all samples), 1 when it is more, 2 when the two are not of the same code.
import csv
import json
import sys


def load_ours(path):
    kernels = json.load(open(path))["kernels"]
    return [k["samples"]["rows"] for k in kernels if k["samples"]][0]


def load_ncu(path):
    """Of all launches: [offset, SASS, samples]."""
    out, base = {}, None
    for row in csv.reader(line for line in open(path, errors="replace") if line.startswith('"')):
        if row[0] == "Address":
            at, sass, samples = (row.index(name) for name in ("Address", "Source", "# Samples"))
            base = None
        elif row[0].startswith("0x"):
            base = int(row[at], 16) if base is None else base
            one = out.setdefault(int(row[at], 16) - base, [row[sass].strip(), 0])
            one[1] += int(row[samples] or 0)
    return [[offset, *one] for offset, one in sorted(out.items())]


def main(ours_path, ncu_path, line, bound):
    ours = {row["at"]: row for row in load_ours(ours_path)}
    ncu = load_ncu(ncu_path)
    if not ncu or any(offset not in ours for offset, _, _ in ncu):
        print(f"not the same code: {len(ncu)} instructions of Nsight Compute, {len(ours)} of ours")
        return 2
    total, total_ncu = sum(r["samples"] for r in ours.values()), sum(n for _, _, n in ncu)
    if not total or not total_ncu:
        print(f"no samples: {total} of ours, {total_ncu} of Nsight Compute")
        return 2
    print("| line | instruction | ours, % | Nsight Compute, % |\n|---|---|---|---|")
    most, where, here, here_ncu = 0, "", 0, 0
    for offset, sass, n in ncu:
        row = ours[offset]
        a, b = 100 * row["samples"] / total, 100 * n / total_ncu
        if abs(a - b) > most:
            most, where = abs(a - b), sass
        if row["line"] == line:
            here, here_ncu = here + a, here_ncu + b
        if max(a, b) >= 1:
            print(f"| {row['line']} | `{sass}` | {a:.1f} | {b:.1f} |")
    print(
        f"\nline {line}: ours {here:.1f} %, Nsight Compute {here_ncu:.1f} %; most at one instruction: "
        f"{most:.1f} points ({where}); {total} and {total_ncu} samples"
    )
    return most > bound


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
