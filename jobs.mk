# SPDX-License-Identifier: MIT
#
# Without -j a make that somebody called uses all processors, with two jobs each, as many tests wait. `make -j1` does not.

ifeq (0,$(MAKELEVEL))
ifeq (,$(filter -j%,$(MAKEFLAGS)))
MAKEFLAGS += -j$(shell echo $$(($$(nproc 2>/dev/null || echo 1) * 2)))
endif
endif

# A program that make starts, and that starts make, gets make: not what MAKE says here or there (tools/sub-build hands it on in
# the environment; a run of tests puts tools/test-run before it).
unexport MAKE
