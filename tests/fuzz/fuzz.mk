# SPDX-License-Identifier: MIT
# fuzz.mk: libFuzzer programs, tests/fuzz/fuzz_<name>.c, with address and undefined-behaviour sanitizers in all they
# link. Only in the plain build (they bring their own sanitizers) and where clang has its runtime.
FUZZ_CC ?= clang
HAVE_FUZZ := $(if $(SAN),,$(shell echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 4096; }' | $(FUZZ_CC) -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null && echo 1))
# fuzz_ptx links the model and has rules of its own: fuzz_ptx.mk.
FUZZ_SRC := $(filter-out tests/fuzz/fuzz_ptx.c,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
FUZZ_FLAGS := -std=c11 -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
fuzz_obj = $(patsubst %.c,$(B)/fuzz/obj/%.o,$(1))
# What the programs link: the analyzer, the wire, and the server without its daemon and commands.
FUZZ_PARTS := $(ANALYZER_SRC) $(RULE_SRC) collector/steady.c collector/wire.c collector/budget.c collector/plan.c collector/settings.c collector/model/fatbin.c collector/model/exe.c $(addprefix server/,arena.c capture_writer.c cli.c dbfile.c export_capture.c export_csv.c \
	csv.c csv_reader.c export_json.c export_roofline_csv.c export_roofline_gnuplot.c export_roofline_svg.c export_sqlite.c frames.c import_ncu.c import_nsys.c \
	import_writer.c ingest.c json.c log.c ncu.c ncu_units.c sha256.c \
	names.c paths.c pm_facts.c pm_view.c progress.c report.c report_json.c report_text.c roof_dots.c line_table.c sass.c tool.c store.c text.c collected.c timeline_facts.c utf8.c work_order.c xml.c)

$(B)/fuzz/obj/%.o: %.c | $(GENERATED)
	$(call msg,FUZZCC,$<)
	$(Q)mkdir -p $(@D) && $(FUZZ_CC) $(CPPFLAGS_ALL) $(PKG_CFLAGS) $(FUZZ_FLAGS) -MMD -MP -c $< -o $@

$(B)/fuzz/fuzz_%: $(B)/fuzz/obj/tests/fuzz/fuzz_%.o $(call fuzz_obj,$(FUZZ_PARTS))
	$(call msg,FUZZLD,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined $^ $(SERVER_LIBS) -o $@

TEST_EXTRA += $(if $(HAVE_FUZZ),$(FUZZ_BIN))
FUZZ_SECONDS ?= 600
.PHONY: fuzz
fuzz: $(if $(HAVE_FUZZ),$(FUZZ_BIN)) ## fuzz the readers of foreign bytes for FUZZ_SECONDS each (600)
	$(Q)$(if $(HAVE_FUZZ),B=$(B) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/test_fuzz.sh,echo "fuzz: $(FUZZ_CC) has no -fsanitize=fuzzer here"; exit 1)

-include $(patsubst %.o,%.d,$(call fuzz_obj,$(FUZZ_PARTS) $(FUZZ_SRC)))
