# SPDX-License-Identifier: MIT
# flow.mk: the maker of synthetic captures for tests of commands, and `make golden` for recorded captures.
$(B)/flow/make_capture: $(call obj,tests/flow/make_capture.c) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $^ -lm -o $@

TEST_EXTRA += $(B)/flow/make_capture
GOLDEN += golden-flow
.PHONY: golden-flow
golden-flow: $(PROGRAM)
	$(Q)B=$(B) WS_WRITE_GOLDEN=1 tests/flow/test_flow.sh
	$(Q)B=$(B) WS_WRITE_GOLDEN=1 tests/flow/test_scorecard.sh

-include $(B)/obj/tests/flow/make_capture.d
