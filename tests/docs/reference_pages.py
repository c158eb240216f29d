#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# reference_pages.py: docs/metrics.md and docs/rules.md from what `warpsight list` says: reference_pages.py PROGRAM FOLDER
# `make docs` writes them; test_docs.sh holds them against the program.
import json, subprocess, sys

program, folder = sys.argv[1], sys.argv[2]
NOTE = "<!-- Written by `make docs` from the program's own tables: change those. -->\n"


def listed(what):
    return json.loads(subprocess.run([program, "list", what, "--json"], check=True, capture_output=True).stdout)[what]


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


with open(f"{folder}/metrics.md", "w") as out:
    metrics = listed("metrics")
    print(f"# The metrics\n\n{NOTE}", file=out)
    print("Defined in [analyzer/metrics.def](../analyzer/metrics.def). Values are SI base units per launch. A metric with a formula is made from others on\n"
          "reading; the others are counters of the GPU, with their CUPTI name and the counter set that takes them.\n", file=out)
    print("| key | unit | what it is | from |\n|---|---|---|---|", file=out)
    for m in metrics:
        made = f"`{cell(m['formula'])}`" if m["formula"] else f"`{cell(m['cupti'])}`" if m["cupti"] else "the SIMT model and the occupancy model"
        group = f" ({m['set']})" if m.get("set") and not m["formula"] else ""
        print(f"| `{m['key']}` | {cell(m['unit']) or '1'} | **{cell(m['title'])}.** {cell(m['doc'])} | {made}{group} |", file=out)

    print("\n## Samples over time\n", file=out)
    print("What `warpsight run --timeline-metrics default` samples, of the whole GPU and not of a kernel; defined in\n"
          "[analyzer/pm_metrics.def](../analyzer/pm_metrics.def). Taken from the top as far as one pass of the hardware serves them:\n"
          "[tests/unit/pm_passes.golden](../tests/unit/pm_passes.golden) says what each chip lacks.\n", file=out)
    print("| key | unit | what it is | of DCGM's fields |\n|---|---|---|---|", file=out)
    for m in listed("timeline-metrics"):
        print(f"| `{m['key']}` | {cell(m['unit']) or '1'} | **{cell(m['title'])}.** {cell(m['doc'])} | {'`' + m['dcgm'] + '`' if m['dcgm'] else ''} |", file=out)

with open(f"{folder}/rules.md", "w") as out:
    print(f"# The advice rules\n\n{NOTE}", file=out)
    print("One file each in [analyzer/rules](../analyzer/rules). `warpsight explain W05` shows one with its twins and what the repair gained on a GPU.\n", file=out)
    for r in listed("rules"):
        print(f"## {r['id']}\n\n**{r['title']}** ({r['scope']}). {r['why']}\n", file=out)
        print(f"- Speaks when: {r['condition']}", file=out)
        print(f"- Says: {r['advice']}", file=out)
        if r.get("formula"):
            print(f"- Estimates: {r['formula']}", file=out)
        print(f"- Does not apply: {r['when_not']}", file=out)
        print(f"- Source: {r['source']}\n", file=out)
