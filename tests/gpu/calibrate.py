#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""calibrate.py: the counters of gpu-calibrate, modelled beside measured, as a table in Markdown.

usage: calibrate.py MODELLED.json [MEASURED.json…] [--known FILE]
       calibrate.py --keep OUT.json.gz MEASURED.json… [NCU.csv]

MODELLED, MEASURED: of `warpsight report --json`, or what --keep made; of several MEASURED the first that has a count
is taken. --keep: only the counts that the table needs, with those of ldmatrix and stmatrix from a page of Nsight
Compute (`ncu --csv --page raw`). Without MEASURED only what the model says.
--known FILE: lines of `kernel, counter, modelled, measured, reason` between tabs: the differences that are left.
Exit 0: the table is whole, and with --known no difference is new or gone; 1: something is missing, new or gone.
"""
import csv
import gzip
import json
import re
import sys

FP = ["fp32_add", "fp32_mul", "fp32_fma", "fp64_add", "fp64_mul", "fp64_fma", "fp16_fma"]
# family of kernels -> counters that it is about
COUNTERS = {
    "shared_ld": ["shared_ld_requests", "shared_ld_wavefronts"],
    "shared_st": ["shared_st_requests", "shared_st_wavefronts"],
    "global_ld": ["gld_requests", "gld_sectors"],
    "shared_atomic": ["shared_atom_requests", "shared_atom_wavefronts"],
    "shared_atomic_of": ["shared_atom_requests", "shared_atom_wavefronts", "shared_ld_requests",
                         "shared_ld_wavefronts", "fp32_add"],
    "global_atomic": ["atom_requests", "atom_sectors"],
    "global_reduction": ["red_requests", "red_sectors"],
    "local_array": ["local_ld_requests", "local_ld_sectors", "local_st_requests", "local_st_sectors"],
    "load_matrix": ["shared_ld_requests", "matrix_ld_requests", "matrix_ld_wavefronts"],
    "load_matrix_apart": ["shared_ld_requests", "matrix_ld_requests", "matrix_ld_wavefronts"],
    "load_turned": ["shared_ld_requests", "matrix_ld_requests", "matrix_ld_wavefronts"],
    "store_matrix": ["shared_st_requests", "matrix_st_requests"],
    "wmma_load": ["gld_requests", "gld_sectors", "shared_ld_requests", "matrix_ld_requests", "matrix_ld_wavefronts"],
    "product": ["tensor_ops_fp16", "tensor_ops_bf16", "tensor_ops_tf32", "tensor_ops_fp64", "tensor_ops_fp8",
                "tensor_ops_int8"],
    "async_copy": ["async_ld_requests", "async_ld_sectors", "gld_requests", "gld_sectors"],
    "software": FP,
    "software_at": FP,
    "operation": FP,
}
NCU = {"smsp__sass_inst_executed_op_ldsm.sum": "matrix_ld_requests",
       "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum": "matrix_ld_wavefronts",
       "smsp__sass_inst_executed_op_shared_stsm.sum": "matrix_st_requests"}
SOFTWARE = ["div.rn f32", "div.approx f32", "sqrt.rn f32", "rcp.rn f32", "rsqrt f32", "expf", "logf", "sinf", "powf",
            "div f64", "sqrt f64", "1 / f64", "u32 %", "s32 %", "u64 /", "u64 %", "fmodf"]
PRODUCTS = ["f16 into f32", "f16 into f16", "bf16", "tf32", "f64", "e4m3", "s8"]
ATOMICS = ["add.u32", "add.u64", "cas.b32", "exch.b32", "min.u32", "and.b32", "cas.b64", "add.f32", "red.add.u32",
           "inc.u32"]
# launches of every kernel in calibrate.cu
EXPECTED = 315


def plain(name):
    """`void f<1, 2>(unsigned int *)` or `f<1, 2>` -> f<1,2>"""
    return re.sub(r"^void |\(.*$", "", name).replace(" ", "")


def kernels_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        report = json.load(f)
    return {plain(k["name"]): k["metrics"] for k in report["kernels"]}


def ncu_counts(path):
    with open(path, encoding="utf-8") as f:
        rows = [r for r in csv.reader(line for line in f if line.startswith('"'))]
    at = {name: i for i, name in enumerate(rows[0])}
    return {plain(r[at["Kernel Name"]]): {key: {"value": int(r[at[name]].replace(",", ""))} for name, key in NCU.items()}
            for r in rows[1:] if r[at["Kernel Name"]]}


def family(name):
    return name.split("<")[0]


def numbers(name):
    return [int(x) for x in name.split("<")[1].rstrip(">").split(",")]


def title(name):
    words = {"product": PRODUCTS, "software": SOFTWARE, "shared_atomic_of": ATOMICS}.get(family(name))
    return "%s: %s" % (name, words[numbers(name)[0]]) if words else name


def number(metrics, key):
    return None if metrics is None else metrics.get(key, {}).get("value")


def show(value):
    return "-" if value is None else "{:,.0f}".format(value)


def order(name):
    return list(COUNTERS).index(family(name)), numbers(name)


def merged(paths):
    """Several measurements as one: the first that has a count."""
    out = {}
    for path in paths:
        for name, metrics in (ncu_counts(path) if path.endswith(".csv") else kernels_of(path)).items():
            for key, value in metrics.items():
                if value.get("value") is not None:
                    out.setdefault(name, {}).setdefault(key, value)
    return out


def rows(modelled, measured):
    for name in sorted(set(modelled) | set(measured or {}), key=order):
        for key in COUNTERS[family(name)]:
            m, g = number(modelled.get(name), key), number((measured or {}).get(name), key)
            if not m and not g and key not in COUNTERS[family(name)][:2]:
                continue
            yield name, key, m, g


def grade_holds(grade, m, g):
    return (grade == "lower bound" and m <= g) or (grade == "upper bound" and m >= g)


def read_known(path):
    known = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, key, m, g, why = line.rstrip("\n").split("\t")
                known[name, key] = (float(m), None if g == "-" else float(g), why)
    return known


def keep(out, paths):
    measured = merged(paths)
    kernels = [{"name": n, "metrics": {k: {"value": measured[n][k]["value"]} for k in COUNTERS[family(n)]
                                       if k in measured[n]}} for n in sorted(measured, key=order)]
    with open(out, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(json.dumps({"kernels": kernels}).encode())
    return 0


class Judge:
    """What a row's two numbers are to each other."""

    def __init__(self, known):
        self.known, self.left, self.faults = known, set(known or {}), []
        self.both = self.equal = self.bounds = self.holes = 0

    def hole(self, name, key, m):
        if self.known and self.known.get((name, key), (0, 0))[:2] == (m, None):
            self.left.discard((name, key))
            return self.known[name, key][2]
        self.holes += 1
        return "not measured"

    def verdict(self, name, key, m, g, grade):
        self.both += 1
        if m == g:
            self.equal += 1
            return "="
        text = "×%.3g" % (g / m) if m else "≠"
        if (name, key) in (self.known or {}):
            self.left.discard((name, key))
            if self.known[name, key][:2] != (m, g):
                self.faults.append("%s %s: %s / %s, known as %s / %s" % (name, key, show(m), show(g),
                                                                         *map(show, self.known[name, key][:2])))
            return "%s %s" % (text, self.known[name, key][2])
        if grade_holds(grade, m, g):
            self.bounds += 1
            return "%s %s" % (text, grade)
        if self.known is not None:
            self.faults.append("%s %s: modelled %s, measured %s: a difference that is not known" % (name, key, show(m), show(g)))
        return text


def main(arguments):
    if arguments[1:2] == ["--keep"] and len(arguments) > 3:
        return keep(arguments[2], arguments[3:])
    known = None
    if "--known" in arguments[:-1]:
        at = arguments.index("--known")
        known = read_known(arguments[at + 1])
        del arguments[at:at + 2]
    if len(arguments) < 2 or arguments[1].startswith("-"):
        print("\n".join(__doc__.splitlines()[2:4]), file=sys.stderr)
        return 2
    modelled = kernels_of(arguments[1])
    measured = merged(arguments[2:]) if len(arguments) > 2 else None
    unknown = [n for n in list(modelled) + list(measured or {}) if family(n) not in COUNTERS]
    if unknown:
        print("not of gpu-calibrate: %s" % ", ".join(sorted(set(unknown))), file=sys.stderr)
        return 1
    judge = Judge(known)
    print("| kernel | counter | modelled | measured | |")
    print("|---|---|--:|--:|---|")
    for name, key, m, g in rows(modelled, measured):
        verdict = ""
        if m is not None and g is not None:
            verdict = judge.verdict(name, key, m, g, modelled[name][key].get("grade"))
        elif measured is not None and g is None:
            verdict = judge.hole(name, key, m)
        elif m is None:
            verdict = "not modelled"
        print("| `%s` | `%s` | %s | %s | %s |" % (title(name), key, show(m), show(g), verdict))
    print()
    seen = len(modelled)
    if measured is None:
        print("%d kernels; no GPU: nothing to compare with" % seen)
    else:
        print("%d kernels; %d of %d counts equal, %d more a bound that holds" % (seen, judge.equal, judge.both, judge.bounds))
    for name, key in sorted(judge.left):
        judge.faults.append("%s %s: equal now, or no more there: take it from the list" % (name, key))
    for fault in judge.faults:
        print(fault, file=sys.stderr)
    return 1 if judge.holes or judge.faults or seen != EXPECTED else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
