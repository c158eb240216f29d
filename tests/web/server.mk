# SPDX-License-Identifier: MIT
# server.mk: the program that records without a GPU, for tests of the daemon.
$(B)/web/spool_writer: $(call obj,tests/web/spool_writer.c) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $^ -lm -o $@

TEST_EXTRA += $(B)/web/spool_writer
-include $(patsubst %.o,%.d,$(call obj,tests/web/spool_writer.c))
