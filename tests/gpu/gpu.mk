# SPDX-License-Identifier: MIT
# gpu.mk: the programs that tests/gpu/run.sh needs, built where nvcc is and carried to a GPU in the bundle.
$(B)/gpu-cases: tests/gpu/cases.cu
	$(call msg,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCCFLAGS) $(CUDA_ARCH) -cudart static $< -o $@

$(B)/gpu-loop: tests/gpu/loop.cu
	$(call msg,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCCFLAGS) $(CUDA_ARCH) -cudart static $< -o $@

# sm_90 alone: the model reads the PTX of the same source, and SASS of that chip is what is measured.
$(B)/gpu-calibrate: tests/gpu/calibrate.cu
	$(call msg,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCCFLAGS) -arch=sm_90 -cudart static $< -o $@
$(B)/gpu-calibrate.ptx: tests/gpu/calibrate.cu
	$(call msg,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCCFLAGS) -arch=sm_90 -ptx $< -o $@

.PHONY: gpu-test gpu-ctl gpu-calibration
gpu-test: bundle ## on a machine with a GPU: measure the reference kernels, compare with Nsight Compute
	$(Q)OUT=$(or $(OUT),$(B)/gpu-results) tests/gpu/run.sh $(B)/bundle

gpu-ctl: bundle ## on a machine with a GPU: start, stop and idle while the program runs, some 60 s
	$(Q)OUT=$(or $(OUT),$(B)/gpu-results) tests/gpu/ctl.sh $(B)/bundle

gpu-calibration: bundle ## on an H200: counters that the model only takes from descriptions, beside the model's
	$(Q)OUT=$(or $(OUT),$(B)/gpu-calibration) tests/gpu/calibrate.sh $(B)/bundle
