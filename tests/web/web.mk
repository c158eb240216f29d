# SPDX-License-Identifier: MIT
# web.mk: the browser page. The C build only embeds web/dist and needs no node; this rebuilds it.
.PHONY: web
web: ## web/dist from web/src and the lock file (needs node 20 and npm)
	$(call msg,WEB,web/dist)
	$(Q)cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null && node build.mjs

# Synthetic sessions for the browser tests: hostile names, a session that still runs.
MADE_UP := $(B)/web/made_up
$(MADE_UP): $(call obj,tests/web/made_up.c) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $^ -lm -o $@
TEST_EXTRA += $(MADE_UP)
-include $(patsubst %.o,%.d,$(call obj,tests/web/made_up.c))

.PHONY: screenshots
screenshots: all $(MADE_UP) ## docs/img/*.png, a picture of each page (needs node 20, chromium and web/node_modules)
	$(Q)B=$(abspath $(B)) node tests/web/shots.mjs
