# SPDX-License-Identifier: MIT
# valgrind.mk: what needs a build of its own or minutes, and so is no part of `make test` or `make lint`.
VALGRIND_SKIP := test_analyze_fuzz test_model_kernels test_catalogue_chips test_model_exec test_model_sample
.PHONY: valgrind cppcheck
valgrind: $(UNIT_BIN) ## the unit tests under valgrind, memory and leaks (minutes; needs the Debian package valgrind)
	$(Q)command -v valgrind >/dev/null || { echo "valgrind: not installed"; exit 1; }
	$(Q)bad=0; for t in $(filter-out $(addprefix $(B)/tests/,$(VALGRIND_SKIP)),$(UNIT_BIN)); do \
		WARPSIGHT_DB=$(B)/valgrind-db WARPSIGHT_SPOOL=$(B)/valgrind-spool valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --child-silent-after-fork=yes $$t >$(B)/valgrind.log 2>&1; \
		if [ $$? -eq 99 ]; then bad=1; echo "FAIL $${t##*/}"; grep '^==' $(B)/valgrind.log | head -20; else echo "PASS $${t##*/}"; fi; done; exit $$bad

cppcheck: $(GENERATED) ## cppcheck over analyzer, collector and server (minutes; needs the Debian package cppcheck)
	$(Q)command -v cppcheck >/dev/null || { echo "cppcheck: not installed"; exit 1; }
	$(Q)cppcheck --std=c11 --enable=warning,portability -q -j2 -I. -I$(B)/gen -D_GNU_SOURCE --error-exitcode=1 --suppressions-list=tests/cppcheck.txt analyzer server collector/*.c collector/model
