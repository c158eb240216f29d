# SPDX-License-Identifier: MIT
# flow.mk: the maker of synthetic captures for tests of commands, and `make golden` for recorded captures.
$(B)/flow/make_capture: $(call obj,tests/flow/make_capture.c) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $^ -lm -o $@

TEST_EXTRA += $(B)/flow/make_capture
GOLDEN += golden-flow
.PHONY: golden-flow
golden-flow: $(PROGRAM) $(B)/flow/make_capture
	$(Q)B=$(B) WS_WRITE_GOLDEN=1 tests/flow/test_flow.sh
	$(Q)B=$(B) WS_WRITE_GOLDEN=1 tests/flow/test_scorecard.sh
	$(Q)B=$(B) WS_WRITE_GOLDEN=1 tests/flow/test_exports.sh

.PHONY: model-table
model-table: $(PROGRAM) ## the modelled counts of all reference kernels, and the table of docs/model.md (about a minute)
	$(Q)export WARPSIGHT_DB=$(abspath $(B))/model-table/db WARPSIGHT_SPOOL=$(abspath $(B))/model-table/spool; rm -rf $(B)/model-table && mkdir -p $(B)/model-table && cd $(B)/model-table && \
	$(abspath $(PROGRAM)) kernels model --threads $(shell nproc) --json >modelled.json && \
	$(abspath $(PROGRAM)) import $(CURDIR)/tests/flow/h200-kernels.wscap && $(abspath $(PROGRAM)) report h200-kernels --json >measured.json && \
	$(abspath $(PROGRAM)) list metrics --json >metrics.json && cd $(CURDIR) && \
	tests/flow/model_table.py --write tests/flow/model-kernels.json docs/model.md $(B)/model-table/metrics.json $(B)/model-table/measured.json $(B)/model-table/modelled.json

-include $(B)/obj/tests/flow/make_capture.d
