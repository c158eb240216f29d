#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""model_table.py: the table of docs/model.md: what the SIMT model counts on each reference kernel beside what an H200
counted. Both sides are reports (`--json`); nothing is typed in. `make model-table` writes, tests/flow/test_model_kernels.sh
compares.

usage: model_table.py [--write] COUNTS DOC METRICS MEASURED [MODELLED]
  COUNTS    tests/flow/model-kernels.json: what the model counted, a line for each kernel
  DOC       docs/model.md; the table stands between its two marks
  METRICS   warpsight list metrics --json: what is counted, and what is only made of counts
  MEASURED  warpsight report --json of the recorded session
  MODELLED  warpsight report --json of a modelled one: must agree with COUNTS; with --write (all kernels) it becomes COUNTS
exit status 1: something is not as it stands, or differs and no reason is known."""
import json
import sys

BEGIN, END = "<!-- made by make model-table: begin -->", "<!-- end -->"
# Grade B of docs/model.md: counted in PTX, SASS may differ. Everything else that is compared is grade A.
GRADE_B = ("inst_memory_64b", "inst_memory_128b", "fp16_add", "fp16_mul", "fp16_fma")
# Not counted but known from the launch: equal by construction.
NOT_COUNTED = ("launched_warps", "launched_threads", "max_warps_per_sm", "theoretical_occupancy")
# Why a count may differ, inferred from the numbers: (key, which kernels) -> reason. A difference without a reason here fails.
WHY = {
    ("fp16_fma", ""): "HFMA2 as a move",
    ("fp16_add", "gemv"): "HADD2 as a conversion",
    ("fp32_add", "gemv"): "31 lanes of a warp fewer: one addition of the sum runs only in lane 0, which stores it",
    ("inst_memory_128b", "matmul_reg"): "4 a warp more in SASS",
}
MISSING = {("local_", "spill_capped"): "local memory: spills are not in PTX, so the model says nothing"}


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def counts_of(report, raw):
    """{kernel: {key: number}}, of what is counted and has a value."""
    return {k["name"]: {key: v["value"] for key in raw if (v := k["metrics"].get(key)) and v["value"] is not None} for k in report["kernels"]}


def reason(table, key, kernel):
    return next((why for (part, name), why in table.items() if key.startswith(part) and kernel.startswith(name)), None)


def flop(c):
    return sum(c[f"fp{n}_{op}"] * (2 if op == "fma" else 1) for n in (32, 64) for op in ("add", "mul", "fma"))


HEADLINES = (
    lambda c: c["gld_sectors"] + c["gst_sectors"],
    lambda c: c["shared_ld_wavefronts"] + c["shared_st_wavefronts"],
    flop,
)


def row(kernel, model, gpu):
    """One line of the table, and the differences that nobody explains."""
    equal, total, why, unknown = {"A": 0, "B": 0}, {"A": 0, "B": 0}, {}, []
    for key in gpu:
        if key not in model:
            r = reason(MISSING, key, kernel)
            if r and gpu[key]:
                why[r] = []
            continue
        if model[key] == 0 == gpu[key]:
            continue
        grade = "B" if key in GRADE_B else "A"
        total[grade] += 1
        equal[grade] += model[key] == gpu[key]
        if model[key] != gpu[key]:
            r = reason(WHY, key, kernel)
            if not r:
                unknown.append(f"{kernel} {key}: modelled {model[key]}, measured {gpu[key]}, and no reason is known")
            why.setdefault(r, []).append(f"`{key}` {model[key]:,} / {gpu[key]:,}")
    cells = [f"`{kernel}`"]
    for headline in HEADLINES:
        a, b = headline(model), headline(gpu)
        cells += [f"{a:,}" if a or b else "", f"{b:,}" if a or b else ""]
    cells += [f"{equal[g]} of {total[g]}" if total[g] else "" for g in "AB"]
    cells.append("; ".join((", ".join(keys) + ": " if keys else "") + str(r) for r, keys in why.items()))
    return "| " + " | ".join(cells) + " |", unknown, equal, total


def table(model, gpu):
    lines, unknown = [], []
    equal, total = {"A": 0, "B": 0}, {"A": 0, "B": 0}
    for kernel in sorted(model):
        line, more, e, t = row(kernel, model[kernel], gpu[kernel])
        lines.append(line)
        unknown += more
        for g in "AB":
            equal[g] += e[g]
            total[g] += t[g]
    head = f"{len(model)} kernels; of the counts that are not 0 on both sides, {equal['A']:,} of {total['A']:,} of grade A and {equal['B']:,} of {total['B']:,} of grade B are equal to the last unit."
    columns = "| kernel | global sectors, modelled | measured | shared wavefronts, modelled | measured | FP32 + FP64 FLOP, modelled | measured | A equal | B equal | not equal: modelled / measured, why |"
    return "\n".join([head, "", columns, "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|", *lines]), unknown


def main(args):
    write = args[:1] == ["--write"]
    counts_path, doc_path, metrics, measured, *modelled = args[1:] if write else args
    raw = [m["key"] for m in load(metrics)["metrics"] if not m["formula"] and m["key"] not in NOT_COUNTED]
    gpu, problems = counts_of(load(measured), raw), []
    new = counts_of(load(modelled[0]), raw) if modelled else {}
    if write and new:
        if set(new) != set(gpu):
            sys.exit(f"not the same kernels were modelled and measured: {sorted(set(new) ^ set(gpu))}")
        with open(counts_path, "w", encoding="utf-8") as f:
            lines = (f"{json.dumps(k)}: {json.dumps({key: n for key, n in new[k].items() if key in gpu[k]})}" for k in sorted(new))
            f.write("{\n" + ",\n".join(lines) + "\n}\n")
    model = load(counts_path)
    for kernel, counts in new.items():
        for key, n in model.get(kernel, {}).items():
            if counts.get(key) != n:
                problems.append(f"{kernel} {key}: modelled {counts.get(key)}, {counts_path} has {n}")
        if kernel not in model:
            problems.append(f"{kernel} is not in {counts_path}")
    if set(model) != set(gpu):
        problems.append(f"not the same kernels in {counts_path} and in the recorded session: {sorted(set(model) ^ set(gpu))}")
    else:
        text, unknown = table(model, gpu)
        problems += unknown
        with open(doc_path, encoding="utf-8") as f:
            before, rest = f.read().split(BEGIN + "\n")
        old, after = rest.split(END, 1)
        if write:
            with open(doc_path, "w", encoding="utf-8") as f:
                f.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
        elif old != text + "\n":
            problems.append(f"the table of {doc_path} is not what {counts_path} and the recorded session give: make model-table")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
