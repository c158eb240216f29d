# SPDX-License-Identifier: MIT
# web.mk: the browser page. The C build only embeds web/dist and needs no node; this rebuilds it.
.PHONY: web
web: ## web/dist from web/src and the lock file (needs node 20 and npm)
	$(call msg,WEB,web/dist)
	$(Q)cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null && node build.mjs
