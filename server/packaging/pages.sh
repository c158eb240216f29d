#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pages.sh: man pages and completions from the option tables inside the program (`warpsight COMMAND --describe`).
# usage: server/packaging/pages.sh PROGRAM OUT VERSION    writes OUT/man/*.1, OUT/bash/warpsight, OUT/zsh/_warpsight
# Nothing is written down here that a table says: add an option to its command, and it is in all three.
set -eu
program=$1 out=$2 version=$3
facts=$(mktemp -d)
trap 'rm -rf "$facts"' EXIT
rm -rf "$out"
mkdir -p "$out/man" "$out/bash" "$out/zsh"
"$program" --describe >"$facts/commands"
mapfile -t commands < <(cut -f 2 "$facts/commands")
for command in "${commands[@]}"; do
    "$program" "$command" --describe >"$facts/$command"
done

# --- man: roff. A leading point or quote, a backslash and a minus mean something to it. ---
roff='function esc(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); sub(/^[.\x27]/, "\\\\&&", s); return s }'
for command in "${commands[@]}"; do
    line=$(awk -F '\t' -v c="$command" '$2 == c { print $3 }' "$facts/commands")
    awk -F '\t' -v command="$command" -v line="$line" -v version="$version" "$roff"'
        BEGIN { printf ".TH WARPSIGHT\\-%s 1 \"\" \"WarpSight %s\" \"User Commands\"\n.SH NAME\nwarpsight\\-%s \\- %s\n", toupper(command), version, command, esc(line) }
        $1 == "usage" { printf ".SH SYNOPSIS\n.B warpsight %s\n%s\n.SH DESCRIPTION\n", command, esc($2) }
        $1 == "about" { print $2 ~ /^ / ? ".nf\n" esc($2) "\n.fi" : esc($2) "\n.br" }
        $1 == "option" {
            if (!options++) print ".SH OPTIONS"
            printf ".TP\n.B %s\\-\\-%s%s\n%s\n", $3 == "-" ? "" : "\\-" $3 ", ", esc($2), $4 == "-" ? "" : " " esc($4), esc($5)
        }
        END {
            if (!options) print ".SH OPTIONS"
            print ".TP\n.B \\-h, \\-\\-help\nthis text\n.SH SEE ALSO\n.BR warpsight (1)"
        }' "$facts/$command" >"$out/man/warpsight-$command.1"
done
awk -F '\t' -v version="$version" "$roff"'
    BEGIN { printf ".TH WARPSIGHT 1 \"\" \"WarpSight %s\" \"User Commands\"\n.SH NAME\nwarpsight \\- why is this CUDA kernel slow, and what to change\n.SH SYNOPSIS\n.B warpsight\n.I COMMAND\n[options]\n.SH COMMANDS\n", version }
    { printf ".TP\n.BR warpsight\\-%s (1)\n%s\n", $2, esc($3) }' "$facts/commands" >"$out/man/warpsight.1"

# --- completions ---
# The words that an option of a command takes: for FORMAT the indented list of its description.
words() { awk -F '\t' '$1 == "about" && $2 ~ /^  [a-z]/ { split(substr($2, 3), w, " "); printf "%s%s", n++ ? " " : "", w[1] }' "$facts/$1"; }
{
    echo "# completion of warpsight for bash; generated from its option tables"
    echo "_warpsight() {"
    echo "    local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}"
    echo "    COMPREPLY=()"
    echo "    if [ \"\$COMP_CWORD\" -eq 1 ]; then"
    echo "        mapfile -t COMPREPLY < <(compgen -W '${commands[*]} --help --version' -- \"\$word\")"
    echo "        return"
    echo "    fi"
    echo "    case \"\${COMP_WORDS[1]} \$before\" in"
    for command in "${commands[@]}"; do
        list=$(words "$command")
        [ -z "$list" ] || awk -F '\t' -v c="$command" -v list="$list" '$1 == "option" && $4 == "FORMAT" {
            printf "    \"%s --%s\"%s) mapfile -t COMPREPLY < <(compgen -W \x27%s\x27 -- \"$word\"); return ;;\n", c, $2, $3 == "-" ? "" : " | \"" c " -" $3 "\"", list }' "$facts/$command"
    done
    echo "    esac"
    echo "    case \$word in"
    echo "    -*) ;;"
    echo "    *) mapfile -t COMPREPLY < <(compgen -f -- \"\$word\"); return ;;"
    echo "    esac"
    echo "    case \${COMP_WORDS[1]} in"
    for command in "${commands[@]}"; do
        options=$(awk -F '\t' '$1 == "option" { printf "--%s ", $2; if ($3 != "-") printf "-%s ", $3 }' "$facts/$command")
        echo "    $command) mapfile -t COMPREPLY < <(compgen -W '$options--help' -- \"\$word\") ;;"
    done
    echo "    esac"
    echo "}"
    echo "complete -o filenames -F _warpsight warpsight"
} >"$out/bash/warpsight"
{
    echo "#compdef warpsight"
    echo "# completion of warpsight for zsh; generated from its option tables"
    echo "local -a commands; commands=("
    awk -F '\t' '{ gsub(/\x27/, "", $3); gsub(/:/, "\\:", $3); printf "    \x27%s:%s\x27\n", $2, $3 }' "$facts/commands"
    echo ")"
    echo "if (( CURRENT == 2 )); then _describe command commands; return; fi"
    echo "case \$words[2] in"
    for command in "${commands[@]}"; do
        echo "$command) shift words; (( CURRENT-- )); _arguments -s \\"
        awk -F '\t' -v list="$(words "$command")" '$1 == "option" {
            doc = $5; gsub(/\x27/, "", doc); gsub(/\[|\]|:|\\/, "\\\\&", doc)
            arg = $4; gsub(/\x27/, "", arg); gsub(/:|\\/, "\\\\&", arg)
            takes = $4 == "-" ? "" : ":" arg ":" ($4 == "FORMAT" && list != "" ? "(" list ")" : $4 ~ /FILE|FOLDER|DIR/ ? "_files" : " ")
            if ($3 == "-") printf "    \x27--%s%s[%s]%s\x27 \\\n", $2, takes == "" ? "" : "=", doc, takes
            else printf "    \x27(-%s --%s)\x27{-%s%s,--%s%s}\x27[%s]%s\x27 \\\n", $3, $2, $3, takes == "" ? "" : "+", $2, takes == "" ? "" : "=", doc, takes
        }' "$facts/$command"
        echo "    '(-h --help)'{-h,--help}'[this text]' '*:file:_files' ;;"
    done
    echo "esac"
} >"$out/zsh/_warpsight"
