# SPDX-License-Identifier: MIT
# The committed PTX of the reference kernels, from which the model runs where there is no nvcc. Paths are cut from
# .file lines, so that the text is the same on every machine with this toolkit.
PTX_STEMS := $(basename $(notdir $(wildcard kernels/ptx/*.json)))
.PHONY: ptx
ptx: ## kernels/ptx/*.ptx from kernels/*.cu (needs nvcc); launches stand in the .json beside each
	$(if $(NVCC),,$(error no nvcc))
	$(Q)for s in $(PTX_STEMS); do \
	  $(NVCC) -arch=sm_90 -O2 -std=c++17 -lineinfo -ptx kernels/$$s.cu -o build/$$s.ptx && \
	  sed -E 's#^(\s*\.file\s+[0-9]+ ")[^"]*/([^"/]+")#\1\2#' build/$$s.ptx >kernels/ptx/$$s.ptx && rm build/$$s.ptx || exit 1; done
