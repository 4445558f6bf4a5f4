# SPDX-License-Identifier: MIT
#
# Programs that nobody here wrote. They are compiled in several ways by bench/programs/run, and not here: their headers and
# sources may not be there.

dist_noinst_SCRIPTS += bench/programs/run
EXTRA_DIST += \
        bench/programs/frame.c \
        bench/programs/lua_calls.c \
        bench/programs/map_of_strings.cc \
        bench/programs/program.h

# PROTOTYPE: another compiler of accesses to compare with (bench/README.md).
PROTOTYPE =
bench-programs: bench/libbench.la libxac.la $(COMPILER_IN_PLACE)
	@$(MKDIR_P) bench-results
	@PROTOTYPE='$(PROTOTYPE)' $(SHELL) $(srcdir)/bench/programs/run . bench-results/programs.csv

.PHONY: bench-programs
