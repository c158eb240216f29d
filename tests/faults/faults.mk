# SPDX-License-Identifier: MIT
# faults.mk: the library that lets calls fail (never built with a sanitizer: its own calls must not be watched), and the
# long forms of the tests that use it. Short forms: test_loss.sh, test_failing.sh.
FAULT_SHIM := $(B)/faults/shim.so
$(FAULT_SHIM): tests/faults/shim.c
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS_ALL) $(filter-out $(SANFLAGS),$(CFLAGS_ALL)) -fno-builtin $(if $(SAN),-DWITHOUT_MEMORY) -shared $< -ldl -o $@
TEST_EXTRA += $(FAULT_SHIM)

FAULT_POINTS ?= 200
.PHONY: faults
faults: test-build ## the long form of test_loss and test_failing: FAULT_POINTS (200) random points each, every failing call
	$(Q)B=$(B) FAULT_POINTS=$(FAULT_POINTS) tests/faults/test_loss.sh && B=$(B) FAULT_POINTS=$(FAULT_POINTS) tests/faults/test_failing.sh
