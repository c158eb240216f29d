#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_packages.sh: man pages and completions say what the option tables say; `make install` under PREFIX and DESTDIR runs
# from there; the Debian package is built, installed into a root of its own, and runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
B="${B:-build}"
W="$PWD/$B/warpsight"
scratch=$(mktemp -d "${WS_SCRATCH:-/tmp}/packages.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export WARPSIGHT_DB="$scratch/db" WARPSIGHT_SPOOL="$scratch/spool"
log="$scratch/log"
: >"$log"
status=0
result() { if [ "$1" -eq 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 400 "$log")"; status=1; fi; }

# --- --version ---
"$W" --version >"$log" && head -1 "$log" | grep -qE '^warpsight [0-9.]+ \(([0-9a-f]+|unknown)\)$' && grep -qE '^SQLite +3\.' "$log" && grep -qE '^compiler ' "$log" && grep -qE '^CUDA toolkit ' "$log"
result $? "--version tells what it was built from"

# --- pages ---
pages="$scratch/pages"
server/packaging/pages.sh "$W" "$pages" 1.2.3 >"$log" 2>&1
result $? "pages are made"
lost=""
for command in $("$W" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    "$W" "$command" --help | grep -oE '^ +(-., )?--[a-z][a-z-]*' | grep -oE '\-\-[a-z-]+' | while read -r option; do
        grep -qF -- "${option//-/\\-}" "$pages/man/warpsight-$command.1" || echo "$command $option: man"
        grep -E "^    $command\) " "$pages/bash/warpsight" | grep -qF -- "$option" || echo "$command $option: bash"
        [ "$option" = --help ] || awk -v c="$command) " 'index($0, c) == 1 {on = 1} on; / ;;$/ {on = 0}' "$pages/zsh/_warpsight" | grep -qF -- "$option" || echo "$command $option: zsh"
    done >"$scratch/one"
    lost+=$(cat "$scratch/one")
done
echo "$lost" | head -5 >"$log"
[ -z "$lost" ] && [ "$(find "$pages/man" -name 'warpsight-*.1' | wc -l)" -ge 13 ]
result $? "every option of every command's --help is in its man page and both completions"
if command -v groff >/dev/null; then
    for page in "$pages"/man/*.1; do groff -k -man -ww -Tutf8 -z "$page"; done >"$log" 2>&1
    [ ! -s "$log" ]
    result $? "groff finds nothing wrong in the man pages"
else
    echo "SKIP groff: not installed"
fi
complete_of() { # WORDS…: what bash offers for the last one
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warpsight; echo "${COMPREPLY[*]}"' bash "$pages/bash/warpsight" "$@" 2>>"$log"
}
: >"$log"
[ "$(complete_of warpsight rep)" = report ] && [ "$(complete_of warpsight export --fo)" = --format ] &&
    [ "$(complete_of warpsight export --format chr)" = chrome-trace ] && [ "$(complete_of warpsight import -f n)" = "ncu-csv nsys-sqlite" ] &&
    [ "$(complete_of warpsight import READ)" = README.md ] && [ -z "$(complete_of warpsight nonsense --x)" ]
result $? "bash completes commands, options, formats and files"
if command -v zsh >/dev/null; then
    zsh -n "$pages/zsh/_warpsight" >"$log" 2>&1
    result $? "zsh reads its completion"
else
    echo "SKIP zsh: not installed; its completion is only compared with --help"
fi

# --- install, package ---
if [ -n "${SAN:-}" ] || [ "$B" != build ]; then
    echo "SKIP packages: of the plain build only"
    exit $status
fi
quiet_make() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make --no-print-directory "$@" >"$log" 2>&1; }
quiet_make install DESTDIR="$scratch/dest" PREFIX=/opt/ws
result $? "make install"
root="$scratch/dest/opt/ws"
[ "$(find "$scratch/dest" -type f ! -path "$root/*" | wc -l)" -eq 0 ] && [ -x "$root/bin/warpsight" ] && [ -s "$root/lib/warpsight/libwarpsight.so" ] && [ -s "$root/share/man/man1/warpsight-run.1" ] && grep -q '/opt/ws/bin/warpsight' "$root/share/systemd/user/warpsight.service"
result $? "everything is under PREFIX, and the service names it"
(cd "$scratch" && "$root/bin/warpsight" import "$OLDPWD/tests/flow/h200-graph.wscap" && "$root/bin/warpsight" report) >"$log" 2>&1
result $? "the installed program runs"
if ! command -v dpkg-deb >/dev/null; then
    echo "SKIP package: no dpkg-deb: not a Debian system"
    exit $status
fi
quiet_make deb
result $? "make deb"
deb=$(sed -n 's/^  \(.*\.deb\)$/\1/p' "$log")
dpkg-deb -I "$deb" >"$log" 2>&1 && grep -q '^ Depends: .*libsqlite3-0' "$log" && grep -q '^ Package: warpsight' "$log"
result $? "it names what it depends on"
mkdir -p "$scratch/machine/var/lib/dpkg/info" "$scratch/machine/var/lib/dpkg/updates" && touch "$scratch/machine/var/lib/dpkg/status"
dpkg --root="$scratch/machine" --force-not-root --force-depends --force-bad-path --log=/dev/null -i "$deb" >"$log" 2>&1 && "$scratch/machine/usr/bin/warpsight" --version >>"$log" 2>&1
result $? "it installs into a root of its own, and runs"
[ -x "$scratch/machine/usr/bin/warpsight" ] && dpkg --root="$scratch/machine" --force-not-root --force-bad-path --log=/dev/null -r warpsight >"$log" 2>&1 && [ ! -e "$scratch/machine/usr/bin/warpsight" ]
result $? "and is removed without a trace"
exit $status
