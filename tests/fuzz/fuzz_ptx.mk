# SPDX-License-Identifier: MIT
# PTX from strangers. `make test` replays mutations of small bundled kernels; `make fuzz-ptx` runs libFuzzer.
FUZZ_PTX_SEEDS := $(addprefix kernels/ptx/,vec_add.ptx reduce_tree.ptx transpose.ptx diverge.ptx atomic_sum.ptx) $(wildcard tests/model/ptx/*.ptx)
$(B)/tests/fuzz_ptx: tests/fuzz/fuzz_ptx.c $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -DREPLAY $(LDFLAGS_ALL) $^ -lm -o $@
TEST_EXTRA += $(B)/tests/fuzz_ptx

.PHONY: fuzz-ptx
fuzz-ptx: ## libFuzzer on the PTX parser, decoder and interpreter (clang; FUZZ_ARGS=-max_total_time=60)
	$(Q)mkdir -p build/fuzz/ptx && cp $(FUZZ_PTX_SEEDS) build/fuzz/ptx
	$(Q)clang $(CPPFLAGS_ALL) -std=c11 -O1 -g -Wno-pass-failed -fno-strict-aliasing -ffp-contract=off -pthread -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_ptx.c $(filter-out collector/model/exec_v3.c collector/model/exec_v4.c,$(MODEL_SRC)) collector/wire.c $(ANALYZER_SRC) $(RULE_SRC) -DWS_MODEL_ONLY_BASE -lm -o build/fuzz/fuzz_ptx
	$(Q)build/fuzz/fuzz_ptx $(or $(FUZZ_ARGS),-max_total_time=60) build/fuzz/ptx
