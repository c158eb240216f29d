#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_roofline.sh: `warpsight export --format roofline-*` of the recorded H200 session: every kernel at every level,
# ceilings and ridges, pictures that are well-formed whatever a kernel is called, "not measured" without the table.
set -u
cd "$(dirname "$0")/../.." || exit 1
ws=$PWD/${B:-build}/warpsight
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/roofline-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/db WARPSIGHT_SPOOL=$scratch/spool
"$ws" import tests/flow/h200-kernels.wscap >"$scratch/log" 2>&1 || { echo "FAIL recorded session imports"; exit 1; }
cd "$scratch" || exit 1
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2"; tail -n 20 log; fi; }
# export_all SUFFIX: the four formats as SUFFIX.csv, .json, .svg, .gp, and the report as SUFFIX.report
export_all() {
    "$ws" report --json >"$1.report" && "$ws" export --format roofline-csv -o "$1.csv" &&
        "$ws" export --format roofline-json -o "$1.json" && "$ws" export --format roofline-svg -o "$1.svg" &&
        "$ws" export --format roofline-gnuplot -o "$1.gp"
}
export_all a >log 2>&1
result $? "all four formats are written"

python3 - >log 2>&1 <<'PY'
import csv, json

rows = list(csv.DictReader(open("a.csv", newline="")))
data = json.load(open("a.json"))
report = json.load(open("a.report"))
want = {(k["id"], p["level"], p["precision"]): p for k in report["kernels"] for p in k["roofline"]["points"]}
got = {(int(r["kernel_id"]), r["level"], r["precision"]): r for r in rows if r["level"]}
assert want.keys() == got.keys() and len(got) == sum(1 for r in rows if r["level"])
assert {(p["kernel"], p["level"], p["precision"]) for p in data["points"]} == want.keys()
assert {int(r["kernel_id"]) for r in rows} == {k["id"] for k in report["kernels"]}
for key, p in want.items():
    r = got[key]
    for name in ("intensity", "flop_rate", "roof", "percent", "ridge", "sheet_roof", "sheet_percent", "sheet_ridge"):
        assert (float(r[name]) if r[name] else None) == p[name], (key, name)
    assert r["roof_source"] == p["roof_source"] and r["bound"] == p["bound"]
    assert r["above_roof"] == {True: "true", False: "false", None: ""}[None if p["percent"] is None else p["percent"] > 1]
    assert p["above_roof"] == (p["percent"] is not None and p["percent"] > 1)
device = data["devices"][0]
ceiling = {c["key"]: c for c in device["ceilings"]}
assert device["uuid"].startswith("GPU-") and ceiling["dram_read"]["clock_hz"] > 1e9
assert max(ceiling[k]["measured"] for k in ("dram_read", "dram_write", "dram_copy")) >= 4.0e12
assert ceiling["fp32"]["measured"] >= 55e12 and ceiling["fp64"]["measured"] >= 28e12
assert ceiling["tensor_bf16"]["measured"] >= 600e12
assert ceiling["fp32"]["sheet"] != ceiling["fp32"]["measured"] and ceiling["l2_read"]["sheet"] is None
ridge = {(r["level"], r["precision"]): r for r in device["ridges"]}[("DRAM", "fp32")]
assert abs(ridge["measured"] - ceiling["fp32"]["measured"] / ceiling["dram_read"]["measured"]) < 1e-9
assert 13 < ridge["sheet"] < 15
name = {k["name"]: k["id"] for k in report["kernels"]}
add = got[(name["vec_add"], "L1", "fp32")]
assert abs(float(add["intensity"]) - 1 / 12) < 1e-12 and add["uuid"] == device["uuid"]
assert got[(name["vec_add"], "DRAM", "fp32")]["bound"] == "memory"
assert float(got[(name["fma_peak"], "DRAM", "fp32")]["percent"]) > 0.85
assert got[(name["fma_peak"], "DRAM", "fp32")]["bound"] == "compute"
assert not any(p["precision"] == "fp16" for p in data["points"]), "no reference kernel computes in FP16"
PY
result $? "CSV and JSON hold every point of the report, ceilings as measured, ridges"

# What a picture must be, whatever the names are.
cat >picture.py <<'PY'
import re, sys, xml.dom.minidom

tree = xml.dom.minidom.parse(sys.argv[1] + ".svg")
names = {e.tagName for e in tree.getElementsByTagName("*")}
assert names <= {"svg", "title", "style", "rect", "text", "tspan", "g", "path", "circle"}, names
for e in tree.getElementsByTagName("*"):
    for a in e.attributes.keys():
        assert not a.startswith("on") and "href" not in a, a
svg = open(sys.argv[1] + ".svg", encoding="utf-8").read()
assert "prefers-color-scheme:dark" in svg and "url(" not in svg and not re.search(r"\b(nan|inf)\b", svg.replace("inf=", ""))
blocks, name, plots = {}, None, []
for line in open(sys.argv[1] + ".gp", encoding="utf-8").read().split("\n"):
    if name:
        if line == "EOD":
            name = None
        else:
            assert re.fullmatch(r'(?:# .*|)|[-+0-9.e]+ [-+0-9.e]+(?: (?:[-+0-9.e]+|NaN))?(?: "[^"\\`@\x00-\x1f]*")?', line), line
            blocks[list(blocks)[-1]].append(line)
    elif m := re.fullmatch(r"(\$\w+) << EOD", line):
        name = m.group(1)
        blocks[name] = []
    else:
        assert re.match(r'(#|if |set |unset |plot |     |$)', line), line
        assert "`" not in line and "@" not in line and "system" not in line, line
        plots += re.findall(r"\$\w+", line)
assert name is None and set(plots) == set(blocks) and all(blocks.values())
PY
python3 picture.py a >log 2>&1
result $? "the SVG is well-formed and self-contained, the gnuplot script reads nothing but its own data"
python3 - >log 2>&1 <<'PY'
import json, xml.dom.minidom

tree = xml.dom.minidom.parse("a.svg")
marks = sum("dot" in e.getAttribute("class").split() for e in tree.getElementsByTagName("*"))
points = json.load(open("a.json"))["points"]
panels = len({p["precision"] for p in points})
drawn = sum(1 for p in points if p["intensity"] and p["flop_rate"])
assert marks == drawn + 3 * panels, (marks, drawn, panels)  # three more in the legend of each panel
text = " ".join(c.data for t in tree.getElementsByTagName("text") for c in t.childNodes if c.nodeType == c.TEXT_NODE)
for word in ("NVIDIA H200", "Roofs measured on this GPU", "data sheet", "ridge", "arithmetic intensity", "fp32", "DRAM"):
    assert word in text, word
rings = sum(e.getAttribute("class") == "doubt" for e in tree.getElementsByTagName("circle"))
above = [p for p in points if p["above_roof"]]
assert rings == len(above) + len({p["precision"] for p in above})
PY
result $? "the SVG has a mark for every point, labelled roofs, and a ring for every point above its roof"
if command -v gnuplot >/dev/null; then
    # In the C locale it warns that it has no degree sign, and draws all the same.
    LC_ALL=C.UTF-8 gnuplot a.gp >plot.svg 2>log && grep -q '<svg' plot.svg && [ ! -s log ]
    result $? "gnuplot draws the script"
else
    echo "SKIP gnuplot draws the script (no gnuplot)"
fi

"$ws" export --format roofline-csv -k vec_add >one.csv 2>log && [ "$(cut -d, -f2 one.csv | sort -u | grep -c vec_add)" -eq 1 ]
result $? "--kernel takes one kernel"
"$ws" export --format roofline-csv -k vec_addd >out 2>log
[ $? -eq 1 ] && grep -q "nearest names are 'vec_add'" log
result $? "--kernel that fits nothing names the nearest"
"$ws" export --format capture -k vec_add -o x.wscap >out 2>log
[ $? -eq 2 ] && [ "$(wc -l <log)" -eq 1 ]
result $? "a capture is not filtered"

sqlite3 "$WARPSIGHT_DB" "UPDATE kernel SET mangled = '</text><script>alert(1)</script>&\"''' || id WHERE id % 4 = 0;
UPDATE kernel SET mangled = 'x' || char(10) || 'EOD' || char(10) || '!touch pwned' || char(10) || '\`touch pwned\`' || id WHERE id % 4 = 1;
UPDATE kernel SET mangled = CAST(x'ff1b5b33316d22eda080efbfbe' AS TEXT) || id WHERE id % 4 = 2;
UPDATE kernel SET mangled = '\" title system(\"touch pwned\") @x' || printf('%.2000c', 'w') || id WHERE id % 4 = 3;
UPDATE session SET name = '<b>&]]>'" 2>log && export_all b >>log 2>&1 && python3 picture.py b >>log 2>&1 &&
    python3 -c 'import csv; assert all(None not in r and None not in r.values() for r in csv.DictReader(open("b.csv", newline="", errors="replace")))' 2>>log
result $? "hostile names break neither SVG nor gnuplot nor CSV"
if command -v gnuplot >/dev/null; then
    gnuplot b.gp >plot.svg 2>log && grep -q '<svg' plot.svg && [ ! -e pwned ]
    result $? "hostile names run nothing in gnuplot"
else
    echo "SKIP hostile names run nothing in gnuplot (no gnuplot)"
fi

sqlite3 "$WARPSIGHT_DB" "DELETE FROM ceiling" 2>log && export_all c >>log 2>&1 && python3 picture.py c >>log 2>&1 &&
    python3 - >>log 2>&1 <<'PY'
import csv, json

rows = [r for r in csv.DictReader(open("c.csv", newline="", errors="replace")) if r["level"]]
assert rows and all(r["roof_source"] == "not-measured" and r["roof"] == r["percent"] == r["ridge"] == r["above_roof"] == "" for r in rows)
assert any(r["sheet_roof"] for r in rows)
data = json.load(open("c.json", errors="replace"))
assert all(c["measured"] is None and c["why"] == "not-measured" for c in data["devices"][0]["ceilings"])
assert all(p["roof"] is None and p["roof_source"] == "not-measured" and p["bound"] == "unknown" for p in data["points"])
assert all(r["measured"] is None and r["sheet"] for r in data["devices"][0]["ridges"])
for k in json.load(open("c.report", errors="replace"))["kernels"]:
    assert all(p["roof_source"] == "not-measured" and p["roof"] is None and p["percent"] is None for p in k["roofline"]["points"])
    assert all(t["ceiling"] is None and t["percent"] is None for t in k["roofline"]["traffic"])
assert "Roofs of this GPU: not measured" in open("c.svg").read() and "roofs not measured" in open("c.gp").read()
PY
result $? "without the table of ceilings every format and the report say: not measured"

sqlite3 "$WARPSIGHT_DB" "DELETE FROM metric" 2>log
"$ws" export --format roofline-svg -o d.svg 2>>log && grep -q 'No kernel has a point' d.svg && python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("d.svg")' 2>>log &&
    "$ws" export --format roofline-csv 2>>log | grep -q 'input-missing: fp32_add' && ! "$ws" export --format roofline-gnuplot >out 2>err && [ "$(wc -l <err)" -eq 1 ]
result $? "a session without counters says why it has no point"
