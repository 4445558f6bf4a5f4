# SPDX-License-Identifier: MIT
#
# What repeats the figures of papers, a folder for each. Neither `make` nor `make check` builds any of it: `make check-bench`
# does, and runs each experiment in small. A paper has
#
#       README.md       what it claims, what is measured here, one command, and where ours is less
#       local.mk        its programs: PAPER_BENCHMARKS
#       check           what tools/check-bench runs of them, and which rows there must be
#       plot            the pictures that bench/plot/pictures draws, and what they show of the data (bench/plot/shown), if it has any

PAPERS = anker copy-or-not libxac-2005 ruma-2016 shortcut-eh
PAPER_BENCHMARKS =
EXTRA_LTLIBRARIES =

include bench/papers/anker/local.mk
include bench/papers/copy-or-not/local.mk
include bench/papers/libxac-2005/local.mk
include bench/papers/ruma-2016/local.mk
include bench/papers/shortcut-eh/local.mk

EXTRA_PROGRAMS += $(PAPER_BENCHMARKS)
CLEANFILES += $(PAPER_BENCHMARKS) $(EXTRA_LTLIBRARIES)
EXTRA_DIST += $(PAPERS:%=bench/papers/%/README.md) $(PAPERS:%=bench/papers/%/check)

# Each experiment, in small; PAPERS=anker: those of that paper.
check-bench: $(foreach paper,$(PAPERS),$(filter bench/papers/$(paper)/%,$(PAPER_BENCHMARKS)) $(PAPER_TESTS_$(paper)))
	@$(AM_TESTS_ENVIRONMENT) $(TEST_RUN) $(SHELL) $(srcdir)/tools/check-bench $(PAPERS)

.PHONY: check-bench check-htap
