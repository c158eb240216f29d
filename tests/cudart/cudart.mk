# SPDX-License-Identifier: MIT
# The stand-in's tests. CUDART_PACKINGS: how nvcc can pack a fatbin; a program for each, without nvcc.
CUDART_PACKINGS := none speed size
CUDART_HOSTS := $(foreach p,$(CUDART_PACKINGS),$(B)/tests/cudart/host_$(p))
$(B)/tests/cudart/host_%: tests/cudart/host.c tests/cudart/vec_add.%.fatbin collector/cudart/abi.h $(CUDART_SO)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -O1 -g -DFATBIN='"tests/cudart/vec_add.$*.fatbin"' $< $(CUDART_SO) -o $@
TEST_EXTRA += $(CUDART_HOSTS)

CUDART_PTX := $(patsubst %,tests/model/ptx/%.ptx,calls matrices textures together)
.PHONY: cudart-ptx
cudart-ptx: ## make the committed tests/model/ptx/*.ptx again from tests/cudart/programs (nvcc)
	$(Q)mkdir -p /tmp/warpsight && cp tests/cudart/programs/* /tmp/warpsight/ && for p in $(CUDART_PTX); do (cd /tmp/warpsight && $(NVCC) -std=c++17 -O3 -Wno-deprecated-gpu-targets -arch=compute_90 -ptx $$(basename $$p .ptx).cu -o $(CURDIR)/$$p); done; rm -r /tmp/warpsight

.PHONY: cudart-fatbins
cudart-fatbins: ## make the committed tests/cudart/*.fatbin again (nvcc)
	@# -lineinfo writes the folder down: not one of this machine.
	$(Q)mkdir -p /tmp/warpsight && cp tests/cudart/vec_add.cu /tmp/warpsight/ && for p in $(CUDART_PACKINGS); do $(NVCC) -fatbin -lineinfo -gencode arch=compute_75,code=compute_75 -Wno-deprecated-gpu-targets --compress-mode=$$p /tmp/warpsight/vec_add.cu -o tests/cudart/vec_add.$$p.fatbin; done; rm -r /tmp/warpsight
