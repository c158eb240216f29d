#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_ui.sh: the page against the real daemon in a real browser, and the pure parts in node alone.
# Needs node 20, web/node_modules (make web) and chromium; says which is missing and skips.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}"
skip() { echo "SKIP ui ($1)"; exit 77; }
command -v node >/dev/null || skip "no node"
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || skip "node $major, 20 is needed"
[ -d web/node_modules/esbuild ] || skip "no web/node_modules: run make web"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# The committed bundle is what its sources make, byte for byte.
if node web/build.mjs "$scratch/dist" && diff -rq "$scratch/dist" web/dist; then
    echo "PASS ui_bundle_is_what_the_sources_make"
else
    echo "FAIL ui_bundle_is_what_the_sources_make (run make web and commit web/dist)"
    status=1
fi
size=$(cat web/dist/app.js web/dist/app.css web/dist/index.html | gzip -9 | wc -c)
if [ "$size" -lt 90000 ]; then echo "PASS ui_bundle_is_under_90_kB_gzip"; else echo "FAIL ui_bundle_is_under_90_kB_gzip ($size bytes)"; status=1; fi
# What a browser would fetch from elsewhere, and what a strict policy refuses.
if grep -nE 'style=|<script>|https?://(www\.)?[a-z]' web/index.html | grep -v 'www.w3.org/2000/svg' || grep -rnE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function' web/src; then
    echo "FAIL ui_sources_hold_no_inline_style_script_or_html_sink"
    status=1
else
    echo "PASS ui_sources_hold_no_inline_style_script_or_html_sink"
fi

run() { # --test-force-exit: a browser that hangs must not hold the run
    B="$PWD/$B" SCRATCH="$scratch" node --test --test-concurrency=1 --test-reporter=./tests/web/lines.mjs --test-reporter-destination=stdout "$@" || status=1
}
run tests/web/pure.test.js

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser)}
if [ -z "$chromium" ]; then
    echo "SKIP ui_in_a_browser (no chromium)"
elif [ -z "${WS_UI_URL:-}" ] && [ ! -x "$B/warpsight" ]; then
    echo "SKIP ui_in_a_browser (no $B/warpsight)"
elif [ -z "${WS_UI_URL:-}" ] && ! "$B/warpsight" serve --help >/dev/null 2>&1; then
    echo "SKIP ui_in_a_browser (this build has no warpsight serve)"
elif [ -z "${WS_UI_URL:-}" ] && [ ! -x "$B/web/made_up" ]; then
    echo "SKIP ui_in_a_browser (no $B/web/made_up: run make test)"
else
    CHROMIUM="$chromium" run tests/web/ui.test.js
fi
exit $status
