# SPDX-License-Identifier: MIT
# The one test that sees a CUDA header: the toolkit's occupancy calculator, if there is a toolkit.
$(B)/obj/tests/unit/test_occupancy.o: CPPFLAGS_ALL += $(if $(CUDA_INC),-isystem $(CUDA_INC))
