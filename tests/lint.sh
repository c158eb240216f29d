#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lint.sh: what the compiler does not check. Called by `make lint`, with B = build folder (libanalyzer.a and the
# generated headers are built), CUDA_INC, CUPTI_INC = include folders or empty, LINT_JOBS = processes (2).
# Prints PASS or FAIL per check and why; nothing is written outside a scratch folder. Arguments pick checks by name.
# Add a check: a function check_<name> that prints what is wrong and nothing else; it is found by its name.
# A tests folder may bring its own: tests/<folder>/lint_<name>.sh, same rules.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${B:=build}" "${CUDA_INC:=}" "${CUPTI_INC:=}" "${LINT_JOBS:=2}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Tracked or new files, but not ignored ones, that are really there.
files() { git ls-files -co --exclude-standard -- "$@" | while read -r f; do [ -f "$f" ] && echo "$f"; done; }

# The files that may see a CUDA header.
cuda_files='^(collector/(inject|collection|activity|counters|sampling|timeline|translate)\.c|kernels/|tests/)'

# --- form ----------------------------------------------------------------------------------------
check_format() {
    command -v clang-format >/dev/null || { echo "clang-format is missing: run 'make deps'"; return; }
    files '*.c' '*.h' | xargs -r clang-format --dry-run 2>&1 | grep -E 'warning:' | sed 's/: warning.*/: run make format/' | sort -u -t: -k1,1
}

# Every source opens with its licence; a header's guard is WS_<FOLDER>_<FILE>_H, or its head says why it has none.
check_heads() {
    files '*.c' '*.h' '*.cu' '*.cuh' '*.def' '*.sh' '*.mk' '*.sql' '*.map' '*.py' Makefile .clang-tidy '*/.clang-tidy' |
        xargs -r awk 'FNR == 1 { seen = 0 } FNR <= 2 && /SPDX-License-Identifier: MIT/ { seen = 1 } FNR == 2 && !seen { print FILENAME ": no SPDX line in the first two" }'
    files '*.h' | while read -r header; do
        guard=WS_$(echo "${header%.h}" | tr 'a-z/.-' 'A-Z___')_H
        grep -qx "#ifndef $guard" "$header" || head -n 8 "$header" | grep -q 'No guard:' || echo "$header: the guard must be $guard"
    done
}

# A path of somebody's machine in a file that everybody gets.
check_paths() {
    local places='work|root'
    files | xargs -r grep -InE "(^|[^A-Za-z0-9_.])/($places)(/|\$|[^A-Za-z0-9_/])" 2>/dev/null
}

# --- who may include whom ------------------------------------------------------------------------
# file:line:folder of the file:included name, one a line; comments and strings do not matter here.
includes() {
    files '*.c' '*.h' '*.cu' '*.cuh' '*.def' | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
        sed -E 's/^([^:]+):([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*(.*)$/\1 \2 \3/'
}

check_includes() {
    includes | awk -v cuda="$cuda_files" '
        function folder(path) { return substr(path, 1, index(path, "/") - 1) }
        # The path of an included name as seen from a file: beside it, or from the top.
        function resolve(from, name,    dir) {
            if (name ~ /^(analyzer|collector|server|kernels|tests)\//) return name
            dir = from; sub(/[^\/]*$/, "", dir)
            while (name ~ /^\.\.\//) { sub(/^\.\.\//, "", name); sub(/[^\/]+\/$/, "", dir) }
            return dir name
        }
        BEGIN {
            # from -> folders it may include; its own is always allowed
            allowed["analyzer"] = allowed["kernels"] = ""
            allowed["collector"] = "analyzer"
            allowed["server"] = "analyzer collector"
            allowed["tests"] = "analyzer collector server"
            # the pure part needs no more of the library than this: no files, no clock, no heap
            split("assert.h float.h limits.h math.h stdbool.h stddef.h stdint.h stdio.h string.h", names, " ")
            for (i in names) is_pure[names[i]] = 1
        }
        {
            file = $1; target = $3; from = folder(file); name = substr(target, 2, length(target) - 2)
            where = file ":" $2 ": "
            if (target ~ /^</) {
                if (from == "analyzer" && !(name in is_pure)) print where "analyzer/ does not include <" name ">"
                if (name ~ /^(cuda|cupti|nvperf|nvtx|nvml|nvToolsExt|device_launch|mma\.h)/) sees[file] = "<" name ">"
                next
            }
            if (target !~ /^"/) next # a macro
            to = resolve(file, name)
            if (folder(to) != from && index(" " allowed[from] " ", " " folder(to) " ") == 0) print where from "/ does not include " to
            edge[++edges] = file SUBSEP to
        }
        END {
            # a header that includes a CUDA header is one
            do {
                grown = 0
                for (i = 1; i <= edges; i++) {
                    split(edge[i], end, SUBSEP)
                    if ((end[2] in sees) && !(end[1] in sees)) { sees[end[1]] = end[2]; grown = 1 }
                }
            } while (grown)
            for (file in sees) if (file ~ /\.c$/ && file !~ cuda) print file " sees a CUDA header through " sees[file]
        }'
}

# --- purity of analyzer/ -------------------------------------------------------------------------
# What the archive may ask of libc and libm. Nothing here opens, allocates, waits or reads a clock.
pure_calls='memchr memcmp memcpy memmove memset strchr strcmp strcspn strlen strncmp strspn strstr snprintf
    ceil exp2 fabs floor fmax fmin fmod log log10 log2 pow round sqrt'
# What compilers add: stack protector, checked variants, position independence.
compiler_calls='__popcountdi2 __stack_chk_fail __snprintf_chk __memcpy_chk _GLOBAL_OFFSET_TABLE_'

check_purity() {
    local lib="$B/libanalyzer.a"
    [ -f "$lib" ] || { echo "$lib is not built"; return; }
    nm -g --defined-only "$lib" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/defined"
    # shellcheck disable=SC2086
    printf '%s\n' $pure_calls $compiler_calls | sort -u >"$scratch/allowed"
    nm -u -A "$lib" 2>/dev/null | awk '{ n = split($1, part, ":"); print $NF, part[2] }' | sort -u |
        while read -r symbol object; do
            grep -qx -- "$symbol" "$scratch/defined" "$scratch/allowed" || echo "$object calls $symbol, which is not on the list"
        done
    # Re-entrant: no variable that outlives a call. Constant tables lie in .rodata and .data.rel.ro.
    size -A "$lib" | awk '/\(ex / { object = $1 } $1 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 { print object " has " $2 " bytes of variables in " $1 }'
}

# --- environment ---------------------------------------------------------------------------------
check_getenv() {
    files 'collector/*.c' 'collector/*.h' | grep -v '^collector/settings\.c$' |
        xargs -r grep -nE '(^|[^A-Za-z0-9_])(secure_)?getenv[[:space:]]*\(' /dev/null | sed 's/$/   <- only collector\/settings.c reads the environment/'
}

# --- clang-tidy ----------------------------------------------------------------------------------
# A check that is switched off without a reason, or a reason without the check.
check_reasons() {
    files .clang-tidy '*/.clang-tidy' | while read -r file; do
        sed -n '/^Checks:/,/^[A-Z]/p' "$file" | grep -oE '(^|[ ,])-[a-z][A-Za-z0-9.*-]+' | tr -d ' ,' | sort -u >"$scratch/off"
        grep -oE '^# -[a-z][A-Za-z0-9.*-]+: .{10}' "$file" | sed -E 's/^# (-[^:]+):.*/\1/' | sort -u >"$scratch/reasons"
        comm -3 "$scratch/off" "$scratch/reasons" | sed "s#^#$file: switched off without a reason, or the reverse: #"
    done
}

# A file that was clean is not looked at again while what the compiler reads of it, the rules and the tool stay the same:
# build/tidy holds an empty file for each, named by their hash.
tidy_key() {
    local rules=.clang-tidy text
    case $1 in tests/*) rules=$(ls .clang-tidy tests/.clang-tidy "${1%/*}/.clang-tidy" 2>/dev/null) ;; esac
    # shellcheck disable=SC2086
    text=$(clang -E -C -std=c11 -D_GNU_SOURCE -I. -I"$B/gen" $TIDY_FLAGS "$1" 2>/dev/null) || return 1
    # shellcheck disable=SC2086
    { printf '%s\n' "$text" "$TIDY_VERSION" "$TIDY_FLAGS" && cat $rules; } | sha256sum | cut -c1-64
}

tidy_one() {
    local out key
    key=$(tidy_key "$1") && [ -e "$B/tidy/$key" ] && return
    # One process a file: clang 14 reports va_list wrongly when it is given several.
    # shellcheck disable=SC2086
    if out=$(clang-tidy --quiet "$1" -- -std=c11 -D_GNU_SOURCE -I. -I"$B/gen" $TIDY_FLAGS 2>/dev/null); then
        [ -z "$key" ] || : >"$B/tidy/$key"
    else
        printf '%s\n' "$out" | grep -E ': (error|warning): ' | sed -e "s#$PWD/##g" -e 's/,-warnings-as-errors\]/]/'
    fi
}

check_tidy() {
    command -v clang-tidy >/dev/null || { echo "clang-tidy is missing: run 'make deps'"; return; }
    TIDY_FLAGS="$(pkg-config --cflags sqlite3 libcjson libmicrohttpd 2>/dev/null) $(pkg-config --cflags libpq 2>/dev/null)"
    if [ -n "$CUPTI_INC" ]; then
        TIDY_FLAGS+=" -isystem collector/compat -isystem $CUPTI_INC -isystem $CUDA_INC"
    fi
    TIDY_VERSION=$(clang-tidy --version | sha256sum)
    mkdir -p "$B/tidy"
    export -f tidy_one tidy_key
    export TIDY_FLAGS TIDY_VERSION B
    # The longest first, so that the last process is not left alone with one.
    # shellcheck disable=SC2016
    files '*.c' | { if [ -n "$CUPTI_INC" ]; then cat; else grep -vE "$cuda_files"; fi; } |
        xargs -r wc -c | grep -v ' total$' | sort -rn | awk '{ print $2 }' | xargs -r -P "$LINT_JOBS" -I{} bash -c 'tidy_one "$1"' _ {} |
        sort -u
}

# --- run -----------------------------------------------------------------------------------------
status=0
report() { # name, file with what is wrong
    if [ -s "$2" ]; then
        head -n 60 "$2" | sed 's/^/    /'
        echo "FAIL $1"
        status=1
    else
        echo "PASS $1"
    fi
}
wanted() { [ $# -eq 1 ] || [[ " ${*:2} " == *" $1 "* ]]; }

for name in format heads paths includes purity getenv reasons tidy; do
    wanted "$name" "$@" || continue
    "check_$name" >"$scratch/out" 2>&1
    report "$name" "$scratch/out"
done
for script in tests/*/lint_*.sh; do
    name=$(basename "$script" .sh)
    name=${name#lint_}
    [ -x "$script" ] && wanted "$name" "$@" || continue
    B=$B "$script" >"$scratch/out" 2>&1
    report "$name" "$scratch/out"
done
exit $status
