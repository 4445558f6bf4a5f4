# SPDX-License-Identifier: MIT
#
# What only GNU make knows, and automake does not.
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

# A test program runs for a second and is compiled each time: optimising it takes six times as long as compiling it. Where a
# sanitizer is at work the tests are optimised as the library is.
UNOPTIMISED_TEST = $(if $(findstring /test_,$@),$(if $(findstring -fsanitize=,$(XAC_CFLAGS)),,-O0 -U_FORTIFY_SOURCE))
tests/%.o: override CFLAGS += $(UNOPTIMISED_TEST)
