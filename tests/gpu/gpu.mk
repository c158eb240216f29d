# SPDX-License-Identifier: MIT
# gpu.mk: the programs that tests/gpu/run.sh needs, built where nvcc is and carried to a GPU in the bundle.
$(B)/gpu-cases: tests/gpu/cases.cu
	$(call msg,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCCFLAGS) $(CUDA_ARCH) -cudart static $< -o $@

.PHONY: gpu-test
gpu-test: bundle ## on a machine with a GPU: measure the reference kernels, compare with Nsight Compute
	$(Q)OUT=$(or $(OUT),$(B)/gpu-results) tests/gpu/run.sh $(B)/bundle
