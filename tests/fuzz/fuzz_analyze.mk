# SPDX-License-Identifier: MIT
# Facts from nowhere through the analyzer. `make test` does 200,000 of them (test_analyze_fuzz); this runs libFuzzer.
.PHONY: fuzz-analyze
fuzz-analyze: $(B)/gen/rules_list.h ## libFuzzer on ws_analyze and the rules (clang; FUZZ_ARGS=-max_total_time=60)
	$(Q)mkdir -p build/fuzz/analyze
	$(Q)clang $(CPPFLAGS_ALL) -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_analyze.c $(ANALYZER_SRC) $(RULE_SRC) -lm -o build/fuzz/fuzz_analyze
	$(Q)build/fuzz/fuzz_analyze $(or $(FUZZ_ARGS),-max_total_time=60) -max_len=4096 -len_control=0 build/fuzz/analyze
