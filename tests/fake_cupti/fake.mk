# SPDX-License-Identifier: MIT
# fake.mk: the fake driver, the fake CUPTI and the program over them, in $(B)/fake. Only where the CUPTI headers are.
FAKE := $(B)/fake
fake_obj = $(call obj,$(addprefix tests/fake_cupti/,$(1)))

$(FAKE)/libcuda.so.1: $(call fake_obj,fake_cuda.c)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared $(LDFLAGS_ALL) -Wl,-soname,libcuda.so.1 $^ -ldl -o $@

$(call fake_obj,fake_cupti.c): tests/fake_cupti/sampled.cubin

$(FAKE)/libcupti.so.13: $(call fake_obj,fake_cupti.c) $(FAKE)/libcuda.so.1
	$(call msg,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS_ALL) -Wl,-soname,libcupti.so.13 -Wl,-rpath,'$$ORIGIN' $^ -ldl -o $@

$(FAKE)/libnvperf_host.so: $(call fake_obj,fake_nvperf.c)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared $(LDFLAGS_ALL) -Wl,-soname,libnvperf_host.so $^ -o $@

$(FAKE)/late.so: $(call fake_obj,late.c) $(FAKE)/libcuda.so.1
	$(call msg,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS_ALL) -Wl,-rpath,'$$ORIGIN' $^ -o $@

$(FAKE)/own.so: $(call fake_obj,own.c) $(FAKE)/libcupti.so.13
	$(call msg,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS_ALL) -Wl,-rpath,'$$ORIGIN' $^ -o $@

$(FAKE)/fake_app: $(call fake_obj,fake_app.c) $(FAKE)/libcuda.so.1
	$(call msg,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,-rpath,'$$ORIGIN' $^ -o $@

$(FAKE)/dump: $(call fake_obj,dump.c) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $^ -lm -o $@

$(FAKE)/lines: $(call fake_obj,lines.c) $(SERVER_LIB) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $^ $(SERVER_LIBS) -o $@

TEST_EXTRA += $(if $(HAVE_CUPTI),$(FAKE)/libcuda.so.1 $(FAKE)/libcupti.so.13 $(FAKE)/libnvperf_host.so $(FAKE)/late.so $(FAKE)/own.so $(FAKE)/fake_app $(FAKE)/dump $(FAKE)/lines)

-include $(patsubst %.o,%.d,$(call fake_obj,fake_cuda.c fake_cupti.c fake_nvperf.c late.c own.c fake_app.c dump.c lines.c))
