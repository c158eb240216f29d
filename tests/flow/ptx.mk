# SPDX-License-Identifier: MIT
# The committed PTX of the reference kernels, from which the model runs where there is no nvcc. Paths are cut from
# .file lines, so that the text is the same on every machine with this toolkit. A test holds kernels/ptx against what
# the compiler makes now.
PTX_NEW := $(patsubst kernels/ptx/%.json,$(B)/ptx/%.ptx,$(wildcard kernels/ptx/*.json))
$(B)/ptx/%.ptx: kernels/%.cu $(wildcard kernels/*.h kernels/*.cuh)
	$(call msg,PTX,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -arch=sm_90 -O2 -std=c++17 -lineinfo -ptx $< -o $@.tmp && \
	  sed -E 's#^(\s*\.file\s+[0-9]+ ")[^"]*/([^"/]+")#\1\2#' $@.tmp >$@ && rm $@.tmp

.PHONY: ptx
ptx: $(PTX_NEW) ## kernels/ptx/*.ptx from kernels/*.cu (needs nvcc); launches stand in the .json beside each
	$(Q)cp $(PTX_NEW) kernels/ptx/
TEST_EXTRA += $(if $(SAN),,$(if $(NVCC),$(PTX_NEW)))
