# SPDX-License-Identifier: MIT
# The test that asks the real CUPTI about every chip, if its headers are here; and the golden table it compares with.
$(B)/obj/tests/unit/test_catalogue_chips.o: CPPFLAGS_ALL += $(if $(HAVE_CUPTI),-isystem collector/compat -isystem $(CUPTI_INC) -isystem $(CUDA_INC))

GOLDEN += golden-catalogue
.PHONY: golden-catalogue
golden-catalogue: $(B)/tests/test_catalogue_chips
	$(Q)WS_WRITE_GOLDEN=1 CUDA_HOME=$(CUDA_HOME) $< passes_and_absent_counters_are_as_the_golden_table_says
	$(Q)WS_WRITE_GOLDEN=1 CUDA_HOME=$(CUDA_HOME) $< samples_of_one_pass_are_as_the_golden_table_says
