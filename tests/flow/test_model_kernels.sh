#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_model_kernels.sh: `warpsight kernels model` and `kernels verify --model`: the reference kernels through the SIMT
# model, held against the known answers that judge a GPU. No GPU, no CUDA toolkit. The six slowest files are left out
# (tests/unit/test_model_kernels.c has most of them); WS_MODEL_ALL=1 takes them, too.
set -u
cd "$(dirname "$0")/../.." || exit 1
W=$(realpath "${B:-build}/warpsight")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB=$scratch/db WARPSIGHT_SPOOL=$scratch/spool
status=0
check() { # name, then the reason why it failed, empty if it passed
    if [ -z "$2" ]; then echo "PASS $1"; else printf '%s\nFAIL %s\n' "$2" "$1"; status=1; fi
}

mapfile -t files < <(cd kernels/ptx && printf '%s\n' *.json | sed 's/\.json$//')
mapfile -t quick < <(printf '%s\n' "${files[@]}" | grep -vxE 'chase|const_index|gemv|matmul|occupancy|sfu')
[ -n "${SAN:-}" ] && quick=(block_257 full_kernel reduce_tree transpose vec_add_tail) # 20 times slower
[ -n "${WS_MODEL_ALL:-}" ] && quick=("${files[@]}")

# --- verify --model ------------------------------------------------------------------------------
problem=''
"$W" kernels verify --model "${quick[@]}" --threads 2 --json >"$scratch/verify.json" 2>"$scratch/err" || problem="exit status $?: $(cat "$scratch/err")"
problem+=$(python3 - "$scratch/verify.json" "${quick[@]}" <<'P' 2>&1
import json, sys
d, names = json.load(open(sys.argv[1])), set(sys.argv[2:])
need = [l for l in d["lines"] if l["verdict"] == "needs a GPU"]
assert d["source"] == "modelled" and d["verified"], d["source"]
assert (d["broken"], d["not_judged"]) == (0, 0), [l for l in d["lines"] if l["verdict"] not in ("holds", "needs a GPU")]
assert {l["file"] for l in d["lines"]} == names, {l["file"] for l in d["lines"]} ^ names
assert d["holds"] == len(d["lines"]) - len(need) and d["needs_gpu"] == len(need)
assert all(any(l["file"] == n and l["verdict"] == "holds" for l in d["lines"]) for n in names)
gpu_only = ("duration", "dram_", "l1_hit", "l2_", "stall_", "inst_executed", "thread", "sm_", "pipe_", "achieved", "local_")
for l in need:
    assert l.get("value") is None and l["measured"] == "nothing: needs a GPU", l
    assert l["kind"] != "value" or l["key"].startswith(gpu_only), l
for l in d["lines"]:
    assert l["kind"] != "value" or l["verdict"] != "holds" or l["value"] is not None, l
P
)
check every_count_of_the_modelled_kernels_is_as_expected "$problem"

problem=''
"$W" kernels verify --model transpose barrier >"$scratch/out" 2>"$scratch/err" || problem+="exit status $?"$'\n'
grep -qE '^session [0-9]+ \(kernels-verify-model, modelled\): [0-9]+ expectations hold, 0 broken, 0 not judged, [0-9]+ need a GPU ' "$scratch/out" || problem+="no summary"$'\n'
grep -qE '^(unknown|broken|no launch|Scorecard)' "$scratch/out" && problem+="lines that need a GPU are reported as open"$'\n'
"$W" kernels verify --model --all barrier >"$scratch/all" 2>/dev/null
grep -qE '^needs a GPU +barrier_slow .* modelled nothing: needs a GPU$' "$scratch/all" || problem+="--all does not show what needs a GPU"$'\n'
[ -z "$problem" ] || problem+=$(cat "$scratch/out" "$scratch/err")
check what_needs_a_gpu_is_told_apart_in_one_word "$problem"

# A host program is judged by a session of its own, which only a GPU gives.
problem=''
"$W" kernels verify kernels-verify-model --json >"$scratch/whole.json" 2>"$scratch/err"
python3 - "$scratch/whole.json" <<'P' || problem="host programs are not told apart"
import json, sys
lines = [l for l in json.load(open(sys.argv[1]))["lines"] if l["id"].startswith("H")]
assert lines and {l["verdict"] for l in lines} == {"needs a GPU"}, {l["verdict"] for l in lines}
P
check host_programs_need_a_gpu "$problem"

# --- the table of docs/model.md ------------------------------------------------------------------
problem=''
"$W" report kernels-verify-model --json >"$scratch/small.json" # the newest of that name: barrier
"$W" report 1 --json >"$scratch/modelled.json" && "$W" import tests/flow/h200-kernels.wscap >/dev/null &&
    "$W" report h200-kernels --json >"$scratch/measured.json" && "$W" list metrics --json >"$scratch/metrics.json" || problem+="no reports"$'\n'
table() { tests/flow/model_table.py "$1" "$2" "$scratch/metrics.json" "$scratch/measured.json" "$3" 2>&1; }
problem+=$(table tests/flow/model-kernels.json docs/model.md "$scratch/modelled.json")
check the_table_of_docs_model_md_is_what_is_modelled_and_measured "$problem"

problem=''
sed '0,/"gld_sectors": 33792/s//"gld_sectors": 33793/' tests/flow/model-kernels.json >"$scratch/counts.json"
table "$scratch/counts.json" docs/model.md "$scratch/small.json" >"$scratch/out" && problem+="another count passes"$'\n'
grep -q 'gld_sectors: modelled 33793, measured 33792, and no reason' "$scratch/out" || problem+="not said: $(cat "$scratch/out")"$'\n'
sed 's/33,792/33,793/' docs/model.md >"$scratch/model.md"
table tests/flow/model-kernels.json "$scratch/model.md" "$scratch/small.json" | grep -q 'make model-table' || problem+="another table passes"$'\n'
sed '0,/"gld_sectors": {[^}]*"value": [0-9]*/s//"gld_sectors": {"value": 7/' "$scratch/small.json" >"$scratch/other.json"
table tests/flow/model-kernels.json docs/model.md "$scratch/other.json" | grep -q 'gld_sectors: modelled 7, ' || problem+="a model that counts otherwise passes"$'\n'
check a_stale_table_fails "$problem"

# --- it can fail ---------------------------------------------------------------------------------
# A copy of the program beside kernels whose launch, PTX or file is not what the answers were counted for.
problem=''
mkdir -p "$scratch/tree/build" "$scratch/tree/kernels/ptx"
cp "$W" "$scratch/tree/build/" && cp kernels/ptx/{vec_add,transpose}.* "$scratch/tree/kernels/ptx/"
V=$scratch/tree/build/warpsight
"$V" kernels verify --model transpose >/dev/null 2>&1 || problem+="the copy does not verify"$'\n'
sed -i 's/"grid": *\[32, *32/"grid": [32, 31/' "$scratch/tree/kernels/ptx/transpose.json"
"$V" kernels verify --model transpose >"$scratch/out" 2>&1
[ $? -eq 1 ] || problem+="a changed grid passes"$'\n'
grep -qE '^broken .*gld_sectors == [0-9]+ .*modelled [0-9]+' "$scratch/out" || problem+="the broken count is not told: $(cat "$scratch/out")"$'\n'
sed -i '0,/ld\.global/s//ld.global.frob/' "$scratch/tree/kernels/ptx/transpose.ptx"
"$V" kernels verify --model transpose >"$scratch/out" 2>&1
[ $? -eq 1 ] || problem+="a refused kernel passes"$'\n'
rm "$scratch/tree/kernels/ptx/transpose.json"
"$V" kernels verify --model transpose >"$scratch/out" 2>&1
[ $? -eq 1 ] || problem+="a missing file passes"$'\n'
check a_wrong_count_a_refusal_and_a_missing_file_fail "$problem"

# --- model ---------------------------------------------------------------------------------------
problem=''
"$W" kernels model transpose vec_add_tail -q --json >"$scratch/a.json" || problem+="exit status $?"$'\n'
"$W" model --bundled transpose vec_add_tail -q --json >"$scratch/b.json" || problem+="model --bundled: exit status $?"$'\n'
python3 - "$scratch/a.json" "$scratch/b.json" <<'P' || problem+="the reports are not as they should be"$'\n'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert a["session"]["source"] == "modelled" and a["session"]["name"] == "kernels-model"
m = lambda r: {k["name"]: k["metrics"] for k in r["kernels"]}
assert sorted(m(a)) == ["transpose_naive", "transpose_tile<32>", "transpose_tile<33>", "vec_add_tail"]
assert m(a) == m(b)
P
check kernels_model_is_model_bundled "$problem"

problem=''
says() { # expected status, text on stderr, arguments
    local want=$1 text=$2 got
    shift 2
    "$W" "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ $got -eq "$want" ] || problem+="'$*': exit status $got, want $want"$'\n'
    grep -qF -- "$text" "$scratch/err" || problem+="'$*' says: $(cat "$scratch/err")"$'\n'
}
says 1 "no bundled kernel 'transpos'; did you mean 'transpose'?" kernels model transpos
says 1 "no bundled kernel 'transpos'" kernels verify --model transpos
says 2 "belong to" kernels model --spec x.json
says 2 "--threads" kernels verify --model --threads 0
says 2 "say list, model or verify" kernels --json model
"$W" kernels model --help | grep -q "^usage: warpsight kernels model " || problem+="no help"$'\n'
check usage_errors_say_what_is_wrong "$problem"
exit $status
