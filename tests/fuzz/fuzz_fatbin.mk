# SPDX-License-Identifier: MIT
# Fatbins and ELF files from strangers. tests/unit/test_fatbin.c cuts and damages them in every `make test`.
.PHONY: fuzz-fatbin
fuzz-fatbin: ## libFuzzer on the fatbin and ELF readers (clang; FUZZ_ARGS=-max_total_time=60)
	$(Q)mkdir -p build/fuzz/fatbin && cp tests/cudart/*.fatbin build/fuzz/fatbin
	$(Q)clang $(CPPFLAGS_ALL) -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_fatbin.c collector/model/fatbin.c collector/model/exe.c -ldl -o build/fuzz/fuzz_fatbin
	$(Q)build/fuzz/fuzz_fatbin $(or $(FUZZ_ARGS),-max_total_time=60) build/fuzz/fatbin
