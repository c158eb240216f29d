#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""calibrate.py: the counters of gpu-calibrate, modelled beside measured, as a table in Markdown.

usage: calibrate.py MODELLED.json [MEASURED.json]    (both of `warpsight report --json`)
Without MEASURED only what the model says. Exit 0: the table is whole, equal or not; 1: a kernel or counter is missing.
"""
import json
import sys

# family of kernels -> counters that it is about
COUNTERS = {
    "shared_ld": ["shared_ld_requests", "shared_ld_wavefronts"],
    "shared_st": ["shared_st_requests", "shared_st_wavefronts"],
    "global_ld": ["gld_requests", "gld_sectors"],
    "shared_atomic": ["shared_atom_requests", "shared_atom_wavefronts"],
    "global_atomic": ["atom_requests", "atom_sectors"],
    "global_reduction": ["red_requests", "red_sectors"],
    "local_array": ["local_ld_requests", "local_ld_sectors", "local_st_requests", "local_st_sectors"],
    "load_matrix": ["shared_ld_requests", "shared_ld_wavefronts"],
    "load_turned": ["shared_ld_requests", "shared_ld_wavefronts"],
    "store_matrix": ["shared_st_requests", "shared_st_wavefronts"],
    "wmma_load": ["gld_requests", "gld_sectors", "shared_ld_requests", "shared_ld_wavefronts"],
    "product": ["tensor_ops_fp16", "tensor_ops_bf16", "tensor_ops_tf32", "tensor_ops_fp64", "tensor_ops_fp8",
                "tensor_ops_int8"],
    "async_copy": ["async_ld_requests", "async_ld_sectors", "gld_requests", "gld_sectors"],
    "software": ["fp32_add", "fp32_mul", "fp32_fma", "fp64_add", "fp64_mul", "fp64_fma", "fp16_fma"],
}
SOFTWARE = ["div.rn f32", "div.approx f32", "sqrt.rn f32", "rcp.rn f32", "rsqrt f32", "expf", "logf", "sinf", "powf",
            "div f64", "sqrt f64", "1 / f64", "u32 %", "s32 %", "u64 /", "u64 %", "fmodf"]
PRODUCTS = ["f16 into f32", "f16 into f16", "bf16", "tf32", "f64", "e4m3", "s8"]
# launches of every kernel in calibrate.cu
EXPECTED = 126


def kernels_of(path):
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    return {k["name"].replace(" ", ""): k["metrics"] for k in report["kernels"]}


def family(name):
    return name.split("<")[0]


def title(name):
    if family(name) == "product":
        return "%s: %s" % (name, PRODUCTS[int(name.split("<")[1].rstrip(">"))])
    if family(name) != "software":
        return name
    return "%s: %s" % (name, SOFTWARE[int(name.split("<")[1].rstrip(">"))])


def number(metrics, key):
    return None if metrics is None else metrics.get(key, {}).get("value")


def show(value):
    return "-" if value is None else "{:,.0f}".format(value)


def order(name):
    family_at = list(COUNTERS).index(family(name))
    return family_at, [int(x) for x in name.split("<")[1].rstrip(">").split(",")]


def rows(modelled, measured):
    for name in sorted(set(modelled) | set(measured or {}), key=order):
        for key in COUNTERS[family(name)]:
            m, g = number(modelled.get(name), key), number((measured or {}).get(name), key)
            if not m and not g and key not in COUNTERS[family(name)][:2]:
                continue
            yield name, key, m, g


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__.splitlines()[2], file=sys.stderr)
        return 2
    modelled = kernels_of(arguments[1])
    measured = kernels_of(arguments[2]) if len(arguments) == 3 else None
    unknown = [n for n in list(modelled) + list(measured or {}) if family(n) not in COUNTERS]
    if unknown:
        print("not of gpu-calibrate: %s" % ", ".join(sorted(set(unknown))), file=sys.stderr)
        return 1
    equal = both = holes = 0
    print("| kernel | counter | modelled | measured | |")
    print("|---|---|--:|--:|---|")
    for name, key, m, g in rows(modelled, measured):
        verdict = ""
        if m is not None and g is not None:
            both += 1
            equal += m == g
            verdict = "=" if m == g else "×%.3g" % (g / m) if m else "≠"
        elif measured is not None and g is None:
            holes += 1
            verdict = "not measured"
        elif m is None:
            verdict = "not modelled"
        print("| `%s` | `%s` | %s | %s | %s |" % (title(name), key, show(m), show(g), verdict))
    print()
    seen = len(measured if measured is not None else set(modelled))
    print("%d kernels; %s" % (seen, "%d of %d counts equal" % (equal, both) if measured is not None else "no GPU: nothing to compare with"))
    return 1 if holes or (measured is not None and seen != EXPECTED) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
