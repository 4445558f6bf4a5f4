# SPDX-License-Identifier: MIT
#
# Without -j a make that somebody called uses all processors, and one more, as many tests wait. `make -j1` does not.

ifeq (0,$(MAKELEVEL))
ifeq (,$(filter -j%,$(MAKEFLAGS)))
MAKEFLAGS += -j$(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 1)))
endif
endif
