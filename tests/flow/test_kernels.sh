#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_kernels.sh: what can be said of the reference kernels without a GPU: each has an .expect that names its own
# id and its own kernels, and warpsight-kernels lists and refuses as its usage says. Results need a GPU: tests/gpu.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}"
program="$B/warpsight-kernels"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
check() { # name, then the reason why it failed, empty if it passed
    if [ -z "$2" ]; then echo "PASS $1"; else printf '%s\nFAIL %s\n' "$2" "$1"; status=1; fi
}

# --- files ---------------------------------------------------------------------------------------
problem=''
for cu in kernels/*.cu; do
    stem=$(basename "$cu" .cu)
    [ "$stem" = main ] || [ -f "kernels/$stem.expect" ] || problem+="$cu has no .expect"$'\n'
done
for expect in kernels/*.expect; do
    [ -f "${expect%.expect}.cu" ] || problem+="$expect has no .cu"$'\n'
done
check every_kernel_has_an_expect_file_and_the_reverse "$problem"

problem=''
for expect in kernels/*.expect; do
    cu=${expect%.expect}.cu
    id=$(grep -v '^ *#' "$expect" | grep -m1 .)
    case $id in "id K"[0-9]* | "id H"[0-9]*) ;; *) problem+="$expect does not begin with its id"$'\n' ;; esac
    grep -q "WS_REFERENCE(\"${id#id }\", \"$(basename "$cu" .cu)\"," "$cu" || problem+="$cu registers another id or name"$'\n'
done
problem+=$(grep -h '^id ' kernels/*.expect | sort | uniq -d)
check ids_agree_and_are_used_once "$problem"

# --- PTX: made from the sources as they are ------------------------------------------------------
# build/ptx is made by `make test` where nvcc is (tests/flow/ptx.mk). Another compiler writes other text.
# Debug strings (.b8) hold a hash that depends on the folder of the build: the code is what is compared.
code() { grep -v '\.b8' "$1" | sed -E 's/_INTERNAL_[0-9a-f]+_[0-9]+_[A-Za-z_]+_[0-9a-f]+_[0-9]+/_INTERNAL_/g'; }
problem='' outdated=0
for json in kernels/ptx/*.json; do
    stem=$(basename "$json" .json)
    old="kernels/ptx/$stem.ptx" new="$B/ptx/$stem.ptx"
    if [ ! -f "$old" ] || [ ! -f "kernels/$stem.cu" ]; then
        problem+="$json lacks its .ptx or .cu"$'\n'
    elif [ -f "$new" ] && ! cmp -s <(code "$old") <(code "$new"); then
        if [ "$(grep -m1 'Compiler Build ID' "$old")" = "$(grep -m1 'Compiler Build ID' "$new")" ]; then
            problem+="$old is not what kernels/$stem.cu gives: make ptx"$'\n'
        else
            outdated=1
        fi
    fi
done
if [ ! -d "$B/ptx" ]; then
    echo "SKIP committed_ptx_is_made_from_the_sources (no nvcc: nothing to compare with)"
elif [ $outdated -eq 1 ] && [ -z "$problem" ]; then
    echo "SKIP committed_ptx_is_made_from_the_sources (another nvcc than the one that made it)"
else
    check committed_ptx_is_made_from_the_sources "$problem"
fi

if [ ! -x "$program" ]; then
    echo "SKIP warpsight_kernels_lists_and_refuses (no nvcc: the program is not built)"
    exit $status
fi

# --- program -------------------------------------------------------------------------------------
problem=''
"$program" list >"$scratch/list" 2>"$scratch/err" || problem+="list: exit status $?"$'\n'
[ -s "$scratch/err" ] && problem+="list wrote to stderr"$'\n'
"$program" list --json >"$scratch/json" || problem+="list --json: exit status $?"$'\n'
python3 - "$scratch/json" >"$scratch/names" <<'PY' || problem+="list --json is not the agreed JSON"$'\n'
import json, sys
for k in json.load(open(sys.argv[1]))["kernels"]:
    assert k["kind"] in ("kernel", "program") and k["what"] and k["variants"]
    print(k["id"], k["name"], *k["variants"])
PY
listed=$(wc -l <"$scratch/names") files=$(find kernels -name '*.expect' | wc -l)
[ "$listed" -eq "$files" ] || problem+="$listed listed, $files .expect files"$'\n'
check list_needs_no_gpu_and_names_every_file "$problem"

# Every variant is judged, and nothing else is; in the .expect of a host program its kernels may be, too.
problem=''
while read -r id stem variants; do
    judged=$(awk '$1 == "launch" { print $2 } $1 == "fires" || $1 == "quiet" { print $4 }' "kernels/$stem.expect" | sort -u)
    known=$(tr ' ' '\n' <<<"$variants" | sort -u)
    case $id in H*) judged=$(grep -xFf <(echo "$known") <<<"$judged") ;; esac
    [ "$judged" = "$known" ] || problem+="$stem: judged and listed variants differ: $(diff <(echo "$judged") <(echo "$known") | grep '^[<>]' | tr '\n' ' ')"$'\n'
done <"$scratch/names"
check every_variant_is_judged "$problem"

problem=''
refuse() { # expected status, arguments
    local want=$1 got
    shift
    "$program" "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ $got -eq "$want" ] || problem+="'$*': exit status $got, want $want"$'\n'
    [ -s "$scratch/err" ] || problem+="'$*': says nothing on stderr"$'\n'
}
refuse 2
refuse 2 nonsense
refuse 2 run
refuse 2 run no_such_kernel
refuse 2 run vec_add --repeat 0
refuse 2 run vec_add --repeat
refuse 2 run vec_add --seed -1
refuse 2 all vec_add
refuse 2 list --nonsense
check usage_errors_exit_2 "$problem"

problem=''
# An empty list of devices is the same to the runtime as no GPU.
CUDA_VISIBLE_DEVICES='' refuse 77 run vec_add
[ "$(wc -l <"$scratch/err")" -eq 1 ] || problem+="not one line: $(cat "$scratch/err")"$'\n'
check without_a_gpu_run_says_so_in_one_line_and_exits_77 "$problem"
exit $status
